/*
 * One session: one thread, one connection, its share of the work. It connects, waits at the gate,
 * takes turns until the share is done or the gate stops, and disconnects. A turn is a batch and a
 * read, or a transaction of a script.
 *
 * A row is counted twice on purpose. The accounts in struct session are the truth: only its thread
 * writes them, they are read after the join, and the ledgers are their sums. The recorder's
 * counters are the same numbers while the run goes on, for intervals, progress and metrics.
 */
#ifndef LOAD_SESSION_H
#define LOAD_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "append/adapter.h"
#include "base/prepared.h"
#include "load/gate.h"
#include "load/generator.h"
#include "load/line.h"
#include "load/setup.h"
#include "measure/ledger.h"
#include "measure/levels.h"
#include "measure/recorder.h"
#include "measure/result.h"
#include "measure/sampler.h"
#include "plan/plan.h"
#include "ranks/ranks.h"

/* What all sessions of a run or a search share. */
struct load {
    /* Of the caller; fixed before the first thread. */
    const struct plan *plan;
    const struct setup *setup;
    struct generator *generator;
    struct recorder *recorder;
    struct sampler *sampler; /* may be NULL */
    int64_t start_ns;        /* monotonic start of the run */

    /* May be NULL. Main thread; once a run or level, soon after the first session had no thread,
     * was not let in or was dropped: what was short still is, and the other sessions are still
     * there. */
    void (*on_shortage)(void *context);
    /* May be NULL. Main thread, in a run; just before the gate opens, and soon after the last
     * answer. */
    void (*on_gate)(void *context, int64_t go_ns);
    void (*on_done)(void *context, int64_t done_ns);
    void *context;

    struct cut_list *cut; /* filled by the main thread; of the caller */

    struct ranks *ranks; /* that share the run; NULL: there is this process alone */

    /* Of a search for the most sessions; NULL: a run. The caller has set the bounds and hold_ns. */
    struct search *search;
    int64_t patience_ns; /* how much longer a hold may be, so that the slowest session can show an
                            append */
    /* Main thread; before the first session of a level is added, and when it is known what became
     * of it: sessions that are up still are. `own`: what of it this process saw. */
    void (*on_begin)(void *context, const struct level *level);
    void (*on_level)(void *context, const struct level *level, const struct level *own);

    /* Of the fleet. What changes is atomic, or has its own lock. */
    struct statement read;   /* what sessions read by: count(*), or the user's query */
    struct causes *causes;   /* in a search of the level that is being tried */
    struct causes *mistakes; /* of the script: the whole run's; in a run the same as `causes` */
    struct gate gate;
    atomic_bool has_finished_one;
    /* Sessions as their counters have them, in one place: the main thread looks often. */
    atomic_uint sessions_connected, sessions_failed, sessions_dropped;
    atomic_uint timeouts_in_a_row; /* connects that timed out since the last other answer */
    _Atomic int64_t last_work_ns;  /* when the latest session had its last answer */
    _Atomic int64_t last_end_ns;   /* when the latest session ended */
};

struct session {
    struct load *load;
    pthread_t thread;
    unsigned index; /* among all sessions of the run: what rows, rates and scripts go by */
    unsigned place; /* among those of this process: what the recorder goes by */
    bool is_idle;
    /* What it came to. Moments are monotonic, 0 = never, until the fleet hands it over. The room of
     * `exceptions` is the next power of two. */
    struct session_summary sum;
    const struct table *measured_table; /* whose rows have this mean of bytes: */
    double row_bytes;
    unsigned host;                     /* of several: that it is at, or tries */
    bool is_settled;                   /* its place has been connected to a host ... */
    bool has_moved;                    /* ... and gone on to another: its rows may be at both */
    struct adapter_conn *conn;         /* the session's own; NULL = not connected */
    struct line line;                  /* the same for the main thread, which may cut it */
    struct prepared_set prepared;      /* of that connection */
    atomic_bool was_cut;               /* as it did not end in time after STOP */
    bool is_overdue;                   /* its connection was cut because a call took too long */
    bool is_refused;                   /* its latest batch was, by a read-only server: it reconnects
                                          and sends the batch again */
    uint64_t quota;                    /* rows; the next batch starts at sum.begun */
    uint64_t turn_quota;               /* of a script: transactions */
    uint64_t turn;                     /* the next one's number */
    struct transactions *transactions; /* owned; transactions.c; NULL: no script, or not begun */
    uint64_t batches_late;             /* begun over 100 ms after their intended start */
    uint64_t last_count;               /* rows, as counted last; 0 before */
    uint64_t worst_lag;                /* rows that a count was behind at most */
    unsigned tries;                    /* connects after a loss, since a batch was last answered */
    uint64_t tries_total;              /* of the whole run */
    int64_t work_end_ns;               /* monotonic: its last answer; of idle sessions 0 */

    atomic_bool is_leaving; /* told by the main thread to leave before its share is done */
    atomic_bool has_ended;  /* by its thread, when all else is written */
    bool is_live;           /* main thread: its thread was started and not joined */
    bool is_left;           /* main thread: its thread was left behind, and is never joined */
    int64_t
        script_cpu_ns; /* CPU time of its thread as it was first seen to be late; 0: it was not */
};

/* Calls of the session's thread: calls.c. */

