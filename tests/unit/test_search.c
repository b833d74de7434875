/* Tests of a search over levels, with and without a server: the steps of the search, the memory
 * that it allocates, and its figures. */
#include "unit/unit.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "load/fleet.h"
#include "load/search.h"
#include "plan/facts.h"

enum {
    NO_LIMIT = 1 << 30,
    BOUND = 400,
    KEPT_MAX = 1 << 20
};

/* The limits of the simulated server. A test sets them before the threads start. */
static struct {
    int room;         /* the most connections */
    int breaks_above; /* with more connections, each append ends a connection */
    int busy_above;   /* connections beyond this number are always answered "busy" */
    int rejects_above;
    int rejects_reads_above;
    int blocks_above; /* the first connection beyond this number gets no answer until it is cut */
    unsigned connecting; /* sessions that connect at the same time; 1: they connect in order */
    int64_t open_ns;     /* duration of a connect */
    bool has_two_hosts;  /* the second host refuses all connects after a failed level */
} server;
static atomic_int alive;
static atomic_int most_alive;
static atomic_bool has_blocked;
static atomic_size_t kept_count;
static int64_t kept[KEPT_MAX]; /* values of the unique column */
static atomic_bool is_second_gone;
static atomic_uint_fast64_t kept_at[2][BOUND]; /* rows of each session at each host */

struct adapter_conn {
    bool is_starved;
    bool is_blocked;
    atomic_bool is_cut;
    size_t pending;
    int64_t values[16];
    unsigned host, session;
};

static enum status limited_open(const struct adapter *adapter, const struct target *target,
                                struct adapter_conn **conn, struct error *error)
{
    (void)adapter;
    const unsigned host = server.has_two_hosts ? target->port - 1u : 0;
    *conn = NULL;
    mono_sleep(server.open_ns);
    if (host == 1 && atomic_load(&is_second_gone)) {
        error_set(error, ERROR_UNREACHABLE, 111, NULL, "gone");
        return STATUS_LOST;
    }
    const int number = atomic_fetch_add(&alive, 1) + 1;
    if (number > server.room) {
        atomic_fetch_sub(&alive, 1);
        error_set(error, ERROR_LIMIT, 1040, "53300", "no room");
        return STATUS_LOST;
    }
    int seen = atomic_load(&most_alive);
    while (number > seen && !atomic_compare_exchange_weak(&most_alive, &seen, number)) {
    }
    *conn = calloc(1, sizeof **conn);
    assert_non_null(*conn);
    (*conn)->host = host;
    (*conn)->is_starved = number > server.busy_above;
    (*conn)->is_blocked = number > server.blocks_above && !atomic_exchange(&has_blocked, true);
    return STATUS_OK;
}

static void limited_close(struct adapter_conn *conn)
{
    if (conn != NULL) {
        atomic_fetch_sub(&alive, 1);
    }
    free(conn);
}

static void limited_interrupt(struct adapter_conn *conn)
{
    atomic_store(&conn->is_cut, true);
}

