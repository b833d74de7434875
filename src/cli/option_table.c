#include "cli/option_table.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "base/units.h"
#include "plan/plan.h"

enum {
    TRIES_MAX = 1000000
};
#define DAY_NS (24 * 3600 * MONO_NS_PER_S)

static enum status refuse(struct error *error, const char *option, const char *value,
                          const char *right)
{
    error_set(error, ERROR_USAGE, 0, NULL, "--%s '%.60s' is not %s", option, value, right);
    return STATUS_REJECTED;
}

static enum status store_count(const char *option, const char *value, uint64_t max, uint64_t *to,
                               struct error *error)
{
    if (units_parse_count(value, max, to) && *to > 0) {
        return STATUS_OK;
    }
    char shown[UNITS_TEXT_BYTES], right[80];
    snprintf(right, sizeof right, "a whole number from 1 to %s", units_format_count(max, shown));
    return refuse(error, option, value, right);
}

static enum status store_duration(const char *option, const char *value, int64_t max_ns,
                                  int64_t *to, struct error *error)
{
    if (units_parse_duration(value, max_ns, to)) {
        return STATUS_OK;
    }
    char right[80];
    snprintf(right, sizeof right, "a time above 0 and up to %.0f s (5, 500ms, 30s, 2m, 1h)",
             (double)max_ns / (double)MONO_NS_PER_S);
    return refuse(error, option, value, right);
}

static enum status store_text(const char *option, const char *value, const char **to,
                              struct error *error)
{
    if (value[0] == '\0') {
        return refuse(error, option, value, "allowed to be empty");
    }
    *to = value;
    return STATUS_OK;
}

/* One line an option: the names of the parameters are always the same. */
#define STORE(function)                                                                            \
    static enum status function(struct options *options, const char *value, struct error *error)

STORE(store_adapter)
{
    return store_text("adapter", value, &options->config.adapter, error);
}

STORE(store_host)
{
    return store_text("host", value, &options->config.host, error);
}

STORE(store_user)
{
    return store_text("user", value, &options->config.user, error);
}

/* The first line of the file, without its end. */
STORE(store_password_file)
{
    FILE *file = fopen(value, "re");
    if (file == NULL) {
        error_set(error, ERROR_USAGE, errno, NULL, "--password-file %s: %s", value,
                  strerror(errno));
        return STATUS_REJECTED;
    }
    size_t length = 0;
    int byte;
    while ((byte = getc(file)) != EOF && byte != '\n' && byte != '\0' &&
           length < sizeof options->password - 1) {
        options->password[length++] = (char)byte;
    }
    fclose(file);
    const bool is_whole = byte == EOF || byte == '\n';
    if (is_whole && length > 0 && options->password[length - 1] == '\r') {
        length--;
    }
    if (!is_whole || length == 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--password-file %s: its first line must have 1 to %zu bytes, none of them NUL",
                  value, sizeof options->password - 2);
        return STATUS_REJECTED;
    }
    options->password[length] = '\0';
    options->config.password = options->password;
    return STATUS_OK;
}

STORE(store_database)
{
    return store_text("database", value, &options->config.database, error);
}

STORE(store_table)
{
    return store_text("table", value, &options->config.table, error);
}

STORE(store_schema)
{
    return store_text("schema", value, &options->config.schema, error);
}

STORE(store_schema_file)
{
    return store_text("schema-file", value, &options->config.schema_file, error);
}

STORE(store_engine)
{
    return store_text("engine", value, &options->config.engine, error);
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
    return store_text("method", value, &options->config.method, error);
}

STORE(store_batch)
{
    return store_count("batch", value, PLAN_BATCH_ROWS_MAX, &options->config.batch_rows, error);
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
        return refuse(error, "read", value, "count, none or an SQL query");
    }
    return STATUS_OK;
}

STORE(store_read_every)
{
    return store_count("read-every", value, UINT32_MAX, &options->config.read_every, error);
}

