#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

#include "measure/result.h"

static const struct judge_context local = {.is_local = true};
static const struct judge_context remote = {.is_local = false};
static const struct judge_context embedded = {.is_local = true, .is_embedded = true};

/* A run of 10 sessions and 1,000 rows in which all went well. */
static struct result *make_good(void)
{
    struct result *result = calloc(1, sizeof *result);
    assert_non_null(result);
    result->elapsed_ns = result->append_ns = INT64_C(10000000000);
    result->sessions = (struct session_ledger){.requested = 10, .connected = 10, .finished = 10};
    result->rows = (struct row_ledger){.planned = 1000, .acknowledged = 1000};
    result->verification =
        (struct verification){.state = VERIFICATION_DONE, .rows_before = 5, .rows_after = 1005};
    result->resources.mean_host_cpu_percent = 95;
    result->resources.mean_server_cpu_percent = 80;
    result->resources.mean_client_cpu_percent = 10;
    return result;
}

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
        print_message("'%s' and '%s' lack '%s'\n", result->verdict_reason, result->exit_reason,
                      words);
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

static void test_good_run(void **state)
{
    (void)state;
    struct result *r = make_good();
    expect(r, &local, VERDICT_VALID, EXIT_CODE_OK, "every row");
    free(r);
}

static void test_client_bound(void **state)
{
    (void)state;
    struct result *r = make_good();
    r->resources.mean_client_cpu_percent = 60;
    r->resources.mean_server_cpu_percent = 35;
    expect(r, &local, VERDICT_INVALID, EXIT_CODE_INVALID, "client-bound");
    expect(r, &embedded, VERDICT_VALID, EXIT_CODE_OK, "every row");
    r->resources.mean_host_cpu_percent = 80;
    expect(r, &local, VERDICT_VALID, EXIT_CODE_OK, "every row");
    r->resources.mean_client_cpu_percent = 95;
    r->resources.mean_server_cpu_percent = -1;
    expect(r, &remote, VERDICT_INVALID, EXIT_CODE_INVALID, "95 %");
    r->append_ns = 1000;
    expect(r, &remote, VERDICT_VALID, EXIT_CODE_OK, "every row");
    r->append_ns = INT64_C(10000000000);
    r->resources.mean_host_cpu_percent = 95;
    r->resources.mean_client_cpu_percent = 60;
    expect(r, &local, VERDICT_INVALID, EXIT_CODE_INVALID, "client-bound");
    free(r);
}

static void test_other_programs(void **state)
{
    (void)state;
    struct result *r = make_good();
    r->resources.mean_client_cpu_percent = 3;
    r->resources.mean_server_cpu_percent = 2;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK, "other programs of this machine used 90 %");
    r->resources.mean_server_cpu_percent = -1;
    expect(r, &local, VERDICT_VALID, EXIT_CODE_OK, "every row");
    free(r);
}

static void test_starved_sessions(void **state)
{
    (void)state;
    struct result *r = make_good();
    r->totals.counters[RECORDER_SESSION_NS] = 100;
    r->totals.counters[RECORDER_RUN_QUEUE_NS] = 60;
    expect(r, &local, VERDICT_VALID, EXIT_CODE_OK, "every row");
    r->resources.mean_host_cpu_percent = 40;
    r->resources.mean_server_cpu_percent = 20;
    expect(r, &local, VERDICT_INVALID, EXIT_CODE_INVALID, "60 %");
    r->resources.mean_host_cpu_percent = 100;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK, "other programs");
    r->resources.mean_host_cpu_percent = 40;
    expect(r, &remote, VERDICT_INVALID, EXIT_CODE_INVALID, "60 %");
    free(r);
}

static void test_dropped_sessions(void **state)
{
    (void)state;
    struct result *r = make_good();
    r->sessions.finished = 7;
    r->sessions.dropped = 3;
    r->rows.acknowledged = 900;
    r->rows.in_doubt = 40;
    r->rows.not_sent = 60;
    r->verification.rows_after = 925;
    verification_settle(&r->verification, &r->rows);
    add_cause(r, CAUSE_APPEND, "killed");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "killed");
    assert_int_equal(r->verification.lost, 0);
    free(r);
}

