#include "load/session.h"

#include "base/mono.h"
#include "base/stack.h"
#include "base/units.h"
#include "load/reconnect.h"
#include "measure/thread_time.h"

void session_add(struct session *session, enum recorder_counter counter, uint64_t n)
{
    recorder_add(session->load->recorder, session->index, counter, n);
}

void session_interrupt(struct session *session)
{
    const struct adapter *adapter = session->load->plan->adapter;
    if (adapter->interrupt == NULL) {
        return;
    }
    pthread_mutex_lock(&session->load->connections_lock);
    if (session->shared_conn != NULL) {
        session->was_interrupted = true;
        adapter->interrupt(session->shared_conn);
    }
    pthread_mutex_unlock(&session->load->connections_lock);
}

void session_begin_call(struct session *session)
{
    if (session->load->plan->timeout_ns > 0) {
        atomic_store_explicit(&session->call_ns, mono_now_ns(), memory_order_relaxed);
    }
}

void session_end_call(struct session *session)
{
    if (session->load->plan->timeout_ns > 0 && atomic_exchange(&session->call_ns, 0) < 0) {
        session->is_overdue = true;
        session_add(session, RECORDER_TIMEOUTS, 1);
    }
}

/* The exchange tells which of the two was first, the end of the call or its end by force. Under the
 * lock, so that a session which knows of the cut cannot get another connection before it. */
void session_cut_overdue(struct session *session, int64_t now_ns)
{
    const struct plan *plan = session->load->plan;
    int64_t call_ns = atomic_load_explicit(&session->call_ns, memory_order_relaxed);
    const int64_t limit_ns = call_ns > 0 ? call_ns + plan->timeout_ns : MONO_NS_PER_S - call_ns;
    if (call_ns == 0 || now_ns < limit_ns || plan->adapter->interrupt == NULL) {
        return;
    }
    pthread_mutex_lock(&session->load->connections_lock);
    if (session->shared_conn != NULL &&
        atomic_compare_exchange_strong(&session->call_ns, &call_ns, -now_ns)) {
        plan->adapter->interrupt(session->shared_conn);
    }
    pthread_mutex_unlock(&session->load->connections_lock);
}

bool session_was_interrupted(struct session *session)
{
    pthread_mutex_lock(&session->load->connections_lock);
    const bool was_interrupted = session->was_interrupted;
    pthread_mutex_unlock(&session->load->connections_lock);
    return was_interrupted;
}

void session_blame(struct session *session, enum cause_phase phase, enum status status,
                   const struct error *error)
{
    struct error own;
    error_clear(&own);
    if (status == STATUS_LOST && session_was_interrupted(session)) {
        /* the server is not to blame for a connection that was cut on this side */
        error_set(&own, ERROR_TIMEOUT, 0, NULL,
                  "append cut the connection: no answer in %d s after the stop",
                  (int)(SESSION_GRACE_NS / MONO_NS_PER_S));
        error = &own;
    } else if (status == STATUS_LOST && session->is_overdue) {
        char limit[UNITS_TEXT_BYTES];
        error_set(&own, ERROR_TIMEOUT, 0, NULL,
                  "append cut the connection: no answer in %s (--timeout)",
                  units_format_ns(session->load->plan->timeout_ns, limit));
        error = &own;
    }
    causes_add(session->load->causes, phase, status, error, mono_now_ns());
}

/* Lets other threads reach the connection, or no longer. */
static void share_connection(struct session *session, struct adapter_conn *connection)
{
    pthread_mutex_lock(&session->load->connections_lock);
    session->shared_conn = connection;
    pthread_mutex_unlock(&session->load->connections_lock);
}

