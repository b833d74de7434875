/* Connecting and disconnecting. */
#include "adapters/machbase_conn.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/deadline.h"

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

static enum status allocate(struct adapter_conn *conn, struct error *error)
{
    if (!machbase_succeeded(conn->call->SQLAllocEnv(&conn->environment))) {
        conn->environment = NULL;
        return machbase_memory_error(error);
    }
    if (!machbase_succeeded(conn->call->SQLAllocConnect(conn->environment, &conn->connection))) {
        conn->connection = NULL;
        return machbase_memory_error(error);
    }
    return STATUS_OK;
}

/* The library's own time limit covers but the first packet of TCP: a server that is silent after it
 * is waited for without an end. */
static enum status connect_by(struct adapter_conn *conn, const struct target *target,
                              const char *text, struct error *error)
{
    struct deadline deadline;
    short length = 0;
    const enum status status = deadline_begin(&deadline, &conn->socket, target->connect_timeout_s,
                                              target->is_cancelled, error);
    if (status != STATUS_OK) {
        return status;
    }
    client_socket_watch(&conn->socket);
    const machbase_result result =
        conn->call->SQLDriverConnect(conn->connection, NULL, machbase_text(text), MACHBASE_NTS,
                                     NULL, 0, &length, MACHBASE_NO_PROMPT);
    client_socket_unwatch();
    const enum deadline_result kept = deadline_end(&deadline);
    conn->is_connected = machbase_succeeded(result);
    if (kept == DEADLINE_CANCELLED) {
        error_set(error, ERROR_CANCELLED, 0, NULL, "the connect was given up");
        return STATUS_LOST;
    }
    if (kept == DEADLINE_PASSED) {
        error_set(error, ERROR_TIMEOUT, 0, NULL, "%.100s:%u: no answer in %u s", conn->host,
                  (unsigned)conn->port, target->connect_timeout_s);
        return STATUS_LOST;
    }
    return conn->is_connected ? STATUS_OK : machbase_connect_error(conn, error);
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
    snprintf(conn->host, sizeof conn->host, "%s", place.host);
    snprintf(conn->user, sizeof conn->user, "%s", place.user);
    conn->port = place.port;
    conn->has_delay = place.has_delay;
    buffer_init(&text);
    machbase_string_build(&text, &place, address, target->connect_timeout_s);
    status = buffer_failed(&text) ? machbase_memory_error(error)
                                  : connect_by(conn, target, buffer_text(&text), error);
    buffer_fini(&text);
    return status;
}

enum status machbase_open(const struct target *target, struct adapter_conn **conn,
                          struct error *error)
{
    *conn = NULL;
    if (target->library == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "Machbase's client library was not loaded");
        return STATUS_FATAL;
    }
    struct adapter_conn *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return machbase_memory_error(error);
    }
    made->library = target->library;
    made->call = &target->library->call;
    client_socket_init(&made->socket);
    enum status status = allocate(made, error);
    if (status == STATUS_OK) {
        status = connect_to(made, target, error);
    }
    if (status != STATUS_OK) {
        machbase_close(made);
        return status;
    }
    made->has_no_delay = !made->has_delay && client_socket_set_no_delay(&made->socket);
    *conn = made;
    return STATUS_OK;
}

void machbase_interrupt(struct adapter_conn *conn)
{
    client_socket_shutdown(&conn->socket);
}

void machbase_close(struct adapter_conn *conn)
{
    if (conn == NULL) {
        return;
    }
    if (conn->append.statement != NULL) {
        /* rows that are still on this side stay there */
        client_socket_shutdown(&conn->socket);
        conn->call->SQLFreeStmt(conn->append.statement, MACHBASE_DROP);
    }
    client_socket_stop_reading(&conn->socket); /* the library waits for an answer to good-bye */
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

void machbase_inspect(struct adapter_conn *conn, struct connection_info *info)
{
    snprintf(info->host, sizeof info->host, "%s", conn->host);
    info->port = conn->port;
    snprintf(info->user, sizeof info->user, "%s", conn->user);
    snprintf(info->note, sizeof info->note, "client library %.150s; %s", conn->library->path,
             conn->has_no_delay ? "append set TCP_NODELAY on its socket"
                                : "its socket has no TCP_NODELAY: packets may wait for 40 ms");
}
