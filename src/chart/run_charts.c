#include "chart/run_charts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "chart/axis.h"
#include "chart/time_charts.h"
#include "measure/histogram.h"

enum {
    TIME_FROM_S = 2, /* figures are taken each second: below, a chart over time has one level */
    PACE_POINTS = 100,
    LOG_FROM_RATIO = 50 /* of highest to lowest: a linear axis would hide the low ones */
};

struct maker {
    struct chart_list *list;
    struct buffer *absent;
    const struct saved_run *run;
    const struct event_list *events;
    double end_s;
};

static void say_absent(const struct maker *maker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say_absent(const struct maker *maker, const char *format, ...)
{
    char sentence[ERROR_TEXT_BYTES + 64];
    va_list list;
    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    buffer_add_format(maker->absent, "%s%s", maker->absent->length > 0 ? " " : "", sentence);
}

/* Times in ms: logarithmic when asked for or when the highest would hide the lowest, else in the
 * unit in which the highest has few digits. */
static void fit_latency(struct chart *chart, bool is_log)
{
    double low = 0, high = 0;
    chart_span_y(chart, 0, &low, &high);
    if (is_log || (low > 0 && high / low >= LOG_FROM_RATIO)) {
        snprintf(chart->y.label, sizeof chart->y.label, "latency (log scale)");
        axis_fit_log_time(&chart->y, low, high);
        return;
    }
    const char *unit = high >= 10000 ? "s" : high < 0.1 ? "us" : "ms";
    const double factor = high >= 10000 ? 1e-3 : high < 0.1 ? 1e3 : 1;
    chart_scale_y(chart, factor);
    snprintf(chart->y.label, sizeof chart->y.label, "latency, %s", unit);
    axis_fit_from_zero(&chart->y, high * factor);
}

static void fit_plain(struct chart *chart, const char *label)
{
    double low = 0, high = 0;
    chart_span_y(chart, 0, &low, &high);
    snprintf(chart->y.label, sizeof chart->y.label, "%s", label);
    axis_fit_from_zero(&chart->y, high);
}

/* Rows of no length, as those of a run below 1 ms, are no levels. */
static void take_time_chart(const struct maker *maker, struct chart *chart)
{
    if (!chart_has_data(chart)) {
        say_absent(maker, "No chart of %s: the run was too short.", chart->title);
        chart_fini(chart);
        return;
    }
    time_charts_finish_x(chart, maker->end_s, maker->events);
    chart_list_take(maker->list, chart);
}

static void note_merging(struct chart *chart, const struct csv_table *table, const char *how)
{
    if (table->rows > TIME_LEVELS_MAX) {
        snprintf(chart->note, sizeof chart->note, "%zu intervals each are drawn as one: %s.",
                 (table->rows + TIME_LEVELS_MAX - 1) / TIME_LEVELS_MAX, how);
    }
}

static bool has_some(const struct csv_table *table, const char *column)
{
    const size_t place = csv_table_column(table, column);
    for (size_t row = 0; row < table->rows; row++) {
        double value;
        if (csv_table_number(table, row, place, &value) && value > 0) {
            return true;
        }
    }
    return false;
}

static void add_rows(const struct maker *maker)
{
    const struct csv_table *table = &maker->run->intervals;
    struct chart chart;
    chart_init(&chart, "rows-per-second", "Rows acknowledged each second");
    if (!has_some(table, "rows_per_s") ||
        !time_charts_add(&chart, table, "rows_per_s", "rows/s", TIME_MEAN)) {
        say_absent(maker, "No chart of rows over time: no row was acknowledged.");
        chart_fini(&chart);
        return;
    }
    chart.series[0].is_filled = true;
    fit_plain(&chart, "rows/s");
    note_merging(&chart, table, "the mean");
    take_time_chart(maker, &chart);
}

static void add_latency(const struct maker *maker, const char *call, const char *title)
{
    const struct csv_table *table = &maker->run->intervals;
    char name[CHART_NAME_BYTES], p50[32], p99[32];
    snprintf(name, sizeof name, "%s-latency", call);
    snprintf(p50, sizeof p50, "%s_p50_ms", call);
    snprintf(p99, sizeof p99, "%s_p99_ms", call);
    struct chart chart;
    chart_init(&chart, name, title);
    time_charts_add(&chart, table, p50, "p50", TIME_HIGHEST);
    time_charts_add(&chart, table, p99, "p99", TIME_HIGHEST);
    if (!chart_has_data(&chart)) {
        say_absent(maker, "No chart of %s latency over time: no %s ended.", call, call);
        chart_fini(&chart);
        return;
    }
    fit_latency(&chart, false);
    note_merging(&chart, table, "the highest of them");
    take_time_chart(maker, &chart);
}

static void add_sessions(const struct maker *maker)
{
    const struct csv_table *table = &maker->run->intervals;
    struct chart chart;
    chart_init(&chart, "sessions", "Sessions alive");
    if (!has_some(table, "sessions_alive") ||
        !time_charts_add(&chart, table, "sessions_alive", "alive", TIME_MEAN)) {
        say_absent(maker,
                   "No chart of sessions over time: at no end of an interval was one alive.");
        chart_fini(&chart);
        return;
    }
    chart.series[0].is_filled = true;
    static const char *const waiting[][2] = {{"sessions_without_progress", "without progress"},
                                             {"sessions_reading", "in a read all the time"}};
    for (size_t i = 0; i < sizeof waiting / sizeof waiting[0]; i++) {
        if (has_some(table, waiting[i][0])) {
            chart.series[0].is_filled = false;
            time_charts_add(&chart, table, waiting[i][0], waiting[i][1], TIME_HIGHEST);
        }
    }
    fit_plain(&chart, "sessions");
    take_time_chart(maker, &chart);
}

static bool is_same(const struct csv_table *table, const char *one, const char *other)
{
    for (size_t row = 0; row < table->rows; row++) {
        double a = 0, b = 0;
        csv_table_number(table, row, csv_table_column(table, one), &a);
        csv_table_number(table, row, csv_table_column(table, other), &b);
        if (a < b || a > b) {
            return false;
        }
    }
    return true;
}

/* Only where something went wrong. */
static void add_errors(const struct maker *maker)
{
    static const char *const columns[][2] = {{"errors", "errors"},
                                             {"connections_lost", "connections lost"},
                                             {"reconnects", "connected again"}};
    const struct csv_table *table = &maker->run->intervals;
    struct chart chart;
    chart_init(&chart, "errors", "Errors");
    /* one line would hide the other */
    const bool are_all_lost = is_same(table, "errors", "connections_lost");
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        const bool is_hidden = are_all_lost && i == 1;
        if (has_some(table, columns[i][0]) && !is_hidden) {
            time_charts_add(&chart, table, columns[i][0],
                            are_all_lost && i == 0 ? "errors, each a lost connection"
                                                   : columns[i][1],
                            TIME_HIGHEST);
        }
    }
    if (chart.series_count == 0) {
        chart_fini(&chart);
        return;
    }
    fit_plain(&chart, "number in an interval");
    take_time_chart(maker, &chart);
}

