/* Tests of measure/waits.c: shares of waits, with polls whose answers are known. */
#include "unit/unit.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "measure/waits.h"

enum {
    SESSIONS = 4
};

static const struct wait_meaning meanings[] = {
    {"Client", NULL, WAIT_CLIENT}, {NULL, "WAL*", WAIT_LOG}, {"Lock", "extend", WAIT_EXTENSION},
    {"Lock", NULL, WAIT_LOCK},     {NULL, NULL, WAIT_OTHER},
};

static struct waits *waits;

static int set_up(void **state)
{
    (void)state;
    waits = waits_create(SESSIONS, OPERATIONS, meanings);
    return waits == NULL ? 1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    waits_destroy(waits);
    return 0;
}

/* Adds a poll of one second in which session i of append is session 100 + i of the server. */
static void add_poll(const size_t *before, const size_t *after, const struct wait_seen *seen,
                     size_t count)
{
    struct recorder_call calls[2][SESSIONS];
    for (size_t i = 0; i < SESSIONS; i++) {
        calls[0][i] = (struct recorder_call){100 + i, before[i]};
        calls[1][i] = (struct recorder_call){100 + i, after[i]};
    }
    const struct wait_poll one = {.weight_s = 1,
                                  .elapsed_ns = 2000000,
                                  .cost_ns = 1000000,
                                  .sessions = SESSIONS,
                                  .before = calls[0],
                                  .after = calls[1],
                                  .seen = seen,
                                  .seen_count = count};
    waits_add_poll(waits, &one);
}

static void expect_share(size_t operation, enum wait_class class, double expected)
{
    struct wait_share share;
    assert_true(waits_share(waits, operation, class, &share));
    assert_true(fabs(share.share.share - expected) < 1e-9);
}

static const size_t appends[] = {OPERATION_APPEND, OPERATION_APPEND, OPERATION_APPEND,
                                 RECORDER_NO_CALL};

/* Three appends: the server works on one, one waits for the log, and one has not reached the server
 * yet. The fourth session is idle, and the fifth belongs to another client. */
static const struct wait_seen mixed[] = {
    {.server_session = 100, .is_at_work = true},
    {.server_session = 101, .is_at_work = true, .type = "LWLock", .event = "WalWrite"},
    {.server_session = 102, .is_at_work = false, .type = "Client", .event = "ClientRead"},
    {.server_session = 103, .is_at_work = false, .type = "Client", .event = "ClientRead"},
    {.server_session = 999, .is_at_work = true, .type = "Lock", .event = "relation"},
};

TEST_BETWEEN(shares_of_calls, set_up, tear_down)
{
    struct wait_share share;
    size_t at = 0;
    assert_false(waits_share(waits, OPERATION_APPEND, WAIT_CPU, &share));
    assert_false(waits_next_share(waits, &at, &share));
    add_poll(appends, appends, mixed, COUNT_OF(mixed));
    expect_share(OPERATION_APPEND, WAIT_CPU, 1.0 / 3);
    expect_share(OPERATION_APPEND, WAIT_LOG, 1.0 / 3);
    expect_share(OPERATION_APPEND, WAIT_CLIENT, 1.0 / 3);
    expect_share(OPERATION_APPEND, WAIT_LOCK, 0);
    assert_false(waits_share(waits, OPERATION_READ, WAIT_CPU, &share));
    waits_share(waits, OPERATION_APPEND, WAIT_LOG, &share);
    assert_true(share.in_flight == 3 && !share.has_interval);
    assert_string_equal(share.events, "LWLock:WalWrite 33 %");
}

/* A session that is ready to run waits for a CPU, not for its client. */
TEST_BETWEEN(calls_that_wait_for_a_cpu, set_up, tear_down)
{
    struct wait_seen ready[COUNT_OF(mixed)];
    memcpy(ready, mixed, sizeof ready);
    ready[2].is_ready = true;
    add_poll(appends, appends, ready, COUNT_OF(ready));
    expect_share(OPERATION_APPEND, WAIT_CPU, 2.0 / 3);
    expect_share(OPERATION_APPEND, WAIT_CLIENT, 0);
}

/* The texts for the waits that append names itself, and the order of the shares: the largest share
 * is first, and equal shares are in the order of their classes. */
