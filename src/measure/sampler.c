#include "measure/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/resource.h>
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

/* The longest time for which nap sleeps. The time is short, because nap must know how much CPU time
 * the other threads can use during the sleep. */
#define SLEEP_NS (200 * MONO_NS_PER_MS)

static const struct cpu_shares unknown_shares = {-1, -1, -1};

/* Cumulative figures at one moment. */
struct reading {
    int64_t taken_ns;
    bool is_host_known;
    struct procfs_cpu host;
    int64_t client_cpu_ns;
    struct server_reading server;
    struct io_reading io;
};

/* The sums over the samples of a hold. */
struct hold {
    bool is_on;
    int64_t start_ns;
    /* percent_ns: sum of share × duration of the samples in which the share is known; known_ns: sum
     * of these durations */
    struct cpu_shares percent_ns;
    struct cpu_shares known_ns;
    int64_t server_memory_bytes; /* highest reading; -1 = unknown */
    int64_t client_memory_bytes;
};

struct sampler {
    struct sampler_config config;
    /* guards events, hold and go_ns; only the measuring thread uses the rest */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    unsigned events; /* flags of enum sampler_event */
    struct hold hold;
    struct intervals intervals;
    struct server_process *server; /* processes of the server; owned */
    struct io_meter *io;           /* meter of the I/O; owned */
    unsigned restarts;             /* number of restarts of the server, as last reported to `io` */
    int proc;                      /* descriptor of /proc; owned */
    int stat_file; /* descriptor of /proc/stat, owned; kept open, because sessions may have taken
                      all descriptors */
    int schedstat; /* schedstat file of the measuring thread, owned; kept open, because sessions may
                      have taken all descriptors */
    int64_t last_read_ns; /* moment at which the server was last read; 0 = never */
    struct reading first;
    struct reading work;   /* reading at the beginning of the work; equal to `first` until then */
    struct reading last;   /* reading at the start of the current sample */
    int64_t work_start_ns; /* time from the start of the run until the gate opened and the sessions
                              began to work; -1 = not yet */
    struct server_reading first_server; /* first reading of the work with a known CPU time */
    struct server_reading last_server;  /* last reading of the work with a known CPU time */
    struct reading work_end; /* reading at the last answer; before that, the latest reading */
    bool is_work_done;
    bool has_begun;           /* the measuring thread has taken a turn */
    int64_t next_interval_ns; /* moment at which the next interval is due */
    int64_t next_sample_ns;   /* moment at which the next sample is due */
    struct intervals stages;  /* the stages of the run; unused without stages */
    int64_t go_ns;            /* moment at which the gate opens; guarded by `lock` */
    struct stage_gauges {
        unsigned stage;
        uint64_t sessions_alive, sessions_working;
    } gauges;               /* gauges of the latest second that ended while sessions worked */
    bool have_stages_ended; /* the work has ended, so the last stage has also ended */
    unsigned stage;         /* number of the current stage, from 1; 0: no stage has begun */
    /* moment at which the current stage ends; INT64_MAX: it ends with the run */
    int64_t stage_end_ns;
    struct sample peaks;         /* highest values of the gauges in the current sample */
    struct cpu_shares short_max; /* highest shares in samples that are too short for
                                    summary.max_cpu */
    struct cpu_shares short_at_max;
    int64_t asleep_ns;               /* time for which the machine had slept before the run */
    struct resource_summary summary; /* the summary so far */
};

static void summarise_nothing(struct resource_summary *summary)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    *summary = (struct resource_summary){
        .max_cpu = unknown_shares,
        .cpu_at_max = unknown_shares,
        .mean_cpu = unknown_shares,
        .max_server_memory_bytes = -1,
        .server_cpu_s = -1,
        .io = io_nothing(),
        .max_device_busy_percent = -1,
        .memory_source = MEMORY_UNKNOWN,
        .cpus = online > 0 ? (unsigned)online : 1,
    };
}

