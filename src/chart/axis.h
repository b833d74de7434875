/*
 * Ticks of an axis: round numbers (1, 2 or 5 times a power of ten), written in full.
 */
#ifndef CHART_AXIS_H
#define CHART_AXIS_H

#include "chart/chart.h"

enum {
    AXIS_NUMBER_BYTES = 32
};

/* A number for people: 1,234, 12.5, 0.003; `decimals` behind the point. Returns `text`. */
const char *axis_format(double value, int decimals, char text[AXIS_NUMBER_BYTES]);

/* The same with as many digits as a value needs by its size: three, or all before the point. */
const char *axis_format_value(double value, char text[AXIS_NUMBER_BYTES]);

/* From 0 to a tick above `high`; an axis of nothing but zeros goes to 1. */
void axis_fit_from_zero(struct chart_axis *axis, double high);

/* From `low` to `high` exactly, the ticks between them. */
void axis_fit_span(struct chart_axis *axis, double low, double high);

/* Logarithmic, from a tick below `low` (above 0) to one above `high`. */
void axis_fit_log(struct chart_axis *axis, double low, double high);

/* The same for times: each tick has its unit (10 us, 1 ms, 2 s). */
void axis_fit_log_time(struct chart_axis *axis, double low_ms, double high_ms);

/* Shares from 0 % to that which one of `count` measurements is. */
void axis_fit_percentile(struct chart_axis *axis, double count);

/* A tick of a name or value of the caller's own; left out when there are CHART_TICKS_MAX. */
void axis_add_tick(struct chart_axis *axis, double at, const char *label);

#endif
