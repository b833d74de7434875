/* Connection strings, and diagnostic records as struct error. */
#include "adapters/odbc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct pair {
    const char *start; /* of the key */
    size_t key_length;
    const char *value; /* with its braces */
    size_t value_length;
};

static const char *const user_keys[] = {"UID", "User", "Username", NULL};
static const char *const password_keys[] = {"PWD", "Password", NULL};
static const char *const database_keys[] = {"Database", "DB", NULL};

/* The brace that ends a value in braces; NULL when there is none. */
static const char *closing_brace(const char *at)
{
    for (at++; *at != '\0'; at++) {
        if (*at == '}' && at[1] == '}') {
            at++;
        } else if (*at == '}') {
            return at;
        }
    }
    return NULL;
}

static const char *end_of_value(const char *at)
{
    if (*at == '{') {
        const char *brace = closing_brace(at);
        at = brace != NULL ? brace + 1 : at + strlen(at);
    }
    return at + strcspn(at, ";");
}

/* Takes the next pair off *rest. */
static bool next_pair(const char **rest, struct pair *pair)
{
    const char *at = *rest;
    at += strspn(at, "; \t");
    if (*at == '\0') {
        return false;
    }
    const size_t length = strcspn(at, "=;");
    pair->start = at;
    pair->key_length = length;
    while (pair->key_length > 0 && at[pair->key_length - 1] == ' ') {
        pair->key_length--;
    }
    pair->value = at + length;
    if (*pair->value == '=') {
        pair->value += 1 + strspn(pair->value + 1, " ");
    }
    *rest = end_of_value(pair->value);
    pair->value_length = (size_t)(*rest - pair->value);
    return true;
}

static bool is_one_of(const struct pair *pair, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        if (strlen(*keys) == pair->key_length &&
            strncasecmp(*keys, pair->start, pair->key_length) == 0) {
            return true;
        }
    }
    return false;
}

bool odbc_string_find(const char *text, const char *const *keys, char *value, size_t size)
{
    struct pair pair;
    value[0] = '\0';
    while (next_pair(&text, &pair)) {
        if (!is_one_of(&pair, keys)) {
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
    struct pair pair;
    bool has_place = strchr(text, '=') == NULL;
    while (next_pair(&text, &pair)) {
        /* without its end a value would swallow the password that is put behind it */
        if (pair.value[0] == '{' && closing_brace(pair.value) == NULL) {
            return "a { has no }";
        }
        has_place = has_place || !is_one_of(&pair, no_place);
    }
    return has_place ? NULL : "it names no DSN, Server or Database";
}

/* Braces only where nothing else will do: some drivers take them for a part of the value. */
static bool needs_braces(const char *value)
{
    const size_t length = strlen(value);
    return strchr(value, ';') != NULL || value[0] == '{' ||
           (length > 0 && (value[0] == ' ' || value[length - 1] == ' '));
}

static void add_pair(struct buffer *text, const char *key, const char *value)
{
    buffer_add_text(text, key);
    if (!needs_braces(value)) {
        buffer_add_format(text, "=%s;", value);
        return;
    }
    buffer_add_text(text, "={");
    for (; *value != '\0'; value++) {
        buffer_add(text, value, 1);
        if (*value == '}') {
            buffer_add(text, value, 1);
        }
    }
    buffer_add_text(text, "};");
}

/* Of repeated keys some drivers take the first, others the last: the text's own are left out. */
void odbc_string_build(struct buffer *text, const struct target *target)
{
    const struct {
        const char *const *keys;
        const char *value;
    } given[] = {{user_keys, target->user},
                 {password_keys, target->password},
                 {database_keys, target->database}};
    const char *rest = target->path;
    struct pair pair;

    if (strchr(rest, '=') == NULL) {
        add_pair(text, "DSN", rest);
        rest = "";
    }
    while (next_pair(&rest, &pair)) {
        bool is_replaced = false;
        for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
            is_replaced =
                is_replaced || (given[i].value != NULL && is_one_of(&pair, given[i].keys));
        }
        if (!is_replaced) {
            buffer_add(text, pair.start, pair.key_length);
            buffer_add_text(text, "=");
            buffer_add(text, pair.value, pair.value_length);
            buffer_add_text(text, ";");
        }
    }
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        if (given[i].value != NULL) {
            add_pair(text, given[i].keys[0], given[i].value);
        }
    }
}

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

