/* What MariaDB, MySQL and their kin say to strangers. */
#ifndef ADAPTERS_MARIADB_RECOGNISE_H
#define ADAPTERS_MARIADB_RECOGNISE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether these bytes are the beginning of their greeting, or of their refusal to greet. */
bool mariadb_is_greeting(const unsigned char *bytes, size_t length);

#endif
