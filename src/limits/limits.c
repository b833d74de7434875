#include "limits/limits.h"

#include <arpa/inet.h>
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/text.h"
#include "measure/procfs.h"
#include "measure/server_find.h"
#include "plan/facts.h"

void limits_question_init(struct limits_question *question, const struct plan *plan,
                          const struct connection_info *connection,
                          const struct server_limits *server)
{
    const bool is_embedded = (plan->adapter->flags & ADAPTER_EMBEDDED) != 0;
    const struct plan_share share = plan_share(plan);
    const struct adapter *const adapter = plan->adapter;
    unsigned opening = 0;
    const unsigned files = adapter->count_files != NULL
                               ? adapter->count_files(&plan->target, &opening)
                               : adapter->files_per_session;
    *question = (struct limits_question){
        .sessions = plan_sessions_all(plan),
        .in_other_processes = plan_sessions_all(plan) - (share.count + share.idle),
        .on_other_machines =
            plan->facts->ranks > 0 ? plan_sessions_all(plan) - plan->facts->machine_sessions : 0,
        .hosts = plan->host_policy == HOST_FIRST ? 1 : (unsigned)plan->host_count,
        .stack_bytes = plan->stack_bytes,
        .files_per_session = files,
        .is_embedded = connection == NULL ? is_embedded : connection->is_embedded,
        .has_script = plan->script != NULL,
        .server_pid = plan->facts->server_pid,
        .server_cgroup = plan->facts->server_cgroup,
        .server = server,
        .other_files = LIMITS_SAMPLER_FILES + opening * plan->connect_concurrency,
        .other_threads = LIMITS_OTHER_THREADS + ((adapter->flags & ADAPTER_WATCHED) != 0 ? 1U : 0U),
    };
    question->other_files += is_embedded ? LIMITS_EMBEDDED_FILES : 0;
    if (plan->waits != WAITS_OFF) { /* the polls of waits need a connection and /proc */
        question->other_files += files + 2;
        question->other_threads += connection == NULL ? 1 : 0;
    }
    if (plan->metrics_port > 0) {
        question->other_files += LIMITS_METRICS_FILES;
        question->other_threads += connection == NULL ? 1 : 0;
    }
    if (plan->live_port > 0 || plan->is_control) {
        question->other_files += LIMITS_LIVE_FILES;
        question->other_threads += connection == NULL ? 1 : 0;
    }
    if (connection != NULL && !connection->is_embedded) {
        question->has_server = true;
        question->uses_tcp = connection->host[0] != '/' && connection->host[0] != '@';
        question->host = connection->host[0] == '\0' ? NULL : connection->host;
        question->port = connection->port;
    }
}

bool limits_has_server_here(const struct limits_question *question)
{
    return question->has_server && !question->is_remote && !question->is_embedded;
}

