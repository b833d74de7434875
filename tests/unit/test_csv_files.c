/* The lines of summary.csv, samples.csv and intervals.csv: columns, values, unknown ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mono.h"
#include "unit/memory_stream.h"

#include "report/csv_files.h"

enum {
    CELLS_MAX = 128
};

static const struct adapter adapter = {.name = "postgresql"};
static struct result result; /* too large for a stack */
static struct plan plan;

static int set_up(void **state)
{
    (void)state;
    memset(&plan, 0, sizeof plan);
    memset(&result, 0, sizeof result);
    plan.adapter = &adapter;
    plan.sessions = 1000;
    plan.records = 10000000;
    snprintf(plan.display_target, sizeof plan.display_target, "a,\"b\"\r\nc");
    result.started_wall_ns = INT64_C(1769903999123000000);
    result.elapsed_ns = INT64_C(105012345678);
    result.throughput_rows_per_s = 95226.8;
    result.sessions.timed_out = 6;
    result.rows.in_doubt = 1700;
    result.verification = (struct verification){.state = VERIFICATION_DONE, .lost = 300};
    result.totals.counters[RECORDER_APPENDS] = 100000;
    result.totals.counters[RECORDER_FRESH_CHECKS] = 100000;
    result.totals.counters[RECORDER_FRESH_BEHIND] = 41;
    histogram_record(&result.totals.histograms[RECORDER_APPEND], 100);
    result.resources.max_host_cpu_percent = 51.2;
    result.resources.max_server_cpu_percent = -1;
    result.resources.max_server_memory_bytes = -1;
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

static void test_sample_row(void **state)
{
    (void)state;
    const struct sample sample = {
        .start_ns = 3000000000,
        .end_ns = 6000500000,
        .sessions_alive = 1000,
        .host_cpu_percent = 51.25,
        .server_cpu_percent = -1,
        .client_cpu_percent = 0,
        .server_memory_bytes = -1,
        .client_memory_bytes = 3 << 20,
    };
    struct memory memory;
    memory_open(&memory);
    struct csv csv;
    csv_begin(&csv, memory.stream, true);
    csv_files_sample(&csv, &sample);
    csv_end(&csv);
    csv_begin(&csv, memory.stream, false);
    csv_files_sample(&csv, &sample);
    csv_end(&csv);
    memory_expect(&memory, "start_s,end_s,sessions_alive,host_cpu_percent,server_cpu_percent,"
                           "client_cpu_percent,server_memory_mib,server_processes,server_threads,"
                           "client_memory_mib\r\n"
                           "3.000,6.000,1000,51.25,,0.00,,,,3.00\r\n");
}

static void test_interval_row(void **state)
{
    (void)state;
    struct interval interval = {
        .start_ns = 1000000000,
        .end_ns = 1500000000,
        .sessions_alive = 9,
        .append_p50_ns = 1000000,
        .append_p99_ns = 2500000,
        .append_max_ns = 2500001,
        .sessions_without_progress = 21,
        .sessions_reading = 22,
    };
    interval.counters[RECORDER_CONNECTIONS_LOST] = 5;
    interval.counters[RECORDER_RECONNECTS] = 3;
    interval.counters[RECORDER_RECONNECTS_FAILED] = 10;
    interval.counters[RECORDER_CHURNS] = 8;
    interval.counters[RECORDER_ROWS_ACKNOWLEDGED] = 500;
    interval.counters[RECORDER_APPENDS] = 6;
    interval.counters[RECORDER_APPENDS_FAILED] = 1;
    interval.counters[RECORDER_COUNTS_FAILED] = 2;
    interval.counters[RECORDER_SESSIONS_FAILED] = 4;
    struct memory memory;
    memory_open(&memory);
    struct csv csv;
    csv_begin(&csv, memory.stream, true);
    csv_files_interval(&csv, &interval);
    csv_end(&csv);
    csv_begin(&csv, memory.stream, false);
    csv_files_interval(&csv, &interval);
    csv_end(&csv);
    memory_expect(
        &memory, "start_s,end_s,sessions_alive,rows,rows_per_s,appends,counts,errors,"
                 "rows_rejected,rows_in_doubt,sessions_connected,sessions_dropped,busy_retries,"
                 "append_p50_ms,append_p99_ms,append_max_ms,count_p50_ms,count_p99_ms,"
                 "count_max_ms,connections_lost,reconnects,reconnects_failed,churns,"
                 "refusals,sessions_without_progress,sessions_reading\r\n"
                 "1.000,1.500,9,500,1000.0,6,0,17,0,0,0,0,0,1.000000,2.500000,2.500001,,,,5,3,10,8,"
                 "0,21,22\r\n");
}

/* Takes CSV apart as RFC 4180 says. Returns the cells of one line and moves *text behind it. */
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
    for (int line = 0; line < 2; line++) {
        struct csv csv;
        csv_begin(&csv, stream, line == 0);
        csv_files_summary(&csv, &plan, &result);
        csv_end(&csv);
    }
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

static void test_summary(void **state)
{
    (void)state;
    char *text = summary_text();
    char *rest = text;
    char *names[CELLS_MAX];
    char *values[CELLS_MAX];
    const size_t count = read_line(&rest, names);
    assert_int_equal(read_line(&rest, values), count);
    assert_string_equal(rest, "");
    static const char *const first[] = {
        "adapter",         "target",         "sessions",  "records",
        "max_cpu_percent", "max_memory_mib", "elapsed_s", "throughput_rows_per_s",
        "connect_s",       "append_s"};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        assert_string_equal(names[i], first[i]);
    }
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
        {"batches_late", ""},
        {"rate_achieved_percent", ""},
        {"response_p99_ms", ""},
        {"append_p50_ms", "0.000100"},
        {"append_max_ms", "0.000100"},
        {"count_p50_ms", ""},
        {"stop_reason", "completed"},
        {"verdict", "DEGRADED"},
        {"exit_code", "1"},
        {"started_utc", "2026-01-31T23:59:59.123Z"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        check_cell(names, values, count, expected[i]);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(names[i], names[j]);
        }
    }
    free(text);
}

