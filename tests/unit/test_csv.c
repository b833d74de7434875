/* Tests of CSV: cells and lines, and the columns, values and unknown values of summary.csv,
 * samples.csv and intervals.csv. The percentile format of HdrHistogram is compared with rows
 * computed by hand. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "base/text.h"
#include "plan/facts.h"
#include "report/csv.h"
#include "report/figures.h"
#include "unit/memory_stream.h"
#include "unit/recorded.h"

TEST(test_operations)
{
    static uint64_t counts[OPERATIONS + 2][OPERATION_COUNTS];
    static struct result result;
    static struct figure_set set;
    struct causes *causes = &result.causes;
    set = (struct figure_set){.operations = operation_list_all(),
                              .counts = (const uint64_t(*)[OPERATION_COUNTS])counts};
    operation_list_add(&set.operations, "move", OPERATION_IS_TRANSACTION);
    operation_list_add(&set.operations, "insert", OPERATION_IS_WRITE);
    counts[OPERATIONS][COUNT_BEGUN] = 5;
    counts[OPERATIONS][COUNT_FAILED] = 1;
    counts[OPERATIONS + 1][COUNT_SENT] = 7;
    counts[OPERATIONS + 1][COUNT_REFUSED] = 2;
    set.latencies[OPERATIONS + 1] =
        (struct figure_latency){.count = 5, .points_ms = {1.5, 1, 2, 3, 4, 5, 6}};
    causes->count = 2;
    causes->entries[0] =
        (struct cause){.name = "insert", .first_ns = 9, .error = {.text = "later"}};
    causes->entries[1] =
        (struct cause){.name = "insert", .first_ns = 3, .error = {.text = "duplicate, \"a\""}};
    struct memory memory;
    memory_open(&memory);
    csv_write_table(memory.stream, &report_statements, &set.operations,
                    &(struct report_source){.result = &result, .set = &set});
    memory_expect(
        &memory,
        "operation,kind,sent,answered,refused,unanswered,rows,empty,begun,committed,"
        "rolled_back,failed,in_doubt,unfinished,partial,tries,retries_deadlock,"
        "retries_serialization,retries_busy,retries_duplicate,mean_ms,p50_ms,p90_ms,p95_"
        "ms,p99_ms,p999_ms,max_ms,"
        "first_error\r\n"
        "move,transaction,,,,,,,5,0,0,1,0,0,0,0,0,0,0,0,,,,,,,,\r\n"
        "insert,write,7,0,2,0,0,0,,,,,,,,,,,,,1.500000,1.000000,2.000000,3.000000,4.000000,"
        "5.000000,6.000000,\"duplicate, \"\"a\"\"\"\r\n");
}

/* A table without rows still has its header. */
TEST(test_no_rows)
{
    static const struct result result;
    struct operation_list operations = operation_list_all();
    const struct figure_set set = {.operations = operations};
    static const struct {
        const struct report_table *table;
        const char *header;
    } cases[] = {
        {&report_metrics,
         "metric,kind,unit,count,per_s,last,min,mean,p50,p90,p95,p99,p999,max\r\n"},
        {&report_invariants, "claim,state,reason,rows,first\r\n"},
    };
    EACH_CASE (i, cases, "%s", cases[i].table->heading) {
        struct memory memory;
        memory_open(&memory);
        csv_write_table(memory.stream, cases[i].table, &operations,
                        &(struct report_source){.result = &result, .set = &set});
        memory_expect(&memory, cases[i].header);
    }
}

/* Both functions that write a row of the transaction log must write the same text. */
TEST(a_fast_row_is_the_row_of_the_table)
{
    static const struct {
        struct transaction_log_row row;
        const char *text;
    } cases[] = {
        {{12345, 67, "append", "acknowledged", 890, -1, 3, 1},
         "12345,3,67,append,acknowledged,1,890,\r\n"},
        {{0, 0, "a, \"b\"", "skipped", -1, -1, 0, 0}, "0,0,0,\"a, \"\"b\"\"\",skipped,0,,\r\n"},
        {{INT64_MAX, UINT64_MAX, "=1", "failed", INT64_MAX, INT64_MAX, UINT32_MAX, UINT32_MAX},
         "9223372036854775807,4294967295,18446744073709551615,'=1,failed,4294967295,"
         "9223372036854775807,9223372036854775807\r\n"},
    };
    EACH_CASE (i, cases, "%s", cases[i].text) {
        struct memory fast, usual;
        memory_open(&fast);
        memory_open(&usual);
        csv_write_logged(fast.stream, &cases[i].row);
        csv_write(usual.stream, CSV_TRANSACTIONS, NULL, &cases[i].row);
        memory_expect(&fast, cases[i].text);
        memory_expect(&usual, cases[i].text);
    }
}

