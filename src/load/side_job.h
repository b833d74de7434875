/*
 * Work beside the sessions on a connection of its own: set-up and verification.
 *
 * It runs on a thread, so that the main thread stays able to see a signal: when the program is told
 * to end, the job's connection is interrupted after a grace, and again every second until the job
 * returns; so it is when an answer takes longer than the job's limit. The job shows its connection
 * with side_job_share, and with side_job_note_answer that the server goes on answering.
 */
#ifndef LOAD_SIDE_JOB_H
#define LOAD_SIDE_JOB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "append/adapter.h"

struct side_job {
    const struct adapter *adapter;
    void (*run)(struct side_job *job, void *context);
    void *context;
    const char *notice;       /* printed on stderr when the job lasts over 2 s; NULL = nothing */
    int64_t limit_ns;         /* how long the server may take for an answer until the connection is
                                 interrupted anyway; 0 = no limit */
    bool is_hasty;            /* the limit is not that of --timeout */
    atomic_bool has_answered; /* since the main thread last looked */

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t ended;
    struct adapter_conn *connection;
    bool has_ended;
    int64_t limit_at_ns;  /* when the limit is reached; INT64_MAX = never */
    bool is_overdue;      /* it was interrupted at the limit */
    bool was_interrupted; /* the result is this side's doing; read when the job has ended */
};

/* Runs run(job, context) on a thread and waits for it. Fails when there is no thread to be had. */
enum status side_job_run(struct side_job *job, struct error *error);

/* Called by the job: `connection` may be interrupted from now on; NULL: none, do so before it is
 * closed. */
void side_job_share(struct side_job *job, struct adapter_conn *connection);

/* Of a job that was interrupted: records that append gave up waiting for `what`, and when. */
void side_job_blame(const struct side_job *job, const char *what, struct error *error);

/* Called by the job, cheap: a part of a long answer has come, the limit counts from now. */
void side_job_note_answer(struct side_job *job);

#endif
