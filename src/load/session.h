/*
 * A session: one thread, one connection, and a share of the work. It connects, waits at the gate,
 * takes turns until its share is done or the gate stops, and disconnects. A turn is a batch and a
 * read or, with a script, a transaction.
 *
 * Rows are counted twice on purpose. The accounts in struct session are the truth: only the
 * session's thread writes them, they are read after the join, and the ledgers are their sums. The
 * recorder's counters hold the same numbers during the run, for intervals, progress and metrics.
 */
#ifndef LOAD_SESSION_H
#define LOAD_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "append/adapter.h"
#include "base/prepared.h"
#include "load/append.h"
#include "load/arrivals.h"
#include "load/epoch.h"
#include "load/gate.h"
#include "load/generator.h"
#include "load/line.h"
#include "load/setup.h"
#include "measure/ledger.h"
#include "measure/levels.h"
#include "measure/metric.h"
#include "measure/recorder.h"
#include "measure/result.h"
#include "measure/sampler.h"
#include "measure/transaction_log.h"
#include "plan/groups.h"
#include "ranks/ranks.h"

/* State that all sessions of a run or a search share. */
struct load {
    /* The caller sets the members up to on_level before the first thread is started. */
    const struct plan *plan;
    const struct setup *setup;
    struct generator *generator;
    struct recorder *recorder;
    /* values of the script's metrics; NULL without metrics, and in a search */
    struct metric_store *metrics;
    struct sampler *sampler; /* sampler to wake when work begins or ends; may be NULL */
    int64_t start_ns;        /* monotonic start of the run */

    /* May be NULL. The main thread calls on_shortage once in a run, or once for each level, soon
     * after the first session got no thread, was refused or was dropped. The shortage still lasts
     * then, and the other sessions are still connected. */
    void (*on_shortage)(void *context);
    /* May be NULL. In a run the main thread calls on_gate just before the gate opens, and on_done
     * soon after the last answer. */
    void (*on_gate)(void *context, int64_t go_ns);
    void (*on_done)(void *context, int64_t done_ns);
    void *context;

    /* true once a condition of --stop-when holds; another thread sets it; may be NULL */
    const atomic_bool *has_condition;

    struct cut_list *cut; /* sessions whose connections were cut; owned by the caller; filled by the
                             main thread */

    /* in a search, polls the waits during each hold; NULL without --waits */
    struct wait_watch *waits;
    struct waits *waited;        /* receives the polls of `waits` */
    struct transaction_log *log; /* the log of transactions; NULL without --log-transactions */

    struct ranks *ranks; /* the ranks that share the run; NULL if this process is alone */

    /* A search for the largest number of sessions; NULL for a run. The caller has set the bounds
     * and hold_ns. */
    struct search *search;
    /* longest time by which a hold is extended until every session has had an append
     * acknowledged */
    int64_t patience_ns;
    /* The main thread calls on_begin before the first session of a level is added, and on_level
     * when the level has held or failed, while the level's sessions are still up. `own` is this
     * process's part of the level. */
    void (*on_begin)(void *context, const struct level *level);
    void (*on_level)(void *context, const struct level *level, const struct level *own);

    /* The fleet sets the members below. Members that change are atomic or have their own lock. */
    struct statement read;   /* the statement of reads: count(*), or the user's query */
    struct causes *causes;   /* errors of the run; in a search, errors of the current level */
    struct causes *mistakes; /* errors in the script, of the whole search; outside a search the
                                pointer equals `causes` */
    struct gate gate;
    struct epoch first_epoch; /* the epoch that follows the plan; each change by hand adds an epoch
                                 after it */
    atomic_bool has_finished_one;
    /* sums of counts that the recorder keeps for each session: the main thread reads these sums
     * often */
    atomic_uint sessions_connected, sessions_failed, sessions_dropped;
    /* connects that timed out since the last connect with another result */
    atomic_uint timeouts_in_a_row;
    _Atomic int64_t last_work_ns; /* latest moment at which a session finished its work */
    _Atomic int64_t last_end_ns;  /* latest moment at which a session ended */
};

