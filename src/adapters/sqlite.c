/*
 * SQLite, inside this process. An append is one transaction with a prepared INSERT. New files use
 * WAL mode.
 *
 * Only one connection can write at a time. append_open takes the write lock. If it does not get the
 * lock within a second, it returns REJECTED (ERROR_BUSY), so that the session can count these
 * failures.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sqlite3.h>

#include "adapters/dialect.h"
#include "append/value_text.h"
#include "base/ask.h"
#include "base/text.h"

enum {
    BUSY_TIMEOUT_MS = 1000,
    FRACTION_DIGITS = 6
};

/* Makes the page cache of a session small. With SQLite's default of 2 MiB, a query that counts the
 * table's rows would fill the cache of every session. A large cache is not faster, because the
 * pages are also in the system's cache. */
static const char cache_sql[] = "pragma cache_size = -256"; /* 256 KiB */

/* A prepared statement that is kept. */
struct adapter_prepared {
    const void *key; /* the struct that the statement was prepared for; NULL if not prepared */
    sqlite3_stmt *statement;
};

/* The open connections, for --waits. */
struct sessions {
    pthread_mutex_t lock;
    struct session {
        struct adapter_conn *conn;
    } * entries;
    size_t count, room;
    uint64_t latest; /* number of the latest connection */
};

struct adapter_library {
    struct sessions *sessions; /* list of the open connections; owned */
};

struct adapter_conn {
    struct sessions *sessions; /* borrowed; NULL if the connection is not in the list of sessions */
    uint64_t number;           /* the connection's number; 0 if `sessions` is NULL */
    long thread;               /* number of the thread that opened the connection */
    atomic_bool is_waiting;    /* the connection waits for the write lock */
    int waited_ms; /* time that the busy handler has waited for the current lock, in ms */
    sqlite3 *database;
    struct adapter_prepared insert; /* its key is a struct table */
    struct adapter_prepared latest; /* its key is a struct statement without a slot */
    bool is_in_transaction;         /* the connection is between begin and commit or rollback */
    uint64_t inserted_rows;         /* number of rows that the current append has inserted */
};

/* Records the failure of the last call on `database`, unless `code` is SQLITE_OK; `path`, which may
 * be NULL, is added to the text. */
static enum status call_result(sqlite3 *database, int code, const char *path, struct error *error)
{
    if (code == SQLITE_OK) {
        return STATUS_OK;
    }
    char text[ERROR_TEXT_BYTES];
    const char *message = database != NULL ? sqlite3_errmsg(database) : sqlite3_errstr(code);
    const struct dialect_failure failure = {.number = code, .sqlstate = "", .text = message};
    struct dialect_meaning meaning = {STATUS_REJECTED, ERROR_SERVER, NULL};
    dialect_sqlite.classify_error(&failure, &meaning);
    snprintf(text, sizeof text, "%s%s%.160s", message, path != NULL ? ": " : "",
             path != NULL ? path : "");
    return dialect_record(&meaning, &failure, text, error);
}

/* Adds a connection to the list. When out of memory, the connection is not in the list. */
static void join_sessions(struct sessions *sessions, struct adapter_conn *conn)
{
    pthread_mutex_lock(&sessions->lock);
    if (sessions->count == sessions->room) {
        const size_t room = 2 * sessions->room + 16;
        struct session *more = reallocarray(sessions->entries, room, sizeof *more);
        if (more != NULL) {
            sessions->entries = more;
            sessions->room = room;
        }
    }
    if (sessions->count < sessions->room) {
        conn->sessions = sessions;
        conn->number = ++sessions->latest;
        conn->thread = syscall(SYS_gettid);
        sessions->entries[sessions->count++].conn = conn;
    }
    pthread_mutex_unlock(&sessions->lock);
}

static void leave_sessions(struct adapter_conn *conn)
{
    struct sessions *sessions = conn->sessions;
    if (sessions == NULL) {
        return;
    }
    pthread_mutex_lock(&sessions->lock);
    size_t at = 0;
    while (sessions->entries[at].conn != conn) {
        at++;
    }
    sessions->entries[at] = sessions->entries[--sessions->count];
    pthread_mutex_unlock(&sessions->lock);
}

