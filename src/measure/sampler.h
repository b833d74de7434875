/*
 * Measuring: a sample of CPU and memory every sample interval, a snapshot of the recorder every
 * second.
 *
 * The sampler finds the server's processes through struct server_process, and reads /proc. A thread
 * of the caller, the measuring thread, waits in sampler_wait until something is due, takes each
 * finished interval and sample, and does with them what it likes. Maxima are kept here.
 *
 * CPU is the share of all CPUs of this host over an interval (all CPUs busy = 100 %). The server's
 * share is the CPU time of its process tree, reaped children included; the client's is this
 * process's. The host's is at least the sum of both: kernels that account by ticks miss some of it.
 * Intervals shorter than SAMPLER_SHORT_NS do not set a maximum, unless the whole run is shorter
 * than that. No maximum is below the mean.
 *
 * The server's CPU time of the work is the difference of two readings, at the gate and after the
 * last answer, each of them some milliseconds late. It has all processes that were there at the
 * second one, and those that ended in between as far as a parent waited for them or its cgroup
 * counts; not those that ended unseen while no parent of the tree did.
 *
 * I/O is read with every sample, when the gate opens and after the last answer: see io.h.
 *
 * Memory is the server's: see enum memory_source. It is also read when the gate opens and when the
 * first session has finished, so that a run shorter than an interval still shows the sessions; such
 * a reading counts for the sample in which it falls.
 */
#ifndef MEASURE_SAMPLER_H
#define MEASURE_SAMPLER_H

#include <pthread.h>
#include <sys/types.h>

#include "append/error.h"
#include "measure/io.h"
#include "measure/recorder.h"

#define SAMPLER_SHORT_NS INT64_C(500000000)

/* This program stood still when it was not let run for so long, though it had not to wait for a
 * CPU. */
#define SAMPLER_SUSPENDED_NS INT64_C(1000000000)

/* Where the figure for the server's memory comes from. */
enum memory_source {
    MEMORY_UNKNOWN, /* no server process on this machine was found */
    MEMORY_SELF,    /* embedded database: RSS of this program */
    MEMORY_PSS,     /* of the server's processes: private memory of each, shared memory once */
    MEMORY_RSS,     /* PSS not readable: private part of every RSS plus the largest shared part */
    MEMORY_CGROUP,  /* anonymous and shared memory of the server's cgroup */
};

/* Where a server listens on this machine. */
struct server_place {
    uint16_t port;      /* TCP; 0 = not known */
    const char *socket; /* Unix socket, or its folder; NULL = TCP */
};

/* How the server is to be found. All zero and empty: not at all. */
struct server_selector {
    bool is_embedded;
    bool is_remote;     /* the host is another machine: do not look */
    uint16_t port;      /* listening TCP port on this machine; 0 = not known */
    const char *socket; /* Unix socket on which it listens, or its folder; NULL = TCP */
    const struct server_place *places; /* of several servers here, in place of the two above;
                                          borrowed; NULL = one */
    size_t place_count;
    pid_t pid;          /* given by the user; 0 = none */
    const char *cgroup; /* given by the user, a folder below /sys/fs/cgroup; NULL = none */
};

/* Percent of all CPUs; negative = unknown. */
struct cpu_shares {
    double host;
    double server;
    double client;
};

/* What programs other than the server and this one had; negative = not known. A server that is on
 * this machine and cannot be seen has had all that is left. */
double cpu_others(const struct cpu_shares *shares, bool has_server);

/* Raises each of *max to that of `shares`; *at_max are the shares of the highest host's. */
void cpu_shares_raise(struct cpu_shares *max, struct cpu_shares *at_max,
                      const struct cpu_shares *shares);

/* One row of samples.csv. Times are since the start of the run. */
struct sample {
    int64_t start_ns;
    int64_t end_ns;
    uint64_t sessions_alive;
    struct cpu_shares cpu;
    int64_t server_memory_bytes; /* highest reading of the interval; negative = unknown */
    unsigned server_processes;   /* processes (threads count as part of theirs) */
    unsigned server_threads;
    uint64_t client_memory_bytes; /* RSS of this program */
    struct io_reading io;         /* growth in the interval */
    int64_t table_bytes; /* of the run's tables on disk at its end, as the caller knows; negative =
                            unknown */
    uint64_t rows_held;  /* likewise: those before the run, and what was acknowledged */
};