TEST_BETWEEN(words_of_shares, set_up, tear_down)
{
    static const struct wait_seen seen[] = {
        {.server_session = 100, .is_ready = true},
        {.server_session = 101, .is_at_work = true, .event = "WALSync"},
        {.server_session = 102, .is_at_work = true, .type = "T", .event = "E"},
        {.server_session = 103},
    };
    static const size_t all[] = {OPERATION_APPEND, OPERATION_APPEND, OPERATION_APPEND,
                                 OPERATION_READ};
    static const struct {
        size_t operation;
        enum wait_class class;
        bool is_first;
        const char *events;
    } expected[] = {
        {OPERATION_APPEND, WAIT_CPU, true, "waiting for a CPU 33 %"},
        {OPERATION_APPEND, WAIT_LOG, false, "WALSync 33 %"},
        {OPERATION_APPEND, WAIT_OTHER, false, "T:E 33 %"},
        {OPERATION_READ, WAIT_CLIENT, true, "call on its way 100 %"},
    };
    struct wait_share share;
    add_poll(all, all, seen, COUNT_OF(seen));
    size_t at = 0;
    EACH_CASE (i, expected, "%s", expected[i].events) {
        assert_true(waits_next_share(waits, &at, &share));
        assert_int_equal(share.operation, expected[i].operation);
        assert_int_equal(share.class, expected[i].class);
        assert_int_equal(share.is_first, expected[i].is_first);
        assert_string_equal(share.events, expected[i].events);
        assert_string_equal(share.largest, expected[i].events);
    }
    assert_false(waits_next_share(waits, &at, &share));
    assert_true(waits_largest(waits, &share));
    assert_int_equal(share.class, WAIT_CPU);
    assert_true(fabs(waits_type_share(waits, OPERATION_APPEND, WAIT_OTHER, "T") - 1.0 / 3) < 1e-9);
    assert_true(waits_type_share(waits, OPERATION_APPEND, WAIT_OTHER, "U") == 0);
    assert_true(waits_type_share(waits, OPERATION_CONNECT, WAIT_OTHER, "") == 0);
    waits_reset(waits);
    add_poll(all, all, seen, 1); /* now the server shows only one session */
    assert_true(waits_share(waits, OPERATION_APPEND, WAIT_OTHER, &share));
    assert_string_equal(share.events, "session not seen 67 %");
    assert_string_equal(share.largest, "session not seen 67 %");
}

/* What the report says about each class. */
TEST(words_of_classes)
{
    static const struct wait_class_text expected[WAIT_CLASSES] = {
        [WAIT_CPU] =
            {"CPU*", "work of the server, or waiting for a CPU of the server",
             "more or faster CPUs help, or less work for a row (fewer indexes and triggers)"},
        [WAIT_LOG] = {"log write", "the log that makes commits durable",
                      "a faster log device helps, and more rows in a commit; more sessions do not"},
        [WAIT_EXTENSION] = {"file extension",
                            "extending the table's file, which one session does at a time",
                            "fewer sessions help, or several tables or partitions"},
        [WAIT_LOCK] = {"row or table lock", "locks that other sessions held",
                       "shorter transactions help; more sessions do not"},
        [WAIT_BUFFER] = {"buffer", "pages in memory that other sessions used",
                         "fewer sessions on the same pages help: partitions, or fewer indexes"},
        [WAIT_LOCK_MANAGER] = {"lock manager", "the server's list of locks",
                               "fewer tables, partitions and indexes in a transaction help"},
        [WAIT_DATA_IO] = {"data files", "reads and writes of data files",
                          "more memory for the server's cache helps, or a faster data disk"},
        [WAIT_COMMIT] = {"commit bookkeeping", "bookkeeping of transactions",
                         "fewer and larger transactions help"},
        [WAIT_REPLICATION] =
            {"replication", "confirmations by other servers",
             "a faster network to them helps, or commits that do not wait for them"},
        [WAIT_CLIENT] =
            {"client or network", "the client or the network",
             "the server waited for append: a faster client or network helps, or larger "
             "batches"},
        [WAIT_OTHER] = {"other", "other waits", "waits.csv has their names"},
    };
    EACH_CASE (i, expected, "%s", expected[i].name) {
        assert_string_equal(wait_class_texts[i].name, expected[i].name);
        assert_string_equal(wait_class_texts[i].noun, expected[i].noun);
        assert_string_equal(wait_class_texts[i].advice, expected[i].advice);
    }
}

