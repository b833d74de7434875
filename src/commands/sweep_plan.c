#include "commands/sweep.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/rank_exchange.h"
#include "report/conditions.h"
#include "report/expectations.h"

/* Writes an option as on the command line, such as "--batch=50", and shortens it to fit into
 * `size`. Returns `text`. */
static const char *format_word(const struct given_option *option, char *text, size_t size)
{
    const bool has_value = option->value != NULL;
    snprintf(text, size, "--%s%s%s", option->entry->name, has_value ? "=" : "",
             has_value ? option->value : "");
    return text;
}

/* Returns the first given option with this name, or NULL if the option was not given. */
static const struct given_option *find_given(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->given_count; i++) {
        if (strcmp(plan->given[i].entry->name, name) == 0) {
            return &plan->given[i];
        }
    }
    return NULL;
}

/* Returns whether the user may give the option a new value when the sweep resumes. */
static bool is_replaceable(const struct option_entry *entry)
{
    return entry->scope == OPTION_OF_CALL || entry->scope == OPTION_OF_PLACE;
}

/* Returns the text that sweep.json has for `key`, or `missing` if it lacks this text. */
static const char *saved_text(const struct sweep *sweep, const char *key, const char *missing)
{
    const char *text = json_string_value(json_object_get(sweep->results.json, key));
    return text == NULL ? missing : text;
}

/* Refuses to resume, with the error "FOLDER/sweep.json <what>". */
static enum exit_code refuse(const struct sweep *sweep, const char *what, struct error *error)
{
    error_set(error, ERROR_DATA, 0, NULL, "%.120s/sweep.json %s", sweep->results.folder, what);
    return EXIT_CODE_USAGE;
}

/* Locks the folder of a sweep that resumes, and then reads it. The lock ensures that no other
 * process still runs this sweep: that process could end runs that this call has read as pending. */
static enum exit_code read_folder(struct sweep *sweep, const char *folder, struct error *error)
{
    struct error unlocked = {0};
    const enum exit_code code = sweep_lock_folder(sweep, folder, &unlocked);
    const bool is_open = sweep->lock >= 0;
    /* also read a folder that cannot be opened: saved_sweep_read then reports that it is not a
     * sweep's folder */
    if ((!is_open || code == EXIT_CODE_OK) &&
        saved_sweep_read(&sweep->results, folder, error) != STATUS_OK) {
        return error->kind == ERROR_MEMORY ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_USAGE;
    }
    if (code != EXIT_CODE_OK) {
        *error = unlocked;
    }
    return code;
}

/* Reads the folder of a sweep that resumes, and sets sweep->given to the options of the sweep's
 * start, with the new values that this call gives. */
