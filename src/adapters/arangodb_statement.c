#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/arangodb.h"
#include "append/value_text.h"
#include "base/ask.h"

enum {
    ID_BYTES = 64,
    PAGE_ROWS = 1000,
    PAGE_NUMBERS = 20000,
};

/* A plain request. The pointers point into the text of the statement. */
struct request {
    char method[8];
    const char *path, *path_end, *body, *end; /* body == end if the request has no body */
};

/* The part of a statement that contains a parameter. It determines how the parameter is
 * replaced. */
enum place {
    PLACE_QUERY, /* in AQL: replaced by @p1, @p2, ...; the values are sent separately */
    PLACE_PATH,  /* in the path of a request: replaced by the value, percent-encoded */
    PLACE_BODY,  /* in the body of a request: replaced by the value as JSON */
};

/* Facts about the parameters that replace_parameters has replaced. */
struct seen_parameters {
    size_t unnumbered; /* number of ? that are not followed by a number */
    size_t highest;    /* highest parameter number; the first parameter has number 1 */
    /* number of a parameter whose value must not be part of a path; 0 if all fit */
    size_t unfit_in_path;
};

/* Skips blanks and reads the request that follows. Returns false if the text is not a request. */
static bool read_request(const char *text, struct request *request)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    text += strspn(text, " \t\r\n");
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        const size_t length = strlen(methods[i]);
        if (strncmp(text, methods[i], length) == 0 && strncmp(text + length, " /", 2) == 0) {
            snprintf(request->method, sizeof request->method, "%s", methods[i]);
            request->path = text + length + 1;
            request->path_end = request->path + strcspn(request->path, " \t\r\n");
            request->body = request->path_end + strspn(request->path_end, " \t");
            request->end = request->body + strcspn(request->body, "\r\n");
            return true;
        }
    }
    return false;
}

/* Adds a value, percent-encoded, to a path. Returns false if the value is NULL or empty or contains
 * a NUL byte, because the path would then name another object. */
static bool add_encoded(struct buffer *out, const struct column *column,
                        const struct column_data *data)
{
    char written[VALUE_TEXT_BYTES];
    struct buffer value = {0};
    if (column_is_null(data, 0)) {
        return false;
    }
    if (column->type == COLUMN_TEXT) {
        buffer_add(&value, data->values.text->bytes, data->values.text->length);
    } else {
        buffer_add(&value, written, value_text_write(written, column, data->values, 0, 6));
    }
    const size_t length = strlen(buffer_text(&value));
    const bool is_whole = length > 0 && length == value.length;
    http_add_encoded(out, buffer_text(&value));
    out->has_failed |= buffer_failed(&value);
    buffer_fini(&value);
    return is_whole || out->has_failed;
}

/* Adds the text from `text` to `end` with its parameters replaced. The caller zeroes *met before
 * the first text of a statement, and passes the same *met for the other texts of the statement. */
static void replace_parameters(struct buffer *out, const char *text, const char *end,
                               enum place place, const struct batch *parameters,
                               struct seen_parameters *met)
{
    const size_t count = parameters != NULL ? parameters->table->column_count : 0;
    while (text < end) {
        const char *mark = sql_script_find_parameter(text, SQL_BACKSLASHES);
        mark = mark < end ? mark : end;
        buffer_add(out, text, (size_t)(mark - text));
        if (mark == end) {
            break;
        }
        size_t number = 0;
        for (text = mark + 1; isdigit((unsigned char)*text) && number <= ROW_COLUMNS_MAX; text++) {
            number = number * 10 + (size_t)(*text - '0');
        }
        number = number > 0 ? number : ++met->unnumbered;
        met->highest = number > met->highest ? number : met->highest;
        if (place == PLACE_QUERY) {
            buffer_add_format(out, "@p%zu", number);
        } else if (number <= count && place == PLACE_BODY) {
            http_add_json(out, &parameters->table->columns[number - 1],
                          &parameters->columns[number - 1], 0);
        } else if (number <= count && !add_encoded(out, &parameters->table->columns[number - 1],
                                                   &parameters->columns[number - 1])) {
            met->unfit_in_path = number;
        }
    }
}

