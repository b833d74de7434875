#include "measure/thread_time.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/mono.h"

int thread_time_open(void)
{
    return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

/* schedstat: nanoseconds on a CPU, nanoseconds on a run queue, time slices. */
bool thread_time_read_file(int file, struct thread_time *time)
{
    char text[96];
    const ssize_t length = file < 0 ? -1 : pread(file, text, sizeof text - 1, 0);
    if (length <= 0) {
        return false;
    }
    text[length] = '\0';
    char *end = text;
    time->on_cpu_ns = strtoull(text, &end, 10);
    time->run_queue_ns = strtoull(end, NULL, 10);
    return true;
}

void thread_time_read(struct thread_time *time)
{
    const int file = thread_time_open();
    const bool is_read = thread_time_read_file(file, time);
    if (file >= 0) {
        close(file);
    }
    if (is_read) {
        return;
    }
    struct timespec cpu = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    time->on_cpu_ns = (uint64_t)cpu.tv_sec * (uint64_t)MONO_NS_PER_S + (uint64_t)cpu.tv_nsec;
    time->run_queue_ns = 0;
}
