/* Connecting to MariaDB and its kin, and disconnecting. */
#include "adapters/mariadb_conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    SLICE_MS = 200,
    NO_SUCH_DATABASE = 1049,
};

/* Where rows go when nobody says where. */
static const char default_database[] = "append";

/* A connect under way, and why it was given up. */
struct connecting {
    const struct target *target;
    bool has_timed_out;
    bool was_cancelled;
};

/* The connect of this thread, NULL behind it. Connector/C tells its wait callback nothing but the
 * socket, and only the thread says for whom it waits. */
static _Thread_local struct connecting *connecting;

static bool is_cancelled(void)
{
    return connecting != NULL && connecting->target->is_cancelled != NULL &&
           connecting->target->is_cancelled();
}

/* Waits like Connector/C itself, but looks up now and then while it connects. A negative time-out
 * is none. Returns as poll does. */
static int wait_for_socket(my_socket sock, my_bool is_read, int timeout_ms)
{
    struct pollfd wanted = {.fd = sock, .events = is_read ? POLLIN : POLLOUT};
    int left_ms = timeout_ms;
    for (;;) {
        const bool has_slices = connecting != NULL && (left_ms < 0 || left_ms > SLICE_MS);
        const int ready = poll(&wanted, 1, has_slices ? SLICE_MS : left_ms);
        if (ready > 0 || (ready < 0 && errno != EINTR)) {
            return ready;
        }
        if (is_cancelled()) {
            connecting->was_cancelled = true;
            break;
        }
        if (ready == 0 && !has_slices) {
            break;
        }
        left_ms -= ready == 0 && left_ms > 0 ? SLICE_MS : 0;
    }
    if (connecting != NULL) {
        connecting->has_timed_out = !connecting->was_cancelled;
    }
    errno = ETIMEDOUT;
    return 0;
}

static enum status give_up(const struct connecting *attempt, struct error *error)
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
        status = mariadb_run(conn, sql, &refused);
        if (status == STATUS_OK && mysql_select_db(mysql, default_database) == 0) {
            return STATUS_OK;
        }
    }
    if (status == STATUS_OK) {
        status = mariadb_call_error(conn, &refused);
    }
    if (status == STATUS_LOST) {
        *error = refused;
        return status;
    }
    error_set(error, refused.kind, refused.native_code, refused.sqlstate,
              "%.130s: name a database with --database or in the URL", refused.text);
    return STATUS_FATAL;
}

static bool can_bulk(MYSQL *mysql)
{
    unsigned long capabilities = 0;
    if (mariadb_get_infov(mysql, MARIADB_CONNECTION_EXTENDED_SERVER_CAPABILITIES, &capabilities) !=
        0) {
        return false;
    }
    return (capabilities & (unsigned long)(MARIADB_CLIENT_STMT_BULK_OPERATIONS >> 32)) != 0;
}

static enum status settle_method(struct adapter_conn *conn, struct error *error)
{
    if (conn->method != MARIADB_BULK || can_bulk(&conn->mysql)) {
        return STATUS_OK;
    }
    if (conn->is_method_given) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "this server (%.60s) has no bulk statements: use --method insert or load",
                  mysql_get_server_info(&conn->mysql));
        return STATUS_FATAL;
    }
    conn->method = MARIADB_INSERT;
    conn->note = "the server has no bulk statements: rows go in as multi-row INSERT";
    return STATUS_OK;
}

/* What a connection needs before it is of use; usually nothing is sent. */
static enum status settle(struct adapter_conn *conn, const struct mariadb_options *options,
                          struct error *error)
{
    MYSQL *const mysql = &conn->mysql;
    enum status status = STATUS_OK;

    if (options->needs_tls && mysql_get_ssl_cipher(mysql) == NULL) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "the server does not speak TLS");
        return STATUS_FATAL;
    }
    if (mysql->db == NULL || mysql->db[0] == '\0') {
        status = use_default_database(conn, error);
    }
    if (status == STATUS_OK && (mysql->server_status & SERVER_STATUS_AUTOCOMMIT) == 0) {
        status = mariadb_run(conn, "set autocommit = 1", error);
    }
    return status == STATUS_OK ? settle_method(conn, error) : status;
}

/* A server that is gone without a word is noticed within 10 s, also in the middle of a wait. */
static void watch_peer(int sock)
{
    const int idle_s = 5;
    const int interval_s = 2;
    const int count = 3;
    const unsigned timeout_ms = 10000;
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

static enum status connect_to(struct adapter_conn *conn, const struct target *target,
                              struct error *error)
{
    MYSQL *const mysql = &conn->mysql;
    struct mariadb_options options;
    struct connecting attempt = {.target = target};

    enum status status = mariadb_set_options(mysql, target, &options, error);
    if (status != STATUS_OK) {
        return status;
    }
    mariadb_load_install(mysql, conn->method == MARIADB_LOAD);
    mysql_optionsv(mysql, MARIADB_OPT_IO_WAIT, wait_for_socket);
    connecting = &attempt;
    const bool is_connected =
        mysql_real_connect(mysql, options.host, target->user, target->password, target->database,
                           target->port, options.socket, CLIENT_MULTI_STATEMENTS) != NULL;
    connecting = NULL;
    if (!is_connected) {
        return attempt.has_timed_out || attempt.was_cancelled ? give_up(&attempt, error)
                                                              : mariadb_connect_error(conn, error);
    }
    /* told to the server by now, and 8 KiB */
    mysql_optionsv(mysql, MYSQL_OPT_CONNECT_ATTR_RESET, NULL);
    if (options.socket == NULL) {
        watch_peer(mysql_get_socket(mysql));
    }
    return settle(conn, &options, error);
}

static enum mariadb_method method_of(const char *name)
{
    size_t method = 0;
    while (name != NULL && mariadb_methods[method] != NULL &&
           strcmp(mariadb_methods[method], name) != 0) {
        method++;
    }
    return mariadb_methods[method] != NULL ? (enum mariadb_method)method : MARIADB_BULK;
}

enum status mariadb_open(const struct target *target, struct adapter_conn **conn,
                         struct error *error)
{
    *conn = NULL;
    enum status status = check_schema(target, error);
    if (status != STATUS_OK) {
        return status;
    }
    struct adapter_conn *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return mariadb_memory_error(error);
    }
    made->is_method_given = target->method != NULL;
    made->method = method_of(target->method);
    if (mysql_init(&made->mysql) == NULL) {
        free(made);
        return mariadb_memory_error(error);
    }
    status = connect_to(made, target, error);
    if (status != STATUS_OK) {
        /* an error while settling that is not the connection's end is not one of the session's */
        mariadb_close(made);
        return status == STATUS_REJECTED ? STATUS_LOST : status;
    }
    *conn = made;
    return STATUS_OK;
}

void mariadb_interrupt(struct adapter_conn *conn)
{
    const int sock = mysql_get_socket(&conn->mysql);
    if (sock >= 0) {
        shutdown(sock, SHUT_RDWR);
    }
}

void mariadb_close(struct adapter_conn *conn)
{
    if (conn == NULL) {
        return;
    }
    if (conn->is_lost || conn->append.is_open) {
        /* mysql_close says good-bye, which a server that does not read could hold up */
        mariadb_interrupt(conn);
    }
    mysql_close(&conn->mysql);
    free(conn->append.failure);
    free(conn);
}
