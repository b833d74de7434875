#include "unit/unit.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure/histogram.h"
#include "unit/recorded.h"

enum {
    VALUES = 20000
};

static struct histogram first;
static struct histogram second;
static struct histogram third;
static int64_t values[VALUES];

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int compare(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Returns the exact quantile by its definition: the smallest value v such that at least q × count
 * values are ≤ v. */
static int64_t exact_quantile(unsigned per_mille)
{
    const uint64_t product = (uint64_t)per_mille * VALUES;
    uint64_t rank = product / 1000 + (product % 1000 != 0);
    rank = rank < 1 ? 1 : rank;
    return values[rank - 1];
}

static void check_quantiles(void)
{
    histogram_clear(&first);
    for (size_t i = 0; i < VALUES; i++) {
        histogram_record(&first, values[i]);
    }
    qsort(values, VALUES, sizeof(values[0]), compare);
    for (unsigned per_mille = 0; per_mille <= 1000; per_mille++) {
        const int64_t exact = exact_quantile(per_mille);
        const int64_t given = histogram_quantile_ns(&first, per_mille / 1000.0);
        assert_true(given >= exact);
        assert_true(given - exact <= exact / 64);
    }
    assert_int_equal(histogram_quantile_ns(&first, 1), values[VALUES - 1]);
    assert_int_equal(first.max_ns, values[VALUES - 1]);
}

TEST(quantiles_of_uniform_values)
{
    uint64_t seed = 88172645463325252U;
    for (size_t i = 0; i < VALUES; i++) {
        values[i] = (int64_t)(next_random(&seed) % 5000000);
    }
    check_quantiles();
}

TEST(quantiles_of_values_over_all_magnitudes)
{
    uint64_t seed = 1181783497276652981U;
    for (size_t i = 0; i < VALUES; i++) {
        const unsigned shift = 22 + (unsigned)(next_random(&seed) % 40);
        values[i] = (int64_t)(next_random(&seed) >> shift);
    }
    check_quantiles();
}

TEST(quantiles_of_two_clusters)
{
    uint64_t seed = 2685821657736338717U;
    for (size_t i = 0; i < VALUES; i++) {
        const uint64_t noise = next_random(&seed) % 1000;
        values[i] = (int64_t)(i % 100 == 0 ? 2000000000U + noise : 90000 + noise);
    }
    check_quantiles();
}

TEST(quantiles_of_equal_values)
{
    for (size_t i = 0; i < VALUES; i++) {
        values[i] = 123456789;
    }
    check_quantiles();
    assert_int_equal(histogram_quantile_ns(&first, 0.5), 123456789);
}

/* 0.07 × 100 is 7.000000000000001 in binary: the rank is 7, not 8. */
TEST(ranks_are_not_rounded_up)
{
    histogram_clear(&first);
    for (int64_t i = 1; i <= 100; i++) {
        histogram_record(&first, i);
    }
    for (int64_t i = 1; i <= 100; i++) {
        assert_int_equal(histogram_quantile_ns(&first, (double)i / 100), i);
    }
}

TEST(buckets_tile_the_range)
{
    assert_int_equal(histogram_bucket_low_ns(0), 0);
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        const int64_t low = histogram_bucket_low_ns(i);
        const int64_t high = histogram_bucket_high_ns(i);
        assert_true(low <= high);
        assert_true(high - low <= low / 64);
        assert_int_equal(histogram_bucket(low), i);
        assert_int_equal(histogram_bucket(high), i);
        if (i > 0) {
            assert_int_equal(histogram_bucket_high_ns(i - 1) + 1, low);
        }
    }
    assert_int_equal(histogram_bucket_high_ns(HISTOGRAM_BUCKETS - 1), HISTOGRAM_LIMIT_NS - 1);
}

TEST(boundaries)
{
    assert_int_equal(histogram_bucket(0), 0);
    assert_int_equal(histogram_bucket(-1), 0);
    assert_int_equal(histogram_bucket(INT64_MIN), 0);
    assert_int_equal(histogram_bucket(63), 63);
    assert_int_equal(histogram_bucket(64), 64);
    assert_int_equal(histogram_bucket(127), 127);
    assert_int_equal(histogram_bucket(128), 128);
    assert_int_equal(histogram_bucket(129), 128);
    assert_int_equal(histogram_bucket(130), 129);
    for (unsigned bit = 7; bit < 42; bit++) {
        const int64_t power = INT64_C(1) << bit;
        assert_int_equal(histogram_bucket(power), 64 * (bit - 5));
        assert_int_equal(histogram_bucket(power - 1), 64 * (bit - 5) - 1);
        assert_int_equal(histogram_bucket(power + 1), 64 * (bit - 5));
        assert_int_equal(histogram_bucket_low_ns(histogram_bucket(power)), power);
    }
}

