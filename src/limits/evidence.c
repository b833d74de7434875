#include "limits/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/text.h"
#include "measure/server_find.h"

/* After connections were lost, this program checks whether the server's process has disappeared
 * from /proc. END_LIMIT_NS: maximum time of the check, which is needed because a process closes its
 * connections shortly before it disappears. END_PAUSE_NS: pause between two readings of /proc. */
#define END_LIMIT_NS (500 * MONO_NS_PER_MS)
#define END_PAUSE_NS (20 * MONO_NS_PER_MS)

/* The reason why sessions failed, if a limit may be the cause: usually a resource that ran out. */
enum shortage {
    SHORTAGE_NONE,
    SHORTAGE_THREAD,         /* this program could not start a thread */
    SHORTAGE_FILES,          /* this program had no free descriptor (EMFILE) */
    SHORTAGE_MACHINE_FILES,  /* this machine had no free file (ENFILE) */
    SHORTAGE_PORTS,          /* this machine had no free local port (EADDRNOTAVAIL) */
    SHORTAGE_SOCKET_BACKLOG, /* the queue of the Unix socket was full (EAGAIN of connect) */
    SHORTAGE_SERVER_TASK,    /* the server could not create a process or thread */
    SHORTAGE_SILENCE,        /* a connect was not answered in time */
    SHORTAGE_LOST,           /* nothing listened, or a connection was lost */
    SHORTAGE_SETTING,        /* the server reported that one of its settings was reached */
    SHORTAGES,
};

/* Maps an errno of this program to a shortage. `is_connect`: the failed call connected a
 * session. */
static enum shortage classify_errno(int number, bool is_connect)
{
    switch (number) {
    case EMFILE:
        return SHORTAGE_FILES;
    case ENFILE:
        return SHORTAGE_MACHINE_FILES;
    case EADDRNOTAVAIL:
        return SHORTAGE_PORTS;
    case EAGAIN:
        return is_connect ? SHORTAGE_SOCKET_BACKLOG : SHORTAGE_NONE;
    default:
        return SHORTAGE_NONE;
    }
}

/* Maps error.limit to a shortage. `limit` may be NULL. */
static enum shortage classify_limit(const char *limit)
{
    if (limit == NULL) {
        return SHORTAGE_NONE;
    }
    const bool is_task =
        strcmp(limit, ERROR_LIMIT_TASKS) == 0 || strcmp(limit, ERROR_LIMIT_TASKS_LIKELY) == 0;
    return is_task ? SHORTAGE_SERVER_TASK : SHORTAGE_SETTING;
}

/* Maps the cause of failed sessions to a shortage. */
static enum shortage classify(const struct cause *cause)
{
    const bool is_connect = cause->phase == CAUSE_CONNECT || cause->phase == CAUSE_HOST;
    if (cause->phase == CAUSE_THREAD && cause->error.kind == ERROR_LIMIT) {
        return SHORTAGE_THREAD;
    }
    switch (cause->error.kind) {
    case ERROR_SYSTEM:
        return classify_errno(cause->error.native_code, is_connect);
    case ERROR_LIMIT:
        return classify_limit(cause->error.limit);
    case ERROR_TIMEOUT:
        return is_connect ? SHORTAGE_SILENCE : SHORTAGE_NONE;
    case ERROR_CONNECTION:
    case ERROR_UNREACHABLE:
    case ERROR_SERVER:
        return cause->status == STATUS_LOST ? SHORTAGE_LOST : SHORTAGE_NONE;
    default:
        return SHORTAGE_NONE;
    }
}

static const struct limit *find_limit(const struct limit_list *list, enum limit_id id,
                                      enum limit_side side)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->entries[i].id == id && list->entries[i].side == side) {
            return &list->entries[i];
        }
    }
    return NULL;
}

/* Returns whether some process listens on the port, even if this program may not see the
 * process. */
static bool is_port_open(int proc, uint16_t port)
{
    struct procfs_inodes listeners = {.count = 0};
    procfs_read_listeners(proc, port, &listeners);
    return listeners.count > 0;
}

