/*
 * The folders of runs and sweeps, read back: what sweep, report and compare go by.
 *
 * Figures are told by the names of the columns of summary.csv. A run that is still going on, or
 * that was ended before it could write all its files, has an empty run.json: it has no figures, but
 * for those by the second.
 *
 * The folder of a sweep:
 *
 *   DIR/
 *     sweep.json            what was asked for, and what became of every run (below)
 *     sweep.csv             a row for each run that has ended, and with --repeat the median and the
 *                           spread of each cell: every figure
 *     max_cpu.csv           \
 *     max_memory.csv         | sessions down, records across: the median of the cell's good runs,
 *     elapsed.csv            | empty where there is none
 *     throughput.csv         |
 *     append_p99.csv         |
 *     transactions_per_s.csv |  (of a script, and
 *     transaction_p99.csv   /   without append_p99.csv)
 *     1000x10000000/        folder of a run, as `append --out` leaves it: sessions x records,
 *     1000x10000000.log     and what the run said on stderr, when it said something
 *     2000x10000000-3/      with --repeat: the third run of that cell
 *     30x10000000-table=normal/  with --vary
 *
 * A column is a pair of records and variant, which is what --set would be given of the parameters
 * that vary; a cell is a pair of sessions and column. With --repeat it has several runs. Runs go
 * repeat by repeat, records by records, variant by variant, sessions by sessions, in the order of
 * the lists: run number ((repeat - 1) * columns + column) * sessions_count + sessions_index, with
 * column = records_index * variants + variant_index.
 *
 * sweep.json: {"format": 1, "kind": "sweep", "append_version", "state": "running" | "interrupted" |
 * "finished", "started_utc", "adapter", "target" (without password), "sessions": [...],
 * "records": [...], "variants": [...] (["table=normal", ...]; [] where nothing varies), "repeat",
 * "table" (which rows a run finds), "options": ["--batch=50", ...], "runs": [{"sessions",
 * "records", "variant", "repeat", "folder", "state", "exit_code", "reason", "wall_s"}], ...}. A
 * run's state: "pending" (not run yet, or interrupted: it is run again), "done" (exit code 0, or 5
 * with an expectation missed: its figures count), "failed" (another exit code: its figures, if it
 * has any, are in sweep.csv but in no median and no table). "reason" is the line it said when it
 * did not end with 0.
 *
 * sweep.csv: statistic,repeat,variant,folder,state,reason, then the columns of a run's summary.csv.
 * statistic is "run" (a row of a run), or with --repeat "median", "lowest" or "highest" over the
 * done runs of a cell (repeat, folder, state and reason are empty then; so are figures that are no
 * quantities). A run without a summary.csv has adapter, target, sessions, records and exit_code.
 *
 * All files but those in the runs' folders are replaced whole, after every run.
 */
#ifndef FIGURES_SAVED_H
#define FIGURES_SAVED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"
#include "figures/figures.h"
#include "figures/statistics.h"

enum {
    SAVED_RUN_FORMAT = 2, /* of run.json, the only one that is understood */
    SAVED_RUN_PATH_BYTES = 1024,
    SAVED_SWEEP_FORMAT = 1,
    SAVED_SWEEP_LIST_MAX = 100, /* sessions; records; variants; repeats */
    SAVED_SWEEP_VARIANT_BYTES = 64,
    SAVED_SWEEP_NAME_BYTES = SAVED_SWEEP_VARIANT_BYTES + 32,
    SAVED_SWEEP_REASON_BYTES = 512,
};

/*
 * A CSV file (RFC 4180) read whole: a header and rows of cells. What a run that was cut off leaves,
 * a last line without its end, is left out.
 */
struct csv_table {
    char *text;   /* owned: the cells point into it */
    char **cells; /* owned: the header, then the rows, `columns` cells each */
    size_t columns;
    size_t rows; /* without the header */
};

/* Reads `text` (ended by NUL; owned by *table from now on, also when it fails). `name` is for the
 * error. REJECTED: a row has another number of cells than the header, or a quote is not closed. */
enum status csv_table_parse(struct csv_table *table, const char *name, char *text,
                            struct error *error);

/* Reads a file of at most 1 GiB. REJECTED: ERROR_SYSTEM with errno when it cannot be read,
 * ERROR_DATA when it is no CSV.
 */
enum status csv_table_read(struct csv_table *table, const char *path, struct error *error);

void csv_table_free(struct csv_table *table);

/* Place of a column in each row; table->columns when there is none of this name. */
size_t csv_table_column(const struct csv_table *table, const char *name);

