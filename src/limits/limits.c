#include "limits/limits.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buffer.h"
#include "measure/cgroup.h"
#include "measure/server_process.h"

void limits_ask(struct limits_question *question, const struct plan *plan,
                const struct connection_info *connection, const struct server_limits *server)
{
    const bool is_embedded = (plan->adapter->flags & ADAPTER_EMBEDDED) != 0;
    *question = (struct limits_question){
        .sessions = plan_sessions_all(plan),
        .stack_bytes = plan->stack_bytes,
        .files_per_session = plan->adapter->files_per_session,
        .is_embedded = connection == NULL ? is_embedded : connection->is_embedded,
        .server_pid = plan->server_pid,
        .server_cgroup = plan->server_cgroup,
        .server = server,
        .other_files = LIMITS_SAMPLER_FILES,
        .other_threads = LIMITS_OTHER_THREADS,
    };
    if (is_embedded) {
        question->other_files += LIMITS_EMBEDDED_FILES;
    }
    if (plan->metrics_port > 0) {
        question->other_files += LIMITS_METRICS_FILES;
        question->other_threads += connection == NULL ? 1 : 0;
    }
    if (connection == NULL) {
        const struct operation_list operations = plan_operations(plan);
        question->other_files += LIMITS_RUN_FILES;
        for (size_t i = 0; i < operations.count; i++) {
            question->other_files += operation_is_used(&operations, i) ? 1U : 0U;
        }
    }
    if (connection != NULL && !connection->is_embedded) {
        question->has_server = true;
        question->uses_tcp = connection->host[0] != '/' && connection->host[0] != '@';
        question->host = connection->host[0] == '\0' ? NULL : connection->host;
        question->port = connection->port;
    }
}

