#include "report/csv_files.h"

#include "base/mono.h"
#include "report/figures.h"

enum {
    SECONDS_DECIMALS = 3,
    MS_DECIMALS = 6,
    PERCENT_DECIMALS = 2,
    MIB_DECIMALS = 2
};

static void put_seconds(struct csv *csv, const char *column, int64_t ns)
{
    csv_decimal(csv, column, figures_seconds(ns), SECONDS_DECIMALS);
}

static void put_percent(struct csv *csv, const char *column, double percent)
{
    csv_decimal_if(csv, column, percent >= 0, percent, PERCENT_DECIMALS);
}

static void put_mib(struct csv *csv, const char *column, bool is_known, int64_t bytes)
{
    csv_decimal_if(csv, column, is_known, figures_mib((uint64_t)bytes), MIB_DECIMALS);
}

static void put_four_figures(struct csv *csv, const struct result *result)
{
    const struct resource_summary *resources = &result->resources;
    put_percent(csv, "max_cpu_percent", resources->max_host_cpu_percent);
    put_mib(csv, "max_memory_mib", figures_has_memory(resources),
            resources->max_server_memory_bytes);
    put_seconds(csv, "elapsed_s", result->elapsed_ns);
    csv_decimal_if(csv, "throughput_rows_per_s", result->elapsed_ns > 0,
                   result->throughput_rows_per_s, 1);
}

static void put_resources(struct csv *csv, const struct resource_summary *resources)
{
    const bool has_memory = figures_has_memory(resources);
    put_percent(csv, "max_server_cpu_percent", resources->max_server_cpu_percent);
    put_percent(csv, "max_client_cpu_percent", resources->max_client_cpu_percent);
    put_percent(csv, "server_cpu_percent_at_max", resources->server_cpu_percent_at_max);
    put_percent(csv, "client_cpu_percent_at_max", resources->client_cpu_percent_at_max);
    csv_text(csv, "memory_source",
             has_memory ? memory_source_name(resources->memory_source) : NULL);
    csv_decimal_if(csv, "max_client_memory_mib", resources->max_client_memory_bytes > 0,
                   figures_mib(resources->max_client_memory_bytes), MIB_DECIMALS);
    csv_decimal(csv, "client_cpu_s", resources->client_cpu_s, SECONDS_DECIMALS);
    put_seconds(csv, "suspended_s", resources->suspended_ns);
}

static void put_row_verification(struct csv *csv, const struct row_verification *v)
{
    const bool is_done = v->state == VERIFICATION_DONE;
    csv_text(csv, "row_verification", figures_verification_name(v->state));
    csv_count_if(csv, "verified_present", is_done, v->present);
    csv_count_if(csv, "verified_lost", is_done, v->lost);
    csv_count_if(csv, "verified_in_doubt_present", is_done, v->in_doubt_present);
    csv_count_if(csv, "verified_rejected_present", is_done, v->rejected_present);
    csv_count_if(csv, "verified_duplicates", is_done, v->duplicates);
    csv_count_if(csv, "verified_foreign", is_done, v->foreign);
}

static void put_ledgers(struct csv *csv, const struct result *result)
{
    const struct session_ledger *sessions = &result->sessions;
    csv_count(csv, "sessions_connected", sessions->connected);
    csv_count(csv, "sessions_refused", sessions->refused);
    csv_count(csv, "sessions_timed_out", sessions->timed_out);
    csv_count(csv, "sessions_not_started", sessions->not_started);
    csv_count(csv, "sessions_finished", sessions->finished);
    csv_count(csv, "sessions_stopped", sessions->stopped);
    csv_count(csv, "sessions_dropped", sessions->dropped);
    const struct row_ledger *rows = &result->rows;
    csv_count(csv, "rows_planned", rows->planned);
    csv_count(csv, "rows_acknowledged", rows->acknowledged);
    csv_count(csv, "rows_rejected", rows->rejected);
    csv_count(csv, "rows_in_doubt", rows->in_doubt);
    csv_count(csv, "rows_not_sent", rows->not_sent);
    const struct verification *verification = &result->verification;
    const bool is_done = verification->state == VERIFICATION_DONE;
    csv_text(csv, "verification", figures_verification_name(verification->state));
    csv_count_if(csv, "rows_before", is_done, verification->rows_before);
    csv_count_if(csv, "rows_after", is_done, verification->rows_after);
    csv_count_if(csv, "rows_lost", is_done, verification->lost);
    csv_count_if(csv, "rows_lost_at_most", is_done, verification->lost_at_most);
    csv_count_if(csv, "rows_in_doubt_arrived", is_done, verification->in_doubt_arrived);
    csv_count_if(csv, "rows_rejected_arrived", is_done, verification->rejected_arrived);
    csv_count_if(csv, "rows_surplus", is_done, verification->surplus);
    put_row_verification(csv, &result->row_verification);
}

