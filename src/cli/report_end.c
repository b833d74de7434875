#include "cli/report_end.h"

#include <locale.h>
#include <stdio.h>

#include "chart/gnuplot.h"
#include "chart/report_files.h"
#include "report/clean.h"

enum exit_code report_end_check(bool is_report, struct error *error)
{
    struct buffer nothing;
    buffer_init(&nothing);
    const bool is_there = !is_report || gnuplot_run(&nothing, &nothing, error) == STATUS_OK;
    buffer_fini(&nothing);
    return is_there ? EXIT_CODE_OK : EXIT_CODE_CLIENT_LIMIT;
}

enum exit_code report_end_write(const char *folder, bool is_silent, struct error *error)
{
    char path[2 * SAVED_RUN_PATH_BYTES], clean[2 * SAVED_RUN_PATH_BYTES];
    /* a client library may have set the program's locale: numbers of files have a point */
    const locale_t point = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    const locale_t before = uselocale(point);
    const enum status status = report_files_write_folder(folder, path, sizeof path, error);
    uselocale(before);
    if (point != (locale_t)0) {
        freelocale(point);
    }
    if (!is_silent) {
        clean_line(clean, sizeof clean, status == STATUS_OK ? path : error->text, sizeof clean);
        printf("%-10s%s%s\n", "Report", status == STATUS_OK ? "" : "not written: ", clean);
    }
    return status == STATUS_OK ? EXIT_CODE_OK : EXIT_CODE_CLIENT_LIMIT;
}
