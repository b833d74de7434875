/*
 * append compare A B: compares two runs or two sweeps.
 *
 * For two runs the command shows the ratios and tests nothing, because a single run does not show
 * how much figures vary from run to run. For two sweeps with --repeat it tests some figures of each
 * cell, which is a combination of sessions, records and variant. The findings are:
 *
 *     LESS, MORE  the whole confidence interval of the ratio is beyond the threshold, so that the
 *                 difference is certain and large enough to matter
 *     ALIKE       the whole interval is within the threshold
 *     UNSURE      neither of these: the measurements are not precise enough
 *
 * The comparison is one JSON object, which --json prints; the text for people is made from it.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "commands/command.h"
#include "figures/bound.h"
#include "figures/figures.h"
#include "figures/saved.h"
#include "figures/statistics.h"
#include "plan/command_line.h"
#include "plan/options.h"
#include "report/report.h"
#include "report/screen.h"
#include "report/tree.h"

/* A run's pace, acknowledged rows / time of appending: its key in JSON and its column name. */
#define PACE "pace_rows_per_s"
#define PACE_COLUMN "append_rows_per_s"

#define NOT_TESTED "not tested"
#define UNSURE "unsure" /* the member "why" has the reason */
#define ALIKE "alike"
#define LESS "less"
#define MORE "more"

enum {
    FORMAT_VERSION = 1,
    SIDES = 2, /* the sides A and B */
    /* if the upper bound of an interval is more than VAGUE times the lower bound, the text does not
     * show the bounds and only says that values vary too much */
    VAGUE = 3,
    /* in percent of all CPUs; smaller differences between A and B in the CPU that other programs
     * used are ignored */
    OTHERS_ALIKE = 5,
    /* CPU use of the machine, in percent, from which all its CPUs count as busy */
    BUSY_PERCENT = 90,
    WHY_BYTES = 192,
    NAME_BYTES = 256,
    TEXT_BYTES = 1024,
    VALUE_BYTES = 48,
    /* width in characters of the first column: CELL_COLUMNS for sweeps, RUN_COLUMNS for runs */
    CELL_COLUMNS = 14,
    RUN_COLUMNS = 26,
    DIFFERENCES_SHOWN = 20,
};

static const char *const side_names[SIDES] = {"a", "b"};

/* The figures that are tested in each cell: tested[0] without a script, tested[1] with a script.
 * They are few, because each test can be wrong. */
enum {
    TESTED = 3
};
static const char *const tested[2][TESTED] = {
    {"throughput_rows_per_s", "append_p50_ms", "append_p99_ms"},
    {"transactions_per_s", "transaction_p50_ms", "transaction_p99_ms"}};

struct comparison {
    bool is_sweep;
    const char *const *tested;
    /* smallest relative difference that matters; 0.05 = 5 % */
    double threshold;
    struct side {
        /* the run; for a sweep, the first run that is done, or empty if no run is done */
        struct saved_run run;
        struct saved_sweep sweep;
    } sides[SIDES];
    bool has_failed; /* memory has run out */
    struct tree root;
    struct tree differences; /* list of {"name", "a", "b"} */
    struct tree cautions;    /* list of texts */
    bool is_clouded;         /* something other than the server may explain a difference */
    /* text of the caution that the table had different numbers of rows before A and before B, so
     * that reads cannot be compared; "" if no cell needs this caution */
    char other_rows[WHY_BYTES];
    /* list of the cells; the comparison of two runs has a single cell */
    struct tree cells;
    struct tree crossed; /* bounds of --fail-if that are crossed */
};

