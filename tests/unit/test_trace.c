/* How the kernel's records are processed: classes of files, sums, and rows of io.csv. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

#include "base/mono.h"
#include "base/text.h"
#include "trace/trace.h"

static struct io_event call(enum io_mode mode, uint64_t total, uint64_t queue, uint64_t device)
{
    return (struct io_event){.start_ns = 1000,
                             .total_ns = total,
                             .queue_ns = queue,
                             .device_ns = device,
                             .bytes = 8192,
                             .pid = 7,
                             .tid = 8,
                             .kind = IO_OPERATION,
                             .mode = (unsigned char)mode};
}

static struct trace_sum *sum_of(enum io_trace level)
{
    struct trace_sum *sum = calloc(1, sizeof *sum);
    assert_non_null(sum);
    sum->level = level;
    sum->done_ns = INT64_MAX;
    return sum;
}

TEST(test_files)
{
    static const struct {
        char names[IO_NAMES][IO_NAME_BYTES];
        enum trace_file file;
    } known[] = {
        {{"000000010000000000000001", "pg_wal", "data", "postgresql"}, TRACE_WAL},
        {{"xlogtemp.4711", "pg_wal", "data"}, TRACE_OTHER},
        {{"16385", "16384", "base", "data"}, TRACE_TABLE},
        {{"16385_fsm", "16384", "PG_15_202209061", "space"}, TRACE_TABLE},
        {{"pgsql_tmp4711.0", "pgsql_tmp", "base", "data"}, TRACE_TEMPORARY},
        {{"1262", "global", "data"}, TRACE_TABLE},
        {{"pg_control", "global", "data"}, TRACE_OTHER},
        {{"0000", "pg_xact", "data"}, TRACE_OTHER},
        {{"ib_logfile0", "data", "mysql", "lib"}, TRACE_WAL},
        {{"syslog_table.ibd", "append", "data"}, TRACE_TABLE},
        {{"t.MYD", "append", "data"}, TRACE_TABLE},
        {{"t.MAI", "append", "data"}, TRACE_TABLE},
        {{"ibdata1", "data", "mysql"}, TRACE_TABLE},
        {{"ibtmp1", "data", "mysql"}, TRACE_TEMPORARY},
        {{"#sql-temptable-1.MAI", "tmp", "/"}, TRACE_TEMPORARY},
        {{"mysql-bin.000001", "data"}, TRACE_WAL},
        {{"binlog.000042", "data"}, TRACE_WAL},
        {{"append.db-wal", "run", "/"}, TRACE_WAL},
        {{"append.db-journal", "run", "/"}, TRACE_WAL},
        {{"append.db-shm", "run", "/"}, TRACE_OTHER},
        {{"append.db", "run", "/"}, TRACE_TABLE},
        {{"postgresql.conf", "data", "/"}, TRACE_OTHER},
        /* on a file system that has only the logs, their folder is the root folder, which has no
         * name */
        {{"00000001000000A90000003F", "/"}, TRACE_WAL},
        {{"00000001000000A90000003F.backup", "/"}, TRACE_OTHER},
        {{"xlogtemp.4711", "/"}, TRACE_OTHER},
        {{"#ib_redo12", "/"}, TRACE_WAL},
        {{"#ib_redo12", "#innodb_redo", "data", "/"}, TRACE_WAL},
        {{"ib_logfile0", "/"}, TRACE_WAL},
        {{"append.db-wal", "/"}, TRACE_WAL},
        {{"append.db-journal", "/"}, TRACE_WAL},
        {{"_00001.wal", "/"}, TRACE_WAL},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (trace_classify(known[i].names, false) != known[i].file) {
            fail_msg("%s in %s is %s", known[i].names[0], known[i].names[1],
                     trace_file_names[trace_classify(known[i].names, false)]);
        }
    }
    static const char names[IO_NAMES][IO_NAME_BYTES] = {"mine", "run", "/"};
    assert_int_equal(trace_classify(names, false), TRACE_OTHER);
    assert_int_equal(trace_classify(names, true), TRACE_TABLE);
}

