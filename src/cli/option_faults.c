#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "base/units.h"
#include "cli/option_group.h"
#include "plan/plan.h"

enum {
    TRIES_MAX = 1000000
};

STORE(store_no_check)
{
    (void)value;
    (void)error;
    options->config.is_unchecked = true;
    return STATUS_OK;
}

/* A number, or with % a share of the sessions. */
STORE(store_min_sessions)
{
    const size_t length = strlen(value);
    char share[8];
    uint64_t percent;
    options->config.min_sessions = 0;
    options->config.min_percent = 0;
    if (length == 0 || value[length - 1] != '%') {
        return option_store_count("min-sessions", value, PLAN_SESSIONS_MAX,
                                  &options->config.min_sessions, error);
    }
    snprintf(share, sizeof share, "%.*s", (int)(length - 1 < 7 ? length - 1 : 7), value);
    if (length > sizeof share || !units_parse_count(share, 100, &percent) || percent == 0) {
        return option_refuse(error, "min-sessions", value,
                             "a number of sessions or a share of 1% to 100%");
    }
    options->config.min_percent = (unsigned)percent;
    return STATUS_OK;
}

STORE(store_on_drop)
{
    static const char reconnect[] = "reconnect:";
    struct config *config = &options->config;
    if (strcmp(value, "continue") == 0) {
        config->drop_policy = DROP_CONTINUE;
    } else if (strcmp(value, "stop") == 0) {
        config->drop_policy = DROP_STOP;
    } else if (strcmp(value, "reconnect") == 0) {
        config->drop_policy = DROP_RECONNECT;
    } else if (strncmp(value, reconnect, strlen(reconnect)) == 0) {
        config->drop_policy = DROP_RECONNECT;
        return option_store_count("on-drop reconnect", value + strlen(reconnect), TRIES_MAX,
                                  &config->reconnect_tries, error);
    } else {
        return option_refuse(error, "on-drop", value,
                             "continue, stop, reconnect or reconnect:TRIES (reconnect:50)");
    }
    return STATUS_OK;
}

STORE(store_verify)
{
    if (strcmp(value, "count") == 0) {
        options->config.verify_mode = VERIFY_COUNT;
    } else if (strcmp(value, "rows") == 0) {
        options->config.verify_mode = VERIFY_ROWS;
    } else {
        return option_refuse(error, "verify", value, "count or rows");
    }
    return STATUS_OK;
}

STORE(store_idle)
{
    return option_store_count("idle", value, PLAN_SESSIONS_MAX, &options->config.idle_sessions,
                              error);
}

STORE(store_churn)
{
    return option_store_count("churn", value, UINT32_MAX, &options->config.churn_batches, error);
}

STORE(store_timeout)
{
    int64_t timeout_ns;
    if (option_store_duration("timeout", value, OPTION_DAY_NS, &timeout_ns, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    if (timeout_ns < 100 * MONO_NS_PER_MS) {
        return option_refuse(error, "timeout", value, "at least 100 ms");
    }
    options->config.timeout_ns = timeout_ns;
    return STATUS_OK;
}

static const struct option_entry entries[] = {
    {COMMAND_RUN, "no-check", NULL, "go on where a limit is certain to be hit", store_no_check},
    {COMMAND_RUN, "min-sessions", "N|N%", "sessions that must be up to go on (1)",
     store_min_sessions},
    {COMMAND_RUN, "on-drop", "continue|stop|reconnect", "when a session is lost (continue)",
     store_on_drop},
    {COMMAND_RUN, "timeout", "T", "cut a call that takes longer (no limit)", store_timeout},
    {COMMAND_RUN, "verify", "count|rows", "what is held against the ledger (count)", store_verify},
    {COMMAND_RUN | COMMAND_CHECK, "idle", "N", "more sessions that only stay connected (0)",
     store_idle},
    {COMMAND_RUN, "churn", "N", "connect anew after every N batches (never)", store_churn},
};

const struct option_group option_group_faults = {"Limits and faults", entries,
                                                 sizeof entries / sizeof entries[0]};
