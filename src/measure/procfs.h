/*
 * Parsers for what Linux says in /proc and in cgroup folders: text in, struct out.
 *
 * They open no file, allocate nothing and keep no state. `text` need not be terminated; nothing at
 * or behind text + length is read. Each returns false, with *out in any state, when the text is
 * malformed, lacks a value that is asked for, or ends in the middle of a line: a half-read file
 * must never become a figure.
 */
#ifndef MEASURE_PROCFS_H
#define MEASURE_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    PROCFS_NAME_BYTES = 32
};

/* /proc/stat: time of all CPUs since boot, in clock ticks. Only the lines of the CPUs, which come
 * first, need to be there. */
struct procfs_cpu {
    uint64_t busy_ticks;  /* neither idle nor waiting for I/O; steal counts as busy */
    uint64_t total_ticks; /* guests are part of user time already, and not added again */
    uint64_t steal_ticks; /* of busy: taken by the hypervisor */
    unsigned cpus;        /* online */
};
bool procfs_parse_cpu(const char *text, size_t length, struct procfs_cpu *out);

/* /proc/PID/stat. Times in clock ticks. */
struct procfs_process {
    pid_t pid;
    pid_t parent;
    char name[PROCFS_NAME_BYTES]; /* cut if longer */
    char state;                   /* 'R', 'S', 'Z' = ended but not waited for, ... */
    unsigned threads;
    uint64_t own_ticks;    /* user + system, of all threads */
    uint64_t reaped_ticks; /* user + system of the children that were waited for */
    uint64_t start_ticks;  /* since boot; with the pid it names a process for good */
};
bool procfs_parse_process(const char *text, size_t length, struct procfs_process *out);

/* /proc/PID/smaps_rollup. Huge pages of hugetlbfs are part of neither Rss nor Pss. */
struct procfs_rollup {
    uint64_t pss_bytes;
    uint64_t pss_anon_bytes; /* of pss_bytes: memory without a file behind it */
    bool has_pss_anon;       /* kernels before 5.3 do not say */
    uint64_t private_huge_bytes;
    uint64_t shared_huge_bytes;
};
bool procfs_parse_rollup(const char *text, size_t length, struct procfs_rollup *out);

/* /proc/PID/statm, in pages. */
struct procfs_statm {
    uint64_t resident_pages;
    uint64_t shared_pages; /* of resident: file-backed and shared memory */
};
bool procfs_parse_statm(const char *text, size_t length, struct procfs_statm *out);

/* /proc/PID/schedstat or /proc/PID/task/TID/schedstat. */
struct procfs_schedstat {
    uint64_t on_cpu_ns;
    uint64_t run_queue_ns; /* runnable, but waiting for a CPU */
    uint64_t slices;
};
bool procfs_parse_schedstat(const char *text, size_t length, struct procfs_schedstat *out);

/* /proc/PID/status: the most memory that was ever resident. */
bool procfs_parse_peak(const char *text, size_t length, uint64_t *peak_bytes);

enum {
    PROCFS_INODES_MAX = 64
};

/* Sockets that were found; further ones are left out. */
struct procfs_inodes {
    size_t count;
    uint64_t inodes[PROCFS_INODES_MAX];
};

/* /proc/net/tcp or /proc/net/tcp6: adds the inodes of the sockets that listen on `port`. */
bool procfs_parse_listeners(const char *text, size_t length, uint16_t port,
                            struct procfs_inodes *found);

/* /proc/net/unix: inodes of the sockets that listen on `path`; where that is a folder, on a name in
 * it that ends in ".PORT". Otherwise as above. */
bool procfs_parse_unix_listeners(const char *text, size_t length, const char *path, uint16_t port,
                                 struct procfs_inodes *found);

/* memory.stat of a cgroup, version 2 (anon, shmem) or 1 (total_rss, total_shmem), with the cgroups
 * below it: anonymous and shared memory, without the page cache of files. */
bool procfs_parse_cgroup_memory(const char *text, size_t length, uint64_t *bytes);

/* cpu.stat of a cgroup of version 2: CPU time since it was made. */
bool procfs_parse_cgroup_cpu(const char *text, size_t length, uint64_t *usage_us);

/* One line of cgroup.procs: moves *offset behind it. False at the end or when it is no pid. */
bool procfs_next_pid(const char *text, size_t length, size_t *offset, pid_t *pid);

/* /proc/PID/cgroup. Paths point into the text; NULL and 0 when there is no such line. */
struct procfs_cgroup {
    const char *unified; /* version 2 */
    size_t unified_length;
    const char *memory; /* memory controller of version 1 */
    size_t memory_length;
};
bool procfs_parse_cgroup(const char *text, size_t length, struct procfs_cgroup *out);

#endif