void limits_allow_files(const struct limits_question *question, uint64_t spare)
{
    const uint64_t sessions = question->sessions - question->in_other_processes;
    const uint64_t needed = sessions * question->files_per_session + question->other_files + spare;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < needed) {
        limit.rlim_cur = limit.rlim_max;
        /* raising a soft limit up to the hard limit is always allowed */
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

enum {
    RESERVED_PIDS = 300, /* the kernel does not reuse pids below this number */
    MAPS_PER_THREAD = 2, /* maps of a thread: its stack and its guard */
    GUARD_BYTES = 4096,  /* size of the guard below each stack */

    /* Resident memory of one session. The values are estimates from measurements, because the real
     * use is unknown. CLIENT_BYTES: 37 KiB in this program; the rest is the kernel's memory for a
     * thread and a socket. EMBEDDED_BYTES: memory in this program, including SQLite's page cache of
     * a connection. SCRIPT_BYTES: the script's Lua state. SERVER_PROCESS_BYTES: a backend of
     * PostgreSQL. SERVER_THREAD_BYTES: a thread of MariaDB. */
    CLIENT_BYTES = 72 * 1024,
    EMBEDDED_BYTES = 192 * 1024,
    SCRIPT_BYTES = 32 * 1024,
    SERVER_PROCESS_BYTES = 3 * 1024 * 1024,
    SERVER_THREAD_BYTES = 512 * 1024,
};

/* ARENA_BYTES is the address space that an arena of the C library's allocator reserves,
 * USUAL_STACK_BYTES the default stack of a thread, and RUN_BYTES the memory of a run apart from its
 * sessions. */
#define ARENA_BYTES (UINT64_C(64) << 20)
#define USUAL_STACK_BYTES (UINT64_C(8) << 20)
#define RUN_BYTES (UINT64_C(2) << 20)

struct limited_process {
    enum limit_side side;
    pid_t pid; /* pid of the process; 0: unknown, or on another machine */
    struct procfs_status status;
    struct procfs_rlimits rlimits;
    bool is_task_exempt; /* RLIMIT_NPROC does not apply to the process */
    uint64_t user_tasks; /* number of tasks that the process's user has now */
    bool is_contained;   /* the process runs in a container of docker, podman or kubernetes, which
                            sets the process's limits */
    bool is_podman;      /* valid if is_contained is true: the container belongs to Podman */
    char unit[80]; /* systemd unit that sets the process's limits; "": a login sets them, or the
                      unit is unknown */
    char user[40]; /* name of the user who owns the process */
};

/* One reading of all limits. */
struct survey {
    const struct limits_question *question;
    struct limit_list *list;
    int proc;           /* descriptor of the open folder /proc */
    struct buffer text; /* text of the file that was read last */
    struct limited_process client;
    struct limited_process server;
    uint64_t low_tasks; /* number of tasks whose pid is below RESERVED_PIDS */

    /* The needs of a session on this machine, in this program and in a server that runs here. */
    uint64_t client_bytes;
    uint64_t server_bytes;
    uint64_t server_tasks;
    uint64_t arenas; /* number of arenas that the allocator may create for threads: 8 per CPU, minus
                        the first arena, which already exists */
};

/* A limit while it is being read. */
struct draft {
    const struct limited_process *process;
    struct limit limit; /* the limit: all members except needed, sessions, grade and fix */
    uint64_t fixed;     /* amount needed in addition to the needs of the sessions */
    uint64_t spare; /* amount by which the advised value of the limit exceeds the needed value */
    uint64_t raisable_to; /* the highest value that the user may set without privilege */
    const char *fix; /* advice on how to raise the limit; NULL if the row's fix function writes the
                        advice */
};

/* Returns how many sessions fit into the limit. */
static uint64_t fitting(const struct draft *draft)
{
    const struct limit *limit = &draft->limit;
    return limit->allowed == LIMIT_NONE || limit->each == 0
               ? LIMIT_NONE
               : limits_room(limit->allowed, limit->used + draft->fixed) / limit->each;
}

bool limits_is_of_process(const struct limit *limit)
{
    return limit->id == LIMIT_OPEN_FILES || limit->id == LIMIT_MAP_COUNT ||
           limit->id == LIMIT_ADDRESS_SPACE;
}

/* Returns the number of the run's sessions to which the limit does not apply. */
static uint64_t sessions_elsewhere(const struct limits_question *question,
                                   const struct limit *limit)
{
    if (limit->side != LIMIT_CLIENT) {
        return 0;
    }
    return limits_is_of_process(limit) ? question->in_other_processes : question->on_other_machines;
}

/* Returns the number of hosts if each host has its own limit for its part of the sessions,
 * otherwise 1. A limit of this machine applies to the sessions of all hosts. Local ports are an
 * exception: connections to different hosts may use the same local port. */
static uint64_t hosts_of(const struct limits_question *question, const struct limit *limit)
{
    const bool is_shared = limit->side == LIMIT_CLIENT && limit->id != LIMIT_PORTS;
    return is_shared ? 1 : MAX(question->hosts, 1);
}

/* Adds a limit to the list and grades it. The caller adds the fix if the grade is not PASS. */
static struct limit *add_limit(struct survey *survey, const struct draft *draft)
{
    struct limit_list *list = survey->list;
    const uint64_t others = sessions_elsewhere(survey->question, &draft->limit);
    const uint64_t asked = survey->question->sessions - others;
    const uint64_t hosts = hosts_of(survey->question, &draft->limit);
    assert(list->count < LIMITS_MAX);
    struct limit *entry = &list->entries[list->count++];
    *entry = draft->limit;
    entry->needed = entry->each * ((asked + hosts - 1) / hosts) + draft->fixed;
    entry->sessions = fitting(draft);
    if (hosts > 1 && entry->sessions < LIMIT_NONE / hosts) {
        entry->sessions *= hosts; /* the other hosts are assumed to have the same limit */
    }
    if (entry->sessions < asked) {
        entry->grade = entry->is_estimate ? LIMIT_WARN : LIMIT_FAIL;
    }
    /* add the sessions to which the limit does not apply */
    entry->sessions += entry->sessions < LIMIT_NONE ? others : 0;
    return entry;
}

/* Adds a limit that cannot be compared with the needs of the sessions, with the grade WARN. */
static void warn(struct survey *survey, const struct limit *limit)
{
    add_limit(survey, &(struct draft){.limit = *limit})->grade = LIMIT_WARN;
}

/* Loads /proc/PID/name (pid > 0) or /proc/name into survey->text. */
static bool load(struct survey *survey, pid_t pid, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%d/%s", (int)pid, name);
    return procfs_load(survey->proc, pid > 0 ? path : name, &survey->text);
}

/* Loads and parses a file: PARSE(survey, pid, "status", procfs_parse_status, &status). */
#define PARSE(survey, pid, name, parse, out)                                                       \
    (load((survey), (pid), (name)) &&                                                              \
     (parse)(buffer_text(&(survey)->text), (survey)->text.length, (out)))

/* Reads one number from a file below /proc. */
static bool read_number(struct survey *survey, const char *name, uint64_t *value)
{
    return PARSE(survey, 0, name, procfs_parse_number, value);
}

/* Finds out from the text of /proc/PID/cgroup whether a systemd unit or a container runtime started
 * a process. */
static void find_place(struct limited_process *process, const char *cgroups)
{
    static const char podman[] = "libpod"; /* part of the names of Podman's cgroups */
    static const char *const marks[] = {"docker", podman, "kubepods", "containerd"};
    for (size_t length; *cgroups != '\0'; cgroups += length + (cgroups[length] != '\0')) {
        length = strcspn(cgroups, "/\n");
        /* the last unit in the path sets the limits; if it is a login (user@1000.service), `unit`
         * becomes "" */
        const bool is_unit = length > 8 && strncmp(cgroups + length - 8, ".service", 8) == 0;
        if (is_unit) {
            const bool is_login = strncmp(cgroups, "user@", 5) == 0;
            const bool is_named = !is_login && length < sizeof process->unit;
            snprintf(process->unit, sizeof process->unit, "%.*s", is_named ? (int)length : 0,
                     cgroups);
        }
        for (size_t i = 0; i < COUNT_OF(marks); i++) {
            /* docker.service is not in a container; /docker/ID and docker-ID.scope are */
            const size_t mark = strlen(marks[i]);
            if (strncmp(cgroups, marks[i], mark) == 0 &&
                strncmp(cgroups + mark, ".service", 8) != 0) {
                process->is_contained = true;
                process->is_podman = marks[i] == podman; /* the innermost container counts */
            }
        }
    }
}

/* Reads the limits of a process. Returns false and sets errno if they cannot be read. */
static bool read_process(struct survey *survey, struct limited_process *process, pid_t pid)
{
    enum {
        CAPABILITY_ADMIN = 21,   /* CAP_SYS_ADMIN */
        CAPABILITY_RESOURCE = 24 /* CAP_SYS_RESOURCE */
    };
    const uint64_t exempting = UINT64_C(1) << CAPABILITY_ADMIN | UINT64_C(1) << CAPABILITY_RESOURCE;
    *process = (struct limited_process){.side = process->side, .pid = pid};
    if (!PARSE(survey, pid, "status", procfs_parse_status, &process->status) ||
        !PARSE(survey, pid, "limits", procfs_parse_rlimits, &process->rlimits)) {
        return false;
    }

    /* getpwuid is not used, because a directory service may take long to answer */
    const uint64_t uid = process->status.uid;
    snprintf(process->user, sizeof process->user, "%" PRIu64, uid);
    FILE *file = fopen("/etc/passwd", "re");
    char bytes[1024];
    struct passwd entry;
    struct passwd *found = NULL;
    while (file != NULL && fgetpwent_r(file, &entry, bytes, sizeof bytes, &found) == 0) {
        if (found->pw_uid == uid) {
            snprintf(process->user, sizeof process->user, "%s", found->pw_name);
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }

    /* root of a user namespace is an ordinary user outside of the namespace */
    bool is_initial = false;
    process->is_task_exempt = PARSE(survey, pid, "uid_map", procfs_parse_uid_map, &is_initial) &&
                              is_initial &&
                              (uid == 0 || (process->status.capabilities & exempting) != 0);
    if (load(survey, pid, "cgroup")) {
        static const char podman[] = "run/.containerenv";
        static const char *const engines[] = {".dockerenv", podman};
        for (size_t i = 0; i < COUNT_OF(engines); i++) {
            char path[64]; /* if this program may not read the path, only the process's cgroup shows
                              the container */
            snprintf(path, sizeof path, "%d/root/%s", (int)pid, engines[i]);
            const bool is_there = faccessat(survey->proc, path, F_OK, 0) == 0;
            process->is_contained |= is_there;
            process->is_podman |= is_there && engines[i] == podman;
        }
        find_place(process, buffer_text(&survey->text));
    }
    return true;
}

/* Counts the open descriptors of a process that are numbered below the limit. A descriptor at or
 * above the limit, possibly inherited, does not use up the limit. Descriptors that this function
 * itself uses are left out. Returns false if the descriptors cannot be read. */
static bool count_files(const struct survey *survey, struct draft *draft)
{
    const pid_t pid = draft->process->pid;
    struct limit *limit = &draft->limit;
    char path[64];
    snprintf(path, sizeof path, "%d/fd", (int)pid);
    DIR *folder = procfs_open_folder(survey->proc, path);
    if (folder == NULL) {
        return false;
    }
    const bool is_own = pid == getpid();
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const long number = strtol(entry->d_name, NULL, 10);
        const bool is_own_handle = is_own && (number == dirfd(folder) || number == survey->proc);
        limit->used +=
            entry->d_name[0] != '.' && !is_own_handle && (uint64_t)number < limit->allowed;
    }
    closedir(folder);
    return true;
}

/* Counts the tasks of the client's and the server's user in one walk through /proc. */
static void count_tasks(struct survey *survey)
{
    DIR *folder = procfs_open_folder(survey->proc, ".");
    if (folder == NULL) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        struct procfs_status status = {0};
        /* the process has ended meanwhile, or it is hidden because it belongs to another user */
        if (pid <= 0 || !PARSE(survey, pid, "status", procfs_parse_status, &status)) {
            continue;
        }
        for (int i = 0; i < 2; i++) {
            struct limited_process *process = i == 0 ? &survey->client : &survey->server;
            if (process->pid != 0 && process->status.uid == status.uid) {
                process->user_tasks += status.threads;
            }
        }
        survey->low_tasks += pid < RESERVED_PIDS;
    }
    closedir(folder);
}

