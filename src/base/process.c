#include "base/process.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/notice.h"

/* timeout(1) signals a process and then its group: what comes this close is one request. */
#define SAME_REQUEST_NS (200 * MONO_NS_PER_MS)

static _Atomic int64_t first_signal_ns; /* 0 = none yet */
static atomic_bool is_closed;

static void on_signal(int number)
{
    static const char second[] = "\nappend: ended at once by a second signal\n";
    (void)number;
    int64_t first_ns = 0;
    const int64_t now_ns = mono_now_ns();
    if (atomic_load(&is_closed) ||
        atomic_compare_exchange_strong(&first_signal_ns, &first_ns, now_ns) ||
        now_ns - first_ns <= SAME_REQUEST_NS) {
        return;
    }
    notice_write(STDERR_FILENO, second, sizeof second - 1, 0); /* this must not wait for a reader */
    _exit(EXIT_CODE_INTERRUPTED);
}

void interrupt_install(void)
{
    struct sigaction action = {.sa_flags = SA_RESTART, .sa_handler = on_signal};
    struct sigaction inherited = {0};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, NULL, &inherited);
    /* nohup means it; SIGINT is ignored in every background job of a script, where a kill -INT that
     * did nothing would surprise */
    if (inherited.sa_handler != SIG_IGN) {
        sigaction(SIGHUP, &action, NULL);
    }
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    /* a file-size limit is then an error of the write, too */
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

/* Below the caller's frame: what the call itself uses. Sanitizers stand between it and the system.
 */
enum {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    MARGIN_BYTES = 128 * 1024,
    LEAST_BYTES = 4 * 1024 * 1024,
#else
    MARGIN_BYTES = 4096,
    LEAST_BYTES = 256 * 1024, /* every command passes with 192 KiB */
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
        error_set(error, ERROR_LIMIT, errno, NULL,
                  "a stack may have %llu KiB here (ulimit -s), append needs %d KiB: start it where "
                  "the limit is higher",
                  (unsigned long long)found / 1024, LEAST_BYTES / 1024);
        return STATUS_REJECTED;
    }
    /* the C library read the limit before it was raised */
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, LEAST_BYTES);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
    return STATUS_OK;
}

int thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *argument)
{
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

void stack_give_back(void)
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
