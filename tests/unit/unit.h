/*
 * What every cmocka test includes, in the order that cmocka wants.
 *
 * Tests register themselves: TEST(name) { ... } is a test, and the main function of main.c runs all
 * tests of a file, in the order of the file. In the body `state` is cmocka's; it may stay unused.
 */
#ifndef UNIT_UNIT_H
#define UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* With a function before the test and one after it, NULL for none: they return 0, or the test
 * fails. */
#define TEST_BETWEEN(name, before, after)                                                          \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void name##_is_a_test(void)                                \
    {                                                                                              \
        case_add(&(const struct CMUnitTest){#name, name, before, after, NULL});                    \
    }                                                                                              \
    static void name(__attribute__((unused)) void **state)

#define TEST(name) TEST_BETWEEN(name, NULL, NULL)

/* Copies the test. */
void case_add(const struct CMUnitTest *test);

/* Before the first test of a file and after its last one: 0, or the file fails. A file that has
 * none of its own gets those of main.c, which do nothing. */
int group_set_up(void **state);
int group_tear_down(void **state);

#endif
