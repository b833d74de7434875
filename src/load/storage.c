#include "load/storage.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/process.h"
#include "load/line.h"

enum {
    CONNECT_S = 2,
};
#define INTERRUPT_NS (MONO_NS_PER_S / 2)
#define PATIENCE_NS (20 * MONO_NS_PER_MS)

struct storage_watch {
    const struct storage *storage;
    const struct plan *plan;
    unsigned host; /* number of the host to measure, if there are several */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;    /* guards the members below */
    pthread_cond_t changed;  /* wakes the thread of the watch */
    pthread_cond_t answered; /* wakes threads that wait for an answer */
    bool is_wanted;          /* a measurement is requested and not yet begun */
    bool is_pending;         /* a measurement is requested and not yet finished */
    bool is_stopping;
    bool has_ended;
    int64_t bytes;
    struct line line; /* the connection of the watch, which has a lock of its own */
};

static bool take_bytes(void *context, const struct cell *cells, size_t count)
{
    *(int64_t *)context = count == 1 && !cells[0].is_null ? ask_number(cells) : -1;
    return false;
}

/* Returns the number that the query `sql` returns, or -1 if it is unknown. */
static int64_t ask(const struct plan *plan, struct adapter_conn *conn, const char *sql,
                   struct error *error)
{
    int64_t bytes = -1;
    struct answer answer = {.take = take_bytes, .context = &bytes};
    const struct statement statement = {.sql = sql};
    return plan->adapter->run(conn, &statement, NULL, &answer, error) == STATUS_OK ? bytes : -1;
}

static bool take_directory(void *context, const struct cell *cells, size_t count)
{
    struct storage *storage = context;
    if (count > 0) {
        ask_text(cells, storage->directory, sizeof storage->directory);
    }
    return false;
}

/* Returns the first statement with which the server reports the size of a table, or NULL if no
 * statement works. The caller frees the statement. *is_refused becomes true if the user lacks a
 * privilege for a statement. */
static char *find_statement(const struct plan *plan, const struct connection_info *connection,
                            struct adapter_conn *conn, const char *table_name, bool *is_refused)
{
    for (const char *const *size = connection->storage->sizes; size != NULL && *size != NULL;
         size++) {
        struct buffer sql = {0};
        struct error error = {.kind = ERROR_NONE};
        ask_write(&sql, *size, connection, table_name, NULL, 0);
        if (!buffer_failed(&sql) && ask(plan, conn, buffer_text(&sql), &error) >= 0) {
            return sql.bytes;
        }
        *is_refused |= strcmp(error.sqlstate, "42000") == 0;
        buffer_fini(&sql);
    }
    return NULL;
}

void storage_find(struct storage *storage, const struct plan *plan,
                  const struct connection_info *connection, struct adapter_conn *conn)
{
    const size_t tables = plan_table_count(plan);
    *storage = (struct storage){.bytes_before = -1};
    if ((plan->adapter->flags & ADAPTER_FILE) != 0 && plan->target.path != NULL) {
        snprintf(storage->directory, sizeof storage->directory, "%s", plan->target.path);
    }
    const bool keeps_rows = (plan->adapter->flags & ADAPTER_DISCARDS) == 0;
    if (connection->storage == NULL) {
        snprintf(storage->note, sizeof storage->note, "%s",
                 keeps_rows && storage->directory[0] == '\0'
                     ? "append cannot measure the size of tables in this database"
                     : "");
        return;
    }
    if (plan->host_count > 1) {
        snprintf(storage->note, sizeof storage->note,
                 "with several hosts the tables are not measured, and disk figures are those of "
                 "one host");
    }
    storage->is_working_directory = connection->storage->is_working_directory;
    if (connection->storage->directory != NULL) {
        const struct statement statement = {.sql = connection->storage->directory};
        struct answer answer = {.take = take_directory, .context = storage};
        plan->adapter->run(conn, &statement, NULL, &answer, &(struct error){.kind = ERROR_NONE});
    }
    storage->statements = calloc(tables, sizeof *storage->statements);
    if (storage->statements == NULL && tables > 0) {
        snprintf(storage->note, sizeof storage->note,
                 "out of memory for the queries that measure the tables");
        return;
    }
    bool is_refused = false;
    for (size_t i = 0; i < tables && plan->host_count <= 1; i++) {
        const char *name = plan_table_name(plan, i);
        char *statement = strpbrk(name, "'\\") != NULL
                              ? NULL
                              : find_statement(plan, connection, conn, name, &is_refused);
        if (statement == NULL) { /* a sum without this table would be too low */
            const char *note = is_refused ? connection->storage->privilege_note : NULL;
            snprintf(storage->note, sizeof storage->note, "%s%.60s",
                     note != NULL ? note : "the server does not report the size of table ",
                     note != NULL ? "" : name);
            storage_fini(storage);
            return;
        }
        storage->statements[storage->count++] = statement;
    }
}

void storage_fini(struct storage *storage)
{
    for (size_t i = 0; i < storage->count; i++) {
        free(storage->statements[i]);
    }
    free(storage->statements);
    storage->statements = NULL;
    storage->count = 0;
}

