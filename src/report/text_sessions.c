#include "report/text_sessions.h"

#include <inttypes.h>
#include <math.h>

#include "base/units.h"

static void add_connections(FILE *stream, const uint64_t *counters)
{
    char count[3][UNITS_TEXT_BYTES];
    char text[240] = "";
    const uint64_t lost = counters[RECORDER_CONNECTIONS_LOST];
    const uint64_t failed = counters[RECORDER_RECONNECTS_FAILED];
    const uint64_t refusals = counters[RECORDER_REFUSALS];
    size_t used = 0;
    if (lost > 0) {
        used = (size_t)snprintf(text, sizeof text, "%s connection%s, %s had again",
                                units_format_count(lost, count[0]), lost == 1 ? "" : "s",
                                units_format_count(counters[RECORDER_RECONNECTS], count[1]));
        if (counters[RECORDER_TIMEOUTS] > 0) {
            used += (size_t)snprintf(text + used, sizeof text - used, ", %s calls cut by --timeout",
                                     units_format_count(counters[RECORDER_TIMEOUTS], count[2]));
        }
    }
    if (refusals > 0) {
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "%s%s batch%s by a read-only server", lost > 0 ? "; refused " : "",
                                 units_format_count(refusals, count[0]), refusals == 1 ? "" : "es");
    }
    if (failed > 0 && used > 0) {
        snprintf(text + used, sizeof text - used, ", %s tries failed",
                 units_format_count(failed, count[2]));
    }
    if (used > 0) {
        screen_add_wrapped(stream, lost > 0 ? "Lost" : "Refused", SCREEN_LABEL_COLUMNS, text);
    }
    if (counters[RECORDER_CHURNS] > 0) {
        const uint64_t churns = counters[RECORDER_CHURNS];
        snprintf(text, sizeof text, "%s connection%s closed and opened anew",
                 units_format_count(churns, count[0]), churns == 1 ? "" : "s");
        screen_add_wrapped(stream, "Churn", SCREEN_LABEL_COLUMNS, text);
    }
}

static void add_fairness(FILE *stream, const struct fairness *fairness)
{
    char slowest[UNITS_TEXT_BYTES];
    char fastest[UNITS_TEXT_BYTES];
    char gap[UNITS_TEXT_BYTES];
    char text[240];
    snprintf(text, sizeof text,
             "slowest %s rows/s (session %u), fastest %s (session %u); longest without an "
             "acknowledged append: %s (session %u)",
             units_format_count((uint64_t)llround(fairness->slowest_rows_per_s), slowest),
             fairness->slowest_session,
             units_format_count((uint64_t)llround(fairness->fastest_rows_per_s), fastest),
             fairness->fastest_session, units_format_ns(fairness->longest_gap_ns, gap),
             fairness->longest_gap_session);
    screen_add_wrapped(stream, "Fairness", SCREEN_LABEL_COLUMNS, text);
}

void text_sessions_add(FILE *stream, const struct result *result)
{
    add_connections(stream, result->totals.counters);
    if (result->fairness.sessions > 1) {
        add_fairness(stream, &result->fairness);
    }
}