static enum exit_code restore_options(struct sweep *sweep, struct error *error)
{
    struct saved_sweep *results = &sweep->results;
    const struct plan now = sweep->given;
    enum exit_code code = read_folder(sweep, now.sweep.resume, error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    if (!results->is_own) {
        return usage_refuse(
            error,
            "'%.100s' or its sweep.json belongs to another user, and append would use that user's "
            "options: check sweep.json, then resume a copy of the folder (cp -r)",
            results->folder);
    }
    const char *version = saved_text(sweep, "append_version", "?");
    if (strcmp(version, APPEND_VERSION) != 0) {
        char what[120];
        snprintf(what, sizeof what,
                 "was written by append %.20s, but this is append %s: resume with the version that "
                 "wrote it",
                 version, APPEND_VERSION);
        return refuse(sweep, what, error);
    }
    const json_t *words = json_object_get(results->json, "options");
    const char *there = saved_text(sweep, "working_folder", NULL);
    const char *target = saved_text(sweep, "target_given", NULL);
    if (!json_is_array(words) || there == NULL) {
        return refuse(sweep, "lacks the sweep's options", error);
    }
    if (strcmp(sweep->working_folder, there) != 0) {
        return usage_refuse(error, "the sweep was started in folder '%.160s': resume it there",
                            there);
    }
    if (json_is_true(json_object_get(results->json, "target_has_password")) &&
        now.target_given == NULL) {
        return usage_refuse(
            error, "the password of the sweep's target (%.100s) is not saved: give TARGET again",
            target);
    }
    /* take the saved options, except replaceable options that this call gives again */
    struct plan *given = &sweep->given;
    options_init(given, COMMAND_SWEEP);
    given->is_json = now.is_json; /* needed to report errors in the options below */
    given->target_given = now.target_given == NULL ? target : now.target_given;
    for (size_t i = 0; i < json_array_size(words) && code == EXIT_CODE_OK; i++) {
        const char *word = json_string_value(json_array_get(words, i));
        if (word == NULL) {
            return refuse(sweep, "has an option that is not a text", error);
        }
        char name[40] = "";
        sscanf(word, "--%39[^=]", name);
        const char *value = strchr(word, '=') == NULL ? NULL : strchr(word, '=') + 1;
        const struct option_entry *entry = option_find(name, COMMAND_SWEEP);
        if (entry == NULL ||
            (value == NULL ? !option_may_stand_alone(entry) : entry->argument == NULL)) {
            return refuse(sweep, "has an option that a sweep does not take", error);
        }
        if (!is_replaceable(entry) || find_given(&now, name) == NULL) {
            code = option_take(given, entry, value, error);
        }
    }
    /* Take the new values of replaceable options. Also take --recreate=NAMES, which a sweep needs
     * if it resumes on a database that cannot mark the tables that this program creates. Any other
     * option must be the same as at the sweep's start. */
    const size_t count = given->given_count;
    for (size_t i = 0; i < now.given_count && code == EXIT_CODE_OK; i++) {
        const struct given_option *option = &now.given[i];
        bool is_same = false;
        if (strcmp(option->entry->name, "out") == 0) {
            return usage_refuse(error, "--out contradicts --resume: the sweep stays in its folder");
        }
        if (option_is_password(option->entry)) { /* now.password has its content */
            code = option_record(given, option->entry, option->value, error);
            memcpy(given->password, now.password, sizeof given->password);
            continue;
        }
        const bool names_tables = strcmp(option->entry->name, "recreate") == 0 &&
                                  option->value != NULL && find_given(given, "recreate") == NULL;
        if (is_replaceable(option->entry) || names_tables) {
            code = option_take(given, option->entry, option->value, error);
            continue;
        }
        for (size_t w = 0; w < count && !is_same; w++) {
            const char *const a = given->given[w].value, *const b = option->value;
            is_same = given->given[w].entry == option->entry &&
                      (a == NULL || b == NULL ? a == b : strcmp(a, b) == 0);
        }
        if (!is_same) {
            const struct given_option *before = find_given(given, option->entry->name);
            char word[71], was[61];
            return usage_refuse(error, "%s differs from the sweep's options (%s): leave it out",
                                format_word(option, word, sizeof word),
                                before == NULL ? "not given"
                                               : format_word(before, was, sizeof was));
        }
    }
    const bool has_host = find_given(given, "host") != NULL;
    const bool has_port = find_given(given, "port") != NULL;
    if ((now.target_given == NULL && now.target.port == 0) ||
        (now.target.host == NULL && has_host) || (now.target.port == 0 && has_port)) {
        sweep->place = has_host || has_port ? "TARGET again (--host, --port)" : "TARGET again";
    }
    return code;
}

/* Restores the runs of a sweep that resumes. Pending runs, and done runs whose results are missing,
 * will run again. With --retry-failed, failed runs will also run again. */
static enum exit_code restore_runs(struct sweep *sweep, struct error *error)
{
    struct saved_sweep *results = &sweep->results;
    const struct sweep_list *sessions = &sweep->given.sweep.sessions;
    const struct sweep_list *records = &sweep->given.sweep.records;
    const char *table = saved_text(sweep, "table", "");
    int known = 0;
    while (known < TABLES && strcmp(table, sweep_tables[known].name) != 0) {
        known++;
    }
    if (known == TABLES || results->repeat != sweep->given.sweep.repeat ||
        results->sessions_count != sessions->count || results->records_count != records->count ||
        memcmp(&results->variants, &sweep->variants, sizeof results->variants) != 0 ||
        memcmp(results->sessions, sessions->values, sessions->count * sizeof(uint64_t)) != 0 ||
        memcmp(results->records, records->values, records->count * sizeof(uint64_t)) != 0) {
        return refuse(sweep, "lists runs that do not match its options", error);
    }
    const json_t *saved = json_object_get(results->json, "ranks");
    const unsigned ranks = saved == NULL ? 1 : (unsigned)json_integer_value(saved);
    if (ranks != ranks_count(sweep->ranks)) {
        return usage_refuse(
            error, "the sweep was started on %u %s, not %u: start the same number of ranks", ranks,
            units_plural(ranks, "rank", "ranks"), ranks_count(sweep->ranks));
    }
    sweep->table = (enum sweep_table)known;
    sweep->has_begun = json_is_true(json_object_get(results->json, "has_begun"));
    snprintf(sweep->started_utc, sizeof sweep->started_utc, "%s",
             saved_text(sweep, "started_utc", ""));
    for (size_t i = 0; i < results->run_count; i++) {
        struct saved_sweep_run *run = &results->runs[i];
        char path[PATH_BYTES];
        sweep_path(sweep, run, "/summary.csv", path);
        const bool is_gone = run->state == SAVED_DONE && (!run->has_row || access(path, R_OK) != 0);
        const bool is_retried = run->state == SAVED_FAILED && sweep->given.sweep.is_retrying_failed;
        if (is_gone || is_retried || run->state == SAVED_PENDING) {
            run->state = SAVED_PENDING;
            run->has_row = false;
            run->reason[0] = '\0';
        }
    }
    return EXIT_CODE_OK;
}

/* Returns whether one of the first `count` texts sets the parameter `name`, which has `length`
 * bytes. A text is, for example, "a=1,b=x". */
static bool is_given(const struct plan_texts *texts, size_t count, const char *name, size_t length)
{
    bool is_found = false;
    for (size_t i = 0; i < count; i++) {
        for (const char *at = texts->texts[i]; at != NULL && !is_found; at = strchr(at, ',')) {
            at += *at == ',' ? 1 : 0;
            is_found = strncmp(at, name, length) == 0 && at[length] == '=';
        }
    }
    return is_found;
}

/* Makes the variants of --vary, such as "a=1,b=x": all combinations of the values of the
 * parameters. */
static enum exit_code make_variants(struct saved_variants *variants, const struct plan *given,
                                    struct error *error)
{
    const struct plan_texts *const varied = &given->sweep.varied;
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+-=,";
    variants->count = 1;
    for (size_t i = 0; i < varied->count; i++) {
        const struct saved_variants before = *variants;
        const char *text = varied->texts[i];
        const size_t name = strcspn(text, "=");
        bool is_valid = name > 0 && text[name] == '=' && strspn(text, allowed) == strlen(text);
        *variants = (struct saved_variants){.count = 0};
        for (size_t b = 0; b < before.count && is_valid; b++) {
            for (const char *at = text + name; *at != '\0' && is_valid;) {
                const size_t length = strcspn(++at, ",");
                char *to = variants->texts[variants->count % SAVED_SWEEP_LIST_MAX];
                if (variants->count++ == SAVED_SWEEP_LIST_MAX) {
                    return usage_refuse(error, "--vary gives more than %d variants",
                                        SAVED_SWEEP_LIST_MAX);
                }
                if (snprintf(to, sizeof variants->texts[0], "%s%s%.*s=%.*s", before.texts[b],
                             i > 0 ? "," : "", (int)name, text, (int)length,
                             at) >= (int)sizeof variants->texts[0]) {
                    return usage_refuse(error, "--vary: %.40s… is longer than %d bytes", to,
                                        SAVED_SWEEP_VARIANT_BYTES - 1);
                }
                is_valid = length > 0;
                at += length;
            }
        }
        if (is_valid && (is_given(varied, i, text, name) ||
                         is_given(&given->sets, given->sets.count, text, name))) {
            return usage_refuse(
                error, "--vary '%.60s': give a parameter only once, by --vary or --set", text);
        }
        if (!is_valid) {
            return usage_refuse(error,
                                "--vary '%.60s' is not NAME=A,B,... of letters, digits, '_', '.', "
                                "'+' and '-' (values become part of the folders' names)",
                                text);
        }
    }
    return EXIT_CODE_OK;
}

/* Loads the script with each variant, and checks that no two variants give the same parameters.
 * Must be called before the first connection. */
static enum exit_code check_variants(struct sweep *sweep, struct error *error)
{
    const struct plan *given = &sweep->given;
    const struct saved_variants *variants = &sweep->variants;
    char hashes[SAVED_SWEEP_LIST_MAX][sizeof((const struct script *)NULL)->hash];
    uint64_t shape = 0;
    if (given->sweep.varied.count > 0 && given->sets.count == PLAN_TEXTS_MAX) {
        return usage_refuse(error, "with --vary, --set can be given at most %d times",
                            PLAN_TEXTS_MAX - 1);
    }
    for (size_t i = 0; i < variants->count && given->sweep.varied.count > 0; i++) {
        struct plan plan = *given;
        /* put the variant before all --set options, because the last value of a parameter takes
         * precedence */
        plan.sets.texts[plan.sets.count++] = plan.sets.texts[0];
        plan.sets.texts[0] = variants->texts[i];
        const enum exit_code code = plan_load_script(&plan, error);
        if (code == EXIT_CODE_OK) {
            memcpy(hashes[i], plan.script->hash, sizeof hashes[i]);
            shape = i == 0 ? plan.script->shape : shape;
            if (sweep->other_shape == 0 && plan.script->shape != shape) {
                sweep->other_shape = i;
            }
        }
        script_destroy(plan.script);
        if (code != EXIT_CODE_OK) {
            return code;
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(hashes[i], hashes[j]) == 0) {
                return usage_refuse(
                    error,
                    "--vary: runs %s and %s of %.60s would have the same parameters: name each "
                    "parameter in only one --vary or --set, and give no value twice",
                    variants->texts[j], variants->texts[i], given->workload);
            }
        }
    }
    return given->sweep.is_keeping_rows && sweep->other_shape > 0
               ? usage_refuse(
                     error,
                     "--keep-rows: %.60s declares different tables with %s and with %s: use "
                     "--recreate, which creates them again before each run",
                     given->workload, variants->texts[sweep->other_shape], variants->texts[0])
               : EXIT_CODE_OK;
}

