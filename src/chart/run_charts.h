/*
 * The charts of one run: what its files say, over time and by percentile.
 *
 * A chart without a figure is not made: a sentence says why.
 */
#ifndef CHART_RUN_CHARTS_H
#define CHART_RUN_CHARTS_H

#include "base/buffer.h"
#include "chart/chart.h"
#include "chart/report_set.h"
#include "measure/event_list.h"
#include "runs/saved_run.h"

/* Adds the charts of a run to *list, with a line for each event, and to *absent a sentence for
 * each chart that is not there. */
void run_charts_add(struct chart_list *list, struct buffer *absent, const struct saved_run *run,
                    const struct event_list *events);

/* Adds charts in which each of the runs is a line: rows, append latency, CPU and memory over time,
 * and append latency by percentile. Those that fewer than two runs have a line in are not made. */
void run_charts_add_together(struct chart_list *list, const struct report_set *set);

#endif
