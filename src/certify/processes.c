#include "certify/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mono.h"
#include "measure/procfs.h"

#define STEP_NS (2 * MONO_NS_PER_MS)

enum {
    PROCESSES_MAX = 65536
};

void processes_serve(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
}

void processes_reap(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

uint64_t processes_started(pid_t pid)
{
    const int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct procfs_process process;
    const bool runs =
        procfs_read_process(proc, pid, &process) && (!process.is_zombie || process.threads > 1);
    if (proc >= 0) {
        close(proc);
    }
    return runs ? process.start_ticks : 0;
}

bool processes_is_of(pid_t pid, pid_t root)
{
    const int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct procfs_process process = {.parent = pid};
    while (process.parent > 1 && process.parent != root &&
           procfs_read_process(proc, process.parent, &process)) {
    }
    if (proc >= 0) {
        close(proc);
    }
    return process.parent == root;
}

struct process_tree {
    pid_t pids[PROCESSES_MAX], parents[PROCESSES_MAX];
    bool is_found[PROCESSES_MAX];
    size_t count;
};

static void list_processes(struct process_tree *tree)
{
    DIR *folder = opendir("/proc");
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        struct procfs_process process;
        if (pid > 0 && tree->count < PROCESSES_MAX &&
            procfs_read_process(dirfd(folder), pid, &process)) {
            tree->pids[tree->count] = pid;
            tree->parents[tree->count++] = process.parent;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

/* Marks all descendants of `parent` except this process. */
static void find_children(struct process_tree *tree, pid_t parent)
{
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->parents[i] == parent && !tree->is_found[i] && tree->pids[i] != getpid()) {
            tree->is_found[i] = true;
            find_children(tree, tree->pids[i]);
        }
    }
}

/* Lists all running processes, and marks the descendants of `root`. Returns false if `root` is an
 * ancestor of this process or at most 1. */
static bool find_tree(struct process_tree *tree, pid_t root)
{
    memset(tree, 0, sizeof *tree);
    if (root <= 1 || (root != getpid() && processes_is_of(getpid(), root))) {
        return false;
    }
    list_processes(tree);
    find_children(tree, root);
    return true;
}

static void signal_tree(const struct process_tree *tree, int number)
{
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->is_found[i]) {
            kill(tree->pids[i], number);
        }
    }
}

void processes_signal(pid_t root, bool with_root, int number)
{
    struct process_tree *tree = calloc(1, sizeof *tree);
    /* finds the tree before the signal: if `root` ends, its children get a new parent */
    if (tree != NULL && find_tree(tree, root)) {
        if (with_root) {
            kill(root, number);
        }
        signal_tree(tree, number);
    }
    free(tree);
}

/* Returns whether `root` or a marked process still runs. */
static bool has_running(const struct process_tree *tree, pid_t root)
{
    bool has = processes_started(root) != 0;
    for (size_t i = 0; i < tree->count && !has; i++) {
        has = tree->is_found[i] && processes_started(tree->pids[i]) != 0;
    }
    return has;
}

bool processes_kill(pid_t root, int64_t limit_ns)
{
    const int64_t until_ns = mono_now_ns() + limit_ns;
    struct process_tree *tree = calloc(1, sizeof *tree);
    if (tree == NULL || !find_tree(tree, root)) {
        free(tree);
        return false;
    }
    kill(root, SIGSTOP);
    signal_tree(tree, SIGSTOP);
    find_tree(tree, root); /* finds also processes that were started before their parent stopped */
    kill(root, SIGKILL);
    signal_tree(tree, SIGKILL);
    bool has = has_running(tree, root);
    while (has && mono_now_ns() < until_ns) {
        mono_sleep(STEP_NS);
        has = has_running(tree, root);
    }
    free(tree);
    return !has;
}
