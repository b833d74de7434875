/* The few statistics that a comparison needs. Plain functions of their arguments. */
#ifndef COMPARE_STATISTICS_H
#define COMPARE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* A ratio and where it lies with a confidence of STATISTICS_CONFIDENCE. */
struct statistics_ratio {
    double ratio;
    double low;
    double high;
};

#define STATISTICS_CONFIDENCE 0.99

enum {
    STATISTICS_SLICES_MAX = 20,
    STATISTICS_SLICES_MIN = 8,
    STATISTICS_REPEATS_MIN = 3,
};

/* Distribution function of Student's t with `dof` > 0 degrees of freedom, by the incomplete beta
 * function (Abramowitz and Stegun 26.7.1; its continued fraction by Lentz's method). Error below
 * 1e-10. */
double statistics_student(double t, double dof);

/* The t below which a share of `p` lies, 0 < p < 1. */
double statistics_student_quantile(double p, double dof);

/*
 * Mean of b over mean of a, from `count` slices of two runs, slice i of both being at the same part
 * of their way (STATISTICS_SLICES_MIN <= count <= STATISTICS_SLICES_MAX).
 *
 * With e_i = b_i / mean(b) - a_i / mean(a) the variance of the logarithm of the ratio is that of
 * the mean of e (delta method). What both runs have in common, such as getting slower as the table
 * grows, cancels out in e; what is left of a smooth course is taken out as a parabola, and the
 * residuals are the noise: Student's t with count - 3 degrees of freedom. Slices that follow one
 * another are alike, which makes the noise look too small: it is widened by (1 + r) / (1 - r), r
 * being the correlation of neighbouring residuals, where that is above 0 (Bartlett 1935). Of so few
 * slices r comes out too low: with a true correlation of 0.5 the interval holds at 88 %, not 99 %.
 *
 * False: a run has no rows at all.
 */
bool statistics_compare_slices(const double *a, const double *b, size_t count,
                               struct statistics_ratio *ratio);

/* Geometric mean of b over that of a, from independent measurements: Welch's t on their logarithms
 * (Welch 1947). False: fewer than STATISTICS_REPEATS_MIN on a side, or one that is not above 0. */
bool statistics_compare_repeats(const double *a, size_t a_count, const double *b, size_t b_count,
                                struct statistics_ratio *ratio);

#endif
