/*
 * Draws charts with gnuplot, as text or as PNG. gnuplot reads a script with the points from its
 * standard input, without a shell and without the user's start-up files. In texts from outside, all
 * characters except letters, digits and some harmless signs are written as octal codes.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/child.h"
#include "base/mono.h"
#include "base/text.h"
#include "report/report.h"

enum {
    TIMEOUT_S = 120,
    TEXT_LINES = 20,
    PNG_WIDTH = 1200,
    PNG_HEIGHT = 640,
    LINE_BYTES = 1024,
    QUOTED_BYTES = 4 * CHART_TEXT_BYTES + 8,
};

/* Writes a text in quotes for gnuplot. Characters that mean something to gnuplot become octal
 * codes. */
static const char *quote(const char *text, char quoted[QUOTED_BYTES])
{
    static const char plain[] = " ,-./0123456789:=ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrs"
                                "tuvwxyz";
    size_t used = (size_t)snprintf(quoted, QUOTED_BYTES, "\"");
    for (const char *at = text; *at != '\0' && used + 8 < QUOTED_BYTES; at++) {
        used += (size_t)snprintf(quoted + used, QUOTED_BYTES - used,
                                 strchr(plain, *at) != NULL ? "%c" : "\\%03o", (unsigned char)*at);
    }
    snprintf(quoted + used, QUOTED_BYTES - used, "\"");
    return quoted;
}

/* Returns the quoted text. The result is valid to the end of the block. */
#define QUOTED(text) quote((text), (char[QUOTED_BYTES]){0})

/* Adds gnuplot's commands for the terminal, the size and the style. `columns` is the width of a
 * chart as text, or 0 for a PNG. The colours are Okabe and Ito's, which people with any colour
 * vision can distinguish. */
static void add_style(struct buffer *script, const struct chart *chart, unsigned columns)
{
    static const char *const colors[CHART_SERIES_MAX] = {
        "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#666666",
    };
    const unsigned bars = chart->across == CHART_OVER_RUNS ? (unsigned)chart->end : 0;
    const unsigned height = bars > 0 ? 39 * bars + 160 : PNG_HEIGHT;
    if (columns > 0) {
        buffer_add_format(script, "set terminal dumb mono noenhanced size %u,%u\n", columns,
                          bars > 0 ? 2 * bars + 6 : TEXT_LINES);
    } else {
        buffer_add_format(script,
                          "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) {set terminal pngcairo "
                          "size %d,%u noenhanced rounded font 'sans,13' linewidth 1.5} else {set "
                          "terminal png size %d,%u noenhanced font 'sans,13'}\nset title %s font "
                          "'sans,16'; set ylabel %s; set grid\n",
                          PNG_WIDTH, height, PNG_WIDTH, height, QUOTED(chart->title),
                          QUOTED(bars > 0 ? "" : chart->label));
    }
    for (size_t i = 0; i < CHART_SERIES_MAX; i++) {
        buffer_add_format(script, "set linetype %zu lc rgb '%s' lw 2 pt 7\n", i + 1, colors[i]);
    }
    buffer_add_text(script,
                    "set encoding utf8; set key tmargin right horizontal samplen 1.5 width 2\n"
                    "set border 3; set tics nomirror; set style fill solid 0.85 noborder\n");
}

/* Returns the label of a time axis whose unit is `unit_s` seconds long. */
static const char *label_time(double unit_s)
{
    if (unit_s > 60) {
        return "time since the start, h";
    }
    return unit_s > 1 ? "time since the start, min" : "time since the start, s";
}

/* Adds the axes and the marks of events. `unit_s` is the number of seconds in a unit of a time
 * axis, or 1 for other axes. */
