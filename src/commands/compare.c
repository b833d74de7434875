/*
 * append compare A B: two runs, or two sweeps, side by side.
 *
 * Of two runs the ratios are shown and nothing is tested: one run says nothing of how much its
 * figures vary from run to run. Of two sweeps with --repeat some figures of each cell are tested.
 * They are LESS or MORE only when the whole interval of confidence of their ratio lies beyond the
 * threshold: a difference must be certain and large enough to matter. They are ALIKE when it lies
 * within the threshold. Otherwise the measurement is too coarse to tell, which is no finding.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "base/units.h"
#include "commands/command.h"
#include "figures/bound.h"
#include "figures/figures.h"
#include "figures/saved_run.h"
#include "figures/saved_sweep.h"
#include "figures/statistics.h"
#include "plan/options.h"
#include "report/screen.h"
#include "report/tree.h"

/* Acknowledged rows / time of appending: of two runs another name of a column. */
#define PACE "pace_rows_per_s"
#define PACE_COLUMN "append_rows_per_s"

/* An interval with ends so far apart is not worth its figures. */
#define VAGUE 3

/* Shares of other programs that differ by no more are alike: percent of all CPUs. */
#define OTHERS_ALIKE 5

/* Above this, programs wait for CPUs. */
#define BUSY_PERCENT 90

enum {
    FORMAT_VERSION = 1,
    SIDES = 2, /* A and B */
    WHY_BYTES = 192,
    NAME_BYTES = 256,
    TEXT_BYTES = 1024,
    VALUE_BYTES = 48,
    CELL_COLUMNS = 14, /* of the titles of figures */
    RUN_COLUMNS = 26,
    DIFFERENCES_SHOWN = 20,
};

/* What is tested of a cell of two sweeps: each costs a chance of a false finding. */
static const char *const tested[] = {"throughput_rows_per_s", "append_p50_ms", "append_p99_ms"};
enum {
    TESTED = sizeof tested / sizeof tested[0]
};

enum finding {
    NOT_TESTED,
    UNSURE, /* too coarse to tell, or too few runs: see why */
    ALIKE,
    LESS,
    MORE,
};

static const char *const finding_names[] = {
    [NOT_TESTED] = "not tested",
    [UNSURE] = "unsure",
    [ALIKE] = "alike",
    [LESS] = "less",
    [MORE] = "more",
};

struct compared {
    char key[FIGURE_KEY_BYTES]; /* a column of summary.csv, or PACE */
    bool is_known[SIDES];
    double value[SIDES]; /* of a sweep: the median of the cell's runs */
    bool has_ratio;      /* both are known */
    double ratio;        /* B / A; infinite when only A is 0; 1 when both are */
    enum finding finding;
    bool is_measured; /* interval is known */
    struct statistics_ratio interval;
    char why[WHY_BYTES];
    bool is_regression; /* tested and worse */
};

struct compare_cell {
    uint64_t sessions, records; /* of two runs 0 */
    size_t place[SIDES];        /* of its first run in the sweeps */
    size_t runs[SIDES];         /* that the figures come from */
    struct compared *figures;   /* owned */
    size_t count;
};

/* A bound that does not hold. */
struct crossed {
    const struct bound *bound;
    const struct compare_cell *cell;
    const struct compared *figure;
};

struct comparison {
    bool is_sweep;
    double threshold; /* 0.05: what differs by less does not matter */
    struct side {
        struct saved_run run; /* of a sweep the first that ended well; empty when there is none */
        struct saved_sweep sweep;
    } sides[SIDES];
    bool has_failed;            /* out of memory */
    json_t *differences;        /* owned: [{"name", "a", "b"}] */
    json_t *cautions;           /* owned: [text] */
    bool is_clouded;            /* a difference may not be the server's */
    char other_rows[WHY_BYTES]; /* the tables began with other rows, which reads pay for; "": no */
    struct compare_cell *cells; /* owned; one of two runs */
    size_t cell_count;
    size_t cells_alone;      /* of sweeps: cells that only one of them has */
    struct crossed *crossed; /* owned */
    size_t crossed_count;
};

static const char *folder_of(const struct comparison *comparison, int side)
{
    return comparison->is_sweep ? comparison->sides[side].sweep.folder
                                : comparison->sides[side].run.folder;
}

static const char *const of_side[] = {"target", "started_utc", "verdict"};

/* The verdict of a sweep is its state. */
static const char *side_text(const struct comparison *comparison, int side, const char *key)
{
    if (!comparison->is_sweep) {
        return saved_run_text(&comparison->sides[side].run, key);
    }
    const json_t *json = comparison->sides[side].sweep.json;
    const char *text =
        json_string_value(json_object_get(json, strcmp(key, "verdict") == 0 ? "state" : key));
    return text == NULL ? "" : text;
}

/* What the runs differ in beside their figures. */

/* What says which run it is, follows from that, or is how its call reported; not how it was made.
 */
static bool is_name_of_run(const char *name)
{
    static const char *const names[] = {"plan.out_folder", "plan.seed", "plan.run_tag",
                                        "plan.server_pid"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        if (entry->scope == OPTION_OF_CALL && entry->key != NULL &&
            strncmp(name, "plan.", 5) == 0 && strcmp(name + 5, entry->key) == 0) {
            return true;
        }
    }
    return false;
}

/* A path in the run's own folder, or a URL of one, without the name of the folder: a database in it
 * is the same in each run. Any other value as it is. NULL: out of memory. */
