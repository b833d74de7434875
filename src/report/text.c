#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/mono.h"
#include "base/text.h"
#include "plan/facts.h"
#include "report/check.h"
#include "report/expectations.h"
#include "report/figures.h"
#include "report/report.h"
#include "report/screen.h"
#include "report/tables.h"
#include "trace/switches.h"
#include "trace/trace.h"

enum {
    LABEL = SCREEN_LABEL_COLUMNS,
    HOST_LABEL = 20,
    SCRIPT_LABEL = 14, /* columns of the label "Transactions" and two blanks */
    FIGURE_COLUMN = 33,
    CAUSES_SHOWN = 5,
    FINDINGS_SHOWN = 2,
    CHECK_INDENT = 6,
    CHECK_WHERE_COLUMNS = 18, /* columns of a line that are left after the columns of numbers */
};

/* The output, and the text for the next line or lines. */
struct screen {
    FILE *stream;
    unsigned label; /* width of the labels, in columns */
    char text[SCREEN_TEXT_BYTES];
};

static void say_if(struct screen *out, bool holds, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds to out->text if `holds` is true. */
static void say_if(struct screen *out, bool holds, const char *format, ...)
{
    const size_t used = strlen(out->text);
    va_list arguments;
    va_start(arguments, format);
    if (holds) {
        vsnprintf(out->text + used, sizeof out->text - used, format, arguments);
    }
    va_end(arguments);
}
#define say(out, ...) say_if((out), true, __VA_ARGS__)

/* Writes out->text after a label, and empties out->text. Writes nothing if the text is "". */
static void put_at(struct screen *out, const char *label, unsigned column)
{
    if (out->text[0] != '\0') {
        screen_add_wrapped(out->stream, label, column, out->text);
    }
    out->text[0] = '\0';
}

static void put(struct screen *out, const char *label)
{
    put_at(out, label, out->label);
}

static void put_text(struct screen *out, const char *label, const char *text)
{
    say(out, "%s", text == NULL ? "" : text);
    put(out, label);
}

static void put_line(struct screen *out)
{
    screen_add(out->stream, "%s", out->text);
    out->text[0] = '\0';
}

/* Returns the length of a server's version without the packager's part in brackets. run.json has
 * the whole version. */
static int version_length(const char *version)
{
    const size_t length = strcspn(version, "(");
    return (int)(length > 1 && version[length] == '(' ? length - 1 : length);
}

/* Two arguments for "%s %s": a count, and the singular or plural of a noun. */
#define COUNTED(count, one, many) UNITS_COUNT(count), units_plural((count), (one), (many))

/* Writes rows per second; a rate below 100 has two decimals. */
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

/* Writes a part of the elapsed time with decimals, so that the reader can check the sum. */
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

/* Adds the settings that weaken durability at a host. Writes the name of the host first, unless it
 * is the only host (`is_only`). `has_text` says whether settings of an earlier host were added.
 * Returns whether settings of this or an earlier host were added. */
static bool say_weak(struct screen *out, const struct settings_queries *words,
                     const struct host_result *host, bool is_only, bool has_text)
{
    bool is_named = is_only;
    for (size_t i = 0; i < host->settings.count; i++) {
        const struct server_setting *setting = &host->settings.entries[i];
        const char *why = report_weakness(words, setting);
        if (why != NULL) {
            say(out, "%s", has_text ? "; " : "weakened: ");
            say_if(out, !is_named, "at %s ", host->name);
            say(out, "%s=%s: %s", setting->name, setting->value, why);
            is_named = has_text = true;
        }
    }
    return has_text;
}

/* Writes the target, and its server, method and engine in brackets, for example "(MariaDB 10.11.8,
 * bulk, InnoDB)". */
static void put_target(struct screen *out, const struct plan *plan, const struct result *result)
{
    const char *version = result->server.version;
    char shown[sizeof result->server.version];
    snprintf(shown, sizeof shown, "%.*s", version_length(version), version);
    const char *const parts[] = {shown, result->connection.method, result->engine};
    const char *separator = " (";
    say(out, "%s", plan->facts->target);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i] != NULL && parts[i][0] != '\0') {
            say(out, "%s%s", separator, parts[i]);
            separator = ", ";
        }
    }
    say_if(out, separator[0] == ',', ")");
    put(out, "Target");
    put_text(out, "Note", result->connection.note);
    bool is_weak = false;
    for (size_t i = 0; i < result->host_count; i++) {
        const struct host_result *host = &result->hosts[i];
        is_weak =
            say_weak(out, result->connection.settings, host, result->host_count == 1, is_weak);
    }
    if (is_weak) {
        put(out, "Durable");
    }
}

static void put_run(struct screen *out, const struct plan *plan)
{
    const struct script *script = plan->script;
    const bool has_bound = plan->records > 0 || plan->transactions > 0;
    char stages[PLAN_STAGES_BYTES];
    say(out, "%s session%s", COUNTED(plan->sessions, "", "s"));
    say(out, "%s", plan_describe_stages(&plan->stages, stages));
    say_if(out, plan->idle_sessions > 0, " + %s idle", UNITS_COUNT(plan->idle_sessions));
    say_if(out, plan->transactions > 0, ", %s transaction%s", COUNTED(plan->transactions, "", "s"));
    if (plan->records > 0) {
        say(out, ", %s row%s", COUNTED(plan->records, "", "s"));
        /* if the sessions have different numbers of rows, shows them, so that the reader can check
         * the sum */
        const uint64_t least = plan->records / plan->sessions,
                       more = plan->records % plan->sessions;
        say_if(out, more > 0, " (%" PRIu64 " x %" PRIu64 " + %" PRIu64 " x %" PRIu64 ")", more,
               least + 1, plan->sessions - more, least);
    }
    say_if(out, plan->duration_ns > 0, "%s %s", has_bound ? " within" : " for",
           ELAPSED(plan->duration_ns));
    say_if(out, plan->warm_up_ns > 0, " (%s of it warm-up)", ELAPSED(plan->warm_up_ns));
    say_if(out, script == NULL, " in batches of %s", UNITS_COUNT(plan->batch_rows));
    if (plan->read_mode != READ_NONE && script == NULL) {
        const bool is_each = plan->read_every <= 1;
        say(out, ", %s after %s%s%s", plan->read_mode == READ_QUERY ? "a query" : "count(*)",
            is_each ? "each" : "every ", is_each ? "" : UNITS_COUNT(plan->read_every),
            is_each ? "" : " batches");
    }
    say_if(out, ramp_highest(&plan->rate) > 0, ", at a rate of %s %s/s%s",
           UNITS_COUNT((uint64_t)ramp_highest(&plan->rate)), plan_work(plan)->many,
           plan_describe_stages(&plan->rate, stages));
    put(out, "Run");
}

static void put_workload(struct screen *out, const struct plan *plan, const struct figure_set *set)
{
    say_if(out, plan->script != NULL, "%s", figure_text(set, FIGURE_WORKLOAD));
    for (size_t i = 0; plan->script != NULL && i < plan->script->param_count; i++) {
        const struct script_param *param = &plan->script->params[i];
        say(out, "%s%s=%s", i == 0 ? ": " : ", ", param->name, param->value);
    }
    put(out, "Workload");
}

/* Writes "total = term + term". The first term is always shown. The other terms that are 0 are
 * shown one by one, or joined, or not at all. Uses the first of these forms that fits a line. */
static void put_sum(struct screen *out, const char *label, const struct figure_set *set,
                    enum figure_id total, enum figure_id first, enum figure_id last)
{
    enum {
        EACH,   /* every term: + 0 refused + 0 timed out */
        JOINED, /* terms that are 0 joined: + 0 refused/timed out */
        NONE,
        FORMS
    };
    for (int form = EACH; form < FORMS; form++) {
        out->text[0] = '\0';
        say(out, "%s =", UNITS_COUNT(set->values[total].count));
        for (enum figure_id id = first; id <= last; id++) {
            const uint64_t value = set->values[id].count;
            const bool is_term = figure_table[id].label != NULL;
            say_if(out, is_term && (id == first || value > 0 || form == EACH), "%s %s %s",
                   id == first ? "" : " +", UNITS_COUNT(value), figure_table[id].label);
        }
        const char *lead = " + 0 ";
        for (enum figure_id id = first + 1; form == JOINED && id <= last; id++) {
            if (set->values[id].count == 0 && figure_table[id].label != NULL) {
                say(out, "%s%s", lead, figure_table[id].label);
                lead = "/";
            }
        }
        if (strlen(out->text) <= SCREEN_COLUMNS - out->label) {
            break;
        }
    }
    put(out, label);
}

/* Adds ", COUNT NAME" unless the count is 0. */
static void say_nonzero(struct screen *out, uint64_t count, const char *name)
{
    say_if(out, count > 0, ", %s %s", UNITS_COUNT(count), name);
}

static bool are_all_hosts_counted(const struct result *result)
{
    bool are_all = true;
    for (size_t i = 0; i < result->host_count; i++) {
        are_all = are_all && result->hosts[i].is_counted;
    }
    return are_all;
}

