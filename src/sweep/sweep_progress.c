#include "sweep/sweep_progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/units.h"
#include "report/clean.h"

#define PLAIN_LINE_NS (30 * MONO_NS_PER_S)

enum {
    LINE_BYTES = 1024,
    WIDEST = 1000,
    DEFAULT_COLUMNS = 80
};

void sweep_progress_init(struct sweep_progress *progress, const struct sweep *sweep, FILE *stream,
                         bool is_quiet)
{
    const char *terminal = getenv("TERM");
    const bool is_dumb = terminal != NULL && strcmp(terminal, "dumb") == 0;
    *progress = (struct sweep_progress){
        .stream = stream,
        .sweep = sweep,
        .is_quiet = is_quiet,
        .is_terminal = !is_dumb && fileno(stream) >= 0 && isatty(fileno(stream)) == 1,
    };
}

static unsigned terminal_columns(FILE *stream)
{
    struct winsize size;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 1) {
        return size.ws_col - 1U; /* a terminal may wrap after a character in the last one */
    }
    return DEFAULT_COLUMNS - 1;
}

/* A line that stays. */
static void print_line(struct sweep_progress *progress, const char *text)
{
    char line[LINE_BYTES];
    clean_line(line, sizeof line, text, WIDEST);
    fprintf(progress->stream, "%s%s\n", progress->is_line_open ? "\r\x1b[K" : "", line);
    progress->is_line_open = false;
    fflush(progress->stream);
}

static void format_run(const struct sweep *sweep, size_t index, char *text, size_t size)
{
    const struct sweep_run *run = &sweep->runs[index];
    char sessions[UNITS_TEXT_BYTES], records[UNITS_TEXT_BYTES];
    int length = snprintf(text, size, "run %zu of %zu: %s sessions x %s rows", index + 1,
                          sweep->run_count, units_format_count(run->sessions, sessions),
                          units_format_count(run->records, records));
    if (sweep->repeat > 1 && length > 0 && (size_t)length < size) {
        snprintf(text + length, size - (size_t)length, ", repeat %u of %u", run->repeat,
                 sweep->repeat);
    }
}

static void format_seconds(double seconds, char text[UNITS_TEXT_BYTES])
{
    units_format_seconds((uint64_t)(seconds < 0 ? 0 : seconds > 1e9 ? 1e9 : seconds + 0.5), text);
}

bool sweep_progress_left(const struct sweep *sweep, size_t index, uint64_t rows, double elapsed_s,
                         double *left_s)
{
    uint64_t rows_done = 0, rows_left = 0;
    double took_s = 0;
    for (size_t i = 0; i < sweep->run_count; i++) {
        const struct sweep_run *run = &sweep->runs[i];
        if (i == index) {
            const uint64_t done = rows < run->records ? rows : run->records;
            rows_done += done;
            took_s += done > 0 ? elapsed_s : 0;
            rows_left += run->records - done;
        } else if (run->state == SAVED_DONE && run->wall_s > 0) {
            rows_done += run->records;
            took_s += run->wall_s;
        } else if (run->state == SAVED_PENDING) {
            rows_left += run->records;
        }
    }
    *left_s = rows_done > 0 ? took_s / (double)rows_done * (double)rows_left : 0;
    return rows_done > 0;
}

