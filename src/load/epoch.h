/*
 * Epochs: the periods of a run between two changes by hand (load/control.h).
 *
 * The first epoch follows the plan. In every later epoch the rate and the number of sessions at
 * work are constant. The schedule of a rate begins again with each epoch, so append does not catch
 * up after a change. Work that was due before the change but not begun counts as not sent. A paused
 * epoch has no schedule, so no response time includes a pause.
 *
 * One thread adds epochs. Sessions walk from their epoch to the next, without a lock; in an
 * epoch only `next` changes.
 */
#ifndef LOAD_EPOCH_H
#define LOAD_EPOCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/ramp.h"

struct epoch {
    int64_t start_ns; /* monotonic moment at which the epoch starts; 0: the gate's opening */
    struct ramp rate; /* rate in rows/s, or with a script in transactions/s; constant 0: no rate */
    /* sessions whose number is below this number work; UINT_MAX: all sessions work */
    unsigned sessions;
    bool is_paused;
    /* the epoch after this one; owned; NULL: this is the latest epoch */
    struct epoch *_Atomic next;
};

struct epoch *epoch_latest(struct epoch *first);

/* Returns a copy of *wanted for epoch_add; NULL if memory runs out. */
struct epoch *epoch_copy(const struct epoch *wanted);

/* Adds `added`, a result of epoch_copy, after the latest epoch; the list owns it from now on. The
 * epoch begins now. */
void epoch_add(struct epoch *first, struct epoch *added);

/* Returns the mean rate between two moments; a pause counts as a rate of 0. `go_ns` is the gate's
 * opening. */
double epoch_mean_rate(const struct epoch *first, int64_t go_ns, int64_t from_ns, int64_t until_ns);

/* Frees all epochs but the first. */
void epoch_fini(struct epoch *first);

#endif
