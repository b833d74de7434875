#include "load/wait_watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/process.h"
#include "load/line.h"
#include "load/setup.h"
#include "measure/procfs.h"

enum {
    CONNECT_S = 5,
    BEGIN_S = 15, /* time limit of the first polls */
    LOOKS_MAX = 200,
    THREAD_CHECKS = 3
};
#define INTERRUPT_NS (2 * MONO_NS_PER_S) /* time for the last queries before they are cut */
/* maximum wait until the server has ended the sessions; a busy server ends them late */
#define END_NS MONO_NS_PER_S
#define END_PAUSE_NS (10 * MONO_NS_PER_MS)

struct wait_watch {
    struct waits *waits;
    const struct setup *setup;
    const struct plan *plan;
    const struct recorder *recorder;
    struct statement poll;
    struct line line; /* the connection of the polls, which has a lock of its own */
    struct adapter_conn *conn;
    uint64_t own_session; /* the server's number for the session of `conn`; 0: unknown */
    int64_t own_thread;   /* number of that session's process or thread on the server's machine; 0:
                             unknown */
    int proc; /* descriptor of /proc; negative: /proc is not readable, or the server is on another
                 machine */
    bool sees_threads; /* /proc shows the server's processes or threads under the numbers that the
                          server reports */
    struct recorder_call *before, *after;
    struct wait_seen *seen;
    int64_t *threads; /* number of the process or thread of each session in `seen`; 0: unknown */
    size_t seen_count, seen_room;
    bool lacks_memory;
    uint64_t *locked; /* the server's numbers for this program's sessions that waited for a lock;
                         one half of the array is for the latest poll, the other half for the poll
                         before */
    size_t locked_count;
    size_t lock_polls; /* number of polls in which find_blockers has looked for such sessions */
    int64_t first_ns;  /* moment at which the first polls began */
    int64_t last_ns;   /* moment of the latest poll that succeeded; 0: no poll has succeeded */

    pthread_t thread;
    pthread_mutex_t lock; /* guards the members below */
    /* wakes the polling thread and the main thread, which wait for each other */
    pthread_cond_t changed;
    bool has_tried; /* the first polls have succeeded or failed: see status and error */
    enum status status;
    struct error error;
    /* moment at which polling begins or began; 0: no polling at present */
    int64_t begin_ns;
    bool is_stopping;
    bool has_stopped;
};

enum {
    CELL_SESSION,
    CELL_IS_AT_WORK,
    CELL_TYPE,
    CELL_EVENT,
    CELL_THREAD,
    CELLS
};

/* Makes room for more sessions. Returns false when out of memory. */
static bool make_room(struct wait_watch *watch)
{
    const size_t room = 2 * watch->seen_room + 64;
    struct wait_seen *seen = reallocarray(watch->seen, room, sizeof *seen);
    if (seen == NULL) {
        return false;
    }
    watch->seen = seen;
    int64_t *threads = reallocarray(watch->threads, room, sizeof *threads);
    if (threads == NULL) {
        return false;
    }
    watch->threads = threads;
    watch->seen_room = room;
    return true;
}

static bool take_seen(void *context, const struct cell *cells, size_t count)
{
    struct wait_watch *watch = context;
    if (count != CELLS) {
        return false;
    }
    const uint64_t number = (uint64_t)ask_number(&cells[CELL_SESSION]);
    if (number == watch->own_session) {
        watch->own_thread = ask_number(&cells[CELL_THREAD]);
        return true;
    }
    if (watch->seen_count == watch->seen_room) {
        watch->lacks_memory = !make_room(watch);
        if (watch->lacks_memory) {
            return false;
        }
    }
    watch->threads[watch->seen_count] = ask_number(&cells[CELL_THREAD]);
    struct wait_seen *seen = &watch->seen[watch->seen_count++];
    *seen = (struct wait_seen){.server_session = number,
                               .is_at_work = ask_number(&cells[CELL_IS_AT_WORK]) != 0};
    ask_text(&cells[CELL_TYPE], seen->type, sizeof seen->type);
    ask_text(&cells[CELL_EVENT], seen->event, sizeof seen->event);
    return true;
}

