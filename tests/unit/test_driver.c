/* The driver and its sessions: what each answer of an adapter does to the ledgers. */
#include "unit/scripted.h"

static void test_all_well(void **state)
{
    (void)state;
    script = (struct script){.status = STATUS_OK};
    const struct plan plan = make_plan();
    struct result *result = run(&plan);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_int_equal(result->stop_reason, STOP_COMPLETED);
    assert_int_equal(result->causes.count, 0);
    assert_int_equal(result->totals.counters[RECORDER_FRESH_CHECKS], 80);
    assert_int_equal(result->totals.counters[RECORDER_FRESH_BEHIND], 0);
    assert_int_equal(result->totals.histograms[RECORDER_APPEND].total, 80);
    end(result);
}

/* Those that are done first stay connected until the others are. */
static void test_sessions_leave_together(void **state)
{
    (void)state;
    struct plan plan = make_plan();
    plan.read_mode = READ_NONE;
    script = (struct script){.status = STATUS_OK};
    atomic_store(&watch.done, 0);
    atomic_store(&watch.left_early, false);
    watch.batches = ROWS_A_SESSION / BATCH;
    struct result *result = run(&plan);
    watch.batches = 0;
    assert_int_equal(atomic_load(&watch.done), SESSIONS);
    assert_false(atomic_load(&watch.left_early));
    assert_rows(result, 0, 0, 0);
    end(result);
}

static void test_refused_and_timed_out(void **state)
{
    (void)state;
    const struct plan plan = make_plan();
    script = (struct script){STEP_OPEN, STATUS_LOST, ERROR_LIMIT, 2, 1, 1, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.refused, 1);
    assert_int_equal(result->sessions.finished, SESSIONS - 1);
    assert_rows(result, 0, 0, ROWS_A_SESSION);
    assert_int_equal(result->causes.entries[0].phase, CAUSE_CONNECT);
    end(result);

    script.kind = ERROR_TIMEOUT;
    result = run(&plan);
    assert_int_equal(result->sessions.timed_out, 1);
    end(result);

    script.victim = -1;
    script.kind = ERROR_UNREACHABLE;
    result = run(&plan);
    assert_int_equal(result->sessions.refused, SESSIONS);
    assert_int_equal(result->stop_reason, STOP_NO_SESSION);
    assert_rows(result, 0, 0, SESSIONS * ROWS_A_SESSION);
    end(result);
}

static void test_server_that_answers_no_connect(void **state)
{
    (void)state;
    struct plan plan = make_plan();
    plan.connect_concurrency = 2;
    script = (struct script){STEP_OPEN, STATUS_LOST, ERROR_TIMEOUT, -1, 1, 1, 0, 0};
    struct result *result = run(&plan);
    assert_in_range(result->sessions.timed_out, 4, 6);
    assert_int_equal(result->sessions.timed_out + result->sessions.not_started, SESSIONS);
    end(result);
}

/* At each step of the third batch: what was never handed over is not sent, the rest in doubt. */
static void test_lost_connection(void **state)
{
    (void)state;
    const struct plan plan = make_plan();
    static const struct {
        enum step step;
        uint64_t in_doubt, not_sent;
    } cases[] = {{STEP_APPEND_OPEN, 0, 800},
                 {STEP_ROWS, 100, 700},
                 {STEP_CLOSE, 100, 700},
                 {STEP_COUNT, 0, 700}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        script = (struct script){cases[i].step, STATUS_LOST, ERROR_CONNECTION, 5, 3, 1, 0, 0};
        struct result *result = run(&plan);
        assert_int_equal(result->sessions.dropped, 1);
        assert_int_equal(result->sessions.finished, SESSIONS - 1);
        assert_rows(result, 0, cases[i].in_doubt, cases[i].not_sent);
        assert_int_equal(result->causes.count, 1);
        assert_string_equal(result->causes.entries[0].error.sqlstate, "XX000");
        end(result);
    }
}

