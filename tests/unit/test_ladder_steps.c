/* What a search decides and reads, without a server: its steps, its memory, its figures. */
#include "unit/unit.h"

#include "load/ladder.h"
#include "load/ladder_memory.h"
#include "load/ladder_steps.h"

/* Walks a server with room for `room`; the levels that it took. */
static unsigned walk(unsigned first, unsigned bound, unsigned room, bool is_hinting,
                     unsigned *result)
{
    struct ladder_steps steps = {.first = first, .bound = bound};
    unsigned levels = 0;
    unsigned next = 0;
    while ((next = ladder_steps_next(&steps)) != 0) {
        assert_true(next >= 1 && next <= bound);
        const bool has_held = next <= room;
        ladder_steps_note(&steps, next, has_held, has_held || !is_hinting ? 0 : room);
        assert_true(++levels < 100);
    }
    *result = steps.held;
    return levels;
}

static void test_steps(void **state)
{
    (void)state;
    for (unsigned room = 0; room <= 300; room++) {
        unsigned found = 0;
        assert_in_range(walk(10, 1000000, room, true, &found), 1, 12);
        assert_int_equal(found, room);
        assert_in_range(walk(10, 1000000, room, false, &found), 1, 20);
        assert_int_equal(found, room);
        walk(7, 250, room, true, &found);
        assert_int_equal(found, room < 250 ? room : 250);
    }
    unsigned found = 0;
    assert_int_equal(walk(10, UINT32_MAX, UINT32_MAX, false, &found), 30);
    assert_int_equal(found, UINT32_MAX);
    /* 10 … 320 double, then 297 and 298 */
    assert_int_equal(walk(10, 5000, 297, true, &found), 8);
}

/* A place that was still taken by an earlier connection does not count as the limit. */
static void test_steps_try_the_last_one_again(void **state)
{
    (void)state;
    struct ladder_steps steps = {.first = 297, .bound = 1000};
    ladder_steps_note(&steps, 297, false, 296);
    assert_int_equal(ladder_steps_next(&steps), 296);
    ladder_steps_note(&steps, 296, true, 0);
    assert_int_equal(ladder_steps_next(&steps), 297);
    ladder_steps_note(&steps, 297, true, 0);
    assert_int_equal(ladder_steps_next(&steps), 594);
    ladder_steps_note(&steps, 594, false, 297);
    assert_int_equal(ladder_steps_next(&steps), 298);
    /* not yet right after 297 had held, nor twice */
    ladder_steps_note(&steps, 298, false, 297);
    assert_int_equal(ladder_steps_next(&steps), 298);
    ladder_steps_note(&steps, 298, false, 297);
    assert_int_equal(ladder_steps_next(&steps), 0);
}

static void test_memory(void **state)
{
    (void)state;
    uint64_t total = 0;
    uint64_t available = 0;
    const char text[] = "MemTotal:       1000 kB\nMemFree:  1 kB\n"
                        "MemAvailable:    600 kB\nBuffers: 2 kB\n";
    assert_true(ladder_memory_parse(text, sizeof text - 1, &total, &available));
    assert_int_equal(total, 1000 * 1024);
    assert_int_equal(available, 600 * 1024);
    assert_false(ladder_memory_parse(text, 24, &total, &available));
    const char more[] = "MemTotal: 5 kB\nMemAvailable: 6 kB\n";
    assert_false(ladder_memory_parse(more, sizeof more - 1, &total, &available));

    const struct ladder_memory memory = {
        .total_bytes = 1000, .limit_bytes = 900, .base_bytes = 100};
    assert_int_equal(ladder_memory_fits(&memory, 10, 200), 80); /* 10 each, 700 are left */
    assert_int_equal(ladder_memory_fits(&memory, 0, 100), UINT32_MAX);
    assert_int_equal(ladder_memory_fits(&memory, 10, 90), UINT32_MAX);
    assert_int_equal(ladder_memory_fits(&memory, 10, 901), 0);
    assert_true(ladder_memory_is_passed(&memory, 901));
    assert_false(ladder_memory_is_passed(&memory, 900));
}

