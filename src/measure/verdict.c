/*
 * Whether a result can be trusted, and the exit code.
 *
 * INVALID: this program stood still for a time (see sampler.h), or it was the bottleneck: the
 * figures are not the server's. The latter is so when
 *   - the server is elsewhere and this program kept the machine's CPUs over BUSY_PERCENT busy;
 *   - the server is on this machine, the CPUs were over BUSY_PERCENT busy, and this program had
 *     more of them than the server, and more than all other programs;
 *   - the server is on this machine but cannot be seen, the CPUs were over BUSY_PERCENT busy, and
 *     this program had more than half of what was busy;
 *   - session threads spent over half of their time waiting for a CPU, while neither the server, on
 *     this machine, nor other programs had most of what was there.
 * A run shorter than SHORTEST_NS is not judged by these: there is too little to go by.
 *
 * DEGRADED: sessions or rows are short, nothing was acknowledged, connections were lost, the server
 * was read-only for a time, rows were not verified, a count did not show acknowledged rows, the
 * rate asked for was not reached, another writer was active in the table, or other programs had
 * most of this machine's busy CPUs.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "measure/levels.h"
#include "measure/result.h"

#define BUSY_PERCENT 90.0
#define STARVED_SHARE 0.5
#define RATE_PERCENT 95.0
#define SHORTEST_NS INT64_C(1000000000)

const char *const stop_reason_names[] = {
    [STOP_COMPLETED] = "completed",     [STOP_DURATION] = "duration",
    [STOP_INTERRUPTED] = "interrupted", [STOP_DROP] = "drop",
    [STOP_NO_SESSION] = "no_session",   [STOP_TOO_FEW] = "too_few_sessions"};

const char *const verdict_names[] = {
    [VERDICT_VALID] = "VALID", [VERDICT_DEGRADED] = "DEGRADED", [VERDICT_INVALID] = "INVALID"};

__attribute__((format(printf, 3, 4))) static bool
set_verdict(struct result *result, enum verdict verdict, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->verdict_reason, sizeof result->verdict_reason, format, arguments);
    va_end(arguments);
    result->verdict = verdict;
    return true;
}

/* Share of the sessions' time in which they were ready to run but had no CPU. */
static double starved_share(const struct result *result)
{
    const double time_ns = (double)result->totals.counters[RECORDER_SESSION_NS];
    const double waited_ns = (double)result->totals.counters[RECORDER_RUN_QUEUE_NS];
    return time_ns > 0 ? waited_ns / time_ns : 0;
}

/* What the server can have had of the CPUs at most: where it is known, what it had. */
static double server_at_most_percent(const struct resource_summary *r)
{
    return r->mean_server_cpu_percent >= 0 ? r->mean_server_cpu_percent
                                           : r->mean_host_cpu_percent - r->mean_client_cpu_percent;
}

/* Share of the CPUs that neither the server nor this program had. */
static double others_percent(const struct resource_summary *r)
{
    return r->mean_host_cpu_percent - r->mean_client_cpu_percent - server_at_most_percent(r);
}

bool result_has_stood_still(const struct result *result, char text[RESULT_STILL_BYTES])
{
    snprintf(text, RESULT_STILL_BYTES,
             "append itself stood still for %.1f s: it was stopped, or its machine slept or was "
             "paused",
             (double)result->resources.suspended_ns / 1e9);
    return result->resources.suspended_ns > 0;
}

