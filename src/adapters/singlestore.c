/*
 * SingleStore over its Data API: SQL in JSON over HTTP; rows are the arguments of INSERTs.
 *
 * Each request is one transaction, and no transaction spans requests. The body of a request has at
 * most 1 MB, so a longer append is sent as several requests. This adapter assumes that the server
 * reads numbers as doubles, and sends numbers that a double cannot hold as strings. Bytes are sent
 * as base64, which the server decodes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "adapters/dialect.h"
#include "adapters/http.h"
#include "base/ask.h"

enum {
    BODY_MAX = 1000 * 1000, /* the smaller meaning of "1 MB", in bytes */
    DEFAULT_PORT = 8080,    /* the port in the vendor's examples; there is no standard port */
};

/* A connection belongs to one session's thread. */
struct adapter_conn {
    struct http *http;
    struct buffer between;     /* the part of a body between the arguments and the SQL */
    struct buffer body;        /* body of the next request, up to its arguments */
    struct buffer sql;         /* SQL of the next request */
    const struct table *table; /* table of the current append */
    size_t rows;               /* rows in the request */
    size_t spare;  /* maximum number of bytes that JSON adds to the SQL, with the closing bracket */
    uint64_t kept; /* rows that the server acknowledged */
};

static const struct column text_column = {.type = COLUMN_TEXT};

static const char *mark_for(const struct column *column)
{
    return dialect_mysql_is_binary(column) ? "from_base64(?)" : "?";
}

/* Adds a value as an argument, a JSON scalar. */
static void add_argument(struct buffer *body, const struct column *column,
                         const struct column_data *data, size_t row)
{
    static const int64_t safe = INT64_C(1) << 53;
    const bool is_null = column_is_null(data, row);
    const bool is_id = column->type != COLUMN_BYTES && dialect_mysql_is_binary(column);
    const bool is_long = column->type == COLUMN_DECIMAL ||
                         (column->type == COLUMN_INT64 &&
                          (data->values.int64[row] > safe || data->values.int64[row] < -safe));
    const char *const quote = !is_null && (is_id || is_long) ? "\"" : "";
    buffer_add_text(body, quote);
    if (!is_null && is_id) {
        const size_t width = column->type == COLUMN_IP4 ? 4 : 16;
        http_add_base64(body, (const char *)data->values.any + row * width, width);
    } else {
        http_add_json(body, column->type == COLUMN_JSON ? &text_column : column, data, row);
    }
    buffer_add_text(body, quote);
}

static void begin_request(struct adapter_conn *conn)
{
    conn->rows = 0;
    buffer_clear(&conn->sql);
    buffer_clear(&conn->body);
    buffer_add_text(&conn->body, "{\"args\":[");
}

/* Sends the request. If the answer has status 200 but is malformed, it is unknown whether the
 * request was carried out. */
static enum status post(struct adapter_conn *conn, bool is_query, struct answer *answer,
                        struct error *error)
{
    buffer_add(&conn->body, conn->between.bytes, conn->between.length);
    http_add_string(&conn->body, buffer_text(&conn->sql), conn->sql.length);
    buffer_add_text(&conn->body, "}");
    if (buffer_failed(&conn->between) || buffer_failed(&conn->body) || buffer_failed(&conn->sql)) {
        return dialect_memory_error(error);
    }
    struct http_reading reading = {.answer = answer, .error = error};
    const struct http_request request = {.method = "POST",
                                         .path = is_query ? "/api/v2/query/tuples" : "/api/v2/exec",
                                         .type = "application/json",
                                         .body = conn->body.bytes,
                                         .length = conn->body.length,
                                         .take = is_query ? http_take_row : NULL,
                                         .rows = "rows",
                                         .context = &reading};
    enum status status = http_send(conn->http, &request, error);
    if (status != STATUS_OK || reading.status != STATUS_OK || reading.take_stopped) {
        return status == STATUS_OK ? reading.status : status;
    }
    json_t *const json = http_json(conn->http, error);
    const json_t *const affected = json_object_get(json, "rowsAffected");
    const json_t *const results = json_object_get(json, "results");
    const json_t *const rows = json_object_get(json_array_get(results, 0), "rows");
    if (json_object_get(json, "error") != NULL) {
        size_t length;
        const char *const body = http_body(conn->http, &length);
        status = http_record_error(conn->http, body, length, error);
    } else if (is_query && json_is_array(rows)) {
        status = STATUS_OK; /* the rows were already passed to answer->take */
    } else if (!is_query && json_is_integer(affected) && json_integer_value(affected) >= 0) {
        answer->rows += (uint64_t)json_integer_value(affected);
    } else {
        error_set(error, ERROR_SERVER, 0, NULL, "the answer contains no %s",
                  is_query ? "rows" : "number of affected rows");
        status = STATUS_LOST;
    }
    json_decref(json);
    return status;
}

