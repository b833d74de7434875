#include "chart/report_text.h"

#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "chart/drawings.h"
#include "chart/run_words.h"
#include "report/clean.h"

enum {
    LINE_BYTES = 1024
};

struct writer {
    struct buffer *text;
    const struct report_set *set;
    const struct drawings *drawings;
    unsigned columns;
};

/* A line, cut at the width of the terminal; nothing in it can steer that. */
static void add_line(const struct writer *writer, const char *line)
{
    char clean[LINE_BYTES];
    clean_line(clean, sizeof clean, line, writer->columns);
    buffer_add_text(writer->text, clean);
    buffer_add_text(writer->text, "\n");
}

/* What gnuplot drew, without the blanks at the ends of lines and empty lines around it. */
static void add_drawing(const struct writer *writer, const struct drawing *drawing)
{
    const char *at = drawing->text;
    const char *const end = at + drawing->length;
    bool has_begun = false;
    size_t blank = 0;
    while (at < end) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        const char *last = next == NULL ? end : next;
        const char *const after = next == NULL ? end : next + 1;
        while (last > at && (last[-1] == ' ' || last[-1] == '\f')) {
            last--;
        }
        if (last == at) {
            blank++;
        } else {
            for (; has_begun && blank > 0; blank--) {
                buffer_add_text(writer->text, "\n");
            }
            blank = 0;
            has_begun = true;
            const size_t skip = *at == '\f' ? 1 : 0;
            buffer_add(writer->text, at + skip, (size_t)(last - at) - skip);
            buffer_add_text(writer->text, "\n");
        }
        at = after;
    }
}

static void add_charts(const struct writer *writer, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        const struct chart *chart = &writer->set->charts.entries[i];
        buffer_add_text(writer->text, "\n");
        char line[LINE_BYTES]; /* upright text is not for a terminal: the unit stands here */
        snprintf(line, sizeof line, "%s%s%s", chart->title, chart->is_bars ? "" : ": ",
                 chart->is_bars ? "" : chart->y.label);
        add_line(writer, line);
        if (chart->note[0] != '\0') {
            add_line(writer, chart->note);
        }
        add_drawing(writer, &writer->drawings->entries[i]);
    }
}

/* Those that the charts have lines for, and what could not be read. */
static void add_events(const struct writer *writer, const struct report_run *run)
{
    char line[LINE_BYTES];
    const struct event_list *events = &run->events;
    const char *note = run->events_error[0] != '\0' ? run->events_error : events->note;
    for (size_t i = 0; i < events->count && i < CHART_MARKS_MAX; i++) {
        const struct event *event = &events->entries[i];
        snprintf(line, sizeof line, "%s%4zu %9.1f s  %s", i == 0 ? "Events" : "      ", i + 1,
                 (double)event->at_ns / (double)MONO_NS_PER_S, event->text);
        add_line(writer, line);
    }
    if (events->count > CHART_MARKS_MAX) {
        snprintf(line, sizeof line, "       %zu more stand in events.csv",
                 events->count - CHART_MARKS_MAX);
        add_line(writer, line);
    }
    if (note[0] != '\0') {
        snprintf(line, sizeof line, "Events    %s", note);
        add_line(writer, line);
    }
}

static void add_run(const struct writer *writer, const struct report_run *run)
{
    char line[LINE_BYTES], words[RUN_WORDS_BYTES];
    snprintf(line, sizeof line, "%s, %.600s", run_words_title(&run->run, words),
             saved_run_text(&run->run, "target"));
    add_line(writer, line);
    snprintf(line, sizeof line, "%.20s: %.800s", saved_run_text(&run->run, "verdict"),
             saved_run_text(&run->run, "verdict_reason"));
    add_line(writer, line);
    for (size_t i = 0; i < RUN_WORDS_FIGURES; i++) {
        const struct run_words_figure *figure = &run_words_figures[i];
        snprintf(line, sizeof line, "%-16s%12s %s", figure->title,
                 run_words_value(&run->run, figure->column, words), figure->unit);
        add_line(writer, line);
    }
    add_charts(writer, run->first_chart, run->chart_count);
    if (run->absent.length > 0) {
        buffer_add_text(writer->text, "\n");
        add_line(writer, buffer_text(&run->absent));
    }
    add_events(writer, run);
}

/* A line for each run whose charts were not asked for. */
static void add_run_list(const struct writer *writer)
{
    char line[LINE_BYTES], words[RUN_WORDS_FIGURES][RUN_WORDS_BYTES];
    snprintf(line, sizeof line, "%-*s %-9s %7s %9s %10s %11s", REPORT_LABEL_COLUMNS, "run",
             "verdict", "CPU, %", "MiB", "elapsed, s", "rows/s");
    buffer_add_text(writer->text, "\n");
    add_line(writer, line);
    for (size_t i = 0; i < writer->set->run_count; i++) {
        const struct report_run *run = &writer->set->runs[i];
        for (size_t f = 0; f < RUN_WORDS_FIGURES; f++) {
            run_words_value(&run->run, run_words_figures[f].column, words[f]);
        }
        const int padding = REPORT_LABEL_COLUMNS - (int)clean_width(run->label);
        snprintf(line, sizeof line, "%s%*s %-9.20s %7s %9s %10s %11s", run->label, padding, "",
                 saved_run_text(&run->run, "verdict"), words[0], words[1], words[2], words[3]);
        add_line(writer, line);
    }
    add_line(writer, "--all draws the charts of each run, too.");
}

enum status report_text_add(struct buffer *text, const struct report_set *set, unsigned columns,
                            struct error *error)
{
    struct drawings drawings;
    if (drawings_make(&drawings, &set->charts, TERMINAL_TEXT, columns, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    const struct writer writer = {text, set, &drawings, columns};
    for (size_t i = 0; i < set->sweep_count; i++) {
        add_line(&writer, set->sweeps[i].sweep.folder);
        add_charts(&writer, set->sweeps[i].first_chart, set->sweeps[i].chart_count);
        buffer_add_text(text, "\n");
    }
    add_charts(&writer, set->overview_first, set->overview_count);
    if (!set->has_run_charts) {
        add_run_list(&writer);
    }
    for (size_t i = 0; i < set->run_count && set->has_run_charts; i++) {
        buffer_add_text(text, i > 0 || set->overview_count > 0 ? "\n\n" : "");
        add_run(&writer, &set->runs[i]);
    }
    drawings_free(&drawings);
    if (buffer_failed(text)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the report");
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}
