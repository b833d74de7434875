/* The ODBC adapter: prepared INSERT with parameter arrays, through unixODBC and any driver. */
#ifndef ADAPTERS_ODBC_H
#define ADAPTERS_ODBC_H

#include "append/adapter.h"

extern const struct adapter adapter_odbc;

#endif
