/*
 * The script of a session: the calls that its functions make, and the transactions around them.
 *
 * A transaction ends in one of five ways, after any number of tries: committed, rolled back on
 * purpose, failed, in doubt, or unfinished at the end of the run. It is retried with the same
 * random numbers when the database reports a conflict with another transaction. Without BEGIN and
 * COMMIT it is retried only if no write of the try was acknowledged. Transactions that begin during
 * the warm-up are counted separately and excluded from all results. But the rows that these
 * transactions add to tables or take from tables count like all other rows.
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

/* Called after each connect: runs the script's on_session and prepares its statements. On failure
 * the connection is unusable, and the reason has been added to the causes. */
enum status transactions_connected(struct session *session, struct error *error);

/* Runs one transaction with all its tries. intended_ns is the moment at which the transaction is
 * due, or 0 if it has no due time. */
enum status transactions_turn(struct session *session, int64_t intended_ns);

/* Main thread, after STOP: abandons the session's thread if the thread is in the script's own code.
 * The current transaction, if any, counts as failed because of the script. The abandoned thread
 * still reads some data, such as the plan's script, which the caller must never free. Returns the
 * moment at which the thread entered the script's code; 0 if the thread is elsewhere. */
int64_t transactions_leave(struct session *session);

/* Main thread, after the join: adds the session's changes of tables to result->datasets, and frees
 * the state of the script. */
void transactions_destroy(struct session *session, struct result *result);

#endif
