/* Makes the charts of a report, as data, from the files of its runs. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "measure/recorder.h"
#include "report/report.h"

enum {
    TIME_FROM_S = 2, /* a shorter run has one interval and gets no charts over time */
    PACE_LEVELS = 100,
    LOG_FROM_RATIO = 50, /* a chart of latencies gets a logarithmic axis if the highest value is at
                            least this many times the lowest value */
    LARGE_MIB = 10240,
};

enum {
    OF_RUN = 1,
    OF_SEARCH = 2,
    OF_LEVELS = 4,    /* the chart shows a search, with the sessions on the x axis */
    OF_RUNS = 8,      /* the chart has a line for each of several runs */
    EACH_CALL = 16,   /* a chart is made for each operation with columns in the file */
    WITH_SERVER = 32, /* the first line shows the server; if the line is missing, a note says why */
    FILLED = 64,      /* the area is filled when the chart has one line */
    OF_SAMPLES = 128, /* the chart uses columns of samples.csv, not of intervals.csv */
    ABOVE_0 = 256,    /* a line without a value above 0 is not drawn */
    PERCENTILES = 512, /* the chart is made from the histograms of run.json, even for short runs */
    OF_HOSTS = 1024, /* the chart has a line for each of several hosts, from hosts_intervals.csv */
    OF_DISK = 2048,  /* the y axis has a label for disks; the chart is drawn only if the first line
                        has values */
    OF_TRACE = 4096, /* the chart is made from the I/O trace in run.json */
    OF_TRANSACTIONS = 8192, /* the chart has a line for each of several transactions, from
                               operations_intervals.csv */
    OF_WAITS = 16384,       /* the chart is made from waits.csv */
};

/* Columns of a file, each followed by the name of its line in the chart. If the file has too many
 * rows, each step of the line stands for several rows. The step shows the highest value, so that
 * the worst value stays visible, or the mean if '~' is before the column. If '_' is before the
 * column, the full name of the column is the name of an operation and this text. */
#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The table of charts. add_pace and charts_make add other charts. */
static const struct kind {
    const char *name, *title;
    enum figure_unit unit;
    unsigned flags;
    const char *absent; /* end of "No chart of ...", with the reason; NULL: no sentence */
    const char *const *lines;
} kinds[] = {
    {"levels-rows", "Rows per second against sessions", FIGURE_UNIT_ROWS_PER_S, OF_LEVELS, NULL,
     LINES("rows_per_s", "rows/s")},
    {"levels-transactions", "Transactions per second against sessions", FIGURE_UNIT_PER_S,
     OF_LEVELS, NULL, LINES("transactions_per_s", "transactions/s")},
    {"levels-transaction", "Transaction latency against sessions", FIGURE_UNIT_MS, OF_LEVELS, NULL,
     LINES("transaction_p50_ms", "p50", "transaction_p99_ms", "p99")},
    {"levels-append", "Append latency against sessions", FIGURE_UNIT_MS, OF_LEVELS, NULL,
     LINES("append_p50_ms", "p50", "append_p99_ms", "p99")},
    {"levels-cpu", "CPU against sessions", FIGURE_UNIT_PERCENT, OF_LEVELS, NULL,
     LINES("host_cpu_percent", "whole machine", "server_cpu_percent", "server",
           "client_cpu_percent", "append")},
    {"levels-memory", "Memory of the server against sessions", FIGURE_UNIT_MIB, OF_LEVELS, NULL,
     LINES("server_memory_mib", "server")},
    {"rows-per-second", "Rows acknowledged each second", FIGURE_UNIT_ROWS_PER_S,
     OF_RUN | OF_SEARCH | FILLED | ABOVE_0, "rows over time: no row was acknowledged",
     LINES("~rows_per_s", "rows/s")},
    {"transactions-per-second", "Transactions committed each second", FIGURE_UNIT_PER_S,
     OF_RUN | OF_SEARCH | FILLED | ABOVE_0, NULL, LINES("~transactions_per_s", "transactions/s")},
    {"waits", "Sessions in calls, stacked by what they waited for", FIGURE_UNIT_COUNT,
     OF_RUN | OF_WAITS, NULL, NULL},
    {"hosts-rows", "Rows acknowledged each second by host", FIGURE_UNIT_ROWS_PER_S,
     OF_RUN | OF_SEARCH | OF_HOSTS | ABOVE_0, NULL, LINES("~rows_per_s")},
    {"hosts-transactions", "Transactions committed each second by host", FIGURE_UNIT_PER_S,
     OF_RUN | OF_SEARCH | OF_HOSTS, NULL, LINES("~transactions_per_s")},
    {"hosts-errors", "Errors by host", FIGURE_UNIT_COUNT, OF_RUN | OF_SEARCH | OF_HOSTS | ABOVE_0,
     NULL, LINES("errors")},
    {"latency", "latency each second", FIGURE_UNIT_MS, OF_RUN | EACH_CALL, "latency over time",
     LINES("_p50_ms", "p50", "_p99_ms", "p99")},
    {"transactions-p99", "p99 of each transaction each second", FIGURE_UNIT_MS,
     OF_RUN | OF_TRANSACTIONS, NULL, LINES("p99_ms")},
    {"latency-by-percentile", "Latency by percentile", FIGURE_UNIT_MS, OF_RUN | PERCENTILES,
     "latency by percentile: nothing was measured", NULL},
    {"sessions", "Sessions alive", FIGURE_UNIT_COUNT, OF_RUN | OF_SEARCH | FILLED | ABOVE_0,
     "sessions over time: no session was alive at the end of any second of the run",
     LINES("~sessions_alive", "alive", "~sessions_without_progress", "without progress",
           "~sessions_reading", "in one long read")},
    {"cpu", "CPU", FIGURE_UNIT_PERCENT, OF_RUN | OF_SEARCH | OF_SAMPLES | WITH_SERVER,
     "CPU: no sample was taken",
     LINES("~server_cpu_percent", "server", "~client_cpu_percent", "append", "~host_cpu_percent",
           "whole machine")},
    {"memory", "Memory", FIGURE_UNIT_MIB, OF_RUN | OF_SEARCH | OF_SAMPLES | WITH_SERVER,
     "memory: no sample has a value",
     LINES("server_memory_mib", "server", "client_memory_mib", "append")},
    {"disk", "Disk: MiB each second", FIGURE_UNIT_MIB_PER_S,
     OF_RUN | OF_SAMPLES | OF_DISK | ABOVE_0, NULL,
     LINES("~device_written_mib_per_s", "written", "~device_read_mib_per_s", "read",
           "~server_written_mib_per_s", "written by the server's system calls")},
    {"disk-operations", "Disk: requests each second", FIGURE_UNIT_PER_S,
     OF_RUN | OF_SAMPLES | OF_DISK | ABOVE_0, NULL,
     LINES("~device_writes_per_s", "writes", "~device_reads_per_s", "reads",
           "~device_flushes_per_s", "flushes")},
    {"disk-latency", "Disk: mean time of a request", FIGURE_UNIT_MS,
     OF_RUN | OF_SAMPLES | OF_DISK | ABOVE_0, NULL,
     LINES("device_write_ms", "write", "device_read_ms", "read", "device_flush_ms", "flush")},
    {"disk-busy", "Disk busy, and time spent waiting for I/O", FIGURE_UNIT_PERCENT,
     OF_RUN | OF_SAMPLES | OF_DISK | ABOVE_0, NULL,
     LINES("~device_busy_percent", "busy", "~io_pressure_percent", "I/O pressure",
           "~iowait_percent", "iowait of all CPUs")},
    {"table", "Tables on disk", FIGURE_UNIT_MIB, OF_RUN | OF_SAMPLES | OF_DISK | ABOVE_0 | FILLED,
     NULL, LINES("table_mib", "with indexes")},
    {"errors", "Errors", FIGURE_UNIT_COUNT, OF_RUN | OF_SEARCH | ABOVE_0, NULL,
     LINES("errors", "errors", "connections_lost", "connections lost", "reconnects", "reconnects")},
    {"retries", "Retries of transactions", FIGURE_UNIT_COUNT, OF_RUN | OF_SEARCH | FILLED | ABOVE_0,
     NULL, LINES("retries", "retries")},
    {"checks-failed", "Failed checks", FIGURE_UNIT_COUNT, OF_RUN | OF_SEARCH | FILLED | ABOVE_0,
     NULL, LINES("checks_failed", "failed checks")},
    {"io-layers", "Reads, writes and fsyncs in flight at the server, stacked by layer",
     FIGURE_UNIT_COUNT, OF_RUN | OF_TRACE, NULL, NULL},
    {"runs-rows", "Rows acknowledged each second", FIGURE_UNIT_ROWS_PER_S, OF_RUNS, NULL,
     LINES("~rows_per_s")},
    {"runs-transactions", "Transactions committed each second", FIGURE_UNIT_PER_S, OF_RUNS, NULL,
     LINES("~transactions_per_s")},
    {"runs-transaction-p99", "Transaction p99 each second", FIGURE_UNIT_MS, OF_RUNS, NULL,
     LINES("transaction_p99_ms")},
    {"runs-append-p99", "Append p99 each second", FIGURE_UNIT_MS, OF_RUNS, NULL,
     LINES("append_p99_ms")},
    {"runs-cpu", "CPU of the whole machine", FIGURE_UNIT_PERCENT, OF_RUNS | OF_SAMPLES, NULL,
     LINES("~host_cpu_percent")},
    {"runs-server-memory", "Memory of the server", FIGURE_UNIT_MIB, OF_RUNS | OF_SAMPLES, NULL,
     LINES("server_memory_mib")},
    {"runs-disk", "Disk: MiB written each second", FIGURE_UNIT_MIB_PER_S,
     OF_RUNS | OF_SAMPLES | OF_DISK, NULL, LINES("~device_written_mib_per_s")},
    {"runs-disk-busy", "Disk busy", FIGURE_UNIT_PERCENT, OF_RUNS | OF_SAMPLES | OF_DISK, NULL,
     LINES("~device_busy_percent")},
    {"runs-table", "Tables on disk", FIGURE_UNIT_MIB, OF_RUNS | OF_SAMPLES | OF_DISK, NULL,
     LINES("table_mib")},
    {"runs-append-by-percentile", "Append latency by percentile", FIGURE_UNIT_MS,
     OF_RUNS | PERCENTILES, NULL, LINES("append")},
    {"runs-transaction-by-percentile", "Transaction latency by percentile", FIGURE_UNIT_MS,
     OF_RUNS | PERCENTILES, NULL, LINES("transaction")},
};

