#include "measure/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/mono.h"
#include "measure/proc_file.h"

enum {
    PATH_BYTES = 64,
    TEXT_BYTES = 4096,
    REFRESH_MIN = 16, /* fewer make no estimate, whatever the budget */
};

void process_memory_init(struct process_memory_reader *reader, int proc)
{
    *reader = (struct process_memory_reader){.proc = proc};
}

static bool has_memory(const struct process *process)
{
    return process->missing == 0 && !process->seen.is_zombie;
}

int64_t process_memory_thread_cpu_ns(void)
{
    struct timespec time;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) {
        return 0;
    }
    return (int64_t)time.tv_sec * MONO_NS_PER_S + time.tv_nsec;
}

/* After a failure to read smaps_rollup: whether it will fail for ever. A process that has ended
 * since the walk and a shortage of descriptors are no such reasons. */
static bool is_unreadable(const struct process_memory_reader *reader, pid_t pid, int reason)
{
    if (reason == ENOENT) {
        char path[PATH_BYTES];
        snprintf(path, sizeof(path), "%d", (int)pid);
        return faccessat(reader->proc, path, F_OK, 0) == 0; /* a kernel without that file */
    }
    return reason == EACCES || reason == EPERM;
}

/* False: PSS cannot be read. A process that has ended has no memory. */
static bool refresh(struct process_memory_reader *reader, struct process *process, size_t processes)
{
    char path[PATH_BYTES];
    char text[TEXT_BYTES];
    struct procfs_rollup rollup = {0};
    snprintf(path, sizeof(path), "%d/smaps_rollup", (int)process->seen.pid);
    const ssize_t length = proc_file_read(reader->proc, path, text, sizeof(text));
    if (length < 0 && errno != ENOENT && errno != ESRCH) {
        return !is_unreadable(reader, process->seen.pid, errno);
    }
    if (length < 0 && is_unreadable(reader, process->seen.pid, errno)) {
        return false;
    }
    if (length > 0 && !procfs_parse_rollup(text, (size_t)length, &rollup)) {
        return false;
    }
    const uint64_t private_bytes =
        rollup.private_bytes < rollup.pss_bytes ? rollup.private_bytes : rollup.pss_bytes;
    const bool is_new = !process->memory.is_read;
    process->memory = (struct process_memory){
        .is_read = true,
        .round = reader->round,
        .processes = processes,
        .private_bytes = private_bytes + rollup.private_huge_bytes,
        .shared_bytes = rollup.pss_bytes - private_bytes,
        .shared_huge_bytes = rollup.shared_huge_bytes,
    };
    reader->refreshed++;
    if (is_new) {
        reader->new_bytes += (double)(process->memory.private_bytes + process->memory.shared_bytes);
        reader->new_count++;
    }
    return true;
}

static bool is_over_budget(const struct process_memory_reader *reader)
{
    if (reader->refreshed < REFRESH_MIN) {
        return false;
    }
    return mono_now_ns() >= reader->wall_deadline_ns ||
           process_memory_thread_cpu_ns() >= reader->cpu_deadline_ns;
}

