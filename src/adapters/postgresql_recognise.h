/* What PostgreSQL says to strangers. */
#ifndef ADAPTERS_POSTGRESQL_RECOGNISE_H
#define ADAPTERS_POSTGRESQL_RECOGNISE_H

#include <stddef.h>

#include "base/probe.h"

/* Whether these bytes are PostgreSQL's answer to a question for TLS. */
enum probe_answer postgresql_judge(const unsigned char *answer, size_t length);

#endif
