/* The percentile format of HdrHistogram, against rows worked out by hand from its definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/hgrm.h"

static struct histogram histogram; /* too large for a stack */

static char *write_all(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    assert_true(hgrm_write(stream, &histogram));
    assert_int_equal(fclose(stream), 0);
    return text;
}

static const char header[] = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";

static void test_empty(void **state)
{
    (void)state;
    histogram_clear(&histogram);
    char *text = write_all();
    char expected[512];
    snprintf(expected, sizeof expected,
             "%s#[Mean    =     0.000000, StdDeviation   =     0.000000]\n"
             "#[Max     =     0.000000, Total count    =            0]\n"
             "#[Buckets =           36, SubBuckets     =          128]\n",
             header);
    assert_string_equal(text, expected);
    free(text);
}

static void test_one_value(void **state)
{
    (void)state;
    histogram_clear(&histogram);
    histogram_record(&histogram, 100);
    char *text = write_all();
    char expected[512];
    snprintf(expected, sizeof expected,
             "%s    0.000100 0.000000000000          1           1.00\n"
             "    0.000100 1.000000000000          1\n"
             "#[Mean    =     0.000100, StdDeviation   =     0.000000]\n"
             "#[Max     =     0.000100, Total count    =            1]\n"
             "#[Buckets =           36, SubBuckets     =          128]\n",
             header);
    assert_string_equal(text, expected);
    free(text);
}

/* 1 … 10 ns: five steps of 10 % to the half, five of 5 % to three quarters, and so on. Steps that
 * end in the same value are a row each. */
static void test_ten_values(void **state)
{
    (void)state;
    histogram_clear(&histogram);
    for (int64_t ns = 1; ns <= 10; ns++) {
        histogram_record(&histogram, ns);
    }
    char *text = write_all();
    static const char *const rows[] = {
        "    0.000001 0.000000000000          1           1.00\n"
        "    0.000001 0.100000000000          1           1.11\n"
        "    0.000002 0.200000000000          2           1.25\n"
        "    0.000003 0.300000000000          3           1.43\n"
        "    0.000004 0.400000000000          4           1.67\n"
        "    0.000005 0.500000000000          5           2.00\n"
        "    0.000006 0.550000000000          6           2.22\n",
        "    0.000008 0.775000000000          8           4.44\n",
        "    0.000010 1.000000000000         10\n",
    };
    assert_memory_equal(text, header, strlen(header));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strstr(text, rows[i]) == NULL) {
            fail_msg("missing:\n%s\nin:\n%s", rows[i], text);
        }
    }
    free(text);
}

static void test_footer(void **state)
{
    (void)state;
    histogram_clear(&histogram);
    histogram_record(&histogram, 4);
    histogram_record(&histogram, 10);
    histogram_record(&histogram, 16);
    char *text = write_all(); /* deviation: the root of 24 */
    assert_non_null(strstr(text, "#[Mean    =     0.000010, StdDeviation   =     0.000005]\n"
                                 "#[Max     =     0.000016, Total count    =            3]\n"));
    free(text);
}

/* Counts and percentiles never fall, values never fall, the last row is whole, and the tail is
 * finer than the body: what a plot needs. */
static void test_rows_are_monotonic(void **state)
{
    (void)state;
    histogram_clear(&histogram);
    for (int64_t i = 1; i <= 200000; i++) {
        histogram_record(&histogram, 50000 + i * i % 7919 * 1000);
    }
    histogram_record(&histogram, 9876543210);
    char *text = write_all();
    double last_value = 0;
    double last_percentile = -1;
    unsigned long long last_count = 0;
    size_t rows = 0;
    char *save = NULL;
    for (char *line = strtok_r(text + strlen(header), "\n", &save); line[0] != '#';
         line = strtok_r(NULL, "\n", &save)) {
        double value = 0;
        double percentile = 0;
        double inverse = 0;
        unsigned long long count = 0;
        const int fields = sscanf(line, "%lf %lf %llu %lf", &value, &percentile, &count, &inverse);
        assert_true(fields == 4 || (fields == 3 && percentile >= 1));
        assert_true(value >= last_value);
        assert_true(percentile > last_percentile);
        assert_true(count >= last_count);
        assert_true((double)count + 0.5 >= percentile * 200001);
        last_value = value;
        last_percentile = percentile;
        last_count = count;
        rows++;
    }
    assert_true(last_percentile >= 1);
    assert_int_equal(last_count, 200001);
    assert_true(last_value > 9876.543209 && last_value < 9876.543211);
    assert_in_range(rows, 60, 120);
    free(text);
}

/* Values that no bucket holds are in the counts, the maximum and the last row all the same. */
static void test_overflow(void **state)
{
    (void)state;
    histogram_clear(&histogram);
    histogram_record(&histogram, 1000000);
    histogram_record(&histogram, HISTOGRAM_LIMIT_NS + 5);
    char *text = write_all();
    assert_non_null(strstr(text, "4398046.511109 0.550000000000          2"));
    assert_non_null(strstr(text, "4398046.511109 1.000000000000          2\n"));
    assert_non_null(strstr(text, "#[Max     = 4398046.511109, Total count    =            2]\n"));
    free(text);
}

static void test_write_failure(void **state)
{
    (void)state;
    histogram_clear(&histogram);
    FILE *stream = fopen("/dev/full", "w");
    assert_non_null(stream);
    setvbuf(stream, NULL, _IONBF, 0);
    assert_false(hgrm_write(stream, &histogram));
    fclose(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_one_value),
        cmocka_unit_test(test_ten_values),
        cmocka_unit_test(test_footer),
        cmocka_unit_test(test_rows_are_monotonic),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_write_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
