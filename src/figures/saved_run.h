/*
 * The folder of a run, read back: what report, compare and an interrupted sweep go by.
 *
 * Figures are told by the names of the columns of summary.csv. A run that is still going on, or
 * that was ended before it could write all its files, has no run.json: it is refused.
 */
#ifndef FIGURES_SAVED_RUN_H
#define FIGURES_SAVED_RUN_H

#include <jansson.h>
#include <stdbool.h>

#include "append/error.h"
#include "figures/csv_table.h"
#include "figures/figures.h"

enum {
    SAVED_RUN_FORMAT = 2, /* of run.json, the only one that is understood */
    SAVED_RUN_PATH_BYTES = 1024,
};

struct saved_run {
    char folder[SAVED_RUN_PATH_BYTES]; /* as it was named, without a slash at its end */
    json_t *json;                      /* run.json, owned */
    struct csv_table summary;          /* one row */
    bool is_search;                    /* of find-max: its json is find-max.json */
    struct csv_table levels;           /* a row a level of a search; else empty */
    struct csv_table intervals;        /* a row an interval of about a second */
    struct csv_table samples;          /* a row a sample of CPU and memory */
    struct figure_set figures;         /* of summary.csv, and of run.json those that it alone has;
                                          without those of operations */
};

/* True when the folder has a run.json. */
bool saved_run_is_there(const char *folder);

/* Reads the files of a run, or of a search. REJECTED: *error has the file and what is wrong with
 * it; *run owns nothing. */
enum status saved_run_read(struct saved_run *run, const char *folder, struct error *error);
void saved_run_free(struct saved_run *run);

/* A figure of the run by its column of summary.csv. False: there is no such column, or the run has
 * no such figure. */
bool saved_run_figure(const struct saved_run *run, const char *name, double *value);

/* A cell of summary.csv as text, "" when there is none. */
const char *saved_run_text(const struct saved_run *run, const char *name);

/* A value of run.json by its path ("environment.cpu_model"); NULL: there is none, or it is null.
 * Borrowed. */
json_t *saved_run_json(const struct saved_run *run, const char *path);

#endif
