/* Values in MariaDB's SQL and packets, and its greeting. Pure functions, any thread. */
#ifndef ADAPTERS_MARIADB_H
#define ADAPTERS_MARIADB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/client_socket.h"
#include "append/row.h"
#include "base/text.h"

/* Adds one value as a SQL literal. `has_escapes`: the server's SQL mode treats backslashes as
 * escape characters. */
void mariadb_add_literal(struct buffer *sql, const struct column *column,
                         const struct column_data *data, size_t row, bool has_escapes);

/*

 * Adds the body of COM_STMT_BULK_EXECUTE, which executes a prepared statement once for every row of
 * a batch. https://mariadb.com/kb/en/com_stmt_bulk_execute/
 *
 *     statement's number (4)  flags (2)
 *     type and sign of every parameter (2 each)
 *     row by row, value by value: an indicator (0 value, 1 NULL), then the value
 *
 * Numbers have their lowest byte first. Integers and floats have the size of their type, all other
 * values are preceded by their length. The types are sent each time, because the server forgets
 * them if it prepares the statement again after a change of the table.
 */
void mariadb_add_bulk(struct buffer *packet, unsigned long statement, const struct batch *batch);

/*
 * Adds the body of COM_STMT_EXECUTE, which executes a prepared statement with the first row of
 * `batch`. `batch` is NULL if the statement has no parameters.
 * https://mariadb.com/kb/en/com_stmt_execute/
 *
 *     statement's number (4)  flags (1)  always 1 (4)
 *     whole bytes with a bit for every parameter, lowest bit first: 1 if the parameter is NULL
 *     1 (1): types follow; this byte and the types only if there are parameters
 *     type and sign of every parameter (2 each)
 *     the values that are not NULL
 */
void mariadb_add_execute(struct buffer *packet, unsigned long statement, const struct batch *batch);

/* Checks whether these bytes are the beginning of a greeting, or of an error instead of a
 * greeting. */
enum probe_answer mariadb_recognise(const unsigned char *bytes, size_t length);

#endif
