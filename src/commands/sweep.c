/*
 * append sweep: a run for every pair of sessions and records, and with --vary for each variant of
 * a script, each once or several times. figures/saved.h says in which order, and what of it is on
 * disk. Of several ranks all run the program of each run; all else is done by rank 0.
 *
 * Everything belongs to the main thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/together.h"
#include "figures/saved.h"
#include "load/setup.h"
#include "plan/facts.h"
#include "report/csv.h"
#include "report/expectations.h"
#include "report/files.h"
#include "report/report.h"
#include "report/screen.h"
#include "report/tree.h"

#define TICK_NS MONO_NS_PER_S
#define HASTY_TICK_NS (50 * MONO_NS_PER_MS)
#define PLAIN_LINE_NS (30 * MONO_NS_PER_S)

enum {
    PATH_BYTES = PLAN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES + 32,
    LOG_TAIL_BYTES = 4096,
    OWN_WORDS = 10, /* of a run's command line, beside the options */
    LINE_BYTES = 1024,
    SIZE_BYTES = LINE_BYTES / 4,
    WIDEST = 1000,
    DECIMALS_MAX = 9,
    CELL_BYTES = 4 * UNITS_TEXT_BYTES,
    GAP = 2,
    NOTES_MAX = 10,
    NOTE_COLUMN = 10,
};

/* Which rows a run finds in its table. */
enum sweep_table {
    TABLE_OWN,
    TABLE_NONE,
    TABLE_MADE,
    TABLE_RECREATED, /* as asked for */
    TABLE_KEPT,      /* those of earlier runs, and what was there before */
    TABLE_SCRIPT,    /* those that a script declares, by the first run that finds none */
    TABLES,
};
static const struct {
    const char *name; /* in sweep.json */
    const char *phrase;
} tables[TABLES] = {
    [TABLE_OWN] = {"own", "each run has a new database in its own folder"},
    [TABLE_NONE] = {"none", "the adapter keeps no rows"},
    [TABLE_MADE] = {"made",
                    "created by the first run, dropped and recreated before each of the others"},
    [TABLE_RECREATED] = {"recreated", "dropped and recreated before each run"},
    [TABLE_KEPT] = {"kept", "kept: a run finds the rows of the runs before it"},
    [TABLE_SCRIPT] = {"script", "the workload's: a run finds them as the run before it left them"},
};

/* A run's rows, where something else ends it "-". */
#define UNITS_ROWS(rows) ((rows) == 0 ? "-" : UNITS_COUNT(rows))

/* Begins all zero, but for `given` and `lock`. */
struct sweep {
    struct saved_sweep results; /* folder, lists, runs; read back when the sweep resumes; owned */
    struct plan given;          /* of a sweep that resumes: what it was started with */
    struct plan plan;           /* of the first run; owned */
    struct facts facts;         /* of that plan */
    /* Where it connects to is in part known from its folder only: how that is given again. */
    const char *place;
    json_t *words;                  /* options but those of this call alone, "--batch=50"; owned */
    char target[512];               /* as given, without password; "": none */
    bool has_secret;                /* as given it has a password */
    struct saved_variants variants; /* that are asked for */
    size_t other_shape; /* the first that declares other tables than the first of all; 0: none */
    char working_folder[PLAN_PATH_BYTES]; /* where relative paths of the options begin */

    enum sweep_table table;
    struct ranks *ranks;
    bool is_stopped; /* by a signal to a rank, or because one is lost */
    bool has_begun;  /* some run was started: the table of TABLE_MADE is the sweep's */
    bool has_made;   /* the same, by this call: it found no table before its first run */
    bool has_marks;  /* the database keeps the mark of a table that append makes */
    json_t *changes; /* of the server's settings, once all runs are over; owned */
    char started_utc[40];
    int lock; /* descriptor of the folder, locked; -1 = none */

    struct notice notice; /* of the progress */
    int64_t next_line_ns;
};

static void path_of(const struct sweep *sweep, const struct saved_sweep_run *run, const char *end,
                    char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/%s%s", sweep->results.folder, run->name, end);
}

static const char *target_of(const struct sweep *sweep)
{
    return sweep->plan.owned_path != NULL ? sweep->plan.adapter->name : sweep->plan.display_target;
}

/* "table=normal"; "": nothing varies. */
static const char *variant_of(const struct saved_sweep *sweep, const struct saved_sweep_run *run)
{
    return sweep->variants.texts[run->variant];
}

/* sweep.csv and the tables. A cell is placed by its first run. */

/* Of the numbers of a cell's done runs: in sweep.csv, where the mean of two may have one digit more
 * than they have, and in the table of a figure, where a run without one does not matter. */
enum statistic {
    STATISTIC_MEDIAN,
    STATISTIC_LOWEST,
    STATISTIC_HIGHEST,
    STATISTIC_TABLE,
};
static const char *const statistics[] = {"median", "lowest", "highest"};

