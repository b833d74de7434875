/* The adapter that throws rows away: it measures append itself, and shows the contract at its
 * smallest. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "append/adapter.h"

struct adapter_conn {
    uint64_t rows;    /* accepted over the life of the connection */
    uint64_t pending; /* handed over in the open append */
};

static enum status null_open(const struct target *target, struct adapter_conn **conn,
                             struct error *error)
{
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

/* There is no catalogue: the one table is the default one. */
static enum status null_describe(struct adapter_conn *conn, const char *table_name,
                                 struct table *table, struct error *error)
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
    (void)conn;
    if (strcmp(table_name, "syslog_table") != 0) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "table '%s' does not exist: null has syslog_table only", table_name);
        return STATUS_REJECTED;
    }
    enum status status = table_init(table, table_name, error);
    for (size_t i = 0; status == STATUS_OK && i < sizeof columns / sizeof columns[0]; i++) {
        struct column column = columns[i];
        column.is_nullable = true; /* what is thrown away may lack anything */
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
                                    struct error *error)
{
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

/* Who wants rows gets one number, the rows of this connection: nothing is kept that those of all
 * connections could be counted from. */
static enum status null_run(struct adapter_conn *conn, const struct statement *statement,
                            const struct batch *parameters, struct answer *answer,
                            struct error *error)
{
    const struct cell cell = {.type = COLUMN_INT64, .as.int64 = (int64_t)conn->rows};
    (void)statement;
    (void)parameters;
    (void)error;
    answer->rows = 0;
    if (answer->take != NULL) {
        answer->rows = 1;
        answer->take(answer->context, &cell, 1);
    }
    return STATUS_OK;
}

const struct adapter adapter_null = {
    .name = "null",
    .summary = "discards rows: measures append itself",
    .flags = ADAPTER_EMBEDDED | ADAPTER_DISCARDS,
    .identifier_quote = '"',
    .stack_bytes = 64 * 1024,
    .open = null_open,
    .close = null_close,
    .execute = null_execute,
    .describe = null_describe,
    .append_open = null_append_open,
    .append_rows = null_append_rows,
    .append_close = null_append_close,
    .run = null_run,
};
