#include "cli/option_group.h"
#include "report/expectations.h"

STORE(store_expect)
{
    struct error why;
    error_clear(&why);
    if (expectations_add(&options->expectations, value, &why) == STATUS_OK) {
        return STATUS_OK;
    }
    error_set(error, why.kind, 0, NULL, "--expect: %s", why.text);
    return STATUS_REJECTED;
}

STORE(store_junit)
{
    return option_store_text("junit", value, &options->junit, error);
}

static const struct option_entry entries[] = {
    {COMMAND_RUN, "expect", "BOUNDS", "exit 5 unless met: 'throughput>=50k, append_p99<=20ms'",
     store_expect},
    {COMMAND_RUN | COMMAND_RUN_ALONE, "junit", "FILE", "outcome and expectations as JUnit XML", store_junit},
};

const struct option_group option_group_expect = {"Expectations", entries,
                                                 sizeof entries / sizeof entries[0]};
