#include "chart/time_charts.h"

#include <math.h>
#include <stdio.h>

#include "base/mono.h"
#include "chart/axis.h"

enum {
    MINUTES_FROM_S = 300,
    HOURS_FROM_S = 3 * 3600
};

/* The rows from `first` to before `last`, as one. */
static double merge_rows(const struct csv_table *table, size_t column, size_t first, size_t last,
                         enum time_merge merge)
{
    const size_t start = csv_table_column(table, "start_s");
    const size_t end = csv_table_column(table, "end_s");
    double sum = 0, seconds = 0, highest = NAN;
    for (size_t row = first; row < last; row++) {
        double value, from, to;
        if (!csv_table_number(table, row, column, &value) ||
            !csv_table_number(table, row, start, &from) ||
            !csv_table_number(table, row, end, &to)) {
            continue;
        }
        sum += value * (to - from);
        seconds += to - from;
        highest = highest > value ? highest : value;
    }
    return merge == TIME_HIGHEST ? highest : seconds > 0 ? sum / seconds : NAN;
}

static void add_level(struct chart *chart, struct chart_series *series,
                      const struct csv_table *table, const size_t rows[2], double value)
{
    double from, to;
    if (!csv_table_number(table, rows[0], csv_table_column(table, "start_s"), &from) ||
        !csv_table_number(table, rows[1] - 1, csv_table_column(table, "end_s"), &to)) {
        return;
    }
    const bool goes_on = series->count > 0 && isfinite(series->points[series->count - 1].y);
    if (isfinite(value)) {
        chart_add_point(chart, series, from, value);
        chart_add_point(chart, series, to, value);
    } else if (goes_on) {
        chart_add_point(chart, series, from, NAN);
    }
}

bool time_charts_add(struct chart *chart, const struct csv_table *table, const char *column,
                     const char *name, enum time_merge merge)
{
    const size_t place = csv_table_column(table, column);
    bool is_there = false;
    for (size_t row = 0; row < table->rows && !is_there; row++) {
        double value;
        is_there = csv_table_number(table, row, place, &value);
    }
    struct chart_series *series = is_there ? chart_add_series(chart, name) : NULL;
    if (series == NULL) {
        return false;
    }
    const size_t each = (table->rows + TIME_LEVELS_MAX - 1) / TIME_LEVELS_MAX;
    for (size_t row = 0; row < table->rows; row += each) {
        const size_t last = row + each < table->rows ? row + each : table->rows;
        add_level(chart, series, table, (const size_t[]){row, last},
                  merge_rows(table, place, row, last, merge));
    }
    return true;
}

void time_charts_finish_x(struct chart *chart, double end_s, const struct event_list *events)
{
    const double unit_s = end_s >= HOURS_FROM_S     ? 3600
                          : end_s >= MINUTES_FROM_S ? 60
                          : end_s >= 1              ? 1
                                                    : 1e-3;
    snprintf(chart->x.label, sizeof chart->x.label, "time since the start, %s",
             unit_s > 60  ? "h"
             : unit_s > 1 ? "min"
             : unit_s < 1 ? "ms"
                          : "s");
    for (size_t i = 0; i < chart->series_count; i++) {
        for (size_t point = 0; point < chart->series[i].count; point++) {
            chart->series[i].points[point].x /= unit_s;
        }
    }
    axis_fit_span(&chart->x, 0, end_s / unit_s);
    for (size_t i = 0; i < events->count; i++) {
        const double at_s = (double)events->entries[i].at_ns / (double)MONO_NS_PER_S;
        if (at_s <= end_s) {
            chart_add_mark(chart, at_s / unit_s, (unsigned)i + 1);
        }
    }
}
