#include "figures/saved_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "figures/bound.h"

enum {
    SAVED_PATH_BYTES = 96, /* of a member of run.json */
};

static enum status path_of(const char *folder, const char *file, char *path, size_t bytes,
                           struct error *error)
{
    if ((size_t)snprintf(path, bytes, "%s/%s", folder, file) < bytes) {
        return STATUS_OK;
    }
    error_set(error, ERROR_USAGE, 0, NULL, "the path '%.60s…' is too long", folder);
    return STATUS_REJECTED;
}

bool saved_run_is_there(const char *folder)
{
    char path[SAVED_RUN_PATH_BYTES + 16];
    return path_of(folder, "run.json", path, sizeof path, NULL) == STATUS_OK &&
           access(path, F_OK) == 0;
}

/* Gives members that older versions called otherwise the names of today. */
static void modernise(json_t *json)
{
    static const char *const sections[] = {"counters", "latencies", "histograms"};
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        json_t *section = json_object_get(json, sections[i]), *value;
        const char *name;
        void *next;
        json_object_foreach_safe(section, next, name, value)
        {
            char key[FIGURE_KEY_BYTES];
            snprintf(key, sizeof key, "%s", name);
            figure_modernise(key);
            if (strncmp(key, name, sizeof key - 1) != 0) {
                json_object_set(section, key, value);
                json_object_del(section, name);
            }
        }
    }
}

static enum status read_json(struct saved_run *run, const char *path, struct error *error)
{
    json_error_t json_error;
    FILE *file;
    if (file_open(path, &file, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    run->json = json_loadf(file, JSON_REJECT_DUPLICATES, &json_error);
    fclose(file);
    modernise(run->json);
    if (run->json == NULL) {
        error_set(error, ERROR_DATA, 0, NULL, "%s line %d: %s", path, json_error.line,
                  json_error.text);
        return STATUS_REJECTED;
    }
    const json_t *format = json_object_get(run->json, "format");
    if (!json_is_integer(format) || json_integer_value(format) != SAVED_RUN_FORMAT) {
        error_set(error, ERROR_DATA, 0, NULL,
                  "%s is not of format %d, which is the one understood here", path,
                  SAVED_RUN_FORMAT);
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

static enum status read_tables(struct saved_run *run, struct error *error)
{
    const struct {
        const char *file;
        struct csv_table *table;
    } files[] = {{"summary.csv", &run->summary},
                 {"intervals.csv", &run->intervals},
                 {"samples.csv", &run->samples},
                 {"levels.csv", &run->levels}};
    const size_t count = sizeof files / sizeof files[0] - (run->is_search ? 0 : 1);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        char path[SAVED_RUN_PATH_BYTES + 16];
        status = path_of(run->folder, files[i].file, path, sizeof path, error);
        if (status == STATUS_OK) {
            status = csv_table_read(files[i].table, path, error);
        }
    }
    if (status == STATUS_OK && run->summary.rows != 1) {
        error_set(error, ERROR_DATA, 0, NULL, "%s/summary.csv has %zu rows, not one", run->folder,
                  run->summary.rows);
        status = STATUS_REJECTED;
    }
    return status;
}

/* The value of a member of run.json; only the first path counts. */
static void read_member(struct saved_run *run, enum figure_id id)
{
    const struct figure *figure = &figure_table[id];
    char path[SAVED_PATH_BYTES];
    snprintf(path, sizeof path, "%.*s", (int)strcspn(figure->path, " "), figure->path);
    const json_t *value = saved_run_json(run, path);
    run->figures.values[id] = (struct figure_value){
        .is_known = value != NULL,
        .count = json_is_true(value) ? 1 : (uint64_t)json_integer_value(value),
        .number = json_number_value(value),
        .text = json_string_value(value),
    };
}

static void read_cell(struct saved_run *run, enum figure_id id)
{
    const struct figure *figure = &figure_table[id];
    const char *text = saved_run_text(run, figure->key);
    double number = 0;
    bool is_known = saved_run_figure(run, figure->key, &number);
    for (int i = 0; figure->unit == FIGURE_UNIT_WORD && figure_word(figure->key, i) != NULL; i++) {
        if (strcmp(figure_word(figure->key, i), text) == 0) {
            number = i;
            is_known = true;
        }
    }
    is_known = is_known || (figure->unit == FIGURE_UNIT_TEXT && text[0] != '\0');
    run->figures.values[id] = (struct figure_value){
        .is_known = is_known,
        .count = is_known ? strtoull(text, NULL, 10) : 0,
        .number = number,
        .text = text,
    };
}

static void read_figures(struct saved_run *run)
{
    for (size_t id = 0; id < FIGURES; id++) {
        if (figure_table[id].key != NULL) {
            read_cell(run, (enum figure_id)id);
        } else {
            read_member(run, (enum figure_id)id);
        }
    }
}

enum status saved_run_read(struct saved_run *run, const char *folder, struct error *error)
{
    *run = (struct saved_run){0};
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') {
        length--;
    }
    if (length >= sizeof run->folder) {
        error_set(error, ERROR_USAGE, 0, NULL, "the path '%.60s…' is too long", folder);
        return STATUS_REJECTED;
    }
    memcpy(run->folder, folder, length);
    char path[SAVED_RUN_PATH_BYTES + 16];
    enum status status = path_of(run->folder, "run.json", path, sizeof path, error);
    if (status == STATUS_OK && access(path, R_OK) != 0) {
        run->is_search = true;
        status = path_of(run->folder, "find-max.json", path, sizeof path, error);
    }
    if (status == STATUS_OK && access(path, R_OK) != 0) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "'%s' is no folder of a finished run: it has no run.json", folder);
        status = STATUS_REJECTED;
    }
    if (status == STATUS_OK) {
        status = read_json(run, path, error);
    }
    if (status == STATUS_OK) {
        status = read_tables(run, error);
    }
    if (status == STATUS_OK) {
        read_figures(run);
    } else {
        saved_run_free(run);
    }
    return status;
}

void saved_run_free(struct saved_run *run)
{
    json_decref(run->json);
    csv_table_free(&run->summary);
    csv_table_free(&run->intervals);
    csv_table_free(&run->samples);
    csv_table_free(&run->levels);
    *run = (struct saved_run){0};
}

bool saved_run_figure(const struct saved_run *run, const char *name, double *value)
{
    return csv_table_number(&run->summary, 0, csv_table_column(&run->summary, name), value);
}

const char *saved_run_text(const struct saved_run *run, const char *name)
{
    return csv_table_text(&run->summary, 0, csv_table_column(&run->summary, name));
}

const json_t *saved_run_json(const struct saved_run *run, const char *path)
{
    const json_t *at = run->json;
    while (at != NULL && *path != '\0') {
        const size_t length = strcspn(path, ".");
        char key[64];
        if (length >= sizeof key) {
            return NULL;
        }
        memcpy(key, path, length);
        key[length] = '\0';
        at = json_object_get(at, key);
        path += length + (path[length] == '.' ? 1 : 0);
    }
    return json_is_null(at) ? NULL : at;
}
