#include "chart/axis.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/units.h"

enum {
    TICKS_UP = 4, /* wanted */
    TICKS_ACROSS = 5,
    DECIMALS_MAX = 9
};
#define COUNT_MAX 1e15 /* beyond, digits say nothing */

const char *axis_format(double value, int decimals, char text[AXIS_NUMBER_BYTES])
{
    if (decimals <= 0 && value >= 1000 && value < COUNT_MAX) {
        units_format_count((uint64_t)llround(value), text);
    } else if (fabs(value) >= COUNT_MAX) {
        snprintf(text, AXIS_NUMBER_BYTES, "%.3g", value);
    } else {
        snprintf(text, AXIS_NUMBER_BYTES, "%.*f", decimals < 0 ? 0 : decimals, value);
    }
    return text;
}

const char *axis_format_value(double value, char text[AXIS_NUMBER_BYTES])
{
    if (value == 0 || fabs(value) >= 99.95) {
        return axis_format(value, 0, text);
    }
    snprintf(text, AXIS_NUMBER_BYTES, fabs(value) >= 1 ? "%#.3g" : "%.3g", value);
    return text;
}

void axis_add_tick(struct chart_axis *axis, double at, const char *label)
{
    if (axis->tick_count < CHART_TICKS_MAX) {
        struct chart_tick *tick = &axis->ticks[axis->tick_count++];
        tick->at = at;
        snprintf(tick->label, sizeof tick->label, "%s", label);
    }
}

static double round_step(double span, int ticks)
{
    const double rough = span / ticks;
    const double power = pow(10, floor(log10(rough)));
    const double lead = rough / power;
    return power * (lead < 1.5 ? 1 : lead < 3 ? 2 : lead < 7 ? 5 : 10);
}

static void add_ticks(struct chart_axis *axis, double step)
{
    const int decimals = (int)ceil(-log10(step) - 1e-9);
    axis->tick_count = 0;
    const double first = ceil(axis->low / step - 1e-9);
    for (int i = 0; i < CHART_TICKS_MAX && (first + i) * step <= axis->high + step * 1e-6; i++) {
        char text[AXIS_NUMBER_BYTES];
        const double at = (first + i) * step;
        axis_add_tick(axis, at, axis_format(at, decimals, text));
    }
}

void axis_fit_from_zero(struct chart_axis *axis, double high)
{
    const double span = high > 0 ? high : 1;
    const double step = round_step(span, TICKS_UP);
    axis->scale = CHART_LINEAR;
    axis->low = 0;
    axis->high = step * ceil(span / step - 1e-9);
    if (axis->high < span * 1.02) {
        axis->high += step / 2; /* a line is not to run along the border */
    }
    add_ticks(axis, step);
}

void axis_fit_span(struct chart_axis *axis, double low, double high)
{
    axis->scale = CHART_LINEAR;
    axis->low = low;
    axis->high = high > low ? high : low + 1;
    add_ticks(axis, round_step(axis->high - axis->low, TICKS_ACROSS));
}

/* Ticks at 1, 2 and 5 times the powers of ten, or at those alone, or at every second of them. */
static void add_log_ticks(struct chart_axis *axis)
{
    const double decades = log10(axis->high / axis->low);
    const int every = decades > 7 ? 2 : 1;
    const int last = (int)ceil(log10(axis->high) - 1e-9);
    axis->tick_count = 0;
    for (int power = (int)floor(log10(axis->low) + 1e-9); power <= last; power += every) {
        static const double leads[] = {1, 2, 5};
        for (size_t i = 0; i < (decades <= 2.5 ? 3 : 1); i++) {
            const double at = leads[i] * pow(10, power);
            if (at >= axis->low * (1 - 1e-9) && at <= axis->high * (1 + 1e-9)) {
                char text[AXIS_NUMBER_BYTES];
                axis_add_tick(axis, at, axis_format(at, -power, text));
            }
        }
    }
}

void axis_fit_log(struct chart_axis *axis, double low, double high)
{
    const double low_power = pow(10, floor(log10(low)));
    const double low_lead = low / low_power;
    const double high_power = pow(10, floor(log10(high)));
    const double high_lead = high / high_power;
    axis->scale = CHART_LOG;
    axis->low = low_power * (low_lead >= 5 ? 5 : low_lead >= 2 ? 2 : 1);
    axis->high = high_power * (high_lead <= 1 ? 1 : high_lead <= 2 ? 2 : high_lead <= 5 ? 5 : 10);
    if (axis->high <= axis->low) {
        axis->high = axis->low * 10;
    }
    add_log_ticks(axis);
}

void axis_fit_log_time(struct chart_axis *axis, double low_ms, double high_ms)
{
    static const struct {
        double ms;
        const char *name;
    } units[] = {{1000, "s"}, {1, "ms"}, {1e-3, "us"}, {1e-6, "ns"}};
    axis_fit_log(axis, low_ms, high_ms);
    for (size_t i = 0; i < axis->tick_count; i++) {
        struct chart_tick *tick = &axis->ticks[i];
        size_t unit = 0;
        while (unit < 3 && tick->at < units[unit].ms * 0.999) {
            unit++;
        }
        snprintf(tick->label, sizeof tick->label, "%.4g %s", tick->at / units[unit].ms,
                 units[unit].name);
    }
}

void axis_fit_percentile(struct chart_axis *axis, double count)
{
    axis->scale = CHART_PERCENTILE;
    axis->low = 1;
    axis->high = count < 10 ? 10 : count;
    axis->tick_count = 0;
    axis_add_tick(axis, 2, "50");
    axis_add_tick(axis, 10, "90");
    const int every = axis->high >= 1e7 ? 2 : 1;
    for (int nines = 2; pow(10, nines) <= axis->high * (1 + 1e-9) && nines <= DECIMALS_MAX;
         nines += every) {
        char label[AXIS_NUMBER_BYTES];
        snprintf(label, sizeof label, "%.*f", nines - 2, 100 - pow(10, 2 - nines));
        axis_add_tick(axis, pow(10, nines), label);
    }
}
