#include "certify/certify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ask.h"
#include "base/process.h"
#include "base/text.h"
#include "certify/rows.h"
#include "load/table_mark.h"

static struct table_mark_place mark_place(const struct plan *plan, struct adapter_conn *conn,
                                          const struct connection_info *connection, unsigned number)
{
    return (struct table_mark_place){.adapter = plan->adapter,
                                     .conn = conn,
                                     .connection = connection,
                                     .table_name = rows_table_names[number],
                                     .what = "rows of append certify",
                                     .rows = ""};
}

/* Sets *is_there to true if the table exists. Fails if the table exists and this program may not
 * drop it. */
static enum status find_old(const struct plan *plan, struct adapter_conn *conn,
                            const struct connection_info *connection, unsigned number,
                            bool *is_there, struct error *error)
{
    const struct adapter *adapter = plan->adapter;
    const char *name = rows_table_names[number];
    const struct table_mark_place place = mark_place(plan, conn, connection, number);
    struct table table = {.column_count = 0};
    struct table_mark mark;
    enum status status = adapter->describe(adapter, conn, name, &table, error);
    if (status == STATUS_REJECTED && error->kind == ERROR_NOT_FOUND) {
        error_clear(error);
        return STATUS_OK;
    }
    *is_there = true;
    status = status == STATUS_OK ? table_mark_read(&place, &mark, error) : status;
    const bool is_allowed =
        status == STATUS_OK && plan->is_recreate && table_mark_allows_drop(&mark, plan, name);
    if (status == STATUS_OK && !is_allowed && mark.is_valid) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "table '%s' of an earlier append certify still exists: add --recreate to drop it",
                  name);
        status = STATUS_FATAL;
    } else if (status == STATUS_OK && !is_allowed) {
        status = table_mark_refuse_drop(&mark, &table, name, -1, "--recreate", error);
    }
    table_fini(&table);
    return status;
}

/* Writes the statement that creates a table. Fails if this program cannot create or mark such a
 * table in this database. */
static enum status write_create(const struct plan *plan, const struct connection_info *connection,
                                unsigned number, struct buffer *sql, struct error *error)
{
    struct table table;
    const char *const tail = connection->create_tail == NULL ? "" : connection->create_tail;
    const char *const clause = plan->adapter->engine_clause;
    enum status status = rows_describe(&table, number, error);
    buffer_add_text(sql, "create table ");
    buffer_add_identifier(sql, table.name, connection->identifier_quote);
    for (size_t c = 0; c < table.column_count && status == STATUS_OK; c++) {
        char type[160] = "";
        if (connection->table_mark == NULL || connection->declare_column == NULL ||
            !connection->declare_column(&table.columns[c], false, type, sizeof type)) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "append certify cannot create its tables in %s: use PostgreSQL, MariaDB, "
                      "MySQL, SQLite or ClickHouse",
                      connection->dialect);
            status = STATUS_FATAL;
        }
        buffer_add_text(sql, c == 0 ? " (" : ", ");
        buffer_add_identifier(sql, table.columns[c].name, connection->identifier_quote);
        buffer_add_format(sql, " %s", type);
    }
    buffer_add_format(sql, ")%s", plan->engine != NULL && clause != NULL ? "" : tail);
    if (plan->engine != NULL && clause != NULL) {
        buffer_add_format(sql, "%s%s", clause, plan->engine);
    }
    table_fini(&table);
    return status;
}

/* Creates a table, and marks it as made by this program. Sets *is_made to true if the table was
 * created, even if it could not be marked. */
static enum status create(const struct table_mark_place *place, unsigned number, struct buffer *sql,
                          bool *is_made, struct error *error)
{
    struct table table;
    enum status status = rows_describe(&table, number, error);
    status = status == STATUS_OK ? ask_execute(place->adapter, place->conn, sql, error) : status;
    *is_made = status == STATUS_OK;
    if (status == STATUS_OK) {
        status = table_mark_write(place, table.columns[0].name, true, false, error);
    }
    table_fini(&table);
    return status;
}

