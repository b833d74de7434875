#include "unit/unit.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TESTS_MAX = 256
};

static struct CMUnitTest tests[TESTS_MAX];
static size_t test_count;

/* The running test, and the name of its current case. */
static const struct CMUnitTest *running;
static bool is_at_case;
static char case_name[200];

static int begin_test(void **state)
{
    running = *state;
    *state = NULL;
    return running->setup_func == NULL ? 0 : running->setup_func(state);
}

static int end_test(void **state)
{
    if (is_at_case) {
        print_error("%s failed at the case '%s'\n", running->name, case_name);
    }
    case_end();
    return running->teardown_func == NULL ? 0 : running->teardown_func(state);
}

void test_add(const struct CMUnitTest *test)
{
    if (test_count == TESTS_MAX) {
        abort();
    }
    tests[test_count++] = *test;
}

bool case_begin(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(case_name, sizeof case_name, format, arguments);
    va_end(arguments);
    for (char *byte = case_name; *byte != '\0'; byte++) {
        *byte = iscntrl((unsigned char)*byte) ? ' ' : *byte;
    }
    is_at_case = true;
    return true;
}

bool case_end(void)
{
    is_at_case = false;
    return false;
}

void expect_part(const char *text, const char *part, const char *file, int line)
{
    if (strstr(text, part) == NULL) {
        print_error("'%s' is not in:\n", part);
        print_error("%s", text); /* cmocka cuts a long text */
        print_error("\n");
        _fail(file, line);
    }
}

__attribute__((weak)) int group_set_up(void **state)
{
    (void)state;
    return 0;
}

__attribute__((weak)) int group_tear_down(void **state)
{
    (void)state;
    return 0;
}

/* Returns the number of open files of this process. */
static size_t count_files(void)
{
    size_t count = 0;
    DIR *files = opendir("/proc/self/fd");
    while (files != NULL && readdir(files) != NULL) {
        count++;
    }
    if (files != NULL) {
        closedir(files);
    }
    return count;
}

int main(void)
{
    const size_t files = count_files();
    struct CMUnitTest between[TESTS_MAX];
    for (size_t i = 0; i < test_count; i++) {
        between[i] =
            (struct CMUnitTest){tests[i].name, tests[i].test_func, begin_test, end_test, &tests[i]};
    }
    const int failed =
        _cmocka_run_group_tests("tests", between, test_count, group_set_up, group_tear_down);
    if (count_files() != files) {
        print_error("%zu files were open before the tests, %zu after them\n", files, count_files());
        return 1;
    }
    return failed;
}
