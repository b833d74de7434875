/*
 * ClickHouse over HTTP. All rows of one append are sent in the body of one INSERT, in the format
 * RowBinary, TabSeparated or JSONEachRow (--method). Queries are sent as text in which literals
 * replace the parameters. The server answers queries in TabSeparated. A parameter of the URL that
 * http.h does not know is a server setting for every request: "?async_insert=1".
 *
 * The server has no sessions, so this program gives each connection a number. The header User-Agent
 * of each request contains this number and the name of the statement: "append/1.0 (session 4711;
 * append)". The server shows this header in system.processes and in its query log.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapters/clickhouse.h"
#include "adapters/http.h"
#include "base/ask.h"
#include "base/random.h"

static const char *const methods[] = {"rowbinary", "tsv", "json", NULL};
static const char *const formats[] = {"RowBinary", "TabSeparated", "JSONEachRow"};

/* The server stores an INSERT as one block if it has fewer rows and fewer bytes than these limits.
 * The limits are the server's defaults: of max_insert_block_size in version 25 (older versions have
 * a larger default), and of min_chunk_bytes_for_parallel_parsing. */
enum {
    BLOCK_ROWS = 1048449,
    BLOCK_BYTES = 10 << 20,
};

struct adapter_conn {
    struct http *http;
    struct buffer path; /* HTTP path of queries, with database and settings */
    char version[64];
    char user[128], database[128];
    enum clickhouse_method method;
    uint64_t number; /* the session's number; all numbers of a process have the same upper bits */
    char agent[160];
    bool has_own_blocks; /* the target's URL has a setting that affects the size of blocks */

    const struct table *table; /* the table that insert_path writes to */
    struct buffer insert_path;
    struct buffer body;
    uint64_t rows; /* rows in `body` */
};

/* Reads the server's error text: "Code: 60, e.displayText() = DB::Exception: words, e.what() =
 * DB::Exception" or, from later versions, "Code: 60. DB::Exception: words. (UNKNOWN_TABLE) (version
 * 22.3)". */
static void classify_error(unsigned status, const char *body, size_t length,
                           struct dialect_failure *failure, struct dialect_meaning *meaning,
                           char text[ERROR_TEXT_BYTES])
{
    const char *const code = strstr(body, "Code: ");
    const char *const message = code != NULL ? strstr(code, CLICKHOUSE_EXCEPTION) : NULL;
    (void)status;
    (void)length;
    if (message != NULL) {
        failure->number = (int)strtol(code + strlen("Code: "), NULL, 10);
        failure->text = message + strlen(CLICKHOUSE_EXCEPTION);
        dialect_clickhouse.classify_error(failure, meaning);
        dialect_clickhouse.write_text(failure, NULL, text, ERROR_TEXT_BYTES);
        failure->text = text;
    }
}

/* Adds a parameter of the target's URL to conn->path, so that it is a setting of every request. */
static bool set(struct adapter_conn *conn, const char *key, const char *value, struct error *error)
{
    static const char *const reserved[] = {"query",    "database",       "user",
                                           "password", "default_format", "session_id"};
    for (size_t i = 0; i < COUNT_OF(reserved); i++) {
        if (strcmp(reserved[i], key) == 0) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "'%s' cannot be a URL parameter, because append sets it: leave it out", key);
            return false;
        }
    }
    conn->has_own_blocks |=
        strstr(key, "insert_block_size") != NULL || strstr(key, "parallel_parsing") != NULL;
    buffer_add_text(&conn->path, "&");
    http_add_encoded(&conn->path, key);
    buffer_add_text(&conn->path, "=");
    http_add_encoded(&conn->path, value);
    return true;
}

/* Returns the number of rows that a statement wrote. For INSERT ... VALUES, counts the rows in the
 * text. For any other statement, returns the number that the server reports, or 0 if the server
 * (an old one) reports no number. */
