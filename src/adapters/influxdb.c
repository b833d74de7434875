/*
 * InfluxDB 1.x, and QuestDB, which accepts the same writes. append_rows collects the rows of an
 * append, one line per row, and append_close sends them with POST /write.
 *
 * InfluxDB identifies a row by measurement, tags and time; a new row silently replaces an older row
 * with the same identity. Therefore the run (n1) and the session (n2) are tags, and a row's time is
 * its column `time` plus its number (n3) in nanoseconds. InfluxDB keeps the valid rows of a write
 * and reports how many it dropped. QuestDB keeps all rows of a write or none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapters/influxdb.h"
#include "base/ask.h"

static void classify_error(unsigned status, const char *body, size_t length,
                           struct dialect_failure *failure, struct dialect_meaning *meaning,
                           char text[ERROR_TEXT_BYTES])
{
    static const struct {
        const char *part;
        enum status status;
        enum error_kind kind;
    } meanings[] = {
        {"database not found", STATUS_FATAL, ERROR_NOT_FOUND},
        {"measurement not found", STATUS_REJECTED, ERROR_NOT_FOUND},
        {"table does not exist", STATUS_REJECTED, ERROR_NOT_FOUND},
        {"Invalid column", STATUS_REJECTED, ERROR_NOT_FOUND},
        {"non-WAL table", STATUS_FATAL, ERROR_UNSUPPORTED},
        {"limit exceeded", STATUS_REJECTED, ERROR_BUSY}, /* max-concurrent-queries */
        {"-size exceeded", STATUS_REJECTED, ERROR_BUSY}, /* cache-max-memory-size */
        {"table busy", STATUS_REJECTED, ERROR_BUSY},
        {"partial write", STATUS_REJECTED, ERROR_DATA},
        {"field type conflict", STATUS_REJECTED, ERROR_DATA},
        {"unable to parse", STATUS_REJECTED, ERROR_DATA},
        {"line protocol", STATUS_REJECTED, ERROR_DATA},
    };
    json_t *const json = json_loadb(body, length, 0, NULL);
    const char *message = influxdb_error_of(json);
    if (message != NULL && status == 500 && strcmp(message, "timeout") == 0) {
        /* a write timed out; the server may still store the rows of the write */
        *meaning = (struct dialect_meaning){STATUS_LOST, ERROR_TIMEOUT, NULL};
    }
    if (message != NULL) {
        const char *advice = status == 401 ? ": wrong user or password" : "";
        if (status == 413) {
            advice = ": above the server's max-body-size: use a smaller --batch";
        }
        snprintf(text, ERROR_TEXT_BYTES, "%s%s", message, advice);
        failure->text = text;
        /* "partial write" is followed by the reason for one row; the reason is not searched,
         * because it may contain the text of another failure */
        const bool is_partial = strncmp(message, "partial write", 13) == 0;
        for (size_t i = 0; i < COUNT_OF(meanings) && status != 401 && status != 403; i++) {
            const char *known = is_partial ? "partial write" : meanings[i].part;
            if (strcmp(known, meanings[i].part) == 0 && strstr(message, known) != NULL) {
                *meaning = (struct dialect_meaning){meanings[i].status, meanings[i].kind, NULL};
                break;
            }
        }
    }
    json_decref(json);
}

/* Returns how many of a write's `rows` the server did not keep. The answer's message contains one
 * line for each row that the server could not parse, and the number of rows that it dropped. If the
 * message lacks the number of dropped rows, no row was kept. */
static uint64_t count_refused_rows(const struct http *http, uint64_t rows)
{
    size_t length;
    const char *body = http_body(http, &length);
    json_t *const json = json_loadb(body, length, 0, NULL);
    const char *message = influxdb_error_of(json);
    uint64_t refused = rows;
    if (message != NULL && strncmp(message, "partial write: ", 15) == 0) {
        static const char unread[] = "unable to parse '", dropped[] = " dropped=";
        const char *number = NULL;
        refused = 0;
        for (const char *at = strstr(message, unread); at != NULL; at = strstr(at + 1, unread)) {
            refused += at == message + 15 || at[-1] == '\n';
        }
        for (const char *at = strstr(message, dropped); at != NULL; at = strstr(at + 1, dropped)) {
            number = at + strlen(dropped);
        }
        refused += number != NULL ? strtoull(number, NULL, 10) : rows;
    }
    json_decref(json);
    return refused < rows ? refused : rows;
}

