/*
 * The folder of a run and the files in it.
 *
 * Before the first connection, this module makes the folder, creates every file, and reserves disk
 * space for the files that are written at the end. Most errors are therefore found before the run.
 * During the run, the files of intervals, stages and samples grow row by row, and each row is
 * flushed. events.csv gets the events of --mark at the start and is then closed, so that the user
 * and load/control.c can add lines. If a write fails, the file is marked as incomplete and the run
 * continues.
 *
 * The measuring thread writes the rows of intervals, stages and samples. The thread of the
 * transaction log writes the rows of transactions.csv. The main thread writes all other files, and
 * all files after the other threads have ended. A search has levels.csv and find-max.json instead
 * of sessions.csv, events.csv, run.json, operations.csv, metrics.csv and the histograms.
 */
#ifndef REPORT_FILES_H
#define REPORT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "append/error.h"
#include "append/row.h"
#include "measure/levels.h"
#include "measure/result.h"
#include "plan/plan.h"
#include "ranks/merge.h"
#include "report/csv.h"

struct run_files;

enum run_file {
    FILE_RUN = CSV_FILES, /* the files of the outcome, which are written at the end, are FILE_RUN to
                             FILE_METRICS */
    FILE_SEARCH,
    FILE_SUMMARY,
    FILE_OPERATIONS,
    FILE_METRICS,
    FILE_IO,   /* io.csv, which the tracer writes */
    FILE_HGRM, /* histogram of the first operation; the histograms of the other operations follow */
};

/* Makes an output folder and its parents. Returns EXIT_CODE_USAGE if the folder exists or cannot be
 * made, and EXIT_CODE_CLIENT_LIMIT if the disk is full. If the folder exists, the error message
 * ends with `choice`: ", or resume …", or "" if the user can only name another folder. */
enum exit_code report_make_folder(const char *path, const char *choice, struct error *error);

/* Returns how many files a run or search with this plan keeps open for its output: the folder, the
 * reserved space, the files in the folder, and the files of --junit and --ycsb-out. */
unsigned run_files_count_open(const struct plan *plan);

/* Returns how much disk space a run or search with this plan reserves until the end, so that the
 * last files can be written even if the disk fills up. A run is refused when the disk has less free
 * space. run_files_finish gives back the space that is not for the files of the outcome. The first
 * call of run_files_write_outcome gives back half of the remaining space, and the second call gives
 * back the other half. */
size_t run_files_room(const struct plan *plan);

/* Makes the folder plan->out_folder, its parents and its files. Returns EXIT_CODE_USAGE if the
 * folder exists or cannot be made, and EXIT_CODE_CLIENT_LIMIT if the disk is full. On EXIT_CODE_OK
 * the caller owns *files. */
enum exit_code run_files_create(struct run_files **files, const struct plan *plan,
                                struct error *error);

/* Adds a row to a CSV file and flushes it. If `record` is NULL, adds the header. */
void run_files_add(struct run_files *files, enum csv_file file, const void *record);

/* Adds rows to transactions.csv, and flushes all rows together. Returns `count`, or 0 if the rows
 * could not be written. */
size_t run_files_add_logged(struct run_files *files, const struct transaction_log_row *rows,
                            size_t count);

/* Notes how many rows of transactions.csv are missing. */
void run_files_note_missing(struct run_files *files, uint64_t rows);

/* In every CSV_JOINED file, replaces the rows of this rank (process) by the rows of all ranks. Each
 * file is written as NAME.PID.part and then renamed, so a file that cannot be written keeps the
 * rows of this rank. After a SIGKILL, some files may have the rows of all ranks and other files the
 * rows of this rank, and an incomplete NAME.PID.part may stay. */
void run_files_join(struct run_files *files, const struct merge *merge,
                    const struct result *result);

/* Returns the descriptor of a file that another module writes. */
int run_files_descriptor(const struct run_files *files, enum run_file file);

/* Notes that a write by another module failed. The end of the file must be the end of its last
 * whole row. `number` is the errno, or 0 if unknown. `machine` is the machine of another rank whose
 * rows are missing, or NULL if rows of this rank are missing. */
void run_files_mark_short(struct run_files *files, enum run_file file, int number,
                          const char *machine);

/* Opens io.csv of this rank for reading. Returns a descriptor that the caller closes, or -errno. */
int run_files_read_io(const struct run_files *files);

/* Adds lines of another rank's io.csv. `is_first` says that the lines begin with the header of that
 * file. */
void run_files_add_io(struct run_files *files, const char *lines, size_t size, bool is_first);

/* Writes sessions.csv, hosts.csv and the .hgrm files, and closes all files. */
void run_files_finish(struct run_files *files, const struct result *result);

/* The outcome of a run or search; everything is borrowed. */
struct run_outcome {
    const struct plan *plan;
    const struct table *table;
    const struct result *result;
    const struct search *search; /* the search; NULL for a run */
};

/* Writes the files of the outcome. For a run, these are summary.csv and run.json, also
 * operations.csv if the run has a script, and metrics.csv if the script has metrics. For a search,
 * these are summary.csv and find-max.json. Each file is written under a temporary name and then
 * renamed, so the function can be called again when the outcome has changed. If a write fails, the
 * file keeps its previous content, and the other files are still written. Returns false if a write
 * failed; run_files_shortage names the files. */
bool run_files_write_outcome(struct run_files *files, const struct run_outcome *outcome);

/* Returns the incomplete or removed files and the reasons as one line: "run.json, summary.csv: No
 * space left on device". The files of the outcome are first; they are listed only if the last
 * run_files_write_outcome could not write them. Returns "" if all files are whole. The text is
 * valid until the next call. */
const char *run_files_shortage(struct run_files *files);

/* Closes the files and frees `files`, which may be NULL. If `is_failed`, the run never began. The
 * function then also removes the files, and removes the folder if it is empty and was made here. */
void run_files_destroy(struct run_files *files, bool is_failed);

/* Creates or truncates the file of an option. Does nothing if `path` is NULL or *stream is open. If
 * `may_wait` is true and the folder of the file is missing, returns EXIT_CODE_OK and leaves *stream
 * NULL. */
enum exit_code report_open_file(FILE **stream, const char *option, const char *path, bool may_wait,
                                struct error *error);

/* Closes the file. `is_written` says whether the writer succeeded. If it is false, errno must have
 * the error of the writer. Returns 0, or the errno of the writer or of the close. */
int report_close_file(FILE **stream, bool is_written);

#endif
