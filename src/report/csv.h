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
#include "measure/result.h"
#include "report/tables.h"

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

void csv_end(struct csv *csv);

/* Writes summary.csv. */
void csv_write_summary(FILE *stream, const struct figure_set *set);

/* Writes operations.csv: a row for each transaction and each name of statements of a script. */
void csv_write_operations(FILE *stream, const struct figure_set *set, const struct causes *causes);

/* The other CSV files of a run. */
enum csv_file {
    CSV_SAMPLES,
    CSV_INTERVALS,
    CSV_SESSIONS,
    CSV_EVENTS,
    CSV_LEVELS,
    CSV_HOSTS, /* with several hosts */
    CSV_HOSTS_INTERVALS,
    CSV_RANKS, /* with several ranks */
    CSV_RANKS_SAMPLES,
    CSV_FILES,
};

/* Writes one line: of a record of the file's table (tables.h), or with NULL the header. */
void csv_write(FILE *stream, enum csv_file file, const struct operation_list *operations,
               const void *record);

/*
 * Writes a histogram in the percentile format of HdrHistogram's outputPercentileDistribution
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
void hgrm_write(FILE *stream, const struct histogram *histogram);

#endif
