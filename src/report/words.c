/* Numbers, times and texts of a run as people read them. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/report.h"

#define UNKNOWN "–"
#define COUNT_MAX 1e15 /* beyond, digits say nothing */

const char *report_format(double value, char text[REPORT_WORDS_BYTES])
{
    if (fabs(value) >= COUNT_MAX) {
        snprintf(text, REPORT_WORDS_BYTES, "%.3g", value);
    } else if (fabs(value) >= 1000) {
        snprintf(text, REPORT_WORDS_BYTES, "%s%s", value < 0 ? "-" : "",
                 UNITS_COUNT((uint64_t)llround(fabs(value))));
    } else if (value == 0 || fabs(value) >= 99.95) {
        snprintf(text, REPORT_WORDS_BYTES, "%.0f", value);
    } else {
        snprintf(text, REPORT_WORDS_BYTES, fabs(value) >= 1 ? "%#.3g" : "%.3g", value);
    }
    return text;
}

const char *report_format_count(double value, char text[REPORT_WORDS_BYTES])
{
    static const char *const units[] = {"", "k", "M", "G"};
    size_t unit = 0;
    while (value >= 1000 && unit < 3) {
        value /= 1000;
        unit++;
    }
    snprintf(text, REPORT_WORDS_BYTES, "%.4g%s", value, units[unit]);
    return text;
}

const char *report_format_time(const json_t *value, double unit_ns, char text[REPORT_WORDS_BYTES])
{
    const double ns = json_number_value(value) * unit_ns;
    const bool is_known = json_is_number(value) && ns >= 0 && ns < 9e18;
    return is_known ? units_format_ns((int64_t)llround(ns), text) : UNKNOWN;
}

const char *report_value(const struct saved_run *run, const char *column,
                         char text[REPORT_WORDS_BYTES])
{
    double value;
    return saved_run_figure(run, column, &value) ? report_format(value, text) : UNKNOWN;
}

/* Of a run that was not for a number of rows. */
static bool duration_of(const struct saved_run *run, char text[UNITS_TEXT_BYTES])
{
    double records;
    const json_t *duration = saved_run_json(run, "plan.duration_s");
    const double seconds = json_number_value(duration);
    if (saved_run_figure(run, "records", &records) || !json_is_number(duration) ||
        !(seconds >= 0 && seconds < 1e9)) {
        return false;
    }
    const uint64_t whole = (uint64_t)llround(seconds);
    if (whole >= 60 && whole % 60 == 0) {
        const bool is_hours = whole % 3600 == 0;
        snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 " %s", whole / (is_hours ? 3600 : 60),
                 is_hours ? "h" : "min");
    } else if (whole >= 60) {
        units_format_seconds(whole, text);
    } else {
        snprintf(text, UNITS_TEXT_BYTES, "%.3g s", seconds);
    }
    return true;
}

/* A count of the run. */
static uint64_t count_of(const struct saved_run *run, const char *column)
{
    double value = 0;
    saved_run_figure(run, column, &value);
    return value > 0 && value < COUNT_MAX ? (uint64_t)value : 0;
}

const char *report_title(const struct saved_run *run, char text[REPORT_WORDS_BYTES])
{
    char duration[UNITS_TEXT_BYTES];
    const json_int_t held = json_integer_value(saved_run_json(run, "search.held"));
    const uint64_t sessions = !run->is_search ? count_of(run, "sessions")
                              : held > 0      ? (uint64_t)held
                                              : 0;
    const char *plural = sessions == 1 ? "" : "s";
    const char *workload = figure_text(&run->figures, FIGURE_WORKLOAD);
    const char *const slash = strrchr(workload, '/');
    char script[32] = "";
    if (workload[0] != '\0') {
        snprintf(script, sizeof script, "%.28s: ", slash == NULL ? workload : slash + 1);
    }
    const json_int_t transactions = json_integer_value(saved_run_json(run, "plan.transactions"));
    if (run->is_unfinished) {
        snprintf(text, REPORT_WORDS_BYTES, "an unfinished run");
    } else if (run->is_search) {
        snprintf(text, REPORT_WORDS_BYTES, "find-max: %s session%s held", UNITS_COUNT(sessions),
                 plural);
    } else if (duration_of(run, duration)) {
        snprintf(text, REPORT_WORDS_BYTES, "%s%.9s session%s for %.12s", script,
                 UNITS_COUNT(sessions), plural, duration);
    } else if (transactions > 0) {
        snprintf(text, REPORT_WORDS_BYTES, "%s%.9s session%s, %.20s transactions", script,
                 UNITS_COUNT(sessions), plural, UNITS_COUNT((uint64_t)transactions));
    } else {
        snprintf(text, REPORT_WORDS_BYTES, "%.20s session%s, %.20s rows", UNITS_COUNT(sessions),
                 plural, UNITS_COUNT(count_of(run, "records")));
    }
    return text;
}

const char *report_size(const struct saved_run *run, char text[REPORT_WORDS_BYTES])
{
    double sessions = 0, records = 0;
    char left[REPORT_WORDS_BYTES], right[REPORT_WORDS_BYTES], duration[UNITS_TEXT_BYTES];
    saved_run_figure(run, "sessions", &sessions);
    saved_run_figure(run, "records", &records);
    if (run->is_unfinished) {
        return memcpy(text, "unfinished", sizeof "unfinished");
    }
    snprintf(text, REPORT_WORDS_BYTES, "%.20s × %.30s", report_format_count(sessions, left),
             duration_of(run, duration) ? duration : report_format_count(records, right));
    return text;
}

const char *report_escape(const char *text, char escaped[REPORT_ESCAPED_BYTES])
{
    static const char *const escapes[] = {"&&amp;", "<&lt;", ">&gt;", "\"&quot;", "'&#39;"};
    char copy[REPORT_ESCAPED_BYTES / 4], clean[REPORT_ESCAPED_BYTES / 4];
    size_t used = 0;
    snprintf(copy, sizeof copy, "%s", text == NULL ? "" : text);
    for (char *at = strpbrk(copy, "\t\r\n"); at != NULL; at = strpbrk(at, "\t\r\n")) {
        *at = ' '; /* a query may have lines */
    }
    text_clean_line(clean, sizeof clean, copy, sizeof clean);
    for (const char *at = clean; *at != '\0' && used + 8 < REPORT_ESCAPED_BYTES; at++) {
        const char *piece = NULL;
        for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
            piece = escapes[i][0] == *at ? escapes[i] + 1 : piece;
        }
        used += (size_t)snprintf(escaped + used, REPORT_ESCAPED_BYTES - used, "%.*s",
                                 piece == NULL ? 1 : 6, piece == NULL ? at : piece);
    }
    escaped[used] = '\0';
    return escaped;
}
