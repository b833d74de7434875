#include "chart/set_charts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "chart/axis.h"
#include "chart/run_words.h"

enum {
    TICKS_OF_CELLS = 8, /* up to so many sessions have a tick each */
    LOG_FROM_RATIO = 12 /* of most to least sessions */
};
#define BAR_ROOM 1.3 /* for the value at the bar's end */

/* Sessions across: each number of the sweep where there is room. */
static void fit_sessions(struct chart *chart, const struct saved_sweep *sweep)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < sweep->sessions_count; i++) {
        low = fmin(low, (double)sweep->sessions[i]);
        high = fmax(high, (double)sweep->sessions[i]);
    }
    snprintf(chart->x.label, sizeof chart->x.label, "sessions");
    const bool is_log = high / low >= LOG_FROM_RATIO;
    if (is_log) {
        axis_fit_log(&chart->x, low, high);
        chart->x.low = low * 0.9;
        chart->x.high = high * 1.1;
    } else {
        axis_fit_span(&chart->x, 0, high * 1.05);
    }
    if (is_log && sweep->sessions_count <= TICKS_OF_CELLS) {
        chart->x.tick_count = 0;
        for (size_t i = 0; i < sweep->sessions_count; i++) {
            char text[RUN_WORDS_BYTES];
            const double at = (double)sweep->sessions[i];
            axis_add_tick(&chart->x, at, run_words_count(at, text));
        }
    }
}

static void add_curve(struct chart *chart, const struct saved_sweep *sweep, size_t records,
                      const char *column)
{
    char count[RUN_WORDS_BYTES], name[RUN_WORDS_BYTES + 8];
    snprintf(name, sizeof name, "%s rows", run_words_count((double)sweep->records[records], count));
    struct chart_series *series = chart_add_series(chart, name);
    for (size_t i = 0; i < sweep->sessions_count && series != NULL; i++) {
        struct spread figure;
        if (saved_sweep_figure(sweep, i, records, column, &figure)) {
            chart_add_spread(chart, series,
                             &(struct chart_point){(double)sweep->sessions[i], figure.median,
                                                   figure.lowest, figure.highest});
        }
    }
    if (series != NULL) {
        series->has_dots = true;
    }
}

void set_charts_add_sweep(struct chart_list *list, const struct saved_sweep *sweep, size_t number)
{
    for (size_t i = 0; i < RUN_WORDS_FIGURES; i++) {
        const struct run_words_figure *figure = &run_words_figures[i];
        char name[CHART_NAME_BYTES], title[CHART_TEXT_BYTES];
        struct chart chart;
        double low = 0, high = 0;
        snprintf(name, sizeof name, "sweep%zu-%s", number, figure->name);
        snprintf(title, sizeof title, "%s against sessions", figure->title);
        chart_init(&chart, name, title);
        for (size_t records = 0; records < sweep->records_count; records++) {
            add_curve(&chart, sweep, records, figure->column);
        }
        if (!chart_span_y(&chart, -1, &low, &high)) {
            chart_fini(&chart);
            continue;
        }
        if (sweep->records_count > CHART_SERIES_MAX) {
            snprintf(chart.note, sizeof chart.note, "The first %d numbers of rows.",
                     CHART_SERIES_MAX);
        } else if (sweep->records_count == 1) {
            snprintf(chart.note, sizeof chart.note, "All with %s.", chart.series[0].name);
        }
        if (sweep->repeat > 1) {
            const size_t length = strlen(chart.note);
            snprintf(chart.note + length, sizeof chart.note - length,
                     "%sThe median of the runs, from the lowest to the highest.",
                     length > 0 ? " " : "");
        }
        snprintf(chart.y.label, sizeof chart.y.label, "%s", figure->axis);
        axis_fit_from_zero(&chart.y, high);
        fit_sessions(&chart, sweep);
        chart_list_take(list, &chart);
    }
}

static void add_bars(struct chart_list *list, const struct report_set *set,
                     const struct run_words_figure *figure)
{
    struct chart chart;
    char name[CHART_NAME_BYTES];
    snprintf(name, sizeof name, "runs-%s", figure->name);
    chart_init(&chart, name, figure->title);
    chart.is_bars = true;
    chart.y.scale = CHART_NAMES;
    struct chart_series *series = chart_add_series(&chart, "runs");
    double high = 0;
    size_t known = 0;
    for (size_t i = 0; i < set->run_count && i < CHART_TICKS_MAX; i++) {
        double value;
        axis_add_tick(&chart.y, (double)i, set->runs[i].label);
        if (saved_run_figure(&set->runs[i].run, figure->column, &value)) {
            chart_add_point(&chart, series, value, (double)i);
            high = fmax(high, value);
            known++;
        }
    }
    if (known == 0) {
        chart_fini(&chart);
        return;
    }
    if (set->run_count > CHART_TICKS_MAX) {
        snprintf(chart.note, sizeof chart.note, "The first %d runs.", CHART_TICKS_MAX);
    }
    snprintf(chart.x.label, sizeof chart.x.label, "%s", figure->axis);
    axis_fit_from_zero(&chart.x, high);
    const double step = chart.x.tick_count > 1 ? chart.x.ticks[1].at : high;
    chart.x.high = fmax(chart.x.high, fmax(high * BAR_ROOM, step));
    chart_list_take(list, &chart);
}

void set_charts_add_runs(struct chart_list *list, const struct report_set *set)
{
    for (size_t i = 0; i < RUN_WORDS_FIGURES; i++) {
        add_bars(list, set, &run_words_figures[i]);
    }
}
