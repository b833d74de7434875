#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/mono.h"
#include "base/units.h"
#include "report/figures.h"
#include "report/screen.h"
#include "report/text_expectations.h"
#include "report/text_findings.h"
#include "report/text_ledger.h"
#include "report/text_sessions.h"

enum {
    FIGURE_COLUMN = 33,
    CAUSES_SHOWN = 5
};

/* A line as it is put together. */
struct text {
    char bytes[SCREEN_TEXT_BYTES];
};

static void text_add(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void text_add(struct text *text, const char *format, ...)
{
    const size_t used = strlen(text->bytes);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text->bytes + used, sizeof text->bytes - used, format, arguments);
    va_end(arguments);
}

static void add_figure(FILE *stream, const char *name, const char *value, const char *detail)
{
    char label[128];
    snprintf(label, sizeof label, "%-15s%16s  ", name, value);
    screen_add_wrapped(stream, label, FIGURE_COLUMN, detail);
}

static void add_cpu(FILE *stream, const struct result *result)
{
    const struct resource_summary *resources = &result->resources;
    if (resources->max_host_cpu_percent < 0) {
        add_figure(stream, "Maximum CPU", "unknown", "no sample was taken");
        return;
    }
    char value[UNITS_TEXT_BYTES];
    snprintf(value, sizeof value, "%.1f %%", resources->max_host_cpu_percent);
    struct text detail = {""};
    text_add(&detail, "all %u CPU%s", resources->cpus, resources->cpus == 1 ? "" : "s");
    if (result->connection.is_embedded) {
        if (resources->client_cpu_percent_at_max >= 0) {
            text_add(&detail, "; append with the database %.1f %%",
                     resources->client_cpu_percent_at_max);
        }
    } else {
        if (resources->server_cpu_percent_at_max >= 0) {
            text_add(&detail, ": server %.1f %%", resources->server_cpu_percent_at_max);
        } else {
            text_add(&detail, " here: server unknown");
        }
        if (resources->client_cpu_percent_at_max >= 0) {
            text_add(&detail, ", append %.1f %%", resources->client_cpu_percent_at_max);
        }
    }
    add_figure(stream, "Maximum CPU", value, detail.bytes);
}

static void add_memory(FILE *stream, const struct resource_summary *resources)
{
    struct text detail = {""};
    if (!figures_has_memory(resources)) {
        text_add(&detail, "%s",
                 resources->server_note[0] != '\0' ? resources->server_note
                                                   : "the server's processes were not found");
        add_figure(stream, "Maximum memory", "unknown", detail.bytes);
        return;
    }
    char value[UNITS_TEXT_BYTES + 8];
    const double mib = figures_mib((uint64_t)resources->max_server_memory_bytes);
    if (mib < 100) {
        snprintf(value, sizeof value, "%.1f MiB", mib);
    } else {
        char count[UNITS_TEXT_BYTES];
        snprintf(value, sizeof value, "%s MiB", units_format_count((uint64_t)llround(mib), count));
    }
    if (resources->server_pid > 0 && resources->server_name[0] != '\0') {
        text_add(&detail, "%s (pid %ld): ", resources->server_name, (long)resources->server_pid);
    }
    text_add(&detail, "%s", memory_source_text(resources->memory_source));
    if (resources->server_note[0] != '\0') {
        text_add(&detail, "; %s", resources->server_note);
    }
    add_figure(stream, "Maximum memory", value, detail.bytes);
}

/* Parts of the elapsed time keep a decimal, so that their sum can be seen to be it. */
static const char *format_elapsed(int64_t ns, char text[UNITS_TEXT_BYTES])
{
    const double seconds = figures_seconds(ns);
    if (seconds < 1) {
        return units_format_ns(ns, text);
    }
    snprintf(text, UNITS_TEXT_BYTES, "%.*f s", seconds < 100 ? 2 : 1, seconds);
    return text;
}

