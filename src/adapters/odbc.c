/*
 * Any database through ODBC. Rows are sent with a prepared INSERT and arrays of parameters.
 *
 * Every connection has its own ODBC environment, because a shared environment would be a writable
 * static variable. unixODBC loads a driver only once anyway. Autocommit is off during appends and
 * transactions. A transaction begins with the first statement, and end_work ends it, so that the
 * database keeps all of its rows or no rows. append_open sends nothing; the transaction begins with
 * the first rows. Autocommit is on for a script's prepared statements (statements with a slot)
 * outside a transaction, because each of them would otherwise need a separate commit. Autocommit is
 * changed only when needed, because drivers send the change to the server.
 */
#include "adapters/odbc.h"

#include <ctype.h>
#include <errno.h>
#include <odbcinst.h>
#include <sql.h>
#include <sqlext.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>
#include <sys/socket.h>

#include "adapters/dialect.h"
#include "append/client_socket.h"
#include "append/value_text.h"
#include "base/ask.h"
#include "base/url.h"

enum {
    PREPARED_MAX = 4, /* maximum number of prepared INSERTs; a session uses few different batch
                         sizes */
    VALUE_BYTES = 1024,
    ANSWER_BYTES = 32,
    COMPLETED_BYTES = 2048,
    ALIGNMENT = 16,
    LONG_CHARACTERS = 4000, /* longer texts have the LONG types in most databases */
    FRACTION_DIGITS = 6,
    SYNCHRONOUS_FULL = 2, /* value of SQLite's pragma synchronous */
    FOUND_ROWS = 2,       /* bit of OPTION, a key of MySQL's driver */
    MYSQL_STALE = 2057,   /* the result's columns have changed since the statement was prepared */
    MYSQL_NUMBERS = 1000, /* lowest error number of MySQL; other drivers use smaller numbers */

    /* Some servers allow only 2,100 parameters in a statement, and the driver needs memory for each
     * parameter until the statement is freed. */
    PARAMETERS_MAX = 2000,

    /* A driver's threading level (unixODBC, DriverManager/__handles.c, thread_protect): level 0 has
     * no lock, level 1 a lock for each statement, level 2 a lock for each connection, and level 3
     * one lock for all drivers of this level. Without an entry in odbcinst.ini, the level is 0
     * since version 2.3.10 and was 3 before. */
    THREADING_SERIAL = 3,
};

enum method {
    METHOD_ARRAY,  /* an INSERT of one row, executed with an array of parameters */
    METHOD_INSERT, /* an INSERT of many rows, each value a parameter */
    METHOD_ROW,    /* an INSERT of one row, executed for each row */
};

static const char *const methods[] = {"array", "insert", "row", NULL};

/* Bits of column.native_type. */
enum {
    DIGITS_MASK = 15, /* number of fraction digits of a second */

    /* Dates and timestamps are sent as text, because SQLite's driver would truncate them to
     * milliseconds, and MariaDB's driver (3.1) leaks 40 bytes for each of them in an array. */
    TIMES_AS_TEXT = 16,

    AS_BYTES = 32,  /* addresses and UUIDs are sent as bytes, not as text */
    DESCRIBED = 64, /* set by describe; not set in a column that a script declared */
};

/* A statement that is kept prepared. */
struct adapter_prepared {
    SQLHSTMT handle;               /* handle of the statement; NULL if not prepared */
    struct adapter_prepared *next; /* next in the list of dropped statements */
};

struct insert {
    SQLHSTMT statement;        /* handle of the INSERT; NULL if not prepared */
    const struct table *table; /* the table for which the INSERT was prepared */
    size_t rows;               /* number of rows in its VALUES */
};

struct adapter_conn {
    SQLHENV environment;
    SQLHDBC connection;
    bool is_append_open;
    bool is_in_transaction; /* the connection is between begin and commit or rollback */
    bool is_autocommit;
    SQLULEN isolation;       /* isolation level in use; 0 = never changed */
    SQLULEN first_isolation; /* isolation level before the first change */
    atomic_bool is_interrupted;
    struct client_socket socket;
    enum method method;
    const struct dialect *dialect; /* the database's dialect; NULL if the database is unknown */
    char database_name[32];        /* name of a database without a dialect, in lower case */
    char driver[80];
    char user[64];
    char quote;
    uint16_t port;
    char *host;                       /* host of the server; owned; may be NULL */
    struct buffer note;               /* the text for connection_info.note */
    const char *schema;               /* the target's schema, or NULL; borrowed */
    const struct table *append_table; /* table of the current append */
    const struct server_facts *facts; /* the target's facts, or `learned`; may be NULL */
    struct server_facts *learned;     /* facts from a call of `describe`; owned; may be NULL */
    bool has_rows;                    /* the current append has received rows */
    uint64_t inserted_rows;           /* number of rows that the current append has inserted */
    struct insert inserts[PREPARED_MAX];
    unsigned next_insert;             /* index in `inserts` of the entry to replace next */
    struct adapter_prepared *dropped; /* list of dropped statements, owned */
};

static const char *const user_keys[] = {"UID", "User", "Username", NULL};
static const char *const password_keys[] = {"PWD", "Password", NULL};
static const char *const database_keys[] = {"Database", "DB", NULL};
static const char *const option_keys[] = {"OPTION", "OPTIONS", NULL};
static const char *const protocol_keys[] = {"Protocol", "A1", NULL};

bool odbc_string_find(const char *text, const char *const *keys, char *value, size_t size)
{
    struct url_pair pair;
    value[0] = '\0';
    while (url_pair_next(&text, &pair)) {
        if (!url_pair_is(&pair, keys)) {
            continue;
        }
        const bool has_braces = pair.value[0] == '{';
        size_t length = 0;
        for (size_t i = has_braces ? 1 : 0; i < pair.value_length && length + 1 < size; i++) {
            if (has_braces && pair.value[i] == '}' && pair.value[++i] != '}') {
                break;
            }
            value[length++] = pair.value[i];
        }
        value[length] = '\0';
        return true;
    }
    return false;
}

const char *odbc_string_fault(const char *text)
{
    static const char *const no_place[] = {"Driver", "UID",      "User", "Username",
                                           "PWD",    "Password", NULL};
    struct url_pair pair;
    bool has_place = strchr(text, '=') == NULL;
    while (url_pair_next(&text, &pair)) {
        /* an unclosed value would include the password, which is added after it */
        if (!pair.is_closed) {
            return "a { is not closed by a }";
        }
        has_place = has_place || !url_pair_is(&pair, no_place);
    }
    return has_place ? NULL : "it names no DSN, Server or Database";
}

/* Adds a key and its value. Adds braces only where necessary, because some drivers take braces as a
 * part of the value. */
static void add_pair(struct buffer *text, const char *key, const char *value)
{
    const size_t length = strlen(value);
    const bool has_braces = strchr(value, ';') != NULL || value[0] == '{' || value[0] == ' ' ||
                            (length > 0 && value[length - 1] == ' ');
    buffer_add_format(text, "%s=%s", key, has_braces ? "{" : "");
    for (; *value != '\0'; value++) {
        buffer_add(text, has_braces && *value == '}' ? "}}" : value,
                   has_braces && *value == '}' ? 2 : 1);
    }
    buffer_add_text(text, has_braces ? "};" : ";");
}

/* Reads the value of a key in a connection string, or in the data source that the string names. */
static void find_setting(const char *text, const char *const *keys, char *value, size_t size)
{
    char name[128];
    const char *source = name;
    if (odbc_string_find(text, keys, value, size)) {
        return;
    }
    if (strchr(text, '=') == NULL) {
        source = text;
    } else {
        odbc_string_find(text, (const char *const[]){"DSN", NULL}, name, sizeof name);
    }
    for (size_t i = 0; value[0] == '\0' && source[0] != '\0' && keys[i] != NULL; i++) {
        SQLGetPrivateProfileString(source, keys[i], "", value, (int)size, "odbc.ini");
    }
}

/* Returns true when one of `names` is a part of the driver's name or file. */
static bool is_driver(const char *text, const char *const *names)
{
    char driver[256];
    find_setting(text, (const char *const[]){"Driver", NULL}, driver, sizeof driver);
    while (*names != NULL && strcasestr(driver, *names) == NULL) {
        names++;
    }
    return *names != NULL;
}

/* Writes the value of OPTION, a key of MariaDB's and MySQL's drivers, with FOUND_ROWS added. With
 * FOUND_ROWS, the drivers count the rows that an UPDATE matched instead of the rows that it
 * changed. Writes "" for any other driver. */
static void write_option(const char *text, char *value, size_t size)
{
    static const char *const names[] = {"mariadb", "maodbc", "mysql", "myodbc", NULL};
    char option[32];
    value[0] = '\0';
    if (is_driver(text, names)) {
        find_setting(text, option_keys, option, sizeof option);
        snprintf(value, size, "%lu", strtoul(option, NULL, 10) | FOUND_ROWS);
    }
}

/* Returns the value of Protocol, a key of psqlODBC. The value's suffix determines what the driver
 * does after an error in a transaction. By default the driver sets a savepoint before each
 * statement and rolls back to it, which costs time and, after a deadlock, keeps the transaction's
 * locks. With suffix 0 the driver does nothing, and this adapter rolls the transaction back.
 * Returns NULL for another driver, or if the user's string or data source has this key. */
static const char *find_protocol(const char *text)
{
    static const char *const names[] = {"postgres", "psqlodbc", NULL};
    char given[32];
    find_setting(text, protocol_keys, given, sizeof given);
    return given[0] == '\0' && is_driver(text, names) ? "7.4-0" : NULL;
}

/* Leaves out the keys of the user's string that this function adds itself, because some drivers use
 * the first of two equal keys and other drivers the last. */
void odbc_string_build(struct buffer *text, const struct target *target)
{
    char option[32];
    write_option(target->path, option, sizeof option);
    const struct {
        const char *const *keys;
        const char *value;
    } given[] = {{user_keys, target->user},
                 {password_keys, target->password},
                 {database_keys, target->database},
                 {option_keys, option[0] != '\0' ? option : NULL},
                 {protocol_keys, find_protocol(target->path)}};
    const char *rest = target->path;
    struct url_pair pair;
    if (strchr(rest, '=') == NULL) {
        add_pair(text, "DSN", rest);
        rest = "";
    }
    while (url_pair_next(&rest, &pair)) {
        bool is_replaced = false;
        for (size_t i = 0; i < COUNT_OF(given); i++) {
            is_replaced =
                is_replaced || (given[i].value != NULL && url_pair_is(&pair, given[i].keys));
        }
        if (!is_replaced) {
            buffer_add_format(text, "%.*s=%.*s;", (int)pair.key_length, pair.key,
                              (int)pair.value_length, pair.value);
        }
    }
    for (size_t i = 0; i < COUNT_OF(given); i++) {
        if (given[i].value != NULL) {
            add_pair(text, given[i].keys[0], given[i].value);
        }
    }
}

/* Passes an attribute's number as ODBC requires: in the bits of a pointer. */
static SQLPOINTER number_argument(uintptr_t number)
{
    const union {
        uintptr_t number;
        SQLPOINTER argument;
    } value = {number};
    return value.argument;
}

/* Casts arguments that ODBC declares writable but does not write to. */
static void *borrow(const void *bytes)
{
    const union {
        const void *bytes;
        void *argument;
    } borrowed = {bytes};
    return borrowed.argument;
}

/* The only message of SQLite's driver when a file cannot be opened. */
#define SQLITE_FAILURE "[SQLite]connect failed"

