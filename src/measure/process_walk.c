#include "measure/process_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/proc_file.h"

bool process_walk_init(struct process_walk *walk, int proc, int64_t tick_ns)
{
    *walk = (struct process_walk){.proc = proc, .tick_ns = tick_ns};
    const int folder = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return false;
    }
    walk->folder = fdopendir(folder);
    if (walk->folder == NULL) {
        close(folder);
        return false;
    }
    return true;
}

void process_walk_fini(struct process_walk *walk)
{
    if (walk->folder != NULL) {
        closedir(walk->folder);
    }
    free(walk->seen);
    *walk = (struct process_walk){.proc = -1};
}

static bool reserve_one(struct process_walk *walk)
{
    if (walk->count < walk->capacity) {
        return true;
    }
    const size_t capacity = walk->capacity * 2 + 512;
    struct process_seen *seen = realloc(walk->seen, capacity * sizeof(*seen));
    if (seen == NULL) {
        errno = ENOMEM;
        return false;
    }
    walk->seen = seen;
    walk->capacity = capacity;
    return true;
}

static bool add(struct process_walk *walk, pid_t pid, bool is_member)
{
    struct procfs_process process;
    if (!proc_file_process(walk->proc, pid, &process)) {
        /* It ended since it was listed, or is hidden from this user (hidepid), as the server then
         * is too; anything else leaves a hole in what was seen. */
        return errno == ENOENT || errno == ESRCH || errno == EACCES || errno == EPERM;
    }
    if (!reserve_one(walk)) {
        return false;
    }
    walk->seen[walk->count++] = (struct process_seen){
        .pid = process.pid,
        .parent = process.parent,
        .start_ticks = process.start_ticks,
        .own_ns = (int64_t)process.own_ticks * walk->tick_ns,
        .reaped_ns = (int64_t)process.reaped_ticks * walk->tick_ns,
        .threads = process.threads,
        .is_zombie = process.state == 'Z' || process.state == 'X',
        .is_member = is_member,
    };
    return true;
}

/* 0: not a process. */
static pid_t pid_of_name(const char *name)
{
    if (name[0] < '1' || name[0] > '9') {
        return 0;
    }
    return (pid_t)strtol(name, NULL, 10);
}

bool process_walk_all(struct process_walk *walk)
{
    const pid_t self = getpid();
    walk->count = 0;
    rewinddir(walk->folder);
    errno = 0;
    const struct dirent *entry;
    while ((entry = readdir(walk->folder)) != NULL) {
        const pid_t pid = pid_of_name(entry->d_name);
        /* This program may have thousands of threads, and the kernel visits each for the sum. */
        if (pid > 0 && pid != self && !add(walk, pid, false)) {
            return false;
        }
        errno = 0;
    }
    if (errno != 0) {
        return false;
    }
    process_walk_sort(walk);
    return true;
}

void process_walk_refine(struct process_walk *walk)
{
    for (size_t i = 0; i < walk->count; i++) {
        char path[64];
        char text[128];
        struct procfs_schedstat time;
        struct process_seen *seen = &walk->seen[i];
        /* The file is of one thread. Of many threads the ticks are fine enough. */
        if (!seen->is_member || seen->threads != 1) {
            continue;
        }
        snprintf(path, sizeof(path), "%d/schedstat", (int)seen->pid);
        const ssize_t length = proc_file_read(walk->proc, path, text, sizeof(text));
        if (length > 0 && procfs_parse_schedstat(text, (size_t)length, &time) &&
            time.on_cpu_ns <= INT64_MAX && (int64_t)time.on_cpu_ns > seen->own_ns) {
            seen->own_ns = (int64_t)time.on_cpu_ns;
        }
    }
}

void process_walk_clear(struct process_walk *walk)
{
    walk->count = 0;
}

bool process_walk_add(struct process_walk *walk, pid_t pid)
{
    return add(walk, pid, true);
}

static int compare_pids(const void *left, const void *right)
{
    const struct process_seen *a = left;
    const struct process_seen *b = right;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

void process_walk_sort(struct process_walk *walk)
{
    /* The kernel lists processes in order: sorting is for the case that it does not. */
    for (size_t i = 1; i < walk->count; i++) {
        if (walk->seen[i - 1].pid >= walk->seen[i].pid) {
            qsort(walk->seen, walk->count, sizeof(walk->seen[0]), compare_pids);
            return;
        }
    }
}
