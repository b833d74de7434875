/*
 * What the files of the PostgreSQL adapter share: the connection, and how results become errors.
 *
 * A connection belongs to one session's thread. It is kept small, because there are thousands: no
 * rows are held in it, and statements are built once.
 */
#ifndef ADAPTERS_POSTGRESQL_CONN_H
#define ADAPTERS_POSTGRESQL_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "append/adapter.h"

/* A session sends few different batch sizes: the full one and those at the end of an append.
 * Further sizes are sent unprepared. */
enum {
    POSTGRESQL_PREPARED_MAX = 4
};

/* Multi-row INSERT statements that the server has prepared for one table. */
struct postgresql_inserts {
    const struct table *table;              /* for which they were prepared */
    unsigned generation;                    /* makes names unique when the table changes */
    unsigned prepared_count;                /* confirmed by the server */
    unsigned sent_count;                    /* of rows[]: sent, confirmed ones included */
    uint16_t rows[POSTGRESQL_PREPARED_MAX]; /* rows of each, in the order of preparing */
};

struct adapter_conn {
    PGconn *connection;
    const char *schema;   /* that the target names, or NULL; borrowed from it */
    bool uses_insert;     /* method "insert" */
    bool is_method_given; /* by the user: no other will do */
    bool has_no_copy;     /* as far as was asked: see postgresql_copy_probe */
    bool is_pooled;       /* as far as was asked: see postgresql_find_pooler */
    bool is_append_open;
    char last_sqlstate[ERROR_SQLSTATE_BYTES]; /* why the server said it would hang up */
    unsigned count_generation;
    bool is_count_prepared;           /* under that name, for count_table */
    const struct table *count_table;  /* counted last */
    const struct table *copy_table;   /* for which copy_sql was built */
    char *copy_sql;                   /* owned */
    const struct table *append_table; /* of the open append */
    struct postgresql_inserts inserts;
};

/* postgresql_error.c */

/* Records why a connection attempt failed; PQERRORS_VERBOSE must have been set. */
enum status postgresql_connect_error(PGconn *connection, bool was_reached, struct error *error);

/* Records a failed result, or (result NULL) the connection's own message. */
enum status postgresql_result_error(struct adapter_conn *conn, const PGresult *result,
                                    struct error *error);

/* Reads what is left of the current command. `was_sent` is what PQsend... returned. On OK the last
 * result goes to *kept (the caller clears it) when `kept` is not NULL. */
enum status postgresql_finish(struct adapter_conn *conn, int was_sent, PGresult **kept,
                              struct error *error);

/* Rolls back a transaction that the user's SQL, which came to `status`, left open: later appends
 * would be acknowledged within it and lost with the connection. Returns what it comes to. */
enum status postgresql_end_transaction(struct adapter_conn *conn, enum status status,
                                       struct error *error);

/* True when a statement of append's own was refused in a way in which no PostgreSQL refuses it. */
bool postgresql_is_foreign(const struct error *failure);

/* Records why a question to the catalogue failed; `what` follows "asked". */
enum status postgresql_catalogue_error(enum status status, const struct error *failure,
                                       const char *what, struct error *error);

/* Records that memory ran out. */
enum status postgresql_memory_error(struct error *error);

/* postgresql_connect.c */

enum status postgresql_open(const struct target *target, struct adapter_conn **conn,
                            struct error *error);
void postgresql_close(struct adapter_conn *conn);
void postgresql_interrupt(struct adapter_conn *conn);

/* postgresql_recognise.c */

enum status postgresql_recognise(const char *host, uint16_t port, unsigned timeout_ms,
                                 struct error *error);

/* postgresql_describe.c */

/* Finds out whether a pooler stands in between: conn->is_pooled. */
enum status postgresql_find_pooler(struct adapter_conn *conn, struct error *error);

enum status postgresql_describe(struct adapter_conn *conn, const char *table_name,
                                struct table *table, struct error *error);

/* postgresql_copy.c: COPY ... FROM STDIN (FORMAT binary) */

/* Finds out, without locks and triggers, whether the server knows the statement:
 * conn->has_no_copy. */
enum status postgresql_copy_probe(struct adapter_conn *conn, const struct table *table,
                                  struct error *error);
enum status postgresql_copy_open(struct adapter_conn *conn, const struct table *table,
                                 struct error *error);
enum status postgresql_copy_rows(struct adapter_conn *conn, const struct batch *batch,
                                 struct error *error);
enum status postgresql_copy_close(struct adapter_conn *conn, uint64_t *accepted,
                                  struct error *error);

/* postgresql_numbers.c */

/* See adapter.read_numbers. */
enum status postgresql_read_numbers(struct adapter_conn *conn, const char *sql, size_t columns,
                                    bool (*take)(void *context, const int64_t *values),
                                    void *context, struct error *error);

/* postgresql_insert.c: prepared multi-row INSERT, one pipeline an append */

enum status postgresql_insert_open(struct adapter_conn *conn, const struct table *table,
                                   struct error *error);
enum status postgresql_insert_rows(struct adapter_conn *conn, const struct batch *batch,
                                   struct error *error);
enum status postgresql_insert_close(struct adapter_conn *conn, uint64_t *accepted,
                                    struct error *error);

#endif