static void add_axes(struct buffer *script, const struct chart *chart, double unit_s)
{
    const char *const across[] = {
        label_time(unit_s), "share of calls, %", "share of the sessions, %",
        "sessions",         chart->label,        "rows in the tables"};
    buffer_add_format(script, "set xlabel %s; %s\n", QUOTED(across[chart->across]),
                      chart->is_log ? "set logscale y" : "set yrange [0:*]");
    if (chart->across == CHART_OVER_TIME || chart->across == CHART_OVER_SHARE ||
        chart->across == CHART_OVER_ROWS) {
        buffer_add_format(script, "set xrange [0:%g]\n", chart->end / unit_s);
    } else if (chart->across == CHART_OVER_PERCENTILE) {
        buffer_add_text(script, "set logscale x; set xtics ('50' 2, '90' 10");
        for (int nines = 2; pow(10, nines) <= chart->end && nines <= 9; nines++) {
            buffer_add_format(script, ", '%.*f' %g", nines - 2, 100 - pow(10, 2 - nines),
                              pow(10, nines));
        }
        buffer_add_text(script, ")\n");
    } else if (chart->across == CHART_OVER_RUNS) {
        buffer_add_format(script, "set xrange [0:*]; set yrange [%g:-0.6]; set ytics (",
                          chart->end - 0.4);
        for (size_t i = 0; i < (size_t)chart->end; i++) {
            buffer_add_format(script, "%s%s %zu", i == 0 ? "" : ", ", QUOTED(chart->runs[i].label),
                              i);
        }
        buffer_add_text(script, ")\n");
    }
    for (size_t i = 0; i < chart->mark_count; i++) {
        const double at = chart->marks[i].at / unit_s;
        buffer_add_format(script,
                          "set arrow from %.10g, graph 0 to %.10g, graph 1 nohead back dt 3 lc rgb "
                          "'#b42318'; set label '%zu' at %.10g, graph 0.955 offset character "
                          "0.4,0 tc rgb '#b42318'\n",
                          at, at, i + 1, at);
    }
}

/* Adds each line as a block of data (from, to, y, lowest, highest, y as text), and the command that
 * plots the lines. */
static void add_curves(struct buffer *script, const struct chart *chart, bool is_text,
                       double unit_s)
{
    for (size_t i = 0; i < chart->series_count; i++) {
        buffer_add_format(script, "$s%zu << END\n", i + 1);
        for (size_t j = 0; j < chart->series[i].count; j++) {
            const struct chart_point *point = &chart->series[i].points[j];
            if (isfinite(point->y)) {
                buffer_add_format(script, "%.10g %.10g %.10g %.10g %.10g %s\n",
                                  point->from / unit_s, point->to / unit_s, point->y, point->lowest,
                                  point->highest, REPORT_NUMBER(point->y));
            } else {
                buffer_add_text(script, "\n"); /* a gap in the line */
            }
        }
        buffer_add_text(script, "END\n");
    }
    for (size_t i = 1; i <= chart->series_count; i++) {
        buffer_add_text(script, i == 1 ? "plot " : ", ");
        if (chart->across == CHART_OVER_RUNS) {
            buffer_add_format(script,
                              "$s1 using %s lt 1 notitle, $s1 using 3:1:6 with labels left offset "
                              "character 1,0",
                              is_text ? "(0):1:3:(0) with vectors nohead"
                                      : "(0):1:(0):3:($1-0.32):($1+0.32) with boxxyerror");
        } else if (chart->across == CHART_OVER_SESSIONS) {
            buffer_add_format(script,
                              "$s%zu using 1:4:(0):($5-$4) with vectors nohead lt %zu notitle, "
                              "$s%zu using 1:3 with %s lt %zu",
                              i, i, i, is_text ? "lines" : "linespoints", i);
        } else {
            /* draws horizontal lines, and vertical lines between two horizontal lines. gnuplot's
             * "steps" leaves out the last horizontal line, and "fsteps" the first. */
            buffer_add_format(script,
                              "$s%zu using 1:3:($2-$1):(0) with vectors nohead lt %zu notitle, "
                              "$s%zu using 1:3 with steps lt %zu notitle, $s%zu using 2:3 with "
                              "fsteps lt %zu",
                              i, i, i, i, i, i);
        }
        buffer_add_format(script, " title %s",
                          QUOTED(chart->series_count > 1 ? chart->series[i - 1].name : ""));
    }
    buffer_add_text(script, "\n");
}

