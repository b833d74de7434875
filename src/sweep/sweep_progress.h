/*
 * What is shown while a sweep goes on, on stderr: a line for each run that has ended, and on a
 * terminal one line that is rewritten, elsewhere a plain line at a run's start and every 30 s.
 */
#ifndef SWEEP_SWEEP_PROGRESS_H
#define SWEEP_SWEEP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/notice.h"
#include "sweep/sweep.h"

struct sweep_progress {
    struct notice notice;
    const struct sweep *sweep;
    bool is_quiet;
    int64_t next_line_ns;
};

void sweep_progress_init(struct sweep_progress *progress, const struct sweep *sweep, bool is_quiet);

/* What is to come. */
void sweep_progress_begin(struct sweep_progress *progress);

/* Run `index` has been going on for so long. */
void sweep_progress_show(struct sweep_progress *progress, size_t index, int64_t elapsed_ns);

/* Run `index` has ended, or was interrupted. */
void sweep_progress_ended(struct sweep_progress *progress, size_t index);

/* About how long the rest takes, from the time that the rows so far took. `rows` and `elapsed_s`
 * are those of run `index`, which is going on: so many rows took so long. False: nothing is known
 * yet. */
bool sweep_progress_left(const struct sweep *sweep, size_t index, uint64_t rows, double elapsed_s,
                         double *left_s);

#endif
