/*
 * The adapter contract: everything that append asks of a database.
 *
 * An adapter is one `const struct adapter` with static lifetime. It defines struct adapter_conn for
 * itself. One connection is used by one thread at a time (interrupt is the one exception). An
 * adapter never prints, exits, sleeps, retries, keeps statistics, has writable statics, or reads a
 * clock but for the deadline of open: retry, pacing and accounting belong to the session, so that
 * they are counted.
 *
 * Every operation that can fail returns enum status and records the first error in *error: `error`
 * is never NULL, and no adapter checks for it. Operations of which several adapters can share one
 * function get the adapter, whose constants tell them apart.
 *
 * An adapter is built in, or a shared library of its own (struct adapter_module, below). Stable for
 * the latter is what the headers of include/append declare, as long as ADAPTER_ABI stays the same:
 * a program with another one refuses the library, which is then to be built again, and perhaps
 * changed. Nothing else of the program can be called.
 *
 * After any result but STATUS_OK from append_open, append_rows or append_close no append is open.
 * After STATUS_LOST the only valid operations on the connection are append_lost, drop and close.
 */
#ifndef APPEND_ADAPTER_H
#define APPEND_ADAPTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/api.h"
#include "append/error.h"
#include "append/row.h"

/* What adapter.flags says. */
enum adapter_flag {
    ADAPTER_EMBEDDED = 1,      /* the database runs inside this process: no server to sample */
    ADAPTER_DISCARDS = 2,      /* rows are thrown away: count(*) cannot be verified */
    ADAPTER_FILE = 4,          /* the target is a path, not host and port */
    ADAPTER_STRING = 8,        /* the target is a text for the client library: scheme:text */
    ADAPTER_ONE_DATABASE = 16, /* a server has but one: the target names none */
    ADAPTER_LOADS = 32,        /* start loads the client library: target.client_lib */
    ADAPTER_CLAUSES = 64,      /* behind an engine's name stands what it needs: "MergeTree() ..." */
    ADAPTER_WATCHED = 128,     /* a thread watches over its connects, one over all of them */
};

struct adapter_library; /* a client library loaded at run time; defined by its adapter for itself */

/* What an adapter learns of a server by describe and server_limits. A connection that has not
 * called them uses target.facts. */
struct server_facts {
    uint64_t statement_bytes_max; /* the server takes no longer statement; 0 = not known */
    bool has_no_bulk_path;        /* it does not know the adapter's fastest way */
    bool is_pooled;      /* a pooler may run each statement in another session of the server */
    bool has_no_columns; /* tables have no declared columns: a row may have any */

    /* The storage engines that cannot undo, "MyISAM,Aria": of a statement that fails the rows
     * before the failing one stay. */
    char lasting_engines[320];
};

/* Where to connect. Members that were not given are NULL or 0, and the client library's own
 * defaults and environment apply. Read-only. It may end with open; its texts, `library` and `facts`
 * outlive every connection and do not change.
 */
struct target {
    const char *scheme; /* name of the adapter */
    const char *url;    /* as given, when a URL was given; the other members override it */
    const char *path;   /* ADAPTER_FILE: the database file; ADAPTER_STRING: the text */
    const char *host;   /* name, address, or folder of a Unix socket */
    uint16_t port;
    const char *user;
    const char *password; /* never printed */
    const char *database;
    const char *schema; /* namespace in which the table lives */
    const char *query;  /* parameters of the URL, still encoded (append/url.h) */
    const char *method; /* one of adapter.methods, and no other will do; NULL = the first of them
                           that the server can do */
    const char *client_lib;                /* ADAPTER_LOADS: file or folder of the client library */
    const struct adapter_library *library; /* what adapter.start made; may be NULL */
    const struct server_facts *facts;      /* what an earlier connection learned; NULL: nothing */
    unsigned connect_timeout_s;            /* at least 1 */
    unsigned answer_timeout_ms; /* how long TCP waits for a peer that acknowledges nothing; 0 = the
                                   adapter's choice */
    unsigned prepared_statements; /* that a session keeps on the server beside the adapter's own */
    bool makes_nothing;           /* open does not make a database that is missing */

