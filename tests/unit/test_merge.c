/* Results of ranks as bytes, and the merged result. */
#include "unit/unit.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "base/mono.h"
#include "base/random.h"
#include "ranks/merge.h"
#include "recorded.h"
#include "trace/trace.h"

#ifdef APPEND_IS_SANITIZED
enum {
    FLEET_RANKS = 20
};
#else
enum {
    FLEET_RANKS = 1000
};
#endif

enum {
    FLEET_SESSIONS = 5000,
    SECONDS = 20,
};

/* The result of a rank, to be freed with part_fini. */
struct part {
    struct result result;
    struct rank_result own;
    struct buffer intervals, samples;
    struct recorder_snapshot snapshots[2];
    struct recorder *recorder; /* with two hosts, of which the second has all rows; may be NULL */
    uint64_t held;             /* rows before the run and the rows of the rank's intervals */
};

static void part_init(struct part *part, unsigned first, unsigned sessions, uint64_t rows)
{
    memset(part, 0, sizeof *part);
    struct result *result = &part->result;
    assert_true(recorder_snapshot_init(&result->totals, OPERATIONS));
    assert_true(recorder_snapshot_init(&part->snapshots[0], OPERATIONS));
    assert_true(recorder_snapshot_init(&part->snapshots[1], OPERATIONS));
    causes_init(&result->causes);
    result->session_list = calloc(sessions, sizeof *result->session_list);
    assert_non_null(result->session_list);
    result->session_count = sessions;
    for (unsigned i = 0; i < sessions; i++) {
        result->session_list[i] = (struct session_summary){.index = first + i,
                                                           .outcome = SESSION_FINISHED,
                                                           .rows = {rows, rows, 0, 0, 0},
                                                           .begun = rows,
                                                           .batches = 1,
                                                           .worked_ns = MONO_NS_PER_S};
    }
    part->own = (struct rank_result){.is_known = true,
                                     .resources = {.max_cpu = {50, -1, 20},
                                                   .mean_cpu = {50, -1, 20},
                                                   .max_server_memory_bytes = -1,
                                                   .max_client_memory_bytes = 1000}};
    result->sessions =
        (struct session_ledger){.requested = sessions, .connected = sessions, .finished = sessions};
    result->rows = (struct row_ledger){sessions * rows, sessions * rows, 0, 0, 0};
    result->elapsed_ns = SECONDS * MONO_NS_PER_S;
    result->append_ns = (SECONDS - 2) * MONO_NS_PER_S;
    result->connect_ns = MONO_NS_PER_S;
    result->totals.counters[RECORDER_ROWS_ACKNOWLEDGED] = sessions * rows;
}

static void add_interval(struct part *part, int64_t start_ns, int64_t end_ns, uint64_t rows,
                         int64_t append_ns)
{
    const struct histogram *before = &part->snapshots[0].histograms[OPERATION_APPEND];
    struct histogram *after = &part->snapshots[1].histograms[OPERATION_APPEND];
    *after = *before;
    for (uint64_t i = 0; i < rows; i++) {
        histogram_record(after, append_ns);
    }
    struct interval interval = {.start_ns = start_ns,
                                .end_ns = end_ns,
                                .sessions_alive = 10,
                                .from = &part->snapshots[0],
                                .to = &part->snapshots[1]};
    interval.counters[RECORDER_ROWS_ACKNOWLEDGED] = rows;
    part->held += rows;
    interval.rows_held = part->held;
    uint64_t hosts[2][RECORDER_COUNTERS] = {{0}, {[RECORDER_ROWS_ACKNOWLEDGED] = rows}};
    interval.hosts = part->recorder == NULL ? 0 : COUNT_OF(hosts);
    interval.hosts_counters = (const uint64_t(*)[RECORDER_COUNTERS])hosts;
    merge_keep_interval(&part->intervals, &interval);
}

static void add_sample(struct part *part, int64_t start_ns, int64_t end_ns, double client)
{
    const struct sample sample = {.start_ns = start_ns,
                                  .end_ns = end_ns,
                                  .sessions_alive = 10,
                                  .cpu = {60, -1, client},
                                  .server_memory_bytes = -1,
                                  .table_bytes = -1,
                                  .client_memory_bytes = 500};
    merge_keep_sample(&part->samples, &sample);
}

static void pack(struct part *part, struct buffer *bytes)
{
    const struct merge_part given = {.result = &part->result,
                                     .own = &part->own,
                                     .recorder = part->recorder,
                                     .intervals = &part->intervals,
                                     .samples = &part->samples};
    assert_true(merge_pack(bytes, &given));
}

static void part_fini(struct part *part)
{
    session_list_free(part->result.session_list, part->result.session_count);
    free(part->result.trace);
    recorder_snapshot_fini(&part->result.totals);
    recorder_snapshot_fini(&part->snapshots[0]);
    recorder_snapshot_fini(&part->snapshots[1]);
    recorder_destroy(part->recorder);
    causes_fini(&part->result.causes);
    buffer_fini(&part->intervals);
    buffer_fini(&part->samples);
}

static struct result *make_whole(unsigned ranks, unsigned sessions, size_t hosts)
{
    struct result *whole = calloc(1, sizeof *whole);
    assert_non_null(whole);
    causes_init(&whole->causes);
    assert_true(recorder_snapshot_init(&whole->totals, OPERATIONS));
    assert_true(result_allocate_tables(whole, hosts, 1, false));
    whole->ranks = calloc(ranks, sizeof *whole->ranks);
    whole->session_list = calloc(sessions, sizeof *whole->session_list);
    assert_non_null(whole->ranks);
    assert_non_null(whole->session_list);
    whole->rank_count = ranks;
    whole->session_count = sessions;
    whole->start_mono_ns = 1000;
    for (unsigned i = 0; i < ranks; i++) {
        snprintf(whole->ranks[i].machine, sizeof whole->ranks[i].machine, "m%u", i / 2);
    }
    return whole;
}

