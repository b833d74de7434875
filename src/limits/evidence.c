#include "limits/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/mono.h"
#include "base/units.h"
#include "measure/server_process.h"

/* A process that is being ended closes its connections a little before it is gone. */
#define END_LIMIT_NS (500 * MONO_NS_PER_MS)
#define END_PAUSE_NS (20 * MONO_NS_PER_MS)

enum shortage {
    SHORTAGE_NONE,
    SHORTAGE_THREAD,         /* this program got no thread */
    SHORTAGE_FILES,          /* EMFILE */
    SHORTAGE_MACHINE_FILES,  /* ENFILE */
    SHORTAGE_PORTS,          /* EADDRNOTAVAIL */
    SHORTAGE_SOCKET_BACKLOG, /* EAGAIN of connect to a Unix socket */
    SHORTAGE_SETTING,        /* the server said that a setting of it was reached */
    SHORTAGE_SERVER_TASK,    /* the server could not make a process or thread */
    SHORTAGE_SILENCE,        /* a connect got no answer in time */
    SHORTAGE_LOST,           /* nobody there, or a connection was lost */
    SHORTAGES,
};

static enum shortage classify_system(const struct cause *cause)
{
    switch (cause->error.native_code) {
    case EMFILE:
        return SHORTAGE_FILES;
    case ENFILE:
        return SHORTAGE_MACHINE_FILES;
    case EADDRNOTAVAIL:
        return SHORTAGE_PORTS;
    case EAGAIN:
        return cause->phase == CAUSE_CONNECT ? SHORTAGE_SOCKET_BACKLOG : SHORTAGE_NONE;
    default:
        return SHORTAGE_NONE;
    }
}

static enum shortage classify_limit(const char *limit)
{
    if (limit == NULL) {
        return SHORTAGE_NONE;
    }
    return strcmp(limit, ERROR_LIMIT_TASKS) == 0 || strcmp(limit, ERROR_LIMIT_TASKS_LIKELY) == 0
               ? SHORTAGE_SERVER_TASK
               : SHORTAGE_SETTING;
}

/* What the cause of a failed session says about limits. */
static enum shortage classify(const struct cause *cause)
{
    if (cause->phase == CAUSE_THREAD) {
        return SHORTAGE_THREAD;
    }
    switch (cause->error.kind) {
    case ERROR_SYSTEM:
        return classify_system(cause);
    case ERROR_LIMIT:
        return classify_limit(cause->error.limit);
    case ERROR_TIMEOUT:
        return cause->phase == CAUSE_CONNECT ? SHORTAGE_SILENCE : SHORTAGE_NONE;
    case ERROR_CONNECTION:
    case ERROR_UNREACHABLE:
    case ERROR_SERVER:
        return cause->status == STATUS_LOST ? SHORTAGE_LOST : SHORTAGE_NONE;
    default:
        return SHORTAGE_NONE;
    }
}

struct counters {
    bool is_known[EVIDENCE_COUNTERS];
    uint64_t values[EVIDENCE_COUNTERS];
};

struct evidence {
    const struct limits_question *question;
    struct procfs_process server; /* pid 0: not seen */
    bool was_listening;           /* somebody, on the server's port */
    struct limit_list before;
    struct limit_list shortage;
    struct server_limits server_after;
    bool has_server_after; /* it was asked once more */
    bool is_captured;
    struct counters counters; /* before the sessions */
};

static bool is_server_here(const struct limits_question *question)
{
    return question->has_server && !question->is_embedded && !question->is_remote;
}

/* Whose process may not be seen may still be seen to listen. */
static bool is_port_open(uint16_t port)
{
    struct procfs_inodes listeners = {.count = 0};
    const int proc = procfs_open();
    if (proc >= 0) {
        procfs_read_listeners(proc, port, &listeners);
        close(proc);
    }
    return listeners.count > 0;
}

/* /proc is not kept open: a descriptor is what a session may be short of. */
static void find_server(struct evidence *evidence)
{
    const struct limits_question *question = evidence->question;
    if (!is_server_here(question)) {
        return;
    }
    const int proc = procfs_open();
    if (proc < 0) {
        return;
    }
    char note[200];
    const bool is_path = question->host != NULL && question->host[0] == '/';
    const bool is_seen = question->server_pid > 0
                             ? procfs_read_process(proc, question->server_pid, &evidence->server)
                             : server_find(proc, question->port, is_path ? question->host : NULL,
                                           &evidence->server, note, sizeof note);
    if (!is_seen) {
        evidence->server.pid = 0;
    }
    evidence->was_listening = question->port > 0 && is_port_open(question->port);
    close(proc);
}

