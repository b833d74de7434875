/* The verdict and the exit code of runs and of searches. */
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/verdict.h"

static const struct judge_context local = {.is_local = true};
static const struct judge_context remote = {.is_local = false};
static const struct judge_context embedded = {.is_local = true, .is_embedded = true};

/* Fills in a run of 10 sessions and 1,000 rows without a problem. */
static void set_good(struct result *result)
{
    memset(result, 0, sizeof *result);
    result->elapsed_ns = result->append_ns = result->measured_ns = INT64_C(10000000000);
    result->sessions = (struct session_ledger){.requested = 10, .connected = 10, .finished = 10};
    result->rows = (struct row_ledger){.planned = 1000, .acknowledged = 1000};
    result->verification =
        (struct verification){.state = VERIFICATION_DONE, .rows_before = 5, .rows_after = 1005};
    result->resources.mean_cpu.host = 95;
    result->resources.mean_cpu.server = 80;
    result->resources.mean_cpu.client = 10;
}

static struct result *make_good(void)
{
    struct result *result = calloc(1, sizeof *result);
    assert_non_null(result);
    set_good(result);
    return result;
}

/* Sets the recorder's counters to the rows of the ledger. */
static void count_rows(struct result *result)
{
    uint64_t *counters = result->totals.counters;
    counters[RECORDER_ROWS_ACKNOWLEDGED] = result->rows.acknowledged;
    counters[RECORDER_ROWS_REJECTED] = result->rows.rejected;
    counters[RECORDER_ROWS_IN_DOUBT] = result->rows.in_doubt;
}

static void judge(struct result *result, const struct judge_context *context)
{
    count_rows(result);
    result_judge(result, context);
}

static void judge_found(const struct search *search, struct result *result,
                        const struct judge_context *context)
{
    count_rows(result);
    search_judge(search, result, context);
}

/* Judges the result, and expects `words` in the reason of the verdict or of the exit code. */
static void expect(struct result *result, const struct judge_context *context, enum verdict verdict,
                   enum exit_code code, const char *words)
{
    judge(result, context);
    assert_int_equal(result->verdict, verdict);
    assert_int_equal(result->exit_code, code);
    assert_true(result->verdict_reason[0] != '\0');
    assert_int_equal(result->exit_reason[0] == '\0', code == EXIT_CODE_OK);
    const bool says = strstr(result->verdict_reason, words) || strstr(result->exit_reason, words);
    if (!says) {
        print_message("neither '%s' nor '%s' contains '%s'\n", result->verdict_reason,
                      result->exit_reason, words);
    }
    assert_true(says);
}

static void add_cause(struct result *result, enum cause_phase phase, const char *text)
{
    struct cause *cause = &result->causes.entries[result->causes.count++];
    cause->phase = phase;
    cause->count = 1;
    error_set(&cause->error, ERROR_SERVER, 0, NULL, "%s", text);
}

/* All ranks of a machine are judged together, and with the other programs of the machine. */
TEST(test_ranks)
{
    struct rank_result ranks[3] = {{.machine = "a"}, {.machine = "b"}, {.machine = "b"}};
    struct result *r = make_good();
    r->ranks = ranks;
    r->rank_count = 3;
    for (int i = 0; i < 3; i++) {
        ranks[i].is_known = true;
        ranks[i].resources.mean_cpu = (struct cpu_shares){95, -1, i == 0 ? 48 : 40};
        ranks[i].counters[RECORDER_SESSION_NS] = 1000;
    }
    expect(r, &local, VERDICT_VALID, EXIT_CODE_OK, "every row");
    ranks[1].resources.mean_cpu.client = ranks[2].resources.mean_cpu.client = 46;
    expect(r, &remote, VERDICT_INVALID, EXIT_CODE_INVALID,
           "machine b is client-bound: append itself used 92 % of its CPUs");
    /* the server is on the machine of rank 1 and used more CPU time than the rank */
    ranks[1].hosts_here = 1;
    ranks[1].resources.mean_cpu = (struct cpu_shares){99, 60, 19};
    ranks[2].resources.mean_cpu = (struct cpu_shares){99, -1, 19};
    expect(r, &remote, VERDICT_VALID, EXIT_CODE_OK, "every row");
    ranks[2].counters[RECORDER_RUN_QUEUE_NS] = 1900;
    ranks[1].resources.mean_cpu.server = 40;
    expect(r, &remote, VERDICT_VALID, EXIT_CODE_OK, "every row"); /* the server used the most CPU */
    ranks[1].resources.mean_cpu.server = 37;
    expect(r, &remote, VERDICT_INVALID, EXIT_CODE_INVALID,
           "machine b is client-bound: append used 38 % of the CPUs, the server only 37 %");
    /* the ranks do not see the server's process: the rest of the CPU time counts for the server */
    ranks[1].resources.mean_cpu = (struct cpu_shares){99, -1, 35};
    ranks[2].resources.mean_cpu = (struct cpu_shares){99, -1, 35};
    expect(r, &remote, VERDICT_INVALID, EXIT_CODE_INVALID,
           "machine b is client-bound: append used 70 % of the CPUs, the server only 29 %");
    /* other programs also disturb a machine that does not run the server */
    ranks[0].resources.mean_cpu.client = 30;
    ranks[1].resources.mean_cpu.client = ranks[2].resources.mean_cpu.client = 10;
    ranks[2].counters[RECORDER_RUN_QUEUE_NS] = 0;
    expect(r, &remote, VERDICT_DEGRADED, EXIT_CODE_OK,
           "all CPUs of machine a were busy: other programs 65 %, append 30 %");
    ranks[0].resources.mean_cpu.client = 48;
    ranks[2].counters[RECORDER_RUN_QUEUE_NS] = 1900;
    ranks[1].resources.mean_cpu = (struct cpu_shares){80, 30, 19};
    ranks[2].resources.mean_cpu = (struct cpu_shares){80, -1, 19};
    expect(r, &remote, VERDICT_INVALID, EXIT_CODE_INVALID,
           "machine b is client-bound: sessions waited for one of its CPUs 95 %");
    ranks[2].counters[RECORDER_RUN_QUEUE_NS] = 0;
    ranks[0].verdict = VERDICT_INVALID;
    snprintf(ranks[0].verdict_reason, sizeof ranks[0].verdict_reason, "it stood still");
    expect(r, &remote, VERDICT_INVALID, EXIT_CODE_INVALID, "machine a, rank 0: it stood still");
    /* a problem of a whole machine is reported before a problem of one rank */
    ranks[1].resources.mean_cpu = (struct cpu_shares){99, 30, 30};
    ranks[2].resources.mean_cpu = (struct cpu_shares){99, -1, 30};
    expect(r, &remote, VERDICT_INVALID, EXIT_CODE_INVALID,
           "machine b is client-bound: append used 60 % of the CPUs, the server only 30 %");
    ranks[1].resources.mean_cpu = (struct cpu_shares){80, 30, 19};
    ranks[2].resources.mean_cpu = (struct cpu_shares){80, -1, 19};
    ranks[0].verdict = VERDICT_VALID;
    ranks[1].clock_drift_ns = -150000000;
    ranks[1].clock_drift_error_ns = 60000000;
    expect(r, &remote, VERDICT_VALID, EXIT_CODE_OK, "every row");
    ranks[1].clock_drift_error_ns = 40000000;
    expect(r, &remote, VERDICT_INVALID, EXIT_CODE_INVALID, "the clock of machine b, rank 1, moved");
    ranks[1].clock_drift_ns = 0;
    ranks[2].is_known = false;
    r->stop_reason = STOP_RANK;
    expect(r, &remote, VERDICT_DEGRADED, EXIT_CODE_SHORT, "rank 2 on machine b was lost");
    free(r);
}

TEST(test_good_run)
{
    struct result *r = make_good();
    expect(r, &local, VERDICT_VALID, EXIT_CODE_OK, "every row");
    free(r);
}

/* A scripted run of 100 transactions, all committed, on one table. */
struct scripted_run {
    struct result *result;
    uint64_t *counters;
    uint64_t *counts;
    struct verification table;
};

static void make_scripted(struct scripted_run *run)
{
    struct result *r = run->result = make_good();
    r->rows = (struct row_ledger){0};
    r->verification = (struct verification){0};
    r->measured_ns = INT64_C(5000000000);
    assert_true(recorder_snapshot_init(&r->totals, OPERATIONS + 1));
    run->counts = r->totals.counts[OPERATIONS];
    run->counts[COUNT_BEGUN] = run->counts[COUNT_COMMITTED] = run->counts[COUNT_TRIES] = 100;
    run->counters = r->totals.counters;
    run->counters[RECORDER_TRANSACTIONS_BEGUN] = run->counters[RECORDER_TRIES] = 100;
    run->counters[RECORDER_TRANSACTIONS_COMMITTED] = 100;
    run->table = (struct verification){.state = VERIFICATION_DONE};
    r->datasets = &run->table;
    r->dataset_count = 1;
}

static void end_scripted(struct scripted_run *run)
{
    recorder_snapshot_fini(&run->result->totals);
    free(run->result);
}

/* Gives `n` of the 100 transactions another outcome. */
static void take_from_committed(struct scripted_run *run, uint64_t n, enum operation_count count)
{
    run->counters[RECORDER_TRANSACTIONS_COMMITTED] -= n;
    run->counts[COUNT_COMMITTED] -= n;
    run->counters[operation_count_sums[count]] += n;
    run->counts[count] += n;
}

static const struct judge_context scripted = {.is_local = true, .has_script = true};

TEST(test_transactions)
{
    struct scripted_run run;
    make_scripted(&run);
    expect(run.result, &scripted, VERDICT_VALID, EXIT_CODE_OK, "every transaction was committed");
    take_from_committed(&run, 5, COUNT_ROLLED_BACK);
    expect(run.result, &scripted, VERDICT_VALID, EXIT_CODE_OK, "rolled back on purpose");
    run.result->totals.counters[RECORDER_CHECKS] = 9;
    run.result->totals.counters[RECORDER_CHECKS_FAILED] = 2;
    expect(run.result, &scripted, VERDICT_DEGRADED, EXIT_CODE_OK, "2 of 9 checks failed");
    run.table.surplus = 3;
    expect(run.result, &scripted, VERDICT_DEGRADED, EXIT_CODE_OK, "have 3 more rows");
    run.table.lost = 4;
    expect(run.result, &scripted, VERDICT_DEGRADED, EXIT_CODE_SHORT, "4 committed rows are lost");
    run.table = (struct verification){.state = VERIFICATION_FAILED, .reason = "gone"};
    expect(run.result, &scripted, VERDICT_DEGRADED, EXIT_CODE_SHORT, "not counted after the run");
    end_scripted(&run);
}

/* --max-failed as a number and as a percentage. Unfinished transactions do not count as failed. */
TEST(test_failed_transactions)
{
    struct scripted_run run;
    struct judge_context context = scripted;
    make_scripted(&run);
    take_from_committed(&run, 4, COUNT_FAILED);
    run.counters[RECORDER_TRANSACTIONS_REFUSED] = 4;
    add_cause(run.result, CAUSE_STATEMENT, "no such column");
    expect(run.result, &context, VERDICT_DEGRADED, EXIT_CODE_SHORT,
           "4 of 100 transactions failed: no such column");
    context.max_failed = 3;
    expect(run.result, &context, VERDICT_DEGRADED, EXIT_CODE_SHORT, "4 of 100");
    context.max_failed = 4;
    expect(run.result, &context, VERDICT_DEGRADED, EXIT_CODE_OK, "4 of 100");
    context.max_failed = 0;
    context.max_failed_percent = 3;
    expect(run.result, &context, VERDICT_DEGRADED, EXIT_CODE_SHORT, "4 of 100");
    context.max_failed_percent = 4;
    expect(run.result, &context, VERDICT_DEGRADED, EXIT_CODE_OK, "4 of 100");
    end_scripted(&run);
    make_scripted(&run);
    take_from_committed(&run, 4, COUNT_UNFINISHED);
    expect(run.result, &scripted, VERDICT_VALID, EXIT_CODE_OK,
           "every finished transaction was committed; 4 were still running at the end of the run");
    end_scripted(&run);
    make_scripted(&run);
    take_from_committed(&run, 1, COUNT_IN_DOUBT);
    expect(run.result, &scripted, VERDICT_DEGRADED, EXIT_CODE_SHORT, "1 of 100 transactions is in");
    run.counts[COUNT_IN_DOUBT]--; /* now the counts by name do not balance */
    expect(run.result, &scripted, VERDICT_DEGRADED, EXIT_CODE_INTERNAL, "does not balance");
    end_scripted(&run);
}

TEST(test_scripts)
{
    struct scripted_run run;
    struct judge_context context = scripted;
    make_scripted(&run);
    run.result->totals.counters[RECORDER_TRY_NS] = 1000;
    run.result->totals.counters[RECORDER_SCRIPT_NS] = 110;
    expect(run.result, &context, VERDICT_DEGRADED, EXIT_CODE_OK, "11 %");
    run.result->totals.counters[RECORDER_SCRIPT_NS] = 510;
    expect(run.result, &context, VERDICT_INVALID, EXIT_CODE_INVALID, "51 %");
    context.keeps_nothing = true;
    expect(run.result, &context, VERDICT_VALID, EXIT_CODE_OK, "every transaction");
    context.rate_rows_per_s = 20;
    expect(run.result, &context, VERDICT_VALID, EXIT_CODE_OK, "every transaction");
    context.rate_rows_per_s = 40;
    expect(run.result, &context, VERDICT_DEGRADED, EXIT_CODE_OK, "50 % of the requested rate");
    context.rate_rows_per_s = 0;
    add_cause(run.result, CAUSE_SCRIPT, "own.lua:3: a mistake");
    run.result->causes.entries[0].status = STATUS_FATAL;
    run.result->stop_reason = STOP_SCRIPT;
    expect(run.result, &context, VERDICT_DEGRADED, EXIT_CODE_USAGE, "own.lua:3: a mistake");
    end_scripted(&run);
}