/* Returns the CPU time of the connection's process or thread at the server, or 0 if unknown. */
static int64_t server_cpu_ns(const struct wait_watch *watch)
{
    char path[64], text[128];
    struct procfs_schedstat time;
    if (watch->proc < 0 || watch->own_thread <= 0) {
        return 0;
    }
    snprintf(path, sizeof path, "%lld/schedstat", (long long)watch->own_thread);
    const ssize_t length = procfs_read(watch->proc, path, text, sizeof text);
    return length > 0 && procfs_parse_schedstat(text, (size_t)length, &time)
               ? (int64_t)time.on_cpu_ns
               : 0;
}

/* Returns whether a process or thread of this machine uses a CPU or waits for one. */
static bool is_running(const struct wait_watch *watch, int64_t thread)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "%lld/stat", (long long)thread);
    const ssize_t length = procfs_read(watch->proc, path, text, sizeof text - 1);
    text[MAX(length, 0)] = '\0';
    const char *end = strrchr(text, ')');
    return end != NULL && strncmp(end, ") R", 3) == 0;
}

/* Asks the kernel what session number `i` waits for. The server reports only the stage of the
 * session's call (`has_stages` in append/adapter.h). Sets seen->type to "" if the session's thread
 * uses a CPU or waits for one. Otherwise sets seen->event to the kernel's name for the wait, or to
 * "" if the kernel does not show the wait. */
static void look_at(const struct wait_watch *watch, size_t i)
{
    struct wait_seen *seen = &watch->seen[i];
    char path[64];
    if (is_running(watch, watch->threads[i])) {
        seen->type[0] = '\0';
        return;
    }
    snprintf(path, sizeof path, "%lld/wchan", (long long)watch->threads[i]);
    const ssize_t length = procfs_read(watch->proc, path, seen->event, sizeof seen->event - 1);
    seen->event[MAX(length, 0)] = '\0';
    /* "0" means that this user has no privilege to see the wait, or that the wait has just ended */
    if (strcmp(seen->event, "0") == 0) {
        seen->event[0] = '\0';
    }
}

/* Asks the kernel about the threads in which the server runs the sessions. For a session that is
 * not at work, asks whether it waits for a CPU: on a busy machine its call may have arrived without
 * being begun. For a session at work of which the server reports only a stage, asks what the
 * session waits for. Asks about at most LOOKS_MAX sessions of each kind, evenly spread. Each other
 * idle session is treated like the previous idle session about which the kernel was asked. */
static void ask_kernel(struct wait_watch *watch)
{
    const bool has_stages = watch->setup->connection.waits->has_stages;
    size_t idle = 0, at[2] = {0, 0};
    bool is_ready = false;
    for (size_t i = 0; i < watch->seen_count; i++) {
        idle += !watch->seen[i].is_at_work ? 1 : 0;
    }
    const size_t steps[2] = {idle / LOOKS_MAX + 1, (watch->seen_count - idle) / LOOKS_MAX + 1};
    for (size_t i = 0; i < watch->seen_count && watch->sees_threads; i++) {
        struct wait_seen *seen = &watch->seen[i];
        const bool is_at_work = seen->is_at_work;
        const bool is_due = at[is_at_work]++ % steps[is_at_work] == 0;
        if (!is_at_work) {
            is_ready = is_due ? is_running(watch, watch->threads[i]) : is_ready;
            seen->is_ready = is_ready;
        } else if (has_stages && is_due && seen->event[0] == '\0') {
            look_at(watch, i);
        }
    }
}

/* Connects if necessary. */
static enum status connect_watch(struct wait_watch *watch, struct error *error)
{
    const struct adapter *adapter = watch->plan->adapter;
    if (watch->conn != NULL) {
        return STATUS_OK;
    }
    struct target target = target_at(watch->plan, watch->setup->host);
    target.creates_nothing = true;
    target.connect_timeout_s = MIN(target.connect_timeout_s, CONNECT_S);
    target.facts = &watch->setup->connection.facts;
    const enum status status = line_open(&watch->line, &target, &watch->conn, error);
    if (status == STATUS_OK && adapter->name_session != NULL) {
        struct session_name name;
        adapter->name_session(watch->conn, &name);
        watch->own_session = name.number;
    }
    return status;
}

