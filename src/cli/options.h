/*
 * The command line of a command that connects to a database.
 *
 * One table holds every option: its name, what --help says of it, and the function that checks and
 * stores its value. What --help says of a command itself stands in its row of the command table.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "append/error.h"
#include "plan/config.h"

/* A bit each, so that an option can name all that take it. */
enum command {
    COMMAND_RUN = 1,
    COMMAND_CHECK = 2,
    COMMAND_FIND_MAX = 4,
    COMMAND_SWEEP = 8,
    COMMAND_REPORT = 16,
    COMMAND_COMPARE = 32,
};
enum {
    COMMANDS_LOAD = COMMAND_RUN | COMMAND_FIND_MAX,
    COMMANDS_ALL = COMMAND_RUN | COMMAND_CHECK | COMMAND_FIND_MAX,
};

/* What the command line asks for beside the run itself. */
struct options {
    enum command command;
    struct config config;
    bool is_help;
    bool is_version;
    bool is_plan_only;    /* print the plan; nothing is connected to but a port to be recognised */
    char *const *folders; /* of runs, for a command that takes them; in argv */
    size_t folder_count;
    bool is_report;      /* --report: report.html is written when the run has ended */
    bool is_text_charts; /* --text */
    bool is_png_charts;  /* --png */
    char password[256];
};

/* Reads the argv of a command into *options; argv[0] is not looked at. REJECTED: *error is the line
 * to print. Strings in config point into argv, the environment and *options. */
enum status options_parse(struct options *options, enum command command, int argc, char **argv,
                          struct error *error);

#endif