static enum status run(struct adapter_conn *conn, const struct statement *statement,
                       const struct batch *parameters, struct answer *answer, struct error *error)
{
    static const char count_all[] = "select count(*) from ", count[] = "select count(";
    struct influxdb_reading reading = {.conn = conn, .answer = answer, .error = error};
    struct buffer sql = {0};
    answer->rows = 0;
    enum status status =
        influxdb_write_literals(&sql, statement, parameters, conn->is_questdb, error);
    if (status == STATUS_OK && conn->is_questdb) {
        struct sql_script script = {.rest = buffer_text(&sql)};
        while (status == STATUS_OK && !reading.take_stopped && sql_script_next(&script)) {
            status = buffer_failed(&script.statement)
                         ? dialect_memory_error(error)
                         : questdb_query(&reading, buffer_text(&script.statement),
                                         statement->reads_numbers);
        }
        buffer_fini(&script.statement);
    } else if (status == STATUS_OK) {
        reading.takes_largest = strncasecmp(sql.bytes, count_all, strlen(count_all)) == 0;
        status = influxdb_query(&reading, sql.bytes);
        /* InfluxDB returns no row, instead of 0, for the count of an unknown measurement */
        if (status == STATUS_OK && answer->rows == 0 &&
            strncasecmp(sql.bytes, count, strlen(count)) == 0) {
            const struct cell none = {.type = COLUMN_INT64};
            answer->rows = 1;
            if (answer->take != NULL) {
                answer->take(answer->context, &none, 1);
            }
        }
    }
    buffer_fini(&sql);
    return status;
}

static enum status execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    const struct statement statement = {.sql = sql};
    struct answer answer = {.take = NULL};
    return run(conn, &statement, NULL, &answer, error);
}

struct search {
    const char *name;
    bool is_found;
};

static bool take_name(void *context, const struct cell *cells, size_t count)
{
    struct search *search = context;
    char name[128];
    ask_text(&cells[0], name, sizeof name);
    search->is_found = count > 0 && strcmp(name, search->name) == 0;
    return !search->is_found;
}

/* Creates the database if it is missing. Checks first whether the database exists, because only an
 * administrator may create databases. */
static enum status find_database(struct adapter_conn *conn, bool creates_nothing,
                                 struct error *error)
{
    const struct statement statement = {.sql = influxdb_templates.nothing};
    struct search search = {.name = conn->database};
    struct answer answer = {.take = take_name, .context = &search};
    enum status status = run(conn, &statement, NULL, &answer, error);
    if (status == STATUS_OK && !search.is_found && !creates_nothing) {
        struct buffer sql = {0};
        buffer_add_text(&sql, "create database ");
        buffer_add_identifier(&sql, conn->database, '"');
        status = buffer_failed(&sql) ? dialect_memory_error(error)
                                     : execute(conn, buffer_text(&sql), error);
        buffer_fini(&sql);
        conn->has_created_database = status == STATUS_OK;
    }
    return status == STATUS_REJECTED ? STATUS_FATAL : status;
}

/* Finds out from a header of the ping's answer whether the server is QuestDB; any other server is
 * treated as InfluxDB. Then writes the connection's paths and, for InfluxDB, creates a missing
 * database, unless the target forbids it. */
static enum status greet(struct adapter_conn *conn, const struct target *target,
                         struct error *error)
{
    const char *const server = http_header(conn->http, "Server");
    const char *const version = http_header(conn->http, "X-Influxdb-Version");
    conn->is_questdb = server != NULL && strncasecmp(server, "questDB", 7) == 0;
    conn->lines.is_questdb = conn->is_questdb;
    snprintf(conn->version, sizeof conn->version, "InfluxDB %s", version != NULL ? version : "");
    const char *const asked = target->database != NULL ? target->database : "append";
    const char *const named = conn->is_questdb ? "qdb" : asked;
    if (strlen(named) >= sizeof conn->database) {
        error_set(error, ERROR_USAGE, 0, NULL, "the name of the database is longer than %zu bytes",
                  sizeof conn->database - 1);
        return STATUS_FATAL;
    }
    snprintf(conn->database, sizeof conn->database, "%s", named);
    buffer_add_text(&conn->write_path, "/write?precision=ns&db=");
    http_add_encoded(&conn->write_path, conn->database);
    buffer_add_text(&conn->query_path, "/query?epoch=ns&chunked=true&chunk_size=1000&db=");
    http_add_encoded(&conn->query_path, conn->database);
    if (buffer_failed(&conn->write_path) || buffer_failed(&conn->query_path)) {
        return dialect_memory_error(error);
    }
    return conn->is_questdb ? STATUS_OK : find_database(conn, target->creates_nothing, error);
}

