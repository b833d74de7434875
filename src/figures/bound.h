/*
 * Parses bounds on figures as written on a command line: "throughput>=50k, append_p99<=20ms".
 *
 * bound_parse divides a bound into a name, a relation, and a number with its unit or a word in
 * capitals. figure_find then finds the columns for the name, and figure_scale converts the number.
 * A name is a column of summary.csv, a column without its unit ("append_p99" for append_p99_ms), or
 * one of a few short words ("lost"). A name can also be an operation and a figure of this
 * operation, with a point between them ("append.p99.9", "insert.refused", "operation.insert.p99").
 * The caller gives the list of columns that exist.
 */
#ifndef FIGURES_BOUND_H
#define FIGURES_BOUND_H

#include <stdbool.h>
#include <stddef.h>

#include "append/error.h"
#include "base/text.h"
#include "figures/figures.h"

enum {
    BOUND_TEXT_BYTES = 128,
    BOUND_NAME_BYTES = FIGURE_KEY_BYTES,
    BOUND_UNIT_BYTES = 12,
    FIGURE_COLUMNS_MAX =
        (int)FIGURES + (int)OPERATIONS * ((int)FIGURE_POINTS_MAX + (int)WAIT_CLASSES),
    FIGURE_CHOICES = 2,
};

/* Prefix with which a bound names a column of operations.csv. */
#define OPERATION_PREFIX "operation."

enum bound_relation {
    BOUND_BELOW,    /* < */
    BOUND_AT_MOST,  /* <= */
    BOUND_ABOVE,    /* > */
    BOUND_AT_LEAST, /* >= */
    BOUND_EQUAL,    /* == */
    BOUND_UNEQUAL,  /* != */
};

/* A bound as written. Its name may be unknown. */
struct bound {
    char text[BOUND_TEXT_BYTES]; /* the bound as written, without blanks around it */
    char name[BOUND_NAME_BYTES];
    enum bound_relation relation;
    double number;               /* 1 if the bound has a word instead ("verdict==VALID") */
    char unit[BOUND_UNIT_BYTES]; /* the unit or the word; "" if the bound has neither */
    bool is_word;
};

/* Reads one bound from *rest, up to a comma or the end, and moves *rest after the comma. Sets *rest
 * to NULL after the last bound. Returns REJECTED if the bound is malformed; *error then says what
 * is wrong and which form is right. */
enum status bound_parse(struct bound *bound, const char **rest, struct error *error);

/* Reads the percentile at the end of a bound's name: "append_p97", "insert.p99.9", "try_p999_ms".
 * Returns false if the name does not end with a percentile. */
bool bound_percentile(const struct bound *bound, struct figure_point *point);

/* If the bound's name is a figure of an operation, replaces the name with the name of the column:
 * "append.p99.9" becomes append_p999, and "waits.append.log" becomes append_waits_log. "insert.p95"
 * becomes operation.insert.p95 if a script defines the operation "insert". Other names stay.
 * Returns false if the resulting name has a point: such a name belongs to an operation that a
 * script defines, or is unknown. */
bool bound_resolve_name(struct bound *bound, const struct operation_list *operations);

/* Returns whether a script must not give a metric the name `name`, because every run has a figure
 * with this name or a figure whose name in a bound begins with `name` and a point. */
bool bound_is_reserved(const char *name);

/* Returns whether `value` meets the bound `limit`; false for a NaN. */
bool bound_holds(enum bound_relation relation, double value, double limit);

/* Writes a value with three digits, or with as many digits as are needed to show whether the value
 * meets the bound `limit`. Returns `text`. */
const char *bound_format(const struct bound *bound, double limit, double value,
                         char text[UNITS_TEXT_BYTES]);

extern const char *const bound_relation_texts[]; /* the text of each relation: "<=" */

/* The names of all columns with numbers that exist. */
struct figure_columns {
    size_t count;
    char names[FIGURE_COLUMNS_MAX][FIGURE_KEY_BYTES];
};

/* The columns that a name stands for, in order of preference: the first column with a known figure
 * is used. */
struct figure_choice {
    size_t count;
    char names[FIGURE_CHOICES][FIGURE_KEY_BYTES];
};

/* Adds a name; ignores a name that does not fit. */
void figure_columns_add(struct figure_columns *columns, const char *name);

/* Finds the columns that a name stands for. Returns REJECTED if no figure has this name; *error
 * suggests a similar name. */
enum status figure_find(const struct figure_columns *columns, const char *name,
                        struct figure_choice *choice, struct error *error);

/* Converts the number of a bound into the unit of the column, and stores it in *limit. Returns
 * REJECTED if the unit is wrong for the figure, or if the bound has no unit and the name does not
 * include the unit; *error lists the valid units. */
enum status figure_scale(const struct bound *bound, const char *column, double *limit,
                         struct error *error);

/* Returns the word that a number stands for ("VALID"); NULL if the figure is a number. */
const char *figure_word(const char *column, double value);

#endif
