#include "chart/run_words.h"

#include <math.h>
#include <stdio.h>

#include "base/mono.h"
#include "base/units.h"
#include "chart/axis.h"

#define UNKNOWN "–"

const struct run_words_figure run_words_figures[RUN_WORDS_FIGURES] = {
    {"max_cpu_percent", "Maximum CPU", "%", "% of all CPUs", "max-cpu"},
    {"max_memory_mib", "Maximum memory", "MiB", "MiB", "max-memory"},
    {"elapsed_s", "Elapsed time", "s", "s", "elapsed"},
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

static bool duration_of(const struct saved_run *run, char text[UNITS_TEXT_BYTES])
{
    const json_t *duration = saved_run_json(run, "plan.duration_s");
    const double seconds = json_number_value(duration);
    if (!json_is_number(duration) || !(seconds >= 0 && seconds < 1e9)) {
        return false;
    }
    units_format_seconds((uint64_t)llround(seconds), text);
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

const char *run_words_ms(const json_t *ms, char text[RUN_WORDS_BYTES])
{
    const double ns = json_number_value(ms) * (double)MONO_NS_PER_MS;
    char number[UNITS_TEXT_BYTES] = UNKNOWN;
    if (json_is_number(ms) && ns >= 0 && ns < 9e18) {
        units_format_ns((int64_t)llround(ns), number);
    }
    snprintf(text, RUN_WORDS_BYTES, "%s", number);
    return text;
}
