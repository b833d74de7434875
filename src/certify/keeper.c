#include "certify/own_server.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/process.h"
#include "certify/processes.h"

#define MAKE_NS (120 * MONO_NS_PER_S)
#define SHUT_NS (60 * MONO_NS_PER_S)
/* long, because killing thousands of processes takes a while */
#define KILL_NS (120 * MONO_NS_PER_S)
#define KILL_AGAIN_NS (100 * MONO_NS_PER_MS)
#define STEP_NS (2 * MONO_NS_PER_MS)

enum {
    IDLE_MS = 200
};

struct answer {
    enum status status;
    int number; /* errno; 0: no error number */
    char text[160];
};

/* The keeper's own state. */
struct self {
    const struct keeper_server *server;
    bool has_namespace;
    pid_t pid;  /* the server's process; 0: not running */
    int status; /* the server's status that waitpid returned, valid after the server has ended */
};

/* Reaps every child that has ended. Returns false if no child is left. */
static bool reap(struct self *self)
{
    for (;;) {
        int status = 0;
        const pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid == 0) {
            return true;
        }
        if (pid < 0 && errno != EINTR) {
            return false;
        }
        if (pid > 0 && pid == self->pid) {
            self->pid = 0;
            self->status = status;
        }
    }
}

static struct answer answer(enum status status, int number, const char *text)
{
    struct answer made = {.status = status, .number = number};
    snprintf(made.text, sizeof made.text, "%s", text);
    return made;
}

static struct answer answer_end(const char *what, int status)
{
    struct answer made = {.status = STATUS_FATAL};
    if (WIFSIGNALED(status)) {
        snprintf(made.text, sizeof made.text, "%s: ended by signal %d", what, WTERMSIG(status));
    } else {
        snprintf(made.text, sizeof made.text, "%s: ended with exit code %d", what,
                 WEXITSTATUS(status));
    }
    return made;
}

static const char *const environment_words[] = {
    "LC_ALL=C", "TZ=UTC", "HOME=/",
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL};

