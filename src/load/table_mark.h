/*
 * The mark that append leaves on a table that it creates, to recognise the table later.
 *
 * append drops a table that the user has not named, or goes on with an interrupted load, only if
 * the mark shows that append created the table, and no object that others made depends on it (a
 * table that references it, an attached partition, a trigger). A name, a number of rows or a range
 * of keys would not prove that. Only a failed load also drops tables without a mark: the tables
 * that it has just created. The mark is a comment on the table (struct table_mark_statements), so
 * it disappears with the table. The mark names the table that it was made for, the database and, in
 * PostgreSQL, the table's number, so a copy of the table or a renamed table has no valid mark. A
 * table whose mark cannot be read or written, or whose comment a user has changed, counts as
 * somebody else's.
 *
 * The text: "made by append: STATE, WHAT, PLACE-ROWS". STATE is "loading" or "loaded"; WHAT says
 * for people what the table was created for; PLACE is a hash of the table's place and of the text
 * before the mark in the comment; ROWS is a hash of everything that decides the table's rows.
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
    bool is_valid; /* append created the table, and no object that others made depends on it; if
                      false, the other flags except is_made are also false */
    bool is_made;  /* append created the table */
    char why[TABLE_MARK_WHY_BYTES]; /* reason why is_valid is false though is_made is true: "orders
                                       refers to it" */
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
    const char *what; /* words for people in the mark: "oltp tables=4"; characters that need quoting
                         are left out */
    const char *rows; /* everything that decides the rows; "" = no rows are loaded */
};

/* Reads the mark. Fails only if the connection is lost. A database that does not answer the query
 * has no marks. */
enum status table_mark_read(const struct table_mark_place *place, struct table_mark *mark,
                            struct error *error);

/* Writes the mark on a table that append has just created (`is_new`), or replaces append's own
 * mark; another table that has taken the name gets no mark. `column` is the table's first column. A
 * table stays without a mark if the database has no place for a mark, if the comment has a long
 * text of the user's, or if the comment cannot be written. This is not an error. Fails only if the
 * connection is lost. */
enum status table_mark_write(const struct table_mark_place *place, const char *column, bool is_new,
                             bool is_loading, struct error *error);

/* Returns whether --recreate may drop the table: append created it, or the user named it. */
bool table_mark_allows_drop(const struct table_mark *mark, const struct plan *plan,
                            const char *table_name);

/* Sets *error: the table is left unchanged because append did not create it, or because objects of
 * others depend on it. The text has the table's rows and columns, and the remedy for the user.
 * `rows` < 0: the rows were not counted. Returns FATAL with ERROR_USAGE. */
enum status table_mark_refuse(const struct table_mark *mark, const struct table *table,
                              const char *name, int64_t rows, const char *remedy,
                              struct error *error);

/* The same as table_mark_refuse. The remedy is "OPTION=NAME drops it anyway", with `option` and
 * `name`. */
enum status table_mark_refuse_drop(const struct table_mark *mark, const struct table *table,
                                   const char *name, int64_t rows, const char *option,
                                   struct error *error);

#endif
