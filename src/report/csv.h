/*
 * CSV as RFC 4180 has it: a header, CRLF line ends, quotes where a value needs them.
 *
 * Header and rows are written by the same calls: a function that names each column together with
 * its value is called once with is_header set and once for every row, so that the two cannot drift
 * apart. An unknown value is an empty cell. Errors are left in the stream (ferror).
 *
 * Decimals follow LC_NUMERIC: the caller sees to it that the point is a point.
 */
#ifndef REPORT_CSV_H
#define REPORT_CSV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "figures/figures.h"
#include "measure/levels.h"
#include "measure/result.h"
#include "plan/plan.h"

struct csv {
    FILE *stream; /* borrowed */
    bool is_header;
    bool is_begun; /* the line has a cell */
};

/* Begins a line: of column names, or of values. */
void csv_begin(struct csv *csv, FILE *stream, bool is_header);

/* One cell each. `text` may be NULL: empty. A decimal that is not finite is an empty cell. */
void csv_text(struct csv *csv, const char *column, const char *text);
void csv_count(struct csv *csv, const char *column, uint64_t value);
void csv_decimal(struct csv *csv, const char *column, double value, int decimals);

/* The value when it is known, an empty cell otherwise. */
void csv_count_if(struct csv *csv, const char *column, bool is_known, uint64_t value);
void csv_decimal_if(struct csv *csv, const char *column, bool is_known, double value, int decimals);

void csv_end(struct csv *csv);

/* The lines of the CSV files of a run: which columns, in which order, and their values. Each adds
 * the cells of one line to a line that was begun; of a header, the values do not matter but must be
 * readable. */
void csv_files_summary(struct csv *csv, const struct figure_set *set);
void csv_files_interval(struct csv *csv, const struct operation_list *operations,
                        const struct interval *interval);
void csv_files_sample(struct csv *csv, const struct sample *sample);
void csv_files_event(struct csv *csv, const struct mark *mark);
void csv_files_session(struct csv *csv, const struct session_summary *session);
void csv_files_level(struct csv *csv, const struct level *level);

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
enum {
    HGRM_TICKS = 5
};

/* Writes one histogram. False: a write failed. */
bool hgrm_write(FILE *stream, const struct histogram *histogram);

#endif
