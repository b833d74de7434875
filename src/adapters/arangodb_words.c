#include "adapters/arangodb.h"

#include <stdio.h>
#include <string.h>

void arangodb_classify_error(unsigned status, const char *body, size_t length,
                             struct dialect_failure *failure, struct dialect_meaning *meaning,
                             char text[ERROR_TEXT_BYTES])
{
    static const struct {
        int number;
        struct dialect_meaning meaning;
    } known[] = {
        {11, {STATUS_FATAL, ERROR_AUTH, NULL}},
        {600, {STATUS_REJECTED, ERROR_USAGE, NULL}},
        {1004, {STATUS_FATAL, ERROR_READ_ONLY, NULL}},
        {1200, {STATUS_REJECTED, ERROR_SERIALIZATION, NULL}},
        {ARANGODB_NO_DOCUMENT, {STATUS_REJECTED, ERROR_NOT_FOUND, NULL}},
        {ARANGODB_NO_COLLECTION, {STATUS_FATAL, ERROR_NOT_FOUND, NULL}},
        {ARANGODB_DUPLICATE, {STATUS_REJECTED, ERROR_DUPLICATE, NULL}},
        {1221, {STATUS_REJECTED, ERROR_DATA, NULL}},
        {ARANGODB_NO_DATABASE, {STATUS_FATAL, ERROR_NOT_FOUND, NULL}},
        {1429, {STATUS_FATAL, ERROR_READ_ONLY, NULL}}, /* too few copies for writeConcern */
        {1457, {STATUS_LOST, ERROR_TIMEOUT, NULL}},    /* a server in the cluster did not answer */
        {1465, {STATUS_LOST, ERROR_CONNECTION, NULL}}, /* two servers in the cluster lost contact */
        {1496, {STATUS_REJECTED, ERROR_BUSY, NULL}},   /* another server leads the shard now */
        {21003, {STATUS_REJECTED, ERROR_BUSY, NULL}},
    };
    json_t *answer = json_loadb(body, length, 0, NULL);
    const json_t *of = json_is_array(answer) ? json_array_get(answer, 0) : answer;
    const int number = (int)json_integer_value(json_object_get(of, "errorNum"));
    const char *message = json_string_value(json_object_get(of, "errorMessage"));
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (known[i].number == number) {
            *meaning = known[i].meaning;
        }
    }
    if (number > 1500 && number < 1600) { /* the numbers of errors in AQL */
        *meaning = (struct dialect_meaning){STATUS_REJECTED, ERROR_USAGE, NULL};
    }
    if (message != NULL) {
        /* the conflicting key differs from row to row and is left out */
        const char *end =
            number == ARANGODB_DUPLICATE ? strstr(message, "; conflicting key") : NULL;
        const size_t shown = end != NULL ? (size_t)(end - message) : strlen(message);
        failure->number = number;
        failure->text = text;
        snprintf(text, ERROR_TEXT_BYTES, "%.*s%s", (int)(shown < 200 ? shown : 200), message,
                 status == 401 ? ": wrong user or password" : "");
    }
    json_decref(answer);
}

enum status arangodb_send(struct adapter_conn *conn, const char *method, const struct buffer *body,
                          struct error *error)
{
    if (buffer_failed(&conn->path) || (body != NULL && buffer_failed(body))) {
        return dialect_memory_error(error);
    }
    const struct http_request request = {
        .method = method,
        .path = buffer_text(&conn->path),
        .type = body != NULL ? "application/json" : NULL,
        .body = body != NULL ? buffer_text(body) : NULL,
        .length = body != NULL ? body->length : 0,
    };
    return http_send(conn->http, &request, error);
}

void arangodb_begin_path(struct adapter_conn *conn, const char *path)
{
    buffer_clear(&conn->path);
    buffer_add_text(&conn->path, buffer_text(&conn->root));
    buffer_add_text(&conn->path, path);
}

enum status arangodb_post(struct adapter_conn *conn, const char *path, const struct buffer *body,
                          json_t **page, struct error *error)
{
    arangodb_begin_path(conn, path);
    const enum status status = arangodb_send(conn, "POST", body, error);
    *page = status == STATUS_OK ? http_json(conn->http, error) : NULL;
    return status == STATUS_OK && *page == NULL ? STATUS_REJECTED : status;
}

