/*
 * The adapter contract: everything that this program requires of a database.
 *
 * An adapter is a `const struct adapter` with static lifetime. The adapter defines struct
 * adapter_conn, which represents a connection. One thread at a time uses a connection; only
 * interrupt and name_session may be called by a second thread. An adapter never prints, exits,
 * retries or keeps statistics. An adapter sleeps only while another session has locked a database
 * that runs inside the program. An adapter reads a clock only for the deadlines of open, of a
 * reconnect and of end_sessions. The only writable statics of an adapter are an atomic counter that
 * numbers the connections, and thread-local variables for the callbacks of a client library.
 * Retries, pacing and accounting are the work of the session, which calls the adapter.
 *
 * Every operation that can fail returns enum status and records its first error in *error. `error`
 * is never NULL, and adapters do not check for NULL. An operation that several adapters can share
 * receives the adapter and reads the adapter's constants.
 *
 * An adapter is either built in or a shared library (struct adapter_module, below). For shared
 * libraries, the declarations in include/append are stable as long as ADAPTER_ABI stays the same. A
 * program that was built with a different ADAPTER_ABI refuses the library; the library must then be
 * rebuilt, and its code may need changes. A library can call only those functions of the program
 * that include/append declares.
 *
 * An append transfers rows to one table: append_open begins the append, append_rows hands over
 * rows, and append_close ends the append. After any of these three operations has failed, no append
 * is open. After STATUS_LOST, only append_lost, drop and close are valid on the connection.
 */
#ifndef APPEND_ADAPTER_H
#define APPEND_ADAPTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/api.h"
#include "append/error.h"
#include "append/row.h"

/* Values of adapter.flags. */
enum adapter_flag {
    ADAPTER_EMBEDDED = 1, /* the database runs inside this process, not in a server */
    ADAPTER_DISCARDS = 2, /* the database discards all rows, so count(*) cannot verify them */
    ADAPTER_FILE = 4,     /* the target is a path, not a host and port */
    ADAPTER_STRING = 8,   /* the target is "scheme:string"; the client library reads the string */
    ADAPTER_ONE_DATABASE = 16, /* a server has one database, which targets do not name */
    ADAPTER_LOADS = 32,    /* `start` loads a client library; target.client_lib may name the file */
    ADAPTER_CLAUSES = 64,  /* clauses may follow a storage engine's name: "MergeTree() ..." */
    ADAPTER_WATCHED = 128, /* a thread watches attempts to connect (client_socket_connect) */
};

struct adapter_library; /* a client library loaded at run time; each adapter defines its own */

/* Facts about a server, which the operations `describe` and `server_limits` find out. Until one of
 * the two has been called, a connection uses target.facts. */
struct server_facts {
    uint64_t statement_bytes_max; /* greatest length of a statement that the server accepts, in
                                     bytes; 0 = unknown */
    bool has_no_bulk_path;        /* the server lacks the adapter's fastest way to insert rows */
    bool is_pooled;      /* a pooler may run each statement in a different server session */
    bool has_no_columns; /* tables have no declared columns: a row may have any columns */

    /* Names of the storage engines that cannot roll back, for example "MyISAM,Aria". When a
     * statement fails at one row, tables of these engines keep the rows before that row. */
    char lasting_engines[320];
};

/* Where and how to connect. A member that the user did not give is NULL or 0; the client library's
 * defaults and environment then apply. Adapters do not change the struct. The struct need only live
 * until open returns, but its strings, `library` and `facts` outlive every connection and do not
 * change. */
struct target {
    const char *scheme; /* name of the adapter */
    const char *url;    /* the URL as the user gave it; NULL if the target is not a URL; the other
                           members override parts of the URL */
    const char *path;   /* ADAPTER_FILE: path of the database file; ADAPTER_STRING: the string after
                           the scheme */
    const char *host;   /* name or address of the server, or folder of its Unix socket */
    uint16_t port;
    const char *user;
    const char *password; /* the user's password; never printed */
    const char *database;
    const char *schema;     /* namespace in which the table lives */
    const char *query;      /* parameters of the URL, still encoded (append/url.h) */
    const char *method;     /* one of adapter.methods; open fails if the server does not support it.
                               NULL = the first method that the server supports */
    const char *client_lib; /* ADAPTER_LOADS: file or folder of the client library */
    /* the client library that adapter.start returned; may be NULL */
    const struct adapter_library *library;
    /* facts learned through an earlier connection; NULL = unknown */
    const struct server_facts *facts;
    unsigned connect_timeout_s;   /* time limit of a connect, in s; at least 1 */
    unsigned answer_timeout_ms;   /* time for which sent data or a probe may stay unacknowledged
                                     before TCP ends the connection, in ms; 0 = the adapter's
                                     choice */
    unsigned prepared_statements; /* number of statements that a session keeps prepared on the
                                     server, besides the adapter's own statements */
    bool creates_nothing;         /* open does not create a missing database */

