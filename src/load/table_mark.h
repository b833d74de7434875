/*
 * The mark that append leaves on a table when it makes it, and by which it knows the table again.
 *
 * append drops a table, or deletes rows of a load that was cut off, only where the mark says that
 * append made the table, and nothing of others hangs on it: a table that refers to it, a part that
 * is attached to it, a trigger. A name, a number of rows or a range of keys says nothing about
 * that. The mark is a comment on the table (struct table_mark_words), so it goes when the table
 * goes; it names the table that it was made for, with its database and, in PostgreSQL, its number,
 * so a copy or a renamed table has no valid mark. A table whose mark cannot be read or written
 * counts as somebody else's; so does one whose comment was changed by hand.
 *
 * The text: "made by append: STATE, WHAT, PLACE-ROWS", where STATE is "loading" or "loaded", WHAT
 * says in words what the table was made for, PLACE is a hash of where the table is and of the words
 * before the mark, and ROWS is a hash of all that decides its rows.
 */
#ifndef LOAD_TABLE_MARK_H
#define LOAD_TABLE_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"
#include "plan/plan.h"

enum {
    TABLE_MARK_BYTES = 512,
    TABLE_MARK_WHY_BYTES = 120,
};

struct table_mark {
    bool is_there; /* append made the table, and nothing of others hangs on it; else the other flags
                      but is_made are false */
    bool is_made;  /* append made the table */
    char why[TABLE_MARK_WHY_BYTES]; /* "orders refers to it": why it is not there though it is made
                                     */
    bool is_loading;                /* its load has begun and has not ended */
    bool has_rows_of;               /* what decides the rows is the same as for the mark read for */
    char other[TABLE_MARK_BYTES];   /* the part of the comment that is not the mark */
    char text[TABLE_MARK_BYTES];    /* the mark; "" without one */
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

/* Writes the mark on a table that append has just made (`is_new`), or replaces append's own;
 * another table that has taken its name gets none. `column` is the table's first one. A database
 * that has no place for a mark keeps none, and so does a table whose comment cannot be written:
 * that is no error. Fails only when the connection does. */
enum status table_mark_write(const struct table_mark_place *place, const char *column, bool is_new,
                             bool is_loading, struct error *error);

/* Whether --recreate may drop the table: append made it, or the user named it. */
bool table_mark_allows_drop(const struct table_mark *mark, const struct plan *plan,
                            const char *table_name);

/* Records that a table which append did not make, or on which something of others hangs, is left as
 * it is: its rows and columns, and what the user can do. `rows` < 0: not counted. FATAL with
 * ERROR_USAGE. */
enum status table_mark_refuse(const struct table_mark *mark, const struct table *table,
                              const char *name, int64_t rows, const char *remedy,
                              struct error *error);

#endif