/* Drivers report most connect failures under one SQLSTATE; only the message distinguishes them. */
static const struct connect_meaning {
    enum status status;
    enum error_kind kind;
    int number;           /* errno if this machine lacks a resource, otherwise 0 */
    const char *parts[6]; /* texts, one of which is part of the message; ends with NULL */
} connect_meanings[] = {
    {STATUS_LOST, ERROR_SYSTEM, ENFILE, {"Too many open files in system"}},
    {STATUS_LOST, ERROR_SYSTEM, EMFILE, {"Too many open files", "TCP/IP socket (24)"}},
    {STATUS_LOST, ERROR_SYSTEM, EADDRNOTAVAIL, {"Cannot assign requested address", " (99)"}},
    {STATUS_LOST, ERROR_LIMIT, 0, {"too many", "Too many"}},
    {STATUS_LOST, ERROR_SERVER, 0, {"starting up", "shutting down"}},
    {STATUS_LOST,
     ERROR_TIMEOUT,
     0,
     {"timeout expired", "timed out", "system error: 110", " (110)"}},
    {STATUS_LOST, ERROR_UNREACHABLE, 0, {"refused", "translate host name", "Can't connect"}},
    {STATUS_LOST, ERROR_UNREACHABLE, 0, {"No such file or directory"}},
    {STATUS_FATAL, ERROR_AUTH, 0, {"authentication failed", "no password supplied"}},
    {STATUS_FATAL, ERROR_AUTH, 0, {"pg_hba.conf", "permission denied", "role \""}},
    {STATUS_FATAL, ERROR_NOT_FOUND, 0, {"database \"", SQLITE_FAILURE}},
};

/* Meanings of ODBC's own SQLSTATEs. SQLSTATEs of the SQL standard have the same meanings as in
 * PostgreSQL. */
static const struct {
    struct dialect_meaning meaning; /* meaning for a call; a connect is never REJECTED */
    const char *states[4];          /* SQLSTATEs: five characters, or the beginning of a class */
} state_meanings[] = {
    {{STATUS_FATAL, ERROR_USAGE, NULL}, {"01S00", "IM0"}},           /* invalid attribute (01S00) */
    {{STATUS_LOST, ERROR_CONNECTION, NULL}, {"08", "57P", "25S01"}}, /* unknown outcome (25S01) */
    {{STATUS_LOST, ERROR_TIMEOUT, NULL}, {"HYT01"}}, /* the server did not answer in time */
    {{STATUS_REJECTED, ERROR_TIMEOUT, NULL}, {"HYT"}},
    {{STATUS_REJECTED, ERROR_DATA, NULL}, {"45"}},
    {{STATUS_FATAL, ERROR_NOT_FOUND, NULL}, {"42S02", "42S22"}},
    {{STATUS_REJECTED, ERROR_EXISTS, NULL}, {"42S11"}},
    {{STATUS_FATAL, ERROR_UNSUPPORTED, NULL}, {"HYC00"}},
    {{STATUS_FATAL, ERROR_MEMORY, NULL}, {"HY001"}},
};

/* Meanings of error numbers whose SQLSTATEs are too general, for databases without a dialect. */
static const struct {
    const char *database;
    SQLINTEGER number;
    enum error_kind kind;
} number_meanings[] = {
    {"microsoft sql server", 1205, ERROR_DEADLOCK},
    {"microsoft sql server", 1222, ERROR_BUSY},
    {"microsoft sql server", 2601, ERROR_DUPLICATE},
    {"microsoft sql server", 2627, ERROR_DUPLICATE},
    {"microsoft sql server", 3960, ERROR_SERIALIZATION},
    {"oracle", 1, ERROR_DUPLICATE},
    {"oracle", 54, ERROR_BUSY},
    {"oracle", 60, ERROR_DEADLOCK},
    {"oracle", 8177, ERROR_SERIALIZATION},
};

/* The content of a failed call's diagnostic records. */
struct diagnosis {
    char sqlstate[ERROR_SQLSTATE_BYTES];
    SQLINTEGER native;
    char text[SQL_MAX_MESSAGE_LENGTH + 1];
    unsigned refused_rows; /* number of rows that have an error record of their own */
};

/* Reads the diagnostic records. Row numbers are read only if there are several records, because
 * some drivers set no row number in a single record. Uses the first error. Uses a warning only if
 * there is no error (the driver manager reports the reason for IM003 as a warning). */
static struct dialect_failure read_diagnosis(SQLSMALLINT type, SQLHANDLE handle,
                                             struct diagnosis *diagnosis)
{
    SQLLEN last_row = SQL_NO_ROW_NUMBER;
    SQLINTEGER records = 0;
    bool has_error = false;
    memset(diagnosis, 0, sizeof *diagnosis);
    SQLGetDiagField(type, handle, 0, SQL_DIAG_NUMBER, &records, 0, NULL);
    for (SQLSMALLINT record = 1;; record++) {
        char state[SQL_SQLSTATE_SIZE + 1] = "";
        char text[SQL_MAX_MESSAGE_LENGTH + 1] = "";
        SQLINTEGER native = 0;
        SQLSMALLINT length = 0;
        SQLLEN row = SQL_NO_ROW_NUMBER;
        if (!SQL_SUCCEEDED(SQLGetDiagRec(type, handle, record, (SQLCHAR *)state, &native,
                                         (SQLCHAR *)text, sizeof text, &length))) {
            break;
        }
        const bool is_error = strncmp(state, "01", 2) != 0 && strncmp(state, "00", 2) != 0;
        if (type == SQL_HANDLE_STMT && is_error && records > 1 &&
            SQL_SUCCEEDED(
                SQLGetDiagField(type, handle, record, SQL_DIAG_ROW_NUMBER, &row, 0, NULL)) &&
            row > 0 && row != last_row) {
            diagnosis->refused_rows++;
            last_row = row;
        }
        if (record == 1 || (is_error && !has_error)) {
            snprintf(diagnosis->sqlstate, sizeof diagnosis->sqlstate, "%s", state);
            snprintf(diagnosis->text, sizeof diagnosis->text, "%s", text);
            diagnosis->native = native;
        }
        has_error = has_error || is_error;
    }
    return (struct dialect_failure){.is_connecting = type == SQL_HANDLE_DBC,
                                    .number = (int)diagnosis->native,
                                    .sqlstate = diagnosis->sqlstate,
                                    .text = diagnosis->text};
}

/* Returns the first line of a message, without the names of the driver and manager before it and
 * the name of the operation after it. */
static const char *strip(char *text)
{
    while (*text == '[' && strchr(text, ']') != NULL) {
        text = strchr(text, ']') + 1;
    }
    size_t length = strcspn(text, "\r\n");
    while (length > 0 && strchr("; ", text[length - 1]) != NULL) {
        length--;
    }
    text[length] = '\0';
    return length > 0 ? text : "the driver gives no reason";
}

/* Classifies a failure that no dialect classifies. `database` is the lower-case name of a database
 * without a dialect, or "". */
static struct dialect_meaning classify_state(const struct dialect_failure *failure,
                                             const char *database)
{
    struct dialect_meaning meaning = {STATUS_REJECTED, ERROR_SERVER, NULL};
    for (size_t i = 0; i < COUNT_OF(number_meanings); i++) {
        if (number_meanings[i].number == failure->number &&
            strcmp(number_meanings[i].database, database) == 0) {
            meaning.kind = number_meanings[i].kind;
            return meaning;
        }
    }
    for (size_t i = 0; i < COUNT_OF(state_meanings); i++) {
        for (const char *const *state = state_meanings[i].states; *state != NULL; state++) {
            if (strncmp(*state, failure->sqlstate, strlen(*state)) == 0) {
                return state_meanings[i].meaning;
            }
        }
    }
    dialect_postgresql.classify_error(failure, &meaning);
    return meaning;
}

static bool contains_any(const char *text, const char *const *parts)
{
    while (*parts != NULL && strstr(text, *parts) == NULL) {
        parts++;
    }
    return *parts != NULL;
}

/* Records why a connection attempt failed. */
static enum status connect_error(SQLHDBC connection, struct error *error)
{
    struct diagnosis diagnosis;
    const struct dialect_failure failure = read_diagnosis(SQL_HANDLE_DBC, connection, &diagnosis);
    if (strcmp(failure.sqlstate, "IM002") == 0) {
        error_set(
            error, ERROR_USAGE, 0, failure.sqlstate,
            "no such data source, and no driver given: list data sources with odbcinst -q -s, "
            "drivers with odbcinst -q -d; or give Driver={NAME};Server=...");
        return STATUS_FATAL;
    }
    if (strncmp(failure.sqlstate, "IM00", 4) == 0 ||
        strstr(failure.text, "Can't open lib") != NULL) {
        error_set(error, ERROR_USAGE, 0, failure.sqlstate,
                  "%.150s: list the registered drivers with odbcinst -q -d", strip(diagnosis.text));
        return STATUS_FATAL;
    }
    const struct connect_meaning *connect_meaning = connect_meanings;
    const struct connect_meaning *const end = connect_meaning + COUNT_OF(connect_meanings);
    while (connect_meaning < end && !contains_any(failure.text, connect_meaning->parts)) {
        connect_meaning++;
    }
    if (connect_meaning < end && connect_meaning->number != 0) {
        error_set(error, connect_meaning->kind, connect_meaning->number, failure.sqlstate, "%.*s",
                  (int)strcspn(failure.text, "\r\n"), failure.text);
        return STATUS_LOST;
    }
    /* before a connection is open, it is unknown which database the numbers and messages belong
     * to */
    struct dialect_meaning meaning = {0};
    const bool is_mysql = failure.number >= MYSQL_NUMBERS;
    const struct dialect *const dialect = is_mysql ? &dialect_mysql : &dialect_postgresql;
    const bool is_explained = dialect->classify_error(&failure, &meaning);
    if (!is_explained || meaning.kind != ERROR_LIMIT) {
        meaning = connect_meaning < end      ? (struct dialect_meaning){connect_meaning->status,
                                                                        connect_meaning->kind, NULL}
                  : is_mysql && is_explained ? meaning
                                             : classify_state(&failure, "");
    }
    const char *const text =
        strstr(failure.text, SQLITE_FAILURE) != NULL
            ? "SQLite's driver cannot open the database: its folder must exist and be writable"
            : strip(diagnosis.text);
    if (error_set(error, meaning.kind, failure.number, failure.sqlstate, "%s", text)) {
        error->limit = meaning.limit;
    }
    return meaning.status == STATUS_REJECTED ? STATUS_LOST : meaning.status;
}

/* Records why a call failed: a call on `statement` or, if it is NULL, on the connection. */
static enum status call_error(struct adapter_conn *conn, SQLHSTMT statement, struct error *error)
{
    struct diagnosis diagnosis;
    char text[ERROR_TEXT_BYTES], rows[48] = "";
    SQLUINTEGER dead = SQL_CD_FALSE;
    struct dialect_failure failure =
        statement != NULL ? read_diagnosis(SQL_HANDLE_STMT, statement, &diagnosis)
                          : read_diagnosis(SQL_HANDLE_DBC, conn->connection, &diagnosis);
    failure.is_connecting = false;
    static const struct dialect_meaning is_lost = {STATUS_LOST, ERROR_CONNECTION, NULL};
    struct dialect_meaning meaning = is_lost;
    if (!atomic_load(&conn->is_interrupted)) {
        if (conn->dialect == NULL || !conn->dialect->classify_error(&failure, &meaning)) {
            meaning = classify_state(&failure, conn->database_name);
        }
        /* a broken connection may have any SQLSTATE, so also read this attribute, which drivers
         * return without contacting the server */
        if (meaning.status != STATUS_LOST &&
            SQL_SUCCEEDED(
                SQLGetConnectAttr(conn->connection, SQL_ATTR_CONNECTION_DEAD, &dead, 0, NULL)) &&
            dead == SQL_CD_TRUE) {
            meaning = is_lost;
        }
    }
    failure.text = strip(diagnosis.text);
    if (conn->dialect != NULL) {
        conn->dialect->write_text(&failure, conn->user, text, sizeof text);
    } else {
        snprintf(text, sizeof text, "%s", failure.text);
    }
    if (diagnosis.refused_rows > 1) {
        snprintf(rows, sizeof rows, "%u rows refused, the first: ", diagnosis.refused_rows);
    }
    if (error_set(error, meaning.kind, failure.number, failure.sqlstate, "%s%s", rows, text)) {
        error->limit = meaning.limit;
    }
    return meaning.status;
}

