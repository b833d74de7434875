/*
 * Charts over the time of a run, from the rows of its intervals.csv and samples.csv. Each row is a
 * level from its start to its end, so that a run of one row can be seen as well.
 */
#ifndef CHART_TIME_CHARTS_H
#define CHART_TIME_CHARTS_H

#include <stdbool.h>

#include "chart/chart.h"
#include "measure/event_list.h"
#include "runs/csv_table.h"

enum {
    TIME_LEVELS_MAX = 600 /* more rows are put together */
};

/* What rows that are put together come to. */
enum time_merge {
    TIME_MEAN,    /* by their length */
    TIME_HIGHEST, /* the worst is not to be hidden */
};

/* A series of one column; rows without a value are gaps. False: no row has one (then there is no
 * series more). */
bool time_charts_add(struct chart *chart, const struct csv_table *table, const char *column,
                     const char *name, enum time_merge merge);

/* Axis of the time from the start of the run to `end_s`, in s, min or h, and the events as marks;
 * changes the x of all points. Events behind the end are not drawn. */
void time_charts_finish_x(struct chart *chart, double end_s, const struct event_list *events);

#endif