/* Two ranks are merged. The second has a limit of another machine, a cause and rows in doubt. */
TEST(test_two)
{
    struct part parts[2];
    struct buffer bytes[2] = {{0}, {0}};
    const struct operation_list operations = operation_list_all();
    const struct error refused = {.kind = ERROR_AUTH, .native_code = 7, .text = "no"};
    const struct error no_thread = {.kind = ERROR_SYSTEM, .native_code = 11, .text = "no thread"};
    struct histogram all = {.total = 0};
    for (unsigned r = 0; r < 2; r++) {
        part_init(&parts[r], r * 3, 3, 100);
        for (int i = 0; i < 1000; i++) {
            const int64_t ns = (i * 7919 + (int)r * 13) % 100000 + (r == 1 ? 50000 : 0);
            histogram_record(&parts[r].result.totals.histograms[OPERATION_APPEND], ns);
            histogram_record(&all, ns);
        }
        /* intervals end a little late, and the last interval is incomplete */
        const int64_t first_ns = MONO_NS_PER_S + 5000000 * (int64_t)r;
        const int64_t second_ns = 2 * MONO_NS_PER_S + 1000;
        add_interval(&parts[r], 0, first_ns, 10, 1000);
        add_interval(&parts[r], first_ns, second_ns, 20 + r, 9000000);
        add_interval(&parts[r], second_ns, 2 * MONO_NS_PER_S + 30000000 + (int64_t)r, 5, 70);
        add_sample(&parts[r], 0, MONO_NS_PER_S, 15);
        add_sample(&parts[r], MONO_NS_PER_S, 2 * MONO_NS_PER_S + r, 25);
        causes_add(&parts[r].result.causes, CAUSE_CONNECT, STATUS_FATAL, &refused, 50 + r);
    }
    struct result *second = &parts[1].result;
    second->start_mono_ns = 40;
    causes_add(&second->causes, CAUSE_THREAD, STATUS_FATAL, &no_thread, 60);
    second->stop_reason = STOP_DURATION;
    second->session_list[1].exceptions = malloc(sizeof(struct row_exception));
    second->session_list[1].exceptions[0] = (struct row_exception){40, 10, 0, true};
    second->session_list[1].exception_count = 1;
    second->findings.count = 2;
    second->findings.entries[0] =
        (struct finding){.side = LIMIT_CLIENT, .name = "files", .sessions = 2, .evidence = "full"};
    second->findings.entries[1] =
        (struct finding){.side = LIMIT_DATABASE, .name = "max_connections", .sessions = 3};
    parts[0].result.findings.count = 1;
    parts[0].result.findings.entries[0] =
        (struct finding){.side = LIMIT_DATABASE, .name = "max_connections", .sessions = 4};
    parts[1].own.resources.server_pid = 99;
    parts[1].own.resources.max_server_memory_bytes = 12345;
    parts[1].own.hosts_here = 1;
    parts[1].result.batches = (struct batch_ledger){.due = 5, .sent = 4, .not_sent = 1};

    struct result *whole = make_whole(3, 9, 1);
    struct merge *merge = merge_create(whole, &operations);
    struct error error = {.kind = ERROR_NONE};
    for (unsigned r = 0; r < 2; r++) {
        pack(&parts[r], &bytes[r]);
        assert_int_equal(merge_add(merge, r, bytes[r].bytes, bytes[r].length, &error), STATUS_OK);
    }
    /* the third rank is lost after reporting 120 of 300 rows */
    struct session_summary missing[3] = {{.index = 6}, {.index = 7}, {.index = 8}};
    uint64_t reported[RECORDER_COUNTERS] = {0};
    reported[RECORDER_SESSIONS_CONNECTED] = 2;
    reported[RECORDER_ROWS_ACKNOWLEDGED] = 120;
    reported[RECORDER_APPENDS] = 12; /* answered; 3 of them were refused */
    reported[RECORDER_APPENDS_FAILED] = 3 + 2;
    reported[RECORDER_APPENDS_LOST] = 2;
    reported[RECORDER_TRANSACTIONS_BEGUN] = 10;
    reported[RECORDER_TRANSACTIONS_COMMITTED] = 7;
    reported[RECORDER_TRANSACTIONS_FAILED] = 1;
    reported[RECORDER_TRANSACTIONS_UNFINISHED] = 1;
    reported[RECORDER_RETRIES_BUSY] = 2;
    for (int i = 0; i < 3; i++) {
        missing[i].rows.planned = 100;
    }
    merge_add_lost(merge, 2, missing, 3, reported);
    assert_true(merge_finish(merge));

    /* the only host has the counters of all ranks, even if its rows were not counted after the
     * run */
    struct verification verification = {.state = VERIFICATION_NONE};
    assert_ptr_equal(whole->hosts[0].counters, whole->totals.counters);
    snprintf(whole->hosts[0].reason, sizeof whole->hosts[0].reason, "gone");
    result_join_hosts(whole, 0, &(struct row_change){1, 1}, &verification);
    assert_int_equal(verification.state, VERIFICATION_FAILED);
    assert_string_equal(verification.reason, "gone");

    assert_true(session_ledger_balances(&whole->sessions));
    assert_true(row_ledger_balances(&whole->rows));
    assert_int_equal(whole->sessions.requested, 9);
    assert_int_equal(whole->sessions.finished, 6);
    assert_int_equal(whole->sessions.dropped, 2);
    assert_int_equal(whole->sessions.not_started, 1);
    assert_int_equal(whole->rows.acknowledged, 720);
    assert_int_equal(whole->rows.in_doubt, 180);
    assert_int_equal(whole->batches.due, 5 + 12 + 2);
    assert_int_equal(whole->batches.sent, 4 + 12 + 2);
    assert_true(transactions_balance(whole->totals.counters));
    assert_int_equal(whole->totals.counters[RECORDER_TRANSACTIONS_BEGUN], 10);
    assert_int_equal(whole->totals.counters[RECORDER_TRANSACTIONS_IN_DOUBT], 1);
    assert_int_equal(whole->totals.counters[RECORDER_TRANSACTIONS_UNFINISHED], 1);
    assert_int_equal(whole->totals.counters[RECORDER_TRIES], 12);
    assert_int_equal(whole->ranks[2].counters[RECORDER_TRANSACTIONS_COMMITTED], 7);
    assert_int_equal(whole->stop_reason, STOP_RANK);
    assert_int_equal(whole->totals.counters[RECORDER_ROWS_ACKNOWLEDGED], 720);
    assert_memory_equal(&whole->totals.histograms[OPERATION_APPEND], &all, sizeof all);
    assert_int_equal(whole->session_list[4].exceptions[0].first, 40);
    assert_int_equal(whole->session_list[8].rows.planned, 100);
    assert_true(whole->session_list[8].is_of_lost_rank);
    assert_false(whole->session_list[5].is_of_lost_rank);

    assert_int_equal(whole->causes.count, 2);
    assert_int_equal(whole->causes.entries[0].count, 2);
    assert_int_equal(whole->causes.entries[0].first_ns, 1000 + 51 - 40);
    assert_string_equal(whole->causes.entries[1].error.text, "machine m0: no thread");
    assert_int_equal(whole->findings.count, 2);
    assert_int_equal(whole->findings.entries[0].sessions, 7);
    assert_string_equal(whole->findings.entries[1].evidence, "machine m0: full");

    assert_int_equal(merge_interval_count(merge), 3);
    const uint64_t rows[] = {20, 41, 10};
    for (size_t i = 0; i < 3; i++) {
        struct interval interval;
        merge_interval(merge, i, &interval);
        assert_int_equal(interval.counters[RECORDER_ROWS_ACKNOWLEDGED], rows[i]);
        assert_int_equal(interval.sessions_alive, 20);
        assert_int_equal(interval.start_ns, (int64_t)i * MONO_NS_PER_S);
        assert_int_equal(interval.latencies[OPERATION_APPEND].count, rows[i]);
        assert_int_equal(interval.end_ns,
                         i < 2 ? (int64_t)(i + 1) * MONO_NS_PER_S : 2 * MONO_NS_PER_S + 30000001);
    }
    /* the server is on the machine that ranks 0 and 1 share */
    assert_int_equal(whole->resources.max_server_memory_bytes, 12345);
    assert_int_equal(whole->resource_rank, 1);
    assert_string_equal(whole->resources.server_note, "measured on machine m0 by rank 1");
    assert_int_equal(whole->resources.max_client_memory_bytes, 2000);
    assert_int_equal(merge_joined_count(merge), 2);
    assert_true(merge_joined(merge, 1)->cpu.client == 50);
    assert_int_equal(merge_joined(merge, 1)->sessions_alive, 20);
    assert_true(whole->resources.max_cpu.client == 50);
    assert_int_equal(merge_sample_count(merge), 4);

    merge_destroy(merge);
    result_free(whole);
    for (unsigned r = 0; r < 2; r++) {
        part_fini(&parts[r]);
        buffer_fini(&bytes[r]);
    }
}

