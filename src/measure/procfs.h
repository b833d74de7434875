/*
 * Reads and parses the files of /proc and of cgroups. Keeps no state.
 *
 * Parsers (procfs_parse_...) take text and fill a struct; they open no file and allocate nothing.
 * `text` need not be terminated; nothing at or after text + length is read. A parser returns false
 * and leaves *out undefined if the text is malformed, lacks a required value, or ends in the middle
 * of a line, because a figure from an incomplete file could be wrong.
 */
#ifndef MEASURE_PROCFS_H
#define MEASURE_PROCFS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

enum {
    PROCFS_NAME_BYTES = 32,
    PROCFS_PATH_BYTES = 512, /* path of a cgroup or its mount point; longer paths are refused */
    CGROUP_PATH_BYTES = 2 * PROCFS_PATH_BYTES,
    PROCFS_INODES_MAX = 64,
};

/* /proc/stat: time of all CPUs since boot. The text may end after the lines of the CPUs, which come
 * first. */
struct procfs_cpu {
    uint64_t busy_ticks;   /* clock ticks of CPUs that were neither idle nor waiting for I/O; steal
                              counts as busy */
    uint64_t iowait_ticks; /* clock ticks in which a CPU was idle and a thread that had run on this
                              CPU waited for I/O */
    uint64_t total_ticks;  /* all clock ticks; user time already includes the time of guests */
    unsigned cpus;         /* number of CPUs that are online */
};
bool procfs_parse_cpu(const char *text, size_t length, struct procfs_cpu *out);

/* /proc/PID/stat. */
struct procfs_process {
    pid_t pid;
    pid_t parent;
    char name[PROCFS_NAME_BYTES]; /* name of the program, cut if longer */
    bool is_zombie; /* the first thread has ended; other threads may still run and hold the
                       process's files and ports */
    bool has_ended; /* is_zombie, or the kernel is ending the first thread */
    unsigned threads;
    int64_t own_ns;       /* CPU time, user + system, of all threads, in whole clock ticks */
    int64_t reaped_ns;    /* CPU time, user + system, of reaped children, in whole clock ticks */
    uint64_t start_ticks; /* start of the process, in clock ticks since boot; pid and start together
                             identify a process */
};
bool procfs_parse_process(const char *text, size_t length, struct procfs_process *out);

/* /proc/PID/smaps_rollup. Rss and Pss do not include huge pages of hugetlbfs. */
struct procfs_rollup {
    uint64_t pss_bytes;
    uint64_t pss_anon_bytes; /* part of pss_bytes: anonymous memory */
    bool has_pss_anon;       /* the kernel reports pss_anon_bytes; false on kernels before 5.3 */
    uint64_t private_huge_bytes;
    uint64_t shared_huge_bytes;
};
bool procfs_parse_rollup(const char *text, size_t length, struct procfs_rollup *out);

/* /proc/PID/statm. */
struct procfs_statm {
    uint64_t resident_pages;
    uint64_t shared_pages; /* part of resident_pages: file-backed and shared memory */
};
bool procfs_parse_statm(const char *text, size_t length, struct procfs_statm *out);

/* /proc/PID/schedstat or /proc/PID/task/TID/schedstat: the times of one thread. */
struct procfs_schedstat {
    uint64_t on_cpu_ns;
    uint64_t run_queue_ns; /* time for which the thread was runnable but waited for a CPU */
};
bool procfs_parse_schedstat(const char *text, size_t length, struct procfs_schedstat *out);

/* /proc/PID/status. */
struct procfs_status {
    uint64_t uid; /* the real user, whose tasks RLIMIT_NPROC counts */
    uint64_t threads;
    uint64_t capabilities; /* effective capabilities, one bit each */
    uint64_t size_bytes;   /* size of the address space; this and the next two members are 0 for a
                              kernel thread */
    uint64_t resident_bytes;
    uint64_t peak_bytes; /* the highest resident_bytes so far */
};
bool procfs_parse_status(const char *text, size_t length, struct procfs_status *out);

