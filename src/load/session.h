/*
 * One session: one thread, one connection, its share of the rows.
 *
 * session.c is what a session is and counts: its connection, its calls, its accounts. workload.c is
 * what it does in one turn, session_run.c its life: connect, wait at the gate, take turns until the
 * share is done or the gate stops, disconnect; and how it gets another connection. Each calls only
 * what stands before it in this list.
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
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"
#include "load/generator.h"
#include "measure/ledger.h"
#include "measure/recorder.h"
#include "measure/result.h"
#include "measure/sampler.h"
#include "plan/plan.h"

/*
 * The gate of a run: READY -> GO -> STOP.
 *
 * Sessions connect, arrive, and wait until the main thread opens the gate for all of them; from
 * then on a session looks at the gate before each batch, and every wait of a session is a wait on
 * the gate, so that STOP wakes it. The gate also paces the connect phase: the main thread takes a
 * slot for each thread that it starts, the session gives it back when it is connected or has
 * failed. A session that connects again takes a slot for itself: a thousand of them at once would
 * overflow the server's queue. All members but `state` are under `lock`; go_ns is fixed before
 * sessions see GO.
 */

enum gate_state {
    GATE_READY,
    GATE_GO,
    GATE_STOP,
};

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;  /* sessions: the state has changed */
    pthread_cond_t changed; /* main thread: a number below has changed */
    atomic_int state;       /* enum gate_state; written under lock */
    atomic_bool rests;      /* sessions begin no batch; written under lock */
    enum stop_reason reason;
    int64_t go_ns;        /* when the gate was opened; 0 before */
    int64_t stop_ns;      /* when the state became STOP; 0 before */
    bool has_changed;     /* one of the numbers below, since the main thread last looked */
    unsigned connecting;  /* sessions that hold a slot */
    unsigned waiting;     /* sessions that are connected and wait for GO */
    unsigned running;     /* sessions whose thread exists and has not ended */
    unsigned working;     /* sessions that passed the gate and have work to do */
    pthread_cond_t freed; /* sessions: a slot was given back, or the state has changed to STOP */
};

void gate_init(struct gate *gate);
void gate_fini(struct gate *gate);

/* Main thread. */

/* Sleeps until a number has changed since the last call, or the moment has come. */
struct gate_numbers {
    unsigned connecting;
    unsigned waiting;
    unsigned running;
    unsigned working;
};
struct gate_numbers gate_wait_change(struct gate *gate, int64_t deadline_ns);

/* A session's thread is about to be started, or could not be. */
void gate_begin_start(struct gate *gate);
void gate_cancel_start(struct gate *gate);

/* READY -> GO; nothing when it is STOP already. */
void gate_open(struct gate *gate, int64_t now_ns);

/* After GO: sessions begin no more batches until it is false again. */
void gate_rest(struct gate *gate, bool rests);

/* Any thread. The first reason stays. */
void gate_stop(struct gate *gate, enum stop_reason reason);
bool gate_is_stopped(struct gate *gate);
enum stop_reason gate_reason(struct gate *gate);

/* Sessions. */

/* Waits until fewer than `most` sessions connect, and takes a slot: after GO, to connect again.
 * False: the state is STOP, no slot was taken. */
bool gate_take_slot(struct gate *gate, unsigned most);

/* Gives the connect slot back. */
void gate_release_slot(struct gate *gate);

/* Waits for GO, and counts the session as working. False: STOP came first. */
bool gate_wait_go(struct gate *gate);

/* Before each batch: waits while sessions rest. False: the state is STOP. */
bool gate_wait_turn(struct gate *gate);

/* The session's work is done. When `stays`, waits until that is so for all of them, or for STOP: so
 * the number of sessions on the server stays the same while any of them appends. */
void gate_finish_work(struct gate *gate, bool stays);

/* Sleeps until the moment; false as soon as the state is STOP. */
bool gate_sleep_until(struct gate *gate, int64_t moment_ns);

/* The session's last act. */
void gate_session_ends(struct gate *gate);

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
    struct statement read; /* what sessions read by: count(*), or the user's query */
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

/* The rows of one session that were begun and not all acknowledged, in the order of their numbers.
 * Zeroed at first; holds no memory while there are none. */
struct exceptions {
    struct row_exception *list;
    size_t count;
    size_t capacity;
    bool is_short; /* memory ran out: one is missing */
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
    atomic_bool has_ended;  /* by its thread, when all else is written */
    bool is_live;           /* main thread: its thread was started and not joined */

    uint64_t drops;       /* connections lost */
    uint64_t reconnects;  /* after a loss */
    uint64_t churns;      /* reconnects for --churn */
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
void session_record_cause(struct session *session, enum cause_phase phase, enum status status,
                          const struct error *error);

/* `exception` begins behind all others. Rows that follow those of the last one, with nothing
 * acknowledged in either, make that one longer. */
void exceptions_add(struct exceptions *exceptions, const struct row_exception *exception);

/* The list goes to the caller, who frees it. */
void exceptions_hand_over(struct exceptions *exceptions, struct session_summary *summary);

/* workload.c */

/* Appends one batch, then counts the table's rows or runs the user's query. */
extern const struct workload workload_append_then_read;

/* Of a session that has ended: the batches that were due before end_ns and never sent. Each goes
 * into the response times with what it had waited until waited_until_ns, a lower bound. Only with a
 * rate. */
uint64_t workload_count_unsent(struct session *session, int64_t end_ns, int64_t waited_until_ns);

/* session_run.c */

/* The thread's function; the argument is a struct session. Returns NULL. */
void *session_run(void *argument);

#define RECONNECT_FIRST_NS (INT64_C(50) * 1000000)
#define RECONNECT_MOST_NS (INT64_C(5) * 1000000000)

/* How long session number `session` sleeps before try number `tries` (from 0) since an answer;
 * `nonce` is another one for each sleep. */
int64_t reconnect_pause_ns(uint64_t seed, unsigned session, unsigned tries, uint64_t nonce);

#endif
