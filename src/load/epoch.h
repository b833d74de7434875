/*
 * Epochs: the periods of a run between two changes by hand (load/control.h).
 *
 * The first epoch follows the plan. In every later epoch the rate and the number of sessions at
 * work are constant. The schedule of a rate begins again with each epoch. Work that was due before
 * a change but not begun counts as not sent, and sessions do not catch up on it. A paused epoch has
 * no schedule, so response times do not include pauses.
 *
 * One thread adds epochs. Sessions go from one epoch to the next without a lock, because `next` is
 * the only member that changes.
 */
#ifndef LOAD_EPOCH_H
#define LOAD_EPOCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/ramp.h"

struct epoch {
    int64_t start_ns; /* monotonic moment at which the epoch starts; 0: when the gate opens */
    struct ramp rate; /* rate in rows/s, or with a script in transactions/s; a constant 0 means no
                         rate */
    /* only sessions with a smaller number work; UINT_MAX: all sessions work */
    unsigned sessions;
    bool is_paused;
    /* the epoch after this one; owned; NULL: this is the latest epoch */
    struct epoch *_Atomic next;
};

struct epoch *epoch_latest(struct epoch *first);

/* Returns a copy of *wanted for epoch_add; NULL if memory runs out. */
struct epoch *epoch_copy(const struct epoch *wanted);

/* Adds `added`, which epoch_copy has returned, to the end of the list, which then owns it. The
 * epoch begins now. */
void epoch_add(struct epoch *first, struct epoch *added);

/* Returns the mean of the epochs' rates from from_ns to until_ns. A pause counts as a rate of 0.
 * `go_ns` is the moment at which the gate was opened. */
double epoch_mean_rate(const struct epoch *first, int64_t go_ns, int64_t from_ns, int64_t until_ns);

/* Frees all epochs except the first. */
void epoch_fini(struct epoch *first);

#endif
