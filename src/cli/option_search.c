#include "base/units.h"
#include "cli/option_group.h"
#include "plan/plan.h"

STORE(store_first)
{
    return option_store_count("first", value, PLAN_SESSIONS_MAX, &options->config.first_sessions,
                              error);
}

STORE(store_hold)
{
    return option_store_duration("hold", value, OPTION_DAY_NS, &options->config.hold_ns, error);
}

STORE(store_max_sessions)
{
    return option_store_count("max-sessions", value, PLAN_SESSIONS_MAX,
                              &options->config.max_sessions, error);
}

STORE(store_max_time)
{
    return option_store_duration("max-time", value, 30 * OPTION_DAY_NS,
                                 &options->config.max_time_ns, error);
}

static enum status store_size(const char *name, const char *value, uint64_t *bytes,
                              struct error *error)
{
    if (units_parse_bytes(value, UINT64_C(1) << 50, bytes) && *bytes > 0) {
        return STATUS_OK;
    }
    return option_refuse(error, name, value, "a size (500M, 16G)");
}

STORE(store_max_memory)
{
    return store_size("max-memory", value, &options->config.max_memory_bytes, error);
}

STORE(store_max_rows)
{
    return option_store_count("max-rows", value, PLAN_RECORDS_MAX, &options->config.max_rows,
                              error);
}

STORE(store_max_bytes)
{
    return store_size("max-bytes", value, &options->config.max_bytes, error);
}

STORE(store_p99)
{
    return option_store_duration("p99", value, OPTION_DAY_NS, &options->config.p99_bound_ns, error);
}

static const struct option_entry entries[] = {
    {COMMAND_FIND_MAX, "first", "N", "sessions of the first level (10)", store_first},
    {COMMAND_FIND_MAX, "hold", "T", "how long a level is held (5)", store_hold},
    {COMMAND_FIND_MAX, "max-sessions", "N", "never more sessions (what this machine holds)",
     store_max_sessions},
    {COMMAND_FIND_MAX, "max-time", "T", "end the search after a time (10m)", store_max_time},
    {COMMAND_FIND_MAX, "max-memory", "SIZE", "never more of this machine in use (90 %)",
     store_max_memory},
    {COMMAND_FIND_MAX, "max-rows", "N", "end the search when it wrote so many rows",
     store_max_rows},
    {COMMAND_FIND_MAX, "max-bytes", "SIZE", "end it when the values of its rows are so many (2G)",
     store_max_bytes},
    {COMMAND_FIND_MAX, "p99", "T", "name the level where append's p99 passes T", store_p99},
};

const struct option_group option_group_search = {"The search", entries,
                                                 sizeof entries / sizeof entries[0]};
