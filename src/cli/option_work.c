#include <string.h>

#include "base/units.h"
#include "cli/option_group.h"
#include "plan/columns.h"
#include "plan/plan.h"

STORE(store_table)
{
    return option_store_text("table", value, &options->config.table, error);
}

STORE(store_schema_file)
{
    return option_store_text("schema-file", value, &options->config.schema_file, error);
}

STORE(store_engine)
{
    return option_store_text("engine", value, &options->config.engine, error);
}

STORE(store_recreate)
{
    (void)value;
    (void)error;
    options->config.is_recreate = true;
    return STATUS_OK;
}

STORE(store_method)
{
    return option_store_text("method", value, &options->config.method, error);
}

STORE(store_batch)
{
    return option_store_count("batch", value, PLAN_BATCH_ROWS_MAX, &options->config.batch_rows,
                              error);
}

STORE(store_read)
{
    if (strcmp(value, "count") == 0) {
        options->config.read_mode = READ_COUNT;
    } else if (strcmp(value, "none") == 0) {
        options->config.read_mode = READ_NONE;
    } else if (strchr(value, ' ') != NULL) {
        options->config.read_mode = READ_QUERY;
        options->config.read_sql = value;
    } else {
        return option_refuse(error, "read", value, "count, none or an SQL query");
    }
    return STATUS_OK;
}

STORE(store_read_every)
{
    return option_store_count("read-every", value, UINT32_MAX, &options->config.read_every, error);
}

STORE(store_data)
{
    if (strcmp(value, "varied") == 0) {
        options->config.data_mode = DATA_VARIED;
    } else if (strcmp(value, "constant") == 0) {
        options->config.data_mode = DATA_CONSTANT;
    } else {
        return option_refuse(error, "data", value, "varied or constant");
    }
    return STATUS_OK;
}

/* One list holds all columns: of two, one would be forgotten. */
static enum status store_columns(const char *option, const char *value, const char **to,
                                 struct error *error)
{
    if (*to != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "--%s is given twice: put a comma between columns",
                  option);
        return STATUS_REJECTED;
    }
    *to = value;
    return column_items_check(option, value, strcmp(option, "values") == 0, error);
}

STORE(store_values)
{
    return store_columns("values", value, &options->config.values, error);
}

STORE(store_skip_columns)
{
    return store_columns("skip-columns", value, &options->config.skip_columns, error);
}

STORE(store_seed)
{
    if (!units_parse_count(value, INT64_MAX, &options->config.seed)) {
        return option_refuse(error, "seed", value, "a whole number from 0 to 9223372036854775807");
    }
    options->config.has_seed = true;
    return STATUS_OK;
}

STORE(store_rate)
{
    return option_store_count("rate", value, UINT64_C(1000000000), &options->config.rate_rows_per_s,
                              error);
}

STORE(store_duration_option)
{
    return option_store_duration("duration", value, 30 * OPTION_DAY_NS,
                                 &options->config.duration_ns, error);
}

STORE(store_sessions)
{
    return option_store_count("sessions", value, PLAN_SESSIONS_MAX, &options->config.sessions,
                              error);
}

STORE(store_stack_size)
{
    if (units_parse_bytes(value, UINT64_C(1) << 30, &options->config.stack_bytes) &&
        options->config.stack_bytes > 0) {
        return STATUS_OK;
    }
    return option_refuse(error, "stack-size", value, "a size up to 1G (65536, 64K, 1M)");
}

static const struct option_entry entries[] = {
    {COMMAND_RUN | COMMAND_RUN_ALONE | COMMAND_CHECK, "sessions", "N",
     "sessions, in place of the operand", store_sessions},
    {COMMANDS_LOAD, "table", "NAME", "table to append to (syslog_table)", store_table},
    {COMMANDS_LOAD, "schema-file", "FILE", "SQL that creates the table when it is missing",
     store_schema_file},
    {COMMANDS_LOAD, "engine", "NAME", "mariadb: storage engine of a table made here", store_engine},
    {COMMANDS_LOAD, "recreate", NULL, "drop the table and create it again", store_recreate},
    {COMMANDS_LOAD, "method", "NAME", "how to append: see above (the first one)", store_method},
    {COMMANDS_LOAD, "batch", "N", "rows in one append (100)", store_batch},
    {COMMANDS_LOAD, "read", "count|none|SQL", "after an append: count(*), nothing or a query",
     store_read},
    {COMMANDS_LOAD, "read-every", "N", "read after every N batches (1)", store_read_every},
    {COMMANDS_LOAD, "data", "varied|constant", "rows that differ (default), or all alike",
     store_data},
    {COMMANDS_LOAD, "values", "COLUMN=VALUES", "'id=1..1000, status=ok|failed': what columns get",
     store_values},
    {COMMANDS_LOAD, "skip-columns", "A,B", "columns left to their defaults, or NULL",
     store_skip_columns},
    {COMMANDS_LOAD, "seed", "N", "repeat the rows of an earlier run", store_seed},
    {COMMAND_RUN, "rate", "N", "rows/s in all, on a fixed schedule (no limit)", store_rate},
    {COMMAND_RUN, "duration", "T", "append no longer than T, with or without RECORDS",
     store_duration_option},
    {COMMANDS_ALL, "stack-size", "BYTES", "stack of a session's thread (by adapter)",
     store_stack_size},
};

const struct option_group option_group_work = {"Work", entries, sizeof entries / sizeof entries[0]};
