/*
 * A report: finished runs and sweeps that were read back, their charts, and what is made of them: a
 * page, text, pictures, JSON. One thread.
 *
 * Runs are in the order in which their folders were named, those of a sweep in its order. All
 * texts are as they were read: what shows them makes them safe.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "append/error.h"
#include "base/text.h"
#include "figures/saved.h"
#include "measure/result.h"

#define REPORT_FILE "report.html"

/* How a page begins: a file that does not begin so is no page of this program. */
#define REPORT_PAGE_BEGIN "<!DOCTYPE html>\n<html lang=\"en\" data-made-by=\"append\">\n"

enum {
    REPORT_FOLDERS_MAX = 64,
    REPORT_RUNS_MAX = 200, /* with charts and tables of their own */
    REPORT_LABEL_BYTES = 64,
    REPORT_LABEL_COLUMNS = 26,
    REPORT_WORDS_BYTES = 96,
    REPORT_ESCAPED_BYTES = 8192,
    REPORT_PATH_BYTES = 2 * SAVED_RUN_PATH_BYTES,
    REPORT_TEXT_COLUMNS_MIN = 40,
    REPORT_TEXT_COLUMNS = 80, /* where there is no terminal */
    REPORT_TEXT_COLUMNS_MAX = 160,
    CHART_NAME_BYTES = 40,
    CHART_TEXT_BYTES = 96,
    CHART_NOTE_BYTES = 240,
    CHART_SERIES_MAX = 8,
    CHART_LEVELS_MAX = 600, /* over time; more rows are put together */
    CHART_BARS_MAX = 48,
    CHART_MARKS_MAX = 40,
};

/* What stands across, and so how a chart is drawn: levels from one place to the next, but dots on a
 * line over sessions and bars for runs. */
enum chart_across {
    CHART_OVER_TIME,       /* seconds since the start */
    CHART_OVER_PERCENTILE, /* 1 / (1 - share): the ticks say the share */
    CHART_OVER_SHARE,      /* per cent */
    CHART_OVER_SESSIONS,
    CHART_OVER_RUNS, /* place in `runs` */
    CHART_OVER_ROWS, /* in the run's tables */
};

struct chart_point {
    double from;
    double to;              /* as `from` where it is no level */
    double y;               /* NaN: the line has a gap here */
    double lowest, highest; /* of what was measured several times; y where it was not */
};

struct chart_series {
    char name[CHART_TEXT_BYTES];
    struct chart_point *points; /* owned */
    size_t count;
};

struct chart {
    char name[CHART_NAME_BYTES];  /* for a file: "rows-per-second" */
    char title[CHART_TEXT_BYTES]; /* what it shows */
    char note[CHART_NOTE_BYTES];  /* how to read it; may be "" */
    const char *label;            /* of the values, with their unit */
    const char *unit;             /* behind a value; may be "" */
    enum chart_across across;
    double end; /* across */
    bool is_log;
    bool is_filled;                /* the area down to 0, too */
    double marks[CHART_MARKS_MAX]; /* across; lines up for the first events, by their numbers */
    size_t mark_count;
    const struct report_run *runs; /* CHART_OVER_RUNS. Borrowed */
    struct chart_series series[CHART_SERIES_MAX];
    size_t series_count;
    struct chart_list *list; /* that it goes into */
};

struct chart_list {
    struct chart *entries; /* owned */
    size_t count;
    bool has_failed; /* out of memory: charts are missing */
};

/* Charts [first, first + count) of the list of the report. */
struct chart_range {
    size_t first;
    size_t count;
};

struct report_run {
    struct saved_run run;
    struct event_list events;
    char events_error[ERROR_TEXT_BYTES]; /* why there are none; "" when they were read */
    char label[REPORT_LABEL_BYTES];      /* short, and of this run alone */
    const struct saved_sweep *sweep;     /* that it is of; NULL: of none */
    const struct saved_sweep_run *place; /* in the sweep */
    struct chart_range charts;
    struct buffer absent; /* sentences about charts that are not there */
};

struct report_sweep {
    struct saved_sweep sweep;
    struct chart_range charts;
    unsigned left_out; /* ended runs whose files are not there or cannot be read */
};

struct report {
    struct report_run *runs; /* owned */
    size_t run_count;
    struct report_sweep *sweeps; /* owned */
    size_t sweep_count;
    size_t beyond; /* runs that are too many: they are in no chart */
    struct chart_list charts;
    struct chart_range overview; /* charts that put the runs beside each other */
    bool is_over_rows;           /* charts over time are drawn against rows */
    bool has_run_charts; /* a single run always has; of several only when they were asked for */
};

/* The headlines of a run, those of the table of figures, from 0; NULL: there are no more. Those of
 * transactions are of a script's run alone. */
const struct figure *report_headline(size_t i, bool has_script);

/* Whether it is the run of a script; whether any run is, of the report or of a sweep. */
bool report_is_scripted(const struct saved_run *run);

