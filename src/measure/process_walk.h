/* What runs now: one walk through /proc, or a list of pids, into an array. One thread. */
#ifndef MEASURE_PROCESS_WALK_H
#define MEASURE_PROCESS_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/process_table.h"

struct process_walk {
    int64_t tick_ns;
    int proc;     /* /proc, borrowed */
    void *folder; /* DIR, kept open so that a walk needs no descriptor that might be lacking */
    struct process_seen *seen; /* owned, ascending by pid */
    size_t count;
    size_t capacity;
};

/* False: errno. */
bool process_walk_init(struct process_walk *walk, int proc, int64_t tick_ns);
void process_walk_fini(struct process_walk *walk);

/* All processes but this program, none of them marked as member. False: the walk could not be
 * finished, errno says why, and nothing can be said about who is there. */
bool process_walk_all(struct process_walk *walk);

/* Replaces the CPU time of members, which so far is of whole clock ticks, by the scheduler's own
 * figure. With a process for each session the ticks would hide most of a short run: a thousand
 * sessions of 9 ms each are nothing in ticks of 10 ms. */
void process_walk_refine(struct process_walk *walk);

/* Starts an empty list, to be filled by process_walk_add and ended by process_walk_sort. */
void process_walk_clear(struct process_walk *walk);

/* Adds one process as a member, unless it has ended. False: errno. */
bool process_walk_add(struct process_walk *walk, pid_t pid);
void process_walk_sort(struct process_walk *walk);

#endif
