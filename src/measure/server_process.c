#include "measure/server_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mono.h"
#include "measure/process_table.h"
#include "measure/procfs.h"
#include "measure/server_find.h"

enum {
    /* An estimate for a group of processes needs the memory of at least this many of them, so it is
     * read even if the time budget is used up. */
    REFRESH_MIN = 16,
};

/*
 * The memory that the processes of a server take together.
 *
 * The sum of the proportional set sizes (PSS) counts private memory of every process and shared
 * memory once. Reading one PSS takes tens of microseconds to milliseconds, because the kernel walks
 * the page tables. So one reading reads the PSS of only some processes, as its time budget allows.
 * These processes are scattered over the table, and the next reading reads other processes.
 *
 * The PSS of the other processes is estimated from their resident memory, which is cheap to read.
 * Let A and S be the resident anonymous and shared memory of a process, a and s the anonymous and
 * shared parts of its PSS. The sums over the processes that were read give two ratios:
 *
 *     ra = sum(a) / sum(A)     rs = sum(s) / sum(S)
 *
 * The PSS of a process that was not read is estimated as ra A + rs S. The ratios are computed
 * separately for processes that ran at the first reading (the server's own, which differ from each
 * other) and for later processes (the sessions, which are much alike). This is the separate ratio
 * estimator of stratified survey sampling (W. Cochran, Sampling Techniques, ch. 6). Its error does
 * not depend on how much the sizes vary within a group, but on how much the ratios vary; the ratios
 * vary little. The estimate is exact when all processes are read. Pages of hugetlbfs are not part
 * of PSS, and the estimate does not include them: when not all processes are read, only the largest
 * hugetlbfs memory of one process is counted.
 *
 * If the kernel does not let this user read PSS, the figure is computed from resident set sizes:
 * the sum of the private parts, plus the largest shared part. Memory that a parent and its children
 * share copy-on-write then counts once for each process.
 */
struct memory_reader {
    uint64_t round;              /* number of readings so far */
    size_t cursors[2];           /* for each group, the index at which the next reading continues */
    bool is_rss;                 /* PSS cannot be read */
    size_t refreshed;            /* number of processes whose PSS was read in the last reading */
    uint64_t private_huge_bytes; /* the sum of the processes' private hugetlbfs memory */
    uint64_t shared_huge_bytes;  /* the largest shared hugetlbfs memory of one process */
    uint64_t most_huge_bytes;    /* the largest hugetlbfs total of one process */
    /* The two numbers are from the reading that read the PSS of the smallest share of the
     * processes: how many processes' PSS it read, and how many processes there were. Both are 0 if
     * every reading read the PSS of all processes. */
    size_t fewest_refreshed;
    size_t fewest_of;
};

/* A tree of processes, and the place where it listens. */
struct server_tree {
    struct server_place place;
    struct procfs_process root; /* root of the tree; pid 0: unknown */
    bool is_attached;           /* the tree's root was found, and still ran at the last walk */
    bool was_attached;          /* the tree's root was found at least once */
    char note[200];             /* reason why the tree was not found, or a warning */
};

struct server_process {
    struct server_selector selector;
    int proc;
    DIR *processes;    /* stream of `proc`, kept open so that a walk needs no new descriptor */
    int cgroup;        /* descriptor of the cgroup's folder; -1 = no cgroup */
    bool is_attached;  /* a running server was found, which can be read */
    bool was_attached; /* a running server was found at least once */
    unsigned restarts;
    struct server_tree *trees; /* trees of the servers' processes, unused if there is a cgroup;
                                  reports name only the first tree; owned */
    size_t tree_count;
    int64_t last_cpu_ns;          /* the highest CPU time that was reported */
    int64_t departed_cpu_ns;      /* CPU time of removed cgroups */
    struct procfs_io last_io;     /* the highest counts that were reported */
    struct procfs_io departed_io; /* counts of servers that have ended */
    unsigned io_restarts;         /* number of restarts when last_io was read last */
    enum memory_source source;
    struct process_table table;
    struct memory_reader memory;
    char note[200]; /* reason why the server was not looked for, or why its figures are limited */
};

/* Finds the root of each tree that has no running root: the process whose pid the user gave, or the
 * process that listens at the tree's place. */
