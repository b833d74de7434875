/*
 * Appends: an INSERT that is prepared once and executed with the batch's own arrays.
 *
 * Parameters are bound for one call and the memory behind them is freed after it, so a waiting
 * session holds none.
 */
#include "adapters/odbc.h"

#include <stdlib.h>

/* Some servers take no more parameters in one statement (2,100), and each costs the driver memory
 * as long as the statement lives. */
enum {
    PARAMETERS_MAX = 2000
};

static void forget_insert(struct odbc_insert *insert)
{
    if (insert->statement != NULL) {
        SQLFreeHandle(SQL_HANDLE_STMT, insert->statement);
        insert->statement = NULL;
    }
}

void odbc_forget_inserts(struct adapter_conn *conn)
{
    for (size_t i = 0; i < ODBC_PREPARED_MAX; i++) {
        forget_insert(&conn->inserts[i]);
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

/* The statement for so many rows of the table, prepared when there is none yet. */
static enum status find_insert(struct adapter_conn *conn, const struct table *table, size_t rows,
                               SQLHSTMT *statement, struct error *error)
{
    struct buffer sql;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < ODBC_PREPARED_MAX; i++) {
        const struct odbc_insert *insert = &conn->inserts[i];
        if (insert->statement != NULL && insert->table == table && insert->rows == rows) {
            *statement = insert->statement;
            return STATUS_OK;
        }
    }
    struct odbc_insert *insert = &conn->inserts[conn->next_insert++ % ODBC_PREPARED_MAX];
    forget_insert(insert);
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, conn->connection, &insert->statement))) {
        insert->statement = NULL;
        return odbc_call_error(conn, NULL, error);
    }
    insert->table = table;
    insert->rows = rows;
    *statement = insert->statement;
    buffer_init(&sql);
    build_insert(&sql, table, rows, conn->quote);
    if (buffer_failed(&sql)) {
        status = odbc_memory_error(error);
    } else if (!SQL_SUCCEEDED(SQLPrepare(*statement, (SQLCHAR *)sql.bytes, SQL_NTS))) {
        status = odbc_call_error(conn, *statement, error);
    }
    buffer_fini(&sql);
    return status;
}

/* Adds up the row counts of every result that an array left; a driver that has none leaves
 * *inserted alone. */
static enum status count_inserted(struct adapter_conn *conn, SQLHSTMT statement, uint64_t *inserted,
                                  struct error *error)
{
    uint64_t sum = 0;
    bool is_counted = false;
    SQLRETURN result = SQL_SUCCESS;
    while (SQL_SUCCEEDED(result)) {
        SQLLEN rows = -1;
        if (SQL_SUCCEEDED(SQLRowCount(statement, &rows)) && rows >= 0) {
            sum += (uint64_t)rows;
            is_counted = true;
        }
        result = SQLMoreResults(statement);
    }
    *inserted = is_counted ? sum : *inserted;
    return result == SQL_NO_DATA ? STATUS_OK : odbc_call_error(conn, statement, error);
}

/* Executes with so many sets of parameters. */
static enum status execute(struct adapter_conn *conn, SQLHSTMT statement, size_t sets,
                           uint64_t *inserted, struct error *error)
{
    SQLULEN processed = 0;
    SQLSetStmtAttr(statement, SQL_ATTR_PARAMS_PROCESSED_PTR, &processed, 0);
    const SQLRETURN result = SQLExecute(statement);
    enum status status = STATUS_OK;
    if (result == SQL_NO_DATA) {
        *inserted = 0; /* every row was left out */
        processed = sets;
    } else if (SQL_SUCCEEDED(result)) {
        status = count_inserted(conn, statement, inserted, error);
    } else {
        status = odbc_call_error(conn, statement, error);
    }
    SQLSetStmtAttr(statement, SQL_ATTR_PARAMS_PROCESSED_PTR, NULL, 0);
    if (status == STATUS_OK && sets > 1 && processed < sets) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "the driver took an array of rows and executed only some: --method row");
        return STATUS_FATAL;
    }
    return status;
}

static enum status insert_rows(struct adapter_conn *conn, SQLHSTMT statement,
                               const struct odbc_parameters *parameters, size_t first, size_t rows,
                               struct error *error)
{
    const bool is_array = conn->method == ODBC_ARRAY;
    SQLUSMALLINT states[ROW_BATCH_MAX];
    uint64_t inserted = rows;
    bool is_bound = true;

