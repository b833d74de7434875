#include "sweep/sweep_resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const struct saved_sweep *saved, const char *key)
{
    return json_string_value(json_object_get(saved->json, key));
}

static enum status refuse(const struct saved_sweep *saved, const char *what, struct error *error)
{
    error_set(error, ERROR_DATA, 0, NULL, "%.120s/sweep.json %s", saved->folder, what);
    return STATUS_REJECTED;
}

enum status sweep_request_read(struct sweep_request *request, const struct saved_sweep *saved,
                               struct error *error)
{
    if (!saved->is_own) {
        error_set(
            error, ERROR_USAGE, 0, NULL,
            "'%.140s' or its sweep.json belongs to another user, whose options --resume would "
            "run: read sweep.json, then resume a copy of yours (cp -r)",
            saved->folder);
        return STATUS_REJECTED;
    }
    const char *version = text_of(saved, "append_version");
    *request = (struct sweep_request){
        .target = text_of(saved, "target_given"),
        .has_secret = json_is_true(json_object_get(saved->json, "target_has_password")),
        .working_folder = text_of(saved, "working_folder"),
    };
    if (version == NULL || strcmp(version, APPEND_VERSION) != 0) {
        char what[120];
        snprintf(what, sizeof what,
                 "is of append %.20s, this is %s: figures of two versions are not put together",
                 version == NULL ? "?" : version, APPEND_VERSION);
        return refuse(saved, what, error);
    }
    const json_t *words = json_object_get(saved->json, "options");
    if (!json_is_array(words) || request->working_folder == NULL) {
        return refuse(saved, "does not say what the sweep was asked for", error);
    }
    request->words = calloc(json_array_size(words) + 1, sizeof *request->words);
    if (request->words == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the options of a sweep");
        return STATUS_REJECTED;
    }
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        if (word == NULL) {
            free(request->words);
            request->words = NULL;
            return refuse(saved, "has an option that is no text", error);
        }
        request->words[request->word_count++] = word;
    }
    return STATUS_OK;
}

static bool is_same(const struct sweep_run *run, const struct saved_sweep_run *saved)
{
    return run->sessions == saved->sessions && run->records == saved->records &&
           run->repeat == saved->repeat && strcmp(run->name, saved->name) == 0;
}

static void take_over(struct sweep *sweep, struct sweep_run *run,
                      const struct saved_sweep_run *saved)
{
    struct error ignored;
    error_clear(&ignored);
    char path[SWEEP_PATH_BYTES + 16];
    if (saved->state == SAVED_PENDING) {
        return;
    }
    snprintf(path, sizeof path, "%s/%s/summary.csv", sweep->folder, run->name);
    const bool has_summary = csv_table_read(&run->summary, path, &ignored) == STATUS_OK;
    if (saved->state == SAVED_DONE && (!has_summary || run->summary.rows != 1)) {
        csv_table_free(&run->summary);
        return;
    }
    run->state = saved->state;
    run->exit_code = (enum exit_code)saved->exit_code;
    run->wall_s = saved->wall_s;
    snprintf(run->reason, sizeof run->reason, "%s", saved->reason);
}

enum status sweep_resume(struct sweep *sweep, const struct saved_sweep *saved,
                         bool is_retrying_failed, struct error *error)
{
    bool is_same_list = sweep->run_count == saved->run_count;
    for (size_t i = 0; i < sweep->run_count && is_same_list; i++) {
        is_same_list = is_same(&sweep->runs[i], &saved->runs[i]);
    }
    const char *table = text_of(saved, "table");
    bool is_known = false;
    for (int i = SWEEP_TABLE_OWN; i <= SWEEP_TABLE_KEPT && table != NULL && !is_known; i++) {
        sweep->table = (enum sweep_table)i;
        is_known = strcmp(table, sweep_table_name(sweep->table)) == 0;
    }
    if (!is_same_list || !is_known) {
        return refuse(saved, "has other runs than its options ask for", error);
    }
    sweep->has_begun = json_is_true(json_object_get(saved->json, "has_begun"));
    const char *started = text_of(saved, "started_utc");
    snprintf(sweep->started_utc, sizeof sweep->started_utc, "%s", started == NULL ? "" : started);
    for (size_t i = 0; i < sweep->run_count; i++) {
        if (!is_retrying_failed || saved->runs[i].state != SAVED_FAILED) {
            take_over(sweep, &sweep->runs[i], &saved->runs[i]);
        }
    }
    return STATUS_OK;
}
