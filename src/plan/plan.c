#include "plan/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "adapters/registry.h"
#include "base/file.h"
#include "base/mono.h"
#include "base/random.h"
#include "base/text.h"
#include "plan/command_line.h"
#include "plan/facts.h"
#include "plan/groups.h"
#include "plan/options.h"

enum {
    SCHEMA_FILE_BYTES_MAX = 1 << 20,
    QUOTAS_SHOWN_MAX = 20,
    SCRIPT_NAME_SHOWN = 60,
};

#define NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

/* The maximum and the minimum time between two samples of find-max. Unless --sample-interval is
 * given, the time is half the --hold within these limits, so that a --hold of 200 ms or more
 * contains a sample. */
#define SEARCH_SAMPLE_NS MONO_NS_PER_S
#define SEARCH_SAMPLE_LEAST_NS (100 * MONO_NS_PER_MS)

bool plan_has_own_rows(const struct plan *plan)
{
    const struct script *script = plan->script;
    for (size_t i = 0; script != NULL && i < script->dataset_count; i++) {
        if (script->datasets[i].is_declared) {
            return false;
        }
    }
    return script == NULL || script->dataset_count > 0;
}

const struct plan_work *plan_work(const struct plan *plan)
{
    static const struct plan_work appends = {"append", "rows", RECORDER_ROWS_ACKNOWLEDGED,
                                             OPERATION_APPEND};
    static const struct plan_work transactions = {
        "transaction", "transactions", RECORDER_TRANSACTIONS_COMMITTED, OPERATION_TRANSACTION};
    return plan->script == NULL ? &appends : &transactions;
}

size_t plan_table_count(const struct plan *plan)
{
    return plan->script == NULL ? 1 : plan->script->dataset_count;
}

const char *plan_table_name(const struct plan *plan, size_t number)
{
    return plan->script == NULL ? plan->table_name : plan->script->datasets[number].name;
}

static bool has_param(const struct script *script, const char *name)
{
    size_t i = 0;
    while (i < script->param_count && strcmp(script->params[i].name, name) != 0) {
        i++;
    }
    return i < script->param_count;
}

/* Refuses options that would have no effect with the script or, in a run without a script, options
 * that need a script. */
static enum exit_code check_given(const struct plan *plan, struct error *error)
{
    const struct script *script = plan->script;
    for (size_t i = 0; i < plan->given_count; i++) {
        const struct option_entry *entry = plan->given[i].entry;
        /* `--verify rows` does not apply to scripts, because a script may remove rows that it has
         * appended; `--verify count` does apply */
        const bool is_rows = strcmp(entry->name, "verify") == 0 && plan->verify_mode == VERIFY_ROWS;
        if (script == NULL && entry->work == OPTION_WITH_SCRIPT) {
            return usage_refuse(error, "--%s needs --workload: see append help", entry->name);
        }
        if (script != NULL && entry->work == OPTION_WITHOUT_SCRIPT &&
            plan->command != COMMAND_PREPARE) {
            const bool is_param = has_param(script, entry->name);
            return usage_refuse(error, "--%s does not apply to --workload %.60s: %s%s%s",
                                entry->name, script->name,
                                is_param ? "use the script's parameter, --set "
                                         : "the script decides what its sessions do",
                                is_param ? entry->name : "", is_param ? "=VALUE" : "");
        }
        if (script != NULL && !plan_has_own_rows(plan) && entry->work == OPTION_WITH_OWN_ROWS) {
            return usage_refuse(error,
                                "--%s does not apply to --workload %.60s: the script declares its "
                                "tables and rows",
                                entry->name, script->name);
        }
        if (script != NULL && is_rows) {
            return usage_refuse(error,
                                "--verify rows does not apply to --workload %.60s: append can "
                                "read back only the rows of a run without a script",
                                script->name);
        }
    }
    return EXIT_CODE_OK;
}

const struct script_dataset *plan_find_undeclared(const struct script *script, size_t first)
{
    for (size_t i = first; script != NULL && i < script->dataset_count; i++) {
        if (!script->datasets[i].is_declared) {
            return &script->datasets[i];
        }
    }
    return NULL;
}

const char *plan_script_shown(const struct script *script)
{
    const size_t length = strlen(script->name);
    return script->name + (length > SCRIPT_NAME_SHOWN ? length - SCRIPT_NAME_SHOWN : 0);
}

/* If the script has a table for which it declares no columns, sets the plan's table to this table.
 * The table must exist, unless it is the built-in table, which this program creates. */