/* A call that ends during a poll counts one half, and so does the call that follows it. */
TEST_BETWEEN(calls_that_end_during_a_poll, set_up, tear_down)
{
    static const size_t reads[] = {OPERATION_READ, OPERATION_APPEND, RECORDER_NO_CALL,
                                   RECORDER_NO_CALL};
    add_poll(appends, reads, mixed, COUNT_OF(mixed));
    struct wait_share share;
    assert_true(waits_share(waits, OPERATION_READ, WAIT_CPU, &share));
    assert_true(share.in_flight == 0.5 && share.share.share == 1);
    expect_share(OPERATION_APPEND, WAIT_CPU, 0.5 / 2);
    expect_share(OPERATION_APPEND, WAIT_LOG, 1.0 / 2);
}

/* A row with the number 0 stands for the sessions without a row of their own. */
TEST_BETWEEN(the_other_sessions, set_up, tear_down)
{
    static const struct wait_seen queries[] = {
        {.server_session = 0, .is_at_work = false},
        {.server_session = 101, .is_at_work = true, .event = WAIT_QUERY},
    };
    add_poll(appends, appends, queries, COUNT_OF(queries));
    expect_share(OPERATION_APPEND, WAIT_CLIENT, 2.0 / 3);
    expect_share(OPERATION_APPEND, WAIT_OTHER, 1.0 / 3);
    assert_true(waits_polls(waits).unseen_percent == 0);
}

/* The share of queries is divided among the kinds of waits in proportion to their times. */
TEST_BETWEEN(times_of_queries, set_up, tear_down)
{
    static const struct wait_seen queries[] = {
        {.server_session = 0, .is_at_work = false},
        {.server_session = 101, .is_at_work = true, .event = WAIT_QUERY},
        {.server_session = 102, .is_at_work = true, .event = WAIT_QUERY},
    };
    static const size_t both[] = {OPERATION_READ, OPERATION_APPEND, OPERATION_READ,
                                  RECORDER_NO_CALL};
    struct wait_share share;
    add_poll(both, both, queries, COUNT_OF(queries));
    waits_note_time(waits, OPERATION_APPEND, "", 400);
    waits_note_time(waits, OPERATION_APPEND, "WALSync", 300);
    waits_note_time(waits, OPERATION_CONNECT, "WALSync", 300); /* no poll saw a connect */
    waits_divide(waits);
    expect_share(OPERATION_APPEND, WAIT_LOG, 0.75);
    expect_share(OPERATION_APPEND, WAIT_OTHER, 0.25);
    assert_false(waits_share(waits, OPERATION_CONNECT, WAIT_LOG, &share));
    assert_true(waits_share(waits, OPERATION_APPEND, WAIT_OTHER, &share));
    assert_string_equal(share.events, WAIT_REST " 25 %");
    assert_true(waits_share(waits, OPERATION_READ, WAIT_OTHER, &share));
    assert_string_equal(share.events, WAIT_QUERY " 50 %");
    /* overlapping times may be more than the whole */
    waits_note_time(waits, OPERATION_READ, "", 100);
    add_poll(both, both, queries, COUNT_OF(queries));
    waits_note_time(waits, OPERATION_READ, "WALSync", 150);
    waits_note_time(waits, OPERATION_READ, "WALWrite", 50);
    waits_divide(waits);
    assert_true(waits_share(waits, OPERATION_READ, WAIT_LOG, &share));
    assert_string_equal(share.events, "WALSync 38 %, WALWrite 12 %");
    expect_share(OPERATION_READ, WAIT_CLIENT, 0.5);
    expect_share(OPERATION_READ, WAIT_OTHER, 0);
}

/* Sessions that the server does not show are named, and do not disappear from the shares. */
TEST_BETWEEN(sessions_that_are_not_seen, set_up, tear_down)
{
    add_poll(appends, appends, mixed, 1);
    expect_share(OPERATION_APPEND, WAIT_CPU, 1.0 / 3);
    expect_share(OPERATION_APPEND, WAIT_OTHER, 2.0 / 3);
    assert_true(fabs(waits_polls(waits).unseen_percent - 200.0 / 3) < 1e-9);
}

