#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "commands/command.h"
#include "report/report.h"
#include "report/tree.h"

enum {
    FORMAT_VERSION = 1, /* of the JSON */
};

/* What was made. */
struct written {
    char page[REPORT_PATH_BYTES]; /* "": no page was asked for */
    size_t page_bytes;
    char png[REPORT_PATH_BYTES]; /* what the names of all PNG files begin with */
    size_t png_count;
};

/* Width for charts: the terminal's, COLUMNS, or 80. */
static unsigned text_columns(void)
{
    struct winsize size;
    uint64_t columns = 0;
    const char *named = getenv("COLUMNS");
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        columns = size.ws_col;
    } else if (named == NULL || !units_parse_count(named, REPORT_TEXT_COLUMNS_MAX, &columns)) {
        columns = REPORT_TEXT_COLUMNS;
    }
    return columns < REPORT_TEXT_COLUMNS_MIN   ? REPORT_TEXT_COLUMNS_MIN
           : columns > REPORT_TEXT_COLUMNS_MAX ? REPORT_TEXT_COLUMNS_MAX
                                               : (unsigned)columns;
}

/* What is wrong with folders or the name of the page is usage; the rest is this machine's. */
static enum exit_code fail(const struct error *error, bool is_reading, bool is_json)
{
    const bool is_usage = error->kind == ERROR_USAGE || (is_reading && error->kind != ERROR_MEMORY);
    return command_refuse(is_json, is_usage ? EXIT_CODE_USAGE : EXIT_CODE_CLIENT_LIMIT, error);
}

static enum status print_text(const struct report *report, struct error *error)
{
    struct buffer text;
    buffer_init(&text);
    const enum status status = report_add_text(&text, report, text_columns(), error);
    if (status == STATUS_OK) {
        fputs(buffer_text(&text), stdout);
    }
    buffer_fini(&text);
    return status;
}

/* In the folder of a run or sweep; with several, here. */
static enum status page_path(const struct plan *plan, char path[REPORT_PATH_BYTES],
                             struct error *error)
{
    if (plan->out == NULL && plan->folder_count == 1) {
        return report_page_path(plan->folders[0], path, error);
    }
    const char *name = plan->out == NULL ? REPORT_FILE : plan->out;
    if (snprintf(path, REPORT_PATH_BYTES, "%s", name) < REPORT_PATH_BYTES) {
        return STATUS_OK;
    }
    error_set(error, ERROR_USAGE, 0, NULL,
              "--out '%.60s…' is too long: use a path of up to %d bytes", name,
              REPORT_PATH_BYTES - 1);
    return STATUS_REJECTED;
}

static enum status write_files(const struct report *report, const struct plan *plan,
                               struct written *written, struct error *error)
{
    char path[REPORT_PATH_BYTES];
    enum status status = page_path(plan, path, error);
    if (status == STATUS_OK && plan->is_png_charts) { /* first: they need gnuplot */
        const size_t length = strlen(path);
        const bool is_html = length > 5 && strcmp(path + length - 5, ".html") == 0;
        snprintf(written->png, sizeof written->png, "%.*s", (int)(length - (is_html ? 5 : 0)),
                 path);
        status = report_write_pictures(report, written->png, &written->png_count, error);
    }
    if (status == STATUS_OK && (!plan->is_text_charts || plan->out != NULL)) {
        memcpy(written->page, path, sizeof written->page);
        status = report_write_page(report, path, &written->page_bytes, error);
    }
    return status;
}

static void print_path(const char *what, const char *path, const char *more)
{
    char clean[REPORT_PATH_BYTES];
    text_clean_line(clean, sizeof clean, path, sizeof clean);
    printf("%-10s%s%s\n", what, clean, more);
}

static void print_written(const struct report *report, const struct written *written)
{
    char size[UNITS_TEXT_BYTES], more[UNITS_TEXT_BYTES + 48];
    if (written->page[0] != '\0') {
        snprintf(more, sizeof more, "  (%zu charts, %s)", report->charts.count,
                 units_format_bytes(written->page_bytes, size));
        print_path("Report", written->page, more);
    }
    if (written->png[0] != '\0') {
        snprintf(more, sizeof more, "-*.png  (%zu files)", written->png_count);
        print_path("Charts", written->png, more);
    }
}

static void add_charts(struct tree tree, const struct report *report, struct chart_range range)
{
    struct tree list = tree_array(tree, "charts");
    for (size_t i = range.first; i < range.first + range.count; i++) {
        struct tree entry = tree_append_object(list);
        tree_text(entry, "name", report->charts.entries[i].name);
        tree_text(entry, "title", report->charts.entries[i].title);
    }
}

