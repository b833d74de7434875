/*
 * A chart as data: titles, axes with their ticks, and series of points. What draws it is apart
 * (chart/script.h), so that the same chart comes out as SVG, as PNG and as text.
 *
 * All texts are plain UTF-8; what draws them quotes them. One thread.
 */
#ifndef CHART_CHART_H
#define CHART_CHART_H

#include <stdbool.h>
#include <stddef.h>

enum {
    CHART_NAME_BYTES = 40,
    CHART_TEXT_BYTES = 96,
    CHART_NOTE_BYTES = 240,
    CHART_SERIES_MAX = 8,
    CHART_TICKS_MAX = 48,
    CHART_MARKS_MAX = 40,
};

enum chart_scale {
    CHART_LINEAR,
    CHART_LOG,
    CHART_PERCENTILE, /* x is 1 / (1 - share), its ticks say the share: 50 %, 99 % */
    CHART_NAMES,      /* places 0, 1, ... with a name each */
};

struct chart_tick {
    double at;
    char label[CHART_TEXT_BYTES];
};

struct chart_axis {
    char label[CHART_TEXT_BYTES]; /* what it is, and its unit */
    enum chart_scale scale;
    double low;
    double high;
    struct chart_tick ticks[CHART_TICKS_MAX];
    size_t tick_count;
};

struct chart_point {
    double x;
    double y;      /* NaN: the line has a gap here */
    double lowest; /* of what was measured several times; y where it was not */
    double highest;
};

struct chart_series {
    char name[CHART_TEXT_BYTES];
    struct chart_point *points; /* owned */
    size_t count;
    size_t capacity;
    bool is_filled; /* the area down to 0, too */
    bool has_dots;  /* a dot at each point, and a bar from its lowest to its highest */
};

/* A line across, such as an event; its label is its number in the list beside the charts. */
struct chart_mark {
    double x;
    unsigned number;
};

/* All zero: empty. */
struct chart {
    char name[CHART_NAME_BYTES];  /* for a file: "rows-per-second" */
    char title[CHART_TEXT_BYTES]; /* what it shows */
    char note[CHART_NOTE_BYTES];  /* how to read it; may be "" */
    struct chart_axis x;
    struct chart_axis y;
    bool is_bars; /* bars to the right: y has CHART_NAMES, series 0 has (value, place) */
    struct chart_series series[CHART_SERIES_MAX];
    size_t series_count;
    struct chart_mark marks[CHART_MARKS_MAX];
    size_t mark_count;
    bool has_failed; /* out of memory: points are missing */
};

struct chart_list {
    struct chart *entries; /* owned */
    size_t count;
    size_t capacity;
    bool has_failed; /* out of memory: charts are missing */
};

/* Names and axes of an empty chart; it owns nothing yet. */
void chart_init(struct chart *chart, const char *name, const char *title);
void chart_fini(struct chart *chart);

/* A series more; NULL: there are CHART_SERIES_MAX already. */
struct chart_series *chart_add_series(struct chart *chart, const char *name);
void chart_add_point(struct chart *chart, struct chart_series *series, double x, double y);

/* The same for what was measured several times. */
void chart_add_spread(struct chart *chart, struct chart_series *series,
                      const struct chart_point *point);

/* A line across at x. False: there are CHART_MARKS_MAX already. */
bool chart_add_mark(struct chart *chart, double x, unsigned number);

/* True when some series has a point that can be drawn. */
bool chart_has_data(const struct chart *chart);

/* Multiplies every y: another unit. */
void chart_scale_y(struct chart *chart, double factor);

/* Lowest and highest y of all series above `floor`. False: there is none. */
bool chart_span_y(const struct chart *chart, double floor, double *low, double *high);

/* Takes the chart over, and leaves it empty. */
void chart_list_take(struct chart_list *list, struct chart *chart);
void chart_list_free(struct chart_list *list);

#endif
