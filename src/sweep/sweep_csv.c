#include "sweep/sweep_csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/csv.h"
#include "report/csv_files.h"

enum {
    DECIMALS_MAX = 9
};

enum status sweep_csv_columns(struct csv_table *columns, const struct adapter *adapter,
                              struct error *error)
{
    *columns = (struct csv_table){0};
    struct result *result = calloc(1, sizeof *result);
    char *text = NULL;
    size_t size = 0;
    FILE *stream = result == NULL ? NULL : open_memstream(&text, &size);
    if (stream != NULL) {
        const struct plan plan = {.adapter = adapter};
        struct csv csv;
        csv_begin(&csv, stream, true);
        csv_files_summary(&csv, &plan, result);
        csv_end(&csv);
    }
    free(result);
    if (stream == NULL || fclose(stream) != 0 || text == NULL) {
        free(text);
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the columns of sweep.csv");
        return STATUS_REJECTED;
    }
    return csv_table_parse(columns, "summary.csv", text, error);
}

/* Name of a column: cells of a table begin with its header. */
static const char *name_of(const struct csv_table *columns, size_t column)
{
    return columns->cells[column];
}

static const char *value_of(const struct sweep_run *run, const char *name)
{
    return csv_table_text(&run->summary, 0, csv_table_column(&run->summary, name));
}

/* What is known of a run that left no summary. */
static void put_without_summary(struct csv *csv, const struct sweep *sweep,
                                const struct sweep_run *run, const char *name)
{
    if (strcmp(name, "sessions") == 0) {
        csv_count(csv, name, run->sessions);
    } else if (strcmp(name, "records") == 0) {
        csv_count(csv, name, run->records);
    } else if (strcmp(name, "adapter") == 0) {
        csv_text(csv, name, sweep->adapter);
    } else if (strcmp(name, "target") == 0) {
        csv_text(csv, name, sweep->display_target);
    } else if (strcmp(name, "exit_code") == 0) {
        csv_count(csv, name, (uint64_t)run->exit_code);
    } else {
        csv_empty(csv, name);
    }
}

/* The header, with run == NULL, or the line of a run. */
static void put_run(FILE *stream, const struct sweep *sweep, const struct csv_table *columns,
                    const struct sweep_run *run)
{
    struct csv csv;
    csv_begin(&csv, stream, run == NULL);
    csv_text(&csv, "statistic", "run");
    csv_count(&csv, "repeat", run == NULL ? 0 : run->repeat);
    csv_text(&csv, "folder", run == NULL ? NULL : run->name);
    csv_text(&csv, "state", run == NULL ? NULL : saved_state_name(run->state));
    csv_text(&csv, "reason", run == NULL ? NULL : run->reason);
    for (size_t i = 0; i < columns->columns; i++) {
        const char *name = name_of(columns, i);
        if (run != NULL && run->summary.rows == 0) {
            put_without_summary(&csv, sweep, run, name);
        } else {
            csv_text(&csv, name, run == NULL ? NULL : value_of(run, name));
        }
    }
    csv_end(&csv);
}

