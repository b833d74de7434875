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
#ifndef MEASURE_PROCESS_TREE_H
#define MEASURE_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "measure/procfs.h"

/* What the latest reading saw of a process's memory; see process_memory_read. */
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

struct process_table {
    struct process_list known; /* members, those that are missing too */
    struct process_list seen;  /* what the walk under way has met: set its count to 0 before it */
    int64_t rounding_ns;       /* what ticks hide of a time made of user and system time */
    int64_t departed_ns;
    int64_t total_ns; /* highest ever */
    size_t processes; /* members of the last walk that have not ended */
    uint64_t threads; /* of these */
};

void process_table_init(struct process_table *table, int64_t tick_ns);
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

/*
 * What memory the processes of a server take together. One thread.
 *
 * The sum of the proportional set sizes (PSS) counts private memory of every process and shared
 * memory once. Reading one takes tens of microseconds to milliseconds, as the kernel walks the page
 * tables, so a reading takes the PSS of only as many processes as its time budget allows, from all
 * over the table, different ones each time.
 *
 * For the rest it is estimated from their resident memory, which is cheap to read. Let A and S be
 * the resident anonymous and shared memory of a process, a and s what PSS counts of them. Over the
 * processes that were read the ratios are
 *     ra = sum(a) / sum(A)     rs = sum(s) / sum(S)
 * and a process that was not read counts as ra A + rs S. The ratios are taken apart for processes
 * that were there at the first reading (the server's own, unlike the others) and those that came
 * later (the sessions, much alike). This is the separate ratio estimator of stratified survey
 * sampling (W. Cochran, Sampling Techniques, ch. 6): its error is that of the ratios, which hardly
 * differ within a group, not that of the sizes, which do. It is exact when all are read. Pages of
 * hugetlbfs, which are no part of PSS, are not scaled: when not all are read, the most that one
 * process maps stands for them.
 *
 * Where the kernel does not let this user read PSS, the figure is what can be had from resident
 * set sizes: the private part of each plus the largest shared part once. That counts memory which
 * a parent and its children share copy-on-write once for each of them.
 */
struct process_memory_reader {
    int proc;                    /* /proc, borrowed */
    uint64_t round;              /* readings so far */
    size_t cursors[2];           /* of each group: index behind the process read last */
    bool is_rss;                 /* PSS cannot be read */
    size_t refreshed;            /* processes whose PSS was read in the last reading */
    uint64_t private_huge_bytes; /* of these: pages of hugetlbfs that one alone maps, summed */
    uint64_t shared_huge_bytes;  /* the largest that one of these shares */
    uint64_t most_huge_bytes;    /* the most that one of these maps in all */
    int64_t cpu_deadline_ns;     /* of the reading under way */
    int64_t wall_deadline_ns;
    /* The smallest share of processes that any reading took the PSS of, when not all. */
    size_t fewest_refreshed;
    size_t fewest_of;
};

void process_memory_init(struct process_memory_reader *reader, int proc);

/* Memory of all processes of the table in bytes; -1 = unknown. CPU time is what a reading costs;
 * wall time is bounded too, as a busy machine can let a reading of a few milliseconds take seconds.
 */
int64_t process_memory_read(struct process_memory_reader *reader, struct process_table *table,
                            int64_t cpu_ns, int64_t wall_ns);

#endif