/* A column's values in the form that ODBC reads: an array of values and, for texts or NULLs, an
 * array of lengths. Numbers are not copied from the batch. */
struct parameter {
    const struct column *column;
    const struct column_data *data;
    struct form {
        SQLSMALLINT c_type;
        SQLSMALLINT sql_type;
        SQLULEN size;
        size_t width; /* bytes from one value to the next */
    } as;
    SQLSMALLINT digits;
    uint32_t native_type; /* the column's native_type, as describe would set it */
    bool is_copied;
    bool has_lengths; /* false: no row is NULL, and the type implies the length */
    char *values;     /* memory of row 0's value */
    SQLLEN *lengths;  /* length of row 0's value */
};

struct parameters {
    size_t count;
    struct parameter *list; /* the columns that are written; owned */
    char *memory;           /* memory of the copied values and lengths; owned */
};

/* The SQL types with which values are sent. They do not depend on the column's type on the server,
 * because the server converts values, as it does for other programs. Values of types that are not
 * listed are sent as text or bytes. */
static const struct form fixed_types[COLUMN_TYPE_COUNT] = {
    [COLUMN_BOOL] = {SQL_C_BIT, SQL_BIT, 1, 1},
    [COLUMN_INT16] = {SQL_C_SSHORT, SQL_SMALLINT, 5, sizeof(int16_t)},
    [COLUMN_INT32] = {SQL_C_SLONG, SQL_INTEGER, 10, sizeof(int32_t)},
    [COLUMN_INT64] = {SQL_C_SBIGINT, SQL_BIGINT, 19, sizeof(int64_t)},
    [COLUMN_FLOAT32] = {SQL_C_FLOAT, SQL_REAL, 7, sizeof(float)},
    [COLUMN_FLOAT64] = {SQL_C_DOUBLE, SQL_DOUBLE, 15, sizeof(double)},
    [COLUMN_DATE] = {SQL_C_TYPE_DATE, SQL_TYPE_DATE, 10, sizeof(SQL_DATE_STRUCT)},
    [COLUMN_TIMESTAMP] = {SQL_C_TYPE_TIMESTAMP, SQL_TYPE_TIMESTAMP, 19,
                          sizeof(SQL_TIMESTAMP_STRUCT)},
};

static int64_t clamp(int64_t value, int64_t most)
{
    return value < 0 ? 0 : MIN(value, most);
}

static bool is_text(const struct column *column)
{
    return column_kinds[column->type].is == COLUMN_IS_TEXT;
}

/* Describes a parameter. `native_type` is the result of the function native_type for the column.
 * With `is_declared`, a text has at least the size of its column's type, because some drivers
 * prepare the statement again when the size changes. */
static struct parameter make_parameter(const struct column *column, const struct column_data *data,
                                       size_t rows, uint32_t native_type, bool is_declared)
{
    struct parameter made = {.column = column, .data = data, .native_type = native_type};
    const bool is_time = column->type == COLUMN_DATE || column->type == COLUMN_TIMESTAMP;
    if (fixed_types[column->type].width > 0 && !(is_time && (native_type & TIMES_AS_TEXT) != 0)) {
        made.as = fixed_types[column->type];
        made.is_copied = is_time;
        made.digits =
            (SQLSMALLINT)(column->type == COLUMN_TIMESTAMP ? native_type & DIGITS_MASK : 0);
        /* add room for the point and the digits */
        made.as.size += made.digits > 0 ? 1U + (SQLULEN)made.digits : 0;
    } else if ((native_type & AS_BYTES) != 0) {
        const size_t width = column->type == COLUMN_IP4 ? 4 : 16;
        made.as = (struct form){SQL_C_BINARY, SQL_BINARY, width, width};
    } else {
        size_t width = is_text(column) ? 1 : VALUE_TEXT_BYTES;
        for (size_t row = 0; is_text(column) && row < rows; row++) {
            const size_t length = data->values.text[row].length;
            width = length > width ? length : width;
        }
        const size_t declared = column->size > 0 ? column->size : LONG_CHARACTERS;
        const size_t least = is_declared && is_text(column) ? declared : 0;
        const SQLULEN characters = width > least ? width : least;
        const bool is_long = characters > LONG_CHARACTERS;
        made.is_copied = true;
        if (column->type == COLUMN_BYTES) {
            made.as = (struct form){SQL_C_BINARY, is_long ? SQL_LONGVARBINARY : SQL_VARBINARY,
                                    characters, width};
        } else if (column->type == COLUMN_DECIMAL) {
            made.as = (struct form){SQL_C_CHAR, SQL_DECIMAL,
                                    column->precision > 0 ? column->precision : 38, width};
            made.digits = column->scale;
        } else {
            made.as = (struct form){SQL_C_CHAR, is_long ? SQL_LONGVARCHAR : SQL_VARCHAR, characters,
                                    width};
        }
    }
    made.has_lengths =
        made.as.c_type == SQL_C_CHAR || made.as.c_type == SQL_C_BINARY || data->is_null != NULL;
    return made;
}

static void copy_value(struct parameter *parameter, size_t row)
{
    static const uint32_t units[] = {1000000000, 100000000, 10000000, 1000000, 100000,
                                     10000,      1000,      100,      10,      1};
    const unsigned digits = parameter->native_type & DIGITS_MASK;
    const union column_values values = parameter->data->values;
    char *to = parameter->values + row * parameter->as.width;
    if (parameter->as.c_type == SQL_C_TYPE_DATE || parameter->as.c_type == SQL_C_TYPE_TIMESTAMP) {
        struct civil_time time;
        civil_time_of(parameter->column, values, row, &time);
        const SQL_TIMESTAMP_STRUCT when = {
            .year = (SQLSMALLINT)time.year,
            .month = (SQLUSMALLINT)time.month,
            .day = (SQLUSMALLINT)time.day,
            .hour = (SQLUSMALLINT)time.hour,
            .minute = (SQLUSMALLINT)time.minute,
            .second = (SQLUSMALLINT)time.second,
            /* remove digits that do not fit into the column, because drivers may refuse them, and
             * servers may round up to the next second */
            .fraction = time.nanosecond - time.nanosecond % units[digits],
        };
        const SQL_DATE_STRUCT date = {.year = when.year, .month = when.month, .day = when.day};
        const bool is_date = parameter->as.c_type == SQL_C_TYPE_DATE;
        memcpy(to, is_date ? (const void *)&date : &when, parameter->as.width);
    } else if (is_text(parameter->column)) {
        const struct text_value *text = &values.text[row];
        if (text->length > 0) {
            memcpy(to, text->bytes, text->length);
        }
        parameter->lengths[row] = (SQLLEN)text->length;
    } else {
        parameter->lengths[row] =
            (SQLLEN)value_text_write(to, parameter->column, values, row, digits);
    }
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void parameters_fini(struct parameters *parameters)
{
    free(parameters->list);
    free(parameters->memory);
}

/* Returns a column's native_type. For a column that a script declared, returns the native_type that
 * describe would set in this database. */
static uint32_t native_type(const struct adapter_conn *conn, const struct column *column)
{
    if ((column->native_type & DESCRIBED) != 0) {
        return column->native_type;
    }
    const bool is_id =
        column->type == COLUMN_IP4 || column->type == COLUMN_IP6 || column->type == COLUMN_UUID;
    const bool is_time = column->type == COLUMN_TIME || column->type == COLUMN_TIMESTAMP;
    const uint32_t digits = is_time ? (uint32_t)clamp(column->scale, FRACTION_DIGITS) : 0;
    const bool has_texts = conn->dialect != NULL && conn->dialect != &dialect_postgresql;
    const bool has_bytes = is_id && conn->dialect == &dialect_mysql;
    return digits | (has_texts ? TIMES_AS_TEXT : 0) | (has_bytes ? AS_BYTES : 0);
}

/* Prepares the columns of a batch for ODBC. The batch must stay valid until parameters_fini.
 * `is_declared` is true if the columns are the parameters of a statement that is run repeatedly.
 * The caller must call parameters_fini even if this function fails. */
static enum status parameters_init(struct parameters *parameters, const struct adapter_conn *conn,
                                   const struct batch *batch, bool is_declared, struct error *error)
{
    const struct table *table = batch->table;
    const size_t rows = batch->row_count;
    size_t bytes = ALIGNMENT;
    *parameters =
        (struct parameters){.list = calloc(table->column_count + 1, sizeof *parameters->list)};
    for (size_t i = 0; parameters->list != NULL && i < table->column_count; i++) {
        if (!table->columns[i].is_generated) {
            const struct column *const column = &table->columns[i];
            const struct parameter made = make_parameter(column, &batch->columns[i], rows,
                                                         native_type(conn, column), is_declared);
            bytes += made.has_lengths ? aligned(sizeof(SQLLEN) * rows) : 0;
            bytes += made.is_copied ? aligned(made.as.width * rows) : 0;
            parameters->list[parameters->count++] = made;
        }
    }
    parameters->memory = malloc(bytes);
    if (parameters->list == NULL || parameters->memory == NULL) {
        return dialect_memory_error(error);
    }
    char *at = parameters->memory;
    for (struct parameter *p = parameters->list; p < parameters->list + parameters->count; p++) {
        p->lengths = p->has_lengths ? (SQLLEN *)(void *)at : NULL;
        at += p->has_lengths ? aligned(sizeof(SQLLEN) * rows) : 0;
        p->values = p->is_copied ? at : borrow(p->data->values.any);
        at += p->is_copied ? aligned(p->as.width * rows) : 0;
        for (size_t row = 0; row < rows && (p->has_lengths || p->is_copied); row++) {
            if (p->has_lengths) {
                p->lengths[row] =
                    column_is_null(p->data, row) ? SQL_NULL_DATA : (SQLLEN)p->as.width;
            }
            if (p->is_copied && !column_is_null(p->data, row)) {
                copy_value(p, row);
            }
        }
    }
    return STATUS_OK;
}

/* Binds the values of row `row`, one value for each column, to consecutive parameters of the
 * statement. `first` is the number of the first parameter; numbers start at 1. */
static bool parameters_bind(const struct parameters *parameters, SQLHSTMT statement, size_t first,
                            size_t row)
{
    SQLRETURN result = SQL_SUCCESS;
    for (size_t i = 0; i < parameters->count && SQL_SUCCEEDED(result); i++) {
        const struct parameter *bound = &parameters->list[i];
        result =
            SQLBindParameter(statement, (SQLUSMALLINT)(first + i), SQL_PARAM_INPUT,
                             bound->as.c_type, bound->as.sql_type, bound->as.size, bound->digits,
                             bound->values + row * bound->as.width, (SQLLEN)bound->as.width,
                             bound->has_lengths ? bound->lengths + row : NULL);
    }
    return SQL_SUCCEEDED(result);
}

static enum status set_autocommit(struct adapter_conn *conn, bool is_on, struct error *error)
{
    if (conn->is_autocommit == is_on) {
        return STATUS_OK;
    }
    const uintptr_t number = is_on ? SQL_AUTOCOMMIT_ON : SQL_AUTOCOMMIT_OFF;
    if (!SQL_SUCCEEDED(
            SQLSetConnectAttr(conn->connection, SQL_ATTR_AUTOCOMMIT, number_argument(number), 0))) {
        return call_error(conn, NULL, error);
    }
    conn->is_autocommit = is_on;
    return STATUS_OK;
}

/* Ends the work since the last commit: commits if `status` is OK, otherwise rolls back. Returns the
 * resulting status. Does nothing if autocommit is on or the caller has begun a transaction. */
static enum status end_work(struct adapter_conn *conn, enum status status, struct error *error)
{
    if (conn->is_in_transaction || conn->is_autocommit) {
        return status;
    }
    if (status == STATUS_OK) {
        if (SQL_SUCCEEDED(SQLEndTran(SQL_HANDLE_DBC, conn->connection, SQL_COMMIT))) {
            return STATUS_OK;
        }
        status = call_error(conn, NULL, error);
        if (strncmp(error->sqlstate, "HYT", 3) == 0) {
            status = STATUS_LOST; /* the server may have committed */
        }
    }
    if (status != STATUS_LOST &&
        !SQL_SUCCEEDED(SQLEndTran(SQL_HANDLE_DBC, conn->connection, SQL_ROLLBACK))) {
        struct error second = {0};
        if (call_error(conn, NULL, &second) == STATUS_LOST) {
            if (!error_is_set(error)) {
                *error = second;
            }
            return STATUS_LOST;
        }
    }
    return status;
}

/* Reads a column of the current row as text, truncated to `size`. Returns false if the value is
 * NULL. */
static bool get_text(SQLHSTMT statement, unsigned column, char *text, size_t size)
{
    SQLLEN length = SQL_NULL_DATA;
    text[0] = '\0';
    return SQL_SUCCEEDED(SQLGetData(statement, (SQLUSMALLINT)column, SQL_C_CHAR, text, (SQLLEN)size,
                                    &length)) &&
           length != SQL_NULL_DATA;
}

/* Reads a column of the current row as a number; 0 for NULL. */
static int64_t get_number(SQLHSTMT statement, unsigned column)
{
    SQLBIGINT number = 0;
    SQLLEN length = SQL_NULL_DATA;
    const SQLRETURN result =
        SQLGetData(statement, (SQLUSMALLINT)column, SQL_C_SBIGINT, &number, 0, &length);
    return SQL_SUCCEEDED(result) && length != SQL_NULL_DATA ? (int64_t)number : 0;
}

/* Takes the current row of `statement`. Returns false if no more rows are wanted. */
typedef bool (*take_row)(SQLHSTMT statement, void *context);

/* A summary of a statement's results. */
struct results {
    bool has_rows; /* a result had columns */
    uint64_t changed;
};

/* A statement, its parameters, and the receiver of its rows. */
struct call {
    const char *sql;                /* the SQL; NULL if the statement is prepared */
    const struct batch *parameters; /* values of the parameters: a batch of one row, or NULL */
    take_row take;                  /* receives each row; may be NULL */
    void *context;
    struct results *results; /* receives a summary; may be NULL */
};

/* Takes every row of every result of a statement; `result` is the return value of the execution
 * (SQL_NO_DATA: no row was changed). */
static enum status take_rows(struct adapter_conn *conn, SQLHSTMT statement, SQLRETURN result,
                             const struct call *call, struct error *error)
{
    struct results *const results = call->results;
    while (SQL_SUCCEEDED(result)) {
        SQLSMALLINT columns = 0;
        SQLLEN changed = 0;
        bool is_wanted = call->take != NULL;
        SQLNumResultCols(statement, &columns);
        if (results != NULL && columns > 0) {
            results->has_rows = true;
        } else if (results != NULL && SQL_SUCCEEDED(SQLRowCount(statement, &changed)) &&
                   changed > 0) {
            results->changed += (uint64_t)changed;
        }
        while (columns > 0) {
            result = SQLFetch(statement);
            if (!SQL_SUCCEEDED(result)) {
                break;
            }
            is_wanted = is_wanted && call->take(statement, call->context);
        }
        if (result == SQL_ERROR) {
            break;
        }
        result = SQLMoreResults(statement);
    }
    return result == SQL_NO_DATA ? STATUS_OK : call_error(conn, statement, error);
}

static enum status open_statement(struct adapter_conn *conn, SQLHSTMT *statement,
                                  struct error *error)
{
    if (SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, conn->connection, statement))) {
        return STATUS_OK;
    }
    *statement = NULL;
    return call_error(conn, NULL, error);
}

