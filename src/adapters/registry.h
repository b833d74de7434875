/* The adapters of this build: one visible const table. */
#ifndef ADAPTERS_REGISTRY_H
#define ADAPTERS_REGISTRY_H

#include "append/adapter.h"

/* NULL-terminated. */
extern const struct adapter *const registry_adapters[];

/* By name, or by a name that is commonly used for it ("postgres"). NULL: no such adapter. */
const struct adapter *registry_find(const char *name);

/* Says whether an adapter has every required operation; the first missing one goes into *error. */
enum status registry_check(const struct adapter *adapter, struct error *error);

#endif