static bool is_client_bound(struct result *result, bool is_local)
{
    const struct resource_summary *r = &result->resources;
    const double client = r->mean_client_cpu_percent;
    const double starved = starved_share(result);
    if (result->append_ns < SHORTEST_NS || client < 0) {
        return false;
    }
    if (!is_local && client >= BUSY_PERCENT) {
        return set_verdict(result, VERDICT_INVALID,
                           "client-bound: append itself used %.0f %% of this machine's CPUs",
                           client);
    }
    const double server = server_at_most_percent(r);
    if (is_local && r->mean_host_cpu_percent >= BUSY_PERCENT && client > server &&
        client > others_percent(r)) {
        return set_verdict(result, VERDICT_INVALID,
                           "client-bound: append used %.0f %% of the CPUs, the server only %.0f %%",
                           client, server);
    }
    const bool server_had_cpus = is_local && server >= 50.0;
    const bool others_had_them = others_percent(r) >= r->mean_host_cpu_percent / 2;
    if (starved > STARVED_SHARE && !server_had_cpus && !others_had_them) {
        return set_verdict(result, VERDICT_INVALID,
                           "client-bound: sessions waited for a CPU of this machine %.0f %% of "
                           "their time",
                           100 * starved);
    }
    return false;
}

/* Somebody else's load on the machine makes the figures of neither the client nor the server. */
static bool is_disturbed(struct result *result, bool is_local)
{
    const struct resource_summary *r = &result->resources;
    if (result->append_ns < SHORTEST_NS || r->mean_host_cpu_percent < BUSY_PERCENT || !is_local ||
        r->mean_server_cpu_percent < 0 || others_percent(r) < r->mean_host_cpu_percent / 2) {
        return false;
    }
    return set_verdict(result, VERDICT_DEGRADED,
                       "other programs of this machine used %.0f %% of its CPUs",
                       others_percent(r));
}

enum {
    CUT_TEXT_BYTES = 120,
    SHRUNK_TEXT_BYTES = 160,
    UNSENT_TEXT_BYTES = UNITS_TEXT_BYTES + 24
};

/* Sessions that the server left without an answer when the run ended. */
static const char *describe_cut(const struct result *result, char text[CUT_TEXT_BYTES])
{
    snprintf(text, CUT_TEXT_BYTES,
             "%s of %s sessions had no answer when the run ended and were cut",
             UNITS_COUNT(result->sessions_cut), UNITS_COUNT(result->sessions.requested));
    return text;
}

static bool is_short(struct result *result)
{
    const struct session_ledger *s = &result->sessions;
    const struct row_ledger *r = &result->rows;
    if (result->sessions_cut > 0) {
        char text[CUT_TEXT_BYTES];
        return set_verdict(result, VERDICT_DEGRADED, "%s", describe_cut(result, text));
    }
    if (s->finished < s->requested) {
        return set_verdict(result, VERDICT_DEGRADED, "%s of %s sessions finished",
                           UNITS_COUNT(s->finished), UNITS_COUNT(s->requested));
    }
    /* also when all rows are in: there was a time without */
    const uint64_t *counters = result->totals.counters;
    if (counters[RECORDER_RECONNECTS] > 0) {
        return set_verdict(
            result, VERDICT_DEGRADED,
            "%s connections were lost and re-established; %s of %s rows were acknowledged",
            UNITS_COUNT(counters[RECORDER_RECONNECTS]), UNITS_COUNT(r->acknowledged),
            UNITS_COUNT(r->planned));
    }
    if (counters[RECORDER_REFUSALS] > 0) {
        return set_verdict(
            result, VERDICT_DEGRADED,
            "the server was read-only and refused %s batches; %s of %s rows were acknowledged",
            UNITS_COUNT(counters[RECORDER_REFUSALS]), UNITS_COUNT(r->acknowledged),
            UNITS_COUNT(r->planned));
    }
    if (r->acknowledged < r->planned) {
        return set_verdict(result, VERDICT_DEGRADED, "%s of %s rows were acknowledged",
                           UNITS_COUNT(r->acknowledged), UNITS_COUNT(r->planned));
    }
    return r->acknowledged == 0 && set_verdict(result, VERDICT_DEGRADED, "no row was acknowledged");
}

/* Reading every row tells for sure. */
static bool is_read_back(const struct result *result)
{
    return result->row_verification.state == VERIFICATION_DONE;
}

uint64_t result_lost_at_most(const struct result *result)
{
    return is_read_back(result) ? result->row_verification.lost : result->verification.lost_at_most;
}

