/* Expectations of a run: names from summary.csv, which expectations are met, and the exit code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

#include "base/mono.h"
#include "plan/facts.h"
#include "report/csv.h"
#include "report/expectations.h"
#include "unit/recorded.h"

static const struct adapter adapter = {.name = "null"};
static struct result *result;
static struct facts facts;
static struct plan *plan;
static struct expectations expectations;

static struct operation_list operations;

static int set_up(void **state)
{
    (void)state;
    result = calloc(1, sizeof *result);
    plan = calloc(1, sizeof *plan);
    assert_non_null(result);
    assert_non_null(plan);
    plan->adapter = &adapter;
    plan->facts = &facts;
    result->elapsed_ns = INT64_C(2000000000);
    result->throughput_rows_per_s = 49999.96; /* summary.csv shows 50000.0 */
    result->resources.max_server_memory_bytes = -1;
    result->resources.max_cpu.host = 80;
    if (!recorder_snapshot_init(&result->totals, OPERATIONS)) {
        return 1;
    }
    histogram_record(&result->totals.histograms[OPERATION_APPEND], 5000000);
    result->verification = (struct verification){.state = VERIFICATION_DONE, .lost_at_most = 2};
    memset(&expectations, 0, sizeof expectations);
    operations = operation_list_all();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    recorder_snapshot_fini(&result->totals);
    free(result);
    free(plan);
    return 0;
}

