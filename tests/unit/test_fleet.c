/* The fleet and its sessions: the effect of each answer of an adapter on the ledgers, lost
 * connections with --on-drop reconnect, and --churn. */
#include "unit/unit.h"

#include <limits.h>

#include "load/account.h"
#include "load/schedule.h"
#include "load/session.h"
#include "measure/verdict.h"
#include "unit/scripted.h"

TEST(test_successful_run)
{
    script = (struct scripted){.status = STATUS_OK};
    const struct plan plan = make_plan();
    struct result *result = run(&plan);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_int_equal(result->stop_reason, STOP_COMPLETED);
    assert_int_equal(result->causes.count, 0);
    assert_int_equal(result->totals.counters[RECORDER_FRESH_CHECKS], 80);
    assert_int_equal(result->totals.counters[RECORDER_FRESH_BEHIND], 0);
    assert_int_equal(result->totals.histograms[OPERATION_APPEND].total, 80);
    end(result);
}

/* Sessions that finish first stay connected until the last one is done. */
TEST(test_sessions_leave_together)
{
    struct plan plan = make_plan();
    plan.read_mode = READ_NONE;
    script = (struct scripted){.status = STATUS_OK};
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

static int64_t gate_ns;
static uint64_t rows_at_gate;

static void note_gate(void *context, int64_t go_ns)
{
    (void)context;
    gate_ns = go_ns;
    mono_sleep(50 * MONO_NS_PER_MS);
    rows_at_gate = atomic_load(&rows_kept);
}

/* on_gate is called before any session works, however late the main thread is. */
TEST(test_on_gate_is_called_first)
{
    const struct plan plan = make_plan();
    script = (struct scripted){.status = STATUS_OK};
    on_gate = note_gate;
    rows_at_gate = UINT64_MAX;
    const int64_t before_ns = mono_now_ns();
    struct result *result = run(&plan);
    on_gate = NULL;
    assert_int_equal(rows_at_gate, 0);
    assert_in_range(gate_ns, before_ns, mono_now_ns());
    assert_rows(result, 0, 0, 0);
    end(result);
}

TEST(test_refused_and_timed_out)
{
    const struct plan plan = make_plan();
    script = (struct scripted){STEP_OPEN, STATUS_LOST, ERROR_LIMIT, 2, 1, 1, 0, 0};
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

    script.failing_session = -1;
    script.kind = ERROR_UNREACHABLE;
    result = run(&plan);
    assert_int_equal(result->sessions.refused, SESSIONS);
    assert_int_equal(result->stop_reason, STOP_NO_SESSION);
    assert_rows(result, 0, 0, SESSIONS * ROWS_A_SESSION);
    end(result);
}

/* The gate opens for the idle session although no other session has connected. */
TEST(test_only_an_idle_session_connects)
{
    struct plan plan = make_plan();
    plan.sessions = plan.idle_sessions = plan.connect_concurrency = 1;
    script = (struct scripted){STEP_OPEN, STATUS_LOST, ERROR_UNREACHABLE, 0, 1, 1, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.refused, 1);
    assert_int_equal(result->sessions.finished, 1);
    assert_int_equal(result->append_ns, 0);
    assert_true(result->disconnect_ns >= 0);
    assert_int_equal(result->elapsed_ns, result->connect_ns + result->disconnect_ns);
    end(result);
}

TEST(test_connects_without_an_answer)
{
    struct plan plan = make_plan();
    plan.connect_concurrency = 2;
    script = (struct scripted){STEP_OPEN, STATUS_LOST, ERROR_TIMEOUT, -1, 1, 1, 0, 0};
    struct result *result = run(&plan);
    assert_in_range(result->sessions.timed_out, 4, 6);
    assert_int_equal(result->sessions.timed_out + result->sessions.not_started, SESSIONS);
    end(result);
}

/* The connection is lost at each step of the third batch. Rows that were never handed over count as
 * not sent, and rows that were handed over count as in doubt. */
TEST(test_lost_connection)
{
    const struct plan plan = make_plan();
    static const struct {
        enum step step;
        uint64_t in_doubt, not_sent;
    } cases[] = {{STEP_APPEND_OPEN, 0, 800},
                 {STEP_ROWS, 100, 700},
                 {STEP_CLOSE, 100, 700},
                 {STEP_COUNT, 0, 700}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        script = (struct scripted){cases[i].step, STATUS_LOST, ERROR_CONNECTION, 5, 3, 1, 0, 0};
        struct result *result = run(&plan);
        assert_int_equal(result->sessions.dropped, 1);
        assert_int_equal(result->sessions.finished, SESSIONS - 1);
        assert_rows(result, 0, cases[i].in_doubt, cases[i].not_sent);
        assert_int_equal(result->causes.count, 1);
        assert_string_equal(result->causes.entries[0].error.sqlstate, "XX000");
        end(result);
    }
}

TEST(test_rejected_batch)
{
    const struct plan plan = make_plan();
    script = (struct scripted){STEP_CLOSE, STATUS_REJECTED, ERROR_DATA, 5, 3, 1, 30, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_rows(result, 70, 0, 0);
    end(result);
}

/* Consecutive batches without an accepted row become one exception in the list. */
TEST(test_exceptions_are_kept_short)
{
    struct plan plan = make_plan();
    plan.verify_mode = VERIFY_ROWS;
    static const struct {
        enum status status;
        uint64_t accepted;
        size_t count;
        struct row_exception first;
    } cases[] = {{STATUS_REJECTED, 0, 1, {200, 300, 0, false}},
                 {STATUS_REJECTED, 30, 3, {200, 100, 30, false}},
                 {STATUS_LOST, 30, 1, {200, 100, 30, true}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        script = (struct scripted){STEP_CLOSE, cases[i].status,   ERROR_DATA, 5, 3,
                                   3,          cases[i].accepted, 0};
        struct result *result = run(&plan);
        size_t count = 0;
        for (size_t s = 0; s < result->session_count; s++) {
            const struct session_summary *session = &result->session_list[s];
            assert_false(session->lacks_exceptions);
            count += session->exception_count;
            if (session->exception_count > 0) {
                const struct row_exception *first = &session->exceptions[0];
                assert_int_equal(first->first, cases[i].first.first);
                assert_int_equal(first->rows, cases[i].first.rows);
                assert_int_equal(first->accepted, cases[i].first.accepted);
                assert_int_equal(first->is_in_doubt, cases[i].first.is_in_doubt);
                const struct row_exception *last =
                    &session->exceptions[session->exception_count - 1];
                assert_int_equal(last->first + last->rows,
                                 cases[i].status == STATUS_LOST ? 300 : 500);
            }
        }
        assert_int_equal(count, cases[i].count);
        end(result);
    }
    plan.verify_mode = VERIFY_COUNT;
    struct result *result = run(&plan);
    for (size_t s = 0; s < result->session_count; s++) {
        assert_int_equal(result->session_list[s].exception_count, 0);
    }
    end(result);
}

TEST(test_fatal_error)
{
    const struct plan plan = make_plan();
    script = (struct scripted){STEP_ROWS, STATUS_FATAL, ERROR_NOT_FOUND, 5, 3, 1, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.dropped, 1);
    assert_rows(result, 100, 0, 700);
    end(result);
}

TEST(test_busy_is_tried_again)
{
    const struct plan plan = make_plan();
    script = (struct scripted){STEP_APPEND_OPEN, STATUS_REJECTED, ERROR_BUSY, -1, 3, 2, 0, 0};
    struct result *result = run(&plan);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(result->totals.counters[RECORDER_BUSY_RETRIES], 2 * SESSIONS);
    assert_int_equal(result->causes.count, 1);
    assert_int_equal(result->causes.entries[0].phase, CAUSE_BUSY);
    assert_int_equal(result->causes.entries[0].count, 2 * SESSIONS);
    end(result);
}

TEST(test_stale_counts_are_anomalies)
{
    struct plan plan = make_plan();
    plan.sessions = 1;
    plan.records = ROWS_A_SESSION;
    script = (struct scripted){.status = STATUS_OK, .count_offset = -150};
    struct result *result = run(&plan);
    /* The first count would be negative and is read as a large number, so the second count goes
     * backwards. */
    assert_int_equal(result->totals.counters[RECORDER_FRESH_BEHIND], 9);
    assert_int_equal(result->totals.counters[RECORDER_FRESH_BACKWARD], 1);
    assert_int_equal(result->worst_lag_rows, 150);
    end(result);
}

TEST(test_a_count_that_is_one_too_low)
{
    struct plan plan = make_plan();
    plan.sessions = 1;
    plan.records = ROWS_A_SESSION;
    script = (struct scripted){.status = STATUS_OK, .count_offset = -1};
    struct result *result = run(&plan);
    assert_int_equal(result->totals.counters[RECORDER_FRESH_BEHIND], 10);
    assert_int_equal(result->totals.counters[RECORDER_FRESH_BACKWARD], 0);
    assert_int_equal(result->worst_lag_rows, 1);
    end(result);
}

/* A count includes the rows of all sessions, so it can fall and still include all rows of the
 * session that counts. */
TEST(test_counts_one_by_one)
{
    static const struct {
        uint64_t rows, own;
        uint64_t behind, backward, worst_lag; /* the counters after the count */
    } counts[] = {
        {150, 100, 0, 0, 0},  {120, 110, 0, 1, 0},  {120, 120, 0, 1, 0},
        {130, 170, 1, 1, 40}, {110, 120, 2, 2, 40}, {115, 115, 2, 2, 40},
    };
    struct plan plan = make_plan();
    struct recorder *recorder = recorder_create(1, 1, OPERATIONS, 1);
    assert_non_null(recorder);
    struct load load = {.plan = &plan, .recorder = recorder};
    struct session session = {.load = &load};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        session_note_count(&session, counts[i].rows, counts[i].own, &session.last_count);
        assert_int_equal(recorder_read(recorder, RECORDER_FRESH_CHECKS), i + 1);
        assert_int_equal(recorder_read(recorder, RECORDER_FRESH_BEHIND), counts[i].behind);
        assert_int_equal(recorder_read(recorder, RECORDER_FRESH_BACKWARD), counts[i].backward);
        assert_int_equal(session.worst_lag, counts[i].worst_lag);
    }
    recorder_destroy(recorder);
}

TEST(test_the_longest_gap)
{
    struct plan plan = make_plan();
    struct recorder *recorder = recorder_create(1, 1, OPERATIONS, 1);
    assert_non_null(recorder);
    struct load load = {.plan = &plan, .recorder = recorder, .gate = {.go_ns = 1000}};
    struct session session = {.load = &load};
    session_note_gap(&session, 1200); /* the gap begins at the gate */
    assert_int_equal(session.sum.longest_gap_ns, 200);
    session_note_progress(&session, 1200);
    session_note_gap(&session, 1700);
    assert_int_equal(session.sum.longest_gap_ns, 500);
    session_note_progress(&session, 1700);
    session_note_gap(&session, 1750);
    assert_int_equal(session.sum.longest_gap_ns, 500);
    recorder_destroy(recorder);
}

/* A successful answer that acknowledges fewer rows than were sent. */
TEST(test_fewer_rows_than_were_sent)
{
    const struct plan plan = make_plan();
    script = (struct scripted){STEP_CLOSE, STATUS_OK, ERROR_NONE, 5, 2, 1, 40, 0};
    struct result *result = run(&plan);
    assert_rows(result, 60, 0, 0);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_int_equal(result->causes.count, 1);
    assert_int_equal(result->causes.entries[0].phase, CAUSE_APPEND);
    assert_int_equal(result->causes.entries[0].status, STATUS_REJECTED);
    assert_int_equal(result->causes.entries[0].error.kind, ERROR_DATA);
    end(result);
}

TEST(test_failed_count_keeps_the_session)
{
    const struct plan plan = make_plan();
    script = (struct scripted){STEP_COUNT, STATUS_REJECTED, ERROR_SERVER, 1, 2, 1, 0, 0};
    struct result *result = run(&plan);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_int_equal(result->totals.counters[RECORDER_READS_FAILED], 1);
    assert_int_equal(result->totals.counters[RECORDER_READS], 79);
    end(result);
}

TEST(test_first_drop_stops_the_run)
{
    struct plan plan = make_plan();
    plan.drop_policy = DROP_STOP;
    plan.records = SESSIONS * UINT64_C(10000000);
    script = (struct scripted){STEP_CLOSE, STATUS_LOST, ERROR_CONNECTION, 5, 3, 1, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.dropped, 1);
    assert_int_equal(result->sessions.stopped, SESSIONS - 1);
    assert_int_equal(result->stop_reason, STOP_DROP);
    end(result);
}

TEST(test_duration_ends_the_run)
{
    struct plan plan = make_plan();
    plan.records = 0;
    plan.duration_ns = 200 * MONO_NS_PER_MS;
    script = (struct scripted){.status = STATUS_OK};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_int_equal(result->stop_reason, STOP_DURATION);
    assert_int_equal(result->rows.planned, result->rows.acknowledged);
    assert_true(result->rows.planned > 0);
    end(result);
}

/* Rows for which there was no time left are not counted as planned. */
TEST(test_rows_or_a_duration)
{
    struct plan plan = make_plan();
    plan.records = UINT64_C(1000000000000);
    plan.duration_ns = 200 * MONO_NS_PER_MS;
    script = (struct scripted){.status = STATUS_OK};
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

TEST(test_rate_keeps_response_times)
{
    struct plan plan = make_plan();
    plan.rate.first = 100000;
    script = (struct scripted){.status = STATUS_OK};
    struct result *result = run(&plan);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(result->totals.histograms[OPERATION_RESPONSE].total, 80);
    /* by the schedule, the last batch is due 79 / 1,000 s after the gate opened */
    assert_true(result->append_ns >= 79 * MONO_NS_PER_MS);
    end(result);
}

/* Sessions keep to the rate even if their shares are not a multiple of the batch. */
TEST(test_rate_of_small_shares)
{
    struct plan plan = make_plan();
    plan.records = SESSIONS * 10;
    plan.rate.first = 1000;
    script = (struct scripted){.status = STATUS_OK};
    struct result *result = run(&plan);
    /* 80 rows: the last batch is due at 70 ms, or at 700 ms if every turn had sent a full batch */
    assert_true(result->append_ns >= 70 * MONO_NS_PER_MS);
    assert_int_equal(result->totals.counters[RECORDER_LATE], 0);
    assert_true(result->totals.histograms[OPERATION_RESPONSE].total == SESSIONS);
    end(result);
}

/* A batch that is given up before a row is handed over counts as not sent, and its wait is a lower
 * bound of its response time. No read follows it. */
TEST(test_batches_that_were_given_up)
{
    static const struct {
        enum status status;
        uint64_t not_sent;
    } cases[] = {{STATUS_REJECTED, 1}, {STATUS_FATAL, 8}};
    struct plan plan = make_plan();
    plan.rate.first = 1e6;
    plan.connect_concurrency =
        1; /* the sixth session to connect is not the one with the last batch */
    EACH_CASE (i, cases, "status %d", (int)cases[i].status) {
        script = (struct scripted){STEP_APPEND_OPEN, cases[i].status, ERROR_DATA, 5, 3, 1, 0, 0};
        struct result *result = run(&plan);
        const uint64_t *counters = result->totals.counters;
        assert_rows(result, 0, 0, cases[i].not_sent * BATCH);
        assert_int_equal(result->batches.sent, 80 - cases[i].not_sent);
        assert_int_equal(result->batches.not_sent, cases[i].not_sent);
        assert_int_equal(counters[RECORDER_RESPONSES_UNANSWERED], cases[i].not_sent);
        assert_int_equal(result->totals.histograms[OPERATION_RESPONSE].total, 80);
        assert_int_equal(counters[RECORDER_READS], 80 - cases[i].not_sent);
        end(result);
    }
}

/* 100 batches are due in 100 ms, even if the session that should send some of them is lost. */
TEST(test_batches_that_were_not_sent)
{
    struct plan plan = make_plan();
    plan.records = 0;
    plan.duration_ns = 100 * MONO_NS_PER_MS;
    plan.rate.first = 100000;
    script = (struct scripted){STEP_CLOSE, STATUS_LOST, ERROR_CONNECTION, 5, 2, 1, 0, 0};
    struct result *result = run(&plan);
    const struct histogram *response = &result->totals.histograms[OPERATION_RESPONSE];
    assert_int_equal(result->stop_reason, STOP_DURATION);
    assert_int_equal(result->batches.due, 100);
    assert_in_range(result->batches.not_sent, 10, 100);
    assert_int_equal(response->total, 100);
    assert_int_equal(result->totals.counters[RECORDER_RESPONSES_UNANSWERED],
                     result->batches.not_sent + 1);
    /* the third batch of the failing session was due at 23 ms or before, and waits until the end */
    assert_in_range(response->max_ns, 77 * MONO_NS_PER_MS, INT64_MAX);
    end(result);

    plan.drop_policy = DROP_STOP;
    plan.duration_ns = 3600 * MONO_NS_PER_S;
    result = run(&plan);
    assert_int_equal(result->stop_reason, STOP_DROP);
    assert_int_equal(result->totals.histograms[OPERATION_RESPONSE].total, result->batches.due);
    /* The run ends at the failing session's second batch, which is due at 8 to 15 ms. Later batches
     * are not counted. */
    assert_in_range(result->batches.due, 8, (uint64_t)result->append_ns / MONO_NS_PER_MS + 1);
    end(result);
}

/* There are more batches than a loop could count one by one, and the last batch of a session's
 * share is small. */
TEST(test_waits_of_many_batches)
{
    struct plan plan = {.sessions = 1, .batch_rows = 1, .rate.first = 1000000000};
    struct recorder *recorder = recorder_create(8, 1, OPERATIONS, 1);
    struct recorder_snapshot *snapshot = calloc(1, sizeof *snapshot);
    assert_non_null(recorder);
    assert_non_null(snapshot);
    assert_true(recorder_snapshot_init(snapshot, OPERATIONS));
    struct load load = {.plan = &plan,
                        .recorder = recorder,
                        .gate = {.go_ns = 5},
                        .first_epoch = {.rate = plan.rate, .sessions = UINT_MAX}};
    struct session session = {.load = &load, .quota = UINT64_MAX, .epoch = &load.first_epoch};
    const uint64_t n = 3000000000;
    assert_int_equal(session_count_unsent(&session, 0, 5 + (int64_t)n, 5 + (int64_t)n), n);
    recorder_take_snapshot(recorder, snapshot);
    const struct histogram *response = &snapshot->histograms[OPERATION_RESPONSE];
    assert_int_equal(response->total, n);
    assert_int_equal(response->max_ns, n);
    assert_in_range(histogram_quantile_ns(response, 0.5), n / 2 - 1, n / 2 + n / 128 + 1);
    /* the sum of 1 to n, where each term is off by at most half a step */
    assert_in_range(response->sum_ns, n / 2 * (n + 1) - n, n / 2 * (n + 1) + n);

    plan = (struct plan){.sessions = 2, .batch_rows = 100, .rate.first = 1000};
    load.first_epoch.rate = plan.rate;
    session.index = 1;
    session.sum.begun = 100;
    session.quota = 420;
    /* batches are due 0.3, 0.5 and 0.7 s after GO, and the last 20 rows at 0.82 s */
    const int64_t ms_ns = MONO_NS_PER_MS;
    assert_int_equal(session_count_unsent(&session, 0, 5 + 300 * ms_ns, 5 + 300 * ms_ns), 0);
    assert_int_equal(session_count_unsent(&session, 0, 6 + 300 * ms_ns, 6 + 300 * ms_ns), 1);
    assert_int_equal(session_count_unsent(&session, 0, 5 + 820 * ms_ns, 5 + 820 * ms_ns), 3);
    assert_int_equal(session_count_unsent(&session, 0, 6 + 820 * ms_ns, 6 + 820 * ms_ns), 4);
    assert_int_equal(session_count_unsent(&session, 0, INT64_MAX, INT64_MAX), 4);
    recorder_snapshot_fini(snapshot);
    free(snapshot);
    recorder_destroy(recorder);
}

/* Each epoch begins a new schedule. A batch that was due in an earlier epoch and was not begun is
 * counted once. A pause and a parked session have no schedule. */
TEST(test_epochs)
{
    const int64_t s_ns = MONO_NS_PER_S;
    struct plan plan = {.sessions = 2, .batch_rows = 100, .rate.first = 1000};
    struct recorder *recorder = recorder_create(2, 1, OPERATIONS, 1);
    struct load load = {.plan = &plan,
                        .recorder = recorder,
                        .gate = {.go_ns = s_ns},
                        .first_epoch = {.rate = plan.rate, .sessions = UINT_MAX}};
    struct session session = {.load = &load, .quota = UINT64_MAX, .epoch = &load.first_epoch};
    session.sum.begun = 300; /* 3 of the 5 batches that were due, one every 0.2 s */
    struct epoch wanted = {.rate = {.first = 1000}, .sessions = 2, .is_paused = true};
    epoch_add(&load.first_epoch, epoch_copy(&wanted));
    epoch_latest(&load.first_epoch)->start_ns = 2 * s_ns;
    session_follow_epochs(&session);
    assert_int_equal(session.unsent, 2);
    assert_int_equal(session.epoch_begun, 300);
    assert_int_equal(session_count_unsent(&session, 0, 9 * s_ns, 9 * s_ns), 0);
    wanted = (struct epoch){.rate = {.first = 2000}, .sessions = 1};
    epoch_add(&load.first_epoch, epoch_copy(&wanted));
    epoch_latest(&load.first_epoch)->start_ns = 4 * s_ns;
    session_follow_epochs(&session);
    assert_int_equal(session.unsent, 2);
    /* a single session gets the whole rate: 20 batches a second, the first at once */
    assert_int_equal(session_count_unsent(&session, 0, 5 * s_ns, 5 * s_ns), 20);
    session.index = 1;
    assert_int_equal(session_count_unsent(&session, 0, 5 * s_ns, 5 * s_ns), 0);
    assert_int_equal(recorder_read(recorder, RECORDER_RESPONSES_UNANSWERED), 22);
    epoch_fini(&load.first_epoch);
    recorder_destroy(recorder);
}

/* If the time ends while a session waits at the gate or for a busy database, the session has
 * finished. */
TEST(test_duration_on_a_busy_database)
{
    struct plan plan = make_plan();
    plan.records = 0;
    plan.duration_ns = 100 * MONO_NS_PER_MS;
    script = (struct scripted){STEP_APPEND_OPEN, STATUS_REJECTED, ERROR_BUSY, 3, 1, 1000000, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_int_equal(result->rows.planned, result->rows.acknowledged);
    assert_int_equal(result->causes.count, 1);
    assert_int_equal(result->causes.entries[0].phase, CAUSE_BUSY);
    assert_int_equal(result->totals.counters[RECORDER_APPENDS_FAILED], 0);
    end(result);
}

TEST(test_batches_of_any_size)
{
    static const uint64_t sizes[] = {1, 7, 255, 256, 257, 999, 1000, 5000};
    script = (struct scripted){.status = STATUS_OK};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct plan plan = make_plan();
        plan.batch_rows = sizes[i];
        plan.read_every = 3;
        struct result *result = run(&plan);
        assert_rows(result, 0, 0, 0);
        const uint64_t batches = (ROWS_A_SESSION + sizes[i] - 1) / sizes[i];
        assert_int_equal(result->totals.counters[RECORDER_APPENDS], SESSIONS * batches);
        assert_int_equal(result->totals.counters[RECORDER_READS], SESSIONS * (batches / 3));
        end(result);
    }
}

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

static struct scripted lose(enum step step, int failing_session, unsigned call)
{
    return (struct scripted){step, STATUS_LOST, ERROR_CONNECTION, failing_session, call, 1, 0, 0};
}

/* The connection is lost at each step of the third batch. Rows that were handed over stay in doubt.
 * Rows of the batch that were not handed over are sent after the reconnect. */
TEST(test_lost_and_reconnected)
{
    const struct plan plan = make_reconnecting();
    static const struct {
        enum step step;
        uint64_t in_doubt;
        unsigned calls; /* rows are handed over in one call per batch */
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
        assert_int_equal(result->totals.histograms[OPERATION_CONNECT].total, SESSIONS);
        assert_int_equal(result->totals.histograms[OPERATION_RECONNECT].total, 1);
        assert_int_equal(result->totals.histograms[OPERATION_RECOVER].total, 1);
        assert_int_equal(result->causes.count, 1);
        end(result);
    }
}

static struct append_loss reported;

static void report_loss(const struct adapter_conn *conn, struct append_loss *loss)
{
    (void)conn;
    *loss = reported;
}

/* The adapter may report which rows of a lost batch were refused before the loss and which had been
 * sent. The other rows were never sent, so they are sent after the reconnect. */
TEST(test_a_loss_that_the_adapter_reports)
{
    struct adapter reporting = scripted;
    reporting.append_lost = report_loss;
    static const struct {
        struct append_loss reported;
        uint64_t accepted, rejected, in_doubt;
        size_t count;
        struct row_exception exceptions[2];
    } cases[] = {
        {{0, 0}, 0, 0, 0, 0, {{0}}},
        {{0, 0}, 30, 0, 0, 0, {{0}}},
        {{0, 10}, 30, 0, 10, 1, {{200, 40, 30, true}}},
        {{20, 0}, 30, 20, 0, 1, {{200, 50, 30, false}}},
        {{20, 10}, 30, 20, 10, 2, {{200, 50, 30, false}, {250, 10, 0, true}}},
        {{0, 5000}, 30, 0, 70, 1, {{200, 100, 30, true}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan plan = make_reconnecting();
        plan.adapter = &reporting;
        plan.verify_mode = VERIFY_ROWS;
        reported = cases[i].reported;
        script = lose(STEP_CLOSE, 5, 3);
        script.accepted = cases[i].accepted;
        struct result *result = run(&plan);
        assert_int_equal(result->sessions.finished, SESSIONS);
        assert_rows(result, cases[i].rejected, cases[i].in_doubt, 0);
        size_t found = 0;
        for (size_t s = 0; s < result->session_count; s++) {
            const struct session_summary *session = &result->session_list[s];
            for (size_t k = 0; k < session->exception_count; k++) {
                assert_true(found < cases[i].count);
                const struct row_exception *wanted = &cases[i].exceptions[found++];
                assert_int_equal(session->exceptions[k].first, wanted->first);
                assert_int_equal(session->exceptions[k].rows, wanted->rows);
                assert_int_equal(session->exceptions[k].accepted, wanted->accepted);
                assert_int_equal(session->exceptions[k].is_in_doubt, wanted->is_in_doubt);
            }
        }
        assert_int_equal(found, cases[i].count);
        end(result);
    }
}

/* The second of three calls of an append fails. Rows that the adapter reports as kept are
 * acknowledged, the other rows of the first two calls are rejected, and the rows of the third call
 * are sent later. If the adapter reports no kept row, the whole batch has failed, and the rows of
 * the third call are not sent. */
TEST(test_kept_rows_of_a_failure)
{
    static const struct {
        enum status status;
        enum error_kind kind;
        uint64_t kept, rejected, in_doubt, not_sent;
        uint64_t appends, retries;
    } cases[] = {
        {STATUS_REJECTED, ERROR_DUPLICATE, 300, 212, 0, 0, SESSIONS + 1, 0},
        {STATUS_REJECTED, ERROR_DUPLICATE, 0, 512, 0, 88, SESSIONS, 0},
        {STATUS_REJECTED, ERROR_DEADLOCK, 300, 212, 0, 0, SESSIONS + 1, 0},
        {STATUS_REJECTED, ERROR_BUSY, 0, 0, 0, 0, SESSIONS, 1},
        {STATUS_LOST, ERROR_CONNECTION, 300, 0, 212, 0, SESSIONS, 0},
        {STATUS_LOST, ERROR_CONNECTION, 0, 0, 512, 0, SESSIONS, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan plan = make_reconnecting();
        plan.batch_rows = 600;
        plan.records = SESSIONS * plan.batch_rows;
        script = (struct scripted){STEP_ROWS, cases[i].status, cases[i].kind, 5, 2, 1, 0, 0};
        script.accepted = cases[i].kept;
        struct result *result = run(&plan);
        const uint64_t *counters = result->totals.counters;
        print_message("case %zu\n", i);
        assert_int_equal(result->sessions.finished, SESSIONS);
        const struct row_ledger *rows = &result->rows;
        assert_int_equal(rows->rejected, cases[i].rejected);
        assert_int_equal(rows->in_doubt, cases[i].in_doubt);
        assert_int_equal(rows->not_sent, cases[i].not_sent);
        assert_int_equal(rows->acknowledged,
                         plan.records - cases[i].rejected - cases[i].in_doubt - cases[i].not_sent);
        assert_int_equal(counters[RECORDER_APPENDS], cases[i].appends);
        assert_int_equal(counters[RECORDER_BUSY_RETRIES], cases[i].retries);
        end(result);
    }
}

TEST(test_tries_that_fail)
{
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
    /* a failed try is not in the connect times, but is part of the time to recover */
    assert_int_equal(result->totals.histograms[OPERATION_RECONNECT].total, 1);
    end(result);
}

TEST(test_too_many_tries)
{
    const struct plan plan = make_reconnecting();
    script = lose(STEP_CLOSE, 5, 3);
    later.failing = 100;
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.dropped, 1);
    assert_int_equal(result->sessions.finished, SESSIONS - 1);
    assert_rows(result, 0, 100, 700);
    assert_int_equal(result->totals.counters[RECORDER_RECONNECTS_FAILED], 3);
    assert_int_equal(result->totals.counters[RECORDER_RECONNECTS], 0);
    assert_int_equal(result->totals.histograms[OPERATION_RECOVER].total, 0);
    end(result);
}

/* A session does not reconnect again after a refused password. */
TEST(test_refused_for_good)
{
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

TEST(test_a_fatal_error_is_not_a_loss)
{
    const struct plan plan = make_reconnecting();
    script = (struct scripted){STEP_ROWS, STATUS_FATAL, ERROR_NOT_FOUND, 5, 3, 1, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.dropped, 1);
    assert_int_equal(result->totals.counters[RECORDER_CONNECTIONS_LOST], 0);
    assert_int_equal(result->totals.counters[RECORDER_RECONNECTS], 0);
    end(result);
}

/* The server is read-only for a time. The batch is sent again on another connection, without the
 * rows that the server has already taken. */
TEST(test_a_server_that_is_read_only_for_a_time)
{
    struct plan plan = make_reconnecting();
    const struct scripted refuse = {STEP_CLOSE, STATUS_FATAL, ERROR_READ_ONLY, 5, 3, 1, 0, 0};
    script = refuse;
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(result->totals.counters[RECORDER_REFUSALS], 1);
    assert_int_equal(result->totals.counters[RECORDER_CONNECTIONS_LOST], 0);
    assert_int_equal(result->totals.counters[RECORDER_RECONNECTS], 0);
    assert_int_equal(result->totals.histograms[OPERATION_RECONNECT].total, 1);
    assert_int_equal(result->totals.histograms[OPERATION_RECOVER].total, 0);
    assert_int_equal(result->causes.entries[0].count, 1);
    end(result);

    script.accepted = 30;
    result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_rows(result, 0, 0, 0);
    end(result);

    script = refuse;
    script.failing_session = -1;
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

/* The server accepts every connection and answers nothing: sessions must not retry forever. */
TEST(test_connections_without_answers)
{
    const struct plan plan = make_reconnecting();
    script = lose(STEP_APPEND_OPEN, -1, 1);
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.dropped, SESSIONS);
    assert_rows(result, 0, 0, SESSIONS * ROWS_A_SESSION);
    assert_int_equal(result->totals.counters[RECORDER_CONNECTIONS_LOST], 4 * SESSIONS);
    assert_int_equal(result->totals.counters[RECORDER_RECONNECTS], 3 * SESSIONS);
    end(result);
}

/* After each answered batch the count of tries begins at 0 again. Here every connection serves one
 * batch. */
TEST(test_an_answer_resets_the_tries)
{
    const struct plan plan = make_reconnecting();
    script = lose(STEP_APPEND_OPEN, -1, 2);
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(result->totals.counters[RECORDER_RECONNECTS], 9 * SESSIONS);
    end(result);
}

/* All sessions lose their connections. The number of sessions that connect at the same time stays
 * within the limit. */
TEST(test_a_storm_is_bounded)
{
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

/* --timeout cuts the connection, and the server refuses the next connects. These connects are
 * reported as refused, not as cut. */
TEST(test_refused_after_a_cut)
{
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

/* --timeout cuts a call of a busy database, which kept no row: the rows are sent over the next
 * connection. */
TEST(test_cut_while_the_database_is_busy)
{
    static const struct {
        enum step step;
        unsigned call;
    } cases[] = {{STEP_APPEND_OPEN, 3}, {STEP_CLOSE, 3}, {STEP_CLOSE, 10}};
    struct plan plan = make_reconnecting();
    plan.timeout_ns = MONO_NS_PER_S;
    plan.rate.first = 1e6;
    is_stuck = true;
    EACH_CASE (i, cases, "step %d, call %u", (int)cases[i].step, cases[i].call) {
        script = (struct scripted){
            cases[i].step, STATUS_REJECTED, ERROR_BUSY, 5, cases[i].call, 1, 0, 0};
        struct result *result = run(&plan);
        assert_int_equal(result->sessions.finished, SESSIONS);
        assert_rows(result, 0, 0, 0);
        assert_int_equal(result->batches.sent, 80);
        assert_int_equal(result->batches.not_sent, 0);
        assert_int_equal(result->totals.histograms[OPERATION_RESPONSE].total, 80);
        assert_int_equal(result->totals.counters[RECORDER_RESPONSES_UNANSWERED], 0);
        assert_int_equal(result->totals.counters[RECORDER_RECONNECTS], 1);
        assert_int_equal(count_causes(result, CAUSE_APPEND, ERROR_TIMEOUT), 1);
        end(result);
    }
    is_stuck = false;
}

/* The connection is cut at the moment of the answer: all rows are acknowledged, and the connection
 * is gone. */
TEST(test_cut_and_answered_at_once)
{
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
        script = (struct scripted){cases[i].step, STATUS_OK, ERROR_NONE, 5, cases[i].call, 1, 0, 0};
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

/* The time ends while a session waits for its next try: the session has not given up. */
TEST(test_the_end_wakes_waiting_sessions)
{
    struct plan plan = make_reconnecting();
    plan.records = 0;
    plan.duration_ns = MONO_NS_PER_S; /* long enough to lose the first batch */
    plan.reconnect_tries = 1000000;   /* enough tries for hours */
    script = lose(STEP_CLOSE, 5, 1);
    later.failing = 1000000;
    struct result *result = run(&plan);
    assert_int_equal(result->stop_reason, STOP_DURATION);
    assert_int_equal(result->sessions.stopped, 1);
    assert_int_equal(result->sessions.finished, SESSIONS - 1);
    end(result);

    script.failing_session = -1;
    result = run(&plan);
    assert_int_equal(result->sessions.stopped, SESSIONS);
    result->resources.mean_cpu =
        (struct cpu_shares){-1, -1, -1}; /* so that other programs have no effect */
    result_judge(result, &(struct judge_context){.is_local = true});
    assert_int_equal(result->verdict, VERDICT_DEGRADED);
    assert_int_equal(result->exit_code, EXIT_CODE_SHORT);
    end(result);
}

TEST(test_churn)
{
    struct plan plan = make_reconnecting();
    plan.drop_policy = DROP_CONTINUE;
    plan.churn_batches = 3;
    script = (struct scripted){.status = STATUS_OK};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.finished, SESSIONS);
    assert_rows(result, 0, 0, 0);
    assert_int_equal(result->totals.counters[RECORDER_CHURNS], 3 * SESSIONS);
    assert_int_equal(result->totals.counters[RECORDER_CONNECTIONS_LOST], 0);
    assert_int_equal(result->totals.histograms[OPERATION_CONNECT].total, SESSIONS);
    assert_int_equal(result->totals.histograms[OPERATION_RECONNECT].total, 3 * SESSIONS);
    assert_int_equal(result->totals.histograms[OPERATION_RECOVER].total, 0);
    assert_int_equal(atomic_load(&opened), 4 * SESSIONS);
    end(result);

    plan.churn_batches = 10; /* a session has at most ten batches */
    result = run(&plan);
    assert_int_equal(result->totals.counters[RECORDER_CHURNS], 0);
    end(result);
}

TEST(test_churn_that_fails)
{
    struct plan plan = make_reconnecting();
    plan.churn_batches = 5;
    script = (struct scripted){.status = STATUS_OK};
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

TEST(test_pauses)
{
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

/* The log has a row for each batch and each read, with its outcome. */
TEST(test_log_of_batches)
{
    static const struct {
        const char *name;
        struct scripted script;
        enum drop_policy drop_policy;
        unsigned read_every;
        double rate;
        const char *expected;
    } cases[] = {
        {"all is well",
         {.status = STATUS_OK},
         DROP_CONTINUE,
         2,
         0,
         "0 append acknowledged 1, 1 append acknowledged 1, 1 read answered 1, 2 append "
         "acknowledged 1, "},
        {"with a rate",
         {.status = STATUS_OK},
         DROP_CONTINUE,
         3,
         1e6,
         "0 append acknowledged 1 due, 1 append acknowledged 1 due, 2 append acknowledged 1 due, 2 "
         "read answered 1, "},
        {"a refused batch",
         {STEP_CLOSE, STATUS_REJECTED, ERROR_DATA, 0, 2, 1, 30, 0},
         DROP_CONTINUE,
         9,
         0,
         "0 append acknowledged 1, 1 append rejected 1, 2 append acknowledged 1, "},
        {"fewer rows than were sent",
         {STEP_CLOSE, STATUS_OK, ERROR_NONE, 0, 2, 1, 30, 0},
         DROP_CONTINUE,
         9,
         0,
         "0 append acknowledged 1, 1 append rejected 1, 2 append acknowledged 1, "},
        {"a lost batch",
         {STEP_CLOSE, STATUS_LOST, ERROR_CONNECTION, 0, 2, 1, 30, 0},
         DROP_CONTINUE,
         9,
         0,
         "0 append acknowledged 1, 1 append in_doubt 1, "},
        {"a lost batch of which all rows are kept",
         {STEP_CLOSE, STATUS_LOST, ERROR_CONNECTION, 0, 2, 1, 100, 0},
         DROP_CONTINUE,
         9,
         0,
         "0 append acknowledged 1, 1 append acknowledged 1, "},
        {"a batch that is not sent",
         {STEP_APPEND_OPEN, STATUS_LOST, ERROR_CONNECTION, 0, 2, 1, 0, 0},
         DROP_CONTINUE,
         9,
         0,
         "0 append acknowledged 1, 1 append not_sent 1, "},
        {"a busy database",
         {STEP_APPEND_OPEN, STATUS_REJECTED, ERROR_BUSY, 0, 2, 2, 0, 0},
         DROP_CONTINUE,
         9,
         0,
         "0 append acknowledged 1, 1 append acknowledged 3, 2 append acknowledged 1, "},
        {"a server that is read-only",
         {STEP_CLOSE, STATUS_REJECTED, ERROR_READ_ONLY, 0, 2, 1, 0, 0},
         DROP_RECONNECT,
         9,
         0,
         "0 append acknowledged 1, 1 append refused 1, 2 append acknowledged 1, 3 append "
         "acknowledged 1, "},
        {"a refused read",
         {STEP_COUNT, STATUS_REJECTED, ERROR_DATA, 0, 1, 1, 0, 0},
         DROP_CONTINUE,
         3,
         0,
         "0 append acknowledged 1, 1 append acknowledged 1, 2 append acknowledged 1, 2 read "
         "refused 1, "},
        {"a lost read",
         {STEP_COUNT, STATUS_LOST, ERROR_CONNECTION, 0, 1, 1, 0, 0},
         DROP_CONTINUE,
         1,
         0,
         "0 append acknowledged 1, 0 read unanswered 1, "},
    };
    EACH_CASE (i, cases, "%s", cases[i].name) {
        static struct transaction_log_row rows[TRANSACTION_LOG_CHUNK];
        struct plan plan = make_plan();
        char text[500] = "";
        plan.sessions = 1;
        plan.records = 3 * BATCH;
        plan.read_every = cases[i].read_every;
        plan.drop_policy = cases[i].drop_policy;
        plan.reconnect_tries = 3;
        plan.rate.first = cases[i].rate;
        script = cases[i].script;
        run_log = transaction_log_create(1, 5, 1);
        assert_non_null(run_log);
        struct result *result = run(&plan);
        const size_t count = transaction_log_take(run_log, rows);
        for (size_t r = 0; r < count; r++) {
            const size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%d %s %s %d%s, ", (int)rows[r].turn,
                     rows[r].transaction, rows[r].outcome, (int)rows[r].tries,
                     rows[r].response_ns < 0 ? "" : " due");
            assert_true(rows[r].end_ns > 0 && rows[r].latency_ns >= 0 && rows[r].session == 0);
        }
        assert_string_equal(text, cases[i].expected);
        end(result);
        transaction_log_destroy(run_log);
        run_log = NULL;
    }
}
