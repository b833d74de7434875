/* The server's process, its user and its cgroup, when it runs on this machine. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "limits/backlog.h"
#include "limits/reading.h"
#include "measure/server_find.h"

static const char *socket_of(const struct limits_question *question)
{
    return question->host != NULL && question->host[0] == '/' ? question->host : NULL;
}

void server_find_process(struct reading *reading)
{
    const struct limits_question *question = reading->question;
    struct procfs_process found = {.pid = question->server_pid};
    char note[200] = "";
    reading->server.side = LIMIT_SERVER;
    if (found.pid == 0 && question->server_cgroup != NULL) {
        return; /* its limits are those of the folder */
    }
    if (found.pid == 0 && !server_find(reading->proc, question->port, socket_of(question), &found,
                                       note, sizeof note)) {
        found.pid = 0;
    }
    if (found.pid != 0 && !subject_read(reading, &reading->server, found.pid)) {
        snprintf(note, sizeof note, "process %d cannot be looked at: %s", (int)found.pid,
                 strerror(errno));
        found.pid = 0;
    }
    if (found.pid == 0) {
        reading->server.pid = 0;
        struct limit limit = {.id = LIMIT_USER_TASKS,
                              .side = LIMIT_SERVER,
                              .name = "limits of its process",
                              .unit = "threads",
                              .allowed = LIMIT_NONE};
        snprintf(limit.where, sizeof limit.where, "/proc");
        snprintf(limit.note, sizeof limit.note, "not known: %.140s", note);
        reading_warn(reading, &limit);
    }
}

static unsigned tasks_each(const struct reading *reading)
{
    const struct server_limits *server = reading->question->server;
    return server == NULL ? 0 : server->tasks_per_session;
}

static void read_user_tasks(struct reading *reading)
{
    const struct subject *server = &reading->server;
    const bool shares_user = server->status.uid == reading->client.status.uid;
    const struct limits_pair tasks = server->rlimits.tasks;
    if (tasks_each(reading) == 0) {
        return;
    }
    struct limit limit = {
        .id = LIMIT_USER_TASKS,
        .side = LIMIT_SERVER,
        .name = "RLIMIT_NPROC",
        .where = "its ulimit -u",
        .unit = "threads",
        .allowed = server->is_task_exempt ? LIMIT_NONE : tasks.soft,
        .used = server->user_tasks,
    };
    if (server->is_task_exempt) {
        snprintf(limit.note, sizeof limit.note, "does not apply to %s", server->user);
    }
    const struct need need = {.each = tasks_each(reading) + (shares_user ? 1 : 0),
                              .fixed = shares_user ? reading->question->other_threads : 0};
    struct limit *entry = reading_add(reading, &limit, need);
    if (entry != NULL) {
        const struct remedy_rlimit rlimit = {.item = "nproc",
                                             .user = server->user,
                                             .pid = server->pid,
                                             .value = entry->used + entry->needed};
        remedy_rlimit(entry->fix, sizeof entry->fix, &server->place, &rlimit);
    }
}

static void read_files(struct reading *reading)
{
    const struct subject *server = &reading->server;
    const struct server_limits *said = reading->question->server;
    if (said == NULL || said->files_per_session == 0) {
        return;
    }
    struct limit limit = {
        .id = LIMIT_OPEN_FILES,
        .side = LIMIT_SERVER,
        .name = "RLIMIT_NOFILE",
        .where = "its ulimit -Sn",
        .unit = "files",
        .allowed = server->rlimits.files.soft,
    };
    if (!subject_count_files(reading, server, limit.allowed, &limit.used)) {
        snprintf(limit.note, sizeof limit.note,
                 "its open files belong to user %s and cannot be counted: run as root",
                 server->user);
        reading_warn(reading, &limit);
        return;
    }
    struct limit *entry =
        reading_add(reading, &limit, (struct need){.each = said->files_per_session});
    if (entry != NULL) {
        const struct remedy_rlimit rlimit = {.item = "nofile",
                                             .user = server->user,
                                             .pid = server->pid,
                                             .value = entry->used + entry->needed};
        remedy_rlimit(entry->fix, sizeof entry->fix, &server->place, &rlimit);
    }
}

