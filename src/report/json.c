#include "report/json.h"

#include "plan/facts.h"
#include "report/check.h"
#include "trace/switches.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <jansson.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/mono.h"
#include "figures/saved.h"
#include "plan/options.h"
#include "report/figures.h"
#include "report/tables.h"
#include "report/tree.h"

/* The format of `append check --json`. */
enum {
    CHECK_FORMAT = 1
};

static const char *const status_names[] = {[STATUS_OK] = "ok",
                                           [STATUS_REJECTED] = "rejected",
                                           [STATUS_LOST] = "lost",
                                           [STATUS_FATAL] = "fatal"};

static void add_option(struct tree tree, const char *key, const struct option_entry *entry,
                       const struct plan *plan)
{
    const struct plan_texts *texts = option_at(entry, plan);
    const bool is_number = entry->type <= OPTION_CHOICE;
    const uint64_t number = is_number ? option_number(entry, plan) : 0;
    const bool is_known = number != 0 || entry->shows_zero;
    struct tree list;
    switch (entry->type) {
    case OPTION_FLAG:
        tree_bool(tree, key, number != 0);
        break;
    case OPTION_COUNT:
    case OPTION_BYTES:
        tree_count_if(tree, key, is_known, number);
        break;
    case OPTION_TIME:
        tree_number_if(tree, key, is_known, figures_seconds((int64_t)number));
        break;
    case OPTION_CHOICE:
        tree_text(tree, key, entry->words[number]);
        break;
    case OPTION_TEXT:
        tree_text(tree, key, *(const char *const *)option_at(entry, plan));
        break;
    case OPTION_TEXTS:
        list = tree_array(tree, key);
        for (size_t i = 0; i < texts->count; i++) {
            tree_append(list, tree_string(texts->texts[i]));
        }
        break;
    case OPTION_OTHER:
        break;
    }
}

/* Adds every option of a run or search, and values that this program chose or found, such as the
 * seed. target.url is left out, because the URL may contain the password. */
static void add_plan(struct tree root, const struct plan *plan)
{
    static const char inner[] = "target.";
    const struct tree tree = tree_object(root, "plan");
    tree_text(tree, "adapter", plan->adapter->name);
    const struct tree target = tree_object(tree, "target");
    tree_text(target, "display", plan->facts->target);
    /* a connection string may also hold the password */
    tree_text(target, "path",
              (plan->adapter->flags & ADAPTER_STRING) != 0 ? NULL : plan->target.path);
    tree_text(tree, "options_files", plan->options_files[0] == '\0' ? NULL : plan->options_files);
    tree_count_if(tree, "records", plan->records > 0, plan->records);
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        if (entry->key != NULL &&
            (entry->commands & ((unsigned)plan->command | COMMAND_RUN)) != 0) {
            const bool is_inner = strncmp(entry->key, inner, strlen(inner)) == 0;
            const struct tree place = is_inner ? target : tree;
            const char *key = entry->key + (is_inner ? strlen(inner) : 0);
            const bool is_of_hosts = strcmp(entry->key, "host_policy") == 0;
            if ((is_of_hosts && plan->host_count == 0) ||
                entry->work ==
                    (plan->workload == NULL ? OPTION_WITH_SCRIPT : OPTION_WITHOUT_SCRIPT)) {
                tree_text(place, key, NULL);
            } else {
                add_option(place, key, entry, plan);
            }
        }
    }
    tree_text(tree, "read_sql", plan->read_sql);
    /* the seed is written as text, because most readers of JSON hold numbers in 53 bits, and a seed
     * has 64 */
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, plan->facts->seed);
    tree_text(tree, "seed", seed);
    if (plan->container != NULL) { /* process and cgroup were found through the container */
        tree_count(tree, "server_pid", (uint64_t)plan->facts->server_pid);
        tree_text(tree, "server_cgroup", plan->facts->server_cgroup);
    }
    tree_put(tree, "run_tag", json_integer(plan->facts->run_tag));
    tree_count_if(tree, "tries", plan->tries != UINT64_MAX, plan->tries);
    tree_count_if(tree, "max_failed", plan->workload != NULL && plan->max_failed_percent == 0,
                  plan->max_failed);
    tree_count_if(tree, "max_failed_percent", plan->max_failed_percent > 0,
                  plan->max_failed_percent);
    tree_text(tree, "ddl", plan->ddl);
    tree_count_if(tree, "reconnect_tries", plan->drop_policy == DROP_RECONNECT,
                  plan->reconnect_tries);
    tree_text(tree, "out_folder", plan->out_folder);
}