/* Where a session is between the start of its thread and the join. */
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
    unsigned index; /* number of the session in the run; decides the session's rows, its rate and
                       the script's draws */
    struct group_place group; /* the session's group, and the session's number within the group */
    unsigned place;           /* number of the session in this process; the recorder's index */
    bool is_idle;
    /* The session's results. Moments are monotonic (0 = never) until the fleet makes them relative
     * to the gate. The capacity of `exceptions` is a power of two, at least its count. */
    struct session_summary sum;
    const struct table *measured_table; /* the table whose rows `row_bytes` measures */
    double row_bytes;
    unsigned host;   /* number of the current host, if there are several */
    bool is_settled; /* a session at this place has connected */
    bool has_moved;  /* a session at this place has later tried another host, so its rows may be at
                        several hosts */
    struct adapter_conn *conn;    /* the connection; owned; NULL = not connected */
    struct line line;             /* the connection, for the main thread to cut */
    struct prepared_set prepared; /* statements that are prepared on `conn` */
    atomic_bool was_cut; /* append cut the connection, because the session did not end in time */
    bool is_overdue;     /* the connection was cut because a call took too long */
    bool is_refused;     /* a read-only server refused the latest batch: the session reconnects and
                            sends it again */
    uint64_t quota;      /* number of rows to append; the next batch starts at row sum.begun */
    uint64_t turn_quota; /* number of transactions to run, with a script */
    uint64_t turn;       /* number of the next transaction; without a script, of the next batch and
                            the read after it */
    struct transaction_log_choice logged; /* the turns that are in the log of transactions */
    bool is_logged;                       /* the current turn is in the log of transactions */
    struct epoch *epoch;                  /* the epoch that the session works in */
    uint64_t epoch_begun;     /* number of rows (or transactions) begun before this epoch */
    uint64_t unsent;          /* number of batches that were given up without sending a row, and of
                                 batches of earlier epochs that were not begun */
    struct arrivals arrivals; /* moments at which the work is due, with --arrivals poisson */
    /* state of the script: see transactions.c; owned; NULL without a script, or before the session
     * begins */
    struct transactions *_Atomic transactions;
    uint64_t last_count; /* number of rows in the latest count of rows; 0 before the first count */
    uint64_t worst_lag;  /* most rows that were missing in a count */
    int64_t resumed_ns;  /* moment at which the latest wait for a stage ended, with --stage; 0: the
                            session did not wait */
    /* total time in which the session waited for a stage or was parked by hand */
    int64_t parked_ns;
    unsigned tries;       /* number of connects since the last answered batch, after a loss of the
                             connection */
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

/* Return the session's share of the work, and how much of it the session has begun: rows, which are
 * sent in batches, or, with a script, transactions. */
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
bool session_has_work(const struct session *session);

/* Returns whether the session's work has a due time. */
bool session_has_rate(const struct session *session);

/* With --arrivals poisson: returns the time from the gate's opening to the moment at which the
 * latest arrival that was drawn is due; 0 if no arrival was drawn. */
int64_t session_last_due_ns(const struct session *session);

/* Functions for the session's thread, in calls.c. */

/* Adds `n` to a counter of the run. */
void session_add(struct session *session, enum recorder_counter counter, uint64_t n);

/* Mark the beginning and the end of each call that waits for the server, for --timeout and for
 * --waits. `operation` is the operation that the call belongs to, or RECORDER_NO_CALL if its time
 * is not recorded. When the call was cut, is_overdue becomes true and the connection is unusable,
 * whatever the call returned. */
void session_begin_call(struct session *session, size_t operation);
void session_end_call(struct session *session);

/* Adds `error` to the causes. `name`, borrowed, is the script's name for the failed action, or
 * NULL. CAUSE_SCRIPT with FATAL is a mistake in the script: it belongs to no level of a search, but
 * ends the search. */
void session_blame(struct session *session, enum cause_phase phase, const char *name,
                   enum status status, const struct error *error);

/* Adds a row about the current turn, which must be in the log of transactions. The caller leaves
 * out the session and the turn, and gives the end as a moment of mono_now_ns. */
void session_log(const struct session *session, struct transaction_log_row row);

/* Returns whether the connection can still be used after a call that returned `status`. */
static inline bool session_goes_on(enum status status)
{
    return status == STATUS_OK || status == STATUS_REJECTED;
}

/* session_note_gap notes the time from the last acknowledgement (or the opening of the gate, or the
 * moment at which a stage needed the session again) to now_ns, if it is the longest so far.
 * session_note_progress notes an acknowledgement at now_ns. */
void session_note_gap(struct session *session, int64_t now_ns);
void session_note_progress(struct session *session, int64_t now_ns);

/* Sets *before to the rows of table number `table` before the run, at the session's host. Returns
 * false if the number is unknown, or if the session's rows may be at another host. */
bool session_knows_before(const struct session *session, size_t table, uint64_t *before);

/* Checks the freshness of a count: `rows` must be at least `own`, the rows that must be in the
 * table, and at least *last, the previous count. Then *last becomes `rows`. */
void session_note_count(struct session *session, uint64_t rows, uint64_t own, uint64_t *last);