/* /proc/PID/limits. UINT64_MAX = unlimited. */
struct procfs_rlimits {
    struct procfs_rlimit {
        uint64_t soft;
        uint64_t hard;
    } tasks, files, address_space; /* RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_AS */
};
bool procfs_parse_rlimits(const char *text, size_t length, struct procfs_rlimits *out);

/* /proc/PID/uid_map: sets *is_initial to whether the process is in the initial user namespace. */
bool procfs_parse_uid_map(const char *text, size_t length, bool *is_initial);

/* /proc/loadavg: the number of tasks of all users. */
bool procfs_parse_tasks(const char *text, size_t length, uint64_t *tasks);

/* /proc/meminfo, in bytes. */
struct procfs_memory {
    uint64_t total;
    uint64_t available;
    uint64_t commit_limit;
    uint64_t committed;
};
bool procfs_parse_memory(const char *text, size_t length, struct procfs_memory *out);

/* Parses a file of one number, such as pids.max, memory.max and most files of /proc/sys. "max" is
 * UINT64_MAX. */
bool procfs_parse_number(const char *text, size_t length, uint64_t *value);

/* /proc/PID/io: reads and writes of a process, of its threads that have ended, and of its reaped
 * children. */
enum procfs_io_count {
    PROCFS_IO_READ_BYTES, /* bytes read by read() and similar calls, from files, page cache, pipes
                             and sockets */
    PROCFS_IO_WRITTEN_BYTES,
    PROCFS_IO_READS, /* number of system calls that read */
    PROCFS_IO_WRITES,
    PROCFS_IO_STORAGE_READ_BYTES,    /* bytes fetched from storage */
    PROCFS_IO_STORAGE_WRITTEN_BYTES, /* bytes that the process caused to be written to storage; see
                                        io.h */
    PROCFS_IO_COUNTS,
};
struct procfs_io {
    uint64_t counts[PROCFS_IO_COUNTS];
};
bool procfs_parse_io(const char *text, size_t length, struct procfs_io *out);

/* /proc/diskstats: the counts of one device since boot. Older kernels do not count flushes. */
struct procfs_disk {
    uint64_t reads;
    uint64_t read_sectors; /* sectors of 512 bytes, even if the device has larger sectors */
    uint64_t read_ms;      /* durations of the reads, added up */
    uint64_t writes;
    uint64_t written_sectors;
    uint64_t write_ms;
    uint64_t busy_ms;   /* time with at least one request in flight */
    uint64_t queued_ms; /* time in flight, added up over the requests */
    uint64_t flushes;
    uint64_t flush_ms;
    bool has_flushes;
};
bool procfs_parse_disk(const char *text, size_t length, unsigned major, unsigned minor,
                       struct procfs_disk *out);

/* /proc/pressure/...: the time since boot in which at least one task waited, in microseconds. */
bool procfs_parse_pressure(const char *text, size_t length, uint64_t *some_us);

/* io.stat of a cgroup of version 2, or blkio.throttle.io_service_bytes_recursive of version 1: adds
 * the bytes read from and written to one device. Returns false if the device has no line. */
bool procfs_parse_cgroup_io(const char *text, size_t length, unsigned major, unsigned minor,
                            uint64_t *read_bytes, uint64_t *written_bytes);

/* /proc/PID/mountinfo: copies the source of a mount's file system ("/dev/sda1"). For an overlay,
 * copies the folder to which the overlay writes. */
bool procfs_parse_source(const char *text, size_t length, uint64_t mount,
                         char path[PROCFS_PATH_BYTES]);

/* Lines of "name number": sets *value to the number of the first line with that name. */
bool procfs_parse_named(const char *text, size_t length, const char *name, uint64_t *value);

/* /proc/net/netstat, which has a line of names and a line of values for each group: sets *value to
 * the value of `name`. */
bool procfs_parse_netstat(const char *text, size_t length, const char *name, uint64_t *value);

/* Counts the lines of a text. Returns false if the last line is incomplete. */
bool procfs_count_lines(const char *text, size_t length, uint64_t *lines);

