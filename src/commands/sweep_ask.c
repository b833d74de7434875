/* What a sweep is asked for: its options, its plans, and which rows its runs are to find. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mono.h"
#include "commands/command.h"
#include "commands/sweep.h"
#include "load/setup.h"
#include "plan/options.h"
#include "plan/target.h"
#include "report/expectations.h"

static enum exit_code out_of_memory(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the options of a sweep");
    return EXIT_CODE_CLIENT_LIMIT;
}

/* "--batch=50"; NULL: out of memory. */
static char *word_of(const struct given_option *option)
{
    const char *value = option->value == NULL ? "" : option->value;
    const size_t size = strlen(option->entry->name) + strlen(value) + sizeof "--=";
    char *word = malloc(size);
    if (word != NULL) {
        snprintf(word, size, "--%s%s%s", option->entry->name, option->value == NULL ? "" : "=",
                 value);
    }
    return word;
}

/* False: the text cannot be kept in JSON, as it is not UTF-8. */
static bool can_keep(const char *text)
{
    json_t *json = json_string(text);
    const bool can = json != NULL;
    json_decref(json);
    return can;
}

static enum exit_code collect_words(struct sweep *sweep, struct error *error)
{
    for (size_t i = 0; i < sweep->given.given_count; i++) {
        const struct given_option *option = &sweep->given.given[i];
        if (option->entry->scope == OPTION_OF_CALL) {
            continue;
        }
        char *word = word_of(option);
        if (word == NULL) {
            return out_of_memory(error);
        }
        sweep->is_for_runs[sweep->word_count] = option->entry->scope != OPTION_OF_SWEEP;
        sweep->words[sweep->word_count++] = word;
        if (!can_keep(word)) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "--%s has a value that is not UTF-8, which cannot be kept for --resume",
                      option->entry->name);
            return EXIT_CODE_USAGE;
        }
    }
    return EXIT_CODE_OK;
}

/* A sweep that resumes. */

static const char *saved_text(const struct sweep *sweep, const char *key)
{
    return json_string_value(json_object_get(sweep->results.json, key));
}

static enum exit_code refuse(const struct sweep *sweep, const char *what, struct error *error)
{
    error_set(error, ERROR_DATA, 0, NULL, "%.120s/sweep.json %s", sweep->results.folder, what);
    return EXIT_CODE_USAGE;
}

/* Reads what the sweep was asked for. */
static enum exit_code read_request(struct sweep *sweep, struct error *error)
{
    if (saved_sweep_read(&sweep->results, sweep->given.resume, error) != STATUS_OK) {
        return error->kind == ERROR_MEMORY ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_USAGE;
    }
    if (!sweep->results.is_own) {
        error_set(
            error, ERROR_USAGE, 0, NULL,
            "'%.140s' or its sweep.json belongs to another user, whose options --resume would "
            "run: read sweep.json, then resume a copy of yours (cp -r)",
            sweep->results.folder);
        return EXIT_CODE_USAGE;
    }
    const char *version = saved_text(sweep, "append_version");
    if (version == NULL || strcmp(version, APPEND_VERSION) != 0) {
        char what[120];
        snprintf(what, sizeof what,
                 "is of append %.20s, this is %s: figures of two versions are not put together",
                 version == NULL ? "?" : version, APPEND_VERSION);
        return refuse(sweep, what, error);
    }
    const json_t *words = json_object_get(sweep->results.json, "options");
    if (!json_is_array(words) || saved_text(sweep, "working_folder") == NULL) {
        return refuse(sweep, "does not say what the sweep was asked for", error);
    }
    for (size_t i = 0; i < json_array_size(words); i++) {
        if (!json_is_string(json_array_get(words, i))) {
            return refuse(sweep, "has an option that is no text", error);
        }
    }
    return EXIT_CODE_OK;
}

