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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "measure/procfs.h"
#include "measure/sampler.h"

struct server_reading {
    int64_t taken_ns;     /* monotonic: when the CPU time was read */
    int64_t cpu_ns;       /* never falls from one reading to the next; negative = unknown */
    int64_t memory_bytes; /* negative = unknown */
    unsigned processes;
    unsigned threads;
};

struct server_process;

/* Looks for the server. The selector's cgroup is borrowed. NULL: out of memory. */
struct server_process *server_process_create(const struct server_selector *selector);
void server_process_destroy(struct server_process *server);

/* Reads the server's CPU time and memory, in 4 % of the time until the next reading: where there
 * are more processes than can be read in that, the memory of some is estimated. A server that has
 * ended is looked for again by its port. */
void server_process_read(struct server_process *server, int64_t interval_ns,
                         struct server_reading *reading);

/* What is known now, into the summary: the server's pid and name, a note on why it was not found or
 * how its figures are limited, and the source of the last reading that had a figure. */
void server_process_describe(const struct server_process *server, struct resource_summary *summary);

/* Finds the process that holds the socket which listens on `port` in this program's network
 * namespace, or, with a path, on that Unix socket (a folder: on the port's socket within it). Of
 * several holders it is the one from which the others descend. False: `note` says why, and what to
 * do. On success too `note` may hold a caution; otherwise it is empty. */
bool server_find(int proc, uint16_t port, const char *path, struct procfs_process *found,
                 char *note, size_t note_bytes);

#endif
