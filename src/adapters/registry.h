/* The adapters of this build: one visible const table. */
#ifndef ADAPTERS_REGISTRY_H
#define ADAPTERS_REGISTRY_H

#include "append/adapter.h"

/* NULL-terminated; adapter_NAME of each line of CMakeLists.txt that is built, in their order. */
extern const struct adapter *const registry_adapters[];

/* By name, or by a name that is commonly used for it ("postgres"). NULL: no such adapter. */
const struct adapter *registry_find(const char *name);

#endif
