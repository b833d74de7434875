/* Moments as users write them. */
#include "unit/unit.h"

#include "base/moment.h"

static void test_good(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_utc;
        int64_t ns;
    } good[] = {
        {"0", false, 0},
        {"90", false, INT64_C(90000000000)},
        {"007.5", false, INT64_C(7500000000)},
        {"0.123456789012", false, INT64_C(123456789)},
        {"1970-01-01T00:00:00Z", true, 0},
        {"2026-01-31T12:00:00Z", true, INT64_C(1769860800000000000)},
        {"2026-01-31T12:00:00.25Z", true, INT64_C(1769860800250000000)},
        {"2024-02-29T23:59:59Z", true, INT64_C(1709251199000000000)},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct moment moment;
        if (!moment_parse(good[i].text, &moment)) {
            fail_msg("%s", good[i].text);
        }
        assert_int_equal(moment.is_utc, good[i].is_utc);
        assert_int_equal(moment.ns, good[i].ns);
    }
}

static void test_bad(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "-1",
        "+1",
        "1e3",
        "0x10",
        ".5",
        "5.",
        "5s",
        " 5",
        "5 ",
        "99999999999",
        "nan",
        "T",
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-01-31T12:00:00+01:00",
        "2026-02-30T12:00:00Z",
        "2026-13-01T12:00:00Z",
        "2026-01-31T25:00:00Z",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00Zx",
        "1960-01-31T12:00:00Z",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct moment moment;
        if (moment_parse(bad[i], &moment)) {
            fail_msg("'%s' was taken", bad[i]);
        }
    }
}

static void test_there_and_back(void **state)
{
    (void)state;
    static const struct moment moments[] = {
        {false, 0}, {false, INT64_C(12345000000)}, {true, INT64_C(1769860800250000000)}};
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
        char text[MOMENT_TEXT_BYTES];
        struct moment again;
        moment_format(&moments[i], text);
        assert_true(moment_parse(text, &again));
        assert_int_equal(again.is_utc, moments[i].is_utc);
        assert_int_equal(again.ns, moments[i].ns);
    }
}

static void test_since_start(void **state)
{
    (void)state;
    const struct moment relative = {false, 5};
    const struct moment utc = {true, 1005};
    assert_int_equal(moment_since_start_ns(&relative, 1000), 5);
    assert_int_equal(moment_since_start_ns(&utc, 1000), 5);
    assert_int_equal(moment_since_start_ns(&utc, 1010), -5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_since_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
