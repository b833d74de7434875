/*
 * The page of a report: one HTML file that contains its style, script and charts, and loads nothing
 * else.
 */
#include <math.h>
#include <string.h>

#include "base/mono.h"
#include "base/text.h"
#include "measure/sampler.h"
#include "plan/options.h"
#include "report/page_table.h"
#include "report/report.h"
#include "report/tables.h"

enum {
    HALF_WIDTH_COLUMNS = 4, /* a sweep's table with more columns takes the whole width */
    CAUSES_SHOWN = 20,
    EVENTS_SHOWN = 60,
    COLUMNS_MAX = 16 + FIGURE_POINTS_MAX,
    JSON_DEPTH = 8,         /* deepest nesting of objects; run.json has fewer levels */
    LONG_TEXT_PIECE = 1000, /* greatest length of a piece of a long text, in bytes */
};

/* Adds a text between two pieces of HTML. Adds nothing when the text is NULL or "". */
static void add_between(struct buffer *html, const char *before, const char *text,
                        const char *after)
{
    if (text != NULL && text[0] != '\0') {
        buffer_add_format(html, "%s%s%s", before, REPORT_ESCAPED(text), after);
    }
}

/* Returns the percentiles and other points of a latency distribution that the run's option
 * --percentiles selects. */
static struct figure_points points_of(const struct saved_run *run)
{
    const char *shown = json_string_value(saved_run_json(run, "plan.percentiles")), *wrong;
    struct figure_points points = figure_points_default();
    if (shown != NULL && !figure_points_show(&points, shown, &wrong)) {
        points = figure_points_default();
    }
    return points;
}

/* The columns of a table that the page shows. */
struct columns {
    struct page_column shown[COLUMNS_MAX];
    const char *keys[COLUMNS_MAX]; /* key of each column in the files of the run */
    size_t count;
    struct figure_points points; /* points of --percentiles; they own texts of the columns */
};

static void add_column(struct columns *columns, const char *key, struct page_column column)
{
    if (columns->count < COLUMNS_MAX) {
        columns->keys[columns->count] = key;
        columns->shown[columns->count++] = column;
    }
}

/* Adds a column for each point of a distribution. */
static void add_points(struct columns *columns, const struct saved_run *run)
{
    columns->points = points_of(run);
    for (size_t i = 0; i < columns->points.count; i++) {
        const struct figure_point *point = &columns->points.entries[i];
        if (!point->is_in_files_only) {
            add_column(columns, point->key, (struct page_column){point->title, AS_NUMBER});
        }
    }
}

static void find_columns(struct columns *columns, const struct report_table *table,
                         const struct saved_run *run)
{
    columns->count = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        const struct report_column *column = &table->columns[i];
        if (report_column_is_shown(column, false, report_is_scripted(run))) {
            add_column(columns, column->key, column->page);
        }
    }
    if (table->has_points) {
        add_points(columns, run);
    }
}

/* Formats a count from a file. The text is valid to the end of the block. */
#define WHOLE(value) UNITS_COUNT((value) > 0 && (value) < 1e18 ? (uint64_t)(value) : 0)

/* Formats a time in ms of run.json. The text is valid to the end of the block. */
#define MS_OF(run, path) REPORT_TIME(saved_run_json((run), (path)), (double)MONO_NS_PER_MS)

static double number_in(const json_t *json, const char *key)
{
    return json_number_value(json_object_get(json, key));
}

/* Returns a member that is a text; "" when it is missing or not a text, as in a damaged file. */
static const char *text_in(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    return text == NULL ? "" : text;
}

static const char *text_of(const struct saved_run *run, const char *path)
{
    const char *text = json_string_value(saved_run_json(run, path));
    return text == NULL ? "" : text;
}

/* Returns the CSS class and the sign of a verdict. Unknown verdicts look like INVALID. */
static const char *const *style_of_verdict(const char *verdict)
{
    static const char *const styles[][3] = {{"VALID", "valid", "✓"},
                                            {"DEGRADED", "degraded", "!"},
                                            {"RUNNING", "running", "…"},
                                            {"INVALID", "invalid", "✕"}};
    size_t i = 0;
    while (i < 3 && strcmp(styles[i][0], verdict) != 0) {
        i++;
    }
    return styles[i] + 1;
}

/* Adds charts, and a hint about the use of the charts. The page's script makes the hint visible. */
static void add_charts(struct buffer *html, const struct report *report, struct chart_range range)
{
    if (range.count == 0) {
        return;
    }
    buffer_add_text(html,
                    "<p class=\"note hint\" hidden>Values: point at a chart, or focus it and use "
                    "the arrow keys. Zoom: drag over a time, or press + and −. <button "
                    "type=\"button\" disabled>Show the whole time (0)</button></p>\n"
                    "<div class=\"charts\">\n");
    for (size_t i = range.first; i < range.first + range.count; i++) {
        svg_add_chart(html, &report->charts.entries[i], i + 1);
    }
    buffer_add_text(html, "</div>\n");
}

/* Returns a text that says how the server's memory was measured. `source` is the memory_source of
 * run.json, for example "pss". Returns an unknown source unchanged. */
static const char *describe_memory_source(const char *source)
{
    for (size_t i = 0; i <= MEMORY_CGROUP; i++) {
        if (strcmp(source, memory_source_names[i]) == 0) {
            return memory_source_texts[i];
        }
    }
    return source;
}

/* Writes the text below a headline figure: the parts of the figure, or how it was measured. */
static void describe_headline(const struct saved_run *run, ptrdiff_t id, char *words, size_t bytes)
{
    const double ns = (double)MONO_NS_PER_S;
    const json_t *times = json_object_get(run->json, "times");
    double value;
    if (id == FIGURE_MAX_CPU_PERCENT) {
        const double cpus = json_number_value(saved_run_json(run, "resources.cpus"));
        const bool has_server = saved_run_figure(run, "server_cpu_percent_at_max", &value);
        snprintf(words, bytes, "%s%.0f CPU%s: %s%s%sappend %s %%", cpus > 1 ? "all " : "", cpus,
                 cpus > 1 ? "s" : "", has_server ? "server " : "",
                 has_server ? REPORT_VALUE(run, "server_cpu_percent_at_max") : "",
                 has_server ? " %, " : "", REPORT_VALUE(run, "client_cpu_percent_at_max"));
    } else if (id == FIGURE_MAX_MEMORY_MIB) {
        const char *name = text_of(run, "resources.server_name");
        const char *source = describe_memory_source(saved_run_text(run, "memory_source"));
        const bool is_known = name[0] != '\0' || source[0] != '\0';
        snprintf(words, bytes, "%s%s%s", is_known ? name : text_of(run, "resources.server_note"),
                 name[0] != '\0' && source[0] != '\0' ? ": " : "", source);
    } else if (id == FIGURE_ELAPSED_S) {
        snprintf(words, bytes, "connect %s, append %s, disconnect %s",
                 REPORT_TIME(json_object_get(times, "connect_s"), ns),
                 REPORT_TIME(json_object_get(times, "append_s"), ns),
                 REPORT_TIME(json_object_get(times, "disconnect_s"), ns));
    } else if (id == FIGURE_TRANSACTIONS_PER_S) {
        snprintf(words, bytes, "committed per second; %s statements/s, transaction p99 %s",
                 REPORT_VALUE(run, "statements_per_s"), MS_OF(run, "latencies.transaction.p99_ms"));
    } else {
        const bool is_known = saved_run_figure(run, "append_rows_per_s", &value);
        const double append_s = number_in(times, "append_s");
        snprintf(words, bytes, "by elapsed time%s%s%s%s", is_known ? "; " : "",
                 is_known ? REPORT_VALUE(run, "append_rows_per_s") : "",
                 is_known ? " rows/s while appending" : "",
                 append_s > 0 && append_s < 1 ? "; the run was too short for repeatable figures"
                                              : "");
    }
}

