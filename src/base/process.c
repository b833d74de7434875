#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/text.h"

enum {
    LINE_BYTES = 2048,
    DEFAULT_COLUMNS = 80
};

/* timeout(1) sends a signal to a process and then to the process's group. Two signals within this
 * time count as one. */
#define SAME_SIGNAL_NS (200 * MONO_NS_PER_MS)

static _Atomic int64_t first_signal_ns; /* moment of the first signal; 0 = no signal yet */
static atomic_bool is_closed;
/* why a second signal does not end the process; NULL = a second signal ends it */
static const char *_Atomic hold_reason;

static void on_signal(int number)
{
    static const char second[] = "\nappend: ended immediately by a second signal\n";
    (void)number;
    int64_t first_ns = 0;
    const int64_t now_ns = mono_now_ns();
    if (atomic_load(&is_closed) ||
        atomic_compare_exchange_strong(&first_signal_ns, &first_ns, now_ns) ||
        now_ns - first_ns <= SAME_SIGNAL_NS) {
        return;
    }
    /* the calls must not wait for a reader */
    const char *hold = atomic_load(&hold_reason);
    if (hold != NULL) {
        notice_write(STDERR_FILENO, hold, strlen(hold), 0);
        return;
    }
    notice_write(STDERR_FILENO, second, sizeof second - 1, 0);
    _exit(EXIT_CODE_INTERRUPTED);
}

void interrupt_hold(const char *why)
{
    atomic_store(&hold_reason, why);
}

void interrupt_install(void)
{
    struct sigaction action = {.sa_flags = SA_RESTART, .sa_handler = on_signal};
    struct sigaction inherited = {0};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, NULL, &inherited);
    /* SIGHUP stays ignored if it was ignored, as nohup intends. SIGINT is caught even if SIGINT was
     * ignored: a shell script starts background jobs with SIGINT ignored, but users still expect
     * kill -INT to work. */
    if (inherited.sa_handler != SIG_IGN) {
        sigaction(SIGHUP, &action, NULL);
    }
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    /* SIGXFSZ is ignored, as is SIGPIPE, so that write returns an error when a file exceeds its
     * size limit */
    sigaction(SIGXFSZ, &action, NULL);
}

bool interrupt_requested(void)
{
    return atomic_load(&first_signal_ns) != 0;
}

bool interrupt_close(void)
{
    atomic_store(&is_closed, true);
    return interrupt_requested();
}

/* MARGIN_BYTES: the stack below its own frame that stack_release_unused needs for the call of
 * madvise. LEAST_BYTES: the minimum stack size of a thread. Both are larger with sanitizers. */
enum {
#ifdef APPEND_IS_SANITIZED
    MARGIN_BYTES = 128 * 1024,
    LEAST_BYTES = 4 * 1024 * 1024,
#else
    MARGIN_BYTES = 4096,
    LEAST_BYTES = 256 * 1024, /* every command works with 192 KiB */
#endif
};

enum status stack_prepare(struct error *error)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= LEAST_BYTES) {
        return STATUS_OK;
    }
    const rlim_t found = limit.rlim_cur;
    limit.rlim_cur = LEAST_BYTES;
    limit.rlim_max = limit.rlim_max < LEAST_BYTES ? LEAST_BYTES : limit.rlim_max;
    if (setrlimit(RLIMIT_STACK, &limit) != 0) {
        error_set(
            error, ERROR_LIMIT, errno, NULL,
            "the stack limit is %llu KiB (ulimit -s), but append needs %d KiB: raise the limit "
            "before starting append",
            (unsigned long long)found / 1024, LEAST_BYTES / 1024);
        return STATUS_REJECTED;
    }
    /* the C library has read the old limit at the start of the program, so set the default stack
     * size of threads separately */
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, LEAST_BYTES);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
    return STATUS_OK;
}

bool process_has_own_pid_namespace(void)
{
    char link[64] = "";
    return readlink("/proc/self/ns/pid", link, sizeof link - 1) > 0 &&
           strcmp(link, "pid:[4026531836]") != 0; /* the number of the machine's namespace */
}

int thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *argument)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    const size_t least = (size_t)PTHREAD_STACK_MIN;
    sigset_t all, before;
    pthread_attr_t attributes;
    int code = pthread_attr_init(&attributes);
    if (code != 0) {
        return code;
    }
    if (stack_bytes > 0) {
        pthread_attr_setstacksize(&attributes, stack_bytes > least ? stack_bytes : least);
    }
    sigfillset(&all);
    /* do not block the signals that a defect of the thread raises: a blocked signal would end the
     * program without a report */
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        sigdelset(&all, faults[i]);
    }
    pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(thread, &attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return code;
}

void thread_cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void stack_release_unused(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const uintptr_t start = ((uintptr_t)low + page - 1) & ~(page - 1);
    const uintptr_t end = (here - MARGIN_BYTES) & ~(page - 1);
    if (end > start && end - start < size) {
        madvise((char *)low + (start - (uintptr_t)low), end - start, MADV_DONTNEED);
    }
}

enum exit_code usage_refuse(struct error *error, const char *format, ...)
{
    char text[ERROR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    error_set(error, ERROR_USAGE, 0, NULL, "%s", text);
    return EXIT_CODE_USAGE;
}

static bool wait_for_room(int fd, int64_t deadline_ns)
{
    for (;;) {
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        const int64_t left_ns = deadline_ns - mono_now_ns();
        const int found = poll(&room, 1, left_ns > 0 ? (int)(left_ns / MONO_NS_PER_MS) + 1 : 0);
        if (found >= 0 || errno != EINTR || left_ns <= 0) {
            return found > 0 && (room.revents & POLLOUT) != 0;
        }
    }
}

bool notice_write(int fd, const char *text, size_t length, int64_t patience_ns)
{
    const int number = errno;
    const int64_t deadline_ns = mono_now_ns() + patience_ns;
    struct stat about = {.st_mode = 0};
    fstat(fd, &about);
    /* open the pipe or terminal a second time, so that only this file description is non-blocking
     * and not the description that other programs share */
    const bool can_block = S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode);
    const int own = can_block && fd == STDERR_FILENO
                        ? open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                        : -1;
    /* the terminal of another account cannot be opened again. Write to it one byte at a time,
     * because poll promises room for one byte only */
    const size_t most = own < 0 && S_ISCHR(about.st_mode) ? 1 : length;
    size_t done = 0;
    while (done < length && wait_for_room(own < 0 ? fd : own, deadline_ns)) {
        const size_t left = length - done;
        const ssize_t written = write(own < 0 ? fd : own, text + done, left < most ? left : most);
        if (written < 0 && (errno != EAGAIN || mono_now_ns() >= deadline_ns)) {
            break;
        }
        done += written > 0 ? (size_t)written : 0;
    }
    if (own >= 0) {
        close(own);
    }
    errno = number;
    return done == length;
}

void notice_print(const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    struct notice notice = {.fd = STDERR_FILENO};
    notice_keep(&notice, line);
}

void notice_init(struct notice *notice, int fd)
{
    const char *terminal = getenv("TERM");
    const bool is_dumb = terminal != NULL && strcmp(terminal, "dumb") == 0;
    *notice = (struct notice){.fd = fd, .is_terminal = !is_dumb && isatty(fd) == 1};
}

unsigned notice_columns(const struct notice *notice)
{
    struct winsize size;
    if (!notice->is_terminal) {
        return 0;
    }
    const bool is_known = ioctl(notice->fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    /* leave the last column free, because a terminal may wrap the line after a character there */
    const unsigned columns = is_known ? size.ws_col : DEFAULT_COLUMNS;
    return columns > 1 ? columns - 1 : 1;
}

/* Writes the line in one call, so that output of other processes cannot appear within the line. */
static void write_line(const struct notice *notice, const char *before, const char *line,
                       const char *after)
{
    char text[LINE_BYTES + 8];
    int length = snprintf(text, sizeof text, "%s%.*s%s", before, LINE_BYTES - 1, line, after);
    notice_write(notice->fd, text, (size_t)length, 0);
}

void notice_show(struct notice *notice, const char *line)
{
    if (notice->is_terminal) {
        write_line(notice, "\r", line, "\x1b[K");
        notice->is_open = true;
    } else {
        notice_keep(notice, line);
    }
}

void notice_keep(struct notice *notice, const char *line)
{
    write_line(notice, notice->is_open ? "\r\x1b[K" : "", line, "\n");
    notice->is_open = false;
}

void notice_end(struct notice *notice)
{
    if (notice->is_open) {
        write_line(notice, "\r", "", "\x1b[K");
        notice->is_open = false;
    }
}
