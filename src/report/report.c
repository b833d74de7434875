#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mono.h"
#include "base/text.h"
#include "report/events.h"

static const char png_begin[] = "\x89PNG\r\n\x1a\n";

static enum status no_memory(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the report");
    return STATUS_REJECTED;
}

/* Adds the beginnings of the stages to the events, so that the charts show them. */
static void add_stages(struct report_run *run)
{
    const json_t *stages = saved_run_json(&run->run, "stages");
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *stage = json_array_get(stages, i);
        const double start_s = json_number_value(json_object_get(stage, "start_s"));
        const double number = json_number_value(json_object_get(stage, "stage"));
        const double target = json_number_value(json_object_get(stage, "target"));
        char text[64];
        snprintf(text, sizeof text, "stage %.0f, to %s", number,
                 UNITS_COUNT((uint64_t)fmin(fmax(target, 0), 1e18)));
        event_list_add(&run->events, (int64_t)(start_s * (double)MONO_NS_PER_S), text);
    }
}

/* Reads the events of a run whose other files were already read. */
static void read_events(struct report_run *run)
{
    struct error events_error = {0};
    struct moment started;
    const char *utc = json_string_value(saved_run_json(&run->run, "times.started_utc"));
    const bool is_known = utc != NULL && moment_parse(utc, &started) && started.is_utc;
    events_read(&run->events, run->run.folder, is_known ? started.ns : EVENTS_START_UNKNOWN,
                &events_error);
    memcpy(run->events_error, events_error.text, sizeof run->events_error);
    add_stages(run);
}

