/*
 * Bulk statements: one prepared INSERT of one row, executed for all rows of a batch at once
 * (COM_STMT_BULK_EXECUTE). The server reads no text and plans nothing.
 *
 * Connector/C's own way to it keeps 26 KiB in each connection for the statement and its parameters.
 * So the statement is prepared through Connector/C, its number is kept and its handle freed, and
 * the packet is sent as a command of its own. That takes three things which are in Connector/C's
 * headers but not among its documented functions; they are used in this file only:
 *
 *   mysql->methods->db_command   sends a command; what every call of the library does
 *   handle->stmt_id              the number that the server gave the statement
 *   mysql->stmts, handle->mysql  cut, as the library itself does when it loses a connection
 *
 * mariadb_bulk_is_possible says no where the library in use is not of the series of these headers.
 */
#include "adapters/mariadb_conn.h"

#include <string.h>

#include "adapters/mariadb_packet.h"

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

bool mariadb_bulk_is_possible(MYSQL *mysql, const char **why_not)
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
               : mariadb_call_error(conn, error);
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
        return mariadb_memory_error(error);
    }
    if (mysql_stmt_prepare(handle, buffer_text(sql), (unsigned long)sql->length) != 0) {
        const enum status status = mariadb_statement_error(conn, handle, error);
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

enum status mariadb_bulk_prepare(struct adapter_conn *conn, const struct table *table,
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
    buffer_add_text(&sql, "insert into ");
    buffer_add_identifier(&sql, table->name, '`');
    const size_t count = mariadb_add_columns(&sql, table);
    buffer_add_text(&sql, " values (?");
    for (size_t i = 1; i < count; i++) {
        buffer_add_text(&sql, ",?");
    }
    buffer_add_text(&sql, ")");
    status = prepare_text(conn, &sql, table, error);
    buffer_fini(&sql);
    return status;
}

enum status mariadb_bulk_send(struct adapter_conn *conn, const struct batch *batch,
                              struct error *error)
{
    struct buffer packet;
    enum status status = mariadb_bulk_prepare(conn, batch->table, error);

    if (status != STATUS_OK) {
        return status;
    }
    buffer_init(&packet);
    mariadb_add_bulk(&packet, conn->statement, batch);
    if (buffer_failed(&packet)) {
        status = mariadb_memory_error(error);
    } else {
        status = mariadb_check_length(batch->table, packet.length, error);
    }
    if (status == STATUS_OK) {
        status = send_command(conn, COM_STMT_BULK_EXECUTE, packet.bytes, packet.length, error);
    }
    buffer_fini(&packet);
    return status;
}
