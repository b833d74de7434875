/*
 * The adapter for ArangoDB's HTTP API.
 *
 * The rows of one append are sent with POST to /_api/import, one document per line, or with POST to
 * /_api/document, as an array of documents. The server accepts or refuses each document separately.
 * A transaction cannot span several requests.
 */
#include "adapters/arangodb.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/http.h"

enum {
    /* the rows in `body` are sent when it has this size in bytes; the server accepts up to 1 GiB */
    PIECE_BYTES = 16 << 20,
    KEPT_BYTES = 16 << 10, /* a `body` that is larger, in bytes, is freed after the append */
    SAMPLE_ROWS = 100,     /* maximum number of documents that are read to find the columns */
};

static const char *const methods[] = {"import", "document", NULL};

static bool set(struct adapter_conn *conn, const char *key, const char *value, struct error *error)
{
    static const struct {
        const char *key, *name;
        unsigned max;
    } numbers[] = {{"shards", "numberOfShards", 1000},
                   {"replication_factor", "replicationFactor", 10},
                   {"write_concern", "writeConcern", 10}};
    json_t *property = NULL;
    const char *name = NULL;
    uint64_t number = 0;
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        if (strcmp(key, numbers[i].key) == 0) {
            name = numbers[i].name;
            if (!units_parse_count(value, numbers[i].max, &number) || number == 0) {
                error_set(error, ERROR_USAGE, 0, NULL, "use a number from 1 to %u", numbers[i].max);
                return false;
            }
            property = json_integer((json_int_t)number);
        }
    }
    if (strcmp(key, "wait_for_sync") == 0) {
        name = "waitForSync";
        conn->waits_for_sync = strcmp(value, "true") == 0;
        if (!conn->waits_for_sync && strcmp(value, "false") != 0) {
            error_set(error, ERROR_USAGE, 0, NULL, "use true or false");
            return false;
        }
        property = json_boolean(conn->waits_for_sync);
    }
    return name != NULL && json_object_set_new(conn->properties, name, property) == 0;
}

static bool is_named(const struct target *target)
{
    return target->database != NULL && target->database[0] != '\0';
}

/* Checks that the target's database exists. Creates a missing database, unless the target forbids
 * it (creates_nothing). Also succeeds if another session creates the database at the same time. */
static enum status find_database(struct adapter_conn *conn, const struct target *target,
                                 struct error *error)
{
    if (!is_named(target)) {
        return STATUS_OK;
    }
    arangodb_begin_path(conn, "/_api/database/current");
    enum status status = arangodb_send(conn, "GET", NULL, error);
    if (status != STATUS_OK && !target->creates_nothing &&
        error->native_code == ARANGODB_NO_DATABASE) {
        struct buffer body = {0};
        buffer_add_text(&body, "{\"name\":");
        http_add_string(&body, conn->database, strlen(conn->database));
        buffer_add_text(&body, "}");
        buffer_clear(&conn->path);
        buffer_add_text(&conn->path, "/_db/_system/_api/database");
        error_clear(error);
        status = arangodb_send(conn, "POST", &body, error);
        conn->has_created_database = status == STATUS_OK;
        buffer_fini(&body);
        if (status != STATUS_OK && error->native_code == ARANGODB_IS_THERE) {
            error_clear(error);
            status = STATUS_OK;
        }
    }
    if (status == STATUS_REJECTED) {
        status = error_is_transient(error) ? STATUS_LOST : STATUS_FATAL;
    }
    return status;
}

static enum status begin(struct adapter_conn *conn, const struct target *target,
                         struct error *error)
{
    conn->properties = json_object();
    conn->database = is_named(target) ? target->database : "_system";
    conn->sends_array = target->method != NULL && strcmp(target->method, methods[1]) == 0;
    buffer_add_text(&conn->root, "/_db/");
    http_add_encoded(&conn->root, conn->database);
    return conn->properties != NULL ? STATUS_OK : dialect_memory_error(error);
}

static void end(struct adapter_conn *conn)
{
    json_decref(conn->properties);
    buffer_fini(&conn->root);
    buffer_fini(&conn->path);
    buffer_fini(&conn->labels);
    buffer_fini(&conn->body);
}

/* Returns whether an answer was sent by ArangoDB. If the status is 401 (credentials required), only
 * the headers name ArangoDB. */
static bool is_arangodb(unsigned status, const char *headers, const char *body)
{
    return status == 401 ? strcasestr(headers, "ArangoDB") != NULL
                         : strstr(body, "\"server\"") != NULL && strstr(body, "\"arango\"") != NULL;
}

static const struct http_database database = {
    .conn_bytes = sizeof(struct adapter_conn),
    .default_port = 8529,
    .default_user = "root",
    .ping = "/_api/version",
    .question = "/_api/version",
    .protocol = "ArangoDB's",
    .recognises_answer = is_arangodb,
    .begin = begin,
    .end = end,
    .greet = find_database,
    .set = set,
    .classify_error = arangodb_classify_error,
};