/* Reads the counters. The counters of listeners come from the server's network namespace, or from
 * this program's network namespace if the server's process is unknown. The counters of a cgroup are
 * in a file next to the cgroup's limit. */
static void read_counters(const struct evidence *evidence, int64_t counters[EVIDENCE_COUNTERS])
{
    static const struct {
        enum evidence_counter counter;
        enum limit_side side;
        /* limit whose cgroup folder has the file; LIMIT_IDS: the file is in /proc */
        enum limit_id id;
        const char *file;
        const char *name;
    } wanted[] = {
        {EVIDENCE_LISTEN_OVERFLOWS, LIMIT_SERVER, LIMIT_IDS, "net/netstat", "ListenOverflows"},
        {EVIDENCE_LISTEN_DROPS, LIMIT_SERVER, LIMIT_IDS, "net/netstat", "ListenDrops"},
        {EVIDENCE_OOM_KILLS, LIMIT_CLIENT, LIMIT_IDS, "vmstat", "oom_kill"},
        {EVIDENCE_CLIENT_FORKS, LIMIT_CLIENT, LIMIT_CGROUP_TASKS, "pids.events", "max"},
        {EVIDENCE_SERVER_FORKS, LIMIT_SERVER, LIMIT_CGROUP_TASKS, "pids.events", "max"},
        /* the names in cgroup version 2 and in version 1 */
        {EVIDENCE_SERVER_OOM_KILLS, LIMIT_SERVER, LIMIT_CGROUP_MEMORY, "memory.events", "oom_kill"},
        {EVIDENCE_SERVER_OOM_KILLS, LIMIT_SERVER, LIMIT_CGROUP_MEMORY, "memory.oom_control",
         "oom_kill"},
    };
    const pid_t pid = evidence->servers[0].process.pid;
    struct buffer text = {0};
    memset(counters, -1, EVIDENCE_COUNTERS * sizeof *counters);
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        const bool is_server = wanted[i].side == LIMIT_SERVER;
        const struct limit *limit = find_limit(&evidence->before, wanted[i].id, wanted[i].side);
        char path[LIMIT_WHERE_BYTES + 32];
        uint64_t value = 0;
        if (wanted[i].id != LIMIT_IDS && limit != NULL && limit->where[0] == '/') {
            snprintf(path, sizeof path, "%.*s/%s", (int)(strrchr(limit->where, '/') - limit->where),
                     limit->where, wanted[i].file);
        } else if (wanted[i].id != LIMIT_IDS || (is_server && evidence->question->is_remote)) {
            continue;
        } else if (is_server && pid > 0) {
            snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, wanted[i].file);
        } else {
            snprintf(path, sizeof path, "/proc/%s", wanted[i].file);
        }
        const bool is_netstat = is_server && wanted[i].id == LIMIT_IDS;
        if (procfs_load(AT_FDCWD, path, &text) &&
            (is_netstat ? procfs_parse_netstat : procfs_parse_named)(
                buffer_text(&text), text.length, wanted[i].name, &value)) {
            counters[wanted[i].counter] = (int64_t)value;
        }
    }
    buffer_fini(&text);
}

/* Looks for the process of a server, and adds the server to *evidence if it is not in *evidence
 * yet. */
static void add_server(struct evidence *evidence, int proc, const struct server_place *place,
                       pid_t pid)
{
    char note[200];
    struct evidence_server *server = &evidence->servers[evidence->server_count];
    const bool is_seen = pid > 0 ? procfs_read_process(proc, pid, &server->process)
                                 : server_find(proc, place->port, place->socket, &server->process,
                                               note, sizeof note);
    server->process.pid = is_seen ? server->process.pid : 0;
    server->port = place->port;
    server->was_listening = place->port > 0 && is_port_open(proc, place->port);
    for (const struct evidence_server *other = evidence->servers; other < server; other++) {
        if (is_seen ? other->process.pid == server->process.pid
                    : other->process.pid == 0 && other->port == server->port) {
            return;
        }
    }
    evidence->server_count++;
}

