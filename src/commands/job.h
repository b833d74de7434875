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
    /* log of the transactions; NULL after the run, and without --log-transactions */
    struct transaction_log *log;
    pthread_t logging; /* the thread that writes the log */
    bool is_logging;   /* the thread was started and is not joined */
    /* thread that polls the size of the tables; NULL if the size is not measured */
    struct storage_watch *storage;
    /* thread that polls what the sessions wait for; NULL without --waits */
    struct wait_watch *waits;
    /* tracer of what the server's threads wait for; NULL without --waits=kernel */
    struct switch_tracer *switches;
    struct tracer *tracer;             /* tracer of the server's I/O; NULL if nothing is traced */
    char trace_note[ERROR_TEXT_BYTES]; /* reason why tracing failed, or "" */
    struct run_files *files;
    /* metrics that monitoring systems can read; NULL without --metrics */
    struct metrics *metrics;
    struct live *live; /* the live page; NULL without --live and --control */
    /* receives changes that the user makes during the run; NULL without --control */
    struct control *control;
    /* the load; NULL unless sessions are running */
    struct load *load;
    struct progress progress;
    /* if the target has several hosts: the servers on this machine */
    struct server_place places[URL_HOSTS_MAX];
    size_t place_count;
    struct limits_question question;
    /* evidence of the limits that the run, or the current level of a search, has hit */
    struct evidence *evidence;
    struct expectations expectations;
    /* conditions of --stop-when; the sampler's thread checks them */
    struct conditions conditions;
    /* one of `conditions` is true; result->stop_condition has its text */
    atomic_bool has_condition;
    /* streams of the JUnit and YCSB files; NULL if the user did not ask for the file, or if it is
     * already written */
    FILE *junit, *ycsb;
    struct result *result;
    /* sessions were started, so the files of the run must be kept */
    bool has_begun;
    bool is_joined; /* the results of the other ranks are in the files */
    /* the files on disk show the latest outcome of *result */
    bool is_written;
    bool is_outdated; /* the last write of the outcome failed */

    /* The search; borrowed; NULL for a run. Only a search uses the functions below. */
    struct search *search;
    enum exit_code (*find_bound)(struct job *job, struct error *error); /* first step of rank 0 */
    /* called before the first session */
    void (*on_ready)(struct job *job);
    /* called when a level begins; `context` is the job */
    void (*on_begin)(void *context, const struct level *level);
    void (*on_level)(void *context, const struct level *level, const struct level *seen);
};

/* Makes the plan from the options in job->given. This can include a wait for the server; during
 * this time the function shows the other ranks that this rank is alive. */
enum exit_code job_make_plan(struct job *job, struct error *error);

/* The steps of a job, in the order of the calls. They are in job.c, job_begin.c and job_ranks.c. If
 * a step does not return OK, *error says why, and the caller passes the code and *error to
 * job_finish. */

/* Prepares everything that the sessions need: files, limits, server, tables, memory. Most errors
 * are found here, before the first session. */
enum exit_code job_begin(struct job *job, struct error *error);

/* Returns which server's processes this rank measures. */
struct server_selector job_select_server(struct job *job);

/* Starts the tracer that job_begin_trace loaded. A rank that does not measure the server's
 * processes frees the tracer instead. */
enum exit_code job_start_trace(struct job *job, struct error *error);

/* Runs the sessions, and measures while they are connected. */
enum exit_code job_load(struct job *job, struct error *error);

/* Copies what is known about the server and the tables to `result`, which belongs to the job or to
 * the live page. */
void job_note_connection(const struct job *job, struct result *result);

/* Stores the limits that the sessions hit in the job's result. */
void job_find_limits(struct job *job);

/* Returns what result_judge needs to know about this job. */
struct judge_context job_judge_context(const struct job *job);

/* Adds the problems of the run's files to the result, which may lower the verdict. Then judges the
 * expectations, because an expectation may depend on the verdict. */
void job_add_file_problems(struct job *job);

/* Judges the outcome again and, if it has changed, writes it to the files. If `was_interrupted` and
 * the run itself was not interrupted, first adds an interruption as a problem, with `text` as its
 * reason. */
void job_update_outcome(struct job *job, bool was_interrupted, const char *text);

/* Verifies and judges the result, writes files and reports, and returns the exit code. */
enum exit_code job_report(struct job *job);

void job_release(struct job *job);

/* Runs the sessions if `code` is OK, reports the result and returns the exit code. If `code` is not
 * OK, or if the sessions cannot be started, reports *error instead. */
enum exit_code job_finish(struct job *job, enum exit_code code, struct error *error);

/* Carries out a whole command, from reading its options to its exit code. `lead` does the work in
 * rank 0, or in the only process of a run without ranks. The other ranks follow rank 0's plan. */
enum exit_code job_do(struct job *job, enum command command, int argc, char **argv,
                      enum exit_code (*lead)(struct job *job, int argc, char **argv));

/* Creates or empties the JUnit file, so that the file of an earlier run cannot be mistaken for the
 * file of this run. If `may_wait`, a missing folder is not an error, because job_begin creates the
 * folder of the run and then calls this function again. */
enum exit_code job_open_junit(struct job *job, bool may_wait, struct error *error);

/* Writes a JUnit file with the error that ended the command, and closes it. Does nothing if *junit
 * is NULL. `append certify` also calls this function. */
void job_fail_junit(FILE **junit, const struct plan *plan, enum exit_code code,
                    const struct error *error);

/* Creates, checks and loads the tables, for a run and for `append prepare`. Shows progress while it
 * loads a script's tables. On OK the caller must call setup_fini. `ranks` is NULL in a run without
 * ranks. */
enum exit_code job_prepare_tables(struct setup *setup, const struct plan *plan, struct ranks *ranks,
                                  struct error *error);

/* Loads the tracer if the plan asks for a trace. `append check` also calls this function. If
 * loading fails with --io-trace=try, the function returns OK, and `note` (ERROR_TEXT_BYTES) says
 * why it failed. */
enum exit_code job_begin_trace(struct tracer **tracer, const struct plan *plan, char *note,
                               struct error *error);

/* Finds the server's container, and loads the client library of the adapter. `append check` also
 * calls this function. On OK the caller must call setup_stop_library. */
enum exit_code job_begin_client(struct container *container, const struct plan *plan,
                                struct facts *facts, struct error *error);

#endif