/* One value of a file, unless it is known already. */
static void read_counter(struct counters *counters, enum evidence_counter counter, const char *path,
                         bool (*parse)(const char *, size_t, const char *, uint64_t *),
                         const char *name)
{
    struct buffer text;
    buffer_init(&text);
    if (!counters->is_known[counter] && procfs_load(AT_FDCWD, path, &text)) {
        counters->is_known[counter] =
            parse(buffer_text(&text), text.length, name, &counters->values[counter]);
    }
    buffer_fini(&text);
}

/* What a cgroup counts stands in a file beside that of its limit. */
static void read_cgroup_counters(struct counters *counters, const struct limit *limit)
{
    static const struct {
        enum limit_id id;
        enum limit_side side;
        enum evidence_counter counter;
        const char *file;
        const char *name;
    } wanted[] = {
        {LIMIT_CGROUP_TASKS, LIMIT_CLIENT, EVIDENCE_CLIENT_FORKS, "pids.events", "max"},
        {LIMIT_CGROUP_TASKS, LIMIT_SERVER, EVIDENCE_SERVER_FORKS, "pids.events", "max"},
        /* version 2, and version 1 */
        {LIMIT_CGROUP_MEMORY, LIMIT_SERVER, EVIDENCE_SERVER_OOM_KILLS, "memory.events", "oom_kill"},
        {LIMIT_CGROUP_MEMORY, LIMIT_SERVER, EVIDENCE_SERVER_OOM_KILLS, "memory.oom_control",
         "oom_kill"},
    };
    char path[sizeof limit->where + 32];
    const char *slash = limit->where[0] == '/' ? strrchr(limit->where, '/') : NULL;
    for (size_t i = 0; slash != NULL && i < sizeof wanted / sizeof wanted[0]; i++) {
        if (wanted[i].id == limit->id && wanted[i].side == limit->side) {
            snprintf(path, sizeof path, "%.*s/%s", (int)(slash - limit->where), limit->where,
                     wanted[i].file);
            read_counter(counters, wanted[i].counter, path, procfs_parse_named, wanted[i].name);
        }
    }
}

/* The listeners are those of the server's network namespace; of our own when it cannot be seen. */
static void read_counters(const struct evidence *evidence, struct counters *counters)
{
    char path[64] = "/proc/net/netstat";
    *counters = (struct counters){0};
    if (evidence->server.pid > 0) {
        snprintf(path, sizeof path, "/proc/%d/net/netstat", (int)evidence->server.pid);
    }
    if (!evidence->question->is_remote) {
        read_counter(counters, EVIDENCE_LISTEN_OVERFLOWS, path, procfs_parse_netstat,
                     "ListenOverflows");
        read_counter(counters, EVIDENCE_LISTEN_DROPS, path, procfs_parse_netstat, "ListenDrops");
    }
    read_counter(counters, EVIDENCE_OOM_KILLS, "/proc/vmstat", procfs_parse_named, "oom_kill");
    for (size_t i = 0; i < evidence->before.count; i++) {
        read_cgroup_counters(counters, &evidence->before.entries[i]);
    }
}

struct evidence *evidence_begin(const struct limits_question *question)
{
    struct evidence *evidence = calloc(1, sizeof *evidence);
    if (evidence == NULL) {
        return NULL;
    }
    evidence->question = question;
    find_server(evidence);
    limits_read(question, &evidence->before);
    read_counters(evidence, &evidence->counters);
    return evidence;
}

void evidence_end(struct evidence *evidence)
{
    free(evidence);
}

void evidence_capture(struct evidence *evidence)
{
    limits_read(evidence->question, &evidence->shortage);
    evidence->is_captured = true;
}

/* The same number may be another process's by now. What cannot be read is not held to be gone. */
static bool is_server_there(const struct evidence *evidence)
{
    if (evidence->server.pid == 0) {
        return is_port_open(evidence->question->port);
    }
    const int proc = procfs_open();
    if (proc < 0) {
        return true;
    }
    struct procfs_process now;
    const bool is_read = procfs_read_process(proc, evidence->server.pid, &now);
    const int reason = errno;
    close(proc);
    if (!is_read) {
        return reason != ENOENT && reason != ESRCH;
    }
    return now.start_ticks == evidence->server.start_ticks && !now.has_ended;
}

