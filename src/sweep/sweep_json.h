/* sweep.json, see runs/saved_sweep.h. */
#ifndef SWEEP_SWEEP_JSON_H
#define SWEEP_SWEEP_JSON_H

#include <stdbool.h>
#include <stdio.h>

#include "sweep/sweep.h"

/* `state` is "running", "interrupted" or "finished". False: out of memory, or a failed write. */
bool sweep_json_write(FILE *stream, const struct sweep *sweep, const char *state);

/* False: the text cannot be kept in JSON, as it is not UTF-8. */
bool sweep_json_can_keep(const char *text);

#endif
