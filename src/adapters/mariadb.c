/*
 * MariaDB, MySQL and their kin (SingleStore, Percona Server) through MariaDB Connector/C.
 *
 * An append of less than ROW_BATCH_MAX rows costs one round trip, and so does a count.
 */
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>

#include "adapters/dialect.h"
#include "adapters/mariadb_wire.h"
#include "base/ask.h"
#include "base/buffer.h"
#include "base/client_socket.h"
#include "base/mono.h"
#include "base/sql_script.h"
#include "base/url.h"

extern const struct adapter adapter_mariadb;

/* A statement that failed after others of its append were kept. */
struct mariadb_failure {
    enum status status;
    struct error error;
};

/* The open append. */
struct mariadb_append {
    bool is_open;
    bool is_pending;     /* a statement was sent and not answered yet */
    bool in_transaction; /* of this append */
    const struct table *table;
    uint64_t kept;        /* rows that stay whatever comes */
    uint64_t provisional; /* rows in the transaction */
    size_t sent;          /* rows of the statement sent last */
    unsigned statements;
    struct mariadb_failure *failure; /* owned; told when the append is closed */
};

/* A connection belongs to one session's thread. It is kept small, because there are thousands: no
 * rows are held in it, and a statement is sent without waiting for its answer, so that its text is
 * gone when the session waits. */
struct adapter_conn {
    MYSQL mysql;
    bool uses_insert;     /* method "insert" */
    bool is_method_given; /* by the user: no other will do */
    bool is_lost;
    bool is_utc;      /* the session's time zone was set */
    _Atomic int sock; /* for interrupt, -1 once it is known to be closed; else use the library's */
    const char *why_no_bulk; /* static; NULL = bulk is in use, or was not asked for */
    struct mariadb_append append;
    unsigned long statement; /* number of the bulk statement that the server has prepared */
    const struct table *statement_table; /* for which; NULL = for none */
};

static const char *const methods[] = {"bulk", "insert", NULL};

static enum status memory_error(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory");
    return STATUS_FATAL;
}

/* Connector/C puts the number of the system's error at the end: `(111)`, `system error: 110`. */
static int system_error(const char *message)
{
    size_t end = strlen(message);
    while (end > 0 && !isdigit((unsigned char)message[end - 1])) {
        end--;
    }
    size_t start = end;
    while (start > 0 && isdigit((unsigned char)message[start - 1])) {
        start--;
    }
    return start < end ? (int)strtol(message + start, NULL, 10) : 0;
}

/* Records a failure as the dialect explains it; *meaning is what it is where that does not. */
static void record(const struct dialect_failure *failure, struct dialect_meaning *meaning,
                   struct error *error)
{
    char text[ERROR_TEXT_BYTES];
    dialect_mysql.explain(failure, meaning);
    dialect_mysql.write_text(failure, "", text, sizeof text);
    if (error_set(error, meaning->kind, failure->number, failure->sqlstate, "%s", text)) {
        error->limit = meaning->limit;
    }
}

static bool is_socket_error(unsigned number)
{
    return number == CR_SOCKET_CREATE_ERROR || number == CR_CONNECTION_ERROR ||
           number == CR_CONN_HOST_ERROR || number == CR_IPSOCK_ERROR;
}

/* What keeps a socket from being opened: this side, or the other one. */
static void explain_socket(struct dialect_failure *failure, struct dialect_meaning *meaning)
{
    const int reason = system_error(failure->text);
    switch (reason) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case EADDRNOTAVAIL:
        failure->number = reason;
        meaning->kind = ERROR_SYSTEM;
        break;
    default:
        meaning->kind = reason == ETIMEDOUT ? ERROR_TIMEOUT : ERROR_UNREACHABLE;
    }
}

/* Records why a connection attempt failed. */
static enum status connect_error(struct adapter_conn *conn, struct error *error)
{
    const unsigned number = mysql_errno(&conn->mysql);
    struct dialect_failure failure = {
        .is_connecting = true,
        .number = (int)number,
        /* before its greeting a server sends no SQLSTATE, behind it this one: one cause, not two */
        .sqlstate = number == ER_CON_COUNT_ERROR ? "08004" : mysql_sqlstate(&conn->mysql),
        .text = mysql_error(&conn->mysql)};
    struct dialect_meaning meaning = {STATUS_LOST, ERROR_SERVER, NULL};
    if (is_socket_error(number)) {
        explain_socket(&failure, &meaning);
    }
    record(&failure, &meaning, error);
    conn->is_lost = true;
    return meaning.status;
}

static const char packet_remedy[] =
    "one append is larger than the server's max_allowed_packet: make --batch smaller";

/* FATAL when the server would refuse a statement of so many bytes. It is not sent at all, because
 * the server ends the connection while it is on its way, and its answer can get lost in that. */
static enum status check_length(const struct table *table, size_t length, struct error *error)
{
    if (table->statement_bytes_max == 0 || length <= table->statement_bytes_max) {
        return STATUS_OK;
    }
    error_set(error, ERROR_DATA, ER_NET_PACKET_TOO_LARGE, "08S01", "%s", packet_remedy);
    return STATUS_FATAL;
}

static enum status report(struct adapter_conn *conn, unsigned number, const char *sqlstate,
                          const char *message, struct error *error)
{
    const bool is_too_large =
        number == ER_NET_PACKET_TOO_LARGE || number == CR_NET_PACKET_TOO_LARGE;
    const struct dialect_failure failure = {.number = (int)number,
                                            .sqlstate = sqlstate,
                                            .text = is_too_large ? packet_remedy : message};
    /* Connector/C may give up on an answer without a word */
    static const struct dialect_failure silence = {.sqlstate = "",
                                                   .text = "the server's answer makes no sense"};
    struct dialect_meaning meaning = {STATUS_REJECTED, ERROR_SERVER, NULL};
    if (number == 0) {
        meaning = (struct dialect_meaning){STATUS_LOST, ERROR_CONNECTION, NULL};
    }
    record(number == 0 ? &silence : &failure, &meaning, error);
    if (mysql_get_socket(&conn->mysql) < 0) {
        atomic_store(&conn->sock, -1);
        conn->is_lost = true;
    }
    conn->is_lost = conn->is_lost || meaning.status == STATUS_LOST;
    return conn->is_lost && meaning.status != STATUS_FATAL ? STATUS_LOST : meaning.status;
}