static json_t *without_folder(json_t *value, const char *folder)
{
    const char *text = json_string_value(value);
    const size_t length = folder == NULL ? 0 : strlen(folder);
    const char *at = text == NULL || length == 0 ? NULL : strstr(text, folder);
    const bool is_whole = at != NULL && (at == text || at[-1] == ':') && at[length] == '/';
    return is_whole ? json_sprintf("%.*sDIR%s", (int)(at - text), text, at + length)
                    : json_incref(value);
}

struct walk {
    struct tree list;
    const char *folders[SIDES]; /* of the runs */
};

static void add_difference(const struct walk *walk, const char *name, json_t *a, json_t *b)
{
    json_t *first = without_folder(a == NULL ? json_null() : a, walk->folders[0]);
    json_t *second = without_folder(b == NULL ? json_null() : b, walk->folders[1]);
    if (!json_equal(first, second)) {
        tree_append(walk->list,
                    json_pack("{s:s, s:O, s:O}", "name", name, "a", first, "b", second));
    }
    json_decref(first);
    json_decref(second);
}

/* A list of named objects, such as columns, as an object of them. NULL: it is none. */
static json_t *by_name(const json_t *list)
{
    json_t *object = json_is_array(list) ? json_object() : NULL;
    for (size_t i = 0; object != NULL && i < json_array_size(list); i++) {
        json_t *entry = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(entry, "name"));
        if (name == NULL || json_object_set(object, name, entry) != 0) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

static void add_any(const struct walk *walk, const char *name, json_t *a, json_t *b, int depth);

/* Two objects, member by member, and those in them: as deep as the plan's target. */
static void add_members(const struct walk *walk, const char *name, json_t *a, json_t *b, int depth)
{
    json_t *const sides[SIDES] = {a, b};
    for (int side = 0; side < SIDES; side++) {
        for (void *at = json_object_iter(sides[side]); at != NULL;
             at = json_object_iter_next(sides[side], at)) {
            const char *key = json_object_iter_key(at);
            char path[NAME_BYTES];
            snprintf(path, sizeof path, "%s.%s", name, key);
            if (side == 0 || json_object_get(a, key) == NULL) {
                add_any(walk, path, json_object_get(a, key), json_object_get(b, key), depth);
            }
        }
    }
}

/* Two lists of named objects by what differs in them; when that is only their order, whole. */
static void add_lists(const struct walk *walk, const char *name, json_t *a, json_t *b)
{
    const size_t before = json_array_size(walk->list.json);
    json_t *first = by_name(a);
    json_t *second = by_name(b);
    if (first != NULL && second != NULL) {
        add_members(walk, name, first, second, 1);
    }
    json_decref(first);
    json_decref(second);
    if (json_array_size(walk->list.json) == before) {
        add_difference(walk, name, a, b);
    }
}

static void add_any(const struct walk *walk, const char *name, json_t *a, json_t *b, int depth)
{
    /* versions before the table of options did not record them all */
    const bool is_unrecorded = strncmp(name, "plan.", 5) == 0 && (a == NULL || b == NULL);
    if (is_unrecorded || is_name_of_run(name)) {
        return;
    }
    if (depth > 0 && json_is_array(a) && json_is_array(b)) {
        add_lists(walk, name, a, b);
    } else if (depth > 0 && json_is_object(a) && json_is_object(b)) {
        add_members(walk, name, a, b, depth - 1);
    } else {
        add_difference(walk, name, a, b);
    }
}

static void add_differences(struct comparison *comparison)
{
    static const char *const parts[] = {
        "plan",    "environment",    "connection",
        "table",   "server.version", "verification.rows_before",
        "version",
    };
    const struct saved_run *a = &comparison->sides[0].run, *b = &comparison->sides[1].run;
    const struct walk walk = {
        .list = {comparison->differences, &comparison->has_failed},
        .folders = {json_string_value(saved_run_json(a, "plan.out_folder")),
                    json_string_value(saved_run_json(b, "plan.out_folder"))},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        /* copies: the library walks along no const object */
        json_t *first = json_deep_copy(saved_run_json(a, parts[i]));
        json_t *second = json_deep_copy(saved_run_json(b, parts[i]));
        add_any(&walk, parts[i], first, second, 2);
        json_decref(first);
        json_decref(second);
    }
}

/* What speaks against comparing them. */

static void add_caution(struct comparison *comparison, json_t *text)
{
    tree_append((struct tree){comparison->cautions, &comparison->has_failed}, text);
}

static void caution_of_outcome(struct comparison *comparison, int side)
{
    const struct figure_set *figures = &comparison->sides[side].run.figures;
    const char *verdict = figure_text(figures, FIGURE_VERDICT);
    double code = 0;
    if (strcmp(verdict, "VALID") != 0) {
        comparison->is_clouded = comparison->is_clouded || strcmp(verdict, "INVALID") == 0;
        add_caution(comparison, json_sprintf("%c is %s: %s", 'A' + side, verdict,
                                             figure_text(figures, FIGURE_VERDICT_REASON)));
    } else if (figure_get(figures, FIGURE_EXIT_CODE, &code) && code != 0) {
        add_caution(comparison, json_sprintf("%c ended with exit code %d: %s", 'A' + side,
                                             (int)code, figure_text(figures, FIGURE_EXIT_REASON)));
    }
}

/* Percent of all CPUs that were neither the server's nor append's while rows went in. *is_disturbed
 * is set when CPUs were short and most of what they did was for others. False: it is not known. */
static bool load_of_others(const struct saved_run *run, double *others, bool *is_disturbed)
{
    double host, client, server;
    const bool is_known = figure_get(&run->figures, FIGURE_MEAN_HOST_CPU_PERCENT, &host) &&
                          figure_get(&run->figures, FIGURE_MEAN_CLIENT_CPU_PERCENT, &client);
    if (is_known && !figure_get(&run->figures, FIGURE_MEAN_SERVER_CPU_PERCENT, &server)) {
        server = 0;
    }
    *others = is_known ? fmax(0, host - client - server) : 0;
    *is_disturbed = *is_disturbed || (is_known && host >= BUSY_PERCENT && *others >= host / 2);
    return is_known;
}

static void add_cautions(struct comparison *comparison)
{
    const struct saved_run *a = &comparison->sides[0].run, *b = &comparison->sides[1].run;
    caution_of_outcome(comparison, 0);
    caution_of_outcome(comparison, 1);
    const json_t *first_rate = saved_run_json(a, "plan.rate_rows_per_s");
    const json_t *second_rate = saved_run_json(b, "plan.rate_rows_per_s");
    if ((first_rate != NULL || second_rate != NULL) && !json_equal(first_rate, second_rate)) {
        add_caution(comparison,
                    json_string("the pace follows --rate, which is not the same in both"));
    }
    double first, second;
    bool is_disturbed = false;
    const bool is_first_known = load_of_others(a, &first, &is_disturbed);
    const bool is_second_known = load_of_others(b, &second, &is_disturbed);
    if ((is_second_known && is_first_known && fabs(first - second) > OTHERS_ALIKE) ||
        is_disturbed) {
        comparison->is_clouded = true;
        char shares[2][32] = {"an unknown share", "an unknown share"};
        if (is_first_known) {
            snprintf(shares[0], sizeof shares[0], "%.0f %%", first);
        }
        if (is_second_known) {
            snprintf(shares[1], sizeof shares[1], "%.0f %%", second);
        }
        add_caution(comparison,
                    json_sprintf("other programs used %s of this machine's CPUs in A and %s in B: "
                                 "a difference may be theirs",
                                 shares[0], shares[1]));
    }
}

/* The machine and the plan of a sweep are those of its first run that ended well. */
static bool read_first(struct side *side)
{
    const struct saved_sweep *sweep = &side->sweep;
    for (size_t i = 0; i < sweep->run_count; i++) {
        char folder[SAVED_RUN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES];
        saved_sweep_run_folder(sweep, &sweep->runs[i], folder);
        if (sweep->runs[i].state == SAVED_DONE &&
            saved_run_read(&side->run, folder, NULL) == STATUS_OK) {
            return true;
        }
    }
    return false;
}

static void describe_sweeps(struct comparison *comparison)
{
    static const char *const members[] = {"sessions", "records", "repeat", "table", "options"};
    const struct walk walk = {.list = {comparison->differences, &comparison->has_failed}};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        add_difference(&walk, members[i],
                       json_object_get(comparison->sides[0].sweep.json, members[i]),
                       json_object_get(comparison->sides[1].sweep.json, members[i]));
    }
    const bool has_first = read_first(&comparison->sides[0]);
    if (has_first && read_first(&comparison->sides[1])) {
        add_differences(comparison);
    } else {
        add_caution(comparison,
                    json_sprintf("whether machine, server and plan are the same is not known: no "
                                 "run of %s can be read",
                                 has_first ? "B" : "A"));
    }
    for (int side = 0; side < SIDES; side++) {
        const struct saved_sweep *sweep = &comparison->sides[side].sweep;
        const size_t failed = saved_sweep_count(sweep, SAVED_FAILED);
        const size_t pending = saved_sweep_count(sweep, SAVED_PENDING);
        if (failed + pending > 0) {
            add_caution(comparison, json_sprintf("of the %zu runs of %c %zu failed and %zu did "
                                                 "not run: they do not count",
                                                 sweep->run_count, 'A' + side, failed, pending));
        }
    }
}

