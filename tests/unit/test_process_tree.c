#include "unit/unit.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "measure/process_table.h"

enum {
    ROOT = 100,
    ROOT_START = 5
};

static struct process_table table;

static int set_up(void **state)
{
    (void)state;
    table = (struct process_table){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    process_table_fini(&table);
    return 0;
}

static struct procfs_process seen(pid_t pid, pid_t parent, int64_t own_ns, int64_t reaped_ns)
{
    return (struct procfs_process){
        .pid = pid,
        .parent = parent,
        .start_ticks = pid == ROOT ? ROOT_START : (uint64_t)pid * 10,
        .own_ns = own_ns,
        .reaped_ns = reaped_ns,
        .threads = 2,
    };
}

static bool walk(const struct procfs_process *list, size_t count)
{
    table.seen.count = 0;
    for (size_t i = 0; i < count; i++) {
        struct process *process = process_table_add(&table);
        assert_non_null(process);
        process->seen = list[i];
    }
    if (!process_table_mark_tree(&table, ROOT, ROOT_START)) {
        return false;
    }
    assert_true(process_table_update(&table));
    return true;
}

TEST_BETWEEN(a_tree_is_all_descendants, set_up, tear_down)
{
    struct procfs_process list[] = {
        seen(1, 0, 9, 9),       seen(50, 60, 1, 0), seen(60, ROOT, 2, 0),  seen(ROOT, 1, 10, 100),
        seen(101, ROOT, 20, 0), seen(102, 1, 7, 0), seen(103, 101, 30, 1),
    };
    list[4].has_ended = true;
    assert_true(walk(list, 7));
    assert_int_equal(table.known.count, 5);
    assert_int_equal(table.processes, 4);
    assert_int_equal(table.threads, 8);
    assert_int_equal(table.total_ns, 1 + 2 + 110 + 20 + 31);
}

TEST_BETWEEN(a_missing_root_has_no_tree, set_up, tear_down)
{
    struct procfs_process list[] = {seen(1, 0, 9, 9), seen(ROOT, 1, 10, 0)};
    assert_false(walk(list, 1));
    list[1].has_ended = true;
    assert_false(walk(list, 2));
    list[1].has_ended = false;
    list[1].start_ticks = 6; /* the pid was reused */
    assert_false(walk(list, 2));
}

TEST_BETWEEN(a_reaped_child_counts_once, set_up, tear_down)
{
    struct procfs_process before[] = {seen(ROOT, 1, 10, 0), seen(101, ROOT, 50, 0)};
    struct procfs_process after[] = {seen(ROOT, 1, 11, 55)};
    assert_true(walk(before, 2));
    assert_int_equal(table.total_ns, 60);
    assert_true(walk(after, 1));
    assert_int_equal(table.total_ns, 66);
    assert_int_equal(table.known.count, 1);
}

/* One walk read the parent before the child was reaped, and looked for the child after that. */
TEST_BETWEEN(a_child_that_falls_between_two_reads_is_not_lost, set_up, tear_down)
{
    struct procfs_process before[] = {seen(ROOT, 1, 10, 0), seen(101, ROOT, 50, 0)};
    struct procfs_process between[] = {seen(ROOT, 1, 10, 0)};
    struct procfs_process after[] = {seen(ROOT, 1, 10, 52)};
    assert_true(walk(before, 2));
    assert_true(walk(between, 1));
    assert_int_equal(table.total_ns, 60);
    assert_true(walk(after, 1));
    assert_int_equal(table.total_ns, 62);
}

/* One walk read the child before it was reaped, and the parent after that. */
TEST_BETWEEN(a_child_that_was_read_twice_counts_once, set_up, tear_down)
{
    struct procfs_process before[] = {seen(50, ROOT, 50, 0), seen(ROOT, 1, 10, 0)};
    struct procfs_process twice[] = {seen(50, ROOT, 50, 0), seen(ROOT, 1, 10, 50)};
    struct procfs_process after[] = {seen(ROOT, 1, 70, 50)};
    assert_true(walk(before, 2));
    assert_true(walk(twice, 2));
    assert_true(walk(after, 1));
    assert_int_equal(table.departed_ns, 0);
    assert_int_equal(table.total_ns, 120);
}

TEST_BETWEEN(an_unreaped_child_keeps_its_time, set_up, tear_down)
{
    struct procfs_process before[] = {seen(ROOT, 1, 10, 0), seen(101, ROOT, 50, 0)};
    struct procfs_process after[] = {seen(ROOT, 1, 12, 0)};
    assert_true(walk(before, 2));
    for (unsigned i = 0; i < 4; i++) {
        assert_true(walk(after, 1));
        assert_int_equal(table.total_ns, 62);
    }
    assert_int_equal(table.known.count, 1);
    assert_int_equal(table.departed_ns, 50);
}

/* The parent's time is counted in whole ticks of user and of system time, but the child's was
 * counted in nanoseconds. */
TEST_BETWEEN(rounding_to_ticks_is_forgiven_once, set_up, tear_down)
{
    process_table_fini(&table);
    table.rounding_ns = 20;
    struct procfs_process before[] = {seen(ROOT, 1, 1000, 0), seen(101, ROOT, 67, 0),
                                      seen(102, ROOT, 19, 0), seen(103, ROOT, 18, 0)};
    struct procfs_process after[] = {seen(ROOT, 1, 1000, 70)};
    assert_true(walk(before, 4));
    assert_int_equal(table.total_ns, 1104);
    assert_true(walk(after, 1));
    /* the growth of 70 and the rounding cover the times of processes 101 and 102; process 103 was
     * not reaped and stays */
    assert_int_equal(table.known.count, 2);
    assert_true(walk(after, 1));
    assert_true(walk(after, 1));
    assert_int_equal(table.departed_ns, 18);
    assert_int_equal(table.total_ns, 1104);
}

TEST_BETWEEN(a_branch_that_ends_at_once_counts_once, set_up, tear_down)
{
    struct procfs_process before[] = {seen(ROOT, 1, 10, 0), seen(101, ROOT, 20, 0),
                                      seen(102, 101, 50, 0)};
    struct procfs_process after[] = {seen(ROOT, 1, 10, 75)};
    assert_true(walk(before, 3));
    assert_true(walk(after, 1));
    assert_int_equal(table.total_ns, 85);
    assert_int_equal(table.known.count, 1);
}

TEST_BETWEEN(an_orphan_stays_a_member, set_up, tear_down)
{
    struct procfs_process before[] = {seen(1, 0, 0, 0), seen(ROOT, 1, 10, 0),
                                      seen(101, ROOT, 20, 0), seen(102, 101, 50, 0)};
    struct procfs_process after[] = {seen(1, 0, 0, 0), seen(ROOT, 1, 10, 20), seen(102, 1, 60, 0)};
    assert_true(walk(before, 4));
    assert_true(walk(after, 3));
    assert_int_equal(table.processes, 2);
    assert_int_equal(table.total_ns, 90);
}

TEST_BETWEEN(a_reused_pid_is_another_process, set_up, tear_down)
{
    struct procfs_process before[] = {seen(ROOT, 1, 10, 0), seen(101, ROOT, 50, 0)};
    struct procfs_process after[] = {seen(ROOT, 1, 10, 50), seen(101, ROOT, 3, 0)};
    after[1].start_ticks = 5000;
    assert_true(walk(before, 2));
    table.known.entries[1].memory.pss_round = 1;
    assert_true(walk(after, 2));
    assert_int_equal(table.known.count, 2);
    assert_int_equal(table.total_ns, 63);
    assert_int_equal(table.known.entries[1].memory.pss_round, 0);
}

TEST_BETWEEN(the_total_never_falls, set_up, tear_down)
{
    struct procfs_process before[] = {seen(ROOT, 1, 10, 30)};
    struct procfs_process after[] = {seen(ROOT, 1, 5, 25)};
    assert_true(walk(before, 1));
    assert_true(walk(after, 1));
    assert_int_equal(table.total_ns, 40);
    process_table_forget(&table);
    assert_int_equal(table.processes, 0);
    assert_true(walk(after, 1));
    assert_int_equal(table.total_ns, 70);
}

TEST_BETWEEN(thousands_of_processes, set_up, tear_down)
{
    enum {
        MANY = 5000
    };
    struct procfs_process *list = calloc(MANY, sizeof(*list));
    assert_non_null(list);
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < MANY; i++) {
            list[i] = seen((pid_t)(ROOT + i), i == 0 ? 1 : ROOT, 1, 0);
        }
        assert_true(walk(list, round == 1 ? MANY / 2 : MANY));
    }
    assert_int_equal(table.processes, MANY);
    free(list);
}
