/*
 * The ODBC adapter: prepared INSERT with parameter arrays, through unixODBC and any driver. What
 * its files share.
 *
 * Every connection has an environment of its own: one for all would be a writable static, and
 * unixODBC loads a driver once whatever their number. Autocommit is always off: what begins with
 * the first statement is ended by odbc_end, so nothing of an append is kept unless all of it is.
 */
#ifndef ADAPTERS_ODBC_H
#define ADAPTERS_ODBC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sql.h>
#include <sqlext.h>

#include "adapters/dialect.h"
#include "append/adapter.h"
#include "base/buffer.h"
#include "base/client_socket.h"

extern const struct adapter adapter_odbc;

/* A session sends few different batch sizes: the full one and those at the end of an append. */
enum {
    ODBC_PREPARED_MAX = 4,
    ODBC_VALUE_BYTES = 1024,
    ODBC_ANSWER_BYTES = 32,
};

enum odbc_method {
    ODBC_ARRAY,  /* one INSERT of one row, executed with an array of parameters */
    ODBC_INSERT, /* one INSERT of many rows, each value a parameter */
    ODBC_ROW,    /* one INSERT of one row, executed for each */
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
    const struct dialect *dialect; /* of the database, where it is known */
    char database_name[32];        /* lower case, where it is not */
    char user[64];
    char quote;
    uint16_t port;
    char *host;                    /* owned; may be NULL */
    char *note;                    /* owned; may be NULL */
    const char *schema;            /* that the target names, or NULL; borrowed from it */
    const struct table *append_to; /* of the open append */
    struct error put_off;          /* why the open append failed, when some of its rows stay */
    bool has_rows;                 /* the open append was handed some */
    uint64_t inserted_rows;        /* in the open append */
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

/* What struct column.native_type holds. */
enum {
    ODBC_FRACTION_DIGITS = 15, /* mask: digits behind the second */

    /* Dates and timestamps are sent as text: SQLite's driver would cut them to milliseconds, and
     * MariaDB's (3.1) loses 40 bytes of memory for each in an array. */
    ODBC_TIMES_AS_TEXT = 16,

    ODBC_AS_BYTES = 32, /* addresses and UUIDs are sent as their bytes, and not as text */
};

/* One row of a result; `statement` stands on it. False ends the reading. */
typedef bool (*odbc_take_row)(SQLHSTMT statement, void *context);

/* odbc_text.c: connection strings (`Key=value;Key={value; with }} in it};…`, keys without regard to
 * case) and diagnostics. */

/* Copies the value of the first of `keys` (NULL-terminated) that is there, without braces, cut to
 * `size`. */
bool odbc_string_find(const char *text, const char *const *keys, char *value, size_t size);

/* What is wrong with a text as a connection string; NULL: nothing that can be seen. */
const char *odbc_string_fault(const char *text);

/* Writes the target's connection string: its own user, password and database replace those of the
 * text. A text without '=' is the name of a data source. */
void odbc_string_build(struct buffer *text, const struct target *target);

/* Records why a connection attempt failed. */
enum status odbc_connect_error(SQLHDBC connection, struct error *error);

/* Records why a call on `statement`, or on the connection when it is NULL, failed. */
enum status odbc_call_error(struct adapter_conn *conn, SQLHSTMT statement, struct error *error);

/* Records that memory ran out. */
enum status odbc_memory_error(struct error *error);

/* odbc_bind.c */

struct odbc_parameters {
    size_t count;
    struct odbc_parameter *list; /* owned: only columns that are written */
    char *memory;                /* owned: what had to be copied */
};

/* Lays out the columns of a batch, which they borrow. Whatever the result: odbc_parameters_fini. */
enum status odbc_parameters_init(struct odbc_parameters *parameters, const struct batch *batch,
                                 struct error *error);
void odbc_parameters_fini(struct odbc_parameters *parameters);

/* Binds row `row` of every column to the parameters that begin with `first`, counted from 1. */
bool odbc_parameters_bind(const struct odbc_parameters *parameters, SQLHSTMT statement,
                          size_t first, size_t row);

/* odbc_query.c */

/* Ends what was begun: `status` OK commits, anything else rolls back. Returns what it comes to. */
enum status odbc_end(struct adapter_conn *conn, enum status status, struct error *error);

/* Runs one statement, with a row for its parameters (or NULL), and takes its rows one by one;
 * `take` may be NULL. Nothing is ended. */
enum status odbc_run(struct adapter_conn *conn, const char *sql, const struct batch *parameters,
                     odbc_take_row take, void *context, struct error *error);

/* Runs a query and reads the first column of its first row as text; "" = there is none. */
enum status odbc_ask(struct adapter_conn *conn, const char *sql, char text[ODBC_ANSWER_BYTES],
                     struct error *error);

/* Takes the rows of a statement that was executed and came to `result`. */
enum status odbc_take_rows(struct adapter_conn *conn, SQLHSTMT statement, SQLRETURN result,
                           odbc_take_row take, void *context, struct error *error);

/* Reads a column of the current row as text, cut to `size`; false: it is NULL. */
bool odbc_get_text(SQLHSTMT statement, unsigned column, char *text, size_t size);

/* Reads a column of the current row as a number; 0 for NULL. */
int64_t odbc_get_number(SQLHSTMT statement, unsigned column);

enum status odbc_execute(struct adapter_conn *conn, const char *sql, struct error *error);

/* See adapter.run. */
enum status odbc_run_statement(struct adapter_conn *conn, const struct statement *statement,
                               const struct batch *parameters, struct answer *answer,
                               struct error *error);

/* odbc_describe.c */

/* See adapter.describe: by ODBC's own functions, for a database that is not known. */
enum status odbc_describe(struct adapter_conn *conn, const char *table_name, struct table *table,
                          struct error *error);

/* Sets what struct column.native_type holds, by the type's name. */
void odbc_set_native_type(const struct dialect *dialect, struct column *column);

/* odbc_append.c */

enum status odbc_append_open(struct adapter_conn *conn, const struct table *table,
                             struct error *error);
enum status odbc_append_rows(struct adapter_conn *conn, const struct batch *batch,
                             struct error *error);
enum status odbc_append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error);

/* Frees the prepared statements. */
void odbc_forget_inserts(struct adapter_conn *conn);

#endif
