/* The pace of a run and its slices, and what a ratio and its interval come to. */
#include <math.h>
#include <string.h>

#include "unit/unit.h"

#include "compare/compare.h"
#include "compare/pace.h"

/* Connected after 0.5 s; 4 s of appending, 1,000 rows: intervals do not end where slices do. */
static const char summary[] = "connect_s,append_s,rows_acknowledged\r\n0.500,4.000,1000\r\n";
static const char intervals[] = "start_s,end_s,rows\r\n"
                                "0.000,1.000,100\r\n"
                                "1.000,2.000,400\r\n"
                                "2.000,4.000,0\r\n"
                                "4.000,4.400,450\r\n"
                                "4.400,4.800,50\r\n";

static void make_run(struct saved_run *run, const char *rows)
{
    memset(run, 0, sizeof *run);
    assert_int_equal(csv_table_parse(&run->summary, "summary.csv", strdup(summary), NULL),
                     STATUS_OK);
    assert_int_equal(csv_table_parse(&run->intervals, "intervals.csv", strdup(rows), NULL),
                     STATUS_OK);
}

static void test_slices(void **state)
{
    (void)state;
    struct saved_run run;
    double pace, append_s, slices[STATISTICS_SLICES_MAX];
    make_run(&run, intervals);
    assert_true(pace_of_run(&run, &pace, &append_s));
    assert_true(pace == 250 && append_s == 4);
    /* Slices end at 1.5, 2.5, 3.5 and 4.5 s. */
    static const double expected[] = {100 + 200, 200, 0, 500};
    assert_true(pace_cut(&run, 4, slices));
    for (size_t i = 0; i < 4; i++) {
        assert_true(fabs(slices[i] - expected[i]) < 1e-9);
    }
    /* Of 0.5 s each: rows/s, not rows. */
    static const double halves[] = {200, 400, 400, 0, 0, 0, 0, 1000};
    assert_true(pace_cut(&run, 8, slices));
    for (size_t i = 0; i < 8; i++) {
        assert_true(fabs(slices[i] - halves[i]) < 1e-9);
    }
    saved_run_free(&run);
}

static void test_rows_that_are_missing(void **state)
{
    (void)state;
    struct saved_run run;
    double slices[STATISTICS_SLICES_MAX];
    make_run(&run, "start_s,end_s,rows\r\n0.000,1.000,999\r\n");
    assert_false(pace_cut(&run, 4, slices));
    saved_run_free(&run);
    make_run(&run, "start_s,end_s,rows\r\n0.000,x,1000\r\n");
    assert_false(pace_cut(&run, 4, slices));
    saved_run_free(&run);
    make_run(&run, "start_s,end_s\r\n0.000,1.000\r\n");
    assert_false(pace_cut(&run, 4, slices));
    saved_run_free(&run);
}

static void test_count(void **state)
{
    (void)state;
    assert_int_equal(pace_count_slices(7.99, 100), 7);
    assert_int_equal(pace_count_slices(100, 12.5), 12);
    assert_int_equal(pace_count_slices(1e6, 1e6), STATISTICS_SLICES_MAX);
    assert_int_equal(pace_count_slices(0.5, 1e6), 0);
}

static void test_judge(void **state)
{
    (void)state;
    static const struct {
        double low, high;
        enum compare_finding finding;
    } cases[] = {
        {0.90, 0.949, COMPARE_LESS},   {0.90, 0.951, COMPARE_UNSURE}, {0.951, 1.049, COMPARE_ALIKE},
        {0.949, 1.04, COMPARE_UNSURE}, {1.051, 1.2, COMPARE_MORE},    {1.049, 1.2, COMPARE_UNSURE},
        {0.1, 10, COMPARE_UNSURE},     {1, 1, COMPARE_ALIKE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct compare_test test = {
            .ratio = {.ratio = 1, .low = cases[i].low, .high = cases[i].high}};
        compare_judge(&test, 0.05);
        assert_int_equal(test.finding, cases[i].finding);
        assert_int_equal(test.why[0] != '\0', test.finding == COMPARE_UNSURE);
    }
    assert_true(compare_is_high_good("throughput_rows_per_s"));
    assert_true(compare_is_high_good(COMPARE_PACE));
    assert_false(compare_is_high_good("elapsed_s"));
    assert_false(compare_is_high_good("_rows_per_s"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_rows_that_are_missing),
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_judge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
