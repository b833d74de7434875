#include "load/setup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "base/url.h"
#include "load/datasets.h"
#include "load/loader.h"
#include "load/server.h"
#include "load/table_mark.h"
#include "load/task.h"

enum exit_code setup_start_library(struct facts *facts, const struct plan *plan,
                                   struct error *error)
{
    const struct adapter *adapter = plan->adapter;
    facts->library = NULL;
    return adapter->start == NULL ||
                   adapter->start(plan->target.client_lib, &facts->library, error) == STATUS_OK
               ? EXIT_CODE_OK
               : task_exit_code(error);
}

void setup_stop_library(const struct plan *plan)
{
    if (plan->adapter->stop != NULL) {
        plan->adapter->stop(plan->facts->library);
    }
}

/* Returns whether `asked`, the value of --engine, names the engine `name`. Options may follow the
 * name in `asked`. */
static bool is_engine(const char *asked, const char *name)
{
    const size_t length = strlen(name);
    return strncasecmp(asked, name, length) == 0 &&
           (asked[length] == '\0' || strchr(" (", asked[length]) != NULL);
}

/* Creates the table, with the engine of --engine if it was given. `trial` is the name of a trial
 * table, or NULL to create the table itself. */
static enum status create_table(struct adapter_conn *conn, const struct plan *plan, const char *ddl,
                                const char *trial, struct error *error)
{
    struct buffer sql = {0};
    const char *name = trial == NULL ? NULL : strstr(ddl, PLAN_DEFAULT_TABLE);
    if (name != NULL) {
        buffer_add(&sql, ddl, (size_t)(name - ddl));
        buffer_add_text(&sql, trial);
        ddl = name + strlen(PLAN_DEFAULT_TABLE);
    }
    ask_write_engine(&sql, ddl, plan->adapter->engine_clause, plan->engine);
    return ask_execute(plan->adapter, conn, &sql, error);
}

/* Returns the data for reading and writing the mark of the run's own table: see load/table_mark.h.
 * Runs, and not a load, fill this table. */
static struct table_mark_place mark_place(struct adapter_conn *conn, const struct plan *plan,
                                          const struct connection_info *connection)
{
    return (struct table_mark_place){.adapter = plan->adapter,
                                     .conn = conn,
                                     .connection = connection,
                                     .table_name = plan->table_name,
                                     .what = "rows of append runs",
                                     .rows = ""};
}

/* Checks that the existing table, described by `table`, may be dropped: this program made it, or
 * --recreate names it. */
static enum status check_drop(struct adapter_conn *conn, const struct plan *plan,
                              const struct connection_info *connection, const struct table *table,
                              struct error *error)
{
    const struct table_mark_place place = mark_place(conn, plan, connection);
    struct table_mark mark;
    const enum status status = table_mark_read(&place, &mark, error);
    if (status != STATUS_OK || table_mark_allows_drop(&mark, plan, plan->table_name)) {
        return status;
    }
    uint64_t rows = 0;
    struct error uncounted = {.kind = ERROR_NONE};
    const bool is_counted = ask_count_table(plan->adapter, conn, connection, plan->table_name,
                                            &rows, &uncounted) == STATUS_OK;
    if (is_counted && rows == 0 && (table->is_missing || connection->facts.has_no_columns)) {
        return STATUS_OK; /* in this database a table without rows does not exist */
    }
    return table_mark_refuse_drop(&mark, table, plan->table_name, is_counted ? (int64_t)rows : -1,
                                  "--recreate", error);
}

/* Describes the table in *table. If the table is missing and there is a statement that creates it,
 * creates the table and sets *is_made. */
