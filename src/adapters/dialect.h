/*
 * Facts about databases that do not depend on the client library: the meaning of their errors,
 * their catalogues and their limits on sessions. A dialect uses no client library: it receives
 * texts and numbers and runs its queries through adapter.run. Dialects are constant, so any thread
 * may use them.
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
    const char *sqlstate; /* SQLSTATE of the failure; "" = unknown */
    const char *text;     /* the server's message */
};

struct dialect_meaning {
    enum status status;
    enum error_kind kind;
    const char *limit; /* value for error.limit */
};

/* A connection for queries to the catalogue, and facts about its session. */
struct dialect_asker {
    const struct adapter *adapter;
    struct adapter_conn *conn;
    const char *schema;      /* schema that the target names; may be NULL */
    const char *user;        /* the user's name, for messages */
    bool prepares;           /* each session keeps one prepared statement on the server */
    bool has_prepared;       /* this session has already prepared the statement of `prepares` */
    unsigned statements;     /* number of other statements that each session keeps prepared */
    unsigned has_statements; /* number of other statements that this session has prepared */

    struct server_facts *facts; /* receives facts from describe; NULL if not needed */
};

struct dialect {
    const char *name; /* the database's name, as in connection_info.dialect */

    /* Classifies a failure. Returns false, and leaves *meaning unchanged, if the failure's meaning
     * is unknown. */
    bool (*classify_error)(const struct dialect_failure *failure, struct dialect_meaning *meaning);

    /* Writes the server's message without the parts that differ from row to row, so that equal
     * causes have equal texts, followed by advice if there is any. `user` is the user's name. */
    void (*write_text)(const struct dialect_failure *failure, const char *user, char *text,
                       size_t size);

    /* Implements adapter.describe. Sets column.native_type to the value that the database's native
     * adapter needs. */
    enum status (*describe)(const struct dialect_asker *asker, const char *table_name,
                            struct table *table, struct error *error);

    /* Optional. Adds the limits that apply to this user to *limits, which is empty or contains only
     * a version. Needs no privilege except to connect. */
    enum status (*limits)(const struct dialect_asker *asker, struct server_limits *limits,
                          struct error *error);

    /* The members below are the same as in struct connection_info. */
    bool (*declare_column)(const struct column *column, bool is_numbered, char *text, size_t size);
    const char *create_tail;
    void (*number_from)(const char *table_name, const char *column_name, char *sql, size_t size);
    bool can_skip_index;
    const char *analyze;
    const struct partition_statements *partitions;
    const struct foreign_key_statements *foreign_keys;
    const struct storage_queries *storage;
    const struct table_mark_statements *table_mark;
    const struct settings_queries *settings;
    const struct integrity_statements *integrity;
    const struct wait_queries *waits;
    const char *lift_row_limit;
    const char *lasting_tables;
    bool has_schemas;
    const char *const *undone;
};

extern const struct dialect dialect_postgresql;
extern const struct dialect dialect_mysql; /* MariaDB, MySQL and compatible servers */
extern const struct dialect dialect_singlestore;
extern const struct dialect dialect_sqlite;
extern const struct dialect dialect_clickhouse;

/* PostgreSQL: column.native_type is the type's number in the catalogue, which never changes
 * (pg_type.dat). This enum lists types that the adapters must distinguish, but enum column_type
 * does not. */
enum postgresql_type {
    POSTGRESQL_NAME = 19,
    POSTGRESQL_JSON = 114,
    POSTGRESQL_CIDR = 650,
    POSTGRESQL_TIMETZ = 1266,
    POSTGRESQL_JSONB = 3802,
};

/* MariaDB, MySQL: values of column.native_type, for types that enum column_type does not
 * distinguish. */
enum mysql_type {
    MYSQL_NATIVE_OTHER,
    MYSQL_NATIVE_TIMESTAMP, /* the server converts values to the session's time zone, unlike for
                               datetime */
    MYSQL_NATIVE_TEXT,      /* addresses and UUIDs in a text column */
};

/* Returns true if the server stores a column's values as bytes. This includes addresses and UUIDs,
 * unless they are in a text column. */
bool dialect_mysql_is_binary(const struct column *column);

