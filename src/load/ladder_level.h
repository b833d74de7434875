/* One level of a search. Private to the ladder; main thread. */
#ifndef LOAD_LADDER_LEVEL_H
#define LOAD_LADDER_LEVEL_H

#include "load/crew.h"
#include "load/ladder.h"
#include "load/ladder_memory.h"

struct ladder {
    const struct ladder_config *config;
    struct search *search;
    struct load load;
    struct crew crew;
    struct causes causes; /* of the level that is being tried */
    struct ladder_memory memory;
    int64_t deadline_ns;
    int64_t next_memory_ns; /* when to look at the memory again */
    uint64_t rest_at_rows;  /* sessions rest when so many are written; UINT64_MAX = never */
    bool is_over;           /* search->end says why */
    bool is_shortage_told;  /* of this level */
    uint64_t failed_before; /* calls that failed before this level, or of sessions cut for it */

    struct recorder_snapshot *snapshots; /* of the level: its start, its hold's start and end */
    struct histogram *difference;
};

/* Looks at signals, time and memory: true when the search is to end. */
bool ladder_is_over(struct ladder *ladder);

/* Sleeps until something has changed, or for a short time; joins what has ended. `ledger` may be
 * that of a level. Returns the sessions that are up, and in *connecting those on their way. */
unsigned ladder_tick(struct ladder *ladder, struct session_ledger *ledger, unsigned *connecting);

/* The causes of what went on between two levels are nobody's. */
void ladder_forget_causes(struct ladder *ladder);

/* Brings level->sessions up, holds them, and fills *level; the causes of a level that failed are
 * moved into it. */
void ladder_climb(struct ladder *ladder, struct level *level);

#endif