static enum status find_or_create(struct adapter_conn *conn, const struct plan *plan,
                                  const struct connection_info *connection, struct table *table,
                                  bool *is_made, struct error *error)
{
    const struct adapter *adapter = plan->adapter;
    const char *const odd = connection->not_in_names;
    const char *const found = odd == NULL ? NULL : strpbrk(plan->table_name, odd);
    if (found != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "--table '%.100s': %s does not allow '%c' in names",
                  plan->table_name, connection->dialect, *found);
        return STATUS_FATAL;
    }
    const bool has_own_ddl = plan->ddl != NULL || !plan->is_default_table;
    /* the statement is NULL if this program cannot create the table; the table must then exist */
    const char *ddl = has_own_ddl ? plan->ddl : schema_of_syslog(adapter, connection->dialect);
    if (plan->is_recreate && ddl == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--recreate needs --schema-file FILE here: append has no statement to create "
                  "'%s' in %s",
                  plan->table_name, connection->dialect);
        return STATUS_FATAL;
    }
    enum status status = adapter->describe(adapter, conn, plan->table_name, table, error);
    bool is_missing = status != STATUS_OK && error->kind == ERROR_NOT_FOUND;
    const bool is_dropped = plan->is_recreate && status == STATUS_OK;
    if (is_dropped) {
        status = check_drop(conn, plan, connection, table, error);
        table_fini(table);
    }
    if (is_dropped && status == STATUS_OK && plan->engine != NULL &&
        strstr(ddl, PLAN_DEFAULT_TABLE) != NULL) {
        /* Try the engine before the existing table is dropped, because the server may not have the
         * engine, or the engine may not support these columns. */
        char trial[48];
        snprintf(trial, sizeof trial, "append_trial_%ld", (long)getpid());
        status = create_table(conn, plan, ddl, trial, error);
        if (status == STATUS_OK) {
            status = ask_drop_table(plan->adapter, conn, connection, trial, error);
        }
    }
    if (is_dropped) {
        status = status == STATUS_OK
                     ? ask_drop_table(adapter, conn, connection, plan->table_name, error)
                     : status;
        if (status != STATUS_OK) {
            return status;
        }
        status = adapter->describe(adapter, conn, plan->table_name, table, error);
        is_missing = status != STATUS_OK && error->kind == ERROR_NOT_FOUND;
    }
    if (is_missing && status == STATUS_REJECTED && ddl != NULL) {
        error_clear(error);
        status = create_table(conn, plan, ddl, NULL, error);
        status = status == STATUS_OK
                     ? adapter->describe(adapter, conn, plan->table_name, table, error)
                     : status;
        *is_made = status == STATUS_OK;
        if (*is_made && table->column_count > 0) {
            const struct table_mark_place place = mark_place(conn, plan, connection);
            status = table_mark_write(&place, table->columns[0].name, true, false, error);
        }
        return status;
    }
    const char *point = strchr(plan->table_name, '.');
    if (is_missing && point != NULL) {
        /* the whole name was used as the table's name, but the user may mean a table in a schema or
         * database */
        const int length = (int)(point - plan->table_name);
        error_clear(error);
        const char *part = connection->has_schemas ? "schema" : "database";
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "table \"%.70s\" does not exist: if %.*s is a %s, use --%s %.*s --table %.40s",
                  plan->table_name, length, plan->table_name, part, part, length, plan->table_name,
                  point + 1);
    }
    return status;
}

/* Checks the columns that --skip-columns and --values name. Every column must exist. It must be
 * possible to leave out the columns of --skip-columns, and to write the columns of --values. */
