/* Limits and how to raise them, read from folders that imitate /proc and both versions of
 * cgroups. */
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limits/limits.h"

enum {
    CLIENT = 11,
    SERVER = 12,
    SESSIONS = 50
};

static char root[32];
static struct limits_question question;
static struct limit_list list;
static struct server_limits server;
static int proc;

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

/* Writes ROOT/path and makes its folders. In the text each @ before a slash is replaced by ROOT. */
static void write_file(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    for (; *text != '\0'; text++) {
        if (*text == '@' && text[1] == '/') {
            fputs(root, file);
        } else {
            fputc(*text, file);
        }
    }
    assert_int_equal(fclose(file), 0);
}

static void put_process(int pid, const char *cgroup)
{
    char path[64];
    snprintf(path, sizeof path, "%d/fd/0", pid);
    write_file(path, "");
    snprintf(path, sizeof path, "%d/cgroup", pid);
    write_file(path, cgroup);
    snprintf(path, sizeof path, "%d/status", pid);
    write_file(path, "Uid:\t7\t7\t7\t7\nThreads:\t1\nCapEff:\t0\n");
    snprintf(path, sizeof path, "%d/limits", pid);
    write_file(path, "Max processes unlimited unlimited processes\n"
                     "Max open files 1024 1024 files\n"
                     "Max address space unlimited unlimited bytes\n");
}

