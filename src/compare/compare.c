#include "compare/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "compare/compare_parts.h"
#include "runs/saved_run.h"
#include "runs/saved_sweep.h"

/* An interval with ends so far apart is not worth its figures. */
#define VAGUE 3

static const char *const finding_names[] = {
    [COMPARE_NOT_TESTED] = "not tested",
    [COMPARE_UNSURE] = "unsure",
    [COMPARE_ALIKE] = "alike",
    [COMPARE_LESS] = "less",
    [COMPARE_MORE] = "more",
};

const char *compare_finding_name(enum compare_finding finding)
{
    return finding_names[finding];
}

bool compare_is_high_good(const char *figure)
{
    static const char end[] = "_rows_per_s";
    const size_t length = strlen(figure), end_length = sizeof end - 1;
    return length > end_length && strcmp(figure + length - end_length, end) == 0;
}

enum status compare_out_of_memory(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the comparison");
    return STATUS_REJECTED;
}

void compare_judge(struct compare_test *test, double threshold)
{
    const struct statistics_ratio *ratio = &test->ratio;
    test->why[0] = '\0';
    if (ratio->high < 1 - threshold) {
        test->finding = COMPARE_LESS;
    } else if (ratio->low > 1 + threshold) {
        test->finding = COMPARE_MORE;
    } else if (ratio->low >= 1 - threshold && ratio->high <= 1 + threshold) {
        test->finding = COMPARE_ALIKE;
    } else if (ratio->high > VAGUE * ratio->low) {
        test->finding = COMPARE_UNSURE;
        snprintf(test->why, sizeof test->why, "it varies too much within A or B");
    } else {
        test->finding = COMPARE_UNSURE;
        snprintf(test->why, sizeof test->why,
                 "B may have from %.1f %% less to %.1f %% more: longer, steadier or more runs tell "
                 "more",
                 fmax(0, 100 * (1 - ratio->low)), fmax(0, 100 * (ratio->high - 1)));
    }
}

bool compare_init_cell(struct compare_cell *cell, const struct csv_table *a,
                       const struct csv_table *b)
{
    cell->count = 0;
    cell->figures = calloc(a->columns + b->columns + 1, sizeof *cell->figures);
    return cell->figures != NULL;
}

struct compare_figure *compare_add_figure(struct compare_cell *cell,
                                          const struct compare_figure *figure)
{
    struct compare_figure *added = &cell->figures[cell->count++];
    *added = *figure;
    added->has_ratio = figure->is_known_a && figure->is_known_b;
    if (added->has_ratio) {
        const bool are_both_zero = figure->a == 0 && figure->b == 0;
        added->ratio = are_both_zero    ? 1
                       : figure->a == 0 ? (double)INFINITY
                                        : figure->b / figure->a;
    }
    return added;
}

void compare_mark(struct compare_figure *figure, bool is_clouded)
{
    const enum compare_finding worse =
        compare_is_high_good(figure->name) ? COMPARE_LESS : COMPARE_MORE;
    figure->is_regression = figure->test.finding == worse && !is_clouded;
}

const struct compare_figure *compare_find(const struct compare_cell *cell, const char *name)
{
    for (size_t i = 0; i < cell->count; i++) {
        if (strcmp(cell->figures[i].name, name) == 0) {
            return &cell->figures[i];
        }
    }
    return NULL;
}

void compare_check_rows(struct comparison *comparison, struct compare_cell *cell)
{
    const struct compare_figure *rows = compare_find(cell, "rows_before");
    const struct compare_figure *reads = compare_find(cell, "counts");
    if (rows == NULL || !rows->has_ratio || rows->a == rows->b || reads == NULL ||
        (reads->a == 0 && reads->b == 0)) {
        return;
    }
    char a[UNITS_TEXT_BYTES], b[UNITS_TEXT_BYTES];
    snprintf(comparison->other_rows, sizeof comparison->other_rows,
             "%s rows were there before A, %s before B, and reads cost more the more there are: "
             "start both from an empty table (--recreate)",
             units_format_count((uint64_t)rows->a, a), units_format_count((uint64_t)rows->b, b));
    for (size_t i = 0; i < cell->count; i++) {
        struct compare_figure *figure = &cell->figures[i];
        if (figure->test.finding != COMPARE_NOT_TESTED) {
            figure->test = (struct compare_test){.finding = COMPARE_UNSURE};
            memcpy(figure->test.why, comparison->other_rows, sizeof figure->test.why);
            figure->is_regression = false;
        }
    }
}

enum status compare_read(struct comparison *comparison, const char *a, const char *b,
                         double threshold, struct error *error)
{
    *comparison = (struct comparison){.threshold = threshold,
                                      .differences = json_array(),
                                      .cautions = json_array(),
                                      .crossed = json_array()};
    enum status status = STATUS_REJECTED;
    const bool is_sweep = saved_sweep_is_there(a);
    if (comparison->differences == NULL || comparison->cautions == NULL ||
        comparison->crossed == NULL) {
        compare_out_of_memory(error);
    } else if (is_sweep != saved_sweep_is_there(b) && saved_run_is_there(is_sweep ? b : a)) {
        error_set(
            error, ERROR_USAGE, 0, NULL,
            "one of '%.60s' and '%.60s' is a run and the other a sweep: compare two of a kind", a,
            b);
    } else {
        comparison->is_sweep = is_sweep;
        status = is_sweep ? compare_read_sweeps(comparison, a, b, error)
                          : compare_read_runs(comparison, a, b, error);
    }
    if (status != STATUS_OK) {
        compare_free(comparison);
    }
    return status;
}

void compare_free(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->cell_count; i++) {
        free(comparison->cells[i].figures);
    }
    free(comparison->cells);
    json_decref(comparison->differences);
    json_decref(comparison->cautions);
    json_decref(comparison->crossed);
    *comparison = (struct comparison){0};
}
