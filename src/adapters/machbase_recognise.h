/* What Machbase says to strangers. */
#ifndef ADAPTERS_MACHBASE_RECOGNISE_H
#define ADAPTERS_MACHBASE_RECOGNISE_H

#include <stddef.h>

#include "base/probe.h"

/* Whether these bytes are Machbase's answer to its clients' first word. */
enum probe_answer machbase_judge(const unsigned char *bytes, size_t length);

#endif