static void add_limit(struct tree tree, const char *key, __rlimit_resource_t resource)
{
    struct rlimit limit = {0, 0};
    getrlimit(resource, &limit);
    const struct tree pair = tree_object(tree, key);
    const rlim_t ends[] = {limit.rlim_cur, limit.rlim_max};
    for (int i = 0; i < 2; i++) {
        if (ends[i] == RLIM_INFINITY) {
            tree_text(pair, i == 0 ? "soft" : "hard", "unlimited");
        } else {
            tree_count(pair, i == 0 ? "soft" : "hard", ends[i]);
        }
    }
}

/* Adds the cells of a row of a table. */
static void add_row(struct tree tree, const struct report_table *table,
                    const struct operation_list *operations, const void *record)
{
    struct report_row row = {.operations = operations};
    table->fill(&row, record);
    for (size_t i = 0; i < row.count; i++) {
        const struct report_cell *cell = &row.cells[i];
        if (cell->place == IN_JSON || cell->place == IN_CSV_AND_JSON) {
            tree_value(cell->object == NULL ? tree : tree_member(tree, cell->object),
                       cell->member == NULL ? cell->key : cell->member, cell->unit, &cell->value);
        }
    }
}

/* Adds the list of a table, with a row for each of `count` records. A record has `size` bytes. */
static void add_rows(struct tree root, const struct report_table *table,
                     const struct operation_list *operations, const void *records, size_t count,
                     size_t size)
{
    const struct tree list = tree_array(root, table->list);
    for (size_t i = 0; i < count; i++) {
        add_row(tree_append_object(list), table, operations, (const char *)records + i * size);
    }
}

/* Adds the hosts, when there are several. */
static void add_hosts(struct tree root, const struct operation_list *operations,
                      const struct result *result)
{
    if (result->host_count <= 1) {
        return;
    }
    add_rows(root, &report_hosts, operations, result->hosts, result->host_count,
             sizeof *result->hosts);
    tree_bool(root, "are_hosts_one", result->are_hosts_one);
    tree_count(root, "servers_measured", result->resources.servers);
}

/* Adds the machine and the client library. */
static void add_environment(struct tree root, const struct plan *plan)
{
    const struct tree tree = tree_object(root, "environment");
    struct utsname names;
    char kernel[256] = "", client[128] = "", line[512], model[128] = "";
    const bool is_named = uname(&names) == 0;
    if (is_named) {
        snprintf(kernel, sizeof kernel, "%s %s %s", names.sysname, names.release, names.machine);
    }
    FILE *stream = fopen("/proc/cpuinfo", "re");
    while (stream != NULL && model[0] == '\0' && fgets(line, sizeof line, stream) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", strlen("model name")) == 0 && colon != NULL) {
            colon += strspn(colon, ": \t");
            snprintf(model, sizeof model, "%.*s", (int)strcspn(colon, "\n"), colon);
        }
    }
    if (stream != NULL) {
        fclose(stream);
    }
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    cpu_set_t set;
    /* if the call fails, because the machine has more CPUs than cpu_set_t can hold, all CPUs count
     * as usable */
    const long usable = sched_getaffinity(0, sizeof set, &set) == 0 ? (long)CPU_COUNT(&set) : cpus;
    if (plan->adapter->client_version != NULL) {
        plan->adapter->client_version(client, sizeof client);
    }
    tree_text(tree, "host", is_named ? names.nodename : NULL);
    tree_text(tree, "kernel", kernel);
    tree_text(tree, "cpu_model", model);
    tree_count_if(tree, "cpus", cpus > 0, (uint64_t)cpus);
    tree_count_if(tree, "cpus_usable", usable > 0, (uint64_t)usable);
    tree_count_if(tree, "memory_bytes", pages > 0 && page_bytes > 0,
                  (uint64_t)pages * (uint64_t)page_bytes);
    add_limit(tree, "open_files", RLIMIT_NOFILE);
    add_limit(tree, "processes", RLIMIT_NPROC); /* threads count as processes */
    tree_text(tree, "client_library", client);
}

