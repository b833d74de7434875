/*
 * What a sweep is asked for: its options, all its plans checked before anything runs, and which
 * rows its runs are to find in the table.
 */
#ifndef CLI_SWEEP_ASK_H
#define CLI_SWEEP_ASK_H

#include "base/exit_code.h"
#include "cli/options.h"
#include "plan/plan.h"
#include "sweep/sweep.h"
#include "sweep/sweep_resume.h"

struct sweep_ask {
    struct options options;         /* of a sweep that goes on: those it was begun with */
    char *words[OPTIONS_GIVEN_MAX]; /* "--batch=50", owned; without --out, --quiet and --json */
    bool is_for_runs[OPTIONS_GIVEN_MAX];
    size_t word_count;
    char target[512]; /* without password */
    bool has_secret;
    struct plan plan; /* of the first run; owned */
    char folder[PLAN_PATH_BYTES];
    bool is_resumed;
    bool is_target_recorded;  /* of a sweep that goes on: the caller did not name it */
    struct saved_sweep saved; /* of a sweep that goes on; owned */
    struct sweep_request request;
    char **argv; /* the command line it was begun with; owned */
};

/* Completes *ask, all zero but for the options read from the command line. With --resume it reads
 * the sweep's folder, goes to where the sweep was begun, and reads the options of then. Checks the
 * plans of all runs. Else than OK: *error is the line to print. Ended by sweep_ask_fini. */
enum exit_code sweep_ask(struct sweep_ask *ask, struct error *error);
void sweep_ask_fini(struct sweep_ask *ask);

/* Asks the database, and decides which rows runs find: a table that was there before is neither
 * dropped nor added to unless that was asked for. Leaves the answer in sweep->table; of a sweep
 * that goes on it stays. */
enum exit_code sweep_ask_table(const struct sweep_ask *ask, struct sweep *sweep,
                               struct error *error);

#endif
