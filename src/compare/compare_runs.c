#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare_parts.h"
#include "compare/differences.h"
#include "compare/pace.h"

static void describe_side(struct compare_side *side, const struct saved_run *run)
{
    snprintf(side->folder, sizeof side->folder, "%s", run->folder);
    snprintf(side->target, sizeof side->target, "%s", saved_run_text(run, "target"));
    snprintf(side->started_utc, sizeof side->started_utc, "%s", saved_run_text(run, "started_utc"));
    snprintf(side->verdict, sizeof side->verdict, "%s", saved_run_text(run, "verdict"));
}

/* The reason for want of a test, when there is one. */
static bool cut_slices(const struct saved_run *runs, const double append_s[2],
                       double slices[2][STATISTICS_SLICES_MAX], size_t *count,
                       struct compare_test *test)
{
    *count = pace_count_slices(append_s[0], append_s[1]);
    if (*count < STATISTICS_SLICES_MIN) {
        snprintf(test->why, sizeof test->why,
                 "too short: A appended for %.1f s and B for %.1f s, %d s are needed", append_s[0],
                 append_s[1], STATISTICS_SLICES_MIN);
        return false;
    }
    for (int side = 0; side < 2; side++) {
        if (!pace_cut(&runs[side], *count, slices[side])) {
            snprintf(test->why, sizeof test->why,
                     "intervals.csv of %s does not have all rows of the run",
                     side == 0 ? "A" : "B");
            return false;
        }
    }
    return true;
}

static void add_pace(struct comparison *comparison, const struct saved_run *runs)
{
    struct compare_figure figure = {.name = COMPARE_PACE};
    double append_s[2];
    figure.is_known_a = pace_of_run(&runs[0], &figure.a, &append_s[0]);
    figure.is_known_b = pace_of_run(&runs[1], &figure.b, &append_s[1]);
    figure.test.finding = COMPARE_UNSURE;
    double slices[2][STATISTICS_SLICES_MAX];
    size_t count;
    if (!figure.is_known_a || !figure.is_known_b || figure.a <= 0 || figure.b <= 0) {
        snprintf(figure.test.why, sizeof figure.test.why,
                 "no rows were acknowledged in one of them");
    } else if (cut_slices(runs, append_s, slices, &count, &figure.test) &&
               statistics_compare_slices(slices[0], slices[1], count, &figure.test.ratio)) {
        figure.test.has_ratio = true;
        compare_judge(&figure.test, comparison->threshold);
    }
    compare_mark(compare_add_figure(&comparison->cells[0], &figure), comparison->is_clouded);
}

/* A column holds figures when what it holds in either run is a number; where it is empty in both
 * nothing is lost with it but its name. */
static bool is_figure(const struct saved_run *runs, const char *column)
{
    for (int side = 0; side < 2; side++) {
        double value;
        if (saved_run_text(&runs[side], column)[0] != '\0' &&
            !saved_run_figure(&runs[side], column, &value)) {
            return false;
        }
    }
    return true;
}

static void add_columns(struct compare_cell *cell, const struct saved_run *runs)
{
    for (int side = 0; side < 2; side++) {
        const struct csv_table *table = &runs[side].summary;
        for (size_t i = 0; i < table->columns; i++) {
            struct compare_figure figure = {0};
            const char *column = table->cells[i];
            if (strlen(column) >= sizeof figure.name || compare_find(cell, column) != NULL ||
                !is_figure(runs, column)) {
                continue;
            }
            snprintf(figure.name, sizeof figure.name, "%s", column);
            figure.is_known_a = saved_run_figure(&runs[0], column, &figure.a);
            figure.is_known_b = saved_run_figure(&runs[1], column, &figure.b);
            compare_add_figure(cell, &figure);
        }
    }
}

static enum status compare_two(struct comparison *comparison, const struct saved_run *runs,
                               struct error *error)
{
    describe_side(&comparison->sides[0], &runs[0]);
    describe_side(&comparison->sides[1], &runs[1]);
    comparison->cells = calloc(1, sizeof *comparison->cells);
    if (comparison->cells == NULL) {
        return compare_out_of_memory(error);
    }
    comparison->cell_count = 1;
    struct compare_cell *cell = &comparison->cells[0];
    if (!compare_init_cell(cell, &runs[0].summary, &runs[1].summary) ||
        !differences_add(comparison->differences, &runs[0], &runs[1]) ||
        !differences_add_cautions(comparison->cautions, &runs[0], &runs[1],
                                  &comparison->is_clouded)) {
        return compare_out_of_memory(error);
    }
    cell->a_runs = cell->b_runs = 1;
    add_pace(comparison, runs);
    add_columns(cell, runs);
    compare_check_rows(comparison, cell);
    return STATUS_OK;
}

enum status compare_read_runs(struct comparison *comparison, const char *a, const char *b,
                              struct error *error)
{
    struct saved_run *runs = calloc(2, sizeof *runs);
    if (runs == NULL) {
        return compare_out_of_memory(error);
    }
    enum status status = saved_run_read(&runs[0], a, error);
    if (status == STATUS_OK) {
        status = saved_run_read(&runs[1], b, error);
    }
    if (status == STATUS_OK && (runs[0].is_search || runs[1].is_search)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "'%.160s' is a search of find-max: compare takes runs and sweeps",
                  runs[0].is_search ? a : b);
        status = STATUS_REJECTED;
    }
    if (status == STATUS_OK) {
        status = compare_two(comparison, runs, error);
    }
    saved_run_free(&runs[0]);
    saved_run_free(&runs[1]);
    free(runs);
    return status;
}
