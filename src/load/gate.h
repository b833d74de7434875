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

/* Of sessions. */
struct gate_numbers {
    unsigned connecting; /* that hold a slot */
    unsigned waiting;    /* that are connected and wait for GO */
    unsigned running;    /* whose thread exists and has not ended */
    unsigned working;    /* that passed the gate and have work to do */
};

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;  /* sessions: the state has changed */
    pthread_cond_t changed; /* main thread: one of the numbers has changed */
    atomic_int state;       /* enum gate_state; written under lock */
    atomic_bool rests;      /* sessions begin no batch; written under lock */
    bool is_held;           /* sessions of other ranks may still work */
    enum stop_reason reason;
    int64_t go_ns;    /* when the gate was opened; 0 before */
    int64_t stop_ns;  /* when the state became STOP; 0 before */
    bool has_changed; /* one of the numbers below, since the main thread last looked */
    struct gate_numbers numbers;
    pthread_cond_t freed; /* sessions: a slot was given back, or the state has changed to STOP */
};

/* `is_held`: who has done its work stays until gate_release, too. */
void gate_init(struct gate *gate, bool is_held);
void gate_fini(struct gate *gate);

/* Main thread: sleeps until a number has changed since the last call, or the moment has come. */
struct gate_numbers gate_wait_change(struct gate *gate, int64_t deadline_ns);

/* Main thread: a session's thread is about to be started, or could not be. */
void gate_begin_start(struct gate *gate);
void gate_cancel_start(struct gate *gate);

/* Main thread: READY -> GO; nothing when it is STOP already. */
void gate_open(struct gate *gate, int64_t now_ns);

/* Main thread, after GO: sessions begin no more batches until it is false again. */
void gate_rest(struct gate *gate, bool rests);

/* Main thread: the sessions of other ranks have done their work. */
void gate_release(struct gate *gate);

/* Any thread. The first reason stays. */
void gate_stop(struct gate *gate, enum stop_reason reason);
bool gate_is_stopped(struct gate *gate);
enum stop_reason gate_reason(struct gate *gate);

/* The rest is for sessions. Waits until fewer than `most` sessions connect, and takes a slot: after
 * GO, to connect again. False: the state is STOP, no slot was taken. */
bool gate_take_slot(struct gate *gate, unsigned most);
void gate_release_slot(struct gate *gate);

/* Waits for GO, and counts the session as working. False: STOP came first. */
bool gate_wait_go(struct gate *gate);

/* Before each batch: waits while sessions rest. False: the state is STOP. */
bool gate_wait_turn(struct gate *gate);

/* The session's work is done. When `stays`, waits until that is so for all of them, or for STOP: so
 * the number of sessions on the server stays the same while any of them appends. */
void gate_finish_work(struct gate *gate, bool stays);

/* Sleeps until the moment. False as soon as the state is STOP, or *is_leaving, which may be NULL:
 * who sets it calls gate_wake. */
bool gate_sleep_until(struct gate *gate, int64_t moment_ns, const atomic_bool *is_leaving);
void gate_wake(struct gate *gate);

/* The session's last act. */
void gate_session_ends(struct gate *gate);

#endif
