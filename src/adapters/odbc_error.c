/* From ODBC's diagnostic records to struct error. */
#include "adapters/odbc_conn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct meaning {
    const char *sqlstate; /* five characters, or the two of a class */
    enum status status;
    enum error_kind kind;
};

/* A number of the database's own says more than a SQLSTATE that stands for everything. */
struct native_meaning {
    enum odbc_dialect dialect;
    int code;
    enum status status;
    enum error_kind kind;
};

/* Drivers put most of what happens while connecting under one SQLSTATE, and only the text tells. */
struct text_meaning {
    const char *words;
    enum status status;
    enum error_kind kind;
};

/* What this machine lacks for one more socket, as libpq and Connector/C word it. */
static const struct {
    const char *words;
    int number; /* errno */
} own_shortages[] = {
    {"Too many open files in system", ENFILE},
    {"Too many open files", EMFILE},
    {"TCP/IP socket (24)", EMFILE},
    {"Cannot assign requested address", EADDRNOTAVAIL},
    {" (99)", EADDRNOTAVAIL},
};

static const struct meaning connect_meanings[] = {
    {"IM002", STATUS_FATAL, ERROR_USAGE}, /* no such data source */
    {"IM003", STATUS_FATAL, ERROR_USAGE}, /* the driver's library cannot be loaded */
    {"IM0", STATUS_FATAL, ERROR_USAGE},
    {"01S00", STATUS_FATAL, ERROR_USAGE}, /* invalid connection string attribute */
    {"28", STATUS_FATAL, ERROR_AUTH},
    {"HYT", STATUS_LOST, ERROR_TIMEOUT},
    {"3D", STATUS_FATAL, ERROR_NOT_FOUND},
    {"42", STATUS_FATAL, ERROR_NOT_FOUND}, /* MariaDB: unknown database */
    {"53", STATUS_LOST, ERROR_LIMIT},
    {"57", STATUS_LOST, ERROR_SERVER},
    {"HY001", STATUS_FATAL, ERROR_MEMORY},
};

/* All that SQLite's driver says when a file cannot be opened. */
static const char sqlite_failure[] = "[SQLite]connect failed";

static const struct text_meaning connect_words[] = {
    {"too many", STATUS_LOST, ERROR_LIMIT},
    {"Too many", STATUS_LOST, ERROR_LIMIT},
    {"remaining connection slots", STATUS_LOST, ERROR_LIMIT},
    {"max_user_connections", STATUS_LOST, ERROR_LIMIT},
    {"could not fork", STATUS_LOST, ERROR_LIMIT},
    {"an error response during SSL", STATUS_LOST, ERROR_LIMIT}, /* it cannot fork either */
    {"starting up", STATUS_LOST, ERROR_SERVER},
    {"shutting down", STATUS_LOST, ERROR_SERVER},
    {"timeout expired", STATUS_LOST, ERROR_TIMEOUT},
    {"timed out", STATUS_LOST, ERROR_TIMEOUT},
    {"system error: 110", STATUS_LOST, ERROR_TIMEOUT}, /* ETIMEDOUT, as MariaDB's driver has it */
    {" (110)", STATUS_LOST, ERROR_TIMEOUT},
    {"refused", STATUS_LOST, ERROR_UNREACHABLE},
    {"translate host name", STATUS_LOST, ERROR_UNREACHABLE},
    {"Unknown server host", STATUS_LOST, ERROR_UNREACHABLE},
    {"Can't connect", STATUS_LOST, ERROR_UNREACHABLE},
    {"No such file or directory", STATUS_LOST, ERROR_UNREACHABLE},
    {"authentication failed", STATUS_FATAL, ERROR_AUTH},
    {"Access denied", STATUS_FATAL, ERROR_AUTH},
    {"no password supplied", STATUS_FATAL, ERROR_AUTH},
    {"pg_hba.conf", STATUS_FATAL, ERROR_AUTH},
    {"permission denied", STATUS_FATAL, ERROR_AUTH},
    {"role \"", STATUS_FATAL, ERROR_AUTH},
    {"database \"", STATUS_FATAL, ERROR_NOT_FOUND},
    {sqlite_failure, STATUS_FATAL, ERROR_NOT_FOUND},
};

