#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/mono.h"
#include "measure/process_tree.h"
#include "measure/procfs.h"

enum {
    PATH_BYTES = 64,
    TEXT_BYTES = 4096,
    REFRESH_MIN = 16, /* of a group: fewer make no estimate, whatever the budget */
};

void process_memory_init(struct process_memory_reader *reader, int proc)
{
    *reader = (struct process_memory_reader){.proc = proc};
}

static bool has_memory(const struct process *process)
{
    return process->missing == 0 && !process->seen.has_ended;
}

/* False: PSS cannot be read, and will not for ever. A process that has ended has no memory; a
 * shortage of descriptors passes. */
static bool read_pss(struct process_memory_reader *reader, struct process *process)
{
    char path[PATH_BYTES];
    char text[TEXT_BYTES];
    struct procfs_rollup rollup = {0};
    snprintf(path, sizeof(path), "%d/smaps_rollup", (int)process->seen.pid);
    const ssize_t length = procfs_read(reader->proc, path, text, sizeof(text));
    if (length < 0 && errno == ENOENT) {
        snprintf(path, sizeof(path), "%d", (int)process->seen.pid);
        if (faccessat(reader->proc, path, F_OK, 0) == 0) {
            return false; /* a kernel without that file */
        }
    } else if (length < 0 && errno != ESRCH) {
        return errno != EACCES && errno != EPERM;
    } else if (length > 0 && !procfs_parse_rollup(text, (size_t)length, &rollup)) {
        return false;
    }
    struct process_memory *memory = &process->memory;
    if (!rollup.has_pss_anon) {
        /* then anonymous memory is taken as private, which it is but for copy-on-write */
        rollup.pss_anon_bytes = MIN(memory->resident_anon_bytes, rollup.pss_bytes);
    }
    memory->pss_round = reader->round;
    memory->pss_anon_bytes = rollup.pss_anon_bytes;
    memory->pss_shared_bytes = rollup.pss_bytes - MIN(rollup.pss_anon_bytes, rollup.pss_bytes);
    reader->private_huge_bytes += rollup.private_huge_bytes;
    reader->most_huge_bytes =
        MAX(reader->most_huge_bytes, rollup.private_huge_bytes + rollup.shared_huge_bytes);
    reader->shared_huge_bytes = MAX(reader->shared_huge_bytes, rollup.shared_huge_bytes);
    reader->refreshed++;
    return true;
}

/* Resident memory of every process; the number of those that could be read. */
static size_t read_resident(struct process_memory_reader *reader, struct process_table *table)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    size_t known = 0;
    for (size_t i = 0; i < table->known.count; i++) {
        struct process *process = &table->known.entries[i];
        char path[PATH_BYTES];
        char text[TEXT_BYTES];
        struct procfs_statm statm;
        if (!has_memory(process)) {
            continue;
        }
        snprintf(path, sizeof(path), "%d/statm", (int)process->seen.pid);
        const ssize_t length = procfs_read(reader->proc, path, text, sizeof(text));
        if (length < 0 || !procfs_parse_statm(text, (size_t)length, &statm)) {
            continue;
        }
        const uint64_t anon_pages =
            statm.resident_pages - MIN(statm.shared_pages, statm.resident_pages);
        if (process->memory.first_round == 0) {
            process->memory.first_round = reader->round;
        }
        process->memory.resident_round = reader->round;
        process->memory.resident_anon_bytes = anon_pages * page_bytes;
        process->memory.resident_shared_bytes = statm.shared_pages * page_bytes;
        known++;
    }
    return known;
}

static bool is_over_budget(const struct process_memory_reader *reader)
{
    return mono_now_ns() >= reader->wall_deadline_ns ||
           mono_clock_ns(CLOCK_THREAD_CPUTIME_ID) >= reader->cpu_deadline_ns;
}

/* A step that visits each of `count` entries once, far apart from one another: neighbours in the
 * table were started together and are alike, so taking them in order would make a poor sample. */
static size_t scattered_step(size_t count)
{
    for (size_t step = count * 5 / 8 + 1;; step++) {
        /* the greatest common divisor must be 1 */
        size_t divisor = step;
        for (size_t rest = count; rest != 0;) {
            const size_t next = divisor % rest;
            divisor = rest;
            rest = next;
        }
        if (divisor == 1) {
            return step;
        }
    }
}

/* The groups that are estimated apart. */
enum group {
    GROUP_FIRST, /* there at the first reading */
    GROUP_LATER,
    GROUPS,
};

