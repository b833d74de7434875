/*
 * A program that is run for what it prints: no shell, nothing on its standard input, and an end
 * that comes in any case. One thread.
 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stdint.h>

#include "base/buffer.h"

enum child_end {
    CHILD_EXITED,    /* exit_status has its exit code */
    CHILD_KILLED,    /* a signal ended it */
    CHILD_NOT_FOUND, /* no such program in PATH */
    CHILD_TIMED_OUT, /* it was killed */
    CHILD_FAILED,    /* it could not be started, its output could not be read or is too long: see
                        errno */
};

struct child {
    int exit_status;
    struct buffer out; /* what it printed, also when it failed */
    struct buffer err;
};

/* Runs argv[0], found by PATH, with the environment of this program. *child is the caller's to end
 * with child_fini, whatever this returns. At most 4 MiB of output are taken. */
enum child_end child_run(struct child *child, char *const argv[], int64_t timeout_ns);

void child_fini(struct child *child);

#endif
