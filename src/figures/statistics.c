#include "figures/statistics.h"

#include <math.h>
#include <stdlib.h>

enum {
    FRACTION_STEPS = 500,
    BISECTIONS = 200
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
        /* no sum of the two: it might not be finite */
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

/* The continued fraction of the incomplete beta function, which converges fast for
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

/* Logarithm of the gamma function without its global sign. */
static double log_gamma(double value)
{
    int sign;
    return lgamma_r(value, &sign);
}

static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1) {
        return x <= 0 ? 0 : 1;
    }
    const double front =
        exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double statistics_student(double t, double dof)
{
    const double tail = incomplete_beta(dof / 2, 0.5, dof / (dof + t * t)) / 2;
    return t > 0 ? 1 - tail : tail;
}

double statistics_student_quantile(double p, double dof)
{
    double low = -1, high = 1;
    while (statistics_student(low, dof) > p) {
        low *= 2;
    }
    while (statistics_student(high, dof) < p) {
        high *= 2;
    }
    for (int i = 0; i < BISECTIONS && low < high; i++) {
        const double middle = low + (high - low) / 2;
        if (statistics_student(middle, dof) < p) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

static struct statistics_ratio around(double log_ratio, double error, double dof)
{
    const double t = statistics_student_quantile((1 + STATISTICS_CONFIDENCE) / 2, dof);
    return (struct statistics_ratio){
        .ratio = exp(log_ratio),
        .low = exp(log_ratio - t * error),
        .high = exp(log_ratio + t * error),
    };
}

struct sample {
    double mean; /* of the logarithms */
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
    const double dof = below > 0 ? square * square / below : first.dof + second.dof;
    *ratio = around(second.mean - first.mean, sqrt(square), dof);
    return true;
}
