/*
 * The processes of one server over time: which processes belong to it, and how much CPU time they
 * took together.
 *
 * A walk through /proc, or through a cgroup, shows the processes that run now. The table also keeps
 * the processes of earlier walks. The table opens no file, and only one thread may use it.
 *
 * The total of CPU time counts every process once and never falls. The sum of the kernel's figures
 * can fall: when a process ends, its own time disappears, and its whole time is added to its
 * parent's time of reaped children, possibly in a later walk. So an ended process stays in the
 * total until the reaped time of its parent has grown by the time of the process. If the reaped
 * time does not grow (the parent ignores its children, or has ended), the process stays in the
 * total for good. The kernel rounds reaped time down to whole clock ticks, so the growth may be up
 * to two ticks too small.
 */
#ifndef MEASURE_PROCESS_TABLE_H
#define MEASURE_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/procfs.h"

/* The memory of a process at the latest reading. The table only stores this struct;
 * measure/server_process.c fills and reads it. */
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
    int64_t credit_ns; /* growth of seen.reaped_ns in the last walk, less the part that belongs to
                          known ended processes */
    int64_t old_credit_ns; /* credit_ns of the previous walk */
    struct process_memory memory;
};

struct process_list {
    struct process *entries; /* processes, in ascending order of their pids after a walk; owned */
    size_t count;
    size_t capacity;
};

/* The processes of a server. */
struct process_table {
    /* processes of the server, including processes that the last walk did not find */
    struct process_list known;
    /* processes that the current walk has found; set its count to 0 before the walk */
    struct process_list seen;
    int64_t rounding_ns; /* the largest error from rounding to clock ticks: two ticks */
    int64_t departed_ns; /* CPU time of ended processes that no parent has taken over */
    int64_t total_ns;    /* the highest total of CPU time so far */
    size_t processes;    /* number of processes that the last walk found and that still run */
    uint64_t threads;    /* number of threads of these processes */
};

/* Makes an empty table. */
void process_table_init(struct process_table *table);
void process_table_fini(struct process_table *table);

/* Adds a zeroed entry for a process that the walk has found. Returns NULL when out of memory. */
struct process *process_table_add(struct process_table *table);

/* Ends a walk. Marks these processes as members of the server: the process `root`, all processes
 * that were members before (also orphans), and all descendants of members. Returns false if `root`
 * does not run. */
bool process_table_mark_tree(struct process_table *table, pid_t root, uint64_t root_start);

/* Takes over the members that the walk found into `known`, and updates the total of CPU time and
 * the numbers of processes and threads. Returns false when out of memory. */
bool process_table_update(struct process_table *table);

/* Forgets all processes but keeps their CPU time, after the server has ended. */
void process_table_forget(struct process_table *table);

#endif
