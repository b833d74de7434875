/* Every option of every command, in the order of --help. */
#ifndef CLI_OPTION_TABLE_H
#define CLI_OPTION_TABLE_H

#include "cli/option_group.h"

enum {
    OPTION_MAX = 128 /* of all groups together */
};

extern const struct option_group *const option_groups[]; /* ends with NULL */

#endif
