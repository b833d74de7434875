/*
 * The database server as a set of processes: found once through a struct server_selector, then
 * read again and again. One thread at a time. Never fails: what cannot be known is said to be
 * unknown, and server_process_describe says why.
 *
 * Each reading walks all of /proc. The kernel's lists of children (/proc/PID/task/TID/children) are
 * no help: they are an optional part of the kernel, and have to be opened for each thread, which
 * makes them dearer for a server of a thousand threads than the walk.
 */
#ifndef MEASURE_SERVER_PROCESS_H
#define MEASURE_SERVER_PROCESS_H

#include "measure/procfs.h"
#include "measure/sampler.h"

struct server_reading {
    int64_t taken_ns;     /* monotonic: when the CPU time was read */
    int64_t cpu_ns;       /* never falls from one reading to the next; negative = unknown */
    int64_t memory_bytes; /* negative = unknown */
    unsigned processes;
    unsigned threads;
    bool has_io;
    struct procfs_io io; /* of all; no count falls from one reading to the next */
};

struct server_process;

/* Looks for the server. The selector's cgroup is borrowed. NULL: out of memory. */
struct server_process *server_process_create(const struct server_selector *selector);
void server_process_destroy(struct server_process *server);

/* Reads the server's CPU time, I/O (some microseconds a process, on top) and memory, in 4 % of the
 * time until the next reading: where there are more processes than can be read in that, the memory
 * of some is estimated. A server that has ended is looked for again by its port, or by the name of
 * its cgroup: a container that is started again has the same one. */
void server_process_read(struct server_process *server, int64_t interval_ns,
                         struct server_reading *reading);

/* A process of the first server that was found; 0: none. The folder of the cgroup that the user
 * named, which stays this struct's; -1: none. Both change with the number of restarts. */
pid_t server_process_pid(const struct server_process *server);
int server_process_cgroup(const struct server_process *server);
unsigned server_process_restarts(const struct server_process *server);

/* Tells each process of the server as it is now, of one that listens again after a restart, too;
 * a root is one that the others descend from. Reads no memory: for a thread that has a
 * server_process of its own. */
void server_process_walk(struct server_process *server,
                         void (*tell)(void *context, pid_t pid, bool is_root), void *context);

/* Whether a process that a walk reported still runs, and the kernel has not begun to end it. */
bool server_process_runs(const struct server_process *server, pid_t pid);

/* What is known now, into the summary: the server's pid and name, a note on why it was not found or
 * how its figures are limited, and the source of the last reading that had a figure. */
void server_process_describe(const struct server_process *server, struct resource_summary *summary);

/* Finds the process that holds the socket which listens on `port` in this program's network
 * namespace, or, with a path, on that Unix socket (a folder: on the port's socket within it). Of
 * several holders it is the one from which the others descend. False: `note` says why, and what to
 * do. On success too `note` may hold a caution; otherwise it is empty. */
bool server_find(int proc, uint16_t port, const char *path, struct procfs_process *found,
                 char *note, size_t note_bytes);

/* Whether `pid` is the process `holder`, one of its ancestors but init, or one of its descendants.
 */
bool server_is_related(int proc, pid_t pid, pid_t holder);

/*
 * The processes of one server over time: who belongs to it, and what CPU time they took together.
 *
 * A walk through /proc, or a cgroup, says what runs now; the table keeps who was there, and opens
 * no file. One thread.
 *
 * The total of CPU time counts every process once and never falls. A process that ends is counted
 * twice for a moment, or not at all: its own time disappears with it, and all of it, the part that
 * was counted before included, turns up in its parent's time of reaped children, in a walk that
 * need not be the same one. So an ended process stays in the total until its parent's reaped time
 * has grown by as much; where that does not happen (the parent ignores its children, or is gone),
 * it stays in the total for good. The kernel shows reaped time in whole clock ticks, rounded down:
 * a parent may owe as much as that hides.
 */

/* What the latest reading saw of a process's memory; see server_process.c. */
struct process_memory {
    uint64_t first_round;    /* reading that saw the process first; 0 = none */
    uint64_t resident_round; /* reading that filled the next two; 0 = none */
    uint64_t resident_anon_bytes;
    uint64_t resident_shared_bytes; /* with a file or shared memory behind it */
    uint64_t pss_round;             /* reading that filled the next two; 0 = none */
    uint64_t pss_anon_bytes;
    uint64_t pss_shared_bytes;
};

struct process {
    struct procfs_process seen; /* as the latest walk that met it saw it */
    bool is_member;             /* belongs to the server */
    bool is_settled;            /* ended, and its time is counted elsewhere: to be taken out */
    unsigned missing;           /* walks since it was last seen */
    int64_t credit_ns;          /* growth of seen.reaped_ns in the last walk, not yet explained */
    int64_t old_credit_ns;      /* the same of the walk before */
    struct process_memory memory;
};

struct process_list {
    struct process *entries; /* owned; ascending by pid when a walk is over */
    size_t count;
    size_t capacity;
};

/* All 0 at first, but for the rounding. */
struct process_table {
    struct process_list known; /* members, those that are missing too */
    struct process_list seen;  /* what the walk under way has met: set its count to 0 before it */
    int64_t rounding_ns;       /* what ticks hide of a user and a system time: two */
    int64_t departed_ns;
    int64_t total_ns; /* highest ever */
    size_t processes; /* members of the last walk that have not ended */
    uint64_t threads; /* of these */
};

void process_table_fini(struct process_table *table);

/* A zeroed entry for a process that the walk has met. NULL: out of memory. */
struct process *process_table_see(struct process_table *table);

/* The walk is over: marks all that belong to the server: the root, whoever was in the table before
 * (an orphan stays), and the children of members. False: the root is not there. */
bool process_table_mark_tree(struct process_table *table, pid_t root, uint64_t root_start);

/* Takes over the members of the walk. False: out of memory, nothing changed. */
bool process_table_update(struct process_table *table);

/* Forgets all processes and keeps their CPU time: the server has ended. */
void process_table_forget(struct process_table *table);

#endif
