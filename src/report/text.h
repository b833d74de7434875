/* The final report for people: the four figures of the test and the verdict at its end. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stdio.h>

#include "measure/result.h"
#include "plan/plan.h"

/* Writes the report to `stream`, 80 columns wide but for words that are longer; causes beyond the
 * first five are a count. `shortage` as from run_files_shortage. */
void report_write_text(FILE *stream, const struct plan *plan, const struct result *result,
                       const char *shortage);

#endif
