/*
 * What people, monitors and CI systems read of a run, a search and a check of limits: progress,
 * metrics, the report at the end, 80 columns wide but for words that are longer, JSON, JUnit XML
 * and YCSB's text.
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

enum {
    TEXT_LEVELS_BYTES = 400
};

/* A run: ledgers, latencies, errors, and at the end the four figures and the verdict. Causes beyond
 * the first five are a count. `shortage` as from run_files_shortage. */
void report_write_text(FILE *stream, const struct plan *plan, const struct result *result,
                       const char *shortage);

/* A search: what held, what stopped the next, and a line a level. */
void text_levels_write(FILE *stream, const struct plan *plan, const struct result *result,
                       const struct search *search, const char *shortage);

/* One line for a level while the search goes on, without a line break. */
void text_levels_progress(const struct level *level, char line[TEXT_LEVELS_BYTES]);

/*
 * What is shown while the run goes on, on stderr: one line that is rewritten on a terminal, a
 * plain line every sample interval elsewhere, or as often as it is asked for. Used by the sampler's
 * thread only, then by the main thread after the sampler has stopped.
 */

enum {
    PROGRESS_POINTS = 64
};

/* So many rows were acknowledged so long after the work began. */
struct progress_point {
    double s;
    double rows;
};

/* What the run so far looks like; made with every interval. */
struct progress_state {
    const struct interval *interval;
    const struct sample *sample; /* the latest; NULL before the first */
    const struct recorder_snapshot *total;
    int64_t work_start_ns; /* since the start of the run: when the gate opened; -1 = not yet */
};

struct progress {
    struct notice notice;
    const struct plan *plan;
    int64_t step_ns;      /* not a terminal: a line so often */
    int64_t next_line_ns; /* not a terminal: when the next line is due */
    bool has_told_reads;  /* what reading costs was said */
    size_t point_count;
    struct progress_point points[PROGRESS_POINTS]; /* from which the time left is estimated */
};

void progress_init(struct progress *progress, int fd, const struct plan *plan);

/* Before the first batch: says what the count(*) of the run come to, where that is much and each
 * costs more as the table grows. One of `rows_before` rows took `count_ns`, with the CPUs of this
 * machine; 0: not known. */
void progress_announce(struct progress *progress, uint64_t rows_before, int64_t count_ns);

/* The whole line for one moment, at most `columns` wide (0 = no limit): what matters least is left
 * out first, then the end is cut. `text` has at least `size` bytes. */
void progress_format(const struct progress *progress, const struct progress_state *now,
                     unsigned columns, char *text, size_t size);

/* Shows sessions, rows, %, rows/s, p99, server CPU and memory, errors, time left; never wider than
 * the terminal. To be called with every interval: the time left comes from all of them. Nothing is
 * shown with plan->is_quiet. */
void progress_show(struct progress *progress, const struct progress_state *now);

/* Takes the rewritten line away. */
void progress_end(struct progress *progress);

/* The same for the load of a script's tables, on stderr: a line every second on a terminal, else
 * every ten, or as often as it is asked for. Main thread. */
struct load_progress {
    struct notice notice;
    bool is_quiet;
    int64_t step_ns, next_ns; /* since the load began */
};
void load_progress_init(struct load_progress *progress, const struct plan *plan);
void load_progress_show(struct load_progress *progress, const struct load_counts *counts);
void load_progress_end(struct load_progress *progress);

/*
 * What a run tells monitors while it goes on: a file for node_exporter's textfile collector, and a
 * page that Prometheus reads. Both have the same text, in the exposition format 0.0.4, written
 * again every second. Counters are totals since the run's start. Histograms have a bucket for every
 * power of two of nanoseconds, where those of struct histogram end too: no count is guessed.
 *
 * The updates come from the measuring thread until it has ended, all else from the main thread.
 */
struct metrics_state {
    bool is_running;
    int64_t started_wall_ns; /* 1970 UTC */
    int64_t elapsed_ns;
    uint64_t sessions_alive; /* that have a connection now */
    bool has_sample;         /* of CPU and memory: there is one from the first interval on */
    struct sample sample;    /* the latest */
};

/* Adds all metrics to *buffer. `total`: all that was counted so far. The caller sees to it that the
 * decimal point is a point. */
void metrics_text_add(struct buffer *buffer, const struct plan *plan,
                      const struct metrics_state *state, const struct recorder_snapshot *total);

struct metrics;

/* Begins what the plan asks for, so that mistakes show before the run. EXIT_CODE_OK: *metrics is
 * the caller's, NULL when nothing was asked for. The plan is borrowed. */
enum exit_code metrics_begin(struct metrics **metrics, const struct plan *plan,
                             struct error *error);

/* The next three take NULL. */
void metrics_update(struct metrics *metrics, const struct progress_state *now);

/* The sessions have ended: tells the last state. Returns why the file is not up to date, "" when it
 * is. */
const char *metrics_conclude(struct metrics *metrics, const struct recorder_snapshot *total);