static void put_counters(struct csv *csv, const struct plan *plan, const struct result *result)
{
    static const enum recorder_counter plain[] = {
        RECORDER_APPENDS,       RECORDER_APPENDS_FAILED,    RECORDER_COUNTS,
        RECORDER_COUNTS_FAILED, RECORDER_BUSY_RETRIES,      RECORDER_CONNECTIONS_LOST,
        RECORDER_RECONNECTS,    RECORDER_RECONNECTS_FAILED, RECORDER_CHURNS,
        RECORDER_REFUSALS,
    };
    const uint64_t *counters = result->totals.counters;
    const bool is_checked = counters[RECORDER_FRESH_CHECKS] > 0;
    csv_count(csv, "fresh_checks", counters[RECORDER_FRESH_CHECKS]);
    csv_count_if(csv, "fresh_behind", is_checked, counters[RECORDER_FRESH_BEHIND]);
    csv_count_if(csv, "fresh_backward", is_checked, counters[RECORDER_FRESH_BACKWARD]);
    csv_count_if(csv, "worst_lag_rows", is_checked, result->worst_lag_rows);
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        csv_count(csv, figures_counter_name(plain[i]), counters[plain[i]]);
    }
    csv_count_if(csv, figures_counter_name(RECORDER_TIMEOUTS), plan->timeout_ns > 0,
                 counters[RECORDER_TIMEOUTS]);
    const bool has_rate = plan->rate_rows_per_s > 0;
    csv_count_if(csv, "batches_late", has_rate, result->batches_late);
    csv_count_if(csv, "batches_due", has_rate, result->batches.due);
    csv_count_if(csv, "batches_sent", has_rate, result->batches.sent);
    csv_count_if(csv, "batches_not_sent", has_rate, result->batches.not_sent);
    csv_count_if(csv, "responses_unanswered", has_rate, counters[RECORDER_UNANSWERED]);
    csv_decimal_if(csv, "rate_achieved_percent", has_rate && result->rate_achieved_percent >= 0,
                   result->rate_achieved_percent, PERCENT_DECIMALS);
}

static void put_latencies(struct csv *csv, const struct result *result)
{
    static const enum recorder_histogram order[] = {RECORDER_APPEND,    RECORDER_COUNT,
                                                    RECORDER_CONNECT,   RECORDER_RESPONSE,
                                                    RECORDER_RECONNECT, RECORDER_RECOVER};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const struct histogram *histogram = &result->totals.histograms[order[i]];
        for (size_t point = 0; point < FIGURES_POINTS; point++) {
            char column[64];
            snprintf(column, sizeof column, "%s_%s_ms", figures_histogram_name(order[i]),
                     figures_points[point].key);
            csv_decimal_if(csv, column, histogram->total > 0,
                           figures_ms(figures_point_ns(histogram, &figures_points[point])),
                           MS_DECIMALS);
        }
    }
}

static void put_fairness(struct csv *csv, const struct fairness *fairness)
{
    const bool is_known = fairness->sessions > 0;
    csv_count_if(csv, "slowest_session", is_known, fairness->slowest_session);
    csv_decimal_if(csv, "slowest_rows_per_s", is_known, fairness->slowest_rows_per_s, 1);
    csv_count_if(csv, "fastest_session", is_known, fairness->fastest_session);
    csv_decimal_if(csv, "fastest_rows_per_s", is_known, fairness->fastest_rows_per_s, 1);
    csv_count_if(csv, "longest_gap_session", is_known, fairness->longest_gap_session);
    csv_decimal_if(csv, "longest_gap_ms", is_known, figures_ms(fairness->longest_gap_ns),
                   MS_DECIMALS);
}

/* The limit that cost the most sessions; empty when none is known to have been hit. */
static void put_first_limit(struct csv *csv, const struct findings *findings)
{
    const bool has_one = findings->count > 0;
    const struct finding *first = &findings->entries[0];
    csv_text(csv, "first_limit", has_one ? first->name : NULL);
    csv_text(csv, "first_limit_side", has_one ? limit_side_name(first->side) : NULL);
    csv_count_if(csv, "first_limit_sessions", has_one, first->sessions);
}

void csv_files_summary(struct csv *csv, const struct plan *plan, const struct result *result)
{
    csv_text(csv, "adapter", plan->adapter->name);
    csv_text(csv, "target", plan->display_target);
    csv_count(csv, "sessions", plan->sessions);
    csv_count_if(csv, "records", plan->records > 0, plan->records);
    put_four_figures(csv, result);
    put_seconds(csv, "connect_s", result->connect_ns);
    put_seconds(csv, "append_s", result->append_ns);
    put_seconds(csv, "disconnect_s", result->disconnect_ns);
    const double append_rows_per_s = figures_append_rows_per_s(result);
    csv_decimal_if(csv, "append_rows_per_s", append_rows_per_s >= 0, append_rows_per_s, 1);
    put_resources(csv, &result->resources);
    put_ledgers(csv, result);
    put_counters(csv, plan, result);
    put_latencies(csv, result);
    csv_count(csv, "idle_sessions", plan->idle_sessions);
    put_fairness(csv, &result->fairness);
    csv_text(csv, "method", result->connection.method == NULL ? "" : result->connection.method);
    csv_text(csv, "engine", result->engine);
    csv_text(csv, "note", result->connection.note);
    csv_text(csv, "stop_reason", stop_reason_name(result->stop_reason));
    csv_word(csv, "verdict", verdict_name(result->verdict), (int)result->verdict);
    csv_text(csv, "verdict_reason", result->verdict_reason);
    csv_count(csv, "exit_code", (uint64_t)result->exit_code);
    put_first_limit(csv, &result->findings);
    char started[40] = "";
    mono_format_utc(result->started_wall_ns, started, sizeof started);
    csv_text(csv, "started_utc", started);
}

