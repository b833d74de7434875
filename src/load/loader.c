#include "load/loader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "load/append.h"
#include "load/create_table.h"
#include "load/line.h"
#include "load/table_load.h"
#include "plan/facts.h"

enum {
    LOADERS_MAX = 64
};

struct step {
    struct table_load *work;
    enum phase phase;
    uint64_t chunk;
};

/* A thread that loads rows, with its own connection. */
struct loader {
    struct loading *loading;
    pthread_t thread;
    bool is_started;
    unsigned index;
    struct line line;
    struct adapter_conn *conn;
    struct script_state *state;
    struct script_rows *rows;
    size_t rows_of;          /* number of the dataset that `rows` belongs to */
    _Atomic uint64_t handed; /* number of rows of the current chunk that the adapter has taken */
    bool is_overdue;         /* a call took too long and was cut */
};

/* State that the loaders share. */
struct loading {
    const struct plan *plan;
    struct setup *setup;
    struct datasets *datasets;
    unsigned count;       /* number of loaders */
    pthread_mutex_t lock; /* guards the members below, except `loaders` */
    /* wakes loaders: there may be a new step to do, or the load has ended */
    pthread_cond_t changed;
    pthread_cond_t ended; /* wakes the main thread: a loader has ended */
    bool is_stopped;
    unsigned running;
    enum status status; /* status of the first step that failed */
    struct error error;
    struct error open_error; /* first error of a loader, also outside a step; shown if no step
                                failed */
    const struct table_load *latest; /* the table of the latest step */
    enum phase latest_phase;
    uint64_t rows; /* number of rows that this load has loaded */
    int64_t start_ns;
    int64_t cut_ns; /* after a signal, the moment at which the loaders' connections are cut next;
                       INT64_MAX: no signal has arrived */
    struct loader loaders[LOADERS_MAX];
};

static void stop(struct loading *loading)
{
    loading->is_stopped = true;
    pthread_cond_broadcast(&loading->changed);
}

static bool is_stopped(struct loading *loading)
{
    pthread_mutex_lock(&loading->lock);
    const bool is = loading->is_stopped;
    pthread_mutex_unlock(&loading->lock);
    return is;
}

/* Finds the next step of a table. Returns false if no step can be done now. The caller holds the
 * lock. */
static bool find_step(struct table_load *work, struct step *step)
{
    const uint64_t last = work->chunks - 1; /* valid if there are chunks */
    if (work->phase == PHASE_CHUNKS) {
        while (work->next < work->chunks && work->next != last && work->there != NULL &&
               work->there[work->next]) {
            work->next++;
        }
        if (work->next < work->chunks && work->next != last) {
            *step = (struct step){work, PHASE_CHUNKS, work->next++};
            return true;
        }
    }
    if (work->running > 0 || work->phase == PHASE_DONE) {
        return false;
    }
    if (work->phase == PHASE_CHUNKS) {
        work->phase = PHASE_INDEXES;
    }
    if (work->phase == PHASE_INDEXES && work->indexes == NULL) {
        work->phase = PHASE_LAST;
    }
    if (work->phase == PHASE_LAST &&
        (work->chunks == 0 || (work->there != NULL && work->there[last]))) {
        work->phase = PHASE_FINISH;
    }
    *step = (struct step){work, work->phase, last};
    return true;
}

/* Returns whether a table may be loaded now. The tables to which its foreign keys refer must be
 * loaded first, because the server refuses rows that refer to missing rows. */
static bool may_load(const struct datasets *datasets, const struct table_load *work)
{
    for (size_t i = 0; i < work->dataset->foreign_key_count; i++) {
        for (size_t k = 0; k < datasets->count; k++) {
            const struct table_load *to = &datasets->works[k];
            if (to->number == work->dataset->foreign_keys[i].dataset && to->phase != PHASE_DONE) {
                return false;
            }
        }
    }
    return true;
}

/* Waits for a step. Returns false if no step is left, or if the load was stopped. */
static bool take_step(struct loading *loading, struct step *step)
{
    bool is_found = false;
    pthread_mutex_lock(&loading->lock);
    while (!loading->is_stopped && !is_found) {
        bool is_done = true;
        for (size_t i = 0; i < loading->datasets->count && !is_found; i++) {
            struct table_load *work = &loading->datasets->works[i];
            is_done = is_done && work->phase == PHASE_DONE;
            is_found = may_load(loading->datasets, work) && find_step(work, step);
        }
        if (is_found) {
            step->work->running++;
            loading->latest = step->work;
            loading->latest_phase = step->phase;
        } else if (is_done) {
            break;
        } else {
            pthread_cond_wait(&loading->changed, &loading->lock);
        }
    }
    pthread_mutex_unlock(&loading->lock);
    return is_found;
}

