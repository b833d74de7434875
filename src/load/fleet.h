/*
 * Runs the sessions of a run or a search: starts their threads, opens the gate, retires and joins
 * sessions, and adds up their results. Main thread.
 *
 * A run starts all sessions, opens the gate when they are up, and waits until they end. A search
 * looks for the most sessions that can be held. It opens the gate first, so sessions begin to
 * append as soon as they are connected. It adds sessions level by level, holds each level for a
 * time while all sessions append, and closes in on the largest number that can be held. When a
 * session has ended, another session may take its place. The new session continues the row numbers
 * of the place, so no two rows are the same.
 */
#ifndef LOAD_FLEET_H
#define LOAD_FLEET_H

#include "load/session.h"

/* Runs all sessions of the plan, or a search with at most that many sessions. Returns when all
 * sessions have ended.
 *
 * *result must be zeroed, with `causes` initialised and `totals` made for the recorder's
 * operations. Fills the times, stop_reason, worst_lag_rows, and the ledgers, but not the
 * verification. The ledgers of a run include sessions that were never started. A run also fills
 * session_list, fairness and causes; a search also fills load->search, and adds to the causes only
 * mistakes in the script. Returns FATAL if memory ran out, so that no session was started.
 *
 * With search->max_rows a hold ends early once it has written an eighth of the rows that were left,
 * but it lasts at least a second. Between two holds, sessions rest once they have written a
 * sixteenth of the rows that were left. */
enum status fleet_run(struct load *load, struct result *result, struct error *error);

#endif