/* Reads a run. `sweep` and `place` are NULL if the run does not belong to a sweep. */
static enum status add_run(struct report *report, const char *folder,
                           const struct saved_sweep *sweep, const struct saved_sweep_run *place,
                           struct error *error)
{
    if (report->run_count == REPORT_RUNS_MAX) {
        report->beyond++;
        return STATUS_OK;
    }
    struct report_run *run = &report->runs[report->run_count];
    if (saved_run_read(&run->run, folder, sweep == NULL, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    run->sweep = sweep;
    run->place = place;
    read_events(run);
    report->run_count++;
    return STATUS_OK;
}

/* Gives each run a label. The enum lists the forms of a label. Uses the first form that makes the
 * labels of all runs different. */
static void label_runs(struct report *report)
{
    enum {
        BY_VARIANT, /* such as "table=normal" or "200 × 400k table=normal (2)" */
        BY_SIZE,    /* such as "200 × 400k" or "200 × 10 min" */
        BY_ADAPTER_AND_SIZE,
        BY_FOLDER,
        BY_NUMBER_AND_FOLDER,
        WAYS
    };
    bool is_unique = false;
    for (int way = 0; way < WAYS && !is_unique; way++) {
        is_unique = true;
        for (size_t i = 0; i < report->run_count; i++) {
            struct report_run *run = &report->runs[i];
            char size[REPORT_WORDS_BYTES], text[2 * REPORT_LABEL_BYTES];
            const char *slash = strrchr(run->run.folder, '/');
            const char *folder = slash == NULL ? run->run.folder : slash + 1;
            report_size(&run->run, size);
            if (way == BY_VARIANT && run->sweep != NULL && report_sweep_varies(run->sweep)) {
                const struct saved_sweep *sweep = run->sweep;
                const bool has_size = saved_sweep_cells(sweep) > sweep->variants.count;
                const int length =
                    snprintf(text, sizeof text, "%s%s%s", has_size ? size : "", has_size ? " " : "",
                             sweep->variants.texts[run->place->variant]);
                if (sweep->repeat > 1) {
                    snprintf(text + length, sizeof text - (size_t)length, " (%u)",
                             run->place->repeat);
                }
            } else if (way == BY_ADAPTER_AND_SIZE) {
                snprintf(text, sizeof text, "%.30s %s", saved_run_text(&run->run, "adapter"), size);
            } else if (way == BY_NUMBER_AND_FOLDER) {
                snprintf(text, sizeof text, "%zu %.100s", i + 1, folder);
            } else {
                snprintf(text, sizeof text, "%.100s", way == BY_FOLDER ? folder : size);
            }
            text_clean_line(run->label, sizeof run->label, text, REPORT_LABEL_COLUMNS);
            for (size_t other = 0; other < i; other++) {
                is_unique &= strcmp(run->label, report->runs[other].label) != 0;
            }
        }
    }
}

/* Completes a report whose runs have been read. `status` is the result of reading them. If it is
 * STATUS_OK, makes the labels and the charts. Frees the report after any failure. Returns the
 * status. */
static enum status complete(struct report *report, enum status status, bool with_runs,
                            struct error *error)
{
    if (status == STATUS_OK) {
        report->has_run_charts = with_runs || (report->run_count == 1 && report->sweep_count == 0);
        label_runs(report);
        status = charts_make(report) ? STATUS_OK : no_memory(error);
    }
    if (status != STATUS_OK) {
        report_free(report);
    }
    return status;
}

/* Reads the folders, without charts. */
static enum status read_folders(struct report *report, const char *const *folders, size_t count,
                                struct error *error)
{
    *report = (struct report){
        .runs = calloc(REPORT_RUNS_MAX + 1, sizeof *report->runs),
        .sweeps = calloc(count, sizeof *report->sweeps),
    };
    enum status status =
        report->runs == NULL || report->sweeps == NULL ? no_memory(error) : STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        if (!saved_has_file(folders[i], "sweep.json")) {
            status = add_run(report, folders[i], NULL, NULL, error);
            continue;
        }
        struct report_sweep *entry = &report->sweeps[report->sweep_count];
        const struct saved_sweep *sweep = &entry->sweep;
        status = saved_sweep_read(&entry->sweep, folders[i], error);
        report->sweep_count += status == STATUS_OK ? 1 : 0;
        for (size_t j = 0; status == STATUS_OK && j < sweep->run_count; j++) {
            char path[SAVED_RUN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES];
            struct error run_error; /* the error is not reported, because a failed run may have left
                                       no files */
            error_clear(&run_error);
            saved_sweep_run_folder(sweep, &sweep->runs[j], path);
            if (sweep->runs[j].state != SAVED_PENDING &&
                add_run(report, path, sweep, &sweep->runs[j], &run_error) != STATUS_OK) {
                entry->left_out++;
            }
        }
    }
    return status;
}

/* Returns `status`, or REJECTED if the report has nothing to show. */
static enum status check_runs(const struct report *report, enum status status, const char *folder,
                              struct error *error)
{
    if (status != STATUS_OK || report->run_count > 0 || report->running != NULL) {
        return status;
    }
    error_set(error, ERROR_NOT_FOUND, 0, NULL, "no run of the sweep '%s' has ended yet", folder);
    return STATUS_REJECTED;
}

enum status report_read(struct report *report, const char *const *folders, size_t count,
                        bool with_runs, bool is_over_rows, struct error *error)
{
    enum status status = read_folders(report, folders, count, error);
    status = check_runs(report, status, folders[0], error);
    report->is_over_rows = is_over_rows;
    return complete(report, status, with_runs, error);
}

/* Reads the files that the sweep's run `name` has written so far. Leaves out the run if it has not
 * begun to write its files. */
static void add_running(struct report *report, const char *name)
{
    const struct saved_sweep *sweep = &report->sweeps[0].sweep;
    const char *adapter = json_string_value(json_object_get(sweep->json, "adapter"));
    struct report_run *run = &report->runs[report->run_count];
    for (size_t i = 0; i < sweep->run_count; i++) {
        const struct saved_sweep_run *place = &sweep->runs[i];
        if (place->state != SAVED_PENDING || strcmp(place->name, name) != 0) {
            continue;
        }
        char path[SAVED_RUN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES], summary[512], records[24] = "";
        struct error unread = {.kind = ERROR_NONE};
        saved_sweep_run_folder(sweep, place, path);
        if (place->records > 0) {
            snprintf(records, sizeof records, "%" PRIu64, place->records);
        }
        snprintf(summary, sizeof summary,
                 "adapter,sessions,records,verdict,verdict_reason\n%.60s,%" PRIu64
                 ",%s,RUNNING,\"the run is in progress: only its per-second figures are known\"\n",
                 adapter == NULL ? "" : adapter, place->sessions, records);
        if (saved_run_read_running(&run->run, path, "{\"format\": 2}", summary, &unread) ==
            STATUS_OK) {
            run->sweep = sweep;
            run->place = place;
            snprintf(run->label, sizeof run->label, "%.60s", name);
            read_events(run);
            report->running = run;
        }
    }
}

enum status report_read_sweep_running(struct report *report, const char *folder,
                                      const char *running, struct error *error)
{
    enum status status = read_folders(report, &folder, 1, error);
    if (status == STATUS_OK && running != NULL) {
        add_running(report, running);
    }
    status = check_runs(report, status, folder, error);
    return complete(report, status, false, error);
}

enum status report_read_running(struct report *report, const char *folder, const char *json,
                                const char *summary, struct error *error)
{
    *report = (struct report){.runs = calloc(1, sizeof *report->runs)};
    enum status status = report->runs == NULL ? no_memory(error)
                                              : saved_run_read_running(&report->runs[0].run, folder,
                                                                       json, summary, error);
    if (status == STATUS_OK) {
        read_events(&report->runs[report->run_count++]);
    }
    return complete(report, status, false, error);
}

void report_free(struct report *report)
{
    for (size_t i = 0; i < report->run_count + (report->running != NULL); i++) {
        saved_run_free(&report->runs[i].run);
        event_list_fini(&report->runs[i].events);
        buffer_fini(&report->runs[i].absent);
    }
    for (size_t i = 0; i < report->sweep_count; i++) {
        saved_sweep_free(&report->sweeps[i].sweep);
    }
    charts_free(&report->charts);
    free(report->runs);
    free(report->sweeps);
    *report = (struct report){0};
}

static enum status refuse_path(struct error *error, const char *path)
{
    error_set(error, ERROR_USAGE, 0, NULL, "the path '%.60s…' is too long", path);
    return STATUS_REJECTED;
}

enum status report_write_whole(const char *path, const char *begin, const char *maker,
                               const struct buffer *content, struct error *error)
{
    char bytes[128];
    const size_t wanted = strlen(begin);
    FILE *file;
    struct error unread = {0};
    if (file_is_special(path)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "%s is a device or a pipe: give the name of a file with --out", path);
        return STATUS_REJECTED;
    }
    if (file_open(path, &file, &unread) == STATUS_OK) {
        const size_t length = fread(bytes, 1, wanted, file);
        fclose(file);
        if (length != wanted || memcmp(bytes, begin, wanted) != 0) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "%s exists and was not made by %s: give another name with --out", path,
                      maker);
            return STATUS_REJECTED;
        }
    } else if (unread.native_code != ENOENT) {
        *error = unread;
        return STATUS_REJECTED;
    }
    const int number = file_replace(AT_FDCWD, path, content, false);
    if (number != 0) {
        error_set(error, ERROR_SYSTEM, number, NULL, "%s cannot be written: %s", path,
                  strerror(number));
    }
    return number == 0 ? STATUS_OK : STATUS_REJECTED;
}

