/*
 * The folder of a run and the files in it.
 *
 * Everything that can be known to fail is tried before the first connection: the folder is made,
 * every file is created and there is room on the disk, which is held for those that are written at
 * the end. While the run goes on intervals.csv and samples.csv grow a row at a time (each flushed);
 * events.csv is written with the marks of the plan and then left to the user. A write that fails
 * marks its file as short and the run goes on.
 *
 * Rows of intervals.csv and samples.csv are written by the measuring thread until it has ended;
 * everything else is the main thread's. A search has levels.csv and find-max.json instead of what
 * sums up a run.
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

/* Room that is held until the end, as much as the files of a long run may take then: on a disk that
 * fills up meanwhile the run can still say how it ended. A disk with less has no room for a run. */
enum {
    RUN_FILES_ROOM_BYTES = 1 << 20
};

struct run_files;

enum run_file {
    FILE_RUN = CSV_FILES, /* these tell of the outcome: written at the end, aside */
    FILE_SEARCH,
    FILE_SUMMARY,
    FILE_OPERATIONS,
    FILE_IO,   /* io.csv, which is the tracer's to write */
    FILE_HGRM, /* of the first operation; the others' follow */
};

/* Makes the folder plan->out_folder (parents too) and its files. EXIT_CODE_USAGE: it exists or
 * cannot be made; EXIT_CODE_CLIENT_LIMIT: the disk is full. On OK *files is owned by the caller. */
enum exit_code run_files_create(struct run_files **files, const struct plan *plan,
                                struct error *error);

/* One row more of samples.csv, intervals.csv, hosts_intervals.csv or levels.csv. */
void run_files_add(struct run_files *files, enum csv_file file, const void *record);

/* The rows of all ranks in place of this one's: intervals.csv, samples.csv and what there is for
 * ranks alone. */
void run_files_join(struct run_files *files, const struct merge *merge,
                    const struct result *result);

/* For the writer of a file that is not written by rows here: where to, and that a write has failed
 * with this errno, behind the last row that is whole; on another rank's machine, or NULL. */
int run_files_descriptor(const struct run_files *files, enum run_file file);
void run_files_mark_short(struct run_files *files, enum run_file file, int number,
                          const char *machine);

/* io.csv of this rank, to be read; the caller's. Negative: errno. */
int run_files_read_io(const struct run_files *files);

/* The next lines of another rank's io.csv, which begins with its header. */
void run_files_add_io(struct run_files *files, const char *lines, size_t size, bool is_first);

/* Writes sessions.csv, hosts.csv and the .hgrm files, and closes all. */
void run_files_finish(struct run_files *files, const struct result *result);

/* What a run came to; all is borrowed. */
struct run_outcome {
    const struct plan *plan;
    const struct table *table;
    const struct result *result;
    const struct search *search; /* NULL: a run */
};

/* Writes what tells of the outcome: summary.csv and run.json, with a script operations.csv, of a
 * search find-max.json. They are written aside and then renamed, so that they can be written again
 * when the outcome has become another one; where that fails they tell the one before. False: it
 * failed; run_files_shortage says why. */
bool run_files_write_outcome(struct run_files *files, const struct run_outcome *outcome);

/* The files that are short or gone and why, as one line ("intervals.csv: No space left on device");
 * "" when all are whole. Valid until destroy. */
const char *run_files_shortage(const struct run_files *files);

/* Closes and frees; the files stay. Takes NULL. `is_failed`: the run never began, so that the
 * files, which say nothing, are removed together with the folder when it is then empty. */
void run_files_destroy(struct run_files *files, bool is_failed);

/* Makes or empties a file that the user names by an option; not when `path` is NULL, or when it is
 * open. With `may_wait` a folder that is not there is no error. */
enum exit_code report_open_file(FILE **stream, const char *option, const char *path, bool may_wait,
                                struct error *error);

/* Closes it after a writer said whether all was written, else with errno. Returns 0 or errno. */
int report_close_file(FILE **stream, bool is_written);

#endif
