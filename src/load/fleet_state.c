#include "load/fleet_state.h"

#include <string.h>

#include "base/mono.h"
#include "base/process.h"
#include "load/calls.h"
#include "load/gate.h"

/* Interval at which the counters for other ranks are read. */
#define COUNT_NS (250 * MONO_NS_PER_MS)

void fleet_reset_session(struct fleet *fleet, unsigned place)
{
    const struct plan *plan = fleet->load->plan;
    const struct plan_share share = plan_share(plan);
    struct session *session = &fleet->sessions[place];
    struct session_summary *sum = &session->sum;
    if (session->load == NULL) { /* this is the first session of the place */
        line_init(&session->line, plan->adapter, plan->timeout_ns);
    }
    session->load = fleet->load;
    session->place = place;
    session->is_idle = sum->is_idle = place >= share.count;
    session->index =
        session->is_idle ? share.first_idle + (place - share.count) : share.first + place;
    sum->index = session->index;
    session->epoch = &fleet->load->first_epoch;
    session->epoch_begun = session->unsent = 0;
    session->group =
        session->is_idle ? (struct group_place){0, 0} : plan_place(plan, session->index);
    session->quota = session->is_idle ? 0 : plan_quota(plan, session->index);
    if (plan->arrival_mode == ARRIVALS_POISSON) {
        session->arrivals = arrivals_begin(plan->facts->seed, session->index);
    }
    session->turn_quota = session->is_idle ? 0 : plan_transaction_quota(plan, session->index);
    session->last_count = 0;
    session->tries = 0;
    session->is_refused = false;
    session->has_slot = false;
    atomic_store(&session->was_cut, false);
    atomic_store(&session->is_leaving, false);
    sum->outcome = SESSION_NOT_STARTED;
    sum->first_ack_ns = sum->last_ack_ns = session->work_end_ns = 0;
    atomic_store(&session->stage, SESSION_ABSENT);
}

bool fleet_start(struct fleet *fleet)
{
    struct load *load = fleet->load;
    unsigned index = fleet->first_free;
    while (session_is_live(&fleet->sessions[index])) {
        index++;
    }
    struct session *session = &fleet->sessions[index];
    fleet_reset_session(fleet, index);
    gate_begin_start(&load->gate);
    session->has_slot = true;
    atomic_store(&session->stage, SESSION_CONNECTING);
    const int rc = thread_start(&session->thread, load->plan->stack_bytes, session_run, session);
    if (rc != 0) {
        struct error error = {.kind = ERROR_NONE};
        gate_cancel_start(&load->gate);
        atomic_store(&session->stage, SESSION_ABSENT);
        error_set(&error, ERROR_LIMIT, rc, NULL, "client limit: no thread for session %u: %s",
                  fleet->live + 1, strerror(rc));
        causes_add(load->causes, CAUSE_THREAD, STATUS_FATAL, &error, mono_now_ns());
        return false;
    }
    fleet->first_free = index + 1;
    fleet->used = index + 1 > fleet->used ? index + 1 : fleet->used;
    fleet->live++;
    fleet->numbers.connecting++;
    return true;
}

void fleet_interrupt(struct fleet *fleet, bool only_leaving)
{
    const int64_t now_ns = mono_now_ns();
    if (now_ns < fleet->next_interrupt_ns) {
        return;
    }
    fleet->next_interrupt_ns = now_ns + MONO_NS_PER_S;
    for (unsigned i = 0; i < fleet->used; i++) {
        struct session *session = &fleet->sessions[i];
        if (session_is_live(session) && (!only_leaving || atomic_load(&session->is_leaving))) {
            session_interrupt(session);
        }
        if (session_is_live(session) && gate_is_stopped(&fleet->load->gate)) {
            session_leave(session);
        }
    }
}

void fleet_report_shortage(struct fleet *fleet)
{
    if (!fleet->is_shortage_reported && fleet->load->on_shortage != NULL) {
        fleet->is_shortage_reported = true;
        fleet->load->on_shortage(fleet->load->context);
    }
}

