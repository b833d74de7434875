/*
 * What is shown while the run goes on, on stderr: one line that is rewritten on a terminal, a
 * plain line every sample interval elsewhere, or as often as it is asked for. Used by the sampler's
 * thread only, then by the main thread after the sampler has stopped.
 */
#ifndef REPORT_PROGRESS_H
#define REPORT_PROGRESS_H

#include <stdbool.h>

#include "base/notice.h"
#include "measure/sampler.h"
#include "plan/plan.h"

struct progress {
    struct notice notice;
    const struct plan *plan;
    int64_t step_ns;       /* not a terminal: a line so often */
    int64_t next_line_ns;  /* not a terminal: when the next line is due */
    int64_t work_start_ns; /* since the start of the run: when rows began to go out; -1 = not yet */
};

void progress_init(struct progress *progress, int fd, const struct plan *plan);

/* The whole line for one moment, at most `columns` wide (0 = no limit): what matters least is left
 * out first, then the end is cut. `text` has at least `size` bytes. */
void progress_format(const struct progress *progress, const struct sampler_progress *now,
                     unsigned columns, char *text, size_t size);

/* Shows sessions, rows, %, rows/s, p99, server CPU and memory, errors, time left; never wider than
 * the terminal. Nothing with plan->is_quiet. */
void progress_show(struct progress *progress, const struct sampler_progress *now);

/* Takes the rewritten line away. */
void progress_end(struct progress *progress);

#endif
