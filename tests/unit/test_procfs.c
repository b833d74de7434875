#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/procfs.h"

#define DATA APPEND_SOURCE "/tests/unit/data/"

struct text {
    char *bytes;
    size_t length;
};

/* Copies text into memory of exactly its size, so that the address sanitizer and valgrind detect a
 * read past the end. */
static struct text exact_copy(const char *bytes, size_t length)
{
    struct text text = {.bytes = malloc(length > 0 ? length : 1), .length = length};
    assert_non_null(text.bytes);
    if (length > 0) {
        memcpy(text.bytes, bytes, length);
    }
    return text;
}

static struct text load(const char *path)
{
    static char bytes[65536];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t length = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    assert_true(length > 0 && length < sizeof(bytes));
    return exact_copy(bytes, length);
}

/* The common signature of all parsers, so that a test can give hostile input to each of them. */
typedef bool (*parser)(const char *text, size_t length);

#define PARSER(name)                                                                               \
    static bool name(const char *text, size_t length)                                              \
    {                                                                                              \
        struct procfs_##name out;                                                                  \
        return procfs_parse_##name(text, length, &out);                                            \
    }

PARSER(cpu)
PARSER(process)
PARSER(rollup)
PARSER(statm)
PARSER(schedstat)
PARSER(status)

static bool listeners(const char *text, size_t length)
{
    struct procfs_inodes found = {0};
    return procfs_parse_listeners(text, length, 28890, &found);
}

static bool unix_listeners(const char *text, size_t length)
{
    struct procfs_inodes found = {0};
    return procfs_parse_unix_listeners(text, length, "/run/db", 5432, &found);
}

static bool memory_stat(const char *text, size_t length)
{
    uint64_t bytes;
    return procfs_parse_cgroup_memory(text, length, &bytes);
}

static bool cpu_stat(const char *text, size_t length)
{
    uint64_t usage_us;
    return procfs_parse_named(text, length, "usage_usec", &usage_us);
}

static bool cgroup(const char *text, size_t length)
{
    char path[PROCFS_PATH_BYTES];
    return procfs_parse_cgroup(text, length, "memory", path) ||
           procfs_parse_cgroup(text, length, "", path);
}

static const parser parsers[] = {cpu,         process,  rollup,    statm,
                                 schedstat,   status,   listeners, unix_listeners,
                                 memory_stat, cpu_stat, cgroup};
enum {
    PARSERS = sizeof(parsers) / sizeof(parsers[0])
};

static struct text given; /* the latest text that a parser was given */

static void give(struct text text)
{
    free(given.bytes);
    given = text;
}

