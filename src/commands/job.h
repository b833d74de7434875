/*
 * The work that `append SESSIONS RECORDS` and `find-max` share: everything before the first session
 * and after the last session. The two commands differ in how sessions are run.
 *
 * An error after the start of the first session becomes a problem of the result (measure/result.h).
 * The outcome is judged when the sessions have ended. A signal, or a page or file that cannot be
 * written, may change the outcome later. The job then writes run.json and summary.csv again, so
 * that they agree with the exit code of the program.
 */
#ifndef COMMANDS_JOB_H
#define COMMANDS_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/process.h"
#include "commands/rank_exchange.h"
#include "limits/container.h"
#include "limits/limits.h"
#include "load/control.h"
#include "load/setup.h"
#include "load/storage.h"
#include "load/wait_watch.h"
#include "measure/verdict.h"
#include "plan/facts.h"
#include "report/conditions.h"
#include "report/live.h"
#include "report/metrics.h"
#include "report/progress.h"
#include "trace/switches.h"
#include "trace/trace.h"

/* The state of a run or a search. The caller sets all members to zero, except the members of a
 * search. job_do releases the job, even if a step has failed. */
struct job {
    struct ranks *ranks; /* the ranks of the run, borrowed; NULL if this process runs alone */
    /* texts that this rank received from rank 0, or keeps until the results are merged */
    struct rank_exchange exchange;
    /* plan made from the command line; not changed after plan_make; owned */
    struct plan given;
    /* plan of a search: `given` with the highest number of sessions that the search may try */
    struct plan bounded;
    /* the plan in use: `given` in a run; in a search `bounded`, when this is known */
    const struct plan *plan;
    /* facts of `given` and `bounded`; fixed before the first session */
    struct facts facts;
    /* container of the server, if the plan names it */
    struct container container;
    bool has_library; /* facts.library was started and must be stopped */
    struct setup setup;
    /* sessions whose connections this program has closed by force; the list owns its entries */
    struct cut_list cut;
    struct generator *generator;
    struct recorder *recorder;
    /* values of the script's metrics; NULL if the script has no metrics */
    struct metric_store *values;
    struct sampler *sampler;
    pthread_t measuring; /* the sampler's thread */
    bool is_measuring;   /* the thread was started and is not joined */
    /* log of the transactions, during the run; NULL without --log-transactions */
    struct transaction_log *log;
    pthread_t logging;             /* the thread that writes the log */
    bool is_logging;               /* the thread was started and is not joined */
    struct storage_watch *storage; /* watch of the tables' size; NULL if the size is not measured */
    struct wait_watch *waits;      /* watch of the waits; NULL without --waits */
    /* tracer of the server's threads; NULL without --waits=kernel */
    struct switch_tracer *switches;
    struct tracer *tracer;             /* tracer of the server's I/O; NULL if nothing is traced */
    char trace_note[ERROR_TEXT_BYTES]; /* reason why tracing failed, or "" */
    struct run_files *files;
    struct metrics *metrics; /* metrics for monitors; NULL without --metrics */
    struct live *live;       /* the live page; NULL without --live and --control */
    struct control *control; /* changes by hand; NULL without --control */
    struct load *load;       /* the load, while the sessions run; else NULL */
    struct progress progress;
    /* servers on this machine, if the target has several hosts */
    struct server_place places[URL_HOSTS_MAX];
    size_t place_count;
    struct limits_question question;
    struct evidence *evidence; /* evidence for the limits of the run, or of the current level */
    struct expectations expectations;
    struct conditions conditions; /* conditions of --stop-when, which the sampler's thread checks */
    atomic_bool has_condition; /* one of `conditions` holds; result->stop_condition has its text */
    /* streams of the JUnit and YCSB files; NULL if not asked for, or already written */
    FILE *junit, *ycsb;
    struct result *result;
    bool has_begun;   /* sessions were started, so the files are kept */
    bool is_joined;   /* the results of the other ranks are in the files */
    bool is_written;  /* the files on disk show the present outcome of *result */
    bool is_outdated; /* the last write of the outcome failed */

