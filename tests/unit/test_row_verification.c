#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

#include "load/exceptions.h"
#include "measure/row_verification.h"

static struct row_exception exception(uint64_t first, uint64_t rows, uint64_t accepted,
                                      bool is_in_doubt)
{
    return (struct row_exception){first, rows, accepted, is_in_doubt};
}

/* Reads rows first … first+rows-1 of a session. */
static void read_rows(struct row_map *map, int64_t session, int64_t first, int64_t rows,
                      struct session_summary *sessions, struct row_verification *found)
{
    for (int64_t row = first; row < first + rows; row++) {
        row_map_add(map, session, row, sessions, found);
    }
}

/* Three sessions whose bits lie across the borders of words, one of them without rows. */
static void test_all_there(void **state)
{
    (void)state;
    struct session_summary sessions[3] = {{.begun = 100}, {.begun = 0}, {.begun = 333}};
    struct row_verification found = {0};
    struct row_map *map = row_map_create(sessions, 3);
    assert_non_null(map);
    read_rows(map, 0, 0, 100, sessions, &found);
    read_rows(map, 2, 0, 333, sessions, &found);
    row_map_settle(map, sessions, &found);
    row_map_destroy(map);
    assert_int_equal(found.read, 433);
    assert_int_equal(found.present, 433);
    assert_int_equal(found.lost + found.duplicates + found.foreign + found.sessions_lost, 0);
    assert_int_equal(sessions[0].present, 100);
    assert_int_equal(sessions[1].present, 0);
    assert_int_equal(sessions[2].present, 333);
    assert_true(sessions[1].is_verified);
}

static void test_lost_doubled_and_foreign(void **state)
{
    (void)state;
    struct session_summary sessions[2] = {{.begun = 130}, {.begun = 70}};
    struct row_verification found = {0};
    struct row_map *map = row_map_create(sessions, 2);
    read_rows(map, 0, 0, 63, sessions, &found); /* 63 … 65 are lost */
    read_rows(map, 0, 66, 64, sessions, &found);
    read_rows(map, 1, 0, 70, sessions, &found);
    read_rows(map, 1, 69, 1, sessions, &found);
    read_rows(map, 1, 69, 1, sessions, &found);
    const int64_t foreign[][2] = {{2, 0},  {-1, 0},        {0, 130},       {1, 70},
                                  {0, -1}, {INT64_MAX, 0}, {0, INT64_MAX}, {INT64_MIN, INT64_MIN}};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        row_map_add(map, foreign[i][0], foreign[i][1], sessions, &found);
    }
    row_map_settle(map, sessions, &found);
    row_map_destroy(map);
    assert_int_equal(found.present, 197);
    assert_int_equal(found.lost, 3);
    assert_int_equal(found.sessions_lost, 1);
    assert_int_equal(found.duplicates, 2);
    assert_int_equal(found.foreign, 8);
    assert_int_equal(sessions[0].lost, 3);
    assert_int_equal(sessions[1].duplicates, 2);
    assert_int_equal(sessions[1].lost, 0);
}

/* Rows that were not acknowledged: in doubt, rejected, and some of a batch. */
static void test_exceptions(void **state)
{
    (void)state;
    struct row_exception list[] = {exception(10, 10, 0, true), exception(40, 10, 0, false),
                                   exception(60, 10, 4, false), exception(90, 10, 7, true)};
    struct session_summary session = {.begun = 100, .exceptions = list, .exception_count = 4};
    struct row_verification found = {0};
    struct row_map *map = row_map_create(&session, 1);
    read_rows(map, 0, 0, 13, &session, &found);  /* 3 of those in doubt */
    read_rows(map, 0, 20, 22, &session, &found); /* 2 of the rejected ones */
    read_rows(map, 0, 50, 16, &session, &found); /* 6 of the batch of which 4 are acknowledged */
    read_rows(map, 0, 70, 25, &session, &found); /* 5 of the batch of which 7 are */
    row_map_settle(map, &session, &found);
    row_map_destroy(map);
    /* acknowledged: 60 outside of all exceptions, and 4, and 7 */
    assert_int_equal(session.present, 60 + 4 + 5);
    assert_int_equal(session.lost, 2);
    assert_int_equal(session.unacknowledged_present, 3 + 2 + 2);
    assert_int_equal(found.in_doubt_present, 3);
    assert_int_equal(found.rejected_present, 4);
    assert_int_equal(found.present + found.lost, 71);
}

/* Rows of which nothing was accepted make one entry while they follow one another. */
static void test_exceptions_are_kept_short(void **state)
{
    (void)state;
    struct exceptions exceptions = {0};
    struct session_summary summary = {0};
    const struct row_exception all[] = {
        exception(0, 10, 0, false), exception(10, 10, 0, false), exception(20, 10, 0, true),
        exception(30, 10, 5, true), exception(40, 10, 0, true),  exception(60, 10, 0, true),
        exception(70, 0, 0, true),  exception(70, 30, 0, true),
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        exceptions_add(&exceptions, &all[i]);
    }
    exceptions_hand_over(&exceptions, &summary);
    const struct row_exception wanted[] = {exception(0, 20, 0, false), exception(20, 10, 0, true),
                                           exception(30, 10, 5, true), exception(40, 10, 0, true),
                                           exception(60, 40, 0, true)};
    assert_int_equal(summary.exception_count, 5);
    assert_false(summary.lacks_exceptions);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(summary.exceptions[i].first, wanted[i].first);
        assert_int_equal(summary.exceptions[i].rows, wanted[i].rows);
        assert_int_equal(summary.exceptions[i].accepted, wanted[i].accepted);
        assert_int_equal(summary.exceptions[i].is_in_doubt, wanted[i].is_in_doubt);
    }
    free(summary.exceptions);
    assert_null(exceptions.list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_there),
        cmocka_unit_test(test_lost_doubled_and_foreign),
        cmocka_unit_test(test_exceptions),
        cmocka_unit_test(test_exceptions_are_kept_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
