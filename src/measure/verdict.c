#include "measure/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "base/text.h"

#define BUSY_PERCENT 90.0
#define STARVED_SHARE 0.5
#define RATE_PERCENT 95.0
#define SCRIPT_PERCENT 10.0
#define SHORTEST_NS INT64_C(1000000000) /* shorter runs have too few readings */
#define CLOCK_MOVED_NS INT64_C(100000000)

enum {
    TEXT_BYTES = 512 /* enough for each part of a reason */
};

/* An empty array for a text. The array exists until the end of the enclosing block. */
#define TEXT ((char[TEXT_BYTES]){""})

/* The data that the rules read. */
struct judge {
    struct result *result;
    const struct judge_context *context;
    const uint64_t *counters;
    /* the limit that was hit by the greatest number of sessions; NULL if no limit was hit */
    const struct finding *limit;
    const struct error *thread; /* why sessions did not start; empty if unknown */
    const char *refusal;        /* why sessions were refused or timed out; "" if unknown */
    const char *loss;           /* why connected sessions or rows were lost; "" if unknown */
    const char *why; /* a text for `limit` if a limit was hit and connected sessions were dropped or
                        stopped; otherwise `loss` */
    const char *script_error;   /* the error that ended the script */
    enum exit_code script_code; /* exit code for script_error */
    uint64_t lost, surplus;     /* numbers of lost and of additional rows in the script's tables */
    const char *uncounted; /* why the first uncounted table could not be counted; NULL if all tables
                              were counted */
    char limit_text[TEXT_BYTES];
    char cut[TEXT_BYTES]; /* says how many sessions' connections were cut at the end of the run */
};

#define NO_VERDICT VERDICT_RUNNING /* for rules without a verdict; not the verdict of any rule */

/* Applies a rule. If `holds` is true, the rule decides the verdict and the exit code, unless an
 * earlier rule has decided them. If `verdict` is NO_VERDICT, the rule does not decide the verdict.
 * If `code` is EXIT_CODE_OK, the rule does not decide the exit code. `format` and the arguments
 * after it give the reason. In the exit line, `why` follows the reason, see WHY. */
__attribute__((format(printf, 6, 7))) static void rule(struct judge *judge, bool holds,
                                                       enum verdict verdict, enum exit_code code,
                                                       const char *why, const char *format, ...)
{
    struct result *result = judge->result;
    struct problem *problem = &result->problems[PROBLEM_RUN];
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (holds && verdict != NO_VERDICT && result->verdict_reason[0] == '\0') {
        snprintf(result->verdict_reason, sizeof result->verdict_reason, "%.*s",
                 (int)sizeof result->verdict_reason - 1, text);
        result->verdict = verdict;
    }
    if (holds && code != EXIT_CODE_OK && problem->code == EXIT_CODE_OK) {
        snprintf(problem->text, sizeof problem->text, "%s%s", text, why);
        problem->code = code;
    }
}

/* VALID_IF, DEGRADED_IF and INVALID_IF are rules about the verdict. EXIT_IF is a rule about the
 * exit code. FAIL_IF is a rule about both; its verdict is DEGRADED. */
#define VALID_IF(judge, holds, ...)                                                                \
    rule((judge), (holds), VERDICT_VALID, EXIT_CODE_OK, "", __VA_ARGS__)
#define DEGRADED_IF(judge, holds, ...)                                                             \
    rule((judge), (holds), VERDICT_DEGRADED, EXIT_CODE_OK, "", __VA_ARGS__)
#define INVALID_IF(judge, holds, ...)                                                              \
    rule((judge), (holds), VERDICT_INVALID, EXIT_CODE_OK, "", __VA_ARGS__)
#define EXIT_IF(judge, holds, code, why, ...)                                                      \
    rule((judge), (holds), NO_VERDICT, (code), (why), __VA_ARGS__)
#define FAIL_IF(judge, holds, code, why, ...)                                                      \
    rule((judge), (holds), VERDICT_DEGRADED, (code), (why), __VA_ARGS__)

/* Writes a count with its noun: "1 row is", "2 rows are". */
static const char *format_count(uint64_t count, const char *one, const char *many,
                                char text[TEXT_BYTES])
{
    snprintf(text, TEXT_BYTES, "%s %s", UNITS_COUNT(count), units_plural(count, one, many));
    return text;
}
#define COUNTED(count, one, many) format_count((count), (one), (many), TEXT)

/* Writes "PART of WHOLE". */
static const char *format_part(uint64_t part, uint64_t whole, char text[TEXT_BYTES])
{
    snprintf(text, TEXT_BYTES, "%s of %s", UNITS_COUNT(part), UNITS_COUNT(whole));
    return text;
}
#define PART(part, whole) format_part((part), (whole), TEXT)

/* Writes ": " and at most `most` bytes of the reason `why`; writes "" if `why` is "". */
static const char *format_why(const char *why, int most, char text[TEXT_BYTES])
{
    snprintf(text, TEXT_BYTES, "%s%.*s", why[0] == '\0' ? "" : ": ", most, why);
    return text;
}
#define WHY(why, most) format_why((why), (most), TEXT)

/* Describes a limit and its evidence. Returns `otherwise` if `limit` is NULL. */
static const char *format_limit(const struct finding *limit, const char *otherwise,
                                char text[TEXT_BYTES])
{
    if (limit == NULL) {
        return otherwise;
    }
    snprintf(text, TEXT_BYTES, "%s (%s): %s", limit->name, limit_side_names[limit->side],
             limit->evidence);
    return text;
}

/* Returns the error that explains why a phase failed: the first error with the given status or, if
 * `status` is STATUS_OK, the most frequent error. If the phase has no such error, returns an error
 * of the kind ERROR_NONE with an empty text. */
static const struct error *find_error(const struct causes *causes, enum cause_phase phase,
                                      enum status status)
{
    static const struct error none = {.kind = ERROR_NONE};
    const struct cause *cause = status == STATUS_OK ? causes_most_frequent(causes, phase) : NULL;
    for (size_t i = 0; status != STATUS_OK && cause == NULL && i < causes->count; i++) {
        const struct cause *entry = &causes->entries[i];
        cause = entry->phase == phase && entry->status == status ? entry : NULL;
    }
    return cause == NULL ? &none : &cause->error;
}

