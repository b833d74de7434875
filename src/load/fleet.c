#include "load/fleet.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/mono.h"
#include "base/process.h"
#include "load/calls.h"
#include "load/fleet_state.h"
#include "load/gate.h"
#include "load/schedule.h"
#include "load/transactions.h"

/* Returns the moment at which the last session finished its work; the moment at which the gate was
 * opened if no session has worked since then. */
static int64_t last_work_ns(const struct load *load)
{
    return MAX(atomic_load(&load->last_work_ns), load->gate.go_ns);
}

/* Completes the ledgers of a session, and adds them to the result. `end_ns`: the end of the run. */
static void add_session(struct fleet *fleet, struct session *session, int64_t end_ns)
{
    const struct load *load = fleet->load;
    struct result *result = fleet->result;
    struct session_summary *sum = &session->sum;
    struct row_ledger *rows = &sum->rows;
    const bool is_run = fleet->search == NULL, has_script = load->plan->script != NULL;
    /* without a quota, or when the time of the run was over, only the rows that the session began
     * to send count as planned */
    const bool is_timed = session->quota == UINT64_MAX || stop_is_planned(result->stop_reason);
    rows->planned = is_timed ? sum->begun : session->quota;
    rows->not_sent = rows->planned - (rows->acknowledged + rows->rejected + rows->in_doubt);
    ledger_add(&result->rows, rows, sizeof *rows);
    if (is_run && load->gate.go_ns > 0) {
        session_close_schedule(session, end_ns);
        if (!has_script && session_has_rate(session)) {
            /* due batches are the batches that were sent, and the batches that were never begun */
            result->batches.sent += sum->batches;
            result->batches.not_sent += session->unsent;
        }
    }
    if (has_script) {
        transactions_destroy(session, result);
    }
    result->last_due_ns = MAX(result->last_due_ns, session_last_due_ns(session));
    result->worst_lag_rows = MAX(result->worst_lag_rows, session->worst_lag);
}

/* Lists a session of a run, with its moments since the gate was opened. */
static void list_session(const struct fleet *fleet, const struct session *session)
{
    const int64_t go_ns = fleet->load->gate.go_ns, work_end_ns = session->work_end_ns;
    struct session_summary *sum = &fleet->result->session_list[session->place];
    *sum = session->sum;
    sum->first_ack_ns = sum->first_ack_ns == 0 ? -1 : sum->first_ack_ns - go_ns;
    sum->last_ack_ns = sum->last_ack_ns == 0 ? -1 : sum->last_ack_ns - go_ns;
    sum->worked_ns = go_ns > 0 && work_end_ns > 0 ? work_end_ns - go_ns - session->parked_ns : 0;
}