static void attach(struct server_process *server)
{
    const struct server_selector *selector = &server->selector;
    for (size_t i = 0; i < server->tree_count; i++) {
        struct server_tree *tree = &server->trees[i];
        const struct server_place *place = &tree->place;
        struct procfs_process root;
        if (tree->is_attached) {
            continue;
        }
        if (selector->pid > 0 && !procfs_read_process(server->proc, selector->pid, &root)) {
            snprintf(tree->note, sizeof tree->note,
                     "process %d does not exist or cannot be seen: check --server-pid, or give "
                     "--server-cgroup",
                     (int)selector->pid);
        } else if (selector->pid > 0 || server_find(server->proc, place->port, place->socket, &root,
                                                    tree->note, sizeof tree->note)) {
            server->restarts += tree->was_attached ? 1 : 0;
            tree->root = root;
            tree->is_attached = tree->was_attached = true;
            server->is_attached = server->was_attached = true;
        }
    }
}

static void attach_cgroup(struct server_process *server)
{
    server->cgroup = cgroup_open(server->selector.cgroup);
    server->is_attached = server->cgroup >= 0 && cgroup_memory(server->cgroup) >= 0;
}

/* Returns whether the cgroup was removed; another cgroup may have its name now. */
static bool is_cgroup_gone(const struct server_process *server)
{
    struct cgroup_folder folder;
    struct stat named, opened;
    return !cgroup_name(server->selector.cgroup, &folder) || stat(folder.path, &named) != 0 ||
           fstat(server->cgroup, &opened) != 0 || named.st_dev != opened.st_dev ||
           named.st_ino != opened.st_ino;
}

static void close_cgroup(struct server_process *server)
{
    if (server->cgroup >= 0) {
        close(server->cgroup);
    }
    server->cgroup = -1;
    server->is_attached = false;
}

static void find(struct server_process *server)
{
    const struct server_selector *selector = &server->selector;
    char *const note = server->note;
    const size_t size = sizeof server->note;
    if (selector->is_embedded) {
        server->source = MEMORY_SELF;
        snprintf(
            note, size,
            "the database runs inside append: its memory and CPU time cannot be separated from "
            "the client's");
    } else if (selector->cgroup != NULL) {
        attach_cgroup(server);
        server->was_attached = server->is_attached;
        if (server->cgroup < 0) {
            snprintf(note, size,
                     "the cgroup folder cannot be opened (%s): check --server-cgroup, or give "
                     "--server-pid",
                     strerror(errno));
        } else if (!server->is_attached) {
            snprintf(note, size,
                     "the cgroup folder has no readable memory.stat: give --server-cgroup the "
                     "folder of the memory controller, or give --server-pid");
        }
    } else if (selector->pid == 0 && selector->is_remote) {
        snprintf(note, size, "the server is not on this machine");
    } else if (selector->pid > 0 || server->trees[0].place.port > 0 ||
               server->trees[0].place.socket != NULL) {
        attach(server);
    } else {
        snprintf(note, size,
                 "the server's process is unknown: give --server-pid or --server-cgroup");
    }
}

struct server_process *server_process_create(const struct server_selector *selector)
{
    const int proc = procfs_open();
    struct server_process *server = server_process_create_at(proc, selector);
    if (server == NULL && proc >= 0) {
        close(proc);
    }
    return server;
}

struct server_process *server_process_create_at(int proc, const struct server_selector *selector)
{
    struct server_process *server = calloc(1, sizeof(*server));
    if (server == NULL) {
        return NULL;
    }
    const bool has_several =
        selector->place_count > 0 && selector->pid == 0 && selector->cgroup == NULL;
    server->tree_count = has_several ? selector->place_count : 1;
    server->trees = calloc(server->tree_count, sizeof *server->trees);
    if (server->trees == NULL) {
        free(server);
        return NULL;
    }
    for (size_t i = 0; i < server->tree_count; i++) {
        const struct server_place only = {.port = selector->port, .socket = selector->socket};
        server->trees[i].place = has_several ? selector->places[i] : only;
    }
    server->selector = *selector;
    server->cgroup = -1;
    process_table_init(&server->table);
    server->proc = proc;
    server->processes = server->proc < 0 ? NULL : procfs_open_folder(server->proc, ".");
    if (server->processes == NULL) {
        snprintf(server->note, sizeof(server->note), "/proc cannot be read: %s", strerror(errno));
        return server;
    }
    find(server);
    return server;
}

