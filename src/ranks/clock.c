#include <sched.h>
#include <sys/param.h>

#include "ranks/ranks_internal.h"

#define PING_LIMIT_NS (2 * MONO_NS_PER_S)

/* Rank 0 sends the moment at which the run starts this long in advance. Meanwhile the message
 * arrives at all ranks, and the samplers take their first readings. */
#define START_LEAD_NS (150 * MONO_NS_PER_MS)

enum {
    PINGS = 20,          /* number of exchanges with each rank */
    PINGED_AT_ONCE = 16, /* number of ranks whose clocks are measured at the same time */
};

/* Sends the next ping to a rank, unless a ping is in flight. Returns true if the clock of the rank
 * has been measured or the rank is lost. `asked_ns` is the moment at which the measurement began,
 * on the poll clock; a rank that is then silent for RANKS_LOST_NS is lost. If `is_over_limit`, a
 * single answered ping is enough. */
static bool measure_clock(struct ranks *ranks, unsigned rank, int64_t asked_ns, bool is_over_limit)
{
    struct peer *peer = &ranks->peers[rank];
    if (peer->stage == PEER_LOST || peer->pings >= (is_over_limit ? 1 : PINGS)) {
        return true;
    }
    if (ranks->poll_clock_ns - MAX(peer->heard_ns, asked_ns) > RANKS_LOST_NS) {
        ranks_lose(ranks, rank);
        peer->pings = PINGS; /* ends the measurement, even if ranks_lose kept the rank's stage */
    } else if (peer->pinged_ns == 0) {
        peer->pinged_ns = mono_now_ns();
        ranks_post(ranks, rank, KIND_PING, &peer->pinged_ns, sizeof peer->pinged_ns);
    }
    return false;
}

static void measure_clocks(struct ranks *ranks)
{
    for (unsigned first = 1; first < ranks->count; first += PINGED_AT_ONCE) {
        const unsigned end = MIN(first + PINGED_AT_ONCE, ranks->count);
        const int64_t limit_ns = mono_now_ns() + PING_LIMIT_NS, asked_ns = ranks->poll_clock_ns;
        for (unsigned i = first; i < end; i++) {
            struct peer *peer = &ranks->peers[i];
            peer->trip_ns = INT64_MAX;
            peer->pings = 0;
            peer->pinged_ns = 0;
        }
        for (bool is_done = false; !is_done && !interrupt_requested();) {
            const bool is_over_limit = mono_now_ns() >= limit_ns;
            if (is_over_limit) {
                mono_sleep(ranks_sleep_ns(0));
            } else {
                sched_yield();
            }
            ranks_poll(ranks);
            is_done = true;
            for (unsigned i = first; i < end; i++) {
                is_done = measure_clock(ranks, i, asked_ns, is_over_limit) && is_done;
            }
        }
    }
}

struct ranks_clock ranks_clock(const struct ranks *ranks, unsigned rank)
{
    return ranks->peers[rank].clock;
}

void ranks_check_clocks(struct ranks *ranks)
{
    measure_clocks(ranks);
    for (unsigned i = 1; i < ranks->count; i++) {
        struct peer *peer = &ranks->peers[i];
        peer->clock.drift_ns = peer->clock.offset_ns - peer->first_clock.offset_ns;
        peer->clock.drift_error_ns = peer->clock.error_ns + peer->first_clock.error_ns;
    }
}

int64_t ranks_agree_start(struct ranks *ranks)
{
    int64_t start_ns = 0;
    if (ranks == NULL) {
        return mono_now_ns();
    }
    if (ranks->number > 0) {
        ranks_receive(ranks, 0, KIND_START, &start_ns, sizeof start_ns);
        /* if the measured clock offset is wrong, the run still starts within a few seconds */
        return MIN(start_ns, mono_now_ns() + START_LEAD_NS + RANKS_LOST_NS / 2);
    }
    measure_clocks(ranks);
    start_ns = mono_now_ns() + START_LEAD_NS;
    for (unsigned i = 1; i < ranks->count; i++) {
        struct peer *peer = &ranks->peers[i];
        const int64_t there_ns = start_ns + peer->clock.offset_ns;
        peer->first_clock = peer->clock;
        if (ranks_is_alive(ranks, i)) {
            ranks_post(ranks, i, KIND_START, &there_ns, sizeof there_ns);
        }
    }
    return start_ns;
}
