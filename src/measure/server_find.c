#include "measure/server_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/proc_file.h"

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

static void find_tcp_inodes(struct search *search, uint16_t port)
{
    static const char *const files[] = {"net/tcp", "net/tcp6"};
    struct buffer text;
    buffer_init(&text);
    for (size_t i = 0; i < 2; i++) {
        /* A machine without IPv6 has no tcp6. */
        if (proc_file_load(search->proc, files[i], &text)) {
            search->has_table = true;
            procfs_parse_listeners(buffer_text(&text), text.length, port, &search->sockets);
        }
    }
    buffer_fini(&text);
}

static void find_unix_inodes(struct search *search, const char *path, uint16_t port)
{
    struct buffer text;
    buffer_init(&text);
    if (proc_file_load(search->proc, "net/unix", &text)) {
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
    const int folder = openat(search->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = folder < 0 ? NULL : fdopendir(folder);
    if (files == NULL) {
        search->denied += folder < 0 && (errno == EACCES || errno == EPERM);
        if (folder >= 0) {
            close(folder);
        }
        return false;
    }
    bool is_holder = false;
    const struct dirent *entry;
    while (!is_holder && (entry = readdir(files)) != NULL) {
        char link[64];
        const ssize_t length = readlinkat(folder, entry->d_name, link, sizeof(link) - 1);
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
    const int copy = openat(search->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *processes = copy < 0 ? NULL : fdopendir(copy);
    if (processes == NULL) {
        if (copy >= 0) {
            close(copy);
        }
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
        if (proc_file_process(search->proc, pid, holder)) {
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
        if (!proc_file_process(search->proc, process.parent, &process)) {
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
    /* On the heap: the holders alone are larger than a small thread's stack. */
    struct search *search = calloc(1, sizeof(*search));
    if (search == NULL) {
        snprintf(note, note_bytes, "out of memory while looking for the server's process");
        return false;
    }
    search->proc = proc;
    if (path != NULL) {
        snprintf(search->place, sizeof(search->place), "socket %s", path);
        find_unix_inodes(search, path, port);
    } else {
        snprintf(search->place, sizeof(search->place), "TCP port %u", (unsigned)port);
    }
    if (search->sockets.count == 0) {
        /* a path can be written in several ways; servers mostly listen on TCP as well */
        find_tcp_inodes(search, port);
    }
    const bool is_found = search_holder(search, found, note, note_bytes);
    free(search);
    return is_found;
}
