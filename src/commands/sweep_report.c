/* What a sweep writes: its files, see figures/saved_sweep.h, and its report. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "commands/sweep.h"
#include "figures/figures.h"
#include "report/csv.h"
#include "report/screen.h"
#include "report/tree.h"

enum {
    DECIMALS_MAX = 9,
    CELL_BYTES = 4 * UNITS_TEXT_BYTES,
    GAP = 2,
    NOTES_MAX = 10,
    NOTE_COLUMN = 10,
};

static const struct {
    const char *name;
    const char *phrase;
} tables[SWEEP_TABLES] = {
    [SWEEP_TABLE_OWN] = {"own", "each run has a new database in its own folder"},
    [SWEEP_TABLE_NONE] = {"none", "the adapter keeps no rows"},
    [SWEEP_TABLE_MADE] =
        {"made", "created by the first run, dropped and recreated before each of the others"},
    [SWEEP_TABLE_RECREATED] = {"recreated", "dropped and recreated before each run"},
    [SWEEP_TABLE_KEPT] = {"kept", "kept: a run finds the rows of the runs before it"},
};

const char *sweep_table_phrase(enum sweep_table table)
{
    return tables[table].phrase;
}

const char *sweep_table_name(enum sweep_table table)
{
    return tables[table].name;
}

static const char *target_of(const struct sweep *sweep)
{
    return sweep->plan.owned_path != NULL ? sweep->plan.adapter->name : sweep->plan.display_target;
}

/* The figures that have a table of their own, one after the other: *id is 0 at first. NULL: there
 * are no more. */
static const struct figure *next_headline(size_t *id)
{
    while (*id < FIGURES) {
        const struct figure *figure = &figure_table[(*id)++];
        if (figure->group == FIGURE_GROUP_HEADLINE) {
            return figure;
        }
    }
    return NULL;
}

/* sweep.csv. */

/* What is known of a run that left no summary. */
static const char *text_without_summary(const struct sweep *sweep,
                                        const struct saved_sweep_run *run, const char *key,
                                        char text[FIGURE_TEXT_BYTES])
{
    const bool is_sessions = strcmp(key, "sessions") == 0;
    if (is_sessions || strcmp(key, "records") == 0) {
        snprintf(text, FIGURE_TEXT_BYTES, "%" PRIu64, is_sessions ? run->sessions : run->records);
    } else if (strcmp(key, "exit_code") == 0) {
        snprintf(text, FIGURE_TEXT_BYTES, "%d", run->exit_code);
    } else if (strcmp(key, "adapter") == 0) {
        return sweep->plan.adapter->name;
    } else {
        return strcmp(key, "target") == 0 ? target_of(sweep) : "";
    }
    return text;
}

/* The header, with run == NULL, or the line of a run. */
static void put_run(FILE *stream, const struct sweep *sweep, const struct saved_sweep_run *run)
{
    const struct figure_set nothing = {.operations = operation_list_all()};
    struct csv csv;
    csv_begin(&csv, stream, run == NULL);
    csv_text(&csv, "statistic", "run");
    csv_count(&csv, "repeat", run == NULL ? 0 : run->repeat);
    csv_text(&csv, "folder", run == NULL ? NULL : run->name);
    csv_text(&csv, "state", run == NULL ? NULL : saved_state_name(run->state));
    csv_text(&csv, "reason", run == NULL ? NULL : run->reason);
    struct figure_cell cell = {0};
    for (size_t at = 0; figure_next_cell(&nothing, &at, &cell);) {
        char text[FIGURE_TEXT_BYTES];
        const bool has_figures = run != NULL && (run->has_row || run->summary.rows > 0);
        csv_text(&csv, cell.key,
                 run == NULL   ? NULL
                 : has_figures ? saved_sweep_text(&sweep->results, run, cell.key)
                               : text_without_summary(sweep, run, cell.key, text));
    }
    csv_end(&csv);
}

