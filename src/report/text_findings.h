/* The lines of the report that name the limits that were hit. */
#ifndef REPORT_TEXT_FINDINGS_H
#define REPORT_TEXT_FINDINGS_H

#include <stddef.h>

#include "measure/limit.h"
#include "report/screen.h"

/* Adds the limits that cost the most sessions: each with what shows it in at most `lines` lines,
 * and how it is raised in as many. */
void text_findings_add(struct screen *screen, const struct findings *findings, size_t lines);

#endif
