#include "load/setup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/ask.h"
#include "base/buffer.h"
#include "base/mono.h"
#include "base/url.h"
#include "load/probe.h"
#include "plan/columns.h"
#include "plan/target.h"

static enum status execute_buffer(struct adapter_conn *conn, const struct plan *plan,
                                  struct buffer *sql, struct error *error)
{
    enum status status = STATUS_FATAL;
    if (buffer_failed(sql)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a statement");
    } else {
        status = plan->adapter->execute(conn, buffer_text(sql), error);
    }
    buffer_fini(sql);
    return status;
}

static enum status drop_table(struct adapter_conn *conn, const struct plan *plan, const char *name,
                              char quote, struct error *error)
{
    struct buffer sql;
    buffer_init(&sql);
    buffer_add_text(&sql, "drop table if exists ");
    buffer_add_identifier(&sql, name, quote);
    return execute_buffer(conn, plan, &sql, error);
}

/* Makes the table, with the engine asked for, if one is. */
static enum status create_table(struct adapter_conn *conn, const struct plan *plan, const char *ddl,
                                struct error *error)
{
    struct buffer sql;
    buffer_init(&sql);
    buffer_add_text(&sql, ddl);
    if (plan->engine != NULL) {
        buffer_add_text(&sql, plan->adapter->engine_clause);
        buffer_add_text(&sql, plan->engine);
    }
    return execute_buffer(conn, plan, &sql, error);
}

/* An engine that the server does not have, or that cannot hold these columns, is to be known before
 * the table that is there has been dropped. */
static enum status try_engine(struct adapter_conn *conn, const struct plan *plan, const char *ddl,
                              char quote, struct error *error)
{
    const char *name = strstr(ddl, PLAN_DEFAULT_TABLE);
    if (plan->engine == NULL || name == NULL) {
        return STATUS_OK;
    }
    char trial[48];
    snprintf(trial, sizeof trial, "append_trial_%ld", (long)getpid());
    struct buffer text;
    buffer_init(&text);
    buffer_add(&text, ddl, (size_t)(name - ddl));
    buffer_add_text(&text, trial);
    buffer_add_text(&text, name + strlen(PLAN_DEFAULT_TABLE));
    enum status status = create_table(conn, plan, buffer_text(&text), error);
    buffer_fini(&text);
    return status == STATUS_OK ? drop_table(conn, plan, trial, quote, error) : status;
}

/* The statement that makes the table; NULL: there is none, so the table has to exist. */
static const char *find_ddl(const struct plan *plan, const struct connection_info *connection)
{
    if (plan->ddl != NULL || !plan->is_default_table) {
        return plan->ddl;
    }
    return schema_find("syslog", connection->dialect);
}

/* A table that was there before, or that the server made with another engine than asked for. */
static enum status check_engine(const struct plan *plan, const struct table *table,
                                struct error *error)
{
    if (plan->engine == NULL || strcasecmp(plan->engine, table->engine) == 0) {
        return STATUS_OK;
    }
    error_set(error, ERROR_USAGE, 0, NULL,
              "table '%s' has the engine %s, not %s: leave --engine out, or let --recreate drop it",
              table->name, table->engine, plan->engine);
    return STATUS_FATAL;
}

/* A name with a point in it is a table's, unless its parts are meant. */
static void explain_missing(const struct plan *plan, const struct connection_info *connection,
                            struct error *error)
{
    const char *point = strchr(plan->table_name, '.');
    if (error->kind == ERROR_NOT_FOUND && point != NULL) {
        const bool has_schemas = strcmp(connection->dialect, "postgresql") == 0;
        error_clear(error);
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "no table is named \"%.70s\": if %.*s is a %s, write --%s %.*s --table %.40s",
                  plan->table_name, (int)(point - plan->table_name), plan->table_name,
                  has_schemas ? "schema" : "database", has_schemas ? "schema" : "database",
                  (int)(point - plan->table_name), plan->table_name, point + 1);
    }
}

