/*
 * What the files of the Machbase adapter share: the connection, and how failures become errors.
 *
 * A connection belongs to one session's thread. Every append has a statement of its own: one that
 * was used before sends rows that the server cannot read.
 */
#ifndef ADAPTERS_MACHBASE_CONN_H
#define ADAPTERS_MACHBASE_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adapters/machbase_library.h"
#include "adapters/machbase_string.h"
#include "append/adapter.h"
#include "base/client_socket.h"

enum {
    MACHBASE_NAME_BYTES = 128,
    MACHBASE_NO_SUCH_TABLE = 2025, /* the server's numbers of errors */
    MACHBASE_NO_SUCH_COLUMN = 2030,
};

/* The open append. */
struct machbase_append {
    machbase_handle statement; /* NULL: none is open */
    const struct table *table;
    uint64_t rows;        /* handed over */
    uint64_t sent;        /* of these, taken by the library */
    bool has_failed;      /* a row was refused, on this side or by the server */
    int failure_code;     /* of the first */
    uint64_t other_codes; /* rows refused with another one */
    struct error failure; /* the first; told when the append is closed */
};

struct adapter_conn {
    const struct machbase_functions *call;
    const struct adapter_library *library;
    machbase_handle environment;
    machbase_handle connection;
    bool is_connected;
    bool has_no_delay; /* TCP_NODELAY is set */
    bool has_delay;    /* it is not to be set */
    struct client_socket socket;
    struct machbase_append append;
    size_t slot_count;           /* columns of a row as the server has them */
    union machbase_value *slots; /* owned: one row */
    uint16_t *columns; /* owned: for each slot its column of the table, MACHBASE_NO_COLUMN: none */
    char host[256];
    uint16_t port;
    char user[MACHBASE_NAME_BYTES];
};

enum {
    MACHBASE_NO_COLUMN = UINT16_MAX
};

/* machbase_error.c */

/* Records why a connect failed. */
enum status machbase_connect_error(struct adapter_conn *conn, struct error *error);

/* Records why a call failed; `statement` NULL: one on the connection. */
enum status machbase_call_error(struct adapter_conn *conn, machbase_handle statement,
                                struct error *error);

/* Records that memory ran out. FATAL. */
enum status machbase_memory_error(struct error *error);

/* machbase_connect.c */

enum status machbase_open(const struct target *target, struct adapter_conn **conn,
                          struct error *error);
void machbase_close(struct adapter_conn *conn);
void machbase_interrupt(struct adapter_conn *conn);
void machbase_inspect(struct adapter_conn *conn, struct connection_info *info);

/* machbase_recognise.c */

enum status machbase_recognise(const char *host, uint16_t port, unsigned timeout_ms,
                               struct error *error);

/* machbase_describe.c */

/* Describes column `index` (from 0) of a statement: its name, type and size. */
enum status machbase_describe_column(struct adapter_conn *conn, machbase_handle statement,
                                     size_t index, struct column *column, struct error *error);

enum status machbase_describe(struct adapter_conn *conn, const char *table_name,
                              struct table *table, struct error *error);

/* machbase_append.c */

/* Begins an append into a table by its name, on a fresh statement. */
enum status machbase_begin(struct adapter_conn *conn, const char *table_name,
                           machbase_handle *statement, struct error *error);
enum status machbase_append_open(struct adapter_conn *conn, const struct table *table,
                                 struct error *error);
enum status machbase_append_rows(struct adapter_conn *conn, const struct batch *batch,
                                 struct error *error);
enum status machbase_append_close(struct adapter_conn *conn, uint64_t *accepted,
                                  struct error *error);

/* machbase_query.c */

/* Reads the first column of the first row as text; "" when there is none. */
enum status machbase_read_text(struct adapter_conn *conn, const char *sql, char *text, size_t size,
                               struct error *error);

enum status machbase_execute(struct adapter_conn *conn, const char *sql, struct error *error);
enum status machbase_query(struct adapter_conn *conn, const char *sql, uint64_t *rows,
                           struct error *error);
enum status machbase_count(struct adapter_conn *conn, const struct table *table, uint64_t *rows,
                           struct error *error);
enum status machbase_read_numbers(struct adapter_conn *conn, const char *sql, size_t columns,
                                  bool (*take)(void *context, const int64_t *values), void *context,
                                  struct error *error);

/* machbase_limits.c */

enum status machbase_server_limits(struct adapter_conn *conn, struct server_limits *limits,
                                   struct error *error);

#endif
