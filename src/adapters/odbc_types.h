/* Which values a column takes, by the name of its type or the number that ODBC has for it. */
#ifndef ADAPTERS_ODBC_TYPES_H
#define ADAPTERS_ODBC_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "append/row.h"

/* What a catalogue says about a type. */
struct odbc_type {
    char name[ROW_TYPE_NAME_BYTES]; /* may carry its numbers: decimal(10,2) */
    int sql_type;                   /* SQL_... of ODBC; 0: not known */
    int64_t size;                   /* characters, bytes or digits; 0: not known */
    int64_t digits;                 /* behind the point or the second; -1: not known */
};

/* Sets type, size, precision, scale and native_type of a column. */
void odbc_set_type(struct column *column, const struct odbc_type *type);

#endif
