/*
 * QuestDB: sends SQL with GET /exec, which answers in JSON, or with GET /exp, which answers in CSV.
 */
#include <stdio.h>
#include <string.h>

#include "adapters/influxdb.h"
#include "base/ask.h"

enum {
    CELLS_MAX = 16
};

/* QuestDB first stores a table's rows in a log. Queries do not find the rows until QuestDB has
 * applied the log to the table. `unread` counts the transactions that are not yet applied. */
const struct sql_templates questdb_templates = {
    .count = "select count(*) from $0",
    .nothing = "select 1",
    .drop = "drop table if exists $0",
    .tags = "select distinct $1 from $0 where $1 is not null",
    .rows = "select coalesce($2, -1), coalesce($3, -1) from $0 where $1 = $4",
    .unread =
        "select coalesce(sum(sequencerTxn - writerTxn), 0) from wal_tables() where not suspended",
};

const struct unsupported questdb_unsupported[] = {
    {"delete", "QuestDB has no DELETE: it can only drop partitions"},
    {"create index", "QuestDB has no CREATE INDEX"},
    {"create temporary", "QuestDB has no temporary tables"},
    {0}};

/* Parses one CSV line. Cells that are not integers become text; empty cells are NULL. */
static bool take_csv(void *context, char *line, size_t length)
{
    struct influxdb_reading *reading = context;
    struct cell cells[CELLS_MAX];
    size_t count = 0;
    length -= length > 0 && line[length - 1] == '\r';
    if (!reading->has_header) {
        reading->has_header = true;
        return true;
    }
    for (size_t at = 0; at <= length && length > 0 && count < CELLS_MAX; count++) {
        const size_t width = strcspn(line + at, ",\r");
        struct cell *const cell = &cells[count];
        *cell = (struct cell){.type = COLUMN_INT64, .is_null = width == 0};
        if (!text_parse_integer(line + at, width, &cell->as.int64)) {
            cell->type = COLUMN_TEXT;
            cell->as.text = (struct text_value){line + at, (uint32_t)width};
        }
        at += width + 1;
    }
    reading->answer->rows += count > 0;
    reading->take_stopped = count > 0 && reading->answer->take != NULL &&
                            !reading->answer->take(reading->answer->context, cells, count);
    return !reading->take_stopped;
}

/* Runs one statement. Uses /exp for a SELECT of numbers, because the answer of /exp can be read
 * line by line. */
enum status questdb_query(struct influxdb_reading *reading, const char *sql, bool reads_numbers)
{
    struct adapter_conn *const conn = reading->conn;
    struct buffer path = {0};
    buffer_add_text(&path, reads_numbers ? "/exp?query=" : "/exec?query=");
    http_add_encoded(&path, sql);
    struct http_reading rows = {.answer = reading->answer, .error = reading->error};
    const struct http_request request = {.method = "GET",
                                         .path = buffer_text(&path),
                                         .take = reads_numbers ? take_csv : http_take_row,
                                         .rows = reads_numbers ? NULL : "dataset",
                                         .context = reads_numbers ? (void *)reading : &rows};
    enum status status = buffer_failed(&path) ? dialect_memory_error(reading->error)
                                              : http_send(conn->http, &request, reading->error);
    buffer_fini(&path);
    reading->take_stopped |= rows.take_stopped;
    if (status != STATUS_OK || reads_numbers || rows.status != STATUS_OK || rows.take_stopped) {
        return status == STATUS_OK ? rows.status : status;
    }
    size_t length;
    const char *const body = http_body(conn->http, &length);
    json_t *const json = http_json(conn->http, reading->error);
    if (influxdb_error_of(json) != NULL) {
        status = http_record_error(conn->http, body, length, reading->error);
    } else {
        reading->answer->rows += (uint64_t)json_integer_value(json_object_get(json, "updated"));
        status = json != NULL ? STATUS_OK : STATUS_REJECTED;
    }
    json_decref(json);
    return status;
}

/* Positions of cells in a row of SHOW COLUMNS. FIELD_COUNT is the minimum number of cells in a
 * row. */
