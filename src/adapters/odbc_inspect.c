/* What a connection leads to, asked of driver and driver manager. */
#include "adapters/odbc_conn.h"

#include <ctype.h>
#include <odbcinst.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapters/odbc_string.h"
#include "base/buffer.h"
#include "base/limit_sql.h"

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
        const char *name;
        enum odbc_dialect dialect;
    } known[] = {{"PostgreSQL", "postgresql", ODBC_POSTGRESQL},
                 {"MariaDB", "mariadb", ODBC_MARIADB},
                 {"MySQL", "mariadb", ODBC_MARIADB},
                 {"SQLite", "sqlite", ODBC_SQLITE}};
    char name[64];
    char quote[8];

    get_info(conn, SQL_DBMS_NAME, name, sizeof name);
    for (size_t i = 0; name[i] != '\0' && i + 1 < sizeof conn->dialect_name; i++) {
        conn->dialect_name[i] = (char)tolower((unsigned char)name[i]);
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcasecmp(name, known[i].dbms) == 0) {
            conn->dialect = known[i].dialect;
            snprintf(conn->dialect_name, sizeof conn->dialect_name, "%s", known[i].name);
        }
    }
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
    if (conn->dialect != ODBC_SQLITE) {
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

/* INSERT with many rows is not every database's SQL. */
static bool has_row_lists(const struct adapter_conn *conn)
{
    return conn->dialect != ODBC_OTHER;
}

static enum status choose_method(struct adapter_conn *conn, const struct target *target,
                                 struct buffer *note, struct error *error)
{
    char driver[80];
    const enum arrays arrays = ask_arrays(conn);

    get_info(conn, SQL_DRIVER_NAME, driver, sizeof driver);
    for (enum odbc_method method = ODBC_ARRAY; method <= ODBC_ROW; method++) {
        if (target->method != NULL && strcmp(target->method, method_name(method)) == 0) {
            conn->method = method;
        }
    }
    if (target->method != NULL && conn->method == ODBC_ARRAY && arrays == ARRAYS_NONE) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "driver %s has no parameter arrays: --method %s", driver,
                  has_row_lists(conn) ? "insert" : "row");
        return STATUS_FATAL;
    }
    if (target->method != NULL || arrays == ARRAYS_WHOLE) {
        return STATUS_OK;
    }
    if (has_row_lists(conn)) {
        conn->method = ODBC_INSERT;
    } else if (arrays == ARRAYS_NONE) {
        conn->method = ODBC_ROW;
    }
    odbc_add_note(note, "%s %s%s", driver,
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
        odbc_add_note(note,
                      "%s is registered with Threading=%u: its calls queue behind each other in "
                      "the driver manager (Threading=0 in odbcinst.ini ends that)",
                      driver, (unsigned)level);
    }
}

/* A driver that carries a connect of its own hides its socket. Neither is there one in SQLite's,
 * but nothing there waits for a server. */
static void note_socket(const struct adapter_conn *conn, struct buffer *note)
{
    if (!client_socket_is_known(&conn->socket) && conn->dialect != ODBC_SQLITE) {
        odbc_add_note(note, "a blocked call cannot be interrupted: press Ctrl-C twice");
    }
}

enum status odbc_learn(struct adapter_conn *conn, const struct target *target, const char *text,
                       struct error *error)
{
    struct buffer note;
    learn_dialect(conn);
    learn_address(conn, text);
    buffer_init(&note);
    note_threading(conn, &note);
    enum status status = choose_method(conn, target, &note, error);
    if (status == STATUS_OK) {
        status = odbc_set_up(conn, text, &note, error);
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
void odbc_inspect(struct adapter_conn *conn, struct connection_info *info)
{
    if (conn->host != NULL) {
        snprintf(info->host, sizeof info->host, "%s", conn->host);
    }
    info->port = conn->port;
    get_info(conn, SQL_USER_NAME, info->user, sizeof info->user);
    get_info(conn, SQL_DATABASE_NAME, info->database, sizeof info->database);
    info->is_embedded = conn->dialect == ODBC_SQLITE;
    snprintf(info->dialect, sizeof info->dialect, "%s", conn->dialect_name);
    info->identifier_quote = conn->quote;
    info->method = method_name(conn->method);
    snprintf(info->note, sizeof info->note, "%s", conn->note != NULL ? conn->note : "");
}

struct limits_reading {
    struct server_limits *limits;
    struct limit_facts facts;
};

static bool take_limit(SQLHSTMT statement, void *context)
{
    struct limits_reading *reading = context;
    char texts[LIMIT_SQL_COLUMNS][200];
    const char *values[LIMIT_SQL_COLUMNS];
    for (unsigned i = 0; i < LIMIT_SQL_COLUMNS; i++) {
        odbc_get_text(statement, i + 1, texts[i], sizeof texts[i]);
        values[i] = texts[i];
    }
    limit_sql_add(reading->limits, values);
    return true;
}

static bool take_fact(SQLHSTMT statement, void *context)
{
    struct limits_reading *reading = context;
    char name[64];
    char value[200];
    if (odbc_get_text(statement, 1, name, sizeof name) &&
        odbc_get_text(statement, 2, value, sizeof value)) {
        limit_facts_take(&reading->facts, name, value);
    }
    return true;
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
    if (conn->dialect == ODBC_POSTGRESQL) {
        join_version(version);
    }
    snprintf(text, size, "%.20s %s by %.30s", name, version, driver);
}

static enum status ask_postgresql(struct adapter_conn *conn, struct limits_reading *reading,
                                  struct error *error)
{
    const enum status status =
        odbc_run(conn, limit_sql_postgresql, NULL, take_limit, reading, error);
    if (status == STATUS_OK) {
        limit_sql_conclude_postgresql(reading->limits);
    }
    return odbc_end(conn, status, error);
}

static enum status ask_mariadb(struct adapter_conn *conn, struct limits_reading *reading,
                               struct error *error)
{
    for (size_t i = 0; limit_sql_mariadb[i] != NULL; i++) {
        struct error failure;
        error_clear(&failure);
        enum status status =
            odbc_run(conn, limit_sql_mariadb[i], NULL, take_fact, reading, &failure);
        status = odbc_end(conn, status, &failure);
        if (status == STATUS_LOST || (status != STATUS_OK && i == 0)) {
            *error = failure;
            return status;
        }
    }
    /* the INSERT is prepared on the server */
    limit_facts_conclude(&reading->facts, true, conn->inserts[0].statement != NULL,
                         reading->limits);
    return STATUS_OK;
}

enum status odbc_server_limits(struct adapter_conn *conn, struct server_limits *limits,
                               struct error *error)
{
    struct limits_reading reading = {.limits = limits};

    memset(limits, 0, sizeof *limits);
    describe_server(conn, limits->version, sizeof limits->version);
    switch (conn->dialect) {
    case ODBC_POSTGRESQL:
        return ask_postgresql(conn, &reading, error);
    case ODBC_MARIADB:
        return ask_mariadb(conn, &reading, error);
    default:
        return STATUS_OK;
    }
}
