#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/mono.h"
#include "base/units.h"
#include "report/expectations.h"
#include "report/figures.h"
#include "report/screen.h"

enum {
    LABEL = SCREEN_LABEL_COLUMNS,
    FIGURE_COLUMN = 33,
    CAUSES_SHOWN = 5,
    FINDINGS_SHOWN = 2,
    LEDGER_TERMS_MAX = 4
};

/* A line as it is put together. */
struct text {
    char bytes[SCREEN_TEXT_BYTES];
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
    const size_t used = strlen(text->bytes);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text->bytes + used, sizeof text->bytes - used, format, arguments);
    va_end(arguments);
}

/* Writes the line and empties it. */
static void put(FILE *stream, const char *label, struct text *text)
{
    screen_add_wrapped(stream, label, LABEL, text->bytes);
    text->bytes[0] = '\0';
}

static void put_if(FILE *stream, const char *label, const char *words)
{
    if (words != NULL && words[0] != '\0') {
        screen_add_wrapped(stream, label, LABEL, words);
    }
}

/* Rows per second; a slow rate keeps two decimals. */
static const char *format_rate(double rows_per_s, char text[UNITS_TEXT_BYTES])
{
    if (rows_per_s > 0 && rows_per_s < 100) {
        snprintf(text, UNITS_TEXT_BYTES, "%.2f", rows_per_s);
        return text;
    }
    const bool is_sane = rows_per_s > 0 && rows_per_s < 1e18;
    return units_format_count(is_sane ? (uint64_t)llround(rows_per_s) : 0, text);
}
#define RATE(rows_per_s) format_rate((rows_per_s), (char[UNITS_TEXT_BYTES]){0})
#define ROUNDED(rows_per_s) UNITS_COUNT((rows_per_s) > 0 ? (uint64_t)llround(rows_per_s) : 0)

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
#define ELAPSED(ns) format_elapsed((ns), (char[UNITS_TEXT_BYTES]){0})

/* What was asked for, and of whom. */

/* What serves the sessions and how they append: (MariaDB 10.11.8, bulk, InnoDB). */
static void put_target(FILE *stream, const struct plan *plan, const struct result *result)
{
    struct text text = {""};
    add(&text, "%s", plan->display_target);
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
            add(&text, "%s%s", separator, parts[i]);
            separator = ", ";
        }
    }
    add(&text, "%s", separator[0] == ',' ? ")" : "");
    put(stream, "Target", &text);
    put_if(stream, "Note", result->connection.note);
}

static void put_run(FILE *stream, const struct plan *plan)
{
    struct text text = {""};
    add(&text, "%s session%s", UNITS_COUNT(plan->sessions), units_plural(plan->sessions, "", "s"));
    if (plan->idle_sessions > 0) {
        add(&text, " + %s idle", UNITS_COUNT(plan->idle_sessions));
    }
    if (plan->records > 0) {
        add(&text, ", %s rows", UNITS_COUNT(plan->records));
        /* shares that are not all the same, so that it can be seen that no row fell through */
        const uint64_t least = plan->records / plan->sessions;
        const uint64_t more = plan->records % plan->sessions;
        if (more > 0) {
            add(&text, " (%" PRIu64 " x %" PRIu64 " + %" PRIu64 " x %" PRIu64 ")", more, least + 1,
                plan->sessions - more, least);
        }
    }
    if (plan->duration_ns > 0) {
        add(&text, "%s %s", plan->records > 0 ? " within" : " for", ELAPSED(plan->duration_ns));
    }
    add(&text, " in batches of %s", UNITS_COUNT(plan->batch_rows));
    if (plan->read_mode != READ_NONE) {
        add(&text, ", %s after ", plan->read_mode == READ_QUERY ? "a query" : "count(*)");
        if (plan->read_every > 1) {
            add(&text, "every %s", UNITS_COUNT(plan->read_every));
        } else {
            add(&text, "each");
        }
    }
    if (plan->rate_rows_per_s > 0) {
        add(&text, ", %s rows/s asked for", UNITS_COUNT(plan->rate_rows_per_s));
    }
    put(stream, "Run", &text);
}

/* The ledgers. */

struct term {
    uint64_t value;
    const char *name;
};

struct sum {
    uint64_t total;
    size_t count;
    struct term terms[LEDGER_TERMS_MAX];
};

