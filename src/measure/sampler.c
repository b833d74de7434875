#include "measure/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/process.h"
#include "measure/levels.h"
#include "measure/procfs.h"
#include "measure/server_process.h"

enum {
    SAMPLER_NICE = -10
};
#define INTERVAL_NS MONO_NS_PER_S
#define SAMPLE_DEFAULT_NS (3 * MONO_NS_PER_S)

/* No sleep is longer than that, so that little can have happened in one but the sleep. */
#define SLEEP_NS (200 * MONO_NS_PER_MS)

/* Cumulative figures at a moment. */
struct reading {
    int64_t taken_ns;
    bool is_host_known;
    struct procfs_cpu host;
    int64_t client_cpu_ns;
    struct server_reading server;
};

/* Shares of all CPUs in one interval, in percent; negative = unknown. */
struct cpu_shares {
    double host;
    double server;
    double client;
};

/* Highest shares of a group of samples. */
struct maxima {
    struct cpu_shares highest; /* of the sample with the highest share of the host */
    double server;
    double client;
};
static const struct maxima unknown_maxima = {{-1, -1, -1}, -1, -1};

/* What the thread is woken for. */
struct wake_up {
    bool is_stopping;
    bool is_work_begun;
    bool is_work_done;
    bool is_poked;
};

struct sampler {
    struct sampler_config config;
    pthread_t thread;
    pthread_mutex_t lock; /* guards wake_up; the rest is the thread's own */
    pthread_cond_t wake;
    struct wake_up wake_up;
    struct intervals intervals;
    struct server_process *server; /* owned */
    int proc;                      /* owned, as the next two */
    int stat_file; /* /proc/stat, kept open: sessions may have taken all descriptors meanwhile */
    int schedstat; /* of the thread, likewise */
    unsigned cpus;
    int64_t last_read_ns; /* when the server was read last; 0 = never */
    struct reading first;
    struct reading work;                /* when the sessions began to work; first before that */
    struct reading last;                /* where the current sample began */
    int64_t work_start_ns;              /* as in struct sampler_progress */
    struct server_reading first_server; /* first (of the work) and last with a known CPU time */
    struct server_reading last_server;
    int64_t work_server_cpu_ns; /* from the beginning of the work to its end; -1 = not known */
    struct sample
        peaks; /* the current sample, of which only the gauges are filled, at their highest */
    struct sample sample; /* the latest that is whole */
    bool has_sample;
    struct maxima maxima;       /* of samples that are long enough */
    struct maxima short_maxima; /* of the others */
    bool has_long_sample;
    int64_t max_server_memory_bytes;
    uint64_t max_client_memory_bytes;
    unsigned max_server_processes;
    int64_t asleep_ns;    /* what the machine had slept before */
    int64_t suspended_ns; /* in which this program stood still */
};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec time = {0};
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * MONO_NS_PER_S + time.tv_nsec;
}

static unsigned online_cpus(void)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

static int64_t own_cpu_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
        return 0;
    }
    const int64_t seconds = (int64_t)usage.ru_utime.tv_sec + (int64_t)usage.ru_stime.tv_sec;
    const int64_t micros = (int64_t)usage.ru_utime.tv_usec + (int64_t)usage.ru_stime.tv_usec;
    return seconds * MONO_NS_PER_S + micros * 1000;
}

/* Only the head of the file matters, and the rest grows with the number of interrupts. */
static bool read_host(int stat_file, struct procfs_cpu *host)
{
    char text[65536];
    const ssize_t length = stat_file < 0 ? -1 : pread(stat_file, text, sizeof text, 0);
    return length > 0 && procfs_parse_cpu(text, (size_t)length, host);
}

static void raise_to(uint64_t *highest, uint64_t value)
{
    *highest = value > *highest ? value : *highest;
}

static void raise_to_signed(int64_t *highest, int64_t value)
{
    *highest = value > *highest ? value : *highest;
}

static void raise_to_unsigned(unsigned *highest, unsigned value)
{
    *highest = value > *highest ? value : *highest;
}