/* The generator's rows of a session, from row `first` of the session on. A buffer is borrowed only
 * while rows are handed over, so sessions that wait for an answer of the server hold no memory for
 * rows. generated_source returns the source of an append of these rows. */
struct generated_rows {
    struct session *session;
    uint64_t first;
    struct row_buffer *buffer; /* private */
};

struct row_source generated_source(struct generated_rows *rows);

/* Measures the mean size of a row, from the first rows that the session makes for the table. */
void session_note_row_bytes(struct session *session, const struct table *table,
                            const struct batch *batch);

/* Notes whether a read-only server refused the work of the turn, so that the session reconnects and
 * goes on (--on-drop reconnect). Returns is_refused. */
bool session_note_refused(struct session *session, enum status status, const struct error *error);

/* Returns how the session goes on after a call or a transaction that ended with `status` and
 * `error`: LOST if it needs another connection. A call that was cut for --timeout needs one even if
 * its answer arrived, unless the session has no work left. */
enum status session_after(struct session *session, enum cause_phase phase, enum status status,
                          const struct error *error);

/* Sends the append. After a lost connection or a partial refusal the append has fewer rows: see
 * append_send. Retries while the database is busy and has accepted no row. REJECTED if the server
 * acknowledged fewer rows than it got. A call that was cut while the database was busy counts as
 * lost, with no rows sent. *is_begun becomes false if the session had to stop or leave while the
 * database was busy: then the database kept no row, and the append counts as not begun. */
enum status session_send(struct session *session, struct append *append, bool *is_begun,
                         struct error *error);

/* Adds every row of the batch to one account of the session. Rows that were never handed over stay
 * "not sent", or belong to a later batch. */
void session_account(struct session *session, const struct append *append, enum status status,
                     int64_t end_ns);

/* The script's side of a session: transactions.c */

/* Both run on the session's thread. transactions_begin runs the top level of the script before the
 * session connects. It returns FATAL if the session cannot begin. transactions_end frees the state
 * of the script after the session has disconnected. */
enum status transactions_begin(struct session *session, struct error *error);
void transactions_end(struct session *session);

/* Runs the script's on_session and prepares its statements, after each connect. On failure the
 * connection is unusable, and the reason is among the causes. */
enum status transactions_connected(struct session *session, struct error *error);

/* Runs one transaction with all its tries. The transaction is due at intended_ns; 0 if it has
 * no due time. */
enum status transactions_turn(struct session *session, int64_t intended_ns);

/* Main thread, after STOP: abandons the session's thread if the thread is in the script's own code.
 * The transaction under way, if any, counts as failed, with the script as the cause. The abandoned
 * thread still reads some data, such as the plan's script, which the caller must never free.
 * Returns the moment at which the thread entered the script's code; 0 if it is elsewhere. */
int64_t transactions_leave(struct session *session);

/* Main thread, after the join: adds the session's changes of tables to result->datasets, and frees
 * the state of the script. */
void transactions_destroy(struct session *session, struct result *result);

/* A batch or transaction is late when it begins longer than this after its intended start. */
#define SESSION_LATE_NS (100 * MONO_NS_PER_MS)

/* Time that a session gets to finish its call after STOP before its connection is cut. A thread
 * that is late and then uses SESSION_LATE_CPU_NS of CPU time in the script's code is abandoned. */
#define SESSION_GRACE_NS (INT64_C(10) * 1000000000)
#define SESSION_LATE_CPU_NS INT64_C(1000000000)

/* The thread's function; `argument` is a struct session. Returns NULL. */
void *session_run(void *argument);

/* Main thread: cuts the session's connection, so that a call that is blocked in it returns. */
void session_interrupt(struct session *session);

/* Main thread, repeatedly while sessions are late: ends a session on behalf of its thread when the
 * thread is in a function of the script that never returns. */
void session_leave(struct session *session);

/* Main thread: cuts the session's connection when a call has taken longer than --timeout, and again
 * every second until the call returns. */
void session_cut_overdue(struct session *session, int64_t now_ns);

/* Moves the session to the latest epoch. Counts the work of each earlier epoch that was due in it
 * but not begun. The session's thread, or after its end the main thread. */
void session_follow_epochs(struct session *session);

/* Main thread, after the session's end: counts also the work of the last epoch that was due before
 * end_ns but never begun, because the session was blocked, dropped or not connected. */
void session_close_schedule(struct session *session, int64_t end_ns);

/* Counts the batches (or transactions) of an ended session that were due from from_ns on and before
 * end_ns, but never begun. Adds each to the response times, with its wait until waited_until_ns as
 * a lower bound. Only with a rate. */
uint64_t session_count_unsent(struct session *session, int64_t from_ns, int64_t end_ns,
                              int64_t waited_until_ns);

#endif