/* What the done runs of a cell have in common, the statistic of their numbers, or nothing. */
static const char *text_of_cell(const struct saved_sweep *sweep, size_t cell,
                                enum statistic statistic, const char *key,
                                char text[FIGURE_TEXT_BYTES])
{
    const char *first = NULL;
    bool are_equal = true;
    size_t done = 0, decimals = 0;
    for (size_t i = cell; i < sweep->run_count; i += saved_sweep_cells(sweep)) {
        if (sweep->runs[i].state == SAVED_DONE) {
            const char *own = saved_sweep_text(sweep, &sweep->runs[i], key);
            const char *point = strchr(own, '.');
            const size_t behind = point == NULL ? 0 : strlen(point + 1);
            decimals = behind > decimals ? behind : decimals;
            first = first == NULL ? own : first;
            are_equal = are_equal && strcmp(own, first) == 0;
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

/* A line of sweep.csv: of a run, with run == NULL the header, or a statistic of a cell. */
static void write_line(FILE *stream, const struct sweep *sweep, const struct saved_sweep_run *run,
                       const size_t *cell, enum statistic statistic)
{
    static const struct saved_sweep_run none = {.repeat = 0};
    const struct saved_sweep_run *shown = run == NULL ? &none : run;
    const struct saved_sweep *results = &sweep->results;
    /* what is known of a run, be it one that left no summary */
    struct figure_set known = {.operations = operation_list_all()};
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
    csv_text(&csv, "variant", variant_of(results, cell == NULL ? shown : &results->runs[*cell]));
    csv_text(&csv, "folder", shown->name);
    csv_text(&csv, "state", run == NULL ? NULL : saved_state_names[run->state]);
    csv_text(&csv, "reason", shown->reason);
    struct figure_cell column = {0};
    for (size_t at = 0; figure_next_cell(&known, &at, &column);) {
        char text[FIGURE_TEXT_BYTES];
        csv_text(&csv, column.key,
                 cell != NULL ? text_of_cell(results, *cell, statistic, column.key, text)
                 : shown->has_row || shown->summary.rows > 0
                     ? saved_sweep_text(results, run, column.key)
                     : figure_format(column.unit, &column.value, text));
    }
    csv_end(&csv);
}

/* sweep.json. False: out of memory, or a failed write. */
static bool write_json(FILE *stream, const struct sweep *sweep, bool is_running)
{
    const bool has_script = sweep->given.workload != NULL;
    const struct saved_sweep *results = &sweep->results;
    bool has_failed = false;
    json_t *json = json_object();
    const struct tree root = {json, &has_failed};
    tree_count(root, "format", SAVED_SWEEP_FORMAT);
    tree_text(root, "kind", "sweep");
    tree_text(root, "append_version", APPEND_VERSION);
    tree_text(root, "state",
              is_running                                       ? "running"
              : saved_sweep_count(results, SAVED_PENDING) == 0 ? "finished"
                                                               : "interrupted");
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
    tree_text(root, "table", tables[sweep->table].name);
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
        tree_text(cell, "variant", variant_of(results, &results->runs[i]));
        const struct figure *kind;
        for (size_t h = 0; (kind = report_sweep_figure(has_script, h)) != NULL; h++) {
            struct spread figure; /* null where no done run has one */
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
        tree_text(entry, "variant", variant_of(results, run));
        tree_count(entry, "repeat", run->repeat);
        tree_text(entry, "folder", run->name);
        tree_text(entry, "state", saved_state_names[run->state]);
        tree_count_if(entry, "exit_code", has_ended, (uint64_t)run->exit_code);
        tree_text(entry, "reason", run->reason);
        tree_number_if(entry, "wall_s", has_ended && run->wall_s > 0, run->wall_s);
    }
    return tree_write(stream, json, has_failed);
}

/* The files in the folder. */

static enum exit_code refuse_path(struct error *error, int number, const char *what,
                                  const char *path)
{
    if (number == EEXIST) {
        return usage_refuse(error,
                            "output folder '%.130s' exists already: name another with --out, or "
                            "resume its sweep with --resume",
                            path);
    }
    error_set(error, ERROR_SYSTEM, number, NULL, "cannot %s '%.150s': %s", what, path,
              strerror(number));
    return file_is_no_room(number) ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_USAGE;
}

/* Replaces all files, so that a reader never sees a half one; sweep.json comes last. */
static enum exit_code write_files(const struct sweep *sweep, bool is_running, struct error *error)
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
            /* transactions are counted, too: there the unit is part of the name */
            const size_t unit =
                kind->unit == FIGURE_UNIT_PER_S ? 0 : strlen(figure_suffix(kind->key));
            snprintf(name, sizeof name, "%.*s.csv", (int)(strlen(kind->key) - unit), kind->key);
        } else if (is_last) {
            snprintf(name, sizeof name, "sweep.json");
        }
        if (is_written && kind != NULL) {
            /* max_cpu.csv and the like: sessions down, records or variants across */
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
                    csv_text(&csv, NULL,
                             text_of_cell(results, cell, STATISTIC_TABLE, kind->key, text));
                }
                csv_end(&csv);
            }
        } else if (is_written && is_last) {
            is_written = write_json(stream, sweep, is_running);
        } else if (is_written) {
            write_line(stream, sweep, NULL, NULL, 0);
            for (size_t i = 0; i < results->run_count; i++) {
                if (results->runs[i].state != SAVED_PENDING) {
                    write_line(stream, sweep, &results->runs[i], NULL, 0);
                }
            }
            const size_t cells = saved_sweep_cells(results);
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
        is_written = stream != NULL && fclose(stream) == 0 && is_written;
        const int number = is_written ? file_replace(sweep->lock, name, &content, true) : ENOMEM;
        buffer_fini(&content);
        if (number != 0) {
            char path[PATH_BYTES];
            snprintf(path, sizeof path, "%s/%s", sweep->results.folder, name);
            refuse_path(error, number, "write", path);
            return EXIT_CODE_CLIENT_LIMIT;
        }
    }
    return EXIT_CODE_OK;
}

/* EXIT_CODE_USAGE: another sweep is at work in the folder, or a run of one. */
static enum exit_code lock_folder(struct sweep *sweep, struct error *error)
{
    const char *folder = sweep->results.folder;
    sweep->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sweep->lock < 0) {
        return refuse_path(error, errno, "open output folder", folder);
    }
    if (flock(sweep->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return usage_refuse(
            error, "another append sweep is at work in '%.160s', or a run that it left behind",
            folder);
    }
    return EXIT_CODE_OK;
}

/* Makes the folder (parents too) and the files of a sweep that has not begun; on failure nothing is
 * left behind. */
static enum exit_code create_files(struct sweep *sweep, struct error *error)
{
    const char *folder = sweep->results.folder;
    int number = file_make_parents(folder);
    if (number == 0 && mkdir(folder, 0777) != 0) {
        number = errno;
    }
    if (number != 0) {
        return refuse_path(error, number, "make output folder", folder);
    }
    enum exit_code code = lock_folder(sweep, error);
    if (code == EXIT_CODE_OK) {
        code = write_files(sweep, true, error);
    }
    if (code != EXIT_CODE_OK) {
        file_remove_folder(folder);
    }
    return code;
}

/* The report. */

/* 1,234, 321.5, 98.62, 0.057 */
static const char *format_figure(double value, char text[UNITS_TEXT_BYTES])
{
    const double size = fabs(value);
    if (size >= 1000 && size < 1e18) {
        return units_format_count((uint64_t)(size + 0.5), text);
    }
    snprintf(text, UNITS_TEXT_BYTES, "%.*f", size < 1 ? 3 : size < 100 ? 2 : 1, value);
    return text;
}

/* True when its figures would not repeat: rows went, or transactions were run, for under a second.
 */
static bool is_short(const struct saved_sweep *sweep, const struct saved_sweep_run *run)
{
    double append_s;
    return run->state == SAVED_DONE && saved_sweep_number(sweep, run, "append_s", &append_s) &&
           append_s < 1;
}

/* True when something is to be said of a run alone below the tables. */
static bool has_note(const struct saved_sweep *sweep, const struct saved_sweep_run *run)
{
    const char *verdict = saved_sweep_text(sweep, run, "verdict");
    return run->state == SAVED_FAILED || run->reason[0] != '\0' ||
           (run->state == SAVED_DONE && verdict[0] != '\0' && strcmp(verdict, "VALID") != 0);
}

/* What a column of the tables is called. */
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
        return (size_t)snprintf(text, CELL_BYTES, "%s%s", format_figure(figure.median, median),
                                mark);
    }
    return (size_t)snprintf(text, CELL_BYTES, "%s (%s-%s)%s", format_figure(figure.median, median),
                            format_figure(figure.lowest, lowest),
                            format_figure(figure.highest, highest), mark);
}

