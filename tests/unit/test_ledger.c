/* The ledgers, causes, session summaries, and the verification of rows that were read back. */
#include "unit/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "load/session.h"
#include "measure/ledger.h"

static const struct session_ledger all_sessions = {
    .requested = 100,
    .connected = 60,
    .refused = 25,
    .timed_out = 10,
    .not_started = 5,
    .finished = 40,
    .stopped = 13,
    .dropped = 7,
};

static const struct row_ledger all_rows = {
    .planned = 1000,
    .acknowledged = 600,
    .rejected = 200,
    .in_doubt = 150,
    .not_sent = 50,
};

TEST(session_ledgers_balance_or_not)
{
    assert_true(session_ledger_balances(&all_sessions));
    uint64_t *members[8];
    struct session_ledger ledger = all_sessions;
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
    ledger.requested++; /* a session that connected and has no outcome */
    ledger.connected++;
    assert_false(session_ledger_balances(&ledger));
}

TEST(row_ledgers_balance_or_not)
{
    assert_true(row_ledger_balances(&all_rows));
    struct row_ledger ledger = all_rows;
    uint64_t *const members[5] = {&ledger.planned, &ledger.acknowledged, &ledger.rejected,
                                  &ledger.in_doubt, &ledger.not_sent};
    for (size_t i = 0; i < 5; i++) {
        (*members[i])++;
        assert_false(row_ledger_balances(&ledger));
        (*members[i])--;
    }
    assert_true(row_ledger_balances(&ledger));
}

TEST(sums_of_ledgers_balance)
{
    struct row_ledger row_sum = all_rows;
    ledger_add(&row_sum, &all_rows, sizeof row_sum);
    assert_true(row_ledger_balances(&row_sum));
    assert_int_equal(row_sum.planned, 2000);
    assert_int_equal(row_sum.acknowledged, 1200);
    assert_int_equal(row_sum.rejected, 400);
    assert_int_equal(row_sum.in_doubt, 300);
    assert_int_equal(row_sum.not_sent, 100);
}

struct count_case {
    uint64_t before;
    uint64_t after;
    uint64_t lost;
    uint64_t lost_at_most;
    uint64_t in_doubt_arrived;
    uint64_t rejected_arrived;
    uint64_t surplus;
    bool is_shrunk;
};

/* In each case 600 rows are acknowledged, 150 in doubt and 200 rejected. */
TEST(counts_are_compared_with_the_ledger)
{
    const struct count_case cases[] = {
        {70, 670, 0, 0, 0, 0, 0, false},      /* exactly the acknowledged rows */
        {70, 770, 0, 0, 100, 0, 0, false},    /* some rows in doubt arrived */
        {70, 820, 0, 0, 150, 0, 0, false},    /* all rows in doubt arrived */
        {70, 821, 0, 0, 150, 1, 0, false},    /* a rejected row arrived */
        {70, 1021, 0, 0, 150, 200, 1, false}, /* the table also has a row of another writer */
        {70, 669, 0, 1, 0, 0, 0, false},      /* a row of this run or an earlier row is lost */
        {70, 70, 530, 600, 0, 0, 0, false},   /* at most 70 rows of this run are left */
        {0, 70, 530, 530, 0, 0, 0, false},    /* all rows that are left are from this run */
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
        verification_evaluate(&verification, &all_rows);
        assert_int_equal(verification.lost, cases[i].lost);
        assert_int_equal(verification.lost_at_most, cases[i].lost_at_most);
        assert_int_equal(verification.rejected_arrived, cases[i].rejected_arrived);
        assert_int_equal(verification.in_doubt_arrived, cases[i].in_doubt_arrived);
        assert_int_equal(verification.surplus, cases[i].surplus);
        assert_int_equal(verification.is_shrunk, cases[i].is_shrunk);
    }
}