/* The limits of all ranks are merged: the limit that cost the most sessions is the first, and a
 * full list lacks the limits that cost the fewest. */
TEST(test_findings_of_ranks)
{
    enum {
        RANKS = FINDINGS_MAX + 2 /* each of the first ranks has a limit of its own */
    };
    const struct operation_list operations = operation_list_all();
    struct result *whole = make_whole(RANKS, RANKS, 1);
    struct merge *merge = merge_create(whole, &operations);
    for (unsigned r = 0; r < RANKS; r++) {
        struct part part;
        struct buffer bytes = {0};
        struct error error = {.kind = ERROR_NONE};
        part_init(&part, r, 1, 10);
        part.result.findings.count = 1;
        struct finding *finding = &part.result.findings.entries[0];
        *finding = (struct finding){.side = LIMIT_DATABASE, .sessions = r + 1};
        snprintf(finding->name, sizeof finding->name, "%u", r + 1 < RANKS ? r : 0);
        pack(&part, &bytes);
        assert_int_equal(merge_add(merge, r, bytes.bytes, bytes.length, &error), STATUS_OK);
        buffer_fini(&bytes);
        part_fini(&part);
    }
    assert_true(merge_finish(merge));
    assert_int_equal(whole->findings.count, FINDINGS_MAX);
    for (unsigned i = 0; i < FINDINGS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i == 0 ? 0 : FINDINGS_MAX + 1 - i);
        assert_string_equal(whole->findings.entries[i].name, name);
        assert_int_equal(whole->findings.entries[i].sessions,
                         i == 0 ? 1 + RANKS : FINDINGS_MAX + 2 - i);
    }
    merge_destroy(merge);
    result_free(whole);
}

/* Rows from before the run are counted once. The rows that a rank added still count after the
 * rank's end. */
TEST(test_rows_held)
{
    const struct operation_list operations = operation_list_all();
    struct result *whole = make_whole(2, 2, 1);
    struct merge *merge = merge_create(whole, &operations);
    for (unsigned r = 0; r < 2; r++) {
        struct part part;
        struct buffer bytes = {0};
        struct error error = {.kind = ERROR_NONE};
        part_init(&part, r, 1, 10);
        part.held = r == 0 ? 1000 : 0;
        for (int second = 0; second < (r == 0 ? 1 : 3); second++) {
            add_interval(&part, second * MONO_NS_PER_S, (second + 1) * MONO_NS_PER_S, 10, 1000);
        }
        pack(&part, &bytes);
        assert_int_equal(merge_add(merge, r, bytes.bytes, bytes.length, &error), STATUS_OK);
        buffer_fini(&bytes);
        part_fini(&part);
    }
    assert_true(merge_finish(merge));
    assert_string_equal(whole->resources.server_note,
                        "no rank is on the server's machine; CPU was measured on machine m0");
    assert_string_equal(whole->resources.io_of.note, "no rank is on the server's machine");
    const uint64_t held[] = {1020, 1030, 1040};
    assert_int_equal(merge_interval_count(merge), COUNT_OF(held));
    for (size_t i = 0; i < COUNT_OF(held); i++) {
        struct interval interval;
        merge_interval(merge, i, &interval);
        assert_int_equal(interval.rows_held, held[i]);
    }
    merge_destroy(merge);
    result_free(whole);
}

/* Intervals end a little late. Two intervals that begin in the same second become one, which has
 * the state at the end of that second. An interval that ends much too late is divided among its
 * seconds, by time. */