struct evidence *evidence_begin(const struct limits_question *question)
{
    struct evidence *evidence = calloc(1, sizeof *evidence);
    if (evidence == NULL) {
        return NULL;
    }
    evidence->question = question;
    /* /proc is not kept open, because a session may need the descriptor */
    const int proc =
        limits_has_server_here(question) || question->place_count > 0 ? procfs_open() : -1;
    if (proc >= 0 && limits_has_server_here(question)) {
        const bool is_path = question->host != NULL && question->host[0] == '/';
        const struct server_place own = {question->port, is_path ? question->host : NULL};
        add_server(evidence, proc, &own, question->server_pid);
    }
    for (size_t i = 0; proc >= 0 && i < question->place_count; i++) {
        add_server(evidence, proc, &question->places[i], 0);
    }
    if (proc >= 0) {
        close(proc);
    }
    limits_read(question, &evidence->before);
    read_counters(evidence, evidence->counters);
    return evidence;
}

void evidence_capture(struct evidence *evidence)
{
    limits_read(evidence->question, &evidence->shortage);
}

/* Returns whether sessions failed because of `shortage`. If is_later_only is true, only failures to
 * reconnect count. */
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

bool evidence_needs_settings(const struct result *result)
{
    return has_shortage(result, SHORTAGE_SETTING, true);
}

/* Returns whether the server still runs. The start time is compared, because another process may
 * have the same pid now. A process that cannot be read counts as running. */
static bool is_server_there(int proc, const struct evidence_server *server)
{
    const struct procfs_process *before = &server->process;
    struct procfs_process now;
    if (before->pid == 0) {
        return !server->was_listening || is_port_open(proc, server->port);
    }
    return procfs_read_process(proc, before->pid, &now)
               ? now.start_ticks == before->start_ticks && !now.has_ended
               : errno != ENOENT && errno != ESRCH;
}

/* Sets `is_gone` of every server. Returns whether at least one server has ended. */
static bool find_gone(struct evidence *evidence)
{
    bool is_gone = false;
    const int proc = procfs_open();
    for (size_t i = 0; proc >= 0 && i < evidence->server_count; i++) {
        struct evidence_server *server = &evidence->servers[i];
        server->is_gone = !is_server_there(proc, server);
        is_gone |= server->is_gone;
    }
    if (proc >= 0) {
        close(proc);
    }
    return is_gone;
}

void evidence_find_limits(struct evidence *evidence, const struct result *result,
                          struct findings *findings)
{
    int64_t later[EVIDENCE_COUNTERS];
    const int64_t limit_ns = mono_now_ns() + END_LIMIT_NS;
    if (evidence->server_count > 0 && has_shortage(result, SHORTAGE_LOST, false)) {
        while (!find_gone(evidence) && mono_now_ns() < limit_ns) {
            mono_sleep(END_PAUSE_NS);
        }
    }
    read_counters(evidence, later);
    for (size_t i = 0; i < EVIDENCE_COUNTERS; i++) {
        const int64_t earlier = evidence->counters[i];
        evidence->growth[i] =
            earlier >= 0 && later[i] > earlier ? (uint64_t)(later[i] - earlier) : 0;
    }
    evidence_name_limits(evidence, result, findings);
}

/* All causes of one shortage, for which a limit is to be named. */
struct attribution {
    const struct evidence *evidence;
    const struct result *result;
    struct findings *findings;
    const struct cause *first; /* the earliest cause; NULL if there is no cause */
    uint64_t sessions;
    uint64_t tries; /* number of failed attempts of sessions to reconnect */
};

/* The limits that can prevent the creation of a process or thread. */
static const enum limit_id task_limits[] = {
    LIMIT_USER_TASKS, LIMIT_CGROUP_TASKS,  LIMIT_THREADS_MAX, LIMIT_PID_MAX,
    LIMIT_MAP_COUNT,  LIMIT_ADDRESS_SPACE, LIMIT_COMMIT};

/* Adds text to finding->evidence. */
__attribute__((format(printf, 2, 3))) static void say(struct finding *finding, const char *format,
                                                      ...)
{
    const size_t used = strlen(finding->evidence);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->evidence + used, sizeof finding->evidence - used, format, arguments);
    va_end(arguments);
}

