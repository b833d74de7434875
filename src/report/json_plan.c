#include "report/json_plan.h"

#include <inttypes.h>
#include <stdio.h>

#include "report/environment.h"
#include "report/figures.h"

static const char *read_mode_name(enum read_mode mode)
{
    switch (mode) {
    case READ_COUNT:
        return "count";
    case READ_NONE:
        return "none";
    case READ_QUERY:
        return "query";
    }
    return "unknown";
}

static const char *column_type_name(enum column_type type)
{
    static const char *const names[COLUMN_TYPE_COUNT] = {
        [COLUMN_UNSUPPORTED] = "unsupported",
        [COLUMN_BOOL] = "bool",
        [COLUMN_INT16] = "int16",
        [COLUMN_INT32] = "int32",
        [COLUMN_INT64] = "int64",
        [COLUMN_FLOAT32] = "float32",
        [COLUMN_FLOAT64] = "float64",
        [COLUMN_DECIMAL] = "decimal",
        [COLUMN_TEXT] = "text",
        [COLUMN_BYTES] = "bytes",
        [COLUMN_JSON] = "json",
        [COLUMN_DATE] = "date",
        [COLUMN_TIME] = "time",
        [COLUMN_TIMESTAMP] = "timestamp",
        [COLUMN_UUID] = "uuid",
        [COLUMN_IP4] = "ip4",
        [COLUMN_IP6] = "ip6",
    };
    const char *name = type < COLUMN_TYPE_COUNT ? names[type] : NULL;
    return name == NULL ? "unknown" : name;
}

/* Not target.url: it may hold the password. */
static void add_target(struct tree plan_tree, const struct plan *plan)
{
    const struct target *target = &plan->target;
    struct tree tree = tree_object(plan_tree, "target");
    tree_text(tree, "display", plan->display_target);
    /* a connection string may hold the password too */
    tree_text(tree, "path", (plan->adapter->flags & ADAPTER_STRING) != 0 ? NULL : target->path);
    tree_text(tree, "host", target->host);
    tree_count_if(tree, "port", target->port > 0, target->port);
    tree_text(tree, "user", target->user);
    tree_text(tree, "database", target->database);
    tree_text(tree, "schema", target->schema);
    tree_text(tree, "method", target->method);
    tree_count(tree, "connect_timeout_s", target->connect_timeout_s);
    tree_number(tree, "wait_s", figures_seconds(plan->wait_ns));
}

void json_plan_add_plan(struct tree root, const struct plan *plan)
{
    const bool has_duration = plan->duration_ns > 0;
    struct tree tree = tree_object(root, "plan");
    tree_text(tree, "adapter", plan->adapter->name);
    add_target(tree, plan);
    tree_count(tree, "sessions", plan->sessions);
    tree_count_if(tree, "records", plan->records > 0, plan->records);
    tree_number_if(tree, "duration_s", has_duration, figures_seconds(plan->duration_ns));
    tree_count(tree, "batch_rows", plan->batch_rows);
    tree_text(tree, "read_mode", read_mode_name(plan->read_mode));
    tree_text(tree, "read_sql", plan->read_sql);
    tree_count(tree, "read_every", plan->read_every);
    tree_text(tree, "data_mode", plan->data_mode == DATA_CONSTANT ? "constant" : "varied");
    /* As text: most readers of JSON hold numbers in 53 bits, and a seed has 64. */
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, plan->seed);
    tree_text(tree, "seed", seed);
    tree_put(tree, "run_tag", json_integer(plan->run_tag));
    tree_count_if(tree, "rate_rows_per_s", plan->rate_rows_per_s > 0, plan->rate_rows_per_s);
    tree_text(tree, "table", plan->table_name);
    tree_text(tree, "ddl", plan->ddl);
    tree_text(tree, "engine", plan->engine);
    tree_bool(tree, "is_recreate", plan->is_recreate);
    tree_text(tree, "skip_columns", plan->skip_columns);
    tree_text(tree, "values", plan->values);
    tree_count(tree, "connect_concurrency", plan->connect_concurrency);
    tree_number(tree, "sample_interval_s", figures_seconds(plan->sample_interval_ns));
    tree_count_if(tree, "server_pid", plan->server_pid > 0, (uint64_t)plan->server_pid);
    tree_text(tree, "server_cgroup", plan->server_cgroup);
    tree_text(tree, "container", plan->container);
    tree_number_if(tree, "timeout_s", plan->timeout_ns > 0, figures_seconds(plan->timeout_ns));
    const bool is_reconnecting = plan->drop_policy == DROP_RECONNECT;
    tree_text(tree, "on_drop",
              is_reconnecting                  ? "reconnect"
              : plan->drop_policy == DROP_STOP ? "stop"
                                               : "continue");
    tree_count_if(tree, "reconnect_tries", is_reconnecting, plan->reconnect_tries);
    tree_count(tree, "idle_sessions", plan->idle_sessions);
    tree_count_if(tree, "churn_batches", plan->churn_batches > 0, plan->churn_batches);
    tree_number_if(tree, "progress_s", plan->progress_ns > 0, figures_seconds(plan->progress_ns));
    tree_count(tree, "min_sessions", plan->min_sessions);
    tree_count(tree, "stack_bytes", plan->stack_bytes);
    tree_text(tree, "out_folder", plan->out_folder);
}

static void add_limit(struct tree tree, const char *key, struct environment_limit limit)
{
    struct tree pair = tree_object(tree, key);
    const struct {
        const char *key;
        uint64_t value;
    } ends[] = {{"soft", limit.soft}, {"hard", limit.hard}};
    for (size_t i = 0; i < 2; i++) {
        if (ends[i].value == ENVIRONMENT_UNLIMITED) {
            tree_text(pair, ends[i].key, "unlimited");
        } else {
            tree_count(pair, ends[i].key, ends[i].value);
        }
    }
}

void json_plan_add_environment(struct tree root, const struct plan *plan)
{
    struct environment environment;
    environment_read(&environment, plan->adapter);
    struct tree tree = tree_object(root, "environment");
    tree_text(tree, "host", environment.host);
    tree_text(tree, "kernel", environment.kernel);
    tree_text(tree, "cpu_model", environment.cpu_model);
    tree_count_if(tree, "cpus", environment.cpus > 0, environment.cpus);
    tree_count_if(tree, "cpus_usable", environment.cpus_usable > 0, environment.cpus_usable);
    tree_count_if(tree, "memory_bytes", environment.memory_bytes > 0, environment.memory_bytes);
    add_limit(tree, "open_files", environment.open_files);
    add_limit(tree, "processes", environment.processes);
    tree_text(tree, "client_library", environment.client_version);
}

void json_plan_add_table(struct tree root, const struct table *table)
{
    struct tree tree = tree_object(root, "table");
    tree_text(tree, "name", table->name);
    tree_text(tree, "engine", table->engine[0] == '\0' ? NULL : table->engine);
    struct tree columns = tree_array(tree, "columns");
    for (size_t i = 0; i < table->column_count; i++) {
        const struct column *column = &table->columns[i];
        struct tree entry = tree_append_object(columns);
        tree_text(entry, "name", column->name);
        tree_text(entry, "type", column_type_name(column->type));
        tree_text(entry, "native_type", column->type_name);
        tree_count_if(entry, "size", column->size > 0, column->size);
        tree_bool(entry, "is_nullable", column->is_nullable);
        tree_bool(entry, "is_unique", column->is_unique);
        tree_bool(entry, "has_default", column->has_default);
        tree_bool(entry, "is_generated", column->is_generated);
    }
}