static enum exit_code choose_table(struct plan *plan, struct error *error)
{
    const struct script *const script = plan->script;
    const struct script_dataset *const named = plan_find_undeclared(script, 0);
    if (named == NULL ||
        (plan->command & (COMMAND_RUN | COMMAND_FIND_MAX | COMMAND_PREPARE)) == 0) {
        return EXIT_CODE_OK;
    }
    const struct script_dataset *other =
        plan_find_undeclared(script, (size_t)(named - script->datasets) + 1);
    if (other != NULL) {
        return usage_refuse(error,
                            "%s:%d: datasets '%.60s' and '%.60s' have no columns: only one "
                            "dataset may have none",
                            plan_script_shown(script), other->line, named->name, other->name);
    }
    plan->table_name = named->name;
    plan->is_default_table = strcmp(named->name, PLAN_DEFAULT_TABLE) == 0;
    if (plan->owned_path != NULL && !plan->is_default_table) {
        return usage_refuse(error,
                            "%s:%d: dataset '%.60s' has no columns, so its table must exist: "
                            "name a TARGET that has the table",
                            plan_script_shown(script), named->line, named->name);
    }
    return EXIT_CODE_OK;
}

enum exit_code plan_load_script(struct plan *plan, struct error *error)
{
    if (plan->workload == NULL && plan->command == COMMAND_PREPARE) {
        return usage_refuse(error, "append prepare needs --workload NAME: the command creates and "
                                   "loads the tables of that workload");
    }
    if (plan->workload == NULL && plan->command == COMMAND_CLEANUP) {
        return usage_refuse(
            error,
            "append cleanup needs --workload NAME: the command drops the tables of that workload");
    }
    if (plan->workload == NULL && plan->command == COMMAND_DRY_RUN) {
        return usage_refuse(error, "append dry-run needs --workload NAME: the command runs each "
                                   "transaction of that workload once");
    }
    if (plan->workload != NULL) {
        plan->script = script_load(plan->workload, plan->sets.texts, plan->sets.count, error);
    }
    if (plan->workload != NULL && plan->script == NULL && error->kind == ERROR_MEMORY) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    if (plan->workload != NULL && plan->script == NULL) {
        return error->kind == ERROR_CANCELLED ? EXIT_CODE_INTERRUPTED : EXIT_CODE_USAGE;
    }
    for (size_t i = 0; plan->script != NULL && i < plan->script->statement_count; i++) {
        const bool is_prepared = plan->script->statements[i].is_prepared && !plan->is_unprepared;
        plan->target.prepared_statements += is_prepared ? 1 : 0;
    }
    for (size_t i = 0; plan->script != NULL && i < plan->script->transaction_count; i++) {
        plan->has_group_rates |= plan->script->transactions[i].rate > 0;
    }
    if (plan->script != NULL && plan_has_own_rows(plan)) {
        plan->table_name = plan->script->datasets[0].name;
    }
    return check_given(plan, error);
}

/* Refuses --stage-disconnect without --stage, and options that contradict the stages. Stores the
 * rate of --rate as the first value of plan->rate. */
static enum exit_code resolve_stages(struct plan *plan, struct error *error)
{
    const struct ramp *stages = plan_stages(plan);
    const bool is_ramp = plan->stages.count > 0; /* the stages change the sessions, not the rate */
    const char *name = is_ramp ? "--stage" : "--rate-stage";
    const int64_t duration_ns = ramp_duration_ns(stages, stages->count);
    const char *unneeded = plan->transactions > 0 ? "--transactions" : NULL;
    unneeded = plan->records > 0 ? "SESSIONS and RECORDS" : unneeded;
    unneeded = option_is_given(plan, "sessions") ? "--sessions" : unneeded;
    if (plan->is_stage_disconnect && !is_ramp) {
        return usage_refuse(error, "--stage-disconnect needs --stage");
    }
    if (is_ramp && (plan->rate.count > 0 || plan->rate_rows_per_s > 0)) {
        return usage_refuse(error,
                            "--stage and %s contradict each other: give stages of sessions, or a "
                            "rate for all sessions together",
                            plan->rate.count > 0 ? "--rate-stage" : "--rate");
    }
    if (plan->rate.count > 0 && plan->rate_rows_per_s > 0) {
        return usage_refuse(error,
                            "--rate and --rate-stage contradict each other: give one of them");
    }
    if (stages->count > 0 && option_is_given(plan, "duration")) {
        return usage_refuse(error,
                            "%s already says how long the run lasts (%s): leave --duration out",
                            name, UNITS_NS(duration_ns));
    }
    if (is_ramp && unneeded != NULL) {
        return usage_refuse(error,
                            "--stage already says how many sessions there are (%.0f) and how long "
                            "the run lasts: leave %s out",
                            ramp_highest(stages), unneeded);
    }
    plan->rate.first = (double)plan->rate_rows_per_s;
    return EXIT_CODE_OK;
}

/* Refuses --live-control without --live. Refuses --control and --live-control in a run with stages
 * or random arrivals. */
