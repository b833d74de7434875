/* The memory of this machine while a search adds sessions. Main thread. */
#ifndef LOAD_LADDER_MEMORY_H
#define LOAD_LADDER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ladder_memory {
    uint64_t total_bytes; /* 0 = not known: there is no bound then */
    uint64_t limit_bytes; /* that may be in use */
    uint64_t base_bytes;  /* in use before the first session */
};

/* `limit_bytes` 0: nine tenths of the machine. */
void ladder_memory_init(struct ladder_memory *memory, uint64_t limit_bytes);

/* Bytes in use now, what the kernel can take back at once not counted; 0 = not known. */
uint64_t ladder_memory_used(const struct ladder_memory *memory);

/* True when more is in use than may be. */
bool ladder_memory_is_passed(const struct ladder_memory *memory, uint64_t used_bytes);

/* The most sessions that fit when each further one costs what those that are up did on average,
 * server's side included where it is this machine. At least `up`, unless the limit is passed
 * already; UINT32_MAX when nothing is known. */
unsigned ladder_memory_fits(const struct ladder_memory *memory, unsigned up, uint64_t used_bytes);

/* MemTotal and MemAvailable of /proc/meminfo in bytes; false: not there. */
bool ladder_memory_parse(const char *text, size_t length, uint64_t *total_bytes,
                         uint64_t *available_bytes);

#endif
