/*
 * How evenly the server treated the sessions: who was slowest and fastest, and who stood still.
 * Idle sessions do not count, nor do those that did not come to work.
 */
#ifndef MEASURE_FAIRNESS_H
#define MEASURE_FAIRNESS_H

#include <stddef.h>
#include <stdint.h>

#include "measure/session_summary.h"

struct fairness {
    uint64_t sessions; /* that worked; the rest is known when there is one */
    unsigned slowest_session;
    unsigned fastest_session;
    double slowest_rows_per_s; /* acknowledged, each over its own working time */
    double fastest_rows_per_s;
    unsigned longest_gap_session;
    int64_t longest_gap_ns; /* longest time without an acknowledged append */
};

void fairness_find(struct fairness *fairness, const struct session_summary *list, size_t count);

#endif