/* A broken claim about the script's tables weighs as much as lost rows. */
TEST(test_invariants)
{
    struct invariant_result claims[] = {
        {.claim = "sums are equal", .state = VERIFICATION_DONE},
        {.claim = "no gap", .state = VERIFICATION_DONE},
    };
    struct scripted_run run;
    struct judge_context context = scripted;
    make_scripted(&run);
    run.result->invariants = claims;
    run.result->invariant_count = COUNT_OF(claims);
    expect(run.result, &context, VERDICT_VALID, EXIT_CODE_OK, "every transaction was committed");
    claims[1].state = VERIFICATION_FAILED;
    snprintf(claims[1].reason, sizeof claims[1].reason, "no such table");
    expect(run.result, &context, VERDICT_DEGRADED, EXIT_CODE_SHORT,
           "1 of 2 invariants could not be checked: no such table");
    context.was_interrupted = true;
    expect(run.result, &context, VERDICT_DEGRADED, EXIT_CODE_INTERRUPTED, "no such table");
    context.was_interrupted = false;
    claims[0].rows = 3;
    expect(run.result, &context, VERDICT_DEGRADED, EXIT_CODE_SHORT,
           "1 of 2 invariants is broken: sums are equal (3 rows)");
    claims[1].state = VERIFICATION_DONE;
    claims[1].rows = 1;
    take_from_committed(&run, 4, COUNT_FAILED);
    run.counters[RECORDER_TRANSACTIONS_REFUSED] = 4;
    expect(run.result, &context, VERDICT_DEGRADED, EXIT_CODE_SHORT, "2 of 2 invariants are broken");
    end_scripted(&run);
}

TEST(test_client_bound)
{
    struct result *r = make_good();
    r->resources.mean_cpu.client = 60;
    r->resources.mean_cpu.server = 35;
    expect(r, &local, VERDICT_INVALID, EXIT_CODE_INVALID, "client-bound");
    expect(r, &embedded, VERDICT_VALID, EXIT_CODE_OK, "every row");
    r->resources.mean_cpu.host = 80;
    expect(r, &local, VERDICT_VALID, EXIT_CODE_OK, "every row");
    r->resources.mean_cpu.client = 95;
    r->resources.mean_cpu.server = -1;
    expect(r, &remote, VERDICT_INVALID, EXIT_CODE_INVALID, "95 %");
    r->append_ns = 1000;
    expect(r, &remote, VERDICT_VALID, EXIT_CODE_OK, "every row");
    r->append_ns = INT64_C(10000000000);
    r->resources.mean_cpu.host = 95;
    r->resources.mean_cpu.client = 60;
    expect(r, &local, VERDICT_INVALID, EXIT_CODE_INVALID, "client-bound");
    free(r);
}

TEST(test_a_client_that_stood_still)
{
    struct result *r = make_good();
    r->resources.suspended_ns = INT64_C(8040000000);
    expect(r, &local, VERDICT_INVALID, EXIT_CODE_INVALID, "append itself stood still for 8.0 s");
    free(r);
}

TEST(test_other_programs)
{
    struct result *r = make_good();
    r->resources.mean_cpu.client = 3;
    r->resources.mean_cpu.server = 2;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK,
           "all CPUs of this machine were busy: server 2 %, other programs 90 %, append 3 %");
    r->resources.mean_cpu.server = -1;
    expect(r, &local, VERDICT_VALID, EXIT_CODE_OK, "every row");
    free(r);
}

TEST(test_starved_sessions)
{
    struct result *r = make_good();
    r->totals.counters[RECORDER_SESSION_NS] = 100;
    r->totals.counters[RECORDER_RUN_QUEUE_NS] = 60;
    expect(r, &local, VERDICT_VALID, EXIT_CODE_OK, "every row");
    r->resources.mean_cpu.host = 40;
    r->resources.mean_cpu.server = 20;
    expect(r, &local, VERDICT_INVALID, EXIT_CODE_INVALID, "60 %");
    /* the cause is the program that used the CPUs, not the program that waited for them */
    r->resources.mean_cpu = (struct cpu_shares){100, 42, 21};
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK,
           "busy: server 42 %, other programs 37 %, append 21 %");
    r->resources.mean_cpu = (struct cpu_shares){100, 65, 21};
    expect(r, &local, VERDICT_VALID, EXIT_CODE_OK, "every row");
    r->resources.mean_cpu = (struct cpu_shares){100, 42, 21};
    snprintf(r->resources.client_bound, sizeof r->resources.client_bound, "append runs at nice 9");
    expect(r, &local, VERDICT_INVALID, EXIT_CODE_INVALID, "60 % of their time, and append runs at");
    r->resources.client_bound[0] = '\0';
    r->resources.mean_cpu = (struct cpu_shares){100, 30, 45};
    expect(r, &local, VERDICT_INVALID, EXIT_CODE_INVALID, "append used 45 %");
    r->resources.mean_cpu = (struct cpu_shares){40, 20, 10};
    expect(r, &remote, VERDICT_INVALID, EXIT_CODE_INVALID, "60 %");
    r->resources.mean_cpu = (struct cpu_shares){80, 50, 21}; /* the server used half of the CPUs */
    expect(r, &local, VERDICT_VALID, EXIT_CODE_OK, "every row");
    free(r);
}

TEST(test_sessions_without_an_answer)
{
    struct result *r = make_good();
    r->stop_reason = STOP_DURATION;
    r->sessions.finished = 0;
    r->sessions.stopped = r->sessions_cut = 10;
    r->rows = (struct row_ledger){0};
    add_cause(r, CAUSE_APPEND, "no answer in 10 s");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "10 of 10 sessions had no answer");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT,
           "cut: 0 rows are in doubt: no answer in 10 s");
    r->rows = (struct row_ledger){.planned = 1, .in_doubt = 1};
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT,
           "cut: 1 row is in doubt: no answer in 10 s");
    r->rows = (struct row_ledger){0};
    r->sessions_cut = 0;
    r->sessions.stopped = 0;
    r->sessions.finished = 10;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "no row was acknowledged: no answer");
    free(r);
}

TEST(test_dropped_sessions)
{
    struct result *r = make_good();
    r->sessions.finished = 7;
    r->sessions.dropped = 3;
    r->rows.acknowledged = 900;
    r->rows.in_doubt = 40;
    r->rows.not_sent = 60;
    r->verification.rows_after = 925;
    verification_evaluate(&r->verification, &r->rows);
    add_cause(r, CAUSE_APPEND, "killed");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "killed");
    assert_int_equal(r->verification.lost, 0);
    free(r);
}

TEST(test_every_append_refused)
{
    struct result *r = make_good();
    r->sessions.finished = 0;
    r->sessions.dropped = 10;
    r->rows.acknowledged = 0;
    r->rows.not_sent = 1000;
    r->verification.rows_after = 5;
    add_cause(r, CAUSE_APPEND, "permission denied");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "permission denied");
    r->causes.entries[0].status = STATUS_FATAL;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SERVER, "permission denied");
    free(r);
}

static void add_finding(struct result *result, enum limit_side side, const char *name)
{
    struct finding *finding = &result->findings.entries[result->findings.count++];
    finding->side = side;
    snprintf(finding->name, sizeof finding->name, "%s", name);
    snprintf(finding->evidence, sizeof finding->evidence, "seen to be full");
}

/* If a limit of this machine was hit, the exit code is that of a client limit, although the server
 * refused the sessions. */
TEST(test_refused_by_a_limit)
{
    struct result *r = make_good();
    r->sessions.connected = r->sessions.finished = 4;
    r->sessions.refused = 6;
    add_cause(r, CAUSE_CONNECT, "no");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SERVER, "6 of 10 sessions were refused");
    add_finding(r, LIMIT_DATABASE, "max_connections");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SERVER,
           "0 timed out: max_connections (database): seen to be full");
    r->findings.count = 0;
    add_finding(r, LIMIT_CLIENT, "RLIMIT_NOFILE");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_CLIENT_LIMIT, "RLIMIT_NOFILE (client)");
    r->findings.count = 0; /* next: the limit that cost the most sessions decides */
    add_finding(r, LIMIT_DATABASE, "max_connections");
    add_finding(r, LIMIT_CLIENT, "RLIMIT_NOFILE");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SERVER, "max_connections (database)");
    free(r);
}

TEST(test_not_started_by_a_limit)
{
    struct result *r = make_good();
    r->sessions.connected = r->sessions.finished = 4;
    r->sessions.not_started = 6;
    add_cause(r, CAUSE_THREAD, "client limit: no thread");
    add_finding(r, LIMIT_SERVER, "listen backlog");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_CLIENT_LIMIT, "client limit: no thread");
    add_finding(r, LIMIT_CLIENT, "pids.max");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_CLIENT_LIMIT,
           "no thread for 6 of 10 sessions: pids.max (client): seen to be full");
    free(r);
}

TEST(test_dropped_by_a_limit)
{
    struct result *r = make_good();
    r->sessions.finished = 7;
    r->sessions.dropped = 3;
    add_cause(r, CAUSE_APPEND, "closed unexpectedly");
    add_finding(r, LIMIT_SERVER, "OOM kill");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT,
           "0 not sent: OOM kill (server): seen to be full");
    free(r);
}

TEST(test_refused_sessions)
{
    struct result *r = make_good();
    r->sessions.connected = r->sessions.finished = 4;
    r->sessions.refused = 6;
    r->rows.acknowledged = 400;
    r->rows.not_sent = 600;
    r->verification.rows_after = 405;
    add_cause(r, CAUSE_CONNECT, "too many clients");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SERVER, "too many clients");
    r->sessions.refused = 3;
    r->sessions.not_started = 3;
    add_cause(r, CAUSE_THREAD, "no thread");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_CLIENT_LIMIT, "no thread");
    free(r);
}

TEST(test_interrupted)
{
    struct result *r = make_good();
    r->stop_reason = STOP_INTERRUPTED;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_INTERRUPTED, "interrupted");
    free(r);
}

TEST(test_ledger_that_does_not_balance)
{
    struct result *r = make_good();
    r->rows.acknowledged = 999;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_INTERNAL, "does not balance");
    free(r);
}

/* The sessions and the recorder count each row; a lost rank's rows are known from its last
 * report. */
TEST(test_rows_that_are_counted_differently)
{
    static const enum recorder_counter counters[] = {
        RECORDER_ROWS_ACKNOWLEDGED, RECORDER_ROWS_REJECTED, RECORDER_ROWS_IN_DOUBT};
    struct result *r = make_good();
    EACH_CASE (i, counters, "counter %d", (int)counters[i]) {
        set_good(r);
        count_rows(r);
        r->totals.counters[counters[i]]++;
        result_judge(r, &local);
        assert_int_equal(r->exit_code, EXIT_CODE_INTERNAL);
        assert_string_equal(
            r->exit_reason,
            "a ledger does not balance: this is a defect of append, please report it");
    }
    struct rank_result ranks[2] = {{.machine = "a", .is_known = true}, {.machine = "b"}};
    ranks[1].rows = (struct row_ledger){.planned = 30, .acknowledged = 20, .in_doubt = 10};
    ranks[1].counters[RECORDER_ROWS_ACKNOWLEDGED] = 20;
    ranks[1].counters[RECORDER_ROWS_IN_DOUBT] = 3;
    set_good(r);
    r->ranks = ranks;
    r->rank_count = 2;
    r->rows.acknowledged -= 10;
    r->rows.in_doubt += 10;
    count_rows(r);
    r->totals.counters[RECORDER_ROWS_IN_DOUBT] = 3;
    result_judge(r, &local);
    assert_int_equal(r->exit_code, EXIT_CODE_SHORT);
    ranks[1].is_known = true;
    result_judge(r, &local);
    assert_int_equal(r->exit_code, EXIT_CODE_INTERNAL);
    free(r);
}

TEST(test_not_counted)
{
    struct result *r = make_good();
    r->verification.state = VERIFICATION_FAILED;
    snprintf(r->verification.reason, sizeof r->verification.reason, "server gone");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "server gone");
    const struct judge_context ended = {.is_local = true, .was_interrupted = true};
    expect(r, &ended, VERDICT_DEGRADED, EXIT_CODE_INTERRUPTED, "interrupted");
    free(r);
}

TEST(test_table_that_shrank)
{
    struct result *r = make_good();
    r->verification.rows_after = 3;
    verification_evaluate(&r->verification, &r->rows);
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT,
           "at least 997 acknowledged rows are lost, and the table has fewer rows");
    assert_string_equal(r->verdict_reason, r->exit_reason);
    assert_int_equal(r->verification.lost, 997);
    assert_int_equal(r->verification.lost_at_most, 1000);
    r->row_verification =
        (struct row_verification){.state = VERIFICATION_DONE, .read = 3, .present = 3, .lost = 997};
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "997 acknowledged rows are lost");
    r->row_verification.state = VERIFICATION_NONE;
    r->verification.rows_before = 5000;
    r->verification.rows_after = 4999;
    verification_evaluate(&r->verification, &r->rows);
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "this run's rows cannot be verified");
    free(r);
}

TEST(test_rows_that_a_count_cannot_distinguish)
{
    struct result *r = make_good();
    r->verification.rows_after = 1002;
    verification_evaluate(&r->verification, &r->rows);
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "up to 3 acknowledged rows are lost");
    r->verification.rows_before = 900;
    r->verification.rows_after = 920;
    verification_evaluate(&r->verification, &r->rows);
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "80 to 980 acknowledged rows are lost");
    r->rows.acknowledged = 15;
    r->rows.rejected = 985;
    verification_evaluate(&r->verification, &r->rows);
    assert_int_equal(r->verification.rejected_arrived, 5);
    assert_int_equal(result_surplus(r), 0);
    free(r);
}

TEST(test_failed_reads)
{
    struct result *r = make_good();
    r->totals.counters[RECORDER_READS_FAILED] = 2;
    add_cause(r, CAUSE_READ, "syntax error");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "2 reads failed: syntax error");
    r->sessions.finished = 9;
    r->sessions.dropped = 1;
    r->rows.acknowledged = 900;
    r->rows.not_sent = 100;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "100 not sent: syntax error");
    free(r);
}

/* With a duration, rows that were never begun are not counted. Batches are counted only with a
 * rate. */
TEST(test_not_sent_in_time)
{
    struct result *r = make_good();
    r->stop_reason = STOP_DURATION;
    r->sessions.finished = 8;
    r->sessions.stopped = 2;
    r->rows.acknowledged = 900;
    r->rows.in_doubt = 100;
    add_cause(r, CAUSE_RECONNECT, "refused");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT,
           "0 sessions dropped, 2 stopped, 0 rows rejected, 100 in doubt: refused");
    r->batches = (struct batch_ledger){.due = 16, .sent = 10, .not_sent = 6};
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "in doubt, 6 batches not sent: refused");
    add_finding(r, LIMIT_DATABASE, "max_connections");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, ": max_connections (database)");
    free(r);
}

