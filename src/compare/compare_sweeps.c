#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare_parts.h"
#include "compare/differences.h"
#include "runs/saved_sweep.h"

/* What is tested: each costs a chance of a false finding. */
static const char *const tested[] = {"throughput_rows_per_s", "append_p50_ms", "append_p99_ms"};
enum {
    TESTED = sizeof tested / sizeof tested[0],
    FOLDER_BYTES = SAVED_RUN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES,
};

/* Place of a cell in a sweep's lists. */
struct place {
    size_t sessions, records;
};

static void describe_side(struct compare_side *side, const struct saved_sweep *sweep)
{
    const struct {
        const char *key;
        char *to;
        size_t bytes;
    } texts[] = {{"target", side->target, sizeof side->target},
                 {"started_utc", side->started_utc, sizeof side->started_utc},
                 {"state", side->verdict, sizeof side->verdict}};
    snprintf(side->folder, sizeof side->folder, "%s", sweep->folder);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *text = json_string_value(json_object_get(sweep->json, texts[i].key));
        snprintf(texts[i].to, texts[i].bytes, "%s", text == NULL ? "" : text);
    }
}

static bool find_place(const struct saved_sweep *sweep, uint64_t sessions, uint64_t records,
                       struct place *place)
{
    for (size_t i = 0; i < sweep->sessions_count; i++) {
        for (size_t j = 0; j < sweep->records_count; j++) {
            if (sweep->sessions[i] == sessions && sweep->records[j] == records) {
                *place = (struct place){i, j};
                return true;
            }
        }
    }
    return false;
}

/* The figures of a cell's runs that count. */
static size_t take_repeats(const struct saved_sweep *sweep, const struct place *place,
                           const char *column, double values[SAVED_SWEEP_LIST_MAX])
{
    size_t count = 0;
    for (unsigned repeat = 1; repeat <= sweep->repeat; repeat++) {
        const struct saved_sweep_run *run =
            saved_sweep_run(sweep, place->sessions, place->records, repeat);
        if (run->state == SAVED_DONE &&
            saved_sweep_run_figure(sweep, run, column, &values[count])) {
            count++;
        }
    }
    return count;
}

static void test_repeats(const struct saved_sweep *sweeps, const struct place *places,
                         double threshold, struct compare_figure *figure)
{
    double a[SAVED_SWEEP_LIST_MAX], b[SAVED_SWEEP_LIST_MAX];
    const size_t a_count = take_repeats(&sweeps[0], &places[0], figure->name, a);
    const size_t b_count = take_repeats(&sweeps[1], &places[1], figure->name, b);
    struct compare_test *test = &figure->test;
    test->finding = COMPARE_UNSURE;
    if (a_count < STATISTICS_REPEATS_MIN || b_count < STATISTICS_REPEATS_MIN) {
        snprintf(test->why, sizeof test->why,
                 "too few runs: %zu and %zu, %d of each are needed (--repeat)", a_count, b_count,
                 STATISTICS_REPEATS_MIN);
    } else if (!statistics_compare_repeats(a, a_count, b, b_count, &test->ratio)) {
        snprintf(test->why, sizeof test->why, "a value is 0, and has no ratio to another");
    } else {
        test->has_ratio = true;
        compare_judge(test, threshold);
    }
}

/* A column holds figures when no run has anything else in it. */
static bool is_figure(const struct saved_sweep *sweeps, const char *column)
{
    static const char *const own[] = {"statistic", "repeat", "folder", "state", "reason"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (strcmp(own[i], column) == 0) {
            return false;
        }
    }
    for (int side = 0; side < 2; side++) {
        const struct csv_table *table = &sweeps[side].table;
        const size_t place = csv_table_column(table, column);
        for (size_t row = 0; row < table->rows; row++) {
            double value;
            if (csv_table_text(table, row, place)[0] != '\0' &&
                !csv_table_number(table, row, place, &value)) {
                return false;
            }
        }
    }
    return true;
}

static bool is_tested(const char *column)
{
    for (size_t i = 0; i < TESTED; i++) {
        if (strcmp(tested[i], column) == 0) {
            return true;
        }
    }
    return false;
}

static bool take_median(const struct saved_sweep *sweep, const struct place *place,
                        const char *column, double *median)
{
    struct spread spread;
    const bool is_known =
        saved_sweep_figure(sweep, place->sessions, place->records, column, &spread);
    *median = spread.median;
    return is_known;
}

static void add_columns(const struct comparison *comparison, struct compare_cell *cell,
                        const struct saved_sweep *sweeps, const struct place *places)
{
    for (int side = 0; side < 2; side++) {
        const struct csv_table *table = &sweeps[side].table;
        for (size_t i = 0; i < table->columns; i++) {
            struct compare_figure figure = {0};
            const char *column = table->cells[i];
            if (strlen(column) >= sizeof figure.name || compare_find(cell, column) != NULL ||
                !is_figure(sweeps, column)) {
                continue;
            }
            snprintf(figure.name, sizeof figure.name, "%s", column);
            figure.is_known_a = take_median(&sweeps[0], &places[0], column, &figure.a);
            figure.is_known_b = take_median(&sweeps[1], &places[1], column, &figure.b);
            if (is_tested(column)) {
                test_repeats(sweeps, places, comparison->threshold, &figure);
            }
            compare_mark(compare_add_figure(cell, &figure), comparison->is_clouded);
        }
    }
}

