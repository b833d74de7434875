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
#ifndef MEASURE_PROCESS_MEMORY_H
#define MEASURE_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "measure/process_table.h"

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

/* How long a reading may take. CPU time is what it costs; wall time is bounded too, as a busy
 * machine can let a reading of a few milliseconds take seconds. */
struct process_memory_budget {
    int64_t cpu_ns;
    int64_t wall_ns;
};

/* Memory of all processes of the table in bytes; -1 = unknown. */
int64_t process_memory_read(struct process_memory_reader *reader, struct process_table *table,
                            const struct process_memory_budget *budget);

/* CPU time of the calling thread. */
int64_t process_memory_thread_cpu_ns(void);

#endif
