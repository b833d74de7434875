/*
 * The accounts of a session: what became of its rows, calls and reads. Only the session's thread
 * writes the accounts. If the main thread abandons that thread, only the main thread writes them
 * afterwards. See load/session.h.
 */
#ifndef LOAD_ACCOUNT_H
#define LOAD_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/append.h"
#include "load/session.h"

/* A batch or transaction is late when it begins more than SESSION_LATE_NS after its intended start.
 */
#define SESSION_LATE_NS (100 * MONO_NS_PER_MS)

/* Adds `n` to a counter of the run. */
void session_add(struct session *session, enum recorder_counter counter, uint64_t n);

/* Adds `error` to the causes. `name`, borrowed, is the script's name for the failed action, or
 * NULL. The phase CAUSE_SCRIPT with the status FATAL is a mistake in the script. In a search a
 * mistake belongs to no level, and it ends the search. */
void session_blame(struct session *session, enum cause_phase phase, const char *name,
                   enum status status, const struct error *error);

/* Adds a row about the current turn to the log of transactions. The log must include this turn: see
 * session->is_logged. The function fills in row.session and row.turn. row.end_ns is a moment of
 * mono_now_ns. */
void session_log(const struct session *session, struct transaction_log_row row);

/* session_note_gap measures the time without an acknowledgement until now_ns, and keeps the longest
 * such time. The time begins at the last acknowledgement, at the opening of the gate, or at the
 * moment at which the session worked again after a wait for a stage or a pause by hand, whichever
 * is latest. session_note_progress notes an acknowledgement at now_ns. */
void session_note_gap(struct session *session, int64_t now_ns);
void session_note_progress(struct session *session, int64_t now_ns);

/* Sets *before to the number of rows that table number `table` had before the run at the session's
 * host. Returns false if the number is unknown, or if the session's rows may be at another host. */
bool session_knows_before(const struct session *session, size_t table, uint64_t *before);

/* Checks the freshness of a count: `rows` must be at least `own`, the rows that must be in the
 * table, and at least *last, the previous count. Then *last becomes `rows`. */
void session_note_count(struct session *session, uint64_t rows, uint64_t own, uint64_t *last);

/* Measures the mean size of a row, from the first rows that the session makes for the table. */
void session_note_row_bytes(struct session *session, const struct table *table,
                            const struct batch *batch);

/* Counts each row of the batch as acknowledged, in doubt or rejected. Rows that were never handed
 * over stay "not sent", or belong to a later batch. */
void session_account(struct session *session, const struct append *append, enum status status,
                     int64_t end_ns);

#endif