TEST(test_sums)
{
    struct trace_sum *sum = sum_of(IO_TRACE_FULL);
    struct io_event event = call(IO_SYNC, 100, 20, 50);
    trace_add(sum, &event, TRACE_WAL);
    event = call(IO_SYNC, 300, 0, 0);
    event.is_open = 1;
    trace_add(sum, &event, TRACE_TABLE);
    event = call(IO_WRITE, 10, 0, 0);
    trace_add(sum, &event, TRACE_WAL);
    /* a request, whatever its kind, does not change the figures of calls */
    event = call(IO_WRITE, 1000, 400, 600);
    event.kind = IO_REQUEST;
    trace_add(sum, &event, TRACE_WAL);
    event.source = IO_WRITEBACK;
    trace_add(sum, &event, TRACE_TABLE);
    event.source = IO_JOURNAL;
    trace_add(sum, &event, TRACE_UNKNOWN);
    assert_int_equal(sum->events, 6);
    assert_int_equal(sum->open, 1);
    const struct trace_times *syncs = &sum->modes[IO_SYNC];
    assert_int_equal(syncs->layers[TRACE_TOTAL].total, 2);
    assert_int_equal(syncs->layers[TRACE_TOTAL].sum_ns, 400);
    assert_int_equal(syncs->layers[TRACE_VFS].sum_ns, 30 + 300);
    assert_int_equal(syncs->layers[TRACE_QUEUE].sum_ns, 20);
    assert_int_equal(syncs->layers[TRACE_DEVICE].sum_ns, 50);
    assert_int_equal(syncs->layers[TRACE_TOTAL].max_ns, 300);
    assert_int_equal(sum->syncs[TRACE_WAL].layers[TRACE_TOTAL].total, 1);
    assert_int_equal(sum->syncs[TRACE_TABLE].layers[TRACE_VFS].sum_ns, 300);
    assert_int_equal(sum->modes[IO_WRITE].layers[TRACE_TOTAL].total, 1);
    for (int source = 0; source < IO_SOURCES; source++) {
        assert_int_equal(sum->requests[source].count, 1);
        assert_int_equal(sum->requests[source].bytes, 8192);
    }
    free(sum);
}

/* At the level "requests" the figures are figures of requests, and no calls are counted. */
TEST(test_requests)
{
    struct trace_sum *sum = sum_of(IO_TRACE_REQUESTS);
    struct io_event event = call(IO_WRITE, 1000, 400, 600);
    event.kind = IO_REQUEST;
    trace_add(sum, &event, TRACE_WAL);
    event.source = IO_WRITEBACK;
    trace_add(sum, &event, TRACE_WAL);
    assert_int_equal(sum->modes[IO_WRITE].layers[TRACE_QUEUE].sum_ns, 400);
    assert_int_equal(sum->modes[IO_WRITE].layers[TRACE_TOTAL].total, 1);
    assert_int_equal(sum->modes[IO_WRITE].layers[TRACE_VFS].total, 0);
    free(sum);
}

TEST(test_histograms)
{
    char name[TRACE_NAME_BYTES], all[1000] = "";
    size_t count = 0;
    for (; trace_histogram(NULL, IO_TRACE_FULL, count, name) != NULL; count++) {
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s ", name);
    }
    assert_int_equal(count, TRACE_HISTOGRAMS);
    assert_non_null(strstr(all, "io.fsync.vfs "));
    for (count = 0; trace_histogram(NULL, IO_TRACE_REQUESTS, count, name) != NULL; count++) {
        assert_null(strstr(name, "vfs"));
    }
    assert_int_equal(count, 9);
    assert_string_equal(name, "request.flush.device");
    assert_null(trace_histogram(NULL, IO_TRACE_OFF, 0, name));
}

TEST(test_rows)
{
    char row[TRACE_ROW_BYTES];
    struct io_event event = call(IO_SYNC, 100, 20, 50);
    size_t length = trace_write_row(row, "", &event, TRACE_WAL, 400);
    row[length] = '\0';
    assert_string_equal(row, "600,operation,S,8192,100,30,20,50,7,8,wal,own,0\r\n");
    event.kind = IO_REQUEST;
    event.mode = IO_READ;
    event.source = IO_WRITEBACK;
    event.queue_ns = 50;
    length = trace_write_row(row, "", &event, TRACE_UNKNOWN, 1500);
    row[length] = '\0';
    assert_string_equal(row, "-500,request,R,8192,100,0,50,50,7,8,unknown,writeback,0\r\n");
    /* this row is the longest possible */
    memset(&event, 0xff, sizeof event);
    event.kind = IO_OPERATION;
    event.mode = IO_WRITE;
    event.source = IO_WRITEBACK;
    char place[TRACE_PLACE_BYTES];
    memset(place, 'm', sizeof place);
    place[sizeof place - 1] = '\0';
    assert_true(trace_write_row(row, place, &event, TRACE_TEMPORARY, INT64_MAX) < sizeof row);
    for (int has_place = 0; has_place < 2; has_place++) {
        const char *const of = has_place ? "12,db2," : "";
        size_t columns = 1, cells = 1;
        length = trace_write_header(row, of);
        assert_int_equal(strncmp(row, "rank,machine,time_ns,", 21) == 0, has_place);
        for (size_t i = 0; i < length; i++) {
            columns += row[i] == ',';
        }
        length = trace_write_row(row, of, &event, TRACE_WAL, 0);
        assert_int_equal(strncmp(row, "12,db2,", 7) == 0, has_place);
        for (size_t i = 0; i < length; i++) {
            cells += row[i] == ',';
        }
        assert_int_equal(columns, cells);
    }
}

