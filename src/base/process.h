/* The process: its exit codes, the signals that end it, its threads, and its messages on standard
 * error.
 *
 * The first SIGINT, SIGTERM or SIGHUP sets a flag that the main thread checks. A second of these
 * signals, more than 0.2 s later, ends the process immediately with exit code 130, unless
 * interrupt_hold was called. A SIGHUP that was ignored when the program started (nohup) stays
 * ignored. SIGPIPE and SIGXFSZ are ignored, so that the write fails with an error instead. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"

/* Exit codes of the program; the README explains each. */
enum exit_code {
    EXIT_CODE_OK = 0,
    EXIT_CODE_SHORT = 1,         /* rows, sessions or transactions are missing */
    EXIT_CODE_USAGE = 2,         /* wrong usage */
    EXIT_CODE_CLIENT_LIMIT = 3,  /* a limit of this machine or account was reached */
    EXIT_CODE_SERVER = 4,        /* the server was not reached, or refused the run */
    EXIT_CODE_EXPECTATION = 5,   /* a bound of --expect, --stop-when or compare --fail-if */
    EXIT_CODE_INVALID = 6,       /* the client was the bottleneck */
    EXIT_CODE_INTERNAL = 70,     /* a defect of this program */
    EXIT_CODE_INTERRUPTED = 130, /* stopped by a signal */
};

/* Sets *error to a usage error. Returns EXIT_CODE_USAGE. */
enum exit_code usage_refuse(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Installs the signal handlers. */
void interrupt_install(void);

/* Returns whether a signal has asked the program to end. */
bool interrupt_requested(void);

/* Prevents a second signal from ending the process in the middle of work that must be undone or
 * completed. A second signal then only prints `why`, a sentence with static lifetime. After a call
 * with NULL, a second signal ends the process again. */
void interrupt_hold(const char *why);

/* Makes later signals do nothing. Called when the result of the command is decided. Returns whether
 * a signal has already arrived. */
bool interrupt_close(void);

/* Raises the stack limit (ulimit -s) if it is too small for the main thread and for threads that
 * are started with stack_bytes 0. Called before anything else. Returns REJECTED if the limit cannot
 * be raised. */
enum status stack_prepare(struct error *error);

/* Starts a thread in which signals are blocked: only the main thread handles signals.
 * `stack_bytes`: 0 = the default size. Returns 0 or errno. */
int thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *argument);

/* Initializes a condition variable whose timed waits use the clock of mono_now_ns. */
void thread_cond_init(pthread_cond_t *condition);

/* Returns whether this process runs in a pid namespace of its own, for example in a container. Such
 * a process does not see the machine's processes. */
bool process_has_own_pid_namespace(void);

/* Returns the unused memory of the calling thread's stack to the system. Otherwise each of
 * thousands of threads would keep the memory that a deep call, for example a connect, has touched.
 * Only for threads made by pthread_create. */
void stack_release_unused(void);

/* Messages on standard error while the program works: on a terminal one line that is rewritten,
 * elsewhere plain lines. The output may be blocked (a full pipe, a terminal stopped by Ctrl-S), so
 * a write waits only as long as the caller allows, and then drops the rest of the text. Used by one
 * thread at a time. */
struct notice {
    int fd;
    bool is_terminal;
    bool is_open; /* the terminal shows a line that has no line break yet */
};

/* Writes `text`, and waits at most `patience_ns` while the output is blocked. Returns false if a
 * part of the text was not written. Any thread or signal handler may call the function. */
bool notice_write(int fd, const char *text, size_t length, int64_t patience_ns);

/* Writes a line to standard error, with a line break added. Drops the line if it cannot be written
 * at once. */
void notice_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

void notice_init(struct notice *notice, int fd);

/* Returns the maximum number of columns of a line on the terminal, or 0 if `fd` is not a
 * terminal. */
unsigned notice_columns(const struct notice *notice);

/* Shows `line`, which must not contain control characters. On a terminal the line must fit in
 * notice_columns, and it replaces the line shown before. */
void notice_show(struct notice *notice, const char *line);

/* Writes a line that stays, and removes the line that notice_show has shown. */
void notice_keep(struct notice *notice, const char *line);

/* Removes the line that notice_show has shown. */
void notice_end(struct notice *notice);

#endif
