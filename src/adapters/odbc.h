/* The ODBC adapter, and the connection strings that it reads and writes: `Key=value;Key={value;
 * with }} in it};…`. Keys are case-insensitive. */
#ifndef ADAPTERS_ODBC_H
#define ADAPTERS_ODBC_H

#include <stdbool.h>
#include <stddef.h>

#include "append/adapter.h"
#include "base/text.h"

extern const struct adapter adapter_odbc;

/* Copies the value of the first of `keys` (NULL-terminated) that the string contains, without
 * braces, truncated to `size`. Returns false if the string contains none of the keys. */
bool odbc_string_find(const char *text, const char *const *keys, char *value, size_t size);

/* Returns a description of the first fault in a connection string, or NULL if no fault was
 * found. */
const char *odbc_string_fault(const char *text);

/* Writes the target's connection string. A user, password or database of the target replaces the
 * value in the string. A target without '=' is the name of a data source. */
void odbc_string_build(struct buffer *text, const struct target *target);

#endif