/* Figures. */

static bool is_tested(const char *key)
{
    for (size_t i = 0; i < TESTED; i++) {
        if (strcmp(tested[i], key) == 0) {
            return true;
        }
    }
    return false;
}

static const struct csv_table *table_of(const struct comparison *comparison, int side)
{
    return comparison->is_sweep ? &comparison->sides[side].sweep.table
                                : &comparison->sides[side].run.summary;
}

/* Points of operations stand in no table of figures. */
static bool is_figure(const char *column)
{
    const struct figure *entry = figure_of_key(column);
    return entry != NULL ? figure_is_number(entry->unit) && entry->unit != FIGURE_UNIT_WORD
                         : figure_unit_of(column) == FIGURE_UNIT_MS;
}

/* A figure of the run, or of the cell's runs that count. */
static size_t take_values(const struct comparison *comparison, const struct compare_cell *cell,
                          int side, const char *key, double values[SAVED_SWEEP_LIST_MAX])
{
    const struct saved_run *run = &comparison->sides[side].run;
    if (comparison->is_sweep) {
        return saved_sweep_values(&comparison->sides[side].sweep, cell->place[side], key, values);
    }
    return saved_run_figure(run, strcmp(key, PACE) == 0 ? PACE_COLUMN : key, values) ? 1 : 0;
}

