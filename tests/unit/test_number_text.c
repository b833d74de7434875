#include <string.h>

#include "unit/unit.h"

#include "base/number_text.h"

static void test_numbers(void **state)
{
    (void)state;
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
        assert_int_equal(number_text_parse(cases[i].text, strlen(cases[i].text), &number),
                         cases[i].is_number);
        assert_true(number == cases[i].number);
    }
    int64_t number = 0;
    assert_true(number_text_parse("123456", 3, &number));
    assert_int_equal(number, 123);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
