/*
 * Random arrivals of a session: a Poisson process (--arrivals poisson).
 *
 * The gaps between the arrivals of a session are independent and exponentially distributed. Each
 * session has a process of its own, and all sessions have the same mean gap, so that all arrivals
 * together are a Poisson process. Gaps are in units of the mean gap: the caller stretches them to
 * the run's rate, which may change with time. A gap is a function of the seed, the session and the
 * number of the arrival: the same seed gives the same arrivals.
 */
#ifndef LOAD_ARRIVALS_H
#define LOAD_ARRIVALS_H

#include <stdint.h>

/* A position in the sequence of a session's arrivals. A copy moves independently of the
 * original. */
struct arrivals {
    uint64_t seed;
    uint64_t count; /* number of random arrivals so far */
    uint64_t most;  /* maximum number of random arrivals; each later arrival follows one mean gap
                       after the arrival before it */
    double last;    /* moment of the latest random arrival, in mean gaps since the beginning */
};

struct arrivals arrivals_begin(uint64_t seed, unsigned session);

/* Returns arrival `number`, counted from 0, in mean gaps since the beginning. `number` must not be
 * smaller than in an earlier call. */
double arrivals_at(struct arrivals *arrivals, uint64_t number);

#endif