    /* May be NULL. Any thread may call the function from time to time while open waits. If the
     * function returns true, open gives up and returns LOST with ERROR_CANCELLED. */
    bool (*is_cancelled)(void);

    /* May be NULL. Used with protocols in which the server sends the first bytes. If a server
     * accepts the connection but sends nothing for some seconds, open calls the function once, in
     * the thread that called open. The function returns true if the server speaks another protocol;
     * open then gives up and returns LOST with ERROR_CANCELLED. The call may take up to 1 s, which
     * does not count towards the time limit of open. */
    bool (*speaks_another_protocol)(void *silence_context);
    void *silence_context;
};

enum {
    SESSION_LIMITS_MAX = 6
};

/* A server setting that limits the number of sessions, with the values that apply to this user. */
struct session_limit {
    char name[64];    /* the setting's name in the server's manual: "max_connections" */
    uint64_t allowed; /* number of sessions that the limit allows, minus the sessions that are
                         reserved for other users */
    /* number of open sessions that count towards this limit, including this connection */
    uint64_t used;
    char note[120]; /* explanation of how `allowed` was computed; may be empty */
    /* how to raise the limit: a statement or a line of a file; N stands for the number of sessions,
     * N+3 for three more sessions, N*3 for three times as many */
    char fix[200];
};

/* Facts that a server reports about itself. 0 and "" mean unknown. */
struct server_limits {
    char version[80];
    size_t count; /* number of entries in `sessions`; limits that are switched off are left out */
    struct session_limit sessions[SESSION_LIMITS_MAX];
    unsigned tasks_per_session; /* processes or threads that the server starts for each session; 0 =
                                   the sessions share processes or threads */
    unsigned files_per_session; /* file descriptors that the server's listening process keeps for
                                   each session */
    bool is_pooled;             /* the connection leads to a pooler, whose limits are unknown */
};

/* SQL templates for this program's own queries and statements, in the database's dialect. $0 stands
 * for the quoted name of the table, $1 to $3 for the quoted names of the table's columns n1 to n3,
 * and $4 for the tag of a run: the value that the run writes to column n1 of its rows. A member is
 * NULL if the database has no such statement. */
struct sql_templates {
    const char *count;   /* returns the number of the table's rows: "select count(*) from $0" */
    const char *nothing; /* the cheapest possible query: "select 1" */
    const char *create;  /* creates the table in a database that needs no declarations of columns;
                            NULL if columns must be declared */
    const char *drop;    /* drops the table if it exists */
    const char *tags;    /* returns the distinct values of $1 */
    const char *rows;    /* returns columns $2 and $3 of the rows whose column $1 is $4, with -1 in
                            place of every NULL in these columns */
    const char *unread;  /* returns 0 when all acknowledged rows are visible, and a greater number
                            before; NULL if acknowledged rows are visible at once */
};

/* A kind of statement that a database does not support. */
struct unsupported {
    const char *words; /* first words of a statement of this kind: "update", "create index" */
    const char *why;   /* the reason and the alternative, a sentence without a full stop */
};

/* Queries for a table's size and place on the server's disk. $0 stands for the table's name,
 * quoted; $5 for the table's name as a string literal. */
struct storage_queries {
    const char *directory; /* query for the folder of the database's files, a path on the server's
                              machine; NULL if the server does not report the folder */
    bool is_working_directory; /* the files are in the server's working directory */
    /* NULL-terminated list of queries that return the size of the table with its indexes, in bytes;
     * this program uses the first query that returns a number */
    const char *const *sizes;
    const char *privilege_note; /* note for the user when the server refuses the queries; the note
                                   names the missing privilege; NULL if the privilege is unknown */
    /* NULL-terminated list of queries that return the names and values of the server's counts of
     * writes and syncs; this program uses the first query that returns rows. NULL if the server
     * does not count writes and syncs */
    const char *const *counters;
};