static bool is_in(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static double number_of(const json_t *json, const char *key)
{
    return json_number_value(json_object_get(json, key));
}

static const char *text_of(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    return text == NULL ? "" : text;
}

/* Differences between the runs other than their figures. */

/* Returns `value` as a new reference. If `value` is a path or a URL within the folder of the run,
 * returns a copy in which DIR replaces this folder, because the folders of two runs always differ.
 * Returns NULL if memory runs out. */
static json_t *without_folder(const struct saved_run *run, json_t *value)
{
    const char *text = json_string_value(value);
    const char *folder = json_string_value(saved_run_json(run, "plan.out_folder"));
    const size_t length = folder == NULL ? 0 : strlen(folder);
    const char *at = text == NULL || length == 0 ? NULL : strstr(text, folder);
    const bool is_whole = at != NULL && (at == text || at[-1] == ':') && at[length] == '/';
    if (is_whole) {
        return json_sprintf("%.*sDIR%s", (int)(at - text), text, at + length);
    }
    return value == NULL ? json_null() : json_incref(value);
}

static void add_difference(const struct comparison *comparison, const char *name, json_t *a,
                           json_t *b)
{
    json_t *first = without_folder(&comparison->sides[0].run, a);
    json_t *second = without_folder(&comparison->sides[1].run, b);
    if (!json_equal(first, second)) {
        const struct tree difference = tree_append_object(comparison->differences);
        tree_text(difference, "name", name); /* may be cut within a UTF-8 character */
        tree_put(difference, "a", json_incref(first));
        tree_put(difference, "b", json_incref(second));
    }
    json_decref(first);
    json_decref(second);
}

/* Returns `value` as an object, as a new reference. A list of objects with names, such as columns,
 * becomes an object with the names as keys. Returns NULL for any other value. */
static json_t *members_of(json_t *value)
{
    if (!json_is_array(value)) {
        return json_is_object(value) ? json_incref(value) : NULL;
    }
    json_t *object = json_object();
    for (size_t i = 0; object != NULL && i < json_array_size(value); i++) {
        json_t *entry = json_array_get(value, i);
        const char *name = json_string_value(json_object_get(entry, "name"));
        if (name == NULL || json_object_set(object, name, entry) != 0) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

/* Adds the differences between `a` and `b`. Compares objects member by member, down to `depth`
 * levels, and lists of named objects by name. If two such lists differ only in their order, adds
 * one difference. */
static void add_any(const struct comparison *comparison, const char *name, json_t *a, json_t *b,
                    int depth)
{
    /* Some members are not compared: members that identify the run or depend on its identity,
     * options that only control a run's output, and members of the plan that only one of the runs
     * has. */
    static const char *const names[] = {"plan.out_folder", "plan.seed",     "plan.run_tag",
                                        "plan.server_pid", "plan.workload", "plan.set"};
    const bool is_plan = strncmp(name, "plan.", 5) == 0;
    bool is_passed =
        is_in(names, sizeof names / sizeof names[0], name) || (is_plan && (a == NULL || b == NULL));
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        is_passed |= is_plan && entry->scope == OPTION_OF_CALL && entry->key != NULL &&
                     strcmp(name + 5, entry->key) == 0;
    }
    if (is_passed) {
        return;
    }
    const size_t before = json_array_size(comparison->differences.json);
    const bool is_list = json_is_array(a);
    const bool are_alike = depth > 0 && is_list == json_is_array(b);
    json_t *const sides[SIDES] = {are_alike ? members_of(a) : NULL,
                                  are_alike ? members_of(b) : NULL};
    const bool have_members = sides[0] != NULL && sides[1] != NULL;
    for (int side = 0; side < SIDES && have_members; side++) {
        const char *key;
        json_t *value;
        json_object_foreach(sides[side], key, value)
        {
            char path[NAME_BYTES];
            snprintf(path, sizeof path, "%s.%s", name, key);
            json_t *first = json_object_get(sides[0], key);
            if (side == 0 || first == NULL) {
                add_any(comparison, path, first, json_object_get(sides[1], key),
                        is_list ? depth : depth - 1);
            }
        }
    }
    json_decref(sides[0]);
    json_decref(sides[1]);
    if (!have_members || (is_list && json_array_size(comparison->differences.json) == before)) {
        add_difference(comparison, name, a, b);
    }
}

static void add_caution(struct comparison *comparison, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a reason to doubt the comparison. */
static void add_caution(struct comparison *comparison, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tree_append(comparison->cautions, tree_string(text));
}

static void describe_runs(struct comparison *comparison)
{
    static const char *const parts[] = {
        "plan",
        "environment",
        "connection",
        "table",
        "server.version",
        "verification.rows_before",
        "version",
        "workload",
        "server.settings",
        "server.settings_changed",
        "server.host_settings",
        "server.host_settings_changed",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        add_any(comparison, parts[i], saved_run_json(&comparison->sides[0].run, parts[i]),
                saved_run_json(&comparison->sides[1].run, parts[i]), 2);
    }
    const char *const hashes[SIDES] = {
        figure_text(&comparison->sides[0].run.figures, FIGURE_WORKLOAD_HASH),
        figure_text(&comparison->sides[1].run.figures, FIGURE_WORKLOAD_HASH)};
    if (strcmp(hashes[0], hashes[1]) != 0) {
        comparison->is_clouded = true;
        add_caution(comparison, "the workloads differ: %s",
                    hashes[0][0] == '\0' || hashes[1][0] == '\0'
                        ? "only one of them is a script"
                        : "the script or its parameters differ");
    }
}

static void add_cautions(struct comparison *comparison)
{
    double others[SIDES]; /* CPU that other programs used, in percent of all CPUs */
    char shares[SIDES][32];
    bool are_known = true, is_disturbed = false;
    for (int side = 0; side < SIDES; side++) {
        const struct figure_set *figures = &comparison->sides[side].run.figures;
        const char *verdict = figure_text(figures, FIGURE_VERDICT);
        double code = 0, host, client, server = 0;
        if (strcmp(verdict, "VALID") != 0) {
            comparison->is_clouded |= strcmp(verdict, "INVALID") == 0;
            add_caution(comparison, "%c is %s: %s", 'A' + side, verdict,
                        figure_text(figures, FIGURE_VERDICT_REASON));
        } else if (figure_get(figures, FIGURE_EXIT_CODE, &code) && code != 0) {
            add_caution(comparison, "%c ended with exit code %.0f: %s", 'A' + side, code,
                        figure_text(figures, FIGURE_EXIT_REASON));
        }
        size_t place;
        json_t *change;
        json_array_foreach(saved_run_json(&comparison->sides[side].run, "changes"), place, change)
        {
            const char *what = json_string_value(json_object_get(change, "what"));
            if (what != NULL && strcmp(what, "mark") != 0) {
                add_caution(comparison, "%c was steered by hand: its load changed during the run",
                            'A' + side);
                break;
            }
        }
        snprintf(shares[side], sizeof shares[side], "an unknown share");
        if (!figure_get(figures, FIGURE_MEAN_HOST_CPU_PERCENT, &host) ||
            !figure_get(figures, FIGURE_MEAN_CLIENT_CPU_PERCENT, &client)) {
            are_known = false;
            continue;
        }
        figure_get(figures, FIGURE_MEAN_SERVER_CPU_PERCENT, &server);
        others[side] = fmax(0, host - client - server);
        snprintf(shares[side], sizeof shares[side], "%.0f %%", others[side]);
        /* all CPUs were busy, and other programs used at least half of them */
        is_disturbed |= host >= BUSY_PERCENT && others[side] >= host / 2;
    }
    static const char *const paces[][2] = {{"plan.rate_rows_per_s", "--rate"},
                                           {"plan.rate_stage", "--rate-stage"},
                                           {"plan.stage", "--stage"}};
    for (size_t i = 0; i < COUNT_OF(paces); i++) {
        json_t *const values[SIDES] = {saved_run_json(&comparison->sides[0].run, paces[i][0]),
                                       saved_run_json(&comparison->sides[1].run, paces[i][0])};
        if ((values[0] != NULL || values[1] != NULL) && !json_equal(values[0], values[1])) {
            add_caution(comparison, "%s sets the pace, and differs between A and B", paces[i][1]);
        }
    }
    if (is_disturbed || (are_known && fabs(others[0] - others[1]) > OTHERS_ALIKE)) {
        comparison->is_clouded = true;
        add_caution(
            comparison,
            "other programs used %s of this machine's CPUs in A and %s in B: they may be the "
            "cause of a difference",
            shares[0], shares[1]);
    }
}

static void describe_sweeps(struct comparison *comparison)
{
    static const char *const members[] = {"sessions", "records", "repeat", "table", "options"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        add_difference(comparison, members[i],
                       json_object_get(comparison->sides[0].sweep.json, members[i]),
                       json_object_get(comparison->sides[1].sweep.json, members[i]));
    }
    /* the first done run stands for the machine and the plan of a sweep */
    int unread = 0;
    for (bool is_read = true; unread < SIDES && is_read; unread += is_read ? 1 : 0) {
        struct side *side = &comparison->sides[unread];
        is_read = false;
        for (size_t i = 0; i < side->sweep.run_count && !is_read; i++) {
            char folder[SAVED_RUN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES];
            saved_sweep_run_folder(&side->sweep, &side->sweep.runs[i], folder);
            is_read = side->sweep.runs[i].state == SAVED_DONE &&
                      saved_run_read(&side->run, folder, false, NULL) == STATUS_OK;
        }
    }
    if (unread == SIDES) {
        describe_runs(comparison);
    } else {
        add_caution(comparison,
                    "machine, server and plan cannot be compared: no run of %c can be read",
                    'A' + unread);
    }
    for (int side = 0; side < SIDES; side++) {
        const struct saved_sweep *sweep = &comparison->sides[side].sweep;
        const size_t failed = saved_sweep_count(sweep, SAVED_FAILED);
        const size_t pending = saved_sweep_count(sweep, SAVED_PENDING);
        if (failed + pending > 0) {
            add_caution(comparison,
                        "%zu of the %zu runs of %c failed and %zu did not run: they are left out",
                        failed, sweep->run_count, 'A' + side, pending);
        }
    }
}

/* Figures. */

/* A cell that both sweeps have: the index of the cell's first run in each sweep. */
struct place {
    size_t of[SIDES];
};

/* The values of a figure in A and in B, and their medians. A run has one value; a cell of a sweep
 * has one value for each done run. */
struct values {
    double values[SIDES][SAVED_SWEEP_LIST_MAX], median[SIDES];
    size_t counts[SIDES];
};

static struct values take_values(const struct comparison *comparison, struct place place,
                                 const char *key)
{
    struct values taken = {0};
    for (int i = 0; i < SIDES; i++) {
        const struct side *side = &comparison->sides[i];
        const char *column = strcmp(key, PACE) == 0 ? PACE_COLUMN : key;
        double *values = taken.values[i];
        taken.counts[i] = comparison->is_sweep
                              ? saved_sweep_values(&side->sweep, place.of[i], key, values)
                              : saved_run_figure(&side->run, column, values);
        taken.median[i] = spread_of(values, taken.counts[i]).median;
    }
    return taken;
}

/* Sets *ratio to B / A: to infinity if only A is 0, and to 1 if both are 0. Returns false if A or B
 * is unknown. */
static bool ratio_of(const json_t *figure, double *ratio)
{
    const double a = number_of(figure, "a"), b = number_of(figure, "b");
    *ratio = a == 0 ? (double)INFINITY : b / a;
    if (a == 0 && b == 0) {
        *ratio = 1;
    }
    return json_is_number(json_object_get(figure, "a")) &&
           json_is_number(json_object_get(figure, "b"));
}

/* Returns the figure of a cell, or NULL if the cell lacks the figure. */
static json_t *find_figure(const json_t *cell, const char *key)
{
    const json_t *figures = json_object_get(cell, "figures");
    for (size_t i = 0; i < json_array_size(figures); i++) {
        if (strcmp(text_of(json_array_get(figures, i), "figure"), key) == 0) {
            return json_array_get(figures, i);
        }
    }
    return NULL;
}

/* Adds a figure to `figures`, with its finding if the figure is tested. `spoiled` is the reason why
 * the cell cannot be tested, or "". */
static void add_figure(const struct comparison *comparison, struct tree figures, struct place place,
                       const char *key, const char *spoiled)
{
    const struct values taken = take_values(comparison, place, key);
    const size_t *counts = taken.counts;
    double ratio;
    const struct tree figure = tree_append_object(figures);
    tree_text(figure, "figure", key);
    tree_number_if(figure, "a", counts[0] > 0, taken.median[0]);
    tree_number_if(figure, "b", counts[1] > 0, taken.median[1]);
    const bool has_ratio = ratio_of(figure.json, &ratio);
    tree_number_if(figure, "ratio", has_ratio, ratio);
    const struct figure *entry = figure_of_key(key);
    const char *finding = NOT_TESTED,
               *worse = entry != NULL && entry->better == FIGURE_HIGH ? LESS : MORE;
    const double low = 1 - comparison->threshold, high = 1 + comparison->threshold;
    struct statistics_ratio interval = {0};
    bool is_measured = false;
    char why[WHY_BYTES] = "";
    if (comparison->is_sweep && is_in(comparison->tested, TESTED, key)) {
        finding = UNSURE;
        is_measured =
            spoiled[0] == '\0' && statistics_compare_repeats(taken.values[0], counts[0],
                                                             taken.values[1], counts[1], &interval);
        if (spoiled[0] != '\0') {
            snprintf(why, sizeof why, "%s", spoiled);
        } else if (counts[0] < STATISTICS_REPEATS_MIN || counts[1] < STATISTICS_REPEATS_MIN) {
            snprintf(why, sizeof why, "too few runs: %zu and %zu; each side needs %d (--repeat)",
                     counts[0], counts[1], STATISTICS_REPEATS_MIN);
        } else if (!is_measured) {
            snprintf(why, sizeof why, "a value is 0, so B/A is undefined");
        } else if (interval.high < low || interval.low > high) {
            finding = interval.high < low ? LESS : MORE;
        } else if (interval.low >= low && interval.high <= high) {
            finding = ALIKE;
        } else if (interval.high > VAGUE * interval.low) {
            snprintf(why, sizeof why, "values vary too much within A or B");
        } else {
            snprintf(
                why, sizeof why,
                "-%.1f %% to +%.1f %%: repeat more often, or run longer or on a quieter machine",
                fmax(0, 100 * (1 - interval.low)), fmax(0, 100 * (interval.high - 1)));
        }
    }
    tree_text(figure, "finding", finding);
    tree_text(figure, "why", why);
    tree_number_if(figure, "tested_ratio", is_measured, interval.ratio);
    tree_number_if(figure, "low", is_measured, interval.low);
    tree_number_if(figure, "high", is_measured, interval.high);
    tree_bool(figure, "is_regression", strcmp(finding, worse) == 0);
}

static void add_cell(struct comparison *comparison, struct place place)
{
    const struct values elapsed = take_values(comparison, place, "elapsed_s");
    const struct values rows = take_values(comparison, place, figure_table[FIGURE_ROWS_BEFORE].key);
    const struct values reads =
        take_values(comparison, place, figure_table[FIGURE_COUNTER_READS].key);
    const struct saved_sweep_run *run = comparison->is_sweep
                                            ? &comparison->sides[0].sweep.runs[place.of[0]]
                                            : &(const struct saved_sweep_run){0};
    const struct tree cell = tree_append_object(comparison->cells);
    tree_count_if(cell, "sessions", comparison->is_sweep, run->sessions);
    tree_count_if(cell, "records", comparison->is_sweep, run->records);
    tree_text(cell, "variant",
              comparison->is_sweep ? comparison->sides[0].sweep.variants.texts[run->variant] : "");
    tree_count(cell, "a_runs", elapsed.counts[0]);
    tree_count(cell, "b_runs", elapsed.counts[1]);
    /* Reads take longer when a table has more rows. A cell with reads is therefore not tested if
     * its runs in A and in B began with different numbers of rows. */
    const bool is_spoiled = rows.counts[0] > 0 && rows.counts[1] > 0 &&
                            rows.median[0] != rows.median[1] &&
                            (reads.median[0] != 0 || reads.median[1] != 0);
    if (is_spoiled) {
        snprintf(comparison->other_rows, sizeof comparison->other_rows,
                 "the table had %s rows before A and %s before B, and reads take longer with more "
                 "rows: start A and B from an empty table (--recreate)",
                 UNITS_COUNT((uint64_t)rows.median[0]), UNITS_COUNT((uint64_t)rows.median[1]));
    }
    const char *spoiled = is_spoiled ? comparison->other_rows : "";
    const struct tree figures = tree_array(cell, "figures");
    if (!comparison->is_sweep) {
        add_figure(comparison, figures, place, PACE, spoiled);
    }
    for (int side = 0; side < SIDES; side++) {
        const struct csv_table *table = comparison->is_sweep ? &comparison->sides[side].sweep.table
                                                             : &comparison->sides[side].run.summary;
        for (size_t i = 0; i < table->columns; i++) {
            const char *column = table->cells[i];
            const struct figure *entry = figure_of_key(column);
            const enum figure_unit unit = figure_unit_of(column);
            /* figure_table lacks the latencies and waits of operations: recognise them by their
             * unit */
            const bool is_figure = entry != NULL
                                       ? figure_is_number(unit) && unit != FIGURE_UNIT_WORD
                                       : unit == FIGURE_UNIT_MS || unit == FIGURE_UNIT_PERCENT;
            if (is_figure && strlen(column) < FIGURE_KEY_BYTES &&
                find_figure(cell.json, column) == NULL) {
                add_figure(comparison, figures, place, column, spoiled);
            }
        }
    }
}

static enum status read_sides(struct comparison *comparison, char *const folders[SIDES],
                              struct error *error)
{
    comparison->is_sweep = saved_has_file(folders[0], "sweep.json");
    if (comparison->is_sweep != saved_has_file(folders[1], "sweep.json") &&
        saved_has_file(folders[comparison->is_sweep ? 1 : 0], "run.json")) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "'%.60s' and '%.60s' are a run and a sweep: compare two runs or two sweeps",
                  folders[0], folders[1]);
        return STATUS_REJECTED;
    }
    for (int i = 0; i < SIDES; i++) {
        struct side *side = &comparison->sides[i];
        if ((comparison->is_sweep
                 ? saved_sweep_read(&side->sweep, folders[i], error)
                 : saved_run_read(&side->run, folders[i], false, error)) != STATUS_OK) {
            return STATUS_REJECTED;
        }
        if (side->run.is_search) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "'%.160s' is a search of find-max: compare two runs or two sweeps",
                      folders[i]);
            return STATUS_REJECTED;
        }
    }
    return STATUS_OK;
}

