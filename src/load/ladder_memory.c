#include "load/ladder_memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "measure/proc_file.h"

static bool find_kib(const char *text, const char *key, uint64_t *bytes)
{
    const char *line = strstr(text, key);
    if (line == NULL) {
        return false;
    }
    char *end = NULL;
    *bytes = strtoull(line + strlen(key), &end, 10) * 1024;
    return strncmp(end, " kB", 3) == 0;
}

bool ladder_memory_parse(const char *text, uint64_t *total_bytes, uint64_t *available_bytes)
{
    return find_kib(text, "MemTotal:", total_bytes) &&
           find_kib(text, "MemAvailable:", available_bytes);
}

/* /proc is not kept open: a descriptor is what a session may be short of. */
static bool read_meminfo(uint64_t *total_bytes, uint64_t *available_bytes)
{
    char text[4096];
    const ssize_t length = proc_file_read(AT_FDCWD, "/proc/meminfo", text, sizeof text - 1);
    if (length <= 0) {
        return false;
    }
    text[length] = '\0';
    return ladder_memory_parse(text, total_bytes, available_bytes);
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
