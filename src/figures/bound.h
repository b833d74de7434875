/*
 * Bounds on figures as they are written on a command line: "throughput>=50k, append_p99<=20ms".
 *
 * First their form: a name, a relation, a number and what is glued to it, or a word in capitals.
 * Then what it means: a name is a column of summary.csv, or short for one: the column without its
 * unit ("append_p99" for append_p99_ms), or one of a few words ("lost"); or it is a column of
 * operations.csv behind the name of an operation ("operation.insert.p99"). Which columns there are
 * is said by the caller.
 */
#ifndef FIGURES_BOUND_H
#define FIGURES_BOUND_H

#include <stdbool.h>
#include <stddef.h>

#include "append/error.h"
#include "figures/figures.h"

enum {
    BOUND_TEXT_BYTES = 128,
    BOUND_NAME_BYTES = FIGURE_KEY_BYTES,
    BOUND_UNIT_BYTES = 12,
    FIGURE_COLUMNS_MAX = (int)FIGURES + (int)OPERATIONS * (int)FIGURE_POINTS,
    FIGURE_CHOICES = 2,
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

extern const char *const bound_relation_texts[]; /* "<=" */

/* Names of the columns that hold numbers. */
struct figure_columns {
    size_t count;
    char names[FIGURE_COLUMNS_MAX][FIGURE_KEY_BYTES];
};

/* The columns that a name stands for: the first of them whose figure is known counts. */
struct figure_choice {
    size_t count;
    char names[FIGURE_CHOICES][FIGURE_KEY_BYTES];
};

/* Adds a name; one that does not fit is left out. */
void figure_columns_add(struct figure_columns *columns, const char *name);

/* REJECTED: no figure has this name, and *error says which one is near. */
enum status figure_find(const struct figure_columns *columns, const char *name,
                        struct figure_choice *choice, struct error *error);

/* The limit of a bound in the unit of the column. REJECTED: the unit does not go with the figure,
 * or is missing where the name does not say it; *error has those that do. */
enum status figure_scale(const struct bound *bound, const char *column, double *limit,
                         struct error *error);

/* The word that a number stands for ("VALID"); NULL: the figure is a number. */
const char *figure_word(const char *column, double value);

#endif