/* Implements the SQL function append_session(i), for the poll of --waits. Returns an integer for
 * the connection at index i (from 0) of the list: the connection's number, its thread (22 bits),
 * and whether it waits for the write lock (1 bit). Returns NULL if the list has at most i
 * connections. */
static void show_session(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct sessions *sessions = sqlite3_user_data(context);
    const sqlite3_int64 at = count == 1 ? sqlite3_value_int64(values[0]) : -1;
    pthread_mutex_lock(&sessions->lock);
    if (at >= 0 && (size_t)at < sessions->count) {
        const struct adapter_conn *conn = sessions->entries[at].conn;
        const sqlite3_int64 is_waiting = atomic_load(&conn->is_waiting) ? 1 : 0;
        sqlite3_result_int64(context, (sqlite3_int64)(conn->number << 23) |
                                          (sqlite3_int64)conn->thread << 1 | is_waiting);
    }
    pthread_mutex_unlock(&sessions->lock);
}

/* The busy handler, which SQLite calls when another connection has the lock; `count` is the number
 * of earlier calls for the same lock. Replaces SQLite's own handler, which does not set is_waiting.
 * The pauses are the same as in SQLite's handler. Returns 0, to give up, after BUSY_TIMEOUT_MS. */
static int wait_for_lock(void *context, int count)
{
    static const int pauses_ms[] = {1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100};
    struct adapter_conn *conn = context;
    conn->waited_ms = count == 0 ? 0 : conn->waited_ms;
    const int next_ms = pauses_ms[MIN((size_t)count, COUNT_OF(pauses_ms) - 1)];
    const int pause_ms = MIN(next_ms, BUSY_TIMEOUT_MS - conn->waited_ms);
    if (pause_ms <= 0) {
        return 0;
    }
    atomic_store(&conn->is_waiting, true);
    sqlite3_sleep(pause_ms);
    atomic_store(&conn->is_waiting, false);
    conn->waited_ms += pause_ms;
    return 1;
}

/* Initialises SQLite without memory statistics, which would take a global lock for every allocation
 * in every session. */
static enum status start(const char *client_lib, struct adapter_library **library,
                         struct error *error)
{
    (void)client_lib;
    struct adapter_library *made = calloc(1, sizeof *made);
    struct sessions *sessions = calloc(1, sizeof *sessions);
    if (made == NULL || sessions == NULL) {
        free(made);
        free(sessions);
        return dialect_memory_error(error);
    }
    pthread_mutex_init(&sessions->lock, NULL);
    made->sessions = sessions;
    *library = made;
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    return call_result(NULL, sqlite3_initialize(), NULL, error);
}

static void stop(struct adapter_library *library)
{
    sqlite3_shutdown();
    if (library != NULL) {
        pthread_mutex_destroy(&library->sessions->lock);
        free(library->sessions->entries);
        free(library->sessions);
        free(library);
    }
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
    leave_sessions(conn);
    sqlite3_finalize(conn->insert.statement);
    sqlite3_finalize(conn->latest.statement);
    sqlite3_close_v2(conn->database); /* rolls back an append that is in progress */
    free(conn);
}

static enum status execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    const int code = sqlite3_exec(conn->database, sql, NULL, NULL, NULL);
    return call_result(conn->database, code, NULL, error);
}

/* Rolls back a transaction that the user's SQL has left open, because an append cannot begin within
 * a transaction. Between adapter.begin and the end of its transaction, only checks that the
 * transaction is still open. `status` is the status of the SQL; returns the resulting status. */
static enum status end_transaction(struct adapter_conn *conn, enum status status,
                                   struct error *error)
{
    const bool is_open = sqlite3_get_autocommit(conn->database) == 0;
    if (conn->is_in_transaction || !is_open) {
        return conn->is_in_transaction ? dialect_check_transaction(status, is_open, error) : status;
    }
    sqlite3_exec(conn->database, "rollback", NULL, NULL, NULL);
    return dialect_refuse_transaction(status, error);
}

static enum status execute_ddl(struct adapter_conn *conn, const char *sql, struct error *error)
{
    return end_transaction(conn, execute(conn, sql, error), error);
}

/* Returns true when the database is empty. A database with content keeps the journal mode that is
 * stored in its file. */