static uint64_t room_of(const struct limit *limit)
{
    return limits_room(limit->allowed, limit->used);
}

/* Returns whether the limit has no room for one more session. A very small amount of room counts as
 * no room, because other processes may have ended before the limit was read. */
static bool is_full(const struct limit *limit)
{
    return limit != NULL && limit->allowed != LIMIT_NONE &&
           room_of(limit) <= limit->allowed / 1000 + 2 + limit->each;
}

/* Returns a limit with the values that were read while sessions failed, or NULL if the limit was
 * not read. A limit of the whole machine is listed only once, as the client's limit. */
static const struct limit *find_short(const struct attribution *attribution, enum limit_id id,
                                      enum limit_side side)
{
    const struct limit_list *list = &attribution->evidence->shortage;
    const bool is_machine = id == LIMIT_THREADS_MAX || id == LIMIT_PID_MAX || id == LIMIT_COMMIT;
    const struct limit *limit = find_limit(list, id, side);
    return limit == NULL && is_machine && limits_has_server_here(attribution->evidence->question)
               ? find_limit(list, id, LIMIT_CLIENT)
               : limit;
}

/* Adds a finding. If the limit is known, the caller also calls add_limit, which replaces `name`. */
static struct finding *add_finding(const struct attribution *attribution, enum limit_id id,
                                   enum limit_side side, const char *name)
{
    struct findings *findings = attribution->findings;
    /* the list may be full, because each cause can name a different setting */
    struct finding *finding =
        &findings->entries[findings->count < FINDINGS_MAX ? findings->count++ : FINDINGS_MAX - 1];
    *finding = (struct finding){
        .id = id, .side = side, .sessions = attribution->sessions, .tries = attribution->tries};
    snprintf(finding->name, sizeof finding->name, "%s", name);
    return finding;
}

/* Adds the limit's name, and the advice on how to raise the limit, to the finding. Prefers the
 * advice from before the run, because that advice was written for all sessions. If says_use is
 * true, the finding also says how much of the limit was in use. */
static void add_limit(const struct attribution *attribution, struct finding *finding,
                      const struct limit *limit, bool says_use)
{
    const struct limit *before = find_limit(&attribution->evidence->before, limit->id, limit->side);
    const bool has_fix = before != NULL && before->fix[0] != '\0';
    snprintf(finding->name, sizeof finding->name, "%s", limit->name);
    snprintf(finding->fix, sizeof finding->fix, "%s", has_fix ? before->fix : limit->fix);
    if (says_use) {
        say(finding, "; %s of %s %s in use at that time", UNITS_COUNT(limit->used),
            UNITS_COUNT(limit->allowed), limit->unit == NULL ? "" : limit->unit);
        if (limit->where[0] == '/') {
            say(finding, " (%s)", limit->where);
        }
    }
}

/* Names the limit that prevented the creation of tasks: the cgroup's limit if the cgroup's counter
 * of refusals grew; otherwise the limit with the least room among the limits that were reached. */