/* All that SQLite's driver says when a file cannot be opened. */
static const char sqlite_failure[] = "[SQLite]connect failed";

/* Drivers put most of what happens while connecting under one SQLSTATE, and only the text tells. */
static const struct {
    const char *words;
    enum status status;
    enum error_kind kind;
} connect_words[] = {
    {"too many", STATUS_LOST, ERROR_LIMIT},
    {"Too many", STATUS_LOST, ERROR_LIMIT},
    {"starting up", STATUS_LOST, ERROR_SERVER},
    {"shutting down", STATUS_LOST, ERROR_SERVER},
    {"timeout expired", STATUS_LOST, ERROR_TIMEOUT},
    {"timed out", STATUS_LOST, ERROR_TIMEOUT},
    {"system error: 110", STATUS_LOST, ERROR_TIMEOUT}, /* ETIMEDOUT, as MariaDB's driver has it */
    {" (110)", STATUS_LOST, ERROR_TIMEOUT},
    {"refused", STATUS_LOST, ERROR_UNREACHABLE},
    {"translate host name", STATUS_LOST, ERROR_UNREACHABLE},
    {"Can't connect", STATUS_LOST, ERROR_UNREACHABLE},
    {"No such file or directory", STATUS_LOST, ERROR_UNREACHABLE},
    {"authentication failed", STATUS_FATAL, ERROR_AUTH},
    {"no password supplied", STATUS_FATAL, ERROR_AUTH},
    {"pg_hba.conf", STATUS_FATAL, ERROR_AUTH},
    {"permission denied", STATUS_FATAL, ERROR_AUTH},
    {"role \"", STATUS_FATAL, ERROR_AUTH},
    {"database \"", STATUS_FATAL, ERROR_NOT_FOUND},
    {sqlite_failure, STATUS_FATAL, ERROR_NOT_FOUND},
};

/* SQLSTATEs of ODBC's own; those of the standard mean what they mean to PostgreSQL. */
static const struct {
    const char *sqlstate; /* five characters, or the beginning of a class */
    enum status status;   /* of a call; nothing is REJECTED by a connect, which is LOST then */
    enum error_kind kind;
} state_meanings[] = {
    {"01S00", STATUS_FATAL, ERROR_USAGE}, /* invalid connection string attribute */
    {"08", STATUS_LOST, ERROR_CONNECTION},    {"57P", STATUS_LOST, ERROR_CONNECTION},
    {"HYT", STATUS_REJECTED, ERROR_TIMEOUT},  {"42S02", STATUS_FATAL, ERROR_NOT_FOUND},
    {"42S22", STATUS_FATAL, ERROR_NOT_FOUND}, {"IM0", STATUS_FATAL, ERROR_USAGE},
    {"45", STATUS_REJECTED, ERROR_DATA},      {"HYC00", STATUS_FATAL, ERROR_UNSUPPORTED},
    {"HY001", STATUS_FATAL, ERROR_MEMORY},
};

enum {
    MYSQL_NUMBERS = 1000 /* where they begin: other drivers' are below */
};

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
    return start[0] != '\0' ? start : "the driver gives no reason";
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

static struct dialect_failure make_failure(const struct diagnosis *diagnosis, bool is_connecting)
{
    return (struct dialect_failure){.is_connecting = is_connecting,
                                    .number = (int)diagnosis->native,
                                    .sqlstate = diagnosis->sqlstate,
                                    .text = diagnosis->text};
}

/* What is left when neither a database's number nor its words say more. */
static struct dialect_meaning explain_state(const struct dialect_failure *failure)
{
    struct dialect_meaning meaning = {STATUS_REJECTED, ERROR_SERVER, NULL};
    for (size_t i = 0; i < COUNT_OF(state_meanings); i++) {
        const char *const state = state_meanings[i].sqlstate;
        if (strncmp(state, failure->sqlstate, strlen(state)) == 0) {
            return (struct dialect_meaning){state_meanings[i].status, state_meanings[i].kind, NULL};
        }
    }
    dialect_postgresql.explain(failure, &meaning);
    return meaning;
}

