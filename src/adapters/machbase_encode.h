/* Values of columns as the client library takes them. Pure functions; any thread. */
#ifndef ADAPTERS_MACHBASE_ENCODE_H
#define ADAPTERS_MACHBASE_ENCODE_H

#include <stdbool.h>
#include <stddef.h>

#include "adapters/machbase_library.h"
#include "append/row.h"

/* Sets the type, the size and the name of the type of a column; `type` as SQLDescribeCol has it. */
void machbase_set_type(struct column *column, int type, unsigned long size);

/* Makes *value the NULL of the column's type. */
void machbase_encode_null(const struct column *column, union machbase_value *value);

/* Makes *value the row's value; texts and bytes are borrowed. A value that is the type's own mark
 * for NULL is NULL, and so is an empty text. False: the library would store another one than this.
 */
bool machbase_encode(const struct column *column, union column_values values, size_t row,
                     union machbase_value *value);

#endif
