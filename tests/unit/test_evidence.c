#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit/unit.h"

#include "limits/limits.h"

static struct result result; /* too large for the stack */
static struct server_limits server;
static struct limits_question question;
static struct evidence evidence;
static struct findings findings;

static int set_up(void **state)
{
    (void)state;
    memset(&result, 0, sizeof result);
    memset(&evidence, 0, sizeof evidence);
    memset(&server, 0, sizeof server);
    result.sessions.requested = 100;
    question = (struct limits_question){.has_server = true, .server = &server};
    evidence.question = &question;
    evidence.server_count = 1;
    return 0;
}

/* Sets the limit that the cause's error names. */
static struct cause *with_limit(struct cause *cause, const char *limit)
{
    cause->error.limit = limit;
    return cause;
}

static struct cause *add_cause(enum cause_phase phase, enum error_kind kind, int number,
                               const char *text)
{
    struct cause *cause = &result.causes.entries[result.causes.count++];
    cause->phase = phase;
    cause->status = STATUS_LOST;
    cause->count = 40;
    error_set(&cause->error, kind, number, NULL, "%s", text);
    return cause;
}

/* Adds a limit to two readings: one from before the run, and one from the moment when the limit was
 * hit. */
static struct limit *add_limit(enum limit_id id, enum limit_side side, uint64_t allowed,
                               uint64_t used)
{
    struct limit *limit = &evidence.shortage.entries[evidence.shortage.count++];
    *limit =
        (struct limit){.id = id, .side = side, .allowed = allowed, .used = used, .unit = "threads"};
    snprintf(limit->name, sizeof limit->name, "%s", limit_id_names[id]);
    snprintf(limit->fix, sizeof limit->fix, "too late");
    evidence.before.entries[evidence.before.count] = *limit;
    evidence.before.entries[evidence.before.count].used = 1;
    snprintf(evidence.before.entries[evidence.before.count].fix, sizeof limit->fix, "fix of %s",
             limit_id_names[id]);
    evidence.before.count++;
    return limit;
}

/* Finds the limits, checks the only finding, and returns it. */
static const struct finding *name_one(enum limit_id id, enum limit_side side, uint64_t sessions)
{
    evidence_name_limits(&evidence, &result, &findings);
    assert_int_equal(findings.count, 1);
    const struct finding *finding = &findings.entries[0];
    assert_int_equal(finding->id, id);
    assert_int_equal(finding->side, side);
    assert_int_equal(finding->sessions, sessions);
    return finding;
}

static void name_none(void)
{
    evidence_name_limits(&evidence, &result, &findings);
    assert_int_equal(findings.count, 0);
}

static void check_says(const struct finding *finding, const char *words)
{
    if (strstr(finding->evidence, words) == NULL) {
        fail_msg("'%s' does not contain '%s'", finding->evidence, words);
    }
}

TEST_BETWEEN(test_no_failure_no_finding, set_up, NULL)
{
    add_limit(LIMIT_USER_TASKS, LIMIT_CLIENT, 100, 100);
    evidence.growth[EVIDENCE_LISTEN_OVERFLOWS] = 5;
    evidence.growth[EVIDENCE_SERVER_OOM_KILLS] = 1;
    name_none();
    /* no limit explains this failure */
    add_cause(CAUSE_CONNECT, ERROR_AUTH, 0, "password authentication failed");
    name_none();
}

TEST_BETWEEN(test_threads, set_up, NULL)
{
    add_cause(CAUSE_THREAD, ERROR_LIMIT, EAGAIN, "no thread");
    result.sessions.not_started = 30;
    add_limit(LIMIT_USER_TASKS, LIMIT_CLIENT, 5000, 100);
    add_limit(LIMIT_THREADS_MAX, LIMIT_CLIENT, 200, 199);
    add_limit(LIMIT_USER_TASKS, LIMIT_SERVER, 10, 10);
    const struct finding *finding = name_one(LIMIT_THREADS_MAX, LIMIT_CLIENT, 30);
    check_says(finding, "pthread_create: Resource temporarily unavailable");
    check_says(finding, "199 of 200 threads in use at that time");
    assert_string_equal(finding->fix, "fix of threads_max");
}