/* Adds the title, the server, the verdict and the headline figures of a run. */
static void add_header(struct buffer *html, const struct saved_run *run, size_t number, int level)
{
    char words[300], title[REPORT_WORDS_BYTES], started[REPORT_WORDS_BYTES] = "";
    const char *utc = saved_run_text(run, "started_utc"), *separator = "";
    const char *verdict = saved_run_text(run, "verdict");
    if (strlen(utc) > 19 && utc[10] == 'T') {
        snprintf(started, sizeof started, "%.10s %.8s UTC", utc, utc + 11);
    }
    buffer_add_format(html,
                      "<section id=\"run%zu\">\n<h%d>%s</h%d>\n<p class=\"sub\">%s</p>\n"
                      "<p class=\"sub\">",
                      number, level, REPORT_ESCAPED(report_title(run, title)), level,
                      REPORT_ESCAPED(saved_run_text(run, "target")));
    const char *const parts[] = {text_of(run, "server.version"),
                                 figure_has_rows(&run->figures) ? saved_run_text(run, "method")
                                                                : "",
                                 saved_run_text(run, "engine"), started};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        add_between(html, separator, parts[i], "");
        separator = parts[i][0] != '\0' ? " · " : separator;
    }
    buffer_add_format(html,
                      "</p>\n<div class=\"verdict %s\"><b>%s&nbsp;%s</b><span>%s</span></div>\n"
                      "<div class=\"tiles\">\n",
                      style_of_verdict(verdict)[0], style_of_verdict(verdict)[1],
                      REPORT_ESCAPED(verdict),
                      REPORT_ESCAPED(saved_run_text(run, "verdict_reason")));
    const struct figure *figure;
    /* a sweep's run in progress has no figures yet */
    const bool has_figures = !run->is_running || saved_run_json(run, "plan") != NULL;
    for (size_t i = 0;
         has_figures && (figure = report_headline(i, report_is_scripted(run))) != NULL; i++) {
        double known;
        if (figure == &figure_table[FIGURE_THROUGHPUT_ROWS_PER_S] &&
            !figure_has_rows(&run->figures)) {
            continue; /* the script writes only with its own statements */
        }
        describe_headline(run, figure - figure_table, words, sizeof words);
        buffer_add_format(
            html,
            "<div class=\"tile\"><p>%s</p><p class=\"value\">%s<small>%s</small></p><p>%s</p>"
            "</div>\n",
            figure->label, REPORT_VALUE(run, figure->key),
            saved_run_figure(run, figure->key, &known) ? figure_unit(figure->key) : "",
            REPORT_ESCAPED(words));
    }
    buffer_add_text(html, "</div>\n");
}

/* Adds a table of the known counts of a group of figures. A group whose first figure is the total
 * of the others is a ledger. For a ledger, also adds a bar that shows the parts of the total, and
 * adds nothing if the total is unknown. */
static void add_group(struct buffer *html, const struct saved_run *run, const char *title,
                      enum figure_group group)
{
    const struct figure *end = figure_table + FIGURES, *total = figure_table;
    double all = 0, value;
    while (total->group != group) {
        total++;
    }
    const bool is_ledger = total->better == FIGURE_TOTAL;
    if (is_ledger && !saved_run_figure(run, total->key, &all)) {
        return;
    }
    /* a run with a script has these groups only when the script appends rows */
    const bool is_of_rows = group == FIGURE_GROUP_ROWS || group == FIGURE_GROUP_VERIFIED;
    if (is_of_rows && report_is_scripted(run) &&
        !(saved_run_figure(run, "rows_planned", &value) && value > 0)) {
        return;
    }
    buffer_add_format(html, "<div class=\"card\"><h4>%s</h4>\n%s", title,
                      is_ledger ? "<svg class=\"stack\" aria-hidden=\"true\">" : "");
    double left = 0;
    for (const struct figure *figure = total; is_ledger && figure < end; figure++) {
        if (figure->group == group && figure->key != NULL && figure->better != FIGURE_TOTAL &&
            saved_run_figure(run, figure->key, &value) && value > 0 && all > 0) {
            const char *style = figure->better == FIGURE_HIGH ? "" : "soft";
            const double width = 100 * value / all;
            buffer_add_format(html,
                              "<rect class=\"%s\" x=\"%.4f%%\" width=\"%.4f%%\" height=\"100%%\"/>",
                              figure->better == FIGURE_LOW ? "lost" : style, left, width);
            left += width;
        }
    }
    buffer_add_format(html, "%s<table><tbody>\n", is_ledger ? "</svg>\n" : "");
    for (const struct figure *figure = total; figure < end; figure++) {
        if (figure->group == group && figure->key != NULL && figure->unit == FIGURE_UNIT_COUNT &&
            saved_run_figure(run, figure->key, &value)) {
            const bool is_bad = value > 0 && figure->better == FIGURE_LOW;
            const char *style = value == 0 && is_ledger ? " zero" : "";
            buffer_add_format(html,
                              "<tr class=\"%s%s\"><th scope=\"row\">%s</th><td class=\"n\">%s</td>"
                              "</tr>\n",
                              is_ledger && figure->better != FIGURE_TOTAL ? "part" : "",
                              is_bad ? " bad" : style, figure->label, WHOLE(value));
        }
    }
    buffer_add_text(html, "</tbody></table>\n");
    if (group == FIGURE_GROUP_VERIFIED) {
        page_add_note(html, figure_text(&run->figures, FIGURE_VERIFICATION_REASON));
        page_add_note(html, figure_text(&run->figures, FIGURE_VERIFICATION_NOTE));
    }
    buffer_add_text(html, "</div>\n");
}