/* How terms of 0 are shown. Each form is shorter than the one before. */
enum zero_form {
    ZERO_EACH,   /* + 0 refused + 0 timed out */
    ZERO_JOINED, /* + 0 refused/timed out */
    ZERO_NONE,
};

/* Writes "total = term + term". The first term is always shown, so that the sum has two sides. */
static void format_sum(struct text *text, const struct sum *sum, enum zero_form form)
{
    text->bytes[0] = '\0';
    add(text, "%s =", UNITS_COUNT(sum->total));
    for (size_t i = 0; i < sum->count; i++) {
        if (i == 0 || sum->terms[i].value > 0 || form == ZERO_EACH) {
            add(text, "%s %s %s", i == 0 ? "" : " +", UNITS_COUNT(sum->terms[i].value),
                sum->terms[i].name);
        }
    }
    const char *lead = " + 0 ";
    for (size_t i = 1; form == ZERO_JOINED && i < sum->count; i++) {
        if (sum->terms[i].value == 0) {
            add(text, "%s%s", lead, sum->terms[i].name);
            lead = "/";
        }
    }
}

static void put_sum(FILE *stream, const char *label, const struct sum *sum)
{
    struct text text = {""};
    for (enum zero_form form = ZERO_EACH; form <= ZERO_NONE; form++) {
        format_sum(&text, sum, form);
        if (strlen(text.bytes) <= SCREEN_COLUMNS - LABEL) {
            break;
        }
    }
    put(stream, label, &text);
}

static void put_imbalance(FILE *stream, bool balances)
{
    put_if(stream, "",
           balances ? "" : "DOES NOT BALANCE: a defect of append, do not trust this run");
}

/* Each term only where there is some. */
static void add_terms(struct text *text, const struct term *terms, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (terms[i].value > 0) {
            add(text, ", %s %s", UNITS_COUNT(terms[i].value), terms[i].name);
        }
    }
}

static void put_verification(FILE *stream, const struct result *result)
{
    const struct verification *v = &result->verification;
    struct text text = {""};
    if (v->state != VERIFICATION_DONE) {
        const bool is_failed = v->state == VERIFICATION_FAILED;
        add(&text, "%s%s",
            is_failed ? "NO, the rows could not be counted: "
                      : "nothing: this database keeps no rows to count",
            is_failed ? v->reason : "");
        put(stream, "Verified", &text);
        return;
    }
    add(&text, "count(*) %s before, %s after", UNITS_COUNT(v->rows_before),
        UNITS_COUNT(v->rows_after));
    if (result->row_verification.state != VERIFICATION_DONE) {
        /* a count does not say whose the rows are that are left */
        const bool is_range = v->lost < v->lost_at_most;
        add(&text, ": %s%s%s %s", is_range ? UNITS_COUNT(v->lost) : "", is_range ? " to " : "",
            UNITS_COUNT(v->lost_at_most), v->lost_at_most > 0 ? "LOST" : "lost");
        if (result->rows.in_doubt > 0) {
            add(&text, ", %s in doubt arrived", UNITS_COUNT(v->in_doubt_arrived));
        }
        add_terms(&text, &(struct term){v->rejected_arrived, "REJECTED are there"}, 1);
    }
    add_terms(&text, &(struct term){result_surplus(result), "more than this run can have written"},
              1);
    add(&text, "%s", v->is_shrunk ? ", the table SHRANK" : "");
    put(stream, "Verified", &text);
}

static void put_row_verification(FILE *stream, const struct result *result)
{
    const struct row_verification *v = &result->row_verification;
    struct text text = {""};
    if (v->state == VERIFICATION_NONE) {
        return;
    }
    if (v->state == VERIFICATION_FAILED) {
        add(&text, "NO, the rows could not be read: %s", v->reason);
        put(stream, "Rows read", &text);
        return;
    }
    add(&text, "%s acknowledged are there, ", UNITS_COUNT(v->present));
    if (v->lost > 0) {
        add(&text, "%s acknowledged are LOST, of %s sessions (sessions.csv)", UNITS_COUNT(v->lost),
            UNITS_COUNT(v->sessions_lost));
    } else {
        add(&text, "0 lost");
    }
    const struct term others[] = {
        {v->in_doubt_present, "in doubt are there"},
        {result->rows.in_doubt - v->in_doubt_present, "in doubt are not there"},
        {v->rejected_present, "REJECTED are there"},
        {v->duplicates, "DUPLICATES"},
        {v->foreign, "with this run's tag are FOREIGN"},
    };
    add_terms(&text, others, sizeof others / sizeof others[0]);
    put(stream, "Rows read", &text);
}