/* Less memory is left than a thread's stack needs. */
TEST_BETWEEN(test_too_little_for_one_more, set_up, NULL)
{
    add_cause(CAUSE_THREAD, ERROR_LIMIT, EAGAIN, "no thread");
    add_limit(LIMIT_PID_MAX, LIMIT_CLIENT, 32768, 300);
    add_limit(LIMIT_ADDRESS_SPACE, LIMIT_CLIENT, 300000000, 297000000)->each = 4000000;
    const struct finding *finding = name_one(LIMIT_ADDRESS_SPACE, LIMIT_CLIENT, 0);
    check_says(finding, "297,000,000 of 300,000,000");
}

TEST_BETWEEN(test_the_fullest_of_several, set_up, NULL)
{
    add_cause(CAUSE_THREAD, ERROR_LIMIT, EAGAIN, "no thread");
    add_limit(LIMIT_PID_MAX, LIMIT_CLIENT, 32768, 32766);
    add_limit(LIMIT_USER_TASKS, LIMIT_CLIENT, 150, 150);
    name_one(LIMIT_USER_TASKS, LIMIT_CLIENT, 0);
}

/* The finding names the cgroup that counted a refusal. */
TEST_BETWEEN(test_a_cgroup_that_counted, set_up, NULL)
{
    add_cause(CAUSE_THREAD, ERROR_LIMIT, EAGAIN, "no thread");
    add_limit(LIMIT_USER_TASKS, LIMIT_CLIENT, 150, 150);
    struct limit *cgroup = add_limit(LIMIT_CGROUP_TASKS, LIMIT_CLIENT, 100, 98);
    snprintf(cgroup->where, sizeof cgroup->where, "/sys/fs/cgroup/x/pids.max");
    evidence.growth[EVIDENCE_CLIENT_FORKS] = 3;
    const struct finding *finding = name_one(LIMIT_CGROUP_TASKS, LIMIT_CLIENT, 0);
    check_says(finding, "98 of 100 threads in use at that time (/sys/fs/cgroup/x/pids.max)");
    check_says(finding, "pids.events counted 3 refusals");
}

TEST_BETWEEN(test_threads_that_nothing_explains, set_up, NULL)
{
    add_cause(CAUSE_THREAD, ERROR_LIMIT, EAGAIN, "no thread");
    add_limit(LIMIT_USER_TASKS, LIMIT_CLIENT, 5000, 100);
    add_limit(LIMIT_PID_MAX, LIMIT_CLIENT, 32768, 300);
    add_limit(LIMIT_CGROUP_TASKS, LIMIT_CLIENT, LIMIT_NONE, 10);
    const struct finding *finding = name_one(LIMIT_IDS, LIMIT_CLIENT, 0);
    check_says(finding, "no limit that can be read here was reached");
    check_says(finding, "room left: user_tasks 4,900, pid_max 32,468");
    evidence.shortage.count = 0;
    check_says(name_one(LIMIT_IDS, LIMIT_CLIENT, 0), "cannot be seen from here");
}

TEST_BETWEEN(test_threads_of_the_server, set_up, NULL)
{
    with_limit(add_cause(CAUSE_CONNECT, ERROR_LIMIT, 1135, "Can't create a new thread (errno 11)"),
               ERROR_LIMIT_TASKS);
    add_limit(LIMIT_USER_TASKS, LIMIT_CLIENT, 100, 100);
    add_limit(LIMIT_USER_TASKS, LIMIT_SERVER, 300, 299);
    const struct finding *finding = name_one(LIMIT_USER_TASKS, LIMIT_SERVER, 40);
    check_says(finding, "the server said: Can't create a new thread (errno 11); 299 of 300");
}

/* The limits of this machine do not apply to a server on another machine. */
TEST_BETWEEN(test_threads_of_a_remote_server, set_up, NULL)
{
    question.is_remote = true;
    with_limit(
        add_cause(CAUSE_CONNECT, ERROR_LIMIT, 0, "could not fork new process for connection: x"),
        ERROR_LIMIT_TASKS);
    add_limit(LIMIT_PID_MAX, LIMIT_CLIENT, 100, 100);
    check_says(name_one(LIMIT_IDS, LIMIT_SERVER, 40),
               "the limits on threads cannot be seen from here");
}

