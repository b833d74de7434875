/*
 * Decides whether a result can be trusted, and the exit code.
 *
 * INVALID: the figures do not describe the server, because append stood still for a time (see
 * sampler.h) or was the bottleneck. append was the bottleneck when
 *   - the server is on another machine, and append kept this machine's CPUs over BUSY_PERCENT busy;
 *   - the server is on this machine, the CPUs were over BUSY_PERCENT busy, and append used more CPU
 *     time than the server and more than all other programs;
 *   - the server is on this machine but its CPU time is unknown, the CPUs were over BUSY_PERCENT
 *     busy, and append used more than half of the busy time;
 *   - session threads waited for a CPU for over half of their time, and something keeps only append
 *     from the CPUs (affinity, the quota of a cgroup, niceness);
 *   - session threads waited for a CPU for over half of their time, the CPUs were not all busy, and
 *     the server used less than half of the CPUs.
 * With several ranks, these rules apply to each machine's CPUs. A run is also INVALID when a rank
 * is INVALID, or when a rank's clock moved by over CLOCK_MOVED_NS against the clock of rank 0.
 *
 * The rules about the bottleneck do not apply to an embedded database, nor to runs shorter than
 * SHORTEST_NS, which have too few readings.
 *
 * DEGRADED: sessions or rows are missing, nothing was acknowledged, connections were lost, the
 * server was read-only for a time, rows were not verified, a count did not show acknowledged rows,
 * the requested rate was not reached, a setting of the server or an index of the table changed,
 * another writer was active in the table, files of the run are incomplete or missing, or this
 * machine's CPUs were busy and other programs either used most of the CPU time, or used more than
 * append and kept sessions waiting for a CPU.
 *
 * With a script, transactions take the place of rows. A run is then also DEGRADED when
 * transactions failed or are in doubt, a check failed, its tables have too few or too many rows, an
 * invariant is broken or was not checked, or the script's own code took over SCRIPT_PERCENT of the
 * transactions' time; over half of that time makes the run INVALID. Transactions still running at
 * the end of the run do not count as failed.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "base/text.h"
#include "measure/levels.h"
#include "measure/result.h"

#define BUSY_PERCENT 90.0
#define STARVED_SHARE 0.5
#define RATE_PERCENT 95.0
#define SCRIPT_PERCENT 10.0
#define SHORTEST_NS INT64_C(1000000000)
#define CLOCK_MOVED_NS INT64_C(100000000)

/*
 * The weights of the reasons for an exit code, heaviest first. The heaviest reason that holds
 * decides the exit code; among reasons of the same weight, the first that is given.
 */
enum weight {
    WEIGHT_INTERRUPTED, /* the user ended the run */
    WEIGHT_DEFECT,      /* a defect of append */
    WEIGHT_SCRIPT,      /* the script has an error */
    WEIGHT_LOST,        /* acknowledged rows are lost */
    WEIGHT_TOO_FEW,     /* fewer sessions than --min-sessions requires */
    WEIGHT_LIMIT,       /* a limit kept sessions from starting */
    WEIGHT_CONDITION,   /* --stop-when ended the run */
    WEIGHT_INCOMPLETE,  /* transactions failed or are in doubt, or connections were cut */
    WEIGHT_SHORT,       /* sessions, transactions or rows are missing */
    WEIGHT_UNVERIFIED,  /* the contents of the table are unknown */
    WEIGHT_FOREIGN,     /* rows of other clients are missing */
    WEIGHT_READS,       /* reads failed */
    WEIGHT_INVALID,     /* the figures do not describe the server */
    WEIGHT_NONE,
};

/*
 * The state of a judgement. judge_run, or search_judge for a search, gives the reasons one after
 * the other. The first reason that holds decides the verdict; the heaviest reason that holds
 * decides the exit code.
 */
struct judge {
    struct result *result;
    const struct judge_context *context; /* facts for the judgement; NULL for a search */
    enum weight weight;                  /* weight of the reason that decides the exit code so
                                            far */
};

static struct judge judge_begin(struct result *result, const struct judge_context *context)
{
    memset(result->problems, 0, sizeof result->problems);
    result->verdict_reason[0] = '\0';
    return (struct judge){result, context, WEIGHT_NONE};
}

/* Gives a reason for the verdict only. */
__attribute__((format(printf, 4, 5))) static void
verdict_if(struct judge *judge, bool holds, enum verdict verdict, const char *format, ...)
{
    struct result *result = judge->result;
    va_list arguments;
    va_start(arguments, format);
    if (holds && result->verdict_reason[0] == '\0') {
        vsnprintf(result->verdict_reason, sizeof result->verdict_reason, format, arguments);
        result->verdict = verdict;
    }
    va_end(arguments);
}

#define DEGRADED_IF(judge, holds, ...) verdict_if((judge), (holds), VERDICT_DEGRADED, __VA_ARGS__)

/* Gives a reason for the exit code only. */
__attribute__((format(printf, 5, 6))) static void exit_if(struct judge *judge, bool holds,
                                                          enum weight weight, enum exit_code code,
                                                          const char *format, ...)
{
    struct problem *problem = &judge->result->problems[PROBLEM_RUN];
    va_list arguments;
    va_start(arguments, format);
    if (holds && weight < judge->weight) {
        vsnprintf(problem->text, sizeof problem->text, format, arguments);
        problem->code = code;
        judge->weight = weight;
    }
    va_end(arguments);
}

/* Returns the separator before the reason `why`, "" when `why` is empty. */
static const char *colon(const char *why)
{
    return why[0] == '\0' ? "" : ": ";
}

/* Gives a reason for the verdict and the exit code. The exit line appends `why` unless it is "". */
__attribute__((format(printf, 6, 7))) static void end_if(struct judge *judge, bool holds,
                                                         enum weight weight, enum exit_code code,
                                                         const char *why, const char *format, ...)
{
    char text[sizeof judge->result->verdict_reason];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    enum verdict verdict = VERDICT_DEGRADED;
    if (code == EXIT_CODE_OK) {
        verdict = VERDICT_VALID;
    } else if (code == EXIT_CODE_INVALID) {
        verdict = VERDICT_INVALID;
    }
    verdict_if(judge, holds, verdict, "%s", text);
    exit_if(judge, holds, weight, code, "%s%s%.200s", text, colon(why), why);
}

/* Formats a percentage into an array that lives until the end of the enclosing block. */
static const char *format_percent(double percent, char text[16])
{
    snprintf(text, 16, "%.0f", percent);
    return text;
}
#define PERCENT(percent) format_percent((percent), (char[16]){""})

