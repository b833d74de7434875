/* The polls of --waits (load/wait_watch.c) with a server whose answers the test gives. The threads
 * of this process stand for the server's threads. */
#include "unit/unit.h"

#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/text.h"
#include "load/setup.h"
#include "load/wait_watch.h"
#include "unit/given.h"

enum {
    SESSIONS = 5,
    OWN = 99,  /* the server's number for the session of the polls */
    POLLS = 2, /* polls of a run */
};

struct adapter_conn {
    bool is_open;
};

static const struct given *given; /* ends with a NULL */
static atomic_uint polls, opens, closes;
static atomic_bool has_ended; /* the server has ended the sessions of the run */
static unsigned failing_poll; /* number of the poll that fails, from 1; 0: none */
static bool cannot_open;
static char asked[2000]; /* all queries except polls, with their parameters */
static pthread_t sleeping_thread;
static sem_t morning;

static void *sleep_on(void *unused)
{
    atomic_store(&given_asleep, gettid());
    sem_wait(&morning);
    return unused;
}

int group_set_up(void **state)
{
    (void)state;
    sem_init(&morning, 0, 0);
    const int failure = pthread_create(&sleeping_thread, NULL, sleep_on, NULL);
    while (failure == 0 && atomic_load(&given_asleep) == 0) {
        mono_sleep(MONO_NS_PER_MS);
    }
    return failure;
}

int group_tear_down(void **state)
{
    (void)state;
    sem_post(&morning);
    return pthread_join(sleeping_thread, NULL);
}

static enum status open_conn(const struct adapter *adapter, const struct target *target,
                             struct adapter_conn **conn, struct error *error)
{
    static struct adapter_conn one;
    (void)adapter;
    if (cannot_open) {
        error_set(error, ERROR_LIMIT, 0, NULL, "too many sessions");
        return STATUS_LOST;
    }
    if (!target->creates_nothing || target->connect_timeout_s != 5) {
        abort();
    }
    atomic_fetch_add(&opens, 1);
    *conn = &one;
    return STATUS_OK;
}

static void close_conn(struct adapter_conn *conn)
{
    if (conn != NULL) {
        atomic_fetch_add(&closes, 1);
    }
}

static void name_session(struct adapter_conn *conn, struct session_name *name)
{
    (void)conn;
    *name = (struct session_name){.number = OWN};
}

static void note_query(const char *sql, const struct batch *parameters)
{
    const size_t used = strlen(asked);
    char value[40] = "";
    if (parameters != NULL && parameters->table->columns[0].type == COLUMN_INT64) {
        snprintf(value, sizeof value, " %lld", (long long)parameters->columns[0].values.int64[0]);
    } else if (parameters != NULL) {
        const struct text_value text = parameters->columns[0].values.text[0];
        snprintf(value, sizeof value, " %.*s", (int)text.length, text.bytes);
    }
    snprintf(asked + used, sizeof asked - used, "%s%s; ", sql, value);
}

static enum status run(struct adapter_conn *conn, const struct statement *statement,
                       const struct batch *parameters, struct answer *answer, struct error *error)
{
    (void)conn;
    if (strncmp(statement->sql, "poll", 4) != 0) {
        note_query(statement->sql, parameters);
        return given_answer(given, statement->sql, answer, error);
    }
    /* uses the CPU, as the server's thread would, and lets the kernel note it */
    const int64_t until_ns = mono_clock_ns(CLOCK_THREAD_CPUTIME_ID) + MONO_NS_PER_MS / 5;
    while (mono_clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns) {
    }
    mono_sleep(MONO_NS_PER_MS);
    enum status status = STATUS_REJECTED;
    if (atomic_load(&polls) + 1 == failing_poll) {
        error_set(error, ERROR_SERVER, 0, NULL, "no %s", statement->sql);
    } else if (atomic_load(&has_ended)) {
        status = STATUS_OK;
    } else {
        status = given_answer(given, statement->sql, answer, error);
    }
    atomic_fetch_add(&polls, 1);
    return status;
}

static const struct wait_meaning meanings[] = {
    {"Client", NULL, WAIT_CLIENT},  {"Lock", NULL, WAIT_LOCK}, {"stage", NULL, WAIT_LOG},
    {WAIT_QUERY, NULL, WAIT_OTHER}, {NULL, NULL, WAIT_OTHER},
};