static enum status compare(struct comparison *comparison, struct error *error)
{
    static const char *const of_side[] = {"target", "started_utc", "verdict"};
    const struct tree root = {json_object(), &comparison->has_failed};
    comparison->root = root;
    tree_count(root, "format", FORMAT_VERSION);
    tree_text(root, "kind", comparison->is_sweep ? "sweeps" : "runs");
    for (int i = 0; i < SIDES; i++) {
        const struct side *side = &comparison->sides[i];
        const struct tree tree = tree_object(root, side_names[i]);
        tree_text(tree, "folder", comparison->is_sweep ? side->sweep.folder : side->run.folder);
        for (size_t j = 0; j < sizeof of_side / sizeof of_side[0]; j++) {
            /* a sweep has a state instead of a verdict */
            const char *key = strcmp(of_side[j], "verdict") == 0 ? "state" : of_side[j];
            tree_text(tree, of_side[j],
                      comparison->is_sweep ? text_of(side->sweep.json, key)
                                           : saved_run_text(&side->run, of_side[j]));
        }
    }
    tree_number(root, "threshold", comparison->threshold);
    tree_number(root, "confidence", STATISTICS_CONFIDENCE);
    bool has_script = false;
    for (int i = 0; i < SIDES; i++) {
        const struct side *side = &comparison->sides[i];
        has_script |= comparison->is_sweep ? report_sweep_has_script(&side->sweep)
                                           : report_is_scripted(&side->run);
    }
    comparison->tested = tested[has_script ? 1 : 0];
    comparison->differences = tree_array(root, "differences");
    comparison->cautions = tree_array(root, "cautions");
    if (comparison->is_sweep) {
        describe_sweeps(comparison);
    } else {
        describe_runs(comparison);
        add_cautions(comparison);
    }
    tree_bool(root, "is_clouded", comparison->is_clouded);
    tree_text(root, "other_rows", NULL);
    comparison->cells = tree_array(root, "cells");
    /* a cell of A and a cell of B match if their sessions, records and variant are equal */
    const struct saved_sweep *a = &comparison->sides[0].sweep, *b = &comparison->sides[1].sweep;
    const size_t a_cells = saved_sweep_cells(a), b_cells = saved_sweep_cells(b);
    if (!comparison->is_sweep) {
        add_cell(comparison, (struct place){0});
    }
    for (size_t i = 0; i < a_cells * b_cells; i++) {
        const struct saved_sweep_run *first = &a->runs[i / b_cells],
                                     *second = &b->runs[i % b_cells];
        if (first->sessions == second->sessions && first->records == second->records &&
            strcmp(a->variants.texts[first->variant], b->variants.texts[second->variant]) == 0) {
            add_cell(comparison, (struct place){{i / b_cells, i % b_cells}});
        }
    }
    const size_t cells = json_array_size(comparison->cells.json);
    tree_count(root, "cells_alone", comparison->is_sweep ? a_cells + b_cells - 2 * cells : 0);
    tree_text(root, "other_rows", comparison->other_rows);
    if (!comparison->is_sweep && comparison->other_rows[0] != '\0') {
        add_caution(comparison, "%s", comparison->other_rows);
    }
    comparison->crossed = tree_array(root, "bounds_crossed");
    if (!comparison->has_failed && cells == 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "the two sweeps have no cell in common: no combination of sessions, records and "
                  "variant is in both");
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

/* The keys that identify a cell of sweeps. */
static const char *const cell_keys[] = {"sessions", "records", "variant"};

/* Finds the bounds of --fail-if that are crossed. A bound whose ratio is unknown counts as crossed.
 * Returns STATUS_REJECTED if a bound names an unknown figure. */
static enum status check_bounds(struct comparison *comparison, const struct bound *bounds,
                                size_t count, struct error *error)
{
    const size_t cells = json_array_size(comparison->cells.json);
    for (size_t i = 0; i < count * cells; i++) {
        const struct bound *bound = &bounds[i / cells];
        json_t *cell = json_array_get(comparison->cells.json, i % cells);
        const json_t *figures = json_object_get(cell, "figures");
        struct figure_columns columns = {0};
        for (size_t j = 0; j < json_array_size(figures); j++) {
            figure_columns_add(&columns, text_of(json_array_get(figures, j), "figure"));
        }
        struct figure_choice choice;
        if (figure_find(&columns, bound->name, &choice, error) != STATUS_OK) {
            return STATUS_REJECTED;
        }
        /* a name may stand for several columns: use the first column with a known ratio */
        double ratio;
        json_t *figure = find_figure(cell, choice.names[0]);
        for (size_t j = 1; j < choice.count && !ratio_of(figure, &ratio); j++) {
            json_t *other = find_figure(cell, choice.names[j]);
            figure = ratio_of(other, &ratio) ? other : figure;
        }
        if (!ratio_of(figure, &ratio) || bound_holds(bound->relation, ratio, bound->number)) {
            static const char *const keys[] = {"figure", "a", "b", "ratio"};
            const struct tree crossed = tree_append_object(comparison->crossed);
            tree_text(crossed, "bound", bound->text);
            for (size_t j = 0; j < sizeof keys / sizeof keys[0]; j++) {
                tree_put(crossed, keys[j], json_incref(json_object_get(figure, keys[j])));
            }
            if (comparison->is_sweep) {
                for (size_t j = 0; j < COUNT_OF(cell_keys); j++) {
                    tree_put(crossed, cell_keys[j],
                             json_incref(json_object_get(cell, cell_keys[j])));
                }
            }
        }
    }
    return STATUS_OK;
}

/* The text for people: lines of at most 80 columns, except for paths of folders. */

/* Adds the name of a cell: "10 sessions, 1,000 records, fsync=off". */
static void add_cell_name(struct buffer *line, const json_t *cell)
{
    const uint64_t sessions = (uint64_t)number_of(cell, "sessions");
    const uint64_t records = (uint64_t)number_of(cell, "records");
    const char *variant = text_of(cell, "variant");
    buffer_add_format(line, "%s %s", UNITS_COUNT(sessions),
                      units_plural(sessions, "session", "sessions"));
    if (records > 0) {
        buffer_add_format(line, ", %s records", UNITS_COUNT(records));
    }
    buffer_add_format(line, "%s%s", variant[0] == '\0' ? "" : ", ", variant);
}

/* Adds a crossed bound and, for sweeps, the name of the cell that crossed it. If only A is 0, the
 * text shows B and A, such as "5 to 0", instead of an infinite ratio. */
static void add_crossed(struct buffer *line, const json_t *crossed)
{
    double ratio;
    const bool is_cell = json_object_get(crossed, "sessions") != NULL;
    buffer_add_text(line, text_of(crossed, "bound"));
    if (is_cell) {
        buffer_add_text(line, " with ");
        add_cell_name(line, crossed);
    }
    buffer_add_text(line, is_cell ? ": B/A of the medians is " : ": B/A is ");
    if (!ratio_of(crossed, &ratio)) {
        buffer_add_text(line, "not known");
    } else if (isfinite(ratio)) {
        buffer_add_format(line, "%.4g", ratio);
    } else {
        buffer_add_format(line, "%.4g to 0", number_of(crossed, "b"));
    }
}

static void write_wrapped(const char *label, const char *text)
{
    screen_add_wrapped(stdout, label, SCREEN_LABEL_COLUMNS, text);
}

/* Adds a JSON value as text. `name` is the path of the value or the last part of this path. Shows
 * named objects by their names, and omits members that are null or false. */
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
    const char *key;
    json_t *member;
    json_object_foreach(value, key, member)
    {
        if (!json_is_null(member) && !json_is_false(member)) {
            buffer_add_format(text, "%s%s ", text->length > before ? ", " : "", key);
            add_value(text, key, member);
        }
    }
    if (text->length == before && !json_is_string(value)) {
        buffer_add_text(text, "none");
    }
}