TEST(large_values_overflow)
{
    histogram_clear(&first);
    histogram_record(&first, HISTOGRAM_LIMIT_NS - 1);
    assert_int_equal(first.overflow, 0);
    histogram_record(&first, HISTOGRAM_LIMIT_NS);
    histogram_record(&first, HISTOGRAM_LIMIT_NS * 4);
    assert_int_equal(first.overflow, 2);
    assert_int_equal(first.total, 3);
    assert_int_equal(first.max_ns, HISTOGRAM_LIMIT_NS * 4);
    assert_int_equal(first.sum_ns, HISTOGRAM_LIMIT_NS * 6 - 1);
    assert_int_equal(histogram_quantile_ns(&first, 0.3), HISTOGRAM_LIMIT_NS - 1);
    assert_int_equal(histogram_quantile_ns(&first, 0.5), HISTOGRAM_LIMIT_NS * 4);
}

TEST(negative_values_count_as_zero)
{
    histogram_clear(&first);
    histogram_record(&first, -5);
    assert_int_equal(first.counts[0], 1);
    assert_int_equal(first.total, 1);
    assert_int_equal(first.sum_ns, 0);
    assert_int_equal(first.max_ns, 0);
}

TEST(an_empty_histogram_gives_zero)
{
    histogram_clear(&first);
    assert_int_equal(histogram_quantile_ns(&first, 0.99), 0);
    assert_true(histogram_mean_ns(&first) == 0);
}

TEST(quantiles_outside_the_range_are_clamped)
{
    histogram_clear(&first);
    histogram_record(&first, 10);
    histogram_record(&first, 20);
    assert_int_equal(histogram_quantile_ns(&first, -3), 10);
    assert_int_equal(histogram_quantile_ns(&first, 7), 20);
}

TEST(the_mean_is_exact)
{
    histogram_clear(&first);
    histogram_record(&first, 1000001);
    histogram_record(&first, 2000002);
    assert_true(histogram_mean_ns(&first) == 1500001.5);
}

static void fill(struct histogram *histogram, uint64_t seed, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        histogram_record(histogram, (int64_t)(next_random(&seed) >> 25));
    }
}

TEST(a_difference_is_what_was_added)
{
    histogram_clear(&first);
    histogram_clear(&second);
    fill(&first, 11, 1000);
    fill(&second, 11, 1000);
    histogram_record(&second, 4000);
    histogram_record(&second, 5000);
    histogram_subtract(&second, &first, &third);
    assert_int_equal(third.total, 2);
    assert_int_equal(third.sum_ns, 9000);
    assert_int_equal(third.counts[histogram_bucket(4000)], 1);
    assert_int_equal(third.max_ns, histogram_bucket_high_ns(histogram_bucket(5000)));
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        assert_int_equal(first.counts[i] + third.counts[i], second.counts[i]);
    }
}

TEST(a_difference_keeps_the_exact_maximum_when_it_is_lower)
{
    histogram_clear(&first);
    histogram_clear(&second);
    histogram_record(&second, 1000000);
    histogram_subtract(&second, &first, &third);
    assert_int_equal(third.max_ns, 1000000);
    histogram_record(&second, HISTOGRAM_LIMIT_NS + 5);
    histogram_subtract(&second, &first, &third);
    assert_int_equal(third.overflow, 1);
    assert_int_equal(third.max_ns, HISTOGRAM_LIMIT_NS + 5);
}

TEST(the_difference_of_equals_is_empty)
{
    histogram_clear(&first);
    fill(&first, 5, 100);
    histogram_subtract(&first, &first, &third);
    histogram_clear(&second);
    assert_memory_equal(&third, &second, sizeof(third));
}

TEST(a_sum_that_is_too_large_stays_the_largest)
{
    assert_int_equal(histogram_sum_ns(1, 2), 3);
    assert_int_equal(histogram_sum_ns(UINT64_MAX - 5, 5), UINT64_MAX);
    assert_int_equal(histogram_sum_ns(UINT64_MAX - 5, 6), UINT64_MAX);
    assert_int_equal(histogram_sum_ns(6, UINT64_MAX - 5), UINT64_MAX);
}
