/*
 * What memory the processes of a server take together. One thread.
 *
 * The sum of the proportional set sizes (PSS) counts private memory of every process and shared
 * memory once. Reading one takes tens to hundreds of microseconds, as the kernel walks the page
 * tables, so a reading refreshes only as many processes as its time budget allows: the first
 * process of the server, then new ones, picked from all over the table, then the others in turn.
 * For those that were not refreshed the last figure stands: its private part as it was, its shared
 * part scaled by the number of processes, as what n processes share shrinks with 1/n for each.
 * Processes that were never read count as the mean of the new ones that were just read.
 *
 * Where the kernel does not let this user read PSS, the figure is what can be had from resident
 * set sizes: the private part of each plus the largest shared part once. That counts memory which
 * a parent and its children share copy-on-write once for each of them.
 */
#ifndef MEASURE_PROCESS_MEMORY_H
#define MEASURE_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "measure/process_table.h"

struct process_memory_reader {
    int proc;         /* /proc, borrowed */
    uint64_t round;   /* readings so far */
    pid_t cursor;     /* the process read last */
    bool is_rss;      /* PSS cannot be read */
    size_t refreshed; /* processes read in the last reading */
    double new_bytes; /* of those that it read for the first time, without the root */
    size_t new_count;
    int64_t cpu_deadline_ns; /* of the reading under way */
    int64_t wall_deadline_ns;
    /* The smallest share of processes that any reading refreshed, when not all. */
    size_t fewest_refreshed;
    size_t fewest_of;
};

void process_memory_init(struct process_memory_reader *reader, int proc);

/* How long a reading may take. CPU time is what it costs; wall time is bounded too, as a busy
 * machine can let a reading of a few milliseconds take seconds. */
struct process_memory_budget {
    int64_t cpu_ns;
    int64_t wall_ns;
};

/* Memory of all processes of the table in bytes; -1 = unknown. `root`: the server's first process,
 * whose memory is unlike that of the others. */
int64_t process_memory_read(struct process_memory_reader *reader, struct process_table *table,
                            pid_t root, const struct process_memory_budget *budget);

/* CPU time of the calling thread. */
int64_t process_memory_thread_cpu_ns(void);

#endif
