/*
 * A report shows finished runs and sweeps with their charts, as a page, text, pictures or JSON. The
 * runs are read from their folders. Only one thread may use a report.
 *
 * Runs are in the order in which the user named their folders. Runs of a sweep are in the order of
 * the sweep. All texts are stored as they are in the files. A function that shows a text must
 * escape it.
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

/* The beginning of every page of this program. A file that begins with something else is never
 * overwritten. */
#define REPORT_PAGE_BEGIN "<!DOCTYPE html>\n<html lang=\"en\" data-made-by=\"append\">\n"

enum {
    REPORT_FOLDERS_MAX = 64,
    REPORT_RUNS_MAX = 200, /* greatest number of runs with charts and tables */
    REPORT_LABEL_BYTES = 64,
    REPORT_LABEL_COLUMNS = 26,
    REPORT_WORDS_BYTES = 96,
    REPORT_ESCAPED_BYTES = 8192,
    REPORT_PATH_BYTES = 2 * SAVED_RUN_PATH_BYTES,
    REPORT_TEXT_COLUMNS_MIN = 40,
    REPORT_TEXT_COLUMNS = 80, /* number of columns when the output is not a terminal */
    REPORT_TEXT_COLUMNS_MAX = 160,
    CHART_NAME_BYTES = 40,
    CHART_TEXT_BYTES = 96,
    CHART_NOTE_BYTES = 240,
    CHART_SERIES_MAX = 8,
    CHART_STEPS_MAX = 600, /* greatest number of steps of a line over time or rows; if a run has
                              more intervals, each step stands for several intervals */
    CHART_BARS_MAX = 48,
    CHART_MARKS_MAX = 40,
};

/* The x axis of a chart. The axis also decides how values are drawn. Values over sessions are dots
 * on a line, values of runs are bars, and all other values are horizontal steps. */
enum chart_across {
    CHART_OVER_TIME,       /* the x axis has the seconds since the start */
    CHART_OVER_PERCENTILE, /* the x axis has 1 / (1 - share of calls); its ticks show the share */
    CHART_OVER_SHARE,      /* the x axis has the percentage of the sessions */
    CHART_OVER_SESSIONS,
    CHART_OVER_RUNS, /* the x axis has the index in `runs` */
    CHART_OVER_ROWS, /* the x axis has the number of rows in the run's tables */
};

/* A horizontal step of a line from x = `from` to x = `to`, or a dot. */
struct chart_point {
    double from;
    double to;              /* x of the point's end; equals `from` for a dot */
    double y;               /* y of the point; NaN: the line has a gap here */
    double lowest, highest; /* range of repeated measurements; both are y for a single
                               measurement */
};

struct chart_series {
    char name[CHART_TEXT_BYTES];
    struct chart_point *points; /* points of the series; owned */
    size_t count;
};

struct chart {
    char name[CHART_NAME_BYTES]; /* name of the chart, a part of file names: "rows-per-second" */
    char title[CHART_TEXT_BYTES];
    char note[CHART_NOTE_BYTES]; /* hint on how to read the chart; may be "" */
    const char *label;           /* label of the y axis, with the unit */
    const char *unit;            /* unit that is written after a value; may be "" */
    enum chart_across across;
    double end;     /* end of the x axis */
    bool is_log;    /* the y axis is logarithmic */
    bool is_filled; /* the area below each line is filled; several lines are stacked, and the first
                       line is the highest */
    struct {
        double at;            /* position on the x axis */
        const char *text;     /* text of the event; borrowed */
    } marks[CHART_MARKS_MAX]; /* vertical lines for the first events, numbered from 1 */
    size_t mark_count;
    const struct report_run *runs; /* runs whose bars CHART_OVER_RUNS shows; borrowed */
    struct chart_series series[CHART_SERIES_MAX];
    size_t series_count;
    struct chart_list *list; /* the list that the chart is added to */
};

struct chart_list {
    struct chart *entries; /* the charts; owned */
    size_t count;
    bool has_failed; /* memory has run out: some charts are missing */
};

/* Charts [first, first + count) of the report's list. */
struct chart_range {
    size_t first;
    size_t count;
};

struct report_run {
    struct saved_run run;
    struct event_list events;
    char events_error[ERROR_TEXT_BYTES]; /* reason why the events cannot be read; "" when they were
                                            read */
    char label[REPORT_LABEL_BYTES];      /* name of the run, short and unique in the report */
    const struct saved_sweep *sweep;     /* sweep of the run; NULL if the run does not belong to a
                                            sweep */
    const struct saved_sweep_run *place; /* the run's entry in the sweep; NULL without a sweep */
    struct chart_range charts;
    struct buffer absent; /* sentences about missing charts */
};

struct report_sweep {
    struct saved_sweep sweep;
    struct chart_range charts;
    unsigned left_out; /* number of ended runs without readable files */
};