/* Numbers of sessions and exit codes are no quantities: there is nothing in the middle of them. */
static bool is_identity(const char *name)
{
    static const char *const names[] = {"slowest_session", "fastest_session", "longest_gap_session",
                                        "exit_code"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
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

/* What the done runs have in common, the statistic of their numbers, or nothing. */
static void put_statistic(struct csv *csv, const struct sweep_run *const *runs, size_t count,
                          const char *name, int statistic)
{
    double values[SWEEP_LIST_MAX];
    const char *first = value_of(runs[0], name);
    bool are_equal = true;
    bool are_numbers = !is_identity(name);
    int decimals = 0;
    for (size_t i = 0; i < count; i++) {
        const struct csv_table *summary = &runs[i]->summary;
        const char *text = value_of(runs[i], name);
        are_equal = are_equal && strcmp(text, first) == 0;
        are_numbers = csv_table_number(summary, 0, csv_table_column(summary, name), &values[i]) &&
                      are_numbers;
        decimals = decimals_of(text) > decimals ? decimals_of(text) : decimals;
    }
    if (are_equal || !are_numbers) {
        csv_text(csv, name, are_equal ? first : NULL);
        return;
    }
    const struct spread spread = spread_of(values, count);
    const double chosen = statistic == MEDIAN   ? spread.median
                          : statistic == LOWEST ? spread.lowest
                                                : spread.highest;
    /* the mean of two numbers may have one digit more than they have */
    const bool is_mean = statistic == MEDIAN && count % 2 == 0;
    csv_decimal(csv, name, chosen, decimals + (is_mean ? 1 : 0));
}

static void put_statistics(FILE *stream, const struct sweep *sweep, const struct csv_table *columns,
                           size_t cell)
{
    const struct sweep_run *done[SWEEP_LIST_MAX];
    size_t count = 0;
    const size_t cells = sweep->sessions.count * sweep->records.count;
    for (size_t i = cell; i < sweep->run_count; i += cells) {
        if (sweep->runs[i].state == SAVED_DONE) {
            done[count++] = &sweep->runs[i];
        }
    }
    for (int statistic = 0; statistic < STATISTICS && count > 0; statistic++) {
        struct csv csv;
        csv_begin(&csv, stream, false);
        csv_text(&csv, "statistic", statistic_names[statistic]);
        csv_empty(&csv, "repeat");
        csv_empty(&csv, "folder");
        csv_empty(&csv, "state");
        csv_empty(&csv, "reason");
        for (size_t i = 0; i < columns->columns; i++) {
            put_statistic(&csv, done, count, name_of(columns, i), statistic);
        }
        csv_end(&csv);
    }
}

void sweep_csv_write_all(FILE *stream, const struct sweep *sweep, const struct csv_table *columns)
{
    put_run(stream, sweep, columns, NULL);
    for (size_t i = 0; i < sweep->run_count; i++) {
        if (sweep->runs[i].state != SAVED_PENDING) {
            put_run(stream, sweep, columns, &sweep->runs[i]);
        }
    }
    const size_t cells = sweep->sessions.count * sweep->records.count;
    for (size_t cell = 0; cell < cells && sweep->repeat > 1; cell++) {
        put_statistics(stream, sweep, columns, cell);
    }
}

/* Decimals of a figure in the files of the cell's runs. */
static int figure_decimals(const struct sweep *sweep, size_t sessions, size_t records,
                           const char *column)
{
    int decimals = 0;
    for (unsigned repeat = 1; repeat <= sweep->repeat; repeat++) {
        const struct sweep_run *run = sweep_run_of(sweep, sessions, records, repeat);
        const int own = decimals_of(value_of(run, column));
        decimals = own > decimals ? own : decimals;
    }
    return decimals;
}

void sweep_csv_write_table(FILE *stream, const struct sweep *sweep, const char *column)
{
    struct csv csv;
    csv_begin(&csv, stream, true);
    csv_text(&csv, "sessions", NULL);
    for (size_t r = 0; r < sweep->records.count; r++) {
        char records[24];
        snprintf(records, sizeof records, "%" PRIu64, sweep->records.values[r]);
        csv_text(&csv, records, NULL);
    }
    csv_end(&csv);
    for (size_t s = 0; s < sweep->sessions.count; s++) {
        csv_begin(&csv, stream, false);
        csv_count(&csv, "sessions", sweep->sessions.values[s]);
        for (size_t r = 0; r < sweep->records.count; r++) {
            struct spread figure;
            const bool is_known = sweep_figure(sweep, s, r, column, &figure);
            csv_decimal_if(&csv, column, is_known, figure.median,
                           figure_decimals(sweep, s, r, column));
        }
        csv_end(&csv);
    }
}