static const char *const poll_queries[] = {"poll 1", "poll 2", NULL};
static const char *const counter_queries[] = {"counters 1", "counters 2", "counters 3", NULL};
static const char *const time_queries[] = {"times 1", "times 2", "times 3", NULL};

static const struct wait_queries queries = {
    .polls = poll_queries, .privilege = "the waits of other users", .meanings = meanings};

static const struct adapter adapter = {.name = "given",
                                       .open = open_conn,
                                       .close = close_conn,
                                       .run = run,
                                       .name_session = name_session};

static struct facts facts;
static struct plan plan;
static struct setup setup;
static struct recorder *recorder;
static struct waits *waits;

static int set_up(void **state)
{
    (void)state;
    plan = (struct plan){.facts = &facts, .adapter = &adapter, .target.connect_timeout_s = 10};
    setup = (struct setup){.connection.waits = &queries};
    recorder = recorder_create(SESSIONS, 1, OPERATIONS, 1);
    waits = waits_create(SESSIONS, OPERATIONS, meanings);
    for (unsigned i = 0; i < SESSIONS; i++) {
        recorder_note_server_session(recorder, i, 100 + i);
        recorder_note_call(recorder, i, OPERATION_READ);
    }
    atomic_store(&polls, 0);
    atomic_store(&opens, 0);
    atomic_store(&closes, 0);
    atomic_store(&has_ended, false);
    failing_poll = 0;
    cannot_open = false;
    asked[0] = '\0';
    return recorder == NULL || waits == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    recorder_destroy(recorder);
    waits_destroy(waits);
    return 0;
}

/* Polls POLLS times while the sessions "work". */
static void poll_a_run(const struct wait_queries *words, const struct given *answers)
{
    struct error error = {.kind = ERROR_NONE};
    given = answers;
    setup.connection.waits = words;
    struct wait_watch *watch = wait_watch_start(waits, &setup, &plan, recorder, &error);
    if (watch == NULL) {
        fail_msg("%s", error.text);
    }
    const unsigned before = atomic_load(&polls);
    wait_watch_begin(watch, mono_now_ns());
    /* one more poll shows that the answer to the last of the POLLS polls was taken */
    while (atomic_load(&polls) <= before + POLLS) {
        mono_sleep(MONO_NS_PER_MS);
    }
    wait_watch_end(watch);
    atomic_store(&has_ended, true);
    wait_watch_stop(watch);
    assert_int_equal(atomic_load(&opens), atomic_load(&closes));
}

static double share_of(enum wait_class class)
{
    struct wait_share share;
    assert_true(waits_share(waits, OPERATION_READ, class, &share));
    return share.share.share;
}

/* Session 100 works; 101 and 102 wait; 103 is idle and its thread sleeps; 104 is idle, but its
 * thread runs. */
static const char *const five_rows[GIVEN_ROWS_MAX] = {"99|1|-|-|own",
                                                      "100|1|-|-|own",
                                                      "101|1|Lock|tuple|asleep",
                                                      "102|1|Lock|row|asleep",
                                                      "103|0|Client|read|asleep",
                                                      "104|0|Client|read|own"};

TEST_BETWEEN(shares_of_waits, set_up, tear_down)
{
    struct given answers[] = {{.sql = "poll 1"}, {.sql = NULL}};
    memcpy(answers[0].rows, five_rows, sizeof five_rows);
    poll_a_run(&queries, answers);
    assert_true(fabs(share_of(WAIT_CPU) - 2.0 / 5) < 1e-9);
    assert_true(fabs(share_of(WAIT_LOCK) - 2.0 / 5) < 1e-9);
    assert_true(fabs(share_of(WAIT_CLIENT) - 1.0 / 5) < 1e-9);
    const struct wait_polls counts = waits_polls(waits);
    assert_in_range(counts.polls, POLLS, POLLS + 1);
    assert_int_equal(counts.failures, 0);
    assert_true(counts.is_cost_known);
    assert_true(counts.cost_ms > 0.1 && counts.cost_ms < counts.answer_ms + 1);
    assert_true(counts.answer_ms >= 1);
    assert_true(counts.unseen_percent == 0);
    assert_string_equal(counts.missing, "");
    assert_int_equal(atomic_load(&opens), 1);
    assert_string_equal(asked, "");
}

/* Without /proc of the server's machine, append cannot see whether a thread runs: sessions have the
 * states that the server reports. */
