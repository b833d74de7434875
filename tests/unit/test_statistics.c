/* Statistics of a comparison. The expected values are from SciPy 1.17.1: stats.t.ppf,
 * stats.ttest_ind(log(b), log(a), equal_var=False).confidence_interval(0.99). */
#include <math.h>
#include <string.h>

#include "unit/unit.h"

#include "figures/statistics.h"

static void expect_close(double value, double expected, double error)
{
    if (!(fabs(value - expected) <= error * fabs(expected))) {
        fail_msg("%.17g is not %.17g", value, expected);
    }
}

static void expect_ratio(const struct statistics_ratio *ratio, double middle, double low,
                         double high)
{
    expect_close(ratio->ratio, middle, 1e-9);
    expect_close(ratio->low, low, 1e-9);
    expect_close(ratio->high, high, 1e-9);
}

/* One side does not vary, so the degrees of freedom follow from the other side. */
TEST(test_student)
{
    static const double ones[] = {1, 1, 1};
    static const struct {
        size_t count;
        double t; /* the quantile 0.995 */
    } known[] = {{5, 4.604094871349992}, {6, 4.032142983555228}, {18, 2.8982305196774183}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const size_t count = known[i].count;
        double values[20], squares = 0;
        for (size_t j = 0; j < count; j++) {
            const double side = j % 2 == 0 ? 1 : -1;
            const double off = j + 1 == count && count % 2 == 1 ? 0 : side;
            values[j] = exp(off);
            squares += off * off;
        }
        const double error = sqrt(squares / (double)(count - 1) / (double)count);
        struct statistics_ratio ratio;
        assert_true(statistics_compare_repeats(ones, 3, values, count, &ratio));
        expect_ratio(&ratio, 1, exp(-known[i].t * error), exp(known[i].t * error));
    }
}

TEST(test_repeats)
{
    static const double a[] = {100, 103, 98, 110, 101};
    static const double b[] = {80, 84, 79, 81};
    struct statistics_ratio ratio;
    assert_true(statistics_compare_repeats(a, 5, b, 4, &ratio));
    expect_ratio(&ratio, 0.7914343103796122, 0.7269295445968316, 0.8616629662417252);
    assert_true(statistics_compare_repeats(b, 4, a, 5, &ratio));
    expect_ratio(&ratio, 1 / 0.7914343103796122, 1 / 0.8616629662417252, 1 / 0.7269295445968316);
}

TEST(test_repeats_that_cannot_be_compared)
{
    static const double three[] = {1, 2, 3};
    static const double zero[] = {1, 0, 3};
    static const double same[] = {5, 5, 5};
    struct statistics_ratio ratio;
    assert_false(statistics_compare_repeats(three, 2, three, 3, &ratio));
    assert_false(statistics_compare_repeats(three, 3, three, 2, &ratio));
    assert_false(statistics_compare_repeats(three, 3, zero, 3, &ratio));
    assert_true(statistics_compare_repeats(same, 3, same, 3, &ratio));
    expect_ratio(&ratio, 1, 1, 1);
    assert_true(ratio.low == 1 && ratio.high == 1);
}

TEST(test_spread)
{
    struct spread spread = spread_of(NULL, 0);
    assert_int_equal(spread.count, 0);
    spread = spread_of((double[]){7}, 1);
    assert_true(spread.median == 7 && spread.lowest == 7 && spread.highest == 7);
    spread = spread_of((double[]){9, 1, 4}, 3);
    assert_true(spread.median == 4 && spread.lowest == 1 && spread.highest == 9);
    spread = spread_of((double[]){10, 1, 4, 5}, 4);
    assert_true(spread.median == 4.5 && spread.lowest == 1 && spread.highest == 10);
}

static void expect_share(const struct statistics_share *share, double middle, double low,
                         double high)
{
    expect_close(share->share, middle, 1e-9);
    expect_close(share->low, low, 1e-9);
    expect_close(share->high, high, 1e-9);
}

/* By hand: share 0.5, squares 4 × 1, error sqrt(4 / (4 × 3)) / 10, t(95 %, 3) = 3.182446. */
TEST(test_share)
{
    static const double parts[] = {6, 4, 6, 4}, wholes[] = {10, 10, 10, 10}, nothing[4];
    static const double far[] = {10, 0, 10, 0}, even[] = {5, 10, 20, 5},
                        of_even[] = {10, 20, 40, 10};
    struct statistics_share share;
    assert_true(statistics_share(parts, wholes, 4, &share));
    expect_share(&share, 0.5, 0.5 - 0.18373862310, 0.5 + 0.18373862310);
    assert_true(statistics_share(far, wholes, 4, &share));
    expect_share(&share, 0.5, 0, 1); /* cut at 0 and 1 */
    expect_close(share.half, 0.91869311551, 1e-9);
    assert_true(statistics_share(even, of_even, 4, &share));
    expect_share(&share, 0.5, 0.5, 0.5); /* the same share in batches of different size */
    assert_false(statistics_share(parts, wholes, 1, &share));
    assert_false(statistics_share(parts, nothing, 4, &share));
}