TEST(test_doubts_without_an_exit_code)
{
    struct result *r = make_good();
    r->verification.surplus = 3;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK, "another writer was active");
    r->verification.surplus = 0;
    r->totals.counters[RECORDER_FRESH_BEHIND] = 2;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK, "2 counts missed rows");
    r->totals.counters[RECORDER_FRESH_BEHIND] = 0;
    r->totals.counters[RECORDER_FRESH_BACKWARD] = 1;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK, "1 had fewer rows than an earlier count");
    r->totals.counters[RECORDER_FRESH_BACKWARD] = 0;
    const struct judge_context rated = {.is_local = true, .rate_rows_per_s = 200};
    expect(r, &rated, VERDICT_DEGRADED, EXIT_CODE_OK, "50 % of the requested rate");
    free(r);
}

/* The run appends 1,000 rows in 10 s, which is 100 rows/s. */
TEST(test_rates)
{
    struct result *r = make_good();
    struct judge_context rated = {.is_local = true, .rate_rows_per_s = 105};
    expect(r, &rated, VERDICT_VALID, EXIT_CODE_OK, "every row"); /* 95.2 % of the rate */
    rated.rate_rows_per_s = 106;
    expect(r, &rated, VERDICT_DEGRADED, EXIT_CODE_OK, "only 94 % of the requested rate");
    r->rows.acknowledged = 400;
    r->rows.rejected = 600;
    rated.rate_rows_per_s = 100;
    expect(r, &rated, VERDICT_DEGRADED, EXIT_CODE_SHORT, "400 of 1,000 rows");
    assert_true(r->rate_achieved_percent == 40);
    free(r);
}

/* 1,000 random arrivals in 10 s have a standard deviation of 3.2 %. Three standard deviations are
 * allowed. */
TEST(test_random_arrivals)
{
    struct result *r = make_good();
    struct judge_context rated = {.is_local = true, .rate_rows_per_s = 115, .arrivals_per_s = 100};
    r->stop_reason = STOP_DURATION;
    expect(r, &rated, VERDICT_VALID, EXIT_CODE_OK, "every row"); /* 87 % of the rate */
    rated.rate_rows_per_s = 125;
    expect(r, &rated, VERDICT_DEGRADED, EXIT_CODE_OK, "only 80 % of the requested rate");
    /* a run of a fixed number of rows, whose last batch was due after 9.7 or 6 of the 10 s */
    rated.rate_rows_per_s = 200;
    r->last_due_ns = INT64_C(9700000000);
    r->stop_reason = STOP_COMPLETED;
    expect(r, &rated, VERDICT_VALID, EXIT_CODE_OK, "every row");
    r->last_due_ns = INT64_C(6000000000);
    expect(r, &rated, VERDICT_DEGRADED, EXIT_CODE_OK, "only 60 % of the requested rate");
    rated = (struct judge_context){.is_local = true, .rate_rows_per_s = 115};
    expect(r, &rated, VERDICT_DEGRADED, EXIT_CODE_OK, "only 87 % of the requested rate");
    free(r);
}

/* With a script, both the rate and the number of arrivals are those after the warm-up. */
TEST(test_random_arrivals_after_the_warm_up)
{
    struct scripted_run run;
    make_scripted(&run);
    struct judge_context paced = scripted;
    const double done = (double)run.result->totals.counters[RECORDER_TRANSACTIONS_COMMITTED];
    run.result->stop_reason = STOP_DURATION;
    run.result->measured_ns = INT64_C(2000000000);
    paced.rate_rows_per_s = done / 2 / 0.7; /* 70 % of the rate */
    paced.arrivals_per_s = 25;              /* 50 +- 7 arrivals */
    expect(run.result, &paced, VERDICT_VALID, EXIT_CODE_OK, "every transaction was committed");
    run.result->measured_ns = INT64_C(10000000000); /* now 250 +- 16 arrivals */
    paced.rate_rows_per_s = done / 10 / 0.7;
    expect(run.result, &paced, VERDICT_DEGRADED, EXIT_CODE_OK, "only 70 % of the requested rate");
    end_scripted(&run);
}

/* A condition of --stop-when is less serious than lost rows, but more serious than the sessions
 * that it stopped. */
TEST(test_stopped_by_a_condition)
{
    struct result *r = make_good();
    r->stop_reason = STOP_CONDITION;
    snprintf(r->stop_condition, sizeof r->stop_condition, "errors>5: 7");
    r->sessions.finished -= 1;
    r->sessions.stopped = 1;
    r->rows.acknowledged -= 100;
    r->rows.not_sent = 100;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_EXPECTATION,
           "stopped by --stop-when: errors>5: 7");
    struct judge_context refused = local;
    r->sessions.refused = 1;
    r->sessions.connected -= 1;
    r->sessions.finished -= 1;
    expect(r, &refused, VERDICT_DEGRADED, EXIT_CODE_SERVER, "stopped by --stop-when: errors>5: 7");
    r->sessions.refused = 0;
    r->sessions.connected += 1;
    r->sessions.finished += 1;
    r->resources.suspended_ns = INT64_C(2900000000);
    expect(r, &local, VERDICT_INVALID, EXIT_CODE_INVALID, "stopped by --stop-when: errors>5: 7");
    r->resources.suspended_ns = 0;
    r->verification = (struct verification){.state = VERIFICATION_DONE, .lost_at_most = 3};
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "lost");
    free(r);
}

TEST(test_a_setting_that_was_changed)
{
    struct result *r = make_good();
    assert_true(result_allocate_tables(r, 1, 1, false));
    struct host_result *host = &r->hosts[0];
    struct server_setting *before = &host->settings.entries[0],
                          *after = &host->settings_changed.entries[0];
    host->settings.count = host->settings_changed.count = 1;
    snprintf(before->name, sizeof before->name, "fsync");
    snprintf(before->value, sizeof before->value, "on");
    snprintf(after->name, sizeof after->name, "fsync");
    snprintf(after->value, sizeof after->value, "off");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK,
           "fsync changed during the run: on before, off after");
    result_free(r);
}

TEST(test_connections_that_were_reestablished)
{
    struct result *r = make_good();
    r->totals.counters[RECORDER_CONNECTIONS_LOST] = 7;
    r->totals.counters[RECORDER_RECONNECTS] = 7;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK,
           "7 connections were lost and re-established; 1,000 of 1,000 rows");
    r->rows.acknowledged = 300;
    r->rows.in_doubt = 700;
    add_cause(r, CAUSE_RECONNECT, "refused");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "700 in doubt, 0 not sent: refused");
    add_cause(r, CAUSE_APPEND, "hung up");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "700 in doubt, 0 not sent: hung up");
    r->rows = (struct row_ledger){.planned = 1000, .acknowledged = 1000};
    r->resources.mean_cpu.client = 60;
    r->resources.mean_cpu.server = 35;
    expect(r, &local, VERDICT_INVALID, EXIT_CODE_INVALID, "client-bound");
    free(r);
}

TEST(test_idle_sessions_that_died)
{
    struct result *r = make_good();
    r->sessions.finished = 8;
    r->sessions.dropped = 2;
    add_cause(r, CAUSE_IDLE, "gone");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "2 sessions dropped, 0 rows rejected");
    assert_non_null(strstr(r->exit_reason, ": gone"));
    free(r);
}

TEST(test_too_few_sessions)
{
    struct result *r = make_good();
    r->stop_reason = STOP_TOO_FEW;
    r->least_sessions = 10;
    r->sessions_up = 4;
    r->append_ns = 0;
    r->sessions =
        (struct session_ledger){.requested = 10, .connected = 4, .stopped = 4, .refused = 6};
    r->rows = (struct row_ledger){.planned = 1000, .not_sent = 1000};
    add_cause(r, CAUSE_CONNECT, "too many clients");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SERVER,
           "not started: only 4 of 10 sessions were up, but --min-sessions requires 10: too many");
    assert_non_null(strstr(r->verdict_reason, "only 4 of 10 sessions were up"));
    r->sessions.refused = 5;
    r->sessions.not_started = 1;
    add_cause(r, CAUSE_THREAD, "no thread");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_CLIENT_LIMIT, "requires 10: no thread");

    /* once sessions have worked, the exit line says why sessions were lost, and not why others
     * could not start or connect */
    r->append_ns = INT64_C(10000000000);
    r->sessions_up = 1;
    add_cause(r, CAUSE_APPEND, "hung up");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT,
           "stopped: only 1 of 10 sessions was up, but --min-sessions requires 10: hung up");
    free(r);
}

/* The result of reading back every row takes precedence over the counts before and after. */
TEST(test_rows_read_back)
{
    const struct row_verification all = {.state = VERIFICATION_DONE, .read = 1000, .present = 1000};
    struct result *r = make_good();
    r->row_verification = all;
    expect(r, &local, VERDICT_VALID, EXIT_CODE_OK, "every row");
    r->row_verification.lost = 3;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "3 acknowledged rows are lost");
    r->row_verification = all;
    r->row_verification.duplicates = 4;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK, "4 rows are in the table more than once");
    r->row_verification = all;
    r->verification.rows_after = 1008; /* this run sent 1,000 of them */
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK, "3 more rows than this run can have written");
    r->verification.rows_after = 1005;
    r->row_verification.foreign = 5;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK, "5 rows carry this run's tag");
    r->row_verification = all;
    r->row_verification.rejected_present = 6;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK, "6 rejected rows are in the table");
    r->row_verification = all;
    r->verification.lost_at_most = 7;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "another client deleted rows");
    r->verification.lost_at_most = 0;
    r->row_verification =
        (struct row_verification){.state = VERIFICATION_FAILED, .reason = "no way"};
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "the rows were not read back: no way");
    const struct judge_context interrupted = {.is_local = true, .was_interrupted = true};
    expect(r, &interrupted, VERDICT_DEGRADED, EXIT_CODE_INTERRUPTED, "read back");
    free(r);
}

/* A search that held 297 sessions and failed with 298. All its rows are in the table. */
struct made {
    struct level levels[1];
    struct search search;
    struct result result;
};

static struct made *make(void)
{
    static struct made made;
    memset(&made, 0, sizeof made);
    made.levels[0] = (struct level){
        .sessions = 298, .outcome = LEVEL_FAILED, .reason = LEVEL_REFUSED, .up = 297};
    made.search = (struct search){
        .count = 1, .levels = made.levels, .held = 297, .failed = 298, .end = SEARCH_FOUND};
    made.result.sessions =
        (struct session_ledger){.requested = 298, .connected = 297, .refused = 1, .finished = 297};
    made.result.rows = (struct row_ledger){.planned = 10, .acknowledged = 10};
    made.result.verification = (struct verification){.state = VERIFICATION_DONE, .rows_after = 10};
    return &made;
}

static void assert_judged(struct made *made, enum exit_code code, enum verdict verdict,
                          const char *words)
{
    judge_found(&made->search, &made->result, &(struct judge_context){.is_local = true});
    assert_int_equal(made->result.exit_code, code);
    assert_int_equal(made->result.verdict, verdict);
    assert_non_null(strstr(made->result.verdict_reason, words));
    assert_int_equal(made->result.exit_reason[0] != '\0', code != EXIT_CODE_OK);
}

TEST(test_a_maximum_is_a_result)
{
    assert_judged(make(), EXIT_CODE_OK, VERDICT_VALID, "297 sessions were held; 298 were not held");
}

TEST(test_a_search_that_breaks_a_claim)
{
    struct invariant_result claim = {.claim = "no gap", .state = VERIFICATION_DONE, .rows = 2};
    struct made *made = make();
    made->result.invariants = &claim;
    made->result.invariant_count = 1;
    assert_judged(made, EXIT_CODE_SHORT, VERDICT_DEGRADED, "1 of 1 invariants is broken: no gap");
    made->search.end = SEARCH_INTERRUPTED;
    assert_judged(made, EXIT_CODE_INTERRUPTED, VERDICT_DEGRADED, "interrupted: at least 297");
    claim = (struct invariant_result){.state = VERIFICATION_FAILED, .reason = "gone"};
    made = make();
    made->result.invariants = &claim;
    made->result.invariant_count = 1;
    assert_judged(made, EXIT_CODE_SHORT, VERDICT_DEGRADED, "could not be checked: gone");
}

/* A search judges the tables and the checks of its script as a run does. */
TEST(test_a_search_of_a_script)
{
    static const struct {
        struct verification table;
        enum search_end end;
        enum exit_code code;
        const char *words;
    } cases[] = {
        {{.state = VERIFICATION_DONE, .lost = 3},
         SEARCH_FOUND,
         EXIT_CODE_SHORT,
         "3 committed rows are lost"},
        {{.state = VERIFICATION_DONE, .surplus = 1},
         SEARCH_FOUND,
         EXIT_CODE_OK,
         "the tables have 1 more row than the run committed"},
        {{.state = VERIFICATION_FAILED, .reason = "no answer"},
         SEARCH_FOUND,
         EXIT_CODE_SHORT,
         "the rows were not counted after the search: no answer"},
        {{.state = VERIFICATION_FAILED, .reason = "no answer"},
         SEARCH_GONE,
         EXIT_CODE_SERVER,
         "the rows were not counted after the search: no answer"},
    };
    EACH_CASE (i, cases, "%s", cases[i].words) {
        struct verification table = cases[i].table;
        struct made *made = make();
        made->result.datasets = &table;
        made->result.dataset_count = 1;
        made->search.end = cases[i].end;
        assert_judged(made, cases[i].code, VERDICT_DEGRADED, cases[i].words);
    }
}

TEST(test_a_search_whose_transactions_do_not_balance)
{
    struct scripted_run run;
    make_scripted(&run);
    const struct made *made = make();
    judge_found(&made->search, run.result, &scripted);
    assert_int_equal(run.result->verdict, VERDICT_VALID);
    run.counts[COUNT_BEGUN]++;
    judge_found(&made->search, run.result, &scripted);
    assert_int_equal(run.result->exit_code, EXIT_CODE_INTERNAL);
    end_scripted(&run);
}

TEST(test_a_search_next_to_other_programs)
{
    struct made *made = make();
    made->levels[0].outcome = LEVEL_HELD;
    made->levels[0].cpu = (struct cpu_shares){100, 30, 5};
    assert_judged(made, EXIT_CODE_OK, VERDICT_DEGRADED, "CPUs at 1 of 1 levels");
    made->levels[0].cpu = (struct cpu_shares){100, 90, 5};
    assert_judged(made, EXIT_CODE_OK, VERDICT_VALID, "297 sessions were held");
}

/* If no row was acknowledged, the exit line does not claim that all rows were. */
TEST(test_no_row_was_acknowledged)
{
    struct result *r = make_good();
    r->rows = (struct row_ledger){0};
    memset(r->problems, 0, sizeof r->problems);
    result_add_problem(r, PROBLEM_FILES, EXIT_CODE_CLIENT_LIMIT, "the disk is full");
    result_set_exit(r);
    assert_string_equal(r->exit_reason, "the disk is full");
    free(r);
}