static enum group group_of(const struct process *process)
{
    return process->memory.first_round == 1 ? GROUP_FIRST : GROUP_LATER;
}

/* PSS of processes of a group, REFRESH_MIN of them whatever the budget. Each reading goes on where
 * the one before has ended. False: PSS cannot be read. */
static bool read_group(struct process_memory_reader *reader, struct process_table *table,
                       enum group group)
{
    const size_t step = scattered_step(table->known.count);
    size_t at = reader->cursors[group] % table->known.count;
    size_t taken = 0;
    for (size_t n = 0; n < table->known.count; n++) {
        if (taken >= REFRESH_MIN && is_over_budget(reader)) {
            break;
        }
        struct process *process = &table->known.entries[at];
        at = (at + step) % table->known.count;
        if (!has_memory(process) || group_of(process) != group) {
            continue;
        }
        if (!read_pss(reader, process)) {
            return false;
        }
        taken++;
    }
    reader->cursors[group] = at;
    return true;
}

/* Sums over processes. */
struct memory_sums {
    double resident_anon;
    double resident_shared;
    double pss_anon;
    double pss_shared;
};

/* What PSS counts of memory that was not read, by the ratio found where it was. */
static double estimate(double unread, double pss, double resident)
{
    return resident > 0 ? unread * pss / resident : 0;
}

static int64_t sum_pss(const struct process_memory_reader *reader,
                       const struct process_table *table)
{
    struct memory_sums read[GROUPS] = {{0}};
    struct memory_sums unread[GROUPS] = {{0}};
    for (size_t i = 0; i < table->known.count; i++) {
        const struct process *process = &table->known.entries[i];
        const struct process_memory *memory = &process->memory;
        if (!has_memory(process) || memory->resident_round != reader->round) {
            continue;
        }
        struct memory_sums *sums = memory->pss_round == reader->round ? &read[group_of(process)]
                                                                      : &unread[group_of(process)];
        sums->resident_anon += (double)memory->resident_anon_bytes;
        sums->resident_shared += (double)memory->resident_shared_bytes;
        sums->pss_anon += (double)memory->pss_anon_bytes;
        sums->pss_shared += (double)memory->pss_shared_bytes;
    }
    double bytes = 0;
    for (int g = 0; g < GROUPS; g++) {
        bytes += read[g].pss_anon + read[g].pss_shared +
                 estimate(unread[g].resident_anon, read[g].pss_anon, read[g].resident_anon) +
                 estimate(unread[g].resident_shared, read[g].pss_shared, read[g].resident_shared);
    }
    const bool is_whole = reader->refreshed >= table->processes;
    const uint64_t huge_bytes =
        is_whole ? reader->private_huge_bytes + reader->shared_huge_bytes : reader->most_huge_bytes;
    return (int64_t)bytes + (int64_t)huge_bytes;
}

static int64_t sum_rss(const struct process_memory_reader *reader,
                       const struct process_table *table)
{
    uint64_t anon_bytes = 0;
    uint64_t shared_bytes = 0;
    for (size_t i = 0; i < table->known.count; i++) {
        const struct process_memory *memory = &table->known.entries[i].memory;
        if (!has_memory(&table->known.entries[i]) || memory->resident_round != reader->round) {
            continue;
        }
        anon_bytes += memory->resident_anon_bytes;
        shared_bytes = MAX(shared_bytes, memory->resident_shared_bytes);
    }
    return (int64_t)(anon_bytes + shared_bytes);
}

int64_t process_memory_read(struct process_memory_reader *reader, struct process_table *table,
                            int64_t cpu_ns, int64_t wall_ns)
{
    reader->cpu_deadline_ns = mono_clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
    reader->wall_deadline_ns = mono_now_ns() + wall_ns;
    reader->round++;
    reader->refreshed = 0;
    reader->private_huge_bytes = 0;
    reader->shared_huge_bytes = 0;
    reader->most_huge_bytes = 0;
    if (table->processes == 0 || read_resident(reader, table) == 0) {
        return -1;
    }
    if (reader->is_rss || !read_group(reader, table, GROUP_FIRST) ||
        !read_group(reader, table, GROUP_LATER)) {
        reader->is_rss = true;
        return sum_rss(reader, table);
    }
    /* a/b < c/d, without division */
    if (reader->refreshed < table->processes &&
        (reader->fewest_of == 0 ||
         reader->refreshed * reader->fewest_of < reader->fewest_refreshed * table->processes)) {
        reader->fewest_refreshed = reader->refreshed;
        reader->fewest_of = table->processes;
    }
    return sum_pss(reader, table);
}
