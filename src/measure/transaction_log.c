#include "measure/transaction_log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/mono.h"
#include "base/process.h"

enum {
    RINGS_MAX = 16,
};

/* The maximum time for which rows wait in a ring before the writing thread takes them. */
#define WAIT_NS (MONO_NS_PER_S / 2)

/* A constant that is mixed with the seed, so that the choice of turns does not depend on other
 * random choices that use the same seed. */
#define SALT UINT64_C(0x7472616E73616374)

struct ring {
    pthread_mutex_t lock; /* guards the other members */
    struct transaction_log_row *rows;
    size_t first, count;
    uint64_t dropped;
} __attribute__((aligned(64))); /* sessions of different rings share no cache line */

struct transaction_log {
    struct ring rings[RINGS_MAX];
    size_t ring_count, ring_rows;
    double share;
    uint64_t seed;
    struct transaction_log_row *memory; /* the rows of all rings */
    pthread_mutex_t lock;               /* guards is_urgent and is_ending */
    pthread_cond_t changed;
    bool is_urgent; /* a ring is half full */
    bool is_ending;
    size_t next; /* the ring from which rows are taken next; used by the writing thread only */
};

struct transaction_log *transaction_log_create(double share, uint64_t seed, unsigned sessions)
{
    struct transaction_log *log = aligned_alloc(_Alignof(struct transaction_log), sizeof *log);
    /* with calloc, rows that are never written take no memory */
    struct transaction_log_row *memory = calloc(TRANSACTION_LOG_ROWS, sizeof *memory);
    if (log == NULL || memory == NULL) {
        free(log);
        free(memory);
        return NULL;
    }
    const size_t rings = MIN(sessions, RINGS_MAX);
    *log = (struct transaction_log){.ring_count = rings,
                                    .ring_rows = TRANSACTION_LOG_ROWS / rings,
                                    .share = share,
                                    .seed = seed,
                                    .memory = memory};
    pthread_mutex_init(&log->lock, NULL);
    thread_cond_init(&log->changed);
    for (size_t i = 0; i < rings; i++) {
        pthread_mutex_init(&log->rings[i].lock, NULL);
        log->rings[i].rows = memory + i * log->ring_rows;
    }
    return log;
}

void transaction_log_destroy(struct transaction_log *log)
{
    if (log == NULL) {
        return;
    }
    for (size_t i = 0; i < log->ring_count; i++) {
        pthread_mutex_destroy(&log->rings[i].lock);
    }
    pthread_mutex_destroy(&log->lock);
    pthread_cond_destroy(&log->changed);
    free(log->memory);
    free(log);
}

struct transaction_log_choice transaction_log_choose(const struct transaction_log *log,
                                                     unsigned session)
{
    if (log == NULL) {
        return (struct transaction_log_choice){.is_on = false};
    }
    /* with a share of 1, the bound is the greatest hash, so every turn is chosen */
    const double bound = log->share * 0x1p64;
    return (struct transaction_log_choice){.is_on = true,
                                           .key =
                                               random_mix(random_mix(log->seed ^ SALT) + session),
                                           .bound = bound < 0x1p64 ? (uint64_t)bound : UINT64_MAX};
}

/* Sets *reason (is_urgent or is_ending of the log) to true, and wakes the writing thread. */
static void wake(struct transaction_log *log, bool *reason)
{
    pthread_mutex_lock(&log->lock);
    *reason = true;
    pthread_cond_signal(&log->changed);
    pthread_mutex_unlock(&log->lock);
}

void transaction_log_add(struct transaction_log *log, const struct transaction_log_row *row)
{
    struct ring *ring = &log->rings[row->session % log->ring_count];
    pthread_mutex_lock(&ring->lock);
    const bool has_room = ring->count < log->ring_rows;
    if (has_room) {
        ring->rows[(ring->first + ring->count) % log->ring_rows] = *row;
        ring->count++;
    } else {
        ring->dropped++;
    }
    const bool is_half_full = has_room && ring->count == log->ring_rows / 2;
    pthread_mutex_unlock(&ring->lock);
    if (is_half_full) {
        wake(log, &log->is_urgent);
    }
}

bool transaction_log_wait(struct transaction_log *log)
{
    const struct timespec until = mono_timespec(mono_now_ns() + WAIT_NS);
    int failure = 0;
    pthread_mutex_lock(&log->lock);
    while (!log->is_urgent && !log->is_ending && failure == 0) {
        failure = pthread_cond_timedwait(&log->changed, &log->lock, &until);
    }
    log->is_urgent = false;
    const bool is_ending = log->is_ending;
    pthread_mutex_unlock(&log->lock);
    return is_ending;
}

size_t transaction_log_take(struct transaction_log *log,
                            struct transaction_log_row rows[TRANSACTION_LOG_CHUNK])
{
    size_t count = 0;
    for (size_t tried = 0; tried < log->ring_count && count == 0; tried++) {
        struct ring *ring = &log->rings[log->next];
        log->next = (log->next + 1) % log->ring_count;
        pthread_mutex_lock(&ring->lock);
        count = MIN(ring->count, (size_t)TRANSACTION_LOG_CHUNK);
        count = MIN(count, log->ring_rows - ring->first);
        memcpy(rows, ring->rows + ring->first, count * sizeof *rows);
        ring->count -= count;
        /* an empty ring starts again at its first row, so that a ring with few rows uses little
         * memory */
        ring->first = ring->count == 0 ? 0 : (ring->first + count) % log->ring_rows;
        pthread_mutex_unlock(&ring->lock);
    }
    return count;
}

void transaction_log_end(struct transaction_log *log)
{
    wake(log, &log->is_ending);
}

uint64_t transaction_log_dropped(struct transaction_log *log)
{
    uint64_t dropped = 0;
    for (size_t i = 0; i < log->ring_count; i++) {
        pthread_mutex_lock(&log->rings[i].lock);
        dropped += log->rings[i].dropped;
        pthread_mutex_unlock(&log->rings[i].lock);
    }
    return dropped;
}