static bool read_files(struct survey *survey, struct draft *draft)
{
    const struct limits_question *question = survey->question;
    const struct limited_process *process = draft->process;
    const struct procfs_rlimit files = process->rlimits.files;
    struct limit *limit = &draft->limit;
    if (process->side == LIMIT_CLIENT) {
        limit->each = question->files_per_session;
        limit->allowed = files.hard;
        draft->fixed = question->other_files;
        draft->raisable_to = files.hard;
        return count_files(survey, draft);
    }
    limit->each = question->server == NULL ? 0 : question->server->files_per_session;
    limit->allowed = files.soft;
    if (limit->each == 0 || count_files(survey, draft)) {
        return limit->each > 0;
    }
    limit->each = 0;
    snprintf(limit->note, sizeof limit->note,
             "the server's open files belong to user %s and cannot be counted: run append as root",
             process->user);
    warn(survey, limit);
    return false;
}

static bool read_tasks(struct survey *survey, struct draft *draft)
{
    const struct limited_process *process = draft->process;
    const struct procfs_rlimit tasks = process->rlimits.tasks;
    const bool is_client = process->side == LIMIT_CLIENT;
    const bool shares_user =
        survey->server.pid != 0 && survey->server.status.uid == survey->client.status.uid;
    const uint64_t theirs = survey->server_tasks;
    struct limit *limit = &draft->limit;
    limit->each = (is_client || shares_user ? 1 : 0) + (!is_client || shares_user ? theirs : 0);
    draft->fixed = is_client || shares_user ? survey->question->other_threads : 0;
    draft->raisable_to = is_client ? tasks.hard : 0;
    limit->allowed = process->is_task_exempt ? LIMIT_NONE : tasks.soft;
    limit->used = process->user_tasks;
    if (process->is_task_exempt) {
        snprintf(limit->note, sizeof limit->note, "does not apply to %s", process->user);
    }
    return is_client || theirs > 0;
}

