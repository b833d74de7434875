#include "chart/report_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chart/run_charts.h"
#include "chart/run_words.h"
#include "chart/set_charts.h"
#include "report/clean.h"
#include "runs/events.h"

static enum status no_memory(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the report");
    return STATUS_REJECTED;
}

static enum status add_run(struct report_set *set, const char *folder, struct error *error)
{
    if (set->run_count == REPORT_RUNS_MAX) {
        set->beyond++;
        return STATUS_OK;
    }
    struct report_run *run = &set->runs[set->run_count];
    struct error events_error;
    if (saved_run_read(&run->run, folder, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    set->run_count++;
    error_clear(&events_error);
    if (events_read_saved(&run->events, &run->run, &events_error) != STATUS_OK) {
        memcpy(run->events_error, events_error.text, sizeof run->events_error);
    }
    return STATUS_OK;
}

static enum status add_sweep(struct report_set *set, const char *folder, struct error *error)
{
    struct report_sweep *entry = &set->sweeps[set->sweep_count];
    if (saved_sweep_read(&entry->sweep, folder, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    set->sweep_count++;
    for (size_t i = 0; i < entry->sweep.run_count; i++) {
        const struct saved_sweep_run *run = &entry->sweep.runs[i];
        char path[SAVED_RUN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES];
        struct error run_error; /* a failed run may have left nothing: the others are shown */
        error_clear(&run_error);
        saved_sweep_run_folder(&entry->sweep, run, path);
        if (run->state != SAVED_PENDING && add_run(set, path, &run_error) != STATUS_OK) {
            entry->left_out++;
        }
    }
    return STATUS_OK;
}

static bool are_labels_unique(const struct report_set *set)
{
    for (size_t i = 0; i < set->run_count; i++) {
        for (size_t other = 0; other < i; other++) {
            if (strcmp(set->runs[i].label, set->runs[other].label) == 0) {
                return false;
            }
        }
    }
    return true;
}

enum {
    BY_SIZE,
    BY_ADAPTER_AND_SIZE,
    BY_FOLDER,
    BY_NUMBER_AND_FOLDER,
    LABEL_WAYS
};

static void label_run(struct report_run *run, size_t number, int way)
{
    char words[RUN_WORDS_BYTES], text[2 * REPORT_LABEL_BYTES];
    const char *slash = strrchr(run->run.folder, '/');
    const char *folder = slash == NULL ? run->run.folder : slash + 1;
    switch (way) {
    case BY_SIZE:
        snprintf(text, sizeof text, "%s", run_words_size(&run->run, words));
        break;
    case BY_ADAPTER_AND_SIZE:
        snprintf(text, sizeof text, "%.30s %s", saved_run_text(&run->run, "adapter"),
                 run_words_size(&run->run, words));
        break;
    case BY_FOLDER:
        snprintf(text, sizeof text, "%.100s", folder);
        break;
    default:
        snprintf(text, sizeof text, "%zu %.100s", number, folder);
    }
    clean_line(run->label, sizeof run->label, text, REPORT_LABEL_COLUMNS);
}

/* The shortest way that tells all of them apart. */
static void label_runs(struct report_set *set)
{
    bool is_unique = false;
    for (int way = 0; way < LABEL_WAYS && !is_unique; way++) {
        for (size_t i = 0; i < set->run_count; i++) {
            label_run(&set->runs[i], i + 1, way);
        }
        is_unique = are_labels_unique(set);
    }
}

static enum status make_charts(struct report_set *set, struct error *error)
{
    bool has_failed = false;
    for (size_t i = 0; i < set->sweep_count; i++) {
        struct report_sweep *sweep = &set->sweeps[i];
        sweep->first_chart = set->charts.count;
        set_charts_add_sweep(&set->charts, &sweep->sweep, i + 1);
        sweep->chart_count = set->charts.count - sweep->first_chart;
    }
    set->overview_first = set->charts.count;
    if (set->run_count > 1 && set->sweep_count == 0) {
        set_charts_add_runs(&set->charts, set);
        run_charts_add_together(&set->charts, set);
    }
    set->overview_count = set->charts.count - set->overview_first;
    for (size_t i = 0; i < set->run_count && set->has_run_charts; i++) {
        struct report_run *run = &set->runs[i];
        run->first_chart = set->charts.count;
        run_charts_add(&set->charts, &run->absent, &run->run, &run->events);
        run->chart_count = set->charts.count - run->first_chart;
        has_failed |= buffer_failed(&run->absent);
    }
    return has_failed || set->charts.has_failed ? no_memory(error) : STATUS_OK;
}

enum status report_set_read(struct report_set *set, const char *const *folders, size_t count,
                            bool with_runs, struct error *error)
{
    *set = (struct report_set){
        .runs = calloc(REPORT_RUNS_MAX, sizeof *set->runs),
        .sweeps = calloc(count, sizeof *set->sweeps),
    };
    enum status status = set->runs == NULL || set->sweeps == NULL ? no_memory(error) : STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = saved_sweep_is_there(folders[i]) ? add_sweep(set, folders[i], error)
                                                  : add_run(set, folders[i], error);
    }
    if (status == STATUS_OK && set->run_count == 0) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL, "no run of the sweep '%s' has ended yet",
                  folders[0]);
        status = STATUS_REJECTED;
    }
    if (status == STATUS_OK) {
        set->has_run_charts = with_runs || (set->run_count == 1 && set->sweep_count == 0);
        label_runs(set);
        status = make_charts(set, error);
    }
    if (status != STATUS_OK) {
        report_set_free(set);
    }
    return status;
}

void report_set_free(struct report_set *set)
{
    for (size_t i = 0; i < set->run_count; i++) {
        saved_run_free(&set->runs[i].run);
        event_list_fini(&set->runs[i].events);
        buffer_fini(&set->runs[i].absent);
    }
    for (size_t i = 0; i < set->sweep_count; i++) {
        saved_sweep_free(&set->sweeps[i].sweep);
    }
    chart_list_free(&set->charts);
    free(set->runs);
    free(set->sweeps);
    *set = (struct report_set){0};
}
