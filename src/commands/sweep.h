/*
 * append sweep: a run for every pair of sessions and records, and with --vary for each variant of
 * a script, each once or several times. figures/saved.h says in which order, and what of it is on
 * disk. Of several ranks all run the program of each run; all else is done by rank 0.
 *
 *     sweep_files.c  what is shown: the files in the folder, and the text
 *     sweep_ask.c    what is asked for, now or by the sweep that resumes
 *     sweep.c        the runs
 *
 * Everything belongs to the main thread.
 */
#ifndef COMMANDS_SWEEP_H
#define COMMANDS_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "base/process.h"
#include "figures/saved.h"
#include "plan/facts.h"
#include "plan/plan.h"
#include "ranks/ranks.h"

enum {
    PATH_BYTES = PLAN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES + 32,
};

/* Which rows a run finds in its table. */
enum sweep_table {
    TABLE_OWN,
    TABLE_NONE,
    TABLE_MADE,
    TABLE_RECREATED, /* as asked for */
    TABLE_KEPT,      /* those of earlier runs, and what was there before */
    TABLE_SCRIPT,    /* those that a script declares, by the first run that finds none */
    TABLES,
};
struct sweep_table_text {
    const char *name; /* in sweep.json */
    const char *phrase;
};
extern const struct sweep_table_text sweep_tables[TABLES];

/* Begins all zero, but for `given` and `lock`. */
struct sweep {
    struct saved_sweep results; /* folder, lists, runs; read back when the sweep resumes; owned */
    struct plan given;          /* of a sweep that resumes: what it was started with */
    struct plan plan;           /* of the first run; owned */
    struct facts facts;         /* of that plan */
    /* Where it connects to is in part known from its folder only: how that is given again. */
    const char *place;
    json_t *words;                  /* options but those of this call alone, "--batch=50"; owned */
    char target[512];               /* as given, without password; "": none */
    bool has_secret;                /* as given it has a password */
    struct saved_variants variants; /* that are asked for */
    size_t other_shape; /* the first that declares other tables than the first of all; 0: none */
    char working_folder[PLAN_PATH_BYTES]; /* where relative paths of the options begin */

    enum sweep_table table;
    struct ranks *ranks;
    bool is_stopped; /* by a signal to a rank, or because one is lost */
    bool has_begun;  /* some run was started: the table of TABLE_MADE is the sweep's */
    bool has_made;   /* the same, by this call: it found no table before its first run */
    bool has_marks;  /* the database keeps the mark of a table that append makes */
    json_t *changes; /* of the server's settings, once all runs are over; owned */
    char started_utc[40];
    int lock; /* descriptor of the folder, locked; -1 = none */

    struct notice notice; /* of the progress */
    int64_t next_line_ns;
};

/* sweep_files.c */

/* The path of a run's folder, with something at its end. */
void sweep_path(const struct sweep *sweep, const struct saved_sweep_run *run, const char *end,
                char path[PATH_BYTES]);

/* "table=normal"; "": nothing varies. */
const char *sweep_variant(const struct saved_sweep *sweep, const struct saved_sweep_run *run);

/* Makes the folder (parents too) and the files of a sweep that has not begun; on failure nothing is
 * left behind. */
enum exit_code sweep_create_files(struct sweep *sweep, struct error *error);

/* EXIT_CODE_USAGE: another sweep is at work in the folder, or a run of one. */
enum exit_code sweep_lock_folder(struct sweep *sweep, struct error *error);

/* Replaces all files, so that a reader never sees a half one; sweep.json comes last. */
enum exit_code sweep_write_files(const struct sweep *sweep, bool is_running, struct error *error);

/* Says that a path cannot be made, opened, written or removed (`what`), and why (errno). */
enum exit_code sweep_refuse_path(struct error *error, int number, const char *what,
                                 const char *path);

/* sweep.json. False: out of memory, or a failed write. */
bool sweep_write_json(FILE *stream, const struct sweep *sweep, bool is_running);

/* What people are shown at the end. */
void sweep_write_text(FILE *stream, const struct sweep *sweep);

/* 1,234, 321.5, 98.62, 0.057 */
const char *sweep_format_figure(double value, char text[UNITS_TEXT_BYTES]);

/* sweep_ask.c */

/* Completes *sweep, with its runs, from what is given, or from the folder of a sweep that resumes.
 */
enum exit_code sweep_ask(struct sweep *sweep, struct error *error);

#endif
