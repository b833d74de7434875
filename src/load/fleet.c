#include "load/fleet.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/types.h>

#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "load/gate.h"
#include "measure/procfs.h"
#include "ranks/merge.h"

/* How often the main thread looks for signals and deadlines. */
#define TICK_NS (50 * MONO_NS_PER_MS)

/* How often the counters are read that other ranks are told. */
#define COUNT_NS (250 * MONO_NS_PER_MS)
#define WAIT_NS (2 * MONO_NS_PER_MS)

/* The snapshots of a level. */
enum {
    AT_START,
    AT_HOLD,
    AT_END,
    SNAPSHOTS,
};

struct fleet {
    struct load *load;        /* borrowed */
    struct result *result;    /* borrowed */
    struct session *sessions; /* a place each */
    unsigned capacity;
    unsigned used;       /* places that ever had a session; they are the first ones */
    unsigned first_free; /* no place before it is free */
    unsigned live;       /* sessions whose thread was started and not joined */
    unsigned leaving;    /* of these, told to leave */
    bool is_shortage_reported;
    bool is_up;       /* a run's sessions are, or have failed */
    bool is_end_told; /* of the work, to the sampler */

    /* With other ranks. */
    struct ranks_state own;
    struct ranks_orders orders; /* the latest */
    int64_t next_exchange_ns, next_count_ns;
    bool have_ended; /* the sessions */
    /* In a search. */
    unsigned level; /* the number of the level */
    enum ranks_stage stage;
    bool has_level_failed;
    enum search_end wish;   /* of a rank that follows: for rank 0 to say */
    struct level_room room; /* after the latest level */
    uint64_t up_everywhere; /* sessions, then */

    int64_t next_interrupt_ns;   /* from STOP, or the end of all work, on; 0 before */
    int64_t next_overdue_ns;     /* with --timeout: when the calls are looked at again */
    struct gate_numbers numbers; /* when it was last waited; but for those started since */
    struct session_ledger total; /* of all sessions that were joined */
    uint64_t cut;                /* of these, those whose connection was cut */

    /* Of a search. */
    struct search *search;
    struct causes causes; /* of the level that is being tried */
    struct ladder_memory memory;
    int64_t deadline_ns;
    int64_t next_memory_ns; /* when to look at the memory again */
    uint64_t rest_at_rows;  /* sessions rest when so many are written; UINT64_MAX = never */
    uint64_t max_rows;      /* this process's share of search->max_rows; 0 = any number */
    bool is_over;           /* search->end says why */
    uint64_t failed_before; /* calls that failed before this level, or of sessions cut for it */
    struct recorder_snapshot snapshots[SNAPSHOTS]; /* of the level: its start, its hold's start
                                                      and end */
};

/* The rows of the place go on; everything else is as new. */
static void renew(struct fleet *fleet, unsigned place)
{
    const struct plan *plan = fleet->load->plan;
    const struct plan_share share = plan_share(plan);
    struct session *session = &fleet->sessions[place];
    struct session_summary *sum = &session->sum;
    if (session->load == NULL) { /* the first session of the place */
        line_init(&session->line, plan->adapter, plan->timeout_ns);
    }
    session->load = fleet->load;
    session->place = place;
    session->is_idle = sum->is_idle = place >= share.count;
    session->index =
        session->is_idle ? share.first_idle + (place - share.count) : share.first + place;
    sum->index = session->index;
    session->quota = session->is_idle ? 0 : plan_quota(plan, session->index);
    session->turn_quota = session->is_idle ? 0 : plan_turn_quota(plan, session->index);
    session->last_count = 0;
    atomic_store(&session->was_cut, false);
    atomic_store(&session->is_leaving, false);
    sum->outcome = SESSION_NOT_STARTED;
    sum->first_ack_ns = sum->last_ack_ns = session->work_end_ns = 0;
    atomic_store(&session->has_ended, false);
}

/* Starts a session. False: it got no thread, nor would the next ones; why is among the causes. */
static bool fleet_start(struct fleet *fleet)
{
    struct load *load = fleet->load;
    unsigned index = fleet->first_free;
    while (fleet->sessions[index].is_live) {
        index++;
    }
    struct session *session = &fleet->sessions[index];
    renew(fleet, index);
    gate_begin_start(&load->gate);
    const int rc = thread_start(&session->thread, load->plan->stack_bytes, session_run, session);
    if (rc != 0) {
        struct error error = {.kind = ERROR_NONE};
        gate_cancel_start(&load->gate);
        error_set(&error, ERROR_LIMIT, rc, NULL, "client limit: no thread for session %u: %s",
                  fleet->live + 1, strerror(rc));
        causes_add(load->causes, CAUSE_THREAD, STATUS_FATAL, &error, mono_now_ns());
        return false;
    }
    session->is_live = true;
    fleet->first_free = index + 1;
    fleet->used = index + 1 > fleet->used ? index + 1 : fleet->used;
    fleet->live++;
    fleet->numbers.connecting++;
    return true;
}

/* Makes blocked calls of sessions return, of all, or of those that are to leave, once
 * next_interrupt_ns has come; that becomes a second later. */
static void fleet_interrupt(struct fleet *fleet, bool only_leaving)
{
    const int64_t now_ns = mono_now_ns();
    if (now_ns < fleet->next_interrupt_ns) {
        return;
    }
    fleet->next_interrupt_ns = now_ns + MONO_NS_PER_S;
    for (unsigned i = 0; i < fleet->used; i++) {
        struct session *session = &fleet->sessions[i];
        if (session->is_live && (!only_leaving || atomic_load(&session->is_leaving))) {
            session_interrupt(session);
        }
        if (session->is_live && gate_is_stopped(&fleet->load->gate)) {
            session_leave(session);
        }
    }
}

/* Calls on_shortage, once until is_shortage_reported is false again. */
static void fleet_report_shortage(struct fleet *fleet)
{
    if (!fleet->is_shortage_reported && fleet->load->on_shortage != NULL) {
        fleet->is_shortage_reported = true;
        fleet->load->on_shortage(fleet->load->context);
    }
}

