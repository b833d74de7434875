#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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
    add_cause(CAUSE_THREAD, ERROR_MEMORY, 0, "out of memory for a script");
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
    check_says(finding, "no limit that append can read was reached");
    check_says(finding, "room left: user_tasks 4,900, pid_max 32,468");
    evidence.shortage.count = 0;
    check_says(name_one(LIMIT_IDS, LIMIT_CLIENT, 0), "append cannot read any limit on threads");
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
    check_says(name_one(LIMIT_IDS, LIMIT_SERVER, 40), "append cannot read any limit on threads");
}

/* Before TLS libpq hides the server's error, so only a limit that was read as full is a finding. */
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
    check_says(finding, "mariadbd (pid 77) ended; first loss 2.50 s into the run");
    assert_null(strstr(finding->evidence, "memory"));
    evidence.growth[EVIDENCE_OOM_KILLS] = 1;
    finding = name_one(LIMIT_GONE, LIMIT_SERVER, 40);
    assert_string_equal(finding->name, "end of the server's process");
    check_says(finding, "; the kernel killed 1 process of this machine because memory ran out");
    /* if the server still runs, the process of a session may have been killed */
    evidence.servers[0].is_gone = false;
    finding = name_one(LIMIT_GONE, LIMIT_SERVER, 40);
    assert_string_equal(finding->name, "OOM kill");
    check_says(finding, "connections were lost, but mariadbd (pid 77) still runs; first loss");
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
    check_says(finding, "of the server's cgroup because memory ran out; the cgroup may use 64.0 "
                        "MiB (/x/memory.max)");
    /* a process of the server was killed, not the whole server */
    evidence.servers[0].is_gone = false;
    evidence.growth[EVIDENCE_SERVER_OOM_KILLS] = 2;
    check_says(name_one(LIMIT_GONE, LIMIT_SERVER, 40), "killed 2 processes of the server's cgroup");
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

