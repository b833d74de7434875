#include "limits/evidence_name.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "base/units.h"
#include "limits/evidence_cause.h"

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

__attribute__((format(printf, 3, 4))) static void add_text(char *text, size_t size,
                                                           const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

#define SAY(finding, ...) add_text((finding)->evidence, sizeof(finding)->evidence, __VA_ARGS__)

static uint64_t room_of(const struct limit *limit)
{
    return limit->allowed > limit->used ? limit->allowed - limit->used : 0;
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
    char used[UNITS_TEXT_BYTES];
    char allowed[UNITS_TEXT_BYTES];
    SAY(finding, "; %s of %s %s in use then", units_format_count(limit->used, used),
        units_format_count(limit->allowed, allowed), limit->unit == NULL ? "" : limit->unit);
    if (limit->where[0] == '/') {
        SAY(finding, " (%s)", limit->where);
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
            char room[UNITS_TEXT_BYTES];
            SAY(finding, "%s%s %s", separator, limit->name,
                units_format_count(room_of(limit), room));
            separator = ", ";
        }
    }
    if (separator[0] == ';') {
        SAY(finding, "; its limits cannot be seen from here");
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
    SAY(finding, "%.140s", what);
    if (limit == NULL) {
        snprintf(finding->name, sizeof finding->name, "unknown limit of threads");
        say_candidates(naming, finding);
        return;
    }
    finding->side = limit->side;
    add_limit(naming, finding, limit);
    say_use(finding, limit);
    if (is_cgroup) {
        SAY(finding, "; pids.events counted %llu refusals", (unsigned long long)refused);
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
    const bool is_hidden = strcasestr(text, "error response during SSL") != NULL;
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
static void name_own(struct naming *naming, const struct shortage_sum *sum, enum limit_id id,
                     const char *name, const char *call)
{
    struct finding *finding = add_finding(naming, id, LIMIT_CLIENT, sum->sessions);
    const struct limit *limit = find_limit(naming->facts->shortage, id, LIMIT_CLIENT);
    snprintf(finding->name, sizeof finding->name, "%s", name);
    SAY(finding, "%s: %s", call, strerror(sum->first->error.native_code));
    if (strcmp(name, "fs.file-max") == 0) {
        return; /* of the whole machine: not among the limits that are read */
    }
    if (limit != NULL) {
        add_limit(naming, finding, limit);
        say_use(finding, limit);
        return;
    }
    /* without a free descriptor nothing could be read then */
    const struct limit *before = find_limit(naming->facts->before, id, LIMIT_CLIENT);
    if (before != NULL && before->allowed != LIMIT_NONE) {
        char allowed[UNITS_TEXT_BYTES];
        add_limit(naming, finding, before);
        SAY(finding, "; %s %s allowed", units_format_count(before->allowed, allowed), before->unit);
    }
}

static const struct limit *find_setting(const struct limit_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->entries[i].id == LIMIT_SESSIONS && strcmp(list->entries[i].name, name) == 0) {
            return &list->entries[i];
        }
    }
    return NULL;
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
    const struct session_limit *limit = evidence_find_setting(
        cause, is_after ? naming->facts->server_after : naming->facts->server, &name);
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
    SAY(finding, "the server said: %.140s", cause->error.text);
    if (limit == NULL) {
        return;
    }
    char allowed[UNITS_TEXT_BYTES];
    char used[UNITS_TEXT_BYTES];
    if (is_later) {
        /* a server that was started again may allow another number */
        SAY(finding, "; %s allowed %s the run", units_format_count(limit->allowed, allowed),
            is_after ? "after" : "before");
        return;
    }
    /* this limit counted the connection that asked, which has left */
    SAY(finding, "; %s allowed, %s in use by others before the run",
        units_format_count(limit->allowed, allowed),
        units_format_count(limit->used > 0 ? limit->used - 1 : 0, used));
    const struct limit *before = find_setting(naming->facts->before, name);
    const bool has_fix = before != NULL && before->fix[0] != '\0';
    snprintf(finding->fix, sizeof finding->fix, "%s", has_fix ? before->fix : limit->fix);
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
        SAY(finding, "connections were not accepted");
        say_use(finding, files);
        return;
    }
    const uint64_t overflows = facts->growth[EVIDENCE_LISTEN_OVERFLOWS];
    if (overflows == 0) {
        return;
    }
    struct finding *finding = add_finding(naming, LIMIT_BACKLOG, LIMIT_SERVER, sum->sessions);
    const struct limit *backlog = find_limit(facts->before, LIMIT_BACKLOG, LIMIT_SERVER);
    snprintf(finding->name, sizeof finding->name, "listen backlog");
    SAY(finding, "ListenOverflows grew by %llu, ListenDrops by %llu while connects timed out",
        (unsigned long long)overflows, (unsigned long long)facts->growth[EVIDENCE_LISTEN_DROPS]);
    if (backlog != NULL) {
        add_limit(naming, finding, backlog);
        SAY(finding, "; %llu can wait (%s)", (unsigned long long)backlog->allowed, backlog->where);
    }
}

