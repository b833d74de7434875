#include "plan/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/registry.h"
#include "base/buffer.h"
#include "base/folder.h"
#include "base/mono.h"
#include "base/random.h"
#include "base/units.h"
#include "plan/target.h"

enum {
    SCHEMA_FILE_BYTES_MAX = 1 << 20
};

/* A share is rounded up: 99 % of 50 sessions are 50. */
static unsigned least_sessions(const struct config *config)
{
    const uint64_t all = config->sessions + config->idle_sessions;
    const uint64_t share = (all * config->min_percent + 99) / 100;
    const uint64_t least = config->min_sessions > share ? config->min_sessions : share;
    return least > 0 ? (unsigned)least : 1;
}

static enum exit_code check_counts(const struct config *config, struct error *error)
{
    if ((config->duration_ns == 0 || config->records > 0) && config->records < config->sessions) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "%" PRIu64 " records are fewer than %" PRIu64
                  " sessions: every session appends at least one row",
                  config->records, config->sessions);
        return EXIT_CODE_USAGE;
    }
    if (least_sessions(config) > config->sessions + config->idle_sessions) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--min-sessions %" PRIu64 " is more than the %" PRIu64 " sessions of this run",
                  config->min_sessions, config->sessions + config->idle_sessions);
        return EXIT_CODE_USAGE;
    }
    if (config->sessions + config->idle_sessions > PLAN_SESSIONS_MAX) {
        error_set(error, ERROR_USAGE, 0, NULL, "%" PRIu64 " sessions in all are more than %d",
                  config->sessions + config->idle_sessions, PLAN_SESSIONS_MAX);
        return EXIT_CODE_USAGE;
    }
    return EXIT_CODE_OK;
}

/* What says which the server is. */
static enum exit_code check_server(const struct config *config, struct error *error)
{
    const char *cgroup = config->server_cgroup;
    char path[PLAN_PATH_BYTES];
    if (config->container != NULL && (config->server_pid != 0 || cgroup != NULL)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--container says which process and cgroup the server has: leave out %s",
                  cgroup != NULL ? "--server-cgroup" : "--server-pid");
        return EXIT_CODE_USAGE;
    }
    if (config->server_pid != 0 && kill(config->server_pid, 0) != 0 && errno == ESRCH) {
        error_set(error, ERROR_USAGE, 0, NULL, "--server-pid %d: there is no such process",
                  (int)config->server_pid);
        return EXIT_CODE_USAGE;
    }
    if (cgroup != NULL) {
        snprintf(path, sizeof path, "%s%s", cgroup[0] == '/' ? "" : "/sys/fs/cgroup/", cgroup);
        if (access(path, R_OK | X_OK) != 0) {
            error_set(error, ERROR_USAGE, errno, NULL, "--server-cgroup %s: %s", path,
                      strerror(errno));
            return EXIT_CODE_USAGE;
        }
    }
    return EXIT_CODE_OK;
}

/* An option that the adapter has no use for is refused: silence would let the user think that it
 * did something. */
static enum exit_code check_options(const struct plan *plan, const struct config *config,
                                    struct error *error)
{
    const bool is_embedded = (plan->adapter->flags & ADAPTER_EMBEDDED) != 0;
    const struct {
        const char *option;
        bool is_given;
    } server_options[] = {
        {"--host", config->host != NULL},
        {"--port", config->port != 0},
        {"--user", config->user != NULL},
        {"--database", config->database != NULL},
        {"--schema", config->schema != NULL},
        {"--server-pid", config->server_pid != 0},
        {"--server-cgroup", config->server_cgroup != NULL},
        {"--container", config->container != NULL},
    };
    for (size_t i = 0; i < sizeof server_options / sizeof server_options[0]; i++) {
        if (is_embedded && server_options[i].is_given) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "%s does not apply to %s, which runs inside this program%s",
                      server_options[i].option, plan->adapter->name,
                      config->target == NULL ? ": name a server with TARGET or --port" : "");
            return EXIT_CODE_USAGE;
        }
    }
    if (config->read_mode == READ_QUERY && plan->adapter->query == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "%s runs no query: use --read count or --read none",
                  plan->adapter->name);
        return EXIT_CODE_USAGE;
    }
    if (config->verify_mode == VERIFY_ROWS && plan->adapter->read_numbers == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "%s has no rows to read back: --verify rows does not apply", plan->adapter->name);
        return EXIT_CODE_USAGE;
    }
    if (check_server(config, error) != EXIT_CODE_OK) {
        return EXIT_CODE_USAGE;
    }
    const size_t least_stack = (size_t)PTHREAD_STACK_MIN;
    if (config->stack_bytes != 0 && config->stack_bytes < least_stack) {
        error_set(error, ERROR_USAGE, 0, NULL, "--stack-size must be at least %zu bytes",
                  least_stack);
        return EXIT_CODE_USAGE;
    }
    return EXIT_CODE_OK;
}

