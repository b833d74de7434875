/*
 * Figures by name: those of summary.csv, whose columns end in their unit, and the short names that
 * a command line may use for them.
 *
 * A short name is the column's name without its unit ("append_p99" for append_p99_ms), or one of a
 * few words ("lost"). Which columns there are is said by the caller.
 */
#ifndef BASE_FIGURE_H
#define BASE_FIGURE_H

#include <stdbool.h>
#include <stddef.h>

#include "append/error.h"
#include "base/bound.h"

enum {
    FIGURE_NAME_BYTES = 48,
    FIGURE_COLUMNS_MAX = 160,
    FIGURE_CHOICES = 2,
};

/* Names of the columns that hold numbers. */
struct figure_columns {
    size_t count;
    char names[FIGURE_COLUMNS_MAX][FIGURE_NAME_BYTES];
};

/* The columns that a name stands for: the first of them whose figure is known counts. */
struct figure_choice {
    size_t count;
    char names[FIGURE_CHOICES][FIGURE_NAME_BYTES];
};

/* Adds a name; one that does not fit is left out. */
void figure_columns_add(struct figure_columns *columns, const char *name);
bool figure_columns_has(const struct figure_columns *columns, const char *name);

/* REJECTED: no figure has this name, and *error says which one is near. */
enum status figure_find(const struct figure_columns *columns, const char *name,
                        struct figure_choice *choice, struct error *error);

/* The limit of a bound in the unit of the column. REJECTED: the unit does not go with the figure,
 * or is missing where the name does not say it; *error has those that do. */
enum status figure_scale(const struct bound *bound, const char *column, double *limit,
                         struct error *error);

/* The unit of a column as it is written behind a number: " rows/s", " ms", " %", "". */
const char *figure_unit(const char *column);

/* The word that a number stands for ("VALID"); NULL: the figure is a number. */
const char *figure_word(const char *column, double value);

/* The words that are short for other names, for tests: figure_aliases_count of them. */
struct figure_alias {
    const char *name;
    const char *columns[FIGURE_CHOICES]; /* the second may be NULL */
};
extern const struct figure_alias figure_aliases[];
extern const size_t figure_aliases_count;

#endif
