#include <stdlib.h>
#include <string.h>

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

/* A bound on a ratio: it has no unit. Whether there is such a figure is told by the runs. */
static enum status add_fail_if(struct options *options, const char **rest, struct error *error)
{
    struct bound bound;
    if (bound_parse(&bound, rest, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    if (bound.unit[0] != '\0') {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "bound '%s': a ratio of B to A has no unit (throughput<0.95)", bound.text);
        return STATUS_REJECTED;
    }
    if (options->fail_if_count == EXPECTATIONS_MAX) {
        error_set(error, ERROR_USAGE, 0, NULL, "bound '%s' is one too many: there may be %d",
                  bound.text, EXPECTATIONS_MAX);
        return STATUS_REJECTED;
    }
    options->fail_if[options->fail_if_count++] = bound;
    return STATUS_OK;
}

STORE(store_fail_if)
{
    struct error why;
    error_clear(&why);
    while (value != NULL) {
        if (add_fail_if(options, &value, &why) != STATUS_OK) {
            error_set(error, why.kind, 0, NULL, "--fail-if: %s", why.text);
            return STATUS_REJECTED;
        }
    }
    return STATUS_OK;
}

STORE(store_threshold)
{
    /* digits and a point only: strtod alone would take signs, "1e1" and "inf" */
    const size_t length = strspn(value, "0123456789.");
    char *end = NULL;
    const double percent = strtod(value, &end);
    const bool is_number = value[0] >= '0' && value[0] <= '9' && end == value + length;
    if (!is_number || (strcmp(end, "") != 0 && strcmp(end, "%") != 0) || !(percent > 0) ||
        !(percent < 100)) {
        return option_refuse(error, "threshold", value, "a share above 0 and below 100 % (5%)");
    }
    options->compare_threshold = percent / 100;
    return STATUS_OK;
}

static const struct option_entry entries[] = {
    {COMMAND_RUN, "expect", "BOUNDS", "exit 5 unless met: 'throughput>=50k, lost==0'",
     store_expect},
    {COMMAND_RUN | COMMAND_RUN_ALONE, "junit", "FILE", "outcome and expectations as JUnit XML",
     store_junit},
    {COMMAND_COMPARE, "fail-if", "BOUNDS", "exit 5 when B/A is so: 'throughput<0.95'",
     store_fail_if},
    {COMMAND_COMPARE, "threshold", "N%", "what differs by less does not matter (5%)",
     store_threshold},
};

const struct option_group option_group_expect = {"Expectations", entries,
                                                 sizeof entries / sizeof entries[0]};
