/* From a port, or the path of a Unix socket, to the process that listens there. */
#ifndef MEASURE_SERVER_FIND_H
#define MEASURE_SERVER_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/procfs.h"

/* Finds the process that holds the socket which listens on `port` in this program's network
 * namespace, or, with a path, on that Unix socket (a folder: on the port's socket within it). Of
 * several holders it is the one from which the others descend. False: `note` says why, and what to
 * do. On success too `note` may hold a caution; otherwise it is empty. */
bool server_find(int proc, uint16_t port, const char *path, struct procfs_process *found,
                 char *note, size_t note_bytes);

#endif
