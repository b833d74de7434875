/* Describes for the user what the set-up created, and how to remove what a run leaves on the
 * server. */
#ifndef LOAD_SETUP_DESCRIBE_H
#define LOAD_SETUP_DESCRIBE_H

#include <stddef.h>

#include "load/setup.h"
#include "plan/plan.h"

/* Writes the result of `append prepare` in one line. */
void setup_describe_made(const struct setup *setup, const struct plan *plan, char *line,
                         size_t size);

/* Writes the commands that remove the rows, the table and the database that the run leaves on the
 * server. Writes "" if the run leaves nothing. */
void setup_describe_removal(const struct setup *setup, const struct plan *plan, char *text,
                            size_t size);

#endif
