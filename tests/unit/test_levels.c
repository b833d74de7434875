/* The figures that are computed from the levels of a search. */
#include "unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/levels.h"

/* Makes a search of levels that all held. */
static struct search held_search(struct level *levels, size_t count)
{
    return (struct search){.levels = levels, .count = count};
}

TEST(test_a_new_level)
{
    struct search search = {0};
    assert_non_null(search_add_level(&search));
    struct level *level = search_add_level(&search);
    assert_non_null(level);
    assert_int_equal(search.count, 2);
    assert_ptr_equal(level, &search.levels[1]);
    assert_int_equal(level->outcome, LEVEL_UNFINISHED);
    assert_true(level->rows_per_s == -1);
    assert_true(level->lowest_rows_per_s == -1 && level->highest_rows_per_s == -1);
    assert_true(level->cpu.host == -1 && level->cpu.server == -1 && level->cpu.client == -1);
    assert_int_equal(level->server_memory_bytes, -1);
    assert_int_equal(level->client_memory_bytes, -1);
    assert_true(isinf(level->room.times));
    assert_null(level_main_cause(level));
    level->causes = calloc(1, sizeof *level->causes);
    assert_non_null(level->causes);
    causes_init(level->causes);
    assert_null(level_main_cause(level));
    level->causes->count = 2;
    level->causes->entries[0].phase = CAUSE_CONNECT;
    level->causes->entries[0].count = 1;
    level->causes->entries[1].phase = CAUSE_APPEND;
    level->causes->entries[1].count = 2;
    assert_ptr_equal(level_main_cause(level), &level->causes->entries[1]);
    search_fini(&search);
    assert_int_equal(search.count, 0);
    assert_null(search.levels);
}

TEST(test_rates)
{
    struct level level = {.rows = 30,
                          .hold_ns = INT64_C(2000000000),
                          .rows_per_s = -1,
                          .lowest_rows_per_s = -1,
                          .highest_rows_per_s = -1};
    level_compute_rates(&level);
    assert_true(level.rows_per_s == 15);
    assert_true(level.lowest_rows_per_s == -1 && level.highest_rows_per_s == -1);
    level.part_count = 3;
    level.parts_rows_per_s[0] = 15;
    level.parts_rows_per_s[1] = 14;
    level.parts_rows_per_s[2] = 17;
    level.hold_ns = 1;
    level_compute_rates(&level);
    assert_true(level.rows_per_s == 3e10);
    assert_true(level.lowest_rows_per_s == 14 && level.highest_rows_per_s == 17);
    level.hold_ns = 0; /* no hold: the rate keeps its value */
    level.rows_per_s = -1;
    level_compute_rates(&level);
    assert_true(level.rows_per_s == -1);
}

/* Levels in the order in which they were tried. After each level `held` and `failed` are the bounds
 * of the search, and `failure` is the index of the level that failed. */
TEST(test_held_and_failed)
{
    static const struct {
        unsigned sessions;
        enum level_outcome outcome;
        unsigned held, failed;
        size_t failure;
    } cases[] = {
        {10, LEVEL_HELD, 10, 0, 0},        {40, LEVEL_FAILED, 10, 40, 1},
        {30, LEVEL_UNFINISHED, 10, 40, 1}, {20, LEVEL_HELD, 20, 40, 1},
        {15, LEVEL_HELD, 20, 40, 1},       {50, LEVEL_FAILED, 20, 40, 1},
        {40, LEVEL_FAILED, 20, 40, 6},     {20, LEVEL_FAILED, 20, 40, 6},
        {30, LEVEL_FAILED, 20, 30, 8},     {30, LEVEL_HELD, 30, 40, 6},
        {31, LEVEL_FAILED, 30, 31, 10},    {45, LEVEL_HELD, 45, 50, 5},
        {60, LEVEL_HELD, 60, 0, 5},
    };
    struct search search = {0};
    EACH_CASE (i, cases, "level %zu", i) {
        struct level *level = search_add_level(&search);
        assert_non_null(level);
        level->sessions = cases[i].sessions;
        level->outcome = cases[i].outcome;
        search_note_level(&search);
        assert_int_equal(search.held, cases[i].held);
        assert_int_equal(search.failed, cases[i].failed);
        assert_int_equal(search.failure, cases[i].failure);
    }
    search_fini(&search);
}

