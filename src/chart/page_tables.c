#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "base/units.h"
#include "chart/axis.h"
#include "chart/html.h"
#include "chart/page_parts.h"
#include "chart/run_words.h"

enum {
    CAUSES_SHOWN = 20,
    EVENTS_SHOWN = 60
};

/* A line of a ledger: a figure of summary.csv, and how it is to be seen. */
struct ledger_line {
    const char *column;
    const char *name;
    const char *css; /* "" good, "soft" neither, "lost" bad: of its part of the bar */
    bool is_total;
};

static const struct ledger_line session_lines[] = {
    {"sessions", "requested", "", true},
    {"sessions_connected", "connected", "", true},
    {"sessions_finished", "finished", "", false},
    {"sessions_stopped", "stopped", "soft", false},
    {"sessions_dropped", "dropped", "lost", false},
    {"sessions_refused", "refused", "lost", false},
    {"sessions_timed_out", "timed out", "lost", false},
    {"sessions_not_started", "not started", "soft", false},
    {NULL, NULL, NULL, false},
};
static const struct ledger_line row_lines[] = {
    {"rows_planned", "planned", "", true},        {"rows_acknowledged", "acknowledged", "", false},
    {"rows_rejected", "rejected", "lost", false}, {"rows_in_doubt", "in doubt", "lost", false},
    {"rows_not_sent", "not sent", "soft", false}, {NULL, NULL, NULL, false},
};
static const struct ledger_line batch_lines[] = {
    {"batches_due", "due", "", true},
    {"batches_sent", "sent", "", false},
    {"batches_not_sent", "not sent", "lost", false},
    {NULL, NULL, NULL, false},
};

/* `name` stands beside it where the head of the table is not shown. */
static void add_count_cell(struct buffer *html, const char *name, double value)
{
    char text[UNITS_TEXT_BYTES];
    buffer_add_format(html, "<td class=\"n\" data-name=\"%s\">%s</td>", name,
                      units_format_count(value > 0 && value < 1e18 ? (uint64_t)value : 0, text));
}

static void add_stack(struct buffer *html, const struct report_run *run,
                      const struct ledger_line *lines)
{
    double total;
    if (!saved_run_figure(&run->run, lines[0].column, &total) || total <= 0) {
        return;
    }
    buffer_add_text(html, "<div class=\"stack\">");
    for (const struct ledger_line *line = lines; line->column != NULL; line++) {
        double value;
        if (!line->is_total && saved_run_figure(&run->run, line->column, &value) && value > 0) {
            buffer_add_format(html, "<i class=\"%s\" style=\"width:%.4f%%\"></i>", line->css,
                              100 * value / total);
        }
    }
    buffer_add_text(html, "</div>\n");
}

static void add_ledger(struct buffer *html, const struct report_run *run, const char *title,
                       const struct ledger_line *lines)
{
    buffer_add_format(html, "<div class=\"card\"><h4>%s</h4>\n", title);
    add_stack(html, run, lines);
    buffer_add_text(html, "<table><tbody>\n");
    for (const struct ledger_line *line = lines; line->column != NULL; line++) {
        double value = 0;
        saved_run_figure(&run->run, line->column, &value);
        const bool is_bad = value > 0 && strcmp(line->css, "lost") == 0;
        buffer_add_format(html, "<tr class=\"%s%s\"><th scope=\"row\">%s</th>",
                          line->is_total ? "" : "part",
                          is_bad       ? " bad"
                          : value == 0 ? " zero"
                                       : "",
                          line->name);
        add_count_cell(html, "", value);
        buffer_add_text(html, "</tr>\n");
    }
    buffer_add_text(html, "</tbody></table></div>\n");
}

/* Figures of summary.csv that say whether the rows are there; those that are unknown are left out.
 */
static void add_verification(struct buffer *html, const struct report_run *run)
{
    static const char *const lines[][3] = {
        {"rows_before", "in the table before", ""},
        {"rows_after", "in the table after", ""},
        {"rows_lost", "acknowledged rows lost, at least", "bad"},
        {"rows_lost_at_most", "acknowledged rows lost, at most", "bad"},
        {"rows_in_doubt_arrived", "rows in doubt that arrived", ""},
        {"rows_rejected_arrived", "rejected rows that arrived", "bad"},
        {"rows_surplus", "rows of somebody else", "bad"},
        {"verified_present", "read back: acknowledged and there", ""},
        {"verified_lost", "read back: acknowledged and lost", "bad"},
        {"verified_in_doubt_present", "read back: in doubt and there", ""},
        {"verified_duplicates", "read back: duplicates", "bad"},
        {"verified_foreign", "read back: foreign", "bad"},
        {"fresh_checks", "counts held against own rows", ""},
        {"fresh_behind", "counts behind own rows", "bad"},
        {"fresh_backward", "counts that went back", "bad"},
    };
    buffer_add_text(html, "<div class=\"card\"><h4>Verified</h4>\n<table><tbody>\n");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        double value;
        if (saved_run_figure(&run->run, lines[i][0], &value)) {
            buffer_add_format(html, "<tr class=\"%s\"><th scope=\"row\">%s</th>",
                              value > 0 ? lines[i][2] : "", lines[i][1]);
            add_count_cell(html, "", value);
            buffer_add_text(html, "</tr>\n");
        }
    }
    buffer_add_text(html, "</tbody></table>\n");
    static const char *const notes[] = {"verification.reason", "verification.note"};
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        const char *note = json_string_value(saved_run_json(&run->run, notes[i]));
        if (note != NULL) {
            buffer_add_text(html, "<p class=\"note\">");
            html_add_text(html, note);
            buffer_add_text(html, "</p>\n");
        }
    }
    buffer_add_text(html, "</div>\n");
}

