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
        case_add(&(const struct CMUnitTest){#name, name, before, after, NULL});                    \
    }                                                                                              \
    static void name(__attribute__((unused)) void **state)

#define TEST(name) TEST_BETWEEN(name, NULL, NULL)

/* Adds a copy of the test to the list of tests. */
void case_add(const struct CMUnitTest *test);

/* Are called before the first test of a file and after its last test. The file fails unless both
 * return 0. A file without these functions uses those of main.c, which do nothing. */
int group_set_up(void **state);
int group_tear_down(void **state);

#endif