void limits_allow_files(const struct limits_question *question, uint64_t spare)
{
    const uint64_t needed =
        question->sessions * question->files_per_session + question->other_files + spare;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < needed) {
        limit.rlim_cur = limit.rlim_max;
        /* a soft limit that is not above the hard one is always granted */
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

enum {
    RESERVED_PIDS = 300, /* lower ones are not given out again */
    MAPS_PER_THREAD = 2, /* stack and guard */
    GUARD_BYTES = 4096,  /* below each stack */
};

/* Resident, beside what the program has anyway: estimates, as nobody knows what a session will use.
 * Measured: 37 KiB of this program, the rest is the kernel's for a thread and a socket; SQLite has
 * a page cache in each connection; a backend of PostgreSQL, a thread of MariaDB. */
enum {
    CLIENT_BYTES = 72 * 1024,
    EMBEDDED_BYTES = 192 * 1024,
    SERVER_PROCESS_BYTES = 3 * 1024 * 1024,
    SERVER_THREAD_BYTES = 512 * 1024,
};

/* What an arena of the C library's allocator reserves; a thread's stack when nobody says how large;
 * what a run has in memory beside its sessions. */
#define ARENA_BYTES (UINT64_C(64) << 20)
#define USUAL_STACK_BYTES (UINT64_C(8) << 20)
#define RUN_BYTES (UINT64_C(2) << 20)

/* A process whose limits are read. */
struct subject {
    enum limit_side side;
    pid_t pid; /* 0: not known, or not here */
    struct procfs_status status;
    struct procfs_rlimits rlimits;
    bool is_task_exempt; /* RLIMIT_NPROC does not apply */
    uint64_t user_tasks; /* of its user now */
    struct place place;
};

struct reading {
    const struct limits_question *question;
    struct limit_list *list;
    int proc;           /* /proc, open */
    struct buffer text; /* of the file read last */
    struct subject client;
    struct subject server;
    uint64_t low_tasks; /* with a pid below those that are given out again */
};

/* What the sessions need of a limit, and how it is raised. */
struct need {
    uint64_t each;   /* a session */
    uint64_t fixed;  /* beside the sessions */
    uint64_t spare;  /* more than needed, when it is raised */
    uint64_t own_up; /* up to which the user may raise it alone */
    const char *fix; /* in words of its own */
};

/* What both sides take of something that they may share. */
struct demand {
    uint64_t client; /* a session, here */
    uint64_t server; /* for a session, by a server on this machine */
    uint64_t fixed;  /* this program, beside its sessions */
};

/* NULL: there is no room. */
static struct limit *append_limit(struct limit_list *list, const struct limit *limit)
{
    if (list->count == LIMITS_MAX) {
        return NULL;
    }
    list->entries[list->count] = *limit;
    return &list->entries[list->count++];
}

/* Adds a risk that no number tells. */
static void warn(struct reading *reading, const struct limit *limit)
{
    struct limit *entry = append_limit(reading->list, limit);
    if (entry != NULL) {
        entry->grade = LIMIT_WARN;
        entry->sessions = LIMIT_NONE;
    }
}

/* Adds a limit: works out `needed`, `sessions` and `grade` of what is filled in of *limit. Returns
 * the entry, for its fix, or NULL when it passes or there is no room. */
static struct limit *add_limit(struct reading *reading, const struct limit *limit,
                               const struct need *need)
{
    struct limit *entry = append_limit(reading->list, limit);
    if (entry == NULL) {
        return NULL;
    }
    const uint64_t asked = reading->question->sessions;
    entry->needed = need->each * asked + need->fixed;
    entry->each = need->each;
    entry->sessions = LIMIT_NONE;
    if (entry->allowed != LIMIT_NONE && need->each > 0) {
        const uint64_t taken = entry->used + need->fixed;
        entry->sessions = entry->allowed > taken ? (entry->allowed - taken) / need->each : 0;
    }
    if (entry->sessions >= asked) {
        return NULL; /* which is LIMIT_PASS */
    }
    entry->grade = entry->is_estimate ? LIMIT_WARN : LIMIT_FAIL;
    return entry;
}

/* Loads /proc/PID/name (pid > 0) or /proc/name into reading->text. */
static bool load(struct reading *reading, pid_t pid, const char *name)
{
    char path[128];
    if (pid > 0) {
        snprintf(path, sizeof path, "%d/%s", (int)pid, name);
    } else {
        snprintf(path, sizeof path, "%s", name);
    }
    return procfs_load(reading->proc, path, &reading->text);
}

/* The same, then parses it: PARSE(reading, pid, "status", procfs_parse_status, &status). */
#define PARSE(reading, pid, name, parse, out)                                                      \
    (load((reading), (pid), (name)) &&                                                             \
     (parse)(buffer_text(&(reading)->text), (reading)->text.length, (out)))

/* One number of a file below /proc. */
static bool read_number(struct reading *reading, const char *name, uint64_t *value)
{
    return PARSE(reading, 0, name, procfs_parse_number, value);
}

/* The server runs on this machine, as a process of its own. */
static bool has_server_here(const struct reading *reading)
{
    const struct limits_question *question = reading->question;
    return question->has_server && !question->is_remote && !question->is_embedded;
}

/* Not getpwuid: a directory service may take long to answer. */
static void name_user(struct subject *subject)
{
    snprintf(subject->place.user, sizeof subject->place.user, "%lu",
             (unsigned long)subject->status.uid);
    FILE *file = fopen("/etc/passwd", "re");
    if (file == NULL) {
        return;
    }
    char bytes[1024];
    struct passwd entry;
    struct passwd *found = NULL;
    while (fgetpwent_r(file, &entry, bytes, sizeof bytes, &found) == 0) {
        if (found->pw_uid == subject->status.uid) {
            snprintf(subject->place.user, sizeof subject->place.user, "%s", found->pw_name);
            break;
        }
    }
    fclose(file);
}

/* root of a user namespace is an ordinary user outside of it */
static bool is_exempt(struct reading *reading, const struct subject *subject)
{
    enum {
        CAPABILITY_ADMIN = 21,   /* CAP_SYS_ADMIN */
        CAPABILITY_RESOURCE = 24 /* CAP_SYS_RESOURCE */
    };
    const uint64_t exempting = UINT64_C(1) << CAPABILITY_ADMIN | UINT64_C(1) << CAPABILITY_RESOURCE;
    bool is_initial = false;
    return PARSE(reading, subject->pid, "uid_map", procfs_parse_uid_map, &is_initial) &&
           is_initial &&
           (subject->status.uid == 0 || (subject->status.capabilities & exempting) != 0);
}

/* All that is known of a process; false: it may not be seen, errno says why. */
static bool read_subject(struct reading *reading, struct subject *subject, pid_t pid)
{
    *subject = (struct subject){.side = subject->side, .pid = pid};
    if (!PARSE(reading, pid, "status", procfs_parse_status, &subject->status) ||
        !PARSE(reading, pid, "limits", procfs_parse_rlimits, &subject->rlimits)) {
        return false;
    }
    subject->place.pid = subject->side == LIMIT_CLIENT ? 0 : pid;
    name_user(subject);
    subject->is_task_exempt = is_exempt(reading, subject);
    if (load(reading, pid, "cgroup")) {
        const bool is_contained =
            faccessat(reading->proc, "self/root/.dockerenv", F_OK, 0) == 0 ||
            faccessat(reading->proc, "self/root/run/.containerenv", F_OK, 0) == 0;
        remedy_find_place(&subject->place, buffer_text(&reading->text), is_contained);
    }
    return true;
}

/* Counts the descriptors of a process that are open and numbered below `limit`: one at the limit or
 * above, as an inherited one may be, takes no place. Without those by which this program looks.
 * False: they may not be seen. */
static bool count_files(const struct reading *reading, const struct subject *subject,
                        uint64_t limit, uint64_t *count)
{
    char path[64];
    snprintf(path, sizeof path, "%d/fd", (int)subject->pid);
    DIR *folder = procfs_open_folder(reading->proc, path);
    if (folder == NULL) {
        return false;
    }
    const bool is_own = subject->pid == getpid();
    const struct dirent *entry;
    *count = 0;
    while ((entry = readdir(folder)) != NULL) {
        const long number = strtol(entry->d_name, NULL, 10);
        const bool looks = is_own && (number == dirfd(folder) || number == reading->proc);
        *count += entry->d_name[0] != '.' && !looks && (uint64_t)number < limit ? 1 : 0;
    }
    closedir(folder);
    return true;
}

static void count_process(struct reading *reading, pid_t pid)
{
    struct procfs_status status = {0};
    /* one that has ended meanwhile, or is hidden, as those of other users may be */
    if (!PARSE(reading, pid, "status", procfs_parse_status, &status)) {
        return;
    }
    struct subject *const subjects[] = {&reading->client, &reading->server};
    for (size_t i = 0; i < 2; i++) {
        if (subjects[i]->pid != 0 && subjects[i]->status.uid == status.uid) {
            subjects[i]->user_tasks += status.threads;
        }
    }
    reading->low_tasks += pid < RESERVED_PIDS;
}

/* Counts tasks by user in one walk through /proc. */
static void count_tasks(struct reading *reading)
{
    DIR *folder = procfs_open_folder(reading->proc, ".");
    if (folder == NULL) {
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0) {
            count_process(reading, pid);
        }
    }
    closedir(folder);
}