/* True when sessions failed for that; `is_later_only`: those that reconnected. */
static bool has_shortage(const struct result *result, enum shortage shortage, bool is_later_only)
{
    for (size_t i = 0; i < result->causes.count; i++) {
        const struct cause *cause = &result->causes.entries[i];
        if ((!is_later_only || cause->phase == CAUSE_RECONNECT) && classify(cause) == shortage) {
            return true;
        }
    }
    return false;
}

bool evidence_lacks_settings(const struct result *result)
{
    return has_shortage(result, SHORTAGE_SETTING, true);
}

void evidence_take_settings(struct evidence *evidence, const struct server_limits *server)
{
    evidence->server_after = *server;
    evidence->has_server_after = true;
}

static bool is_server_gone(const struct evidence *evidence, const struct result *result)
{
    const bool was_seen = evidence->server.pid != 0 || evidence->was_listening;
    if (!was_seen || !has_shortage(result, SHORTAGE_LOST, false)) {
        return false;
    }
    const int64_t limit_ns = mono_now_ns() + END_LIMIT_NS;
    bool is_there = is_server_there(evidence);
    while (is_there && mono_now_ns() < limit_ns) {
        mono_sleep(END_PAUSE_NS);
        is_there = is_server_there(evidence);
    }
    return !is_there;
}

/* The causes of one shortage taken together. */
struct shortage_sum {
    uint64_t sessions;
    uint64_t tries;            /* of sessions that connected again */
    const struct cause *first; /* NULL: none */
};

struct naming {
    const struct evidence_facts *facts;
    const struct result *result;
    struct findings *findings;
    struct shortage_sum sums[SHORTAGES];
};

/* What can keep a process or thread from being made. */
static const enum limit_id task_limits[] = {
    LIMIT_USER_TASKS, LIMIT_CGROUP_TASKS,  LIMIT_THREADS_MAX, LIMIT_PID_MAX,
    LIMIT_MAP_COUNT,  LIMIT_ADDRESS_SPACE, LIMIT_COMMIT};
#define TASK_LIMITS (sizeof task_limits / sizeof task_limits[0])

/* Adds to what shows it. */
__attribute__((format(printf, 2, 3))) static void say(struct finding *finding, const char *format,
                                                      ...)
{
    const size_t used = strlen(finding->evidence);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->evidence + used, sizeof finding->evidence - used, format, arguments);
    va_end(arguments);
}

static uint64_t room(uint64_t allowed, uint64_t used)
{
    return allowed > used ? allowed - used : 0;
}

static uint64_t room_of(const struct limit *limit)
{
    return room(limit->allowed, limit->used);
}

/* No room for one more session. Reading took a moment, in which others may have come and gone. */
static bool is_full(const struct limit *limit)
{
    return limit->allowed != LIMIT_NONE &&
           room_of(limit) <= limit->allowed / 1000 + 2 + limit->each;
}

static const struct limit *find_limit(const struct limit_list *list, enum limit_id id,
                                      enum limit_side side)
{
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        if (list->entries[i].id == id && list->entries[i].side == side) {
            return &list->entries[i];
        }
    }
    return NULL;
}

/* As it was while sessions were short of tasks. What limits a whole machine stands once in a list,
 * as the client's. */
static const struct limit *find_task_limit(const struct naming *naming, enum limit_id id,
                                           enum limit_side side)
{
    const struct limit_list *list = naming->facts->shortage;
    const struct limit *limit = find_limit(list, id, side);
    const bool is_machine = id == LIMIT_THREADS_MAX || id == LIMIT_PID_MAX || id == LIMIT_COMMIT;
    const bool is_here = side == LIMIT_CLIENT || naming->facts->is_server_here;
    return limit == NULL && is_machine && is_here ? find_limit(list, id, LIMIT_CLIENT) : limit;
}

static struct finding *add_finding(struct naming *naming, enum limit_id id, enum limit_side side,
                                   uint64_t sessions)
{
    struct findings *findings = naming->findings;
    /* fewer shortages than FINDINGS_MAX, but causes that name settings may be many */
    struct finding *finding =
        &findings->entries[findings->count < FINDINGS_MAX ? findings->count++ : FINDINGS_MAX - 1];
    *finding = (struct finding){.id = id, .side = side, .sessions = sessions};
    return finding;
}