static int decimals_of(const char *number)
{
    const char *point = strchr(number, '.');
    const size_t decimals = point == NULL ? 0 : strlen(point + 1);
    return decimals < DECIMALS_MAX ? (int)decimals : DECIMALS_MAX;
}

enum {
    MEDIAN,
    LOWEST,
    HIGHEST,
    STATISTICS
};
static const char *const statistic_names[STATISTICS] = {"median", "lowest", "highest"};

/* What the done runs of a cell have in common, the statistic of their numbers, or nothing. */
static void put_statistic(struct csv *csv, const struct saved_sweep *sweep, size_t place,
                          const struct figure_cell *cell, int statistic)
{
    const size_t cells = sweep->sessions_count * sweep->records_count;
    const char *first = NULL;
    bool are_equal = true;
    size_t done = 0;
    int decimals = 0;
    for (size_t i = place; i < sweep->run_count; i += cells) {
        if (sweep->runs[i].state == SAVED_DONE) {
            const char *text = saved_sweep_text(sweep, &sweep->runs[i], cell->key);
            first = first == NULL ? text : first;
            are_equal = are_equal && strcmp(text, first) == 0;
            decimals = decimals_of(text) > decimals ? decimals_of(text) : decimals;
            done++;
        }
    }
    double values[SAVED_SWEEP_LIST_MAX];
    const bool are_numbers =
        cell->unit != FIGURE_UNIT_ID && saved_sweep_values(sweep, place, cell->key, values) == done;
    if (are_equal || !are_numbers) {
        csv_text(csv, cell->key, are_equal ? first : NULL);
        return;
    }
    const struct spread spread = spread_of(values, done);
    /* the mean of two numbers may have one digit more than they have */
    const bool is_mean = statistic == MEDIAN && done % 2 == 0;
    csv_decimal(csv, cell->key,
                statistic == MEDIAN   ? spread.median
                : statistic == LOWEST ? spread.lowest
                                      : spread.highest,
                decimals + (is_mean ? 1 : 0));
}

static void put_statistics(FILE *stream, const struct saved_sweep *sweep, size_t place)
{
    const size_t cells = sweep->sessions_count * sweep->records_count;
    bool has_done = false;
    for (size_t i = place; i < sweep->run_count; i += cells) {
        has_done = has_done || sweep->runs[i].state == SAVED_DONE;
    }
    for (int statistic = 0; statistic < STATISTICS && has_done; statistic++) {
        static const char *const empty[] = {"repeat", "folder", "state", "reason"};
        const struct figure_set nothing = {.operations = operation_list_all()};
        struct csv csv;
        struct figure_cell cell = {0};
        csv_begin(&csv, stream, false);
        csv_text(&csv, "statistic", statistic_names[statistic]);
        for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
            csv_text(&csv, empty[i], NULL);
        }
        for (size_t at = 0; figure_next_cell(&nothing, &at, &cell);) {
            put_statistic(&csv, sweep, place, &cell, statistic);
        }
        csv_end(&csv);
    }
}

static void write_all(FILE *stream, const struct sweep *sweep)
{
    const struct saved_sweep *results = &sweep->results;
    put_run(stream, sweep, NULL);
    for (size_t i = 0; i < results->run_count; i++) {
        if (results->runs[i].state != SAVED_PENDING) {
            put_run(stream, sweep, &results->runs[i]);
        }
    }
    const size_t cells = results->sessions_count * results->records_count;
    for (size_t place = 0; place < cells && results->repeat > 1; place++) {
        put_statistics(stream, results, place);
    }
}

