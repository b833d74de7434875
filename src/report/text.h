/* The final report for people: one screen, the four figures of the test first. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stdio.h>

#include "measure/result.h"
#include "plan/plan.h"

/* Writes the report to `stream`: at most 42 lines of 80 columns (causes beyond the first five are
 * a count), but for the path of the folder in the last line, which is written whole. `shortage` as
 * from run_files_shortage. */
void report_write_text(FILE *stream, const struct plan *plan, const struct result *result,
                       const char *shortage);

#endif
