#include "measure/server_process.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/mono.h"
#include "measure/cgroup.h"
#include "measure/process_tree.h"
#include "measure/procfs.h"

enum {
    HOLDERS_MAX = 64,
    DEPTH_MAX = 64,
    INIT_PID = 1
};

/* The processes that hold the sockets which are looked for. */
struct search {
    int proc;
    struct procfs_inodes sockets;
    struct procfs_process holders[HOLDERS_MAX];
    size_t count;
    bool is_denied; /* there are processes whose descriptors may not be seen */
};

/* Programs that only pass connections on: measuring them as the database would be wrong. */
static bool is_forwarder(const char *name)
{
    static const char *const forwarders[] = {
        "docker-proxy", "rootlesskit", "rootlessport", "slirp4netns", "pasta", "passt", "conmon"};
    const size_t length = strcspn(name, "."); /* pasta.avx2 is pasta for newer processors */
    for (size_t i = 0; i < sizeof(forwarders) / sizeof(forwarders[0]); i++) {
        if (strncmp(name, forwarders[i], length) == 0 && forwarders[i][length] == '\0') {
            return true;
        }
    }
    return false;
}

static bool holds_socket(struct search *search, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "%d/fd", (int)pid);
    DIR *files = procfs_open_folder(search->proc, path);
    if (files == NULL) {
        search->is_denied |= errno == EACCES || errno == EPERM;
        return false;
    }
    static const char prefix[] = "socket:[";
    bool is_holder = false;
    const struct dirent *entry;
    while (!is_holder && (entry = readdir(files)) != NULL) {
        char link[64] = "";
        const ssize_t length = readlinkat(dirfd(files), entry->d_name, link, sizeof(link) - 1);
        if (length < 0 || strncmp(link, prefix, sizeof(prefix) - 1) != 0) {
            continue;
        }
        const uint64_t inode = strtoull(link + sizeof(prefix) - 1, NULL, 10);
        for (size_t i = 0; i < search->sockets.count; i++) {
            is_holder |= search->sockets.inodes[i] == inode;
        }
    }
    closedir(files);
    return is_holder;
}

static bool find_holders(struct search *search)
{
    DIR *processes = procfs_open_folder(search->proc, ".");
    if (processes == NULL) {
        return false;
    }
    const pid_t self = getpid();
    const struct dirent *entry;
    while ((entry = readdir(processes)) != NULL && search->count < HOLDERS_MAX) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        search->count += pid > 0 && pid != self && holds_socket(search, pid) &&
                         procfs_read_process(search->proc, pid, &search->holders[search->count]);
    }
    closedir(processes);
    return true;
}

static bool is_ancestor(const struct search *search, pid_t ancestor, pid_t pid)
{
    struct procfs_process process = {.parent = pid};
    for (unsigned depth = 0; depth < DEPTH_MAX && process.parent > 0; depth++) {
        if (process.parent == ancestor) {
            return true;
        }
        if (!procfs_read_process(search->proc, process.parent, &process)) {
            return false;
        }
    }
    return false;
}

/* The holder with the most descendants among the holders; the oldest of equals. NULL: none. */
static const struct procfs_process *pick(const struct search *search, size_t *others)
{
    const struct procfs_process *best = NULL;
    size_t best_descendants = 0;
    *others = 0;
    for (size_t i = 0; i < search->count; i++) {
        const struct procfs_process *holder = &search->holders[i];
        /* Init holds the sockets that it opened for its services, and is everybody's ancestor. */
        if (holder->pid == INIT_PID && search->count > 1) {
            continue;
        }
        size_t descendants = 0;
        for (size_t k = 0; k < search->count; k++) {
            descendants += k != i && is_ancestor(search, holder->pid, search->holders[k].pid);
        }
        *others += 1;
        if (best == NULL || descendants > best_descendants ||
            (descendants == best_descendants && holder->start_ticks < best->start_ticks)) {
            best = holder;
            best_descendants = descendants;
        }
    }
    *others -= best == NULL ? 0 : 1 + best_descendants;
    return best;
}