/* If the run has more seconds than there are slots, each slot becomes longer, and no time is
 * lost. */
TEST(test_slots)
{
    struct trace_sum *sum = sum_of(IO_TRACE_FULL);
    sum->start_ns = 5000;
    const int64_t count = 3 * TRACE_SLOTS;
    for (int64_t second = 0; second < count; second++) {
        struct io_event event = call(IO_SYNC, 100, 20, 50);
        event.start_ns = (uint64_t)(sum->start_ns + second * MONO_NS_PER_S);
        trace_add(sum, &event, TRACE_WAL);
    }
    assert_int_equal(sum->slot_ns, 4 * MONO_NS_PER_S);
    assert_int_equal(sum->slot_count, count / 4);
    for (size_t i = 0; i < sum->slot_count; i++) {
        assert_int_equal(sum->slots[i][TRACE_TOTAL], 400);
        assert_int_equal(sum->slots[i][TRACE_VFS], 120);
        assert_int_equal(sum->slots[i][TRACE_QUEUE], 80);
        assert_int_equal(sum->slots[i][TRACE_DEVICE], 200);
    }
    free(sum);
}

/* The traces of two machines are joined: counts are added, the percentile covers all calls, and the
 * slots are as long as those of the longer trace. */
TEST(test_machines)
{
    enum {
        SUMS = 3
    };
    struct trace_sum *sums[SUMS] = {sum_of(IO_TRACE_FULL), sum_of(IO_TRACE_FULL),
                                    sum_of(IO_TRACE_OFF)};
    struct trace_sum *all = sum_of(IO_TRACE_OFF), *one = sum_of(IO_TRACE_FULL);
    all->done_ns = 0;
    one->slot_ns = 2 * MONO_NS_PER_S;
    for (uint64_t i = 0; i < 300; i++) {
        const uint64_t second = i < 290 ? i % 3 : TRACE_SLOTS;
        struct io_event event = call(i % 3 == 0 ? IO_WRITE : IO_SYNC, 1000 + 977 * i, 500, i);
        event.start_ns = second * (uint64_t)MONO_NS_PER_S;
        trace_add(sums[i < 290 ? 0 : 1], &event, i % 2 == 0 ? TRACE_WAL : TRACE_TABLE);
        trace_add(one, &event, i % 2 == 0 ? TRACE_WAL : TRACE_TABLE);
    }
    for (size_t i = 0; i < SUMS; i++) {
        sums[i]->gate_ns = 50 - (int64_t)i;
        sums[i]->done_ns = 7000 + (int64_t)i;
        sums[i]->lost = 3;
        sums[i]->cpu_s = 0.5;
        sums[i]->kernel_s = i == 1 ? -1 : 2;
        trace_sum_add(all, sums[i]);
        assert_true(all->kernel_s == (i == 0 ? 2 : -1));
    }
    assert_int_equal(sums[0]->slot_ns, MONO_NS_PER_S);
    assert_int_equal(all->slot_ns, 2 * MONO_NS_PER_S);
    assert_int_equal(all->slot_count, one->slot_count);
    assert_memory_equal(all->slots, one->slots, sizeof one->slots);
    assert_memory_equal(all->modes, one->modes, sizeof one->modes);
    assert_memory_equal(all->syncs, one->syncs, sizeof one->syncs);
    assert_int_equal(all->level, IO_TRACE_FULL);
    assert_int_equal(all->events, 300);
    assert_int_equal(all->lost, 6);
    assert_true(all->cpu_s == 1);
    assert_int_equal(all->gate_ns, 49);
    assert_int_equal(all->done_ns, 7001);
    assert_int_equal(all->last_ns, one->last_ns);
    for (size_t i = 0; i < SUMS; i++) {
        free(sums[i]);
    }
    free(all);
    free(one);
}

/* The time of a call, and of each of its layers, is spread in proportion over the seconds in which
 * the call ran. */