/* The thing that a call waits for at the server. */
enum wait_class {
    WAIT_CPU,       /* the server reports no wait: the session runs or waits for a CPU */
    WAIT_LOG,       /* the log that makes commits durable */
    WAIT_EXTENSION, /* space in the table's file, which only one session at a time can extend */
    WAIT_LOCK, /* a lock that another session has on a row, a table or another object of the user */
    WAIT_BUFFER,       /* a page in memory that another session uses */
    WAIT_LOCK_MANAGER, /* the server's list of locks, not a lock in the list */
    WAIT_DATA_IO,      /* reads and writes of data files */
    WAIT_COMMIT,       /* bookkeeping of transactions */
    WAIT_REPLICATION,  /* the confirmation of another server */
    WAIT_CLIENT,       /* the client or the network */
    WAIT_OTHER,
    WAIT_CLASSES
};

/* Names of waits that have no type. WAIT_QUERY: the time in a query; after the run, this program
 * divides the time among the query's waits. WAIT_REST: the part of the time that no counter
 * explains. */
#define WAIT_QUERY "query"
#define WAIT_REST "in no counter"

/* Queries that show what the sessions of a database wait for. */
struct wait_queries {
    /* Each query returns a row for each session. The cells of a row: the session's number as in
     * struct session_name; 1 if the session works on a call, else 0; the type and the event of the
     * session's wait in the words of the database, both NULL if the session does not wait; and the
     * number of the session's process or thread on the server's machine, or NULL. A row with the
     * number 0 stands for all sessions without a row of their own. NULL-terminated list; this
     * program uses the first query that succeeds. */
    const char *const *polls;
    const char *privilege; /* text for the user: the name of the privilege that a query needs, and
                              the part of the report that is missing without the privilege; NULL if
                              no privilege helps */

    /* True if the type of a wait only names a stage of the session's work, in which the session may
     * run or wait. If the server is on this machine, the kernel reports whether the session waits,
     * and the kernel's name for the wait becomes the event. */
    bool has_stages;

    /* Query whose parameter ? is the number of a session that waits for a lock. The query returns
     * at most one row, about the session that holds the lock. The cells of the row: the holder's
     * number, application or user, state and statement. NULL if the database does not show the
     * holder. */
    const char *blocker;

    /* NULL-terminated list of queries that return the names and values of the server's counts. This
     * program reports how much the counts grew during the run. Queries that fail are skipped,
     * because not every version of the server has every count. NULL if there are no such
     * queries. */
    const char *const *counters;

    /* NULL-terminated list of queries that return how long SQL queries that have ended waited, and
     * for what. This program uses the first query in the list that returns rows. After the run, it
     * divides the share of WAIT_QUERY in the polls in proportion to the returned times. The cells
     * of a row: the name of an operation or statement, a wait, and a time in any unit. A row with
     * the wait "" has the whole time of the operation or statement; the whole time minus the times
     * of the other rows is WAIT_REST. The first ? is the number of the session that asks. The
     * second ? is the number of seconds since the polls began: the answer must leave out older SQL
     * queries. NULL if the polls show each wait. */
    const char *const *times;
    /* text for the user: why the queries in `times` returned no rows, and what helps */
    const char *no_times;

    unsigned least_gap_ms; /* minimum time between two polls, in ms; 0 if polls do not disturb the
                              server */

    /* Maps waits to classes: the first entry that matches a wait decides. Case is ignored. NULL
     * matches every text. A type or event that ends in '*' matches every text that begins with the
     * characters before the '*'. The entry with two NULLs ends the list and stands for
     * WAIT_OTHER. */
    const struct wait_meaning {
        const char *type, *event;
        enum wait_class class;
    } * meanings;
};

/* Statements that store a short text with a table. The text, called the mark, stays until the table
 * is dropped. By the mark, this program recognises the tables that it created. $0 stands for the
 * table's name, $1 for the table's name as a literal, $6 for the text as a literal, $7 for the
 * table's first column, and $8 and $9 for the new and the old text, each written as a quoted
 * name. */
