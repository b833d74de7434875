#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "append/adapter.h"
#include "base/mono.h"
#include "base/text.h"
#include "trace/switches.h"

/* has_work is true if threads of the class have work to do; their time is then busy time. */
static const struct {
    const char *key, *name;
    bool has_work;
} classes[KERNEL_CLASSES] = {
    [KERNEL_CPU] = {"cpu", "on a CPU", true},
    [KERNEL_RUN_QUEUE] = {"run_queue", "waiting for a CPU", true},
    [KERNEL_DISK] = {"disk", "disk", true},
    [KERNEL_THREAD] = {"thread", "another thread, or idle", false},
    [KERNEL_CLIENT] = {"client", "client or network, or idle", false},
    [KERNEL_SLEEP] = {"sleep", "sleep", false},
    [KERNEL_OTHER] = {"other", "other", false},
};

/* The class of a thread that is blocked in each system call. For read and write this is the class
 * for sockets and pipes, in which a thread is in the state SWITCH_SLEEPS. If a thread reads or
 * writes a file, it is in the state SWITCH_BLOCKS, and kernel_waits_class returns KERNEL_DISK. */
static const struct {
    short call;
    enum kernel_class class;
    const char *name;
} calls[] = {
#define CALL(name, class) {SYS_##name, class, #name},
#ifdef SYS_poll /* arm64 does not have these calls */
    CALL(poll, KERNEL_CLIENT) CALL(select, KERNEL_CLIENT) CALL(epoll_wait, KERNEL_CLIENT) CALL(
        pause, KERNEL_SLEEP) CALL(open, KERNEL_DISK) CALL(unlink, KERNEL_DISK) CALL(rename,
                                                                                    KERNEL_DISK)
#endif
        CALL(ppoll, KERNEL_CLIENT) CALL(pselect6, KERNEL_CLIENT) CALL(
            epoll_pwait, KERNEL_CLIENT) CALL(read, KERNEL_CLIENT) CALL(readv, KERNEL_CLIENT)
            CALL(write, KERNEL_CLIENT) CALL(writev, KERNEL_CLIENT) CALL(
                recvfrom, KERNEL_CLIENT) CALL(recvmsg, KERNEL_CLIENT) CALL(sendto, KERNEL_CLIENT)
                CALL(sendmsg, KERNEL_CLIENT) CALL(accept, KERNEL_CLIENT) CALL(
                    accept4, KERNEL_CLIENT) CALL(connect, KERNEL_CLIENT) CALL(fsync, KERNEL_DISK)
                    CALL(fdatasync, KERNEL_DISK) CALL(sync_file_range, KERNEL_DISK) CALL(
                        pread64, KERNEL_DISK) CALL(preadv, KERNEL_DISK) CALL(pwrite64, KERNEL_DISK)
                        CALL(pwritev, KERNEL_DISK) CALL(preadv2, KERNEL_DISK) CALL(
                            pwritev2, KERNEL_DISK) CALL(fallocate, KERNEL_DISK)
                            CALL(ftruncate, KERNEL_DISK) CALL(openat, KERNEL_DISK) CALL(
                                unlinkat, KERNEL_DISK) CALL(renameat, KERNEL_DISK)
                                CALL(renameat2, KERNEL_DISK) CALL(io_submit, KERNEL_DISK)
                                    CALL(msync, KERNEL_DISK) CALL(futex, KERNEL_THREAD) CALL(
                                        semop, KERNEL_THREAD) CALL(semtimedop, KERNEL_THREAD)
                                        CALL(flock, KERNEL_THREAD) CALL(fcntl, KERNEL_THREAD) CALL(
                                            nanosleep, KERNEL_SLEEP) CALL(clock_nanosleep,
                                                                          KERNEL_SLEEP)
                                            CALL(rt_sigtimedwait, KERNEL_SLEEP) CALL(rt_sigsuspend,
                                                                                     KERNEL_SLEEP)
                                                CALL(wait4, KERNEL_SLEEP) CALL(waitid, KERNEL_SLEEP)
                                                    CALL(restart_syscall, KERNEL_SLEEP)
                                                        CALL(io_getevents, KERNEL_SLEEP)
                                                            CALL(io_uring_enter, KERNEL_SLEEP)
#undef CALL
};

enum kernel_class kernel_waits_class(unsigned place, const char **call)
{
    *call = "";
    if (place >= SWITCH_ON_CPU) {
        return place == SWITCH_ON_CPU ? KERNEL_CPU : KERNEL_RUN_QUEUE;
    }
    const unsigned state = place / SWITCH_CALLS;
    enum kernel_class class = KERNEL_OTHER;
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        if ((unsigned)calls[i].call == place % SWITCH_CALLS) {
            *call = calls[i].name;
            class = calls[i].class;
        }
    }
    if (state == SWITCH_DOES_IO) {
        return KERNEL_DISK;
    }
    const bool is_of_file = strncmp(*call, "read", 4) == 0 || strncmp(*call, "write", 5) == 0;
    if (state == SWITCH_BLOCKS && class != KERNEL_DISK) {
        /* a read or write of a file waits for the disk; another call waits for a lock in the
         * kernel */
        return is_of_file ? KERNEL_DISK : KERNEL_OTHER;
    }
    return class;
}

