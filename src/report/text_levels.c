#include "report/text_levels.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/figures.h"
#include "report/screen.h"
#include "report/text_findings.h"
#include "report/text_ledger.h"

enum {
    LABEL = SCREEN_LABEL_COLUMNS
};

static const char *format_rows(double rows_per_s, char text[UNITS_TEXT_BYTES])
{
    return units_format_count(rows_per_s > 0 ? (uint64_t)llround(rows_per_s) : 0, text);
}

static const char *plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

void text_levels_failure(const struct level *level, char text[TEXT_LEVELS_BYTES])
{
    char count[UNITS_TEXT_BYTES];
    char up_text[UNITS_TEXT_BYTES];
    char up[64];
    snprintf(up, sizeof up, "%s %s up", units_format_count(level->up, up_text),
             plural(level->up, "was", "were"));
    switch (level->reason) {
    case LEVEL_NO_REASON:
    case LEVEL_ENDED:
        snprintf(text, TEXT_LEVELS_BYTES, "the search ended before that was known");
        return;
    case LEVEL_NO_THREAD:
        snprintf(text, TEXT_LEVELS_BYTES, "a session got no thread on this machine, %s", up);
        return;
    case LEVEL_REFUSED:
        snprintf(text, TEXT_LEVELS_BYTES, "%s %s refused, %s",
                 units_format_count(level->ledger.refused, count),
                 plural(level->ledger.refused, "session was", "sessions were"), up);
        return;
    case LEVEL_TIMED_OUT:
        snprintf(text, TEXT_LEVELS_BYTES, "%s %s no answer to the connect in time, %s",
                 units_format_count(level->ledger.timed_out, count),
                 plural(level->ledger.timed_out, "session got", "sessions got"), up);
        return;
    case LEVEL_DROPPED:
        snprintf(text, TEXT_LEVELS_BYTES, "%s %s dropped, %s",
                 units_format_count(level->ledger.dropped, count),
                 plural(level->ledger.dropped, "session was", "sessions were"), up);
        return;
    case LEVEL_APPEND_FAILED:
        snprintf(text, TEXT_LEVELS_BYTES, "%s %s refused, %s",
                 units_format_count(level->failed, count),
                 plural(level->failed, "append or read was", "appends or reads were"), up);
        return;
    case LEVEL_NO_PROGRESS:
        snprintf(text, TEXT_LEVELS_BYTES, "%s of the sessions had no append acknowledged in %.0f s",
                 units_format_count(level->stalled, count), figures_seconds(level->hold_ns));
        return;
    case LEVEL_STAYED:
        snprintf(text, TEXT_LEVELS_BYTES, "sessions of the level before did not leave, %s", up);
        return;
    }
}

void text_levels_progress(const struct level *level, char text[TEXT_LEVELS_BYTES])
{
    char sessions[UNITS_TEXT_BYTES];
    units_format_count(level->sessions, sessions);
    if (level->outcome == LEVEL_HELD) {
        char rows[UNITS_TEXT_BYTES];
        char p99[UNITS_TEXT_BYTES];
        snprintf(text, TEXT_LEVELS_BYTES, "%s sessions held: %s rows/s, append p99 %s", sessions,
                 format_rows(level->rows_per_s, rows), units_format_ns(level->append.p99_ns, p99));
        return;
    }
    char failure[TEXT_LEVELS_BYTES];
    text_levels_failure(level, failure);
    snprintf(text, TEXT_LEVELS_BYTES, "%s sessions %s: %.300s", sessions,
             level->outcome == LEVEL_FAILED ? "not held" : "not tried to the end", failure);
}

static void add_end(FILE *stream, const struct search *search)
{
    char text[SCREEN_TEXT_BYTES];
    char sessions[UNITS_TEXT_BYTES];
    units_format_count(search->bound, sessions);
    switch (search->end) {
    case SEARCH_FOUND:
        return;
    case SEARCH_BOUND:
        if (search->bound_by == BOUND_CLIENT) {
            snprintf(text, sizeof text,
                     "by this machine's %s, which allows %s sessions, not by the server. %s",
                     search->bound_limit.name, sessions, search->bound_limit.fix);
        } else if (search->bound_by == BOUND_USER) {
            snprintf(text, sizeof text, "by --max-sessions %s, not by the server", sessions);
        } else {
            snprintf(text, sizeof text, "by append, which can have %s, not by the server",
                     sessions);
        }
        break;
    case SEARCH_MEMORY:
        snprintf(text, sizeof text, "by --max-memory, not by the server: %s", search->end_note);
        break;
    case SEARCH_ROWS: {
        char rows[UNITS_TEXT_BYTES];
        snprintf(text, sizeof text,
                 "by --max-%s, not by the server: %s rows are written; give more, or a "
                 "smaller --batch",
                 search->is_bound_by_bytes ? "bytes" : "rows",
                 units_format_count(search->max_rows, rows));
        break;
    }
    case SEARCH_TIME:
        snprintf(text, sizeof text, "by --max-time, not by the server");
        break;
    case SEARCH_INTERRUPTED:
        snprintf(text, sizeof text, "by a signal, not by the server");
        break;
    case SEARCH_GONE:
        snprintf(text, sizeof text, "the server was gone, and let nobody in for a minute");
        break;
    case SEARCH_STUCK:
        snprintf(text, sizeof text, "sessions that were told to leave did not");
        break;
    }
    screen_add_wrapped(stream, "Stopped", LABEL, text);
}