static void add(const char *text)
{
    struct error error;
    error_clear(&error);
    if (expectations_add(&expectations, text, &operations, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static void judge(void)
{
    expectations_judge(&expectations, plan, result);
}

TEST_BETWEEN(test_met, set_up, tear_down)
{
    add("throughput>=50k, append_p99<=20ms ,elapsed_s==2");
    add("max_cpu<90%");
    judge();
    assert_int_equal(expectations.count, 4);
    assert_int_equal(expectations_count_missed(&expectations), 0);
    assert_int_equal(result->exit_code, EXIT_CODE_OK);
    assert_string_equal(result->exit_reason, "");
}

/* Bounds on metrics that a script declares. */
TEST_BETWEEN(test_metrics, set_up, tear_down)
{
    static struct script_metric metrics[] = {{"lock_wait", "ms", SCRIPT_TREND},
                                             {"rows_seen", "", SCRIPT_COUNT},
                                             {"depth", "", SCRIPT_GAUGE}};
    static const struct script script = {.metric_count = COUNT_OF(metrics), .metrics = metrics};
    static const struct {
        const char *bound, *words; /* words in the error; NULL: the bound is accepted */
    } cases[] = {
        {"lock_wait.p95<=20", NULL},
        {"lock_wait.p99.9<=20ms", NULL},
        {"lock_wait.count==4", NULL},
        {"rows_seen>=1.5k", NULL},
        {"rows_seen.count==2000", NULL},
        {"rows_seen.per_s==1k", NULL},
        {"depth==3", NULL},
        {"depth.max<=3", NULL},
        {"lock_wait<=20",
         "use, for example, lock_wait.p95: the trend has the figures count, min, mean, "
         "p50, p90, p95, p99, p999, max"},
        {"rows_seen.p95<=20",
         "use, for example, rows_seen.count: the count has the figures count, per_s"},
        {"depth.mean<=20",
         "use, for example, depth.last: the gauge has the figures last, min, max"},
        {"lock_wait.p95<=20s", "has the wrong unit: lock_wait.p95 is a number"},
        {"rows_seen>=20ms", "has the wrong unit: rows_seen is a number"},
        {"depth==VALID", "depth is a number"},
        {"row_seen>=1", "no figure is called 'row_seen'"},
        {"stage1.depth>=1", "the run has no stages"},
    };
    expectations.script = &script;
    EACH_CASE (i, cases, "%s", cases[i].bound) {
        struct error error = {.kind = ERROR_NONE};
        const size_t count = expectations.count;
        assert_int_equal(expectations_add(&expectations, cases[i].bound, &operations, &error),
                         cases[i].words == NULL ? STATUS_OK : STATUS_REJECTED);
        assert_int_equal(expectations.count, count + (cases[i].words == NULL ? 1 : 0));
        if (cases[i].words != NULL) {
            assert_part(error.text, cases[i].words);
        }
    }
    assert_true(result_allocate_metrics(result, &script));
    static const double waits[] = {1, 2, 3, 100};
    struct metric_store *store = metric_store_create(&script, 1, 1);
    assert_non_null(store);
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        metric_store_add(store, 0, 0, waits[i]);
        metric_store_add(store, 0, 1, 500);
        metric_store_add(store, 0, 2, (double)i);
    }
    metric_store_read(store, result->metrics, 0);
    metric_store_destroy(store);
    result->measured_ns = INT64_C(2000000000);
    judge();
    metric_sums_destroy(result->metrics, result->metric_count);
    assert_int_equal(expectations.count, 8);
    for (size_t i = 0; i < expectations.count; i++) {
        const bool is_wait = i < 2;
        assert_true(expectations.entries[i].is_known);
        assert_int_equal(expectations.entries[i].is_met, !is_wait);
    }
    assert_true(expectations.entries[0].value == 100);
    assert_string_equal(result->exit_reason, "2 of 8 expectations not met: lock_wait.p95<=20: 100, "
                                             "lock_wait.p99.9<=20ms: 100");
}

TEST_BETWEEN(test_missed, set_up, tear_down)
{
    add("throughput>=50001, append_p99<=20ms, lost==0, max_memory<=2GiB");
    judge();
    assert_int_equal(expectations_count_missed(&expectations), 3);
    assert_true(expectations.entries[1].is_met);
    assert_int_equal(result->exit_code, EXIT_CODE_EXPECTATION);
    assert_string_equal(
        result->exit_reason,
        "3 of 4 expectations not met: throughput>=50001: 50,000 rows/s, lost==0: 2, "
        "max_memory<=2GiB: not known");
}

/* A value has enough digits to show on which side of the bound it is. */
TEST_BETWEEN(test_digits, set_up, tear_down)
{
    const struct {
        double value;
        const char *text;
    } cases[] = {{56014.36, "throughput<=50k: 56,014 rows/s"},
                 {50000.4, "throughput<=50k: 50000.4 rows/s"},
                 {1.2, "throughput<=50k: 1.2 rows/s"},
                 {0.1, "throughput<=50k: 0.1 rows/s"},
                 {0, "throughput<=50k: 0 rows/s"},
                 {49999.9, "throughput<=50k: 50,000 rows/s"}};
    add("throughput<=50k");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[EXPECTATIONS_TEXT_BYTES];
        result->throughput_rows_per_s = cases[i].value;
        judge();
        assert_string_equal(expectations_describe(&expectations.entries[0], text), cases[i].text);
    }
}

/* The number of lost rows from reading rows back takes precedence over the number from counting. */
TEST_BETWEEN(test_lost_rows, set_up, tear_down)
{
    add("lost==0, lost==2, lost==7");
    judge();
    assert_true(expectations.entries[1].is_met);
    result->row_verification = (struct row_verification){.state = VERIFICATION_DONE, .lost = 7};
    expectations_judge(&expectations, plan, result);
    assert_false(expectations.entries[0].is_met);
    assert_false(expectations.entries[1].is_met);
    assert_true(expectations.entries[2].is_met);
    result->verification.state = VERIFICATION_NONE;
    result->row_verification.state = VERIFICATION_FAILED;
    expectations_judge(&expectations, plan, result);
    assert_int_equal(expectations_count_missed(&expectations), 3);
}

/* Verdicts are words that stand for numbers. */
TEST_BETWEEN(test_verdict, set_up, tear_down)
{
    add("verdict==VALID, verdict!=INVALID");
    for (int i = VERDICT_VALID; i <= VERDICT_INVALID; i++) {
        result->verdict = (enum verdict)i;
        result->exit_code = EXIT_CODE_OK;
        assert_string_equal(figure_word("verdict", i), verdict_names[result->verdict]);
        judge();
        assert_int_equal(expectations.entries[0].is_met, i == VERDICT_VALID);
        assert_int_equal(expectations.entries[1].is_met, i != VERDICT_INVALID);
    }
    char text[EXPECTATIONS_TEXT_BYTES];
    assert_string_equal(expectations_describe(&expectations.entries[0], text),
                        "verdict==VALID: INVALID");
}

/* The run's own exit code stays, and the missed bounds are named in addition. */
TEST_BETWEEN(test_own_exit_code, set_up, tear_down)
{
    add("lost==0");
    result_add_problem(result, PROBLEM_RUN, EXIT_CODE_SHORT, "sessions or rows are missing");
    judge();
    assert_int_equal(result->exit_code, EXIT_CODE_SHORT);
    assert_string_equal(
        result->exit_reason,
        "sessions or rows are missing; also 1 of 1 expectations not met: lost==0: 2");
}

TEST_BETWEEN(test_many_missed, set_up, tear_down)
{
    for (int i = 0; i < EXPECTATIONS_MAX; i++) {
        add("verified_in_doubt_present == 1234567890");
    }
    judge();
    assert_int_equal(result->exit_code, EXIT_CODE_EXPECTATION);
    const size_t length = strlen(result->exit_reason);
    assert_true(length < sizeof result->exit_reason);
    assert_string_equal(result->exit_reason + length - 3, "...");
    struct error error;
    error_clear(&error);
    assert_int_equal(expectations_add(&expectations, "lost==0", &operations, &error),
                     STATUS_REJECTED);
    assert_non_null(strstr(error.text, "32"));
}

/* There are too many bounds for all values to fit, but all bounds are named. */
TEST_BETWEEN(test_values_left_out, set_up, tear_down)
{
    for (int i = 0; i < 24; i++) {
        add("throughput_rows_per_s>=900k");
    }
    judge();
    assert_null(strstr(result->exit_reason, "50000"));
    assert_null(strstr(result->exit_reason, "..."));
}

/* Bounds on figures of operations are allowed only for operations that the script names. */
TEST_BETWEEN(test_operations, set_up, tear_down)
{
    static const char *const wrong[][2] = {
        {"operation.insrt.p99<=5ms", "did you mean 'operation.insert'"},
        {"operation.insert.begun==0", "no figure is called"},
        {"operation.insert.p99<=5", "a time with"},
        {"operation.insert==1", "no figure is called"},
        {"insrt.p99<=5ms", "no operation is called 'insrt': did you mean 'insert'?"},
        {"append.p100<=1h", "no figure is called"},
        {"append.p250<=1h", "no figure is called"},
        {"append.p99_percent<5", "no figure is called 'append_p99_percent'"},
        {"append.p97_rows_per_s<5", "no figure is called 'append_p97_rows_per_s'"},
        {"insert.begun==0", "no figure is called"},
        {"append.refused==0", "no figure is called"},
        {"append.p0<1s", "no figure is called"},
        {"append.p99.99999<1s", "no figure is called"},
    };
    struct error error = {0};
    assert_int_equal(expectations_add(&expectations, "failed==0", &operations, &error),
                     STATUS_REJECTED);
    assert_non_null(strstr(error.text, "--workload"));
    error_clear(&error);
    assert_int_equal(expectations_add(&expectations, "operation.x.p99<1s", &operations, &error),
                     STATUS_REJECTED);
    assert_non_null(strstr(error.text, "--workload"));
    plan->script = script_load("select-insert", NULL, 0, NULL);
    assert_non_null(plan->script);
    operations = plan_operations(plan);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        error_clear(&error);
        assert_int_equal(expectations_add(&expectations, wrong[i][0], &operations, &error),
                         STATUS_REJECTED);
        if (strstr(error.text, wrong[i][1]) == NULL) {
            fail_msg("%s: %s", wrong[i][0], error.text);
        }
    }
    recorder_snapshot_fini(&result->totals);
    assert_true(recorder_snapshot_init(&result->totals, operations.count));
    size_t insert = OPERATIONS;
    while (strcmp(operations.entries[insert].name, "insert") != 0) {
        insert++;
    }
    histogram_record(&result->totals.histograms[insert], 5000000);
    result->totals.counts[insert][COUNT_REFUSED] = 3;
    result->totals.counters[RECORDER_TRANSACTIONS_BEGUN] = 10;
    result->totals.counters[RECORDER_TRANSACTIONS_COMMITTED] = 8;
    result->totals.counters[RECORDER_TRANSACTIONS_FAILED] = 2;
    result->measured_ns = 2 * MONO_NS_PER_S;
    add("operation.insert.p99<6ms, operation.insert.refused==3, transactions_per_s>=4, "
        "transactions==4, failed==2, retries==0, in_doubt==0, committed>7, insert.p95<6ms, "
        "insert.mean==5ms, insert.refused==3");
    judge();
    for (size_t i = 0; i < expectations.count; i++) {
        if (!expectations.entries[i].is_met) {
            fail_msg("%s", expectations.entries[i].bound.text);
        }
    }
    assert_int_equal(expectations.count, 11);
    script_destroy(plan->script);
}

