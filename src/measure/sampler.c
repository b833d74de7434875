#include "measure/sampler.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/mono.h"
#include "measure/intervals.h"
#include "measure/resources.h"
#include "measure/thread_time.h"

enum {
    SAMPLER_NICE = -10
};
#define INTERVAL_NS MONO_NS_PER_S
#define SAMPLE_DEFAULT_NS (3 * MONO_NS_PER_S)

/* No sleep is longer than that, so that little can have happened in one but the sleep. */
#define SLEEP_NS (200 * MONO_NS_PER_MS)

struct sampler {
    struct sampler_config config;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the three flags below; the rest is the thread's own */
    pthread_cond_t wake;
    bool is_stopping;
    bool is_marked;
    bool is_poked;
    struct intervals intervals;
    struct resources resources;
    struct sample sample; /* the latest */
    bool has_sample;
    int64_t work_start_ns; /* as in struct sampler_progress */
    int schedstat;         /* of the thread */
    int64_t asleep_ns;     /* what the machine had slept before */
    int64_t suspended_ns;  /* in which this program stood still */
};

/* What the thread and the program had of the CPUs when a sleep began. */
struct sleep {
    bool is_known;
    struct thread_time thread;
    int64_t process_ns;
    int64_t deadline_ns;
};

/* What the thread was woken for. */
struct wake_up {
    bool is_stopping;
    bool is_marked;
    bool is_poked;
};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec time = {0};
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * MONO_NS_PER_S + time.tv_nsec;
}

/* CLOCK_MONOTONIC stands still while the machine sleeps. */
static int64_t machine_asleep_ns(void)
{
    const int64_t awake_ns = mono_now_ns();
    return clock_ns(CLOCK_BOOTTIME) - awake_ns;
}

static struct sleep begin_sleep(const struct sampler *sampler, int64_t moment_ns)
{
    const int64_t longest_ns = mono_now_ns() + SLEEP_NS;
    struct sleep sleep = {.deadline_ns = moment_ns < longest_ns ? moment_ns : longest_ns};
    sleep.is_known = thread_time_read_file(sampler->schedstat, &sleep.thread);
    sleep.process_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    return sleep;
}

/* A thread that wakes up late has waited for a CPU, which the kernel counts, or was not let run at
 * all: stopped by a signal or a debugger, frozen, or its virtual machine was paused. In the latter
 * case the other threads have not run either, beyond the sleep and the wait for a CPU. */
static void note_lateness(struct sampler *sampler, const struct sleep *sleep)
{
    const int64_t late_ns = mono_now_ns() - sleep->deadline_ns;
    struct thread_time now;
    if (late_ns < SAMPLER_SUSPENDED_NS || !sleep->is_known ||
        !thread_time_read_file(sampler->schedstat, &now)) {
        return;
    }
    const int64_t queued_ns = (int64_t)(now.run_queue_ns - sleep->thread.run_queue_ns);
    const int64_t ran_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - sleep->process_ns;
    const int64_t most_ns =
        (int64_t)sampler->resources.cpus * (SLEEP_NS + queued_ns) + late_ns / 10;
    if (late_ns - queued_ns >= SAMPLER_SUSPENDED_NS && ran_ns <= most_ns) {
        sampler->suspended_ns += late_ns - queued_ns;
    }
}

static struct wake_up wait_until(struct sampler *sampler, int64_t moment_ns)
{
    pthread_mutex_lock(&sampler->lock);
    while (!sampler->is_stopping && !sampler->is_marked && !sampler->is_poked &&
           mono_now_ns() < moment_ns) {
        const struct sleep sleep = begin_sleep(sampler, moment_ns);
        const struct timespec deadline = mono_timespec(sleep.deadline_ns);
        pthread_cond_timedwait(&sampler->wake, &sampler->lock, &deadline);
        note_lateness(sampler, &sleep);
    }
    const struct wake_up wake_up = {
        .is_stopping = sampler->is_stopping,
        .is_marked = sampler->is_marked,
        .is_poked = sampler->is_poked,
    };
    sampler->is_marked = false;
    sampler->is_poked = false;
    pthread_mutex_unlock(&sampler->lock);
    return wake_up;
}

