/*
 * Latency histogram: log-linear buckets over nanoseconds.
 *
 * Each range from a power of two to the next is divided into 64 buckets of equal width, so the
 * width of a bucket is at most 1/64 of its values. A quantile is reported as the highest value of
 * its bucket, so the reported quantile is at most 1.5625 % above the exact quantile. Values below
 * 128 ns are exact. HdrHistogram (G. Tene, http://hdrhistogram.org) has the same layout; the unit
 * here is 1 ns. A value of HISTOGRAM_LIMIT_NS (73 minutes) or more has no bucket: `overflow` counts
 * the value. `total`, sum_ns and max_ns include it.
 *
 * One thread at a time uses a struct histogram. Merging histograms adds their counts, so the order
 * does not matter.
 */
#ifndef MEASURE_HISTOGRAM_H
#define MEASURE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum {
    HISTOGRAM_BUCKETS = 2368
};
#define HISTOGRAM_LIMIT_NS (INT64_C(1) << 42)

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t overflow; /* number of values of HISTOGRAM_LIMIT_NS and more */
    uint64_t total;    /* number of all values, including `overflow` */
    uint64_t sum_ns;   /* sum of the values; UINT64_MAX (584 years) if the sum is larger */
    int64_t max_ns; /* the maximum, exact except after histogram_subtract; 0 when the histogram is
                       empty */
};

/* Returns the bucket of a value. A negative `ns` counts as 0; `ns` must be below
 * HISTOGRAM_LIMIT_NS. */
size_t histogram_bucket(int64_t ns);

/* Return the lowest and the highest value of a bucket. */
int64_t histogram_bucket_low_ns(size_t bucket);
int64_t histogram_bucket_high_ns(size_t bucket);

/* Adds two sums; stops at UINT64_MAX. */
uint64_t histogram_sum_ns(uint64_t a_ns, uint64_t b_ns);

/* Subtracts `earlier`, an older state of the same histogram, from `later`. The maximum of
 * *difference is the high end of the highest bucket that has values in *difference. If the maximum
 * of `later` is lower, or if values were added to `overflow`, the maximum of `later` is used
 * instead. */
void histogram_subtract(const struct histogram *later, const struct histogram *earlier,
                        struct histogram *difference);

/* Returns how many of `total` values a quantile (0 … 1) must cover: the smallest whole number that
 * is at least quantile × total, and at least 1. `total` must not be 0. A product that is above a
 * whole number only because of rounding errors, like 0.07 × 100, counts as this whole number. */
uint64_t quantile_rank(double quantile, uint64_t total);

/* Returns the smallest recorded value v such that at least quantile × total values are ≤ v, up to
 * the width of a bucket. `quantile`: 0 … 1. The result is never above max_ns; it is 0 when the
 * histogram is empty. */
int64_t histogram_quantile_ns(const struct histogram *histogram, double quantile);

/* Returns the exact arithmetic mean; 0 when empty. */
double histogram_mean_ns(const struct histogram *histogram);

#endif
