#include "load/account.h"

#include <stdlib.h>
#include <sys/param.h>

#include "base/mono.h"
#include "base/text.h"

void session_add(struct session *session, enum recorder_counter counter, uint64_t n)
{
    recorder_add(session->load->recorder, session->place, counter, n);
}

void session_blame(struct session *session, enum cause_phase phase, const char *name,
                   enum status status, const struct error *error)
{
    struct error own = {.kind = ERROR_NONE};
    if (status == STATUS_LOST && atomic_load(&session->was_cut)) {
        /* this program cut the connection, so the server's error is not the cause */
        error_set(&own, ERROR_TIMEOUT, 0, NULL,
                  "append cut the connection: no answer within %d s after the end of the run",
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

/* Adds a range of rows to the list of exceptions, unless all rows of the range were acknowledged.
 * The list is sorted by row. Merges adjacent ranges that have no acknowledged rows, because a run
 * in which every batch fails has many of them. Does nothing without --verify rows. */
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
    /* note the gap even if no row was acknowledged, because this batch may be the last one */
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
