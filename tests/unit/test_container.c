/* Containers: the output of docker and podman, and the cgroup of a container. */
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

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
    } states[] = {{"running", "true", "false", 4711, true},
                  {"exited", "false", "false", 0, false},
                  {"paused", "true", "true", 4711, false},
                  {"created", "false", "false", 0, false}};
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
