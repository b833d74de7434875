/*
 * The database server as a set of processes: found once through a struct server_selector, then read
 * repeatedly. One thread at a time. Never fails: unknown values are marked as unknown, and
 * server_process_describe explains why.
 *
 * Each reading walks all of /proc. The kernel's lists of children (/proc/PID/task/TID/children) do
 * not help: they are an optional part of the kernel, and must be opened for each thread, which
 * costs more than the walk for a server of a thousand threads.
 */
#ifndef MEASURE_SERVER_PROCESS_H
#define MEASURE_SERVER_PROCESS_H

#include "measure/procfs.h"
#include "measure/sampler.h"

struct server_reading {
    int64_t taken_ns; /* monotonic moment at which the CPU time was read */
    int64_t cpu_ns;   /* CPU time of the server; never falls between readings; negative = unknown */
    int64_t memory_bytes; /* memory of the server; negative = unknown */
    unsigned processes;
    unsigned threads;
    bool has_io;
    struct procfs_io io; /* I/O of all processes; no count falls between readings */
};

struct server_process;

/* Looks for the server. The selector's cgroup is borrowed. Returns NULL when out of memory. */
struct server_process *server_process_create(const struct server_selector *selector);

/* As server_process_create, but reads the processes of `proc`, an open folder like /proc, which
 * server_process_destroy closes. If it returns NULL, the folder stays open. */
struct server_process *server_process_create_at(int proc, const struct server_selector *selector);
void server_process_destroy(struct server_process *server);

/* Reads the server's CPU time, I/O and memory. Takes at most 4 % of the time until the next
 * reading, plus some microseconds a process for I/O; if there are more processes than can be read
 * in that time, the memory of some is estimated. Looks again for a server that has ended: by its
 * port, or by the name of its cgroup, which a restarted container keeps. */
void server_process_read(struct server_process *server, int64_t interval_ns,
                         struct server_reading *reading);

/* server_process_pid returns a process of the first server that was found, or 0 if none was found.
 * server_process_cgroup returns a descriptor of the folder of the cgroup that the user named, owned
 * by `server`, or -1 without a cgroup. server_process_restarts returns the number of restarts. The
 * pid and the descriptor change with each restart. */
pid_t server_process_pid(const struct server_process *server);
int server_process_cgroup(const struct server_process *server);
unsigned server_process_restarts(const struct server_process *server);

/* Calls `report` for each process of the server that runs now, even after a restart. A root is a
 * process from which the others descend. Does not read memory. A thread that walks has its own
 * struct server_process. */
void server_process_walk(struct server_process *server,
                         void (*report)(void *context, pid_t pid, bool is_root), void *context);

/* Returns whether a process that a walk reported still runs and is not being ended by the kernel.
 */
bool server_process_runs(const struct server_process *server, pid_t pid);

/* Fills the server's part of the summary: pid and name, a note on why the server was not found or
 * how its figures are limited, and the source of the last memory figure. */
void server_process_describe(const struct server_process *server, struct resource_summary *summary);

/* Finds the process that listens on `port` in this program's network namespace or, if `path` is not
 * NULL, on that Unix socket (for a folder: on the port's socket in it). If several processes hold
 * the socket, *found is the process from which the others descend. Returns false if no process was
 * found; `note` then says why, and what to do. On success `note` is empty or has a warning. */
bool server_find(int proc, uint16_t port, const char *path, struct procfs_process *found,
                 char *note, size_t note_bytes);

/* Returns whether `pid` is `holder`, an ancestor of `holder` other than init, or a descendant of
 * `holder`. */
bool server_is_related(int proc, pid_t pid, pid_t holder);

/*
 * The processes of one server over time: which processes belong to it, and how much CPU time they
 * took together.
 *
 * A walk through /proc, or through a cgroup, shows the processes that run now. The table keeps
 * earlier processes, and opens no file. For one thread only.
 *
 * The total of CPU time counts every process once and never falls. Around the end of a process the
 * kernel's figures count it twice or not at all: its own time disappears with it, and all of that
 * time, including the part that was already counted, turns up in its parent's time of reaped
 * children, possibly in another walk. So an ended process stays in the total until its parent's
 * reaped time has grown by as much. If that does not happen (the parent ignores its children, or
 * has ended), the process stays in the total for good. The kernel shows reaped time in whole clock
 * ticks, rounded down, so the growth may be short by up to two ticks.
 */

/* The memory of a process at the latest reading; see server_process.c. */
struct process_memory {
    uint64_t first_round; /* number of the reading that saw the process first; 0 = not seen yet */
    /* number of the reading that set the resident_ members; 0 = not set yet */
    uint64_t resident_round;
    uint64_t resident_anon_bytes;
    uint64_t resident_shared_bytes; /* part of the resident memory: file-backed and shared memory,
                                       in bytes */
    uint64_t pss_round; /* number of the reading that set the pss_ members; 0 = not set yet */
    uint64_t pss_anon_bytes;
    uint64_t pss_shared_bytes;
};

struct process {
    struct procfs_process seen; /* the process as the latest walk found it */
    bool is_member;             /* the process belongs to the server */
    bool is_accounted;          /* the process has ended; its CPU time is in a parent's time or in
                                   departed_ns */
    unsigned missing;           /* number of walks since the process was last seen */
    int64_t credit_ns;          /* growth of seen.reaped_ns in the last walk, less the time of ended
                                   children */
    int64_t old_credit_ns;      /* credit_ns of the previous walk */
    struct process_memory memory;
};

struct process_list {
    struct process *entries; /* processes, in ascending order of their pids after a walk; owned */
    size_t count;
    size_t capacity;
};

/* The processes of a server. All members are 0 at first, except rounding_ns. */
struct process_table {
    /* members of the server, including members that the last walk did not find */
    struct process_list known;
    /* processes that the current walk has found; set its count to 0 before the walk */
    struct process_list seen;
    int64_t rounding_ns; /* the most that rounding to ticks hides: two ticks */
    int64_t departed_ns; /* CPU time of ended processes that no parent has taken over */
    int64_t total_ns;    /* the highest total of CPU time so far */
    size_t processes;    /* number of members of the last walk that have not ended */
    uint64_t threads;    /* number of threads of the members of the last walk that have not ended */
};

void process_table_fini(struct process_table *table);

/* Adds a zeroed entry for a process that the walk has found. Returns NULL when out of memory. */
struct process *process_table_add(struct process_table *table);

/* Ends a walk: marks as members the root, all processes that were members before (so orphans stay),
 * and the children of members. Returns false if the root does not run. */
bool process_table_mark_tree(struct process_table *table, pid_t root, uint64_t root_start);

/* Takes over the members of the walk. Returns false when out of memory. */
bool process_table_update(struct process_table *table);

/* Forgets all processes but keeps their CPU time, after the server has ended. */
void process_table_forget(struct process_table *table);

#endif