/* Cells of the summary of `result`. */
static void expect_cells(const char *const (*expected)[2], size_t number)
{
    char *text = summary_text();
    char *rest = text;
    char *names[CELLS_MAX];
    char *values[CELLS_MAX];
    const size_t count = read_line(&rest, names);
    assert_int_equal(read_line(&rest, values), count);
    for (size_t i = 0; i < number; i++) {
        check_cell(names, values, count, expected[i]);
    }
    free(text);
}

static void test_summary_of_sessions(void **state)
{
    (void)state;
    static const char *const expected[][2] = {
        {"recover_p50_ms", ""},         {"reconnects", "12"},
        {"idle_sessions", "7"},         {"slowest_session", "9"},
        {"slowest_rows_per_s", "12.3"}, {"fastest_session", "0"},
        {"fastest_rows_per_s", "56.8"}, {"longest_gap_session", "3"},
        {"longest_gap_ms", "1.234567"},
    };
    expect_cells(expected, sizeof expected / sizeof expected[0]);
}

static void test_summary_of_a_duration(void **state)
{
    (void)state;
    plan.records = 0;
    plan.duration_ns = 60 * MONO_NS_PER_S;
    result.verification.state = VERIFICATION_NONE;
    result.fairness.sessions = 0;
    static const char *const expected[][2] = {{"records", ""},         {"verification", "none"},
                                              {"rows_lost", ""},       {"rows_after", ""},
                                              {"slowest_session", ""}, {"longest_gap_ms", ""}};
    expect_cells(expected, sizeof expected / sizeof expected[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample_row),
        cmocka_unit_test(test_interval_row),
        cmocka_unit_test_setup(test_summary, set_up),
        cmocka_unit_test_setup(test_summary_of_sessions, set_up),
        cmocka_unit_test_setup(test_summary_of_a_duration, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