static void add_table(struct tree root, const struct table *table)
{
    struct tree tree = tree_object(root, "table");
    tree_text(tree, "name", table->name);
    tree_text(tree, "engine", table->engine[0] == '\0' ? NULL : table->engine);
    struct tree columns = tree_array(tree, "columns");
    for (size_t i = 0; i < table->column_count; i++) {
        const struct column *column = &table->columns[i];
        struct tree entry = tree_append_object(columns);
        tree_text(entry, "name", column->name);
        tree_text(entry, "type", column_kinds[column->type].name);
        tree_text(entry, "native_type", column->type_name);
        tree_count_if(entry, "size", column->size > 0, column->size);
        tree_bool(entry, "is_nullable", column->is_nullable);
        tree_bool(entry, "is_unique", column->is_unique);
        tree_bool(entry, "has_default", column->has_default);
        tree_bool(entry, "is_generated", column->is_generated);
    }
}

static void add_settings(struct tree tree, const char *name, const struct server_settings *settings)
{
    const struct tree members = tree_object(tree, name);
    for (size_t i = 0; i < settings->count; i++) {
        tree_text(members, settings->entries[i].name, settings->entries[i].value);
    }
}

/* Adds for each host the settings that weaken durability. */
static void add_weakened(struct tree server, const struct result *result)
{
    const struct tree list = tree_array(server, "weakened");
    for (size_t i = 0; result->hosts != NULL && i < result->host_count; i++) {
        const struct host_result *host = &result->hosts[i];
        for (size_t k = 0; k < host->settings.count; k++) {
            const struct weakened_row row = {
                .host = result->host_count > 1 ? host->name : NULL,
                .setting = &host->settings.entries[k],
                .why = report_weakness(result->connection.settings, &host->settings.entries[k])};
            if (row.why != NULL) {
                add_row(tree_append_object(list), &report_weakened, NULL, &row);
            }
        }
    }
}

/* Adds the server, its limits and the connection to it. */
static void add_server(struct tree root, const struct result *result)
{
    const struct server_limits *server = &result->server;
    const struct connection_info *connection = &result->connection;
    struct tree tree = tree_object(root, "server");
    tree_text(tree, "version", server->version);
    static const struct server_settings none;
    const bool has_hosts = result->host_count > 1;
    const struct host_result *first = result->host_count == 0 ? NULL : &result->hosts[result->host];
    add_settings(tree, "settings", first == NULL ? &none : &first->settings);
    add_settings(tree, "settings_changed",
                 first == NULL || has_hosts ? &none : &first->settings_changed);
    if (has_hosts) {
        const struct tree hosts = tree_object(tree, "host_settings"),
                          changed = tree_object(tree, "host_settings_changed");
        for (size_t i = 0; i < result->host_count; i++) {
            const struct host_result *host = &result->hosts[i];
            add_settings(hosts, host->name, &host->settings);
            add_settings(changed, host->name, &host->settings_changed);
        }
    }
    add_weakened(tree, result);
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
    tree = tree_object(root, "connection");
    tree_text(tree, "host", connection->host);
    tree_text(tree, "address", connection->address);
    tree_count_if(tree, "port", connection->port > 0, connection->port);
    tree_text(tree, "user", connection->user);
    tree_text(tree, "database", connection->database);
    tree_text(tree, "dialect", connection->dialect);
    tree_text(tree, "method", connection->method);
    tree_bool(tree, "is_embedded", connection->is_embedded);
    tree_text(tree, "note", connection->note);
}

static void add_latency(struct tree entry, const struct figure_points *points,
                        const struct figure_latency *latency)
{
    const bool is_known = latency->count > 0;
    tree_count(entry, "count", latency->count);
    for (size_t point = 0; point < points->count; point++) {
        char key[16];
        snprintf(key, sizeof key, "%s_ms", points->entries[point].key);
        tree_number_if(entry, key, is_known, latency->points_ms[point]);
    }
}

static void add_latencies(struct tree root, const struct figure_set *set)
{
    struct tree tree = tree_object(root, "latencies");
    for (size_t i = 0; i < OPERATIONS; i++) {
        if (operation_is_used(&set->operations, i)) {
            add_latency(tree_object(tree, set->operations.entries[i].name), &set->operations.points,
                        &set->latencies[i]);
        }
    }
}

