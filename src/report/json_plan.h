/* The parts of run.json that were known before the run: plan, environment and table. */
#ifndef REPORT_JSON_PLAN_H
#define REPORT_JSON_PLAN_H

#include "append/row.h"
#include "plan/plan.h"
#include "report/tree.h"

void json_plan_add_plan(struct tree root, const struct plan *plan);
void json_plan_add_environment(struct tree root, const struct plan *plan);
void json_plan_add_table(struct tree root, const struct table *table);

#endif
