#include "load/fleet.h"

#include <stdlib.h>

#include "base/mono.h"
#include "base/process.h"
#include "load/calls.h"
#include "load/fleet_state.h"
#include "load/gate.h"
#include "load/schedule.h"

/* Interval at which this rank (one of several processes that share a run) reads its counters and
 * sends them to the other ranks. */
#define COUNT_NS (250 * MONO_NS_PER_MS)

/* Sends the state of this rank to the other ranks, and carries out the orders of rank 0. */
static void exchange(struct fleet *fleet, bool is_work_done)
{
    struct gate *gate = &fleet->load->gate;
    struct ranks_state state = fleet->state;
    state.is_up = fleet->is_up;
    state.is_done = is_work_done;
    state.is_over = fleet->have_ended;
    const bool is_waiting = is_work_done || (fleet->is_up && fleet->orders.go_ns == 0);
    if (!fleet_exchange(fleet, &state, is_waiting, COUNT_NS)) {
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

/* Stops the run if there is a reason to end it, and cuts the connections of calls that are
 * overdue. */
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
        /* `dropped` must be read before the number of connected sessions, so that `up` is never too
         * small */
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
        /* a run that was stopped before the gate opened is done when its sessions have ended */
        exchange(fleet, is_work_done ||
                            (fleet->is_up && gate_is_stopped(gate) && fleet->numbers.running == 0));
        is_work_done = is_work_done && fleet->orders.is_done;
    }
    if (is_work_done && !fleet->is_end_reported) {
        fleet->is_end_reported = true;
        if (load->on_done != NULL) {
            /* with several ranks the moment of the last answer is unknown, so the current moment is
             * used */
            load->on_done(load->context, load->ranks == NULL ? fleet_last_work_ns(fleet) : now_ns);
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
        /* The server is considered gone after 2 * concurrency time-outs in a row. Do not wait for
         * the time-outs of the remaining sessions. */
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
    /* the sampler must begin before the work. The moment 0 means that the run was stopped before
     * any work: the sampler then measures no stages */
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
        exchange(fleet, true);
    }
    for (unsigned i = 0; i < fleet->used; i++) {
        struct session_ledger ignored = {0};
        fleet_join(fleet, &fleet->sessions[i], &ignored);
    }
}

/* Counts the session's work that was due but never begun. */
static void close_schedule(struct fleet *fleet, struct session *session)
{
    struct load *load = fleet->load;
    struct gate *gate = &load->gate;
    struct batch_ledger *batches = &fleet->result->batches;
    int64_t end_ns = gate->stop_ns > 0 ? gate->stop_ns : fleet_last_work_ns(fleet);
    if (gate_reason(gate) == STOP_DURATION) {
        end_ns = gate->go_ns + load->plan->duration_ns;
    }
    session_close_schedule(session, end_ns);
    if (load->plan->script == NULL && session_has_rate(session)) {
        /* the number of due batches is the sum of the batches sent and not sent */
        batches->sent += session->sum.batches;
        batches->not_sent += session->unsent;
        batches->due += session->sum.batches + session->unsent;
    }
}

/* Copies the session's summary to the result. Makes the moments of acknowledgements relative to the
 * opening of the gate, or -1 if no row was acknowledged. */
static void list_session(const struct fleet *fleet, const struct session *session)
{
    const int64_t go_ns = fleet->load->gate.go_ns, work_end_ns = session->work_end_ns;
    struct session_summary *sum = &fleet->result->session_list[session->place];
    *sum = session->sum;
    sum->first_ack_ns = sum->first_ack_ns == 0 ? -1 : sum->first_ack_ns - go_ns;
    sum->last_ack_ns = sum->last_ack_ns == 0 ? -1 : sum->last_ack_ns - go_ns;
    sum->worked_ns = go_ns > 0 && work_end_ns > 0 ? work_end_ns - go_ns - session->parked_ns : 0;
}

/* Adds up the results after all sessions were joined, including sessions that were never
 * started. */
static void sum_up(struct fleet *fleet)
{
    const struct load *load = fleet->load;
    const struct plan *plan = load->plan;
    struct result *result = fleet->result;
    for (unsigned i = 0; i < fleet->capacity && load->gate.go_ns > 0; i++) {
        close_schedule(fleet, &fleet->sessions[i]);
    }
    fleet_sum_up(fleet);
    result->sessions.requested += fleet->capacity - fleet->used;
    result->sessions.not_started += fleet->capacity - fleet->used;
    result->least_sessions = plan->min_sessions;
    for (unsigned i = 0; i < fleet->capacity; i++) {
        list_session(fleet, &fleet->sessions[i]);
    }
    if (plan_has_fairness(plan)) {
        fairness_compute(&result->fairness, result->session_list, result->session_count);
    }
    if (load->metrics != NULL) {
        metric_store_read(load->metrics, result->metrics, load->gate.go_ns);
    }
}

enum status fleet_run(struct load *load, struct result *result, struct error *error)
{
    struct fleet fleet;
    if (fleet_init(&fleet, load, result, &result->causes, error) != STATUS_OK) {
        return STATUS_FATAL;
    }
    result->session_list = calloc(fleet.capacity + 1, sizeof *result->session_list);
    if (result->session_list == NULL) {
        fleet_fini(&fleet);
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %u sessions", fleet.capacity);
        return STATUS_FATAL;
    }
    result->session_count = fleet.capacity;
    for (unsigned i = 0; i < fleet.capacity; i++) {
        fleet_reset_session(&fleet, i);
    }
    run_sessions(&fleet);
    sum_up(&fleet);
    fleet_fini(&fleet);
    return STATUS_OK;
}