static void add_answer(FILE *stream, const struct search *search, const struct findings *findings)
{
    char count[UNITS_TEXT_BYTES];
    char text[SCREEN_TEXT_BYTES];
    char failure[TEXT_LEVELS_BYTES];
    bool is_shortened = false;
    for (size_t i = 0; i < search->count; i++) {
        is_shortened |=
            search->levels[i].outcome == LEVEL_HELD && search->levels[i].hold_ns < search->hold_ns;
    }
    snprintf(text, sizeof text, "%s%s %s, each appending all the time; levels of %s%.3g s",
             search->failed == 0 && search->held > 0 ? "at least " : "",
             units_format_count(search->held, count), plural(search->held, "session", "sessions"),
             is_shortened ? "up to " : "", figures_seconds(search->hold_ns));
    screen_add_wrapped(stream, "Held", LABEL, search->held > 0 ? text : "no level");
    if (search->failed > 0) {
        const struct level *level = &search->levels[search->failure];
        const struct cause *cause = level_main_cause(level);
        char code[32] = "";
        if (cause != NULL && cause->error.sqlstate[0] != '\0' &&
            strcmp(cause->error.sqlstate, "HY000") != 0) { /* HY000: see the database's number */
            snprintf(code, sizeof code, " (%s)", cause->error.sqlstate);
        } else if (cause != NULL && cause->error.native_code != 0) {
            snprintf(code, sizeof code, " (%d)", cause->error.native_code);
        }
        /* a limit that was named has the server's words with it */
        const bool has_words = findings->count == 0 && cause != NULL;
        text_levels_failure(level, failure);
        snprintf(text, sizeof text, "%s: %s%s%s%s", units_format_count(search->failed, count),
                 failure, code, has_words ? ": " : "", has_words ? cause->error.text : "");
        screen_add_wrapped(stream, "Not held", LABEL, text);
    }
    text_findings_add(stream, findings);
    add_end(stream, search);
}

static void add_knee(FILE *stream, const struct search *search)
{
    const struct level *knee = search_knee(search);
    if (knee == NULL) {
        return;
    }
    char sessions[UNITS_TEXT_BYTES];
    char rows[UNITS_TEXT_BYTES];
    char p99[UNITS_TEXT_BYTES];
    char text[SCREEN_TEXT_BYTES];
    const struct level *best = search_best(search);
    size_t used = (size_t)snprintf(
        text, sizeof text, "%s %s: %s rows/s", units_format_count(knee->sessions, sessions),
        plural(knee->sessions, "session", "sessions"), format_rows(knee->rows_per_s, rows));
    if (knee->lowest_rows_per_s >= 0) {
        char low[UNITS_TEXT_BYTES];
        used += (size_t)snprintf(text + used, sizeof text - used, " (%s to %s)",
                                 format_rows(knee->lowest_rows_per_s, low),
                                 format_rows(knee->highest_rows_per_s, rows));
    }
    used += (size_t)snprintf(text + used, sizeof text - used, ", append p99 %s; ",
                             units_format_ns(knee->append.p99_ns, p99));
    if (best == knee) {
        snprintf(text + used, sizeof text - used, "no other number has more rows/s");
    } else {
        snprintf(text + used, sizeof text - used,
                 "the fewest within %.0f %% of the best, %s with %s", 100 * SEARCH_KNEE_SHARE,
                 format_rows(best->rows_per_s, rows), units_format_count(best->sessions, sessions));
    }
    screen_add_wrapped(stream, "Knee", LABEL, text);
}

static void add_p99(FILE *stream, const struct search *search)
{
    if (search->p99_bound_ns == 0) {
        return;
    }
    const struct level *over = NULL;
    const struct level *within = NULL;
    search_p99(search, &over, &within);
    char bound[UNITS_TEXT_BYTES];
    char sessions[UNITS_TEXT_BYTES];
    char p99[UNITS_TEXT_BYTES];
    char text[SCREEN_TEXT_BYTES];
    units_format_ns(search->p99_bound_ns, bound);
    if (over == NULL) {
        snprintf(text, sizeof text, "append's p99 stayed within %s at every level", bound);
    } else {
        snprintf(text, sizeof text, "append's p99 passed %s with %s sessions (%s)", bound,
                 units_format_count(over->sessions, sessions),
                 units_format_ns(over->append.p99_ns, p99));
    }
    if (over != NULL && within != NULL) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "; within it with %s (%s)",
                 units_format_count(within->sessions, sessions),
                 units_format_ns(within->append.p99_ns, p99));
    } else if (over != NULL) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "; no lower level was within it");
    }
    screen_add_wrapped(stream, "p99", LABEL, text);
}