struct sampler_config {
    int64_t sample_interval_ns;
    int64_t run_start_ns; /* monotonic; 0 = when the first readings are taken */
    struct server_selector server;
    struct recorder *recorder; /* borrowed */
    const char *directory;     /* as in struct io_place, with the next; borrowed */
    bool is_where_it_works;    /* where the server's files are */
    uint64_t rows_before;      /* in the run's tables */
    const char *stat_path;     /* NULL = /proc/stat */
};

/* Highest figures and what they rest on. */
struct resource_summary {
    struct cpu_shares max_cpu;        /* each of its own interval */
    struct cpu_shares cpu_at_max;     /* in the interval of max_cpu.host */
    struct cpu_shares mean_cpu;       /* while the sessions worked: gate opened -> end of the run */
    int64_t max_server_memory_bytes;  /* negative = unknown */
    uint64_t max_client_memory_bytes; /* most RSS that this program ever had */
    uint64_t bare_client_memory_bytes; /* RSS that it had before its first session; 0 = unknown */
    double client_cpu_s;               /* user + system, over the run */
    double server_cpu_s;  /* likewise, from the gate to the last answer; negative = not known */
    int64_t suspended_ns; /* in which this program was stopped, frozen, asleep or paused */
    enum memory_source memory_source;
    unsigned max_server_processes;
    unsigned servers;      /* process trees that the figures are the sum of; 0 = not known */
    pid_t server_pid;      /* root of the tree, of several the first; 0 = unknown */
    char server_name[32];  /* its command name */
    char server_note[320]; /* why it was not found, or how the figure is limited; may be empty */
    unsigned cpus;
    char client_bound[80]; /* what keeps this program alone from the CPUs: "append may use 1 of 2
                              CPUs"; "" = nothing that is known */
    struct io_reading io;  /* growth from the gate to the last answer */
    double max_device_busy_percent; /* of a sample; negative = unknown */
    struct io_description io_of;
};

struct level;
struct sampler;

/* Finds the server and takes the first readings. The caller starts a thread that measures. NULL:
 * *error says why. */
struct sampler *sampler_start(const struct sampler_config *config, struct error *error);

/* When the run starts, monotonic: as configured, or when sampler_start had taken its readings. */
int64_t sampler_run_start_ns(const struct sampler *sampler);

/* What the sampler is woken for. */
enum sampler_event {
    SAMPLER_STOP = 1,       /* the measuring thread is to take its last turn */
    SAMPLER_WORK_BEGUN = 2, /* the gate has opened: from here on the means are taken */
    SAMPLER_WORK_DONE = 4,  /* the last answer has come, or the work was stopped */
    SAMPLER_READ = 8,       /* memory is to be read soon, as with the others */
};

/* Any thread; takes NULL. */
void sampler_wake(struct sampler *sampler, enum sampler_event event);

/* What is due in a turn of the measuring thread. */
struct sampler_turn {
    bool has_begun;           /* the gate has opened since the turn before */
    bool has_interval;        /* `interval` has ended */
    bool is_sample_due;       /* to be taken by sampler_read */
    bool is_last;             /* after SAMPLER_STOP */
    int64_t work_start_ns;    /* since the start of the run: when the gate opened; -1 = not yet */
    struct interval interval; /* ended now */
    const struct recorder_snapshot *total; /* when the latest interval ended; the sampler's */
};

/* The measuring thread alone, in a loop that ends after the last turn. sampler_wait sleeps until
 * something is due, or until sampler_wake. sampler_read takes the sample of the turn; false: no
 * time has passed since the one before. */
void sampler_wait(struct sampler *sampler, struct sampler_turn *turn);
bool sampler_read(struct sampler *sampler, struct sample *sample);

/* After the measuring thread has ended: fills *summary and frees the sampler. Takes NULL (then
 * *summary says unknown). */
void sampler_end(struct sampler *sampler, struct resource_summary *summary);

/* "pss", "cgroup", ... for CSV and JSON; and in words for the report. */
extern const char *const memory_source_names[];
extern const char *const memory_source_texts[];

/* CPU and memory of one hold of a search: the samples that fall into it as a whole. Any thread;
 * take NULL. `start_ns` is as in struct sample. Then whether there is such a sample, or none will
 * come. Then the figures are put into *level; what no sample told stays. */
void sampler_begin_hold(struct sampler *sampler, int64_t start_ns);
bool sampler_has_held(struct sampler *sampler);
void sampler_end_hold(struct sampler *sampler, struct level *level);

#endif