static void put_verification(struct screen *out, const struct result *result)
{
    const struct verification *v = &result->verification;
    const struct row_verification *r = &result->row_verification;
    if (v->state == VERIFICATION_FAILED) {
        say(out, "NO, the rows could not be counted: %s", v->reason);
    } else if (v->state == VERIFICATION_NONE) {
        say(out, "nothing: this database does not keep rows");
    } else {
        say(out, "count(*) %s before, %s after", UNITS_COUNT(v->rows_before),
            UNITS_COUNT(v->rows_after));
        const char *counted =
            are_all_hosts_counted(result) ? "every host" : "each host that answers";
        say_if(out, result->host_count > 1, " at %s",
               result->are_hosts_one ? counted : "all hosts together, each with its own database");
        if (r->state != VERIFICATION_DONE) {
            /* count(*) does not show whether this run wrote the remaining rows */
            const bool is_range = v->lost < v->lost_at_most;
            say(out, ": %s%s%s %s", is_range ? UNITS_COUNT(v->lost) : "", is_range ? " to " : "",
                UNITS_COUNT(v->lost_at_most), v->lost_at_most > 0 ? "LOST" : "lost");
            say_if(out, result->rows.in_doubt > 0, ", %s in doubt arrived",
                   UNITS_COUNT(v->in_doubt_arrived));
            say_nonzero(out, v->rejected_arrived, "REJECTED found");
        }
        say_nonzero(out, result_surplus(result),
                    result->stop_reason == STOP_RANK
                        ? "more, written by the lost rank or by another client"
                        : "more than this run can have written");
        say_if(out, v->is_shrunk, ", the table SHRANK");
    }
    put(out, "Verified");
    if (r->state == VERIFICATION_NONE) {
        return;
    }
    if (r->state == VERIFICATION_FAILED) {
        say(out, "NO, the rows could not be read: %s", r->reason);
    } else {
        say(out, "%s acknowledged found, ", UNITS_COUNT(r->present));
        say_if(out, r->lost == 0, "0 lost");
        say_if(out, r->lost > 0, "%s acknowledged LOST, of %s sessions (sessions.csv)",
               UNITS_COUNT(r->lost), UNITS_COUNT(r->sessions_lost));
        say_nonzero(out, r->in_doubt_present, "in doubt found");
        say_nonzero(out, result->rows.in_doubt - r->in_doubt_present, "in doubt not found");
        say_nonzero(out, r->rejected_present, "REJECTED found");
        say_nonzero(out, r->duplicates, "DUPLICATES");
        say_nonzero(out, r->foreign, "FOREIGN with this run's tag");
    }
    put(out, "Rows read");
}

static const char imbalance[] = "DOES NOT BALANCE: a defect of append, do not trust this run";

/* Adds the retries by their causes. */
static void put_retries(struct screen *out, const uint64_t counters[RECORDER_COUNTERS])
{
    const char *before = ": ";
    for (size_t i = COUNTS_OF_RETRIES; i < OPERATION_COUNTS; i++) {
        const uint64_t retries = counters[operation_count_sums[i]];
        /* the count of retries after a duplicate key is not shown if it is 0, because such retries
         * exist only if the script asks for them */
        if (retries > 0 || i != COUNT_RETRIES_DUPLICATE) {
            say(out, "%s%s %s", before, UNITS_COUNT(retries),
                operation_count_names[i] + strlen("retries_"));
            before = ", ";
        }
    }
}

/* Writes how the transactions of the warm-up ended. */
static void put_warm_up(struct screen *out, const uint64_t counters[RECORDER_COUNTERS])
{
    const char *before = " = ";
    if (counters[RECORDER_TRANSACTIONS_BEGUN] > 0) {
        say(out, "%s", UNITS_COUNT(counters[RECORDER_TRANSACTIONS_BEGUN]));
        for (int id = FIGURE_TRANSACTIONS_COMMITTED; id <= FIGURE_TRANSACTIONS_UNFINISHED; id++) {
            const uint64_t count = counters[figure_table[id].counter];
            if (count > 0 || id == FIGURE_TRANSACTIONS_COMMITTED) {
                say(out, "%s%s %s", before, UNITS_COUNT(count), figure_table[id].label);
                before = " + ";
            }
        }
        say(out, ": excluded from all figures except Verified");
    }
    put(out, "Warm-up");
}

/* Says how many response times are lower bounds. */
static void say_unanswered(struct screen *out, const struct result *result)
{
    const uint64_t unanswered = result->totals.counters[RECORDER_RESPONSES_UNANSWERED];
    say_if(out, unanswered > 0, "; %s response %s, because no answer came",
           COUNTED(unanswered, "time is a lower bound", "times are lower bounds"));
}

/* Writes the script's transactions by outcome, and its tries, statements and checks. */
static void put_transactions(struct screen *out, const struct figure_set *set,
                             const struct result *result)
{
    const uint64_t *counters = result->totals.counters;
    const uint64_t failed = counters[RECORDER_TRANSACTIONS_FAILED];
    const uint64_t retries = transactions_retries(counters);
    const char *begun = UNITS_COUNT(counters[RECORDER_TRANSACTIONS_BEGUN]);
    double per_s, statements_per_s, percent;
    put_sum(out, "Transactions", set, FIGURE_TRANSACTIONS_BEGUN, FIGURE_TRANSACTIONS_COMMITTED,
            FIGURE_TRANSACTIONS_UNFINISHED);
    put_text(out, "", transactions_balance(counters) ? "" : imbalance);
    if (failed > 0) {
        say(out, "%s = %s gave up after all retries + %s refused + %s lost with the connection",
            UNITS_COUNT(failed), UNITS_COUNT(counters[RECORDER_TRANSACTIONS_EXHAUSTED]),
            UNITS_COUNT(counters[RECORDER_TRANSACTIONS_REFUSED]),
            UNITS_COUNT(counters[RECORDER_TRANSACTIONS_LOST]));
        say_nonzero(out, counters[RECORDER_TRANSACTIONS_PARTIAL],
                    "PARTLY DONE: a write was acknowledged");
        put(out, "Failed");
    }
    say(out, "%s = %s begun + %s retries", UNITS_COUNT(counters[RECORDER_TRIES]), begun,
        UNITS_COUNT(retries));
    if (retries > 0) {
        put_retries(out, counters);
    }
    put(out, "Tries");
    if (counters[RECORDER_TRANSACTIONS_DUE] > 0) {
        say(out, "%s = %s begun + %s skipped + %s not begun",
            UNITS_COUNT(counters[RECORDER_TRANSACTIONS_DUE]),
            UNITS_COUNT(counters[RECORDER_TRANSACTIONS_BEGUN] -
                        counters[RECORDER_TRANSACTIONS_NOT_DUE]),
            UNITS_COUNT(counters[RECORDER_SKIPPED]),
            UNITS_COUNT(counters[RECORDER_TRANSACTIONS_NOT_BEGUN]));
        say_nonzero(out, counters[RECORDER_LATE], "late by over 100 ms");
        say_unanswered(out, result);
        put(out, "Due");
    }
    put_warm_up(out, result->totals.warm_up);
    if (figure_get(set, FIGURE_STATEMENTS_PER_S, &statements_per_s) &&
        figure_get(set, FIGURE_TRANSACTIONS_PER_S, &per_s)) {
        const double seconds = figures_seconds(result->measured_ns);
        say(out, "%s transactions/s; %s statements/s = %s read + %s write + %s other", RATE(per_s),
            RATE(statements_per_s), RATE((double)counters[RECORDER_READS] / seconds),
            RATE((double)counters[RECORDER_WRITES] / seconds),
            RATE((double)counters[RECORDER_OTHERS] / seconds));
        put(out, "Throughput");
    }
    if (counters[RECORDER_CHECKS] > 0) {
        say(out, "%s: %s %s", UNITS_COUNT(counters[RECORDER_CHECKS]),
            UNITS_COUNT(counters[RECORDER_CHECKS_FAILED]),
            counters[RECORDER_CHECKS_FAILED] > 0 ? "FAILED" : "failed");
        put(out, "Checks");
    }
    if (figure_get(set, FIGURE_FOUND_PERCENT, &percent)) {
        say(out, "%.2f %% of %s calls to found()", percent,
            UNITS_COUNT(counters[RECORDER_FOUND] + counters[RECORDER_NOT_FOUND]));
    }
    put(out, "Found");
}

/* Writes whether the tables of the script have the committed rows. */
static void put_datasets(struct screen *out, const struct plan *plan, const struct result *result)
{
    const char *label = "Verified";
    for (size_t i = 0; i < result->dataset_count; i++) {
        const struct verification *v = &result->datasets[i];
        if (v->state == VERIFICATION_NONE) {
            continue;
        }
        say(out, "%s: ", plan->script->datasets[i].name);
        if (v->state == VERIFICATION_FAILED) {
            say(out, "NO, the rows could not be counted: %s", v->reason);
        } else {
            const uint64_t expected = v->rows_before + v->added - v->taken;
            say(out, "%s before + %s added - %s taken = %s", UNITS_COUNT(v->rows_before),
                UNITS_COUNT(v->added), UNITS_COUNT(v->taken), UNITS_COUNT(expected));
            say_if(out, v->rows_after == expected, " after: ");
            say_if(out, v->rows_after != expected, ", after: %s, ", UNITS_COUNT(v->rows_after));
            say(out, "%s %s", UNITS_COUNT(v->lost), v->lost > 0 ? "LOST" : "lost");
            say_nonzero(out, v->surplus, "MORE than this run can have written");
            say_nonzero(out, v->added_in_doubt, "more in doubt");
            say_nonzero(out, v->taken_in_doubt, "fewer in doubt");
        }
        put(out, label);
        label = "";
    }
}

/* Writes whether the claims of the script about its tables are true. */
static void put_invariants(struct screen *out, const struct result *result)
{
    const char *label = "Invariants";
    for (size_t i = 0; i < result->invariant_count; i++) {
        const struct invariant_result *invariant = &result->invariants[i];
        if (invariant->rows > 0) {
            say(out, "BROKEN by %s %s: %s; the first: %s", COUNTED(invariant->rows, "row", "rows"),
                invariant->claim, invariant->first);
        } else if (invariant->state != VERIFICATION_NONE) {
            const bool is_done = invariant->state == VERIFICATION_DONE;
            say(out, "%s: %s", is_done ? "holds" : "NOT CHECKED", invariant->claim);
        }
        say_if(out, invariant->state == VERIFICATION_FAILED, " (%s)", invariant->reason);
        put(out, label);
        label = "";
    }
}