static void put_tasks(const char *folder, const char *max, const char *current)
{
    char path[256];
    snprintf(path, sizeof path, "%s/pids.max", folder);
    write_file(path, max);
    snprintf(path, sizeof path, "%s/pids.current", folder);
    write_file(path, current);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/append-cgroup-XXXXXX");
    if (mkdtemp(root) == NULL) {
        return -1;
    }
    server = (struct server_limits){.tasks_per_session = 1};
    question = (struct limits_question){.sessions = SESSIONS,
                                        .stack_bytes = 65536,
                                        .has_server = true,
                                        .server_pid = SERVER,
                                        .server = &server,
                                        .other_threads = 1};
    proc = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    write_file("11/mountinfo", "25 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                               "30 25 0:26 / @/v2 rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
    return proc >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    close(proc);
    return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Returns the limit of a kind on one side; NULL if it is not in the list. */
static const struct limit *find(enum limit_id id, enum limit_side side)
{
    const struct limit *found = NULL;
    limits_read_at(proc, CLIENT, &question, &list);
    for (size_t i = 0; i < list.count; i++) {
        const struct limit *limit = &list.entries[i];
        if (limit->id == id && limit->side == side) {
            assert_null(found);
            found = limit;
        }
    }
    return found;
}

static const struct limit *find_tasks(enum limit_side side, uint64_t allowed, uint64_t used)
{
    const struct limit *limit = find(LIMIT_CGROUP_TASKS, side);
    assert_non_null(limit);
    assert_int_equal(limit->allowed, allowed);
    assert_int_equal(limit->used, used);
    return limit;
}

TEST_BETWEEN(test_the_tightest_of_a_path, set_up, tear_down)
{
    put_process(CLIENT, "0::/user.slice/user-1000.slice/session-2.scope\n");
    put_process(SERVER, "0::/system.slice/db.service\n");
    put_tasks("v2/user.slice/user-1000.slice/session-2.scope", "max\n", "4\n");
    put_tasks("v2/user.slice/user-1000.slice", "40\n", "9\n");
    put_tasks("v2/user.slice", "max\n", "12\n");
    const struct limit *limit = find_tasks(LIMIT_CLIENT, 40, 9);
    assert_int_equal(limit->sessions, 40 - 9 - 1);
    assert_int_equal(limit->grade, LIMIT_FAIL);
    assert_string_equal(limit->name, "pids.max");
    assert_non_null(strstr(limit->where, "/v2/user.slice/user-1000.slice/pids.max"));
    assert_string_equal(limit->fix, "systemctl set-property user-1000.slice TasksMax=60");
}

TEST_BETWEEN(test_no_limit, set_up, tear_down)
{
    put_process(CLIENT, "0::/\n");
    put_process(SERVER, "0::/\n");
    assert_null(find(LIMIT_CGROUP_TASKS, LIMIT_CLIENT)); /* the root has no pids.max */
    put_tasks("v2", "max\n", "7\n");
    assert_null(find(LIMIT_CGROUP_TASKS, LIMIT_CLIENT));
}

/* A container with a cgroup namespace sees its own cgroup as the root. */
TEST_BETWEEN(test_a_namespace, set_up, tear_down)
{
    put_process(CLIENT, "0::/\n");
    put_process(SERVER, "0::/../other\n");
    put_tasks("v2", "100\n", "7\n");
    /* the folder of the server, which is outside the namespace, cannot be seen */
    assert_int_equal(find_tasks(LIMIT_CLIENT, 100, 7)->sessions, 100 - 7 - 1);
    assert_null(find(LIMIT_CGROUP_TASKS, LIMIT_SERVER));
    /* nor can the cgroup above the root of the namespace: the folder above the mount is another
     * one */
    put_process(SERVER, "0::/..\n");
    put_tasks("v2/..", "30\n", "6\n");
    assert_int_equal(find_tasks(LIMIT_CLIENT, 100, 7)->sessions, 100 - 7 - 1);
    assert_null(find(LIMIT_CGROUP_TASKS, LIMIT_SERVER));
}

TEST_BETWEEN(test_both_in_one, set_up, tear_down)
{
    put_process(CLIENT, "0::/box/run\n");
    put_process(SERVER, "0::/box/db\n");
    put_tasks("v2/box", "100\n", "8\n");
    put_tasks("v2/box/db", "30\n", "6\n");
    server.tasks_per_session = 2;
    assert_int_equal(find_tasks(LIMIT_CLIENT, 100, 8)->sessions, (100 - 8 - 1) / 3);
    /* a cgroup that contains both client and server is listed once */
    assert_int_equal(find_tasks(LIMIT_SERVER, 30, 6)->sessions, 12);
    assert_non_null(strstr(find(LIMIT_CGROUP_TASKS, LIMIT_SERVER)->fix, "/v2/box/db/pids.max"));
}

/* Version 1, with version 2 mounted for names only; docker mounts a part of the hierarchy. */
TEST_BETWEEN(test_version_1_of_a_container, set_up, tear_down)
{
    write_file("11/mountinfo",
               "30 25 0:26 / @/unified rw - cgroup2 cgroup2 rw\n"
               "31 25 0:27 /docker/4e2f @/pids rw master:9 - cgroup cgroup rw,pids\n");
    put_process(CLIENT, "5:pids:/docker/4e2f\n1:name=systemd:/docker/4e2f\n0::/docker/4e2f\n");
    put_process(SERVER, "5:pids:/system.slice/db.service\n0::/system.slice/db.service\n");
    put_tasks("pids", "64\n", "5\n");
    assert_int_equal(find_tasks(LIMIT_CLIENT, 64, 5)->sessions, 58);
    assert_null(find(LIMIT_CGROUP_TASKS, LIMIT_SERVER)); /* the server is not in the container */
}

TEST_BETWEEN(test_memory, set_up, tear_down)
{
    put_process(CLIENT, "0::/run.scope\n");
    put_process(SERVER, "0::/db\n");
    write_file("v2/run.scope/memory.max", "4194304\n");
    write_file("v2/run.scope/memory.current", "4194304\n");
    write_file("v2/run.scope/memory.stat", "anon 1048576\nfile 3145728\ninactive_file 2097152\n");
    const struct limit *limit = find(LIMIT_CGROUP_MEMORY, LIMIT_CLIENT);
    assert_non_null(limit);
    assert_int_equal(limit->allowed, 4194304);
    assert_int_equal(limit->used, 2097152);
    assert_int_equal(limit->sessions, 2097152 / limit->each);
    assert_int_equal(limit->grade, LIMIT_WARN); /* an estimate */
    char fix[80];
    snprintf(fix, sizeof fix, "systemctl set-property run.scope MemoryMax=%d",
             (int)(2097152 + SESSIONS * limit->each));
    assert_string_equal(limit->fix, fix);
}

/* The folder that the user named is used, whether or not the server is in it. */
TEST_BETWEEN(test_a_named_folder, set_up, tear_down)
{
    static char folder[64];
    put_process(CLIENT, "0::/\n");
    put_tasks("named", "20\n", "15\n");
    snprintf(folder, sizeof folder, "%s/named", root);
    question.server_cgroup = folder;
    question.server_pid = 0;
    const struct limit *limit = find_tasks(LIMIT_SERVER, 20, 15);
    assert_int_equal(limit->sessions, 5);
    assert_memory_equal(limit->where, folder, strlen(folder));
}

static const char *fix(enum limit_id id, enum limit_side side)
{
    const struct limit *limit = find(id, side);
    assert_non_null(limit);
    return limit->fix;
}

static const char *fix_files(const char *cgroup, enum limit_side side)
{
    put_process(side == LIMIT_CLIENT ? CLIENT : SERVER, cgroup);
    return fix(LIMIT_OPEN_FILES, side);
}

/* The fix depends on what started the process. The user with the number 99999 has no name. */
TEST_BETWEEN(test_limits_of_a_place, set_up, tear_down)
{
    static const char as[] = "Max processes 8 90 processes\n"
                             "Max open files 1024 1024 files\n"
                             "Max address space 4096 4096 bytes\n";
    put_process(CLIENT, "0::/\n");
    put_process(SERVER, "0::/\n");
    write_file("11/status", "Uid:\t99999\t7\t7\t7\nThreads:\t1\nCapEff:\t0\n");
    write_file("12/status", "Uid:\t99999\t7\t7\t7\nThreads:\t1\nCapEff:\t0\n");
    write_file("11/limits", as);
    question.files_per_session = 100;
    server.files_per_session = 100;
    /* the process has two open files, one of them with the number 0 */
    assert_string_equal(fix(LIMIT_OPEN_FILES, LIMIT_CLIENT),
                        "in /etc/security/limits.conf: 99999 - nofile 5001, then log in again; or: "
                        "sudo prlimit --nofile=5001 --pid $$");
    assert_string_equal(fix(LIMIT_OPEN_FILES, LIMIT_SERVER),
                        "in /etc/security/limits.conf: 99999 - nofile 5001, then start it from a "
                        "new login; or as root: prlimit --nofile=5001 --pid 12");
    /* limits.conf counts this limit in KiB, prlimit in bytes */
    const char *address_space = fix(LIMIT_ADDRESS_SPACE, LIMIT_CLIENT);
    const char *kib = strstr(address_space, "99999 - as ");
    const char *bytes = strstr(address_space, "--as=");
    assert_true(kib != NULL && bytes != NULL);
    assert_int_equal(strtoull(kib + 11, NULL, 10), strtoull(bytes + 5, NULL, 10) / 1024);
    /* the user may raise the limit up to the hard limit */
    server.tasks_per_session = 0;
    assert_string_equal(fix(LIMIT_USER_TASKS, LIMIT_CLIENT), "ulimit -Su 53");

    static const char of_mariadb[] = "systemctl edit mariadb.service: [Service] LimitNOFILE=5001, "
                                     "then systemctl restart mariadb.service";
    assert_string_equal(fix_files("8:pids:/x\n0::/system.slice/mariadb.service\n", LIMIT_SERVER),
                        of_mariadb);
    assert_non_null(strstr(fix_files("0::/user.slice/user@7.service\n", LIMIT_SERVER), "--pid 12"));
    assert_non_null(strstr(fix_files("0::/system.slice/docker.service\n", LIMIT_SERVER),
                           "edit docker.service"));
    assert_string_equal(fix_files("0::/system.slice/docker-0123.scope\n", LIMIT_CLIENT),
                        "docker run --ulimit nofile=5001:5001 ...");
    /* docker has no option for this limit */
    write_file("11/limits", as);
    assert_non_null(
        strstr(fix(LIMIT_ADDRESS_SPACE, LIMIT_CLIENT), "as root of the machine: prlimit"));
    put_tasks("v2/system.slice/docker-0123.scope", "20\n", "9\n");
    assert_string_equal(fix(LIMIT_CGROUP_TASKS, LIMIT_CLIENT),
                        "docker update --pids-limit 60 CONTAINER");
    put_process(CLIENT, "0::/machine.slice/libpod-0123.scope/container\n");
    put_tasks("v2/machine.slice/libpod-0123.scope/container", "20\n", "9\n");
    assert_string_equal(fix(LIMIT_CGROUP_TASKS, LIMIT_CLIENT), "podman run --pids-limit 60 ...");
}

/* A limit belongs to the unit of its folder, which may differ from the unit of the process. */
TEST_BETWEEN(test_limits_of_units, set_up, tear_down)
{
    static const struct {
        const char *folder;
        const char *fix;
    } units[] = {
        {"system.slice/db.service", "systemctl set-property db.service TasksMax=60"},
        {"user.slice", "systemctl set-property user.slice TasksMax=60"},
        {"user.slice/user@7.service", "systemctl set-property user@7.service TasksMax=60"},
        {"user.slice/user@7.service/a.slice", "systemctl --user set-property a.slice TasksMax=60"},
    };
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        char path[128];
        snprintf(path, sizeof path, "0::/%s/x\n", units[i].folder);
        put_process(CLIENT, path);
        snprintf(path, sizeof path, "v2/%s", units[i].folder);
        put_tasks(path, "20\n", "9\n");
        assert_string_equal(fix(LIMIT_CGROUP_TASKS, LIMIT_CLIENT), units[i].fix);
        put_tasks(path, "max\n", "9\n");
    }
}
