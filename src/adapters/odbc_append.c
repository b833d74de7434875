/*
 * Appends: an INSERT that is prepared once and executed with the batch's own arrays.
 *
 * Parameters are bound for one call and the memory behind them is freed after it, so a waiting
 * session holds none.
 */
#include "adapters/odbc_conn.h"

#include <stdlib.h>

#include "adapters/odbc_bind.h"
#include "base/buffer.h"

/* Some servers take no more parameters in one statement (2,100), and each costs the driver memory
 * as long as the statement lives. */
enum {
    PARAMETERS_MAX = 2000
};

/* What came of one execution. */
struct outcome {
    SQLULEN processed; /* sets of parameters, as the driver counts */
    uint64_t inserted; /* rows, by the server's own counts */
    bool is_counted;   /* there was one */
};

void odbc_forget_inserts(struct adapter_conn *conn)
{
    for (size_t i = 0; i < ODBC_PREPARED_MAX; i++) {
        if (conn->inserts[i].statement != NULL) {
            SQLFreeHandle(SQL_HANDLE_STMT, conn->inserts[i].statement);
            conn->inserts[i].statement = NULL;
        }
    }
}

static void build_insert(struct buffer *sql, const struct table *table, size_t rows, char quote)
{
    const char *separator = " (";
    size_t columns = 0;

    buffer_add_text(sql, "insert into ");
    buffer_add_identifier(sql, table->name, quote);
    for (size_t i = 0; i < table->column_count; i++) {
        if (!table->columns[i].is_generated) {
            buffer_add_text(sql, separator);
            buffer_add_identifier(sql, table->columns[i].name, quote);
            separator = ", ";
            columns++;
        }
    }
    buffer_add_text(sql, ") values ");
    for (size_t i = 0; i < rows * columns; i++) {
        buffer_add_text(sql, i % columns > 0 ? ",?" : i > 0 ? "),(?" : "(?");
    }
    buffer_add_text(sql, ")");
}

static enum status prepare(struct adapter_conn *conn, struct odbc_insert *insert,
                           const struct table *table, size_t rows, struct error *error)
{
    struct buffer sql;
    enum status status = STATUS_OK;

    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, conn->connection, &insert->statement))) {
        insert->statement = NULL;
        return odbc_call_error(conn, NULL, error);
    }
    buffer_init(&sql);
    build_insert(&sql, table, rows, conn->quote);
    if (buffer_failed(&sql)) {
        status = odbc_memory_error(error);
    } else if (!SQL_SUCCEEDED(SQLPrepare(insert->statement, (SQLCHAR *)sql.bytes, SQL_NTS))) {
        status = odbc_call_error(conn, insert->statement, error);
    }
    buffer_fini(&sql);
    insert->table = table;
    insert->rows = rows;
    return status;
}

/* The statement for so many rows of the table, prepared when there is none yet. */
static enum status find_insert(struct adapter_conn *conn, const struct table *table, size_t rows,
                               SQLHSTMT *statement, struct error *error)
{
    for (size_t i = 0; i < ODBC_PREPARED_MAX; i++) {
        const struct odbc_insert *insert = &conn->inserts[i];
        if (insert->statement != NULL && insert->table == table && insert->rows == rows) {
            *statement = insert->statement;
            return STATUS_OK;
        }
    }
    struct odbc_insert *insert = &conn->inserts[conn->next_insert++ % ODBC_PREPARED_MAX];
    if (insert->statement != NULL) {
        SQLFreeHandle(SQL_HANDLE_STMT, insert->statement);
        insert->statement = NULL;
    }
    const enum status status = prepare(conn, insert, table, rows, error);
    *statement = insert->statement;
    return status;
}

/* Adds up the row counts of every result that an array left. */
static SQLRETURN count_inserted(SQLHSTMT statement, struct outcome *outcome)
{
    SQLRETURN result = SQL_SUCCESS;
    while (SQL_SUCCEEDED(result)) {
        SQLLEN rows = -1;
        if (SQL_SUCCEEDED(SQLRowCount(statement, &rows)) && rows >= 0) {
            outcome->inserted += (uint64_t)rows;
            outcome->is_counted = true;
        }
        result = SQLMoreResults(statement);
    }
    return result;
}

