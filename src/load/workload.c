#include "base/ask.h"
#include "base/mono.h"
#include "load/session.h"

/* How long a busy database is asked again for one batch, and the longest pause between two tries.
 */
#define BUSY_LIMIT_NS (60 * MONO_NS_PER_S)
#define BUSY_PAUSE_MAX_NS (250 * MONO_NS_PER_MS)

/* One batch on its way. */
struct append {
    uint64_t first_row;
    uint64_t rows;
    uint64_t handed;   /* rows that the adapter was given in the latest try */
    uint64_t accepted; /* rows that the server acknowledged */
};

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

/* The wait of as many batches that would share its bucket, step_ns apart. The sum stays exact. */
static void record_waits(const struct session *session, int64_t first_ns, double step_ns,
                         uint64_t count)
{
    struct recorder *recorder = session->load->recorder;
    recorder_record(recorder, session->index, OPERATION_RESPONSE, first_ns);
    if (count > 1) {
        recorder_record_times(recorder, session->index, OPERATION_RESPONSE,
                              first_ns - (int64_t)(step_ns * (double)count / 2), count - 1);
    }
}

/* How many batches from one that has waited waited_ns are in its bucket of the histogram and before
 * the end for sure, each of the full size. At least 1. */
static uint64_t count_alike(int64_t waited_ns, int64_t left_ns, double step_ns, uint64_t full)
{
    const int64_t lowest_ns = waited_ns < HISTOGRAM_LIMIT_NS
                                  ? histogram_bucket_low_ns(histogram_bucket(waited_ns))
                                  : HISTOGRAM_LIMIT_NS;
    const int64_t room_ns = waited_ns - lowest_ns < left_ns ? waited_ns - lowest_ns : left_ns;
    /* the last one is left to the exact moment */
    const double alike = (double)room_ns / step_ns - 1;
    if (alike < 1 || full < 1) {
        return 1;
    }
    return alike < (double)full ? (uint64_t)alike : full;
}

uint64_t workload_count_unsent(struct session *session, int64_t end_ns, int64_t waited_until_ns)
{
    const struct plan *plan = session->load->plan;
    const double step_ns = (double)plan->batch_rows * plan->sessions /
                           (double)plan->rate_rows_per_s * (double)MONO_NS_PER_S;
    uint64_t unsent = 0;
    for (uint64_t begun = session->begun; begun < session->quota;) {
        const int64_t due_ns = intended_start_ns(session, begun);
        if (due_ns >= end_ns) {
            break;
        }
        const int64_t waited_ns = waited_until_ns - due_ns;
        const uint64_t full = (session->quota - begun) / plan->batch_rows;
        const uint64_t count = count_alike(waited_ns, end_ns - due_ns, step_ns, full);
        record_waits(session, waited_ns, step_ns, count);
        begun += count > 1 ? count * plan->batch_rows : batch_rows_after(session, begun);
        unsent += count;
    }
    session_add(session, RECORDER_RESPONSES_UNANSWERED, unsent);
    return unsent;
}

/* Hands the next rows of the append over. The memory for them is borrowed for no longer than that:
 * sessions that wait for an answer of the server hold none. */
static enum status hand_over(struct session *session, struct append *append, struct error *error)
{
    struct generator *generator = session->load->generator;
    struct row_buffer *buffer = generator_borrow(generator);
    if (buffer == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a batch of rows");
        return STATUS_FATAL;
    }
    const uint64_t left = append->rows - append->handed;
    const size_t most = generator_buffer_rows(generator);
    const size_t count = left < most ? (size_t)left : most;
    generator_fill(generator, buffer, session->index, append->first_row + append->handed, count);
    append->handed += count;
    const enum status status =
        session->load->plan->adapter->append_rows(session->conn, &buffer->batch, error);
    generator_give_back(generator, buffer);
    return status;
}

static enum status send_once(struct session *session, struct append *append, struct error *error)
{
    const struct adapter *adapter = session->load->plan->adapter;
    append->handed = 0;
    append->accepted = 0;
    session_begin_call(session);
    enum status status = adapter->append_open(session->conn, session->load->table, error);
    while (status == STATUS_OK && append->handed < append->rows) {
        status = hand_over(session, append, error);
    }
    if (status == STATUS_OK) {
        status = adapter->append_close(session->conn, &append->accepted, error);
    }
    session_end_call(session);
    return status;
}