/* Formats a number. A whole number has no decimals. */
static const char *format_number(double value, char text[REPORT_WORDS_BYTES])
{
    const bool is_count = value >= 0 && value < 1e15 && floor(value) == value;
    return is_count ? units_format_count((uint64_t)value, text) : report_format(value, text);
}

/* Formats a member of run.json for people. A time has its unit. Returns `text` or the member's own
 * text; NULL when the value is unknown. */
static const char *format_member(const char *key, const json_t *value,
                                 char text[REPORT_WORDS_BYTES])
{
    if (strstr(key, "_ms") != NULL) {
        return report_format_time(value, (double)MONO_NS_PER_MS, text);
    }
    if (json_is_number(value)) {
        return format_number(json_number_value(value), text);
    }
    return json_is_boolean(value) ? (json_is_true(value) ? "yes" : "NO") : json_string_value(value);
}

/* Returns row `i` of a list of run.json; an object is a list of one row. Returns NULL if there are
 * no more rows. */
static json_t *row_at(json_t *list, size_t i)
{
    if (json_is_object(list)) {
        return i == 0 ? list : NULL;
    }
    return json_array_get(list, i);
}

/* Returns whether the table shows a row of run.json. The row must have the member table->wanted,
 * and the text of this member must not be table->unwanted. */
static bool is_row_of(const struct saved_run *row, const struct report_table *table)
{
    const json_t *wanted = saved_run_json(row, table->wanted);
    const char *word = json_string_value(wanted);
    return wanted != NULL &&
           (word == NULL || table->unwanted == NULL || strcmp(word, table->unwanted) != 0);
}

/* Adds a table with rows of run.json. Adds nothing if run.json does not have such rows. */
static void add_table(struct buffer *html, const struct saved_run *run,
                      const struct report_table *table)
{
    json_t *list = saved_run_json(run, table->list);
    struct columns columns;
    find_columns(&columns, table, run);
    bool is_open = false;
    for (size_t i = 0; row_at(list, i) != NULL; i++) {
        const struct saved_run row = {.json = row_at(list, i)};
        if (!is_row_of(&row, table)) {
            continue;
        }
        if (!is_open) {
            page_table_begin(html, table->heading, columns.shown, columns.count);
            is_open = true;
        }
        page_table_begin_row(html);
        for (size_t k = 0; k < columns.count; k++) {
            const char *key = columns.keys[k];
            char number[REPORT_WORDS_BYTES];
            const char *text = format_member(key, saved_run_json(&row, key), number);
            if (table->figure != NULL && strcmp(key, "value") == 0 && text == number) {
                const char *unit = figure_unit(text_in(row.json, table->figure));
                strncat(number, unit, sizeof number - strlen(number) - 1);
            }
            page_table_add_text(html, &columns.shown[k], text);
        }
        page_table_end_row(html);
    }
    if (is_open) {
        page_table_end(html, NULL);
    }
}

/* Adds the numbers of checks and of calls of found() in the script. */
static void add_checks(struct buffer *html, const struct saved_run *run)
{
    static const struct page_column columns[] = {{"", AS_NAME}, {"number", AS_NUMBER}};
    static const struct {
        const char *key, *words;
    } counts[] = {
        {"checks", "checks"},
        {"checks_failed", "checks that failed"},
        {"found", "found, as the script reports"},
        {"not_found", "not found, as the script reports"},
    };
    const json_t *counters = json_object_get(run->json, "counters");
    bool is_open = false;
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        const double count = number_in(counters, counts[i].key);
        if (count > 0) {
            if (!is_open) {
                page_table_begin(html, "Checks", columns, COUNT_OF(columns));
                is_open = true;
            }
            PAGE_TABLE_ROW(html, columns, counts[i].words, WHOLE(count));
        }
    }
    if (is_open) {
        page_table_end(html, NULL);
    }
}

/* Adds the parts of the time of an average commit, as a table and as a bar. */
static void add_commit(struct buffer *html, const struct saved_run *run)
{
    const json_t *parts = saved_run_json(run, report_commit.list);
    double left = 0;
    add_table(html, run, &report_commit);
    buffer_add_text(html, json_array_size(parts) > 0 ? "<svg class=\"stack parts\">" : "");
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i);
        const double width = number_in(part, "share_percent");
        buffer_add_format(html,
                          "<rect class=\"s%zu\" x=\"%.4f%%\" width=\"%.4f%%\" height=\"100%%\">"
                          "<title>%s: %.3f ms</title></rect>",
                          i + 1, left, width, REPORT_ESCAPED(text_in(part, "part")),
                          number_in(part, "ms"));
        left += width;
    }
    buffer_add_text(html, json_array_size(parts) > 0 ? "</svg>\n" : "");
}

static void add_trace(struct buffer *html, const struct saved_run *run)
{
    static const struct page_column columns[] = {
        {"call", AS_NAME},        {"count", AS_NUMBER},
        {"mean", AS_NUMBER},      {"file system (vfs)", AS_NUMBER},
        {"queue", AS_NUMBER},     {"device", AS_NUMBER},
        {"p99", AS_NUMBER},       {"p99 file system", AS_NUMBER},
        {"p99 queue", AS_NUMBER}, {"p99 device", AS_NUMBER}};
    const json_t *calls = saved_run_json(run, "io_trace.calls");
    const json_t *server = saved_run_json(run, "io_trace.server");
    double lost = 0, open = 0;
    struct buffer note = {0};
    if (json_array_size(calls) == 0) {
        return;
    }
    page_table_begin(html, "Where the time of I/O goes", columns, COUNT_OF(columns));
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const struct saved_run call = {.json = json_array_get(calls, i)};
        const char *mode = text_of(&call, "mode"), *file = text_of(&call, "file");
        char name[REPORT_WORDS_BYTES];
        snprintf(name, sizeof name, "%.30s%s%.30s", mode, file[0] == '\0' ? "" : ", ", file);
        PAGE_TABLE_ROW(html, columns, name, WHOLE(number_in(call.json, "count")),
                       MS_OF(&call, "total.mean_ms"), MS_OF(&call, "vfs.mean_ms"),
                       MS_OF(&call, "queue.mean_ms"), MS_OF(&call, "device.mean_ms"),
                       MS_OF(&call, "total.p99_ms"), MS_OF(&call, "vfs.p99_ms"),
                       MS_OF(&call, "queue.p99_ms"), MS_OF(&call, "device.p99_ms"));
    }
    figure_get(&run->figures, FIGURE_TRACE_LOST, &lost);
    figure_get(&run->figures, FIGURE_TRACE_OPEN, &open);
    buffer_add_format(&note, "Trace records lost: %s; calls that ended before their requests: %s",
                      WHOLE(lost), WHOLE(open));
    for (size_t i = 0; i < json_array_size(server); i++) {
        const json_t *entry = json_array_get(server, i);
        const char *name = text_in(entry, "name");
        buffer_add_format(&note, "; %.40s: the server counted %s, the trace %s", name,
                          WHOLE(number_in(entry, "counted")), WHOLE(number_in(entry, "traced")));
    }
    page_table_end(html, buffer_text(&note));
    buffer_fini(&note);
}

