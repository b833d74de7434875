/*
 * The output of a run, a search and a check of limits for people, monitors and CI systems:
 * progress, metrics, the text report at the end, JSON, JUnit XML and YCSB's text. A line of the
 * text report has at most 80 columns, unless a single word is longer.
 */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "append/row.h"
#include "base/process.h"
#include "base/text.h"
#include "load/setup.h"
#include "measure/levels.h"
#include "measure/limit.h"
#include "measure/result.h"
#include "measure/sampler.h"
#include "plan/plan.h"
#include "report/web.h"

enum {
    TEXT_LEVELS_BYTES = 400
};

/* Writes the report of a run: ledgers, latencies, errors, and at the end the headlines and the
 * verdict. Error causes after the first five are added up. `shortage`: see run_files_shortage. */
void report_write_text(FILE *stream, const struct plan *plan, const struct result *result,
                       const char *shortage);

/* Writes the report of a search: the held level, the reason why the next level was not held, and a
 * line for each level. */
void text_levels_write(FILE *stream, const struct plan *plan, const struct result *result,
                       const struct search *search, const char *shortage);

/* Writes one line about a level while the search goes on, without a line break. */
void text_levels_progress(const struct level *level, char line[TEXT_LEVELS_BYTES]);

/*
 * Progress of a run, on stderr: a line that is rewritten on a terminal; elsewhere, or with
 * --progress, a new line every interval. Only the sampler's thread uses it. After the sampler has
 * stopped, only the main thread uses it.
 */

enum {
    PROGRESS_POINTS = 64
};

/* The rows acknowledged `s` seconds after the gate opened. */
struct progress_point {
    double s;
    double rows;
};

/* The state of the run at the end of an interval. */
struct progress_state {
    const struct interval *interval;
    /* the latest sample of CPU and memory; NULL before the first sample */
    const struct sample *sample;
    const struct recorder_snapshot *total;
    int64_t work_start_ns; /* time from the start of the run to the gate's opening; -1: the gate is
                              still closed */
    struct waits *waits;   /* waits of the sessions; NULL without --waits */
    bool is_steered;       /* the load was changed by hand: the rate of the plan no longer holds */
};

struct progress {
    struct notice notice;
    const struct plan *plan;
    int64_t step_ns;      /* time between two lines without a terminal */
    int64_t next_line_ns; /* moment at which the next line is due without a terminal */
    bool has_shown_reads; /* the hint about the cost of reads was shown */
    size_t point_count;
    /* points from which the time left is estimated */
    struct progress_point points[PROGRESS_POINTS];
};

void progress_init(struct progress *progress, int fd, const struct plan *plan);

/* Warns, before the first batch, when the count(*) queries of the run will read very many rows in
 * all. `count_ns` is the time of a count of `rows_before` rows on this machine, or 0 if unknown. */
void progress_announce(struct progress *progress, uint64_t rows_before, int64_t count_ns);

/* Writes the line for a state, at most `columns` wide (0: no limit). The least important parts are
 * left out first, then the end is cut. `text` has `size` bytes. */
void progress_format(const struct progress *progress, const struct progress_state *now,
                     unsigned columns, char *text, size_t size);

/* Shows sessions, rows, %, rows/s, p99, CPU and memory of the server, errors and the time left;
 * never wider than the terminal. Must be called for every interval, because the estimate of the
 * time left uses all intervals. Shows nothing with plan->is_quiet. */
void progress_show(struct progress *progress, const struct progress_state *now);

/* Clears the line of progress that is rewritten on a terminal. */
void progress_end(struct progress *progress);

/* Progress while a script's tables are loaded, on stderr: a line every second on a terminal, else
 * every ten seconds, or as --progress says. Main thread. */
struct load_progress {
    struct notice notice;
    bool is_quiet;
    int64_t step_ns, next_ns; /* time between two lines, and the moment at which the next line is
                                 due, since the load began */
};
void load_progress_init(struct load_progress *progress, const struct plan *plan);
void load_progress_show(struct load_progress *progress, const struct load_counts *counts);
void load_progress_end(struct load_progress *progress);

/*
 * Metrics of a run for monitors: a file for node_exporter's textfile collector, and a page that
 * Prometheus reads. Both have the same text, in the exposition format 0.0.4, rewritten every
 * second. Counters are totals since the run's start. Histograms have two buckets for every power of
 * two of nanoseconds; buckets of struct histogram also end there, so the counts are exact.
 *
 * The measuring thread calls metrics_update until it has ended; the main thread calls the other
 * functions.
 */
struct metrics_state {
    bool is_running;
    int64_t started_wall_ns; /* start of the run, since 1970-01-01 UTC */
    int64_t elapsed_ns;
    uint64_t sessions_alive; /* sessions with a connection now */
    bool has_sample;         /* `sample` is valid: the first interval has ended */
    struct sample sample;    /* the latest sample of CPU and memory */
    /* waits of the sessions; NULL without --waits; borrowed until the sessions have ended */
    struct waits *waits;
};

/* Adds all metrics to *buffer. `total` has all counts so far. The caller sets LC_NUMERIC to a
 * point. */
void metrics_text_add(struct buffer *buffer, const struct plan *plan,
                      const struct metrics_state *state, const struct recorder_snapshot *total);

struct metrics;

/* Writes the first file and starts the server, as the plan asks, so that mistakes show before the
 * run. Refuses to replace a file that append did not make. On EXIT_CODE_OK the caller owns
 * *metrics, which is NULL without --metrics and
 * --metrics-file. The plan is borrowed. */
