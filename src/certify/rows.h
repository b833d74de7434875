/*
 * The rows of append certify.
 *
 * Each session numbers its transactions from 0. A transaction writes a single row, a batch or, if
 * the database has transactions, rows of two tables. The seed, the session and the number decide
 * the values of the rows, so append can check a row that is read back without a copy of the row.
 * Every row has its identity, the number of rows that its transaction writes to this table, a text,
 * and a checksum over all of these.
 */
#ifndef CERTIFY_ROWS_H
#define CERTIFY_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "append/row.h"

enum {
    ROWS_TABLES = 2,
    ROWS_FIRST_MAX = 100, /* most rows of a transaction in the first table */
    ROWS_SECOND_MAX = 10, /* most rows of a transaction in the second table */
    ROWS_TEXT_MAX = 80,   /* longest text, in bytes */
};

/* The columns of both tables, in this order. */
enum {
    ROWS_SESSION,
    ROWS_NUMBER, /* the transaction's number */
    ROWS_PLACE,  /* the row's place in its transaction and table, from 0 */
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
 * transaction is one batch. */
void rows_sizes(uint64_t seed, unsigned session, uint64_t number, bool has_transactions,
                unsigned sizes[ROWS_TABLES]);

/* Writes the row's text, which is not terminated; returns its length. */
unsigned rows_text(uint64_t seed, const struct rows_id *id, char text[ROWS_TEXT_MAX]);

int64_t rows_checksum(uint64_t seed, const struct rows_id *id, const char *text, unsigned length);

/* Initialises the description of a table. Fails when out of memory. The caller frees it with
 * table_fini. */
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

/* Makes the rows that a transaction writes to a table: id->size of them, at most ROWS_FIRST_MAX.
 * id->place is ignored. */
void rows_make(struct rows_batch *rows, const struct table *table, uint64_t seed,
               const struct rows_id *id);

#endif
