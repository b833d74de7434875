/*
 * Work beside the sessions on a connection of its own: set-up and verification.
 *
 * It runs on a thread, so that the main thread stays able to see a signal: when the program is told
 * to end, the job's connection is interrupted after a grace, and again every second until the job
 * returns; so it is when the job takes longer than its limit. The job shows its connection with
 * side_job_share; nothing else is shared.
 */
#ifndef LOAD_SIDE_JOB_H
#define LOAD_SIDE_JOB_H

#include <pthread.h>
#include <stdbool.h>

#include "append/adapter.h"

struct side_job {
    const struct adapter *adapter;
    void (*run)(struct side_job *job, void *context);
    void *context;
    const char *notice; /* printed on stderr when the job lasts over 2 s; NULL = nothing */
    int64_t limit_ns;   /* how long until the connection is interrupted anyway; 0 = no limit */

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t ended;
    struct adapter_conn *connection;
    bool has_ended;
    bool was_interrupted; /* the result is this side's doing; read when the job has ended */
};

/* Runs run(job, context) on a thread and waits for it. Fails when there is no thread to be had. */
enum status side_job_run(struct side_job *job, struct error *error);

/* Called by the job: `connection` may be interrupted from now on; NULL: none, do so before it is
 * closed. */
void side_job_share(struct side_job *job, struct adapter_conn *connection);

#endif
