/* Preloaded into cmocka's tests by mutate.py: runs only the case that MUTATE_CASE names. The weak
 * symbol is NULL in programs that a test starts, which do not use cmocka. */
#include <stdlib.h>

void cmocka_set_test_filter(const char *pattern) __attribute__((weak));

__attribute__((constructor)) static void choose(void)
{
    const char *name = getenv("MUTATE_CASE");
    if (cmocka_set_test_filter != NULL && name != NULL) {
        cmocka_set_test_filter(name);
    }
}
