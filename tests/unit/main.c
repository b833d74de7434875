#include "unit/unit.h"

#include <stdlib.h>

enum {
    CASES_MAX = 256
};

static struct CMUnitTest cases[CASES_MAX];
static size_t case_count;

void case_add(const struct CMUnitTest *test)
{
    if (case_count == CASES_MAX) {
        abort();
    }
    cases[case_count++] = *test;
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

int main(void)
{
    return _cmocka_run_group_tests("tests", cases, case_count, group_set_up, group_tear_down);
}
