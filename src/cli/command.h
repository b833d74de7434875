/* The commands. Each takes its own arguments (argv[0] is the command's or the program's name) and
 * returns the exit code of the program. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "append/error.h"
#include "base/exit_code.h"

/* append SESSIONS RECORDS [TARGET] */
enum exit_code command_run(int argc, char **argv);

/* Prints "append: text" on stderr and returns `code`. */
enum exit_code command_fail(enum exit_code code, const struct error *error);

#endif
