/* What was expected of the run and what became of it, for the report for people. */
#ifndef REPORT_TEXT_EXPECTATIONS_H
#define REPORT_TEXT_EXPECTATIONS_H

#include "measure/expectation.h"
#include "report/screen.h"

/* Adds nothing when `expectations` is NULL or has none. */
void text_expectations_add(FILE *stream, const struct expectations *expectations);

#endif
