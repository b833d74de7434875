/*
 * What a run tells while it goes on: a file for node_exporter's textfile collector, and a page that
 * Prometheus reads (metrics_http.h). Both have the same text, made anew every second.
 *
 * The updates come from the sampler's thread until it has stopped, all else from the main thread.
 */
#ifndef REPORT_METRICS_H
#define REPORT_METRICS_H

#include "append/error.h"
#include "base/exit_code.h"
#include "measure/sampler.h"
#include "plan/plan.h"

struct metrics;

/* Begins what the plan asks for, so that mistakes show before the run. EXIT_CODE_OK: *metrics is
 * the caller's, NULL when nothing was asked for. The plan is borrowed. */
enum exit_code metrics_begin(struct metrics **metrics, const struct plan *plan,
                             struct error *error);

/* The next three take NULL. */
void metrics_update(struct metrics *metrics, const struct sampler_progress *now);

/* The sessions have ended: tells the last state. */
void metrics_conclude(struct metrics *metrics, const struct recorder_snapshot *total);

/* Why the file is not up to date, "" when it is. */
const char *metrics_shortage(const struct metrics *metrics);

/* The page is gone then, the file stays. `is_failed`: the run never began, the file goes too. */
void metrics_end(struct metrics *metrics, bool is_failed);

#endif