static enum status check_columns(const struct plan *plan, const struct table *table,
                                 struct error *error)
{
    const struct {
        const char *option;
        const char *list;
        bool is_written;
    } lists[] = {{"skip-columns", plan->skip_columns, false}, {"values", plan->values, true}};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const char *list = lists[i].list;
        struct column_item item, first;
        while (column_item_next(&list, &item)) {
            const struct column *column = column_item_find(&item, table);
            const char *fault = NULL;
            if (column == NULL) {
                fault = "does not exist";
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

/* Removes the columns that a run does not write from *table, but not from the database. These are
 * columns that the database computes, and columns that --skip-columns names. */
static enum status keep_writable(const struct plan *plan, struct table *table, struct error *error)
{
    const enum status status = check_columns(plan, table, error);
    struct column_item item;
    for (size_t c = 0; status == STATUS_OK && c < table->column_count; c++) {
        struct column *column = &table->columns[c];
        const bool has_values = column_item_of(plan->values, table, column, &item);
        /* a unique column with a default is a sequence: the database numbers it */
        const bool is_sequence = column->has_default && column->is_unique && !has_values;
        if (is_sequence || column_item_of(plan->skip_columns, table, column, &item)) {
            column->is_generated = true;
        } else if (column->type == COLUMN_UNSUPPORTED && has_values) {
            column->type = COLUMN_TEXT; /* for example an enum: the server checks the values */
        }
    }
    size_t kept = 0;
    for (size_t c = 0; c < table->column_count; c++) {
        if (!table->columns[c].is_generated) {
            table->columns[kept++] = table->columns[c];
        }
    }
    table->column_count = kept;
    if (status == STATUS_OK && kept == 0) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "table '%s' has no column that append can write", table->name);
        return STATUS_REJECTED;
    }
    return status;
}

/* Fills in the facts about the connection. `conn` may be NULL. */
static void inspect(struct setup *setup, struct adapter_conn *conn, const struct plan *plan)
{
    struct connection_info *connection = &setup->connection;
    target_fill_connection(plan, connection);
    if (conn != NULL && plan->adapter->inspect != NULL) {
        plan->adapter->inspect(plan->adapter, conn, connection);
    }
    setup->nothing.sql = ask_templates(connection)->nothing;
    /* a server with a known process or cgroup is on this machine, even if its container has an
     * address of its own */
    const char *there = connection->address[0] != '\0' ? connection->address : connection->host;
    setup->is_remote = !connection->is_embedded && plan->facts->server_pid == 0 &&
                       plan->facts->server_cgroup == NULL && !address_is_local(there);
    if (address_is_local(there) != address_is_local(connection->host) &&
        strstr(connection->note, there) == NULL) {
        const size_t length = strlen(connection->note);
        snprintf(connection->note + length, sizeof connection->note - length,
                 "%sthe connection goes to %s, not to %.60s", length > 0 ? "; " : "", there,
                 connection->host);
    }
}

static enum status ask_limits(struct setup *setup, struct adapter_conn *conn,
                              const struct adapter *adapter, struct error *error)
{
    enum status status = STATUS_OK;
    if (adapter->server_limits != NULL) {
        status = adapter->server_limits(adapter, conn, &setup->server, error);
    }
    if (status != STATUS_OK) {
        memset(&setup->server, 0, sizeof setup->server);
    }
    return status;
}

enum exit_code setup_allocate(struct setup *setup, const struct plan *plan, struct error *error)
{
    const struct script *script = plan->script;
    const size_t tables = plan_table_count(plan);
    const size_t hosts = MAX(plan->host_count, (size_t)1);
    setup->tables = calloc(tables + 1, sizeof *setup->tables);
    setup->hosts = calloc(hosts, sizeof *setup->hosts);
    bool has_memory = setup->tables != NULL && setup->hosts != NULL;
    setup->table_count = setup->tables == NULL ? 0 : tables;
    setup->host_count = setup->hosts == NULL ? 0 : hosts;
    setup->own = setup->tables;
    for (size_t i = 0; i < setup->table_count; i++) {
        setup->tables[i].name = plan_table_name(plan, i);
        setup->own +=
            script != NULL && setup->own == &setup->tables[i] && script->datasets[i].is_declared;
    }
    for (size_t i = 0; i < setup->host_count && has_memory; i++) {
        setup->hosts[i].is_known = (plan->adapter->flags & ADAPTER_DISCARDS) != 0;
        setup->hosts[i].rows_before = calloc(tables + 1, sizeof *setup->hosts[i].rows_before);
        has_memory = setup->hosts[i].rows_before != NULL;
    }
    if (!has_memory) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the tables of the run");
    }
    return has_memory ? EXIT_CODE_OK : EXIT_CODE_CLIENT_LIMIT;
}

