/*
 * The command line of a run.
 *
 * One table holds every option: its name, what --help says of it, and the function that checks and
 * stores its value.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdio.h>

#include "append/error.h"
#include "plan/config.h"

/* What the command line asks for beside the run itself. */
struct options {
    struct config config;
    bool is_help;
    bool is_version;
    bool is_plan_only; /* print the plan; nothing is connected to but a port to be recognised */
    char password[256];
};

/* Reads argv into *options. REJECTED: *error is the line to print. Strings in config point into
 * argv, the environment and *options. */
enum status options_parse(struct options *options, int argc, char **argv, struct error *error);

/* Writes the help text, at most 80 columns wide. */
void options_print_help(FILE *stream);

#endif