static void join(struct fleet *fleet, struct session *session, struct session_ledger *ledger)
{
    if (session->is_left) {
        pthread_detach(session->thread);
    } else {
        pthread_join(session->thread, NULL);
    }
    fleet->result->sessions_left += session->is_left ? 1 : 0;
    session->is_live = false;
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

/* Joins the sessions that have ended and counts how each did, those told to leave only in the
 * total. */
static void fleet_join_ended(struct fleet *fleet, struct session_ledger *ledger)
{
    for (unsigned i = 0; i < fleet->used; i++) {
        struct session *session = &fleet->sessions[i];
        if (session->is_live && atomic_load_explicit(&session->has_ended, memory_order_acquire)) {
            join(fleet, session, ledger);
            fleet->first_free = i < fleet->first_free ? i : fleet->first_free;
        }
    }
}

/* Counts the transactions of a session that were due and not begun, because it was blocked,
 * dropped or never there; and takes over what its script did to tables. */
static void add_transactions(struct fleet *fleet, struct session *session, int64_t end_ns)
{
    const struct load *load = fleet->load;
    const int64_t from_ns = load->gate.go_ns + load->plan->warm_up_ns;
    if (load->plan->script == NULL) {
        return;
    }
    if (fleet->search == NULL && load->plan->rate_rows_per_s > 0 && load->gate.go_ns > 0) {
        const int64_t until_ns = session->work_end_ns > end_ns ? session->work_end_ns : end_ns;
        const uint64_t missing = session_count_unsent(session, from_ns, end_ns, until_ns);
        session_add(session, RECORDER_TRANSACTIONS_NOT_BEGUN, missing);
        session_add(session, RECORDER_TRANSACTIONS_DUE, missing);
    }
    transactions_destroy(session, fleet->result);
}

/* After all were joined. In a run the sessions that were never started have their part in the
 * ledgers, too. */
static void sum_up(struct fleet *fleet)
{
    struct load *load = fleet->load;
    struct result *result = fleet->result;
    const struct plan *plan = load->plan;
    const struct gate *gate = &load->gate;
    const int64_t work_ns = atomic_load(&load->last_work_ns);
    const int64_t last_ns = atomic_load(&load->last_end_ns);
    const bool is_run = fleet->search == NULL;
    const unsigned unused = is_run ? fleet->capacity - fleet->used : 0;
    result->sessions = fleet->total;
    result->sessions.requested += unused;
    result->sessions.not_started += unused;
    /* counted apart from what became of them: so the ledger's balance proves something */
    result->sessions.connected = recorder_read(load->recorder, RECORDER_SESSIONS_CONNECTED);
    result->sessions_cut = fleet->cut;
    result->stop_reason = gate_reason(&load->gate);
    result->least_sessions = is_run ? plan->min_sessions : 0;
    int64_t end_ns = gate->stop_ns > 0 ? gate->stop_ns : work_ns;
    if (result->stop_reason == STOP_DURATION) {
        end_ns = gate->go_ns + plan->duration_ns;
    }
    for (unsigned i = 0; i < fleet->used + unused; i++) {
        struct session *session = &fleet->sessions[i];
        struct session_summary *sum = &session->sum;
        struct row_ledger *rows = &sum->rows;
        /* what the time was over for was not due */
        const bool is_timed = session->quota == UINT64_MAX || result->stop_reason == STOP_DURATION;
        rows->planned = is_timed ? sum->begun : session->quota;
        rows->not_sent = rows->planned - (rows->acknowledged + rows->rejected + rows->in_doubt);
        ledger_add(&result->rows, rows, sizeof *rows);
        add_transactions(fleet, session, end_ns);
        if (session->worst_lag > result->worst_lag_rows) {
            result->worst_lag_rows = session->worst_lag;
        }
        if (!is_run) {
            continue;
        }
        const int64_t work_end_ns = session->work_end_ns;
        sum->first_ack_ns = sum->first_ack_ns == 0 ? -1 : sum->first_ack_ns - gate->go_ns;
        sum->last_ack_ns = sum->last_ack_ns == 0 ? -1 : sum->last_ack_ns - gate->go_ns;
        sum->worked_ns = gate->go_ns > 0 && work_end_ns > 0 ? work_end_ns - gate->go_ns : 0;
        result->session_list[i] = *sum;
        result->batches_late += session->batches_late;
        if (plan->rate_rows_per_s > 0 && gate->go_ns > 0 && plan->script == NULL) {
            /* batches that were due and sent, and those that were not, from sessions that were
             * blocked, dropped or never there */
            result->batches.sent += sum->batches;
            result->batches.not_sent += session_count_unsent(
                session, 0, end_ns, work_end_ns > end_ns ? work_end_ns : end_ns);
        }
    }
    result->batches.due = result->batches.sent + result->batches.not_sent;
    if (is_run && plan->script == NULL) {
        fairness_find(&result->fairness, result->session_list, result->session_count);
    }
    result->start_mono_ns = load->start_ns;
    result->elapsed_ns = last_ns - load->start_ns;
    if (!is_run) {
        fleet->search->elapsed_ns = result->elapsed_ns;
    }
    result->connect_ns = gate->go_ns == 0 ? result->elapsed_ns : gate->go_ns - load->start_ns;
    if (gate->go_ns > 0) {
        result->append_ns = work_ns - gate->go_ns;
        result->measured_ns =
            result->append_ns > plan->warm_up_ns ? result->append_ns - plan->warm_up_ns : 0;
        result->disconnect_ns = last_ns - work_ns;
    }
    if (result->elapsed_ns > 0) {
        result->throughput_rows_per_s = (double)result->rows.acknowledged /
                                        ((double)result->elapsed_ns / (double)MONO_NS_PER_S);
    }
    recorder_take_snapshot(load->recorder, &result->totals);
}

/* The first reason stays. */
static void note_end(struct fleet *fleet, enum search_end end)
{
    if (!fleet->is_over) {
        fleet->is_over = true;
        fleet->search->end = end;
        gate_rest(&fleet->load->gate, true);
    }
}

/* The same, but a rank that follows waits until rank 0 says so. */
static void end_search(struct fleet *fleet, enum search_end end)
{
    if (!ranks_follows(fleet->load->ranks)) {
        note_end(fleet, end);
    } else if (fleet->wish == SEARCH_GOES_ON) {
        fleet->wish = end;
    }
}

/* Tells the other ranks how far this one is, and does as they say. */
static void exchange(struct fleet *fleet, bool is_work_done)
{
    struct load *load = fleet->load;
    struct gate *gate = &load->gate;
    struct ranks_state *own = &fleet->own;
    const int64_t now_ns = mono_now_ns();
    const enum stop_reason reason = gate_reason(gate);
    const bool is_stopped = gate_is_stopped(gate) && reason != STOP_DURATION;
    const struct ranks_state before = *own;
    own->is_up = fleet->is_up;
    own->is_done = is_work_done;
    own->is_over = fleet->have_ended;
    own->is_stopped = is_stopped;
    own->reason = reason;
    own->level = fleet->level;
    own->stage = fleet->stage;
    own->has_failed = fleet->has_level_failed;
    own->end = fleet->search != NULL && fleet->is_over ? fleet->search->end : fleet->wish;
    const bool has_changed = ranks_states_differ(own, &before);
    if (!has_changed && now_ns < fleet->next_exchange_ns) {
        return;
    }
    /* who waits for the others asks often */
    const bool waits = fleet->search != NULL
                           ? fleet->stage != STAGE_CLIMBS || fleet->orders.noted == fleet->level
                           : is_work_done || (fleet->is_up && fleet->orders.go_ns == 0);
    fleet->next_exchange_ns = now_ns + (waits ? WAIT_NS : TICK_NS / 2);
    if (has_changed || now_ns >= fleet->next_count_ns) {
        fleet->next_count_ns = now_ns + (fleet->search == NULL ? COUNT_NS : TICK_NS);
        recorder_read_all(load->recorder, own->counters);
    }
    ranks_exchange(load->ranks, own, load->plan->min_sessions, &fleet->orders);
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

/* Looks for everything that ends a run early, and at sessions that do not end. */
static void check_stop_conditions(struct fleet *fleet)
{
    struct load *load = fleet->load;
    struct gate *gate = &load->gate;
    const struct plan *plan = load->plan;
    const int64_t now_ns = mono_now_ns();
    if (!fleet->is_shortage_reported &&
        atomic_load(&load->sessions_failed) + atomic_load(&load->sessions_dropped) > 0) {
        fleet_report_shortage(fleet);
    }
    if (interrupt_requested()) {
        gate_stop(gate, STOP_INTERRUPTED);
    }
    if (plan->duration_ns > 0 && gate->go_ns > 0 && now_ns >= gate->go_ns + plan->duration_ns) {
        gate_stop(gate, STOP_DURATION);
    }
    if (fleet->is_up && plan->min_sessions > 1 && !gate_is_stopped(gate) && load->ranks == NULL) {
        /* fewer sessions may be left than it takes; dropped first: then up is never too small */
        const unsigned dropped = atomic_load(&load->sessions_dropped);
        const unsigned up = atomic_load(&load->sessions_connected) - dropped;
        if (up < plan->min_sessions) {
            fleet->result->sessions_up = up;
            gate_stop(gate, STOP_TOO_FEW);
        }
    }
    if (plan->timeout_ns > 0 && now_ns >= fleet->next_overdue_ns) {
        for (unsigned i = 0; i < fleet->used; i++) {
            session_cut_overdue(&fleet->sessions[i], now_ns);
        }
        fleet->next_overdue_ns = now_ns + TICK_NS;
    }
    bool is_work_done = gate->go_ns > 0 && fleet->numbers.working + fleet->numbers.waiting == 0;
    if (load->ranks != NULL) {
        /* a run that was stopped before the gate opened has no work */
        exchange(fleet, is_work_done ||
                            (fleet->is_up && gate_is_stopped(gate) && fleet->numbers.running == 0));
        is_work_done = is_work_done && fleet->orders.is_done;
    }
    if (is_work_done && !fleet->is_end_told) {
        fleet->is_end_told = true;
        if (load->on_done != NULL) {
            /* another rank does not say when it had its last answer */
            load->on_done(load->context,
                          load->ranks == NULL ? atomic_load(&load->last_work_ns) : now_ns);
        }
        sampler_wake(load->sampler, SAMPLER_WORK_DONE);
    }
    if (!gate_is_stopped(gate) && !is_work_done) {
        return;
    }
    if (fleet->next_interrupt_ns == 0) {
        fleet->next_interrupt_ns = now_ns + SESSION_GRACE_NS;
    }
    fleet_interrupt(fleet, false);
}

static void wait_tick(struct fleet *fleet)
{
    struct gate *gate = &fleet->load->gate;
    const int64_t duration_ns = fleet->load->plan->duration_ns;
    int64_t deadline_ns = mono_now_ns() + TICK_NS;
    if (duration_ns > 0 && gate->go_ns > 0 && !gate_is_stopped(gate) &&
        gate->go_ns + duration_ns < deadline_ns) {
        deadline_ns = gate->go_ns + duration_ns;
    }
    if (fleet->load->ranks != NULL && fleet->next_exchange_ns < deadline_ns) {
        deadline_ns = fleet->next_exchange_ns;
    }
    fleet->numbers = gate_wait_change(gate, deadline_ns);
    check_stop_conditions(fleet);
}

/* The moment at which the gates of all ranks open, when it has come. */
static int64_t await_go(struct fleet *fleet)
{
    struct gate *gate = &fleet->load->gate;
    while (fleet->orders.go_ns == 0 && !gate_is_stopped(gate)) {
        wait_tick(fleet);
    }
    while (fleet->orders.go_ns - mono_now_ns() > TICK_NS && !gate_is_stopped(gate)) {
        wait_tick(fleet);
    }
    const int64_t left_ns = fleet->orders.go_ns - mono_now_ns();
    if (left_ns > 0 && !gate_is_stopped(gate)) {
        mono_sleep(left_ns);
    }
    fleet->result->gate_late_ns = left_ns < 0 && fleet->orders.go_ns > 0 ? -left_ns : 0;
    return fleet->orders.go_ns > 0 ? fleet->orders.go_ns : mono_now_ns();
}

static void run_sessions(struct fleet *fleet)
{
    struct load *load = fleet->load;
    const unsigned concurrency = load->plan->connect_concurrency;
    while (fleet->live < fleet->capacity) {
        check_stop_conditions(fleet);
        /* When nobody has answered for two rounds of connects the server is gone: no point in
         * waiting out the time-out of every session. */
        if (gate_is_stopped(&load->gate) ||
            atomic_load(&load->timeouts_in_a_row) >= 2 * concurrency) {
            break;
        }
        if (fleet->numbers.connecting >= concurrency) {
            wait_tick(fleet);
        } else if (!fleet_start(fleet)) {
            fleet_report_shortage(fleet);
            break;
        }
    }
    wait_tick(fleet);
    while ((fleet->numbers.connecting > 0 || fleet->numbers.running > fleet->numbers.waiting) &&
           !gate_is_stopped(&load->gate)) {
        wait_tick(fleet);
    }
    if (fleet->numbers.running == 0 && load->ranks == NULL) {
        gate_stop(&load->gate, STOP_NO_SESSION);
    }
    fleet->is_up = true;
    check_stop_conditions(fleet);
    const int64_t go_ns = load->ranks == NULL ? mono_now_ns() : await_go(fleet);
    sampler_wake(load->sampler, SAMPLER_WORK_BEGUN); /* its readings begin before the work does */
    /* before: a thousand sessions that wake up may keep this thread from a CPU for long */
    if (load->on_gate != NULL && !gate_is_stopped(&load->gate)) {
        load->on_gate(load->context, go_ns);
    }
    gate_open(&load->gate, go_ns);
    while (fleet->numbers.running > 0 || (load->ranks != NULL && !fleet->orders.is_done)) {
        wait_tick(fleet);
    }
    fleet->have_ended = true;
    if (load->ranks != NULL) {
        exchange(fleet, true);
    }
    for (unsigned i = 0; i < fleet->used; i++) {
        struct session_ledger ignored = {0};
        join(fleet, &fleet->sessions[i], &ignored);
    }
}

/* How often to look at the memory. */
#define MEMORY_NS (250 * MONO_NS_PER_MS)

/* How much longer a hold may be, so that a sample falls into it. */
#define SAMPLE_LIMIT_NS (5 * MONO_NS_PER_S)

/* How long sessions may take to leave, the last part of it without their connection. */
#define LEAVE_LIMIT_NS (3 * SESSION_GRACE_NS)

/* A hold that takes too large a share of the rows that may be written still lasts as long. */
#define HOLD_LEAST_NS MONO_NS_PER_S

/* Sessions that were lost together are seen one after the other. */
#define CALM_NS (300 * MONO_NS_PER_MS)
#define CALM_LIMIT_NS (5 * MONO_NS_PER_S)

/* How long a server that lost all sessions may take to let one in again, and how often it is asked.
 */
#define RETURN_LIMIT_NS (60 * MONO_NS_PER_S)
#define RETURN_PAUSE_NS MONO_NS_PER_S

enum {
    HOLD_PARTS = 5, /* of a hold, for the spread of its rows/s */
    HOLD_SHARE = 8, /* one part in so many of the rows that are left is for one hold */
    STEP_SHARE = 16 /* and one for the time until the next one */
};

unsigned ladder_next(const struct search *search, unsigned first)
{
    const unsigned held = search->held, failed = search->failed, bound = search->bound;
    if (failed == 0) {
        const unsigned next = held == 0 ? first : held > bound / 2 ? bound : 2 * held;
        return held >= bound ? 0 : next < bound ? next : bound;
    }
    if (failed == held + 1) {
        const struct level *last = &search->levels[search->count - 1];
        const bool is_confirmed = search->count > 1 && last->sessions == failed &&
                                  (last[-1].sessions == held || last[-1].sessions == failed);
        return is_confirmed ? 0 : failed;
    }
    const struct level *level = &search->levels[search->failure];
    const bool was_kept_out = level->reason == LEVEL_REFUSED || level->reason == LEVEL_TIMED_OUT ||
                              level->reason == LEVEL_NO_THREAD;
    const unsigned let_in = was_kept_out ? (unsigned)level->up : 0;
    if (let_in > held && let_in < failed) {
        return let_in;
    }
    return let_in == held && held > 0 ? held + 1 : held + (failed - held) / 2;
}

/* Bytes of this machine in use, what the kernel can take back at once not counted; 0 = not known.
 * /proc is not kept open: a descriptor is what a session may be short of. */
static uint64_t memory_used(uint64_t *total_bytes)
{
    char text[4096];
    uint64_t total_kib, available_kib;
    const ssize_t length = procfs_read(AT_FDCWD, "/proc/meminfo", text, sizeof text);
    if (length <= 0 || !procfs_parse_named(text, (size_t)length, "MemTotal:", &total_kib) ||
        !procfs_parse_named(text, (size_t)length, "MemAvailable:", &available_kib) ||
        total_kib > UINT64_MAX / 1024 || available_kib > total_kib) {
        return 0;
    }
    *total_bytes = total_kib * 1024;
    return (total_kib - available_kib) * 1024;
}

unsigned ladder_memory_fits(const struct ladder_memory *memory, unsigned up, uint64_t used_bytes)
{
    if (used_bytes > memory->limit_bytes) {
        return 0;
    }
    if (memory->limit_bytes == UINT64_MAX || up == 0 || used_bytes <= memory->base_bytes) {
        return UINT32_MAX;
    }
    const double each = (double)(used_bytes - memory->base_bytes) / up;
    const double more = (double)(memory->limit_bytes - used_bytes) / each;
    return more >= (double)(UINT32_MAX - up) ? UINT32_MAX : up + (unsigned)more;
}

static uint64_t rows_written(const struct fleet *fleet)
{
    return recorder_read(fleet->load->recorder, RECORDER_ROWS_ACKNOWLEDGED);
}

/* By all ranks, as far as they have told. */
static uint64_t rows_everywhere(const struct fleet *fleet)
{
    struct ranks *ranks = fleet->load->ranks;
    return rows_written(fleet) +
           (ranks == NULL ? 0 : ranks_read_others(ranks, RECORDER_ROWS_ACKNOWLEDGED));
}

/* What a level is measured by. */
static enum recorder_counter work_of(const struct fleet *fleet)
{
    return fleet->load->plan->script != NULL ? RECORDER_TRANSACTIONS_COMMITTED
                                             : RECORDER_ROWS_ACKNOWLEDGED;
}

static uint64_t work_done(const struct fleet *fleet)
{
    return recorder_read(fleet->load->recorder, work_of(fleet));
}

/* A mistake in the script: the sessions do nothing more. */
static bool has_mistake(const struct fleet *fleet)
{
    return gate_reason(&fleet->load->gate) == STOP_SCRIPT;
}

/* Looks at signals, the script, time and memory: true when the search is to end. */
static bool is_over(struct fleet *fleet)
{
    const int64_t now_ns = mono_now_ns();
    const uint64_t max_rows = fleet->search->max_rows;
    uint64_t total;
    if (interrupt_requested()) {
        end_search(fleet, SEARCH_INTERRUPTED);
    } else if (has_mistake(fleet)) {
        end_search(fleet, SEARCH_SCRIPT);
    } else if (now_ns >= fleet->deadline_ns) {
        end_search(fleet, SEARCH_TIME);
    } else if (max_rows > 0 && !ranks_follows(fleet->load->ranks) &&
               rows_everywhere(fleet) >= max_rows) {
        end_search(fleet, SEARCH_ROWS);
    } else if (now_ns >= fleet->next_memory_ns) {
        fleet->next_memory_ns = now_ns + MEMORY_NS;
        if (memory_used(&total) > fleet->memory.limit_bytes) {
            end_search(fleet, SEARCH_MEMORY);
        }
    }
    return fleet->is_over;
}

/* The rows that are written when one part in `share` of those that are left has been. */
static uint64_t rows_at_share(const struct fleet *fleet, unsigned share)
{
    const uint64_t most = fleet->max_rows, written = rows_written(fleet);
    return most == 0 ? UINT64_MAX : written < most ? written + (most - written) / share : written;
}

/* Sleeps until something has changed, or for a short time; joins what has ended. `ledger` may be
 * that of a level. Returns the sessions that are up. */
static unsigned tick(struct fleet *fleet, struct session_ledger *ledger)
{
    const bool has_ranks = fleet->load->ranks != NULL;
    const int64_t deadline_ns = mono_now_ns() + TICK_NS;
    fleet->numbers = gate_wait_change(
        &fleet->load->gate, has_ranks ? MIN(fleet->next_exchange_ns, deadline_ns) : deadline_ns);
    fleet_join_ended(fleet, ledger);
    if (fleet->rest_at_rows < UINT64_MAX && rows_written(fleet) >= fleet->rest_at_rows) {
        gate_rest(&fleet->load->gate, true);
        fleet->rest_at_rows = UINT64_MAX;
    }
    if (has_ranks) {
        exchange(fleet, false);
    }
    return fleet->numbers.working;
}

/* The first reason stays. Evidence is taken while what was short still is. */
static void fail(struct fleet *fleet, struct level *level, enum level_reason reason)
{
    if (level->reason == LEVEL_NO_REASON) {
        level->reason = reason;
        level->reason_ns = mono_now_ns() - fleet->load->start_ns;
        fleet->has_level_failed = true;
    }
    fleet_report_shortage(fleet);
}

/* The level did not hold, here or at another rank. */
static bool is_lost(const struct fleet *fleet, const struct level *level)
{
    return level->reason != LEVEL_NO_REASON ||
           (fleet->orders.level == fleet->level && fleet->orders.has_failed);
}

/* Judges by what has ended. */
static bool has_failed(struct fleet *fleet, struct level *level)
{
    const struct session_ledger *ledger = &level->ledger;
    if (ledger->refused > 0) {
        fail(fleet, level, LEVEL_REFUSED);
    } else if (ledger->timed_out > 0) {
        fail(fleet, level, LEVEL_TIMED_OUT);
    } else if (ledger->dropped > 0) {
        fail(fleet, level, LEVEL_DROPPED);
    }
    return is_lost(fleet, level);
}

/* This rank has come so far, and all others. */
static bool are_at(struct fleet *fleet, enum ranks_stage stage)
{
    fleet->stage = stage;
    return fleet->load->ranks == NULL || fleet->orders.stage >= stage;
}

static uint64_t calls_failed(struct fleet *fleet)
{
    struct recorder *recorder = fleet->load->recorder;
    return recorder_read(recorder, RECORDER_APPENDS_FAILED) +
           recorder_read(recorder, RECORDER_READS_FAILED) +
           recorder_read(recorder, RECORDER_TRANSACTIONS_FAILED) +
           recorder_read(recorder, RECORDER_TRANSACTIONS_IN_DOUBT);
}

/* The causes of what went on between two levels are nobody's. */
static void forget_causes(struct fleet *fleet)
{
    pthread_mutex_lock(&fleet->causes.lock);
    fleet->causes.count = 0;
    fleet->causes.others = 0;
    pthread_mutex_unlock(&fleet->causes.lock);
}

/* Tells the sessions that are too many to leave, those of the last places first, and waits until
 * they have. */
static void retire(struct fleet *fleet, struct level *level)
{
    const uint64_t cut_before = fleet->cut;
    const int64_t start_ns = mono_now_ns();
    fleet->next_interrupt_ns = start_ns + SESSION_GRACE_NS;
    for (unsigned i = fleet->used; i > 0 && fleet->live - fleet->leaving > level->sessions; i--) {
        struct session *session = &fleet->sessions[i - 1];
        if (session->is_live && !atomic_load(&session->is_leaving)) {
            atomic_store(&session->is_leaving, true);
            fleet->leaving++;
        }
    }
    gate_wake(&fleet->load->gate);
    while (fleet->leaving > 0 && !is_over(fleet)) {
        tick(fleet, &level->ledger);
        if (mono_now_ns() >= start_ns + LEAVE_LIMIT_NS) {
            level->reason = LEVEL_STAYED;
            end_search(fleet, SEARCH_STUCK);
        }
        fleet_interrupt(fleet, true);
    }
    if (fleet->cut > cut_before || fleet->load->plan->script != NULL) {
        /* the call or transaction that was cut has failed: not by the level that comes */
        fleet->failed_before = calls_failed(fleet);
        forget_causes(fleet);
    }
}

/* No session is added anywhere before those that are too many elsewhere have left. */
static void wait_for_others(struct fleet *fleet, struct level *level, bool has_retired)
{
    const int64_t gone_ns = mono_now_ns() + (has_retired ? CALM_NS : 0); /* from the server, too */
    while ((mono_now_ns() < gone_ns || !are_at(fleet, STAGE_LEFT)) && !has_failed(fleet, level) &&
           !is_over(fleet)) {
        tick(fleet, &level->ledger);
    }
}

/* A session that fails ends the start: the next ones are not asked for at a server that is full.
 * Then waits until every session is up or has ended. */
static void add_sessions(struct fleet *fleet, struct level *level)
{
    while (fleet->live < level->sessions && !has_failed(fleet, level) && !is_over(fleet)) {
        if (fleet->numbers.connecting >= fleet->load->plan->connect_concurrency) {
            tick(fleet, &level->ledger);
        } else if (!fleet_start(fleet)) {
            fail(fleet, level, LEVEL_NO_THREAD);
        }
    }
    do {
        level->up = tick(fleet, &level->ledger);
        has_failed(fleet, level);
    } while (level->up < fleet->live && !is_over(fleet));
}

/* After sessions were lost: what else was lost with them belongs to this level. */
static void wait_for_drops(struct fleet *fleet, struct level *level)
{
    const int64_t limit_ns = mono_now_ns() + CALM_LIMIT_NS;
    int64_t calm_ns = mono_now_ns() + CALM_NS;
    unsigned live = fleet->live;
    while (mono_now_ns() < calm_ns && mono_now_ns() < limit_ns && !is_over(fleet)) {
        level->up = tick(fleet, &level->ledger);
        if (fleet->live != live) {
            live = fleet->live;
            calm_ns = mono_now_ns() + CALM_NS;
        }
    }
}

static void hold(struct fleet *fleet, struct level *level)
{
    struct recorder *recorder = fleet->load->recorder;
    struct sampler *sampler = fleet->load->sampler;
    const int64_t hold_ns = fleet->search->hold_ns;
    const int64_t start_ns = fleet->snapshots[AT_HOLD].taken_ns;
    const uint64_t share_rows = rows_at_share(fleet, HOLD_SHARE);
    int64_t part_ns = start_ns; /* the start of the part that goes on */
    uint64_t part_rows = work_done(fleet);
    sampler_begin_hold(sampler, start_ns - fleet->load->start_ns);
    for (;;) {
        level->up = tick(fleet, &level->ledger);
        if (calls_failed(fleet) > fleet->failed_before && !has_failed(fleet, level) &&
            !is_over(fleet)) {
            /* a session that was lost with the call is about to end */
            wait_for_drops(fleet, level);
            if (!has_failed(fleet, level) && !has_mistake(fleet)) {
                fail(fleet, level, LEVEL_APPEND_FAILED);
            }
        }
        if (has_failed(fleet, level) || is_over(fleet)) {
            break;
        }
        const int64_t now_ns = mono_now_ns();
        const int64_t held_ns = now_ns - start_ns;
        const uint64_t rows = work_done(fleet);
        if (now_ns - part_ns >= hold_ns / HOLD_PARTS) {
            const double rows_per_s =
                (double)(rows - part_rows) * (double)MONO_NS_PER_S / (double)(now_ns - part_ns);
            part_ns = now_ns;
            part_rows = rows;
            if (level->part_count < LEVEL_PARTS_MAX) {
                level->parts_rows_per_s[level->part_count++] = rows_per_s;
            }
        }
        if (held_ns < hold_ns && (held_ns < HOLD_LEAST_NS || rows_written(fleet) < share_rows)) {
            continue;
        }
        uint64_t reading;
        level->stalled = recorder_count_stalled(recorder, start_ns, &reading);
        if (level->stalled > 0 && held_ns >= hold_ns + fleet->load->patience_ns) {
            fail(fleet, level, LEVEL_NO_PROGRESS);
        }
        /* reading the memory of many processes takes a while: the hold lasts until it was done */
        if (level->stalled == 0 &&
            (sampler_has_held(sampler) || held_ns >= hold_ns + SAMPLE_LIMIT_NS) &&
            are_at(fleet, STAGE_HELD)) {
            break;
        }
    }
    recorder_take_snapshot(recorder, &fleet->snapshots[AT_END]);
    level->hold_ns = fleet->snapshots[AT_END].taken_ns - start_ns;
    level->failed = calls_failed(fleet) - fleet->failed_before;
    sampler_end_hold(sampler, level);
}

/* The level's figures and outcome. Completes its ledger, so that it balances; the causes of one
 * that failed are moved into it. */
static void conclude(struct fleet *fleet, struct level *level)
{
    const struct recorder_snapshot *start = &fleet->snapshots[AT_START];
    const struct recorder_snapshot *hold_start = &fleet->snapshots[AT_HOLD];
    const struct recorder_snapshot *end = &fleet->snapshots[AT_END];
    level->connect = recorder_latency_between(start, hold_start, OPERATION_CONNECT);
    level->connect_ns = hold_start->taken_ns - start->taken_ns;
    level->added = level->connect.count;
    if (level->hold_ns > 0) {
        level->append = recorder_latency_between(
            hold_start, end,
            fleet->load->plan->script != NULL ? OPERATION_TRANSACTION : OPERATION_APPEND);
        level->rows = end->counters[work_of(fleet)] - hold_start->counters[work_of(fleet)];
        level_find_rates(level);
    }
    struct session_ledger *ledger = &level->ledger;
    ledger->finished = level->up;
    ledger->stopped = 0;
    ledger->connected = ledger->finished + ledger->dropped;
    const uint64_t known = ledger->connected + ledger->refused + ledger->timed_out;
    /* with sessions that did not leave there are more than were asked for */
    ledger->requested = known > level->sessions ? known : level->sessions;
    ledger->not_started = ledger->requested - known;
    if (is_lost(fleet, level)) {
        level->outcome = LEVEL_FAILED;
    } else {
        level->outcome = fleet->is_over ? LEVEL_UNFINISHED : LEVEL_HELD;
        level->reason = fleet->is_over ? LEVEL_ENDED : LEVEL_NO_REASON;
    }
    if (level->outcome == LEVEL_FAILED) {
        level->causes = malloc(sizeof *level->causes);
    }
    if (level->causes != NULL) {
        causes_init(level->causes);
        causes_copy(level->causes, &fleet->causes);
    }
    forget_causes(fleet);
}

/* Brings level->sessions up, holds them, and fills *level. */
static void climb(struct fleet *fleet, struct level *level)
{
    struct recorder *recorder = fleet->load->recorder;
    fleet->is_shortage_reported = false;
    recorder_take_snapshot(recorder, &fleet->snapshots[AT_START]);
    fleet->failed_before = calls_failed(fleet);
    level->start_ns = fleet->snapshots[AT_START].taken_ns - fleet->load->start_ns;
    const bool has_too_many = fleet->live > level->sessions;
    retire(fleet, level);
    if (fleet->load->ranks != NULL) {
        wait_for_others(fleet, level, has_too_many);
    }
    fleet->rest_at_rows = rows_at_share(fleet, STEP_SHARE);
    add_sessions(fleet, level);
    while (!are_at(fleet, STAGE_UP) && !has_failed(fleet, level) && !is_over(fleet)) {
        level->up = tick(fleet, &level->ledger);
    }
    fleet->rest_at_rows = UINT64_MAX;
    gate_rest(&fleet->load->gate, fleet->is_over);
    recorder_take_snapshot(recorder, &fleet->snapshots[AT_HOLD]);
    if (!has_failed(fleet, level) && !fleet->is_over) {
        hold(fleet, level);
    }
    if (level->ledger.dropped > 0 || (fleet->load->ranks != NULL && is_lost(fleet, level))) {
        wait_for_drops(fleet, level);
    }
    conclude(fleet, level);
}

/* What the memory of this machine has room for. */
static struct level_room find_room(const struct fleet *fleet)
{
    uint64_t total;
    const uint64_t used = memory_used(&total);
    const unsigned fits = ladder_memory_fits(&fleet->memory, fleet->live, used);
    return (struct level_room){.times = fits == UINT32_MAX ? INFINITY
                                        : fleet->live == 0 ? 0
                                                           : (double)fits / fleet->live,
                               .used_bytes = used,
                               .limit_bytes = fleet->memory.limit_bytes};
}

/* This rank's part of a level, as bytes. False: out of memory. */
static bool pack_level(const struct fleet *fleet, const struct level *own, struct buffer *bytes)
{
    const struct recorder_snapshot *at = fleet->snapshots;
    const size_t work =
        fleet->load->plan->script != NULL ? OPERATION_TRANSACTION : OPERATION_APPEND;
    struct histogram connect, append = {.total = 0};
    histogram_subtract(recorder_histogram(&at[AT_HOLD], OPERATION_CONNECT),
                       recorder_histogram(&at[AT_START], OPERATION_CONNECT), &connect);
    if (own->hold_ns > 0) {
        histogram_subtract(recorder_histogram(&at[AT_END], work),
                           recorder_histogram(&at[AT_HOLD], work), &append);
    }
    return merge_pack_level(bytes, own, &connect, &append, fleet->load->start_ns);
}

/* Climbs this rank's part of a level, as one of several. */
static bool climb_part(struct fleet *fleet, struct level *own, struct buffer *bytes)
{
    own->sessions = ranks_sessions_here(fleet->load->ranks, own->sessions, false);
    fleet->stage = STAGE_CLIMBS;
    fleet->has_level_failed = false;
    fleet->level = fleet->orders.level;
    climb(fleet, own);
    exchange(fleet, false); /* others may wait for it */
    own->room = find_room(fleet);
    return pack_level(fleet, own, bytes);
}

/* Between two levels: sessions that end meanwhile are for the next one to see. */
static void wait_for_orders(struct fleet *fleet)
{
    mono_sleep(WAIT_NS);
    exchange(fleet, false);
}

/* Rank 0: adds up what all ranks came to. */
static void gather(struct fleet *fleet, struct level *level, struct buffer *bytes)
{
    struct load *load = fleet->load;
    const struct operation_list operations = plan_operations(load->plan);
    struct level_sum sum = {.level = level};
    unsigned rank = 0;
    size_t size = bytes->length;
    void *taken = bytes->bytes;
    bool is_whole = true;
    *bytes = (struct buffer){.bytes = NULL};
    level->outcome = LEVEL_HELD;
    gate_rest(&load->gate, true); /* one that is lost may take long to be missed */
    for (bool are_all = false; taken != NULL || !are_all;) {
        if (taken == NULL) {
            wait_for_orders(fleet);
        } else if (!merge_add_level(&sum, ranks_machine(load->ranks, rank), taken, size,
                                    &operations, load->start_ns)) {
            is_whole = false;
        }
        free(taken);
        taken = ranks_take_level(load->ranks, &rank, &size, &are_all);
    }
    gate_rest(&load->gate, fleet->is_over);
    for (unsigned i = 1; i < ranks_count(load->ranks); i++) {
        is_whole = is_whole && ranks_lost(load->ranks, i) == NULL;
    }
    merge_conclude_level(&sum);
    if (!is_whole) {
        end_search(fleet, SEARCH_RANK_LOST);
    }
    if (!is_whole && level->outcome == LEVEL_HELD) {
        level->outcome = LEVEL_UNFINISHED;
        level->reason = LEVEL_ENDED;
    }
    fleet->up_everywhere = level->up;
    fleet->room = level->room;
}

/* Tries a level, and fills *level. */
static void try_level(struct fleet *fleet, struct level *level)
{
    struct load *load = fleet->load;
    struct level own = *level;
    load->on_begin(load->context, level);
    if (load->ranks == NULL) {
        climb(fleet, level);
        search_note_level(fleet->search);
        load->on_level(load->context, level, level);
        return;
    }
    struct buffer bytes = {0};
    ranks_begin_level(load->ranks, level->sessions, &fleet->orders);
    const bool is_packed = climb_part(fleet, &own, &bytes);
    level->start_ns = own.start_ns;
    if (is_packed) {
        gather(fleet, level, &bytes);
    } else {
        end_search(fleet, SEARCH_MEMORY);
    }
    buffer_fini(&bytes);
    search_note_level(fleet->search);
    ranks_note_level(load->ranks, level->outcome);
    own.outcome = level->outcome;
    load->on_level(load->context, level, &own);
    level_fini(&own);
}

/* A rank that follows: tries the levels that rank 0 says, until it says that the search is over. */
static void follow_all(struct fleet *fleet)
{
    struct load *load = fleet->load;
    for (;;) {
        while (fleet->orders.level == fleet->level && !is_over(fleet)) {
            wait_for_orders(fleet);
        }
        if (fleet->orders.level == fleet->level) {
            return;
        }
        struct buffer bytes = {0};
        struct level *level = search_add_level(fleet->search);
        if (level == NULL) { /* without its part rank 0 ends the search */
            fleet->level = fleet->orders.level;
            ranks_give_level(load->ranks, &bytes);
            end_search(fleet, SEARCH_MEMORY);
            continue;
        }
        forget_causes(fleet);
        level->sessions = fleet->orders.sessions;
        level->is_scripted = load->plan->script != NULL;
        struct level own = *level;
        load->on_begin(load->context, level);
        if (!climb_part(fleet, &own, &bytes)) {
            buffer_fini(&bytes);
        }
        ranks_give_level(load->ranks, &bytes);
        gate_rest(&load->gate, true);
        while (fleet->orders.noted < fleet->level && fleet->orders.end != SEARCH_RANK_LOST) {
            wait_for_orders(fleet);
        }
        gate_rest(&load->gate, fleet->is_over);
        const unsigned sessions = level->sessions;
        *level = own;
        level->sessions = sessions;
        if (fleet->orders.noted == fleet->level) {
            level->outcome = fleet->orders.outcome;
        } else if (level->outcome == LEVEL_HELD) { /* here: of the others nothing is known */
            level->outcome = LEVEL_UNFINISHED;
            level->reason = LEVEL_ENDED;
        }
        search_note_level(fleet->search);
        load->on_level(load->context, level, level);
    }
}

/* After a level at which every session was lost: one session at a time, or the set-up's connection
 * where none is to be at this rank, asks whether the server lets anyone in again. Its answer is no
 * part of a level. */
static void await_server(struct fleet *fleet)
{
    const struct plan *plan = fleet->load->plan;
    const int64_t limit_ns = mono_now_ns() + RETURN_LIMIT_NS;
    int64_t next_ns = mono_now_ns();
    struct session_ledger ignored = {0};
    bool is_back = false;
    while (tick(fleet, &ignored) == 0 && !is_back && !is_over(fleet)) {
        const int64_t now_ns = mono_now_ns();
        if (now_ns >= limit_ns) {
            end_search(fleet, SEARCH_GONE);
        } else if (fleet->live == 0 && now_ns >= next_ns) {
            struct setup asked;
            struct error error = {.kind = ERROR_NONE};
            next_ns = now_ns + RETURN_PAUSE_NS;
            if (fleet->capacity > 0) {
                fleet_start(fleet); /* without a thread: again after the pause */
            } else {
                is_back = setup_inquire(&asked, plan, NULL, &error) == EXIT_CODE_OK;
            }
        }
    }
    forget_causes(fleet);
}

/* What of the next level fits into the memory; 0: nothing that would be a step. */
static unsigned fit_memory(struct fleet *fleet, unsigned next)
{
    struct search *search = fleet->search;
    const bool has_ranks = fleet->load->ranks != NULL;
    const struct level_room room = has_ranks ? fleet->room : find_room(fleet);
    const unsigned held = search->held;
    const unsigned live = has_ranks ? (unsigned)fleet->up_everywhere : fleet->live;
    const double most = room.times * live + 0.5; /* not a number: nothing is known yet */
    if (next <= live || !(most < next)) {
        return next;
    }
    const unsigned fits = (unsigned)most;
    snprintf(search->end_note, sizeof search->end_note,
             "%s of %s%.60s in use with %s sessions, %s would pass %s",
             UNITS_BYTES(room.used_bytes), has_ranks ? "machine " : "this machine", room.machine,
             UNITS_COUNT(live), UNITS_COUNT(next), UNITS_BYTES(room.limit_bytes));
    /* steps of less than a twentieth would only creep up to a bound that is an estimate */
    return fits > held + held / 20 ? fits : 0;
}

static void climb_all(struct fleet *fleet)
{
    struct load *load = fleet->load;
    struct search *search = fleet->search;
    while (!fleet->is_over) {
        const unsigned next = ladder_next(search, load->plan->search.first);
        search->end_note[0] = '\0';
        if (next == 0) {
            end_search(fleet, search->failed == 0 ? SEARCH_BOUND : SEARCH_FOUND);
        }
        if (is_over(fleet)) {
            break;
        }
        const unsigned fitting = fit_memory(fleet, next);
        struct level *level = fitting == 0 ? NULL : search_add_level(search);
        if (level == NULL) {
            end_search(fleet, SEARCH_MEMORY);
            break;
        }
        level->sessions = fitting;
        level->is_scripted = load->plan->script != NULL;
        try_level(fleet, level);
        if (level->outcome == LEVEL_FAILED && level->up == 0 && level->ledger.dropped > 0) {
            await_server(fleet);
        }
    }
    if (search->end == SEARCH_MEMORY && search->end_note[0] == '\0') {
        const bool is_known = fleet->room.machine[0] != '\0'; /* of several machines the one */
        const struct level_room room = is_known ? fleet->room : find_room(fleet);
        snprintf(search->end_note, sizeof search->end_note, "%s of %s%.60s in use, %s may be",
                 UNITS_BYTES(room.used_bytes), is_known ? "machine " : "this machine", room.machine,
                 UNITS_BYTES(room.limit_bytes));
    }
}

static enum status search_sessions(struct fleet *fleet, struct error *error)
{
    struct load *load = fleet->load;
    const uint64_t limit_bytes = load->plan->search.max_memory_bytes;
    uint64_t total = 0;
    fleet->memory.base_bytes = memory_used(&total);
    fleet->memory.limit_bytes = total == 0        ? UINT64_MAX
                                : limit_bytes > 0 ? limit_bytes
                                                  : total / 10 * 9;
    fleet->deadline_ns = load->start_ns + load->plan->search.max_time_ns;
    fleet->rest_at_rows = UINT64_MAX;
    fleet->max_rows = fleet->search->max_rows;
    if (load->ranks != NULL && fleet->max_rows > 0) {
        fleet->max_rows =
            (uint64_t)((double)fleet->max_rows * fleet->capacity / load->plan->sessions) + 1;
    }
    bool has_memory = true;
    for (int i = 0; i < SNAPSHOTS; i++) {
        has_memory &=
            recorder_snapshot_init(&fleet->snapshots[i], recorder_operations(load->recorder));
    }
    if (has_memory) {
        gate_open(&load->gate, mono_now_ns());
        sampler_wake(load->sampler, SAMPLER_WORK_BEGUN);
        if (ranks_follows(load->ranks)) {
            follow_all(fleet);
        } else {
            climb_all(fleet);
        }
        /* every session ends; those that do not in time lose their connection */
        gate_stop(&load->gate,
                  fleet->search->end == SEARCH_INTERRUPTED ? STOP_INTERRUPTED : STOP_DURATION);
        fleet->next_interrupt_ns = mono_now_ns() + SESSION_GRACE_NS;
        struct session_ledger ignored = {0};
        while (fleet->live > 0) {
            if (tick(fleet, &ignored) == 0 && !fleet->is_end_told) {
                fleet->is_end_told = true;
                sampler_wake(load->sampler, SAMPLER_WORK_DONE);
            }
            fleet_interrupt(fleet, false);
        }
        fleet->have_ended = true;
        if (load->ranks != NULL) {
            exchange(fleet, true);
        }
    } else {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the figures of a level");
    }
    for (int i = 0; i < SNAPSHOTS; i++) {
        recorder_snapshot_fini(&fleet->snapshots[i]);
    }
    return has_memory ? STATUS_OK : STATUS_FATAL;
}

enum status fleet_run(struct load *load, struct result *result, struct error *error)
{
    const struct plan_share share = plan_share(load->plan);
    const unsigned total = share.count + share.idle;
    const bool is_run = load->search == NULL;
    struct fleet fleet = {.load = load,
                          .result = result,
                          .search = load->search,
                          .capacity = total,
                          .room = {.times = INFINITY}};
    /* calloc: what is never used takes no memory */
    fleet.sessions = calloc(total + 1, sizeof *fleet.sessions);
    if (is_run) {
        result->session_list = calloc(total + 1, sizeof *result->session_list);
        result->session_count = result->session_list == NULL ? 0 : total;
    }
    if (fleet.sessions == NULL || (is_run && result->session_list == NULL)) {
        free(fleet.sessions);
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %u sessions", total);
        return STATUS_FATAL;
    }
    causes_init(&fleet.causes);
    load->causes = is_run ? &result->causes : &fleet.causes;
    load->mistakes = &result->causes;
    load->read = load->setup->own->count;
    if (load->plan->read_mode == READ_QUERY) {
        load->read = (struct statement){.sql = load->plan->read_sql};
    }
    gate_init(&load->gate, is_run && load->ranks != NULL);
    atomic_init(&load->has_finished_one, false);
    atomic_init(&load->timeouts_in_a_row, 0);
    atomic_init(&load->last_work_ns, load->start_ns);
    atomic_init(&load->last_end_ns, load->start_ns);
    enum status status = STATUS_OK;
    if (!is_run) {
        status = search_sessions(&fleet, error);
    } else {
        for (unsigned i = 0; i < total; i++) {
            renew(&fleet, i);
        }
        run_sessions(&fleet);
    }
    if (status == STATUS_OK) {
        sum_up(&fleet);
    }
    causes_fini(&fleet.causes);
    for (unsigned i = 0; i < total && fleet.sessions[i].load != NULL; i++) {
        line_fini(&fleet.sessions[i].line);
    }
    gate_fini(&load->gate);
    free(fleet.sessions);
    return status;
}
