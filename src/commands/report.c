#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/text.h"
#include "commands/command.h"
#include "plan/command_line.h"
#include "report/report.h"
#include "report/tree.h"

enum {
    FORMAT_VERSION = 1, /* version of the JSON's format */
};

/* Returns the width of charts in characters: the width of the terminal, or the variable COLUMNS if
 * the output is not a terminal, or 80. */
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
    return (unsigned)MIN(MAX(columns, REPORT_TEXT_COLUMNS_MIN), REPORT_TEXT_COLUMNS_MAX);
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

/* Prints a JSON object with the files that were written and the runs that they show. `page` and
 * `png` are the names of the files; "" means that the file was not asked for, and is printed as
 * null. Returns false if memory runs out or a write fails. */
static bool print_json(const struct report *report, const char *page, size_t page_bytes,
                       const char *png, size_t png_count)
{
    bool has_failed = false;
    json_t *json = json_object();
    const struct tree root = {json, &has_failed};
    tree_count(root, "format", FORMAT_VERSION);
    tree_text(root, "page", page);
    tree_count_if(root, "page_bytes", page[0] != '\0', page_bytes);
    tree_text(root, "png_prefix", png);
    tree_count(root, "png_files", png_count);
    struct tree runs = tree_array(root, "runs");
    for (size_t i = 0; i < report->run_count; i++) {
        const struct report_run *run = &report->runs[i];
        struct tree tree = tree_append_object(runs);
        tree_text(tree, "folder", run->run.folder);
        tree_text(tree, "verdict", saved_run_text(&run->run, "verdict"));
        tree_text(tree, "verdict_reason", saved_run_text(&run->run, "verdict_reason"));
        const struct figure *figure;
        for (size_t f = 0; (figure = report_headline(f, report_is_scripted(&run->run))) != NULL;
             f++) {
            double value = 0;
            const char *key = figure->key;
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

static void print_path(const char *what, const char *path, const char *more)
{
    char clean[REPORT_PATH_BYTES];
    text_clean_line(clean, sizeof clean, path, sizeof clean);
    printf("%-10s%s%s\n", what, clean, more);
}

/* Writes everything that the options ask for. Standard output gets text or one JSON object. */
static enum status make_report(const struct report *report, const struct plan *plan,
                               struct error *error)
{
    enum status status = STATUS_OK;
    if (plan->charts.is_text) {
        struct buffer text = {0};
        status = report_add_text(&text, report, text_columns(), error);
        fputs(status == STATUS_OK ? buffer_text(&text) : "", stdout);
        buffer_fini(&text);
    }
    /* without --out, the page of a single run or sweep goes into its folder, and the page of
     * several goes into the current folder */
    char path[REPORT_PATH_BYTES], png[REPORT_PATH_BYTES] = "";
    size_t page_bytes = 0, png_count = 0;
    const char *name = plan->out == NULL ? REPORT_FILE : plan->out;
    if (status == STATUS_OK && plan->out == NULL && plan->folder_count == 1) {
        status = report_page_path(plan->folders[0], path, error);
    } else if (status == STATUS_OK && snprintf(path, sizeof path, "%s", name) >= (int)sizeof path) {
        usage_refuse(error, "--out '%.60s…' is too long: use a path of at most %d bytes", name,
                     REPORT_PATH_BYTES - 1);
        status = STATUS_REJECTED;
    }
    if (status == STATUS_OK && plan->charts.is_png) {
        /* write the pictures before the page, because without gnuplot neither is written */
        const size_t length = strlen(path);
        const bool is_html = length > 5 && strcmp(path + length - 5, ".html") == 0;
        snprintf(png, sizeof png, "%.*s", (int)(length - (is_html ? 5 : 0)), path);
        status = report_write_pictures(report, png, &png_count, error);
    }
    const bool has_page = !plan->charts.is_text || plan->out != NULL;
    if (status == STATUS_OK && has_page) {
        status = report_write_page(report, path, &page_bytes, error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (plan->is_json) {
        if (!print_json(report, has_page ? path : "", page_bytes, png, png_count)) {
            error_set(error, ERROR_SYSTEM, errno, NULL, "cannot write the report: %s",
                      strerror(errno));
            return STATUS_REJECTED;
        }
        return STATUS_OK;
    }
    char more[UNITS_TEXT_BYTES + 48];
    if (has_page) {
        snprintf(more, sizeof more, "  (%zu charts, %s)", report->charts.count,
                 UNITS_BYTES(page_bytes));
        print_path("Report", path, more);
    }
    if (png[0] != '\0') {
        snprintf(more, sizeof more, "-*.png  (%zu files)", png_count);
        print_path("Charts", png, more);
    }
    return STATUS_OK;
}

enum exit_code command_report(int argc, char **argv)
{
    struct plan plan;
    struct error error = {0};
    enum exit_code code =
        command_line_read(&plan, command_form(COMMAND_REPORT), argc, argv, &error);
    if (command_is_done(&plan, &code, &error)) {
        return code;
    }
    struct report report;
    if (plan.charts.is_text && plan.is_json) {
        code = usage_refuse(&error,
                            "--text and --json both print on standard output: use one of them");
        return command_refuse(plan.is_json, code, &error);
    }
    if (report_read(&report, (const char *const *)plan.folders, plan.folder_count,
                    plan.charts.is_all, plan.charts.x_axis == AXIS_ROWS, &error) != STATUS_OK) {
        code = error.kind == ERROR_MEMORY ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_USAGE;
        return command_refuse(plan.is_json, code, &error);
    }
    const enum status status = make_report(&report, &plan, &error);
    report_free(&report);
    code = error.kind == ERROR_USAGE ? EXIT_CODE_USAGE : EXIT_CODE_CLIENT_LIMIT;
    return status == STATUS_OK ? command_finish_output()
                               : command_refuse(plan.is_json, code, &error);
}

enum exit_code command_write_report(const char *folder, bool is_silent, struct error *error)
{
    char path[REPORT_PATH_BYTES];
    size_t size;
    struct report report;
    const locale_t before = units_use_point();
    enum status status = report_page_path(folder, path, error);
    if (status == STATUS_OK) {
        status = report_read(&report, &folder, 1, false, false, error);
    }
    if (status == STATUS_OK) {
        status = report_write_page(&report, path, &size, error);
        report_free(&report);
    }
    uselocale(before);
    if (!is_silent) {
        char line[REPORT_PATH_BYTES + 16];
        snprintf(line, sizeof line, "%s%s", status == STATUS_OK ? "" : "not written: ",
                 status == STATUS_OK ? path : error->text);
        print_path("Report", line, "");
    }
    return status == STATUS_OK ? EXIT_CODE_OK : EXIT_CODE_CLIENT_LIMIT;
}