static bool is_new(sqlite3 *database)
{
    sqlite3_stmt *statement = NULL;
    bool is = sqlite3_prepare_v2(database, "pragma page_count", -1, &statement, NULL) == SQLITE_OK;
    is = is && sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int64(statement, 0) == 0;
    sqlite3_finalize(statement);
    return is;
}

/* Sets WAL mode. Reads the mode first, so that only the first session changes the mode; reading
 * does not conflict with a writer's lock. If another session is changing the mode, reads the mode
 * again. */
static enum status use_wal(sqlite3 *database, const char *path, struct error *error)
{
    static const char *const pragmas[] = {"pragma journal_mode", "pragma journal_mode = wal",
                                          "pragma journal_mode"};
    bool is_wal = false;
    int code = SQLITE_OK;
    for (size_t i = 0; i < 3 && !is_wal && code == (i < 2 ? SQLITE_OK : SQLITE_BUSY); i++) {
        sqlite3_stmt *statement = NULL;
        code = sqlite3_prepare_v2(database, pragmas[i], -1, &statement, NULL);
        code = code == SQLITE_OK ? sqlite3_step(statement) : code;
        if (code == SQLITE_ROW) {
            const unsigned char *mode = sqlite3_column_text(statement, 0);
            is_wal = mode != NULL && strcmp((const char *)mode, "wal") == 0;
        }
        sqlite3_finalize(statement);
        if (code == SQLITE_ROW || code == SQLITE_DONE) {
            code = i < 2 || is_wal ? SQLITE_OK : SQLITE_BUSY;
        }
    }
    if (code == SQLITE_OK && !is_wal) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "SQLite cannot use a write-ahead log for %.180s", path);
        return STATUS_FATAL;
    }
    return call_result(database, code, path, error);
}

static enum status open_connection(const struct adapter *adapter, const struct target *target,
                                   struct adapter_conn **conn, struct error *error)
{
    (void)adapter;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                      (target->creates_nothing ? 0 : SQLITE_OPEN_CREATE);
    *conn = NULL;
    if (target->path == NULL || target->path[0] == '\0') {
        error_set(error, ERROR_USAGE, 0, NULL, "the path of the database file is missing");
        return STATUS_FATAL;
    }
    struct adapter_conn *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return dialect_memory_error(error);
    }
    const int code = sqlite3_open_v2(target->path, &made->database, flags, NULL);
    enum status status = call_result(made->database, code, target->path, error);
    if (status == STATUS_OK) {
        sqlite3_extended_result_codes(made->database, 1);
        sqlite3_busy_handler(made->database, wait_for_lock, made);
        status = is_new(made->database) ? use_wal(made->database, target->path, error) : STATUS_OK;
    }
    if (status == STATUS_OK) {
        status = execute(made, cache_sql, error);
    }
    if (status == STATUS_OK && target->library != NULL) {
        struct sessions *sessions = target->library->sessions;
        join_sessions(sessions, made);
        sqlite3_create_function(made->database, "append_session", 1, SQLITE_UTF8, sessions,
                                show_session, NULL, NULL);
    }
    if (status != STATUS_OK) {
        close_connection(made);
        return status == STATUS_REJECTED ? STATUS_LOST : status; /* a lock, or a full disk */
    }
    *conn = made;
    return STATUS_OK;
}

static void name_session(struct adapter_conn *conn, struct session_name *name)
{
    *name = (struct session_name){.number = conn->number};
}

static void interrupt_connection(struct adapter_conn *conn)
{
    sqlite3_interrupt(conn->database);
}

/* Binds one value to a parameter; returns SQLite's code. Text and bytes are not copied, so they
 * must stay valid until the statement is bound again. Times and addresses are bound as text. */