static void put_line(struct csv *csv, FILE *stream, bool is_header)
{
    csv_begin(csv, stream, is_header);
    csv_text(csv, "name", "db");
    csv_count(csv, "rows", UINT64_MAX);
    csv_decimal(csv, "rate_per_s", 12.345, 2);
    csv_text(csv, "lost", NULL);
    csv_end(csv);
}

TEST(test_header_and_row)
{
    struct memory memory;
    memory_open(&memory);
    struct csv csv;
    put_line(&csv, memory.stream, true);
    put_line(&csv, memory.stream, false);
    memory_expect(&memory, "name,rows,rate_per_s,lost\r\ndb,18446744073709551615,12.35,\r\n");
}

TEST(test_quoting)
{
    static const struct {
        const char *text;
        const char *cell;
    } cases[] = {
        {"plain", "plain"},
        {"", ""},
        {"a b", "a b"},
        {"a,b", "\"a,b\""},
        {"say \"no\"", "\"say \"\"no\"\"\""},
        {"\"", "\"\"\"\""},
        {"two\nlines", "\"two\nlines\""},
        {"two\r\nlines", "\"two\r\nlines\""},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"cut \xd0", "cut \xef\xbf\xbd"},
        {"\xff\"\xc3,", "\"\xef\xbf\xbd\"\"\xef\xbf\xbd,\""},
        {"=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"},
        {"@sum(a,b)", "\"'@sum(a,b)\""},
        {"+1 more", "'+1 more"},
        {"-12.5", "-12.5"},
        {"-", "'-"},
    };
    EACH_CASE (i, cases, "%s", cases[i].text) {
        struct memory memory;
        memory_open(&memory);
        struct csv csv;
        csv_begin(&csv, memory.stream, false);
        csv_text(&csv, "a", cases[i].text);
        csv_text(&csv, "b", "x");
        csv_end(&csv);
        char expected[64];
        snprintf(expected, sizeof expected, "%s,x\r\n", cases[i].cell);
        memory_expect(&memory, expected);
    }
}

TEST(test_unknown_is_empty)
{
    struct memory memory;
    memory_open(&memory);
    struct csv csv;
    csv_begin(&csv, memory.stream, false);
    csv_text(&csv, "a", NULL);
    csv_text(&csv, "b", NULL);
    csv_decimal(&csv, "c", (double)NAN, 3);
    csv_decimal(&csv, "d", (double)INFINITY, 3);
    csv_decimal(&csv, "g", 0, 3);
    csv_count(&csv, "h", 0);
    csv_end(&csv);
    memory_expect(&memory, ",,,,0.000,0\r\n");
}

TEST(test_large_decimal)
{
    struct memory memory;
    memory_open(&memory);
    struct csv csv;
    csv_begin(&csv, memory.stream, false);
    csv_decimal(&csv, "a", 1e308, 6);
    csv_end(&csv);
    assert_int_equal(fclose(memory.stream), 0);
    assert_int_equal(memory.size, 309 + 7 + 2);
    free(memory.text);
}

enum {
    CELLS_MAX = 256
};

static const struct adapter adapter = {.name = "postgresql"};
static struct result result; /* too large for the stack */
static struct histogram histograms[OPERATIONS];
static struct facts facts;
static struct plan plan;

