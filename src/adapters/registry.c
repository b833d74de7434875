#include "adapters/registry.h"

#include <string.h>

const struct adapter *const registry_adapters[] = {
#if APPEND_HAVE_POSTGRESQL
    &adapter_postgresql,
#endif
#if APPEND_HAVE_MARIADB
    &adapter_mariadb,
#endif
#if APPEND_HAVE_MACHBASE
    &adapter_machbase,
#endif
#if APPEND_HAVE_SQLITE
    &adapter_sqlite,
#endif
#if APPEND_HAVE_ODBC
    &adapter_odbc,
#endif
    &adapter_null,       NULL,
};

const struct adapter *registry_find(const char *name)
{
    static const struct {
        const char *alias;
        const char *name;
    } aliases[] = {{"postgres", "postgresql"},
                   {"pg", "postgresql"},
                   {"sqlite3", "sqlite"},
                   {"mysql", "mariadb"},
                   {"maria", "mariadb"}};
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (strcmp(aliases[i].alias, name) == 0) {
            name = aliases[i].name;
        }
    }
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        if (strcmp((*a)->name, name) == 0) {
            return *a;
        }
    }
    return NULL;
}