/* Finds the folder of a process's cgroup. The folder that the user named is used only if the
 * process is unknown, because a folder of cgroup version 1 belongs to only one controller, whereas
 * a process has a folder for every controller. */
static bool find_folder(const struct survey *survey, const struct limited_process *process,
                        const char *hierarchy, struct cgroup_folder *folder)
{
    const char *named = survey->question->server_cgroup;
    if (process->side == LIMIT_SERVER && process->pid == 0 && named != NULL) {
        return cgroup_name(named, folder);
    }
    return process->pid != 0 &&
           cgroup_find(survey->proc, process->pid, survey->client.pid, hierarchy, folder) &&
           (folder->is_inside || process->side == LIMIT_CLIENT);
}

/* Reads the tightest limit from the process's cgroup up to the highest cgroup visible here. `where`
 * in the row is the name of the cgroup hierarchy; "" is cgroup version 2. */
static bool read_cgroup(struct survey *survey, struct draft *draft)
{
    const struct draft unknown = *draft;
    const char *hierarchy = unknown.limit.where;
    const char *name = unknown.limit.name;
    const bool is_client = draft->process->side == LIMIT_CLIENT;
    const bool is_memory = unknown.limit.id == LIMIT_CGROUP_MEMORY;
    const char *current = "pids.current";
    if (is_memory) {
        current = strcmp(name, "memory.max") == 0 ? "memory.current" : "memory.usage_in_bytes";
    }
    const uint64_t theirs = is_memory ? survey->server_bytes : survey->server_tasks;
    const uint64_t ours = is_memory ? survey->client_bytes : 1;
    const uint64_t own = is_client ? ours : theirs;
    const struct limited_process *beside = is_client ? &survey->server : &survey->client;
    struct cgroup_folder folder;
    struct cgroup_folder other;
    if (own == 0 || !find_folder(survey, draft->process, hierarchy, &folder)) {
        return false;
    }
    const bool has_other = theirs > 0 && find_folder(survey, beside, hierarchy, &other);
    do {
        struct draft level = unknown;
        struct limit *limit = &level.limit;
        const size_t length = strlen(folder.path);
        const bool is_shared = has_other && strncmp(folder.path, other.path, length) == 0 &&
                               (other.path[length] == '/' || other.path[length] == '\0');
        if ((is_shared && !is_client) || !cgroup_read_number(&folder, name, &limit->allowed) ||
            limit->allowed >= UINT64_C(1) << 62 ||
            !cgroup_read_number(&folder, current, &limit->used)) {
            /* a cgroup that contains both processes is listed for the client only; in version 1 the
             * largest whole number of pages means "no limit" */
            continue;
        }
        limit->used = limits_room(limit->used, is_memory ? cgroup_read_cache(&folder) : 0);
        limit->is_estimate = is_memory;
        limit->each = own + (is_shared ? theirs : 0);
        snprintf(limit->where, sizeof limit->where, "%.511s/%.31s", folder.path, name);
        level.fixed = is_client && !is_memory ? survey->question->other_threads : 0;
        if (fitting(&level) < fitting(draft)) {
            *draft = level;
        }
    } while (cgroup_go_up(&folder));
    return fitting(draft) != LIMIT_NONE;
}

/* Reads the limits of the whole machine on tasks. */
static bool read_machine(struct survey *survey, struct draft *draft)
{
    struct limit *limit = &draft->limit;
    const bool is_pids = limit->id == LIMIT_PID_MAX;
    const char *file = is_pids ? "sys/kernel/pid_max" : "sys/kernel/threads-max";
    limit->each = 1 + survey->server_tasks;
    draft->fixed = survey->question->other_threads;
    if (!PARSE(survey, 0, "loadavg", procfs_parse_tasks, &limit->used) ||
        !read_number(survey, file, &limit->allowed)) {
        return false;
    }
    if (is_pids) {
        draft->spare = RESERVED_PIDS;
        limit->used = limits_room(limit->used, survey->low_tasks);
        limit->allowed -= limit->allowed > RESERVED_PIDS ? RESERVED_PIDS : 0;
    }
    return true;
}

/* Reads the limit of memory maps. The stacks of a server with a thread for each session are in one
 * address space; a server with a process for each session has a separate address space for each
 * session. */
static bool read_maps(struct survey *survey, struct draft *draft)
{
    const struct server_limits *said = survey->question->server;
    struct limit *limit = &draft->limit;
    if (draft->process->side == LIMIT_CLIENT) {
        /* an arena of the allocator needs the same number of maps as a thread */
        limit->each = MAPS_PER_THREAD;
        draft->fixed = (survey->question->other_threads + survey->arenas) * MAPS_PER_THREAD;
    } else if (said != NULL && said->files_per_session > 0) {
        limit->each = MAPS_PER_THREAD * survey->server_tasks;
    }
    return limit->each > 0 &&
           PARSE(survey, draft->process->pid, "maps", procfs_count_lines, &limit->used) &&
           read_number(survey, "sys/vm/max_map_count", &limit->allowed);
}

