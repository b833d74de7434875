/*
 * Expectations of a run (--expect): bounds on figures of the run, of its operations and stages, and
 * of the script's metrics. The figures are compared as they are in the files, rounded; only the
 * figures of stages are not rounded.
 */
#ifndef REPORT_EXPECTATIONS_H
#define REPORT_EXPECTATIONS_H

#include <stddef.h>

#include "figures/figures.h"
#include "measure/result.h"
#include "plan/plan.h"

enum {
    EXPECTATIONS_TEXT_BYTES = 200 /* longest text of expectations_describe */
};

/* Adds the bounds in `text` ("throughput>=50k, append_p99<=20ms, lost==0") to *expectations.
 * The caller sets ->stages and ->script first; each is NULL if the run has none. If `text` is NULL,
 * adds nothing. On REJECTED, *error says which bound is wrong and what would be right. */
enum status expectations_add(struct expectations *expectations, const char *text,
                             const struct operation_list *operations, struct error *error);

/* Reads all bounds of --expect. If the run uses a script, the plan must already contain it, because
 * the script names operations. */
enum status expectations_parse(struct expectations *expectations, const struct plan *plan,
                               struct error *error);

/* Compares the figures of a run, whose verdict is already known, with the expectations. Adds the
 * missed expectations to the result's problems, and sets the exit code. An expectation about an
 * unknown figure is missed. If the run has another problem, the exit code of that problem stays,
 * because the figures of a run that was short, stopped or client-bound say nothing about an
 * expectation. */
void expectations_judge(struct expectations *expectations, const struct plan *plan,
                        struct result *result);

size_t expectations_count_missed(const struct expectations *expectations);

/* Writes "append_p99<=20ms: 35.2 ms" or "max_memory<=2GiB: not known". Returns `text`. */
const char *expectations_describe(const struct expectation *expectation,
                                  char text[EXPECTATIONS_TEXT_BYTES]);

#endif
