/* Random arrivals: their gaps, their sum over sessions, and the queue that they make. */
#include "load/arrivals.h"

#include <math.h>

#include "unit.h"

enum {
    ARRIVALS = 1000000
};

/* The gaps have the mean that was asked for, and an exponential distribution's deviation and
 * median. */
TEST(test_gaps)
{
    struct arrivals arrivals = arrivals_begin(7, 3);
    double sum = 0, squares = 0;
    unsigned below_median = 0;
    double before = 0;
    for (uint64_t i = 0; i < ARRIVALS; i++) {
        const double at = arrivals_at(&arrivals, i);
        const double gap = at - before;
        assert_true(gap >= 0);
        sum += gap;
        squares += gap * gap;
        below_median += gap < log(2) ? 1 : 0;
        before = at;
    }
    const double mean = sum / ARRIVALS;
    assert_true(fabs(mean - 1) < 0.005);
    assert_true(fabs(sqrt(squares / ARRIVALS - mean * mean) - 1) < 0.01);
    assert_true(fabs((double)below_median / ARRIVALS - 0.5) < 0.003);
}

/* The same seed gives the same arrivals, even when some are skipped. A different seed or session
 * gives different arrivals. */
TEST(test_repeatable)
{
    struct arrivals a = arrivals_begin(1, 0), b = arrivals_begin(1, 0), c = arrivals_begin(1, 1),
                    d = arrivals_begin(2, 0);
    for (uint64_t i = 0; i < 1000; i++) {
        arrivals_at(&a, i);
    }
    const double last = arrivals_at(&b, 999);
    assert_true(arrivals_at(&a, 999) == last);
    assert_true(arrivals_at(&c, 999) != last);
    assert_true(arrivals_at(&d, 999) != last);
    struct arrivals copy = a;
    const double next = arrivals_at(&copy, 1000);
    assert_true(arrivals_at(&a, 1000) == next);
}

/* Only the first `most` arrivals are drawn; all later arrivals follow at the mean gap. */
TEST(test_most)
{
    struct arrivals arrivals = arrivals_begin(3, 0);
    arrivals.most = 10;
    const double last = arrivals_at(&arrivals, 9);
    assert_true(arrivals_at(&arrivals, 10) == last + 1);
    assert_true(arrivals_at(&arrivals, 1009) == last + 1000);
    struct arrivals drawn = arrivals_begin(3, 0);
    assert_true(arrivals_at(&drawn, 9) == last);
}

/* The number of arrivals of many sessions in a second has a variance equal to its mean, as in a
 * Poisson distribution. */
TEST(test_sessions_together)
{
    enum {
        SESSIONS = 50,
        SECONDS = 2000
    };
    static unsigned counts[SECONDS];
    for (unsigned session = 0; session < SESSIONS; session++) {
        struct arrivals arrivals = arrivals_begin(11, session);
        double at_s;
        for (uint64_t i = 0; (at_s = arrivals_at(&arrivals, i) * 0.5) < SECONDS; i++) {
            counts[(size_t)at_s]++;
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
    struct arrivals arrivals = arrivals_begin(5, 0);
    double free_ns = 0, waited_ns = 0;
    for (uint64_t i = 0; i < ARRIVALS; i++) {
        const double at_ns = arrivals_at(&arrivals, i) * service_ns / 0.8;
        const double begin_ns = at_ns > free_ns ? at_ns : free_ns;
        waited_ns += begin_ns - at_ns;
        free_ns = begin_ns + service_ns;
    }
    assert_true(fabs(waited_ns / ARRIVALS / 20e6 - 1) < 0.03);
}
