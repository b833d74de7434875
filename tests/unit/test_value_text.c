/* Values as text, compared with hand-written texts. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

#include "append/value_text.h"
#include "base/random.h"

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

TEST(test_decimals)
{
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

TEST(test_dates)
{
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

TEST(test_times)
{
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

TEST(test_addresses)
{
    static const uint8_t ip4[1][4] = {{192, 0, 2, 7}};
    static const uint8_t ip6[1][16] = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
    static const uint8_t whole[1][16] = {
        {0x20, 0x01, [3] = 1, [4] = 0x0a, 0xbc, [7] = 9, [9] = 8, [10] = 0xff, 0xff, [13] = 0x10}};
    static const uint8_t zeros[1][4] = {{0, 10, 255, 100}};
    static const uint8_t uuid[1][16] = {{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc,
                                         0xba, 0x98, 0x76, 0x54, 0x32, 0x10}};
    check(COLUMN_IP4, (union column_values){.ip4 = ip4}, 0, "192.0.2.7");
    check(COLUMN_IP6, (union column_values){.ip6 = ip6}, 0, "2001:db8::1");
    check(COLUMN_IP6, (union column_values){.ip6 = whole}, 0, "2001:1:abc:9:8:ffff:10:0");
    check(COLUMN_IP4, (union column_values){.ip4 = zeros}, 0, "0.10.255.100");
    check(COLUMN_UUID, (union column_values){.uuid = uuid}, 0,
          "01234567-89ab-cdef-fedc-ba9876543210");
}

TEST(test_integers)
{
    static const uint8_t boolean = 7;
    static const int16_t int16 = INT16_MIN;
    static const int32_t int32 = INT32_MAX;
    static const int64_t int64 = INT64_MIN;
    check(COLUMN_BOOL, (union column_values){.boolean = &boolean}, 0, "1");
    check(COLUMN_INT16, (union column_values){.int16 = &int16}, 3, "-32768");
    check(COLUMN_INT32, (union column_values){.int32 = &int32}, 0, "2147483647");
    check(COLUMN_INT64, (union column_values){.int64 = &int64}, 0, "-9223372036854775808");
    static const int64_t numbers[] = {0, 9, 10, 99, 100, 4294967296, 999999999999999999, INT64_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "%" PRId64, numbers[i]);
        check(COLUMN_INT64, (union column_values){.int64 = &numbers[i]}, 0, expected);
    }
}

static size_t count_digits(const char *text)
{
    size_t digits = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        digits += (*text >= '1' && *text <= '9') || (*text == '0' && digits > 0) ? 1 : 0;
    }
    return digits;
}

/* Checks that parsing the text gives the number back (the text of a float also when parsed as a
 * double), and that no shorter text does. */
static void check_real(double value, bool is_float)
{
    char text[VALUE_TEXT_BYTES + 1], shortest[64];
    const size_t length = value_text_real(text, value, is_float);
    assert_true(length < sizeof text);
    text[length] = '\0';
    const double back = strtod(text, NULL);
    if (is_float ? (float)back != (float)value || strtof(text, NULL) != (float)value
                 : back != value || signbit(back) != signbit(value)) {
        fail_msg("%a was written as %s", value, text);
    }
    int digits = 0;
    do {
        snprintf(shortest, sizeof shortest, "%.*e", digits++, value);
    } while (is_float ? strtof(shortest, NULL) != (float)value : strtod(shortest, NULL) != value);
    if (fabs(value) >= 1.0 / 64 && fabs(value) < 0x1p53 && value != nearbyint(value)) {
        assert_int_equal(count_digits(text), digits);
    }
}

TEST(test_reals)
{
    static const struct {
        double value;
        const char *expected;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {5, "5"},
        {-0.1, "-0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {0.015625, "0.015625"},
        {0.01, "0.01"},
        {1234.5, "1234.5"},
        {100, "100"},
        {9007199254740991, "9007199254740991"},
        {4503599627370495.5, "4503599627370495.5"},
        {1e23, "1e+23"},
        {5e-324, "4.94065645841247e-324"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {(double)INFINITY, "inf"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(COLUMN_FLOAT64, (union column_values){.float64 = &cases[i].value}, 0,
              cases[i].expected);
    }
    static const float floats[] = {0.1F, 16777216, 3.4028235e38F, -0.3F};
    static const char *const texts[] = {"0.1", "16777216", "3.4028235e+38", "-0.3"};
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++) {
        check(COLUMN_FLOAT32, (union column_values){.float32 = &floats[i]}, 0, texts[i]);
    }
    for (int exponent = -1074; exponent < 1024; exponent++) {
        const double power = ldexp(1, exponent);
        check_real(power, false);
        check_real(nextafter(power, 0), false);
        check_real(-nextafter(power, DBL_MAX), false);
        if (exponent >= FLT_MIN_EXP && exponent < FLT_MAX_EXP) {
            check_real(power, true);
            check_real((double)nextafterf((float)power, 0), true);
            check_real((double)nextafterf((float)power, FLT_MAX), true);
        }
    }
    for (uint64_t i = 0; i < 20000; i++) {
        const uint64_t bits = random_mix(i);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) {
            check_real(value, false);
        }
        /* random digits, in the range that append formats without snprintf */
        value = ldexp(1 + (double)(bits >> 12) * 0x1p-52, (int)(i % 60) - 6);
        check_real(value, false);
        check_real((double)(float)value, true);
        check_real((double)(bits >> 40) / 100, false);
    }
}
