/*
 * A histogram as text, in the percentile format of HdrHistogram's outputPercentileDistribution
 * (http://hdrhistogram.org), so that its plotter and other readers open it.
 *
 * Values are milliseconds with six decimals: nanoseconds, exact. Each row is the first bucket whose
 * cumulative count reaches the next percentile; from one halving of the distance to 100 % to the
 * next there are HGRM_TICKS percentiles. The value is the highest of its bucket, never above the
 * maximum. Values beyond the buckets make up the last row. The last row, 100 %, has no fourth
 * column, as in the Java original.
 */
#ifndef REPORT_HGRM_H
#define REPORT_HGRM_H

#include <stdbool.h>
#include <stdio.h>

#include "measure/histogram.h"

enum {
    HGRM_TICKS = 5
};

/* Writes one histogram. False: a write failed. */
bool hgrm_write(FILE *stream, const struct histogram *histogram);

#endif
