#include "load/gate.h"

#include <errno.h>
#include <time.h>

#include "base/mono.h"
#include "base/process.h"

void gate_init(struct gate *gate, bool is_held)
{
    *gate = (struct gate){.reason = STOP_NOT_YET, .is_held = is_held};
    pthread_mutex_init(&gate->lock, NULL);
    thread_cond_init(&gate->opened);
    thread_cond_init(&gate->freed);
    thread_cond_init(&gate->changed);
    atomic_init(&gate->state, GATE_READY);
    atomic_init(&gate->rests, false);
}

void gate_fini(struct gate *gate)
{
    pthread_cond_destroy(&gate->changed);
    pthread_cond_destroy(&gate->freed);
    pthread_cond_destroy(&gate->opened);
    pthread_mutex_destroy(&gate->lock);
}

/* The caller holds the lock. */
static void wake_main(struct gate *gate)
{
    gate->has_changed = true;
    pthread_cond_signal(&gate->changed);
}

struct gate_numbers gate_wait_change(struct gate *gate, int64_t deadline_ns)
{
    const struct timespec deadline = mono_timespec(deadline_ns);
    pthread_mutex_lock(&gate->lock);
    int rc = 0;
    while (!gate->has_changed && rc != ETIMEDOUT) {
        rc = pthread_cond_timedwait(&gate->changed, &gate->lock, &deadline);
    }
    gate->has_changed = false;
    const struct gate_numbers numbers = gate->numbers;
    pthread_mutex_unlock(&gate->lock);
    return numbers;
}

void gate_begin_start(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->numbers.connecting++;
    gate->numbers.running++;
    pthread_mutex_unlock(&gate->lock);
}

void gate_cancel_start(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->numbers.connecting--;
    gate->numbers.running--;
    pthread_mutex_unlock(&gate->lock);
}

void gate_open(struct gate *gate, int64_t now_ns)
{
    pthread_mutex_lock(&gate->lock);
    if (atomic_load(&gate->state) == GATE_READY) {
        gate->go_ns = now_ns;
        atomic_store(&gate->state, GATE_GO);
        pthread_cond_broadcast(&gate->opened);
    }
    pthread_mutex_unlock(&gate->lock);
}

void gate_rest(struct gate *gate, bool rests)
{
    pthread_mutex_lock(&gate->lock);
    atomic_store(&gate->rests, rests);
    pthread_cond_broadcast(&gate->opened);
    pthread_mutex_unlock(&gate->lock);
}

void gate_release(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->is_held = false;
    pthread_cond_broadcast(&gate->opened);
    pthread_mutex_unlock(&gate->lock);
}

void gate_stop(struct gate *gate, enum stop_reason reason)
{
    pthread_mutex_lock(&gate->lock);
    if (atomic_load(&gate->state) != GATE_STOP) {
        gate->reason = reason;
        gate->stop_ns = mono_now_ns();
        atomic_store(&gate->state, GATE_STOP);
        pthread_cond_broadcast(&gate->opened);
        pthread_cond_broadcast(&gate->freed);
    }
    pthread_mutex_unlock(&gate->lock);
}

bool gate_is_stopped(struct gate *gate)
{
    return atomic_load_explicit(&gate->state, memory_order_acquire) == GATE_STOP;
}

enum stop_reason gate_reason(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    const enum stop_reason reason = gate->reason;
    pthread_mutex_unlock(&gate->lock);
    return reason;
}

bool gate_take_slot(struct gate *gate, unsigned most)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->numbers.connecting >= most && atomic_load(&gate->state) != GATE_STOP) {
        pthread_cond_wait(&gate->freed, &gate->lock);
    }
    const bool is_taken = atomic_load(&gate->state) != GATE_STOP;
    if (is_taken) {
        gate->numbers.connecting++;
    }
    pthread_mutex_unlock(&gate->lock);
    return is_taken;
}

