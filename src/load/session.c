#include "load/session.h"

#include <stdlib.h>

#include "base/mono.h"
#include "base/process.h"
#include "base/units.h"

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

void session_record_cause(struct session *session, enum cause_phase phase, enum status status,
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
        error_set(&own, ERROR_TIMEOUT, 0, NULL,
                  "append cut the connection: no answer in %s (--timeout)",
                  UNITS_NS(session->load->plan->timeout_ns));
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
            session_record_cause(session, phase, status, error);
        }
        return status == STATUS_FATAL ? STATUS_FATAL : STATUS_LOST;
    }
    recorder_record(load->recorder, session->index,
                    phase == CAUSE_CONNECT ? OPERATION_CONNECT : OPERATION_RECONNECT,
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

static bool extend_last(struct exceptions *exceptions, const struct row_exception *exception)
{
    if (exceptions->count == 0 || exception->accepted > 0) {
        return false;
    }
    struct row_exception *last = &exceptions->list[exceptions->count - 1];
    if (last->accepted > 0 || last->is_in_doubt != exception->is_in_doubt ||
        last->first + last->rows != exception->first) {
        return false;
    }
    last->rows += exception->rows;
    return true;
}

static bool has_room(struct exceptions *exceptions)
{
    if (exceptions->count < exceptions->capacity) {
        return true;
    }
    const size_t capacity = exceptions->capacity == 0 ? 2 : 2 * exceptions->capacity;
    struct row_exception *list = realloc(exceptions->list, capacity * sizeof *list);
    if (list == NULL) {
        return false;
    }
    exceptions->list = list;
    exceptions->capacity = capacity;
    return true;
}

void exceptions_add(struct exceptions *exceptions, const struct row_exception *exception)
{
    if (exception->rows == 0 || extend_last(exceptions, exception)) {
        return;
    }
    if (!has_room(exceptions)) {
        exceptions->is_short = true;
        return;
    }
    exceptions->list[exceptions->count++] = *exception;
}

void exceptions_hand_over(struct exceptions *exceptions, struct session_summary *summary)
{
    summary->exceptions = exceptions->list;
    summary->exception_count = exceptions->count;
    summary->lacks_exceptions = exceptions->is_short;
    *exceptions = (struct exceptions){0};
}
