/* Metrics: buckets, percentiles, and the sums of sessions and ranks. */
#include <math.h>
#include <stdlib.h>

#include "unit/unit.h"

#include "base/text.h"
#include "measure/metric.h"

static struct script_metric metrics[] = {{"wait", "ms", SCRIPT_TREND},
                                         {"seen", "", SCRIPT_COUNT},
                                         {"depth", "", SCRIPT_GAUGE},
                                         {"late", "", SCRIPT_TREND}};
static const struct script script = {.metric_count = COUNT_OF(metrics), .metrics = metrics};

/* The highest number of a bucket is in the bucket, and at most 1/64 above its other numbers. */
TEST(test_buckets)
{
    static const double values[] = {0,   1,          0.1,  12.5,         12.3,     127,
                                    128, 129,        1e-9, METRIC_LEAST, 1e-300,   0.99999,
                                    1e6, 123456.789, 1e15, METRIC_MOST,  4096.0001};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            const double value = sign * values[i];
            const size_t bucket = metric_bucket(value);
            const double high = metric_bucket_high(bucket);
            assert_true(bucket < METRIC_BUCKETS);
            assert_true(high >= value);
            assert_true(high - value <= fmax(fabs(value) / 64, METRIC_LEAST));
            assert_int_equal(metric_bucket(high), bucket);
            assert_true(bucket == 0 || metric_bucket_high(bucket - 1) < value);
        }
    }
    assert_int_equal(metric_bucket(-1e300), 0);
    assert_true(isinf(metric_bucket_high(metric_bucket(1e300))));
}

/* Numbers with at most 7 significant bits are exact. */
TEST(test_exact)
{
    for (int i = -128; i <= 128; i++) {
        assert_true(metric_bucket_high(metric_bucket(i)) == i);
        assert_true(metric_bucket_high(metric_bucket(i / 8.0)) == i / 8.0);
    }
}

static struct metric_sum *fill(unsigned sessions, double first)
{
    struct metric_store *store = metric_store_create(&script, sessions, 2);
    struct metric_sum *sums = metric_sums_create(&script);
    assert_non_null(store);
    assert_non_null(sums);
    for (unsigned session = 0; session < sessions; session++) {
        for (int i = 0; i < 10; i++) {
            metric_store_add(store, session, 0, first + session * 10 + i);
            metric_store_add(store, session, 1, 0.5);
            metric_store_add(store, session, 2, first + session - i);
        }
    }
    metric_store_read(store, sums, 0);
    metric_store_destroy(store);
    return sums;
}

/* The values 1 to 50 are summed over sessions, and then over two ranks. */
TEST(test_sums)
{
    struct metric_sum *sums = fill(3, 1), *others = fill(2, 31);
    for (size_t i = 0; i < COUNT_OF(metrics); i++) {
        metric_sum_add(&sums[i], &others[i]);
    }
    const struct metric_sum *wait = &sums[0], *seen = &sums[1], *depth = &sums[2];
    assert_ptr_equal(wait->metric, &metrics[0]);
    assert_int_equal(wait->count, 50);
    assert_true(wait->sum == 1275 && wait->min == 1 && wait->max == 50);
    static const struct {
        double quantile, value;
    } cases[] = {{0, 1}, {0.01, 1}, {0.5, 25}, {0.51, 26}, {0.9, 45}, {0.99, 50}, {1, 50}};
    EACH_CASE (i, cases, "%g", cases[i].quantile) {
        assert_true(metric_quantile(wait, cases[i].quantile) == cases[i].value);
    }
    assert_int_equal(seen->count, 50);
    assert_true(seen->sum == 25);
    assert_null(seen->buckets);
    assert_true(depth->min == -8 && depth->max == 32);
    assert_true(depth->last == 23); /* the last value of the last session */
    assert_int_equal(sums[3].count, 0);
    metric_sum_add(&sums[3], &sums[0]);
    assert_true(sums[3].min == 1 && metric_quantile(&sums[3], 0.5) == 25);
    metric_sums_destroy(sums, COUNT_OF(metrics));
    metric_sums_destroy(others, COUNT_OF(metrics));
}

/* A percentile is never outside of the values. */
TEST(test_extremes)
{
    static const struct {
        double value;
    } cases[] = {{129.5}, {-129.5}, {1e300}, {-1e300}, {1e-300}, {-1e-300}, {0}};
    EACH_CASE (i, cases, "%g", cases[i].value) {
        struct metric_store *store = metric_store_create(&script, 1, 1);
        struct metric_sum *sums = metric_sums_create(&script);
        metric_store_add(store, 0, 0, cases[i].value);
        metric_store_read(store, sums, 0);
        assert_true(metric_quantile(&sums[0], 0.5) == cases[i].value);
        metric_store_destroy(store);
        metric_sums_destroy(sums, COUNT_OF(metrics));
    }
}

/* The latest value of a gauge counts, whichever session or rank it comes from. */
TEST(test_latest)
{
    struct metric_sum early = {.count = 1, .last = 5, .last_ns = 10};
    const struct metric_sum late = {.count = 1, .last = 7, .last_ns = 20},
                            none = {.last = 9, .last_ns = 30};
    struct metric_sum both = late;
    metric_sum_add(&both, &early);
    assert_true(both.last == 7);
    metric_sum_add(&early, &late);
    assert_true(early.last == 7);
    metric_sum_add(&early, &none);
    assert_true(early.last == 7);
}
