/*
 * The folder of a sweep and the files in it, but for those of its runs.
 *
 * One sweep at a time works in a folder: it holds a lock on it, and so does its run. Each file is
 * written beside its old version and then put in its place, so that a reader never sees a half one.
 */
#ifndef SWEEP_SWEEP_FILES_H
#define SWEEP_SWEEP_FILES_H

#include "sweep/sweep.h"

struct sweep_files {
    int folder;               /* descriptor, locked; -1 = none */
    struct csv_table columns; /* header of a run's summary.csv */
};

/* Makes the folder sweep->folder (parents too) and the files of a sweep that has not begun.
 * EXIT_CODE_USAGE: it exists or cannot be made; EXIT_CODE_CLIENT_LIMIT: the disk is full. Nothing
 * is left behind then. */
enum exit_code sweep_files_create(struct sweep_files *files, const struct sweep *sweep,
                                  const struct adapter *adapter, struct error *error);

/* Opens the folder of a sweep that goes on. EXIT_CODE_USAGE: another program is at work in it. */
enum exit_code sweep_files_open(struct sweep_files *files, const char *folder, struct error *error);
enum exit_code sweep_files_set_columns(struct sweep_files *files, const struct adapter *adapter,
                                       struct error *error);

/* Replaces all files; sweep.json comes last. */
enum exit_code sweep_files_write(struct sweep_files *files, const struct sweep *sweep,
                                 const char *state, struct error *error);

void sweep_files_close(struct sweep_files *files);

#endif