static bool returns_rows(const char *sql)
{
    static const char keywords[] = " select with show describe desc explain profile echo table ";
    char word[12];
    const size_t length = strcspn(sql, " \t\r\n(");
    snprintf(word, sizeof word, " %.*s ", (int)MIN(length, sizeof word), sql);
    return sql[0] == '(' || (length > 0 && strcasestr(keywords, word) != NULL);
}

static enum status run_one(struct adapter_conn *conn, const char *sql,
                           const struct batch *parameters, struct answer *answer,
                           struct error *error)
{
    const unsigned lexis = SQL_BACKSLASHES | SQL_HASHES;
    const size_t count = parameters != NULL ? parameters->table->column_count : 0;
    const char *rest = sql;
    begin_request(conn);
    for (size_t i = 0; i < count; i++) {
        const struct column *const column = &parameters->table->columns[i];
        const char *const mark = sql_script_find_parameter(rest, lexis);
        buffer_add_text(&conn->body, i > 0 ? "," : "");
        add_argument(&conn->body, column, &parameters->columns[i], 0);
        buffer_add(&conn->sql, rest, (size_t)(mark - rest));
        buffer_add_text(&conn->sql, *mark != '\0' ? mark_for(column) : "");
        rest = mark + (*mark != '\0' ? 1 : 0);
    }
    buffer_add_text(&conn->sql, rest);
    return post(conn, returns_rows(sql), answer, error);
}

static enum status run(struct adapter_conn *conn, const struct statement *statement,
                       const struct batch *parameters, struct answer *answer, struct error *error)
{
    struct sql_script script = {.rest = statement->sql, .lexis = SQL_BACKSLASHES | SQL_HASHES};
    enum status status = STATUS_OK;
    answer->rows = 0;
    while (status == STATUS_OK && sql_script_next(&script)) {
        const char *const sql = buffer_text(&script.statement);
        if (buffer_failed(&script.statement)) {
            status = dialect_memory_error(error);
        } else {
            status = script.kind == SQL_SCRIPT_BEGIN
                         ? dialect_refuse_transaction(STATUS_OK, error)
                         : run_one(conn, sql, parameters, answer, error);
        }
    }
    buffer_fini(&script.statement);
    return status;
}

static enum status execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    return run(conn, &(struct statement){.sql = sql}, NULL, &(struct answer){.take = NULL}, error);
}

/* Reads "Error 1146: Table ..." or {"error":{"code":1146,"message":"Table ..."}}. Writes the
 * message to `text` and returns the number. */
static int read_error(const char *body, size_t length, char *text, size_t size)
{
    json_t *const json = json_loadb(body, length, 0, NULL);
    const json_t *const inside = json_object_get(json, "error");
    const char *const message = json_string_value(json_object_get(inside, "message"));
    int number = (int)json_integer_value(json_object_get(inside, "code"));
    char line[2 * ERROR_TEXT_BYTES];
    snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line), body);
    const char *start = message != NULL ? message : line;
    const char *const colon = strchr(start, ':');
    if (colon != NULL && strncmp(start, "Error ", 6) == 0) {
        number = (int)strtol(start + 6, NULL, 10);
        start = colon + 1 + strspn(colon + 1, " ");
    }
    snprintf(text, size, "%.*s", (int)strcspn(start, "\r\n"), start);
    json_decref(json);
    return number;
}

static void classify_error(unsigned status, const char *body, size_t length,
                           struct dialect_failure *failure, struct dialect_meaning *meaning,
                           char text[ERROR_TEXT_BYTES])
{
    char message[2 * ERROR_TEXT_BYTES];
    const int number = read_error(body, length, message, sizeof message);
    const struct dialect_failure refusal = {.number = number, .sqlstate = "", .text = message};
    dialect_singlestore.write_text(&refusal, NULL, text, ERROR_TEXT_BYTES);
    dialect_singlestore.classify_error(&refusal, meaning);
    failure->number = number > 0 ? number : failure->number;
    failure->text = text;
    if (number <= 0 && status != 401 && status != 404) {
        text[0] = '\0'; /* not an error of SQL: perhaps the text of a proxy */
    } else if (status == 401 || status == 404) {
        const size_t used = strlen(text);
        snprintf(text + used, ERROR_TEXT_BYTES - used, "%s%s", used > 0 ? ": " : "",
                 status == 401 ? "user or password is wrong (--password-file FILE, APPEND_PASSWORD)"
                               : "the server has no SingleStore Data API (/api/v2)");
    }
}

/* Runs a statement to check the credentials and the database, because the ping does not check
 * them. */
static enum status greet(struct adapter_conn *conn, const struct target *to, struct error *error)
{
    (void)to;
    return run_one(conn, "select 1", NULL, &(struct answer){.take = NULL}, error);
}