/* The name, and how it is raised: before the run the advice was made for all of its sessions. */
static void add_limit(struct naming *naming, struct finding *finding, const struct limit *limit)
{
    const struct limit *before = find_limit(naming->facts->before, limit->id, limit->side);
    const bool has_fix = before != NULL && before->fix[0] != '\0';
    snprintf(finding->name, sizeof finding->name, "%s", limit->name);
    snprintf(finding->fix, sizeof finding->fix, "%s", has_fix ? before->fix : limit->fix);
}

static void say_use(struct finding *finding, const struct limit *limit)
{
    say(finding, "; %s of %s %s in use then", UNITS_COUNT(limit->used), UNITS_COUNT(limit->allowed),
        limit->unit == NULL ? "" : limit->unit);
    if (limit->where[0] == '/') {
        say(finding, " (%s)", limit->where);
    }
}

/* The limit on tasks that leaves the least room; NULL: none is full. */
static const struct limit *find_full(const struct naming *naming, enum limit_side side)
{
    const struct limit *found = NULL;
    for (size_t i = 0; i < TASK_LIMITS; i++) {
        const struct limit *limit = find_task_limit(naming, task_limits[i], side);
        if (limit != NULL && is_full(limit) && (found == NULL || room_of(limit) < room_of(found))) {
            found = limit;
        }
    }
    return found;
}

/* It cannot be told which limit it was: all that it can be, with the room that they left. */
static void say_candidates(const struct naming *naming, struct finding *finding)
{
    const char *separator = "; no limit that can be read here was reached; room left: ";
    for (size_t i = 0; i < TASK_LIMITS; i++) {
        const struct limit *limit = find_task_limit(naming, task_limits[i], finding->side);
        if (limit != NULL && limit->allowed != LIMIT_NONE) {
            say(finding, "%s%s %s", separator, limit->name, UNITS_COUNT(room_of(limit)));
            separator = ", ";
        }
    }
    if (separator[0] == ';') {
        say(finding, "; its limits cannot be seen from here");
    }
}

/* Tasks that could not be made; `what` says how that was noticed. */
static void name_tasks(struct naming *naming, enum limit_side side, const char *what,
                       uint64_t sessions)
{
    const uint64_t refused =
        naming->facts->growth[side == LIMIT_CLIENT ? EVIDENCE_CLIENT_FORKS : EVIDENCE_SERVER_FORKS];
    const struct limit *cgroup = find_task_limit(naming, LIMIT_CGROUP_TASKS, side);
    const bool is_cgroup = refused > 0 && cgroup != NULL;
    const struct limit *limit = is_cgroup ? cgroup : find_full(naming, side);
    struct finding *finding =
        add_finding(naming, limit == NULL ? LIMIT_IDS : limit->id, side, sessions);
    say(finding, "%.140s", what);
    if (limit == NULL) {
        snprintf(finding->name, sizeof finding->name, "unknown limit of threads");
        say_candidates(naming, finding);
        return;
    }
    finding->side = limit->side;
    add_limit(naming, finding, limit);
    say_use(finding, limit);
    if (is_cgroup) {
        say(finding, "; pids.events counted %llu refusals", (unsigned long long)refused);
    }
}

static void name_thread(struct naming *naming, const struct shortage_sum *sum)
{
    char what[200];
    snprintf(what, sizeof what, "pthread_create: %s", strerror(sum->first->error.native_code));
    name_tasks(naming, LIMIT_CLIENT, what, naming->result->sessions.not_started);
}

static void name_server_task(struct naming *naming, const struct shortage_sum *sum)
{
    char what[200];
    const char *text = sum->first->error.text;
    const bool is_hidden = strcmp(sum->first->error.limit, ERROR_LIMIT_TASKS_LIKELY) == 0;
    if (is_hidden) {
        snprintf(what, sizeof what,
                 "the server answered before TLS with an error, as it does when "
                 "it cannot fork");
    } else {
        snprintf(what, sizeof what, "the server said: %.*s", (int)strcspn(text, ";"), text);
    }
    const size_t before = naming->findings->count;
    name_tasks(naming, LIMIT_SERVER, what, sum->sessions);
    if (is_hidden && naming->findings->count > before &&
        naming->findings->entries[before].id == LIMIT_IDS) {
        naming->findings->count = before; /* nothing shows it */
    }
}

