/* Statements that are not appends. */
#include "adapters/odbc_conn.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/sql_script.h"

enum status odbc_end(struct adapter_conn *conn, enum status status, struct error *error)
{
    if (status == STATUS_LOST) {
        return status;
    }
    if (status == STATUS_OK) {
        if (SQL_SUCCEEDED(SQLEndTran(SQL_HANDLE_DBC, conn->connection, SQL_COMMIT))) {
            return STATUS_OK;
        }
        status = odbc_call_error(conn, NULL, error);
        if (status == STATUS_LOST) {
            return status;
        }
    }
    if (!SQL_SUCCEEDED(SQLEndTran(SQL_HANDLE_DBC, conn->connection, SQL_ROLLBACK))) {
        struct error second;
        error_clear(&second);
        if (odbc_call_error(conn, NULL, &second) == STATUS_LOST) {
            error_set(error, second.kind, second.native_code, second.sqlstate, "%s", second.text);
            return STATUS_LOST;
        }
    }
    return status;
}

bool odbc_get_text(SQLHSTMT statement, unsigned column, char *text, size_t size)
{
    SQLLEN length = SQL_NULL_DATA;
    text[0] = '\0';
    return SQL_SUCCEEDED(SQLGetData(statement, (SQLUSMALLINT)column, SQL_C_CHAR, text, (SQLLEN)size,
                                    &length)) &&
           length != SQL_NULL_DATA;
}

int64_t odbc_get_number(SQLHSTMT statement, unsigned column)
{
    SQLBIGINT number = 0;
    SQLLEN length = SQL_NULL_DATA;
    const SQLRETURN result =
        SQLGetData(statement, (SQLUSMALLINT)column, SQL_C_SBIGINT, &number, 0, &length);
    return SQL_SUCCEEDED(result) && length != SQL_NULL_DATA ? (int64_t)number : 0;
}

/* Reads every row of every result. */
static enum status drain(struct adapter_conn *conn, SQLHSTMT statement, odbc_take_row take,
                         void *context, struct error *error)
{
    SQLRETURN result = SQL_SUCCESS;
    while (SQL_SUCCEEDED(result)) {
        SQLSMALLINT columns = 0;
        bool is_wanted = take != NULL;
        SQLNumResultCols(statement, &columns);
        while (columns > 0) {
            result = SQLFetch(statement);
            if (!SQL_SUCCEEDED(result)) {
                break;
            }
            is_wanted = is_wanted && take(statement, context);
        }
        if (result == SQL_ERROR) {
            break;
        }
        result = SQLMoreResults(statement);
    }
    return result == SQL_NO_DATA ? STATUS_OK : odbc_call_error(conn, statement, error);
}

static bool has_succeeded(SQLRETURN result)
{
    return SQL_SUCCEEDED(result) || result == SQL_NO_DATA; /* no row was changed */
}

enum status odbc_take_rows(struct adapter_conn *conn, SQLHSTMT statement, SQLRETURN result,
                           odbc_take_row take, void *context, struct error *error)
{
    if (!has_succeeded(result)) {
        return odbc_call_error(conn, statement, error);
    }
    return result == SQL_NO_DATA ? STATUS_OK : drain(conn, statement, take, context, error);
}

/* For arguments that ODBC declares writable and does not write to. */
static SQLCHAR *borrow(const char *text)
{
    union {
        const char *text;
        SQLCHAR *argument;
    } borrowed = {text};
    return borrowed.argument;
}

enum status odbc_run(struct adapter_conn *conn, const char *sql, const char *parameter,
                     odbc_take_row take, void *context, struct error *error)
{
    SQLHSTMT statement = NULL;
    SQLRETURN result = SQL_SUCCESS;
    SQLLEN length = SQL_NTS;
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, conn->connection, &statement))) {
        return odbc_call_error(conn, NULL, error);
    }
    if (parameter != NULL) {
        const SQLULEN size = strlen(parameter) + 1;
        result = SQLBindParameter(statement, 1, SQL_PARAM_INPUT, SQL_C_CHAR, SQL_VARCHAR, size, 0,
                                  borrow(parameter), (SQLLEN)size, &length);
    }
    if (SQL_SUCCEEDED(result)) {
        result = SQLExecDirect(statement, borrow(sql), SQL_NTS);
    }
    const enum status status = odbc_take_rows(conn, statement, result, take, context, error);
    SQLFreeHandle(SQL_HANDLE_STMT, statement);
    return status;
}

static bool count_row(SQLHSTMT statement, void *context)
{
    uint64_t *rows = context;
    (void)statement;
    ++*rows;
    return true;
}

/* Runs a script of the user's. Statements that begin or end a transaction are not sent: without
 * autocommit one begins by itself, and ODBC has a call that ends it. */
static enum status run_script(struct adapter_conn *conn, const char *sql, uint64_t *rows,
                              struct error *error)
{
    struct sql_script script;
    enum status status = STATUS_OK;
    bool is_begun = false;

    sql_script_init(&script, sql);
    while (status == STATUS_OK && sql_script_next(&script)) {
        switch (script.kind) {
        case SQL_SCRIPT_BEGIN:
            is_begun = true;
            break;
        case SQL_SCRIPT_COMMIT:
            is_begun = false;
            status = odbc_end(conn, STATUS_OK, error);
            break;
        case SQL_SCRIPT_ROLLBACK:
            is_begun = false;
            odbc_end(conn, STATUS_REJECTED, NULL);
            break;
        case SQL_SCRIPT_OTHER:
            status = odbc_run(conn, buffer_text(&script.statement), NULL, count_row, rows, error);
            break;
        }
        if (buffer_failed(&script.statement)) {
            status = odbc_memory_error(error);
        }
    }
    sql_script_fini(&script);
    if (status == STATUS_OK && is_begun) {
        error_set(error, ERROR_USAGE, 0, NULL, "the statement leaves a transaction open");
        status = STATUS_FATAL;
    }
    return odbc_end(conn, status, error);
}

enum status odbc_execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    uint64_t rows = 0;
    return run_script(conn, sql, &rows, error);
}

enum status odbc_query(struct adapter_conn *conn, const char *sql, uint64_t *rows,
                       struct error *error)
{
    *rows = 0;
    return run_script(conn, sql, rows, error);
}

struct counted {
    uint64_t rows;
    bool is_there;
};

static bool take_count(SQLHSTMT statement, void *context)
{
    struct counted *counted = context;
    counted->rows = (uint64_t)odbc_get_number(statement, 1);
    counted->is_there = true;
    return false;
}

/* Unprepared: drivers prepare in a round trip of its own, and the statement costs nothing to parse.
 */
enum status odbc_count(struct adapter_conn *conn, const struct table *table, uint64_t *rows,
                       struct error *error)
{
    struct counted counted = {0, false};
    struct buffer sql;
    enum status status = STATUS_OK;

    buffer_init(&sql);
    buffer_add_text(&sql, "select count(*) from ");
    buffer_add_identifier(&sql, table->name, conn->quote);
    if (buffer_failed(&sql)) {
        status = odbc_memory_error(error);
    } else {
        status = odbc_run(conn, buffer_text(&sql), NULL, take_count, &counted, error);
    }
    buffer_fini(&sql);
    if (status == STATUS_OK && !counted.is_there) {
        error_set(error, ERROR_SERVER, 0, NULL, "count(*) came without a number");
        status = STATUS_REJECTED;
    }
    status = odbc_end(conn, status, error);
    if (status == STATUS_OK) {
        *rows = counted.rows;
    }
    return status;
}
