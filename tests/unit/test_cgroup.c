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
    /* the cgroup above the root of the namespace cannot be seen either: the folder above the mount
     * is not this cgroup */
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

/* Version 1 limits tasks, and version 2 is mounted without limits. Docker mounts only a part of the
 * hierarchy. */
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
                        "in /etc/security/limits.conf: 99999 - nofile 5001, then start the server "
                        "from a new login; or as root: prlimit --nofile=5001 --pid 12");
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
        strstr(fix(LIMIT_ADDRESS_SPACE, LIMIT_CLIENT), "as root outside the container: prlimit"));
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

static void put_status(int pid, int uid, int threads, const char *capabilities)
{
    char path[64], text[128];
    snprintf(path, sizeof path, "%d/status", pid);
    snprintf(text, sizeof text, "Uid:\t%d\t7\t7\t7\nThreads:\t%d\nCapEff:\t%s\nVmSize:\t1024 kB\n",
             uid, threads, capabilities);
    write_file(path, text);
}

static void put_limits(int pid, const char *tasks, const char *files, const char *space)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "%d/limits", pid);
    snprintf(text, sizeof text,
             "Max processes %s processes\nMax open files %s files\nMax address space %s bytes\n",
             tasks, files, space);
    write_file(path, text);
}

/* Makes a client and a server of user 99999, who has no name. Neither process has limits. */
static int set_up_pair(void **state)
{
    const int failed = set_up(state);
    for (int pid = CLIENT; failed == 0 && pid <= SERVER; pid++) {
        put_process(pid, "0::/\n");
        put_status(pid, 99999, pid == CLIENT ? 3 : 5, "0");
        put_limits(pid, "unlimited unlimited", "unlimited unlimited", "unlimited unlimited");
    }
    return failed;
}

/* Returns the number of malloc arenas that threads may still add on this machine. */
static uint64_t arenas(void)
{
    return 8 * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) - 1;
}

/* Expects the numbers of a limit: "each allowed used needed sessions". */
static const struct limit *expect_limit(enum limit_id id, enum limit_side side, const char *numbers)
{
    char text[128];
    const struct limit *limit = find(id, side);
    assert_non_null(limit);
    snprintf(text, sizeof text, "%llu %lld %llu %llu %lld", (unsigned long long)limit->each,
             (long long)limit->allowed, (unsigned long long)limit->used,
             (unsigned long long)limit->needed, (long long)limit->sessions);
    assert_string_equal(text, numbers);
    return limit;
}

/* The tasks of a user: a client and a server of the same user share one limit. */
TEST_BETWEEN(test_tasks_of_users, set_up_pair, tear_down)
{
    server.tasks_per_session = 2;
    write_file("400/status", "Uid:\t99999\t7\t7\t7\nThreads:\t9\nCapEff:\t0\n");
    write_file("401/status", "Uid:\t1\t7\t7\t7\nThreads:\t90\nCapEff:\t0\n");
    put_limits(CLIENT, "1000 2000", "9 9", "unlimited unlimited");
    put_limits(SERVER, "100 2000", "9 9", "unlimited unlimited");
    const struct limit *limit = expect_limit(LIMIT_USER_TASKS, LIMIT_CLIENT, "3 1000 17 151 327");
    assert_string_equal(limit->note, "");
    assert_int_equal(limit->grade, LIMIT_PASS);
    assert_string_equal(limit->fix, "");
    limit = expect_limit(LIMIT_USER_TASKS, LIMIT_SERVER, "3 100 17 151 27");
    assert_int_equal(limit->grade, LIMIT_FAIL);
    assert_string_equal(limit->fix,
                        "in /etc/security/limits.conf: 99999 - nproc 168, then start the server "
                        "from a new login; or as root: prlimit --nproc=168 --pid 12");
    put_status(SERVER, 88888, 5, "0");
    expect_limit(LIMIT_USER_TASKS, LIMIT_CLIENT, "1 1000 12 51 987");
    expect_limit(LIMIT_USER_TASKS, LIMIT_SERVER, "2 100 5 100 47");
    put_limits(CLIENT, "20 62", "9 9", "unlimited unlimited");
    assert_non_null(strstr(fix(LIMIT_USER_TASKS, LIMIT_CLIENT),
                           "nproc 63, then log in again; or: "
                           "sudo prlimit --nproc=63 --pid $$"));
    put_limits(CLIENT, "20 63", "9 9", "unlimited unlimited");
    assert_string_equal(fix(LIMIT_USER_TASKS, LIMIT_CLIENT), "ulimit -Su 63");
    put_limits(CLIENT, "1000 2000", "9 9", "unlimited unlimited");
    put_status(CLIENT, 0, 3, "0"); /* an unknown process is not root's */
    question.server_pid = 78;
    expect_limit(LIMIT_USER_TASKS, LIMIT_CLIENT, "1 1000 3 51 996");
    question.server_pid = SERVER;
    server.tasks_per_session = 0; /* the server has no task for a session */
    assert_null(find(LIMIT_USER_TASKS, LIMIT_SERVER));
}

