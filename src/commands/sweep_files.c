#include "commands/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "report/csv.h"
#include "report/files.h"
#include "report/report.h"
#include "report/screen.h"
#include "report/tree.h"

enum {
    DECIMALS_MAX = 9,
    CELL_BYTES = 4 * UNITS_TEXT_BYTES,
    GAP = 2,
    NOTES_MAX = 10,
    NOTE_COLUMN = 10,
};

const struct sweep_table_text sweep_tables[TABLES] = {
    [TABLE_OWN] = {"own", "each run has a new database in its own folder"},
    [TABLE_NONE] = {"none", "the adapter keeps no rows"},
    [TABLE_MADE] = {"made",
                    "created by the first run, dropped and recreated before each later run"},
    [TABLE_RECREATED] = {"recreated", "dropped and recreated before each run"},
    [TABLE_KEPT] = {"kept", "kept: each run appends to the rows of the runs before it"},
    [TABLE_SCRIPT] = {"script", "kept: each run starts from what the previous run left"},
};

/* A run's number of rows as text; "-" if an option, such as --duration, ends the run instead. */
#define UNITS_ROWS(rows) ((rows) == 0 ? "-" : UNITS_COUNT(rows))

void sweep_path(const struct sweep *sweep, const struct saved_sweep_run *run, const char *end,
                char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/%s%s", sweep->results.folder, run->name, end);
}

const char *sweep_variant(const struct saved_sweep *sweep, const struct saved_sweep_run *run)
{
    return sweep->variants.texts[run->variant];
}

static const char *target_of(const struct sweep *sweep)
{
    return sweep->plan.owned_path != NULL ? sweep->plan.adapter->name : sweep->plan.display_target;
}

/* How one number is computed from the numbers of a cell's done runs. */
enum statistic {
    /* median for sweep.csv; has one more decimal place if the number of runs is even */
    STATISTIC_MEDIAN,
    STATISTIC_LOWEST,
    STATISTIC_HIGHEST,
    /* median for the table of a figure; ignores runs that lack the figure */
    STATISTIC_TABLE,
};
static const char *const statistics[] = {"median", "lowest", "highest"};

/* Returns the text of a cell in column `key`. If all done runs of the cell have the same text, this
 * is the text; otherwise it is the statistic of their numbers. Returns NULL if the texts differ and
 * the statistic cannot be computed. */
static const char *text_of_cell(const struct saved_sweep *sweep, size_t cell,
                                enum statistic statistic, const char *key,
                                char text[FIGURE_TEXT_BYTES])
{
    const char *first = NULL;
    bool are_equal = true;
    size_t done = 0, decimals = 0;
    for (size_t i = cell; i < sweep->run_count; i += saved_sweep_cells(sweep)) {
        if (sweep->runs[i].state == SAVED_DONE) {
            const char *cell_text = saved_sweep_text(sweep, &sweep->runs[i], key);
            const char *point = strchr(cell_text, '.');
            const size_t digits = point == NULL ? 0 : strlen(point + 1);
            decimals = digits > decimals ? digits : decimals;
            first = first == NULL ? cell_text : first;
            are_equal = are_equal && strcmp(cell_text, first) == 0;
            done++;
        }
    }
    double values[SAVED_SWEEP_LIST_MAX];
    const size_t known = saved_sweep_values(sweep, cell, key, values);
    if (are_equal) {
        return first;
    }
    if (known == 0 ||
        (statistic != STATISTIC_TABLE && (known < done || figure_unit_of(key) == FIGURE_UNIT_ID))) {
        return NULL;
    }
    const struct spread spread = spread_of(values, known);
    const double numbers[] = {spread.median, spread.lowest, spread.highest, spread.median};
    decimals = decimals < DECIMALS_MAX ? decimals : DECIMALS_MAX;
    decimals += statistic == STATISTIC_MEDIAN && known % 2 == 0 ? 1 : 0;
    snprintf(text, FIGURE_TEXT_BYTES, "%.*f", (int)decimals, numbers[statistic]);
    return text;
}

/* Writes a line of sweep.csv: the line of `run`; if `run` is NULL, the line of `cell` with the
 * statistic; if both are NULL, the header. */