bool server_find(int proc, uint16_t port, const char *path, struct procfs_process *found,
                 char *note, size_t note_bytes)
{
    struct search search = {.proc = proc};
    char place[128];
    bool has_table = false;
    snprintf(place, sizeof place, "TCP port %u", (unsigned)port);
    if (path != NULL) {
        struct buffer text;
        buffer_init(&text);
        snprintf(place, sizeof place, "socket %s", path);
        has_table = procfs_load(proc, "net/unix", &text);
        procfs_parse_unix_listeners(buffer_text(&text), text.length, path, port, &search.sockets);
        buffer_fini(&text);
    }
    if (search.sockets.count == 0) {
        /* a path can be written in several ways; servers mostly listen on TCP as well */
        has_table |= procfs_read_listeners(proc, port, &search.sockets);
    }
    size_t others = 0;
    const struct procfs_process *best =
        search.sockets.count > 0 && find_holders(&search) ? pick(&search, &others) : NULL;
    note[0] = '\0';
    if (!has_table) {
        snprintf(note, note_bytes, "/proc cannot be read here: the process behind %s is not known",
                 place);
    } else if (search.sockets.count == 0) {
        snprintf(note, note_bytes,
                 "nothing on this machine listens on %s (a container?): give --container, "
                 "--server-pid or --server-cgroup",
                 place);
    } else if (best == NULL && search.is_denied) {
        snprintf(note, note_bytes,
                 "the process behind %s belongs to another user and cannot be seen: run as "
                 "root, or give --server-pid or --server-cgroup",
                 place);
    } else if (best == NULL) {
        snprintf(note, note_bytes,
                 "no process that this program can see holds %s (another container?): give "
                 "--container, --server-pid or --server-cgroup",
                 place);
    } else if (is_forwarder(best->name)) {
        snprintf(note, note_bytes,
                 "the port belongs to %s: the database runs in a container; use --container NAME, "
                 "--server-cgroup or --server-pid",
                 best->name);
    } else if (best->pid == INIT_PID && strcmp(best->name, "systemd") == 0) {
        snprintf(note, note_bytes,
                 "the port belongs to systemd, which starts the server on demand: give "
                 "--server-pid or --server-cgroup");
    } else {
        if (others > 0) {
            snprintf(note, note_bytes,
                     "%s is held by %zu more processes that do not descend from process %d and are "
                     "not measured; --server-cgroup would",
                     place, others, (int)best->pid);
        }
        *found = *best;
        return true;
    }
    return false;
}

struct server_process {
    struct server_selector selector;
    int proc;
    DIR *processes;    /* of proc, kept open: a walk needs no descriptor that might be lacking */
    int cgroup;        /* folder; -1 = none */
    bool is_attached;  /* there is a server to read */
    bool was_attached; /* there was one since the beginning */
    unsigned restarts;
    struct procfs_process root; /* pid 0: not known */
    int64_t last_cpu_ns;        /* the highest that was given out */
    enum memory_source source;
    struct process_table table;
    struct process_memory_reader memory;
    char note[200]; /* about finding it */
};

/* Finds the process of the user's pid, or the one that listens. */
static void attach(struct server_process *server)
{
    const struct server_selector *selector = &server->selector;
    struct procfs_process root;
    if (selector->pid > 0 && !procfs_read_process(server->proc, selector->pid, &root)) {
        snprintf(server->note, sizeof(server->note),
                 "there is no process %d to be seen: check --server-pid, or give --server-cgroup",
                 (int)selector->pid);
    } else if (selector->pid > 0 || server_find(server->proc, selector->port, selector->socket,
                                                &root, server->note, sizeof server->note)) {
        server->root = root;
        server->is_attached = true;
        server->was_attached = true;
    }
}