static enum status limited_append_open(struct adapter_conn *conn, const struct table *table,
                                       struct error *error)
{
    (void)table;
    conn->pending = 0;
    if (conn->is_starved) {
        error_set(error, ERROR_BUSY, 0, NULL, "locked");
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

static enum status limited_append_rows(struct adapter_conn *conn, const struct batch *batch,
                                       uint64_t *before, struct error *error)
{
    (void)before;
    (void)error;
    for (size_t row = 0; row < batch->row_count; row++) {
        conn->values[conn->pending++] = batch->columns[0].values.int64[row];
        conn->session = (unsigned)batch->columns[2].values.int32[row];
    }
    return STATUS_OK;
}

static enum status limited_append_close(struct adapter_conn *conn, uint64_t *accepted,
                                        struct error *error)
{
    *accepted = 0;
    mono_sleep(MONO_NS_PER_MS);
    if (conn->is_blocked) {
        while (!atomic_load(&conn->is_cut)) {
            mono_sleep(MONO_NS_PER_MS);
        }
        error_set(error, ERROR_CONNECTION, 2013, "08006", "cut");
        return STATUS_LOST;
    }
    if (atomic_load(&alive) > server.breaks_above) {
        error_set(error, ERROR_CONNECTION, 2013, "08006", "gone");
        return STATUS_LOST;
    }
    if (atomic_load(&alive) > server.rejects_above) {
        error_set(error, ERROR_DATA, 1, "22000", "refused");
        return STATUS_REJECTED;
    }
    const size_t first = atomic_fetch_add(&kept_count, conn->pending);
    for (size_t i = 0; i < conn->pending && first + i < KEPT_MAX; i++) {
        kept[first + i] = conn->values[i];
    }
    atomic_fetch_add(&kept_at[conn->host][conn->session], conn->pending);
    *accepted = conn->pending;
    return STATUS_OK;
}

/* Answers a count with the smallest correct number, which is the rows of this session at this host,
 * or refuses the count. */
static enum status limited_run(struct adapter_conn *conn, const struct statement *statement,
                               const struct batch *parameters, struct answer *answer,
                               struct error *error)
{
    (void)statement;
    (void)parameters;
    if (atomic_load(&alive) > server.rejects_reads_above) {
        error_set(error, ERROR_DATA, 1, "22000", "not read");
        return STATUS_REJECTED;
    }
    const struct cell cell = {.type = COLUMN_INT64,
                              .as.int64 =
                                  (int64_t)atomic_load(&kept_at[conn->host][conn->session])};
    answer->take(answer->context, &cell, 1);
    return STATUS_OK;
}

static const struct adapter limited = {
    .name = "limited",
    .stack_bytes = 256 * 1024,
    .open = limited_open,
    .close = limited_close,
    .interrupt = limited_interrupt,
    .append_open = limited_append_open,
    .append_rows = limited_append_rows,
    .append_close = limited_append_close,
    .run = limited_run,
};

/* The outcome of a search. The test frees it with `finish`. */
struct outcome {
    struct search search;
    struct result *result;
    unsigned begun;     /* calls to on_begin */
    unsigned reported;  /* calls to on_level */
    unsigned shortages; /* calls to on_shortage */
    /* counts that were compared with the session's rows, and how many of them were too low */
    uint64_t checks, stale;
    uint64_t calls_failed;
};

static void on_begin(void *context, const struct level *level)
{
    struct outcome *outcome = context;
    outcome->begun += level->sessions > 0 ? 1 : 0;
}

static void on_level(void *context, const struct level *level, const struct level *own)
{
    (void)own;
    struct outcome *outcome = context;
    if (server.has_two_hosts && level->outcome == LEVEL_FAILED) {
        atomic_store(&is_second_gone, true);
    }
    outcome->reported += level == &outcome->search.levels[outcome->search.count - 1] ? 1 : 0;
}

static void on_shortage(void *context)
{
    struct outcome *outcome = context;
    outcome->shortages++;
}

/* The parameters of a search. */
struct asked {
    unsigned first;
    int64_t hold_ns;
    int64_t patience_ns;
    int64_t max_time_ns;
    uint64_t max_memory_bytes;
    uint64_t max_rows;
};

/* Resets the server, and returns the default parameters for a test to change. */
static struct asked begin(void)
{
    server.room = NO_LIMIT;
    server.breaks_above = NO_LIMIT;
    server.busy_above = NO_LIMIT;
    server.rejects_above = NO_LIMIT;
    server.rejects_reads_above = NO_LIMIT;
    server.blocks_above = NO_LIMIT;
    atomic_store(&has_blocked, false);
    server.connecting = 8;
    server.open_ns = 0;
    server.has_two_hosts = false;
    atomic_store(&is_second_gone, false);
    memset(kept_at, 0, sizeof kept_at);
    atomic_store(&alive, 0);
    atomic_store(&most_alive, 0);
    atomic_store(&kept_count, 0);
    return (struct asked){.first = 10,
                          .hold_ns = 30 * MONO_NS_PER_MS,
                          .patience_ns = 20 * MONO_NS_PER_S,
                          .max_time_ns = 120 * MONO_NS_PER_S};
}

static void search(struct asked asked, unsigned bound, struct outcome *outcome)
{
    static const struct column columns[] = {{.name = "n", .type = COLUMN_INT64, .is_unique = true},
                                            {.name = "n1", .type = COLUMN_INT16},
                                            {.name = "n2", .type = COLUMN_INT32},
                                            {.name = "n3", .type = COLUMN_INT64}};
    const struct facts facts = {.ranks = 0};
    const bool reads = server.has_two_hosts || server.rejects_reads_above < NO_LIMIT;
    const struct plan plan = {.facts = &facts,
                              .adapter = &limited,
                              .sessions = bound,
                              .batch_rows = 2,
                              .read_mode = reads ? READ_COUNT : READ_NONE,
                              .host_count = server.has_two_hosts ? 2 : 0,
                              .hosts = {{.port = 1}, {.port = 2}},
                              .read_every = 1,
                              .duration_ns = 1,
                              .connect_concurrency = server.connecting,
                              .is_search = true,
                              .search.first = asked.first,
                              .search.max_time_ns = asked.max_time_ns,
                              .search.max_memory_bytes = asked.max_memory_bytes,
                              .stack_bytes = 512 * 1024};
    struct setup setup = {0};
    struct generator *generator = NULL;
    struct recorder *recorder =
        recorder_create(plan_sessions_all(&plan), 4, OPERATIONS, server.has_two_hosts ? 2 : 1);
    *outcome = (struct outcome){
        .search = {.bound = bound, .hold_ns = asked.hold_ns, .max_rows = asked.max_rows},
        .result = calloc(1, sizeof *outcome->result)};
    assert_true(outcome->result != NULL && recorder != NULL);
    assert_true(recorder_snapshot_init(&outcome->result->totals, OPERATIONS));
    assert_int_equal(setup_allocate(&setup, &plan, NULL), EXIT_CODE_OK);
    struct table *table = &setup.own->table;
    assert_int_equal(table_init(table, "t", NULL), STATUS_OK);
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        assert_int_equal(table_add_column(table, &columns[i], NULL), STATUS_OK);
    }
    for (size_t i = 0; i < setup.host_count; i++) {
        setup.hosts[i].is_known = true;
    }
    assert_int_equal(generator_create(&generator, &plan, table, NULL), STATUS_OK);
    struct load load = {.plan = &plan,
                        .setup = &setup,
                        .generator = generator,
                        .recorder = recorder,
                        .start_ns = mono_now_ns(),
                        .on_shortage = on_shortage,
                        .context = outcome};
    const struct search_task task = {.search = &outcome->search,
                                     .patience_ns = asked.patience_ns,
                                     .on_begin = on_begin,
                                     .on_level = on_level};
    assert_int_equal(search_run(&load, &task, outcome->result, NULL), STATUS_OK);
    outcome->checks = recorder_read(recorder, RECORDER_FRESH_CHECKS);
    outcome->stale = recorder_read(recorder, RECORDER_FRESH_BEHIND);
    outcome->calls_failed = recorder_read(recorder, RECORDER_APPENDS_FAILED) +
                            recorder_read(recorder, RECORDER_READS_FAILED);
    recorder_destroy(recorder);
    generator_destroy(generator);
    setup_fini(&setup);
}

static int compare_values(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

/* Checks what must hold after every search, and frees the outcome. */
static void finish(struct outcome *outcome)
{
    const struct search *search = &outcome->search;
    assert_int_equal(atomic_load(&alive), 0);
    assert_true(session_ledger_balances(&outcome->result->sessions));
    assert_true(row_ledger_balances(&outcome->result->rows));
    assert_int_equal(outcome->begun, search->count);
    assert_int_equal(outcome->reported, search->count);
    unsigned failed = 0;
    uint64_t calls_failed = 0;
    for (size_t i = 0; i < search->count; i++) {
        const struct level *level = &search->levels[i];
        calls_failed += level->failed;
        assert_true(session_ledger_balances(&level->ledger));
        assert_int_equal(level->ledger.requested, level->sessions);
        assert_int_equal(level->causes != NULL, level->outcome == LEVEL_FAILED);
        failed += level->outcome == LEVEL_FAILED ? 1 : 0;
        if (level->outcome == LEVEL_HELD) {
            assert_int_equal(level->up, level->sessions);
            assert_true(level->rows >= 2 * (uint64_t)level->sessions);
            assert_true(level->hold_ns >= (search->max_rows > 0 && search->hold_ns > MONO_NS_PER_S
                                               ? MONO_NS_PER_S
                                               : search->hold_ns));
        }
    }
    assert_int_equal(outcome->shortages, failed);
    assert_true(calls_failed <= outcome->calls_failed); /* some failed between two levels */
    const size_t count = atomic_load(&kept_count);
    assert_int_equal(count, outcome->result->rows.acknowledged);
    assert_true(count <= KEPT_MAX);
    qsort(kept, count, sizeof kept[0], compare_values);
    for (size_t i = 1; i < count; i++) {
        assert_true(kept[i - 1] != kept[i]);
    }
    search_fini(&outcome->search);
    recorder_snapshot_fini(&outcome->result->totals);
    free(outcome->result);
}

TEST(test_server_with_room)
{
    static const int rooms[] = {1, 9, 10, 11, 37, 80};
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        struct outcome outcome;
        const struct asked asked = begin();
        server.room = rooms[i];
        search(asked, BOUND, &outcome);
        assert_int_equal(outcome.search.end, SEARCH_FOUND);
        assert_int_equal(outcome.search.held, rooms[i]);
        assert_int_equal(outcome.search.failed, rooms[i] + 1);
        const struct level *level = &outcome.search.levels[outcome.search.failure];
        assert_int_equal(level->sessions, rooms[i] + 1);
        assert_int_equal(level->reason, LEVEL_REFUSED);
        assert_int_equal(level->up, rooms[i]);
        assert_string_equal(level_main_cause(level)->error.text, "no room");
        assert_int_equal(atomic_load(&most_alive), rooms[i]);
        assert_true(outcome.search.count <= 8);
        finish(&outcome);
    }
}

TEST(test_server_with_no_room)
{
    struct outcome outcome;
    const struct asked asked = begin();
    server.room = 0;
    search(asked, BOUND, &outcome);
    assert_int_equal(outcome.search.end, SEARCH_FOUND);
    assert_int_equal(outcome.search.held, 0);
    assert_int_equal(outcome.search.failed, 1);
    assert_int_equal(outcome.result->rows.acknowledged, 0);
    finish(&outcome);
}

TEST(test_bound_on_sessions)
{
    static const unsigned bounds[] = {1, 10, 25};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        struct outcome outcome;
        const struct asked asked = begin();
        search(asked, bounds[i], &outcome);
        assert_int_equal(outcome.search.end, SEARCH_BOUND);
        assert_int_equal(outcome.search.held, bounds[i]);
        assert_int_equal(outcome.search.failed, 0);
        assert_int_equal(atomic_load(&most_alive), bounds[i]);
        /* each session was started only once, not again for each level */
        assert_int_equal(outcome.result->sessions.requested, bounds[i]);
        finish(&outcome);
    }
}