TEST_BETWEEN(a_remote_server, set_up, tear_down)
{
    struct given answers[] = {{.sql = "poll 1"}, {.sql = NULL}};
    memcpy(answers[0].rows, five_rows, sizeof five_rows);
    setup.is_remote = true;
    poll_a_run(&queries, answers);
    assert_true(fabs(share_of(WAIT_CPU) - 1.0 / 5) < 1e-9);
    assert_true(fabs(share_of(WAIT_CLIENT) - 2.0 / 5) < 1e-9);
    assert_false(waits_polls(waits).is_cost_known);
}

/* The stage of a running thread does not count as a wait. The stage of a sleeping thread does. A
 * wait that the server names is not looked up. */
TEST_BETWEEN(stages, set_up, tear_down)
{
    struct given answers[] = {{.sql = "poll 1",
                               .rows = {"99|1|-|-|own", "100|1|stage|-|own", "101|1|stage|-|asleep",
                                        "102|1|stage|x|own", "103|1|stage|x|asleep"}},
                              {.sql = NULL}};
    struct wait_queries words = queries;
    words.has_stages = true;
    poll_a_run(&words, answers);
    assert_true(fabs(share_of(WAIT_CPU) - 1.0 / 5) < 1e-9);
    assert_true(fabs(share_of(WAIT_LOG) - 3.0 / 5) < 1e-9);
}

/* Without has_stages the type of a wait is what the server says, even if the thread runs. */
TEST_BETWEEN(waits_that_are_no_stages, set_up, tear_down)
{
    struct given answers[] = {{.sql = "poll 1", .rows = {"99|1|-|-|own", "100|1|stage|-|own"}},
                              {.sql = NULL}};
    poll_a_run(&queries, answers);
    assert_true(fabs(share_of(WAIT_LOG) - 1.0 / 5) < 1e-9);
    assert_true(fabs(waits_polls(waits).unseen_percent - 80) < 1e-9);
}

TEST_BETWEEN(the_first_query_that_works, set_up, tear_down)
{
    static const struct {
        enum status status;
        const char *sqlstate, *missing;
    } cases[] = {{STATUS_REJECTED, "42000", "the waits of other users"},
                 {STATUS_REJECTED, "42S02", ""}};
    EACH_CASE (i, cases, "%s", cases[i].sqlstate) {
        struct given answers[] = {
            {.sql = "poll 1", .status = cases[i].status, .sqlstate = cases[i].sqlstate},
            {.sql = "poll 2", .rows = {"99|1|-|-|own", "100|1|-|-|own"}},
            {.sql = NULL}};
        poll_a_run(&queries, answers);
        assert_string_equal(waits_polls(waits).missing, cases[i].missing);
        tear_down(NULL);
        set_up(NULL);
    }
}

TEST_BETWEEN(a_server_that_shows_no_waits, set_up, tear_down)
{
    static const struct {
        const char *name;
        bool cannot_open;
        enum status status;
        unsigned polls;
        const char *error;
    } cases[] = {{"no session", true, STATUS_OK, 0, "too many sessions"},
                 {"no query works", false, STATUS_REJECTED, 2, "no poll 2"},
                 {"the connection is lost", false, STATUS_LOST, 1, "no poll 1"}};
    EACH_CASE (i, cases, "%s", cases[i].name) {
        const struct given answers[] = {{.sql = "poll 1", .status = cases[i].status},
                                        {.sql = "poll 2", .status = cases[i].status},
                                        {.sql = NULL}};
        struct error error = {.kind = ERROR_NONE};
        given = answers;
        cannot_open = cases[i].cannot_open;
        assert_null(wait_watch_start(waits, &setup, &plan, recorder, &error));
        assert_string_equal(error.text, cases[i].error);
        assert_int_equal(atomic_load(&polls), cases[i].polls);
        assert_int_equal(atomic_load(&opens), atomic_load(&closes));
        tear_down(NULL);
        set_up(NULL);
    }
}

/* A poll that fails is counted, and the next poll opens a new connection. */
TEST_BETWEEN(a_poll_that_fails, set_up, tear_down)
{
    const struct given answers[] = {{.sql = "poll 1", .rows = {"99|1|-|-|own", "100|1|-|-|own"}},
                                    {.sql = NULL}};
    setup.is_remote =
        true; /* with a remote server there is one poll before the run: poll 3 is in it */
    failing_poll = 3;
    poll_a_run(&queries, answers);
    const struct wait_polls counts = waits_polls(waits);
    assert_int_equal(counts.failures, 1);
    assert_string_equal(counts.why, "no poll 1");
    assert_in_range(counts.polls, POLLS - 1, POLLS);
    assert_int_equal(atomic_load(&opens), 2);
}