static void put_interval_latency(struct csv *csv, enum recorder_histogram histogram,
                                 const int64_t values_ns[3])
{
    static const char *const keys[3] = {"p50", "p99", "max"};
    for (size_t i = 0; i < 3; i++) {
        char column[64];
        snprintf(column, sizeof column, "%s_%s_ms", figures_histogram_name(histogram), keys[i]);
        /* No call takes 0 ns: a maximum of 0 says that none ended in this second. */
        csv_decimal_if(csv, column, values_ns[2] > 0, figures_ms(values_ns[i]), MS_DECIMALS);
    }
}

void csv_files_interval(struct csv *csv, const struct interval *interval)
{
    const uint64_t *counters = interval->counters;
    const double seconds = figures_seconds(interval->end_ns - interval->start_ns);
    put_seconds(csv, "start_s", interval->start_ns);
    put_seconds(csv, "end_s", interval->end_ns);
    csv_count(csv, "sessions_alive", interval->sessions_alive);
    csv_count(csv, "rows", counters[RECORDER_ROWS_ACKNOWLEDGED]);
    csv_decimal_if(csv, "rows_per_s", seconds > 0,
                   (double)counters[RECORDER_ROWS_ACKNOWLEDGED] / (seconds > 0 ? seconds : 1), 1);
    csv_count(csv, "appends", counters[RECORDER_APPENDS]);
    csv_count(csv, "counts", counters[RECORDER_COUNTS]);
    csv_count(csv, "errors", figures_errors(counters));
    csv_count(csv, "rows_rejected", counters[RECORDER_ROWS_REJECTED]);
    csv_count(csv, "rows_in_doubt", counters[RECORDER_ROWS_IN_DOUBT]);
    csv_count(csv, "sessions_connected", counters[RECORDER_SESSIONS_CONNECTED]);
    csv_count(csv, "sessions_dropped", counters[RECORDER_SESSIONS_DROPPED]);
    csv_count(csv, "busy_retries", counters[RECORDER_BUSY_RETRIES]);
    put_interval_latency(csv, RECORDER_APPEND,
                         (const int64_t[]){interval->append_p50_ns, interval->append_p99_ns,
                                           interval->append_max_ns});
    put_interval_latency(
        csv, RECORDER_COUNT,
        (const int64_t[]){interval->count_p50_ns, interval->count_p99_ns, interval->count_max_ns});
    csv_count(csv, "connections_lost", counters[RECORDER_CONNECTIONS_LOST]);
    csv_count(csv, "reconnects", counters[RECORDER_RECONNECTS]);
    csv_count(csv, "reconnects_failed", counters[RECORDER_RECONNECTS_FAILED]);
    csv_count(csv, "churns", counters[RECORDER_CHURNS]);
    csv_count(csv, "refusals", counters[RECORDER_REFUSALS]);
    csv_count(csv, "sessions_without_progress", interval->sessions_without_progress);
    csv_count(csv, "sessions_reading", interval->sessions_reading);
}

void csv_files_sample(struct csv *csv, const struct sample *sample)
{
    put_seconds(csv, "start_s", sample->start_ns);
    put_seconds(csv, "end_s", sample->end_ns);
    csv_count(csv, "sessions_alive", sample->sessions_alive);
    put_percent(csv, "host_cpu_percent", sample->host_cpu_percent);
    put_percent(csv, "server_cpu_percent", sample->server_cpu_percent);
    put_percent(csv, "client_cpu_percent", sample->client_cpu_percent);
    put_mib(csv, "server_memory_mib", sample->server_memory_bytes >= 0,
            sample->server_memory_bytes);
    const bool is_found = sample->server_processes > 0;
    csv_count_if(csv, "server_processes", is_found, sample->server_processes);
    csv_count_if(csv, "server_threads", is_found, sample->server_threads);
    csv_decimal_if(csv, "client_memory_mib", sample->client_memory_bytes > 0,
                   figures_mib(sample->client_memory_bytes), MIB_DECIMALS);
}

void csv_files_event(struct csv *csv, const struct mark *mark)
{
    char time[MOMENT_TEXT_BYTES];
    moment_format(&mark->moment, time);
    csv_text(csv, "time", time);
    csv_text(csv, "text", mark->text);
}
