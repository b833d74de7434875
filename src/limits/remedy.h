/* How a limit is raised: the exact line or command, for the place where the process runs. */
#ifndef LIMITS_REMEDY_H
#define LIMITS_REMEDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What started a process, and so sets its limits. */
enum place_kind {
    PLACE_LOGIN,     /* a login, or not known: limits.conf */
    PLACE_SERVICE,   /* a unit of systemd */
    PLACE_CONTAINER, /* docker, podman, kubernetes */
};

struct place {
    enum place_kind kind;
    char unit[80]; /* of systemd */
};

/* Finds out by the text of /proc/PID/cgroup; `is_contained`: it is known to be in a container. */
void remedy_find_place(struct place *place, const char *cgroups, bool is_contained);

/* Raises an rlimit to `value`. `item` as in limits.conf: "nofile", "nproc", "as". `hard` is the
 * limit up to which the user may go alone. */
struct remedy_rlimit {
    const char *item;
    const char *user;
    pid_t pid; /* of a process that runs; 0: of the shell that starts this program */
    uint64_t value;
    uint64_t hard;
};
void remedy_rlimit(char *fix, size_t size, const struct place *place,
                   const struct remedy_rlimit *rlimit);

/* sysctl -w name=value */
void remedy_sysctl(char *fix, size_t size, const char *name, uint64_t value);

/* Raises pids.max or memory.max, a file of the cgroup's folder; that may belong to a unit of
 * systemd of its own, such as the slice of a user. */
struct remedy_cgroup {
    const char *file; /* whole path */
    bool is_memory;
    uint64_t value;
};
void remedy_cgroup(char *fix, size_t size, const struct place *place,
                   const struct remedy_cgroup *cgroup);

#endif
