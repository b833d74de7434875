/*
 * An append: the operation that sends rows to one table through the database's bulk path. Sessions,
 * scripts and the loading of tables all send their rows in this way.
 */
#ifndef LOAD_APPEND_H
#define LOAD_APPEND_H

#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"

/* The source of an append's rows. It makes a part of the rows at a time. */
struct row_source {
    /* Makes `rows` rows, beginning with row `from` of the append. They are valid until the next
     * call of `make` or `done`. On failure returns NULL and sets *error. */
    const struct batch *(*make)(void *context, uint64_t from, size_t rows, struct error *error);
    /* Called when the adapter does not need the rows of the latest `make` any more. May be NULL. */
    void (*done)(void *context);
    void *context;
    size_t most_rows; /* largest number of rows for one call of `make` */
};

struct append {
    const struct table *table; /* the table as the database describes it; borrowed */
    struct row_source source;
    uint64_t first_row; /* number of the append's first row, counted over all rows of the session */
    uint64_t rows;
    uint64_t handed;   /* number of rows handed to the adapter in the latest try; after a lost
                          connection, number of rows that were sent */
    uint64_t accepted; /* number of rows that the server acknowledged */
    uint64_t in_doubt; /* number of rows in doubt; `handed` includes them */
    uint32_t tries;
};

/* Tries once to send the rows. If the connection is lost, append->rows shrinks to the number of
 * rows that were sent. If the server keeps some rows and refuses others, append->rows shrinks to
 * the number of rows that were handed over. The remaining rows belong to a later append. Returns
 * FATAL if a row could not be made. The function has then called append_give_up, and the caller
 * must close the connection. */
enum status append_send(const struct adapter *adapter, struct adapter_conn *conn,
                        struct append *append, struct error *error);

/* Gives up an append that is not finished. The caller must then close the connection. All rows that
 * were handed to the adapter but not acknowledged are in doubt, because a server without
 * transactions may have stored them already. */
void append_give_up(struct append *append);

#endif