/* A list of inodes of sockets. When the list is full, further inodes are ignored. */
struct procfs_inodes {
    size_t count;
    uint64_t inodes[PROCFS_INODES_MAX];
};

/* /proc/net/tcp or /proc/net/tcp6: adds the inodes of sockets that listen on `port`. */
bool procfs_parse_listeners(const char *text, size_t length, uint16_t port,
                            struct procfs_inodes *found);

/* /proc/net/unix: adds the inodes of sockets that listen on `path` or, if `path` is a folder, on a
 * file in this folder whose name ends in ".PORT". */
bool procfs_parse_unix_listeners(const char *text, size_t length, const char *path, uint16_t port,
                                 struct procfs_inodes *found);

/* A set of ports. */
struct procfs_ports {
    uint8_t bits[65536 / 8];
};
bool procfs_ports_hold(const struct procfs_ports *ports, uint16_t port);

/* The range of local ports in ip_local_port_range. */
struct procfs_port_range {
    uint16_t low;
    uint16_t high; /* the last port of the range; not below `low` */
};
bool procfs_parse_port_range(const char *text, size_t length, struct procfs_port_range *out);

/* ip_local_reserved_ports ("8080,9000-9010", or empty): adds the ports. */
bool procfs_parse_reserved(const char *text, size_t length, struct procfs_ports *ports);

/* A destination of connections. It decides which existing sockets make a local port unusable for a
 * new connection. */
struct procfs_destination {
    uint16_t port;
    uint32_t address;    /* IPv4 address, as in /proc/net/tcp; 0 = any address */
    bool is_wait_reused; /* a connection in TIME_WAIT blocks its local port only for the first
                            second */
};

/* /proc/net/tcp or /proc/net/tcp6: adds to *ports the local ports of listening sockets, and of
 * connections whose remote end is *destination. Sets *waiting to the number of added ports that are
 * in TIME_WAIT. */
bool procfs_parse_sockets(const char *text, size_t length,
                          const struct procfs_destination *destination, struct procfs_ports *ports,
                          uint64_t *waiting);

/* memory.stat of a cgroup, version 2 or 1. Child cgroups are included. procfs_parse_cgroup_memory
 * reads the anonymous and shared memory, without the page cache of files; procfs_parse_cgroup_cache
 * reads the page cache that can be dropped. */
bool procfs_parse_cgroup_memory(const char *text, size_t length, uint64_t *bytes);
bool procfs_parse_cgroup_cache(const char *text, size_t length, uint64_t *bytes);

/* /proc/PID/cgroup: copies the path of the process's cgroup in the hierarchy of `controller`
 * (version 1), or in the hierarchy of version 2 if `controller` is "". Also returns false if the
 * hierarchy is missing or the path is too long. */
bool procfs_parse_cgroup(const char *text, size_t length, const char *controller,
                         char path[PROCFS_PATH_BYTES]);

/* /proc/PID/mountinfo: finds the first mount of a cgroup hierarchy. `controller` has the same
 * meaning as in procfs_parse_cgroup. The member `root` is the cgroup that is visible at the mount
 * point `point`. */
struct procfs_mount {
    char root[PROCFS_PATH_BYTES];
    char point[PROCFS_PATH_BYTES];
};
bool procfs_parse_mount(const char *text, size_t length, const char *controller,
                        struct procfs_mount *out);

/* procfs_open opens /proc; it returns a negative value with errno on failure. procfs_open_folder
 * opens the folder `path` below `directory` to read its entries; it returns NULL with errno on
 * failure. The caller closes the result. */
int procfs_open(void);
DIR *procfs_open_folder(int directory, const char *path);

/* Reads a small file with one call of read, so that the content is of a single moment. Returns the
 * length, at most `size`, or -1 with errno. */
ssize_t procfs_read(int directory, const char *path, char *bytes, size_t size);

/* Reads a file of any size into a buffer, replacing its content. Returns false with errno. */
bool procfs_load(int directory, const char *path, struct buffer *buffer);

