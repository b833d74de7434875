/*
 * Parsers for what Linux says about limits in /proc, /proc/sys and cgroup folders: text in, struct
 * out.
 *
 * They open no file, allocate nothing and keep no state. `text` need not be terminated; nothing at
 * or behind text + length is read. Each returns false, with *out in any state, when the text is
 * malformed, lacks a value that is asked for, or ends in the middle of a line.
 */
#ifndef LIMITS_LIMITS_TEXT_H
#define LIMITS_LIMITS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Paths of /proc and of cgroups as they are used here; longer ones are refused. */
enum {
    LIMITS_PATH_BYTES = 512
};

/* UINT64_MAX = unlimited. */
struct limits_pair {
    uint64_t soft;
    uint64_t hard;
};

/* /proc/PID/limits */
struct limits_rlimits {
    struct limits_pair tasks;         /* RLIMIT_NPROC */
    struct limits_pair files;         /* RLIMIT_NOFILE */
    struct limits_pair address_space; /* RLIMIT_AS */
};
bool limits_parse_rlimits(const char *text, size_t length, struct limits_rlimits *out);

/* /proc/PID/status */
struct limits_status {
    uint64_t uid; /* the real one, whose tasks RLIMIT_NPROC counts */
    uint64_t threads;
    uint64_t capabilities; /* effective, a bit each */
    uint64_t size_bytes;   /* address space; 0 for a thread of the kernel */
};
bool limits_parse_status(const char *text, size_t length, struct limits_status *out);

/* /proc/loadavg: tasks that exist, of all users. */
bool limits_parse_tasks(const char *text, size_t length, uint64_t *tasks);

/* /proc/PID/uid_map: true in *is_initial when users are the machine's own, not those of a user
 * namespace. */
bool limits_parse_uid_map(const char *text, size_t length, bool *is_initial);

/* One number, or "max" = UINT64_MAX, on one line: pids.max, memory.max and most of /proc/sys. */
bool limits_parse_number(const char *text, size_t length, uint64_t *value);

/* /proc/meminfo, in bytes. */
struct limits_memory {
    uint64_t total;
    uint64_t available;
    uint64_t commit_limit;
    uint64_t committed;
};
bool limits_parse_memory(const char *text, size_t length, struct limits_memory *out);

/* memory.stat of a cgroup: page cache that can be dropped, with the cgroups below it; version 1
 * (total_inactive_file) or 2 (inactive_file). */
bool limits_parse_cache(const char *text, size_t length, uint64_t *bytes);

/* /proc/PID/cgroup: copies the path of the hierarchy that has `controller`; with "" that of version
 * 2. False too when there is none, or the path is longer than LIMITS_PATH_BYTES. */
bool limits_parse_cgroup(const char *text, size_t length, const char *controller,
                         char path[LIMITS_PATH_BYTES]);

/* /proc/PID/mountinfo: where a hierarchy of cgroups is mounted, as above; `root` is the cgroup that
 * is seen at `point`. Of several mounts the first. */
struct limits_mount {
    char root[LIMITS_PATH_BYTES];
    char point[LIMITS_PATH_BYTES];
};
bool limits_parse_mount(const char *text, size_t length, const char *controller,
                        struct limits_mount *out);

/* Ports, each once. */
struct limits_ports {
    uint8_t bits[65536 / 8];
};
void limits_ports_add(struct limits_ports *ports, uint16_t port);
bool limits_ports_hold(const struct limits_ports *ports, uint16_t port);

/* The two numbers of ip_local_port_range. */
struct limits_port_range {
    uint16_t low;
    uint16_t high; /* included; not below `low` */
};
bool limits_parse_port_range(const char *text, size_t length, struct limits_port_range *out);

/* ip_local_reserved_ports ("8080,9000-9010", or nothing): adds them. */
bool limits_parse_reserved(const char *text, size_t length, struct limits_ports *ports);

/* Which sockets take a local port away from a connection to `address`:`port`. */
struct limits_destination {
    uint16_t port;
    uint32_t address;    /* IPv4, as /proc/net/tcp shows it; 0 = any address */
    bool is_wait_reused; /* a connection takes its port for its first second in TIME_WAIT only */
};

/* /proc/net/tcp or /proc/net/tcp6: adds the local ports of sockets that listen, and of connections
 * to the destination. *waiting = how many of them are in TIME_WAIT. */
bool limits_parse_sockets(const char *text, size_t length,
                          const struct limits_destination *destination, struct limits_ports *ports,
                          uint64_t *waiting);

/* Lines of the text, the last one ended too. */
bool limits_count_lines(const char *text, size_t length, uint64_t *lines);

#endif