/* Both ledgers, each as a sum that the reader can check, and what count(*) said. */
static void put_ledgers(FILE *stream, const struct result *result)
{
    const struct session_ledger *sessions = &result->sessions;
    const struct row_ledger *rows = &result->rows;
    const struct batch_ledger *batches = &result->batches;
    put_sum(stream, "Sessions",
            &(struct sum){sessions->requested,
                          4,
                          {{sessions->connected, "connected"},
                           {sessions->refused, "refused"},
                           {sessions->timed_out, "timed out"},
                           {sessions->not_started, "not started"}}});
    put_sum(stream, "Connected",
            &(struct sum){sessions->connected,
                          3,
                          {{sessions->finished, "finished"},
                           {sessions->stopped, "stopped"},
                           {sessions->dropped, "dropped"}}});
    put_imbalance(stream, session_ledger_balances(sessions));
    put_sum(stream, "Rows",
            &(struct sum){rows->planned,
                          4,
                          {{rows->acknowledged, "acknowledged"},
                           {rows->rejected, "rejected"},
                           {rows->in_doubt, "in doubt"},
                           {rows->not_sent, "not sent"}}});
    put_imbalance(stream, row_ledger_balances(rows));
    if (batches->due > 0) {
        const uint64_t unanswered = result->totals.counters[RECORDER_RESPONSES_UNANSWERED];
        struct text text = {""};
        add(&text, "%s due = %s sent + %s not sent", UNITS_COUNT(batches->due),
            UNITS_COUNT(batches->sent), UNITS_COUNT(batches->not_sent));
        if (unanswered > 0) {
            add(&text, "; %s of the response times are lower bounds: no answer came",
                UNITS_COUNT(unanswered));
        }
        put(stream, "Batches", &text);
    }
    put_verification(stream, result);
    put_row_verification(stream, result);
    char note[FIGURES_NOTE_BYTES];
    put_if(stream, "", figures_reads_note(result, note));
}

/* Calls, sessions and append itself. */

static void put_latencies(FILE *stream, const struct plan *plan, const struct result *result)
{
    const struct operation_list operations = plan_operations(plan);
    struct text line = {""};
    add(&line, "%-*s", LABEL, "Latency");
    for (size_t point = 0; point < FIGURE_POINTS; point++) {
        add(&line, "%10s", figure_points[point].title);
    }
    screen_add(stream, "%s%18s", line.bytes, "measured");
    for (size_t i = 0; i < operations.count; i++) {
        const struct histogram *histogram = recorder_histogram(&result->totals, i);
        if (!operation_is_used(&operations, i) || histogram->total == 0) {
            continue;
        }
        line = (struct text){""};
        add(&line, "  %-*s", LABEL - 2, operations.entries[i].name);
        for (size_t point = 0; point < FIGURE_POINTS; point++) {
            add(&line, "%10s", UNITS_NS(figures_point_ns(histogram, &figure_points[point])));
        }
        screen_add(stream, "%s%18s", line.bytes, UNITS_COUNT(histogram->total));
    }
}