static void add_causes(struct buffer *html, const struct saved_run *run)
{
    static const struct page_column columns[] = {{"count", AS_NUMBER},
                                                 {"during", AS_TEXT},
                                                 {"kind", AS_TEXT},
                                                 {"message", AS_WORDS},
                                                 {"first – last", AS_NUMBER}};
    const json_t *causes = saved_run_json(run, "causes");
    double others = json_number_value(saved_run_json(run, "other_causes"));
    char text[160];
    if (json_array_size(causes) > 0 || others > 0) {
        page_table_begin(html, "Errors", columns, COUNT_OF(columns));
        for (size_t i = 0; i < json_array_size(causes); i++) {
            const json_t *cause = json_array_get(causes, i);
            snprintf(text, sizeof text, "%.1f – %.1f s", number_in(cause, "first_s"),
                     number_in(cause, "last_s"));
            char phase[REPORT_WORDS_BYTES];
            const char *name = text_in(cause, "name");
            const char *of = text_in(cause, "phase");
            of = strcmp(of, "script") == 0 && name[0] != '\0' ? "transaction" : of;
            const char *quote = name[0] == '\0' ? "" : "'";
            snprintf(phase, sizeof phase, "%.15s%s%s%.40s%s", of, name[0] == '\0' ? "" : " ", quote,
                     name, quote);
            if (i < CAUSES_SHOWN) {
                PAGE_TABLE_ROW(html, columns, WHOLE(number_in(cause, "count")), phase,
                               text_in(cause, "kind"), text_in(cause, "text"), text);
            } else {
                others += number_in(cause, "count");
            }
        }
        snprintf(text, sizeof text, "errors with other causes: %.0f; see run.json", others);
        page_table_end(html, others > 0 ? text : NULL);
    }
}

static void add_latencies(struct buffer *html, const struct saved_run *run)
{
    double unanswered = 0;
    char text[160];
    struct columns columns = {.count = 0};
    add_column(&columns, NULL, (struct page_column){" ", AS_NAME});
    add_points(&columns, run);
    add_column(&columns, "count", (struct page_column){"measured", AS_NUMBER});
    page_table_begin(html, "Latencies", columns.shown, columns.count);
    const char *name;
    json_t *latency;
    json_object_foreach(json_object_get(run->json, "latencies"), name, latency)
    {
        const size_t last = columns.count - 1;
        const double timed = number_in(latency, "count");
        if (timed <= 0) {
            continue;
        }
        page_table_begin_row(html);
        page_table_add_text(html, &columns.shown[0], name);
        for (size_t i = 1; i < last; i++) {
            snprintf(text, sizeof text, "%s_ms", columns.keys[i]);
            const json_t *ms = json_object_get(latency, text);
            page_table_add_text(html, &columns.shown[i], REPORT_TIME(ms, (double)MONO_NS_PER_MS));
        }
        page_table_add_text(html, &columns.shown[last], WHOLE(timed));
        page_table_end_row(html);
    }
    figure_get(&run->figures, FIGURE_COUNTER_RESPONSES_UNANSWERED, &unanswered);
    snprintf(text, sizeof text,
             "response: %s of the measured calls had no answer; the table has the time waited, so "
             "the real response %s longer",
             WHOLE(unanswered), unanswered == 1 ? "time is" : "times are");
    page_table_end(html, unanswered > 0 ? text : NULL);
}

/* The page's words for members of run.json whose keys are not clear by themselves. The words are
 * NULL if the page does not show the member here. */
static const struct {
    const char *key, *words;
} member_words[] = {
    {"settings", NULL},
    {"settings_changed", NULL},
    {"host_settings", NULL},
    {"host_settings_changed", NULL},
    {"storage_source", NULL},
    {"verdict", NULL}, /* shown at the top of the page */
    {"verdict_reason", NULL},
    {"soft", "(soft limit)"},
    {"hard", "(hard limit)"},
    {"cpu_model", "CPU model"},
    {"cpus", "CPUs"},
    {"cpus_usable", "CPUs that append may use"},
    {"method", "rows appended by"},
    {"dialect", "SQL dialect"},
    {"is_embedded", "database inside append"},
    {"server_note", "note on the server"},
    {"server_pid", "process of the server"},
    {"server_name", "program of the server"},
    {"client_bound", "limited by this machine"},
    {"stop_reason", "ended"},
    {"hash", "hash of the script"},
    {"parameters", "parameter"},
    {"max_host_cpu_percent", "CPU of this machine, highest"},
    {"max_server_cpu_percent", "CPU of the server, highest"},
    {"max_client_cpu_percent", "CPU of append, highest"},
    {"server_cpu_percent_at_max", "CPU use of the server when this machine's CPU use was highest"},
    {"client_cpu_percent_at_max", "CPU use of append when this machine's CPU use was highest"},
    {"other_cpu_percent_at_max",
     "CPU use of other programs when this machine's CPU use was highest"},
    {"mean_host_cpu_percent", "CPU of this machine, mean"},
    {"mean_server_cpu_percent", "CPU of the server, mean"},
    {"mean_client_cpu_percent", "CPU of append, mean"},
    {"mean_other_cpu_percent", "CPU of other programs, mean"},
    {"server_cpu_s", "CPU time of the server"},
    {"client_cpu_s", "CPU time of append"},
    {"memory_source", "memory measured as"},
    {"max_server_memory_bytes", "memory of the server, highest"},
    {"max_client_memory_bytes", "memory of append, highest"},
    {"max_server_processes", "processes of the server, highest number"},
    {"server_cpu_us_per_row", "CPU time of the server per row"},
    {"suspended_s", "append was suspended for"},
    {"server_read_mib", "read by the server's system calls"},
    {"server_written_mib", "written by the server's system calls"},
    {"server_read_calls", "read system calls of the server"},
    {"server_write_calls", "write system calls of the server"},
    {"storage_read_mib", "read from storage for the server"},
    {"storage_written_mib", "written to storage by the server"},
    {"iowait_percent", "CPUs idle while I/O was pending (iowait)"},
    {"device_read_mib", "read from the device"},
    {"device_written_mib", "written to the device"},
    {"device_reads", "reads of the device"},
    {"device_writes", "writes of the device"},
    {"device_flushes", "flushes of the device"},
    {"device_read_ms", "time of a read of the device, mean"},
    {"device_write_ms", "time of a write of the device, mean"},
    {"device_flush_ms", "time of a flush of the device, mean"},
    {"device_queue", "mean number of requests in flight at the device"},
    {"device_busy_percent", "device busy, mean"},
    {"max_device_busy_percent", "device busy, highest"},
    {"io_pressure_percent", "I/O pressure (time in which some task waited for I/O)"},
    {"cpu_pressure_percent", "CPU pressure (time in which some task waited for a CPU)"},
    {"memory_pressure_percent", "memory pressure (time in which some task waited for memory)"},
    {"table_mib_before", "tables on the disk before"},
    {"table_mib_after", "tables on the disk after"},
    {"disk_bytes_per_row", "disk space per row"},
    {"write_amplification", "bytes written to the disk per byte of the rows"},
};