/* Returns the reason why sessions were refused (is_refusal), or why sessions or rows were lost
 * after the connect. Returns "" if the reason is unknown. A session that connected but whose
 * on_session failed also counts as refused. */
static const char *find_reason(const struct causes *causes, bool is_refusal)
{
    static const enum cause_phase phases[] = {CAUSE_CONNECT, CAUSE_STATEMENT, CAUSE_APPEND,
                                              CAUSE_READ,    CAUSE_RECONNECT, CAUSE_IDLE,
                                              CAUSE_SCRIPT};
    const char *why = "";
    for (size_t i = is_refusal ? 0 : 1; i < COUNT_OF(phases) && why[0] == '\0'; i++) {
        /* a fatal error in the script is a reason, a failed check of the script is not */
        why = find_error(causes, phases[i], phases[i] == CAUSE_SCRIPT ? STATUS_FATAL : STATUS_OK)
                  ->text;
    }
    return why;
}

/* Adds up the lost rows and the surplus rows of the script's tables, and finds the first table that
 * could not be counted. */
static void sum_tables(struct judge *judge)
{
    const struct result *result = judge->result;
    for (size_t i = 0; i < result->dataset_count; i++) {
        const struct verification *table = &result->datasets[i];
        if (table->state == VERIFICATION_DONE) {
            judge->lost += table->lost;
            judge->surplus += table->surplus;
        } else if (table->state == VERIFICATION_FAILED && judge->uncounted == NULL) {
            judge->uncounted = table->reason;
        }
    }
}

/* Removes an earlier judgement from the result, and fills *judge with the data for the rules. */
static void judge_begin(struct judge *judge, struct result *result,
                        const struct judge_context *context)
{
    const struct error *script = find_error(&result->causes, CAUSE_SCRIPT, STATUS_FATAL);
    memset(result->problems, 0, sizeof result->problems);
    result->verdict_reason[0] = result->valid_reason[0] = '\0';
    *judge = (struct judge){
        .result = result,
        .context = context,
        .counters = result->totals.counters,
        .limit = result->findings.count > 0 ? &result->findings.entries[0] : NULL,
        .thread = find_error(&result->causes, CAUSE_THREAD, STATUS_OK),
        .refusal = find_reason(&result->causes, true),
        .loss = find_reason(&result->causes, false),
        /* the text is empty if the list of causes was too full for this error */
        .script_error = script->text[0] == '\0' ? "the script has an error" : script->text,
        .script_code = script->kind == ERROR_MEMORY ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_USAGE,
    };
    judge->why = judge->loss;
    if (result->sessions.dropped + result->sessions.stopped > 0) {
        judge->why = format_limit(judge->limit, judge->loss, judge->limit_text);
    }
    snprintf(judge->cut, sizeof judge->cut,
             "%s sessions had no answer when the run ended, and their connections were cut",
             PART(result->sessions_cut, result->sessions.requested));
    sum_tables(judge);
}

/* Describes how long this program was suspended and, in a run with several ranks, on which machine.
 * Returns "" if the program was not suspended. */
static const char *describe_standstill(const struct result *result, char text[TEXT_BYTES])
{
    const int64_t still_ns = result->resources.suspended_ns;
    char who[100] = "";
    for (size_t i = 0; i < result->rank_count; i++) {
        const struct rank_result *rank = &result->ranks[i];
        if (rank->is_known && rank->resources.suspended_ns == still_ns) {
            snprintf(who, sizeof who, "machine %.60s, rank %zu: ", rank->machine, i);
        }
    }
    snprintf(text, TEXT_BYTES,
             "%sappend itself stood still for %.1f s: the process was stopped, or the machine "
             "slept or was paused",
             who, (double)still_ns / 1e9);
    return still_ns > 0 ? text : "";
}

/* Describes the broken claims of the script about its tables; "" if no claim is broken. */
static const char *describe_broken(const struct result *result, char text[TEXT_BYTES])
{
    const struct invariant_result *first = NULL;
    uint64_t count = 0;
    for (size_t i = 0; i < result->invariant_count; i++) {
        const bool is_broken = result->invariants[i].rows > 0;
        first = is_broken && count == 0 ? &result->invariants[i] : first;
        count += is_broken;
    }
    text[0] = '\0';
    if (first != NULL) {
        snprintf(text, TEXT_BYTES, "%s invariants %s broken: %.120s (%s)",
                 PART(count, result->invariant_count), units_plural(count, "is", "are"),
                 first->claim, COUNTED(first->rows, "row", "rows"));
    }
    return text;
}

/* A machine on which this program runs, in one or several processes. */
struct client_machine {
    const char *name;  /* name of the machine; NULL in a run without ranks */
    const char *bound; /* reason why this program cannot use all CPUs, see
                          resource_summary.client_bound; "" = no reason is known */
    struct cpu_shares mean;
    bool has_server;
    double time_ns, run_queue_ns; /* total time of the session threads, and the part in which they
                                     waited for a CPU */
};

/* Returns the share of the session threads' time in which they waited for a CPU. */
static double starved_share(const struct client_machine *machine)
{
    return machine->time_ns > 0 ? machine->run_queue_ns / machine->time_ns : 0;
}

/* Returns whether other programs used the CPUs so much that the figures describe neither the client
 * nor the server. */
static bool is_disturbed(const struct client_machine *machine)
{
    const double others = cpu_others(&machine->mean, machine->has_server);
    return machine->mean.host >= BUSY_PERCENT &&
           (others >= machine->mean.host / 2 ||
            (starved_share(machine) > STARVED_SHARE && others > machine->mean.client));
}

/*
 * Rules: the client (this program) was the bottleneck of the run in these cases:
 *   - The server is on another machine, and the client used at least BUSY_PERCENT of this machine's
 *     CPUs.
 *   - The server is on this machine, the CPUs were at least BUSY_PERCENT busy, and the client used
 *     more CPU time than the server and more than all other programs. If the CPU time of the server
 *     is unknown, all CPU time that the client did not use counts as the server's.
 *   - The session threads waited for a CPU for over half of their time, and a limit of the client
 *     alone (affinity, the quota of a cgroup, niceness) kept the client from using all CPUs.
 *   - The session threads waited for a CPU for over half of their time, although the CPUs were less
 *     than BUSY_PERCENT busy. This rule does not apply if the server is on this machine and used
 *     half of the CPUs or more.
 */
