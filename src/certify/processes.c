#include "certify/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
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

bool processes_runs(pid_t pid)
{
    const int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct procfs_process process;
    const bool runs =
        procfs_read_process(proc, pid, &process) && (!process.is_zombie || process.threads > 1);
    if (proc >= 0) {
        close(proc);
    }
    return runs;
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

/* Marks the descendants of a process that are not marked yet. */
static void find_children(struct process_tree *tree, pid_t parent)
{
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->parents[i] == parent && !tree->is_found[i] && tree->pids[i] != getpid()) {
            tree->is_found[i] = true;
            find_children(tree, tree->pids[i]);
        }
    }
}

/* Lists the processes that run now, and marks the descendants of `root`. Returns NULL when out of
 * memory, or if this process is `root` or a descendant of `root`. The caller frees it. */
static struct process_tree *find_tree(pid_t root)
{
    const bool is_above = root != getpid() && processes_is_of(getpid(), root);
    struct process_tree *tree = root > 1 && !is_above ? calloc(1, sizeof *tree) : NULL;
    if (tree != NULL) {
        list_processes(tree);
        find_children(tree, root);
    }
    return tree;
}

void processes_signal(pid_t root, bool with_root, int number)
{
    struct process_tree *tree = find_tree(root); /* the tree is found before `root` ends, because
                                                    its children then get another parent */
    if (tree != NULL && with_root) {
        kill(root, number);
    }
    for (size_t i = 0; tree != NULL && i < tree->count; i++) {
        if (tree->is_found[i]) {
            kill(tree->pids[i], number);
        }
    }
    free(tree);
}

/* Returns whether one of the processes still runs. */
static bool has_running(const struct process_tree *tree, pid_t root)
{
    bool has = processes_runs(root);
    for (size_t i = 0; i < tree->count && !has; i++) {
        has = tree->is_found[i] && processes_runs(tree->pids[i]);
    }
    return has;
}

bool processes_kill(pid_t root, int64_t limit_ns)
{
    const int64_t until_ns = mono_now_ns() + limit_ns;
    processes_signal(root, true, SIGSTOP);
    struct process_tree *tree = find_tree(root);
    if (tree == NULL) {
        return false;
    }
    kill(root, SIGKILL);
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->is_found[i]) {
            kill(tree->pids[i], SIGKILL);
        }
    }
    bool has = has_running(tree, root);
    while (has && mono_now_ns() < until_ns) {
        mono_sleep(STEP_NS);
        has = has_running(tree, root);
    }
    free(tree);
    return !has;
}