static void put_sessions(FILE *stream, const struct result *result)
{
    const uint64_t *counters = result->totals.counters;
    const uint64_t lost = counters[RECORDER_CONNECTIONS_LOST];
    const uint64_t failed = counters[RECORDER_RECONNECTS_FAILED];
    const uint64_t refusals = counters[RECORDER_REFUSALS];
    const uint64_t churns = counters[RECORDER_CHURNS];
    struct text text = {""};
    if (counters[RECORDER_FRESH_CHECKS] > 0) {
        add(&text, "%s reads: read-your-writes violations %s",
            UNITS_COUNT(counters[RECORDER_FRESH_CHECKS]),
            UNITS_COUNT(counters[RECORDER_FRESH_BEHIND]));
        if (counters[RECORDER_FRESH_BEHIND] > 0) {
            add(&text, " (worst %s rows behind)", UNITS_COUNT(result->worst_lag_rows));
        }
        add(&text, ", non-monotonic reads %s", UNITS_COUNT(counters[RECORDER_FRESH_BACKWARD]));
        put(stream, "Freshness", &text);
    }
    if (lost > 0) {
        add(&text, "%s connection%s, %s reconnected", UNITS_COUNT(lost),
            units_plural(lost, "", "s"), UNITS_COUNT(counters[RECORDER_RECONNECTS]));
        if (counters[RECORDER_TIMEOUTS] > 0) {
            add(&text, ", %s calls cut by --timeout", UNITS_COUNT(counters[RECORDER_TIMEOUTS]));
        }
    }
    if (refusals > 0) {
        add(&text, "%s%s batch%s by a read-only server", lost > 0 ? "; refused " : "",
            UNITS_COUNT(refusals), units_plural(refusals, "", "es"));
    }
    if (failed > 0 && text.bytes[0] != '\0') {
        add(&text, ", %s tries failed", UNITS_COUNT(failed));
    }
    if (text.bytes[0] != '\0') {
        put(stream, lost > 0 ? "Lost" : "Refused", &text);
    }
    if (churns > 0) {
        add(&text, "%s connection%s closed and reopened by --churn", UNITS_COUNT(churns),
            units_plural(churns, "", "s"));
        put(stream, "Churn", &text);
    }
    const struct fairness *fairness = &result->fairness;
    if (fairness->sessions > 1) {
        add(&text,
            "slowest %s rows/s (session %u), fastest %s (session %u); longest without an "
            "acknowledged append: %s (session %u)",
            ROUNDED(fairness->slowest_rows_per_s), fairness->slowest_session,
            ROUNDED(fairness->fastest_rows_per_s), fairness->fastest_session,
            UNITS_NS(fairness->longest_gap_ns), fairness->longest_gap_session);
        put(stream, "Fairness", &text);
    }
}

static void put_client(FILE *stream, const struct result *result)
{
    const struct resource_summary *resources = &result->resources;
    const uint64_t memory = resources->max_client_memory_bytes;
    struct text text = {""};
    add(&text, "%.2f s CPU", resources->client_cpu_s);
    if (result->rows.acknowledged > 0) {
        add(&text, ", %.2f us a row",
            resources->client_cpu_s * 1e6 / (double)result->rows.acknowledged);
    }
    if (memory > 0) {
        add(&text, ", %s memory", UNITS_BYTES(memory));
    }
    if (memory > 0 && result->sessions.connected > 0) {
        add(&text, ", %s a session", UNITS_BYTES(memory / result->sessions.connected));
    }
    add(&text, "%s", result->connection.is_embedded ? ", database included" : "");
    put(stream, "append", &text);
}

/* What went wrong. */

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

static void put_cause(FILE *stream, const struct cause *cause)
{
    char label[UNITS_TEXT_BYTES + 16];
    struct text text = {""};
    snprintf(label, sizeof label, "%10s x ", UNITS_COUNT(cause->count));
    add(&text, "%s, %s", cause_phase_names[cause->phase], error_kind_name(cause->error.kind));
    if (cause->error.sqlstate[0] != '\0') {
        add(&text, " %s", cause->error.sqlstate);
    } else if (cause->error.native_code != 0) {
        add(&text, " %d", cause->error.native_code);
    }
    add(&text, ": %s", cause->error.text);
    screen_add_wrapped(stream, label, (unsigned)strlen(label), text.bytes);
}

static void put_causes(FILE *stream, const struct causes *causes)
{
    if (causes->count == 0) {
        return;
    }
    bool is_shown[CAUSES_MAX] = {false};
    screen_add(stream, "Errors");
    for (size_t shown = 0; shown < CAUSES_SHOWN && shown < causes->count; shown++) {
        const size_t cause = next_cause(causes, is_shown);
        is_shown[cause] = true;
        put_cause(stream, &causes->entries[cause]);
    }
    uint64_t rest = causes->others;
    for (size_t i = 0; i < causes->count; i++) {
        rest += is_shown[i] ? 0 : causes->entries[i].count;
    }
    if (rest > 0) {
        screen_add(stream, "%10s x other causes: see run.json", UNITS_COUNT(rest));
    }
}