/* Root and some privileges are exempt, but not in a user namespace. */
TEST_BETWEEN(test_tasks_of_privileged_users, set_up_pair, tear_down)
{
    static const char initial[] = "0 0 4294967295\n";
    static const struct {
        int uid;
        const char *capabilities, *map, *note;
    } cases[] = {
        {99999, "0000000000200000", initial, "does not apply to 99999"},
        {99999, "0000000001000000", initial, "does not apply to 99999"},
        {99999, "fffffffffedfffff", initial, ""},
        {99999, "0000000000200000", "0 1000 1\n", ""},
        {0, "0", initial, "does not apply to root"},
        {0, "0", "0 0 65536\n", ""},
        {0, "0", "1 0 4294967295\n", ""},
    };
    put_limits(CLIENT, "1000 2000", "9 9", "unlimited unlimited");
    EACH_CASE (i, cases, "case %zu", i) {
        put_status(CLIENT, cases[i].uid, 3, cases[i].capabilities);
        write_file("11/uid_map", cases[i].map);
        const struct limit *limit = find(LIMIT_USER_TASKS, LIMIT_CLIENT);
        assert_string_equal(limit->note, cases[i].note);
        assert_int_equal(limit->allowed, cases[i].note[0] == '\0' ? 1000 : LIMIT_NONE);
    }
}

TEST_BETWEEN(test_open_files_of_both, set_up_pair, tear_down)
{
    question.files_per_session = 2;
    question.other_files = 7;
    server.files_per_session = 3;
    put_limits(CLIENT, "9 9", "100 200", "unlimited unlimited");
    put_limits(SERVER, "9 9", "150 300", "unlimited unlimited");
    write_file("11/fd/199", "");
    write_file("11/fd/200", ""); /* does not count: with a limit of 200 the numbers are 0 to 199 */
    write_file("12/fd/1", "");
    const struct limit *limit = expect_limit(LIMIT_OPEN_FILES, LIMIT_CLIENT, "2 200 2 107 95");
    assert_int_equal(limit->grade, LIMIT_PASS);
    limit = expect_limit(LIMIT_OPEN_FILES, LIMIT_SERVER, "3 150 2 150 49");
    assert_int_equal(limit->grade, LIMIT_FAIL);
    assert_false(limit->is_estimate);
    assert_string_equal(limit->where, "its ulimit -Sn");
    assert_string_equal(limit->name, "RLIMIT_NOFILE");
    assert_string_equal(limit->unit, "files");
    limit = find(LIMIT_USER_TASKS, LIMIT_SERVER);
    assert_string_equal(limit->where, "its ulimit -u");
    assert_string_equal(limit->name, "RLIMIT_NPROC");
    assert_string_equal(limit->unit, "threads");
    server.files_per_session = 1;
    expect_limit(LIMIT_OPEN_FILES, LIMIT_SERVER, "1 150 2 50 148");
    server.files_per_session = 0; /* a process for each session */
    assert_null(find(LIMIT_OPEN_FILES, LIMIT_SERVER));
    server.files_per_session = 3;
    char path[64];
    for (int i = 0; i <= 1; i++) {
        snprintf(path, sizeof path, "%s/12/fd/%d", root, i);
        assert_int_equal(unlink(path), 0);
    }
    snprintf(path, sizeof path, "%s/12/fd", root);
    assert_int_equal(rmdir(path), 0);
    limit = expect_limit(LIMIT_OPEN_FILES, LIMIT_SERVER, "0 150 0 0 -1");
    assert_int_equal(limit->grade, LIMIT_WARN);
    assert_string_equal(limit->note, "the server's open files belong to user 99999 and cannot be "
                                     "counted: run append as root");
}

TEST_BETWEEN(test_tasks_of_the_machine, set_up_pair, tear_down)
{
    server.tasks_per_session = 2;
    write_file("299/status", "Uid:\t1\t7\t7\t7\nThreads:\t90\nCapEff:\t0\n");
    write_file("300/status", "Uid:\t1\t7\t7\t7\nThreads:\t90\nCapEff:\t0\n");
    assert_null(find(LIMIT_THREADS_MAX, LIMIT_CLIENT));
    write_file("loadavg", "0.10 0.20 0.30 2/357 4711\n");
    assert_null(find(LIMIT_THREADS_MAX, LIMIT_CLIENT));
    write_file("sys/kernel/threads-max", "1000\n");
    write_file("sys/kernel/pid_max", "1000\n");
    expect_limit(LIMIT_THREADS_MAX, LIMIT_CLIENT, "3 1000 357 151 214");
    /* pids below 300 are not reused: three tasks have such a pid */
    expect_limit(LIMIT_PID_MAX, LIMIT_CLIENT, "3 700 354 151 115");
    write_file("sys/kernel/pid_max", "301\n");
    assert_string_equal(expect_limit(LIMIT_PID_MAX, LIMIT_CLIENT, "3 1 354 151 0")->fix,
                        "sysctl -w kernel.pid_max=805");
    write_file("sys/kernel/pid_max", "300\n");
    expect_limit(LIMIT_PID_MAX, LIMIT_CLIENT, "3 300 354 151 0");
    write_file("sys/kernel/threads-max", "508\n");
    expect_limit(LIMIT_THREADS_MAX, LIMIT_CLIENT, "3 508 357 151 50");
    write_file("sys/kernel/threads-max", "507\n");
    assert_string_equal(fix(LIMIT_THREADS_MAX, LIMIT_CLIENT), "sysctl -w kernel.threads-max=508");
}

