#include "measure/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mono.h"
#include "measure/proc_file.h"

enum {
    PATH_BYTES = 64,
    TEXT_BYTES = 4096
};

void process_memory_init(struct process_memory_reader *reader, int proc)
{
    *reader = (struct process_memory_reader){.proc = proc};
}

static bool has_memory(const struct process *process)
{
    return process->missing == 0 && !process->seen.is_zombie;
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
    process->memory = (struct process_memory){
        .is_read = true,
        .round = reader->round,
        .processes = processes,
        .private_bytes = private_bytes + rollup.private_huge_bytes,
        .shared_bytes = rollup.pss_bytes - private_bytes,
        .shared_huge_bytes = rollup.shared_huge_bytes,
    };
    reader->refreshed++;
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

/* One turn through the table from the cursor on, over those never read, or over all that this
 * reading has not read yet. False: PSS cannot be read. */
static bool refresh_turn(struct process_memory_reader *reader, struct process_table *table,
                         bool only_new, int64_t deadline_ns)
{
    const size_t start = index_behind(table, reader->cursor);
    for (size_t n = 0; n < table->count; n++) {
        struct process *process = &table->entries[(start + n) % table->count];
        const bool is_done =
            only_new ? process->memory.is_read : process->memory.round == reader->round;
        if (!has_memory(process) || is_done) {
            continue;
        }
        if (reader->refreshed > 0 && mono_now_ns() >= deadline_ns) {
            return true;
        }
        if (!refresh(reader, process, table->processes)) {
            return false;
        }
        reader->cursor = process->seen.pid;
    }
    return true;
}

static int64_t sum_pss(const struct process_table *table)
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
    const double mean = bytes / (double)known;
    return (int64_t)(mean * (double)table->processes) + (int64_t)shared_huge_bytes;
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

int64_t process_memory_read(struct process_memory_reader *reader, struct process_table *table,
                            int64_t budget_ns)
{
    if (table->processes == 0) {
        return -1;
    }
    if (!reader->is_rss) {
        const int64_t deadline_ns = mono_now_ns() + budget_ns;
        reader->round++;
        reader->refreshed = 0;
        if (refresh_turn(reader, table, true, deadline_ns) &&
            refresh_turn(reader, table, false, deadline_ns)) {
            note_coverage(reader, table->processes);
            return sum_pss(table);
        }
        reader->is_rss = true;
    }
    return sum_rss(reader, table);
}
