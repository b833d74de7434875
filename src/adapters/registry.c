#include "adapters/registry.h"

#include <string.h>

#include "adapters/null.h"
#if APPEND_HAVE_MACHBASE
#include "adapters/machbase.h"
#endif
#if APPEND_HAVE_MARIADB
#include "adapters/mariadb.h"
#endif
#if APPEND_HAVE_ODBC
#include "adapters/odbc.h"
#endif
#if APPEND_HAVE_POSTGRESQL
#include "adapters/postgresql.h"
#endif
#if APPEND_HAVE_SQLITE
#include "adapters/sqlite.h"
#endif

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

enum status registry_check(const struct adapter *adapter, struct error *error)
{
    const struct {
        const char *name;
        bool is_there;
    } required[] = {
        {"open", adapter->open != NULL},
        {"close", adapter->close != NULL},
        {"execute", adapter->execute != NULL},
        {"describe", adapter->describe != NULL},
        {"append_open", adapter->append_open != NULL},
        {"append_rows", adapter->append_rows != NULL},
        {"append_close", adapter->append_close != NULL},
        {"count", adapter->count != NULL},
        {"unload", (adapter->load == NULL) == (adapter->unload == NULL)},
    };
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
        if (!required[i].is_there) {
            error_set(error, ERROR_UNSUPPORTED, 0, NULL, "adapter %s has no operation '%s'",
                      adapter->name, required[i].name);
            return STATUS_FATAL;
        }
    }
    return STATUS_OK;
}