TEST(test_seconds)
{
    static const struct {
        struct {
            int64_t start_ms, end_ms;
            uint64_t rows;
        } intervals[6];
        uint64_t rows[6]; /* rows that each second gets */
    } cases[] = {
        {{{0, 1040, 500}, {1040, 1980, 10}, {1980, 2030, 10}, {2030, 2930, 10}}, {500, 10, 20}},
        {{{0, 1000, 10}, {1000, 2600, 16}, {2600, 3000, 4}, {3000, 4000, 10}}, {10, 10, 10, 10}},
        {{{0, 1003, 10}, {1003, 4500, 350}, {4500, 5000, 50}}, {10, 100, 100, 100, 100}},
        {{{0, 1000, 1}, {1000, 3200, 1}, {3200, 4000, 7}}, {1, 0, 1, 7}},
        {{{0, 1500, 0}, {1500, 2300, 8}}, {0, 5, 3}},
        {{{0, 1000, 10}, {1000, 1950, 10}, {1950, 1990, 10}}, {10, 20}},
        {{{0, 1000, 5}, {1000, 1001, 2}}, {5, 2}},
    };
    const struct operation_list operations = operation_list_all();
    EACH_CASE (n, cases, "case %zu", n) {
        struct result *whole = make_whole(2, 2, 2);
        assert_true(recorder_snapshot_add_hosts(&whole->totals, 2));
        struct merge *merge = merge_create(whole, &operations);
        size_t seconds = 0;
        for (unsigned r = 0; r < 2; r++) { /* rank 1 is never late */
            struct part part;
            struct buffer bytes = {0};
            struct error error = {.kind = ERROR_NONE};
            part_init(&part, r, 1, 10);
            part.held = r == 0 ? 50000 : 0; /* rows from before the run */
            assert_true(recorder_snapshot_add_hosts(&part.result.totals, 2));
            part.recorder = recorder_create(1, 1, OPERATIONS, 2);
            assert_non_null(part.recorder);
            for (size_t i = 0; r == 0 && cases[n].intervals[i].end_ms > 0; i++) {
                add_interval(&part, cases[n].intervals[i].start_ms * MONO_NS_PER_MS,
                             cases[n].intervals[i].end_ms * MONO_NS_PER_MS,
                             cases[n].intervals[i].rows, 1000);
                seconds = (size_t)(cases[n].intervals[i].end_ms + 999) / 1000;
            }
            for (size_t i = 0; r == 1 && i < seconds; i++) {
                add_interval(&part, (int64_t)i * MONO_NS_PER_S, (int64_t)(i + 1) * MONO_NS_PER_S,
                             1000, 1000);
            }
            pack(&part, &bytes);
            assert_int_equal(merge_add(merge, r, bytes.bytes, bytes.length, &error), STATUS_OK);
            buffer_fini(&bytes);
            part_fini(&part);
        }
        assert_true(merge_finish(merge));
        assert_int_equal(merge_interval_count(merge), seconds);
        uint64_t held = 50000;
        for (size_t i = 0; i < seconds; i++) {
            struct interval interval;
            const uint64_t rows = 1000 + cases[n].rows[i];
            held += rows;
            merge_interval(merge, i, &interval);
            assert_int_equal(interval.counters[RECORDER_ROWS_ACKNOWLEDGED], rows);
            assert_int_equal(interval.hosts_counters[0][RECORDER_ROWS_ACKNOWLEDGED], 0);
            assert_int_equal(interval.hosts_counters[1][RECORDER_ROWS_ACKNOWLEDGED], rows);
            assert_int_equal(interval.latencies[OPERATION_APPEND].count, rows);
            assert_int_equal(interval.rows_held, held);
            assert_int_equal(interval.sessions_alive, 20);
        }
        merge_destroy(merge);
        result_free(whole);
    }
}

/* As in a run of one process, maxima cover the whole machine, and the short sample at the end does
 * not set them. */
TEST(test_maxima)
{
    const struct operation_list operations = operation_list_all();
    for (int is_mean = 0; is_mean < 2; is_mean++) {
        struct result *whole = make_whole(2, 2, 1);
        struct merge *merge = merge_create(whole, &operations);
        for (unsigned r = 0; r < 2; r++) {
            struct part part;
            struct buffer bytes = {0};
            struct error error = {.kind = ERROR_NONE};
            part_init(&part, r, 1, 10);
            part.own.resources.mean_cpu.host = is_mean ? 70 : 50;
            part.own.resources.max_cpu.host = 70;
            part.own.resources.bare_client_memory_bytes = is_mean || r == 0 ? 300 : 0;
            add_sample(&part, 0, MONO_NS_PER_S, 15);
            add_sample(&part, MONO_NS_PER_S, MONO_NS_PER_S + 1000, 45);
            pack(&part, &bytes);
            assert_int_equal(merge_add(merge, r, bytes.bytes, bytes.length, &error), STATUS_OK);
            buffer_fini(&bytes);
            part_fini(&part);
        }
        assert_true(merge_finish(merge));
        assert_true(whole->resources.max_cpu.host == (is_mean ? 70 : 60));
        assert_true(whole->resources.max_cpu.client == 40);
        assert_true(whole->resources.cpu_at_max.client == (is_mean ? 40 : 30));
        /* the memory of the program itself is unknown if it is unknown for a rank */
        assert_int_equal(whole->resources.max_client_memory_bytes, 2000);
        assert_int_equal(whole->resources.bare_client_memory_bytes, is_mean ? 600 : 0);
        merge_destroy(merge);
        result_free(whole);
    }
}

/* Makes the trace of a part's run, in times of the part's own clock. */
static struct trace_sum *make_trace(const struct part *part, enum io_trace level, uint64_t calls)
{
    struct trace_sum *sum = calloc(1, sizeof *sum);
    const int64_t start_ns = part->result.start_mono_ns;
    assert_non_null(sum);
    sum->level = level;
    sum->start_ns = start_ns;
    sum->gate_ns = start_ns + 100;
    sum->done_ns = start_ns + 500;
    sum->last_ns = start_ns + 510;
    sum->modes[IO_SYNC].bytes = calls;
    for (uint64_t i = 0; i < calls; i++) {
        histogram_record(&sum->modes[IO_SYNC].layers[TRACE_TOTAL], (int64_t)(i * 1000));
    }
    sum->before = sum->after = (struct trace_counters){
        .taken_ns = start_ns + 90, .count = 1, .entries = {{"wal_sync", 1}}};
    return sum;
}

