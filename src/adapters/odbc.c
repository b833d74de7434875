/*
 * Any database through ODBC: one prepared INSERT, executed with arrays of parameters.
 *
 * append_open costs nothing; the transaction begins with the first rows, and append_close ends it.
 */
#include "adapters/odbc.h"

#include <ctype.h>
#include <odbcinst.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum {
    SYNCHRONOUS_FULL = 2
};

/* What stands before the next note. */
static const char *separator(const struct buffer *note)
{
    return note->length > 0 ? "; " : "";
}

static bool says(const char *text, const char *key)
{
    const char *const keys[] = {key, NULL};
    char value[16];
    return odbc_string_find(text, keys, value, sizeof value) && value[0] != '\0';
}

/* The driver's own default, synchronous NORMAL, does not sync the log at a commit. As the adapter
 * for SQLite has it, unless the connection string wants it otherwise. */
static enum status set_up_sqlite(struct adapter_conn *conn, const char *text, struct buffer *note,
                                 struct error *error)
{
    const bool is_journal_given = says(text, "JournalMode");
    char synchronous[ODBC_ANSWER_BYTES] = "";
    char journal[ODBC_ANSWER_BYTES] = "";
    enum status status = STATUS_OK;

    if (!says(text, "SyncPragma")) {
        status = odbc_run(conn, "pragma synchronous = full", NULL, NULL, NULL, error);
    }
    if (status == STATUS_OK) {
        status = odbc_ask(conn, "pragma synchronous", synchronous, error);
    }
    if (status == STATUS_OK) {
        status =
            odbc_ask(conn, is_journal_given ? "pragma journal_mode" : "pragma journal_mode = wal",
                     journal, error);
    }
    if (status == STATUS_OK && strtol(synchronous, NULL, 10) < SYNCHRONOUS_FULL) {
        buffer_add_format(note, "%scommits are not always synced (SyncPragma)", separator(note));
    }
    if (status == STATUS_OK && strcasecmp(journal, "wal") != 0) {
        buffer_add_format(note, "%sthe journal mode is %s, not wal", separator(note), journal);
    }
    return status;
}

/* Times are sent without a zone and mean UTC. */
static enum status set_up_postgresql(struct adapter_conn *conn, struct error *error)
{
    struct buffer sql;
    enum status status = STATUS_OK;

    buffer_init(&sql);
    buffer_add_text(&sql, "set time zone 'UTC'");
    if (conn->schema != NULL) {
        buffer_add_text(&sql, "; set search_path = ");
        buffer_add_identifier(&sql, conn->schema, '"');
    }
    status = buffer_failed(&sql) ? odbc_memory_error(error)
                                 : odbc_execute(conn, buffer_text(&sql), error);
    buffer_fini(&sql);
    return status;
}

static enum status set_up(struct adapter_conn *conn, const char *text, struct buffer *note,
                          struct error *error)
{
    if (conn->schema != NULL && conn->dialect != &dialect_postgresql) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "ODBC takes a schema for PostgreSQL only: name the database instead");
        return STATUS_FATAL;
    }
    if (conn->dialect == &dialect_postgresql) {
        return set_up_postgresql(conn, error);
    }
    if (conn->dialect == &dialect_mysql) {
        return odbc_execute(conn, "set time_zone = '+00:00'", error);
    }
    return conn->dialect == &dialect_sqlite ? set_up_sqlite(conn, text, note, error) : STATUS_OK;
}

/* unixODBC's threading levels (DriverManager/__handles.c, thread_protect): 0 locks nothing, 1 each
 * statement, 2 each connection, 3 everything of every driver at that level. Without an entry it is
 * 0 since version 2.3.10, and 3 before. */
enum {
    THREADING_SERIAL = 3,
    PROBED_ROWS = 2,
    VERSION_BYTES = 24
};

static void get_info(struct adapter_conn *conn, SQLUSMALLINT which, char *text, size_t size)
{
    SQLSMALLINT length = 0;
    text[0] = '\0';
    if (!SQL_SUCCEEDED(
            SQLGetInfo(conn->connection, which, text, (SQLSMALLINT)(size - 1), &length))) {
        text[0] = '\0';
    }
    text[size - 1] = '\0';
}

static const char *method_name(enum odbc_method method)
{
    return method == ODBC_ARRAY ? "array" : method == ODBC_INSERT ? "insert" : "row";
}

