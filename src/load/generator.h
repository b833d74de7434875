/*
 * Rows out of nothing: values for the columns of a real table.
 *
 * Every value is a pure function of (seed, session, row number in the session), so a run repeats
 * with its seed. What --values says of a column is made, in an order by the same three. Where the
 * table has columns n1, n2 and n3 of the types of syslog_table they identify the row: n1 = run tag,
 * n2 = session, n3 = row number. Unique columns get values that differ within the run. With
 * constant data all other columns are the same in every row.
 *
 * A struct generator is read-only after generator_create and shared by all threads. Memory for
 * batches is lent by its pool: a session holds a row buffer only from filling a batch until the
 * adapter has taken it, so that thousands of sessions share few of them. The pool has a mutex.
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
    struct row_buffer *next; /* in the pool */
    struct batch batch;      /* what the adapter gets */
    struct column_data columns[];
};

/* For the columns of `table`, which is borrowed and outlives the generator, as does the text of
 * plan->values. Fails with ERROR_UNSUPPORTED naming the column and the type that cannot be
 * generated, or with ERROR_USAGE naming the column whose --values it cannot hold. */
enum status generator_create(struct generator **generator, const struct plan *plan,
                             const struct table *table, struct error *error);
void generator_destroy(struct generator *generator);

/* True when n1, n2 and n3 identify the rows of such a table. */
bool generator_identifies_rows(const struct plan *plan, const struct table *table);

/* Most rows that one buffer of this generator holds: the batch size, at most ROW_BATCH_MAX. */
size_t generator_buffer_rows(const struct generator *generator);

/* Lends a buffer; NULL: out of memory. */
struct row_buffer *generator_borrow(struct generator *generator);
void generator_give_back(struct generator *generator, struct row_buffer *buffer);

/* Fills buffer->batch with `count` rows of a session, beginning with its row `first_row`; count is
 * 1 … generator_buffer_rows. */
void generator_fill(const struct generator *generator, struct row_buffer *buffer, unsigned session,
                    uint64_t first_row, size_t count);

/* Mean bytes of the values of a row, from the first batch of a session; 0 when memory is short.
 * What a database keeps of a row is more. */
double generator_row_bytes(struct generator *generator);

#endif
