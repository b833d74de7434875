#include "measure/server_cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "measure/proc_file.h"

enum {
    DEPTH_MAX = 16
};

int server_cgroup_open(const char *path)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    if (path[0] == '/') {
        return open(path, flags);
    }
    char full[PATH_MAX];
    const int length = snprintf(full, sizeof(full), "/sys/fs/cgroup/%s", path);
    if (length < 0 || (size_t)length >= sizeof(full)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(full, flags);
}

static bool add_processes(int folder, struct process_walk *walk)
{
    struct buffer text;
    buffer_init(&text);
    bool is_done = proc_file_load(folder, "cgroup.procs", &text);
    size_t offset = 0;
    pid_t pid;
    while (is_done && procfs_next_pid(buffer_text(&text), text.length, &offset, &pid)) {
        /* 0 stands for a process of a namespace that is not visible here. */
        is_done = pid == 0 || process_walk_add(walk, pid);
    }
    const int reason = errno;
    buffer_fini(&text);
    errno = reason;
    return is_done;
}

static bool add_tree(int folder, unsigned depth, struct process_walk *walk)
{
    if (!add_processes(folder, walk)) {
        return false;
    }
    const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    if (entries == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        return false;
    }
    bool is_done = true;
    const struct dirent *entry;
    while (is_done && depth < DEPTH_MAX && (entry = readdir(entries)) != NULL) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.') {
            continue;
        }
        const int below =
            openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0) {
            is_done = errno == ENOENT; /* removed meanwhile */
            continue;
        }
        is_done = add_tree(below, depth + 1, walk);
        close(below);
    }
    closedir(entries);
    return is_done;
}

bool server_cgroup_walk(int folder, struct process_walk *walk)
{
    process_walk_clear(walk);
    if (!add_tree(folder, 0, walk)) {
        return false;
    }
    process_walk_sort(walk);
    return true;
}

int64_t server_cgroup_memory(int folder)
{
    struct buffer text;
    uint64_t bytes;
    buffer_init(&text);
    const bool is_read = proc_file_load(folder, "memory.stat", &text) &&
                         procfs_parse_cgroup_memory(buffer_text(&text), text.length, &bytes) &&
                         bytes <= INT64_MAX;
    buffer_fini(&text);
    return is_read ? (int64_t)bytes : -1;
}

int64_t server_cgroup_cpu_ns(int folder)
{
    struct buffer text;
    uint64_t usage_us;
    buffer_init(&text);
    const bool is_read = proc_file_load(folder, "cpu.stat", &text) &&
                         procfs_parse_cgroup_cpu(buffer_text(&text), text.length, &usage_us) &&
                         usage_us <= INT64_MAX / 1000;
    buffer_fini(&text);
    return is_read ? (int64_t)usage_us * 1000 : -1;
}