/* The exact texts of the findings. Every count is 1, to check the singular. */
TEST_BETWEEN(test_words_of_findings, set_up, NULL)
{
    struct limit *limit;
    struct cause *cause = add_cause(CAUSE_THREAD, ERROR_LIMIT, EAGAIN, "no thread");
    assert_string_equal(name_one(LIMIT_IDS, LIMIT_CLIENT, 0)->name, "unknown thread limit");
    assert_string_equal(findings.entries[0].evidence,
                        "pthread_create: Resource temporarily unavailable; append cannot read any "
                        "limit on threads");
    add_limit(LIMIT_USER_TASKS, LIMIT_CLIENT, 5000, 100);
    add_limit(LIMIT_CGROUP_TASKS, LIMIT_CLIENT, 400, 100);
    assert_string_equal(name_one(LIMIT_IDS, LIMIT_CLIENT, 0)->evidence,
                        "pthread_create: Resource temporarily unavailable; no limit that append "
                        "can read was reached; room left: user_tasks 4,900, cgroup_tasks 300");
    evidence.growth[EVIDENCE_SERVER_FORKS] = 7; /* of another cgroup */
    evidence.growth[EVIDENCE_CLIENT_FORKS] = 1;
    assert_string_equal(name_one(LIMIT_CGROUP_TASKS, LIMIT_CLIENT, 0)->evidence,
                        "pthread_create: Resource temporarily unavailable; 100 of 400 threads in "
                        "use at that time; pids.events counted 1 refusal");
    assert_string_equal(findings.entries[0].fix, "fix of cgroup_tasks");
    assert_string_equal(findings.entries[0].name, "cgroup_tasks");
    evidence.before.entries[1].fix[0] = '\0'; /* there was enough before the run */
    assert_string_equal(name_one(LIMIT_CGROUP_TASKS, LIMIT_CLIENT, 0)->fix, "too late");
    evidence.before.count = 0;
    assert_string_equal(name_one(LIMIT_CGROUP_TASKS, LIMIT_CLIENT, 0)->fix, "too late");

    set_up(NULL);
    cause = with_limit(add_cause(CAUSE_CONNECT, ERROR_LIMIT, 0, "cannot fork; try again"),
                       ERROR_LIMIT_TASKS);
    limit = add_limit(LIMIT_CGROUP_TASKS, LIMIT_SERVER, 400, 100);
    limit->unit = NULL;
    evidence.growth[EVIDENCE_SERVER_FORKS] = 2;
    assert_string_equal(name_one(LIMIT_CGROUP_TASKS, LIMIT_SERVER, 40)->evidence,
                        "the server said: cannot fork; 100 of 400  in use at that time; "
                        "pids.events counted 2 refusals");
    cause->error.limit = ERROR_LIMIT_TASKS_LIKELY;
    check_says(name_one(LIMIT_CGROUP_TASKS, LIMIT_SERVER, 40),
               "the server sent an error before TLS began, probably because the server cannot "
               "start a process; 100 of 400");

    set_up(NULL);
    cause = add_cause(CAUSE_CONNECT, ERROR_SYSTEM, EADDRNOTAVAIL, "connect");
    assert_string_equal(name_one(LIMIT_PORTS, LIMIT_CLIENT, 40)->evidence,
                        "connect: Cannot assign requested address");
    assert_string_equal(findings.entries[0].name, "ip_local_port_range");
    cause->error.native_code = ENFILE;
    add_limit(LIMIT_OPEN_FILES, LIMIT_CLIENT, 64, 64);
    assert_string_equal(name_one(LIMIT_OPEN_FILES, LIMIT_CLIENT, 40)->evidence,
                        "socket: Too many open files in system");
    cause->error.native_code = EMFILE;
    assert_string_equal(name_one(LIMIT_OPEN_FILES, LIMIT_CLIENT, 40)->evidence,
                        "socket: Too many open files; 64 of 64 threads in use at that time");
    assert_string_equal(findings.entries[0].fix, "fix of open_files");
    evidence.shortage.count = 0;
    assert_string_equal(name_one(LIMIT_OPEN_FILES, LIMIT_CLIENT, 40)->evidence,
                        "socket: Too many open files; 64 threads allowed");
    evidence.before.entries[0].allowed = LIMIT_NONE;
    assert_string_equal(name_one(LIMIT_OPEN_FILES, LIMIT_CLIENT, 40)->evidence,
                        "socket: Too many open files");
    assert_string_equal(findings.entries[0].name, "RLIMIT_NOFILE");
    cause->error.native_code = EAGAIN;
    assert_string_equal(name_one(LIMIT_BACKLOG, LIMIT_SERVER, 40)->evidence,
                        "connect: EAGAIN, the queue of the server's Unix socket was full");
    assert_string_equal(findings.entries[0].name, "listen backlog");
    assert_string_equal(
        findings.entries[0].fix,
        "raise net.core.somaxconn (sysctl), and raise back_log in my.cnf or PostgreSQL's "
        "max_connections, then restart the server; or use a lower --connect-concurrency");
    cause->phase = CAUSE_APPEND; /* of an append */
    name_none();

    set_up(NULL);
    cause = add_cause(CAUSE_CONNECT, ERROR_TIMEOUT, 0, "no answer");
    evidence.growth[EVIDENCE_LISTEN_OVERFLOWS] = 1;
    assert_string_equal(name_one(LIMIT_BACKLOG, LIMIT_SERVER, 40)->evidence,
                        "queues of new connections were full while connects timed out: "
                        "ListenOverflows grew by 1, ListenDrops by 0");
    limit = add_limit(LIMIT_OPEN_FILES, LIMIT_SERVER, 64, 64);
    snprintf(limit->where, sizeof limit->where, "its ulimit");
    assert_string_equal(
        name_one(LIMIT_OPEN_FILES, LIMIT_SERVER, 40)->evidence,
        "the server accepted no more connections; 64 of 64 threads in use at that time");
    cause->phase = CAUSE_APPEND;
    name_none();
    cause->phase = CAUSE_HOST;
    assert_int_equal(name_one(LIMIT_OPEN_FILES, LIMIT_SERVER, 0)->tries, 40);
}

