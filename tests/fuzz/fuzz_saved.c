/* The folder of a run or sweep as input of report and compare. Whatever its files contain, report
 * writes a complete page or gives an error, and compare compares the runs or gives an error. */
#include "fuzz/fuzz.h"

#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "commands/command.h"
#include "report/report.h"

/* The files in the folder, in the order of the parts of the input. The byte SEPARATOR is between
 * two parts. If a part is empty or missing, its file gets the default text; a file without a
 * default is not made. */
enum {
    SEPARATOR = 0x1e,
    PATH_BYTES = 256,
};
static const struct {
    const char *file;
    const char *default_text;
} parts[] = {
    {"1x100/run.json", ""},
    {"1x100/summary.csv", "verdict\nVALID\n"},
    {"1x100/intervals.csv", "start_s,end_s\n"},
    {"1x100/samples.csv", "start_s,end_s\n"},
    {"1x100/sessions.csv", NULL},
    {"1x100/hosts_intervals.csv", NULL},
    {"1x100/events.csv", NULL},
    {"1x100/levels.csv", NULL},
    {"sweep.json", NULL},
    {"sweep.csv", NULL},
    {"1x100/operations_intervals.csv", NULL},
};

static void write_file(const char *root, const char *name, const char *bytes, size_t size)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", root, name);
    fuzz_require(file_make_parents(path) == 0, "there is room for a folder");
    FILE *file = fopen(path, "we");
    fuzz_require(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0,
                 "there is room for a file");
}

static void write_parts(const char *root, const char *at, size_t size)
{
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const char *end = size == 0 ? NULL : memchr(at, SEPARATOR, size);
        const size_t length = end == NULL ? size : (size_t)(end - at);
        if (length > 0) {
            write_file(root, parts[i].file, at, length);
        } else if (parts[i].default_text != NULL) {
            write_file(root, parts[i].file, parts[i].default_text, strlen(parts[i].default_text));
        }
        size -= end == NULL ? length : length + 1;
        at += end == NULL ? length : length + 1;
    }
    char search[PATH_BYTES], run[PATH_BYTES];
    snprintf(search, sizeof search, "%s/1x100/find-max.json", root);
    snprintf(run, sizeof run, "%s/1x100", root);
    if (saved_has_file(run, "levels.csv")) { /* a search has find-max.json instead of run.json */
        snprintf(run, sizeof run, "%s/1x100/run.json", root);
        fuzz_require(rename(run, search) == 0, "a file can be renamed");
    }
}

static void check_page(const char *page)
{
    static const char data[] = " d=\"";
    const char *script = strstr(page, "<script>"), *end = strstr(page, "</html>\n");
    fuzz_require(strncmp(page, REPORT_PAGE_BEGIN, strlen(REPORT_PAGE_BEGIN)) == 0 && end != NULL &&
                     strlen(end) == strlen("</html>\n"),
                 "a page is complete");
    fuzz_require(script != NULL && strstr(script + 1, "<script") == NULL,
                 "a page has only its own script");
    for (const char *at = page; (at = strstr(at, data)) != NULL && at < script;) {
        at += strlen(data);
        at += strspn(at, "MHVLh0123456789 .e+-");
        fuzz_require(*at == '"', "a line of a chart has only drawing commands and numbers");
    }
}

static void check_report(const char *folder, bool is_over_rows)
{
    struct report report;
    struct error error = {0};
    struct buffer page = {0};
    if (report_read(&report, &folder, 1, true, is_over_rows, &error) != STATUS_OK) {
        fuzz_require(error.text[0] != '\0', "a refused folder has an error");
        return;
    }
    page_add(&page, &report);
    fuzz_require(!buffer_failed(&page), "there is memory for a page");
    check_page(buffer_text(&page));
    buffer_fini(&page);
    report_free(&report);
}

/* Compares two runs, with output as text or as JSON. */
static void check_comparison(char *a, char *b, char *form)
{
    char name[] = "compare";
    char *words[] = {name, a, b, form, NULL};
    const enum exit_code code = command_compare(form == NULL ? 3 : 4, words);
    fuzz_require(code == EXIT_CODE_OK || code == EXIT_CODE_USAGE,
                 "compare succeeds or reports a usage error");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char other[] = "{\"format\": 2}";
    static bool is_silent;
    char root[] = "/dev/shm/fuzz-saved-XXXXXX", run[PATH_BYTES], plain[PATH_BYTES],
         json[] = "--json";
    is_silent = is_silent || freopen("/dev/null", "we", stdout) != NULL;
    fuzz_require(is_silent && mkdtemp(root) != NULL, "there is room for a folder");
    write_parts(root, (const char *)data, size);
    snprintf(run, sizeof run, "%s/1x100", root);
    check_report(saved_has_file(root, "sweep.json") ? root : run, size % 2 == 1);
    struct saved_run saved;
    if (saved_run_read(&saved, run, false, NULL) == STATUS_OK && !saved.is_search) {
        saved_run_free(&saved);
        snprintf(plain, sizeof plain, "%s/plain", root);
        write_file(plain, "run.json", other, strlen(other));
        for (size_t i = 1; i < COUNT_OF(parts); i++) {
            if (parts[i].default_text != NULL) {
                write_file(plain, strchr(parts[i].file, '/') + 1, parts[i].default_text,
                           strlen(parts[i].default_text));
            }
        }
        /* Compare with a run without figures, or with the folder itself, so that both have the same
         * figures. */
        char *const same = saved_has_file(root, "sweep.json") ? root : run;
        char *const pairs[][2] = {{plain, run}, {same, same}, {run, plain}};
        check_comparison(pairs[size % 3][0], pairs[size % 3][1], size % 2 == 0 ? json : NULL);
    }
    saved_run_free(&saved);
    fuzz_require(file_remove_folder(root) == 0, "the folder can be removed");
    return 0;
}
