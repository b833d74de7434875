#include "sweep/sweep_text.h"

#include <inttypes.h>
#include <string.h>

#include "report/screen.h"

enum {
    CELL_BYTES = 4 * UNITS_TEXT_BYTES,
    GAP = 2,
    NOTES_MAX = 10,
    NOTE_COLUMN = 10
};

static const char corner[] = "sessions \\ rows";

const char *sweep_text_number(double value, char text[UNITS_TEXT_BYTES])
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
static const char *word_of(enum exit_code code)
{
    switch (code) {
    case EXIT_CODE_SHORT:
        return "short";
    case EXIT_CODE_USAGE:
        return "refused";
    case EXIT_CODE_CLIENT_LIMIT:
        return "client";
    case EXIT_CODE_SERVER:
        return "server";
    case EXIT_CODE_EXPECTATION:
        return "missed";
    case EXIT_CODE_INVALID:
        return "invalid";
    case EXIT_CODE_INTERRUPTED:
        return "stopped";
    default:
        return "failed";
    }
}

/* True when something is to be said of a run below the tables. */
static bool has_note(const struct sweep_run *run)
{
    const struct csv_table *summary = &run->summary;
    const char *verdict = csv_table_text(summary, 0, csv_table_column(summary, "verdict"));
    return run->state == SAVED_FAILED || run->reason[0] != '\0' ||
           (run->state == SAVED_DONE && verdict[0] != '\0' && strcmp(verdict, "VALID") != 0);
}

static void format_cell(const struct sweep *sweep, size_t s, size_t r, const char *column,
                        char text[CELL_BYTES])
{
    struct spread figure;
    size_t done = 0;
    const struct sweep_run *failed = NULL;
    bool is_marked = false;
    for (unsigned repeat = 1; repeat <= sweep->repeat; repeat++) {
        const struct sweep_run *run = sweep_run_of(sweep, s, r, repeat);
        done += run->state == SAVED_DONE ? 1 : 0;
        failed = run->state == SAVED_FAILED && failed == NULL ? run : failed;
        is_marked = is_marked || has_note(run);
    }
    const char *mark = is_marked ? "*" : "";
    char median[UNITS_TEXT_BYTES], lowest[UNITS_TEXT_BYTES], highest[UNITS_TEXT_BYTES];
    if (!sweep_figure(sweep, s, r, column, &figure)) {
        snprintf(text, CELL_BYTES, "%s%s",
                 done > 0         ? "unknown"
                 : failed != NULL ? word_of(failed->exit_code)
                                  : "not run",
                 done == 0 && failed == NULL ? "" : mark);
        return;
    }
    sweep_text_number(figure.median, median);
    sweep_text_number(figure.lowest, lowest);
    sweep_text_number(figure.highest, highest);
    if (sweep->repeat == 1) {
        snprintf(text, CELL_BYTES, "%s%s", median, mark);
    } else {
        snprintf(text, CELL_BYTES, "%s (%s-%s)%s", median, lowest, highest, mark);
    }
}

static size_t wider(size_t width, const char *text)
{
    return strlen(text) > width ? strlen(text) : width;
}

/* Width of a column: its header and its cells, in all four tables alike. */
static size_t column_width(const struct sweep *sweep, size_t r)
{
    char text[CELL_BYTES], count[UNITS_TEXT_BYTES];
    size_t width = strlen(units_format_count(sweep->records.values[r], count));
    for (size_t s = 0; s < sweep->sessions.count; s++) {
        for (size_t i = 0; i < SWEEP_FIGURES; i++) {
            format_cell(sweep, s, r, sweep_figures[i].column, text);
            width = wider(width, text);
        }
    }
    return width;
}

/* Columns from `first` on that fit on a line; at least one. */
static size_t fitting_end(const struct sweep *sweep, size_t first)
{
    size_t used = strlen(corner) + GAP + column_width(sweep, first);
    size_t end = first + 1;
    while (end < sweep->records.count) {
        used += GAP + column_width(sweep, end);
        if (used > SCREEN_COLUMNS) {
            break;
        }
        end++;
    }
    return end;
}

