#include "measure/process_table.h"

#include <stdlib.h>
#include <string.h>

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

static struct process_seen *find_seen(struct process_seen *seen, size_t count, pid_t pid)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (seen[middle].pid < pid) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && seen[low].pid == pid ? &seen[low] : NULL;
}

static struct process *find_process(struct process_table *table, pid_t pid)
{
    size_t low = 0;
    size_t high = table->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (table->entries[middle].seen.pid < pid) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < table->count && table->entries[low].seen.pid == pid ? &table->entries[low] : NULL;
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
