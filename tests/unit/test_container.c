/* Containers: the output of docker and podman, and the cgroup of a container. */
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "limits/container.h"

#define ID "4f1c0e5d2b7a49d68f3e1a0b9c8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c0d"

TEST(test_parse)
{
    static const struct {
        const char *status;
        const char *running;
        const char *paused;
        int pid;
        bool is_running;
    } states[] = {{"running", "true", "false", 4711, true}, {"exited", "false", "false", 0, false},
                  {"paused", "true", "true", 4711, false},  {"created", "false", "false", 0, false},
                  {"running", "true", "false", 0, false},   {"running", "true", "false", 1, true}};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "[\n{\"Id\": \"" ID "\", \"Name\": \"/db\", \"State\": {\"Status\": \"%s\", "
                 "\"Running\": %s, \"Paused\": %s, \"Pid\": %d}}\n]\n",
                 states[i].status, states[i].running, states[i].paused, states[i].pid);
        struct container container;
        assert_true(container_parse(text, strlen(text), &container));
        assert_string_equal(container.id, ID);
        assert_string_equal(container.state, states[i].status);
        assert_int_equal(container.is_running, states[i].is_running);
        assert_int_equal(container.pid, states[i].pid);
        assert_string_equal(container.cgroup, "");
    }
}

/* The longest id, the shortest id, and the highest pid. */
TEST(test_bounds_of_ids)
{
    struct container container;
    char text[256], id[sizeof container.id + 1];
    for (size_t length = 10; length <= sizeof container.id; length++) {
        memset(id, 'a', length);
        id[length] = '\0';
        snprintf(text, sizeof text, "[{\"Id\": \"%s\", \"State\": {\"Pid\": 2147483647}}]", id);
        assert_int_equal(container_parse(text, strlen(text), &container),
                         length >= 12 && length < sizeof container.id);
    }
    assert_false(container_parse("[{\"Id\": \"" ID "\", \"State\": {\"Pid\": 2147483648}}]", 109,
                                 &container));
}

TEST(test_not_understood)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "[1]",
        "[{\"Id\": \"" ID "\"}]",
        "[{\"Id\": \"" ID "\", \"State\": {\"Pid\": \"4711\"}}]",
        "[{\"Id\": \"" ID "\", \"State\": {\"Pid\": -1}}]",
        "[{\"Id\": \"" ID "\", \"State\": {\"Pid\": 99999999999}}]",
        "[{\"Id\": \"short\", \"State\": {\"Pid\": 4711}}]",
        "[{\"Id\": \"a/b/c/d/e/f/g/h\", \"State\": {\"Pid\": 4711}}]",
        "[{\"Id\": \"" ID ID "\", \"State\": {\"Pid\": 4711}}]",
        "[{\"Id\": \"" ID "\", \"State\": {\"Pid\": 1}}, {}]",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct container container;
        if (container_parse(bad[i], strlen(bad[i]), &container)) {
            fail_msg("%s", bad[i]);
        }
    }
}

TEST(test_cut_path)
{
    static const struct {
        const char *path;
        const char *cut;
    } paths[] = {
        {"/docker/" ID, "/docker/" ID},
        {"/docker/" ID "/init.scope", "/docker/" ID},
        {"/system.slice/docker-" ID ".scope", "/system.slice/docker-" ID ".scope"},
        {"/machine.slice/libpod-" ID ".scope/container", "/machine.slice/libpod-" ID ".scope"},
        {"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/a/b",
         "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope"},
        {"/user.slice/session-1.scope", NULL},
        {"/", NULL},
    };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s", paths[i].path);
        assert_int_equal(container_cut_path(path, ID), paths[i].cut != NULL);
        assert_string_equal(path, paths[i].cut == NULL ? paths[i].path : paths[i].cut);
    }
}

static char folder[32];
static const char *const programs[] = {"docker", "podman"};

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/append-unit-XXXXXX");
    return mkdtemp(folder) == NULL || setenv("PATH", folder, 1) != 0;
}

static int remove_folder(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", folder, programs[i]);
        unlink(path);
    }
    return rmdir(folder);
}

/* Writes a program into the folder that runs one line of sh. If `line` is NULL, removes the
 * program. */
static void install(const char *program, const char *line)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, program);
    unlink(path);
    if (line != NULL) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, "#!/bin/sh\n%s\n", line);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(chmod(path, 0755), 0);
    }
}

#define INSPECTED(status, running, pid)                                                            \
    "echo '[{\"Id\": \"" ID "\", \"State\": {\"Status\": \"" status "\", \"Running\": " running    \
    ", \"Pid\": " pid "}}]'"

