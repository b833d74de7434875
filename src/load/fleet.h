/*
 * The sessions of a run or a search: creates their threads, opens the gate, retires and joins them,
 * and adds up their results. Main thread.
 *
 * A run starts all sessions, opens the gate when they are up, and waits until they end. A search
 * looks for the most sessions that can be held. It opens the gate first, so sessions begin to
 * append as soon as they are connected. It adds sessions level by level, holds each level for a
 * time while all sessions append, and closes in on the number that cannot be held.
 * When a session has ended, another one takes its place and goes on where the rows of the place
 * stopped, so no two rows are the same.
 */
#ifndef LOAD_FLEET_H
#define LOAD_FLEET_H

#include "load/session.h"

/* Runs every session of the plan, or searches with up to that many, and returns when all have
 * ended.
 *
 * *result must be zeroed, with `causes` initialised and `totals` made for the recorder's
 * operations. Fills the times, stop_reason, worst_lag_rows, and the ledgers of all sessions that
 * were ever started (not the verification). A run also fills session_list, fairness
 * and causes; a search also fills load->search, and adds to the causes only mistakes in the script.
 * FATAL: out of memory, no session was started.
 *
 * With search->max_rows a hold ends early, but not within its first second, when it has written an
 * eighth of the rows that are left; and sessions rest before the next hold when they have written a
 * sixteenth. */
enum status fleet_run(struct load *load, struct result *result, struct error *error);

#endif