/* Folds the sessions alive into the current sample. */
static void note_sessions(struct sampler *sampler)
{
    /* Closed first: a session that ends in between must not make the difference negative. */
    const uint64_t closed = recorder_read(sampler->config.recorder, RECORDER_CONNECTIONS_CLOSED);
    const uint64_t opened = recorder_read(sampler->config.recorder, RECORDER_CONNECTIONS_OPENED);
    raise_to(&sampler->peaks.sessions_alive, intervals_sessions_alive(opened, closed));
}

/* Reads the server, memory and sessions, for the current sample. */
static void read_gauges(struct sampler *sampler, struct server_reading *server)
{
    struct sample *const peaks = &sampler->peaks;
    note_sessions(sampler);
    raise_to(&peaks->client_memory_bytes, procfs_read_own(sampler->proc).resident_bytes);
    /* readings between samples share the interval's budget with those */
    const int64_t now_ns = mono_now_ns();
    const int64_t since_ns = now_ns - sampler->last_read_ns;
    const int64_t interval_ns = sampler->config.sample_interval_ns;
    server_process_read(sampler->server, since_ns < interval_ns ? since_ns : interval_ns, server);
    sampler->last_read_ns = now_ns;
    raise_to_signed(&peaks->server_memory_bytes, server->memory_bytes);
    raise_to_unsigned(&peaks->server_processes, server->processes);
    raise_to_unsigned(&peaks->server_threads, server->threads);
    if (server->cpu_ns >= 0) {
        if (sampler->first_server.cpu_ns < 0) {
            sampler->first_server = *server;
        }
        sampler->last_server = *server;
    }
}

static void read_all(struct sampler *sampler, struct reading *reading)
{
    reading->taken_ns = mono_now_ns();
    reading->is_host_known = read_host(sampler->stat_file, &reading->host);
    reading->client_cpu_ns = own_cpu_ns();
    read_gauges(sampler, &reading->server);
}

static void begin_work(struct sampler *sampler)
{
    sampler->work_start_ns = mono_now_ns() - sampler->config.run_start_ns;
    sampler->first_server.cpu_ns = -1;
    read_all(sampler, &sampler->work);
}

static void end_work(struct sampler *sampler)
{
    struct server_reading server;
    read_gauges(sampler, &server);
    if (sampler->work_start_ns >= 0 && sampler->work.server.cpu_ns >= 0 && server.cpu_ns >= 0) {
        sampler->work_server_cpu_ns = server.cpu_ns - sampler->work.server.cpu_ns;
    }
}

/* Finds the server and takes the first reading. False: out of memory. */
static bool init_readings(struct sampler *sampler)
{
    const char *stat_path = sampler->config.stat_path;
    sampler->proc = procfs_open();
    sampler->stat_file = open(stat_path == NULL ? "/proc/stat" : stat_path, O_RDONLY | O_CLOEXEC);
    sampler->work_start_ns = -1;
    sampler->first_server.cpu_ns = -1;
    sampler->last_server.cpu_ns = -1;
    sampler->work_server_cpu_ns = -1;
    sampler->peaks.server_memory_bytes = -1;
    sampler->maxima = unknown_maxima;
    sampler->short_maxima = unknown_maxima;
    sampler->max_server_memory_bytes = -1;
    sampler->server = server_process_create(&sampler->config.server);
    if (sampler->server == NULL) {
        return false;
    }
    read_all(sampler, &sampler->first);
    sampler->cpus = sampler->first.is_host_known ? sampler->first.host.cpus : online_cpus();
    sampler->work = sampler->first;
    sampler->last = sampler->first;
    return true;
}

static void fini_readings(struct sampler *sampler)
{
    server_process_destroy(sampler->server);
    if (sampler->proc >= 0) {
        close(sampler->proc);
    }
    if (sampler->stat_file >= 0) {
        close(sampler->stat_file);
    }
}

/* Clocks of different fineness are compared here, so a little more than all is all. */
static double percent_of(double part, double whole)
{
    if (whole <= 0) {
        return -1;
    }
    const double percent = 100 * part / whole;
    return percent < 0 ? 0 : (percent > 100 ? 100 : percent);
}