#define TABLE_MARK_PREFIX "made by append: "
struct table_mark_statements {
    const char *read;  /* query that returns the text as one cell; ? is the table's name in this
                          query, in `place` and in `others` */
    const char *place; /* query that returns one cell, which identifies the table: the table's
                          number if the server numbers tables, otherwise the names of database and
                          table. A copy of the table with the same text gives a different cell */
    /* NULL-terminated list of queries that return objects that depend on the table; every query is
     * run. The first cell is a text such as "orders refers to it". The second cell is the object's
     * name if the object is a table whose text contains TABLE_MARK_PREFIX: this program then reads
     * the mark of that table. Otherwise the second cell is NULL or missing. Objects that this
     * program certainly created may be left out. */
    const char *const *others;
    const char *write;       /* statement that sets the text */
    const char *write_parts; /* statement that writes the text to the partitions of a table that
                                this program has just created; NULL if not needed */
    const char *erase; /* statement that removes the old text and is run before `write`; NULL if
                          `write` replaces the old text */
};

/* Templates for a table that is divided into parts. $0 stands for the table's name and $2 for the
 * column that decides a row's part, both quoted; $3 for the number of parts; $4 and $5 for the
 * number of one part, counted from 1 and from 0; $6 and $7 for the range of the part, which
 * includes $6 and excludes $7; $8 for the quoted name of the part; $9 for all parts, separated by
 * commas. */
struct partition_statements {
    const char *hash, *range; /* text after the closing bracket of CREATE TABLE, for parts by hash
                                 and parts by range */
    /* text for one part, by hash and by range; NULL if no such text is needed */
    const char *hash_part, *range_part;
    bool are_tables; /* true: a statement after CREATE TABLE creates each part as a table; false:
                        CREATE TABLE contains the parts in place of $9 */
    const char *least, *most; /* `least` is written in place of $6 of the first part, and `most` is
                                 written in place of $7 of the last part */
    const char *count;        /* query for the number of parts of the table whose name is
                                 the parameter */
    bool excludes_foreign_keys; /* a divided table cannot have foreign keys, and foreign keys cannot
                                   refer to a divided table */
};

/* Facts about a database that accepts FOREIGN KEY in CREATE TABLE. */
struct foreign_key_statements {
    const char *engine; /* the only storage engine that has foreign keys; "" if every engine has
                           foreign keys */
    const char *count;  /* query for the number of foreign keys of the table whose name is the
                           parameter */
};

/* Queries for the server's settings that affect durability and speed, as the settings apply to this
 * session, and a list of the values that weaken durability. */
struct settings_queries {
    /* NULL-terminated list; each query returns names and values, one setting for each row; this
     * program uses the first query that succeeds */
    const char *const *queries;

    /* NULL-terminated list of queries about one table, whose name is the parameter `?`. Every query
     * is run; each returns names and values. If the table's rows are not durable, the returned name
     * is the name of a setting in `weak`, and the value is the table's name. Other names and values
     * describe the table: its indexes, triggers and foreign keys. */
    const char *const *table_queries;

    const struct weak_setting {
        const char *name, *value; /* name and weak value of a setting; `value` is NULL if every
                                     value weakens durability */
        const char *why;          /* loss that the weak setting can cause */
    } * weak;                     /* settings that weaken durability; ends with a zeroed entry */
};

/* Statements for `append certify`, the command that tests which data a server keeps. A member is
 * NULL if the database has no such statement. */
struct integrity_statements {
    /* statement that writes changed pages to the data files; $0 is the table */
    const char *checkpoint;
    const char *checkpoint_end; /* statement to send after `checkpoint` */
    const char *uptime;      /* query whose first row has, in its last cell, the number of seconds
                                since the server was started */
    const char *unavailable; /* query that returns the reason why `check` cannot be run, as one
                                cell; the query returns no row, NULL or "" if `check` can be run.
                                The member is NULL if `check` can always be run */

    /* Query that reads the table and its indexes; $0 and $5 are replaced as in struct
     * storage_queries. A returned row whose last cell is neither "" nor "ok" reports damage, unless
     * the cell before the last cell is "note". Then the last cell is the reason why the table was
     * not checked; a later row with "ok" cancels the note. An error of the server itself
     * (ERROR_SERVER) is also damage. */
    const char *check;
};

/* A session's identity, which distinguishes the session from all other sessions on the server. */
struct session_name {
    uint64_t number; /* the server's number for the session */
    uint16_t port;   /* the client's port, as the server sees it; 0: the connection has no port */
};
enum {
    SESSION_NAMES_MAX = 500 /* maximum number of names in one call of end_sessions */
};

/* Facts about an open connection. "" and 0 mean unknown. A pointer with the note "static" points to
 * data that lives as long as the program. */
