/*
 * The driver and its sessions with an adapter that fails where it is told to: what each answer of
 * the contract does to the ledgers. What real databases answer is the contract suite's business.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

#include "base/mono.h"
#include "load/driver.h"

enum step {
    STEP_OPEN,
    STEP_APPEND_OPEN,
    STEP_ROWS,
    STEP_CLOSE,
    STEP_COUNT
};

enum {
    SESSIONS = 8,
    ROWS_A_SESSION = 1000,
    BATCH = 100
};

/* What the adapter is to do: at `step` of session `victim`, call number `call` (from 1), answer
 * `status`. Written before the threads start. */
struct script {
    enum step step;
    enum status status;
    enum error_kind kind;
    int victim; /* order of opening; -1 = every session */
    unsigned call;
    unsigned calls_failing; /* how many calls in a row */
    uint64_t accepted;      /* of a batch whose close fails */
    int64_t count_offset;   /* what a count is wrong by */
};

static struct script script;
static atomic_int opened;

/* Whether a session leaves while others have work. Off while batches is 0. */
static struct {
    unsigned batches; /* of a session */
    atomic_int done;  /* sessions that had their last answer */
    atomic_bool left_early;
} watch;
static _Atomic uint64_t rows_kept;

struct adapter_conn {
    int number;
    unsigned calls[STEP_COUNT + 1];
    uint64_t pending;
};

static enum status answer(struct adapter_conn *conn, enum step step, struct error *error)
{
    const unsigned call = ++conn->calls[step];
    if (step != script.step || (script.victim >= 0 && script.victim != conn->number) ||
        call < script.call || call >= script.call + script.calls_failing) {
        return STATUS_OK;
    }
    if (script.status != STATUS_OK) {
        error_set(error, script.kind, 1, "XX000", "scripted");
    }
    return script.status;
}

static enum status scripted_open(const struct target *target, struct adapter_conn **conn,
                                 struct error *error)
{
    (void)target;
    *conn = calloc(1, sizeof **conn);
    assert_non_null(*conn);
    (*conn)->number = atomic_fetch_add(&opened, 1);
    const enum status status = answer(*conn, STEP_OPEN, error);
    if (status != STATUS_OK) {
        free(*conn);
        *conn = NULL;
    }
    return status;
}

static void scripted_close(struct adapter_conn *conn)
{
    if (watch.batches > 0 && atomic_load(&watch.done) < SESSIONS) {
        atomic_store(&watch.left_early, true);
    }
    free(conn);
}

static enum status scripted_append_open(struct adapter_conn *conn, const struct table *table,
                                        struct error *error)
{
    (void)table;
    conn->pending = 0;
    return answer(conn, STEP_APPEND_OPEN, error);
}

static enum status scripted_append_rows(struct adapter_conn *conn, const struct batch *batch,
                                        struct error *error)
{
    conn->pending += batch->row_count;
    return answer(conn, STEP_ROWS, error);
}

static enum status scripted_append_close(struct adapter_conn *conn, uint64_t *accepted,
                                         struct error *error)
{
    const enum status status = answer(conn, STEP_CLOSE, error);
    *accepted = status == STATUS_OK ? conn->pending : script.accepted;
    if (conn->calls[STEP_CLOSE] == watch.batches) {
        atomic_fetch_add(&watch.done, 1);
    }
    atomic_fetch_add(&rows_kept, *accepted);
    return status;
}

static enum status scripted_count(struct adapter_conn *conn, const struct table *table,
                                  uint64_t *rows, struct error *error)
{
    (void)table;
    *rows = (uint64_t)((int64_t)atomic_load(&rows_kept) + script.count_offset);
    return answer(conn, STEP_COUNT, error);
}

static const struct adapter scripted = {
    .name = "scripted",
    .stack_bytes = 256 * 1024,
    .open = scripted_open,
    .close = scripted_close,
    .append_open = scripted_append_open,
    .append_rows = scripted_append_rows,
    .append_close = scripted_append_close,
    .count = scripted_count,
};

