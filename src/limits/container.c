#include "limits/container.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/mono.h"
#include "base/process.h"
#include "measure/procfs.h"

enum {
    ID_LEAST = 12 /* a shorter id could match part of any name */
};
#define INSPECT_TIMEOUT_NS (10 * MONO_NS_PER_S)

static const char *const programs[] = {"docker", "podman"};

bool container_parse(const char *text, size_t length, struct container *container)
{
    const char *id = "";
    const char *state = "";
    json_int_t pid = -1;
    int is_running = 0;
    int is_paused = 0;
    json_t *json = json_loadb(text, length, 0, NULL);
    const bool is_good =
        json_unpack(json, "[{s:s, s:{s:I, s?b, s?b, s?s}}!]", "Id", &id, "State", "Pid", &pid,
                    "Running", &is_running, "Paused", &is_paused, "Status", &state) == 0 &&
        strlen(id) >= ID_LEAST && strlen(id) < sizeof container->id && strpbrk(id, "/\n") == NULL &&
        pid >= 0 && pid <= INT32_MAX;
    *container = (struct container){0};
    if (is_good) {
        container->pid = (pid_t)pid;
        /* a paused container has a process, but does not answer */
        container->is_running = is_running && !is_paused && pid > 0;
        snprintf(container->id, sizeof container->id, "%s", id);
        snprintf(container->state, sizeof container->state, "%s", state);
    }
    json_decref(json);
    return is_good;
}

bool container_cut_path(char *path, const char *id)
{
    char *at = strstr(path, id);
    if (at == NULL) {
        return false;
    }
    at[strcspn(at, "/")] = '\0';
    return true;
}

/* Runs `program inspect`. Returns false without an error if the program is not installed. */
static bool inspect(const char *program, const char *name, struct container *container,
                    struct error *error)
{
    const char *const argv[] = {program, "inspect", "--type=container", name, NULL};
    struct child_output child;
    const enum child_result result = child_run(&child, argv, -1, INSPECT_TIMEOUT_NS);
    const int number = errno;
    bool is_found = false;
    if (result == CHILD_TIMED_OUT) {
        error_set(error, ERROR_TIMEOUT, 0, NULL, "%s inspect did not answer within %d s", program,
                  (int)(INSPECT_TIMEOUT_NS / MONO_NS_PER_S));
    } else if (result == CHILD_FAILED) {
        error_set(error, ERROR_SYSTEM, number, NULL, "%s cannot be run: %s", program,
                  strerror(number));
    } else if (result != CHILD_NOT_FOUND && (result != CHILD_EXITED || child.end.code != 0)) {
        /* find the error message, which is the last non-empty line of stderr */
        const char *line = "inspect failed without an error message";
        for (const char *at = buffer_text(&child.err); *at != '\0'; at += strcspn(at, "\r\n")) {
            at += strspn(at, "\r\n");
            line = *at != '\0' ? at : line;
        }
        error_set(error, ERROR_NOT_FOUND, 0, NULL, "%s: %.119s", program, line);
    } else if (result == CHILD_EXITED) {
        is_found = container_parse(buffer_text(&child.out), child.out.length, container);
        if (!is_found) {
            error_set(error, ERROR_DATA, 0, NULL, "the output of %s inspect cannot be parsed",
                      program);
        }
    }
    child_output_fini(&child);
    return is_found;
}

/* Fills container->cgroup with the cgroup folder in which `controller` counts the container's
 * memory. `controller` "" stands for cgroup version 2. Returns false if the folder does not exist
 * or cannot be used. */
static bool find_folder(int proc, const char *controller, struct container *container)
{
    struct cgroup_folder folder;
    char path[sizeof folder.path + 16];
    if (!cgroup_find(proc, container->pid, getpid(), controller, &folder) || !folder.is_inside ||
        !container_cut_path(folder.path, container->id)) {
        return false;
    }
    snprintf(path, sizeof path, "%s/memory.stat", folder.path);
    if (access(path, R_OK) != 0) {
        return false;
    }
    memcpy(container->cgroup, folder.path, sizeof container->cgroup);
    return true;
}

/* Finds the container's cgroup on this machine. Returns false if the process on this machine is not
 * in the container, because docker or podman may work on another machine. */
static bool find_place(int proc, struct container *container)
{
    char path[64];
    struct procfs_process process;
    struct procfs_process parent;
    struct buffer text = {0};
    snprintf(path, sizeof path, "%d/cgroup", (int)container->pid);
    const bool is_here =
        procfs_load(proc, path, &text) && strstr(buffer_text(&text), container->id) != NULL;
    buffer_fini(&text);
    if (is_here && !find_folder(proc, "memory", container)) {
        find_folder(proc, "", container);
    }
    if (is_here) {
        return true;
    }
    /* Podman can run containers without a separate cgroup: check whether the process was started by
     * a container runtime */
    return procfs_read_process(proc, container->pid, &process) &&
           procfs_read_process(proc, process.parent, &parent) &&
           (strcmp(parent.name, "conmon") == 0 || strncmp(parent.name, "containerd-shim", 15) == 0);
}

enum exit_code container_find(struct container *container, const struct plan *plan,
                              struct error *error)
{
    const char *name = plan->container;
    const char *program = NULL;
    struct error errors[COUNT_OF(programs)];
    size_t failed = 0;
    bool is_found = false;
    if (name == NULL) {
        return EXIT_CODE_OK;
    }
    for (size_t i = 0; i < COUNT_OF(programs) && !is_found; i++) {
        program = programs[i]; /* the first program that knows the container is used */
        error_clear(&errors[failed]);
        is_found = inspect(program, name, container, &errors[failed]);
        if (!is_found && interrupt_requested()) {
            error_set(error, ERROR_SYSTEM, 0, NULL, "interrupted before the first session");
            return EXIT_CODE_INTERRUPTED;
        }
        failed += error_is_set(&errors[failed]) ? 1 : 0;
    }
    const int proc = is_found && container->is_running ? procfs_open() : -1;
    const bool is_here = proc >= 0 && find_place(proc, container);
    if (proc >= 0) {
        close(proc);
    }
    if (is_here) {
        return EXIT_CODE_OK;
    }
    if (!is_found && failed == 0) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "--container %s: neither docker nor podman is installed: give --server-pid "
                  "or --server-cgroup",
                  name);
    } else if (!is_found) {
        error_set(error, errors[0].kind, 0, NULL, "--container %s: %.110s%s%.80s", name,
                  errors[0].text, failed > 1 ? "; " : "", failed > 1 ? errors[1].text : "");
    } else if (!container->is_running) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "--container %s: %s reports that the container is not running (%s): start or "
                  "unpause the container first",
                  name, program, container->state);
    } else {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "--container %s: process %d, which %s reports, is not in the container on this "
                  "machine: it may run on another machine (DOCKER_HOST, CONTAINER_HOST) or in a "
                  "virtual machine",
                  name, (int)container->pid, program);
    }
    return EXIT_CODE_USAGE;
}