struct connection_info {
    char host[256]; /* host from the user: name, address, Unix socket or its folder */
    uint16_t port;
    char user[128];
    char database[128];
    bool is_embedded;      /* the database runs inside this process; also true if an adapter without
                              ADAPTER_EMBEDDED uses such a database (SQLite through ODBC) */
    char dialect[32];      /* the SQL dialect: the name of the database's own adapter */
    char identifier_quote; /* '"' or '`'; 0: names are not quoted */
    const char *not_in_names; /* characters that a name cannot contain, even quoted; NULL if any
                                 character is allowed */
    const char *method;       /* the method in use: one of adapter.methods; static */
    /* SQL for this database; static; NULL for the SQL that all databases share */
    const struct sql_templates *templates;
    /* queries for the size of tables; static; NULL if unknown */
    const struct storage_queries *storage;
    /* statements for a table's mark; static; NULL if the database cannot store a text with a
     * table */
    const struct table_mark_statements *table_mark;
    /* queries for the server's settings; static; NULL if unknown */
    const struct settings_queries *settings;
    /* statements for the command `append certify`; static; NULL if unknown */
    const struct integrity_statements *integrity;
    /* statement that lifts, for this connection, a server setting that limits the rows of a result;
     * static; NULL if there is no such setting */
    const char *lift_row_limit;
    /* query for the tables whose changes a rollback does not undo. The cells of a row: the table's
     * name, the table's storage engine, and 1 if the table is in this database, else 0. Static;
     * NULL if the database has no such tables, or if this is unknown */
    const char *lasting_tables;
    /* NULL-terminated list of the first words, in lower case, of statements that a rollback undoes,
     * besides queries, INSERT, UPDATE, DELETE and similar statements; static; NULL if unknown */
    const char *const *undone;
    bool has_schemas; /* a database is divided into schemas, and target.schema is the name of a
                         schema */

    char address[64];          /* address of the peer; "": the same as `host` */
    bool has_created_database; /* open created the database, which was missing */

    /* kinds of statements that the database does not support; static; ends with a zeroed entry;
     * NULL if unknown */
    const struct unsupported *unsupported;
    struct server_facts facts;

    /* How this database creates a table that a script declares. declare_column is NULL if the
     * database cannot create such a table.
     *
     * declare_column writes the text that follows a column's name in CREATE TABLE: the type, NOT
     * NULL and, if is_numbered is true, the clause that makes the database number the rows that are
     * inserted without this column. declare_column returns false when the database does not support
     * the type.
     *
     * create_tail is the text after the closing bracket of CREATE TABLE. If create_tail ends in
     * "()", the key's columns are written between these brackets; otherwise the key is declared as
     * PRIMARY KEY.
     *
     * number_from writes the statement that makes the numbering continue after the table's highest
     * number, or "" if no statement is needed. */
    bool (*declare_column)(const struct column *column, bool is_numbered, char *text, size_t size);
    const char *create_tail;
    void (*number_from)(const char *table_name, const char *column_name, char *sql, size_t size);
    bool can_skip_index; /* the database knows CREATE INDEX IF NOT EXISTS; false: the database
                            refuses to create an existing index, with ERROR_EXISTS */
    const char *analyze; /* template, see struct sql_templates, of the statement that updates the
                            planner's statistics on table $0; static; NULL if not needed */
    /* templates for partitions; static; NULL if the database cannot divide tables, or if this is
     * unknown */
    const struct partition_statements *partitions;
    /* facts about foreign keys; static; NULL if CREATE TABLE does not accept FOREIGN KEY, or if
     * this is unknown */
    const struct foreign_key_statements *foreign_keys;
    char note[240];                   /* one line for the user about how this connection works */
    const struct wait_queries *waits; /* queries for waits; static; NULL if unknown */
};

enum {
    STATEMENT_SLOTS_MAX = 4096
};

/* A statement to run. The struct never changes. If is_prepared is true, the struct outlives every
 * connection that has run the statement. */
