/* run.json: the plan, the environment, the table, both ledgers, every figure and the histograms. */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <stdbool.h>
#include <stdio.h>

#include "append/row.h"
#include "measure/levels.h"
#include "measure/result.h"
#include "plan/plan.h"

/* Writes one JSON object, indented; of a search (else NULL) find-max.json, which has its levels,
 * too. False: out of memory or a failed write (errno is set). */
bool report_write_json(FILE *stream, const struct plan *plan, const struct table *table,
                       const struct result *result, const struct search *search);

/* The same for what could not begin: who says so, the exit code and why. */
bool report_write_json_failure(FILE *stream, enum exit_code code, const struct error *error);

#endif
