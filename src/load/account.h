/*
 * The accounts of a session: the numbers and results of its rows, calls and reads. Only the
 * session's thread writes the accounts. If the main thread abandons that thread, only the main
 * thread writes them afterwards. See load/session.h.
 */
#ifndef LOAD_ACCOUNT_H
#define LOAD_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/append.h"
#include "load/session.h"

/* A batch or transaction that begins later than this after its intended start is late. */
#define SESSION_LATE_NS (100 * MONO_NS_PER_MS)

/* Adds `n` to a counter of the run. */
void session_add(struct session *session, enum recorder_counter counter, uint64_t n);

/* Adds `error` to the causes. `name`, borrowed, is the script's name for the failed action, or
 * NULL. The phase CAUSE_SCRIPT with the status FATAL means that the script has a mistake. In a
 * search such mistakes are kept in a separate list, because they belong to no level and end the
 * search. */
void session_blame(struct session *session, enum cause_phase phase, const char *name,
                   enum status status, const struct error *error);

/* Adds a row about the current turn to the log of transactions. Called only if session->is_logged
 * is true. The function fills in row.session and row.turn. row.end_ns must be a value of
 * mono_now_ns. */
void session_log(const struct session *session, struct transaction_log_row row);

/* session_note_gap measures how long the session has had no acknowledgement, and keeps the longest
 * such time. The time ends at now_ns. It begins at the last acknowledgement, at the opening of
 * the gate, or when the session resumed work after a wait or a pause, whichever is latest.
 * session_note_progress notes an acknowledgement at now_ns. */
void session_note_gap(struct session *session, int64_t now_ns);
void session_note_progress(struct session *session, int64_t now_ns);

/* Sets *before to the number of rows that the table with number `table` had on the session's host
 * before the run. Returns false if the number is unknown, or if some of the session's rows may be
 * on another host. */
bool session_knows_before(const struct session *session, size_t table, uint64_t *before);

/* Checks that a count of the table's rows is not stale, and counts the result of the check. `rows`
 * must be at least `own`, the number of rows that must be in the table, and at least *last, the
 * previous count. Then sets *last to `rows`. */
void session_note_count(struct session *session, uint64_t rows, uint64_t own, uint64_t *last);

/* Measures the mean size of the rows in `batch`, unless the session's latest measurement was for
 * the same table. */
void session_note_row_bytes(struct session *session, const struct table *table,
                            const struct batch *batch);

/* Counts each row of the batch as acknowledged, in doubt or rejected. Does not count rows that were
 * not handed to the adapter: a later batch may send them. */
void session_account(struct session *session, const struct append *append, enum status status,
                     int64_t end_ns);

#endif