const char *result_describe_lost(const struct result *result, char text[RESULT_LOST_BYTES])
{
    const uint64_t most = result_lost_at_most(result);
    const uint64_t least = is_read_back(result) ? most : result->verification.lost;
    if (least == most) {
        snprintf(text, RESULT_LOST_BYTES, "%s", UNITS_COUNT(most));
    } else if (least == 0) {
        snprintf(text, RESULT_LOST_BYTES, "up to %s", UNITS_COUNT(most));
    } else {
        snprintf(text, RESULT_LOST_BYTES, "%s to %s", UNITS_COUNT(least), UNITS_COUNT(most));
    }
    return text;
}

uint64_t result_surplus(const struct result *result)
{
    const struct verification *v = &result->verification;
    if (!is_read_back(result)) {
        return v->surplus;
    }
    const uint64_t arrived = v->is_shrunk ? 0 : v->rows_after - v->rows_before;
    const uint64_t own = result->row_verification.read;
    return arrived > own ? arrived - own : 0;
}

/* Rows of this run are all there, and still the table has fewer than it should. */
static bool has_foreign_loss(const struct result *result)
{
    return is_read_back(result) && result_lost_at_most(result) == 0 &&
           result->verification.lost_at_most > 0;
}

/* What is left is no more this run's than somebody else's. */
static bool is_unknown(const struct result *result)
{
    return result->verification.is_shrunk && !is_read_back(result);
}

/* More may be lost than are for sure. */
static const char *describe_shrunk(const struct result *result, char text[SHRUNK_TEXT_BYTES])
{
    const uint64_t lost = result->verification.lost;
    if (lost > 0) {
        snprintf(text, SHRUNK_TEXT_BYTES,
                 "at least %s acknowledged rows are lost, and the table has fewer rows than before "
                 "the run: another client deleted rows",
                 UNITS_COUNT(lost));
    } else {
        snprintf(text, SHRUNK_TEXT_BYTES,
                 "the table has fewer rows than before the run: another client deleted rows, and "
                 "this run's "
                 "rows cannot be verified");
    }
    return text;
}

static const char foreign_loss[] = "this run's rows are all there, but the table has fewer than it "
                                   "should: another client deleted rows";

static bool are_rows_doubtful(struct result *result)
{
    const struct row_verification *v = &result->row_verification;
    if (v->state == VERIFICATION_FAILED) {
        return set_verdict(result, VERDICT_DEGRADED, "the rows were not read back: %.150s",
                           v->reason);
    }
    if (v->duplicates > 0) {
        return set_verdict(result, VERDICT_DEGRADED, "%s rows are there more than once",
                           UNITS_COUNT(v->duplicates));
    }
    if (v->foreign > 0) {
        return set_verdict(result, VERDICT_DEGRADED,
                           "%s rows carry this run's tag and were not sent by it",
                           UNITS_COUNT(v->foreign));
    }
    if (v->rejected_present > 0) {
        return set_verdict(result, VERDICT_DEGRADED, "%s rows that were rejected are there",
                           UNITS_COUNT(v->rejected_present));
    }
    return has_foreign_loss(result) && set_verdict(result, VERDICT_DEGRADED, "%s", foreign_loss);
}