static enum status prepare_table(struct task *task, struct setup *setup, struct adapter_conn *conn,
                                 struct error *error)
{
    const struct plan *plan = task->plan;
    const struct adapter *adapter = plan->adapter;
    struct table *table = &setup->own->table;
    struct buffer sql = {0};
    enum status status =
        find_or_create(conn, plan, &setup->connection, table, &setup->has_made_table, error);
    const struct script_dataset *const named = plan_find_undeclared(plan->script, 0);
    if (status != STATUS_OK && error->kind == ERROR_NOT_FOUND && named != NULL) {
        error_prefix(error, "%s:%d: dataset '%.40s' has no columns",
                     plan_script_shown(plan->script), named->line, named->name);
    }
    inspect(setup, conn, plan); /* more is known about the server now */
    if (status == STATUS_OK && plan->engine != NULL && !is_engine(plan->engine, table->engine)) {
        /* the table existed before, or the server chose another engine */
        error_set(error, ERROR_USAGE, 0, NULL,
                  "table '%s' has the engine %s, not %s: omit --engine, or add --recreate",
                  table->name, table->engine, plan->engine);
        status = STATUS_FATAL;
    }
    if (status == STATUS_OK) {
        status = keep_writable(plan, table, error);
    }
    if (status == STATUS_OK) {
        setup->own->count = ask_write_count(&sql, &setup->connection, table->name);
        setup->own->count_sql = sql.bytes;
    }
    if (buffer_failed(&sql)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a statement");
        status = STATUS_FATAL;
    }
    task_note_answer(task);
    if (status == STATUS_OK && (adapter->flags & ADAPTER_DISCARDS) == 0 && !plan->is_follower) {
        const int64_t start_ns = mono_now_ns();
        status = task_count_rows(task, conn, &setup->own->count,
                                 setup_rows_before(setup, setup->own), error);
        setup->count_ns = mono_now_ns() - start_ns;
        task_note_answer(task);
    }
    return status;
}

/* Checks that the database reports what its sessions wait for. Called before the set-up creates
 * anything. */
static enum status check_waits(struct setup *setup, const struct plan *plan, struct error *error)
{
    const char *why = plan_why_no_waits(plan);
    if (!plan_polls_waits(plan) || plan->is_follower) {
        return STATUS_OK;
    }
    if (why == NULL && setup->connection.waits == NULL) {
        why = "append cannot ask this database what its sessions wait for";
    } else if (why == NULL && setup->server.is_pooled) {
        why = "through a pooler the server does not show which of its sessions are append's: "
              "connect to the server itself";
    }
    snprintf(setup->waits_note, sizeof setup->waits_note, "%s", why == NULL ? "" : why);
    if (why == NULL || plan->waits == WAITS_TRY) {
        return STATUS_OK;
    }
    error_set(error, ERROR_USAGE, 0, NULL, "--waits: %s", why);
    return STATUS_FATAL;
}

static enum status prepare(struct task *task, struct adapter_conn *conn, struct error *error)
{
    struct setup *setup = task->context;
    const struct plan *plan = task->plan;
    const struct adapter *adapter = plan->adapter;
    const struct datasets_place place = {plan, setup, conn, task_note_answer, task};
    enum status status = STATUS_OK;
    setup->host = task->host;
    setup->hosts[setup->host].is_known = true;
    /* a run also works when the server does not report its limits */
    ask_limits(setup, conn, adapter, &(struct error){.kind = ERROR_NONE});
    task_note_answer(task);
    inspect(setup, conn, plan);
    status = check_waits(setup, plan, error);
    if (status == STATUS_OK && plan->script != NULL) {
        status = datasets_examine(&place, &setup->datasets, error);
        inspect(setup, conn, plan);
    }
    if (status == STATUS_OK &&
        (plan->script == NULL || plan_find_undeclared(plan->script, 0) != NULL)) {
        status = prepare_table(task, setup, conn, error);
    }
    if (status == STATUS_OK && plan->script != NULL) {
        status = datasets_make(&place, setup->datasets, error);
        inspect(setup, conn, plan);
    }
    task_note_answer(task);
    if (status == STATUS_OK) {
        server_ask_settings(task, conn, &setup->hosts[setup->host].settings);
    }
    if (status == STATUS_OK && plan->script == NULL && plan->read_mode == READ_QUERY) {
        /* run the query once now, so that an invalid query is found before the sessions begin */
        const struct statement query = {.sql = plan->read_sql};
        status = adapter->run(conn, &query, NULL, &(struct answer){.take = NULL}, error);
    }
    if (status == STATUS_OK) {
        storage_find(&setup->storage, plan, &setup->connection, conn);
        setup->storage.bytes_before =
            storage_read(&setup->storage, plan, conn, &(struct error){.kind = ERROR_NONE});
        task_note_answer(task);
    }
    return status;
}

static enum status undo(struct task *task, struct adapter_conn *conn, struct error *error)
{
    struct setup *setup = task->context;
    const struct datasets_place place = {task->plan, setup, conn, task_note_answer, task};
    (void)error;
    datasets_undo(&place, setup->datasets);
    return STATUS_OK;
}

