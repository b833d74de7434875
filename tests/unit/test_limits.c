#include "unit/unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "limits/limits.h"
#include "plan/facts.h"
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

TEST(test_first_limit)
{
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

/* The result for open files is compared with what this process itself can find out. */
TEST(test_open_files)
{
    struct rlimit files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    struct limit_list list;
    struct limits_question question = {
        .sessions = 1, .stack_bytes = 65536, .files_per_session = 3, .other_files = 5};
    limits_read(&question, &list);
    const struct limit *limit = find(&list, LIMIT_OPEN_FILES);
    assert_non_null(limit);
    /* valgrind reserves some files, and getrlimit reports the rest */
    assert_in_range(limit->allowed, files.rlim_max, files.rlim_max + 16);
    assert_int_equal(limit->needed, 8);
    assert_int_equal(limit->sessions, (limit->allowed - limit->used - 5) / 3);
    assert_int_equal(limit->grade, LIMIT_PASS);
    const uint64_t used = limit->used;
    DIR *files_open = opendir("/proc/self/fd");
    assert_non_null(files_open);
    uint64_t open_now = 0;
    for (const struct dirent *entry; (entry = readdir(files_open)) != NULL;) {
        const long number = strtol(entry->d_name, NULL, 10);
        open_now += entry->d_name[0] != '.' && number != dirfd(files_open) &&
                    (uint64_t)number < limit->allowed;
    }
    closedir(files_open);
    assert_int_equal(used, open_now);    /* without those of the reading itself */
    question.sessions = limit->sessions; /* as many sessions as fit */
    limits_read(&question, &list);
    assert_int_equal(find(&list, LIMIT_OPEN_FILES)->grade, LIMIT_PASS);
    question.sessions++; /* one session more than fits */
    limits_read(&question, &list);
    limit = find(&list, LIMIT_OPEN_FILES);
    assert_int_equal(limit->sessions + 1, question.sessions);
    assert_int_equal(limit->grade, LIMIT_FAIL);
    /* one more open file of this process is noticed */
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

/* The soft limit is raised to the hard limit only if it is too low for the sessions. */
TEST(test_raising_open_files)
{
    struct rlimit before, after;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit low = {.rlim_cur = 100, .rlim_max = before.rlim_max};
    const struct {
        unsigned sessions;
        uint64_t spare;
        bool is_raised;
    } cases[] = {{30, 5, false}, {30, 6, true}, {31, 5, true}};
    assert_true(before.rlim_max > low.rlim_cur);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct limits_question question = {
            .sessions = cases[i].sessions, .files_per_session = 3, .other_files = 5};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        limits_allow_files(&question, cases[i].spare);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(after.rlim_cur, cases[i].is_raised ? low.rlim_max : low.rlim_cur);
    }
}

/* The thread that watches connects is counted once for all sessions. */
TEST(test_watched_connects)
{
    const struct adapter plain = {.files_per_session = 1};
    const struct adapter watched = {.files_per_session = 1, .flags = ADAPTER_WATCHED};
    const struct facts facts = {.ranks = 0};
    struct plan plan = {
        .facts = &facts, .adapter = &plain, .sessions = 7, .connect_concurrency = 3};
    struct limits_question without, with;
    limits_question_init(&without, &plan, NULL, NULL);
    plan.adapter = &watched;
    limits_question_init(&with, &plan, NULL, NULL);
    assert_int_equal(with.other_threads, without.other_threads + 1);
    assert_int_equal(with.other_files, without.other_files);
}

static unsigned count_three(const struct target *target, unsigned *opening)
{
    (void)target;
    *opening = 2;
    return 3;
}

/* The files and threads of a run in addition to those of its sessions. */
TEST(test_files_and_threads)
{
    struct adapter adapter = {.files_per_session = 1};
    struct facts facts = {.ranks = 0, .server_pid = 7, .server_cgroup = "x"};
    const struct plan plain = {.facts = &facts,
                               .adapter = &adapter,
                               .sessions = 7,
                               .idle_sessions = 4,
                               .host_count = 3,
                               .host_policy = HOST_FIRST,
                               .stack_bytes = 65536,
                               .connect_concurrency = 5};
    const struct connection_info there = {.host = "db", .port = 5432};
    struct limits_question base, question;
    struct plan plan = plain;
    limits_question_init(&base, &plain, &there, NULL);
    assert_int_equal(base.sessions, 11);
    assert_int_equal(base.in_other_processes, 0);
    assert_int_equal(base.on_other_machines, 0);
    assert_int_equal(base.hosts, 1);
    assert_int_equal(base.stack_bytes, 65536);
    assert_int_equal(base.files_per_session, 1);
    assert_int_equal(base.other_files, LIMITS_SAMPLER_FILES);
    assert_int_equal(base.other_threads, 1);
    assert_int_equal(base.server_pid, 7);
    assert_string_equal(base.server_cgroup, "x");
    assert_true(base.has_server && base.uses_tcp && !base.is_embedded && !base.has_script);
    assert_string_equal(base.host, "db");
    assert_int_equal(base.port, 5432);
    static const struct {
        enum wait_mode waits;
        uint16_t metrics, live;
        bool is_control;
        unsigned files, threads;
    } cases[] = {
        {WAITS_OFF, 0, 0, false, 0, 0},       {WAITS_ON, 0, 0, false, 3, 1},
        {WAITS_OFF, 1, 0, false, 21, 1},      {WAITS_OFF, 0, 1, false, 135, 1},
        {WAITS_OFF, 0, 0, true, 135, 1},      {WAITS_OFF, 0, 1, true, 135, 1},
        {WAITS_ON, 9000, 9001, true, 159, 3},
    };
    limits_question_init(&base, &plain, NULL, NULL);
    assert_false(base.has_server);
    assert_int_equal(base.other_files,
                     LIMITS_SAMPLER_FILES); /* the caller adds the files of the output */
    EACH_CASE (i, cases, "case %zu", i) {
        plan = plain;
        plan.waits = cases[i].waits;
        plan.metrics_port = cases[i].metrics;
        plan.live_port = cases[i].live;
        plan.is_control = cases[i].is_control;
        limits_question_init(&question, &plan, &there, NULL);
        assert_int_equal(question.other_files, LIMITS_SAMPLER_FILES + cases[i].files);
        assert_int_equal(question.other_threads, 1); /* the others run already */
        limits_question_init(&question, &plan, NULL, NULL);
        assert_int_equal(question.other_files, LIMITS_SAMPLER_FILES + cases[i].files);
        assert_int_equal(question.other_threads, 1 + cases[i].threads);
    }
    struct script script = {.name = "s"};
    plan = plain;
    plan.script = &script;
    limits_question_init(&question, &plan, &there, NULL);
    assert_true(question.has_script);
    plan = plain;
    plan.host_policy = HOST_SPREAD;
    adapter.count_files = count_three;
    limits_question_init(&question, &plan, &there, NULL);
    assert_int_equal(question.hosts, 3);
    assert_int_equal(question.files_per_session, 3);
    assert_int_equal(question.other_files,
                     LIMITS_SAMPLER_FILES + 2 * 5); /* while five connects are open */
    adapter.flags = ADAPTER_EMBEDDED;
    adapter.count_files = NULL;
    const struct connection_info inside = {.is_embedded = true};
    limits_question_init(&question, &plan, &inside, NULL);
    assert_true(question.is_embedded && !question.has_server);
    assert_int_equal(question.other_files, LIMITS_SAMPLER_FILES + 1);
    limits_question_init(&question, &plan, NULL, NULL);
    assert_true(question.is_embedded);
    adapter.flags = 0;
    /* this rank has 3 + 1 of the 11 sessions, and all ranks of this machine have 6 */
    facts.ranks = 2;
    facts.share = (struct plan_share){.count = 3, .idle = 1};
    facts.machine_sessions = 6;
    limits_question_init(&question, &plan, &there, NULL);
    assert_int_equal(question.in_other_processes, 7);
    assert_int_equal(question.on_other_machines, 5);
}

TEST(test_sockets)
{
    static const struct {
        const char *host;
        bool uses_tcp;
    } cases[] = {{"127.0.0.1", true}, {"/run/db", false}, {"@abstract", false}, {"", true}};
    const struct adapter adapter = {.files_per_session = 1};
    const struct facts facts = {.ranks = 0};
    const struct plan plan = {.facts = &facts, .adapter = &adapter, .sessions = 7};
    EACH_CASE (i, cases, "%s", cases[i].host) {
        struct limits_question question;
        struct connection_info there = {.port = 1};
        snprintf(there.host, sizeof there.host, "%s", cases[i].host);
        limits_question_init(&question, &plan, &there, NULL);
        assert_int_equal(question.uses_tcp, cases[i].uses_tcp);
        if (cases[i].host[0] == '\0') {
            assert_null(question.host);
        } else {
            assert_string_equal(question.host, cases[i].host);
        }
    }
}

/* A limit that cannot be read is unknown, which is not the same as "no limit". */
TEST(test_a_process_that_is_not_found)
{
    const struct limits_question question = {.sessions = 1,
                                             .stack_bytes = 65536,
                                             .has_server = true,
                                             .uses_tcp = true,
                                             .host = "127.0.0.1",
                                             .port = 1};
    struct limit_list list;
    limits_read(&question, &list);
    bool is_told = false;
    for (size_t i = 0; i < list.count; i++) {
        if (strcmp(list.entries[i].name, "limits of its process") == 0) {
            is_told = list.entries[i].is_unknown && list.entries[i].note[0] != '\0';
        }
    }
    assert_true(is_told);
}

TEST(test_sides)
{
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
    /* the connection that asked is closed before the sessions open */
    assert_int_equal(limit->used, 3);
    assert_int_equal(limit->sessions, 7);
    assert_int_equal(limit->grade, LIMIT_FAIL);
    for (size_t i = 0; i < list.count; i++) {
        assert_int_not_equal(list.entries[i].side,
                             LIMIT_SERVER); /* the server is on another machine */
    }
    question.sessions = 7;
    limits_read(&question, &list);
    assert_int_equal(find(&list, LIMIT_SESSIONS)->grade, LIMIT_PASS);
}

static const char *fix_of(const char *text, uint64_t used)
{
    static struct limit_list list;
    struct server_limits server = {
        .count = 1, .sessions = {{.name = "max_connections", .allowed = 10, .used = used}}};
    const struct limits_question question = {.sessions = 120,
                                             .stack_bytes = 65536,
                                             .has_server = true,
                                             .is_remote = true,
                                             .server = &server};
    snprintf(server.sessions[0].fix, sizeof server.sessions[0].fix, "%s", text);
    limits_read(&question, &list);
    return find(&list, LIMIT_SESSIONS)->fix;
}

/* Where a limit of this machine is set, and its unit. */
TEST(test_places)
{
    static const struct {
        enum limit_id id;
        const char *name, *where, *unit;
    } cases[] = {
        {LIMIT_OPEN_FILES, "RLIMIT_NOFILE", "ulimit -Hn", "files"},
        {LIMIT_USER_TASKS, "RLIMIT_NPROC", "ulimit -u", "threads"},
        {LIMIT_THREADS_MAX, "kernel.threads-max", "sysctl", "threads"},
        {LIMIT_PID_MAX, "kernel.pid_max", "sysctl", "threads"},
        {LIMIT_MAP_COUNT, "vm.max_map_count", "sysctl", "maps"},
        {LIMIT_ADDRESS_SPACE, "RLIMIT_AS", "ulimit -v", "bytes"},
        {LIMIT_PORTS, "ip_local_port_range", "sysctl", "ports"},
        {LIMIT_MEMORY, "free memory", "this machine", "bytes"},
    };
    const struct limits_question question = {
        .sessions = 1, .files_per_session = 1, .uses_tcp = true};
    struct limit_list list;
    limits_read(&question, &list);
    EACH_CASE (i, cases, "%s", cases[i].name) {
        size_t at = 0;
        while (at < list.count && (list.entries[at].side != LIMIT_CLIENT ||
                                   strcmp(list.entries[at].name, cases[i].name) != 0)) {
            at++;
        }
        assert_true(at < list.count);
        assert_int_equal(list.entries[at].id, cases[i].id);
        assert_string_equal(list.entries[at].where, cases[i].where);
        assert_string_equal(list.entries[at].unit, cases[i].unit);
    }
}

TEST(test_fix_of_a_setting)
{
    static const char *const cases[][2] = {
        {"max_connections = N+3 in postgresql.conf", "max_connections = 123 in postgresql.conf"},
        {"SET x = N; to keep it, x = N under [mysqld]",
         "SET x = 120; to keep it, x = 120 under [mysqld]"},
        {"SET x = N*12; to keep it, x = N*12 under [mysqld]",
         "SET x = 1440; to keep it, x = 1440 under [mysqld]"},
        {"ALTER ROLE \"a N b\" CONNECTION LIMIT N", "ALTER ROLE \"a N b\" CONNECTION LIMIT 120"},
        {"ALTER ROLE N5 CONNECTION LIMIT N", "ALTER ROLE N5 CONNECTION LIMIT 120"},
        {"N sessions, NO more", "N sessions, NO more"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(fix_of(cases[i][0], 1), cases[i][1]);
    }
    /* the sessions that are in use are added to N */
    assert_string_equal(fix_of("x = N", 4), "x = 123");
}

TEST(test_ports_of_unix_sockets)
{
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

TEST(test_conclusion)
{
    char line[CHECK_LINE_BYTES];
    struct limit limit = {.side = LIMIT_CLIENT, .name = "RLIMIT_NPROC", .where = "ulimit -u"};
    check_describe_fit(10, 1234, &limit, line);
    assert_string_equal(line, "10 sessions fit; up to 1,234 would; the first limit is RLIMIT_NPROC "
                              "(client, ulimit -u)");
    check_describe_fit(1, 1, &limit, line);
    assert_string_equal(
        line, "1 session fits; no more would; the first limit is RLIMIT_NPROC (client, ulimit -u)");
    check_describe_fit(5000, 1234, &limit, line);
    assert_string_equal(line, "only 1,234 of 5,000 sessions fit; the first limit is "
                              "RLIMIT_NPROC (client, ulimit -u)");
    check_describe_fit(10, 0, &limit, line);
    assert_string_equal(line,
                        "no session fits; the first limit is RLIMIT_NPROC (client, ulimit -u)");
    limit.is_estimate = true;
    check_describe_fit(100, 50, &limit, line);
    assert_string_equal(
        line, "about 50 sessions fit; the first limit is RLIMIT_NPROC (client, an estimate)");
    check_describe_fit(20, 50, &limit, line);
    assert_string_equal(line, "20 sessions fit; up to about 50 would; the first limit is "
                              "RLIMIT_NPROC (client, an estimate)");
    check_describe_fit(10, LIMIT_NONE, NULL, line);
    assert_string_equal(line, "no limit was found");
}

TEST(test_names_of_limits)
{
    static const char *const ids[] = {
        "open_files",   "user_tasks",    "threads_max",   "pid_max", "map_count",
        "cgroup_tasks", "cgroup_memory", "address_space", "commit",  "memory",
        "ports",        "sessions",      "backlog",       "gone"};
    static const char *const sides[] = {"client", "server", "database"};
    static const char *const grades[] = {"PASS", "WARN", "FAIL"};
    assert_int_equal(COUNT_OF(ids), LIMIT_IDS);
    EACH_CASE (i, ids, "%s", ids[i]) {
        assert_string_equal(limit_id_names[i], ids[i]);
    }
    EACH_CASE (i, sides, "%s", sides[i]) {
        assert_string_equal(limit_side_names[i], sides[i]);
        assert_string_equal(limit_grade_names[i], grades[i]);
    }
}