enum {
    WHO_BYTES = 100,
    STILL_BYTES = 112 + WHO_BYTES,
    CUT_BYTES = 120,
    LOSS_BYTES = 160,
    UNSENT_BYTES = UNITS_TEXT_BYTES + 24,
    LIMIT_BYTES = sizeof(struct finding)
};

/* Returns whether append itself did not run for a time, which makes the run INVALID; `text` says
 * for how long and, with several ranks, where. */
static bool has_stood_still(const struct result *result, char text[STILL_BYTES])
{
    const int64_t still_ns = result->resources.suspended_ns;
    char who[WHO_BYTES] = "";
    for (size_t i = 0; i < result->rank_count; i++) {
        const struct rank_result *rank = &result->ranks[i];
        if (rank->is_known && rank->resources.suspended_ns == still_ns) {
            snprintf(who, sizeof who, "machine %.60s, rank %zu: ", rank->machine, i);
        }
    }
    snprintf(
        text, STILL_BYTES,
        "%sappend itself stood still for %.1f s: the process was stopped, or the machine slept "
        "or was paused",
        who, (double)still_ns / 1e9);
    return still_ns > 0;
}

/* Describes the sessions that still waited for an answer when the run ended. */
static const char *describe_cut(const struct result *result, char text[CUT_BYTES])
{
    snprintf(text, CUT_BYTES,
             "%s of %s sessions had no answer when the run ended, and their connections were cut",
             UNITS_COUNT(result->sessions_cut), UNITS_COUNT(result->sessions.requested));
    return text;
}

/* Describes the acknowledged rows that are lost, as far as is known; "" when no row is lost. */
static const char *describe_loss(const struct result *result, char text[LOSS_BYTES])
{
    char lost[RESULT_LOST_BYTES];
    text[0] = '\0';
    if (!result->verification.is_shrunk || result_is_read_back(result)) {
        if (result_lost_at_most(result) > 0) {
            snprintf(text, LOSS_BYTES, "%s acknowledged %s lost",
                     result_describe_lost(result, lost),
                     units_plural(result_lost_at_most(result), "row is", "rows are"));
        }
    } else if (result->verification.lost > 0) {
        /* the rows that are left may belong to another writer, so more may be lost */
        snprintf(text, LOSS_BYTES,
                 "at least %s acknowledged %s lost, and the table has fewer rows than before "
                 "the run: another client deleted rows",
                 UNITS_COUNT(result->verification.lost),
                 units_plural(result->verification.lost, "row is", "rows are"));
    } else {
        snprintf(text, LOSS_BYTES,
                 "the table has fewer rows than before the run: another client deleted rows, and "
                 "this run's rows cannot be verified");
    }
    return text;
}

/* Returns whether all rows of this run are present and the table still has too few rows. */
static bool has_foreign_loss(const struct result *result)
{
    return result_is_read_back(result) && result_lost_at_most(result) == 0 &&
           result->verification.lost_at_most > 0;
}

/* Sums up the verification of all tables that a script uses. *failure: why the first uncounted
 * table was not counted; NULL when all were counted. */
static void sum_tables(const struct result *result, uint64_t *lost, uint64_t *surplus,
                       const char **failure)
{
    *lost = *surplus = 0;
    *failure = NULL;
    for (size_t i = 0; i < result->dataset_count; i++) {
        const struct verification *table = &result->datasets[i];
        if (table->state == VERIFICATION_DONE) {
            *lost += table->lost;
            *surplus += table->surplus;
        } else if (table->state == VERIFICATION_FAILED && *failure == NULL) {
            *failure = table->reason;
        }
    }
}

/* Returns whether the ledgers of transactions and statements balance, in total and by name. */
static bool script_balances(const struct result *result)
{
    const struct recorder_snapshot *totals = &result->totals;
    bool balances = transactions_balance(totals->counters) && transactions_balance(totals->warm_up);
    uint64_t sums[OPERATION_COUNTS] = {0};
    for (size_t i = OPERATIONS; i < totals->operations; i++) {
        balances &= operation_counts_balance(totals->counts[i]);
        for (size_t count = COUNTS_OF_TRANSACTIONS; count < OPERATION_COUNTS; count++) {
            sums[count] += totals->counts[i][count];
        }
    }
    for (size_t i = 0; i < result->rank_count; i++) { /* a lost rank has no counts by name */
        const struct rank_result *rank = &result->ranks[i];
        for (size_t count = COUNTS_OF_TRANSACTIONS; count < OPERATION_COUNTS; count++) {
            sums[count] += rank->is_known ? 0 : rank->counters[operation_count_sums[count]];
        }
    }
    for (size_t count = COUNTS_OF_TRANSACTIONS; count < OPERATION_COUNTS; count++) {
        balances &= sums[count] == totals->counters[operation_count_sums[count]];
    }
    return balances;
}

static double script_percent(const struct result *result)
{
    const uint64_t *counters = result->totals.counters;
    const double tried_ns = (double)counters[RECORDER_TRY_NS];
    return tried_ns > 0 ? 100 * (double)counters[RECORDER_SCRIPT_NS] / tried_ns : 0;
}

/* Returns the transactions that ended as the script intended. */
static uint64_t transactions_done(const uint64_t counters[RECORDER_COUNTERS])
{
    return counters[RECORDER_TRANSACTIONS_COMMITTED] + counters[RECORDER_TRANSACTIONS_ROLLED_BACK];
}

/* Returns the text of the most frequent cause of a phase; "" when the phase has no cause. */
static const char *main_cause(const struct causes *causes, enum cause_phase phase)
{
    const struct cause *const most = causes_most_frequent(causes, phase);
    return most == NULL ? "" : most->error.text;
}

/* Returns the error in the script that ended the run, or the lack of memory for the script; NULL if
 * the list of causes was full. */
static const struct error *script_error(const struct causes *causes)
{
    for (size_t i = 0; i < causes->count; i++) {
        const struct cause *cause = &causes->entries[i];
        if (cause->phase == CAUSE_SCRIPT && cause->status == STATUS_FATAL) {
            return &cause->error;
        }
    }
    return NULL;
}

static const char *script_error_text(const struct error *error)
{
    return error == NULL ? "the script has an error" : error->text;
}

static enum exit_code script_error_code(const struct error *error)
{
    return error != NULL && error->kind == ERROR_MEMORY ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_USAGE;
}

