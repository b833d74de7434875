/*
 * What the threads of a server on this machine do, as the kernel sees it (--waits=kernel): how long
 * they use a CPU, wait for a CPU, and are blocked, for each kind of wait.
 *
 * Programs in the kernel (switch.bpf.c) add up the times at each switch of a CPU between threads,
 * from the opening of the gate, or the end of the warm-up, to the last answer. So the times are
 * exact, and no query to the database is necessary. The times are of all threads of the server, not
 * of single calls: a thread that waits for work looks like a thread that waits for the client.
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
    KERNEL_THREAD, /* the thread waits for another thread: for a lock, or for work */
    KERNEL_CLIENT, /* the thread waits for the network or a pipe: for a client, or for work */
    KERNEL_SLEEP,  /* the thread sleeps, or waits for a signal, a process or asynchronous I/O */
    KERNEL_OTHER,
    KERNEL_CLASSES
};

enum {
    KERNEL_ANSWER_BYTES = 400
};

struct kernel_waits {
    struct switch_sum sums[SWITCH_PLACES];
    double elapsed_s;  /* time for which the threads were watched */
    uint64_t lost;     /* number of context switches that were missed or for which the map had no
                          room */
    bool is_restarted; /* a process of the server ended, and the processes that replaced it were not
                          followed */
};

/* A class: a line of the report. */
struct kernel_wait {
    enum kernel_class class;
    const char *key, *name;
    double seconds;      /* time of all threads in the class, added up */
    double threads;      /* mean number of threads */
    double busy_percent; /* share of the class in the busy time: the time in which threads used a
                            CPU, or waited for a CPU or the disk; negative for other classes */
    uint64_t count;      /* number of times that a thread was in the class */
    char calls[160];  /* calls of the class with their times: "fdatasync 3.21 s, pwrite64 0.02 s" */
    char largest[48]; /* the first call in `calls` */
};

/* Returns the class of a place. Sets *call to the name of the system call, or "". */
enum kernel_class kernel_waits_class(unsigned place, const char **call);

/* Fills the lines of the classes in which threads were seen. Returns their number. */
size_t kernel_waits_list(const struct kernel_waits *waits, struct kernel_wait list[KERNEL_CLASSES]);

/* Returns the mean number of the server's threads. */
double kernel_waits_threads(const struct kernel_waits *waits);

/* Writes a sentence that says what the server's threads did. */
void kernel_waits_answer(const struct kernel_waits *waits, char answer[KERNEL_ANSWER_BYTES]);

#define SWITCHES_OPTION "--waits=kernel"

struct switch_tracer;

/* Starts to follow the threads of the processes that `selector` finds. On REJECTED, *error says
 * what is missing and how to get it. */
enum status switch_tracer_create(struct switch_tracer **tracer,
                                 const struct server_selector *selector, struct error *error);

/* Note the monotonic moments at which the time that counts begins and ends. Each function is called
 * shortly before or after its moment. `tracer` may be NULL. */
void switch_tracer_begin(struct switch_tracer *tracer, int64_t begin_ns);
void switch_tracer_end(struct switch_tracer *tracer, int64_t end_ns);

/* Stops, and fills *waits. */
void switch_tracer_read(struct switch_tracer *tracer, struct kernel_waits *waits);
void switch_tracer_destroy(struct switch_tracer *tracer); /* `tracer` may be NULL */

#endif