/* Asks the server once. Fills watch->seen and *poll, except poll->cost_ns. */
static enum status poll_server(struct wait_watch *watch, struct wait_poll *poll,
                               struct error *error)
{
    struct answer answer = {.take = take_seen, .context = watch};
    watch->seen_count = 0;
    watch->lacks_memory = false;
    recorder_read_calls(watch->recorder, watch->before);
    const int64_t start_ns = mono_now_ns();
    enum status status = watch->plan->adapter->run(watch->conn, &watch->poll, NULL, &answer, error);
    const int64_t end_ns = mono_now_ns();
    recorder_read_calls(watch->recorder, watch->after);
    if (status == STATUS_OK && watch->lacks_memory) {
        error_set(error, ERROR_MEMORY, 0, NULL,
                  "out of memory for the server's answer about its waits");
        status = STATUS_REJECTED;
    }
    ask_kernel(watch);
    *poll = (struct wait_poll){
        .weight_s = (double)(watch->last_ns > 0 ? end_ns - watch->last_ns : WAIT_GAP_MIN_NS) /
                    (double)MONO_NS_PER_S,
        .elapsed_ns = end_ns - start_ns,
        .sessions = recorder_sessions(watch->recorder),
        .before = watch->before,
        .after = watch->after,
        .seen = watch->seen,
        .seen_count = watch->seen_count};
    watch->last_ns = status == STATUS_OK ? end_ns : watch->last_ns;
    return status;
}

static bool take_blocker(void *context, const struct cell *cells, size_t count)
{
    struct wait_blocker *blocker = context;
    if (count == 4) {
        blocker->server_session = (uint64_t)ask_number(&cells[0]);
        ask_text(&cells[1], blocker->who, sizeof blocker->who);
        ask_text(&cells[2], blocker->state, sizeof blocker->state);
        ask_text(&cells[3], blocker->sql, sizeof blocker->sql);
    }
    return false;
}

/* Asks the server which session has the lock that `server_session` waits for. Ignores a failed
 * query, because the lock may be free by now. Returns LOST when the connection is lost. */
static enum status find_blocker(struct wait_watch *watch, uint64_t server_session)
{
    char number[24];
    struct wait_blocker blocker = {.seen = 0};
    struct answer answer = {.take = take_blocker, .context = &blocker};
    struct error error = {.kind = ERROR_NONE};
    snprintf(number, sizeof number, "%llu", (unsigned long long)server_session);
    const enum status status =
        ask_rows(watch->plan->adapter, watch->conn, watch->setup->connection.waits->blocker, number,
                 &answer, &error);
    if (status == STATUS_OK && blocker.server_session != 0) {
        blocker.is_ours = waits_is_ours(watch->waits, blocker.server_session);
        if (watch->plan->waits != WAITS_SQL) {
            blocker.sql[0] = '\0';
        }
        waits_add_blocker(watch->waits, &blocker);
    }
    return status;
}

/* Notes which sessions waited for a lock in the latest poll. That poll must have been added to
 * watch->waits. Chooses one of these sessions. If the chosen session also waited for a lock in the
 * previous poll, asks the server which session has the lock. Returns LOST when the connection is
 * lost. */
static enum status find_blockers(struct wait_watch *watch)
{
    const size_t sessions = recorder_sessions(watch->recorder);
    uint64_t *now = watch->locked + (watch->lock_polls % 2 == 0 ? sessions : 0);
    const uint64_t *then = watch->locked + (watch->lock_polls % 2 == 0 ? 0 : sessions);
    const size_t before = watch->locked_count;
    watch->locked_count = 0;
    for (size_t i = 0; i < watch->seen_count && watch->locked_count < sessions; i++) {
        const struct wait_seen *seen = &watch->seen[i];
        if (seen->is_at_work && waits_class(watch->waits, seen) == WAIT_LOCK &&
            waits_is_ours(watch->waits, seen->server_session)) {
            now[watch->locked_count++] = seen->server_session;
        }
    }
    watch->lock_polls++;
    const uint64_t chosen =
        watch->locked_count > 0 ? now[watch->lock_polls * 7919 % watch->locked_count] : 0;
    for (size_t i = 0; i < before && chosen != 0; i++) {
        if (then[i] == chosen) {
            return find_blocker(watch, chosen);
        }
    }
    return STATUS_OK;
}