static enum status call_statement(struct adapter_conn *conn, SQLHSTMT statement,
                                  const struct call *call, struct error *error)
{
    struct parameters bound = {0};
    enum status status = STATUS_OK;
    if (call->parameters != NULL) {
        status = parameters_init(&bound, conn, call->parameters, true, error);
    }
    if (status == STATUS_OK && !parameters_bind(&bound, statement, 1, 0)) {
        status = call_error(conn, statement, error);
    }
    if (status == STATUS_OK) {
        SQLRETURN result;
        if (call->sql != NULL) {
            result = SQLExecDirect(statement, borrow(call->sql), SQL_NTS);
        } else {
            result = SQLExecute(statement);
        }
        status = take_rows(conn, statement, result, call, error);
    }
    parameters_fini(&bound);
    return status;
}

/* Runs an unprepared statement, without ending the transaction. */
static enum status run_call(struct adapter_conn *conn, const struct call *call, struct error *error)
{
    SQLHSTMT statement;
    enum status status = open_statement(conn, &statement, error);
    if (status == STATUS_OK) {
        status = call_statement(conn, statement, call, error);
        SQLFreeHandle(SQL_HANDLE_STMT, statement);
    }
    return status;
}

/* Runs one statement without parameters, without ending the transaction. */
static enum status run_one(struct adapter_conn *conn, const char *sql, struct error *error)
{
    return run_call(conn, &(struct call){.sql = sql}, error);
}

/* Runs the statement in the buffer and frees the buffer. */
static enum status run_written(struct adapter_conn *conn, struct buffer *sql, struct error *error)
{
    const enum status status =
        buffer_failed(sql) ? dialect_memory_error(error) : run_one(conn, buffer_text(sql), error);
    buffer_fini(sql);
    return status;
}

static bool take_value(SQLHSTMT statement, void *context)
{
    get_text(statement, 1, context, ANSWER_BYTES);
    return false;
}

/* Runs a query and reads the first column of its first row as text; "" when it returns no row. */
static enum status query_text(struct adapter_conn *conn, const char *sql, char text[ANSWER_BYTES],
                              struct error *error)
{
    text[0] = '\0';
    return run_call(conn, &(struct call){.sql = sql, .take = take_value, .context = text}, error);
}

enum {
    NUMBERS_MAX = 64
};

/* State of reading a statement's rows. */
struct reading {
    struct answer *answer;
    struct results results;
    struct cell *cells; /* cells of one row; owned */
    struct buffer text; /* text of the row's values */
    size_t columns;
    uint64_t numbers; /* bit i is set if column i is an integer; only for the first columns */
    bool is_done;     /* no more rows are wanted */
    bool has_no_memory;
};

static void reading_fini(struct reading *reading)
{
    free(reading->cells);
    buffer_fini(&reading->text);
}

/* Adds a column of the current row as text, in as many parts as needed. Returns false if the value
 * is NULL. */
static bool add_value(SQLHSTMT statement, unsigned column, struct buffer *text)
{
    char part[VALUE_BYTES];
    SQLLEN before = 0;
    bool has_part = false;
    for (;;) {
        SQLLEN length = SQL_NULL_DATA;
        const SQLRETURN result = SQLGetData(statement, (SQLUSMALLINT)column, SQL_C_CHAR, part,
                                            (SQLLEN)sizeof part, &length);
        if (!SQL_SUCCEEDED(result) || length == SQL_NULL_DATA) {
            return has_part;
        }
        buffer_add(text, part, strnlen(part, sizeof part - 1));
        /* in drivers that return parts, the remaining length shrinks with every part */
        const bool is_cut = result == SQL_SUCCESS_WITH_INFO &&
                            (length == SQL_NO_TOTAL ||
                             (length >= (SQLLEN)sizeof part && (!has_part || length < before)));
        if (!is_cut || buffer_failed(text)) {
            return true;
        }
        has_part = true;
        before = length;
    }
}

static bool is_whole_number(SQLHSTMT statement, unsigned column)
{
    SQLLEN type = 0;
    SQLColAttribute(statement, (SQLUSMALLINT)column, SQL_DESC_CONCISE_TYPE, NULL, 0, NULL, &type);
    return type == SQL_BIT || type == SQL_TINYINT || type == SQL_SMALLINT || type == SQL_INTEGER ||
           type == SQL_BIGINT;
}

/* Takes a row. Reads all values as text, because a driver that is asked for a number converts any
 * text to a number; then converts the values of integer columns to integers. */
static bool take_cells(SQLHSTMT statement, void *context)
{
    struct reading *reading = context;
    struct answer *answer = reading->answer;
    SQLSMALLINT columns = 0;
    answer->rows++;
    if (answer->take == NULL) {
        return true;
    }
    SQLNumResultCols(statement, &columns);
    if ((size_t)columns != reading->columns) {
        free(reading->cells);
        reading->columns = (size_t)columns;
        reading->cells = calloc(reading->columns, sizeof *reading->cells);
        reading->numbers = 0;
        for (unsigned i = 0; i < reading->columns && i < NUMBERS_MAX; i++) {
            reading->numbers |= is_whole_number(statement, i + 1) ? UINT64_C(1) << i : 0;
        }
    }
    buffer_clear(&reading->text);
    for (unsigned i = 0; reading->cells != NULL && i < reading->columns; i++) {
        struct cell *cell = &reading->cells[i];
        const size_t before = reading->text.length;
        cell->type = COLUMN_TEXT;
        cell->is_null = !add_value(statement, i + 1, &reading->text);
        cell->as.text.length = (uint32_t)(reading->text.length - before);
    }
    const char *at = buffer_text(&reading->text);
    reading->has_no_memory = reading->cells == NULL || buffer_failed(&reading->text);
    for (unsigned i = 0; !reading->has_no_memory && i < reading->columns; i++) {
        struct cell *cell = &reading->cells[i];
        const uint32_t length = cell->as.text.length;
        int64_t number;
        cell->as.text.bytes = at;
        if (i < NUMBERS_MAX && (reading->numbers & UINT64_C(1) << i) != 0 && !cell->is_null &&
            text_parse_integer(at, length, &number)) {
            *cell = (struct cell){.type = COLUMN_INT64, .as.int64 = number};
        }
        at += length;
    }
    reading->is_done =
        reading->has_no_memory || !answer->take(answer->context, reading->cells, reading->columns);
    return !reading->is_done;
}

/* Runs an unprepared statement; `parameters`, a batch of one row, may be NULL. */
static enum status run_reading(struct adapter_conn *conn, const char *sql,
                               const struct batch *parameters, struct reading *reading,
                               struct error *error)
{
    const struct call call = {sql, parameters, take_cells, reading, &reading->results};
    return run_call(conn, &call, error);
}

/* Returns true if `sql` is a single statement that does not begin or end a transaction. A server
 * can commit such a statement by itself. */
static bool is_single(const char *sql, unsigned lexis)
{
    struct sql_script script = {.rest = sql, .lexis = lexis};
    bool is_single = sql_script_next(&script) && script.kind == SQL_SCRIPT_OTHER;
    is_single = is_single && !sql_script_next(&script);
    buffer_fini(&script.statement);
    return is_single;
}

/* Runs a user's script. Does not send statements that begin or end a transaction, because without
 * autocommit a transaction begins by itself, and an ODBC call ends it. If the caller has begun a
 * transaction, these statements are refused. */
static enum status run_script(struct adapter_conn *conn, const char *sql, struct reading *reading,
                              struct error *error)
{
    const unsigned lexis = conn->dialect != NULL ? sql_lexis_of(conn->dialect->name) : 0;
    struct sql_script script = {.rest = sql, .lexis = lexis};
    struct error ignored = {.kind = ERROR_NONE};
    enum status status = STATUS_OK;
    bool is_begun = false;
    if (conn->is_autocommit && !conn->is_in_transaction && !is_single(sql, lexis)) {
        status = set_autocommit(conn, false, error);
    }
    while (status == STATUS_OK && sql_script_next(&script)) {
        if (buffer_failed(&script.statement)) {
            status = dialect_memory_error(error);
        } else if (script.kind == SQL_SCRIPT_OTHER) {
            status = run_reading(conn, buffer_text(&script.statement), NULL, reading, error);
        } else if (conn->is_in_transaction) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "a statement in an open transaction cannot begin or end a transaction");
            status = STATUS_FATAL;
        } else {
            is_begun = script.kind == SQL_SCRIPT_BEGIN;
        }
        if (script.kind == SQL_SCRIPT_COMMIT) {
            status = end_work(conn, status, error);
        } else if (script.kind == SQL_SCRIPT_ROLLBACK) {
            end_work(conn, STATUS_REJECTED, &ignored);
        }
    }
    buffer_fini(&script.statement);
    return end_work(conn, is_begun ? dialect_refuse_transaction(status, error) : status, error);
}

