/* What PostgreSQL says to strangers. */
#ifndef ADAPTERS_POSTGRESQL_RECOGNISE_H
#define ADAPTERS_POSTGRESQL_RECOGNISE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether these bytes are PostgreSQL's answer to a question for TLS. */
bool postgresql_is_answer(const unsigned char *answer, size_t length);

#endif