/* Ends the load of the script's tables. On failure, *error also says how many rows are loaded. */
static enum exit_code end_load(struct setup *setup, const struct plan *plan, struct error *error)
{
    const enum status status = loader_end(setup->datasets, error);
    if (status == STATUS_OK) {
        return task_conclude(status, "the first session", error);
    }
    if (datasets_is_script_wrong(setup->datasets)) {
        struct task task = {
            .plan = plan,
            .open = TASK_AGAIN,
            .work = undo,
            .setup = setup,
            .context = setup,
            .what = "an answer while tables were dropped",
            .notice = "waiting for the server to drop the tables",
            .limit_ns = plan->timeout_ns,
        };
        task_run(&task, &(struct error){.kind = ERROR_NONE});
    }
    loader_explain(setup->datasets, plan, setup, error);
    return interrupt_requested() ? EXIT_CODE_INTERRUPTED : task_exit_code(error);
}

/* Counts the rows of each table at the task's host. */
static enum status count_tables_at(struct task *task, struct adapter_conn *conn, uint64_t *rows,
                                   struct error *error)
{
    const struct setup *setup = task->setup;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < setup->table_count && status == STATUS_OK; i++) {
        status = task_count_rows(task, conn, &setup->tables[i].count, &rows[i], error);
        task_note_answer(task);
    }
    return status;
}

/* Checks a further host and counts the rows of its tables. The host shares the database of the
 * first host, or has a database of its own. Without a script, a host with its own database gets the
 * run's table if the table is missing, and a new table with --recreate. */
static enum status prepare_host(struct task *task, struct adapter_conn *conn, struct error *error)
{
    const struct plan *plan = task->plan;
    const struct setup *setup = task->setup;
    struct setup_host *const host = task->context;
    uint64_t *const rows = host->rows_before;
    struct table table = {0};
    enum status status = STATUS_OK;
    if (plan->script == NULL) {
        status = plan->adapter->describe(plan->adapter, conn, plan->table_name, &table, error);
        table_fini(&table);
        const bool is_missing = status == STATUS_REJECTED && error->kind == ERROR_NOT_FOUND;
        if (status == STATUS_OK && plan->is_recreate) {
            status = count_tables_at(task, conn, rows, error);
        }
        if (is_missing || (status == STATUS_OK && plan->is_recreate && rows[0] > 0)) {
            error_clear(error);
            bool is_made;
            status = find_or_create(conn, plan, &setup->connection, &table, &is_made, error);
            table_fini(&table);
        }
    }
    if (status == STATUS_OK) {
        server_ask_settings(task, conn, &host->settings);
        status = count_tables_at(task, conn, rows, error);
    }
    return status;
}

/* Checks all hosts except the host that is set up. Leaves out hosts that do not answer. */
static enum exit_code prepare_hosts(struct setup *setup, const struct plan *plan,
                                    struct error *error)
{
    for (unsigned i = 0; i < setup->host_count && !interrupt_requested(); i++) {
        struct setup_host *host = &setup->hosts[i];
        struct task task = {
            .plan = plan,
            .open = TASK_ONCE,
            .host = i,
            .is_of_host = true,
            .work = prepare_host,
            .setup = setup,
            .context = host,
            .what = "a host's answer while its table was set up",
            .notice = "waiting for a host to get its table ready",
            .limit_ns = plan->timeout_ns,
        };
        if (i == setup->host) {
            continue;
        }
        struct error why = {.kind = ERROR_NONE};
        host->is_known = task_run(&task, &why) == STATUS_OK;
        if (!host->is_known && !plan->is_quiet) {
            char name[PLAN_HOST_BYTES];
            target_name_host(plan, i, name, sizeof name);
            notice_print("host %s is not set up: %s", name, why.text);
        }
    }
    return task_conclude(STATUS_OK, "the first session", error);
}