static void end_step(struct loader *loader, const struct step *step, enum status status,
                     const struct error *error)
{
    struct loading *loading = loader->loading;
    struct table_load *work = step->work;
    pthread_mutex_lock(&loading->lock);
    atomic_store_explicit(&loader->handed, 0, memory_order_relaxed);
    work->running--;
    if (status != STATUS_OK) {
        if (loading->status == STATUS_OK) {
            loading->status = status;
            loading->error = *error;
            if (loader->is_overdue) {
                error_clear(&loading->error);
                error_set(&loading->error, ERROR_TIMEOUT, 0, NULL, "no answer in %s (--timeout)",
                          UNITS_NS(loading->plan->timeout_ns));
            }
            error_prefix(&loading->error, "table '%.80s'", work->dataset->name);
        }
        stop(loading);
    } else {
        const bool is_chunk = step->phase == PHASE_CHUNKS || step->phase == PHASE_LAST;
        const uint64_t rows = is_chunk ? table_load_chunk_rows(work, step->chunk) : 0;
        work->loaded += rows;
        loading->rows += rows;
        if (step->phase != PHASE_CHUNKS) {
            work->phase++;
        }
    }
    pthread_cond_broadcast(&loading->changed);
    pthread_mutex_unlock(&loading->lock);
}

static void end_call(struct loader *loader)
{
    loader->is_overdue = line_end_call(&loader->line) || loader->is_overdue;
}

/* A chunk of rows that a loader sends. */
struct chunk {
    struct loader *loader;
    uint64_t first; /* number of the chunk's first row in the table */
};

/* Makes rows. During this time the line has no call in progress, so that --timeout does not limit
 * it. */
static const struct batch *make_rows(void *context, uint64_t from, size_t rows, struct error *error)
{
    const struct chunk *chunk = context;
    struct loader *loader = chunk->loader;
    end_call(loader);
    const struct batch *made =
        script_rows_fill(loader->rows, loader->state, chunk->first + from, 1, rows, error);
    line_begin_call(&loader->line);
    atomic_store_explicit(&loader->handed, from, memory_order_relaxed);
    return made;
}

static void restart_call(void *context)
{
    const struct chunk *chunk = context;
    end_call(chunk->loader);
    line_begin_call(&chunk->loader->line);
}

/* Sends all rows of a chunk in one append. Retries while the database is busy, as sessions do,
 * unless the database has stored a part of the chunk. */
static enum status load_chunk(struct loader *loader, const struct table_load *work, uint64_t number,
                              struct error *error)
{
    struct chunk chunk = {loader, number * CHUNK_ROWS};
    const uint64_t rows = table_load_chunk_rows(work, number);
    struct append append = {.table = &loader->loading->setup->tables[work->number].table,
                            .source = {make_rows, restart_call, &chunk, ROW_BATCH_MAX},
                            .rows = rows};
    struct busy_retry retry;
    busy_retry_init(&retry);
    for (;;) {
        line_begin_call(&loader->line);
        const enum status status =
            append_send(loader->loading->plan->adapter, loader->conn, &append, error);
        end_call(loader);
        if (status == STATUS_OK && append.accepted != rows) {
            error_set(error, ERROR_SERVER, 0, NULL, "the server stored only %s of %s rows",
                      UNITS_COUNT(append.accepted), UNITS_COUNT(rows));
            return STATUS_REJECTED;
        }
        if (!busy_retry_may_go_on(&retry, status, error) || append.accepted > 0 ||
            is_stopped(loader->loading)) {
            return status;
        }
        mono_sleep(busy_retry_pause_ns(&retry));
    }
}

/* Creates the indexes. An index that already exists was created by an interrupted load. */
static enum status make_indexes(struct loader *loader, const struct table_load *work,
                                struct error *error)
{
    struct loading *loading = loader->loading;
    const struct connection_info *connection = &loading->setup->connection;
    enum status status = STATUS_OK;
    const char *lines = work->indexes;
    struct text_value line;
    while (status == STATUS_OK && script_next_line(&lines, &line)) {
        struct buffer sql = {0}, columns = {0};
        buffer_add(&columns, line.bytes, line.length);
        buffer_add(&columns, "", 1);
        create_table_write_index(&sql, connection, work->dataset, buffer_text(&columns));
        status = table_load_execute(loading->plan, loader->conn, &sql, error);
        const bool is_made = status == STATUS_OK;
        if (status == STATUS_REJECTED && error->kind == ERROR_EXISTS) {
            error_clear(error);
            status = STATUS_OK;
        }
        if (status != STATUS_OK) {
            error_prefix(error, "index on %.60s", buffer_text(&columns));
        }
        buffer_fini(&columns);
        buffer_fini(&sql);
        pthread_mutex_lock(&loading->lock);
        loading->setup->made.indexes += is_made;
        pthread_mutex_unlock(&loading->lock);
    }
    return status;
}

