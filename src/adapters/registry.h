/* The adapters of this build: one visible const table. */
#ifndef ADAPTERS_REGISTRY_H
#define ADAPTERS_REGISTRY_H

#include "append/adapter.h"

/* Each is defined by its file, if this build has it. */
extern const struct adapter adapter_postgresql, adapter_mariadb, adapter_machbase, adapter_sqlite,
    adapter_odbc, adapter_null;

/* NULL-terminated. */
extern const struct adapter *const registry_adapters[];

/* By name, or by a name that is commonly used for it ("postgres"). NULL: no such adapter. */
const struct adapter *registry_find(const char *name);

#endif