static void write_line(FILE *stream, const struct sweep *sweep, const struct saved_sweep_run *run,
                       const size_t *cell, enum statistic statistic)
{
    static const struct saved_sweep_run none = {.repeat = 0};
    const struct saved_sweep_run *shown = run == NULL ? &none : run;
    const struct saved_sweep *results = &sweep->results;
    /* figures that are known even for a run without a summary */
    struct figure_set known = {.operations = plan_operations(&sweep->plan)};
    known.values[FIGURE_ADAPTER].text = sweep->plan.adapter->name;
    known.values[FIGURE_TARGET].text = target_of(sweep);
    known.values[FIGURE_SESSIONS] =
        (struct figure_value){.is_known = true, .count = shown->sessions};
    known.values[FIGURE_RECORDS] = (struct figure_value){.is_known = true, .count = shown->records};
    known.values[FIGURE_EXIT_CODE] =
        (struct figure_value){.is_known = true, .count = (uint64_t)shown->exit_code};
    struct csv csv;
    csv_begin(&csv, stream, run == NULL && cell == NULL);
    csv_text(&csv, "statistic", cell == NULL ? "run" : statistics[statistic]);
    csv_decimal(&csv, "repeat", run == NULL ? (double)NAN : shown->repeat, 0);
    csv_text(&csv, "variant", sweep_variant(results, cell == NULL ? shown : &results->runs[*cell]));
    csv_text(&csv, "folder", shown->name);
    csv_text(&csv, "state", run == NULL ? NULL : saved_state_names[run->state]);
    csv_text(&csv, "reason", shown->reason);
    struct figure_cell column = {0};
    for (size_t at = 0; figure_next_cell(&known, &at, &column);) {
        char text[FIGURE_TEXT_BYTES];
        const bool has_figures = shown->has_row || shown->summary.rows > 0;
        const char *of_run = cell == NULL && has_figures
                                 ? saved_sweep_text(results, run, column.key)
                                 : figure_format(column.unit, &column.value, text);
        csv_text(&csv, column.key,
                 cell != NULL ? text_of_cell(results, *cell, statistic, column.key, text) : of_run);
    }
    csv_end(&csv);
}

/* Writes sweep.csv. */
static void write_runs(FILE *stream, const struct sweep *sweep)
{
    const struct saved_sweep *results = &sweep->results;
    const size_t cells = saved_sweep_cells(results);
    write_line(stream, sweep, NULL, NULL, 0);
    for (size_t i = 0; i < results->run_count; i++) {
        if (results->runs[i].state != SAVED_PENDING) {
            write_line(stream, sweep, &results->runs[i], NULL, 0);
        }
    }
    for (size_t cell = 0; cell < cells && results->repeat > 1; cell++) {
        bool has_done = false;
        for (size_t i = cell; i < results->run_count; i += cells) {
            has_done = has_done || results->runs[i].state == SAVED_DONE;
        }
        for (size_t s = 0; s < COUNT_OF(statistics) && has_done; s++) {
            write_line(stream, sweep, NULL, &cell, (enum statistic)s);
        }
    }
}

/* Writes the table of a figure, such as max_cpu.csv. The table has a row for each number of
 * sessions, and a column for each number of records or each variant. */
static void write_table(FILE *stream, const struct saved_sweep *results, const char *key)
{
    struct csv csv;
    csv_begin(&csv, stream, false);
    csv_text(&csv, NULL, "sessions");
    for (size_t column = 0; column < saved_sweep_columns(results); column++) {
        char records[24], title[SAVED_SWEEP_NAME_BYTES];
        snprintf(records, sizeof records, "%" PRIu64,
                 results->runs[column * results->sessions_count].records);
        csv_text(&csv, NULL, saved_sweep_column(results, column, records, title));
    }
    csv_end(&csv);
    for (size_t s = 0; s < results->sessions_count; s++) {
        csv_begin(&csv, stream, false);
        csv_count(&csv, NULL, results->sessions[s]);
        for (size_t column = 0; column < saved_sweep_columns(results); column++) {
            char text[FIGURE_TEXT_BYTES];
            const size_t cell = column * results->sessions_count + s;
            csv_text(&csv, NULL, text_of_cell(results, cell, STATISTIC_TABLE, key, text));
        }
        csv_end(&csv);
    }
}

