#include "cli/sweep_ask.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "load/table_probe.h"
#include "plan/target.h"
#include "sweep/sweep_json.h"

static enum exit_code out_of_memory(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the options of a sweep");
    return EXIT_CODE_CLIENT_LIMIT;
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

/* What is said to this program only, each time anew. */
static const char *const of_this_call[] = {"out",    "quiet",        "json", "report",
                                           "resume", "retry-failed", NULL};
/* What the sweep itself does; --recreate is passed on where it is due. */
static const char *const of_the_sweep[] = {"sessions",  "records",  "repeat",
                                           "keep-rows", "recreate", NULL};

/* What may be another when a sweep goes on: where things are, not what is measured. */
static const char *const of_the_place[] = {"server-pid", "server-cgroup", "password-file",
                                           "metrics",    "metrics-file",  NULL};

/* "--batch=50"; NULL: out of memory. */
static char *word_of(const struct given_option *option)
{
    const char *value = option->value == NULL ? "" : option->value;
    const size_t size = strlen(option->name) + strlen(value) + sizeof "--=";
    char *word = malloc(size);
    if (word != NULL) {
        snprintf(word, size, "--%s%s%s", option->name, option->value == NULL ? "" : "=", value);
    }
    return word;
}

static enum exit_code collect_words(struct sweep_ask *ask, struct error *error)
{
    for (size_t i = 0; i < ask->options.given_count; i++) {
        const struct given_option *option = &ask->options.given[i];
        if (is_one_of(option->name, of_this_call)) {
            continue;
        }
        char *word = word_of(option);
        if (word == NULL) {
            return out_of_memory(error);
        }
        ask->is_for_runs[ask->word_count] = !is_one_of(option->name, of_the_sweep);
        ask->words[ask->word_count++] = word;
        if (!sweep_json_can_keep(word)) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "--%s has a value that is not UTF-8, which cannot be kept for --resume",
                      option->name);
            return EXIT_CODE_USAGE;
        }
    }
    return EXIT_CODE_OK;
}

/* The recorded word with the same option; NULL: it was not given. */
static const char *find_option(const struct sweep_request *request, const char *word)
{
    const size_t length = strcspn(word, "=");
    for (size_t i = 0; i < request->word_count; i++) {
        const char *recorded = request->words[i];
        if (strncmp(recorded, word, length) == 0 &&
            (recorded[length] == '=' || recorded[length] == '\0')) {
            return recorded;
        }
    }
    return NULL;
}

/* An option that comes with --resume must be the one of the sweep. */
static enum exit_code compare_options(const struct sweep_request *request,
                                      const struct options *given, struct error *error)
{
    for (size_t i = 0; i < given->given_count; i++) {
        const struct given_option *option = &given->given[i];
        if (strcmp(option->name, "out") == 0) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "--out does not go with --resume: the sweep stays in its folder");
            return EXIT_CODE_USAGE;
        }
        if (is_one_of(option->name, of_this_call) || is_one_of(option->name, of_the_place)) {
            continue;
        }
        char *word = word_of(option);
        if (word == NULL) {
            return out_of_memory(error);
        }
        bool is_same = false;
        for (size_t w = 0; w < request->word_count; w++) {
            is_same = is_same || strcmp(request->words[w], word) == 0;
        }
        const char *recorded = find_option(request, word);
        if (!is_same) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "%.70s is not what the sweep was begun with (%s%.60s): leave it out", word,
                      recorded == NULL ? "no such option" : "", recorded == NULL ? "" : recorded);
        }
        free(word);
        if (!is_same) {
            return EXIT_CODE_USAGE;
        }
    }
    return EXIT_CODE_OK;
}

/* Relative paths of the options begin where the sweep was begun. */
static enum exit_code go_back(struct sweep_ask *ask, struct error *error)
{
    char here[PATH_MAX];
    const char *there = ask->request.working_folder;
    if (getcwd(here, sizeof here) != NULL && strcmp(here, there) == 0) {
        return EXIT_CODE_OK;
    }
    char path[PATH_MAX];
    if (realpath(ask->folder, path) == NULL || chdir(there) != 0) {
        error_set(error, ERROR_USAGE, errno, NULL,
                  "the sweep was begun in '%.140s', which is not to be had: %s", there,
                  strerror(errno));
        return EXIT_CODE_USAGE;
    }
    if (strlen(path) >= sizeof ask->folder) {
        error_set(error, ERROR_USAGE, 0, NULL, "the path '%.60s…' is too long", path);
        return EXIT_CODE_USAGE;
    }
    memcpy(ask->folder, path, strlen(path) + 1);
    return EXIT_CODE_OK;
}