/* Makes the plans of all runs to find errors, keeps the first plan, and checks the target. */
static enum exit_code make_plans(struct sweep *sweep, struct error *error)
{
    const struct plan *given = &sweep->given;
    const struct sweep_list *sessions = &given->sweep.sessions, *records = &given->sweep.records;
    const struct saved_variants *variants = &sweep->variants;
    for (size_t i = 0; i < sessions->count * records->count * variants->count; i++) {
        struct plan other = *given, *plan = i == 0 ? &sweep->plan : &other;
        *plan = other;
        /* the first plan finds the adapter for the server on a port; the other plans use this
         * adapter */
        plan->adapter_name = i == 0 ? given->adapter_name : sweep->plan.adapter->name;
        plan->sessions = (unsigned)sessions->values[i % sessions->count];
        plan->records = records->values[i / sessions->count % records->count];
        if (given->sweep.varied.count > 0) {
            plan->sets.texts[plan->sets.count++] =
                variants->texts[i / sessions->count / records->count];
        }
        struct facts facts;
        const enum exit_code code = plan_make(plan, i == 0 ? &sweep->facts : &facts, error);
        if (i > 0) {
            plan_fini(plan);
        }
        if (code != EXIT_CODE_OK) {
            return code;
        }
    }
    const char *target = given->target_given, *adapter = sweep->plan.adapter->name;
    if (target != NULL) {
        target_redact(target, sweep->target, sizeof sweep->target);
    }
    sweep->has_secret = target != NULL && strcmp(target, sweep->target) != 0;
    /* a password from the environment must not go to a target that only sweep.json names */
    static const char *const variables[] = {"APPEND_PASSWORD", "PGPASSWORD", "MYSQL_PWD"};
    for (size_t i = 0; i < COUNT_OF(variables) && sweep->place != NULL; i++) {
        if (getenv(variables[i]) != NULL && (sweep->plan.adapter->flags & ADAPTER_EMBEDDED) == 0) {
            return usage_refuse(error,
                                "the password in %s would go to %.100s, which only sweep.json "
                                "names: to allow this, give %s",
                                variables[i], sweep->plan.display_target, sweep->place);
        }
    }
    const char *before = saved_text(sweep, "target_given", "");
    const char *adapter_before = saved_text(sweep, "adapter", "?");
    if (sweep->given.sweep.resume != NULL && strcmp(adapter_before, adapter) != 0) {
        return usage_refuse(
            error, "the sweep was started on %.40s, but TARGET is %s: give the sweep's TARGET",
            adapter_before, adapter);
    }
    if (sweep->given.sweep.resume != NULL && strcmp(before, sweep->target) != 0) {
        return usage_refuse(error,
                            "target %.80s is not the sweep's target (%.80s): leave TARGET out",
                            sweep->target, before);
    }
    return EXIT_CODE_OK;
}