/* Adds the script and its parameters. */
static void add_workload(struct tree root, const struct plan *plan, const struct figure_set *set)
{
    if (plan->script == NULL) {
        tree_put(root, "workload", json_null());
        return;
    }
    const struct tree list = tree_object(tree_figures(root, "workload", set), "parameters");
    for (size_t i = 0; i < plan->script->param_count; i++) {
        tree_text(list, plan->script->params[i].name, plan->script->params[i].value);
    }
}

/* Adds each list that the report's tables show. If several tables show parts of one list, the list
 * is added once, with all rows. */
static void add_tables(struct tree root, const struct report_source *source)
{
    for (const struct report_table *const *at = report_tables; *at != NULL; at++) {
        const struct report_table *table = *at;
        union report_record room;
        const void *record = table->record(source, 0, &room);
        if (json_object_get(root.json, table->list) != NULL ||
            (table->is_optional && record == NULL)) {
            continue;
        }
        const struct tree list = tree_array(root, table->list);
        for (size_t i = 1; record != NULL; i++) {
            add_row(tree_append_object(list), table, &source->set->operations, record);
            record = table->record(source, i, &room);
        }
    }
}

/* Adds a cause of errors. `result` is NULL for the causes of a search level, whose times are
 * unknown. */
static void add_cause(struct tree list, const struct cause *cause, const struct result *result)
{
    struct tree entry = tree_append_object(list);
    tree_text(entry, "phase", cause_phase_names[cause->phase]);
    if (cause->name != NULL) {
        tree_text(entry, "name", cause->name);
    }
    if (result != NULL) {
        tree_text(entry, "status", status_names[cause->status]);
    }
    tree_text(entry, "kind", error_kind_name(cause->error.kind));
    tree_put(entry, "native_code", json_integer(cause->error.native_code));
    tree_text(entry, "sqlstate", cause->error.sqlstate);
    tree_text(entry, "text", cause->error.text);
    tree_count(entry, "count", cause->count);
    if (result != NULL) {
        tree_number(entry, "first_s", figures_seconds(cause->first_ns - result->start_mono_ns));
        tree_number(entry, "last_s", figures_seconds(cause->last_ns - result->start_mono_ns));
    }
}

static void add_expectations(struct tree root, const struct expectations *expectations)
{
    if (expectations == NULL || expectations->count == 0) {
        tree_put(root, "expectations", json_null());
        return;
    }
    add_rows(root, &report_expectations, NULL, expectations->entries, expectations->count,
             sizeof *expectations->entries);
}

/* Adds the causes of errors, the limits that were hit, events and notes. */
static void add_errors_and_events(struct tree root, const struct result *result)
{
    const struct findings *findings = &result->findings;
    const struct event_list *events = &result->events;
    struct tree list = tree_array(root, "causes");
    for (size_t i = 0; i < result->causes.count; i++) {
        add_cause(list, &result->causes.entries[i], result);
    }
    tree_count(root, "other_causes", result->causes.others);
    add_rows(root, &report_findings, NULL, findings->entries, findings->count,
             sizeof *findings->entries);
    list = tree_array(root, "events");
    for (size_t i = 0; i < events->count; i++) {
        struct tree entry = tree_append_object(list);
        tree_number(entry, "time_s", figures_seconds(events->entries[i].at_ns));
        tree_text(entry, "text", events->entries[i].text);
    }
    tree_text(root, "events_note", events->note);
    list = tree_array(root, "changes");
    for (size_t i = 0; i < result->change_count; i++) {
        const struct change *change = &result->changes[i];
        struct tree entry = tree_append_object(list);
        tree_number(entry, "at_s", figures_seconds(change->at_ns));
        tree_text(entry, "what", change->what);
        tree_text(entry, "from", change->from[0] == '\0' ? NULL : change->from);
        tree_text(entry, "to", change->to[0] == '\0' ? NULL : change->to);
        tree_text(entry, "text", change->text);
        tree_text(entry, "by", change->by);
    }
    tree_text(root, "metrics_note", result->metrics_note);
    tree_text(root, "removal", result->removal);
    tree_count(root, "sessions_ended_at_server", result->sessions_ended);
}