/* The figures may be right, but some of the files with their data are incomplete. */
TEST(test_files_are_short)
{
    struct result *r = make_good();
    const struct judge_context context = {.is_local = true};
    expect(r, &context, VERDICT_VALID, EXIT_CODE_OK, "every row was acknowledged");
    result_add_problem(r, PROBLEM_FILES, EXIT_CODE_CLIENT_LIMIT,
                       "files are incomplete: io.csv: full");
    for (int i = 0; i < 2; i++) {
        result_set_exit(r);
        assert_int_equal(r->verdict, VERDICT_DEGRADED);
        assert_string_equal(
            r->verdict_reason,
            "files are incomplete: io.csv: full; every row was acknowledged, and the "
            "table grew by the same number");
        assert_int_equal(r->exit_code, EXIT_CODE_CLIENT_LIMIT);
    }
    /* other problems are more serious */
    r->rows.acknowledged--;
    r->rows.rejected++;
    judge(r, &context);
    result_add_problem(r, PROBLEM_FILES, EXIT_CODE_CLIENT_LIMIT, "files are incomplete");
    result_set_exit(r);
    assert_string_equal(r->verdict_reason, "999 of 1,000 rows were acknowledged");
    free(r);
}

TEST(test_a_bound_is_a_result)
{
    static const enum search_end ends[] = {SEARCH_BOUND, SEARCH_MEMORY, SEARCH_TIME};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct made *made = make();
        made->search.end = ends[i];
        made->search.failed = 0;
        assert_judged(made, EXIT_CODE_OK, VERDICT_VALID, "no level failed: more may be possible");
        made->search.failed = 400;
        assert_judged(made, EXIT_CODE_OK, VERDICT_VALID, "levels in between were not tried");
    }
}

TEST(test_limit_side_when_no_level_held)
{
    struct made *made = make();
    made->search.held = 0;
    made->search.failed = 1;
    assert_judged(made, EXIT_CODE_SERVER, VERDICT_DEGRADED, "not even 1 session was held");
    made->levels[0].reason = LEVEL_NO_THREAD;
    assert_judged(made, EXIT_CODE_CLIENT_LIMIT, VERDICT_DEGRADED, "not even 1 session was held");

    /* a limit that was found takes precedence over the reason why the level failed */
    made->result.findings.count = 1;
    made->result.findings.entries[0] = (struct finding){
        .side = LIMIT_DATABASE, .name = "max_connections", .evidence = "1 allowed"};
    assert_judged(made, EXIT_CODE_SERVER, VERDICT_DEGRADED, "max_connections (database): 1");
    made->levels[0].reason = LEVEL_REFUSED;
    made->result.findings.entries[0] =
        (struct finding){.side = LIMIT_CLIENT, .name = "RLIMIT_NOFILE"};
    assert_judged(made, EXIT_CODE_CLIENT_LIMIT, VERDICT_DEGRADED, "RLIMIT_NOFILE (client)");
}

TEST(test_ended_before_anything_held)
{
    struct made *made = make();
    made->search.held = 0;
    made->search.failed = 0;
    made->search.end = SEARCH_TIME;
    assert_judged(made, EXIT_CODE_SHORT, VERDICT_DEGRADED, "the search was stopped by --max");
    made->search.end = SEARCH_MEMORY;
    assert_judged(made, EXIT_CODE_CLIENT_LIMIT, VERDICT_DEGRADED,
                  "the search was stopped by --max");
}

TEST(test_missing_rows)
{
    struct made *made = make();
    made->result.verification.lost = made->result.verification.lost_at_most = 3;
    assert_judged(made, EXIT_CODE_SHORT, VERDICT_DEGRADED, "3 acknowledged rows are lost");
    made = make();
    made->result.verification.state = VERIFICATION_FAILED;
    assert_judged(made, EXIT_CODE_SHORT, VERDICT_DEGRADED, "not counted");
    made->search.end = SEARCH_GONE;
    assert_judged(made, EXIT_CODE_SERVER, VERDICT_DEGRADED, "not counted");
    made = make();
    made->result.verification.is_shrunk = true;
    assert_judged(made, EXIT_CODE_SHORT, VERDICT_DEGRADED, "fewer rows");
    made = make();
    made->result.rows.planned++;
    assert_judged(made, EXIT_CODE_INTERNAL, VERDICT_DEGRADED, "does not balance");
}

TEST(test_ends_with_a_bad_server)
{
    struct made *made = make();
    made->search.end = SEARCH_GONE;
    assert_judged(made, EXIT_CODE_SERVER, VERDICT_DEGRADED, "then the server was gone");
    made->search.end = SEARCH_STUCK;
    assert_judged(made, EXIT_CODE_SHORT, VERDICT_DEGRADED, "then some sessions did not disconnect");
    made->search.end = SEARCH_INTERRUPTED;
    assert_judged(made, EXIT_CODE_INTERRUPTED, VERDICT_DEGRADED, "at least 297 sessions");
}

/* Only the first problem of each kind is kept. The most serious problem decides the exit code, and
 * the reason names all problems. */
TEST(test_problems)
{
    struct result *result = make_good();
    result_add_problem(result, PROBLEM_JUNIT, EXIT_CODE_CLIENT_LIMIT, "no %s", "junit");
    result_add_problem(result, PROBLEM_JUNIT, EXIT_CODE_CLIENT_LIMIT, "again");
    result_set_exit(result);
    assert_int_equal(result->exit_code, EXIT_CODE_CLIENT_LIMIT);
    assert_string_equal(result->exit_reason, "all rows were acknowledged, but no junit");
    /* as in a search that held its level although rows were rejected */
    result->rows.acknowledged--;
    result->rows.rejected++;
    result_set_exit(result);
    assert_string_equal(result->exit_reason, "no junit");
    result_add_problem(result, PROBLEM_EXPECTATION, EXIT_CODE_EXPECTATION, "too slow");
    result_set_exit(result);
    assert_int_equal(result->exit_code, EXIT_CODE_EXPECTATION);
    assert_string_equal(result->exit_reason, "too slow; also no junit");
    result_add_problem(result, PROBLEM_INTERRUPTED, EXIT_CODE_INTERRUPTED, "interrupted");
    result_set_exit(result);
    assert_int_equal(result->exit_code, EXIT_CODE_INTERRUPTED);
    assert_string_equal(result->exit_reason, "interrupted; also too slow; also no junit");
    /* a late signal does not hide the outcome of the run */
    result_add_problem(result, PROBLEM_RUN, EXIT_CODE_SHORT, "3 acknowledged rows are lost");
    result_set_exit(result);
    assert_int_equal(result->exit_code, EXIT_CODE_SHORT);
    assert_string_equal(result->exit_reason, "3 acknowledged rows are lost; also interrupted; also "
                                             "too slow; also no junit");
    char line[PROBLEM_BYTES];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    result_add_problem(result, PROBLEM_FILES, EXIT_CODE_CLIENT_LIMIT, "%s", line);
    result_set_exit(result);
    assert_int_equal(strlen(result->exit_reason), sizeof result->exit_reason - 1);
    assert_string_equal(result->exit_reason + sizeof result->exit_reason - sizeof "...", "...");
    free(result);
}

/* The counts of two hosts show whether the hosts are one database. Each host acknowledged 100 rows,
 * and no row is in doubt. */
TEST(test_hosts_are_joined)
{
    static const struct {
        uint64_t before[2], after[2];
        bool is_one;
        uint64_t joined_before, joined_after;
    } cases[] = {
        {{0, 0}, {200, 200}, true, 0, 200},  /* a cluster */
        {{7, 7}, {207, 207}, true, 7, 207},  /* a cluster that had rows before */
        {{0, 0}, {200, 180}, true, 0, 200},  /* one host lags */
        {{0, 0}, {150, 150}, true, 0, 150},  /* a cluster that lost a quarter */
        {{0, 0}, {100, 100}, false, 0, 200}, /* two databases, equal numbers of rows */
        {{0, 0}, {100, 90}, false, 0, 190},  /* two databases, 10 rows are lost */
        {{0, 0}, {100, 60}, false, 0, 160},  /* two databases, 40 rows are lost */
        {{0, 0}, {100, 101}, false, 0, 201}, /* two databases, another client added a row */
        {{0, 0}, {110, 110}, false, 0, 220},
        {{0, 0}, {200, 1}, false, 0, 201},    /* two databases: the run wrote to the first one */
        {{5, 9}, {105, 109}, false, 14, 214}, /* two databases: the counts differed before */
        {{1000, 0}, {1100, 100}, false, 1000, 1200},
    };
    static const uint64_t counters[RECORDER_COUNTERS] = {[RECORDER_ROWS_ACKNOWLEDGED] = 100};
    const struct row_change written = {200, 200};
    struct result *r = make_good();
    assert_true(result_allocate_tables(r, 2, 1, false));
    struct host_result *hosts = r->hosts;
    struct verification view = {.state = VERIFICATION_NONE};
    for (size_t i = 0; i < 2; i++) {
        snprintf(hosts[i].name, sizeof hosts[i].name, "%s", i == 0 ? "a:1" : "b:2");
        hosts[i].counters = counters;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t k = 0; k < 2; k++) {
            hosts[k].tables[0] = (struct table_count){
                .is_counted = true, .before = cases[i].before[k], .after = cases[i].after[k]};
        }
        r->are_hosts_known = false;
        result_join_hosts(r, 0, &written, &view);
        assert_int_equal(view.state, VERIFICATION_DONE);
        assert_int_equal(r->are_hosts_one, cases[i].is_one);
        assert_int_equal(view.rows_before, cases[i].joined_before);
        assert_int_equal(view.rows_after, cases[i].joined_after);
    }
    /* a cluster that lost rows, or two databases with another writer */
    for (size_t k = 0; k < 2; k++) {
        hosts[k].tables[0] = (struct table_count){.is_counted = true, .after = 130};
    }
    result_join_hosts(r, 0, &written, &view);
    assert_int_equal(view.state, VERIFICATION_FAILED);
    assert_string_equal(
        view.reason, "append cannot determine whether the hosts are one database: rows changed by "
                     "260 on all hosts, by 130 on one; run again with one host");
    r->are_hosts_known = false;
    /* a host that cannot be counted leaves its rows unknown, unless the other host has all rows */
    hosts[1].tables[0].is_counted = false;
    snprintf(hosts[1].reason, sizeof hosts[1].reason, "no answer");
    hosts[0].tables[0].before = 0;
    hosts[0].tables[0].after = 200;
    result_join_hosts(r, 0, &written, &view);
    assert_int_equal(view.state, VERIFICATION_DONE);
    assert_true(r->are_hosts_one);
    hosts[0].tables[0].after = 100;
    result_join_hosts(r, 0, &written, &view);
    assert_int_equal(view.state, VERIFICATION_FAILED);
    assert_string_equal(view.reason, "host b:2: no answer");
    result_free(r);
}

/* The tests below check the exact words of each reason, with the smallest count that gives this
 * reason. */
#define ALL_ROWS "every row was acknowledged, and the table grew by the same number"
#define ALL_TRANSACTIONS "every transaction was committed"

/* Expects the reason of the verdict and the exit line. If `exit` is NULL, both have the words
 * `verdict`. */
static void expect_words(struct result *result, const struct judge_context *context,
                         enum exit_code code, const char *verdict, const char *exit)
{
    judge(result, context);
    assert_string_equal(result->verdict_reason, verdict);
    assert_string_equal(result->exit_reason, exit == NULL ? verdict : exit);
    assert_int_equal(result->exit_code, code);
}

/* Expects a DEGRADED run that exits with 0. */
static void expect_doubt(struct result *result, const struct judge_context *context,
                         const char *verdict)
{
    expect_words(result, context, EXIT_CODE_OK, verdict, "");
    assert_int_equal(result->verdict, VERDICT_DEGRADED);
}

/* Expects the exit code and the beginnings of the verdict's reason and of the exit line. If `exit`
 * is NULL, both texts begin with `verdict`. Each test of the order adds problems, and each added
 * problem takes precedence over all earlier ones. */
static void expect_order(const struct result *result, enum exit_code code, const char *verdict,
                         const char *exit)
{
    assert_int_equal(result->exit_code, code);
    assert_memory_equal(result->verdict_reason, verdict, strlen(verdict));
    exit = exit == NULL ? verdict : exit;
    assert_memory_equal(result->exit_reason, exit, strlen(exit));
    assert_int_equal(result->exit_reason[0] == '\0', code == EXIT_CODE_OK);
}

static void expect_reason_order(struct result *result, const struct judge_context *context,
                                enum exit_code code, const char *verdict, const char *exit)
{
    judge(result, context);
    expect_order(result, code, verdict, exit);
}

