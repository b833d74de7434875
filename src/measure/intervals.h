/*
 * Intervals: what happened between two snapshots of the recorder. One thread.
 *
 * The first interval starts with the run and an empty state, so the counters of all intervals add
 * up to those of the last snapshot.
 */
#ifndef MEASURE_INTERVALS_H
#define MEASURE_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "measure/recorder.h"
#include "measure/sampler.h"

struct intervals {
    struct recorder *recorder; /* borrowed */
    int64_t run_start_ns;
    struct recorder_snapshot *earlier; /* owned, as the next two */
    struct recorder_snapshot *later;
    struct histogram *difference;
};

/* False: out of memory. */
bool intervals_init(struct intervals *intervals, struct recorder *recorder, int64_t run_start_ns);
void intervals_fini(struct intervals *intervals);

/* Ends an interval now. False: no time has passed since the last one, and nothing was done. */
bool intervals_take(struct intervals *intervals, struct interval *interval);

/* The state at the end of the last interval. */
const struct recorder_snapshot *intervals_total(const struct intervals *intervals);

/* Sessions that have a connection now: connections opened and not lost or closed. */
uint64_t intervals_sessions_alive(uint64_t opened, uint64_t closed);

#endif