/* Record why the latest call on the connection, or on its statement, failed. */
static enum status call_error(struct adapter_conn *conn, struct error *error)
{
    return report(conn, mysql_errno(&conn->mysql), mysql_sqlstate(&conn->mysql),
                  mysql_error(&conn->mysql), error);
}

static enum status statement_error(struct adapter_conn *conn, MYSQL_STMT *statement,
                                   struct error *error)
{
    return report(conn, mysql_stmt_errno(statement), mysql_stmt_sqlstate(statement),
                  mysql_stmt_error(statement), error);
}

/* Records a condition that the server told as a warning. */
static enum status warning_error(unsigned number, const char *message, struct error *error)
{
    static const struct {
        unsigned number;
        const char *sqlstate;
    } states[] = {{1062, "23000"}, {1048, "23000"}, {1452, "23000"}, {4025, "23000"},
                  {1264, "22003"}, {1406, "22001"}, {1265, "01000"}, {1292, "22007"}};
    const char *sqlstate = "HY000"; /* SHOW WARNINGS does not tell it */
    char text[ERROR_TEXT_BYTES];
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        sqlstate = states[i].number == number ? states[i].sqlstate : sqlstate;
    }
    const struct dialect_failure failure = {
        .number = (int)number, .sqlstate = sqlstate, .text = message};
    dialect_mysql.write_text(&failure, "", text, sizeof text);
    error_set(error, number == 1062 ? ERROR_DUPLICATE : ERROR_DATA, (int)number, sqlstate, "%s",
              text);
    return STATUS_REJECTED;
}

/* Row by row: a large result must not be held in thousands of sessions at once. What is not wanted
 * is read when the result is freed, so that the next statement can go. */
static enum status take_rows(struct adapter_conn *conn, MYSQL_RES *result, struct answer *answer,
                             struct error *error)
{
    const size_t columns = mysql_num_fields(result);
    struct cell *const cells = answer->take != NULL ? calloc(columns, sizeof *cells) : NULL;
    bool is_wanted = true;
    MYSQL_ROW row = NULL;
    if (answer->take != NULL && cells == NULL) {
        return memory_error(error);
    }
    while (is_wanted && (row = mysql_fetch_row(result)) != NULL) {
        const unsigned long *lengths = mysql_fetch_lengths(result);
        answer->rows++;
        for (size_t i = 0; i < columns && cells != NULL; i++) {
            cells[i] = (struct cell){.type = COLUMN_TEXT,
                                     .is_null = row[i] == NULL,
                                     .as.text = {row[i], (uint32_t)lengths[i]}};
        }
        is_wanted = cells == NULL || answer->take(answer->context, cells, columns);
    }
    free(cells);
    return row == NULL && mysql_errno(&conn->mysql) != 0 ? call_error(conn, error) : STATUS_OK;
}

/* Runs statements and hands their rows to answer->take, one at a time. */
static enum status ask(struct adapter_conn *conn, const char *sql, struct answer *answer,
                       struct error *error)
{
    MYSQL *const mysql = &conn->mysql;
    int more = mysql_real_query(mysql, sql, (unsigned long)strlen(sql));

    while (more == 0) {
        MYSQL_RES *const result = mysql_use_result(mysql);
        if (result != NULL) {
            const enum status status = take_rows(conn, result, answer, error);
            mysql_free_result(result);
            if (status != STATUS_OK) {
                return status;
            }
        } else if (mysql_field_count(mysql) > 0) {
            return call_error(conn, error);
        }
        more = mysql_next_result(mysql);
    }
    return more > 0 || mysql_errno(mysql) != 0 ? call_error(conn, error) : STATUS_OK;
}

/* Runs one or more statements and drops what they return. */
static enum status run_text(struct adapter_conn *conn, const char *sql, struct error *error)
{
    return ask(conn, sql, &(struct answer){.take = NULL}, error);
}

/* Rolls back a transaction that a statement, which came to `status`, left open. Where init_connect,
 * which runs behind the greeting, has turned autocommit off, every statement does: then it is
 * turned on, and keeps what was done. */
static enum status end_transaction(struct adapter_conn *conn, enum status status,
                                   struct error *error)
{
    const unsigned state = conn->mysql.server_status;
    if (status == STATUS_LOST || (state & SERVER_STATUS_IN_TRANS) == 0) {
        return status;
    }
    if (status == STATUS_OK && (state & SERVER_STATUS_AUTOCOMMIT) == 0) {
        return run_text(conn, "set autocommit = 1", error);
    }
    if (status == STATUS_OK) {
        error_set(error, ERROR_USAGE, 0, NULL, "the statement leaves a transaction open");
        status = STATUS_FATAL;
    }
    return run_text(conn, "rollback", error) == STATUS_LOST ? STATUS_LOST : status;
}

/* How to connect; texts are borrowed from the target, or in the members themselves. */
struct connect_options {
    const char *host;
    const char *socket;
    bool needs_tls;   /* a connection without it is of no use */
    bool may_use_tls; /* as far as is known before option files are read */
    char socket_path[256];
};

static enum status set_tls(MYSQL *mysql, const char *mode, struct connect_options *options,
                           struct error *error)
{
    static const char *const modes[] = {"off", "prefer", "require", "verify"};
    size_t found = 0;
    while (found < sizeof modes / sizeof *modes && strcmp(modes[found], mode) != 0) {
        found++;
    }
    if (found == sizeof modes / sizeof *modes) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "ssl=%.60s is not known: it can be off, prefer, require or verify", mode);
        return STATUS_FATAL;
    }
    const my_bool is_wanted = found > 0 ? 1 : 0;
    const my_bool is_verified = found == 3 ? 1 : 0;
    mysql_optionsv(mysql, MYSQL_OPT_SSL_ENFORCE, &is_wanted);
    mysql_optionsv(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &is_verified);
    /* Connector/C 3.3 goes on in clear when the server has no TLS: it is looked at afterwards. */
    options->needs_tls = found >= 2;
    return STATUS_OK;
}

