/*
 * Command lines, and the option files that they name (--options FILE).
 *
 * A line of an option file is NAME = VALUE or NAME, where NAME is a long option without its
 * dashes. The names "sessions", "records" and "target" stand for the operands. The line "include
 * FILE" reads a second file, whose path is relative to the folder of the first file. Empty lines
 * and lines that begin with # are skipped. Options of other commands are also skipped, so that
 * prepare, run and cleanup can use the same file.
 *
 * An option or operand on the command line replaces the same option or operand in the files. But
 * if an option may be given several times, its values on the command line are added to its values
 * in the files. When a file has SESSIONS, a single operand on the command line must be a complete
 * target, such as localhost:5432, because a number alone could also mean SESSIONS.
 */
#ifndef PLAN_COMMAND_LINE_H
#define PLAN_COMMAND_LINE_H

#include <stdio.h>

#include "append/error.h"
#include "plan/options.h"

/* Reads a command's argv, and the option files that argv names, into *plan. argv[0] is skipped. The
 * texts of the files are kept until the program ends, because the plan and copies of the plan point
 * to these texts. On EXIT_CODE_USAGE, *error says why. If the mistake is in a file, *error names
 * the file and the line. */
enum exit_code command_line_read(struct plan *plan, const struct command_form *form, int argc,
                                 char **argv, struct error *error);

/* Reads the command line of rank 0 into the plan of this process, which is a different rank. */
enum exit_code command_line_follow(struct plan *plan, const struct command_form *form,
                                   const struct plan_lead *lead, struct error *error);

/* Prints the options and operands of a plan as an option file. Leaves out each value with a
 * password, and prints a comment in its place. Prints nothing and returns EXIT_CODE_USAGE if a
 * value cannot be written in an option file; *error then names the value. */
enum exit_code command_line_print(const struct plan *plan, FILE *stream, struct error *error);

#endif
