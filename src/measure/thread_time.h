/* How long the calling thread was on a CPU, and how long it was ready but waited for one. */
#ifndef MEASURE_THREAD_TIME_H
#define MEASURE_THREAD_TIME_H

#include <stdbool.h>
#include <stdint.h>

struct thread_time {
    uint64_t on_cpu_ns;
    uint64_t run_queue_ns; /* 0 where the kernel does not say (no schedstat) */
};

/* Reads both for the calling thread since its start. */
void thread_time_read(struct thread_time *time);

/* The same from a file that is kept open: what it takes for a thread that must read it when no
 * descriptor is left. Negative: the kernel does not say. */
int thread_time_open(void);
bool thread_time_read_file(int file, struct thread_time *time);

#endif
