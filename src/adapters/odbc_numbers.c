/*
 * Numbers of a query, row by row. They are read as text, because drivers make a number of anything.
 *
 * Most drivers hold a whole result on this side. PostgreSQL's is asked for a cursor's rows instead,
 * some thousand at a time.
 */
#include "adapters/odbc_conn.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/number_text.h"

static const char cursor_sql[] = "declare append_numbers no scroll cursor for ";
static const char fetch_sql[] = "fetch 10000 from append_numbers";

struct reading {
    size_t columns;
    int64_t *values; /* of one row */
    bool (*take)(void *context, const int64_t *values);
    void *context;
    bool is_over;  /* nothing more is wanted */
    uint64_t rows; /* seen */
    enum status status;
    struct error error;
};

static enum status read_column(SQLHSTMT statement, size_t column, int64_t *value,
                               struct error *error)
{
    char text[48];
    SQLLEN length = SQL_NULL_DATA;
    const SQLRETURN result = SQLGetData(statement, (SQLUSMALLINT)(column + 1), SQL_C_CHAR, text,
                                        (SQLLEN)sizeof text, &length);
    if (!SQL_SUCCEEDED(result) || length == SQL_NULL_DATA) {
        return number_text_refuse(column, NULL, 0, error);
    }
    const size_t bytes = strnlen(text, sizeof text);
    return number_text_parse(text, bytes, value) ? STATUS_OK
                                                 : number_text_refuse(column, text, bytes, error);
}

static enum status read_row(const struct reading *reading, SQLHSTMT statement, struct error *error)
{
    SQLSMALLINT found = 0;
    if (reading->rows == 1 && SQL_SUCCEEDED(SQLNumResultCols(statement, &found)) &&
        (size_t)found != reading->columns) {
        return number_text_refuse_columns((size_t)found, reading->columns, error);
    }
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < reading->columns; i++) {
        status = read_column(statement, i, &reading->values[i], error);
    }
    return status;
}

static bool take_row(SQLHSTMT statement, void *context)
{
    struct reading *reading = context;
    reading->rows++;
    reading->status = read_row(reading, statement, &reading->error);
    reading->is_over =
        reading->status != STATUS_OK || !reading->take(reading->context, reading->values);
    return !reading->is_over;
}

static enum status read_cursor(struct adapter_conn *conn, const char *sql, struct reading *reading,
                               struct error *error)
{
    struct buffer declare;
    buffer_init(&declare);
    buffer_add_text(&declare, cursor_sql);
    buffer_add_text(&declare, sql);
    enum status status = buffer_failed(&declare)
                             ? odbc_memory_error(error)
                             : odbc_run(conn, buffer_text(&declare), NULL, NULL, NULL, error);
    buffer_fini(&declare);
    uint64_t before;
    do {
        before = reading->rows;
        if (status == STATUS_OK) {
            status = odbc_run(conn, fetch_sql, NULL, take_row, reading, error);
        }
    } while (status == STATUS_OK && !reading->is_over && reading->rows > before);
    return status;
}

enum status odbc_read_numbers(struct adapter_conn *conn, const char *sql, size_t columns,
                              bool (*take)(void *context, const int64_t *values), void *context,
                              struct error *error)
{
    struct reading reading = {.columns = columns, .take = take, .context = context};
    error_clear(&reading.error);
    reading.values = calloc(columns, sizeof *reading.values);
    if (reading.values == NULL) {
        return odbc_memory_error(error);
    }
    enum status status = conn->dialect == ODBC_POSTGRESQL
                             ? read_cursor(conn, sql, &reading, error)
                             : odbc_run(conn, sql, NULL, take_row, &reading, error);
    free(reading.values);
    if (status == STATUS_OK && reading.status != STATUS_OK) {
        *error = reading.error;
        status = reading.status;
    }
    return odbc_end(conn, status, error); /* a cursor ends with its transaction */
}
