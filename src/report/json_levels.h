/* What find-max.json has beside what run.json has: the search and its levels. */
#ifndef REPORT_JSON_LEVELS_H
#define REPORT_JSON_LEVELS_H

#include "measure/levels.h"
#include "report/tree.h"

void json_levels_add(struct tree root, const struct search *search);

#endif
