/*
 * What sessions count while they run.
 *
 * The sessions share a few shards (a histogram for each of 14,000 sessions would take hundreds of
 * MiB). Shards are cache-line aligned and made of relaxed atomics: a session adds to the shard of
 * its number, any thread may take a snapshot at any time. Snapshots are cumulative; an interval is
 * the difference of two. A snapshot taken during the run may be torn between two counters of one
 * batch; after the sessions are joined it is exact.
 */
#ifndef MEASURE_RECORDER_H
#define MEASURE_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "append/error.h"
#include "measure/histogram.h"

enum recorder_histogram {
    RECORDER_CONNECT,  /* open called -> returned, successful ones */
    RECORDER_APPEND,   /* append_open called -> append_close returned, acknowledged ones */
    RECORDER_RESPONSE, /* intended start -> append_close returned; only with a rate */
    RECORDER_COUNT,    /* count or query called -> returned, successful ones */
    RECORDER_HISTOGRAMS,
};

enum recorder_counter {
    RECORDER_SESSIONS_CONNECTED, /* sessions that ever connected */
    RECORDER_SESSIONS_ENDED,     /* of these, ended for whatever reason */
    RECORDER_SESSIONS_DROPPED,   /* of these, by a lost connection or a fatal error */
    RECORDER_SESSIONS_FAILED,    /* never connected: refused or timed out */
    RECORDER_ROWS_ACKNOWLEDGED,
    RECORDER_ROWS_REJECTED,
    RECORDER_ROWS_IN_DOUBT,
    RECORDER_APPENDS,        /* ended with an answer: acknowledged or rejected */
    RECORDER_APPENDS_FAILED, /* rejected or lost */
    RECORDER_COUNTS,         /* reads that succeeded */
    RECORDER_COUNTS_FAILED,
    RECORDER_BUSY_RETRIES,   /* appends begun again because the database was busy */
    RECORDER_FRESH_CHECKS,   /* counts that were held against the session's own rows */
    RECORDER_FRESH_BEHIND,   /* count below rows before the run + own acknowledged rows */
    RECORDER_FRESH_BACKWARD, /* count below an earlier count of the same session */
    RECORDER_ON_CPU_NS,      /* session threads: time on a CPU, added when a session ends */
    RECORDER_RUN_QUEUE_NS,   /* session threads: time runnable but waiting for a CPU, likewise */
    RECORDER_SESSION_NS,     /* session threads: gate opened -> session ended, likewise */
    RECORDER_COUNTERS,
};

/* A cumulative state of all shards. About 76 KiB: not for a session's stack. */
struct recorder_snapshot {
    int64_t taken_ns; /* monotonic */
    uint64_t counters[RECORDER_COUNTERS];
    struct histogram histograms[RECORDER_HISTOGRAMS];
};

struct recorder;

/* `shards` is rounded up to a power of two. NULL: out of memory. */
struct recorder *recorder_create(unsigned shards);
void recorder_destroy(struct recorder *recorder);

/* Called by sessions; `session` picks the shard. */
void recorder_add(struct recorder *recorder, unsigned session, enum recorder_counter counter,
                  uint64_t n);
void recorder_record(struct recorder *recorder, unsigned session, enum recorder_histogram histogram,
                     int64_t ns);

/* One counter summed over the shards. */
uint64_t recorder_read(struct recorder *recorder, enum recorder_counter counter);

/* Sums all shards into *snapshot, taken_ns included. */
void recorder_take_snapshot(struct recorder *recorder, struct recorder_snapshot *snapshot);

#endif
