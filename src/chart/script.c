#include "chart/script.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "chart/axis.h"

enum {
    SVG_WIDTH = 460,
    SVG_HEIGHT = 255,
    PNG_WIDTH = 1200,
    PNG_HEIGHT = 640,
    TEXT_LINES = 20,
    BAR_HEIGHT = 26, /* of a bar and its gap; in text one line and a blank */
};

struct pen {
    struct buffer *script;
    const struct chart *chart;
    enum chart_terminal terminal;
    unsigned columns;
};

/* Okabe and Ito's, which people with any colour vision tell apart. */
static const char *const png_series[CHART_SERIES_MAX] = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#666666",
};

static void add_color(const struct pen *pen, unsigned ink)
{
    const char *png = ink == SCRIPT_INK_TEXT   ? "#1f2933"
                      : ink == SCRIPT_INK_AXIS ? "#7b8794"
                      : ink == SCRIPT_INK_GRID ? "#e4e7eb"
                      : ink == SCRIPT_INK_MARK
                          ? "#b42318"
                          : png_series[(ink - SCRIPT_INK_SERIES) % CHART_SERIES_MAX];
    if (pen->terminal == TERMINAL_PNG) {
        buffer_add_format(pen->script, " rgb '%s'", png);
    } else {
        buffer_add_format(pen->script, " rgb '#0000%02x'", ink);
    }
}

/* `percent`: what stands for a '%', which is a format in the labels of ticks. */
static void add_quoted(struct buffer *script, const char *text, const char *percent)
{
    buffer_add_text(script, "'");
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\'') {
            buffer_add_text(script, "''");
        } else if (*at == '%') {
            buffer_add_text(script, percent);
        } else {
            buffer_add(script, (unsigned char)*at < ' ' || *at == 0x7f ? " " : at, 1);
        }
    }
    buffer_add_text(script, "'");
}

void script_add_quoted(struct buffer *script, const char *text)
{
    add_quoted(script, text, "%");
}

/* Bars need room by their number. */
static unsigned height_of(const struct pen *pen)
{
    const unsigned bars = (unsigned)pen->chart->y.tick_count;
    switch (pen->terminal) {
    case TERMINAL_TEXT:
        return pen->chart->is_bars ? 2 * bars + 6 : TEXT_LINES;
    case TERMINAL_PNG:
        return pen->chart->is_bars ? 3 * BAR_HEIGHT * bars / 2 + 160 : PNG_HEIGHT;
    case TERMINAL_SVG:
        break;
    }
    return pen->chart->is_bars ? BAR_HEIGHT * bars + 80 : SVG_HEIGHT;
}

static void add_terminal(const struct pen *pen)
{
    struct buffer *script = pen->script;
    const unsigned height = height_of(pen);
    buffer_add_text(script, "reset\nset encoding utf8\n");
    switch (pen->terminal) {
    case TERMINAL_SVG:
        buffer_add_format(script,
                          "set terminal svg size %d,%u dynamic noenhanced rounded"
                          " font 'sans,14'\n",
                          SVG_WIDTH, height);
        break;
    case TERMINAL_PNG:
        buffer_add_format(script,
                          "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) {\n"
                          "set terminal pngcairo size %d,%u noenhanced rounded font 'sans,13'"
                          " linewidth 1.5\n"
                          "} else {\n"
                          "set terminal png size %d,%u noenhanced font 'sans,13'\n"
                          "}\n",
                          PNG_WIDTH, height, PNG_WIDTH, height);
        buffer_add_text(script, "set title ");
        script_add_quoted(script, pen->chart->title);
        buffer_add_text(script, " font 'sans,16' tc");
        add_color(pen, SCRIPT_INK_TEXT);
        buffer_add_text(script, "\n");
        break;
    case TERMINAL_TEXT:
        buffer_add_format(script, "set terminal dumb mono noenhanced size %u,%u\n", pen->columns,
                          height);
        break;
    }
}

/* Where on the axis a value stands: 0 at its low end, 1 at its high one. */
static double share_of(const struct chart_axis *axis, double at)
{
    const bool is_log = axis->scale == CHART_LOG || axis->scale == CHART_PERCENTILE;
    return is_log ? log(at / axis->low) / log(axis->high / axis->low)
                  : (at - axis->low) / (axis->high - axis->low);
}

/* Characters side by side below a chart, at the size of its labels. */
static double characters_across(const struct pen *pen)
{
    size_t names = 0; /* beside it take their part */
    for (size_t i = 0; pen->chart->is_bars && i < pen->chart->y.tick_count; i++) {
        const size_t length = strlen(pen->chart->y.ticks[i].label);
        names = length > names ? length : names;
    }
    const double across = pen->terminal == TERMINAL_SVG   ? 48
                          : pen->terminal == TERMINAL_PNG ? 130
                                                          : 0.85 * pen->columns;
    return across - (double)names;
}

/* Of a mark or the label of a tick, both centred: whether it would stand on the one before it,
 * which ends at *end; where it does not, *end becomes its own. */
