#include "base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/mono.h"

enum {
    OUTPUT_BYTES_MAX = 4 << 20,
    NOT_STARTED_STATUS = 127,
    WAIT_STEP_NS = 5 * 1000 * 1000,
    POLL_STEP_MS = 50
};

struct pipes {
    int out[2]; /* read, write; -1 = closed */
    int err[2];
};

static void close_end(int *end)
{
    if (*end >= 0) {
        close(*end);
    }
    *end = -1;
}

static void close_pipes(struct pipes *pipes)
{
    for (int i = 0; i < 2; i++) {
        close_end(&pipes->out[i]);
        close_end(&pipes->err[i]);
    }
}

static bool open_pipes(struct pipes *pipes)
{
    *pipes = (struct pipes){.out = {-1, -1}, .err = {-1, -1}};
    return pipe2(pipes->out, O_CLOEXEC) == 0 && pipe2(pipes->err, O_CLOEXEC) == 0;
}

/* Returns errno. The child gets the signals as a program from a shell does: this one ignores some.
 * It leads a process group, so that its own children can be ended with it. */
static int start(pid_t *pid, char *const argv[], const struct pipes *pipes)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int reason = posix_spawn_file_actions_init(&actions);
    if (reason != 0) {
        return reason;
    }
    reason = posix_spawnattr_init(&attributes);
    if (reason != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return reason;
    }
    sigset_t none;
    sigset_t usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    const int steps[] = {
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0),
        posix_spawn_file_actions_adddup2(&actions, pipes->out[1], STDOUT_FILENO),
        posix_spawn_file_actions_adddup2(&actions, pipes->err[1], STDERR_FILENO),
        posix_spawnattr_setsigmask(&attributes, &none),
        posix_spawnattr_setsigdefault(&attributes, &usual),
        posix_spawnattr_setpgroup(&attributes, 0),
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                  POSIX_SPAWN_SETPGROUP),
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        reason = reason == 0 ? steps[i] : reason;
    }
    if (reason == 0) {
        reason = posix_spawnp(pid, argv[0], &actions, &attributes, argv, environ);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return reason;
}

/* Takes what is there; closes the pipe at its end. False: errno. */
static bool take(int *end, struct buffer *buffer)
{
    char bytes[4096];
    const ssize_t length = read(*end, bytes, sizeof bytes);
    if (length == 0) {
        close_end(end);
    } else if (length > 0) {
        buffer_add(buffer, bytes, (size_t)length);
        if (buffer_failed(buffer) || buffer->length > OUTPUT_BYTES_MAX) {
            errno = buffer_failed(buffer) ? ENOMEM : EFBIG;
            return false;
        }
    }
    return length >= 0 || errno == EINTR;
}

/* True when nothing more is waited for: errno says why. A terminal's Ctrl-C does not reach the
 * child's process group. */
static bool is_over(int64_t deadline_ns)
{
    errno = interrupt_requested() ? EINTR : ETIMEDOUT;
    return errno == EINTR || mono_now_ns() >= deadline_ns;
}

/* Until both pipes are closed. False: errno. */
static bool read_all(struct subprocess *child, struct pipes *pipes, int64_t deadline_ns)
{
    while (pipes->out[0] >= 0 || pipes->err[0] >= 0) {
        if (is_over(deadline_ns)) {
            return false;
        }
        struct pollfd ends[] = {{.fd = pipes->out[0], .events = POLLIN},
                                {.fd = pipes->err[0], .events = POLLIN}};
        const int ready = poll(ends, 2, POLL_STEP_MS);
        if (ready < 0 && errno != EINTR) {
            return false;
        }
        if (ready > 0 && ((ends[0].revents != 0 && !take(&pipes->out[0], &child->out)) ||
                          (ends[1].revents != 0 && !take(&pipes->err[0], &child->err)))) {
            return false;
        }
    }
    return true;
}

/* A program can close its output and go on. False: it still runs, and errno says why that is all.
 */
static bool wait_for(pid_t pid, int *wait_status, int64_t deadline_ns)
{
    for (;;) {
        const pid_t ended = waitpid(pid, wait_status, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR)) {
            return true;
        }
        if (is_over(deadline_ns)) {
            return false;
        }
        mono_sleep(WAIT_STEP_NS);
    }
}

enum subprocess_end subprocess_run(struct subprocess *child, char *const argv[], int64_t timeout_ns)
{
    *child = (struct subprocess){.exit_status = -1};
    buffer_init(&child->out);
    buffer_init(&child->err);
    const int64_t deadline_ns = mono_now_ns() + timeout_ns;
    struct pipes pipes;
    pid_t pid = 0;
    int reason = open_pipes(&pipes) ? 0 : errno;
    if (reason == 0) {
        reason = start(&pid, argv, &pipes);
    }
    if (reason != 0) {
        close_pipes(&pipes);
        errno = reason;
        return reason == ENOENT ? SUBPROCESS_NOT_FOUND : SUBPROCESS_FAILED;
    }
    close_end(&pipes.out[1]);
    close_end(&pipes.err[1]);
    int wait_status = 0;
    const bool has_ended =
        read_all(child, &pipes, deadline_ns) && wait_for(pid, &wait_status, deadline_ns);
    reason = errno;
    close_pipes(&pipes);
    if (!has_ended) {
        kill(-pid, SIGKILL);
        while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
        }
        errno = reason;
        return reason == ETIMEDOUT ? SUBPROCESS_TIMED_OUT : SUBPROCESS_FAILED;
    }
    if (!WIFEXITED(wait_status)) {
        return SUBPROCESS_KILLED;
    }
    child->exit_status = WEXITSTATUS(wait_status);
    /* how posix_spawn may tell it where the two share no memory */
    const bool is_missing = child->exit_status == NOT_STARTED_STATUS && child->out.length == 0 &&
                            child->err.length == 0;
    return is_missing ? SUBPROCESS_NOT_FOUND : SUBPROCESS_EXITED;
}

void subprocess_fini(struct subprocess *child)
{
    buffer_fini(&child->out);
    buffer_fini(&child->err);
}
