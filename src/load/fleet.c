#include "load/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "base/process.h"

/* How often the main thread looks for signals and deadlines. */
#define TICK_NS (50 * MONO_NS_PER_MS)

static void init_load(struct load *load, const struct fleet_config *config, struct causes *causes)
{
    load->plan = config->plan;
    load->table = &config->setup->table;
    load->read = config->setup->count;
    if (config->plan->read_mode == READ_QUERY) {
        load->read = (struct statement){.sql = config->plan->read_sql};
    }
    load->workload = config->workload;
    load->generator = config->generator;
    load->recorder = config->recorder;
    load->causes = causes;
    load->sampler = config->sampler;
    load->rows_before = config->setup->rows_before;
    gate_init(&load->gate);
    pthread_mutex_init(&load->connections_lock, NULL);
    atomic_init(&load->has_finished_one, false);
    atomic_init(&load->timeouts_in_a_row, 0);
    atomic_init(&load->last_work_ns, config->start_ns);
    atomic_init(&load->last_end_ns, config->start_ns);
}

enum status fleet_init(struct fleet *fleet, const struct fleet_config *config, unsigned capacity,
                       struct causes *causes, struct error *error)
{
    *fleet = (struct fleet){.config = config, .capacity = capacity};
    /* calloc: what is never used takes no memory */
    fleet->sessions = calloc(capacity, sizeof *fleet->sessions);
    if (fleet->sessions == NULL || !recorder_watch(config->recorder, capacity)) {
        free(fleet->sessions);
        fleet->sessions = NULL;
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %u sessions", capacity);
        return STATUS_FATAL;
    }
    init_load(&fleet->load, config, causes);
    pthread_attr_init(&fleet->attributes);
    pthread_attr_setstacksize(&fleet->attributes, config->plan->stack_bytes);
    return STATUS_OK;
}

void fleet_fini(struct fleet *fleet)
{
    pthread_attr_destroy(&fleet->attributes);
    pthread_mutex_destroy(&fleet->load.connections_lock);
    gate_fini(&fleet->load.gate);
    free(fleet->sessions);
    fleet->sessions = NULL;
}

/* The rows of the place go on; everything else is as new. */
static void renew(struct fleet *fleet, unsigned index)
{
    const struct plan *plan = fleet->config->plan;
    struct session *session = &fleet->sessions[index];
    session->load = &fleet->load;
    session->index = index;
    session->is_idle = index >= plan->sessions;
    session->quota = session->is_idle ? 0 : plan_quota(plan, index);
    session->outcome = SESSION_NOT_STARTED;
    session->last_count = 0;
    pthread_mutex_lock(&fleet->load.connections_lock);
    session->was_interrupted = false;
    pthread_mutex_unlock(&fleet->load.connections_lock);
    atomic_store(&session->is_leaving, false);
    session->first_ack_ns = 0;
    session->last_ack_ns = 0;
    session->work_end_ns = 0;
    atomic_store(&session->has_ended, false);
}

int fleet_start(struct fleet *fleet)
{
    unsigned index = fleet->first_free;
    while (fleet->sessions[index].is_live) {
        index++;
    }
    struct session *session = &fleet->sessions[index];
    renew(fleet, index);
    gate_begin_start(&fleet->load.gate);
    const int rc = pthread_create(&session->thread, &fleet->attributes, session_run, session);
    if (rc != 0) {
        gate_cancel_start(&fleet->load.gate);
        return rc;
    }
    session->is_live = true;
    fleet->first_free = index + 1;
    fleet->used = index + 1 > fleet->used ? index + 1 : fleet->used;
    fleet->live++;
    return 0;
}

static void blame_thread(struct fleet *fleet, int rc)
{
    struct error error;
    error_clear(&error);
    error_set(&error, ERROR_LIMIT, rc, NULL, "client limit: no thread for session %u: %s",
              fleet->live + 1, strerror(rc));
    causes_add(fleet->load.causes, CAUSE_THREAD, STATUS_FATAL, &error, mono_now_ns());
}