static double host_percent(const struct reading *from, const struct reading *to)
{
    /* The kernel lets the count of iowait fall at times, and with it the sum. */
    if (!from->is_host_known || !to->is_host_known ||
        to->host.total_ticks <= from->host.total_ticks) {
        return -1;
    }
    const double busy = (double)to->host.busy_ticks - (double)from->host.busy_ticks;
    return percent_of(busy, (double)(to->host.total_ticks - from->host.total_ticks));
}

static double server_percent(const struct sampler *sampler, const struct server_reading *from,
                             const struct server_reading *to)
{
    if (from->cpu_ns < 0 || to->cpu_ns < 0) {
        return -1;
    }
    return percent_of((double)(to->cpu_ns - from->cpu_ns),
                      (double)(to->taken_ns - from->taken_ns) * sampler->cpus);
}

/* The kernel may count the host's time in ticks, and that of processes exactly: the whole is no
 * less than its parts. A cgroup that the user named may have append in it. */
static struct cpu_shares shares_of(const struct sampler *sampler, const struct reading *from,
                                   const struct reading *to,
                                   const struct server_reading *server_from,
                                   const struct server_reading *server_to)
{
    const bool is_cgroup = sampler->config.server.cgroup != NULL;
    struct cpu_shares shares = {
        .host = host_percent(from, to),
        .server = server_percent(sampler, server_from, server_to),
        .client = percent_of((double)(to->client_cpu_ns - from->client_cpu_ns),
                             (double)(to->taken_ns - from->taken_ns) * sampler->cpus),
    };
    if (!is_cgroup && shares.server + shares.client > 100) {
        shares.server = 100 - shares.client; /* read a moment later, one process after the other */
    }
    const double parts = is_cgroup ? fmax(shares.server, shares.client)
                                   : fmax(shares.server, 0) + fmax(shares.client, 0);
    if (shares.host >= 0) {
        shares.host = fmax(shares.host, parts);
    }
    return shares;
}

static void raise_maxima(struct maxima *maxima, const struct cpu_shares *shares)
{
    if (shares->host > maxima->highest.host) {
        maxima->highest = *shares;
    }
    maxima->server = fmax(maxima->server, shares->server);
    maxima->client = fmax(maxima->client, shares->client);
}

static int64_t since_start(const struct sampler *sampler, int64_t moment_ns)
{
    const int64_t start_ns = sampler->config.run_start_ns;
    return moment_ns > start_ns ? moment_ns - start_ns : 0;
}

/* Ends the current sample now and begins the next; none when no time has passed. */
static void take_sample(struct sampler *sampler)
{
    const struct sampler_sink *const sink = &sampler->config.sink;
    struct reading now;
    read_all(sampler, &now);
    const struct reading *const from = &sampler->last;
    struct sample sample = sampler->peaks;
    sample.start_ns = since_start(sampler, from->taken_ns);
    sample.end_ns = since_start(sampler, now.taken_ns);
    if (sample.end_ns <= sample.start_ns) {
        return;
    }
    const struct cpu_shares shares = shares_of(sampler, from, &now, &from->server, &now.server);
    sample.host_cpu_percent = shares.host;
    sample.server_cpu_percent = shares.server;
    sample.client_cpu_percent = shares.client;
    const bool is_short = sample.end_ns - sample.start_ns < SAMPLER_SHORT_NS;
    raise_maxima(is_short ? &sampler->short_maxima : &sampler->maxima, &shares);
    sampler->has_long_sample |= !is_short;
    raise_to(&sampler->max_client_memory_bytes, sample.client_memory_bytes);
    raise_to_signed(&sampler->max_server_memory_bytes, sample.server_memory_bytes);
    raise_to_unsigned(&sampler->max_server_processes, sample.server_processes);
    sampler->last = now;
    sampler->peaks = (struct sample){.server_memory_bytes = -1};
    sampler->sample = sample;
    sampler->has_sample = true;
    if (sink->on_sample != NULL) {
        sink->on_sample(sink->context, &sampler->sample);
    }
}