TEST_BETWEEN(test_maps, set_up_pair, tear_down)
{
    char numbers[96];
    const unsigned long long fixed = (1 + arenas()) * 2;
    server.tasks_per_session = 3;
    write_file("11/maps", "a\nb\nc\n");
    write_file("12/maps", "a\nb\n");
    assert_null(find(LIMIT_MAP_COUNT, LIMIT_CLIENT));
    write_file("sys/vm/max_map_count", "1000000\n");
    snprintf(numbers, sizeof numbers, "2 1000000 3 %llu %llu", 100 + fixed,
             (1000000 - 3 - fixed) / 2);
    expect_limit(LIMIT_MAP_COUNT, LIMIT_CLIENT, numbers);
    assert_null(find(LIMIT_MAP_COUNT, LIMIT_SERVER)); /* a process for each session */
    server.files_per_session = 1;
    expect_limit(LIMIT_MAP_COUNT, LIMIT_SERVER, "6 1000000 2 300 166666");
    write_file("sys/vm/max_map_count", "301\n");
    assert_string_equal(fix(LIMIT_MAP_COUNT, LIMIT_SERVER), "sysctl -w vm.max_map_count=302");
}

/* Each thread also takes an arena of 64 MiB until the address space has no room for another arena;
 * the remaining threads take none. */
TEST_BETWEEN(test_address_space, set_up_pair, tear_down)
{
    const unsigned long long mib = 1 << 20, each = 65536 + 4096;
    const unsigned long long least = mib + (8 + 2) * mib + 3 * 64 * mib + 2 * each;
    char space[64], numbers[96], text[96];
    for (unsigned long long less = 0; less < 2; less++) {
        const unsigned long long fixed = 10 * mib + (3 - less) * 64 * mib;
        snprintf(space, sizeof space, "%llu %llu", least - less, 90 * 64 * mib);
        put_limits(CLIENT, "9 9", "9 9", space);
        snprintf(numbers, sizeof numbers, "%llu %llu %llu %llu %llu", each, least - less, mib,
                 50 * each + fixed, (least - less - mib - fixed) / each);
        const struct limit *limit = expect_limit(LIMIT_ADDRESS_SPACE, LIMIT_CLIENT, numbers);
        assert_true(limit->is_estimate);
        assert_int_equal(limit->grade, less == 0 ? LIMIT_WARN : LIMIT_PASS);
    }
    snprintf(space, sizeof space, "%llu unlimited", least);
    put_limits(CLIENT, "9 9", "9 9", space);
    const uint64_t all = mib + 50 * each + 10 * mib + arenas() * 64 * mib;
    snprintf(text, sizeof text, "ulimit -Sv %llu", (unsigned long long)all / 1024);
    assert_string_equal(fix(LIMIT_ADDRESS_SPACE, LIMIT_CLIENT), text);
    put_limits(CLIENT, "9 9", "9 9", "unlimited unlimited");
    snprintf(numbers, sizeof numbers, "%llu -1 %llu %llu -1", each, mib,
             50 * each + 10 * mib + (unsigned long long)arenas() * 64 * mib);
    expect_limit(LIMIT_ADDRESS_SPACE, LIMIT_CLIENT, numbers);
}