/* max_cpu.csv and the like: sessions down, records across. */
static void write_table(FILE *stream, const struct saved_sweep *sweep, const char *column)
{
    struct csv csv;
    csv_begin(&csv, stream, true);
    csv_text(&csv, "sessions", NULL);
    for (size_t r = 0; r < sweep->records_count; r++) {
        char records[24];
        snprintf(records, sizeof records, "%" PRIu64, sweep->records[r]);
        csv_text(&csv, records, NULL);
    }
    csv_end(&csv);
    for (size_t s = 0; s < sweep->sessions_count; s++) {
        csv_begin(&csv, stream, false);
        csv_count(&csv, "sessions", sweep->sessions[s]);
        for (size_t r = 0; r < sweep->records_count; r++) {
            struct spread figure;
            int decimals = 0;
            for (size_t i = r * sweep->sessions_count + s; i < sweep->run_count;
                 i += sweep->sessions_count * sweep->records_count) {
                const int own = decimals_of(saved_sweep_text(sweep, &sweep->runs[i], column));
                decimals = own > decimals ? own : decimals;
            }
            const bool is_known = saved_sweep_figure(sweep, s, r, column, &figure);
            csv_decimal_if(&csv, column, is_known, figure.median, decimals);
        }
        csv_end(&csv);
    }
}

/* sweep.json. */

static void put_list(struct tree root, const char *key, const uint64_t *values, size_t count)
{
    const struct tree array = tree_array(root, key);
    for (size_t i = 0; i < count; i++) {
        tree_append(array, tree_integer(values[i]));
    }
}

static void put_runs(struct tree root, const struct saved_sweep *sweep)
{
    const struct tree runs = tree_array(root, "runs");
    for (size_t i = 0; i < sweep->run_count; i++) {
        const struct saved_sweep_run *run = &sweep->runs[i];
        const bool has_ended = run->state != SAVED_PENDING;
        const struct tree entry = tree_append_object(runs);
        tree_count(entry, "sessions", run->sessions);
        tree_count(entry, "records", run->records);
        tree_count(entry, "repeat", run->repeat);
        tree_text(entry, "folder", run->name);
        tree_text(entry, "state", saved_state_name(run->state));
        tree_count_if(entry, "exit_code", has_ended, (uint64_t)run->exit_code);
        tree_text(entry, "reason", run->reason);
        tree_number_if(entry, "wall_s", has_ended && run->wall_s > 0, run->wall_s);
    }
}

/* The headline figures of each cell; null where no done run has one. */
static void put_cells(struct tree root, const struct saved_sweep *sweep)
{
    const struct tree cells = tree_array(root, "cells");
    for (size_t i = 0; i < sweep->sessions_count * sweep->records_count; i++) {
        const size_t s = i % sweep->sessions_count, r = i / sweep->sessions_count;
        const struct tree cell = tree_append_object(cells);
        tree_count(cell, "sessions", sweep->sessions[s]);
        tree_count(cell, "records", sweep->records[r]);
        size_t id = 0;
        for (const struct figure *kind = next_headline(&id); kind != NULL;
             kind = next_headline(&id)) {
            struct spread figure;
            const bool is_known = saved_sweep_figure(sweep, s, r, kind->key, &figure);
            const struct tree entry = tree_object(cell, kind->key);
            tree_number_if(entry, "median", is_known, figure.median);
            tree_number_if(entry, "lowest", is_known, figure.lowest);
            tree_number_if(entry, "highest", is_known, figure.highest);
            tree_count(entry, "runs", figure.count);
        }
    }
}

bool sweep_write_json(FILE *stream, const struct sweep *sweep, const char *state)
{
    const struct saved_sweep *results = &sweep->results;
    bool has_failed = false;
    json_t *json = json_object();
    const struct tree root = {json, &has_failed};
    tree_count(root, "format", SAVED_SWEEP_FORMAT);
    tree_text(root, "kind", "sweep");
    tree_text(root, "append_version", APPEND_VERSION);
    tree_text(root, "state", state);
    tree_text(root, "started_utc", sweep->started_utc);
    tree_text(root, "adapter", sweep->plan.adapter->name);
    tree_text(root, "target", target_of(sweep));
    put_list(root, "sessions", results->sessions, results->sessions_count);
    put_list(root, "records", results->records, results->records_count);
    tree_count(root, "repeat", results->repeat);
    tree_text(root, "table", sweep_table_name(sweep->table));
    tree_bool(root, "has_begun", sweep->has_begun);
    const struct tree words = tree_array(root, "options");
    for (size_t i = 0; i < sweep->word_count; i++) {
        tree_append(words, json_string(sweep->words[i]));
    }
    tree_text(root, "target_given", sweep->target);
    tree_bool(root, "target_has_password", sweep->has_secret);
    tree_text(root, "working_folder", sweep->working_folder);
    put_cells(root, results);
    put_runs(root, results);
    return tree_write(stream, json, has_failed);
}

