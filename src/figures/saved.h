/*
 * Reads back the folders of runs and sweeps, for sweep, report and compare.
 *
 * A figure has the name of its column in summary.csv. A run that has not ended, or whose process
 * was ended before it wrote all files, has an empty run.json. The only figures of such a run are
 * the rows of intervals.csv and samples.csv.
 *
 * The folder of a sweep:
 *
 *   DIR/
 *     sweep.json            the options, and the outcome of every run (below)
 *     sweep.csv             all figures: a row for each run that has ended, and with --repeat rows
 *                           for the median and the spread of each cell
 *     max_cpu.csv           \
 *     max_memory.csv         | a line for each number of sessions, columns as explained below:
 *     elapsed.csv            | the median of the cell's done runs; empty without a value
 *     throughput.csv         |
 *     append_p99.csv         |
 *     transactions_per_s.csv |  (with a script, and
 *     transaction_p99.csv   /   without append_p99.csv)
 *     1000x10000000/        folder of a run, as `append --out` leaves it: sessions x records,
 *     1000x10000000.log     the run's stderr, if it wrote to stderr
 *     2000x10000000-3/      with --repeat: the third run of that cell
 *     30x10000000-table=normal/  with --vary
 *
 * A column is a pair of records and variant; a variant is a value for --set of the parameters that
 * vary. A cell is a pair of sessions and column, and has several runs with --repeat. The runs are
 * ordered by repeat, then by records, then by variant, then by sessions, each in the order of its
 * list. The number of a run is ((repeat - 1) * columns + column) * sessions_count + sessions_index,
 * with column = records_index * variants + variant_index.
 *
 * sweep.json: {"format": 1, "kind": "sweep", "append_version", "state": "running" | "interrupted" |
 * "finished", "started_utc", "adapter", "target" (without password), "sessions": [...], "records":
 * [...], "variants": [...] (["table=normal", ...]; [] without --vary), "repeat", "table" (the rows
 * that a run starts from), "options": ["--batch=50", ...], "runs": [{"sessions", "records",
 * "variant", "repeat", "folder", "state", "exit_code", "reason", "wall_s"}], ...}. A run's state:
 * "pending" (not run yet, or interrupted, and to be run again), "done" (exit code 0, or 5 for a
 * missed expectation: its figures count), "failed" (another exit code: its figures, if any, are in
 * sweep.csv but in no median and no table). "reason" is the last message of a run whose exit code
 * is not 0.
 *
 * sweep.csv: statistic,repeat,variant,folder,state,reason, then the columns of a run's summary.csv.
 * statistic is "run" (a row of a run), or with --repeat "median", "lowest" or "highest" over the
 * done runs of a cell (repeat, folder, state and reason are then empty, as are figures that are not
 * quantities). The row of a run without a summary.csv has only adapter, target, sessions, records
 * and exit_code.
 *
 * All files except the files in the runs' folders are replaced whole, after every run.
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

/* The format numbers of run.json and sweep.json. Files with any other number are refused. The
 * number increases when a member is removed or changes its meaning, but not when a member is
 * added. */
enum {
    SAVED_RUN_FORMAT = 2,
    SAVED_SWEEP_FORMAT = 1,
};

enum {
    SAVED_RUN_PATH_BYTES = 1024,
    SAVED_SWEEP_LIST_MAX = 100, /* maximum length of each list: sessions, records, variants; and
                                   maximum number of repeats */
    SAVED_SWEEP_VARIANT_BYTES = 64,
    /* two numbers of up to 20 digits, a repeat of up to 10 digits, separators, and the variant */
    SAVED_SWEEP_NAME_BYTES = 20 + 1 + 20 + 1 + 1 + 10 + SAVED_SWEEP_VARIANT_BYTES,
    SAVED_SWEEP_REASON_BYTES = 512,
};

/*
 * The contents of a CSV file (RFC 4180): a header and rows of cells. An incomplete last line,
 * which an interrupted run can leave, is ignored.
 */
struct csv_table {
    char *text;   /* content of the file; owned; the cells point into this text */
    char **cells; /* the header, then the rows, `columns` cells each; owned */
    size_t columns;
    size_t rows; /* number of rows, without the header */
};

/* Parses `text`, which ends with NUL. Takes ownership of `text`, and frees it on failure. `name` is
 * the file's name for the error. Returns REJECTED if out of memory, or if `text` is not CSV: it has
 * no header, a row and the header have different numbers of cells, text follows a quoted cell, or a
 * line ends with a carriage return alone. */