static void add_target(FILE *stream, const struct plan *plan, const struct result *result,
                       const struct search *search)
{
    char text[SCREEN_TEXT_BYTES];
    char bytes[UNITS_TEXT_BYTES];
    const char *version = result->server.version;
    const char *method = result->connection.method;
    snprintf(text, sizeof text, "%s%s%s%s%s%s", plan->display_target,
             version[0] == '\0' && method == NULL ? "" : " (", version,
             version[0] != '\0' && method != NULL ? ", " : "", method == NULL ? "" : method,
             version[0] == '\0' && method == NULL ? "" : ")");
    screen_add_wrapped(stream, "Target", LABEL, text);
    if (result->connection.note[0] != '\0') {
        screen_add_wrapped(stream, "Note", LABEL, result->connection.note);
    }
    const double each = search_session_bytes(search);
    if (each >= 0) {
        snprintf(text, sizeof text,
                 "the server's grew by %s with each further session, its caches included (%s)",
                 units_format_bytes((uint64_t)each, bytes),
                 memory_source_text(result->resources.memory_source));
        screen_add_wrapped(stream, "Memory", LABEL, text);
    }
    if (search->figures_note[0] != '\0') {
        screen_add_wrapped(stream, "Note", LABEL, search->figures_note);
    }
}

static void add_written(FILE *stream, const struct result *result, const struct search *search)
{
    char rows[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES], text[SCREEN_TEXT_BYTES];
    const uint64_t written = result->rows.acknowledged;
    if (search->removal[0] != '\0') {
        snprintf(text, sizeof text, "%s rows, %s of values; they stay: %s",
                 units_format_count(written, rows),
                 units_format_bytes((uint64_t)((double)written * search->row_bytes), bytes),
                 search->removal);
        screen_add_wrapped(stream, "Written", LABEL, text);
    }
}

static const char *percent_text(double percent, char text[UNITS_TEXT_BYTES])
{
    if (percent < 0) {
        return "-";
    }
    snprintf(text, UNITS_TEXT_BYTES, "%.0f %%", percent);
    return text;
}

static void write_level(FILE *stream, const struct level *level)
{
    char sessions[UNITS_TEXT_BYTES];
    char rows[UNITS_TEXT_BYTES] = "-";
    char p50[UNITS_TEXT_BYTES] = "-";
    char p99[UNITS_TEXT_BYTES] = "-";
    char connect[UNITS_TEXT_BYTES] = "-";
    char cpu[UNITS_TEXT_BYTES];
    char memory[UNITS_TEXT_BYTES] = "-";
    const char *outcome = level->outcome == LEVEL_HELD ? level_outcome_name(level->outcome)
                                                       : level_reason_name(level->reason);
    if (level->hold_ns > 0) {
        format_rows(level->rows_per_s, rows);
    }
    if (level->append.count > 0) {
        units_format_ns(level->append.p50_ns, p50);
        units_format_ns(level->append.p99_ns, p99);
    }
    if (level->connect.count > 0) {
        units_format_ns(level->connect.p99_ns, connect);
    }
    if (level->server_memory_bytes >= 0) {
        units_format_bytes((uint64_t)level->server_memory_bytes, memory);
    }
    fprintf(stream, "%9s %-13s %9s %9s %9s %9s %5s %9s\n",
            units_format_count(level->sessions, sessions), outcome, rows, p50, p99, connect,
            percent_text(level->host_cpu_percent, cpu), memory);
}

/* A line a level, however many: they are what the search was made for. */
static void write_levels(FILE *stream, const struct search *search)
{
    if (search->count == 0) {
        return;
    }
    fprintf(stream, "%9s %-13s %9s %9s %9s %9s %5s %9s\n", "", "", "", "append", "append",
            "connect", "", "server's");
    fprintf(stream, "%9s %-13s %9s %9s %9s %9s %5s %9s\n", "Sessions", "", "rows/s", "p50", "p99",
            "p99", "CPU", "memory");
    for (size_t i = 0; i < search->count; i++) {
        write_level(stream, &search->levels[i]);
    }
    fputc('\n', stream);
}

void text_levels_write(FILE *stream, const struct plan *plan, const struct result *result,
                       const struct search *search, const char *shortage)
{
    add_answer(stream, search, &result->findings);
    fputc('\n', stream);
    add_knee(stream, search);
    add_p99(stream, search);
    add_target(stream, plan, result, search);
    fputc('\n', stream);
    write_levels(stream, search);
    text_ledger_add(stream, result);
    add_written(stream, result, search);
    if (shortage[0] != '\0') {
        screen_add_wrapped(stream, "SHORT", LABEL, shortage);
    }
    if (result->metrics_note[0] != '\0') {
        screen_add_wrapped(stream, "Metrics", LABEL, result->metrics_note);
    }
    screen_add_wrapped(stream, verdict_name(result->verdict), LABEL, result->verdict_reason);
    screen_add_files(stream, plan->out_folder);
}