static void summarise_nothing(struct resource_summary *summary)
{
    *summary = (struct resource_summary){
        .max_host_cpu_percent = -1,
        .max_server_cpu_percent = -1,
        .max_client_cpu_percent = -1,
        .server_cpu_percent_at_max = -1,
        .client_cpu_percent_at_max = -1,
        .mean_host_cpu_percent = -1,
        .mean_server_cpu_percent = -1,
        .mean_client_cpu_percent = -1,
        .max_server_memory_bytes = -1,
        .server_cpu_s = -1,
        .memory_source = MEMORY_UNKNOWN,
        .cpus = online_cpus(),
    };
}

static void summarise(const struct sampler *sampler, struct resource_summary *summary)
{
    struct maxima maxima = sampler->has_long_sample ? sampler->maxima : sampler->short_maxima;
    const struct cpu_shares mean = shares_of(sampler, &sampler->work, &sampler->last,
                                             &sampler->first_server, &sampler->last_server);
    /* The work of a short run is all in one sample, diluted by connecting and leaving. */
    raise_maxima(&maxima, &mean);
    *summary = (struct resource_summary){
        .max_host_cpu_percent = maxima.highest.host,
        .max_server_cpu_percent = maxima.server,
        .max_client_cpu_percent = maxima.client,
        .server_cpu_percent_at_max = maxima.highest.server,
        .client_cpu_percent_at_max = maxima.highest.client,
        .mean_host_cpu_percent = mean.host,
        .mean_server_cpu_percent = mean.server,
        .mean_client_cpu_percent = mean.client,
        .max_server_memory_bytes = sampler->max_server_memory_bytes,
        .max_client_memory_bytes = sampler->max_client_memory_bytes,
        .client_cpu_s =
            (double)(sampler->last.client_cpu_ns - sampler->first.client_cpu_ns) / MONO_NS_PER_S,
        .server_cpu_s = sampler->work_server_cpu_ns < 0
                            ? -1
                            : (double)sampler->work_server_cpu_ns / MONO_NS_PER_S,
        .max_server_processes = sampler->max_server_processes,
        .cpus = sampler->cpus,
    };
    raise_to(&summary->max_client_memory_bytes, procfs_read_own(sampler->proc).peak_bytes);
    server_process_describe(sampler->server, summary);
    if (summary->memory_source == MEMORY_SELF && summary->max_client_memory_bytes > 0) {
        summary->max_server_memory_bytes = (int64_t)summary->max_client_memory_bytes;
    }
}

/* CLOCK_MONOTONIC stands still while the machine sleeps. */
static int64_t machine_asleep_ns(void)
{
    const int64_t awake_ns = mono_now_ns();
    return clock_ns(CLOCK_BOOTTIME) - awake_ns;
}

/* What the thread and the program had of the CPUs when a sleep began. */
struct sleep {
    bool is_known;
    struct procfs_schedstat thread;
    int64_t process_ns;
    int64_t deadline_ns;
};

static struct sleep begin_sleep(const struct sampler *sampler, int64_t moment_ns)
{
    const int64_t longest_ns = mono_now_ns() + SLEEP_NS;
    struct sleep sleep = {.deadline_ns = moment_ns < longest_ns ? moment_ns : longest_ns};
    sleep.is_known = procfs_read_thread_file(sampler->schedstat, &sleep.thread);
    sleep.process_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    return sleep;
}

/* A thread that wakes up late has waited for a CPU, which the kernel counts, or was not let run at
 * all: stopped by a signal or a debugger, frozen, or its virtual machine was paused. In the latter
 * case the other threads have not run either, beyond the sleep and the wait for a CPU. */
static void note_lateness(struct sampler *sampler, const struct sleep *sleep)
{
    const int64_t late_ns = mono_now_ns() - sleep->deadline_ns;
    struct procfs_schedstat now;
    if (late_ns < SAMPLER_SUSPENDED_NS || !sleep->is_known ||
        !procfs_read_thread_file(sampler->schedstat, &now)) {
        return;
    }
    const int64_t queued_ns = (int64_t)(now.run_queue_ns - sleep->thread.run_queue_ns);
    const int64_t ran_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - sleep->process_ns;
    const int64_t most_ns = (int64_t)sampler->cpus * (SLEEP_NS + queued_ns) + late_ns / 10;
    if (late_ns - queued_ns >= SAMPLER_SUSPENDED_NS && ran_ns <= most_ns) {
        sampler->suspended_ns += late_ns - queued_ns;
    }
}