TEST_BETWEEN(test_containers_that_are_not_found, make_folder, remove_folder)
{
    static const struct {
        const char *docker, *podman, *why;
        enum error_kind kind;
    } cases[] = {
        {NULL, NULL, "neither docker nor podman is installed: give --server-pid or --server-cgroup",
         ERROR_NOT_FOUND},
        {"echo \"$*\" >&2; exit 1", NULL, "docker: inspect --type=container db", ERROR_NOT_FOUND},
        {"printf 'warning\\n\\r\\nno such thing\\n\\n' >&2; exit 1", "exit 3",
         "docker: no such thing; podman: inspect failed without an error message", ERROR_NOT_FOUND},
        {NULL, "echo gone >&2; kill -9 $$", "podman: gone", ERROR_NOT_FOUND},
        {"echo '[]'", NULL, "the output of docker inspect cannot be parsed", ERROR_DATA},
        {INSPECTED("exited", "false", "0"), "exit 1",
         "docker reports that the container is not running (exited): start or unpause the "
         "container first",
         ERROR_NOT_FOUND},
        {"exec /bin/sleep 60", "exit 1",
         "docker inspect did not answer within 10 s; podman: inspect failed without an error "
         "message",
         ERROR_TIMEOUT},
        {"exit 1", INSPECTED("running", "true", "1"),
         "process 1, which podman reports, is not in the container on this machine: it may run on "
         "another machine",
         ERROR_NOT_FOUND},
    };
    EACH_CASE (i, cases, "%s", cases[i].why) {
        install("docker", cases[i].docker);
        install("podman", cases[i].podman);
        const struct plan plan = {.container = "db"};
        struct container container = {.pid = -1};
        struct error error = {.kind = ERROR_NONE};
        assert_int_equal(container_find(&container, &plan, &error), EXIT_CODE_USAGE);
        char expected[300];
        snprintf(expected, sizeof expected, "--container db: %s", cases[i].why);
        assert_int_equal(strncmp(error.text, expected, strlen(expected)), 0);
        assert_int_equal(error.kind, cases[i].kind);
        assert_int_equal(error.native_code, 0);
    }
    struct container container;
    struct error error;
    assert_int_equal(container_find(&container, &(const struct plan){0}, &error), EXIT_CODE_OK);
}

/* Starts a parent with the given name and its child. Both end when the caller closes *end. Returns
 * the id of the child. */
static pid_t start_below(const char *name, int *end)
{
    int wait[2], told[2];
    pid_t pid = -1;
    assert_int_equal(pipe(wait) | pipe(told), 0);
    const pid_t parent = fork();
    if (parent == 0) {
        close(wait[1]);
        pid = prctl(PR_SET_NAME, name) == 0 ? fork() : -1;
        if (pid > 0 && write(told[1], &pid, sizeof pid) != (ssize_t)sizeof pid) {
            _exit(1);
        }
        _exit(read(wait[0], &pid, 1) == 0 ? 0 : 1);
    }
    close(wait[0]);
    close(told[1]);
    assert_int_equal(read(told[0], &pid, sizeof pid), sizeof pid);
    close(told[0]);
    *end = wait[1];
    return pid;
}

/* A container's process without its own cgroup is recognised by the name of its parent. */
TEST_BETWEEN(test_the_parents_of_containers, make_folder, remove_folder)
{
    static const struct {
        const char *parent;
        enum exit_code code;
    } cases[] = {{"conmon", EXIT_CODE_OK},
                 {"containerd-shim", EXIT_CODE_OK},
                 {"containerd", EXIT_CODE_USAGE},
                 {"conmons", EXIT_CODE_USAGE}};
    EACH_CASE (i, cases, "%s", cases[i].parent) {
        int end;
        const pid_t pid = start_below(cases[i].parent, &end);
        char line[400];
        snprintf(line, sizeof line, INSPECTED("running", "true", "%d"), (int)pid);
        install("docker", line);
        struct container container;
        struct error error;
        const struct plan plan = {.container = "db"};
        const enum exit_code code = container_find(&container, &plan, &error);
        close(end);
        wait(NULL);
        assert_int_equal(code, cases[i].code);
        assert_int_equal(container.pid, pid);
        assert_string_equal(container.cgroup, "");
    }
}

/* A process belongs to a container if the name of the process's cgroup contains the container's
 * id. */
TEST_BETWEEN(test_the_cgroups_of_containers, make_folder, remove_folder)
{
    char text[4096] = "", id[64] = "", line[400];
    FILE *file = fopen("/proc/self/cgroup", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (const char *at = text; *at != '\0' && id[0] == '\0';) {
        const size_t length = strcspn(at, "/\n");
        if (length >= 12 && length < sizeof id) {
            snprintf(id, sizeof id, "%.*s", (int)length, at);
        }
        at += length + (at[length] != '\0');
    }
    if (id[0] == '\0') { /* the names of this process's cgroups are too short for an id */
        return;
    }
    const struct plan plan = {.container = "db"};
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line,
                 "echo '[{\"Id\": \"%s%s\", \"State\": {\"Status\": \"running\", \"Running\": "
                 "true, \"Pid\": %d}}]'",
                 id, i == 0 ? "" : "x", (int)getpid());
        install("docker", line);
        struct container container;
        struct error error;
        assert_int_equal(container_find(&container, &plan, &error),
                         i == 0 ? EXIT_CODE_OK : EXIT_CODE_USAGE);
        assert_int_equal(container.pid, getpid());
    }
}