static enum status odbc_execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    struct answer answer = {.take = NULL};
    struct reading reading = {.answer = &answer};
    return run_script(conn, sql, &reading, error);
}

static void free_handle(struct adapter_prepared *prepared)
{
    if (prepared->handle != NULL) {
        SQLFreeHandle(SQL_HANDLE_STMT, prepared->handle);
    }
    prepared->handle = NULL;
}

/* Binds dummy values of the declared types, because some drivers need the types of the values to
 * prepare a statement. SQLite's driver checks most statements only when it executes them. This
 * function therefore runs EXPLAIN, which checks a statement without executing it. */
static enum status bind_types(struct adapter_conn *conn, SQLHSTMT handle, const char *sql,
                              const struct table *types, struct error *error)
{
    static const union {
        char bytes[VALUE_TEXT_BYTES];
        struct text_value text;
        double alignment;
    } zero;
    struct parameters bound = {0};
    struct column_data *data = calloc(types->column_count + 1, sizeof *data);
    for (size_t i = 0; data != NULL && i < types->column_count; i++) {
        data[i].values.any = &zero;
    }
    const struct batch batch = {.table = types, .row_count = 1, .columns = data};
    enum status status = data == NULL ? dialect_memory_error(error)
                                      : parameters_init(&bound, conn, &batch, true, error);
    if (status == STATUS_OK && !parameters_bind(&bound, handle, 1, 0)) {
        status = call_error(conn, handle, error);
    }
    parameters_fini(&bound);
    if (status == STATUS_OK && conn->dialect == &dialect_sqlite) {
        struct buffer text = {0};
        buffer_add_format(&text, "explain %s", sql);
        status =
            buffer_failed(&text)
                ? dialect_memory_error(error)
                : run_call(conn, &(struct call){.sql = buffer_text(&text), .parameters = &batch},
                           error);
        buffer_fini(&text);
    }
    free(data);
    return status;
}

static enum status prepare_in(struct adapter_conn *conn, struct adapter_prepared *prepared,
                              const struct statement *statement, struct error *error)
{
    const struct table none = {.column_count = 0};
    const struct table *types = statement->parameters != NULL ? statement->parameters : &none;
    SQLSMALLINT count = 0;
    free_handle(prepared);
    enum status status = open_statement(conn, &prepared->handle, error);
    if (status != STATUS_OK) {
        return status;
    }
    if (!SQL_SUCCEEDED(SQLPrepare(prepared->handle, borrow(statement->sql), SQL_NTS)) ||
        !SQL_SUCCEEDED(SQLNumParams(prepared->handle, &count))) {
        return call_error(conn, prepared->handle, error);
    }
    if ((size_t)count != types->column_count) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "the statement has %d parameters, but lists %zu types: \"%.150s\"", (int)count,
                  types->column_count, statement->sql);
        return STATUS_FATAL;
    }
    status = bind_types(conn, prepared->handle, statement->sql, types, error);
    /* some drivers contact the server only when they must, for example to describe the result's
     * columns */
    if (status == STATUS_OK && !SQL_SUCCEEDED(SQLNumResultCols(prepared->handle, &count))) {
        status = call_error(conn, prepared->handle, error);
    }
    return status;
}

static enum status odbc_prepare(struct adapter_conn *conn, const struct statement *statement,
                                struct adapter_prepared **prepared, struct error *error)
{
    if (*prepared == NULL) {
        *prepared = calloc(1, sizeof **prepared);
    }
    if (*prepared == NULL) {
        return dialect_memory_error(error);
    }
    enum status status = conn->is_in_transaction ? STATUS_OK : set_autocommit(conn, true, error);
    if (status == STATUS_OK) {
        status = prepare_in(conn, *prepared, statement, error);
    }
    if (status != STATUS_OK) {
        free_handle(*prepared);
    }
    return status;
}

/* Implements adapter.drop. Does not free the statement, because some drivers would wait until the
 * server has deallocated the statement. odbc_close frees the statement; it shuts the socket first,
 * so that no driver call waits. */
static void odbc_drop(struct adapter_conn *conn, struct adapter_prepared *prepared)
{
    prepared->next = conn->dropped;
    conn->dropped = prepared;
}

/* Returns true when the statement must be prepared again because a table has changed. In this case,
 * PostgreSQL has not executed the statement, and the transaction must be rolled back. With the
 * other databases, the driver cannot return the rows of a query. */
static bool is_stale(const struct adapter_conn *conn, const struct error *error)
{
    return (conn->dialect == &dialect_postgresql && strcmp(error->sqlstate, "0A000") == 0 &&
            strstr(error->text, "cached plan") != NULL) ||
           (conn->dialect == &dialect_mysql && error->native_code == MYSQL_STALE) ||
           (conn->dialect == &dialect_sqlite && strstr(error->text, "broken result set") != NULL);
}

/* Sets answer->rows and frees the reading; returns the resulting status. */
static enum status end_reading(struct reading *reading, enum status status, struct error *error)
{
    struct answer *const answer = reading->answer;
    answer->rows = reading->results.has_rows ? answer->rows : reading->results.changed;
    const bool has_no_memory = reading->has_no_memory;
    reading_fini(reading);
    return status == STATUS_OK && has_no_memory ? dialect_memory_error(error) : status;
}

static enum status odbc_run_prepared(struct adapter_conn *conn, struct adapter_prepared *prepared,
                                     const struct batch *parameters, struct answer *answer,
                                     enum staleness *stale, struct error *error)
{
    struct reading reading = {.answer = answer};
    const struct call call = {NULL, parameters, take_cells, &reading, &reading.results};
    enum status status = conn->is_in_transaction ? STATUS_OK : set_autocommit(conn, true, error);
    answer->rows = 0;
    if (status == STATUS_OK) {
        status = call_statement(conn, prepared->handle, &call, error);
        SQLFreeStmt(prepared->handle, SQL_CLOSE);
        if (status != STATUS_OK && is_stale(conn, error)) {
            *stale = conn->is_in_transaction && conn->dialect == &dialect_postgresql ? STALE_UNDONE
                                                                                     : STALE_AGAIN;
        }
    }
    return end_reading(&reading, status, error);
}

/* Implements adapter.run. Does not prepare the statement, because drivers need an extra round trip
 * to prepare. */
static enum status odbc_run(struct adapter_conn *conn, const struct statement *statement,
                            const struct batch *parameters, struct answer *answer,
                            struct error *error)
{
    struct reading reading = {.answer = answer};
    enum status status = STATUS_OK;
    answer->rows = 0;
    if (statement->reads_numbers && conn->dialect == &dialect_postgresql) {
        /* Most drivers hold a whole result in memory, so rows are fetched from PostgreSQL with a
         * cursor, 10,000 at a time. A cursor ends with its transaction. */
        struct buffer sql = {0};
        uint64_t before;
        if (!conn->is_in_transaction) {
            status = set_autocommit(conn, false, error);
        }
        buffer_add_format(&sql, "declare append_numbers no scroll cursor for %s", statement->sql);
        if (status == STATUS_OK) {
            status = run_written(conn, &sql, error);
        }
        buffer_fini(&sql);
        do {
            before = answer->rows;
            if (status == STATUS_OK) {
                status =
                    run_reading(conn, "fetch 10000 from append_numbers", NULL, &reading, error);
            }
        } while (status == STATUS_OK && !reading.is_done && answer->rows > before);
        status = end_work(conn, status, error);
    } else if (statement->reads_numbers || statement->is_prepared || parameters != NULL) {
        status = run_reading(conn, statement->sql, parameters, &reading, error);
        status = end_work(conn, status, error);
    } else {
        status = run_script(conn, statement->sql, &reading, error);
    }
    return end_reading(&reading, status, error);
}

/* Sets a transaction's isolation. `name` is NULL for the isolation before the first change. */
static enum status set_isolation(struct adapter_conn *conn, const char *name, struct error *error)
{
    static const struct {
        const char *name;
        SQLULEN number;
    } levels[] = {
        {"serializable", SQL_TXN_SERIALIZABLE},
        {"repeatable read", SQL_TXN_REPEATABLE_READ},
        {"read committed", SQL_TXN_READ_COMMITTED},
        {"read uncommitted", SQL_TXN_READ_UNCOMMITTED},
    };
    SQLULEN wanted = conn->first_isolation;
    for (size_t i = 0; name != NULL && i < COUNT_OF(levels); i++) {
        wanted = strcmp(levels[i].name, name) == 0 ? levels[i].number : wanted;
    }
    if (name != NULL && conn->isolation == 0) {
        SQLUINTEGER first = 0;
        SQLGetConnectAttr(conn->connection, SQL_ATTR_TXN_ISOLATION, &first, 0, NULL);
        conn->first_isolation = first;
    }
    if (wanted == conn->isolation) {
        return STATUS_OK;
    }
    if (!SQL_SUCCEEDED(SQLSetConnectAttr(conn->connection, SQL_ATTR_TXN_ISOLATION,
                                         number_argument(wanted), 0))) {
        return call_error(conn, NULL, error);
    }
    conn->isolation = wanted;
    return STATUS_OK;
}

/* Begins a transaction. SQLite needs its own statement, because its driver cannot announce that a
 * transaction will write. Every SQLite transaction is serializable, so no isolation level is
 * set. */
static enum status odbc_begin(struct adapter_conn *conn, const struct transaction *transaction,
                              struct error *error)
{
    const bool is_sqlite = conn->dialect == &dialect_sqlite;
    enum status status = is_sqlite ? STATUS_OK : set_isolation(conn, transaction->isolation, error);
    if (status == STATUS_OK) {
        status = set_autocommit(conn, is_sqlite, error);
    }
    if (status == STATUS_OK && is_sqlite) {
        status = run_one(conn, transaction->writes ? "begin immediate" : "begin", error);
    }
    conn->is_in_transaction = status == STATUS_OK;
    return status;
}

/* Rolls back, unless SQLite has already ended the transaction after an error. */
static enum status roll_back_sqlite(struct adapter_conn *conn, struct error *error)
{
    struct error failure = {0};
    const enum status status = run_one(conn, "rollback", &failure);
    if (status == STATUS_OK || strstr(failure.text, "no transaction is active") != NULL) {
        return STATUS_OK;
    }
    if (!error_is_set(error)) {
        *error = failure;
    }
    return status;
}

static enum status odbc_rollback(struct adapter_conn *conn, struct error *error)
{
    conn->is_in_transaction = false;
    if (conn->dialect == &dialect_sqlite) {
        return roll_back_sqlite(conn, error);
    }
    if (!SQL_SUCCEEDED(SQLEndTran(SQL_HANDLE_DBC, conn->connection, SQL_ROLLBACK))) {
        return call_error(conn, NULL, error);
    }
    return STATUS_OK;
}

static enum status odbc_commit(struct adapter_conn *conn, struct error *error)
{
    conn->is_in_transaction = false;
    if (conn->dialect != &dialect_sqlite) {
        return end_work(conn, STATUS_OK, error);
    }
    const enum status status = run_one(conn, "commit", error);
    if (status != STATUS_OK && status != STATUS_LOST) {
        roll_back_sqlite(conn, error); /* `error` is already set */
    }
    return status;
}