void server_process_destroy(struct server_process *server)
{
    if (server == NULL) {
        return;
    }
    process_table_fini(&server->table);
    free(server->trees);
    if (server->processes != NULL) {
        closedir(server->processes);
    }
    close_cgroup(server);
    if (server->proc >= 0) {
        close(server->proc);
    }
    free(server);
}

/* Adds a process to the walk. Returns false if the walk is no longer complete. */
static bool add_process(struct server_process *server, pid_t pid, bool is_member)
{
    struct process *process = process_table_add(&server->table);
    if (process == NULL) {
        return false;
    }
    process->is_member = is_member;
    if (procfs_read_process(server->proc, pid, &process->seen)) {
        return true;
    }
    server->table.seen.count--;
    /* These errors mean that the process has ended since it was listed, or that the mount option
     * hidepid of /proc hides it from this user. After any other error, a process of the server may
     * be missing from the walk. */
    return errno == ENOENT || errno == ESRCH || errno == EACCES || errno == EPERM;
}

static bool add_member(void *context, pid_t pid)
{
    return add_process(context, pid, true);
}

static bool is_root(const struct server_process *server, pid_t pid)
{
    bool is = false;
    for (size_t i = 0; i < server->tree_count; i++) {
        is = is || server->trees[i].root.pid == pid;
    }
    return is;
}

/* Returns whether a tree has a root that is not also the root of an earlier tree. Trees share a
 * root if one process listens at several places. */
static bool has_own_root(const struct server_process *server, size_t number)
{
    const pid_t pid = server->trees[number].root.pid;
    bool is_new = pid > 0;
    for (size_t i = 0; i < number; i++) {
        is_new = is_new && server->trees[i].root.pid != pid;
    }
    return is_new;
}

/* Walks all processes. Leaves out this program, because the kernel would have to visit each of its
 * threads, possibly thousands, to add up their CPU time.
 *
 * Reads the roots of the server's trees first. If a child ends during the walk, its CPU time is
 * then missing until the next walk. If the root were read last, the time of the child would be
 * counted twice: for the child, and in the root's time of reaped children. The error would stay,
 * because the reported total never falls. */
static bool walk_all(struct server_process *server)
{
    const pid_t self = getpid();
    for (size_t i = 0; i < server->tree_count; i++) {
        if (has_own_root(server, i) && !add_process(server, server->trees[i].root.pid, false)) {
            return false;
        }
    }
    rewinddir(server->processes);
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(server->processes);
        if (entry == NULL) {
            return errno == 0;
        }
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && pid != self && !is_root(server, pid) && !add_process(server, pid, false)) {
            return false;
        }
    }
}

/* Replaces the CPU time of the server's processes, which was read in whole clock ticks, by the
 * scheduler's exact figure. Ticks are too coarse for a short run if the server has a process for
 * each session: the time of a thousand sessions that use 9 ms each is 0 in ticks of 10 ms. */
static void refine(struct server_process *server)
{
    for (size_t i = 0; i < server->table.seen.count; i++) {
        struct process *process = &server->table.seen.entries[i];
        char path[64];
        char text[128];
        struct procfs_schedstat time;
        /* the file schedstat covers only one thread; clock ticks are exact enough for a process
         * with several threads */
        if (!process->is_member || process->seen.threads != 1) {
            continue;
        }
        snprintf(path, sizeof(path), "%d/schedstat", (int)process->seen.pid);
        const ssize_t length = procfs_read(server->proc, path, text, sizeof(text));
        if (length > 0 && procfs_parse_schedstat(text, (size_t)length, &time) &&
            time.on_cpu_ns <= INT64_MAX) {
            process->seen.own_ns = MAX(process->seen.own_ns, (int64_t)time.on_cpu_ns);
        }
    }
}

/* Finds the processes that belong to the server now. Returns false if they are not all known, or
 * if the server has ended. */
