/* The slowest and the fastest session, and the longest gap. */
#include "unit/unit.h"

#include "base/mono.h"
#include "measure/fairness.h"

static void test_extremes(void **state)
{
    (void)state;
    const struct session_summary list[] = {
        {.index = 0, .is_idle = true},
        {.index = 1, .rows.acknowledged = 100, .worked_ns = MONO_NS_PER_S, .longest_gap_ns = 7},
        {.index = 2, .rows.acknowledged = 100, .worked_ns = 4 * MONO_NS_PER_S, .longest_gap_ns = 9},
        {.index = 3, .rows.acknowledged = 90, .worked_ns = MONO_NS_PER_S / 2, .longest_gap_ns = 8},
        {.index = 4, .outcome = SESSION_REFUSED},
    };
    struct fairness fairness;
    fairness_find(&fairness, list, 5);
    assert_int_equal(fairness.sessions, 3);
    assert_int_equal(fairness.slowest_session, 2);
    assert_int_equal(fairness.fastest_session, 3);
    assert_int_equal((int)fairness.slowest_rows_per_s, 25);
    assert_int_equal((int)fairness.fastest_rows_per_s, 180);
    assert_int_equal(fairness.longest_gap_session, 2);
    assert_int_equal(fairness.longest_gap_ns, 9);
    fairness_find(&fairness, list, 1);
    assert_int_equal(fairness.sessions, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_extremes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
