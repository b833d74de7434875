#include "report/figures.h"

#include <stdio.h>

#include "base/mono.h"
#include "base/units.h"

const struct figures_point figures_points[FIGURES_POINTS] = {
    {"p50", "p50", 0.5},      {"p90", "p90", 0.9}, {"p99", "p99", 0.99},
    {"p999", "p99.9", 0.999}, {"max", "max", 1},
};

static const char *const histogram_names[RECORDER_HISTOGRAMS] = {
    [RECORDER_CONNECT] = "connect",     [RECORDER_APPEND] = "append",
    [RECORDER_RESPONSE] = "response",   [RECORDER_COUNT] = "count",
    [RECORDER_RECONNECT] = "reconnect", [RECORDER_RECOVER] = "recover",
};

static const char *const counter_names[RECORDER_COUNTERS] = {
    [RECORDER_SESSIONS_CONNECTED] = "sessions_connected",
    [RECORDER_SESSIONS_ENDED] = "sessions_ended",
    [RECORDER_SESSIONS_DROPPED] = "sessions_dropped",
    [RECORDER_SESSIONS_FAILED] = "sessions_failed",
    [RECORDER_CONNECTIONS_OPENED] = "connections_opened",
    [RECORDER_CONNECTIONS_CLOSED] = "connections_closed",
    [RECORDER_CONNECTIONS_LOST] = "connections_lost",
    [RECORDER_RECONNECTS] = "reconnects",
    [RECORDER_RECONNECTS_FAILED] = "reconnects_failed",
    [RECORDER_CHURNS] = "churns",
    [RECORDER_ROWS_ACKNOWLEDGED] = "rows_acknowledged",
    [RECORDER_ROWS_REJECTED] = "rows_rejected",
    [RECORDER_ROWS_IN_DOUBT] = "rows_in_doubt",
    [RECORDER_APPENDS] = "appends",
    [RECORDER_APPENDS_FAILED] = "appends_failed",
    [RECORDER_COUNTS] = "counts",
    [RECORDER_COUNTS_FAILED] = "counts_failed",
    [RECORDER_BUSY_RETRIES] = "busy_retries",
    [RECORDER_REFUSALS] = "refusals",
    [RECORDER_TIMEOUTS] = "timeouts",
    [RECORDER_UNANSWERED] = "responses_unanswered",
    [RECORDER_FRESH_CHECKS] = "fresh_checks",
    [RECORDER_FRESH_BEHIND] = "fresh_behind",
    [RECORDER_FRESH_BACKWARD] = "fresh_backward",
    [RECORDER_ON_CPU_NS] = "on_cpu_ns",
    [RECORDER_RUN_QUEUE_NS] = "run_queue_ns",
    [RECORDER_SESSION_NS] = "session_ns",
};

int64_t figures_point_ns(const struct histogram *histogram, const struct figures_point *point)
{
    return point->quantile >= 1 ? histogram->max_ns
                                : histogram_quantile_ns(histogram, point->quantile);
}

const char *figures_histogram_name(enum recorder_histogram histogram)
{
    return histogram_names[histogram];
}

/* A counter that has no name yet is still a counter: its value must not be lost. */
const char *figures_counter_name(enum recorder_counter counter)
{
    return counter_names[counter] == NULL ? "unnamed" : counter_names[counter];
}

const char *figures_verification_name(enum verification_state state)
{
    switch (state) {
    case VERIFICATION_NONE:
        return "none";
    case VERIFICATION_FAILED:
        return "failed";
    case VERIFICATION_DONE:
        return "done";
    }
    return "unknown";
}

bool figures_has_histogram(const struct plan *plan, enum recorder_histogram histogram)
{
    const bool is_reconnecting = plan->drop_policy == DROP_RECONNECT;
    switch (histogram) {
    case RECORDER_RESPONSE:
        return plan->rate_rows_per_s > 0;
    case RECORDER_RECONNECT:
        return is_reconnecting || plan->churn_batches > 0;
    case RECORDER_RECOVER:
        return is_reconnecting;
    case RECORDER_CONNECT:
    case RECORDER_APPEND:
    case RECORDER_COUNT:
    case RECORDER_HISTOGRAMS:
        break;
    }
    return true;
}

uint64_t figures_errors(const uint64_t counters[RECORDER_COUNTERS])
{
    return counters[RECORDER_SESSIONS_FAILED] + counters[RECORDER_RECONNECTS_FAILED] +
           counters[RECORDER_APPENDS_FAILED] + counters[RECORDER_COUNTS_FAILED];
}

double figures_append_rows_per_s(const struct result *result)
{
    return result->append_ns > 0
               ? (double)result->rows.acknowledged / figures_seconds(result->append_ns)
               : -1;
}

bool figures_is_short(const struct result *result)
{
    return result->append_ns > 0 && result->append_ns < MONO_NS_PER_S;
}

const char *figures_reads_note(const struct result *result, char text[FIGURES_NOTE_BYTES])
{
    const struct verification *verification = &result->verification;
    char rows[UNITS_TEXT_BYTES];
    text[0] = '\0';
    if (verification->state == VERIFICATION_DONE && verification->rows_before > 0 &&
        !verification->is_shrunk && result->totals.counters[RECORDER_COUNTS] > 0) {
        snprintf(text, FIGURES_NOTE_BYTES,
                 "%s rows were there before, and reads cost more the more there are: --recreate "
                 "starts from an empty table",
                 units_format_count(verification->rows_before, rows));
    }
    return text;
}

bool figures_has_memory(const struct resource_summary *resources)
{
    return resources->memory_source != MEMORY_UNKNOWN && resources->max_server_memory_bytes >= 0;
}

double figures_seconds(int64_t ns)
{
    return (double)ns / (double)MONO_NS_PER_S;
}

double figures_ms(int64_t ns)
{
    return (double)ns / (double)MONO_NS_PER_MS;
}

double figures_mib(uint64_t bytes)
{
    return (double)bytes / (1024.0 * 1024.0);
}
