#include "base/deadline.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    TICK_MS = 100,
    TICKS_PER_S = 1000 / TICK_MS,
    SLICE_NS = 200000000,
    NS_PER_S = 1000000000,
};
#define STACK_BYTES ((size_t)64 * 1024)

static enum deadline_result judge(const struct deadline *deadline, unsigned long ticks)
{
    if (deadline->is_cancelled != NULL && deadline->is_cancelled()) {
        return DEADLINE_CANCELLED;
    }
    return ticks < (unsigned long)deadline->timeout_s * TICKS_PER_S ? DEADLINE_KEPT
                                                                    : DEADLINE_PASSED;
}

/* The socket is shut down again with every tick: a library may try a second server. */
static void *watch_over(void *argument)
{
    struct deadline *deadline = argument;
    struct pollfd wake = {.fd = deadline->wake, .events = POLLIN};
    unsigned long ticks = 0;
    for (int woken = 0; woken <= 0;) {
        woken = poll(&wake, 1, TICK_MS);
        ticks += woken == 0 ? 1 : 0;
        if (woken <= 0 && atomic_load(&deadline->result) == DEADLINE_KEPT) {
            atomic_store(&deadline->result, judge(deadline, ticks));
        }
        if (atomic_load(&deadline->result) != DEADLINE_KEPT) {
            client_socket_shutdown(deadline->socket);
        }
    }
    return NULL;
}

static int start_thread(struct deadline *deadline)
{
    pthread_attr_t attributes;
    int code = pthread_attr_init(&attributes);
    if (code == 0) {
        const size_t least = (size_t)PTHREAD_STACK_MIN;
        pthread_attr_setstacksize(&attributes, least > STACK_BYTES ? least : STACK_BYTES);
        code = pthread_create(&deadline->thread, &attributes, watch_over, deadline);
        pthread_attr_destroy(&attributes);
    }
    return code;
}

enum status deadline_begin(struct deadline *deadline, const struct client_socket *socket,
                           unsigned timeout_s, bool (*is_cancelled)(void), struct error *error)
{
    deadline->socket = socket;
    deadline->timeout_s = timeout_s;
    deadline->is_cancelled = is_cancelled;
    atomic_init(&deadline->result, DEADLINE_KEPT);
    deadline->wake = eventfd(0, EFD_CLOEXEC);
    int code = deadline->wake < 0 ? errno : start_thread(deadline);
    if (code == 0) {
        return STATUS_OK;
    }
    if (deadline->wake >= 0) {
        close(deadline->wake);
    }
    error_set(error, ERROR_SYSTEM, code, NULL, "no thread to watch over the connect: %s",
              strerror(code));
    return STATUS_FATAL;
}

enum deadline_result deadline_end(struct deadline *deadline)
{
    eventfd_write(deadline->wake, 1);
    pthread_join(deadline->thread, NULL);
    close(deadline->wake);
    return (enum deadline_result)atomic_load(&deadline->result);
}

/* Takes at most SLICE_NS off *left. */
static struct timespec take_slice(struct timespec *left)
{
    struct timespec slice = {.tv_sec = 0, .tv_nsec = SLICE_NS};
    if (left->tv_sec > 0 || left->tv_nsec >= SLICE_NS) {
        left->tv_nsec -= SLICE_NS;
        if (left->tv_nsec < 0) {
            left->tv_nsec += NS_PER_S;
            left->tv_sec--;
        }
    } else {
        slice = *left;
        left->tv_nsec = 0;
    }
    return slice;
}

static void give_back(struct timespec *left, const struct timespec *slice)
{
    left->tv_nsec += slice->tv_nsec;
    left->tv_sec += left->tv_nsec / NS_PER_S;
    left->tv_nsec %= NS_PER_S;
}

/* The system call, unlike the C library's function, counts its time down. */
int deadline_wait(struct pollfd *wanted, struct timespec *left, bool (*is_cancelled)(void))
{
    long ready = 0;
    while (ready == 0 && (left->tv_sec > 0 || left->tv_nsec > 0)) {
        if (is_cancelled != NULL && is_cancelled()) {
            return DEADLINE_WAIT_CANCELLED;
        }
        struct timespec slice = take_slice(left);
        ready = syscall(SYS_ppoll, wanted, 1L, &slice, NULL, 0L);
        give_back(left, &slice);
        if (ready < 0 && errno == EINTR) {
            ready = 0;
        }
    }
    return (int)ready;
}
