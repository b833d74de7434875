/* The PostgreSQL adapter: COPY in binary format, or multi-row INSERT, through libpq. */
#ifndef ADAPTERS_POSTGRESQL_H
#define ADAPTERS_POSTGRESQL_H

#include "append/adapter.h"

extern const struct adapter adapter_postgresql;

#endif
