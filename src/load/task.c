#include "load/task.h"

#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/text.h"
#include "base/url.h"

#define RANK_GRACE_NS (300 * MONO_NS_PER_MS) /* mpirun kills the remaining ranks after a second */
#define NOTICE_NS (2 * MONO_NS_PER_S)        /* a task that takes longer prints a notice */

/* A server that refuses a connection because it is full may not have noticed yet that the sessions
 * have left. The connect is tried again for ROOM_LIMIT_NS, with pauses of ROOM_PAUSE_NS. */
#define ROOM_LIMIT_NS (2 * MONO_NS_PER_S)
#define ROOM_PAUSE_NS (50 * MONO_NS_PER_MS)

enum {
    LATE_CONNECT_S = 3
};

void task_note_answer(void *task)
{
    atomic_store_explicit(&((struct task *)task)->has_answered, true, memory_order_relaxed);
}

/* Looks for a database of another kind that answers at the target. Does so only once in a process,
 * because a server may block clients that probe it. */
static bool find_other_database(void *context)
{
    static atomic_flag was_asked = ATOMIC_FLAG_INIT;
    struct task *task = context;
    if (!atomic_flag_test_and_set(&was_asked)) {
        task->other = target_find_other(task->plan);
    }
    return task->other != NULL;
}

/* Connects to the task's host or, where any host may be used, to the first host that answers. */
static enum status open_any(struct task *task, struct target *target,
                            struct adapter_conn **connection, struct error *error)
{
    const unsigned hosts = (unsigned)task->plan->host_count;
    const unsigned tries = hosts == 0 || task->is_of_host ? 1 : hosts;
    enum status status;
    unsigned tried = 0;
    do {
        error_clear(error);
        const struct target there = target_at(task->plan, task->host);
        target->host = there.host;
        target->port = there.port;
        status = task->plan->adapter->open(task->plan->adapter, target, connection, error);
        if (status == STATUS_OK || error->kind == ERROR_CANCELLED) {
            return status;
        }
        if (++tried == tries) {
            break;
        }
        task->host = (task->host + 1) % hosts;
    } while (true);
    if (tries > 1 && error->kind != ERROR_USAGE) {
        char last[ERROR_TEXT_BYTES];
        memcpy(last, error->text, sizeof last);
        snprintf(error->text, sizeof error->text,
                 "none of %u hosts accepts a session; last error: %.180s", tries, last);
    }
    return status;
}

static enum status open_connection(struct task *task, struct adapter_conn **connection,
                                   struct error *error)
{
    const struct adapter *adapter = task->plan->adapter;
    const bool is_first = task->open == TASK_FIRST || task->open == TASK_PATIENTLY;
    const int64_t room_ns = mono_now_ns() + ROOM_LIMIT_NS;
    const bool may_restart = task->open == TASK_AGAIN && task->plan->drop_policy == DROP_RECONNECT;
    uint64_t tries = 0; /* number of connects after a loss; a task reconnects as sessions do,
                           because the server may be restarting */
    const int64_t timeout_s =
        (task->plan->timeout_ns + MONO_NS_PER_S - 1) / MONO_NS_PER_S; /* 0 without --timeout */
    struct target target = target_at(task->plan, task->host);
    target.creates_nothing = task->creates_nothing;
    if (is_first && target.host != NULL && adapter->recognise != NULL) {
        target.speaks_another_protocol = find_other_database;
        target.silence_context = task;
    }
    if (!is_first && interrupt_requested()) {
        target.is_cancelled = NULL;
        target.connect_timeout_s = LATE_CONNECT_S;
    }
    if (!is_first && timeout_s > 0) {
        target.connect_timeout_s = MIN(target.connect_timeout_s, (unsigned)timeout_s);
    }
    for (;;) {
        const enum status status = open_any(task, &target, connection, error);
        const bool is_odd = status != STATUS_OK &&
                            (error->kind == ERROR_TIMEOUT || error->kind == ERROR_UNSUPPORTED);
        if (target.speaks_another_protocol != NULL &&
            (task->other != NULL || (is_odd && find_other_database(task)))) {
            error_clear(error);
            error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                      "%.100s speaks the protocol of %s, not of %s: write %s%s%s", target.host,
                      task->other->name, adapter->name, target.url == NULL ? "--adapter " : "",
                      task->other->name, target.url == NULL ? "" : "://...");
            return STATUS_FATAL;
        }
        if (!is_first && error->kind == ERROR_LIMIT && mono_now_ns() < room_ns) {
            mono_sleep(ROOM_PAUSE_NS);
        } else if (may_restart && status == STATUS_LOST && !interrupt_requested() &&
                   tries < task->plan->reconnect_tries) {
            mono_sleep(reconnect_pause_ns(task->plan->facts->seed, 0, (unsigned)tries, tries));
            tries++;
        } else if (status != STATUS_LOST || task->open != TASK_PATIENTLY ||
                   !target_wait(task->plan, error)) {
            return status;
        }
        adapter->close(*connection);
        *connection = NULL;
        error_clear(error);
    }
}

