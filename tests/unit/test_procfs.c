#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measure/procfs.h"

#define DATA APPEND_SOURCE "/tests/unit/data/"

struct text {
    char *bytes;
    size_t length;
};

/* Exactly as large as its content, so that the address sanitizer and valgrind see a read beyond. */
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

/* One call for all parsers, so that the hostile input below goes through each of them. */
typedef bool (*parser)(const char *text, size_t length);

static bool cpu(const char *text, size_t length)
{
    struct procfs_cpu out;
    return procfs_parse_cpu(text, length, &out);
}

static bool process(const char *text, size_t length)
{
    struct procfs_process out;
    return procfs_parse_process(text, length, &out);
}

static bool rollup(const char *text, size_t length)
{
    struct procfs_rollup out;
    return procfs_parse_rollup(text, length, &out);
}

static bool statm(const char *text, size_t length)
{
    struct procfs_statm out;
    return procfs_parse_statm(text, length, &out);
}

static bool schedstat(const char *text, size_t length)
{
    struct procfs_schedstat out;
    return procfs_parse_schedstat(text, length, &out);
}

static bool peak(const char *text, size_t length)
{
    uint64_t out;
    return procfs_parse_peak(text, length, &out);
}

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

static bool cgroup_memory(const char *text, size_t length)
{
    uint64_t bytes;
    return procfs_parse_cgroup_memory(text, length, &bytes);
}

static bool cgroup_cpu(const char *text, size_t length)
{
    uint64_t usage_us;
    return procfs_parse_cgroup_cpu(text, length, &usage_us);
}

static bool cgroup(const char *text, size_t length)
{
    struct procfs_cgroup out;
    return procfs_parse_cgroup(text, length, &out);
}

static bool next_pid(const char *text, size_t length)
{
    size_t offset = 0;
    pid_t pid;
    return procfs_next_pid(text, length, &offset, &pid);
}

static const parser parsers[] = {cpu,           process,    rollup,    statm,
                                 schedstat,     peak,       listeners, unix_listeners,
                                 cgroup_memory, cgroup_cpu, cgroup,    next_pid};
enum {
    PARSERS = sizeof(parsers) / sizeof(parsers[0])
};

static bool accepts(parser parse, const char *text)
{
    const struct text copy = exact_copy(text, strlen(text));
    const bool is_accepted = parse(copy.bytes, copy.length);
    free(copy.bytes);
    return is_accepted;
}

static void cpu_times(void **state)
{
    (void)state;
    struct procfs_cpu out;
    const struct text text = load(DATA "proc_stat");
    assert_true(procfs_parse_cpu(text.bytes, text.length, &out));
    free(text.bytes);
    /* cpu  32953 0 22972 396040 991 0 2648 19 0 0 */
    assert_int_equal(out.total_ticks, 32953 + 22972 + 396040 + 991 + 2648 + 19);
    assert_int_equal(out.busy_ticks, 32953 + 22972 + 2648 + 19);
    assert_int_equal(out.steal_ticks, 19);
    assert_int_equal(out.cpus, 2);
    /* Guest time is inside user time, guest_nice inside nice. */
    static const char guests[] = "cpu  100 50 10 1000 5 1 2 3 90 40\ncpu0 1 1 1 1\n";
    assert_true(procfs_parse_cpu(guests, sizeof(guests) - 1, &out));
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

static void a_process_of_its_own(void **state)
{
    (void)state;
    struct procfs_process out;
    const struct text text = load(DATA "pid_stat_one_process");
    assert_true(procfs_parse_process(text.bytes, text.length, &out));
    free(text.bytes);
    assert_int_equal(out.pid, 4321);
    assert_int_equal(out.parent, 4000);
    assert_string_equal(out.name, "python3");
    assert_int_equal(out.state, 'S');
    assert_int_equal(out.threads, 1);
    assert_int_equal(out.own_ticks, 7);
    assert_int_equal(out.reaped_ticks, 4);
    assert_int_equal(out.start_ticks, 230838);
}

static void the_processes_of_a_tree(void **state)
{
    (void)state;
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
            assert_int_equal(out.own_ticks, 13 + 288);
            assert_int_equal(out.reaped_ticks, 9372 + 5770);
        }
        at = line_break + 1;
    }
    free(text.bytes);
    assert_int_equal(count, 26);
    assert_int_equal(children, 25);
}

