/*
 * The mark that this program leaves on a table that it creates, to recognise the table later.
 *
 * This program drops a table that the user has not named, or continues an interrupted load of a
 * table, only under two conditions. The mark must show that this program created the table, and no
 * object that others created may depend on the table (a table that references it, an attached
 * partition, a trigger). The table's name, number of rows or range of keys would not prove this. A
 * failed load also drops tables without a mark, but only tables that it has just created. The mark
 * is a comment on the table (struct table_mark_statements), so it disappears with the table. The
 * mark identifies the table, the database and, in PostgreSQL, the table's number, so a copied or
 * renamed table has no valid mark. A table counts as made by others if its mark cannot be read or
 * written, or if a user has changed its comment.
 *
 * The text: "made by append: STATE, WHAT, PLACE-ROWS". STATE is "loading" or "loaded"; WHAT
 * describes for the user what the table was created for; PLACE is a hash of the table's place and
 * of the text before the mark in the comment; ROWS is a hash of everything that determines the
 * table's rows.
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
    bool is_valid; /* this program created the table, and no object that others created depends on
                      it; if false, is_loading and has_same_rows are also false */
    bool is_made;  /* this program created the table */
    char why[TABLE_MARK_WHY_BYTES]; /* reason why is_valid is false although is_made is true:
                                       "orders refers to it" */
    bool is_loading;                /* the load has begun and has not ended */
    bool has_same_rows; /* the mark was written with the same `rows` (see table_mark_place) */
    char other[TABLE_MARK_BYTES]; /* the text before the mark in the comment */
    bool is_cut;                  /* `other` is not the whole text, so the table gets no mark */
    char text[TABLE_MARK_BYTES];  /* the mark; "" if there is no mark */
};

/* The table whose mark is read or written. */
struct table_mark_place {
    const struct adapter *adapter;
    struct adapter_conn *conn;
    const struct connection_info *connection;
    const char *table_name;
    const char *what; /* text for the user in the mark, such as "oltp tables=4"; characters that
                         need quoting are left out */
    const char *rows; /* text with everything that determines the rows; "" = no rows are loaded */
};

/* Reads the mark. Fails only if the connection is lost. If the database does not answer the query,
 * the table counts as a table without a mark. */
enum status table_mark_read(const struct table_mark_place *place, struct table_mark *mark,
                            struct error *error);

/* Writes the mark on a table that this program has just created (is_new is true), or replaces this
 * program's mark. If is_new is false, a table without this program's mark
 * gets no mark, because another program may have made it.
 * `column` is the table's first column. A table also gets no mark if the database has no place for
 * a mark, if the user's text in the comment is too long, or if the comment cannot be written. This
 * is not an error. Fails only if the connection is lost. */
enum status table_mark_write(const struct table_mark_place *place, const char *column, bool is_new,
                             bool is_loading, struct error *error);

/* Returns whether --recreate may drop the table: this program created it, or the user named it. */
bool table_mark_allows_drop(const struct table_mark *mark, const struct plan *plan,
                            const char *table_name);

/* Sets *error to the message that the table stays unchanged, because this program did not create it
 * or because objects of others depend on it. The message has the table's number of rows, its
 * columns, and `remedy`, which says what the user can do. A negative `rows` means that the rows
 * were not counted. Returns FATAL with ERROR_USAGE. */
enum status table_mark_refuse(const struct table_mark *mark, const struct table *table,
                              const char *name, int64_t rows, const char *remedy,
                              struct error *error);

/* The same as table_mark_refuse. The remedy is "OPTION=NAME drops it anyway", with `option` and
 * `name`. */
enum status table_mark_refuse_drop(const struct table_mark *mark, const struct table *table,
                                   const char *name, int64_t rows, const char *option,
                                   struct error *error);

#endif
