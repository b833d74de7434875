/* The charts of a report as data: what is in them, and from which columns of which files. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mono.h"
#include "measure/histogram.h"
#include "report/report.h"

enum {
    TIME_FROM_S = 2, /* figures are taken each second: below, a chart over time has one level */
    PACE_LEVELS = 100,
    LOG_FROM_RATIO = 50, /* of highest to lowest: a linear axis would hide the low ones */
    LARGE_MIB = 10240,
};

enum {
    OF_RUN = 1,
    OF_SEARCH = 2,
    OF_LEVELS = 4,    /* of a search, against its sessions */
    OF_RUNS = 8,      /* a line for each of several runs */
    EACH_CALL = 16,   /* a chart for each operation that the file has columns of */
    WITH_SERVER = 32, /* the first line is the server's: a note says why it is not there */
    FILLED = 64,      /* where it has one line */
    OF_SAMPLES = 128, /* columns of samples.csv, not of intervals.csv */
};

/* THE table of charts. Those of percentiles, pace and headlines are made below. */
static const struct kind {
    const char *name, *title;
    enum figure_unit unit;
    unsigned flags;
    const char *absent; /* what there is no chart of, and why; NULL: nothing is said */
} kinds[] = {
    {"levels-rows", "Rows per second against sessions", FIGURE_UNIT_ROWS_PER_S, OF_LEVELS, NULL},
    {"levels-append", "Append latency against sessions", FIGURE_UNIT_MS, OF_LEVELS, NULL},
    {"levels-cpu", "CPU against sessions", FIGURE_UNIT_PERCENT, OF_LEVELS, NULL},
    {"levels-memory", "Memory of the server against sessions", FIGURE_UNIT_MIB, OF_LEVELS, NULL},
    {"rows-per-second", "Rows acknowledged each second", FIGURE_UNIT_ROWS_PER_S,
     OF_RUN | OF_SEARCH | FILLED, "rows over time: no row was acknowledged"},
    {"latency", "latency each second", FIGURE_UNIT_MS, OF_RUN | EACH_CALL, "latency over time"},
    {"sessions", "Sessions alive", FIGURE_UNIT_COUNT, OF_RUN | OF_SEARCH | FILLED,
     "sessions over time: at no end of an interval was one alive"},
    {"cpu", "CPU", FIGURE_UNIT_PERCENT, OF_RUN | OF_SEARCH | OF_SAMPLES | WITH_SERVER,
     "CPU: no sample was taken"},
    {"memory", "Memory", FIGURE_UNIT_MIB, OF_RUN | OF_SEARCH | OF_SAMPLES | WITH_SERVER,
     "memory: no sample has it"},
    {"errors", "Errors", FIGURE_UNIT_COUNT, OF_RUN | OF_SEARCH, NULL},
    {"runs-rows", "Rows acknowledged each second", FIGURE_UNIT_ROWS_PER_S, OF_RUNS, NULL},
    {"runs-append-p99", "Append p99 each second", FIGURE_UNIT_MS, OF_RUNS, NULL},
    {"runs-cpu", "CPU of the whole machine", FIGURE_UNIT_PERCENT, OF_RUNS | OF_SAMPLES, NULL},
    {"runs-server-memory", "Memory of the server", FIGURE_UNIT_MIB, OF_RUNS | OF_SAMPLES, NULL},
};

enum {
    HIGHEST, /* of rows that are put together: the worst is not to be hidden */
    MEAN,    /* by their length */
    RARE,    /* the highest; only drawn when it is ever above 0 */
    MEAN_ABOVE_0,
};