static size_t greatest_common_divisor(size_t a, size_t b)
{
    while (b != 0) {
        const size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A step that visits each of `count` entries once, far apart from one another: neighbours in the
 * table were started together and are alike, so taking them in order would make a poor sample. */
static size_t scattered_step(size_t count)
{
    size_t step = count * 5 / 8 + 1;
    while (greatest_common_divisor(step, count) != 1) {
        step++;
    }
    return step;
}

static bool refresh_new(struct process_memory_reader *reader, struct process_table *table)
{
    const size_t step = scattered_step(table->count);
    size_t at = (size_t)reader->round % table->count;
    for (size_t n = 0; n < table->count; n++) {
        struct process *process = &table->entries[at];
        at = (at + step) % table->count;
        if (!has_memory(process) || process->memory.is_read) {
            continue;
        }
        if (is_over_budget(reader)) {
            return true;
        }
        if (!refresh(reader, process, table->processes)) {
            return false;
        }
    }
    return true;
}

static size_t index_behind(const struct process_table *table, pid_t pid)
{
    size_t i = 0;
    while (i < table->count && table->entries[i].seen.pid <= pid) {
        i++;
    }
    return i < table->count ? i : 0;
}

static bool refresh_old(struct process_memory_reader *reader, struct process_table *table)
{
    const size_t start = index_behind(table, reader->cursor);
    for (size_t n = 0; n < table->count; n++) {
        struct process *process = &table->entries[(start + n) % table->count];
        if (!has_memory(process) || process->memory.round == reader->round) {
            continue;
        }
        if (is_over_budget(reader)) {
            return true;
        }
        if (!refresh(reader, process, table->processes)) {
            return false;
        }
        reader->cursor = process->seen.pid;
    }
    return true;
}

static bool refresh_root(struct process_memory_reader *reader, struct process_table *table,
                         pid_t root)
{
    for (size_t i = 0; i < table->count; i++) {
        struct process *process = &table->entries[i];
        if (process->seen.pid != root || !has_memory(process)) {
            continue;
        }
        const bool is_readable = refresh(reader, process, table->processes);
        reader->new_bytes = 0;
        reader->new_count = 0;
        return is_readable;
    }
    return true;
}

static int64_t sum_pss(const struct process_memory_reader *reader,
                       const struct process_table *table)
{
    double bytes = 0;
    uint64_t shared_huge_bytes = 0;
    size_t known = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct process *process = &table->entries[i];
        const struct process_memory *memory = &process->memory;
        if (!has_memory(process) || !memory->is_read) {
            continue;
        }
        const double scale = (double)memory->processes / (double)table->processes;
        bytes += (double)memory->private_bytes + (double)memory->shared_bytes * scale;
        if (memory->shared_huge_bytes > shared_huge_bytes) {
            shared_huge_bytes = memory->shared_huge_bytes;
        }
        known++;
    }
    if (known == 0) {
        return -1;
    }
    const double mean = reader->new_count > 0 ? reader->new_bytes / (double)reader->new_count
                                              : bytes / (double)known;
    const double unread = (double)(table->processes - known);
    return (int64_t)(bytes + mean * unread) + (int64_t)shared_huge_bytes;
}

static int64_t sum_rss(const struct process_memory_reader *reader,
                       const struct process_table *table)
{
    const int64_t page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t private_pages = 0;
    uint64_t shared_pages = 0;
    size_t known = 0;
    for (size_t i = 0; i < table->count; i++) {
        char path[PATH_BYTES];
        char text[TEXT_BYTES];
        struct procfs_statm statm;
        if (!has_memory(&table->entries[i])) {
            continue;
        }
        snprintf(path, sizeof(path), "%d/statm", (int)table->entries[i].seen.pid);
        const ssize_t length = proc_file_read(reader->proc, path, text, sizeof(text));
        if (length < 0 || !procfs_parse_statm(text, (size_t)length, &statm)) {
            continue;
        }
        known++;
        if (statm.resident_pages > statm.shared_pages) {
            private_pages += statm.resident_pages - statm.shared_pages;
        }
        if (statm.shared_pages > shared_pages) {
            shared_pages = statm.shared_pages;
        }
    }
    return known == 0 ? -1 : (int64_t)(private_pages + shared_pages) * page_bytes;
}

static void note_coverage(struct process_memory_reader *reader, size_t processes)
{
    if (reader->refreshed >= processes) {
        return;
    }
    /* a/b < c/d, without division. */
    if (reader->fewest_of == 0 ||
        reader->refreshed * reader->fewest_of < reader->fewest_refreshed * processes) {
        reader->fewest_refreshed = reader->refreshed;
        reader->fewest_of = processes;
    }
}

static bool refresh_all(struct process_memory_reader *reader, struct process_table *table,
                        pid_t root)
{
    return refresh_root(reader, table, root) && refresh_new(reader, table) &&
           refresh_old(reader, table);
}

int64_t process_memory_read(struct process_memory_reader *reader, struct process_table *table,
                            pid_t root, const struct process_memory_budget *budget)
{
    if (table->processes == 0) {
        return -1;
    }
    if (!reader->is_rss) {
        reader->cpu_deadline_ns = process_memory_thread_cpu_ns() + budget->cpu_ns;
        reader->wall_deadline_ns = mono_now_ns() + budget->wall_ns;
        reader->round++;
        reader->refreshed = 0;
        reader->new_bytes = 0;
        reader->new_count = 0;
        if (refresh_all(reader, table, root)) {
            note_coverage(reader, table->processes);
            return sum_pss(reader, table);
        }
        reader->is_rss = true;
    }
    return sum_rss(reader, table);
}