static void test_reading_a_search(void **state)
{
    (void)state;
    static const struct {
        unsigned sessions;
        enum level_outcome outcome;
        double rows_per_s;
        int64_t p99_ns;
        int64_t memory_bytes;
    } made[] = {{10, LEVEL_HELD, 100, 5, 1000},    {20, LEVEL_HELD, 150, 20, 1400},
                {40, LEVEL_FAILED, 900, 30, 9999}, {30, LEVEL_HELD, 120, 8, 3000},
                {31, LEVEL_FAILED, 130, 40, -1},   {31, LEVEL_HELD, 110, 9, -1}};
    static const unsigned failed_then[] = {0, 0, 40, 40, 31, 0};
    struct search search = {.p99_bound_ns = 10};
    assert_null(search_knee(&search));
    assert_true(search_session_bytes(&search) < 0);
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        struct level *level = search_add_level(&search);
        assert_non_null(level);
        level->sessions = made[i].sessions;
        level->outcome = made[i].outcome;
        level->rows_per_s = made[i].rows_per_s;
        level->append = (struct level_latency){.count = 1, .p99_ns = made[i].p99_ns};
        level->server_memory_bytes = made[i].memory_bytes;
        search_note_level(&search);
        assert_int_equal(search.failed, failed_then[i]);
    }
    assert_int_equal(search.held, 31);
    assert_int_equal(search_knee(&search)->sessions, 20);
    assert_ptr_equal(search_best(&search), search_knee(&search));
    /* fewer sessions with as many rows/s, but for noise; a tenth less is no noise */
    search.levels[3].rows_per_s = 143;
    search.levels[3].sessions = 19;
    search.levels[5].rows_per_s = 135;
    search.levels[5].sessions = 18;
    assert_int_equal(search_best(&search)->sessions, 20);
    assert_int_equal(search_knee(&search)->sessions, 19);
    search.levels[3].sessions = 30;
    search.levels[5].sessions = 31;
    const struct level *over = NULL;
    const struct level *within = NULL;
    search_p99(&search, &over, &within);
    assert_int_equal(over->sessions, 20);
    assert_int_equal(within->sessions, 10);
    assert_true(search_session_bytes(&search) == 100);
    search_fini(&search);
}

static void test_samples_of_a_hold(void **state)
{
    (void)state;
    struct hold_samples samples;
    struct level level = {.host_cpu_percent = 7};
    struct sample sample = {.start_ns = 90,
                            .end_ns = 110,
                            .host_cpu_percent = 99,
                            .server_cpu_percent = -1,
                            .server_memory_bytes = 900};
    hold_samples_init(&samples);
    hold_samples_add(&samples, &sample);
    hold_samples_begin(&samples, 100);
    hold_samples_add(&samples, &sample); /* began before the hold */
    hold_samples_end(&samples, &level);
    assert_false(hold_samples_has_one(&samples));
    assert_true(level.host_cpu_percent < 0 && level.server_memory_bytes < 0);

    hold_samples_begin(&samples, 100);
    sample = (struct sample){.start_ns = 110,
                             .end_ns = 120,
                             .host_cpu_percent = 40,
                             .server_cpu_percent = -1,
                             .client_cpu_percent = 4,
                             .server_memory_bytes = 500,
                             .client_memory_bytes = 20};
    hold_samples_add(&samples, &sample);
    sample.start_ns = 120;
    sample.end_ns = 150;
    sample.host_cpu_percent = 80;
    sample.server_memory_bytes = 300;
    hold_samples_add(&samples, &sample);
    hold_samples_end(&samples, &level);
    assert_true(hold_samples_has_one(&samples));
    assert_true(level.host_cpu_percent == 70);
    assert_true(level.server_cpu_percent < 0);
    assert_true(level.client_cpu_percent == 4);
    assert_int_equal(level.server_memory_bytes, 500);
    assert_int_equal(level.client_memory_bytes, 20);
    hold_samples_fini(&samples);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_steps_try_the_last_one_again),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_reading_a_search),
        cmocka_unit_test(test_samples_of_a_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
