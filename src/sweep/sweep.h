/*
 * A sweep: a run for every pair of sessions and records, each once or several times, and what
 * became of them. runs/saved_sweep.h says in which order, and what of it is on disk.
 *
 * Everything belongs to the main thread.
 */
#ifndef SWEEP_SWEEP_H
#define SWEEP_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"
#include "base/exit_code.h"
#include "plan/plan.h"
#include "runs/csv_table.h"
#include "runs/saved_sweep.h"
#include "sweep/list.h"

enum {
    SWEEP_REASON_BYTES = 512,
    SWEEP_PATH_BYTES = PLAN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES + 32,
};

/* Which rows a run finds in its table. */
enum sweep_table {
    SWEEP_TABLE_OWN,  /* none: a database of its own in its folder */
    SWEEP_TABLE_NONE, /* none: the adapter keeps no rows */
    SWEEP_TABLE_MADE, /* none: the sweep's first run makes the table, the others make it anew */
    SWEEP_TABLE_RECREATED, /* none: it is dropped and made anew before each run, as asked for */
    SWEEP_TABLE_KEPT,      /* those of earlier runs, and what was there before */
};

struct sweep_run {
    uint64_t sessions;
    uint64_t records;
    unsigned repeat;                   /* from 1 */
    char name[SAVED_SWEEP_NAME_BYTES]; /* of its folder */
    enum saved_state state;
    enum exit_code exit_code;
    char reason[SWEEP_REASON_BYTES]; /* why its exit code is not 0, else "" */
    double wall_s;                   /* how long the program ran; 0 = not known */
    struct csv_table summary;        /* its summary.csv, owned; without rows when it has none */
};

struct sweep {
    char folder[PLAN_PATH_BYTES];
    struct sweep_list sessions;
    struct sweep_list records;
    unsigned repeat;
    struct sweep_run *runs; /* owned */
    size_t run_count;
    enum sweep_table table;
    bool has_server; /* one that stays up between the runs */
    bool has_begun;  /* some run was started: the table of SWEEP_TABLE_MADE is the sweep's */

    const char *adapter;        /* borrowed, as all texts below */
    const char *display_target; /* without password */
    const char *target;         /* as given, without password; NULL = none */
    bool has_secret;            /* the target as given has a password */
    const char *const *words;   /* options as given: "--batch=50" */
    size_t word_count;
    char started_utc[40];
    char working_folder[PLAN_PATH_BYTES]; /* where relative paths of the options begin */
};

/* Fills lists and runs; all else is the caller's. Ended by sweep_fini, also when it fails. */
enum status sweep_init(struct sweep *sweep, const struct sweep_list *sessions,
                       const struct sweep_list *records, unsigned repeat, struct error *error);
void sweep_fini(struct sweep *sweep);

/* Runs in a state. */
size_t sweep_count(const struct sweep *sweep, enum saved_state state);

/* Rows that all runs together are to append. */
uint64_t sweep_rows(const struct sweep *sweep);

/* A run of a cell by places in the lists; repeat from 1. */
const struct sweep_run *sweep_run_of(const struct sweep *sweep, size_t sessions, size_t records,
                                     unsigned repeat);

/* The done runs' values in a column of summary.csv. False: none has it. */
bool sweep_figure(const struct sweep *sweep, size_t sessions, size_t records, const char *column,
                  struct spread *figure);

/* The run that decides the exit code; NULL: all that are over ended with 0. */
const struct sweep_run *sweep_worst(const struct sweep *sweep);

/* The four figures, in the order of the tables. */
struct sweep_figure_kind {
    const char *column; /* of summary.csv */
    const char *file;   /* "max_cpu.csv" */
    const char *title;  /* for people, with the unit */
};
enum {
    SWEEP_FIGURES = 4
};
extern const struct sweep_figure_kind sweep_figures[SWEEP_FIGURES];

/* What is said of the table: a phrase, and one word for sweep.json. */
const char *sweep_table_phrase(enum sweep_table table);
const char *sweep_table_name(enum sweep_table table);

#endif