static int bind_value(sqlite3_stmt *statement, int parameter, const struct column *column,
                      const struct column_data *data, size_t row)
{
    const union column_values values = data->values;
    char written[VALUE_TEXT_BYTES];

    if (column_is_null(data, row)) {
        return sqlite3_bind_null(statement, parameter);
    }
    switch (column->type) {
    case COLUMN_BOOL:
        return sqlite3_bind_int(statement, parameter, values.boolean[row] != 0);
    case COLUMN_INT16:
        return sqlite3_bind_int(statement, parameter, values.int16[row]);
    case COLUMN_INT32:
        return sqlite3_bind_int(statement, parameter, values.int32[row]);
    case COLUMN_INT64:
        return sqlite3_bind_int64(statement, parameter, values.int64[row]);
    case COLUMN_FLOAT32:
        return sqlite3_bind_double(statement, parameter, (double)values.float32[row]);
    case COLUMN_FLOAT64:
        return sqlite3_bind_double(statement, parameter, values.float64[row]);
    case COLUMN_BYTES:
    case COLUMN_TEXT:
    case COLUMN_JSON: {
        const struct text_value *text = &values.text[row];
        const char *bytes = text->length > 0 ? text->bytes : "";
        return column->type == COLUMN_BYTES ? sqlite3_bind_blob(statement, parameter, bytes,
                                                                (int)text->length, SQLITE_STATIC)
                                            : sqlite3_bind_text(statement, parameter, bytes,
                                                                (int)text->length, SQLITE_STATIC);
    }
    default:
        /* decimals are also bound as text; if the column has numeric affinity, SQLite converts the
         * text to a number where no digit is lost */
        return sqlite3_bind_text(
            statement, parameter, written,
            (int)value_text_write(written, column, values, row, FRACTION_DIGITS), SQLITE_TRANSIENT);
    }
}

/* Binds the columns of one row, except generated columns. */
static inline int bind_row(sqlite3_stmt *statement, const struct batch *batch, size_t row)
{
    const struct table *table = batch->table;
    int code = SQLITE_OK;
    int parameter = 0;
    for (size_t i = 0; i < table->column_count && code == SQLITE_OK; i++) {
        if (!table->columns[i].is_generated) {
            code = bind_value(statement, ++parameter, &table->columns[i], &batch->columns[i], row);
        }
    }
    return code;
}

/* Prepares `sql`, a single statement, for `key`; the previous statement is freed. */
static enum status prepare_one(struct adapter_conn *conn, struct adapter_prepared *prepared,
                               const void *key, const char *sql, struct error *error)
{
    sqlite3_stmt *second = NULL;
    const char *rest = sql;
    sqlite3_finalize(prepared->statement);
    *prepared = (struct adapter_prepared){NULL, NULL};
    int code = sqlite3_prepare_v3(conn->database, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                  &prepared->statement, &rest);
    if (code == SQLITE_OK && *rest != '\0') {
        code = sqlite3_prepare_v2(conn->database, rest, -1, &second, NULL);
        sqlite3_finalize(second);
    }
    if (code != SQLITE_OK) {
        return call_result(conn->database, code, NULL, error);
    }
    if (prepared->statement == NULL || second != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "%s: \"%.160s\"",
                  second != NULL ? "only a single statement can be prepared"
                                 : "there is no statement to prepare",
                  sql);
        return STATUS_FATAL;
    }
    prepared->key = key;
    return STATUS_OK;
}

/* Implements adapter.prepare. Checks the number of parameters, because SQLite would use NULL for a
 * missing value. SQLite itself prepares the statement again when a table has changed. */
static enum status prepare(struct adapter_conn *conn, const struct statement *statement,
                           struct adapter_prepared **prepared, struct error *error)
{
    if (*prepared == NULL) {
        *prepared = calloc(1, sizeof **prepared);
    }
    if (*prepared == NULL) {
        return dialect_memory_error(error);
    }
    const enum status status = prepare_one(conn, *prepared, statement, statement->sql, error);
    if (status != STATUS_OK) {
        return status;
    }
    const int marks = sqlite3_bind_parameter_count((*prepared)->statement);
    return dialect_check_parameters(statement, (size_t)marks, error);
}

static void drop(struct adapter_conn *conn, struct adapter_prepared *prepared)
{
    (void)conn;
    sqlite3_finalize(prepared->statement);
    free(prepared);
}

/* Rolls the current append back, if SQLite has not done so itself. The error must already be
 * recorded. */
static void roll_back(struct adapter_conn *conn)
{
    sqlite3_reset(conn->insert.statement);
    sqlite3_clear_bindings(conn->insert.statement); /* the bindings point into a batch */
    if (!sqlite3_get_autocommit(conn->database)) {
        sqlite3_exec(conn->database, "rollback", NULL, NULL, NULL);
    }
}