/* The limits that cost the most sessions, each with its evidence and how it is raised. */
static void put_findings(FILE *stream, const struct findings *findings)
{
    for (size_t i = 0; i < findings->count && i < FINDINGS_SHOWN; i++) {
        const struct finding *finding = &findings->entries[i];
        const bool is_delay = finding->sessions == 0 && finding->tries > 0; /* all got in at last */
        const uint64_t number = is_delay ? finding->tries : finding->sessions;
        struct text text = {""};
        add(&text, "%s (%s), %s%s %s: %s", finding->name, limit_side_names[finding->side],
            is_delay ? "delayed " : "", UNITS_COUNT(number),
            is_delay ? units_plural(number, "try", "tries")
                     : units_plural(number, "session", "sessions"),
            finding->evidence);
        put(stream, "Limit", &text);
        if (finding->fix[0] != '\0') {
            add(&text, "to raise it: %s", finding->fix);
            put(stream, "", &text);
        }
    }
    if (findings->count > FINDINGS_SHOWN) {
        screen_add(stream, "%*s%zu more: see findings in the JSON file", LABEL, "",
                   findings->count - FINDINGS_SHOWN);
    }
}

static void put_expectations(FILE *stream, const struct expectations *expectations)
{
    if (expectations == NULL || expectations->count == 0) {
        return;
    }
    const size_t missed = expectations_count_missed(expectations);
    struct text text = {""};
    if (missed == 0) {
        add(&text, "all %zu met", expectations->count);
    } else {
        add(&text, "%zu of %zu NOT MET:", missed, expectations->count);
    }
    /* those that were missed first */
    const char *separator = missed == 0 ? ": " : " ";
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < expectations->count; i++) {
            const struct expectation *expectation = &expectations->entries[i];
            if (expectation->is_met == (pass == 1)) {
                char one[EXPECTATIONS_TEXT_BYTES];
                add(&text, "%s%s", separator, expectations_describe(expectation, one));
                separator = ", ";
            }
        }
        separator = missed > 0 && missed < expectations->count ? "; met: " : separator;
    }
    put(stream, "Expected", &text);
}

static const char *stop_text(const struct result *result)
{
    switch (result->stop_reason) {
    case STOP_COMPLETED:
        if (result->sessions.finished == result->sessions.requested) {
            return "all sessions completed";
        }
        return result->sessions.finished == result->sessions.connected
                   ? "all sessions that connected completed"
                   : "no session was left";
    case STOP_DURATION:
        return "--duration elapsed";
    case STOP_INTERRUPTED:
        return "INTERRUPTED by a signal: the figures are of a part of the run";
    case STOP_DROP:
        return "a session was dropped, and --on-drop stop was given";
    case STOP_NO_SESSION:
        return "no session could connect";
    case STOP_TOO_FEW:
        return "fewer sessions were up than --min-sessions requires";
    }
    return stop_reason_names[result->stop_reason];
}

/* The four figures. */

static void put_figure(FILE *stream, const char *name, const char *value, const struct text *detail)
{
    char label[128];
    snprintf(label, sizeof label, "%-15s%16s  ", name, value);
    screen_add_wrapped(stream, label, FIGURE_COLUMN, detail->bytes);
}

static void put_cpu(FILE *stream, const struct result *result)
{
    const struct resource_summary *resources = &result->resources;
    const double client = resources->cpu_at_max.client;
    struct text detail = {""};
    if (resources->max_cpu.host < 0) {
        add(&detail, "no sample was taken");
        put_figure(stream, "Maximum CPU", "unknown", &detail);
        return;
    }
    char value[UNITS_TEXT_BYTES];
    snprintf(value, sizeof value, "%.1f %%", resources->max_cpu.host);
    add(&detail, "all %u CPU%s", resources->cpus, units_plural(resources->cpus, "", "s"));
    if (result->connection.is_embedded) {
        if (client >= 0) {
            add(&detail, "; append with the database %.1f %%", client);
        }
    } else {
        if (resources->cpu_at_max.server >= 0) {
            add(&detail, ": server %.1f %%", resources->cpu_at_max.server);
        } else {
            add(&detail, " here: server unknown");
        }
        if (client >= 0) {
            add(&detail, ", append %.1f %%", client);
        }
    }
    put_figure(stream, "Maximum CPU", value, &detail);
}

