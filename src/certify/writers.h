/*
 * The writers of append certify: a process with a thread and a connection for each session. Each
 * thread writes one transaction after the other and stores its outcome in the account. A thread
 * whose connection is lost connects again.
 *
 * The writers run in a process of their own, because an embedded database is part of that process:
 * to kill such a server, append kills the writers. The caller has no other threads while it starts
 * the writers.
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

/* Starts the process. On FATAL *error says why it cannot be started. */
enum status writers_start(struct writers *writers, struct error *error);

/* Returns whether the process runs. Reaps the process once it has ended. */
bool writers_are_running(struct writers *writers);

/* Lets every session finish its transaction and disconnect; kills the process if this takes longer
 * than 20 s. */
void writers_finish(struct writers *writers);

/* Kills the process at once. */
void writers_kill(struct writers *writers);

#endif
