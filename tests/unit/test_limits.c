#include "unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "limits/limits.h"
#include "report/check.h"

static const struct limit *find(const struct limit_list *list, enum limit_id id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->entries[i].id == id) {
            return &list->entries[i];
        }
    }
    return NULL;
}

static void test_first_of_limits(void **state)
{
    (void)state;
    const struct limit_list list = {
        .count = 3,
        .entries = {{.id = LIMIT_OPEN_FILES, .sessions = 100},
                    {.id = LIMIT_MEMORY, .sessions = 40, .is_estimate = true},
                    {.id = LIMIT_MAP_COUNT, .sessions = LIMIT_NONE}}};
    const struct limit *first = NULL;
    assert_int_equal(limits_sessions(&list, false, &first), 100);
    assert_ptr_equal(first, &list.entries[0]);
    assert_int_equal(limits_sessions(&list, true, &first), 40);
    assert_ptr_equal(first, &list.entries[1]);
    const struct limit_list none = {.count = 1, .entries = {{.sessions = LIMIT_NONE}}};
    assert_true(limits_sessions(&none, true, &first) == LIMIT_NONE);
    assert_null(first);
}

/* The arithmetic, held against what this process can know of itself. */
static void test_open_files(void **state)
{
    (void)state;
    struct rlimit files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    struct limit_list list;
    struct limits_question question = {
        .sessions = 1, .stack_bytes = 65536, .files_per_session = 3, .other_files = 5};
    limits_read(&question, &list);
    const struct limit *limit = find(&list, LIMIT_OPEN_FILES);
    assert_non_null(limit);
    /* valgrind keeps some for itself, and tells getrlimit so */
    assert_in_range(limit->allowed, files.rlim_max, files.rlim_max + 16);
    assert_int_equal(limit->needed, 8);
    assert_int_equal(limit->sessions, (limit->allowed - limit->used - 5) / 3);
    assert_int_equal(limit->grade, LIMIT_PASS);
    const uint64_t used = limit->used;
    /* one more is one more */
    const int file = dup(0);
    assert_true(file >= 0);
    question.sessions = limit->sessions + 1;
    limits_read(&question, &list);
    close(file);
    limit = find(&list, LIMIT_OPEN_FILES);
    assert_int_equal(limit->used, used + 1);
    assert_int_equal(limit->grade, LIMIT_FAIL);
    assert_true(limit->fix[0] != '\0');
}

static void test_sides(void **state)
{
    (void)state;
    static const struct server_limits server = {
        .count = 1, .sessions = {{.name = "max_connections", .allowed = 10, .used = 4}}};
    struct limits_question question = {.sessions = 8,
                                       .stack_bytes = 65536,
                                       .has_server = true,
                                       .is_remote = true,
                                       .server = &server};
    struct limit_list list;
    limits_read(&question, &list);
    const struct limit *limit = find(&list, LIMIT_SESSIONS);
    assert_non_null(limit);
    assert_int_equal(limit->side, LIMIT_DATABASE);
    /* the connection that asked makes room */
    assert_int_equal(limit->used, 3);
    assert_int_equal(limit->sessions, 7);
    assert_int_equal(limit->grade, LIMIT_FAIL);
    for (size_t i = 0; i < list.count; i++) {
        assert_int_not_equal(list.entries[i].side, LIMIT_SERVER); /* it is on another machine */
    }
    question.sessions = 7;
    limits_read(&question, &list);
    assert_int_equal(find(&list, LIMIT_SESSIONS)->grade, LIMIT_PASS);
}

static void test_fix_of_a_setting(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"max_connections = N+3 in postgresql.conf", "max_connections = 123 in postgresql.conf"},
        {"SET x = N; to keep it, x = N under [mysqld]",
         "SET x = 120; to keep it, x = 120 under [mysqld]"},
        {"ALTER ROLE \"a N b\" CONNECTION LIMIT N", "ALTER ROLE \"a N b\" CONNECTION LIMIT 120"},
        {"ALTER ROLE N5 CONNECTION LIMIT N", "ALTER ROLE N5 CONNECTION LIMIT 120"},
        {"N sessions, NO more", "N sessions, NO more"},
        {"", ""},
    };
    char fix[LIMIT_FIX_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        remedy_setting(fix, cases[i][0], 120);
        assert_string_equal(fix, cases[i][1]);
    }
    char longest[2 * LIMIT_FIX_BYTES];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    remedy_setting(fix, longest, 120);
    assert_int_equal(strlen(fix), LIMIT_FIX_BYTES - 1);
    memcpy(longest + LIMIT_FIX_BYTES - 4, " N", 3);
    remedy_setting(fix, longest, 1234567);
    assert_string_equal(fix + LIMIT_FIX_BYTES - 4, " 12");
    /* for those that are there already, too */
    static const struct server_limits server = {
        .count = 1,
        .sessions = {{.name = "max_connections", .allowed = 10, .used = 4, .fix = "x = N"}}};
    const struct limits_question question = {.sessions = 8,
                                             .stack_bytes = 65536,
                                             .has_server = true,
                                             .is_remote = true,
                                             .server = &server};
    struct limit_list list;
    limits_read(&question, &list);
    assert_string_equal(find(&list, LIMIT_SESSIONS)->fix, "x = 11");
}

static void test_ports_of_unix_sockets(void **state)
{
    (void)state;
    struct limits_question question = {
        .sessions = 8, .stack_bytes = 65536, .files_per_session = 1, .uses_tcp = true};
    struct limit_list list;
    limits_read(&question, &list);
    const struct limit *limit = find(&list, LIMIT_PORTS);
    assert_non_null(limit);
    assert_true(limit->allowed > 0 && limit->allowed <= 65536);
    question.uses_tcp = false;
    limits_read(&question, &list);
    assert_null(find(&list, LIMIT_PORTS));
}