/* Writes the words for a member of run.json: the words of member_words, else the key without its
 * unit. Returns false if the page does not show the member. */
static bool word_member(const char *key, char *words, size_t size)
{
    for (size_t i = 0; i < sizeof member_words / sizeof member_words[0]; i++) {
        if (strcmp(member_words[i].key, key) == 0) {
            snprintf(words, size, "%s", member_words[i].words == NULL ? "" : member_words[i].words);
            return member_words[i].words != NULL;
        }
    }
    snprintf(words, size, "%.*s", (int)(strlen(key) - strlen(figure_suffix(key))), key);
    for (char *at = strchr(words, '_'); at != NULL; at = strchr(at, '_')) {
        *at = strcmp(at, "_bytes") == 0 ? '\0' : ' ';
    }
    return true;
}

static void add_pair(struct buffer *html, const char *name, const char *text)
{
    buffer_add_format(html, "<tr><th scope=\"row\">%s</th><td>%s</td></tr>\n", REPORT_ESCAPED(name),
                      REPORT_ESCAPED(text));
}

/* Adds a row for a value of run.json. The row's name is `before` and the words of the key. For an
 * object, adds a row for each member, down to `depth` nested objects. Leaves out lists, false and
 * unknown values. The parameters of the script keep their own names. */
static void add_json(struct buffer *html, const char *before, const char *key, json_t *value,
                     int depth)
{
    char name[REPORT_WORDS_BYTES], words[REPORT_WORDS_BYTES], text[REPORT_ESCAPED_BYTES] = "";
    const json_int_t whole = json_integer_value(value);
    const bool is_count = json_is_integer(value) && whole >= 0;
    if (strcmp(before, "parameter ") == 0) {
        snprintf(words, sizeof words, "%.*s", (int)sizeof words - 1, key);
    } else if (!word_member(key, words, sizeof words)) {
        return;
    }
    snprintf(name, sizeof name, "%s%.*s", before, (int)(sizeof name - 1 - strlen(before)), words);
    if (json_is_object(value)) {
        const char *member;
        json_t *entry;
        strncat(name, name[0] != '\0' ? " " : "", sizeof name - strlen(name) - 1);
        json_object_foreach(depth > 0 ? value : NULL, member, entry)
        {
            add_json(html, name, member, entry, depth - 1);
        }
    } else if (is_count && strcmp(key, "port") == 0) {
        snprintf(text, sizeof text, "%d", (int)whole); /* a port is written without separators */
    } else if (is_count) {
        snprintf(text, sizeof text, "%s",
                 strstr(key, "_bytes") != NULL ? UNITS_BYTES((uint64_t)whole)
                                               : UNITS_COUNT((uint64_t)whole));
    } else if (json_is_number(value)) {
        snprintf(text, sizeof text, "%s%s", REPORT_NUMBER(json_number_value(value)),
                 figure_unit(key));
    } else if (json_is_string(value) || json_is_true(value)) {
        snprintf(text, sizeof text, "%s", json_is_string(value) ? json_string_value(value) : "yes");
    }
    if (strcmp(key, "stop_reason") == 0) {
        snprintf(text, sizeof text, "%s", report_stop_words(json_string_value(value)));
    } else if (strcmp(key, "memory_source") == 0 && json_is_string(value)) {
        snprintf(text, sizeof text, "%s", describe_memory_source(json_string_value(value)));
    }
    /* the page leaves out an option that is off */
    if (text[0] != '\0' && !(key[0] == '\0' && strcmp(text, "off") == 0)) {
        add_pair(html, name, text);
    }
}

/* Adds the settings that the server reported, under the server's own names. */
static void add_settings(struct buffer *html, const struct saved_run *run)
{
    static const char *const parts[][2] = {{"settings", ""},
                                           {"settings_changed", " after the run"}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *setting;
        json_t *value;
        json_object_foreach(json_object_get(json_object_get(run->json, "server"), parts[i][0]),
                            setting, value)
        {
            const char *text = json_string_value(value);
            char name[REPORT_WORDS_BYTES];
            snprintf(name, sizeof name, "%.70s%s", setting, parts[i][1]);
            add_pair(html, name, text == NULL || text[0] == '\0' ? "not set" : text);
        }
    }
}

/* Adds the machine, server, resources, script and options of a run, and how it ended. */
static void add_environment(struct buffer *html, const struct saved_run *run)
{
    static const char *const sections[][3] = {
        {"Client machine", "environment", ""},
        {NULL, "version", "append"},
        {"Server", "server", "server"},
        {NULL, "connection", ""},
        {NULL, "table", "table"},
        {"Settings of the server", "settings", ""},
        {"Resources", "resources", ""},
        {"Disk", "io", ""},
        {"Workload", "workload", ""},
        {"Options and end of the run", "plan", ""},
        {NULL, "outcome", ""},
    };
    buffer_add_text(html, "<h3>Environment</h3>\n<div class=\"cards\">\n");
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        json_t *section = json_object_get(run->json, sections[i][1]);
        const bool is_settings = strcmp(sections[i][1], "settings") == 0;
        if (is_settings) {
            section = json_object_get(json_object_get(run->json, "server"), "settings");
        }
        if (json_object_size(section) == 0 &&
            (is_settings || strcmp(sections[i][1], "workload") == 0 ||
             strcmp(sections[i][1], "io") == 0)) {
            continue;
        }
        if (sections[i][0] != NULL) {
            buffer_add_format(html,
                              "%s<div class=\"card\"><h4>%s</h4>\n<table class=\"pairs\"><tbody>\n",
                              i > 0 ? "</tbody></table></div>\n" : "", sections[i][0]);
        }
        if (is_settings) {
            add_settings(html, run);
        } else if (strcmp(sections[i][1], "plan") == 0) {
            for (const struct option_entry *option = option_table; option->name != NULL; option++) {
                if (option->label != NULL) {
                    add_json(html, option->label, "", json_object_get(section, option->key),
                             JSON_DEPTH);
                }
            }
        } else if (run->is_search && strcmp(sections[i][1], "outcome") == 0) {
            /* leaves out stop_reason, because the verdict of a search says how the search ended */
            add_json(html, "", "exit_code", json_object_get(section, "exit_code"), JSON_DEPTH);
            add_json(html, "", "exit_reason", json_object_get(section, "exit_reason"), JSON_DEPTH);
        } else {
            add_json(html, sections[i][2], "", section, JSON_DEPTH);
        }
    }
    buffer_add_text(html, "</tbody></table></div>\n</div>\n");
    add_between(html, "<p class=\"note words\">Files: ", run->folder, "</p>\n");
}

