/* The part of run.json that names the limits that were hit. */
#ifndef REPORT_JSON_FINDINGS_H
#define REPORT_JSON_FINDINGS_H

#include "measure/limit.h"
#include "report/tree.h"

/* "findings": an array, the limit that cost the most sessions first. */
void json_findings_add(struct tree root, const struct findings *findings);

#endif
