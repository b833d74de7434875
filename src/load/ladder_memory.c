#include "load/ladder_memory.h"

#include <fcntl.h>
#include <sys/types.h>

#include "measure/proc_file.h"
#include "measure/procfs_text.h"

static bool find_kib(struct procfs_text text, const char *name, uint64_t *bytes)
{
    uint64_t kib;
    if (!procfs_text_find(text, name, &kib) || kib > UINT64_MAX / 1024) {
        return false;
    }
    *bytes = kib * 1024;
    return true;
}

bool ladder_memory_parse(const char *text, size_t length, uint64_t *total_bytes,
                         uint64_t *available_bytes)
{
    const struct procfs_text all = procfs_text_of(text, length);
    return find_kib(all, "MemTotal:", total_bytes) &&
           find_kib(all, "MemAvailable:", available_bytes) && *available_bytes <= *total_bytes;
}

/* /proc is not kept open: a descriptor is what a session may be short of. */
static bool read_meminfo(uint64_t *total_bytes, uint64_t *available_bytes)
{
    char text[4096];
    const ssize_t length = proc_file_read(AT_FDCWD, "/proc/meminfo", text, sizeof text);
    return length > 0 && ladder_memory_parse(text, (size_t)length, total_bytes, available_bytes);
}

void ladder_memory_init(struct ladder_memory *memory, uint64_t limit_bytes)
{
    *memory = (struct ladder_memory){0};
    uint64_t available = 0;
    if (read_meminfo(&memory->total_bytes, &available)) {
        memory->base_bytes = memory->total_bytes - available;
        memory->limit_bytes = limit_bytes > 0 ? limit_bytes : memory->total_bytes / 10 * 9;
    }
}

uint64_t ladder_memory_used(const struct ladder_memory *memory)
{
    uint64_t total = 0;
    uint64_t available = 0;
    return memory->total_bytes > 0 && read_meminfo(&total, &available) ? total - available : 0;
}

bool ladder_memory_is_passed(const struct ladder_memory *memory, uint64_t used_bytes)
{
    return memory->total_bytes > 0 && used_bytes > memory->limit_bytes;
}

unsigned ladder_memory_fits(const struct ladder_memory *memory, unsigned up, uint64_t used_bytes)
{
    if (memory->total_bytes == 0 || used_bytes == 0) {
        return UINT32_MAX;
    }
    if (used_bytes > memory->limit_bytes) {
        return 0;
    }
    if (up == 0 || used_bytes <= memory->base_bytes) {
        return UINT32_MAX;
    }
    const double each = (double)(used_bytes - memory->base_bytes) / up;
    const double more = (double)(memory->limit_bytes - used_bytes) / each;
    return more >= (double)(UINT32_MAX - up) ? UINT32_MAX : up + (unsigned)more;
}
