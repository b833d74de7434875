#include "adapters/registry.h"

#include <string.h>

#include "adapters/http.h" /* the adapters of APPEND_HAVE_HTTP */

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
#if APPEND_HAVE_HTTP
    &adapter_clickhouse,  &adapter_influxdb,
    &adapter_singlestore, &adapter_arangodb,
#endif
    &adapter_null,        NULL,
};

const struct adapter *registry_find(const char *name)
{
    static const char *const aliases[][2] = {{"postgres", "postgresql"},
                                             {"pg", "postgresql"},
                                             {"sqlite3", "sqlite"},
                                             {"mysql", "mariadb"},
                                             {"maria", "mariadb"}};
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        name = strcmp(aliases[i][0], name) == 0 ? aliases[i][1] : name;
    }
    const struct adapter *const *found = registry_adapters;
    while (*found != NULL && strcmp((*found)->name, name) != 0) {
        found++;
    }
    return *found;
}