static bool figure_is_set(const struct figure_set *set, enum figure_id id)
{
    double value;
    return figure_get(set, id, &value) && value > 0;
}

/* Writes the ledgers, each as a sum that the reader can check, and the verification. */
static void put_ledgers(struct screen *out, const struct figure_set *set, const struct plan *plan,
                        const struct result *result)
{
    const bool has_script = plan->script != NULL;
    const struct batch_ledger *batches = &result->batches;
    put_sum(out, "Sessions", set, FIGURE_SESSIONS_REQUESTED, FIGURE_SESSIONS_CONNECTED,
            FIGURE_SESSIONS_NOT_STARTED);
    put_sum(out, "Connected", set, FIGURE_SESSIONS_CONNECTED, FIGURE_SESSIONS_FINISHED,
            FIGURE_SESSIONS_DROPPED);
    put_text(out, "", session_ledger_balances(&result->sessions) ? "" : imbalance);
    if (has_script) {
        put_transactions(out, set, result);
    }
    if (!has_script || result->rows.planned > 0) {
        put_sum(out, "Rows", set, FIGURE_ROWS_PLANNED, FIGURE_ROWS_ACKNOWLEDGED,
                FIGURE_ROWS_NOT_SENT);
    }
    put_text(out, "", row_ledger_balances(&result->rows) ? "" : imbalance);
    put_text(
        out, "Unknown",
        figure_is_set(set, FIGURE_ROWS_AT_LEAST)
            ? "the work of the lost rank after its last message: the figures above are lower bounds"
            : "");
    if (batches->due > 0) {
        say(out, "%s due = %s sent + %s not sent", UNITS_COUNT(batches->due),
            UNITS_COUNT(batches->sent), UNITS_COUNT(batches->not_sent));
        say_unanswered(out, result);
        put(out, "Batches");
    }
    if (has_script) {
        put_datasets(out, plan, result);
        put_invariants(out, result);
    } else {
        put_verification(out, result);
    }
    put_text(out, "", figure_text(set, FIGURE_VERIFICATION_NOTE));
}

/* Adds the name of a table's row. A name that is much too long gets its own line. */
static void say_name(struct screen *out, int width, const char *name)
{
    const int room = width - 2;
    if ((int)strlen(name) > room + 1) {
        screen_add(out->stream, "  %s", name);
        name = "";
    }
    say(out, "  %-*s", room, name);
}

/* Adds a cell or a title: the first `length` bytes of a text. */
static void say_column(struct screen *out, const struct report_table *table,
                       const struct report_column *column, const char *text, size_t length)
{
    const bool has_gap = table->gap != NULL && out->text[0] != '\0';
    say(out, "%s%*.*s", has_gap ? table->gap : "", column->width, (int)length, text);
}

/* Adds the title or value of a point of a distribution, unless only the files have it. */
static void say_point(struct screen *out, const struct figure_point *point, const char *text)
{
    if (!point->is_in_files_only) {
        say(out, " %7s", text);
    }
}

/* Writes the titles of a table's columns. A title may have two lines; a title of one line
 * is in the lower line. Returns false if the text report shows no column of the table. */
static bool put_head(struct screen *out, const struct report_table *table,
                     const struct operation_list *operations)
{
    const bool has_script = operation_is_used(operations, OPERATION_TRANSACTION);
    bool has_titles = false;
    for (int line = 0; line < 2; line++) {
        has_titles = false;
        for (size_t i = 0; i < table->column_count; i++) {
            const struct report_column *column = &table->columns[i];
            if (report_column_is_shown(column, true, has_script)) {
                const char *end = strchr(column->text, '\n');
                const char *lower = end == NULL ? column->text : end + 1;
                const size_t upper_length = end == NULL ? 0 : (size_t)(end - column->text);
                has_titles = has_titles || line == 1 || end != NULL;
                say_column(out, table, column, line == 0 ? column->text : lower,
                           line == 0 ? upper_length : strlen(lower));
            }
        }
        for (size_t i = 0; table->has_points && line == 1 && i < operations->points.count; i++) {
            say_point(out, &operations->points.entries[i], operations->points.entries[i].title);
        }
        if (has_titles) {
            put_line(out);
        }
        out->text[0] = '\0';
    }
    return has_titles;
}

/* Writes a number with four digits, or with all digits before the point. */
static const char *format_value(double value, char text[UNITS_TEXT_BYTES])
{
    const double size = fabs(value);
    const bool is_whole = size == floor(size) || size >= 1000;
    if (!is_whole || size >= 1e15) {
        snprintf(text, UNITS_TEXT_BYTES, "%.4g", value);
        return text;
    }
    const size_t sign = value < 0 ? 1 : 0;
    text[0] = '-';
    snprintf(text + sign, UNITS_TEXT_BYTES - sign, "%s", ROUNDED(size));
    return text;
}

/* Writes the value of a cell with its unit. Returns `text` or the cell's own text. */
static const char *format_cell(const struct report_cell *cell, bool has_no_decimals,
                               char text[UNITS_TEXT_BYTES])
{
    const struct figure_value *value = &cell->value;
    const double bytes_of_mib = 1024.0 * 1024.0;
    if (cell->unit == FIGURE_UNIT_TEXT) {
        return value->text == NULL ? "" : value->text;
    }
    if (!value->is_known) {
        return "-";
    }
    switch (cell->unit) {
    case FIGURE_UNIT_COUNT:
        return units_format_count(value->count, text);
    case FIGURE_UNIT_MS:
        return units_format_ns(llround(value->number * (double)MONO_NS_PER_MS), text);
    case FIGURE_UNIT_S:
        return units_format_ns(llround(value->number * (double)MONO_NS_PER_S), text);
    case FIGURE_UNIT_MIB:
        return units_format_bytes((uint64_t)llround(value->number * bytes_of_mib), text);
    case FIGURE_UNIT_PERCENT:
        snprintf(text, UNITS_TEXT_BYTES, "%.*f %%", has_no_decimals ? 0 : 1, value->number);
        return text;
    case FIGURE_UNIT_VALUE:
        return format_value(value->number, text);
    default: /* the other units are rates */
        return has_no_decimals ? units_format_count((uint64_t)llround(value->number), text)
                               : format_rate(value->number, text);
    }
}

static void put_row(struct screen *out, const struct report_table *table,
                    const struct operation_list *operations, const void *record)
{
    const bool has_script = operation_is_used(operations, OPERATION_TRANSACTION);
    struct report_row row = {.operations = operations};
    table->fill(&row, record);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct report_column *column = &table->columns[i];
        const struct report_cell *cell = report_row_find(&row, column->key);
        if (report_column_is_shown(column, true, has_script)) {
            char number[UNITS_TEXT_BYTES];
            const char *text = format_cell(cell, table->has_no_decimals, number);
            if (out->text[0] == '\0' && column->width < 0) {
                say_name(out, -column->width, text);
            } else {
                say_column(out, table, column, text, strlen(text));
            }
        }
    }
    for (size_t i = 0; table->has_points && i < operations->points.count; i++) {
        const struct figure_point *point = &operations->points.entries[i];
        char number[UNITS_TEXT_BYTES];
        say_point(out, point,
                  format_cell(report_row_find(&row, point->key), table->has_no_decimals, number));
    }
    put_line(out);
}

/* Writes a table with a row for each element of an array, and an empty line. Writes nothing if the
 * array is empty. */
static void put_table(struct screen *out, const struct report_table *table,
                      const struct operation_list *operations, const void *records, size_t count,
                      size_t size)
{
    if (count > 0) {
        put_head(out, table, operations);
        for (size_t i = 0; i < count; i++) {
            put_row(out, table, operations, (const char *)records + i * size);
        }
        fputc('\n', out->stream);
    }
}

/* Writes a table of a run, and an empty line. Writes nothing if the table has no rows or no
 * columns. */
static void put_rows(struct screen *out, const struct report_table *table,
                     const struct report_source *source)
{
    const struct operation_list *operations = &source->set->operations;
    union report_record room;
    const void *record;
    bool has_head = false;
    for (size_t i = 0; (record = table->record(source, i, &room)) != NULL; i++) {
        struct report_row row = {.operations = operations};
        table->fill(&row, record);
        if (report_row_is_of(&row, table)) {
            has_head = has_head || put_head(out, table, operations);
            if (!has_head) {
                return;
            }
            put_row(out, table, operations, record);
        }
    }
    fputs(has_head ? "\n" : "", out->stream);
}

static bool is_transaction(const struct operation *operation)
{
    return operation->kind == OPERATION_IS_TRANSACTION;
}

/* Returns the number of transactions that the script names. */
static size_t count_transactions(const struct operation_list *operations)
{
    size_t count = 0;
    for (size_t i = OPERATIONS; i < operations->count; i++) {
        count += is_transaction(&operations->entries[i]) ? 1 : 0;
    }
    return count;
}

