#include "sweep/sweep_json.h"

#include "report/tree.h"

bool sweep_json_can_keep(const char *text)
{
    json_t *json = json_string(text);
    const bool can = json != NULL;
    json_decref(json);
    return can;
}

static void put_list(struct tree root, const char *key, const struct sweep_list *list)
{
    const struct tree array = tree_array(root, key);
    for (size_t i = 0; i < list->count; i++) {
        tree_append(array, tree_integer(list->values[i]));
    }
}

static void put_runs(struct tree root, const struct sweep *sweep)
{
    const struct tree runs = tree_array(root, "runs");
    for (size_t i = 0; i < sweep->run_count; i++) {
        const struct sweep_run *run = &sweep->runs[i];
        const bool has_ended = run->state != SAVED_PENDING;
        const struct tree entry = tree_append_object(runs);
        tree_count(entry, "sessions", run->sessions);
        tree_count(entry, "records", run->records);
        tree_count(entry, "repeat", run->repeat);
        tree_text(entry, "folder", run->name);
        tree_text(entry, "state", saved_state_name(run->state));
        tree_count_if(entry, "exit_code", has_ended, (uint64_t)run->exit_code);
        tree_text(entry, "reason", run->reason);
        tree_number_if(entry, "wall_s", has_ended && run->wall_s > 0, run->wall_s);
    }
}

/* The four figures of each cell; null where no done run has one. */
static void put_cells(struct tree root, const struct sweep *sweep)
{
    const struct tree cells = tree_array(root, "cells");
    for (size_t r = 0; r < sweep->records.count; r++) {
        for (size_t s = 0; s < sweep->sessions.count; s++) {
            const struct tree cell = tree_append_object(cells);
            tree_count(cell, "sessions", sweep->sessions.values[s]);
            tree_count(cell, "records", sweep->records.values[r]);
            for (size_t i = 0; i < SWEEP_FIGURES; i++) {
                struct spread figure;
                const bool is_known = sweep_figure(sweep, s, r, sweep_figures[i].column, &figure);
                const struct tree entry = tree_object(cell, sweep_figures[i].column);
                tree_number_if(entry, "median", is_known, figure.median);
                tree_number_if(entry, "lowest", is_known, figure.lowest);
                tree_number_if(entry, "highest", is_known, figure.highest);
                tree_count(entry, "runs", figure.count);
            }
        }
    }
}

static void build(struct tree root, const struct sweep *sweep, const char *state)
{
    tree_count(root, "format", SAVED_SWEEP_FORMAT);
    tree_text(root, "kind", "sweep");
    tree_text(root, "append_version", APPEND_VERSION);
    tree_text(root, "state", state);
    tree_text(root, "started_utc", sweep->started_utc);
    tree_text(root, "adapter", sweep->adapter);
    tree_text(root, "target", sweep->display_target);
    put_list(root, "sessions", &sweep->sessions);
    put_list(root, "records", &sweep->records);
    tree_count(root, "repeat", sweep->repeat);
    tree_text(root, "table", sweep_table_name(sweep->table));
    tree_bool(root, "has_begun", sweep->has_begun);
    const struct tree words = tree_array(root, "options");
    for (size_t i = 0; i < sweep->word_count; i++) {
        tree_append(words, json_string(sweep->words[i]));
    }
    tree_text(root, "target_given", sweep->target);
    tree_bool(root, "target_has_password", sweep->has_secret);
    tree_text(root, "working_folder", sweep->working_folder);
    put_cells(root, sweep);
    put_runs(root, sweep);
}

bool sweep_json_write(FILE *stream, const struct sweep *sweep, const char *state)
{
    bool has_failed = false;
    json_t *json = json_object();
    build((struct tree){json, &has_failed}, sweep, state);
    return tree_write(stream, json, has_failed);
}
