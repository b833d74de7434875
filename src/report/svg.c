/*
 * A chart as SVG. The page's style sheet (page.css) has the colours, fonts and lines.
 *
 * The curves are an inner <svg> whose coordinates are the values (their logarithms on a logarithmic
 * axis). So page.js can read the values from the paths, and can zoom by changing the viewBox.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/report.h"

enum {
    WIDTH = 460, /* width of the drawing, in the drawing's own units */
    HEIGHT = 255,
    TOP = 12,
    TOP_WITH_MARKS = 24,
    BOTTOM = 44,
    RIGHT = 14,
    CHARACTER = 8, /* largest width of a character in a label */
    BAR_HEIGHT = 26,
    BAR_VALUE = 80, /* width of the space for the value at the end of a bar */
    TICKS_MAX = 48,
    TICKS_UP = 4, /* approximate number of ticks on the y axis */
    TICKS_ACROSS = 5,
    NINES_MAX = 9,
    SESSIONS_LOG_RATIO = 12,
    MARK_CHARACTERS = 24, /* longest text of an event beside its number */
};

/* The smallest step between two ticks: smaller than any value in the files. */
#define STEP_LEAST 1e-12

struct tick {
    double at;
    char label[REPORT_WORDS_BYTES];
};

struct axis {
    double low, high;
    bool is_log;
    struct tick ticks[TICKS_MAX];
    size_t count;
};

struct drawing {
    struct buffer *html;
    const struct chart *chart;
    struct axis x, y;
    double left, top, width, height; /* position and size of the area of the curves */
};