static enum exit_code check_client_lib(const struct plan *plan, const struct config *config,
                                       struct error *error)
{
    if (config->client_lib == NULL || plan->adapter->load != NULL) {
        return EXIT_CODE_OK;
    }
    error_set(
        error, ERROR_USAGE, 0, NULL,
        "--client-lib is for adapters that load their client library at run time: %s does not",
        plan->adapter->name);
    return EXIT_CODE_USAGE;
}

static enum exit_code choose_method(struct plan *plan, const struct config *config,
                                    struct error *error)
{
    const char *const *methods = plan->adapter->methods;
    if (config->method == NULL) {
        return EXIT_CODE_OK;
    }
    struct buffer known;
    buffer_init(&known);
    for (; methods != NULL && *methods != NULL; methods++) {
        if (strcmp(*methods, config->method) == 0) {
            plan->target.method = *methods;
            buffer_fini(&known);
            return EXIT_CODE_OK;
        }
        buffer_add_format(&known, "%s%s", known.length == 0 ? "use " : " or ", *methods);
    }
    error_set(error, ERROR_USAGE, 0, NULL, "%s has no method '%.60s': %s", plan->adapter->name,
              config->method, methods == NULL ? "it has one way only" : buffer_text(&known));
    buffer_fini(&known);
    return EXIT_CODE_USAGE;
}

static enum exit_code read_schema_file(struct plan *plan, const char *path, struct error *error)
{
    FILE *file;
    struct error unread;
    error_clear(&unread);
    if (folder_open_file(path, &file, &unread) != STATUS_OK) {
        error_set(error, ERROR_USAGE, unread.native_code, NULL, "--schema-file %s", unread.text);
        return EXIT_CODE_USAGE;
    }
    plan->ddl_text = malloc(SCHEMA_FILE_BYTES_MAX);
    size_t length = 0;
    if (plan->ddl_text != NULL) {
        length = fread(plan->ddl_text, 1, SCHEMA_FILE_BYTES_MAX, file);
    }
    const bool is_read = plan->ddl_text != NULL && !ferror(file);
    fclose(file);
    if (!is_read || length == 0 || length == SCHEMA_FILE_BYTES_MAX) {
        error_set(error, ERROR_USAGE, 0, NULL, "--schema-file %s: %s", path,
                  !is_read      ? "cannot be read"
                  : length == 0 ? "is empty"
                                : "is larger than 1 MiB");
        return EXIT_CODE_USAGE;
    }
    plan->ddl_text[length] = '\0';
    plan->ddl = plan->ddl_text;
    return EXIT_CODE_OK;
}

/* The name goes into a statement as it is. */
static enum exit_code check_engine(const struct plan *plan, const struct config *config,
                                   struct error *error)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    if (config->engine == NULL) {
        return EXIT_CODE_OK;
    }
    if (plan->adapter->engine_clause == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "--engine does not apply to %s",
                  plan->adapter->name);
    } else if (config->schema_file != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--engine is for the built-in table: write it into the statement in %s",
                  config->schema_file);
    } else if (strspn(config->engine, allowed) != strlen(config->engine)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--engine '%.60s' is not a name of letters, digits and _", config->engine);
    } else {
        return EXIT_CODE_OK;
    }
    return EXIT_CODE_USAGE;
}

static enum exit_code choose_schema(struct plan *plan, const struct config *config,
                                    struct error *error)
{
    plan->table_name = config->table;
    plan->is_recreate = config->is_recreate;
    plan->engine = config->engine;
    plan->skip_columns = config->skip_columns;
    plan->values = config->values;
    if (check_engine(plan, config, error) != EXIT_CODE_OK) {
        return EXIT_CODE_USAGE;
    }
    if (config->schema_file != NULL) {
        return read_schema_file(plan, config->schema_file, error);
    }
    plan->is_default_table = strcmp(config->table, PLAN_DEFAULT_TABLE) == 0;
    if (config->is_recreate && (plan->adapter->flags & ADAPTER_DISCARDS) != 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--recreate does not apply to %s, which keeps no table", plan->adapter->name);
        return EXIT_CODE_USAGE;
    }
    if (config->is_recreate && !plan->is_default_table) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--recreate drops table '%s' and needs --schema-file FILE to create it again",
                  config->table);
        return EXIT_CODE_USAGE;
    }
    return EXIT_CODE_OK;
}