/* Option `index` that the sweep was started with; NULL: there are no more. */
static const char *saved_word(const struct sweep *sweep, size_t index)
{
    const json_t *words = json_object_get(sweep->results.json, "options");
    return json_string_value(json_array_get(words, index));
}

/* The saved word with the same option; NULL: it was not given. */
static const char *find_option(const struct sweep *sweep, const char *word)
{
    const size_t length = strcspn(word, "=");
    const char *saved;
    for (size_t i = 0; (saved = saved_word(sweep, i)) != NULL; i++) {
        if (strncmp(saved, word, length) == 0 && strchr("=", saved[length]) != NULL) {
            return saved;
        }
    }
    return NULL;
}

/* With --resume it may be another than the sweep was started with. */
static bool is_replaceable(const struct option_entry *entry)
{
    return entry->scope == OPTION_OF_CALL || entry->scope == OPTION_OF_PLACE;
}

/* Any other option that comes with --resume must be the one of the sweep. */
static enum exit_code compare_options(const struct sweep *sweep, struct error *error)
{
    const struct plan *given = &sweep->given;
    for (size_t i = 0; i < given->given_count; i++) {
        const struct given_option *option = &given->given[i];
        if (strcmp(option->entry->name, "out") == 0) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "--out does not go with --resume: the sweep stays in its folder");
            return EXIT_CODE_USAGE;
        }
        if (is_replaceable(option->entry)) {
            continue;
        }
        char *word = word_of(option);
        if (word == NULL) {
            return out_of_memory(error);
        }
        bool is_same = false;
        const char *saved;
        for (size_t w = 0; (saved = saved_word(sweep, w)) != NULL && !is_same; w++) {
            is_same = strcmp(saved, word) == 0;
        }
        saved = find_option(sweep, word);
        if (!is_same) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "%.70s is not what the sweep was started with (%s%.60s): leave it out", word,
                      saved == NULL ? "no such option" : "", saved == NULL ? "" : saved);
        }
        free(word);
        if (!is_same) {
            return EXIT_CODE_USAGE;
        }
    }
    return EXIT_CODE_OK;
}

/* True when `word` is of an option that was given again, and may be. */
static bool is_replaced(const char *word, const struct plan *given)
{
    const size_t length = strcspn(word, "=");
    for (size_t i = 0; i < given->given_count; i++) {
        const char *name = given->given[i].entry->name;
        if (is_replaceable(given->given[i].entry) && strlen(name) + 2 == length &&
            strncmp(word + 2, name, length - 2) == 0) {
            return true;
        }
    }
    return false;
}

/* The saved command line, with what was given in place of it now, for getopt, which wants texts of
 * its own. 0: out of memory. */
