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
#include "measure/levels.h"
#include "measure/sampler.h"
#include "plan/plan.h"
#include "report/text.h"

/* An adapter's library: loaded and begun before its first connection, ended after the last. All
 * zero: nothing was begun. */
struct job_library {
    const struct adapter *adapter;
    struct adapter_library *library; /* owned; NULL for adapters that load none */
    bool is_begun;
};

/* All zero but the plan and the members of a search at first; ended by job_release, however far it
 * came. */
struct job {
    struct plan plan;           /* owned; job_begin completes it, then it stays as it is */
    struct container container; /* of the server, when the plan names one */
    struct job_library library;
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
    FILE *junit; /* NULL: not asked for, or written */
    struct result *result;
    bool has_begun; /* sessions were started: the files stay */
    bool is_told;   /* the files tell the outcome as it is in *result */

    struct search *search;        /* borrowed; NULL: a run */
    struct hold_samples *samples; /* borrowed; of a search */
};

/* Makes the plan that was read, and everything that can fail before the first session: files,
 * limits, server, table, memory. Else than OK: job_refuse says why. */
enum exit_code job_begin(struct job *job, struct error *error);

/* Runs the sessions by run(load, context), and measures while they live. on_shortage captures
 * evidence. Fills *job->result. */
enum exit_code job_load(struct job *job,
                        enum status (*run)(struct load *load, void *context, struct error *error),
                        void *context, struct error *error);

/* Says what the sessions came to: the server's side, what is in the table, verdict and problems.
 * Then writes files and reports and returns the exit code. */
enum exit_code job_conclude(struct job *job);

/* The job could not begin: says why. */
enum exit_code job_refuse(struct job *job, enum exit_code code, const struct error *error);

void job_release(struct job *job);

/* Makes or empties the JUnit file, so that what an earlier run left cannot pass for this one's.
 * With `may_wait` a folder that is not there is no error: it may be the one of the run's files, and
 * job_begin tries again. */
enum exit_code job_open_junit(struct job *job, bool may_wait, struct error *error);

/* For check, too: the limits of this machine are raised, and in the way of nothing; the server's
 * container is found; the adapter's library is begun. */
enum exit_code job_begin_client(struct container *container, struct job_library *library,
                                struct plan *plan, struct error *error);
void job_end_library(struct job_library *library);

#endif
