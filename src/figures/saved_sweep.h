/*
 * A sweep, its runs and their figures, as its folder has them: what sweep, report and compare go
 * by.
 *
 *   DIR/
 *     sweep.json            what was asked for, and what became of every run (below)
 *     sweep.csv             a row for each run that has ended, and with --repeat the median and the
 *                           spread of each cell: every figure
 *     max_cpu.csv           \
 *     max_memory.csv         | sessions down, records across: the median of the cell's good runs,
 *     elapsed.csv            | empty where there is none
 *     throughput.csv        /
 *     1000x10000000/        folder of a run, as `append --out` leaves it: sessions x records,
 *     1000x10000000.log     and what the run said on stderr, when it said something
 *     2000x10000000-3/      with --repeat: the third run of that cell
 *
 * A cell is a pair of sessions and records; with --repeat it has several runs. Runs go repeat by
 * repeat, records by records, sessions by sessions, in the order of the lists: run number
 * ((repeat - 1) * records_count + records_index) * sessions_count + sessions_index.
 *
 * sweep.json: {"format": 1, "kind": "sweep", "append_version", "state": "running" | "interrupted" |
 * "finished", "started_utc", "adapter", "target" (without password), "sessions": [...],
 * "records": [...], "repeat", "table" (which rows a run finds), "options": ["--batch=50", ...],
 * "runs": [{"sessions", "records", "repeat", "folder", "state", "exit_code", "reason",
 * "wall_s"}], ...}.
 * A run's state: "pending" (not run yet, or interrupted: it is run anew), "done" (exit code 0, or
 * 5 with an expectation missed: its figures count), "failed" (another exit code: its figures, if
 * it has any, are in sweep.csv but in no median and no table). "reason" is the line it said when it
 * did not end with 0.
 *
 * sweep.csv: statistic,repeat,folder,state,reason, then the columns of a run's summary.csv.
 * statistic is "run" (a row of a run), or with --repeat "median", "lowest" or "highest" over the
 * done runs of a cell (repeat, folder, state and reason are empty then; so are figures that are no
 * quantities). A run without a summary.csv has adapter, target, sessions, records and exit_code.
 *
 * All files but those in the runs' folders are replaced whole, after every run.
 */
#ifndef FIGURES_SAVED_SWEEP_H
#define FIGURES_SAVED_SWEEP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"
#include "figures/csv_table.h"
#include "figures/saved_run.h"
#include "figures/statistics.h"

enum {
    SAVED_SWEEP_FORMAT = 1,
    SAVED_SWEEP_LIST_MAX = 100, /* sessions; records; repeats */
    SAVED_SWEEP_NAME_BYTES = 64,
    SAVED_SWEEP_REASON_BYTES = 512,
};

enum saved_state {
    SAVED_PENDING,
    SAVED_DONE,
    SAVED_FAILED,
    SAVED_STATES,
};

struct saved_sweep_run {
    uint64_t sessions;
    uint64_t records;
    unsigned repeat;                   /* from 1 */
    char name[SAVED_SWEEP_NAME_BYTES]; /* of its folder, in the sweep's; there may be none yet */
    enum saved_state state;
    int exit_code;                         /* of a run that has ended */
    char reason[SAVED_SWEEP_REASON_BYTES]; /* why its exit code is not 0, else "" */
    double wall_s;                         /* how long the program ran; 0 = not known */
    bool has_row;                          /* of sweep.csv: */
    size_t row;                            /* where its figures are */
    struct csv_table summary; /* in place of that the summary.csv of a run that ended now; owned */
};

struct saved_sweep {
    char folder[SAVED_RUN_PATH_BYTES]; /* as it was named, without a slash at its end */
    json_t *json;                      /* sweep.json, owned; NULL = not read back */
    bool is_own;                       /* the folder and sweep.json belong to this user */
    struct csv_table table;            /* sweep.csv; no row before the first run has ended */
    uint64_t sessions[SAVED_SWEEP_LIST_MAX];
    size_t sessions_count;
    uint64_t records[SAVED_SWEEP_LIST_MAX];
    size_t records_count;
    unsigned repeat;
    struct saved_sweep_run *runs; /* owned */
    size_t run_count;
};

/* True when the folder has a sweep.json. */
bool saved_sweep_is_there(const char *folder);

/* Makes the runs of a sweep that begins, from its lists and its repeats. REJECTED: out of memory.
 */
enum status saved_sweep_make_runs(struct saved_sweep *sweep, struct error *error);

/* Reads sweep.json and sweep.csv. REJECTED: *error has the file and what is wrong with it; *sweep
 * owns nothing. */
enum status saved_sweep_read(struct saved_sweep *sweep, const char *folder, struct error *error);
void saved_sweep_free(struct saved_sweep *sweep);

/* Runs in a state. */
size_t saved_sweep_count(const struct saved_sweep *sweep, enum saved_state state);

/* A cell of the summary.csv of a run that has ended; "" when there is none. */
const char *saved_sweep_text(const struct saved_sweep *sweep, const struct saved_sweep_run *run,
                             const char *column);

/* The same as a number. False: it is none. */
bool saved_sweep_number(const struct saved_sweep *sweep, const struct saved_sweep_run *run,
                        const char *column, double *value);

/* The values of a figure by its column of summary.csv, of the done runs of a cell, which is named
 * by the place of its first run. */
size_t saved_sweep_values(const struct saved_sweep *sweep, size_t cell, const char *name,
                          double values[SAVED_SWEEP_LIST_MAX]);

/* A figure of a cell by places in the lists, over the cell's done runs. False: none has it. */
bool saved_sweep_figure(const struct saved_sweep *sweep, size_t sessions, size_t records,
                        const char *name, struct spread *figure);

/* The path of a run's folder, for saved_run_read. */
void saved_sweep_run_folder(const struct saved_sweep *sweep, const struct saved_sweep_run *run,
                            char path[SAVED_RUN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES]);

/* "pending", "done", "failed". */
const char *saved_state_name(enum saved_state state);

#endif