static void add_elapsed(FILE *stream, const struct result *result)
{
    char value[UNITS_TEXT_BYTES];
    char connect[UNITS_TEXT_BYTES];
    char append[UNITS_TEXT_BYTES];
    char disconnect[UNITS_TEXT_BYTES];
    struct text detail = {""};
    text_add(&detail, "connect %s, append %s, leave %s",
             format_elapsed(result->connect_ns, connect), format_elapsed(result->append_ns, append),
             format_elapsed(result->disconnect_ns, disconnect));
    add_figure(stream, "Elapsed time", format_elapsed(result->elapsed_ns, value), detail.bytes);
}

static const char *format_rate(double rows_per_s, char text[UNITS_TEXT_BYTES])
{
    if (rows_per_s > 0 && rows_per_s < 100) {
        snprintf(text, UNITS_TEXT_BYTES, "%.2f", rows_per_s);
        return text;
    }
    const bool is_sane = rows_per_s > 0 && rows_per_s < 1e18;
    return units_format_count(is_sane ? (uint64_t)llround(rows_per_s) : 0, text);
}

static void add_throughput(FILE *stream, const struct result *result)
{
    char rate[UNITS_TEXT_BYTES];
    char value[UNITS_TEXT_BYTES + 8];
    struct text detail = {""};
    snprintf(value, sizeof value, "%s rows/s", format_rate(result->throughput_rows_per_s, rate));
    text_add(&detail, "by elapsed time");
    if (result->append_ns > 0) {
        text_add(&detail, "; %s rows/s while appending",
                 format_rate(figures_append_rows_per_s(result), rate));
    }
    if (figures_is_short(result)) {
        text_add(&detail, "; too short a run for figures that repeat");
    }
    add_figure(stream, "Throughput", value, detail.bytes);
}

/* Shares that are not all the same, so that it can be seen that no row fell through. */
static void add_shares(struct text *text, const struct plan *plan)
{
    const uint64_t least = plan->records / plan->sessions;
    const uint64_t more = plan->records % plan->sessions;
    if (more > 0) {
        text_add(text, " (%" PRIu64 " x %" PRIu64 " + %" PRIu64 " x %" PRIu64 ")", more, least + 1,
                 plan->sessions - more, least);
    }
}

/* What serves the sessions and how they append: (MariaDB 10.11.8, bulk, InnoDB). */
static void add_server(struct text *text, const struct result *result)
{
    /* without the packager's own part; run.json has it */
    const char *version = result->server.version;
    const size_t length = strcspn(version, "(");
    const bool is_cut = length > 1 && version[length] == '(';
    char shown[sizeof result->server.version];
    snprintf(shown, sizeof shown, "%.*s", (int)(is_cut ? length - 1 : length), version);
    const char *const parts[] = {shown, result->connection.method, result->engine};
    const char *separator = " (";
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i] != NULL && parts[i][0] != '\0') {
            text_add(text, "%s%s", separator, parts[i]);
            separator = ", ";
        }
    }
    text_add(text, "%s", separator[0] == ',' ? ")" : "");
}

static void add_run(FILE *stream, const struct plan *plan, const struct result *result)
{
    char count[UNITS_TEXT_BYTES];
    struct text text = {""};
    text_add(&text, "%s", plan->display_target);
    add_server(&text, result);
    screen_add_wrapped(stream, "Target", SCREEN_LABEL_COLUMNS, text.bytes);
    if (result->connection.note[0] != '\0') {
        screen_add_wrapped(stream, "Note", SCREEN_LABEL_COLUMNS, result->connection.note);
    }

    text = (struct text){""};
    text_add(&text, "%s session%s", units_format_count(plan->sessions, count),
             plan->sessions == 1 ? "" : "s");
    if (plan->idle_sessions > 0) {
        text_add(&text, " + %s idle", units_format_count(plan->idle_sessions, count));
    }
    if (plan->records > 0) {
        text_add(&text, ", %s rows", units_format_count(plan->records, count));
        add_shares(&text, plan);
    }
    if (plan->duration_ns > 0) {
        text_add(&text, "%s %s", plan->records > 0 ? " within" : " for",
                 format_elapsed(plan->duration_ns, count));
    }
    text_add(&text, " in batches of %s", units_format_count(plan->batch_rows, count));
    if (plan->read_mode != READ_NONE) {
        text_add(&text, ", %s after ", plan->read_mode == READ_QUERY ? "a query" : "count(*)");
        if (plan->read_every > 1) {
            text_add(&text, "every %s", units_format_count(plan->read_every, count));
        } else {
            text_add(&text, "each");
        }
    }
    if (plan->rate_rows_per_s > 0) {
        text_add(&text, ", %s rows/s asked for", units_format_count(plan->rate_rows_per_s, count));
    }
    screen_add_wrapped(stream, "Run", SCREEN_LABEL_COLUMNS, text.bytes);
}

