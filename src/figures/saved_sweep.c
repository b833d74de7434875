#include "figures/saved_sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const state_names[SAVED_STATES] = {
    [SAVED_PENDING] = "pending",
    [SAVED_DONE] = "done",
    [SAVED_FAILED] = "failed",
};
enum {
    PATH_BYTES = SAVED_RUN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES,
};

const char *saved_state_name(enum saved_state state)
{
    return (size_t)state < SAVED_STATES ? state_names[state] : "unknown";
}

static enum status refuse(const struct saved_sweep *sweep, const char *what, struct error *error)
{
    error_set(error, ERROR_DATA, 0, NULL, "%.150s/sweep.json: %s", sweep->folder, what);
    return STATUS_REJECTED;
}

bool saved_sweep_is_there(const char *folder)
{
    char path[PATH_BYTES];
    return (size_t)snprintf(path, sizeof path, "%s/sweep.json", folder) < sizeof path &&
           access(path, F_OK) == 0;
}

/* Of the very file that is read: a name may mean another file a moment later. */
static bool is_own(int file)
{
    struct stat about;
    return fstat(file, &about) == 0 && about.st_uid == geteuid();
}

/* NULL: errno says why; 0: this is no regular file, which would be waited for. */
static FILE *open_json(struct saved_sweep *sweep)
{
    const int folder = open(sweep->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return NULL;
    }
    const int file = openat(folder, "sweep.json", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat about;
    const bool is_other = file >= 0 && fstat(file, &about) == 0 && !S_ISREG(about.st_mode);
    FILE *stream = file < 0 || is_other ? NULL : fdopen(file, "r");
    const int number = is_other ? 0 : errno;
    sweep->is_own = stream != NULL && is_own(folder) && is_own(file);
    if (stream == NULL && file >= 0) {
        close(file);
    }
    close(folder);
    errno = number;
    return stream;
}

static enum status read_json(struct saved_sweep *sweep, struct error *error)
{
    FILE *stream = open_json(sweep);
    if (stream == NULL) {
        error_set(error, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_SYSTEM, errno, NULL,
                  "'%.160s' is no folder of a sweep: sweep.json: %s", sweep->folder,
                  errno == 0 ? "this is no regular file" : strerror(errno));
        return STATUS_REJECTED;
    }
    json_error_t json_error;
    sweep->json = json_loadf(stream, JSON_REJECT_DUPLICATES, &json_error);
    fclose(stream);
    if (sweep->json == NULL) {
        return refuse(sweep, json_error.text, error);
    }
    const json_t *format = json_object_get(sweep->json, "format");
    if (!json_is_integer(format) || json_integer_value(format) != SAVED_SWEEP_FORMAT) {
        return refuse(sweep, "not of format 1, which is the one understood here", error);
    }
    return STATUS_OK;
}

/* A list of different whole numbers from 1. */
static bool read_list(const json_t *json, uint64_t *list, size_t *count)
{
    *count = json_array_size(json);
    if (*count == 0 || *count > SAVED_SWEEP_LIST_MAX) {
        return false;
    }
    for (size_t i = 0; i < *count; i++) {
        const json_int_t value = json_integer_value(json_array_get(json, i));
        list[i] = (uint64_t)value;
        for (size_t j = 0; j < i; j++) {
            if (list[j] == list[i]) {
                return false;
            }
        }
        if (value < 1) {
            return false;
        }
    }
    return true;
}

enum status saved_sweep_make_runs(struct saved_sweep *sweep, struct error *error)
{
    const size_t cells = sweep->sessions_count * sweep->records_count;
    sweep->runs = calloc(cells * sweep->repeat, sizeof *sweep->runs);
    if (sweep->runs == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %zu runs",
                  cells * sweep->repeat);
        return STATUS_REJECTED;
    }
    sweep->run_count = cells * sweep->repeat;
    for (size_t i = 0; i < sweep->run_count; i++) {
        struct saved_sweep_run *run = &sweep->runs[i];
        run->sessions = sweep->sessions[i % sweep->sessions_count];
        run->records = sweep->records[i / sweep->sessions_count % sweep->records_count];
        run->repeat = (unsigned)(i / cells) + 1;
        const int length = snprintf(run->name, sizeof run->name, "%" PRIu64 "x%" PRIu64,
                                    run->sessions, run->records);
        if (sweep->repeat > 1 && length > 0) {
            snprintf(run->name + length, sizeof run->name - (size_t)length, "-%u", run->repeat);
        }
    }
    return STATUS_OK;
}

static bool is_count(const json_t *json, const char *key, uint64_t value)
{
    return (uint64_t)json_integer_value(json_object_get(json, key)) == value;
}

/* False: it is not the run that belongs at this place. */
static bool read_run(struct saved_sweep_run *run, const json_t *json)
{
    const char *name = json_string_value(json_object_get(json, "folder"));
    const char *state = json_string_value(json_object_get(json, "state"));
    const char *reason = json_string_value(json_object_get(json, "reason"));
    const json_int_t code = json_integer_value(json_object_get(json, "exit_code"));
    const double wall_s = json_number_value(json_object_get(json, "wall_s"));
    int known = SAVED_PENDING;
    while (state != NULL && known < SAVED_STATES && strcmp(state, state_names[known]) != 0) {
        known++;
    }
    run->state = (enum saved_state)known;
    run->exit_code = code >= 0 && code <= UINT8_MAX ? (int)code : 0;
    run->wall_s = wall_s > 0 ? wall_s : 0;
    snprintf(run->reason, sizeof run->reason, "%s", reason == NULL ? "" : reason);
    return state != NULL && known < SAVED_STATES && name != NULL && strcmp(name, run->name) == 0 &&
           is_count(json, "sessions", run->sessions) && is_count(json, "records", run->records) &&
           is_count(json, "repeat", run->repeat);
}

