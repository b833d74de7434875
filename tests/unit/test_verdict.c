/* The verdict and the exit code of runs and of searches. */
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/levels.h"
#include "measure/result.h"

static const struct judge_context local = {.is_local = true};
static const struct judge_context remote = {.is_local = false};
static const struct judge_context embedded = {.is_local = true, .is_embedded = true};

/* Makes a run of 10 sessions and 1,000 rows without a problem. */
static struct result *make_good(void)
{
    struct result *result = calloc(1, sizeof *result);
    assert_non_null(result);
    result->elapsed_ns = result->append_ns = INT64_C(10000000000);
    result->sessions = (struct session_ledger){.requested = 10, .connected = 10, .finished = 10};
    result->rows = (struct row_ledger){.planned = 1000, .acknowledged = 1000};
    result->verification =
        (struct verification){.state = VERIFICATION_DONE, .rows_before = 5, .rows_after = 1005};
    result->resources.mean_cpu.host = 95;
    result->resources.mean_cpu.server = 80;
    result->resources.mean_cpu.client = 10;
    return result;
}

/* Judges the result, and expects `words` in the reason of the verdict or of the exit code. */
static void expect(struct result *result, const struct judge_context *context, enum verdict verdict,
                   enum exit_code code, const char *words)
{
    result_judge(result, context);
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

/* Ranks on the same machine are judged together, and with everything that runs on the machine. */
TEST(test_ranks)
{
    struct rank_result ranks[3] = {{.machine = "a"}, {.machine = "b"}, {.machine = "b"}};
    struct result *r = make_good();
    r->ranks = ranks;
    r->rank_count = 3;
    for (int i = 0; i < 3; i++) {
        ranks[i].is_known = true;
        ranks[i].resources.mean_cpu = (struct cpu_shares){95, -1, 40};
        ranks[i].counters[RECORDER_SESSION_NS] = 1000;
    }
    expect(r, &local, VERDICT_VALID, EXIT_CODE_OK, "every row");
    ranks[1].resources.mean_cpu.client = ranks[2].resources.mean_cpu.client = 46;
    expect(r, &remote, VERDICT_INVALID, EXIT_CODE_INVALID,
           "machine b is client-bound: append itself used 92 %");
    /* the server is on the machine of rank 1 and used more CPU time than the rank */
    ranks[1].resources.server_pid = 7;
    ranks[1].resources.mean_cpu = (struct cpu_shares){99, 60, 19};
    ranks[2].resources.mean_cpu = (struct cpu_shares){99, -1, 19};
    expect(r, &remote, VERDICT_VALID, EXIT_CODE_OK, "every row");
    ranks[2].counters[RECORDER_RUN_QUEUE_NS] = 1900;
    ranks[1].resources.mean_cpu.server = 40;
    expect(r, &remote, VERDICT_VALID, EXIT_CODE_OK, "every row"); /* the server used the most CPU */
    ranks[1].resources.mean_cpu.server = 37;
    expect(r, &remote, VERDICT_INVALID, EXIT_CODE_INVALID,
           "machine b is client-bound: append used 38 % of the CPUs, the server only 37 %");
    ranks[1].resources.mean_cpu = (struct cpu_shares){80, 30, 19};
    ranks[2].resources.mean_cpu = (struct cpu_shares){80, -1, 19};
    expect(r, &remote, VERDICT_INVALID, EXIT_CODE_INVALID,
           "machine b is client-bound: sessions waited for a CPU of this machine 95 %");
    ranks[2].counters[RECORDER_RUN_QUEUE_NS] = 0;
    ranks[0].verdict = VERDICT_INVALID;
    snprintf(ranks[0].verdict_reason, sizeof ranks[0].verdict_reason, "it stood still");
    expect(r, &remote, VERDICT_INVALID, EXIT_CODE_INVALID, "machine a, rank 0: it stood still");
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

/* Broken claims about the script's tables weigh as lost rows do. */
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

TEST(test_lost_rows_weigh_more_than_refused_sessions)
{
    struct result *r = make_good();
    r->sessions.connected = r->sessions.finished = 9;
    r->sessions.refused = 1;
    r->rows.acknowledged = 900;
    r->rows.not_sent = 100;
    r->verification.rows_after = 900;
    verification_evaluate(&r->verification, &r->rows);
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "5 acknowledged rows are lost");
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
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK, "1 went backwards");
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

/* 1,000 random arrivals in 10 s have a standard deviation of 3.2 %; three of them are allowed. */
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

/* Lost rows weigh more than a condition, and sessions that it stopped weigh less. */
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
    search_judge(&made->search, &made->result, true, false);
    assert_int_equal(made->result.exit_code, code);
    assert_int_equal(made->result.verdict, verdict);
    assert_non_null(strstr(made->result.verdict_reason, words));
    assert_int_equal(made->result.exit_reason[0] != '\0', code != EXIT_CODE_OK);
}

