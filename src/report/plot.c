/*
 * Charts by gnuplot, as text and as PNG. It reads the files of the runs itself; a script says which
 * columns. No shell, no start-up files of the user, and of texts and paths of others nothing but
 * letters and digits stands in the script as it is.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
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
    QUOTED_BYTES = 4 * (SAVED_RUN_PATH_BYTES + CHART_TEXT_BYTES) + 8,
};

struct pen {
    struct buffer *script;
    const struct chart *chart;
    bool is_text;  /* else a picture */
    double unit_s; /* of the time across */
};

/* In quotes: all that might be more to gnuplot than text is written by its code. */
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

/* A file as gnuplot opens it: a name that begins with '<' would be a command. */
static const char *quote_file(const char *folder, const char *name, char quoted[QUOTED_BYTES])
{
    char path[SAVED_RUN_PATH_BYTES + CHART_TEXT_BYTES];
    snprintf(path, sizeof path, "%s%s/%.60s", folder[0] == '/' ? "" : "./", folder, name);
    return quote(path, quoted);
}

/* Texts valid to the end of the block: for arguments of a format. */
#define QUOTED(text) quote((text), (char[QUOTED_BYTES]){0})
#define QUOTED_FILE(folder, name) quote_file((folder), (name), (char[QUOTED_BYTES]){0})

/* The drawing's size and looks. Colours are Okabe and Ito's, which people with any colour vision
 * tell apart. */
static void add_looks(const struct pen *pen, unsigned columns)
{
    static const char *const colors[CHART_SERIES_MAX] = {
        "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#666666",
    };
    const struct chart *chart = pen->chart;
    const unsigned bars = chart->across == CHART_OVER_RUNS ? (unsigned)chart->end : 0;
    const unsigned height = bars > 0 ? 39 * bars + 160 : PNG_HEIGHT;
    if (pen->is_text) {
        buffer_add_format(pen->script, "set terminal dumb mono noenhanced size %u,%u; ", columns,
                          bars > 0 ? 2 * bars + 6 : TEXT_LINES);
    } else {
        buffer_add_format(pen->script,
                          "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) {set terminal pngcairo "
                          "size %d,%u noenhanced rounded font 'sans,13' linewidth 1.5} else {set "
                          "terminal png size %d,%u noenhanced font 'sans,13'}; set title %s font "
                          "'sans,16'; set ylabel %s; set grid; ",
                          PNG_WIDTH, height, PNG_WIDTH, height, QUOTED(chart->title),
                          QUOTED(bars > 0 ? "" : chart->label));
    }
    for (size_t i = 0; i < CHART_SERIES_MAX; i++) {
        buffer_add_format(pen->script, "set linetype %zu lc rgb '%s' lw 2 pt 7; ", i + 1,
                          colors[i]);
    }
    buffer_add_text(pen->script,
                    "set encoding utf8; set key tmargin right horizontal samplen 1.5 width 2; set "
                    "border 3; set tics nomirror; set style fill solid 0.85 noborder; set datafile "
                    "separator ','; set datafile missing NaN; set datafile columnheaders; ");
}

static void add_axes(const struct pen *pen)
{
    const struct chart *chart = pen->chart;
    struct buffer *script = pen->script;
    const char *const across[] = {pen->unit_s > 60  ? "time since the start, h"
                                  : pen->unit_s > 1 ? "time since the start, min"
                                                    : "time since the start, s",
                                  "share of calls, %", "share of the sessions, %", "sessions",
                                  chart->label};
    buffer_add_format(script, "set xlabel %s; %s", QUOTED(across[chart->across]),
                      chart->is_log ? "set logscale y; " : "set yrange [0:*]; ");
    switch (chart->across) {
    case CHART_OVER_TIME:
        buffer_add_format(script, "set xrange [0:%g]; ", chart->end / pen->unit_s);
        break;
    case CHART_OVER_PERCENTILE:
        buffer_add_text(script, "unset datafile; set datafile separator whitespace; "
                                "set logscale x; set xtics ('50' 2, '90' 10");
        for (int nines = 2; pow(10, nines) <= chart->end && nines <= 9; nines++) {
            buffer_add_format(script, ", '%.*f' %g", nines - 2, 100 - pow(10, 2 - nines),
                              pow(10, nines));
        }
        buffer_add_text(script, "); ");
        break;
    case CHART_OVER_RUNS:
        buffer_add_format(script, "set xrange [0:*]; set yrange [%g:-0.6]; set ytics (",
                          chart->end - 0.4);
        for (size_t i = 0; i < (size_t)chart->end; i++) {
            buffer_add_format(script, "%s%s %zu", i == 0 ? "" : ", ", QUOTED(chart->runs[i].label),
                              i);
        }
        buffer_add_text(script, "); ");
        break;
    case CHART_OVER_SHARE:
    case CHART_OVER_SESSIONS:
        break;
    }
}