static bool sees_ours(const struct wait_watch *watch)
{
    bool sees = false;
    for (size_t i = 0; i < watch->seen_count && !sees; i++) {
        sees = waits_is_ours(watch->waits, watch->seen[i].server_session);
    }
    return sees;
}

/* Waits until a moment of the monotonic clock. Returns false when the polls that began at begin_ns
 * have ended. The caller holds the lock. */
static bool wait_until(struct wait_watch *watch, int64_t begin_ns, int64_t moment_ns)
{
    const struct timespec limit = mono_timespec(moment_ns);
    int rc = 0;
    while (!watch->is_stopping && watch->begin_ns == begin_ns && rc == 0) {
        rc = pthread_cond_timedwait(&watch->changed, &watch->lock, &limit);
    }
    return !watch->is_stopping && watch->begin_ns == begin_ns;
}

struct counting {
    struct waits *waits;
    bool is_after;
};

static bool take_counter(void *context, const struct cell *cells, size_t count)
{
    const struct counting *counting = context;
    struct wait_counter counter;
    char number[64];
    if (count != 2) {
        return false;
    }
    ask_text(&cells[0], counter.name, sizeof counter.name);
    ask_text(&cells[1], number, sizeof number);
    char *end;
    const double value = strtod(number, &end);
    if (end != number && *end == '\0') {
        waits_note_counter(counting->waits, counter.name, value, counting->is_after);
    }
    return true;
}

/* Reads the server's counters. is_after is false before the first poll, and true after the last.
 * Leaves out counters that the server does not have. */
static void read_counters(struct wait_watch *watch, bool is_after)
{
    const char *const *queries = watch->setup->connection.waits->counters;
    struct counting counting = {watch->waits, is_after};
    for (size_t i = 0; queries != NULL && queries[i] != NULL && watch->conn != NULL; i++) {
        struct answer answer = {.take = take_counter, .context = &counting};
        struct error error = {.kind = ERROR_NONE};
        if (ask_rows(watch->plan->adapter, watch->conn, queries[i], NULL, &answer, &error) ==
            STATUS_LOST) {
            line_close(&watch->line, &watch->conn);
        }
    }
}

/* Waits until the server has ended the disconnected sessions, but at most END_NS. Only after that
 * do the server's counters include all counts of these sessions. */
static void await_ends(struct wait_watch *watch)
{
    const int64_t until_ns = mono_now_ns() + END_NS;
    struct error error = {.kind = ERROR_NONE};
    struct wait_poll poll;
    while (poll_server(watch, &poll, &error) == STATUS_OK && sees_ours(watch) &&
           mono_now_ns() < until_ns) {
        mono_sleep(END_PAUSE_NS);
    }
}

/* Returns the operation whose calls have this name at the server, or RECORDER_NO_CALL if no
 * operation or more than one operation has the name. */
static size_t find_operation(const struct operation_list *list, const char *name)
{
    size_t found = RECORDER_NO_CALL, count = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->entries[i].kind != OPERATION_IS_TRANSACTION && operation_is_used(list, i) &&
            strcmp(list->entries[i].name, name) == 0) {
            found = i;
            count++;
        }
    }
    return count == 1 ? found : RECORDER_NO_CALL;
}

struct timing {
    struct waits *waits;
    const struct operation_list *operations;
};

static bool take_time(void *context, const struct cell *cells, size_t count)
{
    const struct timing *timing = context;
    char name[FIGURE_KEY_BYTES], event[WAIT_EVENT_BYTES];
    if (count != 3) {
        return false;
    }
    ask_text(&cells[0], name, sizeof name);
    ask_text(&cells[1], event, sizeof event);
    const size_t operation = find_operation(timing->operations, name);
    if (operation != RECORDER_NO_CALL) {
        waits_note_time(timing->waits, operation, event, (double)ask_number(&cells[2]));
    }
    return true;
}

/* Asks the server what the sessions waited for during queries, because the polls show only that the
 * queries ran. */