/* Returns why connected sessions or their rows were lost; "" when that is unknown. */
static const char *main_loss(const struct causes *causes)
{
    static const enum cause_phase phases[] = {CAUSE_STATEMENT, CAUSE_APPEND, CAUSE_READ,
                                              CAUSE_RECONNECT, CAUSE_IDLE};
    const char *why = "";
    for (size_t i = 0; i < sizeof phases / sizeof phases[0] && why[0] == '\0'; i++) {
        why = main_cause(causes, phases[i]);
    }
    for (size_t i = 0; i < causes->count && why[0] == '\0'; i++) {
        /* looks for a mistake in the script, not a failed check */
        const struct cause *cause = &causes->entries[i];
        why =
            cause->phase == CAUSE_SCRIPT && cause->status == STATUS_FATAL ? cause->error.text : why;
    }
    return why;
}

/* Returns why sessions were refused or timed out; "" when that is unknown. A session whose
 * on_session failed after the connect also counts as refused. */
static const char *main_refusal(const struct causes *causes)
{
    const char *why = main_cause(causes, CAUSE_CONNECT);
    return why[0] != '\0' ? why : main_loss(causes);
}

/* Describes a limit and its evidence; returns `otherwise` when `finding` is NULL. */
static const char *describe_limit(const struct finding *finding, char text[LIMIT_BYTES],
                                  const char *otherwise)
{
    if (finding == NULL) {
        return otherwise;
    }
    snprintf(text, LIMIT_BYTES, "%s (%s): %s", finding->name, limit_side_names[finding->side],
             finding->evidence);
    return text;
}

/* Returns the limit that cost the most sessions; NULL when no limit was found. */
static const struct finding *first_finding(const struct result *result)
{
    return result->findings.count > 0 ? &result->findings.entries[0] : NULL;
}

/* Returns why sessions or rows were lost: the first limit when sessions are missing, else the main
 * cause. */
static const char *loss_reason(const struct result *result, char text[LIMIT_BYTES])
{
    const char *why = main_loss(&result->causes);
    return result->sessions.dropped + result->sessions.stopped > 0
               ? describe_limit(first_finding(result), text, why)
               : why;
}

/* Gives the reasons when rows could not be counted or read back. `reason` is NULL when they were
 * counted or read back. */
static void judge_unverified(struct judge *judge, const char *reason, const char *what,
                             const char *when)
{
    const bool was_interrupted = judge->context->was_interrupted;
    const char *why = reason == NULL ? "" : reason;
    DEGRADED_IF(judge, reason != NULL, "the rows were not %s%s: %.150s", what, when, why);
    exit_if(judge, reason != NULL && was_interrupted, WEIGHT_UNVERIFIED, EXIT_CODE_INTERRUPTED,
            "interrupted while the rows were being %s", what);
    exit_if(judge, reason != NULL, WEIGHT_UNVERIFIED, EXIT_CODE_SHORT,
            "the rows were not %s%s: %.200s", what, when, why);
}

/* A machine that runs append, in one process or several. */
struct client_machine {
    const char *name;  /* name of the machine; NULL without ranks */
    const char *bound; /* see resource_summary.client_bound */
    struct cpu_shares mean;
    bool has_server;
    double time_ns, run_queue_ns; /* times of the session threads */
};

/* Returns the share of the session threads' time in which they waited for a CPU. */
static double starved_share(const struct client_machine *machine)
{
    return machine->time_ns > 0 ? machine->run_queue_ns / machine->time_ns : 0;
}