static void find(struct server_process *server)
{
    const struct server_selector *selector = &server->selector;
    char *const note = server->note;
    const size_t size = sizeof server->note;
    if (selector->is_embedded) {
        server->source = MEMORY_SELF;
        snprintf(note, size,
                 "the database runs inside this program: its memory and CPU are not told apart "
                 "from the client's");
    } else if (selector->cgroup != NULL) {
        server->cgroup = cgroup_open(selector->cgroup);
        server->is_attached = server->cgroup >= 0 && cgroup_memory(server->cgroup) >= 0;
        server->was_attached = server->is_attached;
        if (server->cgroup < 0) {
            snprintf(note, size,
                     "the cgroup folder cannot be opened (%s): check --server-cgroup, or give "
                     "--server-pid",
                     strerror(errno));
        } else if (!server->is_attached) {
            snprintf(note, size,
                     "the cgroup folder has no memory.stat that can be read: give the folder of "
                     "the memory controller to --server-cgroup, or --server-pid");
        }
    } else if (selector->pid == 0 && selector->is_remote) {
        snprintf(note, size, "the server is not on this machine");
    } else if (selector->pid > 0 || selector->port > 0 || selector->socket != NULL) {
        attach(server);
    } else {
        snprintf(note, size,
                 "nothing says which process is the server: give --server-pid or "
                 "--server-cgroup");
    }
}

struct server_process *server_process_create(const struct server_selector *selector)
{
    struct server_process *server = calloc(1, sizeof(*server));
    if (server == NULL) {
        return NULL;
    }
    server->selector = *selector;
    server->cgroup = -1;
    process_table_init(&server->table, MONO_NS_PER_S / sysconf(_SC_CLK_TCK));
    server->proc = procfs_open();
    server->processes = server->proc < 0 ? NULL : procfs_open_folder(server->proc, ".");
    if (server->processes == NULL) {
        snprintf(server->note, sizeof(server->note), "/proc cannot be read: %s", strerror(errno));
        return server;
    }
    process_memory_init(&server->memory, server->proc);
    find(server);
    return server;
}

void server_process_destroy(struct server_process *server)
{
    if (server == NULL) {
        return;
    }
    process_table_fini(&server->table);
    if (server->processes != NULL) {
        closedir(server->processes);
    }
    if (server->cgroup >= 0) {
        close(server->cgroup);
    }
    if (server->proc >= 0) {
        close(server->proc);
    }
    free(server);
}

/* False: nothing can be said about who is there. */
static bool see(struct server_process *server, pid_t pid, bool is_member)
{
    struct process *process = process_table_see(&server->table);
    if (process == NULL) {
        return false;
    }
    process->is_member = is_member;
    if (procfs_read_process(server->proc, pid, &process->seen)) {
        return true;
    }
    server->table.seen.count--;
    /* It ended since it was listed, or is hidden from this user (hidepid), as the server then is
     * too; anything else leaves a hole in what was seen. */
    return errno == ENOENT || errno == ESRCH || errno == EACCES || errno == EPERM;
}

static bool see_member(void *context, pid_t pid)
{
    return see(context, pid, true);
}

/* All processes but this program: it may have thousands of threads, and the kernel visits each for
 * the sum. */
static bool walk_all(struct server_process *server)
{
    const pid_t self = getpid();
    rewinddir(server->processes);
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(server->processes);
        if (entry == NULL) {
            return errno == 0;
        }
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && pid != self && !see(server, pid, false)) {
            return false;
        }
    }
}

/* Replaces the CPU time of members, which so far is of whole clock ticks, by the scheduler's own
 * figure. With a process for each session the ticks would hide most of a short run: a thousand
 * sessions of 9 ms each are nothing in ticks of 10 ms. */