static void names_with_blanks_and_parentheses(void **state)
{
    (void)state;
    struct procfs_process out;
    static const char text[] =
        "7 (a) S (b c) R 3 7 7 0 -1 64 1 2 3 4 10 20 30 40 20 -5 9 0 77 1 2\n";
    assert_true(procfs_parse_process(text, sizeof(text) - 1, &out));
    assert_string_equal(out.name, "a) S (b c");
    assert_int_equal(out.state, 'R');
    assert_int_equal(out.parent, 3);
    assert_int_equal(out.own_ticks, 30);
    assert_int_equal(out.reaped_ticks, 70);
    assert_int_equal(out.threads, 9);
    assert_int_equal(out.start_ticks, 77);
    static const char long_name[] = "7 (0123456789012345678901234567890123456789) R 3 7 7 0 -1 64 "
                                    "1 2 3 4 10 20 30 40 20 -5 9 0 77\n";
    assert_true(procfs_parse_process(long_name, sizeof(long_name) - 1, &out));
    assert_int_equal(strlen(out.name), PROCFS_NAME_BYTES - 1);
    assert_true(accepts(process, "7 () R 3 7 7 0 -1 64 1 2 3 4 1 2 3 4 20 0 9 0 77\n"));
    assert_false(accepts(process, "7 (a) R 3 7 7 0 -1 64 1 2 3 4 1 2 3 4 20 0 9 0\n"));
    assert_false(accepts(process, "7 (a) R 3 7 7 0 -1 64 1 2 3 4 1 2 3 4 20 0 9 0 77"));
    assert_false(accepts(process, "7 (a R 3 7 7 0 -1 64 1 2 3 4 1 2 3 4 20 0 9 0 77\n"));
    assert_false(accepts(process, "0 (a) R 3 7 7 0 -1 64 1 2 3 4 1 2 3 4 20 0 9 0 77\n"));
    assert_false(accepts(process, "7 (a) R -3 7 7 0 -1 64 1 2 3 4 1 2 3 4 20 0 9 0 77\n"));
    assert_false(accepts(process, "99999999999 (a) R 3 7 7 0 -1 64 1 2 3 4 1 2 3 4 20 0 9 0 7\n"));
}

