/*
 * Runs the sessions of a run: starts all of them, opens the gate when each has connected or failed,
 * waits until they end, and adds up their results. Main thread.
 */
#ifndef LOAD_FLEET_H
#define LOAD_FLEET_H

#include "append/adapter.h"
#include "load/load.h"
#include "measure/result.h"

/* Runs all sessions of the plan. Returns when all sessions have ended.
 *
 * The caller has zeroed *result, initialised `causes`, and made `totals` for the recorder's
 * operations. The function fills the times, stop_reason, worst_lag_rows, causes, session_list,
 * fairness, and the ledgers (counts by outcome), which include sessions that were never started.
 * Does not fill the verification. If memory runs out, returns FATAL and starts no session. */
enum status fleet_run(struct load *load, struct result *result, struct error *error);

#endif