static enum exit_code resolve_control(struct plan *plan, struct error *error)
{
    if (plan->is_live_control && plan->live == NULL) {
        return usage_refuse(error, "--live-control needs --live");
    }
    plan->is_control = plan->is_control || plan->is_live_control;
    const char *other = plan->stages.count > 0 ? "--stage" : NULL;
    other = plan->rate.count > 0 ? "--rate-stage" : other;
    other = plan->arrival_mode == ARRIVALS_POISSON ? "--arrivals poisson" : other;
    return plan->is_control && other != NULL
               ? usage_refuse(error, "--control does not work with %s: leave one of them out",
                              other)
               : EXIT_CODE_OK;
}

static enum exit_code resolve_counts(struct plan *plan, struct error *error)
{
    if (plan->is_search) { /* a search has its own options for sessions and time */
        if (plan->search.max_sessions > 0 && plan->search.first > plan->search.max_sessions) {
            return usage_refuse(error, "--first %u is more than --max-sessions %u",
                                plan->search.first, plan->search.max_sessions);
        }
        if (plan->search.hold_ns > plan->search.max_time_ns) {
            return usage_refuse(error, "--hold (%s) is longer than --max-time (%s)",
                                UNITS_NS(plan->search.hold_ns), UNITS_NS(plan->search.max_time_ns));
        }
        if (plan->search.max_rows > 0 && plan->script != NULL && !plan->script->names_append) {
            return usage_refuse(error,
                                "--max-rows counts appended rows, and --workload %.60s never calls "
                                ":append: use --max-time",
                                plan->script->name);
        }
        plan->sessions =
            plan->search.max_sessions > 0 ? plan->search.max_sessions : PLAN_SESSIONS_MAX;
        if (plan->search.first == 0) {
            plan->search.first =
                plan->sessions < SEARCH_FIRST_SESSIONS ? plan->sessions : SEARCH_FIRST_SESSIONS;
        }
        plan->duration_ns = plan->search.max_time_ns;
        plan->is_unchecked = true; /* a search is meant to hit limits */
        if (plan->sample_interval_ns == 0) {
            const int64_t half_ns = MAX(plan->search.hold_ns / 2, SEARCH_SAMPLE_LEAST_NS);
            plan->sample_interval_ns = MIN(half_ns, SEARCH_SAMPLE_NS);
        }
    }
    enum exit_code code = resolve_stages(plan, error);
    code = code == EXIT_CODE_OK ? resolve_control(plan, error) : code;
    if (code != EXIT_CODE_OK) {
        return code;
    }
    const uint64_t all = plan_sessions_all(plan);
    /* a share is rounded up: 99 % of 50 sessions is 50 */
    const uint64_t share = (all * plan->min_percent + 99) / 100;
    plan->has_min_sessions = plan->min_sessions > 0 || plan->min_percent > 0;
    plan->min_sessions = share > plan->min_sessions ? (unsigned)share : plan->min_sessions;
    plan->min_sessions = plan->min_sessions > 0 ? plan->min_sessions : 1;
    const bool is_run = (plan->command & (COMMAND_RUN | COMMAND_SWEEP)) != 0;
    const bool needs_rows = is_run && plan->duration_ns == 0 && plan->transactions == 0;
    if (needs_rows && plan->script != NULL && plan->records == 0) {
        const char *rows = plan->command == COMMAND_SWEEP ? ", or --records N,N,..."
                                                          : ", or RECORDS before the target";
        return usage_refuse(error,
                            "--workload %.60s would run forever: add --duration T or "
                            "--transactions N%s",
                            plan->script->name, plan->script->names_append ? rows : "");
    }
    if (needs_rows && plan->script != NULL && !plan->script->names_append) {
        return usage_refuse(
            error,
            "--workload %.60s never calls :append, so a number of rows would never end the "
            "run: replace %s (%" PRIu64 ") by --transactions N or --duration T",
            plan->script->name, plan->command == COMMAND_SWEEP ? "--records" : "RECORDS",
            plan->records);
    }
    if (plan->late_ns > 0 && !plan_has_rate(plan)) {
        return usage_refuse(
            error, "--late needs --rate or --rate-stage: without a rate no transaction is due");
    }
    if (plan->arrival_mode == ARRIVALS_POISSON && !plan_has_rate(plan)) {
        return usage_refuse(
            error, "--arrivals needs --rate or --rate-stage: without a rate no work is due");
    }
    if (plan->warm_up_ns > 0 && plan->duration_ns > 0 && plan->warm_up_ns >= plan->duration_ns) {
        return usage_refuse(error, "--warm-up (%s) must be shorter than the run (%s)",
                            UNITS_NS(plan->warm_up_ns), UNITS_NS(plan->duration_ns));
    }
    if ((needs_rows || plan->records > 0) && plan->records < plan->sessions) {
        return usage_refuse(error,
                            "RECORDS %" PRIu64 " is less than SESSIONS %u: every session appends "
                            "at least one row",
                            plan->records, plan->sessions);
    }
    if (plan->min_sessions > all && (plan->command & (COMMAND_CLEANUP | COMMAND_DRY_RUN)) == 0) {
        return usage_refuse(error,
                            "--min-sessions %u is more than the sessions of this run (%" PRIu64 ")",
                            plan->min_sessions, all);
    }
    if (all > PLAN_SESSIONS_MAX) {
        return usage_refuse(error,
                            "%" PRIu64
                            " sessions, idle ones included, are too many: at most %d are possible",
                            all, PLAN_SESSIONS_MAX);
    }
    const unsigned measured = COMMAND_RUN | COMMAND_FIND_MAX | COMMAND_CHECK;
    return (plan->command & measured) != 0 ? groups_assign(plan, error) : EXIT_CODE_OK;
}

