/*
 * Appends: SQLAppendOpen, SQLAppendDataV2 a row, SQLAppendClose.
 *
 * The library collects rows into packets. The server answers only for rows that it refuses, and
 * counts at the end; what was sent before stays, whatever comes: there are no transactions.
 */
#include "adapters/machbase_conn.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapters/machbase_encode.h"

/* After so many rows the library looks whether the server has refused some. */
enum {
    CHECK_EVERY = 100
};

/* A writable static, one a thread: the library tells of a refused row by its statement only, in the
 * thread whose call found it. */
static _Thread_local struct machbase_append *watched;

/* Keeps the first failure, and how many came with another code. */
static void note_failure(struct machbase_append *append, const struct error *failure)
{
    if (!append->has_failed) {
        append->has_failed = true;
        append->failure = *failure;
        append->failure_code = failure->native_code;
    } else if (failure->native_code != append->failure_code) {
        append->other_codes++;
    }
}

static int shown_length(const void *text, long length)
{
    enum {
        SHOWN_MAX = 150
    };
    const long most = length < SHOWN_MAX ? length : SHOWN_MAX;
    return text == NULL || most < 0 ? 0 : (int)strnlen(text, (size_t)most);
}

static void on_error(machbase_handle statement, int code, void *message, long length, void *row,
                     long row_length)
{
    struct error failure;
    const int bytes = shown_length(row, row_length);
    const int words = shown_length(message, length);
    if (watched == NULL || watched->statement != statement) {
        return;
    }
    error_clear(&failure);
    error_set(&failure, ERROR_DATA, code, NULL, "%.*s%s%.*s", words > 0 ? words : INT_MAX,
              words > 0 ? (const char *)message : "refused without a reason",
              bytes > 0 ? "; row: " : "", bytes < 60 ? bytes : 60,
              row != NULL ? (const char *)row : "");
    note_failure(watched, &failure);
}

enum status machbase_begin(struct adapter_conn *conn, const char *table_name,
                           machbase_handle *statement, struct error *error)
{
    *statement = NULL;
    if (!machbase_succeeded(conn->call->SQLAllocStmt(conn->connection, statement))) {
        *statement = NULL;
        return machbase_call_error(conn, NULL, error);
    }
    if (machbase_succeeded(
            conn->call->SQLAppendOpen(*statement, machbase_text(table_name), CHECK_EVERY))) {
        conn->call->SQLAppendSetErrorCallback(*statement, on_error); /* opening forgets it */
        return STATUS_OK;
    }
    const enum status status = machbase_call_error(conn, *statement, error);
    conn->call->SQLFreeStmt(*statement, MACHBASE_DROP);
    *statement = NULL;
    return status;
}

/* Makes room for rows of so many columns. */
static enum status resize(struct adapter_conn *conn, size_t count, struct error *error)
{
    if (count == conn->slot_count) {
        return STATUS_OK;
    }
    free(conn->slots);
    free(conn->columns);
    conn->slots = calloc(count, sizeof *conn->slots);
    conn->columns = calloc(count, sizeof *conn->columns);
    conn->slot_count = conn->slots != NULL && conn->columns != NULL ? count : 0;
    return conn->slot_count == count ? STATUS_OK : machbase_memory_error(error);
}

/* The table's column of this name; most often it is at `guess`. */
static size_t find_column(const struct table *table, const char *name, size_t guess)
{
    if (guess < table->column_count && strcasecmp(table->columns[guess].name, name) == 0) {
        return guess;
    }
    for (size_t i = 0; i < table->column_count; i++) {
        if (strcasecmp(table->columns[i].name, name) == 0) {
            return i;
        }
    }
    return MACHBASE_NO_COLUMN;
}

static enum status has_changed(const struct table *table, struct error *error)
{
    error_set(error, ERROR_NOT_FOUND, 0, NULL,
              "table '%.100s' is not what it was: a column is gone or has another type",
              table->name);
    return STATUS_FATAL;
}

/* Which column goes where: a row has as many places as the server says now, and a column that was
 * added since the table was described is NULL. */
static enum status map_columns(struct adapter_conn *conn, machbase_handle statement,
                               const struct table *table, struct error *error)
{
    short count = 0;
    size_t found = 0;
    if (!machbase_succeeded(conn->call->SQLNumResultCols(statement, &count))) {
        return machbase_call_error(conn, statement, error);
    }
    if (count < 2) {
        return has_changed(table, error);
    }
    enum status status = resize(conn, (size_t)count - 1, error);
    for (size_t i = 0; status == STATUS_OK && i < conn->slot_count; i++) {
        struct column column;
        status = machbase_describe_column(conn, statement, i + 1, &column, error);
        if (status != STATUS_OK) {
            break;
        }
        const size_t place = find_column(table, column.name, i);
        conn->columns[i] = (uint16_t)place;
        machbase_encode_null(&column, &conn->slots[i]);
        if (place != MACHBASE_NO_COLUMN) {
            found += table->columns[place].native_type == column.native_type ? 1 : 0;
        }
    }
    if (status == STATUS_OK && found < table->column_count) {
        status = has_changed(table, error);
    }
    return status;
}

/* Ends the append without asking the server about it. */
static void abandon(struct adapter_conn *conn)
{
    conn->call->SQLFreeStmt(conn->append.statement, MACHBASE_DROP);
    conn->append.statement = NULL;
}

/* The server may wait for rows or for the end of the append; nothing can follow on this connection.
 */
static enum status lose(struct adapter_conn *conn)
{
    client_socket_shutdown(&conn->socket);
    abandon(conn);
    return STATUS_LOST;
}