/* Tasks that the server makes for a session, when they are tasks of this machine. */
static uint64_t server_tasks(const struct reading *reading)
{
    const struct server_limits *server = reading->question->server;
    return has_server_here(reading) && server != NULL ? server->tasks_per_session : 0;
}

static struct demand task_demand(const struct reading *reading)
{
    return (struct demand){
        .client = 1, .server = server_tasks(reading), .fixed = reading->question->other_threads};
}

static struct demand memory_demand(const struct reading *reading)
{
    const struct limits_question *question = reading->question;
    struct demand demand = {.client = question->is_embedded ? EMBEDDED_BYTES : CLIENT_BYTES};
    if (server_tasks(reading) > 0) {
        demand.server =
            question->server->files_per_session > 0 ? SERVER_THREAD_BYTES : SERVER_PROCESS_BYTES;
    }
    return demand;
}

/* Arenas that the threads will make: eight a CPU, the first of which is there already. */
static uint64_t arenas_wanted(void)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return 8 * (uint64_t)(cpus > 0 ? cpus : 1) - 1;
}

static bool read_files(struct reading *reading, const struct subject *subject, struct limit *limit,
                       struct need *need)
{
    const struct limits_question *question = reading->question;
    const struct procfs_rlimit files = subject->rlimits.files;
    if (subject->side == LIMIT_CLIENT) {
        need->each = question->files_per_session;
        need->fixed = question->other_files;
        need->own_up = files.hard;
        limit->allowed = files.hard;
        return count_files(reading, subject, limit->allowed, &limit->used);
    }
    need->each = question->server == NULL ? 0 : question->server->files_per_session;
    if (need->each == 0) {
        return false;
    }
    limit->allowed = files.soft;
    if (count_files(reading, subject, limit->allowed, &limit->used)) {
        return true;
    }
    snprintf(limit->note, sizeof limit->note,
             "its open files belong to user %s and cannot be counted: run as root",
             subject->place.user);
    warn(reading, limit);
    return false;
}

static bool read_user_tasks(struct reading *reading, const struct subject *subject,
                            struct limit *limit, struct need *need)
{
    const bool is_client = subject->side == LIMIT_CLIENT;
    const bool shares_user =
        reading->server.pid != 0 && reading->server.status.uid == reading->client.status.uid;
    const struct procfs_rlimit tasks = subject->rlimits.tasks;
    const uint64_t theirs = server_tasks(reading);
    if (!is_client && theirs == 0) {
        return false;
    }
    need->each = (is_client || shares_user ? 1 : 0) + (!is_client || shares_user ? theirs : 0);
    need->fixed = is_client || shares_user ? reading->question->other_threads : 0;
    need->own_up = is_client ? tasks.hard : 0;
    limit->allowed = subject->is_task_exempt ? LIMIT_NONE : tasks.soft;
    limit->used = subject->user_tasks;
    if (subject->is_task_exempt) {
        snprintf(limit->note, sizeof limit->note, "does not apply to %s", subject->place.user);
    }
    return true;
}

