/*
 * Replaces append-mpi.so and works in the same way, except for a fault in rank FAULT_RANK. The
 * fault occurs right after the rank has sent its message number FAULT_SEND (from 1), or a large
 * message, which has at least FAULT_BYTES bytes. Then the rank gets the signal FAULT_SIGNAL, and,
 * if this library is also preloaded, its clock moves ahead by FAULT_CLOCK_NS. With FAULT_DAMAGE a
 * bit in the middle of the large message is changed. With FAULT_REFUSE the large message is not
 * sent, as if it were too long for MPI. With FAULT_MEMORY, if this library is also preloaded,
 * realloc fails in the rank for FAULT_MEMORY bytes or more. Ranks with a higher number than the
 * rank send their large messages half a second later.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ranks/module.h"

#define SECOND_NS INT64_C(1000000000)

/* defined in src/ranks/mpi.c */
extern const struct ranks_module mpi_module;

/* The entry point of glibc. Finding realloc with dlsym would itself allocate memory. */
extern void *__libc_realloc(void *memory, size_t size);

static unsigned number;
static unsigned long sent;
static _Atomic int64_t ahead_ns;

static unsigned long setting(const char *name)
{
    const char *text = getenv(name);
    return text == NULL ? 0 : strtoul(text, NULL, 10);
}

/* The parameter names differ from the names in glibc's declaration, which are reserved. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    const int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_MONOTONIC) {
        const int64_t ns = now->tv_nsec + atomic_load(&ahead_ns);
        now->tv_sec += ns / SECOND_NS;
        now->tv_nsec = ns % SECOND_NS;
    }
    return result;
}

/* Sleeps until `until`, which is a moment on the changed clock. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left)
{
    struct timespec there = *until;
    if (clock == CLOCK_MONOTONIC && flags == TIMER_ABSTIME) {
        const int64_t ns = there.tv_nsec - atomic_load(&ahead_ns) + 100 * SECOND_NS;
        there.tv_sec += ns / SECOND_NS - 100;
        there.tv_nsec = ns % SECOND_NS;
    }
    return syscall(SYS_clock_nanosleep, clock, flags, &there, left) == 0 ? 0 : errno;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
void *realloc(void *memory, size_t size)
{
    const unsigned long most = setting("FAULT_MEMORY");
    if (most > 0 && size >= most && number == setting("FAULT_RANK")) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(memory, size);
}

static bool start(unsigned *own, unsigned *count, char *why, size_t size)
{
    const bool is_started = mpi_module.start(own, count, why, size);
    number = *own;
    return is_started;
}

static bool send(unsigned to, void *bytes, size_t size, bool is_bulk)
{
    const unsigned long rank = setting("FAULT_RANK"), large = setting("FAULT_BYTES");
    const bool is_large = large > 0 && size >= large;
    if (is_large && number > rank) {
        nanosleep(&(struct timespec){.tv_nsec = SECOND_NS / 2}, NULL);
    }
    if (is_large && number == rank && setting("FAULT_DAMAGE") > 0) {
        ((unsigned char *)bytes)[size / 2] ^= 1;
    }
    if (is_large && number == rank && setting("FAULT_REFUSE") > 0) {
        free(bytes);
        return false;
    }
    const bool is_sent = mpi_module.send(to, bytes, size, is_bulk);
    if (number == rank && (++sent == setting("FAULT_SEND") || is_large)) {
        atomic_store(&ahead_ns, (int64_t)setting("FAULT_CLOCK_NS"));
        raise((int)setting("FAULT_SIGNAL"));
    }
    return is_sent;
}

static void *take(unsigned *from, size_t *size)
{
    return mpi_module.take(from, size);
}

static bool is_idle(void)
{
    return mpi_module.is_idle();
}

static void end(bool are_all_there)
{
    mpi_module.end(are_all_there);
}

const struct ranks_module append_ranks_module = {
    .version = APPEND_VERSION,
    .start = start,
    .send = send,
    .take = take,
    .is_idle = is_idle,
    .end = end,
};