static uint64_t count_written(const struct adapter_conn *conn, const char *sql)
{
    static const char member[] = "\"written_rows\":\"";
    const char *const summary = http_header(conn->http, "X-ClickHouse-Summary");
    const char *const written = summary != NULL ? strstr(summary, member) : NULL;
    const uint64_t rows = clickhouse_count_values(sql);
    return rows > 0 || written == NULL ? rows : strtoull(written + strlen(member), NULL, 10);
}

/* Checks an answer with status 2xx to an INSERT. ClickHouse acknowledges rows with status 200 and
 * an empty body. If a header contains an exception's code, the INSERT has failed. `length` is the
 * number of bytes or lines in the body. */
static enum status check_insert(struct adapter_conn *conn, uint64_t length, struct error *error)
{
    const char *const code = http_header(conn->http, "X-ClickHouse-Exception-Code");
    if (code != NULL) {
        char text[80];
        snprintf(text, sizeof text, "Code: %.20s%s (the server sent no message)", code,
                 CLICKHOUSE_EXCEPTION);
        return http_record_error(conn->http, text, strlen(text), error);
    }
    return http_status(conn->http) == 200 && length == 0
               ? STATUS_OK
               : http_malformed_answer(conn->http, "an INSERT", error);
}

/* Returns the status of an INSERT, after its answer was recorded with the status `status`. If the
 * answer is an error but the server may have stored some of the rows, returns LOST. `rows` and
 * `bytes` are the size of the INSERT; `rows` is 0 for INSERT ... SELECT. The server stores each
 * block, each partition of a block, and the rows for each view's table separately. An error does
 * not undo what the server has already stored:
 * https://clickhouse.com/docs/guides/developer/transactional. */
static enum status judge_insert(const struct adapter_conn *conn, enum status status, uint64_t rows,
                                size_t bytes, const struct error *error)
{
    /* errors that the server finds before it reads rows: wrong user, privilege, setting, syntax,
     * table or column names, too many queries (executeQuery, InterpreterInsertQuery) */
    static const int before_rows[] = {16,  60,  62,  81,  115, 164, 192,
                                      193, 194, 195, 202, 291, 497, 516};
    /* errors that the server finds before it writes any part of a block: names and types in VALUES
     * (47, 53), too many parts or partitions (252: MergeTreeSink::onStart, splitBlockIntoParts),
     * too few replicas (285: ReplicatedMergeTreeSink), a constraint (469:
     * CheckConstraintsTransform) */
    static const int before_write[] = {47, 53, 252, 285, 469};
    /* texts in the messages of errors that can occur after rows were stored: errors in a view's
     * table, and errors in one of several shards */
    static const char *const elsewhere[] = {"while pushing to view",
                                            "Insertion status:", "Received from "};
    const char *const answer = http_body(conn->http, NULL);
    const int code = error->native_code;
    const bool is_block =
        !conn->has_own_blocks && rows > 0 && rows < BLOCK_ROWS && bytes < BLOCK_BYTES;
    /* the parsers add the number of the row to their errors: "(at row 3)", " at row 3" (VALUES) */
    bool is_whole = is_block && strstr(answer, "at row ") != NULL;
    if (status == STATUS_OK || status == STATUS_LOST || http_status(conn->http) == 0) {
        return status;
    }
    if ((unsigned)code == http_status(conn->http)) { /* no error code of ClickHouse */
        return error->kind == ERROR_SERVER ? STATUS_LOST : status;
    }
    for (size_t i = 0; i < COUNT_OF(before_write); i++) {
        is_whole |= is_block && code == before_write[i];
    }
    for (size_t i = 0; i < COUNT_OF(before_rows); i++) {
        is_whole |= code == before_rows[i];
    }
    for (size_t i = 0; i < COUNT_OF(elsewhere); i++) {
        is_whole &= strstr(answer, elsewhere[i]) == NULL;
    }
    /* if the status is below 400, the server began its answer before the error occurred, and had
     * already read rows */
    return is_whole && http_status(conn->http) >= 400 ? status : STATUS_LOST;
}

/* Returns the text to add to the header User-Agent of a request for the statement `name`. The names
 * of statements contain only characters that are allowed in a header. */
