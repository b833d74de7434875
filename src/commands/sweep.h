/*
 * append sweep: a run for every pair of sessions and records, and with --vary for each variant of
 * the script, each repeated --repeat times. figures/saved.h describes the order of the runs and the
 * files. With several ranks every rank runs the program of each run; rank 0 does everything else.
 *
 *     sweep_files.c  the files in the folder, and the text for people
 *     sweep_plan.c   the options, of this call or of the sweep that resumes
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

/* Which rows a run finds in its table. sweep_tables has a phrase for each. */
enum sweep_table {
    TABLE_OWN,
    TABLE_NONE,
    TABLE_MADE,
    TABLE_RECREATED, /* with --recreate */
    TABLE_KEPT,      /* with --keep-rows: the rows of earlier runs and of before the sweep */
    TABLE_SCRIPT,    /* tables that the script declares; a run creates those that are missing */
    TABLES,
};
struct sweep_table_text {
    const char *name; /* in sweep.json */
    const char *phrase;
};
extern const struct sweep_table_text sweep_tables[TABLES];

/* The state of a sweep, zeroed except for `given` and `lock`. */
struct sweep {
    struct saved_sweep results; /* folder, lists, runs; read back when the sweep resumes; owned */
    struct plan given;          /* the options; when the sweep resumes, those it was started with */
    struct plan plan;           /* of the first run; owned */
    struct facts facts;         /* of `plan` */
    /* When parts of the target are known from sweep.json only: how to give them again. Else NULL.
     */
    const char *place;
    json_t *words;                  /* options without those of this call, "--batch=50"; owned */
    char target[512];               /* as given, without the password; "": not given */
    bool has_secret;                /* the target was given with a password */
    struct saved_variants variants; /* of --vary */
    size_t other_shape; /* first variant with other tables than variant 0; 0: all have the same */
    char working_folder[PLAN_PATH_BYTES]; /* where relative paths of the options begin */

    enum sweep_table table;
    struct ranks *ranks;
    bool is_stopped; /* by a signal to a rank, or because a rank is lost */
    bool has_begun;  /* a run was started: with TABLE_MADE the table belongs to the sweep */
    bool has_made;   /* this call started the first run, and the table did not exist before it */
    bool has_marks;  /* the database keeps the mark of a table that append makes */
    json_t *changes; /* of the server's settings, after the last run; owned */
    char started_utc[40];
    int lock; /* descriptor of the locked folder; -1 = not locked */

    struct notice notice; /* for progress */
    int64_t next_line_ns;
};

/* sweep_files.c */

/* Writes the path of a run's folder, followed by `end`. */
void sweep_path(const struct sweep *sweep, const struct saved_sweep_run *run, const char *end,
                char path[PATH_BYTES]);

/* Returns the variant of a run, "table=normal"; "" without --vary. */
const char *sweep_variant(const struct saved_sweep *sweep, const struct saved_sweep_run *run);

/* Creates the folder of a new sweep, with its parents, and the files. On failure nothing remains.
 */
enum exit_code sweep_create_files(struct sweep *sweep, struct error *error);

/* Locks the folder. EXIT_CODE_USAGE: another sweep, or a run of another sweep, has locked it. */
enum exit_code sweep_lock_folder(struct sweep *sweep, struct error *error);

/* Replaces all files, each at once, so that readers see whole files. sweep.json is the last. */
enum exit_code sweep_write_files(const struct sweep *sweep, bool is_running, struct error *error);

/* Sets *error to "cannot <what> '<path>'" and the reason, errno `number`. */
enum exit_code sweep_refuse_path(struct error *error, int number, const char *what,
                                 const char *path);

/* Writes sweep.json. False: out of memory, or a failed write. */
bool sweep_write_json(FILE *stream, const struct sweep *sweep, bool is_running);

/* Writes the text for people. */
void sweep_write_text(FILE *stream, const struct sweep *sweep);

/* Writes a figure with few digits: 1,234, 321.5, 98.62, 0.057. Returns `text`. */
const char *sweep_format_figure(double value, char text[UNITS_TEXT_BYTES]);

/* sweep_plan.c */

/* Completes *sweep with its runs, from the given options or from the folder of a sweep that
 * resumes.
 */
enum exit_code sweep_make_plan(struct sweep *sweep, struct error *error);

#endif