static void judge_machine(struct judge *judge, const struct client_machine *machine)
{
    const double host = machine->mean.host, client = machine->mean.client;
    const double others = cpu_others(&machine->mean, machine->has_server);
    const double server = host - client - others;
    const double starved = starved_share(machine);
    const bool is_local = machine->has_server, is_known = client >= 0 && others >= 0;
    const bool is_starved = is_known && starved > STARVED_SHARE;
    const char *bound = is_starved ? machine->bound : "";
    const bool has_name = machine->name != NULL;
    char place[80] = "";
    if (has_name) {
        snprintf(place, sizeof place, "machine %.60s is ", machine->name);
    }
    INVALID_IF(judge, is_known && !is_local && client >= BUSY_PERCENT,
               "%sclient-bound: append itself used %.0f %% of %s CPUs", place, client,
               has_name ? "its" : "this machine's");
    INVALID_IF(judge,
               is_known && is_local && host >= BUSY_PERCENT && client > server && client > others,
               "%sclient-bound: append used %.0f %% of the CPUs, the server only %.0f %%", place,
               client, server);
    INVALID_IF(judge,
               bound[0] != '\0' ||
                   (is_starved && host < BUSY_PERCENT && !(is_local && server >= 50)),
               "%sclient-bound: sessions waited for %s %.0f %% of their time%s%s", place,
               has_name ? "one of its CPUs" : "a CPU of this machine", 100 * starved,
               bound[0] == '\0' ? "" : ", and ", bound);
}

/* Returns the number of machines to judge: the number of ranks, or 1 in a run without ranks. */
static size_t machine_count(const struct result *result)
{
    return MAX(result->rank_count, (size_t)1);
}

/* Returns this machine or, in a run with ranks, the machine of rank number `number`. The client's
 * share and the times of threads are sums over the ranks on that machine; the shares of the host
 * and the server are the highest of these ranks. */
static struct client_machine machine_of(const struct judge *judge, size_t number)
{
    const struct result *result = judge->result;
    if (result->rank_count == 0) {
        return (struct client_machine){
            .bound = result->resources.client_bound,
            .mean = result->resources.mean_cpu,
            .has_server = judge->context->is_local,
            .time_ns = (double)judge->counters[RECORDER_SESSION_NS],
            .run_queue_ns = (double)judge->counters[RECORDER_RUN_QUEUE_NS],
        };
    }
    struct client_machine all = {
        .name = result->ranks[number].machine, .bound = "", .mean = {-1, -1, -1}};
    for (size_t i = 0; i < result->rank_count; i++) {
        const struct rank_result *rank = &result->ranks[i];
        const struct cpu_shares *mean = &rank->resources.mean_cpu;
        if (!rank->is_known || strcmp(rank->machine, all.name) != 0) {
            continue;
        }
        all.bound = all.bound[0] == '\0' ? rank->resources.client_bound : all.bound;
        all.mean.host = MAX(all.mean.host, mean->host);
        all.mean.server = MAX(all.mean.server, mean->server);
        all.mean.client = MAX(all.mean.client, 0) + MAX(mean->client, 0);
        all.has_server = all.has_server || rank->hosts_here > 0;
        all.time_ns += (double)rank->counters[RECORDER_SESSION_NS];
        all.run_queue_ns += (double)rank->counters[RECORDER_RUN_QUEUE_NS];
    }
    return all;
}

/* Applies the rules for ranks. The whole run is INVALID if a rank judged its own part INVALID, or
 * if the clock of a rank moved too much against the clock of rank 0. Adds a problem for a lost
 * rank. */
static void judge_ranks(struct judge *judge)
{
    struct result *result = judge->result;
    for (size_t i = 0; i < result->rank_count; i++) {
        const struct rank_result *rank = &result->ranks[i];
        const int64_t moved_ns =
            rank->clock_drift_ns < 0 ? -rank->clock_drift_ns : rank->clock_drift_ns;
        result_add_problem(
            result, PROBLEM_RANK, rank->is_known ? EXIT_CODE_OK : EXIT_CODE_SHORT,
            "rank %zu on machine %.60s was lost%s: the figures include the work of its sessions up "
            "to its last report; its intervals.csv is in %.150s.rank%zu",
            i, rank->machine, judge->context->was_signalled ? " after a signal" : "",
            judge->context->out_folder, i);
        INVALID_IF(judge, rank->is_known && rank->verdict == VERDICT_INVALID,
                   "machine %.60s, rank %zu: %.150s", rank->machine, i, rank->verdict_reason);
        INVALID_IF(judge, moved_ns > rank->clock_drift_error_ns + CLOCK_MOVED_NS,
                   "the clock of machine %.60s, rank %zu, moved by %s against the clock of rank 0: "
                   "the rank's intervals do not match the intervals of the other ranks",
                   rank->machine, i, UNITS_NS(moved_ns));
    }
}

/* Returns whether the counts of transactions and statements add up, in total and for each name. */
static bool script_balances(const struct result *result)
{
    const struct recorder_snapshot *totals = &result->totals;
    bool balances = transactions_balance(totals->counters) && transactions_balance(totals->warm_up);
    for (size_t i = OPERATIONS; i < totals->operations; i++) {
        balances &= operation_counts_balance(totals->counts[i]);
    }
    for (size_t count = COUNTS_OF_TRANSACTIONS; count < OPERATION_COUNTS; count++) {
        uint64_t sum = 0;
        for (size_t i = OPERATIONS; i < totals->operations; i++) {
            sum += totals->counts[i][count];
        }
        for (size_t i = 0; i < result->rank_count; i++) { /* a lost rank has no counts by name */
            const struct rank_result *rank = &result->ranks[i];
            sum += rank->is_known ? 0 : rank->counters[operation_count_sums[count]];
        }
        balances &= sum == totals->counters[operation_count_sums[count]];
    }
    return balances;
}

/* Returns whether the row ledger balances (the counts of outcomes add up to the planned rows), and
 * whether the recorder has the same counts. */