/* The next multiple of the period behind now; ticks that were slept through are left out. */
static int64_t next_tick(const struct sampler *sampler, int64_t period_ns)
{
    const int64_t since_ns = mono_now_ns() - sampler->config.run_start_ns;
    const int64_t ticks = since_ns < 0 ? 0 : since_ns / period_ns;
    return sampler->config.run_start_ns + (ticks + 1) * period_ns;
}

static bool take_interval(struct sampler *sampler, struct interval *interval)
{
    const struct sampler_sink *const sink = &sampler->config.sink;
    if (!intervals_take(&sampler->intervals, interval)) {
        return false;
    }
    resources_note_sessions(&sampler->resources);
    if (sink->on_interval != NULL) {
        sink->on_interval(sink->context, interval);
    }
    return true;
}

static void take_sample(struct sampler *sampler)
{
    const struct sampler_sink *const sink = &sampler->config.sink;
    if (!resources_take_sample(&sampler->resources, &sampler->sample)) {
        return;
    }
    sampler->has_sample = true;
    if (sink->on_sample != NULL) {
        sink->on_sample(sink->context, &sampler->sample);
    }
}

/* The interval comes first: it is quick to take, and a sample of many processes is not. Progress
 * comes last, so that it shows the sample that ended with the interval. */
static void take(struct sampler *sampler, bool is_interval_due, bool is_sample_due)
{
    const struct sampler_sink *const sink = &sampler->config.sink;
    struct interval interval;
    const bool has_interval = is_interval_due && take_interval(sampler, &interval);
    if (is_sample_due) {
        take_sample(sampler);
    }
    if (has_interval && sink->on_progress != NULL) {
        const struct sampler_progress progress = {
            .interval = &interval,
            .sample = sampler->has_sample ? &sampler->sample : NULL,
            .total = intervals_total(&sampler->intervals),
            .work_start_ns = sampler->work_start_ns,
        };
        sink->on_progress(sink->context, &progress);
    }
}

static void *run_sampler(void *argument)
{
    struct sampler *const sampler = argument;
    /* Thousands of runnable sessions would make readings late and long. On Linux this is the
     * thread's own priority; an account that may not raise it goes without. */
    (void)setpriority(PRIO_PROCESS, 0, SAMPLER_NICE);
    sampler->schedstat = thread_time_open();
    const int64_t sample_ns = sampler->config.sample_interval_ns;
    int64_t next_interval_ns = next_tick(sampler, INTERVAL_NS);
    int64_t next_sample_ns = next_tick(sampler, sample_ns);
    for (;;) {
        const struct wake_up wake_up = wait_until(
            sampler, next_interval_ns < next_sample_ns ? next_interval_ns : next_sample_ns);
        if (wake_up.is_stopping) {
            take(sampler, true, true);
            if (sampler->schedstat >= 0) {
                close(sampler->schedstat);
            }
            return NULL;
        }
        if (wake_up.is_marked) {
            sampler->work_start_ns = mono_now_ns() - sampler->config.run_start_ns;
            resources_begin_work(&sampler->resources);
        }
        const int64_t now_ns = mono_now_ns();
        const bool is_interval_due = now_ns >= next_interval_ns;
        const bool is_sample_due = now_ns >= next_sample_ns;
        take(sampler, is_interval_due, is_sample_due);
        /* A sample reads all that a poke asks for. */
        if (wake_up.is_poked && !is_sample_due) {
            resources_read_gauges(&sampler->resources);
        }
        if (is_interval_due) {
            next_interval_ns = next_tick(sampler, INTERVAL_NS);
        }
        if (is_sample_due) {
            next_sample_ns = next_tick(sampler, sample_ns);
        }
    }
}

static int init_wake(struct sampler *sampler)
{
    pthread_condattr_t attributes;
    int failure = pthread_condattr_init(&attributes);
    if (failure != 0) {
        return failure;
    }
    failure = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (failure == 0) {
        failure = pthread_cond_init(&sampler->wake, &attributes);
    }
    pthread_condattr_destroy(&attributes);
    return failure;
}

/* Signals are for the main thread: a handler must not run here. */
static int start_thread(struct sampler *sampler)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failure = pthread_create(&sampler->thread, NULL, run_sampler, sampler);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

