#include "report/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mono.h"
#include "base/text.h"
#include "base/units.h"
#include "report/figures.h"

enum {
    /* 2^14 ns = 16 us … 2^36 ns = 69 s, in steps of a factor of 2 */
    FIRST_POWER = 14,
    LAST_POWER = 36,
    SECOND_DIGITS = 10
};

static void add_head(struct buffer *buffer, const char *name, const char *type, const char *help)
{
    buffer_add_format(buffer, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_gauge(struct buffer *buffer, const char *name, const char *help, double value)
{
    add_head(buffer, name, "gauge", help);
    buffer_add_format(buffer, "%s %.3f\n", name, value);
}

/* A value of a label: backslash, quote and line break are escaped, as the format has it. */
static void add_label(struct buffer *buffer, const char *name, const char *value)
{
    struct buffer clean;
    buffer_init(&clean);
    text_add_utf8(&clean, value);
    buffer_add_format(buffer, "%s=\"", name);
    for (const char *byte = buffer_text(&clean); *byte != '\0'; byte++) {
        if (*byte == '\n') {
            buffer_add_text(buffer, "\\n");
            continue;
        }
        if (*byte == '"' || *byte == '\\') {
            buffer_add(buffer, "\\", 1);
        }
        buffer_add(buffer, byte, 1);
    }
    buffer_add(buffer, "\"", 1);
    buffer_fini(&clean);
}

static void add_info(struct buffer *buffer, const struct plan *plan)
{
    add_head(buffer, "append_info", "gauge", "The program and what it loads, in labels.");
    buffer_add_text(buffer, "append_info{");
    add_label(buffer, "version", APPEND_VERSION);
    buffer_add_text(buffer, ",");
    add_label(buffer, "adapter", plan->adapter->name);
    buffer_add_text(buffer, ",");
    add_label(buffer, "target", plan->display_target);
    buffer_add_text(buffer, ",");
    add_label(buffer, "table", plan->table_name);
    buffer_add_text(buffer, "} 1\n");
}

/* Counters under one name stand one after the other, told apart by their selectors. */
static void add_counters(struct buffer *buffer, const struct recorder_snapshot *total)
{
    for (size_t i = 0; i < FIGURES; i++) {
        const struct figure *figure = &figure_table[i];
        if (figure->metric == NULL) {
            continue;
        }
        if (figure->metric_help != NULL) {
            add_head(buffer, figure->metric, "counter", figure->metric_help);
        }
        const bool has_selector = figure->metric_selector != NULL;
        buffer_add_format(buffer, "%s%s%s%s %" PRIu64 "\n", figure->metric, has_selector ? "{" : "",
                          has_selector ? figure->metric_selector : "", has_selector ? "}" : "",
                          total->counters[figure->counter]);
    }
}

static void add_histogram(struct buffer *buffer, const char *name, const char *help,
                          const struct histogram *histogram)
{
    add_head(buffer, name, "histogram", help);
    uint64_t below = 0;
    size_t bucket = 0;
    for (unsigned power = FIRST_POWER; power <= LAST_POWER; power++) {
        const int64_t edge_ns = INT64_C(1) << power;
        for (; bucket < histogram_bucket(edge_ns); bucket++) {
            below += histogram->counts[bucket];
        }
        buffer_add_format(buffer, "%s_bucket{le=\"%.*g\"} %" PRIu64 "\n", name, SECOND_DIGITS,
                          figures_seconds(edge_ns), below);
    }
    for (; bucket < HISTOGRAM_BUCKETS; bucket++) {
        below += histogram->counts[bucket];
    }
    /* not `total`: a snapshot of a run that goes on may be torn between the two */
    below += histogram->overflow;
    buffer_add_format(buffer,
                      "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_sum %.9f\n%s_count %" PRIu64 "\n",
                      name, below, name, (double)histogram->sum_ns / 1e9, name, below);
}

static void add_histograms(struct buffer *buffer, const struct plan *plan,
                           const struct recorder_snapshot *total)
{
    const struct operation_list operations = plan_operations(plan);
    for (size_t i = 0; i < operations.count; i++) {
        if (operation_is_used(&operations, i)) {
            const struct operation *operation = &operations.entries[i];
            add_histogram(buffer, operation->metric, operation->metric_help,
                          recorder_histogram(total, i));
        }
    }
}

static void add_shares(struct buffer *buffer, const struct sample *sample)
{
    const struct {
        const char *of;
        double percent;
    } shares[] = {{"machine", sample->cpu.host},
                  {"server", sample->cpu.server},
                  {"append", sample->cpu.client}};
    add_head(buffer, "append_cpu_ratio", "gauge",
             "Share of all CPUs of this machine over the latest sample interval.");
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        if (shares[i].percent >= 0) {
            buffer_add_format(buffer, "append_cpu_ratio{of=\"%s\"} %.5f\n", shares[i].of,
                              shares[i].percent / 100);
        }
    }
    add_head(buffer, "append_memory_bytes", "gauge",
             "Memory in the latest sample interval, its highest reading.");
    if (sample->server_memory_bytes >= 0) {
        buffer_add_format(buffer, "append_memory_bytes{of=\"server\"} %" PRId64 "\n",
                          sample->server_memory_bytes);
    }
    buffer_add_format(buffer, "append_memory_bytes{of=\"append\"} %" PRIu64 "\n",
                      sample->client_memory_bytes);
}

void metrics_text_add(struct buffer *buffer, const struct plan *plan,
                      const struct metrics_state *state, const struct recorder_snapshot *total)
{
    add_info(buffer, plan);
    add_gauge(buffer, "append_running", "1 while sessions are there, 0 when they have ended.",
              state->is_running ? 1 : 0);
    add_gauge(buffer, "append_start_time_seconds", "Start of the run since 1970 UTC.",
              figures_seconds(state->started_wall_ns));
    add_gauge(buffer, "append_elapsed_seconds", "Time since the start of the run.",
              figures_seconds(state->elapsed_ns));
    if (!plan->is_search) {
        add_gauge(buffer, "append_sessions_requested", "Sessions asked for, idle ones included.",
                  (double)plan_sessions_all(plan));
    }
    if (plan->records > 0) {
        add_gauge(buffer, "append_rows_planned", "Rows asked for.", (double)plan->records);
    }
    add_gauge(buffer, "append_sessions", "Sessions that have a connection now.",
              (double)state->sessions_alive);
    add_counters(buffer, total);
    add_histograms(buffer, plan, total);
    if (state->has_sample) {
        add_shares(buffer, &state->sample);
    }
}

struct metrics {
    const struct plan *plan;
    struct metrics_state state;
    struct metrics_http *http; /* NULL: none */
    char shortage[200];
};

/* Returns errno of the file. */
static int tell(struct metrics *metrics, const struct recorder_snapshot *total)
{
    struct buffer text;
    buffer_init(&text);
    const locale_t before = units_use_point();
    metrics_text_add(&text, metrics->plan, &metrics->state, total);
    uselocale(before);
    int reason = buffer_failed(&text) ? ENOMEM : 0;
    if (reason == 0 && metrics->http != NULL) {
        metrics_http_publish(metrics->http, buffer_text(&text), text.length);
    }
    if (reason == 0 && metrics->plan->metrics_file != NULL) {
        reason = file_replace(AT_FDCWD, metrics->plan->metrics_file, &text, false);
    }
    buffer_fini(&text);
    return reason;
}

static void note(struct metrics *metrics, int reason)
{
    if (reason == 0) {
        metrics->shortage[0] = '\0';
    } else {
        snprintf(metrics->shortage, sizeof metrics->shortage, "--metrics-file: %s",
                 strerror(reason));
    }
}

/* Before the first session: all counts are 0. */
static enum exit_code tell_first(struct metrics *metrics, struct error *error)
{
    const char *path = metrics->plan->metrics_file;
    if (path != NULL && file_is_special(path)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--metrics-file '%.120s' is a device or a pipe: give the name of a file", path);
        return EXIT_CODE_USAGE;
    }
    const struct recorder_snapshot nothing = {0};
    const int reason = tell(metrics, &nothing);
    if (reason != 0) {
        error_set(error, ERROR_USAGE, reason, NULL, "--metrics-file '%.120s' cannot be written: %s",
                  path, strerror(reason));
        return EXIT_CODE_USAGE;
    }
    return EXIT_CODE_OK;
}

enum exit_code metrics_begin(struct metrics **metrics, const struct plan *plan, struct error *error)
{
    *metrics = NULL;
    if (plan->metrics_file == NULL && plan->metrics_port == 0) {
        return EXIT_CODE_OK;
    }
    struct metrics *made = calloc(1, sizeof *made);
    if (made == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the metrics");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    made->plan = plan;
    made->state.is_running = true;
    made->state.started_wall_ns = mono_wall_ns();
    enum exit_code code = EXIT_CODE_OK;
    if (plan->metrics_port > 0) {
        made->http = metrics_http_start(plan->metrics_host, plan->metrics_port, error);
        code = made->http == NULL ? EXIT_CODE_USAGE : EXIT_CODE_OK;
    }
    if (code == EXIT_CODE_OK) {
        code = tell_first(made, error);
    }
    if (code != EXIT_CODE_OK) {
        metrics_end(made, false); /* a file of somebody else may be there */
        return code;
    }
    *metrics = made;
    return EXIT_CODE_OK;
}

void metrics_update(struct metrics *metrics, const struct sampler_progress *now)
{
    if (metrics == NULL) {
        return;
    }
    if (metrics->state.elapsed_ns == 0) {
        metrics->state.started_wall_ns = mono_wall_ns() - now->interval->end_ns;
    }
    metrics->state.elapsed_ns = now->interval->end_ns;
    metrics->state.sessions_alive = now->interval->sessions_alive;
    metrics->state.has_sample = now->sample != NULL;
    if (now->sample != NULL) {
        metrics->state.sample = *now->sample;
    }
    note(metrics, tell(metrics, now->total));
}

void metrics_conclude(struct metrics *metrics, const struct recorder_snapshot *total)
{
    if (metrics == NULL) {
        return;
    }
    metrics->state.is_running = false;
    metrics->state.sessions_alive = 0;
    note(metrics, tell(metrics, total));
}

const char *metrics_shortage(const struct metrics *metrics)
{
    return metrics == NULL ? "" : metrics->shortage;
}

void metrics_end(struct metrics *metrics, bool is_failed)
{
    if (metrics == NULL) {
        return;
    }
    metrics_http_stop(metrics->http);
    if (is_failed && metrics->plan->metrics_file != NULL) {
        unlink(metrics->plan->metrics_file);
    }
    free(metrics);
}
