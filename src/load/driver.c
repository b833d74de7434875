#include "load/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/mono.h"
#include "load/driver_parts.h"

/* How often the main thread looks for signals and deadlines. */
#define TICK_NS (50 * MONO_NS_PER_MS)

struct driver {
    const struct driver_config *config;
    struct load load;
    struct session *sessions;
    unsigned total;     /* idle ones included */
    unsigned started;   /* sessions whose thread exists; they are the first ones */
    int64_t stopped_ns; /* when STOP was first seen, or that all work was done; 0 before */
    int64_t next_interrupt_ns;
    int64_t next_overdue_ns; /* with --timeout: when the calls are looked at again */
    bool is_shortage_told;
    struct result *result;
};

void driver_init_load(struct load *load, const struct driver_config *config, struct causes *causes)
{
    load->plan = config->plan;
    load->table = &config->setup->table;
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

void driver_fini_load(struct load *load)
{
    pthread_mutex_destroy(&load->connections_lock);
    gate_fini(&load->gate);
}

/* Makes blocked calls of every connection return. */
static void interrupt_sessions(struct driver *driver)
{
    for (unsigned i = 0; i < driver->started; i++) {
        session_interrupt(&driver->sessions[i]);
    }
}

/* With --timeout: makes the calls return that have taken too long. */
static void cut_overdue(struct driver *driver, int64_t now_ns)
{
    if (driver->config->plan->timeout_ns == 0 || now_ns < driver->next_overdue_ns) {
        return;
    }
    for (unsigned i = 0; i < driver->started; i++) {
        session_cut_overdue(&driver->sessions[i], now_ns);
    }
    driver->next_overdue_ns = now_ns + TICK_NS;
}

static void tell_shortage(struct driver *driver)
{
    if (!driver->is_shortage_told && driver->config->on_shortage != NULL) {
        driver->is_shortage_told = true;
        driver->config->on_shortage(driver->config->context);
    }
}

static bool has_shortage(const struct driver *driver)
{
    struct recorder *recorder = driver->config->recorder;
    return recorder_read(recorder, RECORDER_SESSIONS_FAILED) > 0 ||
           recorder_read(recorder, RECORDER_SESSIONS_DROPPED) > 0;
}

/* Ends the run when fewer sessions are left than it takes. Where one will do there is nothing to
 * end. */
static void check_number(struct driver *driver)
{
    struct recorder *recorder = driver->config->recorder;
    const unsigned least = driver->config->plan->min_sessions;
    if (least <= 1 || gate_is_stopped(&driver->load.gate)) {
        return;
    }
    /* dropped first: the difference is then never too small */
    const uint64_t dropped = recorder_read(recorder, RECORDER_SESSIONS_DROPPED);
    const uint64_t up = recorder_read(recorder, RECORDER_SESSIONS_CONNECTED) - dropped;
    if (up < least) {
        driver->result->sessions_up = up;
        gate_stop(&driver->load.gate, STOP_TOO_FEW);
    }
}

/* Looks for everything that ends a run early, and at sessions that do not end. */
static void look_around(struct driver *driver, const struct gate_numbers *numbers)
{
    struct gate *gate = &driver->load.gate;
    const struct plan *plan = driver->config->plan;
    const int64_t now_ns = mono_now_ns();
    if (!driver->is_shortage_told && has_shortage(driver)) {
        tell_shortage(driver);
    }
    if (interrupt_requested()) {
        gate_stop(gate, STOP_INTERRUPTED);
    }
    if (plan->duration_ns > 0 && gate->go_ns > 0 && now_ns >= gate->go_ns + plan->duration_ns) {
        gate_stop(gate, STOP_DURATION);
    }
    if (gate->go_ns > 0) {
        check_number(driver);
    }
    cut_overdue(driver, now_ns);
    const bool is_work_done = gate->go_ns > 0 && numbers->working + numbers->waiting == 0;
    if (!gate_is_stopped(gate) && !is_work_done) {
        return;
    }
    if (driver->stopped_ns == 0) {
        driver->stopped_ns = now_ns;
        driver->next_interrupt_ns = now_ns + SESSION_GRACE_NS;
    }
    if (now_ns >= driver->next_interrupt_ns) {
        interrupt_sessions(driver);
        driver->next_interrupt_ns = now_ns + MONO_NS_PER_S;
    }
}

static struct gate_numbers wait_tick(struct driver *driver)
{
    int64_t deadline_ns = mono_now_ns() + TICK_NS;
    const struct gate *gate = &driver->load.gate;
    const int64_t duration_ns = driver->config->plan->duration_ns;
    if (duration_ns > 0 && gate->go_ns > 0 && !gate_is_stopped(&driver->load.gate) &&
        gate->go_ns + duration_ns < deadline_ns) {
        deadline_ns = gate->go_ns + duration_ns;
    }
    const struct gate_numbers numbers = gate_wait_change(&driver->load.gate, deadline_ns);
    look_around(driver, &numbers);
    return numbers;
}

void driver_blame_thread(struct load *load, unsigned number, int rc)
{
    struct error error;
    error_clear(&error);
    error_set(&error, ERROR_LIMIT, rc, NULL, "client limit: no thread for session %u: %s", number,
              strerror(rc));
    causes_add(load->causes, CAUSE_THREAD, STATUS_FATAL, &error, mono_now_ns());
}

/* A session that gets no thread ends the start: the next ones would not get one either. */
static bool start_session(struct driver *driver, const pthread_attr_t *attributes)
{
    struct session *session = &driver->sessions[driver->started];
    gate_session_begins(&driver->load.gate);
    const int rc = pthread_create(&session->thread, attributes, session_run, session);
    if (rc == 0) {
        driver->started++;
        return true;
    }
    gate_session_never_was(&driver->load.gate);
    driver_blame_thread(&driver->load, driver->started + 1, rc);
    tell_shortage(driver);
    return false;
}

/* When nobody has answered for two rounds of connects the server is gone: no point in waiting out
 * the time-out of every session. */
static bool has_lost_server(struct driver *driver)
{
    const unsigned limit = 2 * driver->config->plan->connect_concurrency;
    return atomic_load(&driver->load.timeouts_in_a_row) >= limit;
}

static void start_sessions(struct driver *driver)
{
    const struct plan *plan = driver->config->plan;
    struct gate *gate = &driver->load.gate;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, plan->stack_bytes);
    unsigned connecting = 0;
    struct gate_numbers numbers = {0};
    while (driver->started < driver->total && !gate_is_stopped(gate) && !has_lost_server(driver)) {
        if (connecting >= plan->connect_concurrency) {
            numbers = wait_tick(driver);
            connecting = numbers.connecting;
            continue;
        }
        if (!start_session(driver, &attributes)) {
            break;
        }
        connecting++;
        look_around(driver, &numbers);
    }
    pthread_attr_destroy(&attributes);
}

