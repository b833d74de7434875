/*
 * What databases say, whichever client library brings it: the meaning of their errors, their
 * catalogues, their limits on sessions. A dialect knows no library: it is given words and numbers,
 * and asks through adapter.run. Const; any thread.
 */
#ifndef ADAPTERS_DIALECT_H
#define ADAPTERS_DIALECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"
#include "append/client_socket.h"
#include "base/text.h"

/* A failed call, as far as the client library tells. */
struct dialect_failure {
    bool is_connecting;   /* it was a connect: then nothing is REJECTED */
    int number;           /* the database's own; 0 = none */
    const char *sqlstate; /* "" = none */
    const char *text;     /* the server's words */
};

struct dialect_meaning {
    enum status status;
    enum error_kind kind;
    const char *limit; /* see error.limit */
};

/* Who asks a catalogue. */
struct dialect_asker {
    const struct adapter *adapter;
    struct adapter_conn *conn;
    const char *schema;      /* that the target names, or NULL */
    const char *user;        /* for messages */
    bool prepares;           /* each session keeps one prepared statement on the server */
    bool has_prepared;       /* this one does already */
    unsigned statements;     /* that each session keeps prepared beside it */
    unsigned has_statements; /* of those, this one */

    struct server_facts *facts; /* describe adds what it learns; NULL: not wanted */
};

struct dialect {
    const char *name; /* of the database, as in connection_info.dialect */

    /* False: it is not known here what the failure means. */
    bool (*explain)(const struct dialect_failure *failure, struct dialect_meaning *meaning);

    /* Writes the server's words without what differs from row to row, so that equal causes have
     * equal texts, and behind them what can be done. `user` as in struct dialect_asker. */
    void (*write_text)(const struct dialect_failure *failure, const char *user, char *text,
                       size_t size);

    /* See adapter.describe. column.native_type is what the native adapter takes it for. */
    enum status (*describe)(const struct dialect_asker *asker, const char *table_name,
                            struct table *table, struct error *error);

    /* Optional. Adds to *limits, which holds a version or nothing, the limits that apply to this
     * user. Needs no rights beyond connecting. */
    enum status (*limits)(const struct dialect_asker *asker, struct server_limits *limits,
                          struct error *error);

    /* As in struct connection_info. */
    bool (*declare_column)(const struct column *column, bool is_numbered, char *text, size_t size);
    const char *create_tail;
    void (*number_from)(const char *table_name, const char *column_name, char *sql, size_t size);
    const struct storage_words *storage;
    const struct table_mark_words *table_mark;
    const struct settings_words *settings;
    const char *ask_for_all;
};

extern const struct dialect dialect_postgresql;
extern const struct dialect dialect_mysql; /* MariaDB, MySQL and their kin */
extern const struct dialect dialect_singlestore;
extern const struct dialect dialect_sqlite;
extern const struct dialect dialect_clickhouse;

/* PostgreSQL: column.native_type is the number of the type in the catalogue, fixed for ever
 * (pg_type.dat). Those that matter beyond their enum column_type: */
enum postgresql_type {
    POSTGRESQL_NAME = 19,
    POSTGRESQL_JSON = 114,
    POSTGRESQL_CIDR = 650,
    POSTGRESQL_TIMETZ = 1266,
    POSTGRESQL_JSONB = 3802,
};

/* MariaDB, MySQL: column.native_type, what there is to know of a type beyond its enum column_type.
 */
enum mysql_type {
    MYSQL_NATIVE_OTHER,
    MYSQL_NATIVE_TIMESTAMP, /* read in the session's time zone, unlike datetime */
    MYSQL_NATIVE_TEXT,      /* addresses and UUIDs written out in a column of text */
};

/* Bytes of any kind, not text: addresses and UUIDs, too, unless a column of text holds them. */
bool dialect_mysql_is_binary(const struct column *column);

/* ClickHouse: how a value is written in its format RowBinary. */
enum clickhouse_wire {
    CLICKHOUSE_NONE, /* not known: as text only */
    CLICKHOUSE_INT,
    CLICKHOUSE_UINT,
    CLICKHOUSE_FLOAT,
    CLICKHOUSE_STRING,
    CLICKHOUSE_FIXED,
    CLICKHOUSE_UUID,
    CLICKHOUSE_IP4, /* as CLICKHOUSE_UINT, CLICKHOUSE_FIXED, but for their text */
    CLICKHOUSE_IP6,
};