/* Traces are converted to rank 0's clock and added up. A rank that does not trace adds nothing; a
 * rank that could not trace says why. */
TEST(test_traces)
{
    static const struct {
        int64_t start_ns;
        enum io_trace level;
        uint64_t calls;
    } ranks[] = {{1000, IO_TRACE_FULL, 0}, /* a trace without calls */
                 {7000000000, IO_TRACE_FULL, 40},
                 {-20, IO_TRACE_OFF, 0},
                 {5, IO_TRACE_FULL, 60}};
    const struct operation_list operations = operation_list_all();
    for (unsigned count = 2; count <= COUNT_OF(ranks); count++) {
        struct result *whole = make_whole(count, count, 1);
        struct merge *merge = merge_create(whole, &operations);
        for (unsigned r = 0; r < count; r++) {
            struct part part;
            struct buffer bytes = {0};
            struct error error = {.kind = ERROR_NONE};
            part_init(&part, r, 1, 10);
            part.result.start_mono_ns = ranks[r].start_ns;
            if (r > 0) {
                part.result.trace = make_trace(&part, ranks[r].level, ranks[r].calls);
                snprintf(part.result.trace->note, sizeof part.result.trace->note, "%s",
                         ranks[r].level == IO_TRACE_OFF ? "not allowed" : "");
            }
            pack(&part, &bytes);
            assert_int_equal(merge_add(merge, r, bytes.bytes, bytes.length, &error), STATUS_OK);
            buffer_fini(&bytes);
            part_fini(&part);
        }
        assert_true(merge_finish(merge));
        const struct trace_sum *all = whole->trace, *one = whole->ranks[1].trace;
        assert_null(whole->ranks[0].trace);
        assert_int_equal(one->gate_ns, 1100);
        assert_int_equal(one->before.taken_ns, 1090);
        assert_int_equal(one->modes[IO_SYNC].layers[TRACE_TOTAL].total, 40);
        assert_int_equal(all->level, IO_TRACE_FULL);
        assert_int_equal(all->start_ns, 1000);
        assert_int_equal(all->gate_ns, 1100);
        assert_int_equal(all->done_ns, 1500);
        assert_int_equal(all->last_ns, 1510);
        assert_int_equal(all->modes[IO_SYNC].layers[TRACE_TOTAL].total, count > 3 ? 100 : 40);
        assert_int_equal(all->modes[IO_SYNC].bytes, count > 3 ? 100 : 40);
        assert_string_equal(all->note, count > 2 ? "machine m1: not allowed" : "");
        /* with traces of two machines it is unknown which machine made the calls that a server has
         * counted */
        assert_int_equal(all->after.count, count > 3 ? 0 : 1);
        merge_destroy(merge);
        result_free(whole);
    }
}

/* The note names the servers that are in the figures and those that are missing. The CPU time of
 * the servers is the sum of all machines. */
TEST(test_servers)
{
    static const struct {
        /* hosts of the target, and how many of them are on each rank's machine */
        unsigned hosts, here[2];
        bool is_lost;      /* whether the second rank is lost */
        unsigned measured; /* servers whose CPU time is known: 10 s each */
        const char *note;
    } cases[] = {
        {1, {0, 0}, false, 0, "no rank is on the server's machine; CPU was measured on machine m0"},
        {1,
         {0, 0},
         true,
         0,
         "no remaining rank is on the server's machine; CPU was measured "
         "on machine m0"},
        {1, {0, 1}, false, 1, "measured on machine m0 by rank 1"},
        /* the second machine has an unrelated process with the pid of the server */
        {1, {1, 1}, false, 1, "measured on machine m0 by rank 0; other servers: ranks.csv"},
        {2, {1, 1}, false, 2, "measured on machine m0 by rank 0; other servers: ranks.csv"},
        {3,
         {1, 1},
         false,
         2,
         "measured on machine m0 by rank 0; other servers: ranks.csv; 1 of 3 servers have "
         "no rank on their machine"},
        {2,
         {1, 1},
         true,
         1,
         "measured on machine m0 by rank 0; 1 of 2 servers have no remaining rank on "
         "their machine"},
    };
    const struct operation_list operations = operation_list_all();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct result *whole = make_whole(2, 2, cases[i].hosts);
        struct merge *merge = merge_create(whole, &operations);
        for (unsigned r = 0; r < (cases[i].is_lost ? 1 : 2); r++) {
            struct part part;
            struct buffer bytes = {0};
            struct error error = {.kind = ERROR_NONE};
            part_init(&part, r, 1, 10);
            part.own.hosts_here = cases[i].here[r];
            part.own.resources.server_pid = cases[i].here[r] > 0 ? 7 : 0;
            part.own.resources.server_cpu_s = cases[i].here[r] > 0 ? 10 : -1;
            part.own.resources.hosts_measured = cases[i].here[r];
            snprintf(part.own.resources.io_of.note, sizeof part.own.resources.io_of.note,
                     "the server is elsewhere; no size");
            pack(&part, &bytes);
            assert_int_equal(merge_add(merge, r, bytes.bytes, bytes.length, &error), STATUS_OK);
            buffer_fini(&bytes);
            part_fini(&part);
        }
        if (cases[i].is_lost) {
            const struct session_summary missing = {.index = 1};
            merge_add_lost(merge, 1, &missing, 1, (uint64_t[RECORDER_COUNTERS]){0});
        }
        assert_true(merge_finish(merge));
        assert_string_equal(whole->resources.server_note, cases[i].note);
        const unsigned measured = cases[i].measured;
        assert_true(whole->resources.server_cpu_s == (measured > 0 ? 10.0 * measured : -1));
        assert_int_equal(whole->resources.hosts_measured, measured);
        /* the expected note on the disk; without a rank near the server it begins like the server's
         * note */
        char note[100];
        snprintf(note, sizeof note, "%.*s; no size",
                 (int)(strstr(cases[i].note, "machine") + 7 - cases[i].note), cases[i].note);
        assert_string_equal(whole->resources.io_of.note,
                            i < 2 ? note : "the server is elsewhere; no size");
        merge_destroy(merge);
        result_free(whole);
    }
}