static void learn_dialect(struct adapter_conn *conn)
{
    static const struct {
        const char *dbms;
        const struct dialect *dialect;
    } known[] = {{"PostgreSQL", &dialect_postgresql},
                 {"MariaDB", &dialect_mysql},
                 {"MySQL", &dialect_mysql},
                 {"SQLite", &dialect_sqlite}};
    char quote[8];

    get_info(conn, SQL_DBMS_NAME, conn->database_name, sizeof conn->database_name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcasecmp(conn->database_name, known[i].dbms) == 0) {
            conn->dialect = known[i].dialect;
        }
    }
    for (char *at = conn->database_name; *at != '\0'; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    get_info(conn, SQL_USER_NAME, conn->user, sizeof conn->user);
    get_info(conn, SQL_IDENTIFIER_QUOTE_CHAR, quote, sizeof quote);
    conn->quote = quote[0] == '`' ? '`' : '"';
}

/* Port and host of the completed connection string, or of the data source that it names. */
static void learn_address(struct adapter_conn *conn, const char *text)
{
    static const char *const keys[][4] = {{"Server", "Servername", "Host", NULL},
                                          {"Port", NULL, NULL, NULL}};
    static const char *const name_keys[] = {"DSN", NULL};
    char name[128];
    char values[2][256];

    odbc_string_find(text, name_keys, name, sizeof name);
    for (size_t i = 0; i < 2; i++) {
        bool is_found = odbc_string_find(text, keys[i], values[i], sizeof values[i]);
        for (size_t k = 0; !is_found && name[0] != '\0' && keys[i][k] != NULL; k++) {
            is_found = SQLGetPrivateProfileString(name, keys[i][k], "", values[i],
                                                  (int)sizeof values[i], "odbc.ini") > 0 &&
                       values[i][0] != '\0';
        }
    }
    if (conn->dialect != &dialect_sqlite) {
        conn->host = values[0][0] != '\0' ? strdup(values[0]) : NULL;
        conn->port = (uint16_t)strtoul(values[1], NULL, 10);
    }
}

/* What a driver says about arrays of parameters. */
enum arrays {
    ARRAYS_NONE,
    ARRAYS_EXPANDED, /* each row becomes a statement, with a row count of its own */
    ARRAYS_WHOLE,    /* the server gets all rows with one statement, and counts them together */
};

/* Some drivers refuse an array, some put 1 in its place. One that does neither and has no answer to
 * how it counts (SQLite's) loops over it by itself, and sends binaries with the first one's length.
 */
static enum arrays ask_arrays(struct adapter_conn *conn)
{
    SQLHSTMT statement = NULL;
    SQLULEN rows = 0;
    SQLUINTEGER counts = 0;
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, conn->connection, &statement))) {
        return ARRAYS_NONE;
    }
    const bool is_taken =
        SQL_SUCCEEDED(
            SQLSetStmtAttr(statement, SQL_ATTR_PARAMSET_SIZE, odbc_number(PROBED_ROWS), 0)) &&
        SQL_SUCCEEDED(SQLGetStmtAttr(statement, SQL_ATTR_PARAMSET_SIZE, &rows, 0, NULL)) &&
        rows == PROBED_ROWS &&
        SQL_SUCCEEDED(
            SQLGetInfo(conn->connection, SQL_PARAM_ARRAY_ROW_COUNTS, &counts, sizeof counts, NULL));
    SQLFreeHandle(SQL_HANDLE_STMT, statement);
    if (!is_taken) {
        return ARRAYS_NONE;
    }
    return counts == SQL_PARC_NO_BATCH ? ARRAYS_WHOLE
           : counts == SQL_PARC_BATCH  ? ARRAYS_EXPANDED
                                       : ARRAYS_NONE;
}

static enum status choose_method(struct adapter_conn *conn, const struct target *target,
                                 struct buffer *note, struct error *error)
{
    const bool has_row_lists = conn->dialect != NULL; /* not every database's SQL has them */
    const enum arrays arrays = ask_arrays(conn);
    char driver[80];

    get_info(conn, SQL_DRIVER_NAME, driver, sizeof driver);
    for (enum odbc_method method = ODBC_ARRAY; method <= ODBC_ROW; method++) {
        if (target->method != NULL && strcmp(target->method, method_name(method)) == 0) {
            conn->method = method;
        }
    }
    if (target->method != NULL && conn->method == ODBC_ARRAY && arrays == ARRAYS_NONE) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "driver %s has no parameter arrays: --method %s", driver,
                  has_row_lists ? "insert" : "row");
        return STATUS_FATAL;
    }
    if (target->method != NULL || arrays == ARRAYS_WHOLE) {
        return STATUS_OK;
    }
    if (has_row_lists) {
        conn->method = ODBC_INSERT;
    } else if (arrays == ARRAYS_NONE) {
        conn->method = ODBC_ROW;
    }
    buffer_add_format(note, "%s%s %s%s", separator(note), driver,
                      arrays == ARRAYS_NONE ? "has no parameter arrays"
                                            : "makes a statement of each row of an array",
                      conn->method == ODBC_INSERT ? ": multi-row INSERT instead"
                      : conn->method == ODBC_ROW  ? ": each row is a statement"
                                                  : "");
    return STATUS_OK;
}

