/*
 * The processes of one server over time: who belongs to it, and what CPU time they took together.
 *
 * Pure bookkeeping, fed with what a walk through /proc found; it opens no file. One thread.
 *
 * The total of CPU time counts every process once and never falls. A process that ends is counted
 * twice for a moment, or not at all: its own time disappears with it, and all of it, the part that
 * was counted before included, turns up in its parent's time of reaped children, in a walk that
 * need not be the same one. So an ended process stays in the total until its parent's reaped time
 * has grown by as much; where that does not happen (the parent ignores its children, or is gone),
 * it stays in the total for good. The kernel shows reaped time in whole clock ticks, rounded down:
 * a parent may owe as much as that hides.
 */
#ifndef MEASURE_PROCESS_TABLE_H
#define MEASURE_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A process as a walk saw it. */
struct process_seen {
    pid_t pid;
    pid_t parent;
    uint64_t start_ticks;
    int64_t own_ns;
    int64_t reaped_ns;
    unsigned threads;
    bool is_zombie;
    bool is_member; /* belongs to the server */
};

/* What the latest reading saw of a process's memory; see process_memory.h. */
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
    struct process_seen seen;
    int64_t credit_ns;     /* growth of reaped_ns in the last walk, not yet explained */
    int64_t old_credit_ns; /* the same of the walk before */
    unsigned missing;      /* walks since it was last seen */
    bool is_settled;       /* ended, and its time is counted elsewhere: to be taken out */
    struct process_memory memory;
};

struct process_table {
    struct process *entries; /* owned, ascending by pid; those that are missing too */
    size_t count;
    size_t capacity;
    struct process *spare; /* owned: where the next state is built; same capacity */
    int64_t rounding_ns;   /* what ticks hide of a time made of user and system time */
    int64_t departed_ns;
    int64_t total_ns; /* highest ever */
    size_t processes; /* seen in the last walk, without zombies */
    uint64_t threads; /* of these */
};

void process_table_init(struct process_table *table, int64_t tick_ns);
void process_table_fini(struct process_table *table);

/* Marks in `seen`, ascending by pid, all that belong to the server: the root, whoever was in the
 * table before (an orphan stays), and the children of members. False: the root is not there. */
bool process_table_mark_tree(const struct process_table *table, pid_t root, uint64_t root_start,
                             struct process_seen *seen, size_t count);

/* Takes over the members of a walk, ascending by pid. False: out of memory, nothing changed. */
bool process_table_update(struct process_table *table, const struct process_seen *seen,
                          size_t count);

/* Forgets all processes and keeps their CPU time: the server has ended. */
void process_table_forget(struct process_table *table);

#endif
