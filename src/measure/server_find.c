#include "measure/server_find.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HOLDERS_MAX = 64,
    DEPTH_MAX = 64,
    INIT_PID = 1,
};

/* A search for the processes that hold the listening sockets. */
struct socket_search {
    int proc;
    struct procfs_inodes sockets;
    struct procfs_process holders[HOLDERS_MAX];
    size_t count;
    bool is_denied; /* the privilege to read the descriptors of some processes is missing */
};

/* Returns whether a program only forwards connections and so must not be measured as the
 * database. */
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

static bool holds_socket(struct socket_search *search, pid_t pid)
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

static bool find_holders(struct socket_search *search)
{
    DIR *processes = procfs_open_folder(search->proc, ".");
    if (processes == NULL) {
        return false;
    }
    const pid_t self = getpid();
    const struct dirent *entry;
    while ((entry = readdir(processes)) != NULL && search->count < HOLDERS_MAX) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        struct procfs_process *holder = &search->holders[search->count];
        /* a killed process keeps its sockets until the kernel has freed its memory */
        search->count += pid > 0 && pid != self && holds_socket(search, pid) &&
                         procfs_read_process(search->proc, pid, holder) && !holder->has_ended;
    }
    closedir(processes);
    return true;
}

static bool is_ancestor(const struct socket_search *search, pid_t ancestor, pid_t pid)
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

/* Returns the holder from which the greatest number of other holders descend; if several holders
 * have this number, the oldest of them. Returns NULL if there are no holders. Sets *others to the
 * number of other holders that do not descend from the returned holder. */
static const struct procfs_process *pick(const struct socket_search *search, size_t *others)
{
    const struct procfs_process *best = NULL;
    size_t best_descendants = 0;
    *others = 0;
    for (size_t i = 0; i < search->count; i++) {
        const struct procfs_process *holder = &search->holders[i];
        /* init also holds the sockets that it opened for its services. As the ancestor of all
         * processes, it would always be picked. */
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
    struct socket_search search = {.proc = proc};
    char place[128];
    bool has_table = false;
    snprintf(place, sizeof place, "TCP port %u", (unsigned)port);
    if (path != NULL) {
        struct buffer text = {0};
        snprintf(place, sizeof place, "socket %s", path);
        has_table = procfs_load(proc, "net/unix", &text);
        procfs_parse_unix_listeners(buffer_text(&text), text.length, path, port, &search.sockets);
        buffer_fini(&text);
    }
    if (search.sockets.count == 0) {
        /* the socket may not be found by its path, because /proc may show the path in another form;
         * most servers also listen on TCP */
        has_table |= procfs_read_listeners(proc, port, &search.sockets);
    }
    size_t others = 0;
    const struct procfs_process *best =
        search.sockets.count > 0 && find_holders(&search) ? pick(&search, &others) : NULL;
    note[0] = '\0';
    if (!has_table) {
        snprintf(note, note_bytes,
                 "/proc cannot be read here: the server's process is unknown (%s)", place);
    } else if (search.sockets.count == 0) {
        snprintf(
            note, note_bytes,
            "nothing on this machine listens on %s; for a container give --container, --server-pid "
            "or --server-cgroup",
            place);
    } else if (best == NULL && search.is_denied) {
        snprintf(note, note_bytes,
                 "the process that listens on %s belongs to another user: run as root, or give "
                 "--server-pid or --server-cgroup",
                 place);
    } else if (best == NULL) {
        snprintf(note, note_bytes,
                 "no process that append can see listens on %s; for another container give "
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
                     "%zu other %s on %s and %s not measured, because %s of process %d: to measure "
                     "all, give --server-cgroup",
                     others, others == 1 ? "process listens" : "processes listen", place,
                     others == 1 ? "is" : "are",
                     others == 1 ? "it is not a child" : "they are not children", (int)best->pid);
        }
        *found = *best;
        return true;
    }
    return false;
}

/* Returns whether `pid` is `from` or one of its ancestors, except init. */
static bool is_above(int proc, pid_t pid, pid_t from)
{
    struct procfs_process process = {.parent = from};
    while (process.parent > INIT_PID && process.parent != pid &&
           procfs_read_process(proc, process.parent, &process)) {
    }
    return process.parent == pid && pid > INIT_PID;
}

bool server_is_related(int proc, pid_t pid, pid_t holder)
{
    return pid == holder || is_above(proc, pid, holder) || is_above(proc, holder, pid);
}

bool server_is_other(uint16_t port, const char *path, pid_t pid, struct procfs_process *holder)
{
    char note[240];
    const int proc = procfs_open();
    const bool is_other = proc >= 0 && server_find(proc, port, path, holder, note, sizeof note) &&
                          !server_is_related(proc, pid, holder->pid);
    if (proc >= 0) {
        close(proc);
    }
    return is_other;
}