static void add_histogram(struct tree tree, const char *key, const struct histogram *histogram)
{
    struct tree entry = tree_object(tree, key);
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

/* Adds all histograms with all buckets, so that a reader can add up the histograms of several
 * runs. */
static void add_histograms(struct tree root, const struct operation_list *operations,
                           const struct result *result)
{
    struct tree tree = tree_object(root, "histograms");
    const struct histogram *histogram;
    char name[TRACE_NAME_BYTES];
    for (size_t i = 0; i < operations->count; i++) {
        if (!operation_is_used(operations, i)) {
            continue;
        }
        char key[FIGURE_KEY_BYTES];
        add_histogram(tree, operation_key(&operations->entries[i], key),
                      recorder_histogram(&result->totals, i));
    }
    for (size_t i = 0;
         result->trace != NULL &&
         (histogram = trace_histogram(result->trace, result->trace->level, i, name)) != NULL;
         i++) {
        add_histogram(tree, name, histogram);
    }
}

/* Adds the I/O trace, or null without --io-trace. */
static void add_trace(struct tree root, const struct figure_set *set, const struct trace_sum *trace)
{
    const struct trace_times *times;
    const char *mode, *file;
    if (trace == NULL) {
        tree_put(root, "io_trace", json_null());
        return;
    }
    struct tree tree = tree_figures(root, "io_trace", set);
    struct tree list = tree_array(tree, "calls");
    for (size_t i = 0; (times = trace_times_at(trace, i, &mode, &file)) != NULL; i++) {
        if (times->layers[TRACE_TOTAL].total == 0) {
            continue;
        }
        struct tree entry = tree_append_object(list);
        tree_text(entry, "mode", mode);
        tree_text(entry, "file", file);
        tree_count(entry, "count", times->layers[TRACE_TOTAL].total);
        tree_count(entry, "bytes", times->bytes);
        for (size_t layer = 0; layer < TRACE_LAYERS; layer++) {
            const struct histogram *histogram = &times->layers[layer];
            struct tree inner = tree_object(entry, trace_layer_names[layer]);
            const bool is_known = histogram->total > 0;
            tree_number_if(inner, "mean_ms", is_known,
                           histogram_mean_ns(histogram) / (double)MONO_NS_PER_MS);
            tree_number_if(inner, "p50_ms", is_known,
                           figures_ms(histogram_quantile_ns(histogram, 0.5)));
            tree_number_if(inner, "p99_ms", is_known,
                           figures_ms(histogram_quantile_ns(histogram, 0.99)));
            tree_number_if(inner, "max_ms", is_known, figures_ms(histogram->max_ns));
        }
    }
    list = tree_array(tree, "server");
    uint64_t counted, traced;
    for (size_t i = 0; i < trace->after.count; i++) {
        if (trace_compare(trace, i, &counted, &traced)) {
            struct tree entry = tree_append_object(list);
            tree_text(entry, "name", trace->after.entries[i].name);
            tree_count(entry, "counted", counted);
            tree_count(entry, "traced", traced);
        }
    }
    int64_t from_ns, to_ns;
    trace_span(trace, &from_ns, &to_ns);
    tree_number(tree, "slot_s", figures_seconds(trace->slot_ns));
    tree_number_if(tree, "slots_from_s", trace->slot_count > 0, figures_seconds(from_ns));
    tree_number_if(tree, "slots_to_s", trace->slot_count > 0, figures_seconds(to_ns));
    list = tree_array(tree, "slots_ns"); /* each slot has three numbers: vfs, queue, device */
    for (size_t i = 0; i < trace->slot_count; i++) {
        const uint64_t *slot = trace->slots[i];
        tree_append(list,
                    json_pack("[o,o,o]", tree_integer(slot[TRACE_VFS]),
                              tree_integer(slot[TRACE_QUEUE]), tree_integer(slot[TRACE_DEVICE])));
    }
}

/* Adds what the server's threads did. */
static void add_kernel_waits(struct tree tree, const struct operation_list *operations,
                             const struct kernel_waits *waits)
{
    char answer[KERNEL_ANSWER_BYTES];
    struct kernel_wait list[KERNEL_CLASSES];
    kernel_waits_answer(waits, answer);
    tree_text(tree, "kernel_answer", answer);
    tree_number(tree, "kernel_watched_s", waits->elapsed_s);
    tree_number(tree, "kernel_threads", kernel_waits_threads(waits));
    const struct tree rows = tree_array(tree, "kernel");
    const size_t count = kernel_waits_list(waits, list);
    for (size_t i = 0; i < count; i++) {
        add_row(tree_append_object(rows), &report_kernel_waits, operations, &list[i]);
    }
}

/* Adds the results of --waits. For a search, most results are in the list of levels, because each
 * level has its own polls. */
static void add_waits(struct tree root, const struct operation_list *operations,
                      const struct plan *plan, const struct result *result)
{
    if (plan->waits == WAITS_OFF) {
        return;
    }
    const struct tree tree = tree_object(root, "waits");
    tree_text(tree, "note", result->waits_note);
    if (result->kernel_waits != NULL) {
        add_kernel_waits(tree, operations, result->kernel_waits);
    }
    if (result->waits == NULL) {
        return;
    }
    const struct wait_polls polls = waits_polls(result->waits);
    tree_count(tree, "polls_failed", polls.failures);
    tree_text(tree, "failure", polls.why);
    tree_text(tree, "missing", polls.missing);
    size_t count, at = 0;
    uint64_t more;
    const struct wait_blocker *blockers = waits_blockers(result->waits, &count, &more);
    const struct tree list = tree_array(tree, "blockers");
    for (size_t i = 0; i < count; i++) {
        add_row(tree_append_object(list), &report_wait_blockers, operations, &blockers[i]);
    }
    const struct tree counters = tree_array(tree, "counters");
    const struct wait_counter *counter;
    while ((counter = waits_next_counter(result->waits, &at)) != NULL) {
        add_row(tree_append_object(counters), &report_wait_counters, operations, counter);
    }
    if (plan->is_search) {
        return;
    }
    char answer[WAIT_ANSWER_BYTES];
    waits_answer(result->waits, operations, answer);
    tree_text(tree, "answer", answer);
    tree_count(tree, "polls", polls.polls);
    tree_number(tree, "period_s", polls.period_s);
    tree_number(tree, "answer_ms_per_poll", polls.answer_ms);
    tree_number_if(tree, "server_ms_per_poll", polls.is_cost_known, polls.cost_ms);
    tree_number_if(tree, "server_cpu_percent", polls.is_cost_known, polls.server_percent);
    tree_number(tree, "unseen_percent", polls.unseen_percent);
    struct commit_story story;
    const struct tree commit = tree_array(tree, "commit");
    figures_of_commit(&story, result);
    for (size_t i = 0; i < story.count; i++) {
        add_row(tree_append_object(commit), &report_commit, operations, &story.parts[i]);
    }
    const struct tree shares = tree_array(tree, "shares");
    struct wait_share share;
    for (at = 0; waits_next_share(result->waits, &at, &share);) {
        add_row(tree_append_object(shares), &report_wait_shares, operations, &share);
    }
}

/* Adds the figures of the transaction log, or null without --log-transactions. */
static void add_log(struct tree root, const struct plan *plan, const struct result *result)
{
    if (plan->log_share <= 0) {
        tree_put(root, "transaction_log", json_null());
        return;
    }
    const struct tree tree = tree_object(root, "transaction_log");
    tree_number(tree, "share", plan->log_share);
    tree_count(tree, "rows", result->log.written);
    tree_count(tree, "rows_missing", result->log.missing);
}

/* Adds the ranks, when there are several. */
static void add_ranks(struct tree root, const struct result *result)
{
    if (result->rank_count == 0) {
        return;
    }
    const struct tree list = tree_array(root, "ranks");
    for (size_t i = 0; i < result->rank_count; i++) {
        const struct tree entry = tree_append_object(list);
        const struct rank_row rank = {.number = (unsigned)i, .rank = &result->ranks[i]};
        add_row(entry, &report_ranks, NULL, &rank);
        struct figure_set traced = {.note = ""};
        figures_of_trace(&traced, result->ranks[i].trace);
        add_trace(entry, &traced, result->ranks[i].trace);
    }
}

static void add_level(struct tree list, const struct operation_list *operations,
                      const struct level *level)
{
    const struct tree tree = tree_append_object(list);
    add_row(tree, &report_levels, operations, level);
    const struct tree causes = tree_array(tree, "causes");
    for (size_t i = 0; level->causes != NULL && i < level->causes->count; i++) {
        add_cause(causes, &level->causes->entries[i], NULL);
    }
}

static void add_search(struct tree root, const struct operation_list *operations,
                       const struct search *search)
{
    static const struct level none = {.lowest_rows_per_s = -1, .highest_rows_per_s = -1};
    const double session_bytes = search_session_bytes(search);
    const bool is_limit = search->bound_by == BOUND_CLIENT;
    const char *max_rows_by = search->is_bound_by_bytes ? "max_bytes" : "max_rows";
    struct tree tree = tree_object(root, "search");
    tree_count(tree, "held", search->held);
    tree_count_if(tree, "failed", search->failed > 0, search->failed);
    tree_text(tree, "end", search_end_names[search->end]);
    tree_text(tree, "end_note", search->end_note);
    tree_text(tree, "figures_note", search->figures_note);
    tree_number(tree, "hold_s", figures_seconds(search->hold_ns));
    tree_count_if(tree, "max_rows", search->max_rows > 0, search->max_rows);
    tree_text(tree, "max_rows_by", search->max_rows == 0 ? NULL : max_rows_by);
    tree_number_if(tree, "row_bytes", search->row_bytes > 0, search->row_bytes);
    tree_text(tree, "removal", search->removal);

    struct tree inner = tree_object(tree, "bound");
    tree_count(inner, "sessions", search->bound);
    tree_text(inner, "by", search_bound_names[search->bound_by]);
    tree_text(inner, "limit", is_limit ? search->bound_limit.name : NULL);
    tree_text(inner, "where", is_limit ? search->bound_limit.where : NULL);

    const struct level *best = search_best(search), *knee = search_knee(search);
    const bool has_best = best != NULL, has_knee = knee != NULL;
    best = has_best ? best : &none;
    knee = has_knee ? knee : &none;
    const double lowest = knee->lowest_rows_per_s, highest = knee->highest_rows_per_s;
    inner = tree_object(tree, "knee");
    tree_count_if(inner, "sessions", has_knee, knee->sessions);
    const bool is_scripted = best->is_scripted;
    tree_number_if(inner, is_scripted ? "transactions_per_s" : "rows_per_s", has_knee,
                   knee->rows_per_s);
    tree_number_if(inner, is_scripted ? "lowest_transactions_per_s" : "lowest_rows_per_s",
                   lowest >= 0, lowest);
    tree_number_if(inner, is_scripted ? "highest_transactions_per_s" : "highest_rows_per_s",
                   highest >= 0, highest);
    const struct level *rival = search_knee_rival(search);
    tree_count_if(inner, "rival_sessions", rival != NULL, rival == NULL ? 0 : rival->sessions);
    tree_count_if(inner, "best_sessions", has_best, best->sessions);
    tree_number_if(inner, is_scripted ? "best_transactions_per_s" : "best_rows_per_s", has_best,
                   best->rows_per_s);

    const struct level *over = NULL, *within = NULL;
    if (search->p99_bound_ns > 0) {
        search_p99(search, &over, &within);
    }
    inner = tree_object(tree, "p99");
    tree_number_if(inner, "bound_ms", search->p99_bound_ns > 0, figures_ms(search->p99_bound_ns));
    tree_count_if(inner, "sessions_within", within != NULL, within == NULL ? 0 : within->sessions);
    tree_count_if(inner, "sessions_over", over != NULL, over == NULL ? 0 : over->sessions);

    tree_number_if(tree, "server_memory_growth_bytes_per_session", session_bytes >= 0,
                   session_bytes);
    struct tree list = tree_array(tree, "levels");
    for (size_t i = 0; i < search->count; i++) {
        add_level(list, operations, &search->levels[i]);
    }
}

static void add_program(struct tree root, unsigned format)
{
    tree_count(root, "format", format);
    tree_text(root, "program", "append");
    tree_text(root, "version", APPEND_VERSION);
}

bool report_write_json(FILE *stream, const struct plan *plan, const struct table *table,
                       const struct result *result, const struct search *search)
{
    bool has_failed = false;
    json_t *json = json_object();
    const struct tree root = {json, &has_failed};
    struct figure_set set;
    figures_of_result(&set, plan, result);
    if (search != NULL) {
        add_search(root, &set.operations, search);
    }
    add_program(root, SAVED_RUN_FORMAT);
    tree_figures(root, "figures", &set);
    tree_figures(root, "outcome", &set);
    add_expectations(root, result->expectations);
    tree_figures(root, "times", &set);
    add_plan(root, plan);
    add_workload(root, plan, &set);
    add_environment(root, plan);
    add_server(root, result);
    add_table(root, table);
    add_hosts(root, &set.operations, result);
    if (result->stage_count > 0) {
        add_rows(root, &report_stages, &set.operations, result->stages, result->stage_count,
                 sizeof *result->stages);
    }
    add_ranks(root, result);
    static const char *const sections[] = {"sessions",     "rows",         "batches",
                                           "transactions", "verification", "row_verification",
                                           "freshness"};
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        tree_figures(root, sections[i], &set);
    }
    add_latencies(root, &set);
    add_tables(root, &(struct report_source){plan, result, &set});
    tree_figures(root, "fairness", &set);
    tree_figures(root, "resources", &set);
    tree_figures(root, "io", &set);
    tree_figures(root, "counters", &set);
    add_errors_and_events(root, result);
    add_trace(root, &set, result->trace);
    add_waits(root, &set.operations, plan, result);
    add_log(root, plan, result);
    add_histograms(root, &set.operations, result);
    return tree_write(stream, json, has_failed);
}

