/*
 * The schedule of a session's work in a run with a rate: when each batch or transaction is due, and
 * how much work was due but never begun.
 */
#ifndef LOAD_SCHEDULE_H
#define LOAD_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "load/session.h"

/* Returns whether the session's work has a due time. */
bool session_has_rate(const struct session *session);

/* Returns the number of rows in the session's next batch; 1 with a script. */
uint64_t session_next_rows(const struct session *session);

/* Returns the moment at which the next batch or transaction is due. The session must have a
 * rate. */
int64_t session_next_due_ns(struct session *session);

/* Returns whether the session works in its epoch: it is one of the working sessions, and the run is
 * not paused. */
bool session_works_in_epoch(const struct session *session);

/* With --arrivals poisson: returns the time from the opening of the gate to the due time of the
 * session's latest arrival so far; 0 if the session has had no arrival. */
int64_t session_last_due_ns(const struct session *session);

/* Moves the session to the latest epoch. For each epoch that the session leaves, counts the work
 * that was due in that epoch but not begun. Called by the session's thread, or by the main thread
 * after that thread has ended. */
void session_follow_epochs(struct session *session);

/* Main thread, after the session's end: does what session_follow_epochs does, and also counts the
 * work that was due in the last epoch before end_ns but never begun, because the session was
 * blocked, dropped or not connected. */
void session_close_schedule(struct session *session, int64_t end_ns);

/* Counts the batches (or transactions) of the session's epoch that were due from from_ns on and
 * before end_ns, but never begun. For each of them, records the wait from its due time to
 * waited_until_ns as a lower bound of its response time. The session must have a rate. */
uint64_t session_count_unsent(struct session *session, int64_t from_ns, int64_t end_ns,
                              int64_t waited_until_ns);

#endif