/* A limit is full when at most allowed / 1000 + 2 + each are left. */
TEST_BETWEEN(test_bounds_of_full, set_up, NULL)
{
    static const struct {
        uint64_t allowed, used, each;
        bool is_full;
    } cases[] = {{1000, 997, 0, true}, {1000, 996, 0, false}, {2000, 1996, 0, true},
                 {1000, 990, 7, true}, {1000, 989, 7, false}, {999, 997, 0, true},
                 {999, 996, 0, false}, {10, 20, 0, true},     {LIMIT_NONE, LIMIT_NONE, 0, false}};
    add_cause(CAUSE_THREAD, ERROR_LIMIT, EAGAIN, "no thread");
    struct limit *limit = add_limit(LIMIT_PID_MAX, LIMIT_CLIENT, 1, 1);
    EACH_CASE (i, cases, "case %zu", i) {
        limit->allowed = cases[i].allowed;
        limit->used = cases[i].used;
        limit->each = cases[i].each;
        name_one(cases[i].is_full ? LIMIT_PID_MAX : LIMIT_IDS, LIMIT_CLIENT, 0);
    }
}

/* A limit of the whole machine also stops a server on this machine. The finding counts as the
 * client's. */
TEST_BETWEEN(test_limits_of_the_machine, set_up, NULL)
{
    static const enum limit_id ids[] = {LIMIT_THREADS_MAX, LIMIT_PID_MAX, LIMIT_COMMIT};
    with_limit(add_cause(CAUSE_CONNECT, ERROR_LIMIT, 0, "no"), ERROR_LIMIT_TASKS);
    struct limit *limit = add_limit(LIMIT_PID_MAX, LIMIT_CLIENT, 100, 100);
    EACH_CASE (i, ids, "case %zu", i) {
        limit->id = ids[i];
        name_one(ids[i], LIMIT_CLIENT, 40);
    }
    limit->id = LIMIT_USER_TASKS;
    name_one(LIMIT_IDS, LIMIT_SERVER, 40);
}

TEST_BETWEEN(test_words_about_settings, set_up, NULL)
{
    struct cause *cause =
        with_limit(add_cause(CAUSE_CONNECT, ERROR_LIMIT, 0, "too many"), "max_connections");
    add_setting("max_connections", 97, 0);
    assert_string_equal(name_one(LIMIT_SESSIONS, LIMIT_DATABASE, 40)->evidence,
                        "the server said: too many; 97 allowed, 0 in use by others before the run");
    assert_string_equal(findings.entries[0].fix, "set max_connections");
    /* the fix from before the run is preferred, because it is enough for all sessions */
    struct limit *before = &evidence.before.entries[0];
    evidence.before.count = 1;
    *before = (struct limit){.id = LIMIT_SESSIONS, .name = "max_connections", .fix = "set 120"};
    assert_string_equal(name_one(LIMIT_SESSIONS, LIMIT_DATABASE, 40)->fix, "set 120");
    before->fix[0] = '\0';
    assert_string_equal(name_one(LIMIT_SESSIONS, LIMIT_DATABASE, 40)->fix, "set max_connections");
    snprintf(before->fix, sizeof before->fix, "set 120");
    before->id = LIMIT_BACKLOG;
    assert_string_equal(name_one(LIMIT_SESSIONS, LIMIT_DATABASE, 40)->fix, "set max_connections");
    cause->phase = CAUSE_HOST;
    assert_string_equal(name_one(LIMIT_SESSIONS, LIMIT_DATABASE, 0)->evidence,
                        "the server said: too many; 97 allowed before the run");
    assert_string_equal(findings.entries[0].fix, "");
    cause->phase = CAUSE_CONNECT;
    question.server = NULL;
    assert_string_equal(name_one(LIMIT_SESSIONS, LIMIT_DATABASE, 40)->evidence,
                        "the server said: too many");
    cause->error.limit = "";
    assert_string_equal(name_one(LIMIT_SESSIONS, LIMIT_DATABASE, 40)->name, "unknown setting");
    /* two settings, each with its own sessions */
    cause->error.limit = "a";
    with_limit(add_cause(CAUSE_CONNECT, ERROR_LIMIT, 0, "no"), "b")->count = 7;
    with_limit(add_cause(CAUSE_RECONNECT, ERROR_LIMIT, 0, "no"), "b")->count = 5;
    evidence_name_limits(&evidence, &result, &findings);
    assert_int_equal(findings.count, 2);
    assert_string_equal(findings.entries[0].name, "a");
    assert_int_equal(findings.entries[0].sessions, 40);
    assert_string_equal(findings.entries[1].name, "b");
    assert_int_equal(findings.entries[1].sessions, 7);
    assert_int_equal(findings.entries[1].tries, 5);
    /* more settings than the list has room for: the last entry is replaced */
    static char names[FINDINGS_MAX + 1][16];
    for (int i = 0; i <= FINDINGS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "setting%d", i);
        with_limit(add_cause(CAUSE_CONNECT, ERROR_LIMIT, 0, "no"), names[i])->count = 3;
    }
    evidence_name_limits(&evidence, &result, &findings);
    assert_int_equal(findings.count, FINDINGS_MAX);
}

