/* Limits of the cgroups that a process is in, from its own one up to the highest that can be seen
 * here. Both versions: a controller belongs to one hierarchy of version 1, or to version 2. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "limits/reading.h"
#include "measure/proc_file.h"

static const char mounts[] = "/sys/fs/cgroup";

/* Version 1 says "no limit" with the largest whole number of pages. */
#define NO_LIMIT (UINT64_C(1) << 62)

/* A folder, and how much of its path is the mount point. */
struct folder {
    char path[2 * LIMITS_PATH_BYTES];
    size_t root_length;
};

/* Names of a controller's files. */
struct controller {
    enum limit_id id;
    const char *name; /* of the hierarchy; "" = version 2 */
    const char *max;
    const char *current;
    const char *unit;
};

static const struct controller task_controllers[] = {
    {LIMIT_CGROUP_TASKS, "pids", "pids.max", "pids.current", "threads"},
    {LIMIT_CGROUP_TASKS, "", "pids.max", "pids.current", "threads"}};
static const struct controller memory_controllers[] = {
    {LIMIT_CGROUP_MEMORY, "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "bytes"},
    {LIMIT_CGROUP_MEMORY, "", "memory.max", "memory.current", "bytes"}};

/* The folder that the user named. */
static bool use_named_folder(const char *name, struct folder *folder)
{
    snprintf(folder->path, sizeof folder->path, "%s%s%.500s", name[0] == '/' ? "" : mounts,
             name[0] == '/' ? "" : "/", name);
    folder->root_length = strncmp(folder->path, mounts, sizeof mounts - 1) == 0
                              ? sizeof mounts - 1
                              : strlen(folder->path);
    return true;
}

/* The folder of a process's cgroup. The path of a cgroup is as seen from the root of the
 * hierarchy, of which a container may have mounted only a part. */
static bool find_folder(struct reading *reading, const struct subject *subject,
                        const char *controller, struct folder *folder)
{
    char path[LIMITS_PATH_BYTES];
    struct limits_mount mount;
    /* a process is in the cgroups of all controllers, a folder of version 1 is that of one */
    if (subject->side == LIMIT_SERVER && subject->pid == 0 &&
        reading->question->server_cgroup != NULL) {
        return use_named_folder(reading->question->server_cgroup, folder);
    }
    if (subject->pid == 0 || !reading_load(reading, subject->pid, "cgroup") ||
        !limits_parse_cgroup(reading->text.bytes, reading->text.length, controller, path) ||
        !reading_load(reading, reading->client.pid, "mountinfo") ||
        !limits_parse_mount(reading->text.bytes, reading->text.length, controller, &mount)) {
        return false;
    }
    const size_t root = strcmp(mount.root, "/") == 0 ? 0 : strlen(mount.root);
    const bool is_below =
        strncmp(path, mount.root, root) == 0 && (path[root] == '/' || path[root] == '\0');
    const bool is_apart = strncmp(path, "/..", 3) == 0 && (path[3] == '/' || path[3] == '\0');
    if (is_apart || (!is_below && subject->side == LIMIT_SERVER)) {
        return false; /* it is not in what is mounted here, as outside of our container */
    }
    const char *rest = is_below ? path + root : "";
    snprintf(folder->path, sizeof folder->path, "%s%s", mount.point,
             strcmp(rest, "/") == 0 ? "" : rest);
    folder->root_length = strlen(mount.point);
    return true;
}

static bool read_number(const struct folder *folder, const char *name, uint64_t *value)
{
    char path[sizeof folder->path + 64];
    char text[64];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    const ssize_t length = proc_file_read(AT_FDCWD, path, text, sizeof text);
    return length > 0 && limits_parse_number(text, (size_t)length, value);
}

/* Page cache is counted as used, and given up when memory is needed. */
static uint64_t droppable(struct reading *reading, const struct folder *folder)
{
    char path[sizeof folder->path + 64];
    uint64_t bytes;
    snprintf(path, sizeof path, "%s/memory.stat", folder->path);
    return proc_file_load(AT_FDCWD, path, &reading->text) &&
                   limits_parse_cache(reading->text.bytes, reading->text.length, &bytes)
               ? bytes
               : 0;
}

/* False: that was the highest. */
static bool go_up(struct folder *folder)
{
    char *slash = strrchr(folder->path, '/');
    if (slash == NULL || strlen(folder->path) <= folder->root_length) {
        return false;
    }
    *slash = '\0';
    return true;
}

static bool holds(const struct folder *outer, const struct folder *inner)
{
    const size_t length = strlen(outer->path);
    return strncmp(outer->path, inner->path, length) == 0 &&
           (inner->path[length] == '/' || inner->path[length] == '\0');
}

static bool read_level(struct reading *reading, const struct folder *folder,
                       const struct controller *controller, struct limit *limit)
{
    if (!read_number(folder, controller->max, &limit->allowed) || limit->allowed >= NO_LIMIT ||
        !read_number(folder, controller->current, &limit->used)) {
        return false;
    }
    if (controller->id == LIMIT_CGROUP_MEMORY) {
        const uint64_t cache = droppable(reading, folder);
        limit->used -= cache < limit->used ? cache : limit->used;
    }
    snprintf(limit->where, sizeof limit->where, "%.512s/%s", folder->path, controller->max);
    return true;
}

static void read_hierarchy(struct reading *reading, const struct subject *subject,
                           const struct controller *controller, const struct demand *demand)
{
    const bool is_client = subject->side == LIMIT_CLIENT;
    struct folder folder;
    struct folder other;
    if (!find_folder(reading, subject, controller->name, &folder)) {
        return;
    }
    const bool has_other = find_folder(reading, is_client ? &reading->server : &reading->client,
                                       controller->name, &other) &&
                           demand->server > 0;
    /* of all levels the one that binds first */
    struct limit tightest = {.id = LIMIT_IDS};
    struct need need = {0};
    uint64_t fewest = LIMIT_NONE;
    do {
        struct limit limit = {.id = controller->id,
                              .side = subject->side,
                              .unit = controller->unit,
                              .is_estimate = controller->id == LIMIT_CGROUP_MEMORY};
        snprintf(limit.name, sizeof limit.name, "%s", controller->max);
        const bool is_shared = has_other && holds(&folder, &other);
        if ((is_shared && !is_client) || !read_level(reading, &folder, controller, &limit)) {
            continue; /* what both share is shown as the client's */
        }
        const struct need here = {.each = (is_client ? demand->client : demand->server) +
                                          (is_shared ? demand->server : 0),
                                  .fixed = is_client ? demand->fixed : 0};
        const uint64_t taken = limit.used + here.fixed;
        const uint64_t fitting = limit.allowed > taken ? (limit.allowed - taken) / here.each : 0;
        if (fitting < fewest) {
            fewest = fitting;
            tightest = limit;
            need = here;
        }
    } while (go_up(&folder));
    if (tightest.id == LIMIT_IDS) {
        return;
    }
    struct limit *entry = reading_add(reading, &tightest, need);
    if (entry != NULL) {
        const struct remedy_cgroup cgroup = {.file = entry->where,
                                             .is_memory = controller->id == LIMIT_CGROUP_MEMORY,
                                             .value = entry->used + entry->needed};
        remedy_cgroup(entry->fix, sizeof entry->fix, &subject->place, &cgroup);
    }
}

static void read_controller(struct reading *reading, const struct subject *subject,
                            const struct controller controllers[2], const struct demand *demand)
{
    if ((subject->side == LIMIT_CLIENT ? demand->client : demand->server) == 0) {
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        read_hierarchy(reading, subject, &controllers[i], demand);
        if (subject->side == LIMIT_SERVER && subject->pid == 0 &&
            reading->question->server_cgroup != NULL &&
            strcmp(controllers[0].max, controllers[1].max) == 0) {
            return; /* the folder is the same, and so is the file */
        }
    }
}

void cgroup_read_tasks(struct reading *reading, const struct subject *subject,
                       const struct demand *demand)
{
    read_controller(reading, subject, task_controllers, demand);
}

void cgroup_read_memory(struct reading *reading, const struct subject *subject,
                        const struct demand *demand)
{
    read_controller(reading, subject, memory_controllers, demand);
}