static int copy_command_line(struct sweep *sweep, const char *target)
{
    const struct plan *given = &sweep->given;
    const size_t saved = json_array_size(json_object_get(sweep->results.json, "options"));
    sweep->argv = calloc(saved + given->given_count + 3, sizeof *sweep->argv);
    if (sweep->argv == NULL || (sweep->argv[0] = strdup("sweep")) == NULL) {
        return 0;
    }
    int count = 1;
    for (size_t i = 0; i < saved; i++) {
        if (!is_replaced(saved_word(sweep, i), given) &&
            (sweep->argv[count++] = strdup(saved_word(sweep, i))) == NULL) {
            return 0;
        }
    }
    for (size_t i = 0; i < given->given_count; i++) {
        if (is_replaceable(given->given[i].entry) &&
            (sweep->argv[count++] = word_of(&given->given[i])) == NULL) {
            return 0;
        }
    }
    if (target != NULL && (sweep->argv[count++] = strdup(target)) == NULL) {
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
static bool is_place_saved(const struct sweep *sweep)
{
    const struct plan *given = &sweep->given;
    return (given->target_given == NULL && given->target.port == 0) ||
           (given->target.host == NULL && find_option(sweep, "--host") != NULL) ||
           (given->target.port == 0 && find_option(sweep, "--port") != NULL);
}

/* Reads the saved command line into sweep->given. */
static enum exit_code ask_again(struct sweep *sweep, bool *is_saved, struct error *error)
{
    sweep->is_resumed = true;
    enum exit_code code = read_request(sweep, error);
    if (code == EXIT_CODE_OK) {
        code = compare_options(sweep, error);
    }
    if (code != EXIT_CODE_OK) {
        return code;
    }
    const char *target = sweep->given.target_given;
    const char *saved = saved_text(sweep, "target_given");
    if (json_is_true(json_object_get(sweep->results.json, "target_has_password")) &&
        target == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "the sweep's target (%.100s) is not kept with its password: give TARGET again",
                  saved);
        return EXIT_CODE_USAGE;
    }
    /* relative paths of the options begin where the sweep was started */
    const char *there = saved_text(sweep, "working_folder");
    if (strcmp(sweep->working_folder, there) != 0) {
        error_set(error, ERROR_USAGE, 0, NULL, "the sweep was started in '%.160s': resume it there",
                  there);
        return EXIT_CODE_USAGE;
    }
    *is_saved = is_place_saved(sweep);
    const int count = copy_command_line(sweep, target == NULL ? saved : target);
    if (count == 0) {
        return out_of_memory(error);
    }
    return options_parse(&sweep->given, command_form_of(COMMAND_SWEEP), count, sweep->argv,
                         error) == STATUS_OK
               ? EXIT_CODE_OK
               : EXIT_CODE_USAGE;
}

static bool has_list(const uint64_t *values, size_t count, const struct sweep_list *list)
{
    return count == list->count && memcmp(values, list->values, count * sizeof *values) == 0;
}

/* A run that is not over is run again; so is one whose folder is gone, and with --retry-failed one
 * that failed. */
static enum exit_code take_over(struct sweep *sweep, struct error *error)
{
    struct saved_sweep *results = &sweep->results;
    const char *table = saved_text(sweep, "table");
    const char *started = saved_text(sweep, "started_utc");
    int known = 0;
    while (table != NULL && known < SWEEP_TABLES &&
           strcmp(table, sweep_table_name((enum sweep_table)known)) != 0) {
        known++;
    }
    if (table == NULL || known == SWEEP_TABLES || results->repeat != sweep->given.sweep_repeat ||
        !has_list(results->sessions, results->sessions_count, &sweep->given.sweep_sessions) ||
        !has_list(results->records, results->records_count, &sweep->given.sweep_records)) {
        return refuse(sweep, "has other runs than its options ask for", error);
    }
    sweep->table = (enum sweep_table)known;
    sweep->has_begun = json_is_true(json_object_get(results->json, "has_begun"));
    snprintf(sweep->started_utc, sizeof sweep->started_utc, "%s", started == NULL ? "" : started);
    for (size_t i = 0; i < results->run_count; i++) {
        struct saved_sweep_run *run = &results->runs[i];
        char path[SWEEP_PATH_BYTES];
        snprintf(path, sizeof path, "%s/%s/summary.csv", results->folder, run->name);
        const bool is_gone = run->state == SAVED_DONE && (!run->has_row || access(path, R_OK) != 0);
        const bool is_retried = run->state == SAVED_FAILED && sweep->given.is_retrying_failed;
        if (is_gone || is_retried || run->state == SAVED_PENDING) {
            run->state = SAVED_PENDING;
            run->has_row = false;
            run->reason[0] = '\0';
        }
    }
    return EXIT_CODE_OK;
}

static enum exit_code check_options(const struct plan *given, struct error *error)
{
    struct expectations expectations;
    if (expectations_parse(&expectations, &given->expected, error) != STATUS_OK) {
        return EXIT_CODE_USAGE;
    }
    if (given->sweep_sessions.count == 0 || given->sweep_records.count == 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "a sweep needs --sessions N,N,... and --records N,N,..., or --resume DIR: see "
                  "append sweep --help");
    } else if (given->is_keeping_rows && given->is_recreate) {
        error_set(error, ERROR_USAGE, 0, NULL, "--keep-rows contradicts --recreate");
    } else if (given->is_seed_given && given->verify_mode == VERIFY_ROWS &&
               given->is_keeping_rows) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--seed gives all runs the same rows, which --verify rows cannot tell apart "
                  "with --keep-rows: leave --seed out");
    } else {
        return EXIT_CODE_OK;
    }
    return EXIT_CODE_USAGE;
}