static const char *agent_for(struct adapter_conn *conn, const char *name)
{
    snprintf(conn->agent, sizeof conn->agent, " (session %" PRIu64 "; %s)", conn->number, name);
    return conn->agent;
}

/* Runs one statement and adds its rows to the answer. `name` is the statement's name in
 * User-Agent. */
static enum status run_one(struct adapter_conn *conn, const char *name, const struct buffer *sql,
                           struct answer *answer, uint64_t *written, struct error *error)
{
    struct clickhouse_reading reading = {.answer = answer};
    const uint64_t rows = answer->rows;
    const struct http_request request = {.method = "POST",
                                         .path = buffer_text(&conn->path),
                                         .type = "text/plain; charset=UTF-8",
                                         .body = sql->bytes,
                                         .length = sql->length,
                                         .agent = agent_for(conn, name),
                                         .take = clickhouse_take_line,
                                         .context = &reading};
    const bool is_insert = strncasecmp(buffer_text(sql), "insert", 6) == 0;
    enum status status = http_send(conn->http, &request, error);
    free(reading.cells);
    if (status == STATUS_OK && reading.has_failed) {
        return dialect_memory_error(error);
    }
    if (status == STATUS_OK && reading.exception[0] != '\0') {
        status = http_record_error(conn->http, reading.exception, strlen(reading.exception), error);
    } else if (status == STATUS_OK && is_insert) {
        status = check_insert(conn, answer->rows - rows, error);
        answer->rows = rows;
    }
    if (is_insert && status != STATUS_OK) {
        status = judge_insert(conn, status, clickhouse_count_values(buffer_text(sql)), sql->length,
                              error);
    }
    *written += status == STATUS_OK ? count_written(conn, buffer_text(sql)) : 0;
    return status;
}

/* Runs all statements in statement->sql, with each ? replaced by its value. */
static enum status run(struct adapter_conn *conn, const struct statement *statement,
                       const struct batch *parameters, struct answer *answer, struct error *error)
{
    struct sql_script script = {.rest = statement->sql, .lexis = SQL_BACKSLASHES};
    struct buffer sql = {0};
    const char *const name = statement->name != NULL ? statement->name : "";
    enum status status = STATUS_OK;
    uint64_t written = 0;
    size_t used = 0;
    answer->rows = 0;
    while (status == STATUS_OK && sql_script_next(&script)) {
        const char *at = buffer_text(&script.statement);
        const bool is_insert = strncasecmp(at, "insert", 6) == 0;
        buffer_clear(&sql);
        for (const char *mark; *(mark = sql_script_find_parameter(at, SQL_BACKSLASHES)) != '\0';
             at = mark + 1) {
            buffer_add(&sql, at, (size_t)(mark - at));
            if (parameters == NULL || used == parameters->table->column_count) {
                buffer_add_text(&sql, "?"); /* the server reports the error */
            } else {
                clickhouse_add_literal(&sql, &parameters->table->columns[used],
                                       &parameters->columns[used], is_insert);
                used++;
            }
        }
        buffer_add_text(&sql, at);
        status = buffer_failed(&sql) || buffer_failed(&script.statement)
                     ? dialect_memory_error(error)
                     : run_one(conn, name, &sql, answer, &written, error);
    }
    buffer_fini(&script.statement);
    buffer_fini(&sql);
    answer->rows = answer->rows > 0 ? answer->rows : written;
    return status;
}

/* Only checks the number of parameters, because the server keeps no prepared statements. */
static enum status prepare(struct adapter_conn *conn, const struct statement *statement,
                           struct adapter_prepared **prepared, struct error *error)
{
    (void)conn;
    (void)prepared;
    return dialect_check_parameters(
        statement, sql_script_count_parameters(statement->sql, SQL_BACKSLASHES), error);
}

static enum status execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    const struct statement statement = {.sql = sql};
    return run(conn, &statement, NULL, &(struct answer){.take = NULL}, error);
}

