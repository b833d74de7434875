#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit/unit.h"

#include "append/error.h"
#include "append/row.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/random.h"
#include "base/text.h"
#include "base/url.h"

TEST(test_first_error_wins)
{
    struct error error;
    error_clear(&error);
    assert_false(error_is_set(&error));
    error_set(&error, ERROR_LIMIT, 7, "53300", "too many %s", "sessions");
    error_set(&error, ERROR_DATA, 8, "22000", "later");
    assert_int_equal(error.kind, ERROR_LIMIT);
    assert_int_equal(error.native_code, 7);
    assert_string_equal(error.sqlstate, "53300");
    assert_string_equal(error.text, "too many sessions");
    error_set(NULL, ERROR_DATA, 0, NULL, "nowhere");
}

TEST(test_error_text_is_one_line)
{
    struct error error;
    error_clear(&error);
    error_set(&error, ERROR_SERVER, 0, NULL, "%s", "\nfirst\r\n\tsecond  \n");
    assert_string_equal(error.text, "first second");
    /* characters that control a terminal or change the direction of text are replaced */
    error_clear(&error);
    error_set(&error, ERROR_SERVER, 0, NULL, "%s",
              "a\x1b]0;x\x07"
              "b\x7f"
              "c\xc2\x9b"
              "d\xe2\x80\xae"
              "e\xe2\x81\xa6"
              "f \xc3\xa4 \xe2\x82\xac");
    assert_string_equal(error.text, "a?]0;x?b?c?d?e?f \xc3\xa4 \xe2\x82\xac");
    char longest[2 * ERROR_TEXT_BYTES];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    error_clear(&error);
    error_set(&error, ERROR_SERVER, 0, "toolong", "%s", longest);
    assert_int_equal(strlen(error.text), ERROR_TEXT_BYTES - 1);
    assert_int_equal(strlen(error.sqlstate), ERROR_SQLSTATE_BYTES - 1);
}

TEST(test_error_kinds_have_names)
{
    for (int kind = ERROR_NONE; kind <= ERROR_SYSTEM; kind++) {
        assert_string_not_equal(error_kind_name((enum error_kind)kind), "unknown");
        for (int other = ERROR_NONE; other < kind; other++) {
            assert_string_not_equal(error_kind_name((enum error_kind)kind),
                                    error_kind_name((enum error_kind)other));
        }
    }
    assert_string_equal(error_kind_name((enum error_kind)1000), "unknown");
}

TEST(test_table_keeps_columns_in_order)
{
    struct table table;
    assert_int_equal(table_init(&table, "t", NULL), STATUS_OK);
    for (int i = 0; i < 3; i++) {
        const struct column column = {.name = {(char)('a' + i)}, .type = COLUMN_INT32};
        assert_int_equal(table_add_column(&table, &column, NULL), STATUS_OK);
    }
    assert_int_equal(table.column_count, 3);
    assert_string_equal(table.columns[2].name, "c");
    table_fini(&table);
    table_fini(&table);
    table_fini(NULL);
}

TEST(test_table_has_limits)
{
    struct table table;
    struct error error;
    char name[ROW_NAME_BYTES + 1];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    error_clear(&error);
    assert_int_equal(table_init(&table, name, &error), STATUS_FATAL);
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_int_equal(table_init(&table, "", NULL), STATUS_FATAL);

    assert_int_equal(table_init(&table, "t", NULL), STATUS_OK);
    const struct column column = {.name = "c", .type = COLUMN_INT32};
    for (int i = 0; i < ROW_COLUMNS_MAX; i++) {
        assert_int_equal(table_add_column(&table, &column, NULL), STATUS_OK);
    }
    error_clear(&error);
    assert_int_equal(table_add_column(&table, &column, &error), STATUS_FATAL);
    assert_int_equal(error.kind, ERROR_UNSUPPORTED);
    table_fini(&table);
}

