#include "unit/unit.h"

#include <stdio.h>

#include "base/mono.h"
#include "base/text.h"

TEST(test_counts)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0", 0},           {"1", 1},     {"10k", 10000}, {"10M", 10000000},
                {"2G", 2000000000}, {"0010", 10}, {"7m", 7000000}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        uint64_t value = 99;
        assert_true(units_parse_count(good[i].text, UINT64_MAX, &value));
        assert_int_equal(value, good[i].value);
    }
    static const char *const bad[] = {"",    "-1",
                                      "+1",  " 1",
                                      "1 ",  "1,000",
                                      "1e3", "0x1",
                                      "ten", "18446744073709551616",
                                      "1kk", "M",
                                      "1.5", "99999999999999999999k"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t value;
        assert_false(units_parse_count(bad[i], UINT64_MAX, &value));
    }
    uint64_t value;
    assert_true(units_parse_count("1k", 1000, &value));
    assert_false(units_parse_count("1001", 1000, &value));
    assert_false(units_parse_count("2k", 1000, &value));
}

TEST(test_bytes)
{
    uint64_t value;
    assert_true(units_parse_bytes("64K", UINT64_MAX, &value));
    assert_int_equal(value, 65536);
    assert_true(units_parse_bytes("2MiB", UINT64_MAX, &value));
    assert_int_equal(value, 2097152);
    assert_false(units_parse_bytes("2MB", UINT64_MAX, &value));
    static const struct {
        const char *suffix;
        uint64_t factor;
    } suffixes[] = {{"", 1},        {"k", 1 << 10},  {"K", 1 << 10},   {"KiB", 1 << 10},
                    {"m", 1 << 20}, {"M", 1 << 20},  {"MiB", 1 << 20}, {"g", 1 << 30},
                    {"G", 1 << 30}, {"GiB", 1 << 30}};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        char text[16];
        snprintf(text, sizeof text, "3%s", suffixes[i].suffix);
        assert_true(units_parse_bytes(text, UINT64_MAX, &value));
        assert_int_equal(value, 3 * suffixes[i].factor);
    }
}

TEST(test_durations)
{
    static const struct {
        const char *text;
        int64_t value_ns;
    } good[] = {{"3", 3 * MONO_NS_PER_S},
                {"0", 0},
                {"0.0m", 0},
                {"1.5s", 3 * MONO_NS_PER_S / 2},
                {"200ms", 200 * MONO_NS_PER_MS},
                {"2m", 120 * MONO_NS_PER_S},
                {"1h", 3600 * MONO_NS_PER_S}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t value = 0;
        assert_true(units_parse_duration(good[i].text, INT64_MAX, &value));
        assert_int_equal(value, good[i].value_ns);
    }
    static const char *const bad[] = {"",    "-1",   "1d", "1e3",  "0x10", "nan",
                                      "inf", "1..2", "s",  "0nim", "0..0", "0.0000000001"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t value;
        assert_false(units_parse_duration(bad[i], INT64_MAX, &value));
    }
    int64_t value;
    assert_false(units_parse_duration("11", 10 * MONO_NS_PER_S, &value));
    /* as a double this is 2^63 ns, one more than the largest duration */
    assert_false(units_parse_duration("9223372036.854775", INT64_MAX, &value));
}

TEST(test_formats)
{
    char text[UNITS_TEXT_BYTES];
    assert_string_equal(units_format_count(0, text), "0");
    assert_string_equal(units_format_count(999, text), "999");
    assert_string_equal(units_format_count(1000, text), "1,000");
    assert_string_equal(units_format_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
    assert_string_equal(units_format_ns(870, text), "870 ns");
    assert_string_equal(units_format_ns(1234567, text), "1.23 ms");
    assert_string_equal(units_format_ns(999600, text), "1.00 ms");
    assert_string_equal(units_format_ns(INT64_C(45600000000), text), "45.6 s");
    assert_string_equal(units_format_bytes(1023, text), "1023 B");
    assert_string_equal(units_format_bytes(12902400, text), "12.3 MiB");
    assert_string_equal(units_format_bytes(UINT64_C(9999) << 30, text), "9999 GiB");
    assert_string_equal(units_format_bytes(UINT64_C(1) << 50, text), "1024 TiB");
    assert_string_equal(units_format_seconds(59, text), "59s");
    assert_string_equal(units_format_seconds(245, text), "4m05s");
    assert_string_equal(units_format_seconds(7380, text), "2h03m");
}