/* Why the server's own figures are not there, in the run's words. */
static void note_server(const struct maker *maker, struct chart *chart, bool has_server)
{
    const char *note = json_string_value(saved_run_json(maker->run, "resources.server_note"));
    if (!has_server) {
        const size_t left = sizeof chart->note - 60;
        snprintf(chart->note, sizeof chart->note, "The server's own is not known%s%.*s.",
                 note == NULL || note[0] == '\0' ? "" : ": ", (int)left, note == NULL ? "" : note);
    }
}

static void add_cpu(const struct maker *maker)
{
    const struct csv_table *table = &maker->run->samples;
    struct chart chart;
    chart_init(&chart, "cpu", "CPU");
    const bool has_server =
        time_charts_add(&chart, table, "server_cpu_percent", "server", TIME_MEAN);
    time_charts_add(&chart, table, "client_cpu_percent", "append", TIME_MEAN);
    time_charts_add(&chart, table, "host_cpu_percent", "whole machine", TIME_MEAN);
    if (!chart_has_data(&chart)) {
        say_absent(maker, "No chart of CPU: no sample was taken.");
        chart_fini(&chart);
        return;
    }
    snprintf(chart.y.label, sizeof chart.y.label, "%% of all CPUs");
    axis_fit_from_zero(&chart.y, 100);
    chart.y.high = 105; /* a machine that is wholly busy is to be seen below the border */
    note_server(maker, &chart, has_server);
    take_time_chart(maker, &chart);
}