const char *plan_why_no_waits(const struct plan *plan)
{
    if (plan->adapter->name_session == NULL) {
        return "this adapter cannot ask the database what its sessions wait for: use postgresql, "
               "mariadb, clickhouse or sqlite";
    }
    return plan->host_count > 1 ? "append polls one server: name one host" : NULL;
}

/* Refuses options that would have no effect with the adapter. */
static enum exit_code check_options(struct plan *plan, struct error *error)
{
    const struct adapter *adapter = plan->adapter;
    const struct option_entry *of_server = option_of_server(plan);
    const size_t least_stack = (size_t)PTHREAD_STACK_MIN;
    const char *cgroup = plan->server_cgroup;
    if (of_server != NULL && (adapter->flags & ADAPTER_EMBEDDED) != 0) {
        return usage_refuse(error, "--%s does not apply to %s, which runs inside this program%s",
                            of_server->name, adapter->name,
                            plan->target_given == NULL ? ": name a server with TARGET or --port"
                                                       : "");
    }
    if (plan->command == COMMAND_DRY_RUN && adapter->begin == NULL) {
        return usage_refuse(
            error,
            "%s has no transactions, so a dry run could not be rolled back: try the "
            "script on a database of its own, with append --transactions 10",
            adapter->name);
    }
    for (size_t i = 0; plan->script != NULL && i < plan->script->transaction_count; i++) {
        const struct script_transaction *transaction = &plan->script->transactions[i];
        if (adapter->begin == NULL && !transaction->is_autocommit &&
            transaction->weight + transaction->sessions > 0) {
            return usage_refuse(error,
                                "%s has no transactions: declare transaction '%s' of %.60s with "
                                "{autocommit = true}",
                                adapter->name, transaction->name, plan->script->name);
        }
    }
    const char *why_not = plan_why_no_waits(plan);
    if ((plan->waits == WAITS_ON || plan->waits == WAITS_SQL) && why_not != NULL) {
        return usage_refuse(error, "--waits: %s", why_not);
    }
    if (plan->waits == WAITS_SQL && plan->is_search) {
        return usage_refuse(error, "--waits=sql applies to runs, not to find-max: use --waits");
    }
    if (plan->waits == WAITS_KERNEL && (adapter->flags & ADAPTER_EMBEDDED) != 0) {
        return usage_refuse(error,
                            "--waits=kernel does not apply to %s, which is part of append and has "
                            "no threads of its own",
                            adapter->name);
    }
    if (plan->waits == WAITS_KERNEL && plan->is_search) {
        return usage_refuse(error, "--waits=kernel does not apply to find-max: use --waits here, "
                                   "or --waits=kernel in a run");
    }
    if (plan->verify_mode == VERIFY_ROWS && (adapter->flags & ADAPTER_DISCARDS) != 0) {
        return usage_refuse(error, "--verify rows does not apply to %s, which keeps no rows",
                            adapter->name);
    }
    if (plan->target.client_lib != NULL && (adapter->flags & ADAPTER_LOADS) == 0) {
        return usage_refuse(error,
                            "--client-lib does not apply to %s, which loads no client library at "
                            "run time",
                            adapter->name);
    }
    if (plan->is_plan_only && plan->is_json) {
        return usage_refuse(error, "--plan prints a text: leave out --json");
    }
    if (plan->junit != NULL && plan->ycsb != NULL && strcmp(plan->junit, plan->ycsb) == 0) {
        return usage_refuse(error, "--junit and --ycsb-out name the same file '%.120s'",
                            plan->junit);
    }
    if (plan->stack_bytes != 0 && plan->stack_bytes < least_stack) {
        return usage_refuse(error, "--stack-size must be at least %zu bytes", least_stack);
    }
    if (plan->container != NULL && (plan->server_pid != 0 || cgroup != NULL)) {
        return usage_refuse(
            error, "--container already names the server's process and cgroup: leave out %s",
            cgroup != NULL ? "--server-cgroup" : "--server-pid");
    }
    if (plan->server_pid != 0 && kill(plan->server_pid, 0) != 0 && errno == ESRCH) {
        return usage_refuse(error, "--server-pid %d: no process has this number",
                            (int)plan->server_pid);
    }
    if (cgroup != NULL) {
        char path[PLAN_PATH_BYTES];
        snprintf(path, sizeof path, "%s%s", cgroup[0] == '/' ? "" : "/sys/fs/cgroup/", cgroup);
        if (access(path, R_OK | X_OK) != 0) {
            error_set(error, ERROR_USAGE, errno, NULL, "--server-cgroup %s: %s", path,
                      strerror(errno));
            return EXIT_CODE_USAGE;
        }
    }
    return EXIT_CODE_OK;
}