static void put_latencies(struct screen *out, const struct plan *plan, const struct result *result)
{
    const struct operation_list operations = plan_operations(plan);
    const int measured = 26 - (int)out->label;
    const size_t transactions = count_transactions(&operations);
    say(out, "%-*s", (int)out->label, "Latency");
    for (size_t i = 0; i < operations.points.count; i++) {
        if (!operations.points.entries[i].is_in_files_only) {
            say(out, "%9s", operations.points.entries[i].title);
        }
    }
    say(out, "%*s", measured, "measured");
    put_line(out);
    for (size_t i = 0; i < operations.count; i++) {
        const struct histogram *histogram = recorder_histogram(&result->totals, i);
        /* a row that is equal to the row of all transactions is left out: if the script has one
         * transaction, the row of this transaction; in a run without retries, the row of tries */
        const bool is_copy =
            (is_transaction(&operations.entries[i]) && transactions == 1) ||
            (i == OPERATION_TRY && transactions_retries(result->totals.counters) == 0);
        if (!operation_is_used(&operations, i) || histogram->total == 0 || is_copy) {
            continue;
        }
        say_name(out, (int)out->label, operations.entries[i].name);
        for (size_t point = 0; point < operations.points.count; point++) {
            const struct figure_point *shown = &operations.points.entries[point];
            if (!shown->is_in_files_only) {
                say(out, "%9s", UNITS_NS(figures_point_ns(histogram, shown)));
            }
        }
        say(out, "%*s", measured, UNITS_COUNT(histogram->total));
        put_line(out);
    }
}

/* Sets *all to the sum of all ranks on the machine of rank `first`. Returns the number of these
 * ranks, or 0 if a rank before `first` is on the same machine. */
static unsigned add_up_machine(const struct result *result, size_t first, struct rank_result *all)
{
    unsigned ranks = 1;
    *all = result->ranks[first];
    all->is_known = true;
    for (size_t i = 0; i < result->rank_count; i++) {
        const struct rank_result *other = &result->ranks[i];
        if (i == first || strcmp(other->machine, all->machine) != 0) {
            continue;
        }
        if (i < first) {
            return 0;
        }
        ranks++;
        all->sessions.connected += other->sessions.connected;
        all->rows.acknowledged += other->rows.acknowledged;
        all->counters[RECORDER_TRANSACTIONS_COMMITTED] +=
            other->counters[RECORDER_TRANSACTIONS_COMMITTED];
        all->resources.max_cpu.client =
            fmax(all->resources.max_cpu.client, 0) + fmax(other->resources.max_cpu.client, 0);
        all->resources.max_cpu.host =
            fmax(all->resources.max_cpu.host, other->resources.max_cpu.host);
        all->clock_error_ns = MAX(all->clock_error_ns, other->clock_error_ns);
    }
    all->resources.max_cpu.client = fmax(all->resources.max_cpu.client, 0);
    all->resources.max_cpu.host = fmax(all->resources.max_cpu.host, 0);
    return ranks;
}

/* Writes a row for each machine that has ranks. */
static void put_machines(struct screen *out, const struct operation_list *operations,
                         const struct result *result)
{
    enum {
        MACHINES_SHOWN = 16
    };
    size_t machines = 0;
    if (result->rank_count == 0) {
        return;
    }
    fputc('\n', out->stream);
    put_head(out, &report_ranks, operations);
    for (size_t i = 0; i < result->rank_count; i++) {
        struct rank_result all;
        const unsigned ranks = add_up_machine(result, i, &all);
        machines += ranks > 0 ? 1 : 0;
        if (ranks > 0 && machines <= MACHINES_SHOWN) {
            const struct rank_row machine = {
                .rank = &all, .ranks = ranks, .is_clock_ours = i == 0 && ranks == 1};
            put_row(out, &report_ranks, operations, &machine);
        }
    }
    if (machines > MACHINES_SHOWN) {
        say(out, "and %s more machine%s: see ranks.csv",
            COUNTED(machines - MACHINES_SHOWN, "", "s"));
        put_line(out);
    }
    fputc('\n', out->stream);
}

/* Writes freshness, lost connections and fairness of the sessions, and the CPU time and memory of
 * this program. */
static void put_sessions(struct screen *out, const struct figure_set *set,
                         const struct result *result)
{
    const uint64_t *counters = result->totals.counters;
    const uint64_t lost = counters[RECORDER_CONNECTIONS_LOST];
    const uint64_t failed = counters[RECORDER_RECONNECTS_FAILED];
    const uint64_t refusals = counters[RECORDER_REFUSALS];
    const uint64_t churns = counters[RECORDER_CHURNS];
    if (counters[RECORDER_FRESH_CHECKS] > 0) {
        say(out, "%s reads: read-your-writes violations %s",
            UNITS_COUNT(counters[RECORDER_FRESH_CHECKS]),
            UNITS_COUNT(counters[RECORDER_FRESH_BEHIND]));
        say_if(out, counters[RECORDER_FRESH_BEHIND] > 0, " (up to %s row%s missing)",
               COUNTED(result->worst_lag_rows, "", "s"));
        say(out, ", non-monotonic reads %s", UNITS_COUNT(counters[RECORDER_FRESH_BACKWARD]));
        put(out, "Freshness");
    }
    if (lost > 0) {
        say(out, "%s connection%s, %s reconnected", COUNTED(lost, "", "s"),
            UNITS_COUNT(counters[RECORDER_RECONNECTS]));
        say_nonzero(out, counters[RECORDER_TIMEOUTS], "calls cut by --timeout");
    }
    say_if(out, refusals > 0, "%s%s batch%s by a read-only server", lost > 0 ? "; refused " : "",
           COUNTED(refusals, "", "es"));
    say_nonzero(out, lost > 0 || refusals > 0 ? failed : 0, "attempts to reconnect failed");
    put(out, lost > 0 ? "Lost" : "Refused");
    say_if(out, churns > 0, "%s connection%s closed and reopened by append",
           COUNTED(churns, "", "s"));
    put(out, "Churn");
    const struct fairness *fairness = &result->fairness;
    say_if(out, fairness->sessions > 1 && figure_has_rows(set),
           "slowest %s rows/s (session %u), fastest %s (session %u); longest without an "
           "acknowledged append: %s (session %u)",
           ROUNDED(fairness->slowest_rows_per_s), fairness->slowest_session,
           ROUNDED(fairness->fastest_rows_per_s), fairness->fastest_session,
           UNITS_NS(fairness->longest_gap_ns), fairness->longest_gap_session);
    put(out, "Fairness");
    const struct resource_summary *resources = &result->resources;
    const uint64_t memory = resources->max_client_memory_bytes;
    say(out, "%.2f s CPU", resources->client_cpu_s);
    if (result->rows.acknowledged > 0) {
        say(out, ", %.2f us a row",
            resources->client_cpu_s * 1e6 / (double)result->rows.acknowledged);
    }
    double percent;
    const uint64_t statements =
        counters[RECORDER_READS] + counters[RECORDER_WRITES] + counters[RECORDER_OTHERS];
    if (figure_get(set, FIGURE_SCRIPT_PERCENT, &percent)) {
        /* left out in a run with a warm-up, because the CPU time includes the warm-up and the count
         * of statements does not */
        say_if(out, statements > 0 && result->totals.warm_up[RECORDER_TRANSACTIONS_BEGUN] == 0,
               ", %.2f us a statement",
               resources->client_cpu_s * 1e6 / (double)(statements > 0 ? statements : 1));
        say(out, ", script %.1f %% of the transactions' time", percent);
    }
    say_if(out, memory > 0, ", %s memory", UNITS_BYTES(memory));
    /* subtracts the memory that the program needs without sessions */
    const uint64_t bare = MIN(resources->bare_client_memory_bytes, memory);
    if (memory > bare && bare > 0 && result->sessions.connected > 0) {
        say(out, ", %s a session", UNITS_BYTES((memory - bare) / result->sessions.connected));
    }
    say_if(out, result->connection.is_embedded, ", database included");
    put(out, "append");
}

/* Writes a line for each rank with a trace, with the mean times of its syncs. */
static void put_traces_of_ranks(struct screen *out, const struct result *result, bool has_requests)
{
    for (size_t i = 0, shown = 0; i < result->rank_count; i++) {
        const struct rank_result *rank = &result->ranks[i];
        const struct trace_sum *trace = rank->trace;
        if (trace == NULL || trace->level == IO_TRACE_OFF) {
            continue;
        }
        if (shown++ == 0) {
            say(out, "%-*s%9s%9s%9s%9s%8s%8s%8s", HOST_LABEL, "I/O by machine", "reads", "writes",
                has_requests ? "flushes" : "fsyncs", "mean", has_requests ? "" : "vfs", "queue",
                "device");
            put_line(out);
        }
        say_name(out, HOST_LABEL, rank->machine);
        for (size_t mode = IO_READ; mode < IO_MODES; mode++) {
            say(out, "%9s", UNITS_COUNT(trace->modes[mode].layers[TRACE_TOTAL].total));
        }
        for (size_t layer = 0; layer < TRACE_LAYERS; layer++) {
            const struct histogram *histogram = &trace->modes[IO_SYNC].layers[layer];
            say(out, "%*s", layer == TRACE_TOTAL ? 9 : 8,
                histogram->total == 0 ? "" : UNITS_NS((int64_t)histogram_mean_ns(histogram)));
        }
        put_line(out);
    }
}

/* Writes whether the disk limited the run. Shows the time of all syncs as a share of the run's
 * time, and as a share of the time of all commits or batches. Also shows how much of the time of
 * syncs each layer took. */
