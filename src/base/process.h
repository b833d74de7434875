/*
 * What concerns the whole process: how it exits, the signals that end it, its threads, and what it
 * says on standard error.
 *
 * SIGINT, SIGTERM and SIGHUP: the first one sets a flag that the main thread looks at; another one,
 * over 0.2 s later, ends the process at once with exit code 130. A SIGHUP that was ignored when the
 * program started (nohup) stays ignored. SIGPIPE and SIGXFSZ are ignored: what they tell is an
 * error of the write.
 */
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
    EXIT_CODE_SHORT = 1,         /* the run ended but its ledger is short */
    EXIT_CODE_USAGE = 2,         /* wrong usage */
    EXIT_CODE_CLIENT_LIMIT = 3,  /* this machine or account allows too little */
    EXIT_CODE_SERVER = 4,        /* the server was not reached, or refused */
    EXIT_CODE_EXPECTATION = 5,   /* an expectation was missed */
    EXIT_CODE_INVALID = 6,       /* the client was the bottleneck */
    EXIT_CODE_INTERNAL = 70,     /* a defect of this program */
    EXIT_CODE_INTERRUPTED = 130, /* stopped by a signal */
};

/* Records that what is asked for makes no sense. Returns EXIT_CODE_USAGE. */
enum exit_code usage_refuse(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void interrupt_install(void);
bool interrupt_requested(void);

/* The outcome is judged: from now on a signal does nothing. True: one came before. */
bool interrupt_close(void);

/* Makes room for the main thread, and for threads that are made without a size of their own, where
 * the limit of the shell (ulimit -s) is too small for them; to be called first. REJECTED: it may
 * not be raised. */
enum status stack_prepare(struct error *error);

/* Starts a thread in which no signal handler runs: signals are for the main thread. `stack_bytes`:
 * 0 = as much as usual. Returns 0 or errno. */
int thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *argument);

/* A condition whose timed waits go by mono_now_ns. */
void thread_cond_init(pthread_cond_t *condition);

/* Gives the memory of the stack that is not in use now back to the system. What a deep call, such
 * as connecting, has touched would else stay with the thread, and there are thousands of them. Only
 * for threads made by pthread_create. */
void stack_give_back(void);

/* Text for people on standard error while the program works: a line that is rewritten on a
 * terminal, and plain lines elsewhere. Nobody may read it: a full pipe, a terminal stopped by
 * Ctrl-S. So nothing waits longer than the caller allows, and what cannot be written by then is
 * dropped. One thread at a time. */
struct notice {
    int fd;
    bool is_terminal;
    bool is_open; /* a line stands on the terminal without its end */
};

/* Writes `text`, waiting up to `patience_ns` for room. False: not all of it was written. Any
 * thread, or a signal handler. */
bool notice_write(int fd, const char *text, size_t length, int64_t patience_ns);

/* A line on standard error; the line break is added. Dropped when it cannot be written at once. */
void notice_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

void notice_init(struct notice *notice, int fd);

/* How wide a line on the terminal can be; of no terminal 0. */
unsigned notice_columns(const struct notice *notice);

/* Shows `line`, which is clean and fits: in place of the one before on a terminal. */
void notice_show(struct notice *notice, const char *line);

/* A line that stays. */
void notice_keep(struct notice *notice, const char *line);

/* Takes the rewritten line away. */
void notice_end(struct notice *notice);

#endif
