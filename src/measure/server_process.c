#include "measure/server_process.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

struct search {
    int proc;
    char place[128]; /* "TCP port 5432", "socket /run/x" */
    struct procfs_inodes sockets;
    struct procfs_process holders[HOLDERS_MAX];
    size_t holder_count;
    unsigned denied; /* processes whose descriptors may not be seen */
    bool has_table;  /* sockets could be listed */
};

/* Programs that only pass connections on: measuring them as the database would be wrong. */
static const char *const forwarders[] = {
    "docker-proxy", "rootlesskit", "rootlessport", "slirp4netns", "pasta", "passt", "conmon"};

static bool is_forwarder(const char *name)
{
    const size_t length = strcspn(name, "."); /* pasta.avx2 is pasta for newer processors */
    for (size_t i = 0; i < sizeof(forwarders) / sizeof(forwarders[0]); i++) {
        if (strncmp(name, forwarders[i], length) == 0 && forwarders[i][length] == '\0') {
            return true;
        }
    }
    return false;
}

static void find_unix_inodes(struct search *search, const char *path, uint16_t port)
{
    struct buffer text;
    buffer_init(&text);
    if (procfs_load(search->proc, "net/unix", &text)) {
        search->has_table = true;
        procfs_parse_unix_listeners(buffer_text(&text), text.length, path, port, &search->sockets);
    }
    buffer_fini(&text);
}