    /* May be NULL. Asked now and then while open waits; true = give up, as LOST with
     * ERROR_CANCELLED. Any thread. */
    bool (*is_cancelled)(void);

    /* May be NULL. Asked once by adapters whose servers speak first, when one has been connected to
     * and has sent nothing for some seconds: true = it speaks another protocol; open gives up, as
     * LOST with ERROR_CANCELLED. Takes up to 1 s, which does not count. The thread of open. */
    bool (*is_another)(void *silence_context);
    void *silence_context;
};

enum {
    SESSION_LIMITS_MAX = 6
};

/* One setting of a server that limits the number of sessions, as it applies to this user. */
struct session_limit {
    char name[64];    /* as in the server's manual: "max_connections" */
    uint64_t allowed; /* sessions in all, those reserved for others taken off */
    uint64_t used;    /* open now and counted by this limit, this one included */
    char note[120];   /* how `allowed` comes about; may be empty */
    char fix[200];    /* how it is raised: a statement, or a line of a file; N stands for the
                         sessions, N+3 for three more, N*3 for three times as many */
};

/* What a server says about itself. 0 and "" mean that it does not say. */
struct server_limits {
    char version[80];
    size_t count; /* limits that apply; those that are switched off are left out */
    struct session_limit sessions[SESSION_LIMITS_MAX];
    unsigned tasks_per_session; /* processes or threads that the server has for each session of its
                                   own; 0 = sessions share them */
    unsigned files_per_session; /* descriptors that its listening process keeps for each */
    bool is_pooled;             /* a pooler listens in front of it, whose limits it does not know */
};

/* What append itself asks for and orders, in a database's own words: $0 stands for the table's
 * name, $1 to $3 for its columns n1 to n3, all quoted; $4 for a run's tag, which is in n1. NULL:
 * this database has no words for it. */
struct words {
    const char *count;   /* its rows, one number: "select count(*) from $0" */
    const char *nothing; /* a question that costs nothing: "select 1" */
    const char *create;  /* makes it, where its columns need not be declared; NULL: they need */
    const char *drop;    /* if it is there */
    const char *tags;    /* the different values of $1 */
    const char *rows;    /* $2 and $3 of the rows whose $1 is $4; -1 where one is NULL */
    const char *unread;  /* how much the server has acknowledged and does not show yet, one number;
                            NULL: it shows what it acknowledges */
};

/* A kind of statement that a database does not have. */
struct lack {
    const char *words; /* how such a statement begins: "update", "create index" */
    const char *why;   /* a sentence without a stop: what there is instead */
};

/* How a server is asked what it keeps on disk: $0 as above, $5 the table's name as a text. */
struct storage_words {
    const char *directory; /* where its files are, as its own machine sees them; NULL: not told */
    bool works_there;      /* its process has it as its working directory */
    const char *const *sizes; /* bytes of the table with its indexes, one number; the first that is
                                 answered by one counts; NULL-terminated */
    const char *right;        /* what this user lacks where none is; NULL: nothing is known */
    const char *counters;     /* names and numbers: what the server has counted of its writes and
                                 syncs; NULL: it does not */
};

/* How a database keeps a short text with a table, which goes when the table goes: the mark by which
 * append knows the tables that it made. $0 stands for the table's name, $1 for that as a literal,
 * $6 for the text as a literal, $7 for the table's first column, $8 and $9 for the new and the old
 * text as names. */
