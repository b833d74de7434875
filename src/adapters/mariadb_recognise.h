/* What MariaDB, MySQL and their kin say to strangers. */
#ifndef ADAPTERS_MARIADB_RECOGNISE_H
#define ADAPTERS_MARIADB_RECOGNISE_H

#include <stddef.h>

#include "base/probe.h"

/* Whether these bytes are the beginning of their greeting, or of their refusal to greet. */
enum probe_answer mariadb_judge(const unsigned char *bytes, size_t length);

#endif
