/* The adapters of this build, in one const table; and users' adapters, which are shared libraries
 * NAME.so in a folder that the user names or in the folder "adapters" among the program's modules.
 * Main thread. */
#ifndef ADAPTERS_REGISTRY_H
#define ADAPTERS_REGISTRY_H

#include "append/adapter.h"

/* NULL-terminated; adapter_NAME for each line of CMakeLists.txt that is built, in their order. */
extern const struct adapter *const registry_adapters[];

/* Finds a built-in adapter by its name or a common alias ("postgres"). NULL: no such adapter. */
const struct adapter *registry_find(const char *name);

/* Finds the built-in adapter `name`; if there is no such adapter, loads NAME.so from `folder`,
 * which may be NULL, or from the folders of modules. OK: *adapter is NULL if there is no such
 * file. FATAL with ERROR_USAGE: the file cannot be used. A loaded library stays until the
 * program ends. */
enum status registry_load(const char *name, const char *folder, const struct adapter **adapter,
                          struct error *error);

#endif