    /* The search, borrowed; NULL for a run. */
    struct search *search;
    enum exit_code (*find_bound)(struct job *job, struct error *error); /* first step of rank 0 */
    /* called before the first session */
    void (*on_ready)(struct job *job);
    /* called when a level begins; `context` is the job */
    void (*on_begin)(void *context, const struct level *level);
    void (*on_level)(void *context, const struct level *level, const struct level *seen);
};

/* Makes the plan from the options in job->given. Meanwhile shows the other ranks that this rank is
 * alive, because this rank may have to wait for the server. */
enum exit_code job_make_plan(struct job *job, struct error *error);

/* The steps of a job, in their order; they are in job.c, job_begin.c and job_ranks.c. If a step
 * does not return OK, *error says why, and the caller passes the code and *error to job_finish. */

/* Does everything that can fail before the first session: files, limits, server, table, memory. */
enum exit_code job_begin(struct job *job, struct error *error);

/* Returns the server whose processes this rank measures. */
struct server_selector job_select_server(struct job *job);

/* Starts the tracer that job_begin_trace loaded. A rank that does not measure the server's
 * processes frees the tracer instead. */
enum exit_code job_start_trace(struct job *job, struct error *error);

/* Runs the sessions, and measures while they are connected. */
enum exit_code job_load(struct job *job, struct error *error);

/* Copies what is known about the server and the tables to a result: the job's or the live page's.
 */
void job_note_connection(const struct job *job, struct result *result);

/* Finds the limits that sessions hit. */
void job_find_limits(struct job *job);

/* Returns what result_judge needs to know about this job. */
struct judge_context job_judge_context(const struct job *job);

/* Adds the problems of the run's files to the result, which may lower the verdict. Then judges the
 * expectations, which may be about the verdict. */
void job_add_file_problems(struct job *job);

/* Judges the outcome again and, if it has changed, writes it to the files. With `was_interrupted`
 * an interruption is added as a problem, with `text` as the reason, unless the run itself was
 * interrupted. */
void job_update_outcome(struct job *job, bool was_interrupted, const char *text);

/* Verifies and judges the result, writes files and reports, and returns the exit code. */
enum exit_code job_report(struct job *job);

void job_release(struct job *job);

/* Runs the sessions if `code` is OK, reports the result and returns the exit code. If `code` is not
 * OK, or no session can be started, reports *error instead. */
enum exit_code job_finish(struct job *job, enum exit_code code, struct error *error);

/* Carries out a whole command, from its options to its exit code. `lead` does the work in rank 0 or
 * in a process that runs alone; the other ranks follow the plan of rank 0. */
enum exit_code job_do(struct job *job, enum command command, int argc, char **argv,
                      enum exit_code (*lead)(struct job *job, int argc, char **argv));

/* Creates or empties the JUnit file, so that the file of an earlier run is not mistaken for the
 * file of this run. With `may_wait` a missing folder is not an error: job_begin creates the folder
 * of the run's files and tries again. */
enum exit_code job_open_junit(struct job *job, bool may_wait, struct error *error);

/* Writes a JUnit file with the error that ended the command, and closes it. Does nothing if *junit
 * is NULL. `append certify` also calls this function. */
void job_fail_junit(FILE **junit, const struct plan *plan, enum exit_code code,
                    const struct error *error);

/* Creates, checks and loads the tables, for a run and for `append prepare`, and shows progress
 * while a script's tables are loaded. On OK the caller must call setup_fini. `ranks` may be NULL.
 */
enum exit_code job_prepare_tables(struct setup *setup, const struct plan *plan, struct ranks *ranks,
                                  struct error *error);

/* Loads the tracer if the plan asks for a trace. `append check` also calls this function. If
 * loading fails and the plan asks for a trace only where possible, `note` (ERROR_TEXT_BYTES) says
 * why. */
enum exit_code job_begin_trace(struct tracer **tracer, const struct plan *plan, char *note,
                               struct error *error);

/* Finds the server's container and starts the adapter's library. `append check` also
 * calls this function. On OK the caller must call setup_stop_library. */
enum exit_code job_begin_client(struct container *container, const struct plan *plan,
                                struct facts *facts, struct error *error);

#endif
