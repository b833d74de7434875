/*
 * Charts that put runs beside each other: the four figures of several runs as bars, and those of a
 * sweep as curves against the sessions.
 */
#ifndef CHART_SET_CHARTS_H
#define CHART_SET_CHARTS_H

#include "chart/chart.h"
#include "chart/report_set.h"
#include "runs/saved_sweep.h"

/* A curve for each number of records; figures that no run has get no chart. `number` is that of
 * the sweep in the report, from 1. */
void set_charts_add_sweep(struct chart_list *list, const struct saved_sweep *sweep, size_t number);

/* A bar for each run, by its label; at most CHART_TICKS_MAX of them. */
void set_charts_add_runs(struct chart_list *list, const struct report_set *set);

#endif