/* True when `word` is of an option that was given again, and may be. */
static bool is_replaced(const char *word, const struct options *given)
{
    const size_t length = strcspn(word, "=");
    for (size_t i = 0; i < given->given_count; i++) {
        const char *name = given->given[i].name;
        if (is_one_of(name, of_the_place) && strlen(name) + 2 == length &&
            strncmp(word + 2, name, length - 2) == 0) {
            return true;
        }
    }
    return false;
}

/* The command line of then, with what was given in place of it now, for getopt, which wants texts
 * of its own. 0: out of memory. */
static int copy_command_line(struct sweep_ask *ask, const struct options *given, const char *target)
{
    const struct sweep_request *request = &ask->request;
    ask->argv = calloc(request->word_count + given->given_count + 3, sizeof *ask->argv);
    if (ask->argv == NULL || (ask->argv[0] = strdup("sweep")) == NULL) {
        return 0;
    }
    int count = 1;
    for (size_t i = 0; i < request->word_count; i++) {
        if (!is_replaced(request->words[i], given) &&
            (ask->argv[count++] = strdup(request->words[i])) == NULL) {
            return 0;
        }
    }
    for (size_t i = 0; i < given->given_count; i++) {
        if (is_one_of(given->given[i].name, of_the_place) &&
            (ask->argv[count++] = word_of(&given->given[i])) == NULL) {
            return 0;
        }
    }
    if (target != NULL && (ask->argv[count++] = strdup(target)) == NULL) {
        return 0;
    }
    return count;
}

/* The variable with a password that would go to a target nobody has named now; NULL: none. */
static const char *find_password_variable(void)
{
    static const char *const variables[] = {"APPEND_PASSWORD", "PGPASSWORD", "MYSQL_PWD"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        if (getenv(variables[i]) != NULL) {
            return variables[i];
        }
    }
    return NULL;
}

/* True when any part of where the sweep connects to is known from its folder only. */
static bool is_place_recorded(const struct sweep_request *request, const struct config *given)
{
    return (given->target == NULL && given->port == 0) ||
           (given->host == NULL && find_option(request, "--host") != NULL) ||
           (given->port == 0 && find_option(request, "--port") != NULL);
}

/* Reads the command line of then into ask->options. */
static enum exit_code ask_again(struct sweep_ask *ask, struct error *error)
{
    const struct options given = ask->options;
    ask->is_resumed = true;
    if (saved_sweep_read(&ask->saved, given.resume, error) != STATUS_OK ||
        sweep_request_read(&ask->request, &ask->saved, error) != STATUS_OK) {
        return error->kind == ERROR_MEMORY ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_USAGE;
    }
    const struct sweep_request *request = &ask->request;
    enum exit_code code = compare_options(request, &given, error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    const char *target = given.config.target == NULL ? request->target : given.config.target;
    if (request->has_secret && given.config.target == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "the sweep's target (%.100s) is not kept with its password: give TARGET again",
                  request->target);
        return EXIT_CODE_USAGE;
    }
    ask->is_target_recorded = is_place_recorded(request, &given.config);
    snprintf(ask->folder, sizeof ask->folder, "%s", ask->saved.folder);
    code = go_back(ask, error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    const int count = copy_command_line(ask, &given, target);
    if (count == 0) {
        return out_of_memory(error);
    }
    if (options_parse(&ask->options, COMMAND_SWEEP, count, ask->argv, error) != STATUS_OK) {
        return EXIT_CODE_USAGE;
    }
    ask->options.config.is_quiet = given.config.is_quiet;
    ask->options.config.is_json = given.config.is_json;
    ask->options.is_report = given.is_report;
    ask->options.is_retrying_failed = given.is_retrying_failed;
    return EXIT_CODE_OK;
}

static enum exit_code check_options(const struct options *options, struct error *error)
{
    const struct config *config = &options->config;
    if (options->sweep_sessions.count == 0 || options->sweep_records.count == 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "a sweep needs --sessions N,N,... and --records N,N,..., or --resume DIR: see "
                  "append sweep --help");
    } else if (options->is_keeping_rows && config->is_recreate) {
        error_set(error, ERROR_USAGE, 0, NULL, "--keep-rows contradicts --recreate");
    } else if (config->has_seed && config->verify_mode == VERIFY_ROWS && options->is_keeping_rows) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--seed gives all runs the same rows, which --verify rows cannot tell apart "
                  "with --keep-rows: leave --seed out");
    } else {
        return EXIT_CODE_OK;
    }
    return EXIT_CODE_USAGE;
}