bool sweep_write_json(FILE *stream, const struct sweep *sweep, bool is_running)
{
    const bool has_script = sweep->given.workload != NULL;
    const struct saved_sweep *results = &sweep->results;
    bool has_failed = false;
    json_t *json = json_object();
    const struct tree root = {json, &has_failed};
    tree_count(root, "format", SAVED_SWEEP_FORMAT);
    tree_text(root, "kind", "sweep");
    tree_text(root, "append_version", APPEND_VERSION);
    const char *state = saved_sweep_count(results, SAVED_PENDING) == 0 ? "finished" : "interrupted";
    tree_text(root, "state", is_running ? "running" : state);
    tree_text(root, "started_utc", sweep->started_utc);
    tree_text(root, "adapter", sweep->plan.adapter->name);
    tree_text(root, "target", target_of(sweep));
    const struct tree sessions = tree_array(root, "sessions"),
                      records = tree_array(root, "records"),
                      variants = tree_array(root, "variants");
    for (size_t s = 0; s < results->sessions_count; s++) {
        tree_append(sessions, tree_integer(results->sessions[s]));
    }
    for (size_t r = 0; r < results->records_count; r++) {
        tree_append(records, tree_integer(results->records[r]));
    }
    for (size_t v = 0; v < results->variants.count && results->variants.texts[v][0] != '\0'; v++) {
        tree_append(variants, tree_string(results->variants.texts[v]));
    }
    tree_count(root, "repeat", results->repeat);
    tree_count(root, "ranks", ranks_count(sweep->ranks));
    tree_text(root, "table", sweep_tables[sweep->table].name);
    tree_bool(root, "has_begun", sweep->has_begun);
    tree_put(root, "options", json_incref(sweep->words));
    tree_text(root, "target_given", sweep->target);
    tree_bool(root, "target_has_password", sweep->has_secret);
    tree_text(root, "working_folder", sweep->working_folder);
    tree_put(root, "settings_changed",
             sweep->changes == NULL ? json_array() : json_incref(sweep->changes));
    const struct tree cells = tree_array(root, "cells");
    for (size_t i = 0; i < saved_sweep_cells(results); i++) {
        const size_t s = i % results->sessions_count, column = i / results->sessions_count;
        const struct tree cell = tree_append_object(cells);
        tree_count(cell, "sessions", results->runs[i].sessions);
        tree_count(cell, "records", results->runs[i].records);
        tree_text(cell, "variant", sweep_variant(results, &results->runs[i]));
        const struct figure *kind;
        for (size_t h = 0; (kind = report_sweep_figure(has_script, h)) != NULL; h++) {
            struct spread figure; /* null in the file if no done run has the figure */
            const bool is_known = saved_sweep_figure(results, s, column, kind->key, &figure);
            const struct tree entry = tree_object(cell, kind->key);
            tree_number_if(entry, "median", is_known, figure.median);
            tree_number_if(entry, "lowest", is_known, figure.lowest);
            tree_number_if(entry, "highest", is_known, figure.highest);
            tree_count(entry, "runs", figure.count);
        }
    }
    const struct tree runs = tree_array(root, "runs");
    for (size_t i = 0; i < results->run_count; i++) {
        const struct saved_sweep_run *run = &results->runs[i];
        const bool has_ended = run->state != SAVED_PENDING;
        const struct tree entry = tree_append_object(runs);
        tree_count(entry, "sessions", run->sessions);
        tree_count(entry, "records", run->records);
        tree_text(entry, "variant", sweep_variant(results, run));
        tree_count(entry, "repeat", run->repeat);
        tree_text(entry, "folder", run->name);
        tree_text(entry, "state", saved_state_names[run->state]);
        tree_count_if(entry, "exit_code", has_ended, (uint64_t)run->exit_code);
        tree_text(entry, "reason", run->reason);
        tree_number_if(entry, "wall_s", has_ended && run->wall_s > 0, run->wall_s);
    }
    return tree_write(stream, json, has_failed);
}

enum exit_code sweep_refuse_path(struct error *error, int number, const char *what,
                                 const char *path)
{
    error_set(error, ERROR_SYSTEM, number, NULL, "cannot %s '%.150s': %s", what, path,
              strerror(number));
    return file_is_out_of_resources(number) ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_USAGE;
}

