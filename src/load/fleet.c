#include "load/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "base/process.h"

/* How often the main thread looks for signals and deadlines. */
#define TICK_NS (50 * MONO_NS_PER_MS)

enum status fleet_init(struct fleet *fleet, struct load *load, unsigned capacity,
                       struct causes *causes, struct error *error)
{
    *fleet = (struct fleet){.load = load, .capacity = capacity};
    /* calloc: what is never used takes no memory */
    fleet->sessions = calloc(capacity, sizeof *fleet->sessions);
    if (fleet->sessions == NULL || !recorder_watch(load->recorder, capacity)) {
        free(fleet->sessions);
        fleet->sessions = NULL;
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %u sessions", capacity);
        return STATUS_FATAL;
    }
    load->causes = causes;
    load->read = load->plan->read_mode == READ_QUERY
                     ? (struct statement){.sql = load->plan->read_sql}
                     : load->setup->count;
    gate_init(&load->gate);
    pthread_mutex_init(&load->connections_lock, NULL);
    atomic_init(&load->has_finished_one, false);
    atomic_init(&load->timeouts_in_a_row, 0);
    atomic_init(&load->last_work_ns, load->start_ns);
    atomic_init(&load->last_end_ns, load->start_ns);
    pthread_attr_init(&fleet->attributes);
    pthread_attr_setstacksize(&fleet->attributes, load->plan->stack_bytes);
    return STATUS_OK;
}

void fleet_fini(struct fleet *fleet)
{
    if (fleet->sessions != NULL) {
        pthread_attr_destroy(&fleet->attributes);
        pthread_mutex_destroy(&fleet->load->connections_lock);
        gate_fini(&fleet->load->gate);
        free(fleet->sessions);
    }
}

/* The rows of the place go on; everything else is as new. */
static void renew(struct fleet *fleet, unsigned index)
{
    const struct plan *plan = fleet->load->plan;
    struct session *session = &fleet->sessions[index];
    struct session_summary *sum = &session->sum;
    session->load = fleet->load;
    session->index = sum->index = index;
    session->is_idle = sum->is_idle = index >= plan->sessions;
    session->quota = session->is_idle ? 0 : plan_quota(plan, index);
    session->last_count = 0;
    pthread_mutex_lock(&fleet->load->connections_lock);
    session->was_interrupted = false;
    pthread_mutex_unlock(&fleet->load->connections_lock);
    atomic_store(&session->is_leaving, false);
    sum->outcome = SESSION_NOT_STARTED;
    sum->first_ack_ns = sum->last_ack_ns = session->work_end_ns = 0;
    atomic_store(&session->has_ended, false);
}

bool fleet_start(struct fleet *fleet)
{
    struct load *load = fleet->load;
    unsigned index = fleet->first_free;
    while (fleet->sessions[index].is_live) {
        index++;
    }
    struct session *session = &fleet->sessions[index];
    renew(fleet, index);
    gate_begin_start(&load->gate);
    const int rc = pthread_create(&session->thread, &fleet->attributes, session_run, session);
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
    return true;
}

struct gate_numbers fleet_wait(struct fleet *fleet)
{
    return gate_wait_change(&fleet->load->gate, mono_now_ns() + TICK_NS);
}

void fleet_retire(struct fleet *fleet, unsigned count)
{
    for (unsigned i = fleet->used; i > 0 && count > 0; i--) {
        struct session *session = &fleet->sessions[i - 1];
        if (session->is_live && !atomic_load(&session->is_leaving)) {
            atomic_store(&session->is_leaving, true);
            fleet->leaving++;
            count--;
        }
    }
}

