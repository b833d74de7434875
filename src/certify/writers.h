/*
 * The writers of the certify command: a process with one thread and one connection for each
 * session.
 *
 * Each thread writes one transaction after the other, and stores the outcomes in the account. A
 * thread whose connection is lost connects again.
 *
 * The writers run in a separate process, because an embedded database is part of the process that
 * uses it. To kill such a database, the main process kills the writers. The caller has no other
 * threads while it starts the writers.
 */
#ifndef CERTIFY_WRITERS_H
#define CERTIFY_WRITERS_H

#include <sys/types.h>

#include "append/adapter.h"
#include "certify/account.h"
#include "plan/plan.h"

struct writers {
    const struct plan *plan;
    struct account *account;
    const char *session_sql; /* SQL to send on each new connection; NULL or "" for nothing */
    pid_t pid;               /* the writers' process; 0: not running */
};

/* Starts the writers' process. Returns FATAL, with the reason in *error, if the process cannot be
 * started. */
enum status writers_start(struct writers *writers, struct error *error);

/* Returns whether the process runs. Reaps the process if it has ended. */
bool writers_are_running(struct writers *writers);

/* Lets every session finish its transaction and disconnect. Kills the process after 20 s or after
 * Ctrl-C. */
void writers_finish(struct writers *writers);

/* Kills the process at once. */
void writers_kill(struct writers *writers);

#endif
