/* Values as text, held against texts that were written by hand. */
#include <string.h>

#include "unit/unit.h"

#include "base/value_text.h"

static void check(enum column_type type, union column_values values, unsigned digits,
                  const char *expected)
{
    const struct column column = {.type = type, .scale = (uint8_t)digits};
    char text[VALUE_TEXT_BYTES + 1];
    memset(text, '#', sizeof text);
    const size_t length = value_text_write(text, &column, values, 0, digits);
    assert_true(length <= VALUE_TEXT_BYTES);
    assert_int_equal(text[VALUE_TEXT_BYTES], '#');
    text[length] = '\0';
    assert_string_equal(text, expected);
}

static void test_decimals(void **state)
{
    (void)state;
    static const struct {
        int64_t unscaled;
        unsigned scale;
        const char *expected;
    } cases[] = {
        {0, 0, "0"},
        {0, 2, "0.00"},
        {7, 0, "7"},
        {-7, 2, "-0.07"},
        {1234567, 2, "12345.67"},
        {-100, 2, "-1.00"},
        {999999999999999999, 18, "0.999999999999999999"},
        {INT64_MIN, 0, "-9223372036854775808"},
        {INT64_MIN, 19, "-0.9223372036854775808"},
        {1234567, 20, "0.00000000000001234567"},
        {1, 40, "0.0000000000000000000000000000000000000001"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(COLUMN_DECIMAL, (union column_values){.int64 = &cases[i].unscaled}, cases[i].scale,
              cases[i].expected);
    }
}

static void test_dates(void **state)
{
    (void)state;
    static const struct {
        int32_t days;
        const char *expected;
    } cases[] = {
        {0, "1970-01-01"},       {-1, "1969-12-31"},       {19782, "2024-02-29"},
        {11016, "2000-02-29"},   {-25509, "1900-02-28"},   {-25508, "1900-03-01"},
        {2932896, "9999-12-31"}, {2932897, "10000-01-01"}, {-719162, "0001-01-01"},
        {-719528, "0000-01-01"}, {-719529, "-0001-12-31"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(COLUMN_DATE, (union column_values){.int32 = &cases[i].days}, 0, cases[i].expected);
    }
}

static void test_times(void **state)
{
    (void)state;
    static const int64_t last = INT64_C(86399999999999);
    static const int64_t early = 1001002;
    check(COLUMN_TIME, (union column_values){.int64 = &last}, 0, "23:59:59");
    check(COLUMN_TIME, (union column_values){.int64 = &last}, 6, "23:59:59.999999");
    check(COLUMN_TIME, (union column_values){.int64 = &early}, 9, "00:00:00.001001002");
    static const struct {
        int64_t ns;
        const char *expected;
    } cases[] = {
        {0, "1970-01-01 00:00:00.000000"},
        {-1, "1969-12-31 23:59:59.999999"},
        {INT64_MIN, "1677-09-21 00:12:43.145224"},
        {INT64_MAX, "2262-04-11 23:47:16.854775"},
        {INT64_C(1709210096789012345), "2024-02-29 12:34:56.789012"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(COLUMN_TIMESTAMP, (union column_values){.int64 = &cases[i].ns}, 6, cases[i].expected);
    }
}

static void test_addresses(void **state)
{
    (void)state;
    static const uint8_t ip4[1][4] = {{192, 0, 2, 7}};
    static const uint8_t ip6[1][16] = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
    static const uint8_t uuid[1][16] = {{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc,
                                         0xba, 0x98, 0x76, 0x54, 0x32, 0x10}};
    check(COLUMN_IP4, (union column_values){.ip4 = ip4}, 0, "192.0.2.7");
    check(COLUMN_IP6, (union column_values){.ip6 = ip6}, 0, "2001:db8::1");
    check(COLUMN_UUID, (union column_values){.uuid = uuid}, 0,
          "01234567-89ab-cdef-fedc-ba9876543210");
}

static void test_integers(void **state)
{
    (void)state;
    static const uint8_t boolean = 7;
    static const int16_t int16 = INT16_MIN;
    static const int32_t int32 = INT32_MAX;
    static const int64_t int64 = INT64_MIN;
    static const double number = 5;
    check(COLUMN_BOOL, (union column_values){.boolean = &boolean}, 0, "1");
    check(COLUMN_INT16, (union column_values){.int16 = &int16}, 3, "-32768");
    check(COLUMN_INT32, (union column_values){.int32 = &int32}, 0, "2147483647");
    check(COLUMN_INT64, (union column_values){.int64 = &int64}, 0, "-9223372036854775808");
    check(COLUMN_FLOAT64, (union column_values){.float64 = &number}, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),  cmocka_unit_test(test_decimals),
        cmocka_unit_test(test_dates),     cmocka_unit_test(test_times),
        cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