static void test(struct compared *figure, double values[SIDES][SAVED_SWEEP_LIST_MAX],
                 const size_t counts[SIDES], double threshold)
{
    struct statistics_ratio *ratio = &figure->interval;
    const struct figure *entry = figure_of_key(figure->key);
    const bool is_high_good = entry != NULL && entry->better == FIGURE_HIGH;
    figure->finding = UNSURE;
    figure->is_measured =
        statistics_compare_repeats(values[0], counts[0], values[1], counts[1], ratio);
    if (counts[0] < STATISTICS_REPEATS_MIN || counts[1] < STATISTICS_REPEATS_MIN) {
        snprintf(figure->why, sizeof figure->why,
                 "too few runs: %zu and %zu, %d of each are needed (--repeat)", counts[0],
                 counts[1], STATISTICS_REPEATS_MIN);
    } else if (!figure->is_measured) {
        snprintf(figure->why, sizeof figure->why, "a value is 0, and has no ratio to another");
    } else if (ratio->high < 1 - threshold) {
        figure->finding = LESS;
    } else if (ratio->low > 1 + threshold) {
        figure->finding = MORE;
    } else if (ratio->low >= 1 - threshold && ratio->high <= 1 + threshold) {
        figure->finding = ALIKE;
    } else if (ratio->high > VAGUE * ratio->low) {
        snprintf(figure->why, sizeof figure->why, "it varies too much within A or B");
    } else {
        snprintf(figure->why, sizeof figure->why,
                 "B may have from %.1f %% less to %.1f %% more: longer, steadier or more runs tell "
                 "more",
                 fmax(0, 100 * (1 - ratio->low)), fmax(0, 100 * (ratio->high - 1)));
    }
    figure->is_regression = figure->finding == (is_high_good ? LESS : MORE);
}

static void add_figure(const struct comparison *comparison, struct compare_cell *cell,
                       const char *key)
{
    double values[SIDES][SAVED_SWEEP_LIST_MAX];
    size_t counts[SIDES];
    struct compared *figure = &cell->figures[cell->count++];
    snprintf(figure->key, sizeof figure->key, "%s", key);
    for (int side = 0; side < SIDES; side++) {
        counts[side] = take_values(comparison, cell, side, key, values[side]);
        figure->is_known[side] = counts[side] > 0;
        figure->value[side] = spread_of(values[side], counts[side]).median;
    }
    const double a = figure->value[0], b = figure->value[1];
    figure->has_ratio = figure->is_known[0] && figure->is_known[1];
    figure->ratio = a == 0 && b == 0 ? 1 : a == 0 ? (double)INFINITY : b / a;
    if (comparison->is_sweep && is_tested(key)) {
        test(figure, values, counts, comparison->threshold);
    }
}

static const struct compared *find_figure(const struct compare_cell *cell, const char *key)
{
    for (size_t i = 0; i < cell->count; i++) {
        if (strcmp(cell->figures[i].key, key) == 0) {
            return &cell->figures[i];
        }
    }
    return NULL;
}

/* Takes back what was found of a cell whose sides began with other numbers of rows and read: reads
 * cost more the more rows there are. */
static void check_rows(struct comparison *comparison, struct compare_cell *cell)
{
    const struct compared *rows = find_figure(cell, figure_table[FIGURE_ROWS_BEFORE].key);
    const struct compared *reads = find_figure(cell, figure_table[FIGURE_COUNTER_READS].key);
    if (rows == NULL || !rows->has_ratio || rows->value[0] == rows->value[1] || reads == NULL ||
        (reads->value[0] == 0 && reads->value[1] == 0)) {
        return;
    }
    snprintf(comparison->other_rows, sizeof comparison->other_rows,
             "%s rows were there before A, %s before B, and reads cost more the more there are: "
             "start both from an empty table (--recreate)",
             UNITS_COUNT((uint64_t)rows->value[0]), UNITS_COUNT((uint64_t)rows->value[1]));
    for (size_t i = 0; i < cell->count; i++) {
        struct compared *figure = &cell->figures[i];
        if (figure->finding != NOT_TESTED) {
            figure->finding = UNSURE;
            figure->is_measured = figure->is_regression = false;
            memcpy(figure->why, comparison->other_rows, sizeof figure->why);
        }
    }
}

static void add_cell(struct comparison *comparison, size_t a_place, size_t b_place)
{
    struct compare_cell *cell = &comparison->cells[comparison->cell_count++];
    if (comparison->is_sweep) {
        const struct saved_sweep_run *run = &comparison->sides[0].sweep.runs[a_place];
        *cell =
            (struct compare_cell){run->sessions, run->records, {a_place, b_place}, {0}, NULL, 0};
    }
    double values[SAVED_SWEEP_LIST_MAX];
    cell->figures = calloc(table_of(comparison, 0)->columns + table_of(comparison, 1)->columns + 1,
                           sizeof *cell->figures);
    if (cell->figures == NULL) {
        comparison->has_failed = true;
        return;
    }
    if (!comparison->is_sweep) {
        add_figure(comparison, cell, PACE);
    }
    for (int side = 0; side < SIDES; side++) {
        const struct csv_table *table = table_of(comparison, side);
        cell->runs[side] = take_values(comparison, cell, side, "elapsed_s", values);
        for (size_t i = 0; i < table->columns; i++) {
            const char *column = table->cells[i];
            if (strlen(column) < FIGURE_KEY_BYTES && find_figure(cell, column) == NULL &&
                is_figure(column)) {
                add_figure(comparison, cell, column);
            }
        }
    }
    check_rows(comparison, cell);
}

