/* What --help prints, from the tables of commands and options. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/options.h"

/* Writes the help text of a command, at most 80 columns wide. */
void help_print(enum command command, FILE *stream);

#endif