struct report {
    struct report_run *runs; /* the runs; owned */
    size_t run_count;
    /* the run in progress of a sweep; NULL if no run is in progress. The run is in `runs` after the
     * other runs, but is not counted in `run_count`. */
    struct report_run *running;
    struct report_sweep *sweeps; /* the sweeps; owned */
    size_t sweep_count;
    size_t beyond; /* number of runs that are left out, after the first REPORT_RUNS_MAX runs */
    struct chart_list charts;
    struct chart_range overview; /* charts that compare the runs */
    bool is_over_rows;           /* charts over time have rows instead of time on the x axis */
    bool has_run_charts; /* each run has charts; a single run always has charts, several runs only
                            on request */
};

/* Returns headline figure `i` (from 0) of a run, in the order of figure_table. Returns NULL after
 * the last one. Only a run with a script has a headline figure about transactions. */
const struct figure *report_headline(size_t i, bool has_script);

bool report_is_scripted(const struct saved_run *run);

/* Returns whether any run of the report, or of the sweep, has a script. */
bool report_has_script(const struct report *report);
bool report_sweep_has_script(const struct saved_sweep *sweep);

/* Returns whether the runs of the sweep have several variants. */
bool report_sweep_varies(const struct saved_sweep *sweep);

/* Returns figure `i` (from 0) that a report shows for each cell of a sweep. These are the headline
 * figures, and the p99 of transactions if the sweep has a script, else the p99 of batches. Returns
 * NULL after the last one. */
const struct figure *report_sweep_figure(bool has_script, size_t i);

/* Returns whether a report shows a figure of a sweep. Rows/s is not shown if the runs of the sweep
 * do not have a planned number of rows. */
bool report_sweep_shows(const struct saved_sweep *sweep, const struct figure *figure);

/* The page's style and script, the additional script of the live page (page.css, page.js, live.js),
 * and their hashes for the pages' content security policies ("sha256-..."). */
extern const char page_css[], page_js[], live_js[];
extern const char page_css_hash[], page_js_hash[], live_js_hash[];

/* Reads the folders and makes the charts. A single run gets its own charts. Several runs get charts
 * that compare the runs, and with `with_runs` each run also gets its own charts. On REJECTED,
 * *error names the folder or file and the fault, and *report owns nothing. */
enum status report_read(struct report *report, const char *const *folders, size_t count,
                        bool with_runs, bool is_over_rows, struct error *error);

/* Reads the files of a run in progress and makes the charts, as report_read does. `json` and
 * `summary` are what run.json and summary.csv would contain now. */
enum status report_read_running(struct report *report, const char *folder, const char *json,
                                const char *summary, struct error *error);

/* Reads the folder of a sweep in progress. `running` is the name of the run in progress, whose
 * files may not exist yet, or NULL if no run is in progress. */
enum status report_read_sweep_running(struct report *report, const char *folder,
                                      const char *running, struct error *error);
void report_free(struct report *report);

/* Writes the path of a folder's page, FOLDER/report.html. Returns REJECTED if the path is too
 * long. */
enum status report_page_path(const char *folder, char path[REPORT_PATH_BYTES], struct error *error);

/* Writes a file, whole or not at all. Replaces an existing file only if the file begins with
 * `begin`, because other files were not made by this program. `maker` is the command that makes the
 * file ("append report"), for the error message. On REJECTED, *error says why. If error->kind is
 * ERROR_USAGE, the file exists and was not replaced. */
enum status report_write_whole(const char *path, const char *begin, const char *maker,
                               const struct buffer *content, struct error *error);

/* Writes the page, whole or not at all. Sets *bytes to the size of the page. On REJECTED, *error
 * says why. If error->kind is ERROR_USAGE, the file exists and is not a page of this program. */
enum status report_write_page(const struct report *report, const char *path, size_t *bytes,
                              struct error *error);

/* Writes PREFIX-CHART.png for each chart. With several runs, writes PREFIX-runN-CHART.png for each
 * chart of run N. Sets *count to the number of files written. */
enum status report_write_pictures(const struct report *report, const char *prefix, size_t *count,
                                  struct error *error);

/* Adds the verdict and the headline figures of each run, and all charts. A line has at most
 * `columns` columns. On REJECTED, *error says why. */
enum status report_add_text(struct buffer *text, const struct report *report, unsigned columns,
                            struct error *error);

/* Adds the page. The same input gives the same page. page_add_content adds only the content between
 * <main> and </main>. */
void page_add(struct buffer *html, const struct report *report);
void page_add_content(struct buffer *html, const struct report *report);

/* Writes the title of the page as HTML. Returns `title`. */
const char *page_title(const struct report *report, char title[REPORT_ESCAPED_BYTES]);

/* Adds a page without content. The page's script live.js fills the page. `has_control` says whether
 * the page can change the run. */
void page_add_live(struct buffer *html, bool has_control);

/* Adds the head of a page, up to the beginning of the content. `policy` is the page's content
 * security policy as HTML, or "". `title` is HTML. */