/* The files in the folder. */

static enum exit_code fail(struct error *error, int number, const char *what, const char *path)
{
    if (number == EEXIST) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "output folder '%.130s' exists already: name another with --out, or resume its "
                  "sweep with --resume",
                  path);
        return EXIT_CODE_USAGE;
    }
    error_set(error, ERROR_SYSTEM, number, NULL, "cannot %s '%.150s': %s", what, path,
              strerror(number));
    return file_is_no_room(number) ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_USAGE;
}

/* A file by its content: a figure, the state, or all figures. */
static enum exit_code write_file(const struct sweep *sweep, const char *name, const char *column,
                                 const char *state, struct error *error)
{
    struct buffer content = {.bytes = NULL};
    FILE *stream = buffer_open(&content);
    bool is_written = stream != NULL;
    if (is_written && column != NULL) {
        write_table(stream, &sweep->results, column);
    } else if (is_written && state != NULL) {
        is_written = sweep_write_json(stream, sweep, state);
    } else if (is_written) {
        write_all(stream, sweep);
    }
    is_written = stream != NULL && fclose(stream) == 0 && is_written;
    const int number = is_written ? file_replace(sweep->lock, name, &content, true) : ENOMEM;
    buffer_fini(&content);
    if (number == 0) {
        return EXIT_CODE_OK;
    }
    char path[SWEEP_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", sweep->results.folder, name);
    fail(error, number, "write", path);
    return EXIT_CODE_CLIENT_LIMIT;
}

enum exit_code sweep_write_files(const struct sweep *sweep, const char *state, struct error *error)
{
    enum exit_code code = write_file(sweep, "sweep.csv", NULL, NULL, error);
    size_t id = 0;
    for (const struct figure *kind = next_headline(&id); kind != NULL && code == EXIT_CODE_OK;
         kind = next_headline(&id)) {
        char name[FIGURE_KEY_BYTES + 8];
        snprintf(name, sizeof name, "%.*s.csv",
                 (int)(strlen(kind->key) - strlen(figure_suffix(kind->key))), kind->key);
        code = write_file(sweep, name, kind->key, NULL, error);
    }
    return code == EXIT_CODE_OK ? write_file(sweep, "sweep.json", NULL, state, error) : code;
}

enum exit_code sweep_lock(struct sweep *sweep, struct error *error)
{
    const char *folder = sweep->results.folder;
    sweep->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sweep->lock < 0) {
        return fail(error, errno, "open output folder", folder);
    }
    if (flock(sweep->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "another append sweep is at work in '%.160s', or a run that it left behind",
                  folder);
        return EXIT_CODE_USAGE;
    }
    return EXIT_CODE_OK;
}

enum exit_code sweep_create_files(struct sweep *sweep, struct error *error)
{
    const char *folder = sweep->results.folder;
    int number = file_make_parents(folder);
    if (number == 0 && mkdir(folder, 0777) != 0) {
        number = errno;
    }
    if (number != 0) {
        return fail(error, number, "make output folder", folder);
    }
    enum exit_code code = sweep_lock(sweep, error);
    if (code == EXIT_CODE_OK) {
        code = sweep_write_files(sweep, "running", error);
    }
    if (code != EXIT_CODE_OK) {
        file_remove_folder(folder);
    }
    return code;
}

/* The report. */

