#include "cli/option_group.h"

STORE(store_report)
{
    (void)value;
    (void)error;
    options->is_report = true;
    return STATUS_OK;
}

STORE(store_text)
{
    (void)value;
    (void)error;
    options->is_text_charts = true;
    return STATUS_OK;
}

STORE(store_png)
{
    (void)value;
    (void)error;
    options->is_png_charts = true;
    return STATUS_OK;
}

STORE(store_all)
{
    (void)value;
    (void)error;
    options->is_all_charts = true;
    return STATUS_OK;
}

static const struct option_entry entries[] = {
    {COMMAND_RUN | COMMAND_RUN_ALONE | COMMAND_SWEEP, "report", NULL,
     "write report.html with charts at the end", store_report},
    {COMMAND_REPORT, "text", NULL, "charts as text on standard output, and no page", store_text},
    {COMMAND_REPORT, "png", NULL, "each chart as a PNG file beside the page, too", store_png},
    {COMMAND_REPORT, "all", NULL, "of several runs the charts of each, too", store_all},
};

const struct option_group option_group_report = {"Charts and report", entries,
                                                 sizeof entries / sizeof entries[0]};
