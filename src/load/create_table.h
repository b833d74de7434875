/*
 * The text of the statements that create a script's table and its indexes, in the dialect of the
 * database. The caller has checked that the database supports all features of the table.
 */
#ifndef LOAD_CREATE_TABLE_H
#define LOAD_CREATE_TABLE_H

#include <stddef.h>

#include "append/adapter.h"
#include "base/text.h"
#include "plan/plan.h"

enum {
    CREATE_TABLE_TYPE_BYTES = 160 /* room for a type from connection_info.declare_column */
};

/* Adds CREATE TABLE for a dataset of the plan's script to `sql`. connection->declare_column must
 * support every column. */
void create_table_write(struct buffer *sql, const struct plan *plan,
                        const struct connection_info *connection,
                        const struct script_dataset *dataset);

/* Adds CREATE INDEX to `sql`. `columns` is a list of columns such as "a, b". The index is named
 * after the table and the columns. */
void create_table_write_index(struct buffer *sql, const struct connection_info *connection,
                              const struct script_dataset *dataset, const char *columns);

/* Copies the first column of an index's list of columns, such as "a, b", to `name`. Returns the
 * rest of the list. */
const char *create_table_take_column(const char *columns, char *name, size_t size);

#endif