static enum status set_socket(struct connect_options *options, const char *path,
                              struct error *error)
{
    static const char *const names[] = {"mysqld.sock", "mysql.sock", "mariadb.sock"};
    struct stat info;
    int length = snprintf(options->socket_path, sizeof options->socket_path, "%s", path);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            length = snprintf(options->socket_path, sizeof options->socket_path, "%s/%s", path,
                              names[i]);
            if (access(options->socket_path, F_OK) == 0) {
                break;
            }
        }
    }
    if (length < 0 || (size_t)length >= sizeof options->socket_path) {
        error_set(error, ERROR_USAGE, 0, NULL, "the path of the socket is too long: %.160s", path);
        return STATUS_FATAL;
    }
    options->socket = options->socket_path;
    options->host = "localhost"; /* Connector/C's word for a Unix socket */
    return STATUS_OK;
}

static enum status set_parameter(MYSQL *mysql, const struct url_parameter *parameter,
                                 struct connect_options *options, struct error *error)
{
    static const struct {
        const char *key;
        enum mysql_option option;
    } files[] = {{"ssl-ca", MYSQL_OPT_SSL_CA},
                 {"ssl-cert", MYSQL_OPT_SSL_CERT},
                 {"ssl-key", MYSQL_OPT_SSL_KEY}};
    options->may_use_tls |= strncmp(parameter->key, "ssl", 3) == 0;
    if (strcmp(parameter->key, "ssl") == 0) {
        return set_tls(mysql, parameter->value, options, error);
    }
    if (strcmp(parameter->key, "socket") == 0) {
        return set_socket(options, parameter->value, error);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(parameter->key, files[i].key) == 0) {
            mysql_optionsv(mysql, files[i].option, parameter->value);
            return STATUS_OK;
        }
    }
    error_set(error, ERROR_USAGE, 0, NULL,
              "parameter '%.60s' is not known: there are ssl, ssl-ca, ssl-cert, ssl-key and socket",
              parameter->key);
    return STATUS_FATAL;
}

static enum status set_parameters(MYSQL *mysql, const char *query, struct connect_options *options,
                                  struct error *error)
{
    struct url_parameter parameter;
    bool is_good = true;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && url_query_next(&query, &parameter, &is_good)) {
        if (!is_good) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "a parameter of the URL is too long or badly encoded");
            return STATUS_FATAL;
        }
        status = set_parameter(mysql, &parameter, options, error);
    }
    return status;
}

/* Turns the target into *options and options of the client library. */
static enum status set_options(MYSQL *mysql, const struct target *target,
                               struct connect_options *options, struct error *error)
{
    /* Any time at all: then Connector/C waits by our own function, which counts. */
    const unsigned timeout_s = 1;
    const unsigned tcp = MYSQL_PROTOCOL_TCP;

    enum {
        TLS_BY_DEFAULT = 30400 /* of Connector/C */
    };
    memset(options, 0, sizeof *options);
    options->may_use_tls = mysql_get_client_version() >= TLS_BY_DEFAULT;
    mysql_optionsv(mysql, MYSQL_READ_DEFAULT_GROUP, "append");
    mysql_optionsv(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_optionsv(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &timeout_s);
    mysql_optionsv(mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "append");
    enum status status = STATUS_OK;
    if (target->host != NULL && target->host[0] == '/') {
        status = set_socket(options, target->host, error);
    } else if (target->host != NULL && target->host[0] != '\0') {
        options->host = target->host;
    }
    if (status == STATUS_OK) {
        status = set_parameters(mysql, target->query, options, error);
    }
    if (options->socket == NULL &&
        (target->port != 0 || (options->host != NULL && strcmp(options->host, "localhost") != 0))) {
        mysql_optionsv(mysql, MYSQL_OPT_PROTOCOL, &tcp);
    }
    return status;
}

/*
 * Bulk statements: one prepared INSERT of one row, executed for all rows of a batch at once
 * (COM_STMT_BULK_EXECUTE). The server reads no text and plans nothing.
 *
 * Connector/C's own way to it keeps 26 KiB in each connection for the statement and its parameters.
 * So the statement is prepared through Connector/C, its number is kept and its handle freed, and
 * the packet is sent as a command of its own. That takes three things which are in Connector/C's
 * headers but not among its documented functions; nothing else of this file uses them:
 *
 *   mysql->methods->db_command   sends a command; what every call of the library does
 *   handle->stmt_id              the number that the server gave the statement
 *   mysql->stmts, handle->mysql  cut, as the library itself does when it loses a connection
 *
 * bulk_is_possible says no where the library in use is not of the series of these headers.
 */

/* Same major and minor version; of the library's numbers some are those of a server. */
static bool is_known_library(void)
{
    static const char built_for[] = MARIADB_PACKAGE_VERSION;
    const char *const patch = strrchr(built_for, '.');
    const char *const in_use = mysql_get_client_info();
    return patch != NULL && in_use != NULL &&
           strncmp(built_for, in_use, (size_t)(patch - built_for) + 1) == 0;
}

static bool is_known_server(MYSQL *mysql)
{
    unsigned long capabilities = 0;
    return mariadb_get_infov(mysql, MARIADB_CONNECTION_EXTENDED_SERVER_CAPABILITIES,
                             &capabilities) == 0 &&
           (capabilities & (unsigned long)(MARIADB_CLIENT_STMT_BULK_OPERATIONS >> 32)) != 0;
}

/* Whether server and client library can do it; *why_not is a static text where they cannot. */
static bool bulk_is_possible(MYSQL *mysql, const char **why_not)
{
    if (!is_known_server(mysql)) {
        *why_not = "the server has no bulk statements";
        return false;
    }
    if (!is_known_library() || mysql->methods == NULL || mysql->methods->db_command == NULL) {
        *why_not = "append was built for another series of MariaDB Connector/C than is in use";
        return false;
    }
    return true;
}

/* Sends a command and waits for no answer. */
static enum status send_command(struct adapter_conn *conn, enum enum_server_command command,
                                const char *body, size_t length, struct error *error)
{
    MYSQL *const mysql = &conn->mysql;
    return mysql->methods->db_command(mysql, command, body, length, 1, NULL) == 0
               ? STATUS_OK
               : call_error(conn, error);
}

/* One statement at a time is kept. The server answers nothing to this. */
static enum status forget_statement(struct adapter_conn *conn, struct error *error)
{
    unsigned char id[MARIADB_ID_BYTES];
    if (conn->statement_table == NULL) {
        return STATUS_OK;
    }
    conn->statement_table = NULL;
    mariadb_put_number(id, conn->statement, sizeof id);
    return send_command(conn, COM_STMT_CLOSE, (const char *)id, sizeof id, error);
}

/* Frees the handle of a statement that the server is to keep: its number is all that is needed.
 * False: the library does not hold the two together in the way that is known here. */
static bool detach(MYSQL *mysql, MYSQL_STMT *handle)
{
    const bool is_known = handle->mysql == mysql && mysql->stmts != NULL &&
                          mysql->stmts->data == handle && mysql->stmts->next == NULL;
    if (is_known) {
        mysql->stmts = NULL;
        handle->mysql = NULL;
    }
    mysql_stmt_close(handle);
    return is_known;
}

static enum status prepare_text(struct adapter_conn *conn, const struct buffer *sql,
                                const struct table *table, struct error *error)
{
    MYSQL_STMT *const handle = buffer_failed(sql) ? NULL : mysql_stmt_init(&conn->mysql);
    if (handle == NULL) {
        return memory_error(error);
    }
    if (mysql_stmt_prepare(handle, buffer_text(sql), (unsigned long)sql->length) != 0) {
        const enum status status = statement_error(conn, handle, error);
        mysql_stmt_close(handle);
        return status;
    }
    const unsigned long statement = handle->stmt_id;
    if (!detach(&conn->mysql, handle)) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "bulk statements do not work with this MariaDB Connector/C (%.20s): use --method "
                  "insert",
                  mysql_get_client_info());
        return STATUS_FATAL;
    }
    conn->statement = statement;
    conn->statement_table = table;
    return STATUS_OK;
}