static int set_up(void **state)
{
    (void)state;
    memset(&plan, 0, sizeof plan);
    memset(&result, 0, sizeof result);
    memset(histograms, 0, sizeof histograms);
    result.totals.operations = OPERATIONS;
    result.totals.histograms = histograms;
    plan.adapter = &adapter;
    plan.sessions = 1000;
    plan.records = 10000000;
    plan.facts = &facts;
    snprintf(facts.target, sizeof facts.target, "a,\"b\"\r\nc");
    result.started_wall_ns = INT64_C(1769903999123000000);
    result.elapsed_ns = INT64_C(105012345678);
    result.append_ns = INT64_C(102601000000);
    result.throughput_rows_per_s = 95226.8;
    result.sessions.timed_out = 6;
    result.rows.acknowledged = 15000000;
    result.rows.in_doubt = 1700;
    result.verification = (struct verification){.state = VERIFICATION_DONE, .lost = 300};
    result.totals.counters[RECORDER_APPENDS] = 100000;
    result.totals.counters[RECORDER_FRESH_CHECKS] = 100000;
    result.totals.counters[RECORDER_FRESH_BEHIND] = 41;
    histogram_record(&result.totals.histograms[OPERATION_APPEND], 100);
    result.resources.max_cpu.host = 51.2;
    result.resources.max_cpu.server = -1;
    result.resources.max_server_memory_bytes = -1;
    result.resources.server_cpu_s = 12.3456;
    result.totals.counters[RECORDER_RECONNECTS] = 12;
    plan.idle_sessions = 7;
    result.fairness = (struct fairness){.sessions = 2,
                                        .slowest_session = 9,
                                        .slowest_rows_per_s = 12.34,
                                        .fastest_rows_per_s = 56.78,
                                        .longest_gap_session = 3,
                                        .longest_gap_ns = 1234567};
    result.verdict = VERDICT_DEGRADED;
    result.exit_code = EXIT_CODE_SHORT;
    return 0;
}

TEST(test_sample_row)
{
    struct sample sample = {
        .start_ns = 3000000000,
        .end_ns = 6000500000,
        .sessions_alive = 1000,
        .cpu.host = 51.25,
        .cpu.server = -1,
        .cpu.client = 0,
        .server_memory_bytes = -1,
        .client_memory_bytes = 3 << 20,
        .table_bytes = 5 << 19,
        .rows_held = 4711,
        .io = io_nothing(),
    };
    sample.io.counts[IO_NS] = 2 * MONO_NS_PER_S;
    sample.io.counts[IO_DEVICE_WRITES] = 10;
    sample.io.counts[IO_DEVICE_WRITE_NS] = 25 * MONO_NS_PER_MS;
    sample.io.counts[IO_DEVICE_WRITTEN_BYTES] = 3 << 20;
    sample.io.counts[IO_DEVICE_QUEUED_NS] = 3 * MONO_NS_PER_S;
    sample.io.counts[IO_PRESSURE_IO_NS] = MONO_NS_PER_S / 2;
    struct memory memory;
    memory_open(&memory);
    csv_write(memory.stream, CSV_SAMPLES, NULL, NULL);
    csv_write(memory.stream, CSV_SAMPLES, NULL, &sample);
    memory_expect(&memory, "start_s,end_s,sessions_alive,host_cpu_percent,server_cpu_percent,"
                           "client_cpu_percent,server_memory_mib,server_processes,server_threads,"
                           "client_memory_mib,rows_held,table_mib,device_read_mib_per_s,"
                           "device_written_mib_per_s,device_reads_per_s,device_writes_per_s,"
                           "device_flushes_per_s,device_read_ms,device_write_ms,device_flush_ms,"
                           "device_queue,device_busy_percent,server_read_mib_per_s,"
                           "server_written_mib_per_s,server_read_calls_per_s,"
                           "server_write_calls_per_s,storage_read_mib_per_s,"
                           "storage_written_mib_per_s,iowait_percent,io_pressure_percent,"
                           "cpu_pressure_percent,memory_pressure_percent\r\n"
                           "3.000,6.000,1000,51.25,,0.00,,,,3.00,4711,2.50,,1.500,,5.0,,,2.500000,"
                           ",1.500,,,,,,,,,25.00,,\r\n");
}