static enum status read_runs(struct saved_sweep *sweep, struct error *error)
{
    const json_int_t repeat = json_integer_value(json_object_get(sweep->json, "repeat"));
    if (!read_list(json_object_get(sweep->json, "sessions"), sweep->sessions,
                   &sweep->sessions_count) ||
        !read_list(json_object_get(sweep->json, "records"), sweep->records,
                   &sweep->records_count) ||
        repeat < 1 || repeat > SAVED_SWEEP_LIST_MAX) {
        return refuse(sweep, "it has no lists of sessions and records as a sweep has", error);
    }
    sweep->repeat = (unsigned)repeat;
    const json_t *runs = json_object_get(sweep->json, "runs");
    bool is_good =
        json_array_size(runs) == sweep->sessions_count * sweep->records_count * sweep->repeat;
    if (is_good && saved_sweep_make_runs(sweep, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    for (size_t i = 0; i < sweep->run_count && is_good; i++) {
        is_good = read_run(&sweep->runs[i], json_array_get(runs, i));
    }
    return is_good ? STATUS_OK : refuse(sweep, "its runs are not those of its lists", error);
}

/* Rows and runs are in the same order. */
static void find_rows(struct saved_sweep *sweep)
{
    const struct csv_table *table = &sweep->table;
    const size_t statistic = csv_table_column(table, "statistic");
    const size_t folder = csv_table_column(table, "folder");
    size_t next = 0;
    for (size_t row = 0; row < table->rows; row++) {
        const bool is_run = strcmp(csv_table_text(table, row, statistic), "run") == 0;
        size_t i = is_run ? next : sweep->run_count;
        while (i < sweep->run_count &&
               strcmp(csv_table_text(table, row, folder), sweep->runs[i].name) != 0) {
            i++;
        }
        if (i < sweep->run_count) {
            sweep->runs[i].row = row;
            sweep->runs[i].has_row = sweep->runs[i].state != SAVED_PENDING;
            next = i + 1;
        }
    }
}

enum status saved_sweep_read(struct saved_sweep *sweep, const char *folder, struct error *error)
{
    *sweep = (struct saved_sweep){0};
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') {
        length--;
    }
    if (length >= sizeof sweep->folder) {
        error_set(error, ERROR_USAGE, 0, NULL, "the path '%.60s…' is too long", folder);
        return STATUS_REJECTED;
    }
    memcpy(sweep->folder, folder, length);
    enum status status = read_json(sweep, error);
    if (status == STATUS_OK) {
        status = read_runs(sweep, error);
    }
    if (status == STATUS_OK) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s/sweep.csv", sweep->folder);
        status = csv_table_read(&sweep->table, path, error);
    }
    if (status == STATUS_OK) {
        find_rows(sweep);
    }
    if (status != STATUS_OK) {
        saved_sweep_free(sweep);
    }
    return status;
}

void saved_sweep_free(struct saved_sweep *sweep)
{
    for (size_t i = 0; i < sweep->run_count; i++) {
        csv_table_free(&sweep->runs[i].summary);
    }
    json_decref(sweep->json);
    csv_table_free(&sweep->table);
    free(sweep->runs);
    *sweep = (struct saved_sweep){0};
}

size_t saved_sweep_count(const struct saved_sweep *sweep, enum saved_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < sweep->run_count; i++) {
        count += sweep->runs[i].state == state ? 1 : 0;
    }
    return count;
}

/* Where the figures of a run are; no row when it has none. */
static const struct csv_table *table_of(const struct saved_sweep *sweep,
                                        const struct saved_sweep_run *run, size_t *row)
{
    const bool is_new = run->summary.rows > 0;
    *row = is_new ? 0 : run->has_row ? run->row : sweep->table.rows;
    return is_new ? &run->summary : &sweep->table;
}

const char *saved_sweep_text(const struct saved_sweep *sweep, const struct saved_sweep_run *run,
                             const char *column)
{
    size_t row;
    const struct csv_table *table = table_of(sweep, run, &row);
    return csv_table_text(table, row, csv_table_column(table, column));
}

bool saved_sweep_number(const struct saved_sweep *sweep, const struct saved_sweep_run *run,
                        const char *column, double *value)
{
    size_t row;
    const struct csv_table *table = table_of(sweep, run, &row);
    return csv_table_number(table, row, csv_table_column(table, column), value);
}

size_t saved_sweep_values(const struct saved_sweep *sweep, size_t cell, const char *name,
                          double values[SAVED_SWEEP_LIST_MAX])
{
    size_t count = 0;
    for (size_t i = cell; i < sweep->run_count; i += sweep->sessions_count * sweep->records_count) {
        const struct saved_sweep_run *run = &sweep->runs[i];
        if (run->state == SAVED_DONE && saved_sweep_number(sweep, run, name, &values[count])) {
            count++;
        }
    }
    return count;
}

bool saved_sweep_figure(const struct saved_sweep *sweep, size_t sessions, size_t records,
                        const char *name, struct spread *figure)
{
    double values[SAVED_SWEEP_LIST_MAX];
    const size_t cell = records * sweep->sessions_count + sessions;
    *figure = spread_of(values, saved_sweep_values(sweep, cell, name, values));
    return figure->count > 0;
}

void saved_sweep_run_folder(const struct saved_sweep *sweep, const struct saved_sweep_run *run,
                            char path[SAVED_RUN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/%s", sweep->folder, run->name);
}
