#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "ranks/ranks_internal.h"

/* A rank does not sleep for this time after a ping, because the next ping follows soon. */
#define ALERT_NS (100 * MONO_NS_PER_MS)

#define BEAT_NS (100 * MONO_NS_PER_MS)
#define BEATS_PER_S 5000 /* maximum number of beats of all ranks together */

/* The interval between beats, and the silence after which a rank is lost, once this process has
 * received a signal to end. Both are short, because the signal may come from mpirun, which soon
 * kills the remaining processes. */
#define STOP_BEAT_NS (50 * MONO_NS_PER_MS)
#define STOP_LOST_NS (400 * MONO_NS_PER_MS)

/* One poll advances the poll clock by at most this time. Otherwise all other ranks would seem
 * silent and count as lost after this process itself was stopped or too busy to poll. */
#define POLL_MOST_NS (200 * MONO_NS_PER_MS)

/* The longest wait for a message after a signal. */
#define PATIENCE_NS (20 * MONO_NS_PER_S)

enum {
    LINES_BYTES = 1 << 20, /* maximum number of bytes of lines in one message */
};

void ranks_enter(struct ranks *ranks, unsigned rank, enum peer_stage stage)
{
    struct peer *peer = &ranks->peers[rank];
    if (stage > peer->stage) {
        peer->stage = stage;
        peer->lost_ns = stage == PEER_LOST ? ranks->poll_clock_ns : peer->lost_ns;
    }
}

void ranks_lose(struct ranks *ranks, unsigned rank)
{
    ranks->is_broken = true;
    ranks_enter(ranks, rank, PEER_LOST);
}

bool ranks_hand_over(struct ranks *ranks, unsigned to, enum kind kind, char *bytes, size_t size)
{
    if (ranks->peers[to].stage == PEER_LOST) {
        free(bytes);
        return false;
    }
    memset(bytes, 0, HEAD_BYTES);
    memcpy(bytes, &kind, sizeof kind);
    const bool is_bulk = kind == KIND_RESULT || kind == KIND_LEVEL || kind == KIND_LINES;
    return ranks->module->send(to, bytes, HEAD_BYTES + size, is_bulk);
}

void ranks_post(struct ranks *ranks, unsigned to, enum kind kind, const void *payload, size_t size)
{
    char *bytes = ranks->peers[to].stage == PEER_LOST ? NULL : malloc(HEAD_BYTES + size);
    if (bytes != NULL) {
        memcpy(bytes + HEAD_BYTES, payload, size);
    }
    if (bytes == NULL || !ranks_hand_over(ranks, to, kind, bytes, size)) {
        ranks_lose(ranks, to);
    }
}

int64_t ranks_beat_ns(const struct ranks *ranks)
{
    const int64_t least_ns = ranks->count * (MONO_NS_PER_S / BEATS_PER_S);
    return MAX(least_ns, interrupt_requested() ? STOP_BEAT_NS : BEAT_NS);
}

bool ranks_is_alive(const struct ranks *ranks, unsigned rank)
{
    const struct peer *peer = &ranks->peers[rank];
    return peer->stage != PEER_LOST &&
           (ranks->signal_ns == 0 || peer->heard_ns >= ranks->signal_ns);
}

bool ranks_is_beating(const struct ranks *ranks, unsigned rank)
{
    return ranks_is_alive(ranks, rank) &&
           ranks->poll_clock_ns - ranks->peers[rank].heard_ns <= 3 * ranks_beat_ns(ranks);
}

void ranks_post_all(struct ranks *ranks, enum kind kind, const void *payload, size_t size)
{
    for (unsigned i = 1; i < ranks->count; i++) {
        if (ranks_is_alive(ranks, i)) {
            ranks_post(ranks, i, kind, payload, size);
        }
    }
}

/* Copies the message's payload to `payload`, at most `size` bytes. Sets the rest of the `size`
 * bytes to 0. */
static void open_message(const struct message *message, void *payload, size_t size)
{
    memset(payload, 0, size);
    memcpy(payload, message->bytes + HEAD_BYTES, MIN(size, message->size));
}

