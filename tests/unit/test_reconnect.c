/* What becomes of sessions whose connections are lost, with --on-drop reconnect; and --churn. */
#include "unit/scripted.h"

#include "load/reconnect.h"

static struct plan make_reconnecting(void)
{
    struct plan plan = make_plan();
    plan.drop_policy = DROP_RECONNECT;
    plan.reconnect_tries = 3;
    later.failing = 0;
    later.status = STATUS_LOST;
    later.kind = ERROR_UNREACHABLE;
    later.takes_ns = 0;
    return plan;
}

static struct script lose(enum step step, int victim, unsigned call)
{
    return (struct script){step, STATUS_LOST, ERROR_CONNECTION, victim, call, 1, 0, 0};
}

/* At each step of the third batch. Rows that were handed over stay in doubt; those of a batch that
 * never were are sent when the session has a connection again. */
static void test_lost_and_had_again(void **state)
{
    (void)state;
    const struct plan plan = make_reconnecting();
    static const struct {
        enum step step;
        uint64_t in_doubt;
        unsigned calls; /* rows are handed over in one call a batch */
    } cases[] = {
        {STEP_APPEND_OPEN, 0, 10}, {STEP_ROWS, 100, 9}, {STEP_CLOSE, 100, 9}, {STEP_COUNT, 0, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        script = lose(cases[i].step, 5, 3);
        struct result *result = run(&plan);
        const uint64_t *counters = result->totals.counters;
        assert_int_equal(result->sessions.finished, SESSIONS);
        assert_rows(result, 0, cases[i].in_doubt, 0);
        assert_int_equal(counters[RECORDER_CONNECTIONS_LOST], 1);
        assert_int_equal(counters[RECORDER_RECONNECTS], 1);
        assert_int_equal(counters[RECORDER_RECONNECTS_FAILED], 0);
        assert_int_equal(counters[RECORDER_SESSIONS_CONNECTED], SESSIONS);
        assert_int_equal(counters[RECORDER_APPENDS], 7 * 10 + cases[i].calls);
        assert_int_equal(result->totals.histograms[RECORDER_CONNECT].total, SESSIONS);
        assert_int_equal(result->totals.histograms[RECORDER_RECONNECT].total, 1);
        assert_int_equal(result->totals.histograms[RECORDER_RECOVER].total, 1);
        assert_int_equal(result->causes.count, 1);
        end(result);
    }
}

static void test_tries_that_fail(void **state)
{
    (void)state;
    const struct plan plan = make_reconnecting();
    script = lose(STEP_CLOSE, 5, 3);
    later.failing = 2;
    struct result *result = run(&plan);
    const uint64_t *counters = result->totals.counters;
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_rows(result, 0, 100, 0);
    assert_int_equal(counters[RECORDER_RECONNECTS], 1);
    assert_int_equal(counters[RECORDER_RECONNECTS_FAILED], 2);
    assert_int_equal(result->causes.count, 2);
    assert_int_equal(result->causes.entries[1].phase, CAUSE_RECONNECT);
    assert_int_equal(result->causes.entries[1].count, 2);
    /* a failed try is no connect time, but part of the time to recover */
    assert_int_equal(result->totals.histograms[RECORDER_RECONNECT].total, 1);
    end(result);
}

static void test_too_many_tries(void **state)
{
    (void)state;
    const struct plan plan = make_reconnecting();
    script = lose(STEP_CLOSE, 5, 3);
    later.failing = 100;
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.dropped, 1);
    assert_int_equal(result->sessions.finished, SESSIONS - 1);
    assert_rows(result, 0, 100, 700);
    assert_int_equal(result->totals.counters[RECORDER_RECONNECTS_FAILED], 3);
    assert_int_equal(result->totals.counters[RECORDER_RECONNECTS], 0);
    assert_int_equal(result->totals.histograms[RECORDER_RECOVER].total, 0);
    end(result);
}

