/*
 * Finds the process of a database server by the TCP port or Unix socket on which it listens.
 */
#ifndef MEASURE_SERVER_FIND_H
#define MEASURE_SERVER_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/procfs.h"

/* Finds the process that listens on TCP port `port` in this program's network namespace. If `path`
 * is not NULL, first looks for the process that listens on the Unix socket `path` or, if `path` is
 * a folder, on the socket for `port` in this folder. If several processes hold the socket, *found
 * is the process from which the others descend. Returns false if no process was found; `note` then
 * says why, and what to do. On success `note` is empty or has a warning. */
bool server_find(int proc, uint16_t port, const char *path, struct procfs_process *found,
                 char *note, size_t note_bytes);

/* Returns whether server_find finds a process that is not related to `pid`. *holder is then this
 * process. The arguments `port` and `path` are as for server_find. */
bool server_is_other(uint16_t port, const char *path, pid_t pid, struct procfs_process *holder);

/* Returns whether `pid` is `holder`, an ancestor of `holder` other than init, or a descendant of
 * `holder`. */
bool server_is_related(int proc, pid_t pid, pid_t holder);

#endif
