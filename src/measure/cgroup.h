/*
 * The one reader of cgroups: where the folder of a process's cgroup is, and what is in one.
 * Versions 1 and 2: a controller belongs to one hierarchy of version 1, or to version 2.
 */
#ifndef MEASURE_CGROUP_H
#define MEASURE_CGROUP_H

#include "measure/procfs.h"

enum {
    CGROUP_PATH_BYTES = 2 * PROCFS_PATH_BYTES
};

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

/* Anonymous and shared memory in bytes; -1 = not to be had. */
int64_t cgroup_memory(int folder);

/* CPU time since the cgroup was made, ended processes included; -1 = not to be had here (version 1
 * keeps it in another hierarchy). */
int64_t cgroup_cpu_ns(int folder);

#endif
