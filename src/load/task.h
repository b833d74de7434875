/*
 * Work on a connection of its own, before or after the sessions.
 *
 * It takes no place from a session, and runs on a thread, so that the main thread stays able to see
 * a signal: then the connection is interrupted after a grace, and again every second until the work
 * returns. The same happens when an answer takes longer than the task's limit. Main thread.
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

/* How long a server that did not let sessions finish may take for each answer. */
#define TASK_HASTY_NS (10 * MONO_NS_PER_S)

enum task_open {
    TASK_FIRST,     /* nobody has connected yet: where another database than the target's answers,
                        the error says which */
    TASK_PATIENTLY, /* the same, and waits for the server as --wait allows */
    TASK_AGAIN,     /* the sessions have left: a server that was full may need a moment; with a
                        signal, only if the server is quick */
    TASK_ONCE,      /* the same without reconnecting, even with --on-drop reconnect: the host may
                        be down */
};

/* Work on a connection of its own. */
struct task {
    const struct plan *plan;
    enum task_open open;
    bool makes_nothing; /* no database is made that is not there */
    unsigned host;      /* of several: tried first; out: the one that answered */
    bool is_of_host;    /* no other will do */

    /* On the task's thread; `connection` is good. */
    enum status (*work)(struct task *task, struct adapter_conn *connection, struct error *error);
    const struct setup *setup;
    void *context;

    const char *what;   /* named when it is given up: "the count" */
    const char *notice; /* printed on stderr after 2 s, unless --quiet */
    int64_t limit_ns;   /* for each answer; 0 = any time */
    bool is_hasty;      /* the limit is not that of --timeout */

    /* Of task_run. */
    atomic_bool has_answered;    /* since the main thread last looked */
    const struct adapter *other; /* that the server speaks the protocol of; NULL: not known */
    enum status status;
    struct error error;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t ended;
    bool has_ended;
    struct line line; /* has a lock of its own */
};

/* Called by the work, cheap: a part of a long answer has come, the limit counts from now. `task` is
 * a struct task. */
void task_note_answer(void *task);

/* Runs the task and waits for its end. Else than OK: *error says why the connection or the work
 * failed, that there was no thread, or that append gave up waiting for `what`. */
enum status task_run(struct task *task, struct error *error);

/* The same after the sessions, of which the host may be down by now. `is_hasty`: the server did not
 * let sessions finish, so it gets no more than TASK_HASTY_NS. */
enum status task_run_again(struct task task, const struct setup *setup, const struct plan *plan,
                           bool is_hasty, struct error *error);

/* Counts the rows of a table, beside the sessions. */
enum status task_count_rows(struct task *task, struct adapter_conn *conn,
                            const struct statement *count, uint64_t *rows, struct error *error);

/* The exit code of what could not begin for this reason. */
enum exit_code task_exit_code(const struct error *error);

/* The exit code of a command whose task returned `status`. After a signal, even one that came when
 * the task was done: EXIT_CODE_INTERRUPTED, and *error says "interrupted before ...". */
enum exit_code task_conclude(enum status status, const char *before, struct error *error);

#endif
