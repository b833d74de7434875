/* The pace of a run: acknowledged rows/s from the gate's opening to the last answer, and its course
 * in slices of equal time. */
#ifndef COMPARE_PACE_H
#define COMPARE_PACE_H

#include <stdbool.h>
#include <stddef.h>

#include "compare/statistics.h"
#include "runs/saved_run.h"

/* False: the run has no such figure. */
bool pace_of_run(const struct saved_run *run, double *rows_per_s, double *append_s);

/* Slices that both runs have enough seconds for, at most STATISTICS_SLICES_MAX: no slice is shorter
 * than an interval of intervals.csv. */
size_t pace_count_slices(double a_append_s, double b_append_s);

/* Rows/s in each of `count` slices. Between the ends of two intervals rows are taken to have come
 * evenly; the ends of the whole are exact. False: intervals.csv does not have all rows of the run.
 */
bool pace_cut(const struct saved_run *run, size_t count, double slices[STATISTICS_SLICES_MAX]);

#endif