/* Prepares the statement for a table, unless it is prepared. */
static enum status bulk_prepare(struct adapter_conn *conn, const struct table *table,
                                struct error *error)
{
    struct buffer sql;
    if (conn->statement_table == table) {
        return STATUS_OK;
    }
    enum status status = forget_statement(conn, error);
    if (status != STATUS_OK) {
        return status;
    }
    buffer_init(&sql);
    ask_write_insert(&sql, table, '`', 1);
    status = prepare_text(conn, &sql, table, error);
    buffer_fini(&sql);
    return status;
}

static enum status bulk_send(struct adapter_conn *conn, const struct batch *batch,
                             struct error *error)
{
    struct buffer packet;
    enum status status = bulk_prepare(conn, batch->table, error);

    if (status != STATUS_OK) {
        return status;
    }
    buffer_init(&packet);
    mariadb_add_bulk(&packet, conn->statement, batch);
    if (buffer_failed(&packet)) {
        status = memory_error(error);
    } else {
        status = check_length(batch->table, packet.length, error);
    }
    if (status == STATUS_OK) {
        status = send_command(conn, COM_STMT_BULK_EXECUTE, packet.bytes, packet.length, error);
    }
    buffer_fini(&packet);
    return status;
}

/* Multi-row INSERT as text: what every server of this protocol can do. */

static bool has_escapes(const struct adapter_conn *conn)
{
    return (conn->mysql.server_status & SERVER_STATUS_NO_BACKSLASH_ESCAPES) == 0;
}

static void add_rows(const struct adapter_conn *conn, struct buffer *sql, const struct batch *batch)
{
    const bool is_escaped = has_escapes(conn);
    const struct table *table = batch->table;
    for (size_t row = 0; row < batch->row_count; row++) {
        const char *separator = row == 0 ? "(" : ",(";
        for (size_t i = 0; i < table->column_count; i++) {
            if (!table->columns[i].is_generated) {
                buffer_add_text(sql, separator);
                mariadb_add_literal(sql, &table->columns[i], &batch->columns[i], row, is_escaped);
                separator = ",";
            }
        }
        buffer_add(sql, ")", 1);
    }
}

static enum status insert_send(struct adapter_conn *conn, const struct batch *batch,
                               struct error *error)
{
    struct buffer sql;
    enum status status = STATUS_OK;

    buffer_init(&sql);
    buffer_add_text(&sql, "insert into ");
    ask_write_target(&sql, batch->table, '`');
    buffer_add_text(&sql, " values ");
    add_rows(conn, &sql, batch);
    if (buffer_failed(&sql)) {
        status = memory_error(error);
    } else {
        status = check_length(batch->table, sql.length, error);
    }
    if (status == STATUS_OK &&
        mysql_send_query(&conn->mysql, buffer_text(&sql), (unsigned long)sql.length) != 0) {
        status = call_error(conn, error);
    }
    buffer_fini(&sql);
    return status;
}

/*
 * One append: one statement for up to ROW_BATCH_MAX rows, committed by itself, in one round trip;
 * or several in a transaction, which the first full batch begins. Tables whose engine cannot undo
 * need none: there every statement stands for itself.
 */

/* Times without a zone are UTC here; only a timestamp column asks what the session's zone is. */
static enum status use_utc(struct adapter_conn *conn, const struct table *table,
                           struct error *error)
{
    for (size_t i = 0; i < table->column_count && !conn->is_utc; i++) {
        if (table->columns[i].native_type == MYSQL_NATIVE_TIMESTAMP) {
            const enum status status = run_text(conn, "set time_zone = '+00:00'", error);
            if (status != STATUS_OK) {
                return status;
            }
            conn->is_utc = true;
        }
    }
    return STATUS_OK;
}