static void add_latencies(FILE *stream, const struct plan *plan, const struct result *result)
{
    struct text line = {""};
    text_add(&line, "%-*s", SCREEN_LABEL_COLUMNS, "Latency");
    for (size_t point = 0; point < FIGURES_POINTS; point++) {
        text_add(&line, "%10s", figures_points[point].title);
    }
    screen_add(stream, "%s%18s", line.bytes, "measured");
    for (int i = 0; i < RECORDER_HISTOGRAMS; i++) {
        const struct histogram *histogram = &result->totals.histograms[i];
        if (!figures_has_histogram(plan, (enum recorder_histogram)i) || histogram->total == 0) {
            continue;
        }
        line = (struct text){""};
        text_add(&line, "  %-*s", SCREEN_LABEL_COLUMNS - 2,
                 figures_histogram_name((enum recorder_histogram)i));
        for (size_t point = 0; point < FIGURES_POINTS; point++) {
            char value[UNITS_TEXT_BYTES];
            text_add(&line, "%10s",
                     units_format_ns(figures_point_ns(histogram, &figures_points[point]), value));
        }
        char count[UNITS_TEXT_BYTES];
        screen_add(stream, "%s%18s", line.bytes, units_format_count(histogram->total, count));
    }
}

static void add_freshness(FILE *stream, const struct result *result)
{
    const uint64_t *counters = result->totals.counters;
    if (counters[RECORDER_FRESH_CHECKS] == 0) {
        return;
    }
    char checks[UNITS_TEXT_BYTES];
    char behind[UNITS_TEXT_BYTES];
    char backward[UNITS_TEXT_BYTES];
    struct text text = {""};
    text_add(&text, "%s counts: %s behind own rows",
             units_format_count(counters[RECORDER_FRESH_CHECKS], checks),
             units_format_count(counters[RECORDER_FRESH_BEHIND], behind));
    if (counters[RECORDER_FRESH_BEHIND] > 0) {
        char lag[UNITS_TEXT_BYTES];
        text_add(&text, " (worst %s)", units_format_count(result->worst_lag_rows, lag));
    }
    text_add(&text, ", %s went back",
             units_format_count(counters[RECORDER_FRESH_BACKWARD], backward));
    screen_add_wrapped(stream, "Freshness", SCREEN_LABEL_COLUMNS, text.bytes);
}

static void add_client(FILE *stream, const struct result *result)
{
    const struct resource_summary *resources = &result->resources;
    struct text text = {""};
    text_add(&text, "%.2f s CPU", resources->client_cpu_s);
    if (result->rows.acknowledged > 0) {
        text_add(&text, ", %.2f us a row",
                 resources->client_cpu_s * 1e6 / (double)result->rows.acknowledged);
    }
    if (resources->max_client_memory_bytes > 0) {
        char memory[UNITS_TEXT_BYTES];
        text_add(&text, ", %s memory",
                 units_format_bytes(resources->max_client_memory_bytes, memory));
        if (result->sessions.connected > 0) {
            const uint64_t each = resources->max_client_memory_bytes / result->sessions.connected;
            text_add(&text, ", %s a session", units_format_bytes(each, memory));
        }
    }
    if (result->connection.is_embedded) {
        text_add(&text, ", database included");
    }
    screen_add_wrapped(stream, "append", SCREEN_LABEL_COLUMNS, text.bytes);
}

/* Index of the most frequent cause not yet shown; causes->count when there is none. */
static size_t next_cause(const struct causes *causes, const bool is_shown[CAUSES_MAX])
{
    size_t best = causes->count;
    for (size_t i = 0; i < causes->count; i++) {
        if (!is_shown[i] &&
            (best == causes->count || causes->entries[i].count > causes->entries[best].count)) {
            best = i;
        }
    }
    return best;
}

