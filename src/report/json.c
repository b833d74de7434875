#include "report/json.h"

#include <jansson.h>

#include "base/mono.h"
#include "report/figures.h"
#include "report/json_findings.h"
#include "report/json_levels.h"
#include "report/json_plan.h"
#include "report/tree.h"

/* Raised when a member changes its meaning or goes; new members do not raise it. */
enum {
    FORMAT_VERSION = 2
};

static void add_server(struct tree root, const struct result *result)
{
    const struct server_limits *server = &result->server;
    struct tree tree = tree_object(root, "server");
    tree_text(tree, "version", server->version);
    struct tree limits = tree_array(tree, "session_limits");
    for (size_t i = 0; i < server->count; i++) {
        const struct session_limit *limit = &server->sessions[i];
        struct tree entry = tree_append_object(limits);
        tree_text(entry, "name", limit->name);
        tree_count(entry, "allowed", limit->allowed);
        tree_count(entry, "used", limit->used);
        tree_text(entry, "note", limit->note);
        tree_text(entry, "fix", limit->fix);
    }
}

static void add_connection(struct tree root, const struct result *result)
{
    const struct connection_info *connection = &result->connection;
    struct tree tree = tree_object(root, "connection");
    tree_text(tree, "host", connection->host);
    tree_count_if(tree, "port", connection->port > 0, connection->port);
    tree_text(tree, "user", connection->user);
    tree_text(tree, "database", connection->database);
    tree_text(tree, "dialect", connection->dialect);
    tree_text(tree, "method", connection->method);
    tree_bool(tree, "is_embedded", connection->is_embedded);
    tree_text(tree, "note", connection->note);
}

static void add_times(struct tree root, const struct result *result)
{
    char started[40] = "";
    mono_format_utc(result->started_wall_ns, started, sizeof started);
    struct tree tree = tree_object(root, "times");
    tree_text(tree, "started_utc", started);
    tree_number(tree, "elapsed_s", figures_seconds(result->elapsed_ns));
    tree_number(tree, "connect_s", figures_seconds(result->connect_ns));
    tree_number(tree, "append_s", figures_seconds(result->append_ns));
    tree_number(tree, "disconnect_s", figures_seconds(result->disconnect_ns));
}

static void add_figures(struct tree root, const struct plan *plan, const struct result *result)
{
    const struct resource_summary *resources = &result->resources;
    struct tree tree = tree_object(root, "figures");
    tree_number_if(tree, "max_cpu_percent", resources->max_host_cpu_percent >= 0,
                   resources->max_host_cpu_percent);
    tree_number_if(tree, "max_memory_mib", figures_has_memory(resources),
                   figures_mib((uint64_t)resources->max_server_memory_bytes));
    tree_number(tree, "elapsed_s", figures_seconds(result->elapsed_ns));
    tree_number_if(tree, "throughput_rows_per_s", result->elapsed_ns > 0,
                   result->throughput_rows_per_s);
    const double append_rows_per_s = figures_append_rows_per_s(result);
    tree_number_if(tree, "append_rows_per_s", append_rows_per_s >= 0, append_rows_per_s);
    tree_number_if(tree, "rate_achieved_percent",
                   plan->rate_rows_per_s > 0 && result->rate_achieved_percent >= 0,
                   result->rate_achieved_percent);
}

static void add_ledgers(struct tree root, const struct plan *plan, const struct result *result)
{
    const bool has_rate = plan->rate_rows_per_s > 0;
    const struct session_ledger *sessions = &result->sessions;
    struct tree tree = tree_object(root, "sessions");
    tree_count(tree, "requested", sessions->requested);
    tree_count(tree, "connected", sessions->connected);
    tree_count(tree, "refused", sessions->refused);
    tree_count(tree, "timed_out", sessions->timed_out);
    tree_count(tree, "not_started", sessions->not_started);
    tree_count(tree, "finished", sessions->finished);
    tree_count(tree, "stopped", sessions->stopped);
    tree_count(tree, "dropped", sessions->dropped);
    tree_bool(tree, "balances", session_ledger_balances(sessions));
    const struct row_ledger *rows = &result->rows;
    tree = tree_object(root, "rows");
    tree_count(tree, "planned", rows->planned);
    tree_count(tree, "acknowledged", rows->acknowledged);
    tree_count(tree, "rejected", rows->rejected);
    tree_count(tree, "in_doubt", rows->in_doubt);
    tree_count(tree, "not_sent", rows->not_sent);
    tree_bool(tree, "balances", row_ledger_balances(rows));
    const struct batch_ledger *batches = &result->batches;
    tree = tree_object(root, "batches");
    tree_count_if(tree, "due", has_rate, batches->due);
    tree_count_if(tree, "sent", has_rate, batches->sent);
    tree_count_if(tree, "not_sent", has_rate, batches->not_sent);
}