static enum status append_open(struct adapter_conn *conn, const struct table *table,
                               struct error *error)
{
    if (conn->table != table) {
        const struct column *key = arangodb_find_key(table);
        conn->table = NULL;
        buffer_clear(&conn->labels);
        for (size_t i = 0; i < table->column_count; i++) {
            const struct column *column = &table->columns[i];
            buffer_add(&conn->labels, i == 0 ? "{" : ",", 1);
            http_add_string(&conn->labels, column == key ? "_key" : column->name,
                            strlen(column == key ? "_key" : column->name));
            buffer_add(&conn->labels, ":", 2); /* the colon and its '\0' */
        }
        if (buffer_failed(&conn->labels)) {
            return dialect_memory_error(error);
        }
        conn->table = table;
    }
    buffer_clear(&conn->body);
    conn->rows = conn->accepted = 0;
    return http_begin_append(conn->http, error);
}

/* Reads the answer to an import: {"created":9,"errors":1,"details":["at position 10: creating
 * document failed with error 'unique constraint violated', offending document: {...}"]}. */
static enum status read_import(struct adapter_conn *conn, uint64_t *failed, struct error *error)
{
    json_t *answer = http_json(conn->http, error);
    if (!json_is_integer(json_object_get(answer, "created"))) {
        error_set(error, ERROR_SERVER, 0, NULL,
                  "the answer to an import does not contain the number of created documents");
        json_decref(answer);
        return STATUS_LOST; /* it is unknown whether the rows were stored */
    }
    const json_int_t created = json_integer_value(json_object_get(answer, "created"));
    const json_t *details = json_object_get(answer, "details");
    const char *message = json_string_value(json_array_get(details, 0));
    *failed = created >= 0 && (uint64_t)created < conn->rows ? conn->rows - (uint64_t)created : 0;
    if (*failed > 0) {
        /* leave out the position and the document, because they differ from row to row */
        const char *text = message != NULL ? message : "the server gave no reason";
        const char *colon = strncmp(text, "at position ", 12) == 0 ? strstr(text, ": ") : NULL;
        text = colon != NULL ? colon + 2 : text;
        const char *end = strstr(text, ", offending document");
        const bool is_duplicate = strstr(text, "unique constraint violated") != NULL;
        error_set(error, is_duplicate ? ERROR_DUPLICATE : ERROR_DATA,
                  is_duplicate ? ARANGODB_DUPLICATE : 0, NULL, "%.*s",
                  (int)(end != NULL ? end - text : 200), text);
    }
    json_decref(answer);
    return *failed > 0 ? STATUS_REJECTED : STATUS_OK;
}

/* Reads the answer to an array of documents. The header x-arango-error-codes has the number of
 * failed documents for each error number ("1210:3,1221:1"), and the body has the errors. */
static enum status read_documents(struct adapter_conn *conn, uint64_t *failed, struct error *error)
{
    const char *codes = http_header(conn->http, "x-arango-error-codes");
    size_t length = 0;
    if (codes == NULL) {
        return STATUS_OK;
    }
    while ((codes = strchr(codes, ':')) != NULL) {
        *failed += strtoull(++codes, NULL, 10);
    }
    /* the server sends the header only if a document failed; if the sum of the numbers is 0 or too
     * large, all documents count as failed */
    *failed = *failed == 0 || *failed > conn->rows ? conn->rows : *failed;
    const char *body = http_body(conn->http, &length);
    return http_record_error(conn->http, body, length, error);
}

/* Sends the body's rows and empties the body. */
static enum status send_rows(struct adapter_conn *conn, struct error *error)
{
    uint64_t failed = 0, kept = 0;
    if (conn->rows == 0) {
        return STATUS_OK;
    }
    arangodb_begin_path(conn, conn->sends_array
                                  ? "/_api/document/"
                                  : "/_api/import?type=documents&details=true&collection=");
    http_add_encoded(&conn->path, conn->table->name);
    if (conn->sends_array) {
        buffer_add_text(&conn->path, "?silent=true");
        buffer_add_text(&conn->body, "]");
    }
    buffer_add_text(&conn->path, conn->waits_for_sync ? "&waitForSync=true" : "");
    enum status status = arangodb_send(conn, "POST", &conn->body, error);
    if (status == STATUS_OK) {
        status = conn->sends_array ? read_documents(conn, &failed, error)
                                   : read_import(conn, &failed, error);
        kept = status == STATUS_OK || failed > 0 ? conn->rows - failed : 0;
    }
    conn->accepted += kept;
    http_add_loss(conn->http, status, conn->rows - kept);
    buffer_clear(&conn->body);
    conn->rows = 0;
    return status;
}

static void free_large_body(struct adapter_conn *conn)
{
    if (conn->body.capacity > KEPT_BYTES) {
        buffer_fini(&conn->body);
    }
}

/* Adds the rows of a batch to the body. Sends the body after the last row if it has at least
 * PIECE_BYTES, and after an earlier row only if it has at least 2 * PIECE_BYTES, so that few
 * batches are split into two requests. If the server refuses the first request, the second is not
 * sent. */
