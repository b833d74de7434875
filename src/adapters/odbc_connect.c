/* Connecting through the driver manager, and disconnecting. */
#include "adapters/odbc_conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/odbc_string.h"
#include "base/deadline.h"

enum {
    COMPLETED_BYTES = 2048
};

static enum status check_target(const struct target *target, struct error *error)
{
    if (target->path == NULL || target->path[0] == '\0') {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "no data source was given: odbc:DSN=NAME or odbc:Driver={NAME};Server=...");
        return STATUS_FATAL;
    }
    const char *fault = odbc_string_fault(target->path);
    if (fault != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "the connection string is not complete: %s; write odbc:DSN=NAME or "
                  "odbc:Driver={NAME};Server=...",
                  fault);
        return STATUS_FATAL;
    }
    if (target->host != NULL || target->port != 0) {
        error_set(
            error, ERROR_USAGE, 0, NULL,
            "ODBC takes host and port in the connection string: odbc:...;Server=...;Port=...");
        return STATUS_FATAL;
    }
    if (target->query != NULL && target->query[0] != '\0') {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "ODBC takes its options in the connection string, and no URL parameters");
        return STATUS_FATAL;
    }
    return STATUS_OK;
}

/* Of the program's pooling nothing is wanted: a connect that is measured must be one. unixODBC goes
 * by odbcinst.ini alone there, other managers by this attribute. */
static enum status allocate(struct adapter_conn *conn, struct error *error)
{
    SQLSetEnvAttr(NULL, SQL_ATTR_CONNECTION_POOLING, odbc_number(SQL_CP_OFF), 0);
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_ENV, NULL, &conn->environment))) {
        conn->environment = NULL;
        return odbc_memory_error(error);
    }
    SQLSetEnvAttr(conn->environment, SQL_ATTR_ODBC_VERSION, odbc_number(SQL_OV_ODBC3), 0);
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_DBC, conn->environment, &conn->connection))) {
        conn->connection = NULL;
        return odbc_memory_error(error);
    }
    return STATUS_OK;
}

/* The standard's attribute for the time, and the key of drivers that have it for one step of the
 * connect only; a key that a driver does not know it passes over. */
static void add_timeout(struct buffer *text, const struct target *target)
{
    static const char *const keys[] = {"CONN_TIMEOUT", NULL};
    char value[16];
    if (!odbc_string_find(buffer_text(text), keys, value, sizeof value)) {
        buffer_add_format(text, "%s=%u;", keys[0], target->connect_timeout_s);
    }
}

static enum status connect_driver(struct adapter_conn *conn, const struct target *target,
                                  char *completed, struct error *error)
{
    struct buffer text;
    SQLSMALLINT length = 0;
    enum status status = STATUS_OK;

    buffer_init(&text);
    odbc_string_build(&text, target);
    add_timeout(&text, target);
    if (buffer_failed(&text)) {
        buffer_fini(&text);
        return odbc_memory_error(error);
    }
    SQLSetConnectAttr(conn->connection, SQL_ATTR_LOGIN_TIMEOUT,
                      odbc_number(target->connect_timeout_s), 0);
    completed[0] = '\0';
    client_socket_watch(&conn->socket);
    const SQLRETURN result =
        SQLDriverConnect(conn->connection, NULL, (SQLCHAR *)text.bytes, SQL_NTS,
                         (SQLCHAR *)completed, COMPLETED_BYTES, &length, SQL_DRIVER_NOPROMPT);
    client_socket_unwatch();
    if (SQL_SUCCEEDED(result)) {
        conn->is_connected = true;
    } else {
        status = odbc_connect_error(conn->connection, error);
    }
    buffer_fini(&text);
    return status;
}

/* A driver may lose the server in this call, too. */
static enum status begin_transactions(struct adapter_conn *conn, struct error *error)
{
    if (SQL_SUCCEEDED(SQLSetConnectAttr(conn->connection, SQL_ATTR_AUTOCOMMIT,
                                        odbc_number(SQL_AUTOCOMMIT_OFF), 0))) {
        return STATUS_OK;
    }
    const enum status status = odbc_call_error(conn, NULL, error);
    return status == STATUS_REJECTED ? STATUS_FATAL : status;
}

/* Connects and learns what there is to know, within the time allowed for a connect. */
static enum status connect_in_time(struct adapter_conn *conn, const struct target *target,
                                   struct error *error)
{
    char completed[COMPLETED_BYTES];
    struct deadline deadline;
    struct error failure;

    error_clear(&failure);
    enum status status = deadline_begin(&deadline, &conn->socket, target->connect_timeout_s,
                                        target->is_cancelled, error);
    if (status != STATUS_OK) {
        return status;
    }
    status = connect_driver(conn, target, completed, &failure);
    if (status == STATUS_OK) {
        status = odbc_learn(conn, target, completed, &failure);
    }
    if (status == STATUS_OK) {
        status = begin_transactions(conn, &failure);
    }
    const enum deadline_result kept = deadline_end(&deadline);
    if (kept == DEADLINE_CANCELLED) {
        error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted while connecting");
        return STATUS_LOST;
    }
    if (kept == DEADLINE_PASSED) {
        error_set(error, ERROR_TIMEOUT, 0, NULL, "no answer within %u s",
                  target->connect_timeout_s);
        return STATUS_LOST;
    }
    if (status != STATUS_OK) {
        *error = failure;
    }
    return status;
}

enum status odbc_open(const struct target *target, struct adapter_conn **conn, struct error *error)
{
    *conn = NULL;
    enum status status = check_target(target, error);
    if (status != STATUS_OK) {
        return status;
    }
    struct adapter_conn *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return odbc_memory_error(error);
    }
    client_socket_init(&made->socket);
    made->schema = target->schema;
    status = allocate(made, error);
    if (status == STATUS_OK) {
        status = connect_in_time(made, target, error);
    }
    if (status != STATUS_OK) {
        odbc_close(made);
        return status == STATUS_REJECTED ? STATUS_LOST : status;
    }
    *conn = made;
    return STATUS_OK;
}

void odbc_interrupt(struct adapter_conn *conn)
{
    atomic_store(&conn->is_interrupted, true);
    client_socket_shutdown(&conn->socket);
}

void odbc_close(struct adapter_conn *conn)
{
    if (conn == NULL) {
        return;
    }
    if (conn->is_append_open) {
        /* The roll-back would wait for a server that may not answer. Nothing but an append leaves
         * something to be rolled back. */
        client_socket_shutdown(&conn->socket);
        SQLEndTran(SQL_HANDLE_DBC, conn->connection, SQL_ROLLBACK);
    }
    client_socket_stop_reading(&conn->socket); /* whatever the driver does now, it does not wait */
    odbc_forget_inserts(conn);
    if (conn->is_connected) {
        SQLDisconnect(conn->connection);
    }
    if (conn->connection != NULL) {
        SQLFreeHandle(SQL_HANDLE_DBC, conn->connection);
    }
    if (conn->environment != NULL) {
        SQLFreeHandle(SQL_HANDLE_ENV, conn->environment);
    }
    free(conn->put_off);
    free(conn->host);
    free(conn->note);
    free(conn);
}
