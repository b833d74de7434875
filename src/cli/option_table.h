/* Every option of every command, in the order of --help. */
#ifndef CLI_OPTION_TABLE_H
#define CLI_OPTION_TABLE_H

#include <stddef.h>

#include "append/error.h"
#include "cli/options.h"

enum {
    OPTION_TABLE_MAX = 64
};

struct option_entry {
    unsigned commands;   /* that take it: enum command, or-ed */
    const char *section; /* heading in --help */
    const char *name;
    const char *argument; /* NULL: the option takes none */
    const char *help;
    /* Checks and stores the value; REJECTED: *error says what would be right. */
    enum status (*store)(struct options *options, const char *value, struct error *error);
};

extern const struct option_entry option_table[];
extern const size_t option_table_size;

#endif