/* The blocker is asked for only while a session of append waits for a lock in two polls. */
TEST_BETWEEN(blockers, set_up, tear_down)
{
    static const struct {
        const char *name, *row, *blocker;
        enum wait_mode mode;
        const char *expected;
    } cases[] = {
        {"another client", "100|1|Lock|row|-", "7|cron|active|update", WAITS_SQL,
         "7 cron active update"},
        {"without its statement", "100|1|Lock|row|-", "7|cron|active|update", WAITS_ON,
         "7 cron active "},
        {"another session", "100|1|Lock|row|-", "104|append|idle|x", WAITS_ON,
         "104 append idle  ours"},
        {"the lock is free by now", "100|1|Lock|row|-", "0|-|-|-", WAITS_ON, ""},
        {"an answer of another shape", "100|1|Lock|row|-", "7|cron|active", WAITS_ON, ""},
        {"another wait", "100|1|Client|row|-", "7|cron|active|update", WAITS_ON, "not asked"},
        {"not at work", "100|0|Lock|row|-", "7|cron|active|update", WAITS_ON, "not asked"},
        {"a session of another client", "98|1|Lock|row|-", "7|cron|active|update", WAITS_ON,
         "not asked"},
    };
    struct wait_queries words = queries;
    words.blocker = "blocker of ?";
    EACH_CASE (i, cases, "%s", cases[i].name) {
        const struct given answers[] = {
            {.sql = "poll 1", .rows = {"99|1|-|-|-", cases[i].row}},
            {.sql = "blocker of ?", .rows = {cases[i].blocker, "8|never|read|x"}},
            {.sql = NULL}};
        size_t count;
        uint64_t more;
        char text[400] = "";
        plan.waits = cases[i].mode;
        poll_a_run(&words, answers);
        const struct wait_blocker *found = waits_blockers(waits, &count, &more);
        assert_int_equal(more, 0);
        if (count > 0) {
            assert_int_equal(count, 1);
            assert_in_range(found->seen, 1, POLLS);
            snprintf(text, sizeof text, "%d %s %s %s%s", (int)found->server_session, found->who,
                     found->state, found->sql, found->is_ours ? " ours" : "");
        } else if (asked[0] == '\0') {
            snprintf(text, sizeof text, "not asked");
        }
        assert_string_equal(text, cases[i].expected);
        if (asked[0] != '\0') {
            assert_true(strncmp(asked, "blocker of ? 100; ", 18) == 0);
        }
        tear_down(NULL);
        set_up(NULL);
    }
}

/* The server's counts before and after the run. Counts that cannot be read are left out. */
TEST_BETWEEN(counters, set_up, tear_down)
{
    const struct given answers[] = {
        {.sql = "poll 1", .rows = {"99|1|-|-|-", "100|1|-|-|-"}},
        {.sql = "counters 1", .status = STATUS_REJECTED},
        {.sql = "counters 2", .rows = {"writes|5", "syncs|1.5", "mode|fast", "empty|", "half|3x"}},
        {.sql = "counters 3", .rows = {"a|1|2", "never|4"}},
        {.sql = NULL}};
    struct wait_queries words = queries;
    words.counters = counter_queries;
    waits_note_counter(waits, "syncs", 1, false);
    poll_a_run(&words, answers);
    assert_string_equal(asked, "counters 1; counters 2; counters 3; "
                               "counters 1; counters 2; counters 3; ");
    size_t at = 0;
    assert_null(waits_next_counter(waits, &at)); /* none grew */
    waits_note_counter(waits, "writes", 6, true);
    waits_note_counter(waits, "syncs", 2.5, true);
    waits_note_counter(waits, "never", 9, true);
    waits_note_counter(waits, "mode", 9, true);
    waits_note_counter(waits, "half", 9, true);
    at = 0;
    const struct wait_counter *counter = waits_next_counter(waits, &at);
    assert_non_null(counter);
    assert_string_equal(counter->name, "syncs");
    assert_true(counter->before == 1.5 && counter->after == 2.5);
    counter = waits_next_counter(waits, &at);
    assert_non_null(counter);
    assert_string_equal(counter->name, "writes");
    assert_true(counter->before == 5 && counter->after == 6);
    assert_null(waits_next_counter(waits, &at));
}

