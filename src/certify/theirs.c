/* The user's server. This program finds its process, and starts the server again with the user's
 * command. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/mono.h"
#include "base/process.h"
#include "certify/processes.h"
#include "certify/subject.h"
#include "measure/procfs.h"
#include "measure/server_find.h"

#define END_NS (30 * MONO_NS_PER_S)
#define STEP_NS (2 * MONO_NS_PER_MS)

/* Returns whether the server's process runs. Returns false if a new process has the same pid. */
static bool is_running(const struct subject *subject)
{
    return subject->pid > 1 && subject->started != 0 &&
           processes_started(subject->pid) == subject->started;
}

/* Finds the server's process by its port or socket. Fails if the process started before `since`.
 * Also fails if several servers listen on the port, at different addresses, because this program
 * must not break a wrong server. */
static enum status find_listening(struct subject *subject, uint64_t since, struct error *error)
{
    struct procfs_process found = {.pid = 0};
    struct connection_info named = {.host = ""};
    char note[240] = "";
    target_fill_connection(subject->plan, &named);
    const int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool is_found =
        proc >= 0 && server_find(proc, named.port, named.host[0] == '/' ? named.host : NULL, &found,
                                 note, sizeof note);
    if (proc >= 0) {
        close(proc);
    }
    if (!is_found) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "the server's process was not found%s%s: name it with --server-pid",
                  note[0] == '\0' ? "" : ": ", note);
        return STATUS_FATAL;
    }
    if (note[0] != '\0') {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "several servers listen on port %u: name your server's process with --server-pid",
                  (unsigned)named.port);
        return STATUS_FATAL;
    }
    if (found.start_ticks < since) {
        error_set(error, ERROR_SERVER, 0, NULL, "another server listens on port %u",
                  (unsigned)named.port);
        return STATUS_FATAL;
    }
    subject->pid = found.pid;
    subject->started = found.start_ticks;
    return STATUS_OK;
}

/* Checks --server-pid like the run command: the process that listens must be the given process, its
 * ancestor or its descendant. Does not check --server-pid 'PID!'. */
static enum status check_given(const struct subject *subject, struct error *error)
{
    const struct plan *plan = subject->plan;
    struct procfs_process holder;
    struct connection_info named = {.host = ""};
    target_fill_connection(plan, &named);
    const char *const path = named.host[0] == '/' ? named.host : NULL;
    const bool is_other =
        !plan->is_server_pid_forced && server_is_other(named.port, path, subject->pid, &holder);
    if (is_other) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--server-pid %d is not the server: port %u is held by %s (pid %d): leave the "
                  "option out, or write --server-pid %d! to break the process that you named",
                  (int)subject->pid, (unsigned)named.port, holder.name, (int)holder.pid,
                  (int)subject->pid);
    }
    return is_other ? STATUS_FATAL : STATUS_OK;
}

/* Finds the server's process, before the first fault. */
static enum status begin(struct subject *subject, const struct plan_texts *options,
                         struct error *error)
{
    (void)options;
    /* if the parent of a restarted server ends, the server becomes a child of this process, which
     * can then reap it */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    subject->pid = subject->plan->server_pid;
    const enum status status =
        subject->pid == 0 ? find_listening(subject, 0, error) : check_given(subject, error);
    if (status != STATUS_OK) {
        return STATUS_FATAL;
    }
    if (processes_is_of(getpid(), subject->pid)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--server-pid %d: append itself descends from this process: name the server's "
                  "process",
                  (int)subject->pid);
        return STATUS_FATAL;
    }
    if (kill(subject->pid, 0) != 0) {
        error_set(error, ERROR_USAGE, errno, NULL,
                  "append cannot send signals to the server's process %d: %s%s", (int)subject->pid,
                  strerror(errno),
                  errno == EPERM ? ": run append as root or as the server's user" : "");
        return STATUS_FATAL;
    }
    subject->started = processes_started(subject->pid);
    subject->since =
        (uint64_t)(mono_clock_ns(CLOCK_BOOTTIME) / 1000) * (uint64_t)sysconf(_SC_CLK_TCK) / 1000000;
    return STATUS_OK;
}

/* Reaps children of this process that have ended. */
static void reap(struct subject *subject)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid == subject->starter) {
            subject->starter = 0;
            subject->starter_status = status;
        }
        if (pid == subject->writers->pid) {
            subject->writers->pid = 0;
        }
    }
}

/* Fails if the server's process is not known or has ended. */
static enum status expect(struct subject *subject, struct error *error)
{
    if (is_running(subject)) {
        return STATUS_OK;
    }
    error_set(error, ERROR_SERVER, 0, NULL,
              subject->pid > 1 ? "the server's process %d had already ended"
                               : "the process of the restarted server was not found",
              (int)subject->pid);
    return STATUS_FATAL;
}

static enum status kill_all(struct subject *subject, struct error *error)
{
    const bool has_ended = !is_running(subject) || processes_kill(subject->pid, END_NS);
    reap(subject);
    subject->is_ending = !has_ended;
    if (!has_ended) {
        error_set(error, ERROR_SERVER, 0, NULL, "processes of the server do not end after SIGKILL");
        return STATUS_FATAL;
    }
    return STATUS_OK;
}

