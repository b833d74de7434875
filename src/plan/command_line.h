/*
 * Command lines, with the files of options that they name (--options FILE).
 *
 * A line of a file is NAME = VALUE or NAME, where NAME is a long option without its dashes;
 * "sessions", "records" and "target" stand for the operands; "include FILE" reads another file,
 * whose path is relative to the folder of this file. Empty lines, and lines that begin with #, are
 * skipped. Options that another command takes are skipped also, so that one file serves prepare,
 * run and cleanup.
 *
 * What the command line has wins: an option that it has replaces that of the file, but options that
 * may be given several times are added to those of the file. Operands of the command line replace
 * all operands of the file; a target alone replaces only the target.
 */
#ifndef PLAN_COMMAND_LINE_H
#define PLAN_COMMAND_LINE_H

#include <stdio.h>

#include "append/error.h"
#include "plan/options.h"

/* Reads a command's argv into *plan, and the files of options that it names. argv[0] is skipped.
 * plan->words then has the whole command line, which plan_fini frees where it is not argv itself.
 * On EXIT_CODE_USAGE, *error says why, for a file with its name and the line. */
enum exit_code command_line_read(struct plan *plan, const struct command_form *form, int argc,
                                 char **argv, struct error *error);

/* Prints the options and operands of a plan as a file of options, without a password. */
void command_line_print(const struct plan *plan, FILE *stream);

#endif