/* Returns a value from a distribution with one of several shapes. */
static int64_t spread_value(size_t shape, uint64_t random)
{
    switch (shape) {
    case 0: /* evenly distributed */
        return (int64_t)(random % 1000000);
    case 1: /* values of all magnitudes */
        return (int64_t)(random >> (22 + random % 40));
    case 2: /* values around the limits of buckets, and beyond the last bucket */
        return (INT64_C(1) << random % 43) - (int64_t)(random >> 43) % 2;
    case 3: /* two clusters, far apart */
        return random % 100 < 98 ? (int64_t)(50000 + random % 999) : 2000000000;
    default: /* always the same value */
        return (int64_t)shape;
    }
}

/* One recorder and the recorders of several ranks have equal results for the same values. The
 * histograms of the whole run are equal, and so are all their percentiles. The percentiles of each
 * second are in the same bucket. */
TEST(test_spread)
{
    enum {
        RANKS = 4,
        SESSIONS = 8,
        HALVES = 2,
        VALUES = 20000 /* values that are drawn for each operation in each half */
    };
    static const size_t series[] = {OPERATION_APPEND, OPERATION_READ};
    struct part parts[RANKS];
    struct recorder *recorders[RANKS];
    struct recorder *alone = recorder_create(SESSIONS, 4, OPERATIONS, 1);
    struct recorder_snapshot alone_at[HALVES + 1];
    assert_non_null(alone);
    for (size_t half = 0; half <= HALVES; half++) {
        assert_true(recorder_snapshot_init(&alone_at[half], OPERATIONS));
    }
    for (unsigned r = 0; r < RANKS; r++) {
        part_init(&parts[r], r, 1, 1);
        recorders[r] = recorder_create(SESSIONS / RANKS, 4, OPERATIONS, 1);
        assert_non_null(recorders[r]);
    }
    for (size_t half = 0; half < HALVES; half++) {
        for (size_t i = 0; i < OPERATIONS * (size_t)VALUES; i++) {
            const uint64_t random = random_mix(half * OPERATIONS * VALUES + i);
            const unsigned session = (unsigned)(random_mix(random) % SESSIONS);
            const size_t operation = i % OPERATIONS;
            const int64_t ns = spread_value(operation, random);
            recorder_record(alone, session, operation, ns);
            recorder_record(recorders[session % RANKS], session / RANKS, operation, ns);
        }
        recorder_take_snapshot(alone, &alone_at[half + 1]);
        for (unsigned r = 0; r < RANKS; r++) {
            struct part *part = &parts[r];
            struct recorder_snapshot *to = half == 0 ? &part->snapshots[1] : &part->result.totals;
            recorder_take_snapshot(recorders[r], to);
            merge_keep_interval(&part->intervals,
                                &(struct interval){.start_ns = (int64_t)half * MONO_NS_PER_S,
                                                   .end_ns = (int64_t)(half + 1) * MONO_NS_PER_S,
                                                   .from = &part->snapshots[half],
                                                   .to = to});
        }
    }
    const struct operation_list operations = operation_list_all();
    struct result *whole = make_whole(RANKS, RANKS, 1);
    struct merge *merge = merge_create(whole, &operations);
    for (unsigned r = 0; r < RANKS; r++) {
        struct buffer bytes = {0};
        struct error error = {.kind = ERROR_NONE};
        pack(&parts[r], &bytes);
        assert_int_equal(merge_add(merge, r, bytes.bytes, bytes.length, &error), STATUS_OK);
        buffer_fini(&bytes);
        part_fini(&parts[r]);
        recorder_destroy(recorders[r]);
    }
    assert_true(merge_finish(merge));
    for (size_t i = 0; i < OPERATIONS; i++) {
        const struct histogram *expected = recorder_histogram(&alone_at[HALVES], i);
        assert_int_equal(expected->total, HALVES * VALUES);
        assert_memory_equal(&whole->totals.histograms[i], expected, sizeof *expected);
    }
    assert_true(recorder_histogram(&alone_at[HALVES], 2)->overflow > 0);
    for (size_t half = 0; half < HALVES; half++) {
        struct interval interval;
        merge_interval(merge, half, &interval);
        for (size_t i = 0; i < COUNT_OF(series); i++) {
            const struct recorder_latency *found = &interval.latencies[series[i]];
            const struct recorder_latency expected =
                recorder_latency_between(&alone_at[half], &alone_at[half + 1], series[i]);
            assert_int_equal(found->count, VALUES);
            assert_int_equal(expected.count, VALUES);
            assert_int_equal(histogram_bucket(found->p50_ns), histogram_bucket(expected.p50_ns));
            assert_int_equal(histogram_bucket(found->p99_ns), histogram_bucket(expected.p99_ns));
            assert_int_equal(histogram_bucket(found->max_ns), histogram_bucket(expected.max_ns));
        }
    }
    merge_destroy(merge);
    result_free(whole);
    recorder_destroy(alone);
    for (size_t half = 0; half <= HALVES; half++) {
        recorder_snapshot_fini(&alone_at[half]);
    }
}

/* If any byte is changed, the whole result is refused and nothing is added. */
TEST(test_damaged)
{
    struct part part;
    struct buffer bytes = {0};
    const struct operation_list operations = operation_list_all();
    part_init(&part, 0, 2, 10);
    add_interval(&part, 0, MONO_NS_PER_S, 10, 1000);
    pack(&part, &bytes);
    struct result *whole = make_whole(1, 2, 1);
    struct merge *merge = merge_create(whole, &operations);
    const struct result before = *whole;
    struct error error = {.kind = ERROR_NONE};
    for (size_t i = 0; i < bytes.length; i++) {
        bytes.bytes[i] ^= 0x10;
        assert_int_equal(merge_add(merge, 0, bytes.bytes, bytes.length, &error), STATUS_REJECTED);
        bytes.bytes[i] ^= 0x10;
    }
    assert_memory_equal(&before, whole, sizeof before);
    assert_false(whole->ranks[0].is_known);
    assert_int_equal(merge_interval_count(merge), 0);
    assert_int_equal(merge_add(merge, 0, bytes.bytes, bytes.length, &error), STATUS_OK);
    merge_destroy(merge);
    result_free(whole);
    buffer_fini(&bytes);
    part_fini(&part);
}