TEST(test_buffer_grows)
{
    struct buffer buffer;
    buffer_init(&buffer);
    assert_string_equal(buffer_text(&buffer), "");
    for (int i = 0; i < 1000; i++) {
        buffer_add_format(&buffer, "%04d,", i);
    }
    assert_int_equal(buffer.length, 5000);
    assert_memory_equal(buffer_text(&buffer) + 4995, "0999,", 6);
    assert_false(buffer_failed(&buffer));
    buffer_clear(&buffer);
    buffer_add(&buffer, "", 0);
    assert_string_equal(buffer_text(&buffer), "");
    buffer_fini(&buffer);
}

TEST(test_identifiers_are_quoted)
{
    struct buffer buffer;
    buffer_init(&buffer);
    buffer_add_identifier(&buffer, "a\"b; drop", '"');
    assert_string_equal(buffer_text(&buffer), "\"a\"\"b; drop\"");
    buffer_fini(&buffer);
}

TEST(test_utc_format)
{
    char text[40];
    mono_format_utc(INT64_C(1704067199) * MONO_NS_PER_S + 5 * MONO_NS_PER_MS, text, sizeof text);
    assert_string_equal(text, "2023-12-31T23:59:59.005Z");
}

TEST(test_random_mix_known_answers)
{
    /* the first outputs of SplitMix64 with seed 0, as published with the generator */
    assert_true(random_mix(0) == UINT64_C(0xE220A8397B1DCDAF));
    assert_true(random_mix(RANDOM_STEP) == UINT64_C(0x6E789E6AA1B965F4));
    assert_true(random_mix(2 * RANDOM_STEP) == UINT64_C(0x06C45D188009454F));
}

TEST(test_local_addresses)
{
    assert_true(address_is_local("127.0.0.1"));
    assert_true(address_is_local("127.1.2.3"));
    assert_true(address_is_local("::1"));
    assert_true(address_is_local("/run/postgresql"));
    assert_true(address_is_local(""));
    assert_false(address_is_local("192.0.2.1"));
    assert_false(address_is_local("2001:db8::1"));
}

enum {
    STACK_BYTES = 4 * 1024 * 1024, /* ThreadSanitizer uses a part of it */
    TOUCHED_BYTES = 512 * 1024
};

static size_t resident_pages(void)
{
    static unsigned char pages[STACK_BYTES / 4096];
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    size_t count = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return SIZE_MAX;
    }
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    if (size > STACK_BYTES || mincore(low, size, pages) != 0) {
        return SIZE_MAX;
    }
    for (size_t i = 0; i < size / (size_t)sysconf(_SC_PAGESIZE); i++) {
        count += pages[i] & 1;
    }
    return count;
}

static __attribute__((noinline)) unsigned touch_deeply(void)
{
    volatile unsigned char deep[TOUCHED_BYTES];
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof deep; i += 1024) {
        deep[i] = 1;
        sum += deep[i];
    }
    return sum;
}

static void *give_back_stack(void *argument)
{
    size_t *pages = argument;
    volatile int kept = 77;
    touch_deeply();
    pages[0] = resident_pages();
    stack_release_unused();
    pages[1] = resident_pages();
    pages[2] = kept == 77 && touch_deeply() > 0;
    return NULL;
}