static bool update(struct server_process *server)
{
    struct process_table *table = &server->table;
    table->seen.count = 0;
    if (!(server->cgroup >= 0 ? cgroup_walk(server->cgroup, add_member, server)
                              : walk_all(server))) {
        return false;
    }
    /* a tree belongs to the server as long as its root runs */
    bool is_any = server->cgroup >= 0;
    for (size_t i = 0; i < server->tree_count; i++) {
        struct server_tree *tree = &server->trees[i];
        tree->is_attached = tree->is_attached &&
                            process_table_mark_tree(table, tree->root.pid, tree->root.start_ticks);
        is_any = is_any || tree->is_attached;
    }
    if (!is_any) {
        server->is_attached = false;
        process_table_forget(table);
        return false;
    }
    refine(server);
    if (!process_table_update(table)) {
        return false;
    }
    /* reports call the server by the name of the oldest process in the cgroup; this name changes
     * when the process executes another program */
    const struct procfs_process *oldest = NULL;
    for (size_t i = 0; server->cgroup >= 0 && i < table->known.count; i++) {
        const struct process *process = &table->known.entries[i];
        if (process->missing == 0 &&
            (oldest == NULL || process->seen.start_ticks < oldest->start_ticks)) {
            oldest = &process->seen;
        }
    }
    if (oldest != NULL) {
        server->trees[0].root = *oldest;
    }
    return true;
}

static bool has_memory(const struct process *process)
{
    return process->missing == 0 && !process->seen.has_ended;
}

/* Reads the PSS of a process. Sets it to 0 if the process has ended, and leaves it unchanged if no
 * descriptor is free at the moment. Returns false only if PSS can never be read. */