static void divide_queries(struct wait_watch *watch)
{
    const struct wait_queries *queries = watch->setup->connection.waits;
    const struct operation_list operations = plan_operations(watch->plan);
    struct timing timing = {watch->waits, &operations};
    const int64_t own = (int64_t)watch->own_session;
    const int64_t elapsed_s = (mono_now_ns() - watch->first_ns) / MONO_NS_PER_S;
    struct column columns[] = {{.type = COLUMN_INT64}, {.type = COLUMN_INT64}};
    const struct table table = {.column_count = COUNT_OF(columns), .columns = columns};
    const struct column_data data[] = {{.values.int64 = &own}, {.values.int64 = &elapsed_s}};
    const struct batch parameters = {.table = &table, .row_count = 1, .columns = data};
    bool has_rows = queries->times == NULL;
    for (size_t i = 0; !has_rows && queries->times[i] != NULL && watch->conn != NULL; i++) {
        const struct statement statement = {.sql = queries->times[i]};
        struct answer answer = {.take = take_time, .context = &timing};
        struct error error = {.kind = ERROR_NONE};
        const enum status status =
            watch->plan->adapter->run(watch->conn, &statement, &parameters, &answer, &error);
        if (status == STATUS_LOST) {
            line_close(&watch->line, &watch->conn);
        }
        has_rows = status == STATUS_OK && answer.rows > 0;
    }
    waits_divide(watch->waits);
    if (!has_rows) {
        waits_note_missing(watch->waits, queries->no_times);
    }
}

/* Returns the pause after a poll in which this thread used own_ns of CPU time. */
static int64_t gap_after(const struct wait_watch *watch, const struct wait_poll *poll,
                         int64_t own_ns, int64_t gap_ns)
{
    /* the server's CPU time is known only if the server runs on this machine, where this thread
     * uses the same CPUs */
    const int64_t cost_ns = poll->cost_ns >= 0 ? poll->cost_ns + own_ns : poll->elapsed_ns;
    const int64_t fair_ns = (int64_t)((double)cost_ns / WAIT_CPU_SHARE);
    const int64_t least_ns = watch->setup->connection.waits->least_gap_ms * MONO_NS_PER_MS;
    gap_ns = MIN((3 * gap_ns + fair_ns) / 4, WAIT_GAP_MAX_NS); /* one slow poll has little effect */
    return MAX(gap_ns, MAX(WAIT_GAP_MIN_NS, least_ns));
}

/* Returns the CPU time that the connection's process or thread at the server has used since
 * server_cpu_ns returned cpu_ns; -1 if it is unknown. */
static int64_t cost_since(const struct wait_watch *watch, int64_t cpu_ns)
{
    return watch->sees_threads && cpu_ns > 0 ? server_cpu_ns(watch) - cpu_ns : -1;
}

/* Polls once. begin_ns is the moment at which polling began. If polling ends meanwhile, drops the
 * result, because the sessions may have ended during the poll. Returns the pause after the poll.
 * The caller holds the lock. */
static int64_t poll_once(struct wait_watch *watch, int64_t begin_ns, int64_t gap_ns)
{
    struct error error = {.kind = ERROR_NONE};
    struct wait_poll poll;
    const int64_t used_ns = mono_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    pthread_mutex_unlock(&watch->lock);
    enum status status = connect_watch(watch, &error);
    const int64_t cpu_ns = server_cpu_ns(watch);
    status = status == STATUS_OK ? poll_server(watch, &poll, &error) : status;
    pthread_mutex_lock(&watch->lock);
    if (watch->is_stopping || watch->begin_ns != begin_ns) {
        return gap_ns;
    }
    if (status != STATUS_OK) {
        waits_add_failure(watch->waits, error.text);
        line_close(&watch->line, &watch->conn);
        return MAX(gap_ns, MONO_NS_PER_S);
    }
    poll.cost_ns = cost_since(watch, cpu_ns);
    waits_add_poll(watch->waits, &poll);
    pthread_mutex_unlock(&watch->lock);
    if (watch->setup->connection.waits->blocker != NULL && find_blockers(watch) == STATUS_LOST) {
        line_close(&watch->line, &watch->conn);
    }
    const int64_t extra_ns = cost_since(watch, cpu_ns) - poll.cost_ns;
    pthread_mutex_lock(&watch->lock);
    if (poll.cost_ns >= 0 && extra_ns > 0) {
        waits_add_cost(watch->waits, extra_ns);
        poll.cost_ns += extra_ns;
    }
    return gap_after(watch, &poll, mono_clock_ns(CLOCK_THREAD_CPUTIME_ID) - used_ns, gap_ns);
}

