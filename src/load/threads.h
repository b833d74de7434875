/*
 * The threads of the sessions: started, cut and joined one by one, beside what a run and a search
 * know of all of them. For fleet.c, which runs them all at once, and search.c, which adds and
 * retires them level by level. Main thread.
 */
#ifndef LOAD_THREADS_H
#define LOAD_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mono.h"
#include "load/session.h"

/* How often other ranks are asked by one that waits for them. */
#define WAIT_NS (2 * MONO_NS_PER_MS)

/* The memory of this machine while a search adds sessions. */
struct ladder_memory {
    uint64_t limit_bytes; /* that may be in use; UINT64_MAX: not known, there is no bound then */
    uint64_t base_bytes;  /* in use before the first session */
};

/* The snapshots of a level. */
enum {
    AT_START,
    AT_HOLD,
    AT_END,
    SNAPSHOTS,
};

struct fleet {
    struct load *load;        /* borrowed */
    struct result *result;    /* borrowed */
    struct session *sessions; /* a place each */
    unsigned capacity;
    unsigned used;       /* places that ever had a session; they are the first ones */
    unsigned first_free; /* no place before it is free */
    unsigned live;       /* sessions whose thread was started and not joined */
    unsigned leaving;    /* of these, told to leave */
    bool is_shortage_reported;
    bool is_up;       /* a run's sessions are, or have failed */
    bool is_end_told; /* of the work, to the sampler */

    /* With other ranks. */
    struct ranks_state own;
    struct ranks_orders orders; /* the latest */
    int64_t next_exchange_ns, next_count_ns;
    bool have_ended; /* the sessions */
    /* In a search. */
    unsigned level; /* the number of the level */
    enum ranks_stage stage;
    bool has_level_failed;
    enum search_end wish;   /* of a rank that follows: for rank 0 to say */
    struct level_room room; /* after the latest level */
    uint64_t up_everywhere; /* sessions, then */

    int64_t next_interrupt_ns;   /* from STOP, or the end of all work, on; 0 before */
    int64_t next_overdue_ns;     /* with --timeout: when the calls are looked at again */
    struct gate_numbers numbers; /* when it was last waited; but for those started since */
    struct session_ledger total; /* of all sessions that were joined */
    uint64_t cut;                /* of these, those whose connection was cut */

    /* Of a search. */
    struct search *search;
    struct causes causes; /* of the level that is being tried */
    struct ladder_memory memory;
    int64_t deadline_ns;
    int64_t next_memory_ns; /* when to look at the memory again */
    int64_t next_rows_ns;   /* when to add up rows_written again */
    uint64_t rows_written;
    uint64_t rest_at_rows;  /* sessions rest when so many are written; UINT64_MAX = never */
    uint64_t max_rows;      /* this process's share of search->max_rows; 0 = any number */
    bool is_over;           /* search->end says why */
    uint64_t failed_before; /* calls that failed before this level, or of sessions cut for it */
    struct recorder_snapshot snapshots[SNAPSHOTS]; /* of the level: its start, its hold's start
                                                      and end */
};

/* Empties a place for its next session. The rows of the place go on; everything else is as new. */
void fleet_renew(struct fleet *fleet, unsigned place);

/* Starts a session. False: it got no thread, nor would the next ones; why is among the causes. */
bool fleet_start(struct fleet *fleet);

/* Joins a session that has ended, or will by itself, and counts how it did: in the total, and in
 * *ledger unless it was told to leave. */
void fleet_join(struct fleet *fleet, struct session *session, struct session_ledger *ledger);

/* The same of all that have ended. */
void fleet_join_ended(struct fleet *fleet, struct session_ledger *ledger);

/* Makes blocked calls of sessions return, of all, or of those that are to leave, once
 * next_interrupt_ns has come; that becomes a second later. */
void fleet_interrupt(struct fleet *fleet, bool only_leaving);

/* Calls on_shortage, once until is_shortage_reported is false again. */
void fleet_report_shortage(struct fleet *fleet);

/* Tells the other ranks how far this one is, and does as they say. */
void fleet_exchange(struct fleet *fleet, bool is_work_done);

/* Ends the search; the first reason stays. A rank that follows waits until rank 0 says so. */
void fleet_end_search(struct fleet *fleet, enum search_end end);

/* search.c: runs a search with the sessions of the fleet, and returns when all have ended. FATAL:
 * no memory, nothing was started. */
enum status search_run(struct fleet *fleet, struct error *error);

/*
 * Which level a search tries next; 0: there is none. Doubles from `first` until a level fails, then
 * closes in between the highest that held and the lowest that failed.
 *
 * How many sessions got in at a level that failed is taken as a hint: a server with room for 297
 * lets in 297 of 320, so that 297 and 298 are tried next and not 240. The search is done when two
 * neighbours are known, and the higher one failed right after the lower one had held, or twice in a
 * row: then nothing left over from an earlier level stood in its way.
 */
unsigned ladder_next(const struct search *search, unsigned first);

/* The most sessions that fit when each further one costs what those that are up did on average,
 * server's side included where it is this machine. At least `up`, unless the limit is passed
 * already; UINT32_MAX when nothing is known, as with 0 bytes used. */
unsigned ladder_memory_fits(const struct ladder_memory *memory, unsigned up, uint64_t used_bytes);

#endif