static bool read_space(struct survey *survey, struct draft *draft)
{
    const struct limits_question *question = survey->question;
    const struct limited_process *process = draft->process;
    const uint64_t others = question->other_threads * USUAL_STACK_BYTES + RUN_BYTES;
    struct limit *limit = &draft->limit;
    limit->is_estimate = true;
    limit->each = question->stack_bytes + GUARD_BYTES;
    limit->allowed = process->rlimits.address_space.soft;
    limit->used = process->status.size_bytes;
    const uint64_t free_bytes = limits_room(limit->allowed, limit->used + others);
    /* the allocator also creates an arena for each of the first threads, if the free address space
     * is sufficient */
    uint64_t arenas = limit->allowed == LIMIT_NONE ? survey->arenas : 0;
    while (arenas < survey->arenas &&
           free_bytes >= (arenas + 1) * ARENA_BYTES + arenas * limit->each) {
        arenas++;
    }
    draft->fixed = others + arenas * ARENA_BYTES;
    draft->spare = (survey->arenas - arenas) * ARENA_BYTES;
    draft->raisable_to = process->rlimits.address_space.hard;
    return true;
}

static uint64_t count_in(const struct procfs_ports *ports, const struct procfs_port_range *range)
{
    uint64_t count = 0;
    for (unsigned port = range->low; port <= range->high; port++) {
        count += procfs_ports_hold(ports, (uint16_t)port) ? 1 : 0;
    }
    return count;
}

/* Reads the limit of local ports: each connection to the same address and port needs a different
 * local port. */
static bool read_ports(struct survey *survey, struct draft *draft)
{
    static const char *const files[] = {"net/tcp", "net/tcp6"};
    const struct limits_question *question = survey->question;
    const char *host = question->host == NULL ? "" : question->host;
    struct limit *limit = &draft->limit;
    struct procfs_port_range range = {0};
    struct procfs_ports taken = {0};
    if (!question->uses_tcp || question->files_per_session == 0 ||
        !PARSE(survey, 0, "sys/net/ipv4/ip_local_port_range", procfs_parse_port_range, &range) ||
        !PARSE(survey, 0, "sys/net/ipv4/ip_local_reserved_ports", procfs_parse_reserved, &taken)) {
        return false;
    }
    const uint64_t reserved = count_in(&taken, &range);
    const bool is_reserved = procfs_ports_hold(&taken, question->port);

    /* tcp_tw_reuse: mode 1 reuses the ports of connections in TIME_WAIT, mode 2 (the default)
     * reuses only ports of connections within the machine */
    const bool is_loopback =
        strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 || strcmp(host, "localhost") == 0;
    uint64_t mode;
    struct procfs_destination destination = {.port = question->port};
    destination.is_wait_reused = read_number(survey, "sys/net/ipv4/tcp_tw_reuse", &mode) &&
                                 (mode == 1 || (mode == 2 && is_loopback));
    struct in_addr address;
    struct in6_addr address6;
    if (inet_pton(AF_INET, host, &address) == 1) {
        destination.address = address.s_addr;
    } else if (inet_pton(AF_INET6, host, &address6) == 1) {
        memcpy(&destination.address, &address6.s6_addr[12], sizeof destination.address);
    }

    uint64_t waiting = 0;
    bool is_read = false;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        uint64_t found;
        if (!load(survey, 0, files[i])) {
            continue; /* a machine without IPv6 has no tcp6 */
        }
        if (!procfs_parse_sockets(buffer_text(&survey->text), survey->text.length, &destination,
                                  &taken, &found)) {
            return false;
        }
        is_read = true;
        waiting += found;
    }
    limit->each = 1;
    limit->allowed = (uint64_t)(range.high - range.low) + 1 - reserved;
    limit->used = count_in(&taken, &range) - reserved;
    if (waiting > 0) {
        snprintf(limit->note, sizeof limit->note,
                 "%" PRIu64 " of the ports in use %s in TIME_WAIT, and %s free %s", waiting,
                 waiting == 1 ? "is" : "are", waiting == 1 ? "becomes" : "become",
                 destination.is_wait_reused ? "within a second" : "within a minute");
    } else if (question->port >= range.low && question->port <= range.high && !is_reserved &&
               limits_has_server_here(question)) {
        snprintf(limit->note, sizeof limit->note,
                 "the server's port %u is in this range: while the server restarts, another "
                 "connection may take the port; to prevent this, add the port to "
                 "net.ipv4.ip_local_reserved_ports",
                 question->port);
    }
    const uint64_t left = limit->allowed - limit->used;
    /* ports in TIME_WAIT may become free while sessions connect, so the shortage is not certain */
    const uint64_t hosts = hosts_of(question, limit);
    const uint64_t asked = (question->sessions - question->on_other_machines + hosts - 1) / hosts;
    limit->is_estimate = left < asked && left + waiting >= asked;
    /* the connection of the set-up was opened before the sessions, and its port stays in use for a
     * while */
    draft->fixed = question->port != 0 && waiting == 0 ? 1 : 0;
    if (range.low <= 1024 && range.high == UINT16_MAX) {
        draft->fix = "the range is at its maximum: let the server also listen on another address "
                     "or port";
    } else {
        draft->fix = waiting > 0 ? "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"; "
                                   "sysctl -w net.ipv4.tcp_tw_reuse=1"
                                 : "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"";
    }
    return is_read;
}

