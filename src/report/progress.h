/*
 * Progress of a run, on stderr. On a terminal, one line is rewritten. Elsewhere, or with
 * --progress, a new line is written at regular intervals. Only the sampler's thread uses a struct
 * progress. After the sampler has stopped, only the main thread uses the struct.
 */
#ifndef REPORT_PROGRESS_H
#define REPORT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "measure/sampler.h"
#include "plan/plan.h"

struct load_counts; /* load/loader.h */

enum {
    PROGRESS_POINTS = 64
};

/* The number of rows that were acknowledged in the first `s` seconds of the sessions' work. */
struct progress_point {
    double s;
    double rows;
};

/* The state of the run at the end of an interval. */
struct progress_state {
    const struct interval *interval;
    /* the latest sample of CPU and memory; NULL before the first sample */
    const struct sample *sample;
    const struct recorder_snapshot *total;
    int64_t work_start_ns; /* time from the start of the run until the sessions began to work; -1:
                              not yet */
    struct waits *waits;   /* waits of the sessions; NULL without --waits */
    bool is_steered; /* the user has changed the load, so the rate of the plan is no longer valid */
};

struct progress {
    struct notice notice;
    const struct plan *plan;
    int64_t step_ns;      /* time between two lines if stderr is not a terminal */
    int64_t next_line_ns; /* moment of the next line if stderr is not a terminal */
    bool has_shown_reads; /* the hint about the cost of reads was shown */
    size_t point_count;
    /* points from which the time left is estimated */
    struct progress_point points[PROGRESS_POINTS];
};

void progress_init(struct progress *progress, int fd, const struct plan *plan);

/* Called before the first batch. Warns if the count(*) queries of the run will read very many rows
 * in total. `count_ns` is the time of a count of `rows_before` rows on this machine, or 0 if
 * unknown. */
void progress_announce(struct progress *progress, uint64_t rows_before, int64_t count_ns);

/* Writes the line for a state, at most `columns` wide (0: no limit). The least important parts are
 * left out first, then the end is cut. `text` has `size` bytes. */
void progress_format(const struct progress *progress, const struct progress_state *now,
                     unsigned columns, char *text, size_t size);

/* Shows sessions, rows, %, rows/s, p99, CPU and memory of the server, errors and the time left. The
 * line is never wider than the terminal. Must be called for every interval, because the estimate of
 * the time left uses all intervals. Shows nothing with plan->is_quiet. */
void progress_show(struct progress *progress, const struct progress_state *now);

/* Clears the line of progress that is rewritten on a terminal. */
void progress_end(struct progress *progress);

/* Progress while a script's tables are loaded, on stderr: a line every second on a terminal, else
 * every ten seconds, or as --progress says. Only the main thread uses this struct. */
struct load_progress {
    struct notice notice;
    bool is_quiet;
    int64_t step_ns, next_ns; /* step_ns: time between two lines; next_ns: time from the beginning
                                 of the load to the next line */
};
void load_progress_init(struct load_progress *progress, const struct plan *plan);
void load_progress_show(struct load_progress *progress, const struct load_counts *counts);
void load_progress_end(struct load_progress *progress);

#endif