enum status csv_table_parse(struct csv_table *table, const char *name, char *text,
                            struct error *error);

/* Reads a file of at most 1 GiB. Returns REJECTED with ERROR_SYSTEM and errno if the file cannot be
 * read, with ERROR_DATA if the file is larger or is not CSV. */
enum status csv_table_read(struct csv_table *table, const char *path, struct error *error);

void csv_table_free(struct csv_table *table);

/* Returns the index of a column in each row, or table->columns if the column does not exist. */
size_t csv_table_column(const struct csv_table *table, const char *name);

/* Returns a cell; "" if the cell is empty, or the row or the column does not exist. */
const char *csv_table_text(const struct csv_table *table, size_t row, size_t column);

/* The maximum value of a figure. Sums and ratios of numbers up to this maximum are finite, and
 * whole numbers up to it fit into 64 bits. */
#define CSV_NUMBER_MAX 1e18

/* Reads a cell as a number. Returns false and sets *value to 0 if the row or the column does not
 * exist, or if the cell is empty, is not a number, or exceeds CSV_NUMBER_MAX. */
bool csv_table_number(const struct csv_table *table, size_t row, size_t column, double *value);

/* The files of a run or a search, read back. */
struct saved_run {
    char folder[SAVED_RUN_PATH_BYTES]; /* the folder as the user named it, without a slash at the
                                          end */
    json_t *json;                      /* content of run.json; owned */
    struct csv_table summary;          /* summary.csv, which has one row */
    bool is_unfinished; /* the run has not ended; only its intervals and samples exist */
    bool is_running;    /* the run is still running; the tables of files that are written at its end
                           are empty */
    bool is_search;     /* the folder belongs to a search (find-max), and `json` is the content of
                           find-max.json */
    struct csv_table levels;    /* levels.csv of a search; empty for a run */
    struct csv_table intervals; /* a row for each interval of about a second */
    struct csv_table samples;   /* a row for each sample of CPU and memory */
    /* a row for each host and interval; empty without several hosts */
    struct csv_table hosts_intervals;
    /* a row for each interval and each operation of the script; empty without a script, or if the
     * caller makes no charts */
    struct csv_table operations_intervals;
    struct figure_set figures; /* figures of summary.csv, and figures that only run.json has; the
                                  operations' figures are not filled */
};

/* Returns whether the folder has a file of this name: "run.json", "sweep.json". */
bool saved_has_file(const char *folder, const char *file);

/* Reads the files of a run or search that has ended; with `takes_unfinished`, also of a run that
 * has not ended. Returns REJECTED if a file is missing or wrong; *error then names the file, and
 * *run owns nothing. */
enum status saved_run_read(struct saved_run *run, const char *folder, bool takes_unfinished,
                           struct error *error);

/* Reads the files of a run or search that is still running. `json` and `summary` have the contents
 * that run.json and summary.csv would have now. */
enum status saved_run_read_running(struct saved_run *run, const char *folder, const char *json,
                                   const char *summary, struct error *error);
void saved_run_free(struct saved_run *run);

/* Reads a figure of the run. `name` is the figure's column of summary.csv. Returns false if the
 * column does not exist or the run does not have the figure. */
bool saved_run_figure(const struct saved_run *run, const char *name, double *value);

/* Returns a cell of summary.csv as text, "" if the cell is missing. */
const char *saved_run_text(const struct saved_run *run, const char *name);

/* Returns a value of run.json by its path ("environment.cpu_model"); NULL if the value is missing
 * or null. The result is borrowed. */
json_t *saved_run_json(const struct saved_run *run, const char *path);

enum saved_state {
    SAVED_PENDING,
    SAVED_DONE,
    SAVED_FAILED,
    SAVED_STATES,
};
/* names of the states: "pending", "done", "failed" */
extern const char *const saved_state_names[SAVED_STATES];

/* The variants of a sweep. All texts are different. Without --vary the only text is "". The unused
 * bytes after each text are 0. */
struct saved_variants {
    char texts[SAVED_SWEEP_LIST_MAX][SAVED_SWEEP_VARIANT_BYTES];
    size_t count;
};