/* An errno that has one meaning; what was in use makes it plain. */
static void name_own(struct naming *naming, const struct shortage_sum *sum, enum shortage shortage)
{
    const bool is_ports = shortage == SHORTAGE_PORTS;
    const enum limit_id id = is_ports ? LIMIT_PORTS : LIMIT_OPEN_FILES;
    struct finding *finding = add_finding(naming, id, LIMIT_CLIENT, sum->sessions);
    const struct limit *limit = find_limit(naming->facts->shortage, id, LIMIT_CLIENT);
    const struct limit *before = find_limit(naming->facts->before, id, LIMIT_CLIENT);
    snprintf(finding->name, sizeof finding->name, "%s",
             is_ports                             ? "ip_local_port_range"
             : shortage == SHORTAGE_MACHINE_FILES ? "fs.file-max"
                                                  : "RLIMIT_NOFILE");
    say(finding, "%s: %s", is_ports ? "connect" : "socket",
        strerror(sum->first->error.native_code));
    if (shortage == SHORTAGE_MACHINE_FILES) {
        return; /* of the whole machine: not among the limits that are read */
    }
    if (limit != NULL) {
        add_limit(naming, finding, limit);
        say_use(finding, limit);
    } else if (before != NULL && before->allowed != LIMIT_NONE) {
        /* without a free descriptor nothing could be read then */
        add_limit(naming, finding, before);
        say(finding, "; %s %s allowed", UNITS_COUNT(before->allowed), before->unit);
    }
}

/* The setting that a SHORTAGE_SETTING names: an entry of `server`, or NULL when it has none such.
 * *name is what it is called; NULL when neither the cause nor the server tells. */
static const struct session_limit *
find_setting(const struct cause *cause, const struct server_limits *server, const char **name)
{
    const char *const limit = cause->error.limit;
    const bool is_named = limit[0] != '\0';
    const struct session_limit *found = NULL;
    for (size_t i = 0; server != NULL && i < server->count; i++) {
        const struct session_limit *one = &server->sessions[i];
        /* where it is not named, the first to be reached is the one with the least room */
        if (is_named ? strcmp(one->name, limit) == 0
                     : found == NULL ||
                           room(one->allowed, one->used) < room(found->allowed, found->used)) {
            found = one;
        }
    }
    *name = found != NULL ? found->name : is_named ? limit : NULL;
    return found;
}

/* One that connects again fails more than once, and may get in at last. */
static void add_cost(const struct cause *cause, uint64_t *sessions, uint64_t *tries)
{
    *(cause->phase == CAUSE_RECONNECT ? tries : sessions) += cause->count;
}

static void name_setting(struct naming *naming, const struct cause *cause)
{
    const char *name = NULL;
    const bool is_later = cause->phase == CAUSE_RECONNECT;
    const bool is_after = is_later && naming->facts->server_after != NULL;
    const struct session_limit *limit =
        find_setting(cause, is_after ? naming->facts->server_after : naming->facts->server, &name);
    if (name == NULL) {
        name = "unknown setting";
    }
    struct findings *findings = naming->findings;
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->entries[i].id == LIMIT_SESSIONS &&
            strcmp(findings->entries[i].name, name) == 0) {
            add_cost(cause, &findings->entries[i].sessions, &findings->entries[i].tries);
            return;
        }
    }
    struct finding *finding = add_finding(naming, LIMIT_SESSIONS, LIMIT_DATABASE, 0);
    add_cost(cause, &finding->sessions, &finding->tries);
    snprintf(finding->name, sizeof finding->name, "%s", name);
    say(finding, "the server said: %.140s", cause->error.text);
    if (limit == NULL) {
        return;
    }
    if (is_later) {
        /* a server that was started again may allow another number */
        say(finding, "; %s allowed %s the run", UNITS_COUNT(limit->allowed),
            is_after ? "after" : "before");
        return;
    }
    /* this limit counted the connection that asked, which has left */
    say(finding, "; %s allowed, %s in use by others before the run", UNITS_COUNT(limit->allowed),
        UNITS_COUNT(limit->used > 0 ? limit->used - 1 : 0));
    snprintf(finding->fix, sizeof finding->fix, "%s", limit->fix);
    const struct limit_list *list = naming->facts->before;
    for (size_t i = 0; i < list->count; i++) {
        const struct limit *before = &list->entries[i];
        if (before->id == LIMIT_SESSIONS && strcmp(before->name, name) == 0 &&
            before->fix[0] != '\0') {
            snprintf(finding->fix, sizeof finding->fix, "%s", before->fix);
        }
    }
}

