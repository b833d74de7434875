/*
 * The state of a run as Prometheus reads it: text exposition format 0.0.4.
 *
 * Counters are totals since the run's start. Histograms have a bucket for every power of two of
 * nanoseconds, where those of struct histogram end too: no count is guessed.
 */
#ifndef REPORT_METRICS_TEXT_H
#define REPORT_METRICS_TEXT_H

#include <stdbool.h>

#include "base/buffer.h"
#include "measure/recorder.h"
#include "measure/sampler.h"
#include "plan/plan.h"

struct metrics_state {
    bool is_running;         /* false: the sessions have ended */
    int64_t started_wall_ns; /* 1970 UTC */
    int64_t elapsed_ns;      /* since the start of the run */
    uint64_t sessions_alive; /* that have a connection now */
    bool has_sample;         /* of CPU and memory: there is one from the first interval on */
    struct sample sample;    /* the latest */
};

/* Adds all metrics to *buffer. `total`: all that was counted so far. The caller sees to it that the
 * decimal point is a point. */
void metrics_text_add(struct buffer *buffer, const struct plan *plan,
                      const struct metrics_state *state, const struct recorder_snapshot *total);

#endif
