/* The adapters of this build: one visible const table. Beside them, those of users, which are
 * shared libraries: NAME.so in a folder that the user names, or in "adapters" among the program's
 * modules. Main thread. */
#ifndef ADAPTERS_REGISTRY_H
#define ADAPTERS_REGISTRY_H

#include "append/adapter.h"

/* NULL-terminated; adapter_NAME of each line of CMakeLists.txt that is built, in their order. */
extern const struct adapter *const registry_adapters[];

/* By name, or by a name that is commonly used for it ("postgres"). NULL: no such adapter. */
const struct adapter *registry_find(const char *name);

/* The same, and where there is none the adapter in NAME.so, looked for in `folder`, which may be
 * NULL, then among the modules. OK: *adapter is NULL where there is no such file. FATAL with
 * ERROR_USAGE: the file is there, and cannot be used. Loaded libraries stay until the program ends.
 */
enum status registry_load(const char *name, const char *folder, const struct adapter **adapter,
                          struct error *error);

#endif