/* Column types for ODBC's type numbers; used if the type's name is unknown. */
static const struct {
    enum column_type type;
    int numbers[7]; /* ODBC's numbers of the type; ends with 0 */
} sql_types[] = {
    {COLUMN_BOOL, {SQL_BIT, SQL_TINYINT}},
    {COLUMN_INT16, {SQL_SMALLINT}},
    {COLUMN_INT32, {SQL_INTEGER}},
    {COLUMN_INT64, {SQL_BIGINT}},
    {COLUMN_FLOAT32, {SQL_REAL}},
    {COLUMN_FLOAT64, {SQL_FLOAT, SQL_DOUBLE}},
    {COLUMN_DECIMAL, {SQL_DECIMAL, SQL_NUMERIC}},
    {COLUMN_TEXT,
     {SQL_CHAR, SQL_VARCHAR, SQL_LONGVARCHAR, SQL_WCHAR, SQL_WVARCHAR, SQL_WLONGVARCHAR}},
    {COLUMN_BYTES, {SQL_BINARY, SQL_VARBINARY, SQL_LONGVARBINARY}},
    {COLUMN_DATE, {SQL_TYPE_DATE, SQL_DATE}},
    {COLUMN_TIME, {SQL_TYPE_TIME, SQL_TIME}},
    {COLUMN_TIMESTAMP, {SQL_TYPE_TIMESTAMP, SQL_TIMESTAMP}},
    {COLUMN_UUID, {SQL_GUID}},
};

struct description {
    struct table *table;
    enum status status;
    struct error *error;
    char schema[ROW_NAME_BYTES]; /* the first schema that has the table; "" if the database has no
                                    schemas */
    char index[ROW_NAME_BYTES];  /* the current index */
    size_t index_columns;        /* number of columns of the current index that were read so far */
    struct column *index_first;
};

/* Reads a row of SQLColumns. ODBC defines the numbers of the columns. The columns are read in
 * ascending order, because some drivers require it. */
static bool take_column(SQLHSTMT statement, void *context)
{
    enum {
        SIZE_MAX_KNOWN = 1 << 20 /* a larger length is the type's maximum, not a declared limit */
    };
    struct description *description = context;
    struct table *table = description->table;
    struct column column = {0};
    char schema[ROW_NAME_BYTES], name[ROW_NAME_BYTES], type[ROW_TYPE_NAME_BYTES], text[VALUE_BYTES];
    unsigned long numbers[2] = {0, 0}; /* numbers in the type's name: decimal(10,2) */
    get_text(statement, 2, schema, sizeof schema);
    get_text(statement, 3, name, sizeof name);
    get_text(statement, 4, column.name, sizeof column.name);
    const int sql_type = (int)get_number(statement, 5);
    get_text(statement, 6, column.type_name, sizeof column.type_name);
    int64_t size = get_number(statement, 7); /* characters, bytes or digits; 0: unknown */
    /* number of digits after the decimal point, of a number or of the seconds in a time; -1:
     * unknown */
    int64_t digits = get_text(statement, 9, text, sizeof text) ? strtol(text, NULL, 10) : -1;
    column.is_nullable = get_number(statement, 11) != SQL_NO_NULLS;
    column.has_default =
        get_text(statement, 13, text, sizeof text) && strcasecmp(text, "null") != 0;
    if (strcasecmp(name, table->name) != 0) {
        return true; /* the driver took a character of the name as a wildcard */
    }
    if (table->column_count == 0) {
        snprintf(description->schema, sizeof description->schema, "%s", schema);
    } else if (strcmp(schema, description->schema) != 0) {
        return true;
    }
    const int count = dialect_split_type(column.type_name, type, sizeof type, numbers);
    column.type = dialect_type_of(type);
    for (size_t i = 0; i < COUNT_OF(sql_types) && column.type == COLUMN_UNSUPPORTED; i++) {
        for (const int *number = sql_types[i].numbers; *number != 0; number++) {
            column.type = *number == sql_type ? sql_types[i].type : column.type;
        }
    }
    size = size > 0 || count < 1 ? size : (int64_t)numbers[0];
    if (column.type == COLUMN_DECIMAL && size > 0) {
        digits = digits < 0 && count > 1 ? (int64_t)numbers[1] : digits;
        column.precision = (uint8_t)clamp(size, UINT8_MAX);
        column.scale = (uint8_t)clamp(digits, UINT8_MAX);
    } else if ((column.type == COLUMN_TEXT || column.type == COLUMN_BYTES) &&
               size < SIZE_MAX_KNOWN) {
        column.size = (uint32_t)clamp(size, SIZE_MAX_KNOWN);
    }
    column.native_type =
        DESCRIBED | (uint32_t)clamp(digits < 0 ? FRACTION_DIGITS : digits, FRACTION_DIGITS);
    description->status = table_add_column(table, &column, description->error);
    return description->status == STATUS_OK;
}

/* Marks a column as unique when an index on this column alone covers all rows. */
static void end_index(struct description *description)
{
    if (description->index_columns == 1 && description->index_first != NULL) {
        description->index_first->is_unique = true;
    }
    description->index_columns = 0;
    description->index_first = NULL;
}

/* Reads a row of SQLStatistics. */
static bool take_index(SQLHSTMT statement, void *context)
{
    struct description *description = context;
    const struct table *table = description->table;
    char index[ROW_NAME_BYTES], name[ROW_NAME_BYTES], text[VALUE_BYTES];
    get_text(statement, 6, index, sizeof index);
    if (get_number(statement, 7) == SQL_TABLE_STAT) {
        return true;
    }
    get_text(statement, 9, name, sizeof name);
    if (strcmp(index, description->index) != 0) {
        end_index(description);
        snprintf(description->index, sizeof description->index, "%s", index);
    }
    /* an index with a condition covers only some rows */
    const bool is_partial = get_text(statement, 13, text, sizeof text) && text[0] != '\0';
    description->index_first = NULL;
    for (size_t i = 0; i < table->column_count && !is_partial; i++) {
        if (strcmp(table->columns[i].name, name) == 0) {
            description->index_first = &table->columns[i];
        }
    }
    description->index_columns++;
    return true;
}

/* Describes a table with ODBC's own functions, for an unknown database. */
static enum status describe_by_catalogue(struct adapter_conn *conn, const char *table_name,
                                         struct table *table, struct error *error)
{
    struct description description = {.table = table, .status = STATUS_OK, .error = error};
    SQLCHAR pattern[2 * ROW_NAME_BYTES], escape[8] = "";
    SQLSMALLINT length = 0;
    SQLHSTMT statement;
    enum status status = table_init(table, table_name, error);
    if (status != STATUS_OK) {
        return status;
    }
    status = open_statement(conn, &statement, error);
    if (status == STATUS_OK) {
        /* write the table's name as a search pattern that matches no other name */
        SQLCHAR *to = pattern;
        SQLGetInfo(conn->connection, SQL_SEARCH_PATTERN_ESCAPE, escape, sizeof escape, &length);
        for (const char *at = table->name; *at != '\0'; at++) {
            const SQLCHAR c = (SQLCHAR)*at;
            if (escape[0] != '\0' && (c == '_' || c == '%' || c == escape[0])) {
                *to++ = escape[0];
            }
            *to++ = c;
        }
        *to = '\0';
        status = take_rows(conn, statement,
                           SQLColumns(statement, NULL, 0, NULL, 0, pattern, SQL_NTS, NULL, 0),
                           &(struct call){.take = take_column, .context = &description}, error);
        if (status == STATUS_OK && table->column_count > 0) {
            SQLCHAR *schema = description.schema[0] != '\0' ? (SQLCHAR *)description.schema : NULL;
            SQLFreeStmt(statement, SQL_CLOSE);
            status =
                take_rows(conn, statement,
                          SQLStatistics(statement, NULL, 0, schema, SQL_NTS, (SQLCHAR *)table->name,
                                        SQL_NTS, SQL_INDEX_UNIQUE, SQL_QUICK),
                          &(struct call){.take = take_index, .context = &description}, error);
            end_index(&description);
        }
        SQLFreeHandle(SQL_HANDLE_STMT, statement);
    }
    status = status == STATUS_OK ? description.status : status;
    if (status == STATUS_OK && table->column_count == 0) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL, "no table \"%.180s\"", table_name);
        status = STATUS_REJECTED;
    }
    status = end_work(conn, status, error);
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}

/* Returns the asker for the dialect. Sets its member `prepares`, because the server keeps the
 * prepared INSERT. */
static struct dialect_asker make_asker(const struct adapter *adapter, struct adapter_conn *conn)
{
    return (struct dialect_asker){.adapter = adapter,
                                  .conn = conn,
                                  .schema = conn->schema,
                                  .user = conn->user,
                                  .prepares = true,
                                  .facts = conn->learned,
                                  .has_prepared = conn->inserts[0].statement != NULL};
}

static enum status odbc_describe(const struct adapter *adapter, struct adapter_conn *conn,
                                 const char *table_name, struct table *table, struct error *error)
{
    if (conn->dialect == NULL) {
        return describe_by_catalogue(conn, table_name, table, error);
    }
    if (conn->learned == NULL) {
        conn->facts = conn->learned = calloc(1, sizeof *conn->learned);
        if (conn->learned == NULL) {
            return dialect_memory_error(error);
        }
    }
    const struct dialect_asker asker = make_asker(adapter, conn);
    const enum status status = conn->dialect->describe(&asker, table_name, table, error);
    for (size_t i = 0; status == STATUS_OK && i < table->column_count; i++) {
        struct column *column = &table->columns[i];
        char name[ROW_TYPE_NAME_BYTES];
        /* MariaDB's times have no fraction digits if the type's name contains no number */
        unsigned long digits[2] = {conn->dialect == &dialect_mysql ? 0 : FRACTION_DIGITS, 0};
        const bool is_time = column->type == COLUMN_TIME || column->type == COLUMN_TIMESTAMP;
        const bool is_bytes = (column->type == COLUMN_IP4 || column->type == COLUMN_IP6 ||
                               column->type == COLUMN_UUID) &&
                              strstr(column->type_name, "binary") != NULL;
        dialect_split_type(column->type_name, name, sizeof name, digits);
        column->native_type =
            DESCRIBED | (is_time ? (uint32_t)clamp((int64_t)digits[0], FRACTION_DIGITS) : 0);
        column->native_type |= conn->dialect != &dialect_postgresql ? TIMES_AS_TEXT : 0;
        column->native_type |= is_bytes ? AS_BYTES : 0;
    }
    return status;
}

static void forget_inserts(struct adapter_conn *conn)
{
    for (size_t i = 0; i < PREPARED_MAX; i++) {
        if (conn->inserts[i].statement != NULL) {
            SQLFreeHandle(SQL_HANDLE_STMT, conn->inserts[i].statement);
            conn->inserts[i].statement = NULL;
        }
    }
}

/* Finds the prepared INSERT for `rows` rows of the table, or prepares it. */
static enum status find_insert(struct adapter_conn *conn, const struct table *table, size_t rows,
                               SQLHSTMT *statement, struct error *error)
{
    struct buffer sql = {0};
    for (size_t i = 0; i < PREPARED_MAX; i++) {
        const struct insert *insert = &conn->inserts[i];
        if (insert->statement != NULL && insert->table == table && insert->rows == rows) {
            *statement = insert->statement;
            return STATUS_OK;
        }
    }
    struct insert *insert = &conn->inserts[conn->next_insert++ % PREPARED_MAX];
    if (insert->statement != NULL) {
        SQLFreeHandle(SQL_HANDLE_STMT, insert->statement);
    }
    *insert = (struct insert){.table = table, .rows = rows};
    enum status status = open_statement(conn, &insert->statement, error);
    if (status != STATUS_OK) {
        return status;
    }
    *statement = insert->statement;
    ask_write_insert(&sql, table, conn->quote, rows);
    if (buffer_failed(&sql)) {
        status = dialect_memory_error(error);
    } else if (!SQL_SUCCEEDED(SQLPrepare(*statement, (SQLCHAR *)sql.bytes, SQL_NTS))) {
        status = call_error(conn, *statement, error);
    }
    buffer_fini(&sql);
    return status;
}

/* Inserts rows. Binds the parameters only for this call. Their memory is freed after the call, so
 * that a waiting session does not keep it. */
