#include "unit/unit.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "measure/recorder.h"
#include "unit/recorded.h"

enum {
    THREADS = 8,
    ROUNDS = 20000
};

struct worker {
    pthread_t thread;
    struct recorder *recorder;
    unsigned session;
};

static void *work(void *argument)
{
    const struct worker *worker = argument;
    for (unsigned i = 0; i < ROUNDS; i++) {
        recorder_add(worker->recorder, worker->session, RECORDER_ROWS_ACKNOWLEDGED, 100);
        recorder_add(worker->recorder, worker->session, RECORDER_APPENDS, 1);
        recorder_record(worker->recorder, worker->session, OPERATION_APPEND,
                        (int64_t)worker->session * ROUNDS + i);
    }
    return NULL;
}

static struct recorder_snapshot *new_snapshot(void)
{
    struct recorder_snapshot *snapshot = calloc(1, sizeof(*snapshot));
    assert_non_null(snapshot);
    assert_true(recorder_snapshot_init(snapshot, OPERATIONS));
    return snapshot;
}

/* Snapshots that are taken while the threads work must grow and be consistent. After the join the
 * sums are exact. There are fewer shards than threads, so threads share shards. */
TEST(sums_are_exact_after_the_join)
{
    struct recorder *recorder = recorder_create(8, 3, OPERATIONS, 1);
    struct recorder_snapshot *snapshot = new_snapshot();
    struct worker workers[THREADS];
    assert_non_null(recorder);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.recorder = recorder, .session = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    uint64_t before = 0;
    bool is_monotonic = true;
    for (unsigned i = 0; i < 20; i++) {
        recorder_take_snapshot(recorder, snapshot);
        is_monotonic = is_monotonic && snapshot->histograms[OPERATION_APPEND].total >= before;
        before = snapshot->histograms[OPERATION_APPEND].total;
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    assert_true(is_monotonic);
    recorder_take_snapshot(recorder, snapshot);
    const uint64_t count = (uint64_t)THREADS * ROUNDS;
    const struct histogram *histogram = &snapshot->histograms[OPERATION_APPEND];
    assert_int_equal(snapshot->counters[RECORDER_ROWS_ACKNOWLEDGED], 100 * count);
    assert_int_equal(snapshot->counters[RECORDER_APPENDS], count);
    assert_int_equal(recorder_read(recorder, RECORDER_APPENDS), count);
    assert_int_equal(histogram->total, count);
    assert_int_equal(histogram->max_ns, count - 1);
    assert_int_equal(histogram->sum_ns, count * (count - 1) / 2);
    assert_int_equal(snapshot->histograms[OPERATION_READ].total, 0);
    recorder_snapshot_fini(snapshot);
    free(snapshot);
    recorder_destroy(recorder);
}

TEST(a_snapshot_is_what_one_histogram_would_hold)
{
    struct recorder *recorder = recorder_create(70, 4, OPERATIONS, 1);
    struct recorder_snapshot *snapshot = new_snapshot();
    struct histogram *expected = calloc(1, sizeof(*expected));
    assert_non_null(recorder);
    assert_non_null(expected);
    const int64_t values[] = {-7, 0, 127, 128, 5000, HISTOGRAM_LIMIT_NS - 1, HISTOGRAM_LIMIT_NS};
    for (unsigned i = 0; i < 70; i++) {
        recorder_record(recorder, i, OPERATION_CONNECT, values[i % 7]);
        histogram_record(expected, values[i % 7]);
    }
    recorder_take_snapshot(recorder, snapshot);
    assert_memory_equal(&snapshot->histograms[OPERATION_CONNECT], expected, sizeof(*expected));
    for (unsigned i = 0; i < 3; i++) { /* the sum stops at UINT64_MAX */
        recorder_record(recorder, 1, OPERATION_CONNECT, INT64_MAX);
        histogram_record(expected, INT64_MAX);
    }
    recorder_take_snapshot(recorder, snapshot);
    assert_memory_equal(&snapshot->histograms[OPERATION_CONNECT], expected, sizeof(*expected));
    free(expected);
    recorder_snapshot_fini(snapshot);
    free(snapshot);
    recorder_destroy(recorder);
}

TEST(the_maximum_is_not_the_last)
{
    struct recorder *recorder = recorder_create(1, 1, OPERATIONS, 1);
    struct recorder_snapshot *snapshot = new_snapshot();
    assert_non_null(recorder);
    recorder_record(recorder, 0, OPERATION_READ, 200);
    recorder_record(recorder, 0, OPERATION_READ, 501);
    recorder_record(recorder, 0, OPERATION_READ, 300);
    recorder_take_snapshot(recorder, snapshot);
    assert_int_equal(snapshot->histograms[OPERATION_READ].max_ns, 501);
    assert_int_equal(snapshot->histograms[OPERATION_READ].sum_ns, 1001);
    recorder_snapshot_fini(snapshot);
    free(snapshot);
    recorder_destroy(recorder);
}

TEST(counters_do_not_mix)
{
    struct recorder *recorder = recorder_create(RECORDER_COUNTERS + 1, 2, OPERATIONS, 1);
    struct recorder_snapshot *snapshot = new_snapshot();
    assert_non_null(recorder);
    for (unsigned i = 0; i < RECORDER_COUNTERS; i++) {
        recorder_add(recorder, i, (enum recorder_counter)i, i + 1);
        recorder_add(recorder, i + 1, (enum recorder_counter)i, 1000);
    }
    recorder_take_snapshot(recorder, snapshot);
    for (unsigned i = 0; i < RECORDER_COUNTERS; i++) {
        assert_int_equal(snapshot->counters[i], i + 1001);
        assert_int_equal(recorder_read(recorder, (enum recorder_counter)i), i + 1001);
    }
    recorder_snapshot_fini(snapshot);
    free(snapshot);
    recorder_destroy(recorder);
}

/* Each operation has counts of its own, in every shard. */
TEST(operations_are_counted)
{
    enum {
        COUNTED = OPERATIONS + 2
    };
    struct recorder *recorder = recorder_create(2, 2, COUNTED, 1);
    struct recorder_snapshot snapshot;
    assert_non_null(recorder);
    assert_true(recorder_snapshot_init(&snapshot, COUNTED));
    for (unsigned i = 0; i < OPERATION_COUNTS; i++) {
        recorder_count(recorder, 0, OPERATIONS, (enum operation_count)i, i + 1);
        recorder_count(recorder, 1, OPERATIONS, (enum operation_count)i, 100);
        recorder_count(recorder, 1, OPERATIONS + 1, (enum operation_count)i, 1000 * (i + 1));
    }
    recorder_record(recorder, 0, OPERATIONS, 5);
    for (unsigned again = 0; again < 2; again++) {
        recorder_take_snapshot(recorder, &snapshot);
        for (unsigned i = 0; i < OPERATION_COUNTS; i++) {
            const enum operation_count count = (enum operation_count)i;
            assert_int_equal(recorder_count_of(&snapshot, OPERATION_APPEND, count), 0);
            assert_int_equal(recorder_count_of(&snapshot, OPERATIONS, count), i + 101);
            assert_int_equal(recorder_count_of(&snapshot, OPERATIONS + 1, count), 1000 * (i + 1));
            assert_int_equal(recorder_count_of(&snapshot, COUNTED, count), 0);
        }
        assert_int_equal(recorder_histogram(&snapshot, OPERATIONS)->total, 1);
        assert_int_equal(recorder_histogram(&snapshot, OPERATIONS + 1)->total, 0);
    }
    recorder_snapshot_fini(&snapshot);
    recorder_destroy(recorder);
}

/* The work of a session at a host stays counted for that host after the session moves; the total
 * covers all hosts. */
TEST(each_host_has_its_own_counts)
{
    struct recorder *recorder = recorder_create(3, 8, OPERATIONS, 3);
    struct recorder_snapshot *snapshot = new_snapshot();
    struct intervals intervals;
    struct interval interval;
    assert_non_null(recorder);
    assert_true(recorder_snapshot_add_hosts(snapshot, 3));
    assert_true(intervals_init(&intervals, recorder, mono_now_ns() - 1000));
    recorder_set_host(recorder, 1, 1);
    recorder_add(recorder, 0, RECORDER_ROWS_ACKNOWLEDGED, 10);
    recorder_add(recorder, 1, RECORDER_ROWS_ACKNOWLEDGED, 200);
    recorder_record(recorder, 1, OPERATION_APPEND, 1000);
    assert_true(intervals_take(&intervals, &interval));
    assert_int_equal(interval.hosts, 3);
    assert_int_equal(interval.hosts_counters[0][RECORDER_ROWS_ACKNOWLEDGED], 10);
    assert_int_equal(interval.hosts_counters[1][RECORDER_ROWS_ACKNOWLEDGED], 200);
    assert_int_equal(interval.hosts_counters[2][RECORDER_ROWS_ACKNOWLEDGED], 0);
    recorder_set_host(recorder, 1, 2);
    recorder_add(recorder, 1, RECORDER_ROWS_ACKNOWLEDGED, 3000);
    recorder_record(recorder, 1, OPERATION_APPEND, 5000000);
    recorder_record(recorder, 2, OPERATION_APPEND, 10);
    recorder_take_snapshot(recorder, snapshot);
    const uint64_t rows[] = {10, 200, 3000}, appends[] = {1, 1, 1};
    for (unsigned host = 0; host < 3; host++) {
        assert_int_equal(snapshot->hosts_counters[host][RECORDER_ROWS_ACKNOWLEDGED], rows[host]);
        assert_int_equal(recorder_latency_at(recorder, host, OPERATION_APPEND).count,
                         appends[host]);
    }
    assert_int_equal(snapshot->counters[RECORDER_ROWS_ACKNOWLEDGED], 3210);
    assert_int_equal(recorder_read(recorder, RECORDER_ROWS_ACKNOWLEDGED), 3210);
    uint64_t counters[RECORDER_COUNTERS];
    recorder_read_all(recorder, counters);
    assert_int_equal(counters[RECORDER_ROWS_ACKNOWLEDGED], 3210);
    assert_int_equal(snapshot->histograms[OPERATION_APPEND].total, 3);
    assert_int_equal(snapshot->histograms[OPERATION_APPEND].max_ns, 5000000);
    const int64_t p99_ns = recorder_latency_at(recorder, 2, OPERATION_APPEND).p99_ns;
    assert_true(p99_ns >= 5000000 && p99_ns < 5100000);
    assert_true(recorder_latency_at(recorder, 1, OPERATION_APPEND).max_ns < 1100);
    mono_sleep(1000);
    assert_true(intervals_take(&intervals, &interval));
    assert_int_equal(interval.hosts_counters[1][RECORDER_ROWS_ACKNOWLEDGED], 0);
    assert_int_equal(interval.hosts_counters[2][RECORDER_ROWS_ACKNOWLEDGED], 3000);
    intervals_fini(&intervals);
    recorder_snapshot_fini(snapshot);
    free(snapshot);
    recorder_destroy(recorder);
}

TEST(snapshots_carry_their_time)
{
    struct recorder *recorder = recorder_create(8, 1, OPERATIONS, 1);
    struct recorder_snapshot *snapshot = new_snapshot();
    assert_non_null(recorder);
    const int64_t before_ns = mono_now_ns();
    recorder_take_snapshot(recorder, snapshot);
    assert_true(snapshot->taken_ns >= before_ns);
    assert_true(snapshot->taken_ns <= mono_now_ns());
    recorder_snapshot_fini(snapshot);
    free(snapshot);
    recorder_destroy(recorder);
}

TEST(any_number_of_shards_works)
{
    for (unsigned shards = 0; shards < 10; shards++) {
        struct recorder *recorder = recorder_create(1000, shards, OPERATIONS, 1);
        assert_non_null(recorder);
        recorder_add(recorder, 999, RECORDER_READS, 2);
        recorder_add(recorder, 0, RECORDER_READS, 3);
        assert_int_equal(recorder_read(recorder, RECORDER_READS), 5);
        recorder_destroy(recorder);
    }
    recorder_destroy(NULL);
}

TEST(stalled_sessions_are_counted)
{
    uint64_t reading;
    struct recorder *recorder = recorder_create(8, 2, OPERATIONS, 1);
    assert_non_null(recorder);
    assert_int_equal(recorder_count_stalled(recorder, 100, &reading), 0);
    for (unsigned i = 0; i < 5; i++) {
        recorder_set_working(recorder, i, i < 4 ? 100 : 150);
    }
    /* no session has stalled since 99 */
    assert_int_equal(recorder_count_stalled(recorder, 99, &reading), 0);
    assert_int_equal(recorder_count_stalled(recorder, 100, &reading), 4);
    assert_int_equal(recorder_count_stalled(recorder, 150, &reading), 5);
    recorder_note_progress(recorder, 1, 160);
    recorder_note_progress(recorder, 2, 149);
    assert_int_equal(recorder_count_stalled(recorder, 100, &reading), 2);
    assert_int_equal(recorder_count_stalled(recorder, 150, &reading), 4);
    recorder_set_working(recorder, 0, 0);
    recorder_set_working(recorder, 1, 0);
    assert_int_equal(recorder_count_stalled(recorder, 150, &reading), 3);
    assert_int_equal(recorder_count_stalled(recorder, 200, &reading), 3);
    assert_int_equal(reading, 0);
    recorder_note_call(recorder, 2, OPERATION_READ);
    recorder_note_call(recorder, 0, OPERATION_APPEND);
    recorder_note_call(recorder, 1, OPERATION_READ); /* this session has ended its work */
    assert_int_equal(recorder_count_stalled(recorder, 200, &reading), 3);
    assert_int_equal(reading, 1);
    recorder_note_call(recorder, 2, RECORDER_NO_CALL);
    recorder_count_stalled(recorder, 200, &reading);
    assert_int_equal(reading, 0);
    recorder_destroy(recorder);
}

enum {
    SESSIONS = 3
};

static struct recorder *counted;
static struct intervals intervals;

static int set_up_intervals(void **state)
{
    (void)state;
    counted = recorder_create(SESSIONS, 2, OPERATIONS, 1);
    return counted != NULL && intervals_init(&intervals, counted, mono_now_ns()) ? 0 : 1;
}

static int tear_down_intervals(void **state)
{
    (void)state;
    intervals_fini(&intervals);
    recorder_destroy(counted);
    return 0;
}

static struct interval take(void)
{
    struct interval interval;
    mono_sleep(MONO_NS_PER_MS);
    assert_true(intervals_take(&intervals, &interval));
    mono_sleep(MONO_NS_PER_MS);
    return interval;
}

/* sessions_alive counts the sessions that are connected now, so that the dip of a restart shows. */
TEST_BETWEEN(test_alive, set_up_intervals, tear_down_intervals)
{
    recorder_add(counted, 0, RECORDER_CONNECTIONS_OPENED, 5);
    assert_int_equal(take().sessions_alive, 5);
    recorder_add(counted, 0, RECORDER_CONNECTIONS_CLOSED, 4);
    assert_int_equal(take().sessions_alive, 1);
    recorder_add(counted, 1, RECORDER_CONNECTIONS_OPENED, 3);
    assert_int_equal(take().sessions_alive, 4);
    recorder_add(counted, 1, RECORDER_CONNECTIONS_CLOSED, 4);
    const struct interval last = take();
    assert_int_equal(last.sessions_alive, 0);
    assert_int_equal(last.counters[RECORDER_CONNECTIONS_CLOSED], 4);
}

TEST_BETWEEN(test_without_progress, set_up_intervals, tear_down_intervals)
{
    take();
    for (unsigned i = 0; i < SESSIONS; i++) {
        recorder_set_working(counted, i, mono_now_ns());
    }
    /* the sessions have just begun to work */
    assert_int_equal(take().sessions_without_progress, 0);
    recorder_note_progress(counted, 0, mono_now_ns());
    assert_int_equal(take().sessions_without_progress, SESSIONS - 1);
    recorder_note_progress(counted, 1, mono_now_ns());
    recorder_set_working(counted, 0, 0); /* a session that has finished is not stalled */
    assert_int_equal(take().sessions_without_progress, SESSIONS - 2);
    assert_int_equal(take().sessions_without_progress, SESSIONS - 1);
    recorder_note_call(counted, 1, OPERATION_READ); /* a session in a long read is not stalled */
    const struct interval interval = take();
    assert_int_equal(interval.sessions_working, SESSIONS - 1);
    assert_int_equal(interval.sessions_reading, 1);
    assert_int_equal(interval.sessions_without_progress, SESSIONS - 2);
    recorder_set_working(counted, 1, 0);
    recorder_set_working(counted, 2, 0);
    assert_int_equal(take().sessions_without_progress, 0);
}

/* The current call of each session, and the counters of the warm-up, which are separate. */
TEST(calls_and_the_warm_up)
{
    struct recorder *recorder = recorder_create(3, 4, OPERATIONS, 1);
    struct recorder_snapshot *snapshot = new_snapshot();
    struct recorder_call calls[3];
    uint64_t counters[RECORDER_COUNTERS];
    assert_non_null(recorder);
    assert_int_equal(recorder_sessions(recorder), 3);
    assert_int_equal(recorder_operations(recorder), OPERATIONS);
    recorder_note_call(recorder, 0, OPERATION_READ);
    recorder_note_call(recorder, 2, OPERATION_CONNECT);
    recorder_note_server_session(recorder, 2, 77);
    recorder_read_calls(recorder, calls);
    assert_int_equal(calls[0].operation, OPERATION_READ);
    assert_int_equal(calls[0].server_session, 0);
    assert_true(calls[1].operation == RECORDER_NO_CALL);
    assert_int_equal(calls[2].operation, OPERATION_CONNECT);
    assert_int_equal(calls[2].server_session, 77);
    for (unsigned i = 0; i < 3; i++) {
        recorder_add(recorder, i, RECORDER_READS, 10 * i + 1);
        recorder_add_warm_up(recorder, i, RECORDER_READS, 100 * i + 2);
        recorder_add_warm_up(recorder, i, RECORDER_APPENDS, 7);
    }
    for (unsigned again = 0; again < 2; again++) { /* a snapshot replaces the one before */
        recorder_take_snapshot(recorder, snapshot);
        assert_int_equal(snapshot->counters[RECORDER_READS], 33);
        assert_int_equal(snapshot->counters[RECORDER_APPENDS], 0);
        assert_int_equal(snapshot->warm_up[RECORDER_READS], 306);
        assert_int_equal(snapshot->warm_up[RECORDER_APPENDS], 21);
        memset(counters, 0xff, sizeof counters);
        recorder_read_all(recorder, counters);
        for (unsigned i = 0; i < RECORDER_COUNTERS; i++) {
            assert_int_equal(counters[i], i == RECORDER_READS ? 33 : 0);
        }
    }
    recorder_snapshot_fini(snapshot);
    assert_null(snapshot->histograms);
    free(snapshot);
    recorder_destroy(recorder);
}

/* Each session has one shard. Several sessions share a shard if there are fewer shards than
 * sessions. */
TEST(each_session_has_a_shard)
{
    for (unsigned shards = 1; shards <= 8; shards++) {
        struct recorder *recorder = recorder_create(9, shards, OPERATIONS, 1);
        assert_non_null(recorder);
        for (unsigned i = 0; i < 9; i++) {
            recorder_record_times(recorder, i, OPERATION_APPEND, 100, i);
        }
        assert_int_equal(recorder_latency_at(recorder, 0, OPERATION_APPEND).count, 36);
        assert_int_equal(recorder_latency_at(recorder, 0, OPERATION_READ).count, 0);
        recorder_destroy(recorder);
    }
}

/* An interval has the counters, latencies and moments since the interval before it. */
TEST_BETWEEN(test_figures_of_an_interval, set_up_intervals, tear_down_intervals)
{
    const int64_t begin_ns = intervals.run_start_ns;
    recorder_add(counted, 0, RECORDER_READS, 5);
    recorder_record(counted, 0, OPERATION_READ, 100);
    recorder_record(counted, 0, OPERATION_READ, 90);
    const struct interval first = take();
    assert_int_equal(first.start_ns, 0);
    assert_int_equal(first.end_ns, intervals_total(&intervals)->taken_ns - begin_ns);
    assert_int_equal(first.counters[RECORDER_READS], 5);
    assert_int_equal(first.latencies[OPERATION_READ].count, 2);
    assert_int_equal(first.latencies[OPERATION_READ].max_ns, 100);
    assert_int_equal(first.latencies[OPERATION_READ].p50_ns, 90);
    assert_int_equal(first.hosts, 0); /* one host has no counters of its own */
    assert_null(first.hosts_counters);
    recorder_add(counted, 1, RECORDER_READS, 3);
    recorder_record(counted, 1, OPERATION_READ, 70);
    const struct interval second = take();
    assert_int_equal(second.start_ns, first.end_ns);
    assert_true(second.end_ns > second.start_ns);
    assert_int_equal(second.counters[RECORDER_READS], 3);
    assert_int_equal(second.latencies[OPERATION_READ].count, 1);
    assert_int_equal(second.latencies[OPERATION_READ].max_ns, 70);
    assert_int_equal(intervals_total(&intervals)->counters[RECORDER_READS], 8);
    struct interval none;
    intervals_begin_at(&intervals, begin_ns);
    assert_int_equal(intervals.snapshots[1].taken_ns, begin_ns);
    intervals.snapshots[1 - intervals.later].taken_ns = INT64_MAX; /* no time has passed */
    assert_false(intervals_take(&intervals, &none));
}
