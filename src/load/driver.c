#include "load/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/mono.h"

/* How often the main thread looks for signals and deadlines. */
#define TICK_NS (50 * MONO_NS_PER_MS)

struct driver {
    const struct driver_config *config;
    struct load load;
    struct session *sessions;
    unsigned started;   /* sessions whose thread exists; they are the first ones */
    int64_t stopped_ns; /* when STOP was first seen; 0 before */
    int64_t next_interrupt_ns;
    bool is_shortage_told;
    struct result *result;
};

static void init_load(struct driver *driver)
{
    const struct driver_config *config = driver->config;
    struct load *load = &driver->load;
    load->plan = config->plan;
    load->table = &config->setup->table;
    load->workload = config->workload;
    load->generator = config->generator;
    load->recorder = config->recorder;
    load->causes = &driver->result->causes;
    load->sampler = config->sampler;
    load->rows_before = config->setup->rows_before;
    gate_init(&load->gate);
    pthread_mutex_init(&load->connections_lock, NULL);
    atomic_init(&load->has_finished_one, false);
    atomic_init(&load->timeouts_in_a_row, 0);
    atomic_init(&load->last_work_ns, config->start_ns);
    atomic_init(&load->last_end_ns, config->start_ns);
}

/* Makes blocked calls of every connection return. */
static void interrupt_sessions(struct driver *driver)
{
    const struct adapter *adapter = driver->config->plan->adapter;
    if (adapter->interrupt == NULL) {
        return;
    }
    pthread_mutex_lock(&driver->load.connections_lock);
    for (unsigned i = 0; i < driver->started; i++) {
        struct session *session = &driver->sessions[i];
        if (session->shared_conn != NULL) {
            session->was_interrupted = true;
            adapter->interrupt(session->shared_conn);
        }
    }
    pthread_mutex_unlock(&driver->load.connections_lock);
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

/* Looks for everything that ends a run early, and at sessions that do not end. */
static void look_around(struct driver *driver)
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
    if (!gate_is_stopped(gate)) {
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
    look_around(driver);
    return numbers;
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
    struct error error;
    error_clear(&error);
    error_set(&error, ERROR_LIMIT, rc, NULL, "client limit: no thread for session %u: %s",
              driver->started + 1, strerror(rc));
    causes_add(driver->load.causes, CAUSE_THREAD, STATUS_FATAL, &error, mono_now_ns());
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
    while (driver->started < plan->sessions && !gate_is_stopped(gate) && !has_lost_server(driver)) {
        if (connecting >= plan->connect_concurrency) {
            connecting = wait_tick(driver).connecting;
            continue;
        }
        if (!start_session(driver, &attributes)) {
            break;
        }
        connecting++;
        look_around(driver);
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
    gate_open(gate, mono_now_ns());
    sampler_mark_work(driver->load.sampler);
    while (numbers.running > 0) {
        numbers = wait_tick(driver);
    }
    for (unsigned i = 0; i < driver->started; i++) {
        pthread_join(driver->sessions[i].thread, NULL);
    }
}

static void add_session(struct result *result, const struct session *session)
{
    struct session_ledger *sessions = &result->sessions;
    switch (session->outcome) {
    case SESSION_NOT_STARTED:
        sessions->not_started++;
        break;
    case SESSION_REFUSED:
        sessions->refused++;
        break;
    case SESSION_TIMED_OUT:
        sessions->timed_out++;
        break;
    case SESSION_FINISHED:
        sessions->finished++;
        break;
    case SESSION_STOPPED:
        sessions->stopped++;
        break;
    case SESSION_DROPPED:
        sessions->dropped++;
        break;
    }
    const uint64_t planned = session->quota == UINT64_MAX ? session->begun : session->quota;
    const uint64_t answered = session->acknowledged + session->rejected + session->in_doubt;
    const struct row_ledger rows = {
        .planned = planned,
        .acknowledged = session->acknowledged,
        .rejected = session->rejected,
        .in_doubt = session->in_doubt,
        .not_sent = planned - answered,
    };
    row_ledger_add(&result->rows, &rows);
    result->batches_late += session->batches_late;
    result->sessions_cut += session->was_interrupted ? 1 : 0;
    if (session->worst_lag > result->worst_lag_rows) {
        result->worst_lag_rows = session->worst_lag;
    }
}

static void sum_up(struct driver *driver)
{
    struct result *result = driver->result;
    const struct driver_config *config = driver->config;
    const int64_t end_ns = atomic_load(&driver->load.last_end_ns);
    const int64_t go_ns = driver->load.gate.go_ns;
    result->sessions.requested = config->plan->sessions;
    result->sessions.connected = recorder_read(config->recorder, RECORDER_SESSIONS_CONNECTED);
    for (unsigned i = 0; i < config->plan->sessions; i++) {
        add_session(result, &driver->sessions[i]);
    }
    result->start_mono_ns = config->start_ns;
    result->elapsed_ns = end_ns - config->start_ns;
    result->connect_ns = go_ns == 0 ? result->elapsed_ns : go_ns - config->start_ns;
    if (go_ns > 0) {
        const int64_t work_ns = atomic_load(&driver->load.last_work_ns);
        result->append_ns = work_ns - go_ns;
        result->disconnect_ns = end_ns - work_ns;
    }
    if (result->elapsed_ns > 0) {
        result->throughput_rows_per_s = (double)result->rows.acknowledged /
                                        ((double)result->elapsed_ns / (double)MONO_NS_PER_S);
    }
    result->stop_reason = gate_reason(&driver->load.gate);
}

enum status driver_run(const struct driver_config *config, struct result *result,
                       struct error *error)
{
    struct driver driver = {.config = config, .result = result};
    driver.sessions = calloc(config->plan->sessions, sizeof *driver.sessions);
    if (driver.sessions == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %u sessions",
                  config->plan->sessions);
        return STATUS_FATAL;
    }
    init_load(&driver);
    for (unsigned i = 0; i < config->plan->sessions; i++) {
        driver.sessions[i].load = &driver.load;
        driver.sessions[i].index = i;
        driver.sessions[i].quota = plan_quota(config->plan, i);
    }
    run_sessions(&driver);
    sum_up(&driver);
    pthread_mutex_destroy(&driver.load.connections_lock);
    gate_fini(&driver.load.gate);
    free(driver.sessions);
    return STATUS_OK;
}