static void name_tasks(const struct attribution *attribution, enum limit_side side)
{
    const struct error *error = &attribution->first->error;
    const bool is_client = side == LIMIT_CLIENT;
    const bool is_likely_only = !is_client && strcmp(error->limit, ERROR_LIMIT_TASKS_LIKELY) == 0;
    const uint64_t refused =
        attribution->evidence->growth[is_client ? EVIDENCE_CLIENT_FORKS : EVIDENCE_SERVER_FORKS];
    const struct limit *limit =
        refused > 0 ? find_short(attribution, LIMIT_CGROUP_TASKS, side) : NULL;
    const bool is_cgroup = limit != NULL;
    for (size_t i = 0; i < COUNT_OF(task_limits) && !is_cgroup; i++) {
        const struct limit *one = find_short(attribution, task_limits[i], side);
        if (is_full(one) && (limit == NULL || room_of(one) < room_of(limit))) {
            limit = one;
        }
    }
    if (limit == NULL && is_likely_only) {
        return; /* there is no evidence */
    }
    struct finding *finding =
        add_finding(attribution, limit == NULL ? LIMIT_IDS : limit->id,
                    limit == NULL ? side : limit->side, "unknown thread limit");
    if (is_client) {
        say(finding, "pthread_create: %s", strerror(error->native_code));
    } else if (is_likely_only) {
        say(finding, "the server sent an error before TLS began, probably because the server "
                     "cannot start a process");
    } else {
        const size_t length = strcspn(error->text, ";");
        say(finding, "the server said: %.*s", (int)(length < 123 ? length : 123), error->text);
    }
    if (limit != NULL) {
        add_limit(attribution, finding, limit, true);
        if (is_cgroup) {
            say(finding, "; pids.events counted %llu %s", (unsigned long long)refused,
                units_plural(refused, "refusal", "refusals"));
        }
        return;
    }
    /* the limit is uncertain: list all candidates, with the room that was left */
    const char *separator = "; no limit that append can read was reached; room left: ";
    for (size_t i = 0; i < COUNT_OF(task_limits); i++) {
        const struct limit *one = find_short(attribution, task_limits[i], side);
        if (one != NULL && one->allowed != LIMIT_NONE) {
            say(finding, "%s%s %s", separator, one->name, UNITS_COUNT(room_of(one)));
            separator = ", ";
        }
    }
    if (separator[0] == ';') {
        say(finding, "; append cannot read any limit on threads");
    }
}

/* Names the limit for a shortage that only one limit can cause. Adds how much of the limit was in
 * use, to confirm the finding. */
static void name_own(const struct attribution *attribution, enum shortage shortage)
{
    const bool is_ports = shortage == SHORTAGE_PORTS;
    const bool is_machine = shortage == SHORTAGE_MACHINE_FILES;
    const enum limit_id id = is_ports ? LIMIT_PORTS : LIMIT_OPEN_FILES;
    struct finding *finding = add_finding(
        attribution, id, LIMIT_CLIENT,
        is_ports ? "ip_local_port_range" : (is_machine ? "fs.file-max" : "RLIMIT_NOFILE"));
    const struct limit *limit = find_short(attribution, id, LIMIT_CLIENT);
    const struct limit *before = find_limit(&attribution->evidence->before, id, LIMIT_CLIENT);
    say(finding, "%s: %s", is_ports ? "connect" : "socket",
        strerror(attribution->first->error.native_code));
    if (is_machine) {
        return; /* the limit of the whole machine is not among the limits that are read */
    }
    if (limit != NULL) {
        add_limit(attribution, finding, limit, true);
    } else if (before != NULL && before->allowed != LIMIT_NONE) {
        /* the limit could not be read while sessions failed, because no descriptor was free */
        add_limit(attribution, finding, before, false);
        say(finding, "; %s %s allowed", UNITS_COUNT(before->allowed), before->unit);
    }
}

static void name_setting(const struct attribution *attribution, const struct cause *cause)
{
    const struct evidence *evidence = attribution->evidence;
    const bool is_later = cause->phase == CAUSE_RECONNECT || cause->phase == CAUSE_HOST;
    const bool is_after = is_later && evidence->has_server_after;
    const struct server_limits *server =
        is_after ? &evidence->server_after : evidence->question->server;
    const char *const said = cause->error.limit;
    const struct session_limit *limit = NULL;
    for (size_t i = 0; server != NULL && i < server->count; i++) {
        const struct session_limit *one = &server->sessions[i];
        /* if the server did not name the setting, the setting with the least room is taken */
        if (said[0] != '\0' ? strcmp(one->name, said) == 0
                            : limit == NULL || limits_room(one->allowed, one->used) <
                                                   limits_room(limit->allowed, limit->used)) {
            limit = one;
        }
    }
    const char *name = "unknown setting";
    if (limit != NULL) {
        name = limit->name;
    } else if (said[0] != '\0') {
        name = said;
    }
    struct findings *findings = attribution->findings;
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->entries[i].id == LIMIT_SESSIONS &&
            strcmp(findings->entries[i].name, name) == 0) {
            findings->entries[i].sessions += attribution->sessions;
            findings->entries[i].tries += attribution->tries;
            return;
        }
    }
    struct finding *finding = add_finding(attribution, LIMIT_SESSIONS, LIMIT_DATABASE, name);
    say(finding, "the server said: %.140s", cause->error.text);
    if (limit == NULL) {
        return;
    }
    if (is_later) {
        /* the number in use is left out, because the server may have been restarted since it was
         * read */
        say(finding, "; %s allowed %s the run", UNITS_COUNT(limit->allowed),
            is_after ? "after" : "before");
        return;
    }
    /* `used` included the connection that asked the server; this connection was closed before the
     * sessions were opened */
    say(finding, "; %s allowed, %s in use by others before the run", UNITS_COUNT(limit->allowed),
        UNITS_COUNT(limit->used > 0 ? limit->used - 1 : 0));
    snprintf(finding->fix, sizeof finding->fix, "%s", limit->fix);
    for (size_t i = 0; i < evidence->before.count; i++) {
        const struct limit *before = &evidence->before.entries[i];
        if (before->id == LIMIT_SESSIONS && strcmp(before->name, name) == 0 &&
            before->fix[0] != '\0') {
            snprintf(finding->fix, sizeof finding->fix, "%s", before->fix);
        }
    }
}

