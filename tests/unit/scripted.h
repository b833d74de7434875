/*
 * Runs a fleet with an adapter that fails on request, to test the effect of each status on the
 * sessions and the ledgers. The contract suite tests real databases. Only one run at a time is
 * possible.
 */
#ifndef UNIT_SCRIPTED_H
#define UNIT_SCRIPTED_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

#include "base/mono.h"
#include "load/fleet.h"
#include "plan/facts.h"

enum step {
    STEP_OPEN,
    STEP_APPEND_OPEN,
    STEP_ROWS,
    STEP_CLOSE,
    STEP_QUERY,
    STEP_COUNT
};

enum {
    SESSIONS = 8,
    ROWS_A_SESSION = 1000,
    BATCH = 100
};

/* The failure that the adapter makes: session `failing_session` gets the answer `status` to its
 * call number `call` (from 1) of `step`. A test writes this before the threads start. */
struct scripted {
    enum step step;
    enum status status;
    enum error_kind kind;
    int failing_session; /* index of the session, in the order of opening; -1 = every session */
    unsigned call;
    unsigned calls_failing; /* number of consecutive calls that fail */
    uint64_t accepted;      /* rows that a failing append_rows or append_close still accepts */
    int64_t count_offset;   /* added to the true number of rows in a count */
};

static struct scripted script;
static bool is_stuck; /* the scripted calls do not answer until they are cut */
static atomic_int opened;

/* How reconnects behave: the first `failing` of them fail, and all others succeed. */
static struct {
    unsigned failing;
    enum status status;
    enum error_kind kind;
    int64_t takes_ns; /* duration of each open */
} later;

static atomic_uint connects;      /* reconnects in progress */
static atomic_uint most_connects; /* most reconnects in progress at the same time */
static atomic_uint queries;
static atomic_uint open_connections;
static unsigned first_connections; /* number of sessions in the plan */

/* Records whether a session closes its connection while other sessions still work. Records nothing
 * if `batches` is 0. */
static struct {
    unsigned batches; /* batches of a session */
    atomic_int done;  /* sessions that have had their last answer */
    atomic_bool left_early;
} watch;
static _Atomic uint64_t rows_kept;
static void (*on_gate)(void *context, int64_t go_ns); /* called in the next runs, or NULL */
static struct transaction_log *run_log;               /* of the next runs, or NULL */

struct adapter_conn {
    int number;
    atomic_bool is_cut;
    unsigned calls[STEP_COUNT + 1];
    uint64_t pending;
};

static inline enum status answer(struct adapter_conn *conn, enum step step, struct error *error)
{
    const unsigned call = ++conn->calls[step];
    if (step != script.step ||
        (script.failing_session >= 0 && script.failing_session != conn->number) ||
        call < script.call || call >= script.call + script.calls_failing) {
        return STATUS_OK;
    }
    while (is_stuck && !atomic_load(&conn->is_cut)) {
        mono_sleep(MONO_NS_PER_MS);
    }
    if (script.status != STATUS_OK) {
        error_set(error, script.kind, 1, "XX000", "scripted");
    }
    return script.status;
}

static inline enum status open_later(unsigned place, struct error *error)
{
    const unsigned now = atomic_fetch_add(&connects, 1) + 1;
    unsigned most = atomic_load(&most_connects);
    while (now > most && !atomic_compare_exchange_weak(&most_connects, &most, now)) {
    }
    mono_sleep(later.takes_ns);
    atomic_fetch_sub(&connects, 1);
    if (place >= later.failing) {
        return STATUS_OK;
    }
    error_set(error, later.kind, 2, NULL, "scripted");
    return later.status;
}

static inline enum status scripted_open(const struct adapter *adapter, const struct target *target,
                                        struct adapter_conn **conn, struct error *error)
{
    (void)adapter;
    (void)target;
    *conn = calloc(1, sizeof **conn);
    if (*conn == NULL) {
        abort(); /* not an assertion: only the main thread may make assertions */
    }
    const int number = atomic_fetch_add(&opened, 1);
    (*conn)->number = number;
    const enum status status = number < (int)first_connections
                                   ? answer(*conn, STEP_OPEN, error)
                                   : open_later((unsigned)number - first_connections, error);
    if (status != STATUS_OK) {
        free(*conn);
        *conn = NULL;
        return status;
    }
    atomic_fetch_add(&open_connections, 1);
    return status;
}