/* Returns the title of a figure. A headline has its label as the title, a latency its operation and
 * percentile, as in "append p50", and any other figure the name of its column. */
static const char *title_of(const json_t *figure, char title[FIGURE_KEY_BYTES])
{
    const char *key = text_of(figure, "figure");
    const struct figure *entry = figure_of_key(key);
    if (entry != NULL || strcmp(key, PACE) == 0) {
        return entry != NULL && entry->group == FIGURE_GROUP_HEADLINE ? entry->label : key;
    }
    snprintf(title, FIGURE_KEY_BYTES, "%.*s", (int)(strlen(key) - strlen(figure_suffix(key))), key);
    for (char *at = strchr(title, '_'); at != NULL; at = strchr(at, '_')) {
        *at = ' ';
    }
    return title;
}

static void write_row(const struct comparison *comparison, const char *title, const char *a,
                      const char *b, const char *ratio)
{
    printf("%-*s %16s %16s %7s", comparison->is_sweep ? CELL_COLUMNS : RUN_COLUMNS, title, a, b,
           ratio);
}

/* Writes a value with its unit. Values from 1,000 up and from -1,000 down are written as whole
 * numbers with separators. */
static void write_value(const char *key, double value, char text[VALUE_BYTES])
{
    const double size = fabs(value);
    if (size >= 1000 && size < 1e18) {
        snprintf(text, VALUE_BYTES, "%s%s%s", value < 0 ? "-" : "",
                 UNITS_COUNT((uint64_t)llround(size)), figure_unit(key));
    } else {
        snprintf(text, VALUE_BYTES, "%.4g%s", value, figure_unit(key));
    }
}

