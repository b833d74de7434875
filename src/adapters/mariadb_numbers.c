/* Numbers of a query, row by row as they come: nothing of the result is held on this side. */
#include <stdlib.h>
#include <string.h>

#include "adapters/mariadb_conn.h"
#include "base/number_text.h"

static enum status read_row(MYSQL_RES *result, MYSQL_ROW row, size_t columns, int64_t *values,
                            struct error *error)
{
    const unsigned long *lengths = mysql_fetch_lengths(result);
    for (size_t i = 0; i < columns; i++) {
        if (row[i] == NULL || !number_text_parse(row[i], lengths[i], &values[i])) {
            return number_text_refuse(i, row[i], lengths[i], error);
        }
    }
    return STATUS_OK;
}

static enum status read_rows(struct adapter_conn *conn, MYSQL_RES *result, size_t columns,
                             bool (*take)(void *context, const int64_t *values), void *context,
                             struct error *error)
{
    int64_t *const values = calloc(columns, sizeof *values);
    enum status status = STATUS_OK;
    MYSQL_ROW row = NULL;
    if (values == NULL) {
        return mariadb_memory_error(error);
    }
    while ((row = mysql_fetch_row(result)) != NULL) {
        status = read_row(result, row, columns, values, error);
        if (status != STATUS_OK || !take(context, values)) {
            break;
        }
    }
    free(values);
    if (row == NULL && mysql_errno(&conn->mysql) != 0) {
        return mariadb_call_error(conn, error);
    }
    return status;
}

enum status mariadb_read_numbers(struct adapter_conn *conn, const char *sql, size_t columns,
                                 bool (*take)(void *context, const int64_t *values), void *context,
                                 struct error *error)
{
    MYSQL *const mysql = &conn->mysql;
    if (mysql_real_query(mysql, sql, (unsigned long)strlen(sql)) != 0) {
        return mariadb_call_error(conn, error);
    }
    MYSQL_RES *const result = mysql_use_result(mysql);
    if (result == NULL && mysql_errno(mysql) != 0) {
        return mariadb_call_error(conn, error);
    }
    const size_t found = mysql_field_count(mysql);
    enum status status = result != NULL && found == columns
                             ? read_rows(conn, result, columns, take, context, error)
                             : number_text_refuse_columns(found, columns, error);
    mysql_free_result(result); /* reads what was not wanted, so that the next statement can go */
    return status;
}