static void put_memory(FILE *stream, const struct resource_summary *resources)
{
    struct text detail = {""};
    if (!figures_has_memory(resources)) {
        add(&detail, "%s",
            resources->server_note[0] != '\0' ? resources->server_note
                                              : "the server's processes were not found");
        put_figure(stream, "Maximum memory", "unknown", &detail);
        return;
    }
    char value[UNITS_TEXT_BYTES + 8];
    const double mib = figures_mib((uint64_t)resources->max_server_memory_bytes);
    if (mib < 100) {
        snprintf(value, sizeof value, "%.1f MiB", mib);
    } else {
        snprintf(value, sizeof value, "%s MiB", UNITS_COUNT((uint64_t)llround(mib)));
    }
    if (resources->server_pid > 0 && resources->server_name[0] != '\0') {
        add(&detail, "%s (pid %ld): ", resources->server_name, (long)resources->server_pid);
    }
    add(&detail, "%s", memory_source_texts[resources->memory_source]);
    if (resources->server_note[0] != '\0') {
        add(&detail, "; %s", resources->server_note);
    }
    put_figure(stream, "Maximum memory", value, &detail);
}

static void put_elapsed_and_throughput(FILE *stream, const struct result *result)
{
    struct text detail = {""};
    add(&detail, "connect %s, append %s, disconnect %s", ELAPSED(result->connect_ns),
        ELAPSED(result->append_ns), ELAPSED(result->disconnect_ns));
    put_figure(stream, "Elapsed time", ELAPSED(result->elapsed_ns), &detail);

    char value[UNITS_TEXT_BYTES + 8];
    snprintf(value, sizeof value, "%s rows/s", RATE(result->throughput_rows_per_s));
    detail = (struct text){"by elapsed time"};
    if (result->append_ns > 0) {
        add(&detail, "; %s rows/s while appending", RATE(figures_append_rows_per_s(result)));
    }
    add(&detail, "%s", figures_is_short(result) ? "; too short a run for figures that repeat" : "");
    put_figure(stream, "Throughput", value, &detail);
}

/* The four figures and the verdict come last: what stands above them may have left the screen. */
void report_write_text(FILE *stream, const struct plan *plan, const struct result *result,
                       const char *shortage)
{
    put_target(stream, plan, result);
    put_run(stream, plan);
    put_ledgers(stream, result);
    fputc('\n', stream);
    put_latencies(stream, plan, result);
    put_sessions(stream, result);
    put_client(stream, result);
    fputc('\n', stream);
    put_causes(stream, &result->causes);
    put_findings(stream, &result->findings);
    put_if(stream, "Ended", stop_text(result));
    put_if(stream, "Events", result->events.note);
    put_if(stream, "Metrics", result->metrics_note);
    put_if(stream, "Problem", shortage);
    put_expectations(stream, result->expectations);
    fputc('\n', stream);
    put_cpu(stream, result);
    put_memory(stream, &result->resources);
    put_elapsed_and_throughput(stream, result);
    fputc('\n', stream);
    put_if(stream, verdict_names[result->verdict], result->verdict_reason);
    screen_add_files(stream, plan->out_folder);
}

/* A search. */

static void add_failure(struct text *text, const struct level *level)
{
    switch (level->reason) {
    case LEVEL_NO_REASON:
    case LEVEL_ENDED:
        add(text, "the search ended before that was known");
        return;
    case LEVEL_NO_PROGRESS:
        add(text, "%s of the sessions had no append acknowledged in %.0f s",
            UNITS_COUNT(level->stalled), figures_seconds(level->hold_ns));
        return;
    case LEVEL_NO_THREAD:
        add(text, "a session got no thread on this machine");
        break;
    case LEVEL_REFUSED:
        add(text, "%s %s refused", UNITS_COUNT(level->ledger.refused),
            units_plural(level->ledger.refused, "session was", "sessions were"));
        break;
    case LEVEL_TIMED_OUT:
        add(text, "%s %s no answer to the connect in time", UNITS_COUNT(level->ledger.timed_out),
            units_plural(level->ledger.timed_out, "session got", "sessions got"));
        break;
    case LEVEL_DROPPED:
        add(text, "%s %s dropped", UNITS_COUNT(level->ledger.dropped),
            units_plural(level->ledger.dropped, "session was", "sessions were"));
        break;
    case LEVEL_APPEND_FAILED:
        add(text, "%s %s refused", UNITS_COUNT(level->failed),
            units_plural(level->failed, "append or read was", "appends or reads were"));
        break;
    case LEVEL_STAYED:
        add(text, "sessions of the level before did not disconnect");
        break;
    }
    add(text, ", %s %s up", UNITS_COUNT(level->up), units_plural(level->up, "was", "were"));
}