/* Writes the line of a figure. Sweeps show only tested figures and headlines. Two runs show all
 * figures except those that are 0 in both runs and numbers that identify something, such as a
 * session. */
static void write_figure(const struct comparison *comparison, const json_t *figure)
{
    char title[FIGURE_KEY_BYTES], values[SIDES][VALUE_BYTES], ratio[VALUE_BYTES] = "-";
    const char *key = text_of(figure, "figure");
    const struct figure *entry = figure_of_key(key);
    const bool is_headline = entry != NULL && entry->group == FIGURE_GROUP_HEADLINE;
    int known = 0;
    bool are_zero = true;
    for (int side = 0; side < SIDES; side++) {
        const double value = number_of(figure, side_names[side]);
        if (!json_is_number(json_object_get(figure, side_names[side]))) {
            snprintf(values[side], VALUE_BYTES, "not known");
            continue;
        }
        known++;
        are_zero &= value == 0;
        write_value(key, value, values[side]);
    }
    if (comparison->is_sweep
            ? known == 0 || (!is_in(comparison->tested, TESTED, key) && !is_headline)
            : (entry != NULL && entry->unit == FIGURE_UNIT_ID) || (known != 1 && are_zero)) {
        return;
    }
    double number;
    /* the interval of a tested figure belongs to tested_ratio, so show this ratio */
    const bool is_tested = json_is_number(json_object_get(figure, "tested_ratio"));
    if (is_tested || ratio_of(figure, &number)) {
        number = is_tested ? number_of(figure, "tested_ratio") : number;
        snprintf(ratio, sizeof ratio, "%.3f", number);
    }
    write_row(comparison, title_of(figure, title), values[0], values[1], ratio);
    const bool is_measured = json_is_number(json_object_get(figure, "low"));
    if (is_measured) {
        printf("  %.3f to %.3f", number_of(figure, "low"), number_of(figure, "high"));
    }
    if (comparison->is_sweep) {
        printf("%s%s", is_measured ? " " : "  ",
               json_is_true(json_object_get(figure, "is_regression")) ? "REGRESSION"
                                                                      : text_of(figure, "finding"));
    }
    putchar('\n');
}

