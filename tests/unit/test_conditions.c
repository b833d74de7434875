/* Conditions of --stop-when: how long they hold, unknown values, and wrong conditions. */
#include "report/conditions.h"

#include <string.h>

#include "base/mono.h"
#include "unit.h"

static struct plan plan;
static struct conditions conditions;

static void parse(const char *text)
{
    struct error error = {0};
    plan = (struct plan){.stop_when = {.count = 1, .texts = {text}}};
    if (conditions_parse(&conditions, &plan, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

/* Checks an interval of 1 s from `start_s`, in which append's p99 was `p99_ms` (0: no append was
 * acknowledged) and `failed` of the appends failed. */
static bool check(int start_s, int p99_ms, unsigned failed, char text[RESULT_CONDITION_BYTES])
{
    struct interval interval = {.start_ns = start_s * MONO_NS_PER_S,
                                .end_ns = (start_s + 1) * MONO_NS_PER_S};
    interval.counters[RECORDER_APPENDS] = p99_ms > 0 ? 3 : 0;
    interval.counters[RECORDER_APPENDS_FAILED] = failed;
    interval.latencies[OPERATION_APPEND] =
        (struct recorder_latency){.count = p99_ms > 0 ? 3 : 0, .p99_ns = p99_ms * MONO_NS_PER_MS};
    text[0] = '\0';
    return conditions_check(&conditions, &interval, text);
}

TEST(test_one_interval)
{
    char text[RESULT_CONDITION_BYTES];
    parse("append.p99>1s");
    assert_false(check(0, 1000, 0, text));
    assert_true(check(1, 1001, 0, text));
    assert_string_equal(text, "append.p99>1s: 1,001 ms");
}

/* A condition has to hold without a gap; an interval without a value is not a gap. */
TEST(test_for_a_time)
{
    char text[RESULT_CONDITION_BYTES];
    parse("append_p99_ms>1000 for 3s");
    assert_false(check(0, 2000, 0, text));
    assert_false(check(1, 2000, 0, text));
    assert_false(check(2, 500, 0, text));
    assert_false(check(3, 2000, 0, text));
    assert_false(check(4, 0, 0, text));
    assert_true(check(5, 3000, 0, text));
    assert_string_equal(text, "append_p99_ms>1000 for 3s: 3,000 ms");
}

/* An unknown value alone never meets a condition. */
TEST(test_nothing_but_unknown)
{
    char text[RESULT_CONDITION_BYTES];
    parse("append.p99>1ms for 2s");
    for (int i = 0; i < 5; i++) {
        assert_false(check(i, 0, 0, text));
    }
}

/* The share of errors is unknown if no call was made. Each condition has its own time. */
TEST(test_shares_and_several)
{
    char text[RESULT_CONDITION_BYTES];
    parse("errors>5 for 2s , error_percent>=25,appends==0 for 3s");
    assert_int_equal(conditions.count, 3);
    assert_false(check(0, 0, 0, text));
    assert_true(check(1, 7, 1, text));
    assert_string_equal(text, "error_percent>=25: 33.3 %");
    parse("errors>5 for 2s,appends==0 for 3s");
    assert_false(check(0, 0, 6, text));
    assert_true(check(1, 0, 7, text));
    assert_string_equal(text, "errors>5 for 2s: 7");
}

TEST(test_wrong)
{
    static const char *const wrong[][2] = {
        {"nothing>1", "'nothing' is not a figure of an interval"},
        {"transaction.p99>1s", "is not a figure of an interval of this run"}, /* without a script */
        {"transactions_per_s<1", "is not a figure of an interval of this run"},
        {"start_s>5s", "is not a figure of an interval of this run"},
        {"append.p95>1s", "'append_p95' is not a figure of an interval"},
        {"operation.insert.p99>1s", "is not a figure of an interval"},
        {"verdict==VALID", "is not a figure of an interval"},
        {"append.p99>1s for 0", "'0' is not a time"},
        {"append.p99>1s for 25h", "'25h' is not a time"},
        {"append.p99>1s for", "a time with"},
        {"append.p99>5", "has no unit"},
        {"append.p99", "has no comparison"},
        {"", "is empty"},
        {"errors>1,", "is empty"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct error error = {0};
        plan = (struct plan){.stop_when = {.count = 1, .texts = {wrong[i][0]}}};
        if (conditions_parse(&conditions, &plan, &error) != STATUS_REJECTED ||
            strstr(error.text, wrong[i][1]) == NULL) {
            fail_msg("%s: %s", wrong[i][0], error.text);
        }
        assert_memory_equal(error.text, "--stop-when: ", strlen("--stop-when: "));
    }
}