/* Whether the run appended rows, or was to: a script may write with its statements alone, and then
 * has neither a throughput in rows nor a way in which they were appended. */
bool report_has_rows(const struct saved_run *run);
bool report_has_script(const struct report *report);
bool report_sweep_has_script(const struct saved_sweep *sweep);

/* Whether its runs differ by variant. */
bool report_sweep_varies(const struct saved_sweep *sweep);

/* What is told of each cell of a sweep, from 0: the headlines, and the p99 of an append or of a
 * transaction. NULL: there is no more. */
const struct figure *report_sweep_figure(bool has_script, size_t i);

/* False: it is a figure of rows, and the sweep asks for none. */
bool report_sweep_shows(const struct saved_sweep *sweep, const struct figure *figure);

/* The page's style and script (page.css, page.js), and what its policy allows: "sha256-..." */
extern const char page_css[], page_js[], page_js_hash[];

/* Reads the folders and makes the charts: of several runs those that put them beside each other,
 * and with `with_runs` those of each run, too. REJECTED: *error names the folder or file and what
 * is wrong; *report owns nothing. */
enum status report_read(struct report *report, const char *const *folders, size_t count,
                        bool with_runs, bool is_over_rows, struct error *error);
void report_free(struct report *report);

/* The place of the page of a folder: its report.html. REJECTED: the path is too long. */
enum status report_page_path(const char *folder, char path[REPORT_PATH_BYTES], struct error *error);

/* Writes the page, whole or not at all; *bytes is its size. REJECTED: *error says why; kind
 * ERROR_USAGE: the file there is something else than a page. */
enum status report_write_page(const struct report *report, const char *path, size_t *bytes,
                              struct error *error);

/* Writes PREFIX-CHART.png, or PREFIX-runN-CHART.png with several runs, for each chart. *count says
 * how many were written. */
enum status report_write_pictures(const struct report *report, const char *prefix, size_t *count,
                                  struct error *error);

/* Adds the verdict and the four figures of each run, and all charts, in lines of at most
 * `columns`. REJECTED: *error says why. */
enum status report_add_text(struct buffer *text, const struct report *report, unsigned columns,
                            struct error *error);

/* Adds the page; the same input gives the same page. */
void page_add(struct buffer *html, const struct report *report);

/* Adds a chart as a figure; `number` is its own in the page. */
void svg_add_chart(struct buffer *html, const struct chart *chart, size_t number);

/* Adds a chart drawn by gnuplot: a text of so many columns, or with 0 a PNG. Nothing after an
 * error. *error says that there is no gnuplot and which package has it, or what it said. */
void plot_add(struct buffer *drawing, const struct chart *chart, unsigned columns,
              struct error *error);

/* Makes all charts of a report that has its runs and their labels. False: out of memory. */
bool charts_make(struct report *report);
void charts_free(struct chart_list *list);

/* Lowest above 0 and highest of all lines; INFINITY and 0 where there is none. False: no value is
 * known. */
bool chart_span(const struct chart *chart, double *low, double *high);

/* What follows is for people, and written into `text`, or stands for itself.
 * A number: three digits, or all before the point: 1,234, 12.5, 0.003. */
const char *report_format(double value, char text[REPORT_WORDS_BYTES]);

/* A count in short: 950, 1k, 2.5k, 10M. */
const char *report_format_count(double value, char text[REPORT_WORDS_BYTES]);

/* A time as "12.3 ms"; "–" when it is not known. `unit_ns`: of the value. */
const char *report_format_time(const json_t *value, double unit_ns, char text[REPORT_WORDS_BYTES]);

/* A figure of summary.csv without its unit; "–" when the run has none. */
const char *report_value(const struct saved_run *run, const char *column,
                         char text[REPORT_WORDS_BYTES]);

/* "200 × 400k" or "200 × 10 min"; "200 sessions, 400,000 rows" or "200 sessions for 10 min". */
const char *report_size(const struct saved_run *run, char text[REPORT_WORDS_BYTES]);
const char *report_title(const struct saved_run *run, char text[REPORT_WORDS_BYTES]);

/* A text for element content or a quoted attribute: valid UTF-8 without controls, then escaped, cut
 * when it is long. NULL is "". */
const char *report_escape(const char *text, char escaped[REPORT_ESCAPED_BYTES]);

/* In a text of its own, valid to the end of the block: for arguments of a format. */
#define REPORT_NUMBER(value) report_format((value), (char[REPORT_WORDS_BYTES]){0})
#define REPORT_VALUE(run, column) report_value((run), (column), (char[REPORT_WORDS_BYTES]){0})
#define REPORT_TIME(json, unit) report_format_time((json), (unit), (char[REPORT_WORDS_BYTES]){0})
#define REPORT_ESCAPED(text) report_escape((text), (char[REPORT_ESCAPED_BYTES]){0})

#endif