/* Without --out: the name that a run would have, with "sweep" for its sessions and records. */
static enum exit_code name_folder(struct sweep_ask *ask, struct error *error)
{
    const size_t room = sizeof ask->folder - 64 - SAVED_SWEEP_NAME_BYTES; /* as a run has it */
    const char *path = ask->plan.out_folder;
    const char *extent = strrchr(path, '-');
    if (ask->options.config.out != NULL || extent == NULL) {
        snprintf(ask->folder, sizeof ask->folder, "%s", path);
    } else {
        snprintf(ask->folder, sizeof ask->folder, "%.*s-sweep", (int)(extent - path), path);
    }
    if (strlen(ask->folder) >= room) {
        error_set(error, ERROR_USAGE, 0, NULL, "--out must be a path of 1 to %zu bytes", room - 1);
        return EXIT_CODE_USAGE;
    }
    return EXIT_CODE_OK;
}

/* A plan for every run, of which the first is kept. Who listens on a port is asked once. */
static enum exit_code make_plans(struct sweep_ask *ask, struct error *error)
{
    struct config config = ask->options.config;
    const struct sweep_list *sessions = &ask->options.sweep_sessions;
    const struct sweep_list *records = &ask->options.sweep_records;
    const size_t cells = sessions->count * records->count;
    enum exit_code code = EXIT_CODE_OK;
    for (size_t i = 0; i < cells && code == EXIT_CODE_OK; i++) {
        struct plan plan;
        config.sessions = sessions->values[i % sessions->count];
        config.records = records->values[i / sessions->count];
        code = plan_make(&plan, &config, error);
        if (code == EXIT_CODE_OK && i == 0) {
            ask->plan = plan;
            config.adapter = plan.adapter->name;
        } else if (code == EXIT_CODE_OK) {
            plan_fini(&plan);
        }
    }
    return code;
}

static enum exit_code settle_target(struct sweep_ask *ask, struct error *error)
{
    const char *target = ask->options.config.target;
    if (target != NULL) {
        target_redact(target, ask->target, sizeof ask->target);
    }
    ask->has_secret = target != NULL && strcmp(target, ask->target) != 0;
    const char *variable = ask->is_target_recorded ? find_password_variable() : NULL;
    if (variable != NULL && (ask->plan.adapter->flags & ADAPTER_EMBEDDED) == 0) {
        error_set(
            error, ERROR_USAGE, 0, NULL,
            "the password in %s would go to %.100s, which sweep.json names: give TARGET again%s",
            variable, ask->plan.display_target,
            find_option(&ask->request, "--host") != NULL ||
                    find_option(&ask->request, "--port") != NULL
                ? " (--host, --port)"
                : "");
        return EXIT_CODE_USAGE;
    }
    const char *before = ask->request.target == NULL ? "" : ask->request.target;
    const char *adapter = json_string_value(json_object_get(ask->saved.json, "adapter"));
    if (ask->is_resumed && (adapter == NULL || strcmp(adapter, ask->plan.adapter->name) != 0)) {
        error_set(error, ERROR_USAGE, 0, NULL, "the sweep was begun on %.40s, this is %s",
                  adapter == NULL ? "?" : adapter, ask->plan.adapter->name);
        return EXIT_CODE_USAGE;
    }
    if (ask->is_resumed && strcmp(before, ask->target) != 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "target %.80s is not that of the sweep (%.80s): leave it out", ask->target,
                  before);
        return EXIT_CODE_USAGE;
    }
    if (!sweep_json_can_keep(ask->target)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "the target is not UTF-8, and cannot be kept for --resume");
        return EXIT_CODE_USAGE;
    }
    return EXIT_CODE_OK;
}

