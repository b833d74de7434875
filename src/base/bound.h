/*
 * Bounds on figures as they are written on a command line: "throughput>=50k, append_p99<=20ms".
 *
 * What is read here is their form: a name, a relation, a number and what is glued to it; or a word
 * in capitals. Which
 * names and units there are is told by base/figure.h.
 */
#ifndef BASE_BOUND_H
#define BASE_BOUND_H

#include <stdbool.h>

#include "append/error.h"

enum {
    BOUND_TEXT_BYTES = 80,
    BOUND_NAME_BYTES = 48,
    BOUND_UNIT_BYTES = 12,
};

enum bound_relation {
    BOUND_BELOW,    /* < */
    BOUND_AT_MOST,  /* <= */
    BOUND_ABOVE,    /* > */
    BOUND_AT_LEAST, /* >= */
    BOUND_EQUAL,    /* == */
    BOUND_UNEQUAL,  /* != */
};

struct bound {
    char text[BOUND_TEXT_BYTES]; /* as written, without blanks around it */
    char name[BOUND_NAME_BYTES];
    enum bound_relation relation;
    double number;               /* 1 in front of a word: "verdict==VALID" */
    char unit[BOUND_UNIT_BYTES]; /* or the word; "": none */
    bool is_word;
};

/* Reads one bound from *rest, up to a comma or the end, and moves *rest behind the comma; NULL when
 * that was the last. REJECTED: *error says what is wrong and what would be right. */
enum status bound_parse(struct bound *bound, const char **rest, struct error *error);

/* True when `value` keeps to the bound of `limit`; never for what is not a number. */
bool bound_holds(enum bound_relation relation, double value, double limit);

/* "<=" */
const char *bound_relation_text(enum bound_relation relation);

#endif