static bool read_memory(struct survey *survey, struct draft *draft)
{
    enum {
        STRICT = 2 /* in this mode the kernel promises no more memory than it has */
    };
    struct limit *limit = &draft->limit;
    const bool is_commit = limit->id == LIMIT_COMMIT;
    uint64_t mode;
    struct procfs_memory memory = {0};
    if ((is_commit &&
         (!read_number(survey, "sys/vm/overcommit_memory", &mode) || mode != STRICT)) ||
        !PARSE(survey, 0, "meminfo", procfs_parse_memory, &memory)) {
        return false;
    }
    limit->is_estimate = true;
    limit->each = survey->client_bytes + survey->server_bytes;
    limit->allowed = memory.total;
    limit->used = limits_room(memory.total, memory.available);
    draft->fix = "add memory, or run fewer sessions";
    if (is_commit) {
        limit->each += survey->question->stack_bytes;
        limit->allowed = memory.commit_limit;
        limit->used = memory.committed;
        draft->fix = "sysctl -w vm.overcommit_memory=0";
        snprintf(limit->note, sizeof limit->note,
                 "the kernel counts the whole stack of each thread, used or not");
    }
    return true;
}

/*
 * The functions below write the advice on how to raise a limit: an exact line or command, which
 * depends on where the process runs.
 */

static void fix_rlimit(struct limit *entry, const struct draft *draft, uint64_t value)
{
    static const struct {
        const char *item;   /* name in limits.conf, docker and prlimit */
        const char *unit;   /* name in units of systemd */
        const char *option; /* letter of the option of ulimit */
        unsigned shift;     /* number of bits by which bytes are shifted right to get the unit of
                               limits.conf and ulimit */
    } names[LIMIT_IDS] = {[LIMIT_OPEN_FILES] = {"nofile", "LimitNOFILE", "n", 0},
                          [LIMIT_USER_TASKS] = {"nproc", "LimitNPROC", "u", 0},
                          [LIMIT_ADDRESS_SPACE] = {"as", "LimitAS", "v", 10}};
    const struct limited_process *process = draft->process;
    const bool is_client = process->side == LIMIT_CLIENT;
    const char *item = names[entry->id].item;
    char *const fix = entry->fix;
    char number[24];     /* the value for prlimit, docker and systemd */
    char scaled[24];     /* the value for limits.conf and ulimit */
    char pid[16] = "$$"; /* pid in the command; $$ is the shell that starts this program */
    snprintf(number, sizeof number, "%" PRIu64, value);
    snprintf(scaled, sizeof scaled, "%" PRIu64, value >> names[entry->id].shift);
    if (!is_client) {
        snprintf(pid, sizeof pid, "%d", (int)process->pid);
    }
    if (value <= draft->raisable_to) {
        snprintf(fix, LIMIT_FIX_BYTES, "ulimit -S%s %s", names[entry->id].option, scaled);
    } else if (process->is_contained && entry->id == LIMIT_ADDRESS_SPACE) {
        /* docker cannot set this limit, so something in the container has set it */
        snprintf(fix, LIMIT_FIX_BYTES, "as root outside the container: prlimit --as=%s --pid PID",
                 number);
    } else if (process->is_contained) {
        snprintf(fix, LIMIT_FIX_BYTES, "%s run --ulimit %s=%s:%s ...",
                 process->is_podman ? "podman" : "docker", item, number, number);
    } else if (process->unit[0] != '\0') {
        snprintf(fix, LIMIT_FIX_BYTES,
                 "systemctl edit %s: [Service] %s=%s, then systemctl restart %s", process->unit,
                 names[entry->id].unit, number, process->unit);
    } else {
        snprintf(fix, LIMIT_FIX_BYTES,
                 "in /etc/security/limits.conf: %s - %s %s, then %sprlimit --%s=%s --pid %s",
                 process->user, item, scaled,
                 is_client ? "log in again; or: sudo "
                           : "start the server from a new login; or as root: ",
                 item, number, pid);
    }
}

/* Says how to raise a limit of a cgroup. The cgroup may belong to a systemd unit, such as the slice
 * of a user. */
static void fix_cgroup(struct limit *entry, const struct draft *draft, uint64_t value)
{
    const char *const file = entry->where;
    const bool is_memory = entry->id == LIMIT_CGROUP_MEMORY;
    const bool is_podman = draft->process->is_podman;
    const char *end = strrchr(file, '/');
    const char *unit = end != NULL ? end : file;
    while (unit > file && unit[-1] != '/') {
        unit--;
    }
    const char *kind = end != NULL ? memrchr(unit, '.', (size_t)(end - unit)) : NULL;
    const bool is_unit = kind != NULL && kind > unit &&
                         (strncmp(kind, ".service/", 9) == 0 || strncmp(kind, ".scope/", 7) == 0 ||
                          strncmp(kind, ".slice/", 7) == 0);
    if (draft->process->is_contained && is_memory) {
        /* --memory alone is refused if it exceeds the old limit of memory and swap */
        snprintf(entry->fix, LIMIT_FIX_BYTES,
                 "%s update --memory %" PRIu64 " --memory-swap %" PRIu64 " CONTAINER",
                 is_podman ? "podman" : "docker", value, value);
    } else if (draft->process->is_contained && is_podman) {
        /* not every `podman update` can change the limit of processes */
        snprintf(entry->fix, LIMIT_FIX_BYTES, "podman run --pids-limit %" PRIu64 " ...", value);
    } else if (draft->process->is_contained) {
        snprintf(entry->fix, LIMIT_FIX_BYTES, "docker update --pids-limit %" PRIu64 " CONTAINER",
                 value);
    } else if (is_unit) {
        /* the user's own systemd manages the units below user@1000.service */
        const char *manager = strstr(file, "/user@");
        snprintf(entry->fix, LIMIT_FIX_BYTES, "systemctl %sset-property %.*s %s=%" PRIu64,
                 manager != NULL && manager + 1 < unit ? "--user " : "", (int)(end - unit), unit,
                 is_memory ? "MemoryMax" : "TasksMax", value);
    } else {
        snprintf(entry->fix, LIMIT_FIX_BYTES, "echo %" PRIu64 " > %s", value, file);
    }
}

