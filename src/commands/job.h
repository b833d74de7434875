/*
 * The work that `append SESSIONS RECORDS` and `find-max` share: everything before the first session
 * and after the last session. The two commands differ in how sessions are run.
 *
 * An error after the first session becomes a problem of the result (measure/result.h). The outcome
 * is judged when the sessions have ended. It is judged again when a later event changes it: a
 * signal, or a page or file that cannot be written. Then run.json and summary.csv are written
 * again, so that they agree with the exit code of the program.
 */
#ifndef COMMANDS_JOB_H
#define COMMANDS_JOB_H

#include <stdbool.h>
#include <stdio.h>

#include "base/process.h"
#include "commands/rank_exchange.h"
#include "limits/container.h"
#include "limits/limits.h"
#include "load/fleet.h"
#include "load/setup.h"
#include "plan/facts.h"
#include "report/text.h"
#include "trace/trace.h"

/* The state of a run or a search. The caller zeroes it, except for the members of a search; job_do
 * releases it, whatever step it reached. */
struct job {
    struct ranks *ranks;           /* borrowed; NULL: this process runs alone */
    struct rank_exchange exchange; /* texts that ranks send and keep */
    struct plan given;             /* owned; from the command line; const after plan_make */
    struct plan bounded;           /* a search's plan with the most sessions that may be held */
    const struct plan *plan;       /* the plan in use: `given`, later `bounded` in a search */
    struct facts facts;            /* of `given` and `bounded`; fixed before the first session */
    struct container container;    /* the server's container, if the plan names it */
    bool has_library;              /* facts.library was started */
    struct setup setup;
    struct cut_list cut; /* entries owned */
    struct generator *generator;
    struct recorder *recorder;
    struct sampler *sampler;
    pthread_t measuring;               /* the sampler's thread */
    bool is_measuring;                 /* the thread was started and is not joined */
    struct storage_watch *storage;     /* NULL: the size of the tables is not measured */
    struct tracer *tracer;             /* NULL: nothing is traced */
    char trace_note[ERROR_TEXT_BYTES]; /* why tracing failed; "": it did not fail */
    struct run_files *files;
    struct metrics *metrics; /* NULL: no --metrics */
    struct progress progress;
    struct server_place places[URL_HOSTS_MAX]; /* with several hosts, those on this machine */
    size_t place_count;
    struct limits_question question;
    struct evidence *evidence; /* of a run, or of the current level */
    struct expectations expectations;
    FILE *junit, *ycsb; /* NULL: the option was not given, or the file is written */
    struct result *result;
    bool has_begun;  /* sessions were started: the files stay */
    bool is_joined;  /* the other ranks' results are in the files */
    bool is_written; /* the files show the outcome that *result has */

    /* The search, borrowed; NULL for a run. */
    struct search *search;
    enum exit_code (*find_bound)(struct job *job, struct error *error); /* the first step */
    void (*on_ready)(struct job *job);                          /* before the first session */
    void (*on_begin)(void *context, const struct level *level); /* context: the job */
    void (*on_level)(void *context, const struct level *level, const struct level *seen);
};

/* Makes the plan from the options in job->given. While it waits for the server, the other ranks are
 * kept informed that this rank is alive. */
enum exit_code job_make_plan(struct job *job, struct error *error);

/* The steps of a job in their order, shared by job.c, job_begin.c and job_ranks.c. On any code but
 * OK *error says why, for job_finish. */

/* Does everything that can fail before the first session: files, limits, server, table, memory. */
enum exit_code job_begin(struct job *job, struct error *error);

/* Returns the server whose processes this rank measures. */
struct server_selector job_select_server(struct job *job);

/* Starts the tracer that job_begin_trace loaded. Only a rank that measures the server's processes
 * traces. */
enum exit_code job_start_trace(struct job *job, struct error *error);

/* Runs the sessions, and measures while they are connected. */
enum exit_code job_load(struct job *job, struct error *error);

/* Copies what is known about the server and the tables to the result. */
void job_note_connection(struct job *job);

/* Finds the limits that sessions hit. */
void job_find_limits(struct job *job);

/* Returns what the result is judged by. */
struct judge_context job_judge_context(const struct job *job);

/* Adds errors of the files to the result, which makes the verdict final. Then judges the
 * expectations: an expectation may be about the verdict. */
void job_add_file_problems(struct job *job);

/* Judges the outcome again and, if it has changed, writes it to the files. `text` is the reason if
 * `was_interrupted` and the run itself was not interrupted before. */
void job_update_outcome(struct job *job, bool was_interrupted, const char *text);

/* Verifies and judges the result, writes files and reports, and returns the exit code. */
enum exit_code job_report(struct job *job);

void job_release(struct job *job);

/* Runs the sessions if `code` is OK, reports the result and returns the exit code. If `code` is
 * another, or no session can be started, reports *error instead. */
enum exit_code job_finish(struct job *job, enum exit_code code, struct error *error);

/* Does a whole command, from its options to its exit code. `lead` is the command of rank 0 or of a
 * process that runs alone; the other ranks follow the plan of rank 0. */
enum exit_code job_do(struct job *job, enum command command, int argc, char **argv,
                      enum exit_code (*lead)(struct job *job, int argc, char **argv));

/* Creates or empties the JUnit file, so that the file of an earlier run cannot be taken for this
 * run's. With `may_wait` a missing folder is not an error: it may be the folder of the run's files,
 * and job_begin tries again. */
enum exit_code job_open_junit(struct job *job, bool may_wait, struct error *error);

/* Sets the tables up, for a run and for `append prepare`, and shows progress while a script's
 * tables are loaded. On OK the caller must call setup_fini. `ranks` may be NULL. */
enum exit_code job_prepare_tables(struct setup *setup, const struct plan *plan, struct ranks *ranks,
                                  struct error *error);

/* Loads the tracer if the plan asks for it; also for `append check`. If loading fails and the plan
 * only tries to trace, `note` (ERROR_TEXT_BYTES) says why. */
enum exit_code job_begin_trace(struct tracer **tracer, const struct plan *plan, char *note,
                               struct error *error);

/* Finds the server's container and starts the adapter's library; also for `append check`. On OK the
 * caller must call setup_stop_library. */
enum exit_code job_begin_client(struct container *container, const struct plan *plan,
                                struct facts *facts, struct error *error);

#endif