enum exit_code setup_prepare(struct setup *setup, const struct plan *plan, struct ranks *ranks,
                             struct error *error)
{
    *setup = (struct setup){.ranks = ranks};
    struct task task = {
        .plan = plan,
        .open = TASK_PATIENTLY,
        .work = prepare,
        .setup = setup,
        .context = setup,
        .what = "an answer while the table was set up",
        .notice = plan->wait_ns > 0 ? "waiting for the server"
                                    : "waiting for the server to get the table ready",
        .limit_ns = plan->timeout_ns,
    };
    enum exit_code code = setup_allocate(setup, plan, error);
    if (code == EXIT_CODE_OK) {
        code = task_conclude(task_run(&task, error), "the first session", error);
    }
    if (code == EXIT_CODE_OK && setup->datasets != NULL &&
        loader_begin(setup->datasets, plan, setup, error) != STATUS_OK) {
        code = task_exit_code(error);
    }
    if (code != EXIT_CODE_OK) {
        setup_fini(setup);
    }
    return code;
}

bool setup_wait(struct setup *setup, struct load_counts *counts)
{
    return setup->datasets != NULL && loader_wait(setup->datasets, counts);
}

enum exit_code setup_complete(struct setup *setup, const struct plan *plan, struct error *error)
{
    enum exit_code code = setup->datasets == NULL ? EXIT_CODE_OK : end_load(setup, plan, error);
    datasets_destroy(setup->datasets);
    setup->datasets = NULL;
    if (code == EXIT_CODE_OK && setup->made.load_ns > 0) {
        setup->storage.bytes_before = server_measure_tables(setup, plan, false);
        /* read the settings again, because the tables have new indexes */
        server_read_settings(setup, plan, false, setup->host, &setup->hosts[setup->host].settings);
    }
    if (code == EXIT_CODE_OK && !plan->is_follower &&
        (plan->adapter->flags & ADAPTER_DISCARDS) == 0) {
        code = prepare_hosts(setup, plan, error);
    }
    if (code != EXIT_CODE_OK) {
        setup_fini(setup);
    }
    return code;
}

void setup_pack(const struct setup *setup, const struct plan *plan, struct buffer *text)
{
    buffer_add_format(text, "%" PRIu64, plan->facts->seed);
    for (size_t i = 0; i < setup->host_count; i++) {
        buffer_add_format(text, " %d", setup->hosts[i].is_known ? 1 : 0);
        for (size_t t = 0; t < setup->table_count; t++) {
            buffer_add_format(text, " %" PRIu64, setup->hosts[i].rows_before[t]);
        }
    }
    for (size_t i = 0; i < setup->server.count; i++) {
        buffer_add_format(text, " %" PRIu64, setup->server.sessions[i].used);
    }
}

void setup_unpack(struct setup *setup, struct facts *facts, const char *text)
{
    char *at;
    facts_set_seed(facts, strtoull(text, &at, 10));
    for (size_t i = 0; i < setup->host_count; i++) {
        setup->hosts[i].is_known = strtoull(at, &at, 10) != 0;
        for (size_t t = 0; t < setup->table_count; t++) {
            setup->hosts[i].rows_before[t] = strtoull(at, &at, 10);
        }
    }
    for (size_t i = 0; i < setup->server.count && *at == ' '; i++) {
        /* replaces this rank's own count, which includes sessions of other ranks */
        setup->server.sessions[i].used = strtoull(at, &at, 10);
    }
}

void setup_fini(struct setup *setup)
{
    for (size_t i = 0; i < setup->table_count; i++) {
        table_fini(&setup->tables[i].table);
        free(setup->tables[i].count_sql);
    }
    for (size_t i = 0; i < setup->host_count; i++) {
        free(setup->hosts[i].rows_before);
    }
    free(setup->tables);
    free(setup->hosts);
    storage_fini(&setup->storage);
    datasets_destroy(setup->datasets);
    setup->datasets = NULL;
    setup->tables = setup->own = NULL;
    setup->hosts = NULL;
    setup->table_count = setup->host_count = 0;
}

bool setup_had_rows(const struct setup *setup)
{
    bool had = false;
    for (size_t i = 0; i < setup->host_count; i++) {
        had = had || setup->hosts[i].rows_before[setup->own - setup->tables] > 0;
    }
    return had;
}

struct cleanup {
    struct setup setup; /* holds the facts about the connection */
    struct buffer dropped;
    size_t count;
};