static void write_text(FILE *stream, const struct sweep *sweep)
{
    const bool has_script = sweep->given.workload != NULL;
    const struct saved_sweep *results = &sweep->results;
    /* the four tables, sessions down and records or variants across, at most 80 columns wide:
     * columns that do not fit beside the others follow below them */
    const char *corner =
        results->variants.texts[0][0] == '\0' ? "sessions \\ rows" : "       sessions";
    const size_t columns = saved_sweep_columns(results);
    size_t widths[SAVED_SWEEP_LIST_MAX * SAVED_SWEEP_LIST_MAX]; /* in all tables alike */
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
    /* what the marks stand for: failed runs first */
    size_t count = 0;
    for (size_t i = 0; i < 2 * results->run_count; i++) {
        const struct saved_sweep_run *run = &results->runs[i % results->run_count];
        const bool is_failed = run->state == SAVED_FAILED;
        if (!has_note(results, run) || is_failed != (i < results->run_count) ||
            count++ >= NOTES_MAX) {
            continue;
        }
        char note[SAVED_SWEEP_REASON_BYTES + 160 + SAVED_SWEEP_VARIANT_BYTES], repeat[24] = "";
        const char *variant = variant_of(results, run);
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
        screen_add(stream, "* Short   %zu of %zu runs appended for under 1 s: too short to repeat",
                   shorts, results->run_count);
    }
    for (size_t i = 0; i < json_array_size(sweep->changes); i++) {
        char note[SAVED_SWEEP_REASON_BYTES];
        saved_sweep_describe_change(json_array_get(sweep->changes, i), note, sizeof note);
        screen_add_wrapped(stream, "Settings", NOTE_COLUMN, note);
    }
    screen_add_wrapped(stream, "Target", NOTE_COLUMN, target_of(sweep));
    screen_add_wrapped(stream, "Table", NOTE_COLUMN, tables[sweep->table].phrase);
    if ((sweep->plan.adapter->flags & ADAPTER_EMBEDDED) == 0) {
        screen_add_wrapped(stream, "Memory", NOTE_COLUMN,
                           "the server is not restarted between runs: it may keep what earlier "
                           "ones made it take");
    }
    const bool is_unsaid = results->variants.texts[0][0] != '\0' && results->records_count == 1 &&
                           results->records[0] > 0; /* by the columns */
    screen_add(stream, "Runs      %zu of %zu done, %zu failed, %zu not run%s%s%s",
               saved_sweep_count(results, SAVED_DONE), results->run_count,
               saved_sweep_count(results, SAVED_FAILED), saved_sweep_count(results, SAVED_PENDING),
               is_unsaid ? "; each of " : "", is_unsaid ? UNITS_COUNT(results->records[0]) : "",
               is_unsaid ? " rows" : "");
    screen_add_files(stream, results->folder);
}

/* What the sweep is asked for. */

/* "--batch=50", cut off where there is no more room. */
static const char *word_of(const struct given_option *option, char *text, size_t size)
{
    const bool has_value = option->value != NULL;
    snprintf(text, size, "--%s%s%s", option->entry->name, has_value ? "=" : "",
             has_value ? option->value : "");
    return text;
}

/* The first of the options with this name that were given; NULL: it was not. */
static const struct given_option *find_given(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->given_count; i++) {
        if (strcmp(plan->given[i].entry->name, name) == 0) {
            return &plan->given[i];
        }
    }
    return NULL;
}

/* With --resume it may be another than the sweep was started with. */
static bool is_replaceable(const struct option_entry *entry)
{
    return entry->scope == OPTION_OF_CALL || entry->scope == OPTION_OF_PLACE;
}

/* A text of sweep.json, or what stands for one that is missing. */
static const char *saved_text(const struct sweep *sweep, const char *key, const char *missing)
{
    const char *text = json_string_value(json_object_get(sweep->results.json, key));
    return text == NULL ? missing : text;
}

static enum exit_code refuse(const struct sweep *sweep, const char *what, struct error *error)
{
    error_set(error, ERROR_DATA, 0, NULL, "%.120s/sweep.json %s", sweep->results.folder, what);
    return EXIT_CODE_USAGE;
}