/* A session that gets no thread ends the start: the next ones would not get one either. */
bool fleet_grow(struct fleet *fleet, unsigned sessions, const struct fleet_pace *pace)
{
    const unsigned concurrency = fleet->config->plan->connect_concurrency;
    unsigned connecting = 0;
    while (fleet->live < sessions && pace->may_start(pace->context)) {
        if (connecting >= concurrency) {
            connecting = pace->wait(pace->context);
            continue;
        }
        const int rc = fleet_start(fleet);
        if (rc != 0) {
            blame_thread(fleet, rc);
            return false;
        }
        connecting++;
    }
    return true;
}

struct gate_numbers fleet_wait(struct fleet *fleet)
{
    return gate_wait_change(&fleet->load.gate, mono_now_ns() + TICK_NS);
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
    const struct fleet_config *config = fleet->config;
    if (!fleet->is_shortage_reported && config->on_shortage != NULL) {
        fleet->is_shortage_reported = true;
        config->on_shortage(config->context);
    }
}

static uint64_t *ledger_entry(struct session_ledger *sessions, enum session_outcome outcome)
{
    switch (outcome) {
    case SESSION_NOT_STARTED:
        break;
    case SESSION_REFUSED:
        return &sessions->refused;
    case SESSION_TIMED_OUT:
        return &sessions->timed_out;
    case SESSION_FINISHED:
        return &sessions->finished;
    case SESSION_STOPPED:
        return &sessions->stopped;
    case SESSION_DROPPED:
        return &sessions->dropped;
    }
    return &sessions->not_started;
}