TEST(test_sessions_that_are_lost)
{
    struct outcome outcome;
    const struct asked asked = begin();
    server.breaks_above = 23;
    search(asked, BOUND, &outcome);
    assert_int_equal(outcome.search.end, SEARCH_FOUND);
    assert_int_equal(outcome.search.held, 23);
    assert_int_equal(outcome.search.failed, 24);
    const struct level *level = &outcome.search.levels[outcome.search.failure];
    assert_int_equal(level->reason, LEVEL_DROPPED);
    assert_true(level->ledger.dropped > 0);
    assert_true(outcome.result->rows.in_doubt > 0);
    finish(&outcome);
}

/* Checks that calls failed at each level that did not hold. */
static void check_calls_failed(const struct search *search)
{
    unsigned failed = 0;
    for (size_t i = 0; i < search->count; i++) {
        const struct level *level = &search->levels[i];
        assert_int_equal(level->reason == LEVEL_APPEND_FAILED, level->outcome == LEVEL_FAILED);
        assert_int_equal(level->failed > 0, level->outcome == LEVEL_FAILED);
        failed += level->outcome == LEVEL_FAILED ? 1 : 0;
    }
    assert_true(failed > 1);
}

TEST(test_appends_that_are_refused)
{
    struct outcome outcome;
    const struct asked asked = begin();
    server.rejects_above = 17;
    search(asked, BOUND, &outcome);
    assert_int_equal(outcome.search.held, 17);
    assert_int_equal(outcome.search.failed, 18);
    check_calls_failed(&outcome.search);
    assert_int_equal(outcome.result->sessions.dropped, 0);
    finish(&outcome);
}