/* Leaves the table described in *table, made if there was none and there is DDL for it. */
static enum status find_or_create(struct adapter_conn *conn, const struct plan *plan,
                                  const struct connection_info *connection, struct table *table,
                                  struct error *error)
{
    const struct adapter *adapter = plan->adapter;
    const char *ddl = find_ddl(plan, connection);
    enum status status = STATUS_OK;
    if (plan->is_recreate && ddl == NULL) {
        error_set(
            error, ERROR_USAGE, 0, NULL,
            "--recreate needs --schema-file FILE here: append has no statement to create '%s' "
            "in %s",
            plan->table_name, connection->dialect);
        return STATUS_FATAL;
    }
    if (plan->is_recreate) {
        status = try_engine(conn, plan, ddl, connection->identifier_quote, error);
    }
    if (plan->is_recreate && status == STATUS_OK) {
        status = drop_table(conn, plan, plan->table_name, connection->identifier_quote, error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    struct error missing;
    error_clear(&missing);
    status = adapter->describe(conn, plan->table_name, table, &missing);
    if (status == STATUS_REJECTED && missing.kind == ERROR_NOT_FOUND && ddl != NULL) {
        status = create_table(conn, plan, ddl, error);
        return status == STATUS_OK ? adapter->describe(conn, plan->table_name, table, error)
                                   : status;
    }
    if (status != STATUS_OK) {
        *error = missing;
        explain_missing(plan, connection, error);
    }
    return status;
}

/* Every column that is named is one of the table, and can be left out or written. */
static enum status check_columns(const struct plan *plan, const struct table *table,
                                 struct error *error)
{
    const struct {
        const char *option;
        const char *list;
        bool is_written;
    } lists[] = {{"skip-columns", plan->skip_columns, false}, {"values", plan->values, true}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const char *list = lists[i].list;
        struct column_item item, first;
        while (column_item_next(&list, &item)) {
            const struct column *column = column_item_find(&item, table);
            const char *fault = NULL;
            if (column == NULL) {
                fault = "is not there";
            } else if (column_item_of(lists[i].list, table, column, &first) &&
                       first.name.bytes != item.name.bytes) {
                fault = "is named twice";
            } else if (!lists[i].is_written && !column->is_generated && !column->is_nullable &&
                       !column->has_default) {
                fault = "cannot be left out: it is NOT NULL and has no default";
            } else if (lists[i].is_written && column->is_generated) {
                fault = "cannot be given values: the database computes it";
            } else if (lists[i].is_written &&
                       column_item_of(plan->skip_columns, table, column, &first)) {
                fault = "is left out by --skip-columns";
            }
            if (fault != NULL) {
                error_set(error, ERROR_USAGE, 0, NULL, "--%s: column '%.*s' of table '%.80s' %s",
                          lists[i].option, item.name.length > 80 ? 80 : (int)item.name.length,
                          item.name.bytes, table->name, fault);
                return STATUS_REJECTED;
            }
        }
    }
    return STATUS_OK;
}

/* Columns that the database computes, or that are to be left out, are not written; the others make
 * the statement. */
static enum status keep_writable(struct table *to, const struct plan *plan,
                                 const struct table *from, struct error *error)
{
    struct column_item item;
    enum status status = check_columns(plan, from, error);
    if (status != STATUS_OK) {
        return status;
    }
    status = table_init(to, from->name, error);
    memcpy(to->engine, from->engine, sizeof to->engine);
    to->keeps_failed_rows = from->keeps_failed_rows;
    to->statement_bytes_max = from->statement_bytes_max;
    to->has_no_bulk_path = from->has_no_bulk_path;
    to->is_pooled = from->is_pooled;
    for (size_t c = 0; status == STATUS_OK && c < from->column_count; c++) {
        struct column column = from->columns[c];
        const bool has_values = column_item_of(plan->values, from, &from->columns[c], &item);
        /* a unique column with a default is a sequence: the database numbers it */
        const bool is_sequence = column.has_default && column.is_unique && !has_values;
        if (column.is_generated || is_sequence ||
            column_item_of(plan->skip_columns, from, &from->columns[c], &item)) {
            continue;
        }
        if (column.type == COLUMN_UNSUPPORTED && has_values) {
            column.type = COLUMN_TEXT; /* the labels of an enum, for one: the server judges them */
        }
        status = table_add_column(to, &column, error);
    }
    if (status == STATUS_OK && to->column_count == 0) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "table '%s' has no column to write",
                  from->name);
        status = STATUS_REJECTED;
    }
    if (status != STATUS_OK) {
        table_fini(to);
    }
    return status;
}

/* A container has an address of its own, which is none of this machine's. */
static bool is_elsewhere(const struct plan *plan, const struct connection_info *connection)
{
    return !connection->is_embedded && plan->server_pid == 0 && plan->server_cgroup == NULL &&
           !address_is_local(connection->host);
}

static void inspect_connection(struct setup *setup, struct adapter_conn *conn,
                               const struct plan *plan)
{
    struct connection_info *connection = &setup->connection;
    target_fill_connection(plan, connection);
    if (plan->adapter->inspect != NULL) {
        plan->adapter->inspect(conn, connection);
    }
    setup->is_remote = is_elsewhere(plan, connection);
}

/* A pooler may have prepared it in another session. */
static enum status write_count(struct setup *setup, struct error *error)
{
    struct buffer sql;
    buffer_init(&sql);
    ask_write_count(&sql, setup->table.name, setup->connection.identifier_quote);
    if (buffer_failed(&sql)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a statement");
        return STATUS_FATAL;
    }
    setup->count_sql = sql.bytes;
    setup->count =
        (struct statement){.sql = setup->count_sql, .is_prepared = !setup->table.is_pooled};
    return STATUS_OK;
}

