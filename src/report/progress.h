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

enum {
    PROGRESS_POINTS = 64
};

/* So many rows were acknowledged so long after the work began. */
struct progress_point {
    double s;
    double rows;
};

struct progress {
    struct notice notice;
    const struct plan *plan;
    int64_t step_ns;      /* not a terminal: a line so often */
    int64_t next_line_ns; /* not a terminal: when the next line is due */
    bool has_told_reads;  /* what reading costs was said */
    size_t point_count;
    struct progress_point points[PROGRESS_POINTS]; /* from which the time left is estimated */
};

void progress_init(struct progress *progress, int fd, const struct plan *plan);

/* Before the first batch: says what the count(*) of the run come to, where that is much and each
 * costs more as the table grows. One of `rows_before` rows took `count_ns`, with the CPUs of this
 * machine; 0: not known. */
void progress_announce(struct progress *progress, uint64_t rows_before, int64_t count_ns);

/* The whole line for one moment, at most `columns` wide (0 = no limit): what matters least is left
 * out first, then the end is cut. `text` has at least `size` bytes. */
void progress_format(const struct progress *progress, const struct sampler_progress *now,
                     unsigned columns, char *text, size_t size);

/* Shows sessions, rows, %, rows/s, p99, server CPU and memory, errors, time left; never wider than
 * the terminal. To be called with every interval: the time left comes from all of them. Nothing is
 * shown with plan->is_quiet. */
void progress_show(struct progress *progress, const struct sampler_progress *now);

/* Takes the rewritten line away. */
void progress_end(struct progress *progress);

#endif