/* Breaks each of the identities by one. */
TEST(transactions_balance_or_not)
{
    static const uint64_t good[RECORDER_COUNTERS] = {
        [RECORDER_TRANSACTIONS_DUE] = 90,
        [RECORDER_TRANSACTIONS_NOT_DUE] = 30,
        [RECORDER_SKIPPED] = 15,
        [RECORDER_TRANSACTIONS_NOT_BEGUN] = 5,
        [RECORDER_TRANSACTIONS_BEGUN] = 100,
        [RECORDER_TRANSACTIONS_COMMITTED] = 80,
        [RECORDER_TRANSACTIONS_ROLLED_BACK] = 7,
        [RECORDER_TRANSACTIONS_FAILED] = 10,
        [RECORDER_TRANSACTIONS_IN_DOUBT] = 2,
        [RECORDER_TRANSACTIONS_UNFINISHED] = 1,
        [RECORDER_TRANSACTIONS_EXHAUSTED] = 4,
        [RECORDER_TRANSACTIONS_REFUSED] = 3,
        [RECORDER_TRANSACTIONS_LOST] = 3,
        [RECORDER_TRIES] = 111,
        [RECORDER_RETRIES_DEADLOCK] = 5,
        [RECORDER_RETRIES_SERIALIZATION] = 3,
        [RECORDER_RETRIES_BUSY] = 2,
        [RECORDER_RETRIES_DUPLICATE] = 1,
        [RECORDER_READS] = 7,
    };
    uint64_t sum[RECORDER_COUNTERS];
    assert_true(transactions_balance(good));
    assert_int_equal(transactions_retries(good), 11);
    for (size_t i = 0; i < RECORDER_COUNTERS; i++) {
        memcpy(sum, good, sizeof sum);
        sum[i]++;
        assert_int_equal(transactions_balance(sum), good[i] == 0 || i == RECORDER_READS);
    }
    memcpy(sum, good, sizeof sum);
    sum[RECORDER_TRANSACTIONS_DUE] = sum[RECORDER_SKIPPED] = sum[RECORDER_TRANSACTIONS_NOT_BEGUN] =
        0; /* as without a rate */
    assert_true(transactions_balance(sum));
    sum[RECORDER_TRANSACTIONS_PARTIAL] = sum[RECORDER_TRANSACTIONS_FAILED] + 1;
    assert_false(transactions_balance(sum));
    memcpy(sum, good, sizeof sum);
    sum[RECORDER_TRANSACTIONS_FAILED]++; /* the added failure is not exhausted, refused or lost */
    sum[RECORDER_TRANSACTIONS_COMMITTED]--;
    assert_false(transactions_balance(sum));
}

/* Counts of a transaction and of a statement, some of which balance and some of which do not. */
TEST(operation_counts_balance_or_not)
{
    static const uint64_t good[OPERATION_COUNTS] = {
        [COUNT_SENT] = 9,
        [COUNT_ANSWERED] = 6,
        [COUNT_REFUSED] = 2,
        [COUNT_UNANSWERED] = 1,
        [COUNT_ROWS] = 40,
        [COUNT_EMPTY] = 3,
        [COUNT_BEGUN] = 15,
        [COUNT_COMMITTED] = 8,
        [COUNT_ROLLED_BACK] = 1,
        [COUNT_FAILED] = 3,
        [COUNT_IN_DOUBT] = 2,
        [COUNT_UNFINISHED] = 1,
        [COUNT_PARTIAL] = 1,
        [COUNT_TRIES] = 25,
        [COUNT_RETRIES_DEADLOCK] = 4,
        [COUNT_RETRIES_SERIALIZATION] = 3,
        [COUNT_RETRIES_BUSY] = 2,
        [COUNT_RETRIES_DUPLICATE] = 1,
    };
    assert_true(operation_counts_balance(good));
    for (size_t i = 0; i < OPERATION_COUNTS; i++) {
        uint64_t counts[OPERATION_COUNTS];
        memcpy(counts, good, sizeof counts);
        counts[i]++;
        assert_int_equal(operation_counts_balance(counts),
                         i == COUNT_ROWS || i == COUNT_EMPTY || i == COUNT_PARTIAL);
        /* partial transactions exceed failed transactions */
        counts[COUNT_PARTIAL] = counts[COUNT_FAILED] + 1;
        assert_false(operation_counts_balance(counts));
    }
}