/* Updates the highest number of sessions in the current sample. */
static void note_sessions(struct sampler *sampler)
{
    /* `closed` is read first, so that a session ending in between cannot make the difference
     * negative */
    const uint64_t closed = recorder_read(sampler->config.recorder, RECORDER_CONNECTIONS_CLOSED);
    const uint64_t opened = recorder_read(sampler->config.recorder, RECORDER_CONNECTIONS_OPENED);
    const uint64_t alive = opened - MIN(opened, closed);
    sampler->peaks.sessions_alive = MAX(sampler->peaks.sessions_alive, alive);
}

static uint64_t rows_held(const struct sampler *sampler)
{
    return sampler->config.rows_before +
           recorder_read(sampler->config.recorder, RECORDER_ROWS_ACKNOWLEDGED);
}

/* Reads the server, memory and sessions for the current sample. */
static void read_gauges(struct sampler *sampler, struct server_reading *server)
{
    struct sample *const peaks = &sampler->peaks;
    note_sessions(sampler);
    const struct procfs_status own = procfs_read_own(sampler->proc);
    peaks->client_memory_bytes = MAX(peaks->client_memory_bytes, own.resident_bytes);
    /* a reading may use a fixed share of the time since the previous reading, so additional
     * readings between two samples do not raise the total cost */
    const int64_t now_ns = mono_now_ns();
    server_process_read(sampler->server,
                        MIN(now_ns - sampler->last_read_ns, sampler->config.sample_interval_ns),
                        server);
    sampler->last_read_ns = now_ns;
    if (server_process_restarts(sampler->server) != sampler->restarts) {
        sampler->restarts = server_process_restarts(sampler->server);
        io_meter_follow(sampler->io, server_process_pid(sampler->server),
                        server_process_cgroup(sampler->server));
    }
    peaks->server_memory_bytes = MAX(peaks->server_memory_bytes, server->memory_bytes);
    peaks->server_processes = MAX(peaks->server_processes, server->processes);
    peaks->server_threads = MAX(peaks->server_threads, server->threads);
    if (server->cpu_ns >= 0 && !sampler->is_work_done) {
        if (sampler->first_server.cpu_ns < 0) {
            sampler->first_server = *server;
        }
        sampler->last_server = *server;
    }
}

static void read_all(struct sampler *sampler, struct reading *reading)
{
    /* only the head of the file matters; the rest grows with the number of interrupts */
    char text[65536];
    reading->taken_ns = mono_now_ns();
    const ssize_t length =
        sampler->stat_file < 0 ? -1 : pread(sampler->stat_file, text, sizeof text, 0);
    reading->is_host_known = length > 0 && procfs_parse_cpu(text, (size_t)length, &reading->host);
    reading->client_cpu_ns = mono_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    /* I/O is read before memory, because reading memory takes long */
    io_meter_read(sampler->io, reading->is_host_known ? &reading->host : NULL, &reading->io);
    read_gauges(sampler, &reading->server);
    /* an embedded database without files does no I/O of its own */
    const bool has_io = reading->server.has_io &&
                        (!sampler->config.server.is_embedded || sampler->config.directory != NULL);
    io_meter_add_server(sampler->io, has_io ? &reading->server.io : NULL, &reading->io);
    if (!sampler->is_work_done) {
        sampler->work_end = *reading;
    }
}

/* Returns a percentage, or -1 if it is unknown. The percentage is limited to 100, because the two
 * times are from clocks of different precision. */
static double percent_of(double part, double whole)
{
    return whole <= 0 ? -1 : fmin(fmax(100 * part / whole, 0), 100);
}

/* Returns the CPU shares between two readings. The kernel may count the host's time in ticks but
 * the processes' time exactly, so the host's share is raised to the sum of the shares of client and
 * server. If the user named a cgroup, the host's share is raised to the larger of the two shares
 * instead, because this program may be in the cgroup. */