TEST_BETWEEN(classes_of_waits, set_up, tear_down)
{
    static const struct {
        const char *type, *event;
        enum wait_class class;
    } cases[] = {
        {"LWLock", "WALWrite", WAIT_LOG},     {"IO", "walsync", WAIT_LOG},
        {"LWLock", "WA", WAIT_OTHER},         {"Lock", "extend", WAIT_EXTENSION},
        {"lock", "TransactionId", WAIT_LOCK}, {"Client", "ClientWrite", WAIT_CLIENT},
        {"Timeout", "PgSleep", WAIT_OTHER},   {"LWLock", "extend", WAIT_OTHER},
    };
    EACH_CASE (i, cases, "%s:%s", cases[i].type, cases[i].event) {
        struct waits *one = waits_create(1, OPERATIONS, meanings);
        struct wait_seen seen = {.server_session = 7, .is_at_work = true};
        snprintf(seen.type, sizeof seen.type, "%s", cases[i].type);
        snprintf(seen.event, sizeof seen.event, "%s", cases[i].event);
        /* the first session is not in a call */
        const struct recorder_call calls[] = {{3, RECORDER_NO_CALL}, {7, OPERATION_READ}};
        const struct wait_poll asked = {.weight_s = 1,
                                        .sessions = 2,
                                        .before = calls,
                                        .after = calls,
                                        .seen = &seen,
                                        .seen_count = 1};
        waits_add_poll(one, &asked);
        struct wait_share share;
        assert_true(waits_share(one, OPERATION_READ, cases[i].class, &share));
        assert_true(share.share.share == 1);
        waits_destroy(one);
    }
}

/* 1,000 polls, which are averaged in batches; every fourth poll sees a wait for the log. The
 * batches have nearly equal shares, so the interval is small, and it contains the true share. */
TEST_BETWEEN(many_polls, set_up, tear_down)
{
    static const size_t one[] = {OPERATION_APPEND, RECORDER_NO_CALL, RECORDER_NO_CALL,
                                 RECORDER_NO_CALL};
    struct wait_seen working = mixed[0], logging = mixed[1];
    logging.server_session = working.server_session;
    struct wait_share share;
    for (unsigned i = 0; i < 1000; i++) {
        if (i == WAIT_POLLS_MIN - 1) {
            waits_share(waits, OPERATION_APPEND, WAIT_LOG, &share);
            assert_false(share.has_interval);
        }
        add_poll(one, one, i % 4 == 0 ? &logging : &working, 1);
    }
    waits_share(waits, OPERATION_APPEND, WAIT_LOG, &share);
    assert_true(share.has_interval && share.in_flight == 1);
    assert_true(share.share.share == 0.25 && share.share.low <= 0.25 && share.share.high >= 0.25);
    assert_true(share.share.high - share.share.low < 0.02);
    assert_true(fabs(2 * share.share.half - (share.share.high - share.share.low)) < 1e-9);
    const struct wait_polls polls = waits_polls(waits);
    assert_int_equal(polls.polls, 1000);
    assert_true(polls.period_s == 1 && fabs(polls.cost_ms - 1) < 1e-9);
    assert_true(fabs(polls.server_percent - 0.1) < 1e-9 && fabs(polls.answer_ms - 2) < 1e-9);
    struct operation_list operations = operation_list_all();
    char answer[WAIT_ANSWER_BYTES];
    waits_answer(waits, &operations, answer);
    assert_non_null(strstr(answer, "75 % ± "));
    assert_non_null(strstr(answer, " of the time in append was spent on work of the server"));
}

static struct wait_row rows[8];
static size_t row_count;

static void take(void *context, const struct wait_row *row)
{
    (void)context;
    assert_true(row_count < COUNT_OF(rows));
    rows[row_count++] = *row;
}