static bool add_cell(struct comparison *comparison, const struct saved_sweep *sweeps,
                     const struct place *places)
{
    double values[SAVED_SWEEP_LIST_MAX];
    struct compare_cell *cell = &comparison->cells[comparison->cell_count++];
    *cell = (struct compare_cell){
        .sessions = sweeps[0].sessions[places[0].sessions],
        .records = sweeps[0].records[places[0].records],
        .a_runs = take_repeats(&sweeps[0], &places[0], "elapsed_s", values),
        .b_runs = take_repeats(&sweeps[1], &places[1], "elapsed_s", values),
    };
    if (!compare_init_cell(cell, &sweeps[0].table, &sweeps[1].table)) {
        return false;
    }
    add_columns(comparison, cell, sweeps, places);
    compare_check_rows(comparison, cell);
    return true;
}

/* The machine and the plan are told by the runs: by the first that ended well in each sweep. */
static bool read_first(const struct saved_sweep *sweep, struct saved_run *run)
{
    for (size_t i = 0; i < sweep->run_count; i++) {
        char folder[FOLDER_BYTES];
        saved_sweep_run_folder(sweep, &sweep->runs[i], folder);
        if (sweep->runs[i].state == SAVED_DONE && saved_run_read(run, folder, NULL) == STATUS_OK) {
            return true;
        }
    }
    return false;
}

static bool add_differences(struct comparison *comparison, const struct saved_sweep *sweeps)
{
    static const char *const members[] = {"sessions", "records", "repeat", "table", "options"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (!differences_add_member(comparison->differences, members[i],
                                    json_object_get(sweeps[0].json, members[i]),
                                    json_object_get(sweeps[1].json, members[i]))) {
            return false;
        }
    }
    struct saved_run *runs = calloc(2, sizeof *runs);
    if (runs == NULL) {
        return false;
    }
    bool is_done;
    const bool has_first = read_first(&sweeps[0], &runs[0]);
    if (has_first && read_first(&sweeps[1], &runs[1])) {
        is_done = differences_add(comparison->differences, &runs[0], &runs[1]);
    } else {
        json_t *line =
            json_sprintf("whether machine, server and plan are the same is not known: no "
                         "run of %s can be read",
                         has_first ? "B" : "A");
        is_done = line != NULL && json_array_append_new(comparison->cautions, line) == 0;
    }
    saved_run_free(&runs[0]);
    saved_run_free(&runs[1]);
    free(runs);
    return is_done;
}

static bool add_failed(struct comparison *comparison, const char *side,
                       const struct saved_sweep *sweep)
{
    size_t failed = 0, pending = 0;
    for (size_t i = 0; i < sweep->run_count; i++) {
        failed += sweep->runs[i].state == SAVED_FAILED ? 1 : 0;
        pending += sweep->runs[i].state == SAVED_PENDING ? 1 : 0;
    }
    if (failed + pending == 0) {
        return true;
    }
    json_t *line = json_sprintf("of the %zu runs of %s %zu failed and %zu were not made: they do "
                                "not count",
                                sweep->run_count, side, failed, pending);
    return line != NULL && json_array_append_new(comparison->cautions, line) == 0;
}

static enum status add_cells(struct comparison *comparison, const struct saved_sweep *sweeps,
                             struct error *error)
{
    const size_t a_cells = sweeps[0].sessions_count * sweeps[0].records_count;
    const size_t b_cells = sweeps[1].sessions_count * sweeps[1].records_count;
    comparison->cells = calloc(a_cells, sizeof *comparison->cells);
    if (comparison->cells == NULL) {
        return compare_out_of_memory(error);
    }
    for (size_t i = 0; i < a_cells; i++) {
        struct place places[2] = {{i % sweeps[0].sessions_count, i / sweeps[0].sessions_count}};
        const uint64_t sessions = sweeps[0].sessions[places[0].sessions];
        const uint64_t records = sweeps[0].records[places[0].records];
        if (find_place(&sweeps[1], sessions, records, &places[1]) &&
            !add_cell(comparison, sweeps, places)) {
            return compare_out_of_memory(error);
        }
    }
    comparison->cells_alone = a_cells + b_cells - 2 * comparison->cell_count;
    if (comparison->cell_count == 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "the two sweeps have no pair of sessions and records in common");
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

static enum status compare_two(struct comparison *comparison, const struct saved_sweep *sweeps,
                               struct error *error)
{
    describe_side(&comparison->sides[0], &sweeps[0]);
    describe_side(&comparison->sides[1], &sweeps[1]);
    if (!add_differences(comparison, sweeps) || !add_failed(comparison, "A", &sweeps[0]) ||
        !add_failed(comparison, "B", &sweeps[1])) {
        return compare_out_of_memory(error);
    }
    return add_cells(comparison, sweeps, error);
}

enum status compare_read_sweeps(struct comparison *comparison, const char *a, const char *b,
                                struct error *error)
{
    struct saved_sweep *sweeps = calloc(2, sizeof *sweeps);
    if (sweeps == NULL) {
        return compare_out_of_memory(error);
    }
    enum status status = saved_sweep_read(&sweeps[0], a, error);
    if (status == STATUS_OK) {
        status = saved_sweep_read(&sweeps[1], b, error);
    }
    if (status == STATUS_OK) {
        status = compare_two(comparison, sweeps, error);
    }
    saved_sweep_free(&sweeps[0]);
    saved_sweep_free(&sweeps[1]);
    free(sweeps);
    return status;
}