static bool rows_balance(const struct result *result)
{
    struct row_ledger counted = result->rows;
    counted.acknowledged = result->totals.counters[RECORDER_ROWS_ACKNOWLEDGED];
    counted.rejected = result->totals.counters[RECORDER_ROWS_REJECTED];
    counted.in_doubt = result->totals.counters[RECORDER_ROWS_IN_DOUBT];
    for (size_t i = 0; i < result->rank_count; i++) {
        const struct rank_result *rank = &result->ranks[i];
        if (!rank->is_known) { /* rows after the last report of a lost rank are in doubt */
            counted.in_doubt += rank->rows.in_doubt - rank->counters[RECORDER_ROWS_IN_DOUBT];
        }
    }
    return row_ledger_balances(&result->rows) &&
           memcmp(&counted, &result->rows, sizeof counted) == 0;
}

/* Rule: a ledger does not balance. */
static void judge_ledgers(struct judge *judge)
{
    const struct result *result = judge->result;
    FAIL_IF(judge,
            !session_ledger_balances(&result->sessions) || !rows_balance(result) ||
                (judge->context->has_script && !script_balances(result)),
            EXIT_CODE_INTERNAL, "",
            "a ledger does not balance: this is a defect of append, please report it");
}

/* Rule: acknowledged rows are lost. Does not apply if is_shrunk: another client deleted rows, so
 * the number of lost rows is unknown. */
static void judge_lost(struct judge *judge, bool is_shrunk)
{
    const uint64_t most = result_lost_at_most(judge->result);
    FAIL_IF(judge, most > 0 && !is_shrunk, EXIT_CODE_SHORT, "", "%s acknowledged %s lost",
            result_describe_lost(judge->result, TEXT), units_plural(most, "row is", "rows are"));
}

/* Rules: the run ended early, or acknowledged rows are lost. */
static void judge_end(struct judge *judge)
{
    const struct result *result = judge->result;
    const struct judge_context *context = judge->context;
    const struct verification *v = &result->verification;
    const bool is_interrupted = result->stop_reason == STOP_INTERRUPTED;
    const bool is_shrunk = v->is_shrunk && !result_is_read_back(result);
    const uint64_t committed = judge->counters[RECORDER_TRANSACTIONS_COMMITTED];
    judge_ledgers(judge);
    DEGRADED_IF(judge, is_interrupted, "the run was interrupted");
    EXIT_IF(judge, is_interrupted && context->has_script, EXIT_CODE_INTERRUPTED, "",
            "interrupted: %s committed",
            COUNTED(committed, "transaction was", "transactions were"));
    EXIT_IF(judge, is_interrupted, EXIT_CODE_INTERRUPTED, "", "interrupted: %s rows acknowledged",
            PART(result->rows.acknowledged, result->rows.planned));
    EXIT_IF(judge, result->stop_reason == STOP_SCRIPT, judge->script_code, "", "%s",
            judge->script_error);
    DEGRADED_IF(judge, result->stop_reason == STOP_TOO_FEW,
                "only %s sessions were up, but --min-sessions requires %s",
                PART(result->sessions_up, result->sessions.requested),
                UNITS_COUNT(result->least_sessions));
    judge_lost(judge, is_shrunk);
    /* v->lost assumes that all rows in the table belong to this run. Some may belong to another
     * writer; this run has then lost more rows. */
    FAIL_IF(judge, is_shrunk && v->lost > 0, EXIT_CODE_SHORT, "",
            "at least %s lost, and the table has fewer rows than before the run: another client "
            "deleted rows",
            COUNTED(v->lost, "acknowledged row is", "acknowledged rows are"));
    FAIL_IF(judge, is_shrunk, EXIT_CODE_SHORT, "",
            "the table has fewer rows than before the run: another client deleted rows, and this "
            "run's rows cannot be verified");
    DEGRADED_IF(judge, result->stop_reason == STOP_RANK, "a rank was lost");
    DEGRADED_IF(judge, context->untraced > 0,
                "the server counted %s writes and syncs, but none was traced: --server-pid, "
                "--server-cgroup or --container must name the server's process",
                UNITS_COUNT(context->untraced));
}

/* Rule: rows that a script committed are lost. */
static void judge_committed(struct judge *judge)
{
    FAIL_IF(judge, judge->lost > 0, EXIT_CODE_SHORT, "", "%s lost",
            COUNTED(judge->lost, "committed row is", "committed rows are"));
}

/* Rules: the client was the bottleneck or was suspended. */
static void judge_client(struct judge *judge)
{
    const struct result *result = judge->result;
    /* the CPU time of an embedded database is part of the client's, so it is not judged */
    const bool is_long = !judge->context->is_embedded && result->append_ns >= SHORTEST_NS;
    const char *still = describe_standstill(result, TEXT);
    INVALID_IF(judge, still[0] != '\0', "%s", still);
    for (size_t i = 0; is_long && i < machine_count(result); i++) {
        const struct client_machine machine = machine_of(judge, i);
        judge_machine(judge, &machine);
    }
    judge_ranks(judge);
}

/* Rules: --stop-when ended the run; sessions are missing; rows of the script's tables are missing,
 * or claims about these tables are broken. */
static void judge_sessions(struct judge *judge)
{
    const struct result *result = judge->result;
    const struct session_ledger *s = &result->sessions;
    const char *broken = describe_broken(result, TEXT);
    DEGRADED_IF(judge, result->stop_reason == STOP_CONDITION, "stopped by --stop-when: %s",
                result->stop_condition);
    DEGRADED_IF(judge, result->sessions_cut > 0, "%s", judge->cut);
    DEGRADED_IF(judge, s->finished < s->requested, "only %s sessions finished",
                PART(s->finished, s->requested));
    judge_committed(judge);
    FAIL_IF(judge, broken[0] != '\0', EXIT_CODE_SHORT, "", "%s", broken);
}

/* Rule about the exit code: fewer sessions were up than --min-sessions requires. If the sessions
 * never began to work, the exit line says why sessions did not start or did not connect, as far as
 * this is known. Otherwise it says why sessions were lost. */
static void judge_too_few(struct judge *judge)
{
    const struct result *result = judge->result;
    const struct session_ledger *s = &result->sessions;
    const bool has_worked = result->append_ns > 0;
    enum exit_code code = EXIT_CODE_SHORT;
    const char *why = judge->loss;
    if (!has_worked && judge->thread->kind != ERROR_NONE) {
        code = EXIT_CODE_CLIENT_LIMIT;
        why = judge->thread->text;
    } else if (!has_worked && s->refused + s->timed_out > 0) {
        code = EXIT_CODE_SERVER;
        why = judge->refusal;
    }
    EXIT_IF(judge, result->stop_reason == STOP_TOO_FEW, code, WHY(why, 150),
            "%s: only %s sessions %s up, but --min-sessions requires %s",
            has_worked ? "stopped" : "not started", PART(result->sessions_up, s->requested),
            units_plural(result->sessions_up, "was", "were"), UNITS_COUNT(result->least_sessions));
}