/* Cells of sweeps are put beside each other by sessions and records. */
static void add_cells(struct comparison *comparison)
{
    const struct saved_sweep *a = &comparison->sides[0].sweep, *b = &comparison->sides[1].sweep;
    const size_t a_cells = comparison->is_sweep ? a->sessions_count * a->records_count : 1;
    const size_t b_cells = b->sessions_count * b->records_count;
    comparison->cells = calloc(a_cells, sizeof *comparison->cells);
    if (comparison->cells == NULL) {
        comparison->has_failed = true;
    } else if (!comparison->is_sweep) {
        add_cell(comparison, 0, 0);
        return;
    }
    for (size_t i = 0; i < a_cells && comparison->cells != NULL; i++) {
        for (size_t j = 0; j < b_cells; j++) {
            if (a->runs[i].sessions == b->runs[j].sessions &&
                a->runs[i].records == b->runs[j].records) {
                add_cell(comparison, i, j);
            }
        }
    }
    comparison->cells_alone = a_cells + b_cells - 2 * comparison->cell_count;
}

static enum status read_sides(struct comparison *comparison, char *const folders[SIDES],
                              struct error *error)
{
    comparison->is_sweep = saved_sweep_is_there(folders[0]);
    if (comparison->is_sweep != saved_sweep_is_there(folders[1]) &&
        saved_run_is_there(folders[comparison->is_sweep ? 1 : 0])) {
        error_set(
            error, ERROR_USAGE, 0, NULL,
            "one of '%.60s' and '%.60s' is a run and the other a sweep: compare two of a kind",
            folders[0], folders[1]);
        return STATUS_REJECTED;
    }
    for (int i = 0; i < SIDES; i++) {
        struct side *side = &comparison->sides[i];
        if ((comparison->is_sweep ? saved_sweep_read(&side->sweep, folders[i], error)
                                  : saved_run_read(&side->run, folders[i], error)) != STATUS_OK) {
            return STATUS_REJECTED;
        }
        if (side->run.is_search) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "'%.160s' is a search of find-max: compare takes runs and sweeps",
                      folders[i]);
            return STATUS_REJECTED;
        }
    }
    return STATUS_OK;
}