/* Before TLS libpq hides the server's error, so only a reading that is at its limit is a finding.
 */
TEST_BETWEEN(test_an_answer_before_tls, set_up, NULL)
{
    with_limit(add_cause(CAUSE_CONNECT, ERROR_LIMIT, 0, "an error response during SSL exchange"),
               ERROR_LIMIT_TASKS_LIKELY);
    struct limit *limit = add_limit(LIMIT_USER_TASKS, LIMIT_SERVER, 300, 10);
    name_none();
    limit->used = 300;
    check_says(name_one(LIMIT_USER_TASKS, LIMIT_SERVER, 40), "cannot start a process");
}

TEST_BETWEEN(test_errno_of_this_machine, set_up, NULL)
{
    add_cause(CAUSE_CONNECT, ERROR_SYSTEM, EMFILE, "socket");
    check_says(name_one(LIMIT_OPEN_FILES, LIMIT_CLIENT, 40), "socket: Too many open files");
    /* without a free descriptor, append could not read the limits when the error occurred */
    add_limit(LIMIT_OPEN_FILES, LIMIT_CLIENT, 64, 64);
    evidence.shortage.count = 0;
    check_says(name_one(LIMIT_OPEN_FILES, LIMIT_CLIENT, 40), "; 64 threads allowed");
    evidence.shortage.count = 1;
    check_says(name_one(LIMIT_OPEN_FILES, LIMIT_CLIENT, 40),
               "64 of 64 threads in use at that time");
    result.causes.entries[0].error.native_code = ENFILE;
    assert_string_equal(name_one(LIMIT_OPEN_FILES, LIMIT_CLIENT, 40)->name, "fs.file-max");
    result.causes.entries[0].error.native_code = EADDRNOTAVAIL;
    add_limit(LIMIT_PORTS, LIMIT_CLIENT, 120, 119);
    check_says(name_one(LIMIT_PORTS, LIMIT_CLIENT, 40), "119 of 120");
    result.causes.entries[0].error.native_code = EAGAIN;
    check_says(name_one(LIMIT_BACKLOG, LIMIT_SERVER, 40), "Unix socket was full");
    result.causes.entries[0].error.native_code = EACCES;
    name_none();
}

static void add_setting(const char *name, uint64_t allowed, uint64_t used)
{
    struct session_limit *limit = &server.sessions[server.count++];
    limit->allowed = allowed;
    limit->used = used;
    snprintf(limit->name, sizeof limit->name, "%s", name);
    snprintf(limit->fix, sizeof limit->fix, "set %s", name);
}

/* Sessions that are dropped, or that reconnect in the end, try many times, so tries are not counted
 * as sessions. */
TEST_BETWEEN(test_tries_are_not_sessions, set_up, NULL)
{
    result.sessions.dropped = 28;
    with_limit(add_cause(CAUSE_RECONNECT, ERROR_LIMIT, 1040, "Too many connections"),
               "max_connections");
    add_setting("max_connections", 100, 1);
    const struct finding *finding = name_one(LIMIT_SESSIONS, LIMIT_DATABASE, 28);
    check_says(finding, "; 100 allowed before the run");
    assert_true(evidence_needs_settings(&result));
    struct server_limits after = server;
    after.sessions[0].allowed = 12;
    evidence.server_after = after;
    evidence.has_server_after = true;
    finding = name_one(LIMIT_SESSIONS, LIMIT_DATABASE, 28);
    check_says(finding, "; 12 allowed after the run");
    result.causes.entries[0].phase = CAUSE_CONNECT;
    assert_false(evidence_needs_settings(&result));

    /* two causes with the same limit together count no more sessions than were dropped */
    result.causes.entries[0].phase = CAUSE_RECONNECT;
    with_limit(add_cause(CAUSE_RECONNECT, ERROR_LIMIT, 1040, "Trop de connexions"),
               "max_connections");
    assert_int_equal(name_one(LIMIT_SESSIONS, LIMIT_DATABASE, 28)->tries, 80);
    result.sessions.dropped = 0;
    name_one(LIMIT_SESSIONS, LIMIT_DATABASE, 0);
    result.sessions.dropped = 28;
    for (size_t i = 0; i < 2; i++) {
        error_clear(&result.causes.entries[i].error);
        error_set(&result.causes.entries[i].error, ERROR_SYSTEM, EMFILE, NULL, "socket");
    }
    assert_int_equal(name_one(LIMIT_OPEN_FILES, LIMIT_CLIENT, 28)->tries, 80);
}