/* Adds to a counter of the run. */
void session_add(struct session *session, enum recorder_counter counter, uint64_t n);

/* With --timeout: around each call that waits for the server. After a call that was cut is_overdue
 * is set, and the connection of no more use, whatever the call returned. */
void session_begin_call(struct session *session);
void session_end_call(struct session *session);

/* Adds to the causes; `name`, borrowed, of what a script calls so, or NULL. CAUSE_SCRIPT with FATAL
 * is a mistake in the script: it belongs to no level of a search, but ends it. */
void session_blame(struct session *session, enum cause_phase phase, const char *name,
                   enum status status, const struct error *error);

/* The connection is still there, and some use. */
static inline bool session_goes_on(enum status status)
{
    return status == STATUS_OK || status == STATUS_REJECTED;
}

/* No append or commit was acknowledged up to now_ns, since the latest one or the beginning; and one
 * was. */
void session_note_gap(struct session *session, int64_t now_ns);
void session_note_progress(struct session *session, int64_t now_ns);

/* The rows that table number `table` had before the run, at the session's host. False: they are not
 * known, or the session's own rows may be at another host. */
bool session_knows_before(const struct session *session, size_t table, uint64_t *before);

/* A count must show the session's own rows, and never fewer than the one before. */
void session_note_count(struct session *session, uint64_t rows, uint64_t own, uint64_t *last);

/* One batch on its way. */
struct append {
    const struct table *table;
    /* Makes `rows` rows, beginning with row `from` of the append; on failure returns NULL and
     * sets *error. NULL: the generator makes the rows. */
    const struct batch *(*make)(void *context, uint64_t from, size_t rows, struct error *error);
    void *context;
    size_t most_rows;   /* at a time */
    uint64_t first_row; /* among the session's own */
    uint64_t rows;
    uint64_t handed;   /* rows that the adapter was given in the latest try; of a lost one, that
                          were sent */
    uint64_t accepted; /* rows that the server acknowledged */
    uint64_t in_doubt; /* of those that were handed over */
};

/* Sends the batch; tries again while the database is busy and has accepted no row. After a failure
 * append->rows are those whose fate is settled: rows that were not handed over have their turn
 * later, if the connection was lost or other rows of the batch were kept. Rows of the part that
 * failed are settled whether the adapter had sent them or not. *is_begun becomes false when STOP
 * came while it was busy: then no row of the batch was ever on its way. */
enum status session_send(struct session *session, struct append *append, bool *is_begun,
                         struct error *error);

/* Splits the rows of a lost append into those in doubt and those that were not sent. */
void session_lose(const struct session *session, struct append *append);

/* Every row of the batch goes to one account; those that were never handed over stay not sent, or
 * are part of a batch to come. */
void session_account(struct session *session, const struct append *append, enum status status,
                     int64_t end_ns);

/* A script's side of a session: transactions.c. */

/* On the session's thread, before it connects: runs the top level of the script; and when it has
 * disconnected. FATAL: the session cannot begin. */
enum status transactions_begin(struct session *session, struct error *error);
void transactions_end(struct session *session);

/* After each connect. Else than OK: the connection is of no use; why is among the causes. */
enum status transactions_connected(struct session *session, struct error *error);

/* One transaction, with all its tries; due at intended_ns, 0: no rate is asked for. */
enum status transactions_turn(struct session *session, int64_t intended_ns);

/* Main thread, once the run was stopped. True: the session's thread is in its script's own code and
 * is left behind there; the transaction under way, if it is at work, has failed, and the script is
 * blamed. What the thread still reads, the plan's script among it, may not be freed any more.
 * *since_ns: it has been there since. */
bool transactions_leave(struct session *session, bool *is_at_work, int64_t *since_ns);

/* Main thread, after the join: adds what was done to tables to result->datasets, and frees. */
void transactions_destroy(struct session *session, struct result *result);

/* How long a session may take to finish its call after STOP before its connection is cut. */
#define SESSION_GRACE_NS (INT64_C(10) * 1000000000)
#define SESSION_LATE_CPU_NS INT64_C(1000000000)

/* The thread's function; the argument is a struct session. Returns NULL. */
void *session_run(void *argument);

/* Main thread: makes a call that is blocked in the session's connection return. */
void session_interrupt(struct session *session);

/* Main thread, again and again once sessions are late: ends a session for its thread, which is in a
 * function of its script that computes for ever. */
void session_leave(struct session *session);

/* Main thread: the same to a call that has taken longer than --timeout allows; again every second
 * until it returns. */
void session_cut_overdue(struct session *session, int64_t now_ns);

/* Of a session that has ended: the batches, or transactions, that were due from from_ns on and
 * before end_ns and never begun. Each goes into the response times with what it had waited until
 * waited_until_ns, a lower bound. Only with a rate. */
uint64_t session_count_unsent(struct session *session, int64_t from_ns, int64_t end_ns,
                              int64_t waited_until_ns);

#define RECONNECT_FIRST_NS (INT64_C(50) * 1000000)
#define RECONNECT_MOST_NS (INT64_C(5) * 1000000000)

/* How long session number `session` sleeps before try number `tries` (from 0) since an answer;
 * `nonce` is another one for each sleep. */
int64_t reconnect_pause_ns(uint64_t seed, unsigned session, unsigned tries, uint64_t nonce);

#endif