/* How many may wait is a server's own setting, which the kernel cuts to its own. */
static struct finding *add_backlog(struct naming *naming, const struct shortage_sum *sum)
{
    struct finding *finding = add_finding(naming, LIMIT_BACKLOG, LIMIT_SERVER, sum->sessions);
    snprintf(finding->name, sizeof finding->name, "listen backlog");
    snprintf(finding->fix, sizeof finding->fix,
             "a lower --connect-concurrency; or raise the server's own setting (back_log in "
             "my.cnf; in postgresql.conf it follows max_connections) and net.core.somaxconn "
             "(sysctl), and restart it");
    return finding;
}

/* Connections that nobody answered: the server does not accept them, or has no room to. */
static void name_silence(struct naming *naming, const struct shortage_sum *sum)
{
    const struct evidence_facts *facts = naming->facts;
    const struct limit *files = find_limit(facts->shortage, LIMIT_OPEN_FILES, LIMIT_SERVER);
    if (files != NULL && is_full(files)) {
        struct finding *finding =
            add_finding(naming, LIMIT_OPEN_FILES, LIMIT_SERVER, sum->sessions);
        add_limit(naming, finding, files);
        say(finding, "connections were not accepted");
        say_use(finding, files);
        return;
    }
    const uint64_t overflows = facts->growth[EVIDENCE_LISTEN_OVERFLOWS];
    if (overflows > 0) {
        say(add_backlog(naming, sum),
            "ListenOverflows grew by %llu, ListenDrops by %llu while connects timed out",
            (unsigned long long)overflows,
            (unsigned long long)facts->growth[EVIDENCE_LISTEN_DROPS]);
    }
}

static void say_memory_limit(struct naming *naming, struct finding *finding)
{
    const struct limit *memory =
        find_limit(naming->facts->before, LIMIT_CGROUP_MEMORY, LIMIT_SERVER);
    if (memory != NULL && memory->allowed != LIMIT_NONE) {
        char bytes[UNITS_TEXT_BYTES];
        say(finding, "; its cgroup may have %s (%s)", units_format_bytes(memory->allowed, bytes),
            memory->where);
        snprintf(finding->fix, sizeof finding->fix, "%s", memory->fix);
    }
}

static void say_end(const struct naming *naming, struct finding *finding,
                    const struct shortage_sum *sum)
{
    const struct evidence_facts *facts = naming->facts;
    if (facts->server_pid > 0 && facts->is_server_gone) {
        say(finding, "%s (pid %d) ended", facts->server_name, (int)facts->server_pid);
    } else if (facts->is_server_gone) {
        say(finding, "nothing listens on port %u any more", (unsigned)facts->port);
    } else if (facts->server_pid > 0) {
        say(finding, "connections were lost, %s (pid %d) still runs", facts->server_name,
            (int)facts->server_pid);
    } else {
        say(finding, "connections were lost, and the server still runs");
    }
    char since[UNITS_TEXT_BYTES];
    units_format_ns(sum->first->first_ns - naming->result->start_mono_ns, since);
    say(finding, "; the first session lost it %s into the run", since);
}

static void say_kills(struct finding *finding, uint64_t kills, const char *where)
{
    say(finding, "; the kernel killed %llu process%s of %s for memory", (unsigned long long)kills,
        kills == 1 ? "" : "es", where);
}

/* The server's process, or one of its own for a session, was ended. Where no cgroup counts, it may
 * have been another process of the machine that the kernel killed: the words do not say more. */
static void name_lost(struct naming *naming, const struct shortage_sum *sum)
{
    const struct evidence_facts *facts = naming->facts;
    const uint64_t own_kills = facts->growth[EVIDENCE_SERVER_OOM_KILLS];
    const uint64_t kills = facts->is_server_here ? facts->growth[EVIDENCE_OOM_KILLS] : 0;
    if (!facts->is_server_gone && own_kills == 0 && kills == 0) {
        return;
    }
    struct finding *finding = add_finding(naming, LIMIT_GONE, LIMIT_SERVER, sum->sessions);
    snprintf(finding->name, sizeof finding->name, "%s",
             own_kills > 0 || !facts->is_server_gone ? "OOM kill" : "end of the server's process");
    say_end(naming, finding, sum);
    if (own_kills > 0) {
        say_kills(finding, own_kills, "its cgroup");
        say_memory_limit(naming, finding);
    } else if (kills > 0) {
        say_kills(finding, kills, "this machine");
    }
}