const struct column *arangodb_find_key(const struct table *table)
{
    const struct column *key = NULL;
    unsigned found = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].is_unique && table->columns[i].type == COLUMN_TEXT) {
            key = &table->columns[i];
            found++;
        }
    }
    return found == 1 ? key : NULL;
}

/* The columns of syslog_table: the members of its documents. */
static const struct {
    const char *name;
    enum column_type type;
    uint32_t size;
} own_columns[] = {
    {"tm", COLUMN_TIMESTAMP, 0}, {"n1", COLUMN_INT16, 0},   {"n2", COLUMN_INT32, 0},
    {"n3", COLUMN_INT64, 0},     {"n4", COLUMN_FLOAT32, 0}, {"n5", COLUMN_FLOAT64, 0},
    {"host", COLUMN_TEXT, 128},  {"msg", COLUMN_TEXT, 512}, {"ip4", COLUMN_IP4, 0},
    {"ip6", COLUMN_IP6, 0},
};

static enum status add_column(struct table *table, const char *name, enum column_type type,
                              uint32_t size, struct error *error)
{
    static const char *const type_names[COLUMN_TYPE_COUNT] = {
        [COLUMN_BOOL] = "boolean", [COLUMN_INT16] = "number",   [COLUMN_INT32] = "number",
        [COLUMN_INT64] = "number", [COLUMN_FLOAT32] = "number", [COLUMN_FLOAT64] = "number",
        [COLUMN_JSON] = "json",
    };
    struct column column = {.type = type, .size = size, .is_nullable = true};
    snprintf(column.name, sizeof column.name, "%s", name);
    snprintf(column.type_name, sizeof column.type_name, "%s",
             type_names[type] != NULL ? type_names[type] : "string");
    return table_add_column(table, &column, error);
}

static enum column_type type_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_INTEGER:
        return COLUMN_INT64;
    case JSON_REAL:
        return COLUMN_FLOAT64;
    case JSON_TRUE:
    case JSON_FALSE:
        return COLUMN_BOOL;
    case JSON_STRING:
        return COLUMN_TEXT;
    default:
        return COLUMN_JSON;
    }
}

/* Changes a column so that it can also hold `value`, the column's value in another document. The
 * column's type becomes a type that can hold all values; a text column's size becomes the length of
 * the longest text. */
static void widen(struct column *column, const json_t *value)
{
    const enum column_type type = type_of(value);
    const bool is_number = type == COLUMN_INT64 || type == COLUMN_FLOAT64;
    const bool was_number = column->type == COLUMN_INT64 || column->type == COLUMN_FLOAT64;
    const size_t length = json_string_length(value);
    if (type != column->type) {
        column->type = is_number && was_number ? COLUMN_FLOAT64 : COLUMN_JSON;
        column->size = 0;
    } else if (type == COLUMN_TEXT && length > column->size) {
        column->size = (uint32_t)length;
    }
}

enum status arangodb_guess_columns(struct table *table, const json_t *documents,
                                   struct error *error)
{
    enum status status = STATUS_OK;
    if (strcmp(table->name, "syslog_table") == 0) {
        for (size_t i = 0; status == STATUS_OK && i < COUNT_OF(own_columns); i++) {
            status = add_column(table, own_columns[i].name, own_columns[i].type,
                                own_columns[i].size, error);
        }
        return status;
    }
    for (size_t i = 0; status == STATUS_OK && i < json_array_size(documents); i++) {
        const char *name;
        json_t *value;
        json_object_foreach(json_array_get(documents, i), name, value)
        {
            struct column *found = NULL;
            for (size_t c = 0; c < table->column_count; c++) {
                found = strcmp(table->columns[c].name, name) == 0 ? &table->columns[c] : found;
            }
            /* skip _key, _id and _rev, which the server adds */
            if (status != STATUS_OK || name[0] == '_' || json_is_null(value)) {
                continue;
            }
            if (found != NULL) {
                widen(found, value);
            } else {
                status = add_column(table, name, type_of(value),
                                    (uint32_t)json_string_length(value), error);
            }
        }
    }
    return status;
}