/* A thread for each session has its stack in one address space; a process has its own. */
static void read_maps(struct reading *reading)
{
    const struct server_limits *said = reading->question->server;
    struct limit limit = {
        .id = LIMIT_MAP_COUNT,
        .side = LIMIT_SERVER,
        .name = "vm.max_map_count",
        .where = "sysctl",
        .unit = "maps",
    };
    if (said == NULL || said->files_per_session == 0 || said->tasks_per_session == 0 ||
        !reading_load(reading, reading->server.pid, "maps") ||
        !limits_count_lines(reading->text.bytes, reading->text.length, &limit.used) ||
        !reading_number(reading, "sys/vm/max_map_count", &limit.allowed)) {
        return;
    }
    struct limit *entry = reading_add(
        reading, &limit, (struct need){.each = (uint64_t)MAPS_PER_THREAD * tasks_each(reading)});
    if (entry != NULL) {
        remedy_sysctl(entry->fix, sizeof entry->fix, limit.name, entry->used + entry->needed);
    }
}

static uint64_t connects_at_a_time(const struct limits_question *question)
{
    return question->connect_concurrency < question->sessions ? question->connect_concurrency
                                                              : question->sessions;
}

/* Handshakes that are under way. With SYN cookies the kernel keeps nothing of those that are too
 * many; without, it drops them as soon as less than a quarter of the queue is free
 * (tcp_conn_request in net/ipv4/tcp_input.c). */
static void read_syn_backlog(struct reading *reading)
{
    const uint64_t at_a_time = connects_at_a_time(reading->question);
    uint64_t cookies;
    uint64_t most;
    if (!reading_number(reading, "sys/net/ipv4/tcp_syncookies", &cookies) ||
        !reading_number(reading, "sys/net/ipv4/tcp_max_syn_backlog", &most)) {
        return;
    }
    struct limit limit = {
        .id = LIMIT_SYN_BACKLOG,
        .side = LIMIT_SERVER,
        .name = "tcp_max_syn_backlog",
        .where = "sysctl",
        .unit = "connects at a time",
        .allowed = cookies != 0 ? LIMIT_NONE : most - most / 4,
        .needed = at_a_time,
        .sessions = LIMIT_NONE,
    };
    if (limit.allowed >= at_a_time) {
        reading_add(reading, &limit, (struct need){.fixed = at_a_time});
        return;
    }
    snprintf(limit.note, sizeof limit.note,
             "three quarters of %" PRIu64 ", as SYN cookies are off: more handshakes at a time are "
             "dropped, and tried again after 1 s",
             most);
    snprintf(limit.fix, sizeof limit.fix,
             "sysctl -w net.ipv4.tcp_syncookies=1; or --connect-concurrency %" PRIu64,
             limit.allowed);
    reading_warn(reading, &limit);
}

static void read_backlog(struct reading *reading)
{
    const struct limits_question *question = reading->question;
    const char *path = socket_of(question);
    struct backlog backlog;
    uint64_t most = 0;
    if (!backlog_read(&backlog, question->port, path)) {
        return;
    }
    if (path == NULL) {
        read_syn_backlog(reading);
    }
    reading_number(reading, "sys/net/core/somaxconn", &most);
    const bool is_capped = backlog.allowed == most;
    const uint64_t at_a_time = connects_at_a_time(question);
    struct limit limit = {
        .id = LIMIT_BACKLOG,
        .side = LIMIT_SERVER,
        .name = "listen backlog",
        .unit = "connects at a time",
        .allowed = backlog.allowed + 1, /* the kernel refuses when there are more than that many */
        .used = backlog.waiting,
        .needed = at_a_time,
        .sessions = LIMIT_NONE,
    };
    snprintf(limit.where, sizeof limit.where, "%s",
             is_capped ? "net.core.somaxconn" : "its listen()");
    if (limit.allowed - (limit.used < limit.allowed ? limit.used : limit.allowed) >= at_a_time) {
        reading_add(reading, &limit, (struct need){.fixed = at_a_time});
        return;
    }
    snprintf(limit.note, sizeof limit.note, "connects that it has not accepted yet: more %s",
             path == NULL ? "wait, and may time out" : "are refused at once");
    if (is_capped) {
        snprintf(limit.fix, sizeof limit.fix,
                 "sysctl -w net.core.somaxconn=%" PRIu64
                 " and restart the server; or --connect-concurrency %" PRIu64,
                 at_a_time, limit.allowed);
    } else {
        snprintf(limit.fix, sizeof limit.fix,
                 "--connect-concurrency %" PRIu64
                 ", or raise the server's own setting (back_log in my.cnf; in postgresql.conf it "
                 "follows max_connections)",
                 limit.allowed);
    }
    reading_warn(reading, &limit);
}

void server_read(struct reading *reading)
{
    const struct subject *server = &reading->server;
    if (server->pid != 0) {
        read_files(reading);
        read_user_tasks(reading);
        read_maps(reading);
    }
    const struct demand tasks = reading_task_demand(reading);
    cgroup_read_tasks(reading, server, &tasks);
    const struct demand memory = memory_demand(reading);
    cgroup_read_memory(reading, server, &memory);
    read_backlog(reading);
}