struct statement {
    /* text in this database's dialect; parameters are ? outside quotes and comments */
    const char *sql;
    const char *name;   /* the statement's name in the server's log; may be NULL */
    bool is_prepared;   /* true: one statement that is run repeatedly; the adapter prepares the
                           statement if preparing is faster. false: one or several statements,
                           which the adapter sends as text each time */
    bool reads_numbers; /* one query that returns whole numbers, perhaps in millions of rows: the
                           adapter reads each row as cheaply as it can */
    unsigned slot; /* 1 to STATEMENT_SLOTS_MAX: the connection keeps one prepared statement for each
                      slot; 0: the statement has no slot, and only the latest statement without a
                      slot stays prepared */
    /* describes each ? of a statement with a slot as a column: its name is "", its type, size,
     * precision and scale are set. NULL if the statement has no parameters */
    const struct table *parameters;
};

/* The properties with which a transaction begins. */
struct transaction {
    const char *isolation; /* "serializable", "repeatable read", "read committed", "read
                              uncommitted"; NULL for the server's default */
    bool writes; /* the transaction contains a statement that writes: a database with a single write
                    lock may take the lock when the transaction begins */
};

/* One value of a result row. A whole number is COLUMN_INT64 or COLUMN_TEXT; all other values are
 * COLUMN_TEXT. */
struct cell {
    enum column_type type; /* type of the value: COLUMN_INT64 or COLUMN_TEXT */
    bool is_null;
    union {
        int64_t int64;
        struct text_value text;
    } as;
};

/* The receiver of the rows that a statement returns. */
struct answer {
    /* Takes one row with `count` borrowed cells. Returns false to stop. NULL if rows are only
     * counted. */
    bool (*take)(void *context, const struct cell *cells, size_t count);
    void *context;
    uint64_t rows; /* out: number of rows that the statement returned; for a statement that returns
                      no rows, number of rows that it matched */
};

/* Counts of the rows that were handed over after append_open, for the case that append_rows or
 * append_close returned LOST. Rows that are neither accepted, refused nor in doubt were never
 * sent. */
struct append_loss {
    uint64_t refused;  /* number of rows that the server refused before the connection was lost */
    uint64_t in_doubt; /* number of rows that were sent and not answered when the connection was
                          lost: the last rows sent */
};

/* Whether a prepared statement failed because it was stale: the server had forgotten the statement,
 * or a table had changed. */
enum staleness {
    STALE_NOT,
    STALE_AGAIN,  /* nothing was done: prepare the statement again, then run it again */
    STALE_UNDONE, /* nothing was done, and the transaction was rolled back */
};

struct adapter_conn;     /* a connection; each adapter defines its own */
struct adapter_prepared; /* a prepared statement of a connection; each adapter defines its own */
struct dialect;          /* a dialect, see adapters/dialect.h; only built-in adapters have one */
struct probe;            /* a protocol to recognise, see append/client_socket.h */

struct adapter {
    const char *name;           /* name of the adapter, and of its URL scheme; lower case */
    const char *const *aliases; /* other names that users know the adapter by, NULL-terminated; may
                                   be NULL. Aliases are read for built-in adapters only */
    const char *summary;        /* description of the adapter in one line, for --help */
    unsigned flags;             /* flags of enum adapter_flag, or-ed */
    uint16_t default_port;
    char identifier_quote;     /* '"' or '`'; 0: names are not quoted. inspect may change it */
    const char *engine_clause; /* the words between CREATE TABLE (...) and the name of a storage
                                  engine; NULL = the engine of a table cannot be chosen */
    /* SQL that creates the default table, syslog_table; for built-in adapters, schemas/syslog has
     * this SQL. NULL if this program does not create the table */
    const char *syslog_sql;
    size_t stack_bytes; /* stack that a session's thread needs with this client library, in bytes */
    unsigned files_per_session; /* file descriptors that one connection keeps open */
    int shut_signal; /* signal that makes the server end its sessions and shut down cleanly; 0:
                        SIGTERM */

    /* Constants for code that several adapters share; each may be NULL. */
    const struct dialect *dialect; /* the adapter's dialect, if it has exactly one */
    const struct probe *probe;     /* how the adapter recognises its servers */
    const void *own;               /* data that only the adapter uses */

    /* Optional. Returns the number that replaces files_per_session, if the number depends on the
     * target. *opening receives the number of descriptors that open needs in addition while open
     * runs. */
    unsigned (*count_files)(const struct target *target, unsigned *opening);

    const char *const *methods; /* ways to insert rows, NULL-terminated; the first is the default.
                                   NULL = there is only one way */