static void proportional_memory(void **state)
{
    (void)state;
    struct procfs_rollup out;
    struct text text = load(DATA "smaps_rollup_backend");
    assert_true(procfs_parse_rollup(text.bytes, text.length, &out));
    free(text.bytes);
    assert_int_equal(out.pss_bytes, 774 * 1024);
    assert_true(out.has_pss_anon);
    assert_int_equal(out.pss_anon_bytes, 663 * 1024);
    text = load(DATA "smaps_rollup_one_process");
    assert_true(procfs_parse_rollup(text.bytes, text.length, &out));
    free(text.bytes);
    assert_int_equal(out.pss_bytes, 14205 * 1024);
    assert_int_equal(out.pss_anon_bytes, 11044 * 1024);
    assert_int_equal(out.shared_huge_bytes, 0);
    static const char huge[] = "Pss: 8 kB\nShared_Hugetlb: 4096 kB\nPrivate_Hugetlb: 2048 kB\n";
    assert_true(procfs_parse_rollup(huge, sizeof(huge) - 1, &out));
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

static void resident_memory(void **state)
{
    (void)state;
    struct procfs_statm out;
    const struct text text = load(DATA "statm_one_process");
    assert_true(procfs_parse_statm(text.bytes, text.length, &out));
    free(text.bytes);
    assert_int_equal(out.resident_pages, 5288);
    assert_int_equal(out.shared_pages, 2527);
    assert_false(accepts(statm, "6950 5288 2527"));
    assert_false(accepts(statm, "6950 5288\n"));
}

static void scheduling(void **state)
{
    (void)state;
    struct procfs_schedstat out;
    const struct text text = load(DATA "schedstat_backend");
    assert_true(procfs_parse_schedstat(text.bytes, text.length, &out));
    free(text.bytes);
    assert_int_equal(out.on_cpu_ns, 854946);
    assert_int_equal(out.run_queue_ns, 9834);
    assert_int_equal(out.slices, 2);
    assert_false(accepts(schedstat, "854946 9834\n"));
}

static void peak_memory(void **state)
{
    (void)state;
    uint64_t out;
    const struct text text = load(DATA "status_one_process");
    assert_true(procfs_parse_peak(text.bytes, text.length, &out));
    free(text.bytes);
    assert_int_equal(out, 1992 * 1024);
    assert_false(accepts(peak, "VmRSS: 1 kB\n"));
    assert_false(accepts(peak, "VmHWM: 1 MB\n"));
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
    assert_true(procfs_parse_unix_listeners(text, sizeof text - 1, path, port, found));
    return found->count;
}

static void listening_unix_sockets(void **state)
{
    (void)state;
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

static void listening_sockets(void **state)
{
    (void)state;
    struct procfs_inodes found = {0};
    struct text text = load(DATA "proc_net_tcp_postgresql");
    assert_true(procfs_parse_listeners(text.bytes, text.length, 0x70DA, &found));
    assert_int_equal(found.count, 1); /* its connections have the same local port */
    assert_int_equal(found.inodes[0], 224325);
    assert_true(procfs_parse_listeners(text.bytes, text.length, 0x07E8, &found));
    assert_int_equal(found.count, 2);
    assert_int_equal(found.inodes[1], 1145);
    assert_true(procfs_parse_listeners(text.bytes, text.length, 9, &found));
    assert_int_equal(found.count, 2);
    free(text.bytes);
    text = load(DATA "proc_net_tcp6");
    found.count = 0;
    assert_true(procfs_parse_listeners(text.bytes, text.length, 27555, &found));
    free(text.bytes);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.inodes[0], 277694);
    assert_true(accepts(listeners, "  sl  local_address\n"));
    assert_false(accepts(listeners, ""));
    assert_false(accepts(listeners, "  sl  local_address\n   0: 0100007F:70DA 0:0 0A 0 0\n"));
    assert_false(accepts(listeners, "  sl  local\n 0: 0100007F70DA 0:0 0A 0 0 0 0 0 224325\n"));
    assert_false(accepts(listeners, "  sl  local\n 0: 0100007F:70DAF 0:0 0A 0 0 0 0 0 224325\n"));
    assert_false(accepts(listeners, "  sl  local\n 0: 0100007F:70DA 0:0 0A 0 0 0 0 0 22x\n"));
}

static void memory_of_cgroups(void **state)
{
    (void)state;
    uint64_t bytes;
    struct text text = load(DATA "memory_stat_v2");
    assert_true(procfs_parse_cgroup_memory(text.bytes, text.length, &bytes));
    free(text.bytes);
    assert_int_equal(bytes, 52310016 + 150994944);
    text = load(DATA "memory_stat_v1");
    assert_true(procfs_parse_cgroup_memory(text.bytes, text.length, &bytes));
    free(text.bytes);
    assert_int_equal(bytes, 761393152 + 699502592);
    assert_false(accepts(cgroup_memory, "anon 5\n"));
    assert_false(accepts(cgroup_memory, "anon 5\nshmem 7"));
    assert_false(accepts(cgroup_memory, "shmem 5\ntotal_rss 9\n"));
    assert_true(accepts(cgroup_cpu, "usage_usec 5\nuser_usec 3\n"));
    assert_false(accepts(cgroup_cpu, "user_usec 5\n"));
}

static void pids_of_cgroups(void **state)
{
    (void)state;
    static const char text[] = "12\n3456\n0\n78x\n";
    size_t offset = 0;
    pid_t pid;
    assert_true(procfs_next_pid(text, sizeof(text) - 1, &offset, &pid));
    assert_int_equal(pid, 12);
    assert_true(procfs_next_pid(text, sizeof(text) - 1, &offset, &pid));
    assert_int_equal(pid, 3456);
    assert_true(procfs_next_pid(text, sizeof(text) - 1, &offset, &pid));
    assert_int_equal(pid, 0);
    assert_false(procfs_next_pid(text, sizeof(text) - 1, &offset, &pid));
    assert_false(accepts(next_pid, "12"));
}

static void cgroup_paths(void **state)
{
    (void)state;
    struct procfs_cgroup out;
    struct text text = load(DATA "cgroup_v1");
    assert_true(procfs_parse_cgroup(text.bytes, text.length, &out));
    assert_int_equal(out.memory_length, strlen("/database/one"));
    assert_memory_equal(out.memory, "/database/one", out.memory_length);
    assert_int_equal(out.unified_length, 1);
    free(text.bytes);
    text = load(DATA "cgroup_v2");
    assert_true(procfs_parse_cgroup(text.bytes, text.length, &out));
    assert_null(out.memory);
    assert_memory_equal(out.unified, "/system.slice/postgresql@15-main.service",
                        out.unified_length);
    free(text.bytes);
    assert_false(accepts(cgroup, "0:/a\n"));
    assert_false(accepts(cgroup, "0::\n"));
    assert_false(accepts(cgroup, "0::/a"));
    assert_false(accepts(cgroup, "4:memory_other:/a\n"));
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
enum {
    FILES = sizeof(files) / sizeof(files[0])
};

/* Every beginning of every file through every parser: none may read beyond its end, and one that
 * stops within a line is refused by all but the parser of /proc/stat, which needs the head only,
 * and the one of pids, which takes a line at a time. */
static void truncated_files(void **state)
{
    (void)state;
    for (size_t f = 0; f < FILES; f++) {
        char path[256];
        snprintf(path, sizeof(path), DATA "%s", files[f]);
        const struct text text = load(path);
        const size_t limit = text.length < 1500 ? text.length : 1500;
        for (size_t length = 0; length < limit; length++) {
            const struct text part = exact_copy(text.bytes, length);
            const bool is_cut = length == 0 || part.bytes[length - 1] != '\n';
            for (size_t p = 0; p < PARSERS; p++) {
                const bool is_accepted = parsers[p](part.bytes, part.length);
                assert_false(is_accepted && is_cut && parsers[p] != cpu && parsers[p] != next_pid);
            }
            free(part.bytes);
        }
        free(text.bytes);
    }
}

static void garbage(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_times),
        cmocka_unit_test(a_process_of_its_own),
        cmocka_unit_test(the_processes_of_a_tree),
        cmocka_unit_test(names_with_blanks_and_parentheses),
        cmocka_unit_test(proportional_memory),
        cmocka_unit_test(resident_memory),
        cmocka_unit_test(scheduling),
        cmocka_unit_test(peak_memory),
        cmocka_unit_test(listening_sockets),
        cmocka_unit_test(listening_unix_sockets),
        cmocka_unit_test(memory_of_cgroups),
        cmocka_unit_test(pids_of_cgroups),
        cmocka_unit_test(cgroup_paths),
        cmocka_unit_test(truncated_files),
        cmocka_unit_test(garbage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