/* Extends the error of a server that does not know the user, the password or the database: names
 * the server and the user, and says what to do. */
static void describe_refusal(const struct plan *plan, struct error *error)
{
    struct connection_info named = {.host = ""};
    const bool is_user = error->kind == ERROR_AUTH;
    if ((!is_user && error->kind != ERROR_NOT_FOUND) || plan->host_count > 0 ||
        (plan->adapter->flags & (ADAPTER_FILE | ADAPTER_STRING | ADAPTER_EMBEDDED)) != 0) {
        return;
    }
    target_fill_connection(plan, &named);
    char text[ERROR_TEXT_BYTES], user[80] = "";
    const bool is_advised =
        strstr(error->text, "--") != NULL || strstr(error->text, "password") != NULL;
    const char *advice = "";
    if (!is_advised) {
        advice = is_user ? "; name another user with --user, or in the URL: USER@HOST"
                         : "; name another database with --database, or in the URL: /DATABASE";
    }
    if (named.user[0] != '\0') {
        snprintf(user, sizeof user, ", user %.60s", named.user);
    }
    /* leave the text unchanged if the longer text does not fit */
    const int length = snprintf(text, sizeof text, "%s at %.60s:%u%s: %s%s", plan->adapter->name,
                                named.host, (unsigned)named.port, user, error->text, advice);
    if (length < (int)sizeof text) {
        memcpy(error->text, text, sizeof text);
    }
}

/* Asks the server not to truncate its answers. Otherwise a table might seem to have fewer columns
 * and rows. */
static enum status request_complete_answers(const struct task *task,
                                            struct adapter_conn *connection, struct error *error)
{
    const struct adapter *adapter = task->plan->adapter;
    struct connection_info info = {.lift_row_limit = NULL};
    target_fill_connection(task->plan, &info);
    if (adapter->inspect != NULL) {
        adapter->inspect(adapter, connection, &info);
    }
    if (info.lift_row_limit == NULL ||
        adapter->execute(connection, info.lift_row_limit, error) != STATUS_LOST) {
        error_clear(error); /* a server without the setting truncates nothing */
        return STATUS_OK;
    }
    return STATUS_LOST;
}

static void *task_thread(void *argument)
{
    struct task *task = argument;
    struct adapter_conn *connection = NULL;
    task->status = open_connection(task, &connection, &task->error);
    if (task->status != STATUS_OK && (task->open == TASK_FIRST || task->open == TASK_PATIENTLY)) {
        describe_refusal(task->plan, &task->error);
    }
    if (task->status == STATUS_OK) {
        line_register(&task->line, connection);
        line_begin_call(&task->line);
        task->status = request_complete_answers(task, connection, &task->error);
    }
    if (task->status == STATUS_OK) {
        task->status = task->work(task, connection, &task->error);
    }
    line_end_call(&task->line);
    line_close(&task->line, &connection);
    pthread_mutex_lock(&task->lock);
    task->has_ended = true;
    pthread_cond_signal(&task->ended);
    pthread_mutex_unlock(&task->lock);
    return NULL;
}