bool ranks_is_silent(const struct ranks *ranks, unsigned rank)
{
    const int64_t heard_ns = ranks->peers[rank].heard_ns;
    return ranks->signal_ns > 0 && !ranks->peers[rank].state.is_over
               ? ranks->poll_clock_ns - MAX(heard_ns, ranks->signal_ns) >
                     MAX(STOP_LOST_NS, 4 * ranks_beat_ns(ranks))
               : ranks->poll_clock_ns - heard_ns > RANKS_LOST_NS;
}

void ranks_free_message(struct message *message)
{
    if (message != NULL) {
        free(message->bytes);
        free(message);
    }
}

static void note_pong(struct peer *peer, const int64_t moments_ns[2])
{
    const int64_t now_ns = mono_now_ns();
    if (moments_ns[0] != peer->pinged_ns) {
        return; /* answers an earlier ping, which is no longer used */
    }
    const int64_t trip_ns = now_ns - moments_ns[0];
    peer->pinged_ns = 0;
    peer->pings++;
    if (trip_ns < peer->trip_ns) {
        peer->trip_ns = trip_ns;
        peer->clock.offset_ns = moments_ns[1] - (moments_ns[0] + trip_ns / 2);
        peer->clock.error_ns = trip_ns / 2 + 1;
    }
}

static void note_state(struct ranks *ranks, const struct message *message)
{
    struct peer *peer = &ranks->peers[message->from];
    struct ranks_state state;
    open_message(message, &state, sizeof state);
    pthread_mutex_lock(&ranks->lock);
    for (size_t i = 0; i < RECORDER_COUNTERS; i++) {
        ranks->others[i] += state.counters[i] - peer->state.counters[i];
    }
    peer->state = state;
    pthread_mutex_unlock(&ranks->lock);
}

/* Sends the next whole lines of the file to rank 0. No line is longer than LINES_BYTES. */
static void give_lines(struct ranks *ranks)
{
    char *bytes = malloc(HEAD_BYTES + LINES_BYTES);
    ssize_t size = bytes == NULL
                       ? -1
                       : pread(ranks->lines, bytes + HEAD_BYTES, LINES_BYTES, ranks->lines_given);
    if (size < 0) {
        free(bytes);
        ranks_post(ranks, 0, KIND_CUT, "", 0);
        return;
    }
    while (size > 0 && bytes[HEAD_BYTES + size - 1] != '\n') {
        size--;
    }
    ranks->lines_given += size;
    if (!ranks_hand_over(ranks, 0, KIND_LINES, bytes, (size_t)size)) {
        ranks_post(ranks, 0, KIND_CUT, "", 0);
    }
}

/* Handles a message immediately, if it is of a kind for which functions do not wait. Returns false
 * for the other kinds, which are queued. */
static bool handle(struct ranks *ranks, const struct message *message)
{
    struct ranks_end end;
    int64_t moments_ns[2];
    switch (message->kind) {
    case KIND_PING:
        open_message(message, moments_ns, sizeof moments_ns[0]);
        moments_ns[1] = mono_now_ns();
        ranks_post(ranks, message->from, KIND_PONG, moments_ns, sizeof moments_ns);
        ranks->alert_ns = moments_ns[1] + ALERT_NS;
        return true;
    case KIND_PONG:
        open_message(message, moments_ns, sizeof moments_ns);
        note_pong(&ranks->peers[message->from], moments_ns);
        return true;
    case KIND_BEAT:
        return true;
    case KIND_MORE:
        give_lines(ranks);
        return true;
    case KIND_STATE:
        note_state(ranks, message);
        return true;
    case KIND_ORDERS:
        open_message(message, &ranks->orders, sizeof ranks->orders);
        return true;
    case KIND_END:
        open_message(message, &end, sizeof end);
        ranks->is_broken = ranks->is_broken || end.is_broken;
        ranks_enter(ranks, message->from, end.is_merged ? PEER_MERGED : PEER_ENDED);
        return true;
    default:
        return false;
    }
}

