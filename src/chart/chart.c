#include "chart/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    POINTS_FIRST = 64,
    CHARTS_FIRST = 16
};

void chart_init(struct chart *chart, const char *name, const char *title)
{
    *chart = (struct chart){0};
    snprintf(chart->name, sizeof chart->name, "%s", name);
    snprintf(chart->title, sizeof chart->title, "%s", title);
}

void chart_fini(struct chart *chart)
{
    for (size_t i = 0; i < chart->series_count; i++) {
        free(chart->series[i].points);
    }
    *chart = (struct chart){0};
}

struct chart_series *chart_add_series(struct chart *chart, const char *name)
{
    if (chart->series_count == CHART_SERIES_MAX) {
        return NULL;
    }
    struct chart_series *series = &chart->series[chart->series_count++];
    snprintf(series->name, sizeof series->name, "%s", name);
    return series;
}

void chart_add_point(struct chart *chart, struct chart_series *series, double x, double y)
{
    chart_add_spread(chart, series, &(struct chart_point){x, y, y, y});
}

void chart_add_spread(struct chart *chart, struct chart_series *series,
                      const struct chart_point *point)
{
    if (series->count == series->capacity) {
        const size_t capacity = series->capacity == 0 ? POINTS_FIRST : 2 * series->capacity;
        struct chart_point *points = realloc(series->points, capacity * sizeof *points);
        if (points == NULL) {
            chart->has_failed = true;
            return;
        }
        series->points = points;
        series->capacity = capacity;
    }
    series->points[series->count++] = *point;
}

bool chart_add_mark(struct chart *chart, double x, unsigned number)
{
    if (chart->mark_count == CHART_MARKS_MAX) {
        return false;
    }
    chart->marks[chart->mark_count++] = (struct chart_mark){x, number};
    return true;
}

bool chart_has_data(const struct chart *chart)
{
    double low, high;
    return chart_span_y(chart, -INFINITY, &low, &high);
}

void chart_scale_y(struct chart *chart, double factor)
{
    for (size_t i = 0; i < chart->series_count; i++) {
        for (size_t point = 0; point < chart->series[i].count; point++) {
            struct chart_point *at = &chart->series[i].points[point];
            at->y *= factor;
            at->lowest *= factor;
            at->highest *= factor;
        }
    }
}

bool chart_span_y(const struct chart *chart, double floor, double *low, double *high)
{
    bool is_there = false;
    for (size_t i = 0; i < chart->series_count; i++) {
        const struct chart_series *series = &chart->series[i];
        for (size_t point = 0; point < series->count; point++) {
            const struct chart_point *at = &series->points[point];
            if (isfinite(at->y) && at->y > floor) {
                *low = is_there && *low < at->lowest ? *low : at->lowest;
                *high = is_there && *high > at->highest ? *high : at->highest;
                is_there = true;
            }
        }
    }
    return is_there;
}

void chart_list_take(struct chart_list *list, struct chart *chart)
{
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity == 0 ? CHARTS_FIRST : 2 * list->capacity;
        struct chart *entries = realloc(list->entries, capacity * sizeof *entries);
        if (entries == NULL) {
            list->has_failed = true;
            chart_fini(chart);
            return;
        }
        list->entries = entries;
        list->capacity = capacity;
    }
    list->has_failed |= chart->has_failed;
    list->entries[list->count++] = *chart;
    *chart = (struct chart){0};
}

void chart_list_free(struct chart_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        chart_fini(&list->entries[i]);
    }
    free(list->entries);
    *list = (struct chart_list){0};
}