#define TABLE_MARK_PREFIX "made by append: "
struct table_mark_words {
    const char *read;  /* the text, one cell; ? is the table's name, here and in the next two */
    const char *place; /* one cell: the name with what tells the table from a copy that took the
                          text along: its database, and its number where tables have one */
    const char *const *others; /* what of others hangs on the table, a cell each, "orders refers to
                                  it"; each is asked; NULL-terminated */
    const char *write;         /* in place of the text that is there */
    const char *write_parts;   /* to the parts of a table that append has just made; NULL: none */
    const char *erase; /* NULL: write replaces; else sent before write where there is an old text */
    /* Sent before and after rows of append's own are deleted: in between no foreign key may take
     * rows of other tables along, which `others` cannot name where the user may not see them. NULL:
     * `others` sees all. */
    const char *begin_delete, *end_delete;
};

/* How a server is asked for its settings that decide durability and speed, as this session has
 * them; and values that weaken durability. */
struct settings_words {
    const char *const *queries;  /* names and values, a row each; the first that is answered counts;
                                    NULL-terminated */
    const char *const *of_table; /* the same of a table, ? is its name, each is asked: a row where
                                    its rows are not durable, its value the name; its indexes,
                                    triggers and foreign keys; NULL-terminated */
    const struct weak_setting {
        const char *name, *value; /* NULL: any */
        const char *why;          /* what can be lost */
    } * weak;                     /* ends with a zeroed one */
};

enum {
    SERVER_SETTINGS_MAX = 96 /* the queries give at most 64 */
};

/* What it answered. */
struct server_settings {
    size_t count;
    struct server_setting {
        char name[64], value[96];
    } entries[SERVER_SETTINGS_MAX];
};

/* A session as the server can tell it from all others. */
struct session_name {
    uint64_t number; /* the server's for it */
    uint16_t port;   /* of this side of the connection, as the server sees it; 0: it has none */
};
enum {
    SESSION_NAMES_MAX = 500 /* that end_sessions is given at a time */
};

/* What an open connection knows about itself. "" and 0 mean that it does not know. */
struct connection_info {
    char host[256]; /* where it goes: name, address, Unix socket or the folder of one */
    uint16_t port;
    char user[128];
    char database[128];
    bool is_embedded;      /* the database runs inside this process, be the adapter for servers */
    char dialect[32];      /* of SQL, by the name of the database's own adapter */
    char identifier_quote; /* '"' or '`'; 0: names are not quoted */
    const char *not_in_names;  /* characters that no quoting makes part of a name; NULL: none */
    const char *method;        /* in use: one of adapter.methods; static */
    const struct words *words; /* static; NULL: those of SQL */
    const struct storage_words *storage; /* static; NULL: none */
    const struct table_mark_words
        *table_mark; /* static; NULL: the database keeps no text with a table */
    const struct settings_words *settings; /* static; NULL: none are known */
    const char *ask_for_all; /* lifts a setting of the server that limits the rows of answers, for
                                this connection; static; NULL: there is no such setting */
    char address[64];        /* where it really goes; "": to `host` */
    bool has_made_database;  /* open made the database, which was missing */

    const struct lack *lacks; /* static; ends with a zeroed one; NULL: none is known */
    struct server_facts facts;

    /* How this database makes a table that a script declares; NULL: it has none of that.
     * declare_column writes what stands behind a column's name in CREATE TABLE: type, NOT NULL, and
     * with `is_numbered` that the database numbers the rows of which it is left out; false: it has
     * no such type. create_tail stands behind the closing bracket; where it ends in "()" the
     * columns of the key go in there, otherwise they are a PRIMARY KEY. number_from writes the
     * statement that makes such numbers begin behind those that are in the table; "": none is
     * needed. */
    bool (*declare_column)(const struct column *column, bool is_numbered, char *text, size_t size);
    const char *create_tail;
    void (*number_from)(const char *table_name, const char *column_name, char *sql, size_t size);
    char note[240]; /* one line that a user should know about how this connection works */
};

enum {
    STATEMENT_SLOTS_MAX = 4096
};