static enum status prepare(struct probe *probe, struct adapter_conn *conn, struct error *error)
{
    struct setup *setup = probe->context;
    const struct plan *plan = probe->plan;
    const struct adapter *adapter = plan->adapter;
    struct error ignored;
    error_clear(&ignored);
    /* what a server does not tell about itself does not keep it from being loaded */
    if (adapter->server_limits == NULL ||
        adapter->server_limits(conn, &setup->server, &ignored) != STATUS_OK) {
        memset(&setup->server, 0, sizeof setup->server);
    }
    probe_note_answer(probe);
    inspect_connection(setup, conn, plan);

    struct table table = {0};
    enum status status = find_or_create(conn, plan, &setup->connection, &table, error);
    inspect_connection(setup, conn, plan); /* it knows more about the server by now */
    if (status == STATUS_OK) {
        status = check_engine(plan, &table, error);
    }
    if (status == STATUS_OK) {
        status = keep_writable(&setup->table, plan, &table, error);
    }
    table_fini(&table);
    if (status == STATUS_OK) {
        status = write_count(setup, error);
    }
    probe_note_answer(probe);
    if (status == STATUS_OK && (adapter->flags & ADAPTER_DISCARDS) == 0) {
        const int64_t start_ns = mono_now_ns();
        status = ask_count(adapter, conn, &setup->count, &setup->rows_before, error);
        setup->count_ns = mono_now_ns() - start_ns;
        probe_note_answer(probe);
    }
    if (status == STATUS_OK && plan->read_mode == READ_QUERY) {
        /* a query that cannot work is better known now than from every session */
        const struct statement query = {.sql = plan->read_sql};
        status = adapter->run(conn, &query, NULL, &(struct answer){.take = NULL}, error);
    }
    return status;
}

enum exit_code setup_prepare(struct setup *setup, const struct plan *plan, struct error *error)
{
    memset(setup, 0, sizeof *setup);
    struct probe probe = {
        .plan = plan,
        .open = PROBE_PATIENTLY,
        .work = prepare,
        .context = setup,
        .what = "an answer while the table was set up",
        .notice = plan->wait_ns > 0 ? "waiting for the server"
                                    : "waiting for the server to get the table ready",
        .limit_ns = plan->timeout_ns,
    };
    const enum exit_code code =
        probe_conclude(probe_run(&probe, error), "the first session", error);
    if (code != EXIT_CODE_OK) {
        setup_fini(setup);
    }
    return code;
}

void setup_fini(struct setup *setup)
{
    table_fini(&setup->table);
    free(setup->count_sql);
    setup->count_sql = NULL;
}

static enum status inquire(struct probe *probe, struct adapter_conn *conn, struct error *error)
{
    struct inquiry *inquiry = probe->context;
    const struct adapter *adapter = probe->plan->adapter;
    if (adapter->inspect != NULL) {
        adapter->inspect(conn, &inquiry->connection);
    }
    return adapter->server_limits == NULL ? STATUS_OK
                                          : adapter->server_limits(conn, &inquiry->server, error);
}

enum exit_code setup_inquire(struct inquiry *inquiry, const struct plan *plan, struct error *error)
{
    memset(inquiry, 0, sizeof *inquiry);
    target_fill_connection(plan, &inquiry->connection);
    struct probe probe = {
        .plan = plan,
        .open = PROBE_FIRST,
        .makes_nothing = true,
        .work = inquire,
        .context = inquiry,
        .what = "its limits",
        .notice = "waiting for the server to tell its limits",
    };
    const enum status status = probe_run(&probe, error);
    if (status != STATUS_OK) {
        memset(&inquiry->server, 0, sizeof inquiry->server);
    }
    inquiry->is_remote = is_elsewhere(plan, &inquiry->connection);
    return probe_conclude(status, "the server had answered", error);
}

static enum status find_table(struct probe *probe, struct adapter_conn *conn, struct error *error)
{
    bool *is_there = probe->context;
    struct table table = {0};
    const enum status status =
        probe->plan->adapter->describe(conn, probe->plan->table_name, &table, error);
    table_fini(&table);
    *is_there = status == STATUS_OK;
    return status == STATUS_REJECTED && error->kind == ERROR_NOT_FOUND ? STATUS_OK : status;
}

enum exit_code setup_find_table(const struct plan *plan, bool *is_there, struct error *error)
{
    *is_there = false;
    if ((plan->adapter->flags & ADAPTER_FILE) != 0 && access(plan->target.path, F_OK) != 0 &&
        errno == ENOENT) {
        return EXIT_CODE_OK;
    }
    struct probe probe = {
        .plan = plan,
        .open = PROBE_FIRST,
        .work = find_table,
        .context = is_there,
        .what = "the table",
        .notice = "waiting for the server to tell about the table",
    };
    return probe_conclude(probe_run(&probe, error), "the first run", error);
}