TEST(test_reads_that_are_refused)
{
    struct outcome outcome;
    const struct asked asked = begin();
    server.rejects_reads_above = 17;
    search(asked, BOUND, &outcome);
    assert_int_equal(outcome.search.held, 17);
    assert_int_equal(outcome.search.failed, 18);
    check_calls_failed(&outcome.search);
    assert_int_equal(outcome.result->rows.rejected, 0);
    finish(&outcome);
}

TEST(test_sessions_without_progress)
{
    struct outcome outcome;
    struct asked asked = begin();
    asked.patience_ns = MONO_NS_PER_S;
    server.busy_above = 12;
    server.connecting = 1; /* so that the sessions without progress are the ones that leave */
    search(asked, BOUND, &outcome);
    assert_int_equal(outcome.search.held, 12);
    assert_int_equal(outcome.search.failed, 13);
    const struct level *level = &outcome.search.levels[outcome.search.failure];
    assert_int_equal(level->reason, LEVEL_NO_PROGRESS);
    assert_true(level->stalled > 0);
    finish(&outcome);
}

/* A session that is restarted because its host is gone works at the other host. It then has rows at
 * both hosts, so a count at one host does not show all its rows. */
TEST(test_a_host_that_goes_away)
{
    struct outcome outcome;
    struct asked asked = begin();
    asked.first = 8;
    server.rejects_above = 6;
    server.connecting = 1;
    server.open_ns = 50 * MONO_NS_PER_MS;
    server.has_two_hosts = true;
    search(asked, 8, &outcome);
    assert_int_equal(outcome.search.held, 6);
    assert_true(atomic_load(&kept_at[0][5]) > 0);
    assert_true(atomic_load(&kept_at[1][5]) > 0);
    assert_true(outcome.checks > 0);
    assert_int_equal(outcome.stale, 0);
    finish(&outcome);
}