enum status session_open(struct session *session, enum cause_phase phase, struct error *error)
{
    struct load *load = session->load;
    const struct adapter *adapter = load->plan->adapter;
    session->is_overdue = false; /* that was the connection before */
    const int64_t start_ns = mono_now_ns();
    const enum status status = adapter->open(&load->plan->target, &session->conn, error);
    const int64_t end_ns = mono_now_ns();
    if (status != STATUS_OK) {
        if (error->kind != ERROR_CANCELLED) {
            session_blame(session, phase, status, error);
        }
        return status == STATUS_FATAL ? STATUS_FATAL : STATUS_LOST;
    }
    recorder_record(load->recorder, session->index,
                    phase == CAUSE_CONNECT ? RECORDER_CONNECT : RECORDER_RECONNECT,
                    end_ns - start_ns);
    session_add(session, RECORDER_CONNECTIONS_OPENED, 1);
    share_connection(session, session->conn);
    if (adapter->get_ready != NULL && !session->is_idle) {
        session_begin_call(session);
        adapter->get_ready(session->conn, load->table);
        session_end_call(session);
    }
    stack_give_back();
    return STATUS_OK;
}

void session_close(struct session *session)
{
    if (session->conn == NULL) {
        return;
    }
    share_connection(session, NULL);
    session_add(session, RECORDER_CONNECTIONS_CLOSED, 1);
    session->load->plan->adapter->close(session->conn);
    session->conn = NULL;
}

void session_count_loss(struct session *session)
{
    session->drops++;
    session_add(session, RECORDER_CONNECTIONS_LOST, 1);
}

/* From its latest progress, or from the beginning. */
void session_note_gap(struct session *session, int64_t now_ns)
{
    const int64_t last_ns =
        session->last_ack_ns > 0 ? session->last_ack_ns : session->load->gate.go_ns;
    if (now_ns - last_ns > session->longest_gap_ns) {
        session->longest_gap_ns = now_ns - last_ns;
    }
}

void session_note_progress(struct session *session, int64_t now_ns)
{
    session_note_gap(session, now_ns);
    session->last_ack_ns = now_ns;
    if (session->first_ack_ns == 0) {
        session->first_ack_ns = now_ns;
    }
    recorder_note_progress(session->load->recorder, session->index, now_ns);
}

static bool connect_session(struct session *session)
{
    struct load *load = session->load;
    struct error error;
    error_clear(&error);
    const enum status status = session_open(session, CAUSE_CONNECT, &error);
    if (status == STATUS_OK) {
        session_add(session, RECORDER_SESSIONS_CONNECTED, 1);
        atomic_store(&load->timeouts_in_a_row, 0);
        return true;
    }
    if (error.kind == ERROR_CANCELLED) {
        return false; /* the run ended before the server had answered: as good as not started */
    }
    session_add(session, RECORDER_SESSIONS_FAILED, 1);
    session->outcome = error.kind == ERROR_TIMEOUT ? SESSION_TIMED_OUT : SESSION_REFUSED;
    if (error.kind == ERROR_TIMEOUT) {
        atomic_fetch_add(&load->timeouts_in_a_row, 1);
    } else {
        atomic_store(&load->timeouts_in_a_row, 0);
    }
    return false;
}

/* How a session ends that has not appended its share because the gate is at STOP. One whose call
 * had to be cut is not done when the time is over. */
static enum session_outcome outcome_of_stop(struct session *session)
{
    return gate_reason(&session->load->gate) == STOP_DURATION && !session_was_interrupted(session)
               ? SESSION_FINISHED
               : SESSION_STOPPED;
}

static enum session_outcome drop(struct session *session)
{
    session_add(session, RECORDER_SESSIONS_DROPPED, 1);
    if (session->load->plan->drop_policy == DROP_STOP) {
        gate_stop(&session->load->gate, STOP_DROP);
    }
    return SESSION_DROPPED;
}

static bool is_good(enum status status)
{
    return status == STATUS_OK || status == STATUS_REJECTED;
}

