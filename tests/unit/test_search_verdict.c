/* Exit code and verdict of a search. */
#include <string.h>

#include "unit/unit.h"

#include "measure/search_verdict.h"

/* A search that found 297 of 298, whose rows are all there. */
struct made {
    struct level levels[1];
    struct search search;
    struct result result;
};

static struct made *make(void)
{
    static struct made made;
    memset(&made, 0, sizeof made);
    made.levels[0] = (struct level){
        .sessions = 298, .outcome = LEVEL_FAILED, .reason = LEVEL_REFUSED, .up = 297};
    made.search = (struct search){
        .count = 1, .levels = made.levels, .held = 297, .failed = 298, .end = SEARCH_FOUND};
    made.result.sessions =
        (struct session_ledger){.requested = 298, .connected = 297, .refused = 1, .finished = 297};
    made.result.rows = (struct row_ledger){.planned = 10, .acknowledged = 10};
    made.result.verification = (struct verification){.state = VERIFICATION_DONE, .rows_after = 10};
    return &made;
}

static void assert_judged(struct made *made, enum exit_code code, enum verdict verdict,
                          const char *words)
{
    search_judge(&made->search, &made->result, false);
    assert_int_equal(made->result.exit_code, code);
    assert_int_equal(made->result.verdict, verdict);
    assert_non_null(strstr(made->result.verdict_reason, words));
    assert_int_equal(made->result.exit_reason[0] != '\0', code != EXIT_CODE_OK);
}

static void test_a_maximum_is_a_result(void **state)
{
    (void)state;
    assert_judged(make(), EXIT_CODE_OK, VERDICT_VALID,
                  "297 sessions were held, 298 were tried and were not");
}

static void test_a_bound_is_a_result(void **state)
{
    (void)state;
    static const enum search_end ends[] = {SEARCH_BOUND, SEARCH_MEMORY, SEARCH_TIME};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct made *made = make();
        made->search.end = ends[i];
        made->search.failed = 0;
        assert_judged(made, EXIT_CODE_OK, VERDICT_VALID, "no level failed: there may be more");
        made->search.failed = 400;
        assert_judged(made, EXIT_CODE_OK, VERDICT_VALID, "between them nothing is known");
    }
}

static void test_whose_limit_when_nothing_held(void **state)
{
    (void)state;
    struct made *made = make();
    made->search.held = 0;
    made->search.failed = 1;
    assert_judged(made, EXIT_CODE_SERVER, VERDICT_DEGRADED, "not even 1 session was held");
    made->levels[0].reason = LEVEL_NO_THREAD;
    assert_judged(made, EXIT_CODE_CLIENT_LIMIT, VERDICT_DEGRADED, "not even 1 session was held");

    /* what was found weighs more than how it showed */
    made->result.findings.count = 1;
    made->result.findings.entries[0] = (struct finding){
        .side = LIMIT_DATABASE, .name = "max_connections", .evidence = "1 allowed"};
    assert_judged(made, EXIT_CODE_SERVER, VERDICT_DEGRADED, "max_connections (database): 1");
    made->levels[0].reason = LEVEL_REFUSED;
    made->result.findings.entries[0] =
        (struct finding){.side = LIMIT_CLIENT, .name = "RLIMIT_NOFILE"};
    assert_judged(made, EXIT_CODE_CLIENT_LIMIT, VERDICT_DEGRADED, "RLIMIT_NOFILE (client)");
}

static void test_ended_before_anything_held(void **state)
{
    (void)state;
    struct made *made = make();
    made->search.held = 0;
    made->search.failed = 0;
    made->search.end = SEARCH_TIME;
    assert_judged(made, EXIT_CODE_SHORT, VERDICT_DEGRADED, "no level was held");
    made->search.end = SEARCH_MEMORY;
    assert_judged(made, EXIT_CODE_CLIENT_LIMIT, VERDICT_DEGRADED, "no level was held");
}

static void test_rows_that_are_not_there(void **state)
{
    (void)state;
    struct made *made = make();
    made->result.verification.lost = made->result.verification.lost_at_most = 3;
    assert_judged(made, EXIT_CODE_SHORT, VERDICT_DEGRADED, "3 acknowledged rows are lost");
    made = make();
    made->result.verification.state = VERIFICATION_FAILED;
    assert_judged(made, EXIT_CODE_SHORT, VERDICT_DEGRADED, "not counted");
    made->search.end = SEARCH_GONE;
    assert_judged(made, EXIT_CODE_SERVER, VERDICT_DEGRADED, "not counted");
    made = make();
    made->result.verification.is_shrunk = true;
    assert_judged(made, EXIT_CODE_SHORT, VERDICT_DEGRADED, "fewer rows");
    made = make();
    made->result.rows.planned++;
    assert_judged(made, EXIT_CODE_INTERNAL, VERDICT_DEGRADED, "does not balance");
}

static void test_ends_in_bad_order(void **state)
{
    (void)state;
    struct made *made = make();
    made->search.end = SEARCH_GONE;
    assert_judged(made, EXIT_CODE_SERVER, VERDICT_DEGRADED, "then the server was gone");
    made->search.end = SEARCH_STUCK;
    assert_judged(made, EXIT_CODE_SHORT, VERDICT_DEGRADED, "then some did not leave");
    made->search.end = SEARCH_INTERRUPTED;
    assert_judged(made, EXIT_CODE_INTERRUPTED, VERDICT_DEGRADED, "at least 297 sessions");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_maximum_is_a_result),
        cmocka_unit_test(test_a_bound_is_a_result),
        cmocka_unit_test(test_whose_limit_when_nothing_held),
        cmocka_unit_test(test_ended_before_anything_held),
        cmocka_unit_test(test_rows_that_are_not_there),
        cmocka_unit_test(test_ends_in_bad_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
