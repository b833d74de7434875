/*
 * Metrics of a run for monitors: a file for node_exporter's textfile collector, and a page that
 * Prometheus reads. Both have the same text, in the exposition format 0.0.4, rewritten every
 * second. Counters are totals since the run's start. Histograms have two buckets for every power of
 * two of nanoseconds; buckets of struct histogram also end there, so the counts are exact.
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

/* Replaces the text, which is copied. Any thread. Out of memory: the old text stays. */
void metrics_http_publish(struct metrics_http *http, const char *text, size_t length);

/* Ends the thread and every connection at once. `http` may be NULL. */
void metrics_http_stop(struct metrics_http *http);

#endif
