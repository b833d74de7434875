/*
 * Machbase through its client library.
 *
 * Appends: SQLAppendOpen, SQLAppendDataV2 a row, SQLAppendClose. The library collects rows into
 * packets. The server answers only for rows that it refuses, and counts at the end; what was sent
 * before stays, whatever comes: there are no transactions. Every append has a statement of its own:
 * one that was used before sends rows that the server cannot read.
 */
#include "adapters/machbase.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "adapters/machbase_library.h"
#include "base/ask.h"
#include "base/buffer.h"
#include "base/client_socket.h"
#include "base/sql_script.h"
#include "base/text.h"
#include "base/url.h"

/* The server's numbers of errors, and one of the library's own. */
enum {
    NO_SUCH_TABLE = 2025,
    NO_SUCH_COLUMN = 2030,
    NO_USER = 2080,
    WRONG_PASSWORD = 2081,
    LINK_LOST = 9003,
};

enum {
    STATE_BYTES = 16,
    MESSAGE_BYTES = 512,
    CELL_BYTES = 256,
    CHECK_EVERY = 100, /* rows after which the library looks whether the server has refused some */
    NO_COLUMN = UINT16_MAX,
    HELLO_BYTES = 9,
};

/* The open append. */
struct append {
    machbase_handle statement; /* NULL: none is open */
    const struct table *table;
    uint64_t rows;        /* handed over */
    uint64_t sent;        /* of these, taken by the library */
    uint64_t other_codes; /* rows refused with another code than the first */
    struct error failure; /* of the first row that was refused, on this side or by the server */
};

struct adapter_conn {
    const struct machbase_functions *call;
    const struct adapter_library *library;
    machbase_handle environment;
    machbase_handle connection;
    bool is_connected;
    bool has_no_delay; /* TCP_NODELAY is set */
    struct client_socket socket;
    struct append append;
    size_t slot_count;           /* columns of a row as the server has them */
    union machbase_value *slots; /* owned: one row */
    uint16_t *columns;           /* owned: for each slot its column of the table, NO_COLUMN: none */
    char host[256];
    uint16_t port;
    char user[128];
};

/* A writable static, one a thread: the library tells of a refused row by its statement only, in the
 * thread whose call found it. */
static _Thread_local struct append *watched;

static const char limit_name[] = "MAX_SESSION_COUNT";

static enum status refuse(struct error *error, const char *text)
{
    error_set(error, ERROR_USAGE, 0, NULL, "%s", text);
    return STATUS_FATAL;
}

static enum status memory_error(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory in the machbase adapter");
    return STATUS_FATAL;
}

static enum status take_query(struct machbase_place *place, const char *query, struct error *error)
{
    struct url_parameter parameter;
    bool is_good = true;
    while (url_query_next(&query, &parameter, &is_good)) {
        if (!is_good) {
            return refuse(error, "a URL parameter is too long or badly encoded");
        }
        if (strcmp(parameter.key, "alternative_servers") == 0) {
            snprintf(place->alternatives, sizeof place->alternatives, "%s", parameter.value);
        } else if (strcmp(parameter.key, "nodelay") == 0 &&
                   (strcmp(parameter.value, "0") == 0 || strcmp(parameter.value, "1") == 0)) {
            place->has_delay = parameter.value[0] == '0';
        } else {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "machbase has no URL parameter %.60s=%.60s: there are "
                      "alternative_servers=HOST:PORT,HOST:PORT and nodelay=0|1",
                      parameter.key, parameter.value);
            return STATUS_FATAL;
        }
    }
    return STATUS_OK;
}

/* The library splits its text at these, quotes or not. */
static bool is_plain(const char *value)
{
    return value[0] != '\0' && strpbrk(value, ";= \t\r\n") == NULL;
}

/* The library's own default. */
static uint16_t port_by_default(void)
{
    const char *text = getenv("MACHBASE_PORT_NO");
    const unsigned long number = text != NULL ? strtoul(text, NULL, 10) : 0;
    return number > 0 && number <= UINT16_MAX ? (uint16_t)number : adapter_machbase.default_port;
}