static enum status execute(struct adapter_conn *conn, SQLHSTMT statement, size_t sets,
                           struct outcome *outcome, struct error *error)
{
    SQLSetStmtAttr(statement, SQL_ATTR_PARAMS_PROCESSED_PTR, &outcome->processed, 0);
    const SQLRETURN result = SQLExecute(statement);
    if (result == SQL_NO_DATA) {
        outcome->is_counted = true; /* every row was left out */
        return STATUS_OK;
    }
    if (!SQL_SUCCEEDED(result) || count_inserted(statement, outcome) != SQL_NO_DATA) {
        return odbc_call_error(conn, statement, error);
    }
    if (sets > 1 && outcome->processed < sets) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "the driver took an array of rows and executed only some: --method row");
        return STATUS_FATAL;
    }
    return STATUS_OK;
}

static enum status run_statement(struct adapter_conn *conn, SQLHSTMT statement,
                                 const struct odbc_columns *columns, size_t first, size_t rows,
                                 struct error *error)
{
    const bool is_array = conn->method == ODBC_ARRAY;
    struct outcome outcome = {0, 0, false};
    SQLUSMALLINT states[ROW_BATCH_MAX];
    bool is_bound = true;

    if (is_array) {
        SQLSetStmtAttr(statement, SQL_ATTR_PARAM_BIND_TYPE, SQL_PARAM_BIND_BY_COLUMN, 0);
        SQLSetStmtAttr(statement, SQL_ATTR_PARAM_STATUS_PTR, states, 0);
        is_bound =
            SQL_SUCCEEDED(SQLSetStmtAttr(statement, SQL_ATTR_PARAMSET_SIZE, odbc_number(rows), 0));
        is_bound = is_bound && odbc_columns_bind(columns, statement, 1, first);
    }
    for (size_t row = 0; row < rows && is_bound && !is_array; row++) {
        is_bound = odbc_columns_bind(columns, statement, 1 + row * columns->count, first + row);
    }
    if (!is_bound) {
        return odbc_call_error(conn, statement, error);
    }
    const enum status status = execute(conn, statement, is_array ? rows : 1, &outcome, error);
    SQLSetStmtAttr(statement, SQL_ATTR_PARAMS_PROCESSED_PTR, NULL, 0);
    if (is_array) {
        SQLSetStmtAttr(statement, SQL_ATTR_PARAM_STATUS_PTR, NULL, 0);
    }
    if (status == STATUS_OK) {
        conn->inserted_rows += outcome.is_counted ? outcome.inserted : rows;
    }
    return status;
}

static size_t rows_at_once(const struct adapter_conn *conn, size_t columns)
{
    switch (conn->method) {
    case ODBC_ARRAY:
        return ROW_BATCH_MAX;
    case ODBC_INSERT:
        return columns < PARAMETERS_MAX ? PARAMETERS_MAX / columns : 1;
    case ODBC_ROW:
        break;
    }
    return 1;
}

/* Undoes the append, whose error is recorded. A statement that failed is not used again: what it
 * was prepared for may have changed. */
static enum status give_up(struct adapter_conn *conn, enum status status, struct error *error)
{
    conn->is_append_open = false;
    odbc_forget_inserts(conn);
    return odbc_end(conn, status, error);
}

static bool take_number(SQLHSTMT statement, void *context)
{
    int64_t *number = context;
    *number = odbc_get_number(statement, 1);
    return false;
}

/* Rows that stay of the statement that just failed in a table that cannot undo: those before the
 * failing one, whose number MariaDB tells since version 10.7. */