static bool is_doubtful(struct result *result)
{
    const struct verification *v = &result->verification;
    const uint64_t *counters = result->totals.counters;
    if (v->state == VERIFICATION_FAILED) {
        return set_verdict(result, VERDICT_DEGRADED,
                           "the rows were not counted after the run: %.150s", v->reason);
    }
    if (are_rows_doubtful(result)) {
        return true;
    }
    if (v->rejected_arrived > 0 && !is_read_back(result)) {
        return set_verdict(result, VERDICT_DEGRADED, "%s rows that were rejected are there",
                           UNITS_COUNT(v->rejected_arrived));
    }
    if (result_surplus(result) > 0) {
        return set_verdict(result, VERDICT_DEGRADED,
                           "%s rows more than this run can have written: another writer "
                           "was active",
                           UNITS_COUNT(result_surplus(result)));
    }
    if (counters[RECORDER_FRESH_BEHIND] + counters[RECORDER_FRESH_BACKWARD] > 0) {
        return set_verdict(
            result, VERDICT_DEGRADED,
            "reads did not show acknowledged rows: %s were behind, %s went backwards",
            UNITS_COUNT(counters[RECORDER_FRESH_BEHIND]),
            UNITS_COUNT(counters[RECORDER_FRESH_BACKWARD]));
    }
    if (counters[RECORDER_READS_FAILED] > 0) {
        return set_verdict(result, VERDICT_DEGRADED, "%s reads failed",
                           UNITS_COUNT(counters[RECORDER_READS_FAILED]));
    }
    return result->rate_achieved_percent >= 0 && result->rate_achieved_percent < RATE_PERCENT &&
           set_verdict(result, VERDICT_DEGRADED, "%.0f %% of the rate asked for was reached",
                       result->rate_achieved_percent);
}

static void add_problem(struct result *result, enum problem_kind kind, enum exit_code code,
                        const char *format, va_list arguments)
{
    struct problem *problem = &result->problems[kind];
    if (problem->code == EXIT_CODE_OK) {
        vsnprintf(problem->text, sizeof problem->text, format, arguments);
        problem->code = code;
    }
}

void result_add_problem(struct result *result, enum problem_kind kind, enum exit_code code,
                        const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_problem(result, kind, code, format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 3, 4))) static void
set_exit(struct result *result, enum exit_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_problem(result, PROBLEM_RUN, code, format, arguments);
    va_end(arguments);
}

/* The first problem says what the run itself came to, where that is not said by its kind. */
void result_conclude(struct result *result)
{
    char *line = result->exit_reason;
    const size_t bytes = sizeof result->exit_reason;
    size_t used = 0;
    line[0] = '\0';
    result->exit_code = EXIT_CODE_OK;
    for (size_t kind = 0; kind < PROBLEM_KINDS && used < bytes; kind++) {
        const struct problem *problem = &result->problems[kind];
        if (problem->code == EXIT_CODE_OK) {
            continue;
        }
        const bool is_first = result->exit_code == EXIT_CODE_OK;
        const char *before = !is_first               ? "; also "
                             : kind >= PROBLEM_FILES ? "all rows were acknowledged, but "
                                                     : "";
        used += (size_t)snprintf(line + used, bytes - used, "%s%s", before, problem->text);
        result->exit_code = is_first ? problem->code : result->exit_code;
    }
    if (used >= bytes) {
        memcpy(line + bytes - sizeof "...", "...", sizeof "...");
    }
}

/* The first cause of a phase that left no point in going on; NULL when there is none. */
static const struct cause *fatal_cause(const struct causes *causes, enum cause_phase phase)
{
    for (size_t i = 0; i < causes->count; i++) {
        if (causes->entries[i].phase == phase && causes->entries[i].status == STATUS_FATAL) {
            return &causes->entries[i];
        }
    }
    return NULL;
}

/* The text of the most frequent cause of a phase; "" when there is none. */
static const char *main_cause(const struct causes *causes, enum cause_phase phase)
{
    const struct cause *most = NULL;
    for (size_t i = 0; i < causes->count; i++) {
        const struct cause *cause = &causes->entries[i];
        if (cause->phase == phase && (most == NULL || cause->count > most->count)) {
            most = cause;
        }
    }
    return most == NULL ? "" : most->error.text;
}

enum {
    LIMIT_TEXT_BYTES = sizeof(struct finding)
};

/* The limit that cost the most sessions, with what shows it; otherwise `otherwise`. */
static const char *describe_limit(const struct finding *finding, char text[LIMIT_TEXT_BYTES],
                                  const char *otherwise)
{
    if (finding == NULL) {
        return otherwise;
    }
    snprintf(text, LIMIT_TEXT_BYTES, "%s (%s): %s", finding->name, limit_side_names[finding->side],
             finding->evidence);
    return text;
}

