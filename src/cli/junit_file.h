/*
 * The JUnit file of a run (--junit). It is emptied before the run begins, so that what an earlier
 * one left cannot pass for this one's, and tells of a run that could not begin, too.
 */
#ifndef CLI_JUNIT_FILE_H
#define CLI_JUNIT_FILE_H

#include <stdio.h>

#include "base/exit_code.h"
#include "measure/result.h"
#include "plan/plan.h"

struct junit_file {
    const char *path; /* NULL: none was asked for */
    FILE *stream;
};

/* Makes or empties the file. With `may_wait` a folder that is not there is no error: it may be the
 * one of the run's files, and the call is made again when that is there. EXIT_CODE_USAGE: *error
 * says why it cannot be written. */
enum exit_code junit_file_open(struct junit_file *file, bool may_wait, struct error *error);

/* Writes that the run could not begin, and closes. */
void junit_file_write_error(struct junit_file *file, const struct plan *plan, enum exit_code code,
                            const char *why);

/* Writes the run that was judged, and closes. Returns 0 or errno. */
int junit_file_write(struct junit_file *file, const struct plan *plan, const struct result *result);

void junit_file_close(struct junit_file *file);

#endif