/* The lines of the charts, in their order. */
static const struct line {
    const char *chart;
    const char *column; /* one that begins with '_' goes on after the operation's name */
    const char *name;
    int how;
} lines[] = {
    {"levels-rows", "rows_per_s", "rows/s", HIGHEST},
    {"levels-append", "append_p50_ms", "p50", HIGHEST},
    {"levels-append", "append_p99_ms", "p99", HIGHEST},
    {"levels-cpu", "host_cpu_percent", "whole machine", HIGHEST},
    {"levels-cpu", "server_cpu_percent", "server", HIGHEST},
    {"levels-cpu", "client_cpu_percent", "append", HIGHEST},
    {"levels-memory", "server_memory_mib", "server", HIGHEST},
    {"rows-per-second", "rows_per_s", "rows/s", MEAN_ABOVE_0},
    {"latency", "_p50_ms", "p50", HIGHEST},
    {"latency", "_p99_ms", "p99", HIGHEST},
    {"sessions", "sessions_alive", "alive", MEAN_ABOVE_0},
    {"sessions", "sessions_without_progress", "without progress", RARE},
    {"sessions", "sessions_reading", "in a read all the time", RARE},
    {"cpu", "server_cpu_percent", "server", MEAN},
    {"cpu", "client_cpu_percent", "append", MEAN},
    {"cpu", "host_cpu_percent", "whole machine", MEAN},
    {"memory", "server_memory_mib", "server", HIGHEST},
    {"memory", "client_memory_mib", "append", HIGHEST},
    {"errors", "errors", "errors", RARE},
    {"errors", "connections_lost", "connections lost", RARE},
    {"errors", "reconnects", "reconnects", RARE},
    {"runs-rows", "rows_per_s", NULL, MEAN},
    {"runs-append-p99", "append_p99_ms", NULL, HIGHEST},
    {"runs-cpu", "host_cpu_percent", NULL, MEAN},
    {"runs-server-memory", "server_memory_mib", NULL, HIGHEST},
    {NULL, NULL, NULL, 0},
};

/* The lines of a chart, one after the other, from `lines` - 1 on; NULL: there are no more. */
static const struct line *next_line(const struct line *line, const struct kind *kind)
{
    for (line = line == NULL ? lines : line + 1; line->chart != NULL; line++) {
        if (strcmp(line->chart, kind->name) == 0) {
            return line;
        }
    }
    return NULL;
}

static struct chart start_chart(enum chart_across across, const char *file, enum figure_unit unit)
{
    static const char *const units[FIGURE_UNITS][2] = {
        [FIGURE_UNIT_ROWS_PER_S] = {"rows/s", "rows/s"},
        [FIGURE_UNIT_MS] = {"ms", "latency, ms"},
        [FIGURE_UNIT_S] = {"s", "time, s"},
        [FIGURE_UNIT_MIB] = {"MiB", "memory, MiB"},
        [FIGURE_UNIT_PERCENT] = {"%", "% of all CPUs"},
    };
    return (struct chart){.across = across,
                          .file = file,
                          .unit = units[unit][0] == NULL ? "" : units[unit][0],
                          .label = units[unit][1] == NULL ? "number" : units[unit][1],
                          .factor = 1};
}

static void name_chart(struct chart *chart, const char *name, const char *title)
{
    snprintf(chart->name, sizeof chart->name, "%s", name);
    snprintf(chart->title, sizeof chart->title, "%s", title);
}

/* A line with room for `most` points. NULL: there are CHART_SERIES_MAX, or no memory. */
static struct chart_series *add_series(struct chart *chart, const char *name, const char *folder,
                                       size_t place, size_t most)
{
    if (chart->series_count == CHART_SERIES_MAX) {
        return NULL;
    }
    struct chart_series *series = &chart->series[chart->series_count];
    *series = (struct chart_series){.folder = folder, .place = place};
    series->points = calloc(most + 1, sizeof *series->points);
    if (series->points == NULL) {
        chart->has_failed = true;
        return NULL;
    }
    snprintf(series->name, sizeof series->name, "%s", name);
    chart->series_count++;
    return series;
}

static void add_level(struct chart_series *series, double from, double to, double y)
{
    series->points[series->count++] = (struct chart_point){from, to, y, y, y};
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
    bool is_there = false;
    *low = INFINITY;
    *high = 0;
    for (size_t i = 0; i < chart->series_count; i++) {
        for (size_t j = 0; j < chart->series[i].count; j++) {
            const struct chart_point *point = &chart->series[i].points[j];
            is_there |= isfinite(point->y);
            *low = point->lowest > 0 ? fmin(*low, point->lowest) : *low;
            *high = fmax(*high, point->highest);
        }
    }
    return is_there;
}