/* The folder of a process's cgroup. That which the user named counts where there is no process: a
 * process is in the cgroups of all controllers, a folder of version 1 is that of one. */
static bool find_folder(const struct reading *reading, const struct subject *subject,
                        const char *hierarchy, struct cgroup_folder *folder)
{
    const char *named = reading->question->server_cgroup;
    if (subject->side == LIMIT_SERVER && subject->pid == 0 && named != NULL) {
        return cgroup_name(named, folder);
    }
    return subject->pid != 0 &&
           cgroup_find(reading->proc, subject->pid, reading->client.pid, hierarchy, folder) &&
           (folder->is_inside || subject->side == LIMIT_CLIENT);
}

static bool holds(const struct cgroup_folder *outer, const struct cgroup_folder *inner)
{
    const size_t length = strlen(outer->path);
    return strncmp(outer->path, inner->path, length) == 0 &&
           (inner->path[length] == '/' || inner->path[length] == '\0');
}

/* What is allowed and used by one cgroup. */
static bool read_level(const struct cgroup_folder *folder, struct limit *limit)
{
    const bool is_memory = limit->id == LIMIT_CGROUP_MEMORY;
    const char *current = !is_memory                               ? "pids.current"
                          : strcmp(limit->name, "memory.max") == 0 ? "memory.current"
                                                                   : "memory.usage_in_bytes";
    /* version 1 says "no limit" with the largest whole number of pages */
    if (!cgroup_read_number(folder, limit->name, &limit->allowed) ||
        limit->allowed >= UINT64_C(1) << 62 || !cgroup_read_number(folder, current, &limit->used)) {
        return false;
    }
    if (is_memory) {
        const uint64_t cache = cgroup_read_cache(folder);
        limit->used -= cache < limit->used ? cache : limit->used;
    }
    limit->is_estimate = is_memory;
    snprintf(limit->where, sizeof limit->where, "%.511s/%.31s", folder->path, limit->name);
    return true;
}

/* From a process's own cgroup up to the highest that can be seen here: the one that binds first.
 * A row has the name of the hierarchy in `where`; "" is version 2. */
static bool read_cgroup(struct reading *reading, const struct subject *subject, struct limit *limit,
                        struct need *need)
{
    const bool is_client = subject->side == LIMIT_CLIENT;
    const struct demand demand =
        limit->id == LIMIT_CGROUP_MEMORY ? memory_demand(reading) : task_demand(reading);
    struct cgroup_folder folder;
    struct cgroup_folder other;
    if ((is_client ? demand.client : demand.server) == 0 ||
        !find_folder(reading, subject, limit->where, &folder)) {
        return false;
    }
    const bool has_other =
        demand.server > 0 &&
        find_folder(reading, is_client ? &reading->server : &reading->client, limit->where, &other);
    const struct limit unknown = *limit;
    uint64_t fewest = LIMIT_NONE;
    do {
        struct limit level = unknown;
        const bool is_shared = has_other && holds(&folder, &other);
        if ((is_shared && !is_client) || !read_level(&folder, &level)) {
            continue; /* what both share is shown as the client's */
        }
        const struct need here = {.each = (is_client ? demand.client : demand.server) +
                                          (is_shared ? demand.server : 0),
                                  .fixed = is_client ? demand.fixed : 0};
        const uint64_t taken = level.used + here.fixed;
        const uint64_t fitting = level.allowed > taken ? (level.allowed - taken) / here.each : 0;
        if (fitting < fewest) {
            fewest = fitting;
            *limit = level;
            *need = here;
        }
    } while (cgroup_go_up(&folder));
    return fewest != LIMIT_NONE;
}

/* The limits of the whole machine on tasks. */
static bool read_machine_tasks(struct reading *reading, const struct subject *subject,
                               struct limit *limit, struct need *need)
{
    (void)subject;
    const bool is_pids = limit->id == LIMIT_PID_MAX;
    const struct demand demand = task_demand(reading);
    *need = (struct need){.each = demand.client + demand.server, .fixed = demand.fixed};
    if (!PARSE(reading, 0, "loadavg", procfs_parse_tasks, &limit->used) ||
        !read_number(reading, is_pids ? "sys/kernel/pid_max" : "sys/kernel/threads-max",
                     &limit->allowed)) {
        return false;
    }
    if (is_pids) {
        need->spare = RESERVED_PIDS;
        limit->used -= reading->low_tasks < limit->used ? reading->low_tasks : limit->used;
        limit->allowed -= limit->allowed > RESERVED_PIDS ? RESERVED_PIDS : 0;
    }
    return true;
}

