#include "report/figures.h"

#include <stdio.h>

#include "base/mono.h"
#include "base/units.h"

int64_t figures_point_ns(const struct histogram *histogram, const struct figure_point *point)
{
    return point->quantile >= 1 ? histogram->max_ns
                                : histogram_quantile_ns(histogram, point->quantile);
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

uint64_t figures_errors(const uint64_t counters[RECORDER_COUNTERS])
{
    return counters[RECORDER_SESSIONS_FAILED] + counters[RECORDER_RECONNECTS_FAILED] +
           counters[RECORDER_APPENDS_FAILED] + counters[RECORDER_READS_FAILED];
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
        !verification->is_shrunk && result->totals.counters[RECORDER_READS] > 0) {
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

static void fill_plan(struct figure_set *set, const struct plan *plan, const struct result *result)
{
    figure_put_text(set, FIGURE_ADAPTER, plan->adapter->name);
    figure_put_text(set, FIGURE_TARGET, plan->display_target);
    figure_put_count(set, FIGURE_SESSIONS, true, plan->sessions);
    figure_put_count(set, FIGURE_RECORDS, plan->records > 0, plan->records);
    figure_put_count(set, FIGURE_IDLE_SESSIONS, true, plan->idle_sessions);
    figure_put_text(set, FIGURE_METHOD, result->connection.method);
    figure_put_text(set, FIGURE_ENGINE, result->engine);
    figure_put_text(set, FIGURE_NOTE, result->connection.note);
    mono_format_utc(result->started_wall_ns, set->started_utc, sizeof set->started_utc);
    figure_put_text(set, FIGURE_STARTED_UTC, set->started_utc);
}

static void fill_times(struct figure_set *set, const struct result *result)
{
    const double rows_per_s = figures_append_rows_per_s(result);
    figure_put_number(set, FIGURE_ELAPSED_S, true, figures_seconds(result->elapsed_ns));
    figure_put_number(set, FIGURE_THROUGHPUT_ROWS_PER_S, result->elapsed_ns > 0,
                      result->throughput_rows_per_s);
    figure_put_number(set, FIGURE_CONNECT_S, true, figures_seconds(result->connect_ns));
    figure_put_number(set, FIGURE_APPEND_S, true, figures_seconds(result->append_ns));
    figure_put_number(set, FIGURE_DISCONNECT_S, true, figures_seconds(result->disconnect_ns));
    figure_put_number(set, FIGURE_APPEND_ROWS_PER_S, rows_per_s >= 0, rows_per_s);
}

static void put_percent(struct figure_set *set, enum figure_id id, double percent)
{
    figure_put_number(set, id, percent >= 0, percent);
}

/* Its readings are some milliseconds late: of a shorter run they would be too much of it. */
static bool has_server_cpu(const struct result *result)
{
    return result->resources.server_cpu_s >= 0 && result->append_ns >= MONO_NS_PER_S;
}

static void fill_resources(struct figure_set *set, const struct result *result)
{
    const struct resource_summary *resources = &result->resources;
    const bool has_memory = figures_has_memory(resources);
    const char *source = memory_source_names[resources->memory_source];
    const uint64_t server_bytes = (uint64_t)resources->max_server_memory_bytes;
    const uint64_t client_bytes = resources->max_client_memory_bytes;
    figure_put_count(set, FIGURE_CPUS, true, resources->cpus);
    put_percent(set, FIGURE_MAX_CPU_PERCENT, resources->max_cpu.host);
    put_percent(set, FIGURE_MAX_SERVER_CPU_PERCENT, resources->max_cpu.server);
    put_percent(set, FIGURE_MAX_CLIENT_CPU_PERCENT, resources->max_cpu.client);
    put_percent(set, FIGURE_SERVER_CPU_PERCENT_AT_MAX, resources->cpu_at_max.server);
    put_percent(set, FIGURE_CLIENT_CPU_PERCENT_AT_MAX, resources->cpu_at_max.client);
    put_percent(set, FIGURE_MEAN_HOST_CPU_PERCENT, resources->mean_cpu.host);
    put_percent(set, FIGURE_MEAN_SERVER_CPU_PERCENT, resources->mean_cpu.server);
    put_percent(set, FIGURE_MEAN_CLIENT_CPU_PERCENT, resources->mean_cpu.client);
    figure_put_number(set, FIGURE_MAX_MEMORY_MIB, has_memory, figures_mib(server_bytes));
    figure_put_count(set, FIGURE_MAX_SERVER_MEMORY_BYTES, has_memory, server_bytes);
    figure_put_text(set, FIGURE_MEMORY_SOURCE, has_memory ? source : NULL);
    figure_put_text(set, FIGURE_MEMORY_KIND, source);
    figure_put_count(set, FIGURE_MAX_SERVER_PROCESSES, resources->max_server_processes > 0,
                     resources->max_server_processes);
    figure_put_count(set, FIGURE_SERVER_PID, resources->server_pid > 0,
                     (uint64_t)resources->server_pid);
    figure_put_text(set, FIGURE_SERVER_NAME, resources->server_name);
    figure_put_text(set, FIGURE_SERVER_NOTE, resources->server_note);
    figure_put_number(set, FIGURE_MAX_CLIENT_MEMORY_MIB, client_bytes > 0,
                      figures_mib(client_bytes));
    figure_put_count(set, FIGURE_MAX_CLIENT_MEMORY_BYTES, client_bytes > 0, client_bytes);
    figure_put_number(set, FIGURE_CLIENT_CPU_S, true, resources->client_cpu_s);
    figure_put_number(set, FIGURE_SERVER_CPU_S, has_server_cpu(result), resources->server_cpu_s);
    figure_put_number(set, FIGURE_SUSPENDED_S, true, figures_seconds(resources->suspended_ns));
}

static void fill_ledgers(struct figure_set *set, const struct plan *plan,
                         const struct result *result)
{
    const bool has_rate = plan->rate_rows_per_s > 0;
    const struct session_ledger *sessions = &result->sessions;
    figure_put_count(set, FIGURE_SESSIONS_REQUESTED, true, sessions->requested);
    figure_put_count(set, FIGURE_SESSIONS_CONNECTED, true, sessions->connected);
    figure_put_count(set, FIGURE_SESSIONS_REFUSED, true, sessions->refused);
    figure_put_count(set, FIGURE_SESSIONS_TIMED_OUT, true, sessions->timed_out);
    figure_put_count(set, FIGURE_SESSIONS_NOT_STARTED, true, sessions->not_started);
    figure_put_count(set, FIGURE_SESSIONS_FINISHED, true, sessions->finished);
    figure_put_count(set, FIGURE_SESSIONS_STOPPED, true, sessions->stopped);
    figure_put_count(set, FIGURE_SESSIONS_DROPPED, true, sessions->dropped);
    figure_put_count(set, FIGURE_SESSIONS_BALANCE, true, session_ledger_balances(sessions));
    const struct row_ledger *rows = &result->rows;
    figure_put_count(set, FIGURE_ROWS_PLANNED, true, rows->planned);
    figure_put_count(set, FIGURE_ROWS_ACKNOWLEDGED, true, rows->acknowledged);
    figure_put_count(set, FIGURE_ROWS_REJECTED, true, rows->rejected);
    figure_put_count(set, FIGURE_ROWS_IN_DOUBT, true, rows->in_doubt);
    figure_put_count(set, FIGURE_ROWS_NOT_SENT, true, rows->not_sent);
    figure_put_count(set, FIGURE_ROWS_BALANCE, true, row_ledger_balances(rows));
    figure_put_count(set, FIGURE_BATCHES_LATE, has_rate, result->batches_late);
    figure_put_count(set, FIGURE_BATCHES_DUE, has_rate, result->batches.due);
    figure_put_count(set, FIGURE_BATCHES_SENT, has_rate, result->batches.sent);
    figure_put_count(set, FIGURE_BATCHES_NOT_SENT, has_rate, result->batches.not_sent);
    figure_put_number(set, FIGURE_SERVER_CPU_US_PER_ROW,
                      has_server_cpu(result) && rows->acknowledged > 0,
                      1e6 * result->resources.server_cpu_s / (double)rows->acknowledged);
    figure_put_number(set, FIGURE_RATE_ACHIEVED_PERCENT,
                      has_rate && result->rate_achieved_percent >= 0,
                      result->rate_achieved_percent);
}

static void fill_verification(struct figure_set *set, const struct result *result)
{
    const struct verification *v = &result->verification;
    bool is_done = v->state == VERIFICATION_DONE;
    figure_put_text(set, FIGURE_VERIFICATION, figures_verification_name(v->state));
    figure_put_text(set, FIGURE_VERIFICATION_REASON, is_done ? NULL : v->reason);
    figure_put_count(set, FIGURE_ROWS_BEFORE, is_done, v->rows_before);
    figure_put_count(set, FIGURE_ROWS_AFTER, is_done, v->rows_after);
    figure_put_count(set, FIGURE_ROWS_LOST, is_done, v->lost);
    figure_put_count(set, FIGURE_ROWS_LOST_AT_MOST, is_done, v->lost_at_most);
    figure_put_count(set, FIGURE_ROWS_IN_DOUBT_ARRIVED, is_done, v->in_doubt_arrived);
    figure_put_count(set, FIGURE_ROWS_REJECTED_ARRIVED, is_done, v->rejected_arrived);
    figure_put_count(set, FIGURE_ROWS_SURPLUS, is_done, v->surplus);
    figure_put_count(set, FIGURE_IS_SHRUNK, is_done, v->is_shrunk);
    figure_put_text(set, FIGURE_VERIFICATION_NOTE, figures_reads_note(result, set->note));
    const struct row_verification *r = &result->row_verification;
    is_done = r->state == VERIFICATION_DONE;
    figure_put_text(set, FIGURE_ROW_VERIFICATION, figures_verification_name(r->state));
    figure_put_text(set, FIGURE_ROW_VERIFICATION_REASON, is_done ? NULL : r->reason);
    figure_put_count(set, FIGURE_VERIFIED_READ, is_done, r->read);
    figure_put_count(set, FIGURE_VERIFIED_PRESENT, is_done, r->present);
    figure_put_count(set, FIGURE_VERIFIED_LOST, is_done, r->lost);
    figure_put_count(set, FIGURE_VERIFIED_SESSIONS_LOST, is_done, r->sessions_lost);
    figure_put_count(set, FIGURE_VERIFIED_IN_DOUBT_PRESENT, is_done, r->in_doubt_present);
    figure_put_count(set, FIGURE_VERIFIED_REJECTED_PRESENT, is_done, r->rejected_present);
    figure_put_count(set, FIGURE_VERIFIED_DUPLICATES, is_done, r->duplicates);
    figure_put_count(set, FIGURE_VERIFIED_FOREIGN, is_done, r->foreign);
}

static void fill_counters(struct figure_set *set, const struct plan *plan,
                          const struct result *result)
{
    const uint64_t *counters = result->totals.counters;
    for (size_t id = 0; id < FIGURES; id++) {
        if (figure_table[id].counter >= 0) {
            figure_put_count(set, (enum figure_id)id, true, counters[figure_table[id].counter]);
        }
    }
    const bool is_checked = counters[RECORDER_FRESH_CHECKS] > 0;
    figure_put_count(set, FIGURE_FRESH_CHECKS, true, counters[RECORDER_FRESH_CHECKS]);
    figure_put_count(set, FIGURE_FRESH_BEHIND, is_checked, counters[RECORDER_FRESH_BEHIND]);
    figure_put_count(set, FIGURE_FRESH_BACKWARD, is_checked, counters[RECORDER_FRESH_BACKWARD]);
    set->values[FIGURE_COUNTER_TIMEOUTS].is_known = plan->timeout_ns > 0;
    set->values[FIGURE_COUNTER_RESPONSES_UNANSWERED].is_known = plan->rate_rows_per_s > 0;
    figure_put_count(set, FIGURE_WORST_LAG_ROWS, is_checked, result->worst_lag_rows);
}

static void fill_latencies(struct figure_set *set, const struct recorder_snapshot *totals)
{
    for (size_t i = 0; i < set->operations.count; i++) {
        const struct histogram *histogram = recorder_histogram(totals, i);
        struct figure_latency *latency = &set->latencies[i];
        latency->count = histogram->total;
        latency->mean_ms = histogram_mean_ns(histogram) / (double)MONO_NS_PER_MS;
        for (size_t point = 0; point < FIGURE_POINTS; point++) {
            latency->points_ms[point] =
                figures_ms(figures_point_ns(histogram, &figure_points[point]));
        }
    }
}

static void fill_fairness(struct figure_set *set, const struct fairness *fairness)
{
    const bool is_known = fairness->sessions > 0;
    figure_put_count(set, FIGURE_FAIRNESS_SESSIONS, true, fairness->sessions);
    figure_put_count(set, FIGURE_SLOWEST_SESSION, is_known, fairness->slowest_session);
    figure_put_number(set, FIGURE_SLOWEST_ROWS_PER_S, is_known, fairness->slowest_rows_per_s);
    figure_put_count(set, FIGURE_FASTEST_SESSION, is_known, fairness->fastest_session);
    figure_put_number(set, FIGURE_FASTEST_ROWS_PER_S, is_known, fairness->fastest_rows_per_s);
    figure_put_count(set, FIGURE_LONGEST_GAP_SESSION, is_known, fairness->longest_gap_session);
    figure_put_number(set, FIGURE_LONGEST_GAP_MS, is_known, figures_ms(fairness->longest_gap_ns));
}

static void fill_outcome(struct figure_set *set, const struct result *result)
{
    figure_put_text(set, FIGURE_STOP_REASON, stop_reason_names[result->stop_reason]);
    set->values[FIGURE_VERDICT] = (struct figure_value){.is_known = true,
                                                        .number = (double)result->verdict,
                                                        .text = verdict_names[result->verdict]};
    figure_put_text(set, FIGURE_VERDICT_REASON, result->verdict_reason);
    figure_put_count(set, FIGURE_EXIT_CODE, true, (uint64_t)result->exit_code);
    figure_put_text(set, FIGURE_EXIT_REASON, result->exit_reason);
    if (result->findings.count > 0) {
        const struct finding *first = &result->findings.entries[0];
        figure_put_text(set, FIGURE_FIRST_LIMIT, first->name);
        figure_put_text(set, FIGURE_FIRST_LIMIT_SIDE, limit_side_names[first->side]);
        figure_put_count(set, FIGURE_FIRST_LIMIT_SESSIONS, true, first->sessions);
    }
}

void figures_of_result(struct figure_set *set, const struct plan *plan, const struct result *result)
{
    *set = (struct figure_set){.operations = plan_operations(plan)};
    fill_plan(set, plan, result);
    fill_times(set, result);
    fill_resources(set, result);
    fill_ledgers(set, plan, result);
    fill_verification(set, result);
    fill_counters(set, plan, result);
    fill_latencies(set, &result->totals);
    fill_fairness(set, &result->fairness);
    fill_outcome(set, result);
}
