/* Figures that more than one report shows: their names, and how they are derived. */
#ifndef REPORT_FIGURES_H
#define REPORT_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "figures/figures.h"
#include "measure/recorder.h"
#include "measure/result.h"
#include "plan/plan.h"

/* Fills every figure of a run: the one place that knows where they come from. *set borrows from
 * plan and result. */
void figures_of_result(struct figure_set *set, const struct plan *plan,
                       const struct result *result);

/* Of these those that tell of an I/O trace, of one of several ranks, too. NULL: none is known. */
void figures_of_trace(struct figure_set *set, const struct trace_sum *trace);

extern const char *const figures_verification_names[]; /* "none", "failed", "done" */

/* Value of a point; of an empty histogram 0. */
int64_t figures_point_ns(const struct histogram *histogram, const struct figure_point *point);

/* Calls that failed: connects, later ones included, appends and reads. */
uint64_t figures_host_errors(const uint64_t counters[RECORDER_COUNTERS]); /* of one of several */
uint64_t figures_errors(const uint64_t counters[RECORDER_COUNTERS]);

double figures_seconds(int64_t ns);
double figures_ms(int64_t ns);
double figures_mib(uint64_t bytes);

#endif