static const struct meaning call_meanings[] = {
    {"08", STATUS_LOST, ERROR_CONNECTION},
    {"57P", STATUS_LOST, ERROR_CONNECTION},
    {"22", STATUS_REJECTED, ERROR_DATA},
    {"23", STATUS_REJECTED, ERROR_DATA},
    {"44", STATUS_REJECTED, ERROR_DATA},
    {"45", STATUS_REJECTED, ERROR_DATA}, /* MariaDB: SIGNAL of a trigger */
    {"P0001", STATUS_REJECTED, ERROR_DATA},
    {"40", STATUS_REJECTED, ERROR_BUSY},
    {"55P03", STATUS_REJECTED, ERROR_BUSY},
    {"57014", STATUS_REJECTED, ERROR_TIMEOUT},
    {"HYT", STATUS_REJECTED, ERROR_TIMEOUT},
    {"42501", STATUS_FATAL, ERROR_AUTH},
    {"42S02", STATUS_FATAL, ERROR_NOT_FOUND},
    {"42S22", STATUS_FATAL, ERROR_NOT_FOUND},
    {"42P01", STATUS_FATAL, ERROR_NOT_FOUND},
    {"42703", STATUS_FATAL, ERROR_NOT_FOUND},
    {"3F", STATUS_FATAL, ERROR_NOT_FOUND},
    {"42809", STATUS_FATAL, ERROR_UNSUPPORTED},
    {"25006", STATUS_FATAL, ERROR_READ_ONLY},
    {"0A", STATUS_FATAL, ERROR_UNSUPPORTED},
    {"HYC00", STATUS_FATAL, ERROR_UNSUPPORTED},
    {"HY001", STATUS_FATAL, ERROR_MEMORY},
    {"53300", STATUS_REJECTED, ERROR_LIMIT},
};

static const struct native_meaning native_meanings[] = {
    {ODBC_SQLITE, 5, STATUS_REJECTED, ERROR_BUSY}, /* database or table is locked */
    {ODBC_SQLITE, 6, STATUS_REJECTED, ERROR_BUSY},
    {ODBC_SQLITE, 8, STATUS_FATAL, ERROR_AUTH}, /* read-only */
    {ODBC_SQLITE, 18, STATUS_REJECTED, ERROR_DATA},
    {ODBC_SQLITE, 19, STATUS_REJECTED, ERROR_DATA}, /* constraint */
    {ODBC_SQLITE, 20, STATUS_REJECTED, ERROR_DATA},
    {ODBC_SQLITE, 26, STATUS_FATAL, ERROR_UNSUPPORTED}, /* not a database */
    {ODBC_MARIADB, 1044, STATUS_FATAL, ERROR_AUTH},
    {ODBC_MARIADB, 1049, STATUS_FATAL, ERROR_NOT_FOUND},
    {ODBC_MARIADB, 1054, STATUS_FATAL, ERROR_NOT_FOUND},
    {ODBC_MARIADB, 1142, STATUS_FATAL, ERROR_AUTH},
    {ODBC_MARIADB, 1143, STATUS_FATAL, ERROR_AUTH},
    {ODBC_MARIADB, 1146, STATUS_FATAL, ERROR_NOT_FOUND},
    {ODBC_MARIADB, 1205, STATUS_REJECTED, ERROR_BUSY}, /* innodb_lock_wait_timeout */
    {ODBC_MARIADB, 1213, STATUS_REJECTED, ERROR_BUSY},
    {ODBC_MARIADB, 1227, STATUS_FATAL, ERROR_AUTH},
    {ODBC_MARIADB, 1290, STATUS_FATAL, ERROR_READ_ONLY},
    {ODBC_MARIADB, 1364, STATUS_REJECTED, ERROR_DATA},
    {ODBC_MARIADB, 1366, STATUS_REJECTED, ERROR_DATA},
    {ODBC_MARIADB, 1406, STATUS_REJECTED, ERROR_DATA},
    {ODBC_MARIADB, 1836, STATUS_FATAL, ERROR_READ_ONLY},
    {ODBC_MARIADB, 1053, STATUS_LOST, ERROR_CONNECTION}, /* shutting down */
    {ODBC_MARIADB, 1317, STATUS_REJECTED, ERROR_TIMEOUT},
    {ODBC_MARIADB, 1927, STATUS_LOST, ERROR_CONNECTION}, /* killed */
    {ODBC_MARIADB, 2006, STATUS_LOST, ERROR_CONNECTION},
    {ODBC_MARIADB, 2013, STATUS_LOST, ERROR_CONNECTION},
};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* What the records of one failed call say together. */
struct diagnosis {
    char sqlstate[ERROR_SQLSTATE_BYTES];
    SQLINTEGER native;
    char text[SQL_MAX_MESSAGE_LENGTH + 1];
    unsigned refused_rows; /* that have an error record of their own */
};