/* The levels of a search, in the order in which they were tried. */
static void add_levels(struct buffer *html, const struct csv_table *levels)
{
    static const char *const columns[][2] = {
        {"sessions", "sessions"},
        {"outcome", "outcome"},
        {"reason", "reason"},
        {"rows_per_s", "rows/s"},
        {"append_p50_ms", "append p50, ms"},
        {"append_p99_ms", "append p99, ms"},
        {"connect_p99_ms", "connect p99, ms"},
        {"host_cpu_percent", "CPU, %"},
        {"server_memory_mib", "server's memory, MiB"},
    };
    const size_t count = sizeof columns / sizeof columns[0];
    buffer_add_text(html, "<h3>Levels</h3>\n<div class=\"card scroll\"><table class=\"rows\">"
                          "<thead><tr>");
    for (size_t i = 0; i < count; i++) {
        buffer_add_format(html, "<th class=\"n\">%s</th>", columns[i][1]);
    }
    buffer_add_text(html, "</tr></thead><tbody>\n");
    for (size_t row = 0; row < levels->rows; row++) {
        buffer_add_text(html, "<tr>");
        for (size_t i = 0; i < count; i++) {
            const size_t column = csv_table_column(levels, columns[i][0]);
            char text[AXIS_NUMBER_BYTES];
            double value;
            buffer_add_text(html, "<td class=\"n\">");
            html_add_text(html, csv_table_number(levels, row, column, &value)
                                    ? axis_format_value(value, text)
                                    : csv_table_text(levels, row, column));
            buffer_add_text(html, "</td>");
        }
        buffer_add_text(html, "</tr>\n");
    }
    buffer_add_text(html, "</tbody></table></div>\n");
}

static void add_latencies(struct buffer *html, const struct report_run *run)
{
    static const char *const points[][2] = {{"p50_ms", "p50"},
                                            {"p90_ms", "p90"},
                                            {"p99_ms", "p99"},
                                            {"p999_ms", "p99.9"},
                                            {"max_ms", "max"}};
    const char *call;
    json_t *latency;
    buffer_add_text(
        html, "<h3>Latencies</h3>\n<div class=\"card scroll\"><table class=\"rows\"><thead><tr>"
              "<th></th><th class=\"n\">p50</th><th class=\"n\">p90</th>"
              "<th class=\"n\">p99</th><th class=\"n\">p99.9</th>"
              "<th class=\"n\">max</th><th class=\"n\">measured</th></tr></thead>"
              "<tbody>\n");
    json_t *latencies = json_object_get(run->run.json, "latencies");
    json_object_foreach(latencies, call, latency)
    {
        const double count = json_number_value(json_object_get(latency, "count"));
        if (count <= 0) {
            continue;
        }
        buffer_add_text(html, "<tr><th scope=\"row\">");
        html_add_text(html, call);
        buffer_add_text(html, "</th>");
        for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
            char text[RUN_WORDS_BYTES];
            buffer_add_format(html, "<td class=\"n\" data-name=\"%s\">", points[i][1]);
            html_add_text(html, run_words_ms(json_object_get(latency, points[i][0]), text));
            buffer_add_text(html, "</td>");
        }
        add_count_cell(html, "measured", count);
        buffer_add_text(html, "</tr>\n");
    }
    buffer_add_text(html, "</tbody></table>\n");
    double unanswered;
    if (saved_run_figure(&run->run, "responses_unanswered", &unanswered) && unanswered > 0) {
        char text[UNITS_TEXT_BYTES];
        buffer_add_format(html,
                          "<p class=\"note\">response: %s without an answer count with the time "
                          "that they had waited, a lower bound</p>\n",
                          units_format_count((uint64_t)unanswered, text));
    }
    buffer_add_text(html, "</div>\n");
}