void fleet_join(struct fleet *fleet, struct session *session, struct session_ledger *ledger)
{
    if (atomic_load(&session->stage) == SESSION_ABANDONED) {
        pthread_detach(session->thread);
        fleet->result->sessions_left++;
    } else {
        pthread_join(session->thread, NULL);
    }
    atomic_store(&session->stage, SESSION_ABSENT);
    fleet->live--;
    fleet->cut += atomic_load(&session->was_cut) ? 1 : 0;
    fleet->total.requested++;
    session_ledger_count(&fleet->total, session->sum.outcome);
    if (atomic_load(&session->is_leaving)) {
        fleet->leaving--;
    } else {
        session_ledger_count(ledger, session->sum.outcome);
    }
}

void fleet_join_ended(struct fleet *fleet, struct session_ledger *ledger)
{
    for (unsigned i = 0; i < fleet->used; i++) {
        struct session *session = &fleet->sessions[i];
        if (atomic_load_explicit(&session->stage, memory_order_acquire) >= SESSION_ENDED) {
            fleet_join(fleet, session, ledger);
            fleet->first_free = i < fleet->first_free ? i : fleet->first_free;
        }
    }
}

/* Ends the search; a later reason does not replace the first. */
static void note_end(struct fleet *fleet, enum search_end end)
{
    if (!fleet->ladder.has_ended) {
        fleet->ladder.has_ended = true;
        fleet->search->end = end;
        gate_rest(&fleet->load->gate, true);
    }
}

void fleet_end_search(struct fleet *fleet, enum search_end end)
{
    if (!ranks_follows(fleet->load->ranks)) {
        note_end(fleet, end);
    } else if (fleet->ladder.wish == SEARCH_GOES_ON) {
        fleet->ladder.wish = end;
    }
}

void fleet_exchange(struct fleet *fleet, bool is_work_done)
{
    struct load *load = fleet->load;
    struct gate *gate = &load->gate;
    struct ranks_state *state = &fleet->state;
    const int64_t now_ns = mono_now_ns();
    const enum stop_reason reason = gate_reason(gate);
    const bool is_stopped = reason != STOP_NOT_YET && reason != STOP_DURATION;
    const struct ranks_state before = *state;
    state->is_up = fleet->is_up;
    state->is_done = is_work_done;
    state->is_over = fleet->have_ended;
    state->is_stopped = is_stopped;
    state->reason = reason;
    state->level = fleet->ladder.level;
    state->stage = fleet->ladder.stage;
    state->has_failed = fleet->ladder.has_failed;
    state->end =
        fleet->search != NULL && fleet->ladder.has_ended ? fleet->search->end : fleet->ladder.wish;
    const bool has_changed = ranks_states_differ(state, &before);
    if (!has_changed && now_ns < fleet->next_exchange_ns) {
        return;
    }
    /* a rank that waits for the others asks often */
    const bool waits =
        fleet->search != NULL
            ? fleet->ladder.stage != STAGE_CLIMBS || fleet->orders.noted == fleet->ladder.level
            : is_work_done || (fleet->is_up && fleet->orders.go_ns == 0);
    fleet->next_exchange_ns = now_ns + (waits ? WAIT_NS : LINE_TICK_NS / 2);
    if (has_changed || now_ns >= fleet->next_count_ns) {
        fleet->next_count_ns = now_ns + (fleet->search == NULL ? COUNT_NS : LINE_TICK_NS);
        recorder_read_all(load->recorder, state->counters);
    }
    ranks_exchange(load->ranks, state, load->plan->min_sessions, &fleet->orders);
    if (fleet->search != NULL) {
        if (fleet->orders.end != SEARCH_GOES_ON) {
            note_end(fleet, fleet->orders.end);
        }
        return;
    }
    if (fleet->orders.is_stopped) {
        fleet->result->sessions_up = fleet->orders.up;
        gate_stop(gate, fleet->orders.reason);
    }
    if (fleet->orders.is_done) {
        gate_release(gate);
    }
}