/* Local ports of connections to one address. The server listens on 127.0.0.1:5432. */
TEST_BETWEEN(test_ports, set_up_pair, tear_down)
{
    static const char widen[] = "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"";
    static const char reuse[] = "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"; sysctl -w "
                                "net.ipv4.tcp_tw_reuse=1";
    static const char widest[] = "the range is at its maximum: let the server also listen on "
                                 "another address or port";
    static const char restart[] = "the server's port 5432 is in this range: while the server "
                                  "restarts, another connection may take the port; to prevent "
                                  "this, add the port to net.ipv4.ip_local_reserved_ports";
    static const char minute[] =
        "1 of the ports in use is in TIME_WAIT, and becomes free within a minute";
    static const char second[] =
        "1 of the ports in use is in TIME_WAIT, and becomes free within a second";
#define ROW(local, peer, state, timer)                                                             \
    "0: 0100007F:" local " " peer " " state " 00000000:00000000 " timer " 00000000 0 0 4711\n"
#define THERE "0100007F:1538"
    static const char up[] = ROW("2710", THERE, "01", "00:00000000");
    static const char old[] = ROW("2711", THERE, "06", "03:0000170C");   /* 59.00 s are left */
    static const char young[] = ROW("2711", THERE, "06", "03:0000170D"); /* 59.01 s are left */
    static const char two[] =
        ROW("2711", THERE, "06", "03:0000170D") ROW("2712", THERE, "06", "03:0000170D");
    static const struct {
        bool is_estimate;
        const char *host, *range, *reserved, *reuse, *rows, *rows6, *numbers, *note, *fix;
    } cases[] = {
        {false, "127.0.0.1", "10000 10059", "", "0", "", "", "1 60 0 51 59", "", ""},
        {false, "127.0.0.1", "10000 10050", "", "0", "", "", "1 51 0 51 50", "", ""},
        {false, "127.0.0.1", "10000 10049", "", "0", "", "", "1 50 0 51 49", "", widen},
        {false, "127.0.0.1", "10000 10059", "10010-10011,7", "0", "", "", "1 58 0 51 57", "", ""},
        {false, "127.0.0.1", "10000 10050", "", "0", up, "", "1 51 1 51 49", "", widen},
        {false, "127.0.0.1", "10000 10050", "", "0", "", up, "1 51 1 51 49", "", widen},
        {false, "127.0.0.2", "10000 10050", "", "0", up, "", "1 51 0 51 50", "", ""},
        {false, "db.example", "10000 10050", "", "0", up, "", "1 51 1 51 49", "", widen},
        {false, "::ffff:127.0.0.1", "10000 10050", "", "0", up, "", "1 51 1 51 49", "", widen},
        {false, "::ffff:127.0.0.2", "10000 10050", "", "0", up, "", "1 51 0 51 50", "", ""},
        /* a port in TIME_WAIT may become free while the sessions connect */
        {true, "127.0.0.1", "10000 10049", "", "0", young, "", "1 50 1 50 49", minute, reuse},
        {false, "127.0.0.1", "10000 10048", "", "0", young, "", "1 49 1 50 48", minute, reuse},
        {true, "127.0.0.1", "10000 10049", "", "0", old, "", "1 50 1 50 49", minute, reuse},
        {false, "127.0.0.1", "10000 10050", "", "0", young, "", "1 51 1 50 50", minute, ""},
        {false, "127.0.0.1", "10000 10059", "", "0", two, "", "1 60 2 50 58",
         "2 of the ports in use are in TIME_WAIT, and become free within a minute", ""},
        {false, "127.0.0.1", "10000 10059", "", "1", young, "", "1 60 1 50 59", second, ""},
        {false, "127.0.0.1", "10000 10059", "", "1", old, "", "1 60 0 51 59", "", ""},
        {false, "127.0.0.1", "10000 10059", "", "2", old, "", "1 60 0 51 59", "", ""},
        {false, "127.0.0.1", "10000 10059", "", "3", old, "", "1 60 1 50 59", minute, ""},
        {false, "localhost", "10000 10059", "", "2", old, "", "1 60 0 51 59", "", ""},
        {false, "::1", "10000 10059", "", "2", "", "", "1 60 0 51 59", "", ""},
        {false, "10.0.0.1", "10000 10059", "", "2",
         ROW("2711", "0100000A:1538", "06", "03:00000001"), "", "1 60 1 50 59", minute, ""},
        {false, "10.0.0.1", "10000 10059", "", "1",
         ROW("2711", "0100000A:1538", "06", "03:00000001"), "", "1 60 0 51 59", "", ""},
        /* the range may include the server's port, or be at its maximum */
        {false, "127.0.0.1", "5432 5491", "", "0", "", "", "1 60 0 51 59", restart, ""},
        {false, "127.0.0.1", "5373 5432", "", "0", "", "", "1 60 0 51 59", restart, ""},
        {false, "127.0.0.1", "5433 5492", "", "0", "", "", "1 60 0 51 59", "", ""},
        {false, "127.0.0.1", "5372 5431", "", "0", "", "", "1 60 0 51 59", "", ""},
        {false, "127.0.0.1", "5432 5491", "5432", "0", "", "", "1 59 0 51 58", "", ""},
        {false, "127.0.0.1", "1024 65535", "1024-65500", "0", "", "", "1 35 0 51 34", "", widest},
        {false, "127.0.0.1", "1000 65535", "1000-65500", "0", "", "", "1 35 0 51 34", "", widest},
        {false, "127.0.0.1", "1025 65535", "1025-65500", "0", "", "", "1 35 0 51 34", "", widen},
        {false, "127.0.0.1", "1024 65534", "1024-65500", "0", "", "", "1 34 0 51 33", "", widen},
    };
    question.uses_tcp = true;
    question.port = 5432;
    question.files_per_session = 1;
    assert_null(find(LIMIT_PORTS, LIMIT_CLIENT));
    EACH_CASE (i, cases, "case %zu", i) {
        char text[512];
        question.host = cases[i].host;
        snprintf(text, sizeof text, "%s\n", cases[i].range);
        write_file("sys/net/ipv4/ip_local_port_range", text);
        snprintf(text, sizeof text, "%s\n", cases[i].reserved);
        write_file("sys/net/ipv4/ip_local_reserved_ports", text);
        snprintf(text, sizeof text, "%s\n", cases[i].reuse);
        write_file("sys/net/ipv4/tcp_tw_reuse", text);
        snprintf(text, sizeof text, "sl local\n%s", cases[i].rows);
        write_file("net/tcp", text);
        snprintf(text, sizeof text, "sl local\n%s", cases[i].rows6);
        write_file("net/tcp6", text);
        const struct limit *limit = expect_limit(LIMIT_PORTS, LIMIT_CLIENT, cases[i].numbers);
        assert_string_equal(limit->note, cases[i].note);
        assert_string_equal(limit->fix, cases[i].fix);
        assert_int_equal(limit->is_estimate, cases[i].is_estimate);
    }
#undef ROW
#undef THERE
    write_file("sys/net/ipv4/ip_local_port_range", "10000 10059\n");
    write_file("sys/net/ipv4/ip_local_reserved_ports", "\n");
    question.port = 0; /* unknown, so no connection of the set-up is counted */
    expect_limit(LIMIT_PORTS, LIMIT_CLIENT, "1 60 0 50 60");
    question.hosts = 2;
    question.sessions = 120; /* connections to different hosts may share a port */
    expect_limit(LIMIT_PORTS, LIMIT_CLIENT, "1 60 0 60 120");
    question.port = 5432;
    char waiting[512];
    snprintf(waiting, sizeof waiting, "sl local\n%s", two);
    write_file("net/tcp", waiting);
    assert_true(expect_limit(LIMIT_PORTS, LIMIT_CLIENT, "1 60 2 60 116")->is_estimate);
    write_file("net/tcp", "sl local\n");
    question.hosts = 1;
    question.sessions = SESSIONS;
    question.is_remote = true; /* its port is a port of another machine */
    write_file("sys/net/ipv4/ip_local_port_range", "5432 5491\n");
    assert_string_equal(find(LIMIT_PORTS, LIMIT_CLIENT)->note, "");
    write_file("net/tcp6", "sl local\nbroken\n");
    assert_null(find(LIMIT_PORTS, LIMIT_CLIENT));
    char path[64];
    snprintf(path, sizeof path, "%s/net/tcp6", root); /* a machine without IPv6 */
    assert_int_equal(unlink(path), 0);
    expect_limit(LIMIT_PORTS, LIMIT_CLIENT, "1 60 0 51 59");
    snprintf(path, sizeof path, "%s/net/tcp", root);
    assert_int_equal(unlink(path), 0);
    assert_null(find(LIMIT_PORTS, LIMIT_CLIENT));
    write_file("net/tcp", "sl local\n");
    question.files_per_session = 0;
    assert_null(find(LIMIT_PORTS, LIMIT_CLIENT));
}