TEST(test_interval_row)
{
    struct interval interval = {
        .start_ns = 1000000000,
        .end_ns = 1500000000,
        .sessions_alive = 9,
        .latencies[OPERATION_APPEND] = {6, 1000000, 2500000, 2500001},
        .sessions_without_progress = 21,
        .sessions_reading = 22,
        .sessions_working = 24,
        .rows_held = 23,
    };
    interval.counters[RECORDER_CONNECTIONS_LOST] = 5;
    interval.counters[RECORDER_RECONNECTS] = 3;
    interval.counters[RECORDER_RECONNECTS_FAILED] = 10;
    interval.counters[RECORDER_CHURNS] = 8;
    interval.counters[RECORDER_ROWS_ACKNOWLEDGED] = 500;
    interval.counters[RECORDER_APPENDS] = 6;
    interval.counters[RECORDER_APPENDS_LOST] = 1;
    interval.counters[RECORDER_APPENDS_FAILED] = 1;
    interval.counters[RECORDER_READS_FAILED] = 2;
    interval.counters[RECORDER_SESSIONS_FAILED] = 4;
    const struct operation_list operations = operation_list_all();
    struct memory memory;
    memory_open(&memory);
    csv_write(memory.stream, CSV_INTERVALS, &operations, NULL);
    csv_write(memory.stream, CSV_INTERVALS, &operations, &interval);
    memory_expect(
        &memory,
        "start_s,end_s,sessions_alive,rows,rows_per_s,appends,reads,errors,"
        "error_percent,rows_rejected,rows_in_doubt,sessions_connected,"
        "sessions_dropped,busy_retries,"
        "append_p50_ms,append_p99_ms,append_max_ms,read_p50_ms,read_p99_ms,"
        "read_max_ms,transaction_p50_ms,transaction_p99_ms,transaction_max_ms,"
        "connections_lost,reconnects,reconnects_failed,churns,"
        "refusals,sessions_without_progress,sessions_reading,sessions_working,transactions,"
        "transactions_per_s,transactions_failed,transactions_in_doubt,retries,checks_failed,"
        "writes,others,rows_held,stage\r\n"
        "1.000,1.500,9,500,1000.0,6,0,17,33.33,0,0,0,0,0,1.000000,2.500000,2.500001,"
        ",,,,,,5,3,10,8,0,21,22,24,,,,,,,,,23,\r\n");
    interval.stage = 2;
    interval.target = 50;
    memory_open(&memory);
    csv_write(memory.stream, CSV_STAGES, &operations, &interval);
    memory_expect(&memory, "2,50,1.000,1.500,9,500,1000.0,6,0,17,33.33,0,0,0,0,0,1.000000,2.500000,"
                           "2.500001,,,,,,,5,3,10,8,0,21,22,24,,,,,,,,,23\r\n");
    interval.counters[RECORDER_TRANSACTIONS_COMMITTED] = 31;
    interval.counters[RECORDER_TRANSACTIONS_FAILED] = 32;
    interval.counters[RECORDER_TRANSACTIONS_IN_DOUBT] = 33;
    interval.counters[RECORDER_RETRIES_DEADLOCK] = 1;
    interval.counters[RECORDER_RETRIES_SERIALIZATION] = 10;
    interval.counters[RECORDER_RETRIES_BUSY] = 100;
    interval.counters[RECORDER_CHECKS_FAILED] = 36;
    interval.counters[RECORDER_WRITES] = 34;
    interval.counters[RECORDER_OTHERS] = 35;
    struct operation_list with_script = operation_list_all();
    with_script.when |= OPERATION_WITH_SCRIPT;
    operation_list_add(&with_script, "insert", OPERATION_IS_WRITE);
    memory_open(&memory);
    csv_write(memory.stream, CSV_INTERVALS, &with_script, &interval);
    memory_expect(&memory,
                  "1.000,1.500,9,500,1000.0,6,0,82,67.71,0,0,0,0,0,1.000000,2.500000,2.500001,"
                  ",,,,,,5,3,10,8,0,21,22,24,31,62.0,32,33,111,36,34,35,23,2\r\n");
}