enum exit_code sweep_make_plan(struct sweep *sweep, struct error *error)
{
    const struct plan *given = &sweep->given;
    struct expectations expectations;
    struct conditions conditions;
    if (getcwd(sweep->working_folder, sizeof sweep->working_folder) == NULL) {
        return usage_refuse(error,
                            "the current folder has no path: it was removed, or its path is too "
                            "long");
    }
    enum exit_code code =
        given->sweep.resume == NULL ? EXIT_CODE_OK : restore_options(sweep, error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    if (given->workload != NULL && given->sweep.records.count == 0) {
        sweep->given.sweep.records.count = 1; /* the value 0 means that an option ends the runs */
    }
    const struct {
        bool is_wrong;
        const char *what;
    } wrongs[] = {
        {given->sweep.resume == NULL && given->sweep.is_retrying_failed,
         "--retry-failed needs --resume DIR"},
        {given->sweep.sessions.count == 0 || given->sweep.records.count == 0,
         "a sweep needs --sessions N,N,... with --records N,N,... or --workload NAME; to continue "
         "a sweep, use --resume DIR: see append sweep --help"},
        {given->sweep.is_keeping_rows && given->is_recreate, "--keep-rows contradicts --recreate"},
        {given->sweep.is_keeping_rows && given->is_seed_given && given->verify_mode == VERIFY_ROWS,
         "with --seed all runs append the same rows, which --verify rows cannot distinguish with "
         "--keep-rows: leave --seed out"},
    };
    for (size_t i = 0; i < COUNT_OF(wrongs); i++) {
        if (wrongs[i].is_wrong) {
            return usage_refuse(error, "%s", wrongs[i].what);
        }
    }
    sweep->words = json_array();
    for (size_t i = 0; i < given->given_count; i++) {
        const struct option_entry *entry = given->given[i].entry;
        const char *value = given->given[i].value;
        if (entry->scope != OPTION_OF_CALL &&
            json_array_append_new(sweep->words,
                                  value == NULL ? json_sprintf("--%s", entry->name)
                                                : json_sprintf("--%s=%s", entry->name, value))) {
            return usage_refuse(
                error, "--%s has a value that is not UTF-8, and cannot be saved for --resume",
                entry->name);
        }
    }
    code = make_variants(&sweep->variants, given, error);
    code = code == EXIT_CODE_OK ? check_variants(sweep, error) : code;
    code = code == EXIT_CODE_OK ? make_plans(sweep, error) : code;
    if (code != EXIT_CODE_OK) {
        return code;
    }
    if (expectations_parse(&expectations, &sweep->plan, error) != STATUS_OK ||
        conditions_parse(&conditions, &sweep->plan, error) != STATUS_OK) {
        return EXIT_CODE_USAGE;
    }
    code = ranks_divide_sessions(sweep->ranks, &sweep->plan, &sweep->facts, error);
    code = code == EXIT_CODE_OK ? rank_exchange_allow(sweep->ranks, &sweep->plan, error) : code;
    if (code != EXIT_CODE_OK) {
        return code;
    }
    json_t *target = json_string(sweep->target);
    const bool can_keep = target != NULL;
    json_decref(target);
    if (!can_keep) {
        return usage_refuse(error, "the target is not UTF-8, and cannot be saved for --resume");
    }
    if (sweep->given.sweep.resume != NULL) {
        return restore_runs(sweep, error);
    }
    /* A new sweep. Without --out, its folder has the name that the folder of a run would have, but
     * with "sweep" instead of the sessions and records. */
    struct saved_sweep *results = &sweep->results;
    /* maximum length of the folder's path, which leaves space for the names of runs and files */
    const size_t room = sizeof results->folder - 64 - SAVED_SWEEP_NAME_BYTES;
    const char *path = sweep->plan.out_folder;
    const char *extent = given->out != NULL ? NULL : strrchr(path, '-');
    snprintf(results->folder, sizeof results->folder, "%.*s%s",
             (int)(extent == NULL ? strlen(path) : (size_t)(extent - path)), path,
             extent == NULL ? "" : "-sweep");
    if (strlen(results->folder) >= room) {
        return usage_refuse(error, "--out must be a path of 1 to %zu bytes", room - 1);
    }
    results->sessions_count = given->sweep.sessions.count;
    results->records_count = given->sweep.records.count;
    results->variants = sweep->variants;
    results->repeat = (unsigned)given->sweep.repeat;
    memcpy(results->sessions, given->sweep.sessions.values, sizeof results->sessions);
    memcpy(results->records, given->sweep.records.values, sizeof results->records);
    mono_format_utc(mono_wall_ns(), sweep->started_utc, sizeof sweep->started_utc);
    return saved_sweep_make_runs(results, error) == STATUS_OK ? EXIT_CODE_OK
                                                              : EXIT_CODE_CLIENT_LIMIT;
}