    /* Optional: an adapter has both functions or neither. start loads the client library
     * (`client_lib` is target.client_lib) and sets up its global state. The main thread calls start
     * once, before any other operation except client_version and recognise. On OK, *library, which
     * may stay NULL, is passed to every open in target.library, and to stop after the last close.
     * On FATAL, the error names the places where the library was searched, or the missing
     * symbol. */
    enum status (*start)(const char *client_lib, struct adapter_library **library,
                         struct error *error);
    void (*stop)(struct adapter_library *library);

    /* Optional. Writes the client library's name and version, at most `size` bytes. */
    void (*client_version)(char *text, size_t size);

    /* Optional. Checks which program listens on a port. Returns OK if a server with this adapter's
     * protocol listens, REJECTED if another program listens, and LOST if no connection was made. */
    enum status (*recognise)(const struct adapter *adapter, const char *host, uint16_t port,
                             unsigned timeout_ms, struct error *error);

    /* Connects. On OK the caller owns *conn and must call close; otherwise *conn is NULL. LOST: the
     * server is unreachable, timed out or has no room (see error.kind). FATAL: the credentials or
     * the database are wrong. */
    enum status (*open)(const struct adapter *adapter, const struct target *target,
                        struct adapter_conn **conn, struct error *error);

    /* Disconnects and frees `conn`. Accepts NULL, cannot fail, does not wait for a dead server. */
    void (*close)(struct adapter_conn *conn);

    /* Optional. Called by another thread: makes a call that is blocked in this connection return
     * soon, as LOST. The caller keeps the connection open during interrupt. */
    void (*interrupt)(struct adapter_conn *conn);

    /* Optional; an adapter with end_sessions also has name_session. name_session fills *name with
     * the identity of the connection's session; another thread calls it, like interrupt.
     * end_sessions is called on another connection. It ends the sessions of this user that have
     * these names, even if the sessions are working, and adds the number of ended sessions to
     * *ended. end_sessions gives up at the moment until_ns (CLOCK_MONOTONIC, ns). */
    void (*name_session)(struct adapter_conn *conn, struct session_name *name);
    enum status (*end_sessions)(struct adapter_conn *conn, const struct session_name *names,
                                size_t count, int64_t until_ns, uint64_t *ended,
                                struct error *error);

    /* Optional. The caller has filled *info from target and adapter; inspect corrects the members
     * for which the connection has better values. inspect sends nothing to the server. */
    void (*inspect)(const struct adapter *adapter, struct adapter_conn *conn,
                    struct connection_info *info);

    /* Runs one or more statements that return no rows (DDL). */
    enum status (*execute)(struct adapter_conn *conn, const char *sql, struct error *error);

    /* Fills an uninitialised *table with every column of an existing table, generated columns
     * included. On OK the caller owns *table (table_fini); otherwise *table owns nothing. A missing
     * table is REJECTED with ERROR_NOT_FOUND, a missing schema is FATAL with ERROR_NOT_FOUND. */
    enum status (*describe)(const struct adapter *adapter, struct adapter_conn *conn,
                            const char *table_name, struct table *table, struct error *error);

    /* Optional. Called before the sessions begin: does the work that is needed once per connection
     * before rows are inserted, for example preparing statements. append_open reports the failures
     * of prepare_appends. */
    void (*prepare_appends)(struct adapter_conn *conn, const struct table *table);

    /* Begins to insert rows into the columns of `table`; append_rows and append_close follow. The
     * struct `table` outlives the connection. After REJECTED with ERROR_BUSY, the session may call
     * append_open again. */
    enum status (*append_open)(struct adapter_conn *conn, const struct table *table,
                               struct error *error);

    /* Hands over 1 to ROW_BATCH_MAX rows. Called zero or more times after append_open. A failed
     * call ends the insertion that append_open began, and sets *kept to the number of its rows that
     * the server acknowledged as kept. The caller sets *kept to 0 before the call; an adapter that
     * keeps all of these rows or none does not set *kept. */
    enum status (*append_rows)(struct adapter_conn *conn, const struct batch *batch, uint64_t *kept,
                               struct error *error);

    /* Ends the insertion that append_open began. Sets *accepted, whatever the result is, to the
     * number of rows since append_open that the server acknowledged as kept. Returns REJECTED if
     * the other rows were refused. */
    enum status (*append_close)(struct adapter_conn *conn, uint64_t *accepted, struct error *error);

    /* Optional. Called after append_rows or append_close returned LOST, before close: fills the
     * zeroed *loss. The member is NULL if all rows that were handed over and not accepted are in
     * doubt. */
    void (*append_lost)(const struct adapter_conn *conn, struct append_loss *loss);

