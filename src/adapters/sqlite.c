/*
 * SQLite, inside this process: one prepared INSERT, one transaction an append, WAL mode.
 *
 * Writers take turns: append_open takes the write lock, and gives up after a second (REJECTED,
 * ERROR_BUSY), so that waiting is seen and counted by the session.
 */
#include "adapters/sqlite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/sqlite_conn.h"
#include "base/buffer.h"
#include "base/number_text.h"

enum {
    BUSY_TIMEOUT_MS = 1000
};

/* SQLite's default of 2 MiB fills up in every session as soon as the table is counted, and measures
 * no faster: the pages are in the system's cache. */
static const char cache_sql[] = "pragma cache_size = -256"; /* KiB */

/* Memory statistics would take a global lock for each allocation of each session. */
static enum status init(struct error *error)
{
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    const int code = sqlite3_initialize();
    return code == SQLITE_OK ? STATUS_OK : sqlite_call_error(NULL, code, error);
}

static void fini(void)
{
    sqlite3_shutdown();
}

static void client_version(char *text, size_t size)
{
    snprintf(text, size, "SQLite %s", sqlite3_libversion());
}

static void close_connection(struct adapter_conn *conn)
{
    if (conn == NULL) {
        return;
    }
    sqlite3_finalize(conn->insert);
    sqlite3_finalize(conn->count);
    sqlite3_close_v2(conn->database); /* rolls an open append back */
    free(conn);
}

static enum status execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    const int code = sqlite3_exec(conn->database, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? STATUS_OK : sqlite_call_error(conn->database, code, error);
}

/* Rolls back a transaction that the user's SQL, which came to `status`, left open: no append could
 * begin. Returns what it comes to. */
static enum status end_transaction(struct adapter_conn *conn, enum status status,
                                   struct error *error)
{
    if (sqlite3_get_autocommit(conn->database)) {
        return status;
    }
    if (status == STATUS_OK) {
        error_set(error, ERROR_USAGE, 0, NULL, "the statement leaves a transaction open");
        status = STATUS_FATAL;
    }
    sqlite3_exec(conn->database, "rollback", NULL, NULL, NULL);
    return status;
}

static enum status execute_ddl(struct adapter_conn *conn, const char *sql, struct error *error)
{
    return end_transaction(conn, execute(conn, sql, error), error);
}

/* Leaves in *is_wal whether the pragma's answer is "wal". */
static int run_journal_pragma(sqlite3 *database, const char *sql, bool *is_wal)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    *is_wal = false;
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    if (code == SQLITE_ROW) {
        const unsigned char *mode = sqlite3_column_text(statement, 0);
        *is_wal = mode != NULL && strcmp((const char *)mode, "wal") == 0;
    }
    sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Asking first takes no lock that a writer holds; only the very first session changes the mode. One
 * that meets it changing finds it changed. */
static enum status use_wal(sqlite3 *database, const char *path, struct error *error)
{
    bool is_wal = false;
    int code = run_journal_pragma(database, "pragma journal_mode", &is_wal);
    if (code == SQLITE_OK && !is_wal) {
        code = run_journal_pragma(database, "pragma journal_mode = wal", &is_wal);
        if (code == SQLITE_BUSY) {
            code = run_journal_pragma(database, "pragma journal_mode", &is_wal);
            code = code == SQLITE_OK && !is_wal ? SQLITE_BUSY : code;
        }
    }
    if (code == SQLITE_OK && !is_wal) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "no write-ahead log is possible for %.180s",
                  path);
        return STATUS_FATAL;
    }
    if (code == SQLITE_OK) {
        return STATUS_OK;
    }
    struct error reason;
    error_clear(&reason);
    const enum status status = sqlite_call_error(database, code, &reason);
    error_set(error, reason.kind, code, NULL, "%s: %.160s", reason.text, path);
    return status == STATUS_REJECTED ? STATUS_LOST : status;
}

static enum status open_connection(const struct target *target, struct adapter_conn **conn,
                                   struct error *error)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    enum status status;

    *conn = NULL;
    if (target->path == NULL || target->path[0] == '\0') {
        error_set(error, ERROR_USAGE, 0, NULL, "no path of a database file was given");
        return STATUS_FATAL;
    }
    struct adapter_conn *made = calloc(1, sizeof *made);
    if (made == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory");
        return STATUS_FATAL;
    }
    const int code = sqlite3_open_v2(target->path, &made->database, flags, NULL);
    if (code == SQLITE_OK) {
        sqlite3_extended_result_codes(made->database, 1);
        sqlite3_busy_timeout(made->database, BUSY_TIMEOUT_MS);
        status = use_wal(made->database, target->path, error);
        if (status == STATUS_OK) {
            status = execute(made, cache_sql, error);
        }
    } else {
        struct error reason;
        error_clear(&reason);
        status = sqlite_call_error(made->database, code, &reason);
        error_set(error, reason.kind, code, NULL, "%s: %.160s", reason.text, target->path);
    }
    if (status != STATUS_OK) {
        close_connection(made);
        return status;
    }
    *conn = made;
    return STATUS_OK;
}

