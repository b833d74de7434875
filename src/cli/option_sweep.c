#include "cli/option_group.h"
#include "plan/plan.h"

STORE(store_sessions)
{
    return sweep_list_parse(&options->sweep_sessions, "sessions", value, PLAN_SESSIONS_MAX, error);
}

STORE(store_records)
{
    return sweep_list_parse(&options->sweep_records, "records", value, PLAN_RECORDS_MAX, error);
}

STORE(store_repeat)
{
    return option_store_count("repeat", value, SWEEP_LIST_MAX, &options->sweep_repeat, error);
}

STORE(store_keep_rows)
{
    (void)value;
    (void)error;
    options->is_keeping_rows = true;
    return STATUS_OK;
}

STORE(store_resume)
{
    return option_store_text("resume", value, &options->resume, error);
}

STORE(store_retry_failed)
{
    (void)value;
    (void)error;
    options->is_retrying_failed = true;
    return STATUS_OK;
}

static const struct option_entry entries[] = {
    {COMMAND_SWEEP, "sessions", "N,N,...", "sessions of the runs, down the tables", store_sessions},
    {COMMAND_SWEEP, "records", "N,N,...", "rows of the runs, across the tables", store_records},
    {COMMAND_SWEEP, "repeat", "N", "runs of each size: median and spread (1)", store_repeat},
    {COMMAND_SWEEP, "keep-rows", NULL, "append to what earlier runs left in the table",
     store_keep_rows},
    {COMMAND_SWEEP, "resume", "DIR", "go on with an interrupted sweep in its folder", store_resume},
    {COMMAND_SWEEP, "retry-failed", NULL, "with --resume: make failed runs anew, too",
     store_retry_failed},
};

const struct option_group option_group_sweep = {"The sweep", entries,
                                                sizeof entries / sizeof entries[0]};
