/*
 * What a run tells while it goes on: a file for node_exporter's textfile collector, and a page that
 * Prometheus reads (metrics_http.c). Both have the same text, in the exposition format 0.0.4,
 * written again every second. Counters are totals since the run's start. Histograms have a bucket
 * for every power of two of nanoseconds, where those of struct histogram end too: no count is
 * guessed.
 *
 * The updates come from the sampler's thread until it has stopped, all else from the main thread.
 */
#ifndef REPORT_METRICS_H
#define REPORT_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"
#include "base/buffer.h"
#include "base/process.h"
#include "measure/recorder.h"
#include "measure/sampler.h"
#include "plan/plan.h"

struct metrics_state {
    bool is_running;         /* false: the sessions have ended */
    int64_t started_wall_ns; /* 1970 UTC */
    int64_t elapsed_ns;      /* since the start of the run */
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
void metrics_update(struct metrics *metrics, const struct sampler_progress *now);

/* The sessions have ended: tells the last state. */
void metrics_conclude(struct metrics *metrics, const struct recorder_snapshot *total);

/* Why the file is not up to date, "" when it is. */
const char *metrics_shortage(const struct metrics *metrics);

/* The page is gone then, the file stays. `is_failed`: the run never began, the file goes too. */
void metrics_end(struct metrics *metrics, bool is_failed);

/*
 * GET /metrics: a text, given to whoever asks on a TCP port. One thread of its own accepts and,
 * through libmicrohttpd, answers; the text may be replaced at any time.
 *
 * One request a connection. A client has 5 s and is one of at most METRICS_HTTP_CLIENTS_MAX: one
 * more takes the place of the oldest, so that silent clients hold nobody up.
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

#endif