/* Adds the finding that the listen backlog was full. The length of the backlog is a setting of the
 * server, and the kernel has an upper limit for it. */
static struct finding *add_backlog(const struct attribution *attribution)
{
    struct finding *finding =
        add_finding(attribution, LIMIT_BACKLOG, LIMIT_SERVER, "listen backlog");
    snprintf(finding->fix, sizeof finding->fix,
             "raise net.core.somaxconn (sysctl), and raise back_log in my.cnf or PostgreSQL's "
             "max_connections, then restart the server; or use a lower --connect-concurrency");
    return finding;
}

/* Names the limit because of which connects were not answered: the server had no free descriptor to
 * accept a connection, or the server's accept queue was full. */
static void name_silence(const struct attribution *attribution)
{
    const uint64_t *growth = attribution->evidence->growth;
    const struct limit *files = find_short(attribution, LIMIT_OPEN_FILES, LIMIT_SERVER);
    if (is_full(files)) {
        struct finding *finding = add_finding(attribution, LIMIT_OPEN_FILES, LIMIT_SERVER, "");
        say(finding, "the server accepted no more connections");
        add_limit(attribution, finding, files, true);
    } else if (growth[EVIDENCE_LISTEN_OVERFLOWS] > 0) {
        say(add_backlog(attribution),
            "queues of new connections were full while connects timed out: ListenOverflows grew by "
            "%llu, ListenDrops by %llu",
            (unsigned long long)growth[EVIDENCE_LISTEN_OVERFLOWS],
            (unsigned long long)growth[EVIDENCE_LISTEN_DROPS]);
    }
}

/* Says which servers have ended and, with several servers, on which port each of them listened. */
static void say_gone(struct finding *finding, const struct evidence *evidence)
{
    const char *separator = "";
    for (size_t i = 0; i < evidence->server_count; i++) {
        const struct evidence_server *server = &evidence->servers[i];
        if (server->is_gone && server->process.pid == 0) {
            say(finding, "%snothing listens on port %u any more", separator, server->port);
        } else if (server->is_gone) {
            say(finding, "%s%s (pid %d)", separator, server->process.name,
                (int)server->process.pid);
            if (evidence->server_count > 1) {
                say(finding, " on port %u", server->port);
            }
            say(finding, " ended");
        }
        separator = server->is_gone ? ", " : separator;
    }
}

/* Names the end of a server's process, or an OOM kill that may have hit a session's process. If the
 * counter of the server's cgroup is unknown or did not grow, the counted kills are the kills of the
 * whole machine; the text then says so, because any process may have been killed. */