static void add_memory(const struct maker *maker)
{
    const struct csv_table *table = &maker->run->samples;
    struct chart chart;
    chart_init(&chart, "memory", "Memory");
    const bool has_server =
        time_charts_add(&chart, table, "server_memory_mib", "server", TIME_HIGHEST);
    const char *source = json_string_value(saved_run_json(maker->run, "resources.memory_source"));
    if (!has_server || source == NULL || strcmp(source, "self") != 0) {
        time_charts_add(&chart, table, "client_memory_mib", "append", TIME_HIGHEST);
    }
    double low = 0, high = 0;
    if (!chart_span_y(&chart, 0, &low, &high)) {
        say_absent(maker, "No chart of memory: no sample has it.");
        chart_fini(&chart);
        return;
    }
    const bool is_large = high >= 10240;
    chart_scale_y(&chart, is_large ? 1.0 / 1024 : 1);
    fit_plain(&chart, is_large ? "memory, GiB" : "memory, MiB");
    if (has_server && chart.series_count == 1) {
        snprintf(chart.note, sizeof chart.note,
                 "The database is part of append: the memory is that of both.");
    }
    note_server(maker, &chart, has_server);
    take_time_chart(maker, &chart);
}

/* False: the histogram is empty or not understood. */
static bool read_histogram(struct histogram *histogram, const json_t *json)
{
    histogram_clear(histogram);
    size_t i;
    json_t *pair;
    json_array_foreach(json_object_get(json, "low_ns_count"), i, pair)
    {
        const json_int_t low = json_integer_value(json_array_get(pair, 0));
        const json_int_t count = json_integer_value(json_array_get(pair, 1));
        if (low < 0 || low >= HISTOGRAM_LIMIT_NS || count <= 0) {
            return false;
        }
        histogram->counts[histogram_bucket(low)] += (uint64_t)count;
        histogram->total += (uint64_t)count;
    }
    const json_int_t overflow = json_integer_value(json_object_get(json, "overflow"));
    histogram->overflow = overflow > 0 ? (uint64_t)overflow : 0;
    histogram->total += histogram->overflow;
    histogram->max_ns = json_integer_value(json_object_get(json, "max_ns"));
    return histogram->total > 0 && histogram->max_ns > 0;
}

static void add_percentiles(struct chart *chart, const struct histogram *histogram,
                            const char *name)
{
    struct chart_series *series = chart_add_series(chart, name);
    const double total = (double)histogram->total;
    double seen = 0;
    for (size_t bucket = 0; bucket < HISTOGRAM_BUCKETS && series != NULL; bucket++) {
        if (histogram->counts[bucket] == 0) {
            continue;
        }
        const int64_t high_ns = histogram_bucket_high_ns(bucket);
        const double ms = (double)(high_ns < histogram->max_ns ? high_ns : histogram->max_ns) /
                          (double)MONO_NS_PER_MS;
        const double before = seen;
        seen += (double)histogram->counts[bucket];
        /* a step from the share that is below to that which is not above */
        chart_add_point(chart, series, total / (total - before), ms);
        chart_add_point(chart, series, seen < total ? total / (total - seen) : total, ms);
    }
    if (histogram->overflow > 0 && series != NULL) {
        chart_add_point(chart, series, total, (double)histogram->max_ns / (double)MONO_NS_PER_MS);
    }
}

/* The calls of one kind of a run, as a line. *most becomes the most of them that any line has. */
static void add_calls(struct chart *chart, const struct saved_run *run, const char *call,
                      const char *name, double *most)
{
    char path[64];
    snprintf(path, sizeof path, "histograms.%s", call);
    const json_t *json = saved_run_json(run, path);
    struct histogram *histogram = malloc(sizeof *histogram);
    chart->has_failed |= histogram == NULL;
    if (histogram != NULL && json != NULL && read_histogram(histogram, json)) {
        add_percentiles(chart, histogram, name);
        *most = fmax(*most, (double)histogram->total);
    }
    free(histogram);
}

static void finish_percentiles(struct chart *chart, double most)
{
    fit_latency(chart, true);
    snprintf(chart->x.label, sizeof chart->x.label, "share of calls that took no longer, %%");
    axis_fit_percentile(&chart->x, most);
}