/* Writes a sentence for each tested figure. Consecutive figures that are inconclusive for the same
 * reason share a sentence. */
static void write_findings(const struct comparison *comparison, const json_t *cell)
{
    const char *label = "Found";
    for (size_t i = 0; i < TESTED; i++) {
        const json_t *figure = find_figure(cell, comparison->tested[i]);
        if (figure == NULL) {
            continue;
        }
        char titles[TEXT_BYTES / 4], title[FIGURE_KEY_BYTES], text[TEXT_BYTES];
        const char *finding = text_of(figure, "finding"), *why = text_of(figure, "why");
        const bool is_unsure = strcmp(finding, UNSURE) == 0;
        snprintf(titles, sizeof titles, "%s", title_of(figure, title));
        for (const json_t *next; is_unsure && i + 1 < TESTED; i++) {
            next = find_figure(cell, comparison->tested[i + 1]);
            if (strcmp(text_of(next, "why"), why) != 0) {
                break;
            }
            const size_t used = strlen(titles);
            snprintf(titles + used, sizeof titles - used, ", %s", title_of(next, title));
        }
        const double low = fabs(number_of(figure, "low") - 1);
        const double high = fabs(number_of(figure, "high") - 1);
        if (is_unsure) {
            snprintf(text, sizeof text, "%s: inconclusive: %s", titles, why);
        } else if (strcmp(finding, ALIKE) == 0) {
            snprintf(text, sizeof text, "%s: B equals A within %g %%", titles,
                     100 * comparison->threshold);
        } else {
            snprintf(text, sizeof text, "%s: B is %.1f %% %s than A (%.1f to %.1f %%)%s", titles,
                     100 * fabs(number_of(figure, "tested_ratio") - 1),
                     strcmp(finding, LESS) == 0 ? "lower" : "higher", 100 * fmin(low, high),
                     100 * fmax(low, high),
                     json_is_true(json_object_get(figure, "is_regression")) ? ": REGRESSION" : "");
        }
        write_wrapped(label, text);
        label = "";
    }
}