enum exit_code metrics_begin(struct metrics **metrics, const struct plan *plan,
                             struct error *error);

/* Publishes the state at the end of an interval. `metrics` may be NULL, also for the next two
 * functions. */
void metrics_update(struct metrics *metrics, const struct progress_state *now);

/* Publishes the last state, after the sessions have ended. Returns why the file is not up to date;
 * "" when it is. */
const char *metrics_finish(struct metrics *metrics, const struct recorder_snapshot *total);

/* Stops the HTTP server and frees *metrics. `is_failed`: the run never began; then the file is
 * removed, or gets back the content that an earlier run left. */
void metrics_end(struct metrics *metrics, bool is_failed);

/* The server for GET /metrics on a TCP port (report/web.h). Any thread may replace the text at any
 * time. */
enum {
    METRICS_HTTP_CLIENTS_MAX = 16,
    METRICS_HTTP_FILES_MAX = METRICS_HTTP_CLIENTS_MAX + WEB_OTHER_FILES
};

struct metrics_http;

/* Listens on the addresses of `host` and starts the thread. Returns NULL with the reason in
 * *error. */
struct metrics_http *metrics_http_start(const char *host, uint16_t port, struct error *error);

/* Replaces the text, which is copied. Any thread. Out of memory: the old text stays. */
void metrics_http_publish(struct metrics_http *http, const char *text, size_t length);

/* Ends the thread and every connection at once. `http` may be NULL. */
void metrics_http_stop(struct metrics_http *http);

/*
 * Reads events.csv in the folder of a run: "time,text" and a line for each event. The run writes
 * the events of --mark; the user appends further lines (echo >>) during the run or later. A text
 * with commas needs no quotes.
 */
#define EVENTS_FILE "events.csv"
#define EVENTS_START_UNKNOWN INT64_MIN

/* Reads the file of a run that began at `started_wall_ns` (since 1970 UTC); with
 * EVENTS_START_UNKNOWN a time in UTC is a bad line. A bad line is left out and named in the list's
 * note. A missing file is an empty list. Returns REJECTED if the file cannot be read; the list is
 * then empty. */
enum status events_read(struct event_list *list, const char *folder, int64_t started_wall_ns,
                        struct error *error);

/*
 * A run as JUnit XML, for CI systems (Jenkins, GitLab, GitHub): a test case for each ledger, the
 * outcome and each expectation. The same run makes the same file.
 *
 * Texts from outside become valid XML 1.0: markup is escaped; bytes that are not UTF-8 and
 * characters that XML does not allow become U+FFFD.
 */

/* Writes the outcome of a judged run, with result->expectations. Returns false if memory runs out
 * or a write failed (errno is set). */
bool junit_write(FILE *stream, const struct plan *plan, const struct result *result);

/* Writes a run that did not begin: one test case with an error, and the reason. */
bool junit_write_error(FILE *stream, const struct plan *plan, enum exit_code code, const char *why);

/* Writes the figures of a run with a script as `ycsb run` prints them, without unknown values.
 * Returns false if a write failed (errno is set). */
bool ycsb_write(FILE *stream, const struct plan *plan, const struct result *result);

/* run.json: the plan, the environment, the table, the ledgers, every figure and the histograms. */

/* Writes one indented JSON object: run.json, or with `search` (may be NULL) find-max.json, which
 * also has the levels. Returns false if memory runs out or a write fails (errno is set). */
bool report_write_json(FILE *stream, const struct plan *plan, const struct table *table,
                       const struct result *result, const struct search *search);

/* Writes the JSON object of a run that did not begin: program, exit code and reason. */
bool report_write_json_failure(FILE *stream, enum exit_code code, const struct error *error);

/* The limits that append check compares, for people and as JSON. */

enum {
    CHECK_LINE_BYTES = 240
};

struct check_report {
    uint64_t sessions;   /* number of sessions that the user asked about */
    const char *target;  /* the target without its password; NULL: only this machine is checked */
    const char *version; /* version of the server; NULL or "": unknown */
    const char *note;    /* description of how the connection works; may be NULL or "" */
    /* text that says whether I/O can be traced; NULL if the user did not ask */
    const char *io_trace;
    const char *workload; /* name of the script; may be NULL */
    /* number of statements that the script prepares in each session */
    unsigned prepared_statements;
    const struct limit_list *list;
    uint64_t fitting;          /* number of sessions that fit; LIMIT_NONE: no limit was found */
    const struct limit *first; /* the limit that is reached first; NULL if no limit was found */
    const char *failure;       /* reason why the database was not asked; NULL or "": it was asked */
    bool is_short;             /* the sessions certainly do not fit; stderr has the conclusion, and
                                  the text does not repeat it */
    enum exit_code code;
};

/* Writes how many sessions fit and the first limit: "100 sessions fit; up to 197 would; the first
 * limit is ...", or "only 197 of 300 sessions fit; ...". `first` may be NULL. */
void check_describe_fit(uint64_t sessions, uint64_t fitting, const struct limit *first,
                        char line[CHECK_LINE_BYTES]);

/* Writes the line of check_describe_fit for a report, and the names of the unknown limits. */
void check_describe_report(const struct check_report *report, char line[CHECK_LINE_BYTES]);

/* Writes the report in lines of at most 80 columns. */
void check_write_text(FILE *stream, const struct check_report *report);

/* Writes one JSON object. Returns false if memory runs out or a write fails (errno is set). */
bool check_write_json(FILE *stream, const struct check_report *report);

#endif