static void name_socket_backlog(struct naming *naming, const struct shortage_sum *sum)
{
    struct finding *finding = add_finding(naming, LIMIT_BACKLOG, LIMIT_SERVER, sum->sessions);
    snprintf(finding->name, sizeof finding->name, "listen backlog");
    SAY(finding, "connect: EAGAIN, the queue of the server's Unix socket was full");
}

static void say_memory_limit(struct naming *naming, struct finding *finding)
{
    const struct limit *memory =
        find_limit(naming->facts->before, LIMIT_CGROUP_MEMORY, LIMIT_SERVER);
    if (memory != NULL && memory->allowed != LIMIT_NONE) {
        char bytes[UNITS_TEXT_BYTES];
        SAY(finding, "; its cgroup may have %s (%s)", units_format_bytes(memory->allowed, bytes),
            memory->where);
        snprintf(finding->fix, sizeof finding->fix, "%s", memory->fix);
    }
}

static void say_end(const struct naming *naming, struct finding *finding,
                    const struct shortage_sum *sum)
{
    const struct evidence_facts *facts = naming->facts;
    if (facts->server_pid > 0 && facts->is_server_gone) {
        SAY(finding, "%s (pid %d) ended", facts->server_name, (int)facts->server_pid);
    } else if (facts->is_server_gone) {
        SAY(finding, "nobody listens on port %u any more", (unsigned)facts->port);
    } else if (facts->server_pid > 0) {
        SAY(finding, "connections were lost, %s (pid %d) goes on", facts->server_name,
            (int)facts->server_pid);
    } else {
        SAY(finding, "connections were lost, and the server goes on");
    }
    char since[UNITS_TEXT_BYTES];
    units_format_ns(sum->first->first_ns - naming->result->start_mono_ns, since);
    SAY(finding, "; the first session lost it %s into the run", since);
}

static void say_kills(struct finding *finding, uint64_t kills, const char *where)
{
    SAY(finding, "; the kernel killed %llu process%s of %s for memory", (unsigned long long)kills,
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
        struct shortage_sum *sum = &naming->sums[evidence_classify(cause)];
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
        name_own(naming, sum, LIMIT_OPEN_FILES, "RLIMIT_NOFILE", "socket");
        break;
    case SHORTAGE_MACHINE_FILES:
        name_own(naming, sum, LIMIT_OPEN_FILES, "fs.file-max", "socket");
        break;
    case SHORTAGE_PORTS:
        name_own(naming, sum, LIMIT_PORTS, "ip_local_port_range", "connect");
        break;
    case SHORTAGE_SOCKET_BACKLOG:
        name_socket_backlog(naming, sum);
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

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
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
        if (evidence_classify(&result->causes.entries[i]) == SHORTAGE_SETTING) {
            name_setting(&naming, &result->causes.entries[i]);
        }
    }
    for (size_t i = 0; i < findings->count; i++) {
        /* one that comes back is lost more than once; of those that tried, some were dropped */
        struct finding *finding = &findings->entries[i];
        finding->sessions += least_of(finding->tries, result->sessions.dropped);
        finding->sessions = least_of(finding->sessions, result->sessions.requested);
    }
    sort(findings);
}