static enum exit_code choose_method(struct plan *plan, struct error *error)
{
    const char *wanted = plan->target.method;
    char known[ERROR_TEXT_BYTES] = "";
    const char *const *method = plan->adapter->methods;
    for (; wanted != NULL && method != NULL && *method != NULL; method++) {
        if (strcmp(*method, wanted) == 0) {
            plan->target.method = *method;
            return EXIT_CODE_OK;
        }
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used == 0 ? "use " : " or ", *method);
    }
    return wanted == NULL ? EXIT_CODE_OK
                          : usage_refuse(error, "%s has no method '%.60s': %s", plan->adapter->name,
                                         wanted, method == NULL ? "leave --method out" : known);
}

static enum exit_code choose_schema(struct plan *plan, struct error *error)
{
    /* the engine's name has only these characters, because the name becomes part of a statement */
    static const char allowed[] = NAME_BYTES;
    const struct adapter *adapter = plan->adapter;
    if (plan->engine != NULL && adapter->engine_clause == NULL) {
        return usage_refuse(error, "--engine does not apply to %s", adapter->name);
    }
    if (plan->engine != NULL && plan->schema_file != NULL) {
        return usage_refuse(error,
                            "--engine applies only to the built-in table: name the engine in %s",
                            plan->schema_file);
    }
    const size_t name_length = plan->engine == NULL ? 0 : strspn(plan->engine, allowed);
    const bool takes_more = (adapter->flags & ADAPTER_CLAUSES) != 0 && name_length > 0;
    if (plan->engine != NULL && plan->engine[name_length] != '\0' && !takes_more) {
        return usage_refuse(error, "--engine '%.60s' is not a name of letters, digits and _",
                            plan->engine);
    }
    const bool is_own = plan->schema_file != NULL; /* the user gives the SQL */
    plan->is_default_table = !is_own && strcmp(plan->table_name, PLAN_DEFAULT_TABLE) == 0;
    if (plan->is_recreate && !is_own && (adapter->flags & ADAPTER_DISCARDS) != 0) {
        return usage_refuse(error, "--recreate does not apply to %s, which keeps no table",
                            adapter->name);
    }
    if (plan->is_recreate && !is_own && !plan->is_default_table) {
        return usage_refuse(error, "--recreate needs --schema-file FILE to create table '%s' again",
                            plan->table_name);
    }
    if (!is_own) {
        return EXIT_CODE_OK;
    }
    const char *path = plan->schema_file;
    FILE *file;
    struct error unread = {0};
    if (file_open(path, &file, &unread) != STATUS_OK) {
        error_set(error, ERROR_USAGE, unread.native_code, NULL, "--schema-file %s", unread.text);
        return EXIT_CODE_USAGE;
    }
    plan->ddl_text = malloc(SCHEMA_FILE_BYTES_MAX);
    if (plan->ddl_text == NULL) {
        fclose(file);
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for --schema-file %s", path);
        return EXIT_CODE_CLIENT_LIMIT;
    }
    const size_t length = fread(plan->ddl_text, 1, SCHEMA_FILE_BYTES_MAX, file);
    const bool is_read = !ferror(file);
    fclose(file);
    if (!is_read || length == 0 || length == SCHEMA_FILE_BYTES_MAX) {
        const char *trouble = length == 0 ? "is empty" : "is 1 MiB or larger";
        return usage_refuse(error, "--schema-file %s %s", path,
                            is_read ? trouble : "cannot be read");
    }
    plan->ddl_text[length] = '\0';
    plan->ddl = plan->ddl_text;
    return EXIT_CODE_OK;
}