static void fix_setting(struct limit *entry, const struct draft *draft, uint64_t value)
{
    if (draft->fix != NULL) {
        snprintf(entry->fix, sizeof entry->fix, "%s", draft->fix);
    } else {
        snprintf(entry->fix, sizeof entry->fix, "sysctl -w %s=%" PRIu64, entry->name, value);
    }
}

/* Copies session_limit.fix to `fix` and replaces N by the number of sessions: see struct
 * session_limit. */
static void fix_sessions(char fix[LIMIT_FIX_BYTES], const char *text, uint64_t sessions)
{
    const char *at = text;
    size_t used = 0;
    while (*at != '\0' && used + 1 < LIMIT_FIX_BYTES) {
        const bool is_word = *at == 'N' && at > text && at[-1] == ' ';
        const char *rest = at + 1;
        uint64_t number = sessions;
        if (is_word && *rest == '+') {
            char *end;
            number += strtoull(rest + 1, &end, 10);
            rest = end;
        } else if (is_word && *rest == '*') {
            char *end;
            number *= strtoull(rest + 1, &end, 10);
            rest = end;
        } else if (strchr("'\"`", *at) != NULL) {
            /* skip a quoted name, which may contain the word N */
            const char *quote = strchr(rest, *at);
            rest = quote != NULL ? quote + 1 : rest + strlen(rest);
        }
        char *const to = fix + used;
        used += is_word && (*rest == '\0' || strchr(" ;,", *rest) != NULL)
                    ? (size_t)snprintf(to, LIMIT_FIX_BYTES - used, "%" PRIu64, number)
                    : (size_t)snprintf(to, LIMIT_FIX_BYTES - used, "%.*s", (int)(rest - at), at);
        at = rest;
    }
}

/* The table of limits. `of`: flags that show whose limit the row is. `read` fills the allowed and
 * the used amount and the needs of the sessions, and returns false if the limit does not exist
 * here. `fix` writes the advice on how to raise the limit. */
enum {
    CLIENT = 1,  /* a limit of this program or of its machine */
    PROCESS = 2, /* a limit of the server's process */
    CGROUP = 4,  /* a limit of the cgroup of the server's process, or of the cgroup that the user
                    named */
};

static const struct row {
    unsigned of;
    enum limit_id id;
    const char *name;
    const char *where;
    const char *unit;
    bool (*read)(struct survey *survey, struct draft *draft);
    void (*fix)(struct limit *entry, const struct draft *draft, uint64_t value);
} rows[] = {
    {CLIENT, LIMIT_OPEN_FILES, "RLIMIT_NOFILE", "ulimit -Hn", "files", read_files, fix_rlimit},
    {CLIENT, LIMIT_USER_TASKS, "RLIMIT_NPROC", "ulimit -u", "threads", read_tasks, fix_rlimit},
    {PROCESS, LIMIT_OPEN_FILES, "RLIMIT_NOFILE", "its ulimit -Sn", "files", read_files, fix_rlimit},
    {PROCESS, LIMIT_USER_TASKS, "RLIMIT_NPROC", "its ulimit -u", "threads", read_tasks, fix_rlimit},
    {PROCESS, LIMIT_MAP_COUNT, "vm.max_map_count", "sysctl", "maps", read_maps, fix_setting},
    {CLIENT | CGROUP, LIMIT_CGROUP_TASKS, "pids.max", "pids", "threads", read_cgroup, fix_cgroup},
    {CLIENT | CGROUP, LIMIT_CGROUP_TASKS, "pids.max", "", "threads", read_cgroup, fix_cgroup},
    {CLIENT, LIMIT_THREADS_MAX, "kernel.threads-max", "sysctl", "threads", read_machine,
     fix_setting},
    {CLIENT, LIMIT_PID_MAX, "kernel.pid_max", "sysctl", "threads", read_machine, fix_setting},
    {CLIENT, LIMIT_MAP_COUNT, "vm.max_map_count", "sysctl", "maps", read_maps, fix_setting},
    {CLIENT, LIMIT_ADDRESS_SPACE, "RLIMIT_AS", "ulimit -v", "bytes", read_space, fix_rlimit},
    {CLIENT, LIMIT_PORTS, "ip_local_port_range", "sysctl", "ports", read_ports, fix_setting},
    {CLIENT | CGROUP, LIMIT_CGROUP_MEMORY, "memory.limit_in_bytes", "memory", "bytes", read_cgroup,
     fix_cgroup},
    {CLIENT | CGROUP, LIMIT_CGROUP_MEMORY, "memory.max", "", "bytes", read_cgroup, fix_cgroup},
    {CLIENT, LIMIT_COMMIT, "overcommit_memory=2", "sysctl", "bytes", read_memory, fix_setting},
    {CLIENT, LIMIT_MEMORY, "free memory", "this machine", "bytes", read_memory, fix_setting},
};

static void read_rows(struct survey *survey, const struct limited_process *process, unsigned of)
{
    const struct limit_list *list = survey->list;
    for (const struct row *row = rows; row < rows + COUNT_OF(rows); row++) {
        struct draft draft = {
            .process = process,
            .limit = {.id = row->id, .side = process->side, .unit = row->unit},
        };
        struct limit *limit = &draft.limit;
        snprintf(limit->name, sizeof limit->name, "%s", row->name);
        snprintf(limit->where, sizeof limit->where, "%s", row->where);
        bool is_wanted = (row->of & of) != 0 && row->read(survey, &draft);
        for (size_t i = 0; i < list->count && limit->where[0] == '/'; i++) {
            /* skip a file that is listed already: in a folder that the user named, the rows for
             * both cgroup versions find the same file */
            is_wanted = is_wanted && strcmp(list->entries[i].where, limit->where) != 0;
        }
        struct limit *entry = is_wanted ? add_limit(survey, &draft) : NULL;
        if (entry != NULL && entry->grade != LIMIT_PASS) {
            row->fix(entry, &draft, entry->used + entry->needed + draft.spare);
        }
    }
}

