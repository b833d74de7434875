#include "measure/session_summary.h"

#include <stdlib.h>

#include "base/mono.h"

const char *session_outcome_name(enum session_outcome outcome)
{
    switch (outcome) {
    case SESSION_NOT_STARTED:
        return "not_started";
    case SESSION_REFUSED:
        return "refused";
    case SESSION_TIMED_OUT:
        return "timed_out";
    case SESSION_FINISHED:
        return "finished";
    case SESSION_STOPPED:
        return "stopped";
    case SESSION_DROPPED:
        return "dropped";
    }
    return "unknown";
}

double session_rows_per_s(const struct session_summary *session)
{
    return session->worked_ns > 0 ? (double)session->rows.acknowledged /
                                        ((double)session->worked_ns / (double)MONO_NS_PER_S)
                                  : -1;
}

void session_list_free(struct session_summary *list, size_t count)
{
    for (size_t i = 0; list != NULL && i < count; i++) {
        free(list[i].exceptions);
    }
    free(list);
}
