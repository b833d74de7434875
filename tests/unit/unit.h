/*
 * The header that every cmocka test includes, with the includes in the order that cmocka requires.
 *
 * Tests register themselves: TEST(name) { ... } is a test, and the main function of main.c runs all
 * tests of a file, in the order of the file. In the body `state` is cmocka's; it need not be used.
 */
#ifndef UNIT_UNIT_H
#define UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A test with a function before and a function after it, NULL for none; the test fails unless they
 * return 0. */
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

/* Called before the first test of a file and after its last one; the file fails unless they return
 * 0. A file without its own functions uses those of main.c, which do nothing. */
int group_set_up(void **state);
int group_tear_down(void **state);

#endif
