/*
 * --report: the page that a command writes at its end, as append report would.
 */
#ifndef CLI_REPORT_END_H
#define CLI_REPORT_END_H

#include <stdbool.h>

#include "append/error.h"
#include "base/exit_code.h"

/* Before anything is loaded: EXIT_CODE_CLIENT_LIMIT when there is no gnuplot, *error says so. */
enum exit_code report_end_check(bool is_report, struct error *error);

/* Writes report.html into the folder of a run or sweep, and says so on stdout unless `is_silent`.
 * EXIT_CODE_CLIENT_LIMIT: *error says why there is none. */
enum exit_code report_end_write(const char *folder, bool is_silent, struct error *error);

#endif