static enum session_outcome append_rows(struct session *session)
{
    struct load *load = session->load;
    while (session->begun < session->quota) {
        if (!gate_wait_turn(&load->gate)) {
            return outcome_of_stop(session);
        }
        if (atomic_load_explicit(&session->is_leaving, memory_order_acquire)) {
            return SESSION_FINISHED;
        }
        const uint64_t batches = session->batches;
        enum status status = load->workload->step(session);
        if (is_good(status) && session->batches > batches) {
            status = reconnect_churn(session);
        }
        if (status == STATUS_LOST) {
            if (session_was_interrupted(session)) {
                return outcome_of_stop(session);
            }
            bool is_stopped;
            status = reconnect_after_loss(session, &is_stopped);
            if (is_stopped) {
                return SESSION_STOPPED;
            }
        }
        if (!is_good(status)) {
            return drop(session);
        }
    }
    return SESSION_FINISHED;
}

static void count_times(struct session *session, const struct thread_time *before, int64_t start_ns)
{
    struct thread_time after;
    thread_time_read(&after);
    session_add(session, RECORDER_ON_CPU_NS, after.on_cpu_ns - before->on_cpu_ns);
    session_add(session, RECORDER_RUN_QUEUE_NS, after.run_queue_ns - before->run_queue_ns);
    session_add(session, RECORDER_SESSION_NS, (uint64_t)(mono_now_ns() - start_ns));
}

static void raise_to(_Atomic int64_t *latest_ns, int64_t now_ns)
{
    int64_t seen_ns = atomic_load(latest_ns);
    while (now_ns > seen_ns && !atomic_compare_exchange_weak(latest_ns, &seen_ns, now_ns)) {
    }
}

static void work(struct session *session)
{
    struct load *load = session->load;
    struct thread_time before;
    thread_time_read(&before);
    if (gate_wait_go(&load->gate)) {
        recorder_begin_work(load->recorder, session->index, load->gate.go_ns);
    }
    const int64_t start_ns = mono_now_ns();
    session->outcome = append_rows(session);
    recorder_end_work(load->recorder, session->index);
    session->work_end_ns = mono_now_ns();
    raise_to(&load->last_work_ns, session->work_end_ns);
    if (load->gate.go_ns > 0) {
        count_times(session, &before, start_ns);
        if (session->begun < session->quota || session->outcome != SESSION_FINISHED) {
            session_note_gap(session, session->work_end_ns);
        }
    }
    if (!atomic_exchange(&load->has_finished_one, true)) {
        sampler_poke(load->sampler); /* the last chance to see the memory of a short run */
    }
    gate_finish_work(&load->gate,
                     session->outcome != SESSION_DROPPED && !atomic_load(&session->is_leaving));
}

/* A server that refuses the statement has answered, too. */
static enum session_outcome prove_alive(struct session *session)
{
    struct load *load = session->load;
    const struct adapter *adapter = load->plan->adapter;
    if (gate_is_stopped(&load->gate) && gate_reason(&load->gate) != STOP_DURATION) {
        return SESSION_STOPPED;
    }
    struct error error;
    error_clear(&error);
    uint64_t rows = 0;
    session_begin_call(session);
    const enum status status = adapter->query == NULL
                                   ? STATUS_OK
                                   : adapter->query(session->conn, "select 1", &rows, &error);
    session_end_call(session);
    if (is_good(status)) {
        return SESSION_FINISHED;
    }
    session_blame(session, CAUSE_IDLE, status, &error);
    if (session_was_interrupted(session)) {
        return SESSION_STOPPED;
    }
    if (status == STATUS_LOST) {
        session_count_loss(session);
    }
    return drop(session);
}

static void stay_idle(struct session *session)
{
    struct gate *gate = &session->load->gate;
    gate_wait_go(gate);
    gate_finish_work(gate, true);
    session->outcome = prove_alive(session);
}

void *session_run(void *argument)
{
    struct session *session = argument;
    struct load *load = session->load;
    const bool is_connected = connect_session(session);
    gate_release_slot(&load->gate);
    if (is_connected) {
        if (session->is_idle) {
            stay_idle(session);
        } else {
            work(session);
        }
        session_add(session, RECORDER_SESSIONS_ENDED, 1);
        session_close(session);
    }
    raise_to(&load->last_end_ns, mono_now_ns());
    gate_session_ends(&load->gate);
    return NULL;
}
