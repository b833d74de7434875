/*
 * The values of a batch as ODBC reads them: an array a column, with an array of lengths beside it
 * where there are texts or NULLs. Numbers stay where the batch has them.
 */
#ifndef ADAPTERS_ODBC_BIND_H
#define ADAPTERS_ODBC_BIND_H

#include <stdbool.h>
#include <stddef.h>

#include <sql.h>
#include <sqlext.h>

#include "append/row.h"

/* What struct column.native_type holds: the SQL type of the driver and the digits behind the
 * second. */
uint32_t odbc_native_type(int sql_type, int fraction_digits);
int odbc_fraction_digits(const struct column *column);

/* Marks a column whose dates and timestamps are sent as text: SQLite's driver would cut them to
 * milliseconds, and MariaDB's (3.1) loses 40 bytes of memory for each in an array. */
void odbc_send_text(struct column *column);

/* Marks a column of addresses or UUIDs that are sent as their bytes, and not as text. */
void odbc_send_bytes(struct column *column);

struct odbc_column {
    SQLSMALLINT c_type;
    SQLSMALLINT sql_type;
    SQLULEN size;
    SQLSMALLINT digits;
    size_t width;    /* from one value to the next */
    char *values;    /* of row 0 */
    SQLLEN *lengths; /* of row 0; NULL: no row is NULL, and the type says the length */
};

struct odbc_columns {
    size_t count;
    struct odbc_column *columns; /* only those that are written */
    char *memory;                /* owned: what had to be copied */
};

/* Lays out the columns of a batch, which they borrow. False: no memory. */
bool odbc_columns_init(struct odbc_columns *columns, const struct batch *batch);
void odbc_columns_fini(struct odbc_columns *columns);

/* Binds row `row` of every column to the parameters that begin with `first`, counted from 1. */
bool odbc_columns_bind(const struct odbc_columns *columns, SQLHSTMT statement, size_t first,
                       size_t row);

#endif