static struct cpu_shares shares_of(const struct sampler *sampler, const struct reading *from,
                                   const struct reading *to)
{
    const bool is_cgroup = sampler->config.server.cgroup != NULL;
    const double cpus = sampler->summary.cpus;
    struct cpu_shares shares = unknown_shares;
    shares.client = percent_of((double)(to->client_cpu_ns - from->client_cpu_ns),
                               (double)(to->taken_ns - from->taken_ns) * cpus);
    if (from->server.cpu_ns >= 0 && to->server.cpu_ns >= 0) {
        shares.server = percent_of((double)(to->server.cpu_ns - from->server.cpu_ns),
                                   (double)(to->server.taken_ns - from->server.taken_ns) * cpus);
    }
    if (!is_cgroup && shares.server + shares.client > 100) {
        shares.server = 100 - shares.client; /* the server is read after the client */
    }
    const double parts = is_cgroup ? fmax(shares.server, shares.client)
                                   : fmax(shares.server, 0) + fmax(shares.client, 0);
    /* total_ticks may fall, because the kernel's count of iowait sometimes falls */
    if (from->is_host_known && to->is_host_known && to->host.total_ticks > from->host.total_ticks) {
        const double busy = (double)to->host.busy_ticks - (double)from->host.busy_ticks;
        const double total = (double)(to->host.total_ticks - from->host.total_ticks);
        shares.host = fmax(percent_of(busy, total), parts);
    }
    return shares;
}

double cpu_others(const struct cpu_shares *shares, bool has_server)
{
    if (shares->host < 0 || shares->client < 0) {
        return -1;
    }
    double server = 0;
    if (has_server) {
        server = shares->server >= 0 ? shares->server : shares->host - shares->client;
    }
    return fmax(shares->host - shares->client - server, 0);
}

/* Samples are treated as equally busy if their host shares differ from the highest host share by
 * less than this many percentage points. Among equally busy samples, the sample with the highest
 * server share is chosen. */
#define SAME_PERCENT 0.5

void cpu_shares_raise(struct cpu_shares *max, struct cpu_shares *at_max,
                      const struct cpu_shares *shares)
{
    if (shares->host > at_max->host + SAME_PERCENT ||
        (shares->host > max->host - SAME_PERCENT &&
         fmax(shares->server, 0) >= fmax(at_max->server, 0))) {
        *at_max = *shares;
    }
    max->host = fmax(max->host, shares->host);
    max->server = fmax(max->server, shares->server);
    max->client = fmax(max->client, shares->client);
}

static void raise_busy(struct resource_summary *summary, const struct io_reading *io)
{
    summary->max_device_busy_percent =
        fmax(summary->max_device_busy_percent, io_figure(io, IO_FIGURE_DEVICE_BUSY_PERCENT));
}

static void add_share(double percent, int64_t ns, double *percent_ns, double *known_ns)
{
    if (percent >= 0) {
        *percent_ns += percent * (double)ns;
        *known_ns += (double)ns;
    }
}

static void add_to_hold(struct hold *hold, const struct sample *sample)
{
    const int64_t ns = sample->end_ns - sample->start_ns;
    const int64_t client_bytes = (int64_t)sample->client_memory_bytes;
    if (hold->is_on && sample->start_ns >= hold->start_ns) {
        add_share(sample->cpu.host, ns, &hold->percent_ns.host, &hold->known_ns.host);
        add_share(sample->cpu.server, ns, &hold->percent_ns.server, &hold->known_ns.server);
        add_share(sample->cpu.client, ns, &hold->percent_ns.client, &hold->known_ns.client);
        hold->server_memory_bytes = MAX(hold->server_memory_bytes, sample->server_memory_bytes);
        hold->client_memory_bytes =
            MAX(hold->client_memory_bytes, client_bytes > 0 ? client_bytes : -1);
    }
}

void sampler_begin_hold(struct sampler *sampler, int64_t start_ns)
{
    if (sampler != NULL) {
        pthread_mutex_lock(&sampler->lock);
        sampler->hold = (struct hold){.is_on = true,
                                      .start_ns = start_ns,
                                      .server_memory_bytes = -1,
                                      .client_memory_bytes = -1};
        pthread_mutex_unlock(&sampler->lock);
    }
}