/* Writes the system calls of a class and their times to wait->calls, the longest time first. */
static void list_calls(const struct kernel_waits *waits, struct kernel_wait *wait)
{
    uint64_t sums[SWITCH_CALLS] = {0};
    const char *names[SWITCH_CALLS] = {NULL}, *name;
    for (unsigned place = 0; place < SWITCH_ON_CPU; place++) {
        if (kernel_waits_class(place, &name) == wait->class) {
            sums[place % SWITCH_CALLS] += waits->sums[place].ns;
            names[place % SWITCH_CALLS] = name;
        }
    }
    size_t used = 0;
    for (;;) {
        size_t best = 0;
        for (size_t i = 1; i < SWITCH_CALLS; i++) {
            best = sums[i] > sums[best] ? i : best;
        }
        const double seconds = (double)sums[best] / (double)MONO_NS_PER_S;
        char text[64];
        if (names[best] != NULL && names[best][0] != '\0') {
            snprintf(text, sizeof text, "%s", names[best]);
        } else if (best == SWITCH_NO_CALL) {
            snprintf(text, sizeof text, "page faults");
        } else {
            snprintf(text, sizeof text, "call %zu", best);
        }
        const size_t length = strlen(text) + sizeof ", 1000000.00 s";
        if (seconds < 0.005 || used + length >= sizeof wait->calls) {
            return;
        }
        used += (size_t)snprintf(wait->calls + used, sizeof wait->calls - used, "%s%s %.2f s",
                                 used > 0 ? ", " : "", text, seconds);
        if (wait->largest[0] == '\0') {
            snprintf(wait->largest, sizeof wait->largest, "%.47s", wait->calls);
        }
        sums[best] = 0;
    }
}

/* Fills *wait with the figures of a class. Returns false if no thread was in this class. */
static bool get_class(const struct kernel_waits *waits, enum kernel_class class,
                      struct kernel_wait *wait)
{
    double busy_ns = 0, ns = 0;
    *wait = (struct kernel_wait){
        .class = class, .key = classes[class].key, .name = classes[class].name};
    for (unsigned place = 0; place < SWITCH_PLACES; place++) {
        const char *call;
        const enum kernel_class found = kernel_waits_class(place, &call);
        busy_ns += classes[found].has_work ? (double)waits->sums[place].ns : 0;
        ns += found == class ? (double)waits->sums[place].ns : 0;
        wait->count += found == class ? waits->sums[place].count : 0;
    }
    wait->seconds = ns / (double)MONO_NS_PER_S;
    wait->threads = waits->elapsed_s > 0 ? wait->seconds / waits->elapsed_s : 0;
    wait->busy_percent = classes[class].has_work && busy_ns > 0 ? 100 * ns / busy_ns : -1;
    if (class != KERNEL_CPU && class != KERNEL_RUN_QUEUE) {
        list_calls(waits, wait);
    }
    return wait->count > 0;
}

size_t kernel_waits_list(const struct kernel_waits *waits, struct kernel_wait list[KERNEL_CLASSES])
{
    size_t count = 0;
    for (unsigned i = 0; i < KERNEL_CLASSES; i++) {
        count += get_class(waits, (enum kernel_class)i, &list[count]) ? 1 : 0;
    }
    return count;
}

double kernel_waits_threads(const struct kernel_waits *waits)
{
    double ns = 0;
    for (unsigned place = 0; place < SWITCH_PLACES; place++) {
        ns += (double)waits->sums[place].ns;
    }
    return waits->elapsed_s > 0 ? ns / (double)MONO_NS_PER_S / waits->elapsed_s : 0;
}

void kernel_waits_answer(const struct kernel_waits *waits, char answer[KERNEL_ANSWER_BYTES])
{
    struct kernel_wait cpu, queue, disk, thread;
    char lost[64] = "";
    if (waits->lost > 0) {
        snprintf(lost, sizeof lost, "; %" PRIu64 " context switches were missed", waits->lost);
    }
    get_class(waits, KERNEL_CPU, &cpu);
    get_class(waits, KERNEL_RUN_QUEUE, &queue);
    get_class(waits, KERNEL_DISK, &disk);
    get_class(waits, KERNEL_THREAD, &thread);
    snprintf(answer, KERNEL_ANSWER_BYTES,
             "on average %.1f of the server's %.1f threads used a CPU, %.1f waited for a CPU, "
             "%.1f for the disk, and %.1f for another thread or for work; these numbers describe "
             "threads, not single calls%s%s",
             cpu.threads, kernel_waits_threads(waits), queue.threads, disk.threads, thread.threads,
             waits->is_restarted
                 ? "; the server was restarted, but its new processes were not traced"
                 : "",
             lost);
}