void plot_add(struct buffer *drawing, const struct chart *chart, unsigned columns,
              struct error *error)
{
    static const char *const argv[] = {"gnuplot", "-d", "-", NULL};
    const bool is_time = chart->across == CHART_OVER_TIME;
    const double unit_of_long_s = chart->end >= 3 * 3600 ? 3600 : 60;
    const double unit_s = is_time && chart->end >= 300 ? unit_of_long_s : 1;
    if (error_is_set(error)) {
        return;
    }
    struct buffer script = {0};
    struct child_output child = {.end.code = -1};
    enum child_result result = CHILD_FAILED;
    add_style(&script, chart, columns);
    add_axes(&script, chart, unit_s);
    add_curves(&script, chart, columns > 0, unit_s);
    FILE *file = tmpfile();
    if (file != NULL && fwrite(script.bytes, 1, script.length, file) == script.length &&
        fflush(file) == 0 && fseek(file, 0, SEEK_SET) == 0) {
        result = child_run(&child, argv, fileno(file), TIMEOUT_S * MONO_NS_PER_S);
    }
    if (result == CHILD_NOT_FOUND) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "--text and --png need gnuplot, which is not installed: install the package "
                  "gnuplot-nox, or use the page, which does not need gnuplot");
    } else if (result == CHILD_TIMED_OUT) {
        error_set(error, ERROR_TIMEOUT, 0, NULL, "gnuplot did not finish in %d s and was ended",
                  TIMEOUT_S);
    } else if (result == CHILD_KILLED) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "gnuplot was ended by signal %d",
                  child.end.signal);
    } else if (result != CHILD_EXITED) {
        error_set(error, ERROR_SYSTEM, errno, NULL, "gnuplot cannot be started: %s",
                  strerror(errno));
    } else if (child.end.code != 0 || child.out.length == 0) {
        /* gnuplot's message follows the last "line N: " */
        const char *said = buffer_text(&child.err);
        for (const char *at = said; (at = strstr(at, "line ")) != NULL;) {
            at += strlen("line ");
            const size_t digits = strspn(at, "0123456789");
            said = digits > 0 && strncmp(at + digits, ": ", 2) == 0 ? at + digits + 2 : said;
        }
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "gnuplot failed: %.*s",
                  (int)strcspn(said, "\n"), said);
    }
    buffer_add(drawing, buffer_text(&child.out), child.out.length);
    drawing->has_failed |= script.has_failed;
    child_output_fini(&child);
    buffer_fini(&script);
    if (file != NULL) {
        fclose(file);
    }
}