static enum status append_open(struct adapter_conn *conn, const struct table *table,
                               struct error *error)
{
    enum status status = STATUS_OK;
    if (conn->insert.key != table) {
        struct buffer sql = {0};
        ask_write_insert(&sql, table, '"', 1);
        status = buffer_failed(&sql)
                     ? dialect_memory_error(error)
                     : prepare_one(conn, &conn->insert, table, buffer_text(&sql), error);
        buffer_fini(&sql);
    }
    conn->inserted_rows = 0;
    return status == STATUS_OK && !conn->is_in_transaction ? execute(conn, "begin immediate", error)
                                                           : status;
}

static enum status append_rows(struct adapter_conn *conn, const struct batch *batch, uint64_t *kept,
                               struct error *error)
{
    (void)kept;
    sqlite3_stmt *const insert = conn->insert.statement;
    for (size_t row = 0; row < batch->row_count; row++) {
        int code = bind_row(insert, batch, row);
        if (code == SQLITE_OK) {
            sqlite3_step(insert);
            code = sqlite3_reset(insert);
        }
        if (code != SQLITE_OK) {
            const enum status status = call_result(conn->database, code, NULL, error);
            roll_back(conn);
            return status;
        }
        /* the number is 0 when a constraint or a trigger of the table says to ignore the row */
        conn->inserted_rows += (uint64_t)sqlite3_changes(conn->database);
    }
    sqlite3_clear_bindings(insert);
    return STATUS_OK;
}

static enum status append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error)
{
    const enum status status = conn->is_in_transaction ? STATUS_OK : execute(conn, "commit", error);
    *accepted = status == STATUS_OK ? conn->inserted_rows : 0;
    if (status != STATUS_OK) {
        roll_back(conn);
    }
    return status;
}

/* Runs a prepared statement until it ends or the caller wants no more rows. Adds the number of
 * returned or changed rows to answer->rows. Returns SQLite's code. */
static int step(struct adapter_conn *conn, sqlite3_stmt *statement, const struct batch *parameters,
                struct answer *answer)
{
    int columns = sqlite3_column_count(statement);
    const int64_t changes_before = sqlite3_total_changes64(conn->database);
    int code = parameters != NULL ? bind_row(statement, parameters, 0) : SQLITE_OK;
    if (code != SQLITE_OK) {
        return code;
    }
    struct cell *cells = NULL;
    bool is_wanted = true;
    while (is_wanted && sqlite3_step(statement) == SQLITE_ROW) {
        answer->rows++;
        if (answer->take != NULL && cells == NULL) {
            columns = sqlite3_column_count(statement); /* a table may have changed since prepare */
            cells = calloc((size_t)columns + 1, sizeof *cells);
            if (cells == NULL) {
                sqlite3_reset(statement);
                return SQLITE_NOMEM;
            }
        }
        for (int i = 0; i < columns && cells != NULL; i++) {
            const int type = sqlite3_column_type(statement, i);
            cells[i] = (struct cell){.type = COLUMN_TEXT, .is_null = type == SQLITE_NULL};
            if (type == SQLITE_INTEGER) {
                cells[i].type = COLUMN_INT64;
                cells[i].as.int64 = sqlite3_column_int64(statement, i);
            } else {
                cells[i].as.text.bytes = (const char *)sqlite3_column_text(statement, i);
                cells[i].as.text.length = (uint32_t)sqlite3_column_bytes(statement, i);
            }
        }
        is_wanted = answer->take == NULL || answer->take(answer->context, cells, (size_t)columns);
    }
    free(cells);
    code = sqlite3_reset(statement);
    /* if this statement has changed no row, sqlite3_changes64 returns the number of an earlier
     * statement */
    if (code == SQLITE_OK && columns == 0 &&
        sqlite3_total_changes64(conn->database) != changes_before) {
        answer->rows += (uint64_t)sqlite3_changes64(conn->database);
    }
    if (parameters != NULL) {
        sqlite3_clear_bindings(statement); /* the bindings point into the batch */
    }
    return code;
}