static bool is_in_the_way(const struct pen *pen, double at, size_t length, double *end)
{
    const double across = characters_across(pen);
    const double center = share_of(&pen->chart->x, at) * across;
    if (center - (double)length / 2 < *end + 0.5) {
        return true;
    }
    *end = center + (double)length / 2;
    return false;
}

/* Every how many-th tick across can have its label. */
static size_t label_stride(const struct pen *pen)
{
    const struct chart_axis *axis = &pen->chart->x;
    for (size_t stride = 1; stride <= axis->tick_count; stride++) {
        double end = -INFINITY;
        bool is_free = true;
        for (size_t i = 0; i < axis->tick_count && is_free; i += stride) {
            is_free = !is_in_the_way(pen, axis->ticks[i].at, strlen(axis->ticks[i].label), &end);
        }
        if (is_free) {
            return stride;
        }
    }
    return axis->tick_count + 1; /* the first alone */
}

static void add_ticks(const struct pen *pen, const struct chart_axis *axis, char letter)
{
    struct buffer *script = pen->script;
    const size_t stride = letter == 'x' ? label_stride(pen) : 1;
    buffer_add_format(script, "set %ctics nomirror scale 0.4,0 tc", letter);
    add_color(pen, SCRIPT_INK_TEXT);
    buffer_add_text(script, " (");
    for (size_t i = 0; i < axis->tick_count; i++) {
        buffer_add_text(script, i == 0 ? "" : ",");
        add_quoted(script, i % stride == 0 ? axis->ticks[i].label : "", "%%");
        buffer_add_format(script, " %.10g", axis->ticks[i].at);
    }
    buffer_add_text(script, ")\n");
}

static void add_axis(const struct pen *pen, const struct chart_axis *axis, char letter)
{
    struct buffer *script = pen->script;
    const bool is_log = axis->scale == CHART_LOG || axis->scale == CHART_PERCENTILE;
    if (axis->scale == CHART_NAMES) {
        /* the first name on top */
        buffer_add_format(script, "set %crange [%zu.5:-0.5]\n", letter, axis->tick_count - 1);
    } else {
        /* a tick at the very end of a logarithmic axis is not drawn otherwise */
        const double slack = is_log ? 1e-4 : 0;
        buffer_add_format(script, "set %crange [%.10g:%.10g] noextend\n", letter,
                          axis->low * (1 - slack), axis->high * (1 + slack));
    }
    if (is_log) {
        buffer_add_format(script, "set logscale %c\n", letter);
    }
    add_ticks(pen, axis, letter);
    if (axis->scale != CHART_NAMES) {
        if (pen->terminal != TERMINAL_TEXT) {
            buffer_add_format(script, "set grid %ctics lt 1 lw 1 lc", letter);
            add_color(pen, SCRIPT_INK_GRID);
            buffer_add_text(script, "\n");
        }
        buffer_add_format(script, "set %clabel ", letter);
        script_add_quoted(script, axis->label);
        buffer_add_text(script, " tc");
        add_color(pen, SCRIPT_INK_TEXT);
        buffer_add_text(script, "\n");
    }
}

/* Room for the half of the last label that stands beyond the axis, in characters. */
static double right_margin(const struct chart_axis *axis)
{
    if (axis->tick_count == 0) {
        return 1.6;
    }
    const struct chart_tick *last = &axis->ticks[axis->tick_count - 1];
    return share_of(axis, last->at) < 0.94 ? 1.6 : 1.2 + 0.5 * (double)strlen(last->label);
}

static void add_marks(const struct pen *pen)
{
    struct buffer *script = pen->script;
    double end = -INFINITY;
    for (size_t i = 0; i < pen->chart->mark_count; i++) {
        const struct chart_mark *mark = &pen->chart->marks[i];
        buffer_add_format(script,
                          "set arrow from %.10g, graph 0 to %.10g, graph 1 nohead back dt 3 lw 1.5"
                          " lc",
                          mark->x, mark->x);
        add_color(pen, SCRIPT_INK_MARK);
        char number[12];
        const int length = snprintf(number, sizeof number, "%u", mark->number);
        if (is_in_the_way(pen, mark->x, (size_t)length, &end)) {
            buffer_add_text(script, "\n");
            continue;
        }
        /* above the lines where no key is in the way */
        buffer_add_format(script, "\nset label '%s' at %.10g, graph %s tc", number, mark->x,
                          pen->terminal == TERMINAL_SVG ? "1 center offset character 0,0.6"
                                                        : "0.955 offset character 0.4,0");
        add_color(pen, SCRIPT_INK_MARK);
        buffer_add_text(script, "\n");
    }
}

static void add_data(const struct pen *pen)
{
    struct buffer *script = pen->script;
    for (size_t i = 0; i < pen->chart->series_count; i++) {
        const struct chart_series *series = &pen->chart->series[i];
        buffer_add_format(script, "$s%zu << EOD\n", i);
        for (size_t point = 0; point < series->count; point++) {
            const struct chart_point *at = &series->points[point];
            if (isfinite(at->y) && pen->chart->is_bars) {
                char value[AXIS_NUMBER_BYTES];
                buffer_add_format(script, "%.7g %.6g \"%s\"\n", at->x, at->y,
                                  axis_format_value(at->x, value));
            } else if (isfinite(at->y) && series->has_dots) {
                buffer_add_format(script, "%.7g %.6g %.6g %.6g\n", at->x, at->y, at->lowest,
                                  at->highest);
            } else if (isfinite(at->y)) {
                buffer_add_format(script, "%.7g %.6g\n", at->x, at->y);
            } else {
                buffer_add_text(script, "\n"); /* ends a line: the next point begins another */
            }
        }
        buffer_add_text(script, "EOD\n");
    }
}