enum status machbase_append_open(struct adapter_conn *conn, const struct table *table,
                                 struct error *error)
{
    struct machbase_append *append = &conn->append;
    memset(append, 0, sizeof *append);
    enum status status = machbase_begin(conn, table->name, &append->statement, error);
    if (status != STATUS_OK) {
        return status;
    }
    append->table = table;
    status = map_columns(conn, append->statement, table, error);
    if (status == STATUS_LOST) {
        return lose(conn);
    }
    if (status != STATUS_OK) {
        long successes = 0;
        long failures = 0;
        conn->call->SQLAppendClose(append->statement, &successes, &failures);
        abandon(conn);
    }
    return status;
}

/* A value that cannot be sent as it is. */
static void refuse_value(struct machbase_append *append, const struct column *column)
{
    struct error failure;
    error_clear(&failure);
    error_set(&failure, ERROR_DATA, 0, NULL,
              "column %.60s %.60s cannot hold the value: it is too long, below 0, or a code of the "
              "client library; the row was not sent",
              column->name, column->type_name);
    note_failure(append, &failure);
}

/* Sets every place of the row. */
static bool encode_row(struct adapter_conn *conn, const struct batch *batch, size_t row)
{
    const struct table *table = conn->append.table;
    for (size_t i = 0; i < conn->slot_count; i++) {
        const size_t place = conn->columns[i];
        if (place == MACHBASE_NO_COLUMN) {
            continue;
        }
        const struct column *column = &table->columns[place];
        const struct column_data *data = &batch->columns[place];
        if (data->is_null != NULL && data->is_null[row] != 0) {
            machbase_encode_null(column, &conn->slots[i]);
        } else if (!machbase_encode(column, data->values, row, &conn->slots[i])) {
            refuse_value(&conn->append, column);
            return false;
        }
    }
    return true;
}

static enum status send_row(struct adapter_conn *conn, struct error *error)
{
    struct machbase_append *append = &conn->append;
    const machbase_result result = conn->call->SQLAppendDataV2(append->statement, conn->slots);
    if (result == MACHBASE_OK) {
        append->sent++;
        return STATUS_OK;
    }
    struct error failure;
    error_clear(&failure);
    if (result == MACHBASE_OK_WITH_INFO) {
        append->sent++;
        error_set(&failure, ERROR_DATA, 0, "01004", "the client library cut a value of the row");
    } else if (machbase_call_error(conn, append->statement, &failure) == STATUS_LOST) {
        *error = failure;
        return STATUS_LOST;
    }
    note_failure(append, &failure);
    return STATUS_OK;
}

enum status machbase_append_rows(struct adapter_conn *conn, const struct batch *batch,
                                 struct error *error)
{
    enum status status = STATUS_OK;
    watched = &conn->append;
    for (size_t row = 0; status == STATUS_OK && row < batch->row_count; row++) {
        conn->append.rows++;
        if (encode_row(conn, batch, row)) {
            status = send_row(conn, error);
        }
    }
    watched = NULL;
    return status == STATUS_OK ? STATUS_OK : lose(conn);
}

/* What the server's counts say, which add up to what was sent. */
static enum status settle(const struct machbase_append *append, uint64_t successes,
                          uint64_t failures, struct error *error)
{
    const struct error *first = &append->failure;
    if (append->has_failed) {
        const uint64_t refused =
            append->rows - (successes < append->rows ? successes : append->rows);
        char others[60] = "";
        if (append->other_codes > 0) {
            snprintf(others, sizeof others, ", %" PRIu64 " for other reasons", append->other_codes);
        }
        error_set(error, first->kind, first->native_code, first->sqlstate,
                  "%.150s (%" PRIu64 " of %" PRIu64 " rows refused%s)", first->text, refused,
                  append->rows, others);
        return STATUS_REJECTED;
    }
    if (failures > 0) {
        error_set(error, ERROR_DATA, 0, NULL,
                  "the server refused %" PRIu64 " of %" PRIu64 " rows and gave no reason", failures,
                  append->sent);
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

enum status machbase_append_close(struct adapter_conn *conn, uint64_t *accepted,
                                  struct error *error)
{
    struct machbase_append *append = &conn->append;
    long successes = -1; /* left alone when there is no answer */
    long failures = -1;
    *accepted = 0;
    watched = append;
    const machbase_result result =
        conn->call->SQLAppendClose(append->statement, &successes, &failures);
    watched = NULL;
    if (!machbase_succeeded(result) || successes < 0 || failures < 0) {
        struct error reason;
        error_clear(&reason);
        if (!machbase_succeeded(result)) {
            machbase_call_error(conn, append->statement, &reason);
        }
        error_set(error, ERROR_CONNECTION, reason.native_code,
                  reason.sqlstate[0] != '\0' ? reason.sqlstate : "08S01",
                  "no counts at the end of an append: %.150s",
                  reason.text[0] != '\0' ? reason.text : "the client library gives no reason");
        return lose(conn);
    }
    *accepted = (uint64_t)successes < append->sent ? (uint64_t)successes : append->sent;
    if ((uint64_t)successes + (uint64_t)failures != append->sent) {
        error_set(error, ERROR_SERVER, 0, NULL,
                  "the server counted %ld rows kept and %ld refused of an append of %" PRIu64
                  ": what became of the others is not known",
                  successes, failures, append->sent);
        return lose(conn);
    }
    abandon(conn);
    return settle(append, (uint64_t)successes, (uint64_t)failures, error);
}
