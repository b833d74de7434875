/* MariaDB, MySQL and their kin: see mariadb.c. */
#ifndef ADAPTERS_MARIADB_H
#define ADAPTERS_MARIADB_H

#include "append/adapter.h"

extern const struct adapter adapter_mariadb;

#endif
