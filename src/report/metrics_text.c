#include "report/metrics_text.h"

#include <inttypes.h>

#include "report/clean.h"
#include "report/figures.h"

enum {
    /* 2^14 ns = 16 us … 2^36 ns = 69 s, in steps of a factor of 2 */
    FIRST_POWER = 14,
    LAST_POWER = 36,
    SECOND_DIGITS = 10
};

/* A counter, or several of them under one name with a label that tells them apart. */
static const struct {
    enum recorder_counter counter;
    const char *name;
    const char *label; /* NULL = none */
    const char *help;  /* NULL = same name as the one before */
} counters[] = {
    {RECORDER_ROWS_ACKNOWLEDGED, "append_rows_total", "outcome=\"acknowledged\"",
     "Rows by what became of them."},
    {RECORDER_ROWS_REJECTED, "append_rows_total", "outcome=\"rejected\"", NULL},
    {RECORDER_ROWS_IN_DOUBT, "append_rows_total", "outcome=\"in_doubt\"", NULL},
    {RECORDER_APPENDS, "append_batches_total", NULL, "Batches that were answered."},
    {RECORDER_APPENDS_FAILED, "append_batches_failed_total", NULL,
     "Batches that were rejected or lost."},
    {RECORDER_COUNTS, "append_reads_total", NULL, "Reads that succeeded."},
    {RECORDER_COUNTS_FAILED, "append_reads_failed_total", NULL, "Reads that failed."},
    {RECORDER_BUSY_RETRIES, "append_busy_retries_total", NULL,
     "Batches begun again because the database was busy."},
    {RECORDER_REFUSALS, "append_refusals_total", NULL,
     "Batches that a read-only server refused, to be sent again."},
    {RECORDER_TIMEOUTS, "append_timeouts_total", NULL, "Calls that --timeout cut."},
    {RECORDER_SESSIONS_CONNECTED, "append_sessions_connected_total", NULL,
     "Sessions that connected."},
    {RECORDER_SESSIONS_FAILED, "append_sessions_failed_total", NULL,
     "Sessions that were refused or timed out."},
    {RECORDER_SESSIONS_DROPPED, "append_sessions_dropped_total", NULL,
     "Sessions that ended by a lost connection or a fatal error."},
    {RECORDER_CONNECTIONS_LOST, "append_connections_lost_total", NULL,
     "Connections that were lost."},
    {RECORDER_RECONNECTS, "append_reconnects_total", NULL, "Connections had again after a loss."},
    {RECORDER_RECONNECTS_FAILED, "append_reconnects_failed_total", NULL,
     "Tries to connect after a loss that failed."},
    {RECORDER_CHURNS, "append_churns_total", NULL,
     "Connections closed in good order and opened anew."},
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
    clean_add_utf8(&clean, value);
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

static void add_counters(struct buffer *buffer, const struct recorder_snapshot *total)
{
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        const char *name = counters[i].name;
        if (counters[i].help != NULL) {
            add_head(buffer, name, "counter", counters[i].help);
        }
        const bool has_label = counters[i].label != NULL;
        buffer_add_format(buffer, "%s%s%s%s %" PRIu64 "\n", name, has_label ? "{" : "",
                          has_label ? counters[i].label : "", has_label ? "}" : "",
                          total->counters[counters[i].counter]);
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
    static const struct {
        enum recorder_histogram histogram;
        const char *name;
        const char *help;
    } histograms[] = {
        {RECORDER_CONNECT, "append_connect_duration_seconds", "Time of a session's first connect."},
        {RECORDER_APPEND, "append_batch_duration_seconds",
         "Time from opening an append to its acknowledgement, a batch each."},
        {RECORDER_RESPONSE, "append_response_duration_seconds",
         "Time from when a batch was due until it was acknowledged."},
        {RECORDER_COUNT, "append_read_duration_seconds", "Time of a read."},
        {RECORDER_RECONNECT, "append_reconnect_duration_seconds",
         "Time of a connect after a loss or a churn."},
        {RECORDER_RECOVER, "append_recover_duration_seconds",
         "Time from the loss of a connection until the session could append again."},
    };
    for (size_t i = 0; i < sizeof histograms / sizeof histograms[0]; i++) {
        if (figures_has_histogram(plan, histograms[i].histogram)) {
            add_histogram(buffer, histograms[i].name, histograms[i].help,
                          &total->histograms[histograms[i].histogram]);
        }
    }
}

static void add_shares(struct buffer *buffer, const struct sample *sample)
{
    const struct {
        const char *of;
        double percent;
    } shares[] = {{"machine", sample->host_cpu_percent},
                  {"server", sample->server_cpu_percent},
                  {"append", sample->client_cpu_percent}};
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
                  (double)plan->sessions + (double)plan->idle_sessions);
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