static void add_line(struct buffer *text, unsigned columns, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a line, cut at the width of the terminal and without control characters. */
static void add_line(struct buffer *text, unsigned columns, const char *format, ...)
{
    char line[LINE_BYTES], clean[LINE_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    text_clean_line(clean, sizeof clean, line, columns);
    buffer_add_format(text, "%s\n", clean);
}

static void add_charts(struct buffer *text, const struct report *report, struct chart_range range,
                       unsigned columns, struct error *error)
{
    for (size_t i = range.first; i < range.first + range.count && !error_is_set(error); i++) {
        const struct chart *chart = &report->charts.entries[i];
        const bool is_bars = chart->across == CHART_OVER_RUNS;
        struct buffer drawing = {0};
        /* the title also names the y axis, because a terminal cannot show vertical text */
        buffer_add_text(text, "\n");
        add_line(text, columns, "%s%s%s%s", chart->title, is_bars ? "" : ": ",
                 is_bars ? "" : chart->label, chart->is_log ? " (log scale)" : "");
        if (chart->note[0] != '\0') {
            add_line(text, columns, "%s", chart->note);
        }
        plot_add(&drawing, chart, columns, error);
        text->has_failed |= drawing.has_failed;
        /* adds the drawing without blanks at the ends of lines, and without empty lines before and
         * after it */
        char *rest = drawing.has_failed ? NULL : drawing.bytes;
        size_t blank = 0;
        for (bool has_begun = false; rest != NULL;) {
            char *line = strsep(&rest, "\n");
            line += *line == '\f' ? 1 : 0;
            size_t length = strlen(line);
            while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\f')) {
                length--;
            }
            blank = length > 0 || !has_begun ? blank : blank + 1;
            has_begun |= length > 0;
            for (; length > 0 && blank > 0; blank--) {
                buffer_add_text(text, "\n");
            }
            if (length > 0) {
                buffer_add_format(text, "%.*s\n", (int)length, line);
            }
        }
        buffer_fini(&drawing);
    }
}

/* Adds the verdict, figures and charts of a run. Also adds the first events, which the charts show
 * as marks, and a note about unreadable events. */
static void add_run(struct buffer *text, const struct report *report, const struct report_run *run,
                    unsigned columns, struct error *error)
{
    char words[REPORT_WORDS_BYTES];
    const struct figure *figure;
    const struct event_list *events = &run->events;
    const char *note = run->events_error[0] != '\0' ? run->events_error : events->note;
    add_line(text, columns, "%s, %s", report_title(&run->run, words),
             saved_run_text(&run->run, "target"));
    add_line(text, columns, "%s: %s", saved_run_text(&run->run, "verdict"),
             saved_run_text(&run->run, "verdict_reason"));
    const bool is_scripted = report_is_scripted(&run->run);
    for (size_t i = 0; (figure = report_headline(i, is_scripted)) != NULL; i++) {
        if (figure == &figure_table[FIGURE_THROUGHPUT_ROWS_PER_S] && is_scripted &&
            run->run.figures.values[FIGURE_ROWS_ACKNOWLEDGED].count == 0) {
            continue;
        }
        add_line(text, columns, "%-16s%12s%s", figure->label, REPORT_VALUE(&run->run, figure->key),
                 figure_unit(figure->key));
    }
    add_charts(text, report, run->charts, columns, error);
    if (run->absent.length > 0) {
        buffer_add_text(text, "\n");
        add_line(text, columns, "%s", buffer_text(&run->absent));
    }
    for (size_t i = 0; i < events->count && i < CHART_MARKS_MAX; i++) {
        add_line(text, columns, "%s%4zu %9.1f s  %s", i == 0 ? "Events" : "      ", i + 1,
                 (double)events->entries[i].at_ns / (double)MONO_NS_PER_S, events->entries[i].text);
    }
    if (events->count > CHART_MARKS_MAX) {
        add_line(text, columns, "       %zu more: see events.csv", events->count - CHART_MARKS_MAX);
    }
    if (note[0] != '\0') {
        add_line(text, columns, "Events    %s", note);
    }
}

enum status report_add_text(struct buffer *text, const struct report *report, unsigned columns,
                            struct error *error)
{
    static const struct {
        enum figure_id id;
        int width;
        const char *title;
    } shown[] = {{FIGURE_MAX_CPU_PERCENT, 7, "CPU, %"},
                 {FIGURE_MAX_MEMORY_MIB, 9, "MiB"},
                 {FIGURE_ELAPSED_S, 10, "elapsed, s"},
                 {FIGURE_THROUGHPUT_ROWS_PER_S, 11, "rows/s"},
                 {FIGURE_TRANSACTIONS_PER_S, 9, "trans./s"}};
    const size_t columns_shown = COUNT_OF(shown) - (report_has_script(report) ? 0 : 1);
    char line[LINE_BYTES];
    for (size_t i = 0; i < report->sweep_count; i++) {
        add_line(text, columns, "%s", report->sweeps[i].sweep.folder);
        add_charts(text, report, report->sweeps[i].charts, columns, error);
        buffer_add_text(text, "\n");
    }
    add_charts(text, report, report->overview, columns, error);
    if (!report->has_run_charts) { /* the report has a line for each run instead of charts */
        buffer_add_text(text, "\n");
        int used = snprintf(line, sizeof line, "%-*s %-9s", REPORT_LABEL_COLUMNS, "run", "verdict");
        for (size_t f = 0; f < columns_shown; f++) {
            used += snprintf(line + used, sizeof line - (size_t)used, " %*s", shown[f].width,
                             shown[f].title);
        }
        add_line(text, columns, "%s", line);
        for (size_t i = 0; i < report->run_count; i++) {
            const struct report_run *run = &report->runs[i];
            const int padding = REPORT_LABEL_COLUMNS - (int)text_width(run->label);
            used = snprintf(line, sizeof line, "%s%*s %-9.20s", run->label, padding, "",
                            saved_run_text(&run->run, "verdict"));
            for (size_t f = 0; f < columns_shown; f++) {
                used += snprintf(line + used, sizeof line - (size_t)used, " %*s", shown[f].width,
                                 REPORT_VALUE(&run->run, figure_table[shown[f].id].key));
            }
            add_line(text, columns, "%s", line);
        }
        add_line(text, columns, "--all also draws the charts of each run.");
    }
    for (size_t i = 0; i < report->run_count && report->has_run_charts; i++) {
        buffer_add_text(text, i > 0 || report->overview.count > 0 ? "\n\n" : "");
        add_run(text, report, &report->runs[i], columns, error);
    }
    if (buffer_failed(text)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the report");
    }
    return error_is_set(error) ? STATUS_REJECTED : STATUS_OK;
}