void ranks_poll(struct ranks *ranks)
{
    const int64_t now_ns = mono_now_ns();
    ranks->poll_clock_ns += MIN(now_ns - ranks->polled_ns, POLL_MOST_NS);
    ranks->polled_ns = now_ns;
    if (ranks->signal_ns == 0 && interrupt_requested()) {
        ranks->signal_ns = ranks->poll_clock_ns;
    }
    unsigned from;
    size_t size;
    char *bytes;
    while ((bytes = ranks->module->take(&from, &size)) != NULL) {
        struct message *message = malloc(sizeof *message);
        if (message == NULL || size < HEAD_BYTES || from >= ranks->count) {
            ranks_lose(ranks, from < ranks->count ? from : 0);
            free(message);
            free(bytes);
            continue;
        }
        *message = (struct message){.from = from, .size = size - HEAD_BYTES, .bytes = bytes};
        memcpy(&message->kind, bytes, sizeof message->kind);
        ranks->peers[from].heard_ns = ranks->poll_clock_ns;
        if (handle(ranks, message)) {
            ranks_free_message(message);
        } else {
            *ranks->last = message;
            ranks->last = &message->next;
        }
    }
}

struct message *ranks_find_message(struct ranks *ranks, unsigned from, enum kind kind)
{
    for (struct message **at = &ranks->first; *at != NULL; at = &(*at)->next) {
        struct message *message = *at;
        if (message->kind == kind && (from == ANY_RANK || from == message->from)) {
            *at = message->next;
            if (ranks->last == &message->next) {
                ranks->last = at;
            }
            ranks->peers[message->from].is_awaited = false;
            return message;
        }
    }
    return NULL;
}

bool ranks_wait_on(struct ranks *ranks, struct wait *wait)
{
    const int64_t now_ns = mono_now_ns();
    if (interrupt_requested() && wait->limit_ns == 0) {
        wait->limit_ns = now_ns + PATIENCE_NS;
    }
    if (now_ns < ranks->alert_ns) {
        sched_yield();
    } else {
        wait->sleep_ns = ranks_sleep_ns(wait->sleep_ns);
        mono_sleep(wait->sleep_ns);
    }
    ranks_poll(ranks);
    return (wait->limit_ns == 0 || now_ns < wait->limit_ns) &&
           (ranks->limit_ns == 0 || now_ns < ranks->limit_ns);
}

void ranks_beat(struct ranks *ranks)
{
    const int64_t now_ns = mono_now_ns();
    if (ranks != NULL && now_ns - ranks->sent_ns >= RANKS_SLOW_BEAT_NS) {
        ranks->sent_ns = now_ns;
        if (ranks->number > 0) {
            ranks_post(ranks, 0, KIND_BEAT, &now_ns, sizeof now_ns);
        } else {
            ranks_post_all(ranks, KIND_BEAT, &now_ns, sizeof now_ns);
        }
        ranks_poll(ranks);
    }
}

bool ranks_is_silent_before_run(const struct ranks *ranks, unsigned rank)
{
    return ranks->poll_clock_ns - ranks->peers[rank].heard_ns > RANKS_SLOW_LOST_NS;
}

static void lose_silent_before_run(struct ranks *ranks)
{
    for (unsigned i = 0; i < ranks->count; i++) {
        if (ranks_is_partner(ranks, i) && ranks_is_silent_before_run(ranks, i)) {
            ranks_lose(ranks, i);
        }
    }
}

void ranks_await_all(struct ranks *ranks)
{
    for (unsigned i = 1; i < ranks->count; i++) {
        ranks->peers[i].is_awaited = true;
    }
}

struct message *ranks_wait_for(struct ranks *ranks, unsigned from, enum kind kind)
{
    struct wait wait = {.sleep_ns = 0};
    ranks_poll(ranks);
    struct message *message;
    while ((message = ranks_find_message(ranks, from, kind)) == NULL && !ranks_have_ended(ranks) &&
           !ranks->is_broken) {
        if (!ranks_wait_on(ranks, &wait)) {
            ranks->is_broken = true;
        }
        /* does not count rank 0 as lost while it writes its files (KIND_END), nor a rank whose
         * program performs a run of a sweep */
        if (kind != KIND_END && !ranks->runs_programs) {
            ranks_beat(ranks);
            lose_silent_before_run(ranks);
        }
    }
    return message;
}

unsigned ranks_receive(struct ranks *ranks, unsigned from, enum kind kind, void *payload,
                       size_t size)
{
    struct message *message = ranks_wait_for(ranks, from, kind);
    if (message == NULL) {
        return NO_RANK;
    }
    const unsigned sender = message->from;
    open_message(message, payload, size);
    ranks_free_message(message);
    return sender;
}
