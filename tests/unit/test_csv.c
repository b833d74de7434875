/* The CSV writer: quoting, unknown values, and that header and rows cannot drift apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "report/csv.h"
#include "report/csv_files.h"

struct memory {
    FILE *stream;
    char *text;
    size_t size;
};

static void memory_open(struct memory *memory)
{
    *memory = (struct memory){NULL, NULL, 0};
    memory->stream = open_memstream(&memory->text, &memory->size);
    assert_non_null(memory->stream);
}

static void memory_expect(struct memory *memory, const char *expected)
{
    assert_int_equal(fclose(memory->stream), 0);
    assert_string_equal(memory->text, expected);
    free(memory->text);
}

static void put_line(struct csv *csv, FILE *stream, bool is_header)
{
    csv_begin(csv, stream, is_header);
    csv_text(csv, "name", "db");
    csv_count(csv, "rows", UINT64_MAX);
    csv_decimal(csv, "rate_per_s", 12.345, 2);
    csv_count_if(csv, "lost", false, 7);
    csv_end(csv);
}

static void test_header_and_row(void **state)
{
    (void)state;
    struct memory memory;
    memory_open(&memory);
    struct csv csv;
    put_line(&csv, memory.stream, true);
    put_line(&csv, memory.stream, false);
    memory_expect(&memory, "name,rows,rate_per_s,lost\r\ndb,18446744073709551615,12.35,\r\n");
}

static void test_quoting(void **state)
{
    (void)state;
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
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
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

static void test_unknown_is_empty(void **state)
{
    (void)state;
    struct memory memory;
    memory_open(&memory);
    struct csv csv;
    csv_begin(&csv, memory.stream, false);
    csv_text(&csv, "a", NULL);
    csv_empty(&csv, "b");
    csv_decimal(&csv, "c", (double)NAN, 3);
    csv_decimal(&csv, "d", (double)INFINITY, 3);
    csv_decimal_if(&csv, "e", false, 1, 3);
    csv_count_if(&csv, "f", false, 1);
    csv_decimal_if(&csv, "g", true, 0, 3);
    csv_count_if(&csv, "h", true, 0);
    csv_end(&csv);
    memory_expect(&memory, ",,,,,,0.000,0\r\n");
}

static void test_large_decimal(void **state)
{
    (void)state;
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
    };
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
    memory_expect(&memory,
                  "start_s,end_s,sessions_alive,rows,rows_per_s,appends,counts,errors,"
                  "rows_rejected,rows_in_doubt,sessions_connected,sessions_dropped,busy_retries,"
                  "append_p50_ms,append_p99_ms,append_max_ms,count_p50_ms,count_p99_ms,"
                  "count_max_ms\r\n"
                  "1.000,1.500,9,500,1000.0,6,0,7,0,0,0,0,0,1.000000,2.500000,2.500001,,,\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_and_row),   cmocka_unit_test(test_quoting),
        cmocka_unit_test(test_unknown_is_empty), cmocka_unit_test(test_large_decimal),
        cmocka_unit_test(test_sample_row),       cmocka_unit_test(test_interval_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
