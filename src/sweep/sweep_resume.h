/* A sweep that goes on: from what its folder says to the sweep as it was. */
#ifndef SWEEP_SWEEP_RESUME_H
#define SWEEP_SWEEP_RESUME_H

#include "sweep/sweep.h"

/* What the sweep was asked for, for the command line to be read again. Borrowed from the saved
 * sweep but for the array of words, which is the caller's to free. */
struct sweep_request {
    const char **words; /* options as given: "--batch=50" */
    size_t word_count;
    const char *target; /* without password; NULL = none */
    bool has_secret;    /* the target has a password, which is not kept */
    const char *working_folder;
};

/* REJECTED: the folder is of another version of append, or sweep.json lacks something. */
enum status sweep_request_read(struct sweep_request *request, const struct saved_sweep *saved,
                               struct error *error);

/* Takes over what became of the runs, which must be those of `saved`. A run whose folder is gone is
 * to be run anew; one that had begun and was not over too, and with `is_retrying_failed` one that
 * failed. REJECTED: out of memory or another list of runs. */
enum status sweep_resume(struct sweep *sweep, const struct saved_sweep *saved,
                         bool is_retrying_failed, struct error *error);

#endif
