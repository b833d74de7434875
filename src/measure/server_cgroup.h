/* A cgroup folder that the user named: its processes, memory and CPU time. Versions 1 and 2. */
#ifndef MEASURE_SERVER_CGROUP_H
#define MEASURE_SERVER_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/process_walk.h"

/* Opens the folder; a relative path is taken below /sys/fs/cgroup. Negative: errno. */
int server_cgroup_open(const char *path);

/* Fills the walk with the processes of the cgroup and of those below it. False: errno. */
bool server_cgroup_walk(int folder, struct process_walk *walk);

/* Anonymous and shared memory in bytes; -1 = not to be had. */
int64_t server_cgroup_memory(int folder);

/* CPU time since the cgroup was made, ended processes included; -1 = not to be had here (version 1
 * keeps it in another hierarchy). */
int64_t server_cgroup_cpu_ns(int folder);

#endif