static void write_text(const struct comparison *comparison)
{
    char text[TEXT_BYTES];
    size_t i;
    json_t *entry, *figure;
    for (int side = 0; side < SIDES; side++) {
        char folder[SAVED_RUN_PATH_BYTES];
        entry = json_object_get(comparison->root.json, side_names[side]);
        text_clean_line(folder, sizeof folder, text_of(entry, "folder"), SAVED_RUN_PATH_BYTES);
        printf("%-*c%s\n", SCREEN_LABEL_COLUMNS, 'A' + side, folder);
        snprintf(text, sizeof text, "%.500s, %.40s, %.40s", text_of(entry, "target"),
                 text_of(entry, "started_utc"), text_of(entry, "verdict"));
        write_wrapped("", text);
    }
    if (!comparison->is_sweep) {
        write_wrapped("Found", "one run of A and one of B do not show whether a difference is "
                               "noise: two runs of the same command also differ. To find out, "
                               "repeat A and B (append sweep --repeat 5) and compare the sweeps");
    }
    const size_t differences = json_array_size(comparison->differences.json);
    json_array_foreach(comparison->differences.json, i, entry)
    {
        const char *name = text_of(entry, "name");
        struct buffer line = {0};
        buffer_add_format(&line, "%s: ", name);
        add_value(&line, name, json_object_get(entry, "a"));
        buffer_add_text(&line, " in A, ");
        add_value(&line, name, json_object_get(entry, "b"));
        buffer_add_text(&line, " in B");
        if (i < DIFFERENCES_SHOWN) {
            write_wrapped(i == 0 ? "Differs" : "", buffer_text(&line));
        }
        buffer_fini(&line);
    }
    if (differences > DIFFERENCES_SHOWN) {
        printf("%-*sand %zu more: see --json\n", SCREEN_LABEL_COLUMNS, "",
               differences - DIFFERENCES_SHOWN);
    } else if (differences == 0) {
        write_wrapped("Differs", "nothing except the figures");
    }
    json_array_foreach(comparison->cautions.json, i, entry)
    {
        write_wrapped("CAUTION", json_string_value(entry));
    }
    json_array_foreach(comparison->cells.json, i, entry)
    {
        putchar('\n');
        if (comparison->is_sweep) {
            struct buffer cell = {0};
            add_cell_name(&cell, entry);
            printf("%s (%.0f and %.0f runs)\n", buffer_text(&cell), number_of(entry, "a_runs"),
                   number_of(entry, "b_runs"));
            buffer_fini(&cell);
            write_findings(comparison, entry);
        }
        write_row(comparison, "", "A", "B", "B/A");
        if (comparison->is_sweep) {
            printf("  %.0f %% interval", 100 * STATISTICS_CONFIDENCE);
        }
        putchar('\n');
        size_t j;
        json_array_foreach(json_object_get(entry, "figures"), j, figure)
        {
            write_figure(comparison, figure);
        }
    }
    putchar('\n');
    const double alone = number_of(comparison->root.json, "cells_alone");
    if (alone > 0) {
        printf("%-*s%.0f %s that only one sweep has\n", SCREEN_LABEL_COLUMNS, "Left out", alone,
               units_plural((uint64_t)alone, "cell", "cells"));
    }
    if (comparison->is_sweep) {
        snprintf(
            text, sizeof text,
            "Welch's t-test on the logarithms of throughput and %s latency of a cell's runs. It "
            "assumes independent runs, and the same machine for both sweeps. The columns A and B "
            "show medians of the runs. A difference counts only if the whole interval of B/A is "
            "more than %g %% below or above 1. Other figures are not tested.",
            comparison->tested == tested[1] ? "transaction" : "append",
            100 * comparison->threshold);
        write_wrapped("Test", text);
    }
    json_array_foreach(comparison->crossed.json, i, entry)
    {
        struct buffer line = {0};
        add_crossed(&line, entry);
        write_wrapped("CROSSED", buffer_text(&line));
        buffer_fini(&line);
    }
}

