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
#include "commands/together.h"
#include "limits/container.h"
#include "limits/limits.h"
#include "load/fleet.h"
#include "load/setup.h"
#include "plan/facts.h"
#include "report/text.h"
#include "trace/trace.h"

/* All zero but the plan and the members of a search at first. job_do ends it, however far it
 * came. */
struct job {
    struct ranks *ranks;      /* borrowed; NULL: there is this process alone */
    struct together together; /* plan of a rank other than 0, and the texts that every rank keeps */
    struct plan given;        /* owned; the command line's, from plan_make on const */
    struct plan bounded;      /* a search's plan, with the most sessions that it may hold */
    const struct plan *plan;  /* the one that holds: `given`, at first */
    struct facts facts;       /* of the plan and of `bounded`; fixed before the first session */
    struct container container; /* that the server runs in, if the plan names a container */
    bool has_library;           /* facts.library was begun */
    struct setup setup;
    struct cut_list cut; /* entries owned */
    struct generator *generator;
    struct recorder *recorder;
    struct sampler *sampler;
    pthread_t measuring;               /* its thread, */
    bool is_measuring;                 /* … which was started, and not joined */
    struct storage_watch *storage;     /* NULL: the size of the tables is not asked for */
    struct tracer *tracer;             /* NULL: nothing is traced */
    char trace_note[ERROR_TEXT_BYTES]; /* why not, though it was tried */
    struct run_files *files;
    struct metrics *metrics; /* NULL: not asked for */
    struct progress progress;
    struct server_place places[URL_HOSTS_MAX]; /* of several hosts, those on this machine */
    size_t place_count;
    struct limits_question question;
    struct evidence *evidence; /* of a run, or of a level */
    struct expectations expectations;
    FILE *junit, *ycsb; /* NULL: not asked for, or written */
    struct result *result;
    bool has_begun; /* sessions were started: the files stay */
    bool is_joined; /* the files have what the other ranks sent */
    bool is_told;   /* the files tell the outcome as it is in *result */

    /* Of a search; borrowed. NULL: a run. */
    struct search *search;
    enum exit_code (*find_bound)(struct job *job, struct error *error); /* before all else */
    void (*on_ready)(struct job *job);                          /* before the first session */
    void (*on_begin)(void *context, const struct level *level); /* context: the job */
    void (*on_level)(void *context, const struct level *level, const struct level *own);
};

/* plan_make for the options in job->given; other ranks hear of this one while it waits. */
enum exit_code job_make_plan(struct job *job, struct error *error);

/* Steps of a job in their order, for job.c, job_begin.c and job_ranks.c. */

/* Everything that can fail before the first session of a plan that was made: files, limits, server,
 * table, memory. Else than OK: *error says why, for job_finish. */
enum exit_code job_begin(struct job *job, struct error *error);

/* Whom this rank looks at. */
struct server_selector job_select_server(struct job *job);

/* Starts the tracer that was loaded; of several ranks only those that look at the server's
 * processes trace. */
enum exit_code job_start_trace(struct job *job, struct error *error);

/* Runs the sessions, and measures while they live. */
enum exit_code job_load(struct job *job, struct error *error);

/* Puts what is known of the server and of the tables into the result. */
void job_note_connection(struct job *job);

/* Finds the limits that sessions ran into. */
void job_find_limits(struct job *job);

/* What the result is judged by. */
struct judge_context job_judge_by(const struct job *job);

/* Adds what is wrong with the files by now; then nothing can change the verdict any more, on which
 * there may be an expectation. */
void job_note_files(struct job *job);

/* Judges the outcome by what is known by now; where it has become another one the files tell it. A
 * run that was interrupted before is so in its own words. */
void job_settle(struct job *job, bool was_interrupted, const char *text);

/* Verifies and judges the result, and writes files and reports. Returns the exit code. */
enum exit_code job_conclude(struct job *job);

void job_release(struct job *job);

/* Runs the sessions and measures while they live.
 * Then says what they came to: the server's side, what is in the table, verdict and problems;
 * writes files and reports, and returns the exit code. With another code than OK, or when no
 * session can be started, the job could not begin: says why. */
enum exit_code job_finish(struct job *job, enum exit_code code, struct error *error);

/* All of a command, from its options to the end of the job: of one process, and of one of several
 * ranks, where rank 0 leads and the others do as its plan says. */
enum exit_code job_do(struct job *job, enum command command, int argc, char **argv,
                      enum exit_code (*lead)(struct job *job, int argc, char **argv));

/* Makes or empties the JUnit file, so that what an earlier run left cannot pass for this one's.
 * With `may_wait` a folder that is not there is no error: it may be the one of the run's files, and
 * job_begin tries again. */
enum exit_code job_open_junit(struct job *job, bool may_wait, struct error *error);

/* Sets the tables up, for a run and for `append prepare`, and shows the progress while a script's
 * tables are loaded. On OK the caller ends it with setup_fini. `ranks` may be NULL. */
enum exit_code job_prepare_tables(struct setup *setup, const struct plan *plan, struct ranks *ranks,
                                  struct error *error);

/* For check, too: loads the tracer, when the plan asks for one. Where that cannot be and the plan
 * only tries it, `note` (ERROR_TEXT_BYTES) says why. */
enum exit_code job_begin_trace(struct tracer **tracer, const struct plan *plan, char *note,
                               struct error *error);

/* For check, too: the server's container is found and the adapter's library is begun. On OK the
 * caller ends that with setup_stop_library. */
enum exit_code job_begin_client(struct container *container, const struct plan *plan,
                                struct facts *facts, struct error *error);

#endif