static enum status insert_rows(struct adapter_conn *conn, SQLHSTMT statement,
                               const struct parameters *parameters, size_t first, size_t rows,
                               struct error *error)
{
    const bool is_array = conn->method == METHOD_ARRAY;
    SQLUSMALLINT states[ROW_BATCH_MAX];
    SQLULEN processed = 0;
    uint64_t inserted = 0;
    bool is_bound = true, is_counted = false;
    if (is_array) {
        SQLSetStmtAttr(statement, SQL_ATTR_PARAM_BIND_TYPE, SQL_PARAM_BIND_BY_COLUMN, 0);
        SQLSetStmtAttr(statement, SQL_ATTR_PARAM_STATUS_PTR, states, 0);
        is_bound = SQL_SUCCEEDED(
            SQLSetStmtAttr(statement, SQL_ATTR_PARAMSET_SIZE, number_argument(rows), 0));
    }
    for (size_t row = 0; row < (is_array ? 1 : rows) && is_bound; row++) {
        is_bound = parameters_bind(parameters, statement, 1 + row * parameters->count, first + row);
    }
    if (!is_bound) {
        return call_error(conn, statement, error);
    }
    SQLSetStmtAttr(statement, SQL_ATTR_PARAMS_PROCESSED_PTR, &processed, 0);
    SQLRETURN result = SQLExecute(statement);
    if (result == SQL_NO_DATA) { /* every row was left out, for example by a trigger */
        processed = rows;
        is_counted = true;
    }
    /* add the row counts of all results of an array; some drivers return no counts */
    while (SQL_SUCCEEDED(result)) {
        SQLLEN count = -1;
        if (SQL_SUCCEEDED(SQLRowCount(statement, &count)) && count >= 0) {
            inserted += (uint64_t)count;
            is_counted = true;
        }
        result = SQLMoreResults(statement);
    }
    enum status status = result == SQL_NO_DATA ? STATUS_OK : call_error(conn, statement, error);
    SQLSetStmtAttr(statement, SQL_ATTR_PARAMS_PROCESSED_PTR, NULL, 0);
    if (is_array) {
        SQLSetStmtAttr(statement, SQL_ATTR_PARAM_STATUS_PTR, NULL, 0);
    }
    if (status == STATUS_OK && is_array && rows > 1 && processed < rows) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "the driver executed only some rows of an array: use --method row");
        status = STATUS_FATAL;
    }
    if (status == STATUS_OK) {
        conn->inserted_rows += is_counted ? inserted : rows;
    }
    return status;
}

/* Rolls the append back. The caller must already have recorded the error. Drops the prepared
 * statements, because the table may have changed. */
static enum status fail_append(struct adapter_conn *conn, enum status status, struct error *error)
{
    conn->is_append_open = false;
    forget_inserts(conn);
    return end_work(conn, status, error);
}

static enum status odbc_append_open(struct adapter_conn *conn, const struct table *table,
                                    struct error *error)
{
    const enum status status =
        conn->is_in_transaction ? STATUS_OK : set_autocommit(conn, false, error);
    if (status != STATUS_OK) {
        return status;
    }
    conn->append_table = table;
    conn->inserted_rows = 0;
    conn->has_rows = false;
    conn->is_append_open = true;
    return STATUS_OK;
}

static enum status odbc_append_rows(struct adapter_conn *conn, const struct batch *batch,
                                    uint64_t *kept, struct error *error)
{
    struct parameters parameters;
    conn->has_rows = true;
    enum status status = parameters_init(&parameters, conn, batch, false, error);
    const size_t columns = parameters.count;
    if (status == STATUS_OK && columns == 0) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "table %.200s has no column that can be written", batch->table->name);
        status = STATUS_FATAL;
    }
    const bool is_list = conn->method == METHOD_INSERT && columns > 0 && columns < PARAMETERS_MAX;
    const size_t of_list = is_list ? PARAMETERS_MAX / columns : 1;
    const size_t most = conn->method == METHOD_ARRAY ? ROW_BATCH_MAX : of_list;
    for (size_t first = 0; first < batch->row_count && status == STATUS_OK; first += most) {
        const size_t left = batch->row_count - first;
        const size_t rows = left < most ? left : most;
        SQLHSTMT statement = NULL;
        status = find_insert(conn, batch->table, conn->method == METHOD_ARRAY ? 1 : rows,
                             &statement, error);
        if (status == STATUS_OK) {
            status = insert_rows(conn, statement, &parameters, first, rows, error);
        }
    }
    parameters_fini(&parameters);
    const bool keeps = conn->facts != NULL && ask_keeps_failed_rows(conn->facts, batch->table);
    *kept = status != STATUS_OK && keeps ? conn->inserted_rows : 0;
    if (status == STATUS_REJECTED && keeps) {
        /* The failed statement keeps the rows before its failed row. MariaDB reports the failed
         * row's number since version 10.7. */
        char failed[ANSWER_BYTES] = "";
        struct error ignored = {.kind = ERROR_NONE};
        if (conn->dialect == &dialect_mysql &&
            run_one(conn, "get diagnostics condition 1 @append_row = row_number", &ignored) ==
                STATUS_OK) {
            query_text(conn, "select @append_row", failed, &ignored);
        }
        const uint64_t row = strtoull(failed, NULL, 10);
        *kept += row > 0 ? row - 1 : 0;
    }
    return status == STATUS_OK ? STATUS_OK : fail_append(conn, status, error);
}

static enum status odbc_append_close(struct adapter_conn *conn, uint64_t *accepted,
                                     struct error *error)
{
    enum status status = STATUS_OK;
    *accepted = 0;
    conn->is_append_open = false;
    if (!conn->has_rows) {
        /* nothing was sent, so only this query can show that the server is lost */
        struct buffer sql = {0};
        buffer_add_text(&sql, "select 1 from ");
        buffer_add_identifier(&sql, conn->append_table->name, conn->quote);
        buffer_add_text(&sql, " where 1 = 0");
        status = run_written(conn, &sql, error);
    }
    status = end_work(conn, status, error);
    if (status != STATUS_OK) {
        forget_inserts(conn);
        return status;
    }
    *accepted = conn->inserted_rows;
    return STATUS_OK;
}

static void get_info(struct adapter_conn *conn, SQLUSMALLINT which, char *text, size_t size)
{
    SQLSMALLINT length = 0;
    text[0] = '\0';
    const SQLRETURN result =
        SQLGetInfo(conn->connection, which, text, (SQLSMALLINT)(size - 1), &length);
    text[SQL_SUCCEEDED(result) ? size - 1 : 0] = '\0';
}

/* Returns the separator to add before the next note: "" before the first note. */
static const char *separator(const struct adapter_conn *conn)
{
    return conn->note.length > 0 ? "; " : "";
}

/* Detects the database and sets its dialect. Sets the address from the completed connection string
 * or from the data source that the string names. */
static void detect_database(struct adapter_conn *conn, const char *text)
{
    static const struct {
        const char *dbms;
        const struct dialect *dialect;
    } known[] = {{"PostgreSQL", &dialect_postgresql},
                 {"MariaDB", &dialect_mysql},
                 {"MySQL", &dialect_mysql},
                 {"SQLite", &dialect_sqlite}};
    static const char *const keys[][4] = {{"Server", "Servername", "Host", NULL},
                                          {"Port", NULL, NULL, NULL}};
    char quote[8], values[2][256];
    get_info(conn, SQL_DBMS_NAME, conn->database_name, sizeof conn->database_name);
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (strcasecmp(conn->database_name, known[i].dbms) == 0) {
            conn->dialect = known[i].dialect;
        }
    }
    for (char *at = conn->database_name; *at != '\0'; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    get_info(conn, SQL_DRIVER_NAME, conn->driver, sizeof conn->driver);
    get_info(conn, SQL_USER_NAME, conn->user, sizeof conn->user);
    get_info(conn, SQL_IDENTIFIER_QUOTE_CHAR, quote, sizeof quote);
    conn->quote = quote[0] == '`' ? '`' : '"';
    for (size_t i = 0; i < 2; i++) {
        find_setting(text, keys[i], values[i], sizeof values[i]);
    }
    if (conn->dialect != &dialect_sqlite) {
        conn->host = values[0][0] != '\0' ? strdup(values[0]) : NULL;
        conn->port = (uint16_t)strtoul(values[1], NULL, 10);
    }
}

/* Chooses how to append. Arrays of parameters are used only if the driver accepts an array and
 * reports how it counts the rows of an array. Some drivers refuse an array, others replace the
 * array's size by 1. SQLite's driver accepts an array, but does not report how it counts rows: it
 * runs the statement for each row, and sends all binary values with the length of the first value.
 * Some drivers run the statement for each row and return a row count for each row (a batch). Other
 * drivers send all rows to the server with one statement and return one row count; without
 * --method, arrays are preferred to a multi-row INSERT only for these drivers. */
static enum status choose_method(struct adapter_conn *conn, const struct target *target,
                                 struct error *error)
{
    enum {
        PROBED_ROWS = 2
    };
    /* not all databases support VALUES with several rows */
    const bool has_row_lists = conn->dialect != NULL;
    SQLHSTMT statement = NULL;
    SQLULEN rows = 0;
    SQLUINTEGER counts = 0;
    bool is_taken = SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, conn->connection, &statement));
    if (is_taken) {
        is_taken =
            SQL_SUCCEEDED(SQLSetStmtAttr(statement, SQL_ATTR_PARAMSET_SIZE,
                                         number_argument(PROBED_ROWS), 0)) &&
            SQL_SUCCEEDED(SQLGetStmtAttr(statement, SQL_ATTR_PARAMSET_SIZE, &rows, 0, NULL)) &&
            rows == PROBED_ROWS &&
            SQL_SUCCEEDED(SQLGetInfo(conn->connection, SQL_PARAM_ARRAY_ROW_COUNTS, &counts,
                                     sizeof counts, NULL));
        SQLFreeHandle(SQL_HANDLE_STMT, statement);
    }
    const bool has_whole = is_taken && counts == SQL_PARC_NO_BATCH;
    const bool has_arrays = has_whole || (is_taken && counts == SQL_PARC_BATCH);
    for (size_t i = 0; target->method != NULL && methods[i] != NULL; i++) {
        conn->method = strcmp(target->method, methods[i]) == 0 ? (enum method)i : conn->method;
    }
    if (target->method != NULL && conn->method == METHOD_ARRAY && !has_arrays) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "driver %s has no parameter arrays: use --method %s", conn->driver,
                  has_row_lists ? "insert" : "row");
        return STATUS_FATAL;
    }
    if (target->method == NULL && !has_whole) {
        static const char *const instead[] = {[METHOD_INSERT] = ": multi-row INSERT instead",
                                              [METHOD_ROW] = ": each row is a statement",
                                              [METHOD_ARRAY] = ""};
        const enum method of_rows = has_arrays ? METHOD_ARRAY : METHOD_ROW;
        conn->method = has_row_lists ? METHOD_INSERT : of_rows;
        buffer_add_format(&conn->note, "%s%s %s%s", separator(conn), conn->driver,
                          has_arrays ? "runs a statement for each row of an array"
                                     : "has no parameter arrays",
                          instead[conn->method]);
    }
    return STATUS_OK;
}

static bool has_value(const char *text, const char *key)
{
    const char *const keys[] = {key, NULL};
    char value[16];
    return odbc_string_find(text, keys, value, sizeof value) && value[0] != '\0';
}