static bool is_wanted_socket(const struct search *search, const char *link)
{
    static const char prefix[] = "socket:[";
    if (strncmp(link, prefix, sizeof(prefix) - 1) != 0) {
        return false;
    }
    char *end;
    const uint64_t inode = strtoull(link + sizeof(prefix) - 1, &end, 10);
    if (*end != ']') {
        return false;
    }
    for (size_t i = 0; i < search->sockets.count; i++) {
        if (search->sockets.inodes[i] == inode) {
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
        search->denied += errno == EACCES || errno == EPERM;
        return false;
    }
    bool is_holder = false;
    const struct dirent *entry;
    while (!is_holder && (entry = readdir(files)) != NULL) {
        char link[64];
        const ssize_t length = readlinkat(dirfd(files), entry->d_name, link, sizeof(link) - 1);
        if (length > 0) {
            link[length] = '\0';
            is_holder = is_wanted_socket(search, link);
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
    while ((entry = readdir(processes)) != NULL && search->holder_count < HOLDERS_MAX) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || pid == self || !holds_socket(search, pid)) {
            continue;
        }
        struct procfs_process *holder = &search->holders[search->holder_count];
        if (procfs_read_process(search->proc, pid, holder)) {
            search->holder_count++;
        }
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

/* Init holds the sockets that it opened for its services, and is everybody's ancestor. */
static bool is_candidate(const struct search *search, const struct procfs_process *holder)
{
    return holder->pid != INIT_PID || search->holder_count == 1;
}

/* The holder with the most descendants among the holders; the oldest of equals. */
static const struct procfs_process *pick(const struct search *search, size_t *others)
{
    const struct procfs_process *best = NULL;
    size_t best_descendants = 0;
    size_t candidates = 0;
    for (size_t i = 0; i < search->holder_count; i++) {
        const struct procfs_process *holder = &search->holders[i];
        if (!is_candidate(search, holder)) {
            continue;
        }
        candidates++;
        size_t descendants = 0;
        for (size_t k = 0; k < search->holder_count; k++) {
            descendants += k != i && is_ancestor(search, holder->pid, search->holders[k].pid);
        }
        if (best == NULL || descendants > best_descendants ||
            (descendants == best_descendants && holder->start_ticks < best->start_ticks)) {
            best = holder;
            best_descendants = descendants;
        }
    }
    *others = best == NULL ? 0 : candidates - 1 - best_descendants;
    return best;
}

static void explain_no_holder(const struct search *search, char *note, size_t note_bytes)
{
    if (search->denied > 0) {
        snprintf(note, note_bytes,
                 "the process behind %s belongs to another user and cannot be seen: run as "
                 "root, or give --server-pid or --server-cgroup",
                 search->place);
    } else {
        snprintf(note, note_bytes,
                 "no process that this program can see holds %s (another container?): give "
                 "--container, --server-pid or --server-cgroup",
                 search->place);
    }
}

static bool search_holder(struct search *search, struct procfs_process *found, char *note,
                          size_t note_bytes)
{
    if (!search->has_table) {
        snprintf(note, note_bytes, "/proc cannot be read here: the process behind %s is not known",
                 search->place);
        return false;
    }
    if (search->sockets.count == 0) {
        snprintf(note, note_bytes,
                 "nothing on this machine listens on %s (a container?): give --container, "
                 "--server-pid or --server-cgroup",
                 search->place);
        return false;
    }
    size_t others = 0;
    const struct procfs_process *best = find_holders(search) ? pick(search, &others) : NULL;
    if (best == NULL) {
        explain_no_holder(search, note, note_bytes);
        return false;
    }
    if (is_forwarder(best->name)) {
        snprintf(note, note_bytes,
                 "the port belongs to %s: the database runs in a container; use --container NAME, "
                 "--server-cgroup or --server-pid",
                 best->name);
        return false;
    }
    if (best->pid == INIT_PID && strcmp(best->name, "systemd") == 0) {
        snprintf(note, note_bytes,
                 "the port belongs to systemd, which starts the server on demand: give "
                 "--server-pid or --server-cgroup");
        return false;
    }
    if (others > 0) {
        snprintf(note, note_bytes,
                 "%s is held by %zu more processes that do not descend from process %d and are not "
                 "measured; --server-cgroup would",
                 search->place, others, (int)best->pid);
    }
    *found = *best;
    return true;
}

bool server_find(int proc, uint16_t port, const char *path, struct procfs_process *found,
                 char *note, size_t note_bytes)
{
    note[0] = '\0';
    struct search search = {.proc = proc};
    if (path != NULL) {
        snprintf(search.place, sizeof search.place, "socket %s", path);
        find_unix_inodes(&search, path, port);
    } else {
        snprintf(search.place, sizeof search.place, "TCP port %u", (unsigned)port);
    }
    if (search.sockets.count == 0) {
        /* a path can be written in several ways; servers mostly listen on TCP as well */
        search.has_table |= procfs_read_listeners(proc, port, &search.sockets);
    }
    return search_holder(&search, found, note, note_bytes);
}

struct server_process {
    struct server_selector selector;
    int proc;
    int cgroup;        /* folder; -1 = none */
    bool is_attached;  /* there is a server to read */
    bool was_attached; /* there was one since the beginning */
    unsigned restarts;
    pid_t root;
    uint64_t root_start;
    int64_t last_cpu_ns; /* the highest that was given out */
    enum memory_source source;
    struct process_walk walk;
    struct process_table table;
    struct process_memory_reader memory;
    char name[PROCFS_NAME_BYTES];
    char note[200]; /* about finding it */
};

static void attach(struct server_process *server, const struct procfs_process *root)
{
    server->is_attached = true;
    server->was_attached = true;
    server->root = root->pid;
    server->root_start = root->start_ticks;
    memcpy(server->name, root->name, sizeof(server->name));
}

static void find_by_pid(struct server_process *server)
{
    struct procfs_process root;
    if (procfs_read_process(server->proc, server->selector.pid, &root)) {
        attach(server, &root);
        return;
    }
    snprintf(server->note, sizeof(server->note),
             "there is no process %d to be seen: check --server-pid, or give --server-cgroup",
             (int)server->selector.pid);
}

static void find_by_socket(struct server_process *server)
{
    struct procfs_process root;
    const struct server_selector *selector = &server->selector;
    if (server_find(server->proc, selector->port, selector->socket, &root, server->note,
                    sizeof(server->note))) {
        attach(server, &root);
    }
}

static void find_by_cgroup(struct server_process *server)
{
    server->cgroup = cgroup_open(server->selector.cgroup);
    if (server->cgroup < 0) {
        snprintf(server->note, sizeof(server->note),
                 "the cgroup folder cannot be opened (%s): check --server-cgroup, or give "
                 "--server-pid",
                 strerror(errno));
        return;
    }
    if (cgroup_memory(server->cgroup) < 0) {
        snprintf(server->note, sizeof(server->note),
                 "the cgroup folder has no memory.stat that can be read: give the folder of the "
                 "memory controller to --server-cgroup, or --server-pid");
        close(server->cgroup);
        server->cgroup = -1;
        return;
    }
    server->is_attached = true;
    server->was_attached = true;
}

static void find(struct server_process *server)
{
    const struct server_selector *selector = &server->selector;
    if (selector->is_embedded) {
        server->source = MEMORY_SELF;
        snprintf(server->note, sizeof(server->note),
                 "the database runs inside this program: its memory and CPU are not told apart "
                 "from the client's");
    } else if (selector->cgroup != NULL) {
        find_by_cgroup(server);
    } else if (selector->pid > 0) {
        find_by_pid(server);
    } else if (selector->is_remote) {
        snprintf(server->note, sizeof(server->note), "the server is not on this machine");
    } else if (selector->port > 0 || selector->socket != NULL) {
        find_by_socket(server);
    } else {
        snprintf(server->note, sizeof(server->note),
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
    server->source = MEMORY_UNKNOWN;
    const int64_t tick_ns = MONO_NS_PER_S / sysconf(_SC_CLK_TCK);
    process_table_init(&server->table, tick_ns);
    server->proc = procfs_open();
    if (server->proc < 0 || !process_walk_init(&server->walk, server->proc, tick_ns)) {
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
    process_walk_fini(&server->walk);
    if (server->cgroup >= 0) {
        close(server->cgroup);
    }
    if (server->proc >= 0) {
        close(server->proc);
    }
    free(server);
}

/* A tree is the server as long as its root runs. False: nothing is known this time. */
static bool update_tree(struct server_process *server)
{
    if (!process_walk_all(&server->walk)) {
        return false;
    }
    if (!process_table_mark_tree(&server->table, server->root, server->root_start,
                                 server->walk.seen, server->walk.count)) {
        server->is_attached = false;
        process_table_forget(&server->table);
        return false;
    }
    process_walk_refine(&server->walk);
    return process_table_update(&server->table, server->walk.seen, server->walk.count);
}

/* The oldest process of the cgroup stands for it by name. */
static void name_cgroup(struct server_process *server)
{
    const struct process_seen *oldest = NULL;
    for (size_t i = 0; i < server->walk.count; i++) {
        const struct process_seen *seen = &server->walk.seen[i];
        if (oldest == NULL || seen->start_ticks < oldest->start_ticks) {
            oldest = seen;
        }
    }
    struct procfs_process process;
    if (oldest != NULL && procfs_read_process(server->proc, oldest->pid, &process)) {
        server->root = process.pid;
        memcpy(server->name, process.name, sizeof(server->name));
    }
}

static bool update_cgroup(struct server_process *server)
{
    if (!process_walk_cgroup(&server->walk, server->cgroup)) {
        return false;
    }
    process_walk_refine(&server->walk);
    if (!process_table_update(&server->table, server->walk.seen, server->walk.count)) {
        return false;
    }
    if (server->root == 0) {
        name_cgroup(server);
    }
    return true;
}

static void read_cgroup(struct server_process *server, struct server_reading *reading)
{
    const int64_t memory_bytes = cgroup_memory(server->cgroup);
    if (memory_bytes < 0) {
        return;
    }
    server->source = MEMORY_CGROUP;
    reading->memory_bytes = memory_bytes;
    const bool is_walked = update_cgroup(server);
    const int64_t cpu_ns = cgroup_cpu_ns(server->cgroup);
    if (cpu_ns >= 0) {
        reading->cpu_ns = cpu_ns;
    } else if (is_walked) {
        reading->cpu_ns = server->table.total_ns;
    }
}

/* Of the interval: 4 % in all, of this 1 to 2 % for memory, whatever the walk has taken: the
 * sampler must not take the CPUs that it measures. */
static struct process_memory_budget budget_of(int64_t interval_ns, int64_t walk_ns)
{
    const int64_t percent_ns = interval_ns / 100;
    int64_t cpu_ns = 4 * percent_ns - walk_ns;
    cpu_ns = cpu_ns > 2 * percent_ns ? 2 * percent_ns : cpu_ns;
    cpu_ns = cpu_ns < percent_ns ? percent_ns : cpu_ns;
    return (struct process_memory_budget){.cpu_ns = cpu_ns, .wall_ns = interval_ns / 2};
}

static void read_tree(struct server_process *server, int64_t interval_ns,
                      struct server_reading *reading)
{
    const int64_t before_ns = process_memory_thread_cpu_ns();
    if (!update_tree(server)) {
        return;
    }
    const struct process_memory_budget budget =
        budget_of(interval_ns, process_memory_thread_cpu_ns() - before_ns);
    reading->cpu_ns = server->table.total_ns;
    reading->memory_bytes = process_memory_read(&server->memory, &server->table, &budget);
    if (reading->memory_bytes >= 0) {
        server->source = server->memory.is_rss ? MEMORY_RSS : MEMORY_PSS;
    }
}

/* A server that was restarted listens where it did. */
static void find_again(struct server_process *server)
{
    const struct server_selector *selector = &server->selector;
    const bool is_by_socket = !selector->is_embedded && selector->cgroup == NULL &&
                              selector->pid == 0 &&
                              (selector->port > 0 || selector->socket != NULL);
    if (!server->was_attached || !is_by_socket) {
        return;
    }
    find_by_socket(server);
    server->restarts += server->is_attached;
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
        const size_t bytes = server->proc < 0 ? 0 : procfs_own_rss_bytes(server->proc);
        reading->memory_bytes = bytes > 0 ? (int64_t)bytes : -1;
        return;
    }
    if (!server->is_attached) {
        find_again(server);
    }
    if (!server->is_attached) {
        return;
    }
    if (server->cgroup >= 0) {
        read_cgroup(server, reading);
    } else {
        read_tree(server, interval_ns, reading);
    }
    if (reading->cpu_ns >= 0) {
        if (reading->cpu_ns < server->last_cpu_ns) {
            reading->cpu_ns = server->last_cpu_ns;
        }
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
    summary->server_pid = server->root;
    memcpy(summary->server_name, server->name, sizeof summary->server_name);
    note[0] = '\0';
    if (server->was_attached && !server->is_attached) {
        snprintf(note, size, "the server's process ended during the run");
    } else if (server->restarts > 0) {
        snprintf(note, size,
                 "the server was restarted during the run: what it used meanwhile is "
                 "not in the figures");
    } else if (server->note[0] != '\0') {
        snprintf(note, size, "%s", server->note);
    } else if (server->source == MEMORY_RSS) {
        snprintf(note, size,
                 "PSS of the server's processes cannot be read (run as root): memory that they "
                 "share copy-on-write is counted once for each");
    } else if (server->memory.fewest_of > 0) {
        snprintf(note, size, "PSS of %zu of %zu processes read per sample, the others estimated",
                 server->memory.fewest_refreshed, server->memory.fewest_of);
    }
}