static void add_marks(const struct pen *pen)
{
    const struct event_list *events = pen->chart->events;
    for (size_t i = 0; events != NULL && i < events->count && i < CHART_MARKS_MAX; i++) {
        const double at_s = (double)events->entries[i].at_ns / (double)MONO_NS_PER_S;
        const double at = at_s / pen->unit_s;
        if (at_s <= pen->chart->end) {
            buffer_add_format(pen->script,
                              "set arrow from %.10g, graph 0 to %.10g, graph 1 nohead back dt 3 lc "
                              "rgb '#b42318'; set label '%zu' at %.10g, graph 0.955 offset "
                              "character 0.4,0 tc rgb '#b42318'; ",
                              at, at, i + 1, at);
        }
    }
}

/* Bars to the right with their values. */
static void add_bars(const struct pen *pen)
{
    const struct chart_series *series = &pen->chart->series[0];
    for (size_t i = 0; i < series->count; i++) {
        const int at = (int)series->points[i].from;
        const struct saved_run *run = &pen->chart->runs[at].run;
        char value[REPORT_WORDS_BYTES], bar[64];
        snprintf(bar, sizeof bar, "(%d-0.32):(%d+0.32) with boxxyerror", at, at);
        buffer_add_format(pen->script,
                          "%s%s using (0):(%d)%s:%zu:%s lt 1 notitle, '+' every ::0::0 using "
                          "(%.10g):(%d):(%s) with labels left offset character 1,0 notitle",
                          i == 0 ? "plot " : ", ", QUOTED_FILE(run->folder, pen->chart->file), at,
                          pen->is_text ? "" : ":(0)",
                          csv_table_column(&run->summary, pen->chart->figure->key) + 1,
                          pen->is_text ? "(0) with vectors nohead" : bar, series->points[i].y, at,
                          QUOTED(report_format(series->points[i].y, value)));
    }
}

/* Those rows of a search or of a sweep that the curve is made of; of a sweep with several runs of
 * a size, the runs are dots beside it. */
static void add_curve(const struct pen *pen, const struct chart_series *series, const char *value,
                      size_t line)
{
    static const char *const which[][2] = {
        {"state", "done"}, {"statistic", "median"}, {"outcome", "held"}};
    const size_t first = series->records <= 0 ? 2 : 0;
    const size_t last = first == 0 && pen->chart->is_median ? 1 : first;
    for (size_t row = first; row <= last; row++) {
        char records[64] = "";
        if (series->records > 0) {
            snprintf(records, sizeof records, " && column('records') == %.0f", series->records);
        }
        buffer_add_format(pen->script,
                          "%s using (strcol('%s') eq '%s'%s ? column('sessions') : NaN):%s %s lt "
                          "%zu%s",
                          QUOTED_FILE(series->folder, pen->chart->file), which[row][0],
                          which[row][1], records, value,
                          row < last     ? "with points"
                          : pen->is_text ? "smooth unique with lines"
                                         : "smooth unique with linespoints",
                          line, row < last ? " notitle, " : "");
    }
}

static void add_curves(const struct pen *pen)
{
    const struct chart *chart = pen->chart;
    struct buffer *script = pen->script;
    for (size_t i = 0; i < chart->series_count; i++) {
        const struct chart_series *series = &chart->series[i];
        const char *file =
            QUOTED_FILE(series->folder, series->file[0] == '\0' ? chart->file : series->file);
        const char *begin = i == 0 ? "plot " : ", ";
        char value[64];
        snprintf(value, sizeof value, "(column(%zu)*%.10g)", series->place + 1, chart->factor);
        switch (chart->across) {
        case CHART_OVER_TIME:
            /* Levels, and what leads from one to the next. Steps leave out the last level, and from
             * the other side the first. */
            buffer_add_format(script,
                              "%s%s using (column('start_s')/%g):%s:((column('end_s')-column("
                              "'start_s'))/%g):(0) with vectors nohead lt %zu notitle, %s using "
                              "(column('start_s')/%g):%s with steps lt %zu notitle, %s using "
                              "(column('end_s')/%g):%s with fsteps lt %zu",
                              begin, file, pen->unit_s, value, pen->unit_s, i + 1, file,
                              pen->unit_s, value, i + 1, file, pen->unit_s, value, i + 1);
            break;
        case CHART_OVER_PERCENTILE:
            buffer_add_format(script,
                              "%s%s skip 2 using (valid(4) ? column(4) : column(3)):1 with steps "
                              "lt %zu",
                              begin, file, i + 1);
            break;
        case CHART_OVER_SHARE:
            buffer_add_format(script,
                              "set table $sorted; plot %s using %s:(1) smooth cnormal; unset "
                              "table; unset datafile; set datafile separator whitespace; set "
                              "xrange [0:100]; plot $sorted using (column(2)*100):1 with lines lt "
                              "1",
                              file, value);
            break;
        case CHART_OVER_SESSIONS:
            buffer_add_text(script, begin);
            add_curve(pen, series, value, i + 1);
            break;
        case CHART_OVER_RUNS:
            break;
        }
        buffer_add_format(script, " title %s", QUOTED(chart->series_count > 1 ? series->name : ""));
    }
}

