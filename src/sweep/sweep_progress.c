#include "sweep/sweep_progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/units.h"
#include "report/clean.h"
#include "sweep/sweep_text.h"

#define PLAIN_LINE_NS (30 * MONO_NS_PER_S)

enum {
    LINE_BYTES = 1024,
    WIDEST = 1000
};

void sweep_progress_init(struct sweep_progress *progress, const struct sweep *sweep, bool is_quiet)
{
    *progress = (struct sweep_progress){.sweep = sweep, .is_quiet = is_quiet};
    notice_init(&progress->notice, STDERR_FILENO);
}

/* A line that stays. */
static void print_line(struct sweep_progress *progress, const char *text)
{
    char line[LINE_BYTES];
    clean_line(line, sizeof line, text, WIDEST);
    notice_keep(&progress->notice, line);
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void format_size(const struct sweep *sweep, const struct sweep_run *run, char *text,
                        size_t size)
{
    char sessions[UNITS_TEXT_BYTES], records[UNITS_TEXT_BYTES];
    const int length = snprintf(text, size, "%s session%s x %s row%s",
                                units_format_count(run->sessions, sessions), plural(run->sessions),
                                units_format_count(run->records, records), plural(run->records));
    if (sweep->repeat > 1 && length > 0 && (size_t)length < size) {
        snprintf(text + length, size - (size_t)length, " (%u of %u)", run->repeat, sweep->repeat);
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

/* Rows that the run has acknowledged, by the intervals it has written, and when the last of them
 * ended. */
static uint64_t rows_so_far(const struct sweep *sweep, const struct sweep_run *run, double *end_s)
{
    char path[SWEEP_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/%s/intervals.csv", sweep->folder, run->name);
    struct csv_table table;
    struct error ignored;
    error_clear(&ignored);
    *end_s = 0;
    if (csv_table_read(&table, path, &ignored) != STATUS_OK) {
        return 0; /* it is connecting, or has not begun */
    }
    const size_t column = csv_table_column(&table, "rows");
    double sum = 0;
    for (size_t row = 0; row < table.rows; row++) {
        double rows = 0;
        sum += csv_table_number(&table, row, column, &rows) ? rows : 0;
        csv_table_number(&table, row, csv_table_column(&table, "end_s"), end_s);
    }
    csv_table_free(&table);
    return (uint64_t)sum;
}

/* Of a run that is going on: its rows are known up to `end_s`. */
struct so_far {
    size_t index;
    uint64_t rows;
    double end_s;
    double elapsed_s;
};

/* "about 4m05s left" */
static void format_left(const struct sweep *sweep, const struct so_far *now, char *text,
                        size_t size)
{
    double left_s;
    if (!sweep_progress_left(sweep, now->index, now->rows, now->end_s, &left_s)) {
        snprintf(text, size, "time left not known yet");
        return;
    }
    char seconds[UNITS_TEXT_BYTES];
    format_seconds(left_s - (now->rows > 0 ? now->elapsed_s - now->end_s : 0), seconds);
    snprintf(text, size, "about %s left", seconds);
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
        (!progress->notice.is_terminal && !is_first && elapsed_ns < progress->next_line_ns)) {
        return;
    }
    progress->next_line_ns = elapsed_ns + PLAIN_LINE_NS;
    const struct sweep *sweep = progress->sweep;
    const struct sweep_run *run = &sweep->runs[index];
    double end_s = 0;
    const uint64_t rows = is_first ? 0 : rows_so_far(sweep, run, &end_s);
    const double elapsed_s = (double)elapsed_ns / (double)MONO_NS_PER_S;
    char what[LINE_BYTES / 4], left[2 * UNITS_TEXT_BYTES], elapsed[UNITS_TEXT_BYTES];
    char text[LINE_BYTES], done[2 * UNITS_TEXT_BYTES] = "";
    format_size(sweep, run, what, sizeof what);
    format_left(sweep, &(struct so_far){index, rows, end_s, elapsed_s}, left, sizeof left);
    format_seconds(elapsed_s, elapsed);
    if (!is_first) {
        snprintf(done, sizeof done, ", %.1f%% after %s",
                 floor(1000 * (double)rows / (double)run->records) / 10, elapsed);
    }
    snprintf(text, sizeof text, "run %zu of %zu, %s: %s%s", index + 1, sweep->run_count, left, what,
             done);
    const unsigned columns = notice_columns(&progress->notice);
    char line[LINE_BYTES];
    clean_line(line, sizeof line, text, columns > 0 ? columns : WIDEST);
    notice_show(&progress->notice, line);
}

static void add_figure(const struct sweep_run *run, const char *column, const char *unit,
                       char *text, size_t size)
{
    const struct csv_table *summary = &run->summary;
    const size_t used = strlen(text);
    double value;
    if (csv_table_number(summary, 0, csv_table_column(summary, column), &value)) {
        char number[UNITS_TEXT_BYTES];
        snprintf(text + used, size - used, "%s%s %s", used > 0 ? ", " : "",
                 sweep_text_number(value, number), unit);
    }
}

void sweep_progress_ended(struct sweep_progress *progress, size_t index)
{
    const struct sweep_run *run = &progress->sweep->runs[index];
    if (progress->is_quiet) {
        return;
    }
    char what[LINE_BYTES / 4], figures[LINE_BYTES / 4] = "", text[LINE_BYTES];
    format_size(progress->sweep, run, what, sizeof what);
    add_figure(run, "elapsed_s", "s", figures, sizeof figures);
    add_figure(run, "throughput_rows_per_s", "rows/s", figures, sizeof figures);
    snprintf(text, sizeof text, "run %zu of %zu: %s: %s%s", index + 1, progress->sweep->run_count,
             what, run->state == SAVED_FAILED ? "FAILED: " : "",
             run->state == SAVED_DONE     ? figures
             : run->state == SAVED_FAILED ? run->reason
                                          : "interrupted");
    print_line(progress, text);
}
