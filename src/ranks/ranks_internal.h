/*
 * Declarations shared by the files of src/ranks: the messages between ranks, and what each rank
 * knows about the other ranks. Main thread only, unless stated otherwise.
 *
 * Ranks that are silent for too long are lost. Silence is measured on the poll clock, which
 * advances only while this process polls for messages.
 */
#ifndef RANKS_INTERNAL_H
#define RANKS_INTERNAL_H

#include <pthread.h>

#include "base/mono.h"
#include "ranks/module.h"
#include "ranks/ranks.h"

/* Intervals between signs of life, and silence after which a rank is lost. The slow intervals are
 * for rank 0 and, before the run, for all ranks, because other work may delay their signs of life.
 */
#define RANKS_SLOW_BEAT_NS (3 * MONO_NS_PER_S)
#define RANKS_SLOW_LOST_NS (60 * MONO_NS_PER_S)
#define RANKS_LOST_NS (15 * MONO_NS_PER_S)

enum {
    MACHINE_BYTES = sizeof(((struct rank_result *)0)->machine),
    HEAD_BYTES = 8, /* room for the kind of a message; keeps the payload after it aligned */
    ANY_RANK = RANKS_MAX,
    NO_RANK
};

enum kind {
    KIND_HELLO, /* struct hello: who a rank is */
    KIND_BEAT,  /* a sign of life before or after the work of the sessions */
    KIND_TEXT,
    KIND_READY,  /* struct ready: the outcome of a rank so far */
    KIND_AGREED, /* enum exit_code, from rank 0: the code on which all ranks agree */
    KIND_PING,   /* int64_t: the moment at which the ping was sent */
    KIND_PONG,   /* two int64_t: the moment in the ping, and the moment of the answer */
    KIND_START,  /* int64_t: the moment at which the run begins */
    KIND_STATE,  /* struct ranks_state: the state of a rank's sessions */
    KIND_ORDERS, /* struct ranks_orders: the orders of rank 0 */
    KIND_MOST,   /* struct most: the largest number of sessions that a rank can have */
    KIND_LEVEL,  /* a packed level of a search */
    KIND_RESULT, /* a packed result */
    KIND_MORE,   /* rank 0 wants more lines */
    KIND_LINES,  /* lines; empty: no more lines */
    KIND_CUT,    /* the lines cannot be read */
    KIND_END,    /* struct ranks_end: rank 0 ends the ranks */
};

struct ranks_end {
    bool is_merged; /* the receiver's result is part of the merged result */
    bool is_broken; /* a rank is lost, so the ranks cannot wait for all others */
};

/* A message, as it was received. */
struct message {
    struct message *next;
    unsigned from; /* the sender */
    enum kind kind;
    size_t size; /* size of the payload */
    char *bytes; /* the kind, then the payload; owned */
};

/* The stage of another rank, as this rank sees it. A rank never goes back to an earlier stage: an
 * event that belongs to an earlier stage is ignored. */
enum peer_stage {
    PEER_TAKES_PART,
    PEER_ENDED,      /* only for rank 0: it has ended the ranks, without this rank's result */
    PEER_LOST,       /* nothing is sent to the rank, and no function waits for it */
    PEER_HAS_RESULT, /* only at rank 0: the rank's result has arrived, even if the rank was lost */
    PEER_REFUSED,    /* only at rank 0: the rank's result was damaged; it counts as lost */
    PEER_MERGED,     /* only for rank 0: it has ended the ranks, and merged this rank's result */
};

/* A rank, as this rank knows it. Only rank 0 knows the clocks and states of all ranks. */
struct peer {
    char machine[MACHINE_BYTES];
    uint64_t weight;
    struct plan_share share;
    unsigned part; /* number of the sessions that share() gave to the rank last */
    /* the latest measurement of the rank's clock, and the measurement before the run */
    struct ranks_clock clock, first_clock;
    int64_t trip_ns;   /* shortest round trip of the latest measurement */
    unsigned pings;    /* pings answered in this measurement */
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
    bool is_broken;                /* a rank is lost, so the ranks cannot end together */
    bool runs_programs;            /* each run is a program of its own */
    bool is_tracing;               /* this rank traces I/O or, at rank 0, any rank does */
    int lines; /* descriptor of the file whose lines this rank sends to rank 0; -1: it sends none */
    off_t lines_given; /* number of bytes of the file that were sent */
    int64_t alert_ns;  /* moment until which a wait yields instead of sleeping */
    int64_t limit_ns;  /* moment at which all waits end; 0: no limit */
    int64_t signal_ns; /* moment at which a signal was seen, on the poll clock; 0: no signal */
    int64_t polled_ns, poll_clock_ns; /* moment of the latest poll, and reading of the poll clock */
    struct ranks_orders orders;       /* the latest orders of rank 0 */
    struct ranks_orders sent_orders;  /* the orders that rank 0 sent last */
    int64_t sent_ns; /* moment at which the orders, or the state of this rank, were sent last */
    pthread_mutex_t lock; /* lock for `others` and `shown` */
    /* others: sums of the counters that the other ranks reported last; shown: these sums at the
     * latest call of ranks_add_others */
    uint64_t others[RECORDER_COUNTERS], shown[RECORDER_COUNTERS];
};

