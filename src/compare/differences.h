/* What two runs differ in beside their figures, and what speaks against holding one against the
 * other. */
#ifndef COMPARE_DIFFERENCES_H
#define COMPARE_DIFFERENCES_H

#include <jansson.h>
#include <stdbool.h>

#include "runs/saved_run.h"

/* Adds {"name", "a", "b"} to the array for every member of the plan, the environment, the server,
 * the connection and the table that is not the same in both. What a run is named and seeded by is
 * no difference. False: out of memory. */
bool differences_add(json_t *list, const struct saved_run *a, const struct saved_run *b);

/* The same for one member of two objects. */
bool differences_add_member(json_t *list, const char *name, const json_t *a, const json_t *b);

/* Adds a line to the array for each thing that makes the figures of a run doubtful, or a difference
 * that of the machine. *is_clouded is set when a difference between the figures does not tell of
 * the server. False: out of memory. */
bool differences_add_cautions(json_t *list, const struct saved_run *a, const struct saved_run *b,
                              bool *is_clouded);

#endif
