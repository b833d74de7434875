/*
 * append sweep: a run for every pair of sessions and records, each once or several times.
 * figures/saved_sweep.h says in which order, and what of it is on disk.
 *
 * Everything belongs to the main thread.
 */
#ifndef COMMANDS_SWEEP_H
#define COMMANDS_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "append/error.h"
#include "base/notice.h"
#include "base/process.h"
#include "base/units.h"
#include "figures/saved_sweep.h"
#include "plan/plan.h"

enum {
    SWEEP_PATH_BYTES = PLAN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES + 32,
};

/* Which rows a run finds in its table. */
enum sweep_table {
    SWEEP_TABLE_OWN,  /* none: a database of its own in its folder */
    SWEEP_TABLE_NONE, /* none: the adapter keeps no rows */
    SWEEP_TABLE_MADE, /* none: the sweep's first run creates the table, the others recreate it */
    SWEEP_TABLE_RECREATED, /* none: it is dropped and recreated before each run, as asked for */
    SWEEP_TABLE_KEPT,      /* those of earlier runs, and what was there before */
    SWEEP_TABLES,
};

/* Begins all zero, but for `given` and `lock`. */
struct sweep {
    struct saved_sweep results; /* folder, lists, runs; read back when the sweep resumes; owned */

    struct plan given;           /* of a sweep that resumes: what it was started with */
    char *words[PLAN_GIVEN_MAX]; /* "--batch=50", owned; without those of this call alone */
    bool is_for_runs[PLAN_GIVEN_MAX];
    size_t word_count;
    char target[512];                     /* as given, without password; "": none */
    bool has_secret;                      /* as given it has a password */
    char working_folder[PLAN_PATH_BYTES]; /* where relative paths of the options begin */
    struct plan plan;                     /* of the first run; owned */
    bool is_resumed;
    char **argv; /* of a sweep that resumes: the command line it was started with; owned */

    enum sweep_table table;
    bool has_begun; /* some run was started: the table of SWEEP_TABLE_MADE is the sweep's */
    char started_utc[40];
    int lock; /* descriptor of the folder, locked; -1 = none */

    struct notice notice; /* of the progress */
    int64_t next_line_ns;
};

/* What a sweep is asked for: completes *sweep, with its runs. With --resume it reads the sweep's
 * folder and the options that the sweep was started with. Checks the plans of all runs. Else than
 * OK: *error is the line to print. */
enum exit_code sweep_ask(struct sweep *sweep, struct error *error);

/* Asks the database, and decides which rows runs find: a table that was there before is neither
 * dropped nor added to unless that was asked for. Of a sweep that resumes the answer stays. */
enum exit_code sweep_ask_table(struct sweep *sweep, struct error *error);

/* Makes the folder (parents too) and the files of a sweep that has not begun. EXIT_CODE_USAGE: it
 * exists or cannot be made; EXIT_CODE_CLIENT_LIMIT: the disk is full. Nothing is left behind then.
 */
enum exit_code sweep_create_files(struct sweep *sweep, struct error *error);

/* Locks the folder. EXIT_CODE_USAGE: another sweep is at work in it, or a run of one. */
enum exit_code sweep_lock(struct sweep *sweep, struct error *error);

/* Replaces all files, so that a reader never sees a half one; sweep.json comes last. `state` is
 * "running", "interrupted" or "finished". */
enum exit_code sweep_write_files(const struct sweep *sweep, const char *state, struct error *error);

/* sweep.json. False: out of memory, or a failed write. */
bool sweep_write_json(FILE *stream, const struct sweep *sweep, const char *state);

/* The report for people: the four tables, sessions down and records across, at most 80 columns
 * wide: columns that do not fit beside the others follow below them. */
void sweep_write_text(FILE *stream, const struct sweep *sweep);

/* 1,234, 321.5, 98.62, 0.057. Returns `text`. */
const char *sweep_format(double value, char text[UNITS_TEXT_BYTES]);

/* What is said of the table: a phrase, and one word for sweep.json. */
const char *sweep_table_phrase(enum sweep_table table);
const char *sweep_table_name(enum sweep_table table);

/* About how long the rest takes, from the time that the rows so far took. `rows` and `elapsed_s`
 * are those of run `index`, which is going on: so many rows took so long. False: nothing is known
 * yet. */
bool sweep_time_left(const struct saved_sweep *sweep, size_t index, uint64_t rows, double elapsed_s,
                     double *left_s);

/* The run that decides the exit code; NULL: all that are over ended with 0. */
const struct saved_sweep_run *sweep_worst(const struct saved_sweep *sweep);

#endif