/* Polls until wait_watch_end or wait_watch_stop. The caller holds the lock. */
static void poll_on(struct wait_watch *watch)
{
    const int64_t begin_ns = watch->begin_ns;
    int64_t gap_ns =
        MAX(WAIT_GAP_MIN_NS, watch->setup->connection.waits->least_gap_ms * MONO_NS_PER_MS);
    int64_t due_ns = begin_ns + gap_ns;
    watch->last_ns = 0;
    while (wait_until(watch, begin_ns, due_ns)) {
        gap_ns = poll_once(watch, begin_ns, gap_ns);
        due_ns = MAX(due_ns + gap_ns, mono_now_ns());
    }
}

/* Finds out whether /proc shows the server's threads under the numbers that the server reports. A
 * server in a container may report other numbers. Polls THREAD_CHECKS times. In each poll the
 * thread of this connection must have used the CPU. */
static void find_threads(struct wait_watch *watch)
{
    struct wait_poll poll;
    bool fits = watch->proc >= 0 && watch->own_thread > 0;
    for (unsigned i = 0; i < THREAD_CHECKS && fits; i++) {
        struct error error = {.kind = ERROR_NONE};
        const int64_t cpu_ns = server_cpu_ns(watch);
        fits = poll_server(watch, &poll, &error) == STATUS_OK;
        const int64_t used_ns = server_cpu_ns(watch) - cpu_ns;
        fits = fits && cpu_ns > 0 && used_ns > 0 && used_ns <= poll.elapsed_ns;
    }
    watch->sees_threads = fits;
}

/* Connects, and finds the first query that works, so that problems are reported before the run. */
static enum status begin_polls(struct wait_watch *watch, struct error *error)
{
    const struct wait_queries *queries = watch->setup->connection.waits;
    struct wait_poll first;
    bool lacks_privilege = false;
    enum status status = connect_watch(watch, error);
    for (size_t i = 0; watch->conn != NULL && status != STATUS_LOST && queries->polls[i] != NULL;
         i++) {
        error_clear(error);
        watch->poll.sql = queries->polls[i];
        status = poll_server(watch, &first, error);
        if (status == STATUS_OK) {
            waits_note_missing(watch->waits, lacks_privilege ? queries->privilege : NULL);
            find_threads(watch);
            break;
        }
        lacks_privilege |= strcmp(error->sqlstate, "42000") == 0;
    }
    return status;
}