static void warn_unknown(struct survey *survey, enum limit_side side, const char *name,
                         const char *note)
{
    struct limit limit = {.id = LIMIT_USER_TASKS,
                          .side = side,
                          .where = "/proc",
                          .unit = "threads",
                          .is_unknown = true,
                          .allowed = LIMIT_NONE};
    snprintf(limit.name, sizeof limit.name, "%s", name);
    snprintf(limit.note, sizeof limit.note, "%.140s", note);
    warn(survey, &limit);
}

/* Finds the server's process and fills survey->server, or warns why the process was not found. */
static void find_server(struct survey *survey)
{
    const struct limits_question *question = survey->question;
    struct procfs_process found = {.pid = question->server_pid};
    char note[200] = "";
    const char *path = question->host != NULL && question->host[0] == '/' ? question->host : NULL;
    if (found.pid == 0 && question->server_cgroup != NULL) {
        return; /* read_rows reads the limits of the cgroup folder instead */
    }
    if (found.pid == 0 &&
        !server_find(survey->proc, question->port, path, &found, note, sizeof note)) {
        found.pid = 0;
    }
    if (found.pid != 0 && !read_process(survey, &survey->server, found.pid)) {
        snprintf(note, sizeof note, "process %d cannot be read: %s", (int)found.pid,
                 strerror(errno));
        found.pid = 0;
    }
    if (found.pid == 0) {
        survey->server.pid = 0;
        warn_unknown(survey, LIMIT_SERVER, "limits of its process", note);
    }
}

/* Adds the settings of the database, as the database reported them. */
static void read_database(struct survey *survey, const struct server_limits *server)
{
    if (server->is_pooled) {
        const struct limit limit = {
            .id = LIMIT_SESSIONS,
            .side = LIMIT_DATABASE,
            .name = "limits of the pooler",
            .unit = "sessions",
            .allowed = LIMIT_NONE,
            .is_unknown = true,
            .note = "unknown: a pooler is in front of the server; see the pooler's settings "
                    "(pgbouncer: max_client_conn, default_pool_size)"};
        warn(survey, &limit);
    }
    for (size_t i = 0; i < server->count; i++) {
        const struct session_limit *session = &server->sessions[i];
        /* `used` includes the connection that asked the server; this connection is closed before
         * the sessions are opened */
        struct draft draft = {.limit = {.id = LIMIT_SESSIONS,
                                        .side = LIMIT_DATABASE,
                                        .unit = "sessions",
                                        .each = 1,
                                        .allowed = session->allowed,
                                        .used = session->used > 0 ? session->used - 1 : 0}};
        struct limit *limit = &draft.limit;
        snprintf(limit->name, sizeof limit->name, "%s", session->name);
        snprintf(limit->where, sizeof limit->where, "%.*s", (int)strcspn(server->version, " "),
                 server->version);
        snprintf(limit->note, sizeof limit->note, "%" PRIu64 " of %" PRIu64 " in use now%s%.100s",
                 limit->used, limit->allowed, session->note[0] == '\0' ? "" : "; ", session->note);
        struct limit *entry = add_limit(survey, &draft);
        if (entry->grade != LIMIT_PASS) {
            fix_sessions(entry->fix, session->fix, entry->used + entry->needed);
        }
    }
}

void limits_read_at(int proc, pid_t self, const struct limits_question *question,
                    struct limit_list *list)
{
    list->count = 0;
    struct survey survey = {.question = question,
                            .list = list,
                            .proc = proc,
                            .client = {.side = LIMIT_CLIENT},
                            .server = {.side = LIMIT_SERVER}};
    if (proc < 0) {
        warn_unknown(&survey, LIMIT_CLIENT, "limits of this machine", "/proc cannot be opened");
        return;
    }
    buffer_init(&survey.text);
    const bool is_known = read_process(&survey, &survey.client, self);
    const bool has_server = limits_has_server_here(question);
    const struct server_limits *said = question->server;
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    survey.arenas = 8 * (uint64_t)(cpus > 0 ? cpus : 1) - 1;
    survey.client_bytes = question->is_embedded ? EMBEDDED_BYTES : CLIENT_BYTES;
    survey.client_bytes += question->has_script ? SCRIPT_BYTES : 0;
    if (has_server && said != NULL && said->tasks_per_session > 0) {
        survey.server_tasks = said->tasks_per_session;
        survey.server_bytes =
            said->files_per_session > 0 ? SERVER_THREAD_BYTES : SERVER_PROCESS_BYTES;
    }
    if (has_server) {
        find_server(&survey);
    }
    count_tasks(&survey);
    if (is_known) {
        read_rows(&survey, &survey.client, CLIENT);
    } else {
        warn_unknown(&survey, LIMIT_CLIENT, "limits of this program", "/proc/self cannot be read");
    }
    if (has_server) {
        read_rows(&survey, &survey.server, CGROUP | (survey.server.pid ? PROCESS : 0));
    }
    if (said != NULL) {
        read_database(&survey, said);
    }
    buffer_fini(&survey.text);
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
    *first = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const struct limit *limit = &list->entries[i];
        if (limit->sessions < sessions && (with_estimates || !limit->is_estimate)) {
            sessions = limit->sessions;
            *first = limit;
        }
    }
    return sessions;
}
