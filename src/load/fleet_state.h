/*
 * The state of a run or a search, and what both do with it: start, cut and join the threads of the
 * sessions, one by one, and exchange messages with other ranks. Used by fleet.c, which runs all
 * sessions at once, and search.c, which adds and retires sessions level by level. Main thread.
 */
#ifndef LOAD_FLEET_STATE_H
#define LOAD_FLEET_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mono.h"
#include "load/session.h"

/* Interval at which a rank that waits for other ranks exchanges messages with them. */
#define WAIT_NS (2 * MONO_NS_PER_MS)

/* Memory of this machine, while a search adds sessions. */
struct ladder_memory {
    uint64_t limit_bytes; /* most bytes that may be in use; UINT64_MAX: no bound, because the memory
                             is unknown */
    uint64_t base_bytes;  /* number of bytes in use before the first session */
};

/* Indexes of the snapshots of a level. */
enum {
    AT_START,
    AT_HOLD,
    AT_END,
    SNAPSHOTS,
};

/* The state of a search, level by level. */
struct ladder {
    unsigned level; /* number of the current level */
    enum ranks_stage stage;
    bool has_failed;        /* the current level has failed here */
    uint64_t failed_before; /* number of calls that failed before this level, or because sessions
                               were cut for this level */
    struct causes causes;   /* failures at the current level */
    struct recorder_snapshot snapshots[SNAPSHOTS]; /* snapshots of the current level: at its start,
                                                      and at the start and the end of its hold */
    uint64_t rest_at_rows; /* sessions rest when rows_written reaches this number; UINT64_MAX =
                              never */

    int64_t deadline_ns;
    uint64_t max_rows;    /* this process's share of search->max_rows; 0 = unlimited */
    int64_t next_rows_ns; /* moment of the next sum of rows_written */
    uint64_t rows_written;
    struct ladder_memory memory;
    int64_t next_memory_ns; /* moment of the next check of the memory */
    struct level_room room; /* room in memory after the latest level */
    uint64_t up_everywhere; /* sessions of all ranks that were up at the end of the latest level */
    bool has_ended;         /* search->end has the reason */
    enum search_end wish;   /* reason for which this rank asks rank 0 to end the search, on a rank
                               other than 0 */
};

struct fleet {
    struct load *load;        /* state that all sessions share; borrowed */
    struct result *result;    /* result that the fleet fills; borrowed */
    struct search *search;    /* the search; NULL: a run; borrowed */
    struct ladder ladder;     /* only for a search */
    struct session *sessions; /* one entry for each place */
    unsigned capacity;
    unsigned used;       /* number of places that ever had a session: places 0 to used - 1 */
    unsigned first_free; /* number of the first place that may be free */
    unsigned live;       /* number of sessions whose thread was started and is not joined */
    unsigned leaving;    /* part of `live`: number of sessions that were asked to leave */
    /* the gate's numbers at the last wait, plus the sessions that were started since */
    struct gate_numbers numbers;
    struct session_ledger total; /* outcomes of all sessions that were joined */
    uint64_t cut;                /* part of `total`: number of sessions whose connection was cut */
    int64_t next_interrupt_ns;   /* moment of the next cut of late sessions; 0: no cut is due yet */
    int64_t next_overdue_ns;     /* moment of the next check of the calls, with --timeout */
    bool is_shortage_reported;
    bool is_up;           /* the sessions of a run are connected, or have failed */
    bool is_end_reported; /* the sampler knows that the work has ended */
    bool have_ended;      /* the sessions have ended */

    /* State that is exchanged with other ranks. */
    struct ranks_state state;
    struct ranks_orders orders; /* the latest orders of rank 0 */
    int64_t next_exchange_ns, next_count_ns;
};

/* Resets the session of a place for its next use. The rows of the place go on where they
 * stopped. */
void fleet_reset_session(struct fleet *fleet, unsigned place);

/* Starts a session. Returns false if the system refused a thread, as it would for the next
 * sessions; the reason is then among the causes. */
bool fleet_start(struct fleet *fleet);

/* Joins a session that has ended or is about to end, and counts its outcome: in the total, and in
 * *ledger unless the session was asked to leave. */
void fleet_join(struct fleet *fleet, struct session *session, struct session_ledger *ledger);

/* Joins all sessions that have ended and counts their outcomes like fleet_join. */
void fleet_join_ended(struct fleet *fleet, struct session_ledger *ledger);

/* Cuts the connections of sessions once next_interrupt_ns is reached, so that blocked calls return,
 * and moves next_interrupt_ns by a second. With only_leaving, cuts only sessions that were asked to
 * leave. */
void fleet_interrupt(struct fleet *fleet, bool only_leaving);

/* Calls on_shortage, unless is_shortage_reported is already true. */
void fleet_report_shortage(struct fleet *fleet);

/* Sends the state of this rank to the others, and follows rank 0's orders. */
void fleet_exchange(struct fleet *fleet, bool is_work_done);

/* Ends a search; a later reason does not replace the first. A rank other than 0 only asks rank 0 to
 * end the search. */
void fleet_end_search(struct fleet *fleet, enum search_end end);

/* Runs a search with the sessions of the fleet, and returns when all sessions have ended. Returns
 * FATAL if memory ran out, so that no session was started. In search.c. */
enum status search_run(struct fleet *fleet, struct error *error);

/*
 * Returns the level that a search tries next, or 0 if the search is done. The levels double from
 * `first` until a level fails; then each further level lies between the highest level that held and
 * the lowest level that failed.
 *
 * The number of sessions that got in at a failed level is used as a hint: a server with room for
 * 297 sessions lets in 297 of 320, so 297 and 298 are tried next instead of 240. The search is done
 * when two neighbours are known, and the higher one failed either right after the lower one had
 * held, or twice in a row: then leftovers of an earlier level were not the reason.
 */
unsigned ladder_next(const struct search *search, unsigned first);

/* Returns how many sessions fit into memory, if each further session costs as much as the `up`
 * sessions did on average, including the server's side if the server runs on this machine. The
 * result is at least `up`, but 0 if the limit is already exceeded, and UINT32_MAX if it is unknown,
 * for example with 0 bytes used. */
unsigned ladder_memory_fits(const struct ladder_memory *memory, unsigned up, uint64_t used_bytes);

#endif