/* Adds the body of a request that runs `query`, which is AQL; `parameters` may be NULL. */
static void write_query(struct buffer *out, const char *query, const struct batch *parameters,
                        unsigned page_rows)
{
    const size_t count = parameters != NULL ? parameters->table->column_count : 0;
    struct buffer numbered = {0};
    struct seen_parameters met = {0};
    if (count > 0) {
        replace_parameters(&numbered, query, query + strlen(query), PLACE_QUERY, NULL, &met);
        query = buffer_text(&numbered);
    }
    buffer_add_text(out, "{\"query\":");
    http_add_string(out, query, strlen(query));
    for (size_t i = 0; i < count; i++) {
        buffer_add_format(out, "%s\"p%zu\":", i == 0 ? ",\"bindVars\":{" : ",", i + 1);
        http_add_json(out, &parameters->table->columns[i], &parameters->columns[i], 0);
    }
    buffer_add_format(out, "%s,\"batchSize\":%u}", count > 0 ? "}" : "", page_rows);
    out->has_failed |= buffer_failed(&numbered);
    buffer_fini(&numbered);
}

/* Sends a plain request; `parameters` may be NULL. */
static enum status send_plain(struct adapter_conn *conn, const struct request *request,
                              const struct batch *parameters, struct error *error)
{
    const size_t count = parameters != NULL ? parameters->table->column_count : 0;
    const size_t length = (size_t)(request->end - request->body);
    struct seen_parameters met = {0};
    struct buffer body = {0};
    enum status status = STATUS_FATAL;
    arangodb_begin_path(conn, "");
    if (parameters == NULL) { /* without parameters, each ? is part of the text */
        buffer_add(&conn->path, request->path, (size_t)(request->path_end - request->path));
        buffer_add(&body, request->body, length);
    } else {
        replace_parameters(&conn->path, request->path, request->path_end, PLACE_PATH, parameters,
                           &met);
        replace_parameters(&body, request->body, request->end, PLACE_BODY, parameters, &met);
    }
    if (met.highest > count) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "the request uses ?%zu, but the number of values is %zu", met.highest, count);
    } else if (met.unfit_in_path > 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "value %zu is part of the request's path: it must not be NULL or empty, and must "
                  "not contain a NUL byte",
                  met.unfit_in_path);
    } else {
        status = arangodb_send(conn, request->method, length > 0 ? &body : NULL, error);
    }
    buffer_fini(&body);
    return status;
}

/* Creates a collection. It has the properties from the target's URL, except those that the
 * statement sets itself. */
static enum status create_collection(struct adapter_conn *conn, struct request request,
                                     struct error *error)
{
    json_t *wanted = json_loadb(request.body, (size_t)(request.end - request.body), 0, NULL);
    char *text = NULL;
    if (wanted != NULL && json_object_update_missing(wanted, conn->properties) == 0) {
        text = json_dumps(wanted, JSON_COMPACT);
    }
    if (text != NULL) { /* otherwise the server reports the error */
        request.body = text;
        request.end = text + strlen(text);
    }
    const enum status status = send_plain(conn, &request, NULL, error);
    free(text);
    json_decref(wanted);
    return status;
}

enum status arangodb_execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    static const char collection[] = "/_api/collection";
    struct request request;
    enum status status = STATUS_OK;
    for (; status == STATUS_OK && sql[strspn(sql, " \t\r\n")] != '\0'; sql = request.end) {
        if (!read_request(sql, &request)) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "'%.80s' is not a statement: ArangoDB has no SQL; write METHOD PATH [JSON], "
                      "one request per line, for example POST %s {\"name\": \"c\"}",
                      sql, collection);
            return STATUS_REJECTED;
        }
        const size_t length = strcspn(request.path, "? \t\r\n");
        const bool makes = strcmp(request.method, "POST") == 0 && length == sizeof collection - 1 &&
                           strncmp(request.path, collection, length) == 0;
        status = makes ? create_collection(conn, request, error)
                       : send_plain(conn, &request, NULL, error);
        if (status != STATUS_OK && strcmp(request.method, "DELETE") == 0 &&
            error->native_code == ARANGODB_NO_COLLECTION) {
            error_clear(error);
            status = STATUS_OK;
        }
    }
    return status;
}