/* Adds the levels of a search, in the order in which they were tried. */
static void add_levels(struct buffer *html, const struct saved_run *run)
{
    const struct csv_table *levels = &run->levels;
    struct columns columns;
    find_columns(&columns, &report_levels, run);
    page_table_begin(html, report_levels.heading, columns.shown, columns.count);
    for (size_t row = 0; row < levels->rows; row++) {
        page_table_begin_row(html);
        for (size_t i = 0; i < columns.count; i++) {
            const size_t column = csv_table_column(levels, columns.keys[i]);
            char number[REPORT_WORDS_BYTES];
            double value;
            const char *text = csv_table_number(levels, row, column, &value)
                                   ? format_number(value, number)
                                   : csv_table_text(levels, row, column);
            page_table_add_text(html, &columns.shown[i], text);
        }
        page_table_end_row(html);
    }
    page_table_end(html, NULL);
}

/* Adds a text of any length. The text is divided into pieces, because REPORT_ESCAPED cuts a long
 * text. */
static void add_long_text(struct buffer *html, const char *text)
{
    while (text[0] != '\0') {
        char piece[LONG_TEXT_PIECE + 1];
        size_t length = strnlen(text, LONG_TEXT_PIECE);
        size_t blank = length;
        while (text[length] != '\0' && blank > 0 && text[blank] != ' ') {
            blank--;
        }
        length = blank > 0 ? blank : length;
        snprintf(piece, sizeof piece, "%.*s", (int)length, text);
        buffer_add_text(html, REPORT_ESCAPED(piece));
        text += length;
    }
}

/* Adds the command line that repeats the run. */
static void add_command(struct buffer *html, const struct saved_run *run)
{
    const bool has_ranks = json_array_size(json_object_get(run->json, "ranks")) > 0;
    struct buffer line = {0};
    report_add_command(&line, run);
    if (line.length > 0) {
        buffer_add_text(html, "<h3>Command line</h3>\n<div class=\"card\"><code>");
        add_long_text(html, buffer_text(&line));
        buffer_add_format(html,
                          "</code>\n<p class=\"note\">This command line repeats the run%s; options "
                          "with their default values are left out. Add --seed=%s to repeat the "
                          "values of the rows as well.</p></div>\n",
                          has_ranks ? " (after mpirun and its options)" : "",
                          REPORT_ESCAPED(text_of(run, "plan.seed")));
    }
    html->has_failed |= line.has_failed;
    buffer_fini(&line);
}

/* Adds the table that shows how evenly the sessions worked. */
static void add_fairness(struct buffer *html, const struct saved_run *run)
{
    const json_t *fairness = json_object_get(run->json, "fairness");
    if (figure_has_rows(&run->figures) && number_in(fairness, "sessions") > 1) {
        add_table(html, run, &report_fairness);
    }
}

/* Adds the section of a run. If the page has other runs, the section can be folded. */
static void add_run(struct buffer *html, const struct report *report, size_t index, bool is_only)
{
    static const struct page_column of_events[] = {
        {"mark", AS_NAME}, {"time", AS_NUMBER}, {"event", AS_WORDS}};
    static const char *const ledgers[] = {[FIGURE_GROUP_SESSIONS] = "Sessions",
                                          [FIGURE_GROUP_ROWS] = "Rows",
                                          [FIGURE_GROUP_BATCHES] = "Batches",
                                          [FIGURE_GROUP_TRANSACTIONS] = "Transactions",
                                          [FIGURE_GROUP_VERIFIED] = "Verified"};
    const struct report_run *run = &report->runs[index];
    const bool is_running = index == report->run_count; /* see report->running */
    if (!is_only) {
        const char *verdict = saved_run_text(&run->run, "verdict");
        buffer_add_format(html, "<details class=\"run\"%s><summary><span>%s</span> ",
                          is_running ? " open" : "", REPORT_ESCAPED(run->label));
        page_add_chip(html, style_of_verdict(verdict)[0], verdict);
        buffer_add_text(html, "</summary>\n");
    }
    add_header(html, &run->run, index + 1, is_only ? 1 : 2);
    if (report->has_run_charts || is_running) {
        buffer_add_text(html, "<h3>Charts</h3>\n");
        add_charts(html, report, run->charts);
    } else {
        add_between(html, "<p class=\"note\">Charts of this run: append report ", run->run.folder,
                    "; with --all, this page shows the charts of all runs</p>\n");
    }
    page_add_note(html, buffer_text(&run->absent));
    const struct event_list *events = &run->events;
    const char *note = run->events_error[0] != '\0' ? run->events_error : events->note;
    if (events->count > 0 || note[0] != '\0') {
        page_table_begin(html, "Events", of_events, COUNT_OF(of_events));
        for (size_t i = 0; i < events->count && i < EVENTS_SHOWN; i++) {
            const double at_s = (double)events->entries[i].at_ns / (double)MONO_NS_PER_S;
            char at[UNITS_TEXT_BYTES];
            snprintf(at, sizeof at, "%.1f s", at_s);
            PAGE_TABLE_ROW(html, of_events, UNITS_COUNT(i + 1), at, events->entries[i].text);
        }
        if (events->count > EVENTS_SHOWN) {
            buffer_add_format(html, "<tr><td colspan=\"3\">%zu more: see events.csv</td></tr>\n",
                              events->count - EVENTS_SHOWN);
        }
        page_table_end(html, note);
    }
    if (run->run.is_search) {
        add_levels(html, &run->run);
    }
    buffer_add_text(html, "<h3>Ledgers</h3>\n<div class=\"cards\">\n");
    for (size_t i = 0; i < sizeof ledgers / sizeof ledgers[0]; i++) {
        if (ledgers[i] != NULL) {
            add_group(html, &run->run, ledgers[i], (enum figure_group)i);
        }
    }
    buffer_add_text(html, "</div>\n");
    add_table(html, &run->run, &report_hosts);
    add_table(html, &run->run, &report_ranks);
    add_table(html, &run->run, &report_stages);
    add_table(html, &run->run, &report_expectations);
    add_fairness(html, &run->run);
    double retries;
    add_table(html, &run->run, &report_transactions);
    if (figure_get(&run->run.figures, FIGURE_RETRIES, &retries) && retries > 0) {
        add_table(html, &run->run, &report_retries);
    }
    for (const struct report_table *const *table = report_tables; *table != NULL; table++) {
        add_table(html, &run->run, *table);
    }
    add_checks(html, &run->run);
    add_table(html, &run->run, &report_findings);
    add_causes(html, &run->run);
    add_latencies(html, &run->run);
    add_trace(html, &run->run);
    add_table(html, &run->run, &report_nodes);
    add_table(html, &run->run, &report_wait_shares);
    add_between(html, "<p>", text_of(&run->run, "waits.answer"), "</p>\n");
    add_commit(html, &run->run);
    add_table(html, &run->run, &report_wait_blockers);
    add_table(html, &run->run, &report_kernel_waits);
    add_between(html, "<p>", text_of(&run->run, "waits.kernel_answer"), "</p>\n");
    add_table(html, &run->run, &report_wait_counters);
    add_command(html, &run->run);
    add_table(html, &run->run, &report_weakened);
    add_environment(html, &run->run);
    buffer_add_text(html, is_only ? "</section>\n" : "</section>\n</details>\n");
}

