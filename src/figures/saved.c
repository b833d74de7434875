#include "figures/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "figures/bound.h"

enum {
    PATH_BYTES = SAVED_RUN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES,
    MEMBER_BYTES = 96, /* longest path of a member of run.json */
};

const char *const saved_state_names[SAVED_STATES] = {
    [SAVED_PENDING] = "pending", [SAVED_DONE] = "done", [SAVED_FAILED] = "failed"};

bool saved_has_file(const char *folder, const char *file)
{
    char path[PATH_BYTES];
    return (size_t)snprintf(path, sizeof path, "%s/%s", folder, file) < sizeof path &&
           access(path, F_OK) == 0;
}

/* Copies a folder's name without slashes at the end. */
static enum status take_folder(char own[SAVED_RUN_PATH_BYTES], const char *folder,
                               struct error *error)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') {
        length--;
    }
    if (length >= SAVED_RUN_PATH_BYTES) {
        error_set(error, ERROR_USAGE, 0, NULL, "the path '%.60s…' is too long", folder);
        return STATUS_REJECTED;
    }
    snprintf(own, SAVED_RUN_PATH_BYTES, "%.*s", (int)length, folder);
    return STATUS_OK;
}

static bool is_of_format(const json_t *json, int format)
{
    const json_t *own = json_object_get(json, "format");
    return json_is_integer(own) && json_integer_value(own) == format;
}

