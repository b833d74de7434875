/*
 * Work on a separate connection, before or after the sessions.
 *
 * The sessions are not connected at that time, so the connection does not take the place of a
 * session. The work runs on a thread of its own, so that the main thread can react to a signal: the
 * main thread interrupts the connection after a grace period, and again every second until the work
 * returns. The main thread does the same when an answer takes longer than the task's limit. Only
 * the main thread calls these functions, except for task_note_answer and task_count_rows, which the
 * work calls.
 */
#ifndef LOAD_TASK_H
#define LOAD_TASK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "append/adapter.h"
#include "base/process.h"
#include "load/line.h"
#include "load/setup.h"
#include "plan/plan.h"

/* Time limit for each answer, if sessions had to be cut because the server did not answer. */
#define TASK_HASTY_NS (10 * MONO_NS_PER_S)

enum task_open {
    TASK_FIRST, /* the first connect: if a database of another kind answers, the error names that
                   kind */
    TASK_PATIENTLY, /* a first connect, which waits for the server for as long as --wait allows */
    TASK_AGAIN, /* a connect after the sessions have ended; it is tried again for a short time if
                   the server is full, and its time-out is short after a signal */
    TASK_ONCE,  /* a connect after the sessions have ended; it is tried only once, even with
                   --on-drop reconnect, because the host may be down */
};

/* Work on a separate connection. */
struct task {
    const struct plan *plan;
    enum task_open open;
    bool creates_nothing; /* a missing database is not created */
    unsigned host; /* with several hosts: number of the host to try first; after task_run, number of
                      the host that answered */
    bool is_of_host; /* no other host may be used */

    /* Does the work on the task's thread; `connection` is open. */
    enum status (*work)(struct task *task, struct adapter_conn *connection, struct error *error);
    const struct setup *setup;
    void *context;

    const char *what;   /* name of the expected answer, for the error "append gave up waiting for
                           WHAT" */
    const char *notice; /* text for stderr, printed after 2 s, unless --quiet */
    int64_t limit_ns;   /* limit for each answer; 0 = unlimited */
    bool is_hasty;      /* limit_ns is TASK_HASTY_NS, not --timeout */

    /* task_run sets the members below. */
    atomic_bool has_answered;    /* an answer has arrived since the main thread last read this
                                    flag */
    const struct adapter *other; /* adapter of the database that seems to answer at the target; NULL
                                    if unknown */
    enum status status;
    struct error error;
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t ended;
    bool has_ended;
    struct line line; /* the task's connection, which has a lock of its own */
};

/* Restarts the time limit for an answer. The work calls this function when a part of a long answer
 * has arrived. It takes little time. `task` is a struct task. */
void task_note_answer(void *task);

/* Runs the task and waits for its end. On failure, *error says why the connection or the work
 * failed, that no thread could be started, or that the work was interrupted while it waited for
 * `what`. */
enum status task_run(struct task *task, struct error *error);

/* Runs a task after the sessions have ended. The host may be down. If is_hasty is true, the server
 * did not let sessions finish, and the time limit for each answer is at most TASK_HASTY_NS. */
enum status task_run_again(struct task task, const struct setup *setup, const struct plan *plan,
                           bool is_hasty, struct error *error);

/* Counts the rows of a table as part of a task. */
enum status task_count_rows(struct task *task, struct adapter_conn *conn,
                            const struct statement *count, uint64_t *rows, struct error *error);

/* Returns the exit code of a command that could not begin because of `error`. */
enum exit_code task_exit_code(const struct error *error);

/* Returns the exit code of a command whose task returned `status`. After a signal, returns
 * EXIT_CODE_INTERRUPTED even if the task was done, and *error is "interrupted before BEFORE". */
enum exit_code task_conclude(enum status status, const char *before, struct error *error);

#endif