static void *run_watch(void *argument)
{
    struct wait_watch *watch = argument;
    bool has_polled = false;
    struct error error = {.kind = ERROR_NONE};
    const enum status status = begin_polls(watch, &error);
    pthread_mutex_lock(&watch->lock);
    watch->has_tried = true;
    watch->status = status;
    watch->error = error;
    pthread_cond_broadcast(&watch->changed);
    while (!watch->is_stopping) {
        if (watch->begin_ns == 0) {
            pthread_cond_wait(&watch->changed, &watch->lock);
            continue;
        }
        if (!has_polled) {
            if (!wait_until(watch, watch->begin_ns, watch->begin_ns)) {
                continue;
            }
            pthread_mutex_unlock(&watch->lock);
            read_counters(watch, false);
            pthread_mutex_lock(&watch->lock);
        }
        watch->first_ns = has_polled ? watch->first_ns : watch->begin_ns;
        has_polled = true;
        poll_on(watch);
    }
    pthread_mutex_unlock(&watch->lock);
    if (has_polled && connect_watch(watch, &error) == STATUS_OK) {
        await_ends(watch);
        read_counters(watch, true);
        divide_queries(watch);
    }
    line_close(&watch->line, &watch->conn);
    pthread_mutex_lock(&watch->lock);
    watch->has_stopped = true;
    pthread_cond_broadcast(&watch->changed);
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

static void free_watch(struct wait_watch *watch)
{
    line_close(&watch->line, &watch->conn);
    line_fini(&watch->line);
    pthread_cond_destroy(&watch->changed);
    pthread_mutex_destroy(&watch->lock);
    if (watch->proc >= 0) {
        close(watch->proc);
    }
    free(watch->before);
    free(watch->after);
    free(watch->seen);
    free(watch->locked);
    free(watch->threads);
    free(watch);
}

/* Signals the other ranks that this rank is alive. The caller holds the lock, which this function
 * releases for a moment. Main thread. */
static void beat(struct wait_watch *watch)
{
    pthread_mutex_unlock(&watch->lock);
    ranks_beat(watch->setup->ranks);
    pthread_mutex_lock(&watch->lock);
}

/* Waits until the first polls have succeeded or failed. Cuts the connection of the polls after
 * BEGIN_S, or when the user interrupts the run. */
static enum status wait_for_begin(struct wait_watch *watch, struct error *error)
{
    const int64_t limit_ns = mono_now_ns() + BEGIN_S * MONO_NS_PER_S;
    pthread_mutex_lock(&watch->lock);
    while (!watch->has_tried) {
        const int64_t now_ns = mono_now_ns();
        const struct timespec tick = mono_timespec(now_ns + LINE_TICK_NS);
        pthread_cond_timedwait(&watch->changed, &watch->lock, &tick);
        beat(watch);
        if (!watch->has_tried && (now_ns > limit_ns || interrupt_requested())) {
            line_cut(&watch->line, NULL, NULL);
        }
    }
    *error = watch->error;
    const enum status status = watch->status;
    pthread_mutex_unlock(&watch->lock);
    return status;
}

struct wait_watch *wait_watch_start(struct waits *waits, const struct setup *setup,
                                    const struct plan *plan, const struct recorder *recorder,
                                    struct error *error)
{
    const size_t sessions = recorder_sessions(recorder) + (size_t)1;
    struct wait_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the polls of --waits");
        return NULL;
    }
    *watch = (struct wait_watch){.waits = waits,
                                 .setup = setup,
                                 .plan = plan,
                                 .recorder = recorder,
                                 .poll = {.name = "waits", .is_prepared = true},
                                 .before = calloc(sessions, sizeof *watch->before),
                                 .after = calloc(sessions, sizeof *watch->after),
                                 .locked = calloc(2 * sessions, sizeof *watch->locked),
                                 .proc = setup->is_remote ? -1 : procfs_open()};
    line_init(&watch->line, plan->adapter, 0);
    pthread_mutex_init(&watch->lock, NULL);
    thread_cond_init(&watch->changed);
    const bool has_memory = watch->before != NULL && watch->after != NULL && watch->locked != NULL;
    const int failure = has_memory ? thread_start(&watch->thread, 0, run_watch, watch) : ENOMEM;
    if (failure != 0) {
        error_set(error, ERROR_SYSTEM, failure, NULL, "cannot start the polls of --waits: %s",
                  strerror(failure));
        free_watch(watch);
        return NULL;
    }
    if (wait_for_begin(watch, error) != STATUS_OK) {
        wait_watch_stop(watch);
        return NULL;
    }
    return watch;
}

void wait_watch_begin(struct wait_watch *watch, int64_t begin_ns)
{
    if (watch != NULL) {
        pthread_mutex_lock(&watch->lock);
        watch->begin_ns = begin_ns;
        pthread_cond_broadcast(&watch->changed);
        pthread_mutex_unlock(&watch->lock);
    }
}

void wait_watch_end(struct wait_watch *watch)
{
    if (watch != NULL) {
        pthread_mutex_lock(&watch->lock);
        watch->begin_ns = 0;
        pthread_cond_broadcast(&watch->changed);
        pthread_mutex_unlock(&watch->lock);
    }
}

void wait_watch_stop(struct wait_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    pthread_mutex_lock(&watch->lock);
    watch->is_stopping = true;
    pthread_cond_broadcast(&watch->changed);
    while (!watch->has_stopped) {
        const struct timespec limit = mono_timespec(mono_now_ns() + INTERRUPT_NS);
        pthread_cond_timedwait(&watch->changed, &watch->lock, &limit);
        beat(watch);
        if (!watch->has_stopped) {
            line_cut(&watch->line, NULL, NULL);
        }
    }
    pthread_mutex_unlock(&watch->lock);
    pthread_join(watch->thread, NULL);
    free_watch(watch);
}
