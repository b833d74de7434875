/*
 * One session: one thread, one connection, its share of the rows.
 *
 * session_run is the thread: connect, wait at the gate, let the workload take its steps until the
 * share is done or the gate stops, disconnect. What one step does is the workload's business.
 */
#ifndef LOAD_SESSION_H
#define LOAD_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "append/adapter.h"
#include "load/gate.h"
#include "load/generator.h"
#include "measure/causes.h"
#include "measure/recorder.h"
#include "measure/sampler.h"
#include "measure/session_summary.h"
#include "plan/plan.h"

struct session;

/* The body of a session's loop: a small const table, like an adapter. */
struct workload {
    const char *name;
    /* One turn, for instance one append and one read. STATUS_OK and STATUS_REJECTED: the session
     * goes on; otherwise it ends as dropped. Counts what it does in the session and its load. */
    enum status (*step)(struct session *session);
};

/* What all sessions of a run share. The pointers are borrowed and fixed before the first thread;
 * what changes is atomic, or has its own lock, or is under connections_lock. */
struct load {
    const struct plan *plan;
    const struct table *table;
    const struct workload *workload;
    struct generator *generator;
    struct recorder *recorder;
    struct causes *causes;
    struct sampler *sampler;
    uint64_t rows_before; /* in the table, counted before the run */
    struct gate gate;

    pthread_mutex_t connections_lock; /* shared_conn and was_interrupted of every session */
    atomic_bool has_finished_one;
    atomic_uint timeouts_in_a_row; /* connects that timed out since the last other answer */
    _Atomic int64_t last_work_ns;  /* when the latest session had its last answer */
    _Atomic int64_t last_end_ns;   /* when the latest session ended */
};

struct session {
    struct load *load;
    pthread_t thread;
    unsigned index;
    enum session_outcome outcome;
    struct adapter_conn *conn;        /* the session's own */
    struct adapter_conn *shared_conn; /* the same while others may interrupt it */
    bool was_interrupted;             /* under connections_lock, as shared_conn */
    uint64_t quota;                   /* rows */
    uint64_t begun;                   /* rows of batches that were begun */
    uint64_t acknowledged;
    uint64_t rejected;
    uint64_t in_doubt;
    uint64_t batches;
    uint64_t batches_late; /* begun over SESSION_LATE_NS after their intended start */
    uint64_t last_count;   /* rows, as counted last; 0 before */
    uint64_t worst_lag;    /* rows that a count was behind at most */

    /* Between this session and the main thread. */
    atomic_bool is_leaving;      /* told to leave before its share is done */
    _Atomic int64_t progress_ns; /* monotonic: its latest acknowledged append; 0 = none */
};

#define SESSION_LATE_NS (INT64_C(100) * 1000000)

/* How long a session may take to finish its call after STOP before its connection is cut. */
#define SESSION_GRACE_NS (INT64_C(10) * 1000000000)

/* The thread's function; the argument is a struct session. Returns NULL. */
void *session_run(void *argument);

/* Adds to a counter of the run. */
void session_add(struct session *session, enum recorder_counter counter, uint64_t n);

/* Main thread: makes a call that is blocked in the session's connection return. */
void session_interrupt(struct session *session);

/* True when the connection was cut because the session did not end in time after STOP. */
bool session_was_interrupted(struct session *session);

/* Notes why something failed. */
void session_blame(struct session *session, enum cause_phase phase, enum status status,
                   const struct error *error);

#endif
