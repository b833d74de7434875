#include "load/probe.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/mono.h"
#include "base/notice.h"
#include "base/process.h"
#include "base/units.h"
#include "plan/target.h"

#define TICK_NS (50 * MONO_NS_PER_MS)
#define GRACE_NS (3 * MONO_NS_PER_S)
#define NOTICE_NS (2 * MONO_NS_PER_S)

/* A server that was full may need a moment to notice that its sessions have left. */
#define ROOM_LIMIT_NS (2 * MONO_NS_PER_S)
#define ROOM_PAUSE_NS (50 * MONO_NS_PER_MS)

enum {
    LATE_CONNECT_S = 3
};

/* A probe that runs. */
struct running {
    struct probe *probe;
    enum status status;
    struct error error;

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t ended;
    struct adapter_conn *connection; /* that may be interrupted; NULL = none */
    bool has_ended;
    int64_t limit_at_ns;  /* when the limit is reached; INT64_MAX = never */
    bool is_overdue;      /* it was interrupted at the limit */
    bool was_interrupted; /* what it came to is this side's doing */
};

struct look {
    const struct plan *plan;
    const struct adapter *other; /* that the server speaks the protocol of; NULL: not known */
};

/* Once in a program: a server may hold it against the client that it is asked in vain. */
static bool look_for_another(void *context)
{
    static atomic_flag was_asked = ATOMIC_FLAG_INIT;
    struct look *look = context;
    if (!atomic_flag_test_and_set(&was_asked)) {
        look->other = target_find_other(look->plan);
    }
    return look->other != NULL;
}

static enum status open_first(const struct probe *probe, struct adapter_conn **connection,
                              struct error *error)
{
    const struct plan *plan = probe->plan;
    const struct adapter *adapter = plan->adapter;
    struct look look = {.plan = plan};
    struct target target = plan->target;
    target.makes_nothing = probe->makes_nothing;
    if (target.host == NULL || adapter->recognise == NULL) {
        return adapter->open(&target, connection, error);
    }
    target.is_another = look_for_another;
    target.silence_context = &look;
    const enum status status = adapter->open(&target, connection, error);
    const bool is_odd =
        status != STATUS_OK && (error->kind == ERROR_TIMEOUT || error->kind == ERROR_UNSUPPORTED);
    if (look.other == NULL && !(is_odd && look_for_another(&look))) {
        return status;
    }
    error_clear(error);
    error_set(error, ERROR_UNSUPPORTED, 0, NULL,
              "%.100s speaks the protocol of %s, not of %s: write %s%s%s", target.host,
              look.other->name, adapter->name, target.url == NULL ? "--adapter " : "",
              look.other->name, target.url == NULL ? "" : "://...");
    return STATUS_FATAL;
}

static enum status open_patiently(const struct probe *probe, struct adapter_conn **connection,
                                  struct error *error)
{
    enum status status;
    while ((status = open_first(probe, connection, error)) == STATUS_LOST &&
           target_wait(probe->plan, error)) {
        probe->plan->adapter->close(*connection);
        *connection = NULL;
        error_clear(error);
    }
    return status;
}

static enum status open_again(const struct probe *probe, struct adapter_conn **connection,
                              struct error *error)
{
    struct target target = probe->plan->target;
    if (interrupt_requested()) {
        target.is_cancelled = NULL;
        target.connect_timeout_s = LATE_CONNECT_S;
    }
    const int64_t limit_ns = mono_now_ns() + ROOM_LIMIT_NS;
    for (;;) {
        error_clear(error);
        const enum status status = probe->plan->adapter->open(&target, connection, error);
        if (status == STATUS_OK || error->kind != ERROR_LIMIT || mono_now_ns() >= limit_ns) {
            return status;
        }
        mono_sleep(ROOM_PAUSE_NS);
    }
}

static int64_t limit_from(const struct running *running, int64_t now_ns)
{
    return running->probe->limit_ns > 0 ? now_ns + running->probe->limit_ns : INT64_MAX;
}

static void share(struct running *running, struct adapter_conn *connection)
{
    pthread_mutex_lock(&running->lock);
    running->connection = connection;
    running->limit_at_ns = limit_from(running, mono_now_ns());
    pthread_mutex_unlock(&running->lock);
}

