/*
 * The commands: how each is called, and what --help says of it. The first is the one that needs no
 * name on the command line.
 */
#ifndef CLI_COMMAND_TABLE_H
#define CLI_COMMAND_TABLE_H

#include <stddef.h>

#include "base/exit_code.h"
#include "cli/options.h"

struct command_entry {
    enum command command;
    const char *name;     /* first word on the command line; NULL: none */
    const char *usage;    /* "append check SESSIONS [TARGET]", without options */
    const char *line;     /* what it does, a few words, for the list of commands */
    const char *about;    /* what it does, lines of at most 80 columns */
    const char *target;   /* what TARGET is, the same; NULL: it takes none */
    size_t folders_least; /* of runs that it takes instead of a target */
    size_t folders_most;  /* 0: it takes a target */
    const char *exits;    /* exit codes, the same */
    const char *example;
    /* argv[0] is the program's or the command's name. */
    enum exit_code (*run)(int argc, char **argv);
};

extern const struct command_entry command_table[];
extern const size_t command_table_size;

const struct command_entry *command_table_find(enum command command);

/* The command of that name; "run" is the first one's. NULL: *error says so, and which one is meant
 * most likely. */
const struct command_entry *command_table_find_name(const char *name, struct error *error);

/* Runs the command of a whole command line. */
enum exit_code command_table_run(int argc, char **argv);

#endif