/* A row has the difference between the snapshots, and only the counts of its kind of operation. */
TEST(test_operation_interval_row)
{
    struct operation_list operations = operation_list_all();
    struct recorder_snapshot from, to;
    assert_true(operation_list_add(&operations, "move", OPERATION_IS_TRANSACTION));
    assert_true(operation_list_add(&operations, "note", OPERATION_IS_WRITE));
    assert_true(recorder_snapshot_init(&from, operations.count));
    assert_true(recorder_snapshot_init(&to, operations.count));
    for (size_t count = 0; count < OPERATION_COUNTS; count++) {
        for (size_t i = OPERATIONS; i < operations.count; i++) {
            from.counts[i][count] = 1000;
            to.counts[i][count] = 1000 + (1U << count); /* each count has a bit of its own */
        }
    }
    const struct interval interval = {
        .start_ns = 1000000000,
        .end_ns = 1500000000,
        .latencies[OPERATIONS] = {6, 1000000, 2500000, 2500001},
        .from = &from,
        .to = &to,
    };
    struct memory memory;
    memory_open(&memory);
    csv_write(memory.stream, CSV_OPERATIONS_INTERVALS, &operations, NULL);
    for (size_t i = OPERATIONS; i < operations.count; i++) {
        const struct operation_interval row = {&interval, i};
        csv_write(memory.stream, CSV_OPERATIONS_INTERVALS, &operations, &row);
    }
    const unsigned committed = 1U << COUNT_COMMITTED, answered = 1U << COUNT_ANSWERED;
    const unsigned retries = 1U << COUNT_RETRIES_DEADLOCK | 1U << COUNT_RETRIES_SERIALIZATION |
                             1U << COUNT_RETRIES_BUSY | 1U << COUNT_RETRIES_DUPLICATE;
    char expected[512];
    snprintf(expected, sizeof expected,
             "start_s,end_s,operation,kind,count,per_s,errors,retries,p50_ms,p99_ms,max_ms\r\n"
             "1.000,1.500,move,transaction,%u,%u.0,%u,%u,1.000000,2.500000,2.500001\r\n"
             "1.000,1.500,note,write,%u,%u.0,%u,,,,\r\n",
             committed, 2 * committed, 1U << COUNT_FAILED | 1U << COUNT_IN_DOUBT, retries, answered,
             2 * answered, 1U << COUNT_REFUSED | 1U << COUNT_UNANSWERED);
    memory_expect(&memory, expected);
    recorder_snapshot_fini(&from);
    recorder_snapshot_fini(&to);
}

/* Parses a line of CSV by the rules of RFC 4180. Returns the number of cells and moves *text after
 * the line. */
static size_t read_line(char **text, char *cells[CELLS_MAX])
{
    size_t count = 0;
    char *from = *text;
    char *to = from;
    bool is_quoted = false;
    cells[count++] = to;
    for (;; from++) {
        if (is_quoted && from[0] == '"' && from[1] == '"') {
            from++;
            *to++ = '"';
        } else if (*from == '"') {
            is_quoted = !is_quoted;
        } else if (!is_quoted && *from == ',') {
            *to++ = '\0';
            assert_true(count < CELLS_MAX);
            cells[count++] = to;
        } else if (!is_quoted && from[0] == '\r' && from[1] == '\n') {
            break;
        } else {
            assert_int_not_equal(*from, '\0');
            *to++ = *from;
        }
    }
    *text = from + 2;
    *to = '\0';
    return count;
}

static char *summary_text(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    struct figure_set set;
    figures_of_result(&set, &plan, &result);
    csv_write_summary(stream, &set);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void check_cell(char *const names[], char *const values[], size_t count,
                       const char *const expected[2])
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], expected[0]) == 0) {
            if (strcmp(values[i], expected[1]) != 0) {
                fail_msg("%s is '%s', not '%s'", names[i], values[i], expected[1]);
            }
            return;
        }
    }
    fail_msg("no column %s", expected[0]);
}

/* Checks some cells of the summary of `result`. */
static void expect_cells(const char *const (*expected)[2], size_t number)
{
    char *text = summary_text();
    char *rest = text;
    char *names[CELLS_MAX];
    char *values[CELLS_MAX];
    const size_t count = read_line(&rest, names);
    assert_int_equal(read_line(&rest, values), count);
    assert_string_equal(rest, "");
    for (size_t i = 0; i < number; i++) {
        check_cell(names, values, count, expected[i]);
    }
    free(text);
}

