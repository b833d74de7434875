#include "base/stack.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

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