/* What gnuplot said last: it stands below the script and where that went wrong. */
static void refuse(struct error *error, const char *said)
{
    for (const char *at = said; (at = strstr(at, "line 0: ")) != NULL;) {
        at += strlen("line 0: ");
        said = at;
    }
    error_set(error, ERROR_UNSUPPORTED, 0, NULL, "gnuplot failed: %.*s", (int)strcspn(said, "\n"),
              said);
}

/* `columns`: 0 for a picture. */
static enum status draw(struct buffer *drawing, const struct chart *chart, unsigned columns,
                        struct error *error)
{
    struct buffer script;
    struct child_output child;
    buffer_init(&script);
    const struct pen pen = {&script, chart, columns > 0,
                            chart->end >= 3 * 3600 ? 3600
                            : chart->end >= 300    ? 60
                                                   : 1};
    add_looks(&pen, columns);
    add_axes(&pen);
    add_marks(&pen);
    if (chart->across == CHART_OVER_RUNS) {
        add_bars(&pen);
    } else {
        add_curves(&pen);
    }
    const char *const argv[] = {"gnuplot", "-d", "-e", buffer_text(&script), NULL};
    const enum child_result result = child_run(&child, argv, TIMEOUT_S * MONO_NS_PER_S);
    if (result == CHILD_NOT_FOUND) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "--text and --png draw with gnuplot, which is not installed (package "
                  "gnuplot-nox); the page of append report needs none");
    } else if (result == CHILD_TIMED_OUT) {
        error_set(error, ERROR_TIMEOUT, 0, NULL, "gnuplot was ended after %d s", TIMEOUT_S);
    } else if (result == CHILD_KILLED) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "gnuplot was ended by signal %d",
                  child.end.signal);
    } else if (result != CHILD_EXITED) {
        error_set(error, ERROR_SYSTEM, errno, NULL, "gnuplot cannot be run: %s", strerror(errno));
    } else if (child.end.code != 0 || child.out.length == 0) {
        refuse(error, buffer_text(&child.err));
    }
    buffer_add(drawing, buffer_text(&child.out), child.out.length);
    drawing->has_failed |= script.has_failed;
    child_output_fini(&child);
    buffer_fini(&script);
    return error_is_set(error) ? STATUS_REJECTED : STATUS_OK;
}

enum status plot_add_picture(struct buffer *drawing, const struct chart *chart, struct error *error)
{
    return draw(drawing, chart, 0, error);
}

static void add_line(struct buffer *text, unsigned columns, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A line, cut at the width of the terminal; nothing in it can steer that. */
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

/* What gnuplot drew, without the blanks at the ends of lines and empty lines around it. */
static void add_drawing(struct buffer *text, char *drawing)
{
    size_t blank = 0;
    bool has_begun = false;
    char *rest = drawing;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        line += *line == '\f' ? 1 : 0;
        size_t length = strlen(line);
        while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\f')) {
            length--;
        }
        if (length == 0) {
            blank++;
            continue;
        }
        for (; has_begun && blank > 0; blank--) {
            buffer_add_text(text, "\n");
        }
        blank = 0;
        has_begun = true;
        buffer_add(text, line, length);
        buffer_add_text(text, "\n");
    }
}

static enum status add_charts(struct buffer *text, const struct report *report,
                              struct chart_range range, unsigned columns, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = range.first; i < range.first + range.count && status == STATUS_OK; i++) {
        const struct chart *chart = &report->charts.entries[i];
        const bool is_bars = chart->across == CHART_OVER_RUNS;
        struct buffer drawing;
        buffer_add_text(text, "\n"); /* upright text is not for a terminal: the unit stands here */
        add_line(text, columns, "%s%s%s%s", chart->title, is_bars ? "" : ": ",
                 is_bars ? "" : chart->label, chart->is_log ? " (log scale)" : "");
        if (chart->note[0] != '\0') {
            add_line(text, columns, "%s", chart->note);
        }
        buffer_init(&drawing);
        status = draw(&drawing, chart, columns, error);
        if (status == STATUS_OK && !buffer_failed(&drawing)) {
            add_drawing(text, drawing.bytes);
        }
        text->has_failed |= buffer_failed(&drawing);
        buffer_fini(&drawing);
    }
    return status;
}