enum {
    THREADS = 8,
    ROUNDS = 2000
};

static struct causes causes;

static struct error make(enum error_kind kind, int code, const char *sqlstate, const char *text)
{
    struct error error;
    error_clear(&error);
    error_set(&error, kind, code, sqlstate, "%s", text);
    return error;
}

TEST(tables_are_compared_with_what_was_committed)
{
    const struct {
        uint64_t after, lost, surplus;
    } cases[] = {{130, 0, 0}, {129, 0, 0}, {126, 0, 0}, {125, 1, 0},
                 {0, 126, 0}, {135, 0, 0}, {136, 0, 1}, {140, 0, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct verification verification = {
            .rows_before = 100,
            .rows_after = cases[i].after,
            .added = 50,
            .taken = 20,
            .added_in_doubt = 5,
            .taken_in_doubt = 4,
        };
        verification_evaluate_table(&verification);
        assert_int_equal(verification.lost, cases[i].lost);
        assert_int_equal(verification.surplus, cases[i].surplus);
    }
    /* more rows were removed than the table can have had */
    struct verification verification = {.rows_before = 3, .taken = 4, .rows_after = 1};
    verification_evaluate_table(&verification);
    assert_int_equal(verification.lost, 0);
    assert_int_equal(verification.surplus, 1);
}

TEST(equal_causes_are_one)
{
    causes_init(&causes);
    const struct error first = make(ERROR_LIMIT, 0, "53300", "too many clients");
    const struct error again = make(ERROR_LIMIT, 0, "53300", "too many clients already");
    causes_add(&causes, CAUSE_CONNECT, STATUS_LOST, &first, 50);
    causes_add(&causes, CAUSE_CONNECT, STATUS_LOST, &again, 90);
    causes_add(&causes, CAUSE_CONNECT, STATUS_LOST, &again, 40);
    assert_int_equal(causes.count, 1);
    assert_int_equal(causes.entries[0].count, 3);
    assert_int_equal(causes.entries[0].first_ns, 40);
    assert_int_equal(causes.entries[0].last_ns, 90);
    assert_int_equal(causes.entries[0].phase, CAUSE_CONNECT);
    assert_int_equal(causes.entries[0].status, STATUS_LOST);
    assert_string_equal(causes.entries[0].error.text, "too many clients");
    causes_fini(&causes);
}

/* The copy has a mutex of its own, which is usable while the mutex of the original is locked. */
TEST(causes_are_copied_without_their_mutex)
{
    static struct causes copy;
    causes_init(&copy);
    causes_init(&causes);
    causes_add(&causes, CAUSE_CONNECT, STATUS_LOST, NULL, 50);
    causes.others = 7;
    causes_copy(&copy, &causes);
    assert_int_equal(copy.count, 1);
    assert_int_equal(copy.others, 7);
    assert_int_equal(copy.entries[0].phase, CAUSE_CONNECT);
    assert_int_equal(copy.entries[0].first_ns, 50);
    assert_int_equal(pthread_mutex_trylock(&copy.lock), 0);
    assert_int_equal(pthread_mutex_trylock(&causes.lock), 0);
    assert_int_equal(pthread_mutex_unlock(&copy.lock), 0);
    assert_int_equal(pthread_mutex_unlock(&causes.lock), 0);
    causes_fini(&copy);
    causes_fini(&causes);
}

TEST(different_causes_are_apart)
{
    causes_init(&causes);
    const struct error base = make(ERROR_SERVER, 7, "XX000", "a");
    const struct error kind = make(ERROR_DATA, 7, "XX000", "a");
    const struct error code = make(ERROR_SERVER, 8, "XX000", "a");
    const struct error sqlstate = make(ERROR_SERVER, 7, "XX001", "a");
    causes_add(&causes, CAUSE_APPEND, STATUS_REJECTED, &base, 1);
    causes_add(&causes, CAUSE_APPEND, STATUS_REJECTED, &kind, 2);
    causes_add(&causes, CAUSE_APPEND, STATUS_REJECTED, &code, 3);
    causes_add(&causes, CAUSE_APPEND, STATUS_REJECTED, &sqlstate, 4);
    causes_add(&causes, CAUSE_READ, STATUS_REJECTED, &base, 5);
    causes_add(&causes, CAUSE_APPEND, STATUS_LOST, &base, 6);
    causes_add(&causes, CAUSE_APPEND, STATUS_LOST, NULL, 7);
    causes_add_named(&causes, CAUSE_STATEMENT, "find", STATUS_REJECTED, &base, 8);
    causes_add_named(&causes, CAUSE_STATEMENT, "log", STATUS_REJECTED, &base, 9);
    causes_add_named(&causes, CAUSE_STATEMENT, "find", STATUS_REJECTED, &base, 8);
    assert_int_equal(causes.count, 9);
    for (size_t i = 0; i < causes.count; i++) {
        assert_int_equal(causes.entries[i].count, i == 7 ? 2 : 1);
        assert_int_equal(causes.entries[i].first_ns, i + 1);
    }
    causes_fini(&causes);
}

TEST(the_most_frequent_cause)
{
    causes_init(&causes);
    assert_null(causes_most_frequent(&causes, CAUSE_PHASES));
    const struct error rare = make(ERROR_DATA, 1, "22000", "rare");
    const struct error often = make(ERROR_DATA, 2, "22000", "often");
    const struct error as_often = make(ERROR_DATA, 3, "22000", "as often");
    causes_add(&causes, CAUSE_READ, STATUS_REJECTED, &rare, 1);
    for (int i = 0; i < 3; i++) {
        causes_add(&causes, CAUSE_APPEND, STATUS_REJECTED, &often, 2);
    }
    for (int i = 0; i < 3; i++) {
        causes_add(&causes, CAUSE_APPEND, STATUS_REJECTED, &as_often, 3);
    }
    causes_add(&causes, CAUSE_APPEND, STATUS_REJECTED, &rare, 4);
    assert_string_equal(causes_most_frequent(&causes, CAUSE_PHASES)->error.text, "often");
    assert_string_equal(causes_most_frequent(&causes, CAUSE_APPEND)->error.text, "often");
    assert_string_equal(causes_most_frequent(&causes, CAUSE_READ)->error.text, "rare");
    assert_null(causes_most_frequent(&causes, CAUSE_CONNECT));
    causes_fini(&causes);
}

TEST(a_full_table_counts_others)
{
    causes_init(&causes);
    for (int i = 0; i < CAUSES_MAX + 5; i++) {
        const struct error error = make(ERROR_SERVER, i, NULL, "a");
        causes_add(&causes, CAUSE_READ, STATUS_REJECTED, &error, i);
    }
    const struct error known = make(ERROR_SERVER, 3, NULL, "a");
    causes_add(&causes, CAUSE_READ, STATUS_REJECTED, &known, 1000);
    assert_int_equal(causes.count, CAUSES_MAX);
    assert_int_equal(causes.others, 5);
    assert_int_equal(causes.entries[3].count, 2);
    causes_fini(&causes);
}

static void *add_many(void *argument)
{
    const int *number = argument;
    const struct error error = make(ERROR_BUSY, *number % 2, NULL, "busy");
    for (int i = 0; i < ROUNDS; i++) {
        causes_add(&causes, CAUSE_APPEND, STATUS_REJECTED, &error, i);
    }
    return NULL;
}

TEST(threads_lose_nothing)
{
    causes_init(&causes);
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(causes.count, 2);
    assert_int_equal(causes.entries[0].count, THREADS / 2 * ROUNDS);
    assert_int_equal(causes.entries[1].count, THREADS / 2 * ROUNDS);
    assert_int_equal(causes.entries[0].first_ns, 0);
    assert_int_equal(causes.entries[0].last_ns, ROUNDS - 1);
    causes_fini(&causes);
}

TEST(phases_have_names)
{
    assert_string_equal(cause_phase_names[CAUSE_THREAD], "thread");
    assert_string_equal(cause_phase_names[CAUSE_CONNECT], "connect");
    assert_string_equal(cause_phase_names[CAUSE_APPEND], "append");
    assert_string_equal(cause_phase_names[CAUSE_READ], "read");
}

TEST(test_extremes)
{
    const struct session_summary list[] = {
        {.index = 0, .is_idle = true},
        {.index = 1, .rows.acknowledged = 100, .worked_ns = MONO_NS_PER_S, .longest_gap_ns = 7},
        {.index = 2, .rows.acknowledged = 100, .worked_ns = 4 * MONO_NS_PER_S, .longest_gap_ns = 9},
        {.index = 3, .rows.acknowledged = 90, .worked_ns = MONO_NS_PER_S / 2, .longest_gap_ns = 8},
        {.index = 4, .outcome = SESSION_REFUSED},
    };
    struct fairness fairness;
    fairness_compute(&fairness, list, 5);
    assert_int_equal(fairness.sessions, 3);
    assert_int_equal(fairness.slowest_session, 2);
    assert_int_equal(fairness.fastest_session, 3);
    assert_int_equal((int)fairness.slowest_rows_per_s, 25);
    assert_int_equal((int)fairness.fastest_rows_per_s, 180);
    assert_int_equal(fairness.longest_gap_session, 2);
    assert_int_equal(fairness.longest_gap_ns, 9);
    fairness_compute(&fairness, list, 1);
    assert_int_equal(fairness.sessions, 0);
}

static struct row_exception exception(uint64_t first, uint64_t rows, uint64_t accepted,
                                      bool is_in_doubt)
{
    return (struct row_exception){first, rows, accepted, is_in_doubt};
}

/* Reads rows first … first+rows-1 of a session. */
static void read_rows(struct row_map *map, int64_t session, int64_t first, int64_t rows,
                      struct session_summary *sessions, struct row_verification *found)
{
    for (int64_t row = first; row < first + rows; row++) {
        row_map_add(map, session, row, sessions, found);
    }
}

/* The bits of three sessions cross the borders of words, and one session has no rows. */
TEST(test_all_rows_present)
{
    struct session_summary sessions[3] = {{.begun = 100}, {.begun = 0}, {.begun = 333}};
    struct row_verification found = {0};
    struct row_map *map = row_map_create(sessions, 3);
    assert_non_null(map);
    read_rows(map, 0, 0, 100, sessions, &found);
    read_rows(map, 2, 0, 333, sessions, &found);
    row_map_evaluate(map, sessions, &found);
    row_map_destroy(map);
    assert_int_equal(found.read, 433);
    assert_int_equal(found.present, 433);
    assert_int_equal(found.lost + found.duplicates + found.foreign + found.sessions_lost, 0);
    assert_int_equal(sessions[0].present, 100);
    assert_int_equal(sessions[1].present, 0);
    assert_int_equal(sessions[2].present, 333);
    assert_true(sessions[1].is_verified);
}

TEST(test_lost_doubled_and_foreign)
{
    struct session_summary sessions[2] = {{.begun = 130}, {.begun = 70}};
    struct row_verification found = {0};
    struct row_map *map = row_map_create(sessions, 2);
    read_rows(map, 0, 0, 63, sessions, &found); /* rows 63 … 65 are lost */
    read_rows(map, 0, 66, 64, sessions, &found);
    read_rows(map, 1, 0, 70, sessions, &found);
    read_rows(map, 1, 69, 1, sessions, &found);
    read_rows(map, 1, 69, 1, sessions, &found);
    const int64_t foreign[][2] = {{2, 0},  {-1, 0},        {0, 130},       {1, 70},
                                  {0, -1}, {INT64_MAX, 0}, {0, INT64_MAX}, {INT64_MIN, INT64_MIN}};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        row_map_add(map, foreign[i][0], foreign[i][1], sessions, &found);
    }
    row_map_evaluate(map, sessions, &found);
    row_map_destroy(map);
    assert_int_equal(found.present, 197);
    assert_int_equal(found.lost, 3);
    assert_int_equal(found.sessions_lost, 1);
    assert_int_equal(found.duplicates, 2);
    assert_int_equal(found.foreign, 8);
    assert_int_equal(sessions[0].lost, 3);
    assert_int_equal(sessions[1].duplicates, 2);
    assert_int_equal(sessions[1].lost, 0);
}