/* Refuses --threshold if two runs are compared, because only sweeps are tested. Returns false if it
 * refuses. */
static bool check_threshold(const struct comparison *comparison, const struct plan *plan,
                            struct error *error)
{
    if (!comparison->is_sweep && option_is_given(plan, "threshold")) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--threshold applies to sweeps with --repeat, not to single runs");
        return false;
    }
    return true;
}

enum exit_code command_compare(int argc, char **argv)
{
    struct plan plan;
    struct error error = {0};
    enum exit_code code =
        command_line_read(&plan, command_form(COMMAND_COMPARE), argc, argv, &error);
    if (command_is_done(&plan, &code, &error)) {
        return code;
    }
    struct comparison comparison = {.threshold = plan.compare.threshold};
    const bool is_compared =
        read_sides(&comparison, plan.folders, &error) == STATUS_OK &&
        check_threshold(&comparison, &plan, &error) && compare(&comparison, &error) == STATUS_OK &&
        check_bounds(&comparison, plan.compare.fail_if, plan.compare.fail_if_count, &error) ==
            STATUS_OK;
    if (comparison.has_failed) {
        error_clear(&error);
        error_set(&error, ERROR_MEMORY, 0, NULL, "out of memory for the comparison");
    }
    if (!is_compared || comparison.has_failed) {
        code = error.kind == ERROR_MEMORY ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_USAGE;
        code = command_refuse(plan.is_json, code, &error);
    } else if (plan.is_json &&
               !tree_write(stdout, json_incref(comparison.root.json), comparison.has_failed) &&
               !ferror(stdout)) {
        code = command_say(EXIT_CODE_CLIENT_LIMIT, "out of memory for the comparison");
    } else {
        if (!plan.is_json) {
            write_text(&comparison);
        }
        code = command_finish_output();
        if (code == EXIT_CODE_OK && json_array_size(comparison.crossed.json) > 0) {
            struct buffer line; /* the line names the crossed bounds */
            size_t i;
            json_t *crossed;
            buffer_init(&line);
            json_array_foreach(comparison.crossed.json, i, crossed)
            {
                buffer_add_text(&line, i == 0 ? "crossed: " : "; ");
                add_crossed(&line, crossed);
            }
            if (comparison.other_rows[0] != '\0') {
                buffer_add_format(&line, "; %s", comparison.other_rows);
            }
            code = command_say(EXIT_CODE_EXPECTATION, "%s", buffer_text(&line));
            buffer_fini(&line);
        }
    }
    for (int side = 0; side < SIDES; side++) {
        saved_run_free(&comparison.sides[side].run);
        saved_sweep_free(&comparison.sides[side].sweep);
    }
    json_decref(comparison.root.json);
    return code;
}
