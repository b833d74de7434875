/*
 * The calls of a session to the server. The session's thread waits for the answer, and the main
 * thread cuts the connection of a call that takes too long.
 */
#ifndef LOAD_CALLS_H
#define LOAD_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/append.h"
#include "load/session.h"

/* Mark the beginning and the end of a call that waits for the server. --timeout and --waits need
 * these marks. `operation` is the operation that the call belongs to, or RECORDER_NO_CALL if the
 * call's time is not recorded. If the connection was cut because the call took longer than
 * --timeout, session_end_call sets session->is_overdue: the connection is then unusable, whatever
 * the call returned. */
void session_begin_call(struct session *session, size_t operation);
void session_end_call(struct session *session);

/* Returns whether the connection can still be used after a call that returned `status`. */
static inline bool session_goes_on(enum status status)
{
    return status == STATUS_OK || status == STATUS_REJECTED;
}

/* Rows that the generator makes for a session, beginning with the session's row `first`. The buffer
 * is borrowed only while rows are handed over, so a session that waits for an answer of the server
 * holds no memory for rows. generated_source returns the source of these rows, for struct
 * append. */
struct generated_rows {
    struct session *session;
    uint64_t first;
    struct row_buffer *buffer; /* private */
};

struct row_source generated_source(struct generated_rows *rows);

/* Sets session->is_refused to true if a read-only server refused the batch or the transaction and
 * --on-drop is reconnect, and otherwise to false. Returns session->is_refused. If it is true, the
 * session has to reconnect before it continues. */
bool session_note_refused(struct session *session, enum status status, const struct error *error);

/* Returns the status with which the session continues after a call or a transaction that ended with
 * `status` and `error`. The result is LOST if the session needs a new connection. After a call
 * whose connection was cut for --timeout, the session needs a new connection even if the answer
 * arrived, unless the session has no work left. */
enum status session_after(struct session *session, enum cause_phase phase, enum status status,
                          const struct error *error);

/* Sends the append. After a lost connection or a partial refusal the append has fewer rows: see
 * append_send. Retries while the database is busy and has accepted no row. Returns REJECTED if the
 * server acknowledged fewer rows than were sent. If the connection was cut for --timeout while the
 * database was busy, returns LOST, and no rows count as sent. Sets *is_begun to false if the
 * session had to stop or leave while it waited for a busy database: the database has then stored no
 * rows, and the append counts as not begun. */
enum status session_send(struct session *session, struct append *append, bool *is_begun,
                         struct error *error);

/* Main thread: cuts the session's connection, so that a blocked call returns. */
void session_interrupt(struct session *session);

/* Main thread: cuts the session's connection when a call has taken longer than --timeout, and again
 * every second until the call returns. */
void session_cut_overdue(struct session *session, int64_t now_ns);

#endif