/* A server's thread for each session has its stack in one address space; a process has its own. */
static bool read_maps(struct reading *reading, const struct subject *subject, struct limit *limit,
                      struct need *need)
{
    const struct server_limits *said = reading->question->server;
    if (subject->side == LIMIT_CLIENT) {
        /* an arena of the allocator takes as many as a thread */
        const uint64_t others = reading->question->other_threads + arenas_wanted();
        *need = (struct need){.each = MAPS_PER_THREAD, .fixed = others * MAPS_PER_THREAD};
    } else if (said != NULL && said->files_per_session > 0) {
        need->each = MAPS_PER_THREAD * server_tasks(reading);
    }
    return need->each > 0 &&
           PARSE(reading, subject->pid, "maps", procfs_count_lines, &limit->used) &&
           read_number(reading, "sys/vm/max_map_count", &limit->allowed);
}

/* Each of the first threads takes an arena too, as long as there is room for it. */
static uint64_t arenas_fitting(uint64_t free_bytes, uint64_t stack_bytes)
{
    uint64_t arenas = 0;
    while (arenas < arenas_wanted() &&
           free_bytes >= (arenas + 1) * ARENA_BYTES + arenas * stack_bytes) {
        arenas++;
    }
    return arenas;
}

static bool read_address_space(struct reading *reading, const struct subject *subject,
                               struct limit *limit, struct need *need)
{
    const struct limits_question *question = reading->question;
    const uint64_t others = question->other_threads * USUAL_STACK_BYTES + RUN_BYTES;
    const uint64_t each = question->stack_bytes + GUARD_BYTES;
    limit->is_estimate = true;
    limit->allowed = subject->rlimits.address_space.soft;
    limit->used = subject->status.size_bytes;
    const uint64_t taken = limit->used + others;
    const uint64_t free_bytes = limit->allowed > taken ? limit->allowed - taken : 0;
    const uint64_t arenas =
        limit->allowed == LIMIT_NONE ? arenas_wanted() : arenas_fitting(free_bytes, each);
    *need = (struct need){.each = each,
                          .fixed = others + arenas * ARENA_BYTES,
                          .spare = (arenas_wanted() - arenas) * ARENA_BYTES,
                          .own_up = subject->rlimits.address_space.hard};
    return true;
}

static bool is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strcmp(host, "localhost") == 0;
}

/* Connections in TIME_WAIT: mode 1 reuses their ports, mode 2 (as set by default) only those of
 * connections within the machine. */
static bool is_wait_reused(struct reading *reading, const char *host)
{
    uint64_t mode;
    if (!read_number(reading, "sys/net/ipv4/tcp_tw_reuse", &mode)) {
        return false;
    }
    return mode == 1 || (mode == 2 && is_loopback(host));
}

static struct procfs_destination find_destination(struct reading *reading)
{
    const struct limits_question *question = reading->question;
    const char *host = question->host == NULL ? "" : question->host;
    struct procfs_destination destination = {.port = question->port,
                                             .is_wait_reused = is_wait_reused(reading, host)};
    struct in_addr address;
    struct in6_addr address6;
    if (inet_pton(AF_INET, host, &address) == 1) {
        destination.address = address.s_addr;
    } else if (inet_pton(AF_INET6, host, &address6) == 1) {
        memcpy(&destination.address, &address6.s6_addr[12], sizeof destination.address);
    }
    return destination;
}

static uint64_t count_in(const struct procfs_ports *ports, const struct procfs_port_range *range)
{
    uint64_t count = 0;
    for (unsigned port = range->low; port <= range->high; port++) {
        count += procfs_ports_hold(ports, (uint16_t)port) ? 1 : 0;
    }
    return count;
}

static bool add_taken(struct reading *reading, const struct procfs_destination *destination,
                      struct procfs_ports *taken, uint64_t *waiting)
{
    static const char *const files[] = {"net/tcp", "net/tcp6"};
    *waiting = 0;
    bool is_read = false;
    for (size_t i = 0; i < 2; i++) {
        uint64_t found;
        /* a machine without IPv6 has no tcp6 */
        if (!load(reading, 0, files[i])) {
            continue;
        }
        if (!procfs_parse_sockets(buffer_text(&reading->text), reading->text.length, destination,
                                  taken, &found)) {
            return false;
        }
        is_read = true;
        *waiting += found;
    }
    return is_read;
}

static void explain(const struct reading *reading, const struct procfs_port_range *range,
                    uint64_t waiting, bool is_reused, struct limit *limit)
{
    const uint16_t port = reading->question->port;
    if (waiting > 0) {
        snprintf(limit->note, sizeof limit->note,
                 "%" PRIu64 " of the ports in use %s in TIME_WAIT, and %s free %s", waiting,
                 waiting == 1 ? "is" : "are", waiting == 1 ? "comes" : "come",
                 is_reused ? "in a second" : "in a minute");
    } else if (port >= range->low && port <= range->high && has_server_here(reading)) {
        snprintf(limit->note, sizeof limit->note,
                 "the server's port %u is in the range: a connection may take it while the server "
                 "is restarted",
                 port);
    }
}