/* Rows that were not acknowledged: in doubt, rejected, and part of a batch. */
TEST(test_exceptions)
{
    struct row_exception list[] = {exception(10, 10, 0, true), exception(40, 10, 0, false),
                                   exception(60, 10, 4, false), exception(90, 10, 7, true)};
    struct session_summary session = {.begun = 100, .exceptions = list, .exception_count = 4};
    struct row_verification found = {0};
    struct row_map *map = row_map_create(&session, 1);
    read_rows(map, 0, 0, 13, &session, &found);  /* 3 rows in doubt */
    read_rows(map, 0, 20, 22, &session, &found); /* 2 rejected rows */
    read_rows(map, 0, 50, 16, &session, &found); /* 6 rows of the batch with 4 acknowledged rows */
    read_rows(map, 0, 70, 25, &session, &found); /* 5 rows of the batch with 7 acknowledged rows */
    row_map_evaluate(map, &session, &found);
    row_map_destroy(map);
    /* acknowledged: 60 outside of all exceptions, 4 and 7 within */
    assert_int_equal(session.present, 60 + 4 + 5);
    assert_int_equal(session.lost, 2);
    assert_int_equal(session.unacknowledged_present, 3 + 2 + 2);
    assert_int_equal(found.in_doubt_present, 3);
    assert_int_equal(found.rejected_present, 4);
    assert_int_equal(found.present + found.lost, 71);
}

