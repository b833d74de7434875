/* Text from others made safe: encodings, escape sequences, widths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/clean.h"

static void test_clean(void **state)
{
    (void)state;
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
        clean_line(line, sizeof line, cases[i].text, cases[i].columns);
        assert_string_equal(line, cases[i].line);
        assert_true(clean_width(line) <= cases[i].columns);
    }
    char small[6];
    clean_line(small, sizeof small, "0123\xc3\xa9", 80);
    assert_string_equal(small, "0123"); /* no half character */
}

static void test_utf8(void **state)
{
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer);
    clean_add_utf8(&buffer, "caf\xc3\xa9 \xe9 \x1b");
    assert_string_equal(buffer_text(&buffer), "caf\xc3\xa9 \xef\xbf\xbd \x1b");
    buffer_fini(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