/* Takes a chart with values into the list; false: it has none, and is gone. */
static bool take(struct chart_list *list, struct chart *chart)
{
    double low, high;
    const bool has_values = chart_span(chart, &low, &high);
    struct chart *entries =
        has_values ? realloc(list->entries, (list->count + 1) * sizeof *entries) : NULL;
    list->has_failed |= chart->has_failed || (has_values && entries == NULL);
    if (entries == NULL) {
        free_chart(chart);
        return has_values;
    }
    chart->is_log |= strcmp(chart->unit, "ms") == 0 && high / low >= LOG_FROM_RATIO;
    if (strcmp(chart->unit, "MiB") == 0 && high >= LARGE_MIB) {
        chart->factor = 1.0 / 1024;
        chart->label = "memory, GiB";
        chart->unit = "GiB";
    }
    for (size_t i = 0; i < chart->series_count; i++) {
        struct chart_series *series = &chart->series[i];
        for (size_t j = 0; j < series->count; j++) {
            series->points[j].y *= chart->factor;
            series->points[j].lowest *= chart->factor;
            series->points[j].highest *= chart->factor;
        }
        if (chart->across == CHART_OVER_SESSIONS) {
            qsort(series->points, series->count, sizeof *series->points, compare_points);
        }
    }
    list->entries = entries;
    list->entries[list->count++] = *chart;
    return true;
}