static enum status append_rows(struct adapter_conn *conn, const struct batch *batch, uint64_t *kept,
                               struct error *error)
{
    const struct table *table = conn->table;
    enum status status = STATUS_OK;
    for (size_t row = 0; row < batch->row_count && status == STATUS_OK; row++) {
        const size_t most = row + 1 == batch->row_count ? PIECE_BYTES : 2 * PIECE_BYTES;
        const char *label = buffer_text(&conn->labels);
        if (conn->sends_array) {
            buffer_add(&conn->body, conn->rows == 0 ? "[" : ",", 1);
        }
        for (size_t i = 0; i < table->column_count; i++) {
            const size_t length = strlen(label);
            buffer_add(&conn->body, label, length);
            http_add_json(&conn->body, &table->columns[i], &batch->columns[i], row);
            label += length + 1;
        }
        buffer_add(&conn->body, "}\n", 2);
        conn->rows++;
        if (buffer_failed(&conn->body)) {
            status = dialect_memory_error(error);
        } else if (conn->body.length >= most) {
            status = send_rows(conn, error);
        }
    }
    if (status != STATUS_OK) {
        *kept = conn->accepted;
        free_large_body(conn);
    }
    return status;
}

static enum status append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error)
{
    const enum status status = send_rows(conn, error);
    *accepted = conn->accepted;
    free_large_body(conn);
    return status;
}

/* Finds the columns of a collection by reading some documents, because ArangoDB's collections do
 * not declare columns. */
static enum status describe(const struct adapter *adapter, struct adapter_conn *conn,
                            const char *table_name, struct table *table, struct error *error)
{
    (void)adapter;
    struct buffer body = {0};
    json_t *page = NULL;
    enum status status = table_init(table, table_name, error);
    if (status != STATUS_OK) {
        return status;
    }
    buffer_add_format(
        &body, "{\"query\":\"FOR d IN @@c LIMIT %d RETURN d\",\"bindVars\":{\"@c\":", SAMPLE_ROWS);
    http_add_string(&body, table_name, strlen(table_name));
    buffer_add_text(&body, "}}");
    status = arangodb_post(conn, "/_api/cursor", &body, &page, error);
    if (status == STATUS_OK) {
        status = arangodb_guess_columns(table, json_object_get(page, "result"), error);
    } else if (status != STATUS_LOST && error->native_code == ARANGODB_NO_COLLECTION) {
        status = STATUS_REJECTED;
    }
    json_decref(page);
    buffer_fini(&body);
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}

static enum status server_limits(const struct adapter *adapter, struct adapter_conn *conn,
                                 struct server_limits *limits, struct error *error)
{
    (void)adapter;
    memset(limits, 0, sizeof *limits);
    arangodb_begin_path(conn, "/_api/version");
    const enum status status = arangodb_send(conn, "GET", NULL, error);
    json_t *answer = status == STATUS_OK ? http_json(conn->http, error) : NULL;
    const char *version = json_string_value(json_object_get(answer, "version"));
    snprintf(limits->version, sizeof limits->version, "%s%.60s", version != NULL ? "ArangoDB " : "",
             version != NULL ? version : "");
    json_decref(answer);
    return status == STATUS_OK && answer == NULL ? STATUS_REJECTED : status;
}

static void inspect(const struct adapter *adapter, struct adapter_conn *conn,
                    struct connection_info *info)
{
    static const struct sql_templates templates = {
        .count = "RETURN LENGTH(`$0`)",
        .nothing = "RETURN 1",
        .create = "POST /_api/collection {\"name\": \"$0\"}",
        .drop = "DELETE /_api/collection/$0",
        .tags = "FOR d IN `$0` FILTER d.`$1` != null RETURN DISTINCT d.`$1`",
        .rows = "FOR d IN `$0` FILTER d.`$1` == $4"
                " RETURN [NOT_NULL(d.`$2`, -1), NOT_NULL(d.`$3`, -1)]",
    };
#define NO_SQL "ArangoDB has no SQL: give {arangodb = ...} with AQL or a request"
    static const struct unsupported lacks[] = {{"select", NO_SQL},
                                               {"insert into", NO_SQL},
                                               {"delete from", NO_SQL},
                                               {"create index", "ArangoDB has no CREATE INDEX"},
                                               {0}};
    http_inspect(adapter, conn, info);
    snprintf(info->database, sizeof info->database, "%.127s", conn->database);
    info->templates = &templates;
    info->unsupported = lacks;
    info->facts.has_no_columns = true;
    info->has_created_database = conn->has_created_database;
}

const struct adapter adapter_arangodb = {
    .name = "arangodb",
    .summary = "ArangoDB over HTTP: import, document",
    .default_port = 8529,
    HTTP_OPERATIONS,
    .methods = methods,
    .own = &database,
    .inspect = inspect,
    .execute = arangodb_execute,
    .describe = describe,
    .append_open = append_open,
    .append_rows = append_rows,
    .append_close = append_close,
    .run = arangodb_run,
    .prepare = arangodb_prepare,
    .server_limits = server_limits,
};