static void interrupt_connection(struct adapter_conn *conn)
{
    sqlite3_interrupt(conn->database);
}

/* Prepares `sql` in place of *statement, and frees the text. */
static enum status prepare(struct adapter_conn *conn, struct buffer *sql, sqlite3_stmt **statement,
                           struct error *error)
{
    enum status status = STATUS_OK;
    sqlite3_finalize(*statement);
    *statement = NULL;
    if (buffer_failed(sql)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory");
        status = STATUS_FATAL;
    } else {
        const int code = sqlite3_prepare_v3(conn->database, buffer_text(sql), -1,
                                            SQLITE_PREPARE_PERSISTENT, statement, NULL);
        status = code == SQLITE_OK ? STATUS_OK : sqlite_call_error(conn->database, code, error);
    }
    buffer_fini(sql);
    return status;
}

static enum status prepare_insert(struct adapter_conn *conn, const struct table *table,
                                  struct error *error)
{
    struct buffer sql;
    const char *separator = " (";
    size_t written = 0;

    buffer_init(&sql);
    buffer_add_text(&sql, "insert into ");
    buffer_add_identifier(&sql, table->name, '"');
    for (size_t i = 0; i < table->column_count; i++) {
        if (!table->columns[i].is_generated) {
            buffer_add_text(&sql, separator);
            buffer_add_identifier(&sql, table->columns[i].name, '"');
            separator = ", ";
            written++;
        }
    }
    buffer_add_text(&sql, ") values (");
    for (size_t i = 0; i < written; i++) {
        buffer_add_text(&sql, i > 0 ? ",?" : "?");
    }
    buffer_add_text(&sql, ")");
    conn->insert_table = NULL;
    const enum status status = prepare(conn, &sql, &conn->insert, error);
    conn->insert_table = status == STATUS_OK ? table : NULL;
    return status;
}

/* Undoes the open append, if SQLite has not done so itself. The error is recorded before. */
static void roll_back(struct adapter_conn *conn)
{
    if (conn->insert != NULL) {
        sqlite3_reset(conn->insert);
        sqlite3_clear_bindings(conn->insert); /* they point into a batch */
    }
    if (!sqlite3_get_autocommit(conn->database)) {
        sqlite3_exec(conn->database, "rollback", NULL, NULL, NULL);
    }
}

static enum status append_open(struct adapter_conn *conn, const struct table *table,
                               struct error *error)
{
    if (conn->insert_table != table) {
        const enum status status = prepare_insert(conn, table, error);
        if (status != STATUS_OK) {
            return status;
        }
    }
    conn->inserted_rows = 0;
    return execute(conn, "begin immediate", error);
}

static enum status append_rows(struct adapter_conn *conn, const struct batch *batch,
                               struct error *error)
{
    const struct table *table = batch->table;
    int code = SQLITE_OK;

    for (size_t row = 0; row < batch->row_count; row++) {
        int parameter = 0;
        for (size_t i = 0; i < table->column_count && code == SQLITE_OK; i++) {
            if (!table->columns[i].is_generated) {
                code = sqlite_bind(conn->insert, ++parameter, &table->columns[i],
                                   &batch->columns[i], row);
            }
        }
        if (code == SQLITE_OK) {
            sqlite3_step(conn->insert);
            code = sqlite3_reset(conn->insert);
        }
        if (code != SQLITE_OK) {
            const enum status status = sqlite_call_error(conn->database, code, error);
            roll_back(conn);
            return status;
        }
        /* None, when a constraint or a trigger of the table says to ignore the row. */
        conn->inserted_rows += (uint64_t)sqlite3_changes(conn->database);
    }
    sqlite3_clear_bindings(conn->insert);
    return STATUS_OK;
}

static enum status append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error)
{
    const enum status status = execute(conn, "commit", error);
    *accepted = status == STATUS_OK ? conn->inserted_rows : 0;
    if (status != STATUS_OK) {
        roll_back(conn);
    }
    return status;
}