static void note_threading(struct adapter_conn *conn, struct buffer *note)
{
    char driver[80];
    SQLUSMALLINT level = 0;
    if (SQL_SUCCEEDED(
            SQLGetInfo(conn->connection, SQL_ATTR_DRIVER_THREADING, &level, sizeof level, NULL)) &&
        level >= THREADING_SERIAL) {
        get_info(conn, SQL_DRIVER_NAME, driver, sizeof driver);
        buffer_add_format(
            note,
            "%s%s is registered with Threading=%u: its calls queue behind each other in "
            "the driver manager (Threading=0 in odbcinst.ini ends that)",
            separator(note), driver, (unsigned)level);
    }
}

/* A driver that carries a connect of its own hides its socket. Neither is there one in SQLite's,
 * but nothing there waits for a server. */
static void note_socket(const struct adapter_conn *conn, struct buffer *note)
{
    if (!client_socket_is_known(&conn->socket) && conn->dialect != &dialect_sqlite) {
        buffer_add_format(note, "%sa blocked call cannot be interrupted: press Ctrl-C twice",
                          separator(note));
    }
}

static enum status learn(struct adapter_conn *conn, const struct target *target, const char *text,
                         struct error *error)
{
    struct buffer note;
    learn_dialect(conn);
    learn_address(conn, text);
    buffer_init(&note);
    note_threading(conn, &note);
    enum status status = choose_method(conn, target, &note, error);
    if (status == STATUS_OK) {
        status = set_up(conn, text, &note, error);
    }
    note_socket(conn, &note);
    if (status == STATUS_OK && buffer_failed(&note)) {
        status = odbc_memory_error(error);
    }
    if (status == STATUS_OK && note.length > 0) {
        conn->note = strdup(buffer_text(&note));
        status = conn->note != NULL ? STATUS_OK : odbc_memory_error(error);
    }
    buffer_fini(&note);
    return status;
}

/* SQLite's driver is the database: there is no server to measure, and its CPU is this program's. */
static void odbc_inspect(struct adapter_conn *conn, struct connection_info *info)
{
    if (conn->host != NULL) {
        snprintf(info->host, sizeof info->host, "%s", conn->host);
    }
    info->port = conn->port;
    snprintf(info->user, sizeof info->user, "%s", conn->user);
    get_info(conn, SQL_DATABASE_NAME, info->database, sizeof info->database);
    info->is_embedded = conn->dialect == &dialect_sqlite;
    snprintf(info->dialect, sizeof info->dialect, "%s",
             conn->dialect != NULL ? conn->dialect->name : conn->database_name);
    info->identifier_quote = conn->quote;
    info->method = method_name(conn->method);
    snprintf(info->note, sizeof info->note, "%s", conn->note != NULL ? conn->note : "");
}

/* ODBC's form is ##.##.####, and drivers fill each part up with zeros: 10.11.000019. */
static void tidy_version(char *version)
{
    char *to = version;
    for (const char *at = version; *at != '\0'; at++) {
        const bool is_first = at == version || !isalnum((unsigned char)at[-1]);
        while (is_first && at[0] == '0' && isdigit((unsigned char)at[1])) {
            at++;
        }
        *to++ = *at;
    }
    *to = '\0';
}

/* psqlODBC cuts the number of the server (150020 for 15.20) into three parts, as it was right
 * before version 10: 15.0.20. */
static void join_version(char *version)
{
    unsigned long parts[3];
    char *at = version;
    for (size_t i = 0; i < 3; i++) {
        parts[i] = strtoul(at, &at, 10);
        if (*at != (i < 2 ? '.' : '\0')) {
            return;
        }
        at++;
    }
    if (parts[0] >= 10) {
        snprintf(version, VERSION_BYTES, "%lu.%lu", parts[0], parts[1] * 100 + parts[2]);
    }
}

