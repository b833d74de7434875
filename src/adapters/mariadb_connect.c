/* Connecting to MariaDB and its kin, and disconnecting. */
#include "adapters/mariadb_conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/deadline.h"

enum {
    NO_SUCH_DATABASE = 1049,
    SILENCE_S = 5, /* until the greeting; many servers look up the client's name before */
};

/* Where rows go when nobody says where. */
static const char default_database[] = "append";

static const char character_set[] = "utf8mb4";

/* A connect under way, settling included, and why it was given up. */
struct connecting {
    const struct target *target;
    struct timespec left; /* of the time allowed for all of its steps, */
    unsigned rest_s;      /* which has two parts: a server that is silent for the first is odd */
    bool has_answered;
    bool has_timed_out;
    bool was_cancelled;
};

/* The connect of this thread, NULL behind it. Connector/C tells its wait callback nothing but the
 * socket, and only the thread says for whom it waits. */
static _Thread_local struct connecting *connecting;

static int wait_by(struct connecting *attempt, struct pollfd *wanted)
{
    const struct target *target = attempt->target;
    int ready = deadline_wait(wanted, &attempt->left, target->is_cancelled);
    if (ready == 0 && attempt->rest_s > 0) {
        const bool is_silent = wanted->events == POLLIN && !attempt->has_answered;
        attempt->left = (struct timespec){.tv_sec = (time_t)attempt->rest_s};
        attempt->rest_s = 0;
        ready =
            is_silent && target->is_another != NULL && target->is_another(target->silence_context)
                ? DEADLINE_WAIT_CANCELLED
                : deadline_wait(wanted, &attempt->left, target->is_cancelled);
    }
    attempt->has_answered |= ready > 0 && wanted->events == POLLIN;
    attempt->was_cancelled |= ready == DEADLINE_WAIT_CANCELLED;
    attempt->has_timed_out |= ready == 0;
    return ready == DEADLINE_WAIT_CANCELLED ? 0 : ready;
}

/* Waits in place of Connector/C: while connecting it looks up now and then, and the time allowed is
 * that for all steps together. Later there is no time-out, which is -1, or 0. */
static int wait_for_socket(my_socket sock, my_bool is_read, int timeout_ms)
{
    struct pollfd wanted = {.fd = sock, .events = is_read ? POLLIN : POLLOUT};
    int ready;
    if (connecting != NULL) {
        ready = wait_by(connecting, &wanted);
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

static enum status settle_method(struct adapter_conn *conn, struct error *error)
{
    const char *why_not = NULL;
    if (conn->method != MARIADB_BULK || mariadb_bulk_is_possible(&conn->mysql, &why_not)) {
        return STATUS_OK;
    }
    if (conn->is_method_given) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "%s (%.60s): use --method insert or load",
                  why_not, mysql_get_server_info(&conn->mysql));
        return STATUS_FATAL;
    }
    conn->method = MARIADB_INSERT;
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
    return mariadb_call_error(conn, error);
}

/* What a connection needs before it is of use; usually nothing is sent. */
static enum status settle(struct adapter_conn *conn, const struct target *target,
                          const struct mariadb_options *options, struct error *error)
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
        status = mariadb_run(conn, "set autocommit = 1", error);
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

static enum status connect_and_settle(struct adapter_conn *conn, const struct target *target,
                                      const struct mariadb_options *options, struct error *error)
{
    if (mysql_real_connect(&conn->mysql, options->host, target->user, target->password,
                           target->database, target->port, options->socket,
                           CLIENT_MULTI_STATEMENTS) == NULL) {
        return mariadb_connect_error(conn, error);
    }
    return settle(conn, target, options, error);
}

/* OpenSSL waits by itself, as often as there is a byte. */
static enum status connect_watched(struct adapter_conn *conn, struct connecting *attempt,
                                   const struct mariadb_options *options, struct error *error)
{
    const struct target *target = attempt->target;
    struct client_socket socket;
    struct deadline deadline;
    client_socket_init(&socket);
    enum status status =
        deadline_begin(&deadline, &socket, target->connect_timeout_s, target->is_cancelled, error);
    if (status != STATUS_OK) {
        return status;
    }
    client_socket_watch(&socket);
    status = connect_and_settle(conn, target, options, error);
    client_socket_unwatch();
    const enum deadline_result kept = deadline_end(&deadline);
    attempt->was_cancelled |= kept == DEADLINE_CANCELLED;
    attempt->has_timed_out |= kept == DEADLINE_PASSED;
    return kept == DEADLINE_KEPT ? status : STATUS_LOST;
}

static enum status connect_to(struct adapter_conn *conn, const struct target *target,
                              struct error *error)
{
    MYSQL *const mysql = &conn->mysql;
    struct mariadb_options options;
    const unsigned timeout_s = target->connect_timeout_s;
    const unsigned first_s = timeout_s < SILENCE_S ? timeout_s : SILENCE_S;
    struct connecting attempt = {
        .target = target, .left = {.tv_sec = (time_t)first_s}, .rest_s = timeout_s - first_s};
    struct error failure;

    enum status status = mariadb_set_options(mysql, target, &options, error);
    if (status != STATUS_OK) {
        return status;
    }
    error_clear(&failure);
    mariadb_load_install(mysql, conn->method == MARIADB_LOAD);
    mysql_optionsv(mysql, MARIADB_OPT_IO_WAIT, wait_for_socket);
    connecting = &attempt;
    status = options.may_use_tls ? connect_watched(conn, &attempt, &options, &failure)
                                 : connect_and_settle(conn, target, &options, &failure);
    connecting = NULL;
    if (status != STATUS_OK) {
        if (attempt.has_timed_out || attempt.was_cancelled) {
            return give_up(&attempt, error);
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
    atomic_init(&made->sock, -1);
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

/* Not through Connector/C, whose socket the session's thread may be closing at this moment. */
void mariadb_interrupt(struct adapter_conn *conn)
{
    const int sock = atomic_load(&conn->sock);
    if (sock >= 0) {
        shutdown(sock, SHUT_RDWR);
    }
}

void mariadb_close(struct adapter_conn *conn)
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
