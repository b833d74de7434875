#include <string.h>

#include "unit/unit.h"

#include "base/limit_sql.h"

static struct limit_facts facts;
static struct server_limits limits;

static int set_up(void **state)
{
    static const char *const plain[][2] = {
        {"version", "10.11.6-MariaDB"}, {"max_connections", "151"},
        {"Max_User_Connections", "0"},  {"thread_handling", "one-thread-per-connection"},
        {"Threads_connected", "3"},     {"max_prepared_stmt_count", "16382"},
        {"Prepared_stmt_count", "20"},  {"account_sessions", "2"},
        {"account", "'u'@'%'"},         {"unheard_of", "7"}};
    (void)state;
    memset(&facts, 0, sizeof facts);
    memset(&limits, 0, sizeof limits);
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        limit_facts_take(&facts, plain[i][0], plain[i][1]);
    }
    limit_facts_take(&facts, "max_connections", NULL);
    limit_facts_take(&facts, NULL, "1");
    return 0;
}

static void test_plain_server(void **state)
{
    (void)state;
    limit_facts_conclude(&facts, true, false, &limits);
    assert_int_equal(limits.count, 2);
    assert_string_equal(limits.sessions[0].name, "max_connections");
    assert_int_equal(limits.sessions[0].allowed, 151);
    assert_int_equal(limits.sessions[0].used, 3);
    assert_string_equal(limits.sessions[1].name, "max_prepared_stmt_count");
    assert_int_equal(limits.sessions[1].allowed, 16382);
    assert_int_equal(limits.sessions[1].used, 21); /* this session's own to come */
    assert_int_equal(limits.tasks_per_session, 1);
    assert_int_equal(limits.files_per_session, 1);
}

static void test_thread_pool(void **state)
{
    (void)state;
    limit_facts_take(&facts, "thread_handling", "pool-of-threads");
    limit_facts_conclude(&facts, false, false, &limits);
    assert_int_equal(limits.count, 1);
    assert_int_equal(limits.tasks_per_session, 0);
}

/* SUPER held the right up to MariaDB 10.11. */
static void test_administrators(void **state)
{
    (void)state;
    limit_facts_take(&facts, "privilege", "SUPER");
    limit_facts_conclude(&facts, false, false, &limits);
    assert_int_equal(limits.sessions[0].allowed, 152);

    memset(&limits, 0, sizeof limits);
    limit_facts_take(&facts, "version", "11.4.2-MariaDB");
    limit_facts_conclude(&facts, false, false, &limits);
    assert_int_equal(limits.sessions[0].allowed, 151);

    memset(&limits, 0, sizeof limits);
    limit_facts_take(&facts, "privilege", "CONNECTION ADMIN");
    limit_facts_conclude(&facts, false, false, &limits);
    assert_int_equal(limits.sessions[0].allowed, 152);
}

static void test_accounts(void **state)
{
    (void)state;
    limit_facts_take(&facts, "max_user_connections", "9");
    limit_facts_take(&facts, "max_user_connections_global", "9");
    limit_facts_conclude(&facts, false, false, &limits);
    assert_int_equal(limits.count, 2);
    assert_int_equal(limits.sessions[1].allowed, 9);
    assert_int_equal(limits.sessions[1].used, 2);
    assert_string_equal(limits.sessions[1].note, "of every account, so of account 'u'@'%'");

    memset(&limits, 0, sizeof limits);
    limit_facts_take(&facts, "privilege", "CONNECTION ADMIN");
    limit_facts_conclude(&facts, false, false, &limits);
    assert_int_equal(limits.count, 1);

    memset(&limits, 0, sizeof limits);
    limit_facts_take(&facts, "max_user_connections", "-1");
    limit_facts_conclude(&facts, false, false, &limits);
    assert_int_equal(limits.count, 1);
}

static void test_no_more_than_there_is_room_for(void **state)
{
    static const char *const row[LIMIT_SQL_COLUMNS] = {"some_limit", "-5", "2", NULL, NULL};
    (void)state;
    for (int i = 0; i < 2 * SESSION_LIMITS_MAX; i++) {
        limit_sql_add(&limits, row);
    }
    assert_int_equal(limits.count, SESSION_LIMITS_MAX);
    assert_int_equal(limits.sessions[0].allowed, 0);
    assert_string_equal(limits.sessions[0].note, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_plain_server, set_up),
        cmocka_unit_test_setup(test_thread_pool, set_up),
        cmocka_unit_test_setup(test_administrators, set_up),
        cmocka_unit_test_setup(test_accounts, set_up),
        cmocka_unit_test_setup(test_no_more_than_there_is_room_for, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