bool sampler_hold_has_sample(struct sampler *sampler)
{
    if (sampler == NULL) {
        return true;
    }
    pthread_mutex_lock(&sampler->lock);
    /* the client's share is known in every sample, so the time is 0 only without a sample */
    const bool has_sample = sampler->hold.known_ns.client > 0;
    pthread_mutex_unlock(&sampler->lock);
    return has_sample;
}

void sampler_end_hold(struct sampler *sampler, struct level *level)
{
    if (sampler == NULL) {
        return;
    }
    pthread_mutex_lock(&sampler->lock);
    sampler->hold.is_on = false;
    const struct hold hold = sampler->hold;
    pthread_mutex_unlock(&sampler->lock);
    const struct cpu_shares *sum = &hold.percent_ns;
    const struct cpu_shares *known = &hold.known_ns;
    level->cpu.host = known->host > 0 ? sum->host / known->host : -1;
    level->cpu.server = known->server > 0 ? sum->server / known->server : -1;
    level->cpu.client = known->client > 0 ? sum->client / known->client : -1;
    level->server_memory_bytes = hold.server_memory_bytes;
    level->client_memory_bytes = hold.client_memory_bytes;
}

/* Returns how long the machine has slept since boot. CLOCK_BOOTTIME includes this time,
 * CLOCK_MONOTONIC does not. */
static int64_t machine_asleep_ns(void)
{
    const int64_t awake_ns = mono_now_ns();
    return mono_clock_ns(CLOCK_BOOTTIME) - awake_ns;
}

void sampler_summarise(struct sampler *sampler, struct resource_summary *summary)
{
    *summary = sampler->summary;
    if (summary->max_cpu.client < 0) { /* no sample was long enough */
        summary->max_cpu = sampler->short_max;
        summary->cpu_at_max = sampler->short_at_max;
    }
    struct reading from = sampler->work;
    struct reading to = sampler->work_end;
    from.server = sampler->first_server;
    to.server = sampler->last_server;
    summary->mean_cpu = shares_of(sampler, &from, &to);
    io_subtract(&sampler->work.io, &sampler->work_end.io, &summary->io);
    raise_busy(summary, &summary->io);
    io_meter_describe(sampler->io, &summary->io_of);
    const bool has_server =
        !sampler->config.server.is_embedded || sampler->config.directory != NULL;
    if (summary->io.counts[IO_SERVER_READS] < 0 && has_server && summary->io_of.note[0] == '\0') {
        snprintf(summary->io_of.note, sizeof summary->io_of.note,
                 "the reads and writes of the server's processes are unknown: the processes were "
                 "not found, had ended, or belong to another user (run as root)");
    }
    /* in a short run, one sample includes not only the work but also connecting and disconnecting,
     * so the mean during the work may be higher than any sample */
    cpu_shares_raise(&summary->max_cpu, &summary->cpu_at_max, &summary->mean_cpu);
    summary->client_cpu_s =
        (double)(sampler->last.client_cpu_ns - sampler->first.client_cpu_ns) / MONO_NS_PER_S;
    const struct procfs_status own = procfs_read_own(sampler->proc);
    summary->max_client_memory_bytes = MAX(summary->max_client_memory_bytes, own.peak_bytes);
    server_process_describe(sampler->server, summary);
    procfs_describe_bound(summary->cpus, summary->client_bound, sizeof summary->client_bound);
    if (summary->memory_source == MEMORY_SELF && summary->max_client_memory_bytes > 0) {
        summary->max_server_memory_bytes = (int64_t)summary->max_client_memory_bytes;
    }
    const int64_t asleep_ns = machine_asleep_ns() - sampler->asleep_ns;
    summary->suspended_ns += asleep_ns >= SAMPLER_SUSPENDED_NS ? asleep_ns : 0;
}