static enum exit_code choose_folder(struct plan *plan, const struct config *config,
                                    struct error *error)
{
    const size_t room = sizeof plan->out_folder;
    size_t length;
    if (config->out != NULL) {
        length = (size_t)snprintf(plan->out_folder, room, "%s", config->out);
    } else {
        char utc[40];
        mono_format_utc(mono_wall_ns(), utc, sizeof utc);
        /* 2026-01-31T23:59:59.123Z without the separators that file systems dislike */
        char compact[40];
        char *to = compact;
        for (const char *from = utc; *from != '\0'; from++) {
            if (*from != ':' && *from != '-' && *from != '.') {
                *to++ = *from;
            }
        }
        *to = '\0';
        char extent[48];
        if (plan->is_search) {
            snprintf(extent, sizeof extent, "find-max");
        } else if (plan->records == 0) {
            snprintf(extent, sizeof extent, "%ux%.0fs", plan->sessions,
                     (double)plan->duration_ns / (double)MONO_NS_PER_S);
        } else {
            snprintf(extent, sizeof extent, "%ux%" PRIu64, plan->sessions, plan->records);
        }
        length = (size_t)snprintf(plan->out_folder, room, "append-runs/%s-%s-%s", compact,
                                  plan->adapter->name, extent);
    }
    if (length == 0 || length >= room - 64) {
        error_set(error, ERROR_USAGE, 0, NULL, "--out must be a path of 1 to %zu bytes", room - 65);
        return EXIT_CODE_USAGE;
    }
    return EXIT_CODE_OK;
}

static void set_seed(struct plan *plan, uint64_t seed)
{
    plan->seed = seed;
    plan->run_tag = (int16_t)(1 + random_mix(seed) % INT16_MAX);
}

void plan_choose_seed(struct plan *plan)
{
    set_seed(plan, random_seed());
}

static void copy_settings(struct plan *plan, const struct config *config)
{
    plan->sessions = (unsigned)config->sessions;
    plan->records = config->records;
    plan->batch_rows = config->batch_rows;
    plan->read_mode = config->read_mode;
    plan->read_sql = config->read_sql;
    plan->read_every = config->read_every;
    plan->data_mode = config->data_mode;
    plan->is_seed_given = config->has_seed;
    set_seed(plan, config->has_seed ? config->seed : random_seed());
    plan->rate_rows_per_s = config->rate_rows_per_s;
    plan->duration_ns = config->duration_ns;
    plan->connect_concurrency = (unsigned)config->connect_concurrency;
    plan->timeout_ns = config->timeout_ns;
    plan->wait_ns = config->wait_ns;
    plan->wait_until_ns = mono_now_ns() + config->wait_ns;
    plan->sample_interval_ns = config->sample_interval_ns;
    plan->server_pid = config->server_pid;
    plan->server_cgroup = config->server_cgroup;
    plan->container = config->container;
    plan->drop_policy = config->drop_policy;
    plan->reconnect_tries = (unsigned)config->reconnect_tries;
    plan->verify_mode = config->verify_mode;
    plan->idle_sessions = (unsigned)config->idle_sessions;
    plan->churn_batches = config->churn_batches;
    plan->min_sessions = least_sessions(config);
    plan->has_min_sessions = config->min_sessions > 0 || config->min_percent > 0;
    plan->is_unchecked = config->is_unchecked;
    plan->is_search = config->is_search;
    memcpy(plan->marks, config->marks, sizeof plan->marks);
    plan->mark_count = config->mark_count;
    plan->metrics_file = config->metrics_file;
    memcpy(plan->metrics_host, config->metrics_host, sizeof plan->metrics_host);
    plan->metrics_port = config->metrics_port;
    plan->progress_ns = config->progress_ns;
    plan->is_quiet = config->is_quiet;
    plan->is_json = config->is_json;
}

/* Code under a sanitizer has frames several times as large. */
static size_t stack_need(const struct plan *plan, const struct config *config)
{
    if (config->stack_bytes != 0) {
        return config->stack_bytes;
    }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return plan->adapter->stack_bytes + 512 * 1024;
#else
    return plan->adapter->stack_bytes;
#endif
}

