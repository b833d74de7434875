#include "limits/container.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/mono.h"
#include "base/process.h"
#include "measure/cgroup.h"

enum {
    ID_LEAST = 12 /* a shorter one could be part of anything */
};
#define INSPECT_TIMEOUT_NS (10 * MONO_NS_PER_S)

static const char *const programs[] = {"docker", "podman"};
enum {
    PROGRAMS = sizeof programs / sizeof programs[0]
};

/* What came of asking one program. */
enum container_answer {
    ANSWER_FOUND,
    ANSWER_NOT_INSTALLED,
    ANSWER_FAILED, /* the error says why */
};

bool container_parse(const char *text, size_t length, struct container *container)
{
    *container = (struct container){0};
    json_t *json = json_loadb(text, length, 0, NULL);
    const json_t *entry = json_array_size(json) == 1 ? json_array_get(json, 0) : NULL;
    const json_t *state = json_object_get(entry, "State");
    const json_t *pid = json_object_get(state, "Pid");
    const char *id = json_string_value(json_object_get(entry, "Id"));
    const char *status = json_string_value(json_object_get(state, "Status"));
    const bool is_good = id != NULL && strlen(id) >= ID_LEAST && strlen(id) < CONTAINER_ID_BYTES &&
                         strpbrk(id, "/\n") == NULL && json_is_integer(pid) &&
                         json_integer_value(pid) >= 0 && json_integer_value(pid) <= INT32_MAX;
    if (is_good) {
        container->pid = (pid_t)json_integer_value(pid);
        /* a paused one has a process, but answers nobody */
        container->is_running = json_is_true(json_object_get(state, "Running")) &&
                                !json_is_true(json_object_get(state, "Paused")) &&
                                container->pid > 0;
        snprintf(container->id, sizeof container->id, "%s", id);
        snprintf(container->state, sizeof container->state, "%s", status == NULL ? "" : status);
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

/* The line of a program's error output that says what is wrong: the last one that is not empty. */
static void last_line(const char *text, char *line, size_t bytes)
{
    line[0] = '\0';
    for (const char *at = text; *at != '\0';) {
        const size_t length = strcspn(at, "\r\n");
        if (length > 0) {
            snprintf(line, bytes, "%.*s", (int)(length < bytes ? length : bytes - 1), at);
        }
        at += length;
        at += strspn(at, "\r\n");
    }
}

static enum container_answer understand(const char *program, const struct child_output *child,
                                        enum child_result result, struct container *container,
                                        struct error *error)
{
    char line[120];
    last_line(buffer_text(&child->err), line, sizeof line);
    if (result == CHILD_NOT_FOUND) {
        return ANSWER_NOT_INSTALLED;
    }
    if (result == CHILD_TIMED_OUT) {
        error_set(error, ERROR_TIMEOUT, 0, NULL, "%s inspect did not answer within %d s", program,
                  (int)(INSPECT_TIMEOUT_NS / MONO_NS_PER_S));
    } else if (result == CHILD_FAILED) {
        error_set(error, ERROR_SYSTEM, errno, NULL, "%s cannot be run: %s", program,
                  strerror(errno));
    } else if (result != CHILD_EXITED || child->end.code != 0) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL, "%s: %s", program,
                  line[0] == '\0' ? "it failed without an error message" : line);
    } else if (!container_parse(buffer_text(&child->out), child->out.length, container)) {
        error_set(error, ERROR_DATA, 0, NULL, "the output of %s inspect cannot be parsed", program);
    } else {
        return ANSWER_FOUND;
    }
    return ANSWER_FAILED;
}

static enum container_answer ask(const char *program, const char *name, struct container *container,
                                 struct error *error)
{
    const char *const argv[] = {program, "inspect", "--type=container", name, NULL};
    struct child_output child;
    const enum child_result result = child_run(&child, argv, -1, INSPECT_TIMEOUT_NS);
    const enum container_answer answer = understand(program, &child, result, container, error);
    child_output_fini(&child);
    return answer;
}

/* The first program that knows the container. */
static enum status find(const char *name, struct container *container, const char **program,
                        struct error *error)
{
    struct error errors[PROGRAMS];
    size_t failed = 0;
    for (size_t i = 0; i < PROGRAMS; i++) {
        error_clear(&errors[failed]);
        *program = programs[i];
        const enum container_answer answer = ask(programs[i], name, container, &errors[failed]);
        if (answer == ANSWER_FOUND) {
            return STATUS_OK;
        }
        if (interrupt_requested()) {
            error_set(error, ERROR_SYSTEM, 0, NULL, "interrupted before the first session");
            return STATUS_REJECTED;
        }
        failed += answer == ANSWER_FAILED;
    }
    if (failed == 0) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "--container %s: neither docker nor podman is installed here: give --server-pid "
                  "or --server-cgroup",
                  name);
    } else {
        error_set(error, errors[0].kind, 0, NULL, "--container %s: %.110s%s%.80s", name,
                  errors[0].text, failed > 1 ? "; " : "", failed > 1 ? errors[1].text : "");
    }
    return STATUS_REJECTED;
}

/* Podman without a cgroup of its own for a container, for one. */
static bool is_started_by_runtime(int proc, pid_t pid)
{
    struct procfs_process process;
    struct procfs_process parent;
    return procfs_read_process(proc, pid, &process) &&
           procfs_read_process(proc, process.parent, &parent) &&
           (strcmp(parent.name, "conmon") == 0 || strncmp(parent.name, "containerd-shim", 15) == 0);
}

/* The folder of the controller in which the container's memory is counted. */
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

/* False: the process is not one of this container, so the program speaks of another machine. */
static bool find_place(int proc, struct container *container)
{
    char path[64];
    struct buffer text;
    buffer_init(&text);
    snprintf(path, sizeof path, "%d/cgroup", (int)container->pid);
    const bool is_here =
        procfs_load(proc, path, &text) && strstr(buffer_text(&text), container->id) != NULL;
    buffer_fini(&text);
    if (is_here && !find_folder(proc, "memory", container)) {
        find_folder(proc, "", container);
    }
    return is_here || is_started_by_runtime(proc, container->pid);
}

enum exit_code container_find(struct container *container, const struct plan *plan,
                              struct error *error)
{
    const char *name = plan->container;
    const char *program = NULL;
    if (name == NULL) {
        return EXIT_CODE_OK;
    }
    if (find(name, container, &program, error) != STATUS_OK) {
        return interrupt_requested() ? EXIT_CODE_INTERRUPTED : EXIT_CODE_USAGE;
    }
    if (!container->is_running) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "--container %s: %s says that it is not running (%s)", name, program,
                  container->state);
        return EXIT_CODE_USAGE;
    }
    const int proc = procfs_open();
    const bool is_here = proc >= 0 && find_place(proc, container);
    if (proc >= 0) {
        close(proc);
    }
    if (!is_here) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "--container %s: process %d of this machine, which %s names, is not in it: does "
                  "%s work on another machine (DOCKER_HOST, CONTAINER_HOST, a virtual machine)?",
                  name, (int)container->pid, program, program);
        return EXIT_CODE_USAGE;
    }
    return EXIT_CODE_OK;
}
