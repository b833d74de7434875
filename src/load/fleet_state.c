#include "load/fleet_state.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/mono.h"
#include "base/process.h"
#include "load/calls.h"
#include "load/gate.h"
#include "load/schedule.h"
#include "load/transactions.h"

enum status fleet_init(struct fleet *fleet, struct load *load, struct result *result,
                       struct causes *causes, struct error *error)
{
    const struct plan *plan = load->plan;
    const struct plan_share share = plan_share(plan);
    *fleet = (struct fleet){.load = load, .result = result, .capacity = share.count + share.idle};
    /* calloc does not touch the memory, so unused sessions take no memory of the machine */
    fleet->sessions = calloc(fleet->capacity + 1, sizeof *fleet->sessions);
    if (fleet->sessions == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %u sessions", fleet->capacity);
        return STATUS_FATAL;
    }
    load->causes = causes;
    load->mistakes = &result->causes;
    load->read = load->setup->own->count;
    if (plan->read_mode == READ_QUERY) {
        load->read = (struct statement){.sql = plan->read_sql, .name = "read"};
    }
    load->first_epoch.rate = plan->rate;
    load->first_epoch.sessions = UINT_MAX;
    gate_init(&load->gate, !plan->is_search && load->ranks != NULL);
    atomic_init(&load->has_finished_one, false);
    atomic_init(&load->timeouts_in_a_row, 0);
    atomic_init(&load->last_work_ns, load->start_ns);
    atomic_init(&load->last_end_ns, load->start_ns);
    return STATUS_OK;
}

void fleet_fini(struct fleet *fleet)
{
    for (unsigned i = 0; i < fleet->capacity && fleet->sessions[i].load != NULL; i++) {
        line_fini(&fleet->sessions[i].line);
    }
    gate_fini(&fleet->load->gate);
    epoch_fini(&fleet->load->first_epoch);
    free(fleet->sessions);
}

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

bool fleet_exchange(struct fleet *fleet, const struct ranks_state *state, bool is_waiting,
                    int64_t count_ns)
{
    struct load *load = fleet->load;
    const int64_t now_ns = mono_now_ns();
    const struct ranks_state before = fleet->state;
    const enum stop_reason reason = gate_reason(&load->gate);
    fleet->state = *state;
    fleet->state.reason = reason;
    fleet->state.is_stopped = reason != STOP_NOT_YET && reason != STOP_DURATION;
    const bool has_changed = ranks_states_differ(&fleet->state, &before);
    if (!has_changed && now_ns < fleet->next_exchange_ns) {
        return false;
    }
    fleet->next_exchange_ns = now_ns + (is_waiting ? WAIT_NS : LINE_TICK_NS / 2);
    if (has_changed || now_ns >= fleet->next_count_ns) {
        fleet->next_count_ns = now_ns + count_ns;
        recorder_read_all(load->recorder, fleet->state.counters);
    }
    ranks_exchange(load->ranks, &fleet->state, load->plan->min_sessions, &fleet->orders);
    return true;
}

int64_t fleet_last_work_ns(const struct fleet *fleet)
{
    const struct load *load = fleet->load;
    return MAX(atomic_load(&load->last_work_ns), load->gate.go_ns);
}

/* Completes the session's ledgers (counts of its rows and transactions by outcome), and adds them
 * to the result. */
static void add_session(struct fleet *fleet, struct session *session)
{
    struct result *result = fleet->result;
    struct session_summary *sum = &session->sum;
    struct row_ledger *rows = &sum->rows;
    /* without a quota, or if the run ended by its duration or by hand, only the rows that the
     * session began to send count as planned */
    const bool is_timed = session->quota == UINT64_MAX || stop_is_planned(result->stop_reason);
    rows->planned = is_timed ? sum->begun : session->quota;
    const uint64_t sent = rows->acknowledged + rows->rejected + rows->in_doubt;
    rows->not_sent = rows->planned > sent ? rows->planned - sent : 0;
    ledger_add(&result->rows, rows, sizeof *rows);
    if (fleet->load->plan->script != NULL) {
        transactions_destroy(session, result);
    }
    result->last_due_ns = MAX(result->last_due_ns, session_last_due_ns(session));
    result->worst_lag_rows = MAX(result->worst_lag_rows, session->worst_lag);
}

/* Sets the times of the result, and the rates that are computed from them. */
static void set_times(struct fleet *fleet)
{
    const struct load *load = fleet->load;
    const int64_t go_ns = load->gate.go_ns, warm_up_ns = load->plan->warm_up_ns;
    const int64_t work_ns = fleet_last_work_ns(fleet);
    const int64_t last_ns = MAX(atomic_load(&load->last_end_ns), work_ns);
    struct result *result = fleet->result;
    result->start_mono_ns = load->start_ns;
    result->elapsed_ns = last_ns - load->start_ns;
    result->connect_ns = go_ns == 0 ? result->elapsed_ns : go_ns - load->start_ns;
    if (go_ns > 0) {
        result->append_ns = work_ns - go_ns;
        result->measured_ns = MAX(result->append_ns - warm_up_ns, 0);
        result->disconnect_ns = last_ns - work_ns;
    }
    if (result->elapsed_ns > 0) {
        result->throughput_rows_per_s = (double)result->rows.acknowledged /
                                        ((double)result->elapsed_ns / (double)MONO_NS_PER_S);
    }
    result->changed_rate = epoch_mean_rate(
        &load->first_epoch, go_ns, go_ns + (load->plan->script == NULL ? 0 : warm_up_ns), work_ns);
}

void fleet_sum_up(struct fleet *fleet)
{
    struct load *load = fleet->load;
    struct result *result = fleet->result;
    const enum stop_reason reason = gate_reason(&load->gate);
    result->sessions = fleet->total;
    /* this number is counted separately: if it were computed from the outcomes, the comparison of
     * the two could never find an error */
    result->sessions.connected = recorder_read(load->recorder, RECORDER_SESSIONS_CONNECTED);
    result->sessions_cut = fleet->cut;
    result->stop_reason = reason == STOP_NOT_YET ? STOP_COMPLETED : reason;
    for (unsigned i = 0; i < fleet->capacity && fleet->sessions[i].load != NULL; i++) {
        add_session(fleet, &fleet->sessions[i]);
    }
    set_times(fleet);
    recorder_take_snapshot(load->recorder, &result->totals);
}
