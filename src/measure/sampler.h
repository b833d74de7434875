/*
 * Measures the run: takes a sample of CPU and memory every sample interval, and a snapshot of the
 * recorder every second.
 *
 * The sampler finds the server's processes through struct server_process, and reads /proc. The
 * caller's measuring thread waits in sampler_wait until an interval or a sample is due. Then the
 * thread takes the interval or the sample, and passes it on. The sampler keeps the maxima.
 *
 * CPU is the share of all CPUs of this host over an interval (all CPUs busy = 100 %). The server's
 * share is the CPU time of its process tree, including reaped children. The client's share is the
 * CPU time of this process. A kernel that counts the host's CPU time in ticks misses some of this
 * time, so a host's share that is lower than the sum of the other two shares is raised to this sum.
 * Samples shorter than SAMPLER_SHORT_NS do not set a maximum, unless all samples are that short. No
 * maximum is below the mean.
 *
 * The server's CPU time during the work is the difference of two readings: one when the gate opens
 * (sessions may then begin to work), and one after the last answer. Each reading is some
 * milliseconds late. The difference includes all processes that run at the second reading. It
 * includes a process that ended between the readings if its parent waited for it or if the cgroup
 * counts it. It does not include a process that no reading saw and for which no parent in the tree
 * waited.
 *
 * I/O is read with every sample, and also when the gate opens and after the last answer: see io.h.
 *
 * Memory is the memory of the server: see enum memory_source. It is read with every sample, and
 * also when the gate opens and when the first session has finished, so that a run shorter than an
 * interval also has a reading with all sessions. Each of these readings belongs to the sample
 * during which it was taken.
 */
#ifndef MEASURE_SAMPLER_H
#define MEASURE_SAMPLER_H

#include <pthread.h>
#include <sys/types.h>

#include "append/error.h"
#include "base/ramp.h"
#include "measure/io.h"
#include "measure/recorder.h"

#define SAMPLER_SHORT_NS INT64_C(500000000)

/* The shortest time that counts as a suspension of this program: a time in which the program should
 * have run, did not run, and did not wait for a CPU. */
#define SAMPLER_SUSPENDED_NS INT64_C(1000000000)

/* The source of the figure for the server's memory. */
enum memory_source {
    MEMORY_UNKNOWN, /* no server process was found on this machine */
    MEMORY_SELF,    /* the database is embedded: RSS of this program */
    MEMORY_PSS,     /* PSS of the server's processes, which counts shared memory only once */
    MEMORY_RSS, /* if PSS cannot be read: private parts of all RSS plus the largest shared part */
    MEMORY_CGROUP, /* anonymous and shared memory of the server's cgroup */
};

/* The place where a server listens on this machine. */
struct server_place {
    uint16_t port;      /* TCP port of the server; 0 = unknown */
    const char *socket; /* Unix socket of the server, or its folder; NULL = TCP */
};

/* The ways to find the server. If all members are zero, this program does not look for the
 * server. */
struct server_selector {
    bool is_embedded;
    bool is_remote;     /* the server is on another machine: do not look for it */
    uint16_t port;      /* listening TCP port on this machine; 0 = unknown */
    const char *socket; /* Unix socket on which the server listens, or its folder; NULL = TCP */
    const struct server_place *places; /* several servers on this machine, used instead of port and
                                          socket; borrowed; NULL = one server */
    size_t place_count;
    pid_t pid;          /* pid that the user gave; 0 = not given */
    const char *cgroup; /* folder below /sys/fs/cgroup that the user gave; NULL = not given */
};

/* Percent of all CPUs; negative = unknown. */
struct cpu_shares {
    double host;
    double server;
    double client;
};

/* Returns the CPU share of all programs except the server and this program; negative = unknown. If
 * the server is on this machine (has_server) but its share is unknown, all CPU time that this
 * program did not use counts as CPU time of the server. */
double cpu_others(const struct cpu_shares *shares, bool has_server);

/* Raises each share in *max to the share in *shares if the share in *shares is higher. Sets *at_max
 * to *shares if the host share in *shares is more than half a point above that in *at_max, or if it
 * is at most half a point below the highest so far and the server share is not below that in
 * *at_max. */
void cpu_shares_raise(struct cpu_shares *max, struct cpu_shares *at_max,
                      const struct cpu_shares *shares);

/* One row of samples.csv. Times are since the start of the run. */
struct sample {
    int64_t start_ns;
    int64_t end_ns;
    uint64_t sessions_alive;
    struct cpu_shares cpu;
    int64_t server_memory_bytes; /* highest reading of the interval; negative = unknown */
    unsigned server_processes;   /* number of processes, without their threads */
    unsigned server_threads;
    uint64_t client_memory_bytes; /* RSS of this program */
    struct io_reading io;         /* growth of the counts in the interval */
    int64_t table_bytes; /* size of the run's tables on disk at end_ns; set by the caller; negative
                            = unknown */
    /* number of rows at end_ns: rows from before the run plus acknowledged rows */
    uint64_t rows_held;
};

struct sampler_config {
    int64_t sample_interval_ns;
    /* monotonic start of the run; 0: the run starts with the first readings */
    int64_t run_start_ns;
    struct server_selector server;
    struct recorder *recorder; /* recorder of the run; borrowed */
    const char *directory;     /* data directory, as in struct io_place; borrowed */
    /* the data directory is the working directory of the server's process */
    bool is_working_directory;
    uint64_t rows_before;      /* number of rows in the run's tables before the run */
    const struct ramp *stages; /* stages of the run; the first stage begins with the work; borrowed;
                                  NULL or an empty ramp: the run has no stages */
    int64_t warm_up_ns;        /* length of the warm-up, which the figures do not include */
    const char *stat_path;     /* path of the file to read; NULL = /proc/stat */
};