static void add_latency_by_percentile(const struct maker *maker)
{
    static const char *const names[] = {"append", "count", "connect", "response", "recover"};
    struct chart chart;
    double most = 0, low, high;
    chart_init(&chart, "latency-by-percentile", "Latency by percentile");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        add_calls(&chart, maker->run, names[i], names[i], &most);
    }
    if (!chart_span_y(&chart, 0, &low, &high)) {
        say_absent(maker, "No chart of latency by percentile: nothing was measured.");
        chart_fini(&chart);
        return;
    }
    finish_percentiles(&chart, most);
    chart_list_take(maker->list, &chart);
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Rows/s of the sessions, slowest first, as quantiles. */
static void draw_pace(const struct maker *maker, const struct csv_table *table)
{
    const size_t column = csv_table_column(table, "rows_per_s");
    double *paces = malloc((table->rows + 1) * sizeof *paces);
    size_t count = 0;
    for (size_t row = 0; row < table->rows && paces != NULL; row++) {
        count += csv_table_number(table, row, column, &paces[count]) ? 1 : 0;
    }
    if (count >= 2) {
        qsort(paces, count, sizeof *paces, compare_numbers);
        struct chart chart;
        chart_init(&chart, "pace", "Pace of the sessions, slowest first");
        struct chart_series *series = chart_add_series(&chart, "rows/s of a session");
        for (size_t i = 0; i <= PACE_POINTS; i++) {
            chart_add_point(&chart, series, (double)i * 100 / PACE_POINTS,
                            paces[i * (count - 1) / PACE_POINTS]);
        }
        series->is_filled = true;
        snprintf(chart.x.label, sizeof chart.x.label, "share of the sessions, %%");
        axis_fit_span(&chart.x, 0, 100);
        fit_plain(&chart, "rows/s of a session");
        chart_list_take(maker->list, &chart);
    }
    free(paces);
}

static void add_pace(const struct maker *maker)
{
    char path[SAVED_RUN_PATH_BYTES + 16];
    struct csv_table table;
    struct error error;
    error_clear(&error);
    snprintf(path, sizeof path, "%s/sessions.csv", maker->run->folder);
    if (csv_table_read(&table, path, &error) != STATUS_OK) {
        say_absent(maker, "No chart of the sessions' pace: %s.", error.text);
        return;
    }
    draw_pace(maker, &table);
    csv_table_free(&table);
}

/* The levels that held, from the fewest sessions to the most. */
static void add_level_series(struct chart *chart, const struct csv_table *levels,
                             const char *const column_and_name[2], double *low, double *high)
{
    const size_t outcome = csv_table_column(levels, "outcome");
    const size_t sessions = csv_table_column(levels, "sessions");
    const size_t column = csv_table_column(levels, column_and_name[0]);
    struct chart_series *series = chart_add_series(chart, column_and_name[1]);
    double last = 0;
    for (bool is_found = true; is_found && series != NULL;) {
        double next = INFINITY, value = 0;
        for (size_t row = 0; row < levels->rows; row++) {
            double number, figure;
            if (strcmp(csv_table_text(levels, row, outcome), "held") == 0 &&
                csv_table_number(levels, row, sessions, &number) && number > last &&
                number <= next && csv_table_number(levels, row, column, &figure)) {
                next = number;
                value = figure;
            }
        }
        is_found = isfinite(next);
        if (is_found) {
            chart_add_point(chart, series, next, value);
            *low = fmin(*low, next);
            *high = fmax(*high, next);
            last = next;
        }
    }
    if (series != NULL) {
        series->has_dots = true;
    }
}

/* What a level of a search had, against its sessions, of those that held. */
static void add_levels(const struct maker *maker)
{
    static const struct {
        const char *name, *title, *axis; /* axis NULL: of times in ms */
        const char *series[3][2];        /* column, name */
    } charts[] = {
        {"levels-rows", "Rows per second against sessions", "rows/s", {{"rows_per_s", "rows/s"}}},
        {"levels-append",
         "Append latency against sessions",
         NULL,
         {{"append_p50_ms", "p50"}, {"append_p99_ms", "p99"}}},
        {"levels-cpu",
         "CPU against sessions",
         "% of all CPUs",
         {{"host_cpu_percent", "whole machine"},
          {"server_cpu_percent", "server"},
          {"client_cpu_percent", "append"}}},
        {"levels-memory",
         "Memory of the server against sessions",
         "memory, MiB",
         {{"server_memory_mib", "server"}}},
    };
    for (size_t i = 0; i < sizeof charts / sizeof charts[0]; i++) {
        struct chart chart;
        double low = INFINITY, high = 0;
        chart_init(&chart, charts[i].name, charts[i].title);
        for (size_t j = 0; j < 3 && charts[i].series[j][0] != NULL; j++) {
            add_level_series(&chart, &maker->run->levels, charts[i].series[j], &low, &high);
        }
        if (!chart_has_data(&chart)) {
            chart_fini(&chart);
            continue;
        }
        if (charts[i].axis == NULL) {
            fit_latency(&chart, false);
        } else {
            fit_plain(&chart, charts[i].axis);
        }
        snprintf(chart.x.label, sizeof chart.x.label, "sessions");
        if (high >= LOG_FROM_RATIO * low) {
            axis_fit_log(&chart.x, low, high);
        } else {
            axis_fit_span(&chart.x, 0, high * 1.05);
        }
        chart_list_take(maker->list, &chart);
    }
}

