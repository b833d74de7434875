#include "compare/statistics.h"

#include <math.h>

enum {
    FRACTION_STEPS = 500,
    BISECTIONS = 200
};
#define FRACTION_TINY 1e-300
#define FRACTION_CLOSE 1e-15
#define CORRELATION_MAX 0.9

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

static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum / (double)count;
}

/* Takes the part of `values` that is like `shape` out of them. */
static void take_out(double *values, const double *shape, size_t count)
{
    double product = 0, square = 0;
    for (size_t i = 0; i < count; i++) {
        product += values[i] * shape[i];
        square += shape[i] * shape[i];
    }
    for (size_t i = 0; i < count; i++) {
        values[i] -= product / square * shape[i];
    }
}

/* Leaves what is no parabola. The shapes are orthogonal, as the slices lie evenly around 0. */
static void take_out_course(double *values, size_t count)
{
    double constant[STATISTICS_SLICES_MAX] = {0};
    double line[STATISTICS_SLICES_MAX] = {0};
    double parabola[STATISTICS_SLICES_MAX] = {0};
    for (size_t i = 0; i < count; i++) {
        constant[i] = 1;
        line[i] = 2 * (double)i / (double)(count - 1) - 1;
        parabola[i] = line[i] * line[i];
    }
    take_out(parabola, constant, count);
    take_out(values, constant, count);
    take_out(values, line, count);
    take_out(values, parabola, count);
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

bool statistics_compare_slices(const double *a, const double *b, size_t count,
                               struct statistics_ratio *ratio)
{
    const double a_mean = mean_of(a, count), b_mean = mean_of(b, count);
    if (!(a_mean > 0) || !(b_mean > 0)) {
        return false;
    }
    double rest[STATISTICS_SLICES_MAX];
    for (size_t i = 0; i < count; i++) {
        rest[i] = b[i] / b_mean - a[i] / a_mean;
    }
    take_out_course(rest, count);
    double square = 0, product = 0;
    for (size_t i = 0; i < count; i++) {
        square += rest[i] * rest[i];
        product += i > 0 ? rest[i] * rest[i - 1] : 0;
    }
    const double measured = square > 0 ? product / square : 0;
    const double correlation = fmin(fmax(measured, 0), CORRELATION_MAX);
    const double dof = (double)count - 3;
    const double variance = square / dof / (double)count * (1 + correlation) / (1 - correlation);
    *ratio = around(log(b_mean / a_mean), sqrt(variance), dof);
    return true;
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
