/* The commands. Each takes its own arguments (argv[0] is the command's or the program's name) and
 * returns the exit code of the program. */
#ifndef COMMANDS_COMMAND_H
#define COMMANDS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "append/error.h"
#include "base/process.h"
#include "plan/options.h"

struct command_entry {
    struct command_form form;
    const char *line;   /* what it does, a few words, for the list of commands */
    const char *about;  /* what it does, lines of at most 80 columns */
    const char *target; /* what TARGET is, the same; NULL: it takes none */
    const char *exits;  /* exit codes, the same */
    const char *example;
    enum exit_code (*run)(int argc, char **argv);
};

/* The first is the one that needs no name on the command line. */
extern const struct command_entry command_table[];
extern const size_t command_table_size;

/* Runs the command of a whole command line. */
enum exit_code command_table_run(int argc, char **argv);

enum exit_code command_run(int argc, char **argv);
enum exit_code command_check(int argc, char **argv);
enum exit_code command_cleanup(int argc, char **argv);
enum exit_code command_compare(int argc, char **argv);
enum exit_code command_find_max(int argc, char **argv);
enum exit_code command_prepare(int argc, char **argv);
enum exit_code command_report(int argc, char **argv);
enum exit_code command_sweep(int argc, char **argv);

const struct command_form *command_form(enum command command);

/* After options_parse, with its result in *code. True: there is nothing else to do, and *code is
 * how it ended: a word was wrong, which is said, or help or versions were asked for, and printed.
 */
bool command_is_done(const struct plan *plan, enum exit_code *code, const struct error *error);

/* --report: writes report.html into the folder of a run or sweep, and says so on stdout unless
 * `is_silent`. EXIT_CODE_CLIENT_LIMIT: *error says why there is none. */
enum exit_code command_write_report(const char *folder, bool is_silent, struct error *error);

/* A copy of argv, one block to be freed, for the commands. In argv itself, which all users of this
 * machine can read, passwords are overwritten. NULL: out of memory. */
char **command_take_words(int argc, char **argv);

/* Prints "append: text" on stderr, without what must not reach a terminal raw, such as words of a
 * server or from the command line, and returns `code`. */
enum exit_code command_say(enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
enum exit_code command_fail(enum exit_code code, const struct error *error);

/* The same for what could not begin; with --json stdout gets an object that says so, too. */
enum exit_code command_refuse(bool is_json, enum exit_code code, const struct error *error);

/* Writes to standard output, and gives up when a signal comes meanwhile: nobody may read, and a
 * full pipe blocks for ever. Returns 0, EINTR for the signal, or errno. */
int command_print(const char *text, size_t length);

/* What was printed on stdout must have arrived. */
enum exit_code command_finish_output(void);

#endif