/* Makes an index that the database's own check can compare with the table. */
static enum status create_index(const struct plan *plan, struct adapter_conn *conn,
                                const struct connection_info *connection, struct error *error)
{
    struct buffer sql = {0};
    struct table table;
    const char quote = connection->identifier_quote;
    if (connection->integrity == NULL || connection->integrity->check == NULL) {
        return STATUS_OK;
    }
    enum status status = rows_describe(&table, 0, error);
    if (status == STATUS_OK) {
        buffer_add_text(&sql, "create index ");
        buffer_add_identifier(&sql, "append_certify_index", quote);
        buffer_add_text(&sql, " on ");
        buffer_add_identifier(&sql, table.name, quote);
        buffer_add_text(&sql, " (");
        buffer_add_identifier(&sql, table.columns[ROWS_SESSION].name, quote);
        buffer_add_text(&sql, ", ");
        buffer_add_identifier(&sql, table.columns[ROWS_NUMBER].name, quote);
        buffer_add_text(&sql, ")");
        status = ask_execute(plan->adapter, conn, &sql, error);
    }
    table_fini(&table);
    return status;
}

enum status tables_make(const struct plan *plan, struct adapter_conn *conn,
                        const struct connection_info *connection, struct error *error)
{
    struct buffer sql[ROWS_TABLES] = {{0}};
    bool is_old[ROWS_TABLES] = {false}, is_made[ROWS_TABLES] = {false};
    enum status status = STATUS_OK;
    /* everything that could be refused is checked before the first table is dropped */
    for (unsigned t = 0; t < ROWS_TABLES && status == STATUS_OK; t++) {
        status = write_create(plan, connection, t, &sql[t], error);
    }
    for (unsigned t = 0; t < ROWS_TABLES && status == STATUS_OK; t++) {
        status = find_old(plan, conn, connection, t, &is_old[t], error);
    }
    for (unsigned t = 0; t < ROWS_TABLES && status == STATUS_OK; t++) {
        if (is_old[t]) {
            status = ask_drop_table(plan->adapter, conn, connection, rows_table_names[t], error);
        }
    }
    for (unsigned t = 0; t < ROWS_TABLES && status == STATUS_OK; t++) {
        const struct table_mark_place place = mark_place(plan, conn, connection, t);
        status = create(&place, t, &sql[t], &is_made[t], error);
    }
    status = status == STATUS_OK ? create_index(plan, conn, connection, error) : status;
    for (unsigned t = 0; t < ROWS_TABLES && status != STATUS_OK; t++) {
        const char *name = rows_table_names[t];
        struct error ignored = {.kind = ERROR_NONE};
        if (is_made[t] &&
            ask_drop_table(plan->adapter, conn, connection, name, &ignored) != STATUS_OK) {
            notice_print("the new table %s is kept, because it could not be dropped: %s", name,
                         ignored.text);
        }
    }
    for (unsigned t = 0; t < ROWS_TABLES; t++) {
        buffer_fini(&sql[t]);
    }
    return status;
}

enum status tables_drop(const struct plan *plan, struct adapter_conn *conn,
                        const struct connection_info *connection, struct error *error)
{
    enum status status = STATUS_OK;
    for (unsigned t = 0; t < ROWS_TABLES && status == STATUS_OK; t++) {
        const struct table_mark_place place = mark_place(plan, conn, connection, t);
        struct table_mark mark = {.is_valid = false};
        status = table_mark_read(&place, &mark, error);
        if (status == STATUS_OK && !mark.is_valid) {
            error_set(error, ERROR_USAGE, 0, NULL, "table %s lacks the mark of append certify",
                      rows_table_names[t]);
            status = STATUS_REJECTED;
        } else if (status == STATUS_OK) {
            status = ask_drop_table(plan->adapter, conn, connection, rows_table_names[t], error);
        }
    }
    return status;
}

void tables_fill_setup(struct setup *setup)
{
    setup->tables = calloc(ROWS_TABLES + 1, sizeof *setup->tables);
    setup->table_count = setup->tables == NULL ? 0 : ROWS_TABLES;
    for (size_t t = 0; t < setup->table_count; t++) {
        setup->tables[t].name = rows_table_names[t];
    }
}

void tables_free_setup(struct setup *setup)
{
    free(setup->tables);
    setup->tables = NULL;
    setup->table_count = 0;
}
