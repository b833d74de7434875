/* Statements that are not appends. */
#include "adapters/odbc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Reads every row of every result. No data: no row was changed. */
enum status odbc_take_rows(struct adapter_conn *conn, SQLHSTMT statement, SQLRETURN result,
                           odbc_take_row take, void *context, struct error *error)
{
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

/* For arguments that ODBC declares writable and does not write to. */
static SQLCHAR *borrow(const char *text)
{
    union {
        const char *text;
        SQLCHAR *argument;
    } borrowed = {text};
    return borrowed.argument;
}

enum status odbc_run(struct adapter_conn *conn, const char *sql, const struct batch *parameters,
                     odbc_take_row take, void *context, struct error *error)
{
    struct odbc_parameters bound = {0};
    SQLHSTMT statement = NULL;
    enum status status = STATUS_OK;
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, conn->connection, &statement))) {
        return odbc_call_error(conn, NULL, error);
    }
    if (parameters != NULL) {
        status = odbc_parameters_init(&bound, parameters, error);
    }
    if (status == STATUS_OK && !odbc_parameters_bind(&bound, statement, 1, 0)) {
        status = odbc_call_error(conn, statement, error);
    }
    if (status == STATUS_OK) {
        status = odbc_take_rows(conn, statement, SQLExecDirect(statement, borrow(sql), SQL_NTS),
                                take, context, error);
    }
    SQLFreeHandle(SQL_HANDLE_STMT, statement);
    odbc_parameters_fini(&bound);
    return status;
}

static bool take_value(SQLHSTMT statement, void *context)
{
    odbc_get_text(statement, 1, context, ODBC_ANSWER_BYTES);
    return false;
}

enum status odbc_ask(struct adapter_conn *conn, const char *sql, char text[ODBC_ANSWER_BYTES],
                     struct error *error)
{
    text[0] = '\0';
    return odbc_run(conn, sql, NULL, take_value, text, error);
}

/* Where the rows of a statement go. */
struct reading {
    struct answer *answer;
    struct cell *cells; /* of one row; owned */
    char *texts;        /* ODBC_VALUE_BYTES for each; owned */
    size_t columns;
    bool is_over; /* nothing more is wanted */
    bool has_no_memory;
};

static bool make_cells(struct reading *reading, size_t columns)
{
    if (columns == reading->columns) {
        return true;
    }
    free(reading->cells);
    free(reading->texts);
    reading->columns = columns;
    reading->cells = calloc(columns, sizeof *reading->cells);
    reading->texts = calloc(columns, ODBC_VALUE_BYTES);
    reading->has_no_memory = reading->cells == NULL || reading->texts == NULL;
    return !reading->has_no_memory;
}

/* As text, because drivers make a number of anything. */
static bool take_row(SQLHSTMT statement, void *context)
{
    struct reading *reading = context;
    struct answer *answer = reading->answer;
    SQLSMALLINT columns = 0;
    answer->rows++;
    if (answer->take == NULL) {
        return true;
    }
    SQLNumResultCols(statement, &columns);
    if (!make_cells(reading, (size_t)columns)) {
        reading->is_over = true;
        return false;
    }
    for (unsigned i = 0; i < reading->columns; i++) {
        char *text = reading->texts + (size_t)i * ODBC_VALUE_BYTES;
        struct cell *cell = &reading->cells[i];
        cell->type = COLUMN_TEXT;
        cell->is_null = !odbc_get_text(statement, i + 1, text, ODBC_VALUE_BYTES);
        cell->as.text = (struct text_value){text, (uint32_t)strnlen(text, ODBC_VALUE_BYTES)};
    }
    reading->is_over = !answer->take(answer->context, reading->cells, reading->columns);
    return !reading->is_over;
}

/* Runs a script of the user's. Statements that begin or end a transaction are not sent: without
 * autocommit one begins by itself, and ODBC has a call that ends it. */
static enum status run_script(struct adapter_conn *conn, const char *sql, struct reading *reading,
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
            status = odbc_run(conn, buffer_text(&script.statement), NULL, take_row, reading, error);
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
    struct answer answer = {.take = NULL};
    return run_script(conn, sql, &(struct reading){.answer = &answer}, error);
}

/* Most drivers hold a whole result on this side. PostgreSQL's is asked for a cursor's rows instead,
 * some thousand at a time. */
static enum status read_cursor(struct adapter_conn *conn, const char *sql, struct reading *reading,
                               struct error *error)
{
    static const char cursor_sql[] = "declare append_numbers no scroll cursor for ";
    static const char fetch_sql[] = "fetch 10000 from append_numbers";
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
        before = reading->answer->rows;
        if (status == STATUS_OK) {
            status = odbc_run(conn, fetch_sql, NULL, take_row, reading, error);
        }
    } while (status == STATUS_OK && !reading->is_over && reading->answer->rows > before);
    return odbc_end(conn, status, error); /* a cursor ends with its transaction */
}

/* Unprepared: drivers prepare in a round trip of its own, and count(*) costs nothing to parse. */
enum status odbc_run_statement(struct adapter_conn *conn, const struct statement *statement,
                               const struct batch *parameters, struct answer *answer,
                               struct error *error)
{
    struct reading reading = {.answer = answer};
    enum status status;
    answer->rows = 0;
    if (statement->reads_numbers && conn->dialect == &dialect_postgresql) {
        status = read_cursor(conn, statement->sql, &reading, error);
    } else if (statement->reads_numbers || statement->is_prepared || parameters != NULL) {
        status = odbc_run(conn, statement->sql, parameters, take_row, &reading, error);
        status = odbc_end(conn, status, error);
    } else {
        status = run_script(conn, statement->sql, &reading, error);
    }
    free(reading.cells);
    free(reading.texts);
    return status == STATUS_OK && reading.has_no_memory ? odbc_memory_error(error) : status;
}