static void describe_server(struct adapter_conn *conn, char *text, size_t size)
{
    char name[32];
    char version[VERSION_BYTES];
    char driver[40];

    get_info(conn, SQL_DBMS_NAME, name, sizeof name);
    get_info(conn, SQL_DBMS_VER, version, sizeof version);
    get_info(conn, SQL_DRIVER_NAME, driver, sizeof driver);
    tidy_version(version);
    if (conn->dialect == &dialect_postgresql) {
        join_version(version);
    }
    snprintf(text, size, "%.20s %s by %.30s", name, version, driver);
}

/* The INSERT is prepared on the server. */
static struct dialect_asker make_asker(struct adapter_conn *conn)
{
    return (struct dialect_asker){.adapter = &adapter_odbc,
                                  .conn = conn,
                                  .schema = conn->schema,
                                  .user = conn->user,
                                  .prepares = true,
                                  .has_prepared = conn->inserts[0].statement != NULL};
}

static enum status odbc_server_limits(struct adapter_conn *conn, struct server_limits *limits,
                                      struct error *error)
{
    const struct dialect_asker asker = make_asker(conn);
    memset(limits, 0, sizeof *limits);
    describe_server(conn, limits->version, sizeof limits->version);
    return conn->dialect != NULL && conn->dialect->limits != NULL
               ? conn->dialect->limits(&asker, limits, error)
               : STATUS_OK;
}

static enum status describe_table(struct adapter_conn *conn, const char *table_name,
                                  struct table *table, struct error *error)
{
    const struct dialect_asker asker = make_asker(conn);
    if (conn->dialect == NULL) {
        return odbc_describe(conn, table_name, table, error);
    }
    const enum status status = conn->dialect->describe(&asker, table_name, table, error);
    for (size_t i = 0; status == STATUS_OK && i < table->column_count; i++) {
        odbc_set_native_type(conn->dialect, &table->columns[i]);
    }
    return status;
}

enum {
    COMPLETED_BYTES = 2048
};

static enum status check_target(const struct target *target, struct error *error)
{
    static const char form[] = "odbc:DSN=NAME or odbc:Driver={NAME};Server=...";
    const bool has_text = target->path != NULL && target->path[0] != '\0';
    const char *fault = has_text ? odbc_string_fault(target->path) : NULL;
    if (!has_text) {
        error_set(error, ERROR_USAGE, 0, NULL, "no data source was given: %s", form);
    } else if (fault != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "the connection string is not complete: %s; write %s", fault, form);
    } else if (target->host != NULL || target->port != 0) {
        error_set(
            error, ERROR_USAGE, 0, NULL,
            "ODBC takes host and port in the connection string: odbc:...;Server=...;Port=...");
    } else if (target->query != NULL && target->query[0] != '\0') {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "ODBC takes its options in the connection string, and no URL parameters");
    } else {
        return STATUS_OK;
    }
    return STATUS_FATAL;
}

/* Of the program's pooling nothing is wanted: a connect that is measured must be one. unixODBC goes
 * by odbcinst.ini alone there, other managers by this attribute. */
static enum status allocate(struct adapter_conn *conn, struct error *error)
{
    SQLSetEnvAttr(NULL, SQL_ATTR_CONNECTION_POOLING, odbc_number(SQL_CP_OFF), 0);
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_ENV, NULL, &conn->environment))) {
        conn->environment = NULL;
        return odbc_memory_error(error);
    }
    SQLSetEnvAttr(conn->environment, SQL_ATTR_ODBC_VERSION, odbc_number(SQL_OV_ODBC3), 0);
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_DBC, conn->environment, &conn->connection))) {
        conn->connection = NULL;
        return odbc_memory_error(error);
    }
    return STATUS_OK;
}

/* The standard's attribute for the time, and the key of drivers that have it for one step of the
 * connect only; a key that a driver does not know it passes over. */
static void add_timeout(struct buffer *text, const struct target *target)
{
    static const char *const keys[] = {"CONN_TIMEOUT", NULL};
    char value[16];
    if (!odbc_string_find(buffer_text(text), keys, value, sizeof value)) {
        buffer_add_format(text, "%s=%u;", keys[0], target->connect_timeout_s);
    }
}

static enum status connect_driver(struct adapter_conn *conn, const struct target *target,
                                  char *completed, struct error *error)
{
    struct buffer text;
    SQLSMALLINT length = 0;
    enum status status = STATUS_OK;

    buffer_init(&text);
    odbc_string_build(&text, target);
    add_timeout(&text, target);
    if (buffer_failed(&text)) {
        buffer_fini(&text);
        return odbc_memory_error(error);
    }
    SQLSetConnectAttr(conn->connection, SQL_ATTR_LOGIN_TIMEOUT,
                      odbc_number(target->connect_timeout_s), 0);
    completed[0] = '\0';
    const SQLRETURN result =
        SQLDriverConnect(conn->connection, NULL, (SQLCHAR *)text.bytes, SQL_NTS,
                         (SQLCHAR *)completed, COMPLETED_BYTES, &length, SQL_DRIVER_NOPROMPT);
    if (SQL_SUCCEEDED(result)) {
        conn->is_connected = true;
    } else {
        status = odbc_connect_error(conn->connection, error);
    }
    buffer_fini(&text);
    return status;
}