/* Updates the statistics of the database's planner, which still describe an empty table. Ignores a
 * refusal by the server. */
static enum status analyze(struct loader *loader, const struct table_load *work,
                           struct error *error)
{
    const struct connection_info *connection = &loader->loading->setup->connection;
    if (connection->analyze == NULL || work->dataset->rows == 0) {
        return STATUS_OK;
    }
    struct buffer sql = {0};
    ask_write(&sql, connection->analyze, connection, work->dataset->name, NULL, 0);
    const struct statement statement = {.sql = buffer_text(&sql)};
    const enum status status =
        buffer_failed(&sql)
            ? table_load_no_memory(error)
            : loader->loading->plan->adapter->run(loader->conn, &statement, NULL,
                                                  &(struct answer){.take = NULL}, error);
    buffer_fini(&sql);
    if (status == STATUS_REJECTED) {
        error_clear(error);
    }
    return status == STATUS_REJECTED ? STATUS_OK : status;
}

/* Finishes a loaded table: lets columns that the database numbers continue after the loaded rows,
 * updates the statistics, counts the rows, and marks the table as loaded. */
static enum status finish_table(struct loader *loader, const struct table_load *work,
                                struct error *error)
{
    const struct plan *plan = loader->loading->plan;
    const struct connection_info *connection = &loader->loading->setup->connection;
    const struct script_dataset *dataset = work->dataset;
    const struct setup *setup = loader->loading->setup;
    const struct setup_table *counted = &setup->tables[work->number];
    uint64_t *const rows = setup_rows_before(setup, counted);
    enum status status = STATUS_OK;
    for (size_t c = 0; c < dataset->column_count && status == STATUS_OK; c++) {
        char sql[1024] = "";
        if (dataset->columns[c].is_numbered && dataset->rows > 0 &&
            connection->number_from != NULL) {
            connection->number_from(dataset->name, dataset->table.columns[c].name, sql, sizeof sql);
        }
        if (sql[0] != '\0') {
            const struct statement statement = {.sql = sql};
            status = plan->adapter->run(loader->conn, &statement, NULL,
                                        &(struct answer){.take = NULL}, error);
        }
    }
    status = status == STATUS_OK ? analyze(loader, work, error) : status;
    if (status == STATUS_OK) {
        const struct ask_wait wait = {.unread = ask_templates(connection)->unread,
                                      .limit_ns = ASK_UNREAD_NS};
        status = ask_count_shown(plan->adapter, loader->conn, &counted->count, &wait, rows, error);
    }
    if (status == STATUS_OK && dataset->rows > 0 && *rows != dataset->rows) {
        error_set(error, ERROR_SERVER, 0, NULL, "%s %s loaded, but count(*) is %s",
                  UNITS_COUNT(dataset->rows), units_plural(dataset->rows, "row was", "rows were"),
                  UNITS_COUNT(*rows));
        return STATUS_REJECTED;
    }
    return status == STATUS_OK && dataset->rows > 0
               ? table_load_write_mark(plan, loader->loading->setup, loader->conn, work, false,
                                       error)
               : status;
}

static enum status do_step(struct loader *loader, const struct step *step, struct error *error)
{
    const struct table_load *work = step->work;
    if (step->phase == PHASE_INDEXES) {
        return make_indexes(loader, work, error);
    }
    if (step->phase == PHASE_FINISH) {
        return finish_table(loader, work, error);
    }
    if (loader->rows == NULL || loader->rows_of != work->number) {
        script_rows_destroy(loader->rows);
        loader->rows =
            script_rows_create(loader->loading->plan->script, work->number, ROW_BATCH_MAX);
        loader->rows_of = work->number;
    }
    return loader->rows == NULL ? table_load_no_memory(error)
                                : load_chunk(loader, work, step->chunk, error);
}