/* Sleeps until moment_ns or until another thread wakes the thread, but at most for SLEEP_NS. The
 * caller holds the lock. If the process was suspended during the sleep, adds the time of the
 * suspension to suspended_ns.
 *
 * A thread that wakes up late has waited for a CPU or was suspended: stopped by a signal or a
 * debugger, frozen, or in a virtual machine that was paused. The kernel measures the wait for a
 * CPU. The rest of the delay counts as suspension if the process used little CPU time, because a
 * suspended process uses none. */
static void nap(struct sampler *sampler, int64_t moment_ns)
{
    const int64_t longest_ns = mono_now_ns() + SLEEP_NS;
    const int64_t deadline_ns = MIN(moment_ns, longest_ns);
    const struct timespec deadline = mono_timespec(deadline_ns);
    struct procfs_schedstat before;
    struct procfs_schedstat after;
    const bool is_known = procfs_read_thread_file(sampler->schedstat, &before);
    const int64_t process_ns = mono_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    pthread_cond_timedwait(&sampler->wake, &sampler->lock, &deadline);
    const int64_t late_ns = mono_now_ns() - deadline_ns;
    if (late_ns < SAMPLER_SUSPENDED_NS || !is_known ||
        !procfs_read_thread_file(sampler->schedstat, &after)) {
        return;
    }
    const int64_t queued_ns = (int64_t)(after.run_queue_ns - before.run_queue_ns);
    const int64_t ran_ns = mono_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - process_ns;
    const int64_t most_ns = sampler->summary.cpus * (SLEEP_NS + queued_ns) + late_ns / 10;
    if (late_ns - queued_ns >= SAMPLER_SUSPENDED_NS && ran_ns <= most_ns) {
        sampler->summary.suspended_ns += late_ns - queued_ns;
    }
}

/* Returns the next moment that is a multiple of the period after the start of the run. */
static int64_t next_tick(const struct sampler *sampler, int64_t period_ns)
{
    const int64_t start_ns = sampler->config.run_start_ns;
    const int64_t now_ns = mono_now_ns();
    return start_ns + (MAX(now_ns - start_ns, 0) / period_ns + 1) * period_ns;
}

/* Prepares the first turn. Raises the thread's own priority, because thousands of runnable sessions
 * would make readings late and long. Without the privilege, the priority does not change. */
static void begin_turns(struct sampler *sampler)
{
    (void)setpriority(PRIO_PROCESS, 0, SAMPLER_NICE);
    sampler->schedstat = procfs_open_thread();
    sampler->next_interval_ns = next_tick(sampler, INTERVAL_NS);
    sampler->next_sample_ns = next_tick(sampler, sampler->config.sample_interval_ns);
    sampler->has_begun = true;
}

/* Takes the readings for the beginning of the work. If SAMPLER_WORK_DONE is among the events, the
 * work is already over, and the readings from before the work are kept. */
static void begin_work(struct sampler *sampler, unsigned events)
{
    const bool is_over = (events & SAMPLER_WORK_DONE) != 0 && sampler->work_start_ns < 0;
    struct reading now;
    sampler->work_start_ns = mono_now_ns() - sampler->config.run_start_ns;
    sampler->is_work_done = false;
    if (!is_over) {
        sampler->first_server.cpu_ns = -1;
    }
    read_all(sampler, is_over ? &now : &sampler->work);
    sampler->is_work_done = is_over;
}

/* Moves to the next stage that has not ended at now_ns. The last stage ends with the work, so that
 * the stages add up to the run. go_ns is the moment at which the gate opened. */
static void enter_stage(struct sampler *sampler, int64_t go_ns, int64_t now_ns)
{
    const struct ramp *stages = sampler->config.stages;
    do {
        sampler->stage++;
        sampler->stage_end_ns = go_ns + ramp_duration_ns(stages, sampler->stage);
    } while (sampler->stage < stages->count && sampler->stage_end_ns <= now_ns);
    if (sampler->stage == stages->count) {
        sampler->stage_end_ns = INT64_MAX;
    }
}

/* Ends the current stage if its time is over or if the last answer has arrived. Fills turn->stage
 * if a stage has ended. */