void gate_release_slot(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->numbers.connecting--;
    pthread_cond_signal(&gate->freed);
    wake_main(gate);
    pthread_mutex_unlock(&gate->lock);
}

bool gate_wait_go(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->numbers.waiting++;
    wake_main(gate);
    while (atomic_load(&gate->state) == GATE_READY) {
        pthread_cond_wait(&gate->opened, &gate->lock);
    }
    gate->numbers.waiting--;
    gate->numbers.working++;
    pthread_mutex_unlock(&gate->lock);
    return !gate_is_stopped(gate);
}

bool gate_wait_turn(struct gate *gate)
{
    if (atomic_load_explicit(&gate->rests, memory_order_relaxed)) {
        pthread_mutex_lock(&gate->lock);
        while (atomic_load(&gate->rests) && atomic_load(&gate->state) != GATE_STOP) {
            pthread_cond_wait(&gate->opened, &gate->lock);
        }
        pthread_mutex_unlock(&gate->lock);
    }
    return !gate_is_stopped(gate);
}

void gate_finish_work(struct gate *gate, bool stays)
{
    pthread_mutex_lock(&gate->lock);
    gate->numbers.working--;
    /* `waiting` includes sessions that GO has not yet woken; their work is still to be done */
    const bool is_last = gate->numbers.working == 0 && gate->numbers.waiting == 0;
    if (is_last) {
        pthread_cond_broadcast(&gate->opened);
        wake_main(gate);
    }
    while (stays && (gate->is_held || gate->numbers.working > 0 || gate->numbers.waiting > 0) &&
           atomic_load(&gate->state) != GATE_STOP) {
        pthread_cond_wait(&gate->opened, &gate->lock);
    }
    pthread_mutex_unlock(&gate->lock);
}

void gate_wake(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    pthread_cond_broadcast(&gate->opened);
    pthread_mutex_unlock(&gate->lock);
}

static bool must_leave(const atomic_bool *is_leaving)
{
    return is_leaving != NULL && atomic_load(is_leaving);
}

void gate_note_change(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    atomic_fetch_add(&gate->changes, 1);
    pthread_cond_broadcast(&gate->opened);
    pthread_mutex_unlock(&gate->lock);
}

unsigned gate_changes(struct gate *gate)
{
    return atomic_load(&gate->changes);
}

/* Sleeps until moment_ns, but only while the state is not STOP and *is_leaving is not true. If
 * `changes` is not NULL, also wakes up when the number of changes differs from *changes. Returns
 * whether the moment was reached. */
static bool sleep_until(struct gate *gate, int64_t moment_ns, const atomic_bool *is_leaving,
                        const unsigned *changes)
{
    if (mono_now_ns() < moment_ns) {
        const struct timespec deadline = mono_timespec(moment_ns);
        pthread_mutex_lock(&gate->lock);
        int rc = 0;
        while (rc != ETIMEDOUT && atomic_load(&gate->state) != GATE_STOP &&
               !must_leave(is_leaving) &&
               (changes == NULL || atomic_load(&gate->changes) == *changes)) {
            rc = pthread_cond_timedwait(&gate->opened, &gate->lock, &deadline);
        }
        pthread_mutex_unlock(&gate->lock);
    }
    return !gate_is_stopped(gate) && !must_leave(is_leaving) &&
           (changes == NULL || atomic_load(&gate->changes) == *changes);
}

bool gate_sleep_until(struct gate *gate, int64_t moment_ns, const atomic_bool *is_leaving)
{
    return sleep_until(gate, moment_ns, is_leaving, NULL);
}

bool gate_sleep_unchanged(struct gate *gate, int64_t moment_ns, const atomic_bool *is_leaving,
                          unsigned changes)
{
    return sleep_until(gate, moment_ns, is_leaving, &changes);
}

void gate_session_ends(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->numbers.running--;
    wake_main(gate);
    pthread_mutex_unlock(&gate->lock);
}