/* A connection that is lost while counts are read is closed; the next poll opens another. */
TEST_BETWEEN(counters_that_lose_the_connection, set_up, tear_down)
{
    const struct given answers[] = {{.sql = "poll 1", .rows = {"99|1|-|-|-", "100|1|-|-|-"}},
                                    {.sql = "counters 1", .status = STATUS_LOST},
                                    {.sql = NULL}};
    struct wait_queries words = queries;
    words.counters = counter_queries;
    poll_a_run(&words, answers);
    assert_string_equal(asked, "counters 1; counters 1; ");
    assert_int_equal(atomic_load(&opens), 2);
}

/* The first answer with rows decides how the time of queries is divided among the kinds of
 * waits. */
TEST_BETWEEN(times_of_queries, set_up, tear_down)
{
    const struct given answers[] = {
        {.sql = "poll 1", .rows = {"99|1|-|-|-", "100|1|-|" WAIT_QUERY "|-"}},
        {.sql = "times 1", .status = STATUS_REJECTED},
        {.sql = "times 2",
         .rows = {"read||100", "read|log|60", "unknown|log|9", "a|b", "read|x|9"}},
        {.sql = "times 3", .rows = {"read|log|1"}},
        {.sql = NULL}};
    struct wait_queries words = queries;
    words.times = time_queries;
    words.no_times = "no query had a time";
    for (unsigned i = 1; i < SESSIONS; i++) {
        recorder_note_call(recorder, i, RECORDER_NO_CALL);
    }
    poll_a_run(&words, answers);
    assert_string_equal(asked, "times 1 99; times 2 99; ");
    struct wait_share share;
    assert_true(waits_share(waits, OPERATION_READ, WAIT_OTHER, &share));
    assert_part(share.events, "log 60 %");
    assert_part(share.events, WAIT_REST " 40 %");
    assert_string_equal(waits_polls(waits).missing, "");
}

TEST_BETWEEN(queries_without_times, set_up, tear_down)
{
    static const struct {
        enum status status;
        const char *asked;
        unsigned opens;
    } cases[] = {{STATUS_OK, "times 1 99; times 2 99; times 3 99; ", 1},
                 {STATUS_LOST, "times 1 99; ", 1}};
    EACH_CASE (i, cases, "%s", cases[i].asked) {
        const struct given answers[] = {{.sql = "poll 1", .rows = {"99|1|-|-|-", "100|1|-|-|-"}},
                                        {.sql = "times 1", .status = cases[i].status},
                                        {.sql = "times 2"},
                                        {.sql = "times 3"},
                                        {.sql = NULL}};
        struct wait_queries words = queries;
        words.times = time_queries;
        words.no_times = "no query had a time";
        poll_a_run(&words, answers);
        assert_string_equal(asked, cases[i].asked);
        assert_string_equal(waits_polls(waits).missing, words.no_times);
        tear_down(NULL);
        set_up(NULL);
    }
}

/* A row with a wrong number of cells ends the answer. */
TEST_BETWEEN(an_answer_of_another_shape, set_up, tear_down)
{
    const struct given answers[] = {
        {.sql = "poll 1", .rows = {"99|1|-|-|-", "100|1", "101|1|-|-|-"}}, {.sql = NULL}};
    poll_a_run(&queries, answers);
    struct wait_share share;
    assert_false(waits_share(waits, OPERATION_READ, WAIT_CPU, &share) && share.share.share > 0);
}

/* If the run ends before the polls begin, no poll is sent and no counts are read. */
TEST_BETWEEN(polls_that_do_not_begin, set_up, tear_down)
{
    const struct given answers[] = {{.sql = "poll 1", .rows = {"99|1|-|-|-", "100|1|-|-|-"}},
                                    {.sql = "counters 1", .rows = {"writes|5"}},
                                    {.sql = NULL}};
    struct wait_queries words = queries;
    struct error error = {.kind = ERROR_NONE};
    words.counters = counter_queries;
    given = answers;
    setup.connection.waits = &words;
    struct wait_watch *watch = wait_watch_start(waits, &setup, &plan, recorder, &error);
    assert_non_null(watch);
    const unsigned before = atomic_load(&polls);
    wait_watch_begin(watch, mono_now_ns() + 3600 * MONO_NS_PER_S);
    mono_sleep(50 * MONO_NS_PER_MS);
    wait_watch_end(watch);
    wait_watch_stop(watch);
    assert_int_equal(atomic_load(&polls), before);
    assert_int_equal(waits_polls(waits).polls, 0);
    assert_string_equal(asked, "");
}