static void get_ready(struct adapter_conn *conn, const struct table *table)
{
    struct error ignored;
    error_clear(&ignored);
    if (use_utc(conn, table, &ignored) == STATUS_OK && !conn->uses_insert) {
        bulk_prepare(conn, table, &ignored);
    }
}

static enum status append_open(struct adapter_conn *conn, const struct table *table,
                               struct error *error)
{
    free(conn->append.failure);
    memset(&conn->append, 0, sizeof conn->append);
    const enum status status = use_utc(conn, table, error);
    conn->append.table = table;
    conn->append.is_open = status == STATUS_OK;
    return status;
}

/* Rows of the failed statement that an engine which cannot undo has kept: those before the one that
 * failed. Servers other than MariaDB 10.7 and later do not tell which one it was. */
static uint64_t rows_before_failure(struct adapter_conn *conn)
{
    int64_t failed = 0;
    struct answer answer = {.take = ask_take_number, .context = &failed};
    struct error ignored;
    error_clear(&ignored);
    if (run_text(conn, "get diagnostics condition 1 @append_row = row_number", &ignored) !=
            STATUS_OK ||
        ask(conn, "select @append_row", &answer, &ignored) != STATUS_OK) {
        return 0;
    }
    return failed > 0 && (uint64_t)failed <= conn->append.sent ? (uint64_t)failed - 1 : 0;
}

/* Ends an append that came to `status`; append_close reports what stays of it. */
static enum status give_up(struct adapter_conn *conn, enum status status)
{
    struct mariadb_append *append = &conn->append;
    struct error ignored;
    error_clear(&ignored);
    append->is_open = false;
    append->is_pending = false;
    append->provisional = 0;
    if (status == STATUS_LOST) {
        return status;
    }
    if (append->in_transaction) {
        append->in_transaction = false;
        return run_text(conn, "rollback", &ignored) == STATUS_LOST ? STATUS_LOST : status;
    }
    if (append->table->keeps_failed_rows && append->sent > 0) {
        append->kept += rows_before_failure(conn);
        return conn->is_lost ? STATUS_LOST : status;
    }
    return status;
}

/* A warning: its level, number and text. The first that is more than a note counts. */
static bool take_warning(void *context, const struct cell *cells, size_t count)
{
    char level[16];
    char message[2 * ERROR_TEXT_BYTES];
    if (count == 3 && !cells[0].is_null && !cells[1].is_null && !cells[2].is_null) {
        ask_text(&cells[0], level, sizeof level);
        ask_text(&cells[2], message, sizeof message);
        if (strcmp(level, "Note") != 0) {
            warning_error((unsigned)ask_number(&cells[1]), message, context);
        }
    }
    return true;
}

/* A server that is not strict changes values that do not fit and says so in a warning only: such
 * rows are not what was sent. */
static enum status check_warnings(struct adapter_conn *conn, struct error *error)
{
    struct error warning;
    struct answer answer = {.take = take_warning, .context = &warning};
    if (mysql_warning_count(&conn->mysql) == 0) {
        return STATUS_OK;
    }
    error_clear(&warning);
    const enum status status = ask(conn, "show warnings", &answer, error);
    if (status == STATUS_OK && error_is_set(&warning)) {
        *error = warning;
        return STATUS_REJECTED;
    }
    return status;
}

/* Takes the answer to the statement that was sent last. */
static enum status take_answer(struct adapter_conn *conn, struct error *error)
{
    struct mariadb_append *append = &conn->append;
    append->is_pending = false;
    if (mysql_read_query_result(&conn->mysql) != 0) {
        return give_up(conn, call_error(conn, error));
    }
    if (mysql_field_count(&conn->mysql) > 0) {
        conn->is_lost = true;
        error_set(error, ERROR_CONNECTION, 0, NULL, "the server answered an INSERT with rows");
        return give_up(conn, STATUS_LOST);
    }
    const uint64_t rows = mysql_affected_rows(&conn->mysql);
    /* init_connect runs behind the greeting, so that only now is seen what it may have turned off
     */
    const bool is_uncommitted =
        !append->in_transaction && (conn->mysql.server_status & SERVER_STATUS_AUTOCOMMIT) == 0;
    enum status status = check_warnings(conn, error);
    if (is_uncommitted) {
        const enum status committed = run_text(conn, "set autocommit = 1", error);
        if (committed != STATUS_OK) {
            return give_up(conn, committed);
        }
    }
    if (append->in_transaction) {
        append->provisional += rows;
    } else {
        append->kept += rows;
    }
    if (status != STATUS_OK) {
        append->sent = 0; /* the statement did not fail: what it took is in */
        return give_up(conn, status);
    }
    return STATUS_OK;
}

/* Rows that are kept can only be told by append_close: it is given the failure then. */
static enum status fail_rows(struct adapter_conn *conn, enum status status, struct error *error)
{
    struct mariadb_append *append = &conn->append;
    if (append->kept == 0) {
        return status;
    }
    append->failure = malloc(sizeof *append->failure);
    if (append->failure == NULL) {
        return status;
    }
    append->failure->status = status;
    append->failure->error = *error;
    append->is_open = true;
    error_clear(error);
    return STATUS_OK;
}

static enum status begin_transaction(struct adapter_conn *conn, const struct batch *batch,
                                     struct error *error)
{
    struct mariadb_append *append = &conn->append;
    if (append->in_transaction || append->table->keeps_failed_rows ||
        (append->statements == 0 && batch->row_count < ROW_BATCH_MAX)) {
        return STATUS_OK;
    }
    const enum status status = run_text(conn, "start transaction", error);
    append->in_transaction = status == STATUS_OK;
    return status;
}

static enum status append_rows(struct adapter_conn *conn, const struct batch *batch,
                               struct error *error)
{
    struct mariadb_append *append = &conn->append;
    enum status status = STATUS_OK;

    if (append->failure != NULL) {
        return STATUS_OK;
    }
    if (append->is_pending) {
        status = take_answer(conn, error);
        if (status != STATUS_OK) {
            return fail_rows(conn, status, error);
        }
    }
    append->sent = 0;
    status = begin_transaction(conn, batch, error);
    if (status == STATUS_OK) {
        status =
            conn->uses_insert ? insert_send(conn, batch, error) : bulk_send(conn, batch, error);
    }
    if (status != STATUS_OK) {
        return fail_rows(conn, give_up(conn, status), error);
    }
    append->sent = batch->row_count;
    append->statements++;
    append->is_pending = true;
    return STATUS_OK;
}