static struct plan make_plan(void)
{
    return (struct plan){.adapter = &scripted,
                         .sessions = SESSIONS,
                         .records = SESSIONS * ROWS_A_SESSION,
                         .batch_rows = BATCH,
                         .read_mode = READ_COUNT,
                         .read_every = 1,
                         .connect_concurrency = 3,
                         .stack_bytes = 512 * 1024};
}

static struct result *run(const struct plan *plan)
{
    static const struct column column = {.name = "n", .type = COLUMN_INT64};
    struct setup setup = {0};
    struct generator *generator = NULL;
    struct result *result = calloc(1, sizeof *result);
    struct recorder *recorder = recorder_create(4);
    assert_true(result != NULL && recorder != NULL);
    assert_int_equal(table_init(&setup.table, "t", NULL), STATUS_OK);
    assert_int_equal(table_add_column(&setup.table, &column, NULL), STATUS_OK);
    assert_int_equal(generator_create(&generator, plan, &setup.table, NULL), STATUS_OK);
    atomic_store(&opened, 0);
    atomic_store(&rows_kept, 0);
    causes_init(&result->causes);
    const struct driver_config config = {.plan = plan,
                                         .setup = &setup,
                                         .workload = &workload_append_then_read,
                                         .generator = generator,
                                         .recorder = recorder,
                                         .start_ns = mono_now_ns()};
    assert_int_equal(driver_run(&config, result, NULL), STATUS_OK);
    recorder_take_snapshot(recorder, &result->totals);
    assert_true(session_ledger_balances(&result->sessions));
    assert_true(row_ledger_balances(&result->rows));
    const uint64_t *counters = result->totals.counters;
    assert_int_equal(counters[RECORDER_ROWS_ACKNOWLEDGED], result->rows.acknowledged);
    assert_int_equal(counters[RECORDER_ROWS_REJECTED], result->rows.rejected);
    assert_int_equal(counters[RECORDER_ROWS_IN_DOUBT], result->rows.in_doubt);
    assert_int_equal(counters[RECORDER_SESSIONS_CONNECTED], counters[RECORDER_SESSIONS_ENDED]);
    assert_int_equal(result->rows.acknowledged, atomic_load(&rows_kept));
    causes_fini(&result->causes);
    recorder_destroy(recorder);
    generator_destroy(generator);
    setup_fini(&setup);
    return result;
}

static void assert_rows(const struct result *result, uint64_t rejected, uint64_t in_doubt,
                        uint64_t not_sent)
{
    assert_int_equal(result->rows.planned, SESSIONS * ROWS_A_SESSION);
    assert_int_equal(result->rows.rejected, rejected);
    assert_int_equal(result->rows.in_doubt, in_doubt);
    assert_int_equal(result->rows.not_sent, not_sent);
}

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
    free(result);
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
    free(result);
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
    free(result);

    script.kind = ERROR_TIMEOUT;
    result = run(&plan);
    assert_int_equal(result->sessions.timed_out, 1);
    free(result);

    script.victim = -1;
    script.kind = ERROR_UNREACHABLE;
    result = run(&plan);
    assert_int_equal(result->sessions.refused, SESSIONS);
    assert_int_equal(result->stop_reason, STOP_NO_SESSION);
    assert_rows(result, 0, 0, SESSIONS * ROWS_A_SESSION);
    free(result);
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
    free(result);
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
        free(result);
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
    free(result);
}

static void test_fatal_error(void **state)
{
    (void)state;
    const struct plan plan = make_plan();
    script = (struct script){STEP_ROWS, STATUS_FATAL, ERROR_NOT_FOUND, 5, 3, 1, 0, 0};
    struct result *result = run(&plan);
    assert_int_equal(result->sessions.dropped, 1);
    assert_rows(result, 100, 0, 700);
    free(result);
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
    free(result);
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
    free(result);
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
    free(result);
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
    free(result);
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
    free(result);
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
    free(result);
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
    free(result);
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
    free(result);
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
        free(result);
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
        cmocka_unit_test(test_rate_keeps_response_times),
        cmocka_unit_test(test_rate_of_small_shares),
        cmocka_unit_test(test_duration_on_a_busy_database),
        cmocka_unit_test(test_batches_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