/* What was written, of what, as one object. False: out of memory or a failed write. */
static bool print_json(const struct report *report, const struct written *written)
{
    bool has_failed = false;
    json_t *json = json_object();
    const struct tree root = {json, &has_failed};
    tree_count(root, "format", FORMAT_VERSION);
    tree_text(root, "page", written->page);
    tree_count_if(root, "page_bytes", written->page[0] != '\0', written->page_bytes);
    tree_text(root, "png_prefix", written->png);
    tree_count(root, "png_files", written->png_count);
    struct tree runs = tree_array(root, "runs");
    for (size_t i = 0; i < report->run_count; i++) {
        const struct report_run *run = &report->runs[i];
        struct tree tree = tree_append_object(runs);
        tree_text(tree, "folder", run->run.folder);
        tree_text(tree, "verdict", saved_run_text(&run->run, "verdict"));
        tree_text(tree, "verdict_reason", saved_run_text(&run->run, "verdict_reason"));
        for (size_t f = 0; report_headline(f) != NULL; f++) {
            double value = 0;
            const char *key = report_headline(f)->key;
            const bool is_known = saved_run_figure(&run->run, key, &value);
            tree_number_if(tree, key, is_known, value);
        }
        tree_count(tree, "events", run->events.count);
        tree_text(tree, "events_error", run->events_error);
        tree_text(tree, "events_note", run->events.note);
        add_charts(tree, report, run->charts);
    }
    tree_count(root, "runs_beyond", report->beyond);
    struct tree sweeps = tree_array(root, "sweeps");
    for (size_t i = 0; i < report->sweep_count; i++) {
        struct tree tree = tree_append_object(sweeps);
        tree_text(tree, "folder", report->sweeps[i].sweep.folder);
        tree_count(tree, "runs_left_out", report->sweeps[i].left_out);
        add_charts(tree, report, report->sweeps[i].charts);
    }
    return tree_write(stdout, json, has_failed);
}

/* All that is asked for; on standard output is either text or one JSON object. */
static enum status make_report(const struct report *report, const struct plan *plan,
                               struct error *error)
{
    struct written written = {0};
    enum status status = plan->is_text_charts ? print_text(report, error) : STATUS_OK;
    if (status == STATUS_OK) {
        status = write_files(report, plan, &written, error);
    }
    if (status == STATUS_OK && !plan->is_json) {
        print_written(report, &written);
    } else if (status == STATUS_OK && !print_json(report, &written)) {
        error_set(error, ERROR_SYSTEM, errno, NULL, "the report could not be written: %s",
                  strerror(errno));
        status = STATUS_REJECTED;
    }
    return status;
}

enum exit_code command_report(int argc, char **argv)
{
    struct plan plan;
    enum exit_code code;
    if (!command_begin(&plan, COMMAND_REPORT, argc, argv, &code)) {
        return code;
    }
    struct report report;
    struct error error;
    error_clear(&error);
    if (plan.is_text_charts && plan.is_json) {
        error_set(&error, ERROR_USAGE, 0, NULL,
                  "--text and --json both want standard output: give one of them");
        return command_refuse(plan.is_json, EXIT_CODE_USAGE, &error);
    }
    if (report_read(&report, (const char *const *)plan.folders, plan.folder_count,
                    plan.is_all_charts, &error) != STATUS_OK) {
        return fail(&error, true, plan.is_json);
    }
    const enum status status = make_report(&report, &plan, &error);
    report_free(&report);
    return status == STATUS_OK ? command_finish_output() : fail(&error, false, plan.is_json);
}

static enum status write_folder(const char *folder, char path[REPORT_PATH_BYTES],
                                struct error *error)
{
    struct report report;
    size_t size;
    if (report_page_path(folder, path, error) != STATUS_OK ||
        report_read(&report, &folder, 1, false, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    const enum status status = report_write_page(&report, path, &size, error);
    report_free(&report);
    return status;
}

enum exit_code command_write_report(const char *folder, bool is_silent, struct error *error)
{
    char path[REPORT_PATH_BYTES], clean[REPORT_PATH_BYTES];
    const locale_t before = units_use_point();
    const enum status status = write_folder(folder, path, error);
    uselocale(before);
    if (!is_silent) {
        text_clean_line(clean, sizeof clean, status == STATUS_OK ? path : error->text,
                        sizeof clean);
        printf("%-10s%s%s\n", "Report", status == STATUS_OK ? "" : "not written: ", clean);
    }
    return status == STATUS_OK ? EXIT_CODE_OK : EXIT_CODE_CLIENT_LIMIT;
}