TEST_BETWEEN(test_words_about_lost_connections, set_up, NULL)
{
    struct cause *cause = add_cause(CAUSE_READ, ERROR_SERVER, 0, "closed");
    struct procfs_process *process = &evidence.servers[0].process;
    result.start_mono_ns = INT64_C(1000000000);
    cause->first_ns = INT64_C(3500000000);
    add_cause(CAUSE_APPEND, ERROR_UNREACHABLE, 0, "refused")->first_ns = INT64_C(3000000000);
    add_cause(CAUSE_APPEND, ERROR_CONNECTION, 0, "closed")->first_ns = INT64_C(4000000000);
    result.causes.entries[1].count = result.causes.entries[2].count = 1;
    evidence.growth[EVIDENCE_OOM_KILLS] = 2;
    process->pid = 1;
    snprintf(process->name, sizeof process->name, "mariadbd");
    assert_string_equal(name_one(LIMIT_GONE, LIMIT_SERVER, 42)->evidence,
                        "connections were lost, but mariadbd (pid 1) still runs; first loss "
                        "2.00 s into the run; the kernel killed 2 processes of "
                        "this machine because memory ran out");
    process->pid = 0;
    evidence.servers[0].is_gone = true;
    evidence.servers[0].port = 3306;
    add_limit(LIMIT_CGROUP_MEMORY, LIMIT_SERVER, LIMIT_NONE, 1);
    evidence.growth[EVIDENCE_SERVER_OOM_KILLS] = 1;
    assert_string_equal(
        name_one(LIMIT_GONE, LIMIT_SERVER, 42)->evidence,
        "nothing listens on port 3306 any more; first loss 2.00 "
        "s into the run; the kernel killed 1 process of the server's cgroup because memory "
        "ran out");
    assert_string_equal(findings.entries[0].fix, "");
    evidence.before.entries[0].allowed = 1 << 20;
    assert_string_equal(name_one(LIMIT_GONE, LIMIT_SERVER, 42)->fix, "fix of cgroup_memory");
    evidence.growth[EVIDENCE_SERVER_OOM_KILLS] = 0; /* then its cgroup did not cause it */
    assert_string_equal(name_one(LIMIT_GONE, LIMIT_SERVER, 42)->fix, "");
    assert_null(strstr(findings.entries[0].evidence, "may use"));
    for (int i = 0; i < 3; i++) {
        result.causes.entries[i].status = STATUS_FATAL; /* refused, but not lost */
    }
    name_none();
}

