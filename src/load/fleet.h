/*
 * The sessions of a run or a search: creates their threads, opens the gate, retires and joins them,
 * and adds up what they came to. Main thread.
 *
 * A run starts all of them, opens the gate when they are up, and waits until they end. A search for
 * the most sessions that can be held opens the gate first, so that sessions begin to append as soon
 * as they are connected. It adds sessions to those that are up, level by level, holds each level
 * for a time while all of them append, and closes in on the number that cannot be held. A session
 * that has ended leaves its place to another one, which goes on where the rows of the place
 * stopped, so that no two rows are the same.
 */
#ifndef LOAD_FLEET_H
#define LOAD_FLEET_H

#include "load/session.h"

/* Runs every session of the plan, or searches with up to so many, and returns when all have ended.
 * Fills times, stop_reason, the ledgers of all sessions that were ever started (but not the
 * verification) and worst_lag_rows of *result, which is zeroed except for causes, already
 * initialised, and totals, made for the recorder's operations; in a run also batches_late,
 * session_list, fairness and causes; in a search the rest of load->search, and of the causes a
 * mistake in the script. FATAL: no memory, nothing was started.
 *
 * With search->max_rows a hold is shorter, but no less than a second, once it has taken an eighth
 * of the rows that are left, and sessions rest until the next one once they wrote a sixteenth. */
enum status fleet_run(struct load *load, struct result *result, struct error *error);

#endif