/* A message that is cut off at any place, or that is one byte too long, is refused. */
TEST(test_not_whole)
{
    struct part part;
    struct buffer bytes = {0};
    const struct operation_list operations = operation_list_all();
    part_init(&part, 0, 2, 10);
    add_interval(&part, 0, MONO_NS_PER_S, 10, 1000);
    add_sample(&part, 0, MONO_NS_PER_S, 15);
    pack(&part, &bytes);
    for (size_t length = 0; length <= bytes.length + 1; length++) {
        struct result *whole = make_whole(1, 2, 1);
        struct merge *merge = merge_create(whole, &operations);
        struct error error = {.kind = ERROR_NONE};
        char *copy = malloc(length + 1);
        memcpy(copy, bytes.bytes, length < bytes.length ? length : bytes.length);
        copy[length] = 1;
        if (length > bytes.length) {
            copy[bytes.length] = 1;
        }
        const struct result before = *whole;
        const enum status status = merge_add(merge, 0, copy, length, &error);
        assert_int_equal(status, length == bytes.length ? STATUS_OK : STATUS_REJECTED);
        assert_int_equal(error_is_set(&error), length != bytes.length);
        if (status == STATUS_REJECTED) {
            assert_memory_equal(&before, whole, sizeof before);
        }
        free(copy);
        merge_destroy(merge);
        result_free(whole);
    }
    buffer_fini(&bytes);
    part_fini(&part);
}

/* The sums of metrics are those of all ranks; ranks with different metrics are refused. */
TEST(test_metrics)
{
    static struct script_metric metrics[] = {
        {"wait", "ms", SCRIPT_TREND}, {"seen", "", SCRIPT_COUNT}, {"depth", "", SCRIPT_GAUGE}};
    static const struct script script = {.metric_count = COUNT_OF(metrics), .metrics = metrics};
    static const struct script fewer = {.metric_count = 2, .metrics = metrics};
    const struct operation_list operations = operation_list_all();
    struct result *whole = make_whole(3, 3, 1);
    assert_true(result_allocate_metrics(whole, &script));
    struct merge *merge = merge_create(whole, &operations);
    struct error error = {.kind = ERROR_NONE};
    for (unsigned r = 0; r < 3; r++) {
        struct part part;
        struct buffer bytes = {0};
        const struct script *own = r < 2 ? &script : &fewer;
        struct metric_store *store = metric_store_create(own, 1, 1);
        part_init(&part, r, 1, 10);
        assert_true(result_allocate_metrics(&part.result, own));
        for (unsigned i = 1; i <= 10; i++) {
            metric_store_add(store, 0, 0, 10 * r + i);
            metric_store_add(store, 0, 1, 2);
            if (r < 2) {
                metric_store_add(store, 0, 2, 10 * r + i);
            }
        }
        metric_store_read(store, part.result.metrics, 0);
        pack(&part, &bytes);
        assert_int_equal(merge_add(merge, r, bytes.bytes, bytes.length, &error),
                         r < 2 ? STATUS_OK : STATUS_REJECTED);
        metric_store_destroy(store);
        metric_sums_destroy(part.result.metrics, part.result.metric_count);
        buffer_fini(&bytes);
        part_fini(&part);
    }
    const struct metric_sum *wait = &whole->metrics[0];
    assert_int_equal(wait->count, 20);
    assert_true(wait->sum == 210 && wait->min == 1 && wait->max == 20);
    assert_true(metric_quantile(wait, 0.5) == 10 && metric_quantile(wait, 0.95) == 19);
    assert_true(whole->metrics[1].sum == 40);
    assert_true(whole->metrics[2].last == 20 && whole->metrics[2].min == 1);
    merge_destroy(merge);
    result_free(whole);
}

/* Merges the results of a large simulated fleet, and prints the time and memory that rank 0
 * needs. */
TEST(test_fleet)
{
    const struct operation_list operations = operation_list_all();
    struct result *whole = make_whole(FLEET_RANKS, FLEET_RANKS * FLEET_SESSIONS, 1);
    struct merge *merge = merge_create(whole, &operations);
    int64_t merge_ns = 0;
    for (unsigned r = 0; r < FLEET_RANKS; r++) {
        struct part part;
        struct buffer bytes = {0};
        struct error error = {.kind = ERROR_NONE};
        part_init(&part, r * FLEET_SESSIONS, FLEET_SESSIONS, 10);
        for (int i = 0; i < 2000; i++) {
            histogram_record(&part.result.totals.histograms[OPERATION_APPEND],
                             (i * 7919) % 100000000 + 50000);
            histogram_record(&part.snapshots[0].histograms[OPERATION_READ], 77);
        }
        for (int second = 1; second <= SECONDS; second++) {
            add_interval(&part, (second - 1) * MONO_NS_PER_S, second * MONO_NS_PER_S, 100,
                         second * 100000);
            add_sample(&part, (second - 1) * MONO_NS_PER_S, second * MONO_NS_PER_S, 1);
        }
        pack(&part, &bytes);
        part_fini(&part);
        const int64_t start_ns = mono_now_ns();
        assert_int_equal(merge_add(merge, r, bytes.bytes, bytes.length, &error), STATUS_OK);
        merge_ns += mono_now_ns() - start_ns;
        buffer_fini(&bytes);
    }
    const int64_t start_ns = mono_now_ns();
    assert_true(merge_finish(merge));
    fairness_compute(&whole->fairness, whole->session_list, whole->session_count);
    merge_ns += mono_now_ns() - start_ns;
    assert_int_equal(whole->rows.acknowledged, FLEET_RANKS * FLEET_SESSIONS * UINT64_C(10));
    assert_int_equal(whole->session_list[whole->session_count - 1].index, whole->session_count - 1);
    assert_int_equal(whole->totals.histograms[OPERATION_APPEND].total, FLEET_RANKS * 2000);
    assert_int_equal(merge_interval_count(merge), SECONDS);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%d ranks of %d sessions: merged in %.2f s, %ld MiB\n", FLEET_RANKS, FLEET_SESSIONS,
           (double)merge_ns / 1e9, usage.ru_maxrss / 1024);
    if (FLEET_RANKS == 1000) {
        assert_true(usage.ru_maxrss <= 1 << 20); /* KiB */
    }
    merge_destroy(merge);
    result_free(whole);
}