static void add_findings(struct buffer *html, const struct report_run *run)
{
    const json_t *findings = saved_run_json(&run->run, "findings");
    size_t i;
    json_t *finding;
    if (json_array_size(findings) == 0) {
        return;
    }
    buffer_add_text(
        html,
        "<h3>Limits that were hit</h3>\n<div class=\"card scroll\"><table class=\"rows\"><thead>"
        "<tr><th>limit</th><th>whose</th><th class=\"n\">sessions</th>"
        "<th>what shows it</th><th>how it is raised</th></tr></thead><tbody>\n");
    json_array_foreach(findings, i, finding)
    {
        buffer_add_text(html, "<tr><th scope=\"row\">");
        html_add_text(html, json_string_value(json_object_get(finding, "name")));
        buffer_add_text(html, "</th><td data-name=\"whose\">");
        html_add_text(html, json_string_value(json_object_get(finding, "side")));
        buffer_add_text(html, "</td>");
        add_count_cell(html, "sessions", json_number_value(json_object_get(finding, "sessions")));
        buffer_add_text(html, "<td class=\"words\" data-name=\"what shows it\">");
        html_add_text(html, json_string_value(json_object_get(finding, "evidence")));
        buffer_add_text(html, "</td><td class=\"words\" data-name=\"how it is raised\">");
        html_add_text(html, json_string_value(json_object_get(finding, "fix")));
        buffer_add_text(html, "</td></tr>\n");
    }
    buffer_add_text(html, "</tbody></table></div>\n");
}

static void add_cause(struct buffer *html, const json_t *cause)
{
    buffer_add_text(html, "<tr>");
    add_count_cell(html, "times", json_number_value(json_object_get(cause, "count")));
    static const char *const keys[][3] = {
        {"phase", "while", ""}, {"kind", "kind", ""}, {"text", "what was said", "words"}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        buffer_add_format(html, "<td class=\"%s\" data-name=\"%s\">", keys[i][2], keys[i][1]);
        html_add_text(html, json_string_value(json_object_get(cause, keys[i][0])));
        buffer_add_text(html, "</td>");
    }
    buffer_add_format(html, "<td class=\"n\" data-name=\"first – last\">%.1f – %.1f s</td></tr>\n",
                      json_number_value(json_object_get(cause, "first_s")),
                      json_number_value(json_object_get(cause, "last_s")));
}

static void add_causes(struct buffer *html, const struct report_run *run)
{
    const json_t *causes = saved_run_json(&run->run, "causes");
    const size_t count = json_array_size(causes);
    double others = json_number_value(saved_run_json(&run->run, "other_causes"));
    if (count == 0 && others <= 0) {
        return;
    }
    buffer_add_text(html,
                    "<h3>Errors</h3>\n<div class=\"card scroll\"><table class=\"rows\"><thead><tr>"
                    "<th class=\"n\">times</th><th>while</th><th>kind</th>"
                    "<th>what was said</th><th class=\"n\">first – last</th></tr></thead>"
                    "<tbody>\n");
    for (size_t i = 0; i < count && i < CAUSES_SHOWN; i++) {
        add_cause(html, json_array_get(causes, i));
    }
    for (size_t i = CAUSES_SHOWN; i < count; i++) {
        others += json_number_value(json_object_get(json_array_get(causes, i), "count"));
    }
    buffer_add_text(html, "</tbody></table>\n");
    if (others > 0) {
        buffer_add_format(html, "<p class=\"note\">%.0f of other causes: see run.json</p>\n",
                          others);
    }
    buffer_add_text(html, "</div>\n");
}

static void add_events(struct buffer *html, const struct report_run *run)
{
    const struct event_list *events = &run->events;
    const char *note = run->events_error[0] != '\0' ? run->events_error : events->note;
    if (events->count == 0 && note[0] == '\0') {
        return;
    }
    buffer_add_text(html, "<h3>Events</h3>\n<div class=\"card scroll\"><table><tbody>\n");
    for (size_t i = 0; i < events->count && i < EVENTS_SHOWN; i++) {
        buffer_add_format(html,
                          "<tr><th scope=\"row\">%zu</th><td class=\"n\">%.1f s</td>"
                          "<td class=\"words\">",
                          i + 1, (double)events->entries[i].at_ns / (double)MONO_NS_PER_S);
        html_add_text(html, events->entries[i].text);
        buffer_add_text(html, "</td></tr>\n");
    }
    buffer_add_text(html, "</tbody></table>\n");
    if (events->count > EVENTS_SHOWN) {
        buffer_add_format(html, "<p class=\"note\">%zu more stand in events.csv</p>\n",
                          events->count - EVENTS_SHOWN);
    }
    if (note[0] != '\0') {
        buffer_add_text(html, "<p class=\"note\">");
        html_add_text(html, note);
        buffer_add_text(html, "</p>\n");
    }
    buffer_add_text(html, "</div>\n");
}

void page_add_run_tables(struct page *page, const struct report_run *run)
{
    struct buffer *html = page->html;
    add_events(html, run);
    if (run->run.is_search) {
        add_levels(html, &run->run.levels);
    }
    buffer_add_text(html, "<h3>Ledgers</h3>\n<div class=\"cards\">\n");
    add_ledger(html, run, "Sessions", session_lines);
    add_ledger(html, run, "Rows", row_lines);
    double due;
    if (saved_run_figure(&run->run, "batches_due", &due)) {
        add_ledger(html, run, "Batches", batch_lines);
    }
    add_verification(html, run);
    buffer_add_text(html, "</div>\n");
    add_findings(html, run);
    add_causes(html, run);
    add_latencies(html, run);
}
