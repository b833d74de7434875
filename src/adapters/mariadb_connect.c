/* Connecting to MariaDB and its kin, and disconnecting. */
#include "adapters/mariadb_conn.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SLICE_NS = 200000000,
    NO_SUCH_DATABASE = 1049,

    /* Of the stack of a connect only what is touched is memory. More than 32 MiB is never taken
     * from the heap by malloc, so that no hole stays behind in it when the stack is given back. */
    CONNECT_STACK_BYTES = 33 * 1024 * 1024,
};

/* Where rows go when nobody says where. */
static const char default_database[] = "append";

/* Why a connect was given up. */
enum wait {
    WAIT_READY,
    WAIT_TIMEOUT,
    WAIT_CANCELLED,
};

/* What a new handle has to be given before its options can stand for those of a connection is known
 * of this series of Connector/C only. */
static bool can_drop_connect_state(void)
{
    enum {
        KNOWN_SERIES = 303
    };
    return mysql_get_client_version() / 100 == KNOWN_SERIES;
}

/* Takes at most SLICE_NS off *left. */
static struct timespec take_slice(struct timespec *left)
{
    struct timespec slice = {.tv_sec = 0, .tv_nsec = SLICE_NS};
    if (left->tv_sec > 0 || left->tv_nsec >= SLICE_NS) {
        left->tv_nsec -= SLICE_NS;
        if (left->tv_nsec < 0) {
            left->tv_nsec += 1000000000L;
            left->tv_sec--;
        }
    } else {
        slice = *left;
        left->tv_nsec = 0;
    }
    return slice;
}

static void give_back(struct timespec *left, const struct timespec *slice)
{
    left->tv_nsec += slice->tv_nsec;
    left->tv_sec += left->tv_nsec / 1000000000L;
    left->tv_nsec %= 1000000000L;
}

/* The system call, unlike the C library's function, counts its time down: the time allowed for a
 * connect stays one sum over all of its steps. Leaves in *events what Connector/C is to be told. */
static enum wait wait_for_socket(MYSQL *mysql, const struct target *target, struct timespec *left,
                                 int *events)
{
    struct pollfd wanted = {.fd = mysql_get_socket(mysql)};
    const int asked = *events;
    wanted.events = (short)(((asked & MYSQL_WAIT_READ) != 0 ? POLLIN : 0) |
                            ((asked & MYSQL_WAIT_WRITE) != 0 ? POLLOUT : 0) |
                            ((asked & MYSQL_WAIT_EXCEPT) != 0 ? POLLPRI : 0));
    while (left->tv_sec > 0 || left->tv_nsec > 0) {
        if (target->is_cancelled != NULL && target->is_cancelled()) {
            *events = MYSQL_WAIT_TIMEOUT;
            return WAIT_CANCELLED;
        }
        struct timespec slice = take_slice(left);
        const long ready = syscall(SYS_ppoll, &wanted, 1L, &slice, NULL, 0L);
        give_back(left, &slice);
        if (ready > 0 || (ready < 0 && errno != EINTR)) {
            *events = asked & ~MYSQL_WAIT_TIMEOUT;
            return WAIT_READY;
        }
    }
    *events = MYSQL_WAIT_TIMEOUT;
    return WAIT_TIMEOUT;
}

/* Connector/C ends what it has begun once it is told that time is over. */
static enum wait connect_in_time(MYSQL *mysql, const struct target *target,
                                 const struct mariadb_options *options, bool *is_connected)
{
    const unsigned long flags = CLIENT_MULTI_STATEMENTS;
    const unsigned timeout_s = target->connect_timeout_s > 0 ? target->connect_timeout_s : 1;
    struct timespec left = {.tv_sec = (time_t)timeout_s, .tv_nsec = 0};
    enum wait result = WAIT_READY;
    MYSQL *connected = NULL;

    int events =
        mysql_real_connect_start(&connected, mysql, options->host, target->user, target->password,
                                 target->database, target->port, options->socket, flags);
    while (events != 0) {
        if (result == WAIT_READY) {
            result = wait_for_socket(mysql, target, &left, &events);
        } else {
            events = MYSQL_WAIT_TIMEOUT;
        }
        events = mysql_real_connect_cont(&connected, mysql, events);
    }
    *is_connected = connected != NULL;
    return result;
}

static enum status wait_error(enum wait result, const struct target *target, struct error *error)
{
    if (result == WAIT_TIMEOUT) {
        error_set(error, ERROR_TIMEOUT, 0, NULL, "no answer from \"%.150s\" within %u s",
                  target->host != NULL ? target->host : "the server", target->connect_timeout_s);
    } else {
        error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted while connecting");
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

/* Connector/C keeps what it connected with: option texts, and the stack of a connect that does not
 * block. They are as much memory as all the rest of a connection, so they are exchanged for the
 * options of a new handle, with which the connection is an ordinary one that blocks. */
static enum status drop_connect_state(struct adapter_conn *conn, struct error *error)
{
    MYSQL *const mysql = &conn->mysql;
    const int sock = mysql_get_socket(mysql);
    const int flags = fcntl(sock, F_GETFL);
    const my_bool reads_answers = 0;
    MYSQL plain;

    if (!can_drop_connect_state()) {
        return STATUS_OK;
    }
    if (mysql_init(&plain) == NULL ||
        mysql_optionsv(&plain, MARIADB_OPT_SKIP_READ_RESPONSE, &reads_answers) != 0) {
        return mariadb_memory_error(error);
    }
    mariadb_load_install(&plain, conn->method == MARIADB_LOAD);
    const struct st_mysql_options connecting = mysql->options;
    mysql->options = plain.options;
    plain.options = connecting;
    mysql_close(&plain);
    /* back to the library's own, with this handle as its data */
    mysql_optionsv(mysql, MARIADB_OPT_STATUS_CALLBACK, NULL, NULL);
    if (flags < 0 || fcntl(sock, F_SETFL, flags & ~O_NONBLOCK) != 0) {
        error_set(error, ERROR_SYSTEM, errno, NULL, "fcntl: error %d", errno);
        return STATUS_LOST;
    }
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
    struct mariadb_options options;
    bool is_connected = false;

    enum status status = mariadb_set_options(&conn->mysql, target, &options, error);
    if (status != STATUS_OK) {
        return status;
    }
    mariadb_load_install(&conn->mysql, conn->method == MARIADB_LOAD);
    const size_t stack_bytes = can_drop_connect_state() ? CONNECT_STACK_BYTES : 0;
    mysql_optionsv(&conn->mysql, MYSQL_OPT_NONBLOCK, stack_bytes > 0 ? &stack_bytes : NULL);
    const enum wait result = connect_in_time(&conn->mysql, target, &options, &is_connected);
    if (result != WAIT_READY) {
        return wait_error(result, target, error);
    }
    if (!is_connected) {
        return mariadb_connect_error(conn, error);
    }
    if (options.socket == NULL) {
        watch_peer(mysql_get_socket(&conn->mysql));
    }
    status = drop_connect_state(conn, error);
    return status == STATUS_OK ? settle(conn, &options, error) : status;
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
