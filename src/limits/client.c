/* This program, its user and its machine. */

#include <stdio.h>

#include "limits/reading.h"

static void read_open_files(struct reading *reading)
{
    const struct limits_question *question = reading->question;
    const struct limits_pair files = reading->client.rlimits.files;
    struct limit limit = {
        .id = LIMIT_OPEN_FILES,
        .side = LIMIT_CLIENT,
        .name = "RLIMIT_NOFILE",
        .where = "ulimit -Hn",
        .unit = "files",
        .allowed = files.hard,
    };
    if (!subject_count_files(reading, &reading->client, limit.allowed, &limit.used)) {
        return;
    }
    const struct need need = {.each = question->files_per_session, .fixed = question->other_files};
    struct limit *entry = reading_add(reading, &limit, need);
    if (entry != NULL) {
        const struct remedy_rlimit rlimit = {.item = "nofile",
                                             .user = reading->client.user,
                                             .value = entry->used + entry->needed,
                                             .hard = files.hard};
        remedy_rlimit(entry->fix, sizeof entry->fix, &reading->client.place, &rlimit);
    }
}

static void read_user_tasks(struct reading *reading)
{
    const struct subject *client = &reading->client;
    const bool shares_user =
        reading->server.pid != 0 && reading->server.status.uid == client->status.uid;
    const struct limits_pair tasks = client->rlimits.tasks;
    struct limit limit = {
        .id = LIMIT_USER_TASKS,
        .side = LIMIT_CLIENT,
        .name = "RLIMIT_NPROC",
        .where = "ulimit -u",
        .unit = "threads",
        .allowed = client->is_task_exempt ? LIMIT_NONE : tasks.soft,
        .used = client->user_tasks,
    };
    if (client->is_task_exempt) {
        snprintf(limit.note, sizeof limit.note, "does not apply to %s", client->user);
    }
    const struct demand demand = reading_task_demand(reading);
    const struct need need = {.each = demand.client + (shares_user ? demand.server : 0),
                              .fixed = demand.fixed};
    struct limit *entry = reading_add(reading, &limit, need);
    if (entry != NULL) {
        const struct remedy_rlimit rlimit = {.item = "nproc",
                                             .user = client->user,
                                             .value = entry->used + entry->needed,
                                             .hard = tasks.hard};
        remedy_rlimit(entry->fix, sizeof entry->fix, &client->place, &rlimit);
    }
}

/* Limits of the whole machine on tasks. */
static void read_machine_tasks(struct reading *reading)
{
    uint64_t tasks;
    if (!reading_load(reading, 0, "loadavg") ||
        !limits_parse_tasks(reading->text.bytes, reading->text.length, &tasks)) {
        return;
    }
    const struct {
        enum limit_id id;
        const char *name;
        const char *file;
        uint64_t taken_off;
        uint64_t used;
    } limits[] = {
        {LIMIT_THREADS_MAX, "kernel.threads-max", "sys/kernel/threads-max", 0, tasks},
        {LIMIT_PID_MAX, "kernel.pid_max", "sys/kernel/pid_max", RESERVED_PIDS,
         tasks - (reading->low_tasks < tasks ? reading->low_tasks : tasks)},
    };
    const struct demand demand = reading_task_demand(reading);
    const struct need need = {.each = demand.client + demand.server, .fixed = demand.fixed};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct limit limit = {
            .id = limits[i].id,
            .side = LIMIT_CLIENT,
            .where = "sysctl",
            .unit = "threads",
            .used = limits[i].used,
        };
        snprintf(limit.name, sizeof limit.name, "%s", limits[i].name);
        if (!reading_number(reading, limits[i].file, &limit.allowed)) {
            continue;
        }
        limit.allowed -= limit.allowed > limits[i].taken_off ? limits[i].taken_off : 0;
        struct limit *entry = reading_add(reading, &limit, need);
        if (entry != NULL) {
            remedy_sysctl(entry->fix, sizeof entry->fix, limits[i].name,
                          entry->used + entry->needed + limits[i].taken_off);
        }
    }
}

static void read_maps(struct reading *reading)
{
    struct limit limit = {
        .id = LIMIT_MAP_COUNT,
        .side = LIMIT_CLIENT,
        .name = "vm.max_map_count",
        .where = "sysctl",
        .unit = "maps",
    };
    if (!reading_load(reading, reading->client.pid, "maps") ||
        !limits_count_lines(reading->text.bytes, reading->text.length, &limit.used) ||
        !reading_number(reading, "sys/vm/max_map_count", &limit.allowed)) {
        return;
    }
    /* an arena of the allocator takes as many as a thread */
    const uint64_t others = reading->question->other_threads + memory_arenas();
    const struct need need = {.each = MAPS_PER_THREAD, .fixed = others * MAPS_PER_THREAD};
    struct limit *entry = reading_add(reading, &limit, need);
    if (entry != NULL) {
        remedy_sysctl(entry->fix, sizeof entry->fix, limit.name, entry->used + entry->needed);
    }
}

void client_read(struct reading *reading)
{
    read_open_files(reading);
    read_user_tasks(reading);
    const struct demand tasks = reading_task_demand(reading);
    cgroup_read_tasks(reading, &reading->client, &tasks);
    read_machine_tasks(reading);
    read_maps(reading);
    memory_read_address_space(reading);
    ports_read(reading);
    const struct demand memory = memory_demand(reading);
    cgroup_read_memory(reading, &reading->client, &memory);
    memory_read_machine(reading);
}