static void put_syncs(struct screen *out, const struct figure_set *set, const struct result *result)
{
    const struct trace_sum *trace = result->trace;
    const struct histogram *layers = trace->modes[IO_SYNC].layers;
    const bool is_commit = set->latencies[OPERATION_COMMIT].count > 0;
    const struct figure_latency *calls =
        &set->latencies[is_commit ? OPERATION_COMMIT : OPERATION_APPEND];
    const double calls_ms = calls->points_ms[0] * (double)calls->count;
    const double run_ms = figures_ms(trace->done_ns - trace->gate_ns);
    double layer_ms[TRACE_LAYERS];
    for (size_t layer = 0; layer < TRACE_LAYERS; layer++) {
        layer_ms[layer] = histogram_mean_ns(&layers[layer]) * (double)layers[layer].total /
                          (double)MONO_NS_PER_MS;
    }
    const double total_ms = layer_ms[TRACE_TOTAL];
    if (trace->level != IO_TRACE_FULL || total_ms <= 0 || run_ms <= 0 || calls_ms <= 0) {
        return;
    }
    say(out, "fsync took %.2f s, %.0f %% of the run's time and %.0f %% of the time of all %s",
        total_ms / 1e3, 100 * total_ms / run_ms, 100 * total_ms / calls_ms,
        is_commit ? "commits" : "appends");
    say(out,
        "; %.0f %% of this time at the device, %.0f %% in its queue, %.0f %% in the file system or "
        "waiting for another thread's I/O",
        100 * layer_ms[TRACE_DEVICE] / total_ms, 100 * layer_ms[TRACE_QUEUE] / total_ms,
        100 * layer_ms[TRACE_VFS] / total_ms);
    put(out, "Syncs");
}

/* Writes the times of the server's reads, writes and fsyncs in each layer. */
static void put_trace(struct screen *out, const struct figure_set *set, const struct result *result)
{
    const struct trace_sum *trace = result->trace;
    const struct trace_times *times;
    const char *mode, *file;
    uint64_t counted, traced;
    if (trace == NULL) {
        return;
    }
    put_text(out, "Untraced", trace->note);
    if (trace->level == IO_TRACE_OFF) {
        return;
    }
    const bool has_requests = trace->level == IO_TRACE_REQUESTS;
    say(out, "%-24s%8s%12s%12s%12s%12s", has_requests ? "I/O requests" : "I/O calls", "count",
        "total", has_requests ? "" : "vfs", "queue", "device");
    put_line(out);
    for (size_t i = 0; (times = trace_times_at(trace, i, &mode, &file)) != NULL; i++) {
        const uint64_t count = times->layers[TRACE_TOTAL].total;
        for (int point = 0; count > 0 && point < 2; point++) {
            char name[32];
            snprintf(name, sizeof name, "%s%s%s", mode, file[0] == '\0' ? "" : ", ", file);
            say(out, "  %-17s%-5s%8s", point == 0 ? name : "", point == 0 ? "mean" : "p99",
                point == 0 ? UNITS_COUNT(count) : "");
            for (size_t layer = 0; layer < TRACE_LAYERS; layer++) {
                const struct histogram *histogram = &times->layers[layer];
                const int64_t ns = point == 0 ? (int64_t)histogram_mean_ns(histogram)
                                              : histogram_quantile_ns(histogram, 0.99);
                say(out, "%12s", histogram->total == 0 ? "" : UNITS_NS(ns));
            }
            put_line(out);
        }
    }
    put_traces_of_ranks(out, result, has_requests);
    put_syncs(out, set, result);
    say(out, "%s %s of the server, %s of write-back",
        COUNTED(trace->requests[IO_OWN].count, "request", "requests"),
        UNITS_COUNT(trace->requests[IO_WRITEBACK].count));
    say_nonzero(out, trace->requests[IO_JOURNAL].count, "of the file system's journal");
    say(out, "; %s of %s records lost", UNITS_COUNT(trace->lost),
        UNITS_COUNT(trace->lost + trace->events));
    say_nonzero(out, trace->open, "calls ended before their requests");
    for (size_t i = 0; i < trace->after.count; i++) {
        if (trace_compare(trace, i, &counted, &traced)) {
            say(out, "; %s: server %s, traced %s", trace->after.entries[i].name,
                UNITS_COUNT(counted), UNITS_COUNT(traced));
        }
    }
    put(out, "Requests");
    say(out, "append used %.2f s of CPU time to read the records; the kernel used ", trace->cpu_s);
    say_if(out, trace->kernel_s >= 0, "about %.2f s to write them", trace->kernel_s);
    say_if(out, trace->kernel_s < 0, "an unknown time to write them");
    put(out, "Trace");
}

/* Adds the phase of a cause: "append", "statement 'pay'", "transaction 'look'". */
static void say_phase(struct screen *out, const struct cause *cause)
{
    const bool is_script = cause->phase == CAUSE_SCRIPT && cause->name != NULL;
    say(out, "%s", is_script ? "transaction" : cause_phase_names[cause->phase]);
    say_if(out, cause->name != NULL, " '%s'", cause->name);
}

/* Writes the most frequent causes of errors, each with its count as the label. */
static void put_causes(struct screen *out, const struct causes *causes)
{
    bool is_shown[CAUSES_MAX] = {false};
    uint64_t rest = causes->others;
    if (causes->count == 0) {
        return;
    }
    screen_add(out->stream, "Errors");
    for (size_t shown = 0; shown < causes->count; shown++) {
        const struct cause *cause = NULL;
        for (size_t i = 0; i < causes->count; i++) {
            if (!is_shown[i] && (cause == NULL || causes->entries[i].count > cause->count)) {
                cause = &causes->entries[i];
            }
        }
        is_shown[cause - causes->entries] = true;
        if (shown >= CAUSES_SHOWN) {
            rest += cause->count;
            continue;
        }
        char label[UNITS_TEXT_BYTES + 16];
        snprintf(label, sizeof label, "%10s x ", UNITS_COUNT(cause->count));
        say_phase(out, cause);
        /* the kind says nothing about an error that the script itself raised */
        say_if(out, cause->phase != CAUSE_SCRIPT, ", %s", error_kind_name(cause->error.kind));
        const bool has_state = cause->error.sqlstate[0] != '\0';
        say_if(out, has_state, " %s", cause->error.sqlstate);
        say_if(out, !has_state && cause->error.native_code != 0, " %d", cause->error.native_code);
        say(out, ": %s", cause->error.text);
        put_at(out, label, (unsigned)strlen(label));
    }
    if (rest > 0) {
        screen_add(out->stream, "%10s x other causes: see run.json", UNITS_COUNT(rest));
    }
}

/* Writes the limits that cost the most sessions, each with evidence and a way to raise it. */
static void put_findings(struct screen *out, const struct findings *findings)
{
    for (size_t i = 0; i < findings->count && i < FINDINGS_SHOWN; i++) {
        const struct finding *finding = &findings->entries[i];
        /* all sessions connected in the end */
        const bool is_delay = finding->sessions == 0 && finding->tries > 0;
        const uint64_t number = is_delay ? finding->tries : finding->sessions;
        say(out, "%s (%s), %s%s %s: %s", finding->name, limit_side_names[finding->side],
            is_delay ? "delayed " : "", UNITS_COUNT(number),
            is_delay ? units_plural(number, "try", "tries")
                     : units_plural(number, "session", "sessions"),
            finding->evidence);
        put(out, "Limit");
        say_if(out, finding->fix[0] != '\0', "to raise it: %s", finding->fix);
        put(out, "");
    }
    if (findings->count > FINDINGS_SHOWN) {
        const size_t more = findings->count - FINDINGS_SHOWN;
        screen_add(out->stream, "%*s%zu more limit%s: see findings in the JSON file",
                   (int)out->label, "", more, units_plural(more, "", "s"));
    }
}

static void put_expectations(struct screen *out, const struct expectations *expectations)
{
    if (expectations == NULL || expectations->count == 0) {
        return;
    }
    const size_t missed = expectations_count_missed(expectations);
    say_if(out, missed == 0, "all %zu met", expectations->count);
    say_if(out, missed > 0, "%zu of %zu NOT MET:", missed, expectations->count);
    /* the missed expectations come first */
    const char *separator = missed == 0 ? ": " : " ";
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < expectations->count; i++) {
            const struct expectation *expectation = &expectations->entries[i];
            if (expectation->is_met == (pass == 1)) {
                char one[EXPECTATIONS_TEXT_BYTES];
                say(out, "%s%s", separator, expectations_describe(expectation, one));
                separator = ", ";
            }
        }
        separator = missed > 0 && missed < expectations->count ? "; met: " : separator;
    }
    put(out, "Expected");
}

static const char *stop_text(const struct result *result)
{
    const struct session_ledger *sessions = &result->sessions;
    const bool is_completed = result->stop_reason == STOP_COMPLETED;
    if (is_completed && sessions->finished == sessions->requested) {
        return "all sessions completed";
    }
    if (is_completed && sessions->finished == sessions->connected) {
        return "every session that connected also completed";
    }
    return report_stop_words(stop_reason_names[result->stop_reason]);
}

