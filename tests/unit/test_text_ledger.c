/* The ledger lines of the report: sums that a reader can check, at every size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/text_ledger.h"

static struct result result; /* too large for a stack */

static int set_up(void **state)
{
    (void)state;
    memset(&result, 0, sizeof result);
    return 0;
}

/* Holds a line of the ledgers of the result against what is expected. */
static void check_line(size_t line, const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    text_ledger_add(stream, &result);
    assert_int_equal(fclose(stream), 0);
    char *save = NULL;
    char *found = strtok_r(text, "\n", &save);
    for (size_t i = 0; i < line && found != NULL; i++) {
        found = strtok_r(NULL, "\n", &save);
    }
    assert_non_null(found);
    assert_string_equal(found, expected);
    free(text);
}

/* Terms of 0 are said one by one while there is room, then together, then not. */
static void test_zero_terms(void **state)
{
    (void)state;
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
        check_line(2, cases[i].line);
    }
}

static void test_first_term_stays(void **state)
{
    (void)state;
    result.rows = (struct row_ledger){.planned = 100000000000, .not_sent = 100000000000};
    check_line(2, "Rows      100,000,000,000 = 0 acknowledged + 100,000,000,000 not sent");
}

static void test_nothing_connected(void **state)
{
    (void)state;
    result.sessions = (struct session_ledger){.requested = 2, .refused = 1, .timed_out = 1};
    check_line(0, "Sessions  2 = 0 connected + 1 refused + 1 timed out + 0 not started");
    check_line(1, "Connected 0 = 0 finished + 0 stopped + 0 dropped");
}

static void test_imbalance_is_said(void **state)
{
    (void)state;
    static const char said[] =
        "          DOES NOT BALANCE: a defect of append, do not trust this run";
    result.sessions.requested = 1;
    result.rows.planned = 1;
    check_line(2, said);
    check_line(4, said);
}

static void test_verification(void **state)
{
    (void)state;
    check_line(3, "Verified  nothing: this database keeps no rows to count");

    result.verification.state = VERIFICATION_FAILED;
    snprintf(result.verification.reason, sizeof result.verification.reason, "server is gone");
    check_line(3, "Verified  NO, the rows could not be counted: server is gone");

    result.verification = (struct verification){.state = VERIFICATION_DONE,
                                                .rows_before = 5,
                                                .rows_after = 1,
                                                .lost_at_most = 2,
                                                .is_shrunk = true};
    check_line(3, "Verified  count(*) 5 before, 1 after: 0 to 2 LOST, the table SHRANK");

    result.verification = (struct verification){
        .state = VERIFICATION_DONE, .rows_before = 5, .rows_after = 9, .surplus = 4};
    check_line(3, "Verified  count(*) 5 before, 9 after: 0 lost, 4 more than this run can have");

    /* what each row read says is not said again by a count */
    result.verification.lost = result.verification.lost_at_most = 2;
    result.verification.rejected_arrived = 3;
    result.row_verification =
        (struct row_verification){.state = VERIFICATION_DONE, .read = 4, .rejected_present = 4};
    check_line(3, "Verified  count(*) 5 before, 9 after");
    check_line(4, "Rows read 0 acknowledged are there, 0 lost, 4 REJECTED are there");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_zero_terms, set_up),
        cmocka_unit_test_setup(test_first_term_stays, set_up),
        cmocka_unit_test_setup(test_nothing_connected, set_up),
        cmocka_unit_test_setup(test_imbalance_is_said, set_up),
        cmocka_unit_test_setup(test_verification, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
