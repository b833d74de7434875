#include "base/mono.h"
#include "cli/option_group.h"

STORE(store_sample_interval)
{
    int64_t interval_ns;
    if (option_store_duration("sample-interval", value, OPTION_DAY_NS, &interval_ns, error) !=
        STATUS_OK) {
        return STATUS_REJECTED;
    }
    if (interval_ns < 100 * MONO_NS_PER_MS) {
        return option_refuse(error, "sample-interval", value, "at least 100ms");
    }
    options->config.sample_interval_ns = interval_ns;
    return STATUS_OK;
}

STORE(store_server_pid)
{
    uint64_t pid;
    if (option_store_count("server-pid", value, INT32_MAX, &pid, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    options->config.server_pid = (pid_t)pid;
    return STATUS_OK;
}

STORE(store_server_cgroup)
{
    return option_store_text("server-cgroup", value, &options->config.server_cgroup, error);
}

STORE(store_out)
{
    return option_store_text("out", value, &options->config.out, error);
}

STORE(store_progress)
{
    int64_t interval_ns;
    if (option_store_duration("progress", value, OPTION_DAY_NS, &interval_ns, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    if (interval_ns < MONO_NS_PER_S) {
        return option_refuse(error, "progress", value, "at least 1 s");
    }
    options->config.progress_ns = interval_ns;
    return STATUS_OK;
}

STORE(store_quiet)
{
    (void)value;
    (void)error;
    options->config.is_quiet = true;
    return STATUS_OK;
}

STORE(store_json)
{
    (void)value;
    (void)error;
    options->config.is_json = true;
    return STATUS_OK;
}

STORE(store_plan)
{
    (void)value;
    (void)error;
    options->is_plan_only = true;
    return STATUS_OK;
}

STORE(store_version)
{
    (void)value;
    (void)error;
    options->is_version = true;
    return STATUS_OK;
}

STORE(store_help)
{
    (void)value;
    (void)error;
    options->is_help = true;
    return STATUS_OK;
}

static const struct option_entry entries[] = {
    {COMMAND_RUN, "sample-interval", "T", "CPU and memory, a sample every T (3)",
     store_sample_interval},
    {COMMAND_FIND_MAX, "sample-interval", "T", "CPU and memory (1, at most half of --hold)",
     store_sample_interval},
    {COMMANDS_ALL, "server-pid", "PID", "server's process (found by its port)", store_server_pid},
    {COMMANDS_ALL, "server-cgroup", "DIR", "server's cgroup folder, for its memory",
     store_server_cgroup},
    {COMMANDS_LOAD, "out", "DIR", "folder of the files (append-runs/...)", store_out},
    {COMMAND_REPORT, "out", "FILE", "the page (report.html)", store_out},
    {COMMAND_RUN | COMMAND_RUN_ALONE, "progress", "T", "a line of progress every T",
     store_progress},
    {COMMANDS_ALL, "quiet", NULL, "no progress", store_quiet},
    {COMMANDS_ALL | COMMAND_COMPARE | COMMAND_REPORT, "json", NULL,
     "report as JSON on standard output", store_json},
    {COMMAND_RUN | COMMAND_RUN_ALONE, "plan", NULL, "print the plan and end", store_plan},
    {COMMAND_RUN | COMMAND_RUN_ALONE, "version", NULL, "print versions and end", store_version},
    {COMMANDS_ALL | COMMAND_COMPARE | COMMAND_REPORT, "help", NULL,
     "print this text (also -h alone)", store_help},
};

const struct option_group option_group_measuring = {"Measuring and reporting", entries,
                                                    sizeof entries / sizeof entries[0]};
