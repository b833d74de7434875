#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "chart/axis.h"
#include "chart/html.h"
#include "chart/page_parts.h"
#include "chart/run_words.h"

enum {
    HALF_WIDTH_COLUMNS = 4 /* more need the whole width */
};

void page_add_chip(struct buffer *html, const char *verdict)
{
    buffer_add_format(html, "<span class=\"chip %s\">", page_verdict_class(verdict));
    html_add_text(html, verdict);
    buffer_add_text(html, "</span>");
}

/* `name` stands beside it where the head of the table is not shown. */
static void add_value(struct buffer *html, const char *name, const char *text)
{
    buffer_add_format(html, "<td class=\"n\" data-name=\"%s\">", name);
    html_add_text(html, text);
    buffer_add_text(html, "</td>");
}

/* The columns of the table of all runs: figures of summary.csv, and a path of run.json. */
static const struct {
    const char *column;
    const char *name;
} overview_columns[] = {
    {"max_cpu_percent", "max CPU, %"},
    {"max_memory_mib", "max memory, MiB"},
    {"elapsed_s", "elapsed, s"},
    {"throughput_rows_per_s", "rows/s"},
    {"latencies.append.p99_ms", "append p99"},
};
enum {
    OVERVIEW_COLUMNS = sizeof overview_columns / sizeof overview_columns[0]
};

static void add_overview_row(struct page *page, size_t index)
{
    struct buffer *html = page->html;
    const struct report_run *run = &page->set->runs[index];
    char text[RUN_WORDS_BYTES];
    buffer_add_format(html, "<tr><th scope=\"row\"><a href=\"#run%zu\">", index + 1);
    html_add_text(html, run->label);
    buffer_add_text(html, "</a></th><td data-name=\"database\">");
    html_add_text(html, saved_run_text(&run->run, "adapter"));
    buffer_add_text(html, "</td><td data-name=\"verdict\">");
    page_add_chip(html, saved_run_text(&run->run, "verdict"));
    buffer_add_text(html, "</td>");
    for (size_t i = 0; i < OVERVIEW_COLUMNS; i++) {
        const char *column = overview_columns[i].column;
        const bool is_path = strchr(column, '.') != NULL;
        add_value(html, overview_columns[i].name,
                  is_path ? run_words_ms(saved_run_json(&run->run, column), text)
                          : run_words_value(&run->run, column, text));
    }
    buffer_add_text(html, "</tr>\n");
}

void page_add_overview(struct page *page)
{
    struct buffer *html = page->html;
    const struct report_set *set = page->set;
    if (set->overview_count > 0) {
        buffer_add_text(html, "<h3>Beside each other</h3>\n");
        page_add_charts(page, set->overview_first, set->overview_count);
    }
    buffer_add_text(html, "<h3>All runs</h3>\n<div class=\"card scroll\"><table class=\"rows\">"
                          "<thead><tr><th>run</th><th>database</th><th>verdict</th>");
    for (size_t i = 0; i < OVERVIEW_COLUMNS; i++) {
        buffer_add_format(html, "<th class=\"n\">%s</th>", overview_columns[i].name);
    }
    buffer_add_text(html, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < set->run_count; i++) {
        add_overview_row(page, i);
    }
    buffer_add_text(html, "</tbody></table></div>\n");
}

/* The median of a cell, and from where to where its runs went; NULL: it has none. */
static void add_cell(struct buffer *html, const struct spread *spread)
{
    char number[AXIS_NUMBER_BYTES];
    buffer_add_format(html, "<td class=\"n\">%s",
                      spread == NULL ? "–" : axis_format_value(spread->median, number));
    if (spread != NULL && spread->count > 1) {
        buffer_add_format(html, "<small>%s – ", axis_format_value(spread->lowest, number));
        buffer_add_format(html, "%s</small>", axis_format_value(spread->highest, number));
    }
    buffer_add_text(html, "</td>");
}