/* A password that is no longer right will not become right. */
static void test_refused_for_good(void **state)
{
    (void)state;
    const struct plan plan = make_reconnecting();
    script = lose(STEP_CLOSE, 5, 3);
    later.failing = 100;
    later.status = STATUS_FATAL;
    later.kind = ERROR_AUTH;
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.dropped, 1);
    assert_int_equal(result->totals.counters[RECORDER_RECONNECTS_FAILED], 1);
    end(result);
}

static void test_a_fatal_error_is_no_loss(void **state)
{
    (void)state;
    const struct plan plan = make_reconnecting();
    script = (struct script){STEP_ROWS, STATUS_FATAL, ERROR_NOT_FOUND, 5, 3, 1, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.dropped, 1);
    assert_int_equal(result->totals.counters[RECORDER_CONNECTIONS_LOST], 0);
    assert_int_equal(result->totals.counters[RECORDER_RECONNECTS], 0);
    end(result);
}

/* Its batch is sent again on another connection, but for the rows that the server took. */
static void test_a_server_that_is_read_only_for_a_time(void **state)
{
    (void)state;
    struct plan plan = make_reconnecting();
    const struct script refuse = {STEP_CLOSE, STATUS_FATAL, ERROR_READ_ONLY, 5, 3, 1, 0, 0};
    script = refuse;
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(result->totals.counters[RECORDER_REFUSALS], 1);
    assert_int_equal(result->totals.counters[RECORDER_CONNECTIONS_LOST], 0);
    assert_int_equal(result->totals.counters[RECORDER_RECONNECTS], 0);
    assert_int_equal(result->totals.histograms[RECORDER_RECONNECT].total, 1);
    assert_int_equal(result->totals.histograms[RECORDER_RECOVER].total, 0);
    assert_int_equal(result->causes.entries[0].count, 1);
    end(result);

    script.accepted = 30;
    result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_rows(result, 0, 0, 0);
    end(result);

    script = refuse;
    script.victim = -1;
    script.call = 1;
    result = run(&plan);
    assert_int_equal(result->sessions.dropped, SESSIONS);
    assert_rows(result, 0, 0, SESSIONS * ROWS_A_SESSION);
    assert_int_equal(result->totals.counters[RECORDER_REFUSALS],
                     SESSIONS * (1 + plan.reconnect_tries));
    end(result);

    plan.drop_policy = DROP_CONTINUE;
    script = refuse;
    result = run(&plan);
    assert_int_equal(result->sessions.dropped, 1);
    assert_rows(result, 100, 0, 700);
    assert_int_equal(result->totals.counters[RECORDER_REFUSALS], 0);
    end(result);
}

/* A server that takes every connection and answers nothing: sessions must not try for ever. */
static void test_connections_that_are_good_for_nothing(void **state)
{
    (void)state;
    const struct plan plan = make_reconnecting();
    script = lose(STEP_APPEND_OPEN, -1, 1);
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.dropped, SESSIONS);
    assert_rows(result, 0, 0, SESSIONS * ROWS_A_SESSION);
    assert_int_equal(result->totals.counters[RECORDER_CONNECTIONS_LOST], 4 * SESSIONS);
    assert_int_equal(result->totals.counters[RECORDER_RECONNECTS], 3 * SESSIONS);
    end(result);
}

/* Tries count anew after each batch that was answered: here every connection is good for one. */
static void test_an_answer_makes_all_tries_good(void **state)
{
    (void)state;
    const struct plan plan = make_reconnecting();
    script = lose(STEP_APPEND_OPEN, -1, 2);
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(result->totals.counters[RECORDER_RECONNECTS], 9 * SESSIONS);
    end(result);
}