/* column.native_type: the wire, and the bytes of a value; 0: no form in RowBinary is known. */
#define CLICKHOUSE_NATIVE(wire, width) ((uint32_t)(wire) << 24 | (uint32_t)(width))
#define CLICKHOUSE_WIRE(native) ((enum clickhouse_wire)((native) >> 24))
#define CLICKHOUSE_WIDTH(native) ((native)&0xffffff)

/* As in struct connection_info, of a server of this version: "18.16.1". */
const struct lack *dialect_clickhouse_lacks(const char *version);

/* declare_column for servers that are of MariaDB 10.10 or later: they have types for addresses and
 * UUIDs. */
bool dialect_mariadb_declare(const struct column *column, bool is_numbered, char *text,
                             size_t size);

/* True when a statement of append's own was refused in a way in which no PostgreSQL refuses it: the
 * server only speaks its protocol. */
bool dialect_postgresql_is_foreign(const struct error *failure);

/* What a question to PostgreSQL's catalogue came to: where a foreign server refused it, *error says
 * so, and what was asked; `what` follows "asked". */
enum status dialect_postgresql_foreign(enum status status, const char *what, struct error *error);

/* Whether these bytes are PostgreSQL's answer to a question for TLS. */
enum probe_answer dialect_postgresql_judge(const unsigned char *answer, size_t length);

/* The rows of a query for columns. */
struct dialect_columns {
    size_t fields;                                                 /* cells of a row */
    void (*read)(struct column *column, const struct cell *cells); /* into a zeroed column */
};

/* The first cells of such a row, where a query has them in this order: name, declared type, is
 * required, has a default, is generated, is unique. */
enum {
    DIALECT_COMMON_FIELDS = 6
};
void dialect_read_common(struct column *column, const struct cell *cells);

/* The type of a name that databases declare columns by ("varchar", "json text"), lower case;
 * COLUMN_UNSUPPORTED: a name that is not known. */
enum column_type dialect_type_of(const char *name);

/* Splits `DECIMAL (10,2)` into "decimal" and its numbers; returns how many there are, 0 to 2. */
int dialect_split_type(const char *declared, char *name, size_t size, unsigned long numbers[2]);

/* Adds the columns that `sql` returns for the name of the table. */
enum status dialect_read_columns(const struct dialect_asker *asker, const char *sql,
                                 const struct dialect_columns *columns, struct table *table,
                                 struct error *error);

/* Adds a limit; NULL when there is no room for one more. */
struct session_limit *dialect_add_limit(struct server_limits *limits, const char *name,
                                        int64_t allowed, int64_t used);

/*
 * What adapters share.
 */

/* Records a failure that means this; returns its status. */
enum status dialect_record(const struct dialect_meaning *meaning,
                           const struct dialect_failure *failure, const char *text,
                           struct error *error);

/* Tells how the dialect makes tables. */
void dialect_inspect(const struct dialect *dialect, struct connection_info *info);

/* As adapter.describe and adapter.server_limits, for adapters whose dialect needs only the
 * connection. */
enum status dialect_describe(const struct adapter *adapter, struct adapter_conn *conn,
                             const char *table_name, struct table *table, struct error *error);
enum status dialect_server_limits(const struct adapter *adapter, struct adapter_conn *conn,
                                  struct server_limits *limits, struct error *error);

/* Records that this program has no memory: FATAL. */
enum status dialect_memory_error(struct error *error);

/* Adds '12:4711', '13:4712', ...: number and port of each; `no_port` is how the server writes none.
 */
void dialect_add_sessions(struct buffer *sql, const struct session_name *names, size_t count,
                          int no_port);

/* Whether a statement that is to be prepared has as many ? as types for them; no: FATAL. */
enum status dialect_check_parameters(const struct statement *statement, size_t marks,
                                     struct error *error);

/* What the user's SQL, which came to `status`, comes to because it leaves a transaction open. */
enum status dialect_refuse_transaction(enum status status, struct error *error);

/* The status of a statement that came to `status` within begin … commit; is_open: the transaction
 * goes on. FATAL after one that ended it, unless it failed. */
enum status dialect_check_transaction(enum status status, bool is_open, struct error *error);

#endif
