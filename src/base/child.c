#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/process.h"

enum {
    OUTPUT_BYTES_MAX = 4 << 20,
    POLL_STEP_MS = 50
};
#define WAIT_STEP_NS (5 * MONO_NS_PER_MS)

static _Atomic pid_t running; /* the child that was started last; 0 = no child is running */

/* Handles SIGTSTP: stops the child, then this program. When this program continues, lets the child
 * continue. */
static void on_stop(int number)
{
    (void)number;
    const int number_before = errno;
    const pid_t pid = atomic_load(&running);
    if (pid > 0) {
        kill(-pid, SIGSTOP);
    }
    raise(SIGSTOP);
    if (pid > 0) {
        kill(-pid, SIGCONT);
    }
    errno = number_before;
}

void child_prepare_waits(void)
{
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, NULL);
    struct sigaction inherited;
    if (sigaction(SIGTSTP, NULL, &inherited) == 0 && inherited.sa_handler == SIG_DFL) {
        struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        sigaction(SIGTSTP, &action, NULL);
    }
}

/* Executes the program in the child. Makes only calls that are safe after a fork. Never returns;
 * writes errno to `report` when the program cannot be executed. */
static void execute(const struct child_start *start, int report, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (dup2(start->in < 0 ? null : start->in, 0) == 0 &&
        dup2(start->out < 0 ? null : start->out, 1) == 1 &&
        dup2(start->err < 0 ? null : start->err, 2) == 2 &&
        (start->kept < 0 || fcntl(start->kept, F_SETFD, 0) == 0) && setpgid(0, 0) == 0 &&
        (!start->ends_with_us || prctl(PR_SET_PDEATHSIG, SIGTERM) == 0) &&
        sigprocmask(SIG_SETMASK, &none, NULL) == 0) {
        if (getppid() != parent) {
            _exit(EXIT_FAILURE); /* the parent was killed before PR_SET_PDEATHSIG was set */
        }
        /* exec does not modify argv, although its parameter is not const */
        char *const *texts;
        memcpy(&texts, &start->argv, sizeof texts);
        if (start->program == NULL) {
            execvp(texts[0], texts);
        } else {
            execv(start->program, texts);
        }
    }
    const int number = errno;
    const ssize_t written = write(report, &number, sizeof number);
    (void)written;
    _exit(EXIT_FAILURE);
}

int child_start(pid_t *pid, const struct child_start *start)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) {
        return errno;
    }
    const pid_t parent = getpid();
    *pid = fork();
    if (*pid == 0) {
        execute(start, report[1], parent);
    }
    int number = *pid < 0 ? errno : 0;
    close(report[1]);
    if (*pid > 0) { /* reads nothing when exec has succeeded */
        while (read(report[0], &number, sizeof number) < 0 && errno == EINTR) {
        }
    }
    close(report[0]);
    if (number == 0) {
        atomic_store(&running, *pid);
    } else if (*pid > 0) {
        waitpid(*pid, NULL, 0);
    }
    return number;
}

bool child_wait(pid_t pid, int64_t timeout_ns, struct child_end *end)
{
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    const struct timespec timeout = {.tv_sec = timeout_ns / MONO_NS_PER_S,
                                     .tv_nsec = timeout_ns % MONO_NS_PER_S};
    int status = 0;
    pid_t found = waitpid(pid, &status, WNOHANG);
    if (found == 0) {
        sigtimedwait(&ended, NULL, &timeout);
        found = waitpid(pid, &status, WNOHANG);
    }
    if (found == 0 || (found < 0 && errno == EINTR)) {
        return false;
    }
    atomic_store(&running, 0);
    *end = (struct child_end){.code = found < 0 ? -1 : 0};
    if (found > 0 && WIFSIGNALED(status)) {
        end->signal = WTERMSIG(status);
    } else if (found > 0 && WIFEXITED(status)) {
        end->code = WEXITSTATUS(status);
    }
    return true;
}

static void close_end(int *end)
{
    if (*end >= 0) {
        close(*end);
    }
    *end = -1;
}

/* How long a child may run: until deadline_ns or, if earlier, until an interrupt. An interrupt
 * before the child's start does not end the child. */
struct run_limit {
    int64_t deadline_ns;
    bool was_interrupted;
};

/* Returns whether the child must be ended, and sets errno to EINTR (interrupt) or ETIMEDOUT. The
 * function checks for an interrupt because a terminal's Ctrl-C does not reach the child's process
 * group. */
static bool is_past(const struct run_limit *limit)
{
    errno = interrupt_requested() && !limit->was_interrupted ? EINTR : ETIMEDOUT;
    return errno == EINTR || mono_now_ns() >= limit->deadline_ns;
}

/* Reads available output into *buffer, and closes the pipe when the output has ended. Returns false
 * and sets errno on an error, and when the output is too long (EFBIG). */
static bool read_output(int *end, struct buffer *buffer)
{
    char bytes[4096];
    const ssize_t length = read(*end, bytes, sizeof bytes);
    if (length == 0) {
        close_end(end);
    } else if (length > 0) {
        buffer_add(buffer, bytes, (size_t)length);
        errno = buffer_failed(buffer) ? ENOMEM : EFBIG;
        return !buffer_failed(buffer) && buffer->length <= OUTPUT_BYTES_MAX;
    }
    return length == 0 || errno == EINTR;
}

enum child_result child_run(struct child_output *output, const char *const argv[], int in,
                            int64_t timeout_ns)
{
    *output = (struct child_output){.end.code = -1};
    const struct run_limit limit = {.deadline_ns = mono_now_ns() + timeout_ns,
                                    .was_interrupted = interrupt_requested()};
    /* the read end and the write end of each pipe; -1 = closed */
    int out[] = {-1, -1}, err[] = {-1, -1};
    pid_t pid = 0;
    int reason = pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0 ? 0 : errno;
    if (reason == 0) {
        const struct child_start start = {
            .argv = argv, .in = in, .out = out[1], .err = err[1], .kept = -1};
        reason = child_start(&pid, &start);
    }
    close_end(&out[1]);
    close_end(&err[1]);
    bool is_ok = reason == 0;
    while (is_ok && (out[0] >= 0 || err[0] >= 0)) {
        struct pollfd ends[] = {{.fd = out[0], .events = POLLIN}, {.fd = err[0], .events = POLLIN}};
        const int ready = poll(ends, 2, POLL_STEP_MS);
        is_ok = (ready >= 0 || errno == EINTR) && !is_past(&limit) &&
                (ready <= 0 || ends[0].revents == 0 || read_output(&out[0], &output->out)) &&
                (ready <= 0 || ends[1].revents == 0 || read_output(&err[0], &output->err));
    }
    /* the program may still run after it has closed its output */
    while (is_ok && !child_wait(pid, WAIT_STEP_NS, &output->end)) {
        is_ok = !is_past(&limit);
    }
    const int unfinished = errno;
    close_end(&out[0]);
    close_end(&err[0]);
    if (reason != 0) {
        errno = reason;
        return reason == ENOENT ? CHILD_NOT_FOUND : CHILD_FAILED;
    }
    if (!is_ok) {
        kill(-pid, SIGKILL);
        while (!child_wait(pid, MONO_NS_PER_S, &output->end)) {
        }
        errno = unfinished;
        return unfinished == ETIMEDOUT ? CHILD_TIMED_OUT : CHILD_FAILED;
    }
    return output->end.signal != 0 ? CHILD_KILLED : CHILD_EXITED;
}

void child_output_fini(struct child_output *output)
{
    buffer_fini(&output->out);
    buffer_fini(&output->err);
}
