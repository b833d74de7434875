#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "measure/ledger.h"

static const struct session_ledger sessions = {
    .requested = 100,
    .connected = 60,
    .refused = 25,
    .timed_out = 10,
    .not_started = 5,
    .finished = 40,
    .stopped = 13,
    .dropped = 7,
};

static const struct row_ledger rows = {
    .planned = 1000,
    .acknowledged = 600,
    .rejected = 200,
    .in_doubt = 150,
    .not_sent = 50,
};

static void session_ledgers_balance_or_not(void **state)
{
    (void)state;
    assert_true(session_ledger_balances(&sessions));
    uint64_t *members[8];
    struct session_ledger ledger = sessions;
    members[0] = &ledger.requested;
    members[1] = &ledger.connected;
    members[2] = &ledger.refused;
    members[3] = &ledger.timed_out;
    members[4] = &ledger.not_started;
    members[5] = &ledger.finished;
    members[6] = &ledger.stopped;
    members[7] = &ledger.dropped;
    for (size_t i = 0; i < 8; i++) {
        (*members[i])++;
        assert_false(session_ledger_balances(&ledger));
        (*members[i])--;
    }
    assert_true(session_ledger_balances(&ledger));
}

static void row_ledgers_balance_or_not(void **state)
{
    (void)state;
    assert_true(row_ledger_balances(&rows));
    struct row_ledger ledger = rows;
    uint64_t *const members[5] = {&ledger.planned, &ledger.acknowledged, &ledger.rejected,
                                  &ledger.in_doubt, &ledger.not_sent};
    for (size_t i = 0; i < 5; i++) {
        (*members[i])++;
        assert_false(row_ledger_balances(&ledger));
        (*members[i])--;
    }
    assert_true(row_ledger_balances(&ledger));
}

static void sums_of_ledgers_balance(void **state)
{
    (void)state;
    struct session_ledger session_sum = sessions;
    session_ledger_add(&session_sum, &sessions);
    assert_true(session_ledger_balances(&session_sum));
    assert_int_equal(session_sum.requested, 200);
    assert_int_equal(session_sum.connected, 120);
    assert_int_equal(session_sum.refused, 50);
    assert_int_equal(session_sum.timed_out, 20);
    assert_int_equal(session_sum.not_started, 10);
    assert_int_equal(session_sum.finished, 80);
    assert_int_equal(session_sum.stopped, 26);
    assert_int_equal(session_sum.dropped, 14);
    struct row_ledger row_sum = rows;
    row_ledger_add(&row_sum, &rows);
    assert_true(row_ledger_balances(&row_sum));
    assert_int_equal(row_sum.planned, 2000);
    assert_int_equal(row_sum.acknowledged, 1200);
    assert_int_equal(row_sum.rejected, 400);
    assert_int_equal(row_sum.in_doubt, 300);
    assert_int_equal(row_sum.not_sent, 100);
}

struct settle_case {
    uint64_t before;
    uint64_t after;
    uint64_t lost;
    uint64_t lost_at_most;
    uint64_t in_doubt_arrived;
    uint64_t rejected_arrived;
    uint64_t surplus;
    bool is_shrunk;
};

/* 600 acknowledged, 150 in doubt, 200 rejected. */
static void counts_are_held_against_the_ledger(void **state)
{
    (void)state;
    const struct settle_case cases[] = {
        {70, 670, 0, 0, 0, 0, 0, false},      /* exact */
        {70, 770, 0, 0, 100, 0, 0, false},    /* in doubt, arrived in part */
        {70, 820, 0, 0, 150, 0, 0, false},    /* in doubt, all arrived */
        {70, 821, 0, 0, 150, 1, 0, false},    /* one that was rejected */
        {70, 1021, 0, 0, 150, 200, 1, false}, /* somebody else's row */
        {70, 669, 0, 1, 0, 0, 0, false},      /* one lost, or one of those before */
        {70, 70, 530, 600, 0, 0, 0, false},   /* at most 70 of this run are left */
        {0, 70, 530, 530, 0, 0, 0, false},    /* all that are left are of this run */
        {70, 69, 531, 600, 0, 0, 0, true},
        {UINT64_MAX, 0, 600, 600, 0, 0, 0, true},
        {0, UINT64_MAX, 0, 0, 150, 200, UINT64_MAX - 950, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct verification verification = {
            .state = VERIFICATION_DONE,
            .rows_before = cases[i].before,
            .rows_after = cases[i].after,
            .lost = 99,
            .in_doubt_arrived = 99,
            .surplus = 99,
            .is_shrunk = true,
        };
        verification_settle(&verification, &rows);
        assert_int_equal(verification.lost, cases[i].lost);
        assert_int_equal(verification.lost_at_most, cases[i].lost_at_most);
        assert_int_equal(verification.rejected_arrived, cases[i].rejected_arrived);
        assert_int_equal(verification.in_doubt_arrived, cases[i].in_doubt_arrived);
        assert_int_equal(verification.surplus, cases[i].surplus);
        assert_int_equal(verification.is_shrunk, cases[i].is_shrunk);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(session_ledgers_balance_or_not),
        cmocka_unit_test(row_ledgers_balance_or_not),
        cmocka_unit_test(sums_of_ledgers_balance),
        cmocka_unit_test(counts_are_held_against_the_ledger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