enum status odbc_memory_error(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory");
    return STATUS_FATAL;
}

static bool is_warning(const char *sqlstate)
{
    return strncmp(sqlstate, "01", 2) == 0 || strncmp(sqlstate, "00", 2) == 0;
}

/* Only the number of several rows is asked for: of a single one drivers may have none. The first
 * error counts; a warning (the driver manager gives the reason for IM003 as one) is taken
 * where there is nothing else. */
static void read_diagnosis(SQLSMALLINT type, SQLHANDLE handle, struct diagnosis *diagnosis)
{
    char state[SQL_SQLSTATE_SIZE + 1];
    char text[SQL_MAX_MESSAGE_LENGTH + 1];
    SQLINTEGER native = 0;
    SQLLEN last_row = SQL_NO_ROW_NUMBER;
    SQLINTEGER records = 0;
    bool has_error = false;

    memset(diagnosis, 0, sizeof *diagnosis);
    SQLGetDiagField(type, handle, 0, SQL_DIAG_NUMBER, &records, 0, NULL);
    for (SQLSMALLINT record = 1;; record++) {
        SQLSMALLINT length = 0;
        SQLLEN row = SQL_NO_ROW_NUMBER;
        state[0] = '\0';
        text[0] = '\0';
        if (!SQL_SUCCEEDED(SQLGetDiagRec(type, handle, record, (SQLCHAR *)state, &native,
                                         (SQLCHAR *)text, sizeof text, &length))) {
            return;
        }
        const bool is_error = !is_warning(state);
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
}

/* MariaDB's duplicates name the value, by which no two errors would be alike. */
static void remove_value(char *text)
{
    static const char before[] = "Duplicate entry '";
    static const char after[] = "' for key ";
    char *start = strstr(text, before);
    char *end = start;
    for (char *at = start; at != NULL && (at = strstr(at, after)) != NULL; at++) {
        end = at;
    }
    if (end != start) {
        memmove(start + strlen(before) - 2, end + 1, strlen(end + 1) + 1);
    }
}

/* Leaves the first line, without the names of driver and manager in front and without what was
 * being done behind it. */
static const char *strip(char *text)
{
    char *start = text;
    while (*start == '[' && strchr(start, ']') != NULL) {
        start = strchr(start, ']') + 1;
    }
    size_t length = strcspn(start, "\r\n");
    while (length > 0 && strchr("; ", start[length - 1]) != NULL) {
        length--;
    }
    start[length] = '\0';
    remove_value(start);
    return start[0] != '\0' ? start : "the driver gives no reason";
}

static const struct meaning *find_meaning(const struct meaning *meanings, size_t count,
                                          const char *sqlstate)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(meanings[i].sqlstate, sqlstate, strlen(meanings[i].sqlstate)) == 0) {
            return &meanings[i];
        }
    }
    return NULL;
}

static enum status report_missing_driver(const struct diagnosis *diagnosis, const char *text,
                                         struct error *error)
{
    if (strcmp(diagnosis->sqlstate, "IM002") == 0) {
        error_set(error, ERROR_USAGE, 0, diagnosis->sqlstate,
                  "no such data source and no driver given: odbcinst -q -s and odbcinst -q -d list "
                  "what there is; or give Driver={NAME};Server=...");
    } else {
        error_set(error, ERROR_USAGE, 0, diagnosis->sqlstate,
                  "%.150s: odbcinst -q -d lists the drivers that are registered", text);
    }
    return STATUS_FATAL;
}

/* True: the error is this machine's, and is set. */
static bool report_own_shortage(const struct diagnosis *diagnosis, struct error *error)
{
    for (size_t i = 0; i < COUNT_OF(own_shortages); i++) {
        if (strstr(diagnosis->text, own_shortages[i].words) != NULL) {
            error_set(error, ERROR_SYSTEM, own_shortages[i].number, diagnosis->sqlstate, "%.*s",
                      (int)strcspn(diagnosis->text, "\r\n"), diagnosis->text);
            return true;
        }
    }
    return false;
}