/* Sessions down, rows across. */
static void add_sweep_table(struct buffer *html, const struct saved_sweep *sweep,
                            const struct run_words_figure *figure)
{
    char text[UNITS_TEXT_BYTES];
    buffer_add_format(html,
                      "<div class=\"card scroll\"><h4>%s, %s</h4>\n<table><thead><tr>"
                      "<th>sessions</th>",
                      figure->title, figure->unit);
    for (size_t records = 0; records < sweep->records_count; records++) {
        char count[RUN_WORDS_BYTES];
        buffer_add_format(html, "<th class=\"n\">%s rows</th>",
                          run_words_count((double)sweep->records[records], count));
    }
    buffer_add_text(html, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < sweep->sessions_count; i++) {
        buffer_add_format(html, "<tr><th scope=\"row\">%s</th>",
                          units_format_count(sweep->sessions[i], text));
        for (size_t records = 0; records < sweep->records_count; records++) {
            struct spread spread;
            add_cell(html, saved_sweep_figure(sweep, i, records, figure->column, &spread) ? &spread
                                                                                          : NULL);
        }
        buffer_add_text(html, "</tr>\n");
    }
    buffer_add_text(html, "</tbody></table></div>\n");
}

static void add_failures(struct buffer *html, const struct saved_sweep *sweep)
{
    size_t failed = 0;
    for (size_t i = 0; i < sweep->run_count; i++) {
        failed += sweep->runs[i].state == SAVED_FAILED ? 1 : 0;
    }
    if (failed == 0) {
        return;
    }
    buffer_add_text(
        html, "<h3>Runs that failed</h3>\n<div class=\"card scroll\"><table class=\"rows\"><thead>"
              "<tr><th>run</th><th class=\"n\">exit code</th><th>reason</th></tr>"
              "</thead><tbody>\n");
    for (size_t i = 0; i < sweep->run_count; i++) {
        const struct saved_sweep_run *run = &sweep->runs[i];
        if (run->state == SAVED_FAILED) {
            buffer_add_text(html, "<tr><th scope=\"row\">");
            html_add_text(html, run->name);
            buffer_add_format(html,
                              "</th><td class=\"n\" data-name=\"exit code\">%d</td>"
                              "<td class=\"words\" data-name=\"reason\">",
                              run->exit_code);
            html_add_text(html, run->reason);
            buffer_add_text(html, "</td></tr>\n");
        }
    }
    buffer_add_text(html, "</tbody></table></div>\n");
}

static size_t count_pending(const struct saved_sweep *sweep)
{
    size_t pending = 0;
    for (size_t i = 0; i < sweep->run_count; i++) {
        pending += sweep->runs[i].state == SAVED_PENDING ? 1 : 0;
    }
    return pending;
}

void page_add_sweep(struct page *page, const struct report_sweep *entry)
{
    struct buffer *html = page->html;
    const struct saved_sweep *sweep = &entry->sweep;
    const size_t pending = count_pending(sweep);
    buffer_add_text(html, page->set->sweep_count > 1 ? "<h2>Sweep</h2>\n" : "");
    buffer_add_text(html, "<p class=\"sub\">");
    html_add_text(html, sweep->folder);
    buffer_add_format(html, "</p>\n<p class=\"sub\">%zu × %zu cells", sweep->sessions_count,
                      sweep->records_count);
    if (sweep->repeat > 1) {
        buffer_add_format(html, ", each run %u times: the median, and the lowest and highest",
                          sweep->repeat);
    }
    if (pending > 0) {
        buffer_add_format(html, "; %zu of %zu runs have not ended yet", pending, sweep->run_count);
    }
    if (entry->left_out > 0) {
        buffer_add_format(html, "; %u left no files that can be read", entry->left_out);
    }
    buffer_add_text(html, "</p>\n<h3>Against sessions</h3>\n");
    page_add_charts(page, entry->first_chart, entry->chart_count);
    buffer_add_format(html, "<h3>Tables</h3>\n<div class=\"charts%s\">\n",
                      sweep->records_count > HALF_WIDTH_COLUMNS ? " wide" : "");
    for (size_t i = 0; i < RUN_WORDS_FIGURES; i++) {
        add_sweep_table(html, sweep, &run_words_figures[i]);
    }
    buffer_add_text(html, "</div>\n");
    add_failures(html, sweep);
}
