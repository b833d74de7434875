/* What repeated measurements of one figure come to. */
#ifndef RUNS_SPREAD_H
#define RUNS_SPREAD_H

#include <stddef.h>

struct spread {
    double median; /* of an even number: the mean of the two in the middle */
    double lowest;
    double highest;
    size_t count; /* measurements; 0: there is none, and the others are 0 */
};

/* Sorts `values`. */
struct spread spread_of(double *values, size_t count);

#endif