static void add_row_verification(struct tree root, const struct row_verification *v)
{
    const bool is_done = v->state == VERIFICATION_DONE;
    struct tree tree = tree_object(root, "row_verification");
    tree_text(tree, "state", figures_verification_name(v->state));
    tree_text(tree, "reason", is_done ? NULL : v->reason);
    tree_count_if(tree, "read", is_done, v->read);
    tree_count_if(tree, "present", is_done, v->present);
    tree_count_if(tree, "lost", is_done, v->lost);
    tree_count_if(tree, "sessions_lost", is_done, v->sessions_lost);
    tree_count_if(tree, "in_doubt_present", is_done, v->in_doubt_present);
    tree_count_if(tree, "rejected_present", is_done, v->rejected_present);
    tree_count_if(tree, "duplicates", is_done, v->duplicates);
    tree_count_if(tree, "foreign", is_done, v->foreign);
}

static void add_verification(struct tree root, const struct result *result)
{
    const struct verification *verification = &result->verification;
    const bool is_done = verification->state == VERIFICATION_DONE;
    char note[FIGURES_NOTE_BYTES];
    struct tree tree = tree_object(root, "verification");
    tree_text(tree, "state", figures_verification_name(verification->state));
    tree_text(tree, "reason", is_done ? NULL : verification->reason);
    tree_count_if(tree, "rows_before", is_done, verification->rows_before);
    tree_count_if(tree, "rows_after", is_done, verification->rows_after);
    tree_count_if(tree, "lost", is_done, verification->lost);
    tree_count_if(tree, "lost_at_most", is_done, verification->lost_at_most);
    tree_count_if(tree, "in_doubt_arrived", is_done, verification->in_doubt_arrived);
    tree_count_if(tree, "rejected_arrived", is_done, verification->rejected_arrived);
    tree_count_if(tree, "surplus", is_done, verification->surplus);
    tree_put(tree, "is_shrunk", is_done ? json_boolean(verification->is_shrunk) : json_null());
    tree_text(tree, "note", figures_reads_note(result, note));

    add_row_verification(root, &result->row_verification);

    const uint64_t *counters = result->totals.counters;
    const bool is_checked = counters[RECORDER_FRESH_CHECKS] > 0;
    tree = tree_object(root, "freshness");
    tree_count(tree, "checks", counters[RECORDER_FRESH_CHECKS]);
    tree_count_if(tree, "behind", is_checked, counters[RECORDER_FRESH_BEHIND]);
    tree_count_if(tree, "backward", is_checked, counters[RECORDER_FRESH_BACKWARD]);
    tree_count_if(tree, "worst_lag_rows", is_checked, result->worst_lag_rows);
}

static void add_counters(struct tree root, const struct plan *plan, const struct result *result)
{
    struct tree tree = tree_object(root, "counters");
    for (int i = 0; i < RECORDER_COUNTERS; i++) {
        tree_count(tree, figures_counter_name((enum recorder_counter)i),
                   result->totals.counters[i]);
    }
    tree_count_if(tree, "batches_late", plan->rate_rows_per_s > 0, result->batches_late);
}

static void add_latencies(struct tree root, const struct plan *plan, const struct result *result)
{
    struct tree tree = tree_object(root, "latencies");
    for (int i = 0; i < RECORDER_HISTOGRAMS; i++) {
        const enum recorder_histogram which = (enum recorder_histogram)i;
        if (!figures_has_histogram(plan, which)) {
            continue;
        }
        const struct histogram *histogram = &result->totals.histograms[which];
        const bool is_known = histogram->total > 0;
        struct tree entry = tree_object(tree, figures_histogram_name(which));
        tree_count(entry, "count", histogram->total);
        tree_number_if(entry, "mean_ms", is_known,
                       histogram_mean_ns(histogram) / (double)MONO_NS_PER_MS);
        for (size_t point = 0; point < FIGURES_POINTS; point++) {
            char key[16];
            snprintf(key, sizeof key, "%s_ms", figures_points[point].key);
            tree_number_if(entry, key, is_known,
                           figures_ms(figures_point_ns(histogram, &figures_points[point])));
        }
    }
}

static void add_percent(struct tree tree, const char *key, double percent)
{
    tree_number_if(tree, key, percent >= 0, percent);
}

