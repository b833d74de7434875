/* The ODBC adapter, and the connection strings that it reads and writes:
 * `Key=value;Key={value; with }} in it};…`, keys without regard to case. */
#ifndef ADAPTERS_ODBC_H
#define ADAPTERS_ODBC_H

#include <stdbool.h>
#include <stddef.h>

#include "append/adapter.h"
#include "base/text.h"

extern const struct adapter adapter_odbc;

/* Copies the value of the first of `keys` (NULL-terminated) that is there, without braces, cut to
 * `size`. */
bool odbc_string_find(const char *text, const char *const *keys, char *value, size_t size);

/* What is wrong with a text as a connection string; NULL: nothing that can be seen. */
const char *odbc_string_fault(const char *text);

/* Writes the target's connection string: its own user, password and database replace those of the
 * text. A text without '=' is the name of a data source. */
void odbc_string_build(struct buffer *text, const struct target *target);

#endif