static enum exit_code choose_folder(struct plan *plan, struct error *error)
{
    const size_t room = sizeof plan->out_folder - 64; /* leaves room for the names of files */
    if (plan->out != NULL && strlen(plan->out) >= room) {
        return usage_refuse(error, "--out must be a path of 1 to %zu bytes", room - 1);
    }
    if (plan->out != NULL) {
        snprintf(plan->out_folder, sizeof plan->out_folder, "%s", plan->out);
        return EXIT_CODE_OK;
    }
    /* the name of the folder, 20260131T235959123Z-postgresql-oltp-100x60s, has only characters that
     * all file systems allow */
    char utc[40], extent[48], workload[48] = "";
    char *to = utc;
    mono_format_utc(mono_wall_ns(), utc, sizeof utc);
    for (const char *from = utc; *from != '\0'; from++) {
        if (strchr(":-.", *from) == NULL) {
            *to++ = *from;
        }
    }
    *to = '\0';
    if (plan->script != NULL) {
        /* use the file's name without its folder */
        const char *slash = strrchr(plan->workload, '/');
        const char *name = slash == NULL ? plan->workload : slash + 1;
        const size_t length = strspn(name, NAME_BYTES "-");
        snprintf(workload, sizeof workload, "-%.*s", length < 40 ? (int)length : 40, name);
    }
    if (plan->is_search) {
        snprintf(extent, sizeof extent, "find-max");
    } else if (plan->command == COMMAND_CERTIFY) {
        snprintf(extent, sizeof extent, "%u-certify", plan->sessions);
    } else if (plan->records == 0 && plan->duration_ns == 0) {
        snprintf(extent, sizeof extent, "%ux%" PRIu64, plan->sessions, plan->transactions);
    } else if (plan->records == 0) {
        snprintf(extent, sizeof extent, "%ux%.0fs", plan->sessions,
                 (double)plan->duration_ns / (double)MONO_NS_PER_S);
    } else {
        snprintf(extent, sizeof extent, "%ux%" PRIu64, plan->sessions, plan->records);
    }
    snprintf(plan->out_folder, sizeof plan->out_folder, "append-runs/%s-%s%s-%s", utc,
             plan->adapter->name, workload, extent);
    return EXIT_CODE_OK;
}

void facts_set_seed(struct facts *facts, uint64_t seed)
{
    facts->seed = seed;
    facts->run_tag = (int16_t)(1 + random_mix(seed) % INT16_MAX);
}

enum exit_code plan_try(struct plan *plan, struct facts *facts, struct error *error)
{
    static enum exit_code (*const steps[])(struct plan *, struct error *) = {
        plan_load_script, resolve_counts, target_resolve,      check_options, choose_method,
        choose_schema,    choose_folder,  target_default_path, choose_table};
    enum exit_code code = EXIT_CODE_OK;
    if (plan->steps == 0) {
        plan->seed = plan->is_seed_given ? plan->seed : random_seed();
        plan->wait_until_ns = mono_now_ns() + plan->wait_ns;
    }
    while (plan->steps < COUNT_OF(steps) && code == EXIT_CODE_OK) {
        code = steps[plan->steps](plan, error);
        plan->steps += code == EXIT_CODE_OK ? 1 : 0;
    }
    if (code == EXIT_CODE_OK && plan->stack_bytes == 0) {
        plan->stack_bytes =
            plan->adapter->stack_bytes + (plan->script != NULL ? SCRIPT_STACK_BYTES : 0);
#ifdef APPEND_IS_SANITIZED
        /* stack frames are several times as large with sanitizers */
        plan->stack_bytes += 512 * 1024;
#endif
    }
    plan->facts = facts;
    *facts = (struct facts){.server_pid = plan->server_pid, .server_cgroup = plan->server_cgroup};
    facts_set_seed(facts, plan->seed);
    memcpy(facts->target, plan->display_target, sizeof facts->target);
    return code;
}

bool plan_waits(struct plan *plan, enum exit_code *code, struct error *error)
{
    if (*code == EXIT_CODE_SERVER && error->kind != ERROR_UNSUPPORTED && target_wait(plan, error)) {
        error_clear(error);
        return true;
    }
    if (*code == EXIT_CODE_SERVER && interrupt_requested()) {
        error_clear(error);
        error_set(error, ERROR_SYSTEM, 0, NULL, "interrupted before the first session");
        *code = EXIT_CODE_INTERRUPTED;
    }
    if (*code != EXIT_CODE_OK) {
        plan_fini(plan);
    }
    return false;
}

enum exit_code plan_make(struct plan *plan, struct facts *facts, struct error *error)
{
    enum exit_code code;
    do {
        code = plan_try(plan, facts, error);
    } while (plan_waits(plan, &code, error));
    return code;
}

/* Switches off, in this rank, the work that rank 0 does for all ranks. */
static void leave_to_rank_0(struct plan *plan)
{
    plan->is_follower = true;
    plan->is_recreate = false;
    plan->is_quiet = true;
    plan->is_json = plan->is_report = false;
    plan->junit = plan->ycsb = NULL;
    plan->expected.count = 0;
    plan->verify_mode = VERIFY_COUNT;
    plan->progress_ns = 0;
    plan->schema_file = NULL;
}

