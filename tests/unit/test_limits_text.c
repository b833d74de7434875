#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits/limits_text.h"

/* Exactly as large as its content, so that sanitizers and valgrind see a read beyond. */
static char *copy_of(const char *text, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    return copy;
}

static const char limits_file[] =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max cpu time              unlimited            unlimited            seconds   \n"
    "Max processes             96365                unlimited            processes \n"
    "Max open files            1024                 20000                files     \n"
    "Max address space         unlimited            unlimited            bytes     \n";

static bool parse_rlimits(const char *text, struct limits_rlimits *out)
{
    char *bytes = copy_of(text, strlen(text));
    const bool is_parsed = limits_parse_rlimits(bytes, strlen(text), out);
    free(bytes);
    return is_parsed;
}

static void test_rlimits(void **state)
{
    (void)state;
    struct limits_rlimits out;
    assert_true(parse_rlimits(limits_file, &out));
    assert_int_equal(out.tasks.soft, 96365);
    assert_true(out.tasks.hard == UINT64_MAX);
    assert_int_equal(out.files.soft, 1024);
    assert_int_equal(out.files.hard, 20000);
    assert_true(out.address_space.soft == UINT64_MAX);
    /* a file cut short, a limit that is not there, a value that is no number */
    char *cut = copy_of(limits_file, strlen(limits_file));
    assert_false(limits_parse_rlimits(cut, strlen(limits_file) - 1, &out));
    assert_false(limits_parse_rlimits(cut, strlen(limits_file) / 2, &out));
    free(cut);
    assert_false(parse_rlimits("Max processes 1 2 processes\nMax open files 1 2 files\n", &out));
    assert_false(parse_rlimits("Max processes 1 x processes\n", &out));
}

static void test_status(void **state)
{
    (void)state;
    static const char text[] = "Name:\tpostgres\nUid:\t106\t107\t107\t107\nVmSize:\t  219384 kB\n"
                               "Threads:\t7\nCapEff:\t0000000001000000\n";
    struct limits_status out;
    assert_true(limits_parse_status(text, strlen(text), &out));
    assert_int_equal(out.uid, 106);
    assert_int_equal(out.threads, 7);
    assert_int_equal(out.size_bytes, UINT64_C(219384) * 1024);
    assert_int_equal(out.capabilities, 1 << 24);
    /* a thread of the kernel has no memory */
    static const char kernel[] = "Uid:\t0\t0\t0\t0\nThreads:\t1\nCapEff:\t000001ffffffffff\n";
    assert_true(limits_parse_status(kernel, strlen(kernel), &out));
    assert_int_equal(out.size_bytes, 0);
    assert_false(limits_parse_status(text, strlen(text) - 1, &out));
    static const char without[] = "Uid:\t0\t0\t0\t0\nCapEff:\t0\n";
    assert_false(limits_parse_status(without, strlen(without), &out));
}

static bool parse_number(const char *text, uint64_t *value)
{
    char *bytes = copy_of(text, strlen(text));
    const bool is_parsed = limits_parse_number(bytes, strlen(text), value);
    free(bytes);
    return is_parsed;
}

static void test_numbers(void **state)
{
    (void)state;
    uint64_t value = 0;
    assert_true(parse_number("32768\n", &value));
    assert_int_equal(value, 32768);
    assert_true(parse_number("max\n", &value));
    assert_true(value == UINT64_MAX);
    assert_false(parse_number("", &value));
    assert_false(parse_number("32768", &value));
    assert_false(parse_number("-1\n", &value));
    assert_false(parse_number("99999999999999999999\n", &value));

    static const char loadavg[] = "0.50 0.49 4.67 3/132 25975\n";
    assert_true(limits_parse_tasks(loadavg, strlen(loadavg), &value));
    assert_int_equal(value, 132);
    static const char short_one[] = "0.50 0.49 4.67 132\n";
    assert_false(limits_parse_tasks(short_one, strlen(short_one), &value));

    bool is_initial = false;
    static const char whole[] = "         0          0 4294967295\n";
    assert_true(limits_parse_uid_map(whole, strlen(whole), &is_initial));
    assert_true(is_initial);
    static const char mapped[] = "         0       1000          1\n";
    assert_true(limits_parse_uid_map(mapped, strlen(mapped), &is_initial));
    assert_false(is_initial);

    uint64_t lines = 0;
    assert_true(limits_count_lines("a\n\nb\n", 5, &lines));
    assert_int_equal(lines, 3);
    assert_false(limits_count_lines("a\nb", 3, &lines));
}