/* Rows that the run has acknowledged, by the intervals it has written. */
static uint64_t rows_so_far(const struct sweep *sweep, const struct sweep_run *run)
{
    char path[SWEEP_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/%s/intervals.csv", sweep->folder, run->name);
    struct csv_table table;
    struct error ignored;
    error_clear(&ignored);
    if (csv_table_read(&table, path, &ignored) != STATUS_OK) {
        return 0; /* it is connecting, or has not begun */
    }
    const size_t column = csv_table_column(&table, "rows");
    double sum = 0;
    for (size_t row = 0; row < table.rows; row++) {
        double rows = 0;
        sum += csv_table_number(&table, row, column, &rows) ? rows : 0;
    }
    csv_table_free(&table);
    return (uint64_t)sum;
}

void sweep_progress_begin(struct sweep_progress *progress)
{
    if (progress->is_quiet) {
        return;
    }
    const struct sweep *sweep = progress->sweep;
    char rows[UNITS_TEXT_BYTES], line[LINE_BYTES];
    const size_t left = sweep_count(sweep, SAVED_PENDING);
    if (left == 0) {
        print_line(progress, "sweep: all runs are over, nothing is left to do");
        return;
    }
    snprintf(line, sizeof line, "sweep: %zu runs, %s rows in all; %zu runs to go; table: %s",
             sweep->run_count, units_format_count(sweep_rows(sweep), rows), left,
             sweep_table_phrase(sweep->table));
    print_line(progress, line);
}

void sweep_progress_show(struct sweep_progress *progress, size_t index, int64_t elapsed_ns)
{
    const bool is_first = elapsed_ns == 0;
    if (progress->is_quiet ||
        (!progress->is_terminal && !is_first && elapsed_ns < progress->next_line_ns)) {
        return;
    }
    progress->next_line_ns = elapsed_ns + PLAIN_LINE_NS;
    const struct sweep *sweep = progress->sweep;
    const struct sweep_run *run = &sweep->runs[index];
    const uint64_t rows = is_first ? 0 : rows_so_far(sweep, run);
    const double elapsed_s = (double)elapsed_ns / (double)MONO_NS_PER_S;
    char what[LINE_BYTES / 2], elapsed[UNITS_TEXT_BYTES], left[UNITS_TEXT_BYTES + 16];
    format_run(sweep, index, what, sizeof what);
    format_seconds(elapsed_s, elapsed);
    double left_s;
    snprintf(left, sizeof left, "time left not known yet");
    if (sweep_progress_left(sweep, index, rows, elapsed_s, &left_s)) {
        char text[UNITS_TEXT_BYTES];
        format_seconds(left_s, text);
        snprintf(left, sizeof left, "about %s left", text);
    }
    char text[LINE_BYTES];
    if (is_first) {
        snprintf(text, sizeof text, "%s; %s", what, left);
    } else {
        snprintf(text, sizeof text, "%s: %.1f%% %s; %s", what,
                 100 * (double)rows / (double)run->records, elapsed, left);
    }
    if (!progress->is_terminal) {
        print_line(progress, text);
        return;
    }
    char line[LINE_BYTES];
    clean_line(line, sizeof line, text, terminal_columns(progress->stream));
    fprintf(progress->stream, "\r%s\x1b[K", line);
    progress->is_line_open = true;
    fflush(progress->stream);
}

static void add_figure(const struct sweep_run *run, const char *column, const char *unit,
                       char *text, size_t size)
{
    const struct csv_table *summary = &run->summary;
    const size_t used = strlen(text);
    double value;
    if (csv_table_number(summary, 0, csv_table_column(summary, column), &value)) {
        snprintf(text + used, size - used, "%s%.*f %s", used > 0 ? ", " : "",
                 value < 10    ? 2
                 : value < 100 ? 1
                               : 0,
                 value, unit);
    }
}

void sweep_progress_ended(struct sweep_progress *progress, size_t index)
{
    const struct sweep_run *run = &progress->sweep->runs[index];
    if (progress->is_quiet) {
        return;
    }
    char what[LINE_BYTES / 4], figures[LINE_BYTES / 4] = "", text[LINE_BYTES];
    format_run(progress->sweep, index, what, sizeof what);
    add_figure(run, "elapsed_s", "s", figures, sizeof figures);
    add_figure(run, "throughput_rows_per_s", "rows/s", figures, sizeof figures);
    if (run->state == SAVED_DONE) {
        snprintf(text, sizeof text, "%s: %s", what, figures);
    } else if (run->state == SAVED_FAILED) {
        snprintf(text, sizeof text, "%s: FAILED: %s", what, run->reason);
    } else {
        snprintf(text, sizeof text, "%s: interrupted", what);
    }
    print_line(progress, text);
}