/* A session that does not leave when it should is cut. Its call fails, but the level does not
 * fail. */
TEST(test_a_session_that_is_cut)
{
    struct outcome outcome;
    struct asked asked = begin();
    asked.first = 13;
    asked.patience_ns = 200 * MONO_NS_PER_MS;
    server.blocks_above = 12;
    server.connecting = 1;
    search(asked, 13, &outcome);
    assert_int_equal(outcome.search.levels[0].reason, LEVEL_NO_PROGRESS);
    assert_int_equal(outcome.search.levels[1].sessions, 6);
    for (size_t i = 1; i < outcome.search.count; i++) {
        assert_int_equal(outcome.search.levels[i].outcome, LEVEL_HELD);
        assert_int_equal(outcome.search.levels[i].failed, 0);
    }
    assert_int_equal(outcome.search.end, SEARCH_BOUND);
    assert_int_equal(outcome.search.held, 13);
    assert_int_equal(outcome.result->sessions_cut, 1);
    finish(&outcome);
}

TEST(test_bound_on_time)
{
    struct outcome outcome;
    struct asked asked = begin();
    asked.hold_ns = 60 * MONO_NS_PER_S;
    asked.max_time_ns = 3 * MONO_NS_PER_S; /* enough to connect ten sessions */
    search(asked, BOUND, &outcome);
    assert_int_equal(outcome.search.end, SEARCH_TIME);
    assert_int_equal(outcome.search.held, 0);
    assert_int_equal(outcome.search.count, 1);
    assert_int_equal(outcome.search.levels[0].outcome, LEVEL_UNFINISHED);
    assert_int_equal(outcome.search.levels[0].up, 10);
    finish(&outcome);
}

