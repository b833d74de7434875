/*
 * A session: one thread, one connection, and a share of the work. It connects, waits at the gate,
 * takes turns until its share is done or the gate stops, and disconnects. A turn is a batch and a
 * read or, with a script, a transaction.
 *
 * Rows are counted twice on purpose. The accounts in struct session are the final numbers: only the
 * session's thread writes them, the main thread reads them after the join, and the ledgers of the
 * result (counts by outcome) are their sums. (The main thread closes the account of a session whose
 * thread it abandons.) The recorder's counters hold the same numbers during the run, for intervals,
 * progress and metrics, and are compared with the ledgers at the end.
 */
#ifndef LOAD_SESSION_H
#define LOAD_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "append/adapter.h"
#include "base/prepared.h"
#include "load/arrivals.h"
#include "load/epoch.h"
#include "load/line.h"
#include "load/load.h"
#include "measure/result.h"
#include "measure/transaction_log.h"
#include "plan/groups.h"

/* The stages of a session between the start of its thread and the join. */
enum session_stage {
    SESSION_ABSENT,     /* no thread was started, or the thread was joined */
    SESSION_CONNECTING, /* runs the top level of the script, and connects for the first time */
    SESSION_UP,         /* counts as connected, even while it reconnects */
    SESSION_ENDED,      /* the session's thread does not use the session any more */
    SESSION_ABANDONED,  /* the main thread has ended the session; the thread is never joined */
};

struct session {
    struct load *load;
    pthread_t thread;
    /* the stage, of enum session_stage: the main thread sets ABSENT, CONNECTING and ABANDONED, and
     * the session's thread sets UP and ENDED */
    atomic_int stage;
    bool has_slot;  /* holds one of the gate's slots for connects */
    unsigned index; /* number of the session in the run; determines its rows, its rate and the
                       random numbers of its script */
    struct group_place group; /* the session's group, and the session's number within the group */
    unsigned place;           /* number of the session in this process, and of its counters in the
                                 recorder */
    bool is_idle;
    /* The session's results. Moments are monotonic (0 = never) until the fleet makes them relative
     * to the opening of the gate. The capacity of sum.exceptions is a power of two, at least
     * sum.exception_count. */
    struct session_summary sum;
    const struct table *measured_table; /* the table whose rows `row_bytes` measures */
    double row_bytes;
    unsigned host;   /* number of the current host, if there are several */
    bool is_settled; /* a session at this place has connected */
    bool has_moved;  /* a session at this place has later tried another host, so its rows may be at
                        several hosts */
    struct adapter_conn *conn;    /* the connection; owned; NULL = not connected */
    struct line line;             /* lets the main thread cut the connection */
    struct prepared_set prepared; /* statements that are prepared on `conn` */
    atomic_bool was_cut; /* this program cut the connection, because the session did not end in
                            time */
    bool is_overdue;     /* the connection was cut because a call took too long */
    bool is_refused;     /* a read-only server refused the latest batch or transaction, and the
                            session has to reconnect */
    uint64_t quota;      /* number of rows to write; the next batch starts at row sum.begun */
    uint64_t turn_quota; /* with a script, number of transactions to run */
    uint64_t turn;       /* number of the next transaction; without a script, of the next batch and
                            the read after it */
    struct transaction_log_choice logged; /* decides which turns are added to the log of
                                             transactions */
    bool is_logged;                       /* the current turn is added to the log of transactions */
    struct epoch *epoch;                  /* the epoch in which the session works */
    uint64_t epoch_begun; /* number of rows (or transactions) begun before this epoch */
    uint64_t unsent; /* number of batches that were given up before a row was sent, plus batches
                        that were due but never begun, counted at the end of each epoch */
    struct arrivals arrivals; /* with --arrivals poisson, the moments at which the work is due */
    /* state of the script: see transactions.c; owned; NULL without a script, or before the session
     * begins */
    struct transactions *_Atomic transactions;
    uint64_t last_count; /* result of the latest count of rows; 0 before the first count */
    uint64_t worst_lag;  /* greatest number of rows that were missing in a count */
    int64_t resumed_ns;  /* moment at which the session resumed work after its latest wait for a
                            stage or pause by hand; 0: the session has never waited */
    /* total time of the session's waits for a stage and pauses by hand */
    int64_t parked_ns;
    unsigned tries;       /* number of connects after losses of the connection, since the last
                             answered batch */
    uint64_t tries_total; /* number of connects after a loss during the whole run */
    int64_t work_end_ns;  /* monotonic moment at which the work ended; 0 for idle sessions */

    atomic_bool is_leaving; /* the session must leave early; set by the main thread */
    int64_t script_cpu_ns;  /* CPU time of the thread when the session was first seen to be late; 0:
                               not late */
};

/* Main thread: returns whether the session's thread was started and is not joined. */
static inline bool session_is_live(const struct session *session)
{
    return atomic_load(&session->stage) != SESSION_ABSENT;
}

/* session_share returns the session's share of the work; session_begun returns how much of its
 * share the session has begun. Both count rows or, with a script, transactions. */
static inline uint64_t session_share(const struct session *session)
{
    return session->load->plan->script != NULL ? session->turn_quota : session->quota;
}

static inline uint64_t session_begun(const struct session *session)
{
    return session->load->plan->script != NULL ? session->turn : session->sum.begun;
}

/* Returns whether the session has work left. With a script a session ends when its share of
 * transactions or its share of rows is done. */
static inline bool session_has_work(const struct session *session)
{
    return session->sum.begun < session->quota && session_begun(session) < session_share(session);
}

/* After STOP a session has SESSION_GRACE_NS to finish its call. After that it is late, and its
 * connection is cut. The thread of a late session is abandoned if it uses SESSION_LATE_CPU_NS of
 * CPU time in the script's code. */
#define SESSION_GRACE_NS (INT64_C(10) * 1000000000)
#define SESSION_LATE_CPU_NS INT64_C(1000000000)

/* The thread's function; `argument` is a struct session. Returns NULL. */
void *session_run(void *argument);

/* The main thread calls this function repeatedly while a session is late. If the session's thread
 * is in a function of the script that does not return, ends the session on behalf of the thread. */
void session_leave(struct session *session);

#endif