/* Rules about the exit code: sessions did not start, sessions were refused, or --stop-when ended
 * the run. If --stop-when ended an INVALID run, the exit code is EXIT_CODE_INVALID, because the
 * figures that met the condition do not describe the server. */
static void judge_refusals(struct judge *judge)
{
    const struct result *result = judge->result;
    const struct session_ledger *s = &result->sessions;
    const bool has_no_thread = s->not_started > 0 && judge->thread->kind != ERROR_NONE;
    const bool is_stopped = result->stop_reason == STOP_CONDITION;
    const struct finding *own = NULL; /* the first limit of this machine */
    for (size_t i = 0; own == NULL && i < result->findings.count; i++) {
        const struct finding *entry = &result->findings.entries[i];
        own = entry->side == LIMIT_CLIENT ? entry : NULL;
    }
    /* not_started also counts sessions that had a thread but no memory for their script */
    EXIT_IF(judge, has_no_thread && (own == NULL || judge->thread->kind == ERROR_MEMORY),
            EXIT_CODE_CLIENT_LIMIT, "", "%s", judge->thread->text);
    EXIT_IF(judge, has_no_thread, EXIT_CODE_CLIENT_LIMIT, WHY(format_limit(own, "", TEXT), 230),
            "no thread for %s sessions", PART(s->not_started, s->requested));
    EXIT_IF(judge, s->refused + s->timed_out > 0,
            own != NULL && own == judge->limit ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SERVER,
            WHY(format_limit(judge->limit, judge->refusal, TEXT), 230),
            "%s sessions were refused, %s timed out", PART(s->refused, s->requested),
            UNITS_COUNT(s->timed_out));
    EXIT_IF(judge, is_stopped && result->verdict == VERDICT_INVALID, EXIT_CODE_INVALID, "",
            "INVALID: %.200s; stopped by --stop-when: %s", result->verdict_reason,
            result->stop_condition);
    EXIT_IF(judge, is_stopped, EXIT_CODE_EXPECTATION, "", "stopped by --stop-when: %s",
            result->stop_condition);
}

/* Returns the number of transactions that ended as the script intended. */
static uint64_t transactions_done(const uint64_t counters[RECORDER_COUNTERS])
{
    return counters[RECORDER_TRANSACTIONS_COMMITTED] + counters[RECORDER_TRANSACTIONS_ROLLED_BACK];
}

/* Returns the percentage of the time of all transactions that the script's own code took. Returns 0
 * if this percentage is not judged: in a short run, or if the database keeps no rows. */
static double script_percent(const struct judge *judge)
{
    const double tried_ns = (double)judge->counters[RECORDER_TRY_NS];
    const bool is_judged =
        !judge->context->keeps_nothing && judge->result->measured_ns >= SHORTEST_NS;
    return is_judged && tried_ns > 0 ? 100 * (double)judge->counters[RECORDER_SCRIPT_NS] / tried_ns
                                     : 0;
}

/* Returns the reason why transactions are in doubt: the limit that was hit or, if no limit was hit,
 * the error with which connections were lost, even if another error was more frequent. */
static const char *find_doubt(const struct judge *judge)
{
    const struct causes *causes = &judge->result->causes;
    const char *statement = find_error(causes, CAUSE_STATEMENT, STATUS_LOST)->text;
    const char *append = find_error(causes, CAUSE_APPEND, STATUS_LOST)->text;
    const char *lost = statement[0] != '\0' ? statement : append;
    return judge->why == judge->loss && lost[0] != '\0' ? lost : judge->why;
}

/* Rules about transactions. */
static void judge_transactions(struct judge *judge)
{
    const struct result *result = judge->result;
    const struct judge_context *context = judge->context;
    const struct session_ledger *s = &result->sessions;
    const uint64_t *counters = judge->counters;
    const uint64_t begun = counters[RECORDER_TRANSACTIONS_BEGUN];
    const uint64_t failed = counters[RECORDER_TRANSACTIONS_FAILED];
    const uint64_t in_doubt = counters[RECORDER_TRANSACTIONS_IN_DOUBT];
    const double percent = begun > 0 ? 100 * (double)failed / (double)begun : 0;
    const bool is_excused = failed <= context->max_failed || percent <= context->max_failed_percent;
    const bool is_stopped = result->stop_reason == STOP_SCRIPT;
    const double script = script_percent(judge);
    DEGRADED_IF(judge, is_stopped && judge->script_code == EXIT_CODE_CLIENT_LIMIT,
                "the run stopped: out of memory for a script");
    DEGRADED_IF(judge, is_stopped, "the run stopped: error in the script");
    INVALID_IF(judge, script > 100 * STARVED_SHARE,
               "client-bound: the script's own code took %.0f %% of the transactions' time",
               script);
    EXIT_IF(judge, result->sessions_cut > 0 && s->dropped == 0, EXIT_CODE_SHORT,
            WHY(judge->loss, 150), "%s", judge->cut);
    FAIL_IF(judge, in_doubt > 0, EXIT_CODE_SHORT, WHY(find_doubt(judge), 200),
            "%s transactions %s in doubt", PART(in_doubt, begun),
            units_plural(in_doubt, "is", "are"));
    DEGRADED_IF(judge, failed > 0, "%s transactions failed; %s of them left writes in the tables",
                PART(failed, begun), UNITS_COUNT(counters[RECORDER_TRANSACTIONS_PARTIAL]));
    EXIT_IF(judge, !is_excused, EXIT_CODE_SHORT, WHY(judge->why, 150), "%s transactions failed",
            PART(failed, begun));
    EXIT_IF(judge, s->finished < s->requested, EXIT_CODE_SHORT, WHY(judge->why, 150),
            "only %s sessions finished, %s dropped", PART(s->finished, s->requested),
            UNITS_COUNT(s->dropped));
    FAIL_IF(judge, transactions_done(counters) == 0 && s->requested > 0, EXIT_CODE_SHORT,
            WHY(judge->why, 200), "no transaction was committed");
}

