/*
 * One append: one statement for up to ROW_BATCH_MAX rows, committed by itself, in one round trip;
 * or several in a transaction, which the first full batch begins. Tables whose engine cannot undo
 * need none: there every statement stands for itself.
 */
#include "adapters/mariadb_conn.h"

#include <stdlib.h>
#include <string.h>

static enum status (*const senders[MARIADB_METHOD_COUNT])(struct adapter_conn *,
                                                          const struct batch *, struct error *) = {
    [MARIADB_BULK] = mariadb_bulk_send,
    [MARIADB_INSERT] = mariadb_insert_send,
    [MARIADB_LOAD] = mariadb_load_send,
};

size_t mariadb_add_columns(struct buffer *sql, const struct table *table)
{
    const char *separator = " (";
    size_t count = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        if (!table->columns[i].is_generated) {
            buffer_add_text(sql, separator);
            buffer_add_identifier(sql, table->columns[i].name, '`');
            separator = ", ";
            count++;
        }
    }
    buffer_add_text(sql, ")");
    return count;
}

/* Times without a zone are UTC here; only a timestamp column asks what the session's zone is. */
static enum status use_utc(struct adapter_conn *conn, const struct table *table,
                           struct error *error)
{
    for (size_t i = 0; i < table->column_count && !conn->is_utc; i++) {
        if (table->columns[i].native_type == MARIADB_NATIVE_TIMESTAMP) {
            const enum status status = mariadb_run(conn, "set time_zone = '+00:00'", error);
            if (status != STATUS_OK) {
                return status;
            }
            conn->is_utc = true;
        }
    }
    return STATUS_OK;
}

void mariadb_get_ready(struct adapter_conn *conn, const struct table *table)
{
    struct error ignored;
    error_clear(&ignored);
    if (use_utc(conn, table, &ignored) == STATUS_OK && conn->method == MARIADB_BULK) {
        mariadb_bulk_prepare(conn, table, &ignored);
    }
}

enum status mariadb_append_open(struct adapter_conn *conn, const struct table *table,
                                struct error *error)
{
    free(conn->append.failure);
    memset(&conn->append, 0, sizeof conn->append);
    const enum status status = use_utc(conn, table, error);
    conn->append.table = table;
    conn->append.is_open = status == STATUS_OK;
    return status;
}

static uint64_t number_in(MYSQL_RES *result)
{
    MYSQL_ROW row = mysql_fetch_row(result);
    return row != NULL && row[0] != NULL ? strtoull(row[0], NULL, 10) : 0;
}

/* Rows of the failed statement that an engine which cannot undo has kept: those before the one that
 * failed. Servers other than MariaDB 10.7 and later do not tell which one it was. */
static uint64_t rows_before_failure(struct adapter_conn *conn)
{
    MYSQL_RES *result = NULL;
    struct error ignored;
    error_clear(&ignored);
    if (mariadb_run(conn, "get diagnostics condition 1 @append_row = row_number", &ignored) !=
            STATUS_OK ||
        mariadb_fetch(conn, "select @append_row", &result, &ignored) != STATUS_OK) {
        return 0;
    }
    const uint64_t failed = number_in(result);
    mysql_free_result(result);
    return failed > 0 && failed <= conn->append.sent ? failed - 1 : 0;
}

/* Ends an append that came to `status`; append_close reports what stays of it. */
static enum status give_up(struct adapter_conn *conn, enum status status)
{
    struct mariadb_append *append = &conn->append;
    struct error ignored;
    error_clear(&ignored);
    append->is_open = false;
    append->is_pending = false;
    append->provisional = 0;
    if (status == STATUS_LOST) {
        return status;
    }
    if (append->in_transaction) {
        append->in_transaction = false;
        return mariadb_run(conn, "rollback", &ignored) == STATUS_LOST ? STATUS_LOST : status;
    }
    if (append->table->keeps_failed_rows && append->sent > 0) {
        append->kept += rows_before_failure(conn);
        return conn->is_lost ? STATUS_LOST : status;
    }
    return status;
}

/* A server that is not strict changes values that do not fit and says so in a warning only, and
 * LOAD DATA LOCAL leaves out rows in the same way: such rows are not what was sent. */
static enum status check_warnings(struct adapter_conn *conn, struct error *error)
{
    MYSQL_RES *result = NULL;
    MYSQL_ROW row;

