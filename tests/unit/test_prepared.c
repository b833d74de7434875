#include "unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/prepared.h"

/* An adapter that counts its calls, and fails on request. */
struct adapter_conn {
    unsigned prepares, runs, prepared_runs, drops;
    bool only_checks;               /* prepare succeeds, but the statement is then run as text */
    enum status prepare_status;     /* result of the next calls to prepare */
    unsigned stale_runs;            /* number of the next prepared runs that find the statement
                                       stale */
    enum staleness staleness;       /* how the statement is stale in these runs */
    const struct statement *latest; /* the last statement that was run prepared */
};

struct adapter_prepared {
    const struct statement *statement;
};

static enum status run(struct adapter_conn *conn, const struct statement *statement,
                       const struct batch *parameters, struct answer *answer, struct error *error)
{
    (void)statement;
    (void)parameters;
    (void)error;
    conn->runs++;
    answer->rows = 1;
    return STATUS_OK;
}

static enum status prepare(struct adapter_conn *conn, const struct statement *statement,
                           struct adapter_prepared **prepared, struct error *error)
{
    conn->prepares++;
    if (conn->only_checks) {
        return STATUS_OK;
    }
    if (*prepared == NULL) {
        *prepared = calloc(1, sizeof **prepared);
        assert_non_null(*prepared);
    }
    (*prepared)->statement = statement;
    if (conn->prepare_status != STATUS_OK) {
        error_set(error, ERROR_DATA, 7, "42000", "not now");
    }
    return conn->prepare_status;
}

