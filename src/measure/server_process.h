/*
 * The database server as a set of processes, which are found through a struct server_selector and
 * then read repeatedly. Only one thread at a time may use a struct server_process. The functions
 * never fail: unknown values are marked as unknown, and server_process_describe explains why.
 *
 * Each reading walks all of /proc. The kernel's lists of children (/proc/PID/task/TID/children) are
 * not used, because they are an optional part of the kernel and have one file for each thread. If
 * the server has a thousand threads, opening all these files costs more than the walk.
 */
#ifndef MEASURE_SERVER_PROCESS_H
#define MEASURE_SERVER_PROCESS_H

#include "measure/procfs.h"
#include "measure/sampler.h"

struct server_reading {
    int64_t taken_ns;     /* monotonic moment at which the CPU time was read */
    int64_t cpu_ns;       /* CPU time of the server; never lower than before; negative = unknown */
    int64_t memory_bytes; /* memory of the server; negative = unknown */
    unsigned processes;
    unsigned threads;
    bool has_io;
    struct procfs_io io; /* I/O of all processes; no count is ever lower than before */
};

struct server_process;

/* Looks for the server. The texts of the selector are borrowed. Returns NULL when out of memory. */
struct server_process *server_process_create(const struct server_selector *selector);

/* Does the same as server_process_create, but reads the processes of `proc`, an open folder like
 * /proc. server_process_destroy closes the folder. If server_process_create_at returns NULL, the
 * folder stays open. */
struct server_process *server_process_create_at(int proc, const struct server_selector *selector);
void server_process_destroy(struct server_process *server);

/* Reads the server's CPU time, I/O and memory. interval_ns is the time between two readings. Tries
 * to use at most 4 % of this time, plus some microseconds for the I/O of each process. If this is
 * too little to read the memory of all processes, the memory of some processes is estimated. If the
 * server has ended, looks for a restarted server: at the same port or socket, or in a cgroup with
 * the same name. */
void server_process_read(struct server_process *server, int64_t interval_ns,
                         struct server_reading *reading);

/* server_process_pid returns the pid of a process of the first server that was found, or 0 if no
 * server was found. server_process_cgroup returns a descriptor of the folder of the cgroup that the
 * user named, or -1 if the user named no cgroup; `server` owns the descriptor.
 * server_process_restarts returns the number of restarts of the server. The pid and the descriptor
 * change with each restart. */
pid_t server_process_pid(const struct server_process *server);
int server_process_cgroup(const struct server_process *server);
unsigned server_process_restarts(const struct server_process *server);

/* Calls `report` for each process of the server that runs now. Also finds a restarted server.
 * is_root is true for a process from which the others descend. Does not read memory. A thread that
 * calls this function needs its own struct server_process. */
void server_process_walk(struct server_process *server,
                         void (*report)(void *context, pid_t pid, bool is_root), void *context);

/* Returns whether the process `pid`, which server_process_walk has reported, still runs. A process
 * that has begun to end does not count as running. */
bool server_process_runs(const struct server_process *server, pid_t pid);

/* Fills the server's part of the summary: pid and name, a note on why the server was not found or
 * how its figures are limited, and the source of the last memory figure. */
void server_process_describe(const struct server_process *server, struct resource_summary *summary);

#endif