/* What is run. Const, outlives every connection that ran it. */
struct statement {
    const char *sql;  /* in this database's dialect; parameters as ? outside quotes and comments */
    const char *name; /* for messages; NULL: it has none */
    bool is_prepared; /* one statement, run again and again: prepared where that pays; otherwise
                         one or several are sent as text, each time */
    bool reads_numbers; /* one query, whose values are whole numbers and whose rows may be millions:
                           as it costs the least a row */
    unsigned slot; /* 1 … STATEMENT_SLOTS_MAX: a connection keeps it prepared, beside those of
                      other slots; 0: the adapter keeps the latest of these */
    const struct table *parameters; /* with a slot: a column for each ?, name "", with type, size,
                                       precision and scale; NULL: it has none */
};

/* How a transaction begins. */
struct transaction {
    const char *isolation; /* "serializable", "repeatable read", "read committed", "read
                              uncommitted"; NULL: the server's choice */
    bool writes; /* some statement of it will: a database that locks as a whole may do so at once */
};

/* One value of a row. Adapters whose client libraries give text leave it at that. */
struct cell {
    enum column_type type; /* COLUMN_INT64 or COLUMN_TEXT */
    bool is_null;
    union {
        int64_t int64;
        struct text_value text;
    } as;
};

/* What becomes of the rows that a statement returns. */
struct answer {
    /* Takes one row, whose cells are borrowed; false = enough. NULL: rows are only counted. */
    bool (*take)(void *context, const struct cell *cells, size_t count);
    void *context;
    uint64_t rows; /* out: rows returned; of a statement that returns none, rows that it matched */
};

/* What became of the rows of an append that was LOST. What was handed over beyond them and those
 * that were accepted was never sent. */
struct append_loss {
    uint64_t refused;  /* before the loss */
    uint64_t in_doubt; /* on their way when it came, behind all others */
};

/* Whether a prepared statement could not run as it was prepared: the server has forgotten it, or a
 * table has changed. */
enum staleness {
    STALE_NOT,
    STALE_AGAIN,  /* nothing was done: it is to be prepared again, and run again */
    STALE_UNDONE, /* nothing was done, and the transaction was rolled back */
};

struct adapter_conn;     /* one connection; defined by each adapter for itself */
struct adapter_prepared; /* a statement that a connection keeps prepared; in the same way */
struct dialect;          /* adapters/dialect.h: of adapters that are built in */
struct probe;            /* append/client_socket.h */

struct adapter {
    const char *name;           /* also the URL scheme: lower case */
    const char *const *aliases; /* NULL-terminated: other names that users give it; NULL: none. Of
                                   adapters that are built in */
    const char *summary;        /* one line for --help */
    unsigned flags;             /* enum adapter_flag, or-ed */
    uint16_t default_port;
    char identifier_quote;     /* '"' or '`'; 0: names are not quoted; see also inspect */
    const char *engine_clause; /* what stands between CREATE TABLE (...) and the name of a storage
                                  engine; NULL = a table cannot choose one */
    const char *syslog_sql; /* makes the default table, syslog_table, as schemas/syslog does for the
                               databases of adapters that are built in; NULL: it is not made */
    size_t stack_bytes;     /* stack that a session's thread needs with this client library */
    unsigned files_per_session; /* descriptors that one connection keeps open */

    /* Constants for operations that are shared; each may be NULL. */
    const struct dialect *dialect; /* if it has exactly one */
    const struct probe *probe;     /* how its servers are recognised */
    const void *own;               /* as the adapter defines them for itself */

    /* Optional. In place of files_per_session, where the target decides; *opening are those that
     * open needs beside them for itself. */
    unsigned (*count_files)(const struct target *target, unsigned *opening);

    const char *const *methods; /* NULL-terminated, first = default; NULL = one way only */

