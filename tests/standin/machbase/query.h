/*
 * A select on one table, and its result row by row as FETCH sends it. One thread at a time.
 *
 * A row of a result [run]: the columns in order, fixed types in big endian, variable ones as u32
 * length in big endian and bytes. How a real server writes NULL there is not known; here a fixed
 * type has the value that means NULL in the client's interface, and a variable one no bytes.
 */
#ifndef MACHBASE_STANDIN_QUERY_H
#define MACHBASE_STANDIN_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "server.h"
#include "sql.h"

struct query;

/* What is wrong with a statement. */
struct query_error {
    uint32_t code;
    char text[300];
};

/* Begins the select. NULL = *error says why. query_close frees it and takes NULL. */
struct query *query_open(struct server *server, const struct sql_statement *statement,
                         struct query_error *error);
void query_close(struct server *server, struct query *query);

/* Adds the units that describe the columns. */
void query_describe(const struct query *query, struct buffer *body);

/* Adds a unit for each of the next rows, `most` of them and not much more than WIRE_PIECE_BYTES.
 * False = there are no more. */
bool query_fetch(struct query *query, uint64_t most, struct buffer *body);

#endif
