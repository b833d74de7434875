/* run.json: the plan, the environment, the table, the ledgers, every figure and the histograms. */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <stdbool.h>
#include <stdio.h>

#include "append/row.h"
#include "measure/levels.h"
#include "measure/result.h"
#include "plan/plan.h"

/* Writes one indented JSON object: run.json if `search` is NULL, else find-max.json, which also has
 * the levels of the search. Returns false if memory runs out or a write fails (errno is set). */
bool report_write_json(FILE *stream, const struct plan *plan, const struct table *table,
                       const struct result *result, const struct search *search);

/* Writes the JSON object of a run that did not begin: program, exit code and reason. */
bool report_write_json_failure(FILE *stream, enum exit_code code, const struct error *error);

#endif