static void add_sweep(struct buffer *html, const struct report *report,
                      const struct report_sweep *entry)
{
    static const struct page_column columns[] = {
        {"run", AS_NAME}, {"exit code", AS_NUMBER}, {"reason", AS_WORDS}};
    const struct saved_sweep *sweep = &entry->sweep;
    const size_t pending = saved_sweep_count(sweep, SAVED_PENDING);
    char text[REPORT_WORDS_BYTES], rows[REPORT_WORDS_BYTES + 8], title[SAVED_SWEEP_NAME_BYTES];
    char words[SAVED_SWEEP_REASON_BYTES];
    buffer_add_text(html, report->sweep_count > 1 ? "<h2>Sweep</h2>\n" : "");
    add_between(html, "<p class=\"sub\">", sweep->folder, "</p>\n");
    const size_t columns_count = saved_sweep_columns(sweep);
    buffer_add_format(html, "<p class=\"sub\">%zu × %zu cells", sweep->sessions_count,
                      columns_count);
    if (report_sweep_varies(sweep) && sweep->records_count == 1 && sweep->records[0] > 0) {
        buffer_add_format(html, ", each of %s rows", UNITS_COUNT(sweep->records[0]));
    }
    if (sweep->repeat > 1) {
        buffer_add_format(html, ", %u runs each: the median, and the lowest and highest value",
                          sweep->repeat);
    }
    if (pending > 0) {
        buffer_add_format(html, "; %zu of %zu runs have not ended yet", pending, sweep->run_count);
    }
    if (entry->left_out > 0) {
        buffer_add_format(html, "; the files of %u %s cannot be read", entry->left_out,
                          units_plural(entry->left_out, "run", "runs"));
    }
    buffer_add_format(html, "</p>\n%s",
                      entry->charts.count > 0 ? "<h3>Against sessions</h3>\n" : "");
    add_charts(html, report, entry->charts);
    buffer_add_format(
        html, "<h3>Tables</h3>\n<div class=\"tables%s\">\n",
        columns_count * (report_sweep_varies(sweep) ? 2 : 1) > HALF_WIDTH_COLUMNS ? " wide" : "");
    /* the table has a line for each number of sessions, and a column for each number of rows, or
     * for each variant; a cell has the median and the range of its runs */
    const struct figure *figure;
    const bool has_script = report_sweep_has_script(sweep);
    for (size_t f = 0; (figure = report_sweep_figure(has_script, f)) != NULL; f++) {
        if (!report_sweep_shows(sweep, figure)) {
            continue;
        }
        buffer_add_format(html,
                          "<div class=\"card scroll\"><h4>%s,%s</h4>\n<table><thead><tr>"
                          "<th>sessions</th>",
                          figure->label, figure_unit(figure->key));
        for (size_t i = 0; i < columns_count; i++) {
            const uint64_t records = sweep->runs[i * sweep->sessions_count].records;
            snprintf(rows, sizeof rows, "%s rows", report_format_count((double)records, text));
            saved_sweep_column(sweep, i, records > 0 ? rows : "", title);
            buffer_add_format(html, "<th class=\"n\">%s</th>", REPORT_ESCAPED(title));
        }
        buffer_add_text(html, "</tr></thead><tbody>\n");
        for (size_t i = 0; i < saved_sweep_cells(sweep) && columns_count > 0; i++) {
            const size_t row = i / columns_count, column = i % columns_count;
            struct spread spread = {0};
            const bool is_known = saved_sweep_figure(sweep, row, column, figure->key, &spread);
            if (column == 0) {
                buffer_add_format(html, "<tr><th scope=\"row\">%s</th>",
                                  UNITS_COUNT(sweep->sessions[row]));
            }
            buffer_add_format(html, "<td class=\"n\">%s",
                              is_known ? REPORT_NUMBER(spread.median) : "–");
            if (spread.count > 1) {
                buffer_add_format(html, "<small>%s – %s</small>", REPORT_NUMBER(spread.lowest),
                                  REPORT_NUMBER(spread.highest));
            }
            buffer_add_text(html, column + 1 == columns_count ? "</td></tr>\n" : "</td>");
        }
        buffer_add_text(html, "</tbody></table></div>\n");
    }
    buffer_add_text(html, "</div>\n");
    size_t place;
    json_t *change;
    json_array_foreach(json_object_get(sweep->json, "settings_changed"), place, change)
    {
        saved_sweep_describe_change(change, words, sizeof words);
        buffer_add_format(html, "<p class=\"note\">%s</p>\n", REPORT_ESCAPED(words));
    }
    if (saved_sweep_count(sweep, SAVED_FAILED) == 0) {
        return;
    }
    page_table_begin(html, "Runs that failed", columns, COUNT_OF(columns));
    for (size_t i = 0; i < sweep->run_count; i++) {
        const struct saved_sweep_run *run = &sweep->runs[i];
        if (run->state == SAVED_FAILED) {
            PAGE_TABLE_ROW(html, columns, run->name, WHOLE(run->exit_code), run->reason);
        }
    }
    page_table_end(html, NULL);
}

const char *page_title(const struct report *report, char title[REPORT_ESCAPED_BYTES])
{
    char words[REPORT_WORDS_BYTES];
    const struct saved_run *first = &report->runs[0].run;
    if (report->sweep_count == 1 && (report->run_count > 0 || report->running != NULL)) {
        snprintf(title, REPORT_ESCAPED_BYTES, "Sweep of %zu runs, %.100s", report->run_count,
                 REPORT_ESCAPED(saved_run_text(first, "adapter")));
    } else if (report->run_count == 1) {
        snprintf(title, REPORT_ESCAPED_BYTES, "%s, %.100s",
                 REPORT_ESCAPED(report_title(first, words)),
                 REPORT_ESCAPED(saved_run_text(first, "adapter")));
    } else {
        snprintf(title, REPORT_ESCAPED_BYTES, "%zu runs", report->run_count);
    }
    return title;
}