    /* Runs a statement and hands the returned rows to answer->take. This program runs all its own
     * queries with this operation. `parameters` is a batch of one row with the values for the
     * statement's ?, or NULL if the statement has no parameters. When take returns false, the
     * remaining rows are dropped and the result is OK, but the next call may return LOST.
     *
     * Outside begin and commit each statement is its own transaction. If a statement leaves a
     * transaction open, the adapter undoes the statement and returns FATAL with ERROR_USAGE. If a
     * statement between begin and commit ends the transaction and the database reports this, the
     * result is also FATAL with ERROR_USAGE. */
    enum status (*run)(struct adapter_conn *conn, const struct statement *statement,
                       const struct batch *parameters, struct answer *answer, struct error *error);

    /* Optional. Prepares a statement. *prepared is NULL or the result of an earlier call,
     * successful or not; the new statement replaces the old one, on the server as well. On OK,
     * run_prepared runs *prepared. If *prepared is still NULL after OK, the statement was only
     * checked, and the caller runs the statement with run. */
    enum status (*prepare)(struct adapter_conn *conn, const struct statement *statement,
                           struct adapter_prepared **prepared, struct error *error);

    /* Required if prepare ever sets *prepared. run_prepared works like run. *stale is STALE_NOT
     * before the call; a REJECTED call may change it. drop frees what prepare created, before the
     * connection is closed. drop does not wait for the server, which frees its own part when the
     * connection ends. */
    enum status (*run_prepared)(struct adapter_conn *conn, struct adapter_prepared *prepared,
                                const struct batch *parameters, struct answer *answer,
                                enum staleness *stale, struct error *error);
    void (*drop)(struct adapter_conn *conn, struct adapter_prepared *prepared);

    /* Optional: an adapter has all three functions or none. After a REJECTED statement only
     * rollback is valid. If begin returns REJECTED, no transaction is open. If commit returns
     * REJECTED, the server rolled the transaction back, no transaction is open, and error.kind is
     * the reason. If commit returns LOST, the transaction is in doubt. */
    enum status (*begin)(struct adapter_conn *conn, const struct transaction *transaction,
                         struct error *error);
    enum status (*commit)(struct adapter_conn *conn, struct error *error);
    enum status (*rollback)(struct adapter_conn *conn, struct error *error);

    /* Optional. Queries the server's version and limits. */
    enum status (*server_limits)(const struct adapter *adapter, struct adapter_conn *conn,
                                 struct server_limits *limits, struct error *error);
};

/* Sum of the sizes of the structs that adapters and the program exchange. A changed size reveals a
 * new member even if ADAPTER_ABI was not raised. */
#define ADAPTER_STRUCT_BYTES                                                                       \
    (sizeof(struct adapter) + sizeof(struct target) + sizeof(struct server_facts) +                \
     sizeof(struct server_limits) + sizeof(struct connection_info) +                               \
     sizeof(struct sql_templates) + sizeof(struct storage_queries) +                               \
     sizeof(struct table_mark_statements) + sizeof(struct settings_queries) +                      \
     sizeof(struct integrity_statements) + sizeof(struct statement) + sizeof(struct answer) +      \
     sizeof(struct append_loss) + sizeof(struct column) + sizeof(struct table) +                   \
     sizeof(struct batch) + sizeof(struct error) + sizeof(struct transaction) +                    \
     sizeof(struct session_name) + sizeof(struct cell) + sizeof(struct column_data) +              \
     sizeof(struct text_value) + sizeof(struct column_kind) + sizeof(struct wait_queries) +        \
     sizeof(struct wait_meaning) + sizeof(struct partition_statements) +                           \
     sizeof(struct foreign_key_statements) + sizeof(struct weak_setting) +                         \
     sizeof(struct unsupported))

/* The symbol that the shared library NAME.so of the adapter NAME exports:
 *
 *     const struct adapter_module append_adapter_module = {
 *         ADAPTER_ABI, ADAPTER_STRUCT_BYTES, &adapter_NAME};
 *
 * Loading the library must have no side effect: `start` initialises the client library. */
struct adapter_module {
    uint32_t abi;
    uint32_t struct_bytes;
    const struct adapter *adapter;
};
#define ADAPTER_MODULE_SYMBOL "append_adapter_module"
extern const struct adapter_module append_adapter_module __attribute__((visibility("default")));

#endif
