/*
 * What the files of the ranks share: the messages between ranks, and what each rank knows of the
 * others. Main thread, unless said.
 */
#ifndef RANKS_INTERNAL_H
#define RANKS_INTERNAL_H

#include <pthread.h>

#include "base/mono.h"
#include "ranks/module.h"
#include "ranks/ranks.h"

/* Of rank 0 and, before the run, of all: what they do may keep them from beating for long. */
#define RANKS_SLOW_BEAT_NS (15 * MONO_NS_PER_S)
#define RANKS_SLOW_LOST_NS (4 * RANKS_SLOW_BEAT_NS)
#define RANKS_LOST_NS (15 * MONO_NS_PER_S)

enum {
    MACHINE_BYTES = sizeof(((struct rank_result *)0)->machine),
    HEAD_BYTES = 8 /* of a message, its kind: the payload is aligned */
};

enum kind {
    KIND_HELLO, /* struct hello: who a rank is */
    KIND_BEAT,  /* before the run: the rank lives */
    KIND_TEXT,
    KIND_READY,  /* struct ready: what a rank came to */
    KIND_AGREED, /* enum exit_code, from rank 0 */
    KIND_PING,   /* int64_t: when it was sent */
    KIND_PONG,   /* two of them: the same, and when it was answered */
    KIND_START,  /* int64_t: when the run begins */
    KIND_STATE,  /* struct ranks_state */
    KIND_ORDERS, /* struct ranks_orders */
    KIND_MOST,   /* struct most */
    KIND_LEVEL,  /* what a rank came to at a level of a search */
    KIND_RESULT,
    KIND_MORE,  /* rank 0 wants more lines */
    KIND_LINES, /* some; none: there are no more */
    KIND_CUT,   /* they cannot be read */
    KIND_END,   /* struct end: rank 0 lets go */
};

struct end {
    bool is_merged; /* it has what the others gave away */
    bool is_broken; /* some rank is lost: nobody can wait for all */
};

struct message {
    struct message *next;
    unsigned from;
    size_t size; /* of the payload */
    char *bytes; /* owned: the kind, then the payload */
};

/* Another rank, as rank 0 sees it, or the leader, as the others do. */
struct peer {
    char machine[MACHINE_BYTES];
    uint64_t weight;
    struct plan_share share;
    unsigned part;            /* of the sessions that were shared out last */
    struct ranks_clock clock; /* the latest; drift against the first */
    int64_t first_offset_ns, first_error_ns;
    int64_t trip_ns;   /* shortest round trip of this measurement */
    unsigned pings;    /* answered in this measurement */
    int64_t pinged_ns; /* 0: no answer is due */
    int64_t heard_ns;  /* on the clock of looking, */
    int64_t lost_ns;   /* … where it is lost */
    bool has_come;     /* to what rank 0 waits for */
    bool has_result, is_lost;
    bool is_refused; /* its result came damaged */
    bool is_behind;  /* it was not told the latest orders */
    unsigned levels; /* of a search, whose results it gave */
    struct ranks_state state;
};

struct ranks {
    const struct ranks_module *module;
    unsigned number, count;
    struct peer *peers; /* by rank */
    struct message *first, **last;
    bool has_ended; /* rank 0 let go, or there is no point in waiting for it */
    bool is_merged;
    bool is_broken;  /* some rank cannot take part in the end */
    bool is_of_runs; /* each a program of its own */
    bool does_claim, is_claimed;
    int lines;         /* descriptor; -1: none are offered */
    off_t lines_given; /* bytes */
    int64_t alert_ns;
    int64_t limit_ns;              /* of waits; 0: none */
    int64_t signal_ns;             /* on the clock of looking; 0: no signal has come */
    int64_t looked_ns, patient_ns; /* latest look for messages; time spent looking, all in all */
    struct ranks_orders orders;    /* the latest */
    struct ranks_orders told;      /* the same as rank 0 told them last */
    int64_t told_ns;               /* when they, or the own state, were sent last */
    pthread_mutex_t lock;          /* guards the counters */
    uint64_t others[RECORDER_COUNTERS], shown[RECORDER_COUNTERS];
};

/* A wait for messages. */
struct wait {
    int64_t sleep_ns;
    int64_t limit_ns; /* from a signal on; 0: none came */
};

/* Sends to one rank, or to all that are alive; a rank that cannot be reached is lost. */
void ranks_post(struct ranks *ranks, unsigned to, enum kind kind, const void *payload, size_t size);
void ranks_post_all(struct ranks *ranks, enum kind kind, const void *payload, size_t size);

/* Takes all messages that have come, and answers those that need no waiter. */
void ranks_look(struct ranks *ranks);

/* Takes the first message of a kind that waits; NULL: there is none. Freed by the caller. */
struct message *ranks_find_message(struct ranks *ranks, enum kind kind);

/* Waits for such a message. NULL: rank 0 has let go, a rank that it waits for is lost, or nobody
 * answers for too long. */
struct message *ranks_wait_for(struct ranks *ranks, enum kind kind);

/* Sleeps for a moment, and looks. False: there was a signal long ago. */
bool ranks_wait_on(struct ranks *ranks, struct wait *wait);

enum kind ranks_kind_of(const struct message *message);

/* Copies a payload of a known size. */
void ranks_open_message(const struct message *message, void *payload, size_t size);
void ranks_free_message(struct message *message); /* takes NULL */

/* Counts a rank as lost; rank 0: the run is over. */
void ranks_lose(struct ranks *ranks, unsigned rank);

/* False: the rank is lost, or was not heard of since a signal. To write to a dead rank may end this
 * one, as Open MPI has it, and a signal can be what mpirun does when a rank has died. */
bool ranks_is_alive(const struct ranks *ranks, unsigned rank);

/* The same while sessions live, when every rank beats: what is not sent now is sent later. */
bool ranks_is_beating(const struct ranks *ranks, unsigned rank);

/* Nothing was heard of the rank for too long. */
bool ranks_is_silent(const struct ranks *ranks, unsigned rank);

/* Before the run: it does not beat. */
bool ranks_is_mute(const struct ranks *ranks, unsigned rank);

/* How often a rank beats while sessions live. */
int64_t ranks_beat_ns(const struct ranks *ranks);

#endif