/* Sends the batch, again while the database is busy and nothing of it was accepted. *is_begun
 * becomes false when STOP came while it was busy: then no row of the batch was ever on its way. */
static enum status send_batch(struct session *session, struct append *append, bool *is_begun,
                              struct error *error)
{
    const int64_t limit_ns = mono_now_ns() + BUSY_LIMIT_NS;
    int64_t pause_ns = MONO_NS_PER_MS;
    *is_begun = true;
    for (;;) {
        error_clear(error);
        const enum status status = send_once(session, append, error);
        if (status != STATUS_REJECTED || !error_is_passing(error) || append->accepted > 0 ||
            session->is_overdue) {
            return status;
        }
        const int64_t now_ns = mono_now_ns();
        if (now_ns >= limit_ns) {
            return status;
        }
        if (atomic_load(&session->is_leaving) ||
            !gate_sleep_until(&session->load->gate, now_ns + pause_ns)) {
            *is_begun = false;
            return status;
        }
        pause_ns = 2 * pause_ns < BUSY_PAUSE_MAX_NS ? 2 * pause_ns : BUSY_PAUSE_MAX_NS;
        session_add(session, RECORDER_BUSY_RETRIES, 1);
    }
}

/* Only who reads every row back asks for them, and a run of which nothing succeeds has many. */
static void note_exception(struct session *session, const struct row_exception *exception)
{
    if (session->load->plan->verify_mode == VERIFY_ROWS && exception->accepted < exception->rows) {
        exceptions_add(&session->exceptions, exception);
    }
}

/* Every row of the batch goes to one account; those that were never handed over stay not sent, or
 * are part of a batch to come. */
static void account(struct session *session, const struct append *append, enum status status,
                    int64_t end_ns)
{
    const uint64_t unanswered =
        append->handed > append->accepted ? append->handed - append->accepted : 0;
    session->acknowledged += append->accepted;
    session_add(session, RECORDER_ROWS_ACKNOWLEDGED, append->accepted);
    if (append->accepted > 0) {
        session_note_progress(session, end_ns);
    } else {
        session_note_gap(session, end_ns); /* it may have been the last batch */
    }
    if (status == STATUS_LOST) {
        session->in_doubt += unanswered;
        session_add(session, RECORDER_ROWS_IN_DOUBT, unanswered);
    } else {
        session->rejected += unanswered;
        session_add(session, RECORDER_ROWS_REJECTED, unanswered);
    }
    if (status != STATUS_LOST) {
        session_add(session, RECORDER_APPENDS, 1);
    }
    if (status != STATUS_OK || unanswered > 0) {
        session_add(session, RECORDER_APPENDS_FAILED, 1);
        const struct row_exception exception = {.first = append->first_row,
                                                .rows = append->rows,
                                                .accepted = append->accepted,
                                                .is_in_doubt = status == STATUS_LOST};
        note_exception(session, &exception);
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
    if (intended_ns == 0) {
        return;
    }
    recorder_record(recorder, session->index, OPERATION_RESPONSE, end_ns - intended_ns);
    session_add(session, RECORDER_RESPONSES_UNANSWERED, is_answered ? 0 : 1);
    if (start_ns - intended_ns > SESSION_LATE_NS) {
        session->batches_late++;
    }
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
        session_record_cause(session, phase, STATUS_LOST, error);
    }
    const bool is_answered = status == STATUS_OK || status == STATUS_REJECTED;
    return is_answered && session->begun == session->quota ? status : STATUS_LOST;
}