static enum status count(struct adapter_conn *conn, const struct table *table, uint64_t *rows,
                         struct error *error)
{
    if (conn->count_table != table) {
        struct buffer sql;
        buffer_init(&sql);
        buffer_add_text(&sql, "select count(*) from ");
        buffer_add_identifier(&sql, table->name, '"');
        conn->count_table = NULL;
        const enum status status = prepare(conn, &sql, &conn->count, error);
        if (status != STATUS_OK) {
            return status;
        }
        conn->count_table = table;
    }
    if (sqlite3_step(conn->count) == SQLITE_ROW) {
        *rows = (uint64_t)sqlite3_column_int64(conn->count, 0);
    }
    const int code = sqlite3_reset(conn->count);
    return code == SQLITE_OK ? STATUS_OK : sqlite_call_error(conn->database, code, error);
}

static enum status query(struct adapter_conn *conn, const char *sql, uint64_t *rows,
                         struct error *error)
{
    int code = SQLITE_OK;

    *rows = 0;
    while (code == SQLITE_OK && *sql != '\0') {
        sqlite3_stmt *statement = NULL;
        code = sqlite3_prepare_v2(conn->database, sql, -1, &statement, &sql);
        if (code == SQLITE_OK && statement != NULL) {
            while (sqlite3_step(statement) == SQLITE_ROW) {
                ++*rows;
            }
            code = sqlite3_finalize(statement);
        }
    }
    const enum status status =
        code == SQLITE_OK ? STATUS_OK : sqlite_call_error(conn->database, code, error);
    return end_transaction(conn, status, error);
}

/* Takes the numbers of the row on which the statement stands. */
static enum status read_row(sqlite3_stmt *statement, size_t columns, int64_t *values,
                            struct error *error)
{
    for (size_t i = 0; i < columns; i++) {
        const int column = (int)i;
        if (sqlite3_column_type(statement, column) != SQLITE_INTEGER) {
            const char *text = (const char *)sqlite3_column_text(statement, column);
            return number_text_refuse(i, text, text != NULL ? strlen(text) : 0, error);
        }
        values[i] = sqlite3_column_int64(statement, column);
    }
    return STATUS_OK;
}

static enum status read_rows(struct adapter_conn *conn, sqlite3_stmt *statement, size_t columns,
                             bool (*take)(void *context, const int64_t *values), void *context,
                             struct error *error)
{
    int64_t *const values = calloc(columns, sizeof *values);
    enum status status = STATUS_OK;
    int code;
    if (values == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory");
        return STATUS_FATAL;
    }
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        status = read_row(statement, columns, values, error);
        if (status != STATUS_OK || !take(context, values)) {
            break;
        }
    }
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        status = sqlite_call_error(conn->database, code, error);
    }
    free(values);
    return status;
}

static enum status read_numbers(struct adapter_conn *conn, const char *sql, size_t columns,
                                bool (*take)(void *context, const int64_t *values), void *context,
                                struct error *error)
{
    sqlite3_stmt *statement = NULL;
    const int code = sqlite3_prepare_v2(conn->database, sql, -1, &statement, NULL);
    if (code != SQLITE_OK) {
        return sqlite_call_error(conn->database, code, error);
    }
    const size_t found = (size_t)sqlite3_column_count(statement);
    const enum status status = found == columns
                                   ? read_rows(conn, statement, columns, take, context, error)
                                   : number_text_refuse_columns(found, columns, error);
    sqlite3_finalize(statement);
    return status;
}

static enum status server_limits(struct adapter_conn *conn, struct server_limits *limits,
                                 struct error *error)
{
    (void)conn;
    (void)error;
    memset(limits, 0, sizeof *limits);
    snprintf(limits->version, sizeof limits->version, "SQLite %s", sqlite3_libversion());
    return STATUS_OK;
}

const struct adapter adapter_sqlite = {
    .name = "sqlite",
    .summary = "SQLite inside this program",
    .flags = ADAPTER_EMBEDDED | ADAPTER_FILE,
    .identifier_quote = '"',
    .stack_bytes = (size_t)256 * 1024,
    .files_per_session = 2, /* database and log; all share the index of the log */
    .init = init,
    .fini = fini,
    .client_version = client_version,
    .open = open_connection,
    .close = close_connection,
    .interrupt = interrupt_connection,
    .execute = execute_ddl,
    .describe = sqlite_describe,
    .append_open = append_open,
    .append_rows = append_rows,
    .append_close = append_close,
    .count = count,
    .query = query,
    .read_numbers = read_numbers,
    .server_limits = server_limits,
};
