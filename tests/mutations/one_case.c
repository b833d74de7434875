/* Preloaded into cmocka's tests by mutate.py: runs only the case that MUTATE_CASE names. Programs
 * that a test starts have no cmocka. */
#include <stdlib.h>

void cmocka_set_test_filter(const char *pattern) __attribute__((weak));

__attribute__((constructor)) static void choose(void)
{
    const char *name = getenv("MUTATE_CASE");
    if (cmocka_set_test_filter != NULL && name != NULL) {
        cmocka_set_test_filter(name);
    }
}
