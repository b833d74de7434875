/* Limits of the cgroups that a process is in, from its own one up to the highest that can be seen
 * here. Both versions: a controller belongs to one hierarchy of version 1, or to version 2. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "limits/reading.h"
#include "measure/proc_file.h"

/* A folder, and how much of its path is the mount point. */
struct folder {
    char path[2 * LIMITS_PATH_BYTES];
    size_t root_length;
};

/* The folder of a process's cgroup. The path of a cgroup is as seen from the root of the
 * hierarchy, of which a container may have mounted only a part. */
static bool find_folder(struct reading *reading, pid_t pid, const char *controller,
                        struct folder *folder)
{
    char path[LIMITS_PATH_BYTES];
    struct limits_mount mount;
    if (!reading_load(reading, pid, "cgroup") ||
        !limits_parse_cgroup(reading->text.bytes, reading->text.length, controller, path) ||
        !reading_load(reading, getpid(), "mountinfo") ||
        !limits_parse_mount(reading->text.bytes, reading->text.length, controller, &mount)) {
        return false;
    }
    const size_t root = strcmp(mount.root, "/") == 0 ? 0 : strlen(mount.root);
    const bool is_below =
        strncmp(path, mount.root, root) == 0 && (path[root] == '/' || path[root] == '\0');
    const char *rest = is_below ? path + root : "";
    snprintf(folder->path, sizeof folder->path, "%s%s", mount.point,
             strcmp(rest, "/") == 0 ? "" : rest);
    folder->root_length = strlen(mount.point);
    return true;
}

static bool read_file(const struct folder *folder, const char *name, char *text, size_t size,
                      size_t *length)
{
    char path[sizeof folder->path + 64];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    const ssize_t got = proc_file_read(AT_FDCWD, path, text, size);
    *length = got > 0 ? (size_t)got : 0;
    return got > 0;
}

static bool read_number(const struct folder *folder, const char *name, uint64_t *value)
{
    char text[64];
    size_t length;
    return read_file(folder, name, text, sizeof text, &length) &&
           limits_parse_number(text, length, value);
}

/* False: that was the highest. */
static bool go_up(struct folder *folder)
{
    char *slash = strrchr(folder->path, '/');
    if (slash == NULL || (size_t)(slash - folder->path) < folder->root_length ||
        strlen(folder->path) <= folder->root_length) {
        return false;
    }
    *slash = '\0';
    return true;
}

static void read_tasks(struct reading *reading, const struct subject *subject, struct need need)
{
    struct folder folder;
    if (!find_folder(reading, subject->pid, "pids", &folder) &&
        !find_folder(reading, subject->pid, "", &folder)) {
        return;
    }
    /* of all levels the one that leaves the least room */
    struct limit tightest = {.allowed = LIMIT_NONE};
    uint64_t least = LIMIT_NONE;
    do {
        struct limit limit = {
            .id = LIMIT_CGROUP_TASKS,
            .side = subject->side,
            .name = "pids.max",
            .unit = "threads",
        };
        if (!read_number(&folder, "pids.max", &limit.allowed) || limit.allowed == LIMIT_NONE ||
            !read_number(&folder, "pids.current", &limit.used)) {
            continue;
        }
        const uint64_t left = limit.allowed > limit.used ? limit.allowed - limit.used : 0;
        if (left < least) {
            least = left;
            snprintf(limit.where, sizeof limit.where, "%.150s/pids.max", folder.path);
            tightest = limit;
        }
    } while (go_up(&folder));
    if (tightest.allowed == LIMIT_NONE) {
        return;
    }
    struct limit *entry = reading_add(reading, &tightest, need);
    if (entry != NULL) {
        const struct remedy_cgroup cgroup = {.file = entry->where,
                                             .value = entry->used + entry->needed};
        remedy_cgroup(entry->fix, sizeof entry->fix, &subject->place, &cgroup);
    }
}

void cgroup_read(struct reading *reading, const struct subject *subject, struct need tasks)
{
    read_tasks(reading, subject, tasks);
}