const char *sweep_format(double value, char text[UNITS_TEXT_BYTES])
{
    const double size = value < 0 ? -value : value;
    if (size >= 1000 && size < 1e18) {
        units_format_count((uint64_t)(size + 0.5), text);
    } else {
        snprintf(text, UNITS_TEXT_BYTES, "%.*f", size < 1 ? 3 : size < 100 ? 2 : 1, value);
    }
    return text;
}

/* Why a cell has no figures. */
static const char *word_of(int code)
{
    static const char *const words[] = {
        [EXIT_CODE_SHORT] = "short",         [EXIT_CODE_USAGE] = "refused",
        [EXIT_CODE_CLIENT_LIMIT] = "client", [EXIT_CODE_SERVER] = "server",
        [EXIT_CODE_EXPECTATION] = "missed",  [EXIT_CODE_INVALID] = "invalid",
        [EXIT_CODE_INTERRUPTED] = "stopped",
    };
    const bool is_known =
        code >= 0 && (size_t)code < sizeof words / sizeof words[0] && words[code] != NULL;
    return is_known ? words[code] : "failed";
}

/* True when something is to be said of a run below the tables. */
static bool has_note(const struct saved_sweep *sweep, const struct saved_sweep_run *run)
{
    const char *verdict = saved_sweep_text(sweep, run, "verdict");
    return run->state == SAVED_FAILED || run->reason[0] != '\0' ||
           (run->state == SAVED_DONE && verdict[0] != '\0' && strcmp(verdict, "VALID") != 0);
}

static void format_cell(const struct saved_sweep *sweep, size_t s, size_t r, const char *column,
                        char text[CELL_BYTES])
{
    struct spread figure;
    size_t done = 0;
    const struct saved_sweep_run *failed = NULL;
    bool is_marked = false;
    for (size_t i = r * sweep->sessions_count + s; i < sweep->run_count;
         i += sweep->sessions_count * sweep->records_count) {
        const struct saved_sweep_run *run = &sweep->runs[i];
        done += run->state == SAVED_DONE ? 1 : 0;
        failed = run->state == SAVED_FAILED && failed == NULL ? run : failed;
        is_marked = is_marked || has_note(sweep, run);
    }
    const char *mark = is_marked ? "*" : "";
    char median[UNITS_TEXT_BYTES], lowest[UNITS_TEXT_BYTES], highest[UNITS_TEXT_BYTES];
    if (!saved_sweep_figure(sweep, s, r, column, &figure)) {
        snprintf(text, CELL_BYTES, "%s%s",
                 done > 0         ? "unknown"
                 : failed != NULL ? word_of(failed->exit_code)
                                  : "not run",
                 done == 0 && failed == NULL ? "" : mark);
    } else if (sweep->repeat == 1) {
        snprintf(text, CELL_BYTES, "%s%s", sweep_format(figure.median, median), mark);
    } else {
        snprintf(text, CELL_BYTES, "%s (%s-%s)%s", sweep_format(figure.median, median),
                 sweep_format(figure.lowest, lowest), sweep_format(figure.highest, highest), mark);
    }
}

/* Width of a column: its header and its cells, in all tables alike. */
static size_t column_width(const struct saved_sweep *sweep, size_t r)
{
    size_t width = strlen(UNITS_COUNT(sweep->records[r]));
    for (size_t s = 0; s < sweep->sessions_count; s++) {
        size_t id = 0;
        for (const struct figure *kind = next_headline(&id); kind != NULL;
             kind = next_headline(&id)) {
            char text[CELL_BYTES];
            format_cell(sweep, s, r, kind->key, text);
            width = strlen(text) > width ? strlen(text) : width;
        }
    }
    return width;
}

