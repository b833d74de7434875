/*
 * Checks, creates and drops the tables that a script declares; load/loader.h loads them.
 *
 * An interrupted load can be resumed if a column of the primary key holds the row number, because
 * the server can then report which chunks of rows are present. A table with an incomplete chunk is
 * refused, because another program may have written its rows.
 *
 * A table that differs from the script's declaration is refused. Only --recreate replaces it.
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

/* The connection on which the tables are set up, with its plan and set-up. */
struct datasets_place {
    const struct plan *plan; /* a plan with a script */
    struct setup *setup;     /* receives the tables of the script */
    struct adapter_conn *conn;
    void (*on_answer)(void *context); /* called after each answer of the server */
    void *context;
};

/* Checks whether a run or a load can begin; changes nothing. On OK the caller destroys *out after
 * it has closed the connection. On failure *error has the reason: ERROR_USAGE if the script and the
 * existing tables do not match. */
enum status datasets_examine(const struct datasets_place *place, struct datasets **out,
                             struct error *error);

/* Creates the missing tables (with --recreate, all tables), and prepares every statement once. On
 * failure it drops the tables that it created, unless the connection is lost. */
enum status datasets_make(const struct datasets_place *place, struct datasets *datasets,
                          struct error *error);

/* datasets_is_script_wrong returns whether the load failed because of the script and would fail
 * again. datasets_undo then drops the tables that datasets_make created, unless one of them may
 * have rows that the load did not store; loader_explain says what became of the tables. */
bool datasets_is_script_wrong(const struct datasets *datasets);
void datasets_undo(const struct datasets_place *place, struct datasets *datasets);

void datasets_destroy(struct datasets *datasets); /* `datasets` may be NULL */

/* Drops the existing tables that the script declares, and adds their names to *dropped: "a, b".
 * Sets *count to the number of dropped tables. */
enum status datasets_drop(const struct datasets_place *place, struct buffer *dropped, size_t *count,
                          struct error *error);

#endif
