/*
 * CPU and memory of the host, the server and this program: readings, the samples between them,
 * and the maxima of a run. One thread at a time.
 */
#ifndef MEASURE_RESOURCES_H
#define MEASURE_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "measure/procfs.h"
#include "measure/recorder.h"
#include "measure/sampler.h"
#include "measure/server_process.h"

/* Cumulative figures at a moment. */
struct resource_reading {
    int64_t taken_ns;
    bool is_host_known;
    struct procfs_cpu host;
    int64_t client_cpu_ns;
    struct server_reading server;
};

/* Highest gauges since the current sample began. */
struct resource_peaks {
    uint64_t sessions_alive;
    int64_t server_memory_bytes;
    unsigned server_processes;
    unsigned server_threads;
    uint64_t client_memory_bytes;
};

/* Shares of all CPUs in one interval, in percent; negative = unknown. */
struct cpu_shares {
    double host;
    double server;
    double client;
};

/* Highest shares of a group of samples. */
struct resource_maxima {
    struct cpu_shares highest; /* of the sample with the highest share of the host */
    double server;
    double client;
};

struct resources {
    struct recorder *recorder; /* borrowed: for the sessions alive */
    int64_t run_start_ns;
    int64_t sample_interval_ns;
    int64_t last_read_ns;          /* when the server was read last; 0 = never */
    struct server_process *server; /* owned */
    bool is_cgroup;                /* the server is whatever runs in a cgroup */
    int proc;                      /* owned, as the next */
    int stat_file; /* /proc/stat, kept open: sessions may have taken all descriptors meanwhile */
    unsigned cpus;
    struct resource_reading first;
    struct resource_reading work;       /* when the sessions began to work; first before that */
    struct resource_reading last;       /* where the current sample began */
    struct server_reading first_server; /* first (of the work) and last with a known CPU time */
    struct server_reading last_server;
    struct resource_peaks peaks;
    struct resource_maxima maxima;       /* of samples that are long enough */
    struct resource_maxima short_maxima; /* of the others */
    bool has_long_sample;
    int64_t max_server_memory_bytes;
    uint64_t max_client_memory_bytes;
    unsigned max_server_processes;
};

/* Finds the server and takes the first reading. False: out of memory. */
bool resources_init(struct resources *resources, const struct sampler_config *config,
                    int64_t sample_interval_ns);
void resources_fini(struct resources *resources);

/* The sessions begin to work: reads all, and takes the means of the summary from here on. */
void resources_begin_work(struct resources *resources);

/* Reads memory and sessions only, for the current sample. */
void resources_read_gauges(struct resources *resources);

/* Folds the sessions alive into the current sample. */
void resources_note_sessions(struct resources *resources);

/* Ends the current sample now and begins the next. False: no time has passed. */
bool resources_take_sample(struct resources *resources, struct sample *sample);

void resources_summarise(const struct resources *resources, struct resource_summary *summary);

/* The summary of a run that was not measured. */
void resources_summarise_nothing(struct resource_summary *summary);

#endif