TEST(test_order_of_the_rules)
{
    struct result *r = make_good();
    struct judge_context rated = {.is_local = true};
    uint64_t *counters = r->totals.counters;
    struct verification *v = &r->verification;
    struct row_verification *read = &r->row_verification;
    r->resources.mean_cpu = (struct cpu_shares){95, 2, 3};
    expect_reason_order(r, &rated, EXIT_CODE_OK, "all CPUs of this machine were busy", "");
    rated.rate_rows_per_s = 200;
    expect_reason_order(r, &rated, EXIT_CODE_OK, "only 50 % of the requested rate", "");
    counters[RECORDER_READS_FAILED] = 1;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "1 read failed", NULL);
    counters[RECORDER_FRESH_BEHIND] = 1;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "reads did not show", "1 read failed");
    read->state = VERIFICATION_DONE;
    read->read = 999;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "the table has 1 more row than this", "1 read");
    counters[RECORDER_BUSY_RETRIES] = 1;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "the table has 1 more row than were", "1 read");
    v->lost_at_most = 1;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "all rows of this run are in the table", NULL);
    read->rejected_present = 1;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "1 rejected row", "all rows of this run");
    read->foreign = 1;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "1 row carries", "all rows of this run");
    read->duplicates = 1;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "1 row is in the table",
                        "all rows of this run");
    v->lost_at_most = 0;
    read->state = VERIFICATION_FAILED;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "the rows were not read back", NULL);
    v->state = VERIFICATION_FAILED;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "the rows were not counted", NULL);
    r->rows = (struct row_ledger){0};
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "no row was acknowledged", NULL);
    r->rows = (struct row_ledger){.planned = 1000, .rejected = 1000};
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "0 of 1,000 rows",
                        "sessions or rows are missing");
    counters[RECORDER_REFUSALS] = 1;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "the server was read-only", "sessions or rows");
    counters[RECORDER_RECONNECTS] = 1;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "1 connection was lost", "sessions or rows");
    r->sessions.finished = 9;
    r->sessions.stopped = 1;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "only 9 of 10 sessions", "sessions or rows");
    r->sessions_cut = 1;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "1 of 10 sessions had no answer", NULL);
    add_cause(r, CAUSE_APPEND, "no privilege");
    r->causes.entries[0].status = STATUS_FATAL;
    expect_reason_order(r, &rated, EXIT_CODE_SERVER, "1 of 10 sessions had",
                        "the server refused every");
    r->stop_reason = STOP_CONDITION;
    expect_reason_order(r, &rated, EXIT_CODE_EXPECTATION, "stopped by --stop-when", NULL);
    r->resources.mean_cpu = (struct cpu_shares){95, 3, 90};
    expect_reason_order(r, &rated, EXIT_CODE_INVALID, "client-bound", "INVALID: client-bound");
    r->resources.suspended_ns = 1500000000;
    expect_reason_order(r, &rated, EXIT_CODE_INVALID, "append itself stood",
                        "INVALID: append itself");
    r->sessions.refused = 1;
    r->sessions.requested++;
    expect_reason_order(r, &rated, EXIT_CODE_SERVER, "append itself stood still",
                        "1 of 11 sessions");
    r->sessions.not_started = 1;
    r->sessions.requested++;
    add_cause(r, CAUSE_THREAD, "no thread");
    expect_reason_order(r, &rated, EXIT_CODE_CLIENT_LIMIT, "append itself stood still",
                        "no thread");
    rated.untraced = 1;
    expect_reason_order(r, &rated, EXIT_CODE_CLIENT_LIMIT, "the server counted 1 writes",
                        "no thread");
    r->stop_reason = STOP_RANK;
    expect_reason_order(r, &rated, EXIT_CODE_CLIENT_LIMIT, "a rank was lost", "no thread");
    v->lost_at_most = 1;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "up to 1 acknowledged row is lost", NULL);
    v->is_shrunk = true;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "the table has fewer rows than before", NULL);
    r->stop_reason = STOP_TOO_FEW;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "only 0 of 12 sessions were up",
                        "the table has");
    v->is_shrunk = false;
    expect_reason_order(r, &rated, EXIT_CODE_SHORT, "only 0 of 12 sessions were up", "up to 1 ack");
    r->stop_reason = STOP_INTERRUPTED;
    expect_reason_order(r, &rated, EXIT_CODE_INTERRUPTED, "the run was interrupted",
                        "interrupted: 0 of");
    r->sessions.requested++;
    expect_reason_order(r, &rated, EXIT_CODE_INTERNAL, "a ledger does not balance", NULL);
    free(r);
}

TEST(test_order_of_the_rules_with_a_script)
{
    struct invariant_result claim = {.claim = "no gap", .state = VERIFICATION_FAILED};
    struct verification tables[2] = {{.state = VERIFICATION_FAILED}, {.state = VERIFICATION_DONE}};
    struct scripted_run run;
    make_scripted(&run);
    struct result *r = run.result;
    uint64_t *counters = r->totals.counters;
    counters[RECORDER_RECONNECTS] = 1;
    expect_reason_order(r, &scripted, EXIT_CODE_OK, "1 connection was lost", "");
    counters[RECORDER_TRY_NS] = 1000;
    counters[RECORDER_SCRIPT_NS] = 110;
    expect_reason_order(r, &scripted, EXIT_CODE_OK, "the script's own code took 11 %", "");
    counters[RECORDER_CHECKS_FAILED] = 1;
    expect_reason_order(r, &scripted, EXIT_CODE_OK, "1 of 0 checks failed", "");
    counters[RECORDER_READS_FAILED] = 1;
    expect_reason_order(r, &scripted, EXIT_CODE_SHORT, "1 of 0 checks failed", "1 read failed");
    r->invariants = &claim;
    r->invariant_count = 1;
    expect_reason_order(r, &scripted, EXIT_CODE_SHORT, "1 of 1 invariants could not be", NULL);
    r->datasets = tables;
    r->dataset_count = COUNT_OF(tables);
    expect_reason_order(r, &scripted, EXIT_CODE_SHORT, "the rows were not counted", NULL);
    tables[1].surplus = 1;
    expect_reason_order(r, &scripted, EXIT_CODE_SHORT, "the tables have 1 more row",
                        "the rows were not");
    take_from_committed(&run, 100, COUNT_UNFINISHED);
    expect_reason_order(r, &scripted, EXIT_CODE_SHORT, "no transaction was committed", NULL);
    r->sessions.requested = 11;
    r->sessions.refused = 1;
    expect_reason_order(r, &scripted, EXIT_CODE_SERVER, "only 10 of 11 sessions",
                        "1 of 11 sessions");
    r->sessions.refused = 0;
    r->sessions.stopped = 1;
    r->sessions.connected = 11;
    expect_reason_order(r, &scripted, EXIT_CODE_SHORT, "only 10 of 11 sessions finished", NULL);
    run.counts[COUNT_UNFINISHED] = counters[RECORDER_TRANSACTIONS_UNFINISHED] = 90;
    run.counts[COUNT_FAILED] = counters[RECORDER_TRANSACTIONS_FAILED] = 10;
    counters[RECORDER_TRANSACTIONS_REFUSED] = 10;
    expect_reason_order(r, &scripted, EXIT_CODE_SHORT, "only 10 of 11",
                        "10 of 100 transactions failed");
    r->sessions.connected = r->sessions.requested = 10;
    r->sessions.stopped = 0;
    expect_reason_order(r, &scripted, EXIT_CODE_SHORT, "10 of 100 transactions failed", NULL);
    run.counts[COUNT_UNFINISHED] = counters[RECORDER_TRANSACTIONS_UNFINISHED] = 80;
    run.counts[COUNT_IN_DOUBT] = counters[RECORDER_TRANSACTIONS_IN_DOUBT] = 10;
    expect_reason_order(r, &scripted, EXIT_CODE_SHORT, "10 of 100 transactions are in doubt", NULL);
    counters[RECORDER_SCRIPT_NS] = 510;
    expect_reason_order(r, &scripted, EXIT_CODE_SHORT, "client-bound: the script's", "10 of 100");
    tables[1].lost = 3;
    r->stop_reason = STOP_SCRIPT;
    claim.rows = 1;
    expect_reason_order(r, &scripted, EXIT_CODE_USAGE, "3 committed rows are lost",
                        "the script has an");
    r->sessions.finished = 9;
    r->sessions.stopped = r->sessions_cut = 1;
    r->stop_reason = STOP_COMPLETED;
    tables[1].lost = claim.rows = 0;
    expect_reason_order(r, &scripted, EXIT_CODE_SHORT, "1 of 10 sessions had no answer", NULL);
    claim.rows = 1;
    expect_reason_order(r, &scripted, EXIT_CODE_SHORT, "1 of 10 sessions",
                        "1 of 1 invariants is broken");
    tables[1].lost = 3;
    r->sessions_cut = 0;
    expect_reason_order(r, &scripted, EXIT_CODE_SHORT, "only 9 of 10 sessions", "3 committed rows");
    r->stop_reason = STOP_TOO_FEW;
    expect_reason_order(r, &scripted, EXIT_CODE_SHORT, "only 0 of 10 sessions were up",
                        "3 committed");
    r->stop_reason = STOP_SCRIPT;
    r->sessions.finished = 10;
    r->sessions.stopped = 0;
    tables[1].lost = claim.rows = 0;
    expect_reason_order(r, &scripted, EXIT_CODE_USAGE, "the run stopped: error in the",
                        "the script has");
    run.counts[COUNT_BEGUN]++;
    expect_reason_order(r, &scripted, EXIT_CODE_INTERNAL, "a ledger does not balance", NULL);
    end_scripted(&run);
}

static void expect_ranked_search(struct made *made, enum exit_code code, const char *verdict,
                                 const char *exit)
{
    judge_found(&made->search, &made->result, &(struct judge_context){.is_local = true});
    expect_order(&made->result, code, verdict, exit);
}

TEST(test_order_of_the_rules_of_a_search)
{
    struct invariant_result claim = {.claim = "no gap", .state = VERIFICATION_FAILED};
    struct rank_result rank = {.machine = "b"};
    struct made *made = make();
    struct result *r = &made->result;
    made->levels[0].outcome = LEVEL_HELD;
    made->levels[0].cpu = (struct cpu_shares){100, 30, 5};
    expect_ranked_search(made, EXIT_CODE_OK, "297 sessions were held, but other programs", "");
    made->search.end = SEARCH_STUCK;
    expect_ranked_search(made, EXIT_CODE_SHORT, "297 sessions were held, then some", NULL);
    made->search.end = SEARCH_GONE;
    expect_ranked_search(made, EXIT_CODE_SERVER, "297 sessions were held, then the server", NULL);
    r->invariants = &claim;
    r->invariant_count = 1;
    expect_ranked_search(made, EXIT_CODE_SHORT, "1 of 1 invariants could not be checked", NULL);
    r->verification.is_shrunk = true;
    expect_ranked_search(made, EXIT_CODE_SHORT, "the table has fewer rows than before", NULL);
    r->verification.state = VERIFICATION_FAILED;
    expect_ranked_search(made, EXIT_CODE_SERVER, "the rows were not counted", NULL);
    made->search.held = 0;
    expect_ranked_search(made, EXIT_CODE_SERVER, "not even 298 sessions were held", NULL);
    r->resources.suspended_ns = 1500000000;
    expect_ranked_search(made, EXIT_CODE_INVALID, "append itself stood still for 1.5 s", NULL);
    r->verification.is_shrunk = false;
    claim.rows = 1;
    expect_ranked_search(made, EXIT_CODE_SHORT, "1 of 1 invariants is broken", NULL);
    r->verification.lost_at_most = 1;
    expect_ranked_search(made, EXIT_CODE_SHORT, "up to 1 acknowledged row", "1 of 1 invariants");
    r->ranks = &rank;
    r->rank_count = 1;
    expect_ranked_search(made, EXIT_CODE_SHORT, "rank 0 on machine b was lost", "1 of 1 inv");
    made->search.end = SEARCH_SCRIPT;
    expect_ranked_search(made, EXIT_CODE_SHORT, "the script has an error", "1 of 1 invariants");
    judge_found(&made->search, r,
                &(struct judge_context){.is_local = true, .was_interrupted = true});
    expect_order(r, EXIT_CODE_INTERRUPTED, "interrupted: at least 0 sessions", NULL);
    r->rows.planned++;
    expect_ranked_search(made, EXIT_CODE_INTERNAL, "a ledger does not balance", NULL);
}

TEST(test_bounds_of_client_bound)
{
    static const char half[] =
        "client-bound: sessions waited for a CPU of this machine 51 % of their time";
    static const struct {
        const struct judge_context *context;
        struct cpu_shares mean;
        double starved;
        const char *bound;
        enum verdict verdict;
        const char *words;
    } cases[] = {
        {&remote, {95, -1, 89.9}, 0, "", VERDICT_VALID, ALL_ROWS},
        {&remote,
         {95, -1, 90},
         0,
         "",
         VERDICT_INVALID,
         "client-bound: append itself used 90 % of this machine's CPUs"},
        {&local,
         {95, 4, 91},
         0,
         "",
         VERDICT_INVALID,
         "client-bound: append used 91 % of the CPUs, the server only 4 %"},
        {&local,
         {90, 30, 50},
         0,
         "",
         VERDICT_INVALID,
         "client-bound: append used 50 % of the CPUs, the server only 30 %"},
        {&local, {89.9, 30, 50}, 0, "", VERDICT_VALID, ALL_ROWS},
        {&local, {90, 45, 45}, 0, "", VERDICT_VALID, ALL_ROWS},
        {&local, {90, 10, 40}, 0, "", VERDICT_VALID, ALL_ROWS}, /* others used as much */
        {&local,
         {90, -1, 46},
         0,
         "",
         VERDICT_INVALID,
         "client-bound: append used 46 % of the CPUs, the server only 44 %"},
        {&local, {95, 60, -1}, 0.6, "", VERDICT_VALID, ALL_ROWS}, /* the client is unknown */
        {&local, {-1, 60, 95}, 0.6, "", VERDICT_VALID, ALL_ROWS},
        {&local,
         {99, 60, 0},
         0.51,
         "at nice 9",
         VERDICT_INVALID,
         "client-bound: sessions waited for a CPU of this machine 51 % of their time, and at nice "
         "9"},
        {&local, {99, 60, 20}, 0.5, "at nice 9", VERDICT_VALID, ALL_ROWS},
        {&local, {80, 49, 20}, 0.51, "", VERDICT_INVALID, half},
        {&local, {80, 49, 20}, 0.5, "", VERDICT_VALID, ALL_ROWS},
        {&local, {80, 50, 20}, 0.51, "", VERDICT_VALID, ALL_ROWS},
        {&remote, {89, 60, 20}, 0.51, "", VERDICT_INVALID, half},
        {&remote, {90, 60, 50}, 0.51, "", VERDICT_VALID, ALL_ROWS},
        {&local,
         {90, 25, 20},
         0,
         "",
         VERDICT_DEGRADED,
         "all CPUs of this machine were busy: server 25 %, other programs 45 %, append 20 %"},
        {&remote,
         {90, -1, 20},
         0,
         "",
         VERDICT_DEGRADED,
         "all CPUs of this machine were busy: other programs 70 %, append 20 %"},
        {&local, {89.9, 20, 20}, 0, "", VERDICT_VALID, ALL_ROWS},
        {&local, {90, 26, 20}, 0, "", VERDICT_VALID, ALL_ROWS},
        {&local, {90, 40, 25}, 0.51, "", VERDICT_VALID, ALL_ROWS},
        {&local, {90, 40, 24}, 0.5, "", VERDICT_VALID, ALL_ROWS},
        {&local,
         {90, 40, 24},
         0.51,
         "",
         VERDICT_DEGRADED,
         "all CPUs of this machine were busy: server 40 %, other programs 26 %, append 24 %"},
    };
    struct result *r = make_good();
    EACH_CASE (i, cases, "case %zu", i) {
        set_good(r);
        r->resources.mean_cpu = cases[i].mean;
        snprintf(r->resources.client_bound, sizeof r->resources.client_bound, "%s", cases[i].bound);
        r->totals.counters[RECORDER_SESSION_NS] = 1000;
        r->totals.counters[RECORDER_RUN_QUEUE_NS] = (uint64_t)(1000 * cases[i].starved);
        r->append_ns = INT64_C(1000000000);
        judge(r, cases[i].context);
        assert_string_equal(r->verdict_reason, cases[i].words);
        assert_int_equal(r->verdict, cases[i].verdict);
        if (cases[i].verdict == VERDICT_INVALID) {
            assert_int_equal(r->exit_code, EXIT_CODE_INVALID);
            assert_memory_equal(r->exit_reason, "INVALID: client-bound", 21);
        }
        r->append_ns--; /* too short to be judged */
        judge(r, cases[i].context);
        assert_string_equal(r->verdict_reason, ALL_ROWS);
    }
    free(r);
}