bool report_write_json_failure(FILE *stream, enum exit_code code, const struct error *error)
{
    bool has_failed = false;
    json_t *json = json_object();
    const struct tree root = {json, &has_failed};
    add_program(root, SAVED_RUN_FORMAT);
    struct tree outcome = tree_object(root, "outcome");
    tree_text(outcome, "stop_reason", "not_begun");
    tree_text(outcome, "verdict", NULL);
    tree_count(outcome, "exit_code", code);
    tree_text(outcome, "exit_reason", error->text);
    tree_text(outcome, "error_kind", error_kind_name(error->kind));
    return tree_write(stream, json, has_failed);
}

bool check_write_json(FILE *stream, const struct check_report *report)
{
    bool has_failed = false;
    json_t *json = json_object();
    const struct tree root = {json, &has_failed};
    const struct limit *first = report->first;
    char line[CHECK_LINE_BYTES];
    check_describe_report(report, line);
    add_program(root, CHECK_FORMAT);
    tree_text(root, "command", "check");
    tree_count(root, "sessions", report->sessions);
    tree_text(root, "target", report->target);
    tree_text(root, "server_version", report->version);
    tree_text(root, "note", report->note);
    tree_text(root, "io_trace", report->io_trace);
    tree_text(root, "workload", report->workload);
    tree_count(root, "prepared_statements", report->prepared_statements);
    tree_text(root, "not_asked", report->failure);
    struct tree list = tree_array(root, "limits");
    for (size_t i = 0; i < report->list->count; i++) {
        const struct limit *limit = &report->list->entries[i];
        struct tree tree = tree_append_object(list);
        tree_text(tree, "grade", limit_grade_names[limit->grade]);
        tree_text(tree, "side", limit_side_names[limit->side]);
        tree_text(tree, "limit", limit_id_names[limit->id]);
        tree_text(tree, "name", limit->name);
        tree_text(tree, "where", limit->where);
        tree_text(tree, "unit", limit->unit);
        tree_count_if(tree, "allowed", limit->allowed != LIMIT_NONE, limit->allowed);
        tree_count(tree, "used", limit->used);
        tree_count(tree, "needed", limit->needed);
        tree_count_if(tree, "sessions", limit->sessions != LIMIT_NONE, limit->sessions);
        tree_bool(tree, "is_estimate", limit->is_estimate);
        tree_text(tree, "note", limit->note);
        tree_text(tree, "fix", limit->fix);
    }
    struct tree outcome = tree_object(root, "outcome");
    tree_count_if(outcome, "max_sessions", report->fitting != LIMIT_NONE, report->fitting);
    tree_text(outcome, "first_limit", first == NULL ? NULL : first->name);
    tree_text(outcome, "side", first == NULL ? NULL : limit_side_names[first->side]);
    tree_bool(outcome, "is_estimate", first != NULL && first->is_estimate);
    tree_text(outcome, "conclusion", line);
    tree_count(outcome, "exit_code", report->code);
    return tree_write(stream, json, has_failed);
}
