/*
 * Searches for the most sessions that can be held: adds sessions to those that are up, level by
 * level, holds each level for a time while all of them append, and closes in on the number that
 * cannot be held. Sessions begin to append as soon as they are connected.
 */
#ifndef LOAD_LADDER_H
#define LOAD_LADDER_H

#include "load/driver.h"
#include "measure/hold_samples.h"
#include "measure/levels.h"

struct ladder_config {
    const struct driver_config
        *driver;    /* on_shortage: of each level, soon after a session failed */
    unsigned first; /* sessions of the first level; never above plan->sessions,
                       which is the bound */
    int64_t hold_ns;
    int64_t patience_ns; /* how much longer a hold may be, so that the slowest session can show an
                            append */
    int64_t max_time_ns;
    uint64_t max_memory_bytes; /* of this machine in use; 0 = nine tenths */
    uint64_t max_rows;         /* that are written; 0 = any number. A hold is shorter, but no less
                                  than a second, once it has taken an eighth of what is left, and
                                  sessions rest until the next one once they wrote a sixteenth */
    struct hold_samples *samples;

    /* May be NULL. Main thread; before the first session of a level is added, and when it is known
     * what became of it: sessions that are up still are. */
    void (*on_begin)(void *context, const struct level *level);
    void (*on_level)(void *context, const struct level *level);
    void *context;
};

/* Main thread; returns when the search is over and every session has ended. Fills *search, whose
 * members bound… and p99_bound_ns the caller has set, and of *result what driver_run fills; its
 * ledger counts every session that was ever started. FATAL: no memory, nothing was started. */
enum status ladder_run(const struct ladder_config *config, struct search *search,
                       struct result *result, struct error *error);

#endif
