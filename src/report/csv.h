/*
 * CSV as in RFC 4180: a header, CRLF line ends, quotes only where a value needs them.
 *
 * The same function writes the header and the rows, so that they always agree. The function passes
 * the name and the value of each column. The function is called once with is_header set, and then
 * once for every row. An unknown value is an empty cell. Errors stay in the stream (ferror).
 *
 * Decimal numbers follow LC_NUMERIC. The caller must set a locale with a decimal point.
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
    FILE *stream; /* stream of the file; borrowed */
    bool is_header;
    bool is_begun; /* the line has at least one cell */
};

/* Begins a line of column names, or of values. */
void csv_begin(struct csv *csv, FILE *stream, bool is_header);

/* Each function adds a cell. The cell is empty if `text` is NULL or the decimal is not finite. */
void csv_text(struct csv *csv, const char *column, const char *text);
void csv_count(struct csv *csv, const char *column, uint64_t value);
void csv_decimal(struct csv *csv, const char *column, double value, int decimals);

void csv_end(struct csv *csv);

void csv_write_summary(FILE *stream, const struct figure_set *set);

/* Writes a whole file: the header, and a line for each record that table->record returns.
 * table->record must not be NULL. The table of operations.csv is report_statements, and the table
 * of metrics.csv is report_metrics. */
void csv_write_table(FILE *stream, const struct report_table *table,
                     const struct operation_list *operations, const struct report_source *source);

/* Flags that say how a CSV file is written. A file without a flag is written at the end of the run.
 * Only events.csv is different: its header and the events of --mark are written at the start. */
enum csv_kind {
    CSV_GROWS = 1, /* the header is written at the start, and rows during the run */
    /* at the end of a run with several processes (ranks), the rows of all ranks replace the rows of
     * this rank */
    CSV_JOINED = 2,
};

/* The CSV files of a run or search, except summary.csv, operations.csv, metrics.csv and io.csv.
 * Each entry has the name of the file, the table of its columns (tables.h), the type of the record
 * from which a row is made, the condition under which a run with the plan `plan` has the file, and
 * the flags of enum csv_kind. Only rank 0 has WAITS, because only rank 0 asks the server for waits.
 * A run with ranks does not have OPERATIONS_INTERVALS, because ranks do not send these figures to
 * rank 0. */
#define CSV_TABLE                                                                                  \
    X(SAMPLES, "samples.csv", report_samples, struct sample, true, CSV_GROWS | CSV_JOINED)         \
    X(INTERVALS, "intervals.csv", report_intervals, struct interval, true, CSV_GROWS | CSV_JOINED) \
    X(SESSIONS, "sessions.csv", report_sessions, struct session_summary, !plan->is_search, 0)      \
    X(EVENTS, "events.csv", report_marks, struct mark, !plan->is_search, 0)                        \
    X(TRANSACTIONS, "transactions.csv", report_logged, struct transaction_log_row,                 \
      plan->log_share > 0, CSV_GROWS)                                                              \
    X(LEVELS, "levels.csv", report_levels, struct level, plan->is_search, CSV_GROWS)               \
    X(HOSTS, "hosts.csv", report_hosts, struct host_result, plan->host_count > 0, 0)               \
    X(HOSTS_INTERVALS, "hosts_intervals.csv", report_hosts_intervals, struct host_interval,        \
      plan->host_count > 0, CSV_GROWS | CSV_JOINED)                                                \
    X(OPERATIONS_INTERVALS, "operations_intervals.csv", report_operations_intervals,               \
      struct operation_interval, plan->script != NULL && plan->facts->ranks == 0, CSV_GROWS)       \
    X(STAGES, "stages.csv", report_stages, struct interval, plan_stages(plan)->count > 0,          \
      CSV_GROWS | CSV_JOINED)                                                                      \
    X(WAITS, "waits.csv", report_waits, struct wait_row,                                           \
      plan_polls_waits(plan) && !plan->is_follower, CSV_GROWS)                                     \
    X(RANKS, "ranks.csv", report_ranks, struct rank_row,                                           \
      plan->facts->ranks > 0 && !plan->is_follower, CSV_JOINED)                                    \
    X(RANKS_SAMPLES, "ranks_samples.csv", report_ranks_samples, struct rank_sample,                \
      plan->facts->ranks > 0 && !plan->is_follower, CSV_JOINED)

enum csv_file {
#define X(id, ...) CSV_##id,
    CSV_TABLE
#undef X
        CSV_FILES,
};

extern const struct report_table *const csv_tables[CSV_FILES];

/* Writes a record of the file's table (tables.h) as a line. If `record` is NULL, writes the
 * header. */
void csv_write(FILE *stream, enum csv_file file, const struct operation_list *operations,
               const void *record);

/* Writes a row of transactions.csv, exactly as csv_write does, but many times faster: a run may
 * have millions of these rows. */
void csv_write_logged(FILE *stream, const struct transaction_log_row *row);

/*
 * Writes a histogram in the percentile format of HdrHistogram's outputPercentileDistribution
 * (http://hdrhistogram.org), so that HdrHistogram's plotter and other programs can read the file.
 *
 * Values are milliseconds with six decimals, which is exact to the nanosecond. Each row shows the
 * first bucket whose cumulative count reaches the next percentile. There are HGRM_TICKS percentiles
 * from 0 % to 50 %, HGRM_TICKS from 50 % to 75 %, and so on: each group covers half of the distance
 * to 100 %. The value in a row is the highest value of the bucket, or the maximum of all values if
 * that is lower. The last row, for 100 %, also counts the values above all buckets. It has no
 * fourth column, as in the Java original.
 */
enum {
    HGRM_TICKS = 5
};
void hgrm_write(FILE *stream, const struct histogram *histogram);

#endif
