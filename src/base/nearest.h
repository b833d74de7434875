/* The name that a misspelt word is most likely meant to be. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *word;
    const char *name; /* the best of the names that were offered; NULL: none is close */
    size_t changes;   /* letters that make the difference */
};

/* Names are offered one by one to {.word = ...}. A name is close when the word begins it, or when
 * it takes few letters changed, added, left out or swapped with their neighbour to make it. */
void nearest_offer(struct nearest *nearest, const char *name);

#endif