static enum status append_batch(struct session *session, int64_t intended_ns)
{
    struct append append = {.first_row = session->begun,
                            .rows = batch_rows_after(session, session->begun)};
    struct error error;
    error_clear(&error);
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
        session_add(session, RECORDER_REFUSALS, 1);
    } else if (status == STATUS_LOST) {
        /* the rest of the batch was never on its way: its turn comes when there is a connection */
        append.rows = append.handed;
    } else {
        session->tries = 0;
    }
    session->begun += append.rows;
    session->batches += append.rows > 0 ? 1 : 0;
    if (append.accepted > append.rows) {
        append.accepted = append.rows;
    }
    if (status == STATUS_OK && append.accepted < append.rows) {
        error_set(&error, ERROR_DATA, 0, NULL, "the server acknowledged fewer rows than it got");
    }
    if (error_is_set(&error)) {
        session_record_cause(session, CAUSE_APPEND, status == STATUS_OK ? STATUS_REJECTED : status,
                             &error);
    }
    account(session, &append, status, end_ns);
    if (status == STATUS_OK || (status == STATUS_LOST && append.rows > 0)) {
        record_times(session, intended_ns, start_ns, end_ns, status == STATUS_OK);
    }
    return session->is_refused ? STATUS_LOST : settle_call(session, CAUSE_APPEND, status, &error);
}

/* A count after an acknowledged append must show the session's own rows, and never fewer than the
 * session saw before. */
static void check_freshness(struct session *session, uint64_t rows)
{
    const bool discards = (session->load->plan->adapter->flags & ADAPTER_DISCARDS) != 0;
    if (discards && session->churns > 0) {
        return; /* it counts the rows of a connection, and this one is not the first */
    }
    const uint64_t own = session->load->rows_before + session->acknowledged;
    session_add(session, RECORDER_FRESH_CHECKS, 1);
    if (rows < own) {
        session_add(session, RECORDER_FRESH_BEHIND, 1);
        if (own - rows > session->worst_lag) {
            session->worst_lag = own - rows;
        }
    }
    if (rows < session->last_count) {
        session_add(session, RECORDER_FRESH_BACKWARD, 1);
    }
    session->last_count = rows;
}

static enum status read_table(struct session *session)
{
    const struct plan *plan = session->load->plan;
    const bool is_count = plan->read_mode == READ_COUNT;
    struct error error;
    error_clear(&error);
    uint64_t rows = 0;
    recorder_note_reading(session->load->recorder, session->index, true);
    const int64_t start_ns = mono_now_ns();
    session_begin_call(session);
    const struct statement *read = &session->load->read;
    const enum status status =
        is_count
            ? ask_count(plan->adapter, session->conn, read, &rows, &error)
            : plan->adapter->run(session->conn, read, NULL, &(struct answer){.take = NULL}, &error);
    session_end_call(session);
    const int64_t end_ns = mono_now_ns();
    recorder_note_reading(session->load->recorder, session->index, false);
    if (status != STATUS_OK) {
        session_add(session, RECORDER_READS_FAILED, 1);
        session_record_cause(session, CAUSE_READ, status, &error);
        return settle_call(session, CAUSE_READ, status, &error);
    }
    recorder_record(session->load->recorder, session->index, OPERATION_READ, end_ns - start_ns);
    session_add(session, RECORDER_READS, 1);
    if (is_count) {
        check_freshness(session, rows);
    }
    return settle_call(session, CAUSE_READ, status, &error);
}

static enum status append_then_read(struct session *session)
{
    const struct plan *plan = session->load->plan;
    int64_t intended_ns = 0;
    if (plan->rate_rows_per_s > 0) {
        intended_ns = intended_start_ns(session, session->begun);
        /* what is due when the time is over waits for nothing but STOP */
        const bool is_due =
            plan->duration_ns == 0 || intended_ns < session->load->gate.go_ns + plan->duration_ns;
        if (!gate_sleep_until(&session->load->gate, is_due ? intended_ns : INT64_MAX)) {
            return STATUS_OK;
        }
    }
    const enum status status = append_batch(session, intended_ns);
    if (status == STATUS_LOST || status == STATUS_FATAL || session->is_overdue ||
        plan->read_mode == READ_NONE || session->batches % plan->read_every != 0 ||
        gate_is_stopped(&session->load->gate)) {
        return status;
    }
    return read_table(session);
}

const struct workload workload_append_then_read = {
    .name = "append-then-read",
    .step = append_then_read,
};
