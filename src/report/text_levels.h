/* The report of a search for people: what held, what stopped the next, and a line a level. */
#ifndef REPORT_TEXT_LEVELS_H
#define REPORT_TEXT_LEVELS_H

#include <stdio.h>

#include "measure/levels.h"
#include "measure/result.h"
#include "plan/plan.h"

enum {
    TEXT_LEVELS_BYTES = 400
};

/* Writes the report to `stream`, 80 columns wide. `shortage` as from run_files_shortage. */
void text_levels_write(FILE *stream, const struct plan *plan, const struct result *result,
                       const struct search *search, const char *shortage);

/* One line for a level while the search goes on, without a line break. */
void text_levels_progress(const struct level *level, char text[TEXT_LEVELS_BYTES]);

/* What kept a level from being held: "1 session was refused, 297 were up". */
void text_levels_failure(const struct level *level, char text[TEXT_LEVELS_BYTES]);

#endif
