/* Child processes, started without a shell. A child inherits only the descriptors that the caller
 * names. Main thread only. */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

struct child_start {
    const char *const *argv; /* words of the command line; ends with NULL */
    const char *program;     /* path of the program; NULL = search argv[0] in PATH */
    int in, out, err;        /* the child's standard streams; negative = /dev/null */
    int kept; /* one more descriptor that the child inherits, under the same number; negative = only
                 the three above */
    bool ends_with_us; /* the child gets SIGTERM when this program ends, even if this program is
                          killed */
};

/* Starts a program as the leader of a new process group. A terminal's Ctrl-C therefore does not
 * reach the child, and a signal to the group also reaches the child's own children. In the child no
 * signal is blocked, and SIGPIPE and SIGXFSZ have their default actions. Returns 0 after the
 * program has started, else errno (ENOENT: program not found). */
int child_start(pid_t *pid, const struct child_start *start);

/* How a program has ended. */
struct child_end {
    int signal; /* the signal that ended the program; 0 = the program exited */
    int code;   /* the program's exit code; -1: unknown */
};

/* Waits at most `timeout_ns` for the end of the child. Returns true, with *end filled, when the
 * child has ended. After a call of child_prepare_waits, the end of any child ends the wait at
 * once. */
bool child_wait(pid_t pid, int64_t timeout_ns, struct child_end *end);

/* Makes child_wait return as soon as a child ends. Makes a terminal's Ctrl-Z also stop the child
 * that was started last. Called once, before the first child_start. */
void child_prepare_waits(void);

enum child_result {
    CHILD_EXITED,    /* the program exited with end.code */
    CHILD_KILLED,    /* the signal end.signal ended the program */
    CHILD_NOT_FOUND, /* the program is not in PATH */
    CHILD_TIMED_OUT, /* the child's process group was killed after the timeout */
    CHILD_FAILED,    /* errno says why: the child could not be started, its output could not be read
                        or was too long (EFBIG), or this program was interrupted (EINTR) */
};

struct child_output {
    struct child_end end;
    /* content of standard output and standard error; also set after a failure */
    struct buffer out, err;
};

/* Runs the program argv[0], which is searched for in PATH, and waits for its end. `in` is the
 * program's standard input; negative = /dev/null. Standard output and standard error may have at
 * most 4 MiB each. Kills the program and its process group after `timeout_ns`, on an interrupt, or
 * if its output is too long or cannot be read; the program has always ended when the function
 * returns. The caller frees *output with child_output_fini, also after a failure. */
enum child_result child_run(struct child_output *output, const char *const argv[], int in,
                            int64_t timeout_ns);

void child_output_fini(struct child_output *output);

#endif
