#include "measure/resources.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/mono.h"
#include "measure/intervals.h"
#include "measure/proc_file.h"

static const struct resource_maxima unknown_maxima = {{-1, -1, -1}, -1, -1};
static const struct resource_peaks no_peaks = {.server_memory_bytes = -1};

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
static bool read_host(const struct resources *resources, struct procfs_cpu *host)
{
    char text[65536];
    if (resources->stat_file < 0) {
        return false;
    }
    const ssize_t length = pread(resources->stat_file, text, sizeof(text), 0);
    return length > 0 && procfs_parse_cpu(text, (size_t)length, host);
}

static void raise_to(uint64_t *highest, uint64_t value)
{
    if (value > *highest) {
        *highest = value;
    }
}

void resources_note_sessions(struct resources *resources)
{
    /* Closed first: a session that ends in between must not make the difference negative. */
    const uint64_t closed = recorder_read(resources->recorder, RECORDER_CONNECTIONS_CLOSED);
    const uint64_t opened = recorder_read(resources->recorder, RECORDER_CONNECTIONS_OPENED);
    raise_to(&resources->peaks.sessions_alive, intervals_sessions_alive(opened, closed));
}

static void read_gauges(struct resources *resources, struct server_reading *server)
{
    struct resource_peaks *const peaks = &resources->peaks;
    resources_note_sessions(resources);
    raise_to(&peaks->client_memory_bytes, proc_file_own_rss_bytes(resources->proc));
    /* readings between samples share the interval's budget with those */
    const int64_t now_ns = mono_now_ns();
    const int64_t since_ns = now_ns - resources->last_read_ns;
    server_process_read(resources->server,
                        since_ns < resources->sample_interval_ns ? since_ns
                                                                 : resources->sample_interval_ns,
                        server);
    resources->last_read_ns = now_ns;
    if (server->memory_bytes > peaks->server_memory_bytes) {
        peaks->server_memory_bytes = server->memory_bytes;
    }
    if (server->processes > peaks->server_processes) {
        peaks->server_processes = server->processes;
    }
    if (server->threads > peaks->server_threads) {
        peaks->server_threads = server->threads;
    }
    if (server->cpu_ns >= 0) {
        if (resources->first_server.cpu_ns < 0) {
            resources->first_server = *server;
        }
        resources->last_server = *server;
    }
}

void resources_read_gauges(struct resources *resources)
{
    struct server_reading server;
    read_gauges(resources, &server);
}

static void read_all(struct resources *resources, struct resource_reading *reading)
{
    reading->taken_ns = mono_now_ns();
    reading->is_host_known = read_host(resources, &reading->host);
    reading->client_cpu_ns = own_cpu_ns();
    read_gauges(resources, &reading->server);
}

void resources_begin_work(struct resources *resources)
{
    resources->first_server.cpu_ns = -1;
    read_all(resources, &resources->work);
}

bool resources_init(struct resources *resources, const struct sampler_config *config,
                    int64_t sample_interval_ns)
{
    *resources = (struct resources){
        .recorder = config->recorder,
        .run_start_ns = config->run_start_ns,
        .sample_interval_ns = sample_interval_ns,
        .is_cgroup = config->server.cgroup != NULL,
        .proc = proc_file_open_root(),
        .stat_file = open("/proc/stat", O_RDONLY | O_CLOEXEC),
        .first_server = {.cpu_ns = -1},
        .last_server = {.cpu_ns = -1},
        .peaks = no_peaks,
        .maxima = unknown_maxima,
        .short_maxima = unknown_maxima,
        .max_server_memory_bytes = -1,
    };
    resources->server = server_process_create(&config->server);
    if (resources->server == NULL) {
        resources_fini(resources);
        return false;
    }
    read_all(resources, &resources->first);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    resources->cpus = resources->first.is_host_known ? resources->first.host.cpus
                                                     : (unsigned)(online > 0 ? online : 1);
    resources->work = resources->first;
    resources->last = resources->first;
    return true;
}

