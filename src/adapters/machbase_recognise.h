/* What Machbase says to strangers. */
#ifndef ADAPTERS_MACHBASE_RECOGNISE_H
#define ADAPTERS_MACHBASE_RECOGNISE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether these bytes are Machbase's answer to its clients' first word. */
bool machbase_is_answer(const unsigned char *answer, size_t length);

#endif