    if (mysql_warning_count(&conn->mysql) == 0) {
        return STATUS_OK;
    }
    enum status status = mariadb_fetch(conn, "show warnings", &result, error);
    while (status == STATUS_OK && (row = mysql_fetch_row(result)) != NULL) {
        if (row[0] != NULL && row[1] != NULL && row[2] != NULL && strcmp(row[0], "Note") != 0) {
            status = mariadb_warning_error((unsigned)strtoul(row[1], NULL, 10), row[2], error);
        }
    }
    mysql_free_result(result);
    return status;
}

/* Takes the answer to the statement that was sent last. */
static enum status take_answer(struct adapter_conn *conn, struct error *error)
{
    struct mariadb_append *append = &conn->append;
    append->is_pending = false;
    if (conn->method != MARIADB_LOAD && mysql_read_query_result(&conn->mysql) != 0) {
        return give_up(conn, mariadb_call_error(conn, error));
    }
    if (mysql_field_count(&conn->mysql) > 0) {
        conn->is_lost = true;
        error_set(error, ERROR_CONNECTION, 0, NULL, "the server answered an INSERT with rows");
        return give_up(conn, STATUS_LOST);
    }
    const uint64_t rows = mysql_affected_rows(&conn->mysql);
    /* init_connect runs behind the greeting, so that only now is seen what it may have turned off
     */
    const bool is_uncommitted =
        !append->in_transaction && (conn->mysql.server_status & SERVER_STATUS_AUTOCOMMIT) == 0;
    enum status status = check_warnings(conn, error);
    if (is_uncommitted) {
        const enum status committed = mariadb_run(conn, "set autocommit = 1", error);
        if (committed != STATUS_OK) {
            return give_up(conn, committed);
        }
    }
    if (append->in_transaction) {
        append->provisional += rows;
    } else {
        append->kept += rows;
    }
    if (status != STATUS_OK) {
        append->sent = 0; /* the statement did not fail: what it took is in */
        return give_up(conn, status);
    }
    return STATUS_OK;
}

/* Rows that are kept can only be told by append_close: it is given the failure then. */
static enum status fail_rows(struct adapter_conn *conn, enum status status, struct error *error)
{
    struct mariadb_append *append = &conn->append;
    if (append->kept == 0) {
        return status;
    }
    append->failure = malloc(sizeof *append->failure);
    if (append->failure == NULL) {
        return status;
    }
    append->failure->status = status;
    append->failure->error = *error;
    append->is_open = true;
    error_clear(error);
    return STATUS_OK;
}

static enum status begin_transaction(struct adapter_conn *conn, const struct batch *batch,
                                     struct error *error)
{
    struct mariadb_append *append = &conn->append;
    if (append->in_transaction || append->table->keeps_failed_rows ||
        (append->statements == 0 && batch->row_count < ROW_BATCH_MAX)) {
        return STATUS_OK;
    }
    const enum status status = mariadb_run(conn, "start transaction", error);
    append->in_transaction = status == STATUS_OK;
    return status;
}

enum status mariadb_append_rows(struct adapter_conn *conn, const struct batch *batch,
                                struct error *error)
{
    struct mariadb_append *append = &conn->append;
    enum status status = STATUS_OK;

    if (append->failure != NULL) {
        return STATUS_OK;
    }
    if (append->is_pending) {
        status = take_answer(conn, error);
        if (status != STATUS_OK) {
            return fail_rows(conn, status, error);
        }
    }
    /* LOAD DATA has its answer, be it a failure, before it was sent as a whole */
    append->sent = 0;
    status = begin_transaction(conn, batch, error);
    if (status == STATUS_OK) {
        append->sent = conn->method == MARIADB_LOAD ? batch->row_count : 0;
        status = senders[conn->method](conn, batch, error);
    }
    if (status != STATUS_OK) {
        return fail_rows(conn, give_up(conn, status), error);
    }
    append->sent = batch->row_count;
    append->statements++;
    append->is_pending = true;
    return STATUS_OK;
}

enum status mariadb_append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error)
{
    struct mariadb_append *append = &conn->append;
    enum status status = STATUS_OK;

    if (append->failure != NULL) {
        status = append->failure->status;
        *error = append->failure->error;
        free(append->failure);
        append->failure = NULL;
    } else if (append->is_pending) {
        status = take_answer(conn, error);
    }
    if (status == STATUS_OK && append->in_transaction) {
        status = mariadb_run(conn, "commit", error);
        if (status == STATUS_OK) {
            append->kept += append->provisional;
        } else {
            /* a commit that was refused may have left it open */
            status = give_up(conn, status);
        }
    }
    append->is_open = false;
    *accepted = append->kept;
    return status;
}