enum exit_code plan_follow(struct plan *plan, struct facts *facts, enum command command,
                           const struct plan_lead *lead, struct error *error)
{
    const struct command_form form = {.command = command, .usage = "append"};
    const enum exit_code code = command_line_follow(plan, &form, lead, error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    leave_to_rank_0(plan);
    plan->out = lead->out;
    plan->seed = lead->seed;
    plan->is_seed_given = true;
    plan->adapter_name = lead->adapter_name == NULL ? plan->adapter_name : lead->adapter_name;
    plan->workload = lead->workload == NULL ? plan->workload : lead->workload;
    return plan_make(plan, facts, error);
}

void plan_with_sessions(const struct plan *plan, unsigned sessions, struct plan *copy)
{
    *copy = *plan;
    copy->sessions = sessions;
}

void plan_fini(struct plan *plan)
{
    script_destroy(plan->script);
    plan_fini_in_use(plan);
}

void plan_fini_in_use(struct plan *plan)
{
    free(plan->url_text);
    free(plan->owned_path);
    free(plan->ddl_text);
    free(plan->places);
    free(plan->groups);
    plan->places = NULL;
    plan->groups = NULL;
    plan->script = NULL;
    plan->url_text = NULL;
    plan->owned_path = NULL;
    plan->ddl_text = NULL;
}

struct plan_share plan_share(const struct plan *plan)
{
    const struct plan_share all = {0, plan->sessions, plan->sessions, plan->idle_sessions};
    return plan->facts->ranks > 0 ? plan->facts->share : all;
}

uint64_t plan_quota(const struct plan *plan, unsigned session)
{
    if (plan->records == 0) {
        return UINT64_MAX;
    }
    return plan->records / plan->sessions + (session < plan->records % plan->sessions ? 1 : 0);
}

static void print_script(const struct plan *plan, FILE *stream)
{
    const struct script *script = plan->script;
    if (script == NULL) {
        return;
    }
    fprintf(stream, "workload: %s\n", script->name);
    for (size_t i = 0; i < script->param_count; i++) {
        fprintf(stream, "  %s=%s%s\n", script->params[i].name, script->params[i].value,
                script->params[i].is_set ? " (set)" : "");
    }
    for (size_t i = 0; i < script->dataset_count; i++) {
        const struct script_dataset *dataset = &script->datasets[i];
        fprintf(stream, "  table %s", dataset->name);
        if (dataset->is_declared) {
            fprintf(stream, ": %s %s", UNITS_COUNT(dataset->rows),
                    units_plural(dataset->rows, "row", "rows"));
        }
        fputs("\n", stream);
    }
    for (size_t i = 0; i < script->transaction_count; i++) {
        const struct script_transaction *transaction = &script->transactions[i];
        if (plan->groups != NULL && transaction->sessions > 0) {
            fprintf(stream, "  transaction %s: %s %s of its own%s\n", transaction->name,
                    UNITS_COUNT(plan->groups[i + 1].sessions),
                    units_plural(plan->groups[i + 1].sessions, "session", "sessions"),
                    transaction->is_autocommit ? ", autocommit" : "");
            continue;
        }
        fprintf(stream, "  transaction %s: weight %g%s\n", transaction->name, transaction->weight,
                transaction->is_autocommit ? ", autocommit" : "");
    }
    fprintf(stream, "  statements prepared in a session: %u\n", plan->target.prepared_statements);
}

void plan_print(const struct plan *plan, FILE *stream)
{
    const char *const *methods = plan->adapter->methods;
    char stages[PLAN_STAGES_BYTES];
    const char *method = plan->target.method;
    fprintf(stream, "target: %s\nadapter: %s", plan->display_target, plan->adapter->name);
    if (method != NULL || methods != NULL) {
        fprintf(stream, ", method %s%s", method != NULL ? method : methods[0],
                method != NULL ? "" : " unless the server does not support it");
    }
    fputs("\n", stream);
    for (unsigned i = 0; i < plan->host_count; i++) {
        char name[PLAN_HOST_BYTES];
        target_name_host(plan, i, name, sizeof name);
        fprintf(stream, "host %u: %s\n", i + 1, name);
    }
    print_script(plan, stream);
    if (plan_has_own_rows(plan)) {
        fprintf(stream, "table: %s%s\n", plan->table_name,
                plan->is_recreate ? ", dropped and created again" : "");
    }
    if (plan->skip_columns != NULL) {
        fprintf(stream, "left out: %s\n", plan->skip_columns);
    }
    if (plan->values != NULL) {
        fprintf(stream, "values: %s\n", plan->values);
    }
    fprintf(stream, "sessions: %u%s\n", plan->sessions,
            plan_describe_stages(&plan->stages, stages));
    if (plan->records > 0) {
        fprintf(stream, "records: %s\n", UNITS_COUNT(plan->records));
    }
    if (plan->duration_ns > 0) {
        fprintf(stream, "duration: at most %.3f s\n",
                (double)plan->duration_ns / (double)MONO_NS_PER_S);
    }
    if (plan->transactions > 0) {
        fprintf(stream, "transactions: at most %s\n", UNITS_COUNT(plan->transactions));
    }
    fputs("quotas: ", stream);
    if (plan->records == 0) {
        fputs("none", stream);
    } else if (plan->sessions <= QUOTAS_SHOWN_MAX) {
        for (unsigned i = 0; i < plan->sessions; i++) {
            fprintf(stream, "%s%" PRIu64, i == 0 ? "" : "+", plan_quota(plan, i));
        }
    } else {
        const uint64_t least = plan->records / plan->sessions;
        const uint64_t more = plan->records % plan->sessions;
        fprintf(stream, "%" PRIu64 " %s x %" PRIu64, plan->sessions - more,
                units_plural(plan->sessions - more, "session", "sessions"), least);
        if (more > 0) {
            fprintf(stream, " + %" PRIu64 " %s x %" PRIu64, more,
                    units_plural(more, "session", "sessions"), least + 1);
        }
    }
    fputs("\n", stream);
    if (plan->script == NULL) {
        fprintf(stream, "batch: %" PRIu64 " %s\n", plan->batch_rows,
                units_plural(plan->batch_rows, "row", "rows"));
    }
    if (plan->script != NULL) {
        if (plan->warm_up_ns > 0) {
            fprintf(stream, "warm-up: %s\n", UNITS_NS(plan->warm_up_ns));
        }
    } else if (plan->read_mode == READ_NONE) {
        fputs("read: none\n", stream);
    } else {
        fprintf(stream, "read: %s after every ",
                plan->read_mode == READ_COUNT ? "count(*)" : plan->read_sql);
        if (plan->read_every == 1) {
            fputs("batch\n", stream);
        } else {
            fprintf(stream, "%" PRIu64 " batches\n", plan->read_every);
        }
    }
    if (ramp_highest(&plan->rate) > 0) {
        fprintf(stream, "rate: %s %s/s%s%s\n", UNITS_COUNT((uint64_t)ramp_highest(&plan->rate)),
                plan_work(plan)->many, plan_describe_stages(&plan->rate, stages),
                plan->arrival_mode == ARRIVALS_POISSON ? ", random arrivals (Poisson)" : "");
    }
    fprintf(stream, "seed: %" PRIu64 ", run tag (n1) %d\n", plan->seed, plan->facts->run_tag);
    fprintf(stream, "stack: %zu KiB a session\n", plan->stack_bytes / 1024);
    fprintf(stream, "files: %s\n", plan->out_folder);
}

const char *plan_describe_stages(const struct ramp *ramp, char text[PLAN_STAGES_BYTES])
{
    snprintf(text, PLAN_STAGES_BYTES, " at most, in %zu stage%s", ramp->count,
             ramp->count == 1 ? "" : "s");
    return ramp->count == 0 ? "" : text;
}

uint64_t plan_transaction_quota(const struct plan *plan, unsigned session)
{
    const uint64_t all = plan->transactions, sessions = plan->sessions;
    return all == 0 ? UINT64_MAX : all / sessions + (session < all % sessions ? 1 : 0);
}

struct operation_list plan_operations(const struct plan *plan)
{
    struct operation_list list = operation_list_all();
    const bool is_reconnecting = plan->drop_policy == DROP_RECONNECT;
    list.when |= plan_has_rate(plan) ? OPERATION_WITH_RATE : 0U;
    const bool is_closing = plan->churn_batches > 0 || plan->is_stage_disconnect;
    list.when |= is_reconnecting || is_closing ? OPERATION_RECONNECTING : 0U;
    list.when |= is_reconnecting ? OPERATION_RECOVERING : 0U;
    list.when |= plan->script != NULL ? OPERATION_WITH_SCRIPT : 0U;
    for (size_t i = 0; plan->script != NULL && i < plan->script->operation_count; i++) {
        static const enum operation_kind kinds[] = {[SCRIPT_READ] = OPERATION_IS_READ,
                                                    [SCRIPT_WRITE] = OPERATION_IS_WRITE,
                                                    [SCRIPT_OTHER] = OPERATION_IS_OTHER};
        const struct script_operation *operation = &plan->script->operations[i];
        operation_list_add(&list, operation->name,
                           operation->is_transaction ? OPERATION_IS_TRANSACTION
                                                     : kinds[operation->kind]);
    }
    list.has_waits = plan_polls_waits(plan);
    const char *wrong;
    if (plan->percentiles != NULL) {
        figure_points_show(&list.points, plan->percentiles, &wrong);
    }
    for (size_t i = 0; i < plan->expected.count; i++) {
        /* add the percentile of a bound to the files, but not to the report */
        struct bound bound;
        struct figure_point point;
        const char *rest = plan->expected.texts[i];
        while (rest != NULL && bound_parse(&bound, &rest, NULL) == STATUS_OK) {
            if (bound_percentile(&bound, &point)) {
                point.is_in_files_only = true;
                figure_points_add(&list.points, &point);
            }
        }
    }
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

const char *schema_of_syslog(const struct adapter *adapter, const char *database)
{
    return adapter->syslog_sql != NULL ? adapter->syslog_sql : schema_find("syslog", database);
}