struct saved_sweep_run {
    uint64_t sessions;
    uint64_t records;
    size_t variant;                    /* index in the sweep's variants */
    unsigned repeat;                   /* number of the repeat, from 1 */
    char name[SAVED_SWEEP_NAME_BYTES]; /* name of the run's folder, which may not exist yet */
    enum saved_state state;
    int exit_code;                         /* exit code of the run; valid when the run has ended */
    char reason[SAVED_SWEEP_REASON_BYTES]; /* why the exit code is not 0; "" if it is 0 */
    double wall_s; /* how long the program of the run was running, in s; 0 = unknown */
    bool has_row;  /* `row` is the index of the run's row in sweep.csv */
    size_t row;
    /* summary.csv of a run that has just ended; used in place of `row`; owned */
    struct csv_table summary;
};

struct saved_sweep {
    char folder[SAVED_RUN_PATH_BYTES]; /* the folder as the user named it, without a slash at the
                                          end */
    json_t *json; /* content of sweep.json; owned; NULL = the sweep was not read from a folder */
    bool is_own;  /* this user owns the folder and sweep.json */
    struct csv_table table; /* sweep.csv; empty before the first run has ended */
    uint64_t sessions[SAVED_SWEEP_LIST_MAX];
    size_t sessions_count;
    uint64_t records[SAVED_SWEEP_LIST_MAX];
    size_t records_count;
    struct saved_variants variants;
    unsigned repeat;
    struct saved_sweep_run *runs; /* runs of the sweep; owned */
    size_t run_count;
};

/* Makes the runs of a new sweep from its lists and repeats. Returns REJECTED when out of memory. */
enum status saved_sweep_make_runs(struct saved_sweep *sweep, struct error *error);

/* Reads sweep.json and sweep.csv. Returns REJECTED if a file is missing or wrong; *error then names
 * the file, and *sweep owns nothing. */
enum status saved_sweep_read(struct saved_sweep *sweep, const char *folder, struct error *error);
void saved_sweep_free(struct saved_sweep *sweep);

/* Return the number of columns and the number of cells of the sweep's table. The table has a line
 * for each number of sessions, and a column for each pair of number of records and variant. */
size_t saved_sweep_columns(const struct saved_sweep *sweep);
size_t saved_sweep_cells(const struct saved_sweep *sweep);

/* Writes a column's title: the variant, the number of records (`records`, already formatted), or
 * both, depending on which of them differ between the columns. Returns `text`. */
const char *saved_sweep_column(const struct saved_sweep *sweep, size_t column, const char *records,
                               char text[SAVED_SWEEP_NAME_BYTES]);

/* Returns the number of runs in a state. */
size_t saved_sweep_count(const struct saved_sweep *sweep, enum saved_state state);

/* Returns a cell of the summary.csv of a run that has ended; "" if the cell is missing. */
const char *saved_sweep_text(const struct saved_sweep *sweep, const struct saved_sweep_run *run,
                             const char *column);

/* Reads a cell of a run's summary.csv as a number. Returns false if the cell is not a number. */
bool saved_sweep_number(const struct saved_sweep *sweep, const struct saved_sweep_run *run,
                        const char *column, double *value);

/* Stores the values of a figure in the done runs of a cell. `name` is the figure's column of
 * summary.csv, and `cell` is the index of the cell's first run. Returns the number of values. */
size_t saved_sweep_values(const struct saved_sweep *sweep, size_t cell, const char *name,
                          double values[SAVED_SWEEP_LIST_MAX]);

/* Summarises a figure over the done runs of a cell. `sessions` and `column` are the indexes of the
 * cell. Returns false if no run has the figure. */
bool saved_sweep_figure(const struct saved_sweep *sweep, size_t sessions, size_t column,
                        const char *name, struct spread *figure);

/* Compares the server settings in the run.json of all done runs with the settings of the first done
 * run that reported settings. Returns the settings that differ: [{"setting", "run", "value",
 * "other_run", "other_value"}, ...], each setting once, with the first run in which it differs. The
 * caller owns the result; NULL when out of memory. */
json_t *saved_sweep_changes(const struct saved_sweep *sweep);

/* Writes a text such as "setting fsync of the server changed: on in 1x1000, off in 2x1000". */
void saved_sweep_describe_change(const json_t *change, char *text, size_t size);

/* Writes the path of a run's folder, for saved_run_read. */
void saved_sweep_run_folder(const struct saved_sweep *sweep, const struct saved_sweep_run *run,
                            char path[SAVED_RUN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES]);

#endif