TEST_BETWEEN(test_summary, set_up, NULL)
{
    char *text = summary_text();
    char *rest = text;
    char *names[CELLS_MAX];
    const size_t count = read_line(&rest, names);
    static const char *const first[] = {
        "adapter",         "target",         "sessions",  "records",
        "max_cpu_percent", "max_memory_mib", "elapsed_s", "throughput_rows_per_s",
        "connect_s",       "append_s"};
    EACH_CASE (i, first, "%s", first[i]) {
        assert_string_equal(names[i], first[i]);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(names[i], names[j]);
        }
    }
    free(text);
    static const char *const expected[][2] = {
        {"adapter", "postgresql"},
        {"target", "a,\"b\"\r\nc"},
        {"records", "10000000"},
        {"max_cpu_percent", "51.20"},
        {"max_memory_mib", ""},
        {"memory_source", ""},
        {"max_server_cpu_percent", ""},
        {"elapsed_s", "105.012"},
        {"throughput_rows_per_s", "95226.8"},
        {"sessions_timed_out", "6"},
        {"rows_in_doubt", "1700"},
        {"rows_lost", "300"},
        {"fresh_behind", "41"},
        {"appends", "100000"},
        {"server_cpu_s", "12.346"},
        {"server_cpu_us_per_row", "0.823"},
        {"batches_late", ""},
        {"rate_achieved_percent", ""},
        {"response_p99_ms", ""},
        {"append_p50_ms", "0.000100"},
        {"append_max_ms", "0.000100"},
        {"read_p50_ms", ""},
        {"stop_reason", "completed"},
        {"verdict", "DEGRADED"},
        {"exit_code", "1"},
        {"started_utc", "2026-01-31T23:59:59.123Z"},
    };
    expect_cells(expected, COUNT_OF(expected));
}

/* The server's CPU time for each row is known only if every host with rows was measured. */
TEST_BETWEEN(test_server_cpu_of_hosts, set_up, NULL)
{
    static const struct {
        unsigned hosts, measured;
        uint64_t rows[2];
        const char *us_per_row;
    } cases[] = {{1, 0, {7, 0}, "0.823"},
                 {2, 2, {7, 1}, "0.823"},
                 {2, 1, {7, 1}, ""},
                 {2, 1, {7, 0}, "0.823"}};
    EACH_CASE (i, cases, "case %zu", i) {
        uint64_t counters[2][RECORDER_COUNTERS] = {{0}};
        struct host_result hosts[2] = {{.counters = counters[0]}, {.counters = counters[1]}};
        counters[0][RECORDER_ROWS_ACKNOWLEDGED] = cases[i].rows[0];
        counters[1][RECORDER_ROWS_ACKNOWLEDGED] = cases[i].rows[1];
        result.hosts = hosts;
        result.host_count = cases[i].hosts;
        result.resources.hosts_measured = cases[i].measured;
        const char *const expected[][2] = {{"server_cpu_us_per_row", cases[i].us_per_row}};
        expect_cells(expected, 1);
    }
}

TEST_BETWEEN(test_summary_of_sessions, set_up, NULL)
{
    static const char *const expected[][2] = {
        {"recover_p50_ms", ""},         {"reconnects", "12"},
        {"idle_sessions", "7"},         {"slowest_session", "9"},
        {"slowest_rows_per_s", "12.3"}, {"fastest_session", "0"},
        {"fastest_rows_per_s", "56.8"}, {"longest_gap_session", "3"},
        {"longest_gap_ms", "1.234567"},
    };
    expect_cells(expected, COUNT_OF(expected));
}

TEST_BETWEEN(test_summary_of_a_duration, set_up, NULL)
{
    plan.records = 0;
    plan.duration_ns = 60 * MONO_NS_PER_S;
    result.verification.state = VERIFICATION_NONE;
    result.fairness.sessions = 0;
    static const char *const expected[][2] = {{"records", ""},         {"verification", "none"},
                                              {"rows_lost", ""},       {"rows_after", ""},
                                              {"slowest_session", ""}, {"longest_gap_ms", ""}};
    expect_cells(expected, COUNT_OF(expected));
}

static struct histogram shown; /* too large for the stack */

static char *write_all(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    hgrm_write(stream, &shown);
    assert_int_equal(fclose(stream), 0);
    return text;
}

#define HEADER "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"

TEST(test_empty_histogram)
{
    histogram_clear(&shown);
    char *text = write_all();
    assert_string_equal(text, HEADER "#[Mean    =     0.000000, StdDeviation   =     0.000000]\n"
                                     "#[Max     =     0.000000, Total count    =            0]\n"
                                     "#[Buckets =           36, SubBuckets     =          128]\n");
    free(text);
}

