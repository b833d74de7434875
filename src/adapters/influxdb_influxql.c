/*
 * InfluxDB: sends InfluxQL with POST /query. Each line of the answer is a complete JSON text.
 */
#include <stdio.h>
#include <string.h>

#include "adapters/influxdb.h"
#include "base/ask.h"

const struct sql_templates influxdb_templates = {
    .count = "select count(n3) from $0",
    .nothing = "show databases",
    .drop = "drop measurement $0",
    .tags = "show tag values from $0 with key = $1",
    .rows = "select $2, $3 from $0 where $1 = '$4'",
};

/* Templates for measurements without a field n3. count(*) returns a count for each field; the
 * largest count is the number of rows if one field has a value in every row. */
const struct sql_templates influxdb_count_templates = {
    .count = "select count(*) from $0",
    .nothing = "show databases",
    .drop = "drop measurement $0",
};

const struct unsupported influxdb_unsupported[] = {
    {"create table", "InfluxDB has no CREATE TABLE: a measurement is created by its first "
                     "row; write a row before the run"},
    {"create index", "InfluxDB has no CREATE INDEX"},
    {"insert", "InfluxQL has no INSERT: write rows with dataset:append(n)"},
    {"update", "InfluxQL has no UPDATE: a row replaces the row with the same tags and time"},
    {0}};

const char *influxdb_error_of(const json_t *json)
{
    const json_t *message = json_object_get(json, "error");
    if (message == NULL) {
        message = json_object_get(json, "message"); /* QuestDB's answer to a failed write */
    }
    size_t index;
    const json_t *result;
    json_array_foreach(json_object_get(json, "results"), index, result)
    {
        message = message != NULL ? message : json_object_get(result, "error");
    }
    return json_string_value(message);
}

/* Removes the values that were not requested: the time, which every answer contains, and the key in
 * SHOW TAG VALUES. With takes_largest, keeps only the largest count. */
static void strip_row(const struct influxdb_reading *reading, json_t *row, bool has_extra)
{
    if (has_extra) {
        json_array_remove(row, 0);
    }
    while (reading->takes_largest && json_array_size(row) > 1) {
        const bool is_less =
            json_integer_value(json_array_get(row, 0)) < json_integer_value(json_array_get(row, 1));
        json_array_remove(row, is_less ? 0 : 1);
    }
}

/* Reads one line of the answer, which is a complete JSON text. */
static bool take_results(void *context, char *line, size_t length)
{
    struct influxdb_reading *reading = context;
    json_t *const json = http_parse(line, length, reading->error);
    size_t r, s, i;
    json_t *result, *series, *row;
    if (reading->status == STATUS_OK && json == NULL) {
        reading->status = STATUS_REJECTED;
    } else if (reading->status == STATUS_OK && influxdb_error_of(json) != NULL) {
        reading->status = http_record_error(reading->conn->http, line, length, reading->error);
    }
    json_array_foreach(json_object_get(json, "results"), r, result)
    {
        json_array_foreach(json_object_get(result, "series"), s, series)
        {
            const json_t *columns = json_object_get(series, "columns");
            const char *first = json_string_value(json_array_get(columns, 0));
            json_t *const rows = json_object_get(series, "values");
            const bool has_extra = first != NULL && json_array_size(columns) > 1 &&
                                   (strcmp(first, "time") == 0 || strcmp(first, "key") == 0);
            json_array_foreach(rows, i, row)
            {
                strip_row(reading, row, has_extra);
            }
            if (reading->take_series != NULL) {
                reading->take_series(reading->context, series);
            }
            if (reading->status == STATUS_OK) {
                reading->status =
                    http_take_rows(rows, reading->answer, &reading->take_stopped, reading->error);
            }
        }
    }
    json_decref(json);
    return reading->status == STATUS_OK && !reading->take_stopped;
}

enum status influxdb_query(struct influxdb_reading *reading, const char *sql)
{
    struct adapter_conn *const conn = reading->conn;
    struct buffer body = {0};
    buffer_add_text(&body, "q=");
    http_add_encoded(&body, sql);
    const struct http_request request = {.method = "POST",
                                         .path = buffer_text(&conn->query_path),
                                         .type = "application/x-www-form-urlencoded",
                                         .body = buffer_text(&body),
                                         .length = body.length,
                                         .accept = "application/json",
                                         .take = take_results,
                                         .context = reading};
    const bool has_failed = buffer_failed(&body);
    const enum status status = has_failed ? dialect_memory_error(reading->error)
                                          : http_send(conn->http, &request, reading->error);
    buffer_fini(&body);
    return reading->status == STATUS_OK ? status : reading->status;
}

/* The columns of syslog_table. In any other measurement, a column whose name and InfluxDB type are
 * in this list also gets its type from this list, because InfluxDB itself has only four types of
 * fields, and tags, which are text. */
static const struct column known[] = {
    {.name = "time", .type_name = "timestamp", .type = COLUMN_TIMESTAMP},
    {.name = "n1", .type_name = "tag", .type = COLUMN_INT16},
    {.name = "n2", .type_name = "tag", .type = COLUMN_INT32},
    {.name = "n3", .type_name = "integer", .type = COLUMN_INT64},
    {.name = "n4", .type_name = "float", .type = COLUMN_FLOAT32},
    {.name = "n5", .type_name = "float", .type = COLUMN_FLOAT64},
    {.name = "host", .type_name = "string", .type = COLUMN_TEXT, .size = 128},
    {.name = "msg", .type_name = "string", .type = COLUMN_TEXT, .size = 512},
    {.name = "ip4", .type_name = "string", .type = COLUMN_IP4},
    {.name = "ip6", .type_name = "string", .type = COLUMN_IP6},
};

