/*
 * What repeated measurements of one figure come to, and whether they are others in B than in A.
 * Plain functions of their arguments.
 *
 * The comparison is Welch's t test on logarithms. With m the mean and s² the variance (over n - 1)
 * of the logarithms of n repeats of each side:
 *
 *   log ratio = m_b - m_a        error² = s_a²/n_a + s_b²/n_b
 *   degrees of freedom = error⁴ / ((s_a²/n_a)²/(n_a - 1) + (s_b²/n_b)²/(n_b - 1))
 *   interval = exp(log ratio ± t(confidence, degrees of freedom) * error)
 *
 * B. L. Welch, "The generalization of Student's problem when several different population variances
 * are involved", Biometrika 34, 1947. It assumes independent repeats that are about log-normal, and
 * not that both sides vary alike. Repeats that are all equal have an interval of no width.
 */
#ifndef FIGURES_STATISTICS_H
#define FIGURES_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* What repeated measurements of one figure come to. */
struct spread {
    double median; /* of an even number: the mean of the two in the middle */
    double lowest;
    double highest;
    size_t count; /* measurements; 0: there is none, and the others are 0 */
};

/* Sorts `values`. */
struct spread spread_of(double *values, size_t count);

/* A ratio and where it lies with a confidence of STATISTICS_CONFIDENCE. */
struct statistics_ratio {
    double ratio;
    double low;
    double high;
};

#define STATISTICS_CONFIDENCE 0.99

enum {
    STATISTICS_REPEATS_MIN = 3
};

/* Geometric mean of b over that of a. False: fewer than STATISTICS_REPEATS_MIN on a side, or one
 * that is not above 0. */
bool statistics_compare_repeats(const double *a, size_t a_count, const double *b, size_t b_count,
                                struct statistics_ratio *ratio);

#endif
