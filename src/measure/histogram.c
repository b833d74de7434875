#include "measure/histogram.h"

#include <float.h>
#include <stdbool.h>
#include <sys/param.h>

enum {
    SUB_BUCKET_BITS = 6,
    SUB_BUCKETS = 1 << SUB_BUCKET_BITS
};

size_t histogram_bucket(int64_t ns)
{
    const uint64_t value = ns < 0 ? 0 : (uint64_t)ns;
    /* the `|` sets bit 6, so that all values below 128 get the shift 0 and the argument of clz is
     * never 0 */
    const unsigned shift =
        63U - SUB_BUCKET_BITS - (unsigned)__builtin_clzll(value | (uint64_t)SUB_BUCKETS);
    return ((size_t)shift << SUB_BUCKET_BITS) + (size_t)(value >> shift);
}

static unsigned bucket_shift(size_t bucket)
{
    return bucket < 2 * SUB_BUCKETS ? 0 : (unsigned)(bucket >> SUB_BUCKET_BITS) - 1;
}

int64_t histogram_bucket_low_ns(size_t bucket)
{
    const unsigned shift = bucket_shift(bucket);
    return (int64_t)((bucket - ((size_t)shift << SUB_BUCKET_BITS)) << shift);
}

int64_t histogram_bucket_high_ns(size_t bucket)
{
    return histogram_bucket_low_ns(bucket) + (INT64_C(1) << bucket_shift(bucket)) - 1;
}

uint64_t histogram_sum_ns(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < UINT64_MAX - b_ns ? a_ns + b_ns : UINT64_MAX;
}

void histogram_subtract(const struct histogram *later, const struct histogram *earlier,
                        struct histogram *difference)
{
    int64_t max_ns = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        difference->counts[i] = later->counts[i] - earlier->counts[i];
        if (difference->counts[i] > 0) {
            max_ns = histogram_bucket_high_ns(i);
        }
    }
    difference->overflow = later->overflow - earlier->overflow;
    difference->total = later->total - earlier->total;
    difference->sum_ns = later->sum_ns - earlier->sum_ns;
    const bool is_beyond = difference->overflow > 0 || max_ns > later->max_ns;
    difference->max_ns = is_beyond ? later->max_ns : max_ns;
}

uint64_t quantile_rank(double quantile, uint64_t total)
{
    double share = quantile > 0 ? quantile : 0; /* a NaN becomes 0 */
    share = share < 1 ? share : 1;
    const double exact = share * (double)total;
    const uint64_t whole = (uint64_t)exact;
    const double rest = exact - (double)whole;
    const uint64_t rank = rest > exact * 4 * DBL_EPSILON ? whole + 1 : whole;
    return MIN(MAX(rank, 1), total);
}

int64_t histogram_quantile_ns(const struct histogram *histogram, double quantile)
{
    if (histogram->total == 0) {
        return 0;
    }
    const uint64_t rank = quantile_rank(quantile, histogram->total);
    uint64_t seen = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->counts[i];
        if (seen >= rank) {
            const int64_t high_ns = histogram_bucket_high_ns(i);
            return high_ns < histogram->max_ns ? high_ns : histogram->max_ns;
        }
    }
    return histogram->max_ns;
}

double histogram_mean_ns(const struct histogram *histogram)
{
    return histogram->total == 0 ? 0 : (double)histogram->sum_ns / (double)histogram->total;
}
