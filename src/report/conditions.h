/*
 * Conditions that end a run early (--stop-when). A condition is a bound on a column of
 * intervals.csv, and may have to hold for some time.
 *
 * The sampler's thread checks the conditions after every interval of about a second. The check
 * skips an interval that does not have the column's value, for example append.p99 when no batch was
 * acknowledged. A condition that held before the interval then still holds.
 */
#ifndef REPORT_CONDITIONS_H
#define REPORT_CONDITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"
#include "figures/bound.h"
#include "measure/recorder.h"
#include "measure/result.h"
#include "plan/plan.h"

enum {
    CONDITIONS_MAX = 16
};

struct condition {
    struct bound bound;
    char text[BOUND_TEXT_BYTES];   /* the condition as written: "append.p99>1s for 10s" */
    char column[FIGURE_KEY_BYTES]; /* name of the column in intervals.csv */
    double limit;                  /* the number of the bound, in the column's unit */
    int64_t least_ns;              /* time for which the condition has to hold; 0: one interval */
    int64_t since_ns; /* moment at which the condition began to hold; -1: it does not hold */
};

struct conditions {
    struct operation_list operations; /* operations of the plan */
    size_t count;
    struct condition entries[CONDITIONS_MAX];
};

/* Reads all conditions of the plan. If the run uses a script, the plan must already contain it.
 * REJECTED: *error says which condition is wrong and what would be right. */
enum status conditions_parse(struct conditions *conditions, const struct plan *plan,
                             struct error *error);

/* Finds the column of intervals.csv that a bound names, and converts the bound's number into the
 * column's unit. REJECTED: *error says what is wrong and what would be right. */
enum status interval_bound(struct bound *bound, const struct operation_list *operations,
                           char column[FIGURE_KEY_BYTES], double *limit, struct error *error);

/* Gives the value of a column of intervals.csv. Returns false if the interval lacks the value. */
bool interval_value(const struct interval *interval, const struct operation_list *operations,
                    const char *column, double *value);

/* Compares an interval with all conditions. Called for all intervals in their order. Returns true
 * if a condition has held for its time; `text` is then the condition and the last value:
 * "append.p99>1s for 10s: 1350 ms". */
bool conditions_check(struct conditions *conditions, const struct interval *interval,
                      char text[RESULT_CONDITION_BYTES]);

#endif