/* The page is gone then, the file stays. `is_failed`: the run never began, the file goes too. */
void metrics_end(struct metrics *metrics, bool is_failed);

/*
 * GET /metrics on a TCP port. One thread of its own accepts and, through libmicrohttpd, answers;
 * the text may be replaced at any time. One request a connection. A client has 5 s; one more than
 * METRICS_HTTP_CLIENTS_MAX takes the place of the oldest, so that silent clients hold nobody up.
 */
enum {
    METRICS_HTTP_CLIENTS_MAX = 16,
    METRICS_HTTP_LISTENERS_MAX = 2,
    /* the library's epoll, the wake-up, and one more client before the oldest goes */
    METRICS_HTTP_FILES_MAX = METRICS_HTTP_LISTENERS_MAX + METRICS_HTTP_CLIENTS_MAX + 3
};

struct metrics_http;

/* Listens on an address of `host` and starts the thread. NULL: *error says why. */
struct metrics_http *metrics_http_start(const char *host, uint16_t port, struct error *error);

/* What is given out from now on; copied. Any thread. Without memory the old text stays. */
void metrics_http_publish(struct metrics_http *http, const char *text, size_t length);

/* Ends the thread and every connection at once. Takes NULL. */
void metrics_http_stop(struct metrics_http *http);

/*
 * events.csv in the folder of a run, read back: "time,text" and a line an event, written by the run
 * for its --mark options and by its user, who appends lines with echo while it goes on or later. A
 * text with commas needs no quotes.
 */
#define EVENTS_FILE "events.csv"
#define EVENTS_START_UNKNOWN INT64_MIN

/* Reads the file of a run that began at `started_wall_ns` (1970 UTC); with EVENTS_START_UNKNOWN a
 * time in UTC is a bad line. Each line is read for itself: one that is bad is told in the list's
 * note and left out. No file: an empty list. REJECTED: it cannot be read; the list is empty. */
enum status events_read(struct event_list *list, const char *folder, int64_t started_wall_ns,
                        struct error *error);

/*
 * A run as JUnit XML, for CI systems (Jenkins, GitLab, GitHub): a test case for each ledger, the
 * outcome and each expectation. The same run makes the same file.
 *
 * Texts from outside become valid XML 1.0: markup is escaped, bytes that are not UTF-8 and
 * characters that XML has no place for become U+FFFD.
 */

/* The run that was judged, result->expectations included. False: out of memory or a failed write
 * (errno is set). */
bool junit_write(FILE *stream, const struct plan *plan, const struct result *result);

/* A run that did not begin: one test case with an error, and why. */
bool junit_write_error(FILE *stream, const struct plan *plan, enum exit_code code, const char *why);

/* What `ycsb run` prints by itself of the run of a script. What is not known is left out. False: a
 * failed write (errno is set). */
bool ycsb_write(FILE *stream, const struct plan *plan, const struct result *result);

/* run.json: the plan, the environment, the table, both ledgers, every figure and the histograms. */

/* Writes one JSON object, indented; of a search (else NULL) find-max.json, which has its levels,
 * too. False: out of memory or a failed write (errno is set). */
bool report_write_json(FILE *stream, const struct plan *plan, const struct table *table,
                       const struct result *result, const struct search *search);

/* The same for what could not begin: who says so, the exit code and why. */
bool report_write_json_failure(FILE *stream, enum exit_code code, const struct error *error);

/* The comparison of limits that append check shows, for people and as JSON. */

enum {
    CHECK_LINE_BYTES = 240
};

struct check_report {
    uint64_t sessions;            /* asked for */
    const char *target;           /* without its password; NULL = this machine only */
    const char *version;          /* of the server; NULL or "" = it does not say */
    const char *note;             /* how the connection works, may be NULL or "" */
    const char *io_trace;         /* whether I/O can be traced; NULL = not asked for */
    const char *workload;         /* script; NULL = none */
    unsigned prepared_statements; /* of it, in each session */
    const struct limit_list *list;
    uint64_t fitting;          /* sessions; LIMIT_NONE = no limit was found */
    const struct limit *first; /* that binds; NULL = none */
    const char *failure;       /* why the database was not asked; NULL or "" = it was */
    bool is_short;             /* they certainly do not fit: the line on stderr says so, and once
                                  is enough */
    enum exit_code code;
};

/* "1 to N sessions; the first limit is ...", or that so many do not fit and how many do. */
void check_conclusion(uint64_t sessions, uint64_t fitting, const struct limit *first,
                      char line[CHECK_LINE_BYTES]);

/* The same of a report, and which limit is not known. */
void check_conclude(const struct check_report *report, char line[CHECK_LINE_BYTES]);

/* At most 80 columns wide. */
void check_write_text(FILE *stream, const struct check_report *report);

/* One JSON object. False: out of memory or a failed write (errno is set). */
bool check_write_json(FILE *stream, const struct check_report *report);

#endif
