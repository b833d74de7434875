#include <math.h>
#include <string.h>

#include "compare/compare_text.h"
#include "report/tree.h"

enum {
    FORMAT_VERSION = 1,
};

static void add_side(struct tree root, const char *key, const struct compare_side *side)
{
    struct tree tree = tree_object(root, key);
    tree_text(tree, "folder", side->folder);
    tree_text(tree, "target", side->target);
    tree_text(tree, "started_utc", side->started_utc);
    tree_text(tree, "verdict", side->verdict);
}

static void add_figure(struct tree list, const struct compare_figure *figure)
{
    const struct compare_test *test = &figure->test;
    struct tree tree = tree_append_object(list);
    tree_text(tree, "figure", figure->name);
    tree_number_if(tree, "a", figure->is_known_a, figure->a);
    tree_number_if(tree, "b", figure->is_known_b, figure->b);
    tree_number_if(tree, "ratio", figure->has_ratio, figure->ratio);
    tree_text(tree, "finding", compare_finding_name(test->finding));
    tree_text(tree, "why", test->why);
    tree_number_if(tree, "tested_ratio", test->has_ratio, test->ratio.ratio);
    tree_number_if(tree, "low", test->has_ratio, test->ratio.low);
    tree_number_if(tree, "high", test->has_ratio, test->ratio.high);
    tree_bool(tree, "is_regression", figure->is_regression);
}

static void add_cell(struct tree list, const struct comparison *comparison,
                     const struct compare_cell *cell)
{
    struct tree tree = tree_append_object(list);
    tree_count_if(tree, "sessions", comparison->is_sweep, cell->sessions);
    tree_count_if(tree, "records", comparison->is_sweep, cell->records);
    tree_count(tree, "a_runs", cell->a_runs);
    tree_count(tree, "b_runs", cell->b_runs);
    struct tree figures = tree_array(tree, "figures");
    for (size_t i = 0; i < cell->count; i++) {
        add_figure(figures, &cell->figures[i]);
    }
}

bool compare_write_json(FILE *stream, const struct comparison *comparison)
{
    bool has_failed = false;
    json_t *json = json_object();
    const struct tree root = {json, &has_failed};
    tree_count(root, "format", FORMAT_VERSION);
    tree_text(root, "kind", comparison->is_sweep ? "sweeps" : "runs");
    add_side(root, "a", &comparison->sides[0]);
    add_side(root, "b", &comparison->sides[1]);
    tree_number(root, "threshold", comparison->threshold);
    tree_number(root, "confidence", STATISTICS_CONFIDENCE);
    tree_put(root, "differences", json_incref(comparison->differences));
    tree_put(root, "cautions", json_incref(comparison->cautions));
    tree_bool(root, "is_clouded", comparison->is_clouded);
    tree_text(root, "other_rows", comparison->other_rows);
    struct tree cells = tree_array(root, "cells");
    for (size_t i = 0; i < comparison->cell_count; i++) {
        add_cell(cells, comparison, &comparison->cells[i]);
    }
    tree_count(root, "cells_alone", comparison->cells_alone);
    tree_put(root, "bounds_crossed", json_incref(comparison->crossed));
    return tree_write(stream, json, has_failed);
}