static void test_memory(void **state)
{
    (void)state;
    static const char text[] = "MemTotal:       1000 kB\nMemFree:         10 kB\nMemAvailable:    "
                               "600 kB\nCommitLimit:    500 kB\nCommitted_AS:    70 kB\n";
    struct limits_memory out;
    assert_true(limits_parse_memory(text, strlen(text), &out));
    assert_int_equal(out.total, 1000 * 1024);
    assert_int_equal(out.available, 600 * 1024);
    assert_int_equal(out.commit_limit, 500 * 1024);
    assert_int_equal(out.committed, 70 * 1024);
    assert_false(limits_parse_memory(text, 40, &out));

    uint64_t bytes = 0;
    static const char v1[] = "inactive_file 5\ntotal_inactive_file 7\n";
    assert_true(limits_parse_cache(v1, strlen(v1), &bytes));
    assert_int_equal(bytes, 7);
    static const char v2[] = "anon 5\ninactive_file 9\n";
    assert_true(limits_parse_cache(v2, strlen(v2), &bytes));
    assert_int_equal(bytes, 9);
    static const char neither[] = "anon 5\n";
    assert_false(limits_parse_cache(neither, strlen(neither), &bytes));
}

static void test_cgroups(void **state)
{
    (void)state;
    static const char text[] = "9:name=systemd:/\n8:cpu,cpuacct:/c\n7:pids:/a/b\n0::/user.slice\n";
    char path[LIMITS_PATH_BYTES];
    assert_true(limits_parse_cgroup(text, strlen(text), "pids", path));
    assert_string_equal(path, "/a/b");
    assert_true(limits_parse_cgroup(text, strlen(text), "cpuacct", path));
    assert_string_equal(path, "/c");
    assert_true(limits_parse_cgroup(text, strlen(text), "", path));
    assert_string_equal(path, "/user.slice");
    assert_false(limits_parse_cgroup(text, strlen(text), "memory", path));
    assert_false(limits_parse_cgroup("7:pids\n", 7, "pids", path));
    char longest[LIMITS_PATH_BYTES + 16];
    const int length = snprintf(longest, sizeof longest, "7:pids:/%0*d\n", LIMITS_PATH_BYTES, 0);
    assert_false(limits_parse_cgroup(longest, (size_t)length, "pids", path));
    /* the longest that fits */
    snprintf(longest, sizeof longest, "7:pids:/%0*d\n", LIMITS_PATH_BYTES - 2, 0);
    assert_true(limits_parse_cgroup(longest, strlen(longest), "pids", path));
    assert_int_equal(strlen(path), LIMITS_PATH_BYTES - 1);
}

static void test_mounts(void **state)
{
    (void)state;
    static const char text[] =
        "31 23 0:28 / /sys rw,relatime - tmpfs tmpfs rw,mode=755\n"
        "39 31 0:36 /docker/x /sys/fs/cg\\040roup/pids rw shared:5 master:1 - cgroup cgroup "
        "rw,pids\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    struct limits_mount out;
    assert_true(limits_parse_mount(text, strlen(text), "pids", &out));
    assert_string_equal(out.root, "/docker/x");
    assert_string_equal(out.point, "/sys/fs/cg roup/pids");
    assert_true(limits_parse_mount(text, strlen(text), "", &out));
    assert_string_equal(out.root, "/");
    assert_string_equal(out.point, "/sys/fs/cgroup/unified");
    assert_false(limits_parse_mount(text, strlen(text), "memory", &out));
    /* an escape that is none */
    static const char bad[] = "1 2 3 / /a\\9 rw - cgroup2 x rw\n";
    assert_false(limits_parse_mount(bad, strlen(bad), "", &out));
}

