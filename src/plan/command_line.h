/*
 * Command lines, with the files of options that they name (--options FILE).
 *
 * A line of a file is NAME = VALUE or NAME, where NAME is a long option without its dashes;
 * "sessions", "records" and "target" stand for the operands; "include FILE" reads another file,
 * whose path is relative to the folder of this file. Empty lines, and lines that begin with #, are
 * skipped. Options that another command takes are also skipped, so that one file serves prepare,
 * run and cleanup.
 *
 * The command line takes precedence: an option or operand of the command line replaces the same
 * option or operand of the files. Values of options that may be given several times are added to
 * the values of the files. When a file has SESSIONS, a single operand of the command line must be a
 * complete target, such as localhost:5432, because a number alone could also mean SESSIONS.
 */
#ifndef PLAN_COMMAND_LINE_H
#define PLAN_COMMAND_LINE_H

#include <stdio.h>

#include "append/error.h"
#include "plan/options.h"

/* Reads a command's argv, and the files of options that argv names, into *plan. argv[0] is skipped.
 * The texts of the files are kept until the program ends, because the plan and copies of the plan
 * point to these texts. On EXIT_CODE_USAGE, *error says why. If the mistake is in a file, *error
 * names the file and the line.
 */
enum exit_code command_line_read(struct plan *plan, const struct command_form *form, int argc,
                                 char **argv, struct error *error);

/* Reads the command line of rank 0 into the plan of another rank. */
enum exit_code command_line_follow(struct plan *plan, const struct command_form *form,
                                   const struct plan_lead *lead, struct error *error);

/* Prints the options and operands of a plan as a file of options. Leaves out values with a
 * password, and says so in a comment. On EXIT_CODE_USAGE, *error names a value that a file cannot
 * hold; nothing was printed. */
enum exit_code command_line_print(const struct plan *plan, FILE *stream, struct error *error);

#endif