/* Writes the activity of the disk with the server's files, and the size of the tables on it. */
static void put_io(struct screen *out, const struct figure_set *set)
{
    const struct {
        enum figure_id id;
        const char *before, *after;
    } shown[] = {
        {FIGURE_DEVICE_WRITTEN_MIB, ": ", " MiB written"},
        {FIGURE_DEVICE_WRITES, " in ", " writes"},
        {FIGURE_DEVICE_WRITE_MS, " of ", " ms"},
        {FIGURE_DEVICE_READ_MIB, ", ", " MiB read"},
        {FIGURE_DEVICE_FLUSHES, ", ", " flushes"},
        {FIGURE_DEVICE_FLUSH_MS, " of ", " ms"},
        {FIGURE_DEVICE_BUSY_PERCENT, "; busy ", " %"},
        {FIGURE_DEVICE_QUEUE, ", queue ", ""},
        {FIGURE_IOWAIT_PERCENT, "; iowait ", " %"},
        {FIGURE_IO_PRESSURE_PERCENT, ", I/O pressure ",
         " % (share of time in which some task waited for I/O)"},
    };
    const char *device = figure_text(set, FIGURE_DEVICE), *note = figure_text(set, FIGURE_IO_NOTE);
    double number, other;
    say(out, "%s", device);
    for (size_t i = 0; i < COUNT_OF(shown) && device[0] != '\0'; i++) {
        if (figure_get(set, shown[i].id, &number)) {
            const bool is_large =
                number >= 100 || figure_table[shown[i].id].unit == FIGURE_UNIT_COUNT;
            char value[UNITS_TEXT_BYTES];
            snprintf(value, sizeof value, number < 1 ? "%.3f" : "%.1f", number);
            say(out, "%s%s%s", shown[i].before, is_large ? ROUNDED(number) : value, shown[i].after);
        }
    }
    say_if(out, device[0] != '\0' && note[0] != '\0', "; ");
    say(out, "%s", note);
    put(out, "Disk");
    if (!figure_get(set, FIGURE_TABLE_MIB_AFTER, &number)) {
        return;
    }
    if (figure_get(set, FIGURE_TABLE_MIB_BEFORE, &other)) {
        say(out, "%.1f MiB before, ", other);
    }
    say(out, "%.1f MiB after the run", number);
    if (figure_get(set, FIGURE_DISK_BYTES_PER_ROW, &number)) {
        say(out, ", %.0f B a row", number);
    }
    if (figure_get(set, FIGURE_WRITE_AMPLIFICATION, &number)) {
        say(out, "; %.1f B written to the disk so far for each byte of the rows", number);
    }
    put(out, "On disk");
}

/* Writes a headline figure: its label, its value, and then out->text. */
static void put_figure(struct screen *out, enum figure_id id, const char *value)
{
    char label[128];
    snprintf(label, sizeof label, "%-15s%16s  ", figure_table[id].label, value);
    put_at(out, label, FIGURE_COLUMN);
}

static void put_figures(struct screen *out, const struct figure_set *set,
                        const struct result *result)
{
    static const char too_short[] = "; the run was too short for repeatable figures";
    const struct resource_summary *resources = &result->resources;
    const double client = resources->cpu_at_max.client, server = resources->cpu_at_max.server;
    double number;
    char value[UNITS_TEXT_BYTES + 8] = "unknown";
    if (resources->max_cpu.host < 0) {
        say(out, "no sample was taken");
    } else {
        const bool is_embedded = result->connection.is_embedded;
        snprintf(value, sizeof value, "%.1f %%", resources->max_cpu.host);
        const bool has_ranks = result->rank_count > 0;
        say(out, "all %u CPU%s", resources->cpus, units_plural(resources->cpus, "", "s"));
        say_if(out, has_ranks, " of machine %.60s",
               has_ranks ? result->ranks[result->resource_rank].machine : "");
        say_if(out, !is_embedded && server >= 0, ": server %.1f %%", server);
        say_if(out, !is_embedded && server < 0, "%s: server unknown", has_ranks ? "" : " here");
        say_if(out, client >= 0, "%s %.1f %%",
               is_embedded ? "; append with the database" : ", append", client);
        const double others = cpu_others(&resources->cpu_at_max, server >= 0 && !is_embedded);
        say_if(out, others >= 0 && (is_embedded || server >= 0), ", other programs %.1f %%",
               others);
    }
    put_figure(out, FIGURE_MAX_CPU_PERCENT, value);

    snprintf(value, sizeof value, "unknown");
    if (!figure_get(set, FIGURE_MAX_MEMORY_MIB, &number)) {
        say(out, "%s",
            resources->server_note[0] != '\0' ? resources->server_note
                                              : "the server's processes were not found");
    } else {
        if (number < 100) {
            snprintf(value, sizeof value, "%.1f MiB", number);
        } else {
            snprintf(value, sizeof value, "%s MiB", ROUNDED(number));
        }
        say_if(out, resources->server_pid > 0 && resources->server_name[0] != '\0',
               "%s (pid %ld): ", resources->server_name, (long)resources->server_pid);
        say(out, "%s%s%s", memory_source_texts[resources->memory_source],
            resources->server_note[0] != '\0' ? "; " : "", resources->server_note);
    }
    put_figure(out, FIGURE_MAX_MEMORY_MIB, value);

    say(out, "connect %s, append %s, disconnect %s", ELAPSED(result->connect_ns),
        ELAPSED(result->append_ns), ELAPSED(result->disconnect_ns));
    put_figure(out, FIGURE_ELAPSED_S, ELAPSED(result->elapsed_ns));

    if (figure_get(set, FIGURE_TRANSACTIONS_PER_S, &number)) {
        snprintf(value, sizeof value, "%s /s", RATE(number));
        say(out, "committed, while the sessions worked%s",
            result->measured_ns < MONO_NS_PER_S ? too_short : "");
        put_figure(out, FIGURE_TRANSACTIONS_PER_S, value);
    }
    if (figure_text(set, FIGURE_WORKLOAD)[0] != '\0' && result->rows.planned == 0) {
        return;
    }
    snprintf(value, sizeof value, "%s rows/s", RATE(result->throughput_rows_per_s));
    say(out, "by elapsed time");
    if (figure_get(set, FIGURE_APPEND_ROWS_PER_S, &number)) {
        say(out, "; %s rows/s while appending%s", RATE(number),
            result->append_ns < MONO_NS_PER_S ? too_short : "");
    }
    put_figure(out, FIGURE_THROUGHPUT_ROWS_PER_S, value);
}

/* Shows what the server's threads did, and what blocked the greatest number of threads. */
static void put_kernel_waits(struct screen *out, const struct figure_set *set,
                             const struct kernel_waits *waits)
{
    struct kernel_wait list[KERNEL_CLASSES];
    char answer[KERNEL_ANSWER_BYTES];
    const size_t count = kernel_waits_list(waits, list);
    put_table(out, &report_kernel_waits, &set->operations, list, count, sizeof *list);
    kernel_waits_answer(waits, answer);
    put_text(out, "Kernel", answer);
    fputc('\n', out->stream);
}

/* Shows what the calls waited for at the server, without shares below 0.5 %. */
static void put_waits(struct screen *out, const struct figure_set *set, const struct result *result)
{
    put_text(out, "No waits", result->waits_note);
    if (result->kernel_waits != NULL) {
        put_kernel_waits(out, set, result->kernel_waits);
    }
    if (result->waits == NULL) {
        return;
    }
    const struct wait_polls polls = waits_polls(result->waits);
    struct wait_share share;
    char answer[WAIT_ANSWER_BYTES];
    bool has_head = false;
    for (size_t at = 0; waits_next_share(result->waits, &at, &share);) {
        if (share.share.share >= 0.005) {
            if (!has_head) {
                put_head(out, &report_wait_shares, &set->operations);
            }
            has_head = true;
            put_row(out, &report_wait_shares, &set->operations, &share);
        }
    }
    struct commit_story story;
    figures_of_commit(&story, result);
    put_table(out, &report_commit, &set->operations, story.parts, story.count, sizeof *story.parts);
    size_t blockers;
    uint64_t more;
    const struct wait_blocker *first = waits_blockers(result->waits, &blockers, &more);
    put_table(out, &report_wait_blockers, &set->operations, first, blockers, sizeof *first);
    waits_answer(result->waits, &set->operations, answer);
    if (!has_head) {
        say(out, "no call was in progress at any poll");
    } else if (polls.polls < WAIT_POLLS_MIN) {
        say(out, "too few polls: at least %d are needed, so let the run take longer",
            WAIT_POLLS_MIN);
    } else {
        say(out, "%s", answer);
    }
    put(out, "Why");
    say(out, "%s %s of the server", COUNTED(polls.polls, "poll", "polls"));
    say_if(out, polls.polls > 0, ", one every %.2f s, each answered in %s", polls.period_s,
           UNITS_NS((int64_t)(polls.answer_ms * MONO_NS_PER_MS)));
    say_if(out, polls.is_cost_known, " with %.2f ms of the server's CPU time (%.1f %% of a CPU)",
           polls.cost_ms, polls.server_percent);
    say_if(out, polls.unseen_percent >= 0.05, "; the polls missed %.1f %% of append's calls",
           polls.unseen_percent);
    say_if(out, polls.failures > 0, "; %s failed: %s", UNITS_COUNT(polls.failures), polls.why);
    say_if(out, polls.missing[0] != '\0', "; %s", polls.missing);
    put(out, "Polls");
    fputc('\n', out->stream);
}

