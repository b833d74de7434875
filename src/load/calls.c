#include "load/session.h"

#include <stdlib.h>
#include <sys/param.h>

#include "base/mono.h"
#include "base/text.h"

void session_add(struct session *session, enum recorder_counter counter, uint64_t n)
{
    recorder_add(session->load->recorder, session->place, counter, n);
}

/* Adds a session whose connection was cut to the list of cut sessions: the server may still be at
 * work on its call. Does nothing if the server's name of the session is unknown. If memory runs
 * out, the server has to notice the closed connection itself. Main thread: no other thread
 * cuts the connections of sessions. */
static void note_cut(const struct session *session, const struct session_name *name)
{
    struct cut_list *list = session->load->cut;
    if (list == NULL || name->number == 0) {
        return;
    }
    if (list->count == list->room) {
        const size_t room = 2 * list->room + 16;
        struct cut_session *more = reallocarray(list->entries, room, sizeof *more);
        if (more == NULL) {
            return;
        }
        list->entries = more;
        list->room = room;
    }
    list->entries[list->count++] = (struct cut_session){.host = session->host, .name = *name};
}

void session_interrupt(struct session *session)
{
    struct session_name name;
    const bool is_first = !atomic_load(&session->was_cut); /* only this thread sets was_cut */
    if (line_cut(&session->line, &name, &session->was_cut) && is_first) {
        note_cut(session, &name);
    }
}

void session_begin_call(struct session *session, size_t operation)
{
    recorder_note_call(session->load->recorder, session->place, operation);
    line_begin_call(&session->line);
}

void session_end_call(struct session *session)
{
    recorder_note_call(session->load->recorder, session->place, RECORDER_NO_CALL);
    if (line_end_call(&session->line)) {
        session->is_overdue = true;
        session_add(session, RECORDER_TIMEOUTS, 1);
    }
}

void session_cut_overdue(struct session *session, int64_t now_ns)
{
    struct session_name name;
    if (line_cut_overdue(&session->line, now_ns, &name)) {
        note_cut(session, &name);
    }
}