/* 10 sessions add at most 20 rows per ms, because an append of 2 rows takes 1 ms. */
TEST(test_bound_on_rows)
{
    struct outcome outcome;
    struct asked asked = begin();
    asked.hold_ns = 60 * MONO_NS_PER_S;
    asked.max_rows = 40000;
    search(asked, BOUND, &outcome);
    assert_int_equal(outcome.search.end, SEARCH_ROWS);
    assert_true(outcome.result->rows.acknowledged >= asked.max_rows);
    const struct level *level = &outcome.search.levels[0];
    assert_int_equal(level->outcome, LEVEL_HELD);
    assert_true(level->hold_ns >= MONO_NS_PER_S && level->hold_ns < asked.hold_ns);
    assert_true(level->rows >= asked.max_rows / 8 - 2 * BOUND);
    finish(&outcome);
}

/* While other sessions take long to connect, sessions that are already connected write little. If
 * they did not rest, the bound on rows would end the search. */
TEST(test_sessions_rest_between_levels)
{
    struct outcome outcome;
    struct asked asked = begin();
    server.connecting = 1;
    server.open_ns = 100 * MONO_NS_PER_MS;
    asked.max_rows = 20000;
    search(asked, 20, &outcome);
    assert_int_equal(outcome.search.end, SEARCH_BOUND);
    assert_int_equal(outcome.search.held, 20);
    finish(&outcome);
}

TEST(test_bound_on_memory)
{
    struct outcome outcome;
    struct asked asked = begin();
    asked.max_memory_bytes = 1 << 20; /* less than any machine uses */
    search(asked, BOUND, &outcome);
    assert_int_equal(outcome.search.end, SEARCH_MEMORY);
    assert_int_equal(outcome.search.count, 0);
    assert_int_equal(outcome.result->sessions.requested, 0);
    assert_true(outcome.search.end_note[0] != '\0');
    finish(&outcome);
}

/* Adds a level that was tried, at which `let_in` sessions were up. */
static void add_level(struct search *search, unsigned sessions, bool has_held, unsigned let_in)
{
    struct level *level = search_add_level(search);
    assert_non_null(level);
    level->sessions = sessions;
    level->outcome = has_held ? LEVEL_HELD : LEVEL_FAILED;
    if (!has_held) {
        level->reason = let_in > 0 ? LEVEL_REFUSED : LEVEL_DROPPED;
    }
    level->up = let_in;
    search_note_level(search);
}

/* Simulates a search on a server with room for `room` sessions. Returns the number of levels. */
static unsigned walk(unsigned first, unsigned bound, unsigned room, bool is_hinting,
                     unsigned *result)
{
    struct search search = {.bound = bound};
    unsigned levels = 0;
    unsigned next = 0;
    while ((next = search_next(&search, first)) != 0) {
        assert_true(next >= 1 && next <= bound);
        const bool has_held = next <= room;
        add_level(&search, next, has_held, has_held || !is_hinting ? 0 : room);
        assert_true(++levels < 100);
    }
    *result = search.held;
    search_fini(&search);
    return levels;
}

TEST(test_steps)
{
    for (unsigned room = 0; room <= 300; room++) {
        unsigned found = 0;
        assert_in_range(walk(10, 1000000, room, true, &found), 1, 12);
        assert_int_equal(found, room);
        assert_in_range(walk(10, 1000000, room, false, &found), 1, 20);
        assert_int_equal(found, room);
        walk(7, 250, room, true, &found);
        assert_int_equal(found, room < 250 ? room : 250);
    }
    unsigned found = 0;
    assert_int_equal(walk(10, UINT32_MAX, UINT32_MAX, false, &found), 30);
    assert_int_equal(found, UINT32_MAX);
    /* the levels 10, 20, … 320, then 297 and 298 */
    assert_int_equal(walk(10, 5000, 297, true, &found), 8);
}

/* A connect may be refused because an earlier connection still has its place. This refusal is not
 * taken for the limit. */
TEST(test_steps_try_the_last_one_again)
{
    struct search search = {.bound = 1000};
    add_level(&search, 297, false, 296);
    assert_int_equal(search_next(&search, 297), 296);
    add_level(&search, 296, true, 0);
    assert_int_equal(search_next(&search, 297), 297);
    add_level(&search, 297, true, 0);
    assert_int_equal(search_next(&search, 297), 594);
    add_level(&search, 594, false, 297);
    assert_int_equal(search_next(&search, 297), 298);
    /* 298 is tried once more, because its failure did not come right after 297 had held; a second
     * failure in a row ends the search */
    add_level(&search, 298, false, 297);
    assert_int_equal(search_next(&search, 297), 298);
    add_level(&search, 298, false, 297);
    assert_int_equal(search_next(&search, 297), 0);
    /* after 298 has held, the search goes on below 594, which has failed */
    add_level(&search, 298, true, 0);
    assert_int_equal(search_next(&search, 297), 298 + (594 - 298) / 2);
    search_fini(&search);
}