TEST(test_words_about_ranks)
{
    struct rank_result ranks[3] = {{.machine = "a"}, {.machine = "b"}, {.machine = "c"}};
    const struct judge_context there = {.out_folder = "out", .was_signalled = true};
    const struct judge_context here = {.out_folder = "out"};
    struct result *r = make_good();
    r->ranks = ranks;
    r->rank_count = 3;
    for (int i = 0; i < 3; i++) {
        ranks[i].is_known = true;
        ranks[i].resources.mean_cpu = (struct cpu_shares){-1, -1, -1};
    }
    ranks[1].resources.mean_cpu = (struct cpu_shares){95, 2, 3};
    ranks[1].hosts_here = 1;
    expect_doubt(r, &local,
                 "all CPUs of machine b were busy: server 2 %, other programs 90 %, append 3 %");
    /* if append cannot see the server, CPU time that append does not use counts for the server */
    ranks[1].resources.mean_cpu.server = -1;
    expect_words(r, &local, EXIT_CODE_OK, ALL_ROWS, "");
    ranks[1].resources.mean_cpu = (struct cpu_shares){-1, -1, -1};
    /* the waiting times of all ranks of one machine are joined, even if a rank of another machine
     * is between these ranks in the list */
    snprintf(ranks[2].machine, sizeof ranks[2].machine, "a");
    ranks[0].resources.mean_cpu = ranks[2].resources.mean_cpu = (struct cpu_shares){40, -1, 5};
    ranks[0].counters[RECORDER_SESSION_NS] = ranks[2].counters[RECORDER_SESSION_NS] = 1000;
    ranks[2].counters[RECORDER_RUN_QUEUE_NS] = 900;
    expect_words(r, &here, EXIT_CODE_OK, ALL_ROWS, "");
    snprintf(ranks[2].machine, sizeof ranks[2].machine, "c");
    expect(r, &here, VERDICT_INVALID, EXIT_CODE_INVALID, "machine c is client-bound: sessions");
    ranks[2].counters[RECORDER_RUN_QUEUE_NS] = 0;
    /* two ranks with a busy client on one machine, whose CPU shares add up */
    ranks[0].resources.mean_cpu = (struct cpu_shares){92, -1, 47};
    ranks[2].resources.mean_cpu = (struct cpu_shares){92, -1, 47};
    expect_words(r, &here, EXIT_CODE_OK, ALL_ROWS, "");
    snprintf(ranks[2].machine, sizeof ranks[2].machine, "a");
    expect_words(r, &here, EXIT_CODE_INVALID,
                 "machine a is client-bound: append itself used 94 % of its CPUs",
                 "INVALID: machine a is client-bound: append itself used 94 % of its CPUs");
    ranks[2].is_known = false;
    expect_words(r, &there, EXIT_CODE_SHORT, ALL_ROWS,
                 "rank 2 on machine a was lost after a signal: the figures include the work of its "
                 "sessions up to its last report; its intervals.csv is in out.rank2");
    set_good(r);
    r->ranks = ranks;
    r->rank_count = 3;
    r->stop_reason = STOP_RANK;
    expect_words(r, &here, EXIT_CODE_SHORT, "a rank was lost",
                 "rank 2 on machine a was lost: the figures include the work of its sessions up to "
                 "its last report; its intervals.csv is in out.rank2");
    ranks[2].verdict = VERDICT_INVALID; /* a lost rank has no verdict */
    expect_words(r, &here, EXIT_CODE_SHORT, "a rank was lost", r->exit_reason);
    r->stop_reason = STOP_COMPLETED;
    ranks[2].is_known = true;
    ranks[2].verdict = VERDICT_VALID;
    ranks[2].resources.mean_cpu.client = 0;
    ranks[1].clock_drift_ns = -110000000;
    ranks[1].clock_drift_error_ns = 10000000;
    expect_words(r, &here, EXIT_CODE_OK, ALL_ROWS, "");
    ranks[1].clock_drift_ns = -110000001;
    expect(r, &here, VERDICT_INVALID, EXIT_CODE_INVALID,
           "the clock of machine b, rank 1, moved by 110 ms against the clock of rank 0: the "
           "rank's intervals do not match the intervals of the other ranks");
    ranks[1].clock_drift_ns = 110000001;
    expect(r, &here, VERDICT_INVALID, EXIT_CODE_INVALID, "the clock of machine b, rank 1, moved");
    ranks[1].clock_drift_ns = 0;
    r->resources.suspended_ns = 1000000000;
    ranks[0].resources.suspended_ns = 1; /* the others did not stand still so long */
    ranks[1].resources.suspended_ns = 1000000000;
    ranks[2].resources.suspended_ns = 1000000000;
    ranks[2].is_known = false;
    judge(r, &here);
    assert_string_equal(r->verdict_reason,
                        "machine b, rank 1: append itself stood still for 1.0 s: the process was "
                        "stopped, or the machine slept or was paused");
    free(r);
}

TEST(test_words_about_the_end)
{
    struct scripted_run run;
    struct result *r = make_good();
    struct judge_context context = local;
    r->stop_reason = STOP_INTERRUPTED;
    r->rows.acknowledged = 999;
    r->rows.not_sent = 1;
    expect_words(r, &local, EXIT_CODE_INTERRUPTED, "the run was interrupted",
                 "interrupted: 999 of 1,000 rows acknowledged");
    make_scripted(&run);
    run.result->stop_reason = STOP_INTERRUPTED;
    expect_words(run.result, &scripted, EXIT_CODE_INTERRUPTED, "the run was interrupted",
                 "interrupted: 100 transactions were committed");
    take_from_committed(&run, 99, COUNT_ROLLED_BACK);
    expect_words(run.result, &scripted, EXIT_CODE_INTERRUPTED, "the run was interrupted",
                 "interrupted: 1 transaction was committed");
    end_scripted(&run);

    static const char defect[] =
        "a ledger does not balance: this is a defect of append, please report it";
    set_good(r);
    r->sessions.finished--;
    expect_words(r, &local, EXIT_CODE_INTERNAL, defect, NULL);
    set_good(r);
    r->rows.acknowledged--;
    expect_words(r, &local, EXIT_CODE_INTERNAL, defect, NULL);
    set_good(r);
    r->totals.counters[RECORDER_TRIES] = 1; /* counted only with a script */
    expect_words(r, &local, EXIT_CODE_OK, ALL_ROWS, "");
    expect_words(r, &scripted, EXIT_CODE_INTERNAL, defect, NULL);
    set_good(r);
    context.untraced = 1;
    expect_doubt(r, &context,
                 "the server counted 1 writes and syncs, but none was traced: --server-pid, "
                 "--server-cgroup or --container must name the server's process");
    context.untraced = 0;
    context.traced = "by eBPF";
    struct change changes[] = {{.what = "mark"}, {.what = "rate"}, {.what = "pause"}};
    r->changes = changes;
    r->change_count = 1;
    expect_words(r, &context, EXIT_CODE_OK, ALL_ROWS "; I/O was traced (by eBPF)", "");
    r->change_count = 2;
    expect_words(r, &context, EXIT_CODE_OK,
                 ALL_ROWS "; I/O was traced (by eBPF); steered: 1 change", "");
    context.traced = NULL;
    r->change_count = 3;
    expect_words(r, &context, EXIT_CODE_OK, ALL_ROWS "; steered: 2 changes", "");
    set_good(r);
    r->verification.state = VERIFICATION_NONE;
    expect_words(r, &local, EXIT_CODE_OK, "every session finished, every row was acknowledged", "");
    free(r);
}

/* The ledger of each statement and transaction must balance, and the sums of these ledgers must
 * equal the recorder's counters. */
TEST(test_ledgers_of_a_script)
{
    struct scripted_run run;
    make_scripted(&run);
    run.counts[COUNT_SENT] = 1;
    expect(run.result, &scripted, VERDICT_DEGRADED, EXIT_CODE_INTERNAL, "does not balance");
    run.counts[COUNT_ANSWERED] = 1;
    expect(run.result, &scripted, VERDICT_VALID, EXIT_CODE_OK, ALL_TRANSACTIONS);
    run.result->totals.warm_up[RECORDER_TRIES] = 1;
    expect(run.result, &scripted, VERDICT_DEGRADED, EXIT_CODE_INTERNAL, "does not balance");
    run.result->totals.warm_up[RECORDER_TRIES] = 0;
    run.counts[COUNT_BEGUN]--;
    run.counts[COUNT_COMMITTED]--;
    run.counts[COUNT_TRIES]--;
    expect(run.result, &scripted, VERDICT_DEGRADED, EXIT_CODE_INTERNAL, "does not balance");
    /* a lost rank reported sums, and no counts by name */
    struct rank_result ranks[2] = {{.machine = "a"}, {.machine = "b", .is_known = true}};
    ranks[0].counters[RECORDER_TRANSACTIONS_BEGUN] = ranks[0].counters[RECORDER_TRIES] = 1;
    ranks[0].counters[RECORDER_TRANSACTIONS_COMMITTED] = 1;
    ranks[1].counters[RECORDER_TRIES] = 7;
    run.result->ranks = ranks;
    run.result->rank_count = 2;
    const struct judge_context context = {.has_script = true, .out_folder = "out"};
    expect(run.result, &context, VERDICT_VALID, EXIT_CODE_SHORT, ALL_TRANSACTIONS);
    end_scripted(&run);
}

TEST(test_words_about_lost_rows)
{
    static const char unknown[] = "the table has fewer rows than before the run: another client "
                                  "deleted rows, and this run's rows cannot be verified";
    struct result *r = make_good();
    struct verification *v = &r->verification;
    v->lost_at_most = v->lost = 1;
    expect_words(r, &local, EXIT_CODE_SHORT, "1 acknowledged row is lost", NULL);
    v->lost_at_most = v->lost = 2;
    expect_words(r, &local, EXIT_CODE_SHORT, "2 acknowledged rows are lost", NULL);
    v->is_shrunk = true;
    expect_words(r, &local, EXIT_CODE_SHORT,
                 "at least 2 acknowledged rows are lost, and the table has fewer rows than before "
                 "the run: another client deleted rows",
                 NULL);
    v->lost = 1;
    expect_words(r, &local, EXIT_CODE_SHORT,
                 "at least 1 acknowledged row is lost, and the table has fewer rows than before "
                 "the run: another client deleted rows",
                 NULL);
    v->lost = 0;
    expect_words(r, &local, EXIT_CODE_SHORT, unknown, NULL);
    r->row_verification.state = VERIFICATION_DONE; /* every row was read back */
    v->lost_at_most = 1;
    expect_words(r, &local, EXIT_CODE_SHORT,
                 "all rows of this run are in the table, but the table has fewer rows than it "
                 "should: another client deleted rows",
                 NULL);
    v->lost_at_most = 0;
    v->is_shrunk = false;
    r->row_verification.read = 1000;
    expect_words(r, &local, EXIT_CODE_OK, ALL_ROWS, "");
    free(r);
}

TEST(test_words_about_too_few_sessions)
{
    struct result *r = make_good();
    r->stop_reason = STOP_TOO_FEW;
    r->least_sessions = 10;
    r->sessions_up = 4;
    r->append_ns = 0;
    r->sessions =
        (struct session_ledger){.requested = 10, .connected = 4, .stopped = 4, .timed_out = 6};
    r->rows = (struct row_ledger){.planned = 1000, .not_sent = 1000};
    static const char up[] = "only 4 of 10 sessions were up, but --min-sessions requires 10";
    expect_words(r, &local, EXIT_CODE_SERVER, up,
                 "not started: only 4 of 10 sessions were up, but --min-sessions requires 10");
    r->sessions.refused = 3;
    r->sessions.timed_out = 3;
    add_cause(r, CAUSE_CONNECT, "no");
    expect_words(r, &local, EXIT_CODE_SERVER, up,
                 "not started: only 4 of 10 sessions were up, but --min-sessions requires 10: no");
    r->sessions.refused = r->sessions.timed_out = 0;
    r->sessions.connected = r->sessions.stopped = 10;
    add_cause(r, CAUSE_IDLE, "gone");
    expect_words(
        r, &local, EXIT_CODE_SHORT, up,
        "not started: only 4 of 10 sessions were up, but --min-sessions requires 10: gone");
    r->append_ns = 1;
    r->sessions_up = 1;
    add_cause(r, CAUSE_THREAD, "no thread");
    expect_words(r, &local, EXIT_CODE_SHORT,
                 "only 1 of 10 sessions were up, but --min-sessions requires 10",
                 "stopped: only 1 of 10 sessions was up, but --min-sessions requires 10: gone");
    free(r);
}

