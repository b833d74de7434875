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
#include "base/file.h"
#include "base/mono.h"
#include "base/random.h"
#include "base/units.h"
#include "plan/options.h"
#include "plan/target.h"

enum {
    SCHEMA_FILE_BYTES_MAX = 1 << 20,
    SEARCH_FIRST_SESSIONS = 10
};

/* Every hold has a sample of its own when there are two in its time. */
#define SEARCH_SAMPLE_NS MONO_NS_PER_S
#define SEARCH_SAMPLE_LEAST_NS (100 * MONO_NS_PER_MS)

/* A share is rounded up: 99 % of 50 sessions are 50. */
static void choose_least_sessions(struct plan *plan)
{
    const uint64_t all = plan_sessions_all(plan);
    const uint64_t share = (all * plan->min_percent + 99) / 100;
    plan->has_min_sessions = plan->min_sessions > 0 || plan->min_percent > 0;
    plan->min_sessions = share > plan->min_sessions ? (unsigned)share : plan->min_sessions;
    plan->min_sessions = plan->min_sessions > 0 ? plan->min_sessions : 1;
}

static enum exit_code check_counts(const struct plan *plan, struct error *error)
{
    const uint64_t all = plan_sessions_all(plan);
    const bool needs_rows = plan->duration_ns == 0 && plan->command != COMMAND_CHECK;
    if ((needs_rows || plan->records > 0) && plan->records < plan->sessions) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "%" PRIu64 " records are fewer than %u sessions: every session appends at least "
                  "one row",
                  plan->records, plan->sessions);
    } else if (plan->min_sessions > all) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--min-sessions %u is more than the %" PRIu64 " sessions of this run",
                  plan->min_sessions, all);
    } else if (all > PLAN_SESSIONS_MAX) {
        error_set(error, ERROR_USAGE, 0, NULL, "%" PRIu64 " sessions in all are more than %d", all,
                  PLAN_SESSIONS_MAX);
    } else {
        return EXIT_CODE_OK;
    }
    return EXIT_CODE_USAGE;
}

/* What the plan of a search takes from other options. */
static enum exit_code complete_search(struct plan *plan, struct error *error)
{
    if (plan->max_sessions > 0 && plan->first_sessions > plan->max_sessions) {
        error_set(error, ERROR_USAGE, 0, NULL, "--first %u is more than --max-sessions %u",
                  plan->first_sessions, plan->max_sessions);
        return EXIT_CODE_USAGE;
    }
    if (plan->hold_ns > plan->max_time_ns) {
        char hold[UNITS_TEXT_BYTES];
        error_set(error, ERROR_USAGE, 0, NULL, "--hold (%s) is longer than --max-time (%s)",
                  units_format_ns(plan->hold_ns, hold), UNITS_NS(plan->max_time_ns));
        return EXIT_CODE_USAGE;
    }
    plan->sessions = plan->max_sessions > 0 ? plan->max_sessions : PLAN_SESSIONS_MAX;
    if (plan->first_sessions == 0) {
        plan->first_sessions =
            plan->sessions < SEARCH_FIRST_SESSIONS ? plan->sessions : SEARCH_FIRST_SESSIONS;
    }
    plan->duration_ns = plan->max_time_ns;
    plan->is_unchecked = true; /* to run into limits is what a search is for */
    if (plan->sample_interval_ns == 0) {
        const int64_t half_ns = plan->hold_ns / 2;
        plan->sample_interval_ns = half_ns < SEARCH_SAMPLE_NS ? half_ns : SEARCH_SAMPLE_NS;
        if (plan->sample_interval_ns < SEARCH_SAMPLE_LEAST_NS) {
            plan->sample_interval_ns = SEARCH_SAMPLE_LEAST_NS;
        }
    }
    return EXIT_CODE_OK;
}

