/*
 * One session: one thread, one connection, its share of the rows.
 *
 * session_run is the thread: connect, wait at the gate, let the workload take its steps until the
 * share is done or the gate stops, disconnect. What one step does is the workload's business, what
 * becomes of a session whose connection is lost that of load/reconnect.h.
 *
 * An idle session has no share. It connects, stays until the others are done, and asks the server
 * for an answer then.
 */
#ifndef LOAD_SESSION_H
#define LOAD_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "append/adapter.h"
#include "load/exceptions.h"
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
     * goes on; STATUS_LOST: it connects again, if that was asked for; otherwise it ends as dropped.
     * Counts what it does in the session and its load. */
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
    bool is_idle;
    enum session_outcome outcome;
    struct adapter_conn *conn;        /* the session's own; NULL = not connected */
    struct adapter_conn *shared_conn; /* the same while others may interrupt it */
    bool was_interrupted;             /* under connections_lock, as shared_conn */
    bool is_overdue;                  /* its connection was cut because a call took too long */
    bool is_refused;                  /* its latest batch was, by a read-only server: it reconnects
                                         and sends the batch again */
    uint64_t quota;                   /* rows */
    uint64_t begun;                   /* rows that had their turn; the next batch starts here */
    uint64_t acknowledged;
    uint64_t rejected;
    uint64_t in_doubt;
    uint64_t batches;
    uint64_t batches_late; /* begun over SESSION_LATE_NS after their intended start */
    uint64_t last_count;   /* rows, as counted last; 0 before */
    uint64_t worst_lag;    /* rows that a count was behind at most */

    /* With --timeout: when the call under way began; negative: when it was cut, last; 0 = none. */
    _Atomic int64_t call_ns;

    atomic_bool is_leaving; /* told by the main thread to leave before its share is done */

    uint64_t drops;       /* connections lost */
    uint64_t reconnects;  /* connections had again after a loss */
    uint64_t churns;      /* connections opened anew for --churn */
    unsigned tries;       /* connects after a loss, since a batch was last answered */
    uint64_t tries_total; /* of the whole run */

    struct exceptions exceptions; /* rows begun and not all acknowledged */

    /* Monotonic; 0 = never. */
    int64_t first_ack_ns;
    int64_t last_ack_ns;
    int64_t work_end_ns;    /* its last answer; of idle sessions 0 */
    int64_t longest_gap_ns; /* see struct session_summary */
};

#define SESSION_LATE_NS (INT64_C(100) * 1000000)

/* How long a session may take to finish its call after STOP before its connection is cut. */
#define SESSION_GRACE_NS (INT64_C(10) * 1000000000)

/* The thread's function; the argument is a struct session. Returns NULL. */
void *session_run(void *argument);

/* Connects for `phase`: CAUSE_CONNECT the first time, later CAUSE_RECONNECT; times and counts that,
 * shows the connection to the main thread, and gets it ready. What fails is blamed, unless the run
 * was to end before the server had answered (ERROR_CANCELLED). */
enum status session_open(struct session *session, enum cause_phase phase, struct error *error);

/* Hides the connection from the main thread and closes it; nothing when there is none. */
void session_close(struct session *session);

/* Counts a connection that was lost. */
void session_count_loss(struct session *session);

/* With --timeout: around each call that waits for the server. After a call that was cut is_overdue
 * is set, and the connection of no more use, whatever the call returned. */
void session_begin_call(struct session *session);
void session_end_call(struct session *session);

/* No append was acknowledged up to now_ns. */
void session_note_gap(struct session *session, int64_t now_ns);

/* An append was acknowledged at now_ns. */
void session_note_progress(struct session *session, int64_t now_ns);

/* Adds to a counter of the run. */
void session_add(struct session *session, enum recorder_counter counter, uint64_t n);

/* Main thread: makes a call that is blocked in the session's connection return. */
void session_interrupt(struct session *session);

/* Main thread: the same to a call that has taken longer than --timeout allows; again every second
 * until it returns. */
void session_cut_overdue(struct session *session, int64_t now_ns);

/* True when the connection was cut because the session did not end in time after STOP. */
bool session_was_interrupted(struct session *session);

/* Notes why something failed. */
void session_blame(struct session *session, enum cause_phase phase, enum status status,
                   const struct error *error);

#endif