/* If the end of the search shortened a hold at one rank, the short hold does not raise the rate. */
TEST(test_level)
{
    const struct {
        uint64_t rows;
        int64_t hold_ns;
    } ranks[] = {{5000, MONO_NS_PER_S}, {1000, MONO_NS_PER_S / 500}, {0, 0}};
    struct search search = {.levels = NULL};
    struct level *const whole = search_add_level(&search);
    struct level_sum sum = {.level = whole};
    const struct operation_list operations = {.count = OPERATIONS};
    const struct histogram none = {.total = 0};
    for (size_t i = 0; i < COUNT_OF(ranks); i++) {
        struct buffer bytes = {0};
        struct search own = {.levels = NULL};
        struct level *const level = search_add_level(&own);
        level->rows = ranks[i].rows;
        level->hold_ns = ranks[i].hold_ns;
        assert_true(merge_pack_level(&bytes, level, &none, &none, 0));
        assert_true(merge_add_level(&sum, "one", bytes.bytes, bytes.length, &operations, 0));
        buffer_fini(&bytes);
        search_fini(&own);
    }
    merge_finish_level(&sum);
    assert_int_equal(whole->rows, 6000);
    assert_float_equal(whole->rows_per_s, 6000, 0.001);
    search_fini(&search);
}

/* In whatever order the ranks of two machines are added, the CPU and the memory of a level are
 * those of the machine with the server, and only one of its ranks has found the server. */
TEST(test_level_of_machines)
{
    static const struct {
        char machine[2]; /* equal names are not the same string */
        struct cpu_shares cpu;
        int64_t server_bytes;
    } ranks[] = {{"a", {100, -1, 40}, -1},
                 {"a", {99, -1, 50}, -1},
                 {"b", {95, 50, 20}, 7000},
                 {"b", {94, -1, 25}, -1}};
    const struct operation_list operations = {.count = OPERATIONS};
    const struct histogram none = {.total = 0};
    for (unsigned n = 0; n < 4 * 4 * 4 * 4; n++) {
        const unsigned order[] = {n & 3, n >> 2 & 3, n >> 4 & 3, n >> 6};
        unsigned seen = 0;
        for (size_t i = 0; i < COUNT_OF(order); i++) {
            seen |= 1U << order[i];
        }
        if (seen != 15) {
            continue; /* not an order of all four */
        }
        struct search search = {.levels = NULL};
        struct level *const whole = search_add_level(&search);
        struct level_sum sum = {.level = whole};
        for (size_t i = 0; i < COUNT_OF(ranks); i++) {
            struct buffer bytes = {0};
            struct search own = {.levels = NULL};
            struct level *const level = search_add_level(&own);
            level->cpu = ranks[order[i]].cpu;
            level->server_memory_bytes = ranks[order[i]].server_bytes;
            level->client_memory_bytes = 10;
            assert_true(merge_pack_level(&bytes, level, &none, &none, 0));
            assert_true(merge_add_level(&sum, ranks[order[i]].machine, bytes.bytes, bytes.length,
                                        &operations, 0));
            buffer_fini(&bytes);
            search_fini(&own);
        }
        merge_finish_level(&sum);
        assert_float_equal(whole->cpu.host, 95, 0.001);
        assert_float_equal(whole->cpu.server, 50, 0.001);
        assert_float_equal(whole->cpu.client, 45, 0.001);
        assert_int_equal(whole->server_memory_bytes, 7000);
        assert_int_equal(whole->client_memory_bytes, 40);
        search_fini(&search);
    }
}

/* The part of a lost rank, added to the part of a rank that ran to its end. */
TEST(test_numbers_of_two_parts)
{
    struct result *all = calloc(1, sizeof *all);
    struct rank_result *part = calloc(1, sizeof *part);
    assert_true(all != NULL && part != NULL);
    all->elapsed_ns = 7;
    all->append_ns = 3;
    all->worst_lag_rows = 5;
    all->rows = (struct row_ledger){100, 90, 10, 0, 0};
    all->totals.counters[RECORDER_READS] = 8;
    all->stop_reason = STOP_INTERRUPTED;
    *part = (struct rank_result){.elapsed_ns = 5,
                                 .append_ns = 4,
                                 .worst_lag_rows = 9,
                                 .rows = {10, 7, 1, 2, 0},
                                 .stop_reason = STOP_RANK};
    part->counters[RECORDER_READS] = 4;
    result_add_part(all, part);
    assert_int_equal(all->elapsed_ns, 7);
    assert_int_equal(all->append_ns, 4);
    assert_int_equal(all->worst_lag_rows, 9);
    const struct row_ledger rows = {110, 97, 11, 2, 0};
    assert_memory_equal(&all->rows, &rows, sizeof rows);
    assert_int_equal(all->totals.counters[RECORDER_READS], 12);
    assert_int_equal(all->stop_reason, STOP_RANK);
    part->stop_reason = STOP_DROP; /* the stop reason is still that a rank was lost */
    result_add_part(all, part);
    assert_int_equal(all->stop_reason, STOP_RANK);
    all->stop_reason = STOP_DURATION;
    part->stop_reason = STOP_COMPLETED;
    result_add_part(all, part);
    assert_int_equal(all->stop_reason, STOP_DURATION);
    part->append_ns = -1; /* the value of a rank without sessions whose clock is ahead */
    result_add_part(all, part);
    assert_int_equal(all->append_ns, 4);
    free(part);
    free(all);
}
