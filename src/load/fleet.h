/*
 * Runs the sessions of a run: starts all of them, opens the gate when they are up, waits until they
 * end, and adds up their results. Main thread.
 */
#ifndef LOAD_FLEET_H
#define LOAD_FLEET_H

#include "append/adapter.h"
#include "load/load.h"
#include "measure/result.h"

/* Runs all sessions of the plan. Returns when all sessions have ended.
 *
 * *result must be zeroed, with `causes` initialised and `totals` made for the recorder's
 * operations. Fills the times, stop_reason, worst_lag_rows, causes, session_list, fairness, and the
 * ledgers, which include sessions that were never started. Does not fill the verification. Returns
 * FATAL if memory runs out; no session was started then. */
enum status fleet_run(struct load *load, struct result *result, struct error *error);

#endif
