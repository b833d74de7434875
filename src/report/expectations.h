/*
 * Expectations of a run (--expect): read by the names of summary.csv's columns, judged by what that
 * file says of the run.
 */
#ifndef REPORT_EXPECTATIONS_H
#define REPORT_EXPECTATIONS_H

#include <stddef.h>

#include "figures/figures.h"
#include "measure/result.h"
#include "plan/plan.h"

enum {
    EXPECTATIONS_TEXT_BYTES = 200 /* of one that was not met */
};

/* Adds the bounds of `text` ("throughput>=50k, append_p99<=20ms, lost==0") to *expectations, on
 * figures of summary.csv and of the operations that a script names. REJECTED: *error says which
 * bound is wrong and what would be right. */
enum status expectations_add(struct expectations *expectations, const char *text,
                             const struct operation_list *operations, struct error *error);

/* All that --expect was given. A plan that was made knows its operations. */
enum status expectations_parse(struct expectations *expectations, const struct plan *plan,
                               struct error *error);

/* Holds the figures of a judged run against what was expected of it, adds what was missed to its
 * problems, and concludes. One that is not known is not met. The exit code of a run that has one of
 * its own stays: figures of a run that was short, stopped or client-bound say nothing about what
 * was expected. */
void expectations_judge(struct expectations *expectations, const struct plan *plan,
                        struct result *result);

size_t expectations_count_missed(const struct expectations *expectations);

/* "append_p99<=20ms: 35.2 ms", "max_memory<=2GiB: not known". Returns `text`. */
const char *expectations_describe(const struct expectation *expectation,
                                  char text[EXPECTATIONS_TEXT_BYTES]);

#endif
