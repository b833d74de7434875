/* Idle sessions, the minimum number of sessions, and the figures of single sessions. */
#include "unit/scripted.h"

enum {
    IDLE = 3
};

static struct plan make_idle(void)
{
    struct plan plan = make_plan();
    plan.idle_sessions = IDLE;
    return plan;
}

TEST(test_idle_sessions_stay)
{
    struct plan plan = make_idle();
    plan.read_mode = READ_NONE;
    script = (struct scripted){.status = STATUS_OK};
    atomic_store(&watch.done, 0);
    atomic_store(&watch.left_early, false);
    watch.batches = ROWS_A_SESSION / BATCH;
    struct result *result = run(&plan);
    watch.batches = 0;
    assert_false(atomic_load(&watch.left_early));
    assert_int_equal(result->sessions.requested, SESSIONS + IDLE);
    assert_int_equal(result->sessions.finished, SESSIONS + IDLE);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(atomic_load(&queries), IDLE);
    assert_int_equal(result->fairness.sessions, SESSIONS);
    for (size_t i = SESSIONS; i < SESSIONS + IDLE; i++) {
        const struct session_summary *idle = &result->session_list[i];
        assert_true(idle->is_idle);
        assert_int_equal(idle->outcome, SESSION_FINISHED);
        assert_int_equal(idle->rows.planned, 0);
        assert_int_equal(idle->batches, 0);
        assert_int_equal(idle->worked_ns, 0);
        assert_true(idle->first_ack_ns < 0);
    }
    end(result);
}

TEST(test_idle_sessions_that_died)
{
    const struct plan plan = make_idle();
    script = (struct scripted){STEP_QUERY, STATUS_LOST, ERROR_CONNECTION, -1, 1, 1, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.dropped, IDLE);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(result->causes.count, 1);
    assert_int_equal(result->causes.entries[0].phase, CAUSE_IDLE);
    assert_int_equal(result->causes.entries[0].count, IDLE);
    assert_int_equal(result->totals.counters[RECORDER_CONNECTIONS_LOST], IDLE);
    end(result);
}

/* A statement that fails with an error was answered. */
TEST(test_idle_sessions_that_are_refused_an_answer)
{
    const struct plan plan = make_idle();
    script = (struct scripted){STEP_QUERY, STATUS_REJECTED, ERROR_SERVER, -1, 1, 1, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS + IDLE);
    assert_int_equal(result->causes.count, 0);
    end(result);
}

TEST(test_idle_sessions_for_a_time)
{
    struct plan plan = make_idle();
    plan.records = 0;
    plan.duration_ns = 100 * MONO_NS_PER_MS;
    script = (struct scripted){.status = STATUS_OK};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS + IDLE);
    assert_int_equal(atomic_load(&queries), IDLE);
    end(result);
}

TEST(test_too_few_connect)
{
    struct plan plan = make_idle();
    plan.min_sessions = SESSIONS + IDLE;
    script = (struct scripted){STEP_OPEN, STATUS_LOST, ERROR_LIMIT, 2, 1, 1, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->stop_reason, STOP_TOO_FEW);
    assert_int_equal(result->sessions_up, SESSIONS + IDLE - 1);
    assert_int_equal(result->least_sessions, SESSIONS + IDLE);
    assert_int_equal(result->sessions.refused, 1);
    assert_int_equal(result->sessions.stopped, SESSIONS + IDLE - 1);
    assert_rows(result, 0, 0, SESSIONS * ROWS_A_SESSION);
    assert_int_equal(result->append_ns, 0);
    assert_int_equal(atomic_load(&queries), 0);
    assert_int_equal(result->fairness.sessions, 0);
    end(result);

    plan.min_sessions--;
    result = run(&plan);
    assert_int_equal(result->stop_reason, STOP_COMPLETED);
    end(result);
}