    /* Optional. The client library, loading it (`client_lib` is target.client_lib) and its global
     * state: main thread, once, before anything but client_version and recognise. On OK *library,
     * which may stay NULL, goes to every open in target.library, and to stop after the last close.
     * FATAL: where it was looked for, or which symbol it lacks. Both or neither. */
    enum status (*start)(const char *client_lib, struct adapter_library **library,
                         struct error *error);
    void (*stop)(struct adapter_library *library);

    /* Optional. Writes the client library's name and version, at most `size` bytes. */
    void (*client_version)(char *text, size_t size);

    /* Optional. Says who listens on a port: OK = this adapter's protocol, REJECTED = another one,
     * LOST = no connection. */
    enum status (*recognise)(const struct adapter *adapter, const char *host, uint16_t port,
                             unsigned timeout_ms, struct error *error);

    /* Connects. On OK *conn is owned by the caller, who ends it with close; otherwise it is NULL.
     * LOST = not reachable, timed out or no room (see error.kind); FATAL = credentials or database
     * are wrong. */
    enum status (*open)(const struct adapter *adapter, const struct target *target,
                        struct adapter_conn **conn, struct error *error);

    /* Disconnects and frees. Takes NULL, cannot fail, does not wait for a dead server. */
    void (*close)(struct adapter_conn *conn);

    /* Optional. The one operation for another thread: makes a call that is blocked in this
     * connection return soon, as LOST. The connection is open for the length of the call. */
    void (*interrupt)(struct adapter_conn *conn);

    /* Optional, both or none. name_session: for another thread, as interrupt. end_sessions, on
     * another connection: ends those sessions of this user's that have these names, whatever they
     * are at work with, as far as there is time until a moment of CLOCK_MONOTONIC in ns, and adds
     * to *ended how many there were. */
    void (*name_session)(struct adapter_conn *conn, struct session_name *name);
    enum status (*end_sessions)(struct adapter_conn *conn, const struct session_name *names,
                                size_t count, int64_t until_ns, uint64_t *ended,
                                struct error *error);

    /* Optional. Changes what is known better than from target and adapter, with which the caller
     * has filled *info. Asks nobody. */
    void (*inspect)(const struct adapter *adapter, struct adapter_conn *conn,
                    struct connection_info *info);

    /* Runs one or more statements that return nothing (DDL). */
    enum status (*execute)(struct adapter_conn *conn, const char *sql, struct error *error);

    /* Fills an uninitialised *table with every column of an existing table, generated ones
     * included. On OK the caller owns it (table_fini), otherwise it owns nothing. No such table:
     * REJECTED with ERROR_NOT_FOUND; no such schema: FATAL with ERROR_NOT_FOUND. */
    enum status (*describe)(const struct adapter *adapter, struct adapter_conn *conn,
                            const char *table_name, struct table *table, struct error *error);

    /* Optional. Before the sessions begin: does for the appends to come what needs to be done once
     * a connection, such as preparing statements. What fails here is left to append_open. */
    void (*get_ready)(struct adapter_conn *conn, const struct table *table);

    /* Opens one append into the columns of `table`, which outlives the connection. REJECTED with
     * ERROR_BUSY: the session may call again. */
    enum status (*append_open)(struct adapter_conn *conn, const struct table *table,
                               struct error *error);

    /* Hands over 1 to ROW_BATCH_MAX rows; called any number of times, 0 included. A call that fails
     * ends the append, and sets *kept to the number of rows of this append that the server
     * acknowledged as kept. The caller sets *kept to 0 before: an adapter of which all rows are
     * kept or none leaves it alone. */
    enum status (*append_rows)(struct adapter_conn *conn, const struct batch *batch, uint64_t *kept,
                               struct error *error);

    /* Ends the append. *accepted is set whatever the result: the rows of this append that the
     * server acknowledged as kept. REJECTED: the others were refused. */
    enum status (*append_close)(struct adapter_conn *conn, uint64_t *accepted, struct error *error);

    /* Optional. Once append_rows or append_close was LOST, before close: fills the zeroed *loss.
     * NULL: what was handed over and not accepted is in doubt. */
    void (*append_lost)(const struct adapter_conn *conn, struct append_loss *loss);