/* Who listens on a port is asked once, for the first plan. */
static enum exit_code make_plan(const struct sweep *sweep, size_t cell, struct plan *plan,
                                struct error *error)
{
    const struct sweep_list *sessions = &sweep->given.sweep_sessions;
    const struct adapter *known = sweep->plan.adapter;
    *plan = sweep->given;
    plan->adapter_name = known == NULL ? plan->adapter_name : known->name;
    plan->sessions = (unsigned)sessions->values[cell % sessions->count];
    plan->records = sweep->given.sweep_records.values[cell / sessions->count];
    return plan_make(plan, error);
}

/* A plan for every run, of which the first is kept. */
static enum exit_code make_plans(struct sweep *sweep, struct error *error)
{
    const size_t cells = sweep->given.sweep_sessions.count * sweep->given.sweep_records.count;
    enum exit_code code = make_plan(sweep, 0, &sweep->plan, error);
    for (size_t i = 1; i < cells && code == EXIT_CODE_OK; i++) {
        struct plan other;
        code = make_plan(sweep, i, &other, error);
        plan_fini(&other);
    }
    return code;
}

static enum exit_code settle_target(struct sweep *sweep, bool is_saved, struct error *error)
{
    const char *target = sweep->given.target_given;
    if (target != NULL) {
        target_redact(target, sweep->target, sizeof sweep->target);
    }
    sweep->has_secret = target != NULL && strcmp(target, sweep->target) != 0;
    const char *variable = is_saved ? find_password_variable() : NULL;
    const char *before = saved_text(sweep, "target_given");
    const char *adapter = saved_text(sweep, "adapter");
    before = before == NULL ? "" : before;
    if (variable != NULL && (sweep->plan.adapter->flags & ADAPTER_EMBEDDED) == 0) {
        error_set(
            error, ERROR_USAGE, 0, NULL,
            "the password in %s would go to %.100s, which sweep.json names: give TARGET again%s",
            variable, sweep->plan.display_target,
            find_option(sweep, "--host") != NULL || find_option(sweep, "--port") != NULL
                ? " (--host, --port)"
                : "");
    } else if (sweep->is_resumed &&
               (adapter == NULL || strcmp(adapter, sweep->plan.adapter->name) != 0)) {
        error_set(error, ERROR_USAGE, 0, NULL, "the sweep was started on %.40s, this is %s",
                  adapter == NULL ? "?" : adapter, sweep->plan.adapter->name);
    } else if (sweep->is_resumed && strcmp(before, sweep->target) != 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "target %.80s is not that of the sweep (%.80s): leave it out", sweep->target,
                  before);
    } else if (!can_keep(sweep->target)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "the target is not UTF-8, and cannot be kept for --resume");
    } else {
        return EXIT_CODE_OK;
    }
    return EXIT_CODE_USAGE;
}

/* The runs of a sweep that begins, in a folder that without --out has the name that a run would
 * have, with "sweep" for its sessions and records. */