enum status report_write_page(const struct report *report, const char *path, size_t *bytes,
                              struct error *error)
{
    struct buffer page = {0};
    page_add(&page, report);
    const enum status status =
        buffer_failed(&page)
            ? no_memory(error)
            : report_write_whole(path, REPORT_PAGE_BEGIN, "append report", &page, error);
    *bytes = page.length;
    buffer_fini(&page);
    return status;
}

enum status report_write_pictures(const struct report *report, const char *prefix, size_t *count,
                                  struct error *error)
{
    enum status status = STATUS_OK;
    *count = 0;
    for (size_t i = 0; i < report->charts.count && status == STATUS_OK; i++) {
        const struct chart *chart = &report->charts.entries[i];
        struct buffer png;
        char path[REPORT_PATH_BYTES], number[32] = "";
        for (size_t run = 0; run < report->run_count && report->run_count > 1; run++) {
            const struct chart_range *range = &report->runs[run].charts;
            if (i >= range->first && i < range->first + range->count) {
                snprintf(number, sizeof number, "run%zu-", run + 1);
            }
        }
        if ((size_t)snprintf(path, sizeof path, "%s-%s%s.png", prefix, number, chart->name) >=
            sizeof path) {
            return refuse_path(error, prefix);
        }
        buffer_init(&png);
        plot_add(&png, chart, 0, error);
        const size_t wanted = strlen(png_begin);
        if (!error_is_set(error) &&
            (png.length < wanted || memcmp(png.bytes, png_begin, wanted) != 0)) {
            error_set(error, ERROR_UNSUPPORTED, 0, NULL, "gnuplot drew nothing for %s", path);
        }
        status = error_is_set(error)
                     ? STATUS_REJECTED
                     : report_write_whole(path, png_begin, "append report", &png, error);
        *count += status == STATUS_OK ? 1 : 0;
        buffer_fini(&png);
    }
    return status;
}

enum status report_page_path(const char *folder, char path[REPORT_PATH_BYTES], struct error *error)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') {
        length--;
    }
    return (size_t)snprintf(path, REPORT_PATH_BYTES, "%.*s/" REPORT_FILE, (int)length, folder) <
                   REPORT_PATH_BYTES
               ? STATUS_OK
               : refuse_path(error, folder);
}