/* Reads /proc/PID/stat. Returns false with errno if the process has ended or is hidden. */
bool procfs_read_process(int proc, pid_t pid, struct procfs_process *process);

/* Adds the inodes of all TCP sockets, IPv4 and IPv6, that listen on `port` in this network
 * namespace. Returns false if neither /proc/net/tcp nor /proc/net/tcp6 can be read. */
bool procfs_read_listeners(int proc, uint16_t port, struct procfs_inodes *found);

/* Returns this program's own status, all 0 if it cannot be read. */
struct procfs_status procfs_read_own(int proc);

/* Reads for how long the calling thread was on a CPU, and waited for a CPU, since its start.
 * run_queue_ns is 0 if the kernel does not report it. */
void procfs_read_thread(struct procfs_schedstat *time);

/* Returns how many CPUs a program may use: the lowest limit of its cgroups and of the cgroups above
 * them; 0 if these cgroups have no limit. `list` is the path of the program's list of cgroups, such
 * as /proc/self/cgroup; `root` is the folder of all cgroups, such as /sys/fs/cgroup. */
double procfs_cpu_quota(const char *list, const char *root);

/* Describes why this program cannot use all `cpus` CPUs of the machine although other programs can:
 * because of a quota of its cgroups, its affinity, or its niceness. Writes "" if the program can
 * use all CPUs. */
void procfs_describe_bound(unsigned cpus, char *text, size_t size);

/* procfs_read_thread_file does the same as procfs_read_thread, but reads the file that
 * procfs_open_thread has opened, so it works even when the process has no free descriptor. If the
 * kernel does not support the file, procfs_open_thread returns a negative value and
 * procfs_read_thread_file returns false. */
int procfs_open_thread(void);
bool procfs_read_thread_file(int file, struct procfs_schedstat *time);

/*
 * Cgroups: finds the folder of a process's cgroup, and reads its files. A controller belongs to one
 * hierarchy of version 1, or to version 2.
 */

/* The folder of a cgroup, and the length of the path of the hierarchy's mount point. */
struct cgroup_folder {
    char path[CGROUP_PATH_BYTES];
    size_t root_length;
    /* false: the cgroup is outside of the mounted part of the hierarchy, for example outside of
     * this program's container; `path` is then the mount point */
    bool is_inside;
};

/* Sets *folder to the folder `name` that the user gave; a relative path starts at /sys/fs/cgroup.
 * Returns false with errno if the path is too long. */
bool cgroup_name(const char *name, struct cgroup_folder *folder);

/* Finds the folder of the cgroup of the process `pid` in the mounts that the process `viewer` sees.
 * `controller` names a hierarchy of version 1; "" is version 2. Returns false if the folder was not
 * found. */
bool cgroup_find(int proc, pid_t pid, pid_t viewer, const char *controller,
                 struct cgroup_folder *folder);

/* Changes *folder to the parent cgroup. Returns false at the highest visible cgroup. */
bool cgroup_go_up(struct cgroup_folder *folder);

/* Reads one number from a file; "max" is UINT64_MAX. */
bool cgroup_read_number(const struct cgroup_folder *folder, const char *file, uint64_t *value);

/* Returns the bytes of page cache that count as used but are given up when memory is needed, or 0
 * if unknown. */
uint64_t cgroup_read_cache(const struct cgroup_folder *folder);

/* Opens the folder that the user named, for cgroup_walk, cgroup_memory and cgroup_cpu_ns. Returns a
 * negative value with errno on failure. */
int cgroup_open(const char *name);

/* Calls `add` for every process of the cgroup and of the cgroups below it. Returns false if a
 * cgroup cannot be read or if `add` returned false. */
bool cgroup_walk(int folder, bool (*add)(void *context, pid_t pid), void *context);

/* Returns anonymous and shared memory in bytes, or -1 if unknown. */
int64_t cgroup_memory(int folder);

/* Returns the CPU time since the cgroup was made, including ended processes. Returns -1 if the CPU
 * time is unknown, as in version 1, which counts it in another hierarchy. */
int64_t cgroup_cpu_ns(int folder);

#endif