static struct chart start_chart(struct report *report, enum chart_across across,
                                enum figure_unit unit, const char *name, const char *title)
{
    static const char *const units[FIGURE_UNITS][2] = {
        [FIGURE_UNIT_ROWS_PER_S] = {"rows/s", "rows/s"},
        [FIGURE_UNIT_PER_S] = {"/s", "transactions/s"},
        [FIGURE_UNIT_MIB_PER_S] = {"MiB/s", "MiB/s"},
        [FIGURE_UNIT_MS] = {"ms", "latency, ms"},
        [FIGURE_UNIT_S] = {"s", "time, s"},
        [FIGURE_UNIT_MIB] = {"MiB", "memory, MiB"},
        [FIGURE_UNIT_PERCENT] = {"%", "% of all CPUs"},
    };
    struct chart chart = {.list = &report->charts,
                          .across = across,
                          .unit = units[unit][0] == NULL ? "" : units[unit][0],
                          .label = units[unit][1] == NULL ? "number" : units[unit][1],
                          .is_log = across == CHART_OVER_PERCENTILE,
                          .end = across == CHART_OVER_PERCENTILE ? 10 : 0};
    snprintf(chart.name, sizeof chart.name, "%s", name);
    snprintf(chart.title, sizeof chart.title, "%s", title);
    return chart;
}

/* Adds a line with room for `most` points. Returns NULL if memory runs out. */
static struct chart_series *add_series(struct chart *chart, const char *name, size_t most)
{
    struct chart_series *series = &chart->series[chart->series_count];
    *series = (struct chart_series){.points = calloc(most + 1, sizeof *series->points)};
    if (series->points == NULL) {
        chart->list->has_failed = true;
        return NULL;
    }
    snprintf(series->name, sizeof series->name, "%s", name);
    chart->series_count++;
    return series;
}

/* Adds a horizontal step at the height `y` to a line. Adds nothing if `from` or `to` is not finite,
 * because the number of rows at that moment is then unknown. */
static void add_step(struct chart_series *series, double from, double to, double y)
{
    if (isfinite(from) && isfinite(to)) {
        series->points[series->count++] = (struct chart_point){from, to, y, y, y};
    }
}

static void free_chart(struct chart *chart)
{
    for (size_t i = 0; i < chart->series_count; i++) {
        free(chart->series[i].points);
    }
}

void charts_free(struct chart_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free_chart(&list->entries[i]);
    }
    free(list->entries);
    *list = (struct chart_list){0};
}

