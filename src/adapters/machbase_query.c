/* Statements that are not appends. */
#include "adapters/machbase_conn.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/number_text.h"
#include "base/sql_script.h"

enum {
    NUMBER_BYTES = 48
};

/* One column of the current row. */
struct cell {
    char text[NUMBER_BYTES];
    long length; /* or MACHBASE_NULL_DATA */
};

static enum status make_statement(struct adapter_conn *conn, machbase_handle *statement,
                                  struct error *error)
{
    *statement = NULL;
    if (machbase_succeeded(conn->call->SQLAllocStmt(conn->connection, statement))) {
        return STATUS_OK;
    }
    *statement = NULL;
    return machbase_call_error(conn, NULL, error);
}

/* Runs a query as far as its first row. */
static enum status start(struct adapter_conn *conn, const char *sql, machbase_handle *statement,
                         struct error *error)
{
    const enum status status = make_statement(conn, statement, error);
    if (status != STATUS_OK) {
        return status;
    }
    if (machbase_succeeded(conn->call->SQLPrepare(*statement, machbase_text(sql), MACHBASE_NTS)) &&
        machbase_succeeded(conn->call->SQLExecute(*statement))) {
        return STATUS_OK;
    }
    return machbase_call_error(conn, *statement, error);
}

static void end(struct adapter_conn *conn, machbase_handle statement)
{
    if (statement != NULL) {
        conn->call->SQLFreeStmt(statement, MACHBASE_DROP);
    }
}

static enum status run(struct adapter_conn *conn, const char *sql, struct error *error)
{
    machbase_handle statement = NULL;
    enum status status = make_statement(conn, &statement, error);
    if (status == STATUS_OK && !machbase_succeeded(conn->call->SQLExecDirect(
                                   statement, machbase_text(sql), MACHBASE_NTS))) {
        status = machbase_call_error(conn, statement, error);
    }
    end(conn, statement);
    return status;
}

/* Behind a word at the beginning of a text; NULL: it begins with another one. */
static const char *skip_word(const char *text, const char *word)
{
    static const char blanks[] = " \t\r\n";
    const size_t length = strlen(word);
    if (text == NULL || strncasecmp(text, word, length) != 0 ||
        strspn(text + length, blanks) == 0) {
        return NULL;
    }
    return text + length + strspn(text + length, blanks);
}

/* Machbase has no DROP TABLE IF EXISTS. */
static enum status run_statement(struct adapter_conn *conn, const char *sql, struct error *error)
{
    const char *const table =
        skip_word(skip_word(skip_word(skip_word(sql, "drop"), "table"), "if"), "exists");
    if (table == NULL) {
        return run(conn, sql, error);
    }
    struct buffer drop;
    struct error reason;
    error_clear(&reason);
    buffer_init(&drop);
    buffer_add_text(&drop, "drop table ");
    buffer_add_text(&drop, table);
    enum status status = buffer_failed(&drop) ? machbase_memory_error(&reason)
                                              : run(conn, buffer_text(&drop), &reason);
    buffer_fini(&drop);
    if (status == STATUS_FATAL && reason.native_code == MACHBASE_NO_SUCH_TABLE) {
        return STATUS_OK;
    }
    if (status != STATUS_OK) {
        *error = reason;
    }
    return status;
}

enum status machbase_execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    struct sql_script script;
    enum status status = STATUS_OK;
    sql_script_init(&script, sql);
    while (status == STATUS_OK && sql_script_next(&script)) {
        status = buffer_failed(&script.statement)
                     ? machbase_memory_error(error)
                     : run_statement(conn, buffer_text(&script.statement), error);
    }
    sql_script_fini(&script);
    return status;
}

/* Reads the rows of one statement and counts them. */
static enum status drain(struct adapter_conn *conn, const char *sql, uint64_t *rows,
                         struct error *error)
{
    machbase_handle statement = NULL;
    short columns = 0;
    enum status status = start(conn, sql, &statement, error);
    if (status == STATUS_OK) {
        conn->call->SQLNumResultCols(statement, &columns);
    }
    while (status == STATUS_OK && columns > 0) {
        const machbase_result result = conn->call->SQLFetch(statement);
        if (result == MACHBASE_NO_DATA) {
            break;
        }
        if (machbase_succeeded(result)) {
            ++*rows;
        } else {
            status = machbase_call_error(conn, statement, error);
        }
    }
    end(conn, statement);
    return status;
}

enum status machbase_query(struct adapter_conn *conn, const char *sql, uint64_t *rows,
                           struct error *error)
{
    struct sql_script script;
    enum status status = STATUS_OK;
    *rows = 0;
    sql_script_init(&script, sql);
    while (status == STATUS_OK && sql_script_next(&script)) {
        status = buffer_failed(&script.statement)
                     ? machbase_memory_error(error)
                     : drain(conn, buffer_text(&script.statement), rows, error);
    }
    sql_script_fini(&script);
    return status;
}