static void test_ports(void **state)
{
    (void)state;
    struct limits_port_range range;
    assert_true(limits_parse_port_range("32768\t60999\n", 12, &range));
    assert_int_equal(range.low, 32768);
    assert_int_equal(range.high, 60999);
    assert_false(limits_parse_port_range("9 8\n", 4, &range));
    assert_false(limits_parse_port_range("1 65536\n", 8, &range));

    struct limits_ports ports = {0};
    static const char reserved[] = "8080,9000-9002,65535\n";
    assert_true(limits_parse_reserved(reserved, strlen(reserved), &ports));
    unsigned held = 0;
    for (unsigned port = 0; port <= UINT16_MAX; port++) {
        held += limits_ports_hold(&ports, (uint16_t)port) ? 1 : 0;
    }
    assert_int_equal(held, 5);
    assert_true(limits_ports_hold(&ports, 8080));
    assert_true(limits_ports_hold(&ports, 9001));
    assert_true(limits_ports_hold(&ports, 65535));
    assert_true(limits_parse_reserved("\n", 1, &ports));
    assert_false(limits_parse_reserved("9-8\n", 4, &ports));
    assert_false(limits_parse_reserved("70000\n", 6, &ports));
    assert_false(limits_parse_reserved("1,\n", 3, &ports));
}

/* 127.0.0.1:5432 is 0100007F:1538 as an x86 shows it. */
static const char sockets[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
    "   0: 00000000:9C40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0 0 1\n"
    "   1: 0100007F:9C41 0100007F:1538 01 00000000:00000000 00:00000000 00000000     0 0 1\n"
    "   2: 0100007F:9C42 0200007F:1538 01 00000000:00000000 00:00000000 00000000     0 0 1\n"
    "   3: 0100007F:9C43 0100007F:1538 06 00000000:00000000 03:00000FA0 00000000     0 0 1\n"
    "   4: 0100007F:9C44 0100007F:1538 06 00000000:00000000 03:00001770 00000000     0 0 1\n"
    "   5: 0100007F:9C45 0100007F:0050 01 00000000:00000000 00:00000000 00000000     0 0 1\n";

static uint64_t taken_by(const struct limits_destination *destination, uint64_t *waiting)
{
    struct limits_ports ports = {0};
    assert_true(limits_parse_sockets(sockets, strlen(sockets), destination, &ports, waiting));
    uint64_t mask = 0;
    for (unsigned i = 0; i < 6; i++) {
        mask |= limits_ports_hold(&ports, (uint16_t)(40000 + i)) ? UINT64_C(1) << i : 0;
    }
    return mask;
}

static void test_sockets(void **state)
{
    (void)state;
    uint64_t waiting = 0;
    struct limits_destination destination = {.port = 5432, .address = 0x0100007F};
    /* the one that listens, the one connected there, both that wait */
    assert_int_equal(taken_by(&destination, &waiting), 1 | 2 | 8 | 16);
    assert_int_equal(waiting, 2);
    /* reused is the one that has waited for 20 s, not the one that began to wait just now */
    destination.is_wait_reused = true;
    assert_int_equal(taken_by(&destination, &waiting), 1 | 2 | 16);
    assert_int_equal(waiting, 1);
    destination.address = 0; /* any */
    assert_int_equal(taken_by(&destination, &waiting), 1 | 2 | 4 | 16);
    destination.port = 81;
    assert_int_equal(taken_by(&destination, &waiting), 1);

    struct limits_ports ports = {0};
    assert_false(
        limits_parse_sockets(sockets, strlen(sockets) - 1, &destination, &ports, &waiting));
    static const char bad[] = "head\n 0: 0100007F 0100007F:1538 01 0:0 0:0\n";
    assert_false(limits_parse_sockets(bad, strlen(bad), &destination, &ports, &waiting));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rlimits), cmocka_unit_test(test_status),
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_cgroups), cmocka_unit_test(test_mounts),
        cmocka_unit_test(test_ports),   cmocka_unit_test(test_sockets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
