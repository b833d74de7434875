/*
 * A run in the formats of other programs.
 *
 * JUnit XML, for CI systems (Jenkins, GitLab, GitHub), has a test case for the sessions, the rows,
 * the outcome and each expectation. The same run makes the same file. Texts from outside become
 * valid XML 1.0: markup is escaped; bytes that are not UTF-8 and characters that XML does not allow
 * become U+FFFD.
 */
#ifndef REPORT_FORMATS_H
#define REPORT_FORMATS_H

#include <stdbool.h>
#include <stdio.h>

#include "measure/result.h"
#include "plan/plan.h"

/* Writes the outcome of a judged run, with result->expectations, as JUnit XML. Returns false if
 * memory runs out or a write failed (errno is set). */
bool junit_write(FILE *stream, const struct plan *plan, const struct result *result);

/* Writes a run that did not begin as JUnit XML: one test case with an error, and the reason. */
bool junit_write_error(FILE *stream, const struct plan *plan, enum exit_code code, const char *why);

/* Writes the figures of a run with a script as `ycsb run` prints them. Leaves out unknown values.
 * Returns false if a write failed (errno is set). */
bool ycsb_write(FILE *stream, const struct plan *plan, const struct result *result);

#endif