void fleet_interrupt(struct fleet *fleet, bool only_leaving)
{
    for (unsigned i = 0; i < fleet->used; i++) {
        struct session *session = &fleet->sessions[i];
        if (session->is_live && (!only_leaving || atomic_load(&session->is_leaving))) {
            session_interrupt(session);
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

static void count_outcome(struct session_ledger *ledger, enum session_outcome outcome)
{
    uint64_t *const entries[] = {
        [SESSION_NOT_STARTED] = &ledger->not_started, [SESSION_REFUSED] = &ledger->refused,
        [SESSION_TIMED_OUT] = &ledger->timed_out,     [SESSION_FINISHED] = &ledger->finished,
        [SESSION_STOPPED] = &ledger->stopped,         [SESSION_DROPPED] = &ledger->dropped,
    };
    ++*entries[outcome];
}

static void join(struct fleet *fleet, struct session *session, struct session_ledger *ledger)
{
    pthread_join(session->thread, NULL);
    session->is_live = false;
    fleet->live--;
    fleet->cut += session->was_interrupted ? 1 : 0;
    fleet->total.requested++;
    count_outcome(&fleet->total, session->sum.outcome);
    if (atomic_load(&session->is_leaving)) {
        fleet->leaving--;
    } else {
        count_outcome(ledger, session->sum.outcome);
    }
}

void fleet_join_ended(struct fleet *fleet, struct session_ledger *ledger)
{
    for (unsigned i = 0; i < fleet->used; i++) {
        struct session *session = &fleet->sessions[i];
        if (session->is_live && atomic_load_explicit(&session->has_ended, memory_order_acquire)) {
            join(fleet, session, ledger);
            fleet->first_free = i < fleet->first_free ? i : fleet->first_free;
        }
    }
    fleet->total.connected = fleet->total.finished + fleet->total.stopped + fleet->total.dropped;
}

void fleet_sum_up(struct fleet *fleet, struct result *result)
{
    struct load *load = fleet->load;
    const int64_t end_ns = atomic_load(&load->last_end_ns);
    const int64_t go_ns = load->gate.go_ns;
    result->sessions = fleet->total;
    result->sessions_cut = fleet->cut;
    result->stop_reason = gate_reason(&load->gate);
    for (unsigned i = 0; i < fleet->used; i++) {
        struct session *session = &fleet->sessions[i];
        struct row_ledger *rows = &session->sum.rows;
        /* what the time was over for was not due */
        const bool is_timed = session->quota == UINT64_MAX || result->stop_reason == STOP_DURATION;
        rows->planned = is_timed ? session->sum.begun : session->quota;
        rows->not_sent = rows->planned - (rows->acknowledged + rows->rejected + rows->in_doubt);
        row_ledger_add(&result->rows, rows);
        if (session->worst_lag > result->worst_lag_rows) {
            result->worst_lag_rows = session->worst_lag;
        }
    }
    result->start_mono_ns = load->start_ns;
    result->elapsed_ns = end_ns - load->start_ns;
    result->connect_ns = go_ns == 0 ? result->elapsed_ns : go_ns - load->start_ns;
    if (go_ns > 0) {
        const int64_t work_ns = atomic_load(&load->last_work_ns);
        result->append_ns = work_ns - go_ns;
        result->disconnect_ns = end_ns - work_ns;
    }
    if (result->elapsed_ns > 0) {
        result->throughput_rows_per_s = (double)result->rows.acknowledged /
                                        ((double)result->elapsed_ns / (double)MONO_NS_PER_S);
    }
}

/* A fleet of which every session is started once. */
struct run {
    struct fleet fleet;
    int64_t next_interrupt_ns;   /* from STOP, or the end of all work, on; 0 before */
    int64_t next_overdue_ns;     /* with --timeout: when the calls are looked at again */
    struct gate_numbers numbers; /* when it was last waited */
    bool is_end_told;            /* of the work, to the sampler */
    struct result *result;
};

/* Ends the run when fewer sessions are left than it takes. Where one will do there is nothing to
 * end. */
static void check_number(struct run *run)
{
    struct load *load = run->fleet.load;
    const unsigned least = load->plan->min_sessions;
    if (least <= 1 || gate_is_stopped(&load->gate)) {
        return;
    }
    /* dropped first: the difference is then never too small */
    const uint64_t dropped = recorder_read(load->recorder, RECORDER_SESSIONS_DROPPED);
    const uint64_t up = recorder_read(load->recorder, RECORDER_SESSIONS_CONNECTED) - dropped;
    if (up < least) {
        run->result->sessions_up = up;
        gate_stop(&load->gate, STOP_TOO_FEW);
    }
}

/* Looks for everything that ends a run early, and at sessions that do not end. */
static void check_stop_conditions(struct run *run)
{
    struct fleet *fleet = &run->fleet;
    struct load *load = fleet->load;
    struct gate *gate = &load->gate;
    const struct plan *plan = load->plan;
    const int64_t now_ns = mono_now_ns();
    if (!fleet->is_shortage_reported &&
        (recorder_read(load->recorder, RECORDER_SESSIONS_FAILED) > 0 ||
         recorder_read(load->recorder, RECORDER_SESSIONS_DROPPED) > 0)) {
        fleet_report_shortage(fleet);
    }
    if (interrupt_requested()) {
        gate_stop(gate, STOP_INTERRUPTED);
    }
    if (plan->duration_ns > 0 && gate->go_ns > 0 && now_ns >= gate->go_ns + plan->duration_ns) {
        gate_stop(gate, STOP_DURATION);
    }
    if (gate->go_ns > 0) {
        check_number(run);
    }
    if (plan->timeout_ns > 0 && now_ns >= run->next_overdue_ns) {
        for (unsigned i = 0; i < fleet->used; i++) {
            session_cut_overdue(&fleet->sessions[i], now_ns);
        }
        run->next_overdue_ns = now_ns + TICK_NS;
    }
    const bool is_work_done = gate->go_ns > 0 && run->numbers.working + run->numbers.waiting == 0;
    if (is_work_done && !run->is_end_told) {
        run->is_end_told = true;
        sampler_end_work(load->sampler);
    }
    if (!gate_is_stopped(gate) && !is_work_done) {
        return;
    }
    if (run->next_interrupt_ns == 0) {
        run->next_interrupt_ns = now_ns + SESSION_GRACE_NS;
    }
    if (now_ns >= run->next_interrupt_ns) {
        fleet_interrupt(fleet, false);
        run->next_interrupt_ns = now_ns + MONO_NS_PER_S;
    }
}

static void wait_tick(struct run *run)
{
    struct gate *gate = &run->fleet.load->gate;
    const int64_t duration_ns = run->fleet.load->plan->duration_ns;
    int64_t deadline_ns = mono_now_ns() + TICK_NS;
    if (duration_ns > 0 && gate->go_ns > 0 && !gate_is_stopped(gate) &&
        gate->go_ns + duration_ns < deadline_ns) {
        deadline_ns = gate->go_ns + duration_ns;
    }
    run->numbers = gate_wait_change(gate, deadline_ns);
    check_stop_conditions(run);
}

static void run_sessions(struct run *run)
{
    struct fleet *fleet = &run->fleet;
    struct load *load = fleet->load;
    const unsigned concurrency = load->plan->connect_concurrency;
    unsigned connecting = 0;
    while (fleet->live < fleet->capacity) {
        check_stop_conditions(run);
        /* When nobody has answered for two rounds of connects the server is gone: no point in
         * waiting out the time-out of every session. */
        if (gate_is_stopped(&load->gate) ||
            atomic_load(&load->timeouts_in_a_row) >= 2 * concurrency) {
            break;
        }
        if (connecting >= concurrency) {
            wait_tick(run);
            connecting = run->numbers.connecting;
            continue;
        }
        if (!fleet_start(fleet)) {
            fleet_report_shortage(fleet);
            break;
        }
        connecting++;
    }
    wait_tick(run);
    while ((run->numbers.connecting > 0 || run->numbers.running > run->numbers.waiting) &&
           !gate_is_stopped(&load->gate)) {
        wait_tick(run);
    }
    if (run->numbers.running == 0) {
        gate_stop(&load->gate, STOP_NO_SESSION);
    }
    check_number(run);
    gate_open(&load->gate, mono_now_ns());
    sampler_begin_work(load->sampler);
    while (run->numbers.running > 0) {
        wait_tick(run);
    }
    for (unsigned i = 0; i < fleet->used; i++) {
        struct session_ledger ignored = {0};
        join(fleet, &fleet->sessions[i], &ignored);
    }
}

/* A moment as time since the gate opened; negative when it never came. */
static int64_t since_go(const struct load *load, int64_t moment_ns)
{
    return moment_ns == 0 ? -1 : moment_ns - load->gate.go_ns;
}

/* Sessions that were never started have their part in the ledgers, too. */
static void sum_up(struct fleet *fleet, struct result *result)
{
    struct load *load = fleet->load;
    const struct plan *plan = load->plan;
    const struct gate *gate = &load->gate;
    fleet->total.requested = fleet->capacity;
    fleet->total.not_started += fleet->capacity - fleet->used;
    fleet->total.connected = recorder_read(load->recorder, RECORDER_SESSIONS_CONNECTED);
    fleet->used = fleet->capacity;
    fleet_sum_up(fleet, result);
    result->least_sessions = plan->min_sessions;
    int64_t end_ns = gate->stop_ns > 0 ? gate->stop_ns : atomic_load(&load->last_work_ns);
    if (result->stop_reason == STOP_DURATION) {
        end_ns = gate->go_ns + plan->duration_ns;
    }
    for (unsigned i = 0; i < fleet->capacity; i++) {
        struct session *session = &fleet->sessions[i];
        struct session_summary *sum = &session->sum;
        const int64_t work_end_ns = session->work_end_ns;
        sum->first_ack_ns = since_go(load, sum->first_ack_ns);
        sum->last_ack_ns = since_go(load, sum->last_ack_ns);
        sum->worked_ns = gate->go_ns > 0 && work_end_ns > 0 ? work_end_ns - gate->go_ns : 0;
        result->session_list[i] = *sum;
        result->batches_late += session->batches_late;
        if (plan->rate_rows_per_s > 0 && gate->go_ns > 0) {
            /* batches that were due and sent, and those that were not, from sessions that were
             * blocked, dropped or never there */
            result->batches.sent += sum->batches;
            result->batches.not_sent +=
                session_count_unsent(session, end_ns, work_end_ns > end_ns ? work_end_ns : end_ns);
        }
    }
    result->batches.due = result->batches.sent + result->batches.not_sent;
    fairness_find(&result->fairness, result->session_list, result->session_count);
}

enum status fleet_run(struct load *load, struct result *result, struct error *error)
{
    struct run run = {.result = result};
    const unsigned total = plan_sessions_all(load->plan);
    result->session_list = calloc(total, sizeof *result->session_list);
    if (result->session_list == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %u sessions", total);
        return STATUS_FATAL;
    }
    const enum status status = fleet_init(&run.fleet, load, total, &result->causes, error);
    if (status == STATUS_OK) {
        result->session_count = total;
        for (unsigned i = 0; i < total; i++) {
            renew(&run.fleet, i);
        }
        run_sessions(&run);
        sum_up(&run.fleet, result);
        fleet_fini(&run.fleet);
    }
    return status;
}
