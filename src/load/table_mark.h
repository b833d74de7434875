/*
 * The mark that append leaves on a table when it makes it, and by which it knows the table again.
 *
 * append drops a table, or deletes rows of a load that was cut off, only where the mark says that
 * append made the table. A name, a number of rows or a range of keys says nothing about that. The
 * mark is a comment on the table (struct table_mark_words), so it goes when the table goes; it
 * names the table that it was made for, so a copy or a renamed table has no valid mark. A table
 * whose mark cannot be read or written counts as somebody else's.
 *
 * The text: "made by append: STATE, WHAT, NAME-ROWS", where STATE is "loading" or "loaded", WHAT
 * says in words what the table was made for, NAME is a hash of the table's name, and ROWS is a
 * hash of all that decides its rows.
 */
#ifndef LOAD_TABLE_MARK_H
#define LOAD_TABLE_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"
#include "plan/plan.h"

enum {
    TABLE_MARK_BYTES = 512
};

struct table_mark {
    bool is_there;                /* append made the table; else the other flags are false */
    bool is_loading;              /* its load has begun and has not ended */
    bool has_rows_of;             /* what decides the rows is the same as for the mark read for */
    char other[TABLE_MARK_BYTES]; /* the part of the comment that is not the mark */
    char text[TABLE_MARK_BYTES];  /* the mark; "" without one */
};

/* Where a mark is read and written. */
struct table_mark_place {
    const struct adapter *adapter;
    struct adapter_conn *conn;
    const struct connection_info *connection;
    const char *table_name;
    const char *what; /* for people: "oltp tables=4"; characters that need quoting are left out */
    const char *rows; /* all that decides the rows; "" = nothing is loaded */
};

/* Reads the mark. Fails only when the connection does; a database that does not answer the
 * question has no mark. */
enum status table_mark_read(const struct table_mark_place *place, struct table_mark *mark,
                            struct error *error);

/* Writes the mark on a table that append has just made, or replaces append's own. `column` is the
 * table's first one. A database that has no place for a mark keeps none, and so does a table whose
 * comment cannot be written: that is no error. Fails only when the connection does. */
enum status table_mark_write(const struct table_mark_place *place, const char *column,
                             bool is_loading, struct error *error);

/* Whether --recreate may drop the table: append made it, or the user named it. */
bool table_mark_allows_drop(const struct table_mark *mark, const struct plan *plan,
                            const char *table_name);

/* Records that a table which append did not make is left as it is: its rows and columns, and what
 * the user can do. `rows` < 0: not counted. FATAL with ERROR_USAGE. */
enum status table_mark_refuse(const struct table *table, const char *name, int64_t rows,
                              const char *remedy, struct error *error);

#endif