TEST(test_stack_is_given_back)
{
    size_t pages[3] = {0};
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    assert_int_equal(pthread_create(&thread, &attributes, give_back_stack, pages), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    assert_in_range(pages[0], TOUCHED_BYTES / (size_t)sysconf(_SC_PAGESIZE), STACK_BYTES / 4096);
    assert_true(pages[1] + TOUCHED_BYTES / (size_t)sysconf(_SC_PAGESIZE) <= pages[0] + 48);
    assert_int_equal(pages[2], 1);
}

TEST(test_nearest_name)
{
    static const char *const cases[][2] = {{"chekc", "check"},
                                           {"sweeep", "sweep"},
                                           {"comp", "compare"},
                                           {"fndmax", "find-max"},
                                           {"find_max", "find-max"},
                                           {"c", NULL},
                                           {"xxxxx", NULL},
                                           {"ab", NULL},
                                           {"checkcheckcheckcheckcheckcheckcheck", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nearest nearest = {.word = cases[i][0]};
        nearest_offer(&nearest, "check");
        nearest_offer(&nearest, "compare");
        nearest_offer(&nearest, "find-max");
        nearest_offer(&nearest, "sweep");
        nearest_offer(&nearest, "a-name-that-is-longer-than-any-that-there-is");
        assert_true((nearest.name == NULL) == (cases[i][1] == NULL));
        if (nearest.name != NULL) {
            assert_string_equal(nearest.name, cases[i][1]);
        }
    }
}

TEST(test_good_moments)
{
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

TEST(test_bad_moments)
{
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
            fail_msg("'%s' was accepted", bad[i]);
        }
    }
}

TEST(test_moments_round_trip)
{
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

TEST(test_integers)
{
    static const struct {
        const char *text;
        bool is_number;
        int64_t number;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"007", true, 7},
        {"-32768", true, -32768},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775809", false, 0},
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"+1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
        {"x", false, 0},
        {"\xc2\xb2", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t number = 0;
        assert_int_equal(text_parse_integer(cases[i].text, strlen(cases[i].text), &number),
                         cases[i].is_number);
        assert_true(number == cases[i].number);
    }
    int64_t number = 0;
    unsigned two[2] = {7, 8};
    assert_true(text_parse_two("254:16\n", ':', two));
    assert_int_equal(two[0], 254);
    assert_int_equal(two[1], 16);
    assert_true(text_parse_two("6.18.44-generic", '.', two));
    assert_int_equal(two[1], 18);
    assert_false(text_parse_two("6", '.', two));
    assert_false(text_parse_two("6.x", '.', two));
    assert_false(text_parse_two(".1", '.', two));
    assert_false(text_parse_two("99999999999.1", '.', two));
    assert_int_equal(two[0], 6);
    assert_true(text_parse_integer("123456", 3, &number));
    assert_int_equal(number, 123);
}

TEST(test_lines_are_clean)
{
    static const struct {
        const char *text;
        unsigned columns;
        const char *line;
    } cases[] = {
        {"plain", 80, "plain"},
        {"tab\tbell\a", 80, "tab?bell?"},
        {"\x1b]0;title\x07", 80, "?]0;title?"},
        {"c1 \xc2\x9b[2J", 80, "c1 ?[2J"},
        {"bidi \xe2\x80\xae", 80, "bidi ?"},
        {"overlong \xc0\xaf", 80, "overlong ??"},
        {"overlong \xe0\x80\xaf", 80, "overlong ???"},
        {"surrogate \xed\xa0\x80", 80, "surrogate ???"},
        {"cut \xe2\x82", 80, "cut ??"},
        {"0123456789", 10, "0123456789"},
        {"0123456789", 9, "012345..."},
        {"0123456789", 2, ".."},
        {"\xed\x95\x9c\xea\xb8\x80\xed\x95\x9c\xea\xb8\x80", 7, "\xed\x95\x9c\xea\xb8\x80..."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[64];
        text_clean_line(line, sizeof line, cases[i].text, cases[i].columns);
        assert_string_equal(line, cases[i].line);
        assert_true(text_width(line) <= cases[i].columns);
    }
    char small[6];
    text_clean_line(small, sizeof small, "0123\xc3\xa9", 80);
    assert_string_equal(small, "0123"); /* a character is not cut in half */
}

TEST(test_utf8)
{
    struct buffer buffer;
    buffer_init(&buffer);
    text_add_utf8(&buffer, "caf\xc3\xa9 \xe9 \x1b");
    assert_string_equal(buffer_text(&buffer), "caf\xc3\xa9 \xef\xbf\xbd \x1b");
    buffer_fini(&buffer);
}