/* Rules about the exit code: sessions are missing, or rows that the run should have inserted. */
static void judge_missing(struct judge *judge)
{
    const struct result *result = judge->result;
    const struct session_ledger *s = &result->sessions;
    const struct row_ledger *r = &result->rows;
    const struct error *refused = find_error(&result->causes, CAUSE_APPEND, STATUS_FATAL);
    char stopped[TEXT_BYTES] = "", unsent[TEXT_BYTES] = "";
    EXIT_IF(judge,
            r->acknowledged == 0 && refused->kind != ERROR_NONE && refused->kind != ERROR_MEMORY,
            EXIT_CODE_SERVER, "", "the server refused every append: %.200s", refused->text);
    EXIT_IF(judge, result->sessions_cut > 0 && s->dropped == 0, EXIT_CODE_SHORT,
            WHY(judge->loss, 150), "%s: %s in doubt", judge->cut,
            COUNTED(r->in_doubt, "row is", "rows are"));
    EXIT_IF(judge, r->planned == 0, EXIT_CODE_SHORT, WHY(judge->loss, 200),
            "no row was acknowledged");
    if (s->stopped > 0) {
        snprintf(stopped, sizeof stopped, ", %s stopped", UNITS_COUNT(s->stopped));
    }
    /* in a run with a duration, the row ledger does not include rows of batches that never began */
    if (r->not_sent == 0 && result->batches.not_sent > 0) {
        snprintf(unsent, sizeof unsent, ", %s not sent",
                 COUNTED(result->batches.not_sent, "batch", "batches"));
    } else if (r->not_sent > 0 || !stop_is_planned(result->stop_reason)) {
        snprintf(unsent, sizeof unsent, ", %s not sent", UNITS_COUNT(r->not_sent));
    }
    EXIT_IF(judge, true, EXIT_CODE_SHORT, WHY(judge->why, 150),
            "sessions or rows are missing: %s dropped%s, %s rejected, %s in doubt%s",
            COUNTED(s->dropped, "session", "sessions"), stopped,
            COUNTED(r->rejected, "row", "rows"), UNITS_COUNT(r->in_doubt), unsent);
}

/* Rules: the rows could not be counted, or could not be read back; `what` says which. `reason` is
 * the reason, or NULL if the rules do not apply. */
static void judge_unverified(struct judge *judge, const char *reason, const char *what,
                             const char *when)
{
    const char *why = reason == NULL ? "" : reason;
    DEGRADED_IF(judge, reason != NULL, "the rows were not %s%s: %.150s", what, when, why);
    EXIT_IF(judge, reason != NULL && judge->context->was_interrupted, EXIT_CODE_INTERRUPTED, "",
            "interrupted while the rows were being %s", what);
    EXIT_IF(judge, reason != NULL, EXIT_CODE_SHORT, "", "the rows were not %s%s: %.200s", what,
            when, why);
}

/* Rules: claims of the script about its tables could not be checked. */
static void judge_unchecked(struct judge *judge)
{
    const struct result *result = judge->result;
    const char *why = result->lacks_invariants ? "out of memory" : "";
    uint64_t count = result->lacks_invariants ? 1 : 0;
    for (size_t i = 0; i < result->invariant_count; i++) {
        const bool is_unchecked = result->invariants[i].state == VERIFICATION_FAILED;
        why = is_unchecked && count == 0 ? result->invariants[i].reason : why;
        count += is_unchecked;
    }
    DEGRADED_IF(judge, count > 0, "%s invariants could not be checked: %.150s",
                PART(count, result->invariant_count), why);
    EXIT_IF(judge, count > 0,
            judge->context->was_interrupted ? EXIT_CODE_INTERRUPTED : EXIT_CODE_SHORT, "",
            "%s invariants could not be checked: %.200s", PART(count, result->invariant_count),
            why);
}

/* Rules about a script: the rows and claims of its tables, its checks, and the time of its code. */
static void judge_script(struct judge *judge)
{
    const uint64_t failed = judge->counters[RECORDER_CHECKS_FAILED];
    const double script = script_percent(judge);
    DEGRADED_IF(judge, judge->surplus > 0,
                "the tables have %s than the run committed: another writer was active, or a "
                "statement adds rows that the script does not declare",
                COUNTED(judge->surplus, "more row", "more rows"));
    judge_unverified(judge, judge->uncounted, "counted", " after the run");
    judge_unchecked(judge);
    DEGRADED_IF(judge, failed > 0, "%s checks failed",
                PART(failed, judge->counters[RECORDER_CHECKS]));
    DEGRADED_IF(judge, script > SCRIPT_PERCENT,
                "the script's own code took %.0f %% of the transactions' time", script);
}

/* Rules: the server was unavailable for a time, or the rows in the table differ from the rows that
 * the sessions counted. */
static void judge_rows(struct judge *judge)
{
    const struct result *result = judge->result;
    const bool has_script = judge->context->has_script;
    const struct row_ledger *r = &result->rows;
    const struct verification *v = &result->verification;
    const struct row_verification *read = &result->row_verification;
    const bool is_read_back = result_is_read_back(result);
    const uint64_t rejected = is_read_back ? read->rejected_present : v->rejected_arrived;
    const uint64_t surplus = result_surplus(result);
    const uint64_t reconnects = judge->counters[RECORDER_RECONNECTS];
    const uint64_t refusals = judge->counters[RECORDER_REFUSALS];
    const uint64_t retries = judge->counters[RECORDER_BUSY_RETRIES];
    char rows[TEXT_BYTES];
    snprintf(rows, sizeof rows, "%s rows were acknowledged", PART(r->acknowledged, r->planned));
    DEGRADED_IF(judge, reconnects > 0, "%s lost and re-established%s%s",
                COUNTED(reconnects, "connection was", "connections were"), has_script ? "" : "; ",
                has_script ? "" : rows);
    DEGRADED_IF(judge, refusals > 0, "the server was read-only and refused %s; %s",
                COUNTED(refusals, "batch", "batches"), rows);
    DEGRADED_IF(judge, r->acknowledged < r->planned, "%s", rows);
    DEGRADED_IF(judge, r->acknowledged == 0 && result->sessions.requested > 0 && !has_script,
                "no row was acknowledged");
    judge_unverified(judge, v->state == VERIFICATION_FAILED ? v->reason : NULL, "counted",
                     " after the run");
    judge_unverified(judge, read->state == VERIFICATION_FAILED ? read->reason : NULL, "read back",
                     "");
    DEGRADED_IF(judge, read->duplicates > 0, "%s in the table more than once",
                COUNTED(read->duplicates, "row is", "rows are"));
    DEGRADED_IF(judge, read->foreign > 0, "%s this run's tag, but this run did not send %s",
                COUNTED(read->foreign, "row carries", "rows carry"),
                units_plural(read->foreign, "it", "them"));
    DEGRADED_IF(judge, rejected > 0, "%s in the table",
                COUNTED(rejected, "rejected row is", "rejected rows are"));
    FAIL_IF(judge, is_read_back && read->lost == 0 && v->lost_at_most > 0, EXIT_CODE_SHORT, "",
            "all rows of this run are in the table, but the table has fewer rows than it should: "
            "another client deleted rows");
    DEGRADED_IF(judge, surplus > 0 && retries > 0,
                "the table has %s than were acknowledged: either rows of the %s that append sent "
                "again, because the database was busy, are stored twice, or another writer was "
                "active",
                COUNTED(surplus, "more row", "more rows"), COUNTED(retries, "batch", "batches"));
    DEGRADED_IF(judge, surplus > 0,
                "the table has %s than this run can have written: another writer was active",
                COUNTED(surplus, "more row", "more rows"));
}