TEST(test_words_about_sessions)
{
    static const char cut[] =
        "1 of 10 sessions had no answer when the run ended, and their connections were cut";
    struct scripted_run run;
    struct result *r = make_good();
    r->sessions.connected = r->sessions.finished = 9;
    r->sessions.timed_out = 1;
    expect_words(r, &local, EXIT_CODE_SERVER, "only 9 of 10 sessions finished",
                 "0 of 10 sessions were refused, 1 timed out");
    add_cause(r, CAUSE_STATEMENT, "no such table");
    expect_words(r, &local, EXIT_CODE_SERVER, "only 9 of 10 sessions finished",
                 "0 of 10 sessions were refused, 1 timed out: no such table");
    add_cause(r, CAUSE_CONNECT, "no");
    expect_words(r, &local, EXIT_CODE_SERVER, "only 9 of 10 sessions finished",
                 "0 of 10 sessions were refused, 1 timed out: no");
    r->sessions.timed_out = 0;
    r->sessions.refused = 1;
    expect_words(r, &local, EXIT_CODE_SERVER, "only 9 of 10 sessions finished",
                 "1 of 10 sessions were refused, 0 timed out: no");
    r->sessions.refused = 0;
    r->sessions.not_started = 1;
    add_cause(r, CAUSE_THREAD, "no thread");
    expect_words(r, &local, EXIT_CODE_CLIENT_LIMIT, "only 9 of 10 sessions finished", "no thread");
    add_finding(r, LIMIT_DATABASE, "max_connections");
    add_finding(r, LIMIT_CLIENT, "pids.max");
    add_finding(r, LIMIT_CLIENT, "memory");
    expect_words(r, &local, EXIT_CODE_CLIENT_LIMIT, "only 9 of 10 sessions finished",
                 "no thread for 1 of 10 sessions: pids.max (client): seen to be full");
    struct error *const thread = &r->causes.entries[r->causes.count - 1].error;
    thread->kind = ERROR_MEMORY; /* the session had a thread, but no memory */
    expect_words(r, &local, EXIT_CODE_CLIENT_LIMIT, "only 9 of 10 sessions finished", "no thread");
    /* refused sessions count as a client limit only if the first finding is a client limit */
    r->sessions.not_started = 0;
    r->sessions.refused = 1;
    expect_words(r, &local, EXIT_CODE_SERVER, "only 9 of 10 sessions finished",
                 "1 of 10 sessions were refused, 0 timed out: max_connections (database): seen to "
                 "be full");
    set_good(r);
    r->sessions.finished = 9;
    r->sessions.stopped = r->sessions_cut = 1;
    expect_words(r, &local, EXIT_CODE_SHORT, cut,
                 "1 of 10 sessions had no answer when the run ended, and their connections were "
                 "cut: 0 rows are in doubt");
    r->sessions.stopped = 0;
    r->sessions.dropped = 1; /* then the dropped session weighs more */
    expect_words(r, &local, EXIT_CODE_SHORT, cut,
                 "sessions or rows are missing: 1 session dropped, 0 rows rejected, 0 in doubt, 0 "
                 "not sent");

    make_scripted(&run);
    run.result->sessions.finished = 9;
    run.result->sessions.stopped = run.result->sessions_cut = 1;
    expect_words(run.result, &scripted, EXIT_CODE_SHORT, cut, NULL);
    add_cause(run.result, CAUSE_STATEMENT, "no answer");
    expect_words(run.result, &scripted, EXIT_CODE_SHORT, cut,
                 "1 of 10 sessions had no answer when the run ended, and their connections were "
                 "cut: no answer");
    run.result->sessions.stopped = 0;
    run.result->sessions.dropped = 1;
    expect_words(run.result, &scripted, EXIT_CODE_SHORT, cut,
                 "only 9 of 10 sessions finished, 1 dropped: no answer");
    run.result->sessions_cut = 0;
    add_finding(run.result, LIMIT_SERVER, "OOM kill");
    expect_words(run.result, &scripted, EXIT_CODE_SHORT, "only 9 of 10 sessions finished",
                 "only 9 of 10 sessions finished, 1 dropped: OOM kill (server): seen to be full");
    end_scripted(&run);
    free(r);
}

TEST(test_words_about_transactions)
{
    struct scripted_run run;
    make_scripted(&run);
    struct result *r = run.result;
    run.table.lost = 1;
    expect_words(r, &scripted, EXIT_CODE_SHORT, "1 committed row is lost", NULL);
    run.table.lost = 0;
    run.table.surplus = 1;
    expect_doubt(r, &scripted,
                 "the tables have 1 more row than the run committed: another writer was active, "
                 "or a statement adds rows that the script does not declare");
    run.table.state = VERIFICATION_NONE; /* the tables were not counted, and did not have to be */
    expect_words(r, &scripted, EXIT_CODE_OK, ALL_TRANSACTIONS, "");
    take_from_committed(&run, 1, COUNT_UNFINISHED);
    expect_words(r, &scripted, EXIT_CODE_OK,
                 "every finished transaction was committed; 1 was still running at the end of the "
                 "run",
                 "");
    take_from_committed(&run, 1, COUNT_ROLLED_BACK);
    run.counters[RECORDER_CHECKS] = run.counters[RECORDER_CHECKS_FAILED] = 1;
    expect_doubt(r, &scripted, "1 of 1 checks failed");
    run.counters[RECORDER_CHECKS_FAILED] = 0;
    expect_words(r, &scripted, EXIT_CODE_OK,
                 "every finished transaction was committed or rolled back on purpose; 1 was still "
                 "running at the end of the run",
                 "");
    run.counters[RECORDER_RECONNECTS] = 1;
    expect_doubt(r, &scripted, "1 connection was lost and re-established");
    run.counters[RECORDER_RECONNECTS] = 0;
    take_from_committed(&run, 1, COUNT_IN_DOUBT);
    expect_words(r, &scripted, EXIT_CODE_SHORT, "1 of 100 transactions is in doubt", NULL);
    add_cause(r, CAUSE_STATEMENT, "cut");
    expect_words(r, &scripted, EXIT_CODE_SHORT, "1 of 100 transactions is in doubt",
                 "1 of 100 transactions is in doubt: cut");
    /* refusals, however many, put no transaction in doubt */
    r->causes.entries[r->causes.count - 1].status = STATUS_LOST;
    add_cause(r, CAUSE_STATEMENT, "refused");
    r->causes.entries[r->causes.count - 1].count = 9;
    expect_words(r, &scripted, EXIT_CODE_SHORT, "1 of 100 transactions is in doubt",
                 "1 of 100 transactions is in doubt: cut");
    r->causes.count--;
    take_from_committed(&run, 1, COUNT_FAILED);
    run.counters[RECORDER_TRANSACTIONS_REFUSED] = 1;
    run.counts[COUNT_PARTIAL] = run.counters[RECORDER_TRANSACTIONS_PARTIAL] = 1;
    run.counts[COUNT_IN_DOUBT] = run.counters[RECORDER_TRANSACTIONS_IN_DOUBT] = 0;
    run.counts[COUNT_UNFINISHED] = run.counters[RECORDER_TRANSACTIONS_UNFINISHED] = 2;
    expect_words(r, &scripted, EXIT_CODE_SHORT,
                 "1 of 100 transactions failed; 1 of them left writes in the tables",
                 "1 of 100 transactions failed: cut");
    struct judge_context excused = scripted;
    excused.max_failed_percent = 1; /* a percentage of 0 excuses no failed transaction */
    expect_doubt(r, &excused, "1 of 100 transactions failed; 1 of them left writes in the tables");
    end_scripted(&run);

    make_scripted(&run);
    take_from_committed(&run, 100, COUNT_UNFINISHED);
    expect_words(run.result, &scripted, EXIT_CODE_SHORT, "no transaction was committed", NULL);
    add_cause(run.result, CAUSE_STATEMENT, "slow");
    expect_words(run.result, &scripted, EXIT_CODE_SHORT, "no transaction was committed",
                 "no transaction was committed: slow");
    run.result->sessions = (struct session_ledger){0};
    expect(run.result, &scripted, VERDICT_VALID, EXIT_CODE_OK, "every finished transaction");
    end_scripted(&run);
}

/* The tables that a script uses are added up. The first table that was not counted gives the
 * reason. */
TEST(test_words_about_tables)
{
    struct verification tables[3] = {
        {.state = VERIFICATION_DONE}, {.state = VERIFICATION_DONE}, {.state = VERIFICATION_DONE}};
    struct scripted_run run;
    make_scripted(&run);
    run.result->datasets = tables;
    run.result->dataset_count = 3;
    tables[0].surplus = tables[2].surplus = 1;
    tables[1].state = VERIFICATION_NONE;
    tables[1].surplus = 7;
    expect(run.result, &scripted, VERDICT_DEGRADED, EXIT_CODE_OK, "the tables have 2 more rows");
    tables[0] = tables[2] = (struct verification){.state = VERIFICATION_DONE, .lost = 2};
    tables[1].lost = 5;
    expect_words(run.result, &scripted, EXIT_CODE_SHORT, "4 committed rows are lost", NULL);
    tables[0] = (struct verification){.state = VERIFICATION_DONE};
    tables[1] = (struct verification){.state = VERIFICATION_FAILED, .reason = "gone"};
    tables[2] = (struct verification){.state = VERIFICATION_FAILED, .reason = "later"};
    expect_words(run.result, &scripted, EXIT_CODE_SHORT,
                 "the rows were not counted after the run: gone", NULL);
    struct judge_context context = scripted;
    context.was_interrupted = true;
    expect_words(run.result, &context, EXIT_CODE_INTERRUPTED,
                 "the rows were not counted after the run: gone",
                 "interrupted while the rows were being counted");
    end_scripted(&run);
}

TEST(test_words_about_invariants)
{
    struct invariant_result claims[3] = {{.claim = "a", .state = VERIFICATION_DONE},
                                         {.claim = "b", .state = VERIFICATION_DONE},
                                         {.claim = "c", .state = VERIFICATION_DONE}};
    struct scripted_run run;
    make_scripted(&run);
    struct result *r = run.result;
    r->invariants = claims;
    r->invariant_count = 3;
    claims[1].rows = 1;
    expect_words(r, &scripted, EXIT_CODE_SHORT, "1 of 3 invariants is broken: b (1 row)", NULL);
    claims[2].rows = 5;
    expect_words(r, &scripted, EXIT_CODE_SHORT, "2 of 3 invariants are broken: b (1 row)", NULL);
    claims[1] = (struct invariant_result){.state = VERIFICATION_FAILED, .reason = "no table"};
    claims[2] = (struct invariant_result){.state = VERIFICATION_FAILED, .reason = "no column"};
    expect_words(r, &scripted, EXIT_CODE_SHORT, "2 of 3 invariants could not be checked: no table",
                 NULL);
    r->invariant_count = 0;
    r->lacks_invariants = true;
    expect_words(r, &scripted, EXIT_CODE_SHORT,
                 "1 of 0 invariants could not be checked: out of memory", NULL);
    end_scripted(&run);
}

TEST(test_words_about_the_time_of_the_script)
{
    struct scripted_run run;
    make_scripted(&run);
    struct result *r = run.result;
    r->measured_ns = INT64_C(1000000000);
    run.counters[RECORDER_TRY_NS] = 1000;
    run.counters[RECORDER_SCRIPT_NS] = 100;
    expect_words(r, &scripted, EXIT_CODE_OK, ALL_TRANSACTIONS, "");
    run.counters[RECORDER_SCRIPT_NS] = 500;
    expect_doubt(r, &scripted, "the script's own code took 50 % of the transactions' time");
    run.counters[RECORDER_SCRIPT_NS] = 501;
    expect_words(r, &scripted, EXIT_CODE_INVALID,
                 "client-bound: the script's own code took 50 % of the transactions' time",
                 "INVALID: client-bound: the script's own code took 50 % of the transactions' "
                 "time");
    r->measured_ns--; /* too short to be judged */
    expect_words(r, &scripted, EXIT_CODE_OK, ALL_TRANSACTIONS, "");
    r->stop_reason = STOP_SCRIPT;
    add_cause(r, CAUSE_SCRIPT, "own.lua:1: a failed check");
    add_cause(r, CAUSE_APPEND, "fatal, but no error in the script");
    r->causes.entries[1].status = STATUS_FATAL;
    expect_words(r, &scripted, EXIT_CODE_USAGE, "the run stopped: error in the script",
                 "the script has an error"); /* the list of causes was full */
    add_cause(r, CAUSE_SCRIPT, "own.lua:3: a mistake");
    r->causes.entries[2].status = STATUS_FATAL;
    add_cause(r, CAUSE_SCRIPT, "own.lua:9: a later mistake");
    r->causes.entries[3].status = STATUS_FATAL;
    expect_words(r, &scripted, EXIT_CODE_USAGE, "the run stopped: error in the script",
                 "own.lua:3: a mistake");
    r->causes.entries[2].error.kind = ERROR_MEMORY;
    expect_words(r, &scripted, EXIT_CODE_CLIENT_LIMIT,
                 "the run stopped: out of memory for a script", "own.lua:3: a mistake");
    /* without another cause, the mistake also explains sessions that did not finish */
    r->stop_reason = STOP_COMPLETED;
    r->sessions.finished = 9;
    r->sessions.dropped = 1;
    r->causes.entries[1].phase = CAUSE_THREAD;
    expect_words(r, &scripted, EXIT_CODE_SHORT, "only 9 of 10 sessions finished",
                 "only 9 of 10 sessions finished, 1 dropped: own.lua:3: a mistake");
    end_scripted(&run);
}

TEST(test_words_about_missing_rows)
{
    static const char missing[] = "sessions or rows are missing: ";
    static const struct {
        struct row_ledger rows;
        uint64_t stopped, dropped, batches;
        enum stop_reason stop;
        const char *words;
    } cases[] = {
        {{1000, 999, 1, 0, 0},
         0,
         0,
         0,
         STOP_COMPLETED,
         "0 sessions dropped, 1 row rejected, 0 in doubt, 0 not sent"},
        {{1000, 998, 0, 2, 0},
         1,
         0,
         0,
         STOP_COMPLETED,
         "0 sessions dropped, 1 stopped, 0 rows rejected, 2 in doubt, 0 not sent"},
        {{1000, 999, 0, 0, 1},
         0,
         1,
         0,
         STOP_DURATION,
         "1 session dropped, 0 rows rejected, 0 in doubt, 1 not sent"},
        {{1000, 999, 0, 0, 1},
         0,
         2,
         5,
         STOP_DURATION,
         "2 sessions dropped, 0 rows rejected, 0 in doubt, 1 not sent"},
        {{1000, 998, 2, 0, 0},
         0,
         0,
         0,
         STOP_DURATION,
         "0 sessions dropped, 2 rows rejected, 0 in doubt"},
        {{1000, 998, 2, 0, 0},
         0,
         0,
         0,
         STOP_CONTROL,
         "0 sessions dropped, 2 rows rejected, 0 in doubt"},
        {{1000, 998, 2, 0, 0},
         0,
         0,
         1,
         STOP_CONTROL,
         "0 sessions dropped, 2 rows rejected, 0 in doubt, 1 batch not sent"},
        {{1000, 998, 2, 0, 0},
         0,
         0,
         2,
         STOP_COMPLETED,
         "0 sessions dropped, 2 rows rejected, 0 in doubt, 2 batches not sent"},
    };
    struct result *r = make_good();
    EACH_CASE (i, cases, "case %zu", i) {
        set_good(r);
        r->rows = cases[i].rows;
        r->sessions.stopped = cases[i].stopped;
        r->sessions.dropped = cases[i].dropped;
        r->sessions.finished -= cases[i].stopped + cases[i].dropped;
        r->batches.not_sent = cases[i].batches;
        r->stop_reason = cases[i].stop;
        judge(r, &local);
        assert_memory_equal(r->exit_reason, missing, sizeof missing - 1);
        assert_string_equal(r->exit_reason + sizeof missing - 1, cases[i].words);
        assert_int_equal(r->exit_code, EXIT_CODE_SHORT);
    }
    set_good(r);
    r->rows = (struct row_ledger){.planned = 1000, .rejected = 1000};
    expect_words(r, &local, EXIT_CODE_SHORT, "0 of 1,000 rows were acknowledged",
                 "sessions or rows are missing: 0 sessions dropped, 1,000 rows rejected, 0 in "
                 "doubt, 0 not sent");
    add_cause(r, CAUSE_CONNECT, "another phase");
    add_cause(r, CAUSE_APPEND, "not fatal");
    add_cause(r, CAUSE_APPEND, "out of memory");
    add_cause(r, CAUSE_APPEND, "no privilege");
    r->causes.entries[0].status = r->causes.entries[2].status = r->causes.entries[3].status =
        STATUS_FATAL;
    r->causes.entries[2].error.kind = ERROR_MEMORY; /* a fault of append, not of the server */
    expect_words(r, &local, EXIT_CODE_SHORT, "0 of 1,000 rows were acknowledged",
                 "sessions or rows are missing: 0 sessions dropped, 1,000 rows rejected, 0 in "
                 "doubt, 0 not sent: not fatal");
    r->causes.entries[2].error.kind = ERROR_SERVER;
    expect_words(r, &local, EXIT_CODE_SERVER, "0 of 1,000 rows were acknowledged",
                 "the server refused every append: out of memory");
    r->rows.acknowledged = 1;
    r->rows.rejected = 999;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "sessions or rows are missing");
    set_good(r);
    r->rows = (struct row_ledger){0};
    r->verification.state = VERIFICATION_NONE;
    expect_words(r, &local, EXIT_CODE_SHORT, "no row was acknowledged", NULL);
    r->sessions.requested = r->sessions.connected = r->sessions.finished = 0;
    expect_words(r, &local, EXIT_CODE_SHORT, "every session finished, every row was acknowledged",
                 "no row was acknowledged");
    free(r);
}

