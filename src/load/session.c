#include "load/session.h"

#include <stdlib.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/random.h"
#include "base/text.h"
#include "measure/procfs.h"

/* How long a busy database is asked again for one batch, and the longest pause between two tries.
 */
#define BUSY_LIMIT_NS (60 * MONO_NS_PER_S)
#define BUSY_PAUSE_MAX_NS (250 * MONO_NS_PER_MS)

/* A batch that begins so long after its intended moment is late. */
#define LATE_NS (100 * MONO_NS_PER_MS)

/* Adds to a counter of the run. */
static void add(struct session *session, enum recorder_counter counter, uint64_t n)
{
    recorder_add(session->load->recorder, session->index, counter, n);
}

void session_interrupt(struct session *session)
{
    const struct adapter *adapter = session->load->plan->adapter;
    pthread_mutex_lock(&session->load->connections_lock);
    if (session->shared_conn != NULL && adapter->interrupt != NULL) {
        atomic_store(&session->was_cut, true);
        adapter->interrupt(session->shared_conn);
    }
    pthread_mutex_unlock(&session->load->connections_lock);
}

/* With --timeout: around each call that waits for the server. After a call that was cut is_overdue
 * is set, and the connection of no more use, whatever the call returned. */
static void begin_call(struct session *session)
{
    if (session->load->plan->timeout_ns > 0) {
        atomic_store_explicit(&session->call_ns, mono_now_ns(), memory_order_relaxed);
    }
}