void text_levels_progress(const struct level *level, char line[TEXT_LEVELS_BYTES])
{
    struct text text = {""};
    add(&text, "%s sessions ", UNITS_COUNT(level->sessions));
    if (level->outcome == LEVEL_HELD) {
        add(&text, "held: %s rows/s, append p99 %s", ROUNDED(level->rows_per_s),
            UNITS_NS(level->append.p99_ns));
    } else {
        add(&text, "%s: ", level->outcome == LEVEL_FAILED ? "not held" : "not tried to the end");
        add_failure(&text, level);
    }
    snprintf(line, TEXT_LEVELS_BYTES, "%.*s", TEXT_LEVELS_BYTES - 1, text.bytes);
}

static void put_end(FILE *stream, const struct search *search)
{
    struct text text = {""};
    switch (search->end) {
    case SEARCH_FOUND:
        return;
    case SEARCH_BOUND:
        if (search->bound_by == BOUND_CLIENT) {
            add(&text, "by this machine's %s, which allows %s sessions, not by the server. %s",
                search->bound_limit.name, UNITS_COUNT(search->bound), search->bound_limit.fix);
        } else if (search->bound_by == BOUND_USER) {
            add(&text, "by --max-sessions %s, not by the server", UNITS_COUNT(search->bound));
        } else {
            add(&text, "by append, which can have %s, not by the server",
                UNITS_COUNT(search->bound));
        }
        break;
    case SEARCH_MEMORY:
        add(&text, "by --max-memory, not by the server: %s", search->end_note);
        break;
    case SEARCH_ROWS:
        add(&text,
            "by --max-%s, not by the server: %s rows are written; give more, or a smaller --batch",
            search->is_bound_by_bytes ? "bytes" : "rows", UNITS_COUNT(search->max_rows));
        break;
    case SEARCH_TIME:
        add(&text, "by --max-time, not by the server");
        break;
    case SEARCH_INTERRUPTED:
        add(&text, "by a signal, not by the server");
        break;
    case SEARCH_GONE:
        add(&text, "the server went away and accepted no connection for 60 s");
        break;
    case SEARCH_STUCK:
        add(&text, "sessions that were to disconnect did not");
        break;
    }
    put(stream, "Stopped", &text);
}

static void put_answer(FILE *stream, const struct search *search, const struct findings *findings)
{
    struct text text = {""};
    bool is_shortened = false;
    for (size_t i = 0; i < search->count; i++) {
        is_shortened |=
            search->levels[i].outcome == LEVEL_HELD && search->levels[i].hold_ns < search->hold_ns;
    }
    if (search->held > 0) {
        add(&text, "%s%s %s, each appending all the time; levels of %s%.3g s",
            search->failed == 0 ? "at least " : "", UNITS_COUNT(search->held),
            units_plural(search->held, "session", "sessions"), is_shortened ? "up to " : "",
            figures_seconds(search->hold_ns));
    } else {
        add(&text, "no level");
    }
    put(stream, "Held", &text);
    if (search->failed > 0) {
        const struct level *level = &search->levels[search->failure];
        const struct cause *cause = level_main_cause(level);
        add(&text, "%s: ", UNITS_COUNT(search->failed));
        add_failure(&text, level);
        if (cause != NULL && cause->error.sqlstate[0] != '\0' &&
            strcmp(cause->error.sqlstate, "HY000") != 0) { /* HY000: see the database's number */
            add(&text, " (%s)", cause->error.sqlstate);
        } else if (cause != NULL && cause->error.native_code != 0) {
            add(&text, " (%d)", cause->error.native_code);
        }
        /* a limit that was named has the server's words with it */
        if (findings->count == 0 && cause != NULL) {
            add(&text, ": %s", cause->error.text);
        }
        put(stream, "Not held", &text);
    }
    put_findings(stream, findings);
    put_end(stream, search);
}

