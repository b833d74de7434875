/*
 * Declarations shared by the files of src/ranks: the messages between ranks, and what each rank
 * knows about the other ranks. Main thread only, unless stated otherwise.
 *
 * A rank from which no message has arrived for too long is lost. This time is measured on the poll
 * clock, which advances only while this process polls for messages.
 */
#ifndef RANKS_INTERNAL_H
#define RANKS_INTERNAL_H

#include <pthread.h>

#include "base/mono.h"
#include "ranks/module.h"
#include "ranks/ranks.h"

/* RANKS_LOST_NS is the silence after which a rank is lost during the run. The slow values, the
 * interval between signs of life and the silence, are for rank 0, and for all ranks before the run:
 * other work may delay these signs of life. */
#define RANKS_SLOW_BEAT_NS (3 * MONO_NS_PER_S)
#define RANKS_SLOW_LOST_NS (60 * MONO_NS_PER_S)
#define RANKS_LOST_NS (15 * MONO_NS_PER_S)

enum {
    MACHINE_BYTES = sizeof(((struct rank_result *)0)->machine),
    HEAD_BYTES = 8, /* size of the head, which has the kind; a multiple of 8 aligns the payload */
    ANY_RANK = RANKS_MAX,
    NO_RANK
};

enum kind {
    KIND_HELLO, /* struct hello: who a rank is */
    KIND_BEAT,  /* a sign of life before or after the run */
    KIND_TEXT,
    KIND_READY,  /* struct ready: what a rank reports in ranks_agree */
    KIND_AGREED, /* enum exit_code, from rank 0: the result of ranks_agree */
    KIND_PING,   /* int64_t: the moment at which the ping was sent */
    KIND_PONG,   /* two int64_t: the moment in the ping, and the moment of this answer */
    KIND_START,  /* int64_t: the moment at which the run begins */
    KIND_STATE,  /* struct ranks_state: the state of a rank's sessions */
    KIND_ORDERS, /* struct ranks_orders: the orders of rank 0 */
    KIND_MOST,   /* struct most: the greatest number of sessions that a rank can have */
    KIND_LEVEL,  /* a packed level of a search */
    KIND_RESULT, /* a packed result */
    KIND_MORE,   /* rank 0 wants more lines */
    KIND_LINES,  /* lines; empty: no more lines */
    KIND_CUT,    /* the lines cannot be read */
    KIND_END,    /* struct ranks_end: rank 0 has called ranks_end */
};

struct ranks_end {
    bool is_merged; /* the receiver's result is part of the merged result */
    bool is_broken; /* a rank is lost, so no rank may wait for all others */
};

/* A received message. */
struct message {
    struct message *next;
    unsigned from; /* the sender */
    enum kind kind;
    size_t size; /* size of the payload */
    char *bytes; /* the kind, then the payload; owned */
};

/* What this rank knows about the progress of another rank. The stage of a rank never goes back:
 * ranks_enter ignores an earlier stage. */
enum peer_stage {
    PEER_TAKES_PART,
    PEER_ENDED,      /* rank 0 has called ranks_end, and has not merged this rank's result */
    PEER_LOST,       /* nothing is sent to the rank, and no function waits for it */
    PEER_HAS_RESULT, /* known at rank 0: the result has arrived; a lost rank is not lost any more */
    PEER_REFUSED,    /* known at rank 0: the result was damaged, and the rank counts as lost */
    PEER_MERGED,     /* rank 0 has called ranks_end, and has merged this rank's result */
};

/* What this rank knows about a rank. Only rank 0 knows the clocks and states of all ranks. */
struct peer {
    char machine[MACHINE_BYTES];
    uint64_t weight;
    struct plan_share share;
    unsigned part; /* number of sessions of the rank after the latest call of share() */
    /* the latest measurement of the rank's clock, and the measurement before the run */
    struct ranks_clock clock, first_clock;
    int64_t trip_ns;   /* shortest round trip of the latest measurement */
    unsigned pings;    /* number of pings that were answered in this measurement */
    int64_t pinged_ns; /* moment at which the ping in flight was sent; 0: no ping in flight */
    int64_t heard_ns;  /* moment at which the rank's latest message arrived, on the poll clock */
    int64_t lost_ns;   /* moment at which the rank was lost, on the poll clock */
    enum peer_stage stage;
    bool is_awaited;   /* rank 0 waits for a message from the rank */
    bool lacks_orders; /* the rank has not received the latest orders */
    struct ranks_state state;
};