/* Starts a program as the server's user. Returns its pid, or -1. */
static pid_t spawn(const struct self *self, const char *const *argv)
{
    const struct keeper_server *server = self->server;
    const pid_t pid = fork();
    if (pid != 0) {
        return pid;
    }
    char *const *texts; /* execve does not change the array or the texts, although its parameters
                           are not const */
    char *const *variables;
    const char *const *const environment = environment_words;
    memcpy(&texts, &argv, sizeof texts);
    memcpy(&variables, &environment, sizeof variables);
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    const bool is_user =
        server->user == 0 || (setgroups(1, &server->group) == 0 && setgid(server->group) == 0 &&
                              setuid(server->user) == 0);
    if (is_user && setsid() >= 0 && chdir(server->folder) == 0 && dup2(null, 0) == 0 &&
        dup2(server->log, 1) == 1 && dup2(server->log, 2) == 2 &&
        sigprocmask(SIG_SETMASK, &none, NULL) == 0) {
        execve(argv[0], texts, variables);
    }
    dprintf(2, "append: cannot start %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static void signal_all(const struct self *self, int number)
{
    if (self->has_namespace) {
        kill(-1, number); /* signals all processes of the namespace except this one */
    } else {
        processes_signal(getpid(), false, number);
    }
}

static struct answer kill_all(struct self *self)
{
    const int64_t begin_ns = mono_now_ns();
    int64_t again_ns = begin_ns;
    while (reap(self)) {
        const int64_t now_ns = mono_now_ns();
        if (now_ns > begin_ns + KILL_NS) {
            return answer(STATUS_FATAL, 0, "processes of the server do not end after SIGKILL");
        }
        if (now_ns >= again_ns) {
            /* again, because processes may have been forked meanwhile */
            signal_all(self, SIGKILL);
            again_ns = now_ns + KILL_AGAIN_NS;
        }
        mono_sleep(STEP_NS);
    }
    return answer(STATUS_OK, 0, "");
}

/* Waits until the latest child that was started has ended. Returns false after `limit_ns`. */
static bool wait_for_end(struct self *self, int64_t limit_ns)
{
    const int64_t until_ns = mono_now_ns() + limit_ns;
    while (reap(self) && self->pid != 0) {
        if (mono_now_ns() > until_ns) {
            return false;
        }
        mono_sleep(STEP_NS);
    }
    return self->pid == 0;
}

static struct answer make(struct self *self)
{
    self->pid = spawn(self, self->server->make);
    if (self->pid < 0) {
        self->pid = 0;
        return answer(STATUS_FATAL, errno, self->server->make[0]);
    }
    if (!wait_for_end(self, MAKE_NS)) {
        kill_all(self);
        return answer(STATUS_FATAL, 0, "the data directory was not made in 120 s");
    }
    return self->status == 0 ? answer(STATUS_OK, 0, "")
                             : answer_end(self->server->make[0], self->status);
}

static struct answer carry_out(struct self *self, enum server_order order)
{
    switch (order) {
    case SERVER_MAKE:
        return make(self);
    case SERVER_START:
        self->pid = spawn(self, self->server->start);
        if (self->pid < 0) {
            self->pid = 0;
            return answer(STATUS_FATAL, errno, self->server->start[0]);
        }
        return answer(STATUS_OK, 0, "");
    case SERVER_CHECK:
        reap(self);
        return self->pid != 0 ? answer(STATUS_OK, 0, "")
                              : answer_end(self->server->start[0], self->status);
    case SERVER_KILL:
        return kill_all(self);
    case SERVER_STOP:
    case SERVER_CONTINUE:
        signal_all(self, order == SERVER_STOP ? SIGSTOP : SIGCONT);
        return answer(STATUS_OK, 0, "");
    case SERVER_SHUT:
        if (self->pid != 0) {
            kill(self->pid, self->server->shut_signal);
        }
        return wait_for_end(self, SHUT_NS)
                   ? answer(STATUS_OK, 0, "")
                   : answer(STATUS_FATAL, 0, "the server did not end in 60 s");
    case SERVER_EXPECT: /* no keeper gets this order */
        break;
    }
    return answer(STATUS_FATAL, 0, "unknown order");
}

/* The work of the keeper's process: carries out orders until the main process closes the channel or
 * ends, then kills the server. */
static void keep(struct self *self, int channel)
{
    struct pollfd waiting = {.fd = channel, .events = POLLIN};
    for (;;) {
        reap(self);
        if (poll(&waiting, 1, IDLE_MS) <= 0) {
            continue;
        }
        enum server_order order;
        if (recv(channel, &order, sizeof order, 0) != (ssize_t)sizeof order) {
            break;
        }
        const struct answer done = carry_out(self, order);
        if (send(channel, &done, sizeof done, MSG_NOSIGNAL) != (ssize_t)sizeof done) {
            break;
        }
    }
    kill_all(self);
}

/* Starts the keeper's process like fork, and in its own namespaces if the system allows this. */
static pid_t fork_keeper(bool *has_namespace)
{
    const unsigned long flags = CLONE_NEWPID | CLONE_NEWIPC | SIGCHLD;
    pid_t pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
    *has_namespace = pid >= 0;
    if (pid < 0) {
        pid = fork();
    }
    return pid;
}

enum status keeper_begin(struct keeper *keeper, const struct keeper_server *server,
                         struct error *error)
{
    int channels[2] = {-1, -1};
    *keeper = (struct keeper){.channel = -1};
    struct self self = {.server = server};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channels) == 0) {
        keeper->pid = fork_keeper(&self.has_namespace);
    }
    if (channels[0] >= 0 && keeper->pid == 0) {
        processes_serve();
        if (!self.has_namespace) {
            /* without a namespace, only a keeper that outlives the main process can end the
             * server */
            prctl(PR_SET_PDEATHSIG, 0);
        }
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        setsid();
        close(channels[0]);
        keep(&self, channels[1]);
        _exit(EXIT_SUCCESS);
    }
    if (channels[1] >= 0) {
        close(channels[1]);
    }
    if (channels[0] < 0 || keeper->pid < 0) {
        error_set(error, ERROR_SYSTEM, errno, NULL,
                  "client limit: cannot start a process for the server: %s", strerror(errno));
        keeper->pid = 0;
        if (channels[0] >= 0) {
            close(channels[0]);
        }
        return STATUS_FATAL;
    }
    keeper->channel = channels[0];
    keeper->has_namespace = self.has_namespace;
    return STATUS_OK;
}

enum status keeper_order(struct keeper *keeper, enum server_order order, struct error *error)
{
    struct answer done = {.status = STATUS_FATAL,
                          .text = "append's process that runs the server has ended"};
    struct pollfd waiting = {.fd = keeper->channel, .events = POLLIN};
    bool is_answered = false;
    if (send(keeper->channel, &order, sizeof order, MSG_NOSIGNAL) < 0) {
        waiting.fd = -1;
    }
    while (waiting.fd >= 0 && !is_answered && !interrupt_requested()) {
        if (poll(&waiting, 1, IDLE_MS) > 0) {
            is_answered = recv(keeper->channel, &done, sizeof done, 0) > 0;
            waiting.fd = is_answered ? waiting.fd : -1; /* the keeper has ended */
        }
    }
    if (done.status != STATUS_OK) {
        error_set(error, ERROR_SERVER, done.number, NULL, "%s%s%s", done.text,
                  done.number != 0 ? ": " : "", done.number != 0 ? strerror(done.number) : "");
    }
    return done.status;
}

void keeper_end(struct keeper *keeper)
{
    if (keeper->pid > 0) {
        close(keeper->channel); /* the keeper then ends the server and itself */
        if (keeper->has_namespace) {
            /* the kernel then kills all other processes of the keeper's namespace */
            kill(keeper->pid, SIGKILL);
        }
        processes_reap(keeper->pid);
        keeper->pid = 0;
    }
}
