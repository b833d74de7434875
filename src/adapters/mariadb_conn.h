/*
 * What the files of the MariaDB adapter share: the connection, and how failures become errors.
 *
 * A connection belongs to one session's thread. It is kept small, because there are thousands: no
 * rows are held in it, and a statement is sent without waiting for its answer, so that its text is
 * gone when the session waits.
 */
#ifndef ADAPTERS_MARIADB_CONN_H
#define ADAPTERS_MARIADB_CONN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mysql.h>

#include "append/adapter.h"
#include "base/buffer.h"

enum mariadb_method {
    MARIADB_BULK,
    MARIADB_INSERT,
    MARIADB_LOAD,
    MARIADB_METHOD_COUNT,
};

/* column.native_type: what the adapter has to know of a type beyond enum column_type. */
enum mariadb_native {
    MARIADB_NATIVE_OTHER,
    MARIADB_NATIVE_TIMESTAMP, /* read in the session's time zone, unlike datetime */
    MARIADB_NATIVE_TEXT,      /* addresses and UUIDs written out in a column of text */
};

/* A statement that failed after others of its append were kept. */
struct mariadb_failure {
    enum status status;
    struct error error;
};

/* The open append. */
struct mariadb_append {
    bool is_open;
    bool is_pending;     /* a statement was sent and not answered yet */
    bool in_transaction; /* of this append */
    const struct table *table;
    uint64_t kept;        /* rows that stay whatever comes */
    uint64_t provisional; /* rows in the transaction */
    size_t sent;          /* rows of the statement sent last */
    unsigned statements;
    struct mariadb_failure *failure; /* owned; told when the append is closed */
};

struct adapter_conn {
    MYSQL mysql;
    enum mariadb_method method;
    bool is_method_given; /* by the user: no other will do */
    bool is_lost;
    bool is_utc;      /* the session's time zone was set */
    _Atomic int sock; /* for interrupt, -1 once it is known to be closed; else use the library's */
    const char *why_no_bulk; /* static; NULL = bulk is in use, or was not asked for */
    struct mariadb_append append;
    unsigned long statement; /* number of the bulk statement that the server has prepared */
    const struct table *statement_table; /* for which; NULL = for none */
};

extern const char *const mariadb_methods[MARIADB_METHOD_COUNT + 1];

/* mariadb_error.c */

/* Records why a connection attempt failed. */
enum status mariadb_connect_error(struct adapter_conn *conn, struct error *error);

/* Records why the latest call on the connection, or on its statement, failed. */
enum status mariadb_call_error(struct adapter_conn *conn, struct error *error);
enum status mariadb_statement_error(struct adapter_conn *conn, MYSQL_STMT *statement,
                                    struct error *error);

/* Records a condition that the server told as a warning. */
enum status mariadb_warning_error(unsigned number, const char *message, struct error *error);

/* FATAL when the server would refuse a statement of so many bytes. It is not sent at all, because
 * the server ends the connection while it is on its way, and its answer can get lost in that. */
enum status mariadb_check_length(const struct table *table, size_t length, struct error *error);

/* Records that memory ran out. */
enum status mariadb_memory_error(struct error *error);

/* mariadb_connect.c */

enum status mariadb_open(const struct target *target, struct adapter_conn **conn,
                         struct error *error);
void mariadb_close(struct adapter_conn *conn);
void mariadb_interrupt(struct adapter_conn *conn);

/* mariadb_options.c */

/* How to connect; texts are borrowed from the target, or in the members themselves. */
struct mariadb_options {
    const char *host;
    const char *socket;
    bool needs_tls;   /* a connection without it is of no use */
    bool may_use_tls; /* as far as is known before option files are read */
    char socket_path[256];
};

/* Turns the target into *options and options of the client library. */
enum status mariadb_set_options(MYSQL *mysql, const struct target *target,
                                struct mariadb_options *options, struct error *error);

/* mariadb_recognise.c */

enum status mariadb_recognise(const char *host, uint16_t port, unsigned timeout_ms,
                              struct error *error);

/* mariadb_query.c */

/* Runs one or more statements and drops what they return. */
enum status mariadb_run(struct adapter_conn *conn, const char *sql, struct error *error);

/* Runs one statement and returns its whole result, which the caller frees. */
enum status mariadb_fetch(struct adapter_conn *conn, const char *sql, MYSQL_RES **result,
                          struct error *error);

/* Runs statements and counts the rows that they return, one at a time. */
enum status mariadb_drain(struct adapter_conn *conn, const char *sql, uint64_t *rows,
                          struct error *error);

/* Rolls back a transaction that the user's SQL, which came to `status`, left open. */
enum status mariadb_end_transaction(struct adapter_conn *conn, enum status status,
                                    struct error *error);

/* Adds 'text' with what needs it escaped; `length` bytes in the connection's character set. */
void mariadb_add_literal(const struct adapter_conn *conn, struct buffer *sql, const char *text,
                         size_t length);

/* mariadb_numbers.c */

/* See adapter.read_numbers. */
enum status mariadb_read_numbers(struct adapter_conn *conn, const char *sql, size_t columns,
                                 bool (*take)(void *context, const int64_t *values), void *context,
                                 struct error *error);

/* mariadb_describe.c */

enum status mariadb_describe(struct adapter_conn *conn, const char *table_name, struct table *table,
                             struct error *error);

/* mariadb_append.c */

void mariadb_get_ready(struct adapter_conn *conn, const struct table *table);
enum status mariadb_append_open(struct adapter_conn *conn, const struct table *table,
                                struct error *error);
enum status mariadb_append_rows(struct adapter_conn *conn, const struct batch *batch,
                                struct error *error);
enum status mariadb_append_close(struct adapter_conn *conn, uint64_t *accepted,
                                 struct error *error);

/* Adds ` (a, b, c)`, the columns that are written. Returns their number. */
size_t mariadb_add_columns(struct buffer *sql, const struct table *table);

/* mariadb_bulk.c, mariadb_insert.c, mariadb_load.c: each sends the rows of one statement, whose
 * answer mysql_read_query_result takes; LOAD DATA has it taken already. */

/* Whether server and client library can do it; *why_not is a static text where they cannot. */
bool mariadb_bulk_is_possible(MYSQL *mysql, const char **why_not);

/* Prepares the statement for a table, unless it is prepared. */
enum status mariadb_bulk_prepare(struct adapter_conn *conn, const struct table *table,
                                 struct error *error);
enum status mariadb_bulk_send(struct adapter_conn *conn, const struct batch *batch,
                              struct error *error);
enum status mariadb_insert_send(struct adapter_conn *conn, const struct batch *batch,
                                struct error *error);
enum status mariadb_load_send(struct adapter_conn *conn, const struct batch *batch,
                              struct error *error);

/* Installs the handler that keeps the server from reading files of this machine. */
void mariadb_load_install(MYSQL *mysql, bool is_wanted);

#endif
