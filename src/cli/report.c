#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/units.h"
#include "chart/report_files.h"
#include "chart/report_json.h"
#include "chart/report_set.h"
#include "chart/report_text.h"
#include "chart/script.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/options.h"
#include "report/clean.h"

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
    return columns < SCRIPT_COLUMNS_MIN        ? SCRIPT_COLUMNS_MIN
           : columns > REPORT_TEXT_COLUMNS_MAX ? REPORT_TEXT_COLUMNS_MAX
                                               : (unsigned)columns;
}

/* What is wrong with folders or the name of the page is usage; the rest is this machine's. */
static enum exit_code fail(const struct error *error, bool is_reading, bool is_json)
{
    const bool is_usage = error->kind == ERROR_USAGE || (is_reading && error->kind != ERROR_MEMORY);
    return command_refuse(is_json, is_usage ? EXIT_CODE_USAGE : EXIT_CODE_CLIENT_LIMIT, error);
}

static enum status print_text(const struct report_set *set, struct error *error)
{
    struct buffer text;
    buffer_init(&text);
    const enum status status = report_text_add(&text, set, text_columns(), error);
    if (status == STATUS_OK) {
        fputs(buffer_text(&text), stdout);
    }
    buffer_fini(&text);
    return status;
}

/* In the folder of a run or sweep; with several, here. */
static enum status page_path(const struct options *options, char *path, size_t bytes,
                             struct error *error)
{
    if (options->config.out == NULL && options->folder_count == 1) {
        return report_files_path(options->folders[0], path, bytes, error);
    }
    const char *name = options->config.out == NULL ? REPORT_FILE : options->config.out;
    if ((size_t)snprintf(path, bytes, "%s", name) < bytes) {
        return STATUS_OK;
    }
    error_set(error, ERROR_USAGE, 0, NULL,
              "--out '%.60s…' is too long: use a path of up to %zu bytes", name, bytes - 1);
    return STATUS_REJECTED;
}

static enum status write_files(const struct report_set *set, const struct options *options,
                               struct report_written *written, struct error *error)
{
    char path[sizeof written->page];
    enum status status = page_path(options, path, sizeof path, error);
    if (status == STATUS_OK && (!options->is_text_charts || options->config.out != NULL)) {
        memcpy(written->page, path, sizeof written->page);
        status = report_files_write_page(set, path, &written->page_bytes, error);
    }
    if (status == STATUS_OK && options->is_png_charts) {
        status = report_files_write_png(set, path, &written->png_count, error);
        const size_t length = strlen(path);
        path[length - (length > 5 && strcmp(path + length - 5, ".html") == 0 ? 5 : 0)] = '\0';
        memcpy(written->png, path, sizeof written->png);
    }
    return status;
}

static void print_path(const char *what, const char *path, const char *more)
{
    char clean[2 * SAVED_RUN_PATH_BYTES];
    clean_line(clean, sizeof clean, path, sizeof clean);
    printf("%-10s%s%s\n", what, clean, more);
}

static void print_written(const struct report_set *set, const struct report_written *written)
{
    char size[UNITS_TEXT_BYTES], more[UNITS_TEXT_BYTES + 48];
    if (written->page[0] != '\0') {
        snprintf(more, sizeof more, "  (%zu charts, %s)", set->charts.count,
                 units_format_bytes(written->page_bytes, size));
        print_path("Report", written->page, more);
    }
    if (written->png[0] != '\0') {
        snprintf(more, sizeof more, "-*.png  (%zu files)", written->png_count);
        print_path("Charts", written->png, more);
    }
}

/* All that is asked for; on standard output is either text or one JSON object. */
static enum status make_report(const struct report_set *set, const struct options *options,
                               struct error *error)
{
    struct report_written written = {0};
    enum status status = options->is_text_charts ? print_text(set, error) : STATUS_OK;
    if (status == STATUS_OK) {
        status = write_files(set, options, &written, error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (!options->config.is_json) {
        print_written(set, &written);
    } else if (!report_json_write(stdout, set, &written)) {
        error_set(error, ERROR_SYSTEM, errno, NULL, "the report could not be written: %s",
                  strerror(errno));
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

enum exit_code command_report(int argc, char **argv)
{
    struct options options;
    struct report_set set;
    struct error error;
    error_clear(&error);
    if (options_parse(&options, COMMAND_REPORT, argc, argv, &error) != STATUS_OK) {
        return command_refuse(options.config.is_json, EXIT_CODE_USAGE, &error);
    }
    if (options.is_help) {
        help_print(COMMAND_REPORT, stdout);
        return command_finish_output();
    }
    if (options.is_text_charts && options.config.is_json) {
        error_set(&error, ERROR_USAGE, 0, NULL,
                  "--text and --json both want standard output: give one of them");
        return command_refuse(options.config.is_json, EXIT_CODE_USAGE, &error);
    }
    if (report_set_read(&set, (const char *const *)options.folders, options.folder_count,
                        options.is_all_charts, &error) != STATUS_OK) {
        return fail(&error, true, options.config.is_json);
    }
    const enum status status = make_report(&set, &options, &error);
    report_set_free(&set);
    return status == STATUS_OK ? command_finish_output()
                               : fail(&error, false, options.config.is_json);
}
