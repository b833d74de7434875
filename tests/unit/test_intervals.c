/* What happened between two snapshots. */
#include <string.h>

#include "unit/unit.h"

#include "base/mono.h"
#include "measure/intervals.h"

enum {
    SESSIONS = 3
};

static struct recorder *recorder;
static struct intervals intervals;

static int set_up(void **state)
{
    (void)state;
    recorder = recorder_create(2);
    return recorder != NULL && recorder_watch(recorder, SESSIONS) &&
                   intervals_init(&intervals, recorder, mono_now_ns())
               ? 0
               : 1;
}

static int tear_down(void **state)
{
    (void)state;
    intervals_fini(&intervals);
    recorder_destroy(recorder);
    return 0;
}

static struct interval take(void)
{
    struct interval interval;
    mono_sleep(MONO_NS_PER_MS);
    assert_true(intervals_take(&intervals, &interval));
    mono_sleep(MONO_NS_PER_MS);
    return interval;
}

/* Connected now, whatever it took: the dip of a restart must be seen. */
static void test_alive(void **state)
{
    (void)state;
    recorder_add(recorder, 0, RECORDER_CONNECTIONS_OPENED, 5);
    assert_int_equal(take().sessions_alive, 5);
    recorder_add(recorder, 0, RECORDER_CONNECTIONS_CLOSED, 4);
    assert_int_equal(take().sessions_alive, 1);
    recorder_add(recorder, 1, RECORDER_CONNECTIONS_OPENED, 3);
    assert_int_equal(take().sessions_alive, 4);
    recorder_add(recorder, 1, RECORDER_CONNECTIONS_CLOSED, 4);
    const struct interval last = take();
    assert_int_equal(last.sessions_alive, 0);
    assert_int_equal(last.counters[RECORDER_CONNECTIONS_CLOSED], 4);
}

static void test_without_progress(void **state)
{
    (void)state;
    take();
    for (unsigned i = 0; i < SESSIONS; i++) {
        recorder_begin_work(recorder, i, mono_now_ns());
    }
    assert_int_equal(take().sessions_without_progress, 0); /* they have just begun */
    recorder_note_progress(recorder, 0, mono_now_ns());
    assert_int_equal(take().sessions_without_progress, SESSIONS - 1);
    recorder_note_progress(recorder, 1, mono_now_ns());
    recorder_end_work(recorder, 0); /* that it has done its share is no standstill */
    assert_int_equal(take().sessions_without_progress, SESSIONS - 2);
    assert_int_equal(take().sessions_without_progress, SESSIONS - 1);
    recorder_note_reading(recorder, 1, true); /* nor is a long read */
    const struct interval interval = take();
    assert_int_equal(interval.sessions_working, SESSIONS - 1);
    assert_int_equal(interval.sessions_reading, 1);
    assert_int_equal(interval.sessions_without_progress, SESSIONS - 2);
    recorder_end_work(recorder, 1);
    recorder_end_work(recorder, 2);
    assert_int_equal(take().sessions_without_progress, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_alive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_progress, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