enum exit_code plan_make(struct plan *plan, const struct config *config, struct error *error)
{
    *plan = (struct plan){0};
    copy_settings(plan, config);
    enum exit_code code = check_counts(config, error);
    if (code == EXIT_CODE_OK) {
        code = target_resolve(plan, config, error);
    }
    if (code == EXIT_CODE_OK) {
        code = check_options(plan, config, error);
    }
    if (code == EXIT_CODE_OK) {
        code = check_client_lib(plan, config, error);
    }
    if (code == EXIT_CODE_OK) {
        code = choose_method(plan, config, error);
    }
    if (code == EXIT_CODE_OK) {
        code = choose_schema(plan, config, error);
    }
    if (code == EXIT_CODE_OK) {
        code = choose_folder(plan, config, error);
    }
    if (code == EXIT_CODE_OK) {
        code = target_settle_path(plan, error);
    }
    if (code != EXIT_CODE_OK) {
        plan_fini(plan);
        return code;
    }
    plan->stack_bytes = stack_need(plan, config);
    return EXIT_CODE_OK;
}

void plan_fini(struct plan *plan)
{
    free(plan->url_text);
    free(plan->owned_path);
    free(plan->ddl_text);
    plan->url_text = NULL;
    plan->owned_path = NULL;
    plan->ddl_text = NULL;
}

uint64_t plan_quota(const struct plan *plan, unsigned session)
{
    if (plan->records == 0) {
        return UINT64_MAX;
    }
    return plan->records / plan->sessions + (session < plan->records % plan->sessions ? 1 : 0);
}

static void print_quotas(const struct plan *plan, FILE *stream)
{
    enum {
        SHOWN_ONE_BY_ONE = 20
    };
    if (plan->records == 0) {
        fputs("quotas: none\n", stream);
        return;
    }
    const uint64_t least = plan->records / plan->sessions;
    const uint64_t more = plan->records % plan->sessions;
    if (plan->sessions > SHOWN_ONE_BY_ONE) {
        fprintf(stream, "quotas: %" PRIu64 " sessions x %" PRIu64, plan->sessions - more, least);
        if (more > 0) {
            fprintf(stream, " + %" PRIu64 " sessions x %" PRIu64, more, least + 1);
        }
        fputc('\n', stream);
        return;
    }
    fputs("quotas: ", stream);
    for (unsigned i = 0; i < plan->sessions; i++) {
        fprintf(stream, "%s%" PRIu64, i == 0 ? "" : "+", plan_quota(plan, i));
    }
    fputc('\n', stream);
}

static void print_adapter(const struct plan *plan, FILE *stream)
{
    const char *const *methods = plan->adapter->methods;
    fprintf(stream, "adapter: %s", plan->adapter->name);
    if (plan->target.method != NULL) {
        fprintf(stream, ", method %s", plan->target.method);
    } else if (methods != NULL) {
        fprintf(stream, ", method %s unless the server cannot do it", methods[0]);
    }
    fputc('\n', stream);
}

void plan_print(const struct plan *plan, FILE *stream)
{
    char rows[UNITS_TEXT_BYTES];
    fprintf(stream, "target: %s\n", plan->display_target);
    print_adapter(plan, stream);
    fprintf(stream, "table: %s%s\n", plan->table_name,
            plan->is_recreate ? ", dropped and created again" : "");
    if (plan->skip_columns != NULL) {
        fprintf(stream, "left out: %s\n", plan->skip_columns);
    }
    if (plan->values != NULL) {
        fprintf(stream, "values: %s\n", plan->values);
    }
    fprintf(stream, "sessions: %u\n", plan->sessions);
    if (plan->records > 0) {
        fprintf(stream, "records: %s\n", units_format_count(plan->records, rows));
    }
    if (plan->duration_ns > 0) {
        fprintf(stream, "duration: at most %.3f s\n",
                (double)plan->duration_ns / (double)MONO_NS_PER_S);
    }
    print_quotas(plan, stream);
    fprintf(stream, "batch: %" PRIu64 " rows\n", plan->batch_rows);
    if (plan->read_mode == READ_NONE) {
        fputs("read: none\n", stream);
    } else {
        fprintf(stream, "read: %s after every %" PRIu64 " batches\n",
                plan->read_mode == READ_COUNT ? "count(*)" : plan->read_sql, plan->read_every);
    }
    if (plan->rate_rows_per_s > 0) {
        fprintf(stream, "rate: %s rows/s\n", units_format_count(plan->rate_rows_per_s, rows));
    }
    fprintf(stream, "seed: %" PRIu64 ", run tag (n1) %d\n", plan->seed, plan->run_tag);
    fprintf(stream, "stack: %zu KiB a session\n", plan->stack_bytes / 1024);
    fprintf(stream, "files: %s\n", plan->out_folder);
}
