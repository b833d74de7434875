/*
 * Loads the missing rows of the tables that a script declares, and creates their indexes. Several
 * sessions load at once.
 *
 * A table is loaded in chunks of rows. Each chunk is sent in one append (load/append.h), and chunks
 * are loaded in parallel. The last chunk is loaded after all others and after the indexes, so a
 * table that has all of its rows also has its indexes. The main thread calls the functions.
 * loader_begin starts the threads of the sessions.
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
    const char *table; /* the table of the latest step; NULL before the first step */
    enum load_step {
        LOAD_ROWS,
        LOAD_INDEXES,
        LOAD_FINISH, /* statistics are updated and rows are counted */
    } step;
};

/* Load the missing rows with the plan's number of sessions, but at most 64. The caller must have
 * closed its own connection. loader_begin starts the load. loader_wait waits for a short time and
 * reports the progress. The caller repeats loader_wait until it returns false, and then calls
 * loader_end. On failure, or after a signal, loader_explain adds to *error how many rows are
 * loaded, and how to load the rest. The caller calls datasets_undo before loader_explain. */
enum status loader_begin(struct datasets *datasets, const struct plan *plan, struct setup *setup,
                         struct error *error);
bool loader_wait(struct datasets *datasets, struct load_counts *counts);
enum status loader_end(struct datasets *datasets, struct error *error);
void loader_explain(const struct datasets *datasets, const struct plan *plan,
                    const struct setup *setup, struct error *error);

#endif
