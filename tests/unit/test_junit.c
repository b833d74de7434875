/* The JUnit file: its form, and texts that are not valid XML. */
#include <stdlib.h>
#include <string.h>

#include "plan/facts.h"
#include "unit/memory_stream.h"

#include "report/expectations.h"
#include "report/formats.h"

static const struct adapter adapter = {.name = "null"};

static struct plan *make_plan(void)
{
    static struct facts facts;
    struct plan *plan = calloc(1, sizeof *plan);
    assert_non_null(plan);
    plan->adapter = &adapter;
    plan->facts = &facts;
    plan->sessions = 2;
    plan->records = 10;
    snprintf(facts.target, sizeof facts.target, "null:<&>");
    snprintf(plan->out_folder, sizeof plan->out_folder, "out");
    return plan;
}

static void expect_escaped(const char *text, const char *expected)
{
    struct plan *plan = make_plan();
    struct memory memory;
    memory_open(&memory);
    assert_true(junit_write_error(memory.stream, plan, EXIT_CODE_SERVER, text));
    assert_int_equal(fclose(memory.stream), 0);
    char message[128];
    snprintf(message, sizeof message, " message=\"%s\"/>\n", expected);
    assert_non_null(strstr(memory.text, message));
    free(memory.text);
    free(plan);
}