/* Sessions without rows have the rate 0. Sessions that are idle or never worked have no rate. */
TEST(test_slow_and_fast_sessions)
{
    struct session_summary list[] = {
        {.index = 1, .is_idle = true, .worked_ns = 1000000000},
        {.index = 2, .worked_ns = 0, .rows.acknowledged = 7},
        {.index = 3, .worked_ns = 1000000000, .longest_gap_ns = 0},
        {.index = 4, .worked_ns = 1000000000, .longest_gap_ns = 0},
        {.index = 5, .worked_ns = 2000000000, .rows.acknowledged = 8, .longest_gap_ns = 6},
        {.index = 6, .worked_ns = 2000000000, .rows.acknowledged = 8, .longest_gap_ns = 6},
    };
    struct fairness fairness;
    fairness_compute(&fairness, list, 4);
    assert_int_equal(fairness.sessions, 2);
    assert_int_equal(fairness.slowest_session, 3);
    assert_int_equal(fairness.fastest_session, 3);
    assert_int_equal(fairness.longest_gap_session, 3);
    fairness_compute(&fairness, list, 6);
    assert_int_equal(fairness.sessions, 4);
    assert_int_equal(fairness.slowest_session, 3);
    assert_int_equal(fairness.fastest_session, 5);
    assert_true(fairness.fastest_rows_per_s == 4);
    assert_int_equal(fairness.longest_gap_session, 5);
    assert_int_equal(fairness.longest_gap_ns, 6);
    fairness_compute(&fairness, list, 2);
    assert_int_equal(fairness.sessions, 0);
    assert_true(session_rows_per_s(&list[1]) == -1);
}