static void test_rejected_batch(void **state)
{
    (void)state;
    const struct plan plan = make_plan();
    script = (struct script){STEP_CLOSE, STATUS_REJECTED, ERROR_DATA, 5, 3, 1, 30, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_rows(result, 70, 0, 0);
    end(result);
}

static void test_fatal_error(void **state)
{
    (void)state;
    const struct plan plan = make_plan();
    script = (struct script){STEP_ROWS, STATUS_FATAL, ERROR_NOT_FOUND, 5, 3, 1, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.dropped, 1);
    assert_rows(result, 100, 0, 700);
    end(result);
}

static void test_busy_is_tried_again(void **state)
{
    (void)state;
    const struct plan plan = make_plan();
    script = (struct script){STEP_APPEND_OPEN, STATUS_REJECTED, ERROR_BUSY, -1, 3, 2, 0, 0};
    struct result *result = run(&plan);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(result->totals.counters[RECORDER_BUSY_RETRIES], 2 * SESSIONS);
    assert_int_equal(result->causes.count, 0);
    end(result);
}

static void test_stale_counts_are_anomalies(void **state)
{
    (void)state;
    struct plan plan = make_plan();
    plan.sessions = 1;
    plan.records = ROWS_A_SESSION;
    script = (struct script){.status = STATUS_OK, .count_offset = -150};
    struct result *result = run(&plan);
    /* the first count would be below zero and wraps to a large number, then goes backwards */
    assert_int_equal(result->totals.counters[RECORDER_FRESH_BEHIND], 9);
    assert_int_equal(result->totals.counters[RECORDER_FRESH_BACKWARD], 1);
    assert_int_equal(result->worst_lag_rows, 150);
    end(result);
}

static void test_failed_count_keeps_the_session(void **state)
{
    (void)state;
    const struct plan plan = make_plan();
    script = (struct script){STEP_COUNT, STATUS_REJECTED, ERROR_SERVER, 1, 2, 1, 0, 0};
    struct result *result = run(&plan);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_int_equal(result->totals.counters[RECORDER_COUNTS_FAILED], 1);
    assert_int_equal(result->totals.counters[RECORDER_COUNTS], 79);
    end(result);
}

static void test_first_drop_stops_the_run(void **state)
{
    (void)state;
    struct plan plan = make_plan();
    plan.drop_policy = DROP_STOP;
    plan.records = SESSIONS * UINT64_C(10000000);
    script = (struct script){STEP_CLOSE, STATUS_LOST, ERROR_CONNECTION, 5, 3, 1, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.dropped, 1);
    assert_int_equal(result->sessions.stopped, SESSIONS - 1);
    assert_int_equal(result->stop_reason, STOP_DROP);
    end(result);
}

static void test_duration_ends_the_run(void **state)
{
    (void)state;
    struct plan plan = make_plan();
    plan.records = 0;
    plan.duration_ns = 200 * MONO_NS_PER_MS;
    script = (struct script){.status = STATUS_OK};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_int_equal(result->stop_reason, STOP_DURATION);
    assert_int_equal(result->rows.planned, result->rows.acknowledged);
    assert_true(result->rows.planned > 0);
    end(result);
}

/* Rows for which there was no time were not due. */
static void test_rows_or_a_duration(void **state)
{
    (void)state;
    struct plan plan = make_plan();
    plan.records = UINT64_C(1000000000000);
    plan.duration_ns = 200 * MONO_NS_PER_MS;
    script = (struct script){.status = STATUS_OK};
    struct result *result = run(&plan);
    assert_int_equal(result->stop_reason, STOP_DURATION);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_int_equal(result->rows.planned, result->rows.acknowledged);
    end(result);
    plan = make_plan();
    plan.duration_ns = 3600 * MONO_NS_PER_S;
    result = run(&plan);
    assert_int_equal(result->stop_reason, STOP_COMPLETED);
    assert_rows(result, 0, 0, 0);
    end(result);
}

static void test_rate_keeps_response_times(void **state)
{
    (void)state;
    struct plan plan = make_plan();
    plan.rate_rows_per_s = 100000;
    script = (struct script){.status = STATUS_OK};
    struct result *result = run(&plan);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(result->totals.histograms[RECORDER_RESPONSE].total, 80);
    /* the last batch is due 79 / 1,000 s after the gate opened: a schedule, not a guess */
    assert_true(result->append_ns >= 79 * MONO_NS_PER_MS);
    end(result);
}

/* Shares that are no multiple of the batch keep to the rate, too. */
static void test_rate_of_small_shares(void **state)
{
    (void)state;
    struct plan plan = make_plan();
    plan.records = SESSIONS * 10;
    plan.rate_rows_per_s = 1000;
    script = (struct script){.status = STATUS_OK};
    struct result *result = run(&plan);
    /* 80 rows: the last batch is due at 70 ms, where a full batch a turn would be due at 700 */
    assert_true(result->append_ns >= 70 * MONO_NS_PER_MS);
    assert_int_equal(result->batches_late, 0);
    assert_true(result->totals.histograms[RECORDER_RESPONSE].total == SESSIONS);
    end(result);
}

/* 100 batches are due in 100 ms, whatever becomes of the session that is to send some of them. */
static void test_batches_that_were_not_sent(void **state)
{
    (void)state;
    struct plan plan = make_plan();
    plan.records = 0;
    plan.duration_ns = 100 * MONO_NS_PER_MS;
    plan.rate_rows_per_s = 100000;
    script = (struct script){STEP_CLOSE, STATUS_LOST, ERROR_CONNECTION, 5, 2, 1, 0, 0};
    struct result *result = run(&plan);
    const struct histogram *response = &result->totals.histograms[RECORDER_RESPONSE];
    assert_int_equal(result->stop_reason, STOP_DURATION);
    assert_int_equal(result->batches.due, 100);
    assert_in_range(result->batches.not_sent, 10, 100);
    assert_int_equal(response->total, 100);
    assert_int_equal(result->totals.counters[RECORDER_UNANSWERED], result->batches.not_sent + 1);
    /* its third batch was due at 23 ms or before, and waits until the end */
    assert_in_range(response->max_ns, 77 * MONO_NS_PER_MS, INT64_MAX);
    end(result);

    plan.drop_policy = DROP_STOP;
    plan.duration_ns = 3600 * MONO_NS_PER_S;
    result = run(&plan);
    assert_int_equal(result->stop_reason, STOP_DROP);
    assert_int_equal(result->totals.histograms[RECORDER_RESPONSE].total, result->batches.due);
    /* what is due later is in no account: the victim's second batch is due at 8 to 15 ms */
    assert_in_range(result->batches.due, 8, (uint64_t)result->append_ns / MONO_NS_PER_MS + 1);
    end(result);
}

/* As many as no loop could count one at a time, and shares that end with a small batch. */
static void test_waits_of_many_batches(void **state)
{
    (void)state;
    struct plan plan = {.sessions = 1, .batch_rows = 1, .rate_rows_per_s = 1000000000};
    struct recorder *recorder = recorder_create(1);
    struct recorder_snapshot *snapshot = calloc(1, sizeof *snapshot);
    assert_non_null(recorder);
    assert_non_null(snapshot);
    struct load load = {.plan = &plan, .recorder = recorder, .gate = {.go_ns = 5}};
    struct session session = {.load = &load, .quota = UINT64_MAX};
    const uint64_t n = 3000000000;
    assert_int_equal(workload_count_unsent(&session, 5 + (int64_t)n, 5 + (int64_t)n), n);
    recorder_take_snapshot(recorder, snapshot);
    const struct histogram *response = &snapshot->histograms[RECORDER_RESPONSE];
    assert_int_equal(response->total, n);
    assert_int_equal(response->max_ns, n);
    assert_in_range(histogram_quantile_ns(response, 0.5), n / 2 - 1, n / 2 + n / 128 + 1);
    /* 1 + 2 + … + n, each bucket's half a step off at most */
    assert_in_range(response->sum_ns, n / 2 * (n + 1) - n, n / 2 * (n + 1) + n);

    plan = (struct plan){.sessions = 2, .batch_rows = 100, .rate_rows_per_s = 1000};
    session.index = 1;
    session.begun = 100;
    session.quota = 420;
    /* due 0.3, 0.5 and 0.7 s after GO, and the last 20 rows at 0.82 s */
    const int64_t ms_ns = MONO_NS_PER_MS;
    assert_int_equal(workload_count_unsent(&session, 5 + 300 * ms_ns, 5 + 300 * ms_ns), 0);
    assert_int_equal(workload_count_unsent(&session, 6 + 300 * ms_ns, 6 + 300 * ms_ns), 1);
    assert_int_equal(workload_count_unsent(&session, 5 + 820 * ms_ns, 5 + 820 * ms_ns), 3);
    assert_int_equal(workload_count_unsent(&session, 6 + 820 * ms_ns, 6 + 820 * ms_ns), 4);
    assert_int_equal(workload_count_unsent(&session, INT64_MAX, INT64_MAX), 4);
    free(snapshot);
    recorder_destroy(recorder);
}

/* A session that the end of the time finds waiting at the gate or for a busy database has done all
 * that it was asked. */
static void test_duration_on_a_busy_database(void **state)
{
    (void)state;
    struct plan plan = make_plan();
    plan.records = 0;
    plan.duration_ns = 100 * MONO_NS_PER_MS;
    script = (struct script){STEP_APPEND_OPEN, STATUS_REJECTED, ERROR_BUSY, 3, 1, 1000000, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_int_equal(result->rows.planned, result->rows.acknowledged);
    assert_int_equal(result->causes.count, 0);
    assert_int_equal(result->totals.counters[RECORDER_APPENDS_FAILED], 0);
    end(result);
}

static void test_batches_of_any_size(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 7, 255, 256, 257, 999, 1000, 5000};
    script = (struct script){.status = STATUS_OK};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct plan plan = make_plan();
        plan.batch_rows = sizes[i];
        plan.read_every = 3;
        struct result *result = run(&plan);
        assert_rows(result, 0, 0, 0);
        const uint64_t batches = (ROWS_A_SESSION + sizes[i] - 1) / sizes[i];
        assert_int_equal(result->totals.counters[RECORDER_APPENDS], SESSIONS * batches);
        assert_int_equal(result->totals.counters[RECORDER_COUNTS], SESSIONS * (batches / 3));
        end(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_well),
        cmocka_unit_test(test_sessions_leave_together),
        cmocka_unit_test(test_refused_and_timed_out),
        cmocka_unit_test(test_server_that_answers_no_connect),
        cmocka_unit_test(test_lost_connection),
        cmocka_unit_test(test_rejected_batch),
        cmocka_unit_test(test_fatal_error),
        cmocka_unit_test(test_busy_is_tried_again),
        cmocka_unit_test(test_stale_counts_are_anomalies),
        cmocka_unit_test(test_failed_count_keeps_the_session),
        cmocka_unit_test(test_first_drop_stops_the_run),
        cmocka_unit_test(test_duration_ends_the_run),
        cmocka_unit_test(test_rows_or_a_duration),
        cmocka_unit_test(test_rate_keeps_response_times),
        cmocka_unit_test(test_rate_of_small_shares),
        cmocka_unit_test(test_batches_that_were_not_sent),
        cmocka_unit_test(test_waits_of_many_batches),
        cmocka_unit_test(test_duration_on_a_busy_database),
        cmocka_unit_test(test_batches_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