TEST(test_words_about_doubtful_rows)
{
    struct result *r = make_good();
    uint64_t *counters = r->totals.counters;
    counters[RECORDER_RECONNECTS] = 1;
    expect_doubt(r, &local,
                 "1 connection was lost and re-established; 1,000 of 1,000 rows were acknowledged");
    counters[RECORDER_RECONNECTS] = 0;
    counters[RECORDER_REFUSALS] = 1;
    expect_doubt(r, &local,
                 "the server was read-only and refused 1 batch; 1,000 of 1,000 rows were "
                 "acknowledged");
    counters[RECORDER_REFUSALS] = 2;
    expect_doubt(r, &local,
                 "the server was read-only and refused 2 batches; 1,000 of 1,000 rows were "
                 "acknowledged");
    counters[RECORDER_REFUSALS] = 0;
    r->verification.rejected_arrived = 1;
    expect_doubt(r, &local, "1 rejected row is in the table");
    r->verification.rejected_arrived = 2;
    expect_doubt(r, &local, "2 rejected rows are in the table");
    r->verification.rejected_arrived = 0;
    r->verification.surplus = 1;
    expect_doubt(
        r, &local,
        "the table has 1 more row than this run can have written: another writer was active");
    counters[RECORDER_BUSY_RETRIES] = 1;
    expect_doubt(r, &local,
                 "the table has 1 more row than were acknowledged: either rows of the 1 batch "
                 "that append sent again, because the database was busy, are stored twice, or "
                 "another writer was active");
    r->verification.surplus = counters[RECORDER_BUSY_RETRIES] = 2;
    expect_doubt(r, &local,
                 "the table has 2 more rows than were acknowledged: either rows of the 2 batches "
                 "that append sent again, because the database was busy, are stored twice, or "
                 "another writer was active");
    r->verification.surplus = counters[RECORDER_BUSY_RETRIES] = 0;
    r->row_verification.state = VERIFICATION_DONE;
    r->row_verification.read = 1000;
    r->verification.rejected_arrived = 1; /* rows that were read back say more */
    expect_words(r, &local, EXIT_CODE_OK, ALL_ROWS, "");
    r->row_verification.duplicates = 1;
    expect_doubt(r, &local, "1 row is in the table more than once");
    r->row_verification.duplicates = 0;
    r->row_verification.foreign = 1;
    expect_doubt(r, &local, "1 row carries this run's tag, but this run did not send it");
    r->row_verification.foreign = 2;
    expect_doubt(r, &local, "2 rows carry this run's tag, but this run did not send them");
    r->row_verification.foreign = 0;
    r->row_verification.rejected_present = 1;
    expect_doubt(r, &local, "1 rejected row is in the table");
    r->row_verification = (struct row_verification){.state = VERIFICATION_FAILED, .reason = "no"};
    expect_words(r, &local, EXIT_CODE_SHORT, "the rows were not read back: no", NULL);
    struct judge_context context = local;
    context.was_interrupted = true;
    expect_words(r, &context, EXIT_CODE_INTERRUPTED, "the rows were not read back: no",
                 "interrupted while the rows were being read back");
    free(r);
}

TEST(test_words_about_reads)
{
    struct result *r = make_good();
    uint64_t *counters = r->totals.counters;
    counters[RECORDER_FRESH_BEHIND] = counters[RECORDER_FRESH_BACKWARD] = 1;
    expect_doubt(r, &local,
                 "reads did not show acknowledged rows: 1 count missed rows, 1 had fewer rows "
                 "than an earlier count");
    counters[RECORDER_FRESH_BACKWARD] = 0;
    expect_doubt(r, &local,
                 "reads did not show acknowledged rows: 1 count missed rows, 0 had fewer rows "
                 "than an earlier count");
    counters[RECORDER_FRESH_BEHIND] = 0;
    counters[RECORDER_READS_FAILED] = 1;
    expect_words(r, &local, EXIT_CODE_SHORT, "1 read failed", NULL);
    add_cause(r, CAUSE_READ, "no");
    expect_words(r, &local, EXIT_CODE_SHORT, "1 read failed", "1 read failed: no");
    free(r);
}

TEST(test_bounds_of_rates)
{
    struct scripted_run run;
    struct result *r = make_good();
    struct judge_context rated = {.is_local = true, .rate_rows_per_s = 1000};
    r->append_ns = INT64_C(1000000000);
    judge(r, &rated);
    assert_true(r->rate_achieved_percent == 100);
    r->append_ns--; /* too short to be judged */
    judge(r, &rated);
    assert_true(r->rate_achieved_percent == -1);
    rated.arrivals_per_s = 100;
    r->last_due_ns = r->append_ns * 2;
    judge(r, &rated);
    assert_true(r->rate_achieved_percent == -1);
    r->append_ns++;
    judge(r, &rated);
    assert_true(r->rate_achieved_percent == 100); /* at most */
    rated = (struct judge_context){.is_local = true, .rate_rows_per_s = 1};
    r->append_ns = INT64_C(10000000000);
    judge(r, &rated);
    assert_true(r->rate_achieved_percent == 10000);
    r->rows.acknowledged = r->rows.planned = 95;
    rated.rate_rows_per_s = 10; /* 95 %: enough */
    expect_words(r, &rated, EXIT_CODE_OK, ALL_ROWS, "");
    r->rows.acknowledged = r->rows.planned = 0;
    r->sessions = (struct session_ledger){0};
    judge(r, &rated);
    assert_string_equal(r->verdict_reason, "only 0 % of the requested rate was reached");

    make_scripted(&run);
    rated = (struct judge_context){.has_script = true, .rate_rows_per_s = 200};
    run.result->measured_ns = INT64_C(1000000000);
    take_from_committed(&run, 10, COUNT_ROLLED_BACK); /* these also count */
    expect_doubt(run.result, &rated, "only 50 % of the requested rate was reached");
    rated.has_group_rates = true;
    rated.rated_done = 60;
    expect_doubt(run.result, &rated, "only 30 % of the requested rate was reached");
    run.result->measured_ns--;
    judge(run.result, &rated);
    assert_true(run.result->rate_achieved_percent == -1);
    end_scripted(&run);
    free(r);
}

TEST(test_words_of_a_condition)
{
    struct result *r = make_good();
    r->stop_reason = STOP_CONDITION;
    snprintf(r->stop_condition, sizeof r->stop_condition, "errors>5: 7");
    expect_words(r, &local, EXIT_CODE_EXPECTATION, "stopped by --stop-when: errors>5: 7", NULL);
    r->resources.mean_cpu = (struct cpu_shares){95, 4, 91};
    expect_words(r, &local, EXIT_CODE_INVALID,
                 "client-bound: append used 91 % of the CPUs, the server only 4 %",
                 "INVALID: client-bound: append used 91 % of the CPUs, the server only 4 %; "
                 "stopped by --stop-when: errors>5: 7");
    free(r);
}

static void expect_search(struct made *made, enum exit_code code, const char *words)
{
    judge_found(&made->search, &made->result, &(struct judge_context){.is_local = true});
    assert_string_equal(made->result.verdict_reason, words);
    assert_string_equal(made->result.exit_reason, code == EXIT_CODE_OK ? "" : words);
    assert_int_equal(made->result.exit_code, code);
}

TEST(test_words_of_a_search)
{
    struct rank_result ranks[2] = {{.machine = "a", .is_known = true}, {.machine = "b"}};
    struct made *made = make();
    made->search.held = 1;
    made->search.failed = 2;
    expect_search(made, EXIT_CODE_OK, "1 session was held; 2 were not held");
    made->search.end = SEARCH_TIME;
    expect_search(made, EXIT_CODE_OK,
                  "1 session was held; 2 were not held; the levels in between were not tried");
    made->search.failed = 0;
    expect_search(made, EXIT_CODE_OK,
                  "1 session was held, and no level failed: more may be possible");
    made->search.end = SEARCH_GONE;
    expect_search(made, EXIT_CODE_SERVER, "1 session was held, then the server was gone");
    made->search.end = SEARCH_STUCK;
    expect_search(made, EXIT_CODE_SHORT,
                  "1 session was held, then some sessions did not disconnect");
    made->search.end = SEARCH_INTERRUPTED;
    expect_search(made, EXIT_CODE_INTERRUPTED, "interrupted: at least 1 session was held");
    made->search.end = SEARCH_TIME;
    judge_found(&made->search, &made->result,
                &(struct judge_context){.is_local = true, .was_interrupted = true});
    assert_string_equal(made->result.exit_reason, "interrupted: at least 1 session was held");
    made->search.end = SEARCH_SCRIPT;
    expect_search(made, EXIT_CODE_USAGE, "the script has an error");
    made->search.end = SEARCH_RANK_LOST;
    made->result.ranks = ranks;
    made->result.rank_count = 2;
    expect_search(made, EXIT_CODE_SHORT,
                  "rank 1 on machine b was lost; 1 session was held before that");
    made->result.rank_count = 1;
    made->result.verification.lost = made->result.verification.lost_at_most = 1;
    expect_search(made, EXIT_CODE_SHORT, "1 acknowledged row is lost");
    made->result.verification = (struct verification){.state = VERIFICATION_DONE};
    made->result.resources.suspended_ns = 1500000000;
    expect_search(made, EXIT_CODE_INVALID,
                  "append itself stood still for 1.5 s: the process was stopped, or the machine "
                  "slept or was paused");
    made->result.resources.suspended_ns = 0;
    made->search.held = 0;
    made->search.end = SEARCH_TIME;
    expect_search(made, EXIT_CODE_SHORT,
                  "no level was held: the search was stopped by --max-time, "
                  "not by the server");
    made->search.end = SEARCH_MEMORY;
    expect_search(made, EXIT_CODE_CLIENT_LIMIT,
                  "no level was held: the search was stopped by --max-memory, not by the server");
    made->search.failed = 1;
    expect_search(made, EXIT_CODE_SERVER, "not even 1 session was held: no session could append");
    struct causes *causes = calloc(1, sizeof *causes);
    assert_non_null(causes);
    causes->count = 1;
    causes->entries[0] = (struct cause){.phase = CAUSE_CONNECT, .count = 1};
    error_set(&causes->entries[0].error, ERROR_SERVER, 0, NULL, "too many clients");
    made->levels[0].causes = causes;
    made->search.failed = 2;
    expect_search(made, EXIT_CODE_SERVER, "not even 2 sessions were held: too many clients");
    free(causes);
    made = make();
    made->result.verification.state = VERIFICATION_FAILED;
    snprintf(made->result.verification.reason, sizeof made->result.verification.reason, "no");
    expect_search(made, EXIT_CODE_SHORT, "the rows were not counted after the search: no");
    made->result.verification.state = VERIFICATION_NONE;
    expect_search(made, EXIT_CODE_OK, "297 sessions were held; 298 were not held");
    made->result.verification.is_shrunk = true;
    /* the rows that another client deleted are reported instead */
    made->result.verification.lost_at_most = 1;
    expect_search(made, EXIT_CODE_SHORT,
                  "the table has fewer rows than before the search: another client deleted rows");
}

TEST(test_words_about_levels_next_to_other_programs)
{
    struct level levels[4] = {
        {.outcome = LEVEL_HELD, .cpu = {100, 30, 5}},
        {.outcome = LEVEL_HELD, .cpu = {100, 30, 5}},
        {.outcome = LEVEL_HELD, .cpu = {100, 90, 5}},
        {.outcome = LEVEL_FAILED, .cpu = {100, 30, 5}},
    };
    struct made *made = make();
    made->search.levels = levels;
    made->search.count = 4;
    made->search.failure = 3;
    expect_search(made, EXIT_CODE_OK,
                  "297 sessions were held, but other programs used most of this machine's CPUs at "
                  "2 of 3 levels: rows/s and the knee do not describe the server");
    assert_int_equal(made->result.verdict, VERDICT_DEGRADED);
    /* another rank sees the server on its machine */
    struct rank_result ranks[2] = {{.is_known = true}, {.is_known = true}};
    made->result.ranks = ranks;
    made->result.rank_count = 2;
    judge_found(&made->search, &made->result, &remote);
    assert_non_null(
        strstr(made->result.verdict_reason, "most of a machine's CPUs at 2 of 3 levels"));
    for (size_t i = 0; i < 4; i++) {
        levels[i].cpu.server = -1;
    }
    judge_found(&made->search, &made->result, &remote); /* now nothing was used by the server */
    assert_non_null(strstr(made->result.verdict_reason, "at 3 of 3 levels"));
}
