#include "report/text_sessions.h"

#include <inttypes.h>
#include <math.h>

#include "base/units.h"

static void add_connections(struct screen *screen, const uint64_t *counters)
{
    char count[4][UNITS_TEXT_BYTES];
    char text[160];
    if (counters[RECORDER_CONNECTIONS_LOST] > 0) {
        snprintf(text, sizeof text, "%s connections, %s had again (%s tries failed)",
                 units_format_count(counters[RECORDER_CONNECTIONS_LOST], count[0]),
                 units_format_count(counters[RECORDER_RECONNECTS], count[1]),
                 units_format_count(counters[RECORDER_RECONNECTS_FAILED], count[2]));
        screen_add_wrapped(screen, "Lost", SCREEN_LABEL_COLUMNS, 2, text);
    }
    if (counters[RECORDER_CHURNS] > 0) {
        snprintf(text, sizeof text, "%s connections closed and opened anew",
                 units_format_count(counters[RECORDER_CHURNS], count[3]));
        screen_add_wrapped(screen, "Churn", SCREEN_LABEL_COLUMNS, 1, text);
    }
}

static void add_fairness(struct screen *screen, const struct fairness *fairness)
{
    char slowest[UNITS_TEXT_BYTES];
    char fastest[UNITS_TEXT_BYTES];
    char gap[UNITS_TEXT_BYTES];
    char text[240];
    snprintf(text, sizeof text,
             "slowest session %s rows/s (%u), fastest %s (%u); longest without an "
             "acknowledged append: %s (%u)",
             units_format_count((uint64_t)llround(fairness->slowest_rows_per_s), slowest),
             fairness->slowest_session,
             units_format_count((uint64_t)llround(fairness->fastest_rows_per_s), fastest),
             fairness->fastest_session, units_format_ns(fairness->longest_gap_ns, gap),
             fairness->longest_gap_session);
    screen_add_wrapped(screen, "Fairness", SCREEN_LABEL_COLUMNS, 2, text);
}

void text_sessions_add(struct screen *screen, const struct result *result)
{
    add_connections(screen, result->totals.counters);
    if (result->fairness.sessions > 1) {
        add_fairness(screen, &result->fairness);
    }
}
