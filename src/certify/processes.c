#include "certify/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mono.h"

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

/* Reads the parent of a process, and whether the process runs. Its first thread may end as a zombie
 * before the others: until these have ended too, the process has its ports and files. Returns false
 * if there is no such process. */
static bool read_process(const char *pid, bool *runs, int *parent)
{
    char path[40], text[512], state;
    int threads;
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) {
        close(file);
    }
    text[length > 0 ? length : 0] = '\0';
    const char *name_end = strrchr(text, ')'); /* a name may contain brackets */
    if (name_end == NULL ||
        sscanf(name_end, ") %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d",
               &state, parent, &threads) != 3) {
        return false;
    }
    *runs = (state != 'Z' && state != 'X') || threads > 1;
    return true;
}

bool processes_runs(pid_t pid)
{
    char name[20];
    bool runs;
    int parent;
    snprintf(name, sizeof name, "%d", (int)pid);
    return read_process(name, &runs, &parent) && runs;
}

bool processes_is_of(pid_t pid, pid_t root)
{
    bool has_parent = true;
    while (pid > 1 && pid != root && has_parent) {
        char name[20];
        bool runs;
        int parent;
        snprintf(name, sizeof name, "%d", (int)pid);
        has_parent = read_process(name, &runs, &parent);
        pid = has_parent ? parent : pid;
    }
    return pid == root;
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
        bool runs;
        int parent;
        if (pid > 0 && tree->count < PROCESSES_MAX && read_process(entry->d_name, &runs, &parent)) {
            tree->pids[tree->count] = pid;
            tree->parents[tree->count++] = parent;
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