static void *probe_thread(void *argument)
{
    struct running *running = argument;
    struct probe *probe = running->probe;
    struct adapter_conn *connection = NULL;
    switch (probe->open) {
    case PROBE_FIRST:
        running->status = open_first(probe, &connection, &running->error);
        break;
    case PROBE_PATIENTLY:
        running->status = open_patiently(probe, &connection, &running->error);
        break;
    case PROBE_AGAIN:
        running->status = open_again(probe, &connection, &running->error);
        break;
    }
    share(running, connection);
    if (running->status == STATUS_OK) {
        running->status = probe->work(probe, connection, &running->error);
    }
    share(running, NULL);
    probe->plan->adapter->close(connection);
    pthread_mutex_lock(&running->lock);
    running->has_ended = true;
    pthread_cond_signal(&running->ended);
    pthread_mutex_unlock(&running->lock);
    return NULL;
}

/* Under the lock. */
static void watch(struct running *running)
{
    struct probe *probe = running->probe;
    const struct adapter *adapter = probe->plan->adapter;
    const int64_t start_ns = mono_now_ns();
    bool was_requested = interrupt_requested();
    int64_t interrupt_ns = was_requested ? start_ns + GRACE_NS : INT64_MAX;
    bool is_told = probe->plan->is_quiet;
    while (!running->has_ended) {
        const struct timespec tick = mono_timespec(mono_now_ns() + TICK_NS);
        pthread_cond_timedwait(&running->ended, &running->lock, &tick);
        const int64_t now_ns = mono_now_ns();
        if (running->has_ended) {
            break;
        }
        if (!is_told && now_ns - start_ns > NOTICE_NS) {
            notice_print("%s ...", probe->notice);
            is_told = true;
        }
        if (!was_requested && interrupt_requested()) {
            was_requested = true;
            interrupt_ns = now_ns + GRACE_NS;
        }
        if (atomic_exchange_explicit(&probe->has_answered, false, memory_order_relaxed)) {
            running->limit_at_ns = limit_from(running, now_ns);
        }
        const bool is_overdue = now_ns >= running->limit_at_ns;
        if ((now_ns >= interrupt_ns || is_overdue) && running->connection != NULL &&
            adapter->interrupt != NULL) {
            adapter->interrupt(running->connection);
            running->was_interrupted = true;
            running->is_overdue = running->is_overdue || is_overdue;
            running->limit_at_ns = INT64_MAX;
            interrupt_ns = now_ns + MONO_NS_PER_S;
        }
    }
}

static void give_up(const struct running *running, struct error *error)
{
    const struct probe *probe = running->probe;
    const bool is_overdue = running->is_overdue;
    error_clear(error);
    error_set(error, is_overdue ? ERROR_TIMEOUT : ERROR_CANCELLED, 0, NULL,
              "append gave up waiting for %s%s%s%s", probe->what,
              is_overdue ? ": no answer in " : "", is_overdue ? UNITS_NS(probe->limit_ns) : "",
              is_overdue && !probe->is_hasty ? " (--timeout)" : "");
}

enum status probe_run(struct probe *probe, struct error *error)
{
    struct running running = {.probe = probe, .status = STATUS_FATAL, .limit_at_ns = INT64_MAX};
    error_clear(&running.error);
    atomic_store(&probe->has_answered, false);
    pthread_mutex_init(&running.lock, NULL);
    thread_cond_init(&running.ended);
    pthread_t thread;
    const int rc = pthread_create(&thread, NULL, probe_thread, &running);
    if (rc == 0) {
        pthread_mutex_lock(&running.lock);
        watch(&running);
        pthread_mutex_unlock(&running.lock);
        pthread_join(thread, NULL);
    } else {
        error_set(&running.error, ERROR_SYSTEM, rc, NULL,
                  "client limit: no thread could be started: %s", strerror(rc));
    }
    pthread_cond_destroy(&running.ended);
    pthread_mutex_destroy(&running.lock);
    if (running.status != STATUS_OK && running.was_interrupted) {
        give_up(&running, &running.error);
    }
    if (running.status != STATUS_OK) {
        *error = running.error;
    }
    return running.status;
}

void probe_note_answer(struct probe *probe)
{
    atomic_store_explicit(&probe->has_answered, true, memory_order_relaxed);
}

enum exit_code probe_conclude(enum status status, const char *before, struct error *error)
{
    if (interrupt_requested()) {
        error_clear(error);
        error_set(error, ERROR_SYSTEM, 0, NULL, "interrupted before %s", before);
        return EXIT_CODE_INTERRUPTED;
    }
    return status == STATUS_OK ? EXIT_CODE_OK : probe_exit_code(error);
}

enum exit_code probe_exit_code(const struct error *error)
{
    switch (error->kind) {
    case ERROR_MEMORY:
    case ERROR_SYSTEM:
        return EXIT_CODE_CLIENT_LIMIT;
    case ERROR_USAGE:
    case ERROR_UNSUPPORTED:
        return EXIT_CODE_USAGE;
    default:
        return EXIT_CODE_SERVER;
    }
}