enum exit_code sweep_ask(struct sweep_ask *ask, struct error *error)
{
    enum exit_code code = EXIT_CODE_OK;
    if (ask->options.resume != NULL) {
        code = ask_again(ask, error);
    } else if (ask->options.is_retrying_failed) {
        error_set(error, ERROR_USAGE, 0, NULL, "--retry-failed goes with --resume DIR only");
        code = EXIT_CODE_USAGE;
    }
    if (code == EXIT_CODE_OK) {
        code = check_options(&ask->options, error);
    }
    if (code == EXIT_CODE_OK) {
        code = collect_words(ask, error);
    }
    if (code == EXIT_CODE_OK) {
        code = make_plans(ask, error);
    }
    if (code == EXIT_CODE_OK) {
        code = settle_target(ask, error);
    }
    if (code == EXIT_CODE_OK && !ask->is_resumed) {
        code = name_folder(ask, error);
    }
    return code;
}

void sweep_ask_fini(struct sweep_ask *ask)
{
    for (size_t i = 0; i < ask->word_count; i++) {
        free(ask->words[i]);
    }
    plan_fini(&ask->plan);
    for (size_t i = 0; ask->argv != NULL && ask->argv[i] != NULL; i++) {
        free(ask->argv[i]);
    }
    free(ask->argv);
    free(ask->request.words);
    saved_sweep_free(&ask->saved);
}

static enum exit_code probe(const struct plan *plan, bool *is_there, struct error *error)
{
    const struct adapter *adapter = plan->adapter;
    if (adapter->init != NULL && adapter->init(error) != STATUS_OK) {
        return EXIT_CODE_INTERNAL;
    }
    const enum exit_code code = table_probe(plan, is_there, error);
    if (adapter->fini != NULL) {
        adapter->fini();
    }
    return code;
}

/* Neither --recreate nor --keep-rows was given: only a table that the sweep makes itself may be
 * made anew. */
static enum exit_code choose_made(const struct plan *plan, bool is_there, struct error *error)
{
    const bool can_make = plan->is_default_table || plan->ddl != NULL;
    if (is_there) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "table '%.60s' is there already: %s--keep-rows lets every run add to it",
                  plan->table_name,
                  can_make ? "--recreate lets the sweep drop it before each run, " : "");
        return EXIT_CODE_USAGE;
    }
    if (!can_make) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "there is no table '%.60s', and no --schema-file FILE to make it with",
                  plan->table_name);
        return EXIT_CODE_SERVER;
    }
    return EXIT_CODE_OK;
}

enum exit_code sweep_ask_table(const struct sweep_ask *ask, struct sweep *sweep,
                               struct error *error)
{
    const struct plan *plan = &ask->plan;
    const bool has_none = (plan->adapter->flags & ADAPTER_DISCARDS) != 0;
    const bool has_own = plan->owned_path != NULL;
    if (has_none || has_own) {
        sweep->table = has_none ? SWEEP_TABLE_NONE : SWEEP_TABLE_OWN;
        if (ask->options.is_keeping_rows) {
            error_set(error, ERROR_USAGE, 0, NULL, "--keep-rows does not apply: %s",
                      sweep_table_phrase(sweep->table));
            return EXIT_CODE_USAGE;
        }
        return EXIT_CODE_OK;
    }
    bool is_there = false;
    const enum exit_code code = probe(plan, &is_there, error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    sweep->table = ask->options.config.is_recreate ? SWEEP_TABLE_RECREATED
                   : ask->options.is_keeping_rows  ? SWEEP_TABLE_KEPT
                                                   : SWEEP_TABLE_MADE;
    /* once begun, the table is the sweep's own */
    return sweep->table == SWEEP_TABLE_MADE && !sweep->has_begun
               ? choose_made(plan, is_there, error)
               : EXIT_CODE_OK;
}