static void refine(struct server_process *server)
{
    for (size_t i = 0; i < server->table.seen.count; i++) {
        struct process *process = &server->table.seen.entries[i];
        char path[64];
        char text[128];
        struct procfs_schedstat time;
        /* The file is of one thread. Of many threads the ticks are fine enough. */
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

/* Finds out who belongs to the server now. False: nothing is known this time. */
static bool update(struct server_process *server)
{
    struct process_table *table = &server->table;
    table->seen.count = 0;
    if (!(server->cgroup >= 0 ? cgroup_walk(server->cgroup, see_member, server)
                              : walk_all(server))) {
        return false;
    }
    /* A tree is the server as long as its root runs. */
    if (server->cgroup < 0 &&
        !process_table_mark_tree(table, server->root.pid, server->root.start_ticks)) {
        server->is_attached = false;
        process_table_forget(table);
        return false;
    }
    refine(server);
    if (!process_table_update(table)) {
        return false;
    }
    /* The oldest process of the cgroup stands for it by name. */
    const bool is_named = server->root.pid > 0;
    for (size_t i = 0; !is_named && i < table->known.count; i++) {
        const struct procfs_process *seen = &table->known.entries[i].seen;
        if (server->root.pid == 0 || seen->start_ticks < server->root.start_ticks) {
            server->root = *seen;
        }
    }
    return true;
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
        return;
    }
    if (!server->is_attached && server->was_attached && server->selector.pid <= 0) {
        /* A server that was restarted listens where it did. */
        attach(server);
        server->restarts += server->is_attached;
    }
    const int64_t before_ns = mono_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (server->is_attached && server->cgroup >= 0) {
        reading->memory_bytes = cgroup_memory(server->cgroup);
        if (reading->memory_bytes >= 0) {
            server->source = MEMORY_CGROUP;
            const bool is_walked = update(server);
            const int64_t cpu_ns = cgroup_cpu_ns(server->cgroup);
            reading->cpu_ns = cpu_ns < 0 && is_walked ? server->table.total_ns : cpu_ns;
        }
    } else if (server->is_attached && update(server)) {
        /* Of the interval: 4 % in all, of this 1 to 2 % for memory, whatever the walk has taken:
         * the sampler must not take the CPUs that it measures. */
        const int64_t walk_ns = mono_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
        const int64_t percent_ns = interval_ns / 100;
        const int64_t budget_ns = MAX(MIN(4 * percent_ns - walk_ns, 2 * percent_ns), percent_ns);
        reading->cpu_ns = server->table.total_ns;
        reading->memory_bytes =
            process_memory_read(&server->memory, &server->table, budget_ns, interval_ns / 2);
        if (reading->memory_bytes >= 0) {
            server->source = server->memory.is_rss ? MEMORY_RSS : MEMORY_PSS;
        }
    }
    if (reading->cpu_ns >= 0) {
        reading->cpu_ns = MAX(reading->cpu_ns, server->last_cpu_ns);
        server->last_cpu_ns = reading->cpu_ns;
        reading->processes = (unsigned)server->table.processes;
        reading->threads = (unsigned)server->table.threads;
    }
}

void server_process_describe(const struct server_process *server, struct resource_summary *summary)
{
    char *const note = summary->server_note;
    const size_t size = sizeof summary->server_note;
    summary->memory_source = server->source;
    summary->server_pid = server->root.pid;
    memcpy(summary->server_name, server->root.name, sizeof summary->server_name);
    snprintf(note, size, "%s", server->note);
    if (server->was_attached && !server->is_attached) {
        snprintf(note, size, "the server's process ended during the run");
    } else if (server->restarts > 0) {
        snprintf(note, size,
                 "the server was restarted during the run: what it used meanwhile is "
                 "not in the figures");
    } else if (note[0] == '\0' && server->source == MEMORY_RSS) {
        snprintf(note, size,
                 "PSS of the server's processes cannot be read (run as root): memory that they "
                 "share copy-on-write is counted once for each");
    } else if (note[0] == '\0' && server->memory.fewest_of > 0) {
        snprintf(note, size, "PSS of %zu of %zu processes read per sample, the others estimated",
                 server->memory.fewest_refreshed, server->memory.fewest_of);
    }
}