static enum exit_code make_runs(struct sweep *sweep, struct error *error)
{
    struct saved_sweep *results = &sweep->results;
    const struct plan *given = &sweep->given;
    const size_t room = sizeof results->folder - 64 - SAVED_SWEEP_NAME_BYTES; /* as a run has it */
    const char *path = sweep->plan.out_folder;
    const char *extent = given->out != NULL ? NULL : strrchr(path, '-');
    snprintf(results->folder, sizeof results->folder, "%.*s%s",
             (int)(extent == NULL ? strlen(path) : (size_t)(extent - path)), path,
             extent == NULL ? "" : "-sweep");
    if (strlen(results->folder) >= room) {
        error_set(error, ERROR_USAGE, 0, NULL, "--out must be a path of 1 to %zu bytes", room - 1);
        return EXIT_CODE_USAGE;
    }
    results->sessions_count = given->sweep_sessions.count;
    results->records_count = given->sweep_records.count;
    results->repeat = (unsigned)given->sweep_repeat;
    memcpy(results->sessions, given->sweep_sessions.values, sizeof results->sessions);
    memcpy(results->records, given->sweep_records.values, sizeof results->records);
    mono_format_utc(mono_wall_ns(), sweep->started_utc, sizeof sweep->started_utc);
    return saved_sweep_make_runs(results, error) == STATUS_OK ? EXIT_CODE_OK
                                                              : EXIT_CODE_CLIENT_LIMIT;
}

enum exit_code sweep_ask(struct sweep *sweep, struct error *error)
{
    bool is_saved = false; /* a part of where it connects to is known from its folder only */
    enum exit_code code = EXIT_CODE_OK;
    if (getcwd(sweep->working_folder, sizeof sweep->working_folder) == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "this folder cannot be named: it is gone, or its path is too long");
        code = EXIT_CODE_USAGE;
    } else if (sweep->given.resume != NULL) {
        code = ask_again(sweep, &is_saved, error);
    } else if (sweep->given.is_retrying_failed) {
        error_set(error, ERROR_USAGE, 0, NULL, "--retry-failed goes with --resume DIR only");
        code = EXIT_CODE_USAGE;
    }
    if (code == EXIT_CODE_OK) {
        code = check_options(&sweep->given, error);
    }
    if (code == EXIT_CODE_OK) {
        code = collect_words(sweep, error);
    }
    if (code == EXIT_CODE_OK) {
        code = make_plans(sweep, error);
    }
    if (code == EXIT_CODE_OK) {
        code = settle_target(sweep, is_saved, error);
    }
    if (code == EXIT_CODE_OK) {
        code = sweep->is_resumed ? take_over(sweep, error) : make_runs(sweep, error);
    }
    return code;
}

static enum exit_code probe(const struct plan *plan, bool *is_there, struct error *error)
{
    const struct adapter *adapter = plan->adapter;
    struct adapter_library *library = NULL;
    if (adapter->start != NULL &&
        adapter->start(plan->target.client_lib, &library, error) != STATUS_OK) {
        return setup_exit_code(error);
    }
    struct plan with_library = *plan;
    with_library.target.library = library;
    const enum exit_code code = setup_find_table(&with_library, is_there, error);
    if (adapter->stop != NULL) {
        adapter->stop(library);
    }
    return code;
}

/* Neither --recreate nor --keep-rows was given: only a table that the sweep makes itself may be
 * recreated. */
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

enum exit_code sweep_ask_table(struct sweep *sweep, struct error *error)
{
    const struct plan *plan = &sweep->plan;
    const bool has_none = (plan->adapter->flags & ADAPTER_DISCARDS) != 0;
    const bool has_own = plan->owned_path != NULL;
    if (has_none || has_own) {
        sweep->table = has_none ? SWEEP_TABLE_NONE : SWEEP_TABLE_OWN;
        if (sweep->given.is_keeping_rows) {
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
    sweep->table = sweep->given.is_recreate       ? SWEEP_TABLE_RECREATED
                   : sweep->given.is_keeping_rows ? SWEEP_TABLE_KEPT
                                                  : SWEEP_TABLE_MADE;
    /* once begun, the table is the sweep's own */
    return sweep->table == SWEEP_TABLE_MADE && !sweep->has_begun
               ? choose_made(plan, is_there, error)
               : EXIT_CODE_OK;
}