/* Calls procfs_parse_NAME with a text, or with a file of the folder of data. */
#define PARSE(name, text, ...)                                                                     \
    (give(exact_copy(text, strlen(text))),                                                         \
     procfs_parse_##name(given.bytes, given.length, __VA_ARGS__))
#define PARSE_FILE(name, file, ...)                                                                \
    (give(load(DATA file)), procfs_parse_##name(given.bytes, given.length, __VA_ARGS__))

static bool accepts(parser parse, const char *text)
{
    give(exact_copy(text, strlen(text)));
    return parse(given.bytes, given.length);
}

TEST(cpu_times)
{
    struct procfs_cpu out;
    assert_true(PARSE_FILE(cpu, "proc_stat", &out));
    /* the line is: cpu 32953 0 22972 396040 991 0 2648 19 0 0 */
    assert_int_equal(out.total_ticks, 32953 + 22972 + 396040 + 991 + 2648 + 19);
    assert_int_equal(out.busy_ticks, 32953 + 22972 + 2648 + 19);
    assert_int_equal(out.cpus, 2);
    /* user time includes guest time, nice time includes guest_nice */
    assert_true(PARSE(cpu, "cpu  100 50 10 1000 5 1 2 3 90 40\ncpu0 1 1 1 1\n", &out));
    assert_int_equal(out.total_ticks, 1171);
    assert_int_equal(out.busy_ticks, 166);
    assert_int_equal(out.cpus, 1);
    assert_true(accepts(cpu, "cpu 1 2 3 4\ncpu0 1 2 3 4\n"));
    assert_false(accepts(cpu, "cpu 1 2 3\ncpu0 1 2 3\n"));
    assert_false(accepts(cpu, "cpu0 1 2 3 4\ncpu1 1 2 3 4\n"));
    assert_false(accepts(cpu, "cpu 1 2 3 4\nintr 5\n"));
    assert_false(accepts(cpu, "cpu 1 2 x 4\ncpu0 1 2 3 4\n"));
    assert_false(accepts(cpu, "cpu 1 2 3 99999999999999999999\ncpu0 1 2 3 4\n"));
}

static int64_t tick_ns(void)
{
    return 1000000000 / sysconf(_SC_CLK_TCK);
}

TEST(one_process)
{
    struct procfs_process out;
    assert_true(PARSE_FILE(process, "pid_stat_one_process", &out));
    assert_int_equal(out.pid, 4321);
    assert_int_equal(out.parent, 4000);
    assert_string_equal(out.name, "python3");
    assert_false(out.has_ended);
    assert_int_equal(out.threads, 1);
    assert_int_equal(out.own_ns, (7) * tick_ns());
    assert_int_equal(out.reaped_ns, (4) * tick_ns());
    assert_int_equal(out.start_ticks, 230838);
}

TEST(the_processes_of_a_tree)
{
    const struct text text = load(DATA "pid_stat_postgresql_tree");
    size_t count = 0;
    size_t children = 0;
    const char *at = text.bytes;
    const char *const end = text.bytes + text.length;
    while (at < end) {
        struct procfs_process out;
        const char *line_break = memchr(at, '\n', (size_t)(end - at));
        assert_non_null(line_break);
        assert_true(procfs_parse_process(at, (size_t)(line_break + 1 - at), &out));
        assert_string_equal(out.name, "postgres");
        children += out.parent == 10079;
        count++;
        if (out.pid == 10079) {
            assert_int_equal(out.own_ns, (13 + 288) * tick_ns());
            assert_int_equal(out.reaped_ns, (9372 + 5770) * tick_ns());
        }
        at = line_break + 1;
    }
    free(text.bytes);
    assert_int_equal(count, 26);
    assert_int_equal(children, 25);
}

TEST(names_with_blanks_and_parentheses)
{
    struct procfs_process out;
    assert_true(PARSE(
        process, "7 (a) S (b c) R 3 7 7 0 -1 64 1 2 3 4 10 20 30 40 20 -5 9 0 77 1 2\n", &out));
    assert_string_equal(out.name, "a) S (b c");
    assert_false(out.has_ended);
    assert_int_equal(out.parent, 3);
    assert_int_equal(out.own_ns, (30) * tick_ns());
    assert_int_equal(out.reaped_ns, (70) * tick_ns());
    assert_int_equal(out.threads, 9);
    assert_int_equal(out.start_ticks, 77);
    assert_true(PARSE(process,
                      "7 (0123456789012345678901234567890123456789) R 3 7 7 0 -1 64 "
                      "1 2 3 4 10 20 30 40 20 -5 9 0 77\n",
                      &out));
    assert_int_equal(strlen(out.name), PROCFS_NAME_BYTES - 1);
    assert_true(PARSE(process, "7 (a) Z 3 7 7 0 -1 64 1 2 3 4 1 2 -3 4 20 0 9 0 77\n", &out));
    assert_true(out.is_zombie);
    assert_true(out.has_ended);
    assert_int_equal(out.reaped_ns, 4 * tick_ns());
    /* with the flag PF_EXITING: the process was killed, and the kernel frees its memory */
    assert_true(PARSE(process, "7 (a) R 3 7 7 0 -1 4194628 1 2 3 4 1 2 3 4 20 0 9 0 77\n", &out));
    assert_false(out.is_zombie);
    assert_true(out.has_ended);
    assert_true(accepts(process, "7 () R 3 7 7 0 -1 64 1 2 3 4 1 2 3 4 20 0 9 0 77\n"));
    assert_false(accepts(process, "7 (a) R 3 7 7 0 -1 64 1 2 3 4 1 2 3 4 20 0 9 0\n"));
    assert_false(accepts(process, "7 [a) R 3 7 7 0 -1 64 1 2 3 4 1 2 3 4 20 0 9 0 77\n"));
    assert_false(accepts(process, "7  (a) R 3 7 7 0 -1 64 1 2 3 4 1 2 3 4 20 0 9 0 77\n"));
    assert_false(accepts(process, "7 (a) R 3 7 7 0 -1 64 1 2 3 4 1 2 3 4 20 0 9 0 77"));
    assert_false(accepts(process, "7 (a R 3 7 7 0 -1 64 1 2 3 4 1 2 3 4 20 0 9 0 77\n"));
    assert_false(accepts(process, "0 (a) R 3 7 7 0 -1 64 1 2 3 4 1 2 3 4 20 0 9 0 77\n"));
    assert_false(accepts(process, "7 (a) R -3 7 7 0 -1 64 1 2 3 4 1 2 3 4 20 0 9 0 77\n"));
    assert_false(accepts(process, "99999999999 (a) R 3 7 7 0 -1 64 1 2 3 4 1 2 3 4 20 0 9 0 7\n"));
}

TEST(proportional_memory)
{
    struct procfs_rollup out;
    assert_true(PARSE_FILE(rollup, "smaps_rollup_backend", &out));
    assert_int_equal(out.pss_bytes, 774 * 1024);
    assert_true(out.has_pss_anon);
    assert_int_equal(out.pss_anon_bytes, 663 * 1024);
    assert_true(PARSE_FILE(rollup, "smaps_rollup_one_process", &out));
    assert_int_equal(out.pss_bytes, 14205 * 1024);
    assert_int_equal(out.pss_anon_bytes, 11044 * 1024);
    assert_int_equal(out.shared_huge_bytes, 0);
    assert_true(
        PARSE(rollup, "Pss: 8 kB\nShared_Hugetlb: 4096 kB\nPrivate_Hugetlb: 2048 kB\n", &out));
    assert_int_equal(out.pss_bytes, 8192);
    assert_false(out.has_pss_anon);
    assert_int_equal(out.shared_huge_bytes, 4194304);
    assert_int_equal(out.private_huge_bytes, 2097152);
    assert_true(accepts(rollup, "Pss: 8 kB\n"));
    assert_false(accepts(rollup, "Pss_Anon: 1 kB\n"));
    assert_false(accepts(rollup, "Pss: 8 kB\nPss_Anon: 1 k"));
    assert_false(accepts(rollup, "Pss: 8 MB\n"));
    assert_false(accepts(rollup, "Pss: -8 kB\n"));
    assert_false(accepts(rollup, "Pss: 18446744073709551615 kB\n"));
}

TEST(resident_memory)
{
    struct procfs_statm out;
    assert_true(PARSE_FILE(statm, "statm_one_process", &out));
    assert_int_equal(out.resident_pages, 5288);
    assert_int_equal(out.shared_pages, 2527);
    assert_false(accepts(statm, "6950 5288 2527"));
    assert_false(accepts(statm, "6950 5288\n"));
}

TEST(scheduling)
{
    struct procfs_schedstat out;
    assert_true(PARSE_FILE(schedstat, "schedstat_backend", &out));
    assert_int_equal(out.on_cpu_ns, 854946);
    assert_int_equal(out.run_queue_ns, 9834);
    assert_false(accepts(schedstat, "854946 9834\n"));
}

TEST(peak_memory)
{
    struct procfs_status out;
    assert_true(PARSE_FILE(status, "status_one_process", &out));
    assert_int_equal(out.peak_bytes, 1992 * 1024);
    assert_true(accepts(status, "Uid: 1\nThreads: 1\nCapEff: 0\nVmHWM: 1 kB\n"));
    assert_false(accepts(status, "Uid: 1\nThreads: 1\nCapEff: 0\nVmHWM: 1 MB\n"));
}

static size_t count_unix(const char *path, uint16_t port, struct procfs_inodes *found)
{
    static const char text[] =
        "Num       RefCount Protocol Flags    Type St Inode Path\n"
        "0000000000000000: 00000002 00000000 00010000 0001 01 11 /run/db/.s.PGSQL.5432\n"
        "0000000000000000: 00000003 00000000 00000000 0001 03 12 /run/db/.s.PGSQL.5432\n"
        "0000000000000000: 00000002 00000000 00010000 0001 01 13 /run/db/deeper/.s.PGSQL.5432\n"
        "0000000000000000: 00000002 00000000 00010000 0001 01 14 /run/db/15432\n"
        "0: 00000003 00000000 00000000 0001 03 15\n"
        "0000000000000000: 00000002 00000000 00010000 0001 01 16 /run/d b/mysqld.sock\n"
        "0000000000000000: 00000002 00000000 00010000 0001 01 17 @/run/db\n";
    found->count = 0;
    assert_true(PARSE(unix_listeners, text, path, port, found));
    return found->count;
}

TEST(listening_unix_sockets)
{
    struct procfs_inodes found;
    assert_int_equal(count_unix("/run/db", 5432, &found), 1);
    assert_int_equal(found.inodes[0], 11);
    assert_int_equal(count_unix("/run/db", 432, &found), 0);
    assert_int_equal(count_unix("/run/d b/mysqld.sock", 3306, &found), 1);
    assert_int_equal(found.inodes[0], 16);
    assert_int_equal(count_unix("/run", 5432, &found), 0);
    assert_false(accepts(unix_listeners, ""));
    assert_false(accepts(unix_listeners, "Num\n0: 2 0 00010000 1 1\n"));
    assert_false(accepts(unix_listeners, "Num\n0: 2 0 x 1 1 5 /run/db\n"));
}

TEST(listening_sockets)
{
    struct procfs_inodes found = {0};
    assert_true(PARSE_FILE(listeners, "proc_net_tcp_postgresql", 0x70DA, &found));
    assert_int_equal(found.count, 1); /* connections with the same local port are not counted */
    assert_int_equal(found.inodes[0], 224325);
    assert_true(PARSE_FILE(listeners, "proc_net_tcp_postgresql", 0x07E8, &found));
    assert_int_equal(found.count, 2);
    assert_int_equal(found.inodes[1], 1145);
    assert_true(PARSE_FILE(listeners, "proc_net_tcp_postgresql", 9, &found));
    assert_int_equal(found.count, 2);
    found.count = 0;
    assert_true(PARSE_FILE(listeners, "proc_net_tcp6", 27555, &found));
    assert_int_equal(found.count, 1);
    assert_int_equal(found.inodes[0], 277694);
    assert_true(accepts(listeners, "  sl  local_address\n"));
    assert_false(accepts(listeners, ""));
    assert_false(accepts(listeners, "  sl  local_address\n   0: 0100007F:70DA 0:0 0A 0 0\n"));
    assert_false(accepts(listeners, "  sl  local\n 0: 0100007F70DA 0:0 0A 0 0 0 0 0 224325\n"));
    assert_false(accepts(listeners, "  sl  local\n 0: 0100007F:70DAF 0:0 0A 0 0 0 0 0 224325\n"));
    assert_false(accepts(listeners, "  sl  local\n 0: 0100007F:70DA 0:0 0A 0 0 0 0 0 22x\n"));
}

TEST(memory_of_cgroups)
{
    uint64_t bytes;
    assert_true(PARSE_FILE(cgroup_memory, "memory_stat_v2", &bytes));
    assert_int_equal(bytes, 52310016 + 150994944);
    assert_true(PARSE_FILE(cgroup_memory, "memory_stat_v1", &bytes));
    assert_int_equal(bytes, 761393152 + 699502592);
    assert_false(accepts(memory_stat, "anon 5\n"));
    assert_false(accepts(memory_stat, "anon 5\nshmem 7"));
    assert_false(accepts(memory_stat, "shmem 5\ntotal_rss 9\n"));
    assert_true(accepts(cpu_stat, "usage_usec 5\nuser_usec 3\n"));
    assert_false(accepts(cpu_stat, "user_usec 5\n"));
}

TEST(cgroup_paths)
{
    char path[PROCFS_PATH_BYTES];
    assert_true(PARSE_FILE(cgroup, "cgroup_v1", "memory", path));
    assert_string_equal(path, "/database/one");
    assert_true(PARSE_FILE(cgroup, "cgroup_v1", "", path));
    assert_string_equal(path, "/");
    assert_false(PARSE_FILE(cgroup, "cgroup_v2", "memory", path));
    assert_true(PARSE_FILE(cgroup, "cgroup_v2", "", path));
    assert_string_equal(path, "/system.slice/postgresql@15-main.service");
    assert_false(accepts(cgroup, "0:/a\n"));
    assert_false(accepts(cgroup, "0::\n"));
    assert_false(accepts(cgroup, "0::/a"));
    assert_false(accepts(cgroup, "4:memory_other:/a\n"));
}

static const char limits_file[] =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max cpu time              unlimited            unlimited            seconds   \n"
    "Max processes             96365                unlimited            processes \n"
    "Max open files            1024                 20000                files     \n"
    "Max address space         unlimited            unlimited            bytes     \n";

TEST(limits_of_a_process)
{
    struct procfs_rlimits out;
    assert_true(PARSE(rlimits, limits_file, &out));
    assert_int_equal(out.tasks.soft, 96365);
    assert_true(out.tasks.hard == UINT64_MAX);
    assert_int_equal(out.files.soft, 1024);
    assert_int_equal(out.files.hard, 20000);
    assert_true(out.address_space.soft == UINT64_MAX);
    /* a file that is cut short, a missing limit, and a value that is not a number are refused */
    char *cut = exact_copy(limits_file, strlen(limits_file)).bytes;
    assert_false(procfs_parse_rlimits(cut, strlen(limits_file) - 1, &out));
    assert_false(procfs_parse_rlimits(cut, strlen(limits_file) / 2, &out));
    free(cut);
    assert_false(PARSE(rlimits, "Max processes 1 2 processes\nMax open files 1 2 files\n", &out));
    assert_false(PARSE(rlimits, "Max processes 1 x processes\n", &out));
}

TEST(status_of_a_process)
{
    static const char text[] = "Name:\tpostgres\nUid:\t106\t107\t107\t107\nVmSize:\t  219384 kB\n"
                               "Threads:\t7\nCapEff:\t0000000001000000\n";
    struct procfs_status out;
    assert_true(PARSE(status, text, &out));
    assert_int_equal(out.uid, 106);
    assert_int_equal(out.threads, 7);
    assert_int_equal(out.size_bytes, UINT64_C(219384) * 1024);
    assert_int_equal(out.capabilities, 1 << 24);
    /* a kernel thread has no memory */
    assert_true(PARSE(status, "Uid:\t0\t0\t0\t0\nThreads:\t1\nCapEff:\t000001ffffffffff\n", &out));
    assert_int_equal(out.size_bytes, 0);
    assert_false(procfs_parse_status(text, strlen(text) - 1, &out));
    assert_false(PARSE(status, "Uid:\t0\t0\t0\t0\nCapEff:\t0\n", &out));
}

TEST(numbers)
{
    uint64_t value = 0;
    assert_true(PARSE(number, "32768\n", &value));
    assert_int_equal(value, 32768);
    assert_true(PARSE(number, "max\n", &value));
    assert_true(value == UINT64_MAX);
    assert_false(PARSE(number, "", &value));
    assert_false(PARSE(number, "32768", &value));
    assert_false(PARSE(number, "-1\n", &value));
    assert_false(PARSE(number, "99999999999999999999\n", &value));

    assert_true(PARSE(tasks, "0.50 0.49 4.67 3/132 25975\n", &value));
    assert_int_equal(value, 132);
    assert_false(PARSE(tasks, "0.50 0.49 4.67 132\n", &value));

    bool is_initial = false;
    assert_true(PARSE(uid_map, "         0          0 4294967295\n", &is_initial));
    assert_true(is_initial);
    assert_true(PARSE(uid_map, "         0       1000          1\n", &is_initial));
    assert_false(is_initial);

    uint64_t lines = 0;
    assert_true(procfs_count_lines("a\n\nb\n", 5, &lines));
    assert_int_equal(lines, 3);
    assert_false(procfs_count_lines("a\nb", 3, &lines));
}

TEST(memory_of_the_machine)
{
    static const char text[] = "MemTotal:       1000 kB\nMemFree:         10 kB\nMemAvailable:    "
                               "600 kB\nCommitLimit:    500 kB\nCommitted_AS:    70 kB\n";
    struct procfs_memory out;
    assert_true(PARSE(memory, text, &out));
    assert_int_equal(out.total, 1000 * 1024);
    assert_int_equal(out.available, 600 * 1024);
    assert_int_equal(out.commit_limit, 500 * 1024);
    assert_int_equal(out.committed, 70 * 1024);
    assert_false(procfs_parse_memory(text, 40, &out));

    uint64_t bytes = 0;
    assert_true(PARSE(cgroup_cache, "inactive_file 5\ntotal_inactive_file 7\n", &bytes));
    assert_int_equal(bytes, 7);
    assert_true(PARSE(cgroup_cache, "anon 5\ninactive_file 9\n", &bytes));
    assert_int_equal(bytes, 9);
    assert_false(PARSE(cgroup_cache, "anon 5\n", &bytes));
}

TEST(cgroups_of_controllers)
{
    static const char text[] = "9:name=systemd:/\n8:cpu,cpuacct:/c\n7:pids:/a/b\n0::/user.slice\n";
    char path[PROCFS_PATH_BYTES];
    assert_true(PARSE(cgroup, text, "pids", path));
    assert_string_equal(path, "/a/b");
    assert_true(PARSE(cgroup, text, "cpuacct", path));
    assert_string_equal(path, "/c");
    assert_true(PARSE(cgroup, text, "", path));
    assert_string_equal(path, "/user.slice");
    assert_false(PARSE(cgroup, text, "memory", path));
    assert_false(PARSE(cgroup, "7:pids\n", "pids", path));
    char longest[PROCFS_PATH_BYTES + 16];
    const int length = snprintf(longest, sizeof longest, "7:pids:/%0*d\n", PROCFS_PATH_BYTES, 0);
    assert_false(procfs_parse_cgroup(longest, (size_t)length, "pids", path));
    /* the longest path that fits */
    snprintf(longest, sizeof longest, "7:pids:/%0*d\n", PROCFS_PATH_BYTES - 2, 0);
    assert_true(PARSE(cgroup, longest, "pids", path));
    assert_int_equal(strlen(path), PROCFS_PATH_BYTES - 1);
}

TEST(mounts)
{
    static const char text[] =
        "31 23 0:28 / /sys rw,relatime - tmpfs tmpfs rw,mode=755\n"
        "39 31 0:36 /docker/x /sys/fs/cg\\040roup/pids rw shared:5 master:1 - cgroup cgroup "
        "rw,pids\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    struct procfs_mount out;
    assert_true(PARSE(mount, text, "pids", &out));
    assert_string_equal(out.root, "/docker/x");
    assert_string_equal(out.point, "/sys/fs/cg roup/pids");
    assert_true(PARSE(mount, text, "", &out));
    assert_string_equal(out.root, "/");
    assert_string_equal(out.point, "/sys/fs/cgroup/unified");
    assert_false(PARSE(mount, text, "memory", &out));
    assert_true(PARSE(mount, "1 2 3 / /a\\134\\377b rw - cgroup2 x rw\n", "", &out));
    assert_string_equal(out.point, "/a\\\377b");
    assert_false(PARSE(mount, "1 2 3 / /a\\400 rw - cgroup2 x rw\n", "", &out));
    assert_false(PARSE(mount, "1 2 3 / /a\\18 rw - cgroup2 x rw\n", "", &out));
    /* an invalid escape */
    assert_false(PARSE(mount, "1 2 3 / /a\\9 rw - cgroup2 x rw\n", "", &out));
}

TEST(ports)
{
    struct procfs_port_range range;
    assert_true(PARSE(port_range, "32768\t60999\n", &range));
    assert_int_equal(range.low, 32768);
    assert_int_equal(range.high, 60999);
    assert_false(PARSE(port_range, "9 8\n", &range));
    assert_false(PARSE(port_range, "1 65536\n", &range));

    struct procfs_ports ports = {0};
    assert_true(PARSE(reserved, "8080,9000-9002,65535\n", &ports));
    unsigned held = 0;
    for (unsigned port = 0; port <= UINT16_MAX; port++) {
        held += procfs_ports_hold(&ports, (uint16_t)port) ? 1 : 0;
    }
    assert_int_equal(held, 5);
    assert_true(procfs_ports_hold(&ports, 8080));
    assert_true(procfs_ports_hold(&ports, 9001));
    assert_true(procfs_ports_hold(&ports, 65535));
    assert_true(PARSE(reserved, "\n", &ports));
    assert_false(PARSE(reserved, "9-8\n", &ports));
    assert_false(PARSE(reserved, "70000\n", &ports));
    assert_false(PARSE(reserved, "1,\n", &ports));
}

/* On x86 127.0.0.1:5432 is shown as 0100007F:1538. */
static const char sockets[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
    "   0: 00000000:9C40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0 0 1\n"
    "   1: 0100007F:9C41 0100007F:1538 01 00000000:00000000 00:00000000 00000000     0 0 1\n"
    "   2: 0100007F:9C42 0200007F:1538 01 00000000:00000000 00:00000000 00000000     0 0 1\n"
    "   3: 0100007F:9C43 0100007F:1538 06 00000000:00000000 03:00000FA0 00000000     0 0 1\n"
    "   4: 0100007F:9C44 0100007F:1538 06 00000000:00000000 03:00001770 00000000     0 0 1\n"
    "   5: 0100007F:9C45 0100007F:0050 01 00000000:00000000 00:00000000 00000000     0 0 1\n";

static uint64_t taken_by(const struct procfs_destination *destination, uint64_t *waiting)
{
    struct procfs_ports ports = {0};
    assert_true(PARSE(sockets, sockets, destination, &ports, waiting));
    uint64_t mask = 0;
    for (unsigned i = 0; i < 6; i++) {
        mask |= procfs_ports_hold(&ports, (uint16_t)(40000 + i)) ? UINT64_C(1) << i : 0;
    }
    return mask;
}

TEST(ports_that_are_taken)
{
    uint64_t waiting = 0;
    struct procfs_destination destination = {.port = 5432, .address = 0x0100007F};
    /* the ports in use: one of the listener, one of the open connection to the destination, and two
     * of connections to the destination in TIME_WAIT */
    assert_int_equal(taken_by(&destination, &waiting), 1 | 2 | 8 | 16);
    assert_int_equal(waiting, 2);
    /* the port that has been in TIME_WAIT for 20 s is reused; the port that has just entered
     * TIME_WAIT is not reused */
    destination.is_wait_reused = true;
    assert_int_equal(taken_by(&destination, &waiting), 1 | 2 | 16);
    assert_int_equal(waiting, 1);
    destination.address = 0; /* any address */
    assert_int_equal(taken_by(&destination, &waiting), 1 | 2 | 4 | 16);
    destination.port = 81;
    assert_int_equal(taken_by(&destination, &waiting), 1);

    struct procfs_ports ports = {0};
    assert_false(
        procfs_parse_sockets(sockets, strlen(sockets) - 1, &destination, &ports, &waiting));
    assert_false(PARSE(sockets, "head\n 0: 0100007F 0100007F:1538 01 0:0 0:0\n", &destination,
                       &ports, &waiting));
}

TEST(named_values)
{
    static const char control[] = "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n";
    uint64_t value = 0;
    assert_true(PARSE(named, control, "oom_kill", &value));
    assert_int_equal(value, 7);
    assert_true(PARSE(named, "max 12\n", "max", &value));
    assert_int_equal(value, 12);
    assert_false(PARSE(named, control, "oom", &value));
    assert_false(PARSE(named, "max 12", "max", &value)); /* the text is cut off */
    assert_false(PARSE(named, "max twelve\n", "max", &value));
    assert_false(PARSE(named, "", "max", &value));
}

TEST(counters_of_the_network)
{
    static const char text[] = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\n"
                               "TcpExt: 304 12 13\n"
                               "IpExt: InNoRoutes Odd\n"
                               "IpExt: 5\n";
    uint64_t value = 0;
    assert_true(PARSE(netstat, text, "ListenOverflows", &value));
    assert_int_equal(value, 12);
    assert_true(PARSE(netstat, text, "ListenDrops", &value));
    assert_int_equal(value, 13);
    assert_true(PARSE(netstat, text, "InNoRoutes", &value));
    assert_int_equal(value, 5);
    assert_false(PARSE(netstat, text, "Odd", &value));
    assert_false(PARSE(netstat, text, "Nothing", &value));
    for (size_t cut = 0; cut < strlen("TcpExt: SyncookiesSent ListenOverflows ListenDrops\n"
                                      "TcpExt: 304 12 13\n");
         cut++) {
        assert_false(procfs_parse_netstat(text, cut, "ListenDrops", &value));
    }
}

static const char *const files[] = {
    "proc_stat",
    "pid_stat_one_process",
    "pid_stat_postmaster",
    "smaps_rollup_backend",
    "statm_one_process",
    "schedstat_backend",
    "status_one_process",
    "memory_stat_v1",
    "memory_stat_v2",
    "cgroup_v1",
    "proc_net_tcp_postgresql",
    "proc_net_tcp6",
    "smaps_rollup_postmaster",
};

/* Gives every beginning of every file to every parser. No parser may read past the end of the text.
 * All parsers must refuse a text that ends within a line, except for the parser of /proc/stat,
 * which needs only the first lines. */
TEST(truncated_files)
{
    EACH_CASE (f, files, "%s", files[f]) {
        char path[256];
        snprintf(path, sizeof(path), DATA "%s", files[f]);
        const struct text text = load(path);
        const size_t limit = text.length < 1500 ? text.length : 1500;
        for (size_t length = 0; length < limit; length++) {
            const struct text part = exact_copy(text.bytes, length);
            const bool is_cut = length == 0 || part.bytes[length - 1] != '\n';
            for (size_t p = 0; p < PARSERS; p++) {
                const bool is_accepted = parsers[p](part.bytes, part.length);
                assert_false(is_accepted && is_cut && parsers[p] != cpu);
            }
            free(part.bytes);
        }
        free(text.bytes);
    }
}

/* A user can be in hundreds of groups, which are all in one line of the file. */
TEST(this_program_in_many_groups)
{
    enum {
        GROUPS = 900
    };
    gid_t groups[GROUPS];
    static gid_t before[NGROUPS_MAX];
    const int count = getgroups(NGROUPS_MAX, before);
    for (unsigned i = 0; i < GROUPS; i++) {
        groups[i] = 1000000 + i;
    }
    if (count < 0 || setgroups(GROUPS, groups) != 0) {
        skip(); /* only root may set the groups of a process */
    }
    const int proc = procfs_open();
    const struct procfs_status own = procfs_read_own(proc);
    assert_int_equal(setgroups((size_t)count, before), 0);
    close(proc);
    assert_int_equal(own.uid, getuid());
    assert_true(own.threads > 0);
    assert_in_range(own.resident_bytes, 1, own.peak_bytes);
}

TEST(garbage)
{
    uint64_t seed = 88172645463325252U;
    static const char alphabet[] = "0123456789 \n\t:()cpuPs.-kBA";
    for (size_t round = 0; round < 5000; round++) {
        char bytes[120];
        for (size_t i = 0; i < sizeof(bytes); i++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            bytes[i] =
                seed % 50 == 0 ? (char)(seed >> 8) : alphabet[(seed >> 8) % (sizeof(alphabet) - 1)];
        }
        const struct text text = exact_copy(bytes, round % sizeof(bytes));
        for (size_t p = 0; p < PARSERS; p++) {
            (void)parsers[p](text.bytes, text.length);
        }
        free(text.bytes);
    }
}

static char folder[32];

/* Writes a file below the test's folder, and makes the file's own folder. */
static void write_below(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/append-procfs-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static double quota_of(const char *cgroups)
{
    char list[64];
    write_below("list", cgroups);
    snprintf(list, sizeof list, "%s/list", folder);
    return procfs_cpu_quota(list, folder);
}

/* The CPUs that cgroups of both versions grant, from a program's cgroup up to the root. */
TEST_BETWEEN(quotas_of_cpus, make_folder, remove_folder)
{
    assert_true(procfs_cpu_quota("/no/such/list", folder) == 0);
    write_below("a/b/cpu.max", "max 100000\n");
    assert_true(quota_of("0::/a/b\n") == 0);
    write_below("a/b/cpu.max", "150000 100000\n");
    assert_true(quota_of("0::/a/b\n") == 1.5);
    assert_true(quota_of("garbage\n7:x\n0::/a/b\n") == 1.5);
    assert_true(quota_of("0::/a/b/c\n") == 1.5);
    assert_true(quota_of("0::/a\n") == 0);
    write_below("a/cpu.max", "50000 100000\n");
    assert_true(quota_of("0::/a/b\n") == 0.5);
    write_below("cpu.max", "25000 100000\n");
    assert_true(quota_of("0::/a/b\n") == 0.25);
    assert_true(quota_of("0::/\n") == 0.25);
    write_below("cpu.max", "300000 100000\n"); /* more than below */
    assert_true(quota_of("0::/a/b\n") == 0.5);
    write_below("cpu.max", "0 100000\n");
    assert_true(quota_of("0::/\n") == 0);
    write_below("cpu.max", "5 0\n");
    assert_true(quota_of("0::/\n") == 0);
    /* version 1 has two files, in a hierarchy of its own */
    write_below("cpu/x/cpu.cfs_quota_us", "-1\n");
    write_below("cpu/x/cpu.cfs_period_us", "100000\n");
    assert_true(quota_of("4:cpu:/x\n") == 0);
    write_below("cpu/x/cpu.cfs_quota_us", "200000\n");
    assert_true(quota_of("4:cpu:/x\n") == 2);
    assert_true(quota_of("4:cpu,cpuacct:/x/y\n") == 2);
    assert_true(quota_of("4:cpuacct,cpu:/x\n") == 2);
    assert_true(quota_of("4:a,cpu,b:/x\n") == 2);
    assert_true(quota_of("4:cpuset:/x\n4:cpuacct:/x\n4:a,cpuset:/x\n") == 0);
    assert_true(quota_of("4:cpu:/x\n0::/a\n") == 0.5);
    write_below("cpu/x/cpu.cfs_period_us", "");
    assert_true(quota_of("4:cpu:/x\n") == 0);
}

/* Calls procfs_describe_bound in a child process that runs at `niceness`. The call asks for
 * `more_cpus` CPUs more than the child may use. */
static void describe_in_child(int more_cpus, int niceness, char text[80])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        cpu_set_t set;
        const bool is_set = sched_getaffinity(0, sizeof set, &set) == 0 &&
                            setpriority(PRIO_PROCESS, 0, niceness) == 0;
        char own[80] = "";
        procfs_describe_bound((unsigned)(CPU_COUNT(&set) + more_cpus), own, sizeof own);
        _exit(is_set && write(ends[1], own, sizeof own) == (ssize_t)sizeof own ? 0 : 1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], text, 80), 80);
    close(ends[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(bounds_of_this_program)
{
    char text[80], expected[80];
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    const int cpus = CPU_COUNT(&set);
    if (procfs_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup") > 0) {
        skip(); /* the quota comes before the rest */
    }
    const int niceness = getpriority(PRIO_PROCESS, 0) > 7 ? 19 : 7;
    snprintf(expected, sizeof expected, "append may use %d of %d CPUs (affinity)", cpus, cpus + 1);
    describe_in_child(1, niceness, text);
    assert_string_equal(text, expected);
    snprintf(expected, sizeof expected, "append runs at nice %d", niceness);
    describe_in_child(0, niceness, text);
    assert_string_equal(text, expected);
    if (getpriority(PRIO_PROCESS, 0) == 0) {
        describe_in_child(0, 0, text);
        assert_string_equal(text, "");
    }
}

/* The times of a thread, from its open file or, without the file, of the calling thread. */
TEST_BETWEEN(time_of_a_thread, make_folder, remove_folder)
{
    struct procfs_schedstat time = {.on_cpu_ns = 0};
    char path[64];
    write_below("schedstat", "5 6 7\n");
    snprintf(path, sizeof path, "%s/schedstat", folder);
    const int file = open(path, O_RDONLY);
    for (int i = 0; i < 2; i++) { /* a file is read from its beginning each time */
        assert_true(procfs_read_thread_file(file, &time));
        assert_int_equal(time.on_cpu_ns, 5);
        assert_int_equal(time.run_queue_ns, 6);
    }
    write_below("schedstat", "5 x\n");
    assert_false(procfs_read_thread_file(file, &time));
    close(file);
    assert_false(procfs_read_thread_file(-1, &time));
    procfs_read_thread(&time);
    assert_true(time.on_cpu_ns > 0);
}

/* The reason why a file cannot be read. */
TEST_BETWEEN(files_that_cannot_be_read, make_folder, remove_folder)
{
    char path[64], bytes[4];
    struct buffer text = {0};
    struct procfs_process process;
    snprintf(path, sizeof path, "%s/x", folder);
    errno = 0;
    assert_int_equal(procfs_read(AT_FDCWD, path, bytes, sizeof bytes), -1);
    assert_int_equal(errno, ENOENT);
    errno = 0;
    assert_false(procfs_load(AT_FDCWD, path, &text));
    assert_int_equal(errno, ENOENT);
    errno = 0;
    assert_null(procfs_open_folder(AT_FDCWD, path));
    assert_int_equal(errno, ENOENT);
    write_below("x", "abcdef");
    assert_int_equal(procfs_read(AT_FDCWD, path, bytes, sizeof bytes), 4);
    assert_memory_equal(bytes, "abcd", 4);
    assert_true(procfs_load(AT_FDCWD, path, &text));
    assert_string_equal(buffer_text(&text), "abcdef");
    errno = 0;
    assert_false(procfs_load(AT_FDCWD, folder, &text)); /* a folder */
    assert_int_equal(errno, EISDIR);
    assert_string_equal(buffer_text(&text), "");
    buffer_fini(&text);
    write_below("7/stat", "garbage\n"); /* as unusable as the text of a process that is ending */
    const int proc = open(folder, O_RDONLY | O_DIRECTORY);
    errno = 0;
    assert_false(procfs_read_process(proc, 7, &process));
    assert_int_equal(errno, ESRCH);
    errno = 0;
    assert_false(procfs_read_process(proc, 8, &process));
    assert_int_equal(errno, ENOENT);
    write_below("7/stat", "");
    errno = 0;
    assert_false(procfs_read_process(proc, 7, &process));
    assert_int_equal(errno, ESRCH);
    close(proc);
}

/* The processes found in a cgroup and in the cgroups below it. note_pid stops the walk after `most`
 * processes. */
struct walked {
    size_t count, most;
    pid_t pids[8];
};

static bool note_pid(void *context, pid_t pid)
{
    struct walked *walked = context;
    walked->pids[walked->count++] = pid;
    return walked->count < walked->most;
}

TEST_BETWEEN(processes_of_cgroups, make_folder, remove_folder)
{
    struct walked walked = {.most = 8};
    write_below("cgroup.procs", "5\n0\n6\n");
    write_below("b/cgroup.procs", "7\n");
    write_below("b/c/cgroup.procs", "8\n");
    write_below("d/cgroup.procs", "9\n");
    write_below("other", "10\n");
    const int file = open(folder, O_RDONLY | O_DIRECTORY);
    assert_true(file >= 0);
    assert_true(cgroup_walk(file, note_pid, &walked));
    assert_int_equal(walked.count, 5);
    assert_int_equal(walked.pids[0], 5);
    assert_int_equal(walked.pids[1], 6);
    int sum = 0;
    for (size_t i = 2; i < 5; i++) {
        sum += walked.pids[i];
    }
    assert_int_equal(sum, 7 + 8 + 9);
    for (size_t most = 1; most <= 5; most++) {
        walked = (struct walked){.most = most};
        assert_false(cgroup_walk(file, note_pid, &walked));
        assert_int_equal(walked.count, most);
    }
    char path[64];
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    assert_int_equal(unlink(path), 0);
    walked = (struct walked){.most = 8};
    assert_false(cgroup_walk(file, note_pid, &walked));
    assert_int_equal(walked.count, 0);
    close(file);
}

/* The folder of a named cgroup, and the folders above it that may be read. */
TEST(folders_of_cgroups)
{
    struct cgroup_folder at;
    char name[sizeof at.path + 2];
    assert_true(cgroup_name("a/b", &at));
    assert_string_equal(at.path, "/sys/fs/cgroup/a/b");
    assert_true(at.is_inside);
    assert_true(cgroup_go_up(&at));
    assert_string_equal(at.path, "/sys/fs/cgroup/a");
    assert_true(cgroup_go_up(&at));
    assert_string_equal(at.path, "/sys/fs/cgroup");
    assert_false(cgroup_go_up(&at));
    assert_true(cgroup_name("/sys/fs/cgroup/x", &at));
    assert_true(cgroup_go_up(&at));
    assert_false(cgroup_go_up(&at));
    assert_true(cgroup_name("/elsewhere/x", &at)); /* its parents are not known to be cgroups */
    assert_string_equal(at.path, "/elsewhere/x");
    assert_false(cgroup_go_up(&at));
    memset(name, 'x', sizeof name);
    name[0] = '/';
    name[sizeof at.path] = '\0';
    errno = 0;
    assert_false(cgroup_name(name, &at));
    assert_int_equal(errno, ENAMETOOLONG);
    name[sizeof at.path - 1] = '\0';
    assert_true(cgroup_name(name, &at));
}
