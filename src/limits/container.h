/*
 * Finds the container in which a server runs: its first process and its cgroup on this machine. To
 * do this, runs the command-line programs of Docker and Podman with the container's name.
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
    char state[32]; /* state of the container: "running", "exited", … */
    bool is_running;
    pid_t pid; /* id of the container's first process, as seen from this machine */
    char cgroup[CGROUP_PATH_BYTES]; /* the cgroup folder with the container's memory.stat; "": the
                                       folder is unknown, and the sampler measures the container's
                                       processes instead */
};

/* Parses the output of `docker inspect` and `podman inspect` for one container: a JSON array of one
 * object. Fills id, state, is_running and pid. Returns false if the text is something else. */
bool container_parse(const char *text, size_t length, struct container *container);

/* Shortens the path of a cgroup: the part that contains the container's id becomes the last part,
 * because the cgroups below it were created inside the container. Returns false if no part contains
 * the id. */
bool container_cut_path(char *path, const char *id);

/* Finds the container that the plan names. Does nothing if the plan names no container. Returns
 * EXIT_CODE_USAGE on failure; *error then says what to do. Returns EXIT_CODE_INTERRUPTED after a
 * signal. */
enum exit_code container_find(struct container *container, const struct plan *plan,
                              struct error *error);

#endif
