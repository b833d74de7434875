/*
 * The script of a session: the calls that its functions make, and the transactions around them.
 *
 * A transaction ends in one of five ways, however often it is tried: committed, rolled back on
 * purpose, failed, in doubt, or unfinished at the end of the run. It is retried with the same draws
 * when the database reports that another transaction was in its way. Without BEGIN and COMMIT it is
 * retried only if no write of the try was acknowledged. Transactions that begin during the warm-up
 * are counted apart and excluded from all figures; but the rows that these transactions add to
 * tables or take from tables count as all other rows do.
 */
#ifndef LOAD_TRANSACTIONS_H
#define LOAD_TRANSACTIONS_H

#include <stdint.h>

#include "load/session.h"

/* transactions_begin runs the top level of the script before the session connects. It returns FATAL
 * if the session cannot begin. transactions_end frees the state of the script after the session has
 * disconnected. Both run on the session's thread. */
enum status transactions_begin(struct session *session, struct error *error);
void transactions_end(struct session *session);

/* Runs the script's on_session and prepares its statements, after each connect. On failure the
 * connection is unusable, and the reason is among the causes. */
enum status transactions_connected(struct session *session, struct error *error);

/* Runs one transaction with all its tries. The transaction is due at intended_ns; 0 if it has
 * no due time. */
enum status transactions_turn(struct session *session, int64_t intended_ns);

/* Main thread, after STOP: abandons the session's thread if the thread is in the script's own code.
 * The transaction under way, if any, counts as failed, with the script as the cause. The abandoned
 * thread still reads some data, such as the plan's script, which the caller must never free.
 * Returns the moment at which the thread entered the script's code; 0 if the thread is elsewhere.
 */
int64_t transactions_leave(struct session *session);

/* Main thread, after the join: adds the session's changes of tables to result->datasets, and frees
 * the state of the script. */
void transactions_destroy(struct session *session, struct result *result);

#endif
