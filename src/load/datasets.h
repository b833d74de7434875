/*
 * The tables that a script declares: examined, made, loaded by several sessions at once, dropped.
 *
 * A table is loaded in chunks of rows, each in one append, and any number of them at a time; the
 * last one when the others are in and the indexes are made, so a table that has all of its rows has
 * its indexes, too. A load that was cut off is taken up again: where a column of the primary key is
 * the number of the row, the server says which chunks are there, and one that is there in part is
 * deleted and loaded again.
 *
 * What is there and is not as the script declares it is refused, and never changed.
 */
#ifndef LOAD_DATASETS_H
#define LOAD_DATASETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"
#include "base/text.h"
#include "load/setup.h"
#include "plan/plan.h"

struct datasets;

/* The set-up's connection, and what it is for. */
struct datasets_place {
    const struct plan *plan; /* with a script */
    struct setup *setup;     /* its tables are filled */
    struct adapter_conn *conn;
    void (*on_answer)(void *context); /* a part of the work is done */
    void *context;
};

/* Whether a run can begin, or a load: nothing is changed. On OK the caller ends *out, after
 * the connection was closed. Else *error says what is wrong: ERROR_USAGE where the script and what
 * is there do not go together. */
enum status datasets_examine(const struct datasets_place *place, struct datasets **out,
                             struct error *error);

/* Makes the tables that are missing, with --recreate all of them, and has every statement prepared
 * once. Where that fails, the tables that it made are dropped again. */
enum status datasets_make(const struct datasets_place *place, struct datasets *datasets,
                          struct error *error);

/* Loads what is missing, by as many sessions as the plan has, at most 64. Main thread, without a
 * connection: begins, waits as long as datasets_wait returns true, each time for a moment, and
 * ends. Else than OK, or when a signal came: *error says what is loaded, too, and what loads the
 * rest. */
enum status datasets_begin_load(struct datasets *datasets, const struct plan *plan,
                                struct setup *setup, struct error *error);
bool datasets_wait(struct datasets *datasets, struct load_counts *counts);
enum status datasets_end_load(struct datasets *datasets, struct error *error);

/* Whether the load failed for a reason that is the script's, and will be there again: then
 * datasets_undo drops the tables that datasets_make made. */
bool datasets_are_wrong(const struct datasets *datasets);
void datasets_undo(const struct datasets_place *place, const struct datasets *datasets);

void datasets_destroy(struct datasets *datasets); /* takes NULL */

/* Drops the tables that the script declares, those that are there, and adds their names to
 * *dropped: "a, b". */
enum status datasets_drop(const struct datasets_place *place, struct buffer *dropped, size_t *count,
                          struct error *error);

#endif