/* Writes the headline figures and the verdict last, because earlier lines may be off the screen. */
void report_write_text(FILE *stream, const struct plan *plan, const struct result *result,
                       const char *shortage)
{
    struct screen out = {.stream = stream, .label = plan->script == NULL ? LABEL : SCRIPT_LABEL};
    struct figure_set set;
    const struct report_source source = {plan, result, &set};
    figures_of_result(&set, plan, result);
    put_target(&out, plan, result);
    put_run(&out, plan);
    put_workload(&out, plan, &set);
    put_ledgers(&out, &set, plan, result);
    fputc('\n', stream);
    /* a script with one transaction needs no table, because the ledger above has the same counts */
    if (count_transactions(&set.operations) > 1) {
        put_rows(&out, &report_transactions, &source);
        if (transactions_retries(result->totals.counters) > 0) {
            put_rows(&out, &report_retries, &source);
        }
    }
    for (const struct report_table *const *table = report_tables; *table != NULL; table++) {
        put_rows(&out, *table, &source);
    }
    put_latencies(&out, plan, result);
    const size_t hosts = result->host_count > 1 ? result->host_count : 0;
    fputs(hosts > 0 ? "\n" : "", stream);
    put_table(&out, &report_hosts, &set.operations, result->hosts, hosts, sizeof *result->hosts);
    put_machines(&out, &set.operations, result);
    fputs(result->stage_count > 0 ? "\n" : "", stream);
    put_table(&out, &report_stages, &set.operations, result->stages, result->stage_count,
              sizeof *result->stages);
    put_sessions(&out, &set, result);
    put_io(&out, &set);
    fputc('\n', stream);
    put_trace(&out, &set, result);
    put_waits(&out, &set, result);
    put_causes(&out, &result->causes);
    put_findings(&out, &result->findings);
    put_text(&out, "Ended", stop_text(result));
    if (result->sessions_ended > 0) {
        say(&out,
            "append cut the %s of %s %s while the server still worked for them, and ended their "
            "work at the server",
            units_plural(result->sessions_ended, "connection", "connections"),
            COUNTED(result->sessions_ended, "session", "sessions"));
        put(&out, "Cut");
    }
    put_text(&out, "Events", result->events.note);
    put_text(&out, "Metrics", result->metrics_note);
    put_text(&out, "To undo", plan->owned_path == NULL ? result->removal : "");
    put_text(&out, "Problem", shortage);
    put_expectations(&out, result->expectations);
    fputc('\n', stream);
    put_figures(&out, &set, result);
    fputc('\n', stream);
    put_text(&out, verdict_names[result->verdict], result->verdict_reason);
    screen_add_files(stream, plan->out_folder);
}

/* Search. */

static void say_failure(struct screen *out, const struct level *level)
{
    const struct session_ledger *ledger = &level->ledger;
    const enum level_reason reason = level->reason;
    const bool has_ended = reason == LEVEL_NO_REASON || reason == LEVEL_ENDED;
    say_if(out, has_ended, "the search ended before the result was known");
    say_if(out, reason == LEVEL_NO_PROGRESS, "%s of the sessions had no %s in %.0f s",
           UNITS_COUNT(level->stalled),
           level->is_scripted ? "committed transaction" : "acknowledged append",
           figures_seconds(level->hold_ns));
    say_if(out, reason == LEVEL_NO_THREAD, "no thread could be started for a session on %s",
           level->room.machine[0] == '\0' ? "this machine" : "its machine");
    say_if(out, reason == LEVEL_REFUSED, "%s %s refused",
           COUNTED(ledger->refused, "session was", "sessions were"));
    say_if(out, reason == LEVEL_TIMED_OUT, "%s %s no answer to the connect in time",
           COUNTED(ledger->timed_out, "session got", "sessions got"));
    say_if(out, reason == LEVEL_DROPPED, "%s %s dropped",
           COUNTED(ledger->dropped, "session was", "sessions were"));
    say_if(out, reason == LEVEL_APPEND_FAILED && !level->is_scripted, "%s %s refused",
           COUNTED(level->failed, "append or read was", "appends or reads were"));
    say_if(out, reason == LEVEL_APPEND_FAILED && level->is_scripted, "%s %s failed",
           COUNTED(level->failed, "transaction", "transactions"));
    say_if(out, !has_ended && reason != LEVEL_NO_PROGRESS, ", %s %s up",
           COUNTED(level->up, "was", "were"));
}

/* Returns the unit of a level's throughput. */
static const char *unit_of(const struct level *level)
{
    return level->is_scripted ? "transactions/s" : "rows/s";
}

static const char *call_of(const struct level *level)
{
    return level->is_scripted ? "transaction" : "append";
}

void text_levels_progress(const struct level *level, char line[TEXT_LEVELS_BYTES])
{
    struct screen out = {0};
    say(&out, "%s session%s ", COUNTED(level->sessions, "", "s"));
    if (level->outcome == LEVEL_HELD) {
        say(&out, "held: %s %s, %s p99 %s", ROUNDED(level->rows_per_s), unit_of(level),
            call_of(level), UNITS_NS(level->append.p99_ns));
    } else {
        say(&out, "%s: ", level->outcome == LEVEL_FAILED ? "not held" : "not finished");
        say_failure(&out, level);
    }
    snprintf(line, TEXT_LEVELS_BYTES, "%.*s", TEXT_LEVELS_BYTES - 1, out.text);
}

/* Writes the highest number of sessions that succeeded, the reason why the next level failed, and
 * the knee, which is the smallest level with nearly the highest throughput. */
static void put_search_result(struct screen *out, const struct search *search,
                              const struct result *result)
{
    const struct findings *findings = &result->findings;
    bool is_shortened = false;
    for (size_t i = 0; i < search->count; i++) {
        is_shortened |=
            search->levels[i].outcome == LEVEL_HELD && search->levels[i].hold_ns < search->hold_ns;
    }
    say_if(out, search->held == 0, "no level");
    say_if(out, search->held > 0, "%s%s %s, all at work throughout; levels of %s%.3g s",
           search->failed == 0 ? "at least " : "", COUNTED(search->held, "session", "sessions"),
           is_shortened ? "up to " : "", figures_seconds(search->hold_ns));
    put(out, "Held");
    if (search->failed > 0) {
        const struct level *level = &search->levels[search->failure];
        static const struct cause none;
        const struct cause *known = level_main_cause(level), *cause = known == NULL ? &none : known;
        const struct error *error = &cause->error;
        /* leaves out HY000, a general error, because the database's own number says more */
        const bool has_state = error->sqlstate[0] != '\0' && strcmp(error->sqlstate, "HY000") != 0;
        say(out, "%s: ", UNITS_COUNT(search->failed));
        say_failure(out, level);
        say_if(out, has_state, " (%s)", error->sqlstate);
        say_if(out, !has_state && error->native_code != 0, " (%d)", error->native_code);
        /* a finding has the server's message in its evidence already */
        say_if(out, findings->count == 0 && known != NULL, ": %s", error->text);
        put(out, "Not held");
    }
    put_findings(out, findings);
    const bool is_bound = search->end == SEARCH_BOUND, is_user = search->bound_by == BOUND_USER;
    const bool is_client = is_bound && search->bound_by == BOUND_CLIENT;
    const bool has_ranks = result->rank_count > 0; /* with ranks, `where` begins with the machine */
    say_if(out, is_client, "by %s%s", has_ranks ? "" : "this machine's ", search->bound_limit.name);
    say_if(out, is_client && has_ranks, " (%s)", search->bound_limit.where);
    say_if(out, is_client, ", not by the server: the limit allows %s session%s",
           COUNTED(search->bound, "", "s"));
    say_if(out, is_client && search->bound_limit.fix[0] != '\0', "; to raise it: %s",
           search->bound_limit.fix);
    say_if(out, is_bound && !is_client, "by %s %s, not by the server",
           is_user ? "--max-sessions" : "append's own limit,", UNITS_COUNT(search->bound));
    say_if(out, search->end > SEARCH_BOUND, "%s", search_end_texts[search->end]);
    say_if(out, search->end == SEARCH_MEMORY, ": %s", search->end_note);
    say_if(out, search->end == SEARCH_ROWS,
           ": %s rows were written; raise --max-%s, or give a smaller --batch",
           UNITS_COUNT(search->max_rows), search->is_bound_by_bytes ? "bytes" : "rows");
    put(out, "Stopped");
    fputc('\n', out->stream);

    const struct level *knee = search_knee(search), *best = search_best(search);
    const struct level *rival = search_knee_rival(search);
    if (knee != NULL) {
        say(out, "%s %s: %s %s", COUNTED(knee->sessions, "session", "sessions"),
            ROUNDED(knee->rows_per_s), unit_of(knee));
        say_if(out, knee->lowest_rows_per_s >= 0, " (%s to %s within the hold)",
               ROUNDED(knee->lowest_rows_per_s), ROUNDED(knee->highest_rows_per_s));
        say(out, ", %s p99 %s; ", call_of(knee), UNITS_NS(knee->append.p99_ns));
        say_if(out, best == knee, "the best throughput of all levels");
        say_if(out, best != knee,
               "the fewest sessions within %.0f %% of the best throughput, which was %s %s with "
               "%s %s",
               100 * SEARCH_KNEE_SHARE, ROUNDED(best->rows_per_s), unit_of(best),
               COUNTED(best->sessions, "session", "sessions"));
        if (rival != NULL) {
            say(out,
                ". This may be noise: %s %s also reached up to %s; hold the levels longer (--hold)",
                COUNTED(rival->sessions, "session", "sessions"),
                ROUNDED(rival->highest_rows_per_s));
        }
        put(out, "Knee");
    }
    if (search->p99_bound_ns > 0 && search->count > 0) {
        static const struct level none;
        const struct level *over = NULL, *within = NULL;
        search_p99(search, &over, &within);
        const struct level *above = over == NULL ? &none : over;
        const struct level *below = within == NULL ? &none : within;
        const char *call = call_of(search->levels);
        say_if(out, over == NULL, "the p99 of %s stayed within %s at every level", call,
               UNITS_NS(search->p99_bound_ns));
        say_if(out, over != NULL, "the p99 of %s exceeded %s with %s session%s (%s); ", call,
               UNITS_NS(search->p99_bound_ns), COUNTED(above->sessions, "", "s"),
               UNITS_NS(above->append.p99_ns));
        say_if(out, over != NULL && within != NULL,
               "it stayed within the bound with %s session%s (%s)",
               COUNTED(below->sessions, "", "s"), UNITS_NS(below->append.p99_ns));
        say_if(out, over != NULL && within == NULL, "no lower level stayed within the bound");
        put(out, "p99");
    }
}

