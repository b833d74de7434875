#include "load/server.h"

#include <stdio.h>
#include <string.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/text.h"

/* Pause between two readings of the I/O counters, and the maximum number of readings. */
#define IO_COUNT_PAUSE_NS (250 * MONO_NS_PER_MS)

enum {
    IO_COUNTS_MAX = 8
};

static bool take_setting(void *context, const struct cell *cells, size_t count)
{
    struct server_settings *settings = context;
    if (count < 2 || settings->count == SERVER_SETTINGS_MAX) {
        return false;
    }
    struct server_setting *entry = &settings->entries[settings->count++];
    ask_text(&cells[0], entry->name, sizeof entry->name);
    ask_text(&cells[1], entry->value, sizeof entry->value);
    return true;
}

/* Adds a setting of one table. If several tables have the same setting, adds their values to one
 * entry. */
static bool take_table_setting(void *context, const struct cell *cells, size_t count)
{
    struct server_settings *settings = context;
    struct server_setting found = {.name = "", .value = ""}, *entry = settings->entries;
    ask_text(&cells[0], found.name, sizeof found.name);
    ask_text(&cells[count > 1 ? 1 : 0], found.value, sizeof found.value);
    const struct server_setting *const end = entry + settings->count;
    while (entry < end && strcmp(entry->name, found.name) != 0) {
        entry++;
    }
    if (entry < end) {
        const size_t length = strlen(entry->value);
        snprintf(entry->value + length, sizeof entry->value - length, ", %s", found.value);
    } else if (settings->count < SERVER_SETTINGS_MAX) {
        settings->entries[settings->count++] = found;
    }
    return false;
}

void server_ask_settings(struct task *task, struct adapter_conn *conn,
                         struct server_settings *settings)
{
    const struct plan *plan = task->plan;
    const struct setup *setup = task->setup;
    const struct settings_queries *queries = setup->connection.settings;
    enum status status = STATUS_REJECTED;
    for (size_t i = 0; queries != NULL && queries->queries[i] != NULL && status == STATUS_REJECTED;
         i++) {
        struct error error = {.kind = ERROR_NONE};
        struct answer answer = {.take = take_setting, .context = settings};
        settings->count = 0;
        status = ask_rows(plan->adapter, conn, queries->queries[i], NULL, &answer, &error);
        task_note_answer(task);
    }
    if (status != STATUS_OK) {
        settings->count = 0;
        return;
    }
    for (size_t i = 0; queries->table_queries != NULL && i < setup->table_count; i++) {
        for (const char *const *query = queries->table_queries; *query != NULL; query++) {
            struct answer answer = {.take = take_table_setting, .context = settings};
            status = ask_rows(plan->adapter, conn, *query, setup->tables[i].name, &answer,
                              &(struct error){.kind = ERROR_NONE});
            task_note_answer(task);
            if (status == STATUS_LOST) { /* an incomplete list would look like changed settings */
                settings->count = 0;
                return;
            }
        }
    }
}

static enum status read_storage(struct task *task, struct adapter_conn *conn, struct error *error)
{
    *(int64_t *)task->context = storage_read(&task->setup->storage, task->plan, conn, error);
    return error_is_set(error) ? STATUS_REJECTED : STATUS_OK;
}

int64_t server_measure_tables(const struct setup *setup, const struct plan *plan, bool is_hasty)
{
    int64_t bytes = storage_read(&setup->storage, plan, NULL, NULL);
    const struct task task = {.work = read_storage,
                              .context = &bytes,
                              .what = "the size of the table",
                              .notice = "asking for the size of the table"};
    if (bytes < 0 && setup->storage.count > 0 && !interrupt_requested()) {
        task_run_again(task, setup, plan, is_hasty, &(struct error){.kind = ERROR_NONE});
    }
    return bytes;
}

static enum status take_settings(struct task *task, struct adapter_conn *conn, struct error *error)
{
    (void)error;
    server_ask_settings(task, conn, task->context);
    return STATUS_OK;
}

void server_read_settings(const struct setup *setup, const struct plan *plan, bool is_hasty,
                          unsigned host, struct server_settings *settings)
{
    const struct task task = {.work = take_settings,
                              .host = host,
                              .is_of_host = true,
                              .context = settings,
                              .what = "the server's settings",
                              .notice = "asking for the server's settings"};
    task_run_again(task, setup, plan, is_hasty, &(struct error){.kind = ERROR_NONE});
}

static bool take_counter(void *context, const struct cell *cells, size_t count)
{
    struct trace_counters *counters = context;
    if (count == 2 && counters->count < COUNT_OF(counters->entries)) {
        const size_t i = counters->count++;
        ask_text(&cells[0], counters->entries[i].name, sizeof counters->entries[i].name);
        counters->entries[i].value = (uint64_t)ask_number(&cells[1]);
    }
    return true;
}

/* Reads the I/O counters with the first query that returns rows. The queries are for different
 * versions of the database, so some of them fail. */
static enum status read_counters(const struct task *task, struct adapter_conn *conn,
                                 struct trace_counters *counters, struct error *error)
{
    const char *const *queries = task->setup->connection.storage->counters;
    enum status status = STATUS_REJECTED;
    memset(counters, 0, sizeof *counters);
    for (size_t i = 0; queries[i] != NULL && status != STATUS_LOST && counters->count == 0; i++) {
        struct answer answer = {.take = take_counter, .context = counters};
        error_clear(error);
        status = ask_rows(task->plan->adapter, conn, queries[i], NULL, &answer, error);
    }
    return status;
}

/* Reads the I/O counters until two readings are equal, because processes of a server report their
 * I/O with a delay. On a server with other clients two readings may never be equal. In that case
 * uses the last reading. */
static enum status count_io(struct task *task, struct adapter_conn *conn, struct error *error)
{
    struct trace_counters *counters = task->context;
    enum status status = STATUS_OK;
    bool is_settled = false;
    for (int i = 0; i < IO_COUNTS_MAX && status == STATUS_OK && !is_settled; i++) {
        const struct trace_counters before = *counters;
        mono_sleep(i == 0 ? 0 : IO_COUNT_PAUSE_NS);
        status = read_counters(task, conn, counters, error);
        task_note_answer(task);
        is_settled =
            (i > 0 && memcmp(&before, counters, sizeof before) == 0) || interrupt_requested();
    }
    counters->taken_ns = mono_now_ns();
    return status;
}

void server_count_io(const struct setup *setup, const struct plan *plan,
                     struct trace_counters *counters)
{
    struct error error = {.kind = ERROR_NONE};
    struct task task = {
        .plan = plan,
        .open = TASK_AGAIN,
        .creates_nothing = true,
        .work = count_io,
        .setup = setup,
        .context = counters,
        .what = "the server's I/O counters",
        .notice = "waiting for the server to report its I/O counters",
        .limit_ns = TASK_HASTY_NS,
        .is_hasty = true,
    };
    const struct storage_queries *queries = setup->connection.storage;
    memset(counters, 0, sizeof *counters);
    if (queries == NULL || queries->counters == NULL || plan->host_count > 0 ||
        task_run(&task, &error) != STATUS_OK) {
        memset(counters, 0, sizeof *counters);
    }
}