static const char *raise_it(const struct place *place, enum remedy remedy, uint64_t value,
                            uint64_t hard)
{
    static char fix[LIMIT_FIX_BYTES];
    remedy_rlimit(fix, place, remedy, value, hard);
    return fix;
}

static void test_remedies(void **state)
{
    (void)state;
    struct place place = {.user = "ann"};
    const struct place of_server = {.user = "ann", .pid = 123};
    char fix[LIMIT_FIX_BYTES];
    remedy_find_place(&place, "0::/user.slice/user-1000.slice/session-2.scope\n", false);
    assert_int_equal(place.kind, PLACE_LOGIN);
    assert_string_equal(raise_it(&place, REMEDY_FILES, 5000, 9),
                        "in /etc/security/limits.conf: ann - nofile 5000, then log in again; or: "
                        "sudo prlimit --nofile=5000 --pid $$");
    assert_string_equal(raise_it(&of_server, REMEDY_FILES, 5000, 0),
                        "in /etc/security/limits.conf: ann - nofile 5000, then start it from a new "
                        "login; or as root: prlimit --nofile=5000 --pid 123");
    /* limits.conf counts KiB here, prlimit bytes */
    assert_non_null(strstr(raise_it(&place, REMEDY_ADDRESS_SPACE, 4096, 9), "ann - as 4, then"));
    /* the user may go up to the hard limit alone */
    assert_string_equal(raise_it(&place, REMEDY_TASKS, 50, 90), "ulimit -Su 50");

    remedy_find_place(&place, "8:pids:/x\n0::/system.slice/mariadb.service\n", false);
    assert_int_equal(place.kind, PLACE_SERVICE);
    assert_string_equal(
        raise_it(&place, REMEDY_FILES, 5000, 9),
        "systemctl edit mariadb.service: [Service] LimitNOFILE=5000, then systemctl "
        "restart mariadb.service");
    remedy_find_place(&place, "0::/system.slice/docker.service\n", false);
    assert_int_equal(place.kind, PLACE_SERVICE);

    remedy_find_place(&place, "0::/system.slice/docker-0123.scope\n", false);
    assert_int_equal(place.kind, PLACE_CONTAINER);
    assert_string_equal(raise_it(&place, REMEDY_FILES, 5000, 9),
                        "docker run --ulimit nofile=5000:5000 ...");
    /* docker takes no such option */
    assert_string_equal(raise_it(&place, REMEDY_ADDRESS_SPACE, 5000, 9),
                        "as root of the machine: prlimit --as=5000 --pid PID");
    remedy_cgroup(fix, &place, "/sys/fs/cgroup/x/pids.max", false, 70);
    assert_string_equal(fix, "docker update --pids-limit 70 CONTAINER");
    remedy_cgroup(fix, &place, "/m/memory.max", true, 9);
    assert_string_equal(fix, "docker update --memory 9 --memory-swap 9 CONTAINER");
}

/* A limit belongs to the unit whose folder it is in, which may be another than the process's. */
static void test_remedies_of_units(void **state)
{
    (void)state;
    struct place place;
    char fix[LIMIT_FIX_BYTES];
    remedy_find_place(&place, "0::/system.slice/mariadb.service\n", false);
    const struct {
        const char *file;
        const char *fix;
    } units[] = {
        {"/sys/fs/cgroup/system.slice/mariadb.service/pids.max",
         "systemctl set-property mariadb.service TasksMax=70"},
        {"/sys/fs/cgroup/pids/user.slice/pids.max",
         "systemctl set-property user.slice TasksMax=70"},
        {"/c/user.slice/user@7.service/pids.max",
         "systemctl set-property user@7.service TasksMax=70"},
        {"/c/user.slice/user@7.service/a.slice/pids.max",
         "systemctl --user set-property a.slice TasksMax=70"},
        {"/sys/fs/cgroup/x/pids.max", "echo 70 > /sys/fs/cgroup/x/pids.max"},
        {"pids.max", "echo 70 > pids.max"},
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        remedy_cgroup(fix, &place, units[i].file, false, 70);
        assert_string_equal(fix, units[i].fix);
    }
}

static void test_conclusion(void **state)
{
    (void)state;
    char line[CHECK_LINE_BYTES];
    struct limit limit = {.side = LIMIT_CLIENT, .name = "RLIMIT_NPROC", .where = "ulimit -u"};
    check_conclusion(10, 1234, &limit, line);
    assert_string_equal(line,
                        "1 to 1,234 sessions; the first limit is RLIMIT_NPROC (client, ulimit -u)");
    check_conclusion(5000, 1234, &limit, line);
    assert_string_equal(line, "5,000 sessions do not fit, 1,234 do; the first limit is "
                              "RLIMIT_NPROC (client, ulimit -u)");
    check_conclusion(10, 0, &limit, line);
    assert_string_equal(line,
                        "no session fits; the first limit is RLIMIT_NPROC (client, ulimit -u)");
    limit.is_estimate = true;
    check_conclusion(100, 50, &limit, line);
    assert_string_equal(
        line, "1 to about 50 sessions; the first limit is RLIMIT_NPROC (client, an estimate)");
    check_conclusion(10, LIMIT_NONE, NULL, line);
    assert_string_equal(line, "no limit was found");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_of_limits),
        cmocka_unit_test(test_open_files),
        cmocka_unit_test(test_sides),
        cmocka_unit_test(test_ports_of_unix_sockets),
        cmocka_unit_test(test_remedies),
        cmocka_unit_test(test_fix_of_a_setting),
        cmocka_unit_test(test_remedies_of_units),
        cmocka_unit_test(test_conclusion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
