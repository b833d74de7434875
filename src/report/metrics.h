/*
 * Metrics of a run for monitors: a file for node_exporter's textfile collector, and a page that
 * Prometheus reads. Both have the same text, in the exposition format 0.0.4, rewritten every
 * second. Counters are totals since the run's start. Histograms have two buckets for every power of
 * two of nanoseconds. At the end of each of these buckets, a bucket of struct histogram also ends,
 * so the counts are exact.
 *
 * The measuring thread calls metrics_update until it has ended; the main thread calls the other
 * functions.
 */
#ifndef REPORT_METRICS_H
#define REPORT_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/process.h"
#include "base/text.h"
#include "measure/sampler.h"
#include "plan/plan.h"
#include "report/progress.h"
#include "report/web.h"

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

/* Adds all metrics to *buffer. `total` has all counts so far. The caller must set a locale with a
 * decimal point. */
void metrics_text_add(struct buffer *buffer, const struct plan *plan,
                      const struct metrics_state *state, const struct recorder_snapshot *total);

struct metrics;

/* Writes the file of --metrics-file and starts the HTTP server of --metrics. Called before the run,
 * so that a wrong option is reported before the run. Refuses to replace a file that was not made by
 * this program. On EXIT_CODE_OK the caller owns *metrics; *metrics is NULL without these two
 * options. The plan is borrowed. */
enum exit_code metrics_begin(struct metrics **metrics, const struct plan *plan,
                             struct error *error);

/* Publishes the state at the end of an interval. `metrics` may be NULL, also for the next two
 * functions. */
void metrics_update(struct metrics *metrics, const struct progress_state *now);

/* Publishes the last state, after the sessions have ended. Returns "", or the reason why the file
 * is not up to date. */
const char *metrics_finish(struct metrics *metrics, const struct recorder_snapshot *total);

/* Stops the HTTP server and frees *metrics. If `is_failed`, the run never began. The function then
 * also writes the earlier content into the file, or removes the file if it did not exist before. */
void metrics_end(struct metrics *metrics, bool is_failed);

/* The server that answers GET /metrics on a TCP port (report/web.h). Any thread may replace the
 * text of the answer at any time. */
enum {
    METRICS_HTTP_CLIENTS_MAX = 16,
    METRICS_HTTP_FILES_MAX = METRICS_HTTP_CLIENTS_MAX + WEB_OTHER_FILES
};

struct metrics_http;

/* Listens on the addresses of `host` and starts the thread. Returns NULL with the reason in
 * *error. */
struct metrics_http *metrics_http_start(const char *host, uint16_t port, struct error *error);

/* Replaces the text of the answer by a copy of `text`. Any thread may call this function. If memory
 * runs out, the old text stays. */
void metrics_http_publish(struct metrics_http *http, const char *text, size_t length);

/* Ends the thread and every connection at once. `http` may be NULL. */
void metrics_http_stop(struct metrics_http *http);

#endif