static void join(struct fleet *fleet, struct session *session, struct session_ledger *ledger)
{
    pthread_join(session->thread, NULL);
    const bool is_leaving = atomic_load(&session->is_leaving);
    session->is_live = false;
    fleet->live--;
    fleet->leaving -= is_leaving ? 1 : 0;
    fleet->cut += session->was_interrupted ? 1 : 0;
    fleet->total.requested++;
    ++*ledger_entry(&fleet->total, session->outcome);
    if (!is_leaving) {
        ++*ledger_entry(ledger, session->outcome);
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

/* What the time was over for was not due. */
static struct row_ledger rows_of(const struct session *session)
{
    const bool is_timed =
        session->quota == UINT64_MAX || gate_reason(&session->load->gate) == STOP_DURATION;
    const uint64_t planned = is_timed ? session->begun : session->quota;
    const uint64_t answered = session->acknowledged + session->rejected + session->in_doubt;
    return (struct row_ledger){
        .planned = planned,
        .acknowledged = session->acknowledged,
        .rejected = session->rejected,
        .in_doubt = session->in_doubt,
        .not_sent = planned - answered,
    };
}

static void sum_up_times(struct load *load, int64_t start_ns, struct result *result)
{
    const int64_t end_ns = atomic_load(&load->last_end_ns);
    const int64_t go_ns = load->gate.go_ns;
    result->start_mono_ns = start_ns;
    result->elapsed_ns = end_ns - start_ns;
    result->connect_ns = go_ns == 0 ? result->elapsed_ns : go_ns - start_ns;
    if (go_ns > 0) {
        const int64_t work_ns = atomic_load(&load->last_work_ns);
        result->append_ns = work_ns - go_ns;
        result->disconnect_ns = end_ns - work_ns;
    }
    if (result->elapsed_ns > 0) {
        result->throughput_rows_per_s = (double)result->rows.acknowledged /
                                        ((double)result->elapsed_ns / (double)MONO_NS_PER_S);
    }
    result->stop_reason = gate_reason(&load->gate);
}

void fleet_sum_up(struct fleet *fleet, struct result *result)
{
    result->sessions = fleet->total;
    result->sessions_cut = fleet->cut;
    for (unsigned i = 0; i < fleet->used; i++) {
        const struct session *session = &fleet->sessions[i];
        const struct row_ledger rows = rows_of(session);
        row_ledger_add(&result->rows, &rows);
        if (session->worst_lag > result->worst_lag_rows) {
            result->worst_lag_rows = session->worst_lag;
        }
    }
    sum_up_times(&fleet->load, fleet->config->start_ns, result);
}

/* A fleet of which every session is started once. */
struct run {
    struct fleet fleet;
    int64_t stopped_ns; /* when STOP was first seen, or that all work was done; 0 before */
    int64_t next_interrupt_ns;
    int64_t next_overdue_ns;     /* with --timeout: when the calls are looked at again */
    struct gate_numbers numbers; /* when it was last waited */
    bool is_end_told;            /* of the work, to the sampler */
    struct result *result;
};

/* With --timeout: makes the calls return that have taken too long. */
static void cut_overdue(struct run *run, int64_t now_ns)
{
    if (run->fleet.config->plan->timeout_ns == 0 || now_ns < run->next_overdue_ns) {
        return;
    }
    for (unsigned i = 0; i < run->fleet.used; i++) {
        session_cut_overdue(&run->fleet.sessions[i], now_ns);
    }
    run->next_overdue_ns = now_ns + TICK_NS;
}

static bool has_shortage(const struct run *run)
{
    struct recorder *recorder = run->fleet.config->recorder;
    return recorder_read(recorder, RECORDER_SESSIONS_FAILED) > 0 ||
           recorder_read(recorder, RECORDER_SESSIONS_DROPPED) > 0;
}

/* Ends the run when fewer sessions are left than it takes. Where one will do there is nothing to
 * end. */
static void check_number(struct run *run)
{
    struct recorder *recorder = run->fleet.config->recorder;
    const unsigned least = run->fleet.config->plan->min_sessions;
    if (least <= 1 || gate_is_stopped(&run->fleet.load.gate)) {
        return;
    }
    /* dropped first: the difference is then never too small */
    const uint64_t dropped = recorder_read(recorder, RECORDER_SESSIONS_DROPPED);
    const uint64_t up = recorder_read(recorder, RECORDER_SESSIONS_CONNECTED) - dropped;
    if (up < least) {
        run->result->sessions_up = up;
        gate_stop(&run->fleet.load.gate, STOP_TOO_FEW);
    }
}

/* Looks for everything that ends a run early, and at sessions that do not end. */
static void check_stop_conditions(struct run *run)
{
    struct gate *gate = &run->fleet.load.gate;
    const struct plan *plan = run->fleet.config->plan;
    const int64_t now_ns = mono_now_ns();
    if (!run->fleet.is_shortage_reported && has_shortage(run)) {
        fleet_report_shortage(&run->fleet);
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
    cut_overdue(run, now_ns);
    const bool is_work_done = gate->go_ns > 0 && run->numbers.working + run->numbers.waiting == 0;
    if (is_work_done && !run->is_end_told) {
        run->is_end_told = true;
        sampler_end_work(run->fleet.load.sampler);
    }
    if (!gate_is_stopped(gate) && !is_work_done) {
        return;
    }
    if (run->stopped_ns == 0) {
        run->stopped_ns = now_ns;
        run->next_interrupt_ns = now_ns + SESSION_GRACE_NS;
    }
    if (now_ns >= run->next_interrupt_ns) {
        fleet_interrupt(&run->fleet, false);
        run->next_interrupt_ns = now_ns + MONO_NS_PER_S;
    }
}

static void wait_tick(struct run *run)
{
    int64_t deadline_ns = mono_now_ns() + TICK_NS;
    struct gate *gate = &run->fleet.load.gate;
    const int64_t duration_ns = run->fleet.config->plan->duration_ns;
    if (duration_ns > 0 && gate->go_ns > 0 && !gate_is_stopped(gate) &&
        gate->go_ns + duration_ns < deadline_ns) {
        deadline_ns = gate->go_ns + duration_ns;
    }
    run->numbers = gate_wait_change(gate, deadline_ns);
    check_stop_conditions(run);
}

/* When nobody has answered for two rounds of connects the server is gone: no point in waiting out
 * the time-out of every session. */
static bool has_lost_server(struct run *run)
{
    const unsigned limit = 2 * run->fleet.config->plan->connect_concurrency;
    return atomic_load(&run->fleet.load.timeouts_in_a_row) >= limit;
}

static bool may_start(void *context)
{
    struct run *run = context;
    check_stop_conditions(run);
    return !gate_is_stopped(&run->fleet.load.gate) && !has_lost_server(run);
}

static unsigned wait_for_slot(void *context)
{
    struct run *run = context;
    wait_tick(run);
    return run->numbers.connecting;
}

static void run_sessions(struct run *run)
{
    struct fleet *fleet = &run->fleet;
    struct gate *gate = &fleet->load.gate;
    const struct fleet_pace pace = {may_start, wait_for_slot, run};
    if (!fleet_grow(fleet, fleet->capacity, &pace)) {
        fleet_report_shortage(fleet);
    }
    wait_tick(run);
    while ((run->numbers.connecting > 0 || run->numbers.running > run->numbers.waiting) &&
           !gate_is_stopped(gate)) {
        wait_tick(run);
    }
    if (run->numbers.running == 0) {
        gate_stop(gate, STOP_NO_SESSION);
    }
    check_number(run);
    gate_open(gate, mono_now_ns());
    sampler_begin_work(fleet->load.sampler);
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

static struct session_summary summarise(const struct load *load, const struct session *session)
{
    const bool has_worked = load->gate.go_ns > 0 && session->work_end_ns > 0;
    return (struct session_summary){
        .index = session->index,
        .is_idle = session->is_idle,
        .outcome = session->outcome,
        .rows = rows_of(session),
        .begun = session->begun,
        .batches = session->batches,
        .drops = session->drops,
        .reconnects = session->reconnects,
        .churns = session->churns,
        .first_ack_ns = since_go(load, session->first_ack_ns),
        .last_ack_ns = since_go(load, session->last_ack_ns),
        .worked_ns = has_worked ? since_go(load, session->work_end_ns) : 0,
        .longest_gap_ns = session->longest_gap_ns,
    };
}

/* With a rate: batches that were due and sent, and those that were not, from sessions that were
 * blocked, dropped or never there. */
static void sum_up_batches(struct run *run)
{
    const struct gate *gate = &run->fleet.load.gate;
    struct batch_ledger *batches = &run->result->batches;
    if (run->fleet.config->plan->rate_rows_per_s == 0 || gate->go_ns == 0) {
        return;
    }
    int64_t end_ns = gate->stop_ns > 0 ? gate->stop_ns : atomic_load(&run->fleet.load.last_work_ns);
    if (run->result->stop_reason == STOP_DURATION) {
        end_ns = gate->go_ns + run->fleet.config->plan->duration_ns;
    }
    for (unsigned i = 0; i < run->fleet.capacity; i++) {
        struct session *session = &run->fleet.sessions[i];
        const int64_t waited_until_ns =
            session->work_end_ns > end_ns ? session->work_end_ns : end_ns;
        batches->sent += session->batches;
        batches->not_sent += workload_count_unsent(session, end_ns, waited_until_ns);
    }
    batches->due = batches->sent + batches->not_sent;
}

/* Sessions that were never started have their part in the ledgers, too. */
static void sum_up(struct run *run)
{
    struct fleet *fleet = &run->fleet;
    struct result *result = run->result;
    const struct fleet_config *config = fleet->config;
    fleet->total.requested = fleet->capacity;
    fleet->total.not_started += fleet->capacity - fleet->used;
    fleet->total.connected = recorder_read(config->recorder, RECORDER_SESSIONS_CONNECTED);
    fleet->used = fleet->capacity;
    fleet_sum_up(fleet, result);
    result->least_sessions = config->plan->min_sessions;
    for (unsigned i = 0; i < fleet->capacity; i++) {
        struct session *session = &fleet->sessions[i];
        result->session_list[i] = summarise(&fleet->load, session);
        exceptions_hand_over(&session->exceptions, &result->session_list[i]);
        result->batches_late += session->batches_late;
    }
    fairness_find(&result->fairness, result->session_list, result->session_count);
    sum_up_batches(run);
}

enum status fleet_run(const struct fleet_config *config, struct result *result, struct error *error)
{
    struct run run = {.result = result};
    const unsigned total = plan_sessions_all(config->plan);
    const enum status status = fleet_init(&run.fleet, config, total, &result->causes, error);
    if (status != STATUS_OK) {
        return status;
    }
    result->session_list = calloc(total, sizeof *result->session_list);
    if (result->session_list == NULL) {
        fleet_fini(&run.fleet);
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %u sessions", total);
        return STATUS_FATAL;
    }
    result->session_count = total;
    for (unsigned i = 0; i < total; i++) {
        renew(&run.fleet, i);
    }
    run_sessions(&run);
    sum_up(&run);
    fleet_fini(&run.fleet);
    return STATUS_OK;
}