enum status task_run(struct task *task, struct error *error)
{
    struct ranks *const ranks = task->setup == NULL ? NULL : task->setup->ranks;
    const int64_t start_ns = mono_now_ns();
    int64_t interrupt_ns = INT64_MAX; /* moment of the next interruption */
    bool is_noticed = task->plan->is_quiet;
    bool was_interrupted = false; /* this program interrupted the work, so the work failed */
    bool was_overdue = false;     /* a call took longer than the limit */
    line_init(&task->line, task->plan->adapter, task->limit_ns);
    pthread_mutex_init(&task->lock, NULL);
    thread_cond_init(&task->ended);
    pthread_t thread;
    const int rc = thread_start(&thread, 0, task_thread, task);
    if (rc != 0) {
        task->status = STATUS_FATAL;
        error_set(&task->error, ERROR_SYSTEM, rc, NULL,
                  "client limit: no thread could be started: %s", strerror(rc));
    }
    pthread_mutex_lock(&task->lock);
    while (rc == 0 && !task->has_ended) {
        const struct timespec tick = mono_timespec(mono_now_ns() + LINE_TICK_NS);
        pthread_cond_timedwait(&task->ended, &task->lock, &tick);
        ranks_beat(ranks);
        const int64_t now_ns = mono_now_ns();
        if (task->has_ended) {
            break;
        }
        if (!is_noticed && now_ns - start_ns > NOTICE_NS) {
            notice_print("%s ...", task->notice);
            is_noticed = true;
        }
        if (interrupt_ns == INT64_MAX && interrupt_requested()) {
            interrupt_ns = now_ns + (ranks == NULL ? LINE_GRACE_NS : RANK_GRACE_NS);
        }
        if (atomic_exchange_explicit(&task->has_answered, false, memory_order_relaxed)) {
            line_begin_call(&task->line);
        }
        if (line_cut_overdue(&task->line, now_ns, NULL)) {
            was_interrupted = was_overdue = true;
        } else if (now_ns >= interrupt_ns && line_cut(&task->line, NULL, NULL)) {
            was_interrupted = true;
            interrupt_ns = now_ns + MONO_NS_PER_S;
        }
    }
    pthread_mutex_unlock(&task->lock);
    if (rc == 0) {
        pthread_join(thread, NULL);
    }
    pthread_cond_destroy(&task->ended);
    pthread_mutex_destroy(&task->lock);
    line_fini(&task->line);
    if (task->status == STATUS_OK) {
        return STATUS_OK;
    }
    *error = task->error;
    if (was_interrupted) {
        error_clear(error);
        error_set(error, was_overdue ? ERROR_TIMEOUT : ERROR_CANCELLED, 0, NULL,
                  "append gave up waiting for %s%s%s%s", task->what,
                  was_overdue ? ": no answer in " : "", was_overdue ? UNITS_NS(task->limit_ns) : "",
                  was_overdue && !task->is_hasty ? " (--timeout)" : "");
    }
    return task->status;
}

enum status task_run_again(struct task task, const struct setup *setup, const struct plan *plan,
                           bool is_hasty, struct error *error)
{
    task.is_hasty = is_hasty && (plan->timeout_ns == 0 || plan->timeout_ns > TASK_HASTY_NS);
    task.plan = plan;
    task.setup = setup;
    task.open = task.is_of_host && !setup->hosts[task.host].is_known ? TASK_ONCE : TASK_AGAIN;
    task.limit_ns = task.is_hasty ? TASK_HASTY_NS : plan->timeout_ns;
    return task_run(&task, error);
}

enum status task_count_rows(struct task *task, struct adapter_conn *conn,
                            const struct statement *count, uint64_t *rows, struct error *error)
{
    const struct ask_wait wait = {.unread = ask_templates(&task->setup->connection)->unread,
                                  .limit_ns = task->is_hasty ? TASK_HASTY_NS : ASK_UNREAD_NS,
                                  .on_answer = task_note_answer,
                                  .context = task};
    return ask_count_shown(task->plan->adapter, conn, count, &wait, rows, error);
}

enum exit_code task_exit_code(const struct error *error)
{
    const enum error_kind kind = error->kind;
    const bool is_usage = kind == ERROR_USAGE || kind == ERROR_UNSUPPORTED;
    if (kind == ERROR_MEMORY || kind == ERROR_SYSTEM) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    return is_usage ? EXIT_CODE_USAGE : EXIT_CODE_SERVER;
}

enum exit_code task_conclude(enum status status, const char *before, struct error *error)
{
    if (interrupt_requested()) {
        error_clear(error);
        error_set(error, ERROR_SYSTEM, 0, NULL, "interrupted before %s", before);
        return EXIT_CODE_INTERRUPTED;
    }
    return status == STATUS_OK ? EXIT_CODE_OK : task_exit_code(error);
}