static enum status run_query(struct adapter_conn *conn, const struct buffer *body,
                             struct answer *answer, struct error *error)
{
    bool take_stopped = false;
    char path[ID_BYTES + 32] = "/_api/cursor";
    json_int_t writes = 0;
    json_t *page = NULL;
    enum status status = arangodb_post(conn, path, body, &page, error);
    while (status == STATUS_OK) {
        const json_t *extra = json_object_get(page, "extra");
        const json_t *stats = json_object_get(extra, "stats");
        const char *id = json_string_value(json_object_get(page, "id"));
        const bool has_more = json_is_true(json_object_get(page, "hasMore")) && id != NULL;
        writes += json_integer_value(json_object_get(stats, "writesExecuted"));
        status = http_take_rows(json_object_get(page, "result"), answer, &take_stopped, error);
        snprintf(path, sizeof path, "/_api/cursor/%.*s", ID_BYTES, id != NULL ? id : "");
        json_decref(page);
        page = NULL;
        if (status != STATUS_OK || !has_more) {
            break;
        }
        if (take_stopped) {
            arangodb_begin_path(conn, path);
            status = arangodb_send(conn, "DELETE", NULL, error);
            break;
        }
        status = arangodb_post(conn, path, NULL, &page, error);
    }
    answer->rows = answer->rows > 0 ? answer->rows : (uint64_t)writes;
    return status;
}

/* Runs a plain request. The answer to a successful request is one row. A request for a missing
 * document succeeds with no row. */
static enum status run_plain(struct adapter_conn *conn, const struct request *request,
                             const struct batch *parameters, struct answer *answer,
                             struct error *error)
{
    enum status status = send_plain(conn, request, parameters, error);
    if (status != STATUS_OK && error->native_code == ARANGODB_NO_DOCUMENT) {
        error_clear(error);
        return STATUS_OK;
    }
    answer->rows = status == STATUS_OK && answer->take == NULL ? 1 : 0;
    if (status == STATUS_OK && answer->take != NULL) {
        bool take_stopped = false;
        json_t *row = http_json(conn->http, error);
        json_t *rows = row != NULL ? json_pack("[o]", row) : NULL;
        if (row == NULL) {
            status = STATUS_REJECTED;
        } else {
            status = rows == NULL ? dialect_memory_error(error)
                                  : http_take_rows(rows, answer, &take_stopped, error);
        }
        json_decref(rows);
    }
    return status;
}

enum status arangodb_run(struct adapter_conn *conn, const struct statement *statement,
                         const struct batch *parameters, struct answer *answer, struct error *error)
{
    struct request request;
    struct buffer body = {0};
    answer->rows = 0;
    if (read_request(statement->sql, &request)) {
        return run_plain(conn, &request, parameters, answer, error);
    }
    write_query(&body, statement->sql, parameters,
                statement->reads_numbers ? PAGE_NUMBERS : PAGE_ROWS);
    const enum status status = run_query(conn, &body, answer, error);
    buffer_fini(&body);
    return status;
}

/* Checks the number of parameters, and lets the server check the syntax of AQL. A plain request is
 * not sent. The server keeps nothing. */
enum status arangodb_prepare(struct adapter_conn *conn, const struct statement *statement,
                             struct adapter_prepared **prepared, struct error *error)
{
    (void)prepared;
    const char *const sql = statement->sql;
    struct request request;
    struct buffer numbered = {0}, body = {0};
    json_t *parsed = NULL;
    struct seen_parameters met = {0};
    replace_parameters(&numbered, sql, sql + strlen(sql), PLACE_QUERY, NULL, &met);
    enum status status = dialect_check_parameters(statement, met.highest, error);
    if (status == STATUS_OK && !read_request(sql, &request)) {
        buffer_add_text(&body, "{\"query\":");
        http_add_string(&body, buffer_text(&numbered), strlen(buffer_text(&numbered)));
        buffer_add_text(&body, "}");
        body.has_failed |= buffer_failed(&numbered);
        status = arangodb_post(conn, "/_api/query", &body, &parsed, error);
    }
    json_decref(parsed);
    buffer_fini(&numbered);
    buffer_fini(&body);
    return status;
}