void page_add_head(struct buffer *html, const char *policy, const char *title);

/* Adds a chart as a <figure>; `number` is unique in the page. */
void svg_add_chart(struct buffer *html, const struct chart *chart, size_t number);

/* Adds a chart drawn by gnuplot: a text of `columns` columns, or a PNG if `columns` is 0. Does
 * nothing if *error is already set. If gnuplot is missing, *error names its package. If gnuplot
 * fails, *error has gnuplot's message. */
void plot_add(struct buffer *drawing, const struct chart *chart, unsigned columns,
              struct error *error);

/* Makes all charts of a report whose runs were read and labelled. Returns false if memory runs
 * out. */
bool charts_make(struct report *report);
void charts_free(struct chart_list *list);

/* Sets *low to the lowest value above 0 of all lines, or to INFINITY if no value is above 0. Sets
 * *high to the highest value of all lines, or to 0 if no value is above 0. Returns false if no
 * value is known. */
bool chart_span(const struct chart *chart, double *low, double *high);

/* The next functions format a value for people. They return `text`, or a constant. */

/* Formats a number with three significant digits, and with all digits before the point: "1,234",
 * "12.5", "0.00312". */
const char *report_format(double value, char text[REPORT_WORDS_BYTES]);

/* Formats a count in a short form: 950, 1k, 2.5k, 10M. */
const char *report_format_count(double value, char text[REPORT_WORDS_BYTES]);

/* Formats a time as "12.3 ms", or as "–" when it is unknown. `unit_ns` is the number of nanoseconds
 * in the unit of `value`. */
const char *report_format_time(const json_t *value, double unit_ns, char text[REPORT_WORDS_BYTES]);

/* Formats a figure of summary.csv without its unit, or as "–" when it is unknown. */
const char *report_value(const struct saved_run *run, const char *column,
                         char text[REPORT_WORDS_BYTES]);

/* Formats the size of a run as "200 × 400k" or "200 × 10 min". */
const char *report_size(const struct saved_run *run, char text[REPORT_WORDS_BYTES]);

/* Formats the size of a run in words: "200 sessions, 400,000 rows" or "200 sessions for 10 min". */
const char *report_title(const struct saved_run *run, char text[REPORT_WORDS_BYTES]);

/* Returns words that say how a run ended. `stop_reason` is the member of run.json, for example
 * "duration". Returns an unknown reason unchanged, and "" for NULL. */
const char *report_stop_words(const char *stop_reason);

/* Adds the command line that repeats a run, made from the plan in run.json. The line has the
 * operands, the target without the password, and the options that differ from their defaults. Adds
 * nothing if run.json does not have a plan. */
void report_add_command(struct buffer *line, const struct saved_run *run);

/* Adds a word of a command line, in quotes when a shell would change it. */
void report_add_word(struct buffer *line, const char *word);

/* Writes a text as HTML for the content of an element or for a quoted attribute. The result is
 * valid UTF-8, escaped and without control characters; a long text is cut. NULL counts as "". */
const char *report_escape(const char *text, char escaped[REPORT_ESCAPED_BYTES]);

/* Adds a text of any length, escaped as by report_escape, but keeps line breaks and tabs. */
void report_add_escaped(struct buffer *html, const char *text);

/* These macros return a formatted text that is valid to the end of the block, for example as an
 * argument of printf. */
#define REPORT_NUMBER(value) report_format((value), (char[REPORT_WORDS_BYTES]){0})
#define REPORT_VALUE(run, column) report_value((run), (column), (char[REPORT_WORDS_BYTES]){0})
#define REPORT_TIME(json, unit) report_format_time((json), (unit), (char[REPORT_WORDS_BYTES]){0})
#define REPORT_ESCAPED(text) report_escape((text), (char[REPORT_ESCAPED_BYTES]){0})

/*
 * A file of JUnit XML with one suite. The same cases make the same file.
 *
 * Texts from outside become valid XML 1.0: markup is escaped; bytes that are not UTF-8 and
 * characters that XML does not allow become U+FFFD.
 */
/* A suite of test cases. Set the whole struct to 0 and then set the members before `cases`. After
 * this, add the cases with junit_add_case. */
struct junit_suite {
    char name[128];
    const char *target, *folder; /* target and folder of the runs; borrowed */
    int64_t elapsed_ns;
    int64_t started_wall_ns;        /* start of the run; 0: the run did not begin */
    struct buffer cases;            /* the test cases so far; owned; junit_write_suite frees them */
    size_t tests, failures, errors; /* numbers of the test cases so far */
};

/* Adds a test case. `kind` is "failure" or "error", or NULL if the test passed. `message` is the
 * text that explains the result. */
void junit_add_case(struct junit_suite *suite, const char *group, const char *name,
                    const char *kind, const char *type, const char *message);

/* Writes the file and frees the cases. Returns false when out of memory or a write failed (errno is
 * set). */
bool junit_write_suite(FILE *stream, struct junit_suite *suite);

#endif
