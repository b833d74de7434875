#include "measure/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char mounts[] = "/sys/fs/cgroup";

bool cgroup_name(const char *name, struct cgroup_folder *folder)
{
    const bool is_whole = name[0] == '/';
    const int length = snprintf(folder->path, sizeof folder->path, "%s%s%s", is_whole ? "" : mounts,
                                is_whole ? "" : "/", name);
    if (length < 0 || (size_t)length >= sizeof folder->path) {
        errno = ENAMETOOLONG;
        return false;
    }
    folder->root_length = strncmp(folder->path, mounts, sizeof mounts - 1) == 0
                              ? sizeof mounts - 1
                              : strlen(folder->path);
    folder->is_inside = true;
    return true;
}

/* The path of a cgroup is as seen from the root of the hierarchy, of which a container may have
 * mounted only a part. False: it is not even in what this program's namespace has. */
static bool join(const struct procfs_mount *mount, const char *path, struct cgroup_folder *folder)
{
    const size_t root = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
    if (strncmp(path, "/..", 3) == 0 && (path[3] == '/' || path[3] == '\0')) {
        return false;
    }
    folder->is_inside =
        strncmp(path, mount->root, root) == 0 && (path[root] == '/' || path[root] == '\0');
    const char *rest = folder->is_inside ? path + root : "";
    snprintf(folder->path, sizeof folder->path, "%s%s", mount->point,
             strcmp(rest, "/") == 0 ? "" : rest);
    folder->root_length = strlen(mount->point);
    return true;
}

bool cgroup_find(int proc, pid_t pid, pid_t viewer, const char *controller,
                 struct cgroup_folder *folder)
{
    char cgroup[64];
    char mounts_seen[64];
    char path[PROCFS_PATH_BYTES];
    struct procfs_mount mount;
    struct buffer text;
    buffer_init(&text);
    snprintf(cgroup, sizeof cgroup, "%d/cgroup", (int)pid);
    snprintf(mounts_seen, sizeof mounts_seen, "%d/mountinfo", (int)viewer);
    const bool is_found = procfs_load(proc, cgroup, &text) &&
                          procfs_parse_cgroup(buffer_text(&text), text.length, controller, path) &&
                          procfs_load(proc, mounts_seen, &text) &&
                          procfs_parse_mount(buffer_text(&text), text.length, controller, &mount) &&
                          join(&mount, path, folder);
    buffer_fini(&text);
    return is_found;
}

bool cgroup_go_up(struct cgroup_folder *folder)
{
    char *slash = strrchr(folder->path, '/');
    if (slash == NULL || strlen(folder->path) <= folder->root_length) {
        return false;
    }
    *slash = '\0';
    return true;
}

bool cgroup_read_number(const struct cgroup_folder *folder, const char *file, uint64_t *value)
{
    char path[sizeof folder->path + 64];
    char text[64];
    snprintf(path, sizeof path, "%s/%s", folder->path, file);
    const ssize_t length = procfs_read(AT_FDCWD, path, text, sizeof text);
    return length > 0 && procfs_parse_number(text, (size_t)length, value);
}

/* One figure of a file of statistics; -1 = not to be had. */
static int64_t read_statistic(int folder, const char *file,
                              bool (*parse)(const char *, size_t, uint64_t *))
{
    struct buffer text;
    uint64_t value;
    buffer_init(&text);
    const bool is_read = procfs_load(folder, file, &text) &&
                         parse(buffer_text(&text), text.length, &value) && value <= INT64_MAX;
    buffer_fini(&text);
    return is_read ? (int64_t)value : -1;
}

uint64_t cgroup_read_cache(const struct cgroup_folder *folder)
{
    char path[sizeof folder->path + 64];
    snprintf(path, sizeof path, "%s/memory.stat", folder->path);
    const int64_t bytes = read_statistic(AT_FDCWD, path, procfs_parse_cgroup_cache);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

int cgroup_open(const char *name)
{
    struct cgroup_folder folder;
    return cgroup_name(name, &folder) ? open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

bool cgroup_walk(int folder, bool (*add)(void *context, pid_t pid), void *context)
{
    struct buffer text;
    buffer_init(&text);
    bool is_done = procfs_load(folder, "cgroup.procs", &text);
    char *end;
    for (const char *at = buffer_text(&text); is_done; at = end) {
        const long pid = strtol(at, &end, 10);
        if (end == at || *end != '\n') {
            break;
        }
        /* 0 stands for a process of a namespace that is not visible here. */
        is_done = pid <= 0 || add(context, (pid_t)pid);
    }
    buffer_fini(&text);
    DIR *entries = is_done ? procfs_open_folder(folder, ".") : NULL;
    if (entries == NULL) {
        return false;
    }
    const struct dirent *entry;
    while (is_done && (entry = readdir(entries)) != NULL) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.') {
            continue;
        }
        const int below =
            openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0) {
            is_done = errno == ENOENT; /* removed meanwhile */
            continue;
        }
        is_done = cgroup_walk(below, add, context);
        close(below);
    }
    closedir(entries);
    return is_done;
}

int64_t cgroup_memory(int folder)
{
    return read_statistic(folder, "memory.stat", procfs_parse_cgroup_memory);
}

static bool parse_usage(const char *text, size_t length, uint64_t *usage_us)
{
    return procfs_parse_named(text, length, "usage_usec", usage_us);
}

int64_t cgroup_cpu_ns(int folder)
{
    const int64_t usage_us = read_statistic(folder, "cpu.stat", parse_usage);
    return usage_us >= 0 && usage_us <= INT64_MAX / 1000 ? usage_us * 1000 : -1;
}
