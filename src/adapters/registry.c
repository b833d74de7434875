#include "adapters/registry.h"

#include <string.h>

static bool is_called(const struct adapter *adapter, const char *name)
{
    const char *const *alias = adapter->aliases;
    while (alias != NULL && *alias != NULL && strcmp(*alias, name) != 0) {
        alias++;
    }
    return strcmp(adapter->name, name) == 0 || (alias != NULL && *alias != NULL);
}

const struct adapter *registry_find(const char *name)
{
    const struct adapter *const *found = registry_adapters;
    while (*found != NULL && !is_called(*found, name)) {
        found++;
    }
    return *found;
}
