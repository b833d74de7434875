#include "limits/container.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/mono.h"
#include "base/subprocess.h"
#include "measure/proc_file.h"

enum {
    ID_LEAST = 12 /* a shorter one could be part of anything */
};
#define INSPECT_TIMEOUT_NS (10 * MONO_NS_PER_S)

static const char *const programs[] = {"docker", "podman"};
enum {
    PROGRAMS = sizeof programs / sizeof programs[0]
};

/* What came of asking one program. */
enum answer {
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

static enum answer understand(const char *program, const struct subprocess *child,
                              enum subprocess_end end, struct container *container,
                              struct error *error)
{
    char line[120];
    last_line(buffer_text(&child->err), line, sizeof line);
    if (end == SUBPROCESS_NOT_FOUND) {
        return ANSWER_NOT_INSTALLED;
    }
    if (end == SUBPROCESS_TIMED_OUT) {
        error_set(error, ERROR_TIMEOUT, 0, NULL, "%s inspect gave no answer within %d s", program,
                  (int)(INSPECT_TIMEOUT_NS / MONO_NS_PER_S));
    } else if (end == SUBPROCESS_FAILED) {
        error_set(error, ERROR_SYSTEM, errno, NULL, "%s cannot be run: %s", program,
                  strerror(errno));
    } else if (end != SUBPROCESS_EXITED || child->exit_status != 0) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL, "%s: %s", program,
                  line[0] == '\0' ? "it failed without a word" : line);
    } else if (!container_parse(buffer_text(&child->out), child->out.length, container)) {
        error_set(error, ERROR_DATA, 0, NULL, "what %s inspect printed is not understood", program);
    } else {
        return ANSWER_FOUND;
    }
    return ANSWER_FAILED;
}

static enum answer ask(const char *program, const char *name, struct container *container,
                       struct error *error)
{
    char words[4][128];
    const char *const given[] = {program, "inspect", "--type=container", name};
    char *argv[5] = {NULL};
    for (size_t i = 0; i < 4; i++) {
        snprintf(words[i], sizeof words[i], "%s", given[i]);
        argv[i] = words[i];
    }
    struct subprocess child;
    const enum subprocess_end end = subprocess_run(&child, argv, INSPECT_TIMEOUT_NS);
    const enum answer answer = understand(program, &child, end, container, error);
    subprocess_fini(&child);
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
        const enum answer answer = ask(programs[i], name, container, &errors[failed]);
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
    return proc_file_process(proc, pid, &process) &&
           proc_file_process(proc, process.parent, &parent) &&
           (strcmp(parent.name, "conmon") == 0 || strncmp(parent.name, "containerd-shim", 15) == 0);
}

static bool has_memory(const char *folder)
{
    char path[CONTAINER_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    return access(path, R_OK) == 0;
}

/* The folder of the controller in which the container's memory is counted: of version 1, else 2. */
static bool find_folder(const struct buffer *cgroup, const struct buffer *mounts,
                        const char *controller, struct container *container)
{
    char path[LIMITS_PATH_BYTES];
    struct limits_mount mount;
    if (!limits_parse_cgroup(cgroup->bytes, cgroup->length, controller, path) ||
        !container_cut_path(path, container->id) ||
        !limits_parse_mount(mounts->bytes, mounts->length, controller, &mount)) {
        return false;
    }
    const size_t root = strcmp(mount.root, "/") == 0 ? 0 : strlen(mount.root);
    if (strncmp(path, mount.root, root) != 0 || path[root] != '/') {
        return false;
    }
    snprintf(container->cgroup, sizeof container->cgroup, "%s%s", mount.point, path + root);
    if (!has_memory(container->cgroup)) {
        container->cgroup[0] = '\0';
    }
    return container->cgroup[0] != '\0';
}

/* False: the process is not one of this container, so the program speaks of another machine. */
static bool find_place(int proc, struct container *container)
{
    char path[64];
    struct buffer cgroup;
    struct buffer mounts;
    buffer_init(&cgroup);
    buffer_init(&mounts);
    snprintf(path, sizeof path, "%d/cgroup", (int)container->pid);
    bool is_here =
        proc_file_load(proc, path, &cgroup) && strstr(buffer_text(&cgroup), container->id) != NULL;
    if (is_here && proc_file_load(proc, "self/mountinfo", &mounts) &&
        !find_folder(&cgroup, &mounts, "memory", container)) {
        find_folder(&cgroup, &mounts, "", container);
    }
    buffer_fini(&cgroup);
    buffer_fini(&mounts);
    return is_here || is_started_by_runtime(proc, container->pid);
}

enum exit_code container_settle(struct container *container, struct plan *plan, struct error *error)
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
                  "--container %s: %s says that it does not run (%s)", name, program,
                  container->state);
        return EXIT_CODE_USAGE;
    }
    const int proc = proc_file_open_root();
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
    plan->server_pid = container->pid;
    plan->server_cgroup = container->cgroup[0] == '\0' ? NULL : container->cgroup;
    return EXIT_CODE_OK;
}