static const struct finding *first_finding(const struct result *result)
{
    return result->findings.count > 0 ? &result->findings.entries[0] : NULL;
}

/* This machine had no thread for them. */
static void judge_not_started(struct result *result)
{
    const struct session_ledger *s = &result->sessions;
    const struct finding *finding = NULL;
    for (size_t i = 0; finding == NULL && i < result->findings.count; i++) {
        const struct finding *entry = &result->findings.entries[i];
        finding = entry->side == LIMIT_CLIENT ? entry : NULL;
    }
    if (finding == NULL) {
        set_exit(result, EXIT_CODE_CLIENT_LIMIT, "%s", main_cause(&result->causes, CAUSE_THREAD));
        return;
    }
    char limit[LIMIT_TEXT_BYTES];
    set_exit(result, EXIT_CODE_CLIENT_LIMIT, "no thread for %s of %s sessions: %.230s",
             UNITS_COUNT(s->not_started), UNITS_COUNT(s->requested),
             describe_limit(finding, limit, ""));
}

static void judge_refused(struct result *result)
{
    const struct session_ledger *s = &result->sessions;
    const struct finding *finding = first_finding(result);
    const bool is_own = finding != NULL && finding->side == LIMIT_CLIENT;
    char limit[LIMIT_TEXT_BYTES];
    set_exit(result, is_own ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SERVER,
             "%s of %s sessions were refused, %s timed out: %.230s", UNITS_COUNT(s->refused),
             UNITS_COUNT(s->requested), UNITS_COUNT(s->timed_out),
             describe_limit(finding, limit, main_cause(&result->causes, CAUSE_CONNECT)));
}

/* Why sessions or rows that had connected were lost; "" when nothing is known. */
static const char *main_loss(const struct causes *causes)
{
    static const enum cause_phase phases[] = {CAUSE_APPEND, CAUSE_READ, CAUSE_RECONNECT,
                                              CAUSE_IDLE};
    const char *why = "";
    for (size_t i = 0; i < sizeof phases / sizeof phases[0] && why[0] == '\0'; i++) {
        why = main_cause(causes, phases[i]);
    }
    return why;
}

/* What was not sent; with a time, what was not begun is no row of the ledger. */
static const char *describe_unsent(const struct result *result, char text[UNSENT_TEXT_BYTES])
{
    const uint64_t rows = result->rows.not_sent;
    const uint64_t batches = result->batches.not_sent;
    text[0] = '\0';
    if (rows == 0 && batches > 0) {
        snprintf(text, UNSENT_TEXT_BYTES, ", %s batches not sent", UNITS_COUNT(batches));
    } else if (rows > 0 || result->stop_reason != STOP_DURATION) {
        snprintf(text, UNSENT_TEXT_BYTES, ", %s not sent", UNITS_COUNT(rows));
    }
    return text;
}

static void judge_short(struct result *result)
{
    const struct session_ledger *s = &result->sessions;
    const struct row_ledger *r = &result->rows;
    const struct cause *refusal = fatal_cause(&result->causes, CAUSE_APPEND);
    if (r->acknowledged == 0 && refusal != NULL && refusal->error.kind != ERROR_MEMORY) {
        set_exit(result, EXIT_CODE_SERVER, "the server refused every append: %.200s",
                 refusal->error.text);
        return;
    }
    const char *why = main_loss(&result->causes);
    if (result->sessions_cut > 0 && s->dropped == 0) {
        char text[CUT_TEXT_BYTES];
        set_exit(result, EXIT_CODE_SHORT, "%s: %s rows in doubt%s%.150s",
                 describe_cut(result, text), UNITS_COUNT(r->in_doubt), why[0] == '\0' ? "" : ": ",
                 why);
        return;
    }
    if (r->planned == 0) {
        set_exit(result, EXIT_CODE_SHORT, "no row was acknowledged%s%.200s",
                 why[0] == '\0' ? "" : ": ", why);
        return;
    }
    char limit[LIMIT_TEXT_BYTES];
    if (s->dropped + s->stopped > 0) {
        why = describe_limit(first_finding(result), limit, why);
    }
    char unsent[UNSENT_TEXT_BYTES];
    const bool has_stopped = s->stopped > 0;
    set_exit(
        result, EXIT_CODE_SHORT,
        "the ledger is short: %s sessions dropped%s%s%s, %s rows rejected, %s in doubt%s%s%.150s",
        UNITS_COUNT(s->dropped), has_stopped ? ", " : "",
        has_stopped ? UNITS_COUNT(s->stopped) : "", has_stopped ? " stopped" : "",
        UNITS_COUNT(r->rejected), UNITS_COUNT(r->in_doubt), describe_unsent(result, unsent),
        why[0] == '\0' ? "" : ": ", why);
}

