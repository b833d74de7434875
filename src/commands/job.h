/*
 * What the commands that load a database have in common: everything before the first session and
 * after the last one. `append SESSIONS RECORDS` and `find-max` differ in how the sessions are run.
 *
 * What goes wrong after the first session is a problem of the result (measure/result.h). Its
 * outcome is judged when the sessions have ended, and again whenever something that comes later, a
 * page or a file that cannot be written, a signal, makes it another one; then run.json and
 * summary.csv are written again. So they say what the program exits with.
 */
#ifndef COMMANDS_JOB_H
#define COMMANDS_JOB_H

#include <stdbool.h>
#include <stdio.h>

#include "base/process.h"
#include "limits/container.h"
#include "limits/limits.h"
#include "load/fleet.h"
#include "load/setup.h"
#include "report/text.h"

/* All zero but the plan and the members of a search at first; ended by job_release, however far it
 * came. */
struct job {
    struct plan plan;                /* owned; job_begin completes it, then it stays as it is */
    struct container container;      /* of the server, when the plan names one */
    struct adapter_library *library; /* owned; NULL for adapters that load none */
    bool has_library;                /* it was begun */
    struct setup setup;
    struct generator *generator;
    struct recorder *recorder;
    struct sampler *sampler;
    struct run_files *files;
    struct metrics *metrics; /* NULL: not asked for */
    struct progress progress;
    struct limits_question question;
    struct evidence *evidence; /* of a run, or of a level */
    struct expectations expectations;
    FILE *junit, *ycsb; /* NULL: not asked for, or written */
    struct result *result;
    bool has_begun; /* sessions were started: the files stay */
    bool is_told;   /* the files tell the outcome as it is in *result */

    /* Of a search; borrowed. NULL: a run. */
    struct search *search;
    void (*on_begin)(void *context, const struct level *level); /* context: the job */
    void (*on_level)(void *context, const struct level *level);
};

/* Everything that can fail before the first session of a plan that was made: files, limits, server,
 * table, memory. Else than OK: *error says why, for job_finish. */
enum exit_code job_begin(struct job *job, struct error *error);

/* Runs the sessions and measures while they live.
 * Then says what they came to: the server's side, what is in the table, verdict and problems;
 * writes files and reports, and returns the exit code. With another code than OK, or when no
 * session can be started, the job could not begin: says why. */
enum exit_code job_finish(struct job *job, enum exit_code code, struct error *error);

void job_release(struct job *job);

/* Makes or empties the JUnit file, so that what an earlier run left cannot pass for this one's.
 * With `may_wait` a folder that is not there is no error: it may be the one of the run's files, and
 * job_begin tries again. */
enum exit_code job_open_junit(struct job *job, bool may_wait, struct error *error);

/* For check, too: the server's container is found and the adapter's library is begun. On OK the
 * caller ends that with setup_stop_library. */
enum exit_code job_begin_client(struct container *container, struct adapter_library **library,
                                struct plan *plan, struct error *error);

#endif
