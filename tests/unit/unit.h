/*
 * The header that every cmocka test includes. It has the includes in the order that cmocka
 * requires.
 *
 * Tests register themselves: TEST(name) { ... } is a test, and the main function in main.c runs all
 * tests of a file, in the order of the file. `state` in the body is cmocka's state; a test need not
 * use it.
 */
#ifndef UNIT_UNIT_H
#define UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Declares a test with a function that runs before it and one that runs after it. Either may be
 * NULL. The test fails unless both return 0. */
#define TEST_BETWEEN(name, before, after)                                                          \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void name##_is_a_test(void)                                \
    {                                                                                              \
        test_add(&(const struct CMUnitTest){#name, name, before, after, NULL});                    \
    }                                                                                              \
    static void name(__attribute__((unused)) void **state)

#define TEST(name) TEST_BETWEEN(name, NULL, NULL)

/* Adds a copy of the test to the list of tests. */
void test_add(const struct CMUnitTest *test);

/* Begins a loop over a table of cases: `i` is an index of `cases`. The other arguments are a format
 * and its values, which name the case: a test that fails in the loop prints the name. Leave the
 * loop only at its end, and do not begin another such loop in it. */
#define EACH_CASE(i, cases, ...)                                                                   \
    for (size_t i = 0; i < sizeof(cases) / sizeof *(cases) ? case_begin(__VA_ARGS__) : case_end(); \
         i++)

bool case_begin(const char *format, ...) __attribute__((format(printf, 1, 2))); /* returns true */
bool case_end(void);                                                            /* returns false */

/* Fails unless `text` contains `part`. */
#define assert_part(text, part) expect_part(text, part, __FILE__, __LINE__)
void expect_part(const char *text, const char *part, const char *file, int line);

/* Run before the first test of a file and after its last test. The file fails unless both return 0.
 * A file without these functions uses the ones in main.c, which do nothing. */
int group_set_up(void **state);
int group_tear_down(void **state);

#endif