static void *loader_run(void *argument)
{
    struct loader *loader = argument;
    struct loading *loading = loader->loading;
    const struct plan *plan = loading->plan;
    const struct script_place place = {.session = loader->index,
                                       .sessions = loading->count,
                                       .seed = plan->facts->seed,
                                       .dialect = loading->setup->connection.dialect};
    struct error error = {.kind = ERROR_NONE};
    struct target target = target_at(plan, loading->setup->host);
    target.facts = &loading->setup->connection.facts;
    enum status status = line_open(&loader->line, &target, &loader->conn, &error);
    if (status == STATUS_OK) {
        status = script_state_create(&loader->state, plan->script, &place, &error);
    }
    struct step step = {.work = NULL};
    while (status == STATUS_OK && take_step(loading, &step)) {
        status = do_step(loader, &step, &error);
        end_step(loader, &step, status, &error);
    }
    line_close(&loader->line, &loader->conn);
    script_rows_destroy(loader->rows);
    script_state_destroy(loader->state);
    pthread_mutex_lock(&loading->lock);
    if (status != STATUS_OK && !error_is_set(&loading->open_error)) {
        loading->open_error = error;
    }
    loading->running--;
    pthread_cond_signal(&loading->ended);
    pthread_mutex_unlock(&loading->lock);
    return NULL;
}

/* Sets *all to the number of rows that all tables have after the load, and *there to the number of
 * rows that they have now. */
static void add_up(const struct datasets *datasets, uint64_t *all, uint64_t *there)
{
    *all = *there = 0;
    for (size_t i = 0; i < datasets->count; i++) {
        const struct table_load *work = &datasets->works[i];
        *all += work->dataset->rows;
        *there += work->dataset->rows > 0 ? work->rows + work->loaded : 0;
    }
}

static enum load_step load_step(enum phase phase)
{
    if (phase == PHASE_INDEXES) {
        return LOAD_INDEXES;
    }
    return phase == PHASE_FINISH ? LOAD_FINISH : LOAD_ROWS;
}

bool loader_wait(struct datasets *datasets, struct load_counts *counts)
{
    struct loading *loading = datasets->loading;
    if (loading == NULL) {
        return false;
    }
    uint64_t handed = 0;
    const struct timespec tick = mono_timespec(mono_now_ns() + LINE_TICK_NS);
    pthread_mutex_lock(&loading->lock);
    if (loading->running > 0) {
        pthread_cond_timedwait(&loading->ended, &loading->lock, &tick);
    }
    ranks_beat(loading->setup->ranks);
    const int64_t now_ns = mono_now_ns();
    if (loading->cut_ns == INT64_MAX && interrupt_requested()) {
        loading->cut_ns = now_ns + LINE_GRACE_NS;
        stop(loading);
    }
    for (unsigned i = 0; i < loading->count; i++) {
        struct loader *loader = &loading->loaders[i];
        handed += atomic_load_explicit(&loader->handed, memory_order_relaxed);
        line_cut_overdue(&loader->line, now_ns, NULL);
        if (now_ns >= loading->cut_ns) {
            line_cut(&loader->line, NULL, NULL);
        }
    }
    loading->cut_ns = now_ns >= loading->cut_ns ? now_ns + MONO_NS_PER_S : loading->cut_ns;
    *counts = (struct load_counts){
        .loaded = loading->rows + handed,
        .elapsed_ns = now_ns - loading->start_ns,
        .table = loading->latest == NULL ? NULL : loading->latest->dataset->name,
        .step = load_step(loading->latest_phase)};
    add_up(datasets, &counts->all, &counts->rows);
    counts->rows += handed;
    const bool goes_on = loading->running > 0;
    pthread_mutex_unlock(&loading->lock);
    return goes_on;
}

void loader_explain(const struct datasets *datasets, const struct plan *plan,
                    const struct setup *setup, struct error *error)
{
    static const char *const new_tables[] = {
        [UNDONE_NONE] = "",
        [UNDONE_STAY] = "some new tables could not be dropped; ",
        [UNDONE_SHARED] =
            "the new tables stay: another program may have written to them; --recreate "
            "replaces the tables",
        [UNDONE_DROPPED] = "the new tables are dropped"};
    const bool has_marks = setup->connection.table_mark != NULL;
    uint64_t all, there;
    bool can_go_on = true;
    for (size_t i = 0; i < datasets->count; i++) {
        const struct table_load *work = &datasets->works[i];
        can_go_on =
            can_go_on && (work->phase == PHASE_DONE ||
                          (has_marks && (work->key != NULL || work->loaded + work->rows == 0)));
    }
    add_up(datasets, &all, &there);
    const char *about = "", *advice = "'append prepare' loads the rest";
    if (datasets->is_script_wrong) {
        about = new_tables[datasets->undone];
    }
    if (datasets->undone == UNDONE_DROPPED || datasets->undone == UNDONE_SHARED) {
        advice = "";
    } else if (datasets->is_script_wrong || !can_go_on) {
        advice = has_marks ? "--recreate loads all rows again"
                           : "--recreate with the names of the tables loads all rows again";
    } else if (plan->command == COMMAND_PREPARE) {
        advice = "the same command loads the rest";
    }
    char rest[200];
    snprintf(rest, sizeof rest, "%s of %s rows are loaded; %s%s", UNITS_COUNT(there),
             UNITS_COUNT(all), about, advice);
    if (interrupt_requested()) {
        error_clear(error);
        error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted: %s", rest);
        return;
    }
    const struct error first = *error;
    const int room = (int)(sizeof error->text - strlen(rest) - 4);
    snprintf(error->text, sizeof error->text, "%.*s (%s)", room > 0 ? room : 0, first.text, rest);
}

