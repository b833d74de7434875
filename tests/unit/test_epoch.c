/* Epochs: the periods of a run between changes of its rate or sessions. */
#include "unit/unit.h"

#include <limits.h>
#include <math.h>

#include "base/mono.h"
#include "load/epoch.h"

#define S MONO_NS_PER_S

static bool is_near(double value, double expected)
{
    return fabs(value - expected) < 1e-9;
}

/* Each epoch counts from its start. In a pause the rate is 0. */
TEST(test_mean_rate)
{
    struct epoch first = {.rate = {.first = 100}, .sessions = UINT_MAX};
    assert_true(is_near(epoch_mean_rate(&first, 10 * S, 10 * S, 14 * S), 100));
    struct epoch wanted = {.rate = {.first = 100}, .sessions = 3, .is_paused = true};
    epoch_add(&first, epoch_copy(&wanted));
    wanted = (struct epoch){.rate = {.first = 500}, .sessions = 2};
    epoch_add(&first, epoch_copy(&wanted));
    struct epoch *paused = atomic_load(&first.next), *latest = epoch_latest(&first);
    assert_ptr_equal(latest, atomic_load(&paused->next));
    assert_int_equal(paused->sessions, 3);
    assert_true(paused->is_paused);
    assert_int_equal(latest->sessions, 2);
    paused->start_ns = 12 * S; /* 2 s at 100, 3 s at 0, 5 s at 500 */
    latest->start_ns = 15 * S;
    assert_true(is_near(epoch_mean_rate(&first, 10 * S, 10 * S, 20 * S), 270));
    assert_true(is_near(epoch_mean_rate(&first, 10 * S, 11 * S, 13 * S), 50));
    assert_true(is_near(epoch_mean_rate(&first, 10 * S, 16 * S, 18 * S), 500));
    epoch_fini(&first);
    assert_ptr_equal(epoch_latest(&first), &first);
}
