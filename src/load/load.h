/*
 * The state that all sessions of a run or a search share.
 */
#ifndef LOAD_LOAD_H
#define LOAD_LOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "append/adapter.h"
#include "load/epoch.h"
#include "load/gate.h"
#include "load/generator.h"
#include "load/setup.h"
#include "measure/metric.h"
#include "measure/recorder.h"
#include "measure/result.h"
#include "measure/sampler.h"
#include "measure/transaction_log.h"
#include "ranks/ranks.h"

struct load {
    /* The caller sets the members up to `ranks` before the first thread is started. */
    const struct plan *plan;
    const struct setup *setup;
    struct generator *generator;
    struct recorder *recorder;
    /* values of the script's metrics; NULL without metrics, and in a search */
    struct metric_store *metrics;
    struct sampler *sampler; /* sampler to wake when work begins or ends; may be NULL */
    int64_t start_ns;        /* monotonic start of the run */

    /* May be NULL. The main thread calls on_shortage soon after a session got no thread, was
     * refused or was dropped: only for the first such session of a run, or of each level of a
     * search. The other sessions are then still connected, so the cause can still be observed. */
    void (*on_shortage)(void *context);
    /* May be NULL. In a run the main thread calls on_gate just before the gate opens, and on_done
     * soon after the last answer. */
    void (*on_gate)(void *context, int64_t go_ns);
    void (*on_done)(void *context, int64_t done_ns);
    void *context;

    /* another thread sets *has_condition to true when a condition of --stop-when holds; may be
     * NULL */
    const atomic_bool *has_condition;

    struct cut_list *cut; /* sessions whose connections were cut; owned by the caller; filled by the
                             main thread */

    struct transaction_log *log; /* the log of transactions; NULL without --log-transactions */

    struct ranks *ranks; /* the processes (ranks) that share the run; NULL if there is only this
                            process */

    /* The fleet sets the members below. Members that change are atomic or have their own lock. */
    struct statement read;   /* the statement for reads: count(*), or the user's query */
    struct causes *causes;   /* errors of the run; in a search, errors of the current level */
    struct causes *mistakes; /* mistakes in the script, for the whole search; in a run the pointer
                                equals `causes` */
    struct gate gate;
    struct epoch first_epoch; /* the epoch that follows the plan; each change by hand adds an epoch
                                 to this list */
    atomic_bool has_finished_one;
    /* sums over all sessions. The recorder counts the same for each session, but the main thread
     * reads the sums often */
    atomic_uint sessions_connected, sessions_failed, sessions_dropped;
    /* number of consecutive connects that timed out */
    atomic_uint timeouts_in_a_row;
    _Atomic int64_t last_work_ns; /* latest moment at which a session finished its work */
    _Atomic int64_t last_end_ns;  /* latest moment at which a session ended */
};

#endif