/* Findings with more sessions come first. Findings with equally many sessions keep their order. */
TEST_BETWEEN(test_order_of_equals, set_up, NULL)
{
    add_cause(CAUSE_CONNECT, ERROR_SYSTEM, EMFILE, "socket")->count = 10;
    add_cause(CAUSE_CONNECT, ERROR_SYSTEM, EADDRNOTAVAIL, "connect")->count = 10;
    add_cause(CAUSE_CONNECT, ERROR_SYSTEM, EAGAIN, "connect")->count = 11;
    add_cause(CAUSE_RECONNECT, ERROR_SYSTEM, ENFILE, "socket")->count = 3;
    result.sessions.dropped = 2; /* at most 2 of the 3 failed reconnects cost a session */
    evidence_name_limits(&evidence, &result, &findings);
    assert_int_equal(findings.count, 4);
    assert_int_equal(findings.entries[0].id, LIMIT_BACKLOG);
    assert_string_equal(findings.entries[1].name, "RLIMIT_NOFILE");
    assert_int_equal(findings.entries[2].id, LIMIT_PORTS);
    assert_string_equal(findings.entries[3].name, "fs.file-max");
    assert_int_equal(findings.entries[3].sessions, 2);
    assert_int_equal(findings.entries[3].tries, 3);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* The counters of a cgroup are in the folder of its limit. */
TEST_BETWEEN(test_counters_of_cgroups, set_up, NULL)
{
    char folder[] = "/tmp/append-evidence-XXXXXX", path[128];
    assert_non_null(mkdtemp(folder));
    write_text(folder, "pids.events", "max 7\n");
    write_text(folder, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
    /* the network counters of this machine do not apply, but the folder's counters do */
    question.is_remote = true;
    evidence.server_count = 0;
    add_limit(LIMIT_CGROUP_TASKS, LIMIT_CLIENT, 100, 1);
    add_limit(LIMIT_CGROUP_TASKS, LIMIT_SERVER, 100, 1);
    add_limit(LIMIT_CGROUP_MEMORY, LIMIT_SERVER, 100, 1);
    for (size_t i = 0; i < 3; i++) {
        snprintf(evidence.before.entries[i].where, sizeof evidence.before.entries[i].where,
                 "%s/x.max", folder);
    }
    static const int64_t before[EVIDENCE_COUNTERS] = {
        [EVIDENCE_CLIENT_FORKS] = 4, [EVIDENCE_SERVER_FORKS] = 7, [EVIDENCE_SERVER_OOM_KILLS] = 0};
    memcpy(evidence.counters, before, sizeof before);
    evidence.counters[EVIDENCE_OOM_KILLS] = INT64_MAX;
    evidence_find_limits(&evidence, &result, &findings);
    assert_int_equal(evidence.growth[EVIDENCE_CLIENT_FORKS], 3);
    assert_int_equal(evidence.growth[EVIDENCE_SERVER_FORKS], 0);
    assert_int_equal(evidence.growth[EVIDENCE_SERVER_OOM_KILLS], 5); /* of version 1 */
    assert_int_equal(evidence.growth[EVIDENCE_OOM_KILLS], 0);
    assert_int_equal(evidence.growth[EVIDENCE_LISTEN_OVERFLOWS], 0);
    write_text(folder, "memory.events", "low 0\noom 9\noom_kill 8\n"); /* of version 2 */
    snprintf(path, sizeof path, "%s/memory.oom_control", folder);
    assert_int_equal(unlink(path), 0);
    evidence.counters[EVIDENCE_CLIENT_FORKS] = -1; /* unknown before the run */
    evidence.counters[EVIDENCE_SERVER_FORKS] = 9;  /* another cgroup's */
    evidence_find_limits(&evidence, &result, &findings);
    assert_int_equal(evidence.growth[EVIDENCE_CLIENT_FORKS], 0);
    assert_int_equal(evidence.growth[EVIDENCE_SERVER_FORKS], 0);
    assert_int_equal(evidence.growth[EVIDENCE_SERVER_OOM_KILLS], 8);
    for (size_t i = 0; i < 3; i++) { /* a limit that is not in a cgroup's folder */
        snprintf(evidence.before.entries[i].where, sizeof evidence.before.entries[i].where, "x");
    }
    evidence_find_limits(&evidence, &result, &findings);
    assert_int_equal(evidence.growth[EVIDENCE_SERVER_OOM_KILLS], 0);
    static const char *const names[] = {"pids.events", "memory.events"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* The readings before the first session: the limits, the counters and the server's process. */
TEST_BETWEEN(test_readings_before_the_run, set_up, NULL)
{
    question.sessions = 3;
    question.stack_bytes = 65536;
    question.files_per_session = 1;
    question.server_pid = getpid();
    question.port = 1; /* nothing listens there */
    struct evidence *here = evidence_begin(&question);
    assert_non_null(here);
    assert_int_equal(here->server_count, 1);
    assert_int_equal(here->servers[0].process.pid, getpid());
    assert_int_equal(here->servers[0].port, 1);
    assert_false(here->servers[0].was_listening);
    assert_true(here->before.count > 3);
    assert_true(here->counters[EVIDENCE_LISTEN_OVERFLOWS] >= 0);
    assert_true(here->counters[EVIDENCE_LISTEN_DROPS] >= 0);
    assert_true(here->counters[EVIDENCE_OOM_KILLS] >= 0);
    assert_int_equal(here->shortage.count, 0);
    evidence_capture(here);
    assert_int_equal(here->shortage.count, here->before.count);
    free(here);
    /* servers of several hosts: each is listed once */
    const struct server_place places[] = {{.port = 3}, {.port = 2}, {.port = 3}};
    question.server_pid = 0;
    question.places = places;
    question.place_count = COUNT_OF(places);
    here = evidence_begin(&question);
    assert_non_null(here);
    assert_int_equal(here->server_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(here->servers[i].process.pid, 0);
        assert_int_equal(here->servers[i].port, i == 0 ? 1 : places[i - 1].port);
    }
    free(here);
    question.place_count = 0;
    question.is_remote = true;
    here = evidence_begin(&question);
    assert_non_null(here);
    assert_int_equal(here->server_count, 0);
    assert_int_equal(here->counters[EVIDENCE_LISTEN_OVERFLOWS], -1);
    assert_int_equal(here->counters[EVIDENCE_LISTEN_DROPS], -1);
    assert_true(here->counters[EVIDENCE_OOM_KILLS] >= 0);
    free(here);
}

/* Lost connections and a process that has ended: its pid may be a zombie's or another process's. */
TEST_BETWEEN(test_servers_that_are_gone, set_up, NULL)
{
    add_cause(CAUSE_APPEND, ERROR_CONNECTION, 0, "closed unexpectedly");
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(0);
    }
    siginfo_t end;
    assert_int_equal(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT), 0); /* now a zombie */
    const int proc = procfs_open();
    struct evidence_server *servers = evidence.servers;
    assert_true(procfs_read_process(proc, pid, &servers[0].process));
    assert_true(procfs_read_process(proc, getpid(), &servers[1].process));
    servers[2].process = servers[1].process;
    servers[2].process.start_ticks++; /* the pid was used again */
    servers[3].port = 1;              /* no process listens there any more */
    servers[3].was_listening = true;
    servers[4].port = 1; /* nothing listened there before the run */
    close(proc);
    evidence.server_count = 5;
    evidence_find_limits(&evidence, &result, &findings);
    static const bool gone[] = {true, false, true, true, false};
    EACH_CASE (i, gone, "server %zu", i) {
        assert_int_equal(servers[i].is_gone, gone[i]);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    evidence.server_count = 1; /* now the process is not in /proc */
    servers[0].is_gone = false;
    evidence_find_limits(&evidence, &result, &findings);
    assert_true(servers[0].is_gone);
}

/* Listens on a free port of 127.0.0.1. Returns the socket. */
static int listen_here(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const int file = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(file >= 0);
    assert_int_equal(bind(file, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(file, 1), 0);
    assert_int_equal(getsockname(file, (struct sockaddr *)&address, &length), 0);
    *port = ntohs(address.sin_port);
    return file;
}

/* A process that listens on two ports is one server. A server whose process is unknown is not gone
 * while a process listens on its port. */
TEST_BETWEEN(test_a_listening_server, set_up, NULL)
{
    struct server_place places[2] = {{.port = 0}};
    const int files[] = {listen_here(&places[0].port), listen_here(&places[1].port)};
    const pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    close(files[0]);
    close(files[1]);
    question.places = places;
    question.place_count = 2;
    question.port = places[0].port;
    question.sessions = 1;
    question.uses_tcp = true;
    struct evidence *here = evidence_begin(&question);
    assert_non_null(here);
    assert_int_equal(here->server_count, 1);
    assert_int_equal(here->servers[0].process.pid, pid);
    assert_true(here->servers[0].was_listening);
    assert_int_equal(here->servers[0].port, places[0].port);
    /* the process is unknown, for example because append may not see it */
    here->servers[0].process.pid = 0;
    here->servers[1] = (struct evidence_server){.port = 1, .was_listening = true};
    here->server_count = 2;
    add_cause(CAUSE_APPEND, ERROR_CONNECTION, 0, "closed unexpectedly");
    evidence_find_limits(here, &result, &findings);
    assert_false(here->servers[0].is_gone);
    assert_true(here->servers[1].is_gone);
    free(here);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Only the first part of a long error of the server is shown. */
TEST_BETWEEN(test_a_long_error, set_up, NULL)
{
    char text[128];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    with_limit(add_cause(CAUSE_CONNECT, ERROR_LIMIT, 0, text), ERROR_LIMIT_TASKS);
    const struct finding *finding = name_one(LIMIT_IDS, LIMIT_SERVER, 40);
    const size_t begin = strlen("the server said: ");
    const size_t shown = strspn(finding->evidence + begin, "x");
    assert_int_equal(shown, strlen(result.causes.entries[0].error.text) < 123
                                ? strlen(result.causes.entries[0].error.text)
                                : 123);
}
