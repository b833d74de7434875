/*
 * Which level a search tries next: doubles from the first until a level fails, then closes in
 * between the highest that held and the lowest that failed. Plain arithmetic, no clock.
 *
 * How many sessions got in at a level that failed is taken as a hint: a server with room for 297
 * lets in 297 of 320, so that 297 and 298 are tried next and not 240. The search is done when two
 * neighbours are known, and the higher one failed right after the lower one had held, or twice in a
 * row: then nothing left over from an earlier level stood in its way.
 */
#ifndef LOAD_LADDER_STEPS_H
#define LOAD_LADDER_STEPS_H

#include <stdbool.h>

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

#endif