static enum status run_prepared(struct adapter_conn *conn, struct adapter_prepared *prepared,
                                const struct batch *parameters, struct answer *answer,
                                enum staleness *stale, struct error *error)
{
    (void)parameters;
    assert_int_equal(*stale, STALE_NOT);
    assert_false(error_is_set(error));
    conn->prepared_runs++;
    conn->latest = prepared->statement;
    answer->rows = 2;
    if (conn->stale_runs > 0) {
        conn->stale_runs--;
        *stale = conn->staleness;
        error_set(error, ERROR_DATA, 9, "0A000", "the plan is old");
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

static void drop(struct adapter_conn *conn, struct adapter_prepared *prepared)
{
    conn->drops++;
    free(prepared);
}

static const struct adapter keeper = {
    .name = "keeper", .run = run, .prepare = prepare, .run_prepared = run_prepared, .drop = drop};
static const struct adapter plain = {.name = "plain", .run = run};

static const struct statement first = {.sql = "1", .is_prepared = true, .slot = 1};
static const struct statement far = {.sql = "2", .is_prepared = true, .slot = STATEMENT_SLOTS_MAX};
static const struct statement other = {.sql = "3", .is_prepared = true, .slot = 1};
static const struct statement text = {.sql = "4"};
static const struct statement slot_as_text = {.sql = "5", .slot = 1};
static const struct statement latest = {.sql = "6", .is_prepared = true};

static struct prepared_set set;
static struct adapter_conn conn;
static struct error error;
static struct answer answer;

static int begin(void **state)
{
    (void)state;
    memset(&conn, 0, sizeof conn);
    error_clear(&error);
    set = (struct prepared_set){.adapter = &keeper, .conn = &conn};
    return 0;
}

static int end(void **state)
{
    (void)state;
    prepared_end(&set);
    return 0;
}

static enum status call(const struct statement *statement)
{
    answer.rows = 99;
    return prepared_run(&set, statement, NULL, &answer, &error);
}

TEST_BETWEEN(test_each_is_prepared_once, begin, end)
{
    for (int i = 0; i < 3; i++) {
        assert_int_equal(call(&first), STATUS_OK);
        assert_ptr_equal(conn.latest, &first);
        assert_int_equal(call(&far), STATUS_OK);
        assert_ptr_equal(conn.latest, &far);
    }
    assert_int_equal(answer.rows, 2);
    assert_int_equal(conn.prepares, 2);
    assert_int_equal(conn.prepared_runs, 6);
    prepared_end(&set);
    assert_int_equal(conn.drops, 2);
    assert_null(set.slots);
}

TEST_BETWEEN(test_statement_prepared_before, begin, end)
{
    assert_int_equal(prepared_make(&set, &first, &error), STATUS_OK);
    assert_int_equal(conn.prepares, 1);
    assert_int_equal(call(&first), STATUS_OK);
    assert_int_equal(conn.prepares, 1);
}

/* If another statement takes the slot, `prepare` gets and reuses the object that it made for the
 * old statement. */
TEST_BETWEEN(test_another_statement_takes_the_slot, begin, end)
{
    assert_int_equal(call(&first), STATUS_OK);
    assert_int_equal(call(&other), STATUS_OK);
    assert_ptr_equal(conn.latest, &other);
    assert_int_equal(call(&first), STATUS_OK);
    assert_ptr_equal(conn.latest, &first);
    assert_int_equal(conn.prepares, 3);
    prepared_end(&set);
    assert_int_equal(conn.drops, 1);
}

TEST_BETWEEN(test_statements_run_as_text, begin, end)
{
    assert_int_equal(call(&text), STATUS_OK);
    assert_int_equal(call(&slot_as_text), STATUS_OK);
    assert_int_equal(call(&latest), STATUS_OK);
    set.adapter = &plain;
    assert_int_equal(call(&first), STATUS_OK);
    assert_int_equal(prepared_make(&set, &first, &error), STATUS_OK);
    set.adapter = &keeper;
    assert_int_equal(conn.runs, 4);
    assert_int_equal(conn.prepares, 0);
    conn.only_checks = true; /* for one call */
    assert_int_equal(call(&first), STATUS_OK);
    assert_int_equal(call(&first), STATUS_OK);
    assert_int_equal(conn.prepares, 1);
    assert_int_equal(conn.runs, 6);
    assert_int_equal(answer.rows, 1);
    prepared_end(&set);
    assert_int_equal(conn.drops, 0);
}

TEST_BETWEEN(test_refused_statement, begin, end)
{
    conn.prepare_status = STATUS_REJECTED;
    for (unsigned i = 1; i < 3; i++) {
        assert_int_equal(call(&first), STATUS_REJECTED);
        assert_int_equal(error.native_code, 7);
        assert_int_equal(answer.rows, 0);
        assert_int_equal(conn.prepares, i);
        error_clear(&error);
    }
    assert_int_equal(conn.prepared_runs, 0);
    conn.prepare_status = STATUS_OK;
    assert_int_equal(call(&first), STATUS_OK);
    assert_int_equal(conn.prepares, 3);
}

TEST_BETWEEN(test_prepared_again_when_stale, begin, end)
{
    assert_int_equal(call(&first), STATUS_OK);
    conn.stale_runs = 1;
    conn.staleness = STALE_AGAIN;
    assert_int_equal(call(&first), STATUS_OK);
    assert_false(error_is_set(&error));
    assert_int_equal(answer.rows, 2);
    assert_int_equal(conn.prepares, 2);
    assert_int_equal(conn.prepared_runs, 3);
    /* a statement that is stale again right after a new prepare is refused, not prepared once
     * more */
    conn.stale_runs = 2;
    assert_int_equal(call(&first), STATUS_REJECTED);
    assert_int_equal(error.native_code, 9);
    assert_int_equal(conn.prepares, 3);
    assert_int_equal(conn.prepared_runs, 5);
    error_clear(&error);
    assert_int_equal(call(&first), STATUS_OK);
    assert_int_equal(conn.prepares, 4);
}

TEST_BETWEEN(test_stale_in_a_transaction, begin, end)
{
    assert_int_equal(call(&first), STATUS_OK);
    conn.stale_runs = 1;
    conn.staleness = STALE_UNDONE;
    assert_int_equal(call(&first), STATUS_REJECTED);
    assert_int_equal(error.kind, ERROR_SERIALIZATION);
    assert_string_equal(error.sqlstate, "0A000");
    assert_non_null(strstr(error.text, "a table has changed since the statement was prepared: "
                                       "the plan is old"));
    assert_int_equal(conn.prepares, 1); /* a failed transaction cannot prepare anything */
    error_clear(&error);
    assert_int_equal(call(&first), STATUS_OK);
    assert_int_equal(conn.prepares, 2);
}
