/*
 * append sweep: a run for every pair of sessions and records, and with --vary for each variant of
 * the script. Each run is repeated --repeat times. figures/saved.h describes the order of the runs
 * and the files. With several ranks, every rank starts append for each run; rank 0 does everything
 * else.
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
#include "report/live.h"

enum {
    PATH_BYTES = PLAN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES + 32,
};

/* The rows that a run finds in its table. sweep_tables has a phrase for each value. */
enum sweep_table {
    TABLE_OWN,
    TABLE_NONE,
    TABLE_MADE,
    TABLE_RECREATED, /* tables that are made again for each run, with --recreate */
    TABLE_KEPT,      /* rows of earlier runs, and rows from before the sweep, with --keep-rows */
    TABLE_SCRIPT, /* tables that the script declares; a run creates the tables that are missing */
    TABLES,
};
struct sweep_table_text {
    const char *name; /* name of the value in sweep.json */
    const char *phrase;
};
extern const struct sweep_table_text sweep_tables[TABLES];

/* The state of a sweep. The caller zeroes it, except for `given` and `lock`. */
struct sweep {
    struct saved_sweep results; /* folder, lists, runs; read back when the sweep resumes; owned */
    struct plan given;          /* the options; if the sweep resumes, the options of its start */
    struct plan plan;           /* plan of the first run; owned */
    struct facts facts;         /* facts of `plan` */
    /* The arguments that the user has to give again to confirm the target, such as "TARGET again".
     * NULL unless parts of the target come from sweep.json because this call leaves them out. */
    const char *place;
    /* options to save, as "--batch=50", without options of the scope OPTION_OF_CALL; owned */
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
    bool has_begun;  /* a run was started, so a TABLE_MADE table is the sweep's own */
    bool has_made;   /* this call started the first run, before which the table did not exist */
    bool has_marks;  /* the database can keep the mark of a table that append makes */
    json_t *changes; /* changed settings of the server, read after the last run; owned */
    char started_utc[40];
    int lock; /* descriptor of the locked folder; -1 if not locked */

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

/* Creates the folder of a new sweep, its parent folders, and the files. On failure nothing remains.
 */
enum exit_code sweep_create_files(struct sweep *sweep, struct error *error);

/* Opens and locks the folder. Returns EXIT_CODE_USAGE if another sweep, or a run of another sweep,
 * has locked the folder; sweep->lock is -1 only if the folder cannot be opened. */
enum exit_code sweep_lock_folder(struct sweep *sweep, const char *folder, struct error *error);

/* Replaces all files, each in one step, so that readers never see half a file. sweep.json is the
 * last. */
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

/* Fills in the runs of *sweep, from the given options or from the folder of the sweep that resumes.
 * That folder is locked before it is read. */
enum exit_code sweep_make_plan(struct sweep *sweep, struct error *error);

#endif
