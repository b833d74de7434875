#include "load/side_job.h"

#include <errno.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/mono.h"
#include "base/notice.h"
#include "base/units.h"

#define TICK_NS (50 * MONO_NS_PER_MS)
#define GRACE_NS (3 * MONO_NS_PER_S)
#define NOTICE_NS (2 * MONO_NS_PER_S)

static void *job_thread(void *argument)
{
    struct side_job *job = argument;
    job->run(job, job->context);
    pthread_mutex_lock(&job->lock);
    job->has_ended = true;
    pthread_cond_signal(&job->ended);
    pthread_mutex_unlock(&job->lock);
    return NULL;
}

static int64_t limit_from(const struct side_job *job, int64_t now_ns)
{
    return job->limit_ns > 0 ? now_ns + job->limit_ns : INT64_MAX;
}

/* Under the lock. */
static void watch(struct side_job *job)
{
    const int64_t start_ns = mono_now_ns();
    bool was_requested = interrupt_requested();
    int64_t interrupt_ns = was_requested ? start_ns + GRACE_NS : INT64_MAX;
    bool is_told = job->notice == NULL;
    while (!job->has_ended) {
        const struct timespec tick = mono_timespec(mono_now_ns() + TICK_NS);
        pthread_cond_timedwait(&job->ended, &job->lock, &tick);
        const int64_t now_ns = mono_now_ns();
        if (job->has_ended) {
            break;
        }
        if (!is_told && now_ns - start_ns > NOTICE_NS) {
            notice_print("%s ...", job->notice);
            is_told = true;
        }
        if (!was_requested && interrupt_requested()) {
            was_requested = true;
            interrupt_ns = now_ns + GRACE_NS;
        }
        if (atomic_exchange_explicit(&job->has_answered, false, memory_order_relaxed)) {
            job->limit_at_ns = limit_from(job, now_ns);
        }
        if ((now_ns >= interrupt_ns || now_ns >= job->limit_at_ns) && job->connection != NULL &&
            job->adapter->interrupt != NULL) {
            job->adapter->interrupt(job->connection);
            job->was_interrupted = true;
            job->is_overdue = job->is_overdue || now_ns >= job->limit_at_ns;
            job->limit_at_ns = INT64_MAX;
            interrupt_ns = now_ns + MONO_NS_PER_S;
        }
    }
}

enum status side_job_run(struct side_job *job, struct error *error)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&job->lock, NULL);
    pthread_cond_init(&job->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    job->connection = NULL;
    job->has_ended = false;
    job->was_interrupted = false;
    job->is_overdue = false;
    job->limit_at_ns = INT64_MAX;
    atomic_store(&job->has_answered, false);

    pthread_t thread;
    const int rc = pthread_create(&thread, NULL, job_thread, job);
    if (rc == 0) {
        pthread_mutex_lock(&job->lock);
        watch(job);
        pthread_mutex_unlock(&job->lock);
        pthread_join(thread, NULL);
    } else {
        error_set(error, ERROR_SYSTEM, rc, NULL, "client limit: no thread could be started: %s",
                  strerror(rc));
    }
    pthread_cond_destroy(&job->ended);
    pthread_mutex_destroy(&job->lock);
    return rc == 0 ? STATUS_OK : STATUS_FATAL;
}

void side_job_share(struct side_job *job, struct adapter_conn *connection)
{
    pthread_mutex_lock(&job->lock);
    job->connection = connection;
    job->limit_at_ns = limit_from(job, mono_now_ns());
    pthread_mutex_unlock(&job->lock);
}

void side_job_blame(const struct side_job *job, const char *what, struct error *error)
{
    char limit[UNITS_TEXT_BYTES];
    error_clear(error);
    error_set(error, job->is_overdue ? ERROR_TIMEOUT : ERROR_CANCELLED, 0, NULL,
              "append gave up waiting for %s%s%s%s", what, job->is_overdue ? ": no answer in " : "",
              job->is_overdue ? units_format_ns(job->limit_ns, limit) : "",
              job->is_overdue && !job->is_hasty ? " (--timeout)" : "");
}

void side_job_note_answer(struct side_job *job)
{
    atomic_store_explicit(&job->has_answered, true, memory_order_relaxed);
}
