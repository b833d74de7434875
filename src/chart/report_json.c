#include "chart/report_json.h"

#include "report/tree.h"

enum {
    FORMAT_VERSION = 1,
};

static void add_charts(struct tree tree, const struct report_set *set, size_t first, size_t count)
{
    struct tree list = tree_array(tree, "charts");
    for (size_t i = first; i < first + count; i++) {
        struct tree entry = tree_append_object(list);
        tree_text(entry, "name", set->charts.entries[i].name);
        tree_text(entry, "title", set->charts.entries[i].title);
    }
}

static void add_run(struct tree list, const struct report_set *set, const struct report_run *run)
{
    static const char *const figures[] = {"max_cpu_percent", "max_memory_mib", "elapsed_s",
                                          "throughput_rows_per_s"};
    struct tree tree = tree_append_object(list);
    tree_text(tree, "folder", run->run.folder);
    tree_text(tree, "verdict", saved_run_text(&run->run, "verdict"));
    tree_text(tree, "verdict_reason", saved_run_text(&run->run, "verdict_reason"));
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        double value = 0;
        const bool is_known = saved_run_figure(&run->run, figures[i], &value);
        tree_number_if(tree, figures[i], is_known, value);
    }
    tree_count(tree, "events", run->events.count);
    tree_text(tree, "events_error", run->events_error);
    tree_text(tree, "events_note", run->events.note);
    add_charts(tree, set, run->first_chart, run->chart_count);
}

static void add_sweep(struct tree list, const struct report_set *set,
                      const struct report_sweep *sweep)
{
    struct tree tree = tree_append_object(list);
    tree_text(tree, "folder", sweep->sweep.folder);
    tree_count(tree, "runs_left_out", sweep->left_out);
    add_charts(tree, set, sweep->first_chart, sweep->chart_count);
}

bool report_json_write(FILE *stream, const struct report_set *set,
                       const struct report_written *written)
{
    bool has_failed = false;
    json_t *json = json_object();
    const struct tree root = {json, &has_failed};
    const bool has_page = written->page[0] != '\0';
    tree_count(root, "format", FORMAT_VERSION);
    tree_text(root, "page", written->page);
    tree_count_if(root, "page_bytes", has_page, written->page_bytes);
    tree_text(root, "png_prefix", written->png);
    tree_count(root, "png_files", written->png_count);
    struct tree runs = tree_array(root, "runs");
    for (size_t i = 0; i < set->run_count; i++) {
        add_run(runs, set, &set->runs[i]);
    }
    tree_count(root, "runs_beyond", set->beyond);
    struct tree sweeps = tree_array(root, "sweeps");
    for (size_t i = 0; i < set->sweep_count; i++) {
        add_sweep(sweeps, set, &set->sweeps[i]);
    }
    return tree_write(stream, json, has_failed);
}