static enum status clean_up(struct task *task, struct adapter_conn *conn, struct error *error)
{
    struct cleanup *cleanup = task->context;
    const struct datasets_place place = {task->plan, &cleanup->setup, conn, task_note_answer, task};
    inspect(&cleanup->setup, conn, task->plan);
    return datasets_drop(&place, &cleanup->dropped, &cleanup->count, error);
}

enum exit_code setup_cleanup(const struct plan *plan, char *line, size_t size, struct error *error)
{
    struct cleanup cleanup = {.count = 0};
    struct task task = {
        .plan = plan,
        .open = TASK_PATIENTLY,
        .creates_nothing = true,
        .work = clean_up,
        .context = &cleanup,
        .what = "an answer while tables were dropped",
        .notice = "waiting for the server to drop the tables",
        .limit_ns = plan->timeout_ns,
    };
    const bool has_file = (plan->adapter->flags & ADAPTER_FILE) == 0 ||
                          access(plan->target.path, F_OK) == 0 || errno != ENOENT;
    const enum status status = has_file ? task_run(&task, error) : STATUS_OK;
    enum exit_code code = status == STATUS_OK ? EXIT_CODE_OK : task_exit_code(error);
    if (interrupt_requested()) {
        code = EXIT_CODE_INTERRUPTED;
        error_clear(error);
        error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted after %s %s had been dropped",
                  UNITS_COUNT(cleanup.count), units_plural(cleanup.count, "table", "tables"));
    }
    line[0] = '\0';
    if (cleanup.count == 0 && code == EXIT_CODE_OK) {
        snprintf(line, size,
                 "nothing was dropped: append found no table that append prepare makes for %.60s",
                 plan->script->name);
    } else if (cleanup.count > 0) {
        snprintf(line, size, "dropped %s %s: %s", UNITS_COUNT(cleanup.count),
                 units_plural(cleanup.count, "table", "tables"), buffer_text(&cleanup.dropped));
    }
    buffer_fini(&cleanup.dropped);
    return code;
}

static enum status inquire(struct task *task, struct adapter_conn *conn, struct error *error)
{
    inspect(task->context, conn, task->plan);
    return ask_limits(task->context, conn, task->plan->adapter, error);
}

enum exit_code setup_query_limits(struct setup *setup, const struct plan *plan, struct ranks *ranks,
                                  struct error *error)
{
    *setup = (struct setup){.ranks = ranks};
    inspect(setup, NULL, plan);
    struct task task = {
        .plan = plan,
        .open = TASK_FIRST,
        .creates_nothing = true,
        .work = inquire,
        .setup = setup,
        .context = setup,
        .what = "the server's limits",
        .notice = "waiting for the server to report its limits",
        .limit_ns = TASK_HASTY_NS,
        .is_hasty = true,
    };
    return task_conclude(task_run(&task, error), "the server had answered", error);
}

static enum status find_table(struct task *task, struct adapter_conn *conn, struct error *error)
{
    const struct adapter *adapter = task->plan->adapter;
    struct setup_found *found = task->context;
    struct table table = {0};
    struct connection_info connection = {0};
    const enum status status =
        adapter->describe(adapter, conn, task->plan->table_name, &table, error);
    table_fini(&table);
    target_fill_connection(task->plan, &connection);
    if (adapter->inspect != NULL) {
        adapter->inspect(adapter, conn, &connection);
    }
    found->is_there = status == STATUS_OK;
    found->has_marks = connection.table_mark != NULL;
    return status == STATUS_REJECTED && error->kind == ERROR_NOT_FOUND ? STATUS_OK : status;
}

enum exit_code setup_find_table(const struct plan *plan, struct setup_found *found,
                                struct error *error)
{
    /* if the file is missing, the run will create an SQLite database, which can keep marks */
    *found = (struct setup_found){.has_marks = (plan->adapter->flags & ADAPTER_FILE) != 0};
    if ((plan->adapter->flags & ADAPTER_FILE) != 0 && access(plan->target.path, F_OK) != 0 &&
        errno == ENOENT) {
        return EXIT_CODE_OK;
    }
    struct task task = {
        .plan = plan,
        .open = TASK_FIRST,
        .work = find_table,
        .context = found,
        .what = "the table",
        .notice = "waiting for the server to describe the table",
    };
    return task_conclude(task_run(&task, error), "the first run", error);
}