/* The rows of an interval are means of its polls only. */
TEST_BETWEEN(rows_of_intervals, set_up, tear_down)
{
    static const size_t nothing[] = {RECORDER_NO_CALL, RECORDER_NO_CALL, RECORDER_NO_CALL,
                                     RECORDER_NO_CALL};
    row_count = 0;
    waits_take_interval(waits, 0, 1, take, NULL);
    assert_int_equal(row_count, 0);
    assert_true(waits_latest(waits, OPERATION_APPEND, WAIT_LOG) == -1);
    add_poll(appends, appends, mixed, COUNT_OF(mixed));
    add_poll(nothing, nothing, mixed, COUNT_OF(mixed));
    waits_take_interval(waits, 5, 6, take, NULL);
    assert_int_equal(row_count, 3);
    for (size_t i = 0; i < row_count; i++) {
        assert_true(rows[i].in_flight == 1.5 && rows[i].waiting == 0.5);
        assert_true(rows[i].operation == OPERATION_APPEND && rows[i].polls == 2);
        assert_true(rows[i].start_ns == 5 && rows[i].end_ns == 6);
    }
    assert_true(waits_latest(waits, OPERATION_APPEND, WAIT_LOG) == 0.5);
    row_count = 0;
    add_poll(nothing, nothing, mixed, COUNT_OF(mixed));
    waits_take_interval(waits, 6, 7, take, NULL);
    assert_int_equal(row_count, 3);
    for (size_t i = 0; i < row_count; i++) {
        assert_true(rows[i].in_flight == 0 && rows[i].waiting == 0 && rows[i].polls == 1);
    }
    assert_true(waits_latest(waits, OPERATION_APPEND, WAIT_LOG) == 0);
    /* while calls are in flight, a kind of wait that no session had gets no row */
    static const size_t one[] = {OPERATION_APPEND, RECORDER_NO_CALL, RECORDER_NO_CALL,
                                 RECORDER_NO_CALL};
    row_count = 0;
    add_poll(one, one, mixed, COUNT_OF(mixed));
    waits_take_interval(waits, 7, 8, take, NULL);
    assert_int_equal(row_count, 1);
    assert_true(rows[0].event->class == WAIT_CPU && rows[0].waiting == 1);
}

TEST_BETWEEN(failed_polls, set_up, tear_down)
{
    assert_string_equal(waits_polls(waits).why, "");
    waits_add_failure(waits, "first");
    waits_add_failure(waits, "second");
    const struct wait_polls polls = waits_polls(waits);
    assert_int_equal(polls.failures, 2);
    assert_string_equal(polls.why, "first");
}

/* A copy has the polls so far, and no later ones. */
TEST_BETWEEN(a_copy, set_up, tear_down)
{
    struct waits *nothing = waits_copy(waits);
    add_poll(appends, appends, mixed, COUNT_OF(mixed));
    waits_note_counter(waits, "written", 3, false);
    struct waits *one = waits_copy(waits);
    add_poll(appends, appends, mixed, 1);
    waits_note_counter(waits, "written", 5, true);
    struct wait_share share;
    assert_false(waits_share(nothing, OPERATION_APPEND, WAIT_LOG, &share));
    assert_true(waits_share(one, OPERATION_APPEND, WAIT_LOG, &share));
    assert_true(fabs(share.share.share - 1.0 / 3) < 1e-9);
    assert_int_equal(waits_polls(one).polls, 1);
    size_t at = 0;
    assert_null(waits_next_counter(one, &at));
    at = 0;
    const struct wait_counter *counter = waits_next_counter(waits, &at);
    assert_non_null(counter);
    assert_true(counter->after - counter->before == 2);
    waits_destroy(nothing);
    waits_destroy(one);
}

TEST_BETWEEN(sessions_of_append, set_up, tear_down)
{
    assert_false(waits_is_ours(waits, 100));
    add_poll(appends, appends, mixed, COUNT_OF(mixed));
    static const struct {
        uint64_t session;
        bool is_ours;
    } cases[] = {{100, true}, {103, true}, {104, false}, {999, false}, {0, false}};
    EACH_CASE (i, cases, "session %u", (unsigned)cases[i].session) {
        assert_int_equal(waits_is_ours(waits, cases[i].session), cases[i].is_ours);
    }
}

/* Further costs are added to the costs of the polls. Here each poll takes 1 ms of CPU and lasts a
 * second. */
TEST_BETWEEN(further_cost, set_up, tear_down)
{
    add_poll(appends, appends, mixed, COUNT_OF(mixed));
    add_poll(appends, appends, mixed, COUNT_OF(mixed));
    waits_add_cost(waits, 6000000);
    waits_note_missing(waits, "the waits of others");
    const struct wait_polls polls = waits_polls(waits);
    assert_true(polls.is_cost_known && fabs(polls.cost_ms - 4) < 1e-9);
    assert_true(fabs(polls.server_percent - 0.4) < 1e-9);
    assert_string_equal(polls.missing, "the waits of others");
}