static int compare_points(const void *a, const void *b)
{
    const struct chart_point *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

bool chart_span(const struct chart *chart, double *low, double *high)
{
    bool is_known = false;
    *low = INFINITY;
    *high = 0;
    for (size_t i = 0; i < chart->series_count; i++) {
        for (size_t j = 0; j < chart->series[i].count; j++) {
            const struct chart_point *point = &chart->series[i].points[j];
            is_known |= isfinite(point->y);
            *low = point->lowest > 0 ? fmin(*low, point->lowest) : *low;
            *high = fmax(*high, point->highest);
        }
    }
    return is_known;
}

/* Moves a chart into the list. If the chart has no values, frees it and returns false. */
static bool keep_chart(struct chart *chart)
{
    double low, high;
    struct chart_list *list = chart->list;
    const bool has_values = chart_span(chart, &low, &high);
    struct chart *entries =
        has_values ? realloc(list->entries, (list->count + 1) * sizeof *entries) : NULL;
    list->has_failed |= has_values && entries == NULL;
    if (entries == NULL) {
        free_chart(chart);
        return has_values;
    }
    const bool is_large = strcmp(chart->unit, "MiB") == 0 && high >= LARGE_MIB;
    chart->is_log |= strcmp(chart->unit, "ms") == 0 && high / low >= LOG_FROM_RATIO;
    chart->label = is_large ? "memory, GiB" : chart->label;
    chart->unit = is_large ? "GiB" : chart->unit;
    for (size_t i = 0; i < chart->series_count; i++) {
        struct chart_series *series = &chart->series[i];
        for (size_t j = 0; j < series->count && is_large; j++) {
            series->points[j].y /= 1024;
            series->points[j].lowest /= 1024;
            series->points[j].highest /= 1024;
        }
        if (chart->across == CHART_OVER_SESSIONS) {
            qsort(series->points, series->count, sizeof *series->points, compare_points);
        }
    }
    list->entries = entries;
    list->entries[list->count++] = *chart;
    return true;
}

static void add_note(struct chart *chart, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a sentence to the note of a chart. */
static void add_note(struct chart *chart, const char *format, ...)
{
    size_t used = strlen(chart->note);
    va_list list;
    if (used > 0 && used + 1 < sizeof chart->note) {
        chart->note[used++] = ' ';
    }
    va_start(list, format);
    vsnprintf(chart->note + used, sizeof chart->note - used, format, list);
    va_end(list);
}

/* Notes that the chart shows only the first `limit` of `count` things. `what` says what they are,
 * for example "runs" or "hosts". */
static void note_first(struct chart *chart, size_t count, size_t limit, const char *what)
{
    if (count > limit) {
        add_note(chart, "The first %zu %s.", limit, what);
    }
}

/* Returns the buffer for one more sentence about a missing chart. */
static struct buffer *absent_of(struct report_run *run)
{
    buffer_add_text(&run->absent, run->absent.length > 0 ? " " : "");
    return &run->absent;
}

static struct chart start_kind(struct report *report, const struct kind *kind)
{
    enum chart_across across = report->is_over_rows ? CHART_OVER_ROWS : CHART_OVER_TIME;
    if ((kind->flags & PERCENTILES) != 0) {
        across = CHART_OVER_PERCENTILE;
    } else if ((kind->flags & OF_LEVELS) != 0) {
        across = CHART_OVER_SESSIONS;
    }
    struct chart chart = start_chart(report, across, kind->unit, kind->name, kind->title);
    static const char *const disk_labels[FIGURE_UNITS] = {
        [FIGURE_UNIT_PERCENT] = "% of the time",
        [FIGURE_UNIT_PER_S] = "requests/s",
        [FIGURE_UNIT_MIB] = "MiB",
    };
    if ((kind->flags & OF_DISK) != 0 && disk_labels[kind->unit] != NULL) {
        chart.label = disk_labels[kind->unit];
    }
    return chart;
}

/* Returns the number of rows that the tables had `at_s` seconds after the start of the run. Returns
 * NaN if the run's files do not have this number. The rows of intervals.csv are in the order of
 * time. */
static double rows_at(const struct report_run *run, double at_s)
{
    const struct csv_table *table = &run->run.intervals;
    const size_t end = csv_table_column(table, "end_s");
    const size_t held = csv_table_column(table, "rows_held");
    double from_s = 0, to_s = 0, rows = NAN, next = 0, added;
    size_t low = 0, high = table->rows; /* intervals before `low` end before at_s */
    while (low < high) {
        size_t row = low + (high - low) / 2;
        const size_t middle = row;
        while (row < high && !(csv_table_number(table, row, end, &to_s) &&
                               csv_table_number(table, row, held, &next))) {
            row++;
        }
        if (row == high || to_s >= at_s) {
            high = middle;
        } else {
            low = row + 1;
            rows = next;
            from_s = to_s;
        }
    }
    for (; low < table->rows; low++) {
        if (csv_table_number(table, low, end, &to_s) && csv_table_number(table, low, held, &next)) {
            if (isnan(rows)) {
                const size_t column = csv_table_column(table, "rows");
                rows = csv_table_number(table, low, column, &added) ? next - added : 0;
            }
            return to_s > from_s ? rows + (next - rows) * (at_s - from_s) / (to_s - from_s) : rows;
        }
    }
    return rows;
}

/* Returns the end of the x axis: the number of rows for a chart over rows, else the elapsed
 * time. */
static double end_of(const struct chart *chart, const struct report_run *run)
{
    double end = NAN;
    if (chart->across == CHART_OVER_ROWS) {
        end = rows_at(run, INFINITY);
    } else {
        figure_get(&run->run.figures, FIGURE_ELAPSED_S, &end);
    }
    return end > 0 ? end : 1;
}

static const struct csv_table *table_of(const struct report_run *run, const struct kind *kind)
{
    if ((kind->flags & OF_LEVELS) != 0) {
        return &run->run.levels;
    }
    if ((kind->flags & OF_HOSTS) != 0) {
        return &run->run.hosts_intervals;
    }
    if ((kind->flags & OF_TRANSACTIONS) != 0) {
        return &run->run.operations_intervals;
    }
    return (kind->flags & OF_SAMPLES) != 0 ? &run->run.samples : &run->run.intervals;
}

/* Returns how many rows the file has for each interval: one for each host or operation. */
static size_t count_each(const struct csv_table *table)
{
    const size_t start = csv_table_column(table, "start_s");
    const char *first = csv_table_text(table, 0, start);
    size_t count = 1;
    while (count < table->rows && strcmp(csv_table_text(table, count, start), first) == 0) {
        count++;
    }
    return count;
}

/* Adds the line of a column: each row of the file, or several merged rows, becomes a horizontal
 * step. Uses only the rows of the host or operation `owner` (NULL: all rows). If the rows are
 * levels of a search, uses only the rows whose outcome is "held". Returns false if no row has a
 * value or, with ABOVE_0, if no value is above 0. */
static bool add_line(struct chart *chart, const struct report_run *run, const struct kind *kind,
                     const char *column, const char *name, const char *owner)
{
    const struct csv_table *table = table_of(run, kind);
    const bool is_search = (kind->flags & OF_LEVELS) != 0, is_mean = column[0] == '~';
    const size_t x_from = csv_table_column(table, is_search ? "sessions" : "start_s");
    const size_t x_to = csv_table_column(table, is_search ? "sessions" : "end_s");
    const size_t held = csv_table_column(table, "rows_held");
    const bool is_over_rows = chart->across == CHART_OVER_ROWS;
    const size_t outcome = csv_table_column(table, "outcome");
    const size_t place = csv_table_column(table, column + (is_mean ? 1 : 0));
    const size_t owners = owner == NULL ? 1 : count_each(table);
    const size_t most = CHART_STEPS_MAX * owners; /* each interval has a row for each owner */
    const size_t merged = is_search ? 1 : (table->rows + most - 1) / most;
    const size_t each = merged * owners;
    const size_t whose =
        csv_table_column(table, (kind->flags & OF_HOSTS) != 0 ? "host" : "operation");
    double best = -INFINITY, rows_before = is_over_rows ? rows_at(run, 0) : 0;
    struct chart_series *series =
        add_series(chart, name, is_search ? table->rows : CHART_STEPS_MAX);
    for (size_t row = 0; row < table->rows && series != NULL;) {
        double sum = 0, seconds = 0, highest = -INFINITY, from = NAN, to = NAN, start, end, value;
        for (const size_t next = row + each; row < next && row < table->rows; row++) {
            const bool is_known = csv_table_number(table, row, place, &value);
            if (!csv_table_number(table, row, x_from, &start) ||
                !csv_table_number(table, row, x_to, &end) ||
                (is_search && strcmp(csv_table_text(table, row, outcome), "held") != 0) ||
                (owner != NULL && strcmp(csv_table_text(table, row, whose), owner) != 0)) {
                continue;
            }
            double rows = end;
            if (is_over_rows && !csv_table_number(table, row, held, &rows)) {
                rows = rows_at(run, end);
            }
            if (isnan(from)) {
                from = is_over_rows ? rows_before : start;
            }
            to = rows_before = rows;
            best = is_known ? fmax(best, value) : best;
            if (is_known && (is_search || end > start)) {
                sum += value * (end - start);
                seconds += end - start;
                highest = fmax(highest, value);
            }
        }
        if (to > from || isfinite(highest)) {
            const double value_of_all = is_mean && seconds > 0 ? sum / seconds : highest;
            add_step(series, from, to, isinf(highest) ? (double)NAN : value_of_all);
        }
    }
    if (series != NULL && ((kind->flags & ABOVE_0) != 0 ? best <= 0 : isinf(best))) {
        free(series->points);
        chart->series_count--;
        return false;
    }
    if (merged > 1) {
        chart->note[0] = '\0'; /* replaces the same note of an earlier line */
        add_note(chart, "Each step of the line is %s of %zu intervals.",
                 is_mean ? "the mean" : "the highest", merged);
    }
    return true;
}

/* Adds a line for each host, but at most CHART_SERIES_MAX lines. */
static void add_hosts(struct chart *chart, const struct report_run *run, const struct kind *kind)
{
    const json_t *hosts = json_object_get(run->run.json, "hosts");
    for (size_t i = 0; i < json_array_size(hosts) && i < CHART_SERIES_MAX; i++) {
        const char *host = json_string_value(json_object_get(json_array_get(hosts, i), "host"));
        add_line(chart, run, kind, kind->lines[0], host == NULL ? "" : host,
                 host == NULL ? "" : host);
    }
    note_first(chart, json_array_size(hosts), CHART_SERIES_MAX, "hosts");
}

/* A transaction in operations_intervals.csv. */
struct ranked {
    const char *name;
    size_t place; /* index of the transaction's row among the rows of an interval */
    double committed;
};

/* Compares transactions: a transaction with more commits comes first. */
static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    const int by_count = (x->committed < y->committed) - (x->committed > y->committed);
    const int by_place = (x->place > y->place) - (x->place < y->place);
    return by_count != 0 ? by_count : by_place;
}

/* Finds the transactions of the file, with the most commits first. Returns their number. */
static size_t rank_transactions(const struct csv_table *table,
                                struct ranked transactions[OPERATIONS_MAX])
{
    const size_t each = count_each(table), name = csv_table_column(table, "operation");
    const size_t kind = csv_table_column(table, "kind"), column = csv_table_column(table, "count");
    size_t count = 0;
    for (size_t place = 0; place < each && count < OPERATIONS_MAX; place++) {
        struct ranked *ranked = &transactions[count];
        if (strcmp(csv_table_text(table, place, kind), "transaction") != 0) {
            continue;
        }
        *ranked = (struct ranked){.name = csv_table_text(table, place, name), .place = place};
        for (size_t row = place; row < table->rows; row += each) {
            double committed;
            csv_table_number(table, row, column, &committed);
            ranked->committed += committed;
        }
        count++;
    }
    qsort(transactions, count, sizeof *transactions, compare_ranked);
    return count;
}

/* The lines for which a chart has no room. */
struct left_out {
    char names[CHART_NOTE_BYTES / 2];
    size_t unnamed; /* lines whose names did not fit into `names` */
};

static void leave_out(struct left_out *left, const char *name)
{
    const size_t length = strlen(left->names);
    if (left->unnamed == 0 && length + strlen(name) + 3 < sizeof left->names) {
        snprintf(left->names + length, sizeof left->names - length, "%s%s", length > 0 ? ", " : "",
                 name);
    } else {
        left->unnamed++;
    }
}

/* Adds a sentence to the note of a chart, with the names of the lines that are not drawn. `end` is
 * the end of the sentence. */
static void note_left_out(struct chart *chart, const struct left_out *left, const char *end)
{
    char more[32] = "";
    if (left->unnamed > 0) {
        snprintf(more, sizeof more, " and %zu more", left->unnamed);
    }
    if (left->names[0] != '\0') {
        add_note(chart, "Not drawn: %s%s%s.", left->names, more, end);
    }
}

/* Adds a line for each transaction. If there are too many transactions, only those with the most
 * commits get a line. Adds nothing if there is only one transaction, because the chart of all
 * transactions shows the same line. */
static void add_transactions(struct chart *chart, const struct report_run *run,
                             const struct kind *kind)
{
    struct ranked transactions[OPERATIONS_MAX];
    struct left_out left = {.unnamed = 0};
    const size_t count = rank_transactions(table_of(run, kind), transactions);
    for (size_t i = 0; i < count && count > 1; i++) {
        const char *name = transactions[i].name;
        if (i < CHART_SERIES_MAX) {
            add_line(chart, run, kind, kind->lines[0], name, name);
        } else {
            leave_out(&left, name);
        }
    }
    if (count > CHART_SERIES_MAX) {
        add_note(chart, "The %d transactions with the most commits.", CHART_SERIES_MAX);
        note_left_out(chart, &left, "");
    }
}

/* Adds the line of a histogram in run.json. Each bucket becomes a horizontal step, from the share
 * of calls below the bucket to the share of calls up to the end of the bucket. Adds nothing if the
 * histogram is empty or damaged. */
static void add_percentiles(struct chart *chart, const struct report_run *run, const char *name,
                            const char *call)
{
    const json_t *json = json_object_get(json_object_get(run->run.json, "histograms"), call);
    const json_t *pairs = json_object_get(json, "low_ns_count");
    const json_int_t overflow = json_integer_value(json_object_get(json, "overflow"));
    const json_int_t max_ns = json_integer_value(json_object_get(json, "max_ns"));
    const size_t buckets = json_array_size(pairs);
    double total = overflow > 0 ? (double)overflow : 0, seen = 0;
    for (size_t i = 0; i < buckets; i++) {
        const json_int_t low = json_integer_value(json_array_get(json_array_get(pairs, i), 0));
        const json_int_t count = json_integer_value(json_array_get(json_array_get(pairs, i), 1));
        if (low < 0 || low >= HISTOGRAM_LIMIT_NS || count <= 0) {
            return;
        }
        total += (double)count;
    }
    if (total <= 0 || max_ns <= 0) {
        return;
    }
    struct chart_series *series = add_series(chart, name, buckets + 1);
    chart->end = fmax(chart->end, total);
    for (size_t i = 0; i <= buckets && series != NULL && seen < total; i++) {
        const json_t *pair = json_array_get(pairs, i); /* NULL at the overflow */
        const size_t bucket = histogram_bucket(json_integer_value(json_array_get(pair, 0)));
        const int64_t high_ns = pair == NULL ? max_ns : histogram_bucket_high_ns(bucket);
        const double from = total / (total - seen);
        seen = pair == NULL ? total : seen + json_number_value(json_array_get(pair, 1));
        add_step(series, from, seen < total ? total / (total - seen) : total,
                 (double)(high_ns < max_ns ? high_ns : max_ns) / (double)MONO_NS_PER_MS);
    }
}

/* The order in which latencies get a line, until the chart is full. A word is the name of a
 * latency. A word that ends with '.' is a prefix of names. "" stands for all other latencies. */
static const char *const latency_order[] = {
    "append", "response", "transaction", "transaction.", "commit", "statement.", ""};

/* Returns the index of a latency in latency_order. Sets *shown to the name without "transaction."
 * or "statement.". */
static size_t place_latency(const char *name, const char **shown)
{
    size_t place = 0;
    *shown = name;
    for (; place + 1 < COUNT_OF(latency_order); place++) {
        const char *word = latency_order[place];
        const size_t length = strlen(word);
        if (strcmp(name, word) == 0) {
            break;
        }
        if (word[length - 1] == '.' && strncmp(name, word, length) == 0) {
            *shown = name + length;
            break;
        }
    }
    return place;
}

/* Adds a line for each latency, except the latencies of --io-trace. Skips a latency whose line
 * would equal a drawn line. For example, if a script has only one transaction, its line equals the
 * line of all transactions. If the chart is full, the chart's note names the other latencies. */
static void add_latencies(struct chart *chart, const struct report_run *run)
{
    json_t *const all = json_object_get(run->run.json, "histograms"), *histogram;
    const json_t *drawn[CHART_SERIES_MAX] = {NULL};
    struct left_out left = {.unnamed = 0};
    const char *name, *shown;
    for (size_t place = 0; place < COUNT_OF(latency_order); place++) {
        json_object_foreach(all, name, histogram)
        {
            /* the page has the histograms of --io-trace in a table */
            bool is_known = strncmp(name, "io.", 3) == 0 || strncmp(name, "request.", 8) == 0 ||
                            place_latency(name, &shown) != place;
            for (size_t i = 0; i < chart->series_count && !is_known; i++) {
                is_known = json_equal(histogram, drawn[i]);
            }
            const size_t count = chart->series_count;
            if (!is_known && count < CHART_SERIES_MAX) {
                add_percentiles(chart, run, shown, name);
                if (chart->series_count > count) {
                    drawn[count] = histogram;
                }
            } else if (!is_known &&
                       json_array_size(json_object_get(histogram, "low_ns_count")) > 0) {
                leave_out(&left, shown);
            }
        }
    }
    note_left_out(chart, &left, "; the table of latencies has them");
}

/* Adds stacked lines: the mean number of calls in each layer of an I/O trace over time. */
static void add_layers(struct chart *chart, const struct report_run *run)
{
    static const char *const names[] = {"device, queue and file system (vfs)", "device and queue",
                                        "device"};
    const json_t *trace = json_object_get(run->run.json, "io_trace");
    const json_t *slots = json_object_get(trace, "slots_ns");
    const double slot_s = json_number_value(json_object_get(trace, "slot_s"));
    const double first_s = json_number_value(json_object_get(trace, "slots_from_s"));
    const double last_s = json_number_value(json_object_get(trace, "slots_to_s"));
    const bool has_requests =
        strcmp(figure_text(&run->run.figures, FIGURE_TRACE_LEVEL), "requests") == 0;
    if (has_requests) {
        snprintf(chart->title, sizeof chart->title,
                 "Requests in flight at the server, stacked by layer");
    }
    for (size_t layer = has_requests; layer < COUNT_OF(names) && json_array_size(slots) > 0;
         layer++) {
        struct chart_series *series = add_series(chart, names[layer], json_array_size(slots));
        for (size_t i = 0; i < json_array_size(slots) && series != NULL; i++) {
            double from = fmax((double)i * slot_s, first_s), ns = 0;
            double to = fmin((double)(i + 1) * slot_s, last_s);
            if (to <= from) {
                continue; /* the slot ended before the sessions began to work */
            }
            for (size_t k = layer; k < COUNT_OF(names); k++) {
                ns += json_number_value(json_array_get(json_array_get(slots, i), k));
            }
            const double calls = ns / ((to - from) * (double)MONO_NS_PER_S);
            if (chart->across == CHART_OVER_ROWS) {
                from = rows_at(run, from);
                to = rows_at(run, to);
            }
            add_step(series, from, to, calls);
        }
    }
}

/* The sessions that were in calls during one or more intervals, by class of wait. */
struct waiting {
    double from, to, seconds;
    size_t intervals;
    double sessions_s[WAIT_CLASSES]; /* number of sessions times seconds, by class of wait */
};

/* Adds up the rows of up to `most` intervals, beginning with row *row, and sets *row to the row
 * after them. */
static struct waiting add_waiting(const struct csv_table *table, size_t most, size_t *row)
{
    const size_t start = csv_table_column(table, "start_s"), end = csv_table_column(table, "end_s");
    const size_t value = csv_table_column(table, "waiting");
    const size_t key = csv_table_column(table, "class");
    struct waiting sum = {.from = NAN, .to = NAN};
    for (; *row < table->rows; (*row)++) {
        double from, to, sessions;
        const enum wait_class class = figure_wait_class(csv_table_text(table, *row, key));
        if (class == WAIT_CLASSES || !csv_table_number(table, *row, start, &from) ||
            !csv_table_number(table, *row, end, &to) ||
            !csv_table_number(table, *row, value, &sessions)) {
            continue;
        }
        if (isnan(sum.to) || to > sum.to) {
            if (sum.intervals == most) {
                break;
            }
            sum.intervals++;
            sum.from = isnan(sum.from) ? from : sum.from;
            sum.seconds += to - from;
            sum.to = to;
        }
        sum.sessions_s[class] += sessions * (to - from);
    }
    return sum;
}

/* Adds stacked lines: the mean number of sessions in calls, by class of wait. The largest class is
 * at the bottom. */
static void add_waits(struct chart *chart, struct report_run *run)
{
    char path[SAVED_RUN_PATH_BYTES + 16];
    struct csv_table table;
    struct error error = {0};
    size_t order[WAIT_CLASSES], classes = 0, row = 0;
    if (!saved_has_file(run->run.folder, "waits.csv")) {
        return;
    }
    snprintf(path, sizeof path, "%s/waits.csv", run->run.folder);
    if (csv_table_read(&table, path, &error) != STATUS_OK) {
        buffer_add_format(absent_of(run), "No chart of waits: %s.", error.text);
        return;
    }
    const struct waiting all = add_waiting(&table, SIZE_MAX, &row);
    for (size_t next = 0; next < WAIT_CLASSES; next++) {
        size_t at = classes;
        if (all.sessions_s[next] <= 0) {
            continue;
        }
        for (; at > 0 && all.sessions_s[next] < all.sessions_s[order[at - 1]]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = next;
        classes++;
    }
    const size_t first = classes > CHART_SERIES_MAX ? classes - CHART_SERIES_MAX : 0;
    const size_t merged = (all.intervals + CHART_STEPS_MAX - 1) / CHART_STEPS_MAX;
    for (size_t i = first; i < classes; i++) {
        struct chart_series *series =
            add_series(chart, i == first && first > 0 ? "other" : wait_class_texts[order[i]].name,
                       CHART_STEPS_MAX);
        row = 0;
        while (series != NULL && row < table.rows) {
            struct waiting waiting = add_waiting(&table, merged, &row);
            double sum = 0;
            for (size_t k = i == first ? 0 : i; k < classes; k++) {
                sum += waiting.sessions_s[order[k]];
            }
            if (chart->across == CHART_OVER_ROWS) {
                waiting.from = rows_at(run, waiting.from);
                waiting.to = rows_at(run, waiting.to);
            }
            add_step(series, waiting.from, waiting.to, sum / waiting.seconds);
        }
    }
    csv_table_free(&table);
}

/* Adds a chart of a run or search. If the chart has no values, adds a sentence about the missing
 * chart instead. `call` is the operation of an EACH_CALL chart, else "". */
static void add_chart(struct report *report, struct report_run *run, const struct kind *kind,
                      const char *call)
{
    const struct figure_set *figures = &run->run.figures;
    struct chart chart = start_kind(report, kind);
    const bool is_over_time = chart.across == CHART_OVER_TIME || chart.across == CHART_OVER_ROWS;
    if (call[0] != '\0') {
        snprintf(chart.name, sizeof chart.name, "%s-%s", call, kind->name);
        snprintf(chart.title, sizeof chart.title, "%c%s %s",
                 call[0] - (call[0] >= 'a' && call[0] <= 'z' ? 'a' - 'A' : 0), call + 1,
                 kind->title);
    }
    bool is_both = false, has_values = false;
    if ((kind->flags & OF_TRACE) != 0) {
        add_layers(&chart, run);
        add_note(&chart, "The mean number in flight; each line includes the lines below it.");
    } else if ((kind->flags & OF_WAITS) != 0) {
        add_waits(&chart, run);
        add_note(&chart, "The mean number of sessions; each line includes the lines below it.");
    } else if (kind->lines == NULL) {
        add_latencies(&chart, run);
    } else if ((kind->flags & OF_HOSTS) != 0) {
        add_hosts(&chart, run, kind);
    } else if ((kind->flags & OF_TRANSACTIONS) != 0) {
        add_transactions(&chart, run, kind);
    }
    const bool has_owners = (kind->flags & (OF_HOSTS | OF_TRANSACTIONS)) != 0;
    for (const char *const *line = kind->lines;
         line != NULL && *line != NULL && !is_both && !has_owners; line += 2) {
        char column[CHART_TEXT_BYTES];
        snprintf(column, sizeof column, "%s%s", **line == '_' ? call : "", *line);
        has_values |= add_line(&chart, run, kind, column, line[1], NULL);
        if (!has_values && (kind->flags & OF_DISK) != 0) {
            break; /* if the disk is unknown, the other lines, such as I/O pressure, say nothing
                      about it */
        }
        is_both = has_values && strcmp(kind->name, "memory") == 0 &&
                  strcmp(figure_text(figures, FIGURE_MEMORY_KIND), "self") == 0;
    }
    /* the run recorded the reason why the server's figures are missing */
    const char *why = figure_text(figures, FIGURE_SERVER_NOTE);
    if (is_both) {
        add_note(&chart, "The database runs inside append: the memory is the sum of both.");
    } else if ((kind->flags & WITH_SERVER) != 0 && chart.series_count > 0 &&
               strcmp(chart.series[0].name, "server") != 0) {
        add_note(&chart, "The server's share is unknown%s%.*s.", why[0] == '\0' ? "" : ": ",
                 CHART_NOTE_BYTES - 40, why);
    }
    chart.is_filled =
        ((kind->flags & FILLED) != 0 && chart.series_count == 1) || (kind->flags & OF_WAITS) != 0;
    chart.end = is_over_time ? end_of(&chart, run) : chart.end;
    for (size_t i = 0; is_over_time && i < run->events.count && i < CHART_MARKS_MAX; i++) {
        const double at_s = (double)run->events.entries[i].at_ns / (double)MONO_NS_PER_S;
        const double at = chart.across == CHART_OVER_ROWS ? rows_at(run, at_s) : at_s;
        if (at <= chart.end) {
            chart.marks[chart.mark_count].at = at;
            chart.marks[chart.mark_count++].text = run->events.entries[i].text;
        }
    }
    /* a script may use only its own statements, so it is normal that these charts are missing */
    const bool is_of_append = call[0] != '\0' || strcmp(kind->name, "rows-per-second") == 0;
    if (keep_chart(&chart) || kind->absent == NULL ||
        (is_of_append && report_is_scripted(&run->run))) {
        return;
    }
    if (call[0] != '\0') {
        buffer_add_format(absent_of(run), "No chart of %s %s: no %s ended.", call, kind->absent,
                          call);
    } else if (has_values) {
        buffer_add_format(absent_of(run), "No chart of %.*s: the run was too short.",
                          (int)strcspn(kind->absent, ":"), kind->absent);
    } else {
        buffer_add_format(absent_of(run), "No chart of %s.", kind->absent);
    }
}

/* Reads operations_intervals.csv. Because the file may be large, the caller frees the table after
 * the charts of the run are made. A run without a script does not have the file. */
static void read_operations(struct report_run *run)
{
    char path[SAVED_RUN_PATH_BYTES + 32];
    struct error error = {0};
    snprintf(path, sizeof path, "%s/operations_intervals.csv", run->run.folder);
    if (saved_has_file(run->run.folder, "operations_intervals.csv") &&
        csv_table_read(&run->run.operations_intervals, path, &error) != STATUS_OK) {
        buffer_add_format(absent_of(run), "No chart of each transaction: %s.", error.text);
    }
}

/* Adds the chart of the sessions' rows/s, slowest first. */
static void add_pace(struct report *report, struct report_run *run)
{
    char path[SAVED_RUN_PATH_BYTES + 16];
    struct csv_table table;
    struct error error = {0};
    if (run->run.is_running) {
        return;
    }
    snprintf(path, sizeof path, "%s/sessions.csv", run->run.folder);
    if (csv_table_read(&table, path, &error) != STATUS_OK) {
        buffer_add_format(absent_of(run), "No chart of the sessions' pace: %s.", error.text);
        return;
    }
    struct chart chart = start_chart(report, CHART_OVER_SHARE, FIGURE_UNIT_ROWS_PER_S, "pace",
                                     "Pace of the sessions, slowest first");
    chart.label = "rows/s of a session";
    chart.is_filled = true;
    chart.end = 100;
    struct chart_series *series = add_series(&chart, chart.label, table.rows);
    for (size_t row = 0; row < table.rows && series != NULL; row++) {
        double pace;
        if (csv_table_number(&table, row, csv_table_column(&table, "rows_per_s"), &pace)) {
            add_step(series, pace, pace, pace);
        }
    }
    csv_table_free(&table);
    const size_t count = series == NULL ? 0 : series->count;
    if (count < 2) {
        free_chart(&chart);
        return;
    }
    qsort(series->points, count, sizeof *series->points, compare_points);
    const size_t levels = count < PACE_LEVELS ? count : PACE_LEVELS;
    for (series->count = 0; series->count < levels;) {
        const size_t i = series->count;
        add_step(series, 100.0 * (double)i / (double)levels,
                 100.0 * (double)(i + 1) / (double)levels,
                 series->points[i * (count - 1) / (levels - 1)].y);
    }
    keep_chart(&chart);
}

static void add_run(struct report *report, struct report_run *run)
{
    double elapsed_s;
    const unsigned of = run->run.is_search ? OF_LEVELS | OF_SEARCH : OF_RUN;
    const bool is_short = of == OF_RUN &&
                          figure_get(&run->run.figures, FIGURE_ELAPSED_S, &elapsed_s) &&
                          elapsed_s < TIME_FROM_S;
    if (is_short) {
        buffer_add_format(
            absent_of(run),
            "No charts over time: the run took %.3g s, less than two intervals of 1 s.", elapsed_s);
    }
    const double rows_after = rows_at(run, INFINITY);
    const bool has_no_rows =
        report->is_over_rows && of == OF_RUN && !(rows_after > rows_at(run, 0));
    if (has_no_rows) {
        buffer_add_format(absent_of(run), "No charts against rows: %s.",
                          isnan(rows_after) ? "the run's files do not have the number of rows"
                                            : "no row was appended");
    }
    if (of == OF_RUN && !is_short) {
        read_operations(run);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if ((kinds[i].flags & of) == 0 ||
            ((is_short || has_no_rows) && (kinds[i].flags & PERCENTILES) == 0)) {
            continue;
        }
        if ((kinds[i].flags & EACH_CALL) == 0) {
            add_chart(report, run, &kinds[i], "");
            continue;
        }
        const struct csv_table *table = table_of(run, &kinds[i]);
        const char *end = kinds[i].lines[0];
        for (size_t column = 0; column < table->columns; column++) {
            char call[24];
            const size_t length = strlen(table->cells[column]), tail = strlen(end);
            if (length > tail && length - tail < sizeof call &&
                strcmp(table->cells[column] + length - tail, end) == 0) {
                snprintf(call, sizeof call, "%.*s", (int)(length - tail), table->cells[column]);
                if (strcmp(call, "transaction") != 0 || report_is_scripted(&run->run)) {
                    add_chart(report, run, &kinds[i], call);
                }
            }
        }
    }
    csv_table_free(&run->run.operations_intervals);
    if (of == OF_RUN && figure_has_rows(&run->run.figures)) {
        add_pace(report, run);
    }
}

const struct figure *report_headline(size_t i, bool has_script)
{
    for (const struct figure *figure = figure_table; figure < figure_table + FIGURES; figure++) {
        const bool is_known = has_script || figure != &figure_table[FIGURE_TRANSACTIONS_PER_S];
        if (figure->group == FIGURE_GROUP_HEADLINE && is_known && i-- == 0) {
            return figure;
        }
    }
    return NULL;
}

bool report_is_scripted(const struct saved_run *run)
{
    return figure_text(&run->figures, FIGURE_WORKLOAD)[0] != '\0';
}

bool report_has_script(const struct report *report)
{
    bool is_any = false;
    for (size_t i = 0; i < report->run_count; i++) {
        is_any |= report_is_scripted(&report->runs[i].run);
    }
    return is_any;
}

bool report_sweep_has_script(const struct saved_sweep *sweep)
{
    const char *key = figure_table[FIGURE_WORKLOAD].key;
    bool is_any = false;
    for (size_t i = 0; i < sweep->run_count; i++) {
        is_any |= saved_sweep_text(sweep, &sweep->runs[i], key)[0] != '\0';
    }
    return is_any;
}

bool report_sweep_varies(const struct saved_sweep *sweep)
{
    return sweep->variants.count > 1;
}

const struct figure *report_sweep_figure(bool has_script, size_t i)
{
    static const struct figure latencies[] = {
        {.key = "append_p99_ms", .label = "Append p99", .unit = FIGURE_UNIT_MS},
        {.key = "transaction_p99_ms", .label = "Transaction p99", .unit = FIGURE_UNIT_MS}};
    size_t headlines = 0;
    while (report_headline(headlines, has_script) != NULL) {
        headlines++;
    }
    return i == headlines ? &latencies[has_script] : report_headline(i, has_script);
}

bool report_sweep_shows(const struct saved_sweep *sweep, const struct figure *figure)
{
    return sweep->records[0] > 0 || figure != &figure_table[FIGURE_THROUGHPUT_ROWS_PER_S];
}

/* Begins the chart of a headline figure. The name of the chart is `before`, a hyphen and the
 * figure's key without the unit, for example "runs-max-cpu". */
static struct chart start_headline(struct report *report, enum chart_across across,
                                   const char *before, const struct figure *figure)
{
    char name[CHART_NAME_BYTES], title[CHART_TEXT_BYTES];
    snprintf(name, sizeof name, "%s-%.*s", before,
             (int)(strlen(figure->key) - strlen(figure_suffix(figure->key))), figure->key);
    for (char *at = strchr(name, '_'); at != NULL; at = strchr(at, '_')) {
        *at = '-';
    }
    snprintf(title, sizeof title, "%s%s", figure->label,
             across == CHART_OVER_SESSIONS ? " against sessions" : "");
    return start_chart(report, across, figure->unit, name, title);
}

/* Adds the chart of one figure of a sweep, with the number of sessions on the x axis. The chart has
 * a curve for each combination of a number of rows and a variant. */
static void add_sweep(struct report *report, const struct saved_sweep *sweep, size_t number,
                      const struct figure *figure)
{
    char name[SAVED_SWEEP_NAME_BYTES], count[REPORT_WORDS_BYTES], rows[REPORT_WORDS_BYTES + 8];
    const size_t columns = saved_sweep_columns(sweep);
    snprintf(name, sizeof name, "sweep%zu", number);
    struct chart chart = start_headline(report, CHART_OVER_SESSIONS, name, figure);
    for (size_t column = 0; column < columns && column < CHART_SERIES_MAX; column++) {
        snprintf(rows, sizeof rows, "%s rows",
                 report_format_count((double)sweep->runs[column * sweep->sessions_count].records,
                                     count));
        saved_sweep_column(sweep, column, rows, name);
        struct chart_series *series = add_series(&chart, name, sweep->sessions_count);
        for (size_t i = 0; i < sweep->sessions_count && series != NULL; i++) {
            const double sessions = (double)sweep->sessions[i];
            struct spread found;
            if (saved_sweep_figure(sweep, i, column, figure->key, &found)) {
                series->points[series->count++] = (struct chart_point){
                    sessions, sessions, found.median, found.lowest, found.highest};
            }
        }
    }
    note_first(&chart, columns, CHART_SERIES_MAX,
               report_sweep_varies(sweep) ? "columns of the tables" : "numbers of rows");
    if (sweep->records_count == 1 && sweep->records[0] > 0 && chart.series_count == 1) {
        add_note(&chart, "Each run had %s.", chart.series[0].name);
    }
    if (sweep->repeat > 1) {
        add_note(&chart, "The median of the runs; bars go from the lowest to the highest value.");
    }
    keep_chart(&chart);
}

/* Adds a chart with a line for each run, but at most CHART_SERIES_MAX lines. Adds no chart if it
 * would have fewer than two lines. If a sweep repeats a run, only the first repeat has a line. */
static void add_overview_chart(struct report *report, const struct kind *kind)
{
    struct chart chart = start_kind(report, kind);
    size_t count = 0;
    for (size_t i = 0; i < report->run_count; i++) {
        const struct report_run *run = &report->runs[i];
        double elapsed_s;
        if ((run->place != NULL && run->place->repeat > 1) || count++ >= CHART_SERIES_MAX) {
            continue;
        }
        if ((kind->flags & PERCENTILES) != 0) {
            add_percentiles(&chart, run, run->label, kind->lines[0]);
        } else if (figure_get(&run->run.figures, FIGURE_ELAPSED_S, &elapsed_s) &&
                   elapsed_s >= TIME_FROM_S &&
                   add_line(&chart, run, kind, kind->lines[0], run->label, NULL)) {
            chart.end = fmax(chart.end, end_of(&chart, run));
        }
    }
    note_first(&chart, count, CHART_SERIES_MAX, "runs");
    if (count < report->run_count) {
        add_note(&chart, "If a run was repeated, the chart shows only the first repeat.");
    }
    if (count <= CHART_SERIES_MAX && chart.series_count < count) {
        add_note(&chart, "Runs shorter than %d s and runs without this figure are left out.",
                 TIME_FROM_S);
    }
    if (chart.series_count < 2) {
        free_chart(&chart);
    } else {
        keep_chart(&chart);
    }
}

bool charts_make(struct report *report)
{
    /* the curves of a sweep already compare its runs, unless the sweep has several variants */
    const bool is_beside =
        report->run_count > 1 &&
        (report->sweep_count == 0 ||
         (report->sweep_count == 1 && report_sweep_varies(&report->sweeps[0].sweep)));
    struct chart_list *list = &report->charts;
    const struct figure *figure;
    for (size_t i = 0; i < report->sweep_count; i++) {
        report->sweeps[i].charts.first = list->count;
        const struct saved_sweep *sweep = &report->sweeps[i].sweep;
        const bool has_script = report_sweep_has_script(sweep);
        for (size_t f = 0; (figure = report_sweep_figure(has_script, f)) != NULL; f++) {
            /* if all runs have the same number of sessions, each curve is only a dot, and the bar
             * charts show more */
            if (report_sweep_shows(sweep, figure) && (!is_beside || sweep->sessions_count > 1)) {
                add_sweep(report, sweep, i + 1, figure);
            }
        }
        report->sweeps[i].charts.count = list->count - report->sweeps[i].charts.first;
    }
    report->overview.first = list->count;
    for (size_t f = 0; is_beside && (figure = report_headline(f, true)) != NULL; f++) {
        struct chart chart = start_headline(report, CHART_OVER_RUNS, "runs", figure);
        struct chart_series *series = add_series(&chart, "runs", CHART_BARS_MAX);
        chart.runs = report->runs;
        for (size_t i = 0; i < report->run_count && i < CHART_BARS_MAX && series != NULL; i++) {
            double value;
            chart.end = (double)i + 1;
            if ((figure != &figure_table[FIGURE_THROUGHPUT_ROWS_PER_S] ||
                 figure_has_rows(&report->runs[i].run.figures)) &&
                saved_run_figure(&report->runs[i].run, figure->key, &value)) {
                add_step(series, (double)i, (double)i, value);
            }
        }
        note_first(&chart, report->run_count, CHART_BARS_MAX, "runs");
        if (series != NULL && series->count == 0) { /* no run appended rows */
            free_chart(&chart);
        } else {
            keep_chart(&chart);
        }
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && is_beside; i++) {
        if ((kinds[i].flags & OF_RUNS) != 0) {
            add_overview_chart(report, &kinds[i]);
        }
    }
    report->overview.count = list->count - report->overview.first;
    const size_t first = report->has_run_charts ? 0 : report->run_count;
    for (size_t i = first; i < report->run_count + (report->running != NULL); i++) {
        struct report_run *run = &report->runs[i];
        run->charts.first = list->count;
        add_run(report, run);
        run->charts.count = list->count - run->charts.first;
        list->has_failed |= buffer_failed(&run->absent);
    }
    return !list->has_failed;
}