static void add_resources(struct tree root, const struct result *result)
{
    const struct resource_summary *resources = &result->resources;
    const bool has_memory = figures_has_memory(resources);
    struct tree tree = tree_object(root, "resources");
    tree_count(tree, "cpus", resources->cpus);
    add_percent(tree, "max_host_cpu_percent", resources->max_host_cpu_percent);
    add_percent(tree, "max_server_cpu_percent", resources->max_server_cpu_percent);
    add_percent(tree, "max_client_cpu_percent", resources->max_client_cpu_percent);
    add_percent(tree, "server_cpu_percent_at_max", resources->server_cpu_percent_at_max);
    add_percent(tree, "client_cpu_percent_at_max", resources->client_cpu_percent_at_max);
    add_percent(tree, "mean_host_cpu_percent", resources->mean_host_cpu_percent);
    add_percent(tree, "mean_server_cpu_percent", resources->mean_server_cpu_percent);
    add_percent(tree, "mean_client_cpu_percent", resources->mean_client_cpu_percent);
    tree_text(tree, "memory_source", memory_source_name(resources->memory_source));
    tree_count_if(tree, "max_server_memory_bytes", has_memory,
                  (uint64_t)resources->max_server_memory_bytes);
    tree_count_if(tree, "max_server_processes", resources->max_server_processes > 0,
                  resources->max_server_processes);
    tree_count_if(tree, "server_pid", resources->server_pid > 0, (uint64_t)resources->server_pid);
    tree_text(tree, "server_name", resources->server_name);
    tree_text(tree, "server_note", resources->server_note);
    tree_count_if(tree, "max_client_memory_bytes", resources->max_client_memory_bytes > 0,
                  resources->max_client_memory_bytes);
    tree_number(tree, "client_cpu_s", resources->client_cpu_s);
    tree_number(tree, "suspended_s", figures_seconds(resources->suspended_ns));
}

static const char *status_name(enum status status)
{
    switch (status) {
    case STATUS_OK:
        return "ok";
    case STATUS_REJECTED:
        return "rejected";
    case STATUS_LOST:
        return "lost";
    case STATUS_FATAL:
        return "fatal";
    }
    return "unknown";
}

static void add_causes(struct tree root, const struct result *result)
{
    struct tree list = tree_array(root, "causes");
    for (size_t i = 0; i < result->causes.count; i++) {
        const struct cause *cause = &result->causes.entries[i];
        struct tree entry = tree_append_object(list);
        tree_text(entry, "phase", cause_phase_name(cause->phase));
        tree_text(entry, "status", status_name(cause->status));
        tree_text(entry, "kind", error_kind_name(cause->error.kind));
        tree_put(entry, "native_code", json_integer(cause->error.native_code));
        tree_text(entry, "sqlstate", cause->error.sqlstate);
        tree_text(entry, "text", cause->error.text);
        tree_count(entry, "count", cause->count);
        tree_number(entry, "first_s", figures_seconds(cause->first_ns - result->start_mono_ns));
        tree_number(entry, "last_s", figures_seconds(cause->last_ns - result->start_mono_ns));
    }
    tree_count(root, "other_causes", result->causes.others);
}

static void add_fairness(struct tree root, const struct fairness *fairness)
{
    const bool is_known = fairness->sessions > 0;
    struct tree tree = tree_object(root, "fairness");
    tree_count(tree, "sessions", fairness->sessions);
    tree_count_if(tree, "slowest_session", is_known, fairness->slowest_session);
    tree_number_if(tree, "slowest_rows_per_s", is_known, fairness->slowest_rows_per_s);
    tree_count_if(tree, "fastest_session", is_known, fairness->fastest_session);
    tree_number_if(tree, "fastest_rows_per_s", is_known, fairness->fastest_rows_per_s);
    tree_count_if(tree, "longest_gap_session", is_known, fairness->longest_gap_session);
    tree_number_if(tree, "longest_gap_ms", is_known, figures_ms(fairness->longest_gap_ns));
}

static void add_outcome(struct tree root, const struct result *result)
{
    struct tree tree = tree_object(root, "outcome");
    tree_text(tree, "stop_reason", stop_reason_name(result->stop_reason));
    tree_text(tree, "verdict", verdict_name(result->verdict));
    tree_text(tree, "verdict_reason", result->verdict_reason);
    tree_put(tree, "exit_code", json_integer((json_int_t)result->exit_code));
    tree_text(tree, "exit_reason", result->exit_reason);
}