/* The maxima and means of a run, and how they were obtained. */
struct resource_summary {
    struct cpu_shares max_cpu;        /* the highest shares; they may be from different intervals */
    struct cpu_shares cpu_at_max;     /* shares in the interval of max_cpu.host */
    struct cpu_shares mean_cpu;       /* mean from the gate's opening to the last answer */
    int64_t max_server_memory_bytes;  /* highest memory of the server; negative = unknown */
    uint64_t max_client_memory_bytes; /* the highest RSS of this program */
    uint64_t bare_client_memory_bytes; /* the RSS before the first session; 0 = unknown */
    double client_cpu_s;               /* CPU time of this program in the run, user + system */
    /* CPU time of the server, user + system, from the opening of the gate to the last answer; in a
     * run with several ranks, the sum for the servers on all machines; negative = unknown */
    double server_cpu_s;
    unsigned hosts_measured; /* number of the target's hosts that server_cpu_s includes */
    int64_t suspended_ns;    /* time for which this program was stopped, frozen, asleep or paused */
    enum memory_source memory_source;
    unsigned max_server_processes;
    unsigned servers;      /* number of process trees in the figures; 0 = unknown */
    pid_t server_pid;      /* pid of the root of the tree, or of the first tree; 0 = unknown */
    char server_name[32];  /* command name of server_pid */
    char server_note[320]; /* reason why the server was not found or figures are limited; or "" */
    unsigned cpus;
    char client_bound[80]; /* reason why this program cannot use all CPUs although other programs
                              can: "append may use 1 of 2 CPUs"; "" = no reason is known */
    struct io_reading io;  /* growth of the I/O counts from the gate's opening to the last answer */
    double max_device_busy_percent; /* highest busy share of the device in a sample; negative =
                                       unknown */
    struct io_description io_of;
};

struct level;
struct sampler;

/* Finds the server and takes the first readings. The caller then starts the measuring thread.
 * Returns NULL with *error set on failure. */
struct sampler *sampler_start(const struct sampler_config *config, struct error *error);

/* Returns the monotonic start of the run: the configured start or, without a configured start, the
 * moment of the first readings. */
int64_t sampler_run_start_ns(const struct sampler *sampler);

/* Reasons to wake the measuring thread. */
enum sampler_event {
    SAMPLER_STOP = 1,       /* the measuring thread must take its last turn */
    SAMPLER_WORK_BEGUN = 2, /* the gate has opened: means are taken from here on */
    SAMPLER_WORK_DONE = 4,  /* the last answer has arrived, or the work was stopped */
    SAMPLER_READ = 8, /* the measuring thread must read memory soon, without taking a sample */
};

/* Wakes the measuring thread. Any thread may call this function. `sampler` may be NULL. */
void sampler_wake(struct sampler *sampler, enum sampler_event event);

/* Wakes the measuring thread with SAMPLER_WORK_BEGUN. The stages of the run begin at go_ns, the
 * monotonic moment at which the gate opens. `sampler` may be NULL. */
void sampler_begin_work(struct sampler *sampler, int64_t go_ns);

/* What the measuring thread has to do in one turn, after one call of sampler_wait. */
struct sampler_turn {
    bool has_begun;        /* the gate has opened since the previous turn */
    bool has_interval;     /* `interval` is filled */
    bool is_sample_due;    /* the caller must call sampler_read */
    bool is_last;          /* this is the last turn, after SAMPLER_STOP */
    int64_t work_start_ns; /* time from the start of the run until the gate opened; -1 = not yet */
    struct interval interval;              /* the interval that has just ended, if has_interval */
    bool has_stage;                        /* `stage` is filled */
    struct interval stage;                 /* the stage that has just ended, if has_stage */
    const struct recorder_snapshot *total; /* state after the latest interval; owned by the
                                              sampler */
};

/* Only the measuring thread calls these functions, in a loop until the last turn. sampler_wait
 * sleeps until an interval, a sample or the end of a stage is due, or until another thread calls
 * sampler_wake. sampler_read takes the sample of the turn, and returns false if no time has passed
 * since the previous sample. */
void sampler_wait(struct sampler *sampler, struct sampler_turn *turn);
bool sampler_read(struct sampler *sampler, struct sample *sample);

/* Fills *summary with the figures so far. Only the measuring thread may call this function. */
void sampler_summarise(struct sampler *sampler, struct resource_summary *summary);

/* Fills *summary and frees the sampler, after the measuring thread has ended. If the sampler is
 * NULL, all figures in *summary are unknown. */
void sampler_end(struct sampler *sampler, struct resource_summary *summary);

/* The names of memory sources for CSV and JSON ("pss", "cgroup", ...), and their descriptions for
 * the report. */
extern const char *const memory_source_names[];
extern const char *const memory_source_texts[];

/* A hold is the time in which a search keeps the load constant and measures. These functions
 * measure CPU and memory during one hold, from the samples that lie wholly within the hold. Any
 * thread may call them; `sampler` may be NULL. sampler_begin_hold begins a hold at start_ns, a time
 * since the start of the run. sampler_hold_has_sample returns whether the hold has a sample; if
 * `sampler` is NULL, it returns true, so that no caller waits for a sample. sampler_end_hold ends
 * the hold and puts the figures into *level. */
void sampler_begin_hold(struct sampler *sampler, int64_t start_ns);
bool sampler_hold_has_sample(struct sampler *sampler);
void sampler_end_hold(struct sampler *sampler, struct level *level);

#endif
