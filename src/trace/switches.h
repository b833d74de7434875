/*
 * Measures what the threads of a server on this machine do (--waits=kernel): how long they use a
 * CPU, wait for a CPU, and are blocked in each kind of wait.
 *
 * eBPF programs in the kernel (switch.bpf.c) add up these times at each switch of a CPU from one
 * thread to the next. The measured time begins when sessions may start to work, or at the end of
 * the warm-up, and ends at the last answer. The times are exact, and the database is not queried.
 * They are sums over the threads of the server, and do not belong to single calls: a thread that
 * waits for work cannot be distinguished from a thread that waits for the client.
 *
 * switch_tracer_begin and switch_tracer_end may be called by any thread, the other functions only
 * by the main thread. The functions of struct kernel_waits keep no state.
 */
#ifndef TRACE_SWITCHES_H
#define TRACE_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"
#include "measure/sampler.h"
#include "trace/switch_event.h"

/* What a thread does. */
enum kernel_class {
    KERNEL_CPU,
    KERNEL_RUN_QUEUE, /* the thread waits for a CPU */
    KERNEL_DISK,
    KERNEL_THREAD, /* the thread waits for another thread, for example for a lock or for work */
    KERNEL_CLIENT, /* the thread waits for the network or a pipe, for example for a client */
    KERNEL_SLEEP,  /* the thread sleeps, or waits for a signal, a process or asynchronous I/O */
    KERNEL_OTHER,
    KERNEL_CLASSES
};

enum {
    KERNEL_ANSWER_BYTES = 400
};

struct kernel_waits {
    struct switch_sum sums[SWITCH_PLACES];
    double elapsed_s;  /* the measured time */
    uint64_t lost;     /* number of context switches that the programs missed or could not store */
    bool is_restarted; /* the server was restarted, and its new processes were not measured */
};

/* The figures of one class, which are one line of the report. */
struct kernel_wait {
    enum kernel_class class;
    const char *key, *name;
    double seconds;      /* sum of the times of all threads in the class */
    double threads;      /* mean number of threads in the class */
    double busy_percent; /* share of the class in the busy time: the time in which threads used a
                            CPU, or waited for a CPU or the disk; negative for other classes */
    uint64_t count;      /* how often a thread was in the class */
    char calls[160];  /* calls of the class with their times: "fdatasync 3.21 s, pwrite64 0.02 s" */
    char largest[48]; /* the first call in `calls`, with its time */
};

/* Returns the class of a place (switch_event.h). Sets *call to the name of the place's system call,
 * or to "". */
enum kernel_class kernel_waits_class(unsigned place, const char **call);

/* Fills `list` with the classes in which threads were, and returns the number of these classes. */
size_t kernel_waits_list(const struct kernel_waits *waits, struct kernel_wait list[KERNEL_CLASSES]);

/* Returns the mean number of the server's threads. */
double kernel_waits_threads(const struct kernel_waits *waits);

/* Writes a sentence that says what the server's threads did. */
void kernel_waits_answer(const struct kernel_waits *waits, char answer[KERNEL_ANSWER_BYTES]);

#define SWITCHES_OPTION "--waits=kernel"

struct switch_tracer;

/* Starts to measure the threads of the processes that `selector` finds. If it returns REJECTED,
 * *error says what is missing and how to get it. */
enum status switch_tracer_create(struct switch_tracer **tracer,
                                 const struct server_selector *selector, struct error *error);

/* Set the monotonic moments at which the measured time begins and ends. Each function is called
 * shortly before or after its moment. `tracer` may be NULL. */
void switch_tracer_begin(struct switch_tracer *tracer, int64_t begin_ns);
void switch_tracer_end(struct switch_tracer *tracer, int64_t end_ns);

/* Ends the measurement, and fills *waits. */
void switch_tracer_read(struct switch_tracer *tracer, struct kernel_waits *waits);
void switch_tracer_destroy(struct switch_tracer *tracer); /* `tracer` may be NULL */

#endif