void session_blame(struct session *session, enum cause_phase phase, const char *name,
                   enum status status, const struct error *error)
{
    struct error own = {.kind = ERROR_NONE};
    if (status == STATUS_LOST && atomic_load(&session->was_cut)) {
        /* append itself cut the connection: the server is not to blame */
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
    const bool is_mistake = phase == CAUSE_SCRIPT && status == STATUS_FATAL;
    causes_add_named(is_mistake ? session->load->mistakes : session->load->causes, phase, name,
                     status, error, mono_now_ns());
}

bool session_has_work(const struct session *session)
{
    return session->sum.begun < session->quota && session_begun(session) < session_share(session);
}

bool session_note_refused(struct session *session, enum status status, const struct error *error)
{
    session->is_refused = (status == STATUS_REJECTED || status == STATUS_FATAL) &&
                          error->kind == ERROR_READ_ONLY &&
                          session->load->plan->drop_policy == DROP_RECONNECT;
    session_add(session, RECORDER_REFUSALS, session->is_refused ? 1 : 0);
    return session->is_refused;
}

enum status session_after(struct session *session, enum cause_phase phase, enum status status,
                          const struct error *error)
{
    if (session->is_refused) {
        return STATUS_LOST;
    }
    if (status != STATUS_LOST) {
        session->tries = 0;
    }
    if (!session->is_overdue) {
        return status;
    }
    if (!error_is_set(error)) {
        session_blame(session, phase, NULL, STATUS_LOST, error);
    }
    return session_goes_on(status) && !session_has_work(session) ? status : STATUS_LOST;
}

void session_log(const struct session *session, struct transaction_log_row row)
{
    row.session = session->index;
    row.turn = session->turn;
    row.end_ns -= session->load->gate.go_ns;
    transaction_log_add(session->load->log, &row);
}

void session_note_gap(struct session *session, int64_t now_ns)
{
    const int64_t acked_ns =
        session->sum.last_ack_ns > 0 ? session->sum.last_ack_ns : session->load->gate.go_ns;
    const int64_t last_ns = MAX(acked_ns, session->resumed_ns);
    if (now_ns - last_ns > session->sum.longest_gap_ns) {
        session->sum.longest_gap_ns = now_ns - last_ns;
    }
}

void session_note_progress(struct session *session, int64_t now_ns)
{
    session->sum.last_ack_ns = now_ns;
    session->sum.first_ack_ns = session->sum.first_ack_ns == 0 ? now_ns : session->sum.first_ack_ns;
    recorder_note_progress(session->load->recorder, session->place, now_ns);
}

bool session_knows_before(const struct session *session, size_t table, uint64_t *before)
{
    const struct setup_host *host = &session->load->setup->hosts[session->host];
    *before = host->rows_before[table];
    return host->is_known && !session->has_moved;
}

void session_note_count(struct session *session, uint64_t rows, uint64_t own, uint64_t *last)
{
    session_add(session, RECORDER_FRESH_CHECKS, 1);
    if (rows < own) {
        session_add(session, RECORDER_FRESH_BEHIND, 1);
        session->worst_lag = MAX(session->worst_lag, own - rows);
    }
    if (rows < *last) {
        session_add(session, RECORDER_FRESH_BACKWARD, 1);
    }
    *last = rows;
}

void session_note_row_bytes(struct session *session, const struct table *table,
                            const struct batch *batch)
{
    if (session->measured_table != table) {
        session->measured_table = table;
        session->row_bytes = (double)batch_bytes(batch) / (double)batch->row_count;
    }
}

static const struct batch *generate(void *context, uint64_t from, size_t rows, struct error *error)
{
    struct generated_rows *generated = context;
    struct session *session = generated->session;
    struct generator *generator = session->load->generator;
    struct row_buffer *buffer = generated->buffer = generator_borrow(generator);
    if (buffer == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a batch of rows");
        return NULL;
    }
    generator_fill(generator, buffer, session->index, generated->first + from, rows);
    session_note_row_bytes(session, buffer->batch.table, &buffer->batch);
    return &buffer->batch;
}

static void give_back(void *context)
{
    const struct generated_rows *generated = context;
    generator_give_back(generated->session->load->generator, generated->buffer);
}

struct row_source generated_source(struct generated_rows *rows)
{
    return (struct row_source){generate, give_back, rows,
                               generator_buffer_rows(rows->session->load->generator)};
}

enum status session_send(struct session *session, struct append *append, bool *is_begun,
                         struct error *error)
{
    struct busy_retry retry;
    busy_retry_init(&retry);
    *is_begun = true;
    for (;;) {
        session_begin_call(session, OPERATION_APPEND);
        const enum status status =
            append_send(session->load->plan->adapter, session->conn, append, error);
        session_end_call(session);
        if (session->is_overdue && status == STATUS_REJECTED && append->accepted == 0 &&
            error_is_transient(error)) {
            /* the database kept no row, and another call needs a new connection */
            append->rows = append->handed = 0;
            return STATUS_LOST;
        }
        append->accepted = MIN(append->accepted, append->rows);
        if (status == STATUS_OK && append->accepted < append->rows) {
            error_set(error, ERROR_DATA, 0, NULL, "the server acknowledged fewer rows than it got");
            return STATUS_REJECTED;
        }
        if (!busy_retry_may_go_on(&retry, status, error) || append->accepted > 0 ||
            session->is_overdue) {
            return status;
        }
        session_blame(session, CAUSE_BUSY, NULL, status, error);
        *is_begun =
            gate_sleep_until(&session->load->gate, mono_now_ns() + busy_retry_pause_ns(&retry),
                             &session->is_leaving);
        if (!*is_begun) {
            return status;
        }
        session_add(session, RECORDER_BUSY_RETRIES, 1);
    }
}

/* Adds a range of rows that were begun, and not all acknowledged, to the list of exceptions, which
 * is sorted by row. Merges two adjacent ranges without any acknowledged row, because a run in which
 * nothing succeeds has many. Only --verify rows needs the list. */
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

void session_account(struct session *session, const struct append *append, enum status status,
                     int64_t end_ns)
{
    const uint64_t unanswered =
        append->handed > append->accepted ? append->handed - append->accepted : 0;
    session->sum.rows.acknowledged += append->accepted;
    session_add(session, RECORDER_ROWS_ACKNOWLEDGED, append->accepted);
    session_add(session, RECORDER_ROW_BYTES,
                (uint64_t)((double)append->accepted * session->row_bytes));
    /* a batch without acknowledged rows counts as well: it may be the last batch */
    session_note_gap(session, end_ns);
    if (append->accepted > 0) {
        session_note_progress(session, end_ns);
    }
    const uint64_t in_doubt = append->in_doubt, rejected = unanswered - in_doubt;
    session->sum.rows.in_doubt += in_doubt;
    session_add(session, RECORDER_ROWS_IN_DOUBT, in_doubt);
    session->sum.rows.rejected += rejected;
    session_add(session, RECORDER_ROWS_REJECTED, rejected);
    session_add(session, status == STATUS_LOST ? RECORDER_APPENDS_LOST : RECORDER_APPENDS, 1);
    if (status != STATUS_OK || unanswered > 0) {
        session_add(session, RECORDER_APPENDS_FAILED, 1);
        struct row_exception rest = {append->first_row, append->rows, append->accepted,
                                     in_doubt > 0};
        if (rejected > 0 && in_doubt > 0) {
            /* the rows in doubt are the last rows of the batch: see struct append_loss */
            const struct row_exception decided = {append->first_row, append->rows - in_doubt,
                                                  append->accepted, false};
            note_exception(session, &decided);
            rest = (struct row_exception){decided.first + decided.rows, in_doubt, 0, true};
        }
        note_exception(session, &rest);
    }
}