TEST(test_spread)
{
    struct trace_sum *sum = sum_of(IO_TRACE_FULL);
    int64_t from_ns, to_ns;
    const int64_t quarter_ns = MONO_NS_PER_S / 4;
    sum->start_ns = 5000;
    sum->gate_ns = sum->start_ns + quarter_ns;
    struct io_event event = call(IO_SYNC, (uint64_t)(10 * quarter_ns), (uint64_t)quarter_ns,
                                 (uint64_t)(5 * quarter_ns));
    event.start_ns = (uint64_t)(sum->start_ns + 2 * quarter_ns);
    trace_add(sum, &event, TRACE_WAL);
    static const unsigned tenths[] = {2, 4, 4};
    assert_int_equal(sum->slot_count, COUNT_OF(tenths));
    for (size_t i = 0; i < COUNT_OF(tenths); i++) {
        assert_int_equal(sum->slots[i][TRACE_TOTAL], tenths[i] * quarter_ns);
        assert_int_equal(sum->slots[i][TRACE_VFS], tenths[i] * 4 * quarter_ns / 10);
        assert_int_equal(sum->slots[i][TRACE_QUEUE], tenths[i] * quarter_ns / 10);
        assert_int_equal(sum->slots[i][TRACE_DEVICE], tenths[i] * 5 * quarter_ns / 10);
    }
    /* nothing is lost where a time cannot be divided evenly */
    event.total_ns = (uint64_t)(3 * MONO_NS_PER_S + 1);
    event.queue_ns = 7;
    event.device_ns = 1000000007;
    event.start_ns = (uint64_t)(sum->start_ns + 10 * MONO_NS_PER_S + 3);
    trace_add(sum, &event, TRACE_WAL);
    uint64_t queue_ns = 0, device_ns = 0;
    for (size_t i = 10; i < sum->slot_count; i++) {
        queue_ns += sum->slots[i][TRACE_QUEUE];
        device_ns += sum->slots[i][TRACE_DEVICE];
    }
    assert_int_equal(queue_ns, 7);
    assert_int_equal(device_ns, 1000000007);
    trace_span(sum, &from_ns, &to_ns);
    assert_int_equal(from_ns, quarter_ns);
    assert_int_equal(to_ns, 13 * MONO_NS_PER_S + 4);
    sum->done_ns = sum->start_ns + 14 * MONO_NS_PER_S;
    trace_span(sum, &from_ns, &to_ns);
    assert_int_equal(to_ns, 14 * MONO_NS_PER_S);
    free(sum);
}

/* Calls that began before the gate opened or after the last answer are excluded from all figures,
 * but are compared with what the server has counted. */
TEST(test_outside)
{
    static const uint64_t moments[] = {150, 199, 200, 300, 301, 400};
    struct trace_sum *sum = sum_of(IO_TRACE_FULL);
    uint64_t counted = 0, traced = 0;
    sum->gate_ns = 200;
    sum->done_ns = 300;
    sum->before = sum->after =
        (struct trace_counters){.taken_ns = 160, .count = 1, .entries = {{"wal_sync", 10}}};
    for (size_t i = 0; i < COUNT_OF(moments); i++) {
        struct io_event event = call(IO_SYNC, 100, 20, 50);
        event.start_ns = moments[i];
        event.is_open = 1;
        trace_add(sum, &event, TRACE_WAL);
        event.kind = IO_REQUEST;
        event.is_open = 0;
        trace_add(sum, &event, TRACE_WAL);
    }
    assert_int_equal(sum->modes[IO_SYNC].layers[TRACE_TOTAL].total, 2);
    assert_int_equal(sum->syncs[TRACE_WAL].layers[TRACE_TOTAL].total, 2);
    assert_int_equal(sum->requests[IO_OWN].count, 2);
    assert_int_equal(sum->open, 2);
    assert_int_equal(sum->slots[0][TRACE_TOTAL], 200);
    assert_int_equal(sum->events, 12);
    assert_true(trace_compare(sum, 0, &counted, &traced));
    assert_int_equal(traced, 5);
    free(sum);
}

TEST(test_counters)
{
    struct trace_sum *sum = sum_of(IO_TRACE_FULL);
    uint64_t counted = 0, traced = 0;
    struct io_event event = call(IO_SYNC, 100, 20, 50);
    trace_add(sum, &event, TRACE_WAL); /* the call is from before the server was asked */
    sum->before = sum->after = (struct trace_counters){
        .taken_ns = 1000, .count = 2, .entries = {{"wal_sync", 10}, {"of_no_meaning", 3}}};
    sum->after.entries[0].value = 12;
    trace_add(sum, &event, TRACE_WAL);
    trace_add(sum, &event, TRACE_WAL);
    trace_add(sum, &event, TRACE_TABLE);
    assert_true(trace_compare(sum, 0, &counted, &traced));
    assert_int_equal(counted, 2);
    assert_int_equal(traced, 2);
    assert_false(trace_compare(sum, 1, &counted, &traced));
    assert_false(trace_compare(sum, 2, &counted, &traced));
    sum->after.entries[0].value = 1; /* as after a restart of the server */
    assert_false(trace_compare(sum, 0, &counted, &traced));
    free(sum);
}