TEST(test_one_value)
{
    histogram_clear(&shown);
    histogram_record(&shown, 100);
    char *text = write_all();
    assert_string_equal(text, HEADER "    0.000100 0.000000000000          1           1.00\n"
                                     "    0.000100 1.000000000000          1\n"
                                     "#[Mean    =     0.000100, StdDeviation   =     0.000000]\n"
                                     "#[Max     =     0.000100, Total count    =            1]\n"
                                     "#[Buckets =           36, SubBuckets     =          128]\n");
    free(text);
}

/* Ten values, 1 to 10 ns. The percentiles rise in steps: five steps of 10 % up to 50 %, then five
 * steps of 5 % up to 75 %, and so on. Steps that end in the same value still have a row each. */
TEST(test_ten_values)
{
    histogram_clear(&shown);
    for (int64_t ns = 1; ns <= 10; ns++) {
        histogram_record(&shown, ns);
    }
    char *text = write_all();
    static const char *const rows[] = {
        "    0.000001 0.000000000000          1           1.00\n"
        "    0.000001 0.100000000000          1           1.11\n"
        "    0.000002 0.200000000000          2           1.25\n"
        "    0.000003 0.300000000000          3           1.43\n"
        "    0.000004 0.400000000000          4           1.67\n"
        "    0.000005 0.500000000000          5           2.00\n"
        "    0.000006 0.550000000000          6           2.22\n",
        "    0.000008 0.775000000000          8           4.44\n",
        "    0.000010 1.000000000000         10\n",
    };
    assert_memory_equal(text, HEADER, strlen(HEADER));
    EACH_CASE (i, rows, "%s", rows[i]) {
        assert_part(text, rows[i]);
    }
    free(text);
}

TEST(test_footer)
{
    histogram_clear(&shown);
    histogram_record(&shown, 4);
    histogram_record(&shown, 10);
    histogram_record(&shown, 16);
    char *text = write_all(); /* the deviation is the square root of 24 */
    assert_part(text, "#[Mean    =     0.000010, StdDeviation   =     0.000005]\n"
                      "#[Max     =     0.000016, Total count    =            3]\n");
    free(text);
}

/* The rows suit a plot: counts, percentiles and values never fall, the last row covers everything,
 * and the tail has finer steps than the body. */
TEST(test_rows_are_monotonic)
{
    histogram_clear(&shown);
    for (int64_t i = 1; i <= 200000; i++) {
        histogram_record(&shown, 50000 + i * i % 7919 * 1000);
    }
    histogram_record(&shown, 9876543210);
    char *text = write_all();
    double last_value = 0;
    double last_percentile = -1;
    unsigned long long last_count = 0;
    size_t rows = 0;
    char *save = NULL;
    for (char *line = strtok_r(text + strlen(HEADER), "\n", &save); line[0] != '#';
         line = strtok_r(NULL, "\n", &save)) {
        double value = 0;
        double percentile = 0;
        double inverse = 0;
        unsigned long long count = 0;
        const int fields = sscanf(line, "%lf %lf %llu %lf", &value, &percentile, &count, &inverse);
        assert_true(fields == 4 || (fields == 3 && percentile >= 1));
        assert_true(value >= last_value);
        assert_true(percentile > last_percentile);
        assert_true(count >= last_count);
        assert_true((double)count + 0.5 >= percentile * 200001);
        last_value = value;
        last_percentile = percentile;
        last_count = count;
        rows++;
    }
    assert_true(last_percentile >= 1);
    assert_int_equal(last_count, 200001);
    assert_true(last_value > 9876.543209 && last_value < 9876.543211);
    assert_in_range(rows, 60, 120);
    free(text);
}

/* Values beyond all buckets are still part of the counts, the maximum and the last row. */
TEST(test_overflow)
{
    histogram_clear(&shown);
    histogram_record(&shown, 1000000);
    histogram_record(&shown, HISTOGRAM_LIMIT_NS + 5);
    char *text = write_all();
    assert_part(text, "4398046.511109 0.550000000000          2");
    assert_part(text, "4398046.511109 1.000000000000          2\n");
    assert_part(text, "#[Max     = 4398046.511109, Total count    =            2]\n");
    free(text);
}