void run_charts_add(struct chart_list *list, struct buffer *absent, const struct saved_run *run,
                    const struct event_list *events)
{
    struct maker maker = {.list = list, .absent = absent, .run = run, .events = events};
    if (!saved_run_figure(run, "elapsed_s", &maker.end_s) || maker.end_s <= 0) {
        maker.end_s = 1;
    }
    if (run->is_search) {
        add_levels(&maker);
        add_rows(&maker);
        add_sessions(&maker);
        add_cpu(&maker);
        add_memory(&maker);
        add_errors(&maker);
        return;
    }
    if (maker.end_s < TIME_FROM_S) {
        say_absent(&maker,
                   "No charts over time: the run took %.3g s, and figures are taken each second.",
                   maker.end_s);
        add_latency_by_percentile(&maker);
        add_pace(&maker);
        return;
    }
    add_rows(&maker);
    add_latency(&maker, "append", "Append latency each second");
    add_latency(&maker, "count", "Count latency each second");
    add_latency_by_percentile(&maker);
    add_sessions(&maker);
    add_cpu(&maker);
    add_memory(&maker);
    add_pace(&maker);
    add_errors(&maker);
}

/* The lines of a figure over time, one for each run that is long enough. Returns the longest time.
 */
static double add_times_together(struct chart *chart, const struct report_set *set, bool is_sampled,
                                 const char *column, enum time_merge merge)
{
    double end_s = 0;
    for (size_t i = 0; i < set->run_count && i < CHART_SERIES_MAX; i++) {
        const struct report_run *run = &set->runs[i];
        double elapsed_s;
        if (saved_run_figure(&run->run, "elapsed_s", &elapsed_s) && elapsed_s >= TIME_FROM_S &&
            time_charts_add(chart, is_sampled ? &run->run.samples : &run->run.intervals, column,
                            run->label, merge)) {
            end_s = fmax(end_s, elapsed_s);
        }
    }
    return end_s;
}

static void take_together(struct chart_list *list, struct chart *chart,
                          const struct report_set *set)
{
    if (set->run_count > CHART_SERIES_MAX) {
        snprintf(chart->note, sizeof chart->note, "The first %d runs.", CHART_SERIES_MAX);
    } else if (chart->series_count < set->run_count) {
        snprintf(chart->note, sizeof chart->note,
                 "Runs under %d s, and without the figure, are left out.", TIME_FROM_S);
    }
    chart_list_take(list, chart);
}

static void add_percentiles_together(struct chart_list *list, const struct report_set *set)
{
    struct chart chart;
    double most = 0, low, high;
    chart_init(&chart, "runs-append-by-percentile", "Append latency by percentile");
    for (size_t i = 0; i < set->run_count && i < CHART_SERIES_MAX; i++) {
        const struct report_run *run = &set->runs[i];
        add_calls(&chart, &run->run, "append", run->label, &most);
    }
    if (chart.series_count < 2 || !chart_span_y(&chart, 0, &low, &high)) {
        chart_fini(&chart);
        return;
    }
    finish_percentiles(&chart, most);
    take_together(list, &chart, set);
}

void run_charts_add_together(struct chart_list *list, const struct report_set *set)
{
    static const struct {
        const char *name, *title, *column, *axis; /* axis NULL: of times in ms */
        bool is_sampled;
        enum time_merge merge;
    } figures[] = {
        {"runs-rows", "Rows acknowledged each second", "rows_per_s", "rows/s", false, TIME_MEAN},
        {"runs-append-p99", "Append p99 each second", "append_p99_ms", NULL, false, TIME_HIGHEST},
        {"runs-cpu", "CPU of the whole machine", "host_cpu_percent", "% of all CPUs", true,
         TIME_MEAN},
        {"runs-server-memory", "Memory of the server", "server_memory_mib", "memory, MiB", true,
         TIME_HIGHEST},
    };
    static const struct event_list none = {0};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        struct chart chart;
        chart_init(&chart, figures[i].name, figures[i].title);
        const double end_s = add_times_together(&chart, set, figures[i].is_sampled,
                                                figures[i].column, figures[i].merge);
        if (chart.series_count < 2 || !chart_has_data(&chart)) {
            chart_fini(&chart);
            continue;
        }
        if (figures[i].axis == NULL) {
            fit_latency(&chart, false);
        } else {
            fit_plain(&chart, figures[i].axis);
        }
        time_charts_finish_x(&chart, end_s, &none);
        take_together(list, &chart, set);
    }
    add_percentiles_together(list, set);
}
