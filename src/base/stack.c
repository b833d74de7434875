#include "base/stack.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Below the caller's frame: what the call itself uses. Sanitizers stand between it and the system.
 */
enum {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    MARGIN_BYTES = 128 * 1024
#else
    MARGIN_BYTES = 4096
#endif
};

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