static uint64_t count_kept(struct adapter_conn *conn)
{
    int64_t failed = 0;
    if (conn->dialect == ODBC_MARIADB &&
        odbc_run(conn, "get diagnostics condition 1 @append_row = row_number", NULL, NULL, NULL,
                 NULL) == STATUS_OK) {
        odbc_run(conn, "select @append_row", NULL, take_number, &failed, NULL);
    }
    return failed > 0 ? (uint64_t)(failed - 1) : 0;
}

/* Rows that stay are to be reported, which append_close alone can do: it gets the error, and what
 * is still to come of the append is not sent. */
static enum status put_off(struct adapter_conn *conn, enum status status, struct error *error)
{
    conn->put_off = malloc(sizeof *conn->put_off);
    if (conn->put_off == NULL) {
        return give_up(conn, status, error);
    }
    conn->inserted_rows += count_kept(conn);
    *conn->put_off = *error;
    error_clear(error);
    return STATUS_OK;
}

static enum status report_put_off(struct adapter_conn *conn, uint64_t *accepted,
                                  struct error *error)
{
    const struct error reason = *conn->put_off;
    free(conn->put_off);
    conn->put_off = NULL;
    error_set(error, reason.kind, reason.native_code, reason.sqlstate, "%s", reason.text);
    *accepted = conn->inserted_rows;
    return give_up(conn, STATUS_REJECTED, error);
}

enum status odbc_append_open(struct adapter_conn *conn, const struct table *table,
                             struct error *error)
{
    (void)error;
    conn->append_to = table;
    conn->inserted_rows = 0;
    conn->has_rows = false;
    conn->is_append_open = true;
    return STATUS_OK;
}

enum status odbc_append_rows(struct adapter_conn *conn, const struct batch *batch,
                             struct error *error)
{
    struct odbc_columns columns;
    enum status status = STATUS_OK;

    conn->has_rows = true;
    if (conn->put_off != NULL) {
        return STATUS_OK;
    }
    if (!odbc_columns_init(&columns, batch)) {
        return give_up(conn, odbc_memory_error(error), error);
    }
    if (columns.count == 0) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "no column of %.200s can be written",
                  batch->table->name);
        status = STATUS_FATAL;
    }
    const size_t most = columns.count > 0 ? rows_at_once(conn, columns.count) : 1;
    for (size_t first = 0; first < batch->row_count && status == STATUS_OK; first += most) {
        const size_t left = batch->row_count - first;
        const size_t rows = left < most ? left : most;
        SQLHSTMT statement = NULL;
        status = find_insert(conn, batch->table, conn->method == ODBC_ARRAY ? 1 : rows, &statement,
                             error);
        if (status == STATUS_OK) {
            status = run_statement(conn, statement, &columns, first, rows, error);
        }
    }
    odbc_columns_fini(&columns);
    if (status == STATUS_REJECTED && batch->table->keeps_failed_rows) {
        return put_off(conn, status, error);
    }
    return status == STATUS_OK ? STATUS_OK : give_up(conn, status, error);
}

/* An append without rows sent nothing, and would not notice that the server is gone. */
static enum status ask_server(struct adapter_conn *conn, struct error *error)
{
    struct buffer sql;
    enum status status = STATUS_OK;
    buffer_init(&sql);
    buffer_add_text(&sql, "select 1 from ");
    buffer_add_identifier(&sql, conn->append_to->name, conn->quote);
    buffer_add_text(&sql, " where 1 = 0");
    if (buffer_failed(&sql)) {
        status = odbc_memory_error(error);
    } else {
        status = odbc_run(conn, buffer_text(&sql), NULL, NULL, NULL, error);
    }
    buffer_fini(&sql);
    return status;
}

enum status odbc_append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error)
{
    *accepted = 0;
    conn->is_append_open = false;
    if (conn->put_off != NULL) {
        return report_put_off(conn, accepted, error);
    }
    enum status status = conn->has_rows ? STATUS_OK : ask_server(conn, error);
    status = odbc_end(conn, status, error);
    if (status != STATUS_OK) {
        odbc_forget_inserts(conn);
        return status;
    }
    *accepted = conn->inserted_rows;
    return STATUS_OK;
}
