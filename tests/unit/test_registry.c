#include "unit/unit.h"

#include <string.h>

#include "adapters/registry.h"

/* Each adapter is found by its name and its aliases, which belong to no other adapter. */
TEST(test_names)
{
    size_t names = 0, null_adapters = 0;
    (void)state;
    for (const struct adapter *const *at = registry_adapters; *at != NULL; at++) {
        const struct adapter *adapter = *at;
        assert_ptr_equal(registry_find(adapter->name), adapter);
        null_adapters += strcmp(adapter->name, "null") == 0 ? 1 : 0;
        names++;
        for (size_t i = 0; adapter->aliases != NULL && adapter->aliases[i] != NULL; i++) {
            assert_ptr_equal(registry_find(adapter->aliases[i]), adapter);
            names++;
        }
    }
    assert_int_equal(null_adapters, 1);
    assert_true(names >= 1);
    assert_null(registry_find("no_such_database"));
    assert_null(registry_find(""));
}

/* The names that users type are found, if the adapter is built. */
TEST(test_common_names)
{
    static const char *const names[][2] = {{"postgres", "postgresql"},
                                           {"pg", "postgresql"},
                                           {"sqlite3", "sqlite"},
                                           {"mysql", "mariadb"},
                                           {"maria", "mariadb"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct adapter *adapter = registry_find(names[i][1]);
        assert_ptr_equal(registry_find(names[i][0]), adapter);
    }
}
