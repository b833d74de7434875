/*
 * The gate of a run, at which sessions wait to start together. Its states: READY -> GO -> STOP.
 *
 * Sessions connect and wait at the gate until the main thread opens it for all of them at once
 * (GO). After that a session checks the state of the gate before each batch. Except for answers on
 * their connections, sessions wait only in functions of the gate, so STOP wakes all of them.
 *
 * The gate also limits the number of simultaneous connects. The main thread takes a slot for each
 * thread that it starts; the session gives the slot back when it is connected or has failed. A
 * session that reconnects takes a slot itself, because a thousand simultaneous reconnects would
 * overflow the server's queue.
 *
 * `lock` guards all members. `state`, `changes` and `rests` may be read without the lock. After GO,
 * go_ns may also be read without the lock, because it does not change any more.
 */
#ifndef LOAD_GATE_H
#define LOAD_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "measure/result.h"

enum gate_state {
    GATE_READY,
    GATE_GO,
    GATE_STOP,
};

/* Numbers of sessions. */
struct gate_numbers {
    unsigned connecting; /* number of sessions that hold a slot */
    unsigned waiting;    /* number of connected sessions that wait for GO */
    unsigned running;    /* number of sessions whose thread has not ended */
    unsigned working;    /* number of sessions that have passed the gate and have work to do */
};

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;  /* wakes sessions: the state has changed */
    pthread_cond_t changed; /* wakes the main thread: one of the numbers has changed */
    atomic_int state;       /* state of the gate, of enum gate_state; written under lock */
    atomic_uint changes; /* number of changes that gate_note_change has noted; written under lock */
    atomic_bool rests;   /* while true, sessions begin no batch; written under lock */
    bool is_held;        /* finished sessions stay connected, because other ranks may still work */
    enum stop_reason reason;
    int64_t go_ns;    /* moment at which the gate was opened; 0 before that */
    int64_t stop_ns;  /* moment at which the state became STOP; 0 before that */
    bool has_changed; /* one of `numbers` has changed since the main thread last read them */
    struct gate_numbers numbers;
    pthread_cond_t freed; /* wakes sessions: a slot was given back, or the state is STOP */
};

/* If `is_held` is true, sessions that have finished their work stay connected at least until
 * gate_release. */
void gate_init(struct gate *gate, bool is_held);
void gate_fini(struct gate *gate);

/* Main thread: sleeps until one of the numbers has changed since the previous call, or until
 * deadline_ns. Returns the numbers. */
struct gate_numbers gate_wait_change(struct gate *gate, int64_t deadline_ns);

/* Main thread: gate_begin_start counts a session before its thread is started. gate_cancel_start
 * takes the session out of the count again when the thread could not be started. */
void gate_begin_start(struct gate *gate);
void gate_cancel_start(struct gate *gate);

/* Main thread: opens the gate (READY -> GO). Does nothing after STOP. */
void gate_open(struct gate *gate, int64_t now_ns);

/* Main thread, after GO: while `rests` is true, sessions begin no further batches. */
void gate_rest(struct gate *gate, bool rests);

/* Main thread: lets finished sessions disconnect if gate_init was called with `is_held`. Called
 * when the sessions of all ranks have finished their work. */
void gate_release(struct gate *gate);

/* Any thread: sets the state to STOP. Keeps the first reason if the state is already STOP. */
void gate_stop(struct gate *gate, enum stop_reason reason);
bool gate_is_stopped(struct gate *gate);
/* Returns why the run was stopped; STOP_NOT_YET before that. */
enum stop_reason gate_reason(struct gate *gate);

/* The functions below are mainly for sessions. gate_take_slot waits until fewer than `most`
 * sessions are connecting, and takes a slot. A session needs a slot to reconnect. If the state is
 * STOP, gate_take_slot takes no slot and returns false. gate_release_slot gives the slot back. */
bool gate_take_slot(struct gate *gate, unsigned most);
void gate_release_slot(struct gate *gate);

/* Waits for GO, and counts the session as working. Returns false if STOP happened first. */
bool gate_wait_go(struct gate *gate);

/* Waits while the sessions have to rest: see gate_rest. A session calls this function before each
 * batch. Returns false if the state is STOP. */
bool gate_wait_turn(struct gate *gate);

/* Counts the session's work as done. If `stays` is true, waits until all sessions have finished
 * their work, or until STOP, so that the number of connected sessions does not change while any
 * session works. */
void gate_finish_work(struct gate *gate, bool stays);

/* Sleeps until moment_ns. Returns false as soon as the state is STOP or *is_leaving is true.
 * `is_leaving` may be NULL; the thread that sets *is_leaving then calls gate_wake. */
bool gate_sleep_until(struct gate *gate, int64_t moment_ns, const atomic_bool *is_leaving);
void gate_wake(struct gate *gate);

/* The caller of gate_note_change has changed the rate, the number of working sessions or a pause.
 * gate_note_change wakes the sessions that sleep in gate_sleep_unchanged. gate_changes returns how
 * often gate_note_change was called. */
void gate_note_change(struct gate *gate);
unsigned gate_changes(struct gate *gate);

/* Sleeps as gate_sleep_until does, but only as long as gate_changes returns `changes`. Also
 * returns false when the number has changed. */
bool gate_sleep_unchanged(struct gate *gate, int64_t moment_ns, const atomic_bool *is_leaving,
                          unsigned changes);

/* Counts the session's thread as ended. The session must not use the gate afterwards. */
void gate_session_ends(struct gate *gate);

#endif