/* Before the gate was opened it is the first limit that counts; later, that sessions went. */
static void judge_too_few(struct result *result)
{
    const struct session_ledger *s = &result->sessions;
    const bool has_worked = result->append_ns > 0;
    const char *thread = main_cause(&result->causes, CAUSE_THREAD);
    enum exit_code code = EXIT_CODE_SHORT;
    const char *why = main_loss(&result->causes);
    if (!has_worked && thread[0] != '\0') {
        code = EXIT_CODE_CLIENT_LIMIT;
        why = thread;
    } else if (!has_worked && s->refused + s->timed_out > 0) {
        code = EXIT_CODE_SERVER;
        why = main_cause(&result->causes, CAUSE_CONNECT);
    }
    set_exit(result, code, "%s%s of %s sessions %s up, --min-sessions requires %s%s%.150s",
             has_worked ? "stopped: only " : "not started: only ", UNITS_COUNT(result->sessions_up),
             UNITS_COUNT(s->requested), result->sessions_up == 1 ? "was" : "were",
             UNITS_COUNT(result->least_sessions), why[0] == '\0' ? "" : ": ", why);
}

/* All is acknowledged; what else makes the run less than it was asked to be. */
static void judge_rest(struct result *result, bool was_interrupted)
{
    const struct verification *v = &result->verification;
    const uint64_t failed = result->totals.counters[RECORDER_READS_FAILED];
    if (v->state == VERIFICATION_FAILED && was_interrupted) {
        set_exit(result, EXIT_CODE_INTERRUPTED, "interrupted while the rows were counted");
    } else if (result->row_verification.state == VERIFICATION_FAILED && was_interrupted) {
        set_exit(result, EXIT_CODE_INTERRUPTED, "interrupted while the rows were read back");
    } else if (result->row_verification.state == VERIFICATION_FAILED &&
               v->state == VERIFICATION_DONE) {
        set_exit(result, EXIT_CODE_SHORT, "the rows were not read back: %.200s",
                 result->row_verification.reason);
    } else if (v->state == VERIFICATION_FAILED) {
        set_exit(result, EXIT_CODE_SHORT, "the rows were not counted after the run: %.200s",
                 v->reason);
    } else if (has_foreign_loss(result)) {
        set_exit(result, EXIT_CODE_SHORT, "%s", foreign_loss);
    } else if (failed > 0) {
        set_exit(result, EXIT_CODE_SHORT, "%s reads failed: %.200s", UNITS_COUNT(failed),
                 main_cause(&result->causes, CAUSE_READ));
    } else if (result->verdict == VERDICT_INVALID) {
        set_exit(result, EXIT_CODE_INVALID, "INVALID: %.200s", result->verdict_reason);
    }
}

/* What weighs most comes first: a wish of the user, a defect, lost rows, then whose limit it was.
 */
