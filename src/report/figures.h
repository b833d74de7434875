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

/*
 * Expectations of a run (--expect): read by the names of summary.csv's columns, judged by what that
 * file says of the run.
 */

enum {
    EXPECTATIONS_TEXT_BYTES = 200 /* of one that was not met */
};

/* Adds the bounds of `text` ("throughput>=50k, append_p99<=20ms, lost==0") to *expectations, on
 * figures of summary.csv and of the operations that a script names. REJECTED: *error says which
 * bound is wrong and what would be right. */
enum status expectations_add(struct expectations *expectations, const char *text,
                             const struct operation_list *operations, struct error *error);

/* All that --expect was given. A plan that was made knows its operations. */
enum status expectations_parse(struct expectations *expectations, const struct plan *plan,
                               struct error *error);

/* Holds the figures of a judged run against what was expected of it, adds what was missed to its
 * problems, and concludes. One that is not known is not met. The exit code of a run that has one of
 * its own stays: figures of a run that was short, stopped or client-bound say nothing about what
 * was expected. */
void expectations_judge(struct expectations *expectations, const struct plan *plan,
                        struct result *result);

size_t expectations_count_missed(const struct expectations *expectations);

/* "append_p99<=20ms: 35.2 ms", "max_memory<=2GiB: not known". Returns `text`. */
const char *expectations_describe(const struct expectation *expectation,
                                  char text[EXPECTATIONS_TEXT_BYTES]);

#endif
