#include <stdio.h>
#include <string.h>

#include "chart/axis.h"
#include "chart/html.h"
#include "chart/page_parts.h"
#include "chart/run_words.h"

static const char *text_of(const struct report_run *run, const char *path)
{
    const char *text = json_string_value(saved_run_json(&run->run, path));
    return text == NULL ? "" : text;
}

static void add_verdict(struct buffer *html, const struct report_run *run)
{
    static const char *const marks[][2] = {{"valid", "✓"}, {"degraded", "!"}, {"invalid", "✕"}};
    const char *verdict = saved_run_text(&run->run, "verdict");
    const char *name = page_verdict_class(verdict);
    const char *mark = "";
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        mark = strcmp(marks[i][0], name) == 0 ? marks[i][1] : mark;
    }
    buffer_add_format(html, "<div class=\"verdict %s\"><b>%s&nbsp;", name, mark);
    html_add_text(html, verdict);
    buffer_add_text(html, "</b><span>");
    html_add_text(html, saved_run_text(&run->run, "verdict_reason"));
    buffer_add_text(html, "</span></div>\n");
}

static const char *memory_words(const char *source)
{
    static const char *const words[][2] = {
        {"pss", "private memory, shared memory once (PSS)"},
        {"rss", "private memory, the largest shared part (RSS)"},
        {"cgroup", "memory of its cgroup"},
        {"self", "append with the database in it"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(source, words[i][0]) == 0) {
            return words[i][1];
        }
    }
    return source;
}

/* The sentence below one of the four figures: what it is made of. */
static void tile_words(const struct report_run *run, const char *column, char *words, size_t bytes)
{
    char a[RUN_WORDS_BYTES], b[RUN_WORDS_BYTES], c[RUN_WORDS_BYTES];
    double cpus = 0;
    words[0] = '\0';
    if (strcmp(column, "max_cpu_percent") == 0) {
        cpus = json_number_value(saved_run_json(&run->run, "resources.cpus"));
        double server;
        const bool has_server = saved_run_figure(&run->run, "server_cpu_percent_at_max", &server);
        snprintf(words, bytes, "%s%.0f CPU%s: %s%s%sappend %s %%", cpus > 1 ? "all " : "", cpus,
                 cpus > 1 ? "s" : "", has_server ? "server " : "",
                 has_server ? run_words_value(&run->run, "server_cpu_percent_at_max", a) : "",
                 has_server ? " %, " : "",
                 run_words_value(&run->run, "client_cpu_percent_at_max", b));
    } else if (strcmp(column, "max_memory_mib") == 0) {
        const char *name = text_of(run, "resources.server_name");
        const char *source = memory_words(saved_run_text(&run->run, "memory_source"));
        snprintf(words, bytes, "%s%s%s", name, name[0] != '\0' && source[0] != '\0' ? ": " : "",
                 source);
        if (words[0] == '\0') {
            snprintf(words, bytes, "%s", text_of(run, "resources.server_note"));
        }
    } else if (strcmp(column, "elapsed_s") == 0) {
        snprintf(words, bytes, "connect %s, append %s, leave %s",
                 run_words_s(saved_run_json(&run->run, "times.connect_s"), a),
                 run_words_s(saved_run_json(&run->run, "times.append_s"), b),
                 run_words_s(saved_run_json(&run->run, "times.disconnect_s"), c));
    } else {
        double rows_per_s;
        const bool is_known = saved_run_figure(&run->run, "append_rows_per_s", &rows_per_s);
        const double append_s = json_number_value(saved_run_json(&run->run, "times.append_s"));
        snprintf(words, bytes, "by elapsed time%s%s%s%s", is_known ? "; " : "",
                 is_known ? run_words_value(&run->run, "append_rows_per_s", a) : "",
                 is_known ? " rows/s while appending" : "",
                 append_s > 0 && append_s < 1 ? "; too short a run for figures that repeat" : "");
    }
}

static void add_tiles(struct buffer *html, const struct report_run *run)
{
    buffer_add_text(html, "<div class=\"tiles\">\n");
    for (size_t i = 0; i < RUN_WORDS_FIGURES; i++) {
        const struct run_words_figure *figure = &run_words_figures[i];
        char value[RUN_WORDS_BYTES], words[300];
        tile_words(run, figure->column, words, sizeof words);
        double number;
        const bool is_known = saved_run_figure(&run->run, figure->column, &number);
        buffer_add_text(html, "<div class=\"tile\"><p>");
        html_add_text(html, figure->title);
        buffer_add_text(html, "</p><p class=\"value\">");
        html_add_text(html, run_words_value(&run->run, figure->column, value));
        buffer_add_format(html, " <small>%s</small></p><p>", is_known ? figure->unit : "");
        html_add_text(html, words);
        buffer_add_text(html, "</p></div>\n");
    }
    buffer_add_text(html, "</div>\n");
}

static void add_header(struct page *page, size_t index, bool is_only)
{
    struct buffer *html = page->html;
    const struct report_run *run = &page->set->runs[index];
    char words[RUN_WORDS_BYTES];
    if (!is_only) {
        buffer_add_text(html, "<details class=\"run\"><summary><span>");
        html_add_text(html, run->label);
        buffer_add_text(html, "</span> ");
        page_add_chip(html, saved_run_text(&run->run, "verdict"));
        buffer_add_text(html, "</summary>\n");
    }
    buffer_add_format(html, "<section id=\"run%zu\">\n<h%d>", index + 1, is_only ? 1 : 2);
    html_add_text(html, run_words_title(&run->run, words));
    buffer_add_format(html, "</h%d>\n<p class=\"sub\">", is_only ? 1 : 2);
    html_add_text(html, saved_run_text(&run->run, "target"));
    buffer_add_text(html, "</p>\n<p class=\"sub\">");
    const char *const parts[] = {
        text_of(run, "server.version"), saved_run_text(&run->run, "method"),
        saved_run_text(&run->run, "engine"), run_words_started(&run->run, words)};
    const char *separator = "";
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i][0] != '\0') {
            buffer_add_text(html, separator);
            html_add_text(html, parts[i]);
            separator = " · ";
        }
    }
    buffer_add_text(html, "</p>\n");
}

void page_add_run(struct page *page, size_t index, bool is_only)
{
    struct buffer *html = page->html;
    const struct report_run *run = &page->set->runs[index];
    add_header(page, index, is_only);
    add_verdict(html, run);
    add_tiles(html, run);
    if (page->set->has_run_charts) {
        buffer_add_text(html, "<h3>Charts</h3>\n");
        page_add_charts(page, run->first_chart, run->chart_count);
    } else {
        buffer_add_text(html, "<p class=\"note\">Its charts: append report ");
        html_add_text(html, run->run.folder);
        buffer_add_text(html, ", or --all for those of all runs here</p>\n");
    }
    if (run->absent.length > 0) {
        buffer_add_text(html, "<p class=\"note\">");
        html_add_text(html, buffer_text(&run->absent));
        buffer_add_text(html, "</p>\n");
    }
    page_add_run_tables(page, run);
    page_add_run_environment(page, run);
    buffer_add_text(html, is_only ? "</section>\n" : "</section>\n</details>\n");
}
