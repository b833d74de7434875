/*
 * Latency histogram: log-linear buckets over nanoseconds.
 *
 * Every power of two is divided into 64 buckets of equal width, so a bucket is at most 1/64 of its
 * values wide and a quantile, given as the highest value of its bucket, is at most 1.5625 % above
 * the exact one. Values below 128 ns are exact. This is the layout of HdrHistogram (G. Tene,
 * http://hdrhistogram.org) with a unit of 1 ns. Values from HISTOGRAM_LIMIT_NS (73 minutes) are
 * counted in `overflow`, not in a bucket, and still make up `total`, `sum` and `max`.
 *
 * A struct histogram is plain data of one thread; merging adds, so the order does not matter.
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
    uint64_t overflow; /* values of HISTOGRAM_LIMIT_NS and more */
    uint64_t total;    /* all values, overflow included */
    uint64_t sum_ns;   /* stops at UINT64_MAX, 584 years: batches that are never sent add up */
    int64_t max_ns;    /* exact; 0 when empty */
};

/* Bucket of a value. `ns` is taken as 0 when negative and must be below HISTOGRAM_LIMIT_NS. */
size_t histogram_bucket(int64_t ns);

/* Lowest and highest value that a bucket holds. */
int64_t histogram_bucket_low_ns(size_t bucket);
int64_t histogram_bucket_high_ns(size_t bucket);

uint64_t histogram_sum_ns(uint64_t a_ns, uint64_t b_ns);

/* What `later` has and `earlier`, an older state of it, has not. The maximum of the difference is
 * the high end of its highest bucket, or later's exact maximum where that is lower. */
void histogram_subtract(const struct histogram *later, const struct histogram *earlier,
                        struct histogram *difference);

/* Smallest recorded value v such that at least quantile × total values are ≤ v, up to the bucket
 * width; `quantile` in 0 … 1. Never above max_ns. 0 when empty. */
int64_t histogram_quantile_ns(const struct histogram *histogram, double quantile);

/* Arithmetic mean, exact. 0 when empty. */
double histogram_mean_ns(const struct histogram *histogram);

#endif