/* What says which the server is. */
static enum exit_code check_server(const struct plan *plan, struct error *error)
{
    const char *cgroup = plan->server_cgroup;
    char path[PLAN_PATH_BYTES];
    if (plan->container != NULL && (plan->server_pid != 0 || cgroup != NULL)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--container says which process and cgroup the server has: leave out %s",
                  cgroup != NULL ? "--server-cgroup" : "--server-pid");
        return EXIT_CODE_USAGE;
    }
    if (plan->server_pid != 0 && kill(plan->server_pid, 0) != 0 && errno == ESRCH) {
        error_set(error, ERROR_USAGE, 0, NULL, "--server-pid %d: there is no such process",
                  (int)plan->server_pid);
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
static enum exit_code check_options(struct plan *plan, struct error *error)
{
    const struct adapter *adapter = plan->adapter;
    const struct option_entry *of_server = option_of_server(plan);
    const size_t least_stack = (size_t)PTHREAD_STACK_MIN;
    if (of_server != NULL && (adapter->flags & ADAPTER_EMBEDDED) != 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--%s does not apply to %s, which runs inside this program%s", of_server->name,
                  adapter->name,
                  plan->target_given == NULL ? ": name a server with TARGET or --port" : "");
    } else if (plan->verify_mode == VERIFY_ROWS && (adapter->flags & ADAPTER_DISCARDS) != 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "%s has no rows to read back: --verify rows does not apply", adapter->name);
    } else if (plan->target.client_lib != NULL && (adapter->flags & ADAPTER_LOADS) == 0) {
        error_set(
            error, ERROR_USAGE, 0, NULL,
            "--client-lib is for adapters that load their client library at run time: %s does not",
            adapter->name);
    } else if (plan->stack_bytes != 0 && plan->stack_bytes < least_stack) {
        error_set(error, ERROR_USAGE, 0, NULL, "--stack-size must be at least %zu bytes",
                  least_stack);
    } else {
        return check_server(plan, error);
    }
    return EXIT_CODE_USAGE;
}

static enum exit_code choose_method(struct plan *plan, struct error *error)
{
    const char *const *methods = plan->adapter->methods;
    const char *wanted = plan->target.method;
    if (wanted == NULL) {
        return EXIT_CODE_OK;
    }
    struct buffer known;
    buffer_init(&known);
    plan->target.method = NULL;
    for (; methods != NULL && *methods != NULL; methods++) {
        if (strcmp(*methods, wanted) == 0) {
            plan->target.method = *methods;
        }
        buffer_add_format(&known, "%s%s", known.length == 0 ? "use " : " or ", *methods);
    }
    const bool is_known = plan->target.method != NULL;
    if (!is_known) {
        error_set(error, ERROR_USAGE, 0, NULL, "%s has no method '%.60s': %s", plan->adapter->name,
                  wanted, methods == NULL ? "it has one way only" : buffer_text(&known));
    }
    buffer_fini(&known);
    return is_known ? EXIT_CODE_OK : EXIT_CODE_USAGE;
}

static enum exit_code read_schema_file(struct plan *plan, const char *path, struct error *error)
{
    FILE *file;
    struct error unread;
    error_clear(&unread);
    if (file_open(path, &file, &unread) != STATUS_OK) {
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
static enum exit_code check_engine(const struct plan *plan, struct error *error)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    if (plan->engine == NULL) {
        return EXIT_CODE_OK;
    }
    if (plan->adapter->engine_clause == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "--engine does not apply to %s",
                  plan->adapter->name);
    } else if (plan->schema_file != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--engine is for the built-in table: write it into the statement in %s",
                  plan->schema_file);
    } else if (strspn(plan->engine, allowed) != strlen(plan->engine)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--engine '%.60s' is not a name of letters, digits and _", plan->engine);
    } else {
        return EXIT_CODE_OK;
    }
    return EXIT_CODE_USAGE;
}

static enum exit_code choose_schema(struct plan *plan, struct error *error)
{
    if (check_engine(plan, error) != EXIT_CODE_OK) {
        return EXIT_CODE_USAGE;
    }
    if (plan->schema_file != NULL) {
        return read_schema_file(plan, plan->schema_file, error);
    }
    plan->is_default_table = strcmp(plan->table_name, PLAN_DEFAULT_TABLE) == 0;
    if (plan->is_recreate && (plan->adapter->flags & ADAPTER_DISCARDS) != 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--recreate does not apply to %s, which keeps no table", plan->adapter->name);
        return EXIT_CODE_USAGE;
    }
    if (plan->is_recreate && !plan->is_default_table) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--recreate drops table '%s' and needs --schema-file FILE to create it again",
                  plan->table_name);
        return EXIT_CODE_USAGE;
    }
    return EXIT_CODE_OK;
}

