#include "cli/option_table.h"

const struct option_group *const option_groups[] = {
    &option_group_sweep,     &option_group_connection,
    &option_group_work,      &option_group_faults,
    &option_group_search,    &option_group_expect,
    &option_group_measuring, &option_group_observe,
    &option_group_report,    NULL,
};