/* Shuts the server down cleanly, and waits until it has ended. Waits even after Ctrl-C, because the
 * server can be started again only after it has ended. */
static enum status shut(struct subject *subject, struct error *error)
{
    const int64_t until_ns = mono_now_ns() + END_NS;
    if (is_running(subject)) {
        kill(subject->pid, subject_shut_signal(subject));
    }
    while (is_running(subject) && mono_now_ns() <= until_ns) {
        reap(subject);
        mono_sleep(STEP_NS);
    }
    reap(subject);
    subject->is_ending = is_running(subject);
    if (subject->is_ending) {
        error_set(error, ERROR_SERVER, 0, NULL, "the server's process %d did not end in 30 s",
                  (int)subject->pid);
        return STATUS_FATAL;
    }
    return STATUS_OK;
}

/* Stops the server with SIGSTOP. A child process sends SIGCONT when this process closes `guarding`
 * or is killed. */
static enum status stop(struct subject *subject, struct error *error)
{
    int ends[2];
    char byte;
    subject->guard = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (subject->guard == 0) {
        setsid();
        close(ends[1]);
        while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
        }
        if (is_running(subject)) {
            processes_signal(subject->pid, true, SIGCONT);
        }
        _exit(EXIT_SUCCESS);
    }
    if (subject->guard < 0) {
        error_set(error, ERROR_SYSTEM, errno, NULL,
                  "client limit: cannot start the process that is to continue a stopped server: "
                  "%s",
                  strerror(errno));
        return STATUS_FATAL;
    }
    close(ends[0]);
    subject->guarding = ends[1];
    if (is_running(subject)) {
        processes_signal(subject->pid, true, SIGSTOP);
    }
    return STATUS_OK;
}

static enum status continue_server(struct subject *subject, struct error *error)
{
    (void)error;
    close(subject->guarding);
    processes_reap(subject->guard);
    return STATUS_OK;
}

static enum status start(struct subject *subject, struct error *error)
{
    const char *const argv[] = {"/bin/sh", "-c", subject->plan->certify.start, NULL};
    const struct child_start start = {
        .argv = argv, .in = -1, .out = subject->log, .err = subject->log, .kept = -1};
    const int number = child_start(&subject->starter, &start);
    interrupt_hold(NULL);
    if (number != 0) {
        error_set(error, ERROR_SYSTEM, number, NULL,
                  "--server-start: /bin/sh cannot be started: %s", strerror(number));
        return STATUS_FATAL;
    }
    subject->is_down = false;
    subject->pid = 0;
    subject->starter_status = 0;
    return STATUS_OK;
}

/* Fails if the command that starts the server has failed and the server does not listen. */
static enum status check(struct subject *subject, struct error *error)
{
    const int *status = &subject->starter_status;
    reap(subject);
    if (subject->pid > 0) {
        return STATUS_OK;
    }
    struct error ignored = {.kind = ERROR_NONE};
    if (find_listening(subject, subject->since, &ignored) == STATUS_OK || *status == 0) {
        return STATUS_OK; /* the server may not listen yet */
    }
    error_set(error, ERROR_SERVER, 0, NULL, "--server-start failed with %s %d",
              WIFSIGNALED(*status) ? "signal" : "exit code",
              WIFSIGNALED(*status) ? WTERMSIG(*status) : WEXITSTATUS(*status));
    return STATUS_FATAL;
}

/* Mounts the server's file system again if its power was cut, and starts the server if a fault has
 * ended it. If the file system cannot be mounted, does not start the server, because some start
 * commands would make a new database in the empty folder. */
static void end(struct subject *subject)
{
    struct error error = {.kind = ERROR_NONE};
    disk_destroy(&subject->disk);
    if (subject->disk.is_cut) {
        notice_print(
            "the server is not started, because its file system is not mounted: mount it, then "
            "run: %s",
            subject->plan->certify.start);
    } else if (subject->is_ending && is_running(subject)) {
        notice_print(
            "the server's process %d has not ended yet: wait until it has ended, then run: %s",
            (int)subject->pid, subject->plan->certify.start);
    } else if (subject->is_down && !is_running(subject) && start(subject, &error) != STATUS_OK) {
        notice_print("%s; run: %s", error.text, subject->plan->certify.start);
    }
    /* a second call does nothing */
    subject->is_down = subject->is_ending = subject->disk.is_cut = false;
    interrupt_hold(NULL);
}

static enum status order(struct subject *subject, enum server_order order, struct error *error)
{
    static enum status (*const orders[])(struct subject *, struct error *) = {
        [SERVER_START] = start,   [SERVER_CHECK] = check, [SERVER_EXPECT] = expect,
        [SERVER_KILL] = kill_all, [SERVER_STOP] = stop,   [SERVER_CONTINUE] = continue_server,
        [SERVER_SHUT] = shut};
    return orders[order](subject, error);
}

const struct subject_kind subject_theirs = {.begin = begin, .order = order, .end = end};