/* Shows the largest wait of each level, and the failed polls and blockers of the search. */
static void put_level_waits(struct screen *out, const struct operation_list *operations,
                            const struct search *search, const struct result *result)
{
    for (size_t i = 0; i < search->count; i++) {
        const struct level *level = &search->levels[i];
        char key[FIGURE_KEY_BYTES];
        if (level->wait.is_known) {
            say(out, "%s %s: the largest part of the time in calls was %s in %s, %.0f %% (%s %s)",
                COUNTED(level->sessions, "session", "sessions"),
                wait_class_texts[level->wait.class].name,
                operation_key(&operations->entries[level->wait.operation], key),
                level->wait.percent, COUNTED(level->wait.polls, "poll", "polls"));
            put(out, level == search_knee(search) ? "Knee" : "Waits");
        }
    }
    if (result->waits != NULL) {
        const struct wait_polls polls = waits_polls(result->waits);
        size_t count;
        uint64_t more;
        const struct wait_blocker *first = waits_blockers(result->waits, &count, &more);
        say_if(out, polls.failures > 0, "%s %s failed: %s",
               COUNTED(polls.failures, "poll", "polls"), polls.why);
        put(out, "Polls");
        put_text(out, "Polls", polls.missing);
        put_table(out, &report_wait_blockers, operations, first, count, sizeof *first);
    }
    put_text(out, "No waits", result->waits_note);
}

void text_levels_write(FILE *stream, const struct plan *plan, const struct result *result,
                       const struct search *search, const char *shortage)
{
    struct screen out = {.stream = stream, .label = plan->script == NULL ? LABEL : SCRIPT_LABEL};
    struct figure_set set;
    figures_of_result(&set, plan, result);
    put_search_result(&out, search, result);
    put_target(&out, plan, result);
    const double each = search_session_bytes(search);
    if (each >= 0) {
        say(&out, "server memory grew by %s for each additional session, caches included (%s)",
            UNITS_BYTES((uint64_t)each), memory_source_texts[result->resources.memory_source]);
        put(&out, "Memory");
    }
    put_text(&out, "Note", search->figures_note);
    fputc('\n', stream);
    /* all levels are written, however many, because they are the result of the search */
    put_table(&out, &report_levels, &set.operations, search->levels, search->count,
              sizeof *search->levels);
    put_level_waits(&out, &set.operations, search, result);
    put_ledgers(&out, &set, plan, result);
    put_machines(&out, &set.operations, result);
    if (search->removal[0] != '\0') {
        const uint64_t written = result->rows.acknowledged;
        say_if(&out, search->row_bytes > 0,
               "%s rows, %s of values, kept; to remove them: ", UNITS_COUNT(written),
               UNITS_BYTES((uint64_t)((double)written * search->row_bytes)));
        say_if(&out, search->row_bytes <= 0, "the workload's tables, kept; to remove them: ");
        say(&out, "%s", search->removal);
        put(&out, "Written");
    }
    put_text(&out, "Problem", shortage);
    put_text(&out, "Metrics", result->metrics_note);
    put_text(&out, verdict_names[result->verdict], result->verdict_reason);
    screen_add_files(stream, plan->out_folder);
}

/* The limits that append check compares. */

/* Writes how many sessions fit, and the first limit. `known` is "known " if some limits are
 * unknown, else "". `first` may be NULL. */
static void describe_fit(uint64_t sessions, uint64_t fitting, const struct limit *first,
                         const char *known, char line[CHECK_LINE_BYTES])
{
    if (first == NULL || fitting == LIMIT_NONE) {
        snprintf(line, CHECK_LINE_BYTES, "no %slimit was found", known);
        return;
    }
    size_t used;
    if (fitting == 0) {
        used = (size_t)snprintf(line, CHECK_LINE_BYTES, "no session fits");
    } else if (fitting < sessions && !first->is_estimate) {
        used = (size_t)snprintf(line, CHECK_LINE_BYTES, "only %s of %s sessions %s",
                                UNITS_COUNT(fitting), UNITS_COUNT(sessions),
                                units_plural(fitting, "fits", "fit"));
    } else if (fitting < sessions) {
        used = (size_t)snprintf(line, CHECK_LINE_BYTES, "about %s %s", UNITS_COUNT(fitting),
                                units_plural(fitting, "session fits", "sessions fit"));
    } else {
        const char *about = first->is_estimate ? "about " : "";
        used = (size_t)snprintf(
            line, CHECK_LINE_BYTES, "%s %s; %s%s%s would", UNITS_COUNT(sessions),
            units_plural(sessions, "session fits", "sessions fit"),
            fitting > sessions ? "up to " : "no more", fitting > sessions ? about : "",
            fitting > sessions ? UNITS_COUNT(fitting) : "");
    }
    snprintf(line + used, CHECK_LINE_BYTES - used, "; the first %slimit is %s (%s%s%s)", known,
             first->name, limit_side_names[first->side], first->where[0] == '\0' ? "" : ", ",
             first->is_estimate ? "an estimate" : first->where);
}

void check_describe_fit(uint64_t sessions, uint64_t fitting, const struct limit *first,
                        char line[CHECK_LINE_BYTES])
{
    describe_fit(sessions, fitting, first, "", line);
}

void check_describe_report(const struct check_report *report, char line[CHECK_LINE_BYTES])
{
    size_t unknown = 0, named = 0;
    for (size_t i = 0; i < report->list->count; i++) {
        unknown += report->list->entries[i].is_unknown ? 1 : 0;
    }
    describe_fit(report->sessions, report->fitting, report->first, unknown == 0 ? "" : "known ",
                 line);
    for (size_t i = 0; i < report->list->count; i++) {
        const struct limit *limit = &report->list->entries[i];
        const size_t used = strlen(line);
        if (limit->is_unknown) {
            const char *before = named++ == 0 ? "; the " : " and the ";
            snprintf(line + used, CHECK_LINE_BYTES - used, "%s%s%s", before, limit->name,
                     named == unknown ? " are not known" : "");
        }
    }
}

/* Writes a value of a limit: bytes with a unit, other counts with separators. */
static const char *format(const struct limit *limit, uint64_t value, char text[UNITS_TEXT_BYTES])
{
    if (value == LIMIT_NONE) {
        snprintf(text, UNITS_TEXT_BYTES, limit->is_unknown ? "not known" : "no limit");
        return text;
    }
    return strcmp(limit->unit, "bytes") == 0 ? units_format_bytes(value, text)
                                             : units_format_count(value, text);
}

/* Writes the limits of a side, each with its numbers, a note and a way to raise the limit. */
static void write_side(FILE *stream, const struct check_report *report, enum limit_side side)
{
    static const char *const titles[] = {
        [LIMIT_CLIENT] = "Client", [LIMIT_SERVER] = "Server", [LIMIT_DATABASE] = "Database"};
    bool has_title = false;
    for (size_t i = 0; i < report->list->count; i++) {
        const struct limit *limit = &report->list->entries[i];
        if (limit->side != side) {
            continue;
        }
        if (!has_title) {
            fprintf(stream, "\n%-27s%11s%11s%11s  %s\n", titles[side], "needed", "free", "sessions",
                    "set in");
            has_title = true;
        }
        char needed[UNITS_TEXT_BYTES], left[UNITS_TEXT_BYTES];
        const bool is_long = strlen(limit->where) > CHECK_WHERE_COLUMNS;
        uint64_t rest = limit->allowed > limit->used ? limit->allowed - limit->used : 0;
        rest = limit->allowed == LIMIT_NONE ? LIMIT_NONE : rest;
        screen_add(
            stream, "%s  %-21s%11s%11s%11s  %s", limit_grade_names[limit->grade], limit->name,
            limit->needed == 0 && rest == LIMIT_NONE ? "-" : format(limit, limit->needed, needed),
            format(limit, rest, left),
            limit->sessions == LIMIT_NONE ? "-" : UNITS_COUNT(limit->sessions),
            is_long ? "" : limit->where);
        const struct {
            const char *label, *text;
        } details[] = {
            {"", is_long ? limit->where : ""}, {"", limit->note}, {"   -> ", limit->fix}};
        for (size_t j = 0; j < sizeof details / sizeof details[0]; j++) {
            if (details[j].text[0] != '\0') {
                screen_add_wrapped(stream, details[j].label, CHECK_INDENT, details[j].text);
            }
        }
    }
}

void check_write_text(FILE *stream, const struct check_report *report)
{
    struct screen out = {.stream = stream, .label = LABEL};
    const char *version = report->version == NULL ? "" : report->version;
    const int shown = version_length(version);
    say(&out, "%s session%s, %s%s%.*s%s", COUNTED(report->sessions, "", "s"),
        report->target == NULL ? "this machine only" : report->target, shown > 0 ? " (" : "", shown,
        version, shown > 0 ? ")" : "");
    put(&out, "Check");
    put_text(&out, "Note", report->note);
    put_text(&out, "I/O", report->io_trace);
    if (report->workload != NULL) {
        say(&out, "%s, %s prepared statement%s in each session", report->workload,
            COUNTED(report->prepared_statements, "", "s"));
        put(&out, "Workload");
    }
    write_side(stream, report, LIMIT_CLIENT);
    write_side(stream, report, LIMIT_SERVER);
    write_side(stream, report, LIMIT_DATABASE);
    if (!report->is_short) {
        char line[CHECK_LINE_BYTES];
        check_describe_report(report, line);
        fputc('\n', stream);
        screen_add_wrapped(stream, "", 0, line);
    }
}
