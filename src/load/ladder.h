/*
 * Searches for the most sessions that can be held: adds sessions to those that are up, level by
 * level, holds each level for a time while all of them append, and closes in on the number that
 * cannot be held. Sessions begin to append as soon as they are connected.
 */
#ifndef LOAD_LADDER_H
#define LOAD_LADDER_H

#include "load/fleet.h"
#include "measure/levels.h"
#include "measure/sampler.h"

struct ladder_config {
    const struct fleet_config *fleet; /* on_shortage: of each level, soon after a session failed */
    unsigned first;                   /* sessions of the first level; never above plan->sessions,
                                         which is the bound */
    int64_t hold_ns;
    int64_t patience_ns; /* how much longer a hold may be, so that the slowest session can show an
                            append */
    int64_t max_time_ns;
    uint64_t max_memory_bytes; /* of this machine in use; 0 = nine tenths */
    uint64_t max_rows;         /* that are written; 0 = any number. A hold is shorter, but no less
                                  than a second, once it has taken an eighth of what is left, and
                                  sessions rest until the next one once they wrote a sixteenth */
    struct hold_samples *samples;

    /* May be NULL. Main thread; before the first session of a level is added, and when it is known
     * what became of it: sessions that are up still are. */
    void (*on_begin)(void *context, const struct level *level);
    void (*on_level)(void *context, const struct level *level);
    void *context;
};

/* Main thread; returns when the search is over and every session has ended. Fills *search, whose
 * members bound… and p99_bound_ns the caller has set, and of *result what fleet_run fills; its
 * ledger counts every session that was ever started. FATAL: no memory, nothing was started. */
enum status ladder_run(const struct ladder_config *config, struct search *search,
                       struct result *result, struct error *error);

/*
 * Which level a search tries next: doubles from the first until a level fails, then closes in
 * between the highest that held and the lowest that failed. Plain arithmetic, no clock.
 *
 * How many sessions got in at a level that failed is taken as a hint: a server with room for 297
 * lets in 297 of 320, so that 297 and 298 are tried next and not 240. The search is done when two
 * neighbours are known, and the higher one failed right after the lower one had held, or twice in a
 * row: then nothing left over from an earlier level stood in its way.
 */
struct ladder_steps {
    unsigned first;  /* at least 1 */
    unsigned bound;  /* never more; at least 1 */
    unsigned held;   /* highest level that held; 0 = none */
    unsigned failed; /* lowest level above it that failed; 0 = none */
    unsigned hint;   /* sessions that got in where not all did; 0 = not known */
    bool is_confirmed;
    unsigned last; /* the level before */
    bool last_held;
};

/* The next level; 0: there is none. */
unsigned ladder_steps_next(const struct ladder_steps *steps);

/* What became of a level. `let_in`: how many sessions got in, when some were kept out; else 0. */
void ladder_steps_note(struct ladder_steps *steps, unsigned sessions, bool has_held,
                       unsigned let_in);

/* The memory of this machine while a search adds sessions. Main thread. */
struct ladder_memory {
    uint64_t total_bytes; /* 0 = not known: there is no bound then */
    uint64_t limit_bytes; /* that may be in use */
    uint64_t base_bytes;  /* in use before the first session */
};

/* `limit_bytes` 0: nine tenths of the machine. */
void ladder_memory_init(struct ladder_memory *memory, uint64_t limit_bytes);

/* Bytes in use now, what the kernel can take back at once not counted; 0 = not known. */
uint64_t ladder_memory_used(const struct ladder_memory *memory);

/* True when more is in use than may be. */
bool ladder_memory_is_passed(const struct ladder_memory *memory, uint64_t used_bytes);

/* The most sessions that fit when each further one costs what those that are up did on average,
 * server's side included where it is this machine. At least `up`, unless the limit is passed
 * already; UINT32_MAX when nothing is known. */
unsigned ladder_memory_fits(const struct ladder_memory *memory, unsigned up, uint64_t used_bytes);

/* MemTotal and MemAvailable of /proc/meminfo in bytes; false: not there. */
bool ladder_memory_parse(const char *text, size_t length, uint64_t *total_bytes,
                         uint64_t *available_bytes);

#endif
