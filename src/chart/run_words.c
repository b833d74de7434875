#include "chart/run_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "base/units.h"
#include "chart/axis.h"

#define UNKNOWN "–"

const struct run_words_figure run_words_figures[RUN_WORDS_FIGURES] = {
    {"max_cpu_percent", "Maximum CPU", "%", "% of all CPUs", "max-cpu"},
    {"max_memory_mib", "Maximum memory", "MiB", "memory, MiB", "max-memory"},
    {"elapsed_s", "Elapsed time", "s", "elapsed time, s", "elapsed"},
    {"throughput_rows_per_s", "Throughput", "rows/s", "rows/s", "throughput"},
};

const char *run_words_count(double value, char text[RUN_WORDS_BYTES])
{
    static const char *const units[] = {"", "k", "M", "G"};
    size_t unit = 0;
    while (value >= 1000 && unit < 3) {
        value /= 1000;
        unit++;
    }
    snprintf(text, RUN_WORDS_BYTES, "%.4g%s", value, units[unit]);
    return text;
}

/* Of a run that was not for a number of rows. */
static bool duration_of(const struct saved_run *run, char text[UNITS_TEXT_BYTES])
{
    double records;
    if (saved_run_figure(run, "records", &records)) {
        return false;
    }
    const json_t *duration = saved_run_json(run, "plan.duration_s");
    const double seconds = json_number_value(duration);
    if (!json_is_number(duration) || !(seconds >= 0 && seconds < 1e9)) {
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

const char *run_words_size(const struct saved_run *run, char text[RUN_WORDS_BYTES])
{
    double sessions = 0, records = 0;
    char left[RUN_WORDS_BYTES], right[RUN_WORDS_BYTES], duration[UNITS_TEXT_BYTES];
    saved_run_figure(run, "sessions", &sessions);
    saved_run_figure(run, "records", &records);
    run_words_count(sessions, left);
    snprintf(text, RUN_WORDS_BYTES, "%.20s × %.30s", left,
             duration_of(run, duration) ? duration : run_words_count(records, right));
    return text;
}

const char *run_words_title(const struct saved_run *run, char text[RUN_WORDS_BYTES])
{
    if (run->is_search) {
        const double held = json_number_value(saved_run_json(run, "search.held"));
        char number[AXIS_NUMBER_BYTES];
        snprintf(text, RUN_WORDS_BYTES, "find-max: %.20s session%s held",
                 axis_format(held, 0, number), held == 1 ? "" : "s");
        return text;
    }
    double sessions = 0, records = 0;
    char left[AXIS_NUMBER_BYTES], right[AXIS_NUMBER_BYTES], duration[UNITS_TEXT_BYTES];
    saved_run_figure(run, "sessions", &sessions);
    saved_run_figure(run, "records", &records);
    axis_format(sessions, 0, left);
    const char *plural = sessions == 1 ? "" : "s";
    if (duration_of(run, duration)) {
        snprintf(text, RUN_WORDS_BYTES, "%.20s session%s for %.20s", left, plural, duration);
    } else {
        snprintf(text, RUN_WORDS_BYTES, "%.20s session%s, %.20s rows", left, plural,
                 axis_format(records, 0, right));
    }
    return text;
}

const char *run_words_value(const struct saved_run *run, const char *column,
                            char text[RUN_WORDS_BYTES])
{
    double value;
    char number[AXIS_NUMBER_BYTES];
    const bool is_known = saved_run_figure(run, column, &value);
    snprintf(text, RUN_WORDS_BYTES, "%s", is_known ? axis_format_value(value, number) : UNKNOWN);
    return text;
}

static const char *format_time(const json_t *value, double unit_ns, char text[RUN_WORDS_BYTES])
{
    const double ns = json_number_value(value) * unit_ns;
    char number[UNITS_TEXT_BYTES] = UNKNOWN;
    if (json_is_number(value) && ns >= 0 && ns < 9e18) {
        units_format_ns((int64_t)llround(ns), number);
    }
    snprintf(text, RUN_WORDS_BYTES, "%s", number);
    return text;
}

const char *run_words_ms(const json_t *ms, char text[RUN_WORDS_BYTES])
{
    return format_time(ms, (double)MONO_NS_PER_MS, text);
}

const char *run_words_s(const json_t *s, char text[RUN_WORDS_BYTES])
{
    return format_time(s, (double)MONO_NS_PER_S, text);
}

const char *run_words_started(const struct saved_run *run, char text[RUN_WORDS_BYTES])
{
    const char *utc = saved_run_text(run, "started_utc");
    const size_t day = strcspn(utc, "T");
    text[0] = '\0';
    if (utc[day] == 'T') {
        snprintf(text, RUN_WORDS_BYTES, "%.*s %.8s UTC", (int)(day < 12 ? day : 12), utc,
                 utc + day + 1);
    }
    return text;
}
