/* The text report: ledgers as sums, long texts, unknown figures. */
#include "unit/unit.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "base/text.h"
#include "plan/facts.h"
#include "report/screen.h"
#include "report/text.h"

static const struct adapter server = {.name = "postgresql"};
static struct result result; /* too large for the stack */
static struct facts facts;
static struct plan plan;

static int set_up(void **state)
{
    (void)state;
    memset(&plan, 0, sizeof plan);
    plan.facts = &facts;
    memset(&result, 0, sizeof result);
    plan.adapter = &server;
    plan.sessions = 2;
    plan.records = 200;
    plan.batch_rows = 100;
    plan.read_every = 1;
    snprintf(plan.out_folder, sizeof plan.out_folder, "runs");
    result.resources.cpus = 8;
    result.resources.max_cpu.host = 51.2;
    result.resources.max_server_memory_bytes = INT64_C(1057) << 20;
    result.resources.memory_source = MEMORY_PSS;
    return 0;
}

/* Returns the text report, which the caller frees. */
static char *report(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    report_write_text(stream, &plan, &result, "");
    assert_int_equal(fclose(stream), 0);
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        assert_true(text_fit(line, SCREEN_COLUMNS) >= strcspn(line, "\n"));
    }
    return text;
}

static void check_contains(const char *text, const char *wanted)
{
    if (strstr(text, wanted) == NULL) {
        fail_msg("missing: %s\nin:\n%s", wanted, text);
    }
}

/* Checks that the report has the whole line `expected`, and that no earlier line has its label. */
static void check_line(const char *expected)
{
    char *text = report();
    char label[SCREEN_LABEL_COLUMNS + 2] = "\n";
    strncat(label, expected, SCREEN_LABEL_COLUMNS);
    char with_breaks[256];
    snprintf(with_breaks, sizeof with_breaks, "\n%s\n", expected);
    const char *found = strstr(text, label);
    assert_non_null(found);
    if (strncmp(found, with_breaks, strlen(with_breaks)) != 0) {
        fail_msg("expected: %s\nin:\n%s", expected, text);
    }
    free(text);
}

enum {
    NAMES = 12 /* the most names of one script */
};
static struct histogram histograms[OPERATIONS + NAMES];
static uint64_t counts[OPERATIONS + NAMES][OPERATION_COUNTS];

/* Makes a run of the built-in script tpcb, with results. */
static void set_up_script(void)
{
    struct error error = {0};
    plan.script = script_load("tpcb", NULL, 0, &error);
    if (plan.script == NULL) {
        fail_msg("%s", error.text);
    }
    assert_true(plan.script->operation_count <= NAMES);
    memset(histograms, 0, sizeof histograms);
    memset(counts, 0, sizeof counts);
    result.totals.operations = OPERATIONS + plan.script->operation_count;
    result.totals.histograms = histograms;
    result.totals.counts = counts;
    plan.records = 0;
    plan.duration_ns = 60 * MONO_NS_PER_S;
    result.measured_ns = 60 * MONO_NS_PER_S;
    result.totals.counters[RECORDER_TRANSACTIONS_BEGUN] = 1204331;
    result.totals.counters[RECORDER_TRANSACTIONS_COMMITTED] = 1204118;
    result.totals.counters[RECORDER_TRANSACTIONS_FAILED] = 213;
    result.totals.counters[RECORDER_TRANSACTIONS_REFUSED] = 213;
    result.totals.counters[RECORDER_TRIES] = 1209877;
    result.totals.counters[RECORDER_RETRIES_DEADLOCK] = 5501;
    result.totals.counters[RECORDER_RETRIES_BUSY] = 45;
    result.totals.counters[RECORDER_READS] = 60;
    result.totals.counters[RECORDER_WRITES] = 240;
    result.totals.counters[RECORDER_OTHERS] = 120;
}