static void run_sessions(struct driver *driver)
{
    struct gate *gate = &driver->load.gate;
    start_sessions(driver);
    struct gate_numbers numbers = wait_tick(driver);
    while (numbers.connecting > 0 || numbers.running > numbers.waiting) {
        if (gate_is_stopped(gate)) {
            break;
        }
        numbers = wait_tick(driver);
    }
    if (numbers.running == 0) {
        gate_stop(gate, STOP_NO_SESSION);
    }
    check_number(driver);
    gate_open(gate, mono_now_ns());
    sampler_mark_work(driver->load.sampler);
    while (numbers.running > 0) {
        numbers = wait_tick(driver);
    }
    for (unsigned i = 0; i < driver->started; i++) {
        pthread_join(driver->sessions[i].thread, NULL);
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

void driver_add_outcome(struct session_ledger *sessions, enum session_outcome outcome)
{
    ++*ledger_entry(sessions, outcome);
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

void driver_add_rows(struct row_ledger *rows, const struct session *session)
{
    const struct row_ledger own = rows_of(session);
    row_ledger_add(rows, &own);
}

/* A moment as time since the gate opened; negative when it never came. */
static int64_t since_go(const struct driver *driver, int64_t moment_ns)
{
    return moment_ns == 0 ? -1 : moment_ns - driver->load.gate.go_ns;
}

static struct session_summary summarise(const struct driver *driver, const struct session *session)
{
    const bool has_worked = driver->load.gate.go_ns > 0 && session->work_end_ns > 0;
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
        .first_ack_ns = since_go(driver, session->first_ack_ns),
        .last_ack_ns = since_go(driver, session->last_ack_ns),
        .worked_ns = has_worked ? since_go(driver, session->work_end_ns) : 0,
        .longest_gap_ns = session->longest_gap_ns,
    };
}

/* Nobody asks for them unless each row is verified. */
static void hand_over_exceptions(struct driver *driver)
{
    for (unsigned i = 0; i < driver->total; i++) {
        exceptions_hand_over(&driver->sessions[i].exceptions, &driver->result->session_list[i]);
    }
}

static void add_session(struct result *result, const struct session *session,
                        const struct session_summary *summary)
{
    driver_add_outcome(&result->sessions, session->outcome);
    row_ledger_add(&result->rows, &summary->rows);
    result->batches_late += session->batches_late;
    result->sessions_cut += session->was_interrupted ? 1 : 0;
    if (session->worst_lag > result->worst_lag_rows) {
        result->worst_lag_rows = session->worst_lag;
    }
}

void driver_sum_up_times(struct load *load, const struct driver_config *config,
                         struct result *result)
{
    const int64_t end_ns = atomic_load(&load->last_end_ns);
    const int64_t go_ns = load->gate.go_ns;
    result->start_mono_ns = config->start_ns;
    result->elapsed_ns = end_ns - config->start_ns;
    result->connect_ns = go_ns == 0 ? result->elapsed_ns : go_ns - config->start_ns;
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

static void sum_up(struct driver *driver)
{
    struct result *result = driver->result;
    const struct driver_config *config = driver->config;
    result->sessions.requested = driver->total;
    result->least_sessions = config->plan->min_sessions;
    result->sessions.connected = recorder_read(config->recorder, RECORDER_SESSIONS_CONNECTED);
    for (unsigned i = 0; i < driver->total; i++) {
        result->session_list[i] = summarise(driver, &driver->sessions[i]);
        add_session(result, &driver->sessions[i], &result->session_list[i]);
    }
    hand_over_exceptions(driver);
    fairness_find(&result->fairness, result->session_list, result->session_count);
    driver_sum_up_times(&driver->load, config, result);
}

/* With a rate: batches that were due and sent, and those that were not, from sessions that were
 * blocked, dropped or never there. */
static void sum_up_batches(struct driver *driver)
{
    const struct gate *gate = &driver->load.gate;
    struct batch_ledger *batches = &driver->result->batches;
    if (driver->config->plan->rate_rows_per_s == 0 || gate->go_ns == 0) {
        return;
    }
    int64_t end_ns = gate->stop_ns > 0 ? gate->stop_ns : atomic_load(&driver->load.last_work_ns);
    if (driver->result->stop_reason == STOP_DURATION) {
        end_ns = gate->go_ns + driver->config->plan->duration_ns;
    }
    for (unsigned i = 0; i < driver->total; i++) {
        struct session *session = &driver->sessions[i];
        const int64_t waited_until_ns =
            session->work_end_ns > end_ns ? session->work_end_ns : end_ns;
        batches->sent += session->batches;
        batches->not_sent += workload_count_unsent(session, end_ns, waited_until_ns);
    }
    batches->due = batches->sent + batches->not_sent;
}

static bool allocate(struct driver *driver)
{
    struct result *result = driver->result;
    driver->sessions = calloc(driver->total, sizeof *driver->sessions);
    result->session_list = calloc(driver->total, sizeof *result->session_list);
    result->session_count = driver->total;
    if (driver->sessions != NULL && result->session_list != NULL &&
        recorder_watch(driver->config->recorder, driver->total)) {
        return true;
    }
    free(driver->sessions);
    session_list_free(result->session_list, 0);
    result->session_list = NULL;
    result->session_count = 0;
    return false;
}

enum status driver_run(const struct driver_config *config, struct result *result,
                       struct error *error)
{
    const struct plan *plan = config->plan;
    struct driver driver = {.config = config, .result = result};
    driver.total = plan->sessions + plan->idle_sessions;
    if (!allocate(&driver)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %u sessions", driver.total);
        return STATUS_FATAL;
    }
    driver_init_load(&driver.load, config, &result->causes);
    for (unsigned i = 0; i < driver.total; i++) {
        driver.sessions[i].load = &driver.load;
        driver.sessions[i].index = i;
        driver.sessions[i].is_idle = i >= plan->sessions;
        driver.sessions[i].quota = driver.sessions[i].is_idle ? 0 : plan_quota(plan, i);
    }
    run_sessions(&driver);
    sum_up(&driver);
    sum_up_batches(&driver);
    driver_fini_load(&driver.load);
    free(driver.sessions);
    return STATUS_OK;
}