enum status machbase_place_read(struct machbase_place *place, const struct target *target,
                                struct error *error)
{
    *place = (struct machbase_place){
        .host = target->host != NULL ? target->host : "127.0.0.1",
        .port = target->port != 0 ? target->port : port_by_default(),
        .user = target->user != NULL ? target->user : "SYS",
        .password = target->password != NULL ? target->password : "MANAGER",
    };
    if (target->schema != NULL || target->database != NULL) {
        return refuse(error, "machbase has one database, and takes neither its name nor a schema: "
                             "write machbase://user@host:port");
    }
    if (place->host[0] == '/') {
        return refuse(error, "machbase is reached by TCP: give a host and a port");
    }
    if (target->host == NULL && target->url != NULL && strchr(target->url, ',') != NULL &&
        strchr(target->url, '?') == NULL) {
        return refuse(error, "machbase takes one host, and others as "
                             "?alternative_servers=HOST:PORT,HOST:PORT");
    }
    if (take_query(place, target->query, error) != STATUS_OK) {
        return STATUS_FATAL;
    }
    if (!is_plain(place->user) || !is_plain(place->password)) {
        return refuse(error, "Machbase's client library takes no user and no password that is "
                             "empty or has a blank, ';' or '=' in it");
    }
    if (place->alternatives[0] != '\0' && !is_plain(place->alternatives)) {
        return refuse(error, "alternative_servers has to be HOST:PORT,HOST:PORT");
    }
    return STATUS_OK;
}

/* Every key is given, because of some the library has other defaults with other versions; DSN,
 * which it takes for a host in its manual, it passes over. COMPRESS stays off: rows that it
 * compresses cannot be read. */
void machbase_string_build(struct buffer *text, const struct machbase_place *place,
                           const char *address, unsigned timeout_s)
{
    buffer_add_format(text, "SERVER=%s;PORT_NO=%u;UID=%s;PWD=%s;CONNTYPE=1;CONNECTION_TIMEOUT=%u;",
                      address, (unsigned)place->port, place->user, place->password, timeout_s);
    if (place->alternatives[0] != '\0') {
        buffer_add_format(text, "ALTERNATIVE_SERVERS=%s;", place->alternatives);
    }
}

struct record {
    char state[STATE_BYTES];
    int code;
    char message[MESSAGE_BYTES];
};

/* The library gives the same record again and again, so it is asked once. */
static void read_record(struct adapter_conn *conn, machbase_handle statement, struct record *record)
{
    unsigned char state[STATE_BYTES] = "";
    unsigned char message[MESSAGE_BYTES] = "";
    short length = 0;
    *record = (struct record){.code = 0};
    const machbase_result result =
        conn->call->SQLError(conn->environment, conn->connection, statement, state, &record->code,
                             message, MESSAGE_BYTES, &length);
    if (!machbase_succeeded(result)) {
        *record = (struct record){.message = "the client library gives no reason"};
        return;
    }
    memcpy(record->state, state, sizeof state - 1);
    memcpy(record->message, message, sizeof message - 1);
}

static enum status report(struct error *error, enum status status, enum error_kind kind,
                          const struct record *record)
{
    error_set(error, kind, record->code, record->state, "%s", record->message);
    return status;
}