static inline void scripted_close(struct adapter_conn *conn)
{
    if (watch.batches > 0 && atomic_load(&watch.done) < SESSIONS) {
        atomic_store(&watch.left_early, true);
    }
    if (conn != NULL) {
        atomic_fetch_sub(&open_connections, 1);
    }
    free(conn);
}

static inline enum status scripted_append_open(struct adapter_conn *conn, const struct table *table,
                                               struct error *error)
{
    (void)table;
    conn->pending = 0;
    return answer(conn, STEP_APPEND_OPEN, error);
}

static inline enum status scripted_append_rows(struct adapter_conn *conn, const struct batch *batch,
                                               uint64_t *kept, struct error *error)
{
    conn->pending += batch->row_count;
    const enum status status = answer(conn, STEP_ROWS, error);
    if (status != STATUS_OK) {
        *kept = script.accepted;
        atomic_fetch_add(&rows_kept, *kept);
    }
    return status;
}

static inline enum status scripted_append_close(struct adapter_conn *conn, uint64_t *accepted,
                                                struct error *error)
{
    const enum status status = answer(conn, STEP_CLOSE, error);
    /* a scripted STATUS_OK with `accepted` rows succeeds but acknowledges only these rows */
    const bool is_short = script.step == STEP_CLOSE && script.status == STATUS_OK &&
                          script.accepted > 0 && conn->number == script.failing_session &&
                          conn->calls[STEP_CLOSE] == script.call;
    *accepted = status == STATUS_OK && !is_short ? conn->pending : script.accepted;
    if (conn->calls[STEP_CLOSE] == watch.batches) {
        atomic_fetch_add(&watch.done, 1);
    }
    atomic_fetch_add(&rows_kept, *accepted);
    return status;
}

/* Answers a query that counts rows with the number of rows. The answer to any other query has no
 * rows. */
static inline enum status scripted_run(struct adapter_conn *conn, const struct statement *statement,
                                       const struct batch *parameters, struct answer *rows,
                                       struct error *error)
{
    (void)statement;
    (void)parameters;
    if (rows->take == NULL) {
        atomic_fetch_add(&queries, 1);
        return answer(conn, STEP_QUERY, error);
    }
    const int64_t number = (int64_t)atomic_load(&rows_kept) + script.count_offset;
    const struct cell cell = {.type = COLUMN_INT64, .as.int64 = number < 0 ? INT64_MAX : number};
    rows->take(rows->context, &cell, 1);
    return answer(conn, STEP_COUNT, error);
}

static inline void scripted_interrupt(struct adapter_conn *conn)
{
    atomic_store(&conn->is_cut, true);
}

static const struct adapter scripted = {
    .name = "scripted",
    .stack_bytes = 256 * 1024,
    .open = scripted_open,
    .close = scripted_close,
    .append_open = scripted_append_open,
    .append_rows = scripted_append_rows,
    .append_close = scripted_append_close,
    .run = scripted_run,
    .interrupt = scripted_interrupt,
};

static inline struct plan make_plan(void)
{
    static const struct facts facts; /* without ranks */
    return (struct plan){.facts = &facts,
                         .adapter = &scripted,
                         .sessions = SESSIONS,
                         .records = SESSIONS * ROWS_A_SESSION,
                         .batch_rows = BATCH,
                         .read_mode = READ_COUNT,
                         .read_every = 1,
                         .connect_concurrency = 3,
                         .min_sessions = 1,
                         .stack_bytes = 512 * 1024};
}