static enum status bind_cells(struct adapter_conn *conn, machbase_handle statement,
                              struct cell *cells, size_t columns, struct error *error)
{
    short found = 0;
    if (!machbase_succeeded(conn->call->SQLNumResultCols(statement, &found))) {
        return machbase_call_error(conn, statement, error);
    }
    if (found < 0 || (size_t)found != columns) {
        return number_text_refuse_columns((size_t)(found < 0 ? 0 : found), columns, error);
    }
    for (size_t i = 0; i < columns; i++) {
        if (!machbase_succeeded(conn->call->SQLBindCol(statement, (unsigned short)(i + 1),
                                                       MACHBASE_C_CHAR, cells[i].text, NUMBER_BYTES,
                                                       &cells[i].length))) {
            return machbase_call_error(conn, statement, error);
        }
    }
    return STATUS_OK;
}

static enum status read_cells(const struct cell *cells, size_t columns, int64_t *values,
                              struct error *error)
{
    for (size_t i = 0; i < columns; i++) {
        const size_t length = strnlen(cells[i].text, NUMBER_BYTES);
        if (cells[i].length == MACHBASE_NULL_DATA) {
            return number_text_refuse(i, NULL, 0, error);
        }
        if (!number_text_parse(cells[i].text, length, &values[i])) {
            return number_text_refuse(i, cells[i].text, length, error);
        }
    }
    return STATUS_OK;
}

enum status machbase_read_text(struct adapter_conn *conn, const char *sql, char *text, size_t size,
                               struct error *error)
{
    machbase_handle statement = NULL;
    long length = MACHBASE_NULL_DATA;
    enum status status = start(conn, sql, &statement, error);
    text[0] = '\0';
    if (status == STATUS_OK) {
        machbase_result result =
            conn->call->SQLBindCol(statement, 1, MACHBASE_C_CHAR, text, (long)size, &length);
        if (machbase_succeeded(result)) {
            result = conn->call->SQLFetch(statement);
        }
        if (!machbase_succeeded(result) && result != MACHBASE_NO_DATA) {
            status = machbase_call_error(conn, statement, error);
        }
        if (result == MACHBASE_NO_DATA || length == MACHBASE_NULL_DATA) {
            text[0] = '\0';
        }
    }
    end(conn, statement);
    return status;
}

/* What is done with the rows of a query of numbers. */
struct reading {
    size_t columns;
    struct cell *cells;
    int64_t *values;
    bool (*take)(void *context, const int64_t *values);
    void *context;
};

static enum status read_rows(struct adapter_conn *conn, const char *sql,
                             const struct reading *reading, struct error *error)
{
    machbase_handle statement = NULL;
    enum status status = start(conn, sql, &statement, error);
    if (status == STATUS_OK) {
        status = bind_cells(conn, statement, reading->cells, reading->columns, error);
    }
    bool is_wanted = true;
    while (status == STATUS_OK && is_wanted) {
        const machbase_result result = conn->call->SQLFetch(statement);
        if (result == MACHBASE_NO_DATA) {
            break;
        }
        status = machbase_succeeded(result)
                     ? read_cells(reading->cells, reading->columns, reading->values, error)
                     : machbase_call_error(conn, statement, error);
        is_wanted = status == STATUS_OK && reading->take(reading->context, reading->values);
    }
    end(conn, statement);
    return status;
}

enum status machbase_read_numbers(struct adapter_conn *conn, const char *sql, size_t columns,
                                  bool (*take)(void *context, const int64_t *values), void *context,
                                  struct error *error)
{
    struct reading reading = {.columns = columns, .take = take, .context = context};
    reading.cells = calloc(columns, sizeof *reading.cells);
    reading.values = calloc(columns, sizeof *reading.values);
    const enum status status = reading.cells == NULL || reading.values == NULL
                                   ? machbase_memory_error(error)
                                   : read_rows(conn, sql, &reading, error);
    free(reading.cells);
    free(reading.values);
    return status;
}

struct counted {
    uint64_t rows;
    bool is_there;
};

static bool take_count(void *context, const int64_t *values)
{
    struct counted *counted = context;
    counted->is_there = values[0] >= 0;
    counted->rows = counted->is_there ? (uint64_t)values[0] : 0;
    return false;
}

enum status machbase_count(struct adapter_conn *conn, const struct table *table, uint64_t *rows,
                           struct error *error)
{
    struct counted counted = {0, false};
    struct cell cell = {.length = MACHBASE_NULL_DATA};
    int64_t value = 0;
    const struct reading reading = {1, &cell, &value, take_count, &counted};
    struct buffer sql;
    buffer_init(&sql);
    buffer_add_text(&sql, "select count(*) from ");
    buffer_add_text(&sql, table->name);
    enum status status = buffer_failed(&sql) ? machbase_memory_error(error)
                                             : read_rows(conn, buffer_text(&sql), &reading, error);
    buffer_fini(&sql);
    if (status == STATUS_OK && !counted.is_there) {
        error_set(error, ERROR_SERVER, 0, NULL, "count(*) came without a number");
        status = STATUS_REJECTED;
    }
    if (status == STATUS_OK) {
        *rows = counted.rows;
    }
    return status;
}