TEST(test_the_knee)
{
    struct level levels[] = {
        {.sessions = 40, .rows_per_s = 1000, .lowest_rows_per_s = 950, .highest_rows_per_s = 1010},
        {.sessions = 10, .rows_per_s = 949, .lowest_rows_per_s = 900, .highest_rows_per_s = 955},
        {.sessions = 30, .rows_per_s = 950, .lowest_rows_per_s = 940, .highest_rows_per_s = 960},
        {.sessions = 5, .rows_per_s = 2000, .outcome = LEVEL_FAILED, .highest_rows_per_s = 2000},
        {.sessions = 6, .rows_per_s = 2000, .outcome = LEVEL_UNFINISHED},
        {.sessions = 50, .rows_per_s = 1000, .highest_rows_per_s = 3000},
        {.sessions = 20, .rows_per_s = 700, .lowest_rows_per_s = 600, .highest_rows_per_s = 800},
    };
    struct search search = held_search(levels, 7);
    assert_ptr_equal(search_best(&search), &levels[0]); /* the first of equal levels */
    assert_ptr_equal(search_knee(&search), &levels[2]);
    assert_ptr_equal(search_knee_rival(&search), &levels[1]);
    levels[6].highest_rows_per_s = 956; /* the fastest part decides, not the order */
    assert_ptr_equal(search_knee_rival(&search), &levels[6]);
    levels[6].highest_rows_per_s = 955; /* the first of equal rivals */
    assert_ptr_equal(search_knee_rival(&search), &levels[1]);
    /* the rival's fastest part is as fast as the knee's slowest part */
    levels[1].highest_rows_per_s = levels[6].highest_rows_per_s = 940;
    assert_ptr_equal(search_knee_rival(&search), &levels[1]);
    levels[1].highest_rows_per_s = levels[6].highest_rows_per_s = 939;
    assert_null(search_knee_rival(&search));
    levels[1].highest_rows_per_s = 955;
    levels[2].lowest_rows_per_s = 0; /* a part without rows */
    assert_ptr_equal(search_knee_rival(&search), &levels[1]);
    levels[2].lowest_rows_per_s = -1; /* unknown */
    assert_null(search_knee_rival(&search));
    search.count = 0;
    assert_null(search_best(&search));
    assert_null(search_knee(&search));
    assert_null(search_knee_rival(&search));
}

TEST(test_the_bound_on_p99)
{
    struct level levels[] = {
        {.sessions = 30, .append = {.count = 1, .p99_ns = 101}},
        {.sessions = 20, .append = {.count = 1, .p99_ns = 101}},
        {.sessions = 10, .append = {.count = 1, .p99_ns = 100}},
        {.sessions = 15, .append = {.count = 1, .p99_ns = 99}},
        {.sessions = 12, .append = {.count = 1, .p99_ns = 99}},
        {.sessions = 18, .append = {.count = 1, .p99_ns = 99}, .outcome = LEVEL_FAILED},
        {.sessions = 25, .append = {.count = 1, .p99_ns = 99}},
        {.sessions = 5, .append = {.count = 0, .p99_ns = 999}},
        {.sessions = 22, .append = {.count = 1, .p99_ns = 999}, .outcome = LEVEL_FAILED},
    };
    const struct level *over, *within;
    struct search search = held_search(levels, 9);
    search.p99_bound_ns = 100;
    search_p99(&search, &over, &within);
    assert_ptr_equal(over, &levels[1]);
    assert_ptr_equal(within, &levels[3]);
    search.p99_bound_ns = 1000; /* no level exceeds it */
    search_p99(&search, &over, &within);
    assert_null(over);
    assert_ptr_equal(within, &levels[0]);
    search.p99_bound_ns = 98;
    /* now the only level within the bound, with fewer sessions than all others */
    levels[7].append.p99_ns = 98;
    search_p99(&search, &over, &within);
    assert_ptr_equal(over, &levels[2]);
    assert_ptr_equal(within, &levels[7]);
    levels[7].append.p99_ns = 99;
    search_p99(&search, &over, &within);
    assert_ptr_equal(over, &levels[2]);
    assert_null(within);
}

TEST(test_memory_of_a_session)
{
    struct level levels[] = {
        {.sessions = 20, .server_memory_bytes = 3000},
        {.sessions = 10, .server_memory_bytes = 1000},
        {.sessions = 30, .server_memory_bytes = 9000},
        {.sessions = 25, .server_memory_bytes = 9000},
        {.sessions = 40, .server_memory_bytes = 99000, .outcome = LEVEL_FAILED},
        {.sessions = 50, .server_memory_bytes = -1},
        {.sessions = 5, .server_memory_bytes = -1},
    };
    struct search search = held_search(levels, 7);
    assert_true(search_session_bytes(&search) == 400);
    levels[1].server_memory_bytes = 0;
    assert_true(search_session_bytes(&search) == 450);
    levels[2].server_memory_bytes = 0; /* did not grow */
    assert_true(search_session_bytes(&search) == -1);
    search.count = 1; /* one level does not show how the memory grows */
    assert_true(search_session_bytes(&search) == -1);
    search.count = 0;
    assert_true(search_session_bytes(&search) == -1);
}

TEST(test_names)
{
    static const char *const reasons[] = {
        "", "no_thread", "refused", "timed_out", "dropped", "append_failed", "no_progress", "ended",
    };
    static const char *const ends[] = {
        "",       "found", "bound", "memory", "time", "rows", "interrupted",
        "script", "gone",  "stuck", "lost",
    };
    EACH_CASE (i, reasons, "%s", reasons[i]) {
        assert_string_equal(level_reason_names[i], reasons[i]);
    }
    EACH_CASE (i, ends, "%s", ends[i]) {
        assert_string_equal(search_end_names[i], ends[i]);
    }
    assert_string_equal(level_outcome_names[LEVEL_HELD], "held");
    assert_string_equal(level_outcome_names[LEVEL_FAILED], "failed");
    assert_string_equal(level_outcome_names[LEVEL_UNFINISHED], "unfinished");
    assert_string_equal(search_bound_names[BOUND_USER], "user");
    assert_string_equal(search_bound_names[BOUND_CLIENT], "client");
    assert_string_equal(search_bound_names[BOUND_PROGRAM], "program");
}