/* Returns how many loaders can work at once. */
static unsigned count_loaders(const struct datasets *datasets, const struct plan *plan,
                              const struct setup *setup)
{
    uint64_t steps = 0;
    for (size_t i = 0; i < datasets->count; i++) {
        const struct table_load *work = &datasets->works[i];
        steps += work->phase == PHASE_DONE ? 0 : MAX(work->chunks, (uint64_t)1);
    }
    uint64_t most = MIN(MAX(plan->sessions, 1U), (unsigned)LOADERS_MAX);
    if (setup->connection.is_embedded) {
        most = 1; /* an embedded database has one writer at a time */
    }
    return (unsigned)MIN(steps, most);
}

enum status loader_begin(struct datasets *datasets, const struct plan *plan, struct setup *setup,
                         struct error *error)
{
    const unsigned count = count_loaders(datasets, plan, setup);
    if (count == 0) {
        return STATUS_OK;
    }
    struct loading *loading = datasets->loading = calloc(1, sizeof *loading);
    if (loading == NULL) {
        return table_load_no_memory(error);
    }
    loading->plan = plan;
    loading->setup = setup;
    loading->datasets = datasets;
    loading->start_ns = mono_now_ns();
    loading->cut_ns = INT64_MAX;
    pthread_mutex_init(&loading->lock, NULL);
    pthread_cond_init(&loading->changed, NULL);
    thread_cond_init(&loading->ended);
    loading->count = loading->running = count;
    for (unsigned i = 0; i < count; i++) {
        struct loader *loader = &loading->loaders[i];
        loader->loading = loading;
        loader->index = i;
        line_init(&loader->line, plan->adapter, plan->timeout_ns);
        const int rc = thread_start(&loader->thread, 0, loader_run, loader);
        loader->is_started = rc == 0;
        if (rc != 0) {
            pthread_mutex_lock(&loading->lock);
            loading->running--;
            error_set(&loading->open_error, ERROR_SYSTEM, rc, NULL,
                      "client limit: no thread could be started: %s", strerror(rc));
            pthread_mutex_unlock(&loading->lock);
        }
    }
    return STATUS_OK;
}

enum status loader_end(struct datasets *datasets, struct error *error)
{
    struct loading *const loading = datasets->loading;
    if (loading == NULL) {
        return STATUS_OK;
    }
    for (unsigned i = 0; i < loading->count; i++) {
        if (loading->loaders[i].is_started) {
            pthread_join(loading->loaders[i].thread, NULL);
        }
        line_fini(&loading->loaders[i].line);
    }
    pthread_cond_destroy(&loading->changed);
    pthread_cond_destroy(&loading->ended);
    pthread_mutex_destroy(&loading->lock);
    struct setup *const setup = loading->setup;
    setup->made.rows = loading->rows;
    setup->made.load_ns = mono_now_ns() - loading->start_ns;
    bool is_done = true;
    for (size_t i = 0; i < datasets->count; i++) {
        is_done = is_done && datasets->works[i].phase == PHASE_DONE;
    }
    const enum error_kind kind = loading->error.kind;
    datasets->is_script_wrong =
        loading->status != STATUS_OK && loading->status != STATUS_LOST && !interrupt_requested() &&
        (kind == ERROR_USAGE || kind == ERROR_DATA || kind == ERROR_DUPLICATE ||
         kind == ERROR_NOT_FOUND || kind == ERROR_UNSUPPORTED);
    enum status status = STATUS_OK;
    if (!is_done) {
        status = loading->status == STATUS_OK ? STATUS_LOST : loading->status;
        *error = loading->status != STATUS_OK ? loading->error : loading->open_error;
        error->kind = datasets->is_script_wrong ? ERROR_USAGE : error->kind;
    }
    free(loading);
    datasets->loading = NULL;
    return status;
}