TEST_BETWEEN(test_settings, set_up, NULL)
{
    static const struct {
        const char *limit;
        const char *name;
    } cases[] = {
        {"max_connections", "max_connections"},
        {"rolconnlimit", "rolconnlimit"},
        {"datconnlimit", "datconnlimit"},
        {"max_user_connections", "max_user_connections"},
        {"max_connections_per_hour", NULL}, /* a setting that the server did not report */
        {"", "datconnlimit"}, /* no name: take the setting with the fewest free sessions */
    };
    (void)state;
    add_setting("max_connections", 97, 3);
    add_setting("rolconnlimit", 50, 1);
    add_setting("datconnlimit", 20, 1);
    add_setting("max_user_connections", 30, 1);
    struct cause *cause = add_cause(CAUSE_CONNECT, ERROR_LIMIT, 0, "no room for one more");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cause->error.limit = cases[i].limit;
        const struct finding *finding = name_one(LIMIT_SESSIONS, LIMIT_DATABASE, 40);
        assert_string_equal(finding->name, cases[i].name != NULL ? cases[i].name : cases[i].limit);
        check_says(finding, "no room for one more");
        assert_int_equal(strncmp(finding->fix, "set ", 4) == 0, cases[i].name != NULL);
    }
    cause->error.limit = NULL;
    name_none();
    cause->error.limit = "max_connections";
    check_says(name_one(LIMIT_SESSIONS, LIMIT_DATABASE, 40),
               "; 97 allowed, 2 in use by others before the run");
    /* a server that reports no settings */
    server.count = 0;
    assert_string_equal(name_one(LIMIT_SESSIONS, LIMIT_DATABASE, 40)->name, "max_connections");
    /* two causes for one setting */
    *add_cause(CAUSE_CONNECT, ERROR_NONE, 0, "") = *cause;
    name_one(LIMIT_SESSIONS, LIMIT_DATABASE, 80);
}

TEST_BETWEEN(test_silence, set_up, NULL)
{
    add_cause(CAUSE_CONNECT, ERROR_TIMEOUT, 0, "no answer");
    struct limit *files = add_limit(LIMIT_OPEN_FILES, LIMIT_SERVER, 64, 20);
    name_none();
    evidence.growth[EVIDENCE_LISTEN_OVERFLOWS] = 12;
    evidence.growth[EVIDENCE_LISTEN_DROPS] = 13;
    const struct finding *finding = name_one(LIMIT_BACKLOG, LIMIT_SERVER, 40);
    check_says(finding, "ListenOverflows grew by 12, ListenDrops by 13");
    assert_non_null(strstr(finding->fix, "net.core.somaxconn"));
    /* the server reached its limit of open files */
    files->used = 64;
    check_says(name_one(LIMIT_OPEN_FILES, LIMIT_SERVER, 40), "64 of 64");
}

