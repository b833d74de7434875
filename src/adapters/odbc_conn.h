/*
 * What the files of the ODBC adapter share: the connection, and how diagnostics become errors.
 *
 * Every connection has an environment of its own: one for all would be a writable static, and
 * unixODBC loads a driver once whatever their number. Autocommit is always off: what begins with
 * the first statement is ended by odbc_end, so nothing of an append is kept unless all of it is.
 */
#ifndef ADAPTERS_ODBC_CONN_H
#define ADAPTERS_ODBC_CONN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sql.h>
#include <sqlext.h>

#include "append/adapter.h"
#include "base/buffer.h"
#include "base/client_socket.h"

/* A session sends few different batch sizes: the full one and those at the end of an append. */
enum {
    ODBC_PREPARED_MAX = 4,
    ODBC_VALUE_BYTES = 1024
};

enum odbc_method {
    ODBC_ARRAY,  /* one INSERT of one row, executed with an array of parameters */
    ODBC_INSERT, /* one INSERT of many rows, each value a parameter */
    ODBC_ROW,    /* one INSERT of one row, executed for each */
};

/* What the database is, where that makes a difference that ODBC does not tell. */
enum odbc_dialect {
    ODBC_OTHER,
    ODBC_POSTGRESQL,
    ODBC_MARIADB, /* and MySQL */
    ODBC_SQLITE,
};

struct odbc_insert {
    SQLHSTMT statement;        /* NULL: not prepared */
    const struct table *table; /* for which it was prepared */
    size_t rows;               /* in its VALUES */
};

struct adapter_conn {
    SQLHENV environment;
    SQLHDBC connection;
    bool is_connected;
    bool is_append_open;
    atomic_bool is_interrupted;
    struct client_socket socket;
    enum odbc_method method;
    enum odbc_dialect dialect;
    char dialect_name[32];
    char quote;
    uint16_t port;
    char *host;                    /* owned; may be NULL */
    char *note;                    /* owned; may be NULL */
    const char *schema;            /* that the target names, or NULL; borrowed from it */
    const struct table *append_to; /* of the open append */
    struct error *put_off;  /* owned: why the open append failed, when some of its rows stay */
    bool has_rows;          /* the open append was handed some */
    uint64_t inserted_rows; /* in the open append */
    struct odbc_insert inserts[ODBC_PREPARED_MAX];
    unsigned next_insert; /* the one to be replaced */
};

/* An attribute's number as ODBC passes it: in the bits of a pointer. */
static inline SQLPOINTER odbc_number(uintptr_t number)
{
    const union {
        uintptr_t number;
        SQLPOINTER argument;
    } value = {number};
    return value.argument;
}

/* One row of a result; `statement` stands on it. False ends the reading. */
typedef bool (*odbc_take_row)(SQLHSTMT statement, void *context);

/* odbc_error.c */

/* Records why a connection attempt failed. */
enum status odbc_connect_error(SQLHDBC connection, struct error *error);

/* Records why a call on `statement`, or on the connection when it is NULL, failed. */
enum status odbc_call_error(struct adapter_conn *conn, SQLHSTMT statement, struct error *error);

/* Records that memory ran out. */
enum status odbc_memory_error(struct error *error);

/* odbc_connect.c */

enum status odbc_open(const struct target *target, struct adapter_conn **conn, struct error *error);
void odbc_close(struct adapter_conn *conn);
void odbc_interrupt(struct adapter_conn *conn);

/* odbc_setup.c */

/* Adds to what the user should know about the connection. */
void odbc_add_note(struct buffer *note, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes a connection that still commits each statement ready for use. What the user should know is
 * added to *note. */
enum status odbc_set_up(struct adapter_conn *conn, const char *text, struct buffer *note,
                        struct error *error);

/* odbc_inspect.c */

/* Finds out which database and driver an open connection leads to, how they are best used, and sets
 * it up. `text` is the completed connection string. */
enum status odbc_learn(struct adapter_conn *conn, const struct target *target, const char *text,
                       struct error *error);
void odbc_inspect(struct adapter_conn *conn, struct connection_info *info);
enum status odbc_server_limits(struct adapter_conn *conn, struct server_limits *limits,
                               struct error *error);

/* odbc_query.c */

/* Ends what was begun: `status` OK commits, anything else rolls back. Returns what it comes to. */
enum status odbc_end(struct adapter_conn *conn, enum status status, struct error *error);

/* Runs one statement, with a text for its only parameter (or NULL), and takes its rows one by one;
 * `take` may be NULL. Nothing is ended. */
enum status odbc_run(struct adapter_conn *conn, const char *sql, const char *parameter,
                     odbc_take_row take, void *context, struct error *error);

/* The same for a statement that was executed and came to `result`. */
enum status odbc_take_rows(struct adapter_conn *conn, SQLHSTMT statement, SQLRETURN result,
                           odbc_take_row take, void *context, struct error *error);

/* Reads a column of the current row as text, cut to `size`; false: it is NULL. */
bool odbc_get_text(SQLHSTMT statement, unsigned column, char *text, size_t size);

/* Reads a column of the current row as a number; 0 for NULL. */
int64_t odbc_get_number(SQLHSTMT statement, unsigned column);

enum status odbc_execute(struct adapter_conn *conn, const char *sql, struct error *error);
enum status odbc_query(struct adapter_conn *conn, const char *sql, uint64_t *rows,
                       struct error *error);
enum status odbc_count(struct adapter_conn *conn, const struct table *table, uint64_t *rows,
                       struct error *error);

/* odbc_numbers.c */

/* See adapter.read_numbers. */
enum status odbc_read_numbers(struct adapter_conn *conn, const char *sql, size_t columns,
                              bool (*take)(void *context, const int64_t *values), void *context,
                              struct error *error);

/* odbc_describe.c */

enum status odbc_describe(struct adapter_conn *conn, const char *table_name, struct table *table,
                          struct error *error);

/* odbc_append.c */

enum status odbc_append_open(struct adapter_conn *conn, const struct table *table,
                             struct error *error);
enum status odbc_append_rows(struct adapter_conn *conn, const struct batch *batch,
                             struct error *error);
enum status odbc_append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error);

/* Frees the prepared statements. */
void odbc_forget_inserts(struct adapter_conn *conn);

#endif
