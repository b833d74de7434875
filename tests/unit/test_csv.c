/* The CSV writer: quoting, unknown values, and that header and rows cannot drift apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "unit/memory_stream.h"

#include "report/csv.h"

static void put_line(struct csv *csv, FILE *stream, bool is_header)
{
    csv_begin(csv, stream, is_header);
    csv_text(csv, "name", "db");
    csv_count(csv, "rows", UINT64_MAX);
    csv_decimal(csv, "rate_per_s", 12.345, 2);
    csv_count_if(csv, "lost", false, 7);
    csv_end(csv);
}

static void test_header_and_row(void **state)
{
    (void)state;
    struct memory memory;
    memory_open(&memory);
    struct csv csv;
    put_line(&csv, memory.stream, true);
    put_line(&csv, memory.stream, false);
    memory_expect(&memory, "name,rows,rate_per_s,lost\r\ndb,18446744073709551615,12.35,\r\n");
}

static void test_quoting(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *cell;
    } cases[] = {
        {"plain", "plain"},
        {"", ""},
        {"a b", "a b"},
        {"a,b", "\"a,b\""},
        {"say \"no\"", "\"say \"\"no\"\"\""},
        {"\"", "\"\"\"\""},
        {"two\nlines", "\"two\nlines\""},
        {"two\r\nlines", "\"two\r\nlines\""},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct memory memory;
        memory_open(&memory);
        struct csv csv;
        csv_begin(&csv, memory.stream, false);
        csv_text(&csv, "a", cases[i].text);
        csv_text(&csv, "b", "x");
        csv_end(&csv);
        char expected[64];
        snprintf(expected, sizeof expected, "%s,x\r\n", cases[i].cell);
        memory_expect(&memory, expected);
    }
}

static void test_unknown_is_empty(void **state)
{
    (void)state;
    struct memory memory;
    memory_open(&memory);
    struct csv csv;
    csv_begin(&csv, memory.stream, false);
    csv_text(&csv, "a", NULL);
    csv_empty(&csv, "b");
    csv_decimal(&csv, "c", (double)NAN, 3);
    csv_decimal(&csv, "d", (double)INFINITY, 3);
    csv_decimal_if(&csv, "e", false, 1, 3);
    csv_count_if(&csv, "f", false, 1);
    csv_decimal_if(&csv, "g", true, 0, 3);
    csv_count_if(&csv, "h", true, 0);
    csv_end(&csv);
    memory_expect(&memory, ",,,,,,0.000,0\r\n");
}

static void test_large_decimal(void **state)
{
    (void)state;
    struct memory memory;
    memory_open(&memory);
    struct csv csv;
    csv_begin(&csv, memory.stream, false);
    csv_decimal(&csv, "a", 1e308, 6);
    csv_end(&csv);
    assert_int_equal(fclose(memory.stream), 0);
    assert_int_equal(memory.size, 309 + 7 + 2);
    free(memory.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_and_row),
        cmocka_unit_test(test_quoting),
        cmocka_unit_test(test_unknown_is_empty),
        cmocka_unit_test(test_large_decimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