static enum status append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error)
{
    struct mariadb_append *append = &conn->append;
    enum status status = STATUS_OK;

    if (append->failure != NULL) {
        status = append->failure->status;
        *error = append->failure->error;
        free(append->failure);
        append->failure = NULL;
    } else if (append->is_pending) {
        status = take_answer(conn, error);
    }
    if (status == STATUS_OK && append->in_transaction) {
        status = run_text(conn, "commit", error);
        if (status == STATUS_OK) {
            append->kept += append->provisional;
        } else {
            /* a commit that was refused may have left it open */
            status = give_up(conn, status);
        }
    }
    append->is_open = false;
    *accepted = append->kept;
    return status;
}

enum {
    NO_SUCH_DATABASE = 1049,
    SILENCE_S = 5, /* until the greeting; many servers look up the client's name before */
};

/* Where rows go when nobody says where. */
static const char default_database[] = "append";

static const char character_set[] = "utf8mb4";

/* A connect under way, settling included, and why it was given up. */
struct connecting {
    struct adapter_conn *conn;
    const struct target *target;
    const struct connect_options *options;
    int64_t until_ns; /* the time allowed for all of its steps, */
    unsigned rest_s;  /* which has two parts: a server that is silent for the first is odd */
    bool has_answered;
    bool has_timed_out;
    bool was_cancelled;
};

/* The connect of this thread, NULL behind it. Connector/C tells its wait callback nothing but the
 * socket, and only the thread says for whom it waits. */
static _Thread_local struct connecting *connecting;

static int wait_by(struct connecting *attempt, int sock, short events)
{
    const struct target *target = attempt->target;
    int ready = client_socket_wait(sock, events, attempt->until_ns, target->is_cancelled);
    if (ready == 0 && attempt->rest_s > 0) {
        const bool is_silent = events == POLLIN && !attempt->has_answered;
        const bool is_another =
            is_silent && target->is_another != NULL && target->is_another(target->silence_context);
        attempt->until_ns = mono_now_ns() + attempt->rest_s * MONO_NS_PER_S;
        attempt->rest_s = 0;
        ready = is_another
                    ? CLIENT_SOCKET_CANCELLED
                    : client_socket_wait(sock, events, attempt->until_ns, target->is_cancelled);
    }
    attempt->has_answered |= ready > 0 && events == POLLIN;
    attempt->was_cancelled |= ready == CLIENT_SOCKET_CANCELLED;
    attempt->has_timed_out |= ready == 0;
    return ready == CLIENT_SOCKET_CANCELLED ? 0 : ready;
}

/* Waits in place of Connector/C: while connecting it looks up now and then, and the time allowed is
 * that for all steps together. Later there is no time-out, which is -1, or 0. */
static int wait_for_socket(my_socket sock, my_bool is_read, int timeout_ms)
{
    struct pollfd wanted = {.fd = sock, .events = is_read ? POLLIN : POLLOUT};
    int ready;
    if (connecting != NULL) {
        ready = wait_by(connecting, sock, wanted.events);
    } else {
        do {
            ready = poll(&wanted, 1, timeout_ms > 0 ? timeout_ms : -1);
        } while (ready < 0 && errno == EINTR);
    }
    if (ready == 0) {
        errno = ETIMEDOUT;
    }
    return ready;
}

static enum status report_silence(const struct connecting *attempt, struct error *error)
{
    const struct target *target = attempt->target;
    if (attempt->was_cancelled) {
        error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted while connecting");
    } else {
        error_set(error, ERROR_TIMEOUT, 0, NULL, "no answer from \"%.150s\" within %u s",
                  target->host != NULL ? target->host : "the server", target->connect_timeout_s);
    }
    return STATUS_LOST;
}

/* Sessions that nobody gave a database work in one of append's own, made when it is missing. */
static enum status use_default_database(struct adapter_conn *conn, struct error *error)
{
    static const char sql[] = "create database if not exists append";
    MYSQL *const mysql = &conn->mysql;
    struct error refused;

    if (mysql_select_db(mysql, default_database) == 0) {
        return STATUS_OK;
    }
    enum status status = STATUS_OK;
    error_clear(&refused);
    if (mysql_errno(mysql) == NO_SUCH_DATABASE) {
        status = run_text(conn, sql, &refused);
        if (status == STATUS_OK && mysql_select_db(mysql, default_database) == 0) {
            return STATUS_OK;
        }
    }
    if (status == STATUS_OK) {
        status = call_error(conn, &refused);
    }
    if (status == STATUS_LOST) {
        *error = refused;
        return status;
    }
    error_set(error, refused.kind, refused.native_code, refused.sqlstate,
              "%.130s: name a database with --database or in the URL", refused.text);
    return STATUS_FATAL;
}

static enum status settle_method(struct adapter_conn *conn, struct error *error)
{
    const char *why_not = NULL;
    if (conn->uses_insert || bulk_is_possible(&conn->mysql, &why_not)) {
        return STATUS_OK;
    }
    if (conn->is_method_given) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "%s (%.60s): use --method insert", why_not,
                  mysql_get_server_info(&conn->mysql));
        return STATUS_FATAL;
    }
    conn->uses_insert = true;
    conn->why_no_bulk = why_not;
    return STATUS_OK;
}

/* Option files are read while connecting, and win over what was set before. Here they must not: a
 * connection that comes back by itself hides lost rows, and texts are UTF-8. */
static enum status undo_option_files(struct adapter_conn *conn, struct error *error)
{
    MYSQL *const mysql = &conn->mysql;
    const my_bool is_reconnecting = 0;
    mysql_optionsv(mysql, MYSQL_OPT_RECONNECT, &is_reconnecting);
    if (strcmp(mysql_character_set_name(mysql), character_set) == 0 ||
        mysql_set_character_set(mysql, character_set) == 0) {
        return STATUS_OK;
    }
    return call_error(conn, error);
}

