/*
 * The adapter that discards rows. It is used to measure this program itself, and is the smallest
 * example of an adapter.
 *
 * Every statement succeeds and reports one row, returned or matched, and every table can be
 * declared. A script therefore finds every row that it looks up, and continues. All values of the
 * returned row are the same number: 0 for a script's prepared statement (a statement with a slot),
 * and for any other statement the number of rows that this connection has accepted. Rows of other
 * connections are not counted.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "append/adapter.h"

enum {
    CELLS_MAX = 64
};

struct adapter_conn {
    uint64_t rows;    /* number of rows accepted since the connection was opened */
    uint64_t pending; /* number of rows that the current append has received */
};

static enum status null_open(const struct adapter *adapter, const struct target *target,
                             struct adapter_conn **conn, struct error *error)
{
    (void)adapter;
    (void)target;
    *conn = calloc(1, sizeof **conn);
    if (*conn == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a connection");
        return STATUS_FATAL;
    }
    return STATUS_OK;
}

static void null_close(struct adapter_conn *conn)
{
    free(conn);
}

static enum status null_execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    (void)conn;
    (void)sql;
    (void)error;
    return STATUS_OK;
}

/* Describes the default table, the only table. */
static enum status null_describe(const struct adapter *adapter, struct adapter_conn *conn,
                                 const char *table_name, struct table *table, struct error *error)
{
    static const struct column columns[] = {
        {.name = "tm", .type_name = "timestamp", .type = COLUMN_TIMESTAMP},
        {.name = "n1", .type_name = "int16", .type = COLUMN_INT16},
        {.name = "n2", .type_name = "int32", .type = COLUMN_INT32},
        {.name = "n3", .type_name = "int64", .type = COLUMN_INT64},
        {.name = "n4", .type_name = "float32", .type = COLUMN_FLOAT32},
        {.name = "n5", .type_name = "float64", .type = COLUMN_FLOAT64},
        {.name = "host", .type_name = "text", .type = COLUMN_TEXT, .size = 128},
        {.name = "msg", .type_name = "text", .type = COLUMN_TEXT, .size = 512},
        {.name = "ip4", .type_name = "ip4", .type = COLUMN_IP4},
        {.name = "ip6", .type_name = "ip6", .type = COLUMN_IP6},
    };
    (void)adapter;
    (void)conn;
    if (strcmp(table_name, "syslog_table") != 0) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "table '%s' does not exist: null has syslog_table only", table_name);
        return STATUS_REJECTED;
    }
    enum status status = table_init(table, table_name, error);
    for (size_t i = 0; status == STATUS_OK && i < sizeof columns / sizeof columns[0]; i++) {
        struct column column = columns[i];
        column.is_nullable = true; /* discarded values may be anything */
        status = table_add_column(table, &column, error);
    }
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}

static enum status null_append_open(struct adapter_conn *conn, const struct table *table,
                                    struct error *error)
{
    (void)table;
    (void)error;
    conn->pending = 0;
    return STATUS_OK;
}

static enum status null_append_rows(struct adapter_conn *conn, const struct batch *batch,
                                    uint64_t *kept, struct error *error)
{
    (void)kept;
    (void)error;
    conn->pending += batch->row_count;
    return STATUS_OK;
}

static enum status null_append_close(struct adapter_conn *conn, uint64_t *accepted,
                                     struct error *error)
{
    (void)error;
    *accepted = conn->pending;
    conn->rows += conn->pending;
    return STATUS_OK;
}

/* Counts the values in a query's list: one more than the commas between its first word and FROM. */
static size_t count_values(const char *sql)
{
    size_t count = 1;
    unsigned depth = 0;
    char quote = '\0';
    for (const char *at = sql; *at != '\0' && count < CELLS_MAX; at++) {
        if (quote != '\0') {
            if (*at == quote) {
                quote = '\0';
            }
        } else if (*at == '\'' || *at == '"' || *at == '`') {
            quote = *at;
        } else if (depth == 0 && isspace((unsigned char)*at) &&
                   strncasecmp(at + 1, "from", 4) == 0) {
            break;
        } else {
            depth += *at == '(';
            depth -= *at == ')' && depth > 0;
            count += *at == ',' && depth == 0;
        }
    }
    return count;
}

static enum status null_run(struct adapter_conn *conn, const struct statement *statement,
                            const struct batch *parameters, struct answer *answer,
                            struct error *error)
{
    (void)parameters;
    (void)error;
    answer->rows = 1;
    if (answer->take != NULL) {
        struct cell cells[CELLS_MAX];
        const size_t count = count_values(statement->sql);
        const int64_t number = statement->slot == 0 ? (int64_t)conn->rows : 0;
        for (size_t i = 0; i < count; i++) {
            cells[i] = (struct cell){.type = COLUMN_INT64, .as.int64 = number};
        }
        answer->take(answer->context, cells, count);
    }
    return STATUS_OK;
}

static enum status null_prepare(struct adapter_conn *conn, const struct statement *statement,
                                struct adapter_prepared **prepared, struct error *error)
{
    (void)conn;
    (void)statement;
    (void)prepared;
    (void)error;
    return STATUS_OK;
}

static enum status null_begin(struct adapter_conn *conn, const struct transaction *transaction,
                              struct error *error)
{
    (void)conn;
    (void)transaction;
    (void)error;
    return STATUS_OK;
}

static enum status null_end(struct adapter_conn *conn, struct error *error)
{
    (void)conn;
    (void)error;
    return STATUS_OK;
}

static bool declare_column(const struct column *column, bool is_numbered, char *text, size_t size)
{
    (void)column;
    (void)is_numbered;
    snprintf(text, size, "any");
    return true;
}

static void null_inspect(const struct adapter *adapter, struct adapter_conn *conn,
                         struct connection_info *info)
{
    (void)adapter;
    (void)conn;
    info->declare_column = declare_column;
}

const struct adapter adapter_null = {
    .name = "null",
    .summary = "discards rows: measures append itself",
    .flags = ADAPTER_EMBEDDED | ADAPTER_DISCARDS,
    .identifier_quote = '"',
    .stack_bytes = 64 * 1024,
    .open = null_open,
    .close = null_close,
    .inspect = null_inspect,
    .execute = null_execute,
    .describe = null_describe,
    .append_open = null_append_open,
    .append_rows = null_append_rows,
    .append_close = null_append_close,
    .run = null_run,
    .prepare = null_prepare,
    .begin = null_begin,
    .commit = null_end,
    .rollback = null_end,
};
