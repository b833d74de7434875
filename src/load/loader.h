/*
 * Loads the missing rows of the tables that a script declares, and creates their indexes. Several
 * sessions load at once.
 *
 * A table is loaded in chunks of rows. A chunk is one append, and chunks are loaded in parallel.
 * The last chunk is loaded after all others and after the indexes, so a table that has all of its
 * rows also has its indexes. Main thread; loader_begin starts the threads of the sessions.
 */
#ifndef LOAD_LOADER_H
#define LOAD_LOADER_H

#include <stdbool.h>
#include <stdint.h>

#include "append/error.h"

struct datasets;
struct plan;
struct setup;

/* The progress of loading the script's tables. */
struct load_counts {
    /* numbers of rows of all tables: at present, and when all rows are loaded */
    uint64_t rows, all;
    uint64_t loaded; /* number of rows loaded by this load */
    int64_t elapsed_ns;
    const char *table; /* the table that was begun last; NULL before the first table */
    enum load_step {
        LOAD_ROWS,
        LOAD_INDEXES,
        LOAD_FINISH, /* statistics are updated and rows are counted */
    } step;
};

/* Loads the missing rows with as many sessions as the plan has, but at most 64. The caller must
 * have closed its own connection. loader_begin starts the load. The caller calls loader_wait, which
 * waits for a moment, until it returns false, and then loader_end. On failure, or after a signal,
 * loader_explain adds to *error how many rows are loaded, and how to load the rest. The caller
 * calls datasets_undo before loader_explain. */
enum status loader_begin(struct datasets *datasets, const struct plan *plan, struct setup *setup,
                         struct error *error);
bool loader_wait(struct datasets *datasets, struct load_counts *counts);
enum status loader_end(struct datasets *datasets, struct error *error);
void loader_explain(const struct datasets *datasets, const struct plan *plan,
                    const struct setup *setup, struct error *error);

#endif