static void take_stage(struct sampler *sampler, int64_t go_ns, struct sampler_turn *turn)
{
    const struct ramp *stages = sampler->config.stages;
    const int64_t now_ns = mono_now_ns();
    const int64_t warm_ns = go_ns + sampler->config.warm_up_ns - sampler->config.run_start_ns;
    const bool is_over = turn->is_last || sampler->is_work_done;
    struct interval *stage = &turn->stage;
    turn->has_stage = false;
    if (stages == NULL || stages->count == 0 || go_ns == 0 || sampler->work_start_ns < 0 ||
        sampler->have_stages_ended) {
        return;
    }
    if (sampler->stage == 0) {
        intervals_begin_at(&sampler->stages, go_ns);
        enter_stage(sampler, go_ns, go_ns);
    }
    if (!is_over && now_ns < sampler->stage_end_ns) {
        return;
    }
    turn->has_stage = intervals_take(&sampler->stages, stage);
    stage->is_stage = true;
    stage->stage = sampler->stage;
    stage->target = (uint64_t)stages->stages[sampler->stage - 1].target;
    stage->rows_held = rows_held(sampler);
    /* the counts of a stage do not include the warm-up, so its time must not include the warm-up
     * either */
    stage->start_ns = MAX(stage->start_ns, warm_ns);
    turn->has_stage &= stage->start_ns < stage->end_ns;
    if (is_over && sampler->gauges.stage == sampler->stage) {
        /* the sessions have ended, so the stage gets the gauges of the latest second */
        stage->sessions_alive = sampler->gauges.sessions_alive;
        stage->sessions_working = sampler->gauges.sessions_working;
    }
    if (is_over) {
        sampler->have_stages_ended = true;
    } else {
        enter_stage(sampler, go_ns, now_ns);
    }
}

static void end_work(struct sampler *sampler)
{
    const int64_t before_ns = sampler->work.server.cpu_ns;
    struct reading end;
    read_all(sampler, &end);
    sampler->is_work_done = true;
    if (sampler->work_start_ns >= 0 && before_ns >= 0 && end.server.cpu_ns >= 0) {
        sampler->summary.server_cpu_s = (double)(end.server.cpu_ns - before_ns) / MONO_NS_PER_S;
    }
}

/* Takes the interval before the sample, because an interval takes little time, but a sample of many
 * processes takes long. */
void sampler_wait(struct sampler *sampler, struct sampler_turn *turn)
{
    if (!sampler->has_begun) {
        begin_turns(sampler);
    }
    const int64_t tick_ns = MIN(sampler->next_interval_ns, sampler->next_sample_ns);
    const int64_t moment_ns = MIN(tick_ns, sampler->stage_end_ns);
    pthread_mutex_lock(&sampler->lock);
    while (sampler->events == 0 && mono_now_ns() < moment_ns) {
        nap(sampler, moment_ns);
    }
    const unsigned events = sampler->events;
    const int64_t go_ns = sampler->go_ns;
    sampler->events = 0;
    pthread_mutex_unlock(&sampler->lock);
    const bool is_work_begun = (events & SAMPLER_WORK_BEGUN) != 0;
    /* if the work begins and ends within one turn, begin_work handles both events */
    if ((events & SAMPLER_WORK_DONE) != 0 && !is_work_begun) {
        end_work(sampler);
    }
    turn->is_last = (events & SAMPLER_STOP) != 0;
    turn->has_begun = is_work_begun && !turn->is_last;
    if (turn->has_begun) {
        begin_work(sampler, events);
    }
    take_stage(sampler, go_ns, turn);
    const int64_t now_ns = mono_now_ns();
    const bool is_interval_due = turn->is_last || now_ns >= sampler->next_interval_ns;
    turn->is_sample_due = turn->is_last || now_ns >= sampler->next_sample_ns;
    turn->has_interval = is_interval_due && intervals_take(&sampler->intervals, &turn->interval);
    turn->total = intervals_total(&sampler->intervals);
    turn->work_start_ns = sampler->work_start_ns;
    if (turn->has_interval) {
        note_sessions(sampler);
        turn->interval.stage = sampler->stage;
        if (!turn->is_last && !sampler->is_work_done) {
            sampler->gauges = (struct stage_gauges){sampler->stage, turn->interval.sessions_alive,
                                                    turn->interval.sessions_working};
        }
        turn->interval.rows_held =
            sampler->config.rows_before + turn->total->counters[RECORDER_ROWS_ACKNOWLEDGED];
    }
    if (is_interval_due) {
        sampler->next_interval_ns = next_tick(sampler, INTERVAL_NS);
    }
    /* if a sample is due, it includes the reading that SAMPLER_READ asks for */
    if ((events & SAMPLER_READ) != 0 && !turn->is_sample_due) {
        struct server_reading server;
        read_gauges(sampler, &server);
    }
}