TEST(test_memory)
{
    const struct search_memory memory = {.limit_bytes = 900, .base_bytes = 100};
    /* 10 sessions need 10 bytes each, and the 700 bytes that are left suffice for 70 more */
    assert_int_equal(search_memory_fits(&memory, 10, 200), 80);
    assert_int_equal(search_memory_fits(&memory, 0, 100), UINT32_MAX);
    assert_int_equal(search_memory_fits(&memory, 10, 90), UINT32_MAX);
    assert_int_equal(search_memory_fits(&memory, 10, 0), UINT32_MAX);
    assert_int_equal(search_memory_fits(&memory, 10, 901), 0);
    const struct search_memory unknown = {.limit_bytes = UINT64_MAX, .base_bytes = 100};
    assert_int_equal(search_memory_fits(&unknown, 10, 200), UINT32_MAX);
}

TEST(test_reading_a_search)
{
    static const struct {
        unsigned sessions;
        enum level_outcome outcome;
        double rows_per_s;
        int64_t p99_ns;
        int64_t memory_bytes;
    } made[] = {{10, LEVEL_HELD, 100, 5, 1000},    {20, LEVEL_HELD, 150, 20, 1400},
                {40, LEVEL_FAILED, 900, 30, 9999}, {30, LEVEL_HELD, 120, 8, 3000},
                {31, LEVEL_FAILED, 130, 40, -1},   {31, LEVEL_HELD, 110, 9, -1}};
    static const unsigned failed_then[] = {0, 0, 40, 40, 31, 40};
    struct search search = {.p99_bound_ns = 10};
    assert_null(search_knee(&search));
    assert_true(search_session_bytes(&search) < 0);
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        struct level *level = search_add_level(&search);
        assert_non_null(level);
        level->sessions = made[i].sessions;
        level->outcome = made[i].outcome;
        level->rows_per_s = made[i].rows_per_s;
        level->append = (struct recorder_latency){.count = 1, .p99_ns = made[i].p99_ns};
        level->server_memory_bytes = made[i].memory_bytes;
        search_note_level(&search);
        assert_int_equal(search.failed, failed_then[i]);
    }
    assert_int_equal(search.held, 31);
    assert_int_equal(search_knee(&search)->sessions, 20);
    assert_ptr_equal(search_best(&search), search_knee(&search));
    /* 19 sessions have the same rows/s within the noise; a tenth less, as with 18, is more than
     * noise */
    search.levels[3].rows_per_s = 143;
    search.levels[3].sessions = 19;
    search.levels[5].rows_per_s = 135;
    search.levels[5].sessions = 18;
    assert_int_equal(search_best(&search)->sessions, 20);
    assert_int_equal(search_knee(&search)->sessions, 19);
    /* the knee may be noise if part of a level with fewer sessions was as fast as the knee's
     * slowest part */
    assert_null(search_knee_rival(&search)); /* the speed of the knee's parts is unknown */
    search.levels[3].lowest_rows_per_s = 105;
    search.levels[0].highest_rows_per_s = 104;
    search.levels[5].highest_rows_per_s = 104;
    search.levels[1].highest_rows_per_s = 150; /* a level with more sessions than the knee */
    assert_null(search_knee_rival(&search));
    search.levels[0].highest_rows_per_s = 105;
    assert_int_equal(search_knee_rival(&search)->sessions, 10);
    search.levels[3].sessions = 30;
    search.levels[5].sessions = 31;
    const struct level *over = NULL;
    const struct level *within = NULL;
    search_p99(&search, &over, &within);
    assert_int_equal(over->sessions, 20);
    assert_int_equal(within->sessions, 10);
    assert_true(search_session_bytes(&search) == 100);
    search_fini(&search);
}