/* All lose their connections; no more of them connect at a time than allowed. */
static void test_a_storm_is_bounded(void **state)
{
    (void)state;
    struct plan plan = make_reconnecting();
    plan.connect_concurrency = 2;
    script = lose(STEP_CLOSE, -1, 1);
    plan.read_mode = READ_NONE;
    plan.records = SESSIONS * BATCH;
    later.takes_ns = 30 * MONO_NS_PER_MS;
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_int_equal(result->totals.counters[RECORDER_RECONNECTS], SESSIONS);
    assert_int_equal(result->rows.in_doubt, SESSIONS * BATCH);
    assert_in_range(atomic_load(&most_connects), 1, 2);
    end(result);
}

static uint64_t count_causes(const struct result *result, enum cause_phase phase,
                             enum error_kind kind)
{
    uint64_t count = 0;
    for (size_t i = 0; i < result->causes.count; i++) {
        const struct cause *cause = &result->causes.entries[i];
        count += cause->phase == phase && cause->error.kind == kind ? cause->count : 0;
    }
    return count;
}

/* With --timeout; what the server says to the next connects is its own word. */
static void test_refused_after_a_cut(void **state)
{
    (void)state;
    struct plan plan = make_reconnecting();
    plan.timeout_ns = MONO_NS_PER_S;
    script = lose(STEP_CLOSE, 5, 3);
    is_stuck = true;
    later.failing = 2;
    struct result *result = run(&plan);
    is_stuck = false;
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_int_equal(result->totals.counters[RECORDER_TIMEOUTS], 1);
    assert_int_equal(count_causes(result, CAUSE_APPEND, ERROR_TIMEOUT), 1);
    assert_int_equal(count_causes(result, CAUSE_RECONNECT, ERROR_UNREACHABLE), 2);
    assert_int_equal(result->causes.count, 2);
    end(result);
}

/* The answer and the cut come at the same moment: all rows are in, and the connection is gone. */
static void test_cut_as_it_was_answered(void **state)
{
    (void)state;
    static const struct {
        enum step step;
        unsigned call;
        uint64_t lost;
    } cases[] = {{STEP_CLOSE, 3, 1}, {STEP_CLOSE, 10, 0}, {STEP_COUNT, 10, 0}};
    struct plan plan = make_reconnecting();
    plan.drop_policy = DROP_CONTINUE;
    plan.timeout_ns = MONO_NS_PER_S;
    is_stuck = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        script = (struct script){cases[i].step, STATUS_OK, ERROR_NONE, 5, cases[i].call, 1, 0, 0};
        struct result *result = run(&plan);
        assert_int_equal(result->sessions.dropped, cases[i].lost);
        assert_rows(result, 0, 0, cases[i].lost * 700);
        assert_int_equal(result->totals.counters[RECORDER_CONNECTIONS_LOST], cases[i].lost);
        assert_int_equal(count_causes(result,
                                      cases[i].step == STEP_CLOSE ? CAUSE_APPEND : CAUSE_READ,
                                      ERROR_TIMEOUT),
                         1);
        end(result);
    }
    is_stuck = false;
}

/* The end of the time comes while a session waits for its next try: it has not given up. */
static void test_the_end_wakes_those_who_wait(void **state)
{
    (void)state;
    struct plan plan = make_reconnecting();
    plan.records = 0;
    plan.duration_ns = MONO_NS_PER_S; /* enough to lose the first batch */
    plan.reconnect_tries = 1000000;   /* hours */
    script = lose(STEP_CLOSE, 5, 1);
    later.failing = 1000000;
    struct result *result = run(&plan);
    assert_int_equal(result->stop_reason, STOP_DURATION);
    assert_int_equal(result->sessions.stopped, 1);
    assert_int_equal(result->sessions.finished, SESSIONS - 1);
    end(result);

    script.victim = -1;
    result = run(&plan);
    assert_int_equal(result->sessions.stopped, SESSIONS);
    result_judge(result, &(struct judge_context){.is_local = true});
    assert_int_equal(result->verdict, VERDICT_DEGRADED);
    assert_int_equal(result->exit_code, EXIT_CODE_SHORT);
    end(result);
}

