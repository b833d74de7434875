/*
 * The one reader of /proc and of cgroups: files are read here, and their texts parsed. Nothing
 * keeps state.
 *
 * Parsers (procfs_parse_...): text in, struct out; they open no file and allocate nothing. `text`
 * need not be terminated; nothing at or behind text + length is read. Each returns false, with *out
 * in any state, when the text is malformed, lacks a value that is asked for, or ends in the middle
 * of a line: a half-read file must never become a figure.
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
    PROCFS_PATH_BYTES = 512, /* of a cgroup, or where one is mounted; longer ones are refused */
    CGROUP_PATH_BYTES = 2 * PROCFS_PATH_BYTES,
    PROCFS_INODES_MAX = 64,
};

/* /proc/stat: time of all CPUs since boot. Only the lines of the CPUs, which come first, need to be
 * there. */
struct procfs_cpu {
    uint64_t busy_ticks;   /* neither idle nor waiting for I/O; steal counts as busy */
    uint64_t iowait_ticks; /* idle while a thread that ran there waits for I/O */
    uint64_t total_ticks;  /* guests are part of user time already, and not added again */
    unsigned cpus;         /* online */
};
bool procfs_parse_cpu(const char *text, size_t length, struct procfs_cpu *out);

/* /proc/PID/stat. */
struct procfs_process {
    pid_t pid;
    pid_t parent;
    char name[PROCFS_NAME_BYTES]; /* cut if longer */
    bool has_ended;               /* or is about to: the kernel ends it; it is not waited for yet */
    unsigned threads;
    int64_t own_ns;       /* user + system, of all threads; in whole clock ticks, as the next */
    int64_t reaped_ns;    /* user + system of the children that were waited for */
    uint64_t start_ticks; /* since boot; with the pid it names a process for good */
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

/* /proc/PID/statm. */
struct procfs_statm {
    uint64_t resident_pages;
    uint64_t shared_pages; /* of resident: file-backed and shared memory */
};
bool procfs_parse_statm(const char *text, size_t length, struct procfs_statm *out);

/* /proc/PID/schedstat or /proc/PID/task/TID/schedstat: of one thread. */
struct procfs_schedstat {
    uint64_t on_cpu_ns;
    uint64_t run_queue_ns; /* runnable, but waiting for a CPU */
};
bool procfs_parse_schedstat(const char *text, size_t length, struct procfs_schedstat *out);

/* /proc/PID/status. */
struct procfs_status {
    uint64_t uid; /* the real one, whose tasks RLIMIT_NPROC counts */
    uint64_t threads;
    uint64_t capabilities; /* effective, a bit each */
    uint64_t size_bytes;   /* address space; 0 for a thread of the kernel, as the next two */
    uint64_t resident_bytes;
    uint64_t peak_bytes; /* the most memory that was ever resident */
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

/* /proc/PID/uid_map: whether users are the machine's own, not those of a user namespace. */
bool procfs_parse_uid_map(const char *text, size_t length, bool *is_initial);

/* /proc/loadavg: tasks that exist, of all users. */
bool procfs_parse_tasks(const char *text, size_t length, uint64_t *tasks);

/* /proc/meminfo, in bytes. */
struct procfs_memory {
    uint64_t total;
    uint64_t available;
    uint64_t commit_limit;
    uint64_t committed;
};
bool procfs_parse_memory(const char *text, size_t length, struct procfs_memory *out);

/* One number, or "max" = UINT64_MAX, on one line: pids.max, memory.max and most of /proc/sys. */
bool procfs_parse_number(const char *text, size_t length, uint64_t *value);

/* /proc/PID/io: what a process, its threads that have ended and its children that were waited for
 * read and wrote. */
enum procfs_io_count {
    PROCFS_IO_READ_BYTES, /* by read() and the like, from whatever: files, page cache, pipes */
    PROCFS_IO_WRITTEN_BYTES,
    PROCFS_IO_READS, /* system calls */
    PROCFS_IO_WRITES,
    PROCFS_IO_STORAGE_READ_BYTES,    /* that were fetched from storage */
    PROCFS_IO_STORAGE_WRITTEN_BYTES, /* that were made to be written there; see io.h */
    PROCFS_IO_COUNTS,
};
struct procfs_io {
    uint64_t counts[PROCFS_IO_COUNTS];
};
bool procfs_parse_io(const char *text, size_t length, struct procfs_io *out);

/* /proc/diskstats: the line of one device, since boot. Older kernels do not count flushes: 0. */
struct procfs_disk {
    uint64_t reads;
    uint64_t read_sectors; /* of 512 bytes, whatever the device has */
    uint64_t read_ms;      /* added up over the requests */
    uint64_t writes;
    uint64_t written_sectors;
    uint64_t write_ms;
    uint64_t busy_ms;   /* in which at least one was under way */
    uint64_t queued_ms; /* added up over all that were */
    uint64_t flushes;
    uint64_t flush_ms;
    bool has_flushes;
};
bool procfs_parse_disk(const char *text, size_t length, unsigned major, unsigned minor,
                       struct procfs_disk *out);

/* /proc/pressure/...: for how long some task waited, since boot, in microseconds. */
bool procfs_parse_pressure(const char *text, size_t length, uint64_t *some_us);

/* io.stat of a cgroup of version 2, or blkio.throttle.io_service_bytes_recursive of version 1: adds
 * what was read from and written to one device. False: it has no line. */
bool procfs_parse_cgroup_io(const char *text, size_t length, unsigned major, unsigned minor,
                            uint64_t *read_bytes, uint64_t *written_bytes);

/* /proc/PID/mountinfo: what the file system of a mount is made on ("/dev/sda1"); of an overlay the
 * folder that takes what is written to it. */
bool procfs_parse_source(const char *text, size_t length, uint64_t mount,
                         char path[PROCFS_PATH_BYTES]);

/* Lines of "name number": the number of the first with that name. */
bool procfs_parse_named(const char *text, size_t length, const char *name, uint64_t *value);

/* /proc/net/netstat: a line of names and a line of values for each group. */
bool procfs_parse_netstat(const char *text, size_t length, const char *name, uint64_t *value);

/* Lines of the text, the last one ended too. */
bool procfs_count_lines(const char *text, size_t length, uint64_t *lines);

/* Sockets that were found; further ones are left out. */
struct procfs_inodes {
    size_t count;
    uint64_t inodes[PROCFS_INODES_MAX];
};

/* /proc/net/tcp or /proc/net/tcp6: adds the inodes of the sockets that listen on `port`. */
bool procfs_parse_listeners(const char *text, size_t length, uint16_t port,
                            struct procfs_inodes *found);

/* /proc/net/unix: adds those that listen on `path`; where that is a folder, on a name in it that
 * ends in ".PORT". */
bool procfs_parse_unix_listeners(const char *text, size_t length, const char *path, uint16_t port,
                                 struct procfs_inodes *found);

/* Ports, each once. */
struct procfs_ports {
    uint8_t bits[65536 / 8];
};
bool procfs_ports_hold(const struct procfs_ports *ports, uint16_t port);

/* ip_local_port_range. */
struct procfs_port_range {
    uint16_t low;
    uint16_t high; /* included; not below `low` */
};
bool procfs_parse_port_range(const char *text, size_t length, struct procfs_port_range *out);

/* ip_local_reserved_ports ("8080,9000-9010", or nothing): adds them. */
bool procfs_parse_reserved(const char *text, size_t length, struct procfs_ports *ports);

/* Which sockets take a local port away from a connection to `address`:`port`. */
struct procfs_destination {
    uint16_t port;
    uint32_t address;    /* IPv4, as /proc/net/tcp shows it; 0 = any address */
    bool is_wait_reused; /* a connection takes its port for its first second in TIME_WAIT only */
};

/* /proc/net/tcp or /proc/net/tcp6: adds the local ports of sockets that listen, and of connections
 * to the destination. *waiting = how many of them are in TIME_WAIT. */
bool procfs_parse_sockets(const char *text, size_t length,
                          const struct procfs_destination *destination, struct procfs_ports *ports,
                          uint64_t *waiting);

/* memory.stat of a cgroup, with the cgroups below it, version 2 or 1: anonymous and shared memory,
 * without the page cache of files; and page cache that can be dropped. */
bool procfs_parse_cgroup_memory(const char *text, size_t length, uint64_t *bytes);
bool procfs_parse_cgroup_cache(const char *text, size_t length, uint64_t *bytes);

/* /proc/PID/cgroup: copies the path of the hierarchy that has `controller`; with "" that of version
 * 2. False too when there is none, or the path is too long. */
bool procfs_parse_cgroup(const char *text, size_t length, const char *controller,
                         char path[PROCFS_PATH_BYTES]);

/* /proc/PID/mountinfo: where a hierarchy of cgroups is mounted, as above; `root` is the cgroup that
 * is seen at `point`. Of several mounts the first. */
struct procfs_mount {
    char root[PROCFS_PATH_BYTES];
    char point[PROCFS_PATH_BYTES];
};
bool procfs_parse_mount(const char *text, size_t length, const char *controller,
                        struct procfs_mount *out);

/* Opens /proc, or a folder below another one for reading its entries. Negative or NULL: errno. The
 * caller closes it. */
int procfs_open(void);
DIR *procfs_open_folder(int directory, const char *path);

/* Reads a small file in one read, as the kernel then makes it from one moment. Returns its length,
 * at most size, or -1 with errno. */
ssize_t procfs_read(int directory, const char *path, char *bytes, size_t size);

/* Reads a file of any size into a buffer, whose old content is dropped. False: errno. */
bool procfs_load(int directory, const char *path, struct buffer *buffer);

/* Reads /proc/PID/stat. False with errno when the process is gone or hidden. */
bool procfs_read_process(int proc, pid_t pid, struct procfs_process *process);

/* Adds the inodes of all TCP sockets, IPv4 and IPv6, that listen on `port` in this network
 * namespace. False: no such file can be read. */
bool procfs_read_listeners(int proc, uint16_t port, struct procfs_inodes *found);

/* This program's own. All 0: it cannot be read. */
struct procfs_status procfs_read_own(int proc);

/* How long the calling thread was on a CPU, and waited for one, since its start. Where the kernel
 * does not say, run_queue_ns is 0. */
void procfs_read_thread(struct procfs_schedstat *time);

/* Writes what keeps this program alone from the machine's CPUs, `cpus` of them: its affinity, a
 * quota of its cgroups, its niceness; "" when nothing does. */
void procfs_describe_bound(unsigned cpus, char *text, size_t size);

/* The same from a file that is kept open, for when no descriptor is left. Negative, false: the
 * kernel does not say. */
int procfs_open_thread(void);
bool procfs_read_thread_file(int file, struct procfs_schedstat *time);

/*
 * Cgroups: where the folder of a process's cgroup is, and what is in one. Versions 1 and 2: a
 * controller belongs to one hierarchy of version 1, or to version 2.
 */

/* A folder, and how much of its path is the mount point. */
struct cgroup_folder {
    char path[CGROUP_PATH_BYTES];
    size_t root_length;
    bool is_inside; /* false: the process is outside of what is mounted here, as outside of our
                       container; the folder is then the mount point */
};

/* The folder that the user named; a relative path is taken below /sys/fs/cgroup. False: it is too
 * long, errno says so. */
bool cgroup_name(const char *name, struct cgroup_folder *folder);

/* The folder of the cgroup that a process is in, by the mounts that `viewer` sees; `controller` is
 * of a hierarchy of version 1, or "" for version 2. False: there is none. */
bool cgroup_find(int proc, pid_t pid, pid_t viewer, const char *controller,
                 struct cgroup_folder *folder);

/* To the cgroup above. False: that was the highest that can be seen here. */
bool cgroup_go_up(struct cgroup_folder *folder);

/* One number of a file; "max" = UINT64_MAX. */
bool cgroup_read_number(const struct cgroup_folder *folder, const char *file, uint64_t *value);

/* Page cache: counted as used, and given up when memory is needed. 0 = not known. */
uint64_t cgroup_read_cache(const struct cgroup_folder *folder);

/* Opens the folder that the user named, for the next three. Negative: errno. */
int cgroup_open(const char *name);

/* Calls `add` for every process of the cgroup and of those below it. False: they cannot be read, or
 * `add` has returned false. */
bool cgroup_walk(int folder, bool (*add)(void *context, pid_t pid), void *context);

/* Anonymous and shared memory in bytes; -1 = not known. */
int64_t cgroup_memory(int folder);

/* CPU time since the cgroup was made, ended processes included; -1 = not known here (version 1
 * keeps it in another hierarchy). */
int64_t cgroup_cpu_ns(int folder);

#endif
