/*
 * Runs the sessions of a plan: starts and paces them, opens the gate, waits, stops, joins, and
 * adds up what they came to.
 */
#ifndef LOAD_DRIVER_H
#define LOAD_DRIVER_H

#include "load/setup.h"
#include "load/workload.h"
#include "measure/result.h"
#include "measure/sampler.h"
#include "plan/plan.h"

struct driver_config {
    const struct plan *plan;
    const struct setup *setup;
    const struct workload *workload;
    struct generator *generator;
    struct recorder *recorder;
    struct sampler *sampler; /* may be NULL */
    int64_t start_ns;        /* monotonic start of the run */

    /* May be NULL. Main thread; once, soon after the first session had no thread, was not let in or
     * was dropped: what was short still is, and the other sessions are still there. */
    void (*on_shortage)(void *context);
    void *context;
};

/* Main thread; returns when every session has ended. Fills times, stop_reason, both ledgers (but
 * not the verification), worst_lag_rows, batches_late, session_list, fairness and causes of
 * *result, which is zeroed except for causes, already initialised. FATAL: no memory for the
 * sessions, nothing was started. */
enum status driver_run(const struct driver_config *config, struct result *result,
                       struct error *error);

#endif