static void put_knee(FILE *stream, const struct search *search)
{
    const struct level *knee = search_knee(search);
    const struct level *best = search_best(search);
    if (knee == NULL) {
        return;
    }
    struct text text = {""};
    add(&text, "%s %s: %s rows/s", UNITS_COUNT(knee->sessions),
        units_plural(knee->sessions, "session", "sessions"), ROUNDED(knee->rows_per_s));
    if (knee->lowest_rows_per_s >= 0) {
        add(&text, " (%s to %s)", ROUNDED(knee->lowest_rows_per_s),
            ROUNDED(knee->highest_rows_per_s));
    }
    add(&text, ", append p99 %s; ", UNITS_NS(knee->append.p99_ns));
    if (best == knee) {
        add(&text, "no other number has more rows/s");
    } else {
        add(&text, "the fewest within %.0f %% of the best, %s with %s", 100 * SEARCH_KNEE_SHARE,
            ROUNDED(best->rows_per_s), UNITS_COUNT(best->sessions));
    }
    put(stream, "Knee", &text);
}

static void put_p99(FILE *stream, const struct search *search)
{
    const struct level *over = NULL;
    const struct level *within = NULL;
    struct text text = {""};
    if (search->p99_bound_ns == 0) {
        return;
    }
    search_p99(search, &over, &within);
    if (over == NULL) {
        add(&text, "append's p99 stayed within %s at every level", UNITS_NS(search->p99_bound_ns));
        put(stream, "p99", &text);
        return;
    }
    add(&text, "append's p99 passed %s with %s sessions (%s)", UNITS_NS(search->p99_bound_ns),
        UNITS_COUNT(over->sessions), UNITS_NS(over->append.p99_ns));
    if (within != NULL) {
        add(&text, "; within it with %s (%s)", UNITS_COUNT(within->sessions),
            UNITS_NS(within->append.p99_ns));
    } else {
        add(&text, "; no lower level was within it");
    }
    put(stream, "p99", &text);
}

/* A line a level, however many: they are what the search was made for. */
static void put_levels(FILE *stream, const struct search *search)
{
    static const char format[] = "%9s %-13s %9s %9s %9s %9s %5s %9s\n";
    if (search->count == 0) {
        return;
    }
    fprintf(stream, format, "", "", "", "append", "append", "connect", "", "server's");
    fprintf(stream, format, "Sessions", "", "rows/s", "p50", "p99", "p99", "CPU", "memory");
    for (size_t i = 0; i < search->count; i++) {
        const struct level *level = &search->levels[i];
        char cpu[UNITS_TEXT_BYTES] = "-";
        if (level->cpu.host >= 0) {
            snprintf(cpu, sizeof cpu, "%.0f %%", level->cpu.host);
        }
        fprintf(stream, format, UNITS_COUNT(level->sessions),
                level->outcome == LEVEL_HELD ? level_outcome_names[level->outcome]
                                             : level_reason_names[level->reason],
                level->hold_ns > 0 ? ROUNDED(level->rows_per_s) : "-",
                level->append.count > 0 ? UNITS_NS(level->append.p50_ns) : "-",
                level->append.count > 0 ? UNITS_NS(level->append.p99_ns) : "-",
                level->connect.count > 0 ? UNITS_NS(level->connect.p99_ns) : "-", cpu,
                level->server_memory_bytes >= 0 ? UNITS_BYTES((uint64_t)level->server_memory_bytes)
                                                : "-");
    }
    fputc('\n', stream);
}

void text_levels_write(FILE *stream, const struct plan *plan, const struct result *result,
                       const struct search *search, const char *shortage)
{
    struct text text = {""};
    put_answer(stream, search, &result->findings);
    fputc('\n', stream);
    put_knee(stream, search);
    put_p99(stream, search);
    put_target(stream, plan, result);
    const double each = search_session_bytes(search);
    if (each >= 0) {
        add(&text, "the server's grew by %s with each further session, its caches included (%s)",
            UNITS_BYTES((uint64_t)each), memory_source_texts[result->resources.memory_source]);
        put(stream, "Memory", &text);
    }
    put_if(stream, "Note", search->figures_note);
    fputc('\n', stream);
    put_levels(stream, search);
    put_ledgers(stream, result);
    if (search->removal[0] != '\0') {
        const uint64_t written = result->rows.acknowledged;
        add(&text, "%s rows, %s of values; they stay: %s", UNITS_COUNT(written),
            UNITS_BYTES((uint64_t)((double)written * search->row_bytes)), search->removal);
        put(stream, "Written", &text);
    }
    put_if(stream, "Problem", shortage);
    put_if(stream, "Metrics", result->metrics_note);
    put_if(stream, verdict_names[result->verdict], result->verdict_reason);
    screen_add_files(stream, plan->out_folder);
}