static void name_lost(const struct attribution *attribution)
{
    const struct evidence *evidence = attribution->evidence;
    const struct procfs_process *server = &evidence->servers[0].process;
    bool is_gone = false;
    for (size_t i = 0; i < evidence->server_count; i++) {
        is_gone |= evidence->servers[i].is_gone;
    }
    const bool is_own = evidence->growth[EVIDENCE_SERVER_OOM_KILLS] > 0;
    const uint64_t machine_kills =
        limits_has_server_here(evidence->question) ? evidence->growth[EVIDENCE_OOM_KILLS] : 0;
    const uint64_t kills = is_own ? evidence->growth[EVIDENCE_SERVER_OOM_KILLS] : machine_kills;
    if (!is_gone && kills == 0) {
        return;
    }
    struct finding *finding =
        add_finding(attribution, LIMIT_GONE, LIMIT_SERVER,
                    is_own || !is_gone ? "OOM kill" : "end of the server's process");
    if (is_gone) {
        say_gone(finding, evidence);
    } else if (server->pid > 0) {
        say(finding, "connections were lost, but %s (pid %d) still runs", server->name,
            (int)server->pid);
    } else {
        say(finding, "connections were lost, but the server still runs");
    }
    say(finding, "; first loss %s into the run",
        UNITS_NS(attribution->first->first_ns - attribution->result->start_mono_ns));
    if (kills > 0) {
        say(finding, "; the kernel killed %llu process%s of %s because memory ran out",
            (unsigned long long)kills, kills == 1 ? "" : "es",
            is_own ? "the server's cgroup" : "this machine");
    }
    const struct limit *memory = find_limit(&evidence->before, LIMIT_CGROUP_MEMORY, LIMIT_SERVER);
    if (is_own && memory != NULL && memory->allowed != LIMIT_NONE) {
        say(finding, "; the cgroup may use %s (%s)", UNITS_BYTES(memory->allowed), memory->where);
        snprintf(finding->fix, sizeof finding->fix, "%s", memory->fix);
    }
}

void evidence_name_limits(const struct evidence *evidence, const struct result *result,
                          struct findings *findings)
{
    const struct causes *causes = &result->causes;
    const struct session_ledger *sessions = &result->sessions;
    findings->count = 0;
    for (int shortage = SHORTAGE_THREAD; shortage < SHORTAGES; shortage++) {
        struct attribution attribution = {
            .evidence = evidence, .result = result, .findings = findings};
        for (size_t i = 0; i < causes->count; i++) {
            const struct cause *cause = &causes->entries[i];
            if ((int)classify(cause) != shortage) {
                continue;
            }
            /* a session that reconnects may fail more than once and succeed later */
            *(cause->phase == CAUSE_RECONNECT || cause->phase == CAUSE_HOST
                  ? &attribution.tries
                  : &attribution.sessions) += cause->count;
            if (attribution.first == NULL || cause->first_ns < attribution.first->first_ns) {
                attribution.first = cause;
            }
            /* a finding is added for each cause, because causes may concern different settings of
             * the server */
            if (shortage == SHORTAGE_SETTING) {
                name_setting(&attribution, cause);
                attribution.sessions = 0;
                attribution.tries = 0;
            }
        }
        switch (attribution.first == NULL ? SHORTAGE_NONE : (enum shortage)shortage) {
        case SHORTAGE_THREAD:
            attribution.sessions = sessions->not_started;
            name_tasks(&attribution, LIMIT_CLIENT);
            break;
        case SHORTAGE_SERVER_TASK:
            name_tasks(&attribution, LIMIT_SERVER);
            break;
        case SHORTAGE_FILES:
        case SHORTAGE_MACHINE_FILES:
        case SHORTAGE_PORTS:
            name_own(&attribution, (enum shortage)shortage);
            break;
        case SHORTAGE_SOCKET_BACKLOG:
            say(add_backlog(&attribution),
                "connect: EAGAIN, the queue of the server's Unix socket was full");
            break;
        case SHORTAGE_SILENCE:
            name_silence(&attribution);
            break;
        case SHORTAGE_LOST:
            name_lost(&attribution);
            break;
        default:
            break;
        }
    }
    for (size_t i = 0; i < findings->count; i++) {
        /* a session may fail several tries to reconnect; only dropped sessions were lost for
         * good */
        struct finding *finding = &findings->entries[i];
        finding->sessions += MIN(finding->tries, sessions->dropped);
        finding->sessions = MIN(finding->sessions, sessions->requested);
    }
    findings_sort(findings->entries, findings->count);
}