TEST_BETWEEN(test_script, set_up, NULL)
{
    static const char *const lines[] = {
        "Transactions  1,204,331 = 1,204,118 committed + 213 failed\n",
        "Failed        213 = 0 gave up after all retries + 213 refused + 0 lost with the\n"
        "              connection\n",
        "Tries         1,209,877 = 1,204,331 begun + 5,546 retries: 5,501 deadlock,\n"
        "              0 serialization, 45 busy\n",
        "Throughput    20,069 transactions/s; 7.00 statements/s = 1.00 read + 4.00 write\n"
        "              + 2.00 other\n",
        "\nTransactions          20,069 /s  committed, while the sessions worked\n",
    };
    set_up_script();
    char *text = report();
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        check_contains(text, lines[i]);
    }
    assert_null(strstr(text, "rows/s"));
    assert_null(strstr(text, "\nRows"));
    assert_null(strstr(text, "batch"));
    free(text);
    script_destroy(plan.script);
}

/* Terms of 0 are written one by one if there is room. With less room they are written together, or
 * not at all. */
TEST_BETWEEN(test_zero_terms, set_up, NULL)
{
    static const struct {
        uint64_t rows;
        const char *line;
    } cases[] = {
        {7, "Rows      7 = 7 acknowledged + 0 rejected + 0 in doubt + 0 not sent"},
        {10000000, "Rows      10,000,000 = 10,000,000 acknowledged + 0 rejected/in doubt/not sent"},
        {1000000000, "Rows      1,000,000,000 = 1,000,000,000 acknowledged"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        result.rows = (struct row_ledger){.planned = cases[i].rows, .acknowledged = cases[i].rows};
        check_line(cases[i].line);
    }
}

TEST_BETWEEN(test_first_term_stays, set_up, NULL)
{
    result.rows = (struct row_ledger){.planned = 100000000000, .not_sent = 100000000000};
    check_line("Rows      100,000,000,000 = 0 acknowledged + 100,000,000,000 not sent");
}

TEST_BETWEEN(test_nothing_connected, set_up, NULL)
{
    result.sessions = (struct session_ledger){.requested = 2, .refused = 1, .timed_out = 1};
    check_line("Sessions  2 = 0 connected + 1 refused + 1 timed out + 0 not started");
    check_line("Connected 0 = 0 finished + 0 stopped + 0 dropped");
}

TEST_BETWEEN(test_imbalance_is_shown, set_up, NULL)
{
    result.sessions.requested = 1;
    result.rows.planned = 1;
    char *text = report();
    const char *said = strstr(text, "\n          DOES NOT BALANCE: a defect of append");
    assert_non_null(said);
    assert_non_null(strstr(said + 1, "\n          DOES NOT BALANCE: a defect of append"));
    free(text);
}

TEST_BETWEEN(test_verification, set_up, NULL)
{
    check_line("Verified  nothing: this database does not keep rows");

    result.verification.state = VERIFICATION_FAILED;
    snprintf(result.verification.reason, sizeof result.verification.reason, "server is gone");
    check_line("Verified  NO, the rows could not be counted: server is gone");

    result.verification = (struct verification){.state = VERIFICATION_DONE,
                                                .rows_before = 5,
                                                .rows_after = 1,
                                                .lost_at_most = 2,
                                                .is_shrunk = true};
    check_line("Verified  count(*) 5 before, 1 after: 0 to 2 LOST, the table SHRANK");

    result.verification = (struct verification){
        .state = VERIFICATION_DONE, .rows_before = 5, .rows_after = 9, .surplus = 4};
    check_line("Verified  count(*) 5 before, 9 after: 0 lost, 4 more than this run can have");

    /* reading back every row shows these figures, so they are not also taken from the count */
    result.verification.lost = result.verification.lost_at_most = 2;
    result.verification.rejected_arrived = 3;
    result.row_verification =
        (struct row_verification){.state = VERIFICATION_DONE, .read = 4, .rejected_present = 4};
    check_line("Verified  count(*) 5 before, 9 after");
    check_line("Rows read 0 acknowledged found, 0 lost, 4 REJECTED found");
}

TEST_BETWEEN(test_connections, set_up, NULL)
{
    uint64_t *counters = result.totals.counters;
    result.fairness.sessions = 1; /* a single session cannot be compared */
    char *text = report();
    assert_null(strstr(text, "\nLost"));
    assert_null(strstr(text, "\nFairness"));
    free(text);
    counters[RECORDER_CONNECTIONS_LOST] = 1;
    check_line("Lost      1 connection, 0 reconnected");
    counters[RECORDER_CONNECTIONS_LOST] = 1200;
    counters[RECORDER_RECONNECTS] = 1199;
    counters[RECORDER_RECONNECTS_FAILED] = 20;
    counters[RECORDER_CHURNS] = 1;
    check_line("Lost      1,200 connections, 1,199 reconnected, 20 attempts to reconnect failed");
    check_line("Churn     1 connection closed and reopened by append");
}

TEST_BETWEEN(test_fairness, set_up, NULL)
{
    result.fairness = (struct fairness){.sessions = 2,
                                        .slowest_session = 7,
                                        .slowest_rows_per_s = 1234.4,
                                        .fastest_session = 3,
                                        .fastest_rows_per_s = 99999.6,
                                        .longest_gap_session = 5,
                                        .longest_gap_ns = 2500000000};
    char *text = report();
    check_contains(
        text, "\nFairness  slowest 1,234 rows/s (session 7), fastest 100,000 (session 3); longest\n"
              "          without an acknowledged append: 2.50 s (session 5)\n");
    free(text);
}

/* The explanation of a figure or a failure is wrapped, not cut off. */
TEST_BETWEEN(test_long_texts_are_whole, set_up, NULL)
{
    struct cause *cause = &result.causes.entries[result.causes.count++];
    *cause = (struct cause){.phase = CAUSE_APPEND, .count = 3};
    cause->error.kind = ERROR_DATA;
    snprintf(cause->error.sqlstate, sizeof cause->error.sqlstate, "23505");
    snprintf(cause->error.text, sizeof cause->error.text,
             "ERROR:  duplicate key value violates unique constraint "
             "\"orders_customer_id_created_at_key\" of a table, its_last_word");
    snprintf(result.server.version, sizeof result.server.version,
             "PostgreSQL 15.20 (Debian 15.20-0+deb12u1)");
    result.connection.method = "copy";
    snprintf(result.engine, sizeof result.engine, "heap");
    snprintf(facts.target, sizeof facts.target,
             "postgresql://somebody@database.example.org:5432/application");
    snprintf(result.resources.server_note, sizeof result.resources.server_note,
             "the memory of 12 processes could not be read, and was taken from others in the ratio "
             "of resident memory, last of all these words");
    char *text = report();
    check_contains(text, "\n         3 x append, data 23505: ERROR:  duplicate key value");
    check_contains(text, "its_last_word\n");
    check_contains(text, "(PostgreSQL 15.20, copy, heap)\n");
    check_contains(text, "these words\n");
    assert_null(strstr(text, "..."));
    free(text);
}

TEST_BETWEEN(test_unknown_is_not_a_number, set_up, NULL)
{
    result.connection.is_embedded = true;
    result.resources.cpu_at_max.client = -1;
    result.resources.max_server_memory_bytes = -1;
    char *text = report();
    check_contains(text, "51.2 %  all 8 CPUs\n");
    check_contains(text, "\nMaximum memory          unknown  ");
    free(text);
}

static void add_finding(const char *name, uint64_t sessions)
{
    struct finding *finding = &result.findings.entries[result.findings.count++];
    finding->side = LIMIT_SERVER;
    finding->sessions = sessions;
    snprintf(finding->name, sizeof finding->name, "%s", name);
    snprintf(finding->evidence, sizeof finding->evidence, "all were in use");
    snprintf(finding->fix, sizeof finding->fix, "sysctl -w %s=9", name);
}

TEST_BETWEEN(test_limits_are_named, set_up, NULL)
{
    char *text = report();
    assert_null(strstr(text, "Limit"));
    free(text);
    add_finding("first", 1200);
    add_finding("second", 1);
    add_finding("third", 1);
    text = report();
    check_contains(text, "\nLimit     first (server), 1,200 sessions: all were in use\n"
                         "          to raise it: sysctl -w first=9\n"
                         "Limit     second (server), 1 session: all were in use\n");
    check_contains(text, "\n          1 more limit: see findings in the JSON file\n");
    assert_null(strstr(text, "third"));
    free(text);
    result.findings.entries[0].sessions = 0;
    result.findings.entries[0].tries = 1200;
    text = report();
    check_contains(text, "\nLimit     first (server), delayed 1,200 tries: all were in use\n");
    free(text);
}