enum {
    KIB = 1024
};

TEST_BETWEEN(test_memory_of_the_machine, set_up_pair, tear_down)
{
    char numbers[96];
    assert_null(find(LIMIT_MEMORY, LIMIT_CLIENT));
    write_file("meminfo", "MemTotal: 1000000 kB\nMemAvailable: 600000 kB\nCommitLimit: 900000 kB\n"
                          "Committed_AS: 300000 kB\n");
    static const struct {
        bool is_embedded, has_script;
        unsigned files, kib;
    } cases[] = {
        {false, false, 0, 72 + 3072}, {false, false, 1, 72 + 512}, {false, true, 1, 104 + 512},
        {true, false, 0, 192},        {true, true, 0, 224},
    };
    EACH_CASE (i, cases, "case %zu", i) {
        const int each = (int)cases[i].kib * KIB;
        question.is_embedded = cases[i].is_embedded;
        question.has_script = cases[i].has_script;
        server.files_per_session = cases[i].files;
        write_file("sys/vm/overcommit_memory", "0\n");
        snprintf(numbers, sizeof numbers, "%d %d %d %d %d", each, 1000000 * KIB, 400000 * KIB,
                 50 * each, 600000 * KIB / each);
        const struct limit *limit = expect_limit(LIMIT_MEMORY, LIMIT_CLIENT, numbers);
        assert_true(limit->is_estimate);
        assert_string_equal(limit->note, "");
        assert_null(find(LIMIT_COMMIT, LIMIT_CLIENT));
        write_file("sys/vm/overcommit_memory", "2\n"); /* then stacks count as well */
        snprintf(numbers, sizeof numbers, "%d %d %d %d %d", each + 65536, 900000 * KIB,
                 300000 * KIB, 50 * (each + 65536), 600000 * KIB / (each + 65536));
        limit = expect_limit(LIMIT_COMMIT, LIMIT_CLIENT, numbers);
        assert_string_equal(limit->note,
                            "the kernel counts the whole stack of each thread, used or not");
    }
    question.sessions = 1000000;
    assert_string_equal(fix(LIMIT_MEMORY, LIMIT_CLIENT), "add memory, or run fewer sessions");
    assert_string_equal(fix(LIMIT_COMMIT, LIMIT_CLIENT), "sysctl -w vm.overcommit_memory=0");
    assert_int_equal(find(LIMIT_COMMIT, LIMIT_CLIENT)->grade, LIMIT_WARN);
}