/* What a connection needs before it is of use; usually nothing is sent. */
static enum status settle(struct adapter_conn *conn, const struct target *target,
                          const struct connect_options *options, struct error *error)
{
    MYSQL *const mysql = &conn->mysql;

    if (options->needs_tls && mysql_get_ssl_cipher(mysql) == NULL) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "the server does not speak TLS");
        return STATUS_FATAL;
    }
    enum status status = undo_option_files(conn, error);
    const bool has_database = mysql->db != NULL && mysql->db[0] != '\0';
    if (status == STATUS_OK && !has_database && !target->makes_nothing) {
        status = use_default_database(conn, error);
    }
    if (status == STATUS_OK && (mysql->server_status & SERVER_STATUS_AUTOCOMMIT) == 0) {
        status = run_text(conn, "set autocommit = 1", error);
    }
    return status == STATUS_OK ? settle_method(conn, error) : status;
}

/* A server that is gone without a word is noticed within 10 s, also in the middle of a wait; with
 * --timeout, data that nobody acknowledges has that long. */
static void watch_peer(int sock, const struct target *target)
{
    const int idle_s = 5;
    const int interval_s = 2;
    const int count = 3;
    const unsigned timeout_ms = target->answer_timeout_ms > 0 ? target->answer_timeout_ms : 10000;
    setsockopt(sock, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(sock, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(sock, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    setsockopt(sock, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
}

static enum status check_schema(const struct target *target, struct error *error)
{
    if (target->schema == NULL ||
        (target->database != NULL && strcmp(target->schema, target->database) == 0)) {
        return STATUS_OK;
    }
    error_set(error, ERROR_USAGE, 0, NULL,
              "a schema is a database here: use --database %.100s instead of --schema",
              target->schema);
    return STATUS_FATAL;
}

static enum status connect_and_settle(void *context, struct error *error)
{
    const struct connecting *attempt = context;
    struct adapter_conn *const conn = attempt->conn;
    const struct target *target = attempt->target;
    const struct connect_options *options = attempt->options;
    if (mysql_real_connect(&conn->mysql, options->host, target->user, target->password,
                           target->database, target->port, options->socket,
                           CLIENT_MULTI_STATEMENTS) == NULL) {
        return connect_error(conn, error);
    }
    return settle(conn, target, options, error);
}

static int open_no_file(void **file, const char *name, void *data)
{
    (void)name;
    (void)data;
    *file = NULL;
    return 1;
}

static int read_no_file(void *file, char *out, unsigned size)
{
    (void)file;
    (void)out;
    (void)size;
    return -1;
}

static void close_no_file(void *file)
{
    (void)file;
}

static int explain_no_file(void *file, char *text, unsigned size)
{
    (void)file;
    snprintf(text, size, "the server asked for a file, and gets none");
    return CR_UNKNOWN_ERROR;
}

/* Keeps the server from reading files of this machine, which an option file could allow it. */
static void refuse_files(MYSQL *mysql)
{
    const unsigned is_allowed = 0;
    mysql_optionsv(mysql, MYSQL_OPT_LOCAL_INFILE, &is_allowed);
    mysql_set_local_infile_handler(mysql, open_no_file, read_no_file, close_no_file,
                                   explain_no_file, NULL);
}

static enum status connect_to(struct adapter_conn *conn, const struct target *target,
                              struct error *error)
{
    MYSQL *const mysql = &conn->mysql;
    struct connect_options options;
    const unsigned timeout_s = target->connect_timeout_s;
    const unsigned first_s = timeout_s < SILENCE_S ? timeout_s : SILENCE_S;
    struct connecting attempt = {.conn = conn,
                                 .target = target,
                                 .options = &options,
                                 .until_ns = mono_now_ns() + first_s * MONO_NS_PER_S,
                                 .rest_s = timeout_s - first_s};
    struct client_socket socket = {0};
    struct error failure;

    enum status status = set_options(mysql, target, &options, error);
    if (status != STATUS_OK) {
        return status;
    }
    error_clear(&failure);
    refuse_files(mysql);
    mysql_optionsv(mysql, MARIADB_OPT_IO_WAIT, wait_for_socket);
    connecting = &attempt;
    /* OpenSSL waits by itself, as often as there is a byte */
    status = options.may_use_tls
                 ? client_socket_connect(&socket, target, connect_and_settle, &attempt, &failure)
                 : connect_and_settle(&attempt, &failure);
    connecting = NULL;
    if (status != STATUS_OK) {
        if (attempt.has_timed_out || attempt.was_cancelled) {
            return report_silence(&attempt, error);
        }
        *error = failure;
        return status;
    }
    /* told to the server by now, and 8 KiB */
    mysql_optionsv(mysql, MYSQL_OPT_CONNECT_ATTR_RESET, NULL);
    if (options.socket == NULL) {
        watch_peer(mysql_get_socket(mysql), target);
    }
    atomic_store(&conn->sock, mysql_get_socket(mysql));
    return STATUS_OK;
}

/* Not through Connector/C, whose socket the session's thread may be closing at this moment. */
static void interrupt_connection(struct adapter_conn *conn)
{
    const int sock = atomic_load(&conn->sock);
    if (sock >= 0) {
        shutdown(sock, SHUT_RDWR);
    }
}

static void close_connection(struct adapter_conn *conn)
{
    if (conn == NULL) {
        return;
    }
    const int sock = mysql_get_socket(&conn->mysql);
    if (sock >= 0 && (conn->is_lost || conn->append.is_open)) {
        /* mysql_close says good-bye, which a server that does not read could hold up */
        shutdown(sock, SHUT_RDWR);
    }
    mysql_close(&conn->mysql);
    free(conn->append.failure);
    free(conn);
}

static enum status open_connection(const struct target *target, struct adapter_conn **conn,
                                   struct error *error)
{
    *conn = NULL;
    enum status status = check_schema(target, error);
    if (status != STATUS_OK) {
        return status;
    }
    struct adapter_conn *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return memory_error(error);
    }
    atomic_init(&made->sock, -1);
    made->is_method_given = target->method != NULL;
    made->uses_insert = target->method != NULL && strcmp(target->method, "insert") == 0;
    if (mysql_init(&made->mysql) == NULL) {
        free(made);
        return memory_error(error);
    }
    status = connect_to(made, target, error);
    if (status != STATUS_OK) {
        /* an error while settling that is not the connection's end is not one of the session's */
        close_connection(made);
        return status == STATUS_REJECTED ? STATUS_LOST : status;
    }
    *conn = made;
    return STATUS_OK;
}

static enum status recognise(const char *host, uint16_t port, unsigned timeout_ms,
                             struct error *error)
{
    static const struct probe probe = {
        .protocol = "MySQL's", .socket_name = "mysqld.sock", .judge = mariadb_judge};
    return probe_recognise(&probe, host, port, timeout_ms, error);
}

/* The buffer of each connection, one size for all. Answers are short, and statements that are
 * longer than it are sent as they are. */
static enum status start(const char *client_lib, struct adapter_library **library,
                         struct error *error)
{
    static const size_t net_buffer_bytes = 1024;
    MYSQL mysql;
    (void)client_lib;
    (void)library;
    if (mysql_library_init(0, NULL, NULL) != 0 || mysql_init(&mysql) == NULL) {
        return memory_error(error);
    }
    mysql_optionsv(&mysql, MYSQL_OPT_NET_BUFFER_LENGTH, &net_buffer_bytes);
    mysql_close(&mysql);
    return STATUS_OK;
}

static void stop(struct adapter_library *library)
{
    (void)library;
    mysql_library_end();
}

static void client_version(char *text, size_t size)
{
    snprintf(text, size, "MariaDB Connector/C %s", mysql_get_client_info());
}

static bool is_mariadb_with_addresses(MYSQL *mysql)
{
    enum {
        INET4_VERSION = 101000
    };
    return mariadb_connection(mysql) && mysql_get_server_version(mysql) >= INET4_VERSION;
}

static void inspect(struct adapter_conn *conn, struct connection_info *info)
{
    MYSQL *const mysql = &conn->mysql;
    const char *host = mysql->unix_socket != NULL ? mysql->unix_socket : mysql->host;
    snprintf(info->host, sizeof info->host, "%s", host != NULL ? host : "");
    info->port = mysql->unix_socket != NULL ? 0 : (uint16_t)mysql->port;
    snprintf(info->user, sizeof info->user, "%s", mysql->user != NULL ? mysql->user : "");
    snprintf(info->database, sizeof info->database, "%s", mysql->db != NULL ? mysql->db : "");
    snprintf(info->dialect, sizeof info->dialect, "%s",
             is_mariadb_with_addresses(mysql) ? "mariadb" : "mysql");
    info->identifier_quote = '`';
    info->method = methods[conn->uses_insert ? 1 : 0];
    info->note[0] = '\0';
    if (conn->why_no_bulk != NULL) {
        snprintf(info->note, sizeof info->note, "%s: rows go in as multi-row INSERT",
                 conn->why_no_bulk);
    }
}

static enum status execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    return end_transaction(conn, run_text(conn, sql, error), error);
}

/* Writes a statement with its parameters as literals. */
static void write_statement(const struct adapter_conn *conn, struct buffer *sql, const char *text,
                            const struct batch *parameters)
{
    for (size_t i = 0;; i++) {
        const char *mark = sql_script_find_parameter(text);
        buffer_add(sql, text, (size_t)(mark - text));
        if (*mark == '\0') {
            return;
        }
        if (i < parameters->table->column_count) {
            mariadb_add_literal(sql, &parameters->table->columns[i], &parameters->columns[i], 0,
                                has_escapes(conn));
        }
        text = mark + 1;
    }
}

/* Always as text: prepared, a statement would take one of max_prepared_stmt_count. */
static enum status run_statement(struct adapter_conn *conn, const struct statement *statement,
                                 const struct batch *parameters, struct answer *answer,
                                 struct error *error)
{
    struct buffer sql;
    enum status status;
    answer->rows = 0;
    buffer_init(&sql);
    if (parameters != NULL) {
        write_statement(conn, &sql, statement->sql, parameters);
    }
    if (buffer_failed(&sql)) {
        status = memory_error(error);
    } else {
        const char *text = parameters != NULL ? buffer_text(&sql) : statement->sql;
        status = end_transaction(conn, ask(conn, text, answer, error), error);
    }
    buffer_fini(&sql);
    return status;
}

static struct dialect_asker asker_of(struct adapter_conn *conn)
{
    return (struct dialect_asker){.adapter = &adapter_mariadb,
                                  .conn = conn,
                                  .prepares = !conn->uses_insert,
                                  .has_prepared = conn->statement_table != NULL};
}

static enum status describe(struct adapter_conn *conn, const char *table_name, struct table *table,
                            struct error *error)
{
    const struct dialect_asker asker = asker_of(conn);
    return dialect_mysql.describe(&asker, table_name, table, error);
}

static enum status server_limits(struct adapter_conn *conn, struct server_limits *limits,
                                 struct error *error)
{
    const struct dialect_asker asker = asker_of(conn);
    memset(limits, 0, sizeof *limits);
    return dialect_mysql.limits(&asker, limits, error);
}

const struct adapter adapter_mariadb = {
    .name = "mariadb",
    .summary = "MariaDB, MySQL: bulk, insert",
    .default_port = 3306,
    .identifier_quote = '`',
    .engine_clause = " engine=",
    .stack_bytes = (size_t)256 * 1024,
    .files_per_session = 1,
    .methods = methods,
    .start = start,
    .stop = stop,
    .client_version = client_version,
    .recognise = recognise,
    .open = open_connection,
    .close = close_connection,
    .interrupt = interrupt_connection,
    .inspect = inspect,
    .execute = execute,
    .describe = describe,
    .get_ready = get_ready,
    .append_open = append_open,
    .append_rows = append_rows,
    .append_close = append_close,
    .run = run_statement,
    .server_limits = server_limits,
};
