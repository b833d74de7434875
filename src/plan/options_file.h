/*
 * Files of options (--options FILE).
 *
 * A line is NAME = VALUE or NAME, where NAME is a long option without its dashes; "sessions",
 * "records" and "target" stand for the operands; "include FILE" reads another file, whose path is
 * relative to the folder of this file. Empty lines, and lines that begin with #, are skipped.
 * Options that another command takes are skipped also, so that one file serves prepare, run and
 * cleanup.
 *
 * What the command line has wins: an option that it has replaces that of the file, but options that
 * may be given several times are added to those of the file. Operands of the command line replace
 * all operands of the file; a target alone replaces only the target.
 */
#ifndef PLAN_OPTIONS_FILE_H
#define PLAN_OPTIONS_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "append/error.h"
#include "plan/options.h"

/* Returns whether the words of a command line name a file of options. */
bool options_file_is_named(int argc, char *const *argv);

/* Reads the named files into the plan's words, which then have the options of the files in place of
 * the files' names, and which the plan owns. Also notes the names of the files, with hashes, in the
 * plan. On EXIT_CODE_USAGE, *error names the file and the line, and says what would be right. */
enum exit_code options_file_expand(struct plan *plan, const struct command_form *form, int argc,
                                   char **argv, struct error *error);

/* Writes the options and operands of a plan that was parsed as such a file. */
void options_file_write(const struct plan *plan, FILE *stream);

#endif