bool sampler_read(struct sampler *sampler, struct sample *taken)
{
    const int64_t start_ns = sampler->config.run_start_ns;
    struct resource_summary *const summary = &sampler->summary;
    struct reading now;
    read_all(sampler, &now);
    sampler->next_sample_ns = next_tick(sampler, sampler->config.sample_interval_ns);
    struct sample sample = sampler->peaks;
    sample.start_ns = MAX(sampler->last.taken_ns - start_ns, 0);
    sample.end_ns = MAX(now.taken_ns - start_ns, 0);
    if (sample.end_ns <= sample.start_ns) {
        return false;
    }
    sample.cpu = shares_of(sampler, &sampler->last, &now);
    io_subtract(&sampler->last.io, &now.io, &sample.io);
    sample.table_bytes = -1;
    sample.rows_held = rows_held(sampler);
    if (sample.end_ns - sample.start_ns < SAMPLER_SHORT_NS) {
        cpu_shares_raise(&sampler->short_max, &sampler->short_at_max, &sample.cpu);
    } else {
        cpu_shares_raise(&summary->max_cpu, &summary->cpu_at_max, &sample.cpu);
        if (sampler->work_start_ns >= 0 && sample.end_ns > sampler->work_start_ns &&
            !sampler->is_work_done) {
            raise_busy(summary, &sample.io);
        }
    }
    summary->max_client_memory_bytes =
        MAX(summary->max_client_memory_bytes, sample.client_memory_bytes);
    summary->max_server_memory_bytes =
        MAX(summary->max_server_memory_bytes, sample.server_memory_bytes);
    summary->max_server_processes = MAX(summary->max_server_processes, sample.server_processes);
    sampler->last = now;
    sampler->peaks = (struct sample){.server_memory_bytes = -1};
    pthread_mutex_lock(&sampler->lock);
    add_to_hold(&sampler->hold, &sample);
    pthread_mutex_unlock(&sampler->lock);
    *taken = sample;
    return true;
}

/* Frees a sampler, even if only some of its members have been initialised. */
static void destroy(struct sampler *sampler)
{
    server_process_destroy(sampler->server);
    io_meter_destroy(sampler->io);
    const int files[] = {sampler->proc, sampler->stat_file, sampler->schedstat};
    for (size_t i = 0; i < 3; i++) {
        if (files[i] >= 0) {
            close(files[i]);
        }
    }
    intervals_fini(&sampler->intervals);
    intervals_fini(&sampler->stages);
    pthread_mutex_destroy(&sampler->lock);
    pthread_cond_destroy(&sampler->wake);
    free(sampler);
}