/* Gives the reasons when this machine was the bottleneck. */
static void judge_machine(struct judge *judge, const struct client_machine *machine)
{
    const double host = machine->mean.host, client = machine->mean.client;
    const double others = cpu_others(&machine->mean, machine->has_server);
    const double server = host - client - others;
    const double starved = starved_share(machine);
    const bool is_local = machine->has_server, is_known = client >= 0 && others >= 0;
    const bool is_starved = is_known && starved > STARVED_SHARE;
    const bool is_bound = machine->bound != NULL && machine->bound[0] != '\0';
    char place[80] = "";
    if (machine->name != NULL) {
        snprintf(place, sizeof place, "machine %.60s is ", machine->name);
    }
    verdict_if(judge, is_known && !is_local && client >= BUSY_PERCENT, VERDICT_INVALID,
               "%sclient-bound: append itself used %.0f %% of this machine's CPUs", place, client);
    verdict_if(
        judge, is_known && is_local && host >= BUSY_PERCENT && client > server && client > others,
        VERDICT_INVALID, "%sclient-bound: append used %.0f %% of the CPUs, the server only %.0f %%",
        place, client, server);
    verdict_if(judge, is_starved && is_bound, VERDICT_INVALID,
               "%sclient-bound: sessions waited for a CPU of this machine %.0f %% of their time, "
               "and %s",
               place, 100 * starved, is_bound ? machine->bound : "");
    verdict_if(judge, is_starved && host < BUSY_PERCENT && !(is_local && server >= 50),
               VERDICT_INVALID,
               "%sclient-bound: sessions waited for a CPU of this machine %.0f %% of their time",
               place, 100 * starved);
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

/* Adds up the ranks that run on the same machine as rank `first`. */
static struct client_machine join_machine(const struct result *result, size_t first)
{
    struct client_machine all = {.name = result->ranks[first].machine, .mean = {-1, -1, -1}};
    for (size_t i = first; i < result->rank_count; i++) {
        const struct rank_result *rank = &result->ranks[i];
        const struct cpu_shares *mean = &rank->resources.mean_cpu;
        if (!rank->is_known || strcmp(rank->machine, all.name) != 0) {
            continue;
        }
        all.mean.host = MAX(all.mean.host, mean->host);
        all.mean.server = MAX(all.mean.server, mean->server);
        all.mean.client = MAX(all.mean.client, 0) + MAX(mean->client, 0);
        all.has_server = all.has_server || rank->resources.server_pid != 0;
        all.time_ns += (double)rank->counters[RECORDER_SESSION_NS];
        all.run_queue_ns += (double)rank->counters[RECORDER_RUN_QUEUE_NS];
    }
    return all;
}

/* Judges the machines and clocks of all ranks; one bad machine makes the whole run INVALID. */
static void judge_ranks(struct judge *judge, bool is_long)
{
    struct result *result = judge->result;
    for (size_t i = 0; i < result->rank_count; i++) {
        const struct rank_result *rank = &result->ranks[i];
        const int64_t moved_ns =
            rank->clock_drift_ns < 0 ? -rank->clock_drift_ns : rank->clock_drift_ns;
        bool is_first = true;
        for (size_t k = 0; k < i; k++) {
            is_first = is_first && strcmp(result->ranks[k].machine, rank->machine) != 0;
        }
        if (is_first && is_long) {
            const struct client_machine machine = join_machine(result, i);
            judge_machine(judge, &machine);
        }
        result_add_problem(
            result, PROBLEM_RANK, rank->is_known ? EXIT_CODE_OK : EXIT_CODE_SHORT,
            "rank %zu on machine %.60s was lost%s: the figures include what its sessions did up "
            "to its last report; its intervals.csv is in %.150s.rank%zu",
            i, rank->machine, judge->context->was_signalled ? " after a signal" : "",
            judge->context->out_folder, i);
        verdict_if(judge, rank->is_known && rank->verdict == VERDICT_INVALID, VERDICT_INVALID,
                   "machine %.60s, rank %zu: %.150s", rank->machine, i, rank->verdict_reason);
        verdict_if(judge, moved_ns > rank->clock_drift_error_ns + CLOCK_MOVED_NS, VERDICT_INVALID,
                   "the clock of machine %.60s, rank %zu, moved by %s against the clock of rank 0: "
                   "its intervals do not match those of the other ranks",
                   rank->machine, i, UNITS_NS(moved_ns));
    }
}

static void judge_ledgers(struct judge *judge)
{
    const struct result *result = judge->result;
    const bool has_script = judge->context != NULL && judge->context->has_script;
    end_if(judge,
           !session_ledger_balances(&result->sessions) || !row_ledger_balances(&result->rows) ||
               (has_script && !script_balances(result)),
           WEIGHT_DEFECT, EXIT_CODE_INTERNAL, "",
           "a ledger does not balance: this is a defect of append, please report it");
}

/* Gives the reasons when fewer sessions were up than --min-sessions requires. If the gate never
 * opened, the exit line says why sessions did not start or connect, if such a cause was recorded.
 * Otherwise it says why sessions were lost. */
static void judge_too_few(struct judge *judge)
{
    const struct result *result = judge->result;
    const struct session_ledger *s = &result->sessions;
    const bool is_too_few = result->stop_reason == STOP_TOO_FEW;
    const bool has_worked = result->append_ns > 0;
    const char *thread = main_cause(&result->causes, CAUSE_THREAD);
    enum exit_code code = EXIT_CODE_SHORT;
    const char *why = main_loss(&result->causes);
    if (!has_worked && thread[0] != '\0') {
        code = EXIT_CODE_CLIENT_LIMIT;
        why = thread;
    } else if (!has_worked && s->refused + s->timed_out > 0) {
        code = EXIT_CODE_SERVER;
        why = main_refusal(&result->causes);
    }
    DEGRADED_IF(judge, is_too_few, "only %s of %s sessions were up, but --min-sessions requires %s",
                UNITS_COUNT(result->sessions_up), UNITS_COUNT(s->requested),
                UNITS_COUNT(result->least_sessions));
    exit_if(judge, is_too_few, WEIGHT_TOO_FEW, code,
            "%s%s of %s sessions %s up, but --min-sessions requires %s%s%.150s",
            has_worked ? "stopped: only " : "not started: only ", UNITS_COUNT(result->sessions_up),
            UNITS_COUNT(s->requested), result->sessions_up == 1 ? "was" : "were",
            UNITS_COUNT(result->least_sessions), colon(why), why);
}

/* Gives the reasons when the run ended early. */
static void judge_end(struct judge *judge, const char *loss)
{
    const struct result *result = judge->result;
    const struct judge_context *context = judge->context;
    const bool is_interrupted = result->stop_reason == STOP_INTERRUPTED;
    const uint64_t committed = result->totals.counters[RECORDER_TRANSACTIONS_COMMITTED];
    DEGRADED_IF(judge, is_interrupted, "the run was interrupted");
    exit_if(judge, is_interrupted && context->has_script, WEIGHT_INTERRUPTED, EXIT_CODE_INTERRUPTED,
            "interrupted: %s %s committed", UNITS_COUNT(committed),
            units_plural(committed, "transaction was", "transactions were"));
    exit_if(judge, is_interrupted, WEIGHT_INTERRUPTED, EXIT_CODE_INTERRUPTED,
            "interrupted: %s of %s rows acknowledged", UNITS_COUNT(result->rows.acknowledged),
            UNITS_COUNT(result->rows.planned));
    judge_ledgers(judge);
    judge_too_few(judge);
    end_if(judge, loss[0] != '\0', WEIGHT_LOST, EXIT_CODE_SHORT, "", "%s", loss);
    DEGRADED_IF(judge, result->stop_reason == STOP_RANK, "a rank was lost");
    DEGRADED_IF(judge, context->untraced > 0,
                "the server counted %s writes and syncs, but none was traced: --server-pid, "
                "--server-cgroup or --container must name the server's process",
                UNITS_COUNT(context->untraced));
}

/* Gives the reasons when the client was the bottleneck or stood still. */
static void judge_client(struct judge *judge, const struct client_machine *machine)
{
    const struct result *result = judge->result;
    const bool is_long = !judge->context->is_embedded && result->append_ns >= SHORTEST_NS;
    char text[STILL_BYTES];
    judge_ranks(judge, is_long);
    verdict_if(judge, has_stood_still(result, text), VERDICT_INVALID, "%s", text);
    if (is_long && result->rank_count == 0) {
        judge_machine(judge, machine);
    }
}

/* Gives the reasons when sessions did not start, were refused or did not finish. `why`: see
 * loss_reason. */
static void judge_sessions(struct judge *judge, const char *why)
{
    const struct result *result = judge->result;
    const bool has_script = judge->context->has_script;
    const struct session_ledger *s = &result->sessions;
    const char *thread = main_cause(&result->causes, CAUSE_THREAD);
    const struct finding *first = first_finding(result);
    const struct finding *own = NULL; /* the first limit of this machine */
    for (size_t i = 0; own == NULL && i < result->findings.count; i++) {
        const struct finding *entry = &result->findings.entries[i];
        own = entry->side == LIMIT_CLIENT ? entry : NULL;
    }
    const bool has_no_thread = s->not_started > 0 && thread[0] != '\0';
    /* the most frequent cause is a session with a thread, but without memory for its script */
    const bool has_no_memory =
        has_no_thread &&
        causes_most_frequent(&result->causes, CAUSE_THREAD)->error.kind == ERROR_MEMORY;
    char cut[CUT_BYTES], limit[LIMIT_BYTES], refused[LIMIT_BYTES];
    const char *refusal = describe_limit(first, refused, main_refusal(&result->causes));
    describe_cut(result, cut);
    exit_if(judge, has_no_memory, WEIGHT_LIMIT, EXIT_CODE_CLIENT_LIMIT, "%s", thread);
    exit_if(judge, has_no_thread && own == NULL, WEIGHT_LIMIT, EXIT_CODE_CLIENT_LIMIT, "%s",
            thread);
    exit_if(judge, has_no_thread, WEIGHT_LIMIT, EXIT_CODE_CLIENT_LIMIT,
            "no thread for %s of %s sessions: %.230s", UNITS_COUNT(s->not_started),
            UNITS_COUNT(s->requested), describe_limit(own, limit, ""));
    exit_if(judge, s->refused + s->timed_out > 0, WEIGHT_LIMIT,
            own != NULL && own == first ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SERVER,
            "%s of %s sessions were refused, %s timed out%s%.230s", UNITS_COUNT(s->refused),
            UNITS_COUNT(s->requested), UNITS_COUNT(s->timed_out), colon(refusal), refusal);
    DEGRADED_IF(judge, result->sessions_cut > 0, "%s", cut);
    DEGRADED_IF(judge, s->finished < s->requested, "only %s of %s sessions finished",
                UNITS_COUNT(s->finished), UNITS_COUNT(s->requested));
    if (has_script) {
        const char *loss = main_loss(&result->causes);
        exit_if(judge, result->sessions_cut > 0 && s->dropped == 0, WEIGHT_INCOMPLETE,
                EXIT_CODE_SHORT, "%s%s%.150s", cut, colon(loss), loss);
        exit_if(judge, s->finished < s->requested, WEIGHT_SHORT, EXIT_CODE_SHORT,
                "only %s of %s sessions finished, %s dropped%s%.150s", UNITS_COUNT(s->finished),
                UNITS_COUNT(s->requested), UNITS_COUNT(s->dropped), colon(why), why);
    }
}

/* Gives the reason when a claim of the script about its tables is broken. */
static void judge_broken(struct judge *judge)
{
    const struct result *result = judge->result;
    const struct invariant_result *first = NULL;
    uint64_t count = 0;
    for (size_t i = 0; i < result->invariant_count; i++) {
        const bool is_broken = result->invariants[i].rows > 0;
        first = is_broken && count == 0 ? &result->invariants[i] : first;
        count += is_broken;
    }
    if (first != NULL) {
        end_if(judge, true, WEIGHT_LOST, EXIT_CODE_SHORT, "",
               "%s of %s invariants %s broken: %.120s (%s %s)", UNITS_COUNT(count),
               UNITS_COUNT(result->invariant_count), units_plural(count, "is", "are"), first->claim,
               UNITS_COUNT(first->rows), units_plural(first->rows, "row", "rows"));
    }
}

/* Gives the reasons when a claim of the script about its tables could not be checked. */
static void judge_unchecked(struct judge *judge, enum weight weight)
{
    const struct result *result = judge->result;
    const bool was_interrupted = judge->context != NULL && judge->context->was_interrupted;
    const char *why = result->lacks_invariants ? "out of memory" : "";
    uint64_t count = result->lacks_invariants ? 1 : 0;
    for (size_t i = 0; i < result->invariant_count; i++) {
        const bool is_unchecked = result->invariants[i].state == VERIFICATION_FAILED;
        why = is_unchecked && count == 0 ? result->invariants[i].reason : why;
        count += is_unchecked;
    }
    DEGRADED_IF(judge, count > 0, "%s of %s invariants could not be checked: %.150s",
                UNITS_COUNT(count), UNITS_COUNT(result->invariant_count), why);
    exit_if(judge, count > 0, weight, was_interrupted ? EXIT_CODE_INTERRUPTED : EXIT_CODE_SHORT,
            "%s of %s invariants could not be checked: %.200s", UNITS_COUNT(count),
            UNITS_COUNT(result->invariant_count), why);
}

static void judge_transactions(struct judge *judge, const char *why)
{
    const struct result *result = judge->result;
    const struct judge_context *context = judge->context;
    const uint64_t *counters = result->totals.counters;
    const uint64_t begun = counters[RECORDER_TRANSACTIONS_BEGUN];
    const uint64_t failed = counters[RECORDER_TRANSACTIONS_FAILED];
    const uint64_t in_doubt = counters[RECORDER_TRANSACTIONS_IN_DOUBT];
    const double percent = begun > 0 ? 100 * (double)failed / (double)begun : 0;
    const bool is_excused = failed <= context->max_failed || percent <= context->max_failed_percent;
    const bool is_judged = !context->keeps_nothing && result->measured_ns >= SHORTEST_NS;
    const double script = is_judged ? script_percent(result) : 0;
    uint64_t lost, surplus;
    const char *failure;
    sum_tables(result, &lost, &surplus, &failure);
    end_if(judge, lost > 0, WEIGHT_LOST, EXIT_CODE_SHORT, "", "%s committed %s lost",
           UNITS_COUNT(lost), units_plural(lost, "row is", "rows are"));
    judge_broken(judge);
    const bool is_stopped = result->stop_reason == STOP_SCRIPT;
    const struct error *error = script_error(&result->causes);
    DEGRADED_IF(judge, is_stopped && script_error_code(error) != EXIT_CODE_USAGE,
                "the run stopped: out of memory for a script");
    DEGRADED_IF(judge, is_stopped, "the run stopped: error in the script");
    exit_if(judge, is_stopped, WEIGHT_SCRIPT, script_error_code(error), "%s",
            script_error_text(error));
    verdict_if(judge, script > 100 * STARVED_SHARE, VERDICT_INVALID,
               "client-bound: the script's own code took %.0f %% of the transactions' time",
               script);
    end_if(judge, in_doubt > 0, WEIGHT_INCOMPLETE, EXIT_CODE_SHORT, why,
           "%s of %s transactions %s in doubt", UNITS_COUNT(in_doubt), UNITS_COUNT(begun),
           units_plural(in_doubt, "is", "are"));
    DEGRADED_IF(judge, failed > 0,
                "%s of %s transactions failed; %s of them left writes in the tables",
                UNITS_COUNT(failed), UNITS_COUNT(begun),
                UNITS_COUNT(counters[RECORDER_TRANSACTIONS_PARTIAL]));
    exit_if(judge, !is_excused, WEIGHT_INCOMPLETE, EXIT_CODE_SHORT,
            "%s of %s transactions failed%s%.150s", UNITS_COUNT(failed), UNITS_COUNT(begun),
            colon(why), why);
    end_if(judge, transactions_done(counters) == 0 && result->sessions.requested > 0, WEIGHT_SHORT,
           EXIT_CODE_SHORT, why, "no transaction was committed");
    DEGRADED_IF(judge, surplus > 0,
                "the tables have %s more %s than the run committed: another writer was active, or "
                "a statement adds rows that the script does not declare",
                UNITS_COUNT(surplus), units_plural(surplus, "row", "rows"));
    judge_unverified(judge, failure, "counted", " after the run");
    judge_unchecked(judge, WEIGHT_UNVERIFIED);
    DEGRADED_IF(judge, counters[RECORDER_CHECKS_FAILED] > 0, "%s of %s checks failed",
                UNITS_COUNT(counters[RECORDER_CHECKS_FAILED]),
                UNITS_COUNT(counters[RECORDER_CHECKS]));
    DEGRADED_IF(judge, script > SCRIPT_PERCENT,
                "the script's own code took %.0f %% of the transactions' time", script);
}

/* Gives the exit line when sessions or appended rows are missing. `why`: see loss_reason. */
static void judge_short(struct judge *judge, const char *why)
{
    const struct result *result = judge->result;
    const struct session_ledger *s = &result->sessions;
    const struct row_ledger *r = &result->rows;
    const struct causes *causes = &result->causes;
    for (size_t i = 0; r->acknowledged == 0 && i < causes->count; i++) {
        const struct cause *cause = &causes->entries[i];
        if (cause->phase == CAUSE_APPEND && cause->status == STATUS_FATAL) {
            exit_if(judge, cause->error.kind != ERROR_MEMORY, WEIGHT_SHORT, EXIT_CODE_SERVER,
                    "the server refused every append: %.200s", cause->error.text);
            break;
        }
    }
    char cut[CUT_BYTES];
    const char *loss = main_loss(causes);
    exit_if(judge, result->sessions_cut > 0 && s->dropped == 0, WEIGHT_SHORT, EXIT_CODE_SHORT,
            "%s: %s %s in doubt%s%.150s", describe_cut(result, cut), UNITS_COUNT(r->in_doubt),
            units_plural(r->in_doubt, "row is", "rows are"), colon(loss), loss);
    exit_if(judge, r->planned == 0, WEIGHT_SHORT, EXIT_CODE_SHORT,
            "no row was acknowledged%s%.200s", colon(loss), loss);
    char stopped[UNSENT_BYTES] = "";
    if (s->stopped > 0) {
        snprintf(stopped, sizeof stopped, ", %s stopped", UNITS_COUNT(s->stopped));
    }
    /* with a duration the row ledger does not have rows that were never begun */
    char unsent[UNSENT_BYTES] = "";
    if (r->not_sent == 0 && result->batches.not_sent > 0) {
        snprintf(unsent, sizeof unsent, ", %s %s not sent", UNITS_COUNT(result->batches.not_sent),
                 units_plural(result->batches.not_sent, "batch", "batches"));
    } else if (r->not_sent > 0 ||
               (result->stop_reason != STOP_DURATION && result->stop_reason != STOP_CONTROL)) {
        snprintf(unsent, sizeof unsent, ", %s not sent", UNITS_COUNT(r->not_sent));
    }
    exit_if(judge, true, WEIGHT_SHORT, EXIT_CODE_SHORT,
            "sessions or rows are missing: %s %s dropped%s, %s %s rejected, %s in doubt%s%s%.150s",
            UNITS_COUNT(s->dropped), units_plural(s->dropped, "session", "sessions"), stopped,
            UNITS_COUNT(r->rejected), units_plural(r->rejected, "row", "rows"),
            UNITS_COUNT(r->in_doubt), unsent, colon(why), why);
}

/* Gives the reasons when appended rows are missing, or when the table does not agree with the
 * ledger. */
static void judge_rows(struct judge *judge, const char *why)
{
    const struct result *result = judge->result;
    const bool has_script = judge->context->has_script;
    const struct session_ledger *s = &result->sessions;
    const struct row_ledger *r = &result->rows;
    const struct verification *v = &result->verification;
    const struct row_verification *read = &result->row_verification;
    const uint64_t *counters = result->totals.counters;
    const uint64_t surplus = result_surplus(result);
    const uint64_t reconnects = counters[RECORDER_RECONNECTS];
    if (r->acknowledged < r->planned ||
        (!has_script && (s->finished < s->requested || r->acknowledged == 0))) {
        judge_short(judge, why);
    }
    /* reconnects and refusals count even when all rows are acknowledged: they show that the server
     * was unavailable for a time */
    DEGRADED_IF(judge, reconnects > 0 && has_script, "%s %s lost and re-established",
                UNITS_COUNT(reconnects),
                units_plural(reconnects, "connection was", "connections were"));
    DEGRADED_IF(
        judge, reconnects > 0, "%s %s lost and re-established; %s of %s rows were acknowledged",
        UNITS_COUNT(reconnects), units_plural(reconnects, "connection was", "connections were"),
        UNITS_COUNT(r->acknowledged), UNITS_COUNT(r->planned));
    DEGRADED_IF(judge, counters[RECORDER_REFUSALS] > 0,
                "the server was read-only and refused %s %s; %s of %s rows were acknowledged",
                UNITS_COUNT(counters[RECORDER_REFUSALS]),
                units_plural(counters[RECORDER_REFUSALS], "batch", "batches"),
                UNITS_COUNT(r->acknowledged), UNITS_COUNT(r->planned));
    DEGRADED_IF(judge, r->acknowledged < r->planned, "%s of %s rows were acknowledged",
                UNITS_COUNT(r->acknowledged), UNITS_COUNT(r->planned));
    DEGRADED_IF(judge, r->acknowledged == 0 && s->requested > 0 && !has_script,
                "no row was acknowledged");
    judge_unverified(judge, v->state == VERIFICATION_FAILED ? v->reason : NULL, "counted",
                     " after the run");
    judge_unverified(judge, read->state == VERIFICATION_FAILED ? read->reason : NULL, "read back",
                     "");
    DEGRADED_IF(judge, read->duplicates > 0, "%s %s in the table more than once",
                UNITS_COUNT(read->duplicates),
                units_plural(read->duplicates, "row is", "rows are"));
    DEGRADED_IF(judge, read->foreign > 0, "%s %s this run's tag, but this run did not send %s",
                UNITS_COUNT(read->foreign),
                units_plural(read->foreign, "row carries", "rows carry"),
                units_plural(read->foreign, "it", "them"));
    DEGRADED_IF(judge, read->rejected_present > 0, "%s rejected %s in the table",
                UNITS_COUNT(read->rejected_present),
                units_plural(read->rejected_present, "row is", "rows are"));
    end_if(judge, has_foreign_loss(result), WEIGHT_FOREIGN, EXIT_CODE_SHORT, "",
           "all rows of this run are in the table, but the table has fewer rows than it should: "
           "another client deleted rows");
    DEGRADED_IF(judge, v->rejected_arrived > 0 && !result_is_read_back(result),
                "%s rejected %s in the table", UNITS_COUNT(v->rejected_arrived),
                units_plural(v->rejected_arrived, "row is", "rows are"));
    DEGRADED_IF(judge, surplus > 0 && counters[RECORDER_BUSY_RETRIES] > 0,
                "the table has %s more %s than were acknowledged: either rows of the %s %s that "
                "append sent again, because the database was busy, are stored twice, or another "
                "writer was active",
                UNITS_COUNT(surplus), units_plural(surplus, "row", "rows"),
                UNITS_COUNT(counters[RECORDER_BUSY_RETRIES]),
                units_plural(counters[RECORDER_BUSY_RETRIES], "batch", "batches"));
    DEGRADED_IF(
        judge, surplus > 0,
        "the table has %s more %s than this run can have written: another writer was active",
        UNITS_COUNT(surplus), units_plural(surplus, "row", "rows"));
}

/* Gives the reasons about reads, the rate, and changes on the server or the machine. */
static void judge_measurement(struct judge *judge, const struct client_machine *machine)
{
    const struct result *result = judge->result;
    const uint64_t *counters = result->totals.counters;
    const struct cpu_shares *mean = &machine->mean;
    const bool has_ranks = result->rank_count > 0;
    const bool has_server = machine->has_server && mean->server >= 0;
    DEGRADED_IF(judge, counters[RECORDER_FRESH_BEHIND] + counters[RECORDER_FRESH_BACKWARD] > 0,
                "reads did not show acknowledged rows: %s %s missed rows, %s went backwards",
                UNITS_COUNT(counters[RECORDER_FRESH_BEHIND]),
                units_plural(counters[RECORDER_FRESH_BEHIND], "count", "counts"),
                UNITS_COUNT(counters[RECORDER_FRESH_BACKWARD]));
    end_if(judge, counters[RECORDER_READS_FAILED] > 0, WEIGHT_READS, EXIT_CODE_SHORT,
           main_cause(&result->causes, CAUSE_READ), "%s %s failed",
           UNITS_COUNT(counters[RECORDER_READS_FAILED]),
           units_plural(counters[RECORDER_READS_FAILED], "read", "reads"));
    /* the number of random arrivals in a time has a standard deviation of its square root */
    const int64_t judged_ns = judge->context->has_script ? result->measured_ns : result->append_ns;
    const double arrivals = result->stop_reason == STOP_COMPLETED
                                ? 0
                                : judge->context->arrivals_per_s * (double)judged_ns / 1e9;
    const double chance = arrivals > 0 ? 3 * 100 / sqrt(arrivals) : 0;
    DEGRADED_IF(judge,
                result->rate_achieved_percent >= 0 &&
                    result->rate_achieved_percent < RATE_PERCENT - chance,
                "only %.0f %% of the requested rate was reached", result->rate_achieved_percent);
    char change[RESULT_CHANGE_BYTES];
    DEGRADED_IF(judge, result_describe_change(result, change)[0] != '\0', "%s", change);
    DEGRADED_IF(judge,
                result->append_ns >= SHORTEST_NS && mean->client >= 0 &&
                    (!has_ranks || has_server) && is_disturbed(machine),
                "all CPUs of %s%.60s were busy: %s%s%sother programs %.0f %%, append %.0f %%",
                has_ranks ? "machine " : "this machine",
                has_ranks ? result->ranks[result->resource_rank].machine : "",
                has_server ? "server " : "", has_server ? PERCENT(mean->server) : "",
                has_server ? " %, " : "", cpu_others(mean, machine->has_server), mean->client);
}

/* Gives the reason when --stop-when ended the run. A figure that crossed its bound because append
 * itself was slow says nothing about the server. */
static void judge_condition(struct judge *judge)
{
    const struct result *result = judge->result;
    const bool is_stopped = result->stop_reason == STOP_CONDITION;
    exit_if(judge, is_stopped && result->verdict == VERDICT_INVALID, WEIGHT_CONDITION,
            EXIT_CODE_INVALID, "INVALID: %.200s; stopped by --stop-when: %s",
            result->verdict_reason, result->stop_condition);
    end_if(judge, is_stopped, WEIGHT_CONDITION, EXIT_CODE_EXPECTATION, "",
           "stopped by --stop-when: %s", result->stop_condition);
}

/* Gives the reason of a run without a defect. */
static void judge_valid(struct judge *judge)
{
    const struct result *result = judge->result;
    const uint64_t *counters = result->totals.counters;
    const uint64_t unfinished = counters[RECORDER_TRANSACTIONS_UNFINISHED];
    char running[64] = "";
    if (unfinished > 0) {
        snprintf(running, sizeof running, "; %s %s still running at the end of the run",
                 UNITS_COUNT(unfinished), units_plural(unfinished, "was", "were"));
    }
    verdict_if(judge, judge->context->has_script, VERDICT_VALID,
               "every %stransaction was committed%s%s", unfinished > 0 ? "finished " : "",
               counters[RECORDER_TRANSACTIONS_ROLLED_BACK] > 0 ? " or rolled back on purpose" : "",
               running);
    verdict_if(judge, true, VERDICT_VALID, "%s",
               result->verification.state == VERIFICATION_DONE
                   ? "every row was acknowledged, and the table grew by the same number"
                   : "every session finished, every row was acknowledged");
}

/* Gives all reasons of a run. */
static void judge_run(struct judge *judge)
{
    const struct result *result = judge->result;
    const uint64_t *counters = result->totals.counters;
    const struct client_machine machine = {
        .bound = result->resources.client_bound,
        .mean = result->resources.mean_cpu,
        .has_server =
            result->rank_count > 0 ? result->resources.server_pid != 0 : judge->context->is_local,
        .time_ns = (double)counters[RECORDER_SESSION_NS],
        .run_queue_ns = (double)counters[RECORDER_RUN_QUEUE_NS],
    };
    char loss[LOSS_BYTES], limit[LIMIT_BYTES];
    const char *why = loss_reason(result, limit);
    judge_end(judge, describe_loss(result, loss));
    judge_client(judge, &machine);
    judge_condition(judge);
    judge_sessions(judge, why);
    if (judge->context->has_script) {
        judge_transactions(judge, why);
    }
    judge_rows(judge, why);
    judge_measurement(judge, &machine);
    judge_valid(judge);
    exit_if(judge, result->verdict == VERDICT_INVALID, WEIGHT_INVALID, EXIT_CODE_INVALID,
            "INVALID: %.200s", result->verdict_reason);
}

void result_judge(struct result *result, const struct judge_context *context)
{
    struct judge judge = judge_begin(result, context);
    result->rate_achieved_percent = -1;
    if (context->rate_rows_per_s > 0 && context->has_script && result->measured_ns >= SHORTEST_NS) {
        const uint64_t done = context->has_group_rates ? context->rated_done
                                                       : transactions_done(result->totals.counters);
        result->rate_achieved_percent =
            100 * (double)done / ((double)result->measured_ns / 1e9) / context->rate_rows_per_s;
    } else if (context->rate_rows_per_s > 0 && !context->has_script &&
               result->append_ns >= SHORTEST_NS) {
        result->rate_achieved_percent = 100 * (double)result->rows.acknowledged /
                                        ((double)result->append_ns / 1e9) /
                                        context->rate_rows_per_s;
    }
    if (context->arrivals_per_s > 0 && result->stop_reason == STOP_COMPLETED &&
        result->append_ns >= SHORTEST_NS) {
        /* the rate for random arrivals of a given number of batches is reached if they were sent in
         * the time in which they were due */
        const double due = (double)result->last_due_ns / (double)result->append_ns;
        result->rate_achieved_percent = 100 * MIN(due, 1);
    }
    judge_run(&judge);
    result_set_exit(result);
    size_t used = strlen(result->verdict_reason);
    if (context->traced != NULL) {
        snprintf(result->verdict_reason + used, sizeof result->verdict_reason - used,
                 "; I/O was traced (%s)", context->traced);
    }
    const size_t steered = result_count_steered(result);
    used = strlen(result->verdict_reason);
    if (steered > 0) {
        snprintf(result->verdict_reason + used, sizeof result->verdict_reason - used,
                 "; steered: %zu %s", steered, units_plural(steered, "change", "changes"));
    }
}

/* A reason of a search: the first that holds decides the verdict and the exit code. */
#define SEARCH_IF(holds, code, ...) end_if(&judge, holds, WEIGHT_SHORT, code, "", __VA_ARGS__)

void search_judge(const struct search *search, struct result *result, bool is_local,
                  bool was_interrupted)
{
    const struct verification *v = &result->verification;
    const struct level *failure = search->failed > 0 ? &search->levels[search->failure] : NULL;
    const struct cause *cause = failure == NULL ? NULL : level_main_cause(failure);
    const struct finding *limit = first_finding(result);
    const bool is_own = limit != NULL ? limit->side == LIMIT_CLIENT
                                      : failure != NULL && failure->reason == LEVEL_NO_THREAD;
    const enum exit_code end_code = search->end == SEARCH_GONE ? EXIT_CODE_SERVER : EXIT_CODE_SHORT;
    const char *held = UNITS_COUNT(search->held);
    const char *failed = UNITS_COUNT(search->failed);
    const char *sessions_were = units_plural(search->held, "session was", "sessions were");
    char text[LIMIT_BYTES];
    struct judge judge = judge_begin(result, NULL);
    judge_ledgers(&judge);
    SEARCH_IF(search->end == SEARCH_INTERRUPTED || was_interrupted, EXIT_CODE_INTERRUPTED,
              "interrupted: at least %s %s held", held, sessions_were);
    const struct error *error = script_error(&result->causes);
    SEARCH_IF(search->end == SEARCH_SCRIPT, script_error_code(error), "%s",
              script_error_text(error));
    for (size_t i = 0; i < result->rank_count; i++) {
        SEARCH_IF(!result->ranks[i].is_known, EXIT_CODE_SHORT,
                  "rank %zu on machine %.60s was lost; %s %s held before that", i,
                  result->ranks[i].machine, held, sessions_were);
    }
    SEARCH_IF(v->lost_at_most > 0 && !v->is_shrunk, EXIT_CODE_SHORT, "%s acknowledged %s lost",
              result_describe_lost(result, text),
              units_plural(result_lost_at_most(result), "row is", "rows are"));
    judge_broken(&judge);
    SEARCH_IF(has_stood_still(result, text), EXIT_CODE_INVALID, "%s", text);
    /* the next two reasons are for a search in which no level held */
    SEARCH_IF(search->held == 0 && failure == NULL,
              search->end == SEARCH_MEMORY ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SHORT,
              "the search ended (%s) before any level was held", search_end_names[search->end]);
    SEARCH_IF(
        search->held == 0, is_own ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SERVER,
        "not even %s %s held: %.180s", failed,
        units_plural(search->failed, "session was", "sessions were"),
        describe_limit(limit, text, cause != NULL ? cause->error.text : "no session could append"));
    SEARCH_IF(v->state == VERIFICATION_FAILED, end_code,
              "the rows were not counted after the search: %.150s", v->reason);
    SEARCH_IF(v->is_shrunk, EXIT_CODE_SHORT,
              "the table has fewer rows than before the search: another client deleted rows");
    judge_unchecked(&judge, WEIGHT_SHORT);
    SEARCH_IF(search->end == SEARCH_GONE || search->end == SEARCH_STUCK, end_code,
              "%s %s held, then %s", held, sessions_were,
              search->end == SEARCH_GONE ? "the server was gone"
                                         : "some sessions did not disconnect");
    unsigned held_levels = 0, disturbed = 0;
    for (size_t i = 0; i < search->count; i++) {
        const struct client_machine machine = {.mean = search->levels[i].cpu,
                                               .has_server = is_local};
        const bool is_held = search->levels[i].outcome == LEVEL_HELD;
        held_levels += is_held;
        disturbed += is_held && is_disturbed(&machine);
    }
    DEGRADED_IF(&judge, disturbed > 0,
                "%s %s held, but other programs used most of this machine's CPUs at %u of "
                "%u levels: rows/s and the knee do not describe the server",
                held, sessions_were, disturbed, held_levels);
    SEARCH_IF(search->end == SEARCH_FOUND, EXIT_CODE_OK, "%s %s held; %s were not", held,
              sessions_were, failed);
    SEARCH_IF(search->failed > 0, EXIT_CODE_OK,
              "%s %s held; %s were not; the numbers in between were not tried", held, sessions_were,
              failed);
    SEARCH_IF(true, EXIT_CODE_OK, "%s %s held, and no level failed: more may be possible", held,
              sessions_were);
    result_set_exit(result);
}