void resources_fini(struct resources *resources)
{
    server_process_destroy(resources->server);
    resources->server = NULL;
    if (resources->proc >= 0) {
        close(resources->proc);
    }
    if (resources->stat_file >= 0) {
        close(resources->stat_file);
    }
    resources->proc = -1;
    resources->stat_file = -1;
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

static double host_percent(const struct resource_reading *from, const struct resource_reading *to)
{
    /* The kernel lets the count of iowait fall at times, and with it the sum. */
    if (!from->is_host_known || !to->is_host_known ||
        to->host.total_ticks <= from->host.total_ticks) {
        return -1;
    }
    const double busy = (double)to->host.busy_ticks - (double)from->host.busy_ticks;
    return percent_of(busy, (double)(to->host.total_ticks - from->host.total_ticks));
}

static double client_percent(const struct resources *resources, const struct resource_reading *from,
                             const struct resource_reading *to)
{
    return percent_of((double)(to->client_cpu_ns - from->client_cpu_ns),
                      (double)(to->taken_ns - from->taken_ns) * resources->cpus);
}

static double server_percent(const struct resources *resources, const struct server_reading *from,
                             const struct server_reading *to)
{
    if (from->cpu_ns < 0 || to->cpu_ns < 0) {
        return -1;
    }
    return percent_of((double)(to->cpu_ns - from->cpu_ns),
                      (double)(to->taken_ns - from->taken_ns) * resources->cpus);
}

/* The kernel may count the host's time in ticks, and that of processes exactly: the whole is no
 * less than its parts. A cgroup that the user named may have append in it. */
static struct cpu_shares shares_of(const struct resources *resources,
                                   const struct resource_reading *from,
                                   const struct resource_reading *to,
                                   const struct server_reading *server_from,
                                   const struct server_reading *server_to)
{
    struct cpu_shares shares = {
        .host = host_percent(from, to),
        .server = server_percent(resources, server_from, server_to),
        .client = client_percent(resources, from, to),
    };
    if (!resources->is_cgroup && shares.server + shares.client > 100) {
        shares.server = 100 - shares.client; /* read a moment later, one process after the other */
    }
    const double parts = resources->is_cgroup ? fmax(shares.server, shares.client)
                                              : fmax(shares.server, 0) + fmax(shares.client, 0);
    if (shares.host >= 0) {
        shares.host = fmax(shares.host, parts);
    }
    return shares;
}

static void raise_maxima(struct resource_maxima *maxima, const struct cpu_shares *shares)
{
    if (shares->host > maxima->highest.host) {
        maxima->highest = *shares;
    }
    maxima->server = fmax(maxima->server, shares->server);
    maxima->client = fmax(maxima->client, shares->client);
}

static void note_maxima(struct resources *resources, const struct sample *sample)
{
    const bool is_short = sample->end_ns - sample->start_ns < SAMPLER_SHORT_NS;
    const struct cpu_shares shares = {sample->host_cpu_percent, sample->server_cpu_percent,
                                      sample->client_cpu_percent};
    raise_maxima(is_short ? &resources->short_maxima : &resources->maxima, &shares);
    resources->has_long_sample |= !is_short;
    raise_to(&resources->max_client_memory_bytes, sample->client_memory_bytes);
    if (sample->server_memory_bytes > resources->max_server_memory_bytes) {
        resources->max_server_memory_bytes = sample->server_memory_bytes;
    }
    if (sample->server_processes > resources->max_server_processes) {
        resources->max_server_processes = sample->server_processes;
    }
}

static int64_t since_start(const struct resources *resources, int64_t moment_ns)
{
    return moment_ns > resources->run_start_ns ? moment_ns - resources->run_start_ns : 0;
}

bool resources_take_sample(struct resources *resources, struct sample *sample)
{
    struct resource_reading now;
    read_all(resources, &now);
    const struct resource_reading *const from = &resources->last;
    const int64_t start_ns = since_start(resources, from->taken_ns);
    const int64_t end_ns = since_start(resources, now.taken_ns);
    if (end_ns <= start_ns) {
        return false;
    }
    const struct cpu_shares shares = shares_of(resources, from, &now, &from->server, &now.server);
    *sample = (struct sample){
        .start_ns = start_ns,
        .end_ns = end_ns,
        .sessions_alive = resources->peaks.sessions_alive,
        .host_cpu_percent = shares.host,
        .server_cpu_percent = shares.server,
        .client_cpu_percent = shares.client,
        .server_memory_bytes = resources->peaks.server_memory_bytes,
        .server_processes = resources->peaks.server_processes,
        .server_threads = resources->peaks.server_threads,
        .client_memory_bytes = resources->peaks.client_memory_bytes,
    };
    note_maxima(resources, sample);
    resources->last = now;
    resources->peaks = no_peaks;
    return true;
}

void resources_summarise_nothing(struct resource_summary *summary)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
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
        .memory_source = MEMORY_UNKNOWN,
        .cpus = (unsigned)(online > 0 ? online : 1),
    };
}

void resources_summarise(const struct resources *resources, struct resource_summary *summary)
{
    struct resource_maxima maxima =
        resources->has_long_sample ? resources->maxima : resources->short_maxima;
    const struct resource_reading *const first = &resources->first;
    const struct resource_reading *const last = &resources->last;
    const struct cpu_shares mean = shares_of(resources, &resources->work, last,
                                             &resources->first_server, &resources->last_server);
    /* The work of a short run is all in one sample, diluted by connecting and leaving. */
    raise_maxima(&maxima, &mean);
    const uint64_t peak_bytes = proc_file_own_peak_bytes(resources->proc);
    struct server_description server;
    server_process_describe(resources->server, &server);
    *summary = (struct resource_summary){
        .max_host_cpu_percent = maxima.highest.host,
        .max_server_cpu_percent = maxima.server,
        .max_client_cpu_percent = maxima.client,
        .server_cpu_percent_at_max = maxima.highest.server,
        .client_cpu_percent_at_max = maxima.highest.client,
        .mean_host_cpu_percent = mean.host,
        .mean_server_cpu_percent = mean.server,
        .mean_client_cpu_percent = mean.client,
        .max_server_memory_bytes = resources->max_server_memory_bytes,
        .max_client_memory_bytes = peak_bytes > resources->max_client_memory_bytes
                                       ? peak_bytes
                                       : resources->max_client_memory_bytes,
        .client_cpu_s = (double)(last->client_cpu_ns - first->client_cpu_ns) / MONO_NS_PER_S,
        .memory_source = server.source,
        .max_server_processes = resources->max_server_processes,
        .server_pid = server.pid,
        .cpus = resources->cpus,
    };
    if (server.source == MEMORY_SELF && summary->max_client_memory_bytes > 0) {
        summary->max_server_memory_bytes = (int64_t)summary->max_client_memory_bytes;
    }
    memcpy(summary->server_name, server.name, sizeof(summary->server_name));
    memcpy(summary->server_note, server.note, sizeof(summary->server_note));
}
