/*
 * The stand-in's tables, in memory. Every function may be called by any thread.
 *
 * Rows are kept as they came over the wire, in chunks that are never moved. A table that is dropped
 * lives on until its last holder lets go of it.
 */
#ifndef MACHBASE_STANDIN_STORE_H
#define MACHBASE_STANDIN_STORE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "row.h"

struct store_chunk {
    struct store_chunk *next;
    size_t used;
    size_t capacity;
    uint8_t bytes[];
};

struct store_table {
    struct store_table *next;
    char name[ROW_COLUMN_NAME_BYTES]; /* upper case */
    unsigned id;
    unsigned holders; /* under the store's lock, as are the two above */

    pthread_mutex_t lock; /* guards the next three */
    uint64_t rows;
    struct store_chunk *first;
    struct store_chunk *last;

    size_t column_count; /* the arrival time included, which is the first */
    bool keeps_all;
    bool *keeps; /* of each column: are its values kept? the others read back as NULL */
    struct row_column *columns;
};

struct store {
    pthread_mutex_t lock;
    struct store_table *first;
    unsigned tables_made;
};

/* Where a reader of a table is. */
struct store_cursor {
    const struct store_chunk *chunk;
    size_t offset;
};

void store_init(struct store *store);
void store_fini(struct store *store);

/* A table of its own that is in no store, with the columns given and nothing in it; NULL = memory.
 * store_release frees it. */
struct store_table *store_make_table(const char *name, const struct row_column *columns,
                                     size_t column_count);

/* Puts a table under its name, the caller's hold on it becomes the store's. False = there is one
 * of the name; the caller keeps the table. */
bool store_add(struct store *store, struct store_table *table);

/* The table of the name, held; NULL = none. */
struct store_table *store_find(struct store *store, const char *name);
void store_release(struct store *store, struct store_table *table);

/* Takes a table out of the store. False = there is none of the name. */
bool store_drop(struct store *store, const char *name);

/* Adds `count` rows, each a u32 with its length and its bytes. False = no memory, nothing added. */
bool store_append(struct store_table *table, const struct buffer *rows, uint64_t count);

/* Adds one row of values. */
bool store_add_row(struct store_table *table, const struct row_value *values);

/* Rows of the table now. */
uint64_t store_count(struct store_table *table);

/* The next row of the table into `values` (column_count of them), which point into the table.
 * Rows that are added while the cursor moves are seen. False at the end. */
bool store_next(struct store_table *table, struct store_cursor *cursor, struct row_value *values);

#endif
