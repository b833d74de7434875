#include "runs/saved_sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const state_names[] = {
    [SAVED_PENDING] = "pending",
    [SAVED_DONE] = "done",
    [SAVED_FAILED] = "failed",
};
enum {
    STATES = sizeof state_names / sizeof state_names[0],
    PATH_BYTES = SAVED_RUN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES,
};

const char *saved_state_name(enum saved_state state)
{
    return (size_t)state < STATES ? state_names[state] : "unknown";
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

/* A name of a folder in the sweep's folder, not a way out of it. */
static bool read_name(const json_t *json, char name[SAVED_SWEEP_NAME_BYTES])
{
    const char *text = json_string_value(json);
    if (text == NULL || text[0] == '\0' || text[0] == '.' || strchr(text, '/') != NULL ||
        strlen(text) >= SAVED_SWEEP_NAME_BYTES) {
        return false;
    }
    snprintf(name, SAVED_SWEEP_NAME_BYTES, "%s", text);
    return true;
}

/* False: it is not the run that belongs at this place. */
static bool read_run(const struct saved_sweep *sweep, size_t index, struct saved_sweep_run *run)
{
    const size_t cells = sweep->sessions_count * sweep->records_count;
    *run = (struct saved_sweep_run){
        .sessions = sweep->sessions[index % sweep->sessions_count],
        .records = sweep->records[index / sweep->sessions_count % sweep->records_count],
        .repeat = (unsigned)(index / cells) + 1,
        .reason = "",
    };
    const json_t *json = json_array_get(json_object_get(sweep->json, "runs"), index);
    const char *state = json_string_value(json_object_get(json, "state"));
    bool is_known = false;
    for (size_t i = 0; state != NULL && i < STATES && !is_known; i++) {
        is_known = strcmp(state, state_names[i]) == 0;
        run->state = is_known ? (enum saved_state)i : SAVED_PENDING;
    }
    const char *reason = json_string_value(json_object_get(json, "reason"));
    run->reason = reason == NULL ? "" : reason;
    const json_int_t code = json_integer_value(json_object_get(json, "exit_code"));
    run->exit_code = code >= 0 && code <= UINT8_MAX ? (int)code : 0;
    const double wall_s = json_number_value(json_object_get(json, "wall_s"));
    run->wall_s = wall_s > 0 ? wall_s : 0;
#define IS(key, value)                                                                             \
    ((uint64_t)json_integer_value(json_object_get(json, key)) == (uint64_t)(value))
    return is_known && IS("sessions", run->sessions) && IS("records", run->records) &&
           IS("repeat", run->repeat) && read_name(json_object_get(json, "folder"), run->name);
#undef IS
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
    sweep->run_count = sweep->sessions_count * sweep->records_count * sweep->repeat;
    sweep->runs = calloc(sweep->run_count, sizeof *sweep->runs);
    if (sweep->runs == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the runs of a sweep");
        return STATUS_REJECTED;
    }
    bool is_good = json_array_size(json_object_get(sweep->json, "runs")) == sweep->run_count;
    for (size_t i = 0; i < sweep->run_count && is_good; i++) {
        is_good = read_run(sweep, i, &sweep->runs[i]);
    }
    return is_good ? STATUS_OK : refuse(sweep, "its runs are not those of its lists", error);
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
    if (status != STATUS_OK) {
        saved_sweep_free(sweep);
    }
    return status;
}

void saved_sweep_free(struct saved_sweep *sweep)
{
    json_decref(sweep->json);
    csv_table_free(&sweep->table);
    free(sweep->runs);
    *sweep = (struct saved_sweep){0};
}

const struct saved_sweep_run *saved_sweep_run(const struct saved_sweep *sweep, size_t sessions,
                                              size_t records, unsigned repeat)
{
    return &sweep->runs[((repeat - 1) * sweep->records_count + records) * sweep->sessions_count +
                        sessions];
}

bool saved_sweep_run_figure(const struct saved_sweep *sweep, const struct saved_sweep_run *run,
                            const char *name, double *value)
{
    const struct csv_table *table = &sweep->table;
    const size_t statistic = csv_table_column(table, "statistic");
    const size_t folder = csv_table_column(table, "folder");
    for (size_t row = 0; row < table->rows && run->state != SAVED_PENDING; row++) {
        if (strcmp(csv_table_text(table, row, statistic), "run") == 0 &&
            strcmp(csv_table_text(table, row, folder), run->name) == 0) {
            return csv_table_number(table, row, csv_table_column(table, name), value);
        }
    }
    return false;
}

bool saved_sweep_figure(const struct saved_sweep *sweep, size_t sessions, size_t records,
                        const char *name, struct spread *figure)
{
    double values[SAVED_SWEEP_LIST_MAX];
    size_t count = 0;
    for (unsigned repeat = 1; repeat <= sweep->repeat; repeat++) {
        const struct saved_sweep_run *run = saved_sweep_run(sweep, sessions, records, repeat);
        if (run->state == SAVED_DONE && saved_sweep_run_figure(sweep, run, name, &values[count])) {
            count++;
        }
    }
    *figure = spread_of(values, count);
    return count > 0;
}

void saved_sweep_run_folder(const struct saved_sweep *sweep, const struct saved_sweep_run *run,
                            char path[SAVED_RUN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/%s", sweep->folder, run->name);
}
