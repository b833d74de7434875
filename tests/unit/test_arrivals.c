/* Random arrivals: their gaps, their sum over sessions, and the queue that they make. */
#include "load/arrivals.h"

#include <math.h>

#include "base/mono.h"
#include "unit.h"

enum {
    ARRIVALS = 1000000
};

/* The gaps have the mean that was asked for, and an exponential distribution's deviation and
 * median. */
TEST(test_gaps)
{
    const double mean_ns = 2.5e6;
    struct arrivals arrivals = arrivals_begin(7, 3, mean_ns);
    double sum = 0, squares = 0;
    unsigned below_median = 0;
    int64_t before_ns = 0;
    for (uint64_t i = 0; i < ARRIVALS; i++) {
        const int64_t at_ns = arrivals_at_ns(&arrivals, i);
        const double gap = (double)(at_ns - before_ns) / mean_ns;
        assert_true(gap >= 0);
        sum += gap;
        squares += gap * gap;
        below_median += gap < log(2) ? 1 : 0;
        before_ns = at_ns;
    }
    const double mean = sum / ARRIVALS;
    assert_true(fabs(mean - 1) < 0.005);
    assert_true(fabs(sqrt(squares / ARRIVALS - mean * mean) - 1) < 0.01);
    assert_true(fabs((double)below_median / ARRIVALS - 0.5) < 0.003);
}

/* The same seed gives the same arrivals, also when some are skipped; another seed or session gives
 * others. */
TEST(test_repeatable)
{
    struct arrivals a = arrivals_begin(1, 0, 1e6), b = arrivals_begin(1, 0, 1e6),
                    c = arrivals_begin(1, 1, 1e6), d = arrivals_begin(2, 0, 1e6);
    for (uint64_t i = 0; i < 1000; i++) {
        arrivals_at_ns(&a, i);
    }
    const int64_t last_ns = arrivals_at_ns(&b, 999);
    assert_int_equal(arrivals_at_ns(&a, 999), last_ns);
    assert_int_not_equal(arrivals_at_ns(&c, 999), last_ns);
    assert_int_not_equal(arrivals_at_ns(&d, 999), last_ns);
    struct arrivals copy = a;
    const int64_t next_ns = arrivals_at_ns(&copy, 1000);
    assert_int_equal(arrivals_at_ns(&a, 1000), next_ns);
}

/* After the arrivals to draw, the others follow at the mean gap. */
TEST(test_most)
{
    struct arrivals arrivals = arrivals_begin(3, 0, 1e6);
    arrivals.most = 10;
    const int64_t last_ns = arrivals_at_ns(&arrivals, 9);
    assert_int_equal(arrivals_at_ns(&arrivals, 10), last_ns + 1000000);
    assert_int_equal(arrivals_at_ns(&arrivals, 1009), last_ns + 1000 * INT64_C(1000000));
    struct arrivals drawn = arrivals_begin(3, 0, 1e6);
    assert_int_equal(arrivals_at_ns(&drawn, 9), last_ns);
}

/* Arrivals beyond all time do not wrap around. */
TEST(test_never)
{
    struct arrivals arrivals = arrivals_begin(7, 0, 1e18);
    int64_t before_ns = 0;
    for (uint64_t i = 0; i < 100; i++) {
        const int64_t at_ns = arrivals_at_ns(&arrivals, i);
        assert_true(at_ns >= before_ns);
        before_ns = at_ns;
    }
    assert_true(before_ns <= INT64_MAX / 2);
}

/* The arrivals of many sessions in a second have the variance of a Poisson distribution, which is
 * its mean. */
TEST(test_sessions_together)
{
    enum {
        SESSIONS = 50,
        SECONDS = 2000
    };
    static unsigned counts[SECONDS];
    for (unsigned session = 0; session < SESSIONS; session++) {
        struct arrivals arrivals = arrivals_begin(11, session, 0.5 * (double)MONO_NS_PER_S);
        int64_t at_ns;
        for (uint64_t i = 0; (at_ns = arrivals_at_ns(&arrivals, i)) < SECONDS * MONO_NS_PER_S;
             i++) {
            counts[at_ns / MONO_NS_PER_S]++;
        }
    }
    double sum = 0, squares = 0;
    for (unsigned i = 0; i < SECONDS; i++) {
        sum += counts[i];
        squares += (double)counts[i] * counts[i];
    }
    const double mean = sum / SECONDS, variance = squares / SECONDS - mean * mean;
    assert_true(fabs(mean - 100) < 1);
    assert_true(fabs(variance / mean - 1) < 0.1);
}

/* One server that takes 10 ms for each arrival and is busy for 80 % of the time: by the
 * Pollaczek-Khinchine formula for M/D/1 an arrival waits for 10 ms * 0.8 / (2 * (1 - 0.8)) = 20 ms
 * on average. */
TEST(test_one_server)
{
    const double service_ns = 10e6;
    struct arrivals arrivals = arrivals_begin(5, 0, service_ns / 0.8);
    double free_ns = 0, waited_ns = 0;
    for (uint64_t i = 0; i < ARRIVALS; i++) {
        const double at_ns = (double)arrivals_at_ns(&arrivals, i);
        const double begin_ns = at_ns > free_ns ? at_ns : free_ns;
        waited_ns += begin_ns - at_ns;
        free_ns = begin_ns + service_ns;
    }
    assert_true(fabs(waited_ns / ARRIVALS / 20e6 - 1) < 0.03);
}