static void add_bars(const struct pen *pen)
{
    struct buffer *script = pen->script;
    if (pen->terminal == TERMINAL_TEXT) {
        buffer_add_text(script, "plot $s0 using (0):2:1:(0) with vectors nohead notitle");
    } else {
        buffer_add_text(script,
                        "set style fill solid 0.85 noborder\n"
                        "plot $s0 using (0):2:(0):1:($2-0.32):($2+0.32) with boxxyerror lc");
        add_color(pen, SCRIPT_INK_SERIES);
        buffer_add_text(script, " notitle");
    }
    buffer_add_text(script, ", $s0 using 1:2:(stringcolumn(3)) with labels left offset"
                            " character 0.6,0 tc");
    add_color(pen, SCRIPT_INK_TEXT);
    buffer_add_text(script, " notitle\n");
}

static bool has_spread(const struct chart_series *series)
{
    for (size_t i = 0; i < series->count; i++) {
        if (series->has_dots && series->points[i].lowest < series->points[i].highest) {
            return true;
        }
    }
    return false;
}

static void add_lines(const struct pen *pen)
{
    struct buffer *script = pen->script;
    const bool is_text = pen->terminal == TERMINAL_TEXT;
    const char *separator = "plot ";
    for (size_t i = 0; i < pen->chart->series_count; i++) {
        const struct chart_series *series = &pen->chart->series[i];
        if (series->count == 0) {
            continue;
        }
        if (series->is_filled && !is_text && pen->chart->y.scale == CHART_LINEAR) {
            buffer_add_format(script,
                              "%s$s%zu using 1:2 with filledcurves y1=0 fs transparent solid 0.16"
                              " noborder lc",
                              separator, i);
            add_color(pen, SCRIPT_INK_SERIES + (unsigned)i);
            buffer_add_text(script, " notitle");
            separator = ", ";
        }
        if (has_spread(series) && !is_text) {
            buffer_add_format(script, "%s$s%zu using 1:2:3:4 with yerrorbars pt 0 lw 1.5 lc",
                              separator, i);
            add_color(pen, SCRIPT_INK_SERIES + (unsigned)i);
            buffer_add_text(script, " notitle");
            separator = ", ";
        }
        buffer_add_format(script, "%s$s%zu using 1:2 with %s", separator, i,
                          series->has_dots && !is_text ? "linespoints pt 7 ps 0.6" : "lines");
        separator = ", ";
        buffer_add_text(script, is_text ? " lc" : " lw 2 lc");
        add_color(pen, SCRIPT_INK_SERIES + (unsigned)i);
        buffer_add_text(script, " title ");
        script_add_quoted(script, series->name);
    }
    buffer_add_text(script, "\n");
}

void script_add_chart(struct buffer *script, const struct chart *chart,
                      enum chart_terminal terminal, unsigned columns)
{
    const struct pen pen = {
        .script = script,
        .chart = chart,
        .terminal = terminal,
        .columns = columns < SCRIPT_COLUMNS_MIN ? SCRIPT_COLUMNS_MIN : columns,
    };
    add_terminal(&pen);
    buffer_add_text(script, "set border 3 lc");
    add_color(&pen, SCRIPT_INK_AXIS);
    buffer_add_text(script, "\nset key tmargin right horizontal samplen 1.5 tc");
    add_color(&pen, SCRIPT_INK_TEXT);
    const bool has_key = chart->series_count > 1 && terminal != TERMINAL_SVG; /* the page has it */
    buffer_add_text(script, has_key ? "\n" : "\nset key off\n");
    if (has_key && terminal == TERMINAL_TEXT) {
        buffer_add_text(script, "set key width 2\n"); /* names next to lines of others else */
    }
    if (terminal == TERMINAL_SVG) {
        /* room is dear on a phone */
        buffer_add_text(script, "set xtics offset 0,0.4\nset xlabel offset 0,0.8\n"
                                "set ylabel offset 0.6,0\n");
        buffer_add_format(script, "set tmargin %.1f\nset rmargin %.1f\n",
                          chart->mark_count > 0 ? 1.5 : 0.8, right_margin(&chart->x));
    }
    add_axis(&pen, &chart->x, 'x');
    add_axis(&pen, &chart->y, 'y');
    add_marks(&pen);
    add_data(&pen);
    if (terminal != TERMINAL_PNG) {
        buffer_add_format(script, "set print '-'\nprint \"\\%03o\"\n", SCRIPT_SEPARATOR);
    }
    if (chart->is_bars) {
        add_bars(&pen);
    } else {
        add_lines(&pen);
    }
}