/* Each connection to one address and port needs another local port. */
static bool read_ports(struct reading *reading, const struct subject *subject, struct limit *limit,
                       struct need *need)
{
    (void)subject;
    const struct limits_question *question = reading->question;
    struct procfs_port_range range;
    struct procfs_ports reserved = {0};
    if (!question->uses_tcp || question->files_per_session == 0 ||
        !PARSE(reading, 0, "sys/net/ipv4/ip_local_port_range", procfs_parse_port_range, &range) ||
        !PARSE(reading, 0, "sys/net/ipv4/ip_local_reserved_ports", procfs_parse_reserved,
               &reserved)) {
        return false;
    }
    const struct procfs_destination destination = find_destination(reading);
    struct procfs_ports taken = reserved;
    uint64_t waiting;
    if (!add_taken(reading, &destination, &taken, &waiting)) {
        return false;
    }
    const uint64_t count_reserved = count_in(&reserved, &range);
    limit->allowed = (uint64_t)(range.high - range.low) + 1 - count_reserved;
    limit->used = count_in(&taken, &range) - count_reserved;
    explain(reading, &range, waiting, destination.is_wait_reused, limit);
    const uint64_t left = limit->allowed - limit->used;
    /* ports that wait come free while sessions connect: then it is not certain */
    limit->is_estimate = left < question->sessions && left + waiting >= question->sessions;
    need->each = 1;
    /* the set-up's connection has been there before the sessions, and keeps its port for a while */
    need->fixed = question->port != 0 && waiting == 0 ? 1 : 0;
    if (range.low <= 1024 && range.high == UINT16_MAX) {
        need->fix = "the range cannot be larger: let the server listen on another address or port "
                    "too";
    } else {
        need->fix = waiting > 0 ? "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"; "
                                  "sysctl -w net.ipv4.tcp_tw_reuse=1"
                                : "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"";
    }
    return true;
}

static bool read_commit(struct reading *reading, const struct subject *subject, struct limit *limit,
                        struct need *need)
{
    (void)subject;
    enum {
        STRICT = 2 /* the kernel promises no more than it has */
    };
    uint64_t mode;
    struct procfs_memory memory = {0};
    if (!read_number(reading, "sys/vm/overcommit_memory", &mode) || mode != STRICT ||
        !PARSE(reading, 0, "meminfo", procfs_parse_memory, &memory)) {
        return false;
    }
    const struct demand demand = memory_demand(reading);
    need->each = reading->question->stack_bytes + demand.client + demand.server;
    need->fix = "sysctl -w vm.overcommit_memory=0";
    limit->is_estimate = true;
    limit->allowed = memory.commit_limit;
    limit->used = memory.committed;
    snprintf(limit->note, sizeof limit->note, "stacks count whether they are used or not");
    return true;
}

static bool read_memory(struct reading *reading, const struct subject *subject, struct limit *limit,
                        struct need *need)
{
    (void)subject;
    struct procfs_memory memory = {0};
    if (!PARSE(reading, 0, "meminfo", procfs_parse_memory, &memory)) {
        return false;
    }
    const struct demand demand = memory_demand(reading);
    need->each = demand.client + demand.server;
    need->fix = "more memory, or fewer sessions";
    limit->is_estimate = true;
    limit->allowed = memory.total;
    limit->used = memory.total > memory.available ? memory.total - memory.available : 0;
    return true;
}

/* A limit: what it is called, where it is set, where its numbers are read, and how it is raised.
 * `read` fills what is allowed and used, and what the sessions need. False: there is no such limit
 * here. */
struct row {
    enum limit_id id;
    const char *name;
    const char *where;
    const char *unit;
    bool (*read)(struct reading *reading, const struct subject *subject, struct limit *limit,
                 struct need *need);
    enum remedy remedy;
};

