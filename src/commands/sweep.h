/*
 * append sweep: makes a run for every pair of sessions and records, and with --vary for each
 * variant of the script. Each run is repeated --repeat times. figures/saved.h describes the order
 * of the runs and the files. With several ranks, every rank starts this program for each run, and
 * rank 0 does everything else.
 *
 *     sweep_files.c  the files in the folder, and the text for people
 *     sweep_plan.c   the options: of this call or, if a sweep resumes, of its start
 *     sweep.c        the runs
 *
 * For the main thread only.
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
#include "report/live.h"

enum {
    PATH_BYTES = PLAN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES + 32,
};

/* Which rows a run finds in its table. sweep_tables describes each value in a phrase. */
enum sweep_table {
    TABLE_OWN,
    TABLE_NONE,
    TABLE_MADE,
    /* with --recreate: each run drops its tables and creates them again */
    TABLE_RECREATED,
    /* with --keep-rows: the rows of earlier runs, and rows from before the sweep */
    TABLE_KEPT,
    /* tables that the script declares; a run creates the missing tables */
    TABLE_SCRIPT,
    TABLES,
};
struct sweep_table_text {
    const char *name; /* name of the value in sweep.json */
    const char *phrase;
};
extern const struct sweep_table_text sweep_tables[TABLES];

/* The state of a sweep. The caller sets all members except `given` and `lock` to zero. */
struct sweep {
    /* folder, lists and runs of the sweep; read from the folder if the sweep resumes; owned */
    struct saved_sweep results;
    /* the options of this call or, if the sweep resumes, of its start */
    struct plan given;
    struct plan plan;   /* plan of the first run; owned */
    struct facts facts; /* facts of `plan` */
    /* If a part of the target is only in sweep.json: the arguments with which the user can confirm
     * the target, such as "TARGET again". Otherwise NULL. */
    const char *place;
    /* options to save in sweep.json, such as "--batch=50"; without options of the scope
     * OPTION_OF_CALL, which apply to this call only; owned */
    json_t *words;
    char target[512];               /* the target as given, without its password; "" if not given */
    bool has_secret;                /* the target was given with a password */
    struct saved_variants variants; /* variants of --vary */
    /* number of the first variant whose tables differ from the tables of variant 0; 0 if all
     * variants have the same tables */
    size_t other_shape;
    char working_folder[PLAN_PATH_BYTES]; /* folder to which relative paths in the options refer */

    enum sweep_table table;
    struct ranks *ranks;
    bool is_stopped; /* a signal reached a rank, or a rank was lost */
    /* a run was started, so with TABLE_MADE the sweep itself has created the table */
    bool has_begun;
    /* the table did not exist when this call started its first run */
    bool has_made;
    /* the database can store a mark in a table, which shows that this program created the table */
    bool has_marks;
    /* settings of the server that changed during the sweep, found after the last run; owned */
    json_t *changes;
    char started_utc[40];
    /* descriptor of the sweep's folder, which is locked; -1 if the folder is not open */
    int lock;

    struct live *live;    /* the live page; NULL without --live */
    struct notice notice; /* line of progress on stderr */
    int64_t next_line_ns;
};

/* Functions of sweep_files.c. */

/* Writes the path of a run's folder, followed by `end`. */
void sweep_path(const struct sweep *sweep, const struct saved_sweep_run *run, const char *end,
                char path[PATH_BYTES]);

/* Returns the variant of a run, such as "table=normal", or "" without --vary. */
const char *sweep_variant(const struct saved_sweep *sweep, const struct saved_sweep_run *run);

/* Creates the folder of a new sweep, with missing parent folders, and the files. On failure removes
 * the folder, but not the parent folders. */
enum exit_code sweep_create_files(struct sweep *sweep, struct error *error);

/* Opens the folder, sets sweep->lock to its descriptor, and locks it. Returns EXIT_CODE_USAGE if
 * another sweep, or a run of another sweep, has locked the folder. sweep->lock is -1 only if the
 * folder cannot be opened. */
enum exit_code sweep_lock_folder(struct sweep *sweep, const char *folder, struct error *error);

/* Replaces all files. Replaces each file in one step, so that readers never see an incomplete file,
 * and sweep.json last. */
enum exit_code sweep_write_files(const struct sweep *sweep, bool is_running, struct error *error);

/* Sets *error to "cannot <what> '<path>'" and the text of the errno `number`. */
enum exit_code sweep_refuse_path(struct error *error, int number, const char *what,
                                 const char *path);

/* Writes sweep.json. Returns false if memory runs out or a write fails. */
bool sweep_write_json(FILE *stream, const struct sweep *sweep, bool is_running);

/* Writes the text for people. */
void sweep_write_text(FILE *stream, const struct sweep *sweep);

/* Writes a figure with few digits: 1,234, 321.5, 98.62, 0.057. Returns `text`. */
const char *sweep_format_figure(double value, char text[UNITS_TEXT_BYTES]);

/* Functions of sweep_plan.c. */

/* Fills in the runs of *sweep: from the given options or, if a sweep resumes, from its folder,
 * which the function locks before it reads it. */
enum exit_code sweep_make_plan(struct sweep *sweep, struct error *error);

#endif