/* The memory of cgroups of both versions. */
TEST_BETWEEN(test_memory_of_cgroups, set_up_pair, tear_down)
{
    const int theirs = 3072 * KIB, ours = 72 * KIB;
    char numbers[96];
    write_file("11/mountinfo", "30 25 0:26 / @/v2 rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
                               "31 25 0:27 / @/v1 rw - cgroup cgroup rw,memory\n");
    put_process(CLIENT, "4:memory:/box\n0::/\n");
    put_process(SERVER, "4:memory:/box/db\n0::/\n");
    write_file("v1/box/memory.limit_in_bytes", "40000000\n");
    write_file("v1/box/memory.usage_in_bytes", "10000000\n");
    write_file("v1/box/memory.stat", "inactive_file 5\ntotal_inactive_file 1000000\n");
    write_file("v1/box/db/memory.limit_in_bytes", "4611686018427387904\n"); /* none */
    write_file("v1/box/db/memory.usage_in_bytes", "9\n");
    snprintf(numbers, sizeof numbers, "%d 40000000 9000000 %d %d", ours + theirs,
             50 * (ours + theirs), 31000000 / (ours + theirs));
    const struct limit *limit = expect_limit(LIMIT_CGROUP_MEMORY, LIMIT_CLIENT, numbers);
    assert_string_equal(limit->name, "memory.limit_in_bytes");
    assert_non_null(strstr(limit->where, "/v1/box/memory.limit_in_bytes"));
    assert_null(find(LIMIT_CGROUP_MEMORY, LIMIT_SERVER)); /* listed for the client */
    write_file("v1/box/db/memory.limit_in_bytes", "4611686018427387903\n");
    snprintf(numbers, sizeof numbers, "%d 4611686018427387903 9 %d %llu", theirs, 50 * theirs,
             (4611686018427387903ULL - 9) / (unsigned)theirs);
    expect_limit(LIMIT_CGROUP_MEMORY, LIMIT_SERVER, numbers);
    put_process(SERVER, "4:memory:/boxes\n0::/\n"); /* a name that begins like the client's */
    write_file("v1/boxes/memory.limit_in_bytes", "40000000\n");
    write_file("v1/boxes/memory.usage_in_bytes", "10000000\n");
    snprintf(numbers, sizeof numbers, "%d 40000000 9000000 %d %d", ours, 50 * ours,
             31000000 / ours);
    expect_limit(LIMIT_CGROUP_MEMORY, LIMIT_CLIENT, numbers);
    snprintf(numbers, sizeof numbers, "%d 40000000 10000000 %d %d", theirs, 50 * theirs,
             30000000 / theirs);
    expect_limit(LIMIT_CGROUP_MEMORY, LIMIT_SERVER, numbers);
    /* in a container: docker or Podman */
    put_process(CLIENT, "4:memory:/docker/4e2f\n0::/\n");
    write_file("v1/docker/4e2f/memory.limit_in_bytes", "1000000\n");
    write_file("v1/docker/4e2f/memory.usage_in_bytes", "600\n");
    char text[128];
    snprintf(text, sizeof text, "docker update --memory %d --memory-swap %d CONTAINER",
             600 + 50 * ours, 600 + 50 * ours);
    assert_string_equal(fix(LIMIT_CGROUP_MEMORY, LIMIT_CLIENT), text);
    put_process(CLIENT, "4:memory:/libpod-4e2f\n0::/\n");
    write_file("v1/libpod-4e2f/memory.limit_in_bytes", "1000000\n");
    write_file("v1/libpod-4e2f/memory.usage_in_bytes", "600\n");
    snprintf(text, sizeof text, "podman update --memory %d --memory-swap %d CONTAINER",
             600 + 50 * ours, 600 + 50 * ours);
    assert_string_equal(fix(LIMIT_CGROUP_MEMORY, LIMIT_CLIENT), text);
}

/* Both versions of cgroups may limit tasks; units have names of three kinds. */
TEST_BETWEEN(test_tasks_of_cgroups, set_up_pair, tear_down)
{
    static const struct {
        const char *folder, *fix;
    } cases[] = {
        {"a.scope", "systemctl set-property a.scope TasksMax=60"},
        {"a.service", "systemctl set-property a.service TasksMax=60"},
        {"a.slice", "systemctl set-property a.slice TasksMax=60"},
        {"a.socket", NULL}, /* no unit of this kind has limits */
        {"a.slices", NULL},
        {".slice", NULL},
        {"user@7.service/app.scope", "systemctl --user set-property app.scope TasksMax=60"},
    };
    EACH_CASE (i, cases, "%s", cases[i].folder) {
        char path[64], text[128];
        snprintf(path, sizeof path, "0::/%s\n", cases[i].folder);
        put_process(CLIENT, path);
        snprintf(path, sizeof path, "v2/%s", cases[i].folder);
        put_tasks(path, "20\n", "9\n");
        snprintf(text, sizeof text, "echo 60 > %s/%s/pids.max", root, path);
        assert_string_equal(fix(LIMIT_CGROUP_TASKS, LIMIT_CLIENT),
                            cases[i].fix == NULL ? text : cases[i].fix);
    }
    /* unlike append, the server needs no thread besides those of its sessions */
    put_process(SERVER, "0::/db\n");
    put_tasks("v2/db", "59\n", "10\n");
    expect_limit(LIMIT_CGROUP_TASKS, LIMIT_SERVER, "1 59 10 50 49");
    server.tasks_per_session = 0;
    assert_null(find(LIMIT_CGROUP_TASKS, LIMIT_SERVER));
}