static const struct row client_rows[] = {
    {LIMIT_OPEN_FILES, "RLIMIT_NOFILE", "ulimit -Hn", "files", read_files, REMEDY_FILES},
    {LIMIT_USER_TASKS, "RLIMIT_NPROC", "ulimit -u", "threads", read_user_tasks, REMEDY_TASKS},
    {LIMIT_CGROUP_TASKS, "pids.max", "pids", "threads", read_cgroup, REMEDY_CGROUP},
    {LIMIT_CGROUP_TASKS, "pids.max", "", "threads", read_cgroup, REMEDY_CGROUP},
    {LIMIT_THREADS_MAX, "kernel.threads-max", "sysctl", "threads", read_machine_tasks,
     REMEDY_SYSCTL},
    {LIMIT_PID_MAX, "kernel.pid_max", "sysctl", "threads", read_machine_tasks, REMEDY_SYSCTL},
    {LIMIT_MAP_COUNT, "vm.max_map_count", "sysctl", "maps", read_maps, REMEDY_SYSCTL},
    {LIMIT_ADDRESS_SPACE, "RLIMIT_AS", "ulimit -v", "bytes", read_address_space,
     REMEDY_ADDRESS_SPACE},
    {LIMIT_PORTS, "ip_local_port_range", "sysctl", "ports", read_ports, REMEDY_TEXT},
    {LIMIT_CGROUP_MEMORY, "memory.limit_in_bytes", "memory", "bytes", read_cgroup, REMEDY_CGROUP},
    {LIMIT_CGROUP_MEMORY, "memory.max", "", "bytes", read_cgroup, REMEDY_CGROUP},
    {LIMIT_COMMIT, "overcommit_memory=2", "sysctl", "bytes", read_commit, REMEDY_TEXT},
    {LIMIT_MEMORY, "free memory", "this machine", "bytes", read_memory, REMEDY_TEXT},
};

/* Of the server's process. */
static const struct row process_rows[] = {
    {LIMIT_OPEN_FILES, "RLIMIT_NOFILE", "its ulimit -Sn", "files", read_files, REMEDY_FILES},
    {LIMIT_USER_TASKS, "RLIMIT_NPROC", "its ulimit -u", "threads", read_user_tasks, REMEDY_TASKS},
    {LIMIT_MAP_COUNT, "vm.max_map_count", "sysctl", "maps", read_maps, REMEDY_SYSCTL},
};

/* Of the cgroup that the server's process is in, or that the user named. */
static const struct row cgroup_rows[] = {
    {LIMIT_CGROUP_TASKS, "pids.max", "pids", "threads", read_cgroup, REMEDY_CGROUP},
    {LIMIT_CGROUP_TASKS, "pids.max", "", "threads", read_cgroup, REMEDY_CGROUP},
    {LIMIT_CGROUP_MEMORY, "memory.limit_in_bytes", "memory", "bytes", read_cgroup, REMEDY_CGROUP},
    {LIMIT_CGROUP_MEMORY, "memory.max", "", "bytes", read_cgroup, REMEDY_CGROUP},
};

static void fill_fix(struct limit *entry, enum remedy remedy, const struct place *place,
                     const struct need *need)
{
    const uint64_t value = entry->used + entry->needed + need->spare;
    switch (remedy) {
    case REMEDY_TEXT:
        snprintf(entry->fix, sizeof entry->fix, "%s", need->fix);
        break;
    case REMEDY_SYSCTL:
        snprintf(entry->fix, sizeof entry->fix, "sysctl -w %s=%" PRIu64, entry->name, value);
        break;
    case REMEDY_CGROUP:
        remedy_cgroup(entry->fix, place, entry->where, entry->id == LIMIT_CGROUP_MEMORY, value);
        break;
    case REMEDY_FILES:
    case REMEDY_TASKS:
    case REMEDY_ADDRESS_SPACE:
        remedy_rlimit(entry->fix, place, remedy, value, need->own_up);
        break;
    }
}

/* True when the file has been read: in a folder that the user named, the file of both versions is
 * the same. */
static bool has_file(const struct limit_list *list, const char *where)
{
    for (size_t i = 0; i < list->count; i++) {
        if (where[0] == '/' && strcmp(list->entries[i].where, where) == 0) {
            return true;
        }
    }
    return false;
}

static void read_rows(struct reading *reading, const struct subject *subject,
                      const struct row *rows, size_t count)
{
    for (const struct row *row = rows; row < rows + count; row++) {
        struct limit limit = {.id = row->id, .side = subject->side, .unit = row->unit};
        snprintf(limit.name, sizeof limit.name, "%s", row->name);
        snprintf(limit.where, sizeof limit.where, "%s", row->where);
        struct need need = {0};
        if (!row->read(reading, subject, &limit, &need) || has_file(reading->list, limit.where)) {
            continue;
        }
        struct limit *entry = add_limit(reading, &limit, &need);
        if (entry != NULL) {
            fill_fix(entry, row->remedy, &subject->place, &need);
        }
    }
}

static void warn_unknown(struct reading *reading, enum limit_side side, const char *name,
                         const char *note)
{
    struct limit limit = {.id = LIMIT_USER_TASKS,
                          .side = side,
                          .where = "/proc",
                          .unit = "threads",
                          .allowed = LIMIT_NONE};
    snprintf(limit.name, sizeof limit.name, "%s", name);
    snprintf(limit.note, sizeof limit.note, "not known: %.140s", note);
    warn(reading, &limit);
}

