/*
 * The sums that the programs of --waits=kernel (switch.bpf.c) keep for their reader (switches.c).
 *
 * A place is what a thread does: it uses a CPU, waits for a CPU, or is blocked in a system call.
 * The number of a blocked thread's place is SWITCH_CALLS * (enum switch_state) + number of the
 * call.
 */
#ifndef TRACE_SWITCH_EVENT_H
#define TRACE_SWITCH_EVENT_H

enum switch_state {
    SWITCH_SLEEPS,  /* the thread is blocked in a way that a signal can end */
    SWITCH_BLOCKS,  /* the thread is blocked in a way that no signal can end */
    SWITCH_DOES_IO, /* the thread is blocked on a disk, as the kernel says */
    SWITCH_STATES,
};

enum {
    SWITCH_CALLS = 512,
    /* used instead of the number of a call if the thread is in a page fault or in an unknown
     * call */
    SWITCH_NO_CALL = SWITCH_CALLS - 1,
    SWITCH_ON_CPU = SWITCH_STATES * SWITCH_CALLS,
    SWITCH_RUNNABLE, /* the thread waits for a CPU */
    SWITCH_PLACES,
};

/* The time that threads spent in a place, between two moments. */
struct switch_sum {
    unsigned long long ns;
    unsigned long long count;
};

/* What a thread does now, and since when (CLOCK_MONOTONIC of the kernel). */
struct switch_thread {
    unsigned long long since_ns;
    unsigned int place;
    unsigned int unused;
};

#endif