STORE(store_data)
{
    if (strcmp(value, "varied") == 0) {
        options->config.data_mode = DATA_VARIED;
    } else if (strcmp(value, "constant") == 0) {
        options->config.data_mode = DATA_CONSTANT;
    } else {
        return refuse(error, "data", value, "varied or constant");
    }
    return STATUS_OK;
}

STORE(store_seed)
{
    if (!units_parse_count(value, INT64_MAX, &options->config.seed)) {
        return refuse(error, "seed", value, "a whole number from 0 to 9223372036854775807");
    }
    options->config.has_seed = true;
    return STATUS_OK;
}

STORE(store_rate)
{
    return store_count("rate", value, UINT64_C(1000000000), &options->config.rate_rows_per_s,
                       error);
}

STORE(store_duration_option)
{
    return store_duration("duration", value, 30 * DAY_NS, &options->config.duration_ns, error);
}

STORE(store_connect_concurrency)
{
    return store_count("connect-concurrency", value, PLAN_SESSIONS_MAX,
                       &options->config.connect_concurrency, error);
}

STORE(store_connect_timeout)
{
    int64_t timeout_ns;
    if (store_duration("connect-timeout", value, DAY_NS, &timeout_ns, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    if (timeout_ns < MONO_NS_PER_S) {
        return refuse(error, "connect-timeout", value, "at least 1 s");
    }
    options->config.connect_timeout_ns = timeout_ns;
    return STATUS_OK;
}

STORE(store_sample_interval)
{
    int64_t interval_ns;
    if (store_duration("sample-interval", value, DAY_NS, &interval_ns, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    if (interval_ns < 100 * MONO_NS_PER_MS) {
        return refuse(error, "sample-interval", value, "at least 100ms");
    }
    options->config.sample_interval_ns = interval_ns;
    return STATUS_OK;
}

STORE(store_server_pid)
{
    uint64_t pid;
    if (store_count("server-pid", value, INT32_MAX, &pid, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    options->config.server_pid = (pid_t)pid;
    return STATUS_OK;
}

STORE(store_server_cgroup)
{
    return store_text("server-cgroup", value, &options->config.server_cgroup, error);
}

STORE(store_on_drop)
{
    static const char reconnect[] = "reconnect:";
    struct config *config = &options->config;
    if (strcmp(value, "continue") == 0) {
        config->drop_policy = DROP_CONTINUE;
    } else if (strcmp(value, "stop") == 0) {
        config->drop_policy = DROP_STOP;
    } else if (strcmp(value, "reconnect") == 0) {
        config->drop_policy = DROP_RECONNECT;
    } else if (strncmp(value, reconnect, strlen(reconnect)) == 0) {
        config->drop_policy = DROP_RECONNECT;
        return store_count("on-drop reconnect", value + strlen(reconnect), TRIES_MAX,
                           &config->reconnect_tries, error);
    } else {
        return refuse(error, "on-drop", value,
                      "continue, stop, reconnect or reconnect:TRIES (reconnect:50)");
    }
    return STATUS_OK;
}

STORE(store_verify)
{
    if (strcmp(value, "count") == 0) {
        options->config.verify_mode = VERIFY_COUNT;
    } else if (strcmp(value, "rows") == 0) {
        options->config.verify_mode = VERIFY_ROWS;
    } else {
        return refuse(error, "verify", value, "count or rows");
    }
    return STATUS_OK;
}

STORE(store_idle)
{
    return store_count("idle", value, PLAN_SESSIONS_MAX, &options->config.idle_sessions, error);
}

STORE(store_churn)
{
    return store_count("churn", value, UINT32_MAX, &options->config.churn_batches, error);
}

/* A number, or with % a share of the sessions. */
STORE(store_min_sessions)
{
    const size_t length = strlen(value);
    char share[8];
    uint64_t percent;
    options->config.min_sessions = 0;
    options->config.min_percent = 0;
    if (length == 0 || value[length - 1] != '%') {
        return store_count("min-sessions", value, PLAN_SESSIONS_MAX, &options->config.min_sessions,
                           error);
    }
    snprintf(share, sizeof share, "%.*s", (int)(length - 1 < 7 ? length - 1 : 7), value);
    if (length > sizeof share || !units_parse_count(share, 100, &percent) || percent == 0) {
        return refuse(error, "min-sessions", value,
                      "a number of sessions or a share of 1% to 100%");
    }
    options->config.min_percent = (unsigned)percent;
    return STATUS_OK;
}

STORE(store_no_check)
{
    (void)value;
    (void)error;
    options->config.is_unchecked = true;
    return STATUS_OK;
}

STORE(store_first)
{
    return store_count("first", value, PLAN_SESSIONS_MAX, &options->config.first_sessions, error);
}

STORE(store_max_sessions)
{
    return store_count("max-sessions", value, PLAN_SESSIONS_MAX, &options->config.max_sessions,
                       error);
}

STORE(store_hold)
{
    return store_duration("hold", value, DAY_NS, &options->config.hold_ns, error);
}

STORE(store_max_time)
{
    return store_duration("max-time", value, 30 * DAY_NS, &options->config.max_time_ns, error);
}

STORE(store_max_memory)
{
    if (units_parse_bytes(value, UINT64_C(1) << 50, &options->config.max_memory_bytes) &&
        options->config.max_memory_bytes > 0) {
        return STATUS_OK;
    }
    return refuse(error, "max-memory", value, "a size (500M, 16G)");
}

STORE(store_p99)
{
    return store_duration("p99", value, DAY_NS, &options->config.p99_bound_ns, error);
}

STORE(store_out)
{
    return store_text("out", value, &options->config.out, error);
}

STORE(store_quiet)
{
    (void)value;
    (void)error;
    options->config.is_quiet = true;
    return STATUS_OK;
}

STORE(store_json)
{
    (void)value;
    (void)error;
    options->config.is_json = true;
    return STATUS_OK;
}

STORE(store_stack_size)
{
    if (units_parse_bytes(value, UINT64_C(1) << 30, &options->config.stack_bytes) &&
        options->config.stack_bytes > 0) {
        return STATUS_OK;
    }
    return refuse(error, "stack-size", value, "a size up to 1G (65536, 64K, 1M)");
}

STORE(store_plan)
{
    (void)value;
    (void)error;
    options->is_plan_only = true;
    return STATUS_OK;
}

STORE(store_help)
{
    (void)value;
    (void)error;
    options->is_help = true;
    return STATUS_OK;
}

STORE(store_version)
{
    (void)value;
    (void)error;
    options->is_version = true;
    return STATUS_OK;
}

static const char connection[] = "Connection";
static const char work[] = "Work";
static const char faults[] = "Limits and faults";
static const char search[] = "The search";
static const char measuring[] = "Measuring and reporting";

/* Which commands take an option. */
enum {
    RUN = COMMAND_RUN,
    FIND = COMMAND_FIND_MAX,
    LOAD = COMMAND_RUN | COMMAND_FIND_MAX,
    ALL = COMMAND_RUN | COMMAND_CHECK | COMMAND_FIND_MAX
};

const struct option_entry option_table[] = {
    {ALL, connection, "adapter", "NAME", "database behind a port (found out otherwise)",
     store_adapter},
    {ALL, connection, "host", "NAME", "server's host, or folder of its socket", store_host},
    {ALL, connection, "user", "NAME", "user of the database", store_user},
    {ALL, connection, "password-file", "FILE", "file whose first line is the password",
     store_password_file},
    {ALL, connection, "database", "NAME", "database to connect to", store_database},
    {LOAD, connection, "schema", "NAME", "schema in which the table lives", store_schema},
    {ALL, connection, "connect-concurrency", "N", "sessions that connect at a time (64)",
     store_connect_concurrency},
    {ALL, connection, "connect-timeout", "T", "time for one connect, whole seconds (30)",
     store_connect_timeout},
    {LOAD, work, "table", "NAME", "table to append to (syslog_table)", store_table},
    {LOAD, work, "schema-file", "FILE", "SQL that creates the table when it is missing",
     store_schema_file},
    {LOAD, work, "engine", "NAME", "mariadb: storage engine of a table made here", store_engine},
    {LOAD, work, "recreate", NULL, "drop the table and create it again", store_recreate},
    {LOAD, work, "method", "NAME", "how to append: see above (the first one)", store_method},
    {LOAD, work, "batch", "N", "rows in one append (100)", store_batch},
    {LOAD, work, "read", "count|none|SQL", "after an append: count(*), nothing or a query",
     store_read},
    {LOAD, work, "read-every", "N", "read after every N batches (1)", store_read_every},
    {LOAD, work, "data", "varied|constant", "rows that differ (default), or all alike", store_data},
    {LOAD, work, "seed", "N", "repeat the rows of an earlier run", store_seed},
    {RUN, work, "rate", "N", "rows/s in all, on a fixed schedule (no limit)", store_rate},
    {RUN, work, "duration", "T", "append for a time, not a number of rows", store_duration_option},
    {ALL, work, "stack-size", "BYTES", "stack of a session's thread (by adapter)",
     store_stack_size},
    {RUN, faults, "no-check", NULL, "go on where a limit is certain to be hit", store_no_check},
    {RUN, faults, "min-sessions", "N|N%", "sessions that must be up to go on (1)",
     store_min_sessions},
    {RUN, faults, "on-drop", "continue|stop|reconnect", "when a session is lost (continue)",
     store_on_drop},
    {RUN, faults, "verify", "count|rows", "what is held against the ledger (count)", store_verify},
    {RUN | COMMAND_CHECK, faults, "idle", "N", "more sessions that only stay connected (0)",
     store_idle},
    {RUN, faults, "churn", "N", "connect anew after every N batches (never)", store_churn},
    {FIND, search, "first", "N", "sessions of the first level (10)", store_first},
    {FIND, search, "hold", "T", "how long a level is held (5)", store_hold},
    {FIND, search, "max-sessions", "N", "never more sessions (what this machine holds)",
     store_max_sessions},
    {FIND, search, "max-time", "T", "end the search after a time (10m)", store_max_time},
    {FIND, search, "max-memory", "SIZE", "never more of this machine in use (90 %)",
     store_max_memory},
    {FIND, search, "p99", "T", "name the level where append's p99 passes T", store_p99},
    {RUN, measuring, "sample-interval", "T", "CPU and memory, a sample every T (3)",
     store_sample_interval},
    {FIND, measuring, "sample-interval", "T", "CPU and memory (1, at most half of --hold)",
     store_sample_interval},
    {ALL, measuring, "server-pid", "PID", "server's process (found by its port)", store_server_pid},
    {ALL, measuring, "server-cgroup", "DIR", "server's cgroup folder, for its memory",
     store_server_cgroup},
    {LOAD, measuring, "out", "DIR", "folder of the files (append-runs/...)", store_out},
    {ALL, measuring, "quiet", NULL, "no progress (also -q)", store_quiet},
    {ALL, measuring, "json", NULL, "report as JSON on standard output", store_json},
    {RUN, measuring, "plan", NULL, "print the plan and end", store_plan},
    {RUN, measuring, "version", NULL, "print versions and end", store_version},
    {ALL, measuring, "help", NULL, "print this text (also -h)", store_help},
};
const size_t option_table_size = sizeof option_table / sizeof option_table[0];
_Static_assert(sizeof option_table / sizeof option_table[0] <= OPTION_TABLE_MAX,
               "OPTION_TABLE_MAX is too small");