static void judge_exit(struct result *result, bool was_interrupted)
{
    const struct session_ledger *s = &result->sessions;
    const struct row_ledger *r = &result->rows;
    char lost[RESULT_LOST_BYTES];
    char shrunk[SHRUNK_TEXT_BYTES];
    if (result->stop_reason == STOP_INTERRUPTED) {
        set_exit(result, EXIT_CODE_INTERRUPTED, "interrupted: %s of %s rows acknowledged",
                 UNITS_COUNT(r->acknowledged), UNITS_COUNT(r->planned));
    } else if (!session_ledger_balances(s) || !row_ledger_balances(r)) {
        set_exit(result, EXIT_CODE_INTERNAL, "a ledger does not balance: a defect of append");
    } else if (is_unknown(result)) {
        set_exit(result, EXIT_CODE_SHORT, "%s", describe_shrunk(result, shrunk));
    } else if (result_lost_at_most(result) > 0) {
        set_exit(result, EXIT_CODE_SHORT, "%s acknowledged rows are lost",
                 result_describe_lost(result, lost));
    } else if (result->stop_reason == STOP_TOO_FEW) {
        judge_too_few(result);
    } else if (s->not_started > 0 && main_cause(&result->causes, CAUSE_THREAD)[0] != '\0') {
        judge_not_started(result);
    } else if (s->refused + s->timed_out > 0) {
        judge_refused(result);
    } else if (s->finished < s->requested || r->acknowledged < r->planned || r->acknowledged == 0) {
        judge_short(result);
    } else {
        judge_rest(result, was_interrupted);
    }
}

void result_judge(struct result *result, const struct judge_context *context)
{
    memset(result->problems, 0, sizeof result->problems);
    result->rate_achieved_percent = -1;
    if (context->rate_rows_per_s > 0 && result->append_ns >= SHORTEST_NS) {
        result->rate_achieved_percent = 100 * (double)result->rows.acknowledged /
                                        ((double)result->append_ns / 1e9) /
                                        (double)context->rate_rows_per_s;
    }
    char lost[RESULT_LOST_BYTES];
    char shrunk[SHRUNK_TEXT_BYTES];
    char still[RESULT_STILL_BYTES];
    if (result->stop_reason == STOP_INTERRUPTED) {
        set_verdict(result, VERDICT_DEGRADED, "the run was interrupted");
    } else if (result->stop_reason == STOP_TOO_FEW) {
        set_verdict(result, VERDICT_DEGRADED,
                    "only %s of %s sessions were up, and --min-sessions requires %s",
                    UNITS_COUNT(result->sessions_up), UNITS_COUNT(result->sessions.requested),
                    UNITS_COUNT(result->least_sessions));
    } else if (is_unknown(result)) {
        set_verdict(result, VERDICT_DEGRADED, "%s", describe_shrunk(result, shrunk));
    } else if (result_lost_at_most(result) > 0) {
        set_verdict(result, VERDICT_DEGRADED, "%s acknowledged rows are lost",
                    result_describe_lost(result, lost));
    } else if (result_has_stood_still(result, still)) {
        set_verdict(result, VERDICT_INVALID, "%s", still);
    } else if (!(!context->is_embedded && is_client_bound(result, context->is_local)) &&
               !is_short(result) && !is_doubtful(result) &&
               !is_disturbed(result, context->is_local)) {
        set_verdict(result, VERDICT_VALID, "%s",
                    result->verification.state == VERIFICATION_DONE
                        ? "every row was acknowledged, and the table grew by as many"
                        : "every session finished, every row was acknowledged");
    }
    judge_exit(result, context->was_interrupted);
    result_conclude(result);
}

__attribute__((format(printf, 4, 5))) static void
end_with(struct result *result, enum verdict verdict, enum exit_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->verdict_reason, sizeof result->verdict_reason, format, arguments);
    va_end(arguments);
    result->verdict = verdict;
    set_exit(result, code, "%s", result->verdict_reason);
}

/* Whose limit kept even the first level from being held. */
static bool is_client_side(const struct search *search, const struct result *result)
{
    const struct level *level = &search->levels[search->failure];
    return result->findings.count > 0 ? result->findings.entries[0].side == LIMIT_CLIENT
                                      : level->reason == LEVEL_NO_THREAD;
}

