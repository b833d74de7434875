/*
 * The rows that the certify command writes.
 *
 * Each session numbers its transactions from 0. A transaction writes a single row, a batch or, if
 * the database has transactions, rows of two tables. The values of the rows are computed from the
 * seed, the session and the number of the transaction. So a row that is read back can be checked
 * although no copy of the row was kept. Every row has its identity, the number of rows that its
 * transaction writes to this table, a text, and a checksum of all these values.
 */
#ifndef CERTIFY_ROWS_H
#define CERTIFY_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "append/row.h"

enum {
    ROWS_TABLES = 2,
    /* greatest numbers of rows that a transaction writes to the first and to the second table */
    ROWS_FIRST_MAX = 100,
    ROWS_SECOND_MAX = 10,
    ROWS_TEXT_MAX = 80, /* greatest length of a text, in bytes */
};

/* The columns of both tables, in this order. */
enum {
    ROWS_SESSION,
    ROWS_NUMBER, /* the transaction's number */
    ROWS_PLACE,  /* number of the row among the rows of its transaction in this table, from 0 */
    ROWS_SIZE,   /* number of rows that the transaction writes to this table */
    ROWS_TEXT,
    ROWS_CHECKSUM,
    ROWS_COLUMNS
};

extern const char *const rows_table_names[ROWS_TABLES];

struct rows_id {
    unsigned table;
    unsigned session;
    uint64_t number;
    unsigned place, size;
};

/* Sets sizes[t] to the number of rows that a transaction writes to table t. If sizes[1] is 0, the
 * transaction is one batch of the first table. */
void rows_sizes(uint64_t seed, unsigned session, uint64_t number, bool has_transactions,
                unsigned sizes[ROWS_TABLES]);

/* Writes the row's text to `text`, without a '\0' at the end. Returns the length of the text in
 * bytes. */
unsigned rows_text(uint64_t seed, const struct rows_id *id, char text[ROWS_TEXT_MAX]);

int64_t rows_checksum(uint64_t seed, const struct rows_id *id, const char *text, unsigned length);

/* Initialises the description of table `number` (from 0). Fails when out of memory. The caller
 * calls table_fini, also after a failure. */
enum status rows_describe(struct table *table, unsigned number, struct error *error);

/* A batch of rows with memory for their values. */
struct rows_batch {
    struct batch batch;
    struct column_data columns[ROWS_COLUMNS];
    int32_t sessions[ROWS_FIRST_MAX];
    int64_t numbers[ROWS_FIRST_MAX];
    int32_t places[ROWS_FIRST_MAX];
    int32_t sizes[ROWS_FIRST_MAX];
    struct text_value texts[ROWS_FIRST_MAX];
    int64_t checksums[ROWS_FIRST_MAX];
    char bytes[ROWS_FIRST_MAX][ROWS_TEXT_MAX];
};

/* Fills *rows with the id->size rows, at most ROWS_FIRST_MAX, that the transaction `id` writes to a
 * table. id->place is ignored. */
void rows_make(struct rows_batch *rows, const struct table *table, uint64_t seed,
               const struct rows_id *id);

#endif