static void end(struct adapter_conn *conn)
{
    buffer_fini(&conn->write_path);
    buffer_fini(&conn->query_path);
    influxdb_lines_fini(&conn->lines);
}

static bool is_influxdb(unsigned status, const char *headers, const char *body)
{
    (void)body;
    return status == 204 && strcasestr(headers, "\nX-Influxdb-Version:") != NULL;
}

/* Returns whether InfluxDB or QuestDB itself sent the answer. If InfluxDB refuses a write because
 * of its limit on writes, the answer lacks InfluxDB's headers and is recognised by its text. */
static bool is_own(unsigned status, const char *headers, const char *body)
{
    (void)status;
    return strstr(body, "request throttled") != NULL ||
           strcasestr(headers, "\nX-Influxdb-Version:") != NULL ||
           strcasestr(headers, "\nServer: questDB") != NULL;
}

static const struct http_database database = {
    .conn_bytes = sizeof(struct adapter_conn),
    .default_port = 8086,
    .ping = "/ping",
    .question = "/ping",
    .protocol = "InfluxDB's",
    .recognises_answer = is_influxdb,
    .is_own = is_own,
    .end = end,
    .greet = greet,
    .classify_error = classify_error,
};

static void inspect(const struct adapter *adapter, struct adapter_conn *conn,
                    struct connection_info *info)
{
    http_inspect(adapter, conn, info);
    snprintf(info->database, sizeof info->database, "%s", conn->database);
    info->has_created_database = conn->has_created_database;
    if (conn->is_questdb) {
        snprintf(info->dialect, sizeof info->dialect, "questdb");
        info->templates = &questdb_templates;
        info->unsupported = questdb_unsupported;
        snprintf(info->note, sizeof info->note,
                 "QuestDB acknowledges rows before it shows them: a read may miss the latest rows");
    } else {
        info->not_in_names = "\"\\";
        info->unsupported = influxdb_unsupported;
        info->templates = conn->has_row_number ? &influxdb_templates : &influxdb_count_templates;
    }
}

static enum status describe(const struct adapter *adapter, struct adapter_conn *conn,
                            const char *table_name, struct table *table, struct error *error)
{
    (void)adapter;
    return conn->is_questdb ? questdb_describe(conn, table_name, table, error)
                            : influxdb_describe(conn, table_name, table, error);
}

static enum status server_limits(const struct adapter *adapter, struct adapter_conn *conn,
                                 struct server_limits *limits, struct error *error)
{
    (void)adapter;
    memset(limits, 0, sizeof *limits);
    return conn->is_questdb ? questdb_limits(conn, limits, error)
                            : influxdb_limits(conn, limits, error);
}

static enum status append_open(struct adapter_conn *conn, const struct table *table,
                               struct error *error)
{
    const enum status status = influxdb_lines_begin(&conn->lines, table, error);
    return status == STATUS_OK ? http_begin_append(conn->http, error) : status;
}

static enum status append_rows(struct adapter_conn *conn, const struct batch *batch, uint64_t *kept,
                               struct error *error)
{
    (void)kept;
    return influxdb_lines_add(&conn->lines, batch, error);
}

static enum status append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error)
{
    const struct http_request request = {.method = "POST",
                                         .path = buffer_text(&conn->write_path),
                                         .type = "text/plain; charset=utf-8",
                                         .body = buffer_text(&conn->lines.text),
                                         .length = conn->lines.text.length,
                                         .body_buffer = &conn->lines.text};
    const uint64_t rows = conn->lines.rows;
    *accepted = 0;
    if (rows == 0) {
        return STATUS_OK;
    }
    enum status status = http_send(conn->http, &request, error);
    buffer_fini(&conn->lines.text);
    if (status == STATUS_OK && http_status(conn->http) != 204) {
        status = http_malformed_answer(conn->http, "a write", error);
    }
    if (status == STATUS_OK) {
        *accepted = rows;
    } else if (status == STATUS_REJECTED) {
        *accepted = rows - count_refused_rows(conn->http, rows);
    }
    http_add_loss(conn->http, status, rows - *accepted);
    return status;
}

/* The adapter for InfluxDB 1.x, and for QuestDB, which has the same protocol. */
const struct adapter adapter_influxdb = {
    .name = "influxdb",
    .summary = "InfluxDB 1.x, QuestDB: line protocol",
    .default_port = 8086,
    .identifier_quote = '"',
    HTTP_OPERATIONS,
    .own = &database,
    .inspect = inspect,
    .execute = execute,
    .describe = describe,
    .append_open = append_open,
    .append_rows = append_rows,
    .append_close = append_close,
    .run = run,
    .server_limits = server_limits,
};