struct sampler *sampler_start(const struct sampler_config *config, struct error *error)
{
    const char *stat_path = config->stat_path == NULL ? "/proc/stat" : config->stat_path;
    struct sampler *sampler = malloc(sizeof(*sampler));
    if (sampler == NULL) {
        error_set(error, ERROR_MEMORY, ENOMEM, NULL, "out of memory for measuring CPU and memory");
        return NULL;
    }
    *sampler = (struct sampler){
        .config = *config,
        .asleep_ns = machine_asleep_ns(),
        .server = server_process_create(&config->server),
        .proc = procfs_open(),
        .stat_file = open(stat_path, O_RDONLY | O_CLOEXEC),
        .schedstat = -1,
        .work_start_ns = -1,
        .stage_end_ns = INT64_MAX,
        .first_server.cpu_ns = -1,
        .last_server.cpu_ns = -1,
        .peaks.server_memory_bytes = -1,
        .short_max = unknown_shares,
        .short_at_max = unknown_shares,
    };
    if (sampler->config.sample_interval_ns <= 0) {
        sampler->config.sample_interval_ns = SAMPLE_DEFAULT_NS;
    }
    summarise_nothing(&sampler->summary);
    sampler->summary.bare_client_memory_bytes = procfs_read_own(sampler->proc).resident_bytes;
    pthread_mutex_init(&sampler->lock, NULL);
    thread_cond_init(&sampler->wake);
    if (sampler->server != NULL) {
        const struct io_place place = {.directory = config->directory,
                                       .is_working_directory = config->is_working_directory,
                                       .pid = server_process_pid(sampler->server),
                                       .cgroup = server_process_cgroup(sampler->server),
                                       .is_remote = config->server.is_remote,
                                       .is_embedded = config->server.is_embedded};
        sampler->io = io_meter_create(&place);
    }
    if (sampler->io != NULL) {
        read_all(sampler, &sampler->first);
        if (sampler->first.is_host_known) {
            sampler->summary.cpus = sampler->first.host.cpus;
        }
        sampler->work = sampler->work_end = sampler->first;
        sampler->last = sampler->first;
        if (sampler->config.run_start_ns == 0) {
            sampler->config.run_start_ns = mono_now_ns();
        }
        const int64_t start_ns = sampler->config.run_start_ns;
        if (intervals_init(&sampler->intervals, config->recorder, start_ns) &&
            (config->stages == NULL || config->stages->count == 0 ||
             intervals_init(&sampler->stages, config->recorder, start_ns))) {
            return sampler;
        }
    }
    destroy(sampler);
    error_set(error, ERROR_MEMORY, ENOMEM, NULL,
              "append cannot begin to measure CPU and memory: %s", strerror(ENOMEM));
    return NULL;
}

void sampler_begin_work(struct sampler *sampler, int64_t go_ns)
{
    if (sampler != NULL) {
        pthread_mutex_lock(&sampler->lock);
        sampler->go_ns = go_ns;
        pthread_mutex_unlock(&sampler->lock);
        sampler_wake(sampler, SAMPLER_WORK_BEGUN);
    }
}

void sampler_wake(struct sampler *sampler, enum sampler_event event)
{
    if (sampler != NULL) {
        pthread_mutex_lock(&sampler->lock);
        sampler->events |= event;
        pthread_cond_signal(&sampler->wake);
        pthread_mutex_unlock(&sampler->lock);
    }
}

int64_t sampler_run_start_ns(const struct sampler *sampler)
{
    return sampler->config.run_start_ns;
}

void sampler_end(struct sampler *sampler, struct resource_summary *summary)
{
    if (sampler == NULL) {
        summarise_nothing(summary);
        return;
    }
    sampler_summarise(sampler, summary);
    destroy(sampler);
}

const char *const memory_source_names[] = {[MEMORY_UNKNOWN] = "unknown",
                                           [MEMORY_SELF] = "self",
                                           [MEMORY_PSS] = "pss",
                                           [MEMORY_RSS] = "rss",
                                           [MEMORY_CGROUP] = "cgroup"};

const char *const memory_source_texts[] = {
    [MEMORY_UNKNOWN] = "unknown",
    [MEMORY_SELF] = "resident memory of this program, the database included",
    [MEMORY_PSS] = "private memory of the server's processes, shared memory once (PSS)",
    [MEMORY_RSS] = ("private memory of the server's processes plus the largest shared part of any "
                    "process (RSS)"),
    [MEMORY_CGROUP] = "anonymous and shared memory of the server's cgroup",
};