enum {
    FIELD_NAME,
    FIELD_TYPE,
    FIELD_IS_DESIGNATED = 6,
    FIELD_COUNT
};

struct description {
    struct table *table;
    enum status status;
    struct error *error;
};

static bool take_column(void *context, const struct cell *cells, size_t count)
{
    static const struct {
        const char *name;
        enum column_type type;
    } types[] = {{"DATE", COLUMN_TIMESTAMP},
                 {"SYMBOL", COLUMN_TEXT},
                 {"BINARY", COLUMN_UNSUPPORTED}, /* a line cannot contain bytes */
                 {"CHAR", COLUMN_UNSUPPORTED}};
    struct description *description = context;
    struct column column = {.is_nullable = true};
    if (count < FIELD_COUNT) {
        return false;
    }
    ask_text(&cells[FIELD_NAME], column.name, sizeof column.name);
    ask_text(&cells[FIELD_TYPE], column.type_name, sizeof column.type_name);
    column.type = dialect_type_of(column.type_name);
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        column.type = strcmp(column.type_name, types[i].name) == 0 ? types[i].type : column.type;
    }
    if (column.type == COLUMN_TEXT && strcmp(column.name, "ip6") == 0) {
        /* QuestDB has no type for IPv6 addresses and stores them as text */
        column.type = COLUMN_IP6;
    }
    if (ask_number(&cells[FIELD_IS_DESIGNATED]) != 0) {
        column.native_type = INFLUXDB_TIME;
        column.is_nullable = false;
    }
    description->status = table_add_column(description->table, &column, description->error);
    return description->status == STATUS_OK;
}

enum status questdb_describe(struct adapter_conn *conn, const char *table_name, struct table *table,
                             struct error *error)
{
    struct description description = {table, STATUS_OK, error};
    struct answer answer = {.take = take_column, .context = &description};
    struct influxdb_reading reading = {.conn = conn, .answer = &answer, .error = error};
    struct buffer sql = {0};
    enum status status = table_init(table, table_name, error);
    if (status == STATUS_OK) {
        buffer_add_text(&sql, "show columns from ");
        buffer_add_identifier(&sql, table_name, '"');
        status = buffer_failed(&sql) ? dialect_memory_error(error)
                                     : questdb_query(&reading, buffer_text(&sql), false);
    }
    status = status == STATUS_OK ? description.status : status;
    buffer_fini(&sql);
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}

static bool take_setting(void *context, const struct cell *cells, size_t count)
{
    int64_t *const numbers = context; /* the limit on sessions; 0: unknown */
    *numbers = count > 0 ? ask_number(&cells[0]) : 0;
    return true;
}

static bool take_build(void *context, const struct cell *cells, size_t count)
{
    char text[160];
    char *const version = context; /* points to server_limits.version */
    ask_text(&cells[0], text, sizeof text);
    const char *name = count > 0 ? strstr(text, "QuestDB ") : NULL;
    if (name != NULL) {
        snprintf(version, sizeof((struct server_limits *)0)->version, "%.*s",
                 (int)strcspn(name, ","), name);
    }
    return true;
}

enum status questdb_limits(struct adapter_conn *conn, struct server_limits *limits,
                           struct error *error)
{
    int64_t allowed = 0;
    struct answer build = {.take = take_build, .context = limits->version};
    struct answer setting = {.take = take_setting, .context = &allowed};
    struct influxdb_reading reading = {.conn = conn, .answer = &build, .error = error};
    enum status status = questdb_query(&reading, "select build()", false);
    reading.answer = &setting;
    if (status == STATUS_OK) {
        status = questdb_query(&reading,
                               "select value from (show parameters) where property_path = "
                               "'http.net.connection.limit'",
                               false);
    }
    struct session_limit *limit =
        status == STATUS_OK && allowed > 0
            ? dialect_add_limit(limits, "http.net.connection.limit", allowed, 1)
            : NULL;
    if (limit != NULL) {
        snprintf(limit->note, sizeof limit->note,
                 "the server does not report how many connections are open");
        snprintf(limit->fix, sizeof limit->fix, "http.net.connection.limit = N+1 in server.conf");
    }
    return status;
}