enum status odbc_connect_error(SQLHDBC connection, struct error *error)
{
    struct diagnosis diagnosis;
    read_diagnosis(SQL_HANDLE_DBC, connection, &diagnosis);
    const bool is_missing = strstr(diagnosis.text, "Can't open lib") != NULL;
    enum status status = STATUS_LOST;
    enum error_kind kind = ERROR_SERVER;

    if (is_missing || strncmp(diagnosis.sqlstate, "IM00", 4) == 0) {
        return report_missing_driver(&diagnosis, strip(diagnosis.text), error);
    }
    if (report_own_shortage(&diagnosis, error)) {
        return STATUS_LOST;
    }
    const struct meaning *meaning =
        find_meaning(connect_meanings, COUNT_OF(connect_meanings), diagnosis.sqlstate);
    if (meaning != NULL) {
        status = meaning->status;
        kind = meaning->kind;
    } else if (strncmp(diagnosis.sqlstate, "08", 2) == 0) {
        kind = ERROR_CONNECTION;
    }
    for (size_t i = 0; i < COUNT_OF(connect_words); i++) {
        if (strstr(diagnosis.text, connect_words[i].words) != NULL) {
            status = connect_words[i].status;
            kind = connect_words[i].kind;
            break;
        }
    }
    if (strstr(diagnosis.text, sqlite_failure) != NULL) {
        error_set(
            error, kind, (int)diagnosis.native, diagnosis.sqlstate,
            "SQLite's driver cannot open the database: its folder must exist and be writable");
        return status;
    }
    error_set(error, kind, (int)diagnosis.native, diagnosis.sqlstate, "%s", strip(diagnosis.text));
    return status;
}

/* Drivers report a broken connection under any SQLSTATE; this they answer by themselves. */
static bool is_dead(struct adapter_conn *conn)
{
    SQLUINTEGER dead = SQL_CD_FALSE;
    return SQL_SUCCEEDED(
               SQLGetConnectAttr(conn->connection, SQL_ATTR_CONNECTION_DEAD, &dead, 0, NULL)) &&
           dead == SQL_CD_TRUE;
}

/* SQLite's driver has no SQLSTATE and no number for what is missing. */
static bool is_missing_in_sqlite(const struct adapter_conn *conn, const char *text)
{
    return conn->dialect == ODBC_SQLITE && (strstr(text, "no such table") != NULL ||
                                            strstr(text, " has no column named ") != NULL ||
                                            strstr(text, "no such column") != NULL);
}

static enum status classify(struct adapter_conn *conn, const struct diagnosis *diagnosis,
                            enum error_kind *kind)
{
    if (atomic_load(&conn->is_interrupted)) {
        *kind = ERROR_CONNECTION;
        return STATUS_LOST;
    }
    for (size_t i = 0; i < COUNT_OF(native_meanings); i++) {
        if (native_meanings[i].dialect == conn->dialect &&
            native_meanings[i].code == diagnosis->native) {
            *kind = native_meanings[i].kind;
            return native_meanings[i].status;
        }
    }
    const struct meaning *meaning =
        find_meaning(call_meanings, COUNT_OF(call_meanings), diagnosis->sqlstate);
    if (meaning != NULL) {
        *kind = meaning->kind;
        return meaning->status;
    }
    if (is_missing_in_sqlite(conn, diagnosis->text)) {
        *kind = ERROR_NOT_FOUND;
        return STATUS_FATAL;
    }
    *kind = ERROR_SERVER;
    return STATUS_REJECTED;
}

enum status odbc_call_error(struct adapter_conn *conn, SQLHSTMT statement, struct error *error)
{
    struct diagnosis diagnosis;
    enum error_kind kind = ERROR_SERVER;
    if (statement != NULL) {
        read_diagnosis(SQL_HANDLE_STMT, statement, &diagnosis);
    } else {
        read_diagnosis(SQL_HANDLE_DBC, conn->connection, &diagnosis);
    }
    enum status status = classify(conn, &diagnosis, &kind);
    if (status != STATUS_LOST && is_dead(conn)) {
        kind = ERROR_CONNECTION;
        status = STATUS_LOST;
    }
    const char *text = strip(diagnosis.text);
    if (diagnosis.refused_rows > 1) {
        error_set(error, kind, (int)diagnosis.native, diagnosis.sqlstate,
                  "%u rows refused, the first: %s", diagnosis.refused_rows, text);
    } else {
        error_set(error, kind, (int)diagnosis.native, diagnosis.sqlstate, "%s", text);
    }
    return status;
}