static bool read_pss(struct server_process *server, struct process *process)
{
    struct memory_reader *reader = &server->memory;
    struct process_memory *memory = &process->memory;
    struct procfs_rollup rollup = {0};
    char path[64];
    char text[4096];
    snprintf(path, sizeof(path), "%d/smaps_rollup", (int)process->seen.pid);
    const ssize_t length = procfs_read(server->proc, path, text, sizeof(text));
    if (length < 0 && errno != ENOENT && errno != ESRCH) {
        return errno != EACCES && errno != EPERM;
    }
    if (length < 0 && errno == ENOENT) {
        snprintf(path, sizeof(path), "%d", (int)process->seen.pid);
        if (faccessat(server->proc, path, F_OK, 0) == 0) {
            return false; /* the kernel does not have the file smaps_rollup */
        }
    }
    if (length > 0 && !procfs_parse_rollup(text, (size_t)length, &rollup)) {
        return false;
    }
    if (!rollup.has_pss_anon) {
        /* the file does not show the anonymous part, so all resident anonymous memory is counted,
         * up to the PSS: it is private, except for pages that are shared copy-on-write */
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

/* Reads the resident memory of every process. Returns how many processes could be read. */
static size_t read_resident(struct server_process *server)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    size_t known = 0;
    for (size_t i = 0; i < server->table.known.count; i++) {
        struct process *process = &server->table.known.entries[i];
        struct process_memory *memory = &process->memory;
        char path[64];
        char text[256];
        struct procfs_statm statm;
        snprintf(path, sizeof(path), "%d/statm", (int)process->seen.pid);
        const ssize_t length =
            has_memory(process) ? procfs_read(server->proc, path, text, sizeof(text)) : -1;
        if (length < 0 || !procfs_parse_statm(text, (size_t)length, &statm)) {
            continue;
        }
        if (memory->first_round == 0) {
            memory->first_round = server->memory.round;
        }
        memory->resident_round = server->memory.round;
        memory->resident_shared_bytes = statm.shared_pages * page_bytes;
        memory->resident_anon_bytes =
            (statm.resident_pages - MIN(statm.shared_pages, statm.resident_pages)) * page_bytes;
        known++;
    }
    return known;
}

/* Returns the step of a walk around the table, which visits each of the `count` entries once. The
 * step is large, because neighbours in the table were started together and are alike, so neighbours
 * would be a poor sample. */
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

/* Returns the group of a process for the estimates: 0 if the process ran at the first reading, 1 if
 * it started later. */
static size_t group_of(const struct process *process)
{
    return process->memory.first_round == 1 ? 0 : 1;
}

/* Reads the PSS of processes of a group until one of the deadlines, but of at least REFRESH_MIN
 * processes. Begins after the process that the previous call for this group read last. Returns
 * false if PSS can never be read. */
static bool read_group(struct server_process *server, size_t group, int64_t cpu_deadline_ns,
                       int64_t wall_deadline_ns)
{
    const size_t count = server->table.known.count;
    const size_t step = scattered_step(count);
    size_t at = server->memory.cursors[group] % count;
    size_t taken = 0;
    for (size_t n = 0; n < count; n++) {
        if (taken >= REFRESH_MIN && (mono_now_ns() >= wall_deadline_ns ||
                                     mono_clock_ns(CLOCK_THREAD_CPUTIME_ID) >= cpu_deadline_ns)) {
            break;
        }
        struct process *process = &server->table.known.entries[at];
        at = (at + step) % count;
        if (has_memory(process) && group_of(process) == group) {
            if (!read_pss(server, process)) {
                return false;
            }
            taken++;
        }
    }
    server->memory.cursors[group] = at;
    return true;
}

/* Estimates the PSS of processes whose PSS was not read. `unread` is their resident memory; `pss`
 * and `resident` are the sums of PSS and of resident memory over the other processes. */
static double estimate(double unread, double pss, double resident)
{
    return resident > 0 ? unread * pss / resident : 0;
}

/* Returns the sum of the memory that was read and of the estimates, in bytes. */
static int64_t sum_memory(const struct server_process *server)
{
    const struct memory_reader *reader = &server->memory;
    struct {
        double resident_anon;
        double resident_shared;
        double pss_anon;
        double pss_shared;
    } sums[2][2] = {{{0}}}; /* indexed by group, and by whether PSS was read */
    uint64_t rss_anon_bytes = 0;
    uint64_t rss_shared_bytes = 0;
    for (size_t i = 0; i < server->table.known.count; i++) {
        const struct process *process = &server->table.known.entries[i];
        const struct process_memory *memory = &process->memory;
        if (!has_memory(process) || memory->resident_round != reader->round) {
            continue;
        }
        const size_t group = group_of(process);
        const size_t is_read = memory->pss_round == reader->round ? 1 : 0;
        sums[group][is_read].resident_anon += (double)memory->resident_anon_bytes;
        sums[group][is_read].resident_shared += (double)memory->resident_shared_bytes;
        sums[group][is_read].pss_anon += (double)memory->pss_anon_bytes;
        sums[group][is_read].pss_shared += (double)memory->pss_shared_bytes;
        rss_anon_bytes += memory->resident_anon_bytes;
        rss_shared_bytes = MAX(rss_shared_bytes, memory->resident_shared_bytes);
    }
    if (reader->is_rss) {
        return (int64_t)(rss_anon_bytes + rss_shared_bytes);
    }
    double bytes = 0;
    for (size_t g = 0; g < 2; g++) {
        bytes +=
            sums[g][1].pss_anon + sums[g][1].pss_shared +
            estimate(sums[g][0].resident_anon, sums[g][1].pss_anon, sums[g][1].resident_anon) +
            estimate(sums[g][0].resident_shared, sums[g][1].pss_shared, sums[g][1].resident_shared);
    }
    const bool is_whole = reader->refreshed >= server->table.processes;
    return (int64_t)bytes + (int64_t)(is_whole
                                          ? reader->private_huge_bytes + reader->shared_huge_bytes
                                          : reader->most_huge_bytes);
}

/* Returns the memory of all processes of the table in bytes, or -1 if it is unknown. cpu_ns limits
 * the CPU time of the reading, and wall_ns its duration: on a busy machine, a few milliseconds of
 * CPU time can take seconds. */
static int64_t read_memory(struct server_process *server, int64_t cpu_ns, int64_t wall_ns)
{
    struct memory_reader *reader = &server->memory;
    const size_t processes = server->table.processes;
    const int64_t cpu_deadline_ns = mono_clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
    const int64_t wall_deadline_ns = mono_now_ns() + wall_ns;
    reader->round++;
    reader->refreshed = 0;
    reader->private_huge_bytes = 0;
    reader->shared_huge_bytes = 0;
    reader->most_huge_bytes = 0;
    if (processes == 0 || read_resident(server) == 0) {
        return -1;
    }
    for (size_t group = 0; group < 2 && !reader->is_rss; group++) {
        reader->is_rss = !read_group(server, group, cpu_deadline_ns, wall_deadline_ns);
    }
    /* a/b < c/d is computed as a*d < c*b, which needs no division */
    if (!reader->is_rss && reader->refreshed < processes &&
        (reader->fewest_of == 0 ||
         reader->refreshed * reader->fewest_of < reader->fewest_refreshed * processes)) {
        reader->fewest_refreshed = reader->refreshed;
        reader->fewest_of = processes;
    }
    return sum_memory(server);
}

/* Reads the I/O of a process; if the process has ended, sets *io to 0. Returns false if the I/O
 * cannot be read. */
static bool read_io(int proc, const char *pid, struct procfs_io *io)
{
    char path[64];
    char text[512];
    snprintf(path, sizeof path, "%s/io", pid);
    const ssize_t length = procfs_read(proc, path, text, sizeof text);
    if (length > 0) {
        return procfs_parse_io(text, (size_t)length, io);
    }
    *io = (struct procfs_io){0};
    return length < 0 && (errno == ENOENT || errno == ESRCH);
}

/* Sums the I/O of all processes. When a process ends, its counts disappear; when its parent waits
 * for it, the kernel adds these counts to the counts of the parent. Parents are read before their
 * children, so that no count is summed twice: the counts of a child that ends during the reading
 * are missing from this sum and appear in the next one. */
static bool sum_io(struct server_process *server, struct procfs_io *total)
{
    struct procfs_io io, sum = server->departed_io;
    for (size_t i = 0; i < server->table.known.count; i++) {
        const struct process *process = &server->table.known.entries[i];
        char pid[16];
        snprintf(pid, sizeof pid, "%d", (int)process->seen.pid);
        if (process->missing == 0) {
            if (!read_io(server->proc, pid, &io)) {
                return false;
            }
            for (size_t c = 0; c < PROCFS_IO_COUNTS; c++) {
                sum.counts[c] += io.counts[c];
            }
        }
    }
    const bool is_another = server->io_restarts != server->restarts;
    server->io_restarts = server->restarts;
    for (size_t c = 0; c < PROCFS_IO_COUNTS; c++) {
        uint64_t *last = &server->last_io.counts[c];
        if (is_another && *last > sum.counts[c]) {
            server->departed_io.counts[c] += *last - sum.counts[c];
        }
        *last = MAX(*last, sum.counts[c]);
    }
    *total = server->last_io;
    return true;
}

static bool take_first(void *context, pid_t pid)
{
    *(pid_t *)context = pid;
    return false;
}

pid_t server_process_pid(const struct server_process *server)
{
    pid_t pid = server->trees[0].root.pid > 0 ? server->trees[0].root.pid : server->selector.pid;
    if (pid == 0 && server->cgroup >= 0) {
        cgroup_walk(server->cgroup, take_first, &pid);
    }
    return pid;
}

int server_process_cgroup(const struct server_process *server)
{
    return server->cgroup;
}

unsigned server_process_restarts(const struct server_process *server)
{
    return server->restarts;
}

/* Looks for a server that was restarted. It listens at the same place as before. If it runs in a
 * container, the container has a new cgroup with the same name. */
static void attach_again(struct server_process *server)
{
    if (!server->was_attached) {
        return;
    }
    if (server->selector.cgroup == NULL && server->selector.pid <= 0) {
        attach(server);
    }
    if (server->cgroup >= 0 && is_cgroup_gone(server)) {
        process_table_forget(&server->table);
        server->departed_cpu_ns = server->last_cpu_ns;
        close_cgroup(server);
    }
    if (server->selector.cgroup != NULL && server->cgroup < 0) {
        attach_cgroup(server);
        if (!server->is_attached) {
            close_cgroup(server);
            return;
        }
        server->restarts++;
    }
}

bool server_process_runs(const struct server_process *server, pid_t pid)
{
    struct procfs_process process;
    return procfs_read_process(server->proc, pid, &process) && !process.has_ended;
}

void server_process_walk(struct server_process *server,
                         void (*report)(void *context, pid_t pid, bool is_root), void *context)
{
    attach_again(server);
    if (!server->is_attached || !update(server)) {
        return;
    }
    for (size_t i = 0; i < server->table.known.count; i++) {
        const struct process *process = &server->table.known.entries[i];
        bool is_root = false;
        for (size_t k = 0; k < server->tree_count; k++) {
            is_root |= server->trees[k].root.pid == process->seen.pid;
        }
        if (process->missing == 0 && !process->seen.has_ended) {
            report(context, process->seen.pid, is_root);
        }
    }
}

void server_process_read(struct server_process *server, int64_t interval_ns,
                         struct server_reading *reading)
{
    *reading = (struct server_reading){
        .taken_ns = mono_now_ns(),
        .cpu_ns = -1,
        .memory_bytes = -1,
    };
    if (server->selector.is_embedded) {
        const uint64_t bytes = procfs_read_own(server->proc).resident_bytes;
        reading->memory_bytes = bytes > 0 ? (int64_t)bytes : -1;
        reading->has_io = read_io(server->proc, "self", &reading->io);
        return;
    }
    attach_again(server);
    const int64_t before_ns = mono_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (server->is_attached && server->cgroup >= 0) {
        reading->memory_bytes = cgroup_memory(server->cgroup);
        if (reading->memory_bytes >= 0) {
            server->source = MEMORY_CGROUP;
            const bool is_walked = update(server);
            const int64_t cpu_ns = cgroup_cpu_ns(server->cgroup);
            if (cpu_ns >= 0) {
                reading->cpu_ns = server->departed_cpu_ns + cpu_ns;
            } else if (is_walked) {
                reading->cpu_ns = server->table.total_ns;
            }
        }
    } else if (server->is_attached && update(server)) {
        /* The walk and the reading of memory together may take 4 % of the interval, because the
         * sampler must not load the CPUs that it measures. The reading of memory gets at least
         * 1 % and at most 2 %. */
        const int64_t walk_ns = mono_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
        const int64_t percent_ns = interval_ns / 100;
        const int64_t budget_ns = MAX(MIN(4 * percent_ns - walk_ns, 2 * percent_ns), percent_ns);
        reading->cpu_ns = server->table.total_ns;
        reading->memory_bytes = read_memory(server, budget_ns, interval_ns / 2);
        if (reading->memory_bytes >= 0) {
            server->source = server->memory.is_rss ? MEMORY_RSS : MEMORY_PSS;
        }
    }
    if (reading->cpu_ns >= 0) {
        reading->cpu_ns = MAX(reading->cpu_ns, server->last_cpu_ns);
        server->last_cpu_ns = reading->cpu_ns;
        reading->processes = (unsigned)server->table.processes;
        reading->threads = (unsigned)server->table.threads;
        reading->has_io = reading->processes > 0 && sum_io(server, &reading->io);
    }
}

void server_process_describe(const struct server_process *server, struct resource_summary *summary)
{
    char *const note = summary->server_note;
    const size_t size = sizeof summary->server_note;
    summary->memory_source = server->source;
    const struct server_tree *named = &server->trees[0], *noted = named;
    size_t missing = 0;
    summary->servers = 0;
    for (size_t i = 0; i < server->tree_count; i++) {
        const struct server_tree *tree = &server->trees[i];
        summary->servers += has_own_root(server, i) ? 1 : 0;
        named = named->root.pid > 0 ? named : tree;
        missing += tree->was_attached ? 0 : 1;
        noted = tree->was_attached || !noted->was_attached ? noted : tree;
    }
    summary->hosts_measured = (unsigned)(server->tree_count - missing);
    summary->server_pid = named->root.pid;
    memcpy(summary->server_name, named->root.name, sizeof summary->server_name);
    snprintf(note, size, "%s", server->note[0] != '\0' ? server->note : noted->note);
    if (server->was_attached && !server->is_attached) {
        snprintf(note, size, "the server's process ended during the run");
    } else if (server->restarts > 0) {
        snprintf(note, size,
                 "the server was restarted during the run: the figures do not include its CPU "
                 "time, memory and I/O during the restart");
    } else if (missing > 0 && server->was_attached && server->cgroup < 0) {
        snprintf(note, size, "%zu of %zu servers not found: %.199s", missing, server->tree_count,
                 noted->note);
    } else if (note[0] == '\0' && server->source == MEMORY_RSS) {
        snprintf(note, size,
                 "PSS of the server's processes cannot be read (run as root): memory that the "
                 "processes share copy-on-write is counted once per process");
    } else if (note[0] == '\0' && server->memory.fewest_of > 0) {
        snprintf(note, size,
                 "PSS was read for %zu of %zu processes per sample and estimated for the others",
                 server->memory.fewest_refreshed, server->memory.fewest_of);
    }
}
