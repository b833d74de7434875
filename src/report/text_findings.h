/* The lines of the report that name the limits that were hit. */
#ifndef REPORT_TEXT_FINDINGS_H
#define REPORT_TEXT_FINDINGS_H

#include "measure/limit.h"
#include "report/screen.h"

/* Adds the limits that cost the most sessions: each with what shows it and how it is raised. */
void text_findings_add(FILE *stream, const struct findings *findings);

#endif