/* Before a connection is open nobody knows whose number and words these are. */
static struct dialect_meaning explain_connect(const struct dialect_failure *failure)
{
    struct dialect_meaning meaning = {0};
    const bool is_mysql = failure->number >= MYSQL_NUMBERS;
    const struct dialect *const dialect = is_mysql ? &dialect_mysql : &dialect_postgresql;
    const bool is_explained = dialect->explain(failure, &meaning);
    if (is_explained && meaning.kind == ERROR_LIMIT) {
        return meaning;
    }
    for (size_t i = 0; i < COUNT_OF(connect_words); i++) {
        if (strstr(failure->text, connect_words[i].words) != NULL) {
            return (struct dialect_meaning){connect_words[i].status, connect_words[i].kind, NULL};
        }
    }
    if (!is_mysql || !is_explained) {
        meaning = explain_state(failure);
    }
    meaning.status = meaning.status == STATUS_REJECTED ? STATUS_LOST : meaning.status;
    return meaning;
}

enum status odbc_connect_error(SQLHDBC connection, struct error *error)
{
    struct diagnosis diagnosis;
    read_diagnosis(SQL_HANDLE_DBC, connection, &diagnosis);
    const bool is_missing = strstr(diagnosis.text, "Can't open lib") != NULL;

    if (is_missing || strncmp(diagnosis.sqlstate, "IM00", 4) == 0) {
        return report_missing_driver(&diagnosis, strip(diagnosis.text), error);
    }
    if (report_own_shortage(&diagnosis, error)) {
        return STATUS_LOST;
    }
    const struct dialect_failure failure = make_failure(&diagnosis, true);
    const struct dialect_meaning meaning = explain_connect(&failure);
    const char *const text =
        strstr(diagnosis.text, sqlite_failure) != NULL
            ? "SQLite's driver cannot open the database: its folder must exist and be writable"
            : strip(diagnosis.text);
    if (error_set(error, meaning.kind, (int)diagnosis.native, diagnosis.sqlstate, "%s", text)) {
        error->limit = meaning.limit;
    }
    return meaning.status;
}

/* Drivers report a broken connection under any SQLSTATE; this they answer by themselves. */
static bool is_dead(struct adapter_conn *conn)
{
    SQLUINTEGER dead = SQL_CD_FALSE;
    return SQL_SUCCEEDED(
               SQLGetConnectAttr(conn->connection, SQL_ATTR_CONNECTION_DEAD, &dead, 0, NULL)) &&
           dead == SQL_CD_TRUE;
}

static struct dialect_meaning explain_call(struct adapter_conn *conn,
                                           const struct dialect_failure *failure)
{
    struct dialect_meaning meaning = {STATUS_LOST, ERROR_CONNECTION, NULL};
    if (atomic_load(&conn->is_interrupted)) {
        return meaning;
    }
    if (conn->dialect == NULL || !conn->dialect->explain(failure, &meaning)) {
        meaning = explain_state(failure);
    }
    if (meaning.status != STATUS_LOST && is_dead(conn)) {
        meaning = (struct dialect_meaning){STATUS_LOST, ERROR_CONNECTION, NULL};
    }
    return meaning;
}

enum status odbc_call_error(struct adapter_conn *conn, SQLHSTMT statement, struct error *error)
{
    struct diagnosis diagnosis;
    char text[ERROR_TEXT_BYTES];
    char rows[48] = "";
    if (statement != NULL) {
        read_diagnosis(SQL_HANDLE_STMT, statement, &diagnosis);
    } else {
        read_diagnosis(SQL_HANDLE_DBC, conn->connection, &diagnosis);
    }
    struct dialect_failure failure = make_failure(&diagnosis, false);
    const struct dialect_meaning meaning = explain_call(conn, &failure);
    failure.text = strip(diagnosis.text);
    if (conn->dialect != NULL) {
        conn->dialect->write_text(&failure, conn->user, text, sizeof text);
    } else {
        snprintf(text, sizeof text, "%s", failure.text);
    }
    if (diagnosis.refused_rows > 1) {
        snprintf(rows, sizeof rows, "%u rows refused, the first: ", diagnosis.refused_rows);
    }
    if (error_set(error, meaning.kind, (int)diagnosis.native, diagnosis.sqlstate, "%s%s", rows,
                  text)) {
        error->limit = meaning.limit;
    }
    return meaning.status;
}