int64_t storage_read(const struct storage *storage, const struct plan *plan,
                     struct adapter_conn *conn, struct error *error)
{
    int64_t bytes = -1;
    if ((plan->adapter->flags & ADAPTER_FILE) != 0 && plan->target.path != NULL) {
        static const char *const files[] = {"", "-wal", "-journal"};
        for (size_t i = 0; i < COUNT_OF(files); i++) {
            char path[PLAN_PATH_BYTES + 16];
            struct stat about;
            snprintf(path, sizeof path, "%s%s", plan->target.path, files[i]);
            if (stat(path, &about) == 0 && S_ISREG(about.st_mode)) {
                bytes = (bytes < 0 ? 0 : bytes) + about.st_size;
            }
        }
        return bytes;
    }
    for (size_t i = 0; i < storage->count && conn != NULL; i++) {
        const int64_t one = ask(plan, conn, storage->statements[i], error);
        if (one < 0) {
            return -1;
        }
        bytes = (bytes < 0 ? 0 : bytes) + one;
    }
    return bytes;
}

/* Waits until the next measurement is requested. Returns false if the watch ends. */
static bool wait_for_next(struct storage_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    while (!watch->is_wanted && !watch->is_stopping) {
        pthread_cond_wait(&watch->changed, &watch->lock);
    }
    watch->is_wanted = false;
    const bool goes_on = !watch->is_stopping;
    pthread_mutex_unlock(&watch->lock);
    return goes_on;
}

/* Connects if necessary, and measures. A connection that failed is opened again the next time. */
static int64_t read_once(struct storage_watch *watch, struct adapter_conn **conn)
{
    struct error error = {.kind = ERROR_NONE};
    struct target target = target_at(watch->plan, watch->host);
    target.creates_nothing = true;
    target.connect_timeout_s = CONNECT_S;
    if (*conn == NULL && line_open(&watch->line, &target, conn, &error) != STATUS_OK) {
        return -1;
    }
    const int64_t bytes = storage_read(watch->storage, watch->plan, *conn, &error);
    if (bytes < 0) {
        line_close(&watch->line, conn);
    }
    return bytes;
}

static void *run_watch(void *argument)
{
    struct storage_watch *watch = argument;
    struct adapter_conn *conn = NULL;
    while (wait_for_next(watch)) {
        const int64_t bytes = read_once(watch, &conn);
        pthread_mutex_lock(&watch->lock);
        watch->bytes = bytes;
        watch->is_pending = watch->is_wanted;
        pthread_cond_signal(&watch->answered);
        pthread_mutex_unlock(&watch->lock);
    }
    line_close(&watch->line, &conn);
    pthread_mutex_lock(&watch->lock);
    watch->has_ended = true;
    pthread_cond_signal(&watch->answered);
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

struct storage_watch *storage_watch_start(const struct storage *storage, const struct plan *plan,
                                          unsigned host)
{
    struct storage_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL) {
        return NULL;
    }
    *watch = (struct storage_watch){.storage = storage, .plan = plan, .host = host, .bytes = -1};
    line_init(&watch->line, plan->adapter, 0);
    pthread_mutex_init(&watch->lock, NULL);
    thread_cond_init(&watch->changed);
    thread_cond_init(&watch->answered);
    watch->has_thread =
        storage->count > 0 && thread_start(&watch->thread, 0, run_watch, watch) == 0;
    return watch;
}

void storage_watch_ask(struct storage_watch *watch)
{
    if (watch != NULL && watch->has_thread) {
        pthread_mutex_lock(&watch->lock);
        watch->is_wanted = watch->is_pending = true;
        pthread_cond_signal(&watch->changed);
        pthread_mutex_unlock(&watch->lock);
    }
}

int64_t storage_watch_take(struct storage_watch *watch)
{
    if (watch == NULL || !watch->has_thread) {
        return watch == NULL ? -1 : storage_read(watch->storage, watch->plan, NULL, NULL);
    }
    const struct timespec limit = mono_timespec(mono_now_ns() + PATIENCE_NS);
    int rc = 0;
    pthread_mutex_lock(&watch->lock);
    while (watch->is_pending && rc == 0) {
        rc = pthread_cond_timedwait(&watch->answered, &watch->lock, &limit);
    }
    const int64_t bytes = watch->is_pending ? -1 : watch->bytes;
    pthread_mutex_unlock(&watch->lock);
    return bytes;
}

void storage_watch_stop(struct storage_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    pthread_mutex_lock(&watch->lock);
    watch->is_stopping = true;
    pthread_cond_signal(&watch->changed);
    while (watch->has_thread && !watch->has_ended) {
        const struct timespec limit = mono_timespec(mono_now_ns() + INTERRUPT_NS);
        pthread_cond_timedwait(&watch->answered, &watch->lock, &limit);
        if (!watch->has_ended) {
            line_cut(&watch->line, NULL, NULL);
        }
    }
    pthread_mutex_unlock(&watch->lock);
    if (watch->has_thread) {
        pthread_join(watch->thread, NULL);
    }
    pthread_cond_destroy(&watch->changed);
    pthread_cond_destroy(&watch->answered);
    line_fini(&watch->line);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}