static enum status begin(struct adapter_conn *conn, const struct target *target,
                         struct error *error)
{
    (void)error;
    buffer_add_text(&conn->between, target->database != NULL ? "],\"database\":" : "]");
    if (target->database != NULL) {
        http_add_string(&conn->between, target->database, strlen(target->database));
    }
    buffer_add_text(&conn->between, ",\"sql\":");
    return STATUS_OK;
}

static void end(struct adapter_conn *conn)
{
    buffer_fini(&conn->between);
    buffer_fini(&conn->body);
    buffer_fini(&conn->sql);
}

static bool is_singlestore(unsigned status, const char *headers, const char *body)
{
    (void)headers;
    /* "pong", perhaps with a line break */
    return status == 200 && strncmp(body, "pong", 4) == 0 && strlen(body) <= 6;
}

static const struct http_database database = {
    .conn_bytes = sizeof(struct adapter_conn),
    .default_port = DEFAULT_PORT,
    .default_user = "root",
    .ping = "/ping",
    .question = "/ping",
    .protocol = "SingleStore's",
    .recognises_answer = is_singlestore,
    .begin = begin,
    .end = end,
    .greet = greet,
    .classify_error = classify_error,
};

static void begin_insert(struct adapter_conn *conn)
{
    begin_request(conn);
    buffer_add_text(&conn->sql, "insert into ");
    ask_write_target(&conn->sql, conn->table, '`');
    buffer_add_text(&conn->sql, " values ");
    conn->spare = 8 + 5 * conn->sql.length; /* JSON may write 6 bytes for a byte of a name */
}

static enum status append_open(struct adapter_conn *conn, const struct table *table,
                               struct error *error)
{
    conn->table = table;
    conn->kept = 0;
    begin_insert(conn);
    return http_begin_append(conn->http, error);
}

static enum status send_rows(struct adapter_conn *conn, struct error *error)
{
    struct answer answer = {.take = NULL};
    const enum status status = post(conn, false, &answer, error);
    const uint64_t kept = MIN(answer.rows, conn->rows);
    conn->kept += kept;
    http_add_loss(conn->http, status, conn->rows - kept);
    begin_insert(conn);
    return status;
}

/* Adds a row to the request; if the row does not fit, the rows before it are sent first. */
static enum status add_row(struct adapter_conn *conn, const struct batch *batch, size_t row,
                           struct error *error)
{
    const size_t body_bytes = conn->body.length, sql_bytes = conn->sql.length;
    const char *comma = "";
    buffer_add_text(&conn->sql, conn->rows > 0 ? ",(" : "(");
    for (size_t i = 0; i < conn->table->column_count; i++) {
        const struct column *const column = &conn->table->columns[i];
        if (!column->is_generated) {
            buffer_add_text(&conn->body, conn->rows > 0 ? "," : comma);
            add_argument(&conn->body, column, &batch->columns[i], row);
            buffer_add_text(&conn->sql, comma);
            buffer_add_text(&conn->sql, mark_for(column));
            comma = ",";
        }
    }
    buffer_add_text(&conn->sql, ")");
    if (conn->body.length + conn->between.length + conn->sql.length + conn->spare <= BODY_MAX) {
        conn->rows++;
        return STATUS_OK;
    }
    if (conn->rows == 0) {
        error_set(error, ERROR_DATA, 0, NULL,
                  "a row exceeds the Data API's limit of 1 MB per request: make the "
                  "table's columns smaller");
        return STATUS_REJECTED;
    }
    conn->body.length = body_bytes;
    conn->sql.length = sql_bytes;
    const enum status status = send_rows(conn, error);
    return status == STATUS_OK ? add_row(conn, batch, row, error) : status;
}

static enum status append_rows(struct adapter_conn *conn, const struct batch *batch, uint64_t *kept,
                               struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t row = 0; row < batch->row_count && status == STATUS_OK; row++) {
        status = add_row(conn, batch, row, error);
    }
    if (status != STATUS_OK) {
        *kept = conn->kept;
    }
    return status;
}

static enum status append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error)
{
    const enum status status = conn->rows > 0 ? send_rows(conn, error) : STATUS_OK;
    *accepted = conn->kept;
    return status;
}

const struct adapter adapter_singlestore = {
    .name = "singlestore+http",
    .summary = "SingleStore's Data API",
    .default_port = DEFAULT_PORT,
    .identifier_quote = '`',
    HTTP_OPERATIONS,
    .dialect = &dialect_singlestore,
    .own = &database,
    .inspect = http_inspect,
    .execute = execute,
    .describe = dialect_describe,
    .append_open = append_open,
    .append_rows = append_rows,
    .append_close = append_close,
    .run = run,
    .server_limits = dialect_server_limits,
};
