/*
 * The files of a report: the page, and each chart as a PNG beside it.
 *
 * A file is written under another name and then renamed, so that it is there whole or as it was. A
 * file of that name that is no page or no PNG is left alone and the report is refused.
 */
#ifndef CHART_REPORT_FILES_H
#define CHART_REPORT_FILES_H

#include <stddef.h>

#include "append/error.h"
#include "chart/report_set.h"

#define REPORT_FILE "report.html"

/* Bytes of the page that was written are put into *bytes. REJECTED: *error says why; kind
 * ERROR_USAGE: the file there is something else. */
enum status report_files_write_page(const struct report_set *set, const char *path, size_t *bytes,
                                    struct error *error);

/* Writes PAGE-CHART.png, or PAGE-runN-CHART.png with several runs, for each chart; PAGE is `page`
 * without .html. *count says how many were written. */
enum status report_files_write_png(const struct report_set *set, const char *page, size_t *count,
                                   struct error *error);

/* The place of the page of a folder: its report.html. REJECTED: the path is too long. */
enum status report_files_path(const char *folder, char *path, size_t bytes, struct error *error);

/* Reads the folder of a run or sweep and writes its page; *path is where. */
enum status report_files_write_folder(const char *folder, char *path, size_t bytes,
                                      struct error *error);

#endif
