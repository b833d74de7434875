/* The commands. Each command function takes its own arguments, where argv[0] is the name of the
 * command or the program, and returns the program's exit code. */
#ifndef COMMANDS_COMMAND_H
#define COMMANDS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "append/error.h"
#include "base/process.h"
#include "plan/options.h"

struct command_entry {
    struct command_form form;
    const char *line; /* a few words for the list of commands */
    /* The following texts consist of lines of at most 80 columns. */
    const char *about;
    /* command lines that work as printed; the first one needs no server */
    const char *example;
    const char *target; /* description of TARGET; NULL if the command takes no target */
    const char *exits;  /* the exit codes and their meaning */
    enum exit_code (*run)(int argc, char **argv);
};

/* The table of all commands. The first is `run`, whose name users can leave out. */
extern const struct command_entry command_table[];
extern const size_t command_table_size;

/* Runs the command that the command line names. */
enum exit_code command_table_run(int argc, char **argv);

enum exit_code command_run(int argc, char **argv);
enum exit_code command_check(int argc, char **argv);
enum exit_code command_certify(int argc, char **argv);
enum exit_code command_cleanup(int argc, char **argv);
enum exit_code command_compare(int argc, char **argv);
enum exit_code command_control(int argc, char **argv);
enum exit_code command_dry_run(int argc, char **argv);
enum exit_code command_find_max(int argc, char **argv);
enum exit_code command_prepare(int argc, char **argv);
enum exit_code command_report(int argc, char **argv);
enum exit_code command_sweep(int argc, char **argv);

const struct command_form *command_form(enum command command);

/* Handles *code, the result of command_line_read: reports the error, or prints the help or the
 * versions if the options ask for them. Returns true if the command must now end with the exit code
 * *code. */
bool command_is_done(const struct plan *plan, enum exit_code *code, const struct error *error);

/* Writes report.html into the folder of a run or sweep, and prints its path unless `is_silent`. On
 * EXIT_CODE_CLIENT_LIMIT, *error says why the page was not written. */
enum exit_code command_write_report(const char *folder, bool is_silent, struct error *error);

/* Returns a copy of argv in one block of memory, which the caller frees. Overwrites the passwords
 * in argv, because all users of this machine can read argv. Returns NULL if memory runs out. */
char **command_take_words(int argc, char **argv);

/* Prints "append: " and the formatted text on stderr, and returns `code`. Replaces control
 * characters, because the text may contain text from a server or from the command line. */
enum exit_code command_say(enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints the error's text as command_say does, and returns `code`. */
enum exit_code command_fail(enum exit_code code, const struct error *error);

/* Prints the error of a command that could not begin, as command_fail does, and returns `code`. If
 * `is_json`, also prints a JSON object with the error on stdout. */
enum exit_code command_refuse(bool is_json, enum exit_code code, const struct error *error);

/* Writes text to standard output. Stops when a signal arrives, because writing to a pipe that is
 * not read could block forever. Returns 0, EINTR after a signal, or errno. */
int command_print(const char *text, size_t length);

/* Flushes stdout and reports an error if its text could not be written. */
enum exit_code command_finish_output(void);

#endif
