#include "measure/process_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/cgroup.h"
#include "measure/procfs.h"

/* A parent that has not reaped a child by the second walk after its end never will. */
enum {
    MISSING_MAX = 2
};

void process_table_init(struct process_table *table, int64_t tick_ns)
{
    *table = (struct process_table){.rounding_ns = 2 * tick_ns};
}

void process_table_fini(struct process_table *table)
{
    free(table->entries);
    free(table->spare);
    memset(table, 0, sizeof(*table));
}

/* Both kinds of entries begin with their pid. */
static int compare_pids(const void *left, const void *right)
{
    const pid_t *a = left;
    const pid_t *b = right;
    return (*a > *b) - (*a < *b);
}

static struct process_seen *find_seen(struct process_seen *seen, size_t count, pid_t pid)
{
    return count == 0 ? NULL : bsearch(&pid, seen, count, sizeof *seen, compare_pids);
}

/* Of a pid that was used again, the process that has ended. */
static struct process *find_process(struct process_table *table, pid_t pid)
{
    struct process *found =
        bsearch(&pid, table->entries, table->count, sizeof *table->entries, compare_pids);
    while (found != NULL && found > table->entries && found[-1].seen.pid == pid) {
        found--;
    }
    return found;
}

static void mark_known(const struct process_table *table, struct process_seen *seen, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct process_seen *known = &table->entries[i].seen;
        while (at < count && seen[at].pid < known->pid) {
            at++;
        }
        if (at < count && seen[at].pid == known->pid &&
            seen[at].start_ticks == known->start_ticks) {
            seen[at].is_member = true;
        }
    }
}

bool process_table_mark_tree(const struct process_table *table, pid_t root, uint64_t root_start,
                             struct process_seen *seen, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        seen[i].is_member = false;
    }
    struct process_seen *top = find_seen(seen, count, root);
    if (top == NULL || top->start_ticks != root_start || top->is_zombie) {
        return false;
    }
    top->is_member = true;
    mark_known(table, seen, count);
    /* Children mostly have higher pids than their parents, so one pass does nearly all of it; the
     * others are for pids that wrapped around. */
    bool is_changed = true;
    while (is_changed) {
        is_changed = false;
        for (size_t i = 0; i < count; i++) {
            if (seen[i].is_member) {
                continue;
            }
            const struct process_seen *parent = find_seen(seen, count, seen[i].parent);
            if (parent != NULL && parent->is_member) {
                seen[i].is_member = true;
                is_changed = true;
            }
        }
    }
    return true;
}

static bool reserve(struct process_table *table, size_t needed)
{
    if (needed <= table->capacity) {
        return true;
    }
    const size_t capacity = needed + needed / 2 + 64;
    struct process *entries = realloc(table->entries, capacity * sizeof(*entries));
    if (entries == NULL) {
        return false;
    }
    table->entries = entries;
    struct process *spare = realloc(table->spare, capacity * sizeof(*spare));
    if (spare == NULL) {
        return false;
    }
    table->spare = spare;
    table->capacity = capacity;
    return true;
}

static void see_again(struct process *process, const struct process_seen *seen)
{
    const struct process_seen before = process->seen;
    process->seen = *seen;
    /* Two files of the kernel tell a process's time, and they are not quite of one mind. */
    if (before.own_ns > seen->own_ns) {
        process->seen.own_ns = before.own_ns;
    }
    process->old_credit_ns = process->credit_ns;
    process->credit_ns =
        seen->reaped_ns > before.reaped_ns ? seen->reaped_ns - before.reaped_ns : 0;
    process->missing = 0;
}

/* Merges the old state and the walk, both ascending by pid, into table->spare. A pid that was used
 * again appears twice, the ended process first. */
static size_t merge(const struct process_table *table, const struct process_seen *seen,
                    size_t count)
{
    size_t merged = 0;
    size_t old = 0;
    for (size_t i = 0; i < count; i++) {
        if (!seen[i].is_member) {
            continue;
        }
        bool is_known = false;
        while (old < table->count && table->entries[old].seen.pid <= seen[i].pid) {
            struct process process = table->entries[old++];
            if (process.seen.pid == seen[i].pid &&
                process.seen.start_ticks == seen[i].start_ticks) {
                see_again(&process, &seen[i]);
                is_known = true;
            } else {
                process.missing++;
            }
            table->spare[merged++] = process;
        }
        if (!is_known) {
            table->spare[merged++] = (struct process){.seen = seen[i]};
        }
    }
    while (old < table->count) {
        struct process process = table->entries[old++];
        process.missing++;
        table->spare[merged++] = process;
    }
    return merged;
}

