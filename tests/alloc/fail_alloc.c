/*
 * A library to preload into a program. Allocation number FAIL_AT (from 1) fails, and all others
 * succeed. With FAIL_FROM=1 all allocations after FAIL_AT also fail. When allocation FAIL_AT fails,
 * the library writes a byte to the file that FAIL_LOG names.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* The entry points of glibc. Finding malloc with dlsym would itself allocate memory. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static atomic_long calls;
static atomic_long fail_at = -1;
static atomic_bool fails_on;

static void leave_a_mark(void)
{
    const char *path = getenv("FAIL_LOG");
    const int file = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0 && write(file, "x", 1) == 1) {
        close(file);
    }
}

static bool is_due(void)
{
    long at = atomic_load(&fail_at);
    if (at < 0) {
        const char *text = getenv("FAIL_AT");
        at = text == NULL ? 0 : strtol(text, NULL, 10);
        atomic_store(&fails_on, getenv("FAIL_FROM") != NULL);
        atomic_store(&fail_at, at);
    }
    const long call = atomic_fetch_add(&calls, 1) + 1;
    if (at == 0 || call < at || (call > at && !atomic_load(&fails_on))) {
        return false;
    }
    if (call == at) {
        leave_a_mark();
    }
    errno = ENOMEM;
    return true;
}

/* The parameter names differ from the names in glibc's declarations, which are reserved. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
void *malloc(size_t size)
{
    return is_due() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return is_due() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return is_due() ? NULL : __libc_realloc(memory, size);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