/* Each limit is compared with the sessions of this process, of this machine or of one host, not
 * with all sessions of the run. */
TEST_BETWEEN(test_sessions_elsewhere, set_up_pair, tear_down)
{
    question.files_per_session = 1;
    question.other_threads = 0;
    put_limits(CLIENT, "26 100", "34 34", "unlimited unlimited");
    put_limits(SERVER, "26 100", "14 14", "unlimited unlimited");
    put_status(SERVER, 88888, 5, "0");
    question.in_other_processes = 20;
    question.on_other_machines = 10;
    /* this process has 30 of the 50 sessions, and this machine has 40 */
    expect_limit(LIMIT_OPEN_FILES, LIMIT_CLIENT, "1 34 1 30 53");
    expect_limit(LIMIT_USER_TASKS, LIMIT_CLIENT, "1 26 3 40 33");
    expect_limit(LIMIT_USER_TASKS, LIMIT_SERVER, "1 26 5 50 21");
    question.hosts = 2;
    question.sessions = 51; /* each host may get 26 */
    expect_limit(LIMIT_USER_TASKS, LIMIT_SERVER, "1 26 5 26 42");
    expect_limit(LIMIT_USER_TASKS, LIMIT_CLIENT, "1 26 3 41 33");
    struct limit limit = {.id = LIMIT_OPEN_FILES};
    assert_true(limits_is_of_process(&limit));
    limit.id = LIMIT_MAP_COUNT;
    assert_true(limits_is_of_process(&limit));
    limit.id = LIMIT_ADDRESS_SPACE;
    assert_true(limits_is_of_process(&limit));
    limit.id = LIMIT_MEMORY;
    assert_false(limits_is_of_process(&limit));
}

static const struct limit *find_named(const char *name)
{
    const struct limit *found = NULL;
    for (size_t i = 0; i < list.count; i++) {
        found = strcmp(list.entries[i].name, name) == 0 ? &list.entries[i] : found;
    }
    return found;
}

/* A limit that cannot be read is a warning with a reason. */
TEST_BETWEEN(test_what_cannot_be_read, set_up_pair, tear_down)
{
    limits_read_at(-1, CLIENT, &question, &list);
    assert_int_equal(list.count, 1);
    const struct limit *limit = &list.entries[0];
    assert_string_equal(limit->name, "limits of this machine");
    assert_string_equal(limit->where, "/proc");
    assert_string_equal(limit->unit, "threads");
    assert_string_equal(limit->note, "/proc cannot be opened");
    assert_int_equal(limit->side, LIMIT_CLIENT);
    assert_int_equal(limit->grade, LIMIT_WARN);
    assert_true(limit->is_unknown && limit->allowed == LIMIT_NONE);

    limits_read_at(proc, 77, &question, &list);
    limit = find_named("limits of this program");
    assert_non_null(limit);
    assert_string_equal(limit->note, "/proc/self cannot be read");
    assert_int_equal(limit->side, LIMIT_CLIENT);
    assert_null(find_named("limits of its process"));

    question.server_pid = 78;
    limits_read_at(proc, CLIENT, &question, &list);
    limit = find_named("limits of its process");
    assert_non_null(limit);
    assert_string_equal(limit->note, "process 78 cannot be read: No such file or directory");
    assert_int_equal(limit->side, LIMIT_SERVER);
    assert_null(find(LIMIT_OPEN_FILES, LIMIT_SERVER));

    question.has_server = false;
    assert_false(limits_has_server_here(&question));
    limits_read_at(proc, CLIENT, &question, &list);
    assert_null(find_named("limits of its process"));
    question.has_server = true;
    assert_true(limits_has_server_here(&question));
    question.is_embedded = true;
    assert_false(limits_has_server_here(&question));
    question.is_embedded = false;
    question.is_remote = true;
    assert_false(limits_has_server_here(&question));
}