TEST_BETWEEN(test_a_server_that_ended, set_up, NULL)
{
    struct cause *cause = add_cause(CAUSE_APPEND, ERROR_CONNECTION, 0, "closed unexpectedly");
    result.start_mono_ns = INT64_C(1000000000);
    cause->first_ns = INT64_C(3500000000);
    name_none();
    evidence.servers[0].is_gone = true;
    evidence.servers[0].process.pid = 77;
    snprintf(evidence.servers[0].process.name, sizeof evidence.servers[0].process.name, "mariadbd");
    const struct finding *finding = name_one(LIMIT_GONE, LIMIT_SERVER, 40);
    check_says(finding,
               "mariadbd (pid 77) ended; the first connection was lost 2.50 s into the run");
    assert_null(strstr(finding->evidence, "memory"));
    evidence.growth[EVIDENCE_OOM_KILLS] = 1;
    finding = name_one(LIMIT_GONE, LIMIT_SERVER, 40);
    assert_string_equal(finding->name, "end of the server's process");
    check_says(finding, "; the kernel killed 1 process of this machine because memory ran out");
    /* if the server still runs, the process of a session may have been killed */
    evidence.servers[0].is_gone = false;
    finding = name_one(LIMIT_GONE, LIMIT_SERVER, 40);
    assert_string_equal(finding->name, "OOM kill");
    check_says(finding,
               "connections were lost, but mariadbd (pid 77) still runs; the first connection was");
    question.is_remote = true;
    name_none();
    question.is_remote = false;
    evidence.servers[0].is_gone = true;
    add_limit(LIMIT_CGROUP_MEMORY, LIMIT_SERVER, 64 << 20, 1);
    snprintf(evidence.before.entries[0].where, sizeof evidence.before.entries[0].where,
             "/x/memory.max");
    evidence.growth[EVIDENCE_SERVER_OOM_KILLS] = 1;
    finding = name_one(LIMIT_GONE, LIMIT_SERVER, 40);
    assert_string_equal(finding->name, "OOM kill");
    check_says(finding,
               "of its cgroup because memory ran out; its cgroup may use 64.0 MiB (/x/memory.max)");
    /* a process of the server was killed, not the whole server */
    evidence.servers[0].is_gone = false;
    evidence.growth[EVIDENCE_SERVER_OOM_KILLS] = 2;
    check_says(name_one(LIMIT_GONE, LIMIT_SERVER, 40), "killed 2 processes of its cgroup");
    evidence.servers[0].process.pid = 0;
    check_says(name_one(LIMIT_GONE, LIMIT_SERVER, 40), "lost, but the server still runs; ");
    evidence.servers[0].is_gone = true;
    evidence.servers[0].port = 5432;
    check_says(name_one(LIMIT_GONE, LIMIT_SERVER, 40), "nothing listens on port 5432 any more");
    /* with several hosts the server that is gone may be any of them */
    evidence.servers[1] = (struct evidence_server){.process = {.pid = 78}, .port = 5433};
    snprintf(evidence.servers[1].process.name, sizeof evidence.servers[1].process.name, "postgres");
    evidence.server_count = 2;
    evidence.servers[1].is_gone = true;
    check_says(name_one(LIMIT_GONE, LIMIT_SERVER, 40),
               "nothing listens on port 5432 any more, postgres (pid 78) on port 5433 ended; ");
    evidence.servers[0].is_gone = false;
    evidence.growth[EVIDENCE_SERVER_OOM_KILLS] = 0;
    finding = name_one(LIMIT_GONE, LIMIT_SERVER, 40);
    assert_string_equal(finding->name, "end of the server's process");
    assert_int_equal(strncmp(finding->evidence, "postgres (pid 78) on port 5433 ended; ", 38), 0);
}

TEST_BETWEEN(test_order_and_bounds, set_up, NULL)
{
    add_cause(CAUSE_CONNECT, ERROR_SYSTEM, EMFILE, "socket")->count = 10;
    add_cause(CAUSE_CONNECT, ERROR_SYSTEM, EADDRNOTAVAIL, "connect")->count = 20;
    with_limit(add_cause(CAUSE_CONNECT, ERROR_LIMIT, 1040, "Too many connections"),
               "max_connections")
        ->count = 500;
    evidence_name_limits(&evidence, &result, &findings);
    assert_int_equal(findings.count, 3);
    assert_int_equal(findings.entries[0].id, LIMIT_SESSIONS);
    assert_int_equal(findings.entries[0].sessions, 100); /* the requested sessions, not 500 */
    assert_int_equal(findings.entries[1].id, LIMIT_PORTS);
    assert_int_equal(findings.entries[2].id, LIMIT_OPEN_FILES);
}
