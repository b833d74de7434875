/*
 * What a report is made of: runs and sweeps that were read back, and their charts.
 *
 * Runs stand in the order in which their folders were named, those of a sweep in its order.
 */
#ifndef CHART_REPORT_SET_H
#define CHART_REPORT_SET_H

#include <stddef.h>

#include "append/error.h"
#include "base/buffer.h"
#include "chart/chart.h"
#include "measure/event_list.h"
#include "runs/saved_run.h"
#include "runs/saved_sweep.h"

enum {
    REPORT_FOLDERS_MAX = 64,
    REPORT_RUNS_MAX = 200, /* with charts and tables of their own */
    REPORT_LABEL_BYTES = 64,
    REPORT_LABEL_COLUMNS = 26,
};

struct report_run {
    struct saved_run run;
    struct event_list events;
    char events_error[ERROR_TEXT_BYTES]; /* why there are none; "" when they were read */
    char label[REPORT_LABEL_BYTES];      /* short, and of this run alone */
    size_t first_chart;                  /* in charts of the set */
    size_t chart_count;
    struct buffer absent; /* sentences about charts that are not there */
};

struct report_sweep {
    struct saved_sweep sweep;
    size_t first_chart;
    size_t chart_count;
    unsigned left_out; /* ended runs whose files are not there or cannot be read */
};

struct report_set {
    struct report_run *runs; /* owned */
    size_t run_count;
    struct report_sweep *sweeps; /* owned */
    size_t sweep_count;
    size_t beyond; /* runs that are too many: they are in no chart */
    struct chart_list charts;
    size_t overview_first; /* charts that put the runs beside each other */
    size_t overview_count;
    bool has_run_charts; /* a single run always has; of several only when they were asked for */
};

/* Reads the folders and makes the charts: of several runs those that put them beside each other,
 * and with `with_runs` those of each run, too. REJECTED: *error names the folder or file and what
 * is wrong; *set owns nothing. */
enum status report_set_read(struct report_set *set, const char *const *folders, size_t count,
                            bool with_runs, struct error *error);
void report_set_free(struct report_set *set);

#endif