static void add_expectations(struct tree root, const struct expectations *expectations)
{
    if (expectations == NULL || expectations->count == 0) {
        tree_put(root, "expectations", json_null());
        return;
    }
    struct tree list = tree_array(root, "expectations");
    for (size_t i = 0; i < expectations->count; i++) {
        const struct expectation *expectation = &expectations->entries[i];
        const char *column = expectation->choice.names[expectation->chosen];
        struct tree entry = tree_append_object(list);
        tree_text(entry, "bound", expectation->bound.text);
        tree_text(entry, "figure", column);
        tree_text(entry, "relation", bound_relation_text(expectation->bound.relation));
        if (expectation->bound.is_word) {
            tree_text(entry, "limit", expectation->bound.unit);
            tree_text(entry, "value", figure_word(column, expectation->value));
        } else {
            tree_number(entry, "limit", expectation->limit);
            tree_number_if(entry, "value", expectation->is_known, expectation->value);
        }
        tree_bool(entry, "is_met", expectation->is_met);
    }
}

static void add_events(struct tree root, const struct event_list *events)
{
    struct tree list = tree_array(root, "events");
    for (size_t i = 0; i < events->count; i++) {
        struct tree entry = tree_append_object(list);
        tree_number(entry, "time_s", figures_seconds(events->entries[i].at_ns));
        tree_text(entry, "text", events->entries[i].text);
    }
    tree_text(root, "events_note", events->note);
}

/* Complete, so that the histograms of several runs can be added up. */
static void add_histograms(struct tree root, const struct plan *plan, const struct result *result)
{
    struct tree tree = tree_object(root, "histograms");
    for (int i = 0; i < RECORDER_HISTOGRAMS; i++) {
        const enum recorder_histogram which = (enum recorder_histogram)i;
        if (!figures_has_histogram(plan, which)) {
            continue;
        }
        const struct histogram *histogram = &result->totals.histograms[which];
        struct tree entry = tree_object(tree, figures_histogram_name(which));
        tree_count(entry, "total", histogram->total);
        tree_count(entry, "overflow", histogram->overflow);
        tree_count(entry, "sum_ns", histogram->sum_ns);
        tree_count(entry, "max_ns", (uint64_t)histogram->max_ns);
        struct tree buckets = tree_array(entry, "low_ns_count");
        for (size_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
            if (histogram->counts[bucket] > 0) {
                const uint64_t low = (uint64_t)histogram_bucket_low_ns(bucket);
                tree_append(buckets, json_pack("[o,o]", tree_integer(low),
                                               tree_integer(histogram->counts[bucket])));
            }
        }
    }
}

static void add_program(struct tree root)
{
    tree_count(root, "format", FORMAT_VERSION);
    tree_text(root, "program", "append");
    tree_text(root, "version", APPEND_VERSION);
}

static void add_all(struct tree root, const struct plan *plan, const struct table *table,
                    const struct result *result)
{
    add_program(root);
    add_figures(root, plan, result);
    add_outcome(root, result);
    add_expectations(root, result->expectations);
    add_times(root, result);
    json_plan_add_plan(root, plan);
    json_plan_add_environment(root, plan);
    add_server(root, result);
    add_connection(root, result);
    json_plan_add_table(root, table);
    add_ledgers(root, plan, result);
    add_verification(root, result);
    add_latencies(root, plan, result);
    add_fairness(root, &result->fairness);
    add_resources(root, result);
    add_counters(root, plan, result);
    add_causes(root, result);
    json_findings_add(root, &result->findings);
    add_events(root, &result->events);
    tree_text(root, "metrics_note", result->metrics_note);
    add_histograms(root, plan, result);
}

bool report_write_json(FILE *stream, const struct plan *plan, const struct table *table,
                       const struct result *result)
{
    bool has_failed = false;
    json_t *json = json_object();
    add_all((struct tree){json, &has_failed}, plan, table, result);
    return tree_write(stream, json, has_failed);
}

bool report_write_json_failure(FILE *stream, enum exit_code code, const struct error *error)
{
    bool has_failed = false;
    json_t *json = json_object();
    const struct tree root = {json, &has_failed};
    add_program(root);
    struct tree outcome = tree_object(root, "outcome");
    tree_text(outcome, "stop_reason", "not_begun");
    tree_put(outcome, "verdict", json_null());
    tree_put(outcome, "exit_code", json_integer((json_int_t)code));
    tree_text(outcome, "exit_reason", error->text);
    tree_text(outcome, "error_kind", error_kind_name(error->kind));
    return tree_write(stream, json, has_failed);
}

bool report_write_search_json(FILE *stream, const struct plan *plan, const struct table *table,
                              const struct result *result, const struct search *search)
{
    bool has_failed = false;
    json_t *json = json_object();
    const struct tree root = {json, &has_failed};
    json_levels_add(root, search);
    add_all(root, plan, table, result);
    return tree_write(stream, json, has_failed);
}