    if (is_array) {
        SQLSetStmtAttr(statement, SQL_ATTR_PARAM_BIND_TYPE, SQL_PARAM_BIND_BY_COLUMN, 0);
        SQLSetStmtAttr(statement, SQL_ATTR_PARAM_STATUS_PTR, states, 0);
        is_bound =
            SQL_SUCCEEDED(SQLSetStmtAttr(statement, SQL_ATTR_PARAMSET_SIZE, odbc_number(rows), 0));
    }
    for (size_t row = 0; row < (is_array ? 1 : rows) && is_bound; row++) {
        is_bound =
            odbc_parameters_bind(parameters, statement, 1 + row * parameters->count, first + row);
    }
    if (!is_bound) {
        return odbc_call_error(conn, statement, error);
    }
    const enum status status = execute(conn, statement, is_array ? rows : 1, &inserted, error);
    if (is_array) {
        SQLSetStmtAttr(statement, SQL_ATTR_PARAM_STATUS_PTR, NULL, 0);
    }
    conn->inserted_rows += status == STATUS_OK ? inserted : 0;
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

/* Rows that stay of the statement that just failed in a table that cannot undo: those before the
 * failing one, whose number MariaDB tells since version 10.7. */
static uint64_t count_kept(struct adapter_conn *conn)
{
    char failed[ODBC_ANSWER_BYTES] = "";
    if (conn->dialect == &dialect_mysql &&
        odbc_run(conn, "get diagnostics condition 1 @append_row = row_number", NULL, NULL, NULL,
                 NULL) == STATUS_OK) {
        odbc_ask(conn, "select @append_row", failed, NULL);
    }
    const uint64_t row = strtoull(failed, NULL, 10);
    return row > 0 ? row - 1 : 0;
}

enum status odbc_append_open(struct adapter_conn *conn, const struct table *table,
                             struct error *error)
{
    (void)error;
    conn->append_to = table;
    conn->inserted_rows = 0;
    conn->has_rows = false;
    conn->is_append_open = true;
    error_clear(&conn->put_off);
    return STATUS_OK;
}

enum status odbc_append_rows(struct adapter_conn *conn, const struct batch *batch,
                             struct error *error)
{
    struct odbc_parameters parameters;

    conn->has_rows = true;
    if (error_is_set(&conn->put_off)) {
        return STATUS_OK;
    }
    enum status status = odbc_parameters_init(&parameters, batch, error);
    if (status == STATUS_OK && parameters.count == 0) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "no column of %.200s can be written",
                  batch->table->name);
        status = STATUS_FATAL;
    }
    const size_t most = status == STATUS_OK ? rows_at_once(conn, parameters.count) : 1;
    for (size_t first = 0; first < batch->row_count && status == STATUS_OK; first += most) {
        const size_t left = batch->row_count - first;
        const size_t rows = left < most ? left : most;
        SQLHSTMT statement = NULL;
        status = find_insert(conn, batch->table, conn->method == ODBC_ARRAY ? 1 : rows, &statement,
                             error);
        if (status == STATUS_OK) {
            status = insert_rows(conn, statement, &parameters, first, rows, error);
        }
    }
    odbc_parameters_fini(&parameters);
    if (status == STATUS_REJECTED && batch->table->keeps_failed_rows) {
        /* Rows that stay are to be reported, which append_close alone can do: it gets the error,
         * and what is still to come of the append is not sent. */
        conn->inserted_rows += count_kept(conn);
        conn->put_off = *error;
        error_clear(error);
        return STATUS_OK;
    }
    return status == STATUS_OK ? STATUS_OK : give_up(conn, status, error);
}

/* An append without rows sent nothing, and would not notice that the server is gone. */
static enum status ask_server(struct adapter_conn *conn, struct error *error)
{
    struct buffer sql;
    buffer_init(&sql);
    buffer_add_text(&sql, "select 1 from ");
    buffer_add_identifier(&sql, conn->append_to->name, conn->quote);
    buffer_add_text(&sql, " where 1 = 0");
    const enum status status = buffer_failed(&sql)
                                   ? odbc_memory_error(error)
                                   : odbc_run(conn, buffer_text(&sql), NULL, NULL, NULL, error);
    buffer_fini(&sql);
    return status;
}

enum status odbc_append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error)
{
    *accepted = 0;
    conn->is_append_open = false;
    if (error_is_set(&conn->put_off)) {
        *error = conn->put_off;
        *accepted = conn->inserted_rows;
        return give_up(conn, STATUS_REJECTED, error);
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