static void add_tick(struct axis *axis, double at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add_tick(struct axis *axis, double at, const char *format, ...)
{
    if (axis->count < TICKS_MAX) {
        struct tick *tick = &axis->ticks[axis->count++];
        va_list list;
        tick->at = at;
        va_start(list, format);
        vsnprintf(tick->label, sizeof tick->label, format, list);
        va_end(list);
    }
}

/* Adds a tick for a time in ms, labelled in the unit that gives the fewest digits. */
static void add_ms_tick(struct axis *axis, double ms)
{
    static const struct {
        double ms;
        const char *name;
    } units[] = {{1000, " s"}, {1, " ms"}, {1e-3, " us"}, {1e-6, " ns"}};
    size_t i = 0;
    while (i < 3 && ms < units[i].ms * 0.999) {
        i++;
    }
    add_tick(axis, ms, "%.4g%s", ms / units[i].ms, ms > 0 ? units[i].name : "");
}

/* Returns a step of 1, 2 or 5 times a power of ten, at least STEP_LEAST. */
static double round_step(double rough)
{
    static const struct {
        double below, step;
    } leads[] = {{1.5, 1}, {3, 2}, {7, 5}, {INFINITY, 10}};
    rough = fmax(rough, STEP_LEAST);
    const double power = pow(10, floor(log10(rough)));
    size_t i = 0;
    while (rough / power >= leads[i].below) {
        i++;
    }
    return power * leads[i].step;
}

/* Makes an axis from 0 to `high`. */
static void fit_linear(struct axis *axis, double high, double step, bool is_ms)
{
    const int decimals = (int)ceil(-log10(step) - 1e-9);
    axis->high = high;
    for (int i = 0; i * step <= high + step * 1e-6 && i < TICKS_MAX; i++) {
        const double at = i * step;
        if (is_ms) {
            add_ms_tick(axis, at);
        } else if (decimals > 0 || at < 1000) {
            add_tick(axis, at, "%.*f", decimals < 0 ? 0 : decimals, at);
        } else if (at < 1e15) {
            add_tick(axis, at, "%s", UNITS_COUNT((uint64_t)llround(at)));
        } else {
            add_tick(axis, at, "%.3g", at);
        }
    }
}

/* Makes the x axis. A time axis shorter than five minutes shows seconds (12, 0.5); a longer time
 * axis shows times as on a clock (7:30, 1:05:00). page.js does the same when it zooms. */
static void fit_across(struct axis *axis, const struct chart *chart)
{
    static const int steps[] = {60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200};
    const double end = chart->end;
    if (chart->across == CHART_OVER_ROWS || (chart->across == CHART_OVER_TIME && end < 300)) {
        fit_linear(axis, end, round_step(end / TICKS_ACROSS), false);
    } else if (chart->across == CHART_OVER_TIME) {
        size_t i = 0;
        while (i + 1 < sizeof steps / sizeof steps[0] && end / steps[i] > TICKS_ACROSS + 1) {
            i++;
        }
        const int64_t step =
            end / steps[i] <= TICKS_MAX ? steps[i] : (int64_t)(end / TICKS_MAX) + 1;
        axis->high = end;
        for (int64_t at = 0; (double)at <= end; at += step) {
            const int seconds = (int)(at % 60), minutes = (int)(at / 60 % 60);
            if (end < 3600) {
                add_tick(axis, (double)at, "%d:%02d", minutes, seconds);
            } else {
                add_tick(axis, (double)at, "%" PRId64 ":%02d:%02d", at / 3600, minutes, seconds);
            }
        }
    } else if (chart->across == CHART_OVER_SHARE) {
        fit_linear(axis, end, 20, false);
    } else if (chart->across == CHART_OVER_PERCENTILE) {
        *axis = (struct axis){.is_log = true, .low = 1, .high = end};
        add_tick(axis, 2, "50");
        for (int nines = 1; pow(10, nines) <= end * (1 + 1e-9) && nines <= NINES_MAX; nines++) {
            add_tick(axis, pow(10, nines), "%.*f", nines > 2 ? nines - 2 : 0,
                     100 - pow(10, 2 - nines));
        }
    } else if (chart->across == CHART_OVER_SESSIONS) {
        /* the axis has a tick at each number of sessions; add_axes leaves out labels without
         * room */
        double low = 1, high = 1;
        double next = 0;
        while (axis->count < TICKS_MAX && isfinite(next)) {
            const double last = next;
            next = INFINITY;
            for (size_t i = 0; i < chart->series_count; i++) {
                for (size_t j = 0; j < chart->series[i].count; j++) {
                    const double at = chart->series[i].points[j].from;
                    next = at > last && at < next ? at : next;
                }
            }
            if (isfinite(next)) {
                low = axis->count == 0 ? next : low;
                high = next;
                add_tick(axis, next, "%s",
                         report_format_count(next, (char[REPORT_WORDS_BYTES]){0}));
            }
        }
        axis->is_log = high / low >= SESSIONS_LOG_RATIO;
        axis->low = axis->is_log ? low * 0.9 : 0;
        axis->high = axis->is_log ? high * 1.1 : high * 1.05;
    }
}

/* Returns the highest of 1, 2, 5 and 10 that is not above `value` or, with `is_up`, the lowest that
 * is not below `value`. */
static double round_lead(double value, bool is_up)
{
    static const double leads[] = {1, 2, 5, 10};
    double lower = leads[0];
    for (size_t i = 0; i < COUNT_OF(leads); i++) {
        if (is_up && value <= leads[i]) {
            return leads[i];
        }
        lower = value >= leads[i] ? leads[i] : lower;
    }
    return is_up ? leads[COUNT_OF(leads) - 1] : lower;
}

/* Makes the y axis. A linear axis goes from 0 to above the highest value, so that lines do not
 * touch the border. */
static void fit_values(struct axis *axis, const struct chart *chart)
{
    double low, high;
    chart_span(chart, &low, &high);
    low = fmax(low, STEP_LEAST);
    const double top = high > 0 ? high : 1, step = round_step(top / TICKS_UP);
    const double last = step * ceil(top / step - 1e-9);
    if (chart->is_log && low <= high) {
        /* the axis shows times in ms. A short axis has ticks at 1, 2 and 5 times the powers of ten,
         * a longer axis at the powers of ten, and the longest at every second power of ten. */
        static const double leads[] = {1, 2, 5};
        const int first = (int)floor(log10(low));
        const double low_power = pow(10, first), high_power = pow(10, floor(log10(high)));
        const double from = low / low_power, to = high / high_power;
        axis->is_log = true;
        axis->low = low_power * fmin(5, round_lead(from, false));
        axis->high = high_power * round_lead(to, true);
        axis->high = axis->high > axis->low ? axis->high : axis->low * 10;
        const double decades = log10(axis->high / axis->low);
        for (int power = first; power <= first + (int)decades + 1; power += decades > 7 ? 2 : 1) {
            for (size_t i = 0; i < (decades <= 2.5 ? 3 : 1); i++) {
                const double at = leads[i] * pow(10, power);
                if (at >= axis->low * (1 - 1e-9) && at <= axis->high * (1 + 1e-9)) {
                    add_ms_tick(axis, at);
                }
            }
        }
    } else if (strcmp(chart->unit, "%") == 0 &&
               (chart->across == CHART_OVER_TIME || chart->across == CHART_OVER_ROWS)) {
        fit_linear(axis, 105, 20, false); /* a line at 100 % stays below the border */
    } else {
        fit_linear(axis, last < top * 1.02 ? last + step / 2 : last, step,
                   strcmp(chart->unit, "ms") == 0);
    }
}

static double coordinate(const struct axis *axis, double value)
{
    return axis->is_log ? log10(fmax(value, 1e-9)) : value;
}

/* Returns the position of a value on the axis, from 0 at the low end to 1 at the high end. */
static double share(const struct axis *axis, double at)
{
    const double low = coordinate(axis, axis->low), high = coordinate(axis, axis->high);
    return (coordinate(axis, at) - low) / (high - low);
}

static double x_of(const struct drawing *drawing, double at)
{
    return drawing->left + drawing->width * share(&drawing->x, at);
}

/* Returns whether there is room for a label of the x axis. *end is the end of the previous label.
 * If there is room, sets *end to the end of the new label. */
static bool has_room(double center, const char *label, double *end)
{
    const double half = (double)strlen(label) * CHARACTER / 2;
    if (center - half < *end) {
        return false;
    }
    *end = center + half + CHARACTER / 2.0;
    return true;
}

/* Adds the axes with ticks and labels. Labels of latencies include their units. */
static void add_axes(const struct drawing *drawing, int height)
{
    static const char *const across[] = {
        "time since the start", "share of calls, %", "share of the sessions, %", "sessions", NULL,
        "rows in the tables"};
    struct buffer *html = drawing->html;
    const struct chart *chart = drawing->chart;
    const bool is_bars = chart->across == CHART_OVER_RUNS;
    const double bottom = drawing->top + drawing->height, right = drawing->left + drawing->width;
    double end = 0;
    buffer_add_text(html, "<g class=\"y\">");
    for (size_t i = 0; i < drawing->y.count; i++) {
        const struct tick *tick = &drawing->y.ticks[i];
        const double y = drawing->top + drawing->height * (1 - share(&drawing->y, tick->at));
        buffer_add_format(html, "<path d=\"M%g %.1fH%g\"/><text x=\"%g\" y=\"%.1f\">%s</text>",
                          drawing->left, y, right, drawing->left - 7, y + 4.5, tick->label);
    }
    buffer_add_text(html, "</g><g class=\"x\">");
    for (size_t i = 0; i < drawing->x.count; i++) {
        const struct tick *tick = &drawing->x.ticks[i];
        const double x = x_of(drawing, tick->at);
        buffer_add_format(html, "<path d=\"M%.1f %gV%g\"/>", x, drawing->top, bottom);
        /* keeps the last label inside the drawing */
        const double middle = fmin(x, WIDTH - (double)strlen(tick->label) * CHARACTER / 2);
        if (has_room(middle, tick->label, &end)) {
            buffer_add_format(html, "<text x=\"%.1f\" y=\"%g\">%s</text>", middle, bottom + 17,
                              tick->label);
        }
    }
    buffer_add_format(html,
                      "</g><path class=\"frame\" d=\"M%g %gV%gH%g\"/>"
                      "<text class=\"label\" x=\"%g\" y=\"%d\">%s%s</text>",
                      drawing->left, drawing->top, bottom, right,
                      drawing->left + drawing->width / 2, height - 6,
                      is_bars ? chart->label : across[chart->across],
                      chart->across == CHART_OVER_TIME && chart->end < 300 ? ", s" : "");
    if (!is_bars) {
        buffer_add_format(
            html, "<text class=\"label\" transform=\"translate(13 %g) rotate(-90)\">%s%s</text>",
            drawing->top + drawing->height / 2,
            strcmp(chart->unit, "ms") == 0 ? "latency" : chart->label,
            chart->is_log ? " (log scale)" : "");
    }
}

/* Adds the path of a line of horizontal steps: M x y, then V y and H x for each step. The path of a
 * filled line begins and ends on the axis. */
static void add_levels(const struct drawing *drawing, const struct chart_series *series)
{
    struct buffer *html = drawing->html;
    const bool is_filled = drawing->chart->is_filled;
    bool is_open = false;
    double x = NAN, y = NAN;
    for (size_t i = 0; i < series->count; i++) {
        const struct chart_point *point = &series->points[i];
        const double from = coordinate(&drawing->x, point->from);
        if (is_open && (!isfinite(point->y) || fabs(from - x) > 1e-9 * fabs(x))) {
            buffer_add_text(html, is_filled ? "V0" : "");
            is_open = false;
        }
        if (!isfinite(point->y)) {
            continue;
        }
        const double level = coordinate(&drawing->y, point->y);
        if (!is_open) {
            buffer_add_format(html, is_filled ? "M%.6g 0V%.6g" : "M%.6g %.6g", from, level);
        } else if (level < y || level > y) {
            buffer_add_format(html, "V%.6g", level);
        }
        x = coordinate(&drawing->x, point->to);
        y = level;
        is_open = true;
        buffer_add_format(html, "H%.6g", x);
    }
    buffer_add_text(html, is_open && is_filled ? "V0" : "");
}

/* Adds the number of each mark above the curves. If there is room, also adds the text of the event.
 * The <title> of the mark always has the text. */
static void add_mark_labels(const struct drawing *drawing)
{
    const struct chart *chart = drawing->chart;
    double end = 0;
    for (size_t i = 0; i < chart->mark_count; i++) {
        char number[24], clean[REPORT_WORDS_BYTES], label[sizeof number + sizeof clean];
        const double x = x_of(drawing, chart->marks[i].at);
        const double next =
            i + 1 < chart->mark_count ? x_of(drawing, chart->marks[i + 1].at) - CHARACTER : WIDTH;
        snprintf(number, sizeof number, "%zu", i + 1);
        text_clean_line(clean, sizeof clean, chart->marks[i].text, MARK_CHARACTERS);
        snprintf(label, sizeof label, "%s %s", number, clean);
        const double half = (double)text_width(label) * CHARACTER / 2;
        const bool is_long = x - half >= end && x + half <= next;
        if (is_long) {
            end = x + half + CHARACTER / 2.0;
        }
        if (is_long || has_room(x, number, &end)) {
            buffer_add_format(drawing->html,
                              "<text class=\"mark\" data-at=\"%g\" x=\"%.1f\" y=\"%g\">%s<title>%s"
                              "</title></text>",
                              chart->marks[i].at, x, drawing->top - 6,
                              REPORT_ESCAPED(is_long ? label : number),
                              REPORT_ESCAPED(chart->marks[i].text));
        }
    }
}

/* Adds the curves in an inner <svg> with its own coordinates. The lines of the marks are added
 * first, so that the curves are drawn on top of these lines. */
static void add_curves(const struct drawing *drawing)
{
    struct buffer *html = drawing->html;
    const struct chart *chart = drawing->chart;
    const double low = coordinate(&drawing->x, drawing->x.low);
    const double bottom = coordinate(&drawing->y, drawing->y.low);
    const double top = coordinate(&drawing->y, drawing->y.high);
    buffer_add_format(html,
                      "<svg class=\"plot\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" viewBox=\""
                      "%.9g %.9g %.9g %.9g\" preserveAspectRatio=\"none\"><g transform=\"scale(1 "
                      "-1)\">",
                      drawing->left, drawing->top, drawing->width, drawing->height, low, -top,
                      coordinate(&drawing->x, drawing->x.high) - low, top - bottom);
    for (size_t i = 0; i < chart->mark_count; i++) {
        buffer_add_format(html, "%sM%g %.6gV%.6g%s", i == 0 ? "<path class=\"mark\" d=\"" : "",
                          chart->marks[i].at, bottom, top,
                          i + 1 == chart->mark_count ? "\"/>" : "");
    }
    for (size_t i = 0; i < chart->series_count; i++) {
        const bool is_stack = chart->is_filled && chart->series_count > 1;
        buffer_add_format(html, "<g class=\"s%zu\"><path class=\"line%s%s\" d=\"", i + 1,
                          chart->is_filled ? " area" : "", is_stack ? " stack-area" : "");
        const struct chart_series *series = &chart->series[i];
        if (chart->across != CHART_OVER_SESSIONS) {
            add_levels(drawing, series);
        }
        /* draws a line from point to point, a dot at each point, and a bar from the lowest to the
         * highest value of each point */
        for (size_t j = 0; j < 3 * series->count && chart->across == CHART_OVER_SESSIONS; j++) {
            const size_t part = j / series->count, at = j % series->count;
            const struct chart_point *point = &series->points[at];
            const double y = coordinate(&drawing->y, part == 2 ? point->lowest : point->y);
            if (part > 0 && at == 0) {
                buffer_add_format(html, "\"/><path class=\"%s\" d=\"", part == 1 ? "dots" : "line");
            }
            buffer_add_format(html, "%c%.6g %.6g", part == 0 && at > 0 ? 'L' : 'M',
                              coordinate(&drawing->x, point->from), y);
            if (part == 1) {
                buffer_add_text(html, "h0");
            } else if (part == 2) {
                buffer_add_format(html, "V%.6g", coordinate(&drawing->y, point->highest));
            }
        }
        buffer_add_text(html, "\"/></g>");
    }
    buffer_add_text(html, "</g></svg>");
    add_mark_labels(drawing);
}

/* Adds a horizontal bar for each run, with the run's name and value. */
static void add_bars(const struct drawing *drawing)
{
    const struct chart_series *series = &drawing->chart->series[0];
    for (size_t i = 0; i < (size_t)drawing->chart->end; i++) {
        buffer_add_format(drawing->html, "<text class=\"name\" x=\"%g\" y=\"%g\">%s</text>",
                          drawing->left - 7, drawing->top + BAR_HEIGHT * ((double)i + 0.5) + 4.5,
                          REPORT_ESCAPED(drawing->chart->runs[i].label));
    }
    for (size_t i = 0; i < series->count; i++) {
        const double y = drawing->top + BAR_HEIGHT * series->points[i].from;
        const double end = x_of(drawing, series->points[i].y);
        buffer_add_format(drawing->html,
                          "<rect x=\"%g\" y=\"%g\" width=\"%.1f\" height=\"%d\"/>"
                          "<text class=\"value\" x=\"%.1f\" y=\"%g\">%s</text>",
                          drawing->left, y + 4, end - drawing->left, BAR_HEIGHT - 8, end + 6,
                          y + BAR_HEIGHT / 2.0 + 4.5, REPORT_NUMBER(series->points[i].y));
    }
}

void svg_add_chart(struct buffer *html, const struct chart *chart, size_t number)
{
    static const char *const across[] = {"time", "percentile", "share", "sessions", "runs", "rows"};
    const bool is_bars = chart->across == CHART_OVER_RUNS;
    struct drawing *drawing = calloc(1, sizeof *drawing);
    if (drawing == NULL) {
        html->has_failed = true;
        return;
    }
    drawing->html = html;
    drawing->chart = chart;
    size_t names = 0; /* longest label of the y axis, in bytes */
    fit_values(is_bars ? &drawing->x : &drawing->y, chart);
    for (size_t i = 0; i < (is_bars ? (size_t)chart->end : drawing->y.count); i++) {
        const size_t length = strlen(is_bars ? chart->runs[i].label : drawing->y.ticks[i].label);
        names = length > names ? length : names;
    }
    fit_across(&drawing->x, chart);
    const int height = is_bars ? BAR_HEIGHT * (int)chart->end + TOP + BOTTOM : HEIGHT;
    drawing->left = (is_bars ? 12 : 28) + CHARACTER * (double)names;
    drawing->top = chart->mark_count > 0 ? TOP_WITH_MARKS : TOP;
    drawing->width = WIDTH - RIGHT - drawing->left - (is_bars ? BAR_VALUE : 0);
    drawing->height = height - BOTTOM - drawing->top;
    /* adds the caption, and a description for screen readers: the range of each line */
    buffer_add_format(html,
                      "<figure data-across=\"%s\" data-unit=\"%s\" data-log=\"%s%s\"><figcaption>"
                      "<b id=\"c%zu\">%s</b><span class=\"legend\">",
                      across[chart->across], chart->unit, drawing->x.is_log ? "x" : "",
                      drawing->y.is_log ? "y" : "", number, REPORT_ESCAPED(chart->title));
    for (size_t i = 0; i < chart->series_count && chart->series_count > 1; i++) {
        buffer_add_format(html,
                          "<button type=\"button\" class=\"key s%zu\" aria-pressed=\"true\" "
                          "disabled>%s</button>",
                          i + 1, REPORT_ESCAPED(chart->series[i].name));
    }
    buffer_add_text(html, "</span></figcaption>\n");
    if (chart->note[0] != '\0') {
        buffer_add_format(html, "<p>%s</p>\n", REPORT_ESCAPED(chart->note));
    }
    buffer_add_format(html,
                      "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"c%zu\" "
                      "aria-describedby=\"d%zu\"><desc id=\"d%zu\">",
                      WIDTH, height, number, number, number);
    for (size_t i = 0; i < chart->series_count; i++) {
        const struct chart_series *series = &chart->series[i];
        double low = INFINITY, high = -INFINITY;
        for (size_t j = 0; j < series->count; j++) {
            low = fmin(low, series->points[j].y);
            high = fmax(high, series->points[j].y);
        }
        buffer_add_format(html, "%s%s from %s to %s %s", i > 0 ? "; " : "",
                          REPORT_ESCAPED(series->name), REPORT_NUMBER(low), REPORT_NUMBER(high),
                          chart->unit);
    }
    buffer_add_text(html, "</desc>");
    add_axes(drawing, height);
    if (is_bars) {
        add_bars(drawing);
    } else {
        add_curves(drawing);
    }
    buffer_add_text(html, "</svg></figure>\n");
    free(drawing);
}