/* Adds a table with a row for each run, which has the headline figures of the run. */
static void add_all_runs(struct buffer *html, const struct report *report)
{
    static const struct page_column columns[] = {{"run", AS_NAME},
                                                 {"database", AS_TEXT},
                                                 {"verdict", AS_TEXT},
                                                 {"max CPU, %", AS_NUMBER},
                                                 {"max memory, MiB", AS_NUMBER},
                                                 {"elapsed, s", AS_NUMBER},
                                                 {"rows/s", AS_NUMBER},
                                                 {"append p99", AS_NUMBER},
                                                 {"transactions/s", AS_NUMBER},
                                                 {"transaction p99", AS_NUMBER}};
    /* the last two columns are shown only when a run has a script */
    const size_t shown = COUNT_OF(columns) - (report_has_script(report) ? 0 : 2);
    page_table_begin(html, "All runs", columns, shown);
    for (size_t i = 0; i < report->run_count; i++) {
        const struct saved_run *run = &report->runs[i].run;
        const char *verdict = saved_run_text(run, "verdict");
        char link[UNITS_TEXT_BYTES];
        snprintf(link, sizeof link, "run%zu", i + 1);
        const struct page_cell cells[] = {
            {.text = report->runs[i].label, .link = link},
            {.text = saved_run_text(run, "adapter")},
            {.text = verdict, .chip = style_of_verdict(verdict)[0]},
            {.text = REPORT_VALUE(run, "max_cpu_percent")},
            {.text = REPORT_VALUE(run, "max_memory_mib")},
            {.text = REPORT_VALUE(run, "elapsed_s")},
            {.text = REPORT_VALUE(run, "throughput_rows_per_s")},
            {.text = MS_OF(run, "latencies.append.p99_ms")},
            {.text = REPORT_VALUE(run, "transactions_per_s")},
            {.text = MS_OF(run, "latencies.transaction.p99_ms")},
        };
        _Static_assert(COUNT_OF(cells) == COUNT_OF(columns), "a cell for each column");
        page_table_add_row(html, columns, shown, cells);
    }
    page_table_end(html, NULL);
}

void page_add_content(struct buffer *html, const struct report *report)
{
    const bool is_single = report->run_count == 1 && report->sweep_count == 0;
    buffer_add_text(html, "<p class=\"brand\">append report</p>\n");
    if (!is_single) {
        char title[REPORT_ESCAPED_BYTES];
        buffer_add_format(html, "<h1>%s</h1>\n", page_title(report, title));
        for (size_t i = 0; i < report->sweep_count; i++) {
            add_sweep(html, report, &report->sweeps[i]);
        }
        if (report->running != NULL) {
            buffer_add_text(html, "<h3>The run in progress</h3>\n");
            add_run(html, report, report->run_count, false);
        }
        if (report->overview.count > 0) {
            buffer_add_text(html, "<h3>Runs compared</h3>\n");
            if (strstr(report->runs[0].label, "×") != NULL) {
                buffer_add_text(html,
                                "<p class=\"note\">The name of a run is the number of sessions × "
                                "the number of rows or the duration.</p>\n");
            }
            add_charts(html, report, report->overview);
        }
        add_all_runs(html, report);
        buffer_add_text(html, "<h3>Each run</h3>\n");
    }
    for (size_t i = 0; i < report->run_count; i++) {
        add_run(html, report, i, is_single);
    }
    if (report->beyond > 0) {
        buffer_add_format(html, "<p class=\"note\">%zu more %s not shown.</p>\n", report->beyond,
                          units_plural(report->beyond, "run is", "runs are"));
    }
    buffer_add_text(html, "<footer>Made by append " APPEND_VERSION
                          ". The files of the run also have every figure.</footer>\n");
}

enum {
    POLICY_BYTES = 256
};

/* Writes a <meta> element with the Content-Security-Policy of a page that runs page.js. The browser
 * obeys the policy if `attribute` is http-equiv="…". With name="policy" the element only stores the
 * policy for the file that live.js saves. */
static const char *write_policy(const char *attribute, char policy[POLICY_BYTES])
{
    snprintf(policy, POLICY_BYTES,
             "<meta %s content=\"default-src 'none'; style-src '%s'; script-src '%s'\">\n",
             attribute, page_css_hash, page_js_hash);
    return policy;
}

void page_add_head(struct buffer *html, const char *policy, const char *title)
{
    buffer_add_format(html,
                      REPORT_PAGE_BEGIN
                      "<head>\n<meta charset=\"utf-8\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                      "%s<title>append: %s</title>\n"
                      "<style>%s</style>\n</head>\n<body>\n<main>\n",
                      policy, title, page_css);
}

void page_add(struct buffer *html, const struct report *report)
{
    char policy[POLICY_BYTES], title[REPORT_ESCAPED_BYTES];
    page_add_head(html, write_policy("http-equiv=\"Content-Security-Policy\"", policy),
                  page_title(report, title));
    page_add_content(html, report);
    buffer_add_format(html, "</main>\n<script>%s</script>\n</body>\n</html>\n", page_js);
}

void page_add_live(struct buffer *html, bool has_control)
{
    static const char *const values[][2] = {
        {"rate", "rate, per second"}, {"sessions", "sessions at work"}, {"mark", "mark"}};
    static const char *const buttons[] = {"pause", "resume", "stop"};
    char policy[POLICY_BYTES];
    page_add_head(html, write_policy("name=\"policy\"", policy), "live");
    buffer_add_text(
        html, "</main>\n<div class=\"control\"><button type=\"button\" name=\"save\" disabled>"
              "Save this page as a file</button></div>\n");
    if (has_control) {
        buffer_add_text(html, "<div class=\"card control\">\n");
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            buffer_add_format(html,
                              "<label>%s <input name=\"%s\"></label> <button type=\"button\" "
                              "name=\"%s\">set</button>\n",
                              values[i][1], values[i][0], values[i][0]);
        }
        for (size_t i = 0; i < sizeof buttons / sizeof buttons[0]; i++) {
            buffer_add_format(html, "<button type=\"button\" name=\"%s\">%s</button>\n", buttons[i],
                              buttons[i]);
        }
        buffer_add_text(html, "<p class=\"note\" role=\"status\"></p></div>\n");
    }
    buffer_add_format(html, "<script>%s</script>\n<script>%s</script>\n</body>\n</html>\n", page_js,
                      live_js);
}