static void test_every_append_refused(void **state)
{
    (void)state;
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

static void test_refused_sessions(void **state)
{
    (void)state;
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

static void test_lost_rows_weigh_more_than_refused_sessions(void **state)
{
    (void)state;
    struct result *r = make_good();
    r->sessions.connected = r->sessions.finished = 9;
    r->sessions.refused = 1;
    r->rows.acknowledged = 900;
    r->rows.not_sent = 100;
    r->verification.rows_after = 900;
    verification_settle(&r->verification, &r->rows);
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "5 acknowledged rows are lost");
    free(r);
}

static void test_interrupted(void **state)
{
    (void)state;
    struct result *r = make_good();
    r->stop_reason = STOP_INTERRUPTED;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_INTERRUPTED, "interrupted");
    free(r);
}

static void test_ledger_that_does_not_balance(void **state)
{
    (void)state;
    struct result *r = make_good();
    r->rows.acknowledged = 999;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_INTERNAL, "does not balance");
    free(r);
}

static void test_not_counted(void **state)
{
    (void)state;
    struct result *r = make_good();
    r->verification.state = VERIFICATION_FAILED;
    snprintf(r->verification.reason, sizeof r->verification.reason, "server gone");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "server gone");
    const struct judge_context ended = {.is_local = true, .was_interrupted = true};
    expect(r, &ended, VERDICT_DEGRADED, EXIT_CODE_INTERRUPTED, "interrupted");
    free(r);
}

static void test_table_that_shrank(void **state)
{
    (void)state;
    struct result *r = make_good();
    r->verification.rows_after = 3;
    verification_settle(&r->verification, &r->rows);
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "somebody deleted");
    assert_int_equal(r->verification.lost, 0);
    free(r);
}

static void test_failed_reads(void **state)
{
    (void)state;
    struct result *r = make_good();
    r->totals.counters[RECORDER_COUNTS_FAILED] = 2;
    add_cause(r, CAUSE_READ, "syntax error");
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "2 reads failed: syntax error");
    r->sessions.finished = 9;
    r->sessions.dropped = 1;
    r->rows.acknowledged = 900;
    r->rows.not_sent = 100;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "100 not sent: syntax error");
    free(r);
}

static void test_doubts_without_an_exit_code(void **state)
{
    (void)state;
    struct result *r = make_good();
    r->verification.surplus = 3;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK, "somebody else");
    r->verification.surplus = 0;
    r->totals.counters[RECORDER_FRESH_BEHIND] = 2;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK, "2 were behind");
    r->totals.counters[RECORDER_FRESH_BEHIND] = 0;
    const struct judge_context rated = {.is_local = true, .rate_rows_per_s = 200};
    expect(r, &rated, VERDICT_DEGRADED, EXIT_CODE_OK, "50 % of the rate");
    free(r);
}

/* Reading every row back outweighs what the two counts say. */
static void test_rows_read_back(void **state)
{
    (void)state;
    const struct row_verification all = {.state = VERIFICATION_DONE, .read = 1000, .present = 1000};
    struct result *r = make_good();
    r->row_verification = all;
    expect(r, &local, VERDICT_VALID, EXIT_CODE_OK, "every row");
    r->row_verification.lost = 3;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "3 acknowledged rows are lost");
    r->row_verification = all;
    r->row_verification.duplicates = 4;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK, "4 rows are there more than once");
    r->row_verification = all;
    r->row_verification.foreign = 5;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK, "5 rows carry this run's tag");
    r->row_verification = all;
    r->row_verification.rejected_present = 6;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_OK, "6 rows that were rejected are there");
    r->row_verification = all;
    r->verification.lost = 7;
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "somebody else deleted");
    r->verification.lost = 0;
    r->row_verification =
        (struct row_verification){.state = VERIFICATION_FAILED, .reason = "no way"};
    expect(r, &local, VERDICT_DEGRADED, EXIT_CODE_SHORT, "the rows were not read back: no way");
    const struct judge_context interrupted = {.is_local = true, .was_interrupted = true};
    expect(r, &interrupted, VERDICT_DEGRADED, EXIT_CODE_INTERRUPTED, "read back");
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_run),
        cmocka_unit_test(test_rows_read_back),
        cmocka_unit_test(test_client_bound),
        cmocka_unit_test(test_other_programs),
        cmocka_unit_test(test_starved_sessions),
        cmocka_unit_test(test_dropped_sessions),
        cmocka_unit_test(test_every_append_refused),
        cmocka_unit_test(test_refused_sessions),
        cmocka_unit_test(test_lost_rows_weigh_more_than_refused_sessions),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_ledger_that_does_not_balance),
        cmocka_unit_test(test_not_counted),
        cmocka_unit_test(test_table_that_shrank),
        cmocka_unit_test(test_failed_reads),
        cmocka_unit_test(test_doubts_without_an_exit_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