/* Two sightings are one blocker only if kind, name, state and statement are the same. */
TEST_BETWEEN(blockers, set_up, tear_down)
{
    static const struct wait_blocker kinds[] = {
        {.who = "cron", .state = "active", .sql = "select 1", .server_session = 7},
        {.who = "cron", .state = "active", .sql = "select 1", .is_ours = true},
        {.who = "psql", .state = "active", .sql = "select 1"},
        {.who = "cron", .state = "idle in transaction", .sql = "select 1"},
        {.who = "cron", .state = "active", .sql = "select 2"},
    };
    size_t count = 99;
    uint64_t more = 99;
    waits_blockers(waits, &count, &more);
    assert_true(count == 0 && more == 0);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        for (size_t seen = 0; seen <= i; seen++) {
            waits_add_blocker(waits, &kinds[i]);
        }
    }
    waits_add_blocker(waits, &kinds[0]);
    const struct wait_blocker *found = waits_blockers(waits, &count, &more);
    static const struct {
        size_t kind;
        uint64_t seen;
    } cases[] = {{4, 5}, {3, 4}, {2, 3}, {1, 2}, {0, 2}};
    assert_true(count == COUNT_OF(cases) && more == 0);
    EACH_CASE (i, cases, "place %zu", i) {
        const struct wait_blocker *kind = &kinds[cases[i].kind];
        assert_int_equal(found[i].seen, cases[i].seen);
        assert_string_equal(found[i].who, kind->who);
        assert_string_equal(found[i].state, kind->state);
        assert_string_equal(found[i].sql, kind->sql);
        assert_int_equal(found[i].is_ours, kind->is_ours);
        assert_int_equal(found[i].server_session, kind->server_session);
    }
}

/* When the list is full, further blockers are only counted, and the list does not change. */
TEST_BETWEEN(many_blockers, set_up, tear_down)
{
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < WAIT_BLOCKERS_MAX + 3; i++) {
            struct wait_blocker one = {.state = "active"};
            snprintf(one.who, sizeof one.who, "user %d", i);
            waits_add_blocker(waits, &one);
        }
    }
    size_t count;
    uint64_t more;
    const struct wait_blocker *found = waits_blockers(waits, &count, &more);
    assert_int_equal(count, WAIT_BLOCKERS_MAX);
    assert_int_equal(more, 6);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(found[i].seen, 2);
    }
}

/* After a reset the shares, periods and costs are those of the later polls; failures stay. */
TEST_BETWEEN(reset, set_up, tear_down)
{
    static const size_t reads[] = {OPERATION_READ, RECORDER_NO_CALL, RECORDER_NO_CALL,
                                   RECORDER_NO_CALL};
    for (unsigned i = 0; i < 2 * WAIT_POLLS_MIN; i++) {
        add_poll(appends, appends, mixed, 1);
    }
    waits_add_failure(waits, "once");
    waits_add_cost(waits, 5000000);
    waits_note_counter(waits, "written", 3, false);
    waits_note_counter(waits, "written", 4, true);
    waits_add_blocker(waits, &(struct wait_blocker){.who = "cron"});
    assert_true(waits_polls(waits).unseen_percent > 60);
    waits_reset(waits);
    struct wait_share share;
    size_t at = 0;
    assert_false(waits_share(waits, OPERATION_APPEND, WAIT_CPU, &share));
    assert_false(waits_next_share(waits, &at, &share));
    add_poll(reads, reads, mixed, COUNT_OF(mixed));
    const struct wait_polls polls = waits_polls(waits);
    assert_true(polls.polls == 1 && polls.failures == 1 && polls.period_s == 1);
    assert_true(polls.unseen_percent == 0);
    assert_true(fabs(polls.cost_ms - 1) < 1e-9 && fabs(polls.answer_ms - 2) < 1e-9);
    assert_true(waits_share(waits, OPERATION_READ, WAIT_CPU, &share));
    assert_true(share.share.share == 1 && share.in_flight == 1 && !share.has_interval);
    at = 0;
    assert_non_null(waits_next_counter(waits, &at));
    uint64_t more;
    waits_blockers(waits, &at, &more);
    assert_int_equal(at, 1);
}