TEST_BETWEEN(test_refused, set_up, tear_down)
{
    static const char *const wrong[] = {"exit_code==0",   "verdict==0",         "verdict==GOOD",
                                        "verdict>=VALID", "throughput==VALID",  "verdict==1VALID",
                                        "target==1",      "nothing<1",          "throughput>=5ms",
                                        "lost==0,",       "lost==0,,elapsed<2s"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct error error;
        error_clear(&error);
        assert_int_equal(expectations_add(&expectations, wrong[i], &operations, &error),
                         STATUS_REJECTED);
        assert_int_equal(error.kind, ERROR_USAGE);
        assert_true(error.text[0] != '\0');
    }
}

/* Every short name stands for an existing column. */
TEST_BETWEEN(test_aliases, set_up, tear_down)
{
    const struct figure_set set = {.operations = operation_list_all()};
    struct figure_columns columns = {0};
    struct figure_cell cell;
    for (size_t at = 0; figure_next_cell(&set, &at, &cell);) {
        if (figure_is_number(cell.unit)) {
            figure_columns_add(&columns, cell.key);
        }
    }
    assert_true(columns.count > 60);
    assert_true(columns.count <= FIGURE_COLUMNS_MAX);
    static const char *const words[] = {"throughput", "elapsed", "max_cpu",    "max_memory",
                                        "dropped",    "refused", "timed_out",  "acknowledged",
                                        "rejected",   "failed",  "duplicates", "finished"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct figure_choice choice;
        assert_int_equal(figure_find(&columns, words[i], &choice, NULL), STATUS_OK);
        assert_int_equal(choice.count, 1);
        assert_non_null(figure_of_key(choice.names[0]));
    }
    struct figure_choice choice;
    static const char *const doubles[] = {"lost", "in_doubt"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(figure_find(&columns, doubles[i], &choice, NULL), STATUS_OK);
        assert_int_equal(choice.count, 2);
    }
}
