/* How long the calling thread was on a CPU, and how long it was ready but waited for one. */
#ifndef MEASURE_THREAD_TIME_H
#define MEASURE_THREAD_TIME_H

#include <stdint.h>

struct thread_time {
    uint64_t on_cpu_ns;
    uint64_t run_queue_ns; /* 0 where the kernel does not say (no schedstat) */
};

/* Reads both for the calling thread since its start. */
void thread_time_read(struct thread_time *time);

#endif