/* A driver may lose the server in this call, too. */
static enum status begin_transactions(struct adapter_conn *conn, struct error *error)
{
    if (SQL_SUCCEEDED(SQLSetConnectAttr(conn->connection, SQL_ATTR_AUTOCOMMIT,
                                        odbc_number(SQL_AUTOCOMMIT_OFF), 0))) {
        return STATUS_OK;
    }
    const enum status status = odbc_call_error(conn, NULL, error);
    return status == STATUS_REJECTED ? STATUS_FATAL : status;
}

struct connecting {
    struct adapter_conn *conn;
    const struct target *target;
};

/* Connects and learns what there is to know. */
static enum status connect_and_learn(void *context, struct error *error)
{
    const struct connecting *connecting = context;
    struct adapter_conn *const conn = connecting->conn;
    char completed[COMPLETED_BYTES];
    enum status status = connect_driver(conn, connecting->target, completed, error);
    if (status == STATUS_OK) {
        status = learn(conn, connecting->target, completed, error);
    }
    return status == STATUS_OK ? begin_transactions(conn, error) : status;
}

static void odbc_close(struct adapter_conn *conn)
{
    if (conn == NULL) {
        return;
    }
    if (conn->is_append_open) {
        /* The roll-back would wait for a server that may not answer. Nothing but an append leaves
         * something to be rolled back. */
        client_socket_shut(&conn->socket, SHUT_RDWR);
        SQLEndTran(SQL_HANDLE_DBC, conn->connection, SQL_ROLLBACK);
    }
    client_socket_shut(&conn->socket, SHUT_RD); /* whatever the driver does now, it does not wait */
    odbc_forget_inserts(conn);
    if (conn->is_connected) {
        SQLDisconnect(conn->connection);
    }
    if (conn->connection != NULL) {
        SQLFreeHandle(SQL_HANDLE_DBC, conn->connection);
    }
    if (conn->environment != NULL) {
        SQLFreeHandle(SQL_HANDLE_ENV, conn->environment);
    }
    free(conn->host);
    free(conn->note);
    free(conn);
}

static enum status odbc_open(const struct target *target, struct adapter_conn **conn,
                             struct error *error)
{
    *conn = NULL;
    enum status status = check_target(target, error);
    if (status != STATUS_OK) {
        return status;
    }
    struct adapter_conn *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return odbc_memory_error(error);
    }
    made->schema = target->schema;
    status = allocate(made, error);
    if (status == STATUS_OK) {
        struct connecting connecting = {made, target};
        status =
            client_socket_connect(&made->socket, target, connect_and_learn, &connecting, error);
    }
    if (status != STATUS_OK) {
        odbc_close(made);
        return status == STATUS_REJECTED ? STATUS_LOST : status;
    }
    *conn = made;
    return STATUS_OK;
}

static void odbc_interrupt(struct adapter_conn *conn)
{
    atomic_store(&conn->is_interrupted, true);
    client_socket_shut(&conn->socket, SHUT_RDWR);
}

static const char *const methods[] = {"array", "insert", "row", NULL};

/* The version that it was built with. A driver's own is in the server's version. */
static void client_version(char *text, size_t size)
{
    snprintf(text, size, "unixODBC %s", APPEND_ODBC_VERSION);
}

const struct adapter adapter_odbc = {
    .name = "odbc",
    .summary = "an ODBC driver: array, insert, row",
    .flags = ADAPTER_STRING,
    .identifier_quote = '"',
    .stack_bytes = (size_t)512 * 1024,
    .files_per_session = 3, /* a socket, or SQLite's database, log and index of the log */
    .methods = methods,
    .client_version = client_version,
    .open = odbc_open,
    .close = odbc_close,
    .interrupt = odbc_interrupt,
    .inspect = odbc_inspect,
    .execute = odbc_execute,
    .describe = describe_table,
    .append_open = odbc_append_open,
    .append_rows = odbc_append_rows,
    .append_close = odbc_append_close,
    .run = odbc_run_statement,
    .server_limits = odbc_server_limits,
};