static bool take_identity(void *context, const struct cell *cells, size_t count)
{
    struct adapter_conn *conn = context;
    if (count == 2) {
        ask_text(&cells[0], conn->version, sizeof conn->version);
        ask_text(&cells[1], conn->database, sizeof conn->database);
    }
    return true;
}

/* Runs a query to check user, password, database and settings, because the server answers a ping
 * without checking them. */
static enum status greet(struct adapter_conn *conn, const struct target *target,
                         struct error *error)
{
    const struct statement identity = {.sql = "select version(), currentDatabase()"};
    struct answer answer = {.take = take_identity, .context = conn};
    (void)target;
    const enum status status = run(conn, &identity, NULL, &answer, error);
    if (status == STATUS_OK && conn->version[0] == '\0') {
        error_set(error, ERROR_SERVER, 0, NULL,
                  "the server did not report a version as ClickHouse does: is this ClickHouse's "
                  "HTTP port?");
        return STATUS_FATAL;
    }
    return status;
}

static enum status begin(struct adapter_conn *conn, const struct target *target,
                         struct error *error)
{
    /* 39 random bits for the process, so that a number has at most 63 bits */
    static _Atomic uint64_t latest;
    uint64_t none = 0;
    atomic_compare_exchange_strong(&latest, &none,
                                   random_seed() >> 1 << DIALECT_CLICKHOUSE_SESSION_BITS);
    conn->number = atomic_fetch_add(&latest, 1) + 1;
    (void)error;
    while (target->method != NULL && methods[conn->method] != NULL &&
           strcmp(methods[conn->method], target->method) != 0) {
        conn->method++;
    }
    snprintf(conn->user, sizeof conn->user, "%s", target->user != NULL ? target->user : "default");
    buffer_add_text(&conn->path, "/?default_format=TabSeparated");
    if (target->database != NULL) {
        buffer_add_text(&conn->path, "&database=");
        http_add_encoded(&conn->path, target->database);
    }
    return STATUS_OK;
}

static void end(struct adapter_conn *conn)
{
    buffer_fini(&conn->path);
    buffer_fini(&conn->insert_path);
    buffer_fini(&conn->body);
}

/* Recognises ClickHouse by headers that no other server sends. ClickHouse sends these headers with
 * every answer, including errors. */
static bool is_clickhouse(unsigned status, const char *headers, const char *body)
{
    (void)status;
    (void)body;
    return strcasestr(headers, "\nX-ClickHouse-") != NULL;
}

static const struct http_database database = {
    .conn_bytes = sizeof(struct adapter_conn),
    .default_port = 8123,
    .user_header = "X-ClickHouse-User",
    .password_header = "X-ClickHouse-Key",
    .ping = "/ping",
    .question = "/?query=select%201",
    .protocol = "ClickHouse's",
    .recognises_answer = is_clickhouse,
    .is_own = is_clickhouse,
    .begin = begin,
    .end = end,
    .greet = greet,
    .set = set,
    .classify_error = classify_error,
};

static void name_session(struct adapter_conn *conn, struct session_name *name)
{
    *name = (struct session_name){.number = conn->number};
}

static void inspect(const struct adapter *adapter, struct adapter_conn *conn,
                    struct connection_info *info)
{
    http_inspect(adapter, conn, info);
    snprintf(info->user, sizeof info->user, "%s", conn->user);
    snprintf(info->database, sizeof info->database, "%s", conn->database);
    info->method = methods[conn->method];
    info->not_in_names = "\\"; /* a backslash begins an escape sequence */
    info->unsupported = dialect_clickhouse_unsupported(conn->version);
}

/* Opens an append. Reconnects if the server has closed the idle connection. This loses no row,
 * because no row of the append was sent yet. */
