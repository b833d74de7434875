/*
 * Facts about databases that do not depend on the client library: the meaning of their errors,
 * their catalogues, their limits on sessions. A dialect uses no client library: it receives texts
 * and numbers and runs its queries through adapter.run. Const; any thread.
 */
#ifndef ADAPTERS_DIALECT_H
#define ADAPTERS_DIALECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"
#include "append/client_socket.h"
#include "base/text.h"

/* A failed call, as the client library reports it. */
struct dialect_failure {
    bool is_connecting;   /* the call was a connect, which is never REJECTED */
    int number;           /* the database's own error number; 0 = unknown */
    const char *sqlstate; /* "" = unknown */
    const char *text;     /* the server's message */
};

struct dialect_meaning {
    enum status status;
    enum error_kind kind;
    const char *limit; /* see error.limit */
};

/* The connection whose catalogue is queried, and what to know about its session. */
struct dialect_asker {
    const struct adapter *adapter;
    struct adapter_conn *conn;
    const char *schema;      /* as named by the target; may be NULL */
    const char *user;        /* for messages */
    bool prepares;           /* each session keeps one prepared statement on the server */
    bool has_prepared;       /* this session has already prepared that statement */
    unsigned statements;     /* other statements that each session keeps prepared */
    unsigned has_statements; /* how many of them this session has already prepared */

    struct server_facts *facts; /* describe fills it; NULL: not wanted */
};

struct dialect {
    const char *name; /* of the database, as in connection_info.dialect */

    /* Classifies a failure. False: its meaning is unknown, and *meaning is unchanged. */
    bool (*classify_error)(const struct dialect_failure *failure, struct dialect_meaning *meaning);

    /* Writes the server's message without the parts that differ from row to row, so that equal
     * causes have equal texts, followed by advice if there is any. `user` as in struct
     * dialect_asker. */
    void (*write_text)(const struct dialect_failure *failure, const char *user, char *text,
                       size_t size);

    /* Implements adapter.describe. column.native_type is the type as the native adapter sees it. */
    enum status (*describe)(const struct dialect_asker *asker, const char *table_name,
                            struct table *table, struct error *error);

    /* Optional. Adds the limits that apply to this user to *limits, which contains nothing but
     * perhaps a version. Needs no privilege except to connect. */
    enum status (*limits)(const struct dialect_asker *asker, struct server_limits *limits,
                          struct error *error);

    /* As in struct connection_info. */
    bool (*declare_column)(const struct column *column, bool is_numbered, char *text, size_t size);
    const char *create_tail;
    void (*number_from)(const char *table_name, const char *column_name, char *sql, size_t size);
    const struct storage_queries *storage;
    const struct table_mark_statements *table_mark;
    const struct settings_queries *settings;
    const char *lift_row_limit;
};

extern const struct dialect dialect_postgresql;
extern const struct dialect dialect_mysql; /* MariaDB, MySQL and compatible servers */
extern const struct dialect dialect_singlestore;
extern const struct dialect dialect_sqlite;
extern const struct dialect dialect_clickhouse;

/* PostgreSQL: column.native_type is the type's number in the catalogue, which never changes
 * (pg_type.dat). The numbers that the adapters need besides enum column_type: */
enum postgresql_type {
    POSTGRESQL_NAME = 19,
    POSTGRESQL_JSON = 114,
    POSTGRESQL_CIDR = 650,
    POSTGRESQL_TIMETZ = 1266,
    POSTGRESQL_JSONB = 3802,
};

/* MariaDB, MySQL: column.native_type, details of a type besides enum column_type. */
enum mysql_type {
    MYSQL_NATIVE_OTHER,
    MYSQL_NATIVE_TIMESTAMP, /* converted to the session's time zone, unlike datetime */
    MYSQL_NATIVE_TEXT,      /* addresses and UUIDs in a text column */
};

/* Returns true for columns of bytes, not text; also for addresses and UUIDs outside text
 * columns. */
bool dialect_mysql_is_binary(const struct column *column);

/* ClickHouse: the encoding of a value in the format RowBinary. */
enum clickhouse_wire {
    CLICKHOUSE_NONE, /* unknown: only as text */
    CLICKHOUSE_INT,
    CLICKHOUSE_UINT,
    CLICKHOUSE_FLOAT,
    CLICKHOUSE_STRING,
    CLICKHOUSE_FIXED,
    CLICKHOUSE_UUID,
    CLICKHOUSE_IP4, /* like CLICKHOUSE_UINT and CLICKHOUSE_FIXED, but with their own text form */
    CLICKHOUSE_IP6,
};