struct description {
    struct table *table;
    bool has_row_number;
    enum status status;
    struct error *error;
};

static enum status add_known(struct table *table, size_t number, struct error *error)
{
    struct column column = known[number];
    const bool is_tag = strcmp(column.type_name, "tag") == 0;
    column.native_type = is_tag ? INFLUXDB_TAG : INFLUXDB_FIELD;
    if (column.type == COLUMN_TIMESTAMP) {
        column.native_type = INFLUXDB_TIME;
    }
    column.is_nullable = column.native_type != INFLUXDB_TIME;
    return table_add_column(table, &column, error);
}

/* Reads a row of SHOW FIELD KEYS (name and type) or SHOW TAG KEYS. */
static bool take_key(void *context, const struct cell *cells, size_t count)
{
    struct description *description = context;
    struct table *table = description->table;
    struct column column = {.is_nullable = true, .type_name = "tag", .type = COLUMN_TEXT};
    if (count == 1 && table->column_count == 0) {
        return true; /* tags exist for a moment after their measurement was dropped */
    }
    column.native_type = count > 1 ? INFLUXDB_FIELD : INFLUXDB_TAG;
    ask_text(&cells[0], column.name, sizeof column.name);
    if (count > 1) {
        ask_text(&cells[1], column.type_name, sizeof column.type_name);
        const bool is_float = strcmp(column.type_name, "float") == 0;
        column.type = is_float ? COLUMN_FLOAT64 : dialect_type_of(column.type_name);
        column.type = strcmp(column.type_name, "integer") == 0 ? COLUMN_INT64 : column.type;
    }
    if (table->column_count == 0) {
        description->status = add_known(table, 0, description->error);
    }
    for (size_t i = 0; i < table->column_count; i++) {
        if (strcmp(table->columns[i].name, column.name) == 0) {
            return true; /* the type differs between shards; the first type is used */
        }
    }
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (strcmp(known[i].name, column.name) == 0 &&
            strcmp(known[i].type_name, column.type_name) == 0) {
            column.type = known[i].type;
            column.size = known[i].size;
        }
    }
    description->has_row_number |= column.type == COLUMN_INT64 && strcmp(column.name, "n3") == 0;
    if (description->status == STATUS_OK) {
        description->status = table_add_column(table, &column, description->error);
    }
    return description->status == STATUS_OK;
}

/* Describes a measurement by its keys. InfluxDB creates a measurement when the first row is
 * written. Before that, the default table is described as if it existed. */
enum status influxdb_describe(struct adapter_conn *conn, const char *table_name,
                              struct table *table, struct error *error)
{
    struct description description = {table, false, STATUS_OK, error};
    struct answer answer = {.take = take_key, .context = &description};
    struct influxdb_reading reading = {.conn = conn, .answer = &answer, .error = error};
    struct buffer sql = {0};
    enum status status = table_init(table, table_name, error);
    if (status == STATUS_OK) {
        buffer_add_text(&sql, "show field keys from ");
        buffer_add_identifier(&sql, table_name, '"');
        buffer_add_text(&sql, "; show tag keys from ");
        buffer_add_identifier(&sql, table_name, '"');
        status = buffer_failed(&sql) ? dialect_memory_error(error)
                                     : influxdb_query(&reading, buffer_text(&sql));
        status = status == STATUS_OK ? description.status : status;
    }
    buffer_fini(&sql);
    const bool is_missing = status == STATUS_OK && table->column_count == 0;
    const bool is_default = is_missing && strcmp(table_name, "syslog_table") == 0;
    for (size_t i = 0; is_default && status == STATUS_OK && i < COUNT_OF(known); i++) {
        status = add_known(table, i, error);
    }
    if (is_missing && !is_default) {
        error_set(
            error, ERROR_NOT_FOUND, 0, NULL,
            "measurement \"%.120s\" does not exist: write a row, which creates the measurement",
            table_name);
        status = STATUS_REJECTED;
    }
    table->is_missing = is_default;
    conn->has_row_number = is_default || description.has_row_number;
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}

/* Reads one series of the answer to SHOW DIAGNOSTICS. A series is one section of the configuration
 * and has one row. */
static void take_diagnostics(void *context, const json_t *series)
{
    int64_t *const allowed = context;
    const json_t *columns = json_object_get(series, "columns");
    const json_t *row = json_array_get(json_object_get(series, "values"), 0);
    for (size_t i = 0; i < json_array_size(columns); i++) {
        const char *name = json_string_value(json_array_get(columns, i));
        if (name != NULL && strcmp(name, "max-connection-limit") == 0) {
            *allowed = json_integer_value(json_array_get(row, i));
        }
    }
}

enum status influxdb_limits(struct adapter_conn *conn, struct server_limits *limits,
                            struct error *error)
{
    int64_t allowed = 0;
    struct error refused = {.kind = ERROR_NONE};
    struct answer answer = {.take = NULL};
    struct influxdb_reading reading = {.conn = conn,
                                       .answer = &answer,
                                       .take_series = take_diagnostics,
                                       .context = &allowed,
                                       .error = &refused};
    snprintf(limits->version, sizeof limits->version, "%s", conn->version);
    const enum status status = influxdb_query(&reading, "show diagnostics");
    if (status != STATUS_OK && refused.kind != ERROR_AUTH) {
        *error = refused;
        return status;
    }
    struct session_limit *limit =
        allowed > 0 ? dialect_add_limit(limits, "max-connection-limit", allowed, 1) : NULL;
    if (limit != NULL) {
        snprintf(limit->note, sizeof limit->note,
                 "the server does not report how many connections are open");
        snprintf(limit->fix, sizeof limit->fix,
                 "max-connection-limit = N in [http] of influxdb.conf");
    }
    return STATUS_OK;
}