/* Checks that the list of sessions adds up to the ledger. */
static inline void check_list(const struct plan *plan, const struct result *result)
{
    assert_int_equal(result->session_count, plan_sessions_all(plan));
    struct row_ledger rows = {0};
    uint64_t lost = 0;
    uint64_t reconnects = 0;
    uint64_t churns = 0;
    for (size_t i = 0; i < result->session_count; i++) {
        const struct session_summary *session = &result->session_list[i];
        assert_int_equal(session->index, i);
        assert_int_equal(session->is_idle, i >= plan->sessions);
        ledger_add(&rows, &session->rows, sizeof rows);
        lost += session->drops;
        reconnects += session->reconnects;
        churns += session->churns;
    }
    assert_memory_equal(&rows, &result->rows, sizeof rows);
    const uint64_t *counters = result->totals.counters;
    assert_int_equal(lost, counters[RECORDER_CONNECTIONS_LOST]);
    assert_int_equal(reconnects, counters[RECORDER_RECONNECTS]);
    assert_int_equal(churns, counters[RECORDER_CHURNS]);
}

/* Runs the plan. The caller frees the result with end(). */
static inline struct result *run(const struct plan *plan)
{
    static const struct column column = {.name = "n", .type = COLUMN_INT64};
    struct setup setup = {0};
    struct generator *generator = NULL;
    struct result *result = calloc(1, sizeof *result);
    struct recorder *recorder = recorder_create(plan_sessions_all(plan), 4, OPERATIONS, 1);
    assert_true(result != NULL && recorder != NULL);
    assert_true(recorder_snapshot_init(&result->totals, OPERATIONS));
    assert_int_equal(setup_allocate(&setup, plan, NULL), EXIT_CODE_OK);
    setup.hosts[0].is_known = true;
    struct table *table = &setup.own->table;
    assert_int_equal(table_init(table, "t", NULL), STATUS_OK);
    assert_int_equal(table_add_column(table, &column, NULL), STATUS_OK);
    assert_int_equal(generator_create(&generator, plan, table, NULL), STATUS_OK);
    first_connections = plan_sessions_all(plan);
    atomic_store(&opened, 0);
    atomic_store(&most_connects, 0);
    atomic_store(&queries, 0);
    atomic_store(&rows_kept, 0);
    causes_init(&result->causes);
    struct load load = {.plan = plan,
                        .setup = &setup,
                        .generator = generator,
                        .recorder = recorder,
                        .on_gate = on_gate,
                        .log = run_log,
                        .start_ns = mono_now_ns()};
    assert_int_equal(fleet_run(&load, result, NULL), STATUS_OK);
    assert_true(session_ledger_balances(&result->sessions));
    assert_true(row_ledger_balances(&result->rows));
    const uint64_t *counters = result->totals.counters;
    assert_int_equal(counters[RECORDER_ROWS_ACKNOWLEDGED], result->rows.acknowledged);
    assert_int_equal(counters[RECORDER_ROWS_REJECTED], result->rows.rejected);
    assert_int_equal(counters[RECORDER_ROWS_IN_DOUBT], result->rows.in_doubt);
    assert_int_equal(counters[RECORDER_SESSIONS_CONNECTED], counters[RECORDER_SESSIONS_ENDED]);
    assert_int_equal(counters[RECORDER_CONNECTIONS_OPENED], counters[RECORDER_CONNECTIONS_CLOSED]);
    assert_int_equal(atomic_load(&open_connections), 0);
    assert_int_equal(result->rows.acknowledged, atomic_load(&rows_kept));
    check_list(plan, result);
    causes_fini(&result->causes);
    recorder_destroy(recorder);
    generator_destroy(generator);
    setup_fini(&setup);
    return result;
}

static inline void end(struct result *result)
{
    session_list_free(result->session_list, result->session_count);
    recorder_snapshot_fini(&result->totals);
    free(result);
}

static inline void assert_rows(const struct result *result, uint64_t rejected, uint64_t in_doubt,
                               uint64_t not_sent)
{
    assert_int_equal(result->rows.planned, SESSIONS * ROWS_A_SESSION);
    assert_int_equal(result->rows.rejected, rejected);
    assert_int_equal(result->rows.in_doubt, in_doubt);
    assert_int_equal(result->rows.not_sent, not_sent);
}

#endif