struct sampler *sampler_start(const struct sampler_config *config, struct error *error)
{
    struct sampler *sampler = calloc(1, sizeof(*sampler));
    if (sampler == NULL) {
        error_set(error, ERROR_MEMORY, ENOMEM, NULL, "out of memory for the sampler");
        return NULL;
    }
    sampler->config = *config;
    sampler->asleep_ns = machine_asleep_ns();
    sampler->work_start_ns = -1;
    if (sampler->config.sample_interval_ns <= 0) {
        sampler->config.sample_interval_ns = SAMPLE_DEFAULT_NS;
    }
    int failure = ENOMEM;
    if (!resources_init(&sampler->resources, config, sampler->config.sample_interval_ns)) {
        goto free_sampler;
    }
    if (sampler->config.run_start_ns == 0) {
        sampler->config.run_start_ns = mono_now_ns();
        sampler->resources.run_start_ns = sampler->config.run_start_ns;
    }
    if (!intervals_init(&sampler->intervals, config->recorder, sampler->config.run_start_ns)) {
        goto fini_resources;
    }
    failure = init_wake(sampler);
    if (failure != 0) {
        goto fini_intervals;
    }
    pthread_mutex_init(&sampler->lock, NULL);
    failure = start_thread(sampler);
    if (failure == 0) {
        return sampler;
    }
    pthread_mutex_destroy(&sampler->lock);
    pthread_cond_destroy(&sampler->wake);
fini_intervals:
    intervals_fini(&sampler->intervals);
fini_resources:
    resources_fini(&sampler->resources);
free_sampler:
    free(sampler);
    error_set(error, failure == ENOMEM ? ERROR_MEMORY : ERROR_SYSTEM, failure, NULL,
              "the sampler cannot be started: %s", strerror(failure));
    return NULL;
}

static void wake_for(struct sampler *sampler, bool *flag)
{
    pthread_mutex_lock(&sampler->lock);
    *flag = true;
    pthread_cond_signal(&sampler->wake);
    pthread_mutex_unlock(&sampler->lock);
}

int64_t sampler_run_start_ns(const struct sampler *sampler)
{
    return sampler->config.run_start_ns;
}

void sampler_mark_work(struct sampler *sampler)
{
    if (sampler != NULL) {
        wake_for(sampler, &sampler->is_marked);
    }
}

void sampler_poke(struct sampler *sampler)
{
    if (sampler != NULL) {
        wake_for(sampler, &sampler->is_poked);
    }
}

void sampler_stop(struct sampler *sampler, struct resource_summary *summary)
{
    if (sampler == NULL) {
        resources_summarise_nothing(summary);
        return;
    }
    wake_for(sampler, &sampler->is_stopping);
    pthread_join(sampler->thread, NULL);
    resources_summarise(&sampler->resources, summary);
    const int64_t asleep_ns = machine_asleep_ns() - sampler->asleep_ns;
    summary->suspended_ns =
        sampler->suspended_ns + (asleep_ns >= SAMPLER_SUSPENDED_NS ? asleep_ns : 0);
    pthread_mutex_destroy(&sampler->lock);
    pthread_cond_destroy(&sampler->wake);
    resources_fini(&sampler->resources);
    intervals_fini(&sampler->intervals);
    free(sampler);
}

const char *memory_source_name(enum memory_source source)
{
    switch (source) {
    case MEMORY_UNKNOWN:
        return "unknown";
    case MEMORY_SELF:
        return "self";
    case MEMORY_PSS:
        return "pss";
    case MEMORY_RSS:
        return "rss";
    case MEMORY_CGROUP:
        return "cgroup";
    }
    return "unknown";
}

const char *memory_source_text(enum memory_source source)
{
    switch (source) {
    case MEMORY_UNKNOWN:
        return "not known";
    case MEMORY_SELF:
        return "resident memory of this program, the database included";
    case MEMORY_PSS:
        return "private memory of the server's processes, shared memory once (PSS)";
    case MEMORY_RSS:
        return "private part of every process's resident memory, largest shared part once";
    case MEMORY_CGROUP:
        return "anonymous and shared memory of the server's cgroup";
    }
    return "not known";
}
