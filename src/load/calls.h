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

/* Mark the beginning and the end of each call that waits for the server, for --timeout and for
 * --waits. `operation` is the operation that the call belongs to, or RECORDER_NO_CALL if the call's
 * time is not recorded. If the call was cut, is_overdue becomes true and the connection is
 * unusable, whatever the call returned. */
void session_begin_call(struct session *session, size_t operation);
void session_end_call(struct session *session);

/* Returns whether the connection can still be used after a call that returned `status`. */
static inline bool session_goes_on(enum status status)
{
    return status == STATUS_OK || status == STATUS_REJECTED;
}

/* The generator's rows of a session, from row `first` of the session on. A buffer is borrowed only
 * while rows are handed over, so sessions that wait for an answer of the server hold no memory for
 * rows. generated_source returns the source of an append of these rows. */
struct generated_rows {
    struct session *session;
    uint64_t first;
    struct row_buffer *buffer; /* private */
};

struct row_source generated_source(struct generated_rows *rows);

/* Notes whether a read-only server refused the work of the turn, so that the session reconnects and
 * goes on (--on-drop reconnect). Returns is_refused. */
bool session_note_refused(struct session *session, enum status status, const struct error *error);

/* Returns how the session goes on after a call or a transaction that ended with `status` and
 * `error`: LOST if the session needs another connection. After a call that was cut for --timeout,
 * the session needs another connection even if the answer arrived, unless the session has no work
 * left. */
enum status session_after(struct session *session, enum cause_phase phase, enum status status,
                          const struct error *error);

/* Sends the append. After a lost connection or a partial refusal the append has fewer rows: see
 * append_send. Retries while the database is busy and has accepted no row. Returns REJECTED if the
 * server acknowledged fewer rows than were sent. A call that was cut while the database was busy
 * counts as lost, with no rows sent. *is_begun becomes false if the session had to stop or leave
 * while the database was busy: then the database kept no row, and the append counts as not begun.
 */
enum status session_send(struct session *session, struct append *append, bool *is_begun,
                         struct error *error);

/* Main thread: cuts the session's connection, so that a blocked call returns. */
void session_interrupt(struct session *session);

/* Main thread: cuts the session's connection when a call has taken longer than --timeout, and again
 * every second until the call returns. */
void session_cut_overdue(struct session *session, int64_t now_ns);

#endif