/* The columns from `first` on that fit on a line, at least one. Returns the one behind them. */
static size_t write_block(FILE *stream, const struct saved_sweep *sweep, const char *column,
                          size_t first)
{
    static const char corner[] = "sessions \\ rows";
    size_t used = strlen(corner), end = first;
    do {
        used += GAP + column_width(sweep, end++);
    } while (end < sweep->records_count && used + GAP + column_width(sweep, end) <= SCREEN_COLUMNS);
    fputs(corner, stream);
    for (size_t r = first; r < end; r++) {
        fprintf(stream, "%*s%*s", GAP, "", (int)column_width(sweep, r),
                UNITS_COUNT(sweep->records[r]));
    }
    fputc('\n', stream);
    for (size_t s = 0; s < sweep->sessions_count; s++) {
        fprintf(stream, "%*s", (int)strlen(corner), UNITS_COUNT(sweep->sessions[s]));
        for (size_t r = first; r < end; r++) {
            char text[CELL_BYTES];
            format_cell(sweep, s, r, column, text);
            fprintf(stream, "%*s%*s", GAP, "", (int)column_width(sweep, r), text);
        }
        fputc('\n', stream);
    }
    return end;
}

static void add_note(FILE *stream, const struct saved_sweep *sweep,
                     const struct saved_sweep_run *run)
{
    char text[SAVED_SWEEP_REASON_BYTES + 160], repeat[24] = "";
    if (sweep->repeat > 1) {
        snprintf(repeat, sizeof repeat, ", repeat %u", run->repeat);
    }
    const int length = snprintf(text, sizeof text, "%s x %s%s", UNITS_COUNT(run->sessions),
                                UNITS_COUNT(run->records), repeat);
    if (run->reason[0] != '\0') {
        snprintf(text + length, sizeof text - (size_t)length, ", exit code %d: %s", run->exit_code,
                 run->reason);
    } else {
        snprintf(text + length, sizeof text - (size_t)length, ": %.20s: %.300s",
                 saved_sweep_text(sweep, run, "verdict"),
                 saved_sweep_text(sweep, run, "verdict_reason"));
    }
    screen_add_wrapped(stream, run->state == SAVED_FAILED ? "* Failed" : "* Note", NOTE_COLUMN,
                       text);
}

/* What the marks stand for: failed runs first. */
static void add_notes(FILE *stream, const struct saved_sweep *sweep)
{
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < sweep->run_count; i++) {
            const struct saved_sweep_run *run = &sweep->runs[i];
            if (has_note(sweep, run) && (run->state == SAVED_FAILED) == (pass == 0) &&
                count++ < NOTES_MAX) {
                add_note(stream, sweep, run);
            }
        }
    }
    if (count > NOTES_MAX) {
        screen_add(stream, "*         and %zu more: see sweep.csv", count - NOTES_MAX);
    }
}

void sweep_write_text(FILE *stream, const struct sweep *sweep)
{
    const struct saved_sweep *results = &sweep->results;
    size_t id = 0;
    for (const struct figure *kind = next_headline(&id); kind != NULL; kind = next_headline(&id)) {
        fprintf(stream, "%s,%s%s\n", kind->label,
                kind->unit == FIGURE_UNIT_PERCENT ? " % of all CPUs" : figure_unit(kind->key),
                results->repeat > 1 ? ": median (lowest-highest)" : "");
        for (size_t first = 0; first < results->records_count;) {
            first = write_block(stream, results, kind->key, first);
        }
        fputc('\n', stream);
    }
    add_notes(stream, results);
    screen_add_wrapped(stream, "Target", NOTE_COLUMN, target_of(sweep));
    screen_add_wrapped(stream, "Table", NOTE_COLUMN, sweep_table_phrase(sweep->table));
    if ((sweep->plan.adapter->flags & ADAPTER_EMBEDDED) == 0) {
        screen_add_wrapped(
            stream, "Memory", NOTE_COLUMN,
            "the server is not restarted between runs: it may keep what earlier ones "
            "made it take");
    }
    screen_add(stream, "Runs      %zu of %zu done, %zu failed, %zu not run",
               saved_sweep_count(results, SAVED_DONE), results->run_count,
               saved_sweep_count(results, SAVED_FAILED), saved_sweep_count(results, SAVED_PENDING));
    screen_add_files(stream, results->folder);
}