static enum status append_open(struct adapter_conn *conn, const struct table *table,
                               struct error *error)
{
    for (size_t i = 0; i < table->column_count && conn->table != table; i++) {
        const struct column *column = &table->columns[i];
        if (conn->method == CLICKHOUSE_ROWBINARY && !column->is_generated &&
            column->native_type == 0) {
            error_set(
                error, ERROR_UNSUPPORTED, 0, NULL,
                "column '%.60s' of table '%.60s' has an unknown RowBinary encoding: use --method "
                "tsv or json",
                column->name, table->name);
            return STATUS_FATAL;
        }
    }
    if (conn->table != table) {
        struct buffer sql = {0};
        buffer_add_text(&sql, "INSERT INTO ");
        ask_write_target(&sql, table, '`');
        buffer_add_format(&sql, " FORMAT %s", formats[conn->method]);
        buffer_clear(&conn->insert_path);
        buffer_add_format(&conn->insert_path, "%s&query=", buffer_text(&conn->path));
        http_add_encoded(&conn->insert_path, buffer_text(&sql));
        const bool has_failed = buffer_failed(&sql) || buffer_failed(&conn->insert_path);
        buffer_fini(&sql);
        conn->table = has_failed ? NULL : table;
        if (has_failed) {
            return dialect_memory_error(error);
        }
    }
    conn->rows = 0;
    buffer_clear(&conn->body);
    return http_begin_append(conn->http, error);
}

static enum status append_rows(struct adapter_conn *conn, const struct batch *batch, uint64_t *kept,
                               struct error *error)
{
    (void)kept;
    const struct column *unfit = clickhouse_add_rows(&conn->body, batch, conn->method);
    conn->rows += batch->row_count;
    if (unfit == NULL && !buffer_failed(&conn->body)) {
        return STATUS_OK;
    }
    if (unfit == NULL) {
        dialect_memory_error(error);
    } else {
        error_set(
            error, ERROR_DATA, 0, NULL,
            "a value for column '%.80s' of type %.60s is out of range, too long or NULL: change "
            "--values or the script",
            unfit->name, unfit->type_name);
    }
    buffer_fini(&conn->body);
    return unfit == NULL ? STATUS_FATAL : STATUS_REJECTED;
}

/* Sends the rows as one INSERT. */
static enum status append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error)
{
    const struct http_request request = {.method = "POST",
                                         .path = buffer_text(&conn->insert_path),
                                         .type = "application/octet-stream",
                                         .body = conn->body.bytes,
                                         .length = conn->body.length,
                                         .agent = agent_for(conn, "append"),
                                         .body_buffer = &conn->body};
    enum status status = STATUS_OK;
    *accepted = 0;
    if (conn->rows > 0) {
        const size_t bytes = conn->body.length;
        size_t length = 0;
        status = http_send(conn->http, &request, error);
        const char *const body = status == STATUS_OK ? http_body(conn->http, &length) : "";
        if (strstr(body, CLICKHOUSE_EXCEPTION) != NULL) {
            status = http_record_error(conn->http, body, length, error);
        } else if (status == STATUS_OK) {
            status = check_insert(conn, length, error);
        }
        status = judge_insert(conn, status, conn->rows, bytes, error);
    }
    buffer_fini(&conn->body);
    *accepted = status == STATUS_OK ? conn->rows : 0;
    http_add_loss(conn->http, status, conn->rows - *accepted);
    return status;
}

static enum status server_limits(const struct adapter *adapter, struct adapter_conn *conn,
                                 struct server_limits *limits, struct error *error)
{
    const enum status status = dialect_server_limits(adapter, conn, limits, error);
    snprintf(limits->version, sizeof limits->version, "ClickHouse %s", conn->version);
    return status;
}

const struct adapter adapter_clickhouse = {
    .name = "clickhouse",
    .summary = "ClickHouse: rowbinary, tsv, json",
    .flags = ADAPTER_CLAUSES,
    .default_port = 8123,
    .identifier_quote = '`',
    .engine_clause = " ENGINE = ",
    HTTP_OPERATIONS,
    .methods = methods,
    .dialect = &dialect_clickhouse,
    .own = &database,
    .inspect = inspect,
    .name_session = name_session,
    .execute = execute,
    .describe = dialect_describe,
    .append_open = append_open,
    .append_rows = append_rows,
    .append_close = append_close,
    .run = run,
    .prepare = prepare,
    .server_limits = server_limits,
};
