#include "load/session.h"

#include "base/mono.h"
#include "base/stack.h"
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

static bool connect_session(struct session *session)
{
    struct load *load = session->load;
    struct error error;
    error_clear(&error);
    const int64_t start_ns = mono_now_ns();
    const enum status status =
        load->plan->adapter->open(&load->plan->target, &session->conn, &error);
    const int64_t end_ns = mono_now_ns();
    if (status == STATUS_OK) {
        recorder_record(load->recorder, session->index, RECORDER_CONNECT, end_ns - start_ns);
        session_add(session, RECORDER_SESSIONS_CONNECTED, 1);
        atomic_store(&load->timeouts_in_a_row, 0);
        share_connection(session, session->conn);
        if (load->plan->adapter->get_ready != NULL) {
            load->plan->adapter->get_ready(session->conn, load->table);
        }
        stack_give_back();
        return true;
    }
    if (error.kind == ERROR_CANCELLED) {
        return false; /* the run ended before the server had answered: as good as not started */
    }
    session_blame(session, CAUSE_CONNECT, status, &error);
    session_add(session, RECORDER_SESSIONS_FAILED, 1);
    session->outcome = error.kind == ERROR_TIMEOUT ? SESSION_TIMED_OUT : SESSION_REFUSED;
    if (error.kind == ERROR_TIMEOUT) {
        atomic_fetch_add(&load->timeouts_in_a_row, 1);
    } else {
        atomic_store(&load->timeouts_in_a_row, 0);
    }
    return false;
}

/* How a session ends that has not appended its share because the gate is at STOP. */
static enum session_outcome outcome_of_stop(struct load *load)
{
    return gate_reason(&load->gate) == STOP_DURATION ? SESSION_FINISHED : SESSION_STOPPED;
}

static enum session_outcome append_rows(struct session *session)
{
    struct load *load = session->load;
    while (session->begun < session->quota) {
        if (gate_is_stopped(&load->gate)) {
            return outcome_of_stop(load);
        }
        if (atomic_load_explicit(&session->is_leaving, memory_order_acquire)) {
            return SESSION_FINISHED;
        }
        const enum status status = load->workload->step(session);
        if (status == STATUS_OK || status == STATUS_REJECTED) {
            continue;
        }
        if (status == STATUS_LOST && session_was_interrupted(session)) {
            return outcome_of_stop(load);
        }
        session_add(session, RECORDER_SESSIONS_DROPPED, 1);
        if (load->plan->drop_policy == DROP_STOP) {
            gate_stop(&load->gate, STOP_DROP);
        }
        return SESSION_DROPPED;
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

/* Moves *latest_ns on to now. */
static void note_now(_Atomic int64_t *latest_ns)
{
    const int64_t now_ns = mono_now_ns();
    int64_t seen_ns = atomic_load(latest_ns);
    while (now_ns > seen_ns && !atomic_compare_exchange_weak(latest_ns, &seen_ns, now_ns)) {
    }
}

static void work(struct session *session)
{
    struct load *load = session->load;
    struct thread_time before;
    thread_time_read(&before);
    gate_wait_go(&load->gate);
    const int64_t start_ns = mono_now_ns();
    session->outcome = append_rows(session);
    note_now(&load->last_work_ns);
    if (load->gate.go_ns > 0) {
        count_times(session, &before, start_ns);
    }
    if (!atomic_exchange(&load->has_finished_one, true)) {
        sampler_poke(load->sampler); /* the last chance to see the memory of a short run */
    }
    gate_finish_work(&load->gate,
                     session->outcome != SESSION_DROPPED && !atomic_load(&session->is_leaving));
    session_add(session, RECORDER_SESSIONS_ENDED, 1);
    share_connection(session, NULL);
    load->plan->adapter->close(session->conn);
    session->conn = NULL;
}

void *session_run(void *argument)
{
    struct session *session = argument;
    struct load *load = session->load;
    const bool is_connected = connect_session(session);
    gate_release_slot(&load->gate);
    if (is_connected) {
        work(session);
    }
    note_now(&load->last_end_ns);
    gate_session_ends(&load->gate);
    return NULL;
}