/* column.native_type: the encoding and the bytes of a value; 0: no encoding in RowBinary is
 * known. */
#define CLICKHOUSE_NATIVE(wire, width) ((uint32_t)(wire) << 24 | (uint32_t)(width))
#define CLICKHOUSE_WIRE(native) ((enum clickhouse_wire)((native) >> 24))
#define CLICKHOUSE_WIDTH(native) ((native)&0xffffff)

/* Returns connection_info.unsupported for a server of this version ("18.16.1"). */
const struct unsupported *dialect_clickhouse_unsupported(const char *version);

/* Implements declare_column for MariaDB 10.10 or later, which has types for addresses and UUIDs. */
bool dialect_mariadb_declare(const struct column *column, bool is_numbered, char *text,
                             size_t size);

/* Returns true when one of append's own statements failed in a way in which PostgreSQL never fails:
 * the server only speaks PostgreSQL's protocol. */
bool dialect_postgresql_is_foreign(const struct error *failure);

/* Returns the status of a query to PostgreSQL's catalogue. If a foreign server refused the query,
 * *error says so and names the query; `query` follows "the query". */
enum status dialect_postgresql_foreign(enum status status, const char *query, struct error *error);

/* Checks whether these bytes are PostgreSQL's answer to a TLS request. */
enum probe_answer dialect_postgresql_recognise(const unsigned char *answer, size_t length);

/* How to read the rows of a query for columns. */
struct dialect_columns {
    size_t fields;                                                 /* cells of a row */
    void (*read)(struct column *column, const struct cell *cells); /* fills a zeroed column */
};

/* Reads the first cells of such a row, for queries that return in this order: name, declared type,
 * is required, has a default, is generated, is unique. */
enum {
    DIALECT_COMMON_FIELDS = 6
};
void dialect_read_common(struct column *column, const struct cell *cells);

/* Returns the type for a lower-case type name that databases use ("varchar", "json text");
 * COLUMN_UNSUPPORTED: unknown name. */
enum column_type dialect_type_of(const char *name);

/* Splits `DECIMAL (10,2)` into "decimal" and its numbers; returns how many numbers were found, 0 to
 * 2. */
int dialect_split_type(const char *declared, char *name, size_t size, unsigned long numbers[2]);

/* Adds the columns that `sql` returns for the table's name. */
enum status dialect_read_columns(const struct dialect_asker *asker, const char *sql,
                                 const struct dialect_columns *columns, struct table *table,
                                 struct error *error);

/* Adds a limit; returns NULL when *limits is full. */
struct session_limit *dialect_add_limit(struct server_limits *limits, const char *name,
                                        int64_t allowed, int64_t used);

/*
 * Helpers that adapters share.
 */

/* Records a failure with this meaning; returns the meaning's status. */
enum status dialect_record(const struct dialect_meaning *meaning,
                           const struct dialect_failure *failure, const char *text,
                           struct error *error);

/* Fills the members of *info that the dialect defines. */
void dialect_inspect(const struct dialect *dialect, struct connection_info *info);

/* Implement adapter.describe and adapter.server_limits for adapters whose dialect needs only the
 * connection. */
enum status dialect_describe(const struct adapter *adapter, struct adapter_conn *conn,
                             const char *table_name, struct table *table, struct error *error);
enum status dialect_server_limits(const struct adapter *adapter, struct adapter_conn *conn,
                                  struct server_limits *limits, struct error *error);

/* Records that memory is exhausted; returns FATAL. */
enum status dialect_memory_error(struct error *error);

/* Adds '12:4711', '13:4712', ...: number and port of each session; `no_port` is written when the
 * port is unknown. */
void dialect_add_sessions(struct buffer *sql, const struct session_name *names, size_t count,
                          int no_port);

/* Checks that a statement to be prepared has as many ? (`marks`) as declared types; FATAL if
 * not. */
enum status dialect_check_parameters(const struct statement *statement, size_t marks,
                                     struct error *error);

/* Returns the status of a user's SQL that leaves a transaction open: `status`, or FATAL if it
 * succeeded. */
enum status dialect_refuse_transaction(enum status status, struct error *error);

/* Returns the status of a statement between begin and commit: FATAL if the statement succeeded but
 * ended the transaction (not is_open), else `status`. */
enum status dialect_check_transaction(enum status status, bool is_open, struct error *error);

#endif
