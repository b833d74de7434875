/*
 * Work beside the sessions on a connection of its own: set-up, questions, verification.
 *
 * A probe connects, does its work and disconnects, so that it takes no place from a session. It
 * runs on a thread, so that the main thread stays able to see a signal: then the connection is
 * interrupted after a grace, and again every second until the work returns; so it is when an answer
 * takes longer than the probe's limit.
 */
#ifndef LOAD_PROBE_H
#define LOAD_PROBE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "append/adapter.h"
#include "base/process.h"
#include "plan/plan.h"

enum probe_open {
    PROBE_FIRST,     /* nobody has connected yet: where another database than the target's answers,
                        the error says which */
    PROBE_PATIENTLY, /* the same, and waits for the server as --wait allows */
    PROBE_AGAIN,     /* the sessions have left: a server that was full may need a moment; with a
                        signal, only if the server is quick */
};

struct probe {
    const struct plan *plan;
    enum probe_open open;
    bool makes_nothing; /* no database is made that is not there */

    /* On the probe's thread; `connection` is good. */
    enum status (*work)(struct probe *probe, struct adapter_conn *connection, struct error *error);
    void *context;

    const char *what;   /* named when it is given up: "the count" */
    const char *notice; /* printed on stderr after 2 s, unless --quiet */
    int64_t limit_ns;   /* for each answer; 0 = any time */
    bool is_hasty;      /* the limit is not that of --timeout */

    atomic_bool has_answered; /* since the main thread last looked */
};

/* Runs it and waits. Else than OK: *error says why the connection or the work failed, that there
 * was no thread, or that append gave up waiting for `what`. Main thread. */
enum status probe_run(struct probe *probe, struct error *error);

/* Called by the work, cheap: a part of a long answer has come, the limit counts from now. */
void probe_note_answer(struct probe *probe);

/* What a command comes to whose probe came to `status`. With a signal, be it that the probe was
 * done before: EXIT_CODE_INTERRUPTED, and *error says "interrupted before …". */
enum exit_code probe_conclude(enum status status, const char *before, struct error *error);

/* The exit code of what could not begin for this reason. */
enum exit_code probe_exit_code(const struct error *error);

#endif