static enum status compare(struct comparison *comparison, size_t bound_count, struct error *error)
{
    comparison->differences = json_array();
    comparison->cautions = json_array();
    if (comparison->is_sweep) {
        describe_sweeps(comparison);
    } else {
        add_differences(comparison);
        add_cautions(comparison);
    }
    add_cells(comparison);
    if (!comparison->is_sweep && comparison->other_rows[0] != '\0') {
        add_caution(comparison, json_string(comparison->other_rows));
    }
    comparison->crossed =
        calloc(bound_count * comparison->cell_count + 1, sizeof *comparison->crossed);
    if (comparison->has_failed || comparison->crossed == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the comparison");
        return STATUS_REJECTED;
    }
    if (comparison->cell_count == 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "the two sweeps have no pair of sessions and records in common");
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

/* Bounds of --fail-if. */

/* A ratio that is not known crosses its bound. REJECTED: there is no such figure. */
static enum status check_bounds(struct comparison *comparison, const struct bound *bounds,
                                size_t count, struct error *error)
{
    for (size_t i = 0; i < count * comparison->cell_count; i++) {
        const struct bound *bound = &bounds[i / comparison->cell_count];
        const struct compare_cell *cell = &comparison->cells[i % comparison->cell_count];
        struct figure_columns columns = {0};
        for (size_t j = 0; j < cell->count; j++) {
            figure_columns_add(&columns, cell->figures[j].key);
        }
        struct figure_choice choice;
        if (figure_find(&columns, bound->name, &choice, error) != STATUS_OK) {
            return STATUS_REJECTED;
        }
        /* of the columns that a name stands for, the first whose ratio is known */
        const struct compared *figure = find_figure(cell, choice.names[0]);
        for (size_t j = 1; j < choice.count && !figure->has_ratio; j++) {
            const struct compared *other = find_figure(cell, choice.names[j]);
            figure = other->has_ratio ? other : figure;
        }
        if (!figure->has_ratio || bound_holds(bound->relation, figure->ratio, bound->number)) {
            comparison->crossed[comparison->crossed_count++] =
                (struct crossed){bound, cell, figure};
        }
    }
    return STATUS_OK;
}

/* The ratio for people. Of 5 to 0 there is none, but both are known. */
static const char *crossed_ratio(const struct compared *figure, char text[VALUE_BYTES])
{
    if (!figure->has_ratio) {
        snprintf(text, VALUE_BYTES, "not known");
    } else if (isfinite(figure->ratio)) {
        snprintf(text, VALUE_BYTES, "%.4g", figure->ratio);
    } else {
        snprintf(text, VALUE_BYTES, "%.4g to 0", figure->value[1]);
    }
    return text;
}

/* One line that names the bounds that were crossed, of sweeps with the cell. */
static enum exit_code say_crossed(const struct comparison *comparison)
{
    struct buffer line;
    buffer_init(&line);
    for (size_t i = 0; i < comparison->crossed_count; i++) {
        const struct crossed *crossed = &comparison->crossed[i];
        char ratio[VALUE_BYTES];
        buffer_add_format(&line, "%s%s", i == 0 ? "crossed: " : ", ", crossed->bound->text);
        if (comparison->is_sweep) {
            buffer_add_format(&line, " with %" PRIu64 "x%" PRIu64, crossed->cell->sessions,
                              crossed->cell->records);
        }
        buffer_add_format(&line, " (B/A is %s)", crossed_ratio(crossed->figure, ratio));
    }
    if (comparison->other_rows[0] != '\0') {
        buffer_add_format(&line, "; %s", comparison->other_rows);
    }
    command_say(EXIT_CODE_EXPECTATION, buffer_text(&line));
    buffer_fini(&line);
    return EXIT_CODE_EXPECTATION;
}

/* As one JSON object. */

static void put_side(struct tree root, const char *key, const struct comparison *comparison,
                     int side)
{
    const struct tree tree = tree_object(root, key);
    tree_text(tree, "folder", folder_of(comparison, side));
    for (size_t i = 0; i < sizeof of_side / sizeof of_side[0]; i++) {
        tree_text(tree, of_side[i], side_text(comparison, side, of_side[i]));
    }
}

static void put_values(struct tree tree, const struct compared *figure)
{
    tree_text(tree, "figure", figure->key);
    tree_number_if(tree, "a", figure->is_known[0], figure->value[0]);
    tree_number_if(tree, "b", figure->is_known[1], figure->value[1]);
    tree_number_if(tree, "ratio", figure->has_ratio, figure->ratio);
}

static void put_cell(struct tree list, const struct comparison *comparison,
                     const struct compare_cell *cell)
{
    const struct tree tree = tree_append_object(list);
    tree_count_if(tree, "sessions", comparison->is_sweep, cell->sessions);
    tree_count_if(tree, "records", comparison->is_sweep, cell->records);
    tree_count(tree, "a_runs", cell->runs[0]);
    tree_count(tree, "b_runs", cell->runs[1]);
    const struct tree figures = tree_array(tree, "figures");
    for (size_t i = 0; i < cell->count; i++) {
        const struct compared *figure = &cell->figures[i];
        const struct tree entry = tree_append_object(figures);
        put_values(entry, figure);
        tree_text(entry, "finding", finding_names[figure->finding]);
        tree_text(entry, "why", figure->why);
        tree_number_if(entry, "tested_ratio", figure->is_measured, figure->interval.ratio);
        tree_number_if(entry, "low", figure->is_measured, figure->interval.low);
        tree_number_if(entry, "high", figure->is_measured, figure->interval.high);
        tree_bool(entry, "is_regression", figure->is_regression);
    }
}

static bool write_json(const struct comparison *comparison)
{
    bool has_failed = false;
    json_t *json = json_object();
    const struct tree root = {json, &has_failed};
    tree_count(root, "format", FORMAT_VERSION);
    tree_text(root, "kind", comparison->is_sweep ? "sweeps" : "runs");
    put_side(root, "a", comparison, 0);
    put_side(root, "b", comparison, 1);
    tree_number(root, "threshold", comparison->threshold);
    tree_number(root, "confidence", STATISTICS_CONFIDENCE);
    tree_put(root, "differences", json_incref(comparison->differences));
    tree_put(root, "cautions", json_incref(comparison->cautions));
    tree_bool(root, "is_clouded", comparison->is_clouded);
    tree_text(root, "other_rows", comparison->other_rows);
    const struct tree cells = tree_array(root, "cells");
    for (size_t i = 0; i < comparison->cell_count; i++) {
        put_cell(cells, comparison, &comparison->cells[i]);
    }
    tree_count(root, "cells_alone", comparison->cells_alone);
    const struct tree bounds = tree_array(root, "bounds_crossed");
    for (size_t i = 0; i < comparison->crossed_count; i++) {
        const struct crossed *crossed = &comparison->crossed[i];
        const struct tree entry = tree_append_object(bounds);
        tree_text(entry, "bound", crossed->bound->text);
        put_values(entry, crossed->figure);
        if (comparison->is_sweep) {
            tree_count(entry, "sessions", crossed->cell->sessions);
            tree_count(entry, "records", crossed->cell->records);
        }
    }
    return tree_write(stdout, json, has_failed);
}

/* For people: lines of at most 80 columns, but for the folders, which are written whole. */

static void write_wrapped(const char *label, const char *text)
{
    screen_add_wrapped(stdout, label, SCREEN_LABEL_COLUMNS, text);
}

/* A value of JSON in words; `name` is its path, or its last part. Of named objects it is their
 * names; of an object what is null or false goes without saying. */
static void add_value(struct buffer *text, const char *name, json_t *value)
{
    const char *part = strrchr(name, '.') == NULL ? name : strrchr(name, '.') + 1;
    const bool is_identifier = strcmp(part, "port") == 0 || strcmp(part, "server_pid") == 0;
    const json_int_t number = json_integer_value(value);
    const size_t before = text->length;
    if (json_is_string(value)) {
        buffer_add_text(text, json_string_value(value));
    } else if (json_is_real(value)) {
        buffer_add_format(text, "%.9g", json_real_value(value));
    } else if (json_is_integer(value) && (is_identifier || number < 0)) {
        buffer_add_format(text, "%lld", (long long)number);
    } else if (json_is_integer(value)) {
        buffer_add_text(text, UNITS_COUNT((uint64_t)number));
    } else if (json_is_boolean(value)) {
        buffer_add_text(text, json_is_true(value) ? "yes" : "no");
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        json_t *entry = json_array_get(value, i);
        json_t *own_name = json_object_get(entry, "name");
        buffer_add_text(text, i > 0 ? ", " : "");
        add_value(text, "", own_name != NULL ? own_name : entry);
    }
    for (void *at = json_object_iter(value); at != NULL; at = json_object_iter_next(value, at)) {
        json_t *member = json_object_iter_value(at);
        if (!json_is_null(member) && !json_is_false(member)) {
            buffer_add_format(text, "%s%s ", text->length > before ? ", " : "",
                              json_object_iter_key(at));
            add_value(text, json_object_iter_key(at), member);
        }
    }
    if (text->length == before && !json_is_string(value)) {
        buffer_add_text(text, "none");
    }
}

static void write_differences(const json_t *differences)
{
    const size_t count = json_array_size(differences);
    for (size_t i = 0; i < count && i < DIFFERENCES_SHOWN; i++) {
        const json_t *entry = json_array_get(differences, i);
        const char *name = json_string_value(json_object_get(entry, "name"));
        struct buffer text;
        buffer_init(&text);
        buffer_add_format(&text, "%s: ", name);
        add_value(&text, name, json_object_get(entry, "a"));
        buffer_add_text(&text, " in A, ");
        add_value(&text, name, json_object_get(entry, "b"));
        buffer_add_text(&text, " in B");
        write_wrapped(i == 0 ? "Differs" : "", buffer_text(&text));
        buffer_fini(&text);
    }
    if (count > DIFFERENCES_SHOWN) {
        printf("%-*sand %zu more: see --json\n", SCREEN_LABEL_COLUMNS, "",
               count - DIFFERENCES_SHOWN);
    }
    if (count == 0) {
        write_wrapped("Differs", "nothing but what was measured");
    }
}

static const char *format_value(const struct compared *figure, int side, char text[VALUE_BYTES])
{
    const double value = figure->value[side];
    const char *unit = figure_unit(figure->key);
    if (!figure->is_known[side]) {
        snprintf(text, VALUE_BYTES, "not known");
    } else if (fabs(value) >= 1000 && value < 1e18) {
        snprintf(text, VALUE_BYTES, "%s%s", UNITS_COUNT((uint64_t)llround(value)), unit);
    } else {
        snprintf(text, VALUE_BYTES, "%.4g%s", value, unit);
    }
    return text;
}

/* The label of a headline figure; of a point of an operation "append p50"; else the column. */
static const char *title_of(const struct compared *figure, char title[FIGURE_KEY_BYTES])
{
    const struct figure *entry = figure_of_key(figure->key);
    if (entry != NULL || strcmp(figure->key, PACE) == 0) {
        const bool is_headline = entry != NULL && entry->group == FIGURE_GROUP_HEADLINE;
        return is_headline ? entry->label : figure->key;
    }
    snprintf(title, FIGURE_KEY_BYTES, "%.*s", (int)(strlen(figure->key) - strlen("_ms")),
             figure->key);
    for (char *at = strchr(title, '_'); at != NULL; at = strchr(at, '_')) {
        *at = ' ';
    }
    return title;
}

/* Of a cell of sweeps what is tested and the headline; of two runs all that is not 0 in both. Which
 * session was the slowest is no quantity. */
static bool is_shown(const struct comparison *comparison, const struct compared *figure)
{
    const struct figure *entry = figure_of_key(figure->key);
    if (comparison->is_sweep) {
        return (figure->is_known[0] || figure->is_known[1]) &&
               (is_tested(figure->key) || (entry != NULL && entry->group == FIGURE_GROUP_HEADLINE));
    }
    return (entry == NULL || entry->unit != FIGURE_UNIT_ID) &&
           (figure->is_known[0] != figure->is_known[1] || figure->value[0] != 0 ||
            figure->value[1] != 0);
}

static void write_row(const struct comparison *comparison, const char *title, const char *a,
                      const char *b, const char *ratio)
{
    printf("%-*s %16s %16s %7s", comparison->is_sweep ? CELL_COLUMNS : RUN_COLUMNS, title, a, b,
           ratio);
}

static void write_figure(const struct comparison *comparison, const struct compared *figure)
{
    char title[FIGURE_KEY_BYTES], a[VALUE_BYTES], b[VALUE_BYTES], ratio[VALUE_BYTES] = "-";
    if (figure->has_ratio) {
        snprintf(ratio, sizeof ratio, "%.3f", figure->ratio);
    }
    write_row(comparison, title_of(figure, title), format_value(figure, 0, a),
              format_value(figure, 1, b), ratio);
    if (figure->is_measured) {
        printf("  %.3f to %.3f", figure->interval.low, figure->interval.high);
    }
    if (comparison->is_sweep) {
        printf("%s%s", figure->is_measured ? " " : "  ",
               figure->is_regression ? "WORSE" : finding_names[figure->finding]);
    }
    putchar('\n');
}

static void write_cell(const struct comparison *comparison, const struct compare_cell *cell)
{
    write_row(comparison, "", "A", "B", "B/A");
    if (comparison->is_sweep) {
        printf("  %.0f %% interval", 100 * STATISTICS_CONFIDENCE);
    }
    putchar('\n');
    for (size_t i = 0; i < cell->count; i++) {
        if (is_shown(comparison, &cell->figures[i])) {
            write_figure(comparison, &cell->figures[i]);
        }
    }
}

static bool is_unsure_alike(const struct compared *a, const struct compared *b)
{
    return b != NULL && a->finding == UNSURE && b->finding == UNSURE && strcmp(a->why, b->why) == 0;
}

/* One sentence for a figure that was tested. */
static void describe_finding(const struct comparison *comparison, const struct compared *figure,
                             const char *titles, char text[TEXT_BYTES])
{
    const struct statistics_ratio *ratio = &figure->interval;
    if (figure->finding == UNSURE) {
        snprintf(text, TEXT_BYTES, "%s: cannot tell: %s", titles, figure->why);
    } else if (figure->finding == ALIKE) {
        snprintf(text, TEXT_BYTES, "%s: B is as A, within %g %%", titles,
                 100 * comparison->threshold);
    } else {
        snprintf(text, TEXT_BYTES, "%s: B has %s than A, by %.1f %% (%.1f to %.1f %%)%s", titles,
                 figure->finding == LESS ? "less" : "more", 100 * fabs(ratio->ratio - 1),
                 100 * fmin(fabs(ratio->low - 1), fabs(ratio->high - 1)),
                 100 * fmax(fabs(ratio->low - 1), fabs(ratio->high - 1)),
                 figure->is_regression ? ": REGRESSION" : "");
    }
}

/* What one reason keeps from being told is one sentence. */
static void write_findings(const struct comparison *comparison, const struct compare_cell *cell)
{
    const char *label = "Found";
    for (size_t i = 0; i < TESTED; i++) {
        const struct compared *figure = find_figure(cell, tested[i]);
        if (figure == NULL) {
            continue;
        }
        char titles[TEXT_BYTES / 4], title[FIGURE_KEY_BYTES], text[TEXT_BYTES];
        snprintf(titles, sizeof titles, "%s", title_of(figure, title));
        while (i + 1 < TESTED && is_unsure_alike(figure, find_figure(cell, tested[i + 1]))) {
            const size_t used = strlen(titles);
            snprintf(titles + used, sizeof titles - used, ", %s",
                     title_of(find_figure(cell, tested[++i]), title));
        }
        describe_finding(comparison, figure, titles, text);
        write_wrapped(label, text);
        label = "";
    }
}

static void write_text(const struct comparison *comparison)
{
    char text[TEXT_BYTES], ratio[VALUE_BYTES];
    for (int side = 0; side < SIDES; side++) {
        char folder[SAVED_RUN_PATH_BYTES];
        text_clean_line(folder, sizeof folder, folder_of(comparison, side), SAVED_RUN_PATH_BYTES);
        printf("%-*c%s\n", SCREEN_LABEL_COLUMNS, 'A' + side, folder);
        snprintf(text, sizeof text, "%.500s, %.40s, %.40s", side_text(comparison, side, "target"),
                 side_text(comparison, side, "started_utc"),
                 side_text(comparison, side, "verdict"));
        write_wrapped("", text);
    }
    if (!comparison->is_sweep) {
        write_wrapped("Found", "one run of each cannot tell a difference from noise: two runs of "
                               "the same command differ, too. To judge, repeat both (append sweep "
                               "--repeat 5) and compare the sweeps");
    }
    write_differences(comparison->differences);
    for (size_t i = 0; i < json_array_size(comparison->cautions); i++) {
        write_wrapped("CAUTION", json_string_value(json_array_get(comparison->cautions, i)));
    }
    for (size_t i = 0; i < comparison->cell_count; i++) {
        const struct compare_cell *cell = &comparison->cells[i];
        putchar('\n');
        if (comparison->is_sweep) {
            printf("%s sessions, %s records (%zu and %zu runs)\n", UNITS_COUNT(cell->sessions),
                   UNITS_COUNT(cell->records), cell->runs[0], cell->runs[1]);
            write_findings(comparison, cell);
        }
        write_cell(comparison, cell);
    }
    putchar('\n');
    if (comparison->cells_alone > 0) {
        printf("%-*s%zu cells that only one of the sweeps has\n", SCREEN_LABEL_COLUMNS, "Left out",
               comparison->cells_alone);
    }
    if (comparison->is_sweep) {
        snprintf(text, sizeof text,
                 "Welch's t on the logarithms of throughput and append latency of a cell's runs: "
                 "it assumes independent runs and the same machine for both. A and B are medians. "
                 "A difference counts when its whole interval is beyond %g %%. Other figures are "
                 "not tested.",
                 100 * comparison->threshold);
        write_wrapped("Test", text);
    }
    for (size_t i = 0; i < comparison->crossed_count; i++) {
        const struct crossed *crossed = &comparison->crossed[i];
        char cell[VALUE_BYTES + UNITS_TEXT_BYTES] = "";
        if (comparison->is_sweep) {
            snprintf(cell, sizeof cell, " with %" PRIu64 " sessions, %" PRIu64 " records",
                     crossed->cell->sessions, crossed->cell->records);
        }
        snprintf(text, sizeof text, "%s%s: B/A is %s", crossed->bound->text, cell,
                 crossed_ratio(crossed->figure, ratio));
        write_wrapped("CROSSED", text);
    }
}

static void free_comparison(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->cell_count; i++) {
        free(comparison->cells[i].figures);
    }
    for (int side = 0; side < SIDES; side++) {
        saved_run_free(&comparison->sides[side].run);
        saved_sweep_free(&comparison->sides[side].sweep);
    }
    free(comparison->cells);
    free(comparison->crossed);
    json_decref(comparison->differences);
    json_decref(comparison->cautions);
}

enum exit_code command_compare(int argc, char **argv)
{
    struct plan plan;
    enum exit_code code;
    if (!command_begin(&plan, COMMAND_COMPARE, argc, argv, &code)) {
        return code;
    }
    struct error error;
    error_clear(&error);
    struct comparison comparison = {.threshold = plan.threshold};
    if (read_sides(&comparison, plan.folders, &error) != STATUS_OK ||
        compare(&comparison, plan.fail_if_count, &error) != STATUS_OK ||
        check_bounds(&comparison, plan.fail_if, plan.fail_if_count, &error) != STATUS_OK) {
        code = error.kind == ERROR_MEMORY ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_USAGE;
        code = command_refuse(plan.is_json, code, &error);
    } else if (plan.is_json && !write_json(&comparison) && !ferror(stdout)) {
        code = command_say(EXIT_CODE_CLIENT_LIMIT, "out of memory for the comparison");
    } else {
        if (!plan.is_json) {
            write_text(&comparison);
        }
        code = command_finish_output();
        if (code == EXIT_CODE_OK && comparison.crossed_count > 0) {
            code = say_crossed(&comparison);
        }
    }
    free_comparison(&comparison);
    return code;
}