static int64_t time_of(const struct process *process)
{
    return process->seen.own_ns + process->seen.reaped_ns;
}

static bool spend(struct process *parent, int64_t amount_ns, int64_t rounding_ns)
{
    if (parent->credit_ns + parent->old_credit_ns + rounding_ns < amount_ns) {
        return false;
    }
    const int64_t old_ns = parent->old_credit_ns > 0 ? parent->old_credit_ns : 0;
    const int64_t from_old_ns = amount_ns < old_ns ? amount_ns : old_ns;
    parent->old_credit_ns -= from_old_ns;
    parent->credit_ns -= amount_ns - from_old_ns;
    return true;
}

/* True when an ancestor that still runs has got the time of the ended process. Parents that ended
 * as well pass on what they reaped. */
static bool is_reaped(struct process_table *table, const struct process *ended)
{
    pid_t pid = ended->seen.parent;
    for (size_t depth = 0; depth < table->count; depth++) {
        struct process *parent = find_process(table, pid);
        if (parent == NULL || parent == ended) {
            return false;
        }
        if (parent->missing == 0) {
            return spend(parent, time_of(ended), table->rounding_ns);
        }
        pid = parent->seen.parent;
    }
    return false;
}

static void settle_missing(struct process_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        struct process *process = &table->entries[i];
        if (process->missing == 0) {
            continue;
        }
        if (is_reaped(table, process)) {
            process->is_settled = true;
        } else if (process->missing >= MISSING_MAX) {
            table->departed_ns += time_of(process);
            process->is_settled = true;
        }
    }
    /* Only now: the search for parents needs them all. */
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (!table->entries[i].is_settled) {
            table->entries[kept++] = table->entries[i];
        }
    }
    table->count = kept;
}

static void sum_up(struct process_table *table)
{
    int64_t total = table->departed_ns;
    table->processes = 0;
    table->threads = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct process *process = &table->entries[i];
        total += time_of(process);
        if (process->missing == 0 && !process->seen.is_zombie) {
            table->processes++;
            table->threads += process->seen.threads;
        }
    }
    if (total > table->total_ns) {
        table->total_ns = total;
    }
}

bool process_table_update(struct process_table *table, const struct process_seen *seen,
                          size_t count)
{
    size_t members = 0;
    for (size_t i = 0; i < count; i++) {
        members += seen[i].is_member;
    }
    if (!reserve(table, table->count + members)) {
        return false;
    }
    table->count = merge(table, seen, count);
    struct process *const merged = table->spare;
    table->spare = table->entries;
    table->entries = merged;
    settle_missing(table);
    sum_up(table);
    return true;
}

void process_table_forget(struct process_table *table)
{
    table->departed_ns = table->total_ns;
    table->count = 0;
    table->processes = 0;
    table->threads = 0;
}

bool process_walk_init(struct process_walk *walk, int proc, int64_t tick_ns)
{
    *walk = (struct process_walk){.proc = proc, .tick_ns = tick_ns};
    walk->folder = procfs_open_folder(proc, ".");
    return walk->folder != NULL;
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
    if (!procfs_read_process(walk->proc, pid, &process)) {
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

/* The kernel lists processes in order: sorting is for the case that it does not. */
static void sort(struct process_walk *walk)
{
    for (size_t i = 1; i < walk->count; i++) {
        if (walk->seen[i - 1].pid >= walk->seen[i].pid) {
            qsort(walk->seen, walk->count, sizeof walk->seen[0], compare_pids);
            return;
        }
    }
}

bool process_walk_all(struct process_walk *walk)
{
    const pid_t self = getpid();
    walk->count = 0;
    rewinddir(walk->folder);
    errno = 0;
    const struct dirent *entry;
    while ((entry = readdir(walk->folder)) != NULL) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        /* This program may have thousands of threads, and the kernel visits each for the sum. */
        if (pid > 0 && pid != self && !add(walk, pid, false)) {
            return false;
        }
        errno = 0;
    }
    if (errno != 0) {
        return false;
    }
    sort(walk);
    return true;
}

static bool add_member(void *context, pid_t pid)
{
    return add(context, pid, true);
}

bool process_walk_cgroup(struct process_walk *walk, int folder)
{
    walk->count = 0;
    if (!cgroup_walk(folder, add_member, walk)) {
        return false;
    }
    sort(walk);
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
        const ssize_t length = procfs_read(walk->proc, path, text, sizeof(text));
        if (length > 0 && procfs_parse_schedstat(text, (size_t)length, &time) &&
            time.on_cpu_ns <= INT64_MAX && (int64_t)time.on_cpu_ns > seen->own_ns) {
            seen->own_ns = (int64_t)time.on_cpu_ns;
        }
    }
}