enum exit_code sweep_write_files(const struct sweep *sweep, bool is_running, struct error *error)
{
    const bool has_script = sweep->given.workload != NULL;
    const struct saved_sweep *results = &sweep->results;
    char name[FIGURE_KEY_BYTES + 8] = "sweep.csv";
    bool is_last = false;
    for (size_t file = 0; !is_last; file++) {
        const struct figure *kind = file == 0 ? NULL : report_sweep_figure(has_script, file - 1);
        struct buffer content = {.bytes = NULL};
        FILE *stream = buffer_open(&content);
        bool is_written = stream != NULL;
        is_last = file > 0 && kind == NULL;
        if (kind != NULL) {
            /* keep the unit in the file name of transactions_per_s, because "transactions" would be
             * a count */
            const size_t unit =
                kind->unit == FIGURE_UNIT_PER_S ? 0 : strlen(figure_suffix(kind->key));
            snprintf(name, sizeof name, "%.*s.csv", (int)(strlen(kind->key) - unit), kind->key);
        } else if (is_last) {
            snprintf(name, sizeof name, "sweep.json");
        }
        if (is_written && kind != NULL) {
            write_table(stream, results, kind->key);
        } else if (is_written && is_last) {
            is_written = sweep_write_json(stream, sweep, is_running);
        } else if (is_written) {
            write_runs(stream, sweep);
        }
        is_written = stream != NULL && fclose(stream) == 0 && is_written;
        const int number = is_written ? file_replace(sweep->lock, name, &content, true) : ENOMEM;
        buffer_fini(&content);
        if (number != 0) {
            char path[PATH_BYTES];
            snprintf(path, sizeof path, "%s/%s", sweep->results.folder, name);
            sweep_refuse_path(error, number, "write", path);
            return EXIT_CODE_CLIENT_LIMIT;
        }
    }
    return EXIT_CODE_OK;
}

enum exit_code sweep_lock_folder(struct sweep *sweep, const char *folder, struct error *error)
{
    sweep->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sweep->lock < 0) {
        return sweep_refuse_path(error, errno, "open output folder", folder);
    }
    if (flock(sweep->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return usage_refuse(error,
                            "another append sweep or one of its runs still works in '%.160s': wait "
                            "until it has ended",
                            folder);
    }
    return EXIT_CODE_OK;
}

