#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "chart/html.h"
#include "chart/page_parts.h"

/* A value of run.json as text: numbers with separators, "yes" and "no"; "" when there is none. */
static const char *show(const struct report_run *run, const char *path, char *text, size_t bytes)
{
    const json_t *value = saved_run_json(&run->run, path);
    char count[UNITS_TEXT_BYTES];
    text[0] = '\0';
    if (json_is_string(value)) {
        snprintf(text, bytes, "%s", json_string_value(value));
    } else if (strcmp(path, "connection.port") == 0 && json_is_integer(value)) {
        snprintf(text, bytes, "%d", (int)json_integer_value(value)); /* a name, not a number */
    } else if (json_is_integer(value) && json_integer_value(value) >= 0) {
        snprintf(text, bytes, "%s", units_format_count((uint64_t)json_integer_value(value), count));
    } else if (json_is_number(value)) {
        snprintf(text, bytes, "%.6g", json_number_value(value));
    } else if (json_is_boolean(value)) {
        snprintf(text, bytes, "%s", json_is_true(value) ? "yes" : "no");
    }
    return text;
}

static void add_rows(struct buffer *html, const struct report_run *run,
                     const char *const (*lines)[2], size_t count)
{
    buffer_add_text(html, "<table class=\"pairs\"><tbody>\n");
    for (size_t i = 0; i < count; i++) {
        char text[HTML_TEXT_BYTES];
        html_add_pair(html, lines[i][1], show(run, lines[i][0], text, sizeof text));
    }
    buffer_add_text(html, "</tbody></table></div>\n");
}

static void add_machine(struct buffer *html, const struct report_run *run)
{
    static const char *const lines[][2] = {
        {"environment.host", "Host"},
        {"environment.kernel", "Kernel"},
        {"environment.cpu_model", "CPU"},
        {"environment.cpus", "CPUs"},
        {"environment.cpus_usable", "CPUs usable"},
        {"environment.open_files.soft", "Limit of open files"},
        {"environment.processes.soft", "Limit of threads"},
        {"environment.client_library", "Client library"},
        {"version", "append"},
    };
    buffer_add_text(html, "<div class=\"card\"><h4>Machine of append</h4>\n");
    const json_t *bytes = saved_run_json(&run->run, "environment.memory_bytes");
    if (json_is_integer(bytes)) {
        char text[UNITS_TEXT_BYTES];
        buffer_add_text(html, "<table class=\"pairs\"><tbody>\n");
        html_add_pair(html, "Memory",
                      units_format_bytes((uint64_t)json_integer_value(bytes), text));
        buffer_add_text(html, "</tbody></table>\n");
    }
    add_rows(html, run, lines, sizeof lines / sizeof lines[0]);
}

static void add_server(struct buffer *html, const struct report_run *run)
{
    static const char *const lines[][2] = {
        {"server.version", "Version"},
        {"connection.host", "Host"},
        {"connection.port", "Port"},
        {"connection.database", "Database"},
        {"connection.user", "User"},
        {"connection.method", "Method"},
        {"connection.note", "Note"},
        {"table.name", "Table"},
        {"table.engine", "Engine"},
        {"resources.server_name", "Process"},
        {"resources.max_server_processes", "Processes, at most"},
        {"resources.memory_source", "Memory by"},
        {"resources.server_note", "Note"},
    };
    buffer_add_text(html, "<div class=\"card\"><h4>Server</h4>\n");
    add_rows(html, run, lines, sizeof lines / sizeof lines[0]);
}

static void add_settings(struct buffer *html, const struct report_run *run)
{
    static const char *const lines[][2] = {
        {"plan.sessions", "Sessions"},
        {"plan.idle_sessions", "Idle sessions"},
        {"plan.records", "Rows"},
        {"plan.duration_s", "Duration, s"},
        {"plan.batch_rows", "Rows in a batch"},
        {"plan.read_mode", "Read after it"},
        {"plan.read_sql", "Query"},
        {"plan.read_every", "Read every, batches"},
        {"plan.data_mode", "Data"},
        {"plan.values", "Values"},
        {"plan.skip_columns", "Columns left out"},
        {"plan.seed", "Seed"},
        {"plan.rate_rows_per_s", "Rate, rows/s"},
        {"plan.connect_concurrency", "Connecting at a time"},
        {"plan.sample_interval_s", "Sample interval, s"},
        {"plan.timeout_s", "Timeout of a call, s"},
        {"plan.on_drop", "On drop"},
        {"plan.churn_batches", "Churn, batches"},
        {"outcome.stop_reason", "Ended"},
        {"outcome.exit_code", "Exit code"},
        {"outcome.exit_reason", "Reason"},
    };
    buffer_add_text(html, "<div class=\"card\"><h4>Settings and end</h4>\n");
    add_rows(html, run, lines, sizeof lines / sizeof lines[0]);
}

void page_add_run_environment(struct page *page, const struct report_run *run)
{
    struct buffer *html = page->html;
    buffer_add_text(html, "<h3>Environment</h3>\n<div class=\"cards\">\n");
    add_machine(html, run);
    add_server(html, run);
    add_settings(html, run);
    buffer_add_text(html, "</div>\n<p class=\"note words\">Files: ");
    html_add_text(html, run->run.folder);
    buffer_add_text(html, "</p>\n");
}
