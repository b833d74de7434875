/* The report's lines about connections and single sessions. */
#include <stdlib.h>
#include <string.h>

#include "unit/memory_stream.h"

#include "report/text_sessions.h"

static struct result *result; /* too large for a stack */

static int set_up(void **state)
{
    (void)state;
    result = calloc(1, sizeof *result);
    return result != NULL ? 0 : 1;
}

static int tear_down(void **state)
{
    (void)state;
    free(result);
    return 0;
}

static void expect(const char *text)
{
    struct memory memory;
    memory_open(&memory);
    text_sessions_add(memory.stream, result);
    memory_expect(&memory, text);
}

static void test_nothing_to_say(void **state)
{
    (void)state;
    result->fairness.sessions = 1; /* one session is as fast as itself */
    expect("");
}

static void test_connections(void **state)
{
    (void)state;
    uint64_t *counters = result->totals.counters;
    counters[RECORDER_CONNECTIONS_LOST] = 1;
    expect("Lost      1 connection, 0 had again\n");
    counters[RECORDER_CONNECTIONS_LOST] = 1200;
    counters[RECORDER_RECONNECTS] = 1199;
    counters[RECORDER_RECONNECTS_FAILED] = 20;
    counters[RECORDER_CHURNS] = 1;
    expect("Lost      1,200 connections, 1,199 had again, 20 tries failed\n"
           "Churn     1 connection closed and opened anew\n");
}

static void test_fairness(void **state)
{
    (void)state;
    result->fairness = (struct fairness){.sessions = 2,
                                         .slowest_session = 7,
                                         .slowest_rows_per_s = 1234.4,
                                         .fastest_session = 3,
                                         .fastest_rows_per_s = 99999.6,
                                         .longest_gap_session = 5,
                                         .longest_gap_ns = 2500000000};
    expect("Fairness  slowest 1,234 rows/s (session 7), fastest 100,000 (session 3); longest\n"
           "          without an acknowledged append: 2.50 s (session 5)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_to_say, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_connections, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fairness, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
