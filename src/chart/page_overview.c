#include <stdio.h>

#include "base/units.h"
#include "chart/axis.h"
#include "chart/html.h"
#include "chart/page_parts.h"
#include "chart/run_words.h"

static void add_chip(struct buffer *html, const char *verdict)
{
    buffer_add_format(html, "<span class=\"chip %s\">", page_verdict_class(verdict));
    html_add_text(html, verdict);
    buffer_add_text(html, "</span>");
}

static void add_value(struct buffer *html, const char *text)
{
    buffer_add_text(html, "<td class=\"n\">");
    html_add_text(html, text);
    buffer_add_text(html, "</td>");
}

static void add_overview_row(struct page *page, size_t index)
{
    static const char *const columns[] = {
        "max_cpu_percent",
        "max_memory_mib",
        "elapsed_s",
        "throughput_rows_per_s",
    };
    struct buffer *html = page->html;
    const struct report_run *run = &page->set->runs[index];
    char text[RUN_WORDS_BYTES];
    buffer_add_format(html, "<tr><th scope=\"row\"><a href=\"#run%zu\">", index + 1);
    html_add_text(html, run->label);
    buffer_add_text(html, "</a></th><td>");
    html_add_text(html, saved_run_text(&run->run, "adapter"));
    buffer_add_text(html, "</td><td>");
    add_chip(html, saved_run_text(&run->run, "verdict"));
    buffer_add_text(html, "</td>");
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        add_value(html, run_words_value(&run->run, columns[i], text));
    }
    add_value(html, run_words_ms(saved_run_json(&run->run, "latencies.append.p99_ms"), text));
    buffer_add_text(html, "</tr>\n");
}

void page_add_overview(struct page *page)
{
    struct buffer *html = page->html;
    const struct report_set *set = page->set;
    buffer_add_text(html, "<h3>All runs</h3>\n<div class=\"card scroll\"><table><thead><tr>"
                          "<th>run</th><th>database</th><th>verdict</th>"
                          "<th class=\"n\">max CPU, %</th><th class=\"n\">max memory, MiB</th>"
                          "<th class=\"n\">elapsed, s</th><th class=\"n\">rows/s</th>"
                          "<th class=\"n\">append p99</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < set->run_count; i++) {
        add_overview_row(page, i);
    }
    buffer_add_text(html, "</tbody></table></div>\n");
    if (set->overview_count > 0) {
        buffer_add_text(html, "<h3>Beside each other</h3>\n");
        page_add_charts(page, set->overview_first, set->overview_count);
    }
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
            char number[AXIS_NUMBER_BYTES];
            const bool is_known = saved_sweep_figure(sweep, i, records, figure->column, &spread);
            add_value(html, is_known ? axis_format_value(spread.median, number) : "–");
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
    buffer_add_text(html, "<h3>Runs that failed</h3>\n<div class=\"card scroll\"><table><thead>"
                          "<tr><th>run</th><th class=\"n\">exit code</th><th>reason</th></tr>"
                          "</thead><tbody>\n");
    for (size_t i = 0; i < sweep->run_count; i++) {
        const struct saved_sweep_run *run = &sweep->runs[i];
        if (run->state == SAVED_FAILED) {
            buffer_add_text(html, "<tr><th scope=\"row\">");
            html_add_text(html, run->name);
            buffer_add_format(html, "</th><td class=\"n\">%d</td><td class=\"words\">",
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
        buffer_add_format(html, ", each run %u times: the median is shown", sweep->repeat);
    }
    if (pending > 0) {
        buffer_add_format(html, "; %zu of %zu runs have not ended yet", pending, sweep->run_count);
    }
    if (entry->left_out > 0) {
        buffer_add_format(html, "; %u left no files that can be read", entry->left_out);
    }
    buffer_add_text(html, "</p>\n<h3>Against sessions</h3>\n");
    page_add_charts(page, entry->first_chart, entry->chart_count);
    buffer_add_text(html, "<h3>Tables</h3>\n<div class=\"charts\">\n");
    for (size_t i = 0; i < RUN_WORDS_FIGURES; i++) {
        add_sweep_table(html, sweep, &run_words_figures[i]);
    }
    buffer_add_text(html, "</div>\n");
    add_failures(html, sweep);
}