/* ClickHouse: the encoding of a value in the format RowBinary. */
enum clickhouse_wire {
    CLICKHOUSE_NONE, /* unknown: values are sent as text only */
    CLICKHOUSE_INT,
    CLICKHOUSE_UINT,
    CLICKHOUSE_FLOAT,
    CLICKHOUSE_STRING,
    CLICKHOUSE_FIXED,
    CLICKHOUSE_UUID,
    CLICKHOUSE_IP4, /* like CLICKHOUSE_UINT, but the text has dots: "192.0.2.1" */
    CLICKHOUSE_IP6, /* like CLICKHOUSE_FIXED, but the text has colons: "2001:db8::1" */
};

/* Composes column.native_type from the encoding and the number of bytes of a value. native_type is
 * 0 if the encoding in RowBinary is unknown. */
#define CLICKHOUSE_NATIVE(wire, width) ((uint32_t)(wire) << 24 | (uint32_t)(width))
#define CLICKHOUSE_WIRE(native) ((enum clickhouse_wire)((native) >> 24))
#define CLICKHOUSE_WIDTH(native) ((native)&0xffffff)

enum {
    /* number of lower bits of a session's number that differ within a process */
    DIALECT_CLICKHOUSE_SESSION_BITS = 24
};

/* Returns connection_info.unsupported for a server of this version ("18.16.1"). */
const struct unsupported *dialect_clickhouse_unsupported(const char *version);

/* Implements declare_column for MariaDB 10.10 or later, which has types for addresses and UUIDs. */
bool dialect_mariadb_declare(const struct column *column, bool is_numbered, char *text,
                             size_t size);

/* Returns true if `failure`, the error of one of this program's own statements, cannot happen with
 * PostgreSQL. The server is then another database that uses PostgreSQL's protocol. */
bool dialect_postgresql_is_foreign(const struct error *failure);

/* Returns the status of a query to PostgreSQL's catalogue. If the server is not PostgreSQL (see
 * dialect_postgresql_is_foreign) and refused the query, returns FATAL, and *error names the query:
 * `query` is the text after "the query" in the message. */
enum status dialect_postgresql_foreign(enum status status, const char *query, struct error *error);

/* Checks whether these bytes are PostgreSQL's answer to a TLS request. */
enum probe_answer dialect_postgresql_recognise(const unsigned char *answer, size_t length);

/* How to read the rows of a query that lists a table's columns. */
struct dialect_columns {
    size_t fields;                                                 /* number of cells in a row */
    void (*read)(struct column *column, const struct cell *cells); /* fills a zeroed column */
};

/* Fills *column from the first cells of a row of a query that lists columns. These cells are, in
 * this order: name, declared type, and whether the column is required, has a default, is generated,
 * is unique. */
enum {
    DIALECT_COMMON_FIELDS = 6
};
void dialect_read_common(struct column *column, const struct cell *cells);

/* Returns the type for a lower-case type name that databases use ("varchar", "json text"), or
 * COLUMN_UNSUPPORTED for an unknown name. */
enum column_type dialect_type_of(const char *name);

/* Splits a declared type, for example `DECIMAL (10,2)`, into its name in lower case and its
 * numbers. Returns the number of numbers, 0 to 2. */
int dialect_split_type(const char *declared, char *name, size_t size, unsigned long numbers[2]);

/* Runs the query `sql` with the table's name as its parameter, and adds a column to *table for each
 * row of the answer. */
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

/* Adds the number and the port of each session: '12:4711', '13:4712', .... If a port is unknown,
 * writes `no_port` instead. */
void dialect_add_sessions(struct buffer *sql, const struct session_name *names, size_t count,
                          int no_port);

/* Checks that the number of parameters in a statement's text equals the number of types that the
 * statement declares. `marks` is the number of ? in the text. Returns FATAL if the numbers
 * differ. */
enum status dialect_check_parameters(const struct statement *statement, size_t marks,
                                     struct error *error);

/* Handles a user's SQL that has left a transaction open; `status` is the status of the SQL. If
 * `status` is OK, records an error and returns FATAL; otherwise returns `status`. */
enum status dialect_refuse_transaction(enum status status, struct error *error);

/* Checks a statement that ran between begin and commit; `status` is the statement's status. If
 * `status` is OK but the statement has ended the transaction (not is_open), records an error and
 * returns FATAL; otherwise returns `status`. */
enum status dialect_check_transaction(enum status status, bool is_open, struct error *error);

#endif
