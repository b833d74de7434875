#include "chart/report_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "chart/gnuplot.h"
#include "chart/page.h"
#include "chart/script.h"

enum {
    PATH_BYTES = 2 * SAVED_RUN_PATH_BYTES
};

static const char png_begin[] = "\x89PNG\r\n\x1a\n";

static enum status refuse(struct error *error, const char *path)
{
    error_set(error, ERROR_SYSTEM, errno, NULL, "%s cannot be written: %s", path, strerror(errno));
    return STATUS_REJECTED;
}

/* A file that begins otherwise is somebody's. */
static enum status check_old(const char *path, const char *begin, struct error *error)
{
    char bytes[128];
    const size_t wanted = strlen(begin);
    if (folder_is_special(path)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "%s is a device or a pipe: give the name of a file with --out", path);
        return STATUS_REJECTED;
    }
    FILE *file;
    struct error unread;
    error_clear(&unread);
    if (folder_open_file(path, &file, &unread) != STATUS_OK) {
        const bool is_free = unread.native_code == ENOENT;
        *error = is_free ? *error : unread;
        return is_free ? STATUS_OK : STATUS_REJECTED;
    }
    const size_t length = fread(bytes, 1, wanted, file);
    fclose(file);
    if (length == wanted && memcmp(bytes, begin, wanted) == 0) {
        return STATUS_OK;
    }
    error_set(error, ERROR_USAGE, 0, NULL,
              "%s is there and was not made by append report: give another name with --out", path);
    return STATUS_REJECTED;
}

static enum status write_whole(const char *path, const char *begin, const struct buffer *content,
                               struct error *error)
{
    if (content->length < strlen(begin) || memcmp(content->bytes, begin, strlen(begin)) != 0) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "gnuplot drew nothing for %s", path);
        return STATUS_REJECTED;
    }
    char temporary[PATH_BYTES + 32];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.%ld.new", path, (long)getpid()) >=
        sizeof temporary) {
        error_set(error, ERROR_USAGE, 0, NULL, "the path '%.60s…' is too long", path);
        return STATUS_REJECTED;
    }
    if (check_old(path, begin, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    FILE *file = fopen(temporary, "wxe");
    if (file == NULL) {
        return refuse(error, temporary);
    }
    bool is_written = fwrite(content->bytes, 1, content->length, file) == content->length;
    is_written = fclose(file) == 0 && is_written;
    if (!is_written || rename(temporary, path) != 0) {
        const enum status status = refuse(error, path);
        unlink(temporary);
        return status;
    }
    return STATUS_OK;
}

enum status report_files_write_page(const struct report_set *set, const char *path, size_t *bytes,
                                    struct error *error)
{
    struct buffer page;
    buffer_init(&page);
    enum status status = check_old(path, PAGE_BEGIN, error);
    if (status == STATUS_OK) {
        status = page_add(&page, set, error);
    }
    if (status == STATUS_OK) {
        status = write_whole(path, PAGE_BEGIN, &page, error);
    }
    *bytes = page.length;
    buffer_fini(&page);
    return status;
}

static enum status write_chart(const struct chart *chart, const char *path, struct error *error)
{
    struct buffer script, png;
    buffer_init(&script);
    buffer_init(&png);
    script_add_chart(&script, chart, TERMINAL_PNG, 0);
    enum status status = gnuplot_run(&script, &png, error);
    if (status == STATUS_OK) {
        status = write_whole(path, png_begin, &png, error);
    }
    buffer_fini(&script);
    buffer_fini(&png);
    return status;
}

/* Number of the run whose chart it is; 0: it is of all of them. */
static size_t run_of(const struct report_set *set, size_t chart)
{
    for (size_t i = 0; i < set->run_count; i++) {
        const struct report_run *run = &set->runs[i];
        if (chart >= run->first_chart && chart < run->first_chart + run->chart_count) {
            return i + 1;
        }
    }
    return 0;
}

enum status report_files_write_png(const struct report_set *set, const char *page, size_t *count,
                                   struct error *error)
{
    size_t stem = strlen(page);
    stem -= stem > 5 && strcmp(page + stem - 5, ".html") == 0 ? 5 : 0;
    for (*count = 0; *count < set->charts.count; (*count)++) {
        const struct chart *chart = &set->charts.entries[*count];
        const size_t run = run_of(set, *count);
        char path[PATH_BYTES], number[32] = "";
        if (run > 0 && set->run_count > 1) {
            snprintf(number, sizeof number, "run%zu-", run);
        }
        if ((size_t)snprintf(path, sizeof path, "%.*s-%s%s.png", (int)stem, page, number,
                             chart->name) >= sizeof path) {
            error_set(error, ERROR_USAGE, 0, NULL, "the path '%.60s…' is too long", page);
            return STATUS_REJECTED;
        }
        if (write_chart(chart, path, error) != STATUS_OK) {
            return STATUS_REJECTED;
        }
    }
    return STATUS_OK;
}

enum status report_files_path(const char *folder, char *path, size_t bytes, struct error *error)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') {
        length--;
    }
    if ((size_t)snprintf(path, bytes, "%.*s/" REPORT_FILE, (int)length, folder) < bytes) {
        return STATUS_OK;
    }
    error_set(error, ERROR_USAGE, 0, NULL, "the path '%.60s…' is too long", folder);
    return STATUS_REJECTED;
}

enum status report_files_write_folder(const char *folder, char *path, size_t bytes,
                                      struct error *error)
{
    struct report_set set;
    size_t size;
    if (report_files_path(folder, path, bytes, error) != STATUS_OK ||
        report_set_read(&set, &folder, 1, false, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    const enum status status = report_files_write_page(&set, path, &size, error);
    report_set_free(&set);
    return status;
}
