/* The kernel's sums: the class of each place where a thread spends time, and the lines of the
 * report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "unit/unit.h"

#include "base/mono.h"
#include "trace/switches.h"

static unsigned place(enum switch_state state, unsigned call)
{
    return (unsigned)state * SWITCH_CALLS + call;
}

TEST(places)
{
    static const struct {
        enum switch_state state;
        unsigned call;
        enum kernel_class class;
        const char *name;
    } cases[] = {
        {SWITCH_SLEEPS, SYS_futex, KERNEL_THREAD, "futex"},
        {SWITCH_BLOCKS, SYS_futex, KERNEL_OTHER, "futex"},
        {SWITCH_SLEEPS, SYS_recvfrom, KERNEL_CLIENT, "recvfrom"},
        {SWITCH_SLEEPS, SYS_ppoll, KERNEL_CLIENT, "ppoll"},
        /* a socket or a pipe sleeps, a file does not */
        {SWITCH_SLEEPS, SYS_read, KERNEL_CLIENT, "read"},
        {SWITCH_BLOCKS, SYS_read, KERNEL_DISK, "read"},
        {SWITCH_BLOCKS, SYS_writev, KERNEL_DISK, "writev"},
        {SWITCH_BLOCKS, SYS_sendto, KERNEL_OTHER, "sendto"},
        {SWITCH_SLEEPS, SYS_fdatasync, KERNEL_DISK, "fdatasync"},
        {SWITCH_BLOCKS, SYS_fsync, KERNEL_DISK, "fsync"},
        {SWITCH_DOES_IO, SYS_pwrite64, KERNEL_DISK, "pwrite64"},
        {SWITCH_SLEEPS, SYS_clock_nanosleep, KERNEL_SLEEP, "clock_nanosleep"},
        {SWITCH_SLEEPS, SYS_io_getevents, KERNEL_SLEEP, "io_getevents"},
        {SWITCH_DOES_IO, SWITCH_NO_CALL, KERNEL_DISK, ""},
        {SWITCH_BLOCKS, SWITCH_NO_CALL, KERNEL_OTHER, ""},
        {SWITCH_SLEEPS, SYS_getppid, KERNEL_OTHER, ""},
    };
    EACH_CASE (i, cases, "state %d, call %u", (int)cases[i].state, cases[i].call) {
        const char *name;
        const unsigned at = place(cases[i].state, cases[i].call);
        assert_int_equal(kernel_waits_class(at, &name), cases[i].class);
        assert_string_equal(name, cases[i].name);
    }
    const char *name;
    assert_int_equal(kernel_waits_class(SWITCH_ON_CPU, &name), KERNEL_CPU);
    assert_int_equal(kernel_waits_class(SWITCH_RUNNABLE, &name), KERNEL_RUN_QUEUE);
}

static void add(struct kernel_waits *waits, unsigned at, double seconds, unsigned count)
{
    waits->sums[at].ns += (unsigned long long)(seconds * (double)MONO_NS_PER_S);
    waits->sums[at].count += count;
}

TEST(lines)
{
    struct kernel_waits *waits = calloc(1, sizeof *waits);
    struct kernel_wait list[KERNEL_CLASSES];
    char answer[KERNEL_ANSWER_BYTES];
    assert_non_null(waits);
    waits->elapsed_s = 10;
    add(waits, SWITCH_ON_CPU, 5, 100);
    add(waits, SWITCH_RUNNABLE, 3, 90);
    add(waits, place(SWITCH_BLOCKS, SYS_pwrite64), 0.3, 5);
    add(waits, place(SWITCH_BLOCKS, SYS_fallocate), 0.2, 2);
    add(waits, place(SWITCH_DOES_IO, SYS_fdatasync), 1, 10);
    add(waits, place(SWITCH_SLEEPS, SYS_fdatasync), 0.5, 5);
    add(waits, place(SWITCH_SLEEPS, SYS_futex), 30, 4);
    add(waits, place(SWITCH_BLOCKS, SWITCH_NO_CALL), 0.25, 3);
    assert_int_equal(kernel_waits_list(waits, list), 5);
    static const struct {
        const char *key;
        double seconds, threads, busy;
        uint64_t count;
        const char *calls;
    } lines[] = {
        {"cpu", 5, 0.5, 50, 100, ""},
        {"run_queue", 3, 0.3, 30, 90, ""},
        {"disk", 2, 0.2, 20, 22, "fdatasync 1.50 s, pwrite64 0.30 s, fallocate 0.20 s"},
        {"thread", 30, 3, -1, 4, "futex 30.00 s"},
        {"other", 0.25, 0.025, -1, 3, "page faults 0.25 s"},
    };
    EACH_CASE (i, lines, "%s", lines[i].key) {
        assert_string_equal(list[i].key, lines[i].key);
        assert_float_equal(list[i].seconds, lines[i].seconds, 1e-9);
        assert_float_equal(list[i].threads, lines[i].threads, 1e-9);
        assert_float_equal(list[i].busy_percent, lines[i].busy, 1e-9);
        assert_int_equal(list[i].count, lines[i].count);
        assert_string_equal(list[i].calls, lines[i].calls);
    }
    assert_string_equal(list[2].largest, "fdatasync 1.50 s");
    assert_float_equal(kernel_waits_threads(waits), 4.025, 1e-9);
    kernel_waits_answer(waits, answer);
    assert_part(answer,
                "0.5 of the server's 4.0 threads used a CPU, 0.3 waited for a CPU, 0.2 for the "
                "disk, and 3.0 for another thread");
    assert_null(strstr(answer, "not single calls;"));
    waits->is_restarted = true;
    waits->lost = UINT64_MAX;
    kernel_waits_answer(waits, answer);
    const char *end = strstr(answer, "not single calls");
    assert_string_equal(end == NULL ? "" : end,
                        "not single calls; the server was restarted, but its new processes were "
                        "not traced; 18446744073709551615 context switches were missed");
    free(waits);
}

TEST(nothing_was_watched)
{
    struct kernel_waits *waits = calloc(1, sizeof *waits);
    struct kernel_wait list[KERNEL_CLASSES];
    assert_non_null(waits);
    assert_int_equal(kernel_waits_list(waits, list), 0);
    assert_float_equal(kernel_waits_threads(waits), 0, 0);
    free(waits);
}

/* The list of calls is cut between two calls. */
TEST(many_calls)
{
    static const unsigned calls[] = {SYS_fsync,    SYS_fdatasync, SYS_sync_file_range, SYS_pread64,
                                     SYS_preadv,   SYS_pwrite64,  SYS_pwritev,         SYS_preadv2,
                                     SYS_pwritev2, SYS_fallocate, SYS_ftruncate,       SYS_openat};
    struct kernel_waits *waits = calloc(1, sizeof *waits);
    struct kernel_wait list[KERNEL_CLASSES];
    assert_non_null(waits);
    waits->elapsed_s = 1;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        add(waits, place(SWITCH_BLOCKS, calls[i]), 1000000.0 - (double)i, 1);
    }
    assert_int_equal(kernel_waits_list(waits, list), 1);
    const size_t length = strlen(list[0].calls);
    assert_true(length < sizeof list[0].calls);
    assert_string_equal(list[0].calls + length - 2, " s");
    assert_string_equal(list[0].largest, "fsync 1000000.00 s");
    free(waits);
}
