/*
 * A search for the largest number of sessions that the server can hold (append find-max): all of
 * them stay connected and work without failures.
 *
 * A search opens the gate first, so sessions begin to work as soon as they are connected. It
 * tries different numbers of sessions, called levels. It holds each level for a time while all
 * sessions work, and closes in on the largest number that can be held. When a session has
 * ended, another session may take its place. The new session continues the row numbers of the
 * place, so no two rows are the same. Main thread.
 */
#ifndef LOAD_SEARCH_H
#define LOAD_SEARCH_H

#include <stdint.h>

#include "append/adapter.h"
#include "load/load.h"
#include "load/wait_watch.h"
#include "measure/levels.h"
#include "measure/result.h"
#include "measure/waits.h"

/* What a search needs besides the load. */
struct search_task {
    struct search *search; /* the caller has set the bounds and hold_ns */
    /* maximum time by which a hold is extended until the server has acknowledged a batch of every
     * session */
    int64_t patience_ns;
    /* on_begin is called before the first session of a level is added, and on_level when the level
     * has held or failed, while the level's sessions are still up. `context` is load->context;
     * `own` is this process's part of the level. */
    void (*on_begin)(void *context, const struct level *level);
    void (*on_level)(void *context, const struct level *level, const struct level *own);
    struct wait_watch *waits; /* asks the server during each hold what its sessions wait for; NULL
                                 without --waits */
    struct waits *waited;     /* receives the answers of `waits` */
};

/* Runs a search with at most the plan's sessions. Returns when all sessions have ended. Fills
 * *result like fleet_run, except the members that only a run has (session_list, fairness, metrics,
 * batches, least_sessions), and fills task->search. Adds to result->causes only mistakes in the
 * script. If memory runs out, returns FATAL and starts no session.
 *
 * If search->max_rows is set, a hold ends early when it has written an eighth of the remaining
 * rows, but it lasts at least a second. Between two holds, sessions stop writing when they have
 * written a sixteenth of the remaining rows. */
enum status search_run(struct load *load, const struct search_task *task, struct result *result,
                       struct error *error);

/*
 * Returns the level that a search tries next, or 0 if the search is done. The levels double from
 * `first` until a level fails. After that, each level lies between the highest level that held and
 * the lowest level that failed.
 *
 * The number of sessions that the server let in at a failed level is used as a hint: a server with
 * room for 297 sessions lets in 297 of 320, so 297 and 298 are tried next instead of 240. The
 * search is done when N sessions have held and N + 1 have failed, either right after N had held, or
 * twice in a row. In both cases the failure cannot be due to sessions of an earlier level that the
 * server still has.
 */
unsigned search_next(const struct search *search, unsigned first);

/* Memory of this machine, while a search adds sessions. */
struct search_memory {
    uint64_t limit_bytes; /* maximum number of bytes in use; UINT64_MAX: unlimited, because the size
                             of the memory is unknown */
    uint64_t base_bytes;  /* number of bytes in use before the first session */
};

/* Estimates how many sessions fit into memory. Each further session is assumed to need the average
 * memory of the `up` present sessions, which includes the server's memory if the server runs on
 * this machine. Returns at least `up`, but 0 if the limit is already exceeded, and UINT32_MAX if
 * the number is unknown, for example if used_bytes is 0. */
unsigned search_memory_fits(const struct search_memory *memory, unsigned up, uint64_t used_bytes);

#endif