/* Sets the times of the run or search, and what is computed from them. */
static void set_times(struct fleet *fleet, int64_t work_ns)
{
    const struct load *load = fleet->load;
    const int64_t go_ns = load->gate.go_ns, warm_up_ns = load->plan->warm_up_ns;
    const int64_t last_ns = MAX(atomic_load(&load->last_end_ns), work_ns);
    struct result *result = fleet->result;
    result->start_mono_ns = load->start_ns;
    result->elapsed_ns = last_ns - load->start_ns;
    if (fleet->search != NULL) {
        fleet->search->elapsed_ns = result->elapsed_ns;
    }
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

/* Adds up the results after all sessions were joined. In a run the ledgers include the sessions
 * that were never started. */
static void sum_up(struct fleet *fleet)
{
    struct load *load = fleet->load;
    struct result *result = fleet->result;
    const struct plan *plan = load->plan;
    const struct gate *gate = &load->gate;
    const int64_t work_ns = last_work_ns(load);
    const bool is_run = fleet->search == NULL;
    const unsigned unused = is_run ? fleet->capacity - fleet->used : 0;
    const enum stop_reason reason = gate_reason(&load->gate);
    result->sessions = fleet->total;
    result->sessions.requested += unused;
    result->sessions.not_started += unused;
    /* the number is from a separate counter, not from the outcomes, so a balanced ledger proves
     * something */
    result->sessions.connected = recorder_read(load->recorder, RECORDER_SESSIONS_CONNECTED);
    result->sessions_cut = fleet->cut;
    result->stop_reason = reason == STOP_NOT_YET ? STOP_COMPLETED : reason;
    result->least_sessions = is_run ? plan->min_sessions : 0;
    int64_t end_ns = gate->stop_ns > 0 ? gate->stop_ns : work_ns;
    if (result->stop_reason == STOP_DURATION) {
        end_ns = gate->go_ns + plan->duration_ns;
    }
    for (unsigned i = 0; i < fleet->used + unused; i++) {
        add_session(fleet, &fleet->sessions[i], end_ns);
        if (is_run) {
            list_session(fleet, &fleet->sessions[i]);
        }
    }
    result->batches.due = result->batches.sent + result->batches.not_sent;
    if (plan_has_fairness(plan)) {
        fairness_compute(&result->fairness, result->session_list, result->session_count);
    }
    set_times(fleet, work_ns);
    recorder_take_snapshot(load->recorder, &result->totals);
    if (load->metrics != NULL) {
        metric_store_read(load->metrics, result->metrics, gate->go_ns);
    }
}

/* Checks every reason to end a run early, and cuts calls that are overdue. */
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
    if (load->has_condition != NULL && atomic_load(load->has_condition)) {
        gate_stop(gate, STOP_CONDITION);
    }
    if (fleet->is_up && plan->min_sessions > 1 && !gate_is_stopped(gate) && load->ranks == NULL) {
        /* `dropped` is read first, so `up` is never too small */
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
        fleet->next_overdue_ns = now_ns + LINE_TICK_NS;
    }
    bool is_work_done = gate->go_ns > 0 && fleet->numbers.working + fleet->numbers.waiting == 0;
    if (load->ranks != NULL) {
        /* when the run was stopped before the gate opened, there is no work to wait for */
        fleet_exchange(fleet, is_work_done || (fleet->is_up && gate_is_stopped(gate) &&
                                               fleet->numbers.running == 0));
        is_work_done = is_work_done && fleet->orders.is_done;
    }
    if (is_work_done && !fleet->is_end_reported) {
        fleet->is_end_reported = true;
        if (load->on_done != NULL) {
            /* other ranks do not report when their last answer arrived */
            load->on_done(load->context, load->ranks == NULL ? last_work_ns(load) : now_ns);
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
    int64_t deadline_ns = mono_now_ns() + LINE_TICK_NS;
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

/* Waits for the moment at which all ranks open their gates, and returns it. Returns earlier when
 * the run is stopped. */
static int64_t await_go(struct fleet *fleet)
{
    struct gate *gate = &fleet->load->gate;
    while (fleet->orders.go_ns == 0 && !gate_is_stopped(gate)) {
        wait_tick(fleet);
    }
    while (fleet->orders.go_ns - mono_now_ns() > LINE_TICK_NS && !gate_is_stopped(gate)) {
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
        /* After two rounds of connects without an answer the server is considered gone: do not wait
         * for the time-out of every session. */
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
    /* readings begin before the work; a run without work has no stages */
    sampler_begin_work(load->sampler, gate_is_stopped(&load->gate) ? 0 : go_ns);
    /* called before gate_open, because a thousand sessions that wake up may keep this thread off
     * the CPU for long */
    if (load->on_gate != NULL && !gate_is_stopped(&load->gate)) {
        load->on_gate(load->context, go_ns);
    }
    gate_open(&load->gate, go_ns);
    while (fleet->numbers.running > 0 || (load->ranks != NULL && !fleet->orders.is_done)) {
        wait_tick(fleet);
    }
    fleet->have_ended = true;
    if (load->ranks != NULL) {
        fleet_exchange(fleet, true);
    }
    for (unsigned i = 0; i < fleet->used; i++) {
        struct session_ledger ignored = {0};
        fleet_join(fleet, &fleet->sessions[i], &ignored);
    }
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
                          .ladder.room = {.times = INFINITY}};
    /* with calloc, unused sessions take no memory */
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
    causes_init(&fleet.ladder.causes);
    load->causes = is_run ? &result->causes : &fleet.ladder.causes;
    load->mistakes = &result->causes;
    load->read = load->setup->own->count;
    if (load->plan->read_mode == READ_QUERY) {
        load->read = (struct statement){.sql = load->plan->read_sql, .name = "read"};
    }
    load->first_epoch.rate = load->plan->rate;
    load->first_epoch.sessions = UINT_MAX;
    gate_init(&load->gate, is_run && load->ranks != NULL);
    atomic_init(&load->has_finished_one, false);
    atomic_init(&load->timeouts_in_a_row, 0);
    atomic_init(&load->last_work_ns, load->start_ns);
    atomic_init(&load->last_end_ns, load->start_ns);
    enum status status = STATUS_OK;
    if (!is_run) {
        status = search_run(&fleet, error);
    } else {
        for (unsigned i = 0; i < total; i++) {
            fleet_reset_session(&fleet, i);
        }
        run_sessions(&fleet);
    }
    if (status == STATUS_OK) {
        sum_up(&fleet);
    }
    causes_fini(&fleet.ladder.causes);
    for (unsigned i = 0; i < total && fleet.sessions[i].load != NULL; i++) {
        line_fini(&fleet.sessions[i].line);
    }
    gate_fini(&load->gate);
    epoch_fini(&load->first_epoch);
    free(fleet.sessions);
    return status;
}
