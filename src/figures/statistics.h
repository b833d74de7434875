/*
 * Summarises repeated measurements of a figure, and compares the measurements of two sides, A and
 * B. The functions have no side effects, except that spread_of sorts its argument.
 *
 * The comparison is Welch's t test on logarithms. With m the mean and s² the variance (over n - 1)
 * of the logarithms of n repeats of each side:
 *
 *   log ratio = m_b - m_a        error² = s_a²/n_a + s_b²/n_b
 *   degrees of freedom = error⁴ / ((s_a²/n_a)²/(n_a - 1) + (s_b²/n_b)²/(n_b - 1))
 *   interval = exp(log ratio ± t(confidence, degrees of freedom) * error)
 *
 * B. L. Welch, "The generalization of Student's problem when several different population variances
 * are involved", Biometrika 34, 1947. The test assumes independent repeats that are roughly
 * log-normal; the two sides may vary differently. Repeats that are all equal give an interval of
 * width 0.
 */
#ifndef FIGURES_STATISTICS_H
#define FIGURES_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* The summary of repeated measurements of one figure. */
struct spread {
    double median; /* median; with an even number of measurements, the mean of the two measurements
                      in the middle */
    double lowest;
    double highest;
    size_t count; /* number of measurements; if 0, the other members are 0 */
};

/* Summarises the values; sorts `values`. */
struct spread spread_of(double *values, size_t count);

/* A ratio with its confidence interval at STATISTICS_CONFIDENCE. */
struct statistics_ratio {
    double ratio;
    double low;
    double high;
};

#define STATISTICS_CONFIDENCE 0.99

enum {
    STATISTICS_REPEATS_MIN = 3
};

/* Computes the ratio of the geometric mean of `b` to the geometric mean of `a`. Returns false if
 * `a` or `b` has fewer than STATISTICS_REPEATS_MIN values, or if a value is not above 0. */
bool statistics_compare_repeats(const double *a, size_t a_count, const double *b, size_t b_count,
                                struct statistics_ratio *ratio);

/*
 * Computes the share sum(parts) / sum(wholes) from `count` successive batches of observations, with
 * its confidence interval at 95 %, which is cut at 0 and 1. With p the share, y and m a batch's
 * part and whole, and B the number of batches:
 *
 *   error = sqrt(sum((y - p m)²) / (B (B - 1))) / mean(m)
 *   interval = p ± t(95 %, B - 1) error
 *
 * W. G. Cochran, "Sampling Techniques", 1977, chapter 6 (ratio estimator over clusters).
 * Observations within a batch may depend on each other. Returns false with fewer than two batches,
 * or if the wholes are all 0.
 */
struct statistics_share {
    double share, low, high;
    double half; /* half of the interval's width before the interval is limited to 0 … 1 */
};
bool statistics_share(const double *parts, const double *wholes, size_t count,
                      struct statistics_share *share);

#endif