TEST(test_a_maximum_is_a_result)
{
    assert_judged(make(), EXIT_CODE_OK, VERDICT_VALID, "297 sessions were held; 298 were not");
}

TEST(test_a_search_that_breaks_a_claim)
{
    struct invariant_result claim = {.claim = "no gap", .state = VERIFICATION_DONE, .rows = 2};
    struct made *made = make();
    made->result.invariants = &claim;
    made->result.invariant_count = 1;
    assert_judged(made, EXIT_CODE_SHORT, VERDICT_DEGRADED, "1 of 1 invariants is broken: no gap");
    claim = (struct invariant_result){.state = VERIFICATION_FAILED, .reason = "gone"};
    made = make();
    made->result.invariants = &claim;
    made->result.invariant_count = 1;
    assert_judged(made, EXIT_CODE_SHORT, VERDICT_DEGRADED, "could not be checked: gone");
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

/* The first reason in the list decides the verdict; the most serious reason decides the exit code.
 */
TEST(test_reasons_have_weights)
{
    struct scripted_run run;
    make_scripted(&run);
    struct result *r = run.result;
    take_from_committed(&run, 2, COUNT_IN_DOUBT);
    r->sessions.finished = 9;
    r->sessions.dropped = 1;
    result_judge(r, &scripted);
    assert_string_equal(r->verdict_reason, "only 9 of 10 sessions finished");
    assert_non_null(strstr(r->exit_reason, "transactions are in doubt"));
    run.table.lost = 3;
    result_judge(r, &scripted);
    assert_string_equal(r->verdict_reason, "only 9 of 10 sessions finished");
    assert_string_equal(r->exit_reason, "3 committed rows are lost");
    assert_int_equal(r->exit_code, EXIT_CODE_SHORT);
    end_scripted(&run);
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
    result_judge(r, &context);
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
        assert_judged(made, EXIT_CODE_OK, VERDICT_VALID, "numbers in between were not tried");
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
    assert_judged(made, EXIT_CODE_SHORT, VERDICT_DEGRADED, "before any level was held");
    made->search.end = SEARCH_MEMORY;
    assert_judged(made, EXIT_CODE_CLIENT_LIMIT, VERDICT_DEGRADED, "before any level was held");
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
        {{0, 0}, {200, 200}, true, 0, 200},   /* a cluster */
        {{7, 7}, {207, 207}, true, 7, 207},   /* a cluster that had rows before */
        {{0, 0}, {200, 180}, true, 0, 200},   /* one host lags */
        {{0, 0}, {150, 150}, true, 0, 150},   /* a cluster that lost a quarter */
        {{0, 0}, {100, 100}, false, 0, 200},  /* two databases, equal numbers of rows */
        {{0, 0}, {100, 90}, false, 0, 190},   /* two databases, 10 rows are lost */
        {{5, 9}, {105, 109}, false, 14, 214}, /* two databases: the counts differed before */
        {{1000, 0}, {1100, 100}, false, 1000, 1200},
    };
    static const uint64_t counters[RECORDER_COUNTERS] = {[RECORDER_ROWS_ACKNOWLEDGED] = 100};
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
        result_join_hosts(r, 0, 200, 200, &view);
        assert_int_equal(view.state, VERIFICATION_DONE);
        assert_int_equal(r->are_hosts_one, cases[i].is_one);
        assert_int_equal(view.rows_before, cases[i].joined_before);
        assert_int_equal(view.rows_after, cases[i].joined_after);
    }
    /* a host that cannot be counted leaves its rows unknown, unless the other host has all rows */
    hosts[1].tables[0].is_counted = false;
    snprintf(hosts[1].reason, sizeof hosts[1].reason, "no answer");
    hosts[0].tables[0].before = 0;
    hosts[0].tables[0].after = 200;
    result_join_hosts(r, 0, 200, 200, &view);
    assert_int_equal(view.state, VERIFICATION_DONE);
    assert_true(r->are_hosts_one);
    hosts[0].tables[0].after = 100;
    result_join_hosts(r, 0, 200, 200, &view);
    assert_int_equal(view.state, VERIFICATION_FAILED);
    assert_string_equal(view.reason, "host b:2: no answer");
    result_free(r);
}