/* Runs all statements of a text. */
static enum status run_text(struct adapter_conn *conn, const char *sql,
                            const struct batch *parameters, struct answer *answer,
                            struct error *error)
{
    struct answer changed = *answer;
    enum status status = STATUS_OK;
    bool has_rows = false;
    while (status == STATUS_OK && *sql != '\0') {
        sqlite3_stmt *made = NULL;
        int code = sqlite3_prepare_v2(conn->database, sql, -1, &made, &sql);
        if (code == SQLITE_OK && made != NULL) {
            const bool returns = sqlite3_column_count(made) > 0;
            has_rows = has_rows || returns;
            code = step(conn, made, parameters, returns ? answer : &changed);
        }
        status = call_result(conn->database, code, NULL, error);
        sqlite3_finalize(made);
    }
    answer->rows = has_rows ? answer->rows : changed.rows;
    return status;
}

static enum status run(struct adapter_conn *conn, const struct statement *statement,
                       const struct batch *parameters, struct answer *answer, struct error *error)
{
    enum status status = STATUS_OK;
    answer->rows = 0;
    if (!statement->is_prepared) {
        status = run_text(conn, statement->sql, parameters, answer, error);
        return end_transaction(conn, status, error);
    }
    if (conn->latest.key != statement) {
        status = prepare_one(conn, &conn->latest, statement, statement->sql, error);
    }
    if (status == STATUS_OK) {
        const int code = step(conn, conn->latest.statement, parameters, answer);
        status = call_result(conn->database, code, NULL, error);
    }
    return end_transaction(conn, status, error);
}

static enum status run_prepared(struct adapter_conn *conn, struct adapter_prepared *prepared,
                                const struct batch *parameters, struct answer *answer,
                                enum staleness *stale, struct error *error)
{
    (void)stale;
    answer->rows = 0;
    const int code = step(conn, prepared->statement, parameters, answer);
    return end_transaction(conn, call_result(conn->database, code, NULL, error), error);
}

/* Implements adapter.begin. Every transaction is serializable, whatever isolation is requested. */
static enum status begin(struct adapter_conn *conn, const struct transaction *transaction,
                         struct error *error)
{
    const enum status status =
        execute(conn, transaction->writes ? "begin immediate" : "begin", error);
    conn->is_in_transaction = status == STATUS_OK;
    return status;
}

/* Rolls back, unless SQLite itself has ended the transaction, which it does after some errors. */
static enum status rollback(struct adapter_conn *conn, struct error *error)
{
    conn->is_in_transaction = false;
    return sqlite3_get_autocommit(conn->database) ? STATUS_OK : execute(conn, "rollback", error);
}

static enum status commit(struct adapter_conn *conn, struct error *error)
{
    const enum status status = execute(conn, "commit", error);
    conn->is_in_transaction = false;
    if (status != STATUS_OK) {
        rollback(conn, &(struct error){.kind = ERROR_NONE});
    }
    return status;
}

static void inspect(const struct adapter *adapter, struct adapter_conn *conn,
                    struct connection_info *info)
{
    (void)conn;
    dialect_inspect(adapter->dialect, info);
}

static enum status server_limits(const struct adapter *adapter, struct adapter_conn *conn,
                                 struct server_limits *limits, struct error *error)
{
    (void)adapter;
    (void)conn;
    (void)error;
    memset(limits, 0, sizeof *limits);
    snprintf(limits->version, sizeof limits->version, "SQLite %s", sqlite3_libversion());
    return STATUS_OK;
}

static const char *const aliases[] = {"sqlite3", NULL};

const struct adapter adapter_sqlite = {
    .name = "sqlite",
    .aliases = aliases,
    .summary = "SQLite inside this program",
    .flags = ADAPTER_EMBEDDED | ADAPTER_FILE,
    .identifier_quote = '"',
    .stack_bytes = (size_t)256 * 1024,
    .files_per_session = 2, /* database and log; all connections share the log's index */
    .dialect = &dialect_sqlite,
    .start = start,
    .stop = stop,
    .client_version = client_version,
    .open = open_connection,
    .close = close_connection,
    .interrupt = interrupt_connection,
    .name_session = name_session,
    .inspect = inspect,
    .execute = execute_ddl,
    .describe = dialect_describe,
    .append_open = append_open,
    .append_rows = append_rows,
    .append_close = append_close,
    .run = run,
    .prepare = prepare,
    .run_prepared = run_prepared,
    .drop = drop,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .server_limits = server_limits,
};
