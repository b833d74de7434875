/* Statements as text, and their results. */
#include "adapters/mariadb_conn.h"

#include <string.h>

enum status mariadb_drain(struct adapter_conn *conn, const char *sql, uint64_t *rows,
                          struct error *error)
{
    MYSQL *const mysql = &conn->mysql;
    int more = mysql_real_query(mysql, sql, (unsigned long)strlen(sql));

    /* Row by row: a large result must not be held in thousands of sessions at once. */
    while (more == 0) {
        MYSQL_RES *const result = mysql_use_result(mysql);
        if (result != NULL) {
            while (mysql_fetch_row(result) != NULL) {
                ++*rows;
            }
            const bool has_failed = mysql_errno(mysql) != 0;
            mysql_free_result(result);
            if (has_failed) {
                return mariadb_call_error(conn, error);
            }
        } else if (mysql_field_count(mysql) > 0) {
            return mariadb_call_error(conn, error);
        }
        more = mysql_next_result(mysql);
    }
    return more > 0 || mysql_errno(mysql) != 0 ? mariadb_call_error(conn, error) : STATUS_OK;
}

enum status mariadb_run(struct adapter_conn *conn, const char *sql, struct error *error)
{
    uint64_t rows = 0;
    return mariadb_drain(conn, sql, &rows, error);
}

enum status mariadb_fetch(struct adapter_conn *conn, const char *sql, MYSQL_RES **result,
                          struct error *error)
{
    *result = NULL;
    if (mysql_real_query(&conn->mysql, sql, (unsigned long)strlen(sql)) != 0) {
        return mariadb_call_error(conn, error);
    }
    *result = mysql_store_result(&conn->mysql);
    return *result != NULL ? STATUS_OK : mariadb_call_error(conn, error);
}

enum status mariadb_end_transaction(struct adapter_conn *conn, enum status status,
                                    struct error *error)
{
    if (status == STATUS_LOST || (conn->mysql.server_status & SERVER_STATUS_IN_TRANS) == 0) {
        return status;
    }
    if (status == STATUS_OK) {
        error_set(error, ERROR_USAGE, 0, NULL, "the statement leaves a transaction open");
        status = STATUS_FATAL;
    }
    return mariadb_run(conn, "rollback", error) == STATUS_LOST ? STATUS_LOST : status;
}

void mariadb_add_literal(const struct adapter_conn *conn, struct buffer *sql, const char *text,
                         size_t length)
{
    const bool has_escapes = (conn->mysql.server_status & SERVER_STATUS_NO_BACKSLASH_ESCAPES) == 0;
    size_t done = 0;

    buffer_add(sql, "'", 1);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'' || (text[i] == '\\' && has_escapes)) {
            buffer_add(sql, text + done, i - done);
            buffer_add(sql, &text[i], 1); /* doubled */
            done = i;
        }
    }
    buffer_add(sql, text + done, length - done);
    buffer_add(sql, "'", 1);
}