static void judge_nothing_held(const struct search *search, struct result *result)
{
    if (search->failed == 0) {
        const bool is_memory = search->end == SEARCH_MEMORY;
        end_with(result, VERDICT_DEGRADED, is_memory ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SHORT,
                 "no level was held before the search ended: %s", search_end_names[search->end]);
        return;
    }
    const struct cause *cause = level_main_cause(&search->levels[search->failure]);
    const struct finding *limit = result->findings.count > 0 ? &result->findings.entries[0] : NULL;
    char why[240] = "no session could append";
    if (limit != NULL) {
        snprintf(why, sizeof why, "%s (%s): %.160s", limit->name, limit_side_names[limit->side],
                 limit->evidence);
    } else if (cause != NULL) {
        snprintf(why, sizeof why, "%.239s", cause->error.text);
    }
    end_with(result, VERDICT_DEGRADED,
             is_client_side(search, result) ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SERVER,
             "not even %s %s held: %.180s", UNITS_COUNT(search->failed),
             search->failed == 1 ? "session was" : "sessions were", why);
}

static void judge_held(const struct search *search, struct result *result)
{
    const struct verification *v = &result->verification;
    if (v->state == VERIFICATION_FAILED) {
        end_with(result, VERDICT_DEGRADED,
                 search->end == SEARCH_GONE ? EXIT_CODE_SERVER : EXIT_CODE_SHORT,
                 "the rows were not counted after the search: %.150s", v->reason);
    } else if (v->is_shrunk) {
        end_with(result, VERDICT_DEGRADED, EXIT_CODE_SHORT,
                 "the table has fewer rows than before the search: another client deleted rows");
    } else if (search->end == SEARCH_GONE || search->end == SEARCH_STUCK) {
        const bool is_gone = search->end == SEARCH_GONE;
        end_with(result, VERDICT_DEGRADED, is_gone ? EXIT_CODE_SERVER : EXIT_CODE_SHORT,
                 "%s sessions were held, then %s", UNITS_COUNT(search->held),
                 is_gone ? "the server was gone" : "some did not leave");
    } else if (search->end == SEARCH_FOUND) {
        end_with(result, VERDICT_VALID, EXIT_CODE_OK,
                 "%s sessions were held, %s were tried and were not", UNITS_COUNT(search->held),
                 UNITS_COUNT(search->failed));
    } else if (search->failed > 0) {
        end_with(result, VERDICT_VALID, EXIT_CODE_OK,
                 "%s sessions were held and %s were not; between them nothing is known",
                 UNITS_COUNT(search->held), UNITS_COUNT(search->failed));
    } else {
        end_with(result, VERDICT_VALID, EXIT_CODE_OK,
                 "%s sessions were held, and no level failed: there may be more",
                 UNITS_COUNT(search->held));
    }
}

void search_judge(const struct search *search, struct result *result, bool was_interrupted)
{
    const struct verification *v = &result->verification;
    char lost[RESULT_LOST_BYTES];
    char still[RESULT_STILL_BYTES];
    memset(result->problems, 0, sizeof result->problems);
    if (!session_ledger_balances(&result->sessions) || !row_ledger_balances(&result->rows)) {
        end_with(result, VERDICT_DEGRADED, EXIT_CODE_INTERNAL,
                 "a ledger does not balance: a defect of append");
    } else if (search->end == SEARCH_INTERRUPTED || was_interrupted) {
        end_with(result, VERDICT_DEGRADED, EXIT_CODE_INTERRUPTED,
                 "interrupted: at least %s sessions were held", UNITS_COUNT(search->held));
    } else if (v->lost_at_most > 0 && !v->is_shrunk) {
        end_with(result, VERDICT_DEGRADED, EXIT_CODE_SHORT, "%s acknowledged rows are lost",
                 result_describe_lost(result, lost));
    } else if (result_has_stood_still(result, still)) {
        end_with(result, VERDICT_INVALID, EXIT_CODE_INVALID, "%s", still);
    } else if (search->held == 0) {
        judge_nothing_held(search, result);
    } else {
        judge_held(search, result);
    }
    result_conclude(result);
}
