#include "figures/statistics.h"

#include <math.h>
#include <stdlib.h>

enum {
    FRACTION_STEPS = 500
};
#define FRACTION_TINY 1e-300
#define FRACTION_CLOSE 1e-15

static int compare_values(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

struct spread spread_of(double *values, size_t count)
{
    if (count == 0) {
        return (struct spread){0};
    }
    qsort(values, count, sizeof *values, compare_values);
    const size_t middle = count / 2;
    const double upper = values[middle];
    return (struct spread){
        /* computed without the sum of the two values, which might not be finite */
        .median = count % 2 == 1 ? upper : values[middle - 1] + (upper - values[middle - 1]) / 2,
        .lowest = values[0],
        .highest = values[count - 1],
        .count = count,
    };
}

static double away_from_zero(double value)
{
    return fabs(value) < FRACTION_TINY ? FRACTION_TINY : value;
}

/* Computes the continued fraction of the incomplete beta function, which converges fast for
 * x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1;
    double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
    double fraction = d;
    for (int m = 1; m <= FRACTION_STEPS; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        fraction *= d * c;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        fraction *= d * c;
        if (fabs(d * c - 1) < FRACTION_CLOSE) {
            break;
        }
    }
    return fraction;
}

/* Returns the probability that a value of Student's t distribution with `dof` > 0 degrees of
 * freedom is below `t` > 0. Uses the incomplete beta function (Abramowitz and Stegun 26.7.1), whose
 * continued fraction is computed with Lentz's method. The error is below 1e-10. */
static double student(double t, double dof)
{
    const double a = dof / 2, b = 0.5, x = dof / (dof + t * t);
    int sign;
    const double front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) +
                             a * log(x) + b * log1p(-x));
    const double tail = x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                                  : 1 - front * beta_fraction(b, a, 1 - x) / b;
    return 1 - tail / 2;
}

/* Returns the t below which a value lies with probability `p`, 0.5 < p < 1. */
static double student_quantile(double p, double dof)
{
    double low = 0, high = 1;
    while (student(high, dof) < p) {
        high *= 2;
    }
    for (;;) {
        const double middle = low + (high - low) / 2;
        if (middle == low || middle == high) {
            return high; /* no number is in between */
        }
        if (student(middle, dof) < p) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

struct sample {
    double mean; /* mean of the values' logarithms */
    double error_square;
    double dof;
};

static bool take_logarithms(const double *values, size_t count, struct sample *sample)
{
    if (count < STATISTICS_REPEATS_MIN) {
        return false;
    }
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(values[i] > 0)) {
            return false;
        }
        sum += log(values[i]);
    }
    sample->mean = sum / (double)count;
    double square = 0;
    for (size_t i = 0; i < count; i++) {
        const double off = log(values[i]) - sample->mean;
        square += off * off;
    }
    sample->dof = (double)count - 1;
    sample->error_square = square / sample->dof / (double)count;
    return true;
}

bool statistics_compare_repeats(const double *a, size_t a_count, const double *b, size_t b_count,
                                struct statistics_ratio *ratio)
{
    struct sample first, second;
    if (!take_logarithms(a, a_count, &first) || !take_logarithms(b, b_count, &second)) {
        return false;
    }
    const double square = first.error_square + second.error_square;
    const double below = first.error_square * first.error_square / first.dof +
                         second.error_square * second.error_square / second.dof;
    const double quantile = (1 + STATISTICS_CONFIDENCE) / 2;
    const double width =
        below > 0 ? student_quantile(quantile, square * square / below) * sqrt(square) : 0;
    const double middle = second.mean - first.mean;
    *ratio = (struct statistics_ratio){exp(middle), exp(middle - width), exp(middle + width)};
    return true;
}

bool statistics_share(const double *parts, const double *wholes, size_t count,
                      struct statistics_share *share)
{
    double part = 0, whole = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        part += parts[i];
        whole += wholes[i];
    }
    if (count < 2 || whole <= 0) {
        return false;
    }
    const double ratio = part / whole, n = (double)count;
    for (size_t i = 0; i < count; i++) {
        const double gap = parts[i] - ratio * wholes[i];
        squares += gap * gap;
    }
    const double error = sqrt(squares / (n * (n - 1))) / (whole / n);
    const double half = error > 0 ? student_quantile(0.975, n - 1) * error : 0;
    *share = (struct statistics_share){
        .share = ratio, .low = fmax(ratio - half, 0), .high = fmin(ratio + half, 1), .half = half};
    return true;
}