static void write_block(FILE *stream, const struct sweep *sweep, const char *column, size_t first,
                        size_t end)
{
    char text[CELL_BYTES], count[UNITS_TEXT_BYTES];
    fputs(corner, stream);
    for (size_t r = first; r < end; r++) {
        fprintf(stream, "%*s%*s", GAP, "", (int)column_width(sweep, r),
                units_format_count(sweep->records.values[r], count));
    }
    fputc('\n', stream);
    for (size_t s = 0; s < sweep->sessions.count; s++) {
        fprintf(stream, "%*s", (int)strlen(corner),
                units_format_count(sweep->sessions.values[s], count));
        for (size_t r = first; r < end; r++) {
            format_cell(sweep, s, r, column, text);
            fprintf(stream, "%*s%*s", GAP, "", (int)column_width(sweep, r), text);
        }
        fputc('\n', stream);
    }
}

static void write_table(FILE *stream, const struct sweep *sweep, size_t kind)
{
    fprintf(stream, "%s%s\n", sweep_figures[kind].title,
            sweep->repeat > 1 ? ": median (lowest-highest)" : "");
    for (size_t first = 0; first < sweep->records.count;) {
        const size_t end = fitting_end(sweep, first);
        write_block(stream, sweep, sweep_figures[kind].column, first, end);
        first = end;
    }
    fputc('\n', stream);
}

static void add_note(FILE *stream, const struct sweep *sweep, const struct sweep_run *run)
{
    const struct csv_table *summary = &run->summary;
    char sessions[UNITS_TEXT_BYTES], records[UNITS_TEXT_BYTES], repeat[24] = "";
    char text[SWEEP_REASON_BYTES + 160];
    if (sweep->repeat > 1) {
        snprintf(repeat, sizeof repeat, ", repeat %u", run->repeat);
    }
    units_format_count(run->sessions, sessions);
    units_format_count(run->records, records);
    if (run->reason[0] != '\0') {
        snprintf(text, sizeof text, "%s x %s%s, exit code %d: %s", sessions, records, repeat,
                 (int)run->exit_code, run->reason);
    } else {
        snprintf(text, sizeof text, "%s x %s%s: %.20s: %.300s", sessions, records, repeat,
                 csv_table_text(summary, 0, csv_table_column(summary, "verdict")),
                 csv_table_text(summary, 0, csv_table_column(summary, "verdict_reason")));
    }
    screen_add_wrapped(stream, run->state == SAVED_FAILED ? "* Failed" : "* Note", NOTE_COLUMN,
                       text);
}

/* What the marks stand for: failed runs first. */
static void add_notes(FILE *stream, const struct sweep *sweep)
{
    size_t shown = 0, left_out = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < sweep->run_count; i++) {
            const struct sweep_run *run = &sweep->runs[i];
            const bool is_due = has_note(run) && (run->state == SAVED_FAILED) == (pass == 0);
            if (is_due && shown < NOTES_MAX) {
                add_note(stream, sweep, run);
                shown++;
            } else if (is_due) {
                left_out++;
            }
        }
    }
    if (left_out > 0) {
        screen_add(stream, "*         and %zu more: see sweep.csv", left_out);
    }
}

void sweep_text_write(FILE *stream, const struct sweep *sweep)
{
    for (size_t kind = 0; kind < SWEEP_FIGURES; kind++) {
        write_table(stream, sweep, kind);
    }
    add_notes(stream, sweep);
    screen_add_wrapped(stream, "Target", NOTE_COLUMN, sweep->display_target);
    screen_add_wrapped(stream, "Table", NOTE_COLUMN, sweep_table_phrase(sweep->table));
    if (sweep->has_server) {
        screen_add_wrapped(
            stream, "Memory", NOTE_COLUMN,
            "the server is not restarted between runs: it may keep what earlier ones "
            "made it take");
    }
    screen_add(stream, "Runs      %zu of %zu done, %zu failed, %zu not run",
               sweep_count(sweep, SAVED_DONE), sweep->run_count, sweep_count(sweep, SAVED_FAILED),
               sweep_count(sweep, SAVED_PENDING));
    screen_add_files(stream, sweep->folder);
}