static void sum_up(struct naming *naming)
{
    const struct causes *causes = &naming->result->causes;
    for (size_t i = 0; i < causes->count; i++) {
        const struct cause *cause = &causes->entries[i];
        struct shortage_sum *sum = &naming->sums[classify(cause)];
        add_cost(cause, &sum->sessions, &sum->tries);
        if (sum->first == NULL || cause->first_ns < sum->first->first_ns) {
            sum->first = cause;
        }
    }
}

static void name_shortage(struct naming *naming, enum shortage shortage)
{
    const struct shortage_sum *sum = &naming->sums[shortage];
    switch (shortage) {
    case SHORTAGE_THREAD:
        name_thread(naming, sum);
        break;
    case SHORTAGE_FILES:
    case SHORTAGE_MACHINE_FILES:
    case SHORTAGE_PORTS:
        name_own(naming, sum, shortage);
        break;
    case SHORTAGE_SOCKET_BACKLOG:
        say(add_backlog(naming, sum),
            "connect: EAGAIN, the queue of the server's Unix socket was full");
        break;
    case SHORTAGE_SERVER_TASK:
        name_server_task(naming, sum);
        break;
    case SHORTAGE_SILENCE:
        name_silence(naming, sum);
        break;
    case SHORTAGE_LOST:
        name_lost(naming, sum);
        break;
    case SHORTAGE_SETTING: /* one by one: a server has several */
    case SHORTAGE_NONE:
    case SHORTAGES:
        break;
    }
}

/* Few entries; those of equal cost stay in order. */
static void sort(struct findings *findings)
{
    for (size_t i = 1; i < findings->count; i++) {
        const struct finding moved = findings->entries[i];
        size_t to = i;
        while (to > 0 && findings->entries[to - 1].sessions < moved.sessions) {
            findings->entries[to] = findings->entries[to - 1];
            to--;
        }
        findings->entries[to] = moved;
    }
}

void evidence_name(const struct evidence_facts *facts, const struct result *result,
                   struct findings *findings)
{
    struct naming naming = {.facts = facts, .result = result, .findings = findings};
    findings->count = 0;
    sum_up(&naming);
    for (int i = SHORTAGE_NONE; i < SHORTAGES; i++) {
        if (naming.sums[i].first != NULL) {
            const size_t before = findings->count;
            name_shortage(&naming, (enum shortage)i);
            if (findings->count > before) {
                findings->entries[before].tries = naming.sums[i].tries;
            }
        }
    }
    for (size_t i = 0; i < result->causes.count; i++) {
        if (classify(&result->causes.entries[i]) == SHORTAGE_SETTING) {
            name_setting(&naming, &result->causes.entries[i]);
        }
    }
    for (size_t i = 0; i < findings->count; i++) {
        /* one that comes back is lost more than once; of those that tried, some were dropped */
        struct finding *finding = &findings->entries[i];
        const struct session_ledger *sessions = &result->sessions;
        finding->sessions +=
            finding->tries < sessions->dropped ? finding->tries : sessions->dropped;
        if (finding->sessions > sessions->requested) {
            finding->sessions = sessions->requested;
        }
    }
    sort(findings);
}

void evidence_conclude(struct evidence *evidence, const struct result *result,
                       struct findings *findings)
{
    struct evidence_facts facts = {
        .before = &evidence->before,
        .shortage = evidence->is_captured ? &evidence->shortage : NULL,
        .server = evidence->question->server,
        .server_after = evidence->has_server_after ? &evidence->server_after : NULL,
        .is_server_here = is_server_here(evidence->question),
        .is_server_gone = is_server_gone(evidence, result),
        .server_pid = evidence->server.pid,
        .port = evidence->question->port,
    };
    memcpy(facts.server_name, evidence->server.name, sizeof facts.server_name);
    const struct counters *earlier = &evidence->counters;
    struct counters later;
    read_counters(evidence, &later);
    for (size_t i = 0; i < EVIDENCE_COUNTERS; i++) {
        if (earlier->is_known[i] && later.is_known[i] && later.values[i] > earlier->values[i]) {
            facts.growth[i] = later.values[i] - earlier->values[i];
        }
    }
    evidence_name(&facts, result, findings);
}