static struct wake_up wait_until(struct sampler *sampler, int64_t moment_ns)
{
    struct wake_up *const wake_up = &sampler->wake_up;
    pthread_mutex_lock(&sampler->lock);
    while (!wake_up->is_stopping && !wake_up->is_work_begun && !wake_up->is_work_done &&
           !wake_up->is_poked && mono_now_ns() < moment_ns) {
        const struct sleep sleep = begin_sleep(sampler, moment_ns);
        const struct timespec deadline = mono_timespec(sleep.deadline_ns);
        pthread_cond_timedwait(&sampler->wake, &sampler->lock, &deadline);
        note_lateness(sampler, &sleep);
    }
    const struct wake_up woken_for = *wake_up;
    *wake_up = (struct wake_up){0};
    pthread_mutex_unlock(&sampler->lock);
    return woken_for;
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
    note_sessions(sampler);
    if (sink->on_interval != NULL) {
        sink->on_interval(sink->context, interval);
    }
    return true;
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
    sampler->schedstat = procfs_open_thread();
    const int64_t sample_ns = sampler->config.sample_interval_ns;
    int64_t next_interval_ns = next_tick(sampler, INTERVAL_NS);
    int64_t next_sample_ns = next_tick(sampler, sample_ns);
    for (;;) {
        const struct wake_up wake_up = wait_until(
            sampler, next_interval_ns < next_sample_ns ? next_interval_ns : next_sample_ns);
        if (wake_up.is_work_done && !wake_up.is_work_begun) {
            end_work(sampler); /* else its beginning was missed */
        }
        if (wake_up.is_stopping) {
            take(sampler, true, true);
            if (sampler->schedstat >= 0) {
                close(sampler->schedstat);
            }
            return NULL;
        }
        if (wake_up.is_work_begun) {
            begin_work(sampler);
        }
        const int64_t now_ns = mono_now_ns();
        const bool is_interval_due = now_ns >= next_interval_ns;
        const bool is_sample_due = now_ns >= next_sample_ns;
        take(sampler, is_interval_due, is_sample_due);
        /* A sample reads all that a poke asks for. */
        if (wake_up.is_poked && !is_sample_due) {
            struct server_reading ignored;
            read_gauges(sampler, &ignored);
        }
        if (is_interval_due) {
            next_interval_ns = next_tick(sampler, INTERVAL_NS);
        }
        if (is_sample_due) {
            next_sample_ns = next_tick(sampler, sample_ns);
        }
    }
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
    if (sampler->config.sample_interval_ns <= 0) {
        sampler->config.sample_interval_ns = SAMPLE_DEFAULT_NS;
    }
    int failure = ENOMEM;
    if (!init_readings(sampler)) {
        goto fini_readings;
    }
    if (sampler->config.run_start_ns == 0) {
        sampler->config.run_start_ns = mono_now_ns();
    }
    if (!intervals_init(&sampler->intervals, config->recorder, sampler->config.run_start_ns)) {
        goto fini_readings;
    }
    thread_cond_init(&sampler->wake);
    pthread_mutex_init(&sampler->lock, NULL);
    failure = thread_start(&sampler->thread, 0, run_sampler, sampler);
    if (failure == 0) {
        return sampler;
    }
    pthread_mutex_destroy(&sampler->lock);
    pthread_cond_destroy(&sampler->wake);
    intervals_fini(&sampler->intervals);
fini_readings:
    fini_readings(sampler);
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

void sampler_begin_work(struct sampler *sampler)
{
    if (sampler != NULL) {
        wake_for(sampler, &sampler->wake_up.is_work_begun);
    }
}

void sampler_end_work(struct sampler *sampler)
{
    if (sampler != NULL) {
        wake_for(sampler, &sampler->wake_up.is_work_done);
    }
}

void sampler_poke(struct sampler *sampler)
{
    if (sampler != NULL) {
        wake_for(sampler, &sampler->wake_up.is_poked);
    }
}

void sampler_stop(struct sampler *sampler, struct resource_summary *summary)
{
    if (sampler == NULL) {
        summarise_nothing(summary);
        return;
    }
    wake_for(sampler, &sampler->wake_up.is_stopping);
    pthread_join(sampler->thread, NULL);
    summarise(sampler, summary);
    const int64_t asleep_ns = machine_asleep_ns() - sampler->asleep_ns;
    summary->suspended_ns =
        sampler->suspended_ns + (asleep_ns >= SAMPLER_SUSPENDED_NS ? asleep_ns : 0);
    pthread_mutex_destroy(&sampler->lock);
    pthread_cond_destroy(&sampler->wake);
    fini_readings(sampler);
    intervals_fini(&sampler->intervals);
    free(sampler);
}

const char *const memory_source_names[] = {[MEMORY_UNKNOWN] = "unknown",
                                           [MEMORY_SELF] = "self",
                                           [MEMORY_PSS] = "pss",
                                           [MEMORY_RSS] = "rss",
                                           [MEMORY_CGROUP] = "cgroup"};

const char *const memory_source_texts[] = {
    [MEMORY_UNKNOWN] = "not known",
    [MEMORY_SELF] = "resident memory of this program, the database included",
    [MEMORY_PSS] = "private memory of the server's processes, shared memory once (PSS)",
    [MEMORY_RSS] = "private part of every process's resident memory, largest shared part once",
    [MEMORY_CGROUP] = "anonymous and shared memory of the server's cgroup",
};

void hold_samples_init(struct hold_samples *samples)
{
    *samples = (struct hold_samples){0};
    pthread_mutex_init(&samples->lock, NULL);
}

void hold_samples_fini(struct hold_samples *samples)
{
    pthread_mutex_destroy(&samples->lock);
}

void hold_samples_begin(struct hold_samples *samples, int64_t start_ns)
{
    pthread_mutex_lock(&samples->lock);
    samples->is_holding = true;
    samples->has_one = false;
    samples->start_ns = start_ns;
    memset(samples->shares, 0, sizeof samples->shares);
    samples->server_memory_bytes = -1;
    samples->client_memory_bytes = -1;
    pthread_mutex_unlock(&samples->lock);
}

void hold_samples_add(struct hold_samples *samples, const struct sample *sample)
{
    const double percents[] = {sample->host_cpu_percent, sample->server_cpu_percent,
                               sample->client_cpu_percent};
    const int64_t ns = sample->end_ns - sample->start_ns;
    pthread_mutex_lock(&samples->lock);
    if (samples->is_holding && sample->start_ns >= samples->start_ns) {
        samples->has_one = true;
        for (size_t i = 0; i < 3; i++) {
            if (percents[i] >= 0) {
                samples->shares[i].percent_ns += percents[i] * (double)ns;
                samples->shares[i].known_ns += ns;
            }
        }
        raise_to_signed(&samples->server_memory_bytes, sample->server_memory_bytes);
        if (sample->client_memory_bytes > 0) {
            raise_to_signed(&samples->client_memory_bytes, (int64_t)sample->client_memory_bytes);
        }
    }
    pthread_mutex_unlock(&samples->lock);
}

bool hold_samples_has_one(struct hold_samples *samples)
{
    pthread_mutex_lock(&samples->lock);
    const bool has_one = samples->has_one;
    pthread_mutex_unlock(&samples->lock);
    return has_one;
}

static double mean(const struct hold_share *share)
{
    return share->known_ns > 0 ? share->percent_ns / (double)share->known_ns : -1;
}

void hold_samples_end(struct hold_samples *samples, struct level *level)
{
    pthread_mutex_lock(&samples->lock);
    samples->is_holding = false;
    level->host_cpu_percent = mean(&samples->shares[0]);
    level->server_cpu_percent = mean(&samples->shares[1]);
    level->client_cpu_percent = mean(&samples->shares[2]);
    level->server_memory_bytes = samples->server_memory_bytes;
    level->client_memory_bytes = samples->client_memory_bytes;
    pthread_mutex_unlock(&samples->lock);
}