/* Reads run.json or find-max.json. */
static enum status read_run_json(struct saved_run *run, const char *path, struct error *error)
{
    json_error_t json_error;
    FILE *file;
    if (file_open(path, &file, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    run->json = json_loadf(file, JSON_REJECT_DUPLICATES, &json_error);
    fclose(file);
    if (run->json == NULL) {
        error_set(error, ERROR_DATA, 0, NULL, "%s line %d: %s", path, json_error.line,
                  json_error.text);
        return STATUS_REJECTED;
    }
    if (!is_of_format(run->json, SAVED_RUN_FORMAT)) {
        error_set(error, ERROR_DATA, 0, NULL,
                  "%s does not have format %d, the only format that this version of append reads",
                  path, SAVED_RUN_FORMAT);
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

/* Reads a figure from summary.csv, or from run.json if summary.csv does not have it. */
static void read_figure(struct saved_run *run, enum figure_id id)
{
    const struct figure *figure = &figure_table[id];
    struct figure_value *value = &run->figures.values[id];
    if (figure->key == NULL) {
        char first[MEMBER_BYTES];
        snprintf(first, sizeof first, "%.*s", (int)strcspn(figure->path, " "), figure->path);
        const json_t *json = saved_run_json(run, first);
        *value = (struct figure_value){
            .is_known = json != NULL,
            .count = json_is_true(json) ? 1 : (uint64_t)json_integer_value(json),
            .number = json_number_value(json),
            .text = json_string_value(json),
        };
        return;
    }
    value->text = saved_run_text(run, figure->key);
    value->is_known = saved_run_figure(run, figure->key, &value->number) ||
                      (figure->unit == FIGURE_UNIT_TEXT && value->text[0] != '\0');
    for (int i = 0; figure_word(figure->key, i) != NULL; i++) {
        if (strcmp(figure_word(figure->key, i), value->text) == 0) {
            value->number = i;
            value->is_known = true;
        }
    }
    value->count = value->is_known ? strtoull(value->text, NULL, 10) : 0;
}

/* The contents of a run's run.json and summary.csv. Before the run has ended, other texts take
 * their place. */
struct outcome_files {
    const char *json, *summary;
};

/* The texts for a run that has no run.json and summary.csv because the run has not ended. */
static const struct outcome_files unfinished = {
    "{}", "verdict,verdict_reason\nUNFINISHED,\"the run has not ended, or was ended "
          "before it could write "
          "its result: only its per-second figures are known\"\n"};

/* Parses the contents of run.json and summary.csv. */
static enum status parse_outcome(struct saved_run *run, const struct outcome_files *texts,
                                 struct error *error)
{
    char *summary = strdup(texts->summary);
    run->json = json_loads(texts->json, 0, NULL);
    if (summary == NULL || run->json == NULL) {
        free(summary);
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the run %.160s", run->folder);
        return STATUS_REJECTED;
    }
    return csv_table_parse(&run->summary, "summary.csv", summary, error);
}

/* Reads the files of a run. `texts` has the contents of run.json and summary.csv; with NULL, the
 * function also reads these two files. */
static enum status read_files(struct saved_run *run, const char *json_path,
                              const struct outcome_files *texts, struct error *error)
{
    const struct {
        const char *file;
        struct csv_table *table;
    } files[] = {{"summary.csv", &run->summary},
                 {"intervals.csv", &run->intervals},
                 {"samples.csv", &run->samples},
                 {"levels.csv", &run->levels}};
    char path[PATH_BYTES];
    enum status status =
        texts != NULL ? parse_outcome(run, texts, error) : read_run_json(run, json_path, error);
    for (size_t i = texts != NULL ? 1 : 0; i < (run->is_search ? 4 : 3) && status == STATUS_OK;
         i++) {
        snprintf(path, sizeof path, "%s/%s", run->folder, files[i].file);
        status = csv_table_read(files[i].table, path, error);
    }
    if (status == STATUS_OK && saved_has_file(run->folder, "hosts_intervals.csv")) {
        snprintf(path, sizeof path, "%s/hosts_intervals.csv", run->folder);
        status = csv_table_read(&run->hosts_intervals, path, error);
    }
    if (status == STATUS_OK && run->summary.rows != 1) {
        error_set(error, ERROR_DATA, 0, NULL, "%s/summary.csv has %zu rows instead of 1",
                  run->folder, run->summary.rows);
        status = STATUS_REJECTED;
    }
    for (int id = 0; id < FIGURES && status == STATUS_OK; id++) {
        read_figure(run, (enum figure_id)id);
    }
    if (status != STATUS_OK) {
        saved_run_free(run);
    }
    return status;
}

/* Writes the path of run.json or, for a search, the path of find-max.json. Sets run->is_search. */
static void find_json(struct saved_run *run, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/run.json", run->folder);
    run->is_search = access(path, R_OK) != 0;
    if (run->is_search) {
        snprintf(path, PATH_BYTES, "%s/find-max.json", run->folder);
    }
}

enum status saved_run_read(struct saved_run *run, const char *folder, bool takes_unfinished,
                           struct error *error)
{
    char path[PATH_BYTES];
    struct stat about;
    *run = (struct saved_run){0};
    if (take_folder(run->folder, folder, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    find_json(run, path);
    const bool is_there = access(path, R_OK) == 0;
    run->is_unfinished = stat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_size == 0;
    if (!is_there) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "'%s' is not the folder of a finished run: it has no run.json", folder);
    } else if (run->is_unfinished && !takes_unfinished) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "'%s' is not the folder of a finished run: %s is empty", folder, path);
    }
    if (!is_there || (run->is_unfinished && !takes_unfinished)) {
        *run = (struct saved_run){0};
        return STATUS_REJECTED;
    }
    return read_files(run, path, run->is_unfinished ? &unfinished : NULL, error);
}

enum status saved_run_read_running(struct saved_run *run, const char *folder, const char *json,
                                   const char *summary, struct error *error)
{
    char path[PATH_BYTES];
    *run = (struct saved_run){0};
    if (take_folder(run->folder, folder, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    find_json(run, path);
    run->is_running = true;
    return read_files(run, path, &(struct outcome_files){json, summary}, error);
}

void saved_run_free(struct saved_run *run)
{
    json_decref(run->json);
    csv_table_free(&run->summary);
    csv_table_free(&run->intervals);
    csv_table_free(&run->samples);
    csv_table_free(&run->hosts_intervals);
    csv_table_free(&run->operations_intervals);
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

json_t *saved_run_json(const struct saved_run *run, const char *path)
{
    json_t *at = run->json;
    while (at != NULL && *path != '\0') {
        const size_t length = strcspn(path, ".");
        char key[MEMBER_BYTES];
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        at = json_object_get(at, key);
        path += length + (path[length] == '.' ? 1 : 0);
    }
    return json_is_null(at) ? NULL : at;
}

static enum status refuse(const struct saved_sweep *sweep, const char *what, struct error *error)
{
    error_set(error, ERROR_DATA, 0, NULL, "%.150s/sweep.json: %s", sweep->folder, what);
    return STATUS_REJECTED;
}

/* Reads sweep.json. Sets is_own from the same open file, because the file's name may belong to a
 * different file a moment later. Accepts only a regular file, because reading a pipe could
 * block. */
static enum status read_sweep_json(struct saved_sweep *sweep, struct error *error)
{
    const int folder = open(sweep->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int file =
        folder < 0 ? -1 : openat(folder, "sweep.json", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat of_folder, of_file;
    const bool is_other = file >= 0 && fstat(file, &of_file) == 0 && !S_ISREG(of_file.st_mode);
    FILE *stream = file < 0 || is_other ? NULL : fdopen(file, "r");
    const int number = errno;
    sweep->is_own = stream != NULL && fstat(folder, &of_folder) == 0 &&
                    fstat(file, &of_file) == 0 && of_folder.st_uid == geteuid() &&
                    of_file.st_uid == geteuid();
    if (folder >= 0) {
        close(folder);
    }
    if (stream == NULL) {
        if (file >= 0) {
            close(file);
        }
        error_set(error, !is_other && number == ENOENT ? ERROR_NOT_FOUND : ERROR_SYSTEM,
                  is_other ? 0 : number, NULL,
                  "'%.160s' is not the folder of a sweep: sweep.json: %s", sweep->folder,
                  is_other ? "not a regular file" : strerror(number));
        return STATUS_REJECTED;
    }
    json_error_t json_error;
    sweep->json = json_loadf(stream, JSON_REJECT_DUPLICATES, &json_error);
    fclose(stream);
    if (sweep->json == NULL) {
        return refuse(sweep, json_error.text, error);
    }
    if (!is_of_format(sweep->json, SAVED_SWEEP_FORMAT)) {
        char why[80];
        snprintf(why, sizeof why,
                 "it does not have format %d, the only format that this version of append reads",
                 SAVED_SWEEP_FORMAT);
        return refuse(sweep, why, error);
    }
    return STATUS_OK;
}

/* Reads a list of different whole numbers, each at least `least`. */
static bool read_list(const json_t *json, json_int_t least, uint64_t *list, size_t *count)
{
    *count = json_array_size(json);
    bool is_valid = *count > 0 && *count <= SAVED_SWEEP_LIST_MAX;
    for (size_t i = 0; i < *count && is_valid; i++) {
        const json_int_t value = json_integer_value(json_array_get(json, i));
        list[i] = (uint64_t)value;
        is_valid = value >= least;
        for (size_t j = 0; j < i; j++) {
            is_valid = is_valid && list[j] != list[i];
        }
    }
    return is_valid;
}

static bool read_variants(const json_t *json, struct saved_variants *variants)
{
    /* 0 variants: the sweep had no --vary, or an older version wrote the file */
    const size_t count = json_array_size(json);
    bool is_valid = count <= SAVED_SWEEP_LIST_MAX;
    variants->count = count == 0 ? 1 : count;
    for (size_t i = 0; i < count && is_valid; i++) {
        const char *text = json_string_value(json_array_get(json, i));
        /* the text becomes part of a folder's name */
        is_valid = text != NULL && text[0] != '\0' && strlen(text) < sizeof variants->texts[i] &&
                   strchr(text, '/') == NULL;
        snprintf(variants->texts[i], sizeof variants->texts[i], "%s", is_valid ? text : "");
        for (size_t j = 0; j < i; j++) {
            is_valid = is_valid && strcmp(variants->texts[j], text) != 0;
        }
    }
    return is_valid;
}

size_t saved_sweep_columns(const struct saved_sweep *sweep)
{
    return sweep->records_count * sweep->variants.count;
}

size_t saved_sweep_cells(const struct saved_sweep *sweep)
{
    return sweep->sessions_count * saved_sweep_columns(sweep);
}

const char *saved_sweep_column(const struct saved_sweep *sweep, size_t column, const char *records,
                               char text[SAVED_SWEEP_NAME_BYTES])
{
    const char *variant = sweep->variants.texts[column % sweep->variants.count];
    const bool has_records = variant[0] == '\0' || sweep->records_count > 1;
    snprintf(text, SAVED_SWEEP_NAME_BYTES, "%s%s%.31s", variant,
             has_records && variant[0] != '\0' ? " " : "", has_records ? records : "");
    return text;
}

enum status saved_sweep_make_runs(struct saved_sweep *sweep, struct error *error)
{
    const size_t cells = saved_sweep_cells(sweep);
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
        run->variant = i / sweep->sessions_count % sweep->variants.count;
        run->records = sweep->records[i % cells / sweep->sessions_count / sweep->variants.count];
        run->repeat = (unsigned)(i / cells) + 1;
        int length = snprintf(run->name, sizeof run->name, "%" PRIu64, run->sessions);
        if (run->records > 0) {
            length += snprintf(run->name + length, sizeof run->name - (size_t)length, "x%" PRIu64,
                               run->records);
        }
        const char *variant = sweep->variants.texts[run->variant];
        length += snprintf(run->name + length, sizeof run->name - (size_t)length, "%s%s",
                           variant[0] == '\0' ? "" : "-", variant);
        if (sweep->repeat > 1) {
            snprintf(run->name + length, sizeof run->name - (size_t)length, "-%u", run->repeat);
        }
    }
    return STATUS_OK;
}

/* Reads a run of sweep.json. The caller has set the sizes and the name in *run. Returns false if
 * `json` has different sizes or a different name. */
static bool read_run(struct saved_sweep_run *run, const json_t *json)
{
    const char *name = json_string_value(json_object_get(json, "folder"));
    const char *state = json_string_value(json_object_get(json, "state"));
    const char *reason = json_string_value(json_object_get(json, "reason"));
    const json_int_t code = json_integer_value(json_object_get(json, "exit_code"));
    const double wall_s = json_number_value(json_object_get(json, "wall_s"));
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {{"sessions", run->sessions}, {"records", run->records}, {"repeat", run->repeat}};
    bool is_valid = state != NULL && name != NULL && strcmp(name, run->name) == 0;
    int known = SAVED_PENDING;
    while (is_valid && known < SAVED_STATES && strcmp(state, saved_state_names[known]) != 0) {
        known++;
    }
    run->state = (enum saved_state)known;
    run->exit_code = code >= 0 && code <= UINT8_MAX ? (int)code : 0;
    run->wall_s = wall_s > 0 ? wall_s : 0;
    snprintf(run->reason, sizeof run->reason, "%s", reason == NULL ? "" : reason);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        is_valid = is_valid && (uint64_t)json_integer_value(json_object_get(json, counts[i].key)) ==
                                   counts[i].value;
    }
    return is_valid && known < SAVED_STATES;
}

static enum status read_runs(struct saved_sweep *sweep, struct error *error)
{
    const json_int_t repeat = json_integer_value(json_object_get(sweep->json, "repeat"));
    if (!read_list(json_object_get(sweep->json, "sessions"), 1, sweep->sessions,
                   &sweep->sessions_count) ||
        !read_list(json_object_get(sweep->json, "records"), 0, sweep->records,
                   &sweep->records_count) ||
        !read_variants(json_object_get(sweep->json, "variants"), &sweep->variants) || repeat < 1 ||
        repeat > SAVED_SWEEP_LIST_MAX) {
        return refuse(sweep, "its lists of sessions, records and variants are missing or wrong",
                      error);
    }
    sweep->repeat = (unsigned)repeat;
    const json_t *runs = json_object_get(sweep->json, "runs");
    bool is_valid = json_array_size(runs) == saved_sweep_cells(sweep) * sweep->repeat;
    if (is_valid && saved_sweep_make_runs(sweep, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    for (size_t i = 0; i < sweep->run_count && is_valid; i++) {
        is_valid = read_run(&sweep->runs[i], json_array_get(runs, i));
    }
    return is_valid ? STATUS_OK : refuse(sweep, "its runs do not match its lists", error);
}

enum status saved_sweep_read(struct saved_sweep *sweep, const char *folder, struct error *error)
{
    *sweep = (struct saved_sweep){0};
    enum status status = take_folder(sweep->folder, folder, error);
    if (status == STATUS_OK) {
        status = read_sweep_json(sweep, error);
    }
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
        return STATUS_REJECTED;
    }
    const struct csv_table *table = &sweep->table;
    const size_t statistic = csv_table_column(table, "statistic");
    const size_t name = csv_table_column(table, "folder");
    /* rows and runs are in the same order */
    for (size_t row = 0, next = 0; row < table->rows; row++) {
        const bool is_run = strcmp(csv_table_text(table, row, statistic), "run") == 0;
        size_t i = is_run ? next : sweep->run_count;
        while (i < sweep->run_count &&
               strcmp(csv_table_text(table, row, name), sweep->runs[i].name) != 0) {
            i++;
        }
        if (i < sweep->run_count) {
            sweep->runs[i].row = row;
            sweep->runs[i].has_row = sweep->runs[i].state != SAVED_PENDING;
            next = i + 1;
        }
    }
    return STATUS_OK;
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

/* Returns the table with the figures of a run, and sets *row to the run's row in the table. Sets
 * *row to a row past the end if the run has no figures. */
static const struct csv_table *table_of(const struct saved_sweep *sweep,
                                        const struct saved_sweep_run *run, size_t *row)
{
    const bool is_new = run->summary.rows > 0;
    const size_t saved_row = run->has_row ? run->row : sweep->table.rows;
    *row = is_new ? 0 : saved_row;
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
    for (size_t i = cell; i < sweep->run_count; i += saved_sweep_cells(sweep)) {
        const struct saved_sweep_run *run = &sweep->runs[i];
        if (run->state == SAVED_DONE && saved_sweep_number(sweep, run, name, &values[count])) {
            count++;
        }
    }
    return count;
}

bool saved_sweep_figure(const struct saved_sweep *sweep, size_t sessions, size_t column,
                        const char *name, struct spread *figure)
{
    double values[SAVED_SWEEP_LIST_MAX];
    const size_t cell = column * sweep->sessions_count + sessions;
    *figure = spread_of(values, saved_sweep_values(sweep, cell, name, values));
    return figure->count > 0;
}

json_t *saved_sweep_changes(const struct saved_sweep *sweep)
{
    json_t *changes = json_array(), *said = json_object(), *first = NULL;
    const char *first_run = "";
    for (size_t i = 0; i < sweep->run_count; i++) {
        char folder[PATH_BYTES], path[PATH_BYTES + sizeof "/run.json"];
        saved_sweep_run_folder(sweep, &sweep->runs[i], folder);
        snprintf(path, sizeof path, "%s/run.json", folder);
        json_t *run = sweep->runs[i].state == SAVED_DONE ? json_load_file(path, 0, NULL) : NULL;
        json_t *settings = json_object_get(json_object_get(run, "server"), "settings");
        if (first == NULL && json_object_size(settings) > 0) {
            first = json_incref(settings);
            first_run = sweep->runs[i].name;
        }
        /* if the server reported no settings in this run, compare the first run with itself and
         * find no change */
        json_t *const sides[] = {first, json_object_size(settings) > 0 ? settings : first};
        for (size_t side = 0; side < 2; side++) {
            const char *key;
            json_t *value;
            json_object_foreach(sides[side], key, value)
            {
                json_t *one = json_object_get(first, key), *other = json_object_get(sides[1], key);
                const char *text = json_string_value(one), *changed = json_string_value(other);
                if (!json_equal(one, other) && json_object_get(said, key) == NULL &&
                    (text != NULL || changed != NULL)) {
                    json_object_set_new(said, key, json_true());
                    json_array_append_new(changes,
                                          json_pack("{ss, ss, ss?, ss, ss?}", "setting", key, "run",
                                                    first_run, "value", text, "other_run",
                                                    sweep->runs[i].name, "other_value", changed));
                }
            }
        }
        json_decref(run);
    }
    json_decref(first);
    json_decref(said);
    return changes;
}

void saved_sweep_describe_change(const json_t *change, char *text, size_t size)
{
    static const char *const members[] = {"setting", "value", "run", "other_value", "other_run"};
    const char *values[COUNT_OF(members)];
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        values[i] = json_string_value(json_object_get(change, members[i]));
        values[i] = values[i] == NULL ? "unknown" : values[i];
    }
    snprintf(text, size, "setting %s of the server changed: %s in %s, %s in %s", values[0],
             values[1], values[2], values[3], values[4]);
}

void saved_sweep_run_folder(const struct saved_sweep *sweep, const struct saved_sweep_run *run,
                            char path[SAVED_RUN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/%s", sweep->folder, run->name);
}
