/*
 * Random arrivals of a session: a Poisson process (--arrivals poisson).
 *
 * The gaps between the arrivals of a session are independent and exponentially distributed. Each
 * session has a process of its own, and all sessions have the same mean gap, so that all arrivals
 * together are a Poisson process at the run's rate. A gap is a function of the seed, the session
 * and the number of the arrival: the same seed gives the same arrivals.
 */
#ifndef LOAD_ARRIVALS_H
#define LOAD_ARRIVALS_H

#include <stdint.h>

/* Later moments, some 70 years after the gate opened, count as this one. */
#define ARRIVALS_LATEST_NS ((double)(INT64_MAX / 4))

/* Goes through a session's arrivals in order. A copy continues independently of the original. */
struct arrivals {
    uint64_t seed;
    double mean_gap_ns;
    uint64_t count; /* arrivals drawn so far */
    uint64_t most;  /* arrivals to draw; later arrivals follow each other at the mean gap */
    double last_ns; /* moment of the last arrival that was drawn, since the gate opened */
};

struct arrivals arrivals_begin(uint64_t seed, unsigned session, double mean_gap_ns);

/* Returns the moment of arrival `number`, counted from 0, since the gate opened. The numbers of
 * later calls must not be smaller. */
int64_t arrivals_at_ns(struct arrivals *arrivals, uint64_t number);

#endif
