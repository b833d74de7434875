/* Groups of sessions: numbers, shares, and what is refused. */
#include "plan/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

enum {
    KINDS_MAX = 4
};

static struct script_transaction kinds[KINDS_MAX];
static struct script script;
static struct plan plan;

/* Assigns `sessions` sessions. A part of 1 or more is a number, a part below 1 a share, and a
 * negative part a weight. */
static enum exit_code assign(unsigned sessions, const double parts[KINDS_MAX], struct error *error)
{
    memset(kinds, 0, sizeof kinds);
    script = (struct script){.name = "x", .transactions = kinds};
    for (size_t i = 0; i < KINDS_MAX && parts[i] != 0; i++) {
        kinds[i] = (struct script_transaction){.name = "t",
                                               .weight = parts[i] < 0 ? -parts[i] : 0,
                                               .sessions = parts[i] > 0 ? parts[i] : 0,
                                               .is_share = parts[i] < 1};
        script.transaction_count++;
    }
    plan = (struct plan){.sessions = sessions, .script = &script};
    error_clear(error);
    return groups_assign(&plan, error);
}

static void release(void)
{
    free(plan.places);
    free(plan.groups);
}

TEST(test_parts)
{
    static const struct {
        unsigned sessions;
        double parts[KINDS_MAX];
        unsigned sizes[KINDS_MAX + 1]; /* sessions of group 0, then of each transaction */
    } cases[] = {
        {100, {10, -1}, {90, 10, 0}},
        {100, {0.1, -1, -2}, {90, 10, 0, 0}},
        {100, {0.1, 0.9}, {0, 10, 90}},
        {7, {0.5, -1}, {3, 4, 0}},
        {3, {0.01, -1}, {2, 1, 0}}, /* a share is at least one session */
        {20, {5, 0.25, 0.25, -1}, {5, 5, 5, 5, 0}},
        {1000, {0.333, -1}, {667, 333, 0}},
        {4, {4}, {0, 4}},
        {5, {0.5, 0.5}, {0, 3, 2}}, /* the sum is rounded, so that no session is left over */
        {10, {1.0 / 3, 1.0 / 3, 1.0 / 3}, {0, 3, 4, 3}},
    };
    struct error error;
    EACH_CASE (i, cases, "%u sessions, %g %g", cases[i].sessions, cases[i].parts[0],
               cases[i].parts[1]) {
        unsigned found[KINDS_MAX + 1] = {0};
        assert_int_equal(assign(cases[i].sessions, cases[i].parts, &error), EXIT_CODE_OK);
        for (unsigned s = 0; s < cases[i].sessions; s++) {
            const struct group_place place = plan_place(&plan, s);
            assert_true(place.group <= script.transaction_count);
            assert_int_equal(place.member, found[place.group]++); /* each number once, in order */
        }
        for (size_t g = 0; g <= script.transaction_count; g++) {
            assert_int_equal(found[g], cases[i].sizes[g]);
            assert_int_equal(plan.groups[g].sessions, cases[i].sizes[g]);
        }
        release();
    }
}

/* Among the first sessions of a run each group has its share, to within one session. */
TEST(test_shares_of_the_first_sessions)
{
    static const double parts[KINDS_MAX] = {0.1, 0.35, -1};
    struct error error;
    assert_int_equal(assign(1000, parts, &error), EXIT_CODE_OK);
    unsigned found[KINDS_MAX + 1] = {0};
    for (unsigned s = 0; s < 1000; s++) {
        found[plan_place(&plan, s).group]++;
        assert_true(fabs(found[1] - 0.1 * (s + 1)) < 1.01);
        assert_true(fabs(found[2] - 0.35 * (s + 1)) < 1.01);
    }
    release();
}

/* A group that is given as a number has the first sessions of the run. */
TEST(test_numbers_come_first)
{
    static const double parts[KINDS_MAX] = {-1, 3, 0.5};
    struct error error;
    assert_int_equal(assign(10, parts, &error), EXIT_CODE_OK);
    for (unsigned s = 0; s < 10; s++) {
        assert_int_equal(plan_place(&plan, s).group == 2, s < 3);
    }
    release();
}

TEST(test_without_groups)
{
    static const double parts[KINDS_MAX] = {-1, -2};
    struct error error;
    assert_int_equal(assign(5, parts, &error), EXIT_CODE_OK);
    assert_null(plan.places);
    assert_int_equal(plan_place(&plan, 3).group, 0);
    assert_int_equal(plan_place(&plan, 3).member, 3);
}

TEST(test_refused)
{
    static const struct {
        unsigned sessions;
        double parts[KINDS_MAX];
        const char *why;
    } cases[] = {
        {5, {6}, "need 6 sessions of their own: this run has 5, use 6 or more"},
        {5, {5, -1}, "drawn by weight need at least one more: this run has 5, use 6 or more"},
        {5, {0.5, 0.75}, "need 6 sessions of their own"},
        {5, {4}, "and 1 of 5 sessions would do nothing"},
        {10, {0.5, 0.3}, "and 2 of 10 sessions would do nothing"},
    };
    struct error error;
    EACH_CASE (i, cases, "%u sessions, %g %g", cases[i].sessions, cases[i].parts[0],
               cases[i].parts[1]) {
        assert_int_equal(assign(cases[i].sessions, cases[i].parts, &error), EXIT_CODE_USAGE);
        assert_non_null(strstr(error.text, cases[i].why));
        release();
    }
    static const double one[KINDS_MAX] = {1, -1};
    assign(5, one, &error);
    release();
    plan.places = NULL;
    plan.groups = NULL;
    plan.records = 10;
    assert_int_equal(groups_assign(&plan, &error), EXIT_CODE_USAGE);
    assert_non_null(strstr(error.text, "cannot end after RECORDS"));
    error_clear(&error);
    plan.records = 0;
    plan.has_group_rates = true;
    plan.rate.first = 10; /* a rate for all */
    assert_int_equal(groups_assign(&plan, &error), EXIT_CODE_USAGE);
    assert_non_null(strstr(error.text, "leave --rate and --rate-stage out"));
}
