/*
 * A program that is run for what it prints: no shell, nothing on its standard input, and an end
 * that comes in any case. One thread.
 */
#ifndef BASE_SUBPROCESS_H
#define BASE_SUBPROCESS_H

#include <stdint.h>

#include "base/buffer.h"

enum subprocess_end {
    SUBPROCESS_EXITED,    /* exit_status has its exit code */
    SUBPROCESS_KILLED,    /* a signal ended it */
    SUBPROCESS_NOT_FOUND, /* no such program in PATH */
    SUBPROCESS_TIMED_OUT, /* it was killed, with its process group */
    SUBPROCESS_FAILED, /* it could not be started, its output could not be read or is too long, or
                          this program is to end (EINTR): see errno */
};

struct subprocess {
    int exit_status;
    struct buffer out; /* what it printed, also when it failed */
    struct buffer err;
};

/* Runs argv[0], found by PATH, with the environment of this program. *child is the caller's to end
 * with subprocess_fini, whatever this returns. At most 4 MiB of output are taken. */
enum subprocess_end subprocess_run(struct subprocess *child, char *const argv[],
                                   int64_t timeout_ns);

void subprocess_fini(struct subprocess *child);

#endif
