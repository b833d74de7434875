#include "measure/thread_time.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/mono.h"

/* schedstat: nanoseconds on a CPU, nanoseconds on a run queue, time slices. */
void thread_time_read(struct thread_time *time)
{
    char text[96];
    ssize_t length = -1;
    const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        length = read(file, text, sizeof text - 1);
        close(file);
    }
    if (length > 0) {
        text[length] = '\0';
        char *end = text;
        time->on_cpu_ns = strtoull(text, &end, 10);
        time->run_queue_ns = strtoull(end, NULL, 10);
        return;
    }
    struct timespec cpu = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    time->on_cpu_ns = (uint64_t)cpu.tv_sec * (uint64_t)MONO_NS_PER_S + (uint64_t)cpu.tv_nsec;
    time->run_queue_ns = 0;
}
