/*
 * Generates values for the columns of a table.
 *
 * Every value is a pure function of (seed, session, row number in the session), so a run can be
 * repeated with its seed. This includes the values that --values chooses for a column. If the table
 * has columns n1, n2 and n3 with the types that they have in syslog_table, these columns identify
 * the row: n1 = run tag, n2 = session, n3 = row number. Unique columns get values that differ
 * within the run. With constant data all other columns have the same value in every row.
 *
 * A struct generator is read-only after generator_create and shared by all threads, except for its
 * pool of row buffers, which has a mutex. A session borrows a row buffer only while it fills a
 * batch and hands the batch to the adapter, so thousands of sessions share few buffers.
 */
#ifndef LOAD_GENERATOR_H
#define LOAD_GENERATOR_H

#include <stddef.h>
#include <stdint.h>

#include "append/row.h"
#include "plan/plan.h"

struct generator;

/* A batch and the memory of its values. */
struct row_buffer {
    struct row_buffer *next; /* the next free buffer in the pool */
    struct batch batch;      /* the rows, as the adapter takes them */
    struct column_data columns[];
};

/* Creates a generator for the columns of `table`. `table` and the text of plan->values are borrowed
 * and must outlive the generator. Fails with ERROR_UNSUPPORTED if values of a column's type cannot
 * be generated, or with ERROR_USAGE if a column cannot hold the values that --values gives to it.
 * *error names the column. */
enum status generator_create(struct generator **generator, const struct plan *plan,
                             const struct table *table, struct error *error);
void generator_destroy(struct generator *generator);

/* Returns whether n1, n2 and n3 identify the rows of the table. */
bool generator_identifies_rows(const struct plan *plan, const struct table *table);

/* Returns how many rows a buffer holds: the batch size, at most ROW_BATCH_MAX. */
size_t generator_buffer_rows(const struct generator *generator);

/* Lends a buffer, which the caller returns with generator_give_back. Returns NULL if memory runs
 * out. */
struct row_buffer *generator_borrow(struct generator *generator);
void generator_give_back(struct generator *generator, struct row_buffer *buffer);

/* Fills buffer->batch with `count` rows of a session, beginning with row `first_row` of the
 * session. `count` must be from 1 to generator_buffer_rows. */
void generator_fill(const struct generator *generator, struct row_buffer *buffer, unsigned session,
                    uint64_t first_row, size_t count);

/* Returns the mean number of bytes in the values of a row, measured on the first batch of a
 * session, or 0 if memory runs out. In a database a row takes more bytes. */
double generator_row_bytes(struct generator *generator);

#endif