static enum status set_up(struct adapter_conn *conn, const char *text, struct error *error)
{
    enum status status = STATUS_OK;
    if (conn->schema != NULL && conn->dialect != &dialect_postgresql) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "ODBC supports schemas only for PostgreSQL: name the database instead");
        return STATUS_FATAL;
    }
    /* times are sent without a zone, in UTC */
    if (conn->dialect == &dialect_mysql) {
        return odbc_execute(conn, "set time_zone = '+00:00'", error);
    }
    if (conn->dialect == &dialect_postgresql) {
        struct buffer sql = {0};
        if (conn->schema != NULL) {
            buffer_add_text(&sql, "set search_path = ");
            buffer_add_identifier(&sql, conn->schema, '"');
            status = run_written(conn, &sql, error);
        }
        return status == STATUS_OK ? odbc_execute(conn, "set time zone 'UTC'", error) : status;
    }
    if (conn->dialect == &dialect_sqlite) {
        /* The driver's default, synchronous NORMAL, does not sync the log at a commit. Makes the
         * settings the same as in the SQLite adapter, unless the connection string sets them. */
        const bool is_journal_given = has_value(text, "JournalMode");
        char synchronous[ANSWER_BYTES] = "", journal[ANSWER_BYTES] = "";
        if (!has_value(text, "SyncPragma")) {
            status = run_one(conn, "pragma synchronous = full", error);
        }
        if (status == STATUS_OK) {
            status = query_text(conn, "pragma synchronous", synchronous, error);
        }
        if (status == STATUS_OK) {
            status = query_text(
                conn, is_journal_given ? "pragma journal_mode" : "pragma journal_mode = wal",
                journal, error);
        }
        if (status == STATUS_OK && strtol(synchronous, NULL, 10) < SYNCHRONOUS_FULL) {
            buffer_add_format(&conn->note, "%scommits are not always synced (SyncPragma)",
                              separator(conn));
        }
        if (status == STATUS_OK && strcasecmp(journal, "wal") != 0) {
            buffer_add_format(&conn->note, "%sthe journal mode is %s, not wal", separator(conn),
                              journal);
        }
    }
    return status;
}

struct connecting {
    struct adapter_conn *conn;
    const struct target *target;
};

/* Connects, detects the database and sets up the session. */
static enum status connect_and_set_up(void *context, struct error *error)
{
    struct adapter_conn *const conn = ((struct connecting *)context)->conn;
    const struct target *target = ((struct connecting *)context)->target;
    char completed[COMPLETED_BYTES] = "";
    SQLSMALLINT length = 0;
    SQLUSMALLINT level = 0;
    struct buffer text = {0};
    odbc_string_build(&text, target);
    /* The standard's attribute limits the time. Some drivers apply the attribute to only one step
     * of the connect. For these drivers, this function adds the key CONN_TIMEOUT, which other
     * drivers ignore. */
    SQLSetConnectAttr(conn->connection, SQL_ATTR_LOGIN_TIMEOUT,
                      number_argument(target->connect_timeout_s), 0);
    if (!has_value(buffer_text(&text), "CONN_TIMEOUT")) {
        buffer_add_format(&text, "CONN_TIMEOUT=%u;", target->connect_timeout_s);
    }
    enum status status = buffer_failed(&text) ? dialect_memory_error(error) : STATUS_OK;
    if (status == STATUS_OK) {
        const SQLRETURN result =
            SQLDriverConnect(conn->connection, NULL, (SQLCHAR *)text.bytes, SQL_NTS,
                             (SQLCHAR *)completed, COMPLETED_BYTES, &length, SQL_DRIVER_NOPROMPT);
        status = SQL_SUCCEEDED(result) ? STATUS_OK : connect_error(conn->connection, error);
    }
    buffer_fini(&text);
    if (status != STATUS_OK) {
        return status;
    }
    detect_database(conn, completed);
    if (SQL_SUCCEEDED(
            SQLGetInfo(conn->connection, SQL_ATTR_DRIVER_THREADING, &level, sizeof level, NULL)) &&
        level >= THREADING_SERIAL) {
        buffer_add_format(&conn->note,
                          "%s is registered with Threading=%u: its calls wait for one another "
                          "in the driver manager (Threading=0 in odbcinst.ini avoids this)",
                          conn->driver, (unsigned)level);
    }
    status = choose_method(conn, target, error);
    if (status == STATUS_OK) {
        status = set_up(conn, completed, error);
    }
    /* The socket is unknown if the driver is linked statically with its own function `connect`.
     * SQLite's driver has no socket, and never waits for a server. */
    if (!client_socket_is_known(&conn->socket) && conn->dialect != &dialect_sqlite) {
        buffer_add_format(&conn->note, "%sa blocked call cannot be interrupted: press Ctrl-C twice",
                          separator(conn));
    }
    if (status == STATUS_OK && buffer_failed(&conn->note)) {
        status = dialect_memory_error(error);
    }
    if (status == STATUS_OK &&
        !SQL_SUCCEEDED(SQLSetConnectAttr(conn->connection, SQL_ATTR_AUTOCOMMIT,
                                         number_argument(SQL_AUTOCOMMIT_OFF), 0))) {
        status = call_error(conn, NULL, error); /* the connection may also be lost in this call */
        status = status == STATUS_REJECTED ? STATUS_FATAL : status;
    }
    return status;
}

static void odbc_close(struct adapter_conn *conn)
{
    if (conn == NULL) {
        return;
    }
    if (conn->is_append_open || conn->is_in_transaction) {
        /* The rollback would wait for a server that may not answer. */
        client_socket_shut(&conn->socket, SHUT_RDWR);
        SQLEndTran(SQL_HANDLE_DBC, conn->connection, SQL_ROLLBACK);
    }
    client_socket_shut(&conn->socket, SHUT_RD); /* the driver can no longer wait for the server */
    forget_inserts(conn);
    while (conn->dropped != NULL) {
        struct adapter_prepared *const prepared = conn->dropped;
        conn->dropped = prepared->next;
        free_handle(prepared);
        free(prepared);
    }
    if (conn->connection != NULL) {
        SQLDisconnect(conn->connection);
        SQLFreeHandle(SQL_HANDLE_DBC, conn->connection);
    }
    if (conn->environment != NULL) {
        SQLFreeHandle(SQL_HANDLE_ENV, conn->environment);
    }
    free(conn->host);
    free(conn->learned);
    buffer_fini(&conn->note);
    free(conn);
}

/* Opens a connection without connection pooling, because a measured connect must be a real connect.
 * unixODBC reads this setting only from odbcinst.ini; other driver managers use the attribute that
 * is set here. */
static enum status odbc_open(const struct adapter *adapter, const struct target *target,
                             struct adapter_conn **conn, struct error *error)
{
    static const char form[] = "odbc:DSN=NAME or odbc:Driver={NAME};Server=...";
    (void)adapter;
    const bool has_text = target->path != NULL && target->path[0] != '\0';
    const char *fault = has_text ? odbc_string_fault(target->path) : NULL;
    *conn = NULL;
    if (!has_text) {
        error_set(error, ERROR_USAGE, 0, NULL, "the data source is missing: write %s", form);
        return STATUS_FATAL;
    }
    if (fault != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "the connection string is incomplete: %s; write %s",
                  fault, form);
        return STATUS_FATAL;
    }
    if (target->host != NULL || target->port != 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "put host and port into the connection string: odbc:...;Server=...;Port=...");
        return STATUS_FATAL;
    }
    if (target->query != NULL && target->query[0] != '\0') {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "ODBC has no URL parameters: put options into the connection string");
        return STATUS_FATAL;
    }
    struct adapter_conn *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return dialect_memory_error(error);
    }
    made->schema = target->schema;
    made->facts = target->facts;
    SQLSetEnvAttr(NULL, SQL_ATTR_CONNECTION_POOLING, number_argument(SQL_CP_OFF), 0);
    struct connecting connecting = {made, target};
    const bool is_made =
        SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_ENV, NULL, &made->environment)) &&
        SQL_SUCCEEDED(SQLSetEnvAttr(made->environment, SQL_ATTR_ODBC_VERSION,
                                    number_argument(SQL_OV_ODBC3), 0)) &&
        SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_DBC, made->environment, &made->connection));
    const enum status status =
        is_made
            ? client_socket_connect(&made->socket, target, connect_and_set_up, &connecting, error)
            : dialect_memory_error(error);
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

/* Implements adapter.inspect. SQLite's driver contains the database itself, so there is no server
 * to measure, and the database uses the CPU time of this process. */
static void odbc_inspect(const struct adapter *adapter, struct adapter_conn *conn,
                         struct connection_info *info)
{
    (void)adapter;
    snprintf(info->host, sizeof info->host, "%s", conn->host != NULL ? conn->host : "");
    client_socket_name_peer(client_socket_descriptor(&conn->socket), info->address,
                            sizeof info->address);
    info->port = conn->port;
    snprintf(info->user, sizeof info->user, "%s", conn->user);
    get_info(conn, SQL_DATABASE_NAME, info->database, sizeof info->database);
    info->is_embedded = conn->dialect == &dialect_sqlite;
    snprintf(info->dialect, sizeof info->dialect, "%s",
             conn->dialect != NULL ? conn->dialect->name : conn->database_name);
    info->identifier_quote = conn->quote;
    info->method = methods[conn->method];
    if (conn->dialect != NULL) {
        dialect_inspect(conn->dialect, info);
        /* MySQL shares MariaDB's dialect, but does not have CREATE INDEX IF NOT EXISTS */
        info->can_skip_index &= strcmp(conn->database_name, "mysql") != 0;
    }
    if (conn->facts != NULL) {
        info->facts = *conn->facts;
    }
    snprintf(info->note, sizeof info->note, "%s", buffer_text(&conn->note));
}

static enum status odbc_server_limits(const struct adapter *adapter, struct adapter_conn *conn,
                                      struct server_limits *limits, struct error *error)
{
    const struct dialect_asker asker = make_asker(adapter, conn);
    char name[32], version[24];
    memset(limits, 0, sizeof *limits);
    get_info(conn, SQL_DBMS_NAME, name, sizeof name);
    get_info(conn, SQL_DBMS_VER, version, sizeof version);
    /* ODBC's form is ##.##.####, and drivers pad each part with zeros: 10.11.000019 */
    char *to = version;
    for (const char *at = version; *at != '\0'; at++) {
        const bool is_first = at == version || !isalnum((unsigned char)at[-1]);
        while (is_first && at[0] == '0' && isdigit((unsigned char)at[1])) {
            at++;
        }
        *to++ = *at;
    }
    *to = '\0';
    /* psqlODBC writes the server's number 150020 as 15.0.20, which is the form of versions before
     * 10; the correct version is 15.20 */
    unsigned long parts[3] = {0};
    char *rest = version;
    size_t count = 0;
    while (count < 3 && isdigit((unsigned char)*rest)) {
        parts[count++] = strtoul(rest, &rest, 10);
        rest += *rest == '.' ? 1 : 0;
    }
    if (conn->dialect == &dialect_postgresql && count == 3 && *rest == '\0' && parts[0] >= 10) {
        snprintf(version, sizeof version, "%lu.%lu", parts[0], parts[1] * 100 + parts[2]);
    }
    snprintf(limits->version, sizeof limits->version, "%.20s %s by %.30s", name, version,
             conn->driver);
    return conn->dialect != NULL && conn->dialect->limits != NULL
               ? conn->dialect->limits(&asker, limits, error)
               : STATUS_OK;
}

/* Writes the version of unixODBC with which this program was built. The text of
 * server_limits.version names the driver. */
static void client_version(char *text, size_t size)
{
    snprintf(text, size, "unixODBC %s", APPEND_CLIENT_VERSION);
}

const struct adapter adapter_odbc = {
    .name = "odbc",
    .summary = "an ODBC driver: array, insert, row",
    .flags = ADAPTER_STRING | ADAPTER_WATCHED,
    .identifier_quote = '"',
    .stack_bytes = (size_t)512 * 1024,
    .files_per_session = 3, /* a socket, or SQLite's database, log and log index */
    .methods = methods,
    .client_version = client_version,
    .open = odbc_open,
    .close = odbc_close,
    .interrupt = odbc_interrupt,
    .inspect = odbc_inspect,
    .execute = odbc_execute,
    .describe = odbc_describe,
    .append_open = odbc_append_open,
    .append_rows = odbc_append_rows,
    .append_close = odbc_append_close,
    .run = odbc_run,
    .prepare = odbc_prepare,
    .run_prepared = odbc_run_prepared,
    .drop = odbc_drop,
    .begin = odbc_begin,
    .commit = odbc_commit,
    .rollback = odbc_rollback,
    .server_limits = odbc_server_limits,
};