/* A cell, "" when it is empty or there is no such column. */
const char *csv_table_text(const struct csv_table *table, size_t row, size_t column);

/* No figure is larger: what is computed of figures is finite, and a whole one fits 64 bits. */
#define CSV_NUMBER_MAX 1e18

/* False, and *value is 0: there is no such column, or the cell is empty, no number, or one beyond
 * CSV_NUMBER_MAX. */
bool csv_table_number(const struct csv_table *table, size_t row, size_t column, double *value);

struct saved_run {
    char folder[SAVED_RUN_PATH_BYTES]; /* as it was named, without a slash at its end */
    json_t *json;                      /* run.json, owned */
    struct csv_table summary;          /* one row */
    bool is_unfinished;                /* of its figures there are but tables by the second */
    bool is_search;                    /* of find-max: its json is find-max.json */
    struct csv_table levels;           /* a row a level of a search; else empty */
    struct csv_table intervals;        /* a row an interval of about a second */
    struct csv_table samples;          /* a row a sample of CPU and memory */
    struct csv_table hosts_intervals;  /* of several hosts a row each an interval; else empty */
    struct figure_set figures;         /* of summary.csv, and of run.json those that it alone has;
                                          without those of operations */
};

/* True when the folder has a file of this name: "run.json", "sweep.json". */
bool saved_is_there(const char *folder, const char *file);

/* Reads the files of a run, or of a search, that has ended or, if that is taken, has not. REJECTED:
 * *error has the file and what is wrong with it; *run owns nothing. */
enum status saved_run_read(struct saved_run *run, const char *folder, bool takes_unfinished,
                           struct error *error);
void saved_run_free(struct saved_run *run);

/* A figure of the run by its column of summary.csv. False: there is no such column, or the run has
 * no such figure. */
bool saved_run_figure(const struct saved_run *run, const char *name, double *value);

/* A cell of summary.csv as text, "" when there is none. */
const char *saved_run_text(const struct saved_run *run, const char *name);

/* A value of run.json by its path ("environment.cpu_model"); NULL: there is none, or it is null.
 * Borrowed. */
json_t *saved_run_json(const struct saved_run *run, const char *path);

enum saved_state {
    SAVED_PENDING,
    SAVED_DONE,
    SAVED_FAILED,
    SAVED_STATES,
};
extern const char *const saved_state_names[SAVED_STATES]; /* "pending", "done", "failed" */

/* Different texts; where nothing varies "" alone. The bytes behind a text are 0. */
struct saved_variants {
    char texts[SAVED_SWEEP_LIST_MAX][SAVED_SWEEP_VARIANT_BYTES];
    size_t count;
};

struct saved_sweep_run {
    uint64_t sessions;
    uint64_t records;
    size_t variant;                    /* place in the list */
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
    struct saved_variants variants;
    unsigned repeat;
    struct saved_sweep_run *runs; /* owned */
    size_t run_count;
};

/* Makes the runs of a sweep that begins, from its lists and repeats. REJECTED: out of memory. */
enum status saved_sweep_make_runs(struct saved_sweep *sweep, struct error *error);

/* Reads sweep.json and sweep.csv. REJECTED: *error has the file and what is wrong with it; *sweep
 * owns nothing. */
enum status saved_sweep_read(struct saved_sweep *sweep, const char *folder, struct error *error);
void saved_sweep_free(struct saved_sweep *sweep);

/* How many columns and cells it has. */
size_t saved_sweep_columns(const struct saved_sweep *sweep);
size_t saved_sweep_cells(const struct saved_sweep *sweep);

/* What a column is called, its number of records being called `records`: by what differs. */
const char *saved_sweep_column(const struct saved_sweep *sweep, size_t column, const char *records,
                               char text[SAVED_SWEEP_NAME_BYTES]);

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

/* A figure of a cell by its places, over the cell's done runs. False: none has it. */
bool saved_sweep_figure(const struct saved_sweep *sweep, size_t sessions, size_t column,
                        const char *name, struct spread *figure);

/* Which settings of the server are not the same in all done runs, as they were told in each run's
 * run.json: [{"setting", "run", "value", "other_run", "other_value"}, ...], the first other run of
 * each. Owned by the caller; NULL: out of memory. */
json_t *saved_sweep_changes(const struct saved_sweep *sweep);

/* "setting fsync of the server changed: on in 1x1000, off in 2x1000" */
void saved_sweep_describe_change(const json_t *change, char *text, size_t size);

/* The path of a run's folder, for saved_run_read. */
void saved_sweep_run_folder(const struct saved_sweep *sweep, const struct saved_sweep_run *run,
                            char path[SAVED_RUN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES]);

#endif
