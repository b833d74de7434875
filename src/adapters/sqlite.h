/* The SQLite adapter: one prepared INSERT in one transaction for each append, in WAL mode. */
#ifndef ADAPTERS_SQLITE_H
#define ADAPTERS_SQLITE_H

#include "append/adapter.h"

extern const struct adapter adapter_sqlite;

#endif
