/*
 * The text report at the end of a run and of a search, for people. A line has at most 80 columns,
 * unless a single word is longer.
 */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stdio.h>

#include "measure/levels.h"
#include "measure/result.h"
#include "plan/plan.h"

enum {
    TEXT_LEVELS_BYTES = 400
};

/* Writes the report of a run: ledgers, latencies, errors, and at the end the headline figures and
 * the verdict. Causes of errors after the first five are counted together. `shortage` is the text
 * of run_files_shortage. */
void report_write_text(FILE *stream, const struct plan *plan, const struct result *result,
                       const char *shortage);

/* Writes the report of a search: the highest level that succeeded, the reason why the next level
 * failed, and a line for each level. */
void text_levels_write(FILE *stream, const struct plan *plan, const struct result *result,
                       const struct search *search, const char *shortage);

/* Writes one line about a level while the search goes on, without a line break. */
void text_levels_progress(const struct level *level, char line[TEXT_LEVELS_BYTES]);

#endif
