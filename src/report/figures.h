/* Computes the figures that the reports show from the result of a run. */
#ifndef REPORT_FIGURES_H
#define REPORT_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "figures/figures.h"
#include "measure/recorder.h"
#include "measure/result.h"
#include "plan/plan.h"

/* Fills every figure of a run. *set borrows from `plan` and `result`. */
void figures_of_result(struct figure_set *set, const struct plan *plan,
                       const struct result *result);

/* Fills the figures of the I/O trace of a run or of one rank. If `trace` is NULL, the figures stay
 * unknown. */
void figures_of_trace(struct figure_set *set, const struct trace_sum *trace);

/* The parts of the time that an average commit takes. The parts are known only with both --waits
 * and --io-trace. The waits show how much of the time was spent on the log, and the trace divides
 * the time of a log sync into file system, queue and device. */
enum {
    COMMIT_PARTS_MAX = 8
};
struct commit_part {
    const char *name;
    double ms, percent;
};
struct commit_story {
    size_t operation; /* OPERATION_COMMIT; or OPERATION_APPEND if each batch commits by itself */
    double mean_ms;   /* mean time of the operation */
    size_t count;
    struct commit_part parts[COMMIT_PARTS_MAX];
};

/* Fills *story for the average commit of a run. Returns false if the waits or the I/O were not
 * measured, or if no sync of the log was seen. */
bool figures_of_commit(struct commit_story *story, const struct result *result);

/* names of the values of enum verification_state: "none", "failed", "done" */
extern const char *const figures_verification_names[];

/* Returns the mean, a percentile or the maximum of a histogram, as `point` says; 0 if the histogram
 * is empty. */
int64_t figures_point_ns(const struct histogram *histogram, const struct figure_point *point);

/* Both functions return a number of errors: failed connects, reconnects, batches and reads, and
 * transactions that failed or are in doubt. figures_errors takes the counters of a run.
 * figures_host_errors takes the counters of one of several hosts. */
uint64_t figures_errors(const uint64_t counters[RECORDER_COUNTERS]);
uint64_t figures_host_errors(const uint64_t counters[RECORDER_COUNTERS]);

/* Returns the failed batches and reads as a percentage of all batches and reads. With a script,
 * returns the transactions that failed or are in doubt as a percentage of all transactions that
 * ended. Returns -1 if nothing ended. */
double figures_error_percent(const uint64_t counters[RECORDER_COUNTERS], bool has_script);

double figures_seconds(int64_t ns);
double figures_ms(int64_t ns);
double figures_mib(uint64_t bytes);

#endif