    /* Runs a statement and hands its rows to answer->take; the one way to ask a database.
     * `parameters` is a batch of one row, the values of the statement's ?; NULL = it has none. When
     * take returns false the rest is given up, and the result is OK; the connection may then be
     * LOST. Outside begin … commit each statement is a transaction of its own, and nothing of one
     * that leaves a transaction open is kept: FATAL with ERROR_USAGE. The same, between them, after
     * a statement that ended the transaction, where the database says so. */
    enum status (*run)(struct adapter_conn *conn, const struct statement *statement,
                       const struct batch *parameters, struct answer *answer, struct error *error);

    /* Optional. Prepares a statement. *prepared is NULL, or what an earlier call made, whether that
     * succeeded or not: the statement takes its place, also on the server. On OK *prepared is what
     * run_prepared runs; where it is still NULL the statement was only checked, and run runs it. */
    enum status (*prepare)(struct adapter_conn *conn, const struct statement *statement,
                           struct adapter_prepared **prepared, struct error *error);

    /* With prepare, if that ever makes something; both. run_prepared: as run. *stale is STALE_NOT;
     * a call that is REJECTED may set it. drop: frees what prepare made, before its connection is
     * closed. It waits for no answer: what the server keeps goes with the connection. */
    enum status (*run_prepared)(struct adapter_conn *conn, struct adapter_prepared *prepared,
                                const struct batch *parameters, struct answer *answer,
                                enum staleness *stale, struct error *error);
    void (*drop)(struct adapter_conn *conn, struct adapter_prepared *prepared);

    /* Optional, all three or none. After a statement that was REJECTED rollback alone is valid.
     * REJECTED: of begin, none is open; of commit, the server undid it (error.kind says why), and
     * none is open; commit LOST: whether it was kept is not known. */
    enum status (*begin)(struct adapter_conn *conn, const struct transaction *transaction,
                         struct error *error);
    enum status (*commit)(struct adapter_conn *conn, struct error *error);
    enum status (*rollback)(struct adapter_conn *conn, struct error *error);

    /* Optional. Asks the server about its version and limits. */
    enum status (*server_limits)(const struct adapter *adapter, struct adapter_conn *conn,
                                 struct server_limits *limits, struct error *error);
};

/* Bytes of the structs that adapters and the program hand to each other: a member more is found
 * also where ADAPTER_ABI was forgotten. */
#define ADAPTER_STRUCT_BYTES                                                                       \
    (sizeof(struct adapter) + sizeof(struct target) + sizeof(struct server_facts) +                \
     sizeof(struct server_limits) + sizeof(struct connection_info) + sizeof(struct words) +        \
     sizeof(struct storage_words) + sizeof(struct table_mark_words) +                              \
     sizeof(struct settings_words) + sizeof(struct statement) + sizeof(struct answer) +            \
     sizeof(struct append_loss) + sizeof(struct column) + sizeof(struct table) +                   \
     sizeof(struct batch) + sizeof(struct error) + sizeof(struct transaction) +                    \
     sizeof(struct session_name) + sizeof(struct cell) + sizeof(struct column_data) +              \
     sizeof(struct text_value) + sizeof(struct column_kind))

/* What a shared library NAME.so exports, under this name, when it is the adapter called NAME:
 *
 *     const struct adapter_module append_adapter_module = {
 *         ADAPTER_ABI, ADAPTER_STRUCT_BYTES, &adapter_NAME};
 *
 * Loading it must do no more than that: `start` is where a client library is made ready. */
struct adapter_module {
    uint32_t abi;
    uint32_t struct_bytes;
    const struct adapter *adapter;
};
#define ADAPTER_MODULE_SYMBOL "append_adapter_module"
extern const struct adapter_module append_adapter_module __attribute__((visibility("default")));

#endif