/* Those that the charts have lines for, and what could not be read. */
static void add_events(struct buffer *text, unsigned columns, const struct report_run *run)
{
    const struct event_list *events = &run->events;
    const char *note = run->events_error[0] != '\0' ? run->events_error : events->note;
    for (size_t i = 0; i < events->count && i < CHART_MARKS_MAX; i++) {
        const struct event *event = &events->entries[i];
        add_line(text, columns, "%s%4zu %9.1f s  %s", i == 0 ? "Events" : "      ", i + 1,
                 (double)event->at_ns / (double)MONO_NS_PER_S, event->text);
    }
    if (events->count > CHART_MARKS_MAX) {
        add_line(text, columns, "       %zu more stand in events.csv",
                 events->count - CHART_MARKS_MAX);
    }
    if (note[0] != '\0') {
        add_line(text, columns, "Events    %s", note);
    }
}

static enum status add_run(struct buffer *text, const struct report *report,
                           const struct report_run *run, unsigned columns, struct error *error)
{
    char words[REPORT_WORDS_BYTES];
    add_line(text, columns, "%s, %s", report_title(&run->run, words),
             saved_run_text(&run->run, "target"));
    add_line(text, columns, "%s: %s", saved_run_text(&run->run, "verdict"),
             saved_run_text(&run->run, "verdict_reason"));
    const struct figure *figure;
    for (size_t i = 0; (figure = report_headline(i)) != NULL; i++) {
        add_line(text, columns, "%-16s%12s%s", figure->label,
                 report_value(&run->run, figure->key, words), figure_unit(figure->key));
    }
    const enum status status = add_charts(text, report, run->charts, columns, error);
    if (run->absent.length > 0) {
        buffer_add_text(text, "\n");
        add_line(text, columns, "%s", buffer_text(&run->absent));
    }
    add_events(text, columns, run);
    return status;
}

/* A line for each run whose charts were not asked for. */
static void add_run_list(struct buffer *text, const struct report *report, unsigned columns)
{
    char line[LINE_BYTES], words[REPORT_WORDS_BYTES];
    buffer_add_text(text, "\n");
    add_line(text, columns, "%-*s %-9s %7s %9s %10s %11s", REPORT_LABEL_COLUMNS, "run", "verdict",
             "CPU, %", "MiB", "elapsed, s", "rows/s");
    for (size_t i = 0; i < report->run_count; i++) {
        static const int widths[] = {7, 9, 10, 11};
        const struct report_run *run = &report->runs[i];
        const int padding = REPORT_LABEL_COLUMNS - (int)text_width(run->label);
        int used = snprintf(line, sizeof line, "%s%*s %-9.20s", run->label, padding, "",
                            saved_run_text(&run->run, "verdict"));
        for (size_t f = 0; f < sizeof widths / sizeof widths[0] && report_headline(f) != NULL;
             f++) {
            used += snprintf(line + used, sizeof line - (size_t)used, " %*s", widths[f],
                             report_value(&run->run, report_headline(f)->key, words));
        }
        add_line(text, columns, "%s", line);
    }
    add_line(text, columns, "--all draws the charts of each run, too.");
}

enum status report_add_text(struct buffer *text, const struct report *report, unsigned columns,
                            struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < report->sweep_count && status == STATUS_OK; i++) {
        add_line(text, columns, "%s", report->sweeps[i].sweep.folder);
        status = add_charts(text, report, report->sweeps[i].charts, columns, error);
        buffer_add_text(text, "\n");
    }
    if (status == STATUS_OK) {
        status = add_charts(text, report, report->overview, columns, error);
    }
    if (!report->has_run_charts) {
        add_run_list(text, report, columns);
    }
    for (size_t i = 0; i < report->run_count && report->has_run_charts && status == STATUS_OK;
         i++) {
        buffer_add_text(text, i > 0 || report->overview.count > 0 ? "\n\n" : "");
        status = add_run(text, report, &report->runs[i], columns, error);
    }
    if (status == STATUS_OK && buffer_failed(text)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the report");
        status = STATUS_REJECTED;
    }
    return status;
}
