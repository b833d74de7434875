/*
 * A run as JUnit XML, for CI systems (Jenkins, GitLab, GitHub): a test case for each ledger, the
 * outcome and each expectation. The same run makes the same file.
 *
 * Texts from outside become valid XML 1.0: markup is escaped, bytes that are not UTF-8 and
 * characters that XML has no place for become U+FFFD.
 */
#ifndef REPORT_JUNIT_H
#define REPORT_JUNIT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/buffer.h"
#include "measure/result.h"
#include "plan/plan.h"

/* The run that was judged, result->expectations included. False: out of memory or a failed write
 * (errno is set). */
bool junit_write(FILE *stream, const struct plan *plan, const struct result *result);

/* A run that did not begin: one test case with an error, and why. */
bool junit_write_error(FILE *stream, const struct plan *plan, enum exit_code code, const char *why);

/* Adds `text` as the value of an attribute or as text between tags. */
void junit_add_escaped(struct buffer *buffer, const char *text);

#endif