struct ranks {
    const struct ranks_module *module;
    unsigned number, count;
    struct peer *peers;            /* one entry for each rank */
    struct message *first, **last; /* queue of received messages that no function has taken yet */
    bool is_broken;                /* a rank is lost, so no rank may wait for all others */
    bool runs_programs;            /* this process starts a separate program for each run */
    bool is_tracing;               /* this rank traces I/O; at rank 0: any rank traces I/O */
    int lines; /* descriptor of the file whose lines this rank sends to rank 0; -1: it sends none */
    off_t lines_given; /* number of bytes of the file that were sent */
    int64_t alert_ns;  /* until this moment, a wait yields the CPU instead of sleeping */
    int64_t limit_ns;  /* moment at which all waits end; 0: no limit */
    int64_t signal_ns; /* moment of the first signal, on the poll clock; 0: no signal */
    int64_t polled_ns,
        poll_clock_ns;               /* moment of the latest poll; present time on the poll clock */
    struct ranks_orders orders;      /* the latest orders of rank 0 */
    struct ranks_orders sent_orders; /* the orders that rank 0 sent last */
    int64_t sent_ns; /* moment at which this rank last sent its orders, state or sign of life */
    pthread_mutex_t lock; /* lock for `others` and `shown` */
    /* `others` are the sums of the latest counters of the other ranks. `shown` are these sums at
     * the latest call of ranks_add_others. */
    uint64_t others[RECORDER_COUNTERS], shown[RECORDER_COUNTERS];
};

/* The state of a wait for messages. All members are 0 at the beginning. */
struct wait {
    int64_t sleep_ns; /* duration of the latest sleep */
    int64_t limit_ns; /* moment at which the wait must end; set after a signal, else 0 */
};

/* Send a copy of the payload to one rank, or from rank 0 to all other ranks that are alive. A rank
 * that cannot be reached becomes lost. */
void ranks_post(struct ranks *ranks, unsigned to, enum kind kind, const void *payload, size_t size);
void ranks_post_all(struct ranks *ranks, enum kind kind, const void *payload, size_t size);

/* Sends a message without copying it. `bytes`, from malloc, has HEAD_BYTES of free space, then
 * `size` bytes of payload. Owns and later frees `bytes`, even after a failure. Returns false if the
 * message cannot be sent; this does not make the rank lost. */
bool ranks_hand_over(struct ranks *ranks, unsigned to, enum kind kind, char *bytes, size_t size);

/* Receives all messages that have arrived. Handles pings, states, orders and similar messages
 * immediately, and queues the messages for which functions wait. */
void ranks_poll(struct ranks *ranks);

/* Removes the first message of a kind from the queue and returns it; the caller frees it. `from` is
 * the sender, or ANY_RANK. Sets is_awaited of the sender to false. Returns NULL if the queue does
 * not contain a matching message. */
struct message *ranks_find_message(struct ranks *ranks, unsigned from, enum kind kind);

/* Waits for a message and returns it like ranks_find_message. Returns NULL if rank 0 has called
 * ranks_end, if a rank is lost, or if the time limit is over. */
struct message *ranks_wait_for(struct ranks *ranks, unsigned from, enum kind kind);

/* Waits for a message like ranks_wait_for, copies its payload to *payload, and returns the sender.
 * Copies at most `size` bytes; if the payload is shorter, the rest of *payload becomes 0. If the
 * wait fails, returns NO_RANK and does not change *payload. */
unsigned ranks_receive(struct ranks *ranks, unsigned from, enum kind kind, void *payload,
                       size_t size);

/* Sets is_awaited of all other ranks, at rank 0. */
void ranks_await_all(struct ranks *ranks);

/* Sleeps for a moment, then polls. Sets wait->limit_ns after a signal. Returns false after
 * wait->limit_ns or ranks->limit_ns. */
bool ranks_wait_on(struct ranks *ranks, struct wait *wait);

void ranks_free_message(struct message *message); /* `message` may be NULL */

/* Moves a rank to a stage, unless the stage is earlier than its present stage. */
void ranks_enter(struct ranks *ranks, unsigned rank, enum peer_stage stage);

/* Counts a rank as lost, unless its result has arrived. In both cases sets ranks->is_broken. */
void ranks_lose(struct ranks *ranks, unsigned rank);

/* Returns whether rank 0 has called ranks_end or is lost. */
static inline bool ranks_have_ended(const struct ranks *ranks)
{
    return ranks->peers[0].stage != PEER_TAKES_PART;
}

/* Returns whether this rank exchanges messages with `rank`. Rank 0 does so with all other ranks;
 * the other ranks do so only with rank 0. */
static inline bool ranks_is_partner(const struct ranks *ranks, unsigned rank)
{
    return (rank == 0) != (ranks->number == 0);
}

/* Returns whether messages may be sent to a rank. Returns false if the rank is lost. After a
 * signal, also returns false until a message from the rank arrives: mpirun sends a signal when a
 * rank has died, and in Open MPI a message to a dead rank may end this process. */
bool ranks_is_alive(const struct ranks *ranks, unsigned rank);

/* Like ranks_is_alive, but also returns false for a rank whose signs of life are late. The caller
 * then sends its message later. Used while sessions live. */
bool ranks_is_beating(const struct ranks *ranks, unsigned rank);

/* Returns whether a rank has been silent for so long that it counts as lost. Used while sessions
 * live. */
bool ranks_is_silent(const struct ranks *ranks, unsigned rank);

/* Like ranks_is_silent, but allows the longer silence of RANKS_SLOW_LOST_NS. Used before the run,
 * and for rank 0 also during the run. */
bool ranks_is_silent_before_run(const struct ranks *ranks, unsigned rank);

/* Returns the time between two signs of life of a rank while sessions live. */
int64_t ranks_beat_ns(const struct ranks *ranks);

#endif