/* Returns the time over which the rate is computed: without the warm-up if the run has a script. */
static int64_t rated_ns(const struct judge *judge)
{
    return judge->context->has_script ? judge->result->measured_ns : judge->result->append_ns;
}

/* Returns the percentage of the requested rate that was reached; -1 if the run had no rate or was
 * too short. */
static double rate_percent(const struct judge *judge)
{
    const struct result *result = judge->result;
    const struct judge_context *context = judge->context;
    uint64_t done = result->rows.acknowledged;
    if (context->has_script) {
        done = context->has_group_rates ? context->rated_done : transactions_done(judge->counters);
    }
    if (context->arrivals_per_s > 0 && result->stop_reason == STOP_COMPLETED &&
        result->append_ns >= SHORTEST_NS) {
        /* the run had a given number of batches with random arrivals, so the rate was reached if
         * the run did not take longer than the time in which the batches were due */
        return 100 * MIN((double)result->last_due_ns / (double)result->append_ns, 1);
    }
    if (context->rate_rows_per_s > 0 && rated_ns(judge) >= SHORTEST_NS) {
        return 100 * (double)done / ((double)rated_ns(judge) / 1e9) / context->rate_rows_per_s;
    }
    return -1;
}

/* Rule: other programs used so much of the CPUs of the machine of rank `number` that they disturbed
 * the run. */
static void judge_others(struct judge *judge, size_t number)
{
    const struct client_machine machine = machine_of(judge, number);
    const struct cpu_shares *mean = &machine.mean;
    const bool has_name = machine.name != NULL;
    char server[32] = "";
    if (machine.has_server && mean->server >= 0) {
        snprintf(server, sizeof server, "server %.0f %%, ", mean->server);
    }
    DEGRADED_IF(judge, mean->client >= 0 && is_disturbed(&machine),
                "all CPUs of %s%.60s were busy: %sother programs %.0f %%, append %.0f %%",
                has_name ? "machine " : "this machine", has_name ? machine.name : "", server,
                cpu_others(mean, machine.has_server), mean->client);
}

/* Rules about reads, the rate, and changes on the server or the machine. */
static void judge_measurement(struct judge *judge)
{
    const struct result *result = judge->result;
    const struct judge_context *context = judge->context;
    const uint64_t behind = judge->counters[RECORDER_FRESH_BEHIND];
    const uint64_t backward = judge->counters[RECORDER_FRESH_BACKWARD];
    const uint64_t failed = judge->counters[RECORDER_READS_FAILED];
    DEGRADED_IF(judge, behind + backward > 0,
                "reads did not show acknowledged rows: %s missed rows, %s had fewer rows than an "
                "earlier count",
                COUNTED(behind, "count", "counts"), UNITS_COUNT(backward));
    FAIL_IF(judge, failed > 0, EXIT_CODE_SHORT,
            WHY(find_error(&result->causes, CAUSE_READ, STATUS_OK)->text, 200), "%s failed",
            COUNTED(failed, "read", "reads"));
    /* the number of random arrivals has the square root of its mean as standard deviation; three
     * standard deviations are allowed */
    const double arrivals = result->stop_reason == STOP_COMPLETED
                                ? 0
                                : context->arrivals_per_s * (double)rated_ns(judge) / 1e9;
    const double chance = arrivals > 0 ? 3 * 100 / sqrt(arrivals) : 0;
    DEGRADED_IF(judge,
                result->rate_achieved_percent >= 0 &&
                    result->rate_achieved_percent < RATE_PERCENT - chance,
                "only %.0f %% of the requested rate was reached", result->rate_achieved_percent);
    char change[RESULT_CHANGE_BYTES];
    DEGRADED_IF(judge, result_describe_change(result, change)[0] != '\0', "%s", change);
    for (size_t i = 0; result->append_ns >= SHORTEST_NS && i < machine_count(result); i++) {
        judge_others(judge, i);
    }
}

/* Rules: the run has no defect. */
static void judge_valid(struct judge *judge)
{
    const uint64_t rolled_back = judge->counters[RECORDER_TRANSACTIONS_ROLLED_BACK];
    const uint64_t unfinished = judge->counters[RECORDER_TRANSACTIONS_UNFINISHED];
    char running[TEXT_BYTES] = "";
    if (unfinished > 0) {
        snprintf(running, sizeof running, "; %s still running at the end of the run",
                 COUNTED(unfinished, "was", "were"));
    }
    VALID_IF(judge, judge->context->has_script, "every %stransaction was committed%s%s",
             unfinished > 0 ? "finished " : "", rolled_back > 0 ? " or rolled back on purpose" : "",
             running);
    VALID_IF(judge, true, "%s",
             judge->result->verification.state == VERIFICATION_DONE
                 ? "every row was acknowledged, and the table grew by the same number"
                 : "every session finished, every row was acknowledged");
}

