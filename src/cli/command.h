/* The commands. Each takes its own arguments (argv[0] is the command's or the program's name) and
 * returns the exit code of the program. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>

#include "append/error.h"
#include "base/exit_code.h"

/* append SESSIONS RECORDS [TARGET] */
enum exit_code command_run(int argc, char **argv);

/* append check SESSIONS [TARGET] */
enum exit_code command_check(int argc, char **argv);

/* append compare A B */
enum exit_code command_compare(int argc, char **argv);

/* append find-max [TARGET] */
enum exit_code command_find_max(int argc, char **argv);

/* append help [COMMAND] */
enum exit_code command_help(int argc, char **argv);

/* append report DIR... */
enum exit_code command_report(int argc, char **argv);

/* append sweep --sessions LIST --records LIST [TARGET] */
enum exit_code command_sweep(int argc, char **argv);

/* A copy of argv, one block to be freed, for the commands. In argv itself, which all users of this
 * machine can read, passwords are overwritten. NULL: out of memory. */
char **command_take_words(int argc, char **argv);

/* Prints "append: text" on stderr, without what must not reach a terminal raw, such as words of a
 * server or from the command line, and returns `code`. */
enum exit_code command_say(enum exit_code code, const char *text);
enum exit_code command_fail(enum exit_code code, const struct error *error);

/* The same for what could not begin; with --json stdout gets an object that says so, too. */
enum exit_code command_refuse(bool is_json, enum exit_code code, const struct error *error);

/* What was printed on stdout must have arrived. */
enum exit_code command_finish_output(void);

#endif