TEST_BETWEEN(test_settings_of_the_database, set_up_pair, tear_down)
{
    server = (struct server_limits){
        .version = "17.2 (Debian)",
        .count = 1,
        .sessions = {{.name = "max_connections", .allowed = 51, .used = 0, .fix = "set N"}}};
    const struct limit *limit = expect_limit(LIMIT_SESSIONS, LIMIT_DATABASE, "1 51 0 50 51");
    assert_string_equal(limit->note, "0 of 51 in use now");
    assert_string_equal(limit->where, "17.2");
    assert_string_equal(limit->unit, "sessions");
    assert_string_equal(limit->fix, "");
    server.sessions[0].used = 3;
    snprintf(server.sessions[0].note, sizeof server.sessions[0].note, "3 are reserved");
    limit = expect_limit(LIMIT_SESSIONS, LIMIT_DATABASE, "1 51 2 50 49");
    assert_string_equal(limit->note, "2 of 51 in use now; 3 are reserved");
    assert_string_equal(limit->fix, "set 52");
    server.is_pooled = true;
    limits_read_at(proc, CLIENT, &question, &list);
    limit = find_named("limits of the pooler");
    assert_non_null(limit);
    assert_int_equal(limit->id, LIMIT_SESSIONS);
    assert_int_equal(limit->side, LIMIT_DATABASE);
    assert_int_equal(limit->grade, LIMIT_WARN);
    assert_true(limit->is_unknown && limit->allowed == LIMIT_NONE);
    assert_string_equal(limit->note,
                        "unknown: a pooler is in front of the server; see the pooler's settings "
                        "(pgbouncer: max_client_conn, default_pool_size)");
}

/* A container is known by its cgroup or by the files that its engine puts into its root. */
TEST_BETWEEN(test_signs_of_containers, set_up_pair, tear_down)
{
    static const char docker[] = "docker run --ulimit nofile=5001:5001 ...";
    static const char podman[] = "podman run --ulimit nofile=5001:5001 ...";
    static const struct {
        const char *cgroup;
        const char *advice;
    } cases[] = {
        {"0::/docker/4e2f\n", docker},
        {"0::/kubepods/a\n", docker},
        {"0::/kubepods.slice/a\n", docker},
        {"0::/a/containerd-4e2f.scope\n", docker},
        {"0::/libpod-4e2f\n", podman},
        {"0::/libpod-4e2f/docker/4e2f\n", docker},
        {"0::/system.slice/containerd.service\n", NULL},
        {"0::/my-docker\n", NULL},
        {"0::/\n", NULL},
    };
    question.files_per_session = 100;
    put_limits(CLIENT, "9 9", "1024 1024", "unlimited unlimited");
    EACH_CASE (i, cases, "%s", cases[i].cgroup) {
        write_file("11/cgroup", cases[i].cgroup);
        const char *text = fix(LIMIT_OPEN_FILES, LIMIT_CLIENT);
        if (cases[i].advice == NULL) {
            assert_null(strstr(text, " run "));
        } else {
            assert_string_equal(text, cases[i].advice);
        }
    }
    write_file("11/root/.dockerenv", "");
    assert_string_equal(fix(LIMIT_OPEN_FILES, LIMIT_CLIENT), docker);
    char path[64];
    snprintf(path, sizeof path, "%s/11/root/.dockerenv", root);
    assert_int_equal(unlink(path), 0);
    write_file("11/root/run/.containerenv", "");
    assert_string_equal(fix(LIMIT_OPEN_FILES, LIMIT_CLIENT), podman);
}

/* The fix names the systemd unit of a process, unless the name of the unit is cut or incomplete. */
TEST_BETWEEN(test_units_of_processes, set_up_pair, tear_down)
{
    char cgroup[256], name[80];
    memset(name, 'x', sizeof name);
    name[71] = '\0';
    question.files_per_session = 100;
    put_limits(CLIENT, "9 9", "1024 1024", "unlimited unlimited");
    snprintf(cgroup, sizeof cgroup, "0::/%s.service\n", name); /* 79 characters */
    write_file("11/cgroup", cgroup);
    assert_non_null(strstr(fix(LIMIT_OPEN_FILES, LIMIT_CLIENT), "xxx.service: [Service]"));
    snprintf(cgroup, sizeof cgroup, "0::/%sx.service\n", name);
    write_file("11/cgroup", cgroup);
    assert_non_null(strstr(fix(LIMIT_OPEN_FILES, LIMIT_CLIENT), "limits.conf"));
    write_file("11/cgroup", "0::/a.service/user@7.service\n"); /* the last one sets the limits */
    assert_non_null(strstr(fix(LIMIT_OPEN_FILES, LIMIT_CLIENT), "limits.conf"));
    write_file("11/cgroup", "0::/user@7.service/a.service\n");
    assert_non_null(strstr(fix(LIMIT_OPEN_FILES, LIMIT_CLIENT), "systemctl edit a.service"));
    write_file("11/cgroup", "0::/a.servicx\n");
    assert_non_null(strstr(fix(LIMIT_OPEN_FILES, LIMIT_CLIENT), "limits.conf"));
    write_file("11/cgroup", "0::/.service\n");
    assert_non_null(strstr(fix(LIMIT_OPEN_FILES, LIMIT_CLIENT), "limits.conf"));
}