static void say_absent(struct report_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say_absent(struct report_run *run, const char *format, ...)
{
    char sentence[ERROR_TEXT_BYTES + 64];
    va_list list;
    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    buffer_add_format(&run->absent, "%s%s", run->absent.length > 0 ? " " : "", sentence);
}

/* A level of rows `from` to before `to`, which may be one. */
static void merge_rows(struct chart_series *series, const struct csv_table *table, int how,
                       const size_t range[2])
{
    double sum = 0, seconds = 0, highest = -INFINITY, from = NAN, to = NAN, start, end, value;
    for (size_t row = range[0]; row < range[1]; row++) {
        if (!csv_table_number(table, row, csv_table_column(table, "start_s"), &start) ||
            !csv_table_number(table, row, csv_table_column(table, "end_s"), &end)) {
            continue;
        }
        from = isnan(from) ? start : from;
        to = end;
        if (csv_table_number(table, row, series->place, &value) && end > start) {
            sum += value * (end - start);
            seconds += end - start;
            highest = fmax(highest, value);
        }
    }
    if (to > from) {
        const bool is_mean = how == MEAN || how == MEAN_ABOVE_0;
        add_level(series, from, to, seconds <= 0 ? NAN : is_mean ? sum / seconds : highest);
    }
}

/* The line of a column over time. False: no row has a value, or a rare one. */
static bool add_levels(struct chart *chart, const struct report_run *run, const char *name,
                       const char *column, int how)
{
    const bool is_sample = strcmp(chart->file, "samples.csv") == 0;
    const struct csv_table *table = is_sample ? &run->run.samples : &run->run.intervals;
    const size_t each = (table->rows + CHART_LEVELS_MAX - 1) / CHART_LEVELS_MAX;
    const size_t place = csv_table_column(table, column);
    double value, highest = -INFINITY;
    for (size_t row = 0; row < table->rows; row++) {
        highest = csv_table_number(table, row, place, &value) ? fmax(highest, value) : highest;
    }
    if (how >= RARE ? highest <= 0 : isinf(highest)) {
        return false;
    }
    struct chart_series *series = add_series(chart, name, run->run.folder, place, CHART_LEVELS_MAX);
    for (size_t row = 0; row < table->rows && series != NULL; row += each) {
        const size_t end = row + each < table->rows ? row + each : table->rows;
        merge_rows(series, table, how, (const size_t[]){row, end});
    }
    chart->merged = each;
    chart->is_mean = how == MEAN || how == MEAN_ABOVE_0;
    return true;
}

/* Why the server's own figures are not there, in the run's words. */
static void note_server(struct chart *chart, const struct saved_run *run, bool is_both)
{
    const char *note = figure_text(&run->figures, FIGURE_SERVER_NOTE);
    if (is_both) {
        snprintf(chart->note, sizeof chart->note,
                 "The database is part of append: the memory is that of both.");
    } else if (strcmp(chart->series[0].name, "server") != 0) {
        snprintf(chart->note, sizeof chart->note, "The server's own is not known%s%.*s.",
                 note[0] == '\0' ? "" : ": ", CHART_NOTE_BYTES - 40, note);
    }
}

static struct chart start_over_time(const struct kind *kind)
{
    const bool is_sample = (kind->flags & OF_SAMPLES) != 0;
    struct chart chart =
        start_chart(CHART_OVER_TIME, is_sample ? "samples.csv" : "intervals.csv", kind->unit);
    name_chart(&chart, kind->name, kind->title);
    return chart;
}

/* A chart of a run; `call`: the name of its operation, or "". */
static void add_over_time(struct report *report, struct report_run *run, const struct kind *kind,
                          const char *call)
{
    struct chart chart = start_over_time(kind);
    bool is_both = false, has_values = false;
    if (call[0] != '\0') {
        snprintf(chart.name, sizeof chart.name, "%s-%s", call, kind->name);
        snprintf(chart.title, sizeof chart.title, "%c%s %s",
                 call[0] - (call[0] >= 'a' && call[0] <= 'z' ? 'a' - 'A' : 0), call + 1,
                 kind->title);
    }
    for (const struct line *line = next_line(NULL, kind); line != NULL && !is_both;
         line = next_line(line, kind)) {
        char column[CHART_TEXT_BYTES];
        snprintf(column, sizeof column, "%s%s", line->column[0] == '_' ? call : "", line->column);
        has_values |= add_levels(&chart, run, line->name, column, line->how);
        is_both = has_values && strcmp(kind->name, "memory") == 0 &&
                  strcmp(figure_text(&run->run.figures, FIGURE_MEMORY_KIND), "self") == 0;
    }
    if ((kind->flags & WITH_SERVER) != 0 && chart.series_count > 0) {
        note_server(&chart, &run->run, is_both);
    }
    chart.is_filled = (kind->flags & FILLED) != 0 && chart.series_count == 1;
    chart.events = &run->events;
    if (!figure_get(&run->run.figures, FIGURE_ELAPSED_S, &chart.end) || chart.end <= 0) {
        chart.end = 1;
    }
    if (take(&report->charts, &chart) || kind->absent == NULL) {
        return;
    }
    if (call[0] != '\0') {
        say_absent(run, "No chart of %s %s: no %s ended.", call, kind->absent, call);
    } else if (has_values) {
        say_absent(run, "No chart of %.*s: the run was too short.", (int)strcspn(kind->absent, ":"),
                   kind->absent);
    } else {
        say_absent(run, "No chart of %s.", kind->absent);
    }
}

/* A chart for each operation that has columns in the file, in their order. */
static void add_calls(struct report *report, struct report_run *run, const struct kind *kind)
{
    const struct csv_table *table = &run->run.intervals;
    const char *end = next_line(NULL, kind)->column;
    for (size_t column = 0; column < table->columns; column++) {
        char call[24];
        const char *name = table->cells[column];
        const size_t length = strlen(name), tail = strlen(end);
        if (length > tail && length - tail < sizeof call &&
            strcmp(name + length - tail, end) == 0) {
            snprintf(call, sizeof call, "%.*s", (int)(length - tail), name);
            add_over_time(report, run, kind, call);
        }
    }
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

/* An older version may have called it otherwise. */
static void name_hgrm(struct chart_series *series, const char *call)
{
    const struct operation_list all = operation_list_all();
    char path[SAVED_RUN_PATH_BYTES + CHART_NAME_BYTES];
    snprintf(series->file, sizeof series->file, "%.30s.hgrm", call);
    snprintf(path, sizeof path, "%s/%s", series->folder, series->file);
    for (size_t i = 0; i < all.count && access(path, F_OK) != 0; i++) {
        if (strcmp(all.entries[i].name, call) == 0 && all.entries[i].alias != NULL) {
            snprintf(series->file, sizeof series->file, "%.30s.hgrm", all.entries[i].alias);
        }
    }
}

/* A line of the calls of one kind: each bucket is a level from the share that is below it to that
 * which is not above it. */
static void add_percentiles(struct chart *chart, const struct report_run *run, const char *name,
                            const char *call)
{
    struct histogram *histogram = malloc(sizeof *histogram);
    const json_t *json = json_object_get(json_object_get(run->run.json, "histograms"), call);
    struct chart_series *series = NULL;
    chart->has_failed |= histogram == NULL;
    if (histogram != NULL && json != NULL && read_histogram(histogram, json)) {
        series = add_series(chart, name, run->run.folder, 0, HISTOGRAM_BUCKETS + 1);
        chart->end = fmax(chart->end, (double)histogram->total);
    }
    if (series != NULL) {
        name_hgrm(series, call);
    }
    for (size_t bucket = 0, seen = 0; series != NULL && bucket <= HISTOGRAM_BUCKETS; bucket++) {
        const bool is_beyond = bucket == HISTOGRAM_BUCKETS;
        const uint64_t count = is_beyond ? histogram->overflow : histogram->counts[bucket];
        const int64_t high_ns = is_beyond ? INT64_MAX : histogram_bucket_high_ns(bucket);
        const int64_t ns = high_ns < histogram->max_ns ? high_ns : histogram->max_ns;
        const double total = (double)histogram->total, before = (double)seen;
        seen += count;
        if (count > 0) {
            add_level(series, total / (total - before),
                      seen < histogram->total ? total / (total - (double)seen) : total,
                      (double)ns / (double)MONO_NS_PER_MS);
        }
    }
    free(histogram);
}

static struct chart start_percentiles(const char *name, const char *title)
{
    struct chart chart = start_chart(CHART_OVER_PERCENTILE, "", FIGURE_UNIT_MS);
    name_chart(&chart, name, title);
    chart.is_log = true;
    chart.end = 10;
    return chart;
}

static void add_latency_by_percentile(struct report *report, struct report_run *run)
{
    struct chart chart = start_percentiles("latency-by-percentile", "Latency by percentile");
    const char *call;
    json_t *histogram;
    json_object_foreach(json_object_get(run->run.json, "histograms"), call, histogram)
    {
        add_percentiles(&chart, run, call, call);
    }
    if (!take(&report->charts, &chart)) {
        say_absent(run, "No chart of latency by percentile: nothing was measured.");
    }
}

/* Rows/s of the sessions, slowest first. */
static void add_pace(struct report *report, struct report_run *run)
{
    char path[SAVED_RUN_PATH_BYTES + 16];
    struct csv_table table;
    struct error error;
    error_clear(&error);
    snprintf(path, sizeof path, "%s/sessions.csv", run->run.folder);
    if (csv_table_read(&table, path, &error) != STATUS_OK) {
        say_absent(run, "No chart of the sessions' pace: %s.", error.text);
        return;
    }
    struct chart chart = start_chart(CHART_OVER_SHARE, "sessions.csv", FIGURE_UNIT_ROWS_PER_S);
    name_chart(&chart, "pace", "Pace of the sessions, slowest first");
    chart.label = "rows/s of a session";
    chart.is_filled = true;
    chart.end = 100;
    const size_t place = csv_table_column(&table, "rows_per_s");
    struct chart_series *series =
        add_series(&chart, chart.label, run->run.folder, place, table.rows);
    for (size_t row = 0; row < table.rows && series != NULL; row++) {
        double pace;
        if (csv_table_number(&table, row, place, &pace)) {
            add_level(series, pace, pace, pace);
        }
    }
    csv_table_free(&table);
    const size_t count = series == NULL ? 0 : series->count;
    if (count < 2) {
        free_chart(&chart);
        return;
    }
    qsort(series->points, count, sizeof *series->points, compare_points);
    series->count = 0;
    const size_t levels = count < PACE_LEVELS ? count : PACE_LEVELS;
    while (series->count < levels) {
        const size_t i = series->count;
        add_level(series, 100.0 * (double)i / (double)levels,
                  100.0 * (double)(i + 1) / (double)levels,
                  series->points[i * (count - 1) / (levels - 1)].y);
    }
    take(&report->charts, &chart);
}

/* Of the levels of a search, those that held. */
static void add_held(struct report *report, const struct report_run *run, const struct kind *kind)
{
    const struct csv_table *table = &run->run.levels;
    struct chart chart = start_chart(CHART_OVER_SESSIONS, "levels.csv", kind->unit);
    name_chart(&chart, kind->name, kind->title);
    for (const struct line *line = next_line(NULL, kind); line != NULL;
         line = next_line(line, kind)) {
        const size_t place = csv_table_column(table, line->column);
        struct chart_series *series =
            add_series(&chart, line->name, run->run.folder, place, table->rows);
        for (size_t row = 0; row < table->rows && series != NULL; row++) {
            double sessions, value;
            if (strcmp(csv_table_text(table, row, csv_table_column(table, "outcome")), "held") ==
                    0 &&
                csv_table_number(table, row, csv_table_column(table, "sessions"), &sessions) &&
                csv_table_number(table, row, place, &value)) {
                add_level(series, sessions, sessions, value);
            }
        }
        if (series != NULL && series->count == 0) {
            free(series->points);
            chart.series_count--;
        }
    }
    take(&report->charts, &chart);
}

static void add_run(struct report *report, struct report_run *run)
{
    double elapsed_s;
    const unsigned of = run->run.is_search ? OF_LEVELS | OF_SEARCH : OF_RUN;
    const bool is_short = of == OF_RUN &&
                          figure_get(&run->run.figures, FIGURE_ELAPSED_S, &elapsed_s) &&
                          elapsed_s < TIME_FROM_S && elapsed_s > 0;
    if (is_short) {
        say_absent(run,
                   "No charts over time: the run took %.3g s, and figures are taken each second.",
                   elapsed_s);
        add_latency_by_percentile(report, run);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !is_short; i++) {
        const unsigned flags = kinds[i].flags & of ? kinds[i].flags : 0;
        if ((flags & OF_LEVELS) != 0) {
            add_held(report, run, &kinds[i]);
        } else if ((flags & EACH_CALL) != 0) {
            add_calls(report, run, &kinds[i]);
            add_latency_by_percentile(report, run);
        } else if (flags != 0) {
            add_over_time(report, run, &kinds[i], "");
        }
    }
    if (of == OF_RUN) {
        add_pace(report, run);
    }
}

static void note_first(struct chart *chart, size_t count, size_t limit, const char *what)
{
    if (count > limit) {
        snprintf(chart->note, sizeof chart->note, "The first %zu %s. ", limit, what);
    }
}

const struct figure *report_headline(size_t i)
{
    for (const struct figure *figure = figure_table; figure < figure_table + FIGURES; figure++) {
        if (figure->group == FIGURE_GROUP_HEADLINE && i-- == 0) {
            return figure;
        }
    }
    return NULL;
}

/* Of a headline: "runs-max-cpu", after its key without the unit. */
static struct chart start_headline(enum chart_across across, const char *file, const char *before,
                                   const struct figure *figure)
{
    struct chart chart = start_chart(across, file, figure->unit);
    snprintf(chart.name, sizeof chart.name, "%s-%.*s", before,
             (int)(strlen(figure->key) - strlen(figure_suffix(figure->key))), figure->key);
    for (char *at = chart.name; *at != '\0'; at++) {
        *at = (char)(*at == '_' ? '-' : *at);
    }
    snprintf(chart.title, sizeof chart.title, "%s%s", figure->label,
             across == CHART_OVER_SESSIONS ? " against sessions" : "");
    return chart;
}

/* A headline of a sweep: a curve for each number of records. */
static void add_sweep(struct report *report, const struct saved_sweep *sweep, size_t number,
                      const struct figure *figure)
{
    char name[REPORT_WORDS_BYTES + 8], count[REPORT_WORDS_BYTES];
    snprintf(name, sizeof name, "sweep%zu", number);
    struct chart chart = start_headline(CHART_OVER_SESSIONS, "sweep.csv", name, figure);
    for (size_t records = 0; records < sweep->records_count; records++) {
        snprintf(name, sizeof name, "%s rows",
                 report_format_count((double)sweep->records[records], count));
        struct chart_series *series =
            add_series(&chart, name, sweep->folder, csv_table_column(&sweep->table, figure->key),
                       sweep->sessions_count);
        for (size_t i = 0; i < sweep->sessions_count && series != NULL; i++) {
            const double sessions = (double)sweep->sessions[i];
            struct spread found;
            series->records = (double)sweep->records[records];
            if (saved_sweep_figure(sweep, i, records, figure->key, &found)) {
                series->points[series->count++] = (struct chart_point){
                    sessions, sessions, found.median, found.lowest, found.highest};
            }
        }
    }
    chart.is_median = sweep->repeat > 1;
    note_first(&chart, sweep->records_count, CHART_SERIES_MAX, "numbers of rows");
    if (sweep->records_count == 1) {
        snprintf(chart.note, sizeof chart.note, "All with %s. ", chart.series[0].name);
    }
    const size_t used = strlen(chart.note);
    snprintf(chart.note + used, sizeof chart.note - used, "%s",
             chart.is_median ? "The median of the runs, from the lowest to the highest." : "");
    take(&report->charts, &chart);
}

static void add_bars(struct report *report, const struct figure *figure)
{
    struct chart chart = start_headline(CHART_OVER_RUNS, "summary.csv", "runs", figure);
    struct chart_series *series = add_series(&chart, "runs", "", 0, CHART_BARS_MAX);
    chart.figure = figure;
    chart.runs = report->runs;
    for (size_t i = 0; i < report->run_count && i < CHART_BARS_MAX && series != NULL; i++) {
        double value;
        chart.end = (double)i + 1;
        if (saved_run_figure(&report->runs[i].run, figure->key, &value)) {
            add_level(series, (double)i, (double)i, value);
        }
    }
    note_first(&chart, report->run_count, CHART_BARS_MAX, "runs");
    take(&report->charts, &chart);
}

/* A chart in which each of the first runs is a line; with fewer than two lines it is none. */
static void add_together(struct report *report, const struct kind *kind)
{
    const struct line *line = kind == NULL ? NULL : next_line(NULL, kind);
    struct chart chart = kind == NULL ? start_percentiles("runs-append-by-percentile",
                                                          "Append latency by percentile")
                                      : start_over_time(kind);
    for (size_t i = 0; i < report->run_count && i < CHART_SERIES_MAX; i++) {
        const struct report_run *run = &report->runs[i];
        double elapsed_s;
        if (kind == NULL) {
            add_percentiles(&chart, run, run->label, "append");
        } else if (figure_get(&run->run.figures, FIGURE_ELAPSED_S, &elapsed_s) &&
                   elapsed_s >= TIME_FROM_S &&
                   add_levels(&chart, run, run->label, line->column, line->how)) {
            chart.end = fmax(chart.end, elapsed_s);
        }
    }
    note_first(&chart, report->run_count, CHART_SERIES_MAX, "runs");
    if (report->run_count <= CHART_SERIES_MAX && chart.series_count < report->run_count) {
        snprintf(chart.note, sizeof chart.note,
                 "Runs under %d s, and without the figure, are left out.", TIME_FROM_S);
    }
    if (chart.series_count < 2) {
        free_chart(&chart);
    } else {
        take(&report->charts, &chart);
    }
}

bool charts_make(struct report *report)
{
    const bool is_beside = report->run_count > 1 && report->sweep_count == 0;
    struct chart_list *list = &report->charts;
    const struct figure *figure;
    for (size_t i = 0; i < report->sweep_count; i++) {
        report->sweeps[i].charts.first = list->count;
        for (size_t f = 0; (figure = report_headline(f)) != NULL; f++) {
            add_sweep(report, &report->sweeps[i].sweep, i + 1, figure);
        }
        report->sweeps[i].charts.count = list->count - report->sweeps[i].charts.first;
    }
    report->overview.first = list->count;
    for (size_t f = 0; is_beside && (figure = report_headline(f)) != NULL; f++) {
        add_bars(report, figure);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && is_beside; i++) {
        if ((kinds[i].flags & OF_RUNS) != 0) {
            add_together(report, &kinds[i]);
        }
    }
    if (is_beside) {
        add_together(report, NULL);
    }
    report->overview.count = list->count - report->overview.first;
    for (size_t i = 0; i < report->run_count && report->has_run_charts; i++) {
        struct report_run *run = &report->runs[i];
        run->charts.first = list->count;
        add_run(report, run);
        run->charts.count = list->count - run->charts.first;
        list->has_failed |= buffer_failed(&run->absent);
    }
    return !list->has_failed;
}