static void end_call(struct session *session)
{
    if (session->load->plan->timeout_ns > 0 && atomic_exchange(&session->call_ns, 0) < 0) {
        session->is_overdue = true;
        add(session, RECORDER_TIMEOUTS, 1);
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

static void record_cause(struct session *session, enum cause_phase phase, enum status status,
                         const struct error *error)
{
    struct error own = {.kind = ERROR_NONE};
    if (status == STATUS_LOST && atomic_load(&session->was_cut)) {
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

/* Connects for `phase`: CAUSE_CONNECT the first time, later CAUSE_RECONNECT; times and counts that,
 * shows the connection to the main thread, and gets it ready. What fails is blamed, unless the run
 * was to end before the server had answered (ERROR_CANCELLED). */
static enum status open_connection(struct session *session, enum cause_phase phase,
                                   struct error *error)
{
    struct load *load = session->load;
    const struct adapter *adapter = load->plan->adapter;
    session->is_overdue = false; /* that was the connection before */
    const int64_t start_ns = mono_now_ns();
    const enum status status = adapter->open(&load->plan->target, &session->conn, error);
    const int64_t end_ns = mono_now_ns();
    if (status != STATUS_OK) {
        if (error->kind != ERROR_CANCELLED) {
            record_cause(session, phase, status, error);
        }
        return status == STATUS_FATAL ? STATUS_FATAL : STATUS_LOST;
    }
    recorder_record(load->recorder, session->index,
                    phase == CAUSE_CONNECT ? OPERATION_CONNECT : OPERATION_RECONNECT,
                    end_ns - start_ns);
    add(session, RECORDER_CONNECTIONS_OPENED, 1);
    share_connection(session, session->conn);
    if (adapter->get_ready != NULL && !session->is_idle) {
        begin_call(session);
        adapter->get_ready(session->conn, &load->setup->table);
        end_call(session);
    }
    stack_give_back();
    return STATUS_OK;
}

/* Hides the connection from the main thread and closes it; nothing when there is none. */
static void close_connection(struct session *session)
{
    if (session->conn == NULL) {
        return;
    }
    share_connection(session, NULL);
    add(session, RECORDER_CONNECTIONS_CLOSED, 1);
    session->load->plan->adapter->close(session->conn);
    session->conn = NULL;
}

/* No append was acknowledged up to now_ns, since its latest progress or the beginning. */
static void note_gap(struct session *session, int64_t now_ns)
{
    const int64_t last_ns =
        session->sum.last_ack_ns > 0 ? session->sum.last_ack_ns : session->load->gate.go_ns;
    if (now_ns - last_ns > session->sum.longest_gap_ns) {
        session->sum.longest_gap_ns = now_ns - last_ns;
    }
}

/* Of the batch that follows `begun` rows. */
static uint64_t batch_rows_after(const struct session *session, uint64_t begun)
{
    const uint64_t left = session->quota - begun;
    const uint64_t most = session->load->plan->batch_rows;
    return left < most ? left : most;
}

/* With a rate every row of the run has its moment: the sessions take turns, a batch each. */
static int64_t intended_start_ns(const struct session *session, uint64_t begun)
{
    const struct plan *plan = session->load->plan;
    const double before = (double)begun * plan->sessions +
                          (double)session->index * (double)batch_rows_after(session, begun);
    const double seconds = before / (double)plan->rate_rows_per_s;
    return session->load->gate.go_ns + (int64_t)(seconds * (double)MONO_NS_PER_S);
}

uint64_t session_count_unsent(struct session *session, int64_t end_ns, int64_t waited_until_ns)
{
    const struct plan *plan = session->load->plan;
    struct recorder *recorder = session->load->recorder;
    const double step_ns = (double)plan->batch_rows * plan->sessions /
                           (double)plan->rate_rows_per_s * (double)MONO_NS_PER_S;
    uint64_t unsent = 0;
    for (uint64_t begun = session->sum.begun; begun < session->quota;) {
        const int64_t due_ns = intended_start_ns(session, begun);
        if (due_ns >= end_ns) {
            break;
        }
        /* as many batches of the full size as are in the same bucket of the histogram and before
         * the end for sure; the last one is left to the exact moment */
        const int64_t waited_ns = waited_until_ns - due_ns;
        const int64_t lowest_ns = waited_ns < HISTOGRAM_LIMIT_NS
                                      ? histogram_bucket_low_ns(histogram_bucket(waited_ns))
                                      : HISTOGRAM_LIMIT_NS;
        const int64_t left_ns = end_ns - due_ns;
        const int64_t room_ns = waited_ns - lowest_ns < left_ns ? waited_ns - lowest_ns : left_ns;
        const double alike = (double)room_ns / step_ns - 1;
        const uint64_t full = (session->quota - begun) / plan->batch_rows;
        uint64_t count = 1;
        if (alike >= 1 && full >= 1) {
            count = alike < (double)full ? (uint64_t)alike : full;
        }
        recorder_record(recorder, session->index, OPERATION_RESPONSE, waited_ns);
        if (count > 1) {
            /* step_ns apart: the sum stays exact */
            recorder_record_times(recorder, session->index, OPERATION_RESPONSE,
                                  waited_ns - (int64_t)(step_ns * (double)count / 2), count - 1);
        }
        begun += count > 1 ? count * plan->batch_rows : batch_rows_after(session, begun);
        unsent += count;
    }
    add(session, RECORDER_RESPONSES_UNANSWERED, unsent);
    return unsent;
}

/* One batch on its way. */
struct append {
    uint64_t first_row;
    uint64_t rows;
    uint64_t handed;   /* rows that the adapter was given in the latest try */
    uint64_t accepted; /* rows that the server acknowledged */
};

/* Sends the batch, again while the database is busy and nothing of it was accepted. *is_begun
 * becomes false when STOP came while it was busy: then no row of the batch was ever on its way. */
static enum status send_batch(struct session *session, struct append *append, bool *is_begun,
                              struct error *error)
{
    const struct adapter *adapter = session->load->plan->adapter;
    struct generator *generator = session->load->generator;
    const int64_t limit_ns = mono_now_ns() + BUSY_LIMIT_NS;
    int64_t pause_ns = MONO_NS_PER_MS;
    *is_begun = true;
    for (;;) {
        error_clear(error);
        append->handed = 0;
        append->accepted = 0;
        begin_call(session);
        enum status status =
            adapter->append_open(session->conn, &session->load->setup->table, error);
        while (status == STATUS_OK && append->handed < append->rows) {
            /* borrowed for no longer than it takes to hand the rows over: sessions that wait for an
             * answer of the server hold no memory for rows */
            struct row_buffer *buffer = generator_borrow(generator);
            if (buffer == NULL) {
                error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a batch of rows");
                status = STATUS_FATAL;
                break;
            }
            const uint64_t left = append->rows - append->handed;
            const size_t most = generator_buffer_rows(generator);
            const size_t count = left < most ? (size_t)left : most;
            generator_fill(generator, buffer, session->index, append->first_row + append->handed,
                           count);
            append->handed += count;
            status = adapter->append_rows(session->conn, &buffer->batch, error);
            generator_give_back(generator, buffer);
        }
        if (status == STATUS_OK) {
            status = adapter->append_close(session->conn, &append->accepted, error);
        }
        end_call(session);
        if (status != STATUS_REJECTED || !error_is_passing(error) || append->accepted > 0 ||
            session->is_overdue || mono_now_ns() >= limit_ns) {
            return status;
        }
        *is_begun = !atomic_load(&session->is_leaving) &&
                    gate_sleep_until(&session->load->gate, mono_now_ns() + pause_ns);
        if (!*is_begun) {
            return status;
        }
        pause_ns = 2 * pause_ns < BUSY_PAUSE_MAX_NS ? 2 * pause_ns : BUSY_PAUSE_MAX_NS;
        add(session, RECORDER_BUSY_RETRIES, 1);
    }
}

/* Rows that were begun and not all acknowledged; they follow those of all exceptions before. Where
 * nothing was acknowledged in either, the last one gets longer. Only who reads every row back asks
 * for them, and a run of which nothing succeeds has many. */
static void note_exception(struct session *session, const struct row_exception *exception)
{
    struct session_summary *sum = &session->sum;
    const size_t count = sum->exception_count;
    if (session->load->plan->verify_mode != VERIFY_ROWS || exception->accepted >= exception->rows) {
        return;
    }
    struct row_exception *last = count == 0 ? NULL : &sum->exceptions[count - 1];
    if (last != NULL && last->accepted == 0 && exception->accepted == 0 &&
        last->is_in_doubt == exception->is_in_doubt &&
        last->first + last->rows == exception->first) {
        last->rows += exception->rows;
        return;
    }
    if (sum->exceptions == NULL || (count & (count - 1)) == 0) {
        const size_t capacity = count == 0 ? 1 : 2 * count;
        struct row_exception *list = realloc(sum->exceptions, capacity * sizeof *list);
        if (list == NULL) {
            sum->lacks_exceptions = true;
            return;
        }
        sum->exceptions = list;
    }
    sum->exceptions[sum->exception_count++] = *exception;
}

/* Every row of the batch goes to one account; those that were never handed over stay not sent, or
 * are part of a batch to come. */
static void account(struct session *session, const struct append *append, enum status status,
                    int64_t end_ns)
{
    const uint64_t unanswered =
        append->handed > append->accepted ? append->handed - append->accepted : 0;
    session->sum.rows.acknowledged += append->accepted;
    add(session, RECORDER_ROWS_ACKNOWLEDGED, append->accepted);
    note_gap(session, end_ns); /* also without progress: it may have been the last batch */
    if (append->accepted > 0) {
        session->sum.last_ack_ns = end_ns;
        session->sum.first_ack_ns =
            session->sum.first_ack_ns == 0 ? end_ns : session->sum.first_ack_ns;
        recorder_note_progress(session->load->recorder, session->index, end_ns);
    }
    if (status == STATUS_LOST) {
        session->sum.rows.in_doubt += unanswered;
        add(session, RECORDER_ROWS_IN_DOUBT, unanswered);
    } else {
        session->sum.rows.rejected += unanswered;
        add(session, RECORDER_ROWS_REJECTED, unanswered);
    }
    if (status != STATUS_LOST) {
        add(session, RECORDER_APPENDS, 1);
    }
    if (status != STATUS_OK || unanswered > 0) {
        add(session, RECORDER_APPENDS_FAILED, 1);
        note_exception(session, &(struct row_exception){.first = append->first_row,
                                                        .rows = append->rows,
                                                        .accepted = append->accepted,
                                                        .is_in_doubt = status == STATUS_LOST});
    }
}

/* Of a batch that was acknowledged, or is in doubt: then it has waited at least that long. */
static void record_times(struct session *session, int64_t intended_ns, int64_t start_ns,
                         int64_t end_ns, bool is_answered)
{
    struct recorder *recorder = session->load->recorder;
    if (is_answered) {
        recorder_record(recorder, session->index, OPERATION_APPEND, end_ns - start_ns);
    }
    if (intended_ns > 0) {
        recorder_record(recorder, session->index, OPERATION_RESPONSE, end_ns - intended_ns);
        add(session, RECORDER_RESPONSES_UNANSWERED, is_answered ? 0 : 1);
        session->batches_late += start_ns - intended_ns > LATE_NS ? 1 : 0;
    }
}

static bool is_good(enum status status)
{
    return status == STATUS_OK || status == STATUS_REJECTED;
}

/* What a call comes to whose connection may have been cut meanwhile. One that was answered at that
 * moment has no error of its own; who has no more to do needs no connection. */
static enum status settle_call(struct session *session, enum cause_phase phase, enum status status,
                               const struct error *error)
{
    if (!session->is_overdue) {
        return status;
    }
    if (!error_is_set(error)) {
        record_cause(session, phase, STATUS_LOST, error);
    }
    return is_good(status) && session->sum.begun == session->quota ? status : STATUS_LOST;
}

static enum status append_batch(struct session *session, int64_t intended_ns)
{
    struct append append = {.first_row = session->sum.begun,
                            .rows = batch_rows_after(session, session->sum.begun)};
    struct error error = {.kind = ERROR_NONE};
    bool is_begun;
    const int64_t start_ns = mono_now_ns();
    const enum status status = send_batch(session, &append, &is_begun, &error);
    const int64_t end_ns = mono_now_ns();
    if (!is_begun) {
        return STATUS_OK;
    }
    session->is_refused =
        error.kind == ERROR_READ_ONLY && session->load->plan->drop_policy == DROP_RECONNECT;
    if (session->is_refused) {
        /* none of its rows but the accepted ones is in the table, and they will be sent again */
        append.rows = append.handed = append.accepted;
        add(session, RECORDER_REFUSALS, 1);
    } else if (status == STATUS_LOST) {
        /* the rest of the batch was never on its way: its turn comes when there is a connection */
        append.rows = append.handed;
    } else {
        session->tries = 0;
    }
    session->sum.begun += append.rows;
    session->sum.batches += append.rows > 0 ? 1 : 0;
    if (append.accepted > append.rows) {
        append.accepted = append.rows;
    }
    if (status == STATUS_OK && append.accepted < append.rows) {
        error_set(&error, ERROR_DATA, 0, NULL, "the server acknowledged fewer rows than it got");
    }
    if (error_is_set(&error)) {
        record_cause(session, CAUSE_APPEND, status == STATUS_OK ? STATUS_REJECTED : status, &error);
    }
    account(session, &append, status, end_ns);
    if (status == STATUS_OK || (status == STATUS_LOST && append.rows > 0)) {
        record_times(session, intended_ns, start_ns, end_ns, status == STATUS_OK);
    }
    return session->is_refused ? STATUS_LOST : settle_call(session, CAUSE_APPEND, status, &error);
}

static enum status read_table(struct session *session)
{
    const struct load *load = session->load;
    const struct adapter *adapter = load->plan->adapter;
    const bool is_count = load->plan->read_mode == READ_COUNT;
    struct error error = {.kind = ERROR_NONE};
    uint64_t rows = 0;
    recorder_note_reading(load->recorder, session->index, true);
    const int64_t start_ns = mono_now_ns();
    begin_call(session);
    const enum status status = is_count
                                   ? ask_count(adapter, session->conn, &load->read, &rows, &error)
                                   : adapter->run(session->conn, &load->read, NULL,
                                                  &(struct answer){.take = NULL}, &error);
    end_call(session);
    const int64_t end_ns = mono_now_ns();
    recorder_note_reading(load->recorder, session->index, false);
    if (status == STATUS_OK) {
        recorder_record(load->recorder, session->index, OPERATION_READ, end_ns - start_ns);
        add(session, RECORDER_READS, 1);
    } else {
        add(session, RECORDER_READS_FAILED, 1);
        record_cause(session, CAUSE_READ, status, &error);
    }
    /* A count after an acknowledged append must show the session's own rows, and never fewer than
     * the session saw before; but one that counts the rows of a connection, on one that is not the
     * first. */
    if (status == STATUS_OK && is_count &&
        ((adapter->flags & ADAPTER_DISCARDS) == 0 || session->sum.churns == 0)) {
        const uint64_t own = load->setup->rows_before + session->sum.rows.acknowledged;
        add(session, RECORDER_FRESH_CHECKS, 1);
        if (rows < own) {
            add(session, RECORDER_FRESH_BEHIND, 1);
            session->worst_lag = own - rows > session->worst_lag ? own - rows : session->worst_lag;
        }
        if (rows < session->last_count) {
            add(session, RECORDER_FRESH_BACKWARD, 1);
        }
        session->last_count = rows;
    }
    return settle_call(session, CAUSE_READ, status, &error);
}

/* One turn. OK and REJECTED: the session goes on; LOST: it connects again, if that was asked for;
 * otherwise it ends as dropped. */
static enum status append_then_read(struct session *session)
{
    const struct plan *plan = session->load->plan;
    int64_t intended_ns = 0;
    if (plan->rate_rows_per_s > 0) {
        intended_ns = intended_start_ns(session, session->sum.begun);
        /* what is due when the time is over waits for nothing but STOP */
        const bool is_due =
            plan->duration_ns == 0 || intended_ns < session->load->gate.go_ns + plan->duration_ns;
        if (!gate_sleep_until(&session->load->gate, is_due ? intended_ns : INT64_MAX)) {
            return STATUS_OK;
        }
    }
    const enum status status = append_batch(session, intended_ns);
    if (!is_good(status) || session->is_overdue || plan->read_mode == READ_NONE ||
        session->sum.batches % plan->read_every != 0 || gate_is_stopped(&session->load->gate)) {
        return status;
    }
    return read_table(session);
}

/*
 * Connections that are opened while the run goes on: after a loss, and for --churn.
 *
 * Before each try after a loss the session sleeps for a random time of up to RECONNECT_FIRST_NS,
 * doubled with every try to RECONNECT_MOST_NS: "full jitter", which spreads those that lost their
 * connections at the same moment (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture
 * Blog, 2015). Tries count from the last batch that was answered, by anything but
 * "read-only", so that a server which takes connections and then drops them does not keep the
 * session for ever. No more sessions connect at a time than --connect-concurrency allows. Every
 * wait ends at STOP.
 */

int64_t reconnect_pause_ns(uint64_t seed, unsigned session, unsigned tries, uint64_t nonce)
{
    /* doubled as often it would be above the most */
    const int64_t most_ns = tries < 7 ? RECONNECT_FIRST_NS << tries : RECONNECT_MOST_NS;
    const uint64_t mixed = random_mix(random_mix(seed + session) + nonce);
    return (int64_t)(mixed % ((uint64_t)most_ns + 1));
}

/* One connect under the run's bound for connects at a time. REJECTED: the run ended first. */
static enum status connect_once(struct session *session)
{
    struct load *load = session->load;
    struct error error = {.kind = ERROR_NONE};
    if (!gate_take_slot(&load->gate, load->plan->connect_concurrency)) {
        return STATUS_REJECTED;
    }
    const enum status status = open_connection(session, CAUSE_RECONNECT, &error);
    gate_release_slot(&load->gate);
    if (status != STATUS_OK && error.kind == ERROR_CANCELLED) {
        /* the signal was seen here before the main thread has looked */
        gate_stop(&load->gate, STOP_INTERRUPTED);
        return STATUS_REJECTED;
    }
    return status;
}

/* The connection is gone and nobody on this side has cut it: counts that, and closes what is left
 * of it. One to a read-only server is closed, too: another try may reach the new primary. OK: with
 * --on-drop reconnect the session is connected again and ready to append. REJECTED: the run ended
 * first. LOST: it has to end: not asked for, or too many tries. FATAL: the server does not want
 * this session any more. */
static enum status reconnect_after_loss(struct session *session)
{
    struct load *load = session->load;
    const struct plan *plan = load->plan;
    const int64_t lost_ns = mono_now_ns();
    const bool is_lost = !session->is_refused;
    if (is_lost) {
        session->sum.drops++;
        add(session, RECORDER_CONNECTIONS_LOST, 1);
    }
    session->is_refused = false;
    close_connection(session);
    if (plan->drop_policy != DROP_RECONNECT) {
        return STATUS_LOST;
    }
    while (session->tries < plan->reconnect_tries) {
        const int64_t pause_ns =
            reconnect_pause_ns(plan->seed, session->index, session->tries, session->tries_total);
        const enum status status = gate_sleep_until(&load->gate, mono_now_ns() + pause_ns)
                                       ? connect_once(session)
                                       : STATUS_REJECTED;
        if (status == STATUS_REJECTED) {
            return status;
        }
        session->tries++;
        session->tries_total++;
        if (status == STATUS_OK && is_lost) {
            session->sum.reconnects++;
            add(session, RECORDER_RECONNECTS, 1);
            recorder_record(load->recorder, session->index, OPERATION_RECOVER,
                            mono_now_ns() - lost_ns);
        }
        if (status == STATUS_OK) {
            return status;
        }
        add(session, RECORDER_RECONNECTS_FAILED, 1);
        if (status == STATUS_FATAL) {
            return status;
        }
    }
    return STATUS_LOST;
}

static enum session_outcome drop(struct session *session)
{
    add(session, RECORDER_SESSIONS_DROPPED, 1);
    if (session->load->plan->drop_policy == DROP_STOP) {
        gate_stop(&session->load->gate, STOP_DROP);
    }
    return SESSION_DROPPED;
}

static enum session_outcome append_rows(struct session *session)
{
    struct load *load = session->load;
    const uint64_t churn = load->plan->churn_batches;
    while (session->sum.begun < session->quota) {
        if (!gate_wait_turn(&load->gate)) {
            /* one whose call had to be cut is not done when the time is over */
            const bool is_done =
                gate_reason(&load->gate) == STOP_DURATION && !atomic_load(&session->was_cut);
            return is_done ? SESSION_FINISHED : SESSION_STOPPED;
        }
        if (atomic_load_explicit(&session->is_leaving, memory_order_acquire)) {
            return SESSION_FINISHED;
        }
        const uint64_t batches = session->sum.batches;
        enum status status = append_then_read(session);
        if (churn > 0 && is_good(status) && session->sum.batches > batches &&
            session->sum.batches % churn == 0 && session->sum.begun < session->quota) {
            /* The connection has had its batches, and there is work left. When STOP comes first the
             * session stays without one; when it cannot be had that counts as a loss to come. */
            close_connection(session);
            status = connect_once(session);
            if (status == STATUS_OK) {
                session->sum.churns++;
                add(session, RECORDER_CHURNS, 1);
            }
        }
        if (status == STATUS_LOST) {
            status =
                atomic_load(&session->was_cut) ? STATUS_REJECTED : reconnect_after_loss(session);
            if (status == STATUS_REJECTED) {
                return SESSION_STOPPED;
            }
        }
        if (!is_good(status)) {
            return drop(session);
        }
    }
    return SESSION_FINISHED;
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
    struct procfs_schedstat before, after;
    procfs_read_thread(&before);
    if (gate_wait_go(&load->gate)) {
        recorder_set_working(load->recorder, session->index, load->gate.go_ns);
    }
    const int64_t start_ns = mono_now_ns();
    session->sum.outcome = append_rows(session);
    recorder_set_working(load->recorder, session->index, 0);
    session->work_end_ns = mono_now_ns();
    raise_to(&load->last_work_ns, session->work_end_ns);
    if (load->gate.go_ns > 0) {
        procfs_read_thread(&after);
        add(session, RECORDER_ON_CPU_NS, after.on_cpu_ns - before.on_cpu_ns);
        add(session, RECORDER_RUN_QUEUE_NS, after.run_queue_ns - before.run_queue_ns);
        add(session, RECORDER_SESSION_NS, (uint64_t)(mono_now_ns() - start_ns));
        if (session->sum.begun < session->quota || session->sum.outcome != SESSION_FINISHED) {
            note_gap(session, session->work_end_ns);
        }
    }
    if (!atomic_exchange(&load->has_finished_one, true)) {
        sampler_wake(load->sampler,
                     SAMPLER_READ); /* the last chance to see the memory of a short run */
    }
    gate_finish_work(&load->gate,
                     session->sum.outcome != SESSION_DROPPED && !atomic_load(&session->is_leaving));
}

/* Proves at the end that it is still connected. A server that refuses the statement has answered,
 * too. */
static enum session_outcome stay_idle(struct session *session)
{
    static const struct statement question = {.sql = "select 1"};
    struct load *load = session->load;
    struct error error = {.kind = ERROR_NONE};
    gate_wait_go(&load->gate);
    gate_finish_work(&load->gate, true);
    if (gate_is_stopped(&load->gate) && gate_reason(&load->gate) != STOP_DURATION) {
        return SESSION_STOPPED;
    }
    begin_call(session);
    const enum status status = load->plan->adapter->run(session->conn, &question, NULL,
                                                        &(struct answer){.take = NULL}, &error);
    end_call(session);
    if (is_good(status)) {
        return SESSION_FINISHED;
    }
    record_cause(session, CAUSE_IDLE, status, &error);
    if (atomic_load(&session->was_cut)) {
        return SESSION_STOPPED;
    }
    if (status == STATUS_LOST) {
        session->sum.drops++;
        add(session, RECORDER_CONNECTIONS_LOST, 1);
    }
    return drop(session);
}

void *session_run(void *argument)
{
    struct session *session = argument;
    struct load *load = session->load;
    struct error error = {.kind = ERROR_NONE};
    const enum status status = open_connection(session, CAUSE_CONNECT, &error);
    if (status == STATUS_OK) {
        add(session, RECORDER_SESSIONS_CONNECTED, 1);
        atomic_store(&load->timeouts_in_a_row, 0);
    } else if (error.kind == ERROR_TIMEOUT) {
        add(session, RECORDER_SESSIONS_FAILED, 1);
        session->sum.outcome = SESSION_TIMED_OUT;
        atomic_fetch_add(&load->timeouts_in_a_row, 1);
    } else if (error.kind != ERROR_CANCELLED) {
        add(session, RECORDER_SESSIONS_FAILED, 1);
        session->sum.outcome = SESSION_REFUSED;
        atomic_store(&load->timeouts_in_a_row, 0);
    } /* else the run ended before the server had answered: as good as not started */
    gate_release_slot(&load->gate);
    if (status == STATUS_OK) {
        if (session->is_idle) {
            session->sum.outcome = stay_idle(session);
        } else {
            work(session);
        }
        add(session, RECORDER_SESSIONS_ENDED, 1);
        close_connection(session);
    }
    raise_to(&load->last_end_ns, mono_now_ns());
    atomic_store_explicit(&session->has_ended, true, memory_order_release);
    gate_session_ends(&load->gate);
    return NULL;
}