/* Finds the server's process into reading->server, or says why not. */
static void find_server(struct reading *reading)
{
    const struct limits_question *question = reading->question;
    struct procfs_process found = {.pid = question->server_pid};
    char note[200] = "";
    const char *path = question->host != NULL && question->host[0] == '/' ? question->host : NULL;
    if (found.pid == 0 && question->server_cgroup != NULL) {
        return; /* its limits are those of the folder */
    }
    if (found.pid == 0 &&
        !server_find(reading->proc, question->port, path, &found, note, sizeof note)) {
        found.pid = 0;
    }
    if (found.pid != 0 && !read_subject(reading, &reading->server, found.pid)) {
        snprintf(note, sizeof note, "process %d cannot be read: %s", (int)found.pid,
                 strerror(errno));
        found.pid = 0;
    }
    if (found.pid == 0) {
        reading->server.pid = 0;
        warn_unknown(reading, LIMIT_SERVER, "limits of its process", note);
    }
}

/* Settings of the database, as it told them. */
static void read_database(struct reading *reading)
{
    const struct server_limits *server = reading->question->server;
    if (server == NULL) {
        return;
    }
    if (server->is_pooled) {
        const struct limit limit = {
            .id = LIMIT_SESSIONS,
            .side = LIMIT_DATABASE,
            .name = "limits of the pooler",
            .unit = "sessions",
            .allowed = LIMIT_NONE,
            .is_unknown = true,
            .note = "not known: a pooler stands in front of the server; see its own settings "
                    "(pgbouncer: max_client_conn, default_pool_size)"};
        warn(reading, &limit);
    }
    for (size_t i = 0; i < server->count; i++) {
        const struct session_limit *session = &server->sessions[i];
        /* the connection that asked is closed before the sessions open */
        struct limit limit = {
            .id = LIMIT_SESSIONS,
            .side = LIMIT_DATABASE,
            .unit = "sessions",
            .allowed = session->allowed,
            .used = session->used > 0 ? session->used - 1 : 0,
        };
        snprintf(limit.name, sizeof limit.name, "%s", session->name);
        snprintf(limit.where, sizeof limit.where, "%.*s", (int)strcspn(server->version, " "),
                 server->version);
        snprintf(limit.note, sizeof limit.note, "%" PRIu64 " of %" PRIu64 " in use now%s%.100s",
                 limit.used, limit.allowed, session->note[0] == '\0' ? "" : "; ", session->note);
        struct limit *entry = add_limit(reading, &limit, &(struct need){.each = 1});
        if (entry != NULL) {
            remedy_setting(entry->fix, session->fix, entry->used + entry->needed);
        }
    }
}

void limits_read_at(int proc, pid_t self, const struct limits_question *question,
                    struct limit_list *list)
{
    list->count = 0;
    struct reading reading = {.question = question,
                              .list = list,
                              .proc = proc,
                              .client = {.side = LIMIT_CLIENT},
                              .server = {.side = LIMIT_SERVER}};
    if (proc < 0) {
        warn_unknown(&reading, LIMIT_CLIENT, "limits of this machine", "/proc cannot be opened");
        return;
    }
    buffer_init(&reading.text);
    const bool is_known = read_subject(&reading, &reading.client, self);
    const bool has_server = has_server_here(&reading);
    if (has_server) {
        find_server(&reading);
    }
    count_tasks(&reading);
    if (is_known) {
        read_rows(&reading, &reading.client, client_rows, COUNT_OF(client_rows));
    } else {
        warn_unknown(&reading, LIMIT_CLIENT, "limits of this program", "/proc/self cannot be read");
    }
    if (reading.server.pid != 0) {
        read_rows(&reading, &reading.server, process_rows, COUNT_OF(process_rows));
    }
    if (has_server) {
        read_rows(&reading, &reading.server, cgroup_rows, COUNT_OF(cgroup_rows));
    }
    read_database(&reading);
    buffer_fini(&reading.text);
}

void limits_read(const struct limits_question *question, struct limit_list *list)
{
    const int proc = procfs_open();
    limits_read_at(proc, getpid(), question, list);
    if (proc >= 0) {
        close(proc);
    }
}

uint64_t limits_sessions(const struct limit_list *list, bool with_estimates,
                         const struct limit **first)
{
    uint64_t sessions = LIMIT_NONE;
    const struct limit *binding = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const struct limit *limit = &list->entries[i];
        if (limit->sessions < sessions && (with_estimates || !limit->is_estimate)) {
            sessions = limit->sessions;
            binding = limit;
        }
    }
    if (first != NULL) {
        *first = binding;
    }
    return sessions;
}
