/* Computes the figures that the reports show from the result of a run. */
#ifndef REPORT_FIGURES_H
#define REPORT_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "figures/figures.h"
#include "measure/recorder.h"
#include "measure/result.h"
#include "plan/plan.h"

/* Fills every figure of a run; no other place knows the sources of figures. *set borrows from plan
 * and result. */
void figures_of_result(struct figure_set *set, const struct plan *plan,
                       const struct result *result);

/* Fills the figures of an I/O trace, of the run or of a rank. If `trace` is NULL, the figures stay
 * unknown. */
void figures_of_trace(struct figure_set *set, const struct trace_sum *trace);

/* The parts of an average commit's time, with --waits and --io-trace: the waits show how much of
 * the time was spent on the log, and the trace divides the time of a log sync into file system,
 * queue and device. */
enum {
    COMMIT_PARTS_MAX = 8
};
struct commit_part {
    const char *name;
    double ms, percent;
};
struct commit_story {
    size_t operation; /* number of the operation: COMMIT, or APPEND where an append commits by
                         itself */
    double mean_ms;   /* the sum of the parts */
    size_t count;
    struct commit_part parts[COMMIT_PARTS_MAX];
};

/* Fills *story for the average commit of a run. Returns false if the run was not polled or not
 * traced, or if no sync of the log was seen. */
bool figures_of_commit(struct commit_story *story, const struct result *result);

/* names of the values of enum verification_state: "none", "failed", "done" */
extern const char *const figures_verification_names[];

/* Returns the mean, a percentile or the maximum of a histogram, as `point` says; 0 if the histogram
 * is empty. */
int64_t figures_point_ns(const struct histogram *histogram, const struct figure_point *point);

/* Each function returns the number of failed connects, reconnects, appends and reads, and of failed
 * or in-doubt transactions. figures_errors takes the counters of a run, and figures_host_errors the
 * counters of one of several hosts. */
uint64_t figures_errors(const uint64_t counters[RECORDER_COUNTERS]);
uint64_t figures_host_errors(const uint64_t counters[RECORDER_COUNTERS]);

/* Returns the failed appends and reads as a percentage of all appends and reads; with a script, the
 * transactions that failed or are in doubt as a percentage of the transactions that ended; -1 if
 * nothing ended. */
double figures_error_percent(const uint64_t counters[RECORDER_COUNTERS], bool has_script);

double figures_seconds(int64_t ns);
double figures_ms(int64_t ns);
double figures_mib(uint64_t bytes);

#endif