/* A wait for messages. Begins zeroed. */
struct wait {
    int64_t sleep_ns; /* duration of the latest sleep */
    int64_t limit_ns; /* moment at which the wait ends after a signal; 0: no signal */
};

/* Send a copy of the payload to one rank, or to all ranks that are alive. A rank that cannot be
 * reached is lost. */
void ranks_post(struct ranks *ranks, unsigned to, enum kind kind, const void *payload, size_t size);
void ranks_post_all(struct ranks *ranks, enum kind kind, const void *payload, size_t size);

/* Sends a message in the memory that has its payload: `bytes`, from malloc, is HEAD_BYTES of room
 * for the head, then `size` bytes of payload. Takes over `bytes`, even when it fails. Returns false
 * if the message cannot be sent; the rank does not count as lost then. */
bool ranks_hand_over(struct ranks *ranks, unsigned to, enum kind kind, char *bytes, size_t size);

/* Receives all messages that have arrived, handles the messages for which no function waits, and
 * queues the others. */
void ranks_poll(struct ranks *ranks);

/* Takes the first message of this kind from rank `from`, or from any rank with ANY_RANK, out of the
 * queue. The caller frees the message. The sender is then no longer awaited. Returns NULL if there
 * is no such message. */
struct message *ranks_find_message(struct ranks *ranks, unsigned from, enum kind kind);

/* Waits for a message that ranks_find_message finds. Returns NULL if rank 0 has ended the ranks, a
 * rank is lost, or the wait has reached its limit. */
struct message *ranks_wait_for(struct ranks *ranks, unsigned from, enum kind kind);

/* Waits like ranks_wait_for, copies the payload to the `size` bytes at `payload`, and returns the
 * sender. Missing bytes are zeroed. If the wait fails, returns NO_RANK and does not change
 * *payload. */
unsigned ranks_receive(struct ranks *ranks, unsigned from, enum kind kind, void *payload,
                       size_t size);

/* Notes, at rank 0, that a message of every other rank is awaited. */
void ranks_await_all(struct ranks *ranks);

/* Sleeps for a moment, then polls. Returns false if the wait has reached wait->limit_ns, which is
 * set after a signal, or ranks->limit_ns. */
bool ranks_wait_on(struct ranks *ranks, struct wait *wait);

void ranks_free_message(struct message *message); /* `message` may be NULL */

/* Moves a rank to a stage, unless the stage is earlier than its present stage. */
void ranks_enter(struct ranks *ranks, unsigned rank, enum peer_stage stage);

/* Counts a rank as lost, unless its result has arrived. The ranks can then no longer end
 * together. */
void ranks_lose(struct ranks *ranks, unsigned rank);

/* Returns whether rank 0 has ended the ranks, or is lost. */
static inline bool ranks_have_ended(const struct ranks *ranks)
{
    return ranks->peers[0].stage != PEER_TAKES_PART;
}

/* Returns whether this rank exchanges messages with the rank. */
static inline bool ranks_is_partner(const struct ranks *ranks, unsigned rank)
{
    return (rank == 0) != (ranks->number == 0);
}

/* Returns whether messages may be sent to the rank. Returns false if the rank is lost, or has been
 * silent since a signal. With Open MPI a message to a dead rank may end this rank, and a signal may
 * come from mpirun because a rank has died. */
bool ranks_is_alive(const struct ranks *ranks, unsigned rank);

/* Returns whether messages may be sent to the rank while sessions live: also false for a rank that
 * has missed beats. The caller then sends its message later. */
bool ranks_is_beating(const struct ranks *ranks, unsigned rank);

/* Returns whether the rank has been silent for too long while sessions live. */
bool ranks_is_silent(const struct ranks *ranks, unsigned rank);

/* Returns whether the run has not begun and the rank has been silent for too long. */
bool ranks_is_silent_before_run(const struct ranks *ranks, unsigned rank);

/* Returns the time between the beats of a rank while sessions live. */
int64_t ranks_beat_ns(const struct ranks *ranks);

#endif