/* All rules for a run, in their order. */
static void judge_run(struct judge *judge)
{
    const struct result *result = judge->result;
    const bool has_script = judge->context->has_script;
    const struct session_ledger *s = &result->sessions;
    const struct row_ledger *r = &result->rows;
    judge_end(judge);
    judge_client(judge);
    judge_sessions(judge);
    judge_too_few(judge);
    judge_refusals(judge);
    if (has_script) {
        judge_transactions(judge);
    }
    if (r->acknowledged < r->planned ||
        (!has_script && (s->finished < s->requested || r->acknowledged == 0))) {
        judge_missing(judge);
    }
    judge_script(judge);
    judge_rows(judge);
    judge_measurement(judge);
    judge_valid(judge);
    EXIT_IF(judge, result->verdict == VERDICT_INVALID, EXIT_CODE_INVALID, "", "INVALID: %.200s",
            result->verdict_reason);
}

void result_judge(struct result *result, const struct judge_context *context)
{
    const size_t steered = result_count_steered(result);
    struct judge judge;
    judge_begin(&judge, result, context);
    result->rate_achieved_percent = rate_percent(&judge);
    judge_run(&judge);
    result_set_exit(result);
    char traced[TEXT_BYTES] = "", changed[TEXT_BYTES] = "";
    if (context->traced != NULL) {
        snprintf(traced, sizeof traced, "; I/O was traced (%s)", context->traced);
    }
    if (steered > 0) {
        snprintf(changed, sizeof changed, "; steered: %s", COUNTED(steered, "change", "changes"));
    }
    const size_t used = strlen(result->verdict_reason);
    snprintf(result->verdict_reason + used, sizeof result->verdict_reason - used, "%s%s", traced,
             changed);
}

/* Sets *held to the number of levels that held. Returns the number of these levels at which other
 * programs used most of the CPUs. If a rank runs on the server's machine, level->cpu has the CPU
 * shares of that machine. */
static unsigned count_disturbed(const struct search *search, bool is_local, unsigned *held)
{
    unsigned disturbed = 0;
    *held = 0;
    for (size_t i = 0; i < search->count; i++) {
        const struct level *level = &search->levels[i];
        const struct client_machine machine = {.mean = level->cpu,
                                               .has_server = is_local || level->cpu.server >= 0};
        const bool is_held = level->outcome == LEVEL_HELD;
        *held += is_held;
        disturbed += is_held && is_disturbed(&machine);
    }
    return disturbed;
}

/* Rules: no level of the search held. */
static void judge_no_level(struct judge *judge, const struct search *search)
{
    const struct level *failure = search->failed > 0 ? &search->levels[search->failure] : NULL;
    const struct cause *cause = failure == NULL ? NULL : level_main_cause(failure);
    const bool is_own = judge->limit != NULL
                            ? judge->limit->side == LIMIT_CLIENT
                            : failure != NULL && failure->reason == LEVEL_NO_THREAD;
    FAIL_IF(judge, search->held == 0 && failure == NULL,
            search->end == SEARCH_MEMORY ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SHORT, "",
            "no level was held: the search was stopped %s", search_end_texts[search->end]);
    FAIL_IF(judge, search->held == 0, is_own ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SERVER, "",
            "not even %s: %.180s",
            COUNTED(search->failed, "session was held", "sessions were held"),
            format_limit(judge->limit,
                         cause != NULL ? cause->error.text : "no session could append", TEXT));
}

/* All rules for a search, in their order. */
static void judge_search(struct judge *judge, const struct search *search)
{
    const struct result *result = judge->result;
    const struct verification *v = &result->verification;
    const enum exit_code end_code = search->end == SEARCH_GONE ? EXIT_CODE_SERVER : EXIT_CODE_SHORT;
    const char *broken = describe_broken(result, TEXT);
    const char *still = describe_standstill(result, TEXT);
    const char *uncounted = v->state == VERIFICATION_FAILED ? v->reason : judge->uncounted;
    const char *held = COUNTED(search->held, "session was held", "sessions were held");
    const char *failed = UNITS_COUNT(search->failed);
    unsigned held_levels;
    const unsigned disturbed = count_disturbed(search, judge->context->is_local, &held_levels);
    judge_ledgers(judge);
    FAIL_IF(judge, search->end == SEARCH_INTERRUPTED || judge->context->was_interrupted,
            EXIT_CODE_INTERRUPTED, "", "interrupted: at least %s", held);
    EXIT_IF(judge, broken[0] != '\0', EXIT_CODE_SHORT, "", "%s", broken);
    FAIL_IF(judge, search->end == SEARCH_SCRIPT, judge->script_code, "", "%s", judge->script_error);
    for (size_t i = 0; i < result->rank_count; i++) {
        FAIL_IF(judge, !result->ranks[i].is_known, EXIT_CODE_SHORT, "",
                "rank %zu on machine %.60s was lost; %s before that", i, result->ranks[i].machine,
                held);
    }
    judge_lost(judge, v->is_shrunk);
    judge_committed(judge);
    DEGRADED_IF(judge, broken[0] != '\0', "%s", broken);
    rule(judge, still[0] != '\0', VERDICT_INVALID, EXIT_CODE_INVALID, "", "%s", still);
    judge_no_level(judge, search);
    FAIL_IF(judge, uncounted != NULL, end_code, "",
            "the rows were not counted after the search: %.150s",
            uncounted == NULL ? "" : uncounted);
    FAIL_IF(judge, v->is_shrunk, EXIT_CODE_SHORT, "",
            "the table has fewer rows than before the search: another client deleted rows");
    judge_script(judge);
    FAIL_IF(judge, search->end == SEARCH_GONE, end_code, "", "%s, then the server was gone", held);
    FAIL_IF(judge, search->end == SEARCH_STUCK, end_code, "",
            "%s, then some sessions did not disconnect", held);
    DEGRADED_IF(judge, disturbed > 0,
                "%s, but other programs used most of %s CPUs at %u of %u levels: rows/s and the "
                "knee do not describe the server",
                held, result->rank_count > 0 ? "a machine's" : "this machine's", disturbed,
                held_levels);
    VALID_IF(judge, search->end == SEARCH_FOUND, "%s; %s were not held", held, failed);
    VALID_IF(judge, search->failed > 0,
             "%s; %s were not held; the levels in between were not tried", held, failed);
    VALID_IF(judge, true, "%s, and no level failed: more may be possible", held);
}

void search_judge(const struct search *search, struct result *result,
                  const struct judge_context *context)
{
    struct judge judge;
    judge_begin(&judge, result, context);
    judge_search(&judge, search);
    result_set_exit(result);
}