static bool is_about_room(const char *message)
{
    static const char *const words[] = {"too many", "exceed", "maximum number of sessions",
                                        "session limit", "max_session"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasestr(message, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Records why a connect failed. */
static enum status connect_error(struct adapter_conn *conn, struct error *error)
{
    struct record record;
    read_record(conn, NULL, &record);
    if (record.code == NO_USER || record.code == WRONG_PASSWORD) {
        return report(error, STATUS_FATAL, ERROR_AUTH, &record);
    }
    if (strcmp(record.state, "01S00") == 0) {
        return report(error, STATUS_FATAL, ERROR_USAGE, &record);
    }
    if (is_about_room(record.message)) {
        report(error, STATUS_LOST, ERROR_LIMIT, &record);
        error->limit = limit_name;
        return STATUS_LOST;
    }
    if (record.state[0] == '\0' && record.code != 0) {
        return report(error, STATUS_LOST, ERROR_SERVER, &record); /* the server's own words */
    }
    error_set(error, strncmp(record.state, "08S", 3) == 0 ? ERROR_CONNECTION : ERROR_UNREACHABLE,
              record.code, record.state, "%.100s:%u: %s", conn->host, (unsigned)conn->port,
              record.message);
    return STATUS_LOST;
}

/* Records why a call failed; `statement` NULL: one on the connection. A statement after which
 * nothing is heard of the server gets many different records. */
static enum status call_error(struct adapter_conn *conn, machbase_handle statement,
                              struct error *error)
{
    struct record record;
    read_record(conn, statement, &record);
    if (strncmp(record.state, "08", 2) == 0 || record.code == LINK_LOST ||
        client_socket_is_ended(&conn->socket)) {
        error_set(error, ERROR_CONNECTION, record.code, record.state, "connection lost: %s",
                  record.message);
        return STATUS_LOST;
    }
    return record.code == NO_SUCH_TABLE || record.code == NO_SUCH_COLUMN
               ? report(error, STATUS_FATAL, ERROR_NOT_FOUND, &record)
               : report(error, STATUS_REJECTED, ERROR_SERVER, &record);
}

/* The library takes IPv4 only, and resolves names by a function that threads must not share. */
static enum status resolve(const char *host, char address[INET_ADDRSTRLEN], struct error *error)
{
    const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const int code = getaddrinfo(host, NULL, &wanted, &found);
    if (code != 0) {
        error_set(error, ERROR_UNREACHABLE, 0, NULL, "host '%.100s' does not resolve to IPv4: %s",
                  host, gai_strerror(code));
        return STATUS_LOST;
    }
    struct sockaddr_in first;
    memcpy(&first, found->ai_addr, sizeof first);
    freeaddrinfo(found);
    inet_ntop(AF_INET, &first.sin_addr, address, INET_ADDRSTRLEN);
    return STATUS_OK;
}

struct connecting {
    struct adapter_conn *conn;
    const char *text;
};

/* The library's own time limit covers but the first packet of TCP: a server that is silent after it
 * is waited for without an end. */
static enum status connect_by(void *context, struct error *error)
{
    const struct connecting *connecting = context;
    struct adapter_conn *const conn = connecting->conn;
    short length = 0;
    conn->is_connected = machbase_succeeded(
        conn->call->SQLDriverConnect(conn->connection, NULL, machbase_text(connecting->text),
                                     MACHBASE_NTS, NULL, 0, &length, MACHBASE_NO_PROMPT));
    return conn->is_connected ? STATUS_OK : connect_error(conn, error);
}

static enum status connect_to(struct adapter_conn *conn, const struct target *target,
                              struct error *error)
{
    struct machbase_place place;
    char address[INET_ADDRSTRLEN];
    struct buffer text;
    enum status status = machbase_place_read(&place, target, error);
    if (status == STATUS_OK) {
        status = resolve(place.host, address, error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (!machbase_succeeded(conn->call->SQLAllocEnv(&conn->environment)) ||
        !machbase_succeeded(conn->call->SQLAllocConnect(conn->environment, &conn->connection))) {
        return memory_error(error);
    }
    snprintf(conn->host, sizeof conn->host, "%s", place.host);
    snprintf(conn->user, sizeof conn->user, "%s", place.user);
    conn->port = place.port;
    buffer_init(&text);
    machbase_string_build(&text, &place, address, target->connect_timeout_s);
    struct connecting connecting = {conn, buffer_text(&text)};
    status = buffer_failed(&text)
                 ? memory_error(error)
                 : client_socket_connect(&conn->socket, target, connect_by, &connecting, error);
    buffer_fini(&text);
    conn->has_no_delay = !place.has_delay && client_socket_set_no_delay(&conn->socket);
    return status;
}

static void machbase_close(struct adapter_conn *conn)
{
    if (conn == NULL) {
        return;
    }
    if (conn->append.statement != NULL) {
        /* rows that are still on this side stay there */
        client_socket_shut(&conn->socket, SHUT_RDWR);
        conn->call->SQLFreeStmt(conn->append.statement, MACHBASE_DROP);
    }
    client_socket_shut(&conn->socket, SHUT_RD); /* the library waits for an answer to good-bye */
    if (conn->is_connected) {
        conn->call->SQLDisconnect(conn->connection);
    }
    if (conn->connection != NULL) {
        conn->call->SQLFreeConnect(conn->connection);
    }
    if (conn->environment != NULL) {
        conn->call->SQLFreeEnv(conn->environment);
    }
    free(conn->slots);
    free(conn->columns);
    free(conn);
}

static enum status machbase_open(const struct target *target, struct adapter_conn **conn,
                                 struct error *error)
{
    *conn = NULL;
    if (target->library == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "Machbase's client library was not loaded");
        return STATUS_FATAL;
    }
    struct adapter_conn *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return memory_error(error);
    }
    made->library = target->library;
    made->call = &target->library->call;
    const enum status status = connect_to(made, target, error);
    if (status != STATUS_OK) {
        machbase_close(made);
        return status;
    }
    *conn = made;
    return STATUS_OK;
}

static void machbase_interrupt(struct adapter_conn *conn)
{
    client_socket_shut(&conn->socket, SHUT_RDWR);
}

static void machbase_inspect(struct adapter_conn *conn, struct connection_info *info)
{
    snprintf(info->host, sizeof info->host, "%s", conn->host);
    info->port = conn->port;
    snprintf(info->user, sizeof info->user, "%s", conn->user);
    snprintf(info->note, sizeof info->note, "client library %.150s; %s", conn->library->path,
             conn->has_no_delay ? "append set TCP_NODELAY on its socket"
                                : "its socket has no TCP_NODELAY: packets may wait for 40 ms");
}

/* One column of the current row. */
struct bound {
    char text[CELL_BYTES];
    long length; /* or MACHBASE_NULL_DATA */
};

static enum status make_statement(struct adapter_conn *conn, machbase_handle *statement,
                                  struct error *error)
{
    *statement = NULL;
    if (machbase_succeeded(conn->call->SQLAllocStmt(conn->connection, statement))) {
        return STATUS_OK;
    }
    *statement = NULL;
    return call_error(conn, NULL, error);
}

static enum status bind_columns(struct adapter_conn *conn, machbase_handle statement,
                                struct bound *bound, size_t columns, struct error *error)
{
    for (size_t i = 0; i < columns; i++) {
        if (!machbase_succeeded(conn->call->SQLBindCol(statement, (unsigned short)(i + 1),
                                                       MACHBASE_C_CHAR, bound[i].text, CELL_BYTES,
                                                       &bound[i].length))) {
            return call_error(conn, statement, error);
        }
    }
    return STATUS_OK;
}

static bool take_row(const struct bound *bound, struct cell *cells, size_t columns,
                     const struct answer *answer)
{
    for (size_t i = 0; i < columns; i++) {
        cells[i] =
            (struct cell){.type = COLUMN_TEXT,
                          .is_null = bound[i].length == MACHBASE_NULL_DATA,
                          .as.text = {bound[i].text, (uint32_t)strnlen(bound[i].text, CELL_BYTES)}};
    }
    return answer->take(answer->context, cells, columns);
}

static enum status read_rows(struct adapter_conn *conn, machbase_handle statement, size_t columns,
                             struct answer *answer, struct error *error)
{
    struct bound *const bound = calloc(columns, sizeof *bound);
    struct cell *const cells = calloc(columns, sizeof *cells);
    bool is_wanted = true;
    enum status status = STATUS_OK;
    if (bound == NULL || cells == NULL) {
        status = memory_error(error);
    } else if (answer->take != NULL) {
        status = bind_columns(conn, statement, bound, columns, error);
    }
    while (status == STATUS_OK && is_wanted) {
        const machbase_result result = conn->call->SQLFetch(statement);
        if (result == MACHBASE_NO_DATA) {
            break;
        }
        if (machbase_succeeded(result)) {
            answer->rows++;
            is_wanted = answer->take == NULL || take_row(bound, cells, columns, answer);
        } else {
            status = call_error(conn, statement, error);
        }
    }
    free(bound);
    free(cells);
    return status;
}

/* Runs one statement; `answer` NULL: one that returns nothing. */
static enum status run_one(struct adapter_conn *conn, const char *sql, struct answer *answer,
                           struct error *error)
{
    machbase_handle statement = NULL;
    short columns = 0;
    unsigned char *const text = machbase_text(sql);
    enum status status = make_statement(conn, &statement, error);
    if (status != STATUS_OK) {
        return status;
    }
    const bool is_run =
        answer == NULL
            ? machbase_succeeded(conn->call->SQLExecDirect(statement, text, MACHBASE_NTS))
            : machbase_succeeded(conn->call->SQLPrepare(statement, text, MACHBASE_NTS)) &&
                  machbase_succeeded(conn->call->SQLExecute(statement)) &&
                  machbase_succeeded(conn->call->SQLNumResultCols(statement, &columns));
    if (!is_run) {
        status = call_error(conn, statement, error);
    } else if (columns > 0) {
        status = read_rows(conn, statement, (size_t)columns, answer, error);
    }
    conn->call->SQLFreeStmt(statement, MACHBASE_DROP);
    return status;
}

/* Behind a word at the beginning of a text; NULL: it begins with another one. */
static const char *skip_word(const char *text, const char *word)
{
    static const char blanks[] = " \t\r\n";
    const size_t length = strlen(word);
    if (text == NULL || strncasecmp(text, word, length) != 0 ||
        strspn(text + length, blanks) == 0) {
        return NULL;
    }
    return text + length + strspn(text + length, blanks);
}

/* Machbase has no DROP TABLE IF EXISTS. */
static enum status drop_table(struct adapter_conn *conn, const char *table, struct error *error)
{
    struct buffer drop;
    struct error reason;
    error_clear(&reason);
    buffer_init(&drop);
    buffer_add_text(&drop, "drop table ");
    buffer_add_text(&drop, table);
    enum status status = buffer_failed(&drop) ? memory_error(&reason)
                                              : run_one(conn, buffer_text(&drop), NULL, &reason);
    buffer_fini(&drop);
    if (status == STATUS_FATAL && reason.native_code == NO_SUCH_TABLE) {
        return STATUS_OK;
    }
    if (status != STATUS_OK) {
        *error = reason;
    }
    return status;
}

static enum status run_script(struct adapter_conn *conn, const char *sql, struct answer *answer,
                              struct error *error)
{
    struct sql_script script;
    enum status status = STATUS_OK;
    sql_script_init(&script, sql);
    while (status == STATUS_OK && sql_script_next(&script)) {
        const char *const one = buffer_text(&script.statement);
        const char *const table =
            skip_word(skip_word(skip_word(skip_word(one, "drop"), "table"), "if"), "exists");
        status = buffer_failed(&script.statement) ? memory_error(error)
                 : table != NULL                  ? drop_table(conn, table, error)
                                                  : run_one(conn, one, answer, error);
    }
    sql_script_fini(&script);
    return status;
}

static enum status machbase_execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    return run_script(conn, sql, NULL, error);
}

static enum status machbase_run(struct adapter_conn *conn, const struct statement *statement,
                                const struct batch *parameters, struct answer *answer,
                                struct error *error)
{
    (void)parameters;
    answer->rows = 0;
    return run_script(conn, statement->sql, answer, error);
}

/* Keeps the first failure, and how many came with another code. */
static void note_failure(struct append *append, const struct error *failure)
{
    if (!error_is_set(&append->failure)) {
        append->failure = *failure;
    } else if (failure->native_code != append->failure.native_code) {
        append->other_codes++;
    }
}

static int shown_length(const void *text, long length)
{
    enum {
        SHOWN_MAX = 150
    };
    const long most = length < SHOWN_MAX ? length : SHOWN_MAX;
    return text == NULL || most < 0 ? 0 : (int)strnlen(text, (size_t)most);
}

static void on_error(machbase_handle statement, int code, void *message, long length, void *row,
                     long row_length)
{
    struct error failure;
    const int bytes = shown_length(row, row_length);
    const int words = shown_length(message, length);
    if (watched == NULL || watched->statement != statement) {
        return;
    }
    error_clear(&failure);
    error_set(&failure, ERROR_DATA, code, NULL, "%.*s%s%.*s", words > 0 ? words : INT_MAX,
              words > 0 ? (const char *)message : "refused without a reason",
              bytes > 0 ? "; row: " : "", bytes < 60 ? bytes : 60,
              row != NULL ? (const char *)row : "");
    note_failure(watched, &failure);
}

static enum status begin_append(struct adapter_conn *conn, const char *table_name,
                                machbase_handle *statement, struct error *error)
{
    enum status status = make_statement(conn, statement, error);
    if (status != STATUS_OK) {
        return status;
    }
    if (machbase_succeeded(
            conn->call->SQLAppendOpen(*statement, machbase_text(table_name), CHECK_EVERY))) {
        conn->call->SQLAppendSetErrorCallback(*statement, on_error); /* opening forgets it */
        return STATUS_OK;
    }
    status = call_error(conn, *statement, error);
    conn->call->SQLFreeStmt(*statement, MACHBASE_DROP);
    *statement = NULL;
    return status;
}

/* Makes room for rows of so many columns. */
static enum status resize(struct adapter_conn *conn, size_t count, struct error *error)
{
    if (count == conn->slot_count) {
        return STATUS_OK;
    }
    free(conn->slots);
    free(conn->columns);
    conn->slots = calloc(count, sizeof *conn->slots);
    conn->columns = calloc(count, sizeof *conn->columns);
    conn->slot_count = conn->slots != NULL && conn->columns != NULL ? count : 0;
    return conn->slot_count == count ? STATUS_OK : memory_error(error);
}

/* The table's column of this name; most often it is at `guess`. */
static size_t find_column(const struct table *table, const char *name, size_t guess)
{
    if (guess < table->column_count && strcasecmp(table->columns[guess].name, name) == 0) {
        return guess;
    }
    for (size_t i = 0; i < table->column_count; i++) {
        if (strcasecmp(table->columns[i].name, name) == 0) {
            return i;
        }
    }
    return NO_COLUMN;
}

static enum status has_changed(const struct table *table, struct error *error)
{
    error_set(error, ERROR_NOT_FOUND, 0, NULL,
              "table '%.100s' is not what it was: a column is gone or has another type",
              table->name);
    return STATUS_FATAL;
}

static enum status describe_column(struct adapter_conn *conn, machbase_handle statement,
                                   size_t index, struct column *column, struct error *error)
{
    unsigned char name[ROW_NAME_BYTES] = "";
    short length = 0;
    short type = 0;
    unsigned long size = 0;
    short digits = 0;
    short nullable = 0;
    const machbase_result result =
        conn->call->SQLDescribeCol(statement, (unsigned short)(index + 1), name, sizeof name,
                                   &length, &type, &size, &digits, &nullable);
    if (!machbase_succeeded(result)) {
        return call_error(conn, statement, error);
    }
    *column = (struct column){.is_nullable = true}; /* the library does not say */
    memcpy(column->name, name, sizeof name - 1);
    machbase_set_type(column, type, size);
    return STATUS_OK;
}

/* Which column goes where: a row has as many places as the server says now, and a column that was
 * added since the table was described is NULL. */
static enum status map_columns(struct adapter_conn *conn, machbase_handle statement,
                               const struct table *table, struct error *error)
{
    short count = 0;
    size_t found = 0;
    if (!machbase_succeeded(conn->call->SQLNumResultCols(statement, &count))) {
        return call_error(conn, statement, error);
    }
    if (count < 2) {
        return has_changed(table, error);
    }
    enum status status = resize(conn, (size_t)count - 1, error);
    for (size_t i = 0; status == STATUS_OK && i < conn->slot_count; i++) {
        struct column column;
        status = describe_column(conn, statement, i + 1, &column, error);
        if (status != STATUS_OK) {
            break;
        }
        const size_t place = find_column(table, column.name, i);
        conn->columns[i] = (uint16_t)place;
        machbase_encode_null(&column, &conn->slots[i]);
        if (place != NO_COLUMN) {
            found += table->columns[place].native_type == column.native_type ? 1 : 0;
        }
    }
    if (status == STATUS_OK && found < table->column_count) {
        status = has_changed(table, error);
    }
    return status;
}

/* Ends the append without asking the server about it. */
static void abandon(struct adapter_conn *conn)
{
    conn->call->SQLFreeStmt(conn->append.statement, MACHBASE_DROP);
    conn->append.statement = NULL;
}

/* The server may wait for rows or for the end of the append; nothing can follow on this connection.
 */
static enum status lose(struct adapter_conn *conn)
{
    client_socket_shut(&conn->socket, SHUT_RDWR);
    abandon(conn);
    return STATUS_LOST;
}

static enum status machbase_append_open(struct adapter_conn *conn, const struct table *table,
                                        struct error *error)
{
    struct append *append = &conn->append;
    memset(append, 0, sizeof *append);
    enum status status = begin_append(conn, table->name, &append->statement, error);
    if (status != STATUS_OK) {
        return status;
    }
    append->table = table;
    status = map_columns(conn, append->statement, table, error);
    if (status == STATUS_LOST) {
        return lose(conn);
    }
    if (status != STATUS_OK) {
        long successes = 0;
        long failures = 0;
        conn->call->SQLAppendClose(append->statement, &successes, &failures);
        abandon(conn);
    }
    return status;
}

/* A value that cannot be sent as it is. */
static void refuse_value(struct append *append, const struct column *column)
{
    struct error failure;
    error_clear(&failure);
    error_set(&failure, ERROR_DATA, 0, NULL,
              "column %.60s %.60s cannot hold the value: it is too long, below 0, or a code of the "
              "client library; the row was not sent",
              column->name, column->type_name);
    note_failure(append, &failure);
}

/* Sets every place of the row. */
static bool encode_row(struct adapter_conn *conn, const struct batch *batch, size_t row)
{
    const struct table *table = conn->append.table;
    for (size_t i = 0; i < conn->slot_count; i++) {
        const size_t place = conn->columns[i];
        if (place == NO_COLUMN) {
            continue;
        }
        const struct column *column = &table->columns[place];
        const struct column_data *data = &batch->columns[place];
        if (data->is_null != NULL && data->is_null[row] != 0) {
            machbase_encode_null(column, &conn->slots[i]);
        } else if (!machbase_encode(column, data->values, row, &conn->slots[i])) {
            refuse_value(&conn->append, column);
            return false;
        }
    }
    return true;
}

static enum status send_row(struct adapter_conn *conn, struct error *error)
{
    struct append *append = &conn->append;
    const machbase_result result = conn->call->SQLAppendDataV2(append->statement, conn->slots);
    if (result == MACHBASE_OK) {
        append->sent++;
        return STATUS_OK;
    }
    struct error failure;
    error_clear(&failure);
    if (result == MACHBASE_OK_WITH_INFO) {
        append->sent++;
        error_set(&failure, ERROR_DATA, 0, "01004", "the client library cut a value of the row");
    } else if (call_error(conn, append->statement, &failure) == STATUS_LOST) {
        *error = failure;
        return STATUS_LOST;
    }
    note_failure(append, &failure);
    return STATUS_OK;
}

static enum status machbase_append_rows(struct adapter_conn *conn, const struct batch *batch,
                                        struct error *error)
{
    enum status status = STATUS_OK;
    watched = &conn->append;
    for (size_t row = 0; status == STATUS_OK && row < batch->row_count; row++) {
        conn->append.rows++;
        if (encode_row(conn, batch, row)) {
            status = send_row(conn, error);
        }
    }
    watched = NULL;
    return status == STATUS_OK ? STATUS_OK : lose(conn);
}

/* What the server's counts say, which add up to what was sent. */
static enum status settle(const struct append *append, uint64_t successes, uint64_t failures,
                          struct error *error)
{
    const struct error *first = &append->failure;
    if (error_is_set(first)) {
        const uint64_t refused =
            append->rows - (successes < append->rows ? successes : append->rows);
        char others[60] = "";
        if (append->other_codes > 0) {
            snprintf(others, sizeof others, ", %" PRIu64 " for other reasons", append->other_codes);
        }
        error_set(error, first->kind, first->native_code, first->sqlstate,
                  "%.150s (%" PRIu64 " of %" PRIu64 " rows refused%s)", first->text, refused,
                  append->rows, others);
        return STATUS_REJECTED;
    }
    if (failures > 0) {
        error_set(error, ERROR_DATA, 0, NULL,
                  "the server refused %" PRIu64 " of %" PRIu64 " rows and gave no reason", failures,
                  append->sent);
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

static enum status machbase_append_close(struct adapter_conn *conn, uint64_t *accepted,
                                         struct error *error)
{
    struct append *append = &conn->append;
    long successes = -1; /* left alone when there is no answer */
    long failures = -1;
    *accepted = 0;
    watched = append;
    const machbase_result result =
        conn->call->SQLAppendClose(append->statement, &successes, &failures);
    watched = NULL;
    if (!machbase_succeeded(result) || successes < 0 || failures < 0) {
        struct error reason;
        error_clear(&reason);
        if (!machbase_succeeded(result)) {
            call_error(conn, append->statement, &reason);
        }
        error_set(error, ERROR_CONNECTION, reason.native_code,
                  reason.sqlstate[0] != '\0' ? reason.sqlstate : "08S01",
                  "no counts at the end of an append: %.150s",
                  reason.text[0] != '\0' ? reason.text : "the client library gives no reason");
        return lose(conn);
    }
    *accepted = (uint64_t)successes < append->sent ? (uint64_t)successes : append->sent;
    if ((uint64_t)successes + (uint64_t)failures != append->sent) {
        error_set(error, ERROR_SERVER, 0, NULL,
                  "the server counted %ld rows kept and %ld refused of an append of %" PRIu64
                  ": what became of the others is not known",
                  successes, failures, append->sent);
        return lose(conn);
    }
    abandon(conn);
    return settle(append, (uint64_t)successes, (uint64_t)failures, error);
}

static enum status add_columns(struct adapter_conn *conn, machbase_handle statement,
                               struct table *table, struct error *error)
{
    short count = 0;
    if (!machbase_succeeded(conn->call->SQLNumResultCols(statement, &count))) {
        return call_error(conn, statement, error);
    }
    enum status status = STATUS_OK;
    /* the first is the time of arrival, which the server or the library fills */
    for (short i = 1; status == STATUS_OK && i < count; i++) {
        struct column column;
        status = describe_column(conn, statement, (size_t)i, &column, error);
        if (status == STATUS_OK) {
            status = table_add_column(table, &column, error);
        }
    }
    return status;
}

/* Names are not quoted, and a name that is none could be read as something else. */
static bool is_name(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.";
    return name[0] != '\0' && strspn(name, letters) == strlen(name);
}

static enum status no_table(const char *name, struct error *error)
{
    error_set(error, ERROR_NOT_FOUND, NO_SUCH_TABLE, NULL, "table '%.100s' does not exist", name);
    return STATUS_REJECTED;
}

static enum status machbase_describe(struct adapter_conn *conn, const char *table_name,
                                     struct table *table, struct error *error)
{
    machbase_handle statement = NULL;
    struct error reason;
    long successes = 0;
    long failures = 0;
    if (!is_name(table_name)) {
        return no_table(table_name, error);
    }
    error_clear(&reason);
    enum status status = begin_append(conn, table_name, &statement, &reason);
    if (status != STATUS_OK) {
        if (status == STATUS_FATAL && reason.kind == ERROR_NOT_FOUND) {
            return no_table(table_name, error);
        }
        *error = reason;
        return status;
    }
    status = table_init(table, table_name, error);
    if (status == STATUS_OK) {
        status = add_columns(conn, statement, table, error);
    }
    const machbase_result result = conn->call->SQLAppendClose(statement, &successes, &failures);
    if (status == STATUS_OK && !machbase_succeeded(result)) {
        status = call_error(conn, statement, error);
    }
    conn->call->SQLFreeStmt(statement, MACHBASE_DROP);
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}

static const char version_sql[] = "select binary_signature from v$version";
static const char allowed_sql[] = "select value from v$property where name = 'MAX_SESSION_COUNT'";
static const char used_sql[] = "select count(*) from v$session where closed = 0";

struct text {
    char *text;
    size_t size;
};

static bool take_text(void *context, const struct cell *cells, size_t count)
{
    const struct text *text = context;
    if (count > 0) {
        ask_text(&cells[0], text->text, text->size);
    }
    return false;
}

/* An answer that is no answer leaves "". */
static bool is_lost_by_asking(struct adapter_conn *conn, const char *sql, struct text text,
                              struct error *error)
{
    struct answer answer = {.take = take_text, .context = &text};
    struct error reason;
    error_clear(&reason);
    if (run_one(conn, sql, &answer, &reason) != STATUS_LOST) {
        return false;
    }
    *error = reason;
    return true;
}

static enum status machbase_server_limits(struct adapter_conn *conn, struct server_limits *limits,
                                          struct error *error)
{
    char version[60] = "";
    char allowed[32] = "";
    char used[32] = "";
    int64_t most = 0;
    int64_t now = 0;
    memset(limits, 0, sizeof *limits);
    if (is_lost_by_asking(conn, version_sql, (struct text){version, sizeof version}, error) ||
        is_lost_by_asking(conn, allowed_sql, (struct text){allowed, sizeof allowed}, error) ||
        is_lost_by_asking(conn, used_sql, (struct text){used, sizeof used}, error)) {
        return STATUS_LOST;
    }
    snprintf(limits->version, sizeof limits->version, "Machbase %s", version);
    if (text_parse_integer(allowed, strlen(allowed), &most) && most > 0 &&
        text_parse_integer(used, strlen(used), &now) && now >= 0) {
        struct session_limit *limit = &limits->sessions[limits->count++];
        snprintf(limit->name, sizeof limit->name, "%s", limit_name);
        limit->allowed = (uint64_t)most;
        limit->used = (uint64_t)now;
        snprintf(limit->fix, sizeof limit->fix,
                 "MAX_SESSION_COUNT = N in $MACHBASE_HOME/conf/machbase.conf, then restart the "
                 "server");
    }
    return STATUS_OK;
}

enum probe_answer machbase_judge(const unsigned char *bytes, size_t length)
{
    if (memcmp(bytes, "CMI_READY", length < HELLO_BYTES ? length : HELLO_BYTES) != 0) {
        return PROBE_NO;
    }
    return length < HELLO_BYTES ? PROBE_MORE : PROBE_YES;
}

static enum status machbase_recognise(const char *host, uint16_t port, unsigned timeout_ms,
                                      struct error *error)
{
    static const struct probe probe = {.protocol = "Machbase's",
                                       .socket_name = "",
                                       .question = "CMI_INET0", /* 0: little-endian */
                                       .question_bytes = HELLO_BYTES,
                                       .judge = machbase_judge};
    return probe_recognise(&probe, host, port, timeout_ms, error);
}

const struct adapter adapter_machbase = {
    .name = "machbase",
    .summary = "Machbase: append (vendor's library)",
    .flags = ADAPTER_ONE_DATABASE | ADAPTER_LOADS,
    .default_port = 5656,
    .identifier_quote = '\0', /* quoted, a name keeps its case, and tables have upper-case names */
    .stack_bytes = (size_t)256 * 1024,
    .files_per_session = 2, /* a socket, and while the library waits at it, its epoll instance */
    .start = machbase_load,
    .stop = machbase_unload,
    .client_version = machbase_library_text,
    .recognise = machbase_recognise,
    .open = machbase_open,
    .close = machbase_close,
    .interrupt = machbase_interrupt,
    .inspect = machbase_inspect,
    .execute = machbase_execute,
    .describe = machbase_describe,
    .append_open = machbase_append_open,
    .append_rows = machbase_append_rows,
    .append_close = machbase_append_close,
    .run = machbase_run,
    .server_limits = machbase_server_limits,
};
