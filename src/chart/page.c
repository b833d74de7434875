#include "chart/page.h"

#include <stdio.h>
#include <string.h>

#include "chart/html.h"
#include "chart/page_parts.h"
#include "chart/run_words.h"
#include "chart/svg.h"

const char *page_verdict_class(const char *verdict)
{
    return strcmp(verdict, "VALID") == 0      ? "valid"
           : strcmp(verdict, "DEGRADED") == 0 ? "degraded"
                                              : "invalid";
}

static void add_legend(struct buffer *html, const struct chart *chart)
{
    buffer_add_text(html, "<span class=\"legend\">");
    for (size_t i = 0; i < chart->series_count; i++) {
        buffer_add_format(html, "<span><i style=\"background:var(--s%zu)\"></i>", i + 1);
        html_add_text(html, chart->series[i].name);
        buffer_add_text(html, "</span>");
    }
    buffer_add_text(html, "</span>");
}

void page_add_charts(struct page *page, size_t first, size_t count)
{
    if (count == 0) {
        return;
    }
    buffer_add_text(page->html, "<div class=\"charts\">\n");
    for (size_t i = first; i < first + count; i++) {
        const struct chart *chart = &page->set->charts.entries[i];
        const struct drawing *drawing = &page->drawings->entries[i];
        buffer_add_text(page->html, "<figure><figcaption><b>");
        html_add_text(page->html, chart->title);
        buffer_add_text(page->html, "</b>");
        if (chart->series_count > 1) {
            add_legend(page->html, chart);
        }
        buffer_add_text(page->html, "</figcaption>\n");
        if (chart->note[0] != '\0') {
            buffer_add_text(page->html, "<p>");
            html_add_text(page->html, chart->note);
            buffer_add_text(page->html, "</p>\n");
        }
        char label[2 * CHART_TEXT_BYTES + 8];
        snprintf(label, sizeof label, "%s (%s)", chart->title,
                 chart->is_bars ? chart->x.label : chart->y.label);
        page->has_failed |= !svg_add(page->html, drawing->text, drawing->length, label);
        buffer_add_text(page->html, "</figure>\n");
    }
    buffer_add_text(page->html, "</div>\n");
}

static void add_title(struct buffer *html, const struct report_set *set)
{
    char words[RUN_WORDS_BYTES];
    if (set->sweep_count == 1 && set->run_count > 0) {
        buffer_add_format(html, "Sweep of %zu runs, ", set->run_count);
        html_add_text(html, saved_run_text(&set->runs[0].run, "adapter"));
    } else if (set->run_count == 1) {
        html_add_text(html, run_words_title(&set->runs[0].run, words));
        buffer_add_text(html, ", ");
        html_add_text(html, saved_run_text(&set->runs[0].run, "adapter"));
    } else {
        buffer_add_format(html, "%zu runs", set->run_count);
    }
}

static void add_head(struct page *page)
{
    struct buffer *html = page->html;
    buffer_add_text(html, PAGE_BEGIN
                    "<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                    "style-src 'unsafe-inline'\">\n<title>append: ");
    add_title(html, page->set);
    buffer_add_text(html, "</title>\n<style>\n");
    for (const char *const *line = page_style; *line != NULL; line++) {
        buffer_add_text(html, *line);
    }
    buffer_add_text(html, "</style>\n</head>\n<body>\n");
    if (page->drawings->count > 0) {
        svg_add_shapes(html, page->drawings->entries[0].text, page->drawings->entries[0].length);
    }
    buffer_add_text(html, "<main>\n<p class=\"brand\">append report</p>\n");
}

static void add_body(struct page *page)
{
    const struct report_set *set = page->set;
    struct buffer *html = page->html;
    const bool is_single = set->run_count == 1 && set->sweep_count == 0;
    if (!is_single) {
        buffer_add_text(html, "<h1>");
        add_title(html, set);
        buffer_add_text(html, "</h1>\n");
        for (size_t i = 0; i < set->sweep_count; i++) {
            page_add_sweep(page, &set->sweeps[i]);
        }
        page_add_overview(page);
        buffer_add_text(html, "<h3>Each run</h3>\n");
    }
    for (size_t i = 0; i < set->run_count; i++) {
        page_add_run(page, i, is_single);
    }
    if (set->beyond > 0) {
        buffer_add_format(html, "<p class=\"note\">%zu more runs are not shown.</p>\n",
                          set->beyond);
    }
    buffer_add_text(html, "<footer>Made by append ");
    html_add_text(html, APPEND_VERSION);
    buffer_add_text(html, ". Every figure stands in the files of the run as well.</footer>\n"
                          "</main>\n</body>\n</html>\n");
}

enum status page_add(struct buffer *html, const struct report_set *set, struct error *error)
{
    struct drawings drawings;
    if (drawings_make(&drawings, &set->charts, TERMINAL_SVG, 0, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    struct page page = {.html = html, .set = set, .drawings = &drawings};
    add_head(&page);
    add_body(&page);
    drawings_free(&drawings);
    if (buffer_failed(html)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the report");
        return STATUS_REJECTED;
    }
    if (page.has_failed) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "gnuplot drew something that is no SVG");
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}
