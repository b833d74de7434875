/* Programs that this one runs: no shell, no descriptor that was not given, and an end that comes in
 * any case. Main thread. */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

struct child_start {
    const char *const *argv; /* ended by NULL */
    const char *program;     /* its path; NULL = argv[0] is found by PATH */
    int in, out, err;        /* as its standard streams; negative = /dev/null */
    int kept;          /* one more that it keeps open, under the same number; negative = none */
    bool ends_with_us; /* SIGTERM ends it when this program is killed */
};

/* Starts a program that leads a process group, so that a terminal's Ctrl-C does not reach it and
 * its own children can be ended with it; signals are as a program from a shell has them. Returns 0
 * when the program is in place, or errno (ENOENT: there is no such program). */
int child_start(pid_t *pid, const struct child_start *start);

/* How a program has ended. */
struct child_end {
    int signal; /* that ended it; 0 = none */
    int code;   /* its exit code; -1: how it ended is not known */
};

/* Waits for the end, but no longer than the time given, or until a signal comes that
 * child_prepare_waits has blocked. True: it has ended. */
bool child_wait(pid_t pid, int64_t timeout_ns, struct child_end *end);

/* From now on a child's end wakes child_wait at once, and a terminal's Ctrl-Z stops the child that
 * was started last and not waited for, as it stops this program. Once, before such a child. */
void child_prepare_waits(void);

enum child_result {
    CHILD_EXITED,    /* end.code has its exit code */
    CHILD_KILLED,    /* end.signal ended it */
    CHILD_NOT_FOUND, /* no such program in PATH */
    CHILD_TIMED_OUT, /* it was killed, with its process group */
    CHILD_FAILED,    /* it could not be started, its output could not be read or is too long, or
                        this program is to end (EINTR): see errno */
};

struct child_output {
    struct child_end end;
    struct buffer out, err; /* what it printed, also when it failed */
};

/* Runs argv[0], found by PATH, with `in` as its standard input, or nothing when that is negative.
 * *output is the caller's to end with child_output_fini, whatever this returns. At most 4 MiB of
 * each are taken. */
enum child_result child_run(struct child_output *output, const char *const argv[], int in,
                            int64_t timeout_ns);

void child_output_fini(struct child_output *output);

#endif