TEST(test_escaping)
{
    expect_escaped("", "");
    expect_escaped("a<b>&\"'", "a&lt;b&gt;&amp;&quot;&apos;");
    expect_escaped("]]>", "]]&gt;");
    expect_escaped("&amp;", "&amp;amp;");
    expect_escaped("50 %s %", "50 %s %");
    expect_escaped("a\tb\nc\r", "a&#9;b&#10;c&#13;");
    expect_escaped("\x1b[31m\x01", "\xef\xbf\xbd[31m\xef\xbf\xbd");
    expect_escaped("\xc3\xa4\xff", "\xc3\xa4\xef\xbf\xbd");                 /* not UTF-8 */
    expect_escaped("\xef\xbf\xbe\xef\xbf\xbf", "\xef\xbf\xbd\xef\xbf\xbd"); /* not characters */
    expect_escaped("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
}

TEST(test_run)
{
    struct plan *plan = make_plan();
    struct result *result = calloc(1, sizeof *result);
    assert_non_null(result);
    result->started_wall_ns = INT64_C(1769903999123000000);
    result->elapsed_ns = INT64_C(1050000000);
    result->sessions = (struct session_ledger){.requested = 2, .connected = 2, .finished = 2};
    result->rows = (struct row_ledger){.planned = 10, .acknowledged = 9, .in_doubt = 1};
    result->verdict = VERDICT_VALID;
    snprintf(result->verdict_reason, sizeof result->verdict_reason, "fine");
    struct expectations expectations = {0};
    const struct operation_list operations = operation_list_all();
    assert_int_equal(
        expectations_add(&expectations, "elapsed<2s, max_memory<1KiB", &operations, NULL),
        STATUS_OK);
    result->resources.max_server_memory_bytes = -1;
    expectations_judge(&expectations, plan, result);
    result->expectations = &expectations;
    struct memory memory;
    memory_open(&memory);
    assert_true(junit_write(memory.stream, plan, result));
    memory_expect(
        &memory,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites name=\"append\" tests=\"5\" failures=\"2\" errors=\"0\" time=\"1.050\">\n"
        "  <testsuite name=\"append null 2 sessions 10 rows\" tests=\"5\" failures=\"2\" "
        "errors=\"0\" time=\"1.050\" skipped=\"0\" timestamp=\"2026-01-31T23:59:59\">\n"
        "    <properties>\n"
        "      <property name=\"target\" value=\"null:&lt;&amp;&gt;\"/>\n"
        "      <property name=\"folder\" value=\"out\"/>\n"
        "    </properties>\n"
        "    <testcase classname=\"append.ledger\" name=\"sessions\" time=\"0\">\n"
        "      <system-out>2 sessions: 2 finished, 0 refused, 0 timed out, 0 not started, 0 "
        "stopped, 0 dropped</system-out>\n"
        "    </testcase>\n"
        "    <testcase classname=\"append.ledger\" name=\"rows\" time=\"0\">\n"
        "      <failure type=\"ledger\" message=\"10 rows: 9 acknowledged, 0 rejected, 1 in "
        "doubt, 0 not sent; not verified\"/>\n"
        "    </testcase>\n"
        "    <testcase classname=\"append\" name=\"outcome\" time=\"0\">\n"
        "      <system-out>VALID: fine</system-out>\n"
        "    </testcase>\n"
        "    <testcase classname=\"append.expect\" name=\"elapsed&lt;2s\" time=\"0\">\n"
        "      <system-out>elapsed&lt;2s: 1.05 s</system-out>\n"
        "    </testcase>\n"
        "    <testcase classname=\"append.expect\" name=\"max_memory&lt;1KiB\" time=\"0\">\n"
        "      <failure type=\"expectation\" message=\"max_memory&lt;1KiB: not known\"/>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n");
    free(result);
    free(plan);
}

/* All rows were acknowledged, but some are not in the table. */
TEST(test_lost_rows)
{
    struct plan *plan = make_plan();
    struct result *result = calloc(1, sizeof *result);
    assert_non_null(result);
    result->rows = (struct row_ledger){.planned = 10, .acknowledged = 10};
    result->verification = (struct verification){
        .state = VERIFICATION_DONE, .rows_after = 7, .lost = 3, .lost_at_most = 3};
    struct memory memory;
    memory_open(&memory);
    assert_true(junit_write(memory.stream, plan, result));
    assert_int_equal(fclose(memory.stream), 0);
    assert_non_null(
        strstr(memory.text, "name=\"rows\" time=\"0\">\n      <failure type=\"ledger\""));
    assert_non_null(strstr(memory.text, "; 3 lost\"/>"));
    free(memory.text);
    free(result);
    free(plan);
}

/* The name of a run contains its limit: the number of rows, the number of transactions or the
 * duration. */
TEST(test_names)
{
    static const struct {
        uint64_t records, transactions;
        int64_t duration_ns;
        const char *name;
    } cases[] = {
        {10, 0, 0, "append null 2 sessions 10 rows"},
        {0, 100, 0, "append null 2 sessions 100 transactions"},
        {0, 0, 5000000000, "append null 2 sessions 5000 ms"},
        {10, 100, 5000000000, "append null 2 sessions 5000 ms"},
    };
    EACH_CASE (i, cases, "%s", cases[i].name) {
        struct plan *plan = make_plan();
        plan->records = cases[i].records;
        plan->transactions = cases[i].transactions;
        plan->duration_ns = cases[i].duration_ns;
        struct memory memory;
        memory_open(&memory);
        assert_true(junit_write_error(memory.stream, plan, EXIT_CODE_SERVER, "no server"));
        assert_int_equal(fclose(memory.stream), 0);
        char suite[80];
        snprintf(suite, sizeof suite, "<testsuite name=\"%s\" ", cases[i].name);
        assert_non_null(strstr(memory.text, suite));
        free(memory.text);
        free(plan);
    }
}

TEST(test_run_that_did_not_begin)
{
    struct plan *plan = make_plan();
    plan->duration_ns = INT64_C(5000000000);
    struct memory memory;
    memory_open(&memory);
    assert_true(junit_write_error(memory.stream, plan, EXIT_CODE_SERVER, "nothing \"listens\""));
    memory_expect(
        &memory,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites name=\"append\" tests=\"1\" failures=\"0\" errors=\"1\" time=\"0.000\">\n"
        "  <testsuite name=\"append null 2 sessions 5000 ms\" tests=\"1\" failures=\"0\" "
        "errors=\"1\" time=\"0.000\" skipped=\"0\">\n"
        "    <properties>\n"
        "      <property name=\"target\" value=\"null:&lt;&amp;&gt;\"/>\n"
        "      <property name=\"folder\" value=\"out\"/>\n"
        "    </properties>\n"
        "    <testcase classname=\"append\" name=\"outcome\" time=\"0\">\n"
        "      <error type=\"exit-code-4\" message=\"nothing &quot;listens&quot;\"/>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n");
    free(plan);
}