TEST(test_too_few_are_left)
{
    struct plan plan = make_plan();
    plan.min_sessions = SESSIONS;
    /* so many rows that no session has sent its share before the main thread looks */
    plan.records = SESSIONS * UINT64_C(1000000000000);
    script = (struct scripted){STEP_CLOSE, STATUS_LOST, ERROR_CONNECTION, 5, 3, 1, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->stop_reason, STOP_TOO_FEW);
    assert_int_equal(result->sessions_up, SESSIONS - 1);
    assert_int_equal(result->sessions.dropped, 1);
    assert_int_equal(result->sessions.stopped, SESSIONS - 1);
    end(result);
}

/* All sessions go so fast that the main thread may not notice before the last one has gone. */
TEST(test_all_go_at_once)
{
    struct plan plan = make_plan();
    plan.min_sessions = 2;
    script = (struct scripted){STEP_CLOSE, STATUS_LOST, ERROR_CONNECTION, -1, 1, 1, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->stop_reason, STOP_TOO_FEW);
    assert_int_equal(result->sessions.dropped + result->sessions.stopped, SESSIONS);
    end(result);
}

/* A session that reconnects does not count as gone. */
TEST(test_reconnecting_is_not_gone)
{
    struct plan plan = make_plan();
    plan.min_sessions = SESSIONS;
    plan.drop_policy = DROP_RECONNECT;
    plan.reconnect_tries = 10;
    later.failing = 0;
    script = (struct scripted){STEP_CLOSE, STATUS_LOST, ERROR_CONNECTION, 5, 3, 1, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->stop_reason, STOP_COMPLETED);
    assert_int_equal(result->sessions.finished, SESSIONS);
    end(result);
}

TEST(test_times_of_a_session)
{
    struct plan plan = make_plan();
    plan.rate.first = 20000;
    script = (struct scripted){.status = STATUS_OK};
    struct result *result = run(&plan);
    int64_t longest_ns = 0;
    for (size_t i = 0; i < SESSIONS; i++) {
        const struct session_summary *session = &result->session_list[i];
        assert_int_equal(session->rows.acknowledged, ROWS_A_SESSION);
        assert_int_equal(session->batches, ROWS_A_SESSION / BATCH);
        /* batch n of session i is due (8 n + i) x 5 ms after the gate opened */
        assert_true(session->first_ack_ns >= (int64_t)i * 5 * MONO_NS_PER_MS);
        assert_true(session->last_ack_ns >= (int64_t)(72 + i) * 5 * MONO_NS_PER_MS);
        assert_true(session->worked_ns >= session->last_ack_ns);
        assert_true(session->worked_ns <= result->append_ns);
        assert_true(session->longest_gap_ns <= session->last_ack_ns);
        assert_true(10 * session->longest_gap_ns >= session->last_ack_ns);
        longest_ns = session->longest_gap_ns > longest_ns ? session->longest_gap_ns : longest_ns;
    }
    assert_int_equal(result->fairness.sessions, SESSIONS);
    assert_int_equal(result->fairness.longest_gap_ns, longest_ns);
    end(result);
}

/* The time from a session's last acknowledgement to its end is also a gap. */
TEST(test_the_gap_at_the_end)
{
    struct plan plan = make_plan();
    plan.records = 0;
    plan.duration_ns = 300 * MONO_NS_PER_MS;
    script = (struct scripted){STEP_APPEND_OPEN, STATUS_REJECTED, ERROR_BUSY, 3, 1, 1000000, 0, 0};
    struct result *result = run(&plan);
    assert_true(result->fairness.longest_gap_ns >= 300 * MONO_NS_PER_MS);
    assert_int_equal((int64_t)result->fairness.slowest_rows_per_s, 0);
    const unsigned stuck = result->fairness.longest_gap_session;
    assert_int_equal(result->session_list[stuck].rows.acknowledged, 0);
    assert_true(result->session_list[stuck].last_ack_ns < 0);
    end(result);
}
