/* The adapters of this build, in one const table, and adapters of users. A user's adapter is a
 * shared library NAME.so in a folder that the user specifies, or in the folder "adapters" of the
 * program's modules. Used only by the main thread. */
#ifndef ADAPTERS_REGISTRY_H
#define ADAPTERS_REGISTRY_H

#include "append/adapter.h"

/* The built-in adapters, NULL-terminated, in the order of their lines in CMakeLists.txt. The
 * adapter NAME is the variable adapter_NAME. */
extern const struct adapter *const registry_adapters[];

/* Finds a built-in adapter by its name or a common alias ("postgres"). Returns NULL if no built-in
 * adapter has this name. */
const struct adapter *registry_find(const char *name);

/* Finds the built-in adapter `name`. If no built-in adapter has this name, loads NAME.so from
 * `folder`, which may be NULL, or from the folders of modules. On OK, *adapter is the adapter, or
 * NULL if the file does not exist either. Returns FATAL with ERROR_USAGE if the file exists but
 * cannot be used. A loaded library stays until the program ends. */
enum status registry_load(const char *name, const char *folder, const struct adapter **adapter,
                          struct error *error);

#endif
