/*
 * The container that a server runs in: from its name to its first process and its cgroup on this
 * machine. Docker and Podman are asked by their command-line programs.
 */
#ifndef LIMITS_CONTAINER_H
#define LIMITS_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "append/error.h"
#include "base/process.h"
#include "measure/procfs.h"
#include "plan/plan.h"

struct container {
    char id[80];
    char state[32]; /* "running", "exited", … */
    bool is_running;
    pid_t pid;                      /* of its first process, as seen from this machine */
    char cgroup[CGROUP_PATH_BYTES]; /* has its memory.stat; "": its processes are measured */
};

/* What `docker inspect` and `podman inspect` print for one container: a JSON array of one object.
 * False: it is nothing of the kind. Fills id, state, is_running and pid. */
bool container_parse(const char *text, size_t length, struct container *container);

/* Cuts the path of a cgroup behind the part that has the container's id: what is below it are
 * groups that were made inside. False: no part has it. */
bool container_cut_path(char *path, const char *id);

/* Finds the container that the plan names, if it names one. EXIT_CODE_USAGE: *error says what would
 * help. */
enum exit_code container_find(struct container *container, const struct plan *plan,
                              struct error *error);

#endif
