#include "sweep/run_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mono.h"

static const char program[] = "/proc/self/exe";

static _Atomic pid_t running; /* 0 = no child */

/* The child stands still while the sweep does. */
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

void run_process_prepare(void)
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

/* In the child: only calls that are safe after a fork. Never returns. */
static void become(const char *const argv[], int log, int lock, int report, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0 &&
        dup2(log, STDERR_FILENO) >= 0 && fcntl(lock, F_SETFD, 0) == 0 && setpgid(0, 0) == 0 &&
        prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && sigprocmask(SIG_SETMASK, &none, NULL) == 0) {
        if (getppid() != parent) {
            _exit(EXIT_FAILURE); /* the sweep was killed before the request to be told of it */
        }
        char *const *texts; /* which execv does not change, whatever its type says */
        memcpy(&texts, &argv, sizeof texts);
        execv(program, texts);
    }
    const int number = errno;
    const ssize_t written = write(report, &number, sizeof number);
    (void)written;
    _exit(EXIT_FAILURE);
}

static enum status fail(int number, const char *what, struct error *error)
{
    error_set(error, ERROR_SYSTEM, number, NULL, "%.160s: %s", what, strerror(number));
    return STATUS_REJECTED;
}

/* Waits until the program is in place; 0, or why it is not. */
static int read_report(int report)
{
    int number = 0;
    ssize_t length;
    do {
        length = read(report, &number, sizeof number);
    } while (length < 0 && errno == EINTR);
    return length == (ssize_t)sizeof number ? number : 0;
}

enum status run_process_start(pid_t *pid, const char *const argv[], const char *log_path, int lock,
                              struct error *error)
{
    int report[2];
    unlink(log_path); /* of a run before, or a pipe without a reader */
    const int log =
        open(log_path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (log < 0) {
        return fail(errno, log_path, error);
    }
    if (pipe2(report, O_CLOEXEC) != 0) {
        const int number = errno;
        close(log);
        return fail(number, "cannot start a run", error);
    }
    const pid_t parent = getpid();
    *pid = fork();
    if (*pid == 0) {
        become(argv, log, lock, report[1], parent);
    }
    int number = *pid < 0 ? errno : 0;
    close(log);
    close(report[1]);
    if (*pid > 0) {
        number = read_report(report[0]);
    }
    close(report[0]);
    if (number == 0) {
        atomic_store(&running, *pid);
        return STATUS_OK;
    }
    if (*pid > 0) {
        waitpid(*pid, NULL, 0);
    }
    return fail(number, "cannot start a run", error);
}

bool run_process_wait(pid_t pid, int64_t timeout_ns, struct run_process_end *end)
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
    *end = (struct run_process_end){
        .signal = found > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0,
        .code = found < 0           ? -1
                : WIFEXITED(status) ? WEXITSTATUS(status)
                                    : 0,
    };
    return true;
}

void run_process_interrupt(pid_t pid)
{
    kill(pid, SIGINT);
}