/* Reads the folder of a sweep that resumes, and puts what it was started with into sweep->given. */
static enum exit_code ask_again(struct sweep *sweep, struct error *error)
{
    struct saved_sweep *results = &sweep->results;
    const struct plan now = sweep->given;
    if (saved_sweep_read(results, now.sweep.resume, error) != STATUS_OK) {
        return error->kind == ERROR_MEMORY ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_USAGE;
    }
    if (!results->is_own) {
        return usage_refuse(
            error,
            "'%.140s' or its sweep.json belongs to another user, whose options --resume would "
            "run: read sweep.json, then resume a copy of yours (cp -r)",
            results->folder);
    }
    const char *version = saved_text(sweep, "append_version", "?");
    if (strcmp(version, APPEND_VERSION) != 0) {
        char what[120];
        snprintf(what, sizeof what,
                 "is of append %.20s, this is %s: figures of two versions are not put together",
                 version, APPEND_VERSION);
        return refuse(sweep, what, error);
    }
    const json_t *words = json_object_get(results->json, "options");
    const char *there = saved_text(sweep, "working_folder", NULL);
    const char *target = saved_text(sweep, "target_given", NULL);
    if (!json_is_array(words) || there == NULL) {
        return refuse(sweep, "does not say what the sweep was asked for", error);
    }
    if (strcmp(sweep->working_folder, there) != 0) {
        return usage_refuse(error, "the sweep was started in '%.160s': resume it there", there);
    }
    if (json_is_true(json_object_get(results->json, "target_has_password")) &&
        now.target_given == NULL) {
        return usage_refuse(
            error, "the sweep's target (%.100s) is not kept with its password: give TARGET again",
            target);
    }
    /* what was saved, but for what is given in its place */
    struct plan *given = &sweep->given;
    options_init(given, COMMAND_SWEEP);
    given->is_json = now.is_json; /* also when an option is wrong */
    given->target_given = now.target_given == NULL ? target : now.target_given;
    enum exit_code code = EXIT_CODE_OK;
    for (size_t i = 0; i < json_array_size(words) && code == EXIT_CODE_OK; i++) {
        const char *word = json_string_value(json_array_get(words, i));
        if (word == NULL) {
            return refuse(sweep, "has an option that is no text", error);
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
    /* any other option that is given now must be the one of the sweep */
    const size_t count = given->given_count;
    for (size_t i = 0; i < now.given_count && code == EXIT_CODE_OK; i++) {
        const struct given_option *option = &now.given[i];
        bool is_same = false;
        if (strcmp(option->entry->name, "out") == 0) {
            return usage_refuse(error,
                                "--out does not go with --resume: the sweep stays in its folder");
        }
        if (is_replaceable(option->entry)) {
            code = option_take(given, option->entry, option->value, error);
            continue;
        }
        for (size_t w = 0; w < count && !is_same; w++) {
            is_same = given->given[w].entry == option->entry &&
                      (option->value == NULL || strcmp(given->given[w].value, option->value) == 0);
        }
        if (!is_same) {
            const struct given_option *before = find_given(given, option->entry->name);
            char word[71], was[61];
            return usage_refuse(
                error, "%s is not what the sweep was started with (%s): leave it out",
                word_of(option, word, sizeof word),
                before == NULL ? "no such option" : word_of(before, was, sizeof was));
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

/* Takes over the runs of a sweep that resumes. One that is not over is run again; so is one whose
 * folder is gone, and with --retry-failed one that failed. */
static enum exit_code take_over(struct sweep *sweep, struct error *error)
{
    struct saved_sweep *results = &sweep->results;
    const struct sweep_list *sessions = &sweep->given.sweep.sessions;
    const struct sweep_list *records = &sweep->given.sweep.records;
    const char *table = saved_text(sweep, "table", "");
    int known = 0;
    while (known < TABLES && strcmp(table, tables[known].name) != 0) {
        known++;
    }
    if (known == TABLES || results->repeat != sweep->given.sweep.repeat ||
        results->sessions_count != sessions->count || results->records_count != records->count ||
        memcmp(&results->variants, &sweep->variants, sizeof results->variants) != 0 ||
        memcmp(results->sessions, sessions->values, sessions->count * sizeof(uint64_t)) != 0 ||
        memcmp(results->records, records->values, records->count * sizeof(uint64_t)) != 0) {
        return refuse(sweep, "has other runs than its options ask for", error);
    }
    const json_t *saved = json_object_get(results->json, "ranks");
    const unsigned ranks = saved == NULL ? 1 : (unsigned)json_integer_value(saved);
    if (ranks != ranks_count(sweep->ranks)) {
        return usage_refuse(error, "the sweep was started on %u %s, this is %u: start as many",
                            ranks, units_plural(ranks, "rank", "ranks"), ranks_count(sweep->ranks));
    }
    sweep->table = (enum sweep_table)known;
    sweep->has_begun = json_is_true(json_object_get(results->json, "has_begun"));
    snprintf(sweep->started_utc, sizeof sweep->started_utc, "%s",
             saved_text(sweep, "started_utc", ""));
    for (size_t i = 0; i < results->run_count; i++) {
        struct saved_sweep_run *run = &results->runs[i];
        char path[PATH_BYTES];
        path_of(sweep, run, "/summary.csv", path);
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

/* Whether one of the first texts, "a=1,b=x", gives the parameter. */
static bool is_given(const struct plan_texts *texts, size_t count, const char *name, size_t length)
{
    bool is = false;
    for (size_t i = 0; i < count; i++) {
        for (const char *at = texts->texts[i]; at != NULL && !is; at = strchr(at, ',')) {
            at += *at == ',' ? 1 : 0;
            is = strncmp(at, name, length) == 0 && at[length] == '=';
        }
    }
    return is;
}

/* The variants that --vary asks for, "a=1,b=x": each of the first list with all of the others. */
static enum exit_code take_varied(struct saved_variants *variants, const struct plan *given,
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
        bool is_good = name > 0 && text[name] == '=' && strspn(text, allowed) == strlen(text);
        *variants = (struct saved_variants){.count = 0};
        for (size_t b = 0; b < before.count && is_good; b++) {
            for (const char *at = text + name; *at != '\0' && is_good;) {
                const size_t length = strcspn(++at, ",");
                char *to = variants->texts[variants->count % SAVED_SWEEP_LIST_MAX];
                if (variants->count++ == SAVED_SWEEP_LIST_MAX) {
                    return usage_refuse(error, "--vary asks for more than %d variants",
                                        SAVED_SWEEP_LIST_MAX);
                }
                if (snprintf(to, sizeof variants->texts[0], "%s%s%.*s=%.*s", before.texts[b],
                             i > 0 ? "," : "", (int)name, text, (int)length,
                             at) >= (int)sizeof variants->texts[0]) {
                    return usage_refuse(error, "--vary: %.40s… is longer than %d bytes", to,
                                        SAVED_SWEEP_VARIANT_BYTES - 1);
                }
                is_good = length > 0;
                at += length;
            }
        }
        if (is_good && (is_given(varied, i, text, name) ||
                        is_given(&given->sets, given->sets.count, text, name))) {
            return usage_refuse(error, "--vary '%.60s': give a parameter once, by --vary or --set",
                                text);
        }
        if (!is_good) {
            return usage_refuse(error,
                                "--vary '%.60s' is not NAME=A,B,... of letters, digits, '_', '.', "
                                "'+' and '-', which are in the names of the runs' folders",
                                text);
        }
    }
    return EXIT_CODE_OK;
}

/* Before anything is connected, loads the script with what varies. */
static enum exit_code check_variants(struct sweep *sweep, struct error *error)
{
    const struct plan *given = &sweep->given;
    const struct saved_variants *variants = &sweep->variants;
    char hashes[SAVED_SWEEP_LIST_MAX][sizeof((const struct script *)NULL)->hash];
    uint64_t shape = 0;
    if (given->sweep.varied.count > 0 && given->sets.count == PLAN_TEXTS_MAX) {
        return usage_refuse(error, "with --vary --set can be given %d times", PLAN_TEXTS_MAX - 1);
    }
    for (size_t i = 0; i < variants->count && given->sweep.varied.count > 0; i++) {
        struct plan plan = *given;
        /* what --set gives again would win */
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
                return usage_refuse(error,
                                    "--vary: %s and %s are the same to %.60s: give a parameter "
                                    "once, by --vary or --set, and a value once",
                                    variants->texts[j], variants->texts[i], given->workload);
            }
        }
    }
    return given->sweep.is_keeping_rows && sweep->other_shape > 0
               ? usage_refuse(error,
                              "--keep-rows: the tables of %.60s are others with %s than with %s: "
                              "--recreate makes them again before each run",
                              given->workload, variants->texts[sweep->other_shape],
                              variants->texts[0])
               : EXIT_CODE_OK;
}

/* Makes the plans of all runs, of which the first is kept, and looks at where they connect to. */
static enum exit_code make_plans(struct sweep *sweep, struct error *error)
{
    const struct plan *given = &sweep->given;
    const struct sweep_list *sessions = &given->sweep.sessions, *records = &given->sweep.records;
    const struct saved_variants *variants = &sweep->variants;
    for (size_t i = 0; i < sessions->count * records->count * variants->count; i++) {
        struct plan other = *given, *plan = i == 0 ? &sweep->plan : &other;
        *plan = other;
        /* who listens on a port is asked once */
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
    /* a password would go to a target that nobody has named now */
    static const char *const variables[] = {"APPEND_PASSWORD", "PGPASSWORD", "MYSQL_PWD"};
    for (size_t i = 0; i < COUNT_OF(variables) && sweep->place != NULL; i++) {
        if (getenv(variables[i]) != NULL && (sweep->plan.adapter->flags & ADAPTER_EMBEDDED) == 0) {
            return usage_refuse(
                error, "the password in %s would go to %.100s, which sweep.json names: give %s",
                variables[i], sweep->plan.display_target, sweep->place);
        }
    }
    const char *before = saved_text(sweep, "target_given", "");
    const char *adapter_before = saved_text(sweep, "adapter", "?");
    if (sweep->given.sweep.resume != NULL && strcmp(adapter_before, adapter) != 0) {
        return usage_refuse(error, "the sweep was started on %.40s, this is %s", adapter_before,
                            adapter);
    }
    if (sweep->given.sweep.resume != NULL && strcmp(before, sweep->target) != 0) {
        return usage_refuse(error, "target %.80s is not that of the sweep (%.80s): leave it out",
                            sweep->target, before);
    }
    return EXIT_CODE_OK;
}

/* Completes *sweep, with its runs: what is given is looked at as a whole. */
static enum exit_code ask(struct sweep *sweep, struct error *error)
{
    const struct plan *given = &sweep->given;
    struct expectations expectations;
    if (getcwd(sweep->working_folder, sizeof sweep->working_folder) == NULL) {
        return usage_refuse(error,
                            "this folder cannot be named: it is gone, or its path is too long");
    }
    enum exit_code code = given->sweep.resume == NULL ? EXIT_CODE_OK : ask_again(sweep, error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    if (given->workload != NULL && given->sweep.records.count == 0) {
        sweep->given.sweep.records.count = 1; /* of 0: something else ends the runs */
    }
    const struct {
        bool is_wrong;
        const char *what;
    } wrongs[] = {
        {given->sweep.resume == NULL && given->sweep.is_retrying_failed,
         "--retry-failed goes with --resume DIR only"},
        {given->sweep.sessions.count == 0 || given->sweep.records.count == 0,
         "a sweep needs --sessions N,N,... and --records N,N,... or --workload NAME, or --resume "
         "DIR: see append sweep --help"},
        {given->sweep.is_keeping_rows && given->is_recreate, "--keep-rows contradicts --recreate"},
        {given->sweep.is_keeping_rows && given->is_seed_given && given->verify_mode == VERIFY_ROWS,
         "--seed gives all runs the same rows, which --verify rows cannot tell apart with "
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
                error, "--%s has a value that is not UTF-8, which cannot be kept for --resume",
                entry->name);
        }
    }
    code = take_varied(&sweep->variants, given, error);
    code = code == EXIT_CODE_OK ? check_variants(sweep, error) : code;
    code = code == EXIT_CODE_OK ? make_plans(sweep, error) : code;
    if (code != EXIT_CODE_OK) {
        return code;
    }
    if (expectations_parse(&expectations, &sweep->plan, error) != STATUS_OK) {
        return EXIT_CODE_USAGE;
    }
    code = ranks_share_out(sweep->ranks, &sweep->plan, &sweep->facts, error);
    code = code == EXIT_CODE_OK ? together_allow(sweep->ranks, &sweep->plan, error) : code;
    if (code != EXIT_CODE_OK) {
        return code;
    }
    json_t *target = json_string(sweep->target);
    const bool can_keep = target != NULL;
    json_decref(target);
    if (!can_keep) {
        return usage_refuse(error, "the target is not UTF-8, and cannot be kept for --resume");
    }
    if (sweep->given.sweep.resume != NULL) {
        return take_over(sweep, error);
    }
    /* the runs of a sweep that begins, in a folder that without --out has the name that a run would
     * have, with "sweep" for its sessions and records */
    struct saved_sweep *results = &sweep->results;
    const size_t room = sizeof results->folder - 64 - SAVED_SWEEP_NAME_BYTES; /* as a run has it */
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

/* Asks the database, and decides which rows runs find: a table that was there before is neither
 * dropped nor added to unless that was asked for. Of a sweep that resumes the answer stays. */
static enum exit_code choose_table(struct sweep *sweep, struct error *error)
{
    struct plan plan = sweep->plan;
    const bool has_none = (plan.adapter->flags & ADAPTER_DISCARDS) != 0;
    if (has_none || plan.owned_path != NULL) {
        sweep->table = has_none ? TABLE_NONE : TABLE_OWN;
        return sweep->given.sweep.is_keeping_rows
                   ? usage_refuse(error, "--keep-rows does not apply: %s",
                                  tables[sweep->table].phrase)
                   : EXIT_CODE_OK;
    }
    const struct script *script = plan_has_own_rows(&plan) ? NULL : plan.script;
    if (script != NULL && (sweep->given.sweep.varied.count == 0 || script->dataset_count == 0)) {
        sweep->table = sweep->given.is_recreate ? TABLE_RECREATED : TABLE_SCRIPT;
        return EXIT_CODE_OK;
    }
    struct setup_found found = {.is_there = false};
    enum exit_code code = setup_start_library(&sweep->facts, &plan, error);
    if (code == EXIT_CODE_OK) {
        const size_t count = script == NULL ? 1 : script->dataset_count;
        for (size_t i = 0; i < count && !found.is_there && code == EXIT_CODE_OK; i++) {
            if (script == NULL || script->datasets[i].is_declared) {
                plan.table_name = script == NULL ? plan.table_name : script->datasets[i].name;
                code = setup_find_table(&plan, &found, error);
            }
        }
        setup_stop_library(&plan);
    }
    if (code != EXIT_CODE_OK) {
        return code;
    }
    sweep->table = sweep->given.is_recreate             ? TABLE_RECREATED
                   : sweep->given.sweep.is_keeping_rows ? TABLE_KEPT
                                                        : TABLE_MADE;
    sweep->has_marks = found.has_marks;
    /* only a table that the sweep makes itself may be recreated; once begun, it is its own */
    const bool can_make = script != NULL || plan.is_default_table || plan.ddl != NULL;
    if (sweep->table != TABLE_MADE || sweep->has_begun) {
        return EXIT_CODE_OK;
    }
    if (found.is_there) {
        return usage_refuse(error, "table '%.60s' is there already: %s%s%s", plan.table_name,
                            can_make ? "--recreate lets the sweep drop it before each run" : "",
                            can_make && sweep->other_shape == 0 ? ", " : "",
                            sweep->other_shape == 0 ? "--keep-rows lets every run add to it" : "");
    }
    if (!can_make) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "there is no table '%.60s', and no --schema-file FILE to make it with",
                  plan.table_name);
        return EXIT_CODE_SERVER;
    }
    return EXIT_CODE_OK;
}

/* Progress on stderr: a line for each run that has ended, and on a terminal one line that is
 * rewritten, elsewhere a plain line at a run's start and every 30 s. */

/* A line that stays. */
static void keep_line(struct sweep *sweep, const char *text)
{
    char line[LINE_BYTES];
    text_clean_line(line, sizeof line, text, WIDEST);
    if (!sweep->given.is_quiet) {
        notice_keep(&sweep->notice, line);
    }
}

/* "1 session x 1,000 rows (2 of 3)" */
static const char *format_size(const struct sweep *sweep, const struct saved_sweep_run *run,
                               char text[SIZE_BYTES])
{
    char repeat[48] = "";
    if (sweep->results.repeat > 1) {
        snprintf(repeat, sizeof repeat, " (%u of %u)", run->repeat, sweep->results.repeat);
    }
    int length = snprintf(text, SIZE_BYTES, "%s session%s", UNITS_COUNT(run->sessions),
                          units_plural(run->sessions, "", "s"));
    if (run->records > 0) {
        length += snprintf(text + length, SIZE_BYTES - (size_t)length, " x %s row%s",
                           UNITS_COUNT(run->records), units_plural(run->records, "", "s"));
    }
    const char *variant = variant_of(&sweep->results, run);
    snprintf(text + length, SIZE_BYTES - (size_t)length, "%s%s%s", variant[0] == '\0' ? "" : ", ",
             variant, repeat);
    return text;
}

/* About how many seconds the rest takes, from the time that the rows so far took; runs without a
 * number of rows count as one each. `rows` and
 * `elapsed_s` are those of run `index`, which is going on: so many rows took so long. Below 0:
 * nothing is known yet. */
static double time_left(const struct saved_sweep *sweep, size_t index, uint64_t rows,
                        double elapsed_s)
{
    uint64_t rows_done = 0, rows_left = 0;
    double took_s = 0;
    for (size_t i = 0; i < sweep->run_count; i++) {
        const struct saved_sweep_run *run = &sweep->runs[i];
        const uint64_t size = run->records > 0 ? run->records : 1;
        if (i == index) {
            const uint64_t done = rows < run->records ? rows : run->records;
            rows_done += done;
            took_s += done > 0 ? elapsed_s : 0;
            rows_left += size - done;
        } else if (run->state == SAVED_DONE && run->wall_s > 0) {
            rows_done += size;
            took_s += run->wall_s;
        } else if (run->state == SAVED_PENDING) {
            rows_left += size;
        }
    }
    return rows_done > 0 ? took_s / (double)rows_done * (double)rows_left : -1;
}

/* Run `index` has been going on for so long. */
static void show_progress(struct sweep *sweep, size_t index, int64_t elapsed_ns)
{
    const bool is_first = elapsed_ns == 0;
    if (sweep->given.is_quiet ||
        (!sweep->notice.is_terminal && !is_first && elapsed_ns < sweep->next_line_ns)) {
        return;
    }
    sweep->next_line_ns = elapsed_ns + PLAIN_LINE_NS;
    const struct saved_sweep_run *run = &sweep->results.runs[index];
    const double elapsed_s = (double)elapsed_ns / (double)MONO_NS_PER_S;
    /* rows acknowledged by the intervals that the run has written, and when the last one ended;
     * of several ranks each writes its own */
    const bool is_one = sweep->ranks == NULL;
    double end_s = 0, rows = 0;
    char path[PATH_BYTES];
    path_of(sweep, run, "/intervals.csv", path);
    struct csv_table table;
    if (!is_first && is_one && csv_table_read(&table, path, NULL) == STATUS_OK) {
        const size_t column = csv_table_column(&table, "rows");
        for (size_t row = 0; row < table.rows; row++) {
            double own = 0;
            rows += csv_table_number(&table, row, column, &own) ? own : 0;
            csv_table_number(&table, row, csv_table_column(&table, "end_s"), &end_s);
        }
        csv_table_free(&table);
    }
    char size[SIZE_BYTES], text[LINE_BYTES], line[LINE_BYTES], done[2 * UNITS_TEXT_BYTES] = "";
    char left[2 * UNITS_TEXT_BYTES] = "time left not known yet";
    const double left_s = time_left(&sweep->results, index, (uint64_t)rows, end_s);
    if (left_s >= 0) { /* the rows are known up to the end of an interval */
        const double rest_s = left_s - (rows >= 1 || !is_one ? elapsed_s - end_s : 0);
        snprintf(left, sizeof left, "about %s left",
                 UNITS_SECONDS((uint64_t)(fmin(fmax(rest_s, 0), 1e9) + 0.5)));
    }
    if (!is_first && (run->records == 0 || !is_one)) {
        snprintf(done, sizeof done, ", %s so far", UNITS_SECONDS((uint64_t)(elapsed_s + 0.5)));
    } else if (!is_first) {
        snprintf(done, sizeof done, ", %.1f%% after %s",
                 floor(1000 * rows / (double)run->records) / 10,
                 UNITS_SECONDS((uint64_t)(elapsed_s + 0.5)));
    }
    snprintf(text, sizeof text, "run %zu of %zu, %s: %s%s", index + 1, sweep->results.run_count,
             left, format_size(sweep, run, size), done);
    const unsigned columns = notice_columns(&sweep->notice);
    text_clean_line(line, sizeof line, text, columns > 0 ? columns : WIDEST);
    notice_show(&sweep->notice, line);
}

/* The runs. */

/* What became of run `index`, by how its program ended and what it left. */
static void settle(struct sweep *sweep, size_t index, const struct child_end *end)
{
    struct saved_sweep_run *run = &sweep->results.runs[index];
    char log_path[PATH_BYTES], path[PATH_BYTES];
    struct error error = {0};
    struct stat log;
    path_of(sweep, run, ".log", log_path);
    path_of(sweep, run, "/summary.csv", path);
    /* the last line that the program said of itself, else the last line of all */
    static const char own[] = "append: ";
    char text[LOG_TAIL_BYTES + 1] = "", said[SAVED_SWEEP_REASON_BYTES] = "", *rest = text;
    FILE *file;
    if (file_open(log_path, &file, NULL) == STATUS_OK) {
        if (fseek(file, -(long)LOG_TAIL_BYTES, SEEK_END) != 0) {
            rewind(file);
        }
        text[fread(text, 1, LOG_TAIL_BYTES, file)] = '\0';
        fclose(file);
    }
    bool has_own = false;
    for (char *word; (word = strsep(&rest, "\n")) != NULL;) {
        const bool is_own = strncmp(word, own, strlen(own)) == 0;
        if (is_own || (!has_own && word[0] != '\0')) {
            snprintf(said, sizeof said, "%s", word + (is_own ? strlen(own) : 0));
        }
        has_own = has_own || is_own;
    }
    if (stat(log_path, &log) == 0 && log.st_size == 0) {
        unlink(log_path);
    }
    const bool has_summary =
        csv_table_read(&run->summary, path, &error) == STATUS_OK && run->summary.rows == 1;
    const bool is_known = (end->code >= EXIT_CODE_OK && end->code <= EXIT_CODE_INVALID) ||
                          end->code == EXIT_CODE_INTERNAL || end->code == EXIT_CODE_INTERRUPTED;
    run->exit_code = EXIT_CODE_INTERNAL;
    if (end->signal != 0) {
        /* nobody but the kernel, short of memory, is likely to send SIGKILL */
        run->exit_code = end->signal == SIGKILL ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_INTERNAL;
        snprintf(run->reason, sizeof run->reason, "its append was ended by signal %d (%s)%s%.300s",
                 end->signal, strsignal(end->signal), said[0] == '\0' ? "" : ": ", said);
    } else if (!is_known) {
        snprintf(run->reason, sizeof run->reason, "its append ended with exit code %d: %.300s",
                 end->code, said);
    } else if (end->code == EXIT_CODE_OK && !has_summary) {
        snprintf(run->reason, sizeof run->reason, "its append left no figures: %s", error.text);
    } else {
        run->exit_code = end->code;
        snprintf(run->reason, sizeof run->reason, "%s", end->code == EXIT_CODE_OK ? "" : said);
    }
    /* figures that missed an expectation are figures all the same */
    const bool is_good =
        run->exit_code == EXIT_CODE_OK || (run->exit_code == EXIT_CODE_EXPECTATION && has_summary);
    run->state = is_good ? SAVED_DONE : sweep->is_stopped ? SAVED_PENDING : SAVED_FAILED;
    if (!has_summary || run->state == SAVED_PENDING) {
        csv_table_free(&run->summary);
    }
    const char *const shown[] = {"elapsed_s", sweep->given.workload == NULL
                                                  ? "throughput_rows_per_s"
                                                  : "transactions_per_s"};
    char size[SIZE_BYTES], line[LINE_BYTES], number[UNITS_TEXT_BYTES];
    int length = snprintf(line, sizeof line, "run %zu of %zu: %s: %s%s", index + 1,
                          sweep->results.run_count, format_size(sweep, run, size),
                          run->state == SAVED_FAILED    ? "FAILED: "
                          : run->state == SAVED_PENDING ? "interrupted"
                                                        : "",
                          run->state == SAVED_FAILED ? run->reason : "");
    const char *comma = "";
    for (size_t i = 0; i < COUNT_OF(shown) && run->state == SAVED_DONE; i++) {
        double value;
        if (saved_sweep_number(&sweep->results, run, shown[i], &value)) {
            length += snprintf(line + length, sizeof line - (size_t)length, "%s%s%s", comma,
                               format_figure(value, number), figure_unit(shown[i]));
            comma = ", ";
        }
    }
    keep_line(sweep, line);
}

/* The program of run `index`, from its start to its end: this one again, in a process of its own.
 * Its memory and its CPU time are then the run's alone, and a crash ends the run and not the sweep;
 * what is locked stays so until the run is over too, when the sweep was killed. */
static enum exit_code run_program(struct sweep *sweep, size_t index, struct child_start start,
                                  struct child_end *end, struct error *error)
{
    pid_t pid = 0;
    const int in = start.in;
    start.program = "/proc/self/exe";
    start.out = -1;
    start.kept = sweep->lock;
    start.ends_with_us = true;
    const int number = sweep->ranks != NULL && in < 0 ? -in : child_start(&pid, &start);
    if (in >= 0) {
        close(in);
    }
    if (number != 0) {
        error_set(error, ERROR_SYSTEM, number, NULL, "cannot start a run: %s", strerror(number));
        return EXIT_CODE_CLIENT_LIMIT;
    }
    const int64_t start_ns = mono_now_ns();
    int64_t shown_ns = start_ns;
    bool is_told = false;
    show_progress(sweep, index, 0);
    /* a signal that comes just before the wait does not end it */
    const int64_t tick_ns = sweep->ranks == NULL ? TICK_NS / 4 : 0;
    while (!child_wait(pid, is_told ? MIN(HASTY_TICK_NS, tick_ns) : tick_ns, end)) {
        ranks_carry(sweep->ranks, HASTY_TICK_NS);
        if (interrupt_requested() && !is_told) {
            is_told = true;
            kill(pid, SIGINT);
        }
        const int64_t now_ns = mono_now_ns();
        if (now_ns - shown_ns >= TICK_NS && !is_told) {
            show_progress(sweep, index, now_ns - start_ns);
            shown_ns = now_ns;
        }
    }
    return EXIT_CODE_OK;
}

/* Names the tables that a run may drop whoever made them: those that the user named, or, where the
 * database keeps no marks, those that were missing before the sweep's first run. Else the run looks
 * at their marks. */
static bool name_recreated(const struct sweep *sweep, struct buffer *text)
{
    const struct script *script = plan_has_own_rows(&sweep->plan) ? NULL : sweep->plan.script;
    buffer_add_text(text, "--recreate=");
    const size_t bare = text->length;
    if (sweep->given.recreate_names != NULL) {
        buffer_add_text(text, sweep->given.recreate_names);
    } else if (sweep->table == TABLE_MADE && sweep->has_made && !sweep->has_marks &&
               script == NULL) {
        buffer_add_text(text, sweep->plan.table_name);
    } else if (sweep->table == TABLE_MADE && sweep->has_made && !sweep->has_marks) {
        for (size_t i = 0; i < script->dataset_count; i++) {
            buffer_add_format(text, "%s%s", text->length > bare ? "," : "",
                              script->datasets[i].is_declared ? script->datasets[i].name : "");
        }
    }
    return !buffer_failed(text) && text->length > bare;
}

static enum exit_code run_one(struct sweep *sweep, size_t index, struct error *error)
{
    struct buffer recreate = {0};
    struct saved_sweep_run *run = &sweep->results.runs[index];
    const bool is_recreate =
        sweep->table == TABLE_RECREATED || (sweep->table == TABLE_MADE && sweep->has_begun);
    char path[PATH_BYTES];
    struct stat about;
    /* what a run that was interrupted left behind goes */
    path_of(sweep, run, "", path);
    if (lstat(path, &about) == 0) {
        if (!sweep->given.is_quiet) {
            notice_print("%s: incomplete: removing its folder and rerunning", run->name);
        }
        const int number = file_remove_folder(path);
        if (number != 0) {
            refuse_path(error, number, "remove", path);
            return EXIT_CODE_CLIENT_LIMIT;
        }
    }
    if (!sweep->has_begun) {
        sweep->has_begun = sweep->has_made = true;
        const enum exit_code code = write_files(sweep, true, error);
        if (code != EXIT_CODE_OK) {
            return code;
        }
    }
    char sessions[24], records[24], own[80], out[PATH_BYTES + 8],
        set[SAVED_SWEEP_VARIANT_BYTES + 8];
    snprintf(sessions, sizeof sessions, "%" PRIu64, run->sessions);
    snprintf(records, sizeof records, "%" PRIu64, run->records);
    snprintf(out, sizeof out, "--out=%s/%s", sweep->results.folder, run->name);
    snprintf(set, sizeof set, "--set=%s", variant_of(&sweep->results, run));
    const char *argv[PLAN_GIVEN_MAX + OWN_WORDS] = {"append", "--quiet", out};
    size_t count = 3, word = 0;
    for (size_t i = 0; i < sweep->given.given_count; i++) {
        const enum option_scope scope = sweep->given.given[i].entry->scope;
        const json_t *text = scope == OPTION_OF_CALL ? NULL : json_array_get(sweep->words, word++);
        if (text != NULL && scope != OPTION_OF_SWEEP) {
            argv[count++] = json_string_value(text);
        }
    }
    if (is_recreate) {
        argv[count++] = name_recreated(sweep, &recreate) ? buffer_text(&recreate) : "--recreate";
    }
    if (sweep->given.sweep.varied.count > 0) {
        argv[count++] = set;
    }
    argv[count++] = "--";
    argv[count++] = sessions;
    if (run->records > 0) {
        argv[count++] = records;
    }
    /* records alone may look like a port */
    snprintf(own, sizeof own, "%s:", sweep->plan.adapter->name);
    argv[count] = sweep->plan.owned_path != NULL ? own : sweep->given.target_given; /* or its end */
    path_of(sweep, run, ".log", path);
    unlink(path); /* of a run before, or a pipe without a reader */
    const int log =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (log < 0) {
        error_set(error, ERROR_SYSTEM, errno, NULL, "%.160s: %s", path, strerror(errno));
        buffer_fini(&recreate);
        return EXIT_CODE_CLIENT_LIMIT;
    }
    path_of(sweep, run, "", path);
    struct buffer folder = {.bytes = path, .length = strlen(path)};
    struct child_end end;
    int in;
    ranks_open_run(sweep->ranks, &folder, &in);
    const int64_t start_ns = mono_now_ns();
    enum exit_code code = run_program(
        sweep, index, (struct child_start){.argv = argv, .in = in, .err = log}, &end, error);
    close(log);
    buffer_fini(&recreate);
    const bool was_started = code == EXIT_CODE_OK;
    run->wall_s = (double)(mono_now_ns() - start_ns) / (double)MONO_NS_PER_S;
    code = ranks_close_run(sweep->ranks, code, error);
    if (!was_started) {
        return code;
    }
    sweep->is_stopped = code != EXIT_CODE_OK || interrupt_requested();
    settle(sweep, index, &end);
    /* a run that did not begin because the disk is full: then none of those to come would */
    struct statvfs disk;
    path_of(sweep, run, "/run.json", path);
    if (run->state == SAVED_FAILED && run->exit_code == EXIT_CODE_CLIENT_LIMIT &&
        access(path, F_OK) != 0 && statvfs(sweep->results.folder, &disk) == 0 &&
        (uint64_t)disk.f_bavail * disk.f_frsize < RUN_FILES_ROOM_BYTES) {
        run->state = SAVED_PENDING;
        error_set(error, ERROR_SYSTEM, ENOSPC, NULL, "%s: cannot write to '%.120s': %s", run->name,
                  sweep->results.folder, strerror(ENOSPC));
        return EXIT_CODE_CLIENT_LIMIT;
    }
    struct error unwritten = {0};
    const bool is_well = code == EXIT_CODE_OK || code == EXIT_CODE_INTERRUPTED;
    const enum exit_code written = write_files(sweep, true, is_well ? error : &unwritten);
    return is_well ? written : code;
}

/* The programs of a rank that follows, until rank 0 has no run left. */
static void follow(struct sweep *sweep)
{
    struct buffer folder = {0};
    int in;
    child_prepare_waits();
    while (ranks_open_run(sweep->ranks, &folder, &in)) {
        struct error error = {0};
        struct child_end end = {0};
        const unsigned rank = ranks_number(sweep->ranks);
        const char *machine = ranks_machine(sweep->ranks, rank);
        char out[PATH_BYTES + 24];
        snprintf(out, sizeof out, "--out=%s.rank%u", buffer_text(&folder), rank);
        const char *const argv[] = {"append", "--quiet", out, NULL};
        /* of a run that was interrupted */
        const char *left = out + strlen("--out=");
        const int number = file_remove_folder(left);
        enum exit_code code;
        if (number != 0) {
            code = refuse_path(&error, number, "remove", left);
            if (in >= 0) {
                close(in);
            }
        } else {
            code = run_program(sweep, 0,
                               (struct child_start){.argv = argv, .in = in, .err = STDERR_FILENO},
                               &end, &error);
        }
        if (end.signal != 0 && !interrupt_requested()) {
            notice_print("machine %.60s, rank %u: its append was ended by signal %d (%s)", machine,
                         rank, end.signal, strsignal(end.signal));
        }
        if (code == EXIT_CODE_OK && interrupt_requested()) {
            error_set(&error, ERROR_CANCELLED, 0, NULL, "interrupted");
            code = EXIT_CODE_INTERRUPTED;
        }
        if (ranks_close_run(sweep->ranks, code, &error) != EXIT_CODE_OK) {
            break;
        }
    }
    /* of another machine than rank 0's nothing is in the sweep's folder */
    char *slash = strrchr(folder.length > 0 ? folder.bytes : "", '/');
    if (slash != NULL) {
        *slash = '\0';
        rmdir(folder.bytes);
    }
    buffer_fini(&folder);
}

/* The run that decides the exit code; NULL: all that are over ended with 0. What weighs most comes
 * first, as within a run: a defect, rows that are short, whose limit it was. */
static const struct saved_sweep_run *find_worst(const struct saved_sweep *sweep)
{
    static const enum exit_code order[] = {
        EXIT_CODE_INTERNAL, EXIT_CODE_SHORT,   EXIT_CODE_CLIENT_LIMIT, EXIT_CODE_SERVER,
        EXIT_CODE_USAGE,    EXIT_CODE_INVALID, EXIT_CODE_EXPECTATION,
    };
    for (size_t c = 0; c <= COUNT_OF(order); c++) {
        for (size_t i = 0; i < sweep->run_count; i++) {
            const int code = sweep->runs[i].exit_code;
            if (sweep->runs[i].state != SAVED_PENDING &&
                (c == COUNT_OF(order) ? code != EXIT_CODE_OK : code == (int)order[c])) {
                return &sweep->runs[i];
            }
        }
    }
    return NULL;
}

static enum exit_code sweep_all(struct sweep *sweep)
{
    const struct saved_sweep *results = &sweep->results;
    struct error error = {0};
    enum exit_code code = ask(sweep, &error);
    if (code == EXIT_CODE_OK && sweep->given.sweep.resume != NULL) {
        code = lock_folder(sweep, &error);
    }
    const size_t left = saved_sweep_count(results, SAVED_PENDING);
    if (code == EXIT_CODE_OK && left > 0) {
        code = choose_table(sweep, &error);
    }
    if (code == EXIT_CODE_OK && sweep->given.sweep.resume == NULL) {
        code = create_files(sweep, &error);
    }
    if (code != EXIT_CODE_OK) {
        return command_refuse(sweep->given.is_json, code, &error);
    }
    uint64_t rows = 0;
    for (size_t i = 0; i < results->run_count; i++) {
        rows += results->runs[i].records;
    }
    char line[LINE_BYTES] = "sweep: all runs have ended, nothing is left to do";
    if (left > 0) {
        char rows_text[2 * UNITS_TEXT_BYTES] = "";
        if (rows > 0) {
            snprintf(rows_text, sizeof rows_text, ", %s rows in all", UNITS_COUNT(rows));
        }
        snprintf(line, sizeof line, "sweep: %zu run%s%s; %zu run%s to go; table: %s",
                 results->run_count, units_plural(results->run_count, "", "s"), rows_text, left,
                 units_plural(left, "", "s"), tables[sweep->table].phrase);
    }
    keep_line(sweep, line);
    child_prepare_waits();
    for (size_t i = 0; i < results->run_count && code == EXIT_CODE_OK; i++) {
        if (results->runs[i].state == SAVED_PENDING && !sweep->is_stopped &&
            !interrupt_requested()) {
            code = run_one(sweep, i, &error);
        }
    }
    if (code == EXIT_CODE_OK) {
        sweep->changes = saved_sweep_changes(results);
        code = write_files(sweep, false, &error);
    }
    if (code != EXIT_CODE_OK) {
        return command_say(code, "%s; then resume with: append sweep --resume %s", error.text,
                           results->folder);
    }
    /* the report; the exit code is that of the run that weighs most */
    error_clear(&error);
    const size_t pending = saved_sweep_count(results, SAVED_PENDING);
    const size_t failed = saved_sweep_count(results, SAVED_FAILED);
    if (!sweep->given.is_json) {
        write_text(stdout, sweep);
    } else if (!write_json(stdout, sweep, false) && !ferror(stdout)) {
        return command_say(EXIT_CODE_CLIENT_LIMIT, "out of memory for the report");
    }
    const enum exit_code reported =
        sweep->given.is_report ? command_write_report(results->folder, sweep->given.is_json, &error)
                               : EXIT_CODE_OK;
    const enum exit_code written = command_finish_output();
    if (written != EXIT_CODE_OK) {
        return written;
    }
    const struct saved_sweep_run *worst = find_worst(results);
    char no_page[200] = "";
    if (reported != EXIT_CODE_OK) {
        snprintf(no_page, sizeof no_page, "; also there is no report: %.150s", error.text);
    }
    if (pending > 0) {
        return command_say(
            EXIT_CODE_INTERRUPTED,
            "interrupted: %zu of %zu runs have ended; resume with: append sweep --resume %s%s",
            results->run_count - pending, results->run_count, results->folder, no_page);
    }
    if (worst == NULL) {
        return reported == EXIT_CODE_OK ? reported : command_fail(reported, &error);
    }
    code = (enum exit_code)worst->exit_code;
    return failed > 0 ? command_say(code, "%zu of %zu runs failed: %s: %s%s", failed,
                                    results->run_count, worst->name, worst->reason, no_page)
                      : command_say(code, "%s missed an expectation: %s%s", worst->name,
                                    worst->reason, no_page);
}

enum exit_code command_sweep(int argc, char **argv)
{
    struct sweep *sweep = calloc(1, sizeof *sweep);
    enum exit_code code;
    if (sweep == NULL) {
        return command_say(EXIT_CODE_CLIENT_LIMIT, "out of memory for a sweep");
    }
    sweep->lock = -1;
    struct error error = {0};
    code = ranks_begin_runs(&sweep->ranks, &error);
    if (code != EXIT_CODE_OK) {
        code = error_is_set(&error) ? command_fail(code, &error) : EXIT_CODE_OK;
    } else if (ranks_follows(sweep->ranks)) {
        sweep->given.is_quiet = true;
        follow(sweep);
    } else {
        code = options_parse(&sweep->given, command_form(COMMAND_SWEEP), argc, argv, &error);
        if (!command_is_done(&sweep->given, &code, &error)) {
            interrupt_install();
            notice_init(&sweep->notice, STDERR_FILENO);
            const locale_t before = units_use_point();
            code = sweep_all(sweep);
            uselocale(before);
        }
    }
    json_decref(sweep->words);
    json_decref(sweep->changes);
    plan_fini(&sweep->plan);
    saved_sweep_free(&sweep->results);
    if (sweep->lock >= 0) {
        close(sweep->lock);
    }
    ranks_end(sweep->ranks, false);
    free(sweep);
    return code;
}