static void add_cause(FILE *stream, const struct cause *cause)
{
    char count[UNITS_TEXT_BYTES];
    char label[UNITS_TEXT_BYTES + 16];
    struct text text = {""};
    snprintf(label, sizeof label, "%10s x ", units_format_count(cause->count, count));
    text_add(&text, "%s, %s", cause_phase_name(cause->phase), error_kind_name(cause->error.kind));
    if (cause->error.sqlstate[0] != '\0') {
        text_add(&text, " %s", cause->error.sqlstate);
    } else if (cause->error.native_code != 0) {
        text_add(&text, " %d", cause->error.native_code);
    }
    text_add(&text, ": %s", cause->error.text);
    screen_add_wrapped(stream, label, (unsigned)strlen(label), text.bytes);
}

static void add_causes(FILE *stream, const struct causes *causes)
{
    if (causes->count == 0) {
        return;
    }
    bool is_shown[CAUSES_MAX] = {false};
    screen_add(stream, "Errors");
    for (size_t shown = 0; shown < CAUSES_SHOWN && shown < causes->count; shown++) {
        const size_t cause = next_cause(causes, is_shown);
        is_shown[cause] = true;
        add_cause(stream, &causes->entries[cause]);
    }
    uint64_t rest = causes->others;
    for (size_t i = 0; i < causes->count; i++) {
        rest += is_shown[i] ? 0 : causes->entries[i].count;
    }
    if (rest > 0) {
        char count[UNITS_TEXT_BYTES];
        screen_add(stream, "%10s x other causes: see run.json", units_format_count(rest, count));
    }
}

static const char *stop_text(const struct result *result)
{
    switch (result->stop_reason) {
    case STOP_COMPLETED:
        if (result->sessions.finished == result->sessions.requested) {
            return "every session came to its own end";
        }
        return result->sessions.finished == result->sessions.connected
                   ? "every session that connected came to its own end"
                   : "no session was left";
    case STOP_DURATION:
        return "the time asked for was over";
    case STOP_INTERRUPTED:
        return "INTERRUPTED by a signal: the figures are of a part of the run";
    case STOP_DROP:
        return "a session was dropped, and --on-drop stop was given";
    case STOP_NO_SESSION:
        return "no session could connect";
    case STOP_TOO_FEW:
        return "fewer sessions were up than --min-sessions asks for";
    }
    return stop_reason_name(result->stop_reason);
}

/* The four figures and the verdict come last: what stands above them may have left the screen. */
void report_write_text(FILE *stream, const struct plan *plan, const struct result *result,
                       const char *shortage)
{
    add_run(stream, plan, result);
    text_ledger_add(stream, result);
    fputc('\n', stream);
    add_latencies(stream, plan, result);
    add_freshness(stream, result);
    text_sessions_add(stream, result);
    add_client(stream, result);
    fputc('\n', stream);
    add_causes(stream, &result->causes);
    text_findings_add(stream, &result->findings);
    screen_add_wrapped(stream, "Ended", SCREEN_LABEL_COLUMNS, stop_text(result));
    if (result->events.note[0] != '\0') {
        screen_add_wrapped(stream, "Events", SCREEN_LABEL_COLUMNS, result->events.note);
    }
    if (result->metrics_note[0] != '\0') {
        screen_add_wrapped(stream, "Metrics", SCREEN_LABEL_COLUMNS, result->metrics_note);
    }
    if (shortage != NULL && shortage[0] != '\0') {
        screen_add_wrapped(stream, "SHORT", SCREEN_LABEL_COLUMNS, shortage);
    }
    text_expectations_add(stream, result->expectations);
    fputc('\n', stream);
    add_cpu(stream, result);
    add_memory(stream, &result->resources);
    add_elapsed(stream, result);
    add_throughput(stream, result);
    fputc('\n', stream);
    screen_add_wrapped(stream, verdict_name(result->verdict), SCREEN_LABEL_COLUMNS,
                       result->verdict_reason);
    screen_add_files(stream, plan->out_folder);
}
