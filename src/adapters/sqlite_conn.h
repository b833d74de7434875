/* What the files of the SQLite adapter share. A connection belongs to one session's thread. */
#ifndef ADAPTERS_SQLITE_CONN_H
#define ADAPTERS_SQLITE_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "append/adapter.h"

struct adapter_conn {
    sqlite3 *database;
    const struct table *insert_table; /* for which `insert` was prepared */
    sqlite3_stmt *insert;             /* owned */
    const struct table *count_table;
    sqlite3_stmt *count;    /* owned */
    uint64_t inserted_rows; /* of the open append */
};

/* sqlite_error.c: records what the last call on `database` came to (never SQLITE_OK). */
enum status sqlite_call_error(sqlite3 *database, int code, struct error *error);

/* sqlite_describe.c */
enum status sqlite_describe(struct adapter_conn *conn, const char *table_name, struct table *table,
                            struct error *error);

/* sqlite_bind.c: binds one value to a parameter of a statement; returns SQLite's code. Text and
 * bytes are borrowed until the statement is bound anew. */
int sqlite_bind(sqlite3_stmt *statement, int parameter, const struct column *column,
                const struct column_data *data, size_t row);

#endif
