/*
 * What was expected of a run, and what became of it: bounds on its figures. Read before the run
 * begins, judged at its end.
 */
#ifndef MEASURE_EXPECTATION_H
#define MEASURE_EXPECTATION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bound.h"
#include "base/figure.h"

enum {
    EXPECTATIONS_MAX = 32
};

struct expectation {
    struct bound bound;
    struct figure_choice choice; /* columns of summary.csv */
    double limit;                /* in the unit of these columns */
    size_t chosen;               /* column that was known at the end; 0 when none was */
    bool is_known;               /* false, too, before the run has ended */
    double value;
    bool is_met; /* never when the figure is not known */
};

struct expectations {
    size_t count;
    struct expectation entries[EXPECTATIONS_MAX];
};

#endif