static void test_churn(void **state)
{
    (void)state;
    struct plan plan = make_reconnecting();
    plan.drop_policy = DROP_CONTINUE;
    plan.churn_batches = 3;
    script = (struct script){.status = STATUS_OK};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(result->totals.counters[RECORDER_CHURNS], 3 * SESSIONS);
    assert_int_equal(result->totals.counters[RECORDER_CONNECTIONS_LOST], 0);
    assert_int_equal(result->totals.histograms[RECORDER_CONNECT].total, SESSIONS);
    assert_int_equal(result->totals.histograms[RECORDER_RECONNECT].total, 3 * SESSIONS);
    assert_int_equal(result->totals.histograms[RECORDER_RECOVER].total, 0);
    assert_int_equal(atomic_load(&opened), 4 * SESSIONS);
    end(result);

    plan.churn_batches = 10; /* a session has no more than ten batches */
    result = run(&plan);
    assert_int_equal(result->totals.counters[RECORDER_CHURNS], 0);
    end(result);
}

static void test_churn_that_fails(void **state)
{
    (void)state;
    struct plan plan = make_reconnecting();
    plan.churn_batches = 5;
    script = (struct script){.status = STATUS_OK};
    later.failing = 1;
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(result->totals.counters[RECORDER_CHURNS], SESSIONS - 1);
    assert_int_equal(result->totals.counters[RECORDER_RECONNECTS], 1);
    assert_int_equal(result->totals.counters[RECORDER_CONNECTIONS_LOST], 1);
    end(result);

    plan.drop_policy = DROP_CONTINUE;
    result = run(&plan);
    assert_int_equal(result->sessions.dropped, 1);
    assert_rows(result, 0, 0, 500);
    end(result);
}

static void test_pauses(void **state)
{
    (void)state;
    bool has_long = false;
    bool has_short = false;
    for (unsigned tries = 0; tries < 100; tries++) {
        for (unsigned session = 0; session < 50; session++) {
            const int64_t pause_ns = reconnect_pause_ns(7, session, tries, tries);
            int64_t most_ns = RECONNECT_MOST_NS;
            if (tries < 7) {
                most_ns = RECONNECT_FIRST_NS << tries;
            }
            assert_in_range(pause_ns, 0, most_ns);
            has_long = has_long || pause_ns > RECONNECT_MOST_NS * 9 / 10;
            has_short = has_short || (tries > 10 && pause_ns < RECONNECT_MOST_NS / 10);
            assert_int_equal(pause_ns, reconnect_pause_ns(7, session, tries, tries));
        }
    }
    assert_true(has_long && has_short);
    assert_int_not_equal(reconnect_pause_ns(7, 1, 9, 0), reconnect_pause_ns(7, 2, 9, 0));
    assert_int_not_equal(reconnect_pause_ns(7, 1, 9, 0), reconnect_pause_ns(7, 1, 9, 1));
    assert_int_not_equal(reconnect_pause_ns(7, 1, 9, 0), reconnect_pause_ns(8, 1, 9, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_and_had_again),
        cmocka_unit_test(test_tries_that_fail),
        cmocka_unit_test(test_too_many_tries),
        cmocka_unit_test(test_refused_for_good),
        cmocka_unit_test(test_a_fatal_error_is_no_loss),
        cmocka_unit_test(test_a_server_that_is_read_only_for_a_time),
        cmocka_unit_test(test_connections_that_are_good_for_nothing),
        cmocka_unit_test(test_an_answer_makes_all_tries_good),
        cmocka_unit_test(test_a_storm_is_bounded),
        cmocka_unit_test(test_refused_after_a_cut),
        cmocka_unit_test(test_cut_as_it_was_answered),
        cmocka_unit_test(test_the_end_wakes_those_who_wait),
        cmocka_unit_test(test_churn),
        cmocka_unit_test(test_churn_that_fails),
        cmocka_unit_test(test_pauses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
