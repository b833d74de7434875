#include "measure/process_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/mono.h"

enum {
    /* after this number of walks without a process, its CPU time counts as not reaped */
    MISSING_MAX = 2
};

void process_table_init(struct process_table *table)
{
    *table = (struct process_table){.rounding_ns = 2 * (MONO_NS_PER_S / sysconf(_SC_CLK_TCK))};
}

void process_table_fini(struct process_table *table)
{
    free(table->known.entries);
    free(table->seen.entries);
    memset(table, 0, sizeof(*table));
}

struct process *process_table_add(struct process_table *table)
{
    struct process_list *list = &table->seen;
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity * 2 + 512;
        struct process *entries = realloc(list->entries, capacity * sizeof *entries);
        if (entries == NULL) {
            return NULL;
        }
        list->entries = entries;
        list->capacity = capacity;
    }
    struct process *process = &list->entries[list->count++];
    *process = (struct process){.missing = 0};
    return process;
}

static int compare_pids(const void *left, const void *right)
{
    const struct process *a = left;
    const struct process *b = right;
    return (a->seen.pid > b->seen.pid) - (a->seen.pid < b->seen.pid);
}

/* Compares processes by pid. If two processes had the same pid, the process that started earlier is
 * first. */
static int compare_processes(const void *left, const void *right)
{
    const struct process *a = left;
    const struct process *b = right;
    const int order = compare_pids(a, b);
    return order != 0 ? order
                      : (a->seen.start_ticks > b->seen.start_ticks) -
                            (a->seen.start_ticks < b->seen.start_ticks);
}

static void sort(struct process_list *list)
{
    if (list->count > 0) {
        qsort(list->entries, list->count, sizeof list->entries[0], compare_processes);
    }
}

/* Returns the process with the pid, or the oldest process if several have this pid. Returns NULL if
 * no process has the pid. */
static struct process *find_process(const struct process_list *list, pid_t pid)
{
    const struct process key = {.seen = {.pid = pid}};
    struct process *found = list->count == 0 ? NULL
                                             : bsearch(&key, list->entries, list->count,
                                                       sizeof list->entries[0], compare_pids);
    while (found != NULL && found > list->entries && found[-1].seen.pid == pid) {
        found--;
    }
    return found;
}

/* Returns the entry in `list` with the same pid and start time as `process`; NULL if `list` has no
 * such entry. */
static struct process *find_again(const struct process_list *list, const struct process *process)
{
    struct process *found = find_process(list, process->seen.pid);
    return found != NULL && found->seen.start_ticks == process->seen.start_ticks ? found : NULL;
}

bool process_table_mark_tree(struct process_table *table, pid_t root, uint64_t root_start)
{
    const struct process_list *seen = &table->seen;
    sort(&table->seen);
    struct process *top = find_process(seen, root);
    if (top == NULL || top->seen.start_ticks != root_start || top->seen.has_ended) {
        return false;
    }
    top->is_member = true;
    for (size_t i = 0; i < table->known.count; i++) {
        struct process *again = find_again(seen, &table->known.entries[i]);
        if (again != NULL) {
            again->is_member = true;
        }
    }
    /* Children mostly have higher pids than their parents, so one pass marks nearly all of them;
     * more passes are needed where pids have wrapped around. */
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
        for (size_t i = 0; i < seen->count; i++) {
            struct process *process = &seen->entries[i];
            const struct process *parent =
                process->is_member ? NULL : find_process(seen, process->seen.parent);
            if (parent != NULL && parent->is_member) {
                process->is_member = true;
                is_changed = true;
            }
        }
    }
    return true;
}

static int64_t time_of(const struct process *process)
{
    return process->seen.own_ns + process->seen.reaped_ns;
}

/* Returns whether a running ancestor has taken over the CPU time of the process `ended`. Looks at
 * the nearest ancestor that still runs, because an ended ancestor passes the time on to its own
 * parent. The credit of this ancestor is the time that it took over in the last two walks, less the
 * part that earlier calls assigned to other ended processes. If the credit covers the time of
 * `ended`, the function subtracts this time from the credit and returns true. */
static bool is_reaped(const struct process_table *table, const struct process *ended)
{
    struct process *parent = find_process(&table->known, ended->seen.parent);
    for (size_t depth = 0; parent != NULL && parent != ended && parent->missing > 0; depth++) {
        parent =
            depth < table->known.count ? find_process(&table->known, parent->seen.parent) : NULL;
    }
    const int64_t ns = time_of(ended);
    if (parent == NULL || parent == ended ||
        parent->credit_ns + parent->old_credit_ns + table->rounding_ns < ns) {
        return false;
    }
    const int64_t from_old_ns = MIN(ns, MAX(parent->old_credit_ns, 0));
    parent->old_credit_ns -= from_old_ns;
    parent->credit_ns -= ns - from_old_ns;
    return true;
}

bool process_table_update(struct process_table *table)
{
    struct process_list *seen = &table->seen;
    size_t kept = 0;
    for (size_t i = 0; i < seen->count; i++) {
        if (seen->entries[i].is_member) {
            seen->entries[kept++] = seen->entries[i];
        }
    }
    seen->count = kept;
    sort(seen);
    for (size_t i = 0; i < table->known.count; i++) {
        const struct process *old = &table->known.entries[i];
        const struct process_list now = {.entries = seen->entries, .count = kept};
        struct process *process = find_again(&now, old);
        if (process != NULL) {
            /* the kernel shows this time in two files, whose values differ slightly; the time must
             * not fall */
            process->seen.own_ns = MAX(process->seen.own_ns, old->seen.own_ns);
            process->old_credit_ns = old->credit_ns;
            process->credit_ns = MAX(process->seen.reaped_ns - old->seen.reaped_ns, 0);
            process->memory = old->memory;
            continue;
        }
        process = process_table_add(table);
        if (process == NULL) {
            return false;
        }
        *process = *old;
        process->missing++;
    }
    sort(seen);
    const struct process_list before = table->known;
    table->known = *seen;
    table->seen = before;
    for (size_t i = 0; i < table->known.count; i++) {
        struct process *process = &table->known.entries[i];
        process->is_accounted = process->missing > 0 && is_reaped(table, process);
        if (!process->is_accounted && process->missing >= MISSING_MAX) {
            table->departed_ns += time_of(process);
            process->is_accounted = true;
        }
    }
    /* accounted processes are removed only now, because is_reaped needs them to find parents */
    int64_t total_ns = table->departed_ns;
    kept = 0;
    table->processes = 0;
    table->threads = 0;
    for (size_t i = 0; i < table->known.count; i++) {
        const struct process *process = &table->known.entries[i];
        if (process->is_accounted) {
            continue;
        }
        total_ns += time_of(process);
        if (process->missing == 0 && !process->seen.has_ended) {
            table->processes++;
            table->threads += process->seen.threads;
        }
        table->known.entries[kept++] = *process;
    }
    table->known.count = kept;
    table->total_ns = MAX(table->total_ns, total_ns);
    return true;
}

void process_table_forget(struct process_table *table)
{
    table->departed_ns = table->total_ns;
    table->known.count = 0;
    table->processes = 0;
    table->threads = 0;
}