/* 20260131T235959123Z-postgresql-100x1000000: without the separators that file systems dislike. */
static void name_folder(struct plan *plan)
{
    char utc[40], compact[40], extent[48];
    char *to = compact;
    mono_format_utc(mono_wall_ns(), utc, sizeof utc);
    for (const char *from = utc; *from != '\0'; from++) {
        if (*from != ':' && *from != '-' && *from != '.') {
            *to++ = *from;
        }
    }
    *to = '\0';
    if (plan->is_search) {
        snprintf(extent, sizeof extent, "find-max");
    } else if (plan->records == 0) {
        snprintf(extent, sizeof extent, "%ux%.0fs", plan->sessions,
                 (double)plan->duration_ns / (double)MONO_NS_PER_S);
    } else {
        snprintf(extent, sizeof extent, "%ux%" PRIu64, plan->sessions, plan->records);
    }
    snprintf(plan->out_folder, sizeof plan->out_folder, "append-runs/%s-%s-%s", compact,
             plan->adapter->name, extent);
}

static enum exit_code choose_folder(struct plan *plan, struct error *error)
{
    const size_t room = sizeof plan->out_folder - 64; /* the names of files come behind it */
    if (plan->out == NULL) {
        name_folder(plan);
        return EXIT_CODE_OK;
    }
    if (strlen(plan->out) >= room) {
        error_set(error, ERROR_USAGE, 0, NULL, "--out must be a path of 1 to %zu bytes", room - 1);
        return EXIT_CODE_USAGE;
    }
    snprintf(plan->out_folder, sizeof plan->out_folder, "%s", plan->out);
    return EXIT_CODE_OK;
}

int16_t plan_run_tag(uint64_t seed)
{
    return (int16_t)(1 + random_mix(seed) % INT16_MAX);
}

void plan_set_seed(struct plan *plan, uint64_t seed)
{
    plan->seed = seed;
    plan->run_tag = plan_run_tag(seed);
}

/* Code under a sanitizer has frames several times as large. */
static size_t stack_need(const struct plan *plan)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return plan->adapter->stack_bytes + 512 * 1024;
#else
    return plan->adapter->stack_bytes;
#endif
}

enum exit_code plan_make(struct plan *plan, struct error *error)
{
    static enum exit_code (*const steps[])(struct plan *, struct error *) = {
        target_resolve, check_options, choose_method,
        choose_schema,  choose_folder, target_settle_path};
    enum exit_code code = plan->is_search ? complete_search(plan, error) : EXIT_CODE_OK;
    choose_least_sessions(plan);
    plan_set_seed(plan, plan->is_seed_given ? plan->seed : random_seed());
    plan->wait_until_ns = mono_now_ns() + plan->wait_ns;
    if (code == EXIT_CODE_OK) {
        code = check_counts(plan, error);
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && code == EXIT_CODE_OK; i++) {
        code = steps[i](plan, error);
    }
    if (code != EXIT_CODE_OK) {
        plan_fini(plan);
        return code;
    }
    plan->stack_bytes = plan->stack_bytes > 0 ? plan->stack_bytes : stack_need(plan);
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

struct operation_list plan_operations(const struct plan *plan)
{
    struct operation_list list = operation_list_all();
    const bool is_reconnecting = plan->drop_policy == DROP_RECONNECT;
    list.when |= plan->rate_rows_per_s > 0 ? OPERATION_WITH_RATE : 0U;
    list.when |= is_reconnecting || plan->churn_batches > 0 ? OPERATION_RECONNECTING : 0U;
    list.when |= is_reconnecting ? OPERATION_RECOVERING : 0U;
    return list;
}

const char *schema_find(const char *schema, const char *database)
{
    for (const struct schema_text *text = schema_texts; text->schema != NULL; text++) {
        if (strcmp(text->schema, schema) == 0 && strcmp(text->database, database) == 0) {
            return text->sql;
        }
    }
    return NULL;
}
