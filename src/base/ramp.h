/*
 * A value that changes with time in stages: the sessions of --stage, the rate of --rate-stage.
 *
 * Within a stage the value changes linearly from the target of the previous stage (in the first
 * stage: from `first`) to the stage's own target. A stage of duration 0 is a jump. After the last
 * stage the value keeps the last target. A ramp without stages is the constant `first`.
 *
 * Values are not negative. Moments are nanoseconds since the beginning of the first stage.
 */
#ifndef BASE_RAMP_H
#define BASE_RAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RAMP_STAGES_MAX = 100,
    RAMP_TEXT_BYTES = 80
};

struct ramp_stage {
    int64_t duration_ns;
    double target;
};

struct ramp {
    double first;
    size_t count;
    struct ramp_stage stages[RAMP_STAGES_MAX];
};

/* Adds the stages of a list of durations and targets, "30s:50,1m:50,30s:0". Returns false, with the
 * reason in `wrong`, if the list is malformed, a target is above `most`, or the list has too many
 * stages. */
bool ramp_add(struct ramp *ramp, const char *list, uint64_t most, char wrong[RAMP_TEXT_BYTES]);

/* Returns the highest value. */
double ramp_highest(const struct ramp *ramp);

/* Returns the duration of the first `count` stages. */
int64_t ramp_duration_ns(const struct ramp *ramp, size_t count);

/* Returns the value at a moment; at a jump, the value after the jump. */
double ramp_value(const struct ramp *ramp, int64_t at_ns);

/* Returns the first moment, from_ns or later, at which the value is above `level`, or INT64_MAX if
 * the value is not above `level` at any later moment. */
int64_t ramp_above_ns(const struct ramp *ramp, double level, int64_t from_ns);

/* For a ramp whose value is a rate per second. ramp_sum returns the number of operations that are
 * due by `until_ns`. ramp_due_ns returns the moment at which `sum` operations are due, or INFINITY
 * if this number is never reached. */
double ramp_sum(const struct ramp *ramp, int64_t until_ns);
double ramp_due_ns(const struct ramp *ramp, double sum);

/* Returns the mean value between two moments. */
double ramp_mean(const struct ramp *ramp, int64_t from_ns, int64_t until_ns);

#endif