enum exit_code sweep_create_files(struct sweep *sweep, struct error *error)
{
    const char *folder = sweep->results.folder;
    enum exit_code code = report_make_folder(folder, ", or resume its sweep with --resume", error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    code = sweep_lock_folder(sweep, folder, error);
    if (code == EXIT_CODE_OK) {
        code = sweep_write_files(sweep, true, error);
    }
    if (code != EXIT_CODE_OK) {
        file_remove_folder(folder);
    }
    return code;
}

const char *sweep_format_figure(double value, char text[UNITS_TEXT_BYTES])
{
    const double size = fabs(value);
    if (size >= 1000 && size < 1e18) {
        char count[UNITS_TEXT_BYTES];
        snprintf(text, UNITS_TEXT_BYTES, "%s%.30s", value < 0 ? "-" : "",
                 units_format_count((uint64_t)(size + 0.5), count));
        return text;
    }
    const int decimals = size < 1 ? 3 : 2;
    snprintf(text, UNITS_TEXT_BYTES, "%.*f", size < 100 ? decimals : 1, value);
    return text;
}

/* Returns whether a run wrote rows for less than a second. Its figures are then not repeatable. */
static bool is_short(const struct saved_sweep *sweep, const struct saved_sweep_run *run)
{
    double append_s;
    return run->state == SAVED_DONE && saved_sweep_number(sweep, run, "append_s", &append_s) &&
           append_s < 1;
}

/* Returns whether a run has a note below the tables. */
static bool has_note(const struct saved_sweep *sweep, const struct saved_sweep_run *run)
{
    const char *verdict = saved_sweep_text(sweep, run, "verdict");
    return run->state == SAVED_FAILED || run->reason[0] != '\0' ||
           (run->state == SAVED_DONE && verdict[0] != '\0' && strcmp(verdict, "VALID") != 0);
}

/* Writes the title of a column of the tables: the number of records, or the variant. Returns
 * `text`. */
static const char *format_column(const struct saved_sweep *sweep, size_t column,
                                 char text[SAVED_SWEEP_NAME_BYTES])
{
    return saved_sweep_column(
        sweep, column, UNITS_ROWS(sweep->runs[column * sweep->sessions_count].records), text);
}

static size_t format_cell(const struct saved_sweep *sweep, size_t s, size_t column, const char *key,
                          char text[CELL_BYTES])
{
    static const char *const failures[] = {
        [EXIT_CODE_SHORT] = "short",         [EXIT_CODE_USAGE] = "refused",
        [EXIT_CODE_CLIENT_LIMIT] = "client", [EXIT_CODE_SERVER] = "server",
        [EXIT_CODE_EXPECTATION] = "missed",  [EXIT_CODE_INVALID] = "invalid",
        [EXIT_CODE_INTERRUPTED] = "stopped",
    };
    struct spread figure;
    const char *mark = "", *missing = "not run";
    bool has_ended = false;
    for (size_t i = column * sweep->sessions_count + s; i < sweep->run_count;
         i += saved_sweep_cells(sweep)) {
        const struct saved_sweep_run *run = &sweep->runs[i];
        const size_t code = (size_t)run->exit_code;
        mark = has_note(sweep, run) || is_short(sweep, run) ? "*" : mark;
        if (run->state == SAVED_DONE) {
            missing = "unknown";
        } else if (run->state == SAVED_FAILED && !has_ended) {
            missing =
                code < COUNT_OF(failures) && failures[code] != NULL ? failures[code] : "failed";
        }
        has_ended = has_ended || run->state != SAVED_PENDING;
    }
    char median[UNITS_TEXT_BYTES], lowest[UNITS_TEXT_BYTES], highest[UNITS_TEXT_BYTES];
    if (!saved_sweep_figure(sweep, s, column, key, &figure)) {
        return (size_t)snprintf(text, CELL_BYTES, "%s%s", missing, has_ended ? mark : "");
    }
    if (sweep->repeat == 1) {
        return (size_t)snprintf(text, CELL_BYTES, "%s%s",
                                sweep_format_figure(figure.median, median), mark);
    }
    return (size_t)snprintf(text, CELL_BYTES, "%s (%s-%s)%s",
                            sweep_format_figure(figure.median, median),
                            sweep_format_figure(figure.lowest, lowest),
                            sweep_format_figure(figure.highest, highest), mark);
}

/* Writes the tables, at most 80 characters wide. A table has a row for each number of sessions, and
 * a column for each number of records or each variant. If the columns are too wide together, the
 * last ones follow below the first ones. */
static void write_tables(FILE *stream, const struct saved_sweep *results, bool has_script)
{
    const char *corner =
        results->variants.texts[0][0] == '\0' ? "sessions \\ rows" : "       sessions";
    const size_t columns = saved_sweep_columns(results);
    /* widths of the columns, the same in all tables */
    size_t widths[SAVED_SWEEP_LIST_MAX * SAVED_SWEEP_LIST_MAX];
    const struct figure *kind;
    char text[CELL_BYTES], title[SAVED_SWEEP_NAME_BYTES];
    for (size_t column = 0; column < columns; column++) {
        widths[column] = strlen(format_column(results, column, title));
        for (size_t h = 0; (kind = report_sweep_figure(has_script, h)) != NULL; h++) {
            for (size_t s = 0; s < results->sessions_count; s++) {
                const size_t width = format_cell(results, s, column, kind->key, text);
                widths[column] = width > widths[column] ? width : widths[column];
            }
        }
        widths[column] += GAP;
    }
    for (size_t h = 0; (kind = report_sweep_figure(has_script, h)) != NULL; h++) {
        if (!report_sweep_shows(results, kind)) {
            continue;
        }
        fprintf(stream, "%s,%s%s\n", kind->label,
                kind->unit == FIGURE_UNIT_PERCENT ? " % of all CPUs" : figure_unit(kind->key),
                results->repeat > 1 ? ": median (lowest-highest)" : "");
        for (size_t first = 0, end = 0; first < columns; first = end) {
            size_t used = strlen(corner) + widths[end++];
            while (end < columns && used + widths[end] <= SCREEN_COLUMNS) {
                used += widths[end++];
            }
            fputs(corner, stream);
            for (size_t column = first; column < end; column++) {
                fprintf(stream, "%*s", (int)widths[column], format_column(results, column, title));
            }
            fputc('\n', stream);
            for (size_t s = 0; s < results->sessions_count; s++) {
                fprintf(stream, "%*s", (int)strlen(corner), UNITS_COUNT(results->sessions[s]));
                for (size_t column = first; column < end; column++) {
                    format_cell(results, s, column, kind->key, text);
                    fprintf(stream, "%*s", (int)widths[column], text);
                }
                fputc('\n', stream);
            }
        }
        fputc('\n', stream);
    }
}

/* Writes a note for each run whose cell has a "*" in the tables. The notes of failed runs are
 * first. */
static void write_notes(FILE *stream, const struct saved_sweep *results)
{
    const size_t runs = results->run_count;
    size_t count = 0;
    for (size_t i = 0; i < 2 * runs; i++) {
        const struct saved_sweep_run *run = &results->runs[i < runs ? i : i - runs];
        const bool is_failed = run->state == SAVED_FAILED;
        if (!has_note(results, run) || is_failed != (i < runs) || count++ >= NOTES_MAX) {
            continue;
        }
        char note[SAVED_SWEEP_REASON_BYTES + 160 + SAVED_SWEEP_VARIANT_BYTES], repeat[24] = "";
        const char *variant = sweep_variant(results, run);
        if (results->repeat > 1) {
            snprintf(repeat, sizeof repeat, ", repeat %u", run->repeat);
        }
        const int length =
            snprintf(note, sizeof note, "%s x %s%s%s%s", UNITS_COUNT(run->sessions),
                     UNITS_ROWS(run->records), variant[0] == '\0' ? "" : ", ", variant, repeat);
        if (run->reason[0] != '\0') {
            snprintf(note + length, sizeof note - (size_t)length, ", exit code %d: %s",
                     run->exit_code, run->reason);
        } else {
            snprintf(note + length, sizeof note - (size_t)length, ": %.20s: %.300s",
                     saved_sweep_text(results, run, "verdict"),
                     saved_sweep_text(results, run, "verdict_reason"));
        }
        screen_add_wrapped(stream, is_failed ? "* Failed" : "* Note", NOTE_COLUMN, note);
    }
    if (count > NOTES_MAX) {
        screen_add(stream, "*         and %zu more: see sweep.csv", count - NOTES_MAX);
    }
    size_t shorts = 0;
    for (size_t i = 0; i < results->run_count; i++) {
        shorts += is_short(results, &results->runs[i]);
    }
    if (shorts > 0) {
        screen_add(stream,
                   "* Short   %zu of %zu runs appended for under 1 s: too short to be repeatable",
                   shorts, results->run_count);
    }
}

void sweep_write_text(FILE *stream, const struct sweep *sweep)
{
    const struct saved_sweep *results = &sweep->results;
    write_tables(stream, results, sweep->given.workload != NULL);
    write_notes(stream, results);
    for (size_t i = 0; i < json_array_size(sweep->changes); i++) {
        char note[SAVED_SWEEP_REASON_BYTES];
        saved_sweep_describe_change(json_array_get(sweep->changes, i), note, sizeof note);
        screen_add_wrapped(stream, "Settings", NOTE_COLUMN, note);
    }
    screen_add_wrapped(stream, "Target", NOTE_COLUMN, target_of(sweep));
    screen_add_wrapped(stream, "Table", NOTE_COLUMN, sweep_tables[sweep->table].phrase);
    if ((sweep->plan.adapter->flags & ADAPTER_EMBEDDED) == 0) {
        screen_add_wrapped(stream, "Memory", NOTE_COLUMN,
                           "the server is not restarted between runs: it may still hold memory "
                           "that it allocated in earlier runs");
    }
    /* if the columns are variants, the tables do not show the number of rows: show it here */
    const bool has_hidden_rows = results->variants.texts[0][0] != '\0' &&
                                 results->records_count == 1 && results->records[0] > 0;
    screen_add(stream, "Runs      %zu of %zu done, %zu failed, %zu not run%s%s%s",
               saved_sweep_count(results, SAVED_DONE), results->run_count,
               saved_sweep_count(results, SAVED_FAILED), saved_sweep_count(results, SAVED_PENDING),
               has_hidden_rows ? "; each of " : "",
               has_hidden_rows ? UNITS_COUNT(results->records[0]) : "",
               has_hidden_rows ? " rows" : "");
    screen_add_files(stream, results->folder);
}
