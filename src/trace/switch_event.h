/*
 * The sums that the eBPF programs of --waits=kernel (switch.bpf.c) keep for their reader
 * (switches.c).
 *
 * A "place" is what a thread does: it uses a CPU, waits for a CPU, or is blocked in a system call.
 * The place of a blocked thread has the number SWITCH_CALLS * (enum switch_state) + number of the
 * call.
 */
#ifndef TRACE_SWITCH_EVENT_H
#define TRACE_SWITCH_EVENT_H

enum switch_state {
    SWITCH_SLEEPS,  /* the thread is blocked; a signal would wake it */
    SWITCH_BLOCKS,  /* the thread is blocked; a signal would not wake it */
    SWITCH_DOES_IO, /* the thread waits for a disk, according to the kernel */
    SWITCH_STATES,
};

enum {
    SWITCH_CALLS = 512,
    /* takes the place of the number of a call if the thread is in a page fault or an unknown
     * call */
    SWITCH_NO_CALL = SWITCH_CALLS - 1,
    SWITCH_ON_CPU = SWITCH_STATES * SWITCH_CALLS,
    SWITCH_RUNNABLE, /* the thread waits for a CPU */
    SWITCH_PLACES,
};

/* The time that all threads spent in a place, and how often a thread was in it. */
struct switch_sum {
    unsigned long long ns;
    unsigned long long count;
};

/* The present place of a thread, and the moment from which it has been there (CLOCK_MONOTONIC of
 * the kernel). */
struct switch_thread {
    unsigned long long since_ns;
    unsigned int place;
    unsigned int unused;
};

#endif
