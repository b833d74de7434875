/* Statistics of a comparison. The expected values come from SciPy 1.17.1: stats.t.cdf, stats.t.ppf,
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

static void test_student(void **state)
{
    (void)state;
    static const double known[][3] = {
        {0, 1, 0.5},
        {1, 1, 0.75},
        {2.5, 4, 0.966616727594006},
        {-1.3, 7.5, 0.11606338940780439},
        {3.25, 9, 0.9950013154579892},
        {6, 100, 0.9999999841375425},
        {-12, 2, 0.00343646683857923},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        expect_close(statistics_student(known[i][0], known[i][1]), known[i][2], 1e-10);
    }
}

static void test_quantile(void **state)
{
    (void)state;
    static const double known[][3] = {
        {0.995, 1, 63.656741162871526},  {0.995, 4, 4.604094871349992},
        {0.995, 5, 4.032142983555228},   {0.995, 17, 2.8982305196774183},
        {0.995, 2.5, 7.163728138948783}, {0.975, 1000, 1.9623390808264083},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        expect_close(statistics_student_quantile(known[i][0], known[i][1]), known[i][2], 1e-9);
        expect_close(statistics_student_quantile(1 - known[i][0], known[i][1]), -known[i][2], 1e-9);
    }
}

static void expect_ratio(const struct statistics_ratio *ratio, double middle, double low,
                         double high)
{
    expect_close(ratio->ratio, middle, 1e-9);
    expect_close(ratio->low, low, 1e-9);
    expect_close(ratio->high, high, 1e-9);
}

static void test_repeats(void **state)
{
    (void)state;
    static const double a[] = {100, 103, 98, 110, 101};
    static const double b[] = {80, 84, 79, 81};
    struct statistics_ratio ratio;
    assert_true(statistics_compare_repeats(a, 5, b, 4, &ratio));
    expect_ratio(&ratio, 0.7914343103796122, 0.7269295445968316, 0.8616629662417252);
    assert_true(statistics_compare_repeats(b, 4, a, 5, &ratio));
    expect_ratio(&ratio, 1 / 0.7914343103796122, 1 / 0.8616629662417252, 1 / 0.7269295445968316);
}

static void test_repeats_that_tell_nothing(void **state)
{
    (void)state;
    static const double three[] = {1, 2, 3};
    static const double zero[] = {1, 0, 3};
    static const double same[] = {5, 5, 5};
    struct statistics_ratio ratio;
    assert_false(statistics_compare_repeats(three, 2, three, 3, &ratio));
    assert_false(statistics_compare_repeats(three, 3, three, 2, &ratio));
    assert_false(statistics_compare_repeats(three, 3, zero, 3, &ratio));
    assert_true(statistics_compare_repeats(same, 3, same, 3, &ratio));
    expect_ratio(&ratio, 1, 1, 1);
}

static void test_spread(void **state)
{
    (void)state;
    struct spread spread = spread_of(NULL, 0);
    assert_int_equal(spread.count, 0);
    spread = spread_of((double[]){7}, 1);
    assert_true(spread.median == 7 && spread.lowest == 7 && spread.highest == 7);
    spread = spread_of((double[]){9, 1, 4}, 3);
    assert_true(spread.median == 4 && spread.lowest == 1 && spread.highest == 9);
    spread = spread_of((double[]){10, 1, 4, 5}, 4);
    assert_true(spread.median == 4.5 && spread.lowest == 1 && spread.highest == 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_student),
        cmocka_unit_test(test_quantile),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_repeats_that_tell_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
